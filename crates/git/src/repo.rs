//! Opening a repository: through the environment, as git does in hooks and linked worktrees. libgit2
//! where it reads the repository as git does, else the git program with libgit2 for the objects alone;
//! what git itself does not open is refused here, in one sentence, before a byte is written.

use super::backend::{Backend, Git};
use super::database::Database;
use super::failed;
use super::files::Files;
use super::large_blobs::LargeBlobs;
use super::pack::Step;
use super::program::{Found, Program};
use super::trees::LargeTrees;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, Person};
use loopx_base::quoted_name;
use loopx_base::sharing::Sharing;
use loopx_base::working_tree::Sequence;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An open repository.
pub struct Repo {
    pub(super) inner: Database,
    pub(super) backend: Box<dyn Backend>,
    pub(super) git: Git,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_dir: Option<PathBuf>,
    pub(super) large_trees: LargeTrees,
    pub(super) large_blobs: LargeBlobs,
    pub(super) step: Step,
    pub(super) sharing: OnceCell<Sharing>,
}

/// Branch or commit at which HEAD points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The branch's short name, also when it has no commit yet; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The name of the branch where it is no UTF-8, so that no record can hold it.
    pub odd: Option<Vec<u8>>,
    pub commit: Option<Oid>,
}

impl Head {
    /// Makes HEAD at a ref, or at none.
    pub(super) fn at(target: Option<&[u8]>, commit: Option<Oid>) -> Self {
        let short = target.map(|target| target.strip_prefix(b"refs/heads/").unwrap_or(target));
        let name = short.map(|short| String::from_utf8(short.to_vec()));
        let (branch, odd) = match name {
            Some(Ok(branch)) => (Some(branch), None),
            Some(Err(odd)) => (None, Some(odd.into_bytes())),
            None => (None, None),
        };
        Head {
            branch,
            odd,
            commit,
        }
    }

    /// Name of the branch that is checked out, or words for its absence.
    pub fn words(&self) -> String {
        match (&self.branch, &self.odd) {
            (Some(branch), _) => branch.clone(),
            (None, Some(odd)) => {
                format!("{} (a branch whose name is no UTF-8)", quoted_name(odd))
            }
            (None, None) => "a detached HEAD".to_owned(),
        }
    }
}

/// Author and committer of a commit, and the time, by git's own rules.
#[derive(Clone)]
pub struct Identity {
    pub author: Person,
    /// Committer, where that is somebody else than the author.
    pub committer: Option<Person>,
    /// RFC 3339 with the committer's offset.
    pub at: String,
    pub(super) author_signature: git2::Signature<'static>,
    pub(super) committer_signature: git2::Signature<'static>,
}

impl Identity {
    /// The clock as git has it for the committer, in seconds since 1970.
    pub fn seconds(&self) -> i64 {
        self.committer_signature.when().seconds()
    }

    /// The second by which leases are judged: the clock as git has it, and the system's where that is earlier. A date that
    /// somebody sets ends nobody's lease.
    pub fn judges_at(&self) -> i64 {
        self.seconds().min(loopx_base::env::now())
    }

    pub(super) fn new(
        author: git2::Signature<'static>,
        committer: git2::Signature<'static>,
    ) -> Self {
        let (by, through) = (person(&author), person(&committer));
        Identity {
            committer: (through != by).then_some(through),
            author: by,
            at: rfc3339(committer.when()),
            author_signature: author,
            committer_signature: committer,
        }
    }
}

impl Repo {
    /// Opens the repository that the environment and the current folder name.
    pub fn open() -> Result<Self> {
        Self::open_for(Git { in_hook: false })
    }

    /// Opens the same repository for a hook: nothing is fetched that a partial clone left out.
    pub fn open_in_hook() -> Result<Self> {
        Self::open_for(Git { in_hook: true })
    }

