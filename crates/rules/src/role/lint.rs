//! The linter of a role's prompt: its front matter, its sections, its length.
//!
//! Two kinds of documents are taken. One of ours has the sections `Reads`, `Writes`, `Speaks` and `Work`. One of the
//! tools that this program grew from says `prefix` in its front matter, and has the headings of its phases 2, 3 and 4.

use super::MOST_WORDS;
use crate::skill::field;
use crate::task::node::TaskId;
use loopx_spec::front::block;
use loopx_spec::{Finding, Known, Severity};

const ERROR: &[Severity] = &[Severity::Error];
const WARNING: &[Severity] = &[Severity::Warning];

/// Findings of a role's prompt, by id.
pub const FINDINGS: &[Known] = &[
    Known {
        id: "prompt_field_missing",
        severities: ERROR,
        meaning: "the front matter of a prompt lacks a field, or cannot be read",
        fix: "write the field between two lines `---` at the top",
    },
    Known {
        id: "prompt_long",
        severities: WARNING,
        meaning: "a prompt has more words than an agent should have to read",
        fix: "leave out what the card of a task says",
    },
    Known {
        id: "prompt_role_other",
        severities: ERROR,
        meaning: "a prompt is for another role than its file is named after",
        fix: "give the file the name of the role",
    },
    Known {
        id: "prompt_section_missing",
        severities: ERROR,
        meaning: "a prompt lacks a section, or has nothing in it",
        fix: "write the section",
    },
    Known {
        id: "prompt_unreadable",
        severities: ERROR,
        meaning: "the file of a prompt is not text",
        fix: "write it in UTF-8",
    },
];

const SECTIONS: [&str; 4] = ["reads", "writes", "speaks", "work"];
const PHASES: [&str; 3] = ["phase 2", "phase 3", "phase 4"];
const OF_PEERS: [&str; 4] = ["role", "prefix", "inner_loop", "message_types"];

/// A prompt as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    pub role: Option<String>,
    pub about: String,
    /// Number of words in the body of the prompt.
    pub words: usize,
}

/// Reads a prompt. What cannot be read of it is [`lint`]'s.
pub fn read(text: &str) -> Prompt {
    let (head, body) = parts(text);
    Prompt {
        role: field(head, "role").filter(|role| !role.is_empty()),
        about: field(head, "about")
            .or_else(|| field(head, "description"))
            .unwrap_or_default(),
        words: body.split_whitespace().count(),
    }
}

fn parts(text: &str) -> (&str, &str) {
    match block(text) {
        Ok(Some((head, body))) => (head, text.get(body..).unwrap_or_default()),
        _ => ("", text),
    }
}

/// The finding where the file of a prompt is no text.
pub fn unreadable(file: &str) -> Finding {
    let known = FINDINGS
        .iter()
        .find(|known| known.id == "prompt_unreadable");
    let fix = known.map_or("", |known| known.fix);
    let message = "expected UTF-8".to_owned();
    Finding::new(Severity::Error, "prompt_unreadable", file, 1, message, fix)
}

/// Lists what is wrong with the prompt of a role, by line.
pub fn lint(name: &str, file: &str, text: &str) -> Vec<Finding> {
    let mut notes = Notes {
        file,
        found: Vec::new(),
    };
    if let Err(fault) = block(text) {
        notes.say("prompt_field_missing", fault.line, fault.message);
        return notes.found;
    }
    let (head, body) = parts(text);
    let prompt = read(text);
    let is_of_peers = field(head, "prefix").is_some();
    lint_fields(head, is_of_peers, &mut notes);
    lint_role(&prompt, head, name, &mut notes);
    if is_of_peers {
        lint_messages(head, &mut notes);
    }
    let wanted: &[&str] = if is_of_peers { &PHASES } else { &SECTIONS };
    let above = text.len() - body.len();
    let above = text[..above].matches('\n').count();
    lint_sections(body, above, wanted, &mut notes);
    if prompt.words > MOST_WORDS {
        let message = format!(
            "it has {} words, expected at most {MOST_WORDS}",
            prompt.words
        );
        notes.say("prompt_long", 1, message);
    }
    notes.found.sort_by_key(|one| one.line);
    notes.found
}

/// Findings in one file, with the severity and the fix that their ids stand for.
struct Notes<'f> {
    file: &'f str,
    found: Vec<Finding>,
}

impl Notes<'_> {
    fn say(&mut self, id: &'static str, line: usize, message: String) {
        let known = FINDINGS.iter().find(|known| known.id == id);
        let severity = known.and_then(|known| known.severities.first()).copied();
        let fix = known.map_or("", |known| known.fix);
        let severity = severity.unwrap_or(Severity::Error);
        let finding = Finding::new(severity, id, self.file, line, message, fix);
        self.found.push(finding);
    }
}

fn lint_fields(head: &str, is_of_peers: bool, notes: &mut Notes<'_>) {
    let wanted: &[&str] = if is_of_peers { &OF_PEERS } else { &["role"] };
    for name in wanted.iter().filter(|name| field(head, name).is_none()) {
        notes.say(
            "prompt_field_missing",
            1,
            format!("expected the field `{name}` in the front matter"),
        );
    }
}

