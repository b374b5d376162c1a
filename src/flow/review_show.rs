//! The facts of `review --show`: range, commits, files, checks, findings and specs of a session. Nothing here writes.

use super::change::RequirementDiff;
use super::context::Context;
use super::transaction::{Facts, Needs, gather, lead, texts_here};
use super::{change, next, review};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_base::tree_change::{Change, Mode};
use loopx_git::{CommitInfo, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::contract::{Bounds, Contract};
use loopx_rules::gate;
use loopx_rules::gate::{AuditItem, FindingView, ReadSections};
use loopx_rules::next::Advised;
use loopx_rules::op::{Dependence, Verdict};
use loopx_rules::policy::Policy;
use loopx_rules::review::Judgement;
use loopx_rules::session::{Stamped, State};
use loopx_rules::signature::Basis;
use loopx_rules::stage::Stage;
use loopx_rules::task::debt::{Debt, debt};
use loopx_rules::texts::Texts;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// A file beyond this is not counted line by line.
const COUNTED: usize = 1 << 20;
/// Number of files that are named of those that changed since a finding.
const NAMED: usize = 5;

/// File of the range.
#[derive(Debug, Serialize)]
pub(crate) struct ReviewedFile {
    pub path: String,
    /// Absent where the content is no text, or is too long.
    pub added: Option<usize>,
    pub removed: Option<usize>,
    /// Kind of file that the path is since, beyond its lines: `executable`, `link to a`, `submodule at 0123456789`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub becomes: Option<String>,
    pub in_scope: bool,
}

/// Finding of a review, and the files that changed since.
#[derive(Debug, Serialize)]
pub(crate) struct FoundBefore {
    #[serde(flatten)]
    pub finding: FindingView,
    pub changed: Vec<String>,
}

/// Sections of the report that a review shows.
#[derive(Debug)]
pub(crate) struct ReviewShown {
    pub session: SessionId,
    pub stage: Stage,
    pub base: Option<Oid>,
    pub head: Option<Oid>,
    pub commits: Vec<CommitInfo>,
    /// Proof for each commit of who committed it: a key, or a claim alone.
    pub proof: Vec<Basis>,
    pub files: Vec<ReviewedFile>,
    pub scope: Vec<String>,
    /// The contract of the plan. Its paths are those that the build was entered with.
    pub contract: Contract,
    pub is_dirty: bool,
    pub tree: Option<Oid>,
    pub checks: Vec<AuditItem>,
    /// Things that completed tasks left undone.
    pub left: Vec<Debt>,
    pub findings: Vec<FoundBefore>,
    pub specs: Vec<RequirementDiff>,
    /// Reason why the delta cannot be shown.
    pub specs_failed: Option<String>,
    /// Ties of the person who looks to the range; nothing where nobody says who looks.
    pub dependence: Option<Vec<Dependence>>,
    /// Set when policy takes the verdict of nobody who took part.
    pub asks_independence: bool,
    pub verdict: Option<Stamped<Verdict>>,
    pub judgement: Option<Judgement>,
    pub advised: Advised,
}

impl ReviewShown {
    /// The command that shows every line of the range.
    pub(crate) fn diff_command(&self) -> Option<String> {
        let head = self.head.as_ref()?.short();
        Some(match &self.base {
            Some(base) => format!("git diff {}..{head}", base.short()),
            None => format!("git log -p {head}"),
        })
    }
}

/// Tells whether the session that is meant is under review.
pub(crate) fn is_open(ctx: &Context) -> Result<bool> {
    let store = ctx.store()?;
    let state = ctx.session(&store.snapshot()?)?.state;
    Ok(state.stage == Stage::Review && state.is_active())
}

/// The step of whoever asks; of a session that has ended the one of the rules alone.
fn advised(ctx: &Context, facts: &Facts<'_>) -> Advised {
    let asked = || next::of_session(ctx, &facts.state.id).ok();
    let asked = facts.state.is_active().then(asked).flatten();
    asked.unwrap_or_else(|| Advised::of(lead(ctx, facts, gate::next_action(facts.view()))))
}

/// The review of the session that is meant.
pub(crate) fn show(ctx: &Context) -> Result<ReviewShown> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let identity = ctx.repo.identity().ok();
    let mut facts = gather(
        ctx,
        &snapshot,
        &session,
        None,
        Needs::Code,
        identity.as_ref(),
    )?;
    facts.texts = texts_here(ctx, &facts.state, &facts.policy)?;
    facts.read = ReadSections::default();
    // Of a session that has ended what was judged is shown, not what came behind it.
    let judged = review::judged(ctx, &facts.state)?;
    let has_ended = judged.is_some();
    let reviewed = facts.state.verdict.as_ref().filter(|_| has_ended);
    let tree = match reviewed {
        Some(verdict) => Some(verdict.value.tree.clone()),
        None => facts.code.as_ref().map(|code| code.tree.clone()),
    };
    let range = match judged {
        Some(range) => range,
        None => review::range(ctx, &facts)?,
    };
    let view = facts.view();
    let findings = gate::findings(view)
        .into_iter()
        .map(|finding| found_before(&ctx.repo, &facts.state, finding, tree.as_ref()))
        .collect::<Result<_>>()?;
    let has_delta = brief::delta_file(&facts.texts).is_some();
    let (specs, specs_failed) = match change::diff(ctx) {
        _ if !has_delta => (Vec::new(), None),
        Ok((_, specs)) => (specs, None),
        Err(failure) => (Vec::new(), Some(failure.message)),
    };
    let dependence = match facts.identity {
        Some(_) if !has_ended => Some(review::dependence(&ctx.repo, &facts, &range.commits)?),
        _ => None,
    };
    Ok(ReviewShown {
        session: facts.state.id.clone(),
        stage: facts.state.stage,
        proof: review::proof(&ctx.repo, &facts, &range.commits)?,
        files: match &tree {
            Some(tree) => files(
                &ctx.repo,
                (&facts.state, &facts.policy),
                range.base.as_ref(),
                tree,
            )?,
            None => Vec::new(),
        },
        scope: facts.state.scope.clone(),
        contract: contract(&facts.state, &facts.texts),
        is_dirty: facts.code.as_ref().is_some_and(|code| code.is_dirty),
        checks: gate::audit(view),
        left: debt(&facts.state),
        judgement: gate::judgement(view),
        verdict: facts.state.verdict.clone(),
        advised: advised(ctx, &facts),
        base: range.base,
        head: range.head,
        commits: range.commits,
        tree,
        findings,
        specs,
        specs_failed,
        asks_independence: facts.policy.review.independence.is_required(),
        dependence,
    })
}

