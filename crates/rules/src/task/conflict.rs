//! Conflicts between the domains of a list: computed from what its tasks say that they touch, and never stored. This
//! module says what is one, how much it matters, and what leads on. It knows nothing of what happened to a task.

use super::file::TaskFile;
use super::file::domain::Domain;
use super::node::{Node, Risk, TaskId};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

vocabulary!(
    /// Kind of a conflict.
    Kind {
        /// Tasks of several domains wait for each other.
        Cycle = "dependency_cycle",
        /// Two domains have numbers in common, as lists that were written apart bring it.
        Range = "range_conflict",
        /// Two lines say one domain.
        Twice = "domain_repeated",
        /// Tasks of two domains change one file, and nothing says which comes first.
        File = "file_conflict",
        /// Tasks of several domains change one file, each with a risk of its own.
        Strategy = "strategy_conflict",
    }
);

vocabulary!(
    /// Weight of a conflict.
    Severity {
        /// Conflict with which nothing goes on.
        Critical = "critical",
        /// The plan is held until somebody orders the tasks, or accepts it.
        High = "high",
        /// Conflict that is shown.
        Medium = "medium",
    }
);

/// Conflict between tasks or between domains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    pub kind: Kind,
    pub severity: Severity,
    /// Tasks in conflict; of a cycle the way round, its first one at both ends.
    pub tasks: Vec<TaskId>,
    pub domains: Vec<String>,
    pub files: Vec<String>,
    /// Reason why somebody accepted the conflict.
    pub accepted: Option<String>,
    pub help: Hint,
    #[serde(skip)]
    pub line: usize,
}

/// Number of tasks of one file that are held against each other.
const COMPARED: usize = 200;

impl Conflict {
    /// Tells whether the conflict holds the plan.
    pub fn holds(&self) -> bool {
        match self.severity {
            Severity::Critical => true,
            Severity::High => self.accepted.is_none(),
            Severity::Medium => false,
        }
    }

    pub fn words(&self) -> String {
        let ids: Vec<&str> = self.tasks.iter().map(TaskId::as_str).collect();
        let files = self.files.join("`, `");
        match self.kind {
            Kind::Cycle => format!("tasks depend on each other: {}", ids.join(" -> ")),
            Kind::Range => format!(
                "the domains {} have numbers in common",
                self.domains.join(" and ")
            ),
            Kind::Twice => format!(
                "the domain {} stands there twice",
                self.domains.join(" and ")
            ),
            Kind::File => format!(
                "{} ({}) both change `{files}`, and neither waits for the other",
                ids.join(" and "),
                self.domains.join(", ")
            ),
            Kind::Strategy => format!(
                "{} ({}) change `{files}`, each with a medium or high conflict risk",
                ids.join(", "),
                self.domains.join(", ")
            ),
        }
    }
}

/// Every conflict of a list, the worst first. The list may be one that cannot be worked off.
pub fn conflicts(file: &TaskFile) -> Vec<Conflict> {
    let mut found = cycles(file);
    found.extend(ranges(file));
    let by_path = by_path(file);
    found.extend(files(file, &by_path));
    found.extend(strategies(file, &by_path));
    found.sort_by_key(|one| (one.severity, one.kind, one.line));
    found
}

fn domains<'f>(file: &'f TaskFile, places: &[usize]) -> BTreeSet<&'f str> {
    let nodes = places.iter().filter_map(|at| file.nodes.get(*at));
    nodes.filter_map(|node| file.domain_of(node)).collect()
}

fn ids(file: &TaskFile, places: &[usize]) -> Vec<TaskId> {
    let nodes = places.iter().filter_map(|at| file.nodes.get(*at));
    nodes.map(|node| node.id.clone()).collect()
}

fn made(file: &TaskFile, kind: Kind, places: &[usize], help: Hint) -> Conflict {
    let last = places.iter().max().and_then(|at| file.nodes.get(*at));
    Conflict {
        kind,
        severity: match kind {
            Kind::Cycle | Kind::Range | Kind::Twice => Severity::Critical,
            Kind::File => Severity::High,
            Kind::Strategy => Severity::Medium,
        },
        tasks: ids(file, places),
        domains: domains(file, places)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        files: Vec::new(),
        accepted: None,
        help,
        line: last.map_or(1, |node| node.line),
    }
}

