//! The change pack's own files: slices, and the artifact graph with staleness by content.
//!
//! The spec delta is read by `spec`; this module knows which artifact builds on which.

use super::artifact::Artifact;
use super::strict_json::fault;
use super::texts::Texts;
use super::{brief, task};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The format of the artifact graph.
const FORMAT: u32 = 1;

/// Kind of a slice: it can be worked on without a person, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceKind {
    /// Away from keyboard: no person needed.
    #[serde(rename = "AFK")]
    Afk,
    /// Human in the loop.
    #[serde(rename = "HITL")]
    Hitl,
}

impl Slice {
    /// Stands in `scenarios` of a check that serves all of them.
    pub const EVERY_SCENARIO: &str = "*";
}

/// The slices of a session, its tasks and the commands of its brief among them. No slice is a fault of a plan, and an
/// empty list for a session that has none of these files.
pub fn slices_of(texts: &Texts) -> Result<Vec<Slice>, Blocker> {
    slices_among(&present(texts), texts)
}

/// The slices that some files name.
pub fn slices_among(files: &[Artifact], texts: &Texts) -> Result<Vec<Slice>, Blocker> {
    let mut found = Vec::new();
    for file in files {
        found.extend(slices_in(*file, texts)?);
    }
    Ok(found)
}

/// Name of what serves scenarios in a session, and the file that it stands in.
pub fn checked_by(texts: &Texts) -> (&'static str, Artifact) {
    match present(texts).first() {
        Some(Artifact::TaskList) => ("task", Artifact::TaskList),
        Some(Artifact::Brief) => ("check", Artifact::Brief),
        _ => ("slice", Artifact::Slices),
    }
}

/// The check files of a session. Where there are several, because its profile was changed, an empty one is none.
pub fn present(texts: &Texts) -> Vec<Artifact> {
    let mut files: Vec<Artifact> = CHECK_FILES.into_iter().collect();
    files.retain(|file| texts.contains_key(file));
    let is_empty = |file: &Artifact| {
        let text = texts.get(file).map_or("", |text| text.trim());
        match file {
            // It says more than checks.
            Artifact::Brief => brief::checks(text).is_ok_and(|checks| checks.is_empty()),
            // A list of domains alone plans nothing.
            Artifact::TaskList if !text.contains("\"id\"") => {
                let list = texts.list().and_then(|list| list.as_ref().err());
                list.is_some_and(|fault| fault.code == Code::TaskListEmpty)
            }
            _ => text.is_empty() || text == "[]",
        }
    };
    if files.iter().any(|file| !is_empty(file)) {
        files.retain(|file| !is_empty(file));
    }
    files
}

/// The slices that serve scenarios. Most tasks of a long list serve none, and are not read whole for this.
pub fn serving(texts: &Texts) -> Result<Vec<Slice>, Blocker> {
    let mut found = Vec::new();
    for file in present(texts) {
        found.extend(slices_where(file, texts, |node| {
            !node.scenarios.is_empty()
        })?);
    }
    Ok(found)
}

/// The slices that one file names; none where it is not there.
pub fn slices_in(file: Artifact, texts: &Texts) -> Result<Vec<Slice>, Blocker> {
    slices_where(file, texts, |_| true)
}

/// The slices of one file; of a list of tasks those whose nodes are asked for.
fn slices_where(
    file: Artifact,
    texts: &Texts,
    is_asked: impl Fn(&&task::node::Node) -> bool,
) -> Result<Vec<Slice>, Blocker> {
    match (file, texts.get(&file)) {
        (_, None) => Ok(Vec::new()),
        (Artifact::TaskList, Some(_)) => match texts.list() {
            Some(Ok(nodes)) => {
                let nodes = nodes.iter().filter(is_asked);
                Ok(nodes.filter_map(task::slices::slice).collect())
            }
            Some(Err(blocker)) => Err(blocker.clone()),
            None => Ok(Vec::new()),
        },
        (Artifact::Brief, Some(text)) => brief::checks(text),
        (_, Some(text)) => slices(Some(text)),
    }
}

