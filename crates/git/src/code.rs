//! The code that a session is about: the worktree's content as a tree, the paths of a commit, the
//! people of a range.

use super::failed;
use super::repo::{Repo, person};
use super::run::Run;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, Person, Role};
use loopx_base::tree_change::Change;
use loopx_base::working_tree::{CodeFacts, FileState, ReviewedCode, Uncommitted};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file of the worktree that differs from the index behind git's back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenEdit {
    pub path: String,
    /// The option of `git update-index` that has git look at it again.
    pub look_again: &'static str,
}

impl Repo {
    /// Code as it is in the worktree, without the files of `except`; `None` in a bare repository. Asks git, which knows
    /// filters, sparse checkouts and every index format; one process when nothing is uncommitted, three otherwise.
    pub fn code(&self, except: &[&str]) -> Result<Option<CodeFacts>> {
        self.code_by(except, Self::worktree_tree)
    }

    /// Code for a caller that records nothing of it: where the repository takes nothing, as on a full disk, uncommitted
    /// work becomes a tree of this process alone.
    pub fn code_to_read(&self, except: &[&str]) -> Result<Option<CodeFacts>> {
        self.code_by(except, Self::tree_aside)
    }

    fn code_by(
        &self,
        except: &[&str],
        tree_of: impl Fn(&Self, &Path, &[&str]) -> Result<Oid>,
    ) -> Result<Option<CodeFacts>> {
        let Some(top) = self.work_dir() else {
            return Ok(None);
        };
        let head = self.head()?.commit;
        let head_tree = match &head {
            Some(commit) => Some(self.commit_info(commit)?.tree),
            None => None,
        };
        let status = self.uncommitted(top, &[])?;
        // git keeps its cache of untracked files only where no path is named, so that is asked first.
        let status = if !status.is_empty() && is_at_most(&status, except) {
            self.uncommitted(top, &everything_but(except))?
        } else {
            status
        };
        let status = without_repositories(top, status);
        let is_dirty = !status.is_empty();
        let tree = match head_tree {
            Some(tree) if !is_dirty => tree,
            None if !is_dirty => self.empty_tree()?,
            _ => tree_of(self, top, except)?,
        };
        let mut uncommitted = paths_of(&status, except);
        self.mark_submodules(top, &mut uncommitted)?;
        Ok(Some(CodeFacts {
            head,
            tree,
            is_dirty,
            uncommitted,
            reviewed: ReviewedCode::default(),
        }))
    }

    /// Tells submodules that have another commit than HEAD names, which a commit here takes, from those with edits
    /// inside, which only a commit there takes.
    fn mark_submodules(&self, top: &Path, uncommitted: &mut [Uncommitted]) -> Result<()> {
        let may_be = |one: &Uncommitted| {
            one.state == FileState::Unstaged
                && std::fs::symlink_metadata(top.join(&one.path)).is_ok_and(|file| file.is_dir())
        };
        let folders = uncommitted.iter().filter(|one| may_be(one));
        let paths: Vec<String> = folders
            .map(|one| format!(":(top,literal){}", one.path))
            .collect();
        if paths.is_empty() {
            return Ok(());
        }
        let moved = self.status(top, &paths, "--ignore-submodules=dirty")?;
        let moved = paths_of(&moved, &[]);
        for one in uncommitted.iter_mut().filter(|one| may_be(one)) {
            if !moved.iter().any(|moved| moved.path == one.path) {
                one.state = FileState::Submodule;
            }
        }
        Ok(())
    }

    /// Files that are not committed, of these paths or of all, as git says them. Untracked files of a submodule are its
    /// own: no commit and no tree of this repository takes them.
    fn uncommitted(&self, top: &Path, paths: &[String]) -> Result<Vec<u8>> {
        self.status(top, paths, "--ignore-submodules=untracked")
    }

