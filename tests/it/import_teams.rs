//! `import loopx`, `import maestro`, `import ccw`: what other tools kept becomes sessions, whole or not at all.

use crate::support::Sandbox;
use serde_json::{Value, json};

const SPEC: &str = "---\nunresolved_ambiguity_count: 0\ncurrent_round: 2\nambiguity_score: 0.1\npressure_pass_complete: true\nnon_goals_resolved: true\ndecision_boundaries_resolved: true\n---\n# Spec: Time out\n\n## Intent\n\nSessions must end.\n\n## Desired outcome\n\nThey end.\n\n## Non-goals\n\nNo tokens.\n\n## Decision boundaries\n\nThe length is free.\n\n## Success criteria\n\nAn idle session is gone.\n";
const DELTA: &str = "# Domain: auth\n\n## ADDED Requirements\n\n### Requirement: Timeout\nThe system SHALL end an idle session.\n\n#### Scenario: Idle\n- **WHEN** it is idle\n- **THEN** it ends\n";

fn repository() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("README.md", "x\n", "one").ok();
    s
}

/// A root with an open workflow in review, a done one that is archived, an accepted spec, a candidate and a journal.
fn root(s: &Sandbox, name: &str) {
    let write = |path: &str, text: &str| s.write(format!("{name}/{path}"), text);
    write(
        "config.json",
        r#"{"schema_version":1,"product_contract":"skill-first-v1"}"#,
    );
    let state = json!({
        "schema_version": 1, "slug": "time-out", "current_stage": "review", "stage_status": "awaiting-approval",
        "change_id": "chg-time-out", "review_verdict": "approve", "approval": {"plan": "approved", "build": "approved"},
        "spec_artifact_path": "/home/ada/project/.loopx/specs/clarify-time-out.md",
    });
    write("workflows/time-out/state.json", &state.to_string());
    write("workflows/time-out/spec.md", SPEC);
    write("workflows/time-out/plan.md", "# Plan\n\nA clock.\n");
    write(
        "workflows/time-out/execution-record.md",
        "## Verification Evidence\n\nAll green.\n",
    );
    write("workflows/time-out/review-report.md", "verdict: approve\n");
    write(
        "changes/active/chg-time-out/proposal.md",
        "# Proposal: Time out\n",
    );
    write("changes/active/chg-time-out/spec-delta.md", DELTA);
    write(
        "changes/active/chg-time-out/slices.json",
        r#"[{"id":"VS-1","type":"AFK","behaviour":"it ends","acceptance_criteria":["it ends"],"verification_signal":"cmd: true"}]"#,
    );
    write("plans/prd-time-out.md", "# PRD\n");
    let state = json!({"schema_version": 1, "slug": "log-out", "current_stage": "done", "archive_status": "archived", "updated_at": "2026-01-02T03:04:05.000Z"});
    write("workflows/log-out/state.json", &state.to_string());
    write(
        "changes/archive/chg-log-out/proposal.md",
        "# Proposal: Log out\n",
    );
    write("adr/chg-log-out.md", "# Use a button\n");
    write(
        "specs/auth/spec.md",
        "# auth\n\n## Purpose\nWho may come in.\n\n## Requirements\n",
    );
    write(
        "workspace/ada/journal-1.md",
        "# Journal\n\n## 2026-01-01\n\nClocks drift.\n\n## 2026-01-02\n\nTests lie.\n",
    );
    write("templates/spec.md", "none of ours\n");
}

fn session<'a>(report: &'a Value, id: &str) -> &'a Value {
    let all = report["sessions"].as_array().expect("sessions");
    let found = all.iter().find(|one| one["session"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {report:#}"))
}

fn says(session: &Value, what: &str) -> bool {
    let remarks = session["remarks"].as_array().expect("remarks");
    let said = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().contains(what);
    remarks
        .iter()
        .any(|one| said(one, "message") || said(one, "at"))
}

fn stored(s: &Sandbox, path: &str) -> String {
    let bytes = s.git(&["cat-file", "blob", &format!("loopx:{path}")]).bytes;
    String::from_utf8(bytes).expect("UTF-8")
}

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "loopx"]).line()
}

