//! Refs, HEAD, configuration and index through the git program: the repositories that git reads and
//! libgit2 does not. libgit2 gets the folder of objects alone, in a repository of its own that has no
//! ref: it lives in a temporary folder as long as this process.

use super::backend::{Backend, Git};
use super::config_env::canonical;
use super::refs::Swap;
use super::repo::{Head, Identity};
use super::{failed, no_temporary_folder};
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::Oid;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Repository as git itself finds and describes it.
pub(super) struct Found {
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) work_dir: Option<PathBuf>,
    pub(super) objects: PathBuf,
    index: PathBuf,
    shallow: PathBuf,
    format: String,
}

impl Found {
    /// Asks git, which refuses where it does not know or not trust the repository either.
    pub(super) fn ask(git: Git) -> Result<Found> {
        let said = git
            .run([
                "rev-parse",
                "--path-format=absolute",
                "--git-dir",
                "--git-common-dir",
                "--git-path",
                "objects",
                "--git-path",
                "index",
                "--git-path",
                "shallow",
                "--show-object-format",
                // Last: without a worktree git stops here.
                "--show-toplevel",
            ])
            .capture()?;
        let mut lines = said.stdout.split(|byte| *byte == b'\n');
        let mut next = || lines.next().filter(|line| !line.is_empty());
        let found = (|| {
            let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
            Some(Found {
                git_dir: path(next()?),
                common_dir: path(next()?),
                objects: path(next()?),
                index: path(next()?),
                shallow: path(next()?),
                format: String::from_utf8(next()?.to_vec()).ok()?,
                work_dir: next().map(path),
            })
        })();
        match found {
            Some(found) if matches!(found.format.as_str(), "sha1" | "sha256") => Ok(found),
            Some(found) => Err(unsupported(&format!(
                "git names its object format `{}`",
                found.format
            ))),
            None => Err(refusal(&said.complaint())),
        }
    }

    /// The objects alone, as a repository of libgit2's that lives as long as the folder.
    pub(super) fn open_objects(&self) -> Result<(git2::Repository, tempfile::TempDir)> {
        let failed_io = |error: std::io::Error| no_temporary_folder("read this repository", &error);
        let dir = tempfile::Builder::new()
            .prefix("git-loopx-")
            .tempdir()
            .map_err(failed_io)?;
        let at = |name: &str| dir.path().join(name);
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {}\n",
            self.format
        );
        let write = || -> std::io::Result<()> {
            std::fs::create_dir(at("refs"))?;
            std::fs::write(at("HEAD"), "ref: refs/heads/none\n")?;
            std::fs::write(at("config"), config)?;
            std::os::unix::fs::symlink(&self.objects, at("objects"))?;
            if self.is_shallow() {
                std::os::unix::fs::symlink(&self.shallow, at("shallow"))?;
            }
            Ok(())
        };
        write().map_err(failed_io)?;
        let doing = |error: git2::Error| failed(&error, "open the objects");
        let repo = git2::Repository::open_bare(dir.path()).map_err(doing)?;
        // What the environment adds: a push that waits in quarantine.
        for path in env::paths("GIT_ALTERNATE_OBJECT_DIRECTORIES") {
            if let Some(path) = path.to_str() {
                let odb = repo.odb().map_err(doing)?;
                odb.add_disk_alternate(path).map_err(doing)?;
            }
        }
        Ok((repo, dir))
    }

    fn is_shallow(&self) -> bool {
        std::fs::metadata(&self.shallow).is_ok_and(|meta| meta.len() > 0)
    }
}

/// Failure of git itself to open the repository, in words that lead on.
fn refusal(said: &str) -> Failure {
    if said.contains("dubious ownership") {
        return Failure::new(
            Kind::Refused,
            Code::RepositoryNotOwned,
            "the repository belongs to another user, and git does not trust it for you",
        )
        .help("git config --global --add safe.directory PATH");
    }
    if let Some(gone) = gone_behind(said) {
        return Failure::not_found(
            Code::RepositoryMoved,
            format!("`.git` names {gone}, which is not there: the repository that this worktree belongs to was moved or removed"),
        )
        .help("git worktree repair FOLDER  (in the repository, where it is now; FOLDER is this worktree)");
    }
    if said.contains("not a git repository") || said.contains("Not a git repository") {
        return Failure::not_found(
            Code::RepositoryMissing,
            "not a git repository, nor is any parent folder",
        )
        .help("git init");
    }
    unsupported(&format!("git itself does not open it ({said})"))
}

/// The git dir that the `.git` of a linked worktree names and that is not there, as git says it.
fn gone_behind(said: &str) -> Option<&str> {
    let (_, path) = said.split_once("not a git repository: ")?;
    let path = path.trim();
    let is_of_worktree = path.contains("/worktrees/") && env::var_os("GIT_DIR").is_none();
    (is_of_worktree && !Path::new(path).exists()).then_some(path)
}

