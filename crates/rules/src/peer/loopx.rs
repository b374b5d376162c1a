//! Roots of the JavaScript program, 0.1 to 0.8: workflows with their changes, accepted specs, ADR candidates and
//! journals. The layout and the words: reference/stage-runtime.md, 2, 3 and 13.

use super::json::{Object, parse};
use super::{Fault, Files, Found, Taken, Tool, day, heading, intent, text};
use crate::artifact::Artifact;
use crate::markdown;
use crate::note::NoteKind;
use loopx_base::failure::Code;
use loopx_spec::{Severity, check_domain, read_delta};
use std::collections::{BTreeMap, BTreeSet};

/// The names that a root has had, the newest first.
pub(super) const ROOTS: [&str; 3] = [".loopx", ".LoopX", ".codex-helper"];

/// The stages of a workflow.
const STAGES: [&str; 5] = ["clarify", "plan", "build", "review", "done"];

/// Documents that go on as artifacts.
const DOCUMENTS: [(&str, Artifact); 5] = [
    ("spec.md", Artifact::Spec),
    ("plan.md", Artifact::Plan),
    ("architecture.md", Artifact::Architecture),
    ("development-plan.md", Artifact::DevelopmentPlan),
    ("test-plan.md", Artifact::TestPlan),
];
const CHANGE: [(&str, Artifact); 5] = [
    ("proposal.md", Artifact::Proposal),
    ("spec-delta.md", Artifact::SpecDelta),
    ("design.md", Artifact::Design),
    ("tasks.md", Artifact::Tasks),
    ("slices.json", Artifact::Slices),
];
/// Files that say that work was done, or found good: they are kept beside the artifacts, and are none of them.
const CLAIMS: [&str; 3] = ["execution-record.md", "build-result.md", "review-report.md"];

/// Tells whether names of a folder, each with what is directly in it, are those of a root. A working copy of a session
/// has neither, whatever the session is called.
pub fn is_root(entries: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let has = |folder: &str, inside: &[&str]| {
        let found = entries.get(folder);
        found.is_some_and(|found| inside.iter().any(|name| found.contains(*name)))
    };
    entries.get("config.json").is_some()
        || has("changes", &["active", "archive"])
        || entries
            .get("workflows")
            .is_some_and(|found| !found.contains("intent.md"))
}

/// The part of a path behind a folder, as the next name and the rest.
fn below<'p>(path: &'p str, folder: &str) -> Option<(&'p str, &'p str)> {
    path.strip_prefix(folder)?
        .strip_prefix('/')?
        .split_once('/')
}

pub(super) fn read(files: &Files, faults: &mut Vec<Fault>) -> Found {
    let mut found = Found::default();
    let names = |folder: &str| -> BTreeSet<String> {
        let inside = files.keys().filter_map(|path| below(path, folder));
        inside.map(|(name, _)| name.to_owned()).collect()
    };
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut changes: BTreeMap<String, String> = BTreeMap::new();
    for place in ["changes/archive", "changes/active"] {
        for name in names(place) {
            changes.insert(name.clone(), format!("{place}/{name}"));
        }
    }
    for slug in names("workflows") {
        let folder = format!("workflows/{slug}");
        if let Some(taken) = workflow(files, &slug, &folder, &changes, faults) {
            used.extend(taken.files.keys().cloned());
            found.sessions.push(taken);
        }
    }
    for (name, folder) in &changes {
        let in_folder = format!("{folder}/");
        if used.iter().any(|path| path.starts_with(&in_folder)) {
            continue;
        }
        let mut taken = Taken {
            folder: folder.clone(),
            name: name.trim_start_matches("chg-").to_owned(),
            stood: "a change without a workflow".to_owned(),
            ..Taken::default()
        };
        if folder.starts_with("changes/archive/") {
            taken.ended = Some(None);
        }
        change(files, folder, &mut taken, faults);
        finish(&mut taken, None);
        used.extend(taken.files.keys().cloned());
        found.sessions.push(taken);
    }
    specs(files, &mut found, &mut used, faults);
    journals(files, &mut found, &mut used, faults);
    found.left = files
        .keys()
        .filter(|path| !used.contains(*path))
        .cloned()
        .collect();
    found
}

