//! Agreement to what is run: a check that somebody else wrote runs here only after somebody here said so.

use crate::support::drive::Drive;
use crate::support::keys::{ADA, BOB, RITA, by, everybody};
use crate::support::tasks::{DEMO, clones_building, planning, task, there};
use serde_json::Value;

fn refused(out: &crate::support::Output) -> Value {
    let error = out.clone().fails_with(6).error_json()["error"].clone();
    assert_eq!(error["code"], "check_not_trusted", "{error:#}");
    error
}

#[test]
fn a_check_of_somebody_else_runs_once_somebody_here_said_so() {
    let all = clones_building(
        2,
        &[
            task("T-1", &[], Some(&["test", "-f", "code.txt"])),
            task("T-2", &[], Some(&["touch", "ran by push"])),
        ],
    );
    // Whoever wrote the list just runs it.
    all.loopx(0, &["-s", DEMO, "take", "T-1"]).ok();
    all.loopx(0, &["-s", DEMO, "task", "done"]).ok();
    all.settle();
    all.loopx(1, &["-s", DEMO, "take", "T-2"]).ok();
    let build = ["-s", DEMO, "build", "--take-over", "--reason", "here"];
    all.loopx(1, &build).ok();
    let tries: [&[&str]; 4] = [
        &["run", "--task", "T-2"],
        &["run", "--all"],
        &["run"],
        &["task", "done"],
    ];
    for args in tries {
        let out = all.loopx(1, &[&["--json", "-s", DEMO], args].concat());
        let error = refused(&out);
        let said = error["blockers"][0]["message"].as_str().expect("a message");
        assert!(said.contains("touch 'ran by push'"), "{error:#}");
        assert!(
            said.contains("Person 0 <p0@example.org> wrote it"),
            "{error:#}"
        );
        let help = error["help"].as_str().expect("help");
        assert!(help.contains("--trust"), "{args:?}: {error:#}");
        assert!(!all.dir(1).join("ran by push").exists(), "{args:?}");
    }
    // An agent gives no such word.
    let trust = ["-s", DEMO, "run", "--task", "T-2", "--trust"];
    let agent = all.call(1).env("CLAUDECODE", "1").args(&trust).run();
    agent.fails_with(6).says("comes from the agent claude");
    assert!(!all.dir(1).join("ran by push").exists());
    all.git(1, &["config", "loopx.trust", "all"]).ok();
    all.loopx(1, &["-s", DEMO, "run", "--task", "T-1"]).ok();
    all.git(1, &["config", "--unset", "loopx.trust"]).ok();
    let out = all.loopx(1, &trust);
    assert!(all.dir(1).join("ran by push").exists(), "{out:?}");
    // Said once for this content: also an agent runs it now, and nothing else.
    std::fs::remove_file(all.dir(1).join("ran by push")).expect("a file");
    let again = ["-s", DEMO, "--json", "run", "--task", "T-2"];
    let agent = all.call(1).env("CLAUDECODE", "1").args(&again).run();
    assert!(all.dir(1).join("ran by push").exists(), "{agent:?}");
    refused(&all.loopx(1, &["-s", DEMO, "--json", "run", "--task", "T-1"]));
}

/// Each word is its writer's, also where a merge put two of them into one list; a third reads both, and says so once.
#[test]
fn words_of_two_others_are_asked_for_and_agreed_to_at_once() {
    let checks = |id: &str, words: &[&str]| task(id, &[], Some(words));
    let all = clones_building(
        2,
        &[
            checks("T-1", &["true", "one"]),
            checks("T-2", &["true", "two"]),
        ],
    );
    let amend = |at: usize, tasks: &[Value]| {
        let path = all.s.root().join(format!("new-{at}.jsonl"));
        let lines: Vec<String> = tasks.iter().map(Value::to_string).collect();
        std::fs::write(&path, lines.join("\n") + "\n").expect("a file");
        let path = path.to_str().expect("UTF-8").to_owned();
        all.loopx(at, &["-s", DEMO, "amend", &path, "--reason", "apart"])
            .ok();
    };
    amend(
        0,
        &[
            checks("T-1", &["true", "uno"]),
            checks("T-2", &["true", "two"]),
        ],
    );
    amend(
        1,
        &[
            checks("T-1", &["true", "one"]),
            checks("T-2", &["true", "due"]),
        ],
    );
    all.settle();
    all.assert_agreed();
    // Each wrote one of the two, and approved no list that has both.
    let build = ["-s", DEMO, "build", "--take-over", "--reason", "here"];
    all.loopx(1, &build).ok();
    let run = ["-s", DEMO, "--json", "run", "--all"];
    let error = refused(&all.loopx(1, &run));
    let said = error["blockers"].to_string();
    assert!(
        said.contains("true uno") && !said.contains("true due"),
        "{error:#}"
    );
    let third = all.s.root().join("third");
    let remote = all.remote();
    let [third, remote] = [&third, &remote].map(|path| path.to_str().expect("UTF-8").to_owned());
    all.git(0, &["clone", "--quiet", &remote, &third]).ok();
    let call = |args: &[&str]| {
        let call = all.s.call(crate::support::LOOPX).cwd(&third).args(args);
        let call = call.env("GIT_AUTHOR_EMAIL", "p9@example.org");
        call.env("GIT_COMMITTER_EMAIL", "p9@example.org").run()
    };
    all.s
        .git_in(&third, &["checkout", "--quiet", "--detach"])
        .ok();
    call(&["init"]).ok();
    call(&["sync"]).ok();
    call(&build).ok();
    let error = refused(&call(&run));
    assert_eq!(
        error["blockers"].as_array().map(Vec::len),
        Some(2),
        "{error:#}"
    );
    // One word for both, remembered by their content.
    call(&["-s", DEMO, "run", "--all", "--trust"]).ok();
    call(&["-s", DEMO, "run", "--task", "T-1"]).ok();
    call(&["-s", DEMO, "run", "--task", "T-2"]).ok();
}

