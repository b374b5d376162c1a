//! The command that leads on, chosen from facts for whoever asks, in this worktree.
//!
//! A command is offered only where it works when typed: nothing in it is a placeholder, and neither the identity
//! nor the worktree, the branch or policy would have it refused. Where no command of ours is next, it is said
//! who writes what, or who is waited for. What a person should know besides is advice, and no command.

mod begin;
mod build;
mod completion;
mod review;

pub use begin::{Around, Ground, Meant, begin, meant, title, unsigned};
pub use completion::{Completion, Of, completion};
pub use loopx_base::working_tree::Sequence;

use super::agent_identity::require_person;
use super::artifact::Artifact;
use super::gate::{self, FileState, Uncommitted, View, named};
use super::lease::{self, Standing, Worktrees};
use super::op::{PlanLane, PlanVerdict};
use super::policy::Policy;
use super::session::{ApprovedBy, Ending, State};
use super::stage::{ApprovalKey, Stage, Transition};
use super::task::node::TaskId;
use super::task::world::World;
use loopx_base::age::left;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::id::{Oid, Person};
use loopx_base::{counted, path_from, shell_word};
use serde::Serialize;

/// What is next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// One command, ours or git's.
    Command(Hint),
    /// Something that a person writes: the advice says what.
    Write,
    /// Only somebody else can go on.
    Waits(Waits),
    /// Nothing is left to do.
    Nothing,
}

/// Who is waited for, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub who: String,
    #[serde(rename = "for")]
    pub what: String,
}

/// What is next, and what to know before it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advised {
    pub next: Next,
    pub advice: Hint,
}

impl Advised {
    fn new(next: Next) -> Self {
        Advised {
            next,
            advice: Hint::default(),
        }
    }

    /// Somebody has to write this.
    pub fn write(advice: impl Into<Hint>) -> Self {
        Advised::new(Next::Write).advice(advice)
    }

    pub fn waits(who: impl Into<String>, what: impl Into<String>) -> Self {
        Advised::new(Next::Waits(Waits {
            who: who.into(),
            what: what.into(),
        }))
    }

    /// Nothing is left to do.
    pub fn nothing() -> Self {
        Advised::new(Next::Nothing)
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<Hint>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The command, where one is next.
    pub fn command(&self) -> Option<&Hint> {
        match &self.next {
            Next::Command(command) => Some(command),
            _ => None,
        }
    }

    /// Who is waited for, where somebody is.
    pub fn waiting(&self) -> Option<&Waits> {
        match &self.next {
            Next::Waits(waits) => Some(waits),
            _ => None,
        }
    }

    /// As a hint of a refusal: the command, else the advice.
    pub fn into_hint(self) -> Hint {
        match self.next {
            Next::Command(command) => command,
            Next::Waits(Waits { who, what }) => format!("wait for {who}: {what}").into(),
            Next::Write | Next::Nothing => self.advice,
        }
    }
}

/// The bare command.
impl From<Hint> for Advised {
    fn from(command: Hint) -> Self {
        Advised::new(Next::Command(command))
    }
}

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
    /// Another worktree has the session's branch checked out: where.
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
    /// Whether the current folder is the top, so that paths may be typed as they are.
    pub fn is_top(&self) -> bool {
        self.below.as_deref() == Some("")
    }

    /// A path as it is opened from the current folder.
    fn shown(&self, path: &str) -> String {
        path_from(self.below.as_deref().unwrap_or_default(), path)
    }

    /// Files that are not committed, without untracked files that hold credentials by their names.
    fn plain(&self) -> Vec<&Uncommitted> {
        let all = self.uncommitted.iter();
        all.filter(|one| !self.secrets.contains(&one.path))
            .collect()
    }

    /// Untracked files as `git add` takes them, without what is secret in a folder of them.
    fn to_add(&self, untracked: &[&Uncommitted]) -> String {
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
    fn ignored(&self) -> Advised {
        Advised::write(format!(
            "have git ignore {}, which is no part of the change and secret by its name: a line in .gitignore, or in .git/info/exclude",
            self.secret_names()
        ))
    }

    /// Paths for a person, as they are opened from here: the first three.
    fn named(&self, files: &[&Uncommitted]) -> String {
        let below = self.below.as_deref().unwrap_or_default();
        let shown: Vec<Uncommitted> = files.iter().map(|one| one.seen_from(below)).collect();
        named(&shown.iter().collect::<Vec<_>>())
    }
}

/// How far the branch of the sessions is from what was last seen of a remote's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distance {
    pub remote: String,
    pub branch: String,
    /// Commits that only this clone has.
    pub ahead: usize,
    /// Commits that only the remote had.
    pub behind: usize,
    /// Whether the remote's branch was ever seen.
    #[serde(skip)]
    pub is_known: bool,
}

