//! Changes of an issue's fields: what was asked for is checked, what is so already is left out, and the rest is one
//! record for each issue.

use super::end::require_original;
use super::sound::require_open_parent;
use super::{Plan, Step, Written, backlog_with, names, require_understood, write};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::filter::is_day;
use loopx_rules::issue::limits::{LONGEST_LINE, LONGEST_TEXT, is_label, is_line};
use loopx_rules::issue::repeat::Repeat;
use loopx_rules::issue::{Issue, IssueId, KINDS, LAST_PRIORITY, Link, LinkKind, Status};

/// The states of an issue that is done by its solution.
const PLANNED: [Status; 2] = [Status::Planned, Status::Queued];
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_store::Snapshot;

/// The number of characters that are shown of what is refused.
const SHOWN: usize = 60;
/// The longest field without a counterpart, in bytes.
const LONGEST_KEPT: usize = 256 * 1024;

/// A link as somebody asks for it: the word, and the other issue as they typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub kind: LinkKind,
    /// Set when the other issue names this one.
    pub reversed: bool,
    pub other: String,
}

impl Ask {
    /// The words of links, and those of their other direction.
    pub(crate) const WORDS: [&'static str; 13] = [
        "blocked-by",
        "blocks",
        "if-failed",
        "waits-for",
        "parent",
        "part",
        "discovered-from",
        "duplicate-of",
        "related",
        "fallback",
        "led-to",
        "duplicate",
        "holds",
    ];

    pub(crate) fn of(word: &str, other: &str) -> Result<Self> {
        let other_way = || {
            let mut kinds = LinkKind::WORDS.iter().filter_map(|word| word.parse().ok());
            kinds.find(|kind: &LinkKind| kind.inverse() == word)
        };
        let kind = word.parse().map(|kind| (kind, false)).ok();
        let kind = kind.or_else(|| Some((other_way()?, true)));
        let (kind, reversed) = kind.ok_or_else(|| {
            Failure::usage(
                Code::IssueLinkInvalid,
                format!("expected one of {}, found `{word}`", Self::WORDS.join(", ")),
            )
            .help(command!("help issue link"))
        })?;
        Ok(Ask {
            kind,
            reversed,
            other: other.to_owned(),
        })
    }
}

/// The changes and links that issues are to get, and the links that they are to lose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub changes: Vec<Change>,
    pub links: Vec<Ask>,
    pub unlinks: Vec<Ask>,
}

/// Changes issues; all that are named, or none. Gives those that are planned or queued without a solution.
pub(crate) fn change(
    ctx: &Context,
    typed: &[String],
    edit: &Edit,
    reason: Option<&String>,
) -> Result<Written<Vec<IssueId>>> {
    for change in &edit.changes {
        check(ctx, change)?;
    }
    write(ctx, |snapshot, _| {
        let mut changed: Vec<(Issue, Vec<Change>)> = Vec::new();
        for typed in typed {
            let issue = require_understood(snapshot, typed)?;
            if edit.changes.iter().any(opens) {
                super::sessions::require_no_archive(snapshot, &issue)?;
            }
            let at = place(&mut changed, issue);
            let id = changed[at].0.id.clone();
            let fresh = edit.changes.iter();
            let fresh = fresh.map(|change| whole(&changed[at].0, change));
            let mut fresh = fresh.collect::<Result<Vec<Change>>>()?;
            fresh.retain(|change| !is_so(&changed[at].0, change));
            changed[at].1.extend(fresh);
            for (asks, comes) in [(&edit.links, true), (&edit.unlinks, false)] {
                for ask in asks {
                    link(snapshot, &mut changed, &id, ask, comes)?;
                }
            }
        }
        require_no_cycle(snapshot, &changed, &ToString::to_string)?;
        let words: Vec<String> = (changed.iter())
            .flat_map(|(_, changes)| changes.iter().map(Change::words))
            .collect();
        let without = changed.iter().filter(|one| lacks_solution(one));
        let without = without.map(|(issue, _)| &issue.id);
        Ok(Plan {
            what: shortened(&words),
            reason: reason.cloned(),
            value: without.cloned().collect(),
            steps: steps(changed),
        })
    })
}

/// Tells whether an issue is said to be planned or queued, and has no solution by which it would be.
fn lacks_solution((issue, changes): &(Issue, Vec<Change>)) -> bool {
    let plans =
        |change: &Change| matches!(change, Change::Status(status) if PLANNED.contains(status));
    issue.bound.is_none() && changes.iter().any(plans)
}

