//! `note` and its subcommands: what was said in passing, and what roles tell each other.

mod bus;
mod list;

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::note as flow;
use crate::flow::note::{Home, Noted, Where};
use crate::ui::{Ui, style};
use list::{KINDS, ListArgs};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_rules::note::bus as core;
use loopx_rules::note::{NoteKind, Promotion, Said};
use loopx_rules::rule::RuleKind;
use serde_json::json;
use std::path::PathBuf;

/// Keep a note: on the session, on an issue or in the journal
///
/// On the session that is named or bound to this branch; without one, in the journal, which belongs to no
/// session. The only session that there happens to be is not meant by itself: name it with `-s`. A note is never
/// changed and holds no gate. With `--type` it is a message from one role to another: it goes to the coordinator
/// unless `--to` names somebody (`all` is everybody), and needs no text.
#[derive(clap::Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NoteArgs {
    /// The text of the note; `-` reads it from stdin. One that begins with `-` stands behind `--`
    text: Option<String>,
    /// The kind of the note (default: learning, and with --type or --reply-to message)
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(NoteKind::WORDS))]
    kind: Option<String>,
    /// The role that the note is for (default: everybody)
    #[arg(long, value_name = "ROLE")]
    to: Option<String>,
    /// The role that writes the note
    #[arg(long, value_name = "ROLE")]
    from: Option<String>,
    /// The type of the message: plan_ready, progress, state_update, or any other word
    #[arg(long = "type", value_name = "TYPE")]
    sort: Option<String>,
    /// What the note is about: a path, a link, a name
    #[arg(long = "ref", value_name = "REF")]
    about: Option<String>,
    /// Data for programs, as JSON
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// The task of the session that the note is about
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The note that this note answers: its number, or the beginning of its id
    #[arg(long, value_name = "NOTE")]
    reply_to: Option<String>,
    /// What was found about this angle of the plan, on the code that is checked out
    #[arg(long, value_name = "ANGLE", conflicts_with_all = SAID)]
    angle: Option<String>,
    /// A question of the plan; at most four are open at a time
    #[arg(long, conflicts_with_all = SAID, conflicts_with = "angle")]
    ask: bool,
    /// The answer to an open question, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = SAID, conflicts_with_all = ["angle", "ask"])]
    answer: Option<u64>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(subcommand)]
    command: Option<NoteCommand>,
}

/// Arguments of something said, and of nothing else that a note can be.
const SAID: [&str; 10] = [
    "kind", "to", "from", "sort", "about", "data", "task", "reply_to", "journal", "issue",
];

/// Where the notes are.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    /// In the journal, also where a session is meant
    #[arg(long)]
    journal: bool,
    /// On this issue
    #[arg(long, value_name = "ISSUE", conflicts_with = "journal")]
    issue: Option<String>,
}

