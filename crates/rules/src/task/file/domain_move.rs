//! `task domain move`: a domain gets another range of numbers. Its tasks keep their ids, and the domain remembers the
//! range that they are from; a task whose id another task has, as two lists that were written apart bring it, gets one
//! of the new range. Several lines of one name become one. This module rewrites the lines that change and no byte
//! beside them.

use super::TaskFile;
use super::domain::{Domain, clash, number};
use super::edit::{Change, set, set_line};
use crate::task::node::{Node, TaskId};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};

/// The result of a move: the domain as it is then, and its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub domain: Domain,
    /// Tasks that got another id, each with the one that it had.
    pub renamed: Vec<Renamed>,
    /// Tasks whose ids have numbers of a former range.
    pub kept: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    pub from: TaskId,
    pub to: TaskId,
}

/// Reason why a domain cannot get a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Barred {
    Unknown,
    /// Numbers that the domain has already.
    Same(Domain),
    /// The range is none, or another domain has numbers of it.
    Range(String),
    /// The new range has too few numbers for the tasks that need one.
    Full(Domain),
    /// A line cannot be changed.
    Line(String),
}

/// The text with other numbers for a domain: those of `range`, else the next hundred that is free. Where several lines
/// have its name, the first stays.
pub fn relocate(
    text: &str,
    file: &TaskFile,
    name: &str,
    range: Option<(u32, u32)>,
) -> Result<(String, Moved), Barred> {
    let stood = file.domain(name).ok_or(Barred::Unknown)?;
    let free = || Barred::Range("no range is free".to_owned());
    let (from, to) = range.or_else(|| file.free_range()).ok_or_else(free)?;
    let (twins, others): (Vec<&Domain>, Vec<&Domain>) = (file.domains.iter())
        .filter(|one| one.line != stood.line)
        .partition(|one| one.is_called(name));
    let owners = std::iter::once(stood).chain(twins.iter().copied());
    let owner = owners.filter_map(|one| one.owner.clone()).next();
    let new = Domain::new(&stood.name, from, to, owner).map_err(Barred::Range)?;
    if (stood.from, stood.to) == (from, to) && twins.is_empty() {
        return Err(Barred::Same(stood.clone()));
    }
    let mut others = others.into_iter();
    if let Some(why) = others.find_map(|other| clash(&new, other)) {
        return Err(Barred::Range(why));
    }
    let renamed = renamed(file, &new)?;
    let outside = |node: &&Node| number(&node.id).is_none_or(|one| !new.holds(one));
    let own = file.nodes.iter().filter(|node| is_of(node, stood));
    let own = own.filter(|node| !renamed.contains_key(&node.line));
    let kept: Vec<TaskId> = own.filter(outside).map(|node| node.id.clone()).collect();
    let domain = Domain {
        line: stood.line,
        was: former((stood, &twins), &new, &kept),
        ..new
    };
    let mut text = set_line(text, stood.line, &of_domain(&domain)).map_err(Barred::Line)?;
    for (at, node) in file.nodes.iter().enumerate() {
        if is_of(node, &domain) {
            let changes = readdressed(file, at, &renamed);
            text = set(&text, node, &changes).map_err(Barred::Line)?;
        }
    }
    let gone: Vec<usize> = twins.iter().map(|one| one.line).collect();
    let text = without(&text, &gone);
    let moved = Moved {
        domain,
        renamed: renamed.into_values().collect(),
        kept,
    };
    Ok((text, moved))
}

/// Joins several lines of one domain to one, which has the numbers of the first and remembers those of the others that
/// tasks have; and gives the changes of a line that say so.
pub(super) fn joined<'n>(
    stood: &Domain,
    twins: &[&Domain],
    nodes: impl Iterator<Item = &'n Node>,
) -> (Domain, Vec<Change>) {
    let own = nodes.filter(|node| is_of(node, stood));
    let kept: Vec<TaskId> = own.map(|node| node.id.clone()).collect();
    let owners = std::iter::once(stood).chain(twins.iter().copied());
    let domain = Domain {
        owner: owners.filter_map(|one| one.owner.clone()).next(),
        was: former((stood, twins), stood, &kept),
        ..stood.clone()
    };
    let name = Change {
        field: "domain",
        value: Some(json!(domain.name)),
    };
    let changes = std::iter::once(name).chain(of_domain(&domain));
    let changes = changes.collect();
    (domain, changes)
}

fn is_of(node: &Node, domain: &Domain) -> bool {
    node.domain().is_some_and(|name| domain.is_called(name))
}

/// The tasks of the domain whose ids another task has, by their lines.
fn renamed(file: &TaskFile, new: &Domain) -> Result<BTreeMap<usize, Renamed>, Barred> {
    let (own, others): (Vec<&Node>, Vec<&Node>) =
        file.nodes.iter().partition(|node| is_of(node, new));
    let mut taken: HashSet<String> = others.iter().map(|node| node.id.key()).collect();
    let mut clashing = Vec::new();
    for node in &own {
        if !taken.insert(node.id.key()) {
            clashing.push(*node);
        }
    }
    let mut numbers = new.from..=new.to;
    let mut found = BTreeMap::new();
    for node in clashing {
        let mut ids = numbers
            .by_ref()
            .filter_map(|number| TaskId::parse(&format!("TASK-{number:03}")));
        let free = ids.find(|id| taken.insert(id.key()));
        let to = free.ok_or_else(|| Barred::Full(new.clone()))?;
        let from = node.id.clone();
        found.insert(node.line, Renamed { from, to });
    }
    Ok(found)
}

