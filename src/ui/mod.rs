//! The only place that prints. Data goes to stdout, everything else to stderr; with `--json` one
//! document goes to stdout, or one error document to stderr.
//!
//! Control characters of names and artifacts never reach a terminal: see [`clean`].
//!
//! Output that could not be written is remembered ([`Ui::lost_output`]) and ends the command with an exit
//! code of its own, as git does. A reader that went away (`| head`) is no error (as in ripgrep).

pub(crate) mod diff;
pub(crate) mod layout;
pub(crate) mod report;
mod rows;

pub(crate) use loopx_base::clean;

use loopx_base::age::{left, relative};
use loopx_base::failure::{Code, Failure, Kind};
use loopx_base::hint::{Hint, Piece, Place, print_hints};
use loopx_base::id::SessionId;
use loopx_base::unfinished::{Unfinished, UnfinishedList};
use loopx_rules::lease::seconds_of;
use loopx_rules::next::{Advised, Next, Waits};
use loopx_rules::settings::truth;
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::rc::Rc;

/// The number in every JSON document. It grows when a key changes its meaning or goes away.
pub(crate) const JSON_SCHEMA: u32 = 1;

/// Options for output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    pub color: ColorChoice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Output of a command: where it writes to.
#[derive(Debug)]
pub(crate) struct Ui {
    options: Options,
    color: bool,
    color_err: bool,
    session: Option<String>,
    judges_push: bool,
    now: Option<i64>,
    /// The repository has no worktree.
    is_bare: Rc<Cell<bool>>,
    /// The branch that a worktree would be added for.
    branch: Rc<RefCell<Option<String>>>,
    unfinished: UnfinishedList,
    taken: Rc<RefCell<Option<SessionId>>>,
    aside: Rc<RefCell<Option<SessionId>>>,
    stdout: Sink,
}

/// Number of bytes of a long list that are written at once.
const TOGETHER: usize = 64 * 1024;

/// Destination of stdout.
#[derive(Debug, Default)]
struct Sink {
    /// Text that is kept for a pager.
    kept: Option<Vec<u8>>,
    /// Lines that are written together.
    lines: Option<Vec<u8>>,
    /// Error for which stdout took something no more.
    lost: Option<io::Error>,
}

impl Sink {
    fn print(&mut self, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
            return;
        }
        if let Some(mut lines) = self.lines.take() {
            lines.extend_from_slice(bytes);
            if lines.len() >= TOGETHER {
                self.write(&lines);
                lines.clear();
            }
            self.lines = Some(lines);
            return;
        }
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        // A reader who went away is no error.
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
            && self.lost.is_none()
        {
            self.lost = Some(error);
        }
    }
}