/// Tells whether a change says that there is something to do.
fn opens(change: &Change) -> bool {
    matches!(change, Change::Status(status) if !status.is_final())
}

/// The words of a subject, as far as a line has room.
pub(super) fn shortened(words: &[String]) -> String {
    let mut found = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 && found.len() + word.len() > 60 {
            return format!("{found} and {} more", words.len() - at);
        }
        let word: String = word.chars().take(60).collect();
        let comma = if at > 0 { ", " } else { "" };
        found.push_str(&format!("{comma}{word}"));
    }
    found
}

/// The place of an issue among those that change.
fn place(changed: &mut Vec<(Issue, Vec<Change>)>, issue: Issue) -> usize {
    match changed.iter().position(|(one, _)| one.id == issue.id) {
        Some(at) => at,
        None => {
            changed.push((issue, Vec::new()));
            changed.len() - 1
        }
    }
}

fn steps(changed: Vec<(Issue, Vec<Change>)>) -> Vec<Step> {
    let changed = changed
        .into_iter()
        .filter(|(_, changes)| !changes.is_empty());
    changed
        .map(|(issue, changes)| Step {
            id: issue.id.clone(),
            before: Some(issue),
            body: IssueEvent::Changed { changes }.into(),
            reason: None,
        })
        .collect()
}

/// Puts a link to the issue that names the other one, or takes it away.
fn link(
    snapshot: &Snapshot<'_>,
    changed: &mut Vec<(Issue, Vec<Change>)>,
    id: &IssueId,
    ask: &Ask,
    comes: bool,
) -> Result<()> {
    let other = names::resolve(snapshot, &ask.other)?;
    // A link to itself that came to be all the same can be taken away.
    if other == *id && comes {
        return Err(to_itself(id.as_str(), ask.kind));
    }
    let (holder, to) = if ask.reversed {
        (other, id.clone())
    } else {
        (id.clone(), other)
    };
    let at = match changed.iter().position(|(one, _)| one.id == holder) {
        Some(at) => at,
        None => place(changed, require_understood(snapshot, holder.as_str())?),
    };
    let link = Link { kind: ask.kind, to };
    match (comes, changed[at].0.links.contains(&link)) {
        (true, false) if is_related(snapshot, changed, &holder, &link)? => {}
        (true, false) => {
            if link.kind == LinkKind::DuplicateOf {
                require_original(snapshot, &holder, &link.to)?;
            }
            let (issue, changes) = &mut changed[at];
            require_open_parent(snapshot, issue, &link)?;
            leave_parents(issue, changes, &link)?;
            issue.links.push(link.clone());
            changes.push(Change::Link(link));
        }
        (false, true) => {
            let (issue, changes) = &mut changed[at];
            issue.links.retain(|one| *one != link);
            changes.push(Change::Unlink(link));
        }
        // Of several that clones gave it apart this parent stays.
        (true, true) => {
            let (issue, changes) = &mut changed[at];
            leave_parents(issue, changes, &link)?;
        }
        // Of those that are related either may hold the link.
        (false, false) if is_related(snapshot, changed, &holder, &link)? => {
            let at = place(changed, require_understood(snapshot, link.to.as_str())?);
            let (issue, changes) = &mut changed[at];
            let back = Link {
                kind: link.kind,
                to: holder,
            };
            issue.links.retain(|one| *one != back);
            changes.push(Change::Unlink(back));
        }
        (false, false) => {
            return Err(no_link(&holder, &link));
        }
    }
    Ok(())
}

/// Tells whether the issue that a link names says itself that the two are related.
fn is_related(
    snapshot: &Snapshot<'_>,
    changed: &[(Issue, Vec<Change>)],
    holder: &IssueId,
    link: &Link,
) -> Result<bool> {
    if link.kind != LinkKind::Related {
        return Ok(false);
    }
    let says = |issue: &Issue| issue.linked(link.kind).any(|id| id == holder);
    match changed.iter().find(|(issue, _)| issue.id == link.to) {
        Some((issue, _)) => Ok(says(issue)),
        None => Ok(says(&require_understood(snapshot, link.to.as_str())?)),
    }
}

fn no_link(holder: &IssueId, link: &Link) -> Failure {
    Failure::not_found(
        Code::IssueLinkUnknown,
        format!("{holder} has no link {} {}", link.kind, link.to),
    )
    .help(command!("issue show {holder}"))
}

