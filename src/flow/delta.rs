//! The session's spec delta: what the gates need to know of it, the bases that are recorded for it, and
//! what it would make of the specs on a branch. One road for gate, dry run and archive, so that they
//! cannot disagree.

use super::context::Context;
use super::foreign_base;
use super::gone;
use super::spec::{Applied, Verdict, blocker};
use super::unknown_scenarios;
use super::upstream;
use crate::flow::file_merge::FileMerge;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_git::EntryKind;
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::coverage;
use loopx_rules::gate::DeltaFacts;
use loopx_rules::markdown;
use loopx_rules::op::RequirementBase;
use loopx_rules::policy::Language;
use loopx_rules::policy::Policy;
use loopx_rules::profile::Profile;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::texts::Texts;
use loopx_spec::front::FrontMatter;
use loopx_spec::{
    Bases, Blocks, Delta, MarkerNames, OpKind, Operation, PlanOptions, Severity, block_of, fold,
    plan_domain, read_delta,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// The key under which a domain's spec as a whole is recorded: purpose, text between requirements.
pub(super) const WHOLE: &str = "";

/// The text of a session's delta, and the file that it stands in.
fn source(texts: &Texts) -> Option<(Artifact, Cow<'_, str>)> {
    let file = brief::delta_file(texts)?;
    let text = texts.get(&file)?;
    Some(match file {
        Artifact::Brief => (file, Cow::Owned(brief::delta(text))),
        _ => (file, Cow::Borrowed(text.as_str())),
    })
}

/// The delta of a session, every domain named.
pub(super) fn read(texts: &Texts) -> Option<(Delta, Vec<Blocker>)> {
    let (artifact, text) = source(texts)?;
    let mut delta = read_delta(text.as_bytes(), artifact.path());
    let mut blockers = Vec::new();
    // A brief without a delta says that behaviour stays as it is, and why the change is made.
    if let (Artifact::Brief, Some(brief)) = (artifact, brief::of(texts))
        && !brief::has_delta(brief)
        && delta.unchanged.is_none()
    {
        delta.unchanged = brief::why(brief);
    }
    let only = texts
        .get(&Artifact::Spec)
        .and_then(|spec| FrontMatter::parse(spec).ok())
        .and_then(|front| front.list("target_domains").ok())
        .filter(|domains| domains.len() == 1);
    for domain in &mut delta.domains {
        if domain.domain.is_some() {
            continue;
        }
        match &only {
            Some(only) => domain.domain = Some(only[0].clone()),
            None if domain.operations.is_empty() && domain.purpose.is_none() => {}
            None => blockers.push(Blocker::new(
                Code::SpecDeltaMissingDomains,
                format!("{artifact}:1: the delta does not say which domain it changes"),
                hint![
                    "begin it with `# Domain: PATH`: ",
                    command!("edit {artifact}")
                ],
            )),
        }
    }
    delta.domains.retain(|domain| domain.domain.is_some());
    Some((delta, blockers))
}

/// A delta, read and tried on a target.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub facts: DeltaFacts,
    pub delta: Delta,
    /// Empty where the delta by itself is refused already.
    pub verdict: Rc<Verdict>,
}

impl Judgement {
    /// Tells whether archive would take the delta.
    pub(crate) fn is_clean(&self) -> bool {
        self.facts.blockers.is_empty() && self.verdict.conflicts().next().is_none()
    }
}

/// Reads the session's delta and tries it on `target`: what the gates refuse, and what archive would make.
/// What has no base yet was written against `ground`.
pub(crate) fn judge(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    (ground, target): (&Target, &Target),
    texts: &Texts,
) -> Result<Judgement> {
    let Some((delta, mut blockers)) = read(texts) else {
        return Ok(Judgement::default());
    };
    let operations = operations(&delta);
    let empty = |id: &str| operations == 0 && matches!(id, "no_delta" | "no_operations");
    let errors: Vec<_> = delta
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error && !empty(finding.id))
        .collect();
    for finding in &errors {
        let mut blocker = blocker(finding);
        if let Some(subject) = missing_scenario(&delta, finding.id, finding.line) {
            blocker.code = Code::SpecDeltaMissingScenario;
            blocker.subject = subject;
        }
        blockers.push(blocker);
    }
    let mut verdict = Rc::default();
    if blockers.is_empty() && operations > 0 {
        let bases = all_bases(ctx, state, policy, ground, &delta)?;
        verdict = plan(ctx, bases, policy, target, &delta)?;
        blockers.extend(
            verdict
                .findings()
                .filter(|f| f.severity == Severity::Error)
                .map(blocker),
        );
        blockers.extend(without_base(state, &delta, texts));
        blockers.extend(foreign_base::find(ctx, state, policy, ground)?);
    }
    Ok(Judgement {
        facts: DeltaFacts {
            domains: delta.domains.len(),
            operations,
            scenarios: coverage::scenarios(&delta),
            is_unchanged: delta.unchanged.is_some(),
            strays: match state.stage {
                Stage::Plan if blockers.is_empty() && operations > 0 => {
                    unknown_scenarios::of(ctx, policy, target, &delta, texts)?
                }
                _ => Vec::new(),
            },
            blockers,
        },
        delta,
        verdict,
    })
}