/// The former ranges that tasks still have numbers of.
fn former((stood, twins): (&Domain, &[&Domain]), new: &Domain, kept: &[TaskId]) -> Vec<(u32, u32)> {
    let numbers: Vec<u32> = kept.iter().filter_map(number).collect();
    let mut all = Vec::new();
    for one in std::iter::once(stood).chain(twins.iter().copied()) {
        all.extend(one.was.iter().copied().chain([(one.from, one.to)]));
    }
    all.retain(|(from, to)| {
        let mut kept = numbers.iter().filter(|one| !new.holds(**one));
        kept.any(|one| (*from..=*to).contains(one))
    });
    all
}

fn of_domain(domain: &Domain) -> [Change; 4] {
    let was = (!domain.was.is_empty()).then(|| json!(domain.was));
    let change = |field, value| Change { field, value };
    [
        change("from", Some(json!(domain.from))),
        change("to", Some(json!(domain.to))),
        change("owner", domain.owner.as_ref().map(|who| json!(who))),
        change("was", was),
    ]
}

/// The text without some lines, numbered from 1.
fn without(text: &str, lines: &[usize]) -> String {
    let rows = (1..).zip(text.split_inclusive('\n'));
    let rows = rows.filter(|(number, _)| !lines.contains(number));
    rows.map(|(_, row)| row).collect()
}

/// The changes of a task whose list has tasks with other ids now: its own id, and what it says of the others. What
/// somebody else says of such an id is about the task that keeps it.
pub(super) fn readdressed(
    file: &TaskFile,
    at: usize,
    renamed: &BTreeMap<usize, Renamed>,
) -> Vec<Change> {
    const NAMING: [&str; 7] = [
        "depends_on",
        "parent",
        "revision_of",
        "accepts",
        "gate",
        "outputs",
        "reads",
    ];
    let (Some(node), Some(fields)) = (file.nodes.get(at), file.fields.get(at)) else {
        return Vec::new();
    };
    if renamed.is_empty() {
        return Vec::new();
    }
    let id = renamed.get(&node.line).map(|one| Change {
        field: "id",
        value: Some(json!(one.to)),
    });
    let other = NAMING.into_iter().filter_map(|field| {
        let stood = fields.get(field)?;
        let mut value = stood.clone();
        readdress(&mut value, renamed);
        (value != *stood).then_some(Change {
            field,
            value: Some(value),
        })
    });
    id.into_iter().chain(other).collect()
}