/// The files that checks stand in.
pub const CHECK_FILES: [Artifact; 3] = [Artifact::Slices, Artifact::TaskList, Artifact::Brief];

/// A thin piece of the change that can be verified on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    pub id: String,
    #[serde(default)]
    pub title: String,
    #[serde(rename = "type")]
    pub kind: SliceKind,
    pub behaviour: String,
    pub acceptance_criteria: Vec<String>,
    /// The command, as a list of words, whose passing run is the slice's evidence.
    pub verification: Vec<String>,
    /// Scenarios of the spec delta that it serves.
    #[serde(default)]
    pub scenarios: Vec<String>,
    #[serde(default)]
    pub blocked_by: Vec<String>,
    #[serde(default)]
    pub files: Vec<String>,
}

/// Reads `change/slices.json`. The blocker names everything that is wrong, each with its slice.
pub fn slices(text: Option<&str>) -> Result<Vec<Slice>, Blocker> {
    let path = Artifact::Slices.path();
    let edit = command!("edit slices.json");
    let example = r#"[{"id":"VS-1","type":"AFK","behaviour":"...","acceptance_criteria":["..."],"verification":["cargo","test"],"scenarios":["domain/Requirement/Scenario"]}]"#;
    let invalid = |message: String| Blocker::new(Code::VerticalSlicesInvalid, message, &edit);
    let text = text.unwrap_or("[]");
    let slices: Vec<Slice> = serde_json::from_str(text).map_err(|error| {
        let place = format!("{path}:{}:{}", error.line(), error.column());
        let (first, mut faults) = (fault(&error), unreadable(text));
        // The reader stops at the first of them.
        match faults.first_mut().filter(|one| one.ends_with(&first)) {
            Some(one) => *one = format!("{place}: {one}; expected {example}"),
            None => faults.insert(0, format!("{place}: {first}; expected {example}")),
        }
        invalid(faults.join("\n"))
    })?;
    if slices.is_empty() {
        return Err(Blocker::new(
            Code::VerticalSlicesMissing,
            format!(
                "{path} holds no slice; `plan` proposes one for each scenario of the delta; expected at least one, like {example}"
            ),
            hint![&edit, "  or let them be proposed: ", command!("plan")],
        ));
    }
    let faults = faults(&slices);
    if !faults.is_empty() {
        let faults: Vec<String> = faults.iter().map(|one| format!("{path}: {one}")).collect();
        return Err(invalid(faults.join("\n")));
    }
    if let Some(cycle) = cycle(&slices) {
        return Err(invalid(format!(
            "{path}: slices block each other: {}",
            cycle.join(" -> ")
        )));
    }
    Ok(slices)
}

/// Lists the slices that cannot be read, by their ids.
fn unreadable(text: &str) -> Vec<String> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let mut found = Vec::new();
    for (at, value) in values.into_iter().enumerate() {
        let name = match value.get("id").and_then(|id| id.as_str()) {
            Some(id) => format!("slice {id:?}"),
            None => format!("slice {}", at + 1),
        };
        if let Err(error) = serde_json::from_value::<Slice>(value) {
            found.push(format!("{name}: {error}"));
        }
    }
    found
}

/// Faults of slices that can be read.
fn faults(slices: &[Slice]) -> Vec<String> {
    let all: BTreeSet<&str> = slices.iter().map(|slice| slice.id.as_str()).collect();
    let mut ids = BTreeSet::new();
    let mut found = Vec::new();
    for slice in slices {
        let id = &slice.id;
        // Ids stand in commands that people and agents type: nothing that a shell could read.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if id.is_empty() || id.len() > 63 || id.starts_with('-') || !id.chars().all(plain) {
            found.push(format!(
                "expected a slice id of letters, digits, `-`, `_`, `.`, found {id:?}"
            ));
        }
        if !ids.insert(id.as_str()) {
            found.push(format!("the slice id `{id}` stands there twice"));
        }
        if slice.behaviour.trim().is_empty() {
            found.push(format!("slice {id} has no behaviour"));
        }
        let mut criteria = slice.acceptance_criteria.iter();
        if criteria.all(|c| c.trim().is_empty()) {
            found.push(format!("slice {id} has no acceptance criterion"));
        }
        let program = slice.verification.first();
        if program.is_none_or(|word| word.trim().is_empty()) {
            found.push(format!("slice {id} has no verification command"));
        }
        for file in &slice.files {
            if !super::policy::is_inside(file) {
                found.push(format!(
                    "slice {id} names `{file}`, which is not inside the repository"
                ));
            }
        }
        for other in &slice.blocked_by {
            if !all.contains(other.as_str()) {
                found.push(format!(
                    "slice {id} is blocked by `{other}`, which does not exist"
                ));
            }
        }
    }
    found
}

