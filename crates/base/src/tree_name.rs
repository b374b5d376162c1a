//! Names that no tree should have: git checks them out nowhere, other programs take them for something else,
//! or nobody can read which one it is. A branch that has one is refused by every server that checks objects,
//! for ever.

/// Names of git's own, as file systems may read them.
const GITS: [&str; 3] = ["git", "gitmodules", "gitattributes"];

/// Short names of these files on file systems of eight and three letters.
const SHORT: [&str; 5] = ["git~", "gitmod~", "gitatt~", "gi7eba~", "gi7d29~"];

/// The most bytes that a name may have: file systems have no room for more, and servers refuse far longer ones.
pub const MOST_BYTES: usize = 255;

/// Names the fault of an entry's name.
pub fn fault(name: &[u8]) -> Option<&'static str> {
    if name.len() > MOST_BYTES {
        return Some("is longer than 255 bytes");
    }
    let Ok(text) = std::str::from_utf8(name) else {
        return Some("is not UTF-8");
    };
    match text {
        "" => return Some("is empty"),
        "." | ".." => return Some("leads to another folder"),
        _ => {}
    }
    if text.contains('/') {
        return Some("has a slash in it");
    }
    if text.contains('\\') {
        return Some("has a backslash in it, which some systems take for a slash");
    }
    if text.chars().any(char::is_control) {
        return Some("has a control character in it");
    }
    if text.chars().any(turns_text) {
        return Some("has a sign in it that turns text round");
    }
    if text.starts_with('"') || text.ends_with('"') {
        return Some("begins or ends with a quotation mark");
    }
    is_gits(text).then_some("is one of git's own")
}

/// Names the fault of an entry of somebody's own code: less counts as one than in [`fault`], since a name may be
/// anything there that git checks out.
pub fn code_fault(mode: &[u8], name: &[u8]) -> Option<&'static str> {
    let is_link = match mode {
        b"40000" | b"100644" | b"100755" | b"160000" => false,
        b"120000" => true,
        _ => return Some("has a mode that git does not write"),
    };
    match name {
        b"" => return Some("is empty"),
        b"." | b".." => return Some("leads to another folder"),
        _ if name.contains(&b'/') => return Some("has a slash in it"),
        _ => {}
    }
    // Windows takes a backslash for a slash.
    let parts = name.split(|byte| *byte == b'\\');
    for part in parts.map(String::from_utf8_lossy) {
        if reads_as(&part, [".git", "git~1"]) {
            return Some("is one of git's own");
        }
        if is_link && reads_as(&part, [".gitmodules", "gitmod~1"]) {
            return Some("is a link where git reads its submodules");
        }
    }
    None
}

/// A name as the file systems see it that make the least difference between names: without case, without signs
/// that Apple's pass over, without what Windows leaves out at the end.
pub fn folded(name: &str) -> String {
    let seen = name.chars().filter(|sign| !is_passed_over(*sign));
    let seen = seen.flat_map(char::to_lowercase);
    // The long s is an s where case does not count.
    let seen: String = seen
        .map(|sign| if sign == 'ſ' { 's' } else { sign })
        .collect();
    let seen = seen.split(':').next().unwrap_or_default();
    seen.trim_end_matches([' ', '.']).to_owned()
}

/// Tells whether a name is [`folded`] to one of two names. Nearly every name is plain, and nothing is built for it.
fn reads_as(name: &str, others: [&str; 2]) -> bool {
    if !name.is_ascii() {
        return others.contains(&folded(name).as_str());
    }
    let seen = name.split(':').next().unwrap_or_default();
    let seen = seen.trim_end_matches([' ', '.']);
    others.iter().any(|other| seen.eq_ignore_ascii_case(other))
}

