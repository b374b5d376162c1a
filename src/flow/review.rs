//! `review`: consumes the approval and opens the report; with a verdict, records what the reviewer
//! says of `base..head`, bound to the tree, with the reviewer's independence computed.

mod open;

use super::bound_here;
use super::context::Context;
use super::files;
use super::finish::commits;
use super::sign::{self, Judge};
use super::stages::{code_tree, require};
use super::transaction::{Act, Done, Facts, Needs, act};
use super::upstream;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_base::working_tree::{CodeFacts, ReviewedCode};
use loopx_git::{CommitInfo, Remerge, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::next;
use loopx_rules::op::{CodeVerdict, Dependence, Event, ReviewFinding, Smell, Target, Verdict};
use loopx_rules::policy::Policy;
use loopx_rules::review::{Judgement, label, with_block};
use loopx_rules::session::State;
use loopx_rules::signature::Basis;
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::template::TemplateInput;
use std::collections::BTreeSet;

/// Verdict of a reviewer, as given.
#[derive(Clone, Debug)]
pub(crate) struct VerdictRequest {
    pub verdict: CodeVerdict,
    pub target: Option<Target>,
    pub architecture: Smell,
    pub architecture_target: Option<Target>,
    pub findings: Vec<ReviewFinding>,
}

/// Arguments of `review`.
#[derive(Clone, Debug)]
pub(crate) struct ReviewRequest {
    pub verdict: Option<VerdictRequest>,
    pub allow_uncommitted: bool,
    pub reason: Option<String>,
    /// Wish to sign the verdict.
    pub sign: bool,
}

/// Result of a review.
#[derive(Debug)]
pub(crate) struct Reviewed {
    /// Set when this command opened the review.
    pub entered: bool,
    pub commits: Vec<CommitInfo>,
    /// Proof for each commit of who committed it: a key, or a claim alone.
    pub proof: Vec<Basis>,
    pub files: Vec<String>,
    pub verdict: Option<Verdict>,
    pub judgement: Option<Judgement>,
    /// Words of the verdict, in the language that policy asks for.
    pub message: String,
}

/// Enters the review, or records a verdict; a verdict enters it first where that is approved.
pub(crate) fn review(ctx: &Context, request: &ReviewRequest) -> Result<Done<Reviewed>> {
    let opened = match &request.verdict {
        Some(verdict) => open::for_verdict(ctx, verdict, request)?,
        None => None,
    };
    let done = step(ctx, request);
    let Some(opened) = opened else {
        return done;
    };
    // A key that does not sign is found out by its use alone, and the review is open by then.
    let mut done =
        done.map_err(|failure| failure.context("the review is open now, and has no verdict yet"))?;
    done.value.entered = true;
    done.saved = [opened.saved, done.saved].concat();
    Ok(done)
}

fn step(ctx: &Context, request: &ReviewRequest) -> Result<Done<Reviewed>> {
    act(ctx, Needs::Code, |facts| {
        match (&request.verdict, facts.state.stage) {
            (None, Stage::Build) => enter(ctx, facts, request),
            (Some(verdict), Stage::Review) => judge(ctx, facts, verdict, request),
            _ => Err(Failure::refused(
                Code::ApprovedTransitionRequired,
                format!(
                    "`review` needs an approval of {} first; the session is in stage {}",
                    Transition::BuildToReview,
                    facts.state.stage
                ),
            )
            .help(match facts.state.stage {
                Stage::Build if facts.state.armed(Transition::BuildToReview).is_some() => {
                    command!("review")
                }
                _ => gate::next_action(facts.view()),
            })),
        }
    })
}

/// Commits that a review covers.
pub(super) struct Range {
    pub(super) base: Option<Oid>,
    pub(super) head: Option<Oid>,
    pub(super) commits: Vec<CommitInfo>,
    /// The protected branch that the result is to go to, and where that is.
    pub(super) onto: Option<(String, Oid)>,
}

/// The commits of the bound branch, or of HEAD where none is bound, that are the session's own.
pub(super) fn range(ctx: &Context, facts: &Facts<'_>) -> Result<Range> {
    let repo = &ctx.repo;
    let state = &facts.state;
    let head = match &state.branch {
        Some(_) => upstream::bound_head(ctx, state)?,
        None => facts.code.as_ref().and_then(|code| code.head.clone()),
    };
    let Some(head) = head else {
        return Ok(Range {
            base: state.base.clone(),
            head: None,
            commits: Vec::new(),
            onto: None,
        });
    };
    let target = upstream::target_of(ctx, state, &facts.policy)?;
    let upstream::Shown { onto, own } = upstream::shown(ctx, state, target, &facts.policy, &head)?;
    Ok(Range {
        base: own.base,
        head: Some(head),
        onto,
        commits: own
            .commits
            .iter()
            .map(|id| repo.commit_info(id))
            .collect::<Result<_>>()?,
    })
}

/// The commits that the last verdict of a session that has ended is about; nothing where they are not here.
pub(super) fn judged(ctx: &Context, state: &State) -> Result<Option<Range>> {
    let verdict = state.verdict.as_ref().filter(|_| state.ending.is_some());
    let Some(verdict) = verdict.map(|verdict| &verdict.value) else {
        return Ok(None);
    };
    let Some(head) = verdict.head.clone() else {
        return Ok(None);
    };
    if !ctx.repo.contains(&head)? || !ctx.repo.contains(&verdict.tree)? {
        return Ok(None);
    }
    let bounds: Vec<Oid> = verdict.base.iter().cloned().collect();
    let commits = ctx.repo.range(&head, &bounds, usize::MAX)?;
    let commits = commits.iter().map(|id| ctx.repo.commit_info(id));
    Ok(Some(Range {
        base: verdict.base.clone(),
        head: Some(head),
        commits: commits.collect::<Result<_>>()?,
        onto: None,
    }))
}

/// Base and head of a review, and the number of its commits.
pub(super) fn span(ctx: &Context, facts: &Facts<'_>) -> Result<(Option<Oid>, Option<Oid>, usize)> {
    let range = range(ctx, facts)?;
    Ok((range.base, range.head, range.commits.len()))
}

fn files(repo: &Repo, facts: &Facts<'_>, base: Option<&Oid>) -> Result<Vec<String>> {
    let base = match base {
        Some(base) => Some(repo.commit_info(base)?.tree),
        None => None,
    };
    repo.changed_paths(base.as_ref(), &code_tree(facts)?)
}

/// Commits that a review would cover, counted, and the files that they change.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) base: Option<Oid>,
    pub(super) head: Option<Oid>,
    pub(super) commits: usize,
    pub(super) files: Vec<String>,
}

