//! Hints: what leads on from here. A command in a hint is a value (verb, session, arguments), so that it
//! can be addressed to the session that is meant, and so that a test can read every one of them with the
//! parser of the command line.
//!
//! `command!("approve --to {stage}")` makes one; `hint!["mend it, then: ", command!("save")]` puts one
//! into a sentence. Text that is no command of ours is advice: a string will do.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Name of the program on a command line.
const PROGRAM: &str = "git loopx";
/// Commands that tell git who somebody is, which each record needs.
pub const IDENTITY: &str = "git config --global user.name \"Your Name\" && git config --global user.email \"you@example.com\"";
/// The place for a reason in a template: [`Hint::because`] fills it with what is known, else [`general_reason`] does.
const REASON: &str = " --reason WHY";
/// The one key of a hint in a document that is not printed yet.
const KEY: &str = "\u{1}hint";

macro_rules! verbs {
    ($($variant:ident $word:literal $about:ident,)+) => {
        /// The first word of a command, or two of them where the second decides what it is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verb {
            $($variant,)+
        }

        impl Verb {
            pub const ALL: &'static [Verb] = &[$(Verb::$variant),+];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Verb::$variant => $word),+
                }
            }

            const fn about(self) -> About {
                match self {
                    $(Verb::$variant => About::$about),+
                }
            }
        }
    };
}

/// Object of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// Session: `--session` says which.
    Session,
    /// Another object, or what the arguments of the command name.
    Other,
}

verbs! {
    Abandon "abandon" Session,
    Adr "adr" Other,
    AgentBlock "agent block" Session,
    AgentPark "agent park" Session,
    AgentResume "agent resume" Session,
    Agent "agent" Other,
    Amend "amend" Session,
    Approve "approve" Session,
    Archive "archive" Session,
    Build "build" Session,
    Cat "cat" Session,
    Change "change" Session,
    Checkout "checkout" Session,
    Clarify "clarify" Session,
    Clean "clean" Other,
    Completions "completions" Other,
    Config "config" Other,
    Demo "demo" Other,
    Diff "diff" Session,
    Doctor "doctor" Other,
    Edit "edit" Session,
    Export "export" Other,
    Finish "finish" Session,
    Fsck "fsck" Other,
    Help "help" Other,
    History "history" Other,
    Hooks "hooks" Other,
    Import "import" Other,
    Init "init" Other,
    Issue "issue" Other,
    List "list" Other,
    Log "log" Session,
    Man "man" Other,
    Next "next" Session,
    Note "note" Session,
    Pipeline "pipeline" Session,
    Point "point" Session,
    Plan "plan" Session,
    Profile "profile" Session,
    Put "put" Session,
    Rebase "rebase" Session,
    Redact "redact" Other,
    Redo "redo" Session,
    Reopen "reopen" Session,
    Resolve "resolve" Session,
    Review "review" Session,
    Roadmap "roadmap" Other,
    Rule "rule" Other,
    Run "run" Session,
    Save "save" Session,
    Setup "setup" Other,
    Show "show" Session,
    Signers "signers" Other,
    Spec "spec" Other,
    Start "start" Other,
    Status "status" Session,
    Sync "sync" Other,
    Take "take" Session,
    Task "task" Session,
    Undo "undo" Session,
    Use "use" Other,
    Verify "verify" Other,
}

impl Verb {
    /// The verb that a template begins with, the longer one first. A wrong one does not compile.
    #[doc(hidden)]
    pub const fn of(template: &str) -> Verb {
        let mut at = 0;
        while at < Verb::ALL.len() {
            if begins(template.as_bytes(), Verb::ALL[at].word().as_bytes()) {
                return Verb::ALL[at];
            }
            at += 1;
        }
        panic!("the template begins with no verb of the command line")
    }
}

/// Tells whether a word is the first one of a template.
const fn begins(template: &[u8], word: &[u8]) -> bool {
    if template.len() < word.len() {
        return false;
    }
    let mut at = 0;
    while at < word.len() {
        if template[at] != word[at] {
            return false;
        }
        at += 1;
    }
    template.len() == word.len() || template[word.len()] == b' '
}

