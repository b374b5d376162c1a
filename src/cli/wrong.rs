//! The message about a command line that the parser refuses: one sentence of what was expected and what was
//! found. Owns the parser's reasons; what a command makes of its own values is its own business.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// Words of other programs for what a command of `issue` does here.
const OTHER_WORDS: [(&str, &str); 20] = [
    ("add", "create"),
    ("assign", "edit ID --assignee NAME"),
    ("block", "link ID blocked-by OTHER"),
    ("claim", "take"),
    ("delete", "close"),
    ("dep", "link"),
    ("done", "resolve"),
    ("find", "list --grep WORDS"),
    ("finish", "resolve"),
    ("history", "log"),
    ("kanban", "board"),
    ("label", "edit ID --label LABEL"),
    ("remove", "close"),
    ("rm", "close"),
    ("search", "list --grep WORDS"),
    ("start", "take"),
    ("status", "show"),
    ("update", "edit"),
    ("view", "show"),
    ("wontfix", "close"),
];

/// The sentence, and what was perhaps meant. `command`: what was typed of a command; `below`: those behind it.
pub(super) fn sentence(error: &clap::Error, command: &str, below: &[String]) -> String {
    let said = expected(error, command, below);
    let typed = context(error, ContextKind::InvalidSubcommand);
    let mut elsewhere = OTHER_WORDS.iter().filter(|_| command == "issue");
    if let Some((_, here)) = elsewhere.find(|(word, _)| *word == typed) {
        return format!("{said}; the nearest is {here}");
    }
    let meant = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ]
    .into_iter()
    .map(|kind| context(error, kind))
    .find(|meant| !meant.is_empty());
    // The parser has the best of them last.
    match meant.as_deref().and_then(|meant| meant.rsplit(", ").next()) {
        Some(meant) => format!("{said}; the nearest is {meant}"),
        None => said,
    }
}

/// Words that the parser has for one kind of context of its error.
fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(all)) => all.join(", "),
        Some(ContextValue::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Sentence of what was expected and what was found.
fn expected(error: &clap::Error, command: &str, below: &[String]) -> String {
    let found = |kind| context(error, kind);
    let option = found(ContextKind::InvalidArg).replace("...", "");
    let option = option.replace(['<', '>'], "");
    let value = found(ContextKind::InvalidValue);
    let behind = match command {
        "" => String::new(),
        command => format!(" of `{command}`"),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            format!(
                "expected a command{behind}, found `{}`",
                found(ContextKind::InvalidSubcommand)
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!(
                "expected one of {} behind `{command}`, found nothing",
                below.join(", ")
            )
        }
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            format!("expected an option{behind}, found `{option}`")
        }
        ErrorKind::UnknownArgument => format!("expected no more words{behind}, found `{option}`"),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("expected a value for {option}, found none")
        }
        ErrorKind::InvalidValue => format!(
            "{option}: expected one of {}, found `{value}`",
            found(ContextKind::ValidValue)
        ),
        ErrorKind::ValueValidation => format!("{option}: {}", invalid(error, &value)),
        ErrorKind::MissingRequiredArgument => format!("expected {option}{behind}, found nothing"),
        ErrorKind::ArgumentConflict => conflict(&option, &found(ContextKind::PriorArg)),
        ErrorKind::TooManyValues => {
            format!("expected no more values for {option}, found `{value}`")
        }
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => format!(
            "expected {}{} values for {option}, found {}",
            found(ContextKind::MinValues),
            found(ContextKind::ExpectedNumValues),
            found(ContextKind::ActualNumValues)
        ),
        _ => plain(error),
    }
}

/// The message of a value's reader; for numbers the parser's own reader says less.
fn invalid(error: &clap::Error, value: &str) -> String {
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    if said.contains("found `") {
        return said;
    }
    let range = said.split_once(" is not in ").map(|(_, range)| range);
    let wanted = match range.and_then(|range| range.split_once("..=")) {
        Some((low, high)) if high.len() > 5 => format!("a number of at least {low}"),
        Some((low, high)) => format!("a number from {low} to {high}"),
        None if said.contains("digit") || said.contains("integer") => "a number".to_owned(),
        None => return format!("{said}, found `{value}`"),
    };
    format!("expected {wanted}, found `{value}`")
}

fn conflict(option: &str, prior: &str) -> String {
    if prior.is_empty() || prior == option {
        format!("expected {option} once, found it again")
    } else {
        format!("expected {option} or {prior}, found both")
    }
}

/// The parser's own first paragraph, without the usage.
fn plain(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let said = text.split("\n\n").next().unwrap_or_default();
    let said: Vec<&str> = said.split_whitespace().collect();
    said.join(" ").trim_start_matches("error: ").to_owned()
}