pub(super) fn shown(ctx: &Context, facts: &Facts<'_>) -> Result<Shown> {
    let range = range(ctx, facts)?;
    let files = files(&ctx.repo, facts, range.base.as_ref())?;
    Ok(Shown {
        base: range.base,
        head: range.head,
        commits: range.commits.len(),
        files,
    })
}

/// The place of the code that was reviewed, seen from the code that is here.
pub(super) fn reviewed(ctx: &Context, state: &State, code: &CodeFacts) -> Result<ReviewedCode> {
    let verdict = state.verdict.as_ref().map(|verdict| &verdict.value);
    let Some(verdict) = verdict.filter(|verdict| verdict.tree != code.tree) else {
        return Ok(ReviewedCode::Known);
    };
    if !ctx.repo.contains(&verdict.tree)? {
        let remote = ctx.repo.default_remote(state.branch.as_deref())?;
        return Ok(
            remote.map_or(ReviewedCode::Known, |remote| ReviewedCode::Missing {
                remote,
            }),
        );
    }
    Ok(match (&verdict.head, &code.head) {
        (Some(reviewed), Some(head)) if is_ahead(&ctx.repo, reviewed, head)? => {
            ReviewedCode::Ahead(reviewed.clone())
        }
        _ => ReviewedCode::Known,
    })
}

/// Tells whether a commit is here and goes on from another one.
fn is_ahead(repo: &Repo, commit: &Oid, than: &Oid) -> Result<bool> {
    Ok(commit != than && repo.contains(commit)? && repo.is_ancestor(than, commit)?)
}