/// A part of a hint as it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// Mark of a command, which nobody could paste in two lines.
    pub is_command: bool,
}

impl Piece {
    pub fn told(text: impl Into<String>) -> Self {
        Piece {
            text: text.into(),
            is_command: false,
        }
    }

    pub fn typed(text: impl Into<String>) -> Self {
        Piece {
            text: text.into(),
            is_command: true,
        }
    }
}

/// Place where a hint will be typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'p> {
    /// The session that would not be meant without being named.
    pub session: Option<&'p str>,
    /// Mark of a place without a worktree.
    pub is_bare: bool,
    /// The branch that a worktree is added for, where it is known.
    pub branch: Option<&'p str>,
}

/// A command of ours, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Command {
    #[serde(skip, default = "status")]
    verb: Verb,
    session: Option<String>,
    /// Verb and arguments, quoted for a shell.
    words: String,
    about_a_session: bool,
    /// A mark of a command that gives a person's word here, which its words alone do not tell.
    #[serde(skip)]
    persons: bool,
}

fn status() -> Verb {
    Verb::Status
}

impl Command {
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Verb and arguments, without the program and the session.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Arguments of the command: the words behind the verb.
    pub fn args(&self) -> &str {
        self.words
            .get(self.verb.word().len()..)
            .unwrap_or_default()
            .trim_start()
    }

