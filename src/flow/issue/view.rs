//! Reading the backlog: the list, one issue, its log, and the graph. Nothing here writes.

mod graph;
mod log;

pub(crate) use graph::graph;
pub(super) use graph::unlink;
pub(crate) use log::{Log, log};

use super::beside::Beside;
use super::then::Then;
use super::{Damaged, Names, then, today};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::id::Person;
use loopx_rules::issue::filter::Filter;
use loopx_rules::issue::needs::{Lack, Rules};
use loopx_rules::issue::{Backlog, Issue, IssueId, Read, Texts, Wait};
use loopx_rules::lease::{clock, seconds_of};
use loopx_rules::policy::BacklogPolicy;
use loopx_rules::when::Side;
use loopx_store::Issues;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// A row of a list: an issue, borrowed where a long list has it already.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row<'i> {
    #[serde(flatten)]
    pub issue: Cow<'i, Issue>,
    /// The short id: as much of the id as tells it from the others.
    pub short: String,
    /// Set when somebody could begin the issue now.
    pub ready: bool,
    /// The rules of policy that keep the issue from being begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Lack>,
    pub waits: Cow<'i, [Wait]>,
    /// Set when the day is over by which the issue was to be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
    /// The parts of the issue, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// The claim of whoever has the issue in hand, and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}

/// The numbers of the parts of an issue.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Parts {
    /// Number of parts that have ended.
    pub done: usize,
    pub all: usize,
}

/// The numbers of parts of each issue that has some.
fn parts(backlog: &Backlog) -> HashMap<IssueId, Parts> {
    let all = backlog.parts().into_iter().map(|(whole, parts)| {
        let done = parts.iter().filter(|part| part.status.is_final()).count();
        let all = parts.len();
        (whole.clone(), Parts { done, all })
    });
    all.collect()
}

/// The claim of an issue that is in hand: by whom, and until when.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holder {
    pub who: String,
    pub until: String,
    /// Set when the lease is still running.
    pub alive: bool,
    /// Set when this worktree has the issue in hand.
    pub here: bool,
}

/// The asker: a person, a moment, and the rules of policy.
#[derive(Debug)]
struct Asker {
    watched: Watched,
    me: Option<Person>,
    now: i64,
    policy: BacklogPolicy,
    rules: Rules,
    parts: HashMap<IssueId, Parts>,
}

/// The policy of the backlog. Issues are shown also where it cannot be read.
pub(super) fn policy(ctx: &Context) -> BacklogPolicy {
    let policy = crate::flow::specs::policy(ctx);
    policy.map_or_else(|_| BacklogPolicy::default(), |policy| policy.backlog)
}

impl Asker {
    fn of(ctx: &Context) -> Self {
        Asker {
            watched: Watched::default(),
            me: ctx.reader().map(|reader| reader.author.clone()),
            now: ctx.now(),
            policy: policy(ctx),
            rules: Rules::default(),
            parts: HashMap::new(),
        }
    }

    /// Tells whether whoever asks has taken an issue, and no session goes on for it.
    fn has_in_hand(&self, issue: &Issue) -> bool {
        let claim = issue.claim.as_deref();
        let leases = &self.watched.leases;
        let is_own = claim.is_some_and(|claim| leases.is_here(claim) && leases.runs(claim));
        is_own && issue.running.is_none() && !issue.status.is_final()
    }

    /// The asker of issues as this clone watched their claims.
    fn watching(self, ctx: &Context, issues: &[Issue]) -> Self {
        Asker {
            watched: Watched::of_issues(&ctx.repo, issues, self.now),
            ..self
        }
    }

    /// The asker of what can be begun beside these issues, which are all that there are.
    fn beside(self, issues: &[Issue]) -> Self {
        let me = (self.me.as_ref(), &self.watched.leases);
        Asker {
            rules: Rules::of(&self.policy, issues, me),
            ..self
        }
    }

    /// The asker of issues with their parts.
    fn with_parts(self, backlog: &Backlog) -> Self {
        Asker {
            parts: parts(backlog),
            ..self
        }
    }