fn cycles(file: &TaskFile) -> Vec<Conflict> {
    let rings = file.cycles().into_iter();
    let rings = rings.filter(|ring| domains(file, ring).len() > 1);
    let made = |ring: Vec<usize>| {
        let help = hint![
            "remove one of the dependencies: ",
            command!("edit tasks.jsonl")
        ];
        made(file, Kind::Cycle, &ring, help)
    };
    rings.map(made).collect()
}

/// Domains with numbers in common: the later one moves. Two lines of one name become one.
fn ranges(file: &TaskFile) -> Vec<Conflict> {
    let all = file.meetings().into_iter();
    let made = |(domain, other): (&Domain, &Domain)| {
        if domain.is_called(&other.name) {
            return Conflict {
                domains: vec![other.name.clone()],
                line: domain.line,
                ..made(file, Kind::Twice, &[], other.lead())
            };
        }
        let free = file.free_range().map(|(from, to)| Domain {
            from,
            to,
            ..domain.clone()
        });
        let by_hand = || command!("edit tasks.jsonl");
        Conflict {
            domains: vec![other.name.clone(), domain.name.clone()],
            line: domain.line,
            ..made(
                file,
                Kind::Range,
                &[],
                free.as_ref().map_or_else(by_hand, Domain::lead),
            )
        }
    };
    all.map(made).collect()
}

/// The path that a task may change: the folder where it names a folder or a pattern, without case, because some file
/// systems know none. Empty: anything.
fn reach(path: &str) -> String {
    let plain = path.find(['*', '?', '[']);
    let plain = plain.map_or(path, |at| {
        let folder = path[..at].rfind('/');
        &path[..folder.unwrap_or(0)]
    });
    plain.trim_end_matches('/').to_lowercase()
}

/// A path and all above it, the whole repository among them.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    let whole = (!path.is_empty()).then_some("");
    [path].into_iter().chain(folders).chain(whole)
}

/// The tasks with a domain that may change each path, where those are of several domains.
fn by_path(file: &TaskFile) -> BTreeMap<&str, Vec<usize>> {
    let mut reached: HashMap<String, (&str, Vec<usize>)> = HashMap::new();
    let nodes = file.nodes.iter().enumerate();
    for (at, node) in nodes.filter(|(_, node)| file.domain_of(node).is_some()) {
        for path in node.own_files() {
            let (_, places) = reached.entry(reach(path)).or_insert((path, Vec::new()));
            places.push(at);
        }
    }
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (key, (path, _)) in &reached {
        let all = above(key).filter_map(|above| reached.get(above));
        let mut places: Vec<usize> = all.flat_map(|(_, places)| places).copied().collect();
        places.sort_unstable();
        places.dedup();
        if domains(file, &places).len() > 1 {
            found.insert(path, places);
        }
    }
    found
}

/// Two tasks, the reason why their conflict is accepted, and the files that it is about.
type Pairs<'f> = BTreeMap<(usize, usize, Option<&'f str>), Vec<&'f str>>;

fn files<'f>(file: &'f TaskFile, by_path: &BTreeMap<&'f str, Vec<usize>>) -> Vec<Conflict> {
    let mut pairs: Pairs<'f> = BTreeMap::new();
    for (path, places) in by_path {
        let places = &places[..places.len().min(COMPARED)];
        let before: HashMap<usize, BTreeSet<usize>> =
            places.iter().map(|at| (*at, file.ancestors(*at))).collect();
        let is_ordered = |one: usize, other: usize| {
            before[&one].contains(&other) || before[&other].contains(&one)
        };
        for (later, at) in places.iter().enumerate() {
            for other in &places[..later] {
                let [a, b] = [&file.nodes[*other], &file.nodes[*at]];
                if file.domain_of(a) != file.domain_of(b) && !is_ordered(*other, *at) {
                    let accepted = accepted(a, b, path);
                    pairs.entry((*other, *at, accepted)).or_default().push(path);
                }
            }
        }
    }
    let conflict = |((one, other, accepted), files): ((usize, usize, Option<&str>), Vec<&str>)| {
        let [a, b] = [&file.nodes[one], &file.nodes[other]];
        Conflict {
            files: files.into_iter().map(str::to_owned).collect(),
            accepted: accepted.map(str::to_owned),
            ..made(file, Kind::File, &[one, other], lead(a, b))
        }
    };
    pairs.into_iter().map(conflict).collect()
}

