//! Steps of clones: the record that a turn makes of a session, as the command would write it.

use super::turns::{ARTIFACTS, Edit, Turn};
use super::{World, branch, session_id, text, told};
use crate::{Edits, Record, Session, Snapshot, replay};
use loopx_base::id::{Oid, OpId, Person};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::covered_files;
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::op::{Answer, AnswerWord, Body, Event, Evidence, Operation, Write};
use loopx_rules::record::Draft;
use loopx_rules::replay::{redoable, undoable};
use loopx_rules::session::State;
use loopx_rules::stage::Transition;
use loopx_rules::words::Word;
use proptest::sample::Index;
use std::collections::BTreeMap;

/// Weights that a record of a newer program may have.
const WEIGHTS: [&str; 3] = ["note", "holds", "opens"];

/// A turn of one clone on one session.
pub(super) struct Step<'w> {
    pub(super) world: &'w World,
    pub(super) clone: usize,
    pub(super) snapshot: &'w Snapshot<'w>,
    pub(super) session: &'w Session,
}

impl Step<'_> {
    pub(super) fn taken(&self, turn: &Turn) -> Option<(Edits, String)> {
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

/// The commit of an archive in one month or the other.
fn archive(late: bool) -> Oid {
    Oid::parse(&if late { "a" } else { "b" }.repeat(40)).expect("an id")
}