fn workflow(
    files: &Files,
    slug: &str,
    folder: &str,
    changes: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
) -> Option<Taken> {
    let mut taken = Taken {
        folder: folder.to_owned(),
        name: slug.to_owned(),
        ..Taken::default()
    };
    let in_folder = format!("{folder}/");
    let own = files
        .iter()
        .filter(|(path, _)| path.starts_with(&in_folder));
    for (path, bytes) in own {
        taken.keep(path, bytes);
    }
    let at = format!("{folder}/state.json");
    let state = match files.get(&at) {
        Some(_) => Some(parse(
            text(files, &at, faults)?,
            &at,
            Code::ImportInvalid,
            faults,
        )?),
        None => None,
    };
    let state = match &state {
        Some(value) => Some(Object::of(value, &at, "", Code::ImportInvalid, faults)?),
        None => None,
    };
    let of = |field: &str| state.and_then(|state| state.text(field));
    for (name, artifact) in DOCUMENTS {
        if let Some(text) = text(files, &format!("{folder}/{name}"), faults) {
            taken.artifacts.insert(artifact, text.to_owned());
        }
    }
    let schema = state.and_then(|state| state.get("schema_version"));
    let stage = match schema {
        Some(_) => {
            let state = state?;
            state
                .need_word("current_stage", &STAGES, "", faults)?
                .to_owned()
        }
        None => {
            let stage = inferred(files, folder);
            taken.remark(
                &at,
                format!("it has no schema version: the stage `{stage}` is inferred from its files"),
            );
            stage.to_owned()
        }
    };
    taken.stood = match of("stage_status") {
        Some(status) => format!("{stage}, {status}"),
        None => stage,
    };
    let own_change = of("change_id").map_or_else(|| format!("chg-{slug}"), str::to_owned);
    if let Some(folder) = changes.get(&own_change) {
        change(files, folder, &mut taken, faults);
        if folder.starts_with("changes/archive/") && of("archive_status") == Some("archived") {
            taken.ended = Some(day(of("archived_at").or(of("updated_at"))));
        }
    }
    beside(files, slug, &own_change, &mut taken, faults);
    taken.created = day(of("created_at"));
    claims(folder, state, &mut taken);
    let request = text(files, &format!("{folder}/brief.md"), faults);
    finish(&mut taken, request);
    Some(taken)
}

/// Notes in remarks what was said to be approved, proven or found good.
fn claims(folder: &str, state: Option<Object<'_>>, taken: &mut Taken) {
    for name in CLAIMS {
        let path = format!("{folder}/{name}");
        if taken.files.contains_key(&path) {
            taken.remark(
                path,
                "is kept in imported/: here only what git loopx ran or a person said counts",
            );
        }
    }
    let Some(state) = state else { return };
    let approved: Vec<&str> = match state.get("approval").and_then(|value| value.as_object()) {
        Some(approval) => approval
            .iter()
            .filter(|(_, said)| said.as_str() == Some("approved"))
            .map(|(key, _)| key.as_str())
            .collect(),
        None => Vec::new(),
    };
    let at = state.file;
    if !approved.is_empty() {
        taken.remark(
            at,
            format!(
                "approvals of {} name nobody, and count for nothing here",
                approved.join(", ")
            ),
        );
    }
    if let Some(verdict) = state
        .text("review_verdict")
        .filter(|verdict| *verdict != "none")
    {
        taken.remark(
            at,
            format!("the verdict `{verdict}` counts for nothing here"),
        );
    }
    let lanes = state.list("build_lane_statuses").len();
    if lanes > 0 {
        taken.remark(
            at,
            format!(
                "{lanes} lane reports of the build have no counterpart; the build reports anew"
            ),
        );
    }
}

/// The stage that files speak of, of a workflow that does not say it.
fn inferred(files: &Files, folder: &str) -> &'static str {
    let text = |name: &str| {
        let bytes = files.get(&format!("{folder}/{name}"))?;
        std::str::from_utf8(bytes).ok()
    };
    let is_go = |text: &str| {
        text.lines().map(str::trim).any(|line| {
            let line = line.to_ascii_lowercase();
            line == "go" || line == "verdict: approve"
        })
    };
    let is_built =
        |text: &str| text.contains("## Verification Evidence") || text.contains("review-ready");
    let record = text("execution-record.md").or(text("build-result.md"));
    match (text("review-report.md"), record, text("plan.md")) {
        (Some(report), _, _) if is_go(report) => "done",
        (Some(_), _, _) => "review",
        (None, Some(record), _) if is_built(record) => "review",
        (None, Some(_), _) => "build",
        (None, None, Some(_)) => "plan",
        (None, None, None) => "clarify",
    }
}

/// The delta of a session, and its slices.
fn change(files: &Files, folder: &str, taken: &mut Taken, faults: &mut Vec<Fault>) {
    let in_folder = format!("{folder}/");
    for (path, bytes) in files
        .iter()
        .filter(|(path, _)| path.starts_with(&in_folder))
    {
        taken.keep(path, bytes);
    }
    for (name, artifact) in CHANGE {
        let path = format!("{folder}/{name}");
        let Some(text) = text(files, &path, faults) else {
            continue;
        };
        match artifact {
            Artifact::Slices => {
                drop(parse(text, &path, Code::ImportInvalid, faults));
            }
            Artifact::SpecDelta => {
                let delta = read_delta(text.as_bytes(), &path);
                let changes: usize = delta.domains.iter().map(|one| one.touched().len()).sum();
                if changes == 0 && !text.trim().is_empty() {
                    taken.remark(
                        &path,
                        "its lists of requirements have no names: write each as `### Requirement: NAME` below `## ADDED Requirements`",
                    );
                }
                for one in delta.findings {
                    if one.severity == Severity::Error {
                        taken.remark(format!("{path}:{}", one.line), one.message);
                    }
                }
            }
            _ => {}
        }
        taken.artifacts.insert(artifact, text.to_owned());
    }
}

