//! Packs of written objects: all that one ref move brings reaches the disk in one pack that no concurrent `gc`,
//! `repack` or `prune` may take away before the ref stands (reference git-stores, 0.3 and 5).
//!
//! Objects are written into memory. [`Repo::keep`] takes what a root names of them, also what the
//! repository had already, because that may lie in a pack which somebody is about to remove; a pack's
//! `.keep` is there before the pack is. Loose objects and ordinary packs lose this race.

use super::repo::Repo;
use super::sharing::SharedUmask;
use super::unwritable;
use loopx_base::env;
use loopx_base::failpoint::{fail, reach};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::Oid;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// "loopx" in hex, where a pack's name has a hash: any git takes such a name, and we know our own.
pub(super) const OURS: &str = "pack-6c6f6f7078";

/// "loops": a pack of ours that is not rolled up any more.
pub(super) const SETTLED: &str = "pack-6c6f6f7073";

/// Folder of `objects/` in which packs are made. git looks only at `pack/` and two-digit folders, and
/// its `prune` takes away what begins with `tmp_`.
const WORKSHOP: &str = "loopx";

/// Settings of libgit2 for files that have to survive a power cut.
const DURABLE: &str = "loopx/durable";

/// Objects that this process has written and not yet put on disk.
#[derive(Default)]
pub(super) struct Step {
    /// Objects that were written and are not on disk for certain.
    written: RefCell<HashSet<Oid>>,
    /// Objects that the next pack takes along, though no ref will name them.
    along: RefCell<Vec<Oid>>,
    /// Set when libgit2 syncs refs by itself.
    refs_are_synced: Cell<bool>,
    /// `.keep` files that stand until the ref has moved.
    keeps: RefCell<Vec<PathBuf>>,
}

impl Drop for Step {
    fn drop(&mut self) {
        release(&mut self.keeps.borrow_mut());
    }
}

/// git may treat the packs as any other.
fn release(keeps: &mut Vec<PathBuf>) {
    for keep in keeps.drain(..) {
        // One that stays is harmless: gc leaves its pack alone, and `doctor` knows it.
        drop(std::fs::remove_file(keep));
    }
}

impl Repo {
    /// Writes an object into memory.
    pub(super) fn write(&self, kind: git2::ObjectType, bytes: Vec<u8>) -> Result<Oid> {
        let id = self.inner.add(kind, bytes)?;
        self.step.written.borrow_mut().insert(id.clone());
        Ok(id)
    }

    /// Writes an object whose id follows from its bytes, as somebody found out already.
    pub(super) fn write_hashed(&self, id: Oid, kind: git2::ObjectType, bytes: Vec<u8>) -> Oid {
        self.inner.add_hashed(&id, kind, bytes);
        self.step.written.borrow_mut().insert(id.clone());
        id
    }

    /// Puts an object that stands somewhere in the repository into the next pack that names it: the pack in which it
    /// stands may be deleted.
    pub fn hold(&self, id: &Oid) {
        self.step.written.borrow_mut().insert(id.clone());
    }

    /// Puts an object that was written and that no ref will name into the next pack, for people to read.
    pub fn take_along(&self, id: &Oid) {
        self.step.along.borrow_mut().push(id.clone());
    }

    /// Tells whether written objects and refs are also synced to the disk: `loopx.fsync`, by default yes.
    pub fn is_durable(&self) -> bool {
        self.config("loopx.fsync")
            .is_none_or(|value| !matches!(value.as_str(), "false" | "no" | "off" | "0"))
    }

    pub(super) fn pack_dir(&self) -> PathBuf {
        self.inner.objects_dir().join("pack")
    }

    /// Objects below `root` that were written and are not on disk yet.
    fn new_below(&self, root: &Oid) -> Result<Vec<Oid>> {
        let written = self.step.written.borrow();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut next = vec![root.clone()];
        while let Some(id) = next.pop() {
            if !written.contains(&id) || !seen.insert(id.clone()) {
                continue;
            }
            next.extend(self.inner.named_by(&id)?);
            found.push(id);
        }
        Ok(found)
    }

    /// Puts what `root` names on disk, in one pack. It stays kept until [`Repo::release`].
    pub fn keep(&self, root: &Oid) -> Result<()> {
        let mut ids = self.new_below(root)?;
        if ids.is_empty() {
            return Ok(());
        }
        for also in self.step.along.take() {
            let new = self.new_below(&also)?;
            ids.extend(
                new.into_iter()
                    .filter(|id| !ids.contains(id))
                    .collect::<Vec<_>>(),
            );
        }
        let keep = self.write_pack(&ids, OURS)?;
        self.inner.are_packed(&ids);
        self.step.keeps.borrow_mut().push(keep);
        let mut written = self.step.written.borrow_mut();
        for id in &ids {
            written.remove(id);
        }
        Ok(())
    }

    /// The ref has moved, or will not.
    pub fn release(&self) {
        release(&mut self.step.keeps.borrow_mut());
    }

