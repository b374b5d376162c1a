//! New issues, one or many in one commit, with links among them.

use super::change::{Ask, check, require_no_cycle, shortened, to_itself, two_parents};
use super::sound::require_open_parent;
use super::{Plan, Step, Written, names, ways, write};
use crate::flow::context::Context;
use crate::flow::write_scope::new_uid;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Person;
use loopx_base::shell_word;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::solution::Way;
use loopx_rules::issue::{Issue, IssueId, Link, LinkKind, PRIORITY, Status};
use loopx_rules::session::Signed;
use loopx_store::Snapshot;
use std::collections::HashMap;

/// An issue that is to be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct New {
    /// The file and the line of the issue, where it stands in a file.
    pub at: Option<String>,
    /// A name by which others of the same call link to it.
    pub key: Option<String>,
    /// The id, where the source of the issue gives it.
    pub id: Option<IssueId>,
    /// The fields of the issue, the title among them.
    pub changes: Vec<Change>,
    pub links: Vec<Ask>,
    /// The reason why the issue ended, where it did.
    pub reason: Option<String>,
    /// The solutions that come with the issue.
    pub ways: Vec<Way>,
}

impl New {
    pub(crate) fn title(&self) -> &str {
        let title = self.changes.iter().find_map(|change| match change {
            Change::Title(title) => Some(title.as_str()),
            _ => None,
        });
        title.unwrap_or_default()
    }

    /// Puts the place of this issue before a failure.
    fn placed(&self, failure: Failure) -> Failure {
        match &self.at {
            Some(at) => failure.context(at),
            None => failure,
        }
    }

    /// The name by which whoever makes the issue knows it: its id is not there yet.
    fn name(&self) -> String {
        match (&self.at, &self.key) {
            (Some(at), Some(key)) => format!("`{key}` ({at})"),
            (None, Some(key)) => key.clone(),
            (Some(at), None) => at.clone(),
            (None, None) => "the new issue".to_owned(),
        }
    }

    /// The command that leads on where the links of the issue make a cycle.
    fn without_cycle(&self) -> Hint {
        let file = self.at.as_ref().and_then(|at| at.rsplit_once(':'));
        match file {
            Some((file, _)) => hint![
                "take one of these links away, then: ",
                command!("issue create --from {}", shell_word(file))
            ],
            None => command!("issue list"),
        }
    }
}

/// Makes issues; all of them, or none. Those whose id is there already are left alone, and the ids of all are given in
/// the order of `new`.
pub(crate) fn create(
    ctx: &Context,
    new: &[New],
    from: Option<&str>,
) -> Result<Written<Vec<IssueId>>> {
    let ids = ready(ctx, new)?;
    write(ctx, |snapshot, _| plan(snapshot, new, &ids, from))
}

/// The ids of new issues, once each field of them is one that an issue can have.
pub(super) fn ready(ctx: &Context, new: &[New]) -> Result<Vec<IssueId>> {
    for one in new {
        if one.title().is_empty() {
            return Err(Failure::usage(
                Code::IssueFieldInvalid,
                "expected the title of the issue, found none",
            ));
        }
        for change in &one.changes {
            check(ctx, change).map_err(|failure| one.placed(failure))?;
            if matches!(change, Change::Status(Status::Resolved)) {
                super::require_person(ctx, "an issue that begins as resolved")?;
            }
        }
    }
    let prefix = crate::flow::specs::policy(ctx)?.backlog.prefix;
    new.iter()
        .map(|one| one.id.clone().map_or_else(|| random(&prefix), Ok))
        .collect()
}

pub(super) fn plan(
    snapshot: &Snapshot<'_>,
    new: &[New],
    ids: &[IssueId],
    from: Option<&str>,
) -> Result<Plan<Vec<IssueId>>> {
    let mut making = Making::of(snapshot, new, ids, from)?;
    making.link()?;
    making.require_no_cycle()?;
    let Making {
        issues, begun, old, ..
    } = making;
    let titles: Vec<String> = issues.iter().map(|(_, changes)| title(changes)).collect();
    let what = match (titles.as_slice(), from) {
        ([_], None) => format!("create {}", shortened(&titles)),
        (_, Some(from)) => format!("import from {from}"),
        _ => "create".to_owned(),
    };
    Ok(Plan {
        what,
        reason: None,
        steps: steps(issues, &begun, old),
        value: ids.to_vec(),
    })
}

