//! `git loopx adr`: decision records.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::adr;
use crate::flow::adr::change;
use crate::flow::adr::change::{FileChange, Renumber};
use crate::flow::adr::promote;
use crate::ui::layout::cut;
use crate::ui::{Ui, clean, diff, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::shell_word;
use loopx_spec::Severity;
use loopx_spec::adr::{Record, Status, overview};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Debug, clap::Subcommand)]
pub enum AdrCommand {
    /// Write a draft, without a number, into the folder of the records (edits the worktree)
    New {
        /// The title, in any characters
        title: String,
        /// Write the draft in Nygard's form (as adr-tools does) instead of MADR's
        #[arg(long)]
        nygard: bool,
        /// A record that the new record is to supersede; the old record changes when the new one is accepted (can be repeated)
        #[arg(long, value_name = "N")]
        supersedes: Vec<String>,
    },
    /// List the records and drafts
    List {
        /// List only records of this status
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
    },
    /// Print a record
    Show {
        /// A number, file, slug, or the beginning of an id
        #[arg(value_name = "N|ID")]
        record: String,
    },
    Promote(PromoteArgs),
    /// Accept a record and pin its body (edits the worktree)
    Accept {
        /// The record
        #[arg(value_name = "N")]
        record: String,
    },
    /// Write on both sides that NEW superseded OLD (edits the worktree)
    Supersede {
        /// The record that no longer holds
        #[arg(value_name = "OLD")]
        old: String,
        /// The record that takes its place
        #[arg(value_name = "NEW")]
        new: String,
    },
    /// Write a link on both sides, like `link 3 amends 1` (edits the worktree)
    Link {
        /// The record that says VERB
        #[arg(value_name = "A")]
        from: String,
        /// amends, clarifies, extends, depends on, relates to, or words of your own
        #[arg(value_name = "VERB")]
        verb: String,
        /// The record that says the reverse
        #[arg(value_name = "B")]
        to: String,
        /// The words for the other side, where they are not known
        #[arg(value_name = "REVERSE")]
        reverse: Option<String>,
    },
    /// Check numbers, pins, links, status and sections
    Check {
        /// Compare numbers with this branch instead of all local ones (can be repeated)
        #[arg(long, value_name = "BRANCH")]
        with: Vec<String>,
        /// Refuse warnings too
        #[arg(long)]
        strict: bool,
    },
    Renumber(RenumberArgs),
    /// Print the records and their links as a Mermaid graph
    Graph,
    /// Print the index, a table of the records
    Index {
        /// Write it between its markers in README.md or index.md of the folder (edits the worktree)
        #[arg(long)]
        write: bool,
    },
}

/// Give a candidate the next free number, in one commit on the target branch
///
/// The candidate is that of a done or archived session, or a draft's file. This is the only command of
/// `adr` that makes a commit; the others edit files of the worktree.
#[derive(Debug, clap::Args)]
pub struct PromoteArgs {
    /// A session or a draft (default: the session that is meant, else the only draft)
    #[arg(value_name = "SESSION|FILE")]
    what: Option<String>,
    /// Write the record in Nygard's form instead of MADR's
    #[arg(long)]
    nygard: bool,
    /// Accept the record in the same commit
    #[arg(long)]
    accept: bool,
    /// The branch to commit to (default: the session's target, or the current one)
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
}