    fn status(&self, top: &Path, paths: &[String], ignored: &str) -> Result<Vec<u8>> {
        let options = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=normal",
            "--no-renames",
            ignored,
        ];
        let dashes = ["--"].into_iter().filter(|_| !paths.is_empty());
        let paths = paths.iter().map(String::as_str);
        self.git_at(top, options.into_iter().chain(dashes).chain(paths))
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LITERAL_PATHSPECS", "0")
            .capture()?
            .ok()
    }

    /// git at the top of the worktree. Where the environment names the repository, it may do so from the
    /// folder that we were started in: git is told the whole names.
    pub(crate) fn git_at<'a>(&self, top: &Path, args: impl IntoIterator<Item = &'a str>) -> Run {
        let words = self.no_monitor().iter().copied().chain(args);
        let run = self.git.run(words).cwd(top);
        let named = |name: &str| loopx_base::env::var_os(name).is_some();
        if named("GIT_DIR") || named("GIT_WORK_TREE") {
            run.env("GIT_DIR", self.git_dir()).env("GIT_WORK_TREE", top)
        } else {
            run
        }
    }

    /// Options of git by which it runs no monitor of files that is a program of its own: such a program only saves
    /// time, and the repository may name it. A monitor that git has built in goes on working.
    pub fn no_monitor(&self) -> &'static [&'static str] {
        let is_program = self.config("core.fsmonitor").is_some_and(|value| {
            !["", "true", "false", "yes", "no", "on", "off", "1", "0"]
                .contains(&value.to_lowercase().as_str())
        });
        if is_program {
            &["-c", "core.fsmonitor=false"]
        } else {
            &[]
        }
    }

    /// The worktree's content as a tree of the repository.
    fn worktree_tree(&self, top: &Path, except: &[&str]) -> Result<Oid> {
        let dir = self.common_dir().join("loopx");
        self.make_folder(&dir)
            .map_err(|error| super::unwritable(&dir, &error).context("copy the index"))?;
        self.tree_through(top, except, &dir, &[])
    }

    /// The worktree's content as a tree; one of this process alone where the repository takes nothing.
    fn tree_aside(&self, top: &Path, except: &[&str]) -> Result<Oid> {
        let failure = match self.worktree_tree(top, except) {
            Err(failure) if failure.code == Code::RepositoryUnwritable => failure,
            tree => return tree,
        };
        let lent = [self.inner.objects_dir(), self.common_dir().join("objects")];
        let known = loopx_base::env::paths("GIT_ALTERNATE_OBJECT_DIRECTORIES");
        let lent = std::env::join_paths(lent.into_iter().chain(known));
        let (Ok(objects), Ok(lent)) = (self.inner.aside(), lent) else {
            return Err(failure);
        };
        let variables = [
            ("GIT_OBJECT_DIRECTORY", objects.as_os_str()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", lent.as_os_str()),
        ];
        self.tree_through(top, except, &objects, &variables)
    }

    /// The worktree's content as a tree, through a copy of the index in a folder: the index itself stays as it is.
    fn tree_through(
        &self,
        top: &Path,
        except: &[&str],
        dir: &Path,
        variables: &[(&str, &OsStr)],
    ) -> Result<Oid> {
        let failed =
            |error: std::io::Error| super::unwritable(dir, &error).context("copy the index");
        let copy = tempfile::Builder::new()
            .prefix(super::TEMPORARY)
            .tempfile_in(dir)
            .map_err(failed)?;
        let index = self.backend.index_path();
        if index.exists() {
            copy_index(&index, copy.path()).map_err(failed)?;
        } else {
            // git refuses an empty file as an index, but makes one that is not there.
            std::fs::remove_file(copy.path()).map_err(failed)?;
        }
        // In a sparse checkout git leaves out what stands where nothing was checked out, unless told.
        let is_sparse = self.config("core.sparsecheckout").as_deref() == Some("true");
        let sparse = ["--sparse"].into_iter().filter(|_| is_sparse);
        let words = ["add", "--all"].into_iter().chain(sparse).chain(["--"]);
        let words: Vec<&str> = words.collect();
        let through = |run: Run| {
            let run = run.env("GIT_INDEX_FILE", copy.path());
            let variables = variables.iter();
            variables.fold(run, |run, (name, value)| run.env(name, value))
        };
        let mut except: Vec<String> = except.iter().map(|path| (*path).to_owned()).collect();
        loop {
            let paths = everything_but(&except);
            let words = words
                .iter()
                .copied()
                .chain(paths.iter().map(String::as_str));
            let added = through(self.git_at(top, words))
                .env("GIT_LITERAL_PATHSPECS", "0")
                .capture()?
                .ok();
            let Err(failure) = added else {
                break;
            };
            // A repository without a commit is in no tree, whoever commits: the rest is read without it.
            match without_commit(&failure.message) {
                Some(path) if !except.contains(&path) => except.push(path),
                _ => return Err(no_file(failure)),
            }
        }
        let tree = through(self.git_at(top, ["write-tree"]))
            .capture()?
            .line()?;
        Oid::parse(String::from_utf8_lossy(&tree).trim())
    }

    /// The files of the worktree that differ from the index, and that git was told to take for unchanged:
    /// `--assume-unchanged` and `--skip-worktree` of git-update-index(1). No status and no tree shows them.
    pub fn hidden_edits(&self) -> Result<Vec<HiddenEdit>> {
        let Some(top) = self.work_dir() else {
            return Ok(Vec::new());
        };
        let listed = self.git_at(top, ["ls-files", "-v", "-s", "-z"]).capture()?;
        let listed = listed.ok()?;
        let entries = listed.split(|byte| *byte == 0);
        let marked: Vec<(HiddenEdit, String)> = entries
            .filter_map(|entry| marked(&String::from_utf8_lossy(entry)))
            .filter(|(one, _)| {
                let there = top.join(&one.path).symlink_metadata();
                there.is_ok_and(|there| there.is_file()) && !one.path.contains('\n')
            })
            .collect();
        if marked.is_empty() {
            return Ok(Vec::new());
        }
        let asked: String = marked
            .iter()
            .map(|(one, _)| format!("{}\n", one.path))
            .collect();
        let ids = self
            .git_at(top, ["hash-object", "--stdin-paths"])
            .stdin(asked)
            .capture()?
            .ok()?;
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let pairs = marked.into_iter().zip(ids.lines());
        let differ = pairs.filter(|((_, known), now)| known != now);
        Ok(differ.map(|((one, _), _)| one).collect())
    }

    /// The paths that differ between a tree (or nothing) and the index that the environment names: what
    /// a commit would change.
    pub fn staged_paths(&self, tree: Option<&Oid>) -> Result<Vec<String>> {
        self.backend.staged_paths(tree)
    }

    /// A digest of what is staged, as git lists it; a bare repository stages nothing.
    pub fn index_digest(&self) -> Result<Oid> {
        let listed = match self.work_dir() {
            Some(top) => self.git_at(top, ["ls-files", "-s", "-z"]).capture()?.ok()?,
            None => Vec::new(),
        };
        self.hash_blob(&listed)
    }

    /// The paths that differ between two trees.
    pub fn changed_paths(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<String>> {
        self.inner.differing(old, new)
    }

    /// Changes between two trees, with what each side has at a path.
    pub fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>> {
        self.inner.changes(old, new)
    }

    /// The signature of a commit, and the bytes that it is over.
    pub fn commit_signature(&self, commit: &Oid) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.inner.signature(commit)
    }

    /// People who took part in a commit, as the commit names them.
    pub fn people(&self, commit: &Oid) -> Result<Vec<(Role, Person)>> {
        let commit = self.inner.find_commit(commit)?;
        Ok(people_of(&commit))
    }

    /// A person under the name that `.mailmap` gives.
    pub fn canonical(&self, who: &Person) -> Result<Person> {
        let mailmap = self.backend.mailmap()?;
        let Ok(signature) = git2::Signature::new(&who.name, &who.email, &git2::Time::new(0, 0))
        else {
            return Ok(who.clone());
        };
        let resolved = mailmap
            .resolve_signature(&signature)
            .map_err(|error| failed(&error, "read the mailmap"))?;
        Ok(person(&resolved))
    }

    /// The first commit of a history, by first parents; `None` where a shallow clone does not have it.
    pub fn root_of(&self, commit: &Oid) -> Result<Option<Oid>> {
        if self.is_shallow() {
            return Ok(None);
        }
        self.inner.root_of(commit)
    }

    /// Merge base of two histories.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        self.inner.merge_base(one, other)
    }
}