/// The giver of a verdict that let the work go on has read what it rests on.
#[test]
fn an_approving_verdict_is_agreement_and_one_that_asks_for_changes_is_none() {
    for agrees in [true, false] {
        let d = Drive::reviewing();
        let run = ["--json", "run", "--task", "VS-1"];
        refused(&d.by((RITA.0, RITA.1), &run));
        if agrees {
            d.verdict(&["--verdict", "approve"])
        } else {
            d.send_back("build")
        };
        let out = d.by((RITA.0, RITA.1), &run);
        if agrees {
            drop(out.json())
        } else {
            drop(refused(&out))
        }
    }
}

#[test]
fn words_that_another_person_brings_into_ones_own_list_are_not_ones_own() {
    let s = planning(&[task("T-1", &[], Some(&["true"]))]);
    s.loopx(&["save"]).ok();
    let bob = |args: &[&str]| {
        let call = there(&s, s.path(), args).env("GIT_AUTHOR_NAME", "Bob");
        let call = call.env("GIT_AUTHOR_EMAIL", "bob@example.org");
        let call = call.env("GIT_COMMITTER_NAME", "Bob");
        call.env("GIT_COMMITTER_EMAIL", "bob@example.org").run()
    };
    bob(&[
        "task",
        "add",
        "More",
        "--id",
        "T-2",
        "--criterion",
        "it is there",
        "--",
        "touch",
        "stranger",
    ])
    .ok();
    // Ada changes another line of the file that Bob wrote, and approves nothing.
    s.loopx(&["task", "edit", "T-1", "--title", "Again"]).ok();
    let run = ["--json", "run", "--task", "T-2"];
    refused(&s.loopx(&run));
    assert!(!s.path().join("stranger").exists());
    s.loopx(&["run", "--task", "T-1"]).ok();
    // Whoever approves the plan agreed to what stands in it.
    s.loopx(&["approve", "--to", "build", "--reason", "read"])
        .ok();
    let out = s.loopx(&run);
    assert!(out.code.is_some());
    assert!(s.path().join("stranger").exists());
    bob(&["run", "--task", "T-2"]).ok();
    refused(&bob(&["run", "--task", "T-1"]));
}

#[test]
fn an_approval_that_the_signers_of_the_target_accept_is_enough_for_everybody() {
    let files = [("loopx.toml", ""), ("loopx.signers", &*everybody())];
    let run = ["run", "--task", "VS-1"];
    let d = Drive::planned_with(&files);
    by(&d, BOB, &["approve", "--to", "build", "--no-sign"]).ok();
    refused(&by(&d, RITA, &run));
    d.git(&["config", "loopx.trust", "signed"]).ok();
    refused(&by(&d, ADA, &run));
    refused(&by(&d, BOB, &run));
    let d = Drive::planned_with(&files);
    by(&d, BOB, &["approve", "--to", "build", "--sign"]).ok();
    by(&d, RITA, &run).ok();
    d.git(&["config", "loopx.trust", "signed"]).ok();
    by(&d, ADA, &run).ok();
}

/// An address in a pushed record is a claim: only what was done in this clone is one's own.
#[test]
fn whoever_claims_my_address_has_nothing_run_here() {
    let all = clones_building(2, &[task("T-1", &[], Some(&["true"]))]);
    let path = all.s.root().join("new.jsonl");
    let evil = task("T-1", &[], Some(&["touch", "ran by push"]));
    std::fs::write(&path, format!("{evil}\n")).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    let claimed = |args: &[&str]| {
        let call = all.call(1).args(args);
        let call = call.env("GIT_AUTHOR_EMAIL", "P0@example.org");
        call.env("GIT_COMMITTER_EMAIL", "P0@example.org").run()
    };
    claimed(&["-s", DEMO, "amend", &path, "--reason", "mine"]).ok();
    all.settle();
    let run = ["-s", DEMO, "--json", "run", "--task", "T-1"];
    refused(&all.loopx(0, &run));
    assert!(!all.dir(0).join("ran by push").exists());
    // Whoever wants to know people by their address says so.
    all.git(0, &["config", "loopx.trust", "names"]).ok();
    let ran = all.loopx(0, &run);
    assert!(all.dir(0).join("ran by push").exists(), "{ran}");
}