/// Takes away the parents that an issue has beside this one: it is a part of one other. Two at once are none.
fn leave_parents(issue: &mut Issue, changes: &mut Vec<Change>, link: &Link) -> Result<()> {
    if link.kind != LinkKind::Parent {
        return Ok(());
    }
    let given = |change: &Change| matches!(change, Change::Link(one) if one.kind == link.kind && one != link);
    if let Some(Change::Link(first)) = changes.iter().find(|change| given(change)) {
        return Err(two_parents(issue.id.as_str(), [&first.to, &link.to]));
    }
    let is_old = |one: &Link| one.kind == LinkKind::Parent && one != link;
    let old = issue.links.iter().filter(|one| is_old(one)).cloned();
    changes.extend(old.map(Change::Unlink));
    issue.links.retain(|one| !is_old(one));
    Ok(())
}

/// An issue is a part of one other.
pub(super) fn two_parents(name: &str, [first, second]: [&IssueId; 2]) -> Failure {
    Failure::usage(
        Code::IssueLinkInvalid,
        format!("{name} can be a part of one issue, found two: {first} and {second}"),
    )
    .help(command!("help issue link"))
}

/// The refusal of a link from an issue to itself.
pub(super) fn to_itself(name: &str, kind: LinkKind) -> Failure {
    Failure::usage(
        Code::IssueLinkInvalid,
        format!("{name} cannot be {kind} itself"),
    )
}

/// Description of an issue as one of the people wrote it who wrote it apart.
pub(crate) fn description_of(ctx: &Context, typed: &[String], op: &str) -> Result<String> {
    let id = typed.first().map_or("", String::as_str);
    if typed.len() > 1 {
        return Err(invalid(format!(
            "expected one issue beside --description-of, found {}",
            typed.join(" ")
        ))
        .help(command!("issue show {id}")));
    }
    let snapshot = ctx.store()?.snapshot()?;
    for typed in typed {
        let issue = super::require(&snapshot, typed)?.issue;
        let apart = issue.apart_in("description");
        let mut values = apart.iter().flat_map(|apart| &apart.values);
        let found = values.find(|one| op.len() >= 4 && one.op.as_str().starts_with(op));
        if let Some(found) = found {
            return Ok(found.value.clone());
        }
    }
    Err(invalid(format!(
        "expected a description of {id} that was written apart, found `{op}`"
    ))
    .help(command!("issue show {id}")))
}

/// Refuses links by which an issue would wait for itself. `name`: how whoever typed them knows an issue.
pub(super) fn require_no_cycle(
    snapshot: &Snapshot<'_>,
    changed: &[(Issue, Vec<Change>)],
    name: &dyn Fn(&IssueId) -> String,
) -> Result<()> {
    let mut linked: Vec<(&Issue, &IssueId)> = Vec::new();
    for (issue, changes) in changed {
        for change in changes {
            match change {
                // Whoever waits for a duplicate waits for its original.
                Change::Link(link) if link.kind == LinkKind::DuplicateOf => {
                    linked.push((issue, &link.to));
                }
                Change::Link(link) if link.kind.orders() => linked.push((issue, &issue.id)),
                Change::Status(Status::Closed) => {
                    let of = issue.linked(LinkKind::DuplicateOf);
                    linked.extend(of.map(|original| (issue, original)));
                }
                // Of several parents another one stands now.
                Change::Unlink(link)
                    if link.kind == LinkKind::Parent
                        && issue.linked(LinkKind::Parent).next().is_some() =>
                {
                    linked.push((issue, &issue.id));
                }
                _ => {}
            }
        }
    }
    linked.dedup();
    if linked.is_empty() {
        return Ok(());
    }
    let all = changed.iter().map(|(issue, _)| issue.clone()).collect();
    let backlog = backlog_with(snapshot, all)?;
    // Of many links each would be followed on its own.
    if backlog.cycle().is_none() {
        return Ok(());
    }
    for (issue, through) in linked {
        if let Some(cycle) = backlog.cycle_through(through) {
            let names: Vec<String> = cycle.iter().map(name).collect();
            return Err(Failure::refused(
                Code::IssueCycle,
                format!("an issue would wait for itself: {}", names.join(" -> ")),
            )
            .help(command!("issue show {}", issue.id)));
        }
    }
    Ok(())
}

