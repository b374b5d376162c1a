//! Objects that are named and cannot be read: which these are, and the same bytes put back.
//!
//! git and libgit2 write nothing where the file of an object stands, torn or not. What is put back comes in
//! a pack instead, which both read first; then the torn file is of no more use.

use super::repo::Repo;
use super::run::Captured;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use std::fs;

impl Repo {
    /// Refuses an object that cannot be read, by its file and its header: nothing of it is unpacked from a pack.
    pub fn require_readable(&self, id: &Oid) -> Result<()> {
        self.inner.require_readable(id)
    }

    /// Writes blobs that others name already, in a pack.
    pub fn put_back(&self, blobs: &[Vec<u8>]) -> Result<Vec<Oid>> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        let mut stream = Vec::new();
        for bytes in blobs {
            ids.push(self.hash_blob(bytes)?);
            stream.extend(format!("blob\ndata {}\n", bytes.len()).into_bytes());
            stream.extend(bytes);
            stream.push(b'\n');
        }
        // It alone looks at packs, and not at loose files, before it writes; and leaves a pack.
        let args = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"];
        self.finish_abandoned_imports();
        let before = self.crash_reports();
        let done = self.git.run(args).stdin(stream).capture();
        if let Err(failure) = done.and_then(Captured::ok) {
            let mut new = self.crash_reports();
            new.retain(|report| !before.contains(report));
            // A report that stays is in nobody's way.
            new.iter().for_each(|report| drop(fs::remove_file(report)));
            return Err(failure);
        }
        self.inner.look_again()?;
        for id in &ids {
            self.require_readable(id)?;
            if self.hash_blob(&self.read_blob(id)?)? != *id {
                let message = format!("{id} was put back, and reads as something else");
                return Err(Failure::internal(Code::ObjectDamaged, message).help("git fsck"));
            }
            self.inner.drop_torn(id);
        }
        Ok(ids)
    }
}
