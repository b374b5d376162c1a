//! `issue edit|link|unlink|tick|untick|comment`.

use super::list::person;
use super::say;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::change as flow;
use crate::flow::issue::change::{Ask, Edit};
use crate::ui::Ui;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::event::Change;
use loopx_rules::issue::filter::minutes;
use loopx_rules::issue::repeat::Repeat;
use loopx_rules::issue::until;
use loopx_rules::note::NoteKind;
use loopx_rules::task::world::Condition;
use serde_json::json;

/// The fields that an issue can be given.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FieldArgs {
    /// The description; `-` reads it from stdin
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    description: Option<String>,
    /// The description from a file
    #[arg(short = 'F', long, value_name = "FILE")]
    file: Option<String>,
    /// bug, feature, task, chore, epic, or a kind that loopx.toml names
    #[arg(short, long, value_name = "KIND")]
    kind: Option<String>,
    /// The priority: 0 (first) to 4
    #[arg(short, long, value_name = "NUMBER")]
    priority: Option<u8>,
    /// A label; repeat it
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Who is to do the issue: a name, or @me
    #[arg(short, long, value_name = "NAME")]
    assignee: Option<String>,
    /// The milestone of the issue
    #[arg(short, long, value_name = "NAME")]
    milestone: Option<String>,
    /// The day by which the issue is to be done, as 2026-11-30
    #[arg(long, value_name = "DAY")]
    due: Option<String>,
    /// The day before which nobody is to begin
    #[arg(long, value_name = "DAY")]
    defer: Option<String>,
    /// Something outside of the backlog before which nobody is to begin: merged=COMMIT@BRANCH, path=PATH@BRANCH or
    /// session=NAME@STAGE; repeat it
    #[arg(long, value_name = "CONDITION", value_parser = until::read)]
    until: Vec<Condition>,
    /// The estimate: how long the issue takes, as 90m, 4h, 2d
    #[arg(long, value_name = "TIME")]
    estimate: Option<String>,
    /// The issue comes again: the next issue is made when this one is resolved or closed, due a period later (1d, 2w, 1mo, 1y)
    #[arg(long, value_name = "PERIOD")]
    every: Option<String>,
}

impl FieldArgs {
    pub(crate) fn changes(&self) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let text = match (&self.description, &self.file) {
            (Some(text), _) if text == "-" => Some(text_of("-")?),
            (Some(text), _) => Some(text.clone()),
            (None, Some(file)) => Some(text_of(file)?),
            (None, None) => None,
        };
        changes.extend(text.map(Change::Description));
        changes.extend(self.kind.clone().map(Change::Kind));
        changes.extend(self.priority.map(Change::Priority));
        changes.extend(self.labels.iter().cloned().map(Change::Label));
        let some = |value: &Option<String>| value.clone().map(Some);
        changes.extend(some(&self.assignee).map(Change::Assignee));
        changes.extend(some(&self.milestone).map(Change::Milestone));
        changes.extend(some(&self.due).map(Change::Due));
        changes.extend(some(&self.defer).map(Change::Defer));
        changes.extend(self.until.iter().cloned().map(Change::Until));
        if let Some(text) = &self.estimate {
            let minutes = minutes(text).ok_or_else(|| {
                Failure::usage(
                    Code::IssueFieldInvalid,
                    format!("expected a time like 90m, 4h or 2d, found `{text}`"),
                )
            })?;
            changes.push(Change::Estimate(Some(minutes)));
        }
        if let Some(text) = &self.every {
            let every = text
                .parse()
                .map_err(|said| Failure::usage(Code::IssueFieldInvalid, said));
            changes.push(Change::Repeat(Some(Repeat::first(every?))));
        }
        Ok(changes)
    }
}

/// Changes as they are meant: `@me` is whoever asks, and each criterion is named once.
pub(super) fn meant(ctx: &Context, changes: Vec<Change>) -> Result<Vec<Change>> {
    let mut criteria: Vec<&str> = Vec::new();
    for change in &changes {
        let Change::Criterion(text) = change else {
            continue;
        };
        let text = text.trim();
        if criteria.contains(&text) {
            let shown: String = text.chars().take(60).collect();
            return Err(Failure::usage(
                Code::IssueFieldInvalid,
                format!("expected each criterion once, found `{shown}` twice"),
            ));
        }
        criteria.push(text);
    }
    let meant = changes.into_iter().map(|change| match change {
        Change::Assignee(named) => Ok(Change::Assignee(person(ctx, named)?)),
        other => Ok(other),
    });
    meant.collect()
}

