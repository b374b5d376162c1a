//! Merging the lines of artifacts that clones changed apart, and replaying with it. What comes out is a
//! function of the operations: every clone writes the same blob.

use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::gate;
use crate::core::id::{Oid, SessionId};
use crate::core::join::{Joined, Joiner};
use crate::core::op::Operation;
use crate::core::replay;
use crate::core::session::{Side, State};
use crate::git::Repo;
use crate::git::merge::{Labels, merge_file};

/// Replays a session's operations, its artifacts merged.
pub fn replay(repo: &Repo, id: &SessionId, ops: &[Operation]) -> Result<State> {
    replay::replay(id, ops, &Lines(repo))
}

/// Merges line by line, as the working copy does.
pub struct Lines<'r>(pub &'r Repo);

impl Joiner for Lines<'_> {
    fn join(&self, artifact: Artifact, base: Option<&Oid>, sides: &[Side]) -> Result<Joined> {
        let repo = self.0;
        let base = base.map_or_else(|| Ok(Vec::new()), |id| repo.read_blob(id))?;
        let mut clean = true;
        let mut merged: Option<(Vec<u8>, String)> = None;
        for side in sides {
            let Some(blob) = &side.blob else {
                // Removed there, changed elsewhere: the text stays, and a person decides.
                clean = false;
                continue;
            };
            let text = repo.read_blob(blob)?;
            let name = label(side);
            merged = Some(match merged {
                None => (text, name),
                Some((before, names)) => {
                    let labels = Labels {
                        base: "what both were made from",
                        ours: &names,
                        theirs: &name,
                    };
                    let both = merge_file(&base, &before, &text, labels)?;
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

/// The name at a marker: who, and by which operation.
fn label(side: &Side) -> String {
    let name = super::one_line(&side.by.name);
    format!("{name} ({})", side.op)
}