/// The finding about a delta that nobody may edit any more and that changes what no record has a base for: it could be
/// in no conflict with anything. An edit gets its bases with the record that saves it.
fn without_base(state: &State, delta: &Delta, texts: &Texts) -> Option<Blocker> {
    let file = brief::delta_file(texts).filter(|file| !state.is_open(*file))?;
    let (domain, requirement) = unrecorded(state, delta).into_iter().next()?;
    let what = match requirement.as_str() {
        WHOLE => "the purpose".to_owned(),
        name => format!("`{name}`"),
    };
    Some(Blocker::new(
        Code::DeltaWithoutBase,
        format!(
            "{file}: expected a record of the text of {domain} against which the change of {what} was written, found none"
        ),
        anew(state),
    ))
}

/// The way to new bases from each stage.
pub(super) fn anew(state: &State) -> Hint {
    let back = match state.stage {
        Stage::Clarify | Stage::Plan => return command!("change refresh"),
        Stage::Build => command!("plan --reason WHY"),
        _ => command!("review --verdict request-changes --target plan --reason WHY"),
    };
    hint![
        back.session(&state.id),
        "  (then: ",
        command!("change refresh"),
        ")"
    ]
}

/// Requirements that a delta changes without a recorded base, by domain and folded name.
pub(super) fn unrecorded(state: &State, delta: &Delta) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for part in &delta.domains {
        let Some(domain) = part.domain.as_deref() else {
            continue;
        };
        let touched = part.touched().into_iter();
        let changed = touched.filter(|one| one.kind != OpKind::Added);
        let mut names: Vec<String> = changed.map(|one| fold(&one.name)).collect();
        names.extend(part.purpose.is_some().then(|| WHOLE.to_owned()));
        found.extend(names.into_iter().map(|name| (domain.to_owned(), name)));
    }
    for base in &state.bases {
        found.remove(&(base.domain.clone(), base.requirement.clone()));
    }
    found
}

/// The specs that a delta meets: those of a tree, with what other deltas have made of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    pub tree: Option<Oid>,
    /// Texts by path that stand in for the tree's; `None` where a file went.
    pub over: BTreeMap<String, Option<String>>,
}

impl Target {
    pub(crate) fn of_tree(tree: Option<Oid>) -> Self {
        Target {
            tree,
            over: BTreeMap::new(),
        }
    }

    /// The specs of the branch that archive goes to.
    pub(crate) fn of_branch(ctx: &Context, state: &State) -> Result<Self> {
        Ok(Self::of_tree(target_tree(ctx, state)?))
    }

    /// The bytes at a path, if there are any.
    pub(crate) fn bytes(&self, ctx: &Context, path: &str) -> Result<Option<Vec<u8>>> {
        match (self.over.get(path), &self.tree) {
            (Some(text), _) => Ok(text.clone().map(String::into_bytes)),
            (None, Some(tree)) => ctx.repo.blob_at(tree, path),
            (None, None) => Ok(None),
        }
    }

    /// The blob of the tree at a path, where nothing stands in for it.
    pub(super) fn stored(&self, ctx: &Context, path: &str) -> Result<Option<Oid>> {
        match &self.tree {
            Some(tree) if !self.over.contains_key(path) => {
                let entry = ctx.repo.entry_at(tree, path)?;
                let blob = entry.filter(|entry| entry.kind == EntryKind::Blob);
                Ok(blob.map(|entry| entry.id))
            }
            _ => Ok(None),
        }
    }

