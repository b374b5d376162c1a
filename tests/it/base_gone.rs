//! Sessions whose base commit is gone, because history was rewritten (T7, T8 of the store's findings): they can
//! be read, ended and written to, every gate holds and says what leads on, and `rebase` gives another base.

use crate::support::store::{ID, READY, assert_whole, operations, put, started};
use crate::support::{LOOPX, Output, Sandbox};

/// Rewrites the commit that the branch is at, and takes every trace of the old one away. Gives the new one.
fn rewrite(s: &Sandbox) -> String {
    let amend = [
        "commit",
        "--quiet",
        "--amend",
        "--no-verify",
        "-m",
        "rewritten",
    ];
    s.git(&amend).ok();
    forget(s);
    s.git(&["rev-parse", "--short=10", "HEAD"]).line()
}

fn forget(s: &Sandbox) {
    s.git(&["reflog", "expire", "--expire=now", "--all"]).ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
}

/// A session in clarify, ready to be planned, whose base is gone.
pub(crate) fn gone() -> (Sandbox, String) {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let onto = rewrite(&s);
    (s, onto)
}

/// Refused for the base, and the way on is named with a commit that will do.
#[track_caller]
fn leads_on(out: Output, onto: &str) {
    let out = out.fails_with(1);
    for words in [
        "which is not in this repository",
        "git fetch",
        &format!("git loopx rebase --onto {onto} --reason 'the base has moved'"),
    ] {
        assert!(out.stderr.contains(words), "`{words}`\n{out}");
    }
}

#[test]
fn t8_a_base_that_is_gone_with_its_branch_is_read_and_leads_on() {
    let (s, _) = gone();
    s.git(&["switch", "--quiet", "--orphan", "other"]).ok();
    s.commit_file("other.txt", "other\n", "other").ok();
    s.git(&["branch", "--quiet", "-D", "main"]).ok();
    forget(&s);
    s.loopx(&["-s", ID, "status"]).ok();
    s.loopx(&["-s", ID, "next"])
        .says(&format!("git loopx use {ID}"))
        .ok();
    let out = s.loopx(&["-s", ID, "approve", "--to", "plan"]);
    out.fails_with(1).says("which is not in this repository");
}

