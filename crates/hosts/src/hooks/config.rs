//! The text of a git configuration file, as far as our own sections go: found, added, taken away,
//! every other byte left as it is.
//!
//! git dies on an `.event` without a `.command` (2.54 and later), so the sections are only ever
//! written or removed whole, in one new text that replaces the file at once.

/// A section `[hook "<name>"]` to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    pub command: Vec<u8>,
    pub event: String,
}

/// `text` without the sections `[hook "<name>"]` of `names`, and with `sections` at its end.
#[must_use]
pub fn rewrite(text: &[u8], names: &[String], sections: &[Section]) -> Vec<u8> {
    append(without(text, names), sections)
}

/// Adds sections at the end. Where the text lacks its last newline, so will the result: that is how
/// [`without`] finds the way back to the very same bytes.
fn append(mut text: Vec<u8>, sections: &[Section]) -> Vec<u8> {
    let open = text.last().is_some_and(|&byte| byte != b'\n');
    if !sections.is_empty() && goes_on(&text) {
        text.push(b'\n');
    }
    for section in sections {
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(format!("[hook \"{}\"]\n\tcommand = ", section.name).as_bytes());
        text.extend(quoted(&section.command));
        text.extend_from_slice(format!("\n\tevent = {}\n", section.event).as_bytes());
    }
    if open && !sections.is_empty() {
        text.pop();
    }
    text
}

/// A configuration value between double quotes, as git reads it back.
fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

/// Takes the sections away: from the header to the last key. Comments and empty lines behind that
/// belong to whoever wrote them.
fn without(text: &[u8], names: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    // What follows the last key of a section of ours: ours only if another key comes.
    let mut held: Vec<u8> = Vec::new();
    let mut ours = false;
    for line in logical_lines(text) {
        let start = line.trim_ascii_start();
        match start.first() {
            Some(b'[') => {
                out.append(&mut held);
                ours = header(start).is_some_and(|name| names.contains(&name));
                if !ours {
                    out.extend_from_slice(line);
                }
            }
            None | Some(b'#' | b';') if ours => held.extend_from_slice(line),
            _ if ours => held.clear(),
            _ => out.extend_from_slice(line),
        }
    }
    out.append(&mut held);
    if ours && !text.ends_with(b"\n") && out.last() == Some(&b'\n') {
        out.pop();
    }
    out
}

/// The subsection of `[hook "<name>"]`, in this or the old dotted form; `None` for other headers.
fn header(line: &[u8]) -> Option<String> {
    let inside = line.strip_prefix(b"[")?;
    let end = inside.iter().position(|&byte| byte == b']')?;
    let inside = std::str::from_utf8(&inside[..end]).ok()?.trim();
    let (section, rest) = inside.split_at_checked(4)?;
    if !section.eq_ignore_ascii_case("hook") {
        return None;
    }
    match rest.strip_prefix('.') {
        Some(dotted) => Some(dotted.to_owned()),
        None => {
            let name = rest.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some(name.to_owned())
        }
    }
}

/// Lines with their newlines; a value that goes on behind a backslash is one line.
fn logical_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, tail) = rest.split_at(logical_end(rest));
        rest = tail;
        Some(line)
    })
}

/// Tells whether the last value of a text would swallow the next line, because the value ends in a backslash.
fn goes_on(text: &[u8]) -> bool {
    let last = logical_lines(text).last().unwrap_or_default();
    logical_end(&[last, b"x"].concat()) > last.len() && last.ends_with(b"\n")
}

