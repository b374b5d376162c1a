//! `help`: the commands in groups, the topics, and the examples that every command's help and manual page end with.
//! The help of one command is made by the parser from its own description.

mod topics;

pub(crate) use topics::{Topic, find, names as topic_names, topic};

use crate::cli::Exit;
use crate::ui::{Ui, layout, style};
use serde_json::json;

/// Commands that most people type on most days.
const DAILY: [(&str, &[&str]); 5] = [
    ("begin", &["init", "start", "status", "next"]),
    ("write", &["edit", "diff", "save"]),
    (
        "move",
        &["approve", "run", "review", "finish", "archive", "undo"],
    ),
    ("tasks", &["task list", "take", "task done"]),
    ("team", &["sync", "list", "verify"]),
];

/// Every command, by what it is for.
pub const GROUPS: [(&str, &[&str]); 9] = [
    (
        "begin",
        &[
            "init", "setup", "start", "use", "rebase", "list", "status", "next", "profile",
        ],
    ),
    (
        "write",
        &[
            "edit", "put", "cat", "checkout", "save", "diff", "show", "log", "note",
        ],
    ),
    (
        "move",
        &[
            "clarify", "plan", "approve", "build", "run", "review", "finish", "archive", "reopen",
            "undo", "redo", "point", "abandon",
        ],
    ),
    ("tasks", &["take", "amend", "task", "pipeline"]),
    ("backlog", &["issue", "roadmap"]),
    ("specs", &["spec", "change", "adr", "rule"]),
    ("agents", &["agent"]),
    (
        "team",
        &[
            "sync", "resolve", "verify", "signers", "hooks", "export", "import", "redact",
        ],
    ),
    (
        "look",
        &[
            "history",
            "fsck",
            "doctor",
            "clean",
            "config",
            "completions",
            "man",
            "demo",
            "help",
        ],
    ),
];

/// The exit codes, in their order.
pub(crate) const EXITS: [(u8, &str); 9] = [
    (0, "done"),
    (1, "refused: a gate, a check, a verdict"),
    (2, "usage"),
    (3, "a conflict for a person"),
    (4, "no such thing, or not initialised"),
    (5, "nothing left to do"),
    (6, "waiting for somebody else"),
    (70, "internal, or a damaged store"),
    (74, "the output could not be written"),
];

const ABOUT: &str = "Keep a change's workflow inside the repository that it changes.";
const EXAMPLES: &str = include_str!("examples.txt");
/// Number of examples that the help of a command shows.
const SHOWN: usize = 3;
/// The column where the text of a short label begins.
const TEXT: usize = 9;
/// Sentences that are wider than this are hard to read.
const WIDEST: usize = 100;

/// Every example, as it is typed behind `git loopx`.
pub fn examples() -> impl Iterator<Item = &'static str> {
    EXAMPLES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The examples of a command: its first ones, or of a group of many commands one of each.
pub(crate) fn examples_of(command: &str, parts: &[&str]) -> Vec<&'static str> {
    let rest = |line: &'static str| {
        line.strip_prefix(command)
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let mut found: Vec<&'static str> = Vec::new();
    let mut seen: Vec<Option<&str>> = Vec::new();
    for line in examples() {
        let Some(rest) = rest(line) else { continue };
        let part = rest.split_whitespace().next();
        if parts.len() < SHOWN || !seen.contains(&part) {
            found.push(line);
        }
        seen.push(part);
    }
    found.truncate(SHOWN);
    found
}

/// `help`: the commands of every day.
pub(crate) fn page(ui: &mut Ui) -> Exit {
    let groups: Vec<_> = DAILY
        .iter()
        .map(|(group, commands)| json!({ "group": group, "commands": commands }))
        .collect();
    ui.json(
        "help",
        &json!({ "groups": groups, "topics": topics::names() }),
    );
    paragraph(ABOUT, ui);
    ui.out("");
    for (group, commands) in DAILY {
        row(group, &commands.join("  "), ui);
    }
    row("more", "git loopx help --all", ui);
    let topics = topics::names().join(", ");
    row("topics", &format!("git loopx help TOPIC: {topics}"), ui);
    ui.out("");
    ui.out("git loopx start --quick \"Fix the typo in the login form\"");
    ui.out("git loopx help start");
    Exit::Done
}

