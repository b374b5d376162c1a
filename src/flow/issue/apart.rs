//! Fields that clones wrote apart in the backlog: told wherever both come together, each with the command that settles it.

use super::view::Row;
use super::{Names, sessions};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_base::shell_word;
use loopx_rules::issue::compare::{What, happened};
use loopx_rules::issue::hands::{Of, hands};
use loopx_rules::issue::{
    Apart, Backlog, Criterion, Issue, IssueId, Status, TICKED, Version, Wait, circles,
    criterion_field,
};
use loopx_rules::op::Body;
use loopx_store::Snapshot;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An issue that clones wrote apart, or began apart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ApartIssue {
    pub issue: IssueId,
    pub short: String,
    /// The fields that somebody has to settle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The command that settles the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Hint>,
    /// The issues that were closed as duplicates of each other, said at the oldest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circle: Vec<IssueId>,
    /// The issues that wait for each other, said at the first of them, which stands at both ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<IssueId>,
    /// The sessions that go on for the issue, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionId>,
    /// The fields that somebody has to settle, in words; nothing where no field has to be settled.
    #[serde(skip)]
    listed: Option<String>,
}

/// The command that ends a circle of duplicates: this one is the original.
pub(crate) fn original(id: impl std::fmt::Display) -> Hint {
    command!("issue reopen {id}")
}

/// The command that settles a row of a list of what people wrote apart.
pub(crate) fn settle_row(row: &Row<'_>, names: &Names) -> Option<Hint> {
    let circle = row.waits.iter().find_map(Wait::circle);
    let circle = circle.map(|circle| original(names.short(&circle[0])));
    circle.or_else(|| settle(&row.issue, &row.short))
}

/// The fields of an issue that somebody has to settle: of two claims made apart one counts.
fn fields(issue: &Issue) -> impl Iterator<Item = &Apart> {
    issue.apart.iter().filter(|apart| apart.field != "claim")
}

/// The command that settles the first field of an issue that people wrote apart, by the last of its values; `None` where no
/// single command does.
pub(crate) fn settle(issue: &Issue, short: &str) -> Option<Hint> {
    // A status holds the issue back: it goes first.
    let first = issue.apart_in("status").into_iter();
    let settled = first
        .chain(fields(issue))
        .find_map(|apart| settle_field(issue, short, apart));
    settled.or_else(|| {
        let is_open = !issue.status.is_final();
        let overruled = issue.overruled.as_ref().filter(|_| is_open);
        overruled.map(|_| command!("issue close {short} --reason WHY"))
    })
}

/// The command that settles one field.
fn settle_field(issue: &Issue, short: &str, apart: &Apart) -> Option<Hint> {
    let value = apart.values.last().map_or("", |one| one.value.as_str());
    if apart.field == "status" {
        return settle_status(apart, short);
    }
    Some(match apart.field.as_str() {
        "due" if value == "none" => command!("issue edit {short} --no-due"),
        "defer" if value == "none" => command!("issue edit {short} --no-defer"),
        "estimate" if value == "none" => command!("issue edit {short} --no-estimate"),
        "milestone" if value == "none" => command!("issue edit {short} --no-milestone"),
        "assignee" if value == "none" => command!("issue edit {short} --no-assignee"),
        "repeat" if value == "none" => command!("issue edit {short} --no-every"),
        "repeat" => {
            let every = value.split(',').next().unwrap_or_default();
            command!("issue edit {short} --every {every}")
        }
        "title" | "kind" | "priority" | "due" | "defer" | "estimate" | "milestone" | "assignee" => {
            command!("issue edit {short} --{} {}", apart.field, shell_word(value))
        }
        "description" => {
            let last = apart.values.last()?.op.short();
            command!("issue edit {short} --description-of {last}")
        }
        "parent" => command!("issue link {short} parent {value}"),
        "solution" | "failure" => return settle_solution(apart, short),
        field if field.starts_with("score of ") || field.starts_with("rejection of ") => {
            return settle_solution(apart, short);
        }
        field => return settle_criterion(issue, short, (field, value)),
    })
}

