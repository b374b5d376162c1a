//! Refs, HEAD, configuration and index through libgit2: the repositories that it reads as git does.

use super::backend::{Backend, Git, identity_unknown, is_on, is_out_of_reach};
use super::config_env::{EnvConfig, canonical};
use super::dates;
use super::failed;
use super::loose::Loose;
use super::refs::Swap;
use super::repo::{Head, Identity, oid, raw};
use super::run::changes;
use loopx_base::failure::{Code, Result};
use loopx_base::id::Oid;
use loopx_base::tree_name::MOST_BYTES;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of an index that are read in one go.
const READ_AT_ONCE: usize = 256 << 10;

/// Variables by which git tells the author and the committer apart.
const PERSONS: [&str; 6] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

const INTENT_TO_ADD: u16 = git2::IndexEntryExtendedFlag::INTENT_TO_ADD.bits();

pub(super) struct Files {
    repo: Rc<git2::Repository>,
    work_dir: Option<PathBuf>,
    settings: EnvConfig,
    /// The settings as their files say them. libgit2 looks at every file again for each value that it reads of
    /// these; the repository has a copy, which is made anew where this process may have changed them.
    live: RefCell<Option<git2::Config>>,
    /// Value of [`changes`] when the copy was made.
    copied_at: Cell<u64>,
    /// Settings that git reads as its configuration, where libgit2 reads other ones.
    listed: OnceCell<Option<HashMap<String, String>>>,
    loose: Rc<Loose>,
    git: Git,
}

impl Files {
    pub(super) fn new(
        repo: Rc<git2::Repository>,
        work_dir: Option<PathBuf>,
        loose: Rc<Loose>,
        git: Git,
    ) -> Self {
        let files = Files {
            loose,
            live: RefCell::new(repo.config().ok()),
            copied_at: Cell::new(changes()),
            repo,
            work_dir,
            settings: EnvConfig::read(),
            listed: OnceCell::new(),
            git,
        };
        files.copy_settings();
        files
    }

    /// Gives the repository a copy of its settings; without one it reads the files each time.
    fn copy_settings(&self) {
        if let Some(live) = self.live.borrow_mut().as_mut()
            && let Ok(copy) = live.snapshot()
        {
            drop(self.repo.set_config(&copy));
        }
    }

    /// The settings, as they were when this process began or last started a program.
    fn current(&self) -> Option<git2::Config> {
        let now = changes();
        if self.copied_at.replace(now) != now {
            self.copy_settings();
        }
        self.repo.config().ok()
    }

    fn raw(&self, id: &Oid) -> Result<git2::Oid> {
        raw(id, self.repo.object_format())
    }

    /// git's own list of settings, asked for once, where libgit2 would miss some: a file that the
    /// environment includes, or one that is included for some remotes.
    fn listed(&self) -> Option<&HashMap<String, String>> {
        let list = || {
            let by_environment = self.settings.has_section(&["include", "includeif"]);
            (by_environment || self.includes_by_remote()).then(|| self.git.settings())
        };
        self.listed.get_or_init(list).as_ref()
    }

    fn includes_by_remote(&self) -> bool {
        let mut found = false;
        self.each_name(|name| found |= name.starts_with("includeif.hasconfig:"));
        found
    }

    /// Calls `see` with the name of each setting. A pattern for libgit2 would cost more than all names: it is compiled
    /// as a regular expression.
    fn each_name(&self, mut see: impl FnMut(&str)) {
        let Some(config) = self.current() else {
            return;
        };
        let Ok(mut entries) = config.entries(None) else {
            return;
        };
        while let Some(Ok(entry)) = entries.next() {
            if let Ok(name) = entry.name() {
                see(name);
            }
        }
    }

    /// Tells whether a setting like `author.name` stands beside those of `user`: libgit2 knows none.
    fn names_author_or_committer(&self) -> bool {
        let mut found = false;
        self.each_name(|name| {
            found |= name.starts_with("author.") || name.starts_with("committer.");
        });
        found
    }

    fn common_is_bare(&self) -> bool {
        self.config("core.bare")
            .is_some_and(|value| value == "true")
    }

