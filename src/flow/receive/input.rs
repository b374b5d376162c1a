//! The input of pre-receive: a line for each ref.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;

/// Line of a hook's input: where a ref was, and where it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Update {
    pub name: String,
    pub old: Option<Oid>,
    pub new: Option<Oid>,
}

/// The refs of a push. git pushes one at least and ends every line, so that less is what was cut off on its way.
pub(super) fn parse(stdin: &[u8]) -> Result<Vec<Update>> {
    let Some(lines) = stdin.strip_suffix(b"\n") else {
        return Err(invalid(match stdin {
            b"" => "expected the refs of a push on stdin, found nothing".to_owned(),
            _ => "expected whole lines on stdin, found a last one without an end".to_owned(),
        }));
    };
    lines.split(|byte| *byte == b'\n').map(update).collect()
}

/// Reads `<old oid> <new oid> <ref>`.
fn update(line: &[u8]) -> Result<Update> {
    // A pattern of policy is UTF-8: nobody can say whether it matches another name.
    let text = std::str::from_utf8(line).map_err(|_| {
        let text = String::from_utf8_lossy(line);
        invalid(format!("expected a ref named in UTF-8, found `{text}`"))
    })?;
    let mut words = text.splitn(3, ' ');
    let mut id = || -> Result<Option<Oid>> {
        let text = words.next().unwrap_or_default();
        let id = Oid::parse(text)?;
        Ok(Some(id).filter(|_| text.bytes().any(|byte| byte != b'0')))
    };
    let (old, new) = (id()?, id()?);
    match words.next() {
        Some(name) if !name.is_empty() => Ok(Update {
            name: name.to_owned(),
            old,
            new,
        }),
        _ => Err(invalid(format!("expected `OLD NEW REF`, found `{text}`"))),
    }
}

fn invalid(what: String) -> Failure {
    Failure::usage(Code::LineInvalid, what)
}

#[cfg(test)]
mod tests {
    use super::parse;

    const LINE: &str =
        "0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 ";

    #[test]
    fn every_line_has_an_end_and_a_name() {
        let whole = format!("{LINE}refs/heads/a b\n{LINE}refs/heads/c\n");
        let updates = parse(whole.as_bytes()).expect("two refs");
        let names: Vec<&str> = updates.iter().map(|update| update.name.as_str()).collect();
        assert_eq!(names, ["refs/heads/a b", "refs/heads/c"]);
        assert!(updates.iter().all(|update| update.old.is_none()));
        // Wherever the input is cut off but between two lines.
        let first = whole.find('\n').expect("a line") + 1;
        for length in (0..whole.len()).filter(|length| *length != first) {
            assert!(parse(&whole.as_bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf8_is_not_judged() {
        let line = [LINE.as_bytes(), b"refs/heads/\xff\n"].concat();
        assert!(parse(&line).is_err());
    }
}