/// A code branch that lacks commits which its upstream had when that was last seen, and has none of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Behind {
    pub branch: String,
    pub upstream: String,
    pub commits: usize,
    /// Where the upstream is.
    #[serde(skip)]
    pub tip: Oid,
}

impl Behind {
    /// `work is 1 commit behind origin/work`.
    pub fn words(&self) -> String {
        let commits = counted(self.commits, "commit");
        format!("{} is {commits} behind {}", self.branch, self.upstream)
    }
}

/// Who asks, and where.
#[derive(Clone, Debug, Default)]
pub struct Here<'a> {
    pub who: Option<&'a Person>,
    /// What leads on where git cannot put a name and a time under a record of whoever asks.
    pub unsigned: Option<Advised>,
    pub worktree: Option<Worktree>,
    pub behind: Option<Behind>,
    /// The agent that asks, where one does: its word is no person's.
    pub agent: Option<String>,
    /// What goes before every stage: a conflict, a base or a branch that is gone.
    pub first: Option<Advised>,
    /// The worktrees of this clone, and the second at which this one asks: a build may be another's.
    pub worktrees: Worktrees,
    pub now: i64,
    /// What the archive is held by, as far as review and done know it.
    pub archive: Vec<Blocker>,
    /// The branch that an archive has to name, where neither the session nor this worktree has one.
    pub onto: Option<String>,
    /// No file differs from where the review begins.
    pub is_empty: bool,
    /// Somebody sits at a terminal, and can be asked.
    pub asks: bool,
    pub remote: Option<Distance>,
    /// What tasks wait for outside of their list; nothing of it holds where nobody looked.
    pub world: Option<&'a World>,
    /// Tasks whose files are not all there: what they leave, and is missing.
    pub missing: Vec<(TaskId, Vec<String>)>,
    /// Tasks that nobody can take here, and why.
    pub unfit: Vec<(TaskId, Unfit)>,
    /// The policy of the target, where it is another than the session's, and what takes it.
    pub moved: Option<Moved>,
    /// The branch that a remote has not got the newest of.
    pub unpushed: Option<Unpushed>,
    /// The remote that the code under review, or an archive, is fetched from where it is not here.
    pub unfetched: Option<Unfetched>,
    /// The target that has not got what was archived.
    pub unlanded: Option<Unlanded>,
    /// Who gave the last verdict, where it asked for changes.
    pub sent_back: Option<Person>,
    /// The archive of a session that was settled as abandoned, and the branch that still has it.
    pub leftover: Option<(String, Oid)>,
    /// A free name for a branch, where none holds the commits that are checked out.
    pub unheld: Option<String>,
}

/// A branch that a remote has not got the newest of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpushed {
    pub remote: String,
    pub branch: String,
    pub standing: Standpoint,
}

/// Where the branch of a remote, as it was last seen, stands beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standpoint {
    /// Nobody saw one.
    Unseen,
    /// It lacks commits of ours.
    Behind,
    /// Both have commits of their own: git takes no push.
    Apart,
    /// It has the archive, and ours has nothing that it lacks.
    Ahead,
}

impl Unpushed {
    fn push(&self) -> Hint {
        let branch = shell_word(&self.branch);
        Hint::git(format!("push {} {branch}", self.remote))
    }

    /// The push, with what to do where the remote has moved since it was last seen.
    fn pushed(&self) -> Advised {
        let push = Advised::from(self.push());
        match self.standing {
            Standpoint::Behind => push.advice(hint![
                "where git refuses it: ",
                Hint::git(format!("fetch {}", self.remote)),
                ", and ask again"
            ]),
            Standpoint::Unseen | Standpoint::Apart | Standpoint::Ahead => push,
        }
    }
}

/// A remote that may have the code under review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfetched {
    pub remote: String,
    /// The last word on it was given by whoever asks.
    pub is_own: bool,
}

/// A target that is one merge away from what was archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlanded {
    pub target: String,
    /// The branch that has the archive, or the commit where none has it.
    pub source: String,
    /// The commit that no branch has any more.
    pub lost: Option<Hint>,
    /// The remote that the branch belongs to, where there is one: the landing may be asked for there.
    pub remote: Option<String>,
    /// The command that goes to the target; nothing where it is checked out here.
    pub way: Option<Hint>,
    /// Files with edits that this command would overwrite.
    pub in_the_way: Vec<Uncommitted>,
}