    /// Paths that differ between a tree and the tree that git says the index stands for. `None` where git does not say,
    /// or where libgit2 would compare names in another way. Reading 100,000 entries costs more than everything else
    /// that a hook does.
    fn staged_by_trees(&self, tree: Option<&Oid>) -> Result<Option<Vec<String>>> {
        let Some(root) = self.tree_of_index() else {
            return Ok(None);
        };
        let old = tree.map(|id| self.raw(id)).transpose()?;
        match super::tree_diff::differing(|id| self.tree(id), old, Some(root)) {
            Err(failure) if failure.code == Code::ObjectDamaged => Err(failure),
            // Somebody may have written the name of a tree and not the tree.
            found => Ok(found.ok()),
        }
    }

    fn tree(&self, id: git2::Oid) -> Result<git2::Tree<'_>> {
        self.loose.check(&oid(id)?)?;
        let found = self.repo.find_tree(id);
        found.map_err(|error| failed(&error, format!("read tree {id}")))
    }

    /// The tree that git says the index stands for.
    fn tree_of_index(&self) -> Option<git2::Oid> {
        if self.config("core.ignorecase").as_deref() == Some("true") {
            return None;
        }
        let file = std::fs::File::open(self.index_path()).ok()?;
        let length = file.metadata().ok()?.len();
        let id_length = match self.repo.object_format() {
            git2::ObjectFormat::Sha1 => 20,
            git2::ObjectFormat::Sha256 => 32,
        };
        let read = std::io::BufReader::with_capacity(READ_AT_ONCE, file);
        let root = super::index::root_tree(read, length, id_length)?;
        git2::Oid::from_bytes(&root).ok()
    }

    fn staged_by_libgit2(&self, tree: Option<&Oid>, index: &git2::Index) -> Result<Vec<String>> {
        let doing = |error: git2::Error| failed(&error, "compare HEAD and the index");
        let tree = match tree {
            Some(id) => Some(self.tree(self.raw(id)?)?),
            None => None,
        };
        let mut options = git2::DiffOptions::new();
        options.skip_binary_check(true).include_typechange(true);
        let diff = self
            .repo
            .diff_tree_to_index(tree.as_ref(), Some(index), Some(&mut options))
            .map_err(doing)?;
        let mut found = super::code::paths(&diff);
        // `git add --intent-to-add` only announces a file: no tree gets it.
        found.retain(|path| {
            let announced = index
                .get_path(Path::new(path), 0)
                .is_some_and(|entry| entry.flags_extended & INTENT_TO_ADD != 0);
            let was_there = || {
                tree.as_ref()
                    .is_some_and(|tree| tree.get_path(Path::new(path)).is_ok())
            };
            !announced || was_there()
        });
        Ok(found)
    }
}

impl Files {
    /// Moves a ref that is there, compared under its lock; false where it stands elsewhere. Of other refs nothing is
    /// asked: where this one stands, none is in its way. libgit2 would read all packed refs to see that, ten thousand
    /// branches in each command that writes.
    fn move_known(
        &self,
        name: &str,
        new: git2::Oid,
        old: git2::Oid,
        why: &str,
    ) -> std::result::Result<bool, git2::Error> {
        let mut moving = self.repo.transaction()?;
        moving.lock_ref(name)?;
        let there = self.repo.find_reference(name)?;
        let is_direct = there.kind() == Some(git2::ReferenceType::Direct);
        if !is_direct || there.target() != Some(old) {
            return Ok(false);
        }
        moving.set_target(name, new, None, why)?;
        moving.commit()?;
        Ok(true)
    }

    /// The commit that a revision begins with: a name or an id, before `~2`, `^` and the like.
    fn start_of(&self, revision: &str) -> Option<Oid> {
        let name = revision.split(['~', '^', '@', ':']).next()?;
        if let Ok(id) = Oid::parse(name) {
            return self.raw(&id).is_ok().then_some(id);
        }
        let found = self.repo.resolve_reference_from_short_name(name).ok()?;
        oid(found.resolve().ok()?.target()?).ok()
    }
}