/// A prompt is for the role that its file is named after.
fn lint_role(prompt: &Prompt, head: &str, name: &str, notes: &mut Notes<'_>) {
    match &prompt.role {
        None if field(head, "role").is_some() => {
            notes.say("prompt_field_missing", 1, "`role` is empty".to_owned());
        }
        Some(role) if role != name => notes.say(
            "prompt_role_other",
            1,
            format!("it is for the role `{role}`, and its file is named `{name}`"),
        ),
        Some(role) if TaskId::parse(role).is_none() => notes.say(
            "prompt_role_other",
            1,
            format!("expected a role of letters, digits and `-`, found `{role}`"),
        ),
        _ => {}
    }
}

/// A role of the other tools says how it speaks of success and of an error.
fn lint_messages(head: &str, notes: &mut Notes<'_>) {
    if field(head, "message_types").is_none() {
        return;
    }
    for kind in ["success", "error"] {
        let key = format!("{kind}:");
        if !head.lines().any(|line| line.contains(&key)) {
            let message = format!("expected `{kind}` among `message_types`");
            notes.say("prompt_field_missing", 1, message);
        }
    }
}

/// `above` is the number of lines above the body.
fn lint_sections(body: &str, above: usize, wanted: &[&str], notes: &mut Notes<'_>) {
    let sections = sections(body);
    for name in wanted {
        let own = sections
            .iter()
            .find(|section| is_named(&section.title, name));
        match own {
            None => {
                let message = format!("expected a section `{name}`");
                notes.say("prompt_section_missing", above + 1, message);
            }
            Some(section) if section.is_empty => {
                let message = format!("the section `{}` has nothing in it", section.title);
                notes.say("prompt_section_missing", above + section.line, message);
            }
            Some(_) => {}
        }
    }
}

struct Section {
    title: String,
    line: usize,
    is_empty: bool,
}

/// Tells whether a heading begins with these words.
fn is_named(title: &str, name: &str) -> bool {
    let title = title.to_lowercase();
    let rest = title.strip_prefix(name);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// The sections of a body, those between fences left out.
fn sections(body: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut is_fenced = false;
    for (line, text) in (1..).zip(body.lines()) {
        if text.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        let title = text.trim_start_matches('#');
        let is_heading = !is_fenced && title.len() < text.len() && title.starts_with(' ');
        match (is_heading, found.last_mut()) {
            (true, _) => found.push(Section {
                title: title.trim().to_owned(),
                line,
                is_empty: true,
            }),
            (false, Some(last)) if !text.trim().is_empty() => last.is_empty = false,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{FINDINGS, lint};

    fn ids(name: &str, text: &str) -> Vec<(&'static str, usize)> {
        let found = lint(name, "x.md", text);
        let known = |id: &str| {
            FINDINGS
                .iter()
                .find(|known| known.id == id)
                .expect("known")
                .id
        };
        found.iter().map(|one| (known(one.id), one.line)).collect()
    }

    const WHOLE: &str =
        "---\nrole: baker\n---\n# Baker\n## Reads\nx\n## Writes\nx\n## Speaks\nx\n## Work\nx\n";

    #[test]
    fn a_prompt_says_for_whom_it_is_and_has_its_sections() {
        assert_eq!(ids("baker", WHOLE), []);
        assert_eq!(ids("cook", WHOLE), [("prompt_role_other", 1)]);
        assert_eq!(
            ids("baker", &WHOLE.replace("role: baker", "title: x")),
            [("prompt_field_missing", 1)]
        );
        assert_eq!(
            ids("baker", &WHOLE.replace("## Writes\nx", "## Writes\n")),
            [("prompt_section_missing", 7)]
        );
        assert_eq!(
            ids(
                "baker",
                &WHOLE.replace("## Work\nx", "```\n## Work\nx\n```")
            ),
            [("prompt_section_missing", 4)]
        );
        assert_eq!(
            ids("baker", "---\nrole: baker\n"),
            [("prompt_field_missing", 1)]
        );
        let long = format!("{WHOLE}{}", "word ".repeat(800));
        assert_eq!(ids("baker", &long), [("prompt_long", 1)]);
    }

    #[test]
    fn a_document_of_the_older_tools_is_taken_by_its_own_rules() {
        let text = "---\nrole: baker\nprefix: BAKE\ninner_loop: false\nmessage_types:\n  success: baked\n  error: error\n---\n## Phase 2: Load\nx\n## Phase 3: Bake\nx\n## Phase 4: Look\nx\n";
        assert_eq!(ids("baker", text), []);
        assert_eq!(
            ids(
                "baker",
                &text
                    .replace("  error: error\n", "")
                    .replace("Phase 3", "Phase 5")
            ),
            [("prompt_field_missing", 1), ("prompt_section_missing", 8)]
        );
    }

    #[test]
    fn the_findings_stand_in_order() {
        assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