/// Pathspecs of everything but these files.
fn everything_but<P: AsRef<str>>(except: &[P]) -> Vec<String> {
    let except = except.iter();
    let except = except.map(|path| format!(":(top,exclude,literal){}", path.as_ref()));
    [".".to_owned()].into_iter().chain(except).collect()
}

/// A file that git was told not to look at, and its id in the index, from a line like `S 100644 ID 0<tab>PATH`.
fn marked(line: &str) -> Option<(HiddenEdit, String)> {
    let (head, path) = line.split_once('\t')?;
    let mut words = head.split(' ');
    let tag = words.next()?.chars().next()?;
    let id = words.nth(1)?;
    let look_again = match tag {
        'S' => "--no-skip-worktree",
        tag if tag.is_ascii_lowercase() => "--no-assume-unchanged",
        _ => return None,
    };
    let path = path.to_owned();
    Some((HiddenEdit { path, look_again }, id.to_owned()))
}

fn paths_of(status: &[u8], except: &[&str]) -> Vec<Uncommitted> {
    let entries = status.split(|byte| *byte == 0);
    entries
        .filter(|entry| entry.len() > 3 && !is_at_most(entry, except))
        .map(|entry| Uncommitted {
            path: String::from_utf8_lossy(&entry[3..]).into_owned(),
            state: FileState::of_porcelain(entry[0], entry[1]),
        })
        .collect()
}