/// Reason why somebody accepted that two tasks change a file.
fn accepted<'f>(one: &'f Node, other: &'f Node, path: &str) -> Option<&'f str> {
    let said = |node: &'f Node, beside: &Node| {
        let all = node
            .shared
            .as_ref()
            .map_or(&[][..], |shared| &shared.accepts);
        let is_it = |said: &&super::node::Accepted| {
            said.task.key() == beside.id.key() && said.files.iter().any(|file| file == path)
        };
        all.iter().find(is_it).map(|said| said.reason.as_str())
    };
    said(one, other).or_else(|| said(other, one))
}

/// The second of two tasks waits for the first, or somebody accepts that neither does.
fn lead(one: &Node, other: &Node) -> Hint {
    let accept = command!(
        "task conflicts --accept {}:{} --reason WHY",
        one.id,
        other.id
    );
    if other.depends_on.iter().any(|edge| edge.optional) {
        return hint!["let one depend on the other, or: ", accept];
    }
    let edges = other
        .depends_on
        .iter()
        .map(|edge| &edge.on)
        .chain([&one.id]);
    let edges: Vec<String> = edges.map(|id| format!("--depends-on {id}")).collect();
    let edges = edges.join(" ");
    hint![command!("task edit {} {edges}", other.id), "  or: ", accept]
}

