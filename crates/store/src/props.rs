//! The law of the store: what a merge makes, `fsck` calls whole. Random histories of three clones, with
//! every operation that changes a session, and what holds of each of their meetings.
//!
//! A clone is a tree of the branch and its place in the history; no process runs here.

use super::check::{check_archived, check_folder};
use super::layout_audit::bindings;
use super::merge_branch::merge_trees;
use super::{Edits, Lines, Record, Session, Snapshot, fanout, layout, ops, replay};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_git::{Entry, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::covered_files;
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::op::{
    Answer, AnswerWord, Body, CodeVerdict, Delegation, DelegationStatus, Event, Evidence, Lane,
    LaneStatus, Operation, PlanLane, PlanVerdict, ReviewFinding, Smell, Target, Verdict, Write,
};
use loopx_rules::profile::ProfileName;
use loopx_rules::record::Draft;
use loopx_rules::replay::{redoable, undoable};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::words::Word;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const CLONES: usize = 3;

/// Raises the number of histories.
const CASES: &str = "LOOPX_LAW_CASES";

/// The number of histories that fit into the suite.
const FEW: u32 = 24;

/// Weights that a record of a newer program may have.
const WEIGHTS: [&str; 3] = ["note", "holds", "opens"];

const ARTIFACTS: [Artifact; 5] = [
    Artifact::Intent,
    Artifact::Spec,
    Artifact::Plan,
    Artifact::Tasks,
    Artifact::ReviewReport,
];

/// Act of one clone on one of its sessions.
#[derive(Clone, Debug)]
enum Turn {
    /// A session of one of two names; the number makes its uid.
    Start(bool, u8, Option<u8>),
    Save(Edit),
    Remove(Index),
    /// The way on from the stage, or the first way back.
    Approve(bool, Option<Edit>),
    /// Enter the stage of the transition that is armed, whichever it is.
    Enter,
    Event(Box<Event>),
    /// Word that answers the first finding.
    Answer(AnswerWord),
    Bind(u8),
    Run(i32, u8),
    Archive(bool),
    /// The archive of one month or the other is taken back.
    Unarchive(bool),
    Undo(usize),
    Redo(usize),
    /// Conflict by its number, and whether its operation counts.
    Settle(Index, bool),
    /// A side of an artifact in conflict.
    Choose(Index),
    Note(u8),
    Rename,
    /// Record of a newer program: its weight, and whether it changes a file that nobody knows here.
    Unknown(u8, Option<u8>),
    /// Fetch of all that another clone has.
    Fetch(usize),
}

/// Change of one line of an artifact.
#[derive(Clone, Debug)]
struct Edit {
    /// Index into [`ARTIFACTS`].
    artifact: usize,
    line: usize,
    text: u8,
}

fn edit() -> impl Strategy<Value = Edit> {
    (0..ARTIFACTS.len(), 0..6_usize, 0..5_u8).prop_map(|(artifact, line, text)| Edit {
        artifact,
        line,
        text,
    })
}

fn tree() -> Oid {
    Oid::parse(&"1".repeat(40)).expect("an id")
}

fn reported(status: LaneStatus) -> Event {
    Event::LaneReported {
        lane: Lane::Execution,
        status,
        summary: String::new(),
        tree: tree(),
    }
}

fn reviewed(verdict: CodeVerdict) -> Event {
    Event::Reviewed {
        verdict: Verdict {
            verdict,
            target: Some(Target::Plan),
            architecture: Smell::Pass,
            architecture_target: None,
            findings: match verdict {
                CodeVerdict::Approve => Vec::new(),
                _ => vec![ReviewFinding::read("high: no test").expect("a finding")],
            },
            base: None,
            head: None,
            onto: None,
            seen: None,
            tree: tree(),
            files: BTreeMap::new(),
            commits: 1,
            dependence: Vec::new(),
        },
    }
}

fn delegated(status: DelegationStatus) -> Event {
    Event::Delegated {
        delegation: Delegation {
            id: "worker".into(),
            role: "worker".into(),
            status,
            blocking: true,
            summary: String::new(),
        },
    }
}

fn event() -> impl Strategy<Value = Event> {
    proptest::prop_oneof![
        select(vec![ProfileName::standard(), ProfileName::deep()])
            .prop_map(|profile| Event::Clarified { profile }),
        select(vec![
            (ProfileName::quick(), Stage::Build),
            (ProfileName::lite(), Stage::Plan),
            (ProfileName::standard(), Stage::Clarify),
        ])
        .prop_map(|(profile, stage)| Event::Reprofiled {
            profile,
            stage,
            head: None
        }),
        select(&[Transition::BuildToPlan, Transition::DoneToBuild][..]).prop_map(|transition| {
            Event::Entered {
                transition,
                scope: Vec::new(),
                out_of_scope: Vec::new(),
                head: None,
            }
        }),
        Just(Event::Drafted),
        select(&[PlanVerdict::Approve, PlanVerdict::Iterate][..]).prop_map(|verdict| {
            Event::PlanReviewed {
                lane: PlanLane::Critic,
                verdict,
                findings: Vec::new(),
                found: Vec::new(),
                files: BTreeMap::new(),
            }
        }),
        (1..4_u32).prop_map(|by| Event::Extended {
            stage: Stage::Build,
            by
        }),
        select(&[LaneStatus::Complete, LaneStatus::Failed][..]).prop_map(reported),
        select(&[DelegationStatus::Active, DelegationStatus::Complete][..]).prop_map(delegated),
        Just(Event::Waived { task: "1".into() }),
        any::<bool>().prop_map(|no_deslop| Event::Audited {
            tree: tree(),
            blockers: Vec::new(),
            no_deslop,
        }),
        Just(Event::Claimed),
        Just(Event::Resumed),
        select(&[CodeVerdict::Approve, CodeVerdict::RequestChanges][..]).prop_map(reviewed),
        Just(Event::Refreshed),
        Just(Event::Rebased { base: tree() }),
        Just(Event::Abandoned),
        Just(Event::Unbound),
    ]
}

/// Turns, each with its clone and its session.
fn turns() -> impl Strategy<Value = Vec<(usize, u8, Turn)>> {
    let some = proptest::option::of::<_>;
    let turn = proptest::prop_oneof![
        1 => (any::<bool>(), any::<u8>(), some(0..2_u8))
            .prop_map(|(name, uid, branch)| Turn::Start(name, uid, branch)),
        10 => edit().prop_map(Turn::Save),
        1 => any::<Index>().prop_map(Turn::Remove),
        8 => (proptest::bool::weighted(0.2), proptest::option::weighted(0.3, edit()))
            .prop_map(|(back, edit)| Turn::Approve(back, edit)),
        5 => Just(Turn::Enter),
        4 => event().prop_map(|event| Turn::Event(Box::new(event))),
        2 => select(&[AnswerWord::Fixed, AnswerWord::Open][..]).prop_map(Turn::Answer),
        1 => (0..2_u8).prop_map(Turn::Bind),
        1 => (0..2_i32, 0..3_u8).prop_map(|(exit, text)| Turn::Run(exit, text)),
        2 => any::<bool>().prop_map(Turn::Archive),
        1 => any::<bool>().prop_map(Turn::Unarchive),
        6 => (1..4_usize).prop_map(Turn::Undo),
        4 => (1..4_usize).prop_map(Turn::Redo),
        3 => (any::<Index>(), any::<bool>()).prop_map(|(which, keep)| Turn::Settle(which, keep)),
        2 => any::<Index>().prop_map(Turn::Choose),
        2 => any::<u8>().prop_map(Turn::Note),
        1 => Just(Turn::Rename),
        1 => (0..3_u8, some(0..3_u8)).prop_map(|(weight, file)| Turn::Unknown(weight, file)),
        9 => (0..CLONES).prop_map(Turn::Fetch),
    ];
    vec((0..CLONES, any::<u8>(), turn), 1..36)
}

/// The commit of an archive in one month or the other.
fn archive(late: bool) -> Oid {
    Oid::parse(&if late { "a" } else { "b" }.repeat(40)).expect("an id")
}

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

/// A turn of one clone on one session.
struct Step<'w> {
    world: &'w World,
    clone: usize,
    snapshot: &'w Snapshot<'w>,
    session: &'w Session,
}