/// Issues that are made by one call, while the links among them are drawn.
struct Making<'n, 's, 'r> {
    snapshot: &'s Snapshot<'r>,
    new: &'n [New],
    ids: &'n [IssueId],
    /// The source of an import.
    from: Option<&'n str>,
    /// The places in `issues` of those that are made; the others are there already.
    made: HashMap<&'n IssueId, usize>,
    issues: Vec<(Issue, Vec<Change>)>,
    begun: Vec<&'n New>,
    /// Issues that are there already and get a link.
    old: Vec<(Issue, Vec<Change>)>,
}

impl<'n, 's, 'r> Making<'n, 's, 'r> {
    fn of(
        snapshot: &'s Snapshot<'r>,
        new: &'n [New],
        ids: &'n [IssueId],
        from: Option<&'n str>,
    ) -> Result<Self> {
        let mut making = Making {
            snapshot,
            new,
            ids,
            from,
            made: HashMap::new(),
            issues: Vec::new(),
            begun: Vec::new(),
            old: Vec::new(),
        };
        for (one, id) in new.iter().zip(ids) {
            if making.made.contains_key(id) || snapshot.issue_records(id)?.is_some() {
                continue;
            }
            making.made.insert(id, making.issues.len());
            let status = one.changes.iter().rev().find_map(|change| match change {
                Change::Status(status) => Some(*status),
                _ => None,
            });
            let blank = Issue {
                status: status.unwrap_or(Status::Open),
                ..blank(id)
            };
            making.issues.push((blank, one.changes.clone()));
            making.begun.push(one);
        }
        Ok(making)
    }

    /// Draws the links that new issues ask for.
    fn link(&mut self) -> Result<()> {
        let keys = keys(self.new, self.ids)?;
        for (one, id) in self.new.iter().zip(self.ids) {
            let Some(at) = self.made.get(id).copied() else {
                continue;
            };
            for ask in &one.links {
                let other = match keys.get(ask.other.as_str()) {
                    Some(id) => (*id).clone(),
                    None => names::resolve(self.snapshot, &ask.other)
                        .map_err(|failure| one.placed(failure))?,
                };
                if other == *id {
                    let name = one.key.as_deref().unwrap_or_else(|| one.title());
                    return Err(to_itself(name, ask.kind));
                }
                self.draw(one, at, ask, other)?;
            }
        }
        Ok(())
    }

    /// Draws one link between the new issue at a place and another issue.
    fn draw(&mut self, one: &New, at: usize, ask: &Ask, other: IssueId) -> Result<()> {
        let id = self.issues[at].0.id.clone();
        let (holder, to) = if ask.reversed {
            (other, id)
        } else {
            (id, other)
        };
        let link = Link { kind: ask.kind, to };
        let is_new = self.made.contains_key(&link.to);
        let (issue, changes) = match self.made.get(&holder) {
            Some(other) if ask.reversed => &mut self.issues[*other],
            _ if !ask.reversed => &mut self.issues[at],
            _ => known(self.snapshot, &mut self.old, &holder)?,
        };
        if link.kind == LinkKind::Parent
            && let Some(first) = issue.links.iter().find(|one| one.kind == link.kind)
            && *first != link
        {
            return Err(one.placed(two_parents(issue.id.as_str(), [&first.to, &link.to])));
        }
        if self.from.is_none() && !is_new {
            require_open_parent(self.snapshot, issue, &link)
                .map_err(|failure| one.placed(failure))?;
        }
        if !issue.links.contains(&link) {
            issue.links.push(link.clone());
            changes.push(Change::Link(link));
        }
        Ok(())
    }

    fn require_no_cycle(&self) -> Result<()> {
        let all: Vec<(Issue, Vec<Change>)> = self.issues.iter().chain(&self.old).cloned().collect();
        let name = |id: &IssueId| match made_as(self.new, self.ids, id) {
            Some(one) => one.name(),
            None => id.to_string(),
        };
        require_no_cycle(self.snapshot, &all, &name).map_err(|failure| match self.new.first() {
            Some(first) if failure.code == Code::IssueCycle => failure.help(first.without_cycle()),
            _ => failure,
        })
    }
}

fn title(changes: &[Change]) -> String {
    let title = changes.iter().find_map(|change| match change {
        Change::Title(title) => Some(title.clone()),
        _ => None,
    });
    title.unwrap_or_default()
}

/// The issue that is to be made under an id.
fn made_as<'n>(new: &'n [New], ids: &[IssueId], id: &IssueId) -> Option<&'n New> {
    let at = ids.iter().position(|one| one == id)?;
    new.get(at)
}

