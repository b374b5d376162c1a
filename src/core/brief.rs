//! `brief.md`, the one file of a quick change: why, the commands that check it, and the delta where behaviour changes.
//!
//! The commands stand below `## Checks`, one list item with code each; the delta begins with the first level-1
//! heading `Domain: PATH` and goes to the end.

use super::artifact::Artifact;
use super::failure::{Blocker, Code};
use super::hint::command;
use super::markdown;
use super::pack::{Slice, SliceKind};
use std::collections::BTreeMap;

/// The heading below which the commands stand.
const CHECKS: &str = "Checks";

/// The commands, as checks with ids from their place. Each of them serves every scenario of the brief's delta.
pub fn checks(text: &str) -> Result<Vec<Slice>, Blocker> {
    let sections = markdown::sections(text);
    let Some(section) = markdown::section(&sections, CHECKS) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (at, item) in commands(&text[section.span.clone()]).iter().enumerate() {
        let argv = shlex::split(item).unwrap_or_default();
        if argv.is_empty() {
            return Err(Blocker::new(
                Code::BriefCheckInvalid,
                format!(
                    "{}:{}: expected a command like `cargo test`, found `{item}`",
                    Artifact::Brief,
                    section.line
                ),
                command!("edit {}", Artifact::Brief),
            ));
        }
        found.push(Slice {
            id: format!("check-{}", at + 1),
            title: item.clone(),
            kind: SliceKind::Afk,
            behaviour: item.clone(),
            acceptance_criteria: Vec::new(),
            verification: argv,
            scenarios: vec![Slice::EVERY_SCENARIO.to_owned()],
            blocked_by: Vec::new(),
            files: Vec::new(),
        });
    }
    Ok(found)
}

/// The list items: the first code of each, or all of its words where it has none.
fn commands(body: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut found = Vec::new();
    let mut item: Option<(Option<String>, String)> = None;
    for event in Parser::new(body) {
        match (event, &mut item) {
            (Event::Start(Tag::Item), _) => item = Some((None, String::new())),
            (Event::Code(part), Some((code, _))) => {
                code.get_or_insert_with(|| part.into_string());
            }
            (Event::Text(part), Some((_, words))) => words.push_str(&part),
            (Event::End(TagEnd::Item), _) => {
                found.extend(item.take().map(|(code, words)| code.unwrap_or(words)));
            }
            _ => {}
        }
    }
    found
}

/// The text with one more command; nothing where the words cannot stand in one line.
pub fn with_check(text: &str, argv: &[String]) -> Option<String> {
    let line = shlex::try_join(argv.iter().map(String::as_str)).ok()?;
    if line.contains(['\n', '\r', '`']) {
        return None;
    }
    let item = format!("- `{line}`\n");
    let sections = markdown::sections(text);
    let mut out = text.to_owned();
    match markdown::section(&sections, CHECKS) {
        Some(section) => {
            let end = domain_at(text).map_or(section.span.end, |at| at.min(section.span.end));
            let body = &text[section.span.start.min(end)..end];
            let at = section.span.start.min(end) + body.trim_end().len();
            let gap = match section.items.is_empty() {
                true => "\n\n",
                false => "\n",
            };
            out.insert_str(at, &format!("{gap}{}", item.trim_end()));
        }
        None => {
            let at = domain_at(text).unwrap_or(text.len());
            let gap = match text[..at].ends_with("\n\n") || at == 0 {
                true => "",
                false => "\n",
            };
            let after = match at < text.len() {
                true => "\n",
                false => "",
            };
            out.insert_str(at, &format!("{gap}## {CHECKS}\n\n{item}{after}"));
        }
    }
    Some(out)
}

/// The delta, each line where it stands in the brief: the front matter, and everything from the first domain on.
pub fn delta(text: &str) -> String {
    let from = domain_at(text).unwrap_or(text.len());
    let front = front_matter_end(text);
    let mut out = text[..front].to_owned();
    let between = text[front..from.max(front)].bytes();
    out.extend(between.filter(|byte| *byte == b'\n').map(|_| '\n'));
    out.push_str(&text[from.max(front)..]);
    out
}

/// Whether it says what becomes of the specs.
pub fn has_delta(text: &str) -> bool {
    domain_at(text).is_some()
}

/// Why the change is made, in one line.
pub fn why(text: &str) -> Option<String> {
    let why = markdown::section_text(text, "Why")?;
    let line = why.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

/// Where the first level-1 heading `Domain: PATH` begins.
fn domain_at(text: &str) -> Option<usize> {
    use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
    let mut heading = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1,
                ..
            }) => heading = Some(range.start),
            Event::End(TagEnd::Heading(_)) => heading = None,
            Event::Text(part) if part.trim_start().to_lowercase().starts_with("domain:") => {
                if let Some(at) = heading {
                    return Some(at);
                }
            }
            Event::Text(_) => heading = None,
            _ => {}
        }
    }
    None
}

