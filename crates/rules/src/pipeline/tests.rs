//! Findings of the linter, and none in what the program brings.

use super::{Given, Ground, Pipeline, builtin, expand, lint, values};
use crate::task::decide::Points;
use std::collections::BTreeSet;

/// A name, a text, and what is found in it by line.
type Case = (&'static str, String, &'static [(&'static str, usize)]);

/// The findings of a text, each with its line.
fn found(text: &str) -> Vec<(&'static str, usize)> {
    let findings = match Pipeline::read("own", text, Some("own.toml")) {
        Ok(pipeline) => lint(&pipeline),
        Err(findings) => findings.0,
    };
    findings.iter().map(|one| (one.id, one.line)).collect()
}

/// A task with everything that it needs, and these lines besides.
fn task(id: &str, more: &str) -> String {
    format!(
        "[[nodes]]\nid = \"{id}\"\ntitle = \"Do {id}\"\ncriteria = [\"It says no\"]\nverification = {{ cmd = [\"true\"] }}\n{more}\n"
    )
}

/// A template of one task.
fn template(name: &str, more: &str) -> String {
    task("MEND", more).replace("[[nodes]]", &format!("[[templates.{name}]]"))
}

#[test]
fn the_linter_names_each_fault_with_its_line() {
    let gate = |more: &str| task("A", &format!("[[nodes.gates]]\nid = \"G\"\n{more}"));
    let cases: Vec<Case> = vec![
        ("nothing", task("A", ""), &[]),
        (
            "no task",
            "title = \"x\"\n".to_owned(),
            &[("pipeline_task_invalid", 1)],
        ),
        (
            "no toml",
            "[[nodes]\n".to_owned(),
            &[("pipeline_unreadable", 1)],
        ),
        (
            "a key",
            task("A", "titel = \"x\""),
            &[("pipeline_unreadable", 6)],
        ),
        (
            "a type",
            task("A", "cap = \"x\""),
            &[("pipeline_unreadable", 6)],
        ),
        (
            "a key of a gate",
            gate("vews = []"),
            &[("pipeline_unreadable", 8)],
        ),
        ("an id", task("A b", ""), &[("pipeline_id_invalid", 2)]),
        (
            "an id twice",
            task("A", "") + &task("a", ""),
            &[("pipeline_id_repeated", 8)],
        ),
        (
            "the id of a gate twice",
            gate("") + &task("G", ""),
            &[("pipeline_id_repeated", 10)],
        ),
        (
            "an edge",
            task("A", "depends_on = [\"B\"]"),
            &[("pipeline_dependency_unknown", 2)],
        ),
        (
            "a path that leads out of the code",
            task("A", "when = { has = [\"/etc/passwd\"] }") + &task("B", "when = { has = [\"a/../x\"] }"),
            &[
                ("pipeline_condition_never", 2),
                ("pipeline_condition_never", 8),
            ],
        ),
        (
            "files of other tasks",
            task("A", "reads = [\"tasks/NOPE/x.md\", \"tasks/B/x.md\", \"tasks/A/x.md\", \"docs/x.md\"]")
                + &task("B", "depends_on = [\"A\"]\nreads = [\"tasks/A/x.md\"]\noutputs = [\"tasks/A/mine.md\", \"tasks/{id}/x.md\"]"),
            &[
                ("pipeline_read_never", 2),
                ("pipeline_read_never", 2),
                ("pipeline_output_elsewhere", 8),
            ],
        ),
        (
            "files of gates",
            task("A", "[[nodes.gates]]\nid = \"G\"\noutputs = [\"tasks/{id}/x.md\", \"tasks/A/x.md\", \"tasks/{nope}/x.md\"]"),
            &[
                ("pipeline_output_elsewhere", 7),
                ("pipeline_placeholder_unknown", 7),
            ],
        ),
        (
            "a cycle",
            task("A", "depends_on = [\"B\"]") + &task("B", "depends_on = [\"A\"]"),
            &[("pipeline_cycle", 2)],
        ),
        (
            "a gate that waits for what it holds",
            gate("judges = [\"B\"]") + &task("B", "depends_on = [\"A\"]"),
            &[("pipeline_gate_waits", 7)],
        ),
        (
            "what a parameter is instead",
            "[params.p]\nvalues = [\"a\", \"b\"]\ndefault = \"a\"\ninstead = [{ when = { q = \"x\" }, value = \"c\" }]\n".to_owned()
                + &task("A", "description = \"{p}\""),
            &[
                ("pipeline_param_unknown", 1),
                ("pipeline_condition_never", 1),
            ],
        ),
        (
            "a parameter that is another one instead, and that one the first",
            "[params.p]\ndefault = \"a\"\ninstead = [{ when = { q = \"x\" }, value = \"c\" }]\n[params.q]\ndefault = \"{p}\"\n".to_owned()
                + &task("A", "description = \"{p}\""),
            &[("pipeline_placeholder_unknown", 1)],
        ),
        (
            "a role",
            task("A", "role = \"x\""),
            &[("pipeline_role_unknown", 2)],
        ),
        (
            "a placeholder",
            task("A", "description = \"{x} {gate}\""),
            &[
                ("pipeline_placeholder_unknown", 2),
                ("pipeline_placeholder_unknown", 2),
            ],
        ),
        (
            "a template that is not there",
            gate("repair = \"mend\"\ncap = 1"),
            &[("pipeline_template_missing", 7)],
        ),
        (
            "a loop without a cap",
            gate("repair = \"mend\"") + &template("mend", ""),
            &[("pipeline_loop_uncapped", 7)],
        ),
        (
            "a template that inserts itself",
            gate("repair = \"mend\"\ncap = 1")
                + &template(
                    "mend",
                    "[[templates.mend.gates]]\nid = \"H\"\nrepair = \"mend\"\ncap = 1",
                ),
            &[("pipeline_cycle", 11)],
        ),
        (
            "a parameter of a condition",
            task("A", "when = { params = { x = \"1\" } }"),
            &[("pipeline_param_unknown", 2)],
        ),
        (
            "a value that never is",
            task("A", "when = { params = { x = \"3\" } }")
                + "[params.x]\nvalues = [\"1\", \"2\"]\n",
            &[("pipeline_condition_never", 2)],
        ),
        (
            "a path that is there and is not",
            task("A", "when = { has = [\"x\"], lacks = [\"x\"] }"),
            &[("pipeline_condition_never", 2)],
        ),
        (
            "a condition in a template",
            gate("repair = \"mend\"\ncap = 1") + &template("mend", "when = { has = [\"x\"] }"),
            &[("pipeline_condition_never", 11)],
        ),
        (
            "a default that it cannot have",
            task("A", "description = \"{x}\"") + "[params.x]\nvalues = [\"1\"]\ndefault = \"2\"\n",
            &[("pipeline_param_unknown", 1)],
        ),
        (
            "a rubric",
            gate("rubric = { pass = 200 }"),
            &[("pipeline_task_invalid", 7)],
        ),
        (
            "a criterion",
            task("A", "").replace("It says no", "works"),
            &[("pipeline_task_invalid", 2)],
        ),
        (
            "a fault that the list would have beside one of the pipeline, in its line and in another",
            task("A", "depends_on = [\"X\"]").replace("It says no", "works")
                + &task("B", "role = \"x\"")
                + &task("C", "").replace("It says no", "fine"),
            &[
                ("pipeline_dependency_unknown", 2),
                ("pipeline_task_invalid", 2),
                ("pipeline_role_unknown", 8),
                ("pipeline_task_invalid", 14),
            ],
        ),
        (
            "what nothing uses",
            task("A", "") + "[params.x]\n[roles.y]\n[[templates.z]]\nid = \"Z\"\n",
            &[
                ("pipeline_unused", 1),
                ("pipeline_unused", 1),
                ("pipeline_unused", 1),
            ],
        ),
        (
            "an unknown one to extend",
            "extends = \"spec\"\n".to_owned(),
            &[("pipeline_extends_unknown", 1)],
        ),
        (
            "something to take out that is not there",
            "extends = \"spec-only\"\nremove = [\"X\"]\n".to_owned(),
            &[("pipeline_extends_unknown", 1)],
        ),
        (
            "one of the program's",
            "extends = [\"spec-only\", \"fullstack\"]\n".to_owned(),
            &[],
        ),
    ];
    for (name, text, wanted) in cases {
        assert_eq!(found(&text), wanted, "{name}:\n{text}");
    }
}

#[test]
fn the_program_brings_none_with_a_finding() {
    for name in builtin::names() {
        let pipeline = Pipeline::built_in(name)
            .expect("it is there")
            .expect("it is read");
        assert_eq!(lint(&pipeline), [], "{name}");
    }
}

#[test]
fn each_finding_of_the_table_is_one_that_the_linter_has() {
    let text = [
        include_str!("definition.rs"),
        include_str!("lint.rs"),
        include_str!("mod.rs"),
        include_str!("skills.rs"),
    ]
    .concat();
    let known: BTreeSet<&str> = super::FINDINGS.iter().map(|one| one.id).collect();
    for id in known {
        assert!(text.contains(&format!("\"{id}\"")), "{id}");
    }
}

/// The lines of the chain with these parameters, none asked of the code.
fn chain(params: &[(&str, &str)]) -> Vec<super::Line> {
    let chain = Pipeline::built_in("chain")
        .expect("it is there")
        .expect("it is read");
    let params: Vec<(String, String)> = [("check", "true")]
        .iter()
        .chain(params)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let given = Given {
        session: "s",
        intent: "it",
        params: &params,
    };
    let values = values(&chain, &given).expect("values");
    let ground = Ground {
        has: &|_| false,
        depends: &|_| false,
    };
    expand(&chain, &values, "", Some(&ground)).lines
}

/// The quality modes of task-chains 7: which stages there are, and that each waits for the one before.
#[test]
fn the_chain_has_the_stages_of_its_start_and_its_quality() {
    let rows: [(&[(&str, &str)], &str); 4] = [
        (
            &[],
            "analyze plan execute verify post-verify review post-review test post-test \
             milestone-audit milestone-complete post-milestone",
        ),
        (
            &[("start", "verify"), ("quality", "quick"), ("goals", "yes")],
            "verify post-verify review post-review milestone-audit goal-audit post-goal-audit \
             milestone-complete post-milestone",
        ),
        (
            &[
                ("start", "analyze-macro"),
                ("quality", "full"),
                ("coverage", "low"),
                ("size", "small"),
            ],
            "analyze-macro post-analyze-scope plan execute verify post-verify business-test \
             post-business-test review post-review test-gen test post-test milestone-audit \
             milestone-complete post-milestone",
        ),
        (
            &[("start", "brainstorm"), ("quality", "quick")],
            "brainstorm blueprint init analyze-macro post-analyze-scope roadmap analyze plan execute verify \
             post-verify review post-review milestone-audit milestone-complete post-milestone",
        ),
    ];
    for (params, wanted) in rows {
        let lines = chain(params);
        let ids: Vec<&str> = lines.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(ids.join(" "), wanted, "{params:?}");
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let list = crate::task::file::read(&text.join("\n")).expect("a list");
        for pair in list.nodes.windows(2) {
            let on: Vec<&str> = pair[1]
                .depends_on
                .iter()
                .map(|edge| edge.on.as_str())
                .collect();
            assert_eq!(on, [pair[0].id.as_str()], "{params:?}");
        }
    }
}

/// The cadence of task-chains 8: behind every third stage, and not beside the gate that a stage has of its own.
#[test]
fn the_chain_is_held_against_the_request_behind_every_third_stage() {
    let lines = chain(&[("reground", "yes")]);
    let ids: Vec<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(
        ids.join(" "),
        "analyze plan execute post-reground-1 verify post-verify review post-review test post-test \
         milestone-audit post-reground-2 milestone-complete post-milestone"
    );
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let list = crate::task::file::read(&text.join("\n")).expect("a list");
    for pair in list.nodes.windows(2) {
        let on: Vec<&str> = pair[1]
            .depends_on
            .iter()
            .map(|edge| edge.on.as_str())
            .collect();
        assert_eq!(on, [pair[0].id.as_str()]);
    }
}

#[test]
fn what_waited_for_a_gate_that_is_left_out_waits_for_its_task() {
    let text = "title = \"Own\"\n[params.deep]\nvalues = [\"yes\", \"no\"]\ndefault = \"no\"\n"
        .to_owned()
        + &task(
            "A",
            "[[nodes.gates]]\nid = \"G\"\nwhen = { params = { deep = \"yes\" } }\n",
        )
        + &task("B", "depends_on = [\"G\"]\n");
    assert_eq!(found(&text), []);
    let own = Pipeline::read("own", &text, None).expect("it is read");
    let ids = |deep: &str| {
        let params = [("deep".to_owned(), deep.to_owned())];
        let given = Given {
            session: "s",
            intent: "it",
            params: &params,
        };
        let values = values(&own, &given).expect("values");
        let ground = Ground {
            has: &|_| false,
            depends: &|_| false,
        };
        let lines = expand(&own, &values, "", Some(&ground)).lines;
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let list = crate::task::file::read(&text.join("\n")).expect("a list");
        let last = list.nodes.last().expect("a task");
        (list.nodes.len(), last.depends_on[0].on.to_string())
    };
    assert_eq!(ids("yes"), (3, "G".to_owned()));
    assert_eq!(ids("no"), (2, "A".to_owned()));
}

/// Chain C10, with the template that the program brings: eleven items in their order, and the gate itself once more.
#[test]
fn chain_c10_what_mends_a_test_stands_in_the_order_of_the_table() {
    let lines = chain(&[]);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let list = crate::task::file::read(&text.join("\n")).expect("a list");
    let gate = |id: &str| {
        let node = list.nodes.iter().find(|node| node.id.as_str() == id);
        node.and_then(|node| node.gate.clone()).expect("a gate")
    };
    let ids = |id: &str| -> Vec<String> {
        gate(id)
            .repair
            .iter()
            .map(|node| node.id.to_string())
            .collect()
    };
    assert_eq!(ids("post-verify"), ["debug", "plan", "execute", "verify"]);
    assert_eq!(
        ids("post-test"),
        [
            "debug",
            "plan",
            "execute",
            "verify",
            "post-verify",
            "business-test",
            "post-business-test",
            "review",
            "post-review",
            "test-gen",
            "test"
        ]
    );
    for id in ["post-verify", "post-review", "post-test"] {
        assert_eq!(gate(id).cap, 2, "{id}");
    }
}

/// Teams-and-tasks 4.13: what the tester does by where they stand.
#[test]
fn the_gate_of_the_tests_says_how_its_repair_goes_about_it() {
    let mode = Pipeline::built_in("impl-only")
        .expect("it is there")
        .expect("it is read");
    let params = [("check".to_owned(), "true".to_owned())];
    let given = Given {
        session: "s",
        intent: "it",
        params: &params,
    };
    let values = values(&mode, &given).expect("values");
    let lines = expand(&mode, &values, "", None).lines;
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let list = crate::task::file::read(&text.join("\n")).expect("a list");
    let gate = list
        .nodes
        .iter()
        .find(|node| node.id.as_str() == "GATE-TEST");
    let gate = gate.and_then(|node| node.gate.as_deref()).expect("a gate");
    for (repair, score, criticals, wanted) in [
        (1, 30, 0, "conservative"),
        (3, 60, 2, "conservative"),
        (5, 85, 2, "conservative"),
        (4, 60, 1, "surgical"),
        (9, 30, 4, "surgical"),
        (4, 49, 0, "aggressive"),
        (8, 60, 5, "aggressive"),
        (4, 60, 0, "conservative"),
    ] {
        let found = gate.strategy(repair, Some(Points::whole(score)), criticals);
        let found = found.expect("a strategy");
        assert!(
            found.starts_with(wanted),
            "{repair} {score} {criticals}: {found}"
        );
    }
}
