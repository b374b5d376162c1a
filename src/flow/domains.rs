//! `task domain` and `task conflicts`: parts of the list that people own, and where those meet. Both are words of the
//! list and computed from it; it is written on the road that every change of it takes.

use super::context::Context;
use super::task_list::{self, Changed, find, odd, rewrite};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::SessionId;
use loopx_base::shell_word;
use loopx_rules::gate;
use loopx_rules::task::conflict::{Conflict, Kind, conflicts};
use loopx_rules::task::file::domain::{Domain, Misplaced, clash};
use loopx_rules::task::file::domain_move::{self, Barred, Moved};
use loopx_rules::task::file::edit::{self, Change};
use loopx_rules::task::file::{TaskFile, read, read_anyway};
use loopx_rules::task::node::{Node, TaskId};
use loopx_spec::{Finding, Severity};
use serde::Serialize;
use serde_json::{Value, json};

/// A domain with what the list has of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DomainRow {
    #[serde(flatten)]
    pub domain: Domain,
    pub tasks: usize,
    /// The next free id; nothing where the domain is full.
    pub next: Option<TaskId>,
}

/// The options of `task domain add`.
#[derive(Clone, Debug)]
pub(crate) struct DomainRequest {
    pub name: String,
    /// The first and the last number; else the next hundred that is free.
    pub range: Option<(u32, u32)>,
    pub owner: Option<String>,
    /// The number of domains that the list may have.
    pub most: usize,
    pub reason: Option<String>,
}

/// The domains of the list, also of one that cannot be worked off.
pub(crate) fn list(ctx: &Context) -> Result<(SessionId, Vec<DomainRow>)> {
    ctx.only_reads();
    let (state, text) = task_list::text(ctx)?;
    let file = read_anyway(&text);
    let row = |domain: &Domain| DomainRow {
        tasks: file.tasks_of(domain),
        next: file.free_id(Some(domain)),
        domain: domain.clone(),
    };
    Ok((state.id, file.domains.iter().map(row).collect()))
}

/// Adds a domain above the tasks.
pub(crate) fn add(ctx: &Context, request: &DomainRequest) -> Result<Changed<Domain>> {
    let invalid = |why: String| {
        Failure::refused(Code::Finding("task_domain_invalid"), why)
            .help(command!("task domain list"))
    };
    rewrite(ctx, request.reason.clone(), |text, file| {
        if file.domains.len() >= request.most {
            return Err(many(file, request));
        }
        let range = request.range.or_else(|| file.free_range());
        let (from, to) = range.ok_or_else(|| invalid("no range is free".to_owned()))?;
        let domain = Domain::new(&request.name, from, to, request.owner.clone());
        let domain = domain.map_err(invalid)?;
        if let Some(why) = file.domains.iter().find_map(|other| clash(&domain, other)) {
            return Err(invalid(why));
        }
        // Behind the other domains, and above the tasks.
        let at = file.domains.iter().map(|one| one.line).max();
        let text = edit::insert(text, &domain.text(), at.unwrap_or(0));
        Ok((text, domain))
    })
}

/// The options of `task domain move`.
#[derive(Clone, Debug)]
pub(crate) struct MoveRequest {
    pub name: String,
    /// The first and the last number; else the next hundred that is free.
    pub range: Option<(u32, u32)>,
    pub reason: Option<String>,
}

/// Gives a domain other numbers, also in a list that is none because two domains have the same. With what was done
/// comes the first fault that is left.
pub(crate) fn relocate(
    ctx: &Context,
    request: &MoveRequest,
) -> Result<Changed<(Moved, Option<Finding>)>> {
    task_list::mend(ctx, request.reason.clone(), |text, file| {
        let made = domain_move::relocate(text, file, &request.name, request.range);
        let (text, moved) = made.map_err(|barred| barred_move(barred, &request.name, file))?;
        let left = read(&text).err().unwrap_or_default().into_iter();
        let mut left = left.filter(|one| one.severity == Severity::Error);
        let left = left.next();
        Ok((text, (moved, left)))
    })
}

fn barred_move(barred: Barred, name: &str, file: &TaskFile) -> Failure {
    let invalid = |why: String| Failure::refused(Code::Finding("task_domain_invalid"), why);
    match barred {
        Barred::Unknown => unknown(name),
        Barred::Same(domain) => Failure::nothing(
            Code::NothingToSave,
            format!(
                "the domain `{}` has the numbers {} already",
                domain.name,
                domain.range()
            ),
        )
        .help(command!("task domain list")),
        Barred::Range(why) => {
            let domain = file.free_range().and_then(|_| file.domain(name));
            let lead = domain.map(|one| command!("task domain move {}", one.name));
            invalid(why).help(lead.unwrap_or_else(|| command!("task domain list")))
        }
        Barred::Full(domain) => Failure::refused(
            Code::TaskDomainFull,
            format!(
                "{} has too few numbers for the tasks of `{}` that need another id",
                domain.range(),
                domain.name
            ),
        )
        .help(command!("task domain move {}", domain.name)),
        Barred::Line(why) => odd(why),
    }
}