impl Ui {
    pub(crate) fn new(options: Options) -> Self {
        let no_color = loopx_base::env::var(loopx_base::env::NO_COLOR).is_some();
        let dumb = loopx_base::env::var("TERM").as_deref() == Some("dumb");
        // git itself started a pager for us, as with `git -p`.
        let is_paged = loopx_base::env::var(loopx_base::env::GIT_PAGER_IN_USE)
            .is_some_and(|said| truth(&said) == Some(true));
        let wants = |terminal: bool| match options.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color && !dumb,
        };
        Ui {
            options,
            color: wants(io::stdout().is_terminal() || is_paged),
            color_err: wants(io::stderr().is_terminal()),
            session: None,
            judges_push: false,
            now: None,
            is_bare: Rc::default(),
            branch: Rc::default(),
            unfinished: UnfinishedList::default(),
            taken: Rc::default(),
            aside: Rc::default(),
            stdout: Sink::default(),
        }
    }

    /// Keeps what goes to stdout from here on for a pager, where a terminal would show it.
    pub(crate) fn keep_for_pager(&mut self) {
        if !self.options.json && io::stdout().is_terminal() {
            self.stdout.kept = Some(Vec::new());
        }
    }

    /// Text that was kept for a pager, if there is any.
    pub(crate) fn kept(&self) -> Option<&[u8]> {
        let kept = self.stdout.kept.as_deref();
        kept.filter(|text| !text.is_empty())
    }

    /// Prints what was kept. From here on nothing is.
    pub(crate) fn print_kept(&mut self) {
        if let Some(text) = self.stdout.kept.take() {
            self.print(&text);
        }
    }

    /// The failure of a command whose output could not be written, whatever else it did.
    pub(crate) fn lost_output(&self) -> Option<Failure> {
        let why = self.stdout.lost.as_ref()?;
        let message = format!(
            "the output could not be written: {why}; what the command changed, if anything, stands"
        );
        Some(Failure::new(Kind::Output, Code::OutputUnwritable, message))
    }

    /// List in which a command that is done notes what it left.
    pub(crate) fn unfinished(&self) -> &UnfinishedList {
        &self.unfinished
    }

    /// Note of the session that a command changed and that nobody named.
    pub(crate) fn taken(&self) -> Rc<RefCell<Option<SessionId>>> {
        Rc::clone(&self.taken)
    }

    /// Note of the session that a command looked at, that nobody named, and that has to be named to be changed.
    pub(crate) fn aside(&self) -> Rc<RefCell<Option<SessionId>>> {
        Rc::clone(&self.aside)
    }

    /// Says on stderr which session a command changed that nobody named. Silent with `--quiet` and `--json`, whose
    /// documents name it.
    pub(crate) fn say_taken(&mut self) {
        if let Some(id) = self.taken.borrow_mut().take()
            && !self.options.quiet
            && !self.options.json
        {
            say(&format!(
                "(session {id}, the only active one: no branch is bound to it)"
            ));
        }
    }

    /// Says on stderr what the command left for the next one.
    pub(crate) fn warn_unfinished(&mut self) {
        for one in self.unfinished.all() {
            let Unfinished {
                done,
                left,
                why,
                help,
                is_resumed,
            } = one;
            let then = if is_resumed {
                "the next git loopx command that writes finishes it, or"
            } else {
                "what leads on"
            };
            self.warn(format!(
                "{}; left: {} ({}); {then}: {help}",
                line(&done),
                line(&left),
                line(&why)
            ));
        }
    }

    /// Names this session in suggested commands from here on.
    pub(crate) fn address(&mut self, session: impl Into<String>) {
        self.session = Some(session.into());
    }

    /// A hint, as its commands have to be typed here.
    pub(crate) fn command(&self, hint: &Hint) -> String {
        self.place(|place| hint.addressed(place))
    }

    fn place<T>(&self, typed: impl FnOnce(Place<'_>) -> T) -> T {
        let aside = self.aside.borrow();
        let aside = aside.as_ref().map(SessionId::as_str);
        let branch = self.branch.borrow();
        typed(Place {
            session: self.session.as_deref().or(aside),
            is_bare: self.is_bare.get(),
            branch: branch.as_deref(),
        })
    }

    /// Note, once a repository is open, that it has no worktree.
    pub(crate) fn bare(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.is_bare)
    }

    /// Note, once a repository without a worktree is open, of the branch that one would be added for.
    pub(crate) fn branch(&self) -> Rc<RefCell<Option<String>>> {
        Rc::clone(&self.branch)
    }

    /// Tells whether one JSON document is wanted instead of text.
    pub(crate) fn is_json(&self) -> bool {
        self.options.json
    }

    /// Tells whether somebody watches a long job: progress goes to stderr.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.options.json && !self.options.quiet && io::stderr().is_terminal()
    }

    /// Tells whether a person reads stdout at a terminal, through a pager or not.
    pub(crate) fn is_watched(&self) -> bool {
        !self.options.json && io::stdout().is_terminal()
    }

    /// Asks somebody at the terminal; nothing where nobody sits there. Only a yes is a yes.
    pub(crate) fn ask(&mut self, question: &str) -> Option<bool> {
        if self.options.json || !loopx_base::env::has_terminal() {
            return None;
        }
        let mut err = io::stderr().lock();
        let said = write!(err, "{}", clean(question)).and_then(|()| err.flush());
        let mut answer = String::new();
        let read = said.and_then(|()| io::stdin().read_line(&mut answer));
        let answer = answer.trim().to_lowercase();
        Some(read.is_ok() && (answer == "y" || answer == "yes"))
    }

    /// Tells whether stdout takes colour.
    pub(crate) fn color(&self) -> bool {
        self.color
    }

    /// Writes the data that was asked for. Silent with `--json`: use [`Ui::json`].
    pub(crate) fn out(&mut self, text: impl AsRef<str>) {
        if !self.options.json {
            self.print_line(text.as_ref());
        }
    }

    /// Writes data as lines that fit the screen, all but the first behind so many spaces. What goes to a file or a program
    /// is not folded.
    pub(crate) fn fold_out(&mut self, text: impl AsRef<str>, indent: usize) {
        let text = self.fold_to_screen(text.as_ref(), indent);
        self.out(text);
    }

    /// A text as it fits the screen, all lines but the first behind so many spaces.
    pub(crate) fn fold_to_screen(&self, text: &str, indent: usize) -> String {
        let Some(columns) = layout::columns_of_output() else {
            return text.to_owned();
        };
        // What begins a line stays there.
        let body = text.trim_start_matches(' ');
        let begin = &text[..text.len() - body.len()];
        let first = columns.saturating_sub(begin.len());
        let lines = layout::wrap_painted(body, first, columns.saturating_sub(indent));
        let mut lines = lines.into_iter();
        let mut out = format!("{begin}{}", lines.next().unwrap_or_default());
        for line in lines {
            out.push_str(&format!("\n{}{line}", " ".repeat(indent)));
        }
        out
    }

    /// Writes bytes as they are (artifacts, logs), to a pipe; cleaned for a terminal.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if io::stdout().is_terminal() {
            self.print(clean(&String::from_utf8_lossy(bytes)).as_bytes());
        } else {
            self.print(bytes);
        }
    }

    /// Writes text that ends its own lines (a diff). Silent with `--json`.
    pub(crate) fn raw_text(&mut self, text: &str) {
        if !self.options.json {
            self.print(text.as_bytes());
        }
    }

    /// Says what was done. Silent with `--quiet` and `--json`.
    pub(crate) fn status(&mut self, text: impl AsRef<str>) {
        if !self.options.quiet && !self.options.json {
            self.print_line(text.as_ref());
        }
    }

    /// Says what may surprise, on stderr.
    pub(crate) fn warn(&mut self, text: impl AsRef<str>) {
        let text = format!(
            "{} {}",
            style::paint(self.color_err, style::WARN, "warning:"),
            text.as_ref()
        );
        say(&text);
    }

    /// Says what to do next. Silent with `--quiet` and `--json`.
    pub(crate) fn hint(&mut self, hint: impl Into<Hint>) {
        if self.options.quiet || self.options.json {
            return;
        }
        let hint = hint.into();
        let said = clean(&self.command(&hint));
        let (lead, behind) = match hint.lead() {
            Some(lead) => (clean(&self.command(&lead)), hint.behind_lead()),
            None if said.starts_with("git ") => (said, Hint::default()),
            // What is no command is not named as the next one.
            None => {
                let pieces = self.place(|place| hint.pieces(place));
                return self.folded("now:", &pieces);
            }
        };
        let command = style::paint(self.color, style::HEAD, &lead);
        let text = format!("{} {command}", self.label("next:"));
        self.print_line(&text);
        if !behind.is_empty() {
            let mut pieces = self.place(|place| behind.pieces(place));
            if let Some(first) = pieces.first_mut() {
                first.text = first.text.trim_start_matches([',', ' ']).to_owned();
            }
            for text in layout::fold(&pieces, layout::columns().saturating_sub(6)) {
                self.print_line(&format!("      {}", clean(text.trim_end())));
            }
        }
    }

    /// Says what leads on: the advice, then the command, or who is waited for. Silent with `--quiet` and `--json`.
    pub(crate) fn next(&mut self, advised: &Advised) {
        if self.options.quiet || self.options.json {
            return;
        }
        let advice = self.place(|place| advised.advice.pieces(place));
        match &advised.next {
            Next::Write => self.folded("now:", &advice),
            Next::Nothing if advised.advice.lead().is_some() => self.hint(advised.advice.clone()),
            _ if advice.is_empty() => {}
            _ => self.folded("", &advice),
        }
        match &advised.next {
            Next::Command(command) => self.hint(command),
            Next::Waits(Waits { who, what }) => {
                let said = format!("{who}, for {what}");
                self.folded("waits for:", &[Piece::told(said)]);
            }
            Next::Write | Next::Nothing => {}
        }
    }

    /// Tells whether a person is shown the codes of refusals and findings beside their words: where they are asked for,
    /// and in what the hooks of a push answer, which nobody can ask again. `verify` prints them always, as `--json`
    /// does.
    pub(crate) fn shows_codes(&self) -> bool {
        self.options.verbose || self.judges_push
    }

    /// Makes this the output of a hook that judges a push as `verify` does, from here on.
    pub(crate) fn judges_a_push(&mut self) {
        self.judges_push = true;
    }

    /// A code in front of words, where codes are shown.
    pub(crate) fn code(&self, role: anstyle::Style, code: &str) -> String {
        if self.shows_codes() {
            format!("{}  ", self.paint(role, &clean(code)))
        } else {
            String::new()
        }
    }

    /// Tells times against this moment from here on.
    pub(crate) fn tells_time_at(&mut self, now: i64) {
        self.now = Some(now);
    }

    /// The moment against which times are told; none with --verbose, which gives the times themselves.
    fn told_at(&self) -> Option<i64> {
        self.now.filter(|_| !self.options.verbose)
    }

    /// A time of the records as a person reads it: how long ago, or how far ahead.
    pub(crate) fn when(&self, at: &str) -> String {
        match (self.told_at(), seconds_of(at)) {
            (Some(now), Some(then)) => relative(now, then),
            _ => line(at),
        }
    }

    /// Words for how long a lease lasts, or since when it does no more.
    pub(crate) fn lasting(&self, is_alive: bool, until: &str) -> String {
        match (self.told_at(), seconds_of(until)) {
            _ if !is_alive => format!("lease ended {}", self.when(until)),
            (Some(now), Some(then)) => format!("for {} more", left(now, then)),
            _ => format!("until {}", line(until)),
        }
    }

    /// Tells whether codes are wanted too, and what rests on what.
    pub(crate) fn is_verbose(&self) -> bool {
        self.options.verbose
    }

    /// Tells whether anybody reads what leads on.
    pub(crate) fn tells_next(&self) -> bool {
        self.options.json || !self.options.quiet
    }

    /// A sentence behind a label, folded to the screen.
    fn folded(&mut self, label: &str, pieces: &[Piece]) {
        let space = usize::from(!label.is_empty());
        let indent = layout::width(label) + space;
        let clean = |piece: &Piece| Piece {
            text: line(&piece.text),
            ..*piece
        };
        let pieces: Vec<Piece> = pieces.iter().map(clean).collect();
        let lines = layout::fold(&pieces, layout::columns().saturating_sub(indent));
        for (at, text) in lines.iter().enumerate() {
            let begin = match at {
                0 => format!("{}{}", self.label(label), " ".repeat(space)),
                _ => " ".repeat(indent),
            };
            self.print_line(&format!("{begin}{text}"));
        }
    }

    fn label(&self, word: &str) -> String {
        if word.is_empty() {
            String::new()
        } else {
            style::paint(self.color, style::DIM, word)
        }
    }

    /// Writes the one JSON document of a command: `schema` and `command` first, then the keys of `body`.
    pub(crate) fn json(&mut self, command: &str, body: &impl serde::Serialize) {
        if !self.options.json {
            return;
        }
        let mut document = Map::new();
        document.insert("schema".into(), JSON_SCHEMA.into());
        document.insert("command".into(), command.into());
        match serde_json::to_value(body) {
            Ok(Value::Object(map)) => document.extend(map),
            Ok(Value::Null) | Err(_) => {}
            Ok(other) => {
                document.insert("value".into(), other);
            }
        }
        let unfinished = self.unfinished.all();
        if !unfinished.is_empty() {
            document.insert("unfinished".into(), serde_json::json!(unfinished));
        }
        let mut document = Value::Object(document);
        self.place(|place| print_hints(&mut document, place));
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        // It is the command's last word: taking a large document apart would only cost time.
        std::mem::forget(document);
        self.print_line(&text);
    }

    /// Writes why the command failed, as text or JSON, to stderr.
    pub(crate) fn failure(&mut self, failure: &loopx_base::failure::Failure) {
        let text = self.place(|place| {
            if self.options.json {
                report::json(failure, place, &self.unfinished.all())
            } else {
                let look = report::Look {
                    color: self.color_err,
                    codes: self.shows_codes(),
                    columns: layout::columns_of_errors(),
                };
                report::text(failure, place, look)
            }
        });
        say(&text);
    }

    /// Prints what clap prints where it does not run a command: help and versions to stdout, in its own colours.
    pub(crate) fn parser_said(&mut self, error: &clap::Error) {
        let said = error.render();
        let said = if self.color {
            said.ansi().to_string()
        } else {
            said.to_string()
        };
        self.print(said.as_bytes());
    }

    /// stdout, for what comes piece by piece.
    pub(crate) fn stream(&mut self) -> Stream<'_> {
        Stream(&mut self.stdout)
    }

    fn print_line(&mut self, text: &str) {
        // At once: a line is one write, and never stands torn between those of another process.
        self.print(format!("{text}\n").as_bytes());
    }

    fn print(&mut self, bytes: &[u8]) {
        self.stdout.print(bytes);
    }

    /// `text` in a role's colour, where stdout takes colour.
    pub(crate) fn paint(&self, role: anstyle::Style, text: &str) -> String {
        style::paint(self.color, role, text)
    }
}

