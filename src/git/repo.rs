//! Opening a repository: through the environment, as git does in hooks and linked worktrees, and only
//! where libgit2 is safe. What it cannot handle is refused here, in one sentence, before a byte is
//! written.

use super::failed;
use super::run::Run;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::{Oid, Person};
use std::path::{Path, PathBuf};

/// An open repository.
pub struct Repo {
    pub(super) inner: git2::Repository,
    work_dir: Option<PathBuf>,
}

/// Where HEAD points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The branch's short name, also when it has no commit yet; `None` when HEAD is detached.
    pub branch: Option<String>,
    pub commit: Option<Oid>,
}

/// Who is acting, and when, by git's own rules.
#[derive(Clone)]
pub struct Identity {
    pub author: Person,
    /// Where that is somebody else than the author.
    pub committer: Option<Person>,
    /// RFC 3339 with the committer's offset.
    pub at: String,
    pub(super) author_signature: git2::Signature<'static>,
    pub(super) committer_signature: git2::Signature<'static>,
}

impl Repo {
    /// Opens the repository that the environment and the current folder name.
    pub fn open() -> Result<Self> {
        Self::open_or(refusal)
    }

    /// The same for a hook: where that fails, the git program is not asked why.
    pub fn open_in_hook() -> Result<Self> {
        Self::open_or(|error| failed(error, "open the repository"))
    }

    fn open_or(refusal: impl Fn(&git2::Error) -> Failure) -> Result<Self> {
        let Some(named) = crate::env::var_os("GIT_WORK_TREE").map(PathBuf::from) else {
            let inner = git2::Repository::open_from_env().map_err(|error| refusal(&error))?;
            let work_dir = inner.workdir().map(Path::to_path_buf);
            return Ok(Repo { inner, work_dir });
        };
        // libgit2 looks for a relative GIT_WORK_TREE from the git dir, git from the current folder. So
        // libgit2 is told of no worktree at all: it never touches one.
        let git_dir = match crate::env::var_os("GIT_DIR") {
            Some(path) => PathBuf::from(path),
            None => git2::Repository::discover_path(".", std::iter::empty::<PathBuf>())
                .map_err(|error| refusal(&error))?,
        };
        let flags = git2::RepositoryOpenFlags::FROM_ENV
            | git2::RepositoryOpenFlags::BARE
            | git2::RepositoryOpenFlags::NO_SEARCH;
        let inner = git2::Repository::open_ext(git_dir, flags, std::iter::empty::<PathBuf>())
            .map_err(|error| refusal(&error))?;
        let work_dir = std::path::absolute(named)
            .map_err(|error| Failure::internal("worktree_unreadable", error.to_string()))?;
        Ok(Repo {
            inner,
            work_dir: Some(work_dir),
        })
    }

    /// The worktree's own git dir: `.git`, or `.git/worktrees/NAME` of a linked one.
    pub fn git_dir(&self) -> PathBuf {
        self.inner.path().to_path_buf()
    }

    /// The git dir that all linked worktrees share.
    pub fn common_dir(&self) -> PathBuf {
        self.inner.commondir().to_path_buf()
    }