#[test]
fn t7_what_asks_no_gate_works_and_every_gate_says_what_leads_on() {
    let (s, onto) = gone();
    let rebase = format!("git loopx rebase --onto {onto} --reason 'the base has moved'");
    let whole = s.loopx(&["-v", "status"]).says(&rebase);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx -v status
    auth-timeout  Auth timeout                               standard, branch main, from 0000000000, new

      [*] clarify -- [ ] plan -- [ ] build -- [ ] review -- [ ] done

      spec.md  written
      held by  session auth-timeout starts from commit 0000000000, which is not in this repository

      clarify->plan    not ready   not authorized
      plan->build      not ready   not authorized
      build->review    not ready   not authorized
      review->done     not ready   not authorized

    blockers
      base_missing  session auth-timeout starts from commit 0000000000, which is not in this repository
          git fetch  (the branch that has it); where that history was rewritten: git loopx rebase --onto 0000000000 --reason 'the base has moved'

    the commit that it started from is gone
    next: git loopx rebase --onto 0000000000 --reason 'the commit that it started from is gone'
    --- exit 0
    ");
    let status = s.loopx(&["--json", "status"]).json();
    let next = rebase.replace(
        "'the base has moved'",
        "'the commit that it started from is gone'",
    );
    assert_eq!(status["next_action"], next.as_str(), "{status:#}");
    for args in [
        &["show"][..],
        &["log"],
        &["list"],
        &["cat", "spec.md"],
        &["diff", "1", "2"],
        &["fsck"],
        &["note", "still here"],
        &["run", "--", "true"],
        &["export", ID],
        &["undo", "1"],
        &["redo"],
        &["checkout"],
    ] {
        s.loopx(args).ok();
    }
    put(&s, "spec.md", &format!("{READY}\nMore.\n")).ok();
    s.write(format!(".loopx/{ID}/spec.md"), READY);
    s.loopx(&["save"]).ok();
    leads_on(s.loopx(&["approve", "--to", "plan"]), &onto);
    let archive = s.loopx(&["archive"]).fails_with(1);
    assert!(archive.stderr.contains(&rebase), "{archive}");
    leads_on(s.loopx(&["clarify"]), &onto);
    for args in [&["change", "validate"][..], &["config", "show"]] {
        s.loopx(args).fails_with(1).says(&rebase);
    }
    let whole = s.loopx(&["doctor"]).says(&rebase);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx doctor
    ok      git        git version $GIT
    ok      worktree   the worktree is in the folder that git recorded
    ok      identity   Ada Author <ada@example.org>
    note    fsync      loopx.fsync is off: a power cut can take the newest steps away
                       -> git config loopx.fsync true
    ok      settings   every setting has a valid value
    ok      policy     every key of loopx.toml is known
    ok      signers    each key is for named people only
    ok      branch     `loopx` at 0000000000
    ok      shadow     refs/loopx/shadow/loopx at 0000000000
    ok      lock       nobody is writing
    ok      ref_locks  none
    ok      leftovers  none
    ok      landings   all finished
    ok      displaced  nothing was put aside
    ok      copies     every working copy belongs to a session
    ok      sessions   1 active, all whole
    problem bases      session auth-timeout starts from commit 0000000000, which is not in this repository
                       -> git fetch  (the branch that has it); where that history was rewritten: git loopx rebase --onto 0000000000 --reason 'the base has moved'
    ok      bindings   the branch of each session is here
    note    hooks      not installed
                       -> git loopx hooks install
    ok      merge_drivers every merge driver that .gitattributes names is set up
    ok      old_roots  no root of loopx 0.x is there
    --- exit 1
    ");
    s.git(&["switch", "--quiet", "-c", "elsewhere"]).ok();
    s.loopx(&["use", ID]).ok();
    s.loopx(&["abandon", "--reason", "enough"]).ok();
    assert_whole(&s);
}

#[test]
fn q29_a_session_whose_base_is_gone_stops_no_other() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    for id in ["one", "two"] {
        s.git(&["switch", "--quiet", "-c", id, "main"]).ok();
        s.commit_file("more.txt", id, id).ok();
        s.loopx(&["start", "--quick", "--id", id, "More"]).ok();
        let brief = format!(
            "# More\n\n## Why\n\nIt is needed here.\n\n## Checks\n\n- `true`\n\n# Domain: {id}\n\n\
             ## ADDED Requirements\n\n### Requirement: X\nThe system SHALL x.\n\n\
             #### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
        );
        let put = s.call(LOOPX).args(&["put", "brief.md"]);
        put.stdin(brief).run().ok();
    }
    s.git(&["switch", "--quiet", "one"]).ok();
    rewrite(&s);
    s.git(&["switch", "--quiet", "two"]).ok();
    let all = ["change", "validate", "--all"];
    let found = s.loopx(&[&["--json"], &all[..]].concat()).fails_with(1);
    let found = found.json()["sessions"].clone();
    assert_eq!(found[0]["session"], "one", "{found:#}");
    assert_eq!(found[0]["verdict"], "refused");
    assert_eq!(found[0]["blockers"][0]["code"], "base_missing");
    assert_eq!(found[1]["session"], "two");
    assert_eq!(found[1]["verdict"], "clean", "{found:#}");
    s.loopx(&["change", "overlap"])
        .says("one is not compared: session one starts from commit")
        .ok();
    // A session that has ended is asked nothing.
    s.loopx(&["-s", "one", "abandon", "--reason", "gone"]).ok();
    s.loopx(&all).ok();
    let overlap = s.loopx(&["change", "overlap"]);
    assert!(!overlap.stderr.contains("not compared"), "{overlap}");
    overlap.ok();
}

