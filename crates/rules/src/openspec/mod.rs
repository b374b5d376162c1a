//! Changes of an OpenSpec tree as sessions: the artifacts of each, and what had no place in them.
//!
//! Nothing is left out: every file of the change either is an artifact byte for byte, or part of the
//! joined spec delta, or stands in `intent.md`; all of them are kept beside it as they were. The grammar
//! of the tree: reference/spec-merge.md, sections 1.2 and 1.3.

mod judge;

use super::policy::Language;
pub use judge::{Judgement, Overlap, Remark, judge, overlaps};
use loopx_base::hint::command;

use super::artifact::Artifact;
use super::markdown;
use super::profile::{Profile, ProfileName, Profiles};
use super::template::TemplateInput;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::id::SessionId;
use loopx_spec::front::{FrontMatter, set_field};
use loopx_spec::{Delta, DeltaPart, Finding, JoinedDelta, check_domain, join_deltas, utf8};
use std::collections::BTreeMap;

/// The file with a change's settings.
const SETTINGS: &str = ".openspec.yaml";
/// A note that is longer stays beside the intent and is only named in it.
const LONGEST_NOTE: usize = 64 * 1024;

/// A folder of the tree with a change in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Path below the tree: `changes/<name>` or `changes/archive/<date>-<name>`.
    pub path: String,
    /// Files by path below the folder.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Folder {
    /// Name that the folder was archived as, if it was.
    fn archived(&self) -> Option<&str> {
        self.path.strip_prefix("changes/archive/")
    }

    /// The day on which it was archived: `yyyy-mm-dd`.
    pub fn archived_on(&self) -> Option<&str> {
        self.archived().and_then(|name| dated(name).0)
    }

    pub fn is_archived(&self) -> bool {
        self.archived().is_some()
    }

    /// The change's own name.
    pub fn name(&self) -> &str {
        match self.archived() {
            Some(name) => dated(name).1,
            None => self.path.strip_prefix("changes/").unwrap_or(&self.path),
        }
    }

    /// The session id of its name.
    pub fn id(&self) -> Result<SessionId> {
        SessionId::fold(self.name()).map_err(|failure| {
            failure
                .context(&self.path)
                .help(format!("rename the folder {}", self.path))
        })
    }

    /// The session ids that fit, the best first: two archived changes may have had one name.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        let mut ids = vec![self.id()?];
        if let Some(day) = self.archived_on() {
            ids.push(SessionId::fold(&format!("{}-{day}", self.name()))?);
        }
        Ok(ids)
    }

    /// Tells whether any file of the folder belongs to a change. A folder without such a file is a stray one.
    pub fn is_change(&self) -> bool {
        self.files.keys().any(|path| {
            matches!(
                path.as_str(),
                SETTINGS | "proposal.md" | "design.md" | "tasks.md"
            ) || domain_of(path).is_some()
        })
    }
}

/// Content of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Spec files by domain.
    pub specs: BTreeMap<String, Vec<u8>>,
    pub changes: Vec<Folder>,
    /// Paths that belong to neither.
    pub strays: Vec<String>,
}

/// A change as a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub title: String,
    /// `yyyy-mm-dd`.
    pub created: Option<String>,
    pub artifacts: BTreeMap<Artifact, String>,
    /// Delta of the change, read part by part: findings name the files of the tree.
    pub delta: Delta,
    /// Files that are no artifact; their text is in the intent, or they are only beside it.
    pub unplaced: Vec<String>,
    /// Differences from now on, and what is to be done about them.
    pub notes: Vec<Blocker>,
}

/// `2025-08-01-name` as day and name.
fn dated(name: &str) -> (Option<&str>, &str) {
    match (
        name.get(..10),
        name.get(10..).and_then(|rest| rest.strip_prefix('-')),
    ) {
        (Some(day), Some(rest)) if is_day(day) && !rest.is_empty() => (Some(day), rest),
        _ => (None, name),
    }
}

/// `yyyy-mm-dd`, roughly a day that there is.
pub(super) fn is_day(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| -> Option<u32> {
        let part = text.get(range)?;
        part.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| part.parse().ok())?
    };
    let separated = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    separated
        && digits(0..4).is_some()
        && digits(5..7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8..10).is_some_and(|day| (1..=31).contains(&day))
}

/// `specs/<domain>/spec.md` as its domain.
fn domain_of(path: &str) -> Option<&str> {
    let domain = path.strip_prefix("specs/")?.strip_suffix("/spec.md")?;
    check_domain(domain).is_ok().then_some(domain)
}

/// Finds the artifact that a file of a change becomes by itself.
fn artifact_of(path: &str) -> Option<Artifact> {
    match path {
        "proposal.md" => Some(Artifact::Proposal),
        "design.md" => Some(Artifact::Design),
        "tasks.md" => Some(Artifact::Tasks),
        _ => None,
    }
}

