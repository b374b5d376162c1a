//! Set-ups that many tests begin with: made once per test run, made again from memory for each test.
//!
//! A kept sandbox is everything below its root: the repository, its remotes and clones, the home, the
//! programs. The root's own path has another name in each sandbox and always the same length, so it is
//! replaced wherever a file names it. git's objects are left alone: nothing in them may name a path of
//! the machine.

use super::{Sandbox, place};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A sandbox as values.
#[derive(Debug)]
pub(crate) struct Kept {
    root: PathBuf,
    repo: PathBuf,
    entries: Vec<(PathBuf, Entry)>,
    clock: i64,
}

#[derive(Debug)]
enum Entry {
    Folder(u32),
    File {
        mode: u32,
        bytes: Vec<u8>,
        names_root: bool,
    },
    Link(PathBuf),
}

/// The place that calls, and what else its set-up depends on.
type Key = (&'static Location<'static>, String);

static MADE: Mutex<BTreeMap<Key, Arc<OnceLock<Kept>>>> = Mutex::new(BTreeMap::new());

impl Sandbox {
    /// A set-up that is made once per test run for each place that calls and each `of`: `of` says
    /// whatever `make` depends on. The first test gets it remade, too, so that all get the same.
    #[track_caller]
    pub(crate) fn once(of: impl Into<String>, make: impl FnOnce() -> Sandbox) -> Sandbox {
        let key = (Location::caller(), of.into());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Arc::clone(made.entry(key).or_default());
        drop(made);
        Self::remake(kept.get_or_init(|| make().keep()))
    }

    /// The sandbox as values, to be made again by [`Sandbox::remake`].
    pub(crate) fn keep(&self) -> Kept {
        let root = self.root();
        let mut entries = Vec::new();
        read(&root, Path::new(""), &mut entries);
        Kept {
            repo: self.repo.strip_prefix(&root).expect("below").to_owned(),
            root,
            entries,
            clock: self.clock.load(Ordering::Relaxed),
        }
    }

    /// A new sandbox with everything that was kept; the clock goes on where it was.
    pub(crate) fn remake(kept: &Kept) -> Self {
        let dir = place::folder();
        let root = dir.path().canonicalize().expect("a real path");
        let paths = Renamed::new(&kept.root, &root);
        for (path, entry) in &kept.entries {
            let at = root.join(path);
            match entry {
                Entry::Folder(_) => fs::create_dir(&at).expect("a folder"),
                Entry::Link(target) => symlink(paths.path(target), &at).expect("a link"),
                Entry::File {
                    mode,
                    bytes,
                    names_root,
                } => {
                    if *names_root {
                        fs::write(&at, paths.replaced(bytes)).expect("a file");
                    } else {
                        fs::write(&at, bytes).expect("a file");
                    }
                    chmod(&at, *mode);
                }
            }
        }
        // A folder that nobody may write to is filled first.
        for (path, entry) in kept.entries.iter().rev() {
            if let Entry::Folder(mode) = entry {
                chmod(&root.join(path), *mode);
            }
        }
        Self::of(dir, root.join(&kept.repo), kept.clock)
    }
}

/// Reads everything below a folder but what is only there for a while.
fn read(root: &Path, below: &Path, out: &mut Vec<(PathBuf, Entry)>) {
    let mut names: Vec<OsString> = fs::read_dir(root.join(below))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        let at = root.join(&path);
        let meta = fs::symlink_metadata(&at).expect("an entry");
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            out.push((path, Entry::Link(fs::read_link(&at).expect("a link"))));
        } else if meta.is_dir() {
            out.push((path.clone(), Entry::Folder(mode)));
            if path != Path::new("tmp") {
                read(root, &path, out);
            }
        } else {
            let bytes = fs::read(&at).expect("a file");
            let names_root = !is_object(&path) && has_name_of(&bytes, root);
            let entry = Entry::File {
                mode,
                bytes,
                names_root,
            };
            out.push((path, entry));
        }
    }
}

/// A file of git's objects, which are compressed.
fn is_object(path: &Path) -> bool {
    path.iter().any(|part| part == "objects") && !path.ends_with("objects/info/alternates")
}

fn has_name_of(bytes: &[u8], root: &Path) -> bool {
    let root = root.as_os_str().as_bytes();
    bytes.windows(root.len()).any(|room| room == root)
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("change the mode");
}

/// The path of a root in place of that of another, which is as long.
struct Renamed<'a> {
    from: &'a [u8],
    to: &'a [u8],
}

impl<'a> Renamed<'a> {
    fn new(from: &'a Path, to: &'a Path) -> Self {
        let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
        assert_eq!(from.len(), to.len(), "roots of sandboxes are equally long");
        Renamed { from, to }
    }

    fn path(&self, path: &Path) -> PathBuf {
        OsString::from_vec(self.replaced(path.as_os_str().as_bytes())).into()
    }

    fn replaced(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let mut at = 0;
        while let Some(room) = bytes.get_mut(at..at + self.from.len()) {
            if room == self.from {
                room.copy_from_slice(self.to);
            }
            at += 1;
        }
        bytes
    }
}