    /// The session that the command names.
    pub fn session_named(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Tells whether the command gives a person's word on what somebody looked at.
    pub fn is_persons_word(&self) -> bool {
        self.persons
            || match self.verb {
                Verb::Approve => !self.has("--show"),
                Verb::Archive => self.has("--waive"),
                Verb::Build => self.has("--waive"),
                Verb::Finish => true,
                Verb::Review => self.has("--verdict") || self.has("wontfix"),
                Verb::Amend => !self.has("--show"),
                Verb::Task => {
                    let is = |step: &str| self.args().starts_with(step);
                    is("open ") || is("skip ") || self.has("--manual")
                }
                _ => false,
            }
    }

    fn has(&self, option: &str) -> bool {
        self.words.split(' ').any(|word| word == option)
    }

    fn is_amendment(&self) -> bool {
        self.verb == Verb::Amend && self.has("--reason")
    }

    fn is_unsigned_amendment(&self) -> bool {
        self.is_amendment() && !self.has("--sign")
    }

    /// Tells whether a repository without a worktree refuses the command.
    fn needs_worktree(&self) -> bool {
        const VERBS: [&str; 8] = [
            "checkout",
            "edit",
            "put",
            "run",
            "save",
            "task add",
            "task done",
            "task edit",
        ];
        // The verb of a command that was printed into a document is gone: its words are not.
        VERBS
            .iter()
            .any(|verb| begins(self.words.as_bytes(), verb.as_bytes()))
    }

    /// Words of the command as they have to be typed at a place.
    fn typed(&self, place: Place<'_>) -> String {
        let named =
            |id: &&str| self.about_a_session && !self.words.split(' ').any(|word| word == *id);
        let words = match self.words.split_once(REASON) {
            Some((before, after)) => {
                let why = super::shell_word(general_reason(&self.words));
                Cow::Owned(format!("{before} --reason {why}{after}"))
            }
            None => Cow::Borrowed(self.words.as_str()),
        };
        // Which command shows that a change works, only a person knows.
        if let Some(before) = words.strip_suffix(" COMMAND") {
            let session = self.session.as_deref().or(place.session.filter(named));
            let session = session.map_or_else(String::new, |id| format!("-s {id} "));
            return format!(
                "run the command that shows that the change works, behind `{PROGRAM} {session}{before}`"
            );
        }
        let command = match self.session.as_deref().or(place.session.filter(named)) {
            Some(id) => format!("{PROGRAM} -s {id} {words}"),
            None => format!("{PROGRAM} {words}"),
        };
        if place.is_bare && self.needs_worktree() {
            let branch = place.branch.map(super::shell_word);
            let branch = branch.map_or_else(String::new, |branch| format!(" {branch}"));
            format!("git worktree add ../work{branch}  (and there: {command})")
        } else {
            command
        }
    }
}

/// A reason that is true of whoever types this command, whatever else moves them.
fn general_reason(words: &str) -> &'static str {
    const REASONS: [(&str, &str); 34] = [
        ("abandon", "it is not wanted any more"),
        ("amend", "the list has to change"),
        ("agent block", "it cannot go on"),
        ("agent park", "it waits for a person"),
        ("archive --waive", "it needs no evidence"),
        ("build --more", "it is not finished"),
        ("build --take-over", "it goes on here"),
        ("build --waive", "it was looked at by hand"),
        ("clarify --more", "it is not clear yet"),
        ("finish", "no file has to change"),
        ("issue close", "it will not be done"),
        ("issue queue fail", "the tests fail"),
        ("issue resolve", "it was looked at by hand"),
        ("issue solution bind", "it solves the issue"),
        ("issue solution reject", "it does not solve the issue"),
        ("issue take", "it goes on here"),
        ("issue undo", "it is not wanted"),
        ("note withdraw", "it is not so"),
        ("plan --more", "the plan is not ready"),
        ("plan", "the plan has to change"),
        ("point back", "it goes on from there"),
        ("profile", "this profile fits the change"),
        ("rebase", "the base has moved"),
        ("reopen", "there is more to do"),
        ("review --answer", "it is meant to be so"),
        ("take", "it goes on here"),
        ("task conflicts --accept", "both may change it"),
        ("task decide", "it was judged"),
        ("task done", "it was looked at by hand"),
        ("task fail", "it does not pass"),
        ("task open", "it was looked at by hand"),
        ("task retry", "it is worth another try"),
        ("task skip", "it is not needed"),
        ("undo", "it is not wanted"),
    ];
    let found = REASONS.iter().find(|(verb, _)| words.starts_with(verb));
    match found {
        Some((_, reason)) => reason,
        None if words.contains("approve") => "no file has to change",
        None if words.contains("request-changes") => "it has to be mended",
        None => "it has to be so",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
enum Part {
    Advice(String),
    Command(Command),
    /// A command of git's own: the words behind `git`.
    Git(String),
}

/// The command that leads on, or advice, or both in one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    parts: Vec<Part>,
}

impl Hint {
    /// The door of `command!`.
    #[doc(hidden)]
    pub fn of_template(verb: Verb, words: String) -> Self {
        let command = Command {
            verb,
            session: None,
            words,
            about_a_session: verb.about() == About::Session,
            persons: false,
        };
        Hint {
            parts: vec![Part::Command(command)],
        }
    }

    /// A command of git's own, from the words behind `git`.
    pub fn git(words: impl Into<String>) -> Self {
        Hint {
            parts: vec![Part::Git(words.into())],
        }
    }

    /// Advice to commit files that were written: paths from the top of the working tree, which `:/` says from
    /// whatever folder (gitglossary(7), pathspec).
    pub fn commit<'p>(paths: impl IntoIterator<Item = &'p str>, subject: &str) -> Self {
        let word = |path: &str| crate::shell_word(&format!(":/{path}"));
        let words: Vec<String> = paths.into_iter().map(word).collect();
        format!("git add {} && git commit -m \"{subject}\"", words.join(" ")).into()
    }

    /// The command that the hint begins with, without what is said behind it.
    pub fn lead(&self) -> Option<Hint> {
        match self.parts.first() {
            Some(part @ (Part::Command(_) | Part::Git(_))) => Some(Hint {
                parts: vec![part.clone()],
            }),
            _ => None,
        }
    }

    /// Rest of the hint, behind the command that leads.
    pub fn behind_lead(&self) -> Hint {
        let behind = usize::from(self.lead().is_some());
        Hint {
            parts: self.parts.iter().skip(behind).cloned().collect(),
        }
    }