/// The ids of a cycle, first one repeated at the end.
pub(super) fn cycle(slices: &[Slice]) -> Option<Vec<String>> {
    let edges: BTreeMap<&str, &[String]> = slices
        .iter()
        .map(|s| (s.id.as_str(), s.blocked_by.as_slice()))
        .collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in edges.keys() {
        // An explicit stack: a long chain of slices must not end the program.
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((node, next)) = path.pop() {
            if done.contains(node) {
                continue;
            }
            let Some(to) = edges.get(node).and_then(|targets| targets.get(next)) else {
                done.insert(node);
                continue;
            };
            path.push((node, next + 1));
            if let Some(at) = path.iter().position(|(seen, _)| seen == to) {
                let mut ids: Vec<String> =
                    path[at..].iter().map(|(id, _)| (*id).to_owned()).collect();
                ids.push(to.clone());
                return Some(ids);
            }
            if !done.contains(to.as_str()) {
                path.push((to, 0));
            }
        }
    }
    None
}

/// State of an artifact of the change pack: how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    Missing,
    /// Still its template.
    Empty,
    /// Inputs of the artifact changed since it was last written.
    Stale,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub artifact: Artifact,
    pub depends_on: Vec<Artifact>,
    pub blob: Option<Oid>,
    /// Artifacts that this one built on when it was last written, with their content.
    pub inputs: BTreeMap<Artifact, Oid>,
    pub status: NodeStatus,
    /// The inputs that changed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Artifact>,
}

/// `change/artifact-graph.json`: derived, and written so that anybody can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    pub format: u32,
    pub nodes: Vec<Node>,
    /// Artifacts that are not done, while all that they build on are.
    pub next_ready: Vec<Artifact>,
}

/// Artifacts of the change pack, each with those that it builds on.
const BUILDS_ON: [(Artifact, &[Artifact]); 5] = [
    (Artifact::Proposal, &[Artifact::Spec]),
    (Artifact::SpecDelta, &[Artifact::Proposal]),
    (Artifact::Design, &[Artifact::Proposal, Artifact::SpecDelta]),
    (
        Artifact::Tasks,
        &[Artifact::Proposal, Artifact::SpecDelta, Artifact::Design],
    ),
    (
        Artifact::Slices,
        &[Artifact::Proposal, Artifact::SpecDelta, Artifact::Design],
    ),
];