fn unsupported(why: &str) -> Failure {
    Failure::new(
        Kind::Refused,
        Code::RepositoryUnsupported,
        format!("this repository cannot be used: {why}; nothing was written"),
    )
    .help("git status  (it says more)")
}

pub(super) struct Program {
    git: Git,
    found: Found,
    settings: HashMap<String, String>,
    /// Folder that [`Found::open_objects`] made.
    _objects: tempfile::TempDir,
}

impl Program {
    /// Name of the ref that a symbolic ref names.
    fn symbolic_bytes(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let said = self.git.run(["symbolic-ref", "--quiet", name]).capture()?;
        // 1: it is there and names no other, or it is not there.
        if said.ended.code == 1 {
            return Ok(None);
        }
        said.line().map(Some)
    }

    /// Refuses a repository where git keeps every object under two names: git could not go on from an object of ours,
    /// which has only one.
    pub(super) fn new(git: Git, found: Found, objects: tempfile::TempDir) -> Result<Self> {
        let settings = git.settings();
        if settings.contains_key("extensions.compatobjectformat") {
            return Err(unsupported(
                "extensions.compatObjectFormat wants every object in two formats, and git loopx writes one",
            ));
        }
        Ok(Program {
            git,
            found,
            settings,
            _objects: objects,
        })
    }

    /// Commit that git lists under this name: git leaves out a ref that it cannot read, with a warning.
    fn listed(&self, name: &str) -> Result<Option<Oid>> {
        let listed = self
            .git
            .run(["for-each-ref", "--format=%(refname) %(objectname)", name])
            .capture()?
            .ok()
            .map_err(|failure| failure.context(format!("read {name}")))?;
        String::from_utf8_lossy(&listed)
            .lines()
            .filter_map(|line| line.rsplit_once(' '))
            .find(|(listed, _)| *listed == name)
            .map(|(_, id)| Oid::parse(id))
            .transpose()
    }

    /// Tells whether a file stands where git keeps such a ref. A file that names another ref does not count: the other
    /// ref may be unborn.
    fn has_file_of(&self, name: &str) -> Result<bool> {
        let path = self.found.common_dir.join(name);
        let error = match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => return Ok(false),
            Ok(_) => match std::fs::read(&path) {
                Ok(bytes) => return Ok(!bytes.starts_with(b"ref: ")),
                Err(error) => error,
            },
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(false),
            _ => Err(Failure::internal(Code::GitFailed, error.to_string())
                .context(format!("read {name}"))),
        }
    }

    fn has(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.found.git_dir.join(name)).is_ok()
    }
}