/// Shared files that are about one workflow: canonical plans, copies of its spec, its ledger, its ADR candidate.
fn beside(files: &Files, slug: &str, change: &str, taken: &mut Taken, faults: &mut Vec<Fault>) {
    for (path, bytes) in files {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let is_copy = stem
            .strip_prefix("clarify-")
            .and_then(|rest| rest.strip_prefix(slug))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("-2"));
        let is_candidate = path
            .split('/')
            .next()
            .is_some_and(|top| top.starts_with("adr"))
            && [slug, change].contains(&stem.trim_start_matches("adr-"));
        let is_own = match folder {
            "plans" => stem == format!("prd-{slug}") || stem == format!("test-spec-{slug}"),
            "specs" => is_copy,
            _ => is_candidate || path.starts_with(&format!("autopilot/{slug}/")),
        };
        if !is_own {
            continue;
        }
        taken.keep(path, bytes);
        if is_candidate {
            if let Some(text) = text(files, path, faults) {
                taken.note(
                    NoteKind::Decision,
                    format!("Candidate for a decision record, from `{path}`, accepted by nobody:\n\n{text}"),
                );
            }
        } else {
            taken.remark(path, "has no counterpart, and is kept in imported/");
        }
    }
}

fn finish(taken: &mut Taken, request: Option<&str>) {
    let title = [Artifact::Spec, Artifact::Proposal]
        .iter()
        .filter_map(|artifact| taken.artifacts.get(artifact))
        .find_map(|text| heading(text))
        .map(|title| {
            let bare = title
                .split_once(": ")
                .map_or(title, |(_, rest)| rest)
                .trim();
            if bare.is_empty() { title } else { bare }.to_owned()
        });
    taken.title = title.unwrap_or_else(|| taken.name.clone());
    let said = taken.artifacts.get(&Artifact::Spec).and_then(|spec| {
        let sections = ["Intent", "Problem", "Goal"].iter();
        sections
            .filter_map(|title| markdown::section_text(spec, title))
            .next()
    });
    let request = request
        .map(str::to_owned)
        .or(said)
        .unwrap_or_else(|| taken.title.clone());
    let text = intent(Tool::Loopx, &request, &taken.folder);
    taken.artifacts.insert(Artifact::Intent, text);
}

fn specs(files: &Files, found: &mut Found, used: &mut BTreeSet<String>, faults: &mut Vec<Fault>) {
    for path in files.keys() {
        let domain = path
            .strip_prefix("specs/")
            .and_then(|rest| rest.strip_suffix("/spec.md"));
        let Some(domain) = domain else { continue };
        if let Err(why) = check_domain(domain) {
            faults.push(Fault {
                code: Code::BadDomain,
                at: path.clone(),
                message: why.to_string(),
            });
            continue;
        }
        if let Some(text) = text(files, path, faults) {
            found.specs.insert(domain.to_owned(), text.to_owned());
            used.insert(path.clone());
        }
    }
}

/// Journals: each entry is a note. What was taken over before is told by its text.
fn journals(
    files: &Files,
    found: &mut Found,
    used: &mut BTreeSet<String>,
    faults: &mut Vec<Fault>,
) {
    for path in files.keys() {
        let file = path.rsplit('/').next().unwrap_or(path);
        let is_journal = file
            .strip_prefix("journal-")
            .and_then(|rest| rest.strip_suffix(".md"))
            .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if !is_journal || !path.contains('/') {
            continue;
        }
        let Some(text) = text(files, path, faults) else {
            continue;
        };
        used.insert(path.clone());
        let mut entries: Vec<String> = Vec::new();
        for line in text.lines() {
            match entries.last_mut() {
                Some(entry) if !line.starts_with("## ") => {
                    entry.push('\n');
                    entry.push_str(line);
                }
                _ => entries.push(line.to_owned()),
            }
        }
        // What stands above the first entry is the title of the file.
        let is_entry = |entry: &&String| entry.starts_with("## ");
        let has_entries = entries.iter().any(|entry| entry.starts_with("## "));
        for entry in entries
            .iter()
            .filter(|entry| !has_entries || is_entry(entry))
        {
            if !entry.trim().is_empty() {
                found
                    .journal
                    .push(format!("{}\n\n(from `{path}`)", entry.trim()));
            }
        }
    }
}
