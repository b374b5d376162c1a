//! Trailers of a commit message, by the rules of git-interpret-trailers: where the block stands, what
//! is in it, and how ours get into a message that is still being written.
//!
//! Bytes, since a message need not be UTF-8. Source: git's `trailer.c` (`find_trailer_block_start`,
//! `ignored_log_message_bytes`) and `wt_status_locate_end`.

/// The session that a commit belongs to.
pub const SESSION: &str = "Loopx-Session";
/// The commit of the loopx branch that allowed it.
pub const STATE: &str = "Loopx-State";
/// An issue of the backlog that it is work for.
pub const ISSUE: &str = "Loopx-Issue";
/// The solution of an issue that the work goes by: the issue and the name of the solution, with a slash between.
pub const SOLUTION: &str = "Loopx-Solution";

/// Lines that git itself writes; one of them makes a block of a paragraph that also holds other words.
const GIT_GENERATED: [&[u8]; 2] = [b"Signed-off-by: ", b"(cherry picked from commit "];
/// Text behind the comment prefix on the line from which `commit --verbose` is cut off.
const SCISSORS: &[u8] = b" ------------------------ >8 ------------------------";

/// The trailers of ours in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub sessions: Vec<String>,
    pub states: Vec<String>,
}

impl Links {
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.states.is_empty()
    }
}

/// Reads our trailers; lines that begin with `comment` do not count.
pub fn links(message: &[u8], comment: &[u8]) -> Links {
    let mut found = Links::default();
    let block = Block::find(message, comment);
    for line in block.lines(message) {
        for (key, values) in [(SESSION, &mut found.sessions), (STATE, &mut found.states)] {
            if let Some(value) = value(line, key) {
                values.push(value);
            }
        }
    }
    found
}

/// The values of a trailer in the message of a commit, in order.
pub fn values<'m>(message: &'m str, key: &str) -> Vec<&'m str> {
    let bytes = message.as_bytes();
    let block = Block::find(bytes, b"#");
    let lines = block.lines(bytes).filter_map(|line| {
        let (name, value) = std::str::from_utf8(line)
            .ok()?
            .split_at_checked(separator(line)?)?;
        let is_it = name.trim_end().eq_ignore_ascii_case(key);
        is_it.then(|| value[1..].trim())
    });
    lines.collect()
}

/// The message with exactly one `Loopx-Session` and one `Loopx-State`; `None` where there is nothing
/// to write: they stand there already, or the message is empty and git is to say so.
pub fn place(message: &[u8], comment: &[u8], session: &str, state: &str) -> Option<Vec<u8>> {
    let block = Block::find(message, comment);
    let text = &message[..block.end];
    if is_empty(text, comment) {
        return None;
    }
    let wanted = Links {
        sessions: vec![session.to_owned()],
        states: vec![state.to_owned()],
    };
    if links(message, comment) == wanted {
        return None;
    }
    let newline: &[u8] = if lines(text).next().is_some_and(|l| l.ends_with(b"\r\n")) {
        b"\r\n"
    } else {
        b"\n"
    };
    let mut out = message[..block.start].to_vec();
    let mut dropping = false;
    for line in block.lines(message) {
        // A continuation line belongs to the trailer above it.
        let continues = line.first().is_some_and(u8::is_ascii_whitespace);
        dropping = if continues {
            dropping
        } else {
            value(line, SESSION).is_some() || value(line, STATE).is_some()
        };
        if !dropping {
            out.extend(line);
        }
    }
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.extend(newline);
    }
    if block.is_empty() && !lines(&out).last().is_some_and(is_blank) {
        out.extend(newline);
    }
    for (key, value) in [(SESSION, session), (STATE, state)] {
        out.extend(key.as_bytes());
        out.extend(b": ");
        out.extend(value.as_bytes());
        out.extend(newline);
    }
    out.extend(&message[block.end..]);
    Some(out)
}

/// The message with each of these trailers of what the work is for; `None` where all of them stand there. What else
/// somebody says of issues stays.
pub fn place_work(message: &[u8], comment: &[u8], work: &[(&str, &str)]) -> Option<Vec<u8>> {
    let block = Block::find(message, comment);
    let is_said = |key: &str, wanted: &str| {
        let mut lines = block.lines(message);
        lines.any(|line| value(line, key).is_some_and(|said| said == wanted))
    };
    let missing = work.iter().filter(|(key, value)| !is_said(key, value));
    let missing: Vec<&(&str, &str)> = missing.collect();
    // A message without trailers of ours was left alone for a reason.
    if missing.is_empty() || block.is_empty() {
        return None;
    }
    let newline: &[u8] = if block.lines(message).any(|line| line.ends_with(b"\r\n")) {
        b"\r\n"
    } else {
        b"\n"
    };
    let mut out = message[..block.end].to_vec();
    if !out.ends_with(b"\n") {
        out.extend(newline);
    }
    for (key, value) in missing {
        out.extend(key.as_bytes());
        out.extend(b": ");
        out.extend(value.as_bytes());
        out.extend(newline);
    }
    out.extend(&message[block.end..]);
    Some(out)
}