/// Roles, and the colours that they have. Every line is readable without them.
pub(crate) mod style {
    use anstyle::{AnsiColor, Style};

    pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
    pub(crate) const BAD: Style = AnsiColor::Red.on_default();
    pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
    pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
    pub(crate) const HEAD: Style = Style::new().bold();
    pub(crate) const DIM: Style = Style::new().dimmed();

    pub(crate) fn paint(on: bool, style: Style, text: &str) -> String {
        if on {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// [`clean`] for what belongs on one line: a name with a line end in it cannot write a line of ours.
pub(crate) fn line(text: &str) -> String {
    clean(text).replace('\n', "^J")
}

/// Writes a line to stderr. One that cannot be written is lost: nothing is left to say it on.
fn say(text: &str) {
    drop(
        io::stderr()
            .lock()
            .write_all(format!("{text}\n").as_bytes()),
    );
}

/// stdout, for what comes piece by piece. A piece that cannot be written is remembered.
#[derive(Debug)]
pub(crate) struct Stream<'a>(&'a mut Sink);

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.print(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, line};

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(clean("a\x1b[31mb\nc\td\r\n"), "a^[[31mb\nc\td\n");
        assert_eq!(clean("x\u{202e}y\u{9b}"), "x<U+202E>y<U+009B>");
        assert_eq!(clean("a\u{200b}b\u{feff}"), "a<U+200B>b<U+FEFF>");
        assert_eq!(line("a\nnext: b\x1b"), "a^Jnext: b^[");
    }
}
