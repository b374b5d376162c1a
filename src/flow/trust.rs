//! Trust in checks: whether a check of a session may run here, and what somebody said once of its words. The rule is in
//! [`loopx_rules::trust`]; here it meets the records, the signatures and this repository.

use super::context::Context;
use super::{files, policy_checks, policy_moved, sign};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::{Oid, OpId, Person};
use loopx_git::{Identity, Repo};
use loopx_rules::agent_identity;
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack::CHECK_FILES;
use loopx_rules::checks::Check;
use loopx_rules::op::{Event, Operation};
use loopx_rules::policy::Policy;
use loopx_rules::replay;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::trust;
use loopx_rules::trust::{Commands, Hands, Mode, Origin, Stranger};
use loopx_store::{Session, Snapshot};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// File in which a repository keeps the words that somebody said may run, by the id of their blob.
fn remembered(repo: &Repo) -> PathBuf {
    repo.common_dir().join("loopx").join("trusted")
}

/// File in which a repository keeps the records that were made in it and could make a check its own.
fn own_records(repo: &Repo) -> PathBuf {
    repo.common_dir().join("loopx").join("own")
}

/// Keeps that a record is made here, where it writes checks or agrees to some. What cannot be kept is asked for once
/// more before it runs.
pub(super) fn keep_own(repo: &Repo, op: &Operation) {
    let writes = op.writes.keys().any(|file| CHECK_FILES.contains(file));
    let proposes = trust::proposals(op).next().is_some();
    if writes || proposes || is_agreement(op) || chooses_base(op) {
        let line = format!("{}\n", op.op);
        drop(repo.append_shared(&own_records(repo), line.as_bytes()));
    }
}

