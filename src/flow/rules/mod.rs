//! Rules: the documents of the repository and of the person at this machine, and what can be asked of them. What they
//! mean is said in [`loopx_rules::rule`]; here they meet files and trees.
//!
//! Read is what stands in the worktree, because that is what people edit; a bare repository's HEAD otherwise, or the
//! commit that is named. Links are not followed in the repository: what is in it is others' work, too.

mod applying;
mod facts;
mod import;
mod write;

pub(crate) use applying::RulesMoved;
pub(in crate::flow) use applying::{Applying, moved};
pub(crate) use facts::facts;
pub(crate) use import::import;
pub(crate) use write::{AddRequest, Added, add, init};

use super::context::Context;
use super::{files, specs};
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::nearest;
use loopx_git::{EntryKind, Repo};
use loopx_rules::policy::Policy;
use loopx_rules::rule;
use loopx_rules::rule::{Ask, Categories, Document, Ground, Loaded, Origin, Source};
use loopx_spec::Finding;
use std::fs;
use std::path::{Path, PathBuf};

/// The largest document that is read.
const MAX: u64 = 256 * 1024;
/// The most files that are looked at in one folder of rules.
const MOST: usize = 2000;
const ENDING: &str = ".md";

/// The documents that are here.
#[derive(Debug)]
pub(crate) struct RuleSet {
    /// The folder of the repository's documents, below its top.
    pub folder: String,
    /// Documents of the repository by path, then those of the person.
    pub documents: Vec<Document>,
    /// Paths that could not be read, each with the reason.
    pub unread: Vec<(String, String)>,
    pub categories: Categories,
    /// The most bytes that are read to somebody; nothing where all are.
    pub budget: Option<usize>,
    /// The tree that they were read from, where that is not the worktree.
    pub tree: Option<Oid>,
}

/// Place from which documents are read.
enum Place {
    Worktree(PathBuf),
    Tree(Oid),
    Nowhere,
}

/// Reads the documents: of the worktree, or of a commit.
pub(crate) fn rule_set(ctx: &Context, at: Option<&str>) -> Result<RuleSet> {
    let (policy, place) = match at {
        Some(revision) => {
            let tree = tree_of(ctx, revision)?;
            let policy = ctx.policy_at(&tree, &format!("loopx.toml at {revision}"))?;
            (policy, Place::Tree(tree))
        }
        None => (specs::policy(ctx)?, here(&ctx.repo)?),
    };
    Ok(read(&ctx.repo, &policy, &place))
}

/// The tree of a commit that somebody names.
fn tree_of(ctx: &Context, revision: &str) -> Result<Oid> {
    let commit = ctx.repo.resolve_commit(revision)?;
    Ok(ctx.repo.commit_info(&commit)?.tree)
}

fn here(repo: &Repo) -> Result<Place> {
    if let Some(top) = repo.work_dir() {
        return Ok(Place::Worktree(top.to_path_buf()));
    }
    Ok(match repo.head()?.commit {
        Some(head) => Place::Tree(repo.commit_info(&head)?.tree),
        None => Place::Nowhere,
    })
}

fn read(repo: &Repo, policy: &Policy, place: &Place) -> RuleSet {
    let budget = usize::try_from(policy.rules.budget).unwrap_or(usize::MAX);
    let mut rule_set = RuleSet {
        folder: policy.paths.rules.clone(),
        documents: Vec::new(),
        unread: Vec::new(),
        categories: Categories::of(&policy.rules.categories),
        budget: Some(budget).filter(|budget| *budget > 0),
        tree: None,
    };
    match place {
        Place::Worktree(top) => rule_set.take_worktree(repo, top),
        Place::Tree(tree) => {
            rule_set.take_tree(repo, tree);
            rule_set.tree = Some(tree.clone());
        }
        Place::Nowhere => {}
    }
    if let Some((dir, shown)) = personal_folder() {
        rule_set.take_folder(repo, &dir, &shown, Origin::Personal);
    }
    rule_set
}

/// The folder of a person's own rules, and how it is shown: from home where it is there.
fn personal_folder() -> Option<(PathBuf, String)> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    // What is relative there counts as not set (XDG Base Directory Specification).
    let config = config.filter(|dir| dir.is_absolute());
    let dir = config.or_else(|| Some(home.as_ref()?.join(".config")))?;
    let dir = dir.join("loopx").join("rules");
    let shown = match home.as_ref().and_then(|home| dir.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => dir.display().to_string(),
    };
    Some((dir, shown))
}

impl RuleSet {
    fn take_worktree(&mut self, repo: &Repo, top: &Path) {
        let folder = self.folder.clone();
        match files::inside(top, &folder) {
            Ok(dir) => self.take_folder(repo, &dir, &folder, Origin::Project),
            Err(_) => {
                let why = "a symbolic link stands where the folder of rules belongs".to_owned();
                self.unread.push((folder, why));
            }
        }
    }

