//! The gits of this machine: which one answers to `git`, and which others may work in the repository.

use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::run::Run;
use loopx_hosts::hooks::GitVersion;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Paths at which systems and programs with a window keep a git of their own. They start that git by its path,
/// whatever PATH says.
const KNOWN: [&str; 10] = [
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
    "/opt/local/bin/git",
    "/home/linuxbrew/.linuxbrew/bin/git",
    "/Library/Developer/CommandLineTools/usr/bin/git",
    "/Applications/Xcode.app/Contents/Developer/usr/bin/git",
    "/Applications/GitHub Desktop.app/Contents/Resources/app/git/bin/git",
    "/Applications/Sourcetree.app/Contents/Resources/git_local/bin/git",
    "/usr/lib/github-desktop/resources/app/git/bin/git",
];

/// The version of a git program.
pub(super) fn version(git: &OsStr) -> Result<GitVersion> {
    let answer = Run::program(git).args(["--version"]).capture()?.line()?;
    let answer = String::from_utf8_lossy(&answer);
    GitVersion::parse(&answer).ok_or_else(|| {
        Failure::internal(
            Code::GitVersionUnknown,
            format!("`git --version` answered `{answer}`"),
        )
    })
}

/// Lists each git in PATH behind the first one, then those in known places, with their versions. A relative
/// folder of PATH is passed over: what it holds depends on where we stand.
pub(super) fn other_gits() -> Vec<(PathBuf, GitVersion)> {
    let in_path = env::path().into_iter().filter(|dir| dir.is_absolute());
    let places = in_path
        .map(|dir| dir.join("git"))
        .chain(KNOWN.map(PathBuf::from));
    let mut seen: Vec<(PathBuf, PathBuf)> = Vec::new();
    for git in places.filter(|git| git.is_file()) {
        let real = super::real(&git);
        if !seen.iter().any(|(_, other)| *other == real) {
            seen.push((git, real));
        }
    }
    let with_version = |(git, _): (PathBuf, PathBuf)| {
        let version = version(git.as_os_str()).ok()?;
        Some((git, version))
    };
    seen.into_iter().skip(1).filter_map(with_version).collect()
}
