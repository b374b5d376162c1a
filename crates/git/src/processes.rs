//! Git processes that are at work on a repository right now, as Linux lists them in `/proc`. Where that cannot be read,
//! somebody may be.

use std::fs;
use std::path::{Path, PathBuf};

/// Tells whether a process that is called git, or like git, works in one of these folders or names one of them.
/// Processes that started us do not count: `git loopx` waits for its own end.
pub fn git_is_at_work(folders: &[&Path]) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    let above = ancestors();
    if above.is_empty() {
        return true;
    }
    processes
        .flatten()
        .filter(|process| {
            let id = process.file_name().to_string_lossy().parse::<u32>();
            id.is_ok_and(|id| !above.contains(&id))
        })
        .any(|process| is_git(&process.path()) && is_near(&process.path(), folders))
}

/// Process ids of this program and of those that started it, up to the first.
fn ancestors() -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = Some(std::process::id());
    while let Some(id) = next.filter(|id| *id != 0 && !found.contains(id)) {
        let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) else {
            break;
        };
        found.push(id);
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        next = parent.and_then(|parent| parent.trim().parse().ok());
    }
    found
}

fn is_git(process: &Path) -> bool {
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    // Ours hold our own lock, and whoever asks has that.
    let name = name.trim_end();
    name.starts_with("git") && name != "git-loopx"
}

fn is_near(process: &Path, folders: &[&Path]) -> bool {
    let works_in = match fs::read_link(process.join("cwd")) {
        Ok(folder) => folder,
        // Somebody else's may work anywhere; one that has ended works nowhere.
        Err(error) => return error.kind() == std::io::ErrorKind::PermissionDenied,
    };
    let said: Vec<u8> = ["cmdline", "environ"]
        .iter()
        .flat_map(|file| fs::read(process.join(file)).unwrap_or_default())
        .collect();
    folders.iter().any(|folder| {
        let name = folder.as_os_str().as_encoded_bytes();
        let real: PathBuf = folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_path_buf());
        works_in.starts_with(&real) || said.windows(name.len()).any(|window| window == name)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{ancestors, git_is_at_work};

    #[test]
    fn who_started_us_is_known_up_to_the_first() {
        let above = ancestors();
        assert_eq!(above.first(), Some(&std::process::id()));
        assert!(above.len() > 1);
    }

    #[test]
    fn a_git_counts_where_it_works_and_only_there() {
        let here = tempfile::tempdir().expect("a folder");
        let there = tempfile::tempdir().expect("a folder");
        // Waits for its input.
        let mut git = std::process::Command::new("git")
            .args(["hash-object", "--stdin"])
            .current_dir(here.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("git");
        // Linux wakes whoever spawned it a moment before the process has its new name.
        let soon = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !git_is_at_work(&[here.path()]) {
            assert!(std::time::Instant::now() < soon, "git is not seen");
            std::thread::yield_now();
        }
        assert!(!git_is_at_work(&[there.path()]));
        drop(git.stdin.take());
        git.wait().expect("an end");
        assert!(!git_is_at_work(&[here.path()]));
    }
}