    /// Takes the documents below a folder, by path.
    fn take_folder(&mut self, repo: &Repo, dir: &Path, shown: &str, origin: Origin) {
        let mut open = vec![(dir.to_path_buf(), shown.to_owned())];
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        while let Some((dir, shown)) = open.pop() {
            for name in files::entries(&dir) {
                let (place, path) = (dir.join(&name), format!("{shown}/{name}"));
                let Ok(meta) = fs::symlink_metadata(&place) else {
                    continue;
                };
                let is_text = name.ends_with(ENDING);
                // At home somebody's own links lead where they like; folders behind links may have no end.
                let is_own_link = origin == Origin::Personal && place.is_file();
                if meta.is_dir() {
                    open.push((place, path));
                } else if is_text && (meta.is_file() || is_own_link) {
                    found.push((path, place));
                } else if is_text {
                    self.unread
                        .push((path, "it is a link, or no file".to_owned()));
                }
            }
            if found.len() + open.len() > MOST {
                let why = format!("more than {MOST} files and folders are there");
                self.unread.push((shown, why));
                break;
            }
        }
        found.sort();
        for (path, place) in found {
            let bytes = match files::read(&place, MAX) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(failure) if failure.code == Code::ArtifactTooLarge => {
                    let why = format!("it has more than {MAX} bytes");
                    self.unread.push((path, why));
                    continue;
                }
                Err(failure) => {
                    self.unread.push((path, failure.message));
                    continue;
                }
            };
            let blob = repo.hash_blob(&bytes).map(|id| id.to_string());
            self.take(path, origin, bytes, blob.unwrap_or_default());
        }
    }

    fn take_tree(&mut self, repo: &Repo, tree: &Oid) {
        let folder = self.folder.clone();
        let blobs = match repo.entry_at(tree, &folder) {
            Ok(Some(entry)) if entry.kind == EntryKind::Tree => repo.walk_blobs(&entry.id),
            Ok(_) => return,
            Err(failure) => Err(failure),
        };
        let blobs = match blobs {
            Ok(blobs) => blobs,
            Err(failure) => {
                self.unread.push((folder, failure.message));
                return;
            }
        };
        for (file, blob) in blobs.into_iter().filter(|(file, _)| file.ends_with(ENDING)) {
            let path = format!("{folder}/{file}");
            let is_large = repo.blob_size(&blob).is_ok_and(|size| size > MAX);
            match repo.read_blob(&blob) {
                _ if is_large => self
                    .unread
                    .push((path, format!("it has more than {MAX} bytes"))),
                Ok(bytes) => self.take(path, Origin::Project, bytes, blob.to_string()),
                Err(failure) => self.unread.push((path, failure.message)),
            }
        }
    }

    fn take(&mut self, path: String, origin: Origin, bytes: Vec<u8>, blob: String) {
        match String::from_utf8(bytes) {
            Ok(text) => {
                let source = Source { path, origin, blob };
                let document = Document::read(source, &text, &self.categories);
                self.documents.push(document);
            }
            Err(_) => self
                .unread
                .push((path, "expected UTF-8, found other bytes".to_owned())),
        }
    }

    /// Refuses a category that there is not.
    pub(crate) fn require_category(&self, name: &str) -> Result<()> {
        if self.categories.has(name) {
            return Ok(());
        }
        let near = nearest(name, self.categories.names()).unwrap_or(rule::GENERAL);
        Err(
            Failure::usage(Code::CategoryUnknown, self.categories.unknown(name))
                .help(command!("rule list --category {near}")),
        )
    }

    /// Loads the rules that apply now.
    pub(crate) fn load(&self, ask: &Ask) -> Result<Loaded<'_>> {
        if let Some(name) = &ask.category {
            self.require_category(name)?;
        }
        let budget = ask.budget.or(self.budget);
        let ask = Ask {
            budget,
            ..ask.clone()
        };
        Ok(rule::load(&self.documents, &ask, &self.categories))
    }

    /// The document that a word names: a path, from the top or from the folder, with or without its ending, or a title.
    pub(crate) fn find(&self, word: &str) -> Result<&Document> {
        let word = word.trim_start_matches("./");
        let mine = personal_folder().map(|(_, shown)| shown);
        let folders = [Some(&self.folder), mine.as_ref()].into_iter().flatten();
        let mut paths = vec![word.to_owned(), format!("{word}{ENDING}")];
        for folder in folders {
            paths.push(format!("{folder}/{word}"));
            paths.push(format!("{folder}/{word}{ENDING}"));
        }
        let by_path = paths
            .iter()
            .find_map(|path| self.documents.iter().find(|one| one.path == *path));
        if let Some(found) = by_path {
            return Ok(found);
        }
        let name = |one: &&Document| {
            let file = one.path.rsplit('/').next().unwrap_or_default();
            let stem = file.strip_suffix(ENDING).unwrap_or(file);
            file == word || stem == word || one.title.to_lowercase() == word.to_lowercase()
        };
        let found: Vec<&Document> = self.documents.iter().filter(name).collect();
        match found.as_slice() {
            [only] => Ok(only),
            [] => Err(self.unknown(word)),
            [first, ..] => {
                let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
                Err(Failure::usage(
                    Code::RuleDocumentAmbiguous,
                    format!("`{word}` names {}", paths.join(" and ")),
                )
                .help(command!("rule show {}", first.path)))
            }
        }
    }

    fn unknown(&self, word: &str) -> Failure {
        if let Some((path, why)) = self.unread.iter().find(|(path, _)| path.ends_with(word)) {
            return Failure::refused(
                Code::Finding("rule_unreadable"),
                format!("{path} cannot be read: {why}"),
            )
            .help(command!("rule check"));
        }
        let stem = |path: &str| {
            let file = path.rsplit('/').next().unwrap_or(path);
            file.strip_suffix(ENDING).unwrap_or(file).to_owned()
        };
        let names: Vec<String> = self.documents.iter().map(|one| stem(&one.path)).collect();
        let near = nearest(word, names.iter().map(String::as_str));
        let failure = Failure::not_found(
            Code::RuleDocumentUnknown,
            format!(
                "no document of rules is named `{word}`, neither in {} nor among your own",
                self.folder
            ),
        );
        match near {
            Some(near) => failure.help(command!("rule show {near}")),
            None => failure.help(command!("rule list")),
        }
    }

    /// The folder that paths which a person names are in, with the files below a folder among them: a folder is in scope
    /// by what stands in it.
    pub(crate) fn spread(&self, repo: &Repo, paths: &[String]) -> Vec<String> {
        let tree = match (&self.tree, repo.head()) {
            (Some(tree), _) => Some(tree.clone()),
            (None, Ok(head)) => head
                .commit
                .and_then(|head| Some(repo.commit_info(&head).ok()?.tree)),
            (None, Err(_)) => None,
        };
        let mut all = Vec::new();
        for path in paths {
            let bare = path.trim_start_matches("./").trim_end_matches('/');
            all.push(bare.to_owned());
            let entry = tree
                .as_ref()
                .and_then(|tree| repo.entry_at(tree, bare).ok()?);
            if let Some(folder) = entry.filter(|entry| entry.kind == EntryKind::Tree) {
                let files = repo.walk_blobs(&folder.id).unwrap_or_default();
                all.extend(files.into_iter().map(|(file, _)| format!("{bare}/{file}")));
            }
        }
        all
    }
}