/// Each id of the list of tasks, with its line.
fn tasks(s: &Sandbox, folder: &str) -> Vec<Value> {
    let text = stored(s, &format!("{folder}/tasks.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn an_old_root_becomes_sessions_specs_and_notes_and_the_second_run_adds_nothing() {
    let s = repository();
    root(&s, ".loopx");
    s.loopx(&["init"])
        .fails_with(0)
        .says("import loopx --dry-run");
    let before = (tip(&s), s.snapshot(".loopx"));
    let dry = s.loopx(&["import", "loopx", "--dry-run", "--json"]).json();
    assert_eq!(
        session(&dry, "time-out")["stood"],
        "review, awaiting-approval"
    );
    assert_eq!(
        (tip(&s), s.snapshot(".loopx")),
        before,
        "a dry run writes nothing"
    );

    let report = s.loopx(&["import", "loopx", "--json"]).json();
    assert_eq!(s.snapshot(".loopx"), before.1, "the root stays as it is");
    let open = session(&report, "time-out");
    assert!(says(open, "approvals of build, plan"), "{open:#}");
    assert!(says(open, "the verdict `approve`"), "{open:#}");
    assert!(says(open, "execution-record.md"), "{open:#}");
    assert!(says(open, "plans/prd-time-out.md"), "{open:#}");
    assert_eq!(report["left"], json!(["config.json", "templates/spec.md"]));
    assert_eq!(report["journal"], 2);
    assert!(s.read("specs/auth/spec.md").starts_with("# auth\n"));

    // Nothing that was said there opens anything here.
    let state: Value =
        serde_json::from_str(&stored(&s, "sessions/time-out/state.json")).expect("JSON");
    assert_eq!(state["stage"], "clarify");
    assert_eq!(
        state["approvals"]
            .as_object()
            .map_or(0, serde_json::Map::len),
        0,
        "{state:#}"
    );
    assert_eq!(stored(&s, "sessions/time-out/change/spec-delta.md"), DELTA);
    assert!(stored(&s, "sessions/time-out/change/slices.json").contains("VS-1"));
    let kept = stored(
        &s,
        "sessions/time-out/imported/workflows/time-out/state.json",
    );
    assert!(!kept.contains("/home/ada"), "{kept}");
    assert!(stored(&s, "sessions/time-out/intent.md").starts_with("Sessions must end."));
    let ended = "archive/2026-01/log-out";
    assert!(stored(&s, &format!("{ended}/imported/adr/chg-log-out.md")).contains("button"));
    s.loopx(&["note", "list", "--all"])
        .fails_with(0)
        .says("Clocks drift")
        .says("Use a button");
    s.loopx(&["fsck"]).ok();

    let after = tip(&s);
    let again = s.loopx(&["import", "loopx", "--json"]).json();
    assert_eq!(session(&again, "time-out")["already"], true);
    assert_eq!((again["journal"].as_u64(), tip(&s)), (Some(0), after));
}

#[test]
fn s151_a_workflow_without_a_schema_is_refused_until_it_is_imported_with_an_inferred_stage() {
    let s = repository();
    s.write(".loopx/workflows/old/spec.md", SPEC);
    s.write(
        ".loopx/workflows/old/build-result.md",
        "## Verification Evidence\n\nran\n",
    );
    s.loopx(&["init"]).ok();
    let gate = ["-s", "old", "approve", "--to", "plan"];
    s.loopx(&gate).fails_with(4).says("import loopx");
    let error = s.loopx(&["-s", "old", "approve", "--to", "plan", "--json"]);
    assert_eq!(
        error.error_json()["error"]["code"],
        "legacy_workflow_not_supported"
    );
    let report = s.loopx(&["import", "loopx", "--json"]).json();
    let old = session(&report, "old");
    assert_eq!(old["stood"], "review");
    assert!(says(old, "the stage `review` is inferred"), "{old:#}");
    s.loopx(&gate).ok();
}

#[test]
fn s152_two_old_roots_are_refused_and_doctor_says_mixed() {
    let s = repository();
    root(&s, ".loopx");
    s.write(".codex-helper/workflows/older/spec.md", SPEC);
    s.loopx(&["init"]).ok();
    let before = (tip(&s), s.snapshot(".loopx"), s.snapshot(".codex-helper"));
    let refused = s.loopx(&["import", "loopx", "--json"]);
    assert_eq!(
        refused.error_json()["error"]["code"],
        "mixed_runtime_roots_detected"
    );
    assert_eq!(
        (tip(&s), s.snapshot(".loopx"), s.snapshot(".codex-helper")),
        before
    );
    s.loopx(&["doctor"]).fails_with(1).says("mixed");
    // A person names the one that counts.
    s.loopx(&["import", "loopx", ".codex-helper"])
        .fails_with(0)
        .says("older");
}

#[test]
fn s152_an_old_root_is_never_hidden_and_never_taken_away() {
    let s = repository();
    // A run before there was a root has hidden the folder.
    s.loopx(&["init"]).ok();
    assert!(s.read(".git/info/exclude").contains("\n/.loopx/\n"));
    root(&s, ".loopx");
    let before = s.snapshot(".loopx");
    s.loopx(&["init"]).ok();
    let shown = s.git(&["status", "--porcelain", "-uall"]).line();
    for path in [
        "config.json",
        "workflows/time-out/state.json",
        "workspace/ada/journal-1.md",
    ] {
        assert!(shown.contains(&format!("?? .loopx/{path}")), "{shown}");
    }
    s.loopx(&["start", "Other work"]).ok();
    let shown = s.git(&["status", "--porcelain", "-uall"]).line();
    assert!(!shown.contains(".loopx/other-work"), "{shown}");
    drop(s.loopx(&["doctor", "--fix"]));
    for (path, _, bytes) in before {
        assert_eq!(s.bytes(format!(".loopx/{}", path.display())), bytes);
    }
}

#[test]
fn a_torn_state_file_imports_nothing_and_is_named_with_its_place() {
    let s = repository();
    root(&s, ".loopx");
    s.write(
        ".loopx/workflows/torn/state.json",
        "{\"schema_version\": 1,\n  \"slug\": ",
    );
    s.write(
        ".loopx/workflows/odd/state.json",
        r#"{"schema_version":1,"current_stage":"limbo"}"#,
    );
    s.loopx(&["init"]).ok();
    let before = tip(&s);
    let refused = s.loopx(&["import", "loopx", "--json"]);
    let error = refused.error_json()["error"].clone();
    assert_eq!(error["code"], "import_invalid");
    let said = error["blockers"].to_string();
    assert!(said.contains("workflows/torn/state.json:2:"), "{said}");
    assert!(said.contains("limbo"), "{said}");
    assert_eq!(tip(&s), before);
    assert!(!s.exists("specs/auth/spec.md"));
}

/// A chain of protocol 2: analysed, executed, at a gate that was repaired once, a goal, a superseded goal.
fn status() -> Value {
    let step = |index: usize, stage: &str, decision: Value, status: &str| {
        json!({
            "index": index, "stage": stage, "skill": if decision.is_null() { format!("maestro-{stage}") } else { String::new() },
            "args": "{phase}", "decision": decision, "status": status, "retry_count": usize::from(status == "running"), "max_retries": 2,
            "goal_ref": "G1", "command_path": "/home/ada/.claude/commands/x.md", "completion_confirmed": status == "completed",
            "completion_evidence": "it works", "completion_summary": "done well",
        })
    };
    json!({
        "session_id": "ralph-20260102-030405", "source": "ralph", "status": "paused", "ralph_protocol_version": "2",
        "active_step_index": 3, "intent": "Add audit log to the API\nwith tests", "lifecycle_position": "verify", "quality_mode": "full",
        "boundary_contract": {"in_scope": ["src/audit"], "out_of_scope": ["ui"], "constraints": [], "definition_of_done": ["logged"]},
        "passed_gates": ["post-analyze-scope"],
        "task_decomposition": [
            {"id": "G1", "goal": "Each write is logged", "done_when": "the log has a line", "status": "done"},
            {"id": "G0", "goal": "Old", "status": "superseded"},
        ],
        "created_at": "2026-01-02T03:04:05Z",
        "steps": [
            step(0, "analyze", Value::Null, "completed"), step(1, "brainstorm", Value::Null, "skipped"),
            step(2, "execute", Value::Null, "completed"), step(3, "verify", json!("post-verify"), "running"),
            step(4, "milestone-complete", Value::Null, "pending"),
        ],
    })
}

#[test]
fn a_chain_of_maestro_becomes_tasks_gates_goals_and_decisions() {
    let s = repository();
    s.loopx(&["init"]).ok();
    let folder = ".workflow/.maestro/ralph-20260102-030405";
    s.write(format!("{folder}/status.json"), status().to_string());
    s.write(format!("{folder}/decisions.ndjson"), "{\"id\":\"DEC-1\",\"node_id\":\"post-verify\",\"verdict\":\"fix\",\"confidence_score\":55,\"summary\":\"two gaps\"}\n");
    s.write(".workflow/state.json", "{}");
    let report = s.loopx(&["import", "maestro", "--json"]).json();
    let id = "ralph-20260102-030405";
    let taken = session(&report, id);
    assert_eq!(
        taken["stood"],
        "paused, 2 of 5 steps done, at step 3, position verify"
    );
    for what in [
        "2 of 5 steps were called done",
        "steps[1]",
        "1 repairs were made",
        "passed_gates",
        "quality_mode",
        "G0 was superseded",
    ] {
        assert!(says(taken, what), "{what}: {taken:#}");
    }
    let tasks = tasks(&s, &format!("sessions/{id}"));
    let ids: Vec<&str> = tasks
        .iter()
        .filter_map(|task| task["id"].as_str())
        .collect();
    assert_eq!(ids, ["step-00", "step-02", "gate-03", "step-04", "G1"]);
    assert_eq!(tasks[1]["depends_on"], json!(["step-00"]));
    assert_eq!(tasks[2]["kind"], "decision");
    assert_eq!(tasks[3]["depends_on"], json!(["gate-03"]));
    assert_eq!(
        tasks[4]["depends_on"],
        json!(["step-00", "step-02", "step-04"])
    );
    assert_eq!(
        tasks[1]["source"]["step"]["completion_summary"],
        "done well"
    );
    assert_eq!(
        tasks[1]["source"]["step"]["command_path"],
        ".claude/commands/x.md"
    );
    // The contract stands in the fields that gates and cards read; what is no path is a constraint.
    let plan = stored(&s, &format!("sessions/{id}/plan.md"));
    for said in [
        "scope: [\"src/audit\"]\n",
        "constraints: [\"Out of scope: ui\"]\n",
        "definition_of_done: [\"logged\"]\n",
        "## Acceptance criteria\n",
    ] {
        assert!(plan.contains(said), "{said}: {plan}");
    }
    let intent = stored(&s, &format!("sessions/{id}/intent.md"));
    assert!(!intent.contains("## "), "{intent}");
    assert!(says(taken, "boundary_contract.out_of_scope"), "{taken:#}");
    let list = s.loopx(&["-s", id, "task", "list", "--json"]).json();
    let list = list.to_string();
    assert!(!list.contains("\"status\":\"completed\""), "{list}");
    s.loopx(&["-s", id, "note", "list"])
        .fails_with(0)
        .says("post-verify: fix, confidence 55");
    s.loopx(&["fsck"]).ok();
    let before = tip(&s);
    // The folder of the session alone is the same session.
    s.loopx(&["import", "maestro", folder])
        .fails_with(0)
        .says("1 imported before");
    assert_eq!(tip(&s), before);
}

#[test]
fn a_session_of_protocol_3_brings_its_runs_and_its_decisions() {
    let s = repository();
    s.loopx(&["init"]).ok();
    let folder = ".workflow/sessions/audit";
    let link = |id: &str, command: &str, status: &str| json!({"step_id": id, "command": command, "args": "", "status": status, "run_ids": []});
    let document = json!({
        "schema": "session/3.0", "session_id": "audit", "objective": "Log each write", "definition_of_done": "logged", "status": "open",
        "orchestration_revision": 7, "chain": [link("s-1", "plan", "completed"), link("s-2", "execute", "running")],
        "decisions": [{"decision_id": "D-1", "after_step_id": "s-1", "status": "resolved", "evidence_refs": ["plan.md"]}],
        "active_run_ids": ["r-2"],
    });
    s.write(format!("{folder}/session.json"), document.to_string());
    let run = json!({"run_id": "r-1", "step_id": "s-1", "attempt": 2, "status": "sealed", "verdict": "done", "summary": "planned"});
    s.write(format!("{folder}/runs/r-1/run.json"), run.to_string());
    let report = s.loopx(&["import", "maestro", "--json"]).json();
    let taken = session(&report, "audit");
    for what in [
        "it is resolved there, and open here",
        "active runs",
        "orchestration_revision",
    ] {
        assert!(says(taken, what), "{what}: {taken:#}");
    }
    let tasks = tasks(&s, "sessions/audit");
    assert_eq!(tasks[1]["id"], "D-1");
    assert_eq!(tasks[2]["depends_on"], json!(["D-1"]));
    assert_eq!(tasks[0]["source"]["runs"][0]["summary"], "planned");
}

#[test]
fn a_broken_chain_of_maestro_is_refused_with_each_place() {
    let s = repository();
    s.loopx(&["init"]).ok();
    let mut broken = status();
    broken["steps"][2]["index"] = json!(7);
    broken["steps"][4]["status"] = json!("finished");
    s.write(".workflow/.maestro/ralph-1/status.json", broken.to_string());
    s.write(
        ".workflow/.maestro/maestro-2/status.json",
        status().to_string(),
    );
    let before = tip(&s);
    let refused = s.loopx(&["import", "maestro", "--json"]);
    let error = refused.error_json()["error"].clone();
    let said = error["blockers"].to_string();
    assert!(
        said.contains("ralph-1/status.json: steps[2]: expected `index` as 2"),
        "{said}"
    );
    assert!(said.contains("steps[4]: expected `status`"), "{said}");
    assert_eq!(tip(&s), before, "the sound session was not imported either");
}

/// The three forms of a team: TLS with a checkpoint, TLV4, TC with a role of its own.
fn teams(s: &Sandbox) {
    let team = ".workflow/.team";
    let task = |id: &str, owner: &str, on: &[&str], status: &str| json!({"id": id, "owner": owner, "status": status, "blocked_by": on, "description": format!("{id} of it"), "is_checkpoint_after": id == "QUALITY-001", "discuss_verdict": "consensus_reached"});
    let tls = json!({
        "session_id": "TLS-audit-2026-01-02", "mode": "full-lifecycle", "scope": "audit log", "status": "paused", "tasks_total": 3, "started_at": "2026-01-02T00:00:00Z",
        "pipeline": [task("RESEARCH-001", "analyst", &[], "completed"), task("QUALITY-001", "reviewer", &["RESEARCH-001"], "completed"), task("PLAN-001", "planner", &["QUALITY-001"], "pending")],
        "gc_loop_count": 1, "active_agents": [{"task_id": "PLAN-001"}],
    });
    s.write(
        format!("{team}/TLS-audit-2026-01-02/team-session.json"),
        tls.to_string(),
    );
    s.write(
        format!("{team}/TLS-audit-2026-01-02/wisdom/learnings.md"),
        "# Learnings\n\n- [2026-01-02] [analyst] clocks drift\n",
    );
    let done = json!({"title": "Research", "role": "analyst", "deps": [], "wave": 1, "status": "completed", "findings": "none"});
    let open = json!({"title": "Build", "role": "executor", "deps": ["RESEARCH-001"], "context_from": ["RESEARCH-001"], "wave": 2, "status": "pending"});
    let tlv4 = json!({"session_id": "TLV4-x", "requirement": "Log each write", "tasks": {"RESEARCH-001": done, "IMPL-001": open}});
    s.write(
        format!("{team}/TLV4-2026-01-02-log/tasks.json"),
        tlv4.to_string(),
    );
    s.write(
        format!("{team}/TLV4-2026-01-02-log/discoveries/RESEARCH-001.json"),
        "{}",
    );
    let tc = json!({"session_id": "TC-log", "task_description": "Log it", "status": "active", "team_name": "log", "roles": [{"name": "coder", "prefix": "IMPL", "role_spec": "role-specs/coder.md"}], "completed_tasks": ["IMPL-001"]});
    s.write(
        format!("{team}/TC-log-2026-01-02/team-session.json"),
        tc.to_string(),
    );
    let analysis = json!({"capabilities": ["coding"], "roles": ["coder"], "dependency_graph": {"IMPL-001": [], "IMPL-002": {"depends_on": ["IMPL-001"], "role": "coder"}}});
    s.write(
        format!("{team}/TC-log-2026-01-02/task-analysis.json"),
        analysis.to_string(),
    );
    s.write(
        format!("{team}/TC-log-2026-01-02/role-specs/coder.md"),
        ROLE,
    );
}

const ROLE: &str = "---\nrole: coder\nprefix: IMPL\ninner_loop: false\nmessage_types:\n  success: impl_complete\n  error: error\n---\n## Phase 2: Context\n\nRead.\n\n## Phase 3: Work\n\nWrite.\n\n## Phase 4: Check\n\nTest.\n";

#[test]
fn teams_of_ccw_become_sessions_with_tasks_roles_and_checkpoints() {
    let s = repository();
    s.loopx(&["init"]).ok();
    teams(&s);
    let report = s.loopx(&["import", "ccw", "--json"]).json();
    let tls = session(&report, "tls-audit-2026-01-02");
    assert_eq!(tls["stood"], "paused, 2 of 3 tasks done");
    for what in [
        "2 of 3 tasks were called done",
        "gc_loop_count",
        "workers hold nothing",
        "have a verdict",
    ] {
        assert!(says(tls, what), "{what}: {tls:#}");
    }
    let of_tls = tasks(&s, "sessions/tls-audit-2026-01-02");
    let ids: Vec<&str> = of_tls
        .iter()
        .filter_map(|task| task["id"].as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "RESEARCH-001",
            "QUALITY-001",
            "CHECKPOINT-QUALITY-001",
            "PLAN-001"
        ]
    );
    assert_eq!(of_tls[2]["kind"], "checkpoint");
    assert_eq!(of_tls[3]["depends_on"], json!(["CHECKPOINT-QUALITY-001"]));
    assert_eq!(of_tls[3]["role"], "planner");
    let of_fourth = tasks(&s, "sessions/tlv4-2026-01-02-log");
    assert_eq!(of_fourth[1]["depends_on"], json!(["RESEARCH-001"]));
    assert_eq!(of_fourth[0]["source"]["task"]["findings"], "none");
    let of_roles = tasks(&s, "sessions/tc-log-2026-01-02");
    assert_eq!(of_roles[0]["role"], "coder", "by its prefix");
    s.loopx(&["note", "list", "--all"])
        .fails_with(0)
        .says("clocks drift");
    s.loopx(&["fsck"]).ok();
    let before = tip(&s);
    s.loopx(&["import", "ccw"])
        .fails_with(0)
        .says("3 imported before");
    assert_eq!(tip(&s), before);
}

#[test]
fn a_team_of_ccw_is_looked_at_part_by_part_and_the_first_that_fails_is_named() {
    let s = repository();
    s.loopx(&["init"]).ok();
    let before = tip(&s);
    let folder = ".workflow/.team/TC-log-2026-01-02";
    let refused = |code: &str, place: &str| {
        let error = s
            .loopx(&["import", "ccw", "--json"])
            .fails_with(1)
            .error_json();
        assert_eq!(error["error"]["code"], code, "{error:#}");
        assert!(
            error["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .contains(place),
            "{error:#}"
        );
        assert_eq!(tip(&s), before);
    };
    s.loopx(&["import", "ccw"]).fails_with(4);
    s.write(format!("{folder}/artifacts/one.md"), "x\n");
    refused("import_session_invalid", "team-session.json");
    s.write(format!("{folder}/team-session.json"), "{");
    refused("import_session_invalid", "team-session.json:1:");
    s.write(
        format!("{folder}/team-session.json"),
        r#"{"session_id":"TC-log"}"#,
    );
    refused("import_session_invalid", "`task_description`");
    teams(&s);
    s.write(format!("{folder}/task-analysis.json"), "{}");
    refused("import_analysis_invalid", "`capabilities`");
    teams(&s);
    std::fs::remove_file(s.path().join(format!("{folder}/role-specs/coder.md"))).expect("removed");
    refused("import_role_invalid", "role-specs");
    s.write(format!("{folder}/role-specs/other.md"), ROLE);
    refused("import_role_invalid", "roles[0]");
    s.write(
        format!("{folder}/role-specs/coder.md"),
        "---\nrole: coder\nprefix: IMPL\n---\n",
    );
    refused("import_role_invalid", "coder.md:");
    teams(&s);
    let cycle = json!({"capabilities": [], "roles": [], "dependency_graph": {"IMPL-001": ["IMPL-002"], "IMPL-002": ["IMPL-001"]}});
    s.write(format!("{folder}/task-analysis.json"), cycle.to_string());
    refused("import_analysis_invalid", "IMPL-001");
    teams(&s);
    s.loopx(&["import", "ccw"]).fails_with(0).says("3 imported");
}
