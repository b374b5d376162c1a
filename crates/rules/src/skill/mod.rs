//! Skills: documents that tell an agent how something is done, as the agents' hosts keep them in their folders. This
//! module owns how such a document is read, in which order the folders count, and what the words behind a skill's name
//! come to. It knows no file system: the shell brings names and texts.

mod args;
mod reading;

pub use args::{Filled, Folder, Ground, PLACEHOLDERS, fill};
pub use reading::{Place, Readings, place, readings};

use loopx_base::vocabulary::vocabulary;
use serde::Serialize;

vocabulary!(
    /// The host whose folder a skill stands in. An earlier one counts first.
    Platform {
        Claude = "claude",
        Codex = "codex",
        Agent = "agent",
        Agy = "agy",
    }
);

impl Platform {
    /// Folder of the host, in the worktree and at home.
    pub fn folder(self) -> &'static str {
        match self {
            Platform::Claude => ".claude",
            Platform::Codex => ".codex",
            Platform::Agent => ".agents",
            Platform::Agy => ".agy",
        }
    }
}

vocabulary!(
    /// The form of a skill: a folder with SKILL.md in it, or one file.
    Form {
        Skill = "skill",
        Command = "command",
    }
);

impl Form {
    /// The folder of a host in which this form stands.
    pub fn folder(self) -> &'static str {
        match self {
            Form::Skill => "skills",
            Form::Command => "commands",
        }
    }

    /// Name and path of a skill below that folder, by the name of an entry there; nothing where the entry is no skill.
    pub fn file(self, entry: &str) -> Option<(String, String)> {
        match self {
            Form::Skill => Some((entry.to_owned(), format!("{entry}/SKILL.md"))),
            Form::Command => {
                let name = entry.strip_suffix(".md").filter(|name| !name.is_empty())?;
                Some((name.to_owned(), entry.to_owned()))
            }
        }
    }
}

vocabulary!(
    /// Scope of a skill: the repository's, or the person's at home. The repository's counts first.
    Scope {
        Project = "project",
        Home = "home",
    }
);

/// Description that a skill gives of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    /// The name in its front matter.
    pub name: Option<String>,
    pub description: String,
    /// The arguments that it takes, in words.
    pub hint: String,
    #[serde(flatten)]
    pub readings: Readings,
}

/// The head of a message where a skill cannot be read.
pub type Fault = String;

/// Reads a skill. Its front matter is read line by line: hosts take what is no YAML (`argument-hint: [a] [b]`), and so
/// does this.
pub fn document(text: &str) -> Result<Document, Fault> {
    let block = loopx_spec::front::block(text)
        .map_err(|fault| format!("line {}: {}", fault.line, fault.message))?;
    let (head, body) = block.unwrap_or(("", 0));
    let first = text.get(body..).unwrap_or_default();
    let description = field(head, "description").unwrap_or_default();
    if description.is_empty() && first.trim().is_empty() {
        return Err("it is empty: expected what an agent is to do".to_owned());
    }
    Ok(Document {
        name: field(head, "name").filter(|name| !name.is_empty()),
        description,
        hint: field(head, "argument-hint").unwrap_or_default(),
        readings: readings(first)?,
    })
}

/// The text of one field of a front matter: what stands behind its name, or what is indented below it.
pub(crate) fn field(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines();
    let value = lines.by_ref().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(':')?;
        (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest.trim())
    })?;
    let is_block = value.is_empty() || value.starts_with(['|', '>']);
    if !is_block {
        return Some(bare(value).to_owned());
    }
    let below = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
    let below: Vec<&str> = below.map(str::trim).filter(|one| !one.is_empty()).collect();
    Some(below.join(" "))
}

/// A value without the quotes around it.
fn bare(value: &str) -> &str {
    let quoted = |mark: char| value.strip_prefix(mark)?.strip_suffix(mark);
    quoted('"').or(quoted('\'')).unwrap_or(value)
}

/// The name of a skill as a task says it, and the words behind it. A host's mark in front of it (`/name`, `$name`) is
/// none of the name.
pub fn named(said: &str) -> (&str, &str) {
    let said = said.trim();
    let (name, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let name = name.strip_prefix(['/', '$']).unwrap_or(name);
    (name, rest.trim())
}

/// Tells whether a text can be the name of a skill: what leads out of a folder is none.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-:".contains(c);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(plain)
}

/// Result of looking for a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    There,
    /// The skill is there by the name of its file, and says another name of itself.
    Renamed(String),
    Missing {
        near: Option<String>,
    },
    /// The skill is there, and nobody can follow it as it stands.
    Unusable(String),
}

impl Looked {
    /// Fault of the skill, in words; nothing where it can be followed under this name.
    pub fn fault(&self, name: &str) -> Option<String> {
        match self {
            Looked::There => None,
            Looked::Renamed(own) => Some(format!("the skill `{name}` calls itself `{own}`")),
            Looked::Missing { near } => {
                let near = near.as_ref();
                let near = near.map_or_else(String::new, |near| format!("; is `{near}` meant?"));
                Some(format!(
                    "no folder of a host has the skill `{name}`, neither in the worktree nor at home{near}"
                ))
            }
            Looked::Unusable(why) => Some(format!("the skill `{name}` cannot be used: {why}")),
        }
    }

    /// Tells whether nobody can follow the skill.
    pub fn is_held(&self) -> bool {
        matches!(self, Looked::Missing { .. } | Looked::Unusable(_))
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, document, is_name, named};

    #[test]
    fn front_matter_is_read_as_the_hosts_write_it() {
        let text = "---\nname: plan\ndescription: >\n  Make a\n  plan\nargument-hint: [phase] [--dir PATH]\nmetadata:\n  name: other\nallowed-tools: Bash(git *)\n---\n# Plan\n";
        let read = document(text).expect("a skill");
        assert_eq!(read.name.as_deref(), Some("plan"));
        assert_eq!(read.description, "Make a plan");
        assert_eq!(read.hint, "[phase] [--dir PATH]");
        let plain = document("no front matter\n").expect("a skill");
        assert_eq!((plain.name, plain.description.as_str()), (None, ""));
        let quoted = document("---\nname: \"a b\"\ndescription: it's so\n---\n").expect("a skill");
        assert_eq!(quoted.name.as_deref(), Some("a b"));
        assert_eq!(quoted.description, "it's so");
        assert!(document("---\nname: x\n").is_err());
    }

    #[test]
    fn a_name_leads_out_of_no_folder() {
        for (said, name, rest) in [
            ("plan", "plan", ""),
            ("/maestro-plan 2 --gaps", "maestro-plan", "2 --gaps"),
            ("$ns:plan  a", "ns:plan", "a"),
        ] {
            assert_eq!(named(said), (name, rest));
            assert!(is_name(name));
        }
        for bad in ["", "..", "../x", "a/b", ".x", "a\\b", "a\nb"] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn an_entry_of_a_folder_is_a_skill_by_its_form() {
        let some = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(Form::Skill.file("plan"), some("plan", "plan/SKILL.md"));
        assert_eq!(Form::Command.file("plan.md"), some("plan", "plan.md"));
        assert_eq!(Form::Command.file("plan.txt"), None);
        assert_eq!(Form::Command.file(".md"), None);
    }
}
