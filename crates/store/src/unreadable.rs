//! Objects of a session that cannot be read: a torn file, a pack that is gone. That is damage of the
//! repository, and says nothing against the record. The same bytes are put back where somebody surely has
//! them; everything else is for people, who are told what is missing.

use super::check::{Damage, Mend, computed};
use super::{Snapshot, fanout, layout};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::session::is_state_file;
use std::fmt;

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Path below the session's folder; empty for the folder itself.
    pub path: String,
    pub id: Oid,
    pub why: String,
}

impl Unread {
    /// Tells whether the operations say all that the object said.
    pub(super) fn is_computed(&self) -> bool {
        is_state_file(&self.path)
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.path.as_str() {
            "" => "its folder",
            path => path,
        };
        write!(f, "{what} cannot be read: {}", self.why)
    }
}

/// Depth of a look at a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Files and folders at the top, and the artifacts below.
    Top,
    /// All files and folders below it, without reading the files.
    Headers,
    Bytes,
}

/// Objects of a session's folder that cannot be read.
pub(super) fn below(repo: &Repo, entry: &Entry, depth: Depth) -> Vec<Unread> {
    let mut found = Vec::new();
    let mut next = vec![(String::new(), entry.clone())];
    while let Some((path, entry)) = next.pop() {
        let read = match entry.kind {
            EntryKind::Tree if is_opened(&path, depth) => repo.list_tree(&entry.id).map(|inner| {
                next.extend(inner.into_iter().map(|(name, entry)| {
                    let path = match path.as_str() {
                        "" => name,
                        path => format!("{path}/{name}"),
                    };
                    (path, entry)
                }));
            }),
            EntryKind::Blob if depth == Depth::Bytes => repo.with_blob(&entry.id, |_| ()),
            EntryKind::Tree | EntryKind::Blob => repo.require_readable(&entry.id),
            EntryKind::Other => Ok(()),
        };
        if let Err(failure) = read {
            found.push(Unread {
                path,
                id: entry.id,
                why: failure.message,
            });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn is_opened(path: &str, depth: Depth) -> bool {
    depth != Depth::Top || path.is_empty() || path == "change"
}

/// Puts back what of these damages can be put back. `copy` gives the bytes of a file that may be the one of a
/// session, by its path in the session's folder. Refuses before it writes anything where one has nobody's bytes.
pub fn put_back(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    damages: &[Damage],
    copy: impl Fn(&SessionId, &str) -> Option<Vec<u8>>,
) -> Result<Vec<Oid>> {
    let torn = damages.iter().filter(|damage| damage.mend == Mend::PutBack);
    let (mut blobs, mut computable, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for damage in torn {
        let id = SessionId::parse(&damage.session).ok();
        let mut left = damage.clone();
        left.unread.retain(|one| {
            let Some(id) = &id else { return true };
            if one.is_computed() {
                computable.push((id.clone(), one.clone()));
                return false;
            }
            let bytes = copy(id, &one.path).filter(|bytes| {
                let same = repo.hash_blob(bytes);
                same.is_ok_and(|same| same == one.id)
            });
            let is_lost = bytes.is_none();
            blobs.extend(bytes);
            is_lost
        });
        if !left.unread.is_empty() {
            lost.push(left);
        }
    }
    if !lost.is_empty() {
        return Err(self::lost(&lost.iter().collect::<Vec<_>>()));
    }
    let mut done = repo.put_back(&blobs)?;
    let mut states = Vec::new();
    for (id, torn) in computable {
        let path = layout::session(&id);
        let Some(folder) = fanout::entry_at(repo, snapshot.tree(), &path)? else {
            continue;
        };
        // Where it comes out as another one, a commit says so.
        let known = computed(repo, &id, &folder.id).unwrap_or_default();
        if let Some(bytes) = known.get(&torn.path)
            && repo.hash_blob(bytes)? == torn.id
        {
            states.push(bytes.clone());
        }
    }
    done.extend(repo.put_back(&states)?);
    Ok(done)
}

/// Failure for objects of which nobody here has the bytes.
pub(super) fn lost(damages: &[&Damage]) -> Failure {
    let all = || {
        let each = damages.iter();
        each.flat_map(|damage| damage.unread.iter().map(|one| (&damage.session, one)))
    };
    let more = match all().count() {
        0 | 1 => String::new(),
        n => format!("; {} more objects cannot be read", n - 1),
    };
    let Some((session, one)) = all().next() else {
        return Failure::internal(Code::ObjectDamaged, "an object cannot be read");
    };
    Failure::internal(
        Code::ObjectDamaged,
        format!(
            "{session}: {one}{more}. Nothing here has the same bytes, and nothing was changed: \
             the operations that can be read stay"
        ),
    )
    .help(
        hint!["move its file away, if one is named, and git fetch --refetch, or copy the file from another clone or a backup; git fsck names the others; then ", command!("fsck --repair")],
    )
}
