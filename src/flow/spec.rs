//! Specs and deltas in files: finds them, hands their texts to the engine, and writes what it decides,
//! all domains or none.
//!
//! Knows folders and names of files; what a delta means is the business of `loopx_spec`.

use crate::flow::file_merge::FileMerge;
use crate::flow::files;
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_git::PARTIAL;
use loopx_spec::{
    Action, Bases, Conflict, Delta, DomainDelta, DomainOutcome, Finding, MarkerNames, PlanOptions,
    Severity, check_domain, has_errors, plan_domain, read_delta, untouched, utf8,
};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The name of a spec file below the folder of its domain.
const SPEC: &str = "spec.md";

/// Arguments of `spec apply`.
#[derive(Clone, Debug)]
pub struct Apply {
    pub delta: PathBuf,
    pub specs: PathBuf,
    /// The specs that the delta was written against; those it is applied to when absent.
    pub base: Option<PathBuf>,
    pub retire: bool,
}

/// Result, or expected result, for one domain.
#[derive(Clone, Debug)]
pub struct Applied {
    pub outcome: DomainOutcome,
    /// The text before, where there was one.
    pub before: Option<String>,
}

/// The verdict on a whole delta.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Findings about the delta itself and the files around it.
    pub findings: Vec<Finding>,
    pub domains: Vec<Applied>,
}

impl Verdict {
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_domains = self.domains.iter().flat_map(|one| &one.outcome.findings);
        self.findings.iter().chain(of_domains)
    }

    pub fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.domains.iter().flat_map(|one| &one.outcome.conflicts)
    }

    /// The refusal that it amounts to, if it does.
    pub fn refusal(&self) -> Option<Failure> {
        let errors: Vec<Blocker> = self
            .findings()
            .filter(|finding| finding.severity == Severity::Error)
            .map(blocker)
            .collect();
        if !errors.is_empty() {
            let count = errors.len();
            let message = format!("the delta cannot be applied: {}", counted(count, "error"));
            return Some(Failure::refused(Code::DeltaInvalid, message).blockers(errors));
        }
        let fights: Vec<Blocker> = self
            .conflicts()
            .map(|c| {
                let what = match (&c.requirement, &c.scenario) {
                    (Some(r), Some(s)) => format!("requirement `{r}`, scenario `{s}`"),
                    (Some(r), None) => format!("requirement `{r}`"),
                    _ => format!("section `{}`", c.section),
                };
                Blocker::new(
                    Code::Conflict,
                    format!("{}/{SPEC}:{}: {} on {what}", c.domain, c.line, c.kind.name()),
                    "write the merge with `--conflicts FILE`, choose a text, and delete the markers",
                )
            })
            .collect();
        let count = fights.len();
        (count > 0).then(|| {
            let conflicts = counted(count, "conflict");
            Failure::conflict(
                Code::SpecConflict,
                format!("the delta and the specs differ: {conflicts}"),
            )
            .blockers(fights)
            .conflicts(self.conflicts().cloned())
        })
    }

    /// The merged specs with markers; several are parted by `# Domain:` headings.
    pub fn rendered_conflicts(&self) -> String {
        let texts: Vec<(&str, &str)> = self
            .domains
            .iter()
            .filter_map(|one| {
                let text = one.outcome.rendered_conflict.as_deref()?;
                Some((one.outcome.domain.as_str(), text))
            })
            .collect();
        match texts.as_slice() {
            [(_, text)] => (*text).to_owned(),
            _ => texts
                .iter()
                .map(|(domain, text)| format!("# Domain: {domain}\n\n{text}\n"))
                .collect(),
        }
    }
}

/// `file:line: message`, as a blocker.
pub(crate) fn blocker(finding: &Finding) -> Blocker {
    Blocker::new(
        Code::Finding(finding.id),
        format!("{}:{}: {}", finding.file, finding.line, finding.message),
        finding.fix.clone(),
    )
}

/// Applies a delta to a folder of specs. Writes nothing unless every domain is clean.
pub fn apply(request: &Apply) -> Result<Verdict> {
    let verdict = plan(request)?;
    if verdict.refusal().is_none() {
        write(&request.specs, &verdict)?;
    }
    Ok(verdict)
}