/// Why nobody can take a task here: the skill by which it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub why: String,
    /// What makes it fit.
    pub help: Hint,
}

/// A policy of the target that has moved since the session began: it judges what lands.
#[derive(Clone, Debug)]
pub struct Moved {
    pub policy: Policy,
    /// The next step that makes it the session's.
    pub lead: Hint,
    pub why: String,
}

impl Here<'_> {
    /// What a task leaves and is not there.
    fn missing_of(&self, task: &str) -> Option<&[String]> {
        let mut all = self.missing.iter();
        let found = all.find(|(id, _)| id.as_str() == task);
        found.map(|(_, paths)| paths.as_slice())
    }

    fn unfit_of(&self, task: &TaskId) -> Option<&Unfit> {
        let mut all = self.unfit.iter();
        all.find(|(id, _)| id == task).map(|(_, unfit)| unfit)
    }
}

/// The move forward from the present stage that the session's profile has, where there is one.
fn forward(view: View<'_>) -> Option<Transition> {
    let mut all = Transition::ALL.into_iter();
    all.find(|way| way.from() == view.state.stage && way.is_forward() && view.profile().has(*way))
}

/// The command to type next, where nothing is known of who asks.
pub fn next_action(view: View<'_>) -> Hint {
    next(view, &Here::default()).into_hint()
}

/// What is next.
pub fn next(view: View<'_>, here: &Here<'_>) -> Advised {
    let found = completion::led(view, here, writable(view, here, chosen(view, here)));
    if let Some(first) = &here.unsigned {
        return signed_first(view.state, found, first.clone());
    }
    match (&found.next, &here.remote) {
        // Whoever is waited for has to see what was done here.
        (Next::Waits(waits), Some(remote)) if remote.ahead + remote.behind > 0 => {
            let advice = format!("then it waits for {}: {}", waits.who, waits.what);
            Advised::from(command!("sync {}", remote.remote)).advice(advice)
        }
        _ => found,
    }
}

/// A document that is closed in this stage is written where it is open: the session goes back there.
fn writable(view: View<'_>, here: &Here<'_>, found: Advised) -> Advised {
    let state = view.state;
    let lead = found.command().and_then(Hint::command);
    let edit = lead.filter(|lead| lead.verb() == Verb::Edit);
    let artifact = edit.and_then(|lead| Artifact::parse(lead.args().trim()).ok());
    let Some(artifact) = artifact.filter(|one| !state.is_open(*one)) else {
        return found;
    };
    let why = format!("{artifact} is closed in stage {}", state.stage);
    match state.stage {
        Stage::Build if view.profile().has_stage(Stage::Plan) => {
            let back = Transition::BuildToPlan.command().because(&why);
            Advised::from(back).advice(why)
        }
        Stage::Review if artifact.is_open_at(Stage::Build) => {
            review::send_back(view, here, "build", &why)
        }
        Stage::Review => review::send_back(view, here, "plan", &why),
        Stage::Done => Advised::from(take_back(state, here.who, &why)).advice(why),
        Stage::Clarify | Stage::Plan | Stage::Build => Advised::write(why),
    }
}

/// What leads on for somebody whom git has no name for, or no time: a record has both under it.
fn signed_first(state: &State, found: Advised, first: Advised) -> Advised {
    match &found.next {
        Next::Waits(_) => found,
        // What was recorded already is pushed without a name.
        Next::Command(command) if !state.is_active() && command.command().is_none() => found,
        Next::Nothing if found.advice.is_empty() => found,
        Next::Nothing => Advised::nothing().advice(first.advice),
        Next::Command(_) | Next::Write => first,
    }
}

