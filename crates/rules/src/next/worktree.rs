//! The working tree on the way to the next step: what has to be committed, put aside or chosen between first.

use super::advised::Advised;
use super::here::Here;
use super::tasks;
use crate::gate::{FileState, Uncommitted, View, named};
use loopx_base::hint::Hint;
use loopx_base::working_tree::Sequence;
use loopx_base::{counted, path_from, shell_word};

/// The worktree that the question is asked in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// The branch that is checked out; none on a detached HEAD.
    pub branch: Option<String>,
    /// The branch that is checked out, or what stands for it, in words.
    pub here: String,
    pub sequence: Option<Sequence>,
    /// Files that are not committed, as far as somebody looked.
    pub uncommitted: Vec<Uncommitted>,
    /// Place of another worktree that has the session's branch checked out.
    pub elsewhere: Option<String>,
    /// Files with edits that the way to the session's code would overwrite, so that git refuses it: a switch to its
    /// branch, or a merge of what that branch lacks.
    pub in_the_way: Vec<Uncommitted>,
    /// Unmerged files in which a line of a conflict marker stands.
    pub marked: Vec<Uncommitted>,
    /// Untracked files that hold credentials by their names, also in folders that git does not know.
    pub secrets: Vec<String>,
    /// The current folder below the top; none outside of it.
    pub below: Option<String>,
}

/// The message of a stash that somebody was led to make.
pub const ASIDE: &str = "put aside for git loopx";

impl Worktree {
    /// Tells whether the current folder is the top, so that paths may be typed as they are.
    pub fn is_top(&self) -> bool {
        self.below.as_deref() == Some("")
    }

    /// A path as it is opened from the current folder.
    pub(super) fn shown(&self, path: &str) -> String {
        path_from(self.below.as_deref().unwrap_or_default(), path)
    }

    /// Files that are not committed, without untracked files that hold credentials by their names.
    pub(super) fn plain(&self) -> Vec<&Uncommitted> {
        let all = self.uncommitted.iter();
        all.filter(|one| !self.secrets.contains(&one.path))
            .collect()
    }

    /// Untracked files as `git add` takes them, without what is secret in a folder of them.
    pub(super) fn to_add(&self, untracked: &[&Uncommitted]) -> String {
        let is_inside = |secret: &&String| {
            let mut folders = untracked.iter().filter(|one| one.path.ends_with('/'));
            folders.any(|folder| secret.starts_with(&folder.path))
        };
        let inside = self.secrets.iter().filter(is_inside);
        let without =
            inside.map(|path| format!(" {}", shell_word(&format!(":(top,exclude){path}"))));
        format!("{}{}", words(untracked, self), without.collect::<String>())
    }

    fn secret_names(&self) -> String {
        let secrets = self.secrets.iter().map(|path| self.shown(path));
        secrets.collect::<Vec<_>>().join(", ")
    }

    /// The word to whoever has nothing but secret files that git does not know.
    pub(super) fn ignored(&self) -> Advised {
        Advised::write(format!(
            "let git ignore {}: the name looks secret, so git loopx does not propose to commit it; add a line to .gitignore or .git/info/exclude",
            self.secret_names()
        ))
    }

    /// Paths for a person, as they are opened from here: the first three.
    pub(super) fn named(&self, files: &[&Uncommitted]) -> String {
        let below = self.below.as_deref().unwrap_or_default();
        let shown: Vec<Uncommitted> = files.iter().map(|one| one.seen_from(below)).collect();
        named(&shown.iter().collect::<Vec<_>>())
    }
}

/// The step without which build and review do not go on in the worktree.
pub(super) fn settle_worktree(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let worktree = here.worktree.as_ref()?;
    if let Some(sequence) = worktree.sequence {
        return Some(go_on(worktree, sequence));
    }
    // A stash that did not fit leaves its sides, and nothing under way.
    if let Some(first) = choose(worktree, "a merge left both sides") {
        return Some(first);
    }
    let bound = view.state.branch.as_ref()?;
    if worktree.branch.as_ref() == Some(bound) {
        return None;
    }
    if tasks::is_beside(view, here) {
        return None;
    }
    if let Some(path) = &worktree.elsewhere {
        let said = format!("the branch {bound} is checked out in {path}: go on there");
        return Some(Advised::write(said));
    }
    if !worktree.in_the_way.is_empty() {
        let what = format!("the switch to the session's branch {bound}");
        return Some(stash(worktree, &what));
    }
    Some(
        Advised::from(Hint::git(format!("switch {}", shell_word(bound)))).advice(format!(
            "the session is on branch {bound}, and {} is checked out here",
            worktree.here
        )),
    )
}

/// Puts edits aside that git would not overwrite: `what` is what it would refuse.
pub fn stash(worktree: &Worktree, what: &str) -> Advised {
    let files: Vec<&Uncommitted> = worktree.in_the_way.iter().collect();
    let is_new = files.iter().any(|one| one.state == FileState::Untracked);
    let untracked = if is_new { " --include-untracked" } else { "" };
    let (has, them) = match files.len() {
        1 => ("has", "it"),
        _ => ("have", "them"),
    };
    let paths = words(&files, worktree);
    Advised::from(put_aside(&format!("{untracked} -- {paths}"))).advice(format!(
        "{} {has} edits that {what} would overwrite: put {them} aside; `git stash pop` brings {them} back",
        worktree.named(&files)
    ))
}