/// Tells whether git takes a message for empty: a signature alone says nothing.
fn is_empty(text: &[u8], comment: &[u8]) -> bool {
    lines(text).all(|line| {
        is_blank(line) || is_comment(line, comment) || line.starts_with(b"Signed-off-by: ")
    })
}

/// Tells whether a message is still the template that it began as, so that git is to say so.
pub fn is_untouched(message: &[u8], template: &[u8], comment: &[u8]) -> bool {
    let words = |text: &[u8]| -> Vec<Vec<u8>> {
        let end = end_of_words(text, comment);
        lines(&text[..end])
            .filter(|line| !is_empty(line, comment))
            .map(|line| line.trim_ascii_end().to_vec())
            .collect()
    };
    words(message) == words(template)
}

/// Place of the trailers in a message; `start == end` where the message has none, and they belong there.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    end: usize,
}

impl Block {
    fn find(message: &[u8], comment: &[u8]) -> Self {
        let end = end_of_words(message, comment);
        let text = &message[..end];
        let start = start_of_block(text, comment).unwrap_or(end);
        Block { start, end }
    }

    fn is_empty(self) -> bool {
        self.start == self.end
    }

    fn lines(self, message: &[u8]) -> impl Iterator<Item = &[u8]> {
        lines(&message[self.start..self.end])
    }
}

/// End of the words of a message: before the scissors, and before comments and blank lines at the end.
fn end_of_words(message: &[u8], comment: &[u8]) -> usize {
    let mut at = 0;
    let mut end = 0;
    let mut conflicts = false;
    for line in lines(message) {
        let is_cut = line
            .strip_prefix(comment)
            .is_some_and(|rest| !comment.is_empty() && rest.starts_with(SCISSORS));
        if is_cut {
            break;
        }
        at += line.len();
        // What old gits wrote below the message of a conflicted merge.
        conflicts = conflicts && line.starts_with(b"\t") || line.starts_with(b"Conflicts:\n");
        if !is_comment(line, comment) && !is_blank(line) && !conflicts {
            end = at;
        }
    }
    end
}

/// The first byte of the trailer block at the end of `text`.
fn start_of_block(text: &[u8], comment: &[u8]) -> Option<usize> {
    let all: Vec<&[u8]> = lines(text).collect();
    // The first paragraph is the title and cannot be trailers.
    let title = all
        .iter()
        .position(|line| !is_comment(line, comment) && is_blank(line))?;
    let (mut trailers, mut others, mut continuations) = (0_usize, 0_usize, 0_usize);
    let mut recognized = false;
    for (at, line) in all.iter().enumerate().skip(title).rev() {
        if is_comment(line, comment) {
            others += std::mem::take(&mut continuations);
        } else if is_blank(line) {
            others += continuations;
            let is_block = recognized && trailers * 3 >= others || trailers > 0 && others == 0;
            let offset = || all[..=at].iter().map(|line| line.len()).sum();
            return is_block.then(offset);
        } else if GIT_GENERATED.iter().any(|prefix| line.starts_with(prefix)) {
            trailers += 1;
            continuations = 0;
            recognized = true;
        } else if line.first().is_some_and(u8::is_ascii_whitespace) {
            continuations += 1;
        } else if separator(line).is_some() {
            trailers += 1;
            continuations = 0;
        } else {
            others += 1 + std::mem::take(&mut continuations);
        }
    }
    None
}

/// Offset of the colon in a trailer line.
fn separator(line: &[u8]) -> Option<usize> {
    let mut blank = false;
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b':' => return (at > 0).then_some(at),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' if !blank => {}
            b' ' | b'\t' if at > 0 => blank = true,
            _ => return None,
        }
    }
    None
}

fn value(line: &[u8], key: &str) -> Option<String> {
    let at = separator(line)?;
    let name = String::from_utf8_lossy(&line[..at]);
    name.trim_end()
        .eq_ignore_ascii_case(key)
        .then(|| String::from_utf8_lossy(&line[at + 1..]).trim().to_owned())
}

