//! Proves a server by pushes: attacks that have to be refused and an honest push that has to be taken, through
//! git's own receive-pack, and nothing of it lands.
//!
//! A scratch repository borrows the server's objects. Each push reaches the server's hook through one of ours,
//! which asks it as git would, notes what it said, and then says no whatever that was: git throws the
//! quarantine away. So that what is said of the hook is true of the hook, git's own checks are switched off for the
//! pushes that it has to refuse itself.

use super::server::Server;
use crate::flow::verify::policy_at;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_git::no_temporary_folder;
use loopx_git::run::{Captured, Run};
use loopx_hosts::hooks::shell_quoted;
use loopx_rules::setup::attack;
use loopx_rules::setup::attack::{Answer, Attempt, Judge, Row};
use loopx_rules::setup::server::{CHECK_OBJECTS, HIDDEN, HIDE, HOOK};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Argument with which our hook is called to see that it can be run at all, and the answer that it gives.
const PROBE: (&str, u8) = ("probe", 7);
const WHO: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "git loopx setup"),
    ("GIT_AUTHOR_EMAIL", "setup@loopx.invalid"),
    ("GIT_COMMITTER_NAME", "git loopx setup"),
    ("GIT_COMMITTER_EMAIL", "setup@loopx.invalid"),
];
/// A name that no review saw.
const NAME: &str = "loopx-setup-check";
const UNREVIEWED: Judge = Judge::Hook(&[
    Code::ProtectedWithoutSession,
    Code::ProtectedNotReviewed,
    Code::ProtectedNotDone,
    Code::PathGuarded,
]);

/// Results of the attempts, and what could not be tried.
#[derive(Debug)]
pub(crate) struct Checked {
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
}

/// Checks a server. Nothing of it stays there.
pub(crate) fn check(server: &Server) -> Result<Checked> {
    let scratch = Scratch::new(server)?;
    let (attempts, notes) = attempts(server, &scratch)?;
    let mut rows = Vec::new();
    for attempt in &attempts {
        let answer = scratch.push(server, attempt)?;
        rows.push(attack::row(attempt, &answer));
    }
    Ok(Checked { rows, notes })
}

/// Attempts on a server, and the notes on what cannot be tried.
fn attempts(server: &Server, scratch: &Scratch) -> Result<(Vec<Attempt>, Vec<String>)> {
    let mut notes = Vec::new();
    let empty = scratch.tree("")?;
    let orphan = scratch.commit(&empty, None)?;
    let tip = server.rules.commit.as_ref();
    let malformed = scratch.malformed(tip)?;
    let replaced = tip.map_or(orphan.as_str(), Oid::as_str);
    let closed = Judge::Hook(&[Code::RefClosed]);
    let mut all = vec![
        Attempt::of(
            "an object replaced",
            format!("{orphan}:refs/replace/{replaced}"),
            closed,
        ),
        Attempt::of(
            "what the server knows of sessions",
            format!("{orphan}:refs/loopx/shadow/{NAME}"),
            closed,
        ),
        Attempt::of(
            "an object that git refuses",
            format!("{malformed}:refs/heads/{NAME}"),
            Judge::Git("hasDotgit"),
        ),
    ];
    match (tip, protected(server)?) {
        (Some(tip), Some((branch, protected))) => {
            let unreviewed = scratch.with_file(tip, NAME, b"nobody read this\n")?;
            all.push(Attempt::of(
                "code that nobody reviewed",
                format!("{unreviewed}:refs/heads/{branch}"),
                UNREVIEWED,
            ));
            if protected {
                let lax = scratch.with_file(tip, "loopx.toml", b"[gates]\nprotected = []\n")?;
                all.extend(on_protected(&branch, [&lax, &orphan, &malformed]));
            } else {
                notes.push(format!(
                    "policy protects no branch, so {branch} takes everything"
                ));
            }
        }
        _ => notes.push("there is no branch yet: nothing is asked about one".to_owned()),
    }
    let to = server.ctx.store()?.branch_ref();
    match server.ctx.repo.find_ref(&to)? {
        Some(sessions) => {
            let path = format!("sessions/{NAME}/state.json");
            let forged = scratch.with_file(&sessions, &path, b"{}\n")?;
            all.extend(on_sessions(&to, [&orphan, &forged]));
        }
        None => {
            notes.push("there is no branch of sessions yet: nothing is asked about it".to_owned())
        }
    }
    all.push(Attempt::of(
        "an honest push",
        format!("{orphan}:{}", honest(server)?),
        Judge::Nobody,
    ));
    Ok((all, notes))
}

