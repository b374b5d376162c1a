//! A review shows itself (first-minutes U13): what it covers, what holds, what was found before, and how to read it.

use crate::support::drive::{DELTA, Drive, RITA};
use crate::support::{LOOPX, Sandbox};
use serde_json::json;

/// A session in review, with a file that the plan did not name and a requirement that changes.
fn reviewing() -> Drive {
    Drive::once("", || {
        let d = Drive::planning();
        d.change("plan.md", "scope: []", "scope: [src/**]");
        let modified = "\n## MODIFIED Requirements\n\n### Requirement: Signing out\n\
        The system SHALL end a session that its person or an operator ends.\n\n\
        #### Scenario: Sign out\n- **WHEN** the person signs out\n- **THEN** the session ends\n";
        d.edit("change/spec-delta.md", &format!("{DELTA}{modified}"));
        d.review_plan();
        d.does(&[
            "approve",
            "--to",
            "build",
            "--reason",
            "the archive waives it",
        ]);
        d.does(&["build"]);
        d.write("src/demo.txt", "an end\nand more\n");
        d.write("LICENSE", "free\n");
        d.git(&["add", "."]).ok();
        d.git(&[
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            "Give sessions an end",
        ])
        .ok();
        d.finish_build();
        d.does(&["approve", "--to", "review"]);
        d
    })
}

#[test]
fn u13_a_review_shows_what_it_covers_and_how_to_read_it() {
    let d = reviewing();
    let mut entered = d.loopx(&["review"]);
    let base = d.git(&["rev-parse", "--short=10", "main"]).line();
    let head = d.git(&["rev-parse", "--short=10", "HEAD"]).line();
    for line in [
        &format!("demo  1 commit by Ada Author since {base}, 2 files, +3 -1"),
        &format!("  {head} Give sessions an end (Ada Author, name not proven)"),
        "  LICENSE       +1 -0  outside the plan's scope (src/**)",
        "  src/demo.txt  +2 -1\n",
        "  passed   VS-1  true",
        "specs  2 requirements changed",
        "  demo: Signing out\n    The system SHALL end a session that its person {+or an operator +}ends.",
        "you are author and committer and builder of the reviewed code: your verdict is recorded as not independent",
        &format!("read: git diff {base}..{head}"),
        "next: git loopx review --verdict request-changes --target plan",
    ] {
        entered = entered.says(line);
    }
    entered.ok();
    let range = d
        .git(&["diff", "--name-only", &format!("{base}..{head}")])
        .ok();
    assert_eq!(range, "LICENSE\nsrc/demo.txt\n");
    // Again as often as somebody asks; nothing is written.
    let before = d.refs();
    let again = d.by(RITA, &["review"]);
    again
        .says("you took no part in these commits: your verdict is independent")
        .ok();
    d.by(RITA, &["review", "--show"])
        .says("2 files, +3 -1")
        .ok();
    let json = d.does(&["review", "--show"]);
    assert_eq!(d.refs(), before);
    assert_eq!(json["diff_command"], format!("git diff {base}..{head}"));
    assert_eq!(json["files"], json!(["LICENSE", "src/demo.txt"]));
    assert_eq!(
        json["changes"][0],
        json!({"path": "LICENSE", "added": 1, "removed": 0, "in_scope": false})
    );
    assert_eq!(json["specs"][1]["requirement"], "Signing out");
    assert_eq!(json["checks"][1]["proof"], "passed");
    assert_eq!(json["independent"], false);
    // What the archive would miss is met here.
    let next = json["next_action"].as_str().unwrap_or_default();
    assert!(
        next.starts_with("git loopx review --verdict request-changes --target plan"),
        "{next}"
    );
}