/// The ids by the names that issues of one call have for each other: their keys, and the ids that they bring.
fn keys<'n>(new: &'n [New], ids: &'n [IssueId]) -> Result<HashMap<&'n str, &'n IssueId>> {
    let mut keys = HashMap::new();
    for (one, id) in new.iter().zip(ids) {
        if let Some(key) = &one.key
            && let Some(other) = keys.insert(key.as_str(), id)
            && other != id
        {
            let other = made_as(new, ids, other).and_then(|other| other.at.as_ref());
            let before = other.map_or_else(String::new, |at| format!(", as {at} has"));
            return Err(one.placed(Failure::usage(
                Code::IssueKeyTwice,
                format!("it has the key `{key}`{before}: a key names one issue"),
            )));
        }
    }
    for (one, id) in new.iter().zip(ids) {
        if let Some(own) = &one.id {
            keys.entry(own.as_str()).or_insert(id);
        }
    }
    Ok(keys)
}

/// An issue that is there already and gets a link.
fn known<'o>(
    snapshot: &Snapshot<'_>,
    old: &'o mut Vec<(Issue, Vec<Change>)>,
    id: &IssueId,
) -> Result<&'o mut (Issue, Vec<Change>)> {
    let at = match old.iter().position(|(issue, _)| issue.id == *id) {
        Some(at) => at,
        None => {
            let issue = super::require_understood(snapshot, id.as_str())?;
            old.push((issue, Vec::new()));
            old.len() - 1
        }
    };
    Ok(&mut old[at])
}

fn steps(
    issues: Vec<(Issue, Vec<Change>)>,
    begun: &[&New],
    old: Vec<(Issue, Vec<Change>)>,
) -> Vec<Step> {
    let created = issues.into_iter().zip(begun);
    let created = created.flat_map(|((issue, changes), new)| {
        let mut steps = vec![Step {
            id: issue.id.clone(),
            before: None,
            body: IssueEvent::Created { changes }.into(),
            reason: new.reason.clone(),
        }];
        steps.extend(ways::steps(&issue.id, &new.ways, 1));
        steps
    });
    let changed = old.into_iter().map(|(issue, changes)| Step {
        id: issue.id.clone(),
        before: Some(issue),
        body: IssueEvent::Changed { changes }.into(),
        reason: None,
    });
    created.chain(changed).collect()
}

/// An issue of which nothing is said yet.
pub(super) fn blank(id: &IssueId) -> Issue {
    let nobody = Signed {
        by: Person {
            name: String::new(),
            email: String::new(),
        },
        at: String::new(),
    };
    Issue {
        id: id.clone(),
        title: String::new(),
        kind: String::new(),
        status: Status::Open,
        reason: None,
        priority: PRIORITY,
        labels: Vec::new(),
        milestone: None,
        due: None,
        defer: None,
        until: Vec::new(),
        held: Vec::new(),
        estimate: None,
        repeat: None,
        assignee: None,
        criteria: Vec::new(),
        links: Vec::new(),
        sessions: Vec::new(),
        in_session: false,
        running: None,
        running_by: None,
        running_beside: Vec::new(),
        source: None,
        made: None,
        place: None,
        claim: None,
        solutions: 0,
        bound: None,
        comments: 0,
        created: nobody.clone(),
        changed: nobody,
        apart: Vec::new(),
        overruled: None,
        needs: Vec::new(),
        seq: 0,
        newest: Vec::new(),
    }
}

/// A new id: fifty random bits behind the prefix.
fn random(prefix: &str) -> Result<IssueId> {
    let uid = new_uid();
    let tail: u64 = uid
        .bytes()
        .rev()
        .take(IssueId::RANDOM)
        .enumerate()
        .map(|(place, byte)| digit(byte) << (5 * place))
        .sum();
    IssueId::of_bits(prefix, tail).ok_or_else(|| {
        Failure::usage(
            Code::IssueFieldInvalid,
            format!(
                "expected a prefix of ids like `lx`, found `{prefix}` in [backlog] of loopx.toml"
            ),
        )
    })
}

/// The value of a digit of Crockford's base 32, as a ULID is written.
fn digit(byte: u8) -> u64 {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let at = DIGITS
        .iter()
        .position(|digit| *digit == byte.to_ascii_lowercase());
    at.map_or(0, |at| at as u64)
}

/// The id of an issue that was taken over: from where it comes, so that two clones that take it over have one issue.
pub(crate) fn imported(prefix: &str, system: &str, id: &str) -> Result<IssueId> {
    let hash = loopx_git::Repo::sha1_of(format!("{system}\0{id}").as_bytes())?;
    let bits = u64::from_str_radix(&hash.as_str()[..13], 16).unwrap_or(0);
    IssueId::of_bits(prefix, bits).ok_or_else(|| {
        Failure::usage(
            Code::IssueFieldInvalid,
            format!(
                "expected a prefix of ids like `lx`, found `{prefix}` in [backlog] of loopx.toml"
            ),
        )
    })
}
