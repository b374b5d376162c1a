//! The specification package of a session or of a folder: read, checked, traced, and made into the session's delta and
//! drafts of decision records.

use super::adr::change;
use super::adr::change::FileChange;
use super::context::Context;
use super::coverage;
use super::delta;
use super::delta::Target;
use super::naming;
use super::transaction::{load_active, texts_here};
use super::workcopy::WorkCopy;
use super::working;
use super::working::Put;
use super::{adr, files};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::findings::has_errors;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::spec_package as rules;
use loopx_rules::spec_package::{Decision, Document, Made, Package, Row, Source, SpecKnown};
use loopx_rules::stage::Stage;
use loopx_rules::task::decide::Points;
use loopx_rules::texts::Texts;
use loopx_spec::adr::overview::DraftParts;
use loopx_spec::{Finding, Severity, Spec, fold, read_delta, read_spec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Place of the documents.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Outputs of the tasks of the session that is meant.
    Meant,
    /// Outputs of the tasks of another session, archived ones among them.
    Session(String),
    Folder(PathBuf),
}

impl Place {
    /// The arguments that name it.
    pub(crate) fn words(&self) -> String {
        match self {
            Place::Meant => String::new(),
            Place::Session(name) => format!(" --from {}", shell_word(name)),
            Place::Folder(dir) => format!(" {}", shell_word(&dir.to_string_lossy())),
        }
    }
}

/// A package with what is wrong with it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub package: Package,
    pub findings: Vec<Finding>,
}

/// Reads and checks a package. A folder needs no repository.
pub(crate) fn check(place: &Place, open: impl Fn() -> Result<Context>) -> Result<Checked> {
    let files = match place {
        Place::Folder(dir) => of_folder(dir)?,
        Place::Meant | Place::Session(_) => of_session(&open()?, place)?,
    };
    let (sources, repeated) = rules::gather(files);
    if sources.is_empty() {
        return Err(nothing_there(place));
    }
    let package = rules::read(sources);
    let mut findings = rules::check(&package);
    findings.extend(repeated);
    loopx_base::findings::sort(&mut findings);
    Ok(Checked { package, findings })
}

/// The figures of the package of the session that is meant, by the dimensions of the rubric: those that can be computed,
/// and what the readiness report says of the depth.
pub(crate) fn figures(ctx: &Context) -> Result<BTreeMap<String, Points>> {
    let (sources, mut findings) = rules::gather(of_session(ctx, &Place::Meant)?);
    if sources.is_empty() {
        return Err(nothing_there(&Place::Meant));
    }
    let package = rules::read(sources);
    findings.extend(rules::check(&package));
    refuse_errors(&findings, "has figures", || command!("spec package check"))?;
    let figures = rules::quality(&package).dimensions.into_iter();
    let known = figures.filter_map(|(name, figure)| Some((name, Points::whole(figure?))));
    Ok(known.collect())
}

fn nothing_there(place: &Place) -> Failure {
    let names: Vec<String> = Document::ALL.map(Document::file_name).into();
    let names = names.join(", ");
    let at = match place {
        Place::Meant => "no task of the session left".to_owned(),
        Place::Session(name) => format!("no task of {name} left"),
        Place::Folder(dir) => format!("{} has", dir.display()),
    };
    let at = match place {
        Place::Folder(_) => format!("{at} none of {names}"),
        Place::Meant | Place::Session(_) => format!("{at} any of {names}"),
    };
    Failure::not_found(Code::PackageMissing, at)
        .help(command!("spec package template product-brief"))
}

fn text(label: &str, bytes: Vec<u8>) -> Result<Source> {
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(Code::InputNotUtf8, format!("{label}: expected UTF-8")))?;
    Ok(Source {
        label: label.to_owned(),
        text,
    })
}

fn of_folder(dir: &Path) -> Result<Vec<Source>> {
    if !dir.is_dir() {
        let message = format!("there is no folder `{}`", dir.display());
        return Err(Failure::not_found(Code::FolderMissing, message));
    }
    let mut names = files::entries(dir);
    for document in Document::ALL {
        let items = files::entries(&dir.join(document.as_str()));
        names.extend(items.iter().map(|name| format!("{document}/{name}")));
    }
    let max = Policy::default().artifacts.max_bytes;
    let mut found = Vec::new();
    for name in names
        .iter()
        .filter(|name| Document::of_path(name).is_some())
    {
        let path = files::inside(dir, name).map_err(|failure| {
            failure.help("put what the link leads to into the folder in its place")
        })?;
        if let Some(bytes) = files::read(&path, max)? {
            found.push(text(&path.to_string_lossy(), bytes)?);
        }
    }
    Ok(found)
}