/// The commands that settle what was said of solutions: each of the values, the last of them first.
fn settle_solution(apart: &Apart, short: &str) -> Option<Hint> {
    let name = apart.field.split_once(" of ").map_or("", |(_, name)| name);
    let mut ways: Vec<Hint> = Vec::new();
    for one in apart.values.iter().rev() {
        let way = match (apart.field.split(' ').next(), one.value.as_str()) {
            (Some("solution"), "none") => command!("issue solution unbind {short}"),
            (Some("solution"), name) => command!("issue solution bind {short} {name}"),
            (Some("score"), _) => command!("issue solution score {short} {name} --none"),
            (Some("rejection"), "rejected") => {
                command!("issue solution reject {short} {name} --reason WHY")
            }
            (Some("rejection"), _) => command!("issue solution bind {short} {name} --reason WHY"),
            (_, "retry") => command!("issue queue retry {short}"),
            _ => command!("issue queue fail {short} --reason WHY"),
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways.into_iter()
        .reduce(|first, other| hint![first, "  or: ", other])
}

/// The commands that settle a status: each of its values, and the last of them first.
fn settle_status(apart: &Apart, short: &str) -> Option<Hint> {
    let mut values: Vec<&str> = Vec::new();
    for one in apart.values.iter().rev() {
        if !values.contains(&one.value.as_str()) {
            values.push(&one.value);
        }
    }
    let ways = values.into_iter().map(|value| match value {
        "resolved" => command!("issue resolve {short} --reason WHY"),
        "closed" => command!("issue close {short} --reason WHY"),
        "planned" => command!("issue edit {short} --status planned"),
        "queued" => command!("issue edit {short} --status queued"),
        _ => command!("issue edit {short} --status open"),
    });
    ways.reduce(|first, other| hint![first, "  or: ", other])
}

/// The command that settles a criterion: it holds, or it does not.
fn settle_criterion(issue: &Issue, short: &str, (field, value): (&str, &str)) -> Option<Hint> {
    let is_it = |one: &Criterion| field == criterion_field(&one.text);
    let number = issue.criteria.iter().position(is_it)? + 1;
    Some(match value {
        TICKED => command!("issue tick {short} {number}"),
        _ => command!("issue untick {short} {number}"),
    })
}

/// The issues of a state that clones wrote or began apart.
pub(in crate::flow) fn found(snapshot: &Snapshot<'_>) -> Result<Vec<ApartIssue>> {
    let all = super::all(snapshot)?;
    let names = Names::of_issues(&all);
    found_in(snapshot, &Backlog::of(all.issues), &names)
}

fn found_in(snapshot: &Snapshot<'_>, backlog: &Backlog, names: &Names) -> Result<Vec<ApartIssue>> {
    let twice = sessions::begun_twice(snapshot, &backlog.issues)?;
    let waiting = backlog.waiting_for_itself().unwrap_or_default();
    let circles = circles(&backlog.issues).into_iter();
    let circles: HashMap<&IssueId, Vec<&Issue>> =
        circles.map(|circle| (&circle[0].id, circle)).collect();
    let found = backlog.issues.iter().filter_map(|issue| {
        let short = names.short(&issue.id);
        let fields: Vec<String> = fields(issue).map(|apart| apart.field.clone()).collect();
        let circle = circles.get(&issue.id).into_iter().flatten();
        let circle: Vec<IssueId> = circle.map(|issue| issue.id.clone()).collect();
        let cycle = match waiting.first() {
            Some(first) if *first == issue.id => waiting.clone(),
            _ => Vec::new(),
        };
        let end = (!circle.is_empty()).then(|| original(short));
        let end = end.or_else(|| super::view::unlink(backlog, &cycle, names));
        let one = ApartIssue {
            issue: issue.id.clone(),
            short: short.to_owned(),
            listed: words((issue, short), &fields, (&circle, &cycle), names),
            settle: end.or_else(|| settle(issue, short)),
            sessions: twice.get(&issue.id).cloned().unwrap_or_default(),
            fields,
            circle,
            cycle,
        };
        (one.listed.is_some() || !one.sessions.is_empty()).then_some(one)
    });
    let mut found: Vec<ApartIssue> = found.collect();
    found.sort_by(|a, b| a.issue.cmp(&b.issue));
    Ok(found)
}

/// The parts of an issue that somebody has to settle, in words.
fn words(
    (issue, short): (&Issue, &str),
    fields: &[String],
    (circle, cycle): (&[IssueId], &[IssueId]),
    names: &Names,
) -> Option<String> {
    let others = circle.iter().skip(1).map(|id| names.short(id));
    let circle = others.map(|other| format!("closed as a duplicate of its duplicate {other}"));
    let overruled = issue.overruled.iter().map(|one| one.words());
    let cycle: Vec<&str> = cycle.iter().map(|id| names.short(id)).collect();
    let cycle = (!cycle.is_empty()).then(|| format!("waits for itself: {}", cycle.join(" -> ")));
    let all = circle.chain(fields.iter().cloned()).chain(overruled);
    let all = all.chain(cycle);
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| format!("{short} ({})", all.join(", ")))
}

/// The issues that somebody has to settle, in words.
pub(crate) fn listed(found: &[ApartIssue]) -> Option<String> {
    let words = found.iter().filter_map(|one| one.listed.as_deref());
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The command that leads on: it settles the only one, or lists them.
pub(crate) fn way(found: &[ApartIssue]) -> Option<Hint> {
    let mut open = found.iter().filter(|one| one.listed.is_some());
    let first = open.next()?;
    let only = first.settle.clone().filter(|_| open.next().is_none());
    Some(only.unwrap_or_else(|| command!("issue list --apart")))
}

/// A claim that does not count beside another one: neither of the two people knew of the other.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LostClaim {
    pub issue: IssueId,
    pub short: String,
    pub of: String,
    pub to: String,
    /// Set when the claim counted until somebody took the issue over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub taken_over: bool,
    /// The claim that counts is one that a remote took, whichever is older.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_remote: bool,
    #[serde(skip)]
    op: OpId,
}

/// News that a sync brought to the backlog: what a person did, and to how many issues.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct News {
    pub by: String,
    pub kinds: BTreeMap<What, usize>,
    /// The issues as people are shown them.
    pub issues: Vec<String>,
}

