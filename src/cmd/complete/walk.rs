//! The words that the parser would take where the cursor is, read from its own description.

use crate::cli::Cli;
use crate::cmd::help;
use crate::flow::complete::Kind;
use clap::{Arg, Command, CommandFactory};
use loopx_hosts::Host;
use loopx_rules::stage::Stage;

/// Candidate for the word that is completed.
#[derive(Debug)]
pub(super) enum Offer {
    /// Word, and its meaning.
    Word(String, String),
    /// Names of the repository, of a kind.
    Of(Kind),
    Files,
}

/// The word that is completed.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) offers: Vec<Offer>,
    /// The beginning of the value as it is typed, and the part of the word before it: `--to=`.
    pub(super) begun: String,
    pub(super) before: String,
    /// The session that the words name.
    pub(super) session: Option<String>,
}

/// State of the walk along the words.
struct Walk<'c> {
    at: &'c Command,
    path: Vec<&'c str>,
    /// Positional words that were passed.
    passed: usize,
    /// The option that waits for values, and how many it has.
    open: Option<(&'c Arg, usize)>,
    session: Option<String>,
    /// Set behind `--`.
    only_words: bool,
}

/// Finds the candidates for the last of these words.
pub(super) fn walk(words: &[String]) -> Asked {
    let mut cli = Cli::command();
    cli.build();
    let mut walk = Walk {
        at: &cli,
        path: Vec::new(),
        passed: 0,
        open: None,
        session: None,
        only_words: false,
    };
    // bash takes `--to=plan` apart.
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((last, words)) = words.split_last() else {
        return Asked::default();
    };
    for word in words.iter().filter(|word| **word != "=") {
        walk.pass(word);
    }
    let last = if *last == "=" { "" } else { last };
    let (before, begun) = match last.split_once('=') {
        Some((option, begun)) if option.starts_with("--") && walk.open.is_none() => {
            walk.pass(option);
            (format!("{option}="), begun)
        }
        _ => (String::new(), last),
    };
    Asked {
        offers: walk.offers(begun),
        begun: begun.to_owned(),
        before,
        session: walk.session,
    }
}