/// The stash of files by their names, or of all where they are many, typed from whatever folder.
pub fn aside(uncommitted: &[Uncommitted]) -> Hint {
    if let Some(inside) = in_submodule(uncommitted, str::to_owned, "stash push") {
        return inside.into_hint();
    }
    let files: Vec<&Uncommitted> = uncommitted.iter().collect();
    let paths = match files.len() {
        6.. => String::new(),
        _ => format!(" -- {}", words(&files, &Worktree::default())),
    };
    put_aside(&format!(" --include-untracked{paths}"))
}

/// The stash of some files, with a message by which it is known again.
pub(super) fn put_aside(what: &str) -> Hint {
    Hint::git(format!("stash push -m {}{what}", shell_word(ASIDE)))
}

/// The command that commits, or puts aside, what a submodule has edited, where nothing else is left: no commit here takes
/// it.
pub fn in_submodule(
    uncommitted: &[Uncommitted],
    shown: impl Fn(&str) -> String,
    what: &str,
) -> Option<Advised> {
    let is_inside = |one: &Uncommitted| one.state == FileState::Submodule;
    let one = uncommitted.first()?;
    if !uncommitted.iter().all(is_inside) {
        return None;
    }
    let path = shown(&one.path);
    let command = format!("-C {} {what}", shell_word(&path));
    let why = format!("{path} is a submodule with edits that no commit here takes");
    Some(Advised::from(Hint::git(command)).advice(why))
}

/// A merge, rebase or the like that is under way.
pub(super) fn go_on(worktree: &Worktree, sequence: Sequence) -> Advised {
    let is_clean = worktree.uncommitted.is_empty();
    let word = sequence.as_str();
    let why = format!("a {word} is under way");
    // git goes on with no commit that would be empty.
    let is_pick = matches!(sequence, Sequence::CherryPick | Sequence::Revert);
    if is_clean && is_pick {
        return Advised::from(Hint::git(format!("{word} --skip")))
            .advice(format!("{why}, and nothing is left of it"));
    }
    choose(worktree, &why)
        .unwrap_or_else(|| Advised::from(Hint::git(format!("{word} --continue"))).advice(why))
}

/// Files that git left unmerged: a person chooses between the marked sides, and then git is told.
fn choose(worktree: &Worktree, why: &str) -> Option<Advised> {
    if !worktree.marked.is_empty() {
        let marked: Vec<&Uncommitted> = worktree.marked.iter().collect();
        let files = worktree.named(&marked);
        return Some(Advised::write(format!(
            "choose between the marked sides in {files}  ({why})"
        )));
    }
    let is_unmerged = |one: &&Uncommitted| one.state == FileState::Unmerged;
    let all = worktree.uncommitted.iter();
    let unmerged: Vec<&Uncommitted> = all.filter(is_unmerged).collect();
    if unmerged.is_empty() {
        return None;
    }
    let add = Hint::git(format!("add -- {}", words(&unmerged, worktree)));
    let files = worktree.named(&unmerged);
    Some(Advised::from(add).advice(format!("{why}, and no marker is left in {files}")))
}

/// Commits what is not committed, file by file where there are few.
pub(super) fn commit(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let code = view.code.filter(|code| code.is_dirty)?;
    Some(committing(&Worktree {
        uncommitted: code.uncommitted.clone(),
        ..here.worktree.clone().unwrap_or_default()
    }))
}

/// The command that leads to a commit of what is not committed. What holds credentials by its name is left out, and said.
pub fn committing(worktree: &Worktree) -> Advised {
    let shown = |path: &str| worktree.shown(path);
    if let Some(inside) = in_submodule(&worktree.uncommitted, shown, "commit -a") {
        return inside;
    }
    let all = worktree.plain();
    if all.is_empty() {
        return worktree.ignored();
    }
    let of = |state: FileState| -> Vec<&Uncommitted> {
        all.iter()
            .filter(|one| one.state == state)
            .copied()
            .collect()
    };
    let untracked = of(FileState::Untracked);
    let command = if !untracked.is_empty() {
        format!("add -- {}", worktree.to_add(&untracked))
    } else if of(FileState::Unstaged).is_empty() {
        "commit".to_owned()
    } else {
        "commit -a".to_owned()
    };
    let (is_or_are, count) = match all.len() {
        1 => ("is", String::new()),
        n => ("are", format!("{} ", counted(n, "file"))),
    };
    let left_out = if worktree.secrets.is_empty() {
        String::new()
    } else {
        let names = worktree.secret_names();
        format!("; left out, because the name looks secret: {names}")
    };
    let advice = format!(
        "{count}{is_or_are} not committed: {}{left_out}",
        worktree.named(&all)
    );
    let advice = advice.trim_start_matches("is ").to_owned();
    Advised::from(Hint::git(command)).advice(advice)
}

/// Paths for git, typed where we are.
pub(super) fn words(files: &[&Uncommitted], worktree: &Worktree) -> String {
    let from_top = if worktree.is_top() { "" } else { ":/" };
    let path = |one: &&Uncommitted| shell_word(&format!("{from_top}{}", one.path));
    files.iter().map(path).collect::<Vec<_>>().join(" ")
}
