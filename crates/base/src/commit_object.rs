//! Commit objects that no strict server takes: readers of them do not agree on what they say.

/// Names the fault in the bytes of a commit; `digits` is the length of an object id in this repository.
pub fn fault(bytes: &[u8], digits: usize) -> Option<&'static str> {
    if bytes.contains(&0) {
        return Some("has a zero byte in it");
    }
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    let is_id = |id: &[u8]| {
        id.len() == digits
            && id
                .iter()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let tree = lines.next().and_then(|line| line.strip_prefix(b"tree "));
    if !tree.is_some_and(is_id) {
        return Some("does not begin with the id of its tree");
    }
    while let Some(id) = lines.peek().and_then(|line| line.strip_prefix(b"parent ")) {
        if !is_id(id) {
            return Some("has a parent whose id is not written as git writes it");
        }
        lines.next();
    }
    for word in [&b"author "[..], b"committer "] {
        let person = lines.next().and_then(|line| line.strip_prefix(word));
        if !person.is_some_and(is_person) {
            return Some("does not name its author and its committer as git writes them");
        }
    }
    let mut header = lines.take_while(|line| !line.is_empty());
    let known: [&[u8]; 4] = [b"tree ", b"parent ", b"author ", b"committer "];
    let again = header.any(|line| known.iter().any(|word| line.starts_with(word)));
    again.then_some("has a tree, a parent, an author or a committer out of place")
}

/// Tells whether a line has the form `Name <mail> seconds +hhmm`.
fn is_person(line: &[u8]) -> bool {
    let Ok(marks) = <[usize; 2]>::try_from(
        (0..line.len())
            .filter(|at| matches!(line[*at], b'<' | b'>'))
            .collect::<Vec<_>>(),
    ) else {
        return false;
    };
    let [open, close] = marks;
    if line[open] != b'<' || line[close] != b'>' || open == 0 || line[open - 1] != b' ' {
        return false;
    }
    let Some(moment) = line[close + 1..].strip_prefix(b" ") else {
        return false;
    };
    let Ok(moment) = std::str::from_utf8(moment) else {
        return false;
    };
    let Some((seconds, zone)) = moment.split_once(' ') else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = is_number(seconds)
        && seconds.parse::<i64>().is_ok()
        && (seconds == "0" || !seconds.starts_with('0'));
    let hours = zone.strip_prefix(['+', '-']);
    is_time && hours.is_some_and(|hours| hours.len() == 4 && is_number(hours))
}

/// The header that has git's signature where ids have so many digits.
pub fn header(digits: usize) -> &'static [u8] {
    match digits {
        64 => b"gpgsig-sha256",
        _ => b"gpgsig",
    }
}

/// A commit with a signature over it in this header, the last one, where git puts it.
pub fn signed(bytes: &[u8], header: &[u8], signature: &[u8]) -> Vec<u8> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, message) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
    let mut made = [head, header].concat();
    for line in signature.trim_ascii_end().split(|byte| *byte == b'\n') {
        made.extend([b" ", line, b"\n"].concat());
    }
    made.extend(message);
    made
}

/// The signature in a header of a commit, and the bytes that it is over, as git takes them apart: without the
/// signature for another format of objects.
pub fn signature(bytes: &[u8], header: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut signature, mut payload) = (Vec::new(), Vec::new());
    let mut into = Into::Payload;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
        let own = line
            .strip_prefix(header)
            .and_then(|line| line.strip_prefix(b" "));
        into = match own {
            Some(_) => Into::Signature,
            None if line.starts_with(b"gpgsig") => Into::Nothing,
            None if line.starts_with(b" ") => into,
            None => Into::Payload,
        };
        match into {
            Into::Signature => {
                signature.extend(own.or(line.strip_prefix(b" ")).unwrap_or(line));
            }
            Into::Payload if line == b"\n" => {
                payload.extend(rest);
                break;
            }
            Into::Payload => payload.extend(line),
            Into::Nothing => {}
        }
        rest = after;
    }
    (!signature.is_empty()).then_some((signature, payload))
}

/// Part of a signed commit that a line of the header belongs to.
#[derive(Clone, Copy)]
enum Into {
    Signature,
    Payload,
    /// A signature that this format of objects does not look at.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::{fault, signature, signed};