/// The news of a backlog, and what only a merge makes of it.
#[derive(Debug, Default)]
pub(in crate::flow) struct Since {
    pub news: Vec<News>,
    pub apart: Vec<ApartIssue>,
    pub lost: Vec<LostClaim>,
    pub over_limit: Vec<OverLimit>,
    pub open_parts: Vec<OpenParts>,
}

/// The things that came to a state, or that clones made apart; none where the backlog is what it was. What cannot be read is for `fsck`.
pub(in crate::flow) fn since(ctx: &Context, before: Option<&Oid>, now: &Oid) -> Since {
    let looked = changed(ctx, before, now).and_then(|now| match now {
        Some(now) => looked(ctx, before, &now),
        None => Ok(Since::default()),
    });
    looked.unwrap_or_default()
}

fn looked(ctx: &Context, before: Option<&Oid>, now: &Snapshot<'_>) -> Result<Since> {
    let all = super::all(now)?;
    let names = Names::of_issues(&all);
    let backlog = Backlog::of(all.issues);
    let mut lost = lost_claims(now, &backlog.issues, &names);
    let was = before.map(|before| Snapshot::at(&ctx.repo, before.clone(), "the branch"));
    let was = was.transpose()?;
    let then = was.as_ref().map(super::all);
    let mut then = then.transpose()?;
    if let Some(then) = &mut then {
        let known = lost_claims(now, &then.issues, &names);
        lost.retain(|one| known.iter().all(|known| known.op != one.op));
        then.issues.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let here = crate::flow::lease::worktrees(&ctx.repo).here;
        if let Some(here) = here {
            let states = (then.issues.as_slice(), backlog.issues.as_slice());
            lost.extend(taken_over(states, &here, &names));
        }
    }
    let known = |id: &IssueId| then.as_ref().and_then(|then| known(&then.issues, id));
    let open_parts = open_parts(now, &backlog, &names, known);
    Ok(Since {
        // To a clone that had none all of it is new.
        news: match (then, &was) {
            (Some(then), Some(was)) => {
                let issues = (then.issues.as_slice(), backlog.issues.as_slice());
                news(issues, (was, now), &names)
            }
            _ => Vec::new(),
        },
        apart: found_in(now, &backlog, &names)?,
        lost,
        over_limit: over(ctx, &backlog.issues, &names),
        open_parts,
    })
}