impl Backend for Files {
    fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        super::read_here("ref-read", format_args!("read {name}"))?;
        match self.repo.refname_to_id(name) {
            Ok(id) => oid(id).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            // No file system has room for such a name, so nothing is there.
            Err(_) if name.split('/').any(|part| part.len() > MOST_BYTES) => Ok(None),
            Err(error) => Err(failed(&error, format!("read {name}"))),
        }
    }

    /// The comparison happens under the ref's lock; a zero id, not `force = false`, is what makes creation
    /// safe (reference git-stores, section 0).
    fn swap_ref(&self, name: &str, new: &Oid, old: Option<&Oid>, why: &str) -> Result<Swap> {
        let expected = match old {
            Some(id) => self.raw(id)?,
            None => match self.repo.object_format() {
                git2::ObjectFormat::Sha1 => git2::Oid::ZERO_SHA1,
                git2::ObjectFormat::Sha256 => git2::Oid::ZERO_SHA256,
            },
        };
        let new = self.raw(new)?;
        let moved = match old {
            Some(_) => self.move_known(name, new, expected, why),
            None => {
                let made = self.repo.reference_matching(name, new, true, expected, why);
                made.map(|_| true)
            }
        };
        match moved {
            Ok(true) => Ok(Swap::Moved),
            Ok(false) => Ok(Swap::Lost),
            Err(error) => match error.code() {
                git2::ErrorCode::Locked => Ok(Swap::Locked),
                git2::ErrorCode::Modified | git2::ErrorCode::Exists => Ok(Swap::Lost),
                // The old value was expected and the ref is gone, or is a folder of refs: also a lost race.
                git2::ErrorCode::NotFound | git2::ErrorCode::Directory if old.is_some() => {
                    Ok(Swap::Lost)
                }
                _ => Err(failed(&error, format!("move {name}"))),
            },
        }
    }

    fn refs_below(&self, folder: &str) -> Result<Vec<(String, Oid)>> {
        let doing = |error: git2::Error| failed(&error, format!("list {folder}*"));
        let mut found = Vec::new();
        for reference in self
            .repo
            .references_glob(&format!("{folder}*"))
            .map_err(doing)?
        {
            let reference = reference.map_err(doing)?;
            if let (Ok(name), Some(id)) = (reference.name(), reference.target()) {
                found.push((name.to_owned(), oid(id)?));
            }
        }
        Ok(found)
    }

    fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        super::read_here("ref-read", format_args!("read {name}"))?;
        let found = match self.repo.find_reference(name) {
            Ok(found) => found,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            // No ref has such a name: a remote that is given by its address.
            Err(error) if error.code() == git2::ErrorCode::InvalidSpec => return Ok(None),
            Err(error) => return Err(failed(&error, format!("read {name}"))),
        };
        Ok(found.symbolic_target().ok().flatten().map(str::to_owned))
    }

    fn head(&self) -> Result<Head> {
        super::read_here("ref-read", "read HEAD")?;
        let reference = self
            .repo
            .find_reference("HEAD")
            .map_err(|error| failed(&error, "read HEAD"))?;
        let commit = match reference.symbolic_target() {
            Ok(Some(target)) => self.find_ref(target)?,
            Ok(None) => reference.target().map(oid).transpose()?,
            // A name that is no UTF-8 is looked up by its bytes.
            Err(_) => match reference.resolve() {
                Ok(found) => found.target().map(oid).transpose()?,
                Err(_) => None,
            },
        };
        Ok(Head::at(reference.symbolic_target_bytes(), commit))
    }

    fn resolve_commit(&self, revision: &str) -> Result<Option<Oid>> {
        if let Some(id) = self.start_of(revision) {
            self.loose.check_commits(&self.repo, [&id])?;
        }
        self.repo
            .revparse_single(revision)
            .and_then(|object| object.peel_to_commit())
            .ok()
            .map(|commit| oid(commit.id()))
            .transpose()
    }

    fn checked_out_in(&self, branch_ref: &str) -> Result<Option<PathBuf>> {
        let common = self.repo.commondir().to_path_buf();
        if is_on(&common.join("HEAD"), branch_ref)? && !self.common_is_bare() {
            let main = if self.repo.is_worktree() {
                common.parent().map(PathBuf::from)
            } else {
                self.work_dir.clone()
            };
            return Ok(Some(main.unwrap_or(common)));
        }
        let folder = common.join("worktrees");
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_out_of_reach(&error) => return Ok(None),
            Err(error) => return Err(super::unreadable(&folder, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| super::unreadable(&folder, &error))?;
            if is_on(&entry.path().join("HEAD"), branch_ref)? {
                // `gitdir` names the worktree's `.git` file, absolute or relative to the entry.
                let named = entry.path().join("gitdir");
                let dot_git = match std::fs::read_to_string(&named) {
                    Err(error) if !is_out_of_reach(&error) => {
                        return Err(super::unreadable(&named, &error));
                    }
                    read => read.unwrap_or_default(),
                };
                let dot_git = entry.path().join(dot_git.trim_end_matches(['\n', '\r']));
                let path = dot_git.parent().map_or_else(|| entry.path(), PathBuf::from);
                return Ok(Some(std::fs::canonicalize(&path).unwrap_or(path)));
            }
        }
        Ok(None)
    }

    fn is_sequencing(&self) -> Result<bool> {
        Ok(self.repo.state() != git2::RepositoryState::Clean)
    }

    fn is_shallow(&self) -> bool {
        self.repo.is_shallow()
    }

    fn config(&self, key: &str) -> Option<String> {
        let name = canonical(key);
        if let Some(listed) = self.listed() {
            return listed.get(&name).cloned();
        }
        if let Some(value) = self.settings.get(&name) {
            return Some(value.to_owned());
        }
        self.current()?.get_string(key).ok()
    }

    fn config_scoped(&self, key: &str) -> Option<(String, &'static str)> {
        if let Some(value) = self.settings.get(key) {
            return Some((value.to_owned(), "command"));
        }
        // A copy does not say where a value is from.
        let live = self.live.borrow();
        let entry = live.as_ref()?.get_entry(key).ok()?;
        let scope = match entry.level() {
            git2::ConfigLevel::Local => "local",
            git2::ConfigLevel::Worktree => "worktree",
            git2::ConfigLevel::System | git2::ConfigLevel::ProgramData => "system",
            _ => "global",
        };
        Some((entry.value().ok()?.to_owned(), scope))
    }

    fn config_path(&self, key: &str) -> Option<PathBuf> {
        if self.listed().is_some() || self.settings.get(&canonical(key)).is_some() {
            return self.git.config_path(key);
        }
        self.current()?.get_path(key).ok()
    }

    fn remotes(&self) -> Result<Vec<String>> {
        let mut remotes = BTreeSet::new();
        self.each_name(|name| {
            let address = name.strip_prefix("remote.").and_then(|rest| {
                let ended = rest.strip_suffix(".url");
                ended.or_else(|| rest.strip_suffix(".pushurl"))
            });
            remotes.extend(address.map(str::to_owned));
        });
        Ok(remotes.into_iter().collect())
    }

    fn identity(&self) -> Result<Identity> {
        if self.listed().is_some()
            || self.settings.has_section(&["user", "author", "committer"])
            || self.names_author_or_committer()
            || !dates::are_plain()
        {
            return self.git.identity();
        }
        let unknown = |error: git2::Error| identity_unknown(error.message());
        let author = self.repo.author_from_env().map_err(unknown)?;
        // Settings that tell them apart were looked for above, so only the environment is left.
        let committer = if is_told_apart() {
            self.repo.committer_from_env().map_err(unknown)?
        } else {
            author.clone()
        };
        Ok(Identity::new(author, committer))
    }

    fn mailmap(&self) -> Result<git2::Mailmap> {
        self.repo
            .mailmap()
            .map_err(|error| failed(&error, "read the mailmap"))
    }

    fn staged_paths(&self, tree: Option<&Oid>) -> Result<Vec<String>> {
        if let Some(found) = self.staged_by_trees(tree)? {
            return Ok(found);
        }
        // A split or a sparse index is one that libgit2 refuses to read.
        match self.repo.index() {
            Ok(index) => self.staged_by_libgit2(tree, &index),
            Err(_) => self.git.staged_paths(&match tree {
                Some(tree) => tree.clone(),
                None => super::empty_tree_id(self.repo.object_format())?,
            }),
        }
    }

    fn index_path(&self) -> PathBuf {
        match loopx_base::env::var_os("GIT_INDEX_FILE") {
            Some(path) => std::path::absolute(&path).unwrap_or_else(|_| path.into()),
            None => self.repo.path().join("index"),
        }
    }
}

/// Tells whether the environment names an author or a committer.
fn is_told_apart() -> bool {
    PERSONS
        .iter()
        .any(|name| loopx_base::env::var_os(name).is_some())
}