    /// The top of the worktree; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.work_dir.as_deref()
    }

    /// A value of git's configuration, all scopes.
    pub fn config(&self, key: &str) -> Option<String> {
        let config = self.inner.config().ok()?;
        config.get_string(key).ok()
    }

    /// A value of git's configuration, with the scope that it is set in.
    pub fn config_scoped(&self, key: &str) -> Option<(String, &'static str)> {
        let config = self.inner.config().ok()?;
        let entry = config.get_entry(key).ok()?;
        let scope = match entry.level() {
            git2::ConfigLevel::Local => "local",
            git2::ConfigLevel::Worktree => "worktree",
            git2::ConfigLevel::System | git2::ConfigLevel::ProgramData => "system",
            _ => "global",
        };
        Some((entry.value().ok()?.to_owned(), scope))
    }

    /// A path of git's configuration, `~` resolved.
    pub fn config_path(&self, key: &str) -> Option<PathBuf> {
        let config = self.inner.config().ok()?;
        config.get_path(key).ok()
    }

    /// Whether history was cut off by a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.inner.is_shallow()
    }

    /// What begins a comment in a message that is being written, as git reads `core.commentString`.
    /// With `auto` git chooses a sign that begins no line of the message: the one that begins its last.
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

    /// Where HEAD points; an unborn branch and a detached HEAD are ordinary values.
    pub fn head(&self) -> Result<Head> {
        let reference = self
            .inner
            .find_reference("HEAD")
            .map_err(|error| failed(&error, "read HEAD"))?;
        if let Ok(Some(target)) = reference.symbolic_target() {
            let branch = target
                .strip_prefix("refs/heads/")
                .unwrap_or(target)
                .to_owned();
            return Ok(Head {
                commit: self.find_ref(target)?,
                branch: Some(branch),
            });
        }
        Ok(Head {
            branch: None,
            commit: reference.target().map(oid).transpose()?,
        })
    }

    /// The commit that a revision names.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        let object = self
            .inner
            .revparse_single(revision)
            .and_then(|object| object.peel_to_commit())
            .map_err(|error| {
                Failure::not_found(
                    "revision_unknown",
                    format!("`{revision}` names no commit: {}", error.message()),
                )
            })?;
        oid(object.id())
    }

    /// Whether an operation that replays or merges commits is under way: rebase, cherry-pick, revert,
    /// merge, am, bisect.
    pub fn is_sequencing(&self) -> bool {
        self.inner.state() != git2::RepositoryState::Clean
    }

    /// git's clock, in seconds: the committer date, and the system's where git does not know who acts.
    pub fn now(&self) -> i64 {
        match self.inner.committer_from_env() {
            Ok(committer) => committer.when().seconds(),
            Err(_) => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .ok()
                .and_then(|since| i64::try_from(since.as_secs()).ok())
                .unwrap_or(0),
        }
    }

    /// Who is acting: git's environment variables and configuration, `user.useConfigOnly` included.
    pub fn identity(&self) -> Result<Identity> {
        let unknown = |error: git2::Error| {
            let said = error.message().to_owned();
            Failure::new(Kind::Refused, "identity_unknown", format!("git does not know who you are: {said}")).help(
                "git config --global user.name \"Your Name\" && git config --global user.email \"you@example.com\" \
                 (omit --global to set the identity only in this repository)",
            )
        };
        let author = self.inner.author_from_env().map_err(unknown)?;
        let committer = self.inner.committer_from_env().map_err(unknown)?;
        let (by, through) = (person(&author), person(&committer));
        Ok(Identity {
            committer: (through != by).then_some(through),
            author: by,
            at: rfc3339(committer.when()),
            author_signature: author,
            committer_signature: committer,
        })
    }
}

/// Why a repository could not be opened, in words that lead on. git is asked for the formats only
/// here, where nothing else is left to do.
fn refusal(error: &git2::Error) -> Failure {
    let ask = |what: &str| {
        let captured = Run::git(["rev-parse", what]).capture().ok()?;
        let line = captured.line().ok()?;
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    };
    match error.code() {
        git2::ErrorCode::NotFound => Failure::not_found(
            "repository_missing",
            "not a git repository, nor is any parent folder",
        )
        .help("git init"),
        git2::ErrorCode::Owner => Failure::new(
            Kind::Refused,
            "repository_not_owned",
            "the repository belongs to another user, and git does not trust it for you",
        )
        .help("git config --global --add safe.directory PATH"),
        _ => {
            let reftable = ask("--show-ref-format").is_some_and(|format| format == "reftable");
            let sha256 = ask("--show-object-format").is_some_and(|format| format == "sha256");
            let unsupported = |what: &str| {
                Failure::new(
                    Kind::Refused,
                    "repository_unsupported",
                    format!(
                        "this repository {what}, which git loopx does not support yet; nothing was written"
                    ),
                )
            };
            if reftable {
                unsupported("keeps its refs in the reftable format")
            } else if sha256 {
                unsupported("uses SHA-256 object ids")
            } else {
                unsupported(&format!(
                    "cannot be opened ({})",
                    error.message().trim_end_matches('.')
                ))
            }
        }
    }
}

pub(super) fn person(signature: &git2::Signature<'_>) -> Person {
    Person {
        name: String::from_utf8_lossy(signature.name_bytes()).into_owned(),
        email: String::from_utf8_lossy(signature.email_bytes()).into_owned(),
    }
}

/// An object id as a value of ours.
pub(super) fn oid(id: git2::Oid) -> Result<Oid> {
    Oid::parse(&id.to_string())
}

/// An object id as libgit2 wants it.
pub(super) fn raw(id: &Oid) -> Result<git2::Oid> {
    let format = match id.as_str().len() {
        64 => git2::ObjectFormat::Sha256,
        _ => git2::ObjectFormat::Sha1,
    };
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