impl Step<'_> {
    fn taken(&self, turn: &Turn) -> Option<(Edits, String)> {
        let none = BTreeMap::new();
        let state = &self.session.state;
        match turn {
            Turn::Start(..) | Turn::Fetch(_) => None,
            Turn::Save(edit) => self.act(Event::Saved.into(), self.written(edit)),
            Turn::Remove(which) => {
                let there: Vec<&Artifact> = state.artifacts.keys().collect();
                let artifact = **there.get(which.index(there.len().max(1)))?;
                self.act(Event::Saved.into(), self.write(artifact, None))
            }
            Turn::Approve(back, edit) => {
                let writes = edit.as_ref().map_or(none, |edit| self.written(edit));
                self.act(self.approval(*back, &writes)?.into(), writes)
            }
            Turn::Enter => {
                let armed = state.approvals.values().find(|approval| approval.armed)?;
                let event = Event::Entered {
                    transition: armed.transition,
                    scope: Vec::new(),
                    out_of_scope: Vec::new(),
                    head: None,
                };
                self.act(event.into(), none)
            }
            Turn::Event(event) => self.act((**event).clone().into(), none),
            Turn::Answer(word) => self.answer(*word),
            Turn::Bind(n) => {
                let branch = branch(*n);
                self.act(Event::Bound { branch }.into(), none)
            }
            Turn::Run(exit, text) => self.run(*exit, *text),
            Turn::Archive(late) => {
                let event = Event::Archived {
                    commit: Some(archive(*late)),
                    target: "main".into(),
                    month: if *late { "2026-02" } else { "2026-01" }.into(),
                };
                let blob = self.world.repo.write_blob(b"# Decision\n").expect("a blob");
                self.act(event.into(), self.write(Artifact::AdrCandidate, Some(blob)))
            }
            Turn::Unarchive(late) => {
                let event = Event::Unarchived {
                    archive: archive(*late),
                    commit: archive(!*late),
                    target: "main".into(),
                };
                self.act(event.into(), none)
            }
            Turn::Undo(count) => {
                let ops = self.operations();
                let undone = ids(undoable(&ops).into_iter().take(*count));
                self.tell(Word::Undone { undone }, ops)
            }
            Turn::Redo(count) => {
                let ops = self.operations();
                let redone = ids(redoable(&ops).operations.into_iter().take(*count));
                self.tell(Word::Redone { redone }, ops)
            }
            Turn::Settle(which, keeps) => self.settle(which, *keeps),
            Turn::Choose(which) => self.choose(which),
            Turn::Note(n) => {
                let note = Note::from(Said::new(NoteKind::Learning, format!("note {n}")));
                self.act(note.into(), none)
            }
            Turn::Rename => {
                let word = Word::Renamed {
                    from: session_id("before"),
                    to: state.id.clone(),
                };
                self.act(word.into(), none)
            }
            Turn::Unknown(weight, file) => self.unknown(*weight, *file),
        }
    }

    fn answer(&self, answer: AnswerWord) -> Option<(Edits, String)> {
        let finding = self.session.state.findings.first()?;
        let answers = vec![Answer {
            op: finding.op.clone(),
            nth: finding.value.nth,
            answer,
        }];
        let event = Event::Answered {
            answers,
            tree: None,
        };
        self.act(event.into(), BTreeMap::new())
    }

    fn operations(&self) -> Vec<Operation> {
        let read = self.snapshot.operations(self.session);
        read.expect("operations")
    }

    fn write(&self, artifact: Artifact, to: Option<Oid>) -> BTreeMap<Artifact, Write> {
        let from = self.session.state.artifacts.get(&artifact).cloned();
        BTreeMap::from([(artifact, Write { from, to })])
    }

    fn written(&self, edit: &Edit) -> BTreeMap<Artifact, Write> {
        let artifact = ARTIFACTS[edit.artifact];
        let repo = &self.world.repo;
        let before = match self.session.state.artifacts.get(&artifact) {
            Some(blob) => String::from_utf8(repo.read_blob(blob).expect("a text")).expect("UTF-8"),
            None => text(),
        };
        let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
        let at = (edit.line * 2).min(lines.len().saturating_sub(1));
        if let Some(line) = lines.get_mut(at) {
            *line = format!("text {}", edit.text);
        }
        let after = format!("{}\n", lines.join("\n"));
        let blob = repo.write_blob(after.as_bytes()).expect("a blob");
        self.write(artifact, Some(blob))
    }

    fn approval(&self, back: bool, writes: &BTreeMap<Artifact, Write>) -> Option<Event> {
        let mut after = self.session.state.clone();
        for (artifact, write) in writes {
            match &write.to {
                Some(blob) => after.artifacts.insert(*artifact, blob.clone()),
                None => after.artifacts.remove(artifact),
            };
        }
        let mut ways = Transition::ALL.into_iter();
        let transition = ways.find(|way| {
            way.from() == after.stage && way.is_rollback() == back && way.is_approved()
        })?;
        let files = covered_files(&after, transition);
        let named = files.iter();
        let content = self
            .world
            .repo
            .tree_id(named.map(|(artifact, blob)| (artifact.path(), blob)));
        Some(Event::Approved {
            transition,
            content: content.expect("a tree"),
            files,
            code: None,
            completes: transition == Transition::ReviewToDone,
            head: None,
            amends: None,
        })
    }

    fn draft(&self, body: Body) -> Draft {
        let state = &self.session.state;
        let draft = self
            .world
            .draft(self.clone, state.seq + 1, state.newest(), body);
        Draft {
            entity: state.uid.clone(),
            ..draft
        }
    }

    fn act(&self, body: Body, writes: BTreeMap<Artifact, Write>) -> Option<(Edits, String)> {
        let mut draft = self.draft(body);
        draft.writes = writes;
        self.record((&self.world.sealed(&draft)).into())
    }

    /// The way of every command but undo, redo and resolve.
    fn record(&self, record: Record<'_>) -> Option<(Edits, String)> {
        let before = &self.session.state;
        let mut state = before.clone();
        state.apply(record.op);
        if state.conflicts.len() > before.conflicts.len() || state.void.len() > before.void.len() {
            return None;
        }
        Some(self.edits(record, &state))
    }

    fn edits(&self, record: Record<'_>, state: &State) -> (Edits, String) {
        let repo = &self.world.repo;
        let said = told(&state.id, record.op);
        let mut edits = Edits::default();
        edits
            .record(repo, Some(self.session), record, state)
            .expect("recorded");
        (edits, said)
    }

    fn run(&self, exit: i32, text: u8) -> Option<(Edits, String)> {
        let said = format!("said {text}\n");
        let log = self.world.repo.write_blob(said.as_bytes()).expect("a blob");
        let evidence = Evidence {
            what: "test".into(),
            task: None,
            argv: vec!["true".into()],
            exit: Some(exit),
            started: "2026-01-01T00:00:00Z".into(),
            millis: 1,
            tree: log.clone(),
            tree_kept: true,
            changed: Vec::new(),
            output: log.clone(),
            output_bytes: said.len() as u64,
            truncated: false,
            limit: None,
        };
        let op = self
            .world
            .sealed(&self.draft(Event::Ran { evidence }.into()));
        self.record(Record {
            op: &op,
            signature: None,
            log: Some(log),
        })
    }

    /// The way of undo and redo.
    fn tell(&self, word: Word, mut ops: Vec<Operation>) -> Option<(Edits, String)> {
        if let Word::Undone { undone: ids } | Word::Redone { redone: ids } = &word
            && ids.is_empty()
        {
            return None;
        }
        let before = &self.session.state;
        let op = self.world.sealed(&self.draft(word.into()));
        ops.push(op.clone());
        let state = replay(&self.world.repo, &before.id, &ops).expect("a state");
        let known = |op: &OpId| before.conflicts.iter().any(|known| known.op == *op);
        if state.conflicts.iter().any(|conflict| !known(&conflict.op)) {
            return None;
        }
        let (edits, said) = self.edits((&op).into(), &state);
        Some((edits, said))
    }

    /// The way of resolve.
    fn settle(&self, which: &Index, keeps: bool) -> Option<(Edits, String)> {
        let conflicts = &self.session.state.conflicts;
        let conflict = conflicts.get(which.index(conflicts.len().max(1)))?;
        let own = vec![conflict.op.clone()];
        let word = if !keeps {
            Word::Resolved {
                keep: Vec::new(),
                drop: own,
            }
        } else if conflict.with.is_empty() {
            return None;
        } else {
            Word::Resolved {
                keep: own,
                drop: conflict.with.clone(),
            }
        };
        self.rebuild(&self.draft(word.into()))
    }

    fn choose(&self, which: &Index) -> Option<(Edits, String)> {
        let mut contested = self.session.state.contested();
        let (artifact, join) = contested.next()?;
        let side = join.sides.get(which.index(join.sides.len()))?;
        let word = Word::Resolved {
            keep: Vec::new(),
            drop: Vec::new(),
        };
        let mut draft = self.draft(word.into());
        draft.writes = self.write(artifact, side.blob.clone());
        self.rebuild(&draft)
    }

    fn rebuild(&self, draft: &Draft) -> Option<(Edits, String)> {
        let op = self.world.sealed(draft);
        let mut edits = Edits::default();
        let state = edits.rebuild(&self.world.repo, self.session, &op);
        let state = state.expect("rebuilt");
        Some((edits, told(&state.id, &op)))
    }

    fn unknown(&self, weight: u8, file: Option<u8>) -> Option<(Edits, String)> {
        let repo = &self.world.repo;
        let state = &self.session.state;
        let mut record = serde_json::json!({
            "format": 2,
            "seq": state.seq + 1,
            "after": state.newest(),
            "entity": state.uid,
            "tx": format!("{:026}", self.world.made),
            "at": "2026-01-01T00:00:00Z",
            "by": Person::parse(&format!("Person {} <p@x>", self.clone)),
            "topic": "task",
            "kind": "opened",
            "weight": WEIGHTS[usize::from(weight)],
            "needs": "0.9",
            "body": { "task": self.world.made },
        });
        if let Some(n) = file {
            let before = state.files.get("tasks.json").and_then(|all| all.last());
            let blob = repo.write_blob(format!("task {n}\n").as_bytes());
            record["files"] = serde_json::json!({
                "tasks.json": { "from": before, "to": blob.expect("a blob") },
            });
        }
        let bytes = serde_json::to_vec(&record).expect("JSON");
        let blob = repo.write_blob(&bytes).expect("a blob");
        let op = Operation::parse(&bytes, "a record", &blob).expect("an operation");
        self.record((&op).into())
    }
}

fn ids<'o>(ops: impl Iterator<Item = &'o Operation>) -> Vec<OpId> {
    ops.map(|op| op.op.clone()).collect()
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