    /// Makes a bare repository in a folder, which nothing else uses: what the tests of the layers above start from.
    pub fn init_bare(dir: &Path) -> Result<Self> {
        let made = git2::Repository::init_bare(dir);
        let repo = Rc::new(made.map_err(|error| failed(&error, "make a repository"))?);
        let git = Git { in_hook: false };
        let inner = Database::new(Rc::clone(&repo), dir.join("objects"), git);
        Ok(Repo {
            git_dir: dir.to_path_buf(),
            backend: Box::new(Files::new(repo, None, inner.loose(), git)),
            inner,
            git,
            common_dir: dir.to_path_buf(),
            work_dir: None,
            large_trees: LargeTrees::default(),
            large_blobs: LargeBlobs::default(),
            step: Step::default(),
            sharing: OnceCell::new(),
        })
    }

    fn open_for(git: Git) -> Result<Self> {
        // What a new object or a ref names is looked at here: libgit2 would read all packs again for it.
        git2::opts::strict_object_creation(false);
        // As git does, a command takes an object to be what it is named: what was fetched or written here was hashed
        // then. A torn or flipped one does not inflate.
        git2::opts::strict_hash_verification(false);
        let repo = Self::found(git)?;
        // A hook moves no ref, and is paid for by every commit.
        if !git.in_hook {
            repo.sync_refs();
        }
        Ok(repo)
    }

    fn found(git: Git) -> Result<Self> {
        match open_with_libgit2() {
            Ok((repo, work_dir)) => {
                let repo = Rc::new(repo);
                let common_dir = repo.commondir().to_path_buf();
                let objects = common_dir.join("objects");
                let inner = Database::new(Rc::clone(&repo), objects, git);
                Ok(Repo {
                    git_dir: repo.path().to_path_buf(),
                    backend: Box::new(Files::new(repo, work_dir.clone(), inner.loose(), git)),
                    inner,
                    git,
                    common_dir,
                    work_dir,
                    large_trees: LargeTrees::default(),
                    large_blobs: LargeBlobs::default(),
                    step: Step::default(),
                    sharing: OnceCell::new(),
                })
            }
            // git may know better: a ref format, an extension, an owner that it trusts. What it does not
            // open either, it explains.
            Err(_) => {
                let found = Found::ask(git)?;
                let (objects, folder) = found.open_objects()?;
                Ok(Repo {
                    inner: Database::new(Rc::new(objects), found.objects.clone(), git),
                    git,
                    git_dir: found.git_dir.clone(),
                    common_dir: found.common_dir.clone(),
                    work_dir: found.work_dir.clone(),
                    backend: Box::new(Program::new(git, found, folder)?),
                    large_trees: LargeTrees::default(),
                    large_blobs: LargeBlobs::default(),
                    step: Step::default(),
                    sharing: OnceCell::new(),
                })
            }
        }
    }

    /// The worktree's own git dir: `.git`, or `.git/worktrees/NAME` of a linked one.
    pub fn git_dir(&self) -> PathBuf {
        self.git_dir.clone()
    }

    /// The git dir that all linked worktrees share.
    pub fn common_dir(&self) -> PathBuf {
        self.common_dir.clone()
    }