    /// The id of what is at a path. A text that stands in for the tree's is known to the repository then,
    /// and stays where it is recorded.
    pub(crate) fn blob(&self, ctx: &Context, path: &str) -> Result<Option<Oid>> {
        match (self.over.get(path), &self.tree) {
            (Some(Some(text)), _) => ctx.repo.write_blob(text.as_bytes()).map(Some),
            (None, Some(tree)) => Ok(ctx.repo.entry_at(tree, path)?.map(|entry| entry.id)),
            (Some(None), _) | (None, None) => Ok(None),
        }
    }
}

/// The recorded bases, and those that saving the delta would record.
pub(super) fn all_bases(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    ground: &Target,
    delta: &Delta,
) -> Result<Vec<RequirementBase>> {
    let mut bases = state.bases.clone();
    bases.extend(missing_bases(ctx, state, policy, ground, delta)?);
    Ok(bases)
}

pub(super) fn operations(delta: &Delta) -> usize {
    delta
        .domains
        .iter()
        .map(|domain| domain.operations.len() + usize::from(domain.purpose.is_some()))
        .sum()
}

/// The end of the code for a requirement without scenario: domain, operation and requirement.
fn missing_scenario(delta: &Delta, id: &str, line: usize) -> Option<String> {
    if id != "no_scenario" {
        return None;
    }
    delta.domains.iter().find_map(|domain| {
        let operation = domain
            .operations
            .iter()
            .find(|operation| operation.line == line)?;
        Some(format!(
            "{}_{}_{}",
            domain.domain.as_deref().unwrap_or_default(),
            operation.kind.word().to_lowercase(),
            operation.name.to_lowercase()
        ))
    })
}

/// The branch that archive goes to unless told otherwise: the bound one, else the one checked out.
pub(crate) fn target_branch(ctx: &Context, state: &State) -> Result<Option<String>> {
    match &state.branch {
        Some(branch) => Ok(Some(branch.clone())),
        None => Ok(ctx.head()?.branch),
    }
}

/// The newest commit of that branch that is known: the branch may not be here, and where a remote had it, or HEAD left
/// it, its specs are. One of which no commit is known begins anew where the session began.
pub(super) fn target_tip(ctx: &Context, state: &State) -> Result<Option<Oid>> {
    let Some(branch) = target_branch(ctx, state)? else {
        return Ok(ctx.head()?.commit);
    };
    if let Some(tip) = ctx.tip(&format!("refs/heads/{branch}"))? {
        return Ok(Some(tip));
    }
    if !state.is_active() || ctx.head()?.branch.as_ref() == Some(&branch) {
        return Ok(None);
    }
    if let Some(tip) = upstream::tip_here(&ctx.repo, &branch)? {
        return Ok(Some(tip));
    }
    if let Some(known) = gone::last_commit(ctx, state)? {
        return Ok(Some(known));
    }
    match &state.base {
        Some(base) if ctx.repo.contains(base)? => Ok(Some(base.clone())),
        _ => Ok(None),
    }
}

fn target_tree(ctx: &Context, state: &State) -> Result<Option<Oid>> {
    match target_tip(ctx, state)? {
        Some(tip) => Ok(Some(ctx.repo.commit_info(&tip)?.tree)),
        None => Ok(None),
    }
}

/// Path of the spec of a domain on the code branch.
pub(crate) fn spec_path(policy: &Policy, domain: &str) -> String {
    format!("{}/{domain}/spec.md", policy.paths.specs)
}

/// Bases for the requirements that the delta touches and that have none yet: what stands on `ground`.
pub(super) fn missing_bases(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    ground: &Target,
    delta: &Delta,
) -> Result<Vec<RequirementBase>> {
    let tip = target_tip(ctx, state)?;
    let mut known = Vec::new();
    // What open sessions bring, each spec read once.
    let mut brought: HashMap<&str, Blocks<'_>> = HashMap::new();
    for base in &state.bases {
        let over = ground.over.get(&spec_path(policy, &base.domain));
        let is_brought = match over {
            Some(Some(text)) => brought
                .entry(&base.domain)
                .or_insert_with(|| Blocks::read(text))
                .get(&base.requirement)
                .is_some(),
            _ => false,
        };
        if !is_brought || !is_outgrown(ctx, delta, base)? {
            known.push(base.clone());
        }
    }
    bases_of(&known, delta, |domain| {
        let blob = ground.blob(ctx, &spec_path(policy, domain))?;
        Ok((tip.clone(), blob))
    })
}

