//! The history of a repository that uses OpenSpec, archived once more: every change that a commit moved
//! to `openspec/changes/archive`, with the delta as it was moved, the specs of the commit's parent as
//! target, and the specs of the commit that last wrote the delta as base.
//!
//! A requirement change is a requirement that one of the deltas names and whose words the commit changed.
//! It is reproduced where the same words come out here. Of a change that is refused nothing is.
//!
//! With LOOPX_OPENSPEC the program that it names archives the same changes, on the tree of the same parent
//! and with the same deltas, and what it reproduces is counted by the same words.

use git_loopx::testing::FileMerge;
use loopx_spec::{
    Action, Bases, Delta, Finding, PlanOptions, Severity, fold, plan_domain, read_delta, read_spec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

const SPECS: &str = "openspec/specs";
const CHANGES: &str = "openspec/changes";
const ARCHIVE: &str = "openspec/changes/archive";

/// A change that one commit archived.
struct Moved {
    name: String,
    /// Domains and the paths of their deltas.
    deltas: Vec<(String, String)>,
}

#[derive(Default)]
struct Totals {
    changes: usize,
    clean: usize,
    refused: BTreeMap<String, usize>,
    conflicts: usize,
    requirements: usize,
    reproduced: usize,
    /// Requirement changes that came out otherwise, of commits whose changes were all clean: people edit by hand, too.
    differing: usize,
    /// Requirement changes that OpenSpec reproduces, and those that only one of the two programs does.
    peer: usize,
    only_peer: usize,
    only_ours: usize,
}

struct History<'p>(&'p Path);

impl History<'_> {
    fn git(&self, args: &[&str]) -> Option<String> {
        // What names another repository, for whatever this runs in, is not for this one.
        let output = Command::new("git")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .arg("-C")
            .arg(self.0)
            .args(["-c", "core.quotePath=off"])
            .args(args)
            .output()
            .expect("run git");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    fn text(&self, commit: &str, path: &str) -> Option<String> {
        self.git(&["cat-file", "blob", &format!("{commit}:{path}")])
    }

    /// Writes the files below `path` in `commit` into `dir`, without the leading folders of `path`.
    fn export(&self, commit: &str, path: &str, dir: &Path) {
        std::fs::create_dir_all(dir).expect("a folder");
        let tar = dir.join(".export.tar");
        let file = tar.to_str().expect("a path in UTF-8").to_owned();
        if self
            .git(&[
                "archive",
                "--format=tar",
                "-o",
                &file,
                &format!("{commit}:{path}"),
            ])
            .is_some()
        {
            let done = Command::new("tar")
                .arg("-xf")
                .arg(&tar)
                .arg("-C")
                .arg(dir)
                .status();
            assert!(done.expect("start tar").success(), "unpacking failed");
        }
        std::fs::remove_file(&tar).ok();
    }

    /// Specs after OpenSpec has archived the changes on the tree of the parent.
    fn by_openspec(
        &self,
        program: &OsStr,
        (commit, parent): (&str, &str),
        moved: &[Moved],
    ) -> Specs {
        let folder = tempfile::tempdir().expect("a temporary folder");
        self.export(parent, "openspec", &folder.path().join("openspec"));
        for one in moved {
            let change = folder.path().join(CHANGES).join(change_id(&one.name));
            self.export(commit, &format!("{ARCHIVE}/{}", one.name), &change);
        }
        for one in moved {
            // A refusal leaves the specs as they are, whatever it exits with.
            Command::new(program)
                .args(["archive", change_id(&one.name), "-y"])
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .env("OPENSPEC_TELEMETRY", "0")
                .env("DO_NOT_TRACK", "1")
                .env("CI", "true")
                .status()
                .expect("start OpenSpec");
        }
        Specs(folder)
    }

    /// The commits that archived something, oldest first, with their parents.
    fn commits(&self) -> Vec<(String, String)> {
        let list = self.git(&[
            "log",
            "--reverse",
            "--topo-order",
            "--no-merges",
            "--no-renames",
            "--diff-filter=A",
            "--format=%H %P",
            "HEAD",
            "--",
            ARCHIVE,
        ]);
        let list = list.expect("a repository with a history");
        let pair = |line: &str| {
            let (commit, parent) = line.split_once(' ')?;
            Some((commit.to_owned(), parent.trim().to_owned()))
        };
        list.lines().filter_map(pair).collect()
    }

    /// The changes whose deltas a commit added to the archive, and did not only rename there.
    fn moved(&self, commit: &str, parent: &str) -> Vec<Moved> {
        let known = self.git(&["ls-tree", "-r", parent, "--", ARCHIVE]);
        let known = known.unwrap_or_default();
        let known: BTreeSet<&str> = known
            .lines()
            .filter_map(|line| line.split([' ', '\t']).nth(2))
            .collect();
        let list = self.git(&[
            "diff-tree",
            "-r",
            "--no-renames",
            "--diff-filter=A",
            parent,
            commit,
            "--",
            ARCHIVE,
        ]);
        let mut found: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for line in list.unwrap_or_default().lines() {
            let Some((head, path)) = line.split_once('\t') else {
                continue;
            };
            let blob = head.split(' ').nth(3).unwrap_or_default();
            let below = path.strip_prefix(ARCHIVE).unwrap_or_default();
            let Some((name, rest)) = below.trim_start_matches('/').split_once('/') else {
                continue;
            };
            let rest = rest.strip_prefix("specs/");
            let domain = rest.and_then(|rest| rest.strip_suffix("/spec.md"));
            if let Some(domain) = domain.filter(|_| !known.contains(blob)) {
                let one = (domain.to_owned(), path.to_owned());
                found.entry(name.to_owned()).or_default().push(one);
            }
        }
        let moved = found.into_iter();
        moved.map(|(name, deltas)| Moved { name, deltas }).collect()
    }

    /// The spec of a domain when the delta was last written, before it was moved.
    fn base(&self, parent: &str, name: &str, domain: &str) -> Option<String> {
        let path = format!("{CHANGES}/{}/specs/{domain}/spec.md", change_id(name));
        let commit = self.git(&["log", "-1", "--format=%H", parent, "--", &path]);
        let commit = commit.unwrap_or_default();
        let commit = match commit.trim() {
            "" => parent,
            commit => commit,
        };
        self.text(commit, &format!("{SPECS}/{domain}/spec.md"))
    }
}