    /// The top of the worktree; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.work_dir.as_deref()
    }

    /// The place that git has noted for this linked worktree, where that is not the place where it is.
    pub fn noted_elsewhere(&self) -> Option<PathBuf> {
        let noted = std::fs::read_to_string(self.git_dir.join("gitdir")).ok()?;
        let noted = self.git_dir.join(noted.trim_end_matches(['\n', '\r']));
        let top = self.work_dir()?.canonicalize().ok()?;
        let is_here = noted
            .parent()
            .and_then(|folder| folder.canonicalize().ok())
            .is_some_and(|folder| folder == top);
        (!is_here).then(|| {
            noted
                .parent()
                .map_or_else(|| noted.clone(), Path::to_path_buf)
        })
    }

    /// A value of git's configuration, all scopes, `git -c` included. The key in lower case.
    pub fn config(&self, key: &str) -> Option<String> {
        self.backend.config(key)
    }

    /// A value of git's configuration, with the scope that it is set in.
    pub fn config_scoped(&self, key: &str) -> Option<(String, &'static str)> {
        self.backend.config_scoped(key)
    }

    /// A yes or no of git's configuration, all scopes.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        git2::Config::parse_bool(self.config(key)?).ok()
    }

    /// Every value of a setting that may be given more than once; git itself is asked.
    pub fn config_all(&self, key: &str) -> Result<Vec<String>> {
        super::read_here("config-read", format_args!("read {key}"))?;
        let said = super::run::Run::git(["config", "--null", "--get-all", key]).capture()?;
        // 1: there is none.
        let values = match said.ended.code {
            1 => Vec::new(),
            _ => said.ok()?,
        };
        let values = values
            .split(|byte| *byte == 0)
            .filter(|value| !value.is_empty());
        Ok(values
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect())
    }

    /// A value of git's configuration as its files have it: what the call itself says (`git -c`) is left out. git itself
    /// is asked.
    pub fn config_of_files(&self, key: &str) -> Result<Option<String>> {
        super::read_here("config-read", format_args!("read {key}"))?;
        let asked = ["config", "--show-scope", "--null", "--get-all", key];
        let said = super::run::Run::git(asked).capture()?;
        // 1: there is none.
        if said.ended.code == 1 {
            return Ok(None);
        }
        let said = said.ok()?;
        let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let mut of_files = fields.chunks_exact(2).filter(|pair| pair[0] != b"command");
        let value = of_files.next_back().map(|pair| pair[1]);
        Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
    }

    /// A path of git's configuration, `~` resolved.
    pub fn config_path(&self, key: &str) -> Option<PathBuf> {
        self.backend.config_path(key)
    }

    /// Tells whether history was cut off by a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.backend.is_shallow()
    }

    /// Prefix of a comment in a message that is being written, as git reads `core.commentString`. With `auto` git
    /// chooses a sign that begins no line of the message: the sign that begins its last line.
    pub fn comment_prefix(&self, message: &[u8]) -> Vec<u8> {
        let wanted = self
            .config("core.commentstring")
            .or_else(|| self.config("core.commentchar"))
            .filter(|prefix| !prefix.is_empty());
        match wanted.as_deref() {
            None => b"#".to_vec(),
            Some("auto") => {
                let last = message
                    .split(|byte| *byte == b'\n')
                    .rev()
                    .find_map(|line| line.first())
                    .filter(|sign| b"#;@!$%^&|:".contains(sign));
                vec![*last.unwrap_or(&b'#')]
            }
            Some(prefix) => prefix.as_bytes().to_vec(),
        }
    }

    /// Branch or commit at which HEAD points; an unborn branch and a detached HEAD are ordinary values.
    pub fn head(&self) -> Result<Head> {
        self.backend.head()
    }

    /// The commit that a revision names.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        self.backend.resolve_commit(revision)?.ok_or_else(|| {
            Failure::not_found(
                Code::RevisionUnknown,
                format!("`{revision}` names no commit"),
            )
        })
    }

    /// Tells whether an operation that replays or merges commits is under way: rebase, cherry-pick, revert, merge, am,
    /// bisect.
    pub fn is_sequencing(&self) -> Result<bool> {
        self.backend.is_sequencing()
    }

    /// Command that git has begun in this worktree and has not finished.
    pub fn sequence(&self) -> Option<Sequence> {
        let dir = self.git_dir();
        let known = [
            ("rebase-apply/applying", Sequence::Am),
            ("rebase-merge", Sequence::Rebase),
            ("rebase-apply", Sequence::Rebase),
            ("MERGE_HEAD", Sequence::Merge),
            ("CHERRY_PICK_HEAD", Sequence::CherryPick),
            ("REVERT_HEAD", Sequence::Revert),
        ];
        let mut known = known.into_iter();
        known.find_map(|(file, what)| dir.join(file).exists().then_some(what))
    }

    /// The branch that a rebase under way gives back to HEAD at its end (git-rebase(1)).
    pub fn rebased_branch(&self) -> Option<String> {
        let mut folders = ["rebase-merge", "rebase-apply"].into_iter();
        let name = folders.find_map(|folder| {
            let file = self.git_dir().join(folder).join("head-name");
            std::fs::read_to_string(file).ok()
        })?;
        Some(name.trim_end().strip_prefix("refs/heads/")?.to_owned())
    }

    /// The second by which leases and ages are judged: as [`Identity::judges_at`], and the system's clock where git does
    /// not know who acts.
    pub fn now(&self) -> i64 {
        match self.backend.identity() {
            Ok(identity) => identity.judges_at(),
            Err(_) => loopx_base::env::now(),
        }
    }

    /// Author and committer: git's environment variables and configuration, `user.useConfigOnly` included.
    pub fn identity(&self) -> Result<Identity> {
        self.backend.identity()
    }
}

