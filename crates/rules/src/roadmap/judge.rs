//! Findings about a roadmap, from its issues and its document.

use super::Cut;
use super::check::FINDINGS;
use super::document::Document;
use super::mode::Mode;
use super::shape::Shape;
use crate::issue::queue::Resolution;
use crate::issue::{Issue, IssueId};
use loopx_base::findings::{Finding, Known};
use loopx_base::hint::{Hint, command};

/// The issues and the document that a roadmap is judged by.
#[derive(Clone, Copy)]
pub struct Ground<'g> {
    /// The roadmap itself.
    pub root: &'g Issue,
    pub shape: &'g Shape<'g>,
    pub document: &'g Document,
    pub cut: &'g Cut,
    /// The name of the roadmap, as findings are filed under it.
    pub name: &'g str,
    /// An issue as people are shown it.
    pub short: &'g dyn Fn(&IssueId) -> String,
}

impl Ground<'_> {
    fn of(
        &self,
        id: &'static str,
        file: &str,
        line: usize,
        message: String,
        fix: Option<Hint>,
    ) -> Finding {
        let (severity, usual) = Known::of(FINDINGS, id);
        let fix = fix.unwrap_or_else(|| usual.into());
        Finding::new(severity, id, file, line, message, fix)
    }

    /// A finding about the roadmap itself; `line` is that of its document.
    fn roadmap(
        &self,
        id: &'static str,
        line: usize,
        message: String,
        fix: Option<Hint>,
    ) -> Finding {
        self.of(id, self.name, line, message, fix)
    }

    fn issue(&self, id: &'static str, issue: &Issue, message: String, fix: Hint) -> Finding {
        self.of(id, &(self.short)(&issue.id), 0, message, Some(fix))
    }

    /// The word for a wave in a sentence.
    fn wave(&self, wave: u32) -> String {
        match self.cut.layer(wave) {
            Some(name) => format!("wave {wave} ({name})"),
            None => format!("wave {wave}"),
        }
    }
}

/// All findings, those of the whole first, then by issue in the order of the backlog.
pub fn findings(ground: &Ground<'_>) -> Vec<Finding> {
    let mut found = whole(ground);
    for issue in std::iter::once(ground.root).chain(ground.shape.issues()) {
        found.extend(apart(ground, issue));
    }
    let first_of = |issue: &&Issue| ground.shape.place(&issue.id).phases.first().cloned();
    let used = ground.shape.leaves.iter().find_map(first_of);
    let named = ground.document.phases.first();
    let first = used.map(|used| named.map_or(used, |one| one.number.clone()));
    for issue in &ground.shape.leaves {
        found.extend(place(ground, issue));
        found.extend(phase(ground, issue, first.as_deref()));
        found.extend(order(ground, issue));
        let is_open = !issue.status.is_final();
        if is_open && issue.criteria.is_empty() {
            let short = (ground.short)(&issue.id);
            let fix = command!("issue edit {short} --criterion \"It answers in 100 ms\"");
            let message = "it has no criterion that says when it is done".to_owned();
            found.push(ground.issue("roadmap_no_criteria", issue, message, fix));
        }
    }
    found
}

fn whole(ground: &Ground<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |id: &'static str, message: String, fix: Option<Hint>| {
        found.push(ground.roadmap(id, 0, message, fix));
    };
    if ground.shape.leaves.is_empty() {
        let fix = command!("roadmap set ISSUE --wave 1 --roadmap {}", ground.name);
        say("roadmap_empty", "it has no issue".to_owned(), Some(fix));
        return found;
    }
    if ground.cut.mode.is_none() {
        say(
            "roadmap_no_mode",
            "nothing says whether it is progressive or direct".to_owned(),
            None,
        );
    }
    if let Err(cycle) = ground.shape.levels() {
        let names: Vec<String> = cycle.iter().map(ground.short).collect();
        let fix = cycle
            .first()
            .map(|id| command!("issue show {}", (ground.short)(id)));
        say(
            "roadmap_cycle",
            format!("these wait for each other: {}", names.join(" -> ")),
            fix,
        );
    }
    found.extend(phases(ground));
    found.extend(waves(ground));
    found
}

/// Findings about the phases that the document names.
fn phases(ground: &Ground<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let phases = &ground.document.phases;
    for (at, phase) in phases.iter().enumerate() {
        let number = &phase.number;
        let mut say = |id: &'static str, message: String| {
            found.push(ground.roadmap(id, phase.line, message, None));
        };
        if phases[..at].iter().any(|other| other.number == *number) {
            say(
                "roadmap_phase_repeated",
                format!("phase {number} is named twice"),
            );
        }
        let leaves = &ground.shape.leaves;
        let has = |issue: &&Issue| ground.shape.place(&issue.id).phases.contains(number);
        if !leaves.iter().any(has) {
            say(
                "roadmap_phase_empty",
                format!("phase {number} has no issue"),
            );
        }
    }
    found
}

/// Findings about waves without an issue, and about issues of one wave that touch the same files.
fn waves(ground: &Ground<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say =
        |id: &'static str, message: String| found.push(ground.roadmap(id, 0, message, None));
    let mut last = 0;
    for wave in &ground.shape.waves() {
        if wave.wave > last + 1 {
            let before = ground.wave(wave.wave - 1);
            let message = format!(
                "{} has issues, and {before} has none",
                ground.wave(wave.wave)
            );
            say("roadmap_wave_gap", message);
        }
        last = wave.wave;
        for conflict in &wave.conflicts {
            if conflict.resolution == Resolution::Merge {
                continue;
            }
            let [one, other] = &conflict.issues;
            let (one, other) = ((ground.short)(one), (ground.short)(other));
            let files = conflict.files.join(", ");
            let message = format!(
                "{one} and {other} of {} both touch {files}",
                ground.wave(wave.wave)
            );
            say("roadmap_files_overlap", message);
        }
    }
    found
}

