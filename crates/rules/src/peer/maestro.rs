//! Sessions of maestro: `status.json` of protocol 1 and 2, and session/3.0 with its runs. The fields:
//! reference/task-chains.md, 2 and 10.

use super::json::{Object, at, machine_free, parse};
use super::{Fault, Files, Found, Taken, Tool, counted_remark, day, intent, no_counterpart, text};
use crate::artifact::Artifact;
use crate::contract::Contract;
use crate::note::NoteKind;
use crate::task::import::{Draft, no_check};
use loopx_base::failure::Code;
use loopx_base::globs::Globs;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const INVALID: Code = Code::ImportInvalid;
const STEP: [&str; 5] = ["pending", "running", "completed", "skipped", "failed"];

/// Folders of sessions: of those of protocol 1 and 2, and of session/3.0.
pub(super) const FOLDERS: [&str; 2] = [".maestro", "sessions"];

pub(super) fn read(files: &Files, faults: &mut Vec<Fault>) -> Found {
    let mut found = Found::default();
    let mut used = BTreeSet::new();
    for path in files.keys() {
        let parts: Vec<&str> = path.split('/').collect();
        let taken = match parts.as_slice() {
            [".maestro", id, "status.json"] => chain(files, path, id, faults),
            ["sessions", id, "session.json"] => third(files, path, id, faults),
            _ => continue,
        };
        if let Some(taken) = taken {
            used.extend(taken.files.keys().cloned());
            found.sessions.push(taken);
        }
    }
    found.left = files
        .keys()
        .filter(|path| !used.contains(*path))
        .cloned()
        .collect();
    found
}

fn begin(files: &Files, path: &str, id: &str) -> Taken {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut taken = Taken {
        folder: folder.to_owned(),
        name: id.to_owned(),
        ..Taken::default()
    };
    let in_folder = format!("{folder}/");
    for (path, bytes) in files
        .iter()
        .filter(|(path, _)| path.starts_with(&in_folder))
    {
        taken.keep(path, bytes);
    }
    taken
}

/// The list of tasks in the making.
#[derive(Default)]
struct Plan {
    lines: Vec<String>,
    places: Vec<String>,
    /// Node that the next one waits for.
    last: Option<String>,
    /// Steps by the goal that they are for.
    of_goal: BTreeMap<String, Vec<String>>,
    completed: usize,
    all: usize,
}

impl Plan {
    fn of(steps: &[Value]) -> Self {
        Plan {
            all: steps.len(),
            ..Plan::default()
        }
    }

    fn push(&mut self, draft: Draft, place: String) {
        self.lines.push(draft.line());
        self.places.push(place);
    }

    /// Field of the next node that makes it wait for the last one.
    fn depends_on(&self) -> Value {
        json!(self.last.iter().collect::<Vec<_>>())
    }
}

/// Protocol 1 and 2.
fn chain(files: &Files, path: &str, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let value = parse(text(files, path, faults)?, path, INVALID, faults)?;
    let state = Object::of(&value, path, "", INVALID, faults)?;
    let session = state.need("session_id", "", faults)?;
    let words = ["running", "paused", "completed", "failed"];
    let status = state.need_word("status", &words, "", faults);
    let steps = state.need_list("steps", "", faults)?;
    let mut reading = Reading {
        session,
        taken: begin(files, path, id),
        plan: Plan::of(steps),
        faults,
    };
    for (number, value) in steps.iter().enumerate() {
        reading.step(value, number, path);
    }
    let active = active_step(state, steps.len(), reading.faults);
    reading.goals(state);
    let (mut taken, plan) = (reading.taken, reading.plan);
    taken.list(&plan.lines, &plan.places, faults);
    let status = status?;
    taken.stood = stood(state, status, active, &plan);
    taken.created = day(state.text("created_at"));
    if status == "completed" {
        taken.ended = Some(day(state.text("completed_at").or(state.text("updated_at"))));
    }
    let request = state.text("intent").unwrap_or(session);
    taken.title = first_line(request);
    let intent = intent(Tool::Maestro, request, &taken.folder);
    taken.artifacts.insert(Artifact::Intent, intent);
    boundary(state, &mut taken, faults)?;
    decision_log(files, &mut taken, faults);
    for one in state.list("goal_changelog") {
        taken.note(
            NoteKind::Decision,
            format!("Amended in maestro: {}", machine_free(one)),
        );
    }
    for field in ["passed_gates", "verification_ledger"] {
        let all = state.list(field).len();
        counted_remark(
            &mut taken,
            path,
            all,
            all,
            &format!("`{field}` count for nothing here; they are kept in imported/"),
        );
    }
    let fields = [
        "quality_mode",
        "planning_mode",
        "milestone",
        "phase",
        "lease_id",
        "waves",
    ];
    no_counterpart(&mut taken, state, &fields);
    Some(taken)
}