fn chosen(view: View<'_>, here: &Here<'_>) -> Advised {
    let state = view.state;
    if state.open_conflicts() > 0 {
        return command!("resolve").session(&state.id).into();
    }
    if let Some(first) = &here.first {
        return first.clone();
    }
    if !state.is_active() {
        return ended(view, here);
    }
    if let Some(held) = gate::conflicts(view).first() {
        return leading(view, held);
    }
    if let Some(name) = &here.unheld {
        let switch = Hint::git(format!("switch -c {}", shell_word(name)));
        return Advised::from(switch).advice("no branch holds the commits of this detached HEAD");
    }
    let Some(way) = forward(view) else {
        return review::archive(view, here);
    };
    let way = match gate::judgement(view).and_then(|judgement| judgement.target) {
        Some(target) if state.stage == Stage::Review => target.transition(),
        _ => way,
    };
    if matches!(state.stage, Stage::Build | Stage::Review)
        && let Some(first) = settle_worktree(view, here)
    {
        return first;
    }
    // What is here is not what others judge.
    if let Some(behind) = &here.behind {
        return forwarded(here, &behind.upstream, behind.words());
    }
    if let Some(author) = mender(view, here, way) {
        return Advised::waits(author, "what the review found to be mended");
    }
    if let Some(builder) = builder(view, here, way) {
        return Advised::waits(builder, "the build").advice(hint![
            "whoever enters it is its builder, and no independent reviewer; to build it yourself: ",
            command!("build")
        ]);
    }
    if let Some(light) = gate::demanded(view).filter(|_| !way.is_rollback()) {
        return leading(view, &light).advice(light.message);
    }
    if gate::consumable(view, way).is_ok() {
        return enter(view, here, way);
    }
    let blockers = gate::blockers(view, way);
    let found = match state.stage {
        Stage::Build => build::next(view, here, &blockers),
        Stage::Review if !way.is_rollback() => review::next(view, here, &blockers),
        _ => by_blockers(view, &blockers),
    };
    let found = found.unwrap_or_else(|| approve(view, here, way));
    of_the_build(view, here, found)
}

/// A build of another worktree is not gone on with here.
fn of_the_build(view: View<'_>, here: &Here<'_>, found: Advised) -> Advised {
    let asks = found.command().and_then(Hint::command);
    let is_step = asks.is_some_and(|asks| matches!(asks.verb(), Verb::Run | Verb::Build));
    if view.state.stage != Stage::Build || !is_step && found.next != Next::Write {
        return found;
    }
    let claim = view.state.build.claim.as_ref();
    match lease::standing(claim, here.worktrees.here.as_deref(), here.now) {
        Standing::Held(claim) if here.now > 0 => {
            // Whoever has a task goes on with it, beside the build.
            if build::has_task(view, here) {
                return found;
            }
            if let Some(free) = build::free(view, here) {
                return free;
            }
            let by = &claim.signed.by;
            let agent = claim.value.agent.as_deref();
            let whose = here.worktrees.whose(&claim.value.owner, agent, by);
            let left = left(here.now, lease::until(claim));
            Advised::waits(whose, format!("the build, which is theirs for {left} more")).advice(
                hint![
                    "to take it over: ",
                    command!("build --take-over --reason WHY")
                ],
            )
        }
        _ => found,
    }
}

/// What is left to do with a session that has ended.
fn ended(view: View<'_>, here: &Here<'_>) -> Advised {
    let found = left_over(view, here);
    let is_of_git = match &found.next {
        Next::Command(lead) => lead.command().is_none(),
        Next::Nothing => here.unlanded.is_some(),
        Next::Write | Next::Waits(_) => false,
    };
    match &here.worktree {
        // git ends what it began before it begins anything else.
        Some(worktree) if is_of_git => match worktree.sequence {
            Some(sequence) => go_on(worktree, sequence),
            None => found,
        },
        _ => found,
    }
}

fn left_over(view: View<'_>, here: &Here<'_>) -> Advised {
    let state = view.state;
    if let Some(Ending::Abandoned { .. }) = &state.ending {
        let undo = command!("undo").session(&state.id);
        if let Some((branch, archive)) = &here.leftover {
            return taken_out(here, (branch, archive));
        }
        return Advised::nothing().advice(hint!["it was abandoned; to take that back: ", undo]);
    }
    if let Some(unfetched) = &here.unfetched {
        return review::fetch(view, unfetched, "what was archived");
    }
    let is_joined = |one: &&Unpushed| matches!(one.standing, Standpoint::Apart | Standpoint::Ahead);
    if let Some(unpushed) = here.unpushed.as_ref().filter(is_joined) {
        return joined(view, here, unpushed);
    }
    // A server may ask for the session before it takes the code. A remote that has no sessions gets the code first: it
    // may have nothing yet.
    let lacks = here.remote.as_ref().filter(|remote| remote.ahead > 0);
    let is_asked_first = lacks.is_some_and(|remote| remote.is_known);
    match (&here.unpushed, lacks) {
        (Some(unpushed), _) if !is_asked_first => return unpushed.pushed(),
        (_, Some(remote)) => return command!("sync {}", remote.remote).into(),
        _ => {}
    }
    if let Some(unlanded) = &here.unlanded {
        return landing(here, unlanded);
    }
    if let Some(Ending::Archived {
        taken_back: Some(_),
        ..
    }) = &state.ending
    {
        let reopen = Transition::DoneToBuild
            .command()
            .because("its archive was taken back");
        return Advised::nothing().advice(hint![
            "its archive was taken back, and the specs are as before it; to finish it again: ",
            reopen.session(&state.id)
        ]);
    }
    Advised::nothing()
}