/// `help --all`: every command with its sentence.
pub(crate) fn all(cli: &clap::Command, ui: &mut Ui) -> Exit {
    let mut groups = Vec::new();
    for (group, commands) in GROUPS {
        ui.out(ui.paint(style::HEAD, group));
        let mut told = Vec::new();
        for name in commands {
            let Some(command) = cli.find_subcommand(name) else {
                continue;
            };
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            row(&format!("  {name:13}"), &about, ui);
            let parts = parts(command);
            if !parts.is_empty() {
                row(&" ".repeat(15), &parts.join("  "), ui);
            }
            // A command of a command that has some of its own.
            for below in command
                .get_subcommands()
                .filter(|one| one.has_subcommands())
            {
                let words = self::parts(below);
                if parts.contains(&below.get_name()) && !words.is_empty() {
                    let words = format!("{}: {}", below.get_name(), words.join("  "));
                    row(&" ".repeat(15), &words, ui);
                }
            }
            told.push(json!({ "command": name, "about": about, "commands": parts }));
        }
        groups.push(json!({ "group": group, "commands": told }));
        ui.out("");
    }
    ui.json(
        "help",
        &json!({ "groups": groups, "topics": topics::names() }),
    );
    ui.out(ui.paint(style::HEAD, "exit codes"));
    for (code, meaning) in EXITS {
        row(&format!("  {code}"), meaning, ui);
    }
    Exit::Done
}

/// `help COMMAND --json`: the help of a command as one document.
pub(crate) fn command(cli: &clap::Command, path: &str, ui: &mut Ui) -> Exit {
    let mut words = path.split(' ').filter(|word| !word.is_empty());
    let found = words.try_fold(cli, |at, word| at.find_subcommand(word));
    let at = found.unwrap_or(cli);
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let usage = at.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let arguments = at.get_arguments().filter(|arg| !arg.is_hide_set());
    let (arguments, options): (Vec<_>, Vec<_>) = arguments.partition(|arg| arg.is_positional());
    let examples: Vec<String> = examples_of(path, &parts(at))
        .iter()
        .map(|line| format!("git loopx {line}"))
        .collect();
    ui.json(
        "help",
        &json!({
            "name": path,
            "about": text(at.get_about()),
            "details": text(at.get_long_about()),
            "usage": usage,
            "arguments": arguments.into_iter().map(argument).collect::<Vec<_>>(),
            "options": options.into_iter().map(argument).collect::<Vec<_>>(),
            "commands": parts(at),
            "examples": examples,
        }),
    );
    Exit::Done
}

/// Argument or option of a command as a value.
fn argument(arg: &clap::Arg) -> serde_json::Value {
    let takes_value = arg.get_action().takes_values();
    let names = |id: &clap::builder::Str| id.to_string();
    let values = arg.get_value_names().unwrap_or_default();
    let possible = arg.get_possible_values();
    let possible: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<String> = defaults
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    json!({
        "long": arg.get_long().map(|name| format!("--{name}")),
        "short": arg.get_short().map(|name| format!("-{name}")),
        "values": if takes_value { values.iter().map(names).collect() } else { Vec::new() },
        "one_of": if takes_value { possible } else { Vec::new() },
        "default": if takes_value { defaults } else { Vec::new() },
        "help": arg.get_help().map(ToString::to_string),
        "required": arg.is_required_set(),
        "repeatable": matches!(arg.get_action(), clap::ArgAction::Append | clap::ArgAction::Count),
        "everywhere": arg.is_global_set(),
    })
}

/// The names of a command's own commands that people type.
pub(crate) fn parts(command: &clap::Command) -> Vec<&str> {
    command
        .get_subcommands()
        .filter(|part| !part.is_hide_set() && part.get_name() != "help")
        .map(clap::Command::get_name)
        .collect()
}

/// A label with its text behind it, wrapped to the screen.
fn row(label: &str, text: &str, ui: &mut Ui) {
    let label = layout::pad(label, TEXT);
    let indent = layout::width(&label);
    let room = layout::columns().min(WIDEST).saturating_sub(indent);
    for (at, text) in layout::wrap(text, room).iter().enumerate() {
        let begin = match at {
            0 => label.clone(),
            _ => " ".repeat(indent),
        };
        ui.out(format!("{begin}{}", text.trim_start()).trim_end());
    }
}

fn paragraph(text: &str, ui: &mut Ui) {
    for line in layout::wrap(text, layout::columns().min(WIDEST)) {
        ui.out(line);
    }
}