/// Fields that two people wrote apart, and of which nobody said yet which value holds. Who has an issue is no part of a
/// roadmap, nor how far it is.
fn apart(ground: &Ground<'_>, issue: &Issue) -> Vec<Finding> {
    let counts = |field: &str| {
        matches!(
            field,
            "title" | "description" | "milestone" | "kind" | "priority"
        )
    };
    let short = (ground.short)(&issue.id);
    let fields = issue.apart.iter().filter(|one| counts(&one.field));
    let found = fields.map(|one| {
        let message = format!("its {} was written apart", one.field);
        let fix = command!("issue show {short}");
        ground.issue("roadmap_apart", issue, message, fix)
    });
    found.collect()
}

/// Findings about the wave of an issue, and about labels that name none.
fn place(ground: &Ground<'_>, issue: &Issue) -> Vec<Finding> {
    let mut found = Vec::new();
    let place = ground.shape.place(&issue.id);
    let short = (ground.short)(&issue.id);
    match (place.waves.as_slice(), ground.cut.mode) {
        ([], mode) => {
            let fix = match mode {
                Some(Mode::Direct) => command!("roadmap order {}", ground.name),
                _ => command!("roadmap set {short} --wave 1"),
            };
            found.push(ground.issue("roadmap_no_wave", issue, "it is in no wave".to_owned(), fix));
        }
        ([one], Some(Mode::Progressive)) if ground.cut.layer(*one).is_none() => {
            let message = format!(
                "it is in wave {one}, and the layers are {}",
                ground.cut.layers.join(", ")
            );
            let fix = command!("roadmap set {short} --wave 1");
            found.push(ground.issue("roadmap_wave_unknown", issue, message, fix));
        }
        ([_], _) => {}
        (more, _) => {
            let all: Vec<String> = more.iter().map(|wave| ground.wave(*wave)).collect();
            let fix = command!("roadmap set {short} --wave {}", more[0]);
            let message = format!("it is in {}", all.join(" and in "));
            found.push(ground.issue("roadmap_two_waves", issue, message, fix));
        }
    }
    for label in &place.unread {
        let message = format!("its label `{label}` names no wave and no phase");
        let fix = command!("issue edit {short} --no-label {label}");
        found.push(ground.issue("roadmap_label_unread", issue, message, fix));
    }
    found
}

/// Findings about the phase and the milestone of an issue. `first`: a phase, where some issue of the roadmap is in one.
fn phase(ground: &Ground<'_>, issue: &Issue, first: Option<&str>) -> Vec<Finding> {
    let mut found = Vec::new();
    let place = ground.shape.place(&issue.id);
    let short = (ground.short)(&issue.id);
    if place.phases.is_empty()
        && let Some(first) = first
    {
        let fix = command!("roadmap set {short} --phase {first}");
        found.push(ground.issue(
            "roadmap_no_phase",
            issue,
            "it is in no phase".to_owned(),
            fix,
        ));
    }
    if let [first, _, ..] = place.phases.as_slice() {
        let message = format!("it is in the phases {}", place.phases.join(" and "));
        let fix = command!("roadmap set {short} --phase {first}");
        found.push(ground.issue("roadmap_two_phases", issue, message, fix));
    }
    if let Some(number) = place.phase()
        && !ground.document.phases.is_empty()
    {
        match ground.document.phase(number) {
            None => {
                let known: Vec<&str> = ground
                    .document
                    .phases
                    .iter()
                    .map(|one| one.number.as_str())
                    .collect();
                let message = format!(
                    "it is in phase {number}, and the document names {}",
                    known.join(", ")
                );
                let fix = command!("roadmap set {short} --phase {}", known[0]);
                found.push(ground.issue("roadmap_phase_unknown", issue, message, fix));
            }
            Some(phase) => {
                if let (Some(own), Some(of_phase)) = (&issue.milestone, &phase.milestone)
                    && own != of_phase
                {
                    let message =
                        format!("it is for {own}, and phase {number} is a part of {of_phase}");
                    let fix = command!("roadmap set {short} --phase {number}");
                    found.push(ground.issue("roadmap_milestone_differs", issue, message, fix));
                }
            }
        }
    }
    found
}

/// Findings about the order: each issue comes behind those that it waits for, in an earlier wave, or in a layer in the same one.
fn order(ground: &Ground<'_>, issue: &Issue) -> Vec<Finding> {
    let mut found = Vec::new();
    let own = ground.shape.place(&issue.id).wave();
    for other in ground.shape.waits(&issue.id) {
        let (short, name) = ((ground.short)(&issue.id), (ground.short)(other));
        if !ground.shape.has(other) {
            let message = format!("it waits for {name}, which is not in the roadmap");
            let fix = command!("roadmap set {name} --roadmap {}", ground.name);
            found.push(ground.issue("roadmap_outside", issue, message, fix));
            continue;
        }
        let (Some(own), Some(theirs)) = (own, ground.shape.place(other).wave()) else {
            continue;
        };
        let is_late = match ground.cut.mode {
            Some(Mode::Direct) => theirs >= own,
            Some(Mode::Progressive) | None => theirs > own,
        };
        if is_late {
            let message = format!(
                "it is in {}, and waits for {name} of {}",
                ground.wave(own),
                ground.wave(theirs)
            );
            let fix = match ground.cut.mode {
                Some(Mode::Direct) => command!("roadmap order {}", ground.name),
                _ => command!("roadmap set {short} --wave {theirs}"),
            };
            found.push(ground.issue("roadmap_wave_order", issue, message, fix));
        }
    }
    found
}