/// The merge by which the target gets what was archived. Where a remote has it, the merge may be asked for there.
fn landing(here: &Here<'_>, unlanded: &Unlanded) -> Advised {
    let Unlanded { target, source, .. } = unlanded;
    let merge = Hint::git(format!("merge {}", shell_word(source)));
    if let (Some(remote), None) = (&unlanded.remote, &unlanded.lost) {
        let there =
            format!("{target} has it not yet: open a pull request for {source} on {remote}, or: ");
        return Advised::nothing().advice(match &unlanded.way {
            Some(way) => hint![there, way.clone(), "  and there: ", merge],
            None => hint![there, merge],
        });
    }
    if let (false, Some(worktree)) = (unlanded.in_the_way.is_empty(), &here.worktree) {
        let worktree = Worktree {
            in_the_way: unlanded.in_the_way.clone(),
            ..worktree.clone()
        };
        return stash(&worktree, &format!("the switch to {target}"));
    }
    let lost = unlanded.lost.clone();
    match (&unlanded.way, lost) {
        (Some(way), Some(lost)) => Advised::from(way.clone()).advice(hint![
            format!("{target} has it not yet; there: "),
            merge,
            "; ",
            lost
        ]),
        (Some(way), None) => Advised::from(way.clone())
            .advice(hint![format!("{target} has it not yet; there: "), merge]),
        (None, Some(lost)) => Advised::from(merge).advice(lost),
        (None, None) => merge.into(),
    }
}

/// Takes the archive out that an abandoned session left on a branch.
fn taken_out(here: &Here<'_>, (branch, archive): (&str, &Oid)) -> Advised {
    let archive = archive.short();
    let why = format!("it was abandoned, and {branch} still has its archive {archive}");
    let revert = Hint::git(format!("revert --no-edit {archive}"));
    match &here.worktree {
        Some(worktree) if worktree.branch.as_deref() == Some(branch) => {
            Advised::from(revert).advice(why)
        }
        _ => Advised::write(hint![format!("{why}; on {branch}: "), revert]),
    }
}

/// Takes the remote's commits into a branch that lacks them.
fn joined(view: View<'_>, here: &Here<'_>, unpushed: &Unpushed) -> Advised {
    let Unpushed { remote, branch, .. } = unpushed;
    let is_ahead = unpushed.standing == Standpoint::Ahead;
    let forward = if is_ahead { "--ff-only " } else { "" };
    let why = format!("{remote}/{branch} has commits that {branch} lacks");
    let merge = Hint::git(format!(
        "merge {forward}{}",
        shell_word(&format!("{remote}/{branch}"))
    ));
    let Some(worktree) = &here.worktree else {
        return Advised::write(hint![format!("{why}; in a worktree of {branch}: "), merge]);
    };
    if worktree.branch.as_ref() == Some(branch) {
        return Advised::from(merge).advice(if is_ahead {
            why.into()
        } else {
            hint![format!("{why}; then: "), unpushed.push()]
        });
    }
    match &worktree.elsewhere {
        Some(path) if view.state.branch.as_ref() == Some(branch) => {
            Advised::write(hint![format!("{why}; in {path}: "), merge])
        }
        _ => Advised::from(Hint::git(format!("switch {}", shell_word(branch))))
            .advice(hint![format!("{why}; there: "), merge]),
    }
}

/// The builder who mends what a review sent back, where the reviewer who asks took no part: whoever enters the build has it.
fn mender(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    let verdict = view.state.verdict.as_ref();
    let who = here.who?;
    let is_reviewers = verdict.is_some_and(|verdict| verdict.signed.by.is_same(who));
    if way != Transition::ReviewToBuild || !is_reviewers {
        return None;
    }
    let names = view.credentials.names(who);
    let is_own = |person: &Person| names.iter().any(|name| name.is_same(person));
    let builders = &view.state.build.builders;
    let took_part = builders.iter().any(is_own) || view.credentials.part(&names).is_some();
    let last = builders.last().filter(|_| !took_part)?;
    Some(last.name.clone())
}

/// Who builds what is approved, where whoever asks gave their word and did not begin the session.
fn builder(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    if way != Transition::PlanToBuild || is_own(view, here) {
        return None;
    }
    let approval = gate::consumable(view, way).ok()?;
    let names = view.credentials.names(here.who?);
    let is_theirs = |by: &ApprovedBy| names.iter().any(|name| name.is_same(&by.signed.by));
    let started = &view.state.started.by.name;
    approval.by.iter().any(is_theirs).then(|| started.clone())
}