/// Give a record another number and repair the links to it (edits the worktree)
///
/// Links are repaired in all records, in Markdown that is committed, and in other Markdown below docs/.
#[derive(Debug, clap::Args)]
pub struct RenumberArgs {
    /// The present number
    #[arg(required_unless_present = "fix", conflicts_with = "fix")]
    from: Option<u32>,
    /// The new number
    #[arg(required_unless_present = "fix")]
    to: Option<u32>,
    /// The file of the record, where two records have the number
    #[arg(long, value_name = "FILE", conflicts_with = "fix")]
    file: Option<String>,
    /// Where records share a number, give new numbers to all of them but one
    #[arg(long)]
    fix: bool,
    /// Keep the numbers that this branch gave; ours move (can be repeated)
    #[arg(long, value_name = "BRANCH", requires = "fix")]
    with: Vec<String>,
    /// Show what would change; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(command: AdrCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        AdrCommand::New {
            title,
            nygard,
            supersedes,
        } => {
            let branch = ctx.repo.head()?.branch;
            let draft = change::new(ctx, &title, nygard, &supersedes)?;
            let next = match branch {
                Some(_) => command!("adr promote {}", draft.path),
                None => command!("adr promote {} --onto BRANCH", draft.path),
            };
            ui.status(format!("wrote {}", clean(&draft.path)));
            ui.hint(hint!["edit it, then: ", &next]);
            let record = Record::read(
                draft.path.rsplit('/').next().unwrap_or_default(),
                &draft.after,
            );
            ui.json(
                "adr new",
                &json!({"path": draft.path, "record": record, "next_action": next}),
            );
            Ok(Exit::Done)
        }
        AdrCommand::List { status } => list(status.as_deref(), ctx, ui),
        AdrCommand::Show { record } => {
            let folder = adr::load(ctx)?;
            let record = folder.find(&record)?;
            if !ui.is_json() {
                ui.raw(record.text.as_bytes());
            }
            let path = format!("{}/{}", folder.path, record.file);
            ui.json(
                "adr show",
                &json!({"path": path, "record": record, "text": record.text}),
            );
            Ok(Exit::Done)
        }
        AdrCommand::Promote(args) => promoted(args, ctx, ui),
        AdrCommand::Accept { record } => {
            let changes = change::accept(ctx, &record)?;
            edited("adr accept", ("accepted", "superseded"), &changes, ui);
            Ok(Exit::Done)
        }
        AdrCommand::Supersede { old, new } => {
            let changes = change::supersede(ctx, &old, &new)?;
            edited("adr supersede", ("changed", "changed"), &changes, ui);
            Ok(Exit::Done)
        }
        AdrCommand::Link {
            from,
            verb,
            to,
            reverse,
        } => {
            let changes = change::link(ctx, &from, &verb, &to, reverse.as_deref())?;
            edited("adr link", ("changed", "changed"), &changes, ui);
            Ok(Exit::Done)
        }
        AdrCommand::Check { with, strict } => check(&with, strict, ctx, ui),
        AdrCommand::Renumber(args) => renumber(args, ctx, ui),
        AdrCommand::Graph => {
            let graph = overview::graph(&adr::load(ctx)?.records);
            ui.out(clean(graph.trim_end()));
            ui.json("adr graph", &json!({"mermaid": graph}));
            Ok(Exit::Done)
        }
        AdrCommand::Index { write } => index(write, ctx, ui),
    }
}

fn list(status: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let wanted = match status {
        None => None,
        Some(word) => Some(Status::parse(word).ok_or_else(|| {
            let known = Status::ALL.map(Status::name);
            let near = loopx_base::nearest(word, known).unwrap_or("accepted");
            Failure::usage(
                Code::StatusUnknown,
                format!("expected a status of {}, found `{word}`", known.join(", ")),
            )
            .help(command!("adr list --status {near}"))
        })?),
    };
    let folder = adr::load(ctx)?;
    let records: Vec<&Record> = folder
        .records
        .iter()
        .filter(|record| wanted.is_none() || record.status == wanted)
        .collect();
    let labels = records.iter().map(|record| record.label().len());
    let width = labels.max().unwrap_or_default().max(5);
    for record in &records {
        ui.out(format!(
            "{}  {:<18}  {:<10}  {}",
            ui.paint(style::NAME, &format!("{:<width$}", record.label())),
            cut(&clean(&overview::shown_status(record)), 18),
            clean(record.date.as_deref().unwrap_or("-")),
            clean(&record.title)
        ));
    }
    if records.is_empty() {
        ui.status(format!("no records in {}", clean(&folder.path)));
        // Records are written in a worktree.
        if ctx.repo.work_dir().is_some() {
            ui.hint(command!("adr new \"USE WHAT, AND WHY\""));
        }
    }
    ui.json(
        "adr list",
        &json!({"folder": folder.path, "records": records}),
    );
    Ok(Exit::Done)
}

/// Tells whether another branch than the target is checked out; a head that cannot be read fails no command that is done.
fn is_elsewhere(ctx: &Context, target: &str) -> bool {
    let head = ctx.repo.head().ok();
    head.and_then(|head| head.branch)
        .is_some_and(|here| here != target)
}

fn promoted(args: PromoteArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let PromoteArgs {
        what,
        nygard,
        accept,
        onto,
    } = args;
    let done = promote::promote(
        ctx,
        promote::Request {
            what: what.as_deref(),
            nygard,
            accept,
            onto: onto.as_deref(),
        },
    )?;
    ui.status(format!(
        "{} on {} as {}",
        ui.paint(style::NAME, &clean(&done.path)),
        clean(&done.target),
        done.commit.short()
    ));
    for path in &done.touched {
        ui.status(format!("  changed  {}", clean(path)));
    }
    if let Some(left) = &done.left {
        ui.warn(format!(
            "{} stays on this branch; remove it: git rm '{}'",
            clean(left),
            clean(left)
        ));
    }
    let next = if accept {
        format!("git show --stat {}", done.commit.short()).into()
    } else if is_elsewhere(ctx, &done.target) {
        hint![
            Hint::git(format!("switch {}", shell_word(&done.target))),
            ", then: ",
            command!("adr accept {}", done.number)
        ]
    } else if done.is_filled {
        command!("adr accept {}", done.number)
    } else {
        // A decision that nobody wrote is accepted by nobody.
        hint!["edit it, then: ", command!("adr accept {}", done.number)]
    };
    ui.hint(&next);
    ui.json(
        "adr promote",
        &json!({
            "number": done.number,
            "path": done.path,
            "target": done.target,
            "commit": done.commit,
            "session": done.session,
            "changed": done.touched,
            "draft_left": done.left,
            "next_action": next,
        }),
    );
    Ok(Exit::Done)
}