/// An issue of a state that is sorted by id.
fn known<'i>(then: &'i [Issue], id: &IssueId) -> Option<&'i Issue> {
    let at = then.binary_search_by(|one| one.id.cmp(id)).ok()?;
    then.get(at)
}

/// The claims of a worktree that ended because somebody took the issue over.
fn taken_over((then, now): (&[Issue], &[Issue]), here: &str, names: &Names) -> Vec<LostClaim> {
    let found = now.iter().filter_map(|issue| {
        let was = known(then, &issue.id)?.claim.as_deref()?;
        let claim = issue.claim.as_deref()?;
        let over = claim.value.over.as_ref()?;
        (was.value.owner == here && over.owner == here && claim.value.owner != here).then(|| {
            LostClaim {
                issue: issue.id.clone(),
                short: names.short(&issue.id).to_owned(),
                of: was.signed.by.name.clone(),
                to: claim.signed.by.name.clone(),
                taken_over: true,
                by_remote: false,
                op: claim.op.clone(),
            }
        })
    });
    found.collect()
}

/// An issue that ended, and has open parts since clones came together: one ended it, the other one went on below it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OpenParts {
    pub issue: IssueId,
    pub short: String,
    pub status: Status,
    /// The parts as people are shown them.
    pub parts: Vec<String>,
    /// The command by which the whole goes on with them.
    #[serde(skip)]
    pub way: Hint,
}

/// The issues that ended over open parts, and did not in the state before.
fn open_parts<'i>(
    snapshot: &Snapshot<'_>,
    backlog: &Backlog,
    names: &Names,
    known: impl Fn(&IssueId) -> Option<&'i Issue>,
) -> Vec<OpenParts> {
    let found = backlog.ended_over_parts().into_iter();
    let found = found.filter_map(|(issue, parts)| {
        // What came as it is, from another tracker, is nobody's merge.
        let was_over = known(&issue.id).is_none_or(|was| was.status.is_final());
        let was_under = |part: &Issue| {
            let was = known(&part.id);
            was.is_some_and(|was| {
                !was.status.is_final() && was.parent(|id| *id == issue.id).is_some()
            })
        };
        if known(&issue.id).is_none() || was_over && parts.iter().all(|part| was_under(part)) {
            return None;
        }
        let short = names.short(&issue.id).to_owned();
        let archived = sessions::require_no_archive(snapshot, issue).err();
        let way = archived.and_then(|failure| failure.help);
        Some(OpenParts {
            issue: issue.id.clone(),
            status: issue.status,
            parts: parts
                .iter()
                .map(|part| names.short(&part.id).to_owned())
                .collect(),
            way: way.unwrap_or_else(|| command!("issue reopen {short}")),
            short,
        })
    });
    found.collect()
}

/// The person who wrote the last record of an issue that the state before has not.
fn last_of((was, now): (&Snapshot<'_>, &Snapshot<'_>), id: &IssueId) -> Result<Option<Person>> {
    let had = was.issue_records(id)?.unwrap_or_default();
    let had: HashSet<&OpId> = had.iter().map(|op| &op.op).collect();
    let has = now.issue_records(id)?.unwrap_or_default();
    let fresh = has.into_iter().filter(|op| !had.contains(&op.op));
    Ok(fresh.max_by_key(|op| op.seq).map(|op| op.by))
}

