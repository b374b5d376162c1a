//! Fewer words to type (findings U9, U16): which session is meant, and what a name may leave out.

use crate::support::session::{self, at, begin, start};
use crate::support::{LOOPX, Sandbox};

/// The session `demo` on its branch, and another of each name without a branch.
fn with(ids: &[&str]) -> Sandbox {
    Sandbox::once(format!("{ids:?}"), || {
        let s = Sandbox::new();
        begin(&s, "");
        for id in ids {
            s.loopx(&["start", "--no-branch", id]).ok();
        }
        s
    })
}

#[test]
fn u16_a_session_is_named_by_an_argument_and_by_the_beginning_of_its_id() {
    let s = with(&["fix-login", "fix-logout", "fix"]);
    for (line, id) in [
        ("status fix-logi", "fix-login"),
        ("status fix", "fix"),
        ("show fix-logo", "fix-logout"),
        ("log fix-logi", "fix-login"),
        ("-s fix-logi status", "fix-login"),
        ("status", "demo"),
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.push("--json");
        let document = s.loopx(&words).json();
        let found = [&document["session"], &document["state"]["id"]];
        assert!(
            found.iter().any(|found| **found == id),
            "{line}: {document:#}"
        );
    }
    let environment = s
        .call(LOOPX)
        .args(&["status", "--json"])
        .env("LOOPX_SESSION", "fix-logo");
    assert_eq!(environment.run().json()["session"], "fix-logout");
    for line in [
        "status fix-lo",
        "-s fix-lo status",
        "use fix-lo",
        "abandon fix-lo",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let before = session::tip(&s);
        s.loopx(&words)
            .fails_with(2)
            .says("`fix-lo` is the beginning of 2 sessions: fix-login, fix-logout");
        assert_eq!(session::tip(&s), before, "{line}");
    }
    s.loopx(&["-s", "demo", "status", "fix"])
        .fails_with(2)
        .says("expected one session, found `demo` and `fix`");
    s.loopx(&["status", "nobody"])
        .fails_with(4)
        .says("no session is named `nobody`");
    s.loopx(&["abandon", "fix-logi"]).ok();
    let left = s.loopx(&["status", "fix-login", "--json"]).json();
    assert!(left["next_action"].is_null(), "{left:#}");
    s.loopx(&["status", "fix", "--json"]).ok();
    // What leads on from a session that had to be named names it in full.
    s.loopx(&["status", "fix-logo"])
        .says("next: git loopx -s fix-logout edit spec.md");
}