/// The step that was active, which has to be one of the list.
fn active_step(state: Object<'_>, steps: usize, faults: &mut Vec<Fault>) -> Option<u64> {
    let active = state.get("active_step_index").and_then(Value::as_u64)?;
    if usize::try_from(active).map_or(true, |at| at >= steps) {
        faults.push(Fault {
            code: INVALID,
            at: at(state.file, "active_step_index"),
            message: format!("expected a step below {steps}, found {active}"),
        });
    }
    Some(active)
}

/// Takes in what was said of the boundary of the work. What is no path there stands among the constraints.
fn boundary(state: Object<'_>, taken: &mut Taken, faults: &mut Vec<Fault>) -> Option<()> {
    let none = json!({});
    let contract = state
        .get("boundary_contract")
        .filter(|value| value.is_object());
    let contract = Object::of(
        contract.unwrap_or(&none),
        state.file,
        "boundary_contract",
        INVALID,
        faults,
    )?;
    let split = |field: &str| -> (Vec<String>, Vec<String>) {
        let all = contract.texts(field).into_iter();
        all.partition(|one| is_path(one))
    };
    let (mut scope, mut within) = split("in_scope");
    if !within.is_empty() {
        // A scope that is named by half would hold back the other half.
        within.splice(0..0, scope.drain(..));
    }
    let (out_of_scope, without) = split("out_of_scope");
    let mut constraints = contract.texts("constraints");
    for (field, words, texts) in [
        ("in_scope", "In scope", within),
        ("out_of_scope", "Out of scope", without),
    ] {
        if !texts.is_empty() {
            taken.remark(
                at(state.file, &format!("boundary_contract.{field}")),
                format!(
                    "stands under `constraints` of plan.md where it is no pattern of paths: {}",
                    texts.join(", ")
                ),
            );
        }
        constraints.extend(texts.iter().map(|text| format!("{words}: {text}")));
    }
    taken.contract = Contract {
        scope,
        out_of_scope,
        constraints,
        definition_of_done: contract.texts("definition_of_done"),
        execution_criteria: state.texts("execution_criteria"),
    };
    Some(())
}

/// Tells whether a text can only be a pattern of paths: one word with a folder, an ending or a star.
fn is_path(text: &str) -> bool {
    let is_plain = !text.contains(char::is_whitespace) && text.contains(['/', '.', '*']);
    is_plain && Globs::new(&[text.to_owned()]).is_ok()
}

/// A session as it is read, and what its steps add to.
struct Reading<'r> {
    session: &'r str,
    taken: Taken,
    plan: Plan,
    faults: &'r mut Vec<Fault>,
}