/// Tells whether a base is outgrown: it says that a requirement was not there, which an open session brings that the
/// delta now depends on. Such a base was recorded before the delta named that session.
fn is_outgrown(ctx: &Context, delta: &Delta, base: &RequirementBase) -> Result<bool> {
    if base.requirement == WHOLE {
        return Ok(false);
    }
    let adds = |op: &Operation| op.kind == OpKind::Added && fold(&op.name) == base.requirement;
    let mut parts = delta.domains.iter();
    if parts
        .any(|part| part.domain.as_ref() == Some(&base.domain) && part.operations.iter().any(adds))
    {
        return Ok(false);
    }
    let was = match &base.blob {
        Some(blob) => ctx.repo.read_blob(blob)?,
        None => Vec::new(),
    };
    Ok(block_of(&String::from_utf8_lossy(&was), &base.requirement).is_none())
}

/// Bases for what a delta touches beyond the `known` ones; `stands` says from which commit and blob.
pub(crate) fn bases_of(
    known: &[RequirementBase],
    delta: &Delta,
    mut stands: impl FnMut(&str) -> Result<(Option<Oid>, Option<Oid>)>,
) -> Result<Vec<RequirementBase>> {
    let mut found: Vec<RequirementBase> = Vec::new();
    let mut seen: HashSet<(&str, String)> = known
        .iter()
        .map(|base| (base.domain.as_str(), base.requirement.clone()))
        .collect();
    for domain in &delta.domains {
        let Some(name) = domain.domain.as_deref() else {
            continue;
        };
        let mut keys = vec![WHOLE.to_owned()];
        keys.extend(domain.touched().iter().map(|touched| fold(&touched.name)));
        let mut place = None;
        for requirement in keys {
            if !seen.insert((name, requirement.clone())) {
                continue;
            }
            let (commit, blob) = match &place {
                Some(place) => place,
                None => place.insert(stands(name)?),
            };
            found.push(RequirementBase {
                domain: name.to_owned(),
                requirement,
                commit: commit.clone(),
                blob: blob.clone(),
            });
        }
    }
    Ok(found)
}

/// Facts from which a verdict on a delta follows.
#[derive(Debug, PartialEq, Eq)]
struct Trial {
    delta: Delta,
    bases: Vec<RequirementBase>,
    /// The spec of each domain: its path, and its blob where there is one.
    specs: Vec<(String, Option<Oid>)>,
}

/// The verdict that this command reached last. A transition is judged before and after, and changes neither the delta nor
/// the specs.
#[derive(Debug, Default)]
pub(crate) struct LastVerdict(RefCell<Option<(Trial, Rc<Verdict>)>>);

/// Failpoint of a delta that is tried on specs: tests count by it.
const TRIED: &str = "delta-tried";

/// The verdict on a delta, on the specs of `onto`: the last one, where that follows from the same.
fn plan(
    ctx: &Context,
    bases: Vec<RequirementBase>,
    policy: &Policy,
    onto: &Target,
    delta: &Delta,
) -> Result<Rc<Verdict>> {
    let domains = delta.domains.iter().filter_map(|one| one.domain.as_deref());
    let paths = domains.map(|domain| spec_path(policy, domain));
    let mut specs = Vec::new();
    for path in paths {
        let blob = onto.stored(ctx, &path)?;
        specs.push((path, blob));
    }
    let trial = Trial {
        delta: delta.clone(),
        bases,
        specs,
    };
    let is_known = specs_are_stored(onto, &trial);
    let mut last = ctx.last_verdict.0.borrow_mut();
    if let (true, Some((known, verdict))) = (is_known, last.as_ref())
        && *known == trial
    {
        return Ok(Rc::clone(verdict));
    }
    // The texts of two large specs need not be in memory at once.
    *last = None;
    let verdict = Rc::new(tried(ctx, &trial, onto)?);
    if is_known {
        *last = Some((trial, Rc::clone(&verdict)));
    }
    Ok(verdict)
}