    /// The asker who looks at another moment than this one, where a moment is given.
    fn then(ctx: &Context, then: Option<&Then>, issues: &[Issue]) -> Self {
        let asker = Asker::of(ctx);
        match then {
            // Nobody begins something then, whatever policy asks for now.
            Some(then) => Asker {
                watched: Watched::then(&ctx.repo, then.second),
                now: then.second,
                policy: BacklogPolicy::default(),
                ..asker
            },
            None => asker.watching(ctx, issues),
        }
    }
}

/// A list of issues. Its rows are made as they are shown: ten thousand at once would take as much room as the issues.
#[derive(Debug)]
pub(crate) struct Rows {
    issues: Vec<Issue>,
    /// Causes for which each of them waits.
    waits: Vec<Vec<Wait>>,
    /// The places of the issues that are shown.
    order: Vec<usize>,
    asker: Asker,
    /// The number of issues, and of those that are open.
    pub all: usize,
    pub open: usize,
    pub damaged: Vec<Damaged>,
    pub names: Names,
    /// The issues that wait for each other, the first at both ends, where what clones made apart is asked for.
    pub cycle: Vec<IssueId>,
    /// The command that ends that cycle.
    pub unlink: Option<Hint>,
    /// The moment of which the list is, where it is not this one.
    pub at: Option<String>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> + Clone {
        self.order.iter().map(|at| {
            let (issue, waits) = (&self.issues[*at], &self.waits[*at]);
            let (issue, waits) = (Cow::Borrowed(issue), Cow::Borrowed(waits.as_slice()));
            row(&self.names, issue, waits, &self.asker)
        })
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// Issues that can be begun first, then those that wait; each by priority, day and age.
    #[default]
    Next,
    /// The newest change first.
    Changed,
    /// The newest issue first.
    Created,
    /// By priority, then by the day it is due.
    Priority,
    /// By the day it is due, then by priority.
    Due,
}

/// The options of a list beside the conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub filter: Filter,
    /// Set for a list of only what can be begun now.
    pub ready: bool,
    /// An issue of which only the parts are listed, and theirs.
    pub whole: Option<String>,
    /// Set for a list of only what this worktree has taken, and begun no session for.
    pub here: bool,
    pub order: Order,
    pub limit: Option<usize>,
    /// Words that stand in the title, the description or a comment, all of them.
    pub search: Option<String>,
    /// The moment of which the list is to be.
    pub at: Option<String>,
}

/// An issue that this worktree has taken, and for which no session goes on.
#[derive(Debug)]
pub(crate) struct InHand {
    /// The issue as people are shown it.
    pub short: String,
    /// The thing that keeps a session from being started for it, in words, with the command that leads on.
    pub held: Option<(String, Hint)>,
}

/// The first issue that this worktree has in hand: one for which a session can be started, where there is one.
pub(crate) fn in_hand(ctx: &Context) -> Result<Option<InHand>> {
    let Some(rows) = taken_here(ctx)? else {
        return Ok(None);
    };
    let mut all = rows.iter().map(|row| {
        let lacks = rows.asker.rules.lacking(&row.issue).into_iter().next();
        let short = row.short.clone();
        let held = match (row.waits.first(), lacks) {
            (None, None) => None,
            (None, Some(lack)) => {
                let way = lack.way(&row.issue, &short);
                let way = way.unwrap_or_else(|| command!("issue show {short}"));
                Some((format!("{short} lacks {}", lack.words()), way))
            }
            (Some(wait), _) => {
                let words = wait.words(|id| rows.names.short(id).to_owned());
                let way = command!("issue show {short}");
                Some((format!("{short} waits for {words}"), way))
            }
        };
        InHand { short, held }
    });
    let first = all.clone().find(|one| one.held.is_none());
    Ok(first.or_else(|| all.next()))
}

/// The issues that this worktree has taken, and for which no session goes on; nothing where it never took one.
pub(crate) fn taken_here(ctx: &Context) -> Result<Option<Rows>> {
    if crate::flow::lease::worktrees(&ctx.repo).here.is_none() || ctx.store()?.tip()?.is_none() {
        return Ok(None);
    }
    let asked = Asked {
        here: true,
        ..Asked::default()
    };
    list(ctx, &asked).map(Some)
}

/// The number of issues that can be begun and are read one by one.
const FEW: usize = 16;