/// Blocker of an archive whose code is not the reviewed code. The files that archive writes, and those that every stage
/// may commit, do not count.
pub(crate) fn unreviewed(ctx: &Context, state: &State, policy: &Policy) -> Result<Option<Blocker>> {
    let Some(verdict) = &state.verdict else {
        return Ok(None);
    };
    // A branch that was merged may have gone by now.
    if upstream::is_missing(ctx, state)? {
        return Ok(None);
    }
    let Some(head) = upstream::bound_head(ctx, state)? else {
        return Ok(None);
    };
    let who = &verdict.signed.by.name;
    if !ctx.repo.contains(&verdict.value.tree)? {
        return not_here(ctx, state, who, &verdict.value.tree).map(Some);
    }
    let tree = ctx.repo.commit_info(&head)?.tree;
    let allowed = policy.results()?;
    let mut changed = ctx.repo.changed_paths(Some(&verdict.value.tree), &tree)?;
    changed.retain(|path| !allowed.matches(path));
    if let (false, Some(reviewed)) = (changed.is_empty(), &verdict.value.head) {
        if is_ahead(&ctx.repo, reviewed, &head)? {
            return lags(ctx, state, who, reviewed).map(Some);
        }
        if let Some(own) = own_since(ctx, state, policy, (reviewed, &head))? {
            changed.retain(|path| own.contains(path));
        }
    }
    Ok(unreviewed_blocker(&changed))
}

/// The blocker for reviewed code that is not in this repository: nobody fetched it, or git threw it away.
fn not_here(ctx: &Context, state: &State, who: &str, tree: &Oid) -> Result<Blocker> {
    let why = format!(
        "the code that {who} reviewed is not here: tree {}",
        tree.short()
    );
    let again = command!("reopen --reason WHY").because("the reviewed code is gone");
    let branch = state.branch.as_deref();
    let help = match ctx.repo.default_remote(branch)? {
        Some(remote) => hint![
            format!("{remote} may have it: "),
            Hint::git(format!("fetch {remote}")),
            format!(
                "  (else its builder has to push {}; where it is gone for good: ",
                branch.unwrap_or("it")
            ),
            again,
            ")"
        ],
        None => again,
    };
    Ok(Blocker::new(Code::ReviewedCodeMissing, why, help))
}

/// The blocker for a branch that is behind the commit that was reviewed.
fn lags(ctx: &Context, state: &State, who: &str, reviewed: &Oid) -> Result<Blocker> {
    let branch = state.branch.as_deref().unwrap_or("HEAD");
    let why = format!(
        "{branch} is behind {}, which {who} reviewed",
        reviewed.short()
    );
    let merge = Hint::git(format!("merge --ff-only {}", reviewed.short()));
    let help = if ctx.head()?.branch == state.branch {
        merge
    } else {
        hint![format!("on {branch}: "), merge]
    };
    Ok(Blocker::new(Code::ReviewStale, why, help))
}

/// Paths that the branch itself changed since the reviewed commit: clean merges of the target bring what was judged
/// when the target took it. `None` where the branch does not go on from that commit.
fn own_since(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    (reviewed, head): (&Oid, &Oid),
) -> Result<Option<BTreeSet<String>>> {
    let repo = &ctx.repo;
    let target = upstream::target_of(ctx, state, policy)?;
    let tips = target.map(|target| target.tips).unwrap_or_default();
    let mut own = BTreeSet::new();
    let mut at = head.clone();
    let mut merges = None;
    while at != *reviewed {
        if !repo.is_ancestor(reviewed, &at)? {
            return Ok(None);
        }
        let commit = repo.commit_info(&at)?;
        let Some(parent) = commit.parents.first().cloned() else {
            return Ok(None);
        };
        let mut is_clean = false;
        if let [ours, theirs] = commit.parents.as_slice() {
            let mut is_upstream = false;
            for tip in &tips {
                is_upstream |= repo.is_ancestor(theirs, tip)?;
            }
            if is_upstream {
                let merges = match &merges {
                    Some(merges) => merges,
                    None => merges.insert(Remerge::new(repo)?),
                };
                let strays = merges.departures(ours, theirs, &commit.tree)?;
                is_clean = strays.paths.is_empty() && strays.conflicts.is_empty();
            }
        }
        if !is_clean {
            let before = repo.commit_info(&parent)?.tree;
            own.extend(repo.changed_paths(Some(&before), &commit.tree)?);
        }
        at = parent;
    }
    Ok(Some(own))
}