impl Reading<'_> {
    /// A step of protocol 1 and 2: a skill that is run, or a gate that judges the step before it.
    fn step(&mut self, value: &Value, number: usize, file: &str) {
        let place = format!("steps[{number}]");
        let here = at(file, &place);
        let Some(step) = Object::of(value, file, &place, INVALID, self.faults) else {
            return;
        };
        self.expect_index(step, number, &here);
        let stage = step.need("stage", &place, self.faults).unwrap_or_default();
        let Some(status) = self.status(step, &place) else {
            return;
        };
        let decision = step.text("decision");
        let id = match decision {
            Some(_) => format!("gate-{number:02}"),
            None => format!("step-{number:02}"),
        };
        let mut draft = Draft::default();
        draft.put("id", &json!(id));
        let title = decision.or(step.text("skill")).unwrap_or(stage);
        draft.put("title", &json!(format!("{stage}: {title}")));
        draft.some(
            "description",
            step.get("concerns").filter(|one| one.is_string()),
        );
        match decision {
            Some(_) => self.gate(step, &here, &mut draft),
            None => self.skill(step, &id, &mut draft),
        }
        draft.some("depends_on", Some(&self.plan.depends_on()));
        draft.put("status", &json!(status));
        let whole = machine_free(value);
        draft.put("source", &json!({"tool": "maestro", "session_id": self.session, "original_id": number.to_string(), "step": whole}));
        self.push_step(draft, id, status, here);
    }

    /// A step knows its place in the list.
    fn expect_index(&mut self, step: Object<'_>, number: usize, here: &str) {
        let index = step.get("index").and_then(Value::as_u64);
        if index.and_then(|index| usize::try_from(index).ok()) == Some(number) {
            return;
        }
        let found = step.get("index");
        let found = found.map_or("nothing".to_owned(), Value::to_string);
        self.faults.push(Fault {
            code: INVALID,
            at: here.to_owned(),
            message: format!("expected `index` as {number}, its place in the list, found {found}"),
        });
    }

    /// The status of a step that becomes a task; one that was skipped becomes none.
    fn status<'v>(&mut self, step: Object<'v>, place: &str) -> Option<&'v str> {
        let status = step
            .need_word("status", &STEP, place, self.faults)
            .unwrap_or_default();
        if status == "skipped" {
            let here = at(step.file, place);
            self.taken
                .remark(here, "was skipped there, and is left out of the list");
            return None;
        }
        Some(status)
    }

    fn gate(&mut self, step: Object<'_>, here: &str, draft: &mut Draft) {
        draft.put("kind", &json!("decision"));
        if self.plan.last.is_none() {
            self.faults.push(Fault {
                code: INVALID,
                at: here.to_owned(),
                message: "it judges the step before it, and there is none".to_owned(),
            });
        }
        let retries = step.get("retry_count").and_then(Value::as_u64).unwrap_or(0);
        if retries > 0 {
            self.taken.remark(here, format!("{retries} repairs were made there; this gate has no repairs, and a `fix` waits for a person"));
        }
    }

    fn skill(&mut self, step: Object<'_>, id: &str, draft: &mut Draft) {
        draft.some("skill", step.get("skill").filter(|one| one.is_string()));
        draft.some("args", args(step).as_ref());
        draft.put(
            "convergence",
            &json!({"criteria": [], "verification": no_check()}),
        );
        if let Some(goal) = step.text("goal_ref") {
            let steps = self.plan.of_goal.entry(goal.to_owned());
            steps.or_default().push(id.to_owned());
        }
    }

    /// Adds a step, for which the next one waits.
    fn push_step(&mut self, draft: Draft, id: String, status: &str, here: String) {
        if status == "completed" {
            self.plan.completed += 1;
        }
        self.plan.last = Some(id);
        self.plan.push(draft, here);
    }

    fn goals(&mut self, state: Object<'_>) {
        let goals = state.list("task_decomposition");
        let mut done = 0;
        for (number, value) in goals.iter().enumerate() {
            done += usize::from(self.goal(value, number, state.file));
        }
        counted_remark(
            &mut self.taken,
            state.file,
            done,
            goals.len(),
            "goals were called done there; a goal is met here by evidence alone",
        );
        self.count_steps(state.file);
    }

    /// Adds a goal, behind the steps that are for it. Says whether it was called done there.
    fn goal(&mut self, value: &Value, number: usize, file: &str) -> bool {
        let place = format!("task_decomposition[{number}]");
        let Some(goal) = Object::of(value, file, &place, INVALID, self.faults) else {
            return false;
        };
        let here = at(file, &place);
        let (Some(id), Some(text)) = (
            goal.need("id", &place, self.faults),
            goal.need("goal", &place, self.faults),
        ) else {
            return false;
        };
        let status = goal.text("status");
        if status == Some("superseded") {
            self.taken.remark(
                here,
                format!("the goal {id} was superseded there, and is left out of the list"),
            );
            return false;
        }
        let mut draft = Draft::default();
        draft.put("id", &json!(id));
        draft.put("title", &json!(text));
        draft.put("kind", &json!("goal"));
        draft.some(
            "description",
            goal.get("boundary").filter(|one| one.is_string()),
        );
        draft.some(
            "done_when",
            goal.get("done_when").filter(|one| one.is_string()),
        );
        let steps = self.plan.of_goal.remove(id).unwrap_or_default();
        draft.some("depends_on", Some(&json!(steps)));
        draft.put(
            "source",
            &json!({"tool": "maestro", "original_id": id, "goal": machine_free(value)}),
        );
        self.plan.push(draft, here);
        status == Some("done")
    }

    fn count_steps(&mut self, file: &str) {
        counted_remark(
            &mut self.taken,
            file,
            self.plan.completed,
            self.plan.all,
            "steps were called done there; here each is done when its check has passed, or is skipped with a reason",
        );
    }

    /// A step of session/3.0, with its runs.
    fn link(&mut self, step: Object<'_>, id: &str, place: &str, runs: Option<&Vec<Value>>) {
        let here = at(step.file, place);
        let command = step.need("command", place, self.faults).unwrap_or_default();
        let Some(status) = self.status(step, place) else {
            return;
        };
        let mut draft = Draft::default();
        draft.put("id", &json!(id));
        draft.put("title", &json!(command));
        draft.some("description", args(step).as_ref());
        draft.some("depends_on", Some(&self.plan.depends_on()));
        draft.put(
            "convergence",
            &json!({"criteria": [], "verification": no_check()}),
        );
        draft.put("status", &json!(status));
        let whole = machine_free(&Value::Object(step.fields.clone()));
        let made = runs.map_or_else(|| json!([]), |runs| machine_free(&json!(runs)));
        draft.put("source", &json!({"tool": "maestro", "session_id": self.session, "original_id": id, "step": whole, "runs": made}));
        self.push_step(draft, id.to_owned(), status, here);
    }

    /// A decision of session/3.0, behind the step that it judges.
    fn decision(&mut self, gate: Object<'_>, number: usize) {
        let here = at(gate.file, &format!("decisions[{number}]"));
        let (Some(id), Some(status)) = (gate.text("decision_id"), gate.text("status")) else {
            return;
        };
        let Some(last) = self.plan.last.clone() else {
            self.taken.remark(
                here,
                "judges a step that was skipped there, and is left out of the list",
            );
            return;
        };
        let mut draft = Draft::default();
        draft.put("id", &json!(id));
        draft.put("title", &json!(format!("decision after {last}")));
        draft.put("kind", &json!("decision"));
        draft.put("depends_on", &json!([last]));
        draft.put("status", &json!(status));
        draft.put("source", &json!({"tool": "maestro", "original_id": id, "decision": machine_free(&Value::Object(gate.fields.clone()))}));
        self.plan.last = Some(id.to_owned());
        self.plan.push(draft, here.clone());
        let evidence = gate.texts("evidence_refs");
        let mut note = format!("The decision {id} of maestro, after {last}: {status}");
        if !evidence.is_empty() {
            note.push_str(&format!(
                "\n\nIt names as evidence: {}",
                machine_free(&json!(evidence))
            ));
        }
        self.taken.note(NoteKind::Decision, note);
        if status != "open" {
            self.taken
                .remark(here, format!("it is {status} there, and open here"));
        }
    }
}