/// Ids, and paths below the folders of tasks, in a value. Sentences stay.
fn readdress(value: &mut Value, renamed: &BTreeMap<usize, Renamed>) {
    match value {
        Value::String(text) => {
            let new = renamed.values().find_map(|one| {
                let folder = format!("tasks/{}/", one.from);
                if text.eq_ignore_ascii_case(one.from.as_str()) {
                    return Some(one.to.to_string());
                }
                let rest = text.strip_prefix(&folder)?;
                Some(format!("tasks/{}/{rest}", one.to))
            });
            if let Some(new) = new {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|one| readdress(one, renamed)),
        Value::Object(fields) => naming(fields, renamed),
        _ => {}
    }
}

fn naming(fields: &mut Map<String, Value>, renamed: &BTreeMap<usize, Renamed>) {
    const NAMING: [&str; 7] = [
        "id",
        "task",
        "judges",
        "required",
        "deferred",
        "depends_on",
        "repair",
    ];
    let named = fields.iter_mut();
    let named = named.filter(|(name, _)| NAMING.contains(&name.as_str()));
    for (_, value) in named {
        readdress(value, renamed);
    }
    // An outcome of a gate has a word of its own, and ids behind it.
    if let Some(Value::Object(outcomes)) = fields.get_mut("outcomes") {
        for (_, ids) in outcomes.iter_mut() {
            readdress(ids, renamed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Barred, Moved, relocate};
    use crate::task::file::{read, read_anyway};

    const LOGIN: &str = "{\"domain\":\"login\",\"from\":1,\"to\":100}\n";
    const BOARD: &str = "{\"domain\":\"board\", \"from\":1, \"to\":100, \"owner\":\"Bo\"}\n";

    fn moved(text: &str, name: &str, range: Option<(u32, u32)>) -> Result<(String, Moved), Barred> {
        relocate(text, &read_anyway(text), name, range)
    }

    #[test]
    fn tasks_keep_their_ids_and_the_domain_remembers_where_they_are_from() {
        let tasks = "{\"id\":\"TASK-001\",\"title\":\"A\",\"domain\":\"login\"}\n{\"id\":\"TASK-002\",\"title\":\"B\",\"domain\":\"board\"}\n";
        let text = format!("{LOGIN}{BOARD}{tasks}");
        assert!(read(&text).is_err(), "the ranges meet");
        let (text, done) = moved(&text, "BOARD", None).expect("moved");
        let line = "{\"domain\":\"board\", \"from\":101, \"to\":200, \"owner\":\"Bo\",\"was\":[[1,100]]}\n";
        assert_eq!(text, format!("{LOGIN}{line}{tasks}"));
        assert_eq!(done.kept.len(), 1);
        assert!(done.renamed.is_empty());
        let file = read(&text).expect("a list");
        assert!(file.nodes.iter().all(|node| file.misplaced(node).is_none()));
        let next = |name: &str| file.free_id(file.domain(name)).map(|id| id.to_string());
        assert_eq!(next("board").as_deref(), Some("TASK-101"));
        assert_eq!(next("login").as_deref(), Some("TASK-003"));
        // Back where its task is from, it has nothing to remember.
        let (text, done) = moved(&text, "board", Some((2, 3))).unwrap_or_else(|barred| {
            assert!(matches!(barred, Barred::Range(why) if why.contains("login")));
            moved(&text.replace(LOGIN, ""), "board", Some((2, 3))).expect("moved")
        });
        assert!(done.kept.is_empty() && !text.contains("was"), "{text}");
    }

    #[test]
    fn a_task_whose_id_another_one_has_gets_one_of_the_new_range() {
        let tasks = [
            "{\"id\":\"TASK-001\",\"title\":\"A\",\"domain\":\"login\"}",
            "{\"id\":\"TASK-009\",\"title\":\"L\",\"domain\":\"login\",\"depends_on\":[\"TASK-001\"]}",
            "{\"id\":\"task-001\",\"title\":\"B\",\"domain\":\"board\",\"outputs\":[\"tasks/task-001/r.md\"]}",
            "{\"id\":\"TASK-002\",\"title\":\"TASK-001\",\"domain\":\"board\",\"depends_on\":[{\"id\":\"TASK-001\",\"optional\":true}]}",
        ]
        .join("\n");
        let (text, done) = moved(&format!("{LOGIN}{BOARD}{tasks}\n"), "board", None).expect("done");
        let file = read(&text).expect("a list");
        let ids: Vec<&str> = file.nodes.iter().map(|node| node.id.as_str()).collect();
        assert_eq!(ids, ["TASK-001", "TASK-009", "TASK-101", "TASK-002"]);
        let on = |at: usize| file.nodes[at].depends_on[0].on.to_string();
        assert_eq!((on(1).as_str(), on(3).as_str()), ("TASK-001", "TASK-101"));
        assert_eq!(file.nodes[2].outputs, ["tasks/TASK-101/r.md"]);
        assert_eq!(file.nodes[3].title, "TASK-001", "a sentence stays");
        assert_eq!(done.renamed.len(), 1);
        let few = moved(
            &format!("{LOGIN}{BOARD}{tasks}\n{tasks}\n"),
            "board",
            Some((300, 301)),
        );
        assert!(matches!(few, Err(Barred::Full(_))), "{few:?}");
    }

    #[test]
    fn lines_of_one_name_become_one_and_remember_all_of_their_numbers() {
        let twin = "{\"domain\":\"LOGIN\",\"from\":201,\"to\":300,\"owner\":\"Bo\"}\n";
        let tasks = "{\"id\":\"TASK-002\",\"title\":\"A\",\"domain\":\"login\"}\n{\"id\":\"TASK-201\",\"title\":\"B\",\"domain\":\"login\"}\n";
        let text = format!("{LOGIN}{twin}{tasks}");
        let found = &read(&text).expect_err("twice")[0];
        let lead = "git loopx task domain move login --from 1 --to 100";
        assert_eq!(found.fix.to_string(), lead);
        let (text, done) = moved(&text, "login", Some((1, 100))).expect("joined");
        let line =
            "{\"domain\":\"login\",\"from\":1,\"to\":100,\"owner\":\"Bo\",\"was\":[[201,300]]}\n";
        assert_eq!(text, format!("{line}{tasks}"));
        assert_eq!(done.kept.len(), 1);
        assert!(read(&text).is_ok(), "{text}");
    }

    #[test]
    fn what_is_no_new_range_is_barred() {
        let text = format!(
            "{LOGIN}{}",
            BOARD
                .replace("\"from\":1,", "\"from\":101,")
                .replace("100", "200")
        );
        let barred = |name: &str, range| moved(&text, name, Some(range)).expect_err("barred");
        assert_eq!(barred("nobody", (300, 400)), Barred::Unknown);
        assert!(matches!(barred("board", (101, 200)), Barred::Same(_)));
        for range in [(50, 60), (0, 3), (9, 2), (1, 100_000)] {
            assert!(
                matches!(barred("board", range), Barred::Range(_)),
                "{range:?}"
            );
        }
        // A part of what it had is a range like every other.
        assert!(moved(&text, "board", Some((150, 250))).is_ok());
    }
}
