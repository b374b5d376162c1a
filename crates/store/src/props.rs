//! The law of the store: what a merge makes, `fsck` calls whole. Random histories of three clones, with
//! every operation that changes a session, and what holds of each of their meetings.
//!
//! A clone is a tree of the branch and its place in the history; no process runs here.

mod steps;
mod turns;

use super::check::{check_archived, check_folder};
use super::layout_audit::bindings;
use super::merge_branch::merge_trees;
use super::{Edits, Lines, Snapshot, fanout, layout, ops, replay};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_git::{Entry, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::{Body, Event, Operation, Write};
use loopx_rules::profile::ProfileName;
use loopx_rules::record::Draft;
use loopx_rules::session::Ending;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use steps::Step;
use turns::{ARTIFACTS, Edit, Turn, turns};

const CLONES: usize = 3;

/// Raises the number of histories.
const CASES: &str = "LOOPX_LAW_CASES";

/// The number of histories that fit into the suite.
const FEW: u32 = 24;

/// A commit, as far as merging looks at it.
struct Node {
    tree: Oid,
    parents: Vec<usize>,
}

struct World {
    _dir: tempfile::TempDir,
    repo: Repo,
    nodes: Vec<Node>,
    clones: [usize; CLONES],
    made: usize,
    /// Events in their order, for whoever reads a counterexample.
    story: Vec<String>,
}

fn session_id(name: &str) -> SessionId {
    SessionId::parse(name).expect("an id")
}

fn branch(n: u8) -> String {
    format!("feature-{n}")
}

impl World {
    /// Clones that share a session in the stage that so many moves lead to.
    fn new(moves: usize) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::init_bare(dir.path()).expect("make a repository");
        let format = repo.write_blob(b"2\n").expect("a blob");
        let format = BTreeMap::from([(layout::FORMAT_FILE.to_owned(), Some(Entry::blob(format)))]);
        let tree = repo.edit_tree(None, &format).expect("a tree");
        let mut world = World {
            _dir: dir,
            repo,
            nodes: vec![Node {
                tree,
                parents: Vec::new(),
            }],
            clones: [0; CLONES],
            made: 0,
            story: Vec::new(),
        };
        world.play(0, 0, &Turn::Start(false, 128, Some(0)));
        for _ in 0..moves {
            world.play(0, 0, &Turn::Approve(false, None));
            world.play(0, 0, &Turn::Enter);
        }
        // All have a text that one may take back while another approves it.
        let spec = ARTIFACTS
            .iter()
            .position(|artifact| *artifact == Artifact::Spec);
        let edit = Edit {
            artifact: spec.unwrap_or_default(),
            line: 0,
            text: 9,
        };
        world.play(0, 0, &Turn::Save(edit));
        world.clones = [world.clones[0]; CLONES];
        world
    }

    fn tree(&self, clone: usize) -> Oid {
        self.nodes[self.clones[clone]].tree.clone()
    }

    fn snapshot(&self, tree: &Oid) -> Snapshot<'_> {
        let commit = self.repo.write_constant_commit(tree, "x");
        Snapshot::at(&self.repo, commit.expect("a commit"), "loopx").expect("a state")
    }

    fn go_on(&mut self, clone: usize, tree: Oid, parents: Vec<usize>) {
        self.nodes.push(Node { tree, parents });
        self.clones[clone] = self.nodes.len() - 1;
    }

    fn past(&self, of: usize) -> BTreeSet<usize> {
        let mut known = BTreeSet::from([of]);
        let mut left = vec![of];
        while let Some(node) = left.pop() {
            for parent in &self.nodes[node].parents {
                if known.insert(*parent) {
                    left.push(*parent);
                }
            }
        }
        known
    }

    /// The newest commit that two have in common.
    fn base(&self, one: usize, other: usize) -> usize {
        let (one, other) = (self.past(one), self.past(other));
        one.intersection(&other).copied().max().unwrap_or_default()
    }

    /// Commit that brings two commits together: a new one, or the one that has both.
    fn meet(&mut self, one: usize, other: usize) -> Result<usize, TestCaseError> {
        let base = self.base(one, other);
        if base == other {
            return Ok(one);
        }
        if base == one {
            return Ok(other);
        }
        let [before, ours, theirs] = [base, one, other].map(|at| self.nodes[at].tree.clone());
        let merged = self.merged(&before, &ours, &theirs)?;
        self.hold(
            self.merged(&before, &theirs, &ours)? == merged,
            "a+b is not b+a",
        )?;
        self.hold(
            self.merged(&theirs, &merged, &theirs)? == merged,
            "(a+b)+b is not a+b",
        )?;
        self.hold(
            self.merged(&ours, &ours, &merged)? == merged,
            "a+(a+b) is not a+b",
        )?;
        let has = self.records(&merged);
        for side in [&ours, &theirs] {
            for record in self.records(side) {
                self.hold(has.contains(&record), &format!("{record:?} is gone"))?;
            }
        }
        self.whole(&merged)?;
        self.nodes.push(Node {
            tree: merged,
            parents: vec![one, other],
        });
        Ok(self.nodes.len() - 1)
    }

    fn merged(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Oid, TestCaseError> {
        let merged = merge_trees(&self.repo, base, ours, theirs, false);
        let merged = merged.map_err(|failure| self.broken(&failure.message))?;
        Ok(merged.tree)
    }

    fn broken(&self, what: &str) -> TestCaseError {
        TestCaseError::fail(format!("{what}\n{}", self.story.join("\n")))
    }

    fn hold(&self, holds: bool, what: &str) -> Result<(), TestCaseError> {
        if holds {
            Ok(())
        } else {
            Err(self.broken(what))
        }
    }

    /// Every record of every session, by the uid of the session.
    fn records(&self, tree: &Oid) -> BTreeSet<(String, String, Oid)> {
        let snapshot = self.snapshot(tree);
        let mut found = BTreeSet::new();
        for (_, folder) in snapshot.session_folders(true).expect("sessions") {
            let session = snapshot.load_folder(folder).expect("a session");
            let records = session.state.ops.as_ref().expect("operations");
            for held in ops::files(&self.repo, records).expect("files") {
                found.insert((session.state.uid.clone(), held.name, held.entry.id));
            }
        }
        found
    }

    /// Paths at which two trees differ.
    fn differing(&self, one: &Oid, other: &Oid) -> Vec<String> {
        let walk = |tree: &Oid| -> BTreeSet<(String, Oid)> {
            self.repo
                .walk_blobs(tree)
                .expect("a tree")
                .into_iter()
                .collect()
        };
        let (one, other) = (walk(one), walk(other));
        let differing = one.symmetric_difference(&other);
        differing
            .map(|(path, blob)| format!("{path} {}", blob.short()))
            .collect()
    }

    /// Checks that nothing is wrong with a tree.
    fn whole(&self, tree: &Oid) -> Result<(), TestCaseError> {
        let snapshot = self.snapshot(tree);
        let lines = Lines::of(&self.repo);
        for (id, folder) in snapshot.session_folders(true).expect("sessions") {
            let path = folder.path.clone();
            let what = if path.starts_with(layout::ARCHIVE) {
                check_archived(&self.repo, &snapshot, folder)
            } else {
                check_folder(&lines, &id, &folder.entry.id).map(|flaw| flaw.map(|(what, _)| what))
            };
            let what = what.map_err(|failure| self.broken(&failure.message))?;
            self.hold(what.is_none(), &format!("{path}: {what:?}"))?;
        }
        let bound = bindings(&self.repo, &snapshot, &BTreeSet::new(), None).expect("bindings");
        self.hold(bound.is_empty(), &format!("{bound:?}"))
    }

    /// Plays an act of a clone on one of its sessions; an act that the program would refuse does not happen.
    fn play(&mut self, clone: usize, which: u8, turn: &Turn) {
        let tree = self.tree(clone);
        let Some((edits, said)) = self.decided(clone, &tree, which, turn) else {
            return;
        };
        self.made += 1;
        let tree = fanout::edit(&self.repo, Some(&tree), &edits).expect("a tree");
        self.story.push(format!("clone {clone}: {said}"));
        self.go_on(clone, tree, vec![self.clones[clone]]);
    }

    fn decided(&self, clone: usize, tree: &Oid, which: u8, turn: &Turn) -> Option<(Edits, String)> {
        let snapshot = self.snapshot(tree);
        if let Turn::Start(name, uid, on) = turn {
            return self.start(clone, &snapshot, *name, *uid, *on);
        }
        let mut folders = snapshot.session_folders(true).expect("sessions");
        if folders.is_empty() {
            return None;
        }
        let (_, folder) = folders.swap_remove(usize::from(which) % folders.len());
        let session = snapshot.load_folder(folder).expect("a session");
        let step = Step {
            world: self,
            clone,
            snapshot: &snapshot,
            session: &session,
        };
        let is_archived = matches!(session.state.ending, Some(Ending::Archived { .. }));
        if is_archived && !matches!(turn, Turn::Note(_) | Turn::Unarchive(_)) {
            return None;
        }
        step.taken(turn)
    }

    fn start(
        &self,
        clone: usize,
        snapshot: &Snapshot<'_>,
        name: bool,
        uid: u8,
        on: Option<u8>,
    ) -> Option<(Edits, String)> {
        let id = session_id(if name { "auth" } else { "demo" });
        if snapshot.has(&id).expect("a look") {
            return None;
        }
        let branch = on.map(branch);
        if let Some(branch) = &branch
            && !snapshot.bound_to(branch).expect("a look").is_empty()
        {
            return None;
        }
        let event = Event::Started {
            uid: format!("{uid:03}{:023}", self.made),
            title: id.to_string(),
            profile: ProfileName::standard(),
            stage: None,
            branch: branch.clone(),
            base: None,
            issues: Vec::new(),
        };
        let mut draft = self.draft(clone, 1, Vec::new(), event.into());
        if let Body::Session(step) = &draft.body
            && let Event::Started { uid, .. } = &step.event
        {
            draft.entity.clone_from(uid);
        }
        let intent = self.repo.write_blob(text().as_bytes()).expect("a blob");
        let write = Write {
            from: None,
            to: Some(intent),
        };
        draft.writes.insert(Artifact::Intent, write);
        let op = self.sealed(&draft);
        let state = replay(&self.repo, &id, std::slice::from_ref(&op)).expect("a state");
        let mut edits = Edits::default();
        edits
            .record(&self.repo, None, &op, &state)
            .expect("recorded");
        let said = told(&id, &op);
        Some((edits, said))
    }

    fn draft(&self, clone: usize, seq: u64, after: Vec<OpId>, body: Body) -> Draft {
        Draft {
            seq,
            after,
            entity: String::new(),
            tx: format!("{:026}", self.made),
            at: "2026-01-01T00:00:00Z".into(),
            by: Person::parse(&format!("Person {clone} <p{clone}@x>")),
            committer: None,
            reason: None,
            writes: BTreeMap::new(),
            others: BTreeMap::new(),
            body,
        }
    }

    fn sealed(&self, draft: &Draft) -> Operation {
        let seal = draft.seal(|bytes| self.repo.hash_blob(bytes));
        seal.expect("an operation")
    }
}