/// A change that names a criterion by its number or its beginning, with its whole text.
fn whole(issue: &Issue, change: &Change) -> Result<Change> {
    let find = |text: &String| criterion(issue, text);
    Ok(match change {
        Change::Tick(text) => Change::Tick(find(text)?),
        Change::Untick(text) => Change::Untick(find(text)?),
        Change::DropCriterion(text) => Change::DropCriterion(find(text)?),
        // Another period keeps the place among those that come again.
        Change::Repeat(Some(repeat)) => Change::Repeat(Some(match issue.repeat.as_deref() {
            Some(now) => Repeat {
                every: repeat.every,
                ..now.clone()
            },
            None => repeat.clone(),
        })),
        other => other.clone(),
    })
}

/// The criterion that somebody means: by its number, its text, or a part of it that no other has.
fn criterion(issue: &Issue, typed: &str) -> Result<String> {
    if let Ok(number) = typed.parse::<usize>()
        && let Some(one) = number.checked_sub(1).and_then(|at| issue.criteria.get(at))
    {
        return Ok(one.text.clone());
    }
    if let Some(one) = issue.criteria.iter().find(|one| one.text == typed) {
        return Ok(one.text.clone());
    }
    let has = |text: &str| text.to_lowercase().contains(&typed.to_lowercase());
    let meant: Vec<&str> = (issue.criteria.iter())
        .map(|one| one.text.as_str())
        .filter(|text| has(text))
        .collect();
    match meant.as_slice() {
        [one] => Ok((*one).to_owned()),
        several => {
            let id = &issue.id;
            let message = match (several.len(), issue.criteria.len()) {
                (_, 0) => format!("{id} has no criteria"),
                (0, _) => format!("{id} has no criterion `{typed}`"),
                (count, _) => format!(
                    "`{typed}` is a part of {count} criteria of {id}: {}",
                    numbered(issue, several)
                ),
            };
            Err(Failure::not_found(Code::IssueCriterionUnknown, message)
                .help(command!("issue show {id}")))
        }
    }
}

/// Criteria with the numbers by which they can be named.
fn numbered(issue: &Issue, texts: &[&str]) -> String {
    let all = issue.criteria.iter().enumerate();
    let meant = all.filter(|(_, one)| texts.contains(&one.text.as_str()));
    let meant: Vec<String> = meant
        .take(5)
        .map(|(at, one)| format!("{} `{}`", at + 1, one.text))
        .collect();
    let more = if texts.len() > 5 { ", ..." } else { "" };
    format!("{}{more}", meant.join(", "))
}

/// Tells whether the issue says so already, and nobody wrote it apart.
fn is_so(issue: &Issue, change: &Change) -> bool {
    let settled = |field: &str| issue.apart_in(field).is_none();
    match change {
        Change::Title(title) => issue.title == *title && settled("title"),
        Change::Kind(kind) => issue.kind == *kind && settled("kind"),
        Change::Status(status) => issue.status == *status && settled("status"),
        Change::Priority(priority) => issue.priority == *priority && settled("priority"),
        Change::Milestone(name) => issue.milestone == *name && settled("milestone"),
        Change::Due(day) => issue.due == *day && settled("due"),
        Change::Defer(day) => issue.defer == *day && settled("defer"),
        Change::Estimate(minutes) => issue.estimate == *minutes && settled("estimate"),
        Change::Repeat(repeat) => issue.repeat.as_deref() == repeat.as_ref() && settled("repeat"),
        Change::Assignee(name) => issue.assignee == *name && settled("assignee"),
        Change::Source(source) => issue.source.as_ref() == Some(source),
        Change::Until(one) => issue.until.contains(one),
        Change::NotUntil(one) => !issue.until.contains(one),
        Change::Label(label) => issue.labels.contains(label),
        Change::Unlabel(label) => !issue.labels.contains(label),
        Change::Criterion(text) => issue.criteria.iter().any(|one| one.text == *text),
        Change::Tick(text) => issue.is_ticked(text, true),
        Change::Untick(text) => issue.is_ticked(text, false),
        Change::Session(one) => issue.sessions.contains(one),
        Change::Made(made) => issue.made.as_ref() == Some(made),
        Change::Place(place) => issue.place.as_ref() == Some(place),
        Change::Bind(to) => {
            issue.bound.as_ref().map(|bound| &bound.solution) == to.as_ref() && settled("solution")
        }
        Change::Solution(_)
        | Change::Score { .. }
        | Change::Reject { .. }
        | Change::Fail(_)
        | Change::Retry {}
        | Change::Description(_)
        | Change::Said(_)
        | Change::Kept(_)
        | Change::Link(_)
        | Change::Unlink(_)
        | Change::DropCriterion(_) => false,
    }
}