/// The attempts on a protected branch: a policy that protects nothing, another history, and a malformed tree.
fn on_protected(branch: &str, [lax, orphan, malformed]: [&str; 3]) -> [Attempt; 4] {
    let to = format!("refs/heads/{branch}");
    let set_back = Judge::Hook(&[Code::ProtectedSetBack]);
    [
        Attempt::of(
            "a policy that protects nothing",
            format!("{lax}:{to}"),
            UNREVIEWED,
        ),
        Attempt::of(
            "a protected branch replaced",
            format!("+{orphan}:{to}"),
            set_back,
        ),
        Attempt::of("a protected branch deleted", format!(":{to}"), set_back),
        Attempt::of(
            "a tree with a .git in it",
            format!("{malformed}:{to}"),
            Judge::Hook(&[Code::TreeNameInvalid]),
        ),
    ]
}

/// The attempts on the branch of sessions: another history, and a state that no operation made.
fn on_sessions(to: &str, [orphan, forged]: [&str; 2]) -> [Attempt; 3] {
    let invalid = Judge::Hook(&[Code::SessionsInvalid]);
    [
        Attempt::of(
            "the sessions deleted",
            format!(":{to}"),
            Judge::Hook(&[Code::SessionsDeleted]),
        ),
        Attempt::of("the sessions replaced", format!("+{orphan}:{to}"), invalid),
        Attempt::of(
            "a state without operations",
            format!("{forged}:{to}"),
            invalid,
        ),
    ]
}

/// The branch to attack, and whether policy protects it: the default one before others.
fn protected(server: &Server) -> Result<Option<(String, bool)>> {
    let Some(default) = server.rules.branch.clone() else {
        return Ok(None);
    };
    if server.rules.protects_default || server.rules.fault.is_some() {
        return Ok(Some((default, true)));
    }
    let policy = policy_at(&server.ctx, server.rules.commit.as_ref())?;
    let heads = server.ctx.repo.refs_below("refs/heads/")?;
    let other = heads.into_iter().find_map(|(name, _)| {
        let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
        policy.protects(&name).then_some(name)
    });
    Ok(Some(match other {
        Some(other) => (other, true),
        None => (default, false),
    }))
}

/// A ref that everybody may make.
fn honest(server: &Server) -> Result<String> {
    let branch = format!("refs/heads/{NAME}");
    let policy = policy_at(&server.ctx, server.rules.commit.as_ref());
    let is_free = policy.is_ok_and(|policy| !policy.protects(NAME));
    Ok(if is_free && server.ctx.repo.find_ref(&branch)?.is_none() {
        branch
    } else {
        format!("refs/tags/{NAME}-{}", loopx_base::env::now())
    })
}

/// A repository of our own, with the server's objects in reach.
struct Scratch {
    dir: TempDir,
}

