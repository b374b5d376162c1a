//! Amendments: a list that was approved, changed while it is being worked off. This module says what a change does to
//! tasks that are under way, and which changes nobody may make. It knows no file, no clock and no git.

use super::file::edit::{Change, Place, add, with};
use super::file::{TaskFile, read, read_anyway};
use super::node::{Edge, NodeKind, TaskId};
use super::status::Status;
use crate::artifact::Artifact;
use crate::session::{Approval, State};
use loopx_base::id::Oid;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Changes of the list by an amendment, as its record says them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amendment {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<TaskId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<TaskId>,
}

/// A task that the list has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub task: TaskId,
    pub title: String,
}

/// An amendment that counts, with whoever approved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amended {
    /// Approval of the amendment; never armed, so that it lets nobody go on.
    pub approval: Approval,
    pub amendment: Amendment,
    /// The plan was approved anew since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
}

impl State {
    /// The amendments that count beside the plan's approval, each with its number.
    pub fn amended(&self) -> impl DoubleEndedIterator<Item = (String, &Amended)> {
        let all = self.amendments.iter().enumerate();
        let live = all.filter(|(_, one)| !one.settled);
        live.map(|(at, one)| (change(at + 1), one))
    }

    /// The amendment that dropped a task, where the list has not got it again.
    pub fn dropped_by(&self, id: &TaskId) -> Option<(String, &Amended)> {
        let is_it = |one: &Dropped| one.task.key() == id.key();
        let mut newest = self.amended().rev();
        newest.find(|(_, one)| one.amendment.dropped.iter().any(is_it))
    }

    /// The amendments that wrote the list as it is, or what was merged to it.
    pub fn standing_amendments(&self) -> impl Iterator<Item = &Amended> {
        let sides = self.joins.get(&Artifact::TaskList);
        let sides = sides.map_or_else(
            || vec![self.artifacts.get(&Artifact::TaskList)],
            |join| join.sides.iter().map(|side| side.blob.as_ref()).collect(),
        );
        let all = self.amended().map(|(_, one)| one);
        all.filter(move |one| sides.contains(&one.approval.files.get(&Artifact::TaskList)))
    }

    /// Tells whether a list, or each of those that were merged to it, was approved: with the plan or by an amendment.
    pub fn is_list_approved(&self, planned: Option<&Oid>) -> bool {
        let of = |one: &Amended| one.approval.files.get(&Artifact::TaskList).cloned();
        match self.joins.get(&Artifact::TaskList) {
            Some(join) => {
                let mut known: Vec<Option<Oid>> = self.amended().map(|(_, one)| of(one)).collect();
                known.push(planned.cloned());
                join.clean && join.sides.iter().all(|side| known.contains(&side.blob))
            }
            None => {
                let newest = self.amended().next_back().map(|(_, one)| of(one));
                let newest = newest.unwrap_or_else(|| planned.cloned());
                self.artifacts.get(&Artifact::TaskList) == newest.as_ref()
            }
        }
    }
}

/// The name of an amendment.
pub fn change(number: usize) -> String {
    format!("CHG-{number:03}")
}

/// A task that the new list has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub task: TaskId,
    pub status: Status,
    pub fields: Vec<String>,
}

/// A task that the new list has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fallen {
    pub task: TaskId,
    pub title: String,
    pub status: Status,
}

/// A goal that is done and stays, with the one that stands for the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub goal: TaskId,
    pub anew: TaskId,
}

/// A change that nobody may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Barred {
    pub task: TaskId,
    pub why: String,
}

/// Impact that another list would have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Impact {
    pub added: Vec<TaskId>,
    pub changed: Vec<Changed>,
    pub dropped: Vec<Fallen>,
    pub kept: Vec<Kept>,
    pub barred: Vec<Barred>,
    /// Domains that appear, change or fall.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
}

impl Impact {
    pub fn is_empty(&self) -> bool {
        *self == Impact::default()
    }

    /// The tasks that somebody has, and that change or fall under their hands.
    pub fn claimed(&self) -> Vec<&TaskId> {
        let changed = self.changed.iter().map(|one| (&one.task, one.status));
        let dropped = self.dropped.iter().map(|one| (&one.task, one.status));
        let all = changed.chain(dropped);
        all.filter(|(_, status)| *status == Status::Claimed)
            .map(|(task, _)| task)
            .collect()
    }

    /// Amendment as the record tells it.
    pub fn amendment(&self) -> Amendment {
        let dropped = self.dropped.iter().map(|one| Dropped {
            task: one.task.clone(),
            title: one.title.clone(),
        });
        let mut added = self.added.clone();
        added.extend(self.kept.iter().map(|one| one.anew.clone()));
        Amendment {
            dropped: dropped.collect(),
            added,
            changed: self.changed.iter().map(|one| one.task.clone()).collect(),
        }
    }
}