/// A tree with specs that OpenSpec has written.
struct Specs(tempfile::TempDir);

impl Specs {
    fn text(&self, domain: &str) -> Option<String> {
        let path = self.0.path().join(SPECS).join(domain).join("spec.md");
        std::fs::read_to_string(path).ok()
    }
}

/// `2025-08-05-add-x` is the change `add-x`.
fn change_id(name: &str) -> &str {
    let dated = name.len() > 11
        && name
            .bytes()
            .take(11)
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 | 10 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    if dated { &name[11..] } else { name }
}

/// The words of each requirement: blank lines and blanks at the ends of lines aside.
fn requirements(text: Option<&str>) -> BTreeMap<String, String> {
    let text = text.unwrap_or_default();
    let Ok(spec) = read_spec(text.as_bytes(), "spec.md") else {
        return BTreeMap::new();
    };
    let words = |block: &str| -> String {
        let lines = block.lines().map(str::trim_end).filter(|l| !l.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    let named = spec.requirements.iter().map(|one| {
        let block = text.get(one.span.start..one.span.end).unwrap_or_default();
        (fold(&one.name), words(block))
    });
    named.collect()
}

/// Archives the history once more and prints what came of it.
pub(crate) fn run(path: &Path) {
    let history = History(path);
    let openspec: Option<OsString> =
        std::env::var_os("LOOPX_OPENSPEC").filter(|path| !path.is_empty());
    let mut totals = Totals::default();
    for (commit, parent) in history.commits() {
        let moved = history.moved(&commit, &parent);
        if moved.is_empty() {
            continue;
        }
        let domains: BTreeSet<&str> = moved
            .iter()
            .flat_map(|one| one.deltas.iter().map(|(domain, _)| domain.as_str()))
            .collect();
        let at =
            |commit: &str, domain: &str| history.text(commit, &format!("{SPECS}/{domain}/spec.md"));
        let mut specs: BTreeMap<&str, Option<String>> = domains
            .iter()
            .map(|domain| (*domain, at(&parent, domain)))
            .collect();
        let before = specs.clone();
        let mut named: BTreeSet<(&str, String)> = BTreeSet::new();
        let clean = totals.clean;
        for one in &moved {
            let names = archive(&history, (&commit, &parent), one, &mut specs, &mut totals);
            named.extend(names);
        }
        let peer = openspec
            .as_deref()
            .map(|program| history.by_openspec(program, (&commit, &parent), &moved));
        for domain in domains {
            let theirs = peer
                .as_ref()
                .map(|specs| requirements(specs.text(domain).as_deref()));
            let was = requirements(before[domain].as_deref());
            let real = requirements(at(&commit, domain).as_deref());
            let ours = requirements(specs[domain].as_deref());
            let names: BTreeSet<&String> = was.keys().chain(real.keys()).collect();
            let changed = names.into_iter().filter(|name| {
                was.get(*name) != real.get(*name) && named.contains(&(domain, (*name).clone()))
            });
            for name in changed {
                totals.requirements += 1;
                let is_same = ours.get(name) == real.get(name);
                totals.reproduced += usize::from(is_same);
                if let Some(theirs) = &theirs {
                    let is_theirs = theirs.get(name) == real.get(name);
                    totals.peer += usize::from(is_theirs);
                    if is_theirs && !is_same {
                        totals.only_peer += 1;
                        println!("only OpenSpec, at {commit:.10}: {domain}: {name}");
                    }
                    totals.only_ours += usize::from(is_same && !is_theirs);
                }
                let is_clean = totals.clean == clean + moved.len();
                totals.differing += usize::from(!is_same && is_clean);
            }
        }
    }
    println!(
        "| changes with a delta | clean | refused | conflict | requirement changes | reproduced | otherwise, where clean |"
    );
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {} | {} | {} | {} | {} | {} | {} |",
        totals.changes,
        totals.clean,
        totals.changes - totals.clean - totals.conflicts,
        totals.conflicts,
        totals.requirements,
        totals.reproduced,
        totals.differing
    );
    if openspec.is_some() {
        println!(
            "OpenSpec reproduces {} of them; {} that it alone reproduces, {} that git loopx alone does",
            totals.peer, totals.only_peer, totals.only_ours
        );
    }
    for (id, count) in &totals.refused {
        println!("refused, first for {id}: {count}");
    }
}

/// Archives one change onto `specs`, all of its domains or none. Gives the names in its deltas, folded.
fn archive<'d>(
    history: &History<'_>,
    (commit, parent): (&str, &str),
    one: &'d Moved,
    specs: &mut BTreeMap<&'d str, Option<String>>,
    totals: &mut Totals,
) -> Vec<(&'d str, String)> {
    let mut named = Vec::new();
    totals.changes += 1;
    let mut made = Vec::new();
    let mut errors: Vec<Finding> = Vec::new();
    let mut conflicts = 0;
    let settings = history.text(commit, &format!("{ARCHIVE}/{}/.openspec.yaml", one.name));
    let settings = settings.unwrap_or_default();
    let retire = settings.contains("retire_capabilities: true");
    for (domain, path) in &one.deltas {
        let text = history.text(commit, path).unwrap_or_default();
        let Delta {
            domains, findings, ..
        } = read_delta(text.as_bytes(), path);
        errors.extend(findings);
        let bases = Bases {
            default: history.base(parent, &one.name, domain),
            ..Bases::default()
        };
        let options = PlanOptions {
            retire,
            ..PlanOptions::default()
        };
        let target = specs[domain.as_str()].clone();
        for delta in &domains {
            for op in &delta.operations {
                let names = [Some(op.name.as_str()), op.to.as_deref()];
                let names = names.into_iter().flatten();
                named.extend(names.map(|name| (domain.as_str(), fold(name))));
            }
            let target = target.as_deref();
            let outcome = plan_domain(domain, &bases, target, delta, &options, &FileMerge);
            errors.extend(outcome.findings);
            conflicts += outcome.conflicts.len();
            match outcome.action {
                Action::Keep => {}
                Action::Write(text) => made.push((domain.as_str(), Some(text))),
                Action::Retire => made.push((domain.as_str(), None)),
            }
        }
    }
    let error = errors.iter().find(|f| f.severity == Severity::Error);
    match (error, conflicts) {
        (Some(error), _) => {
            *totals.refused.entry(error.id.to_owned()).or_default() += 1;
            println!(
                "{}: {} {}:{}: {}",
                one.name, error.id, error.file, error.line, error.message
            );
        }
        (None, 0) => {
            totals.clean += 1;
            specs.extend(made);
        }
        (None, _) => {
            totals.conflicts += 1;
            println!("{}: conflicts: {conflicts}", one.name);
        }
    }
    named
}
