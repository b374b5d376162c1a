//! The context that every flow starts from: the repository, and which session is meant.

use super::delta::LastVerdict;
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::{Oid, SessionId};
use loopx_base::unfinished::{Unfinished, UnfinishedList};
use loopx_base::working_tree::CodeFacts;
use loopx_git::{Head, Identity, Repo};
use loopx_hosts::wiring;
use loopx_rules::agent_identity;
use loopx_rules::next;
use loopx_rules::next::Advised;
use loopx_rules::policy::{FILE as POLICY_FILE, Policy, Trust};
use loopx_rules::rebase::way_on;
use loopx_rules::session::State;
use loopx_rules::texts::{SharedList, Texts};
use loopx_store::Store;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// git's file of names and addresses that belong to one person.
const MAILMAP: &str = ".mailmap";

/// The session that nobody named, and that was changed because it is the only one; shared by all who hold a copy.
pub(crate) type TakenSession = Rc<RefCell<Option<SessionId>>>;

/// The repository and what the command line said of the session.
pub struct Context {
    pub repo: Repo,
    wanted: Option<String>,
    /// The work that the command leaves for the next command.
    pub unfinished: UnfinishedList,
    /// The session that a command changed without its being named or bound to the branch.
    pub taken: TakenSession,
    /// The session that a command looked at as the only one, and that a command that changes something has to name.
    pub aside: TakenSession,
    policies: RefCell<HashMap<Oid, Policy>>,
    /// The list of tasks that was read last.
    list: RefCell<Option<SharedList>>,
    /// The verdict on a delta that was reached last.
    pub(super) last_verdict: LastVerdict,
    /// HEAD and the branches as a command that only reads saw them first.
    seen: OnceCell<Seen>,
    /// The identity of whoever runs the command, as git gave it when the command asked first; else why git gave none.
    reader: OnceCell<Result<Identity>>,
}

/// HEAD and the tips of refs by which many sessions are judged in one run.
#[derive(Default)]
struct Seen {
    head: OnceCell<Head>,
    tips: RefCell<HashMap<String, Option<Oid>>>,
}

impl Context {
    /// The code as it is in the worktree. What wires coding agents to us is no code, and who has it uncommitted has
    /// no uncommitted work.
    pub fn code(&self) -> Result<Option<CodeFacts>> {
        let wiring: Vec<&str> = wiring::files().collect();
        self.repo.code(&wiring)
    }

    /// The code for whoever records it, or only looks: a read needs no room in the repository.
    pub(crate) fn code_for(&self, writer: Option<&Identity>) -> Result<Option<CodeFacts>> {
        if writer.is_some() && self.seen.get().is_none() {
            return self.code();
        }
        let wiring: Vec<&str> = wiring::files().collect();
        self.repo.code_to_read(&wiring)
    }

    /// Opens the repository. `wanted` is what `--session` said.
    pub fn open(wanted: Option<String>) -> Result<Self> {
        Ok(Context {
            repo: Repo::open()?,
            wanted: wanted.or_else(|| env::var(env::LOOPX_SESSION)),
            unfinished: UnfinishedList::default(),
            taken: TakenSession::default(),
            aside: TakenSession::default(),
            policies: RefCell::default(),
            list: RefCell::default(),
            last_verdict: LastVerdict::default(),
            seen: OnceCell::new(),
            reader: OnceCell::new(),
        })
    }

    /// Opens the repository for a hook, which asks only for the session of the branch.
    pub fn open_in_hook() -> Result<Self> {
        Ok(Context {
            repo: Repo::open_in_hook()?,
            wanted: None,
            unfinished: UnfinishedList::default(),
            taken: TakenSession::default(),
            aside: TakenSession::default(),
            policies: RefCell::default(),
            list: RefCell::default(),
            last_verdict: LastVerdict::default(),
            seen: OnceCell::new(),
            reader: OnceCell::new(),
        })
    }

    /// Has this command see each branch as it stood when it looked first: of a thousand sessions that are
    /// judged in one run, none is judged by another moment. Only for commands that write nothing.
    pub fn only_reads(&self) {
        self.seen.get_or_init(Seen::default);
    }

    /// The clock, in seconds since 1970, as this command looked at it first for something that it shows.
    pub fn now(&self) -> i64 {
        match self.reader() {
            Some(reader) => reader.judges_at(),
            None => self.repo.now(),
        }
    }

    /// The identity of whoever looks, where git knows it.
    pub fn reader(&self) -> Option<&Identity> {
        self.identified().as_ref().ok()
    }

    /// The command that leads on where git cannot put a name and a time under a record of whoever looks.
    pub(crate) fn unsigned(&self) -> Option<Advised> {
        self.identified().as_ref().err().map(next::unsigned)
    }

