//! `brief.md`, the one file of a quick change: why, the commands that check it, and the delta where behaviour changes.
//!
//! The commands stand below `## Checks`, one list item with code each; the delta begins with the first level-1
//! heading `Domain: PATH`, or with a requirement or section above it, and goes to the end.

use super::artifact::Artifact;
use super::change_pack::{Slice, SliceKind};
use super::headings;
use super::markdown;
use super::texts::Texts;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_spec::front::{FrontMatter, set_field};
use loopx_spec::is_requirement;

/// The heading below which the commands stand.
const CHECKS: &str = "Checks";

/// The commands, as checks with ids from their place. Each of them serves every scenario of the brief's delta.
pub fn checks(text: &str) -> Result<Vec<Slice>, Blocker> {
    let sections = markdown::sections(text);
    // What stands below a second heading of that name is meant as much.
    let named = sections
        .iter()
        .filter(|section| headings::is_same(&section.title, CHECKS));
    let items = named.flat_map(|section| {
        let items = commands(&text[section.span.clone()]).into_iter();
        items.map(move |item| (section, item))
    });
    let mut found = Vec::new();
    for (at, (section, item)) in items.enumerate() {
        let argv = shlex::split(&item).unwrap_or_default();
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
            let gap = if section.items.is_empty() {
                "\n\n"
            } else {
                "\n"
            };
            out.insert_str(at, &format!("{gap}{}", item.trim_end()));
        }
        None => {
            let at = domain_at(text).unwrap_or(text.len());
            let gap = if text[..at].ends_with("\n\n") || at == 0 {
                ""
            } else {
                "\n"
            };
            let after = if at < text.len() { "\n" } else { "" };
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

/// Tells whether a brief says what becomes of the specs.
pub fn has_delta(text: &str) -> bool {
    domain_at(text).is_some()
}

/// Reason why the change is made, in one line.
pub fn why(text: &str) -> Option<String> {
    let why = markdown::section_text(text, "Why")?;
    let line = why.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

/// Finds the place where the first heading begins that belongs to a delta.
fn domain_at(text: &str) -> Option<usize> {
    use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
    let mut heading = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some((level, range.start)),
            Event::End(TagEnd::Heading(_)) => heading = None,
            Event::Text(part) => {
                let begins = |level| match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => begins_delta(&part),
                    // It stands above its section: the reader of the delta says so.
                    HeadingLevel::H3 => is_requirement(&part),
                    _ => false,
                };
                match heading.take() {
                    Some((level, at)) if begins(level) => return Some(at),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    None
}

/// Tells whether a heading begins a delta: a domain, or a section of one whose domain was forgotten.
fn begins_delta(heading: &str) -> bool {
    let heading = heading.trim().to_lowercase();
    let sections = ["added", "modified", "removed", "renamed"];
    let of_section = |word: &&str| heading == format!("{word} requirements");
    heading.starts_with("domain:") || sections.iter().any(of_section)
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

/// The field of the front matter that names another file for the delta: the session has got a profile with one.
const ELSEWHERE: &str = "delta";

/// The file that a session's delta stands in: the brief, unless that names the other one.
pub fn delta_file(texts: &Texts) -> Option<Artifact> {
    match (texts.contains_key(&Artifact::SpecDelta), of(texts)) {
        (false, None) => None,
        (true, None) => Some(Artifact::SpecDelta),
        (false, Some(_)) => Some(Artifact::Brief),
        (true, Some(brief)) => {
            let front = FrontMatter::parse(brief).unwrap_or_default();
            match front.text(ELSEWHERE) {
                Ok(Some(file)) if file == Artifact::SpecDelta.path() => Some(Artifact::SpecDelta),
                _ => Some(Artifact::Brief),
            }
        }
    }
}

/// The brief of a session whose delta stands in the other file from now on.
pub fn with_delta_elsewhere(text: &str) -> String {
    let text = if text.starts_with("---\n") {
        text.to_owned()
    } else {
        format!("---\n---\n{text}")
    };
    set_field(&text, ELSEWHERE, Artifact::SpecDelta.path())
}

/// The brief with the delta that stood in another file, where it has none.
pub fn with_delta(text: &str, delta: &str) -> String {
    if has_delta(text) || !has_delta(delta) {
        return text.to_owned();
    }
    let delta = self::delta(delta);
    let own = delta.trim_start();
    format!("{}\n\n{own}", text.trim_end())
}

/// The brief without what it says of the specs.
pub fn without_delta(text: &str) -> &str {
    &text[..domain_at(text).unwrap_or(text.len())]
}

/// The brief of a session, where it has one.
pub fn of(texts: &Texts) -> Option<&str> {
    texts.get(&Artifact::Brief).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{checks, delta, has_delta, why, with_check};
    use crate::artifact::Artifact;
    use crate::policy::Language;
    use crate::profile::Profile;
    use crate::template::TemplateInput;
    use loopx_base::id::SessionId;

    fn template(title: &str, intent: &str) -> String {
        Artifact::Brief.template(TemplateInput {
            id: &SessionId::parse("it").expect("an id"),
            title,
            intent,
            domains: &[],
            profile: &Profile::empty(),
            language: Language::Off,
        })
    }

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
    fn q18_a_requirement_above_the_domain_belongs_to_the_delta() {
        let text = "# It\n\n## Checks\n\n- `true`\n\n### Requirement: Lost\n\nx\n\n# Domain: a\n";
        assert!(has_delta(text));
        assert!(delta(text).trim().starts_with("### Requirement: Lost"));
        assert_eq!(commands(text), [argv(&["true"])]);
        assert!(!has_delta("# It\n\n### Requirements\n\nx\n"));
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