fn is_comment(line: &[u8], comment: &[u8]) -> bool {
    !comment.is_empty() && line.starts_with(comment)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The lines with their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::{Links, links, place};

    const NEW: &str = "Loopx-Session: s\nLoopx-State: 1\n";

    fn placed(message: &str) -> String {
        let out = place(message.as_bytes(), b"#", "s", "1").expect("a change");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn issues_are_added_to_our_trailers_once() {
        let place = |text: &str, issues: &[&str]| {
            let work: Vec<_> = issues.iter().map(|issue| (super::ISSUE, *issue)).collect();
            let out = super::place_work(text.as_bytes(), b"#", &work);
            out.map(|out| String::from_utf8(out).expect("UTF-8"))
        };
        let ours = "t\n\nLoopx-Session: s\nLoopx-State: 1\n";
        let whole = format!("{ours}Loopx-Issue: a\nLoopx-Issue: b\n");
        assert_eq!(place(ours, &["a", "b"]), Some(whole.clone()));
        assert_eq!(place(&whole, &["a", "b"]), None);
        assert_eq!(place(ours, &[]), None);
        assert_eq!(
            place("t\n\nwords\n", &["a"]),
            None,
            "none of ours stands there"
        );
        let theirs = "t\n\nLoopx-Issue: x\nLoopx-Session: s\n# comment\n";
        let with = "t\n\nLoopx-Issue: x\nLoopx-Session: s\nLoopx-Issue: a\n# comment\n";
        assert_eq!(place(theirs, &["a"]), Some(with.to_owned()));
    }

    #[test]
    fn trailers_begin_a_paragraph_of_their_own_or_join_the_block() {
        for (message, before) in [
            ("title", "title\n\n"),
            ("title\n", "title\n\n"),
            ("title\n\n\n", "title\n\n"),
            ("Fix: title\n", "Fix: title\n\n"),
            (
                "title\n\nwords: and\nmore words\n",
                "title\n\nwords: and\nmore words\n\n",
            ),
            ("title\n\nReviewed-by: A\n", "title\n\nReviewed-by: A\n"),
            (
                "title\n\nReviewed-by: A\n  and B\nAcked-by: C\n",
                "title\n\nReviewed-by: A\n  and B\nAcked-by: C\n",
            ),
            // One line of git's own carries three of words.
            (
                "title\n\na\nb\nc\nSigned-off-by: A\n",
                "title\n\na\nb\nc\nSigned-off-by: A\n",
            ),
            (
                "title\n\na\nb\nc\nd\nSigned-off-by: A\n",
                "title\n\na\nb\nc\nd\nSigned-off-by: A\n\n",
            ),
            (
                "title\n\nLoopx-State: 0\n folded\nA: b\nLoopx-Session: t\n",
                "title\n\nA: b\n",
            ),
            ("title\n\nLoopx-Session: s\nLoopx-State: 0\n", "title\n\n"),
        ] {
            let rest = if message.ends_with("\n\n") {
                "\n\n"
            } else {
                ""
            };
            assert_eq!(
                placed(message),
                format!("{before}{NEW}{rest}"),
                "{message:?}"
            );
        }
    }

    #[test]
    fn comments_and_the_diff_of_a_verbose_commit_stay_below() {
        let tail = "\n# Please enter the message\n#\n# ------------------------ >8 ------------------------\ndiff\n\nA: b\n";
        assert_eq!(
            placed(&format!("title\n{tail}")),
            format!("title\n\n{NEW}{tail}")
        );
        assert_eq!(
            placed("title\n\n#12: x\n"),
            format!("title\n\n{NEW}\n#12: x\n")
        );
        assert_eq!(
            placed("title\n\nA: b\n# comment\nC: d\n"),
            format!("title\n\nA: b\n# comment\nC: d\n{NEW}")
        );
    }

    #[test]
    fn line_ends_are_kept() {
        let out = place(b"title\r\n\r\nA: b\r\n", b"#", "s", "1").expect("a change");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "title\r\n\r\nA: b\r\nLoopx-Session: s\r\nLoopx-State: 1\r\n"
        );
        let out = place(b"t\xefle\n", b"#", "s", "1").expect("a change");
        assert!(out.starts_with(b"t\xefle\n\nLoopx-Session"));
    }

    #[test]
    fn an_empty_message_and_a_second_call_change_nothing() {
        for message in [
            "",
            "\n\n",
            "# only\n\n# comments\n",
            "\nSigned-off-by: A <a@b>\n# comment\n",
            "\n# ------------------------ >8 ------------------------\ndiff\n",
        ] {
            assert_eq!(
                place(message.as_bytes(), b"#", "s", "1"),
                None,
                "{message:?}"
            );
        }
        let once = placed("title\n");
        assert_eq!(place(once.as_bytes(), b"#", "s", "1"), None);
        assert_eq!(
            links(once.as_bytes(), b"#"),
            Links {
                sessions: vec!["s".into()],
                states: vec!["1".into()],
            }
        );
        assert!(links(b"Loopx-Session: title\n", b"#").is_empty());
    }

    #[test]
    fn a_template_is_untouched_until_a_word_is_added() {
        let template = b"Why:\n\n# because\n";
        for (message, untouched) in [
            (&b"Why:\n\n# because\n\n# On branch x\n"[..], true),
            (b"Why:\nSigned-off-by: A\n", true),
            (b"Why: so\n", false),
            (b"title\n\nWhy:\n", false),
        ] {
            assert_eq!(super::is_untouched(message, template, b"#"), untouched);
        }
    }

    #[test]
    fn another_comment_prefix_is_honoured() {
        let out = place(b"title\n\n; note\n", b";", "s", "1").expect("a change");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            format!("title\n\n{NEW}\n; note\n")
        );
    }
}