/// The repository and the top of its worktree, as libgit2 finds them.
fn open_with_libgit2() -> std::result::Result<(git2::Repository, Option<PathBuf>), git2::Error> {
    let Some(named) = loopx_base::env::var_os("GIT_WORK_TREE").map(PathBuf::from) else {
        let repo = git2::Repository::open_from_env()?;
        let work_dir = repo.workdir().map(Path::to_path_buf);
        if let Some(moved) = moved_to(&repo) {
            repo.set_workdir(&moved, false)?;
            return Ok((repo, Some(moved)));
        }
        return Ok((repo, work_dir));
    };
    // libgit2 looks for a relative GIT_WORK_TREE from the git dir, git from the current folder. So
    // libgit2 is told of no worktree at all: it never touches one.
    let git_dir = match loopx_base::env::var_os("GIT_DIR") {
        Some(path) => PathBuf::from(path),
        None => git2::Repository::discover_path(".", std::iter::empty::<PathBuf>())?,
    };
    let flags = git2::RepositoryOpenFlags::FROM_ENV
        | git2::RepositoryOpenFlags::BARE
        | git2::RepositoryOpenFlags::NO_SEARCH;
    let repo = git2::Repository::open_ext(git_dir, flags, std::iter::empty::<PathBuf>())?;
    let work_dir =
        std::path::absolute(named).map_err(|error| git2::Error::from_str(&error.to_string()))?;
    Ok((repo, Some(work_dir)))
}

/// The place of a linked worktree that was moved without git's knowledge: git takes the folder whose `.git` names the
/// git dir, and libgit2 the one that the git dir names.
fn moved_to(repo: &git2::Repository) -> Option<PathBuf> {
    if !repo.is_worktree() || repo.workdir().is_some_and(Path::is_dir) {
        return None;
    }
    let git_dir = repo.path().canonicalize().ok()?;
    let here = loopx_base::env::current_dir().ok()?;
    let names_it = |top: &&Path| {
        let text = std::fs::read_to_string(top.join(".git")).ok();
        let named = text
            .as_deref()
            .and_then(|text| text.strip_prefix("gitdir: "));
        named.is_some_and(|named| {
            let named = top.join(named.trim_end_matches(['\n', '\r']));
            named.canonicalize().is_ok_and(|named| named == git_dir)
        })
    };
    here.ancestors().find(names_it).map(Path::to_path_buf)
}

pub(super) fn person(signature: &git2::Signature<'_>) -> Person {
    Person {
        name: String::from_utf8_lossy(signature.name_bytes()).into_owned(),
        email: String::from_utf8_lossy(signature.email_bytes()).into_owned(),
    }
}

/// An object id as a value of ours.
pub(super) fn oid(id: git2::Oid) -> Result<Oid> {
    Oid::of_bytes(id.as_bytes())
}

/// An object id as libgit2 wants it, in a repository of this format. An id of the other format names
/// nothing there, and must not reach libgit2: it would write a long id where a short one has room.
pub(super) fn raw(id: &Oid, format: git2::ObjectFormat) -> Result<git2::Oid> {
    let digits = match format {
        git2::ObjectFormat::Sha1 => 40,
        git2::ObjectFormat::Sha256 => 64,
    };
    if id.as_str().len() != digits {
        return Err(Failure::internal(
            Code::ObjectMissing,
            format!("this repository has ids of {digits} digits, and {id} is none"),
        ));
    }
    git2::Oid::from_str_ext(id.as_str(), format)
        .map_err(|error| failed(&error, format!("read the object id {id}")))
}

/// git's time as RFC 3339, in its own offset.
pub(super) fn rfc3339(time: git2::Time) -> String {
    let offset = time::UtcOffset::from_whole_seconds(time.offset_minutes() * 60)
        .unwrap_or(time::UtcOffset::UTC);
    time::OffsetDateTime::from_unix_timestamp(time.seconds())
        .map(|moment| moment.to_offset(offset))
        .ok()
        .and_then(|moment| {
            moment
                .format(&time::format_description::well_known::Rfc3339)
                .ok()
        })
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}