#[test]
fn a_review_shows_modes_links_and_submodules_for_what_they_are() {
    let s = Sandbox::new();
    s.write("tool", "1\n");
    s.write("run", "1\n");
    s.script("old", "#!/bin/sh\n");
    std::os::unix::fs::symlink("tool", s.path().join("to")).expect("a link");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "first"]).ok();
    s.loopx(&["init"]).ok();
    let first = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    s.chmod("tool", 0o755);
    s.chmod("old", 0o644);
    for (target, link) in [("../out", "link"), ("run", "to")] {
        drop(std::fs::remove_file(s.path().join(link)));
        std::os::unix::fs::symlink(target, s.path().join(link)).expect("a link");
    }
    s.write("run", "2\n");
    s.git(&["add", "."]).ok();
    let module = format!("160000,{first},module");
    s.git(&["update-index", "--add", "--cacheinfo", &module])
        .ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "second"])
        .ok();
    std::fs::create_dir(s.path().join("module")).expect("a folder");
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    let mut shown = s.loopx(&["review"]);
    let short = &first[..10];
    for line in [
        "  link    +1 -0  link to ../out\n",
        &format!("  module  +0 -0  submodule at {short}\n"),
        "  old     +0 -0  plain file\n",
        "  run     +1 -1\n",
        "  to      +1 -1  link to run\n",
        "  tool    +0 -0  executable\n",
    ] {
        shown = shown.says(line);
    }
    let json = s.loopx(&["review", "--show", "--json"]).json();
    assert_eq!(json["changes"][5]["becomes"], "executable");
    assert_eq!(json["changes"][3].get("becomes"), None);
}