    /// Writes these objects, synced where that is wanted, under a name that begins so. Gives the pack's
    /// `.keep`.
    pub(super) fn write_pack(&self, ids: &[Oid], prefix: &str) -> Result<PathBuf> {
        if env::var_os(env::GIT_QUARANTINE_PATH).is_some() {
            return Err(Failure::new(
                Kind::Refused,
                Code::RepositoryQuarantined,
                "git is receiving a push here, and nothing can be written before it is accepted",
            )
            .help("write in the clone that pushes"));
        }
        let workshop = self.inner.objects_dir().join(WORKSHOP);
        self.make_folder(&workshop)
            .map_err(|error| unwritable(&workshop, &error))?;
        let made = Workshop { dir: workshop };
        let umask = SharedUmask::of(self.sharing());
        let built = self.inner.write_pack(ids, &made.dir);
        drop(umask);
        let built = built?;
        let [pack, index] = ["pack", "idx"].map(|kind| built.with_extension(kind));
        self.share(&pack);
        self.share(&index);
        reach("pack-built");
        let durable = self.is_durable();
        if durable {
            sync(&pack)?;
            sync(&index)?;
        }
        reach("pack-synced");
        let folder = self.pack_dir();
        self.make_folder(&folder)
            .map_err(|error| unwritable(&folder, &error))?;
        let stem = folder.join(format!("{prefix}{}", self.nonce()?));
        let keep = stem.with_extension("keep");
        let placed = || -> Result<()> {
            let note = format!("git loopx, process {}\n", std::process::id());
            File::create_new(&keep)
                .and_then(|mut file| file.write_all(note.as_bytes()))
                .map_err(|error| unwritable(&keep, &error))?;
            self.share(&keep);
            reach("pack-keep");
            rename(&pack, &stem.with_extension("pack"))?;
            reach("pack-named");
            rename(&index, &stem.with_extension("idx"))?;
            reach("index-named");
            if durable {
                sync(&folder)?;
            }
            reach("folder-synced");
            Ok(())
        };
        if let Err(failure) = placed() {
            for kind in ["idx", "pack", "keep"] {
                drop(std::fs::remove_file(stem.with_extension(kind)));
            }
            return Err(failure);
        }
        Ok(keep)
    }

    /// Random digits for the name of a pack: they make the name as long as this repository's ids, and no earlier pack
    /// has it. A name that came back could be one that a `gc` has already decided to remove.
    fn nonce(&self) -> Result<String> {
        let random = ulid::Ulid::generate().to_string();
        let mut digits = self.hash_blob(random.as_bytes())?.to_string();
        digits.truncate(digits.len() + "pack-".len() - OURS.len());
        Ok(digits)
    }

    /// Takes away what a killed process left of its work. Only where no process of ours can be writing:
    /// under the lock, when its last holder is known to have died.
    pub fn clear_unfinished_packs(&self) {
        drop(std::fs::remove_dir_all(
            self.inner.objects_dir().join(WORKSHOP),
        ));
        for left in self.unfinished_packs() {
            drop(std::fs::remove_file(left));
        }
    }

    /// The files of our packs that only a process at work needs: `.keep`, and a pack without an index.
    pub fn unfinished_packs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.pack_dir()) else {
            return Vec::new();
        };
        let ours = entries.flatten().map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            [OURS, SETTLED].iter().any(|ours| name.starts_with(ours))
        });
        ours.filter(
            |path| match path.extension().and_then(|kind| kind.to_str()) {
                Some("keep") => true,
                Some("pack" | "rev") => !path.with_extension("idx").exists(),
                _ => false,
            },
        )
        .collect()
    }

    /// The workshop, if one was left.
    pub fn unfinished_workshop(&self) -> Option<PathBuf> {
        let dir = self.inner.objects_dir().join(WORKSHOP);
        dir.exists().then_some(dir)
    }

    /// Has libgit2 sync refs, reflogs and their folders, before they get their names. It knows only the
    /// old `core.fsyncObjectFiles`, which would be a warning in the user's configuration: it is read from a
    /// file of our own.
    pub(super) fn sync_refs(&self) {
        let file = self.common_dir().join(DURABLE);
        if file.is_file() && self.is_durable() {
            // Where that fails, `sync_ref` still does what can be done.
            let told = self.inner.add_settings(&file);
            self.step.refs_are_synced.set(told);
        }
    }

    /// Writes that file, for the processes to come.
    pub fn prepare_sync(&self) {
        let file = self.common_dir().join(DURABLE);
        if !file.exists() {
            let text = "# Read by git loopx alone, see `git config loopx.fsync`.\n\
                        [core]\n\tfsyncObjectFiles = true\n";
            drop(self.write_shared(&file, text.as_bytes()));
        }
    }

    /// Makes a file and its name durable, where that is wanted.
    pub fn sync_file(&self, path: &Path) -> Result<()> {
        if !self.is_durable() {
            return Ok(());
        }
        sync(path)?;
        path.parent().map_or(Ok(()), sync)
    }

    /// Syncs the file of a ref where libgit2 could not be told to.
    pub fn sync_ref(&self, name: &str) -> Result<()> {
        if self.step.refs_are_synced.get() || !self.is_durable() {
            return Ok(());
        }
        let path = self.common_dir().join(name);
        // No such file: the ref is kept otherwise.
        if path.is_file() {
            sync(&path)?;
            if let Some(folder) = path.parent() {
                sync(folder)?;
            }
        }
        Ok(())
    }
}

/// Folder in which a pack is made; files that are left in it go with us.
struct Workshop {
    dir: PathBuf,
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Empty unless something failed, and only the holder of the lock works here.
        if std::fs::remove_dir(&self.dir).is_err() {
            drop(std::fs::remove_dir_all(&self.dir));
        }
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|error| unwritable(to, &error))
}

/// Syncs a file, or a folder's names.
pub(super) fn sync(path: &Path) -> Result<()> {
    fail("fsync")
        .and_then(|()| File::open(path))
        .and_then(|file| file.sync_all())
        .map_err(|error| unwritable(path, &error))
}
