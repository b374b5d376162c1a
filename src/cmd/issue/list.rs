//! `issue list`, `issue ready`.

use super::row_lines;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::view::{Asked, Order, Rows};
use crate::flow::issue::{apart, change, view};
use crate::ui::{Ui, clean};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::nearest;
use loopx_base::shell_word;
use loopx_rules::issue::Status;
use loopx_rules::issue::event::Change;
use loopx_rules::issue::filter::Filter;
use serde_json::json;

const DAY: i64 = 24 * 60 * 60;

/// List issues: what is taken, what can be begun, what waits and for what
///
/// All conditions have to hold. A list can have a name: `git config loopx.list.mine "--assignee ada"`, then
/// `git loopx issue list @mine`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ListArgs {
    /// Lists that have a name: @NAME stands for the words of loopx.list.NAME
    #[arg(value_name = "@NAME")]
    named: Vec<String>,
    /// Also issues that are resolved or closed
    #[arg(long)]
    all: bool,
    /// Only of this status; repeat it
    #[arg(long = "status", value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(Status::WORDS))]
    statuses: Vec<String>,
    /// Only of this kind; repeat it
    #[arg(short, long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Only with this label; repeat it for those with all of them
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Only without this label; repeat it
    #[arg(long = "no-label", value_name = "LABEL")]
    without: Vec<String>,
    /// Only of this person: a part of the name, or @me; an empty one is nobody
    #[arg(short, long, value_name = "NAME")]
    assignee: Option<String>,
    /// Only for this milestone
    #[arg(short, long, value_name = "NAME")]
    milestone: Option<String>,
    /// Only parts of this issue, and their parts
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Only of this priority or a smaller number
    #[arg(short, long, value_name = "NUMBER")]
    priority: Option<u8>,
    /// Only with these words in the title, the description or a comment
    #[arg(long, value_name = "WORDS")]
    grep: Option<String>,
    /// Only issues that wait for something
    #[arg(long, conflicts_with = "ready")]
    blocked: bool,
    /// Only issues that can be begun now
    #[arg(long)]
    ready: bool,
    /// Only issues that nobody changed for this many days
    #[arg(long, value_name = "DAYS")]
    stale: Option<u32>,
    /// Only issues that are due on this day or before
    #[arg(long, value_name = "DAY")]
    due: Option<String>,
    /// Only issues with a field to which two clones gave different values
    #[arg(long)]
    apart: bool,
    /// The order: next, priority, due, changed or created
    #[arg(long, value_name = "ORDER", default_value = "next", value_parser = ["next", "priority", "due", "changed", "created"])]
    sort: String,
    /// The most issues to list
    #[arg(short = 'n', long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// As the backlog was then: a day (its end), a time, `3d` or `last friday`, the id of an operation, or a commit of the
    /// branch of sessions
    #[arg(long, value_name = "WHEN")]
    at: Option<String>,
}

impl ListArgs {
    fn asked(&self, now: i64) -> Asked {
        let statuses = self
            .statuses
            .iter()
            .filter_map(|word| word.parse::<Status>().ok());
        let filter = Filter {
            all: self.all,
            statuses: statuses.collect(),
            kinds: self.kinds.clone(),
            labels: self.labels.clone(),
            without: self.without.clone(),
            assignee: self.assignee.clone(),
            milestone: self.milestone.clone(),
            priority: self.priority,
            text: None,
            blocked: self.blocked.then_some(true),
            stale: self.stale.map(|days| now - i64::from(days) * DAY),
            due: self.due.clone(),
            apart: self.apart,
        };
        Asked {
            filter,
            ready: self.ready,
            here: false,
            whole: self.parent.clone(),
            order: match self.sort.as_str() {
                "changed" => Order::Changed,
                "created" => Order::Created,
                "priority" => Order::Priority,
                "due" => Order::Due,
                _ => Order::Next,
            },
            limit: self.limit,
            search: self.grep.clone(),
            at: self.at.clone(),
        }
    }
}