/// The first few that can be begun; `None` where all issues have to be looked at for it.
fn first(
    ctx: &Context,
    snapshot: &loopx_store::Snapshot<'_>,
    asked: &Asked,
) -> Result<Option<Rows>> {
    let is_plain = asked.ready
        && asked.at.is_none()
        && asked.filter == Filter::default()
        && asked.search.is_none()
        && asked.whole.is_none()
        && matches!(asked.order, Order::Next);
    let Some(limit) = asked.limit.filter(|limit| is_plain && *limit <= FEW) else {
        return Ok(None);
    };
    let asker = Asker::of(ctx);
    let beside = Beside::of(snapshot)?;
    if asker.policy.asks_of_begun() || !beside.says_all() {
        return Ok(None);
    }
    let names = beside.names();
    let found = beside.next(&today(asker.now), limit)?.into_iter();
    let issues = found.filter_map(|(backlog, at)| backlog.into_issues().into_iter().nth(at));
    let issues: Vec<Issue> = issues.collect();
    let (all, open) = beside.counts();
    Ok(Some(Rows {
        waits: vec![Vec::new(); issues.len()],
        order: (0..issues.len()).collect(),
        asker: asker.watching(ctx, &issues),
        issues,
        all,
        open,
        damaged: Vec::new(),
        names,
        cycle: Vec::new(),
        unlink: None,
        at: None,
    }))
}

/// The issues that are asked for.
pub(crate) fn list(ctx: &Context, asked: &Asked) -> Result<Rows> {
    let snapshot = ctx.store()?.snapshot()?;
    if let Some(rows) = first(ctx, &snapshot, asked)? {
        return Ok(rows);
    }
    let (then, found, texts) = issues(ctx, &snapshot, asked)?;
    let names = Names::of_issues(&found);
    let backlog = Backlog::of(found.issues);
    let asker = Asker::then(ctx, then.as_ref(), &backlog.issues);
    let asker = asker.beside(&backlog.issues).with_parts(&backlog);
    let whole = asked.whole.as_ref();
    let whole = whole.map(|typed| super::scope::parts_of(&snapshot, &backlog, typed));
    let whole = whole.transpose()?;
    let filter = Filter {
        // The days without a change are counted back from the moment that is looked at.
        stale: (asked.filter.stale).map(|second| second.saturating_sub(ctx.now() - asker.now)),
        ..asked.filter.clone()
    };
    let cycle = (filter.apart).then(|| backlog.waiting_for_itself());
    let cycle = cycle.flatten().unwrap_or_default();
    let beside = Filter {
        apart: false,
        ..filter.clone()
    };
    let day = today(asker.now);
    let waits = backlog.waits(&day);
    let mut order = order(&backlog, &waits, asked.order);
    order.retain(|at| {
        let issue = &backlog.issues[*at];
        let is_in_cycle = cycle.contains(&issue.id) && beside.takes(issue, &waits[*at]);
        (is_in_cycle || filter.takes(issue, &waits[*at]))
            && (whole.as_ref()).is_none_or(|parts| parts.contains(&issue.id))
            && (!asked.here || asker.has_in_hand(issue))
            && (!asked.ready
                || issue.is_ready(&waits[*at]) && asker.rules.lacking(issue).is_empty())
            && (asked.search.as_ref())
                .is_none_or(|words| has_words(issue, texts.get(&issue.id), words))
    });
    if let Some(limit) = asked.limit {
        order.truncate(limit);
    }
    let is_open = |issue: &&Issue| !issue.status.is_final();
    let open = backlog.issues.iter().filter(is_open).count();
    let all = backlog.issues.len();
    Ok(Rows {
        unlink: unlink(&backlog, &cycle, &names),
        cycle,
        issues: backlog.into_issues(),
        waits,
        order,
        asker,
        all,
        open,
        damaged: damaged(found.damaged),
        names,
        at: then.as_ref().map(Then::at),
    })
}

/// All issues as they are, or as they were at the moment that is asked for, with their long texts where those are searched.
fn issues(
    ctx: &Context,
    snapshot: &loopx_store::Snapshot<'_>,
    asked: &Asked,
) -> Result<(Option<Then>, Issues, HashMap<IssueId, Texts>)> {
    if let Some(at) = &asked.at {
        let then = Then::of(ctx, snapshot, (at, Side::End), None)?;
        let (found, texts) = then::all(snapshot, &then)?;
        return Ok((Some(then), found, texts));
    }
    let (mut found, texts) = match &asked.search {
        Some(_) => snapshot.issues_with_texts()?,
        None => (snapshot.issues()?, HashMap::new()),
    };
    super::sessions::settle(snapshot, &mut found.issues)?;
    Ok((None, found, texts))
}

