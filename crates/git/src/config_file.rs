//! Replaces a git configuration file by git's own protocol: `<file>.lock` is created exclusively,
//! written, synced and renamed over the file. A reader sees the old text or the new one, and a
//! `git config` that runs at the same moment waits its turn or loses with a message.

use loopx_base::failure::{Code, Failure, Kind, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Gives the text of `path` through `change` under the lock. Writes nothing when the text stays the same. `true` when
/// something was written.
pub fn edit(path: &Path, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<bool> {
    // A link is followed, as git does it: the link stays, the file that it names is replaced.
    let path = fs::canonicalize(path).map_err(|error| failed("open", path, &error))?;
    let mut lock = Lock::take(&path)?;
    // Read under the lock: what another writer put there before us must not be lost.
    let old = fs::read(&path).map_err(|error| failed("read", &path, &error))?;
    let new = change(&old);
    if new == old {
        return Ok(false);
    }
    lock.replace(&path, &new)
        .map_err(|error| failed("write", &path, &error))?;
    Ok(true)
}

/// Holds `<file>.lock`, and takes it away again unless it has become the file.
struct Lock {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Lock {
    fn take(path: &Path) -> Result<Lock> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        for attempt in 1.. {
            match OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(file) => {
                    return Ok(Lock {
                        path: lock,
                        file,
                        renamed: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => break,
                Err(error) => return Err(failed("lock", path, &error)),
            }
        }
        Err(Failure::new(
            Kind::Waiting,
            Code::ConfigLocked,
            format!("`{}` is held by another process", lock.display()),
        )
        .help(format!(
            "try again; if no git is running, rm '{}'",
            lock.display()
        )))
    }

    fn replace(&mut self, path: &Path, text: &[u8]) -> std::io::Result<()> {
        self.file.write_all(text)?;
        self.file
            .set_permissions(fs::metadata(path)?.permissions())?;
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        super::run::may_have_changed();
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.renamed {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let said = format!("{what} `{}`: {error}", path.display());
    super::not_written(&said).unwrap_or_else(|| Failure::internal(Code::ConfigNotWritten, said))
}

#[cfg(test)]
mod tests {
    use super::edit;
    use loopx_base::failure::Kind;
    use std::fs;

    #[test]
    fn a_file_is_replaced_whole_keeps_its_mode_and_leaves_no_lock() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("config");
        fs::write(&file, "a").expect("write");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("chmod");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        assert!(edit(&link, |old| [old, b"b"].concat()).expect("written"));
        assert!(!edit(&link, <[u8]>::to_vec).expect("unchanged"));
        assert_eq!(fs::read(&file).expect("read"), b"ab");
        let mode = fs::metadata(&file).expect("stat").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 2);
    }

    #[test]
    fn a_lock_of_another_process_is_waited_for_and_then_left_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("config");
        fs::write(&file, "a").expect("write");
        let lock = dir.path().join("config.lock");
        fs::write(&lock, "theirs").expect("write");
        let failure = edit(&file, |_| b"b".to_vec()).expect_err("held");
        assert_eq!(failure.kind, Kind::Waiting);
        assert_eq!(fs::read(&lock).expect("read"), b"theirs");
        assert_eq!(fs::read(&file).expect("read"), b"a");
    }
}
