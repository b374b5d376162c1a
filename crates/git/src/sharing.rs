//! File modes in the git dir: every new file gets the mode that `core.sharedRepository` asks for. libgit2 and the
//! system know nothing of that setting; the git program sees to it itself.
//!
//! While libgit2 makes files the process has the umask of the sharing, so that there is no moment in which
//! another user finds a ref that cannot be read. Everything else is made private and opened before it gets
//! its name.

use super::repo::Repo;
use loopx_base::sharing::Sharing;
use rustix::fs::Mode;
use rustix::process::umask;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file of the git dir that is being written, beside its place. It is gone when it is dropped before its end.
pub struct SharedFile<'r> {
    repo: &'r Repo,
    made: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl SharedFile<'_> {
    /// Opens the file to those who share it, and gives it its name.
    pub fn finish(self) -> io::Result<()> {
        let made = self.made.into_inner()?;
        self.repo.share_file(made.as_file())?;
        let named = made.persist(self.path);
        named.map(drop).map_err(|error| error.error)
    }
}

impl Write for SharedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.made.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.made.flush()
    }
}

/// The umask of a sharing, until it is dropped.
#[must_use]
pub(super) struct SharedUmask(Option<Mode>);

impl SharedUmask {
    pub(super) fn of(sharing: Sharing) -> Self {
        if sharing == Sharing::Umask {
            return SharedUmask(None);
        }
        let own = umask(Mode::from_raw_mode(0o077));
        umask(Mode::from_raw_mode(sharing.umask(own.as_raw_mode())));
        SharedUmask(Some(own))
    }
}

impl Drop for SharedUmask {
    fn drop(&mut self) {
        if let Some(own) = self.0 {
            umask(own);
        }
    }
}

impl Repo {
    /// Value of `core.sharedRepository` in this repository.
    pub(super) fn sharing(&self) -> Sharing {
        *self.sharing.get_or_init(|| {
            let said = self.config("core.sharedrepository");
            said.and_then(|value| Sharing::parse(&value))
                .unwrap_or_default()
        })
    }

    /// Opens a file or folder of the git dir to those who share it. What belongs to somebody else has the
    /// mode that its owner gave it.
    pub fn share(&self, path: &Path) {
        if self.sharing() == Sharing::Umask {
            return;
        }
        if let Ok(meta) = fs::symlink_metadata(path)
            && let Some(wanted) = self.other_mode(&meta)
        {
            drop(fs::set_permissions(path, Permissions::from_mode(wanted)));
        }
    }

    /// The mode that a file or folder should have, if it has another.
    fn other_mode(&self, meta: &Metadata) -> Option<u32> {
        let mode = meta.permissions().mode() & 0o7777;
        let wanted = if meta.is_dir() {
            self.sharing().folder(mode)
        } else if meta.is_file() {
            self.sharing().file(mode)
        } else {
            mode
        };
        (wanted != mode).then_some(wanted)
    }

    /// Makes a folder of the git dir, with those above it that are missing.
    pub fn make_folder(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        if let Some(parent) = dir.parent() {
            self.make_folder(parent)?;
        }
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => {
                self.share(dir);
                Ok(())
            }
        }
    }

    /// Writes a file of the git dir whole: made beside its place, opened to those who share it, renamed.
    pub fn write_shared(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.begin_shared(path)?;
        file.write_all(bytes)?;
        file.finish()
    }

    /// Begins a file of the git dir, for a caller that does not have all of its text at once.
    pub fn begin_shared(&self, path: &Path) -> io::Result<SharedFile<'_>> {
        let folder = path.parent().unwrap_or(path);
        self.make_folder(folder)?;
        let made = tempfile::Builder::new()
            .prefix(super::TEMPORARY)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        Ok(SharedFile {
            repo: self,
            made: BufWriter::with_capacity(1 << 16, made),
            path: path.to_owned(),
        })
    }

    /// Adds to the end of a file of the git dir by one write, so that two who add at once both do.
    pub fn append_shared(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_folder(path.parent().unwrap_or(path))?;
        let mut file = File::options().append(true).create(true).open(path)?;
        file.write_all(bytes)?;
        self.share_file(&file)
    }

    /// [`Repo::share`] for a file that is open.
    fn share_file(&self, file: &File) -> io::Result<()> {
        match self.other_mode(&file.metadata()?) {
            Some(wanted) => file.set_permissions(Permissions::from_mode(wanted)),
            None => Ok(()),
        }
    }

    /// A ref that libgit2 wrote, its log, and the folders above them: an umask cannot give a folder to a
    /// group.
    pub(super) fn share_ref(&self, name: &str) {
        if self.sharing() == Sharing::Umask {
            return;
        }
        let common_dir = self.common_dir();
        for top in [common_dir.clone(), common_dir.join("logs")] {
            let path = top.join(name);
            let between = path.ancestors().take_while(|at| *at != common_dir);
            between.for_each(|at| self.share(at));
        }
    }
}