    fn identified(&self) -> &Result<Identity> {
        self.reader.get_or_init(|| self.repo.identity())
    }

    /// Tells whether this command was said to write nothing.
    pub fn is_reading(&self) -> bool {
        self.seen.get().is_some()
    }

    /// Has a list of tasks be read once, in however many texts a command meets it.
    pub fn share_list(&self, texts: &mut Texts) {
        let mut known = self.list.borrow_mut();
        if texts.share(&mut known) {
            // A command is a process: taking thousands of nodes apart at its end would only cost time.
            std::mem::forget(known.clone());
        }
    }

    /// The place where HEAD points.
    pub fn head(&self) -> Result<Head> {
        let Some(seen) = self.seen.get() else {
            return self.repo.head();
        };
        if let Some(head) = seen.head.get() {
            return Ok(head.clone());
        }
        let head = self.repo.head()?;
        Ok(seen.head.get_or_init(|| head).clone())
    }

    /// The commit at which a ref stands.
    pub fn tip(&self, name: &str) -> Result<Option<Oid>> {
        let Some(seen) = self.seen.get() else {
            return self.repo.find_ref(name);
        };
        if let Some(tip) = seen.tips.borrow().get(name) {
            return Ok(tip.clone());
        }
        let tip = self.repo.find_ref(name)?;
        seen.tips.borrow_mut().insert(name.to_owned(), tip.clone());
        Ok(tip)
    }

    /// Has the context put the work that is left undone into this list.
    #[must_use]
    pub fn leaving_to(mut self, list: &UnfinishedList) -> Self {
        self.unfinished = list.clone();
        self
    }

    /// Step behind a change that stands. Where it fails the command has not failed: the answer says what is left.
    pub fn follow<T>(
        &self,
        (done, left): (impl Into<String>, &str),
        help: Hint,
        result: Result<T>,
    ) -> Option<T> {
        let left_over = |failure: Failure| {
            self.unfinished.add(Unfinished {
                done: done.into(),
                left: left.to_owned(),
                why: failure.message,
                help,
                is_resumed: false,
            });
        };
        result.map_err(left_over).ok()
    }

    /// Has the context tell here which session was taken without being named, and which one was looked at so.
    #[must_use]
    pub fn telling(mut self, taken: &TakenSession, aside: &TakenSession) -> Self {
        self.taken = taken.clone();
        self.aside = aside.clone();
        self
    }

    /// The branch of the session that is meant, where the branch is here.
    pub fn branch_of(wanted: Option<String>) -> Option<String> {
        let ctx = Context::open(wanted).ok()?;
        let snapshot = ctx.store().ok()?.read().ok()??;
        let branch = ctx.session(&snapshot).ok()?.state.branch?;
        let is_here = ctx.repo.find_ref(&format!("refs/heads/{branch}")).ok()?;
        is_here.map(|_| branch)
    }

    /// Opens the repository for another session than the one that is meant here, and answers as this context does.
    pub fn about(&self, id: &SessionId) -> Result<Self> {
        let ctx = Context::open_for(id.as_str())?.0;
        let ctx = ctx.leaving_to(&self.unfinished);
        Ok(ctx.telling(&self.taken, &self.aside))
    }

    /// Opens the repository for the session that `--session` says, and gives its id where it is not the one
    /// that is meant without: a command that leads on has to name it then.
    pub fn open_for(wanted: &str) -> Result<(Self, Option<SessionId>)> {
        let mut ctx = Context::open(None)?;
        let id = ctx.named(wanted);
        ctx.wanted = Some(wanted.to_owned());
        Ok((ctx, id))
    }

    /// The session that is named so, where it has to be named to be meant.
    fn named(&self, wanted: &str) -> Option<SessionId> {
        let snapshot = self.store().ok()?.read().ok()??;
        let id = super::naming::find(&snapshot, wanted).ok()?;
        let is_meant = self.means(&snapshot, &id).unwrap_or(false);
        (!is_meant).then_some(id)
    }

    /// Tells whether this session has to be named to be meant. Where there are no sessions, no name helps.
    pub fn must_name(&self, id: &SessionId) -> bool {
        let there = || self.store().ok()?.read().ok()?;
        there().is_some_and(|snapshot| !self.means(&snapshot, id).unwrap_or(false))
    }

    /// The session that was asked for by name.
    pub fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    /// Tells whether records are signed where nobody says otherwise: `loopx.sign`.
    pub fn signs(&self) -> bool {
        self.repo.config_bool("loopx.sign").unwrap_or(false)
    }

