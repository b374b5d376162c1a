//! The note in the git directory that hooks were installed: what was never there is not missing.

use loopx_git::Repo;
use loopx_hosts::hooks::Event;
use std::fs;
use std::path::{Path, PathBuf};

fn path(common_dir: &Path) -> PathBuf {
    common_dir.join("loopx").join("hooks-installed")
}

pub(super) fn is_there(common_dir: &Path) -> bool {
    path(common_dir).exists()
}

/// A repository that cannot be written to has none.
pub(super) fn make(repo: Option<&Repo>, common_dir: &Path) {
    if is_there(common_dir) {
        return;
    }
    let path = path(common_dir);
    if let Some(dir) = path.parent() {
        drop(match repo {
            Some(repo) => repo.make_folder(dir),
            None => fs::create_dir_all(dir),
        });
    }
    drop(fs::write(&path, "git loopx hooks install\n"));
    if let Some(repo) = repo {
        repo.share(&path);
    }
}

pub(super) fn remove(common_dir: &Path) {
    drop(fs::remove_file(path(common_dir)));
}

/// Tells whether an install of this repository, or of its person, is known of, without a look at each hook.
pub(crate) fn is_installed(repo: &Repo) -> bool {
    let common_dir = repo.common_dir();
    let shim = common_dir.join("hooks").join(Event::PreCommit.name());
    let is_shim = || fs::read(shim).is_ok_and(|content| loopx_hosts::hooks::is_shim(&content));
    let key = format!("hook.{}.command", Event::PreCommit.config_name());
    is_there(&common_dir) || repo.config(&key).is_some() || is_shim()
}