#[test]
fn u13_the_next_review_begins_with_what_was_found_and_what_changed_since() {
    let d = Drive::reviewing();
    d.verdict(&[
        "--verdict",
        "changes",
        "--finding",
        "high: src/demo.txt:1: no test",
    ]);
    insta::assert_snapshot!(d.loopx(&["review"]).steady(), @"
    $ git-loopx review
    demo  1 commit by Ada Author since 0000000000, 1 file, +1 -1
      0000000000 Give sessions an end (Ada Author, name not proven)
      src/demo.txt  +1 -1
    checks on 0000000000
      passed   approved-plan  the plan was approved for build
      passed   VS-1  true
    specs  1 requirement changed
      demo: Idle sessions end
        {+### Requirement: Idle sessions end+}
        {+The system SHALL end a session that is idle for 30 minutes.+}
        {+#### Scenario: Idle+}
        {+- **WHEN** a session is idle for 30 minutes+}
        {+- **THEN** it ends+}
    findings
      open  1  high: src/demo.txt:1: no test  (Rita Reviewer, review 1)
            nothing changed since
    verdict  request-changes by Rita Reviewer <rita@example.org>, on 0000000000
    you are author and committer and builder of the reviewed code: your verdict is recorded as not independent
    read: git diff 0000000000..0000000000
    next: git loopx approve --to build
    --- exit 0
    ");
    d.does(&["approve", "--to", "build"]);
    d.does(&["build", "--from-review"]);
    d.commit_code("an end, and a test\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    let shown = d.loopx(&["review"]);
    insta::assert_snapshot!(shown.steady(), @"
    $ git-loopx review
    demo  2 commits by Ada Author since 0000000000, 1 file, +1 -1
      0000000000 Give sessions an end (Ada Author, name not proven)
      0000000000 Give sessions an end (Ada Author, name not proven)
      src/demo.txt  +1 -1
    checks on 0000000000
      passed   approved-plan  the plan was approved for build
      passed   VS-1  true
    specs  1 requirement changed
      demo: Idle sessions end
        {+### Requirement: Idle sessions end+}
        {+The system SHALL end a session that is idle for 30 minutes.+}
        {+#### Scenario: Idle+}
        {+- **WHEN** a session is idle for 30 minutes+}
        {+- **THEN** it ends+}
    findings
      open  1  high: src/demo.txt:1: no test  (Rita Reviewer, review 1)
            changed since: src/demo.txt
    you are author and committer and builder of the reviewed code: your verdict is recorded as not independent
    read: git diff 0000000000..0000000000
    demo: in stage review
    next: git loopx review --answer 1 fixed
    --- exit 0
    ");
    d.does(&["review", "--answer", "1", "fixed", "--reason", "a test"]);
    let shown = d.loopx(&["review", "--show"]);
    shown
        .says("Ada Author <ada@example.org> says fixed: a test")
        .ok();
    // Before a review it shows what one would cover.
    let d = Drive::built();
    d.loopx(&["review", "--show"])
        .says("1 commit by Ada Author")
        .ok();
    assert_eq!(d.stage(), "build");
}

#[test]
fn a_review_of_a_session_that_has_ended_shows_what_was_judged() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Other code"]).ok();
    s.commit_file("code.txt", "other\n", "Change it").ok();
    let head = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let shown = s.loopx(&["review", "--show"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    let said = format!("{}{}", shown.stdout, shown.stderr);
    assert!(said.contains(&format!("{head} Change it")), "{said}");
    assert!(said.contains("1 commit by"), "{said}");
    for unsaid in ["Archive other-code", "your verdict", "now: \n"] {
        assert!(!said.contains(unsaid), "`{unsaid}`\n{said}");
    }
}

#[test]
fn whoever_took_part_is_told_that_policy_takes_no_verdict_of_theirs() {
    let s = Sandbox::new();
    s.commit_file(
        "loopx.toml",
        "[review]\nindependence = \"require\"\n",
        "policy",
    )
    .ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Other code"]).ok();
    s.commit_file("code.txt", "other\n", "Change it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    let shown = s
        .loopx(&["review"])
        .says("policy asks for the verdict of somebody who took no part");
    assert!(!shown.stdout.contains("is recorded as"), "{shown}");
}

#[test]
fn n14_an_answer_is_recorded_where_the_look_behind_it_fails() {
    let d = Drive::reviewing();
    let finding = ["--finding", "medium: no test", "--target", "build"];
    let words = ["review", "--verdict", "request-changes"];
    d.does(&[&words[..], &finding].concat());
    let git = "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *status*) git log -1 --format=%s loopx | grep -q answer && exit 1;; esac\nexec git \"$@\"\n";
    d.program("git", git);
    let answer = |reason| {
        let words = ["review", "--answer", "1", "wontfix", "--reason", reason];
        d.loopx(&words)
    };
    let out = answer("later");
    std::fs::remove_file(d.root().join("bin/git")).expect("the program");
    out.says("warning: the answer is recorded for demo; left: the look at the findings")
        .ok();
    answer("never")
        .says("finding 1 is left as it is; 0 findings open")
        .ok();
}

/// Each opening of a file behind the verdict fails once: the verdict is then recorded, and the command says so.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn n14_a_verdict_is_recorded_where_the_look_at_its_proof_fails() {
    for when in 1..60 {
        let d = Drive::reviewing();
        let trace = d.root().join("trace");
        let before = d.git(&["rev-parse", "loopx"]).line();
        let tip = d.path().join(".git/refs/heads/loopx");
        let inject = format!("inject=openat:error=EIO:when={when}");
        let call = d.call("strace").args(&["-qq", "-o"]).args(&[&trace]);
        let call = call.args(&["-P"]).args(&[&tip]);
        let call = call.args(&["-e", "trace=openat", "-e", &inject]);
        let call = call.args(&[LOOPX, "review", "--verdict", "approve"]);
        let Ok(out) = call.command().output() else {
            eprintln!("skipped: strace cannot be used here");
            return;
        };
        let calls = std::fs::read_to_string(&trace).unwrap_or_default();
        if !calls.contains("INJECTED") {
            if when == 1 {
                eprintln!("skipped: strace cannot be used here");
            }
            return;
        }
        let said = String::from_utf8_lossy(&out.stderr);
        let is_done = d.git(&["rev-parse", "loopx"]).line() != before;
        assert_eq!(out.status.code() == Some(0), is_done, "{when}: {said}");
    }
}