/// Refuses checks whose words nobody agreed to here. `is_told` is somebody's word that these may run, which is
/// remembered; `again` is the command that says so.
pub(super) fn require(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    policy: &Policy,
    checks: &[Check],
    (is_told, again): (bool, Hint),
) -> Result<()> {
    let mode = mode(ctx, policy)?;
    let known = known(&ctx.repo);
    let mut asked = Vec::new();
    for check in checks.iter().filter(|check| !check.argv.is_empty()) {
        if mode != Mode::All && !known.contains(words(&ctx.repo, &check.argv)?.as_str()) {
            asked.push(check);
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let strangers = strangers(ctx, (snapshot, session), policy, mode, &asked)?;
    if strangers.is_empty() {
        return Ok(());
    }
    if is_told {
        let agent = agent_identity::host(loopx_base::env::var);
        let what = "running a command that somebody else wrote";
        agent_identity::require_person(policy, agent.as_deref(), what)?;
        return remember(&ctx.repo, known, &strangers);
    }
    let message = match strangers.as_slice() {
        [one] => format!(
            "nobody in this clone has allowed this check to run: {}",
            one.words()
        ),
        several => format!(
            "nobody in this clone has allowed {} checks to run; read them first",
            several.len()
        ),
    };
    let blockers = strangers
        .iter()
        .map(|one| Blocker::new(Code::CheckNotTrusted, one.words(), again.clone()))
        .collect();
    Err(Failure::waiting(Code::CheckNotTrusted, message)
        .blockers(blockers)
        .help(again))
}

/// Mode of trust: whose word is enough here. A setting that an agent gives in its own call (`git -c`) is not heard,
/// unless policy names the agent: it would give itself the word that it may not give.
fn mode(ctx: &Context, policy: &Policy) -> Result<Mode> {
    let Some(said) = ctx.repo.config(trust::SETTING) else {
        return Ok(Mode::default());
    };
    let agent = agent_identity::host(loopx_base::env::var);
    let setting =
        match agent_identity::require_person(policy, agent.as_deref(), "a setting of trust") {
            Ok(()) => Some(said),
            Err(_) => ctx.repo.config_of_files(trust::SETTING)?,
        };
    Ok(Mode::of(setting.as_deref()))
}

/// The words of a command as one content.
fn words(repo: &Repo, argv: &[String]) -> Result<Oid> {
    repo.hash_blob(serde_json::json!(argv).to_string().as_bytes())
}

fn known(repo: &Repo) -> BTreeSet<String> {
    lines_of(&remembered(repo)).into_iter().collect()
}

fn lines_of(path: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn remember(repo: &Repo, mut known: BTreeSet<String>, strangers: &[Stranger]) -> Result<()> {
    for one in strangers {
        known.insert(words(repo, &one.check.argv)?.to_string());
    }
    let lines: String = known.iter().map(|id| format!("{id}\n")).collect();
    files::write_in_git_dir(repo, &remembered(repo), lines.as_bytes())
}

/// The commands of stored files of checks, each file read once.
struct Stored<'c> {
    ctx: &'c Context,
    read: RefCell<HashMap<(Artifact, Oid), Option<Commands>>>,
}

impl Stored<'_> {
    /// Tells whether a stored file of checks has these words. A file that is not here any more shows nothing.
    fn has(&self, artifact: Artifact, blob: &Oid, argv: &[String]) -> bool {
        let mut read = self.read.borrow_mut();
        let commands = read.entry((artifact, blob.clone())).or_insert_with(|| {
            let bytes = self.ctx.repo.read_blob(blob).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut texts = [(artifact, text)].into();
            self.ctx.share_list(&mut texts);
            Some(Commands::of(artifact, &texts))
        });
        commands.as_ref().is_some_and(|known| known.has(argv))
    }
}

/// Checks, of those given, that nobody agreed to here.
fn strangers(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    policy: &Policy,
    mode: Mode,
    asked: &[&Check],
) -> Result<Vec<Stranger>> {
    let state = &session.state;
    let me = ctx.repo.identity()?;
    let stored = Stored {
        ctx,
        read: RefCell::default(),
    };
    let has = |artifact: Artifact, blob: &Oid, argv: &[String]| stored.has(artifact, blob, argv);
    let own: HashSet<String> = match mode {
        Mode::Here => lines_of(&own_records(&ctx.repo)),
        _ => HashSet::new(),
    };
    let is_mine = |op: &OpId, hands: Hands<'_>| match mode {
        // Several people may work in one clone.
        Mode::Here => own.contains(op.as_str()) && hands.are_of(of(&me)),
        Mode::Names => hands.are_of(of(&me)),
        Mode::Signed | Mode::All => false,
    };
    let (mut left, has_target) = policy_checks::not_of_target(ctx, state, asked.to_vec())?;
    left.retain(|check| check.is_of_policy() || !is_approved_by(state, is_mine, check, has));
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let operations = snapshot.operations(session)?;
    let ordered = replay::in_order(&operations);
    let undone = replay::undone(&operations);
    let signed = signed(ctx, (snapshot, session), policy, &operations)?;
    let mut found = Vec::new();
    for check in left {
        // Without a target, whoever chose the base chose its policy. A record that has the same words says nothing.
        if check.is_of_policy() {
            let chose = ordered.iter().rev().find(|op| chooses_base(op));
            let chose = chose.filter(|_| !has_target);
            if !chose.is_some_and(|op| is_mine(&op.op, hands(op))) {
                found.push(Stranger {
                    check: check.clone(),
                    by: None,
                });
            }
            continue;
        }
        let is_covered = ordered.iter().any(|op| {
            let is_word = is_mine(&op.op, hands(op)) || signed.contains(&op.op);
            is_word && !undone.contains(&op.op) && approves(op, &check.argv, has)
        });
        if is_covered {
            continue;
        }
        let is_stored = trust::covers(&state.artifacts, &check.argv, has);
        let (by, is_own) = match trust::origin(&ordered, &check.argv, is_stored, has) {
            Origin::Here => (Some(me.author.clone()), true),
            Origin::Written(op) => writer(snapshot, op, &check.argv, is_mine)?,
            Origin::Merged => (None, false),
        };
        if mode == Mode::Signed || !is_own {
            found.push(Stranger {
                check: check.clone(),
                by,
            });
        }
    }
    Ok(found)
}