impl<'c> Walk<'c> {
    fn pass(&mut self, word: &str) {
        if let Some((arg, had)) = self.open.take() {
            if arg.get_id() == "session" {
                self.session = Some(word.to_owned());
            }
            self.open = (had + 1 < most(arg)).then_some((arg, had + 1));
        } else if self.only_words {
            self.passed += 1;
        } else if word == "--" {
            self.only_words = true;
        } else if let Some(option) = word.strip_prefix("--") {
            match option.split_once('=') {
                Some(("session", id)) => self.session = Some(id.to_owned()),
                Some(_) => {}
                None => self.opened(|arg| arg.get_long() == Some(option)),
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let last = letters.chars().last();
            self.opened(|arg| arg.get_short() == last);
        } else if let Some(part) = self.at.find_subcommand(word).filter(|_| self.passed == 0) {
            self.at = part;
            self.path.push(part.get_name());
        } else {
            self.passed += 1;
        }
    }

    /// Waits for the values of the option, if it takes any that have to be there.
    fn opened(&mut self, is_meant: impl Fn(&Arg) -> bool) {
        let arg = self.at.get_arguments().find(|arg| is_meant(arg));
        let needs = |arg: &&Arg| {
            arg.get_num_args()
                .is_some_and(|range| range.min_values() > 0)
        };
        self.open = arg
            .filter(|arg| arg.get_action().takes_values())
            .filter(needs)
            .map(|arg| (arg, 0));
    }

    fn offers(&self, begun: &str) -> Vec<Offer> {
        if let Some((arg, had)) = self.open {
            return self.values(arg, had);
        }
        if begun.starts_with('-') && !self.only_words {
            return self.options();
        }
        let mut found = Vec::new();
        if self.passed == 0 && !self.only_words {
            let shown = self.at.get_subcommands();
            found.extend(shown.filter(|part| !part.is_hide_set()).map(|part| {
                let about = part.get_about().map(ToString::to_string);
                Offer::Word(part.get_name().to_owned(), about.unwrap_or_default())
            }));
            if self.path.is_empty() {
                found.push(Offer::Of(Kind::Alias));
            }
        }
        if self.path == ["help"] {
            let topics = help::topic_names().into_iter();
            found.extend(topics.map(|name| Offer::Word(name.to_owned(), "a topic".to_owned())));
        }
        let mut places = self.at.get_positionals();
        let last = self.at.get_positionals().last();
        let arg = places.nth(self.passed).or(last.filter(|arg| most(arg) > 1));
        if let Some(arg) = arg {
            found.extend(self.values(arg, 0));
        }
        found
    }

    fn options(&self) -> Vec<Offer> {
        let shown = self.at.get_arguments().filter(|arg| !arg.is_hide_set());
        shown
            .filter_map(|arg| {
                let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
                Some(Offer::Word(format!("--{}", arg.get_long()?), about))
            })
            .collect()
    }

    /// Candidates for the `had`-th value of an argument.
    fn values(&self, arg: &Arg, had: usize) -> Vec<Offer> {
        let known = arg.get_possible_values();
        if !known.is_empty() {
            let word = |value: &clap::builder::PossibleValue| {
                let about = value.get_help().map(ToString::to_string);
                Offer::Word(value.get_name().to_owned(), about.unwrap_or_default())
            };
            let shown = known.iter().filter(|value| !value.is_hide_set());
            return shown.map(word).collect();
        }
        let names = arg.get_value_names().unwrap_or_default();
        let name = names.get(had).or(names.last());
        let name = name.map_or("", |name| name.as_str());
        let path = self.path.join(" ");
        of_value(&path, arg.get_id().as_str(), name)
    }
}

/// Largest number of values that an argument takes.
fn most(arg: &Arg) -> usize {
    arg.get_num_args().map_or(1, |range| range.max_values())
}

fn words(words: &[&str]) -> Vec<Offer> {
    let offer = |word: &&str| Offer::Word((*word).to_owned(), String::new());
    words.iter().map(offer).collect()
}

/// The kind of value that an argument takes, by its name in the help. Free text gets no offer.
fn of_value(path: &str, id: &str, name: &str) -> Vec<Offer> {
    match (path, id, name) {
        ("archive", "undo", _) => vec![Offer::Of(Kind::AnySession)],
        ("status" | "show" | "log" | "diff", "id" | "words", _) | ("export", _, "SESSION") => {
            vec![Offer::Of(Kind::AnySession)]
        }
        ("run", "task", _) | ("build", "waive", _) => vec![Offer::Of(Kind::Check)],
        ("build", _, "ID=STATUS") => Vec::new(),
        ("build", _, "LANE=STATUS") => words(&[
            "execution=complete",
            "architect=complete",
            "deslop=complete",
        ]),
        ("profile", "name", _) | ("start", "profile", _) => vec![Offer::Of(Kind::Profile)],
        ("pipeline show" | "pipeline check" | "pipeline start", "name", _) => {
            vec![Offer::Of(Kind::Pipeline)]
        }
        ("sync", "remote", _) => vec![Offer::Of(Kind::Remote)],
        ("task add" | "task edit", "domain", _) => vec![Offer::Of(Kind::TaskDomain)],
        ("point back", "name", _) => vec![Offer::Of(Kind::Point)],
        (_, _, "DOMAIN") => vec![Offer::Of(Kind::Domain)],
        ("approve", "to", _) => vec![Offer::Of(Kind::NextStage)],
        ("plan", "architect", _) => words(&["approve", "iterate"]),
        ("plan", "critic", _) => words(&["approve", "iterate", "reject"]),
        ("review", _, "VERDICT") => words(&["approve", "request-changes"]),
        ("review", _, "ANSWER") => words(&["fixed", "open", "wontfix"]),
        ("review", _, "SMELL") => words(&["pass", "warn", "block"]),
        ("review", _, "STAGE") => words(&["build", "plan", "clarify"]),
        ("verify", "branch" | "onto", _) => vec![Offer::Of(Kind::Branch)],
        ("adr list", "status", _) => words(&["proposed", "accepted", "deprecated", "superseded"]),
        ("adr link", _, "VERB") => words(&["amends", "clarifies", "extends"]),
        (_, _, "HOST") => words(&Host::ALL.map(Host::name)),
        (_, _, "CI") => words(&["github", "gitlab", "none"]),
        (_, _, "CATEGORY") => words(&["general", "exploration", "planning", "execution"]),
        (_, _, "STAGE") => words(&Stage::ALL.map(Stage::as_str)),
        (_, _, "ARTIFACT" | "ARTIFACTS") => vec![Offer::Of(Kind::Artifact)],
        ("start", "id", _) => Vec::new(),
        (_, _, "ID") => vec![Offer::Of(Kind::Session)],
        (_, _, "BRANCH" | "COMMIT" | "REVISION" | "REV" | "RANGE") => vec![Offer::Of(Kind::Branch)],
        ("verify", _, "BASE") => vec![Offer::Of(Kind::Branch)],
        (
            _,
            _,
            "FILE" | "DIR" | "OUT" | "PATH" | "DELTA" | "REPORT" | "BASE" | "OURS" | "THEIRS",
        )
        | (_, _, "FILE|DIR" | "SESSION|FILE") => vec![Offer::Files],
        ("run", "command", _) => vec![Offer::Files],
        _ => Vec::new(),
    }
}