/// The links that an issue can be given.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LinkArgs {
    /// An issue that this issue waits for; repeat it
    #[arg(long, value_name = "ID")]
    blocked_by: Vec<String>,
    /// An issue that waits for this issue; repeat it
    #[arg(long, value_name = "ID")]
    blocks: Vec<String>,
    /// An issue: this issue is done only if that issue is closed without being resolved
    #[arg(long, value_name = "ID")]
    if_failed: Vec<String>,
    /// An issue that this issue waits for, with all parts of that issue
    #[arg(long, value_name = "ID")]
    waits_for: Vec<String>,
    /// The issue that this issue is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The issue on which somebody worked when this issue was found
    #[arg(long, value_name = "ID")]
    discovered_from: Option<String>,
    /// A related issue; repeat it
    #[arg(long, value_name = "ID")]
    related: Vec<String>,
}

impl LinkArgs {
    pub(crate) fn asks(&self) -> Result<Vec<Ask>> {
        let named = [
            ("blocked-by", self.blocked_by.as_slice()),
            ("blocks", self.blocks.as_slice()),
            ("if-failed", self.if_failed.as_slice()),
            ("waits-for", self.waits_for.as_slice()),
            ("parent", self.parent.as_slice()),
            ("discovered-from", self.discovered_from.as_slice()),
            ("related", self.related.as_slice()),
        ];
        let asks = named
            .into_iter()
            .flat_map(|(word, ids)| ids.iter().map(move |id| Ask::of(word, id)));
        asks.collect()
    }
}