fn damaged(found: Vec<(IssueId, loopx_base::failure::Failure)>) -> Vec<Damaged> {
    let found = found.into_iter().map(|(issue, failure)| Damaged {
        issue,
        what: failure.message,
    });
    found.collect()
}

fn row<'i>(names: &Names, issue: Cow<'i, Issue>, waits: Cow<'i, [Wait]>, asker: &Asker) -> Row<'i> {
    let holder = issue.claim.as_ref().map(|claim| {
        let (watched, leases) = (&asker.watched, &asker.watched.leases);
        let here = leases.is_here(claim);
        Holder {
            who: if here {
                format!("{}, here", claim.signed.by.name)
            } else {
                watched.whose(claim)
            },
            until: clock(leases.until(claim)),
            alive: leases.runs(claim),
            here,
        }
    });
    let can_begin = issue.is_ready(&waits);
    let lacks = if can_begin {
        asker.rules.lacking(&issue)
    } else {
        Vec::new()
    };
    Row {
        short: names.short(&issue.id).to_owned(),
        ready: can_begin && lacks.is_empty(),
        lacks,
        overdue: !issue.status.is_final()
            && (issue.due.as_ref()).is_some_and(|day| *day < today(asker.now)),
        waits,
        parts: asker.parts.get(&issue.id).copied(),
        holder,
        issue,
    }
}

/// An issue of the queue, as lists show it.
pub(super) fn row_of(ctx: &Context, names: &Names, issue: Issue, waits: Vec<Wait>) -> Row<'static> {
    let asker = Asker::of(ctx).watching(ctx, std::slice::from_ref(&issue));
    let (issue, waits) = (Cow::Owned(issue), Cow::Owned(waits));
    row(names, issue, waits, &asker)
}

fn order(backlog: &Backlog, waits: &[Vec<Wait>], by: Order) -> Vec<usize> {
    use loopx_rules::issue::Status;
    let issues = &backlog.issues;
    let mut order: Vec<usize> = (0..issues.len()).collect();
    let rank = |at: usize| match (issues[at].status, waits[at].is_empty()) {
        (status, _) if status.is_final() => 3,
        (Status::InProgress, _) => 0,
        (_, true) => 1,
        (_, false) => 2,
    };
    match by {
        Order::Next => order.sort_by_key(|at| {
            let issue = &issues[*at];
            (
                rank(*at),
                issue.priority,
                issue.due.is_none(),
                &issue.due,
                *at,
            )
        }),
        Order::Changed => {
            order.sort_by_cached_key(|at| {
                std::cmp::Reverse((seconds_of(&issues[*at].changed.at), *at))
            });
        }
        Order::Created => order.reverse(),
        Order::Priority => order.sort_by_key(|at| {
            let issue = &issues[*at];
            (issue.priority, issue.due.is_none(), &issue.due, *at)
        }),
        Order::Due => order.sort_by_key(|at| {
            let issue = &issues[*at];
            (issue.due.is_none(), &issue.due, issue.priority, *at)
        }),
    }
    order
}

/// Tells whether all words stand somewhere in an issue, whatever their case.
fn has_words(issue: &Issue, texts: Option<&Texts>, words: &str) -> bool {
    let mut all = issue.title.to_lowercase();
    if let Some(source) = &issue.source {
        all.push('\n');
        all.push_str(&source.id.to_lowercase());
    }
    if let Some(texts) = texts {
        all.push('\n');
        all.push_str(&texts.description.to_lowercase());
        for comment in &texts.comments {
            all.push('\n');
            all.push_str(&comment.text.to_lowercase());
        }
    }
    let words = words.to_lowercase();
    words.split_whitespace().all(|word| all.contains(word))
}