/// The arguments of a step, where they are a text.
fn args(step: Object<'_>) -> Option<Value> {
    let args = step.get("args").map(machine_free);
    args.filter(Value::is_string)
}

fn stood(state: Object<'_>, status: &str, active: Option<u64>, plan: &Plan) -> String {
    let mut said = format!("{status}, {} of {} steps done", plan.completed, plan.all);
    if let Some(active) = active {
        said.push_str(&format!(", at step {active}"));
    }
    if let Some(position) = state.text("lifecycle_position") {
        said.push_str(&format!(", position {position}"));
    }
    said
}

/// `decisions.ndjson`: each line is a note.
fn decision_log(files: &Files, taken: &mut Taken, faults: &mut Vec<Fault>) {
    let path = format!("{}/decisions.ndjson", taken.folder);
    let Some(text) = text(files, &path, faults) else {
        return;
    };
    for (number, line) in (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let here = format!("{path}:{number}");
        let Some(value) = parse(line, &here, INVALID, faults) else {
            continue;
        };
        let Some(said) = Object::of(&value, &here, "", INVALID, faults) else {
            continue;
        };
        let mut note = format!(
            "{} of maestro at {}: {}",
            said.text("id").unwrap_or("A decision"),
            said.text("node_id")
                .or(said.text("source"))
                .unwrap_or("a gate"),
            said.text("verdict").unwrap_or("no verdict"),
        );
        if let Some(score) = said.get("confidence_score") {
            note.push_str(&format!(", confidence {score}"));
        }
        if let Some(summary) = said.text("summary") {
            note.push_str(&format!("\n\n{summary}"));
        }
        taken.note(NoteKind::Decision, note);
    }
}