/// Refuses a value that no issue can have.
pub(crate) fn check(ctx: &Context, change: &Change) -> Result<()> {
    match change {
        Change::Title(text) => one_line("the title", text),
        Change::Criterion(text) => one_line("a criterion", text),
        Change::Milestone(Some(text)) => one_line("the milestone", text),
        Change::Assignee(Some(text)) => one_line("the assignee", text),
        Change::Label(text) => label(text),
        Change::Description(text) if text.contains('\0') => Err(invalid(
            "expected a description of text, found a NUL in it".to_owned(),
        )),
        Change::Description(text) if text.len() > LONGEST_TEXT => Err(invalid(format!(
            "expected a description of at most {LONGEST_TEXT} bytes of text, found {}",
            text.len()
        ))),
        Change::Kind(kind) => kind_is_known(ctx, kind),
        Change::Priority(priority) if *priority > LAST_PRIORITY => Err(invalid(format!(
            "expected a priority from 0, the first, to {LAST_PRIORITY}, found {priority}"
        ))),
        Change::Estimate(Some(0)) => Err(invalid(
            "expected a time like 90m, 4h or 2d, found 0m".to_owned(),
        )),
        Change::Due(Some(day)) | Change::Defer(Some(day)) if !is_day(day) => Err(invalid(format!(
            "expected a day like 2026-11-30, found `{day}`"
        ))),
        Change::Source(source) => {
            one_line("the system of the source", &source.system)?;
            one_line("the id of the source", &source.id)
        }
        Change::Made(made) => one_line("who made it", &made.by),
        Change::Place(place) => one_line("the path of the place", &place.path),
        Change::Said(said) if said.text.trim().is_empty() || said.text.len() > LONGEST_TEXT => {
            Err(invalid(format!(
                "expected a comment of 1 to {LONGEST_TEXT} bytes, found {}",
                said.text.len()
            )))
        }
        Change::Said(said) => one_line("the kind of a comment", &said.kind),
        Change::Kept(kept) if kept.json.len() > LONGEST_KEPT => Err(invalid(format!(
            "expected at most {LONGEST_KEPT} bytes in `{}`, found {}",
            kept.name,
            kept.json.len()
        ))),
        Change::Kept(kept) => one_line("the name of a field", &kept.name),
        _ => Ok(()),
    }
}

fn invalid(message: String) -> Failure {
    Failure::usage(Code::IssueFieldInvalid, message)
}

fn one_line(what: &str, text: &str) -> Result<()> {
    if is_line(text) {
        Ok(())
    } else {
        let count = text.chars().count();
        let begins: String = text.chars().take(SHOWN).collect();
        let found = if count > SHOWN {
            format!("{count} that begin {begins:?}")
        } else {
            format!("{text:?}")
        };
        Err(invalid(format!(
            "expected {what} as one line of at most {LONGEST_LINE} characters, found {found}"
        )))
    }
}

fn label(text: &str) -> Result<()> {
    if is_label(text) {
        Ok(())
    } else {
        Err(invalid(format!(
            "expected a label of letters, digits and -_.:/+, found {text:?}"
        )))
    }
}

/// Refuses a word that is no kind of issue here.
pub(crate) fn kind_is_known(ctx: &Context, kind: &str) -> Result<()> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    let policy = crate::flow::specs::policy(ctx)?;
    if policy.backlog.kinds.iter().any(|one| one == kind) {
        return Ok(());
    }
    let mut words: Vec<&str> = KINDS.to_vec();
    words.extend(policy.backlog.kinds.iter().map(String::as_str));
    Err(invalid(format!(
        "expected one of {}, found `{kind}`; loopx.toml names more under [backlog] kinds",
        words.join(", ")
    )))
}

/// Keeps a comment on an issue.
pub(crate) fn comment(
    ctx: &Context,
    typed: &str,
    kind: NoteKind,
    text: &str,
) -> Result<Written<()>> {
    let example = command!("issue comment {typed} \"Only on Firefox\"").note("(for one)");
    crate::flow::note::require_said("the text of the comment", text, example)?;
    write(ctx, |snapshot, _| {
        let issue = super::require(snapshot, typed)?.issue;
        let note = Note::from(Said::new(kind, text));
        let line: String = text
            .trim()
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(60)
            .collect();
        Ok(Plan {
            what: format!("comment: {line}"),
            reason: None,
            steps: vec![Step {
                id: issue.id.clone(),
                before: Some(issue),
                body: note.into(),
                reason: None,
            }],
            value: (),
        })
    })
}