/// The blocker for code that came after the review, with the way back to it.
fn unreviewed_blocker(changed: &[String]) -> Option<Blocker> {
    let first = changed.first()?;
    let more = match changed.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(Blocker::new(
        Code::ReviewStale,
        format!("changed since the review: {first}{more}"),
        hint![
            command!("undo"),
            "  (back to review), then: ",
            command!("review --verdict approve")
        ],
    ))
}

/// Uncommitted work is not what the next person gets: refused unless asked for.
fn require_clean(ctx: &Context, facts: &Facts<'_>) -> Result<()> {
    let Some(code) = facts.code.as_ref().filter(|code| code.is_dirty) else {
        return Ok(());
    };
    let below = ctx.repo.work_dir().and_then(files::below);
    let below = below.unwrap_or_default();
    let edited = code.uncommitted.iter().map(|one| one.seen_from(&below));
    let edited: Vec<_> = edited.collect();
    let files = gate::named(&edited.iter().collect::<Vec<_>>());
    // In review the hooks take no commit.
    let help = if facts.state.stage == Stage::Review {
        next::aside(&code.uncommitted).note("(or take it in, with --allow-uncommitted)")
    } else {
        let take = command!("review --allow-uncommitted");
        hint![commits(ctx, code), "  (or take it in: ", take, ")"]
    };
    let said =
        format!("the worktree has uncommitted changes: {files}; a review covers what is committed");
    Err(Failure::refused(Code::WorktreeDirty, said).help(help))
}

fn enter(ctx: &Context, facts: &Facts<'_>, request: &ReviewRequest) -> Result<Act<Reviewed>> {
    let state = &facts.state;
    require(facts, Transition::BuildToReview)?;
    // In review the hooks refuse commits, so what is uncommitted now could not be committed later.
    bound_here::require_branch(ctx, &facts.state)?;
    if !request.allow_uncommitted {
        require_clean(ctx, facts)?;
    }
    let Range { base, commits, .. } = range(ctx, facts)?;
    let input = TemplateInput {
        id: &state.id,
        title: &state.title,
        intent: "",
        domains: &[],
        profile: facts.view().profile(),
        language: facts.policy.artifacts.language,
    };
    let reviewed = Reviewed {
        entered: true,
        files: files(&ctx.repo, facts, base.as_ref())?,
        proof: proof(&ctx.repo, facts, &commits)?,
        commits,
        verdict: None,
        judgement: None,
        message: String::new(),
    };
    let event = Event::Entered {
        transition: Transition::BuildToReview,
        scope: Vec::new(),
        out_of_scope: Vec::new(),
        head: None,
    };
    Ok(Act::new(event, "review", reviewed)
        .write(
            Artifact::ReviewReport,
            Artifact::ReviewReport.template(input),
        )
        .reason(request.reason.clone()))
}

fn judge(
    ctx: &Context,
    facts: &Facts<'_>,
    request: &VerdictRequest,
    whole: &ReviewRequest,
) -> Result<Act<Reviewed>> {
    let state = &facts.state;
    let reason = whole.reason.clone();
    facts.require_person("a verdict")?;
    bound_here::require_branch(ctx, &facts.state)?;
    if !whole.allow_uncommitted {
        require_clean(ctx, facts)?;
    }
    require_consistent(request, reason.as_deref())?;
    let Range {
        base,
        head,
        commits,
        onto,
    } = range(ctx, facts)?;
    let files = files(&ctx.repo, facts, base.as_ref())?;
    if request.verdict == CodeVerdict::Approve && reason.is_none() {
        require_something(facts, &files)?;
    }
    let (onto, seen) = onto.unzip();
    let dependence = dependence(&ctx.repo, facts, &commits)?;
    require_ground(facts, request, base.as_ref(), &dependence)?;
    let verdict = Verdict {
        verdict: request.verdict,
        target: request.target,
        architecture: request.architecture,
        architecture_target: request.architecture_target,
        findings: request.findings.clone(),
        base: base.clone(),
        head,
        onto,
        seen,
        tree: code_tree(facts)?,
        files: gate::covered_files(state, Transition::BuildToReview),
        commits: u32::try_from(commits.len()).unwrap_or(u32::MAX),
        dependence,
    };
    let mut judged = state.clone();
    judged.verdict = Some(loopx_rules::session::Stamped {
        op: state.last.clone(),
        seq: state.seq,
        signed: state.touched.clone(),
        reason: reason.clone(),
        value: verdict.clone(),
    });
    let judgement = gate::judgement(gate::View {
        state: &judged,
        ..facts.view()
    });
    let report = report(facts, &verdict, judgement.as_ref(), reason.as_deref())?;
    let what = match judgement.as_ref().and_then(|j| j.target) {
        Some(target) => format!("review asks for changes in {target}"),
        None => "review approves".to_owned(),
    };
    let language = facts.policy.artifacts.language;
    let reviewed = Reviewed {
        message: judgement
            .as_ref()
            .map_or_else(String::new, |judgement| judgement.message(language)),
        entered: false,
        files,
        proof: proof(&ctx.repo, facts, &commits)?,
        commits,
        verdict: Some(verdict.clone()),
        judgement,
    };
    Ok(Act::new(Event::Reviewed { verdict }, what, reviewed)
        .write(Artifact::ReviewReport, report)
        .reason(reason)
        .word(whole.sign))
}

