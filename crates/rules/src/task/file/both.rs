//! `resolve --both`: lists that clones wrote apart, with every task of all of them. Where two gave one id to tasks of
//! their own, the task of the later list gets the next free one, and what that list says of it follows. A domain that
//! two lists say otherwise keeps the numbers of the first. This module says which those are; the merge itself is as
//! ever.

use super::domain::{Domain, number};
use super::domain_move::{Renamed, joined, readdressed};
use super::edit::{set, set_line};
use super::{Merged, Names, TaskFile, lines, merge, read_anyway};
use crate::task::node::{Node, TaskId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The ids that two lists gave to tasks of their own: their lines differ, and what both were made from has none.
pub fn made_twice(base: &str, one: &str, other: &str) -> Vec<TaskId> {
    let stood = keys(&read_anyway(base));
    let (ours, theirs) = (rows(one), rows(other));
    let file = read_anyway(other);
    let nodes = file.nodes.iter().filter(|node| {
        let key = node.id.key();
        let (here, there) = (ours.get(&key), theirs.get(&key));
        !stood.contains(&key) && here.is_some() && here != there
    });
    nodes.map(|node| node.id.clone()).collect()
}

/// The domains that two lists say otherwise, and both otherwise than what they were made from.
pub fn domains_apart(base: &str, one: &str, other: &str) -> Vec<String> {
    let [base, one, other] = [base, one, other].map(read_anyway);
    let all = apart(&base, &one, &other).into_iter();
    all.map(|(domain, _)| domain.name.clone()).collect()
}

/// The pairs of domains that differ, the one of the first list first.
fn apart<'f>(
    base: &TaskFile,
    ours: &'f TaskFile,
    theirs: &'f TaskFile,
) -> Vec<(&'f Domain, &'f Domain)> {
    fn differ<T: PartialEq>(
        domains: (&Domain, &Domain),
        base: Option<&Domain>,
        value: impl Fn(&Domain) -> T,
    ) -> bool {
        let (here, there) = (value(domains.0), value(domains.1));
        let before = base.map(&value);
        here != there && before.as_ref() != Some(&here) && before.as_ref() != Some(&there)
    }
    let pairs = theirs.domains.iter();
    let pairs = pairs.filter_map(|domain| Some((ours.domain(&domain.name)?, domain)));
    pairs
        .filter(|pair| {
            let before = base.domain(&pair.1.name);
            differ(*pair, before, |one| (one.from, one.to))
                || differ(*pair, before, |one| one.name.clone())
                || differ(*pair, before, |one| one.owner.clone())
                || differ(*pair, before, |one| one.was.clone())
        })
        .collect()
}

/// The lists as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBoth {
    pub text: String,
    /// Tasks that got another id, each with the one that it had.
    pub renamed: Vec<Renamed>,
    /// Domains that the lists said otherwise, as they are now.
    pub joined: Vec<Domain>,
}

/// The lists as one; else what they say differently of one task or domain.
pub fn keep_both(base: &str, sides: &[&str]) -> Result<KeptBoth, String> {
    let names = Names {
        base: "",
        ours: "",
        theirs: "",
    };
    let mut renamed = Vec::new();
    let mut joined: Vec<Domain> = Vec::new();
    let mut text = String::new();
    for (at, side) in sides.iter().enumerate() {
        if at == 0 {
            (*side).clone_into(&mut text);
            continue;
        }
        let (ours, theirs, domains) = agreed(base, &text, side)?;
        joined.retain(|one| !domains.iter().any(|other| other.is_called(&one.name)));
        joined.extend(domains);
        let (own, mut ids) = renumbered(base, &ours, &theirs)?;
        renamed.append(&mut ids);
        let merged = merge(base, &ours, &own, names).ok_or("a line of them is no task")?;
        text = whole(merged)?;
    }
    Ok(KeptBoth {
        text,
        renamed,
        joined,
    })
}

/// Two lists with one line in both for each domain that they say otherwise, and those domains.
fn agreed(base: &str, ours: &str, theirs: &str) -> Result<(String, String, Vec<Domain>), String> {
    let [before, here, there] = [base, ours, theirs].map(read_anyway);
    let (mut ours, mut theirs) = (ours.to_owned(), theirs.to_owned());
    let mut found = Vec::new();
    for (domain, other) in apart(&before, &here, &there) {
        let nodes = here.nodes.iter().chain(&there.nodes);
        let (domain, changes) = joined(domain, &[other], nodes);
        ours = set_line(&ours, domain.line, &changes)?;
        theirs = set_line(&theirs, other.line, &changes)?;
        found.push(domain);
    }
    Ok((ours, theirs, found))
}