/// A text of lines that can be changed one by one.
fn text() -> String {
    (0..6).map(|line| format!("line {line}\n\n")).collect()
}

fn told(id: &SessionId, op: &Operation) -> String {
    let short = |op: &OpId| op.as_str().chars().take(6).collect::<String>();
    let after: Vec<String> = op.after.iter().map(short).collect();
    let writes: Vec<String> = op
        .writes
        .iter()
        .map(|(artifact, write)| {
            let to = write.to.as_ref().map_or("nothing", |blob| blob.short());
            format!("{artifact}={to}")
        })
        .collect();
    format!(
        "{id} @{} {} after {}: {:?} {}",
        op.seq,
        short(&op.op),
        after.join(","),
        op.body,
        writes.join(" ")
    )
}

/// Plays a history, and holds every meeting in it to the law.
fn judged(moves: usize, turns: &[(usize, u8, Turn)]) -> Result<(), TestCaseError> {
    let mut world = World::new(moves);
    for (clone, which, turn) in turns {
        match turn {
            Turn::Fetch(other) => {
                let (one, other_tip) = (world.clones[*clone], world.clones[*other]);
                world
                    .story
                    .push(format!("clone {clone}: fetch of clone {other}"));
                world.clones[*clone] = world.meet(one, other_tip)?;
            }
            turn => {
                world.play(*clone, *which, turn);
                let tree = world.tree(*clone);
                world.whole(&tree)?;
            }
        }
    }
    world.story.push("all meet".into());
    let mut trees = Vec::new();
    for [one, other, third] in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let both = world.meet(world.clones[one], world.clones[other])?;
        let all = world.meet(both, world.clones[third])?;
        trees.push(world.nodes[all].tree.clone());
    }
    for tree in &trees[1..] {
        let paths = world.differing(&trees[0], tree);
        world.hold(
            paths.is_empty(),
            &format!("an order of meetings shows: {paths:#?}"),
        )?;
    }
    Ok(())
}