/// A finding as the reason why nothing is imported.
fn refuse(code: Code, finding: &Finding) -> Failure {
    Failure::refused(
        code,
        format!("{}:{}: {}", finding.file, finding.line, finding.message),
    )
    .help(finding.fix.clone())
}

/// Reads a change as a session. `label` is the tree's path in messages; what the program writes itself is in the
/// language that policy asks for.
pub fn read_change(
    folder: &Folder,
    id: &SessionId,
    label: &str,
    language: Language,
) -> Result<Change> {
    let here = format!("{label}/{}", folder.path);
    let texts = Texts::of(folder, &here)?;
    let mut notes = Vec::new();
    let settings = settings(texts.get(SETTINGS), &here, &mut notes);
    let domains = texts.domains();
    let joined = texts.delta(&here, settings.retire)?;
    let mut artifacts = texts.artifacts();
    if !domains.is_empty() {
        artifacts.insert(Artifact::SpecDelta, joined.text);
    }
    let proposal = texts.get("proposal.md");
    let title = proposal
        .and_then(title)
        .unwrap_or_else(|| folder.name().to_owned());
    let mut intent = Intent::new(&settings, proposal, &title, folder, language);
    intent.file(SETTINGS, texts.get(SETTINGS));
    for (file, block) in &joined.front {
        // The label may be a path of this machine: none is stored.
        let file = file.strip_prefix(&format!("{here}/")).unwrap_or(file);
        let heading = match language {
            Language::Off => format!("front matter of {file}"),
            Language::Zh => format!("{file} 的前置元数据"),
        };
        intent.file(&heading, Some(block));
    }
    let unplaced = texts.unplaced();
    for path in &unplaced {
        intent.file(path, texts.get(path));
    }
    artifacts.insert(Artifact::Intent, intent.text);
    if !folder.is_archived() {
        let spec = spec(id, &title, &domains, language);
        artifacts.insert(Artifact::Spec, spec);
        differences(&settings, &artifacts, &mut notes);
    }
    Ok(Change {
        title,
        created: settings.created,
        artifacts,
        delta: joined.delta,
        unplaced,
        notes,
    })
}

/// The files of a change that are text, and the names of those that are none.
struct Texts<'f> {
    texts: BTreeMap<&'f str, &'f str>,
    binary: Vec<String>,
}

impl<'f> Texts<'f> {
    /// Refuses other bytes where the file becomes something.
    fn of(folder: &'f Folder, here: &str) -> Result<Self> {
        let mut texts = BTreeMap::new();
        let mut binary = Vec::new();
        for (path, bytes) in &folder.files {
            let needed =
                artifact_of(path).is_some() || domain_of(path).is_some() || path == SETTINGS;
            match utf8(bytes, &format!("{here}/{path}")) {
                Ok(text) => drop(texts.insert(path.as_str(), text)),
                Err(finding) if needed => return Err(refuse(Code::ImportNotUtf8, &finding)),
                Err(_) => binary.push(path.clone()),
            }
        }
        Ok(Texts { texts, binary })
    }

    fn get(&self, path: &str) -> Option<&'f str> {
        self.texts.get(path).copied()
    }

    /// The domains that the change touches.
    fn domains(&self) -> Vec<String> {
        let domains = self.texts.keys().filter_map(|path| domain_of(path));
        domains.map(str::to_owned).collect()
    }

    /// The deltas of all domains as one.
    fn delta(&self, here: &str, retire: bool) -> Result<JoinedDelta> {
        let labels: Vec<(&str, String, &str)> = self
            .texts
            .iter()
            .filter_map(|(path, text)| Some((domain_of(path)?, format!("{here}/{path}"), *text)))
            .collect();
        let parts: Vec<DeltaPart<'_>> = labels
            .iter()
            .map(|(domain, file, text)| DeltaPart { domain, file, text })
            .collect();
        join_deltas(&parts, retire).map_err(|finding| refuse(Code::ImportDelta, &finding))
    }

    /// The files that are artifacts as they are.
    fn artifacts(&self) -> BTreeMap<Artifact, String> {
        self.texts
            .iter()
            .filter_map(|(path, text)| Some((artifact_of(path)?, (*text).to_owned())))
            .collect()
    }

    /// The files that are no artifact and no part of one: texts, then the others.
    fn unplaced(&self) -> Vec<String> {
        self.texts
            .keys()
            .filter(|path| artifact_of(path).is_none() && domain_of(path).is_none())
            .filter(|path| **path != SETTINGS)
            .map(|path| (*path).to_owned())
            .chain(self.binary.iter().cloned())
            .collect()
    }
}