pub(crate) fn run(args: ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let args = super::list::named(args, ctx)?;
    let mut asked = args.asked(ctx.now());
    asked.filter.assignee = person(ctx, asked.filter.assignee)?;
    let is_narrow =
        asked.filter.is_narrow() || asked.ready || asked.search.is_some() || asked.whole.is_some();
    let wanted = [
        asked.filter.due.clone().map(|day| Change::Due(Some(day))),
        asked.filter.priority.map(Change::Priority),
    ];
    for change in wanted.iter().flatten() {
        change::check(ctx, change)?;
    }
    let is_apart = asked.filter.apart;
    let rows = view::list(ctx, &asked)?;
    // An issue may have a kind that loopx.toml no longer names.
    if rows.len() == 0 {
        for kind in &asked.filter.kinds {
            change::kind_is_known(ctx, kind)?;
        }
    }
    print(&rows, (is_narrow, is_apart), "issue list", ui);
    Ok(Exit::Done)
}

/// List what can be begun now: by priority, then by the day it is due, then oldest first
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ReadyArgs {
    /// Only with this label; repeat it for those with all of them
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Only of this person: a part of the name, or @me; an empty one is nobody
    #[arg(short, long, value_name = "NAME")]
    assignee: Option<String>,
    /// The most issues to list
    #[arg(short = 'n', long, value_name = "NUMBER")]
    limit: Option<usize>,
}

pub(crate) fn ready(args: ReadyArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let asked = Asked {
        filter: Filter {
            labels: args.labels,
            assignee: person(ctx, args.assignee)?,
            ..Filter::default()
        },
        ready: true,
        limit: args.limit,
        ..Asked::default()
    };
    let rows = view::list(ctx, &asked)?;
    print(&rows, (true, false), "issue ready", ui);
    Ok(Exit::Done)
}

/// The person that is named; `@me` is whoever asks.
pub(super) fn person(ctx: &Context, named: Option<String>) -> Result<Option<String>> {
    match named.as_deref() {
        Some("@me") => Ok(Some(ctx.repo.identity()?.author.name)),
        _ => Ok(named),
    }
}

fn print(rows: &Rows, (is_narrow, is_apart): (bool, bool), verb: &str, ui: &mut Ui) {
    ui.lines(|ui| {
        for row in rows.iter() {
            row_lines(ui, &rows.names, &row);
        }
    });
    for damaged in &rows.damaged {
        ui.warn(format!(
            "{} is damaged: {}",
            damaged.issue,
            clean(&damaged.what)
        ));
    }
    if !rows.cycle.is_empty() {
        ui.warn(super::waiting(&rows.cycle, &rows.names));
    }
    let shown = rows.len();
    let then = rows.at.as_ref();
    let then = then.map_or_else(String::new, |at| format!(", as of {at}"));
    ui.status(match (shown, rows.open, rows.all) {
        (_, _, 0) => format!("no issues{then}"),
        (shown, open, all) if shown == open => format!("{open} open, {all} in all{then}"),
        (shown, open, all) => format!("{shown} shown; {open} open, {all} in all{then}"),
    });
    let first = rows.iter().find(|row| row.ready);
    let next = match first {
        _ if rows.at.is_some() => None,
        _ if !rows.damaged.is_empty() => Some(command!("fsck --repair")),
        _ if is_apart => rows
            .iter()
            .find_map(|row| apart::settle_row(&row, &rows.names))
            .or_else(|| rows.unlink.clone()),
        Some(row) => Some(command!("issue take {}", row.short)),
        None if rows.all == 0 => {
            ui.hint(command!("issue create \"The login form times out\""));
            None
        }
        None if is_narrow && shown == 0 => Some(command!("issue list")),
        None => rows.iter().find_map(|row| {
            let lack = row.lacks.first()?;
            lack.way(&row.issue, &row.short)
        }),
    };
    if let Some(next) = &next {
        ui.hint(next);
    }
    let mut body = json!({ "all": rows.all, "open": rows.open, "next_action": next });
    if !rows.cycle.is_empty() {
        body["cycle"] = json!(rows.cycle);
    }
    if let Some(at) = &rows.at {
        body["at"] = json!(at);
    }
    if !rows.damaged.is_empty() {
        body["damaged"] = json!(rows.damaged);
    }
    ui.json_rows(verb, body, ("issues", rows.iter()));
}