/// The contract as the plan has it, with the paths that the session holds its commits to.
fn contract(state: &State, texts: &Texts) -> Contract {
    let plan = texts.get(&Artifact::Plan);
    let read = plan.and_then(|text| Contract::read(text).ok());
    Contract {
        scope: state.scope.clone(),
        out_of_scope: state.out_of_scope.clone(),
        ..read.unwrap_or_default()
    }
}

fn found_before(
    repo: &Repo,
    state: &State,
    finding: FindingView,
    now: Option<&Oid>,
) -> Result<FoundBefore> {
    let then = state
        .finding(finding.number)
        .and_then(|one| one.value.tree.as_ref());
    let mut changed = match (then, now) {
        (Some(then), Some(now)) if repo.contains(then)? => repo.changed_paths(Some(then), now)?,
        _ => Vec::new(),
    };
    changed.truncate(NAMED);
    Ok(FoundBefore { finding, changed })
}

fn files(
    repo: &Repo,
    (state, policy): (&State, &Policy),
    base: Option<&Oid>,
    tree: &Oid,
) -> Result<Vec<ReviewedFile>> {
    let base = match base {
        Some(base) => Some(repo.commit_info(base)?.tree),
        None => None,
    };
    let bounds = Bounds::new(state.boundary(), policy)?;
    let results = policy.results()?;
    let changes = repo.changes(base.as_ref(), tree)?;
    changes
        .into_iter()
        .map(|change| {
            let becomes = becomes(repo, tree, &change)?;
            let path = change.path;
            let old = match &base {
                Some(base) => repo.blob_at(base, &path)?,
                None => None,
            };
            let counts = counted(old, repo.blob_at(tree, &path)?);
            Ok(ReviewedFile {
                in_scope: bounds.has(&path, results.matches(&path)),
                added: counts.map(|(added, _)| added),
                removed: counts.map(|(_, removed)| removed),
                becomes,
                path,
            })
        })
        .collect()
}

/// The kind of file that a path is since, where its lines do not show that.
fn becomes(repo: &Repo, tree: &Oid, change: &Change) -> Result<Option<String>> {
    Ok(match (change.old, change.new) {
        (_, Some(Mode::Link)) => {
            let target = repo.blob_at(tree, &change.path)?.unwrap_or_default();
            Some(format!("link to {}", String::from_utf8_lossy(&target)))
        }
        (_, Some(Mode::Submodule)) => {
            let entry = repo.entry_at(tree, &change.path)?;
            entry.map(|entry| format!("submodule at {}", entry.id.short()))
        }
        (old, Some(Mode::Executable)) if old != Some(Mode::Executable) => {
            Some("executable".to_owned())
        }
        (Some(old), Some(Mode::Plain)) if old != Mode::Plain => Some("plain file".to_owned()),
        _ => None,
    })
}

/// Lines that came and went.
fn counted(old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Option<(usize, usize)> {
    let text = |bytes: Option<Vec<u8>>| {
        let bytes = bytes.unwrap_or_default();
        let is_text = bytes.len() <= COUNTED && !bytes.contains(&0);
        is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
    };
    let (old, new) = (text(old)?, text(new)?);
    let diff = TextDiff::from_lines(&old, &new);
    let mut counts = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => counts.0 += 1,
            ChangeTag::Delete => counts.1 += 1,
            ChangeTag::Equal => {}
        }
    }
    Some(counts)
}