/// session/3.0.
fn third(files: &Files, path: &str, id: &str, faults: &mut Vec<Fault>) -> Option<Taken> {
    let value = parse(text(files, path, faults)?, path, INVALID, faults)?;
    let state = Object::of(&value, path, "", INVALID, faults)?;
    let session = state.need("session_id", "", faults)?;
    let words = ["open", "completed", "archived", "failed"];
    let status = state.need_word("status", &words, "", faults);
    let steps = state.need_list("chain", "", faults)?;
    let mut reading = Reading {
        session,
        taken: begin(files, path, id),
        plan: Plan::of(steps),
        faults,
    };
    let runs = runs(files, &reading.taken.folder, reading.faults);
    let mut gates = decisions(state, reading.faults);
    for (number, value) in steps.iter().enumerate() {
        let place = format!("chain[{number}]");
        let Some(step) = Object::of(value, path, &place, INVALID, reading.faults) else {
            continue;
        };
        let Some(id) = step.need("step_id", &place, reading.faults) else {
            continue;
        };
        reading.link(step, id, &place, runs.get(id));
        for (number, gate) in gates.remove(id).unwrap_or_default() {
            reading.decision(gate, number);
        }
    }
    refuse_stray(gates, path, reading.faults);
    let plan = &reading.plan;
    reading
        .taken
        .list(&plan.lines, &plan.places, reading.faults);
    let status = status?;
    reading.taken.stood = format!("{status}, {} of {} steps done", plan.completed, plan.all);
    reading.count_steps(path);
    let mut taken = reading.taken;
    taken.created = day(state.text("created_at"));
    if ["completed", "archived"].contains(&status) {
        let end = ["archived_at", "completed_at", "updated_at"];
        taken.ended = Some(day(end.iter().find_map(|field| state.text(field))));
    }
    let request = state.text("objective").unwrap_or(session);
    taken.title = first_line(request);
    let intent = intent(Tool::Maestro, request, &taken.folder);
    taken.artifacts.insert(Artifact::Intent, intent);
    taken.contract.definition_of_done = state.texts("definition_of_done");
    let active = state.list("active_run_ids").len();
    counted_remark(
        &mut taken,
        path,
        active,
        active,
        "active runs hold nothing here: take the task anew",
    );
    for field in ["orchestration_revision", "activity_revision"] {
        if state.get(field).is_some() {
            taken.remark(
                at(path, field),
                "has no counterpart: each record here names the record before it",
            );
        }
    }
    Some(taken)
}

/// Decisions with their places in the list, by the step that they judge.
type Gates<'v> = BTreeMap<&'v str, Vec<(usize, Object<'v>)>>;

fn decisions<'v>(state: Object<'v>, faults: &mut Vec<Fault>) -> Gates<'v> {
    let mut gates = Gates::new();
    for (number, value) in state.list("decisions").iter().enumerate() {
        let place = format!("decisions[{number}]");
        let Some(gate) = Object::of(value, state.file, &place, INVALID, faults) else {
            continue;
        };
        gate.need("decision_id", &place, faults);
        let open = ["open", "resolved", "escalated"];
        gate.need_word("status", &open, &place, faults);
        if let Some(after) = gate.need("after_step_id", &place, faults) {
            gates.entry(after).or_default().push((number, gate));
        }
    }
    gates
}

/// Refuses decisions that judge no step of the chain.
fn refuse_stray(gates: Gates<'_>, path: &str, faults: &mut Vec<Fault>) {
    for (after, gates) in gates {
        for (number, _) in gates {
            faults.push(Fault {
                code: INVALID,
                at: at(path, &format!("decisions[{number}]")),
                message: format!("expected `after_step_id` as a step of the chain, found {after}"),
            });
        }
    }
}

/// The runs of a session, by the step that they are of.
fn runs(files: &Files, folder: &str, faults: &mut Vec<Fault>) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let in_folder = format!("{folder}/runs/");
    for path in files.keys() {
        if !path.starts_with(&in_folder) || !path.ends_with("/run.json") {
            continue;
        }
        let Some(value) =
            text(files, path, faults).and_then(|text| parse(text, path, INVALID, faults))
        else {
            continue;
        };
        let Some(run) = Object::of(&value, path, "", INVALID, faults) else {
            continue;
        };
        if let Some(step) = run.need("step_id", "", faults) {
            let said = ["run_id", "attempt", "status", "verdict", "summary"];
            let kept = said
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), run.get(name)?.clone())));
            found
                .entry(step.to_owned())
                .or_default()
                .push(Value::Object(kept.collect()));
        }
    }
    found
}

fn first_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars()
        .take(LONGEST)
        .collect::<String>()
        .trim()
        .to_owned()
}