    /// Puts a reason into the place that a command has for one.
    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        for part in &mut self.parts {
            if let Part::Command(command) = part {
                let why = format!(" --reason {}", super::shell_word(why));
                command.words = command.words.replacen(REASON, &why, 1);
            }
        }
        self
    }

    /// Several hints as one sentence.
    pub fn joined(hints: impl IntoIterator<Item = Hint>) -> Self {
        Hint {
            parts: hints.into_iter().flat_map(|hint| hint.parts).collect(),
        }
    }

    /// Marks each command of the hint as one that gives a person's word.
    #[must_use]
    pub fn persons(mut self) -> Self {
        for part in &mut self.parts {
            if let Part::Command(command) = part {
                command.persons = true;
            }
        }
        self
    }

    /// Signs each amendment of the hint, for policy asks for that.
    #[must_use]
    pub fn with_signed_amendments(mut self) -> Self {
        for part in &mut self.parts {
            if let Part::Command(command) = part
                && command.is_unsigned_amendment()
            {
                command.words.push_str(" --sign");
            }
        }
        self
    }

    /// Leads another way where the hint amends: policy lets no amendment through. A hint that has that way already, too,
    /// has it once.
    #[must_use]
    pub fn without_amendments(mut self, way: &Hint) -> Self {
        let Some(Part::Command(way)) = way.parts.first() else {
            return self;
        };
        let is_amendment = |part: &Part| matches!(part, Part::Command(one) if one.is_amendment());
        let is_way = |part: &Part| matches!(part, Part::Command(one) if one.words == way.words);
        while let Some(at) = self.parts.iter().position(is_amendment) {
            match self.parts.iter().skip(at).position(is_way) {
                Some(behind) => drop(self.parts.drain(at..at + behind)),
                None => {
                    if let Some(Part::Command(command)) = self.parts.get_mut(at) {
                        let session = command.session.take();
                        *command = way.clone();
                        command.session = session;
                    }
                }
            }
        }
        self
    }

    /// Commands of ours in the hint, in their order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.parts.iter().filter_map(|part| match part {
            Part::Command(command) => Some(command),
            _ => None,
        })
    }

    /// Tells whether the first command of the hint gives a person's word.
    pub fn is_persons_word(&self) -> bool {
        self.commands().next().is_some_and(Command::is_persons_word)
    }

    /// Tells whether a command of the hint amends.
    pub fn has_amendment(&self) -> bool {
        self.commands().any(Command::is_amendment)
    }

    /// Names the session of the command, wherever it is typed.
    #[must_use]
    pub fn session(mut self, id: impl fmt::Display) -> Self {
        if let Some(Part::Command(command)) = self.parts.last_mut() {
            command.session = Some(id.to_string());
        }
        self
    }

    /// Names the session of every command that is about one.
    #[must_use]
    pub fn in_session(mut self, id: impl fmt::Display) -> Self {
        for part in &mut self.parts {
            // A command that has the session among its own words names it already.
            if let Part::Command(command) = part
                && command.about_a_session
                && !command.args().split(' ').any(|word| word == id.to_string())
            {
                command.session.get_or_insert_with(|| id.to_string());
            }
        }
        self
    }

    /// Adds words behind the hint that a person should know before typing it.
    #[must_use]
    pub fn note(self, note: impl fmt::Display) -> Self {
        Hint::joined([self, format!("  {note}").into()])
    }

    /// The command, where the hint is nothing else.
    pub fn command(&self) -> Option<&Command> {
        match self.parts.as_slice() {
            [Part::Command(command)] => Some(command),
            _ => None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Text of the hint as it has to be typed at a place.
    pub fn addressed(&self, place: Place<'_>) -> String {
        let pieces = self.pieces(place).into_iter();
        pieces.map(|piece| piece.text).collect()
    }

    /// Pieces of the hint: a command is pasted whole.
    pub fn pieces(&self, place: Place<'_>) -> Vec<Piece> {
        let piece = |part: &Part| match part {
            Part::Advice(text) => Piece::told(text),
            Part::Command(command) => Piece::typed(command.typed(place)),
            Part::Git(words) => Piece::typed(format!("git {words}")),
        };
        self.parts.iter().map(piece).collect()
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        debug_assert!(
            !names_command(&text),
            "a command is made by `command!`: {text}"
        );
        let parts = if text.is_empty() {
            Vec::new()
        } else {
            vec![Part::Advice(text)]
        };
        Hint { parts }
    }
}

/// Tells whether a text has a command line of this program in it; the name of the program alone is none.
fn names_command(text: &str) -> bool {
    let mut after = text.split("git loopx ").skip(1);
    after.any(|rest| {
        let is_verb = |verb: &Verb| begins(rest.as_bytes(), verb.word().as_bytes());
        Verb::ALL.iter().any(is_verb)
    })
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Hint> for Hint {
    fn from(hint: &Hint) -> Self {
        hint.clone()
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.addressed(Place::default()))
    }
}

/// Value of a hint in a document, until the document is printed: [`print_hints`].
impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(KEY, &self.parts)?;
        map.end()
    }
}