/// Tells whether nothing stands in for the specs of the tree, whose blobs say all of them.
fn specs_are_stored(onto: &Target, trial: &Trial) -> bool {
    let mut paths = trial.specs.iter().map(|(path, _)| path);
    paths.all(|path| !onto.over.contains_key(path))
}

/// Computes what the delta makes of the specs.
fn tried(ctx: &Context, trial: &Trial, onto: &Target) -> Result<Verdict> {
    reach(TRIED);
    let delta = &trial.delta;
    let mut verdict = Verdict {
        findings: delta.findings.clone(),
        domains: Vec::new(),
    };
    let bases = by_domain(&trial.bases);
    let domains = delta.domains.iter();
    let named = domains.filter_map(|one| Some((one, one.domain.as_deref()?)));
    for ((one, domain), (path, blob)) in named.zip(&trial.specs) {
        let bytes = match blob {
            Some(blob) => Some(ctx.repo.read_blob(blob)?),
            None => onto.bytes(ctx, path)?,
        };
        let target = match bytes.map(String::from_utf8).transpose() {
            Ok(target) => target,
            Err(error) => {
                let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                    .split(|b| *b == b'\n')
                    .count();
                verdict.findings.push(loopx_spec::Finding::new(
                    Severity::Error,
                    "not_utf8",
                    path,
                    line,
                    "expected UTF-8, found other bytes",
                    "convert the file to UTF-8",
                ));
                continue;
            }
        };
        let here = blob.as_ref().zip(target.as_deref());
        let written_against = self::written_against(ctx, &bases, domain, here)?;
        let options = PlanOptions {
            retire: delta.retire,
            target_file: path,
            markers: MarkerNames::default(),
        };
        let outcome = plan_domain(
            domain,
            &written_against,
            target.as_deref(),
            one,
            &options,
            &FileMerge,
        );
        verdict.domains.push(Applied {
            outcome,
            before: target,
        });
    }
    Ok(verdict)
}

/// The recorded bases of each domain.
pub(super) fn by_domain(bases: &[RequirementBase]) -> HashMap<&str, Vec<&RequirementBase>> {
    let mut found: HashMap<&str, Vec<&RequirementBase>> = HashMap::new();
    for base in bases {
        found.entry(&base.domain).or_default().push(base);
    }
    found
}

/// The texts that the delta of one domain was written against; `here` is a blob that was read already, with its text.
pub(super) fn written_against(
    ctx: &Context,
    bases: &HashMap<&str, Vec<&RequirementBase>>,
    domain: &str,
    here: Option<(&Oid, &str)>,
) -> Result<Bases> {
    let bases = bases.get(domain).map_or(&[][..], Vec::as_slice);
    let text = |id: &Oid| -> Result<String> {
        if let Some((_, text)) = here.filter(|(known, _)| *known == id) {
            return Ok(text.to_owned());
        }
        let read = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        ctx.repo.with_blob(id, read)
    };
    let whole = bases
        .iter()
        .find(|base| base.requirement == WHOLE)
        .and_then(|base| base.blob.clone());
    let mut per_requirement = BTreeMap::new();
    let mut versions: HashMap<Option<&Oid>, Rc<str>> = HashMap::new();
    for base in bases
        .iter()
        .filter(|base| base.requirement != WHOLE && base.blob != whole)
    {
        let blob = base.blob.as_ref();
        let was = match versions.get(&blob) {
            Some(known) => known.clone(),
            None => {
                let was: Rc<str> = blob.map(text).transpose()?.unwrap_or_default().into();
                versions.insert(blob, was.clone());
                was
            }
        };
        per_requirement.insert(base.requirement.clone(), was);
    }
    Ok(Bases {
        default: whole.as_ref().map(text).transpose()?,
        per_requirement,
        target_renames: Vec::new(),
    })
}

/// Tells whether an artifact holds more than its template.
pub(crate) fn is_filled(artifact: Artifact, profile: &Profile, texts: &Texts) -> bool {
    let Some(text) = texts.get(&artifact) else {
        return false;
    };
    match artifact {
        Artifact::SpecDelta => read(texts)
            .is_some_and(|(delta, _)| operations(&delta) > 0 || delta.unchanged.is_some()),
        Artifact::Slices => loopx_rules::change_pack::slices(Some(text)).is_ok(),
        _ => {
            let asked = profile.sections_of(artifact);
            markdown::empty_sections(text, asked, Language::Off).is_empty()
        }
    }
}