/// A verdict that contradicts itself is none.
fn require_consistent(request: &VerdictRequest, reason: Option<&str>) -> Result<()> {
    let heavy = request
        .findings
        .iter()
        .find(|finding| finding.severity.is_blocking());
    if let (CodeVerdict::Approve, Some(finding)) = (request.verdict, heavy) {
        return Err(Failure::refused(
            Code::VerdictContradictsFinding,
            format!(
                "`approve` cannot stand beside a {} finding: {}",
                finding.severity, finding.text
            ),
        )
        .help(sent_back(request, Target::Build)));
    }
    let goes_back = |target: Option<Target>| matches!(target, Some(Target::Plan | Target::Clarify));
    let needs_reason = goes_back(request.target)
        || (request.architecture == Smell::Block
            && request
                .architecture_target
                .is_none_or(|t| t != Target::Build));
    if needs_reason && reason.is_none() {
        return Err(Failure::refused(
            Code::RollbackRationaleRequired,
            "sending the session back to a stage before build needs a reason",
        )
        .help(sent_back(request, Target::Plan)));
    }
    Ok(())
}

/// The command that sends the work back with all that was said, to `target` where nobody named a stage.
fn sent_back(request: &VerdictRequest, target: Target) -> Hint {
    let mut words = String::new();
    if request.architecture != Smell::Pass {
        words.push_str(&format!(" --architecture {}", request.architecture));
    }
    if let Some(target) = request.architecture_target {
        words.push_str(&format!(" --architecture-target {target}"));
    }
    for finding in &request.findings {
        words.push_str(&format!(" --finding {}", shell_word(&finding.to_string())));
    }
    let target = request.target.unwrap_or(target);
    command!("review --verdict request-changes --target {target}{words} --reason WHY")
}

/// Refuses a verdict without what the policy asks of the reviewer, and without what an approval rests on.
fn require_ground(
    facts: &Facts<'_>,
    request: &VerdictRequest,
    base: Option<&Oid>,
    dependence: &[Dependence],
) -> Result<()> {
    if facts.policy.review.independence.is_required() && !dependence.is_empty() {
        let roles: Vec<String> = dependence
            .iter()
            .map(|d| format!("{} of the range ({})", d.role, d.person))
            .collect();
        return Err(Failure::refused(
            Code::ReviewerNotIndependent,
            format!(
                "{} is {}; policy asks for an independent reviewer",
                facts.actor()?,
                roles.join(", ")
            ),
        )
        .help(hint![
            "ask somebody else to run: ",
            command!("review --verdict approve")
        ]));
    }
    if request.verdict == CodeVerdict::Approve {
        // Said before anybody is asked for a key.
        let unproven = gate::unproven(&facts.policy, base, &facts.credentials);
        if let Some(first) = unproven.first() {
            return Err(Failure::refused(first.code, first.message.clone())
                .help(first.help.clone())
                .blockers(unproven));
        }
    }
    if request.verdict == CodeVerdict::Approve && request.architecture != Smell::Block {
        require_answers(facts)?;
        require_proof(facts)?;
    }
    Ok(())
}

/// An approval cannot stand beside a finding that blocks and that nobody answered.
fn require_answers(facts: &Facts<'_>) -> Result<()> {
    let open = gate::open_blockers(facts.view(), Transition::ReviewToDone);
    let Some(first) = open.first() else {
        return Ok(());
    };
    Err(Failure::refused(first.code, first.message.clone())
        .help(first.help.clone())
        .blockers(open))
}