/// An issue with everything that is known of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    pub row: Row<'static>,
    pub description: String,
    pub notes: Vec<loopx_rules::issue::Comment>,
    /// Fields from the source of the issue that have no counterpart here.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub kept: std::collections::BTreeMap<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<loopx_rules::issue::solution::Solution>,
    /// The solutions that were tried and did not work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<loopx_rules::issue::solution::Failed>,
    /// The issues that name this one, with the word for what it is to them.
    pub named_by: Vec<Naming>,
    /// The moment at which the issue was so, where it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The way to the first session that goes on for it.
    #[serde(skip)]
    pub go_on: Option<Hint>,
    #[serde(skip)]
    pub names: Names,
    /// The titles of the issues that it has to do with.
    #[serde(skip)]
    pub titles: HashMap<IssueId, (String, loopx_rules::issue::Status)>,
}

/// An issue that names another one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Naming {
    pub kind: &'static str,
    pub issue: IssueId,
}

/// Reads an issue with everything that is known of it, as it is or as it was at a moment.
pub(crate) fn show(ctx: &Context, typed: &str, at: Option<&str>) -> Result<Shown> {
    let snapshot = ctx.store()?.snapshot()?;
    if let Some(at) = at {
        let (id, ops, then) = then::meant(ctx, &snapshot, (typed, at))?;
        let read = then.require(&snapshot, (&id, &ops))?;
        let found = then::all(&snapshot, &then)?.0;
        let names = Names::of_issues(&found);
        let backlog = Backlog::of(found.issues);
        let asker = Asker::then(ctx, Some(&then), &backlog.issues);
        return Ok(Shown {
            at: Some(then.at()),
            ..shown(asker, &backlog, names, read)
        });
    }
    let read = super::require(&snapshot, typed)?;
    let beside = Beside::of(&snapshot)?;
    let names = if beside.says_all() {
        beside.names()
    } else {
        Names::of(&snapshot)?
    };
    let backlog = Backlog::of(beside.around(std::slice::from_ref(&read.issue.id))?);
    let running = read.issue.running.as_ref();
    let go_on = running.map(|session| super::sessions::place(ctx, &snapshot, session));
    let asker = Asker::of(ctx);
    // What is in hand beside it is counted over all.
    let asker = if asker.policy.has_limits() {
        let all = super::all(&snapshot)?.issues;
        asker.watching(ctx, &all).beside(&all)
    } else {
        asker.watching(ctx, &backlog.issues).beside(&[])
    };
    Ok(Shown {
        go_on,
        ..shown(asker, &backlog, names, read)
    })
}

/// An issue beside all others.
fn shown(asker: Asker, backlog: &Backlog, names: Names, read: Read) -> Shown {
    let asker = asker.with_parts(backlog);
    let Read { issue, texts } = read;
    let at = backlog.issues.iter().position(|one| one.id == issue.id);
    let waits = at
        .map(|at| backlog.waits(&today(asker.now)).swap_remove(at))
        .unwrap_or_default();
    let named_by: Vec<Naming> = (backlog.naming(&issue.id).into_iter())
        .map(|(kind, other)| Naming {
            kind,
            issue: other.id.clone(),
        })
        .collect();
    let linked = issue.links.iter().map(|link| &link.to);
    let others = linked.chain(named_by.iter().map(|one| &one.issue));
    let titles = others
        .filter_map(|id| backlog.find(id))
        .map(|one| (one.id.clone(), (one.title.clone(), one.status)))
        .collect();
    Shown {
        row: row(&names, Cow::Owned(issue), Cow::Owned(waits), &asker),
        description: texts.description,
        notes: texts.comments,
        kept: texts.kept,
        ways: texts.solutions,
        failures: texts.failures,
        named_by,
        at: None,
        go_on: None,
        names,
        titles,
    }
}

/// An issue that this worktree took just now, beside all others as they were.
pub(super) fn taken(
    ctx: &Context,
    (backlog, names): (&Backlog, Names),
    read: Read,
    until: &str,
) -> Result<Shown> {
    let mut shown = shown(Asker::of(ctx), backlog, names, read);
    let by = ctx.repo.identity()?.author.name;
    shown.row.ready = false;
    shown.row.waits = Cow::default();
    shown.row.holder = Some(Holder {
        who: format!("{by}, here"),
        until: until.to_owned(),
        alive: true,
        here: true,
    });
    Ok(shown)
}