/// The documents among the files of tasks, with the edits of this worktree.
fn of_session(ctx: &Context, place: &Place) -> Result<Vec<Source>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = match place {
        Place::Session(name) => {
            let id = naming::find(&snapshot, name)?;
            let found = snapshot.find(&id)?;
            found.ok_or_else(|| naming::unknown(&snapshot, &id))?
        }
        Place::Meant | Place::Folder(_) => ctx.session(&snapshot)?,
    };
    let mut state = session.state;
    let (policy, _) = ctx.policy_if_there(&state)?;
    let mut edited = BTreeMap::new();
    if let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)?
        && copy.exists()
    {
        let is_meant = |path: &str| Document::of_path(path).is_some();
        let (outputs, _) = copy.peek_outputs(&state, policy.artifacts.max_bytes, is_meant)?;
        outputs.enter(&mut state);
        edited = outputs.contents;
    }
    let mut found = Vec::new();
    for path in state
        .outputs()
        .filter(|path| Document::of_path(path).is_some())
    {
        let bytes = match (edited.remove(path), state.output(path)) {
            (Some(bytes), _) => bytes,
            (None, Some(blob)) => ctx.repo.read_blob(blob)?,
            (None, None) => continue,
        };
        found.push(text(path, bytes)?);
    }
    Ok(found)
}

/// The matrix of a package against the delta of the session that is meant.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub session: SessionId,
    pub rows: Vec<Row>,
}

pub(crate) fn matrix(ctx: &Context, checked: &Checked) -> Result<Matrix> {
    let traced = coverage::show(ctx)?;
    let rows = rules::matrix(&checked.package, &traced.id, &traced.delta, &traced.covered);
    Ok(Matrix {
        session: traced.id,
        rows,
    })
}

#[derive(Clone, Debug)]
pub(crate) struct Apply {
    pub place: Place,
    /// Set when a delta that says otherwise gives way.
    pub replace: bool,
    pub dry_run: bool,
    pub reason: Option<String>,
}

/// The result of a package that was applied to a session.
#[derive(Debug)]
pub(crate) struct Applied {
    pub session: SessionId,
    pub made: Made,
    /// Drafts of decision records, files of the worktree.
    pub drafts: Vec<FileChange>,
    /// Decisions of which a record is there already.
    pub there: Vec<String>,
    /// Edit of the session's files; nothing where the delta says it already, or nothing is to be written.
    pub put: Option<Put>,
}

/// Makes the delta and the drafts of a package. Nothing is written where anything of it is wrong.
pub(crate) fn apply(ctx: &Context, request: &Apply, checked: &Checked) -> Result<Applied> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = load_active(&snapshot, &ctx.session_id_to_change(&snapshot)?)?.state;
    refuse_errors(&checked.findings, "can be applied", || {
        command!("spec package check{}", request.place.words())
    })?;
    let policy = ctx.policy(&state)?;
    let made = made(ctx, &state, &policy, &checked.package)?;
    let written = read_delta(made.text.as_bytes(), Artifact::SpecDelta.path());
    refuse_errors(&written.findings, "can be applied", || {
        command!(
            "spec package apply{} --dry-run --json",
            request.place.words()
        )
    })?;
    let texts = texts_here(ctx, &state, &policy)?;
    let says_it = texts.get(&Artifact::SpecDelta) == Some(&made.text);
    if !says_it {
        require_place(ctx, &state, &texts, request)?;
    }
    let (drafts, there) = drafts(ctx, &checked.package.decisions)?;
    if says_it && drafts.is_empty() {
        let message = format!("session {} has all of the package already", state.id);
        return Err(Failure::nothing(Code::NothingToSave, message)
            .help(command!("spec package matrix{}", request.place.words())));
    }
    let mut applied = Applied {
        session: state.id,
        made,
        drafts,
        there,
        put: None,
    };
    if request.dry_run {
        return Ok(applied);
    }
    if !says_it {
        let bytes = applied.made.text.clone().into_bytes();
        let put = working::put(ctx, Artifact::SpecDelta, bytes, request.reason.clone())?;
        applied.put = Some(put);
    }
    change::apply(ctx, &applied.drafts)?;
    Ok(applied)
}