#[test]
fn t7_another_base_lets_the_session_go_on() {
    let (s, onto) = gone();
    s.loopx(&["rebase", "--onto", &onto])
        .fails_with(2)
        .says("reason");
    let out = s.loopx(&["rebase", "--onto", &onto, "--reason", "a secret was in it"]);
    out.says(&format!("starts from {onto} now")).ok();
    let status = s.loopx(&["--json", "status"]).json();
    let base = status["base"].as_str().expect("a base");
    assert!(base.starts_with(&onto), "{status:#}");
    s.loopx(&["doctor"])
        .says("each session starts from a commit that is here")
        .ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    // What it is and what it needs stands in the record, so that older programs keep it and hold the gates.
    let all = operations(&s, ID);
    let rebased = all.iter().find(|op| op["kind"] == "rebased").expect("one");
    assert_eq!(rebased["needs"], "0.3", "{rebased:#}");
    assert_eq!(rebased["weight"], "opens");
    let log = s.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Loopx-Base,valueonly)",
        "loopx~2",
    ]);
    assert_eq!(log.line(), base);
    assert_whole(&s);
    s.loopx(&["rebase", "--onto", &onto, "--reason", "again"])
        .fails_with(5);
}

#[test]
fn t7_what_was_approved_against_the_old_base_has_to_be_approved_again() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    let onto = rewrite(&s);
    leads_on(s.loopx(&["plan"]), &onto);
    s.loopx(&["rebase", "--onto", &onto, "--reason", "rewritten"])
        .ok();
    s.loopx(&["plan"]).fails_with(1).says("approve --to plan");
    // Taken back, all is as it was.
    s.loopx(&["undo"]).ok();
    leads_on(s.loopx(&["plan"]), &onto);
    s.loopx(&["redo"]).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    let delta = "# Domain: auth\n\n## ADDED Requirements\n\n### Requirement: It ends\nIt SHALL end.\n\n\
        #### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
    put(&s, "change/spec-delta.md", delta).ok();
    let onto = rewrite(&s);
    leads_on(s.loopx(&["change", "refresh"]), &onto);
    leads_on(s.loopx(&["plan", "--architect", "approve"]), &onto);
    assert_whole(&s);
}

#[test]
fn t7_a_base_that_holds_stays_and_no_own_commit_comes_before_a_new_one() {
    let s = started();
    s.commit_file("more.txt", "more\n", "more").ok();
    let refused = s.loopx(&["--json", "rebase", "--onto", "HEAD", "--reason", "why not"]);
    let refused = refused.fails_with(1).error_json();
    assert_eq!(refused["error"]["code"], "base_stands", "{refused:#}");
    // The root is rewritten, and a commit of the session stands on it.
    let root = s
        .git(&["commit-tree", "-m", "another root", "HEAD^{tree}"])
        .line();
    let message = format!("own\n\nLoopx-Session: {ID}");
    let own = s
        .git(&["commit-tree", "-m", &message, "-p", &root, "HEAD^{tree}"])
        .line();
    s.git(&["reset", "--quiet", "--hard", &own]).ok();
    forget(&s);
    for (onto, code) in [(own.as_str(), "base_outside"), ("loopx", "base_outside")] {
        let out = s.loopx(&["--json", "rebase", "--onto", onto, "--reason", "why not"]);
        let error = out.fails_with(1).error_json();
        assert_eq!(error["error"]["code"], code, "{error:#}");
    }
    let status = s.loopx(&["--json", "status"]).json();
    let next = status["next_action"].as_str().expect("a command");
    assert!(next.contains(&root[..10]), "{status:#}");
    s.loopx(&["rebase", "--onto", &root, "--reason", "another root"])
        .ok();
    assert_whole(&s);
}

/// A session on the branch `t`, with two commits that name no session.
fn unnamed() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "t"]).ok();
    s.loopx(&["start", "--quick", "--id", "it", "Mend it"]).ok();
    s.commit_file("code.txt", "one\n", "one").ok();
    s.commit_file("code.txt", "two\n", "two").ok();
    s
}