/// Whether whoever asks began the session, or built some of it.
fn is_own(view: View<'_>, here: &Here<'_>) -> bool {
    let names = here.who.map(|who| view.credentials.names(who));
    let mut people = vec![&view.state.started.by];
    people.extend(&view.state.build.builders);
    let is_one = |name: &Person| people.iter().any(|one| one.is_same(name));
    names.is_none_or(|names| names.iter().any(is_one))
}

/// The stage is entered by the command that consumes the approval.
fn enter(view: View<'_>, here: &Here<'_>, way: Transition) -> Advised {
    if way.to() == Stage::Review
        && let Some(first) = commit(view, here)
    {
        return first;
    }
    way.command().into()
}

/// The build in which no file differs: there is code to write, or a reason why there is none.
fn codeless(view: View<'_>, here: &Here<'_>) -> Advised {
    let review = Transition::BuildToReview;
    let again = match (view.profile().is_light(), here.asks) {
        (true, true) => command!("finish --reason WHY"),
        (true, false) => command!("finish --yes --reason WHY"),
        (false, _) if view.policy.asks_signature(review) => {
            command!("approve --to review --reason WHY --sign")
        }
        (false, _) => command!("approve --to review --reason WHY"),
    };
    Advised::write(hint![
        "no file differs from where the review begins: write the code, and commit it; where no code changes: ",
        again
    ])
}

/// Approves, or says who may.
fn approve(view: View<'_>, here: &Here<'_>, way: Transition) -> Advised {
    match approver(view, here, way) {
        Some(who) => Advised::waits(who, format!("the approval of {way}")),
        None if way == Transition::BuildToReview && here.is_empty => codeless(view, here),
        None if view.profile().is_light() && finishes_alone(view, here, way) => {
            // What the target would refuse is not taken to its end.
            let moved = here.moved.as_ref().filter(|moved| {
                let policy = &moved.policy;
                !finishes_alone(View { policy, ..view }, here, way)
            });
            match (moved, here.asks) {
                (Some(moved), _) => Advised::from(moved.lead.clone()).advice(moved.why.clone()),
                (None, true) => command!("finish").into(),
                (None, false) => command!("finish --yes").into(),
            }
        }
        // Whoever plans or builds enters that stage where one word opens it.
        None if view.policy.required(way) == 1
            && (way.to() != Stage::Build || is_own(view, here))
            && (matches!(way, Transition::ClarifyToPlan | Transition::PlanToBuild)
                || view.profile().is_light() && way.to() == Stage::Build) =>
        {
            // Without a name the word is about the way forward.
            match (way.is_forward(), view.policy.asks_signature(way)) {
                (true, true) => command!("approve --enter --sign").into(),
                (true, false) => command!("approve --enter").into(),
                (false, true) => command!("approve --to {} --enter --sign", way.to()).into(),
                (false, false) => command!("approve --to {} --enter", way.to()).into(),
            }
        }
        None => view.policy.approve_command(way).into(),
    }
}

/// Whether this person alone may take a build to its end: nobody else is asked, nothing holds the archive, and no word
/// has to be signed.
fn finishes_alone(view: View<'_>, here: &Here<'_>, way: Transition) -> bool {
    let policy = view.policy;
    let ahead = [Transition::BuildToReview, Transition::ReviewToDone];
    let is_asked =
        |one: &Transition| policy.required(*one) > 1 || approver(view, here, *one).is_some();
    way == Transition::BuildToReview
        && here.who.is_some()
        && review::sender(view, here).is_none()
        && here.archive.is_empty()
        && !here.is_empty
        && !policy.review.independence.is_required()
        && !policy.asks_signatures()
        && gate::open_now(view).is_empty()
        && !ahead.iter().any(is_asked)
}

/// Who approves a transition, where this person may not, or has already.
fn approver(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    if let Some(who) = person(view, here) {
        return Some(who);
    }
    let who = here.who?;
    let names = view.credentials.names(who);
    if names.iter().any(|name| view.policy.denies(name)) {
        return Some("somebody whom policy lets approve".to_owned());
    }
    if !view.policy.may_approve(way, &names) {
        let roles = view.policy.approve.by.get(&way);
        return Some(roles.map_or_else(String::new, |roles| roles.join(" or ")));
    }
    if view.policy.approve.independent.contains(&way) && view.credentials.part(&names).is_some() {
        return Some("somebody who took no part in it".to_owned());
    }
    let armed = view.state.armed(way)?;
    let has_approved = gate::changed_since(armed, view).is_empty()
        && armed.by.iter().any(|by| by.signed.by.is_same(who));
    has_approved.then(|| "another person".to_owned())
}