/// Puts the text of every hint of a document into its place.
pub fn print_hints(document: &mut Value, place: Place<'_>) {
    match document {
        Value::Object(map) if map.len() > 1 => {
            map.values_mut().for_each(|one| print_hints(one, place));
        }
        Value::Object(map) => match map.remove(KEY) {
            Some(parts) => {
                let parts: Vec<Part> = serde_json::from_value(parts).unwrap_or_default();
                *document = Value::String(Hint { parts }.addressed(place));
            }
            None => map.values_mut().for_each(|one| print_hints(one, place)),
        },
        Value::Array(all) => all.iter_mut().for_each(|one| print_hints(one, place)),
        _ => {}
    }
}

/// A command of ours from a template that begins with its verb: `command!("approve --to {stage}")`.
#[macro_export]
macro_rules! command {
    ($template:literal $($arg:tt)*) => {
        $crate::hint::Hint::of_template(
            const { $crate::hint::Verb::of($template) },
            format!($template $($arg)*),
        )
    };
}

/// Commands and advice as one sentence.
#[macro_export]
macro_rules! hint {
    ($($part:expr),+ $(,)?) => {
        $crate::hint::Hint::joined([$($crate::hint::Hint::from($part)),+])
    };
}

pub use {command, hint};

/// The places of hints: words that somebody replaces before they type the command.
pub const PLACES: [&str; 26] = [
    "ANSWER",
    "ARTIFACT",
    "BRANCH",
    "COMMAND",
    "COMMIT",
    "DIR",
    "EMAIL",
    "FILE",
    "HOW",
    "ID",
    "ISSUE",
    "NAME",
    "NEW",
    "NUMBER",
    "OLD",
    "OPERATION",
    "PATH",
    "REF",
    "ROLE",
    "SESSION",
    "TEXT",
    "TITLE",
    "VERDICT",
    "WHAT",
    "WHY",
    "WORD",
];

#[cfg(test)]
mod tests {
    use super::{Hint, Place, Verb, print_hints};
    use serde_json::json;