/// Says what applying would do, and writes nothing.
pub fn plan(request: &Apply) -> Result<Verdict> {
    let Apply {
        delta,
        specs,
        base,
        retire,
    } = request;
    let read = read_pack(delta)?;
    let mut verdict = Verdict {
        findings: read.findings.clone(),
        domains: Vec::new(),
    };
    if has_errors(&verdict.findings) {
        return Ok(verdict);
    }
    let base_dir = base.as_deref().unwrap_or(specs);
    for one in &read.domains {
        let Some(domain) = one.domain.as_deref() else {
            verdict.findings.push(Finding::new(
                Severity::Error,
                "no_domain",
                &one.file,
                1,
                "the delta does not say which domain it changes",
                "start it with `# Domain: PATH`, or with front matter `domain: PATH`",
            ));
            continue;
        };
        let target = read_spec_text(specs, domain, &mut verdict.findings)?;
        let before = if base_dir == specs.as_path() {
            target.clone()
        } else {
            read_spec_text(base_dir, domain, &mut verdict.findings)?
        };
        if has_errors(&verdict.findings) {
            continue;
        }
        let bases = Bases {
            default: before,
            ..Bases::default()
        };
        let label = format!("{domain}/{SPEC}");
        let options = PlanOptions {
            retire: *retire || read.retire,
            target_file: &label,
            markers: MarkerNames::default(),
        };
        let mut outcome = plan_domain(domain, &bases, target.as_deref(), one, &options, &FileMerge);
        let faults = untouched_faults(&outcome.action, target.as_deref(), &label, one);
        outcome.findings.extend(faults);
        verdict.domains.push(Applied {
            outcome,
            before: target,
        });
    }
    Ok(verdict)
}

/// Faults of a spec that a delta leaves as they are; none where the spec goes with the delta.
pub(crate) fn untouched_faults(
    action: &Action,
    before: Option<&str>,
    file: &str,
    delta: &DomainDelta,
) -> Vec<Finding> {
    match (action, before) {
        (Action::Write(after), Some(before)) => untouched(before, after, file, delta),
        (Action::Keep, Some(before)) => untouched(before, before, file, delta),
        _ => Vec::new(),
    }
}

/// A delta, with what the files around it say.
fn read_pack(path: &Path) -> Result<Delta> {
    let kind = fs::metadata(path).map_err(|error| missing(path, &error))?;
    if kind.is_file() {
        let label = path.file_name().unwrap_or(path.as_os_str());
        let mut delta = read_delta(&read(path)?, &label.to_string_lossy());
        for one in &mut delta.domains {
            one.domain = one.domain.take().or_else(|| domain_of_path(path));
        }
        return Ok(delta);
    }
    let mut delta = Delta::default();
    let single = path.join("spec-delta.md");
    if single.is_file() {
        delta.join(read_delta(&read(&single)?, "spec-delta.md"));
    }
    let specs = path.join("specs");
    let (found, strange) = if specs.is_dir() {
        walk(&specs)?
    } else {
        (Vec::new(), Vec::new())
    };
    for file in &strange {
        let label = format!("specs/{file}");
        delta.findings.push(Finding::new(
            Severity::Error,
            "delta_wrong_place",
            &label,
            0,
            "a delta of a domain is a file `specs/<domain>/spec.md`",
            format!(
                "move it to `specs/{}/spec.md`, or put notes outside of `specs/`",
                file.trim_end_matches(".md").trim_end_matches("/spec")
            ),
        ));
    }
    for domain in &found {
        let label = format!("specs/{domain}/{SPEC}");
        let mut one = read_delta(&read(&specs.join(domain).join(SPEC))?, &label);
        for part in &mut one.domains {
            if part.domain.as_ref().is_some_and(|name| name != domain) {
                one.findings.push(Finding::new(
                    Severity::Error,
                    "domain_differs",
                    &label,
                    1,
                    "the file names another domain than its folder",
                    "leave the name out: the folder says it",
                ));
            }
            part.domain = Some(domain.clone());
        }
        delta.join(one);
    }
    let settings = fs::read_to_string(path.join(".openspec.yaml")).unwrap_or_default();
    let set = |key: &str| {
        settings.lines().any(|line| {
            line.split_once(':')
                .is_some_and(|(name, value)| name.trim() == key && value.trim() == "true")
        })
    };
    delta.retire |= set("retire_capabilities");
    if delta.domains.is_empty() && delta.findings.is_empty() && !set("skip_specs") {
        delta.findings.push(Finding::new(
            Severity::Error,
            "no_delta",
            &path.to_string_lossy(),
            0,
            "there is no delta here: no `specs/<domain>/spec.md` and no `spec-delta.md`",
            "write one, or say `skip_specs: true` in .openspec.yaml",
        ));
    }
    Ok(delta)
}

/// `.../specs/<domain>/spec.md` says its domain itself.
fn domain_of_path(path: &Path) -> Option<String> {
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts.last().map(String::as_str) != Some(SPEC) {
        return None;
    }
    let at = parts.iter().rposition(|part| part == "specs")?;
    let domain = parts.get(at + 1..parts.len() - 1)?.join("/");
    check_domain(&domain).is_ok().then_some(domain)
}