/// Says which files were written, with one word for the first and one for the others; the commit is left to a person.
fn edited(command: &str, (first, other): (&str, &str), changes: &[FileChange], ui: &mut Ui) {
    let verbs = [first].into_iter().chain(std::iter::repeat(other));
    for (change, verb) in changes.iter().zip(verbs) {
        ui.status(format!("{verb} {}", clean(&change.path)));
    }
    let paths = changes.iter().map(|change| change.path.as_str());
    let subject = match command {
        "adr accept" => "Accept a decision",
        "adr supersede" => "Supersede a decision",
        "adr link" => "Link decisions",
        _ => "List the decisions",
    };
    ui.hint(Hint::commit(paths, subject));
    ui.json(command, &json!({"changed": changes}));
}

fn check(with: &[String], strict: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (folder, findings) = adr::check(ctx, with)?;
    let least = if strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    let valid = !findings.iter().any(|finding| finding.severity >= least);
    for finding in &findings {
        let role = match finding.severity {
            Severity::Error => style::BAD,
            Severity::Warning => style::WARN,
            Severity::Info => style::DIM,
        };
        ui.out(format!(
            "{}:{}: {} {}: {}\n    {}",
            clean(&finding.file),
            finding.line,
            ui.paint(role, finding.severity.as_str()),
            finding.id,
            clean(&finding.message),
            clean(&ui.command(&finding.fix))
        ));
    }
    if valid {
        let n = folder.records.len();
        let records = if n == 1 { "record is" } else { "records are" };
        ui.status(format!("{n} {records} in order"));
    }
    ui.json(
        "adr check",
        &json!({
            "folder": folder.path,
            "records": folder.records.len(),
            "valid": valid,
            "findings": findings,
        }),
    );
    Ok(if valid { Exit::Done } else { Exit::Blocked })
}

fn renumber(args: RenumberArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let RenumberArgs {
        from,
        to,
        file,
        fix,
        with,
        dry_run,
    } = args;
    let what = match (from, to) {
        (Some(from), Some(to)) if !fix => Renumber::One {
            from,
            to,
            file: file.as_deref(),
        },
        _ => Renumber::Fix { with: &with },
    };
    let (moves, changes) = change::renumber(ctx, &what, dry_run)?;
    let color = ui.color();
    for step in &moves {
        ui.status(format!("{} -> {}", clean(&step.old), clean(&step.new)));
    }
    for change in &changes {
        if dry_run {
            let text = diff::unified(&change.path, &change.before, &change.after, color);
            ui.raw_text(&text);
        } else {
            ui.status(format!("changed {}", clean(&change.path)));
        }
    }
    // A folder takes the old names out, too, where git has them.
    let folder = |change: &FileChange| {
        Path::new(&change.path)
            .parent()?
            .to_str()
            .map(str::to_owned)
    };
    let moved = changes.iter().filter(|change| change.to.is_some());
    let folders: BTreeSet<String> = moved.filter_map(folder).collect();
    let beside = changes
        .iter()
        .filter(|change| folder(change).is_none_or(|own| !folders.contains(&own)));
    let beside = beside.map(|change| change.path.as_str());
    let paths: Vec<&str> = folders.iter().map(String::as_str).chain(beside).collect();
    ui.hint(if dry_run {
        "run it without --dry-run".into()
    } else {
        Hint::commit(paths, "Renumber decisions")
    });
    ui.json(
        "adr renumber",
        &json!({"dry_run": dry_run, "moves": moves, "changed": changes}),
    );
    Ok(Exit::Done)
}

fn index(write: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if write {
        let Some(change) = change::write_index(ctx)? else {
            return Err(Failure::nothing(
                Code::IndexCurrent,
                "the index says what the records say",
            )
            .help(command!("adr index")));
        };
        edited("adr index", ("wrote", "wrote"), &[change], ui);
        return Ok(Exit::Done);
    }
    let text = overview::index(&adr::load(ctx)?.records);
    ui.out(clean(text.trim_end()));
    ui.json("adr index", &json!({"markdown": text}));
    Ok(Exit::Done)
}