#[test]
fn u16_a_word_of_diff_is_a_session_or_a_point_and_never_a_guess() {
    let s = with(&["other", "2"]);
    session::put(&s, "spec.md", session::READY_SPEC);
    let diff = |words: &[&str]| s.loopx(&[&["diff"], words, &["--json"]].concat());
    assert_eq!(diff(&["other"]).json()["session"], "other");
    assert_eq!(diff(&["oth", "1"]).json()["session"], "other");
    assert_eq!(diff(&["other", "1", "1"]).json()["from"], "1");
    let points = diff(&["1", "@2"]).json();
    assert_eq!(points["session"], "demo", "{points:#}");
    assert_eq!(points["differences"][0]["artifact"], "spec.md");
    diff(&["2"]).fails_with(2);
    insta::assert_snapshot!(s.loopx(&["diff", "2"]).steady(), @"
    $ git-loopx diff 2
    --- stderr
    error: `2` is a point of session demo and the session 2

    hint: git loopx diff @NUMBER  or  git loopx -s 2 diff
    --- exit 2
    ");
    assert_eq!(diff(&["@2"]).json()["session"], "demo");
    assert_eq!(diff(&["-s", "2", "1"]).json()["session"], "2");
    diff(&["nothing"]).fails_with(4);
}

#[test]
fn u16_an_artifact_is_named_by_the_beginning_of_its_name() {
    let s = with(&[]);
    let text = s.loopx(&["cat", "int"]).ok();
    assert_eq!(text, s.loopx(&["cat", "intent.md"]).ok());
    s.loopx(&["cat", "de"])
        .fails_with(2)
        .says("`de` is the beginning of 2 artifacts: development-plan.md, change/design.md");
    s.loopx(&["cat", "nothing"]).fails_with(4);
}

#[test]
fn u16_the_log_can_be_short() {
    let s = with(&[]);
    session::put(&s, "spec.md", session::READY_SPEC);
    let all = s.loopx(&["log", "--oneline"]).ok();
    assert_eq!(all.lines().count(), 2, "{all}");
    let last = s.loopx(&["log", "-n", "1", "--oneline"]).ok();
    assert_eq!(last, "@2   save  [spec.md]\n");
    let json = s.loopx(&["log", "-n1", "--json"]).json();
    assert_eq!(json["operations"].as_array().map(Vec::len), Some(1));
    assert_eq!(s.loopx(&["log", "-n", "0"]).ok(), "");
}

#[test]
fn u9_what_changes_a_session_is_not_done_from_a_branch_that_is_not_its_own() {
    let s = with(&[]);
    s.git(&["switch", "-q", "main"]).ok();
    let before = session::tip(&s);
    for line in [
        "abandon",
        "clarify",
        "save",
        "undo",
        "approve --to plan",
        "archive",
        "edit spec.md",
        "checkout",
        "run -- true",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        s.loopx(&words)
            .fails_with(2)
            .says("the branch main is bound to no session, and the only active session, demo, is bound to demo")
            .says("hint: git switch demo  (or say that it is meant: -s demo)");
    }
    assert_eq!(session::tip(&s), before);
    s.loopx(&["status"]).ok();
    s.git(&["switch", "-q", "--detach"]).ok();
    s.loopx(&["abandon"])
        .fails_with(2)
        .says("a detached HEAD is checked out");
    s.loopx(&["-s", "demo", "abandon"]).ok();
}

#[test]
fn u9_a_branch_whose_session_ended_is_named_with_how_it_ended() {
    let s = with(&[]);
    s.git(&["switch", "-q", "-c", "second", "main"]).ok();
    s.loopx(&["start", "second"]).ok();
    s.loopx(&["abandon", "--reason", "no use"]).ok();
    insta::assert_snapshot!(s.loopx(&["undo"]).steady(), @"
    $ git-loopx undo
    --- stderr
    error: the branch second is bound to no session, and the only active session, demo, is bound to demo; second, the last on this branch, was abandoned

    hint: git switch demo  (or say which is meant: -s demo or -s second)
    --- exit 2
    ");
    s.loopx(&["-s", "second", "undo", "--reason", "use"]).ok();
}

#[test]
fn u9_a_session_without_a_branch_is_taken_where_no_other_is_meant_and_named() {
    let s = Sandbox::new();
    s.commit_file("a", "a", "first").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--no-branch", "alone"]).ok();
    let out = s.loopx(&["clarify"]).fails_with(1);
    assert!(
        out.stderr
            .contains("(session alone, the only active one: no branch is bound to it)"),
        "{out}"
    );
    let quiet = s.loopx(&["clarify", "--quiet"]).fails_with(1);
    assert!(!quiet.stderr.contains("the only active one"), "{quiet}");
    let json = s.loopx(&["clarify", "--json"]).fails_with(1);
    assert!(!json.stderr.contains("the only active one"), "{json}");
}

#[test]
fn u17_what_is_about_the_code_is_refused_on_another_branch() {
    let s = at("build", "src/**", "");
    session::put(
        &s,
        "execution-record.md",
        "---\ncompletion_claim: full\n---\n# E\n\n## Changes\n\nx\n",
    );
    s.git(&["switch", "-q", "main"]).ok();
    let before = session::tip(&s);
    for line in [
        "run --task VS-1",
        "run -- true",
        "build --report execution=complete --reason x",
        "build",
        "approve --to review",
    ] {
        let words: Vec<&str> = ["-s", "demo"].into_iter().chain(line.split(' ')).collect();
        s.loopx(&words)
            .fails_with(1)
            .says("session demo is bound to demo, and main is checked out here")
            .says("hint: git switch demo");
    }
    assert_eq!(session::tip(&s), before);
    start(&s, "next");
    s.loopx(&["-s", "demo", "run", "--", "true"])
        .fails_with(1)
        .says("next is checked out here");
    s.git(&["switch", "-q", "demo"]).ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
}

#[test]
fn edits_that_a_switch_would_overwrite_are_put_aside_before_the_switch_is_next() {
    let s = at("build", "src/**", "");
    s.commit_file("src/one.txt", "of demo\n", "work").ok();
    s.git(&["switch", "-q", "main"]).ok();
    let next = || s.loopx(&["-s", "demo", "next"]).ok();
    s.write("src/other.txt", "in nobody's way\n");
    assert_eq!(next(), "git switch demo\n");
    s.write("src/one.txt", "of nobody\n");
    assert_ne!(s.git(&["switch", "demo"]).code, Some(0));
    let words = "stash push -m 'put aside for git loopx' --include-untracked -- src/one.txt";
    assert_eq!(next(), format!("git {words}\n"));
    let status = s.loopx(&["-s", "demo", "status"]).ok();
    assert!(status.contains("git stash pop"), "{status}");
    let command = format!("git {words}");
    s.call("sh").args(&["-c", &command]).run().ok();
    assert_eq!(next(), "git switch demo\n");
    s.git(&["switch", "demo"]).ok();
    assert_eq!(s.read("src/one.txt"), "of demo\n");
}

#[test]
fn approve_without_a_stage_goes_on_and_enter_takes_the_step_too() {
    let s = Sandbox::new();
    begin(&s, "");
    s.loopx(&["approve"]).fails_with(1).says("clarify->plan");
    session::put(&s, "spec.md", session::READY_SPEC);
    s.loopx(&["approve"]).ok();
    s.loopx(&["approve"]).fails_with(5);
    // What is approved already is not approved again, and the step is taken all the same.
    s.loopx(&["approve", "--enter"])
        .says("demo: in stage plan")
        .ok();
    let s = at("build", "src/**", "");
    let record = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
                  completion_claim: full\n---\n# E\n\n## Changes\n\nx\n";
    session::put(&s, "execution-record.md", record);
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    let before = session::tip(&s);
    let show = s.loopx(&["approve", "--show"]).fails_with(1);
    insta::assert_snapshot!(show.steady(), @"
    $ git-loopx approve --show
    demo: build->review
      0000000000  intent.md
      0000000000  spec.md
      0000000000  plan.md
      0000000000  architecture.md
      0000000000  development-plan.md
      0000000000  test-plan.md
      0000000000  execution-record.md
      0000000000  change/proposal.md
      0000000000  change/spec-delta.md
      0000000000  change/design.md
      0000000000  change/tasks.md
      0000000000  change/slices.json
    code    0000000000..0000000000, 0 commits, tree 0000000000
    check   passed   approved-plan  the plan was approved for build
    check   missing  VS-1  true
    check   missing  verification  a command that passed on the present code
      checks without evidence for the present code: VS-1 has not run, verification has not run
          git loopx run --task VS-1
    now: write the code on branch demo, in src/**, and commit it
    --- exit 1
    ");
    assert!(show.stdout.contains("now: write the code"), "{show}");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.write(
        ".loopx/demo/execution-record.md",
        record.replace("\nx\n", "\nmore\n"),
    );
    let after = session::tip(&s);
    let show = s.loopx(&["approve", "--show"]).ok();
    assert!(
        show.contains("  execution-record.md  (edited, not saved yet)\n"),
        "{show}"
    );
    assert!(show.contains("check   passed   VS-1  true\n"), "{show}");
    assert!(show.contains(", 0 commits, tree "), "{show}");
    assert!(show.contains("git loopx approve --to review"), "{show}");
    assert_ne!(before, after);
    assert_eq!(session::tip(&s), after, "nothing was written");
    let document = s.loopx(&["approve", "--show", "--json"]).json();
    assert_eq!(document["transition"], "build->review");
    assert_eq!(document["checks"][0]["proof"], "passed", "{document:#}");
    let entered = s.loopx(&["approve", "--enter", "--json"]).json();
    assert_eq!(entered["stage"], "review", "{entered:#}");
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--enter"])
        .says("the session is done")
        .ok();
    s.loopx(&["approve"])
        .fails_with(1)
        .says("from stage done only `archive` leads on");
}

#[test]
fn a_verdict_opens_the_review_where_that_is_approved_and_a_refused_one_opens_nothing() {
    let s = at("build", "src/**", "");
    s.loopx(&["review", "--verdict", "approve"])
        .fails_with(1)
        .says("needs an approval of build->review first");
    let record = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
                  completion_claim: full\n---\n# E\n\n## Changes\n\nx\n";
    session::put(&s, "execution-record.md", record);
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["approve"]).ok();
    let before = session::tip(&s);
    s.loopx(&["review", "--verdict", "approve", "--finding", "high: no"])
        .fails_with(1)
        .says("cannot stand beside a high finding");
    assert_eq!(session::tip(&s), before, "the review was not opened");
    let done = s
        .loopx(&["review", "--verdict", "approve", "--json"])
        .json();
    assert_eq!(done["stage"], "review", "{done:#}");
    assert_eq!(done["entered"], true, "{done:#}");
    assert_eq!(done["verdict"]["verdict"], "approve", "{done:#}");
    s.loopx(&["fsck"]).ok();
    s.loopx(&["approve"]).says("the session is done").ok();
}