/// The arguments with the words of the lists that they name in front.
fn named(args: ListArgs, ctx: &Context) -> Result<ListArgs> {
    use clap::{Args, FromArgMatches};
    if args.named.is_empty() {
        return Ok(args);
    }
    let mut words: Vec<String> = vec!["issue list".to_owned()];
    for name in &args.named {
        let key = name.strip_prefix('@').filter(|name| !name.is_empty());
        let text = key.and_then(|key| ctx.repo.config(&format!("loopx.list.{key}")));
        let text = text.ok_or_else(|| unknown_list(name, key))?;
        let split = shlex::split(&text).ok_or_else(|| {
            Failure::usage(
                Code::ListUnknown,
                format!(
                    "loopx.list.{}: a quote is not closed",
                    name.trim_start_matches('@')
                ),
            )
        })?;
        words.extend(split);
    }
    let parser = ListArgs::augment_args(clap::Command::new("issue list").no_binary_name(false));
    let parsed = parser.try_get_matches_from(&words);
    let parsed = parsed.and_then(|matches| ListArgs::from_arg_matches(&matches));
    let saved = parsed.map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        Failure::usage(
            Code::ListUnknown,
            format!(
                "{}: {}",
                args.named.join(" "),
                line.trim_start_matches("error: ")
            ),
        )
        .help(command!("help issue list"))
    })?;
    if let Some(other) = saved.named.first() {
        let names = args.named.join(" ");
        let message = format!("{names} names another list: {other}, and a saved list names none");
        let help = command!("issue list {}", shell_word(other))
            .note("(or take it out of: git config --get-regexp loopx.list)");
        return Err(Failure::usage(Code::ListUnknown, message).help(help));
    }
    Ok(args.over(saved))
}

fn unknown_list(name: &str, key: Option<&str>) -> Failure {
    let failure = Failure::usage(
        Code::ListUnknown,
        format!("expected a list that git config names, found `{name}`"),
    );
    let lists = crate::flow::config::lists();
    let known = lists.iter().map(|(name, _)| name.as_str());
    match nearest(key.unwrap_or(name), known) {
        Some(near) => failure.help(command!("issue list @{near}")),
        None => failure.help(format!(
            "git config loopx.list.{} \"--label ui --ready\"  (for one)",
            key.unwrap_or("mine")
        )),
    }
}

impl ListArgs {
    /// Arguments given here, and those of a saved list where the given ones say nothing.
    fn over(self, saved: ListArgs) -> ListArgs {
        let both = |mut ours: Vec<String>, theirs: Vec<String>| {
            ours.extend(theirs);
            ours
        };
        ListArgs {
            named: Vec::new(),
            all: self.all || saved.all,
            statuses: both(self.statuses, saved.statuses),
            kinds: both(self.kinds, saved.kinds),
            labels: both(self.labels, saved.labels),
            without: both(self.without, saved.without),
            assignee: self.assignee.or(saved.assignee),
            milestone: self.milestone.or(saved.milestone),
            parent: self.parent.or(saved.parent),
            priority: self.priority.or(saved.priority),
            grep: self.grep.or(saved.grep),
            blocked: self.blocked || saved.blocked,
            ready: self.ready || saved.ready,
            stale: self.stale.or(saved.stale),
            due: self.due.or(saved.due),
            apart: self.apart || saved.apart,
            sort: match self.sort.as_str() {
                "next" => saved.sort,
                _ => self.sort,
            },
            limit: self.limit.or(saved.limit),
            at: self.at.or(saved.at),
        }
    }
}
