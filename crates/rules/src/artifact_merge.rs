//! An artifact that several writers changed apart: which versions stand beside each other, and what
//! they were made from. Merging their lines is the caller's.

use super::artifact::Artifact;
use super::causality::Causality;
use super::op::Operation;
use super::session::{FileVersions, Join, Side};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use std::collections::{BTreeMap, BTreeSet};

/// Merges versions of a text that were made from one base.
pub trait Joiner {
    /// `sides` differ from each other and from the base, and come in the same order in every clone.
    fn join(&self, artifact: Artifact, base: Option<&Oid>, sides: &[Side]) -> Result<Joined>;
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The merged text, or one that shows the sides.
    pub blob: Option<Oid>,
    pub clean: bool,
}

/// Joiner that merges nothing: for histories in which nobody wrote apart.
#[derive(Clone, Copy, Debug)]
pub struct NoJoiner;

impl Joiner for NoJoiner {
    fn join(&self, _: Artifact, _: Option<&Oid>, sides: &[Side]) -> Result<Joined> {
        let blob = sides.iter().find_map(|side| side.blob.clone());
        Ok(Joined { blob, clean: false })
    }
}

/// The artifacts that operations leave behind, and the joins among them. `counted` are the places of
/// those that count, in order.
pub(super) fn artifacts(
    ops: &[&Operation],
    counted: &[usize],
    cause: &Causality,
    joiner: &dyn Joiner,
) -> Result<(BTreeMap<Artifact, Oid>, BTreeMap<Artifact, Join>)> {
    let mut writers: BTreeMap<Artifact, Vec<usize>> = BTreeMap::new();
    for at in counted {
        for artifact in ops[*at].writes.keys() {
            writers.entry(*artifact).or_default().push(*at);
        }
    }
    let mut artifacts = BTreeMap::new();
    let mut joins = BTreeMap::new();
    for (artifact, writers) in writers {
        let mut newest = cause.newest(&writers);
        if artifact.is_derived() {
            newest = newest.pop().into_iter().collect();
        }
        let (blob, join) = match newest.as_slice() {
            [only] => (written(ops, *only, artifact), None),
            several => join(ops, &writers, several, cause, artifact, joiner)?,
        };
        if let Some(blob) = blob {
            artifacts.insert(artifact, blob);
        }
        if let Some(join) = join {
            joins.insert(artifact, join);
        }
    }
    Ok((artifacts, joins))
}

fn written(ops: &[&Operation], at: usize, artifact: Artifact) -> Option<Oid> {
    ops[at].writes.get(&artifact)?.to.clone()
}

fn join(
    ops: &[&Operation],
    writers: &[usize],
    newest: &[usize],
    cause: &Causality,
    artifact: Artifact,
    joiner: &dyn Joiner,
) -> Result<(Option<Oid>, Option<Join>)> {
    // The first that not all of them had seen says what they parted from.
    let parted = writers.iter().find(|at| {
        let all = newest
            .iter()
            .all(|head| head != *at && cause.saw(*head, **at));
        !all
    });
    let base = parted.and_then(|at| ops[*at].writes.get(&artifact)?.from.clone());
    let mut sides: Vec<Side> = Vec::new();
    let mut texts = BTreeSet::from([base.clone()]);
    for at in newest {
        let blob = written(ops, *at, artifact);
        if texts.insert(blob.clone()) {
            sides.push(Side {
                op: ops[*at].op.clone(),
                by: ops[*at].by.clone(),
                blob,
            });
        }
    }
    match sides.as_slice() {
        [] => return Ok((base, None)),
        [only] => return Ok((only.blob.clone(), None)),
        _ => {}
    }
    sides.sort_by(|a, b| a.blob.cmp(&b.blob));
    let Joined { blob, clean } = joiner.join(artifact, base.as_ref(), &sides)?;
    Ok((blob, Some(Join { base, sides, clean })))
}

/// The newest versions of the files that are no artifacts, by path. Those that were written apart stay beside each
/// other: a person chooses among those of tasks, and only a program that knows another one can merge it.
pub(super) fn files(
    ops: &[&Operation],
    counted: &[usize],
    cause: &Causality,
) -> BTreeMap<String, FileVersions> {
    let mut writers: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for at in counted {
        for path in ops[*at].others.keys() {
            writers.entry(path).or_default().push(*at);
        }
    }
    let mut files = BTreeMap::new();
    for (path, writers) in writers {
        let newest = cause.newest(&writers).into_iter();
        let mut blobs: FileVersions = newest
            .filter_map(|at| ops[at].others.get(path)?.to.clone())
            .collect();
        blobs.sort();
        blobs.dedup();
        if !blobs.is_empty() {
            files.insert(path.clone(), blobs);
        }
    }
    files
}
