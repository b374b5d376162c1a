//! Talking to a remote, always through the git program: so every transport, credential helper, proxy
//! and SSH setting of the user applies.
//!
//! A fetch writes one remote-tracking ref and nothing else; it never makes a clone shallow or partial. A
//! push names the commit that it sends, runs no hook and never forces: the other side compares and swaps.

use super::Repo;
use super::progress::Progress;
use super::run::{Captured, Run};
use loopx_base::env;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use std::io::Write;
use std::time::Duration;

/// Terms on which git talks with a remote.
pub struct Line<'w> {
    /// The longest that one command may take.
    pub limit: Option<Duration>,
    /// Mark of a command at which nobody is there to answer a question.
    pub unattended: bool,
    /// git's own progress is wanted, and where it goes.
    pub progress: Option<&'w mut (dyn Write + Send)>,
}

/// Answer of git and the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// Refusal, with everything that git and the other side said.
    No(String),
    TimedOut,
}

/// Result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    Tip(Oid),
    /// The remote has other branches, and not this one.
    NoBranch,
    /// The remote has nothing at all.
    Empty,
    Failed(Answer),
}

impl Line<'_> {
    fn run(&mut self, repo: &Repo, args: &[&str], progress: &str) -> Result<Option<Captured>> {
        let mut run = Run::git(args.iter().take(1));
        run = match (&self.progress, progress) {
            (_, "") => run,
            (Some(_), shown) => run.args([shown]),
            (None, _) => run.args(["--quiet"]),
        };
        run = run
            .args(&args[1..])
            .env("LC_ALL", "C")
            .env(env::LOOPX_SYNCING, "1");
        if self.unattended {
            run = run
                .env("GIT_TERMINAL_PROMPT", "0")
                .env("GIT_ASKPASS", "true")
                .env("SSH_ASKPASS_REQUIRE", "never")
                .env("GCM_INTERACTIVE", "never");
            let own_ssh = [env::GIT_SSH, env::GIT_SSH_COMMAND]
                .iter()
                .any(|name| env::var_os(name).is_some())
                || repo.config("core.sshcommand").is_some();
            if !own_ssh {
                run = run.env(env::GIT_SSH_COMMAND, "ssh -oBatchMode=yes");
            }
        }
        match &mut self.progress {
            Some(live) => {
                let mut progress = Progress::to(*live);
                let captured = run.capture_within(self.limit, &mut progress);
                drop(progress.end());
                captured
            }
            None => run.capture_within(self.limit, &mut std::io::sink()),
        }
    }
}

fn said(captured: &Captured) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&captured.stderr),
        String::from_utf8_lossy(&captured.stdout)
    )
}

impl Repo {
    /// The names of the remotes.
    pub fn remotes(&self) -> Result<Vec<String>> {
        self.backend.remotes()
    }

    /// The remote-tracking ref of a branch.
    pub fn tracking_ref(remote: &str, branch: &str) -> String {
        format!("refs/remotes/{remote}/{branch}")
    }

    /// Fetches one branch of a remote, whole.
    pub fn fetch(&self, remote: &str, branch: &str, line: &mut Line<'_>) -> Result<Fetched> {
        let tracking = Self::tracking_ref(remote, branch);
        self.fetch_into(&tracking, remote, branch, line)
    }

    /// Fetches one branch of a remote, or of a repository by its address, into a ref.
    pub fn fetch_into(
        &self,
        local: &str,
        remote: &str,
        branch: &str,
        line: &mut Line<'_>,
    ) -> Result<Fetched> {
        let spec = format!("+refs/heads/{branch}:{local}");
        let args = [
            "fetch",
            "--no-tags",
            "--no-prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--no-filter",
            "--refmap=",
            remote,
            &spec,
        ];
        let Some(captured) = line.run(self, &args, "--progress")? else {
            return Ok(Fetched::Failed(Answer::TimedOut));
        };
        if captured.ended.success() {
            return Ok(match self.find_ref(local)? {
                Some(tip) => Fetched::Tip(tip),
                None => Fetched::NoBranch,
            });
        }
        let said = said(&captured);
        if !said.contains("couldn't find remote ref") {
            return match super::disk_refuses(&said) {
                Some(failure) => Err(failure.context(format!("fetch {branch} from {remote}"))),
                None => Ok(Fetched::Failed(Answer::No(said))),
            };
        }
        match line.run(self, &["ls-remote", remote], "")? {
            Some(all) if !all.ended.success() => Ok(Fetched::Failed(Answer::No(self::said(&all)))),
            Some(all) if all.stdout.iter().all(u8::is_ascii_whitespace) => Ok(Fetched::Empty),
            Some(_) => Ok(Fetched::NoBranch),
            None => Ok(Fetched::Failed(Answer::TimedOut)),
        }
    }

    /// Pushes a commit as a branch. The remote-tracking ref follows, also where no refspec of the clone names the branch,
    /// so that git itself leaves the ref where it was.
    pub fn push(
        &self,
        remote: &str,
        branch: &str,
        commit: &Oid,
        line: &mut Line<'_>,
    ) -> Result<Answer> {
        let spec = format!("{commit}:refs/heads/{branch}");
        let no_mirror = format!("remote.{remote}.mirror=false");
        let tracking = Self::tracking_ref(remote, branch);
        let seen = self.find_ref(&tracking)?;
        let mut args = vec!["-c", &no_mirror, "push"];
        // `-c` comes before the command, so progress is asked for here.
        args.push(match line.progress {
            Some(_) => "--progress",
            None => "--quiet",
        });
        args.extend([
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
            remote,
            &spec,
        ]);
        Ok(match line.run(self, &args, "")? {
            None => Answer::TimedOut,
            Some(captured) if captured.ended.success() => {
                // The remote has it, whatever this ref says: the next fetch says so as well.
                drop(self.follow_push(&tracking, commit, seen.as_ref()));
                Answer::Done
            }
            Some(captured) => Answer::No(said(&captured)),
        })
    }

    /// Moves a remote-tracking ref to what was pushed, where git did not. A ref that another git moved meanwhile stays.
    fn follow_push(&self, tracking: &str, pushed: &Oid, seen: Option<&Oid>) -> Result<()> {
        if self.find_ref(tracking)?.as_ref() == seen && seen != Some(pushed) {
            let _ = self.swap_ref(tracking, pushed, seen, "loopx: push")?;
        }
        Ok(())
    }
}