/// Who has to give a word, where policy takes none from the agent that asks.
fn person(view: View<'_>, here: &Here<'_>) -> Option<String> {
    let refused = require_person(view.policy, here.agent.as_deref(), "this").is_err();
    refused.then(|| "a person".to_owned())
}

/// What leads on from blockers: documents come before reviews, for a review of an empty plan helps nobody.
fn by_blockers(view: View<'_>, blockers: &[Blocker]) -> Option<Advised> {
    if let Some(again) = redraft(view, blockers) {
        return Some(again);
    }
    let is_edit = |blocker: &&Blocker| {
        let lead = blocker.help.lead();
        let verb = lead
            .as_ref()
            .and_then(Hint::command)
            .map(|lead| lead.verb());
        verb == Some(Verb::Edit)
    };
    let is_review = |blocker: &&Blocker| blocker.code.is_of_plan_review();
    // Files are written in the order in which they build on each other.
    let place = |blocker: &&Blocker| {
        let lead = blocker.help.lead();
        let file = lead
            .as_ref()
            .and_then(Hint::command)
            .map(|lead| lead.args());
        let file = file.and_then(|args| Artifact::parse(args.trim()).ok());
        file.and_then(|file| Artifact::ALL.iter().position(|one| *one == file))
    };
    let first = blockers
        .iter()
        .filter(|blocker| is_edit(blocker) && !is_review(blocker))
        .min_by_key(place)
        .or_else(|| blockers.iter().find(|blocker| !is_review(blocker)))
        .or(blockers.first())?;
    if proposes_slices(view, first) {
        return Some(command!("plan").into());
    }
    Some(leading(view, first))
}

/// Whether slices that are missing can be made of the delta's scenarios: nobody writes by hand what the program can.
fn proposes_slices(view: View<'_>, blocker: &Blocker) -> bool {
    blocker.code == Code::VerticalSlicesMissing
        && view.delta.scenarios > 0
        && view.state.plan_review(PlanLane::Critic).is_none()
}

/// What a critic asked for: another draft, and in it something that differs.
fn redraft(view: View<'_>, blockers: &[Blocker]) -> Option<Advised> {
    let state = view.state;
    if !blockers
        .iter()
        .any(|blocker| blocker.code.is_of_plan_review())
    {
        return None;
    }
    let newest = state.plan.reviews.iter().rev();
    let newest = newest
        .filter(|review| review.value.run == state.plan.run)
        .find(|review| review.value.verdict != PlanVerdict::Approve)?;
    let found = match newest.value.findings.as_slice() {
        [] => format!(
            "the {} answered `{}`",
            newest.value.lane, newest.value.verdict
        ),
        findings => format!("the {} found: {}", newest.value.lane, findings.join("; ")),
    };
    let refused = state.plan_review(PlanLane::Critic);
    let is_exhausted = state.is_plan_exhausted();
    if is_exhausted || refused.is_some_and(|review| review.value.verdict != PlanVerdict::Approve) {
        let next = if is_exhausted {
            let why = format!("{} drafts were not approved", state.plan_round());
            command!("plan --more 5 --reason WHY{}", view.policy.sign_flag()).because(&why)
        } else {
            command!("plan")
        };
        return Some(Advised::from(next).advice(found));
    }
    let now = gate::covered_files(state, Transition::PlanToBuild);
    let is_last = state
        .plan
        .reviews
        .last()
        .is_some_and(|last| last.op == newest.op);
    (is_last && newest.value.files == now)
        .then(|| Advised::from(command!("edit plan.md")).advice(found))
}

fn is_of(lead: &Hint, verb: Verb) -> bool {
    lead.command().is_some_and(|lead| lead.verb() == verb)
}