/// An approval rests on what ran on this code. It is refused without that, and never recorded as something else.
fn require_proof(facts: &Facts<'_>) -> Result<()> {
    let open = gate::unproven_work(facts.view());
    let Some(first) = open.first() else {
        return Ok(());
    };
    Err(Failure::refused(
        first.code,
        format!("`approve` rests on what is not there: {}", first.message),
    )
    .help(first.help.clone())
    .blockers(open))
}

/// A review of nothing proves nothing: where branches are protected, the reviewer says why nothing changes.
fn require_something(facts: &Facts<'_>, files: &[String]) -> Result<()> {
    if !files.is_empty() || facts.policy.gates.protected.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        Code::ReviewEmpty,
        "there is nothing to review: no file differs from the commit where the review begins",
    )
    .help(hint![
        "commit the change, or say why there is none: ",
        facts.policy.empty_verdict_command()
    ]))
}

/// Tells for each commit whether a key that the base knows shows who made it.
pub(super) fn proof(repo: &Repo, facts: &Facts<'_>, commits: &[CommitInfo]) -> Result<Vec<Basis>> {
    let judge = Judge::new(&facts.policy)?;
    commits
        .iter()
        .map(|commit| Ok(Basis::of(judge.check_commit(repo, commit)?.as_ref())))
        .collect()
}

/// Ties of the reviewer to the range and to the build: by name or address, letter case aside, under every name that the
/// mailmap of the base or the one here gives (W14).
pub(super) fn dependence(
    repo: &Repo,
    facts: &Facts<'_>,
    commits: &[CommitInfo],
) -> Result<Vec<Dependence>> {
    let mut names = facts.credentials.names(facts.actor()?);
    names.extend(facts.identity.and_then(|who| who.committer.clone()));
    let ids: Vec<Oid> = commits.iter().map(|commit| commit.id.clone()).collect();
    let judge = Judge::new(&facts.policy)?;
    let took_part =
        sign::participants(repo, &judge, &facts.state, &ids, |who| repo.canonical(who))?;
    let mut found: Vec<Dependence> = Vec::new();
    for (role, person) in took_part {
        let is_reviewer = names.iter().any(|name| name.is_same(&person));
        if is_reviewer && !found.iter().any(|d| d.role == role) {
            found.push(Dependence { role, person });
        }
    }
    Ok(found)
}

/// The report as the reviewer wrote it, with the recorded verdict in a block of its own.
fn report(
    facts: &Facts<'_>,
    verdict: &Verdict,
    judgement: Option<&Judgement>,
    reason: Option<&str>,
) -> Result<String> {
    let text = facts
        .texts
        .get(&Artifact::ReviewReport)
        .cloned()
        .unwrap_or_default();
    let mut block: Vec<String> = Vec::new();
    let language = facts.policy.artifacts.language;
    let mut line = |key: &'static str, value: String| {
        block.push(format!("- {}: {value}", label(key, language)));
    };
    line("verdict", verdict.verdict.to_string());
    if let Some(judgement) = judgement {
        line("outcome", judgement.outcome.to_string());
        if let Some(target) = judgement.target {
            line("goes back to", target.to_string());
        }
        for because in &judgement.because {
            line("because", because.words(language));
        }
    }
    line("architecture", verdict.architecture.to_string());
    line("reviewer", facts.actor()?.to_string());
    line(
        "independent",
        if verdict.dependence.is_empty() {
            label("yes", language).into()
        } else {
            let roles: Vec<&str> = verdict.dependence.iter().map(|d| d.role.as_str()).collect();
            format!("{} ({})", label("no", language), roles.join(", "))
        },
    );
    let name = |oid: Option<&Oid>| oid.map_or("(nothing)".to_owned(), |oid| oid.to_string());
    line(
        "range",
        format!(
            "{}..{}",
            name(verdict.base.as_ref()),
            name(verdict.head.as_ref())
        ),
    );
    line("tree", verdict.tree.to_string());
    if let Some(reason) = reason {
        line("reason", loopx_store::one_line(reason));
    }
    for finding in &verdict.findings {
        line("finding", loopx_store::one_line(&finding.to_string()));
    }
    Ok(with_block(&text, &block.join("\n"), language))
}
