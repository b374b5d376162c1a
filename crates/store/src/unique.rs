//! Uniqueness of sessions: a uid stands for one session on the whole branch, the archive and new names included.
//! Records about a session are about it alone, so that a copy would borrow its approvals.

use super::loss::{Holding, uid};
use super::snapshot::Folder;
use super::{Session, SignatureFile, SignatureFiles, Snapshot};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_rules::signature::Signed;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Uids of sessions, by the trees of their folders.
#[derive(Default)]
pub(super) struct Uids(HashMap<Oid, Option<String>>);

impl Uids {
    /// The uid of a folder; `None` where nobody can say, which is damage of its own.
    fn of(&mut self, snapshot: &Snapshot<'_>, folder: &Folder) -> Option<String> {
        let known = self.0.entry(folder.entry.id.clone());
        let read = || {
            uid(snapshot.repo(), &folder.entry).or_else(|| {
                let session = snapshot.load_folder(folder.clone());
                Some(session.ok()?.state.uid)
            })
        };
        known.or_insert_with(read).clone()
    }

    /// Sessions that came to a place at which no parent has them, while another place has them too. One that
    /// moved, to the archive or to another name, left its place. Each with its path.
    pub(super) fn copies(
        &mut self,
        now: &Holding<'_>,
        before: &[Rc<Holding<'_>>],
    ) -> Vec<(String, String)> {
        let mut came: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (path, (_, folder)) in &now.folders {
            let parents = before.iter().filter_map(|one| {
                let (_, there) = one.folders.get(path)?;
                Some((one, there))
            });
            let parents: Vec<_> = parents.collect();
            if parents.iter().any(|(_, there)| there.entry == folder.entry) {
                continue;
            }
            let Some(uid) = self.of(&now.snapshot, folder) else {
                continue;
            };
            let mut parents = parents.into_iter();
            let stayed =
                parents.any(|(one, there)| self.of(&one.snapshot, there).as_ref() == Some(&uid));
            if !stayed {
                came.entry(uid).or_default().push(path);
            }
        }
        // One that left its place for one other was told from all others when it came there.
        for (one, path, folder) in gone(now, before) {
            if let Some(uid) = self.of(&one.snapshot, folder)
                && came
                    .get(&uid)
                    .is_some_and(|paths| paths.len() == 1 && paths[0] != path)
            {
                came.remove(&uid);
            }
        }
        if came.is_empty() {
            return Vec::new();
        }
        // The place that each of them has already, or else the first of those that came: each copy is named once.
        let mut places: BTreeMap<&String, &str> = BTreeMap::new();
        for (path, (_, folder)) in &now.folders {
            if let Some(uid) = self.of(&now.snapshot, folder)
                && let Some((uid, copies)) = came.get_key_value(&uid)
            {
                let place = places.entry(uid).or_insert(path);
                if copies.contains(place) && !copies.contains(&path.as_str()) {
                    *place = path;
                }
            }
        }
        let mut found = Vec::new();
        for (uid, place) in places {
            let copies = came[uid].iter().filter(|copy| **copy != place);
            found.extend(copies.map(|copy| ((*copy).to_owned(), twice(copy, place))));
        }
        found
    }
}

/// The places at which a parent has a session, and which are not there any more.
fn gone<'h, 'r>(
    now: &'h Holding<'_>,
    before: &'h [Rc<Holding<'r>>],
) -> impl Iterator<Item = (&'h Holding<'r>, &'h str, &'h Folder)> {
    before.iter().flat_map(|one| {
        let left = one.folders.iter();
        let left = left.filter(|(path, _)| !now.folders.contains_key(*path));
        left.map(|(path, (_, folder))| (&**one, path.as_str(), folder))
    })
}

fn twice(copy: &str, path: &str) -> String {
    format!("{copy} is a copy of the session of {path}: a session has one folder only")
}

/// The sessions of a state that another folder has too, by the path of the later one; but for those that are
/// `damaged`, which may say anything of themselves.
pub(super) fn doubles(
    snapshot: &Snapshot<'_>,
    damaged: &BTreeSet<String>,
) -> Result<Vec<(String, String)>> {
    let mut uids = Uids::default();
    let mut known: HashMap<String, String> = HashMap::new();
    let mut found = Vec::new();
    for (id, folder) in snapshot.session_folders(true)? {
        if damaged.contains(id.as_str()) {
            continue;
        }
        let Some(uid) = uids.of(snapshot, &folder) else {
            continue;
        };
        match known.get(&uid) {
            Some(path) => found.push((folder.path.clone(), twice(&folder.path, path))),
            None => drop(known.insert(uid, folder.path.clone())),
        }
    }
    Ok(found)
}

/// Signatures of a session. Where its name looks as if a merge had given it, and no other session has the name that it
/// had, the signatures about another name are left out.
pub(super) fn under_its_name(
    snapshot: &Snapshot<'_>,
    session: &Session,
    mut signatures: SignatureFiles,
) -> Result<SignatureFiles> {
    let id = &session.state.id;
    let uid = &session.state.uid;
    if signatures.is_empty() || !id.is_beside(uid) {
        return Ok(signatures);
    }
    for (other, folder) in snapshot.session_folders(true)? {
        if other != *id && other.beside(uid) == *id {
            let theirs = Uids::default().of(snapshot, &folder);
            if theirs.is_some_and(|theirs| theirs != *uid) {
                return Ok(signatures);
            }
        }
    }
    let is_of = |file: &SignatureFile| {
        let bytes = file.bytes.as_deref();
        let signed = bytes.map(|bytes| Signed::parse(bytes, &file.name));
        let Some(Ok(signed)) = signed else {
            return true;
        };
        let statement = signed.statement(&file.name);
        statement.is_ok_and(|statement| statement.session == *id)
    };
    signatures.retain(|_, files| {
        files.retain(is_of);
        !files.is_empty()
    });
    Ok(signatures)
}