/// Weighs what a new list does, and gives the list as it is to be written: a goal that is done stays in it as it was,
/// and what was made of the goal stands behind it as a new one. `before` may be a list that cannot be worked off any
/// more, as a merge can make one; `after` is one that can be read.
pub fn weigh(
    before: &str,
    after: &str,
    status: impl Fn(&TaskId) -> Status,
) -> Result<(Impact, String), String> {
    let old = read_anyway(before);
    let new = readable(after)?;
    let mut impact = Impact {
        domains: domains(&old, &new),
        ..Impact::default()
    };
    let mut kept = Vec::new();
    for (at, node) in new.nodes.iter().enumerate() {
        let Some(place) = old.place(&node.id) else {
            impact.added.push(node.id.clone());
            continue;
        };
        let fields = differing(&old, place, &new, at);
        if fields.is_empty() {
            continue;
        }
        let was = &old.nodes[place];
        let status = status(&node.id);
        match status {
            Status::Completed if was.kind == NodeKind::Goal => kept.push((was.id.clone(), place)),
            Status::Completed => impact.barred.push(Barred {
                task: node.id.clone(),
                why: format!("it is completed, and {} would change", fields.join(", ")),
            }),
            Status::Superseded => impact.barred.push(Barred {
                task: node.id.clone(),
                why: "it was decided on, and what follows from that stands in the list".to_owned(),
            }),
            Status::Claimed if waits_anew(&old, place, &new, at) => impact.barred.push(Barred {
                task: node.id.clone(),
                why: "it is taken, and nothing can be put before what is under way".to_owned(),
            }),
            _ => impact.changed.push(Changed {
                task: node.id.clone(),
                status,
                fields,
            }),
        }
    }
    for was in &old.nodes {
        if new.place(&was.id).is_some() {
            continue;
        }
        match status(&was.id) {
            Status::Completed => impact.barred.push(Barred {
                task: was.id.clone(),
                why: "it is completed, and would be gone".to_owned(),
            }),
            Status::Superseded => impact.barred.push(Barred {
                task: was.id.clone(),
                why: "it was decided on, and would be gone".to_owned(),
            }),
            status => impact.dropped.push(Fallen {
                task: was.id.clone(),
                title: was.title.clone(),
                status,
            }),
        }
    }
    let mut text = after.to_owned();
    for (goal, place) in kept {
        let line = line_of(before, old.nodes[place].line);
        let (anew, with_both) = beside(&text, &goal, line)?;
        impact.kept.push(Kept { goal, anew });
        text = with_both;
    }
    Ok((impact, text))
}

fn readable(text: &str) -> Result<TaskFile, String> {
    read(text).map_err(|findings| {
        let mut said = findings
            .iter()
            .map(|one| format!("{}: {}", one.line, one.message));
        said.next().unwrap_or_default()
    })
}

/// The domains that one of two lists does not have as the other has them.
fn domains(old: &TaskFile, new: &TaskFile) -> Vec<String> {
    let said = |file: &TaskFile| -> BTreeMap<String, String> {
        let all = file.domains.iter();
        all.map(|one| (one.name.clone(), one.text())).collect()
    };
    let [before, after] = [said(old), said(new)];
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    names.into_iter().filter(differs).cloned().collect()
}

/// The fields that two lines of one task have otherwise.
fn differing(old: &TaskFile, place: usize, new: &TaskFile, at: usize) -> Vec<String> {
    let (old, new) = (&old.fields[place], &new.fields[at]);
    let names = old.0.iter().chain(&new.0).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| old.get(name) != new.get(name));
    names.into_iter().map(str::to_owned).collect()
}

/// Tells whether a task waits for something that it did not wait for.
fn waits_anew(old: &TaskFile, place: usize, new: &TaskFile, at: usize) -> bool {
    let known: Vec<String> = old.nodes[place]
        .depends_on
        .iter()
        .map(|edge| edge.on.key())
        .collect();
    let (was, now) = (&old.nodes[place], &new.nodes[at]);
    let has_edge = |edge: &Edge| known.contains(&edge.on.key());
    !now.depends_on.iter().all(has_edge) || !now.waits.iter().all(|one| was.waits.contains(one))
}

fn line_of(text: &str, line: usize) -> &str {
    text.lines().nth(line - 1).unwrap_or_default()
}