impl Backend for Program {
    fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        super::read_here("ref-read", format_args!("read {name}"))?;
        // One that was made between two looks is there at the second.
        for _ in 0..2 {
            if let Some(id) = self.listed(name)? {
                return Ok(Some(id));
            }
            if !self.has_file_of(name)? {
                return Ok(None);
            }
        }
        let broken = "its file is there, and git reads no id in it";
        Err(Failure::internal(Code::GitFailed, broken).context(format!("read {name}")))
    }

    fn swap_ref(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        let zero = "0".repeat(new.as_str().len());
        let expected = old.map_or(zero.as_str(), Oid::as_str);
        let said = self
            .git
            .run(["update-ref", "-z", "--stdin", "-m", why])
            .stdin(format!("update {name}\0{new}\0{expected}\0"))
            .capture()?;
        if said.ended.success() {
            return Ok(Swap::Moved);
        }
        if self.find_ref(name)?.as_ref() != old {
            return Ok(Swap::Lost);
        }
        let locks = [
            self.found.common_dir.join("reftable/tables.list.lock"),
            self.found.common_dir.join(format!("{name}.lock")),
        ];
        if locks.iter().any(|lock| lock.exists()) {
            return Ok(Swap::Locked);
        }
        Err(super::not_written(&said.complaint()).unwrap_or_else(|| {
            Failure::internal(Code::GitFailed, said.complaint()).context(format!("move {name}"))
        }))
    }

    fn refs_below(&self, folder: &str) -> Result<Vec<(String, Oid)>> {
        let format = "--format=%(refname) %(objectname) %(symref)";
        let listed = self.git.run(["for-each-ref", format, folder]).capture()?;
        let listed = listed
            .ok()
            .map_err(|failure| failure.context(format!("list {folder}*")))?;
        let mut found = Vec::new();
        for line in String::from_utf8_lossy(&listed).lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some(id), Some("")) = (words.next(), words.next(), words.next()) {
                found.push((name.to_owned(), Oid::parse(id)?));
            }
        }
        Ok(found)
    }

    fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        let target = self.symbolic_bytes(name)?;
        Ok(target.map(|target| String::from_utf8_lossy(&target).into_owned()))
    }

    fn head(&self) -> Result<Head> {
        // Both in one process, where there is a commit.
        let said = self
            .git
            .run(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"])
            .capture()?;
        if said.ended.success() {
            let said = said.ok()?;
            let mut lines = said.split(|byte| *byte == b'\n');
            if let (Some(commit), Some(name)) = (lines.next(), lines.next()) {
                let commit = Oid::parse(&String::from_utf8_lossy(commit))?;
                let target = Some(name).filter(|name| *name != b"HEAD");
                return Ok(Head::at(target, Some(commit)));
            }
        }
        if let Some(target) = self.symbolic_bytes("HEAD")? {
            let commit = self.find_ref(&String::from_utf8_lossy(&target))?;
            return Ok(Head::at(Some(&target), commit));
        }
        Ok(Head::at(None, self.resolve_commit("HEAD")?))
    }

    fn resolve_commit(&self, revision: &str) -> Result<Option<Oid>> {
        let commit = format!("{revision}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        let said = self.git.run(args).capture()?;
        if !said.ended.success() {
            return Ok(None);
        }
        Oid::parse(&String::from_utf8_lossy(&said.line()?)).map(Some)
    }

    fn checked_out_in(&self, branch_ref: &str) -> Result<Option<PathBuf>> {
        let listed = self.git.run(["worktree", "list", "--porcelain", "-z"]);
        let listed = listed.capture()?.ok()?;
        let branch = [b"branch ", branch_ref.as_bytes()].concat();
        let mut path = None;
        for line in listed.split(|byte| *byte == 0) {
            if let Some(dir) = line.strip_prefix(b"worktree ") {
                path = Some(PathBuf::from(OsString::from_vec(dir.to_vec())));
            } else if line == branch {
                return Ok(path);
            }
        }
        Ok(None)
    }

    /// The folders and files are the same with every ref format; two of the refs are not files here.
    fn is_sequencing(&self) -> Result<bool> {
        if ["rebase-merge", "rebase-apply", "MERGE_HEAD", "BISECT_LOG"]
            .iter()
            .any(|name| self.has(name))
        {
            return Ok(true);
        }
        let said = self
            .git
            .run(["cat-file", "--batch-check"])
            .stdin("CHERRY_PICK_HEAD\nREVERT_HEAD\n")
            .capture()?
            .ok()?;
        Ok(String::from_utf8_lossy(&said)
            .lines()
            .any(|line| line.contains(" commit ")))
    }

    fn is_shallow(&self) -> bool {
        self.found.is_shallow()
    }

    fn config(&self, key: &str) -> Option<String> {
        self.settings.get(&canonical(key)).cloned()
    }

    fn config_scoped(&self, key: &str) -> Option<(String, &'static str)> {
        let value = self.config(key)?;
        let said = self
            .git
            .run(["config", "--show-scope", "--null", "--get", key]);
        let said = said.capture().ok()?.ok().ok()?;
        let scopes = ["command", "worktree", "local", "global", "system"];
        let scope = said.split(|byte| *byte == 0).next()?;
        let scope = scopes.into_iter().find(|name| name.as_bytes() == scope)?;
        Some((value, scope))
    }

    fn config_path(&self, key: &str) -> Option<PathBuf> {
        self.config(key)?;
        self.git.config_path(key)
    }

    fn remotes(&self) -> Result<Vec<String>> {
        let listed = self.git.run(["remote"]).capture()?.ok()?;
        Ok(String::from_utf8_lossy(&listed)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    fn identity(&self) -> Result<Identity> {
        self.git.identity()
    }

    /// `.mailmap` of the worktree, or of HEAD where there is none, and the file that is configured.
    fn mailmap(&self) -> Result<git2::Mailmap> {
        let read = |path: &Path| std::fs::read(path).ok();
        let mut text = match &self.found.work_dir {
            Some(top) => read(&top.join(".mailmap")),
            None => {
                let shown = self.git.run(["cat-file", "blob", "HEAD:.mailmap"]);
                shown.capture()?.ok().ok()
            }
        }
        .unwrap_or_default();
        if let Some(more) = self
            .config_path("mailmap.file")
            .and_then(|path| read(&path))
        {
            text.push(b'\n');
            text.extend(more);
        }
        git2::Mailmap::from_buffer(&String::from_utf8_lossy(&text))
            .map_err(|error| failed(&error, "read the mailmap"))
    }

    fn staged_paths(&self, tree: Option<&Oid>) -> Result<Vec<String>> {
        let format = match self.found.format.as_str() {
            "sha256" => git2::ObjectFormat::Sha256,
            _ => git2::ObjectFormat::Sha1,
        };
        self.git.staged_paths(&match tree {
            Some(tree) => tree.clone(),
            None => super::empty_tree_id(format)?,
        })
    }

    fn index_path(&self) -> PathBuf {
        self.found.index.clone()
    }
}