/// Refuses a package with an error; `what` is what it would have to be without.
fn refuse_errors(findings: &[Finding], what: &str, help: impl Fn() -> Hint) -> Result<()> {
    if !has_errors(findings) {
        return Ok(());
    }
    let errors = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let blockers: Vec<Blocker> = errors.map(super::spec::blocker).collect();
    let first = blockers.first().map_or("", |one| one.message.as_str());
    let message = format!("only a package without an error {what}: {first}");
    Err(Failure::refused(Code::PackageInvalid, message)
        .help(help())
        .blockers(blockers))
}

/// The delta against the specs of the branch that archive goes to.
fn made(ctx: &Context, state: &State, policy: &Policy, package: &Package) -> Result<Made> {
    let target = Target::of_branch(ctx, state)?;
    let mut specs: BTreeMap<&str, Option<Spec>> = BTreeMap::new();
    for domain in package.brought().map(|one| one.domain.as_str()) {
        if specs.contains_key(domain) {
            continue;
        }
        let path = delta::spec_path(policy, domain);
        let spec = target
            .bytes(ctx, &path)?
            .map(|bytes| read_spec(&bytes, &path));
        let spec = spec.transpose().map_err(|finding| {
            Failure::refused(Code::NotUtf8, "the spec is not UTF-8")
                .blockers(vec![super::spec::blocker(&finding)])
        })?;
        specs.insert(domain, spec);
    }
    let known = |domain: &str, name: &str| match specs.get(domain) {
        Some(Some(spec)) => match spec.requirement(name) {
            Some(found) => SpecKnown::There(found.id.clone()),
            None => SpecKnown::New,
        },
        _ => SpecKnown::NoDomain,
    };
    Ok(rules::delta(package, &state.id, known))
}

/// Refuses a session whose delta cannot take the package.
fn require_place(ctx: &Context, state: &State, texts: &Texts, request: &Apply) -> Result<()> {
    if brief::delta_file(texts) == Some(Artifact::Brief) {
        let message = format!("the delta of session {} stands in its brief", state.id);
        return Err(
            Failure::refused(Code::PackageDeltaElsewhere, message).help(hint![
                "a session with a plan has a delta of its own: ",
                command!("start --profile lite TITLE")
            ]),
        );
    }
    if let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)? {
        copy.check_open(Artifact::SpecDelta, state)
            .map_err(|failure| {
                let words = match &request.place {
                    Place::Meant => format!(" --from {}", state.id),
                    other => other.words(),
                };
                let elsewhere = command!("spec package apply{words}");
                let is_own = matches!(&request.place, Place::Meant) && state.stage == Stage::Build;
                let help = if is_own {
                    hint![
                        "to do the work here, go back to the plan: ",
                        command!("plan --reason WHY").because("the specification is written"),
                        ", then: ",
                        command!("spec package apply --replace"),
                        "  or in another session: ",
                        elsewhere
                    ]
                } else {
                    hint!["in the session that does the work: ", elsewhere]
                };
                Failure::refused(
                    Code::ArtifactLocked,
                    format!("{}: {}", state.id, failure.message),
                )
                .help(help)
            })?;
    }
    let is_filled = delta::read(texts)
        .is_some_and(|(delta, _)| delta::operations(&delta) > 0 || delta.unchanged.is_some());
    if is_filled && !request.replace {
        let message = format!("session {} has another delta already", state.id);
        return Err(
            Failure::refused(Code::PackageDeltaThere, message).help(command!(
                "spec package apply{} --replace",
                request.place.words()
            )),
        );
    }
    Ok(())
}

/// The drafts of the decisions of which there is no record yet, and the ids of the others.
fn drafts(ctx: &Context, decisions: &[Decision]) -> Result<(Vec<FileChange>, Vec<String>)> {
    if decisions.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let folder = adr::load(ctx)?;
    let titles: BTreeSet<String> = folder.records.iter().map(|one| fold(&one.title)).collect();
    let (mut drafts, mut there) = (Vec::new(), Vec::new());
    for one in decisions {
        if titles.contains(&fold(&one.title)) {
            there.push(one.id.clone());
            continue;
        }
        let context = if one.requirements.is_empty() {
            one.context.clone()
        } else {
            format!("{}\n\nServes {}.", one.context, one.requirements.join(", "))
        };
        let parts = DraftParts {
            context: &context,
            options: &one.options,
            outcome: &one.outcome,
            consequences: &one.consequences,
        };
        drafts.push(change::draft_of(ctx, &one.title, parts)?);
    }
    Ok((drafts, there))
}
