//! Merging the lines of artifacts that clones changed apart, and replaying with it. What comes out is a
//! function of the operations: every clone writes the same blob.

use super::record_limit;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_git::merge::{Labels, Merged, merge_file};
use loopx_rules::artifact::Artifact;
use loopx_rules::artifact_merge::{Joined, Joiner};
use loopx_rules::gate;
use loopx_rules::op::Operation;
use loopx_rules::outline::header;
use loopx_rules::replay;
use loopx_rules::review::without_verdicts;
use loopx_rules::session::{Side, State};
use loopx_rules::task;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Replays a session's operations, its artifacts merged.
pub fn replay(repo: &Repo, id: &SessionId, ops: &[Operation]) -> Result<State> {
    replay::replay(id, ops, &Lines::of(repo))
}

/// Merges line by line, as the working copy does. The same texts are merged once, however often a history
/// is replayed with it.
pub struct Lines<'r> {
    repo: &'r Repo,
    merged: RefCell<BTreeMap<Texts, Joined>>,
    read: RefCell<BTreeSet<Oid>>,
    parsed: RefCell<HashMap<Oid, Operation>>,
}

/// Number of versions that are merged into one text. Each further one stays a version of the session, and the text
/// has nothing of it: every further one would be merged with all those before it.
const SHOWN: usize = 16;

/// Key of a merge, with all that the merge depends on: the artifact, the base, and each side by its label and its text.
type Texts = (Artifact, Option<Oid>, Vec<(String, Option<Oid>)>);

impl<'r> Lines<'r> {
    pub fn of(repo: &'r Repo) -> Self {
        Lines {
            repo,
            merged: RefCell::default(),
            read: RefCell::default(),
            parsed: RefCell::default(),
        }
    }

    /// An operation from its file, which `label` names to people. What a look after another one meets again
    /// is not read again; more than one session may have is not remembered.
    pub(super) fn operation(&self, blob: &Oid, label: &str) -> Result<Operation> {
        if let Some(known) = self.parsed.borrow().get(blob) {
            return Ok(known.clone());
        }
        let op = Operation::parse(&self.repo.read_blob(blob)?, label, blob)?;
        let mut parsed = self.parsed.borrow_mut();
        if parsed.len() >= record_limit::MOST {
            parsed.clear();
        }
        parsed.insert(blob.clone(), op.clone());
        Ok(op)
    }

    /// Refuses a text that cannot be read. Each is read once.
    pub(super) fn require_readable(&self, blob: &Oid) -> Result<()> {
        if !self.read.borrow().contains(blob) {
            self.repo.with_blob(blob, |_| ())?;
            self.read.borrow_mut().insert(blob.clone());
        }
        Ok(())
    }

    pub(super) fn repo(&self) -> &'r Repo {
        self.repo
    }
}

impl Joiner for Lines<'_> {
    fn join(&self, artifact: Artifact, base: Option<&Oid>, sides: &[Side]) -> Result<Joined> {
        let labelled = sides.iter().map(|side| (label(side), side.blob.clone()));
        let texts = (artifact, base.cloned(), labelled.collect());
        if let Some(known) = self.merged.borrow().get(&texts) {
            return Ok(known.clone());
        }
        let joined = self.merge(artifact, base, sides)?;
        self.merged.borrow_mut().insert(texts, joined.clone());
        Ok(joined)
    }
}