    fn in_b() -> Place<'static> {
        Place {
            session: Some("b"),
            ..Place::default()
        }
    }

    #[test]
    fn where_there_is_no_worktree_one_is_added_first() {
        let bare = Place {
            is_bare: true,
            ..in_b()
        };
        let hint = command!("edit spec.md");
        assert_eq!(
            hint.addressed(bare),
            "git worktree add ../work  (and there: git loopx -s b edit spec.md)"
        );
        let mut document = json!({ "next": hint });
        print_hints(&mut document, bare);
        assert_eq!(
            document["next"],
            "git worktree add ../work  (and there: git loopx -s b edit spec.md)"
        );
    }

    #[test]
    fn q12_a_worktree_is_added_for_the_branch_of_the_session() {
        let bare = Place {
            is_bare: true,
            branch: Some("a b"),
            ..in_b()
        };
        assert_eq!(
            command!("edit spec.md").addressed(bare),
            "git worktree add ../work 'a b'  (and there: git loopx -s b edit spec.md)"
        );
    }

    #[test]
    fn a_command_that_a_bare_repository_takes_is_typed_there() {
        let bare = Place {
            is_bare: true,
            ..in_b()
        };
        for (hint, needs) in [
            (command!("edit"), true),
            (command!("run"), true),
            (command!("task done {}", "X"), true),
            (command!("task add TITLE"), true),
            (command!("task list"), false),
            (command!("list"), false),
        ] {
            let typed = hint.addressed(bare);
            assert_eq!(typed.starts_with("git worktree add"), needs, "{typed}");
        }
    }

    #[test]
    fn a_command_about_a_session_names_it() {
        for (hint, wanted) in [
            (command!("status"), "git loopx -s b status"),
            (
                hint![command!("edit spec.md"), "  (or ", command!("clarify"), ")"],
                "git loopx -s b edit spec.md  (or git loopx -s b clarify)",
            ),
            (command!("list"), "git loopx list"),
            (command!("agent resume"), "git loopx -s b agent resume"),
            (command!("resolve").session("a"), "git loopx -s a resolve"),
            (command!("archive --undo b"), "git loopx archive --undo b"),
            (command!("use b").note("(here)"), "git loopx use b  (here)"),
            (
                hint!["write the code, then: ", command!("run --task {}", "X")],
                "write the code, then: git loopx -s b run --task X",
            ),
            ("git init".into(), "git init"),
        ] {
            assert_eq!(hint.addressed(in_b()), wanted);
        }
    }

    #[test]
    fn a_hint_in_a_document_is_text_when_it_is_printed() {
        let mut document = json!({
            "message": "status", "next_action": command!("status"),
            "blockers": [{"help": command!("list"), "code": "x"}, {"help": Hint::default()}],
        });
        print_hints(&mut document, in_b());
        let wanted = json!({
            "message": "status", "next_action": "git loopx -s b status",
            "blockers": [{"help": "git loopx list", "code": "x"}, {"help": ""}],
        });
        assert_eq!(document, wanted);
    }

    #[test]
    fn the_lead_of_a_hint_is_its_first_command_alone() {
        let undo = command!("undo --only 7 --reason WHY").note("(or wait)");
        let lead = undo
            .lead()
            .map(|lead| lead.because("it's wrong").to_string());
        let wanted = "git loopx undo --only 7 --reason 'it'\\''s wrong'";
        assert_eq!(lead.as_deref(), Some(wanted));
        assert_eq!(Hint::git("switch b").to_string(), "git switch b");
        assert_eq!(hint!["ask: ", command!("list")].lead(), None);
    }

    #[test]
    fn a_reason_that_nobody_gave_is_never_a_place_to_fill() {
        for (hint, wanted) in [
            (
                command!("undo --only 7 --reason WHY"),
                "git loopx undo --only 7 --reason 'it is not wanted'",
            ),
            (
                command!("review --verdict approve --reason WHY --sign"),
                "git loopx review --verdict approve --reason 'no file has to change' --sign",
            ),
            (
                command!("reopen --reason WHY").because("it fails"),
                "git loopx reopen --reason 'it fails'",
            ),
        ] {
            assert_eq!(hint.addressed(Place::default()), wanted);
        }
    }

    #[test]
    fn a_verb_is_a_whole_word() {
        assert_eq!(Verb::of("log --json"), Verb::Log);
        assert_eq!(Verb::of("spec list"), Verb::Spec);
        assert_eq!(Verb::of("agent park --reason x"), Verb::AgentPark);
        assert_eq!(Verb::of("agent status"), Verb::Agent);
        let edit = command!("edit {}", "a.md");
        assert_eq!(
            edit.command().map(|c| (c.verb(), c.args())),
            Some((Verb::Edit, "a.md"))
        );
    }
}
