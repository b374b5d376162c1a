//! The topics of `help`: one screen of plain sentences each.

use super::paragraph;
use crate::cli::Exit;
use crate::ui::Ui;
use serde_json::json;

/// A subject that is no command, or more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub name: &'static str,
    /// A paragraph a line; what begins with a space stands as it is.
    pub text: &'static str,
}

const TOPICS: [Topic; 8] = [
    Topic {
        name: "stages",
        text: include_str!("topics/stages.txt"),
    },
    Topic {
        name: "profiles",
        text: include_str!("topics/profiles.txt"),
    },
    Topic {
        name: "specs",
        text: include_str!("topics/specs.txt"),
    },
    Topic {
        name: "backlog",
        text: include_str!("topics/backlog.txt"),
    },
    Topic {
        name: "hooks",
        text: include_str!("topics/hooks.txt"),
    },
    Topic {
        name: "agents",
        text: include_str!("topics/agents.txt"),
    },
    Topic {
        name: "words",
        text: include_str!("topics/words.txt"),
    },
    Topic {
        name: "licenses",
        text: include_str!("topics/licenses.txt"),
    },
];

/// The topic of this name.
pub(crate) fn find(name: &str) -> Option<Topic> {
    TOPICS.into_iter().find(|topic| topic.name == name)
}

/// Names that can be asked for, with the catalogue of codes.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = TOPICS.iter().map(|topic| topic.name).collect();
    names.push("codes");
    names
}

/// Prints a topic, and below it the help of the command that has its name, if there is one.
pub(crate) fn topic(topic: Topic, command: Option<&str>, ui: &mut Ui) -> Exit {
    let Topic { name, text } = topic;
    ui.json("help", &json!({ "topic": name, "text": text }));
    for line in text.lines() {
        if line.starts_with(' ') || line.is_empty() {
            ui.out(line)
        } else {
            paragraph(line, ui)
        }
    }
    if let Some(help) = command {
        ui.out("");
        ui.out(help.trim_end());
    }
    Exit::Done
}