/// A spec that nobody wrote yet, for these domains.
fn spec(id: &SessionId, title: &str, domains: &[String], language: Language) -> String {
    let input = TemplateInput {
        id,
        title,
        intent: "",
        domains,
        profile: &Profile::empty(),
        language,
    };
    let list = format!("[{}]", domains.join(", "));
    set_field(&Artifact::Spec.template(input), "target_domains", &list)
}

/// Content of `.openspec.yaml`.
#[derive(Debug, Default)]
struct Settings {
    goal: Option<String>,
    created: Option<String>,
    skip_specs: bool,
    retire: bool,
}

fn settings(text: Option<&str>, here: &str, notes: &mut Vec<Blocker>) -> Settings {
    let Some(text) = text else {
        return Settings::default();
    };
    let file = format!("{here}/{SETTINGS}");
    let wrapped = format!("---\n{}\n---\n", text.trim_end());
    let front = match FrontMatter::parse(&wrapped) {
        Ok(front) => front,
        Err(fault) => {
            // The first line is ours.
            let line = fault.line.saturating_sub(1);
            notes.push(Blocker::new(
                Code::SettingsUnread,
                format!(
                    "{file}:{line}: {}; the file is kept in intent.md",
                    fault.message
                ),
                command!("cat intent.md"),
            ));
            return Settings::default();
        }
    };
    let is = |key| front.boolean(key).unwrap_or(false);
    Settings {
        goal: front.text("goal").ok().flatten(),
        created: front
            .text("created")
            .ok()
            .flatten()
            .and_then(|day| day.get(..10).map(str::to_owned))
            .filter(|day| is_day(day)),
        skip_specs: is("skip_specs"),
        retire: is("retire_capabilities"),
    }
}

/// The level-1 heading of a proposal, without the word that says that it is one.
fn title(proposal: &str) -> Option<String> {
    let line = proposal.lines().find(|line| line.starts_with("# "))?;
    let title = line.trim_start_matches('#').trim();
    let bare = ["Proposal:", "Change:", "Change Proposal:"]
        .iter()
        .find_map(|word| title.strip_prefix(word))
        .unwrap_or(title)
        .trim();
    (!bare.is_empty() && !bare.eq_ignore_ascii_case("proposal")).then(|| bare.to_owned())
}

/// `intent.md` in the making: the request, then what has no place elsewhere.
struct Intent {
    text: String,
    language: Language,
}

impl Intent {
    fn new(
        settings: &Settings,
        proposal: Option<&str>,
        title: &str,
        folder: &Folder,
        language: Language,
    ) -> Self {
        let why = proposal.and_then(|text| markdown::section_text(text, "Why"));
        let request = settings
            .goal
            .clone()
            .or(why)
            .unwrap_or_else(|| title.to_owned());
        let [imported, created, archived, end] = match language {
            Language::Off => ["Imported from OpenSpec: ", ", created ", ", archived ", "."],
            Language::Zh => ["从 OpenSpec 导入:", ",创建于 ", ",归档于 ", "。"],
        };
        let mut text = format!("{}\n\n{imported}`{}`", request.trim(), folder.path);
        if let Some(day) = &settings.created {
            text.push_str(&format!("{created}{day}"));
        }
        if let Some(day) = folder.archived_on() {
            text.push_str(&format!("{archived}{day}"));
        }
        text.push_str(&format!("{end}\n"));
        Intent { text, language }
    }

