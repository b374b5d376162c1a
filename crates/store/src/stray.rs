//! Files of a session's folder that no record names. Whoever writes the branch by hand can put anything beside the
//! records; what follows from them is the rest.
//!
//! What only a newer program understands may name files in ways that this one does not know: then nothing is said.

use super::layout;
use super::loss::{Records, Unreadable};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::session::State;
use std::collections::{BTreeMap, BTreeSet};

/// Paths of stray files below the folder.
pub(super) fn all(repo: &Repo, folder: &Oid, state: &State) -> Result<Vec<String>> {
    if !state.is_understood() {
        return Ok(Vec::new());
    }
    let (files, parts) = (layout::files(state), state.parts());
    let mut found = Vec::new();
    for (top, entry) in repo.list_tree(folder)? {
        match entry.kind {
            EntryKind::Tree if top == layout::OPS => {}
            EntryKind::Tree if top == layout::LOGS => {
                let records = Records::of(repo, Some(&Entry::tree(folder.clone())));
                let records = records.map_err(Unreadable::failure)?;
                let logs: BTreeSet<String> =
                    records.names().filter_map(|name| log_of(name)).collect();
                let paths = repo.walk_blobs(&entry.id)?.into_iter();
                let paths = paths.filter(|(path, _)| !logs.contains(path));
                found.extend(paths.map(|(path, _)| format!("{top}/{path}")));
            }
            EntryKind::Tree => {
                let below = repo.walk_blobs(&entry.id)?.into_iter();
                let below = below.map(|(path, blob)| (format!("{top}/{path}"), blob));
                found.extend(
                    below
                        .filter(|(path, blob)| {
                            !parts.contains(path) && !is_named(&files, path, blob)
                        })
                        .map(|(path, _)| path),
                );
            }
            EntryKind::Blob if is_named(&files, &top, &entry.id) => {}
            EntryKind::Blob | EntryKind::Other => found.push(top),
        }
    }
    found.sort();
    Ok(found)
}

/// The log of the run that a record's file tells of.
fn log_of(name: &str) -> Option<String> {
    let (_, id) = name.strip_suffix(".json")?.split_once('-')?;
    Some(format!("{id}.log"))
}

/// Tells whether a file that is neither a record nor a log has its place in the folder.
pub(super) fn is_named(files: &BTreeMap<String, Oid>, path: &str, blob: &Oid) -> bool {
    const OURS: [&str; 3] = [layout::STATE, layout::SEALED_OPS, layout::SEALED_SIGNATURES];
    let within = |folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    // Named by their content: what requirements were written against, and versions that were apart once.
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_content = name.strip_suffix(".md").unwrap_or(name) == blob.to_string();
    files.contains_key(path)
        || OURS.contains(&path)
        || within(layout::IMPORTED)
        || is_content && (within(layout::BASES) || within(layout::VERSIONS))
}