impl Lines<'_> {
    fn merge(&self, artifact: Artifact, base: Option<&Oid>, sides: &[Side]) -> Result<Joined> {
        let repo = self.repo;
        let mut base = base.map_or_else(|| Ok(Vec::new()), |id| repo.read_blob(id))?;
        let mut clean = sides.len() <= SHOWN;
        let mut texts = Vec::new();
        for side in sides.iter().take(SHOWN) {
            match &side.blob {
                Some(blob) => texts.push((label(side), repo.read_blob(blob)?)),
                // Removed there, changed elsewhere: the text stays, and a person decides.
                None => clean = false,
            }
        }
        if artifact == Artifact::ReviewReport {
            set_verdicts_aside(&mut base, &mut texts);
        }
        let mut merged: Option<(Vec<u8>, String)> = None;
        for (name, text) in texts {
            merged = Some(match merged {
                None => (text, name),
                Some((before, names)) => {
                    let labels = Labels {
                        base: "what both were made from",
                        ours: &names,
                        theirs: &name,
                    };
                    let both = merge_artifact(artifact, [&base, &before, &text], labels)?;
                    clean &= both.clean;
                    (both.text, format!("{names}, {name}"))
                }
            });
        }
        let Some((text, _)) = merged else {
            return Ok(Joined { blob: None, clean });
        };
        clean = clean && gate::faults(artifact, &String::from_utf8_lossy(&text)).is_empty();
        let blob = repo.hash_blob(&text)?;
        if !repo.contains(&blob)? {
            repo.write_blob(&text)?;
        }
        Ok(Joined {
            blob: Some(blob),
            clean,
        })
    }
}

/// Merges the versions of an artifact, base first: a list of tasks task by task and field by field, all others line by
/// line.
pub fn merge_artifact(
    artifact: Artifact,
    [base, ours, theirs]: [&[u8]; 3],
    labels: Labels<'_>,
) -> Result<Merged> {
    let texts = [base, ours, theirs].map(|bytes| std::str::from_utf8(bytes).ok());
    if artifact == Artifact::TaskList
        && let [Some(base), Some(ours), Some(theirs)] = texts
    {
        let names = task::file::Names {
            base: labels.base,
            ours: labels.ours,
            theirs: labels.theirs,
        };
        if let Some(merged) = task::file::merge(base, ours, theirs, names) {
            return Ok(Merged {
                clean: merged.clashes.is_empty(),
                text: merged.text.into_bytes(),
            });
        }
    }
    if artifact == Artifact::Plan
        && let [Some(base), Some(ours), Some(theirs)] = texts
    {
        // What the tasks determine is nobody's words: it is computed anew from the merged list.
        let [base, ours, theirs] = [base, ours, theirs].map(header::without);
        return merge_file(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), labels);
    }
    merge_file(base, ours, theirs, labels)
}

/// Takes the computed blocks out of versions of a report that carry different verdicts.
fn set_verdicts_aside(base: &mut Vec<u8>, sides: &mut [(String, Vec<u8>)]) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut all: Vec<String> = sides.iter().map(|(_, bytes)| text(bytes)).collect();
    if without_verdicts(&all).is_none() {
        return;
    }
    all.push(text(base));
    let mut neutral = without_verdicts(&all).unwrap_or(all);
    *base = neutral.pop().unwrap_or_default().into_bytes();
    for ((_, bytes), text) in sides.iter_mut().zip(neutral) {
        *bytes = text.into_bytes();
    }
}

/// The name at a marker: who, and by which operation.
fn label(side: &Side) -> String {
    let name = super::one_line(&side.by.name);
    format!("{name} ({})", side.op)
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use loopx_base::id::{OpId, Person};
    use loopx_git::Repo;
    use loopx_rules::artifact::Artifact;
    use loopx_rules::artifact_merge::Joiner;
    use loopx_rules::session::Side;

    /// G19: a text that is in conflict for a thousand commits is merged for the first of them.
    #[test]
    fn the_same_texts_are_merged_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::init_bare(dir.path()).expect("make a repository");
        let side = |text: &str, op: char| Side {
            op: OpId::parse(&op.to_string().repeat(26)).expect("an id"),
            by: Person::parse("Ada <a@x>"),
            blob: Some(repo.write_blob(text.as_bytes()).expect("a blob")),
        };
        let sides = [side("one\n", '1'), side("two\n", '2')];
        let lines = Lines::of(&repo);
        let merge = |sides: &[Side]| {
            let joined = lines.join(Artifact::Spec, None, sides);
            joined.expect("merged")
        };
        let first = merge(&sides);
        assert!(!first.clean);
        assert_eq!(merge(&sides), first);
        assert_eq!(lines.merged.borrow().len(), 1);
        // Who wrote it stands at the marker.
        assert_ne!(merge(&[side("one\n", '3'), sides[1].clone()]), first);
        assert_eq!(lines.merged.borrow().len(), 2);
    }
}
