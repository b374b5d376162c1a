//! The only place that prints. Data goes to stdout, everything else to stderr; with `--json` one
//! document goes to stdout, or one error document to stderr.
//!
//! Control characters of names and artifacts never reach a terminal: see [`clean`].

pub mod diff;
pub mod report;

use crate::core::hint::{Hint, print_hints};
use crate::core::unfinished::{Unfinished, UnfinishedList};
use serde_json::{Map, Value};
use std::io::{IsTerminal, Write};

/// The number in every JSON document. It grows when a key changes its meaning or goes away.
pub const JSON_SCHEMA: u32 = 1;

/// How output is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub json: bool,
    pub quiet: bool,
    pub color: ColorChoice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Where a command writes to.
#[derive(Debug)]
pub struct Ui {
    options: Options,
    color: bool,
    color_err: bool,
    session: Option<String>,
    unfinished: UnfinishedList,
}

impl Ui {
    pub fn new(options: Options) -> Self {
        let no_color = crate::env::var(crate::env::NO_COLOR).is_some();
        let dumb = crate::env::var("TERM").as_deref() == Some("dumb");
        let wants = |terminal: bool| match options.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color && !dumb,
        };
        Ui {
            options,
            color: wants(std::io::stdout().is_terminal()),
            color_err: wants(std::io::stderr().is_terminal()),
            session: None,
            unfinished: UnfinishedList::default(),
        }
    }

    /// Where a command that is done notes what it left.
    pub fn unfinished(&self) -> &UnfinishedList {
        &self.unfinished
    }

    /// Says on stderr what the command left for the next one.
    pub fn warn_unfinished(&mut self) {
        for one in self.unfinished.all() {
            let Unfinished {
                done,
                left,
                why,
                help,
            } = one;
            self.warn(format!(
                "{}; left: {} ({}); the next git loopx command that writes finishes it, or: {help}",
                line(&done),
                line(&left),
                line(&why)
            ));
        }
    }

    /// From here on suggested commands name this session.
    pub fn address(&mut self, session: impl Into<String>) {
        self.session = Some(session.into());
    }

    /// A hint, as its commands have to be typed here.
    pub fn command(&self, hint: &Hint) -> String {
        hint.addressed(self.session.as_deref())
    }

    /// Whether one JSON document is wanted instead of text.
    pub fn is_json(&self) -> bool {
        self.options.json
    }

    /// Whether somebody watches a long job: progress goes to stderr.
    pub fn shows_progress(&self) -> bool {
        !self.options.json && !self.options.quiet && std::io::stderr().is_terminal()
    }

    /// Whether stdout takes colour.
    pub fn color(&self) -> bool {
        self.color
    }

    /// Writes the data that was asked for. Silent with `--json`: use [`Ui::json`].
    pub fn out(&mut self, text: impl AsRef<str>) {
        if !self.options.json {
            write_line(&mut std::io::stdout().lock(), text.as_ref());
        }
    }

    /// Writes bytes as they are (artifacts, logs), to a pipe; cleaned for a terminal.
    pub fn raw(&mut self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        if stdout.is_terminal() {
            put(
                &mut stdout,
                clean(&String::from_utf8_lossy(bytes)).as_bytes(),
            );
        } else {
            put(&mut stdout, bytes);
        }
    }

    /// Writes text that ends its own lines (a diff). Silent with `--json`.
    pub fn raw_text(&mut self, text: &str) {
        if !self.options.json {
            put(&mut std::io::stdout().lock(), text.as_bytes());
        }
    }

    /// Says what was done. Silent with `--quiet` and `--json`.
    pub fn status(&mut self, text: impl AsRef<str>) {
        if !self.options.quiet && !self.options.json {
            write_line(&mut std::io::stdout().lock(), text.as_ref());
        }
    }

    /// Says what may surprise, on stderr.
    pub fn warn(&mut self, text: impl AsRef<str>) {
        let text = format!(
            "{} {}",
            style::paint(self.color_err, style::WARN, "warning:"),
            text.as_ref()
        );
        write_line(&mut std::io::stderr().lock(), &text);
    }

    /// Says what to do next. Silent with `--quiet` and `--json`.
    pub fn hint(&mut self, hint: impl Into<Hint>) {
        if !self.options.quiet && !self.options.json {
            let text = format!(
                "{} {}",
                style::paint(self.color, style::DIM, "next:"),
                clean(&self.command(&hint.into()))
            );
            write_line(&mut std::io::stdout().lock(), &text);
        }
    }

    /// Writes the one JSON document of a command: `schema` and `command` first, then the keys of `body`.
    pub fn json(&mut self, command: &str, body: &impl serde::Serialize) {
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
        print_hints(&mut document, self.session.as_deref());
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        write_line(&mut std::io::stdout().lock(), &text);
    }

    /// Writes why the command failed, as text or JSON, to stderr.
    pub fn failure(&mut self, failure: &crate::core::failure::Failure) {
        let session = self.session.as_deref();
        let text = if self.options.json {
            report::json(failure, session, &self.unfinished.all())
        } else {
            report::text(failure, session, self.color_err)
        };
        write_line(&mut std::io::stderr().lock(), &text);
    }

    /// `text` in a role's colour, where stdout takes colour.
    pub fn paint(&self, role: anstyle::Style, text: &str) -> String {
        style::paint(self.color, role, text)
    }
}

/// Roles, and the colours that they have. Every line is readable without them.
pub mod style {
    use anstyle::{AnsiColor, Style};

    pub const GOOD: Style = AnsiColor::Green.on_default();
    pub const BAD: Style = AnsiColor::Red.on_default();
    pub const WARN: Style = AnsiColor::Yellow.on_default();
    pub const NAME: Style = AnsiColor::Cyan.on_default();
    pub const HEAD: Style = Style::new().bold();
    pub const DIM: Style = Style::new().dimmed();

    pub(crate) fn paint(on: bool, style: Style, text: &str) -> String {
        if on {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// `text` with every control character but newline and tab made visible (`^[`), so that a name or an
/// artifact cannot drive the reader's terminal.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_ascii_control() => {
                out.push('^');
                out.push(char::from((c as u8) ^ 0x40));
            }
            // C1 controls, and the bidirectional overrides that make text read as what it is not.
            '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

/// [`clean`] for what belongs on one line: a name with a line end in it cannot write a line of ours.
pub fn line(text: &str) -> String {
    clean(text).replace('\n', "^J")
}

fn write_line(stream: &mut impl Write, text: &str) {
    // At once: a line is one write, and never stands torn between those of another process.
    put(stream, format!("{text}\n").as_bytes());
}

/// A reader that went away (`| head`) is no error of ours: stop writing, quietly (as ripgrep does).
fn put(stream: &mut impl Write, bytes: &[u8]) {
    if let Err(error) = stream.write_all(bytes).and_then(|()| stream.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        // Nothing is left to say it on.
        std::mem::drop(error);
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, line};

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(clean("a\x1b[31mb\nc\td\r\n"), "a^[[31mb\nc\td\n");
        assert_eq!(clean("x\u{202e}y\u{9b}"), "x<U+202E>y<U+009B>");
        assert_eq!(line("a\nnext: b\x1b"), "a^Jnext: b^[");
    }
}
