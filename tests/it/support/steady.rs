//! Names for what differs from run to run and from machine to machine, so that whole outputs can be compared.

use super::LOOPX;
use std::path::Path;

/// An output whose sandbox has this folder, with all the names that this module has.
pub(crate) fn output(text: &str, root: &Path) -> String {
    let text = text.replace(root.to_str().expect("UTF-8"), "$ROOT");
    object_ids(&remote_lines(&git_version(&folders(&text))))
}

/// Object ids, whole or of ten digits, as zeros.
pub(crate) fn object_ids(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hex = bare.bytes().all(|b| b.is_ascii_hexdigit());
        let is_id = matches!(bare.len(), 10 | 40) && is_hex;
        out.push_str(&if is_id {
            "0".repeat(bare.len())
        } else {
            bare.to_owned()
        });
        out.push_str(&word[bare.len()..]);
    }
    out
}

/// The folder of the program under test as `$BIN`, and the folders of other sandboxes as `$OTHER`.
fn folders(text: &str) -> String {
    let bin = Path::new(LOOPX).parent().expect("a folder");
    let mut text = text.replace(bin.to_str().expect("UTF-8"), "$BIN");
    while let Some(at) = text.find("/loopx-test-") {
        let is_end = |c: char| c.is_whitespace() || "'\"`".contains(c);
        let start = text[..at].rfind(is_end).map_or(0, |before| before + 1);
        let name = at + "/loopx-test-".len();
        let end = text[name..].find(|c: char| !c.is_ascii_alphanumeric());
        let end = end.map_or(text.len(), |end| name + end);
        text.replace_range(start..end, "$OTHER");
    }
    text
}

/// The version of git as `$GIT`.
fn git_version(text: &str) -> String {
    let mut parts = text.split("git version ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['\n', ' ']).unwrap_or(part.len());
        out.push_str("git version $GIT");
        out.push_str(&part[end..]);
    }
    out
}

/// Text with the lines that git relays from a server, without the spaces by which it clears the rest of a line.
fn remote_lines(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        if line.starts_with("remote:") {
            line.trim_end()
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
