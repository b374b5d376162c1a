//! Sessions of maestro: `status.json` of protocol 1 and 2, and session/3.0 with its runs. The fields:
//! reference/task-chains.md, 2 and 10.

use super::json::{Object, at, machine_free, parse};
use super::{Fault, Files, Found, Taken, Tool, counted_remark, day, intent, text};
use crate::artifact::Artifact;
use crate::note::NoteKind;
use crate::task::import::{Draft, no_check};
use loopx_base::failure::Code;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const INVALID: Code = Code::ImportInvalid;
const STEP: [&str; 5] = ["pending", "running", "completed", "skipped", "failed"];

/// Where sessions lie: those of protocol 1 and 2, and session/3.0.
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
    /// What the next node waits for.
    last: Option<String>,
    /// Steps by the goal that they are for.
    of_goal: BTreeMap<String, Vec<String>>,
    completed: usize,
    all: usize,
}

impl Plan {
    fn push(&mut self, draft: Draft, place: String) {
        self.lines.push(draft.line());
        self.places.push(place);
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
    let mut taken = begin(files, path, id);
    let mut plan = Plan {
        all: steps.len(),
        ..Plan::default()
    };
    for (number, value) in steps.iter().enumerate() {
        let place = format!("steps[{number}]");
        if let Some(step) = Object::of(value, path, &place, INVALID, faults) {
            self::step(step, number, session, &mut plan, &mut taken, faults);
        }
    }
    let active = state.get("active_step_index").and_then(Value::as_u64);
    if active.is_some_and(|active| usize::try_from(active).map_or(true, |at| at >= steps.len())) {
        faults.push(Fault {
            code: INVALID,
            at: at(path, "active_step_index"),
            message: format!(
                "expected a step below {}, found {}",
                steps.len(),
                active.unwrap_or_default()
            ),
        });
    }
    goals(state, &mut plan, &mut taken, faults);
    taken.list(&plan.lines, &plan.places, faults);
    let status = status?;
    taken.stood = stood(state, status, active, &plan);
    taken.created = day(state.text("created_at"));
    if status == "completed" {
        taken.ended = Some(day(state.text("completed_at").or(state.text("updated_at"))));
    }
    let request = state.text("intent").unwrap_or(session);
    taken.title = first_line(request);
    let boundary = state.get("boundary_contract").cloned().unwrap_or_default();
    let none = json!({});
    let boundary = if boundary.is_object() {
        &boundary
    } else {
        &none
    };
    let boundary = Object::of(boundary, path, "boundary_contract", INVALID, faults)?;
    let lists = [
        ("In scope", boundary.texts("in_scope")),
        ("Out of scope", boundary.texts("out_of_scope")),
        ("Constraints", boundary.texts("constraints")),
        ("Definition of done", boundary.texts("definition_of_done")),
        ("Execution criteria", state.texts("execution_criteria")),
    ];
    let intent = intent(Tool::Maestro, request, &taken.folder, &lists);
    taken.artifacts.insert(Artifact::Intent, intent);
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
    for field in [
        "quality_mode",
        "planning_mode",
        "milestone",
        "phase",
        "lease_id",
        "waves",
    ] {
        if let Some(value) = state.get(field) {
            taken.remark(
                at(path, field),
                format!("{value} has no counterpart in a session, and is kept in imported/"),
            );
        }
    }
    Some(taken)
}

fn step(
    step: Object<'_>,
    number: usize,
    session: &str,
    plan: &mut Plan,
    taken: &mut Taken,
    faults: &mut Vec<Fault>,
) {
    let place = format!("steps[{number}]");
    let here = at(step.file, &place);
    let index = step.get("index").and_then(Value::as_u64);
    if index.and_then(|index| usize::try_from(index).ok()) != Some(number) {
        faults.push(Fault {
            code: INVALID,
            at: here.clone(),
            message: format!(
                "expected `index` as {number}, its place in the list, found {}",
                step.get("index")
                    .map_or("nothing".to_owned(), Value::to_string)
            ),
        });
    }
    let stage = step.need("stage", &place, faults).unwrap_or_default();
    let status = step
        .need_word("status", &STEP, &place, faults)
        .unwrap_or_default();
    if status == "skipped" {
        taken.remark(here, "was skipped there, and is left out of the list");
        return;
    }
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
    if decision.is_some() {
        draft.put("kind", &json!("decision"));
        if plan.last.is_none() {
            faults.push(Fault {
                code: INVALID,
                at: here.clone(),
                message: "it judges the step before it, and there is none".to_owned(),
            });
        }
        let retries = step.get("retry_count").and_then(Value::as_u64).unwrap_or(0);
        if retries > 0 {
            taken.remark(&here, format!("{retries} repairs were made there; this gate has no repairs, and a `fix` waits for a person"));
        }
    } else {
        draft.some("skill", step.get("skill").filter(|one| one.is_string()));
        draft.some(
            "args",
            step.get("args")
                .map(machine_free)
                .as_ref()
                .filter(|one| one.is_string()),
        );
        draft.put(
            "convergence",
            &json!({"criteria": [], "verification": no_check()}),
        );
        if let Some(goal) = step.text("goal_ref") {
            plan.of_goal
                .entry(goal.to_owned())
                .or_default()
                .push(id.clone());
        }
    }
    draft.some(
        "depends_on",
        Some(&json!(plan.last.iter().collect::<Vec<_>>())),
    );
    draft.put("status", &json!(status));
    let whole = machine_free(&Value::Object(step.fields.clone()));
    draft.put("source", &json!({"tool": "maestro", "session_id": session, "original_id": number.to_string(), "step": whole}));
    if status == "completed" {
        plan.completed += 1;
    }
    plan.last = Some(id);
    plan.push(draft, here);
}

fn goals(state: Object<'_>, plan: &mut Plan, taken: &mut Taken, faults: &mut Vec<Fault>) {
    let mut done = 0;
    let goals = state.list("task_decomposition");
    for (number, value) in goals.iter().enumerate() {
        let place = format!("task_decomposition[{number}]");
        let Some(goal) = Object::of(value, state.file, &place, INVALID, faults) else {
            continue;
        };
        let here = at(state.file, &place);
        let (Some(id), Some(text)) = (
            goal.need("id", &place, faults),
            goal.need("goal", &place, faults),
        ) else {
            continue;
        };
        match goal.text("status") {
            Some("superseded") => {
                taken.remark(
                    here,
                    format!("the goal {id} was superseded there, and is left out of the list"),
                );
                continue;
            }
            Some("done") => done += 1,
            _ => {}
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
        let steps = plan.of_goal.remove(id).unwrap_or_default();
        draft.some("depends_on", Some(&json!(steps)));
        draft.put(
            "source",
            &json!({"tool": "maestro", "original_id": id, "goal": machine_free(value)}),
        );
        plan.push(draft, here);
    }
    let path = state.file.to_owned();
    counted_remark(
        taken,
        &path,
        done,
        goals.len(),
        "goals were called done there; a goal is met here by evidence alone",
    );
    counted_remark(
        taken,
        &path,
        plan.completed,
        plan.all,
        "steps were called done there; here each is done when its check has passed, or is skipped with a reason",
    );
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
    let mut taken = begin(files, path, id);
    let runs = runs(files, &taken.folder, faults);
    let mut plan = Plan {
        all: steps.len(),
        ..Plan::default()
    };
    let mut gates: BTreeMap<&str, Vec<(usize, Object<'_>)>> = BTreeMap::new();
    for (number, value) in state.list("decisions").iter().enumerate() {
        let place = format!("decisions[{number}]");
        let Some(gate) = Object::of(value, path, &place, INVALID, faults) else {
            continue;
        };
        gate.need("decision_id", &place, faults);
        let open = ["open", "resolved", "escalated"];
        gate.need_word("status", &open, &place, faults);
        if let Some(after) = gate.need("after_step_id", &place, faults) {
            gates.entry(after).or_default().push((number, gate));
        }
    }
    for (number, value) in steps.iter().enumerate() {
        let place = format!("chain[{number}]");
        let Some(step) = Object::of(value, path, &place, INVALID, faults) else {
            continue;
        };
        let Some(id) = step.need("step_id", &place, faults) else {
            continue;
        };
        link(
            step, id, &place, session, &runs, &mut plan, &mut taken, faults,
        );
        for (number, gate) in gates.remove(id).unwrap_or_default() {
            decision(gate, number, &mut plan, &mut taken);
        }
    }
    for (after, gates) in gates {
        for (number, _) in gates {
            faults.push(Fault {
                code: INVALID,
                at: at(path, &format!("decisions[{number}]")),
                message: format!("expected `after_step_id` as a step of the chain, found {after}"),
            });
        }
    }
    taken.list(&plan.lines, &plan.places, faults);
    let status = status?;
    taken.stood = format!("{status}, {} of {} steps done", plan.completed, plan.all);
    taken.created = day(state.text("created_at"));
    if ["completed", "archived"].contains(&status) {
        let end = ["archived_at", "completed_at", "updated_at"];
        taken.ended = Some(day(end.iter().find_map(|field| state.text(field))));
    }
    let request = state.text("objective").unwrap_or(session);
    taken.title = first_line(request);
    let lists = [("Definition of done", state.texts("definition_of_done"))];
    let intent = intent(Tool::Maestro, request, &taken.folder, &lists);
    taken.artifacts.insert(Artifact::Intent, intent);
    let (done, all) = (plan.completed, plan.all);
    counted_remark(
        &mut taken,
        path,
        done,
        all,
        "steps were called done there; here each is done when its check has passed, or is skipped with a reason",
    );
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

#[expect(
    clippy::too_many_arguments,
    reason = "a step is read beside everything that it adds to"
)]
fn link(
    step: Object<'_>,
    id: &str,
    place: &str,
    session: &str,
    runs: &BTreeMap<String, Vec<Value>>,
    plan: &mut Plan,
    taken: &mut Taken,
    faults: &mut Vec<Fault>,
) {
    let here = at(step.file, place);
    let command = step.need("command", place, faults).unwrap_or_default();
    let status = step
        .need_word("status", &STEP, place, faults)
        .unwrap_or_default();
    if status == "skipped" {
        taken.remark(here, "was skipped there, and is left out of the list");
        return;
    }
    let mut draft = Draft::default();
    draft.put("id", &json!(id));
    draft.put("title", &json!(command));
    draft.some(
        "description",
        step.get("args")
            .map(machine_free)
            .as_ref()
            .filter(|one| one.is_string()),
    );
    draft.some(
        "depends_on",
        Some(&json!(plan.last.iter().collect::<Vec<_>>())),
    );
    draft.put(
        "convergence",
        &json!({"criteria": [], "verification": no_check()}),
    );
    draft.put("status", &json!(status));
    let whole = machine_free(&Value::Object(step.fields.clone()));
    let made = runs
        .get(id)
        .map_or_else(|| json!([]), |runs| machine_free(&json!(runs)));
    draft.put("source", &json!({"tool": "maestro", "session_id": session, "original_id": id, "step": whole, "runs": made}));
    if status == "completed" {
        plan.completed += 1;
    }
    plan.last = Some(id.to_owned());
    plan.push(draft, here);
}

fn decision(gate: Object<'_>, number: usize, plan: &mut Plan, taken: &mut Taken) {
    let here = at(gate.file, &format!("decisions[{number}]"));
    let (Some(id), Some(status)) = (gate.text("decision_id"), gate.text("status")) else {
        return;
    };
    let Some(last) = plan.last.clone() else {
        taken.remark(
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
    plan.last = Some(id.to_owned());
    plan.push(draft, here.clone());
    let evidence = gate.texts("evidence_refs");
    let mut note = format!("The decision {id} of maestro, after {last}: {status}");
    if !evidence.is_empty() {
        note.push_str(&format!(
            "\n\nIt names as evidence: {}",
            machine_free(&json!(evidence))
        ));
    }
    taken.note(NoteKind::Decision, note);
    if status != "open" {
        taken.remark(here, format!("it is {status} there, and open here"));
    }
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