fn many(file: &TaskFile, request: &DomainRequest) -> Failure {
    let (most, more) = (request.most, file.domains.len() + 1);
    let name = shell_word(&request.name);
    Failure::refused(
        Code::TaskDomainsMany,
        format!(
            "the list has {} domains, and {most} are the most",
            file.domains.len()
        ),
    )
    .help(command!("task domain add {name} --most {more}"))
}

/// The next free id of the domain that the fields name, or of none.
pub(super) fn free_id(file: &TaskFile, changes: &[Change]) -> Result<TaskId> {
    let named = changes.iter().find(|change| change.field == "domain");
    let named = named.and_then(|change| change.value.as_ref()?.as_str());
    let domain = match named {
        Some(name) => Some(file.domain(name).ok_or_else(|| unknown(name))?),
        None => None,
    };
    file.free_id(domain).ok_or_else(|| match domain {
        Some(domain) => Failure::refused(
            Code::TaskDomainFull,
            format!(
                "every id of the domain `{}`, {}, is taken",
                domain.name,
                domain.range()
            ),
        )
        .help(command!("task domain add {}-2", domain.name)),
        None => Failure::internal(Code::TaskListInvalid, "no id is free"),
    })
}

fn unknown(name: &str) -> Failure {
    let message = format!("the list has no domain `{name}`");
    let name = shell_word(name);
    Failure::refused(Code::Finding("task_domain_unknown"), message).help(hint![
        command!("task domain list"),
        "  or: ",
        command!("task domain add {name}")
    ])
}

/// Refuses a task whose id is none of the domain that it names.
pub(super) fn require_placed(file: &TaskFile, node: &Node) -> Result<()> {
    match file.misplaced(node) {
        None => Ok(()),
        Some(Misplaced::Unknown(name)) => Err(unknown(name)),
        Some(Misplaced::Outside(domain)) => Err(Failure::refused(
            Code::Finding("task_domain_outside"),
            format!(
                "{} is none of the domain `{}`, whose tasks have the numbers {}",
                node.id,
                domain.name,
                domain.range()
            ),
        )
        .help(hint![
            command!("task domain list"),
            "  or, for the next free id: ",
            command!(
                "task add {} --domain {}",
                shell_word(&node.title),
                domain.name
            )
        ])),
    }
}

/// The conflicts between the domains of the list, also of one that cannot be worked off.
pub(crate) fn found(ctx: &Context) -> Result<(SessionId, Vec<Conflict>)> {
    ctx.only_reads();
    let (state, text) = task_list::text(ctx)?;
    let mut found = conflicts(&read_anyway(&text));
    if gate::is_apart(&state) {
        // No line of it changes before the sides are settled.
        for one in &mut found {
            one.help = command!("resolve");
        }
    }
    Ok((state.id, found))
}

/// Records in the list that two tasks may change the files that they share.
pub(crate) fn accept(
    ctx: &Context,
    (one, other): (&TaskId, &TaskId),
    reason: &str,
) -> Result<Changed<Vec<String>>> {
    rewrite(ctx, Some(reason.to_owned()), |text, file| {
        let (one, other) = (find(file, one)?, find(file, other)?);
        let (first, second) = if one.line < other.line {
            (one, other)
        } else {
            (other, one)
        };
        let pair = [first.id.clone(), second.id.clone()];
        let all = conflicts(file).into_iter();
        let mut open = all.filter(|conflict| conflict.kind == Kind::File && conflict.holds());
        let Some(conflict) = open.find(|conflict| conflict.tasks == pair) else {
            return Err(Failure::nothing(
                Code::TaskConflictUnknown,
                format!(
                    "the tasks {} and {} have no open conflict",
                    first.id, second.id
                ),
            )
            .help(command!("task conflicts")));
        };
        let accepted = json!({ "task": first.id, "files": conflict.files, "reason": reason });
        let stands = file
            .place(&second.id)
            .and_then(|at| file.fields.get(at)?.get("accepts"));
        let mut all = stands
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        all.push(accepted);
        let change = Change {
            field: "accepts",
            value: Some(json!(all)),
        };
        let text = edit::set(text, second, &[change]).map_err(odd)?;
        Ok((text, conflict.files))
    })
}