    pub fn store(&self) -> Result<Store<'_>> {
        Store::open(&self.repo, &self.unfinished)
    }

    /// The folder of a session's working copy, as somebody opens it from the current folder.
    pub fn folder(&self, id: &SessionId) -> String {
        super::workcopy::shown(&self.repo, id, "")
    }

    /// Tells whether a session is meant here by its name, or by the branch that is checked out.
    pub fn is_in_session(&self) -> Result<bool> {
        Ok(self.wanted.is_some() || self.bound_session()?.is_some())
    }

    /// The session that is bound to the branch that is checked out.
    pub fn bound_session(&self) -> Result<Option<SessionId>> {
        let store = self.store()?;
        let snapshot = store.snapshot()?;
        match self.repo.head()?.branch {
            Some(branch) => snapshot.sole_bound_to(&branch),
            None => Ok(None),
        }
    }

    /// The policy that holds for a session: the file of the commit that it started from, never the one
    /// of the change that is judged.
    pub fn policy(&self, state: &State) -> Result<Policy> {
        let Some(base) = &state.base else {
            return Ok(Policy::default());
        };
        let mut policy = self.policy_of_base(state, base)?;
        self.require_named_by_target(state, &mut policy)?;
        Ok(policy)
    }

    /// The policy as the base has it. Sessions with one base share it; what their targets take from it is theirs.
    fn policy_of_base(&self, state: &State, base: &Oid) -> Result<Policy> {
        if let Some(known) = self.policies.borrow().get(base) {
            return Ok(known.clone());
        }
        if !self.repo.contains(base)? {
            if self.repo.is_shallow() {
                let help = Hint::git("fetch --unshallow").note("(this clone is shallow)");
                return Err(base_missing(&state.id, base).help(help));
            }
            if let Ok(Some(fetch)) = super::gone::unfetched(self, state) {
                return Err(base_missing(&state.id, base).help(fetch.into_hint()));
            }
            let onto = super::rebase::suggest(self, state, &Policy::default());
            let onto = onto.ok().flatten();
            let onto = onto.as_ref().map_or("COMMIT", Oid::short);
            return Err(base_missing(&state.id, base).help(way_on(onto)));
        }
        let label = format!("{POLICY_FILE} at {}", base.short());
        let policy = self.policy_at(&self.repo.commit_info(base)?.tree, &label)?;
        self.policies
            .borrow_mut()
            .insert(base.clone(), policy.clone());
        Ok(policy)
    }

    /// Takes from a policy the agents that the target does not let give a person's word: an agent that commits its own
    /// permission and then begins a session from there has none.
    fn require_named_by_target(&self, state: &State, policy: &mut Policy) -> Result<()> {
        if policy.approve.agents.is_empty() || agent_identity::host(env::var).is_none() {
            return Ok(());
        }
        if let Some(target) = super::policy_moved::of_target(self, state)? {
            let named = target.approve.agents;
            policy.approve.agents.retain(|agent| named.contains(agent));
        }
        Ok(())
    }

    /// The policy of a session for a command that asks no gate. Where the base is not here, the policy is the default,
    /// and the failure about the missing base comes beside it: every gate holds then.
    pub fn policy_if_there(&self, state: &State) -> Result<(Policy, Option<Failure>)> {
        match self.policy(state) {
            Ok(policy) => Ok((policy, None)),
            Err(failure) if failure.code == Code::BaseMissing => {
                Ok((Policy::default(), Some(failure)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The policy file of a tree, or the defaults.
    pub fn policy_at(&self, tree: &Oid, label: &str) -> Result<Policy> {
        self.require_one(tree, POLICY_FILE, label)?;
        let Some(bytes) = self.repo.blob_at(tree, POLICY_FILE)? else {
            return Ok(Policy::default());
        };
        let mut policy = Policy::parse(&String::from_utf8_lossy(&bytes), label)?;
        let approve = &policy.approve;
        for path in [approve.signers.as_str(), &approve.revoked, MAILMAP] {
            self.require_one(tree, path, label)?;
        }
        policy.trust = Trust {
            signers: self.repo.blob_at(tree, &approve.signers)?,
            revoked: self.repo.blob_at(tree, &approve.revoked)?,
            mailmap: self.repo.blob_at(tree, MAILMAP)?,
        };
        Ok(policy)
    }

    /// Refuses a tree from which one program would read this policy and another one that policy.
    pub fn require_one(&self, tree: &Oid, path: &str, label: &str) -> Result<()> {
        if self.repo.has_twice(tree, path)? {
            Err(Failure::refused(
                Code::PolicyInvalid,
                format!("{label}: expected one `{path}` in the tree, found a name of it twice"),
            )
            .help("git fsck  (names the tree), then set the branch back to before its commit"))
        } else {
            Ok(())
        }
    }
}

/// The commit that a session starts from is not here.
fn base_missing(id: &SessionId, base: &Oid) -> Failure {
    Failure::refused(
        Code::BaseMissing,
        format!(
            "session {id} starts from commit {}, which is not in this repository",
            base.short()
        ),
    )
}