/// The domains below `dir` that have a spec, sorted, and Markdown files that are none.
pub(crate) fn walk(dir: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let mut found = Vec::new();
    let mut strange = Vec::new();
    let mut open = vec![String::new()];
    while let Some(at) = open.pop() {
        let folder = dir.join(&at);
        let entries = fs::read_dir(&folder).map_err(|error| missing(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| missing(&folder, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if at.is_empty() {
                name.clone()
            } else {
                format!("{at}/{name}")
            };
            // A link could lead anywhere: it is neither followed nor read.
            let kind = entry
                .file_type()
                .map_err(|error| missing(&folder, &error))?;
            if kind.is_dir() {
                open.push(below);
            } else if kind.is_file() && name == SPEC && !at.is_empty() {
                found.push(at.clone());
            } else if kind.is_file() && Path::new(&name).extension().is_some_and(|e| e == "md") {
                strange.push(below);
            }
        }
    }
    found.sort_unstable();
    strange.sort_unstable();
    Ok((found, strange))
}

/// A name below the folder of specs that cannot be a domain.
pub(crate) fn bad_domain(file: &str, domain: &str, why: &str) -> Finding {
    Finding::new(
        Severity::Error,
        "bad_domain",
        file,
        0,
        format!("`{domain}` cannot be a domain: {why}"),
        "name the folder of the spec below the folder of specs, as `auth/login`",
    )
}

fn read_spec_text(dir: &Path, domain: &str, findings: &mut Vec<Finding>) -> Result<Option<String>> {
    if let Err(why) = check_domain(domain) {
        findings.push(bad_domain(domain, domain, &why));
        return Ok(None);
    }
    let mut path = dir.to_path_buf();
    for part in domain.split('/').chain([SPEC]) {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
            return Err(Failure::refused(
                Code::SpecIsALink,
                format!("`{}` is a symbolic link", path.display()),
            )
            .help("replace it by the file or folder that it names"));
        }
    }
    require_file(&path)?;
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(missing(&path, &error)),
    };
    match utf8(&bytes, &format!("{domain}/{SPEC}")) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(finding) => {
            findings.push(finding);
            Ok(None)
        }
    }
}

/// Writes what a verdict without refusal decided: all files next to their places
/// first, and moves them in when all are there.
pub(crate) fn write(specs: &Path, verdict: &Verdict) -> Result<()> {
    let domains = &verdict.domains;
    let mut ready = Vec::new();
    for one in domains {
        if let Action::Write(text) = &one.outcome.action {
            let path = specs.join(&one.outcome.domain).join(SPEC);
            ready.push(prepare(&path, text.as_bytes())?);
        }
    }
    let mut ready = ready.into_iter();
    for (at, one) in domains.iter().enumerate() {
        let path = specs.join(&one.outcome.domain).join(SPEC);
        let done = match &one.outcome.action {
            Action::Keep => Ok(()),
            Action::Retire => {
                fs::remove_file(&path).map_err(|error| cannot("delete", &path, &error))
            }
            Action::Write(_) => match ready.next() {
                Some(file) => file
                    .persist(&path)
                    .map(drop)
                    .map_err(|error| cannot("write", &path, &error.error)),
                None => Ok(()),
            },
        };
        if let Err(failure) = done {
            // All or none: what was moved in goes out again.
            for other in domains.get(..at).unwrap_or_default() {
                restore(specs, other);
            }
            return Err(failure);
        }
    }
    for one in domains {
        if one.outcome.action == Action::Retire {
            // The folder may hold other things: then it stays.
            drop(fs::remove_dir(specs.join(&one.outcome.domain)));
        }
    }
    Ok(())
}

/// Puts a file back as it was, as far as that is possible: the first failure is the one to report.
fn restore(specs: &Path, one: &Applied) {
    let path = specs.join(&one.outcome.domain).join(SPEC);
    match (&one.outcome.action, &one.before) {
        (Action::Keep, _) => {}
        (_, Some(text)) => drop(files::write(&path, text.as_bytes())),
        (_, None) => drop(fs::remove_file(&path)),
    }
}

fn prepare(path: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| cannot("create", folder, &error))?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt;
        // The mode of the file that is replaced; else what the umask leaves.
        let mode = fs::metadata(path).map_or(0o666, |meta| meta.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode))
    };
    let mut file = builder
        .prefix(PARTIAL)
        .tempfile_in(folder)
        .map_err(|error| cannot("write", path, &error))?;
    file.write_all(bytes)
        .map_err(|error| cannot("write", path, &error))?;
    Ok(file)
}

/// Refuses what is there and is no file: a pipe or a device would never end.
fn require_file(path: &Path) -> Result<()> {
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        let message = format!("expected a file, found that `{}` is none", path.display());
        return Err(Failure::refused(Code::FileExpected, message).help("move it away"));
    }
    Ok(())
}

/// Reads one file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    require_file(path)?;
    fs::read(path).map_err(|error| missing(path, &error))
}

fn missing(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read `{}`: {error}", path.display());
    if error.kind() == std::io::ErrorKind::NotFound {
        Failure::not_found(Code::FileNotFound, message)
    } else {
        Failure::usage(Code::FileUnreadable, message)
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    loopx_git::unwritable(path, error).context(format!("cannot {what}"))
}