fn strategies(file: &TaskFile, by_path: &BTreeMap<&str, Vec<usize>>) -> Vec<Conflict> {
    let at_risk = |at: &usize, path: &str| {
        let node = &file.nodes[*at];
        let wanted = reach(path);
        let mut own = node.own_files().filter(|own| {
            let own = reach(own);
            above(&wanted).any(|above| above == own)
        });
        own.any(|own| node.risk(own).is_some_and(|risk| risk > Risk::Low))
    };
    let mut found = Vec::new();
    for (path, places) in by_path {
        let risky = places.iter().copied().filter(|at| at_risk(at, path));
        let risky: Vec<usize> = risky.collect();
        if domains(file, &risky).len() > 1 {
            let help = "agree on one way to change it, or let one task make all changes of it";
            found.push(Conflict {
                files: vec![(*path).to_owned()],
                ..made(file, Kind::Strategy, &risky, help.into())
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::conflicts;
    use crate::task::file::read_anyway;

    fn said(lines: &[&str]) -> Vec<String> {
        let file = read_anyway(&lines.join("\n"));
        let all = conflicts(&file).into_iter();
        all.map(|one| {
            let ids: Vec<String> = one.tasks.iter().map(ToString::to_string).collect();
            let open = if one.holds() { "holds" } else { "shown" };
            format!(
                "{} {} {open} {} {}",
                one.severity,
                one.kind,
                ids.join(","),
                one.files.join(",")
            )
        })
        .collect()
    }

    const A: &str = r#"{"id":"TASK-001","title":"A","domain":"auth","files":["a.rs"]}"#;
    const B: &str = r#"{"id":"TASK-101","title":"B","domain":"ui","files":["a.rs","b.rs"]}"#;

    #[test]
    fn team_k2_a_file_of_two_domains_is_a_conflict_unless_one_waits_for_the_other() {
        let conflict = ["high file_conflict holds TASK-001,TASK-101 a.rs"];
        assert_eq!(said(&[A, B]), conflict);
        let none: [&str; 0] = [];
        for (from, to) in [
            ("\"ui\"", "\"auth\""),
            // The list says nowhere whose numbers these are.
            (",\"domain\":\"ui\"", ""),
            (
                "[\"a.rs\",\"b.rs\"]",
                "[{\"path\":\"a.rs\",\"action\":\"read\"}]",
            ),
            (
                "\"title\":\"B\"",
                "\"title\":\"B\",\"depends_on\":[\"TASK-001\"]",
            ),
        ] {
            assert_eq!(said(&[A, &B.replace(from, to)]), none, "{to}");
        }
        // One that stands between them orders them, too.
        let between = r#"{"id":"X","title":"X","depends_on":["TASK-001"]}"#;
        let behind = B.replace("\"title\":\"B\"", "\"title\":\"B\",\"depends_on\":[\"X\"]");
        assert_eq!(said(&[A, between, &behind]), none);
        // Who accepts it says so for these files.
        let accepts = r#""title":"B","accepts":[{"task":"task-001","files":["a.rs"],"reason":"one line each"}]"#;
        let accepted = B.replace("\"title\":\"B\"", accepts);
        let shown = ["high file_conflict shown TASK-001,TASK-101 a.rs"];
        assert_eq!(said(&[A, &accepted]), shown);
        let more = A.replace("[\"a.rs\"]", "[\"a.rs\",\"b.rs\"]");
        assert_eq!(
            said(&[&more, &accepted])[0],
            "high file_conflict holds TASK-001,TASK-101 b.rs"
        );
    }

    #[test]
    fn a_folder_a_pattern_and_another_case_hide_no_conflict() {
        let of = |path: &str| said(&[&A.replace("a.rs", "src/a.rs"), &B.replace("\"a.rs\"", path)]);
        for wide in [
            "src", "src/", "src/**", "src/*.rs", "*.rs", "SRC", "src/A.rs",
        ] {
            let found = of(&format!("\"{wide}\""));
            assert!(
                found
                    .iter()
                    .any(|one| one.starts_with("high file_conflict holds TASK-001,TASK-101")),
                "{wide}: {found:?}"
            );
        }
        for narrow in ["src2", "src/a", "sr", "src/b.rs"] {
            assert!(of(&format!("\"{narrow}\"")).is_empty(), "{narrow}");
        }
    }

    #[test]
    fn who_takes_the_domain_off_a_task_takes_it_out_of_no_conflict() {
        let ui = r#"{"domain":"ui","from":101,"to":200}"#;
        let bare = B.replace(",\"domain\":\"ui\"", "");
        assert_eq!(
            said(&[ui, A, &bare]),
            ["high file_conflict holds TASK-001,TASK-101 a.rs"]
        );
        let elsewhere = bare.replace("TASK-101", "TASK-301");
        assert!(said(&[ui, A, &elsewhere]).is_empty());
    }

    #[test]
    fn team_k2_a_cycle_across_domains_is_critical_and_two_risks_on_one_file_are_a_strategy() {
        let a = A.replace("\"files\"", "\"depends_on\":[\"TASK-101\"],\"files\"");
        let b = B.replace("\"files\"", "\"depends_on\":[\"TASK-001\"],\"files\"");
        let all = said(&[&a, &b]);
        assert!(
            all[0].starts_with("critical dependency_cycle holds TASK-"),
            "{all:?}"
        );
        assert_eq!(all.len(), 1);
        let one_domain = b.replace("\"ui\"", "\"auth\"");
        assert!(said(&[&a, &one_domain]).is_empty());
        let high = A.replace("\"title\"", "\"conflict_risk\":\"high\",\"title\"");
        let file = r#"[{"path":"a.rs","conflict_risk":"medium"}]"#;
        let medium = B.replace(r#"["a.rs","b.rs"]"#, file);
        assert_eq!(
            said(&[&high, &medium]),
            [
                "high file_conflict holds TASK-001,TASK-101 a.rs",
                "medium strategy_conflict shown TASK-001,TASK-101 a.rs"
            ]
        );
        let low = medium.replace("medium", "low");
        assert_eq!(said(&[&high, &low]).len(), 1);
    }
}