impl PlaceArgs {
    fn place(&self) -> Where {
        Where {
            journal: self.journal,
            issue: self.issue.clone(),
        }
    }
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum NoteCommand {
    /// List notes by whatever is asked for, oldest first
    List(Box<ListArgs>),
    /// Show a note with its thread
    Show {
        /// Its number, or the beginning of its id
        note: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show each role's last word, how many notes it left, and what it is at
    Status {
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Keep a value under a key, which only the role that the key belongs to can set
    ///
    /// `ROLE:NAME` belongs to that role. Any other key belongs to the role that set it first. What two clones set
    /// apart stays visible in `note get` until the owner sets the key again: of its own values the later stands, and
    /// that of another role does not count.
    Set {
        /// The key
        key: String,
        /// The value; `-` reads it from stdin
        value: String,
        /// The role that sets it; `ROLE:NAME` says it too
        #[arg(long, value_name = "ROLE")]
        from: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show what keys hold
    Get {
        /// Only this key; its value alone is printed
        key: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Take a note out of the lists; its record stays
    Withdraw {
        /// Its number, or the beginning of its id
        note: String,
        /// Why
        #[arg(long, value_parser = crate::cmd::reason, value_name = "WHY")]
        reason: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Make a rule or the draft of a decision record out of a note (edits the worktree)
    ///
    /// The document says which note it comes from, and the note which document was made out of it.
    Promote {
        /// Its number, or the beginning of its id
        note: String,
        /// What to make of it
        #[arg(long, value_name = "WHAT", value_parser = clap::builder::PossibleValuesParser::new(Promotion::WORDS))]
        to: String,
        /// The title of the draft (default: the first line of the note)
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// The category of the rule
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
        /// The kind of the rule (default: that of the note)
        #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(RuleKind::WORDS))]
        kind: Option<String>,
        /// Show what would be written
        #[arg(short = 'n', long)]
        dry_run: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Take over messages and wisdom of ccw: a messages.jsonl, a wisdom/*.md, or a folder with them
    ///
    /// All of it or nothing. What was brought before is left out, so that a second import adds nothing.
    Import {
        /// The file or the folder
        path: PathBuf,
        /// Show what would be imported
        #[arg(short = 'n', long)]
        dry_run: bool,
        /// To the journal, also where a session is meant
        #[arg(long)]
        journal: bool,
    },
}

pub(crate) fn run(args: NoteArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Some(command) = args.command.clone() else {
        return add(args, ctx, ui);
    };
    match command {
        NoteCommand::List(args) => list::run(*args, ctx, ui),
        NoteCommand::Show { note, place } => list::show(&note, &place.place(), ctx, ui),
        NoteCommand::Status { place } => bus::status(&place.place(), ctx, ui),
        NoteCommand::Set {
            key,
            value,
            from,
            place,
        } => {
            let value = read(&value)?;
            let pair = (key.as_str(), value.as_str());
            let noted = flow::bus::set(ctx, &place.place(), pair, from.as_deref())?;
            done("note set", "set", noted, ui)
        }
        NoteCommand::Get { key, place } => bus::get(key.as_deref(), &place.place(), ctx, ui),
        NoteCommand::Withdraw {
            note,
            reason,
            place,
        } => {
            let noted = flow::bus::withdraw(ctx, &place.place(), &note, reason.as_deref())?;
            done("note withdraw", "withdrawn", noted, ui)
        }
        promote @ NoteCommand::Promote { .. } => bus::promote(promote, ctx, ui),
        NoteCommand::Import {
            path,
            dry_run,
            journal,
        } => {
            let place = Where {
                journal,
                issue: None,
            };
            bus::import(&path, dry_run, &place, ctx, ui)
        }
    }
}

fn read(text: &str) -> Result<String> {
    match text {
        "-" => super::artifacts::read_text("-"),
        text => Ok(text.to_owned()),
    }
}

fn add(args: NoteArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = args.text.as_deref().map(read).transpose()?;
    let plain = text.clone().unwrap_or_default();
    let noted = match (&args.angle, args.ask, args.answer) {
        (Some(angle), ..) => flow::explored(ctx, angle, &plain)?,
        (_, true, _) => flow::ask(ctx, &plain)?,
        (_, _, Some(number)) => flow::answer(ctx, number, &plain)?,
        _ => {
            let said = said(&args, text)?;
            flow::note(ctx, &said, &args.place.place(), args.reply_to.as_deref())?
        }
    };
    done("note", "noted", noted, ui)
}

/// Message of somebody, as they typed it.
fn said(args: &NoteArgs, text: Option<String>) -> Result<Said> {
    let mut said = match (&args.sort, &args.from) {
        (Some(sort), Some(from)) => core::message(from, sort, args.to.as_deref(), text.as_deref())?,
        (Some(sort), None) => {
            return Err(Failure::usage(
                Code::NoteInvalid,
                format!("expected the role that a message of the type `{sort}` comes from"),
            )
            .help(command!("note --type {sort} --from ROLE")));
        }
        (None, from) => Said {
            to: args.to.clone(),
            from: from
                .as_deref()
                .map(|from| core::name("a role", from))
                .transpose()?,
            ..Said::new(
                match args.reply_to {
                    // What answers somebody is said to them, and is nothing that was found out.
                    Some(_) => NoteKind::Message,
                    None => NoteKind::Learning,
                },
                text.unwrap_or_default(),
            )
        },
    };
    if let Some(kind) = &args.kind {
        said.kind = kind.parse()?;
    }
    said.about = args
        .about
        .as_deref()
        .map(|about| core::name("a reference", about))
        .transpose()?;
    said.data = args.data.as_deref().map(core::data).transpose()?;
    said.task = args.task.clone();
    Ok(said)
}

/// Says where a note is now.
fn done(command: &str, word: &str, noted: Noted, ui: &mut Ui) -> Result<Exit> {
    let Noted { home, op, commit } = noted;
    ui.status(format!("{}: {word}", place(&home, ui)));
    let next = listing(&home, "list");
    ui.hint(&next);
    ui.json(
        command,
        &json!({
            "session": home.session(), "issue": home.issue(), "op": op, "commit": commit, "next_action": next,
        }),
    );
    Ok(Exit::Done)
}

/// A place of notes, as people read it.
fn place(home: &Home, ui: &Ui) -> String {
    match home {
        Home::Journal => "journal".to_owned(),
        home => ui.paint(style::NAME, home.name()),
    }
}

/// The command that shows what is there.
fn listing(home: &Home, what: &str) -> Hint {
    match home {
        Home::Session(_) => command!("note {what}"),
        Home::Issue(id) => command!("note {what} --issue {id}"),
        Home::Journal => command!("note {what} --journal"),
    }
}

/// Every kind that a list can be asked for.
fn kinds() -> Vec<&'static str> {
    KINDS.to_vec()
}