    #[test]
    fn a_signature_is_over_all_but_the_signatures() {
        let (own, other) = ("gpgsig A\n B\n", "gpgsig-sha256 C\n D\n");
        let plain = "tree x\nauthor a\nmergetag object y\n gpgsig E\n\ngpgsig F\n";
        for (before, after) in [(own, ""), ("", own), (other, own), (own, other)] {
            let text = plain.replace("author a\n", &format!("{before}author a\n{after}"));
            let parts = signature(text.as_bytes(), b"gpgsig");
            let wanted = Some((b"A\nB\n".to_vec(), plain.as_bytes().to_vec()));
            assert_eq!(parts, wanted, "{text}");
        }
        let text = format!("tree x\n{other}\na\n");
        assert_eq!(signature(text.as_bytes(), b"gpgsig"), None);
        let parts = signature(text.as_bytes(), b"gpgsig-sha256");
        assert_eq!(parts, Some((b"C\nD\n".to_vec(), b"tree x\n\na\n".to_vec())));
        assert_eq!(signature(plain.as_bytes(), b"gpgsig"), None);
        let made = signed(plain.as_bytes(), b"gpgsig", b"A\n\nB\n");
        let wanted = Some((b"A\n\nB\n".to_vec(), plain.as_bytes().to_vec()));
        assert_eq!(signature(&made, b"gpgsig"), wanted);
    }

    fn commit(lines: &[&str]) -> Vec<u8> {
        let id = "0123456789abcdef0123456789abcdef01234567";
        lines.join("\n").replace("ID", id).into_bytes()
    }

    const BY: [&str; 2] = ["author A <a@b> 1700000000 +0000", "committer A <> 0 -0330"];

    #[test]
    fn commits_as_git_writes_them_have_no_fault() {
        for lines in [
            vec!["tree ID", BY[0], BY[1], "", "tree x\n"],
            vec!["tree ID", "parent ID", "parent ID", BY[0], BY[1], "", ""],
            vec![
                "tree ID",
                BY[0],
                BY[1],
                "gpgsig -----BEGIN",
                " tree ID",
                "",
                "a\n",
            ],
            vec!["tree ID", BY[0], BY[1], "encoding latin1", "", "a"],
            vec!["tree ID", "author  <> 0 +0000", BY[1], ""],
        ] {
            assert_eq!(fault(&commit(&lines), 40), None, "{lines:?}");
        }
    }

    #[test]
    fn commits_that_readers_take_for_different_things_have_one() {
        let upper = "parent 0123456789ABCDEF0123456789ABCDEF01234567";
        for lines in [
            vec!["tree ID", BY[0], BY[1], "", "a\0b"],
            vec!["tree ID", "author A\0 <a@b> 1 +0000", BY[1], "", "a"],
            vec!["tree ID", upper, BY[0], BY[1], "", "a"],
            vec!["tree ID", "tree ID", BY[0], BY[1], "", "a"],
            vec!["tree ID", "parent 12", BY[0], BY[1], "", "a"],
            vec!["tree ID", BY[0], "parent ID", BY[1], "", "a"],
            vec!["tree ID", BY[0], BY[1], "parent ID", "", "a"],
            vec!["tree ID", BY[0], BY[0], BY[1], "", "a"],
            vec!["tree ID", BY[1], "", "a"],
            vec!["tree ID", BY[0], "", "a"],
            vec!["tree ID", "author A", BY[1], "", "a"],
            vec!["tree ID", "author <a@b> 1 +0000", BY[1], "", "a"],
            vec!["tree ID", "author A<a@b> 1 +0000", BY[1], "", "a"],
            vec!["tree ID", "author A <a<@b> 1 +0000", BY[1], "", "a"],
            vec!["tree ID", "author A <a@b> 01 +0000", BY[1], "", "a"],
            vec!["tree ID", "author A <a@b> -1 +0000", BY[1], "", "a"],
            vec!["tree ID", "author A <a@b> 1 +00", BY[1], "", "a"],
            vec!["tree ID", "author A <a@b>", BY[1], "", "a"],
            vec![
                "tree ID",
                "author A <a@b> 99999999999999999999 +0000",
                BY[1],
                "",
            ],
            vec!["tree ID"],
            vec![""],
        ] {
            assert!(fault(&commit(&lines), 40).is_some(), "{lines:?}");
        }
    }
}