/// The graph after the artifacts became `blobs`. `filled` says whether one holds more than its template.
pub fn graph(
    previous: Option<&Graph>,
    blobs: &BTreeMap<Artifact, Oid>,
    filled: impl Fn(Artifact) -> bool,
) -> Graph {
    let mut nodes: Vec<Node> = Vec::new();
    for (artifact, depends_on) in BUILDS_ON {
        let before =
            previous.and_then(|graph| graph.nodes.iter().find(|node| node.artifact == artifact));
        let blob = blobs.get(&artifact).cloned();
        let now: BTreeMap<Artifact, Oid> = depends_on
            .iter()
            .filter_map(|input| Some((*input, blobs.get(input)?.clone())))
            .collect();
        let inputs = match before {
            Some(node) if node.blob == blob && filled(artifact) => node.inputs.clone(),
            _ => now.clone(),
        };
        let changed: Vec<Artifact> = depends_on
            .iter()
            .copied()
            .filter(|input| inputs.get(input) != now.get(input))
            .collect();
        let status = match &blob {
            None => NodeStatus::Missing,
            Some(_) if !filled(artifact) => NodeStatus::Empty,
            Some(_) if !changed.is_empty() => NodeStatus::Stale,
            Some(_) => NodeStatus::Done,
        };
        nodes.push(Node {
            artifact,
            depends_on: depends_on.to_vec(),
            blob,
            inputs,
            status,
            changed,
        });
    }
    let done = |artifact: &Artifact| {
        nodes
            .iter()
            .find(|node| node.artifact == *artifact)
            .is_none_or(|node| node.status == NodeStatus::Done)
    };
    let next_ready = nodes
        .iter()
        .filter(|node| node.status != NodeStatus::Done && node.depends_on.iter().all(done))
        .map(|node| node.artifact)
        .collect();
    Graph {
        format: FORMAT,
        nodes,
        next_ready,
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeStatus, graph, slices};
    use crate::artifact::Artifact;
    use loopx_base::id::Oid;
    use std::collections::BTreeMap;

    fn slice(id: &str, blocked_by: &str) -> String {
        format!(
            r#"{{"id":"{id}","type":"AFK","behaviour":"b","acceptance_criteria":["c"],"verification":["true"],"blocked_by":[{blocked_by}]}}"#
        )
    }

    #[test]
    fn a_broken_slice_is_named() {
        let cases = [
            ("[]".to_owned(), "vertical_slices_missing", "no slice"),
            ("[{]".to_owned(), "vertical_slices_invalid", ":1:3:"),
            (
                r#"[{"id":"a"}]"#.to_owned(),
                "vertical_slices_invalid",
                "missing field",
            ),
            (
                format!("[{}]", slice("a", "\"b\"")),
                "vertical_slices_invalid",
                "`b`, which does not exist",
            ),
            (
                format!("[{},{}]", slice("a", ""), slice("a", "")),
                "vertical_slices_invalid",
                "twice",
            ),
            (
                format!(
                    "[{},{},{}]",
                    slice("a", "\"b\""),
                    slice("b", "\"c\""),
                    slice("c", "\"a\"")
                ),
                "vertical_slices_invalid",
                "a -> b -> c -> a",
            ),
            (
                slice("a", "").replace("AFK", "MAYBE").replace('{', "[{") + "]",
                "vertical_slices_invalid",
                "MAYBE",
            ),
        ];
        for (text, code, part) in cases {
            let blocker = slices(Some(&text)).expect_err(&text);
            assert_eq!(blocker.word(), code);
            assert!(
                blocker.message.contains(part),
                "{} lacks {part}",
                blocker.message
            );
        }
        assert_eq!(
            slices(Some(&format!("[{}]", slice("VS-1", "")))).map(|s| s.len()),
            Ok(1)
        );
    }

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).expect("oid")
    }

    #[test]
    fn an_artifact_is_stale_until_it_is_written_again() {
        let mut blobs: BTreeMap<Artifact, Oid> =
            Artifact::CHANGE_PACK.map(|a| (a, oid('a'))).into();
        blobs.insert(Artifact::Spec, oid('a'));
        let first = graph(None, &blobs, |_| true);
        assert!(first.nodes.iter().all(|n| n.status == NodeStatus::Done));
        assert!(first.next_ready.is_empty());

        blobs.insert(Artifact::Design, oid('b'));
        let second = graph(Some(&first), &blobs, |_| true);
        let stale: Vec<Artifact> = second
            .nodes
            .iter()
            .filter(|n| n.status == NodeStatus::Stale)
            .map(|n| n.artifact)
            .collect();
        assert_eq!(stale, [Artifact::Tasks, Artifact::Slices]);
        assert_eq!(second.nodes[3].changed, [Artifact::Design]);

        blobs.insert(Artifact::Tasks, oid('c'));
        blobs.insert(Artifact::Slices, oid('c'));
        let third = graph(Some(&second), &blobs, |_| true);
        assert!(third.nodes.iter().all(|n| n.status == NodeStatus::Done));
    }
}
