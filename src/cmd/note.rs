//! `note`, `note list`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::note as flow;
use crate::flow::note::{Filter, Noted, Notes};
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::note::{Note, NoteKind};
use serde_json::{Value, json};

/// Keep something said in passing, on the session or in the journal
///
/// On the session that is named or bound to this branch; without one, in the journal, which belongs to no
/// session. The only session that there happens to be is not meant by itself: name it with `-s`. A note is never
/// changed and holds no gate.
#[derive(clap::Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NoteArgs {
    /// The text of the note; `-` reads it from stdin. One that begins with `-` stands behind `--`
    text: Option<String>,
    /// The kind of the note
    #[arg(long, value_name = "KIND", default_value = "learning", value_parser = clap::builder::PossibleValuesParser::new(NoteKind::WORDS))]
    kind: String,
    /// The role that it is meant for; everybody where none is named
    #[arg(long, value_name = "ROLE")]
    to: Option<String>,
    /// What was found about this angle of the plan, on the code that is checked out
    #[arg(long, value_name = "ANGLE", conflicts_with_all = ["kind", "to", "journal"])]
    angle: Option<String>,
    /// A question of the plan; at most four are open at a time
    #[arg(long, conflicts_with_all = ["kind", "to", "journal", "angle"])]
    ask: bool,
    /// The answer to an open question, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["kind", "to", "journal", "angle", "ask"])]
    answer: Option<u64>,
    /// In the journal, also where a session is meant
    #[arg(long)]
    journal: bool,
    #[command(subcommand)]
    command: Option<NoteCommand>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum NoteCommand {
    /// List the notes of the session that is named or bound to this branch, or of the journal; oldest first
    List {
        /// Only of this kind
        #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Note::KINDS))]
        kind: Option<String>,
        /// Only what is meant for this role, or for everybody
        #[arg(long, value_name = "ROLE")]
        to: Option<String>,
        /// Only by this person: a part of the name or of the address
        #[arg(long, value_name = "PERSON")]
        by: Option<String>,
        /// Only with these words in the text
        #[arg(long, value_name = "TEXT")]
        grep: Option<String>,
        /// Of the journal, also where a session is meant
        #[arg(long)]
        journal: bool,
        /// Of all sessions, archived ones too, and of the journal
        #[arg(short, long, conflicts_with = "journal")]
        all: bool,
    },
}

pub(crate) fn run(args: NoteArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match args.command {
        Some(NoteCommand::List {
            kind,
            to,
            by,
            grep,
            journal,
            all,
        }) => {
            let filter = Filter {
                kind,
                to,
                by,
                text: grep,
                journal,
                all,
            };
            list(&filter, ctx, ui)
        }
        None => add(args, ctx, ui),
    }
}

fn add(args: NoteArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = match args.text.as_deref() {
        Some("-") => super::artifacts::read_text("-")?,
        text => text.unwrap_or_default().to_owned(),
    };
    let noted = match (args.angle, args.ask, args.answer) {
        (Some(angle), ..) => flow::explored(ctx, &angle, &text)?,
        (_, true, _) => flow::ask(ctx, &text)?,
        (_, _, Some(number)) => flow::answer(ctx, number, &text)?,
        _ => {
            let note = Note::Noted {
                kind: args.kind.parse()?,
                text,
                to: args.to,
            };
            flow::note(ctx, &note, args.journal)?
        }
    };
    let Noted {
        session,
        op,
        commit,
    } = noted;
    let place = match &session {
        Some(id) => ui.paint(style::NAME, id.as_str()),
        None => "journal".to_owned(),
    };
    ui.status(format!("{place}: noted"));
    let next = match &session {
        Some(_) => command!("note list"),
        None => command!("note list --journal"),
    };
    ui.hint(&next);
    ui.json(
        "note",
        &json!({ "session": session, "op": op, "commit": commit, "next_action": next }),
    );
    Ok(Exit::Done)
}

fn list(filter: &Filter, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Notes { notes, damaged } = flow::list(ctx, filter)?;
    for note in &notes {
        let place = match &note.session {
            Some(id) => id.as_str(),
            None => "journal",
        };
        let to = note
            .to
            .as_ref()
            .map_or_else(String::new, |role| format!(" to {}", line(role)));
        // An answer names its question by this number, and so does whoever answers.
        let about = match (&note.angle, note.kind) {
            (Some(angle), _) => format!(" on {angle}"),
            (None, "question" | "answer") => format!(" @{}", note.seq),
            _ => String::new(),
        };
        let fate = match (note.open, note.answers.as_slice()) {
            (None, _) => String::new(),
            (Some(_), []) => format!("  {}", ui.paint(style::BAD, "open")),
            (Some(_), answers) => {
                let by: Vec<String> = answers
                    .iter()
                    .map(|one| format!("@{} by {}", one.seq, line(&one.by.name)))
                    .collect();
                format!("  answered in {}", by.join(", "))
            }
        };
        ui.out(format!(
            "{} {}{about}{to}  {}  {}{fate}",
            ui.paint(style::NAME, place),
            note.kind,
            note.at,
            line(&note.by.name)
        ));
        for text in note.text.trim_end().lines() {
            ui.out(format!("    {}", clean(text)));
        }
    }
    for (place, what) in &damaged {
        ui.warn(format!("{} is damaged: {}", clean(place), clean(what)));
    }
    if !damaged.is_empty() {
        ui.hint(command!("fsck --repair"));
    } else if notes.is_empty() && filter.is_narrow() {
        ui.status("no such note");
        ui.hint(match (filter.all, filter.journal) {
            (true, _) => command!("note list --all"),
            (false, true) => command!("note list --journal"),
            (false, false) => command!("note list"),
        });
    } else if notes.is_empty() {
        ui.status("no notes");
        ui.hint(command!("note \"WHAT WAS LEARNED\""));
    }
    let damaged: Vec<Value> = damaged
        .iter()
        .map(|(place, what)| json!({ "place": place, "what": what }))
        .collect();
    ui.json("note list", &json!({ "notes": notes, "damaged": damaged }));
    Ok(Exit::Done)
}
