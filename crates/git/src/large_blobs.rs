//! The large blobs that were read last, and the one that was hashed last. A list of ten thousand tasks is two megabytes: a
//! command asks for it in each of its steps, compares it with the file of the worktree, and writes it, and none of that
//! should inflate or hash it again.

use super::repo::Repo;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Size in bytes from which on a blob is kept: reading and hashing a smaller blob costs little.
const LARGE: usize = 64 * 1024;

/// Size in bytes of the largest blob that is kept: a larger one would cost too much memory.
const LARGEST: usize = 8 * 1024 * 1024;

/// Number of blobs that are kept; the oldest goes first.
const KEPT: usize = 2;

#[derive(Default)]
pub(super) struct LargeBlobs {
    /// Blobs that were read, by their ids, so that none can be stale.
    read: RefCell<VecDeque<(Oid, Rc<Vec<u8>>)>>,
    /// Bytes, and the id that was computed of them. Bytes that were read are not kept here: nobody compared them with
    /// their name.
    hashed: RefCell<Option<(Oid, Vec<u8>)>>,
    /// Number of times that large bytes were hashed.
    #[cfg(test)]
    hashes: std::cell::Cell<usize>,
}

impl LargeBlobs {
    /// The id of these bytes, where they are the large ones that were hashed last.
    pub(super) fn hashed(&self, bytes: &[u8]) -> Option<Oid> {
        let hashed = self.hashed.borrow();
        let (id, known) = hashed.as_ref()?;
        (known == bytes).then(|| id.clone())
    }

    pub(super) fn was_hashed(&self, id: &Oid, bytes: &[u8]) {
        if (LARGE..=LARGEST).contains(&bytes.len()) {
            *self.hashed.borrow_mut() = Some((id.clone(), bytes.to_vec()));
            #[cfg(test)]
            self.hashes.set(self.hashes.get() + 1);
        }
    }

    fn get(&self, id: &Oid) -> Option<Rc<Vec<u8>>> {
        let kept = self.read.borrow();
        let found = kept.iter().find(|(known, _)| known == id);
        found.map(|(_, bytes)| Rc::clone(bytes))
    }

    fn keep(&self, id: &Oid, bytes: &[u8]) {
        if !(LARGE..=LARGEST).contains(&bytes.len()) {
            return;
        }
        let mut kept = self.read.borrow_mut();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((id.clone(), Rc::new(bytes.to_vec())));
    }

    /// Forgets the blobs that were read before somebody began to compare objects with their names.
    pub(super) fn forget(&self) {
        self.read.borrow_mut().clear();
    }
}

impl Repo {
    /// Reads the bytes of a blob where they lie: a large one is not in memory twice.
    pub fn with_blob<T>(&self, id: &Oid, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        match self.large_blobs.get(id) {
            Some(bytes) => Ok(read(&bytes)),
            None => self.inner.with_blob(id, read),
        }
    }

    pub fn read_blob(&self, id: &Oid) -> Result<Vec<u8>> {
        if let Some(bytes) = self.large_blobs.get(id) {
            return Ok(bytes.to_vec());
        }
        let bytes = self.inner.blob_bytes(id)?;
        self.large_blobs.keep(id, &bytes);
        Ok(bytes)
    }

    /// The id that these bytes have as a blob here, without writing it. Where they are large and one of `known` holds
    /// just these, it is that one's: comparing them costs less than a hash.
    pub fn hash_blob_like<'k>(
        &self,
        bytes: &[u8],
        known: impl IntoIterator<Item = &'k Oid>,
    ) -> Result<Oid> {
        if (LARGE..=LARGEST).contains(&bytes.len()) {
            let mut known = known.into_iter();
            if let Some(id) = known.find(|id| self.holds(id, bytes)) {
                return Ok(id.clone());
            }
        }
        self.hash_blob(bytes)
    }

    /// Tells whether a blob can be read and has just these bytes.
    fn holds(&self, id: &Oid, bytes: &[u8]) -> bool {
        let size = self.blob_size(id).ok();
        size == u64::try_from(bytes.len()).ok()
            && self.read_blob(id).is_ok_and(|stored| stored == bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, LARGE};
    use crate::Repo;
    use loopx_base::id::Oid;

    fn bench() -> (tempfile::TempDir, Repo) {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::init_bare(dir.path()).expect("make a repository");
        (dir, repo)
    }

    #[test]
    fn the_id_of_large_bytes_is_the_one_that_a_hash_gives() {
        let (_dir, repo) = bench();
        let large = vec![b'x'; LARGE];
        let written = repo.write_blob(&large).expect("a blob");
        let other = repo.write_blob(&vec![b'y'; LARGE]).expect("a blob");
        let missing = Oid::parse(&"1".repeat(written.as_str().len())).expect("an id");
        for known in [
            vec![],
            vec![&other, &missing],
            vec![&missing, &written],
            vec![&other],
        ] {
            let found = repo.hash_blob_like(&large, known.clone()).expect("an id");
            assert_eq!(found, written, "{known:?}");
        }
        let mut changed = large.clone();
        changed[LARGE - 1] = b'z';
        let found = repo.hash_blob_like(&changed, [&written]).expect("an id");
        assert_eq!(found, repo.hash_blob(&changed).expect("an id"));
        assert_ne!(found, written);
    }

    /// `task add` at ten thousand tasks hashed its list when it took it in, and again when it wrote it.
    #[test]
    fn large_bytes_that_were_hashed_are_not_hashed_again_to_be_written() {
        let (_dir, repo) = bench();
        let bytes: Vec<Vec<u8>> = (0..2).map(|n| vec![n; LARGE]).collect();
        let hashed = repo.hash_blob(&bytes[0]).expect("an id");
        assert_eq!(repo.write_blob(&bytes[0]).expect("a blob"), hashed);
        assert_eq!(repo.hash_blob(&bytes[0]).expect("an id"), hashed);
        assert_eq!(repo.large_blobs.hashes.get(), 1);
        assert_eq!(repo.read_blob(&hashed).expect("readable"), bytes[0]);
        // Others are, and the id is what git gives them.
        assert_ne!(repo.write_blob(&bytes[1]).expect("a blob"), hashed);
        let small = repo.hash_blob(b"small").expect("an id");
        assert_eq!(repo.write_blob(b"small").expect("a blob"), small);
    }

    #[test]
    fn few_large_blobs_are_kept_and_each_is_what_is_stored() {
        let (_dir, repo) = bench();
        let blobs: Vec<Vec<u8>> = (0..4).map(|n| vec![n; LARGE + usize::from(n)]).collect();
        let ids = blobs
            .iter()
            .map(|blob| repo.write_blob(blob).expect("a blob"));
        let ids: Vec<Oid> = ids.collect();
        for _ in 0..2 {
            for (id, blob) in ids.iter().zip(&blobs) {
                assert_eq!(&repo.read_blob(id).expect("readable"), blob);
            }
        }
        assert_eq!(repo.large_blobs.read.borrow().len(), KEPT);
        repo.compare_hashes();
        assert!(repo.large_blobs.read.borrow().is_empty());
    }
}