/// Tells whether each entry of a status is one of these files, or a folder that may hold nothing else.
fn is_at_most(status: &[u8], files: &[&str]) -> bool {
    let entries = status.split(|byte| *byte == 0);
    entries.filter(|entry| entry.len() > 3).all(|entry| {
        let path = &entry[3..];
        files
            .iter()
            .map(|file| file.as_bytes())
            .any(|file| file == path || path.ends_with(b"/") && file.starts_with(path))
    })
}

/// Status without the repositories in the worktree that have no commit yet: git adds none of them, whoever asks.
fn without_repositories(top: &Path, status: Vec<u8>) -> Vec<u8> {
    let is_one = |entry: &[u8]| {
        let folder = entry
            .strip_prefix(b"?? ")
            .filter(|path| path.ends_with(b"/"));
        let folder = folder.map(|path| top.join(OsStr::from_bytes(path)));
        folder
            .filter(|folder| folder.join(".git").exists())
            .is_some_and(|folder| {
                let head = git2::Repository::open(folder).map(|repo| repo.head().map(drop));
                matches!(head, Ok(Err(error)) if error.code() == git2::ErrorCode::UnbornBranch)
            })
    };
    if !status.split(|byte| *byte == 0).any(is_one) {
        return status;
    }
    let entries = status.split_inclusive(|byte| *byte == 0);
    let kept = entries.filter(|entry| !is_one(entry.strip_suffix(b"\0").unwrap_or(entry)));
    kept.flatten().copied().collect()
}

/// Repository inside of the worktree that has no commit yet, where git says that it adds nothing of that repository.
fn without_commit(said: &str) -> Option<String> {
    let (before, _) = said.split_once("' does not have a commit checked out")?;
    let (_, path) = before.rsplit_once("error: '")?;
    Some(path.to_owned())
}

/// The refusal of a path that git can keep in no tree, like a pipe where a file was; other failures as they are.
fn no_file(failure: Failure) -> Failure {
    let parts = failure.message.split_once(": can only add regular files");
    let path = parts.and_then(|(before, _)| before.rsplit("error: ").next());
    let Some(path) = path.map(str::to_owned) else {
        return failure;
    };
    let again = loopx_base::shell_word(&path);
    Failure::refused(
        Code::FileExpected,
        format!("expected a file or a link at {path}, found what git can keep in no commit"),
    )
    .help(format!("move it away, then: git restore {again}"))
}

/// A copy as old as the original. git looks into a file whose time is not before the index's own,
/// because it may have been edited since in the same moment; a younger copy would hide such an edit.
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    // Read first: an index that is replaced meanwhile is younger, and then more is looked into.
    let time = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    File::options().append(true).open(to)?.set_modified(time)
}

fn people_of(commit: &git2::Commit<'_>) -> Vec<(Role, Person)> {
    let mut people = vec![
        (Role::Author, person(&commit.author())),
        (Role::Committer, person(&commit.committer())),
    ];
    for line in String::from_utf8_lossy(commit.message_bytes()).lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        if key.trim().eq_ignore_ascii_case("co-authored-by") {
            people.push((Role::CoAuthor, Person::parse(value)));
        }
    }
    people
}

/// Names and addresses that belong to one person.
pub struct Mailmap(git2::Mailmap);

impl Mailmap {
    /// Reads the text of a `.mailmap`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        git2::Mailmap::from_buffer(&String::from_utf8_lossy(text))
            .map(Mailmap)
            .map_err(|error| failed(&error, "read the mailmap"))
    }

    /// A person under the name that the map gives.
    pub fn canonical(&self, who: &Person) -> Result<Person> {
        let Ok(signature) = git2::Signature::new(&who.name, &who.email, &git2::Time::new(0, 0))
        else {
            return Ok(who.clone());
        };
        let resolved = self
            .0
            .resolve_signature(&signature)
            .map_err(|error| failed(&error, "read the mailmap"))?;
        Ok(person(&resolved))
    }
}

pub(super) fn paths(diff: &git2::Diff<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for delta in diff.deltas() {
        for file in [delta.old_file(), delta.new_file()] {
            if let Some(path) = file.path_bytes() {
                let path = String::from_utf8_lossy(path).into_owned();
                if found.last() != Some(&path) {
                    found.push(path);
                }
            }
        }
    }
    found
}