/// Writer of the words of a record, and whether that is whoever asks. A session that began for issues copied its words:
/// they are of whoever proposed them there, and nobody's here where no proposal has them.
fn writer(
    snapshot: &Snapshot<'_>,
    op: &Operation,
    argv: &[String],
    is_mine: impl Fn(&OpId, Hands<'_>) -> bool,
) -> Result<(Option<Person>, bool)> {
    let issues = match op.event() {
        Some(Event::Started { issues, .. }) => issues.as_slice(),
        _ => &[],
    };
    let mut maker = None;
    for id in issues {
        let mut records = snapshot.issue_records(id)?.unwrap_or_default();
        records.sort_by(|a, b| (a.seq, &a.op).cmp(&(b.seq, &b.op)));
        if let Some(op) = trust::proposed(&records, argv) {
            // Whoever took a backlog over did not write its solutions.
            let is_own = !trust::is_brought(op) && is_mine(&op.op, hands(op));
            return Ok((Some(op.by.clone()), is_own));
        }
        maker = maker.or_else(|| records.first().map(|op| op.by.clone()));
    }
    Ok(if issues.is_empty() {
        (Some(op.by.clone()), is_mine(&op.op, hands(op)))
    } else {
        (maker.or_else(|| Some(op.by.clone())), false)
    })
}

fn hands(op: &Operation) -> Hands<'_> {
    Hands {
        by: &op.by,
        committer: op.committer.as_ref(),
    }
}

fn of(me: &Identity) -> Hands<'_> {
    Hands {
        by: &me.author,
        committer: me.committer.as_ref(),
    }
}

/// Tells whether a record says which commit the session starts from.
fn chooses_base(op: &Operation) -> bool {
    matches!(
        op.event(),
        Some(Event::Started { .. } | Event::Rebased { .. })
    )
}

/// Tells whether a record could agree to checks at all.
fn is_agreement(op: &Operation) -> bool {
    match op.event() {
        Some(Event::Approved { transition, .. }) => transition.from() != Stage::Clarify,
        Some(Event::Reviewed { verdict }) => verdict.is_approval(),
        _ => false,
    }
}

/// Tells whether the approval of the plan, or of what comes after it, or an approving verdict, is about these words.
fn approves(
    op: &Operation,
    argv: &[String],
    has: impl Fn(Artifact, &Oid, &[String]) -> bool,
) -> bool {
    match op.event() {
        Some(Event::Approved {
            transition, files, ..
        }) => transition.from() != Stage::Clarify && trust::covers(files, argv, has),
        // A verdict that lets the work go on rests on the same files.
        Some(Event::Reviewed { verdict }) => {
            verdict.is_approval() && trust::covers(&verdict.files, argv, has)
        }
        _ => false,
    }
}

/// Tells whether approvals that the state keeps are about a check, without a look at the records: the way of whoever
/// approved the plan.
fn is_approved_by(
    state: &State,
    is_mine: impl Fn(&OpId, Hands<'_>) -> bool,
    check: &Check,
    has: impl Fn(Artifact, &Oid, &[String]) -> bool + Copy,
) -> bool {
    let mut approvals = state.approvals.values();
    approvals.any(|approval| {
        let mut people = approval.by.iter();
        let is_mine = people.any(|by| {
            let hands = Hands {
                by: &by.signed.by,
                committer: by.committer.as_ref(),
            };
            is_mine(&by.op, hands)
        });
        let is_of_plan = approval.transition.from() != Stage::Clarify;
        is_mine && is_of_plan && trust::covers(&approval.files, &check.argv, has)
    })
}

/// The approvals and verdicts whose signature the signers of the target accept.
fn signed(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    policy: &Policy,
    operations: &[Operation],
) -> Result<BTreeSet<OpId>> {
    let target = policy_moved::of_target(ctx, &session.state)?;
    let policy = target.as_ref().unwrap_or(policy);
    let mut found = BTreeSet::new();
    if policy.trust.signers.is_none() {
        return Ok(found);
    }
    let judge = sign::Judge::new(policy)?;
    let files = snapshot.signatures(session)?;
    let bases = loopx_rules::signature::bases(&session.state, operations);
    for op in operations {
        if let Some(Event::Approved { .. } | Event::Reviewed { .. }) = op.event() {
            let state = (&session.state, bases.as_slice());
            let checked = judge.check(&ctx.repo, state, op, &files)?;
            if checked.is_some_and(|checked| checked.holds()) {
                found.insert(op.op.clone());
            }
        }
    }
    Ok(found)
}