/// T1: whatever clones do apart, what their meetings make is whole for everybody who checks it.
#[test]
fn t1_what_merge_makes_is_whole() {
    let cases = std::env::var(CASES).ok();
    let mut runner = TestRunner::new(Config {
        cases: cases.and_then(|cases| cases.parse().ok()).unwrap_or(FEW),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    });
    let run = runner.run(&(0..5_usize, turns()), |(moves, turns)| {
        judged(moves, &turns)
    });
    if let Err(why) = run {
        panic!("{why}");
    }
}

/// A session that one clone gave up on a text that another took back has not ended, and its branch still finds it.
#[test]
fn a_session_that_has_not_ended_after_all_has_its_branch() {
    let mut world = World::new(0);
    world.play(0, 0, &Turn::Undo(1));
    world.play(1, 0, &Turn::Event(Box::new(Event::Abandoned)));
    let met = world.meet(world.clones[0], world.clones[1]);
    let met = met.expect("whole");
    let snapshot = world.snapshot(&world.nodes[met].tree);
    let demo = session_id("demo");
    let session = snapshot.session(&demo).expect("a look");
    let state = session.expect("a session").state;
    assert!(state.is_active() && !state.conflicts.is_empty());
    assert_eq!(snapshot.bound_to(&branch(0)).expect("a look"), [demo]);
}