/// The news between two states of the backlog, the issues of the first of them sorted by id.
fn news(
    (then, now): (&[Issue], &[Issue]),
    states: (&Snapshot<'_>, &Snapshot<'_>),
    names: &Names,
) -> Vec<News> {
    let mut found: BTreeMap<String, News> = BTreeMap::new();
    for issue in now {
        let Some(what) = happened(known(then, &issue.id), issue) else {
            continue;
        };
        let by = match what {
            What::Created => issue.created.by.clone(),
            // Of what was written apart only the other side's is news.
            _ => {
                let last = last_of(states, &issue.id).ok().flatten();
                last.unwrap_or_else(|| issue.changed.by.clone())
            }
        };
        let news = found.entry(by.email.clone()).or_insert_with(|| News {
            by: by.name.clone(),
            kinds: BTreeMap::new(),
            issues: Vec::new(),
        });
        news.issues.push(names.short(&issue.id).to_owned());
        *news.kinds.entry(what).or_default() += 1;
    }
    found.into_values().collect()
}

/// The claims that do not count, because clones that were apart claimed one issue.
fn lost_claims(snapshot: &Snapshot<'_>, issues: &[Issue], names: &Names) -> Vec<LostClaim> {
    let mut found = Vec::new();
    for issue in issues.iter().filter(|issue| !issue.status.is_final()) {
        let values = issue.apart_in("claim").map(|apart| apart.values.as_slice());
        let Some((first, lost)) = values.and_then(<[Version]>::split_first) else {
            continue;
        };
        let by_remote = is_there(snapshot, &issue.id, &first.op);
        found.extend(lost.iter().map(|one| LostClaim {
            issue: issue.id.clone(),
            short: names.short(&issue.id).to_owned(),
            of: one.by.name.clone(),
            to: first.by.name.clone(),
            taken_over: false,
            by_remote,
            op: one.op.clone(),
        }));
    }
    found
}

/// Tells whether a claim went to a remote before it stood anywhere else.
fn is_there(snapshot: &Snapshot<'_>, id: &IssueId, claim: &OpId) -> bool {
    let records = snapshot.issue_records(id).ok().flatten();
    let mut records = records.iter().flatten();
    let claim = records.find(|op| op.op == *claim);
    claim.is_some_and(|op| matches!(&op.body, Body::Issue(event) if event.is_there()))
}

/// A state whose backlog is another than that of the state before.
fn changed<'c>(ctx: &'c Context, before: Option<&Oid>, now: &Oid) -> Result<Option<Snapshot<'c>>> {
    let at = |tip: &Oid| Snapshot::at(&ctx.repo, tip.clone(), "the branch");
    let known = before.and_then(|before| at(before).ok());
    let now = at(now)?;
    let is_same = match known {
        Some(known) => known.issues_tree()? == now.issues_tree()?,
        None => false,
    };
    Ok((!is_same).then_some(now))
}

/// A person or a label that has more issues in hand than policy lets it have, because clones were apart. Nothing of it is lost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OverLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub wip: u32,
    /// The key of policy that says so.
    #[serde(skip)]
    pub key: &'static str,
    /// The issues as people are shown them.
    pub issues: Vec<String>,
    /// The command by which whoever reads gives one of them back, where they have one.
    #[serde(skip)]
    pub way: Option<Hint>,
}

/// The people and labels that have too many issues in hand.
fn over(ctx: &Context, issues: &[Issue], names: &Names) -> Vec<OverLimit> {
    let policy = super::view::policy(ctx);
    // What came is watched from now on, limits or not.
    let watched = Watched::of_issues(&ctx.repo, issues, ctx.now());
    let is_own = |issue: &Issue| {
        let claim = issue.claim.as_deref();
        claim.is_some_and(|claim| watched.is_here(claim))
    };
    let over = hands(issues, &policy, None, &watched.leases).into_iter();
    let over = over.filter(|hand| hand.is_over(0)).map(|hand| {
        let (who, label) = match hand.of {
            Of::Person(person) => (Some(person.name), None),
            Of::Label(label) => (None, Some(label)),
        };
        let held = hand.held.iter().map(|issue| names.short(&issue.id));
        let mut own = hand.held.iter().filter(|issue| issue.running.is_none());
        let own = own.find(|issue| is_own(issue));
        let way = own.map(|issue| command!("issue release {}", names.short(&issue.id)));
        OverLimit {
            who,
            label,
            wip: hand.most,
            key: hand.key,
            way,
            issues: held.map(str::to_owned).collect(),
        }
    });
    over.collect()
}