/// The list with a done goal as it was, and the changed one behind it under a free id.
fn beside(text: &str, goal: &TaskId, was: &str) -> Result<(TaskId, String), String> {
    let file = readable(text)?;
    let node = file.node(goal).ok_or("the goal is gone")?;
    let ids = (2..).filter_map(|number: u32| TaskId::parse(&format!("{goal}v{number}")));
    let mut free = ids.take(1_000).filter(|id| file.place(id).is_none());
    let anew = free
        .next()
        .ok_or_else(|| format!("{goal} has no free id for another version"))?;
    let id = Change {
        field: "id",
        value: Some(Value::from(anew.as_str())),
    };
    let line = with(
        line_of(text, node.line).trim_start_matches('\u{feff}'),
        &[id],
    )?;
    // The old line takes the place of the new one, byte for byte.
    let mut rows: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let row = &mut rows[node.line - 1];
    let ending = row[row.trim_end_matches(['\r', '\n']).len()..].to_owned();
    *row = format!("{was}{ending}");
    let text = rows.concat();
    let file = read_anyway(&text);
    Ok((anew, add(&text, &file, &line, &Place::After(goal.clone()))))
}

#[cfg(test)]
mod tests {
    use super::{Status, weigh};
    use crate::task::node::TaskId;

    const BEFORE: &str = r#"{"id":"A","title":"a"}
{"id":"B","title":"b","depends_on":["A"]}
{"id":"C","title":"c"}
{"id":"G","title":"g","kind":"goal"}
"#;

    /// A is completed, B is taken, the goal is done, and the rest is pending.
    fn status(id: &TaskId) -> Status {
        match id.as_str() {
            "A" | "G" => Status::Completed,
            "B" => Status::Claimed,
            _ => Status::Pending,
        }
    }

    fn said(after: &str) -> String {
        let (impact, _) = weigh(BEFORE, after, status).expect("a list");
        let mut said: Vec<String> = Vec::new();
        said.extend(impact.added.iter().map(|one| format!("+{one}")));
        said.extend(impact.changed.iter().map(|one| format!("~{}", one.task)));
        said.extend(impact.dropped.iter().map(|one| format!("-{}", one.task)));
        said.extend(impact.kept.iter().map(|one| format!("={}", one.anew)));
        said.extend(impact.barred.iter().map(|one| format!("!{}", one.task)));
        said.extend(impact.domains.iter().map(|one| format!("/{one}")));
        said.join(" ")
    }

    #[test]
    fn each_change_of_a_list_has_its_impact() {
        let table = [
            (("", ""), ""),
            (("\"title\":\"c\"", "\"title\":\"d\""), "~C"),
            (("\"title\":\"b\"", "\"title\":\"d\""), "~B"),
            (("\"title\":\"a\"", "\"title\":\"d\""), "!A"),
            (("\"title\":\"g\"", "\"title\":\"d\""), "=Gv2"),
            // Chain B18: nothing is put before what is done or under way.
            (("[\"A\"]", "[\"A\",\"C\"]"), "!B"),
            (
                ("[\"A\"]", "[\"A\"],\"waits\":[{\"person\":\"any\"}]"),
                "!B",
            ),
            (
                ("{\"id\":\"A\",", "{\"id\":\"A\",\"depends_on\":[\"C\"],"),
                "!A",
            ),
            (("{\"id\":\"C\",\"title\":\"c\"}\n", ""), "-C"),
            (
                (
                    "{\"id\":\"A\"",
                    "{\"domain\":\"d\",\"from\":1,\"to\":2}\n{\"id\":\"A\"",
                ),
                "/d",
            ),
            (("{\"id\":\"C\"", "{\"id\":\"D\""), "+D -C"),
            (("{\"id\":\"G\"", "{\"id\":\"H\""), "+H !G"),
        ];
        for ((from, to), expected) in table {
            assert_eq!(
                said(&BEFORE.replacen(from, to, 1)),
                expected,
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn a_done_goal_stays_byte_for_byte_and_the_change_stands_behind_it() {
        let after = BEFORE.replace("\"title\":\"g\"", "\"title\":\"more\"");
        let (_, text) = weigh(BEFORE, &after, status).expect("a list");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3], r#"{"id":"G","title":"g","kind":"goal"}"#);
        assert_eq!(lines[4], r#"{"id":"Gv2","title":"more","kind":"goal"}"#);
        assert_eq!(&lines[..3], &BEFORE.lines().collect::<Vec<_>>()[..3]);
    }

    #[test]
    fn a_list_that_only_a_merge_broke_can_be_amended() {
        let broken = "{\"id\":\"A\",\"title\":\"a\",\"depends_on\":[\"B\"]}\n{\"id\":\"B\",\"title\":\"b\",\"depends_on\":[\"A\"]}\n";
        let mended = broken.replacen("[\"B\"]", "[]", 1);
        let pending = |_: &TaskId| Status::Pending;
        let (impact, _) = weigh(broken, &mended, pending).expect("a list");
        assert_eq!(impact.changed[0].fields, ["depends_on"]);
    }
}