fn whole(merged: Merged) -> Result<String, String> {
    match merged.clashes.first() {
        None => Ok(merged.text),
        Some(clash) if clash.field.is_empty() => {
            Err(format!("{} was taken out, and changed", clash.task))
        }
        Some(clash) => Err(format!("{}: {} differs", clash.task, clash.field)),
    }
}

/// A list with other ids for the tasks whose ids another one gave to its own.
fn renumbered(base: &str, ours: &str, theirs: &str) -> Result<(String, Vec<Renamed>), String> {
    let twice: BTreeSet<TaskId> = made_twice(base, ours, theirs).into_iter().collect();
    let (file, other) = (read_anyway(theirs), read_anyway(ours));
    let mut taken = keys(&file);
    taken.extend(keys(&other));
    let mut renamed = BTreeMap::new();
    for node in file.nodes.iter().filter(|node| twice.contains(&node.id)) {
        let to = free(node, &file, &other, &taken)
            .ok_or_else(|| format!("no number is free for {}", node.id))?;
        taken.insert(to.key());
        let from = node.id.clone();
        renamed.insert(node.line, Renamed { from, to });
    }
    let mut text = theirs.to_owned();
    for (at, node) in file.nodes.iter().enumerate() {
        let changes = readdressed(&file, at, &renamed);
        if !changes.is_empty() {
            text = set(&text, node, &changes)?;
        }
    }
    Ok((text, renamed.into_values().collect()))
}

/// The next free id for a task: of its domain, else with the next number behind the same beginning.
fn free(
    node: &Node,
    file: &TaskFile,
    other: &TaskFile,
    taken: &BTreeSet<String>,
) -> Option<TaskId> {
    let is_free = |id: &TaskId| !taken.contains(&id.key());
    let domain = node.domain().and_then(|name| file.domain(name));
    let id = node.id.as_str();
    let stem = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let Some(own) = number(&node.id) else {
        let mut ids = (2_u32..10_000).filter_map(|n| TaskId::parse(&format!("{id}-{n}")));
        return ids.find(is_free);
    };
    let width = id.len() - stem.len();
    let (from, to) = domain.map_or((own + 1, own.saturating_add(100_000)), |one| {
        (one.from, one.to)
    });
    let domains = || file.domains.iter().chain(&other.domains);
    let is_meant = |n: &u32| domain.is_some() || !domains().any(|one| one.holds(*n));
    let mut ids = (from..=to)
        .filter(is_meant)
        .filter_map(|n| TaskId::parse(&format!("{stem}{n:0width$}")));
    ids.find(is_free)
}

fn keys(file: &TaskFile) -> BTreeSet<String> {
    file.nodes.iter().map(|node| node.id.key()).collect()
}