impl Scratch {
    fn new(server: &Server) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("loopx-check-")
            .tempdir()
            .map_err(|error| no_temporary_folder("check a server", &error))?;
        let scratch = Scratch { dir };
        let at = |args: &[&str]| Run::git(args).cwd(&server.dir).capture()?.line();
        let format = at(&["rev-parse", "--show-object-format"])?;
        let format = format!("--object-format={}", String::from_utf8_lossy(&format));
        let objects = at(&["rev-parse", "--git-path", "objects"])?;
        let objects = server.dir.join(PathBuf::from(OsString::from_vec(objects)));
        let init = ["init", "--quiet", "--bare", "--template=", &format];
        let made = Run::git(init).args([scratch.repository()]).scrubbed();
        made.capture()?.ok()?;
        let borrowed = [objects.as_os_str().as_bytes(), b"\n"].concat();
        write(
            &scratch.repository().join("objects/info/alternates"),
            &borrowed,
        )?;
        scratch.write_hook(&server.hook())?;
        Ok(scratch)
    }

    fn repository(&self) -> PathBuf {
        self.dir.path().join("scratch.git")
    }

    fn hooks(&self) -> PathBuf {
        self.dir.path().join("hooks")
    }

    fn said(&self) -> PathBuf {
        self.dir.path().join("said")
    }

    fn verdict(&self) -> PathBuf {
        self.dir.path().join("verdict")
    }

    /// Our own hook, in front of the server's. Where it could not be run git would take the push.
    fn write_hook(&self, hook: &Path) -> Result<()> {
        let [hook, said, verdict] = [hook, &self.said(), &self.verdict()]
            .map(|path| shell_quoted(path.as_os_str().as_bytes()));
        let script = [
            b"#!/bin/sh\n".as_slice(),
            format!("[ \"$1\" != {} ] || exit {}\n", PROBE.0, PROBE.1).as_bytes(),
            b"if [ -x ",
            &hook,
            b" ]; then ",
            &hook,
            b" \"$@\" >",
            &said,
            b" 2>&1; else : >",
            &said,
            b"; fi\necho $? >",
            &verdict,
            b"\nexit 1\n",
        ]
        .concat();
        let file = self.hooks().join(HOOK);
        write(&file, &script)?;
        fs::set_permissions(&file, Permissions::from_mode(0o755))
            .map_err(|error| failed(&format!("make {} executable: {error}", file.display())))?;
        let probed = Run::program(&file).args([PROBE.0]).capture();
        match probed {
            Ok(probed) if probed.ended.code == PROBE.1 => Ok(()),
            _ => Err(failed("no program can be run in the temporary folder")
                .help("set TMPDIR to a folder that programs can be run from")),
        }
    }

    fn git(&self, args: &[&str]) -> Run {
        let run = Run::git(args).cwd(self.repository()).scrubbed();
        WHO.into_iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    /// Runs git here; gives the id that it prints.
    fn id(&self, run: Run) -> Result<String> {
        let id = run.capture()?.line()?;
        Ok(String::from_utf8_lossy(&id).into_owned())
    }

    /// A tree of entries as `git mktree` reads them: it takes names that git checks elsewhere.
    fn tree(&self, entries: &str) -> Result<String> {
        self.id(self.git(&["mktree"]).stdin(entries))
    }

    fn blob(&self, bytes: &[u8]) -> Result<String> {
        self.id(self.git(&["hash-object", "-w", "--stdin"]).stdin(bytes))
    }

    fn commit(&self, tree: &str, parent: Option<&Oid>) -> Result<String> {
        let mut args = vec!["commit-tree", tree, "-m", NAME];
        if let Some(parent) = parent {
            args.extend(["-p", parent.as_str()]);
        }
        self.id(self.git(&args))
    }

    /// A commit on top of another with one more file, or another text in it.
    fn with_file(&self, parent: &Oid, path: &str, bytes: &[u8]) -> Result<String> {
        let blob = self.blob(bytes)?;
        let index = self.dir.path().join("index");
        drop(fs::remove_file(&index));
        let here = |args: &[&str]| self.git(args).env("GIT_INDEX_FILE", &index);
        here(&["read-tree", parent.as_str()]).capture()?.ok()?;
        let entry = format!("100644,{blob},{path}");
        here(&["update-index", "--add", "--cacheinfo", &entry])
            .capture()?
            .ok()?;
        let tree = self.id(here(&["write-tree"]))?;
        self.commit(&tree, Some(parent))
    }

    /// A commit whose tree has a name that no tree should have.
    fn malformed(&self, parent: Option<&Oid>) -> Result<String> {
        let blob = self.blob(b"[core]\n")?;
        let tree = self.tree(&format!("100644 blob {blob}\t.git\n"))?;
        self.commit(&tree, parent)
    }

    /// Pushes, and hears what the server says. Nothing lands.
    fn push(&self, server: &Server, attempt: &Attempt) -> Result<Answer> {
        drop(fs::remove_file(self.verdict()));
        drop(fs::remove_file(self.said()));
        let mut receive = b"git -c core.hooksPath=".to_vec();
        receive.extend(shell_quoted(self.hooks().as_os_str().as_bytes()));
        // A push that is refused would start the server's housekeeping all the same.
        receive.extend(b" -c receive.autogc=false -c receive.updateServerInfo=false");
        if let Judge::Hook(_) = attempt.judge {
            receive.extend(format!(" -c {CHECK_OBJECTS}=false").bytes());
            receive.extend(
                HIDDEN
                    .map(|name| format!(" -c '{HIDE}=!{name}'"))
                    .concat()
                    .bytes(),
            );
        }
        // git would not know which of two is meant.
        for other in attack::shadowing(attempt.target()) {
            receive.extend(format!(" -c {HIDE}={other}").bytes());
        }
        receive.extend(b" receive-pack");
        let mut option = OsString::from("--receive-pack=");
        option.push(OsString::from_vec(receive));
        let pushed = self
            .git(&[
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "push.gpgSign=false",
                "-c",
                "push.pushOption=",
                "-c",
                "protocol.file.allow=always",
                "push",
                "--porcelain",
            ])
            .args([option.as_os_str(), server.dir.as_os_str()])
            .args([&attempt.refspec])
            .env("LC_ALL", "C")
            .capture()?;
        self.answer(attempt, &pushed)
    }

    fn answer(&self, attempt: &Attempt, pushed: &Captured) -> Result<Answer> {
        if pushed.ended.success() {
            return Err(failed(&format!(
                "git took {} in spite of a hook that refuses everything",
                attempt.refspec
            ))
            .help("git for-each-ref  (on the server: take it back)"));
        }
        let said = [pushed.stdout.as_slice(), &pushed.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let Ok(verdict) = fs::read_to_string(self.verdict()) else {
            return Ok(Answer::Git { said });
        };
        let heard = fs::read(self.said()).unwrap_or_default();
        Ok(Answer::Hook {
            took: verdict.trim() == "0",
            said: String::from_utf8_lossy(&heard).into_owned(),
        })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|error| failed(&format!("write {}: {error}", path.display())))
}

fn failed(what: &str) -> Failure {
    Failure::internal(Code::ServerCheckFailed, format!("check the server: {what}"))
}