#[test]
fn q14_next_leads_to_a_base_before_all_that_was_made_since_the_session_began() {
    let s = unnamed();
    let line = |args: &[&str]| s.git(args).line();
    let root = line(&["commit-tree", "-m", "another root", "HEAD~2^{tree}"]);
    let one = line(&["commit-tree", "-m", "one", "-p", &root, "HEAD~1^{tree}"]);
    let two = line(&["commit-tree", "-m", "two", "-p", &one, "HEAD^{tree}"]);
    s.git(&["reset", "--quiet", "--hard", &two]).ok();
    s.git(&["branch", "--quiet", "-D", "main"]).ok();
    forget(&s);
    // Whoever insists on a later base hears what it hides.
    let out = s.loopx(&["rebase", "--onto", "HEAD", "--reason", "why not"]);
    let said = format!(
        "up to {} there are 3 commits made since the session began",
        &two[..10]
    );
    assert!(out.stderr.contains(&said), "{out}");
    out.ok();
    s.loopx(&["undo"]).ok();
    let next = s.loopx(&["next"]);
    next.says(&format!("git loopx rebase --onto {}", &root[..10]))
        .ok();
    s.loopx(&["rebase", "--onto", &root, "--reason", "another root"])
        .ok();
    s.loopx(&["review", "--show"]).says("2 commits by").ok();
}

#[test]
fn q4_a_shallow_clone_is_led_to_the_rest_of_its_history_and_takes_no_other_base() {
    let s = unnamed();
    // The commit that the session began on is behind the edge.
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("other.txt", "other\n", "other").ok();
    s.git(&["switch", "--quiet", "t"]).ok();
    s.git(&["clone", "--quiet", "--bare", ".", "../bare.git"])
        .ok();
    let url = format!("file://{}", s.root().join("bare.git").display());
    let shallow = s.root().join("shallow");
    let clone = [
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--no-single-branch",
        &url,
        "../shallow",
    ];
    s.git(&clone).ok();
    let run = |args: &[&str]| s.loopx_in(&shallow, args);
    run(&["init"]).ok();
    run(&["next"]).says("git fetch --unshallow").ok();
    let out = run(&["rebase", "--onto", "HEAD", "--reason", "why not"]);
    out.fails_with(4).says("git fetch --unshallow");
    for args in [
        &["status"][..],
        &["approve", "--enter"],
        &["archive"],
        &["doctor"],
    ] {
        let out = run(args);
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(said.contains("git fetch --unshallow"), "{out}");
        assert!(
            !said.contains("rebase --onto") && !said.contains("that has it"),
            "{out}"
        );
    }
    s.git_in(&shallow, &["fetch", "--quiet", "--unshallow"])
        .ok();
    let next = run(&["next"]);
    assert!(
        !next.stdout.contains("rebase") && !next.stdout.contains("fetch"),
        "{next}"
    );
    run(&["review", "--show"]).says("2 commits by").ok();
}

#[test]
fn t8_config_show_names_the_missing_base_and_shows_another_commit_where_one_is_named() {
    let (s, _) = gone();
    let out = s.loopx(&["--json", "config", "show"]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "base_missing", "{out}");
    s.loopx(&["config", "show", "--from", "HEAD"]).ok();
    // A working copy elsewhere sees it too.
    let other = crate::support::store::linked(&s, "other");
    s.call(LOOPX)
        .cwd(&other)
        .args(&["-v", "-s", ID, "status"])
        .run()
        .says("base_missing")
        .ok();
}

#[test]
fn d01_every_refusal_for_the_base_names_the_commit() {
    let (s, onto) = gone();
    let named = format!("--onto {onto} --reason 'the base has moved'");
    for args in [
        &["change", "validate"][..],
        &["change", "diff"],
        &["config", "show"],
    ] {
        let out = s.loopx(args);
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(!said.contains("--onto COMMIT"), "{args:?}\n{out}");
        assert!(
            !said.contains("rebase --onto") || said.contains(&named),
            "{args:?}\n{out}"
        );
    }
}

#[test]
fn d22_a_session_with_a_branch_is_gone_on_with_there_from_a_detached_head() {
    let s = started();
    s.git(&["switch", "--quiet", "-c", "t2"]).ok();
    s.loopx(&["-s", ID, "use", ID]).ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let out = s.loopx(&["use", ID]).fails_with(2);
    assert!(out.stderr.contains("git switch t2"), "{out}");
    assert!(!out.stderr.contains("--branch"), "{out}");
}