/// The bytes of the front matter, its fences included.
fn front_matter_end(text: &str) -> usize {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == "---";
        if number == 0 && !is_fence {
            return 0;
        }
        at += line.len();
        if number > 0 && is_fence {
            return at;
        }
    }
    0
}

/// The text that somebody starts from.
pub fn template(title: &str, intent: &str) -> String {
    format!(
        "# {title}\n\n\
         ## Why\n\n{}\n\n\
         ## What changes\n\n<!-- What is different afterwards, and for whom. May stay empty where the title says it. -->\n\n\
         ## Checks\n\n<!-- One command a line, like: - `cargo test`\n\
         It runs without a shell, and passes with exit code 0. `git loopx run -- COMMAND` adds what it ran. -->\n\n\
         <!-- Does what the specs say change? Then the delta comes last:\n\n\
         # Domain: auth/session\n\n\
         ## ADDED Requirements\n\n\
         ### Requirement: Idle timeout\n\
         The system SHALL end a session that is idle for ten minutes.\n\n\
         #### Scenario: An idle session ends\n\
         - **WHEN** nothing happens for ten minutes\n\
         - **THEN** the session ends\n\
         -->\n",
        intent.trim()
    )
}

/// The file that a session's delta stands in. A session whose profile was changed may have both: the brief counts where
/// it has a delta, or the other one is still empty.
pub fn delta_file(texts: &BTreeMap<Artifact, String>) -> Option<Artifact> {
    match (texts.get(&Artifact::SpecDelta), of(texts)) {
        (None, None) => None,
        (Some(_), None) => Some(Artifact::SpecDelta),
        (None, Some(_)) => Some(Artifact::Brief),
        (Some(own), Some(brief)) => {
            let says = !markdown::sections(own).is_empty() || own.starts_with("---");
            match says && !has_delta(brief) {
                true => Some(Artifact::SpecDelta),
                false => Some(Artifact::Brief),
            }
        }
    }
}

/// The brief of a session, where it has one.
pub fn of(texts: &BTreeMap<Artifact, String>) -> Option<&str> {
    texts.get(&Artifact::Brief).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{checks, delta, has_delta, template, why, with_check};

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn commands(text: &str) -> Vec<Vec<String>> {
        let checks = checks(text).expect("checks");
        checks.into_iter().map(|check| check.verification).collect()
    }

    #[test]
    fn the_template_says_why_checks_nothing_and_changes_no_behaviour() {
        let text = template("A title", "Because of that\nand this");
        assert_eq!(why(&text).as_deref(), Some("Because of that"));
        assert_eq!(commands(&text), Vec::<Vec<String>>::new());
        assert!(!has_delta(&text));
        assert_eq!(delta(&text).trim(), "");
    }

    #[test]
    fn a_command_that_was_added_is_read_back_word_for_word() {
        let mut text = template("T", "W");
        let all = [
            argv(&["sh", "tests/check.sh"]),
            argv(&["grep", "-q", "a b", "it's"]),
            argv(&["echo", "", "$HOME", "*", "ü", "a*b_c_"]),
        ];
        for words in &all {
            text = with_check(&text, words).expect("a line");
        }
        assert_eq!(commands(&text), all);
        assert!(!has_delta(&text), "{text}");
        assert_eq!(with_check(&text, &argv(&["a\nb"])), None);
        assert_eq!(with_check(&text, &argv(&["a`b"])), None);
    }

    #[test]
    fn a_command_goes_before_the_delta_also_where_no_heading_is_there() {
        for text in [
            "# T\n\n## Why\n\nX\n\n# Domain: a\n\n## ADDED Requirements\n",
            "# T\n\n## Checks\n\n# Domain: a\n\n## ADDED Requirements\n",
            "# Domain: a\n",
        ] {
            let added = with_check(text, &argv(&["true"])).expect("a line");
            assert_eq!(commands(&added), [argv(&["true"])], "{added}");
            let part = delta(&added);
            assert!(part.trim_start().starts_with("# Domain: a"), "{part}");
            assert!(!part.contains("true"), "{part}");
        }
    }

    #[test]
    fn the_delta_keeps_the_lines_of_the_brief() {
        let text =
            "---\ndepends_on: [x]\n---\n# T\n\n## Why\n\nX\n\n# Domain: a\n## ADDED Requirements\n";
        let part = delta(text);
        assert!(part.starts_with("---\ndepends_on: [x]\n---\n"));
        let line = |text: &str| text.lines().position(|line| line == "# Domain: a");
        assert_eq!(line(text), line(&part));
        assert!(!part.contains("Why"));
    }
}