    /// Adds a file whole; one that is no text, or too long, is only named.
    fn file(&mut self, path: &str, text: Option<&str>) {
        let Some(text) = text.filter(|text| text.len() <= LONGEST_NOTE) else {
            if path != SETTINGS {
                let kept = match self.language {
                    Language::Off => {
                        format!("Kept as it was, in `imported/{path}` of the session.")
                    }
                    Language::Zh => format!("原样保存在会话的 `imported/{path}` 中。"),
                };
                self.text.push_str(&format!("\n## {path}\n\n{kept}\n"));
            }
            return;
        };
        // A fence is longer than every run of back-ticks in what it holds.
        let mut longest = 2;
        let mut run = 0;
        for c in text.chars() {
            run = if c == '`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        let fence = "`".repeat(longest + 1);
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        self.text
            .push_str(&format!("\n## {path}\n\n{fence}\n{text}{end}{fence}\n"));
    }
}

/// Notes what the stages of a session ask for and the change does not bring.
fn differences(
    settings: &Settings,
    artifacts: &BTreeMap<Artifact, String>,
    notes: &mut Vec<Blocker>,
) {
    if settings.skip_specs {
        notes.push(Blocker::new(
            Code::SkipSpecs,
            "skip_specs: true is kept in intent.md; a session needs a delta before it is built",
            command!("edit change/spec-delta.md"),
        ));
    } else if !artifacts.contains_key(&Artifact::SpecDelta) {
        notes.push(Blocker::new(
            Code::NoDelta,
            "the change has no specs/<domain>/spec.md; OpenSpec's archive takes it as it is",
            command!("edit change/spec-delta.md"),
        ));
    }
    if settings.retire {
        notes.push(Blocker::new(
            Code::Retire,
            "retire_capabilities: true became `retire: true` at the top of change/spec-delta.md",
            command!("cat change/spec-delta.md"),
        ));
    }
    missing_sections(artifacts, notes);
    if let Some(tasks) = artifacts.get(&Artifact::Tasks) {
        notes.extend(ticks(tasks));
    }
}

/// The sections that the plan of a standard session has: what is imported goes on as one.
fn missing_sections(artifacts: &BTreeMap<Artifact, String>, notes: &mut Vec<Blocker>) {
    let standard = Profiles::default().get(&ProfileName::standard()).ok();
    for (artifact, text) in artifacts {
        if matches!(
            artifact,
            Artifact::Spec | Artifact::Intent | Artifact::SpecDelta
        ) {
            continue;
        }
        let sections = markdown::sections(text);
        let asked = standard
            .as_ref()
            .map(|profile| profile.sections_of(*artifact));
        let mut lacking = asked.unwrap_or_default().to_vec();
        lacking.retain(|title| !markdown::section(&sections, title).is_some_and(|s| s.filled));
        if !lacking.is_empty() {
            notes.push(Blocker::new(
                Code::SectionsMissing,
                format!(
                    "{artifact} has no section `{}`: wanted in stage plan",
                    lacking.join("`, `")
                ),
                command!("edit {artifact}"),
            ));
        }
    }
}

/// Tasks that were ticked elsewhere.
fn ticks(tasks: &str) -> Option<Blocker> {
    let boxes = |mark: &str| {
        tasks
            .lines()
            .filter(|l| l.trim_start().starts_with(mark))
            .count()
    };
    let done = boxes("- [x]") + boxes("- [X]");
    let all = done + boxes("- [ ]");
    (done > 0).then(|| {
        Blocker::new(
            Code::Ticks,
            format!("{done} of {all} tasks are ticked: ticks are kept, and prove nothing here"),
            command!("run --task ID -- COMMAND"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Artifact, Folder, SessionId, read_change};
    use crate::policy::Language;

    fn folder(path: &str, files: &[(&str, &str)]) -> Folder {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Folder {
            path: path.to_owned(),
            files: files.collect(),
        }
    }

    #[test]
    fn names_and_days() {
        for (path, name, day) in [
            ("changes/add-x", "add-x", None),
            (
                "changes/archive/2025-08-01-add-x",
                "add-x",
                Some("2025-08-01"),
            ),
            ("changes/archive/2025-13-01-add-x", "2025-13-01-add-x", None),
            ("changes/archive/add-x", "add-x", None),
        ] {
            let folder = folder(path, &[]);
            assert_eq!((folder.name(), folder.archived_on()), (name, day));
        }
    }

    #[test]
    fn no_text_is_left_out() {
        let folder = folder(
            "changes/add-x",
            &[
                (
                    ".openspec.yaml",
                    "schema: spec-driven\ncreated: 2026-01-02\ngoal: Faster\nretire_capabilities: true\n",
                ),
                ("proposal.md", "# Change: Be fast\n\n## Why\n\nSlow.\n"),
                ("notes/a.md", "````\nfenced\n````"),
                (
                    "specs/a/spec.md",
                    "## REMOVED Requirements\n\n### Requirement: R\n**Reason**: r\n",
                ),
                ("specs/README.md", "not a delta\n"),
            ],
        );
        let id = SessionId::parse("add-x").expect("an id");
        let change = read_change(&folder, &id, "openspec", Language::Off).expect("a change");
        assert_eq!(change.title, "Be fast");
        assert_eq!(change.created.as_deref(), Some("2026-01-02"));
        assert_eq!(change.unplaced, ["notes/a.md", "specs/README.md"]);
        let intent = &change.artifacts[&Artifact::Intent];
        assert!(intent.starts_with("Faster\n"), "{intent}");
        assert!(
            intent.contains("\n`````\n````\nfenced\n````\n`````\n"),
            "{intent}"
        );
        assert!(intent.contains("not a delta"), "{intent}");
        let delta = &change.artifacts[&Artifact::SpecDelta];
        assert!(delta.starts_with("---\nretire: true\n---\n"), "{delta}");
        assert!(change.artifacts[&Artifact::Spec].contains("target_domains: [a]\n"));
    }
}