/// What leads on from one blocker, without a place that somebody would have to fill.
fn leading(view: View<'_>, blocker: &Blocker) -> Advised {
    let Some(lead) = blocker.help.lead() else {
        return Advised::write(hint![format!("{}: ", blocker.message), &blocker.help]);
    };
    // Nobody has a reason ready for a word that lets work pass.
    let lead = match blocker.code {
        Code::TasksOpen => lead,
        _ => lead.because(&blocker.message),
    };
    match blocker.code {
        Code::ClarifyMaxRoundsExceeded
        | Code::ClarifyAmbiguityScoreAboveThreshold
        | Code::SessionConflict => lead.into(),
        Code::UnresolvedAmbiguity => match lead.command().map(|lead| lead.verb()) {
            // Nothing is there to put: it is written.
            Some(Verb::Put) => command!("edit spec.md").into(),
            _ => lead.into(),
        },
        Code::DelegationActive
        | Code::LaneIncompleteExecution
        | Code::ArchitectPending
        | Code::DeslopPending => Advised::from(lead).advice(blocker.message.clone()),
        Code::ArchitectReviewIncomplete | Code::CriticVerdictPending | Code::CriticVerdictNone
            if is_of(&lead, Verb::Plan) =>
        {
            let back = if blocker.code == Code::ArchitectReviewIncomplete {
                command!("plan --architect iterate --finding WHAT")
            } else {
                command!("plan --critic iterate --finding WHAT")
            };
            Advised::from(lead).advice(hint!["read the plan first; to send it back: ", back])
        }
        // What nobody mended is written, not answered.
        Code::FindingOpen if has_place(&lead) => {
            Advised::from(command!("edit plan.md")).advice(blocker.message.clone())
        }
        Code::RegressionPending | Code::RegressionFailed => build::regression(view),
        code if code.is_of_dependency() => {
            Advised::waits("another session", blocker.message.clone())
        }
        _ if has_place(&lead) => match without_place(view, &lead) {
            Some(command) => command.into(),
            None => Advised::write(hint![format!("{}: ", blocker.message), lead]),
        },
        _ => lead.into(),
    }
}

/// Whether a command has a place that the program cannot fill.
fn has_place(command: &Hint) -> bool {
    const PLACES: [&str; 7] = ["COMMAND", "NAME", "BRANCH", "FILE", "ID", "WHY", "REF"];
    let args = command.command().map_or("", |command| command.args());
    args.split(' ')
        .any(|word| PLACES.contains(&word) || word.trim_end_matches('\'').ends_with("=N"))
}

fn without_place(view: View<'_>, lead: &Hint) -> Option<Hint> {
    match lead.command()?.verb() {
        Verb::Run => build::any_check(view),
        _ => None,
    }
}

/// What has to be so in the worktree before build and review go on in it.
fn settle_worktree(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
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

/// Brings the branch forward to what it lacks, once no edit is in the way.
fn forwarded(here: &Here<'_>, to: &str, why: impl Into<Hint>) -> Advised {
    let merge = format!("merge --ff-only {}", shell_word(to));
    match &here.worktree {
        Some(worktree) if !worktree.in_the_way.is_empty() => {
            stash(worktree, &format!("`git {merge}`"))
        }
        _ => Advised::from(Hint::git(merge)).advice(why),
    }
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

/// The stash of some files, with a message by which it is known again.
fn put_aside(what: &str) -> Hint {
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
fn go_on(worktree: &Worktree, sequence: Sequence) -> Advised {
    let is_clean = worktree.uncommitted.is_empty();
    let word = sequence.word();
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
fn commit(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
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
        format!("; left out, for the name says that it is secret: {names}")
    };
    let advice = format!(
        "{count}{is_or_are} not committed: {}{left_out}",
        worktree.named(&all)
    );
    let advice = advice.trim_start_matches("is ").to_owned();
    Advised::from(Hint::git(command)).advice(advice)
}

/// Paths for git, typed where we are.
fn words(files: &[&Uncommitted], worktree: &Worktree) -> String {
    let from_top = if worktree.is_top() { "" } else { ":/" };
    let path = |one: &&Uncommitted| shell_word(&format!("{from_top}{}", one.path));
    files.iter().map(path).collect::<Vec<_>>().join(" ")
}

/// The command that takes the last word on a done session back: by name, where it was somebody else's.
fn take_back(state: &State, who: Option<&Person>, why: &str) -> Hint {
    let last = state.approvals.get(&ApprovalKey::Complete);
    let last = last.and_then(|approval| approval.by.last());
    match (last, who) {
        (Some(last), Some(who)) if !last.signed.by.is_same(who) => {
            command!("undo --only {} --reason WHY", last.op).because(why)
        }
        _ => command!("undo"),
    }
}

/// The way from a session that is done to another verdict. Nothing of an archived session is taken back before its archive is.
pub fn back_to_review(state: &State, who: Option<&Person>, why: &str) -> Hint {
    let id = &state.id;
    if matches!(state.ending, Some(Ending::Archived { .. })) {
        let reopen = Transition::DoneToBuild.command().because(why);
        return reopen
            .session(id)
            .note("(back to build; its archive is taken back, too)");
    }
    take_back(state, who, why)
        .session(id)
        .note("(back to review, for another verdict)")
}