/// Reads a file that somebody names; `-` is stdin.
pub(super) fn text_of(file: &str) -> Result<String> {
    let text = crate::cmd::artifacts::read_text(file)?;
    // Some editors begin each file with a mark, which is no text.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Change the fields of issues
///
/// All of them, or none. A field that people wrote apart is settled by writing it again.
#[derive(Clone, Debug, clap::Args)]
pub struct EditArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// The new title
    #[arg(short, long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Take the description that one of them wrote where people wrote it apart, by the id that `issue show` gives it
    #[arg(long, value_name = "ID", conflicts_with_all = ["description", "file"])]
    description_of: Option<String>,
    /// Remove a label; repeat it
    #[arg(long = "no-label", value_name = "LABEL")]
    unlabels: Vec<String>,
    /// Remove the assignee
    #[arg(long, conflicts_with = "assignee")]
    no_assignee: bool,
    /// Remove the milestone
    #[arg(long, conflicts_with = "milestone")]
    no_milestone: bool,
    /// Remove the day by which the issue is to be done
    #[arg(long, conflicts_with = "due")]
    no_due: bool,
    /// Remove the day before which nobody is to begin
    #[arg(long, conflicts_with = "defer")]
    no_defer: bool,
    /// Remove a condition that the issue waits for; repeat it
    #[arg(long, value_name = "CONDITION", value_parser = until::read)]
    no_until: Vec<Condition>,
    /// Remove the estimate
    #[arg(long, conflicts_with = "estimate")]
    no_estimate: bool,
    /// Remove the period after which the issue comes again
    #[arg(long, conflicts_with = "every")]
    no_every: bool,
    /// planned, queued or open; an issue ends by `issue resolve` and `issue close`
    #[arg(long, value_name = "STATUS", value_parser = ["open", "planned", "queued"])]
    status: Option<String>,
    /// Add a criterion: something that has to hold when the issue is done; repeat it
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// Remove a criterion: its number, or a part of its text
    #[arg(long = "no-criterion", value_name = "CRITERION")]
    dropped: Vec<String>,
    #[command(flatten)]
    links: LinkArgs,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

impl EditArgs {
    fn edit(&self, ctx: &Context) -> Result<Edit> {
        let mut changes: Vec<Change> = self.title.iter().cloned().map(Change::Title).collect();
        changes.extend(self.fields.changes()?);
        if let Some(op) = &self.description_of {
            let text = flow::description_of(ctx, &self.ids, op)?;
            changes.push(Change::Description(text));
        }
        changes.extend(self.unlabels.iter().cloned().map(Change::Unlabel));
        let gone = [
            (self.no_assignee, Change::Assignee(None)),
            (self.no_milestone, Change::Milestone(None)),
            (self.no_due, Change::Due(None)),
            (self.no_defer, Change::Defer(None)),
            (self.no_estimate, Change::Estimate(None)),
            (self.no_every, Change::Repeat(None)),
        ];
        changes.extend(
            gone.into_iter()
                .filter(|(is_asked, _)| *is_asked)
                .map(|(_, change)| change),
        );
        changes.extend(self.no_until.iter().cloned().map(Change::NotUntil));
        if let Some(status) = &self.status {
            changes.push(Change::Status(status.parse()?));
        }
        changes.extend(self.criteria.iter().cloned().map(Change::Criterion));
        changes.extend(self.dropped.iter().cloned().map(Change::DropCriterion));
        Ok(Edit {
            changes: meant(ctx, changes)?,
            links: self.links.asks()?,
            unlinks: Vec::new(),
        })
    }
}

pub(crate) fn run(args: EditArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let edit = args.edit(ctx)?;
    if edit.changes.is_empty() && edit.links.is_empty() {
        return Err(Failure::usage(
            Code::InputMissing,
            "expected at least one field that is to change",
        )
        .help(command!("help issue edit")));
    }
    let written = flow::change(ctx, &args.ids, &edit, args.reason.as_ref())?;
    for id in &written.value {
        let short = written.names.short(id);
        let add = ui.command(&command!("issue solution add {short} HOW"));
        ui.status(format!(
            "{short} has no solution yet, without which it is in no queue: {add}"
        ));
    }
    done(ui, &written, "changed", "issue edit");
    Ok(Exit::Done)
}

fn done<T>(ui: &mut Ui, written: &crate::flow::issue::Written<T>, what: &str, verb: &str) {
    let next = written
        .ids
        .first()
        .map(|id| command!("issue show {}", written.names.short(id)));
    say(ui, written, what, next, json!({}), verb);
}

/// Links of issues: who waits for whom, what is a part of what, where it was found
#[derive(Clone, Debug, clap::Args)]
pub struct LinksArgs {
    /// The issue
    id: String,
    /// What it is to the others
    #[arg(value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(Ask::WORDS))]
    kind: String,
    /// The other issues
    #[arg(value_name = "OTHER", required = true)]
    others: Vec<String>,
}

pub(crate) fn link(args: &LinksArgs, comes: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let asks = args.others.iter().map(|other| Ask::of(&args.kind, other));
    let asks = asks.collect::<Result<Vec<Ask>>>()?;
    let mut edit = Edit::default();
    let (what, verb) = if comes {
        ("linked", "issue link")
    } else {
        ("unlinked", "issue unlink")
    };
    if comes {
        edit.links = asks
    } else {
        edit.unlinks = asks
    }
    let written = flow::change(ctx, std::slice::from_ref(&args.id), &edit, None)?;
    done(ui, &written, what, verb);
    Ok(Exit::Done)
}

/// A criterion of an issue: that it holds, or that it does not
#[derive(Clone, Debug, clap::Args)]
pub struct TickArgs {
    /// The issue
    id: String,
    /// The criteria: their numbers, or a part of their text
    #[arg(value_name = "CRITERION", required = true)]
    criteria: Vec<String>,
}

pub(crate) fn tick(args: &TickArgs, holds: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let criteria = args.criteria.iter().cloned();
    let changes = if holds {
        criteria.map(Change::Tick).collect()
    } else {
        criteria.map(Change::Untick).collect()
    };
    let edit = Edit {
        changes,
        ..Edit::default()
    };
    let written = flow::change(ctx, std::slice::from_ref(&args.id), &edit, None)?;
    let (what, verb) = if holds {
        ("ticked", "issue tick")
    } else {
        ("unticked", "issue untick")
    };
    done(ui, &written, what, verb);
    Ok(Exit::Done)
}

/// Say something about an issue
#[derive(Clone, Debug, clap::Args)]
pub struct CommentArgs {
    /// The issue
    id: String,
    /// The text; `-` reads it from stdin. One that begins with `-` stands behind `--`
    text: String,
    /// The kind of the comment
    #[arg(long, value_name = "KIND", default_value = "message", value_parser = clap::builder::PossibleValuesParser::new(NoteKind::WORDS))]
    kind: String,
}

pub(crate) fn comment(args: &CommentArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = match args.text.as_str() {
        "-" => text_of("-")?,
        text => text.to_owned(),
    };
    let written = flow::comment(ctx, &args.id, args.kind.parse()?, &text)?;
    done(ui, &written, "commented", "issue comment");
    Ok(Exit::Done)
}