fn logical_end(text: &[u8]) -> usize {
    let (mut quote, mut comment) = (false, false);
    let mut bytes = text.iter().copied().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => return at + 1,
            _ if comment => {}
            // Skips what is escaped, also a newline, or a carriage return and the newline behind it.
            b'\\' => {
                if let Some((at, b'\r')) = bytes.next()
                    && text.get(at + 1) == Some(&b'\n')
                {
                    bytes.next();
                }
            }
            b'"' => quote = !quote,
            b'#' | b';' if !quote => comment = true,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Section, goes_on, rewrite};
    use proptest::prelude::*;

    fn names() -> Vec<String> {
        vec!["loopx-pre-commit".into(), "loopx-pre-push".into()]
    }

    fn sections() -> Vec<Section> {
        names()
            .into_iter()
            .map(|name| Section {
                event: name.trim_start_matches("loopx-").into(),
                command: b"f() { \"a\\b\" '#' ; }; f".to_vec(),
                name,
            })
            .collect()
    }

    #[test]
    fn what_is_added_is_one_section_per_hook_with_the_command_first() {
        let text = rewrite(b"[core]\n\tbare = false\n", &names(), &sections()[..1]);
        assert_eq!(
            String::from_utf8(text).expect("UTF-8"),
            "[core]\n\tbare = false\n[hook \"loopx-pre-commit\"]\n\tcommand = \
             \"f() { \\\"a\\\\b\\\" '#' ; }; f\"\n\tevent = pre-commit\n"
        );
    }

    #[test]
    fn adding_and_taking_away_gives_the_very_same_bytes() {
        for text in [
            &b""[..],
            b"[core]\n\tbare = false\n",
            b"[core]\n\tbare = false",
            b"[core]\r\n\tbare = false\r\n",
            b"# only a comment",
            b"\xef\xbb\xbf[core]\n\tx = \"a\\\n[hook \\\"loopx-pre-commit\\\"]\"\n\n",
            b"[core]\n\tx = y ; comment \\\n[user]\n\tname = n\n",
        ] {
            let with = rewrite(text, &names(), &sections());
            assert_ne!(with, text);
            assert_eq!(rewrite(&with, &names(), &sections()), with, "again");
            let back = rewrite(&with, &names(), &[]);
            assert_eq!(
                String::from_utf8_lossy(&back),
                String::from_utf8_lossy(text)
            );
        }
    }

    #[test]
    fn a_section_goes_whole_and_its_neighbours_stay() {
        let text = b"[hook \"other\"]\n\tcommand = x\n[HOOK   \"loopx-pre-push\"]\n\tcommand = a\\\n  b\n\t# in it\n\
            \tevent = pre-push\n\n# about user\n[user]\n\tname = n\n[hook.loopx-pre-commit] enabled = false\n; end\n";
        assert_eq!(
            String::from_utf8(rewrite(text, &names(), &[])).expect("UTF-8"),
            "[hook \"other\"]\n\tcommand = x\n\n# about user\n[user]\n\tname = n\n; end\n"
        );
    }

    #[test]
    fn a_name_that_only_looks_like_ours_stays() {
        let text = b"[hook \"loopx-pre-commit-mine\"]\n\tcommand = x\n[hooks \"loopx-pre-push\"]\n[h]\n[\n";
        assert_eq!(rewrite(text, &names(), &[]), text);
    }

    #[test]
    fn a_value_that_goes_on_does_not_swallow_a_section() {
        let text = rewrite(b"[core]\n\tx = y \\\n", &names(), &sections()[..1]);
        assert!(text.starts_with(b"[core]\n\tx = y \\\n\n[hook \"loopx-pre-commit\"]\n"));
        let text = b"[core]\n\tx = y # no \\\n";
        assert!(!goes_on(text) && !goes_on(b"") && goes_on(b"x = \\\r\n"));
    }

    proptest! {
        /// Removal of our sections leaves no trace of them, and takes nothing else away, whatever a file says.
        #[test]
        fn any_text_comes_back(parts in prop::collection::vec(prop::sample::select(vec![
            "[core]", "[hook \"x\"]", "\n", "\n", "\r\n", "\tx = y", "\"", "\\", "#", ";", " ", "é", "[hook",
        ]), 0..24)) {
            let text = parts.concat().into_bytes();
            prop_assert_eq!(rewrite(&text, &names(), &[]), text.clone());
            if !goes_on(&text) && !text.ends_with(b"\\") && !text.ends_with(b"\\\r") {
                let with = rewrite(&text, &names(), &sections());
                prop_assert_eq!(rewrite(&with, &names(), &[]), text);
            }
        }
    }
}