/// The lines of tasks by the keys of their ids.
fn rows(text: &str) -> HashMap<String, &str> {
    let by_line: HashMap<usize, &str> = lines(text).collect();
    let file = read_anyway(text);
    let rows = file.nodes.iter();
    rows.filter_map(|node| Some((node.id.key(), *by_line.get(&node.line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{domains_apart, keep_both, made_twice};

    fn task(id: &str, title: &str, more: &str) -> String {
        format!("{{\"id\":\"{id}\",\"title\":\"{title}\"{more}}}\n")
    }

    fn ids(text: &str) -> Vec<(String, String)> {
        let file = crate::task::file::read(text).expect("a list");
        let nodes = file.nodes.iter();
        nodes
            .map(|node| (node.id.to_string(), node.title.clone()))
            .collect()
    }

    #[test]
    fn the_task_of_the_later_list_gets_the_next_free_id_and_its_own_list_follows() {
        let base = task("TASK-001", "Base", "");
        let ours = format!("{base}{}", task("TASK-002", "Ours", ""));
        let theirs = format!(
            "{base}{}{}{}",
            task(
                "TASK-002",
                "Theirs",
                ",\"outputs\":[\"tasks/TASK-002/x.md\"]"
            ),
            task("TASK-003", "Behind", ",\"depends_on\":[\"TASK-002\"]"),
            task("REVIEW", "Same", "")
        );
        let ours = format!("{ours}{}", task("REVIEW", "Same", ""));
        let twice = made_twice(&base, &ours, &theirs);
        assert_eq!(twice.len(), 1);
        let kept = keep_both(&base, &[&ours, &theirs]).expect("both");
        let text = kept.text;
        let said: Vec<String> = kept
            .renamed
            .iter()
            .map(|one| format!("{} {}", one.from, one.to))
            .collect();
        assert_eq!(said, ["TASK-002 TASK-004"]);
        let mut found = ids(&text);
        found.sort();
        let pairs = [
            ("REVIEW", "Same"),
            ("TASK-001", "Base"),
            ("TASK-002", "Ours"),
            ("TASK-003", "Behind"),
            ("TASK-004", "Theirs"),
        ];
        assert_eq!(
            found,
            pairs.map(|(id, title)| (id.to_owned(), title.to_owned()))
        );
        assert!(text.contains("\"depends_on\":[\"TASK-004\"]"), "{text}");
        assert!(text.contains("tasks/TASK-004/x.md"), "{text}");
    }

    #[test]
    fn numbers_stay_in_their_domain_and_names_without_a_number_get_one() {
        let base = "{\"domain\":\"ui\",\"from\":1,\"to\":100}\n";
        let own = |title: &str| {
            format!(
                "{base}{}{}{}",
                task("TASK-001", title, ",\"domain\":\"ui\""),
                task("TASK-101", title, ""),
                task("REVIEW", title, "")
            )
        };
        let kept = keep_both(base, &[&own("A"), &own("B"), &own("C")]).expect("all");
        let text = kept.text;
        let named = |title: &str| -> Vec<String> {
            let all = ids(&text).into_iter().filter(|(_, one)| one == title);
            let mut all: Vec<String> = all.map(|(id, _)| id).collect();
            all.sort();
            all
        };
        assert_eq!(named("A"), ["REVIEW", "TASK-001", "TASK-101"]);
        assert_eq!(named("B"), ["REVIEW-2", "TASK-002", "TASK-102"]);
        assert_eq!(named("C"), ["REVIEW-3", "TASK-003", "TASK-103"]);
    }

    #[test]
    fn a_domain_that_lists_say_otherwise_keeps_the_numbers_of_the_first() {
        let own = |name: &str, from: u32, more: &str| {
            let id = format!("TASK-{from:03}");
            let to = from + 49;
            let line = format!("{{\"domain\":\"{name}\",\"from\":{from},\"to\":{to}{more}}}\n");
            format!("{line}{}", task(&id, name, ",\"domain\":\"login\""))
        };
        let sides = [
            own("login", 101, ""),
            own("LOGIN", 201, ",\"owner\":\"Bo\""),
            own("Login", 301, ""),
        ];
        let sides: Vec<&str> = sides.iter().map(String::as_str).collect();
        assert_eq!(domains_apart("", sides[0], sides[1]), ["login"]);
        let kept = keep_both("", &sides).expect("all");
        let line = "{\"domain\":\"login\",\"from\":101,\"to\":150,\"owner\":\"Bo\",\"was\":[[201,250],[301,350]]}";
        assert!(kept.text.contains(line), "{}", kept.text);
        assert_eq!(ids(&kept.text).len(), 3);
        let file = crate::task::file::read(&kept.text).expect("a list");
        assert!(file.nodes.iter().all(|node| file.misplaced(node).is_none()));
        assert_eq!(kept.joined.len(), 1);
        // One side that changes a domain is no other word on it.
        let owned = sides[0].replace("150", "150,\"owner\":\"Bo\"");
        assert!(domains_apart(sides[0], &owned, sides[0]).is_empty());
        // Both moved it.
        let moved = |to: u32| sides[0].replace("150", &to.to_string());
        let kept = keep_both(sides[0], &[&moved(160), &moved(170)]).expect("both");
        assert!(kept.text.contains("\"to\":160"), "{}", kept.text);
    }

    #[test]
    fn what_two_changed_of_one_task_is_no_second_task() {
        let base = task("TASK-001", "Base", "");
        let (ours, theirs) = (task("TASK-001", "Ours", ""), task("TASK-001", "Theirs", ""));
        assert!(made_twice(&base, &ours, &theirs).is_empty());
        let left = keep_both(&base, &[&ours, &theirs]).expect_err("a conflict");
        assert_eq!(left, "TASK-001: title differs");
        let left = keep_both(&base, &[&ours, ""]).expect_err("a conflict");
        assert_eq!(left, "TASK-001 was taken out, and changed");
    }
}