/// A path as a person types it, from the top of the worktree: from the folder that they are in, unless it stands at the
/// top alone.
pub(crate) fn typed_path(ctx: &Context, typed: &str) -> String {
    let Some(top) = ctx.repo.work_dir() else {
        return typed.to_owned();
    };
    let top = fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
    let here = env::current_dir().unwrap_or_else(|_| top.clone());
    let here = fs::canonicalize(&here).unwrap_or(here);
    let below = |path: &Path| {
        let below = path.strip_prefix(&top).ok()?;
        Some(below.to_string_lossy().into_owned())
    };
    let real = fs::canonicalize(here.join(typed)).ok();
    if let Some(path) = real.and_then(|real| below(&real)) {
        return path;
    }
    let prefix = below(&here).filter(|prefix| !prefix.is_empty());
    match prefix.filter(|_| !top.join(typed).exists()) {
        Some(prefix) => format!("{prefix}/{}", typed.trim_start_matches("./")),
        None => typed.to_owned(),
    }
}

/// Finds the faults of the documents.
pub(crate) fn check(ctx: &Context, at: Option<&str>) -> Result<(RuleSet, Vec<Finding>)> {
    let rule_set = rule_set(ctx, at)?;
    let tree = match &rule_set.tree {
        Some(tree) => Some(tree.clone()),
        None => match ctx.repo.head()?.commit {
            Some(head) => Some(ctx.repo.commit_info(&head)?.tree),
            None => None,
        },
    };
    let wants_files = rule_set
        .documents
        .iter()
        .any(|one| !one.applies_to.is_empty());
    let files = match tree.filter(|_| wants_files) {
        Some(tree) => {
            let blobs = ctx.repo.walk_blobs(&tree)?;
            Some(blobs.into_iter().map(|(path, _)| path).collect::<Vec<_>>())
        }
        None => None,
    };
    let ground = Ground {
        budget: rule_set.budget.unwrap_or(usize::MAX),
        files: files.as_deref(),
        unread: &rule_set.unread,
    };
    let findings = rule::findings(&rule_set.documents, ground);
    Ok((rule_set, findings))
}