fn is_gits(text: &str) -> bool {
    let seen = folded(text);
    let own = seen
        .strip_prefix('.')
        .is_some_and(|rest| GITS.contains(&rest));
    let short = SHORT.iter().any(|short| {
        let number = seen.strip_prefix(short);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    own || short
}

/// Signs that change the direction of text: what is read is another text than what stands there.
pub fn turns_text(sign: char) -> bool {
    matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_passed_over(sign: char) -> bool {
    matches!(sign, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{code_fault, fault, folded, reads_as};

    #[test]
    fn g15_names_that_no_tree_should_have_are_faults() {
        let names: [&[u8]; 26] = [
            b"",
            b".",
            b"..",
            b".git",
            b".GIT",
            b".git.",
            b".git . .",
            b".git::$INDEX_ALLOCATION",
            ".g\u{200c}it".as_bytes(),
            b"git~1",
            b".gitmodules",
            b".GitModules ",
            b"gi7eba~9",
            b".gitattributes",
            b"a/b",
            b"a\\b",
            b"a\nb",
            b"\x1b[31m",
            b"\x7f",
            b"\xff",
            b"\xc0\xae",
            b"\"..",
            b"x\"",
            b"\"",
            "\u{85}".as_bytes(),
            "\u{202e}s".as_bytes(),
        ];
        for name in names {
            assert!(fault(name).is_some(), "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn a_name_has_at_most_255_bytes() {
        assert_eq!(fault(&[b'x'; 255]), None);
        assert_eq!(fault(&[b'x'; 256]), Some("is longer than 255 bytes"));
    }

    #[test]
    fn a_plain_name_is_read_like_any_other() {
        let own = [".git", "git~1"];
        let signs = ['.', 'g', 'I', 't', '~', '1', ' ', ':', 'x', '\u{200c}', 'ſ'];
        let mut names = vec![String::new()];
        for _ in 0..5 {
            let longer = names
                .iter()
                .flat_map(|name| signs.map(|sign| format!("{name}{sign}")));
            let longer: Vec<String> = longer.collect();
            for name in &longer {
                assert_eq!(
                    reads_as(name, own),
                    own.contains(&folded(name).as_str()),
                    "{name:?}"
                );
            }
            names = longer.into_iter().step_by(3).collect();
        }
    }

    #[test]
    fn g15_other_names_are_none() {
        for name in [
            "spec.md",
            ".gitkeep",
            ".gitignore",
            ".github",
            "git",
            "git~x",
            "...",
            "+00",
            "feat%2Flog-in",
            "say \"hello\" twice",
            "résumé 日本.md",
            "con",
            ".x",
        ] {
            assert_eq!(fault(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn code_has_the_names_that_git_checks_out_and_its_five_modes() {
        for name in [
            &b".git"[..],
            b".GIT",
            b".Git ",
            b".git. .",
            b".git::$INDEX_ALLOCATION",
            b"git~1",
            b"GIT~1",
            ".g\u{200c}it".as_bytes(),
            ".git\u{200c}".as_bytes(),
            b".git\\config",
            b"a\\.git",
            b"",
            b".",
            b"..",
            b"a/b",
            b"/",
        ] {
            let fault = code_fault(b"100644", name);
            assert!(fault.is_some(), "{}", String::from_utf8_lossy(name));
        }
        for name in [
            &b".gitmodules"[..],
            b".gitattributes",
            b"a\\b",
            b"a\nb",
            b"\xff",
            b"\"a\"",
            b"git~2",
            b"git",
            b".github",
            b"...",
            b"x.git",
        ] {
            assert_eq!(code_fault(b"100755", name), None, "{name:?}");
        }
        for mode in ["40000", "100644", "100755", "120000", "160000"] {
            assert_eq!(code_fault(mode.as_bytes(), b"a"), None, "{mode}");
        }
        for mode in [
            "040000", "0100644", "100664", "100000", "120777", "100744", "",
        ] {
            assert!(code_fault(mode.as_bytes(), b"a").is_some(), "{mode}");
        }
        assert!(code_fault(b"120000", b".gitmodules").is_some());
    }
}
