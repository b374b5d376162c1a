//! Words for what a command finds or leaves, as what it is: a review that a key did not sign, a file that cannot be
//! read, a waived check, a policy that moved, a demand that the code meets already.

use crate::support::drive::{DELTA, Drive};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;

const ID: &str = "it";
const BRIEF: &str = ".loopx/it/brief.md";

/// A quick session in build, with its code and these checks, of which each has run once.
fn built(checks: &[&str]) -> Sandbox {
    Sandbox::once(format!("{checks:?}"), || {
        let s = Sandbox::new();
        s.commit_file("loopx.toml", "", "first").ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--quick", "--id", ID, "Shorter"]).ok();
        let mut brief = "# It\n\n## Why\n\nToo long.\n\n## Checks\n\n".to_owned();
        for check in checks {
            brief.push_str(&format!("- `{check}`\n"));
        }
        s.write(BRIEF, brief);
        s.commit_file("src/a.rs", "code\n", "code").ok();
        // One of them may fail.
        drop(s.loopx(&["run"]));
        s
    })
}

/// Makes git sign with a key that is nowhere.
fn lose_key(s: &Sandbox) {
    s.git(&["config", "gpg.format", "ssh"]).ok();
    s.git(&["config", "user.signingKey", "nowhere.pub"]).ok();
}

fn status(s: &Sandbox) -> Value {
    s.loopx(&["--json", "status"]).json()
}

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "loopx"]).line()
}

#[test]
fn a_verdict_that_no_key_signs_says_that_the_review_is_open() {
    let s = built(&["true"]);
    s.loopx(&["approve"]).ok();
    lose_key(&s);
    let signed = ["review", "--verdict", "approve", "--sign"];
    s.loopx(&signed)
        .fails_with(1)
        .says("the review is open now, and has no verdict yet")
        .says("git config --get user.signingKey");
    assert_eq!(status(&s)["stage"], "review");
    // The next time nothing is opened.
    let out = s.loopx(&signed).fails_with(1);
    assert!(!out.stderr.contains("is open now"), "{out}");
    s.loopx(&["review", "--verdict", "approve"]).ok();
}

#[test]
fn a_step_that_no_key_signs_changes_nothing_or_says_how_far_it_came() {
    let s = built(&["true"]);
    lose_key(&s);
    let before = tip(&s);
    for words in [&["approve", "--sign"][..], &["finish", "--yes", "--sign"]] {
        s.loopx(words).fails_with(1).says("did not sign");
        assert_eq!(tip(&s), before, "{words:?}");
    }
    s.loopx(&["approve"]).ok();
    s.loopx(&["finish", "--yes", "--sign"])
        .fails_with(1)
        .says("in stage review")
        .says("it waits: ssh-keygen did not sign");
    s.loopx(&["finish", "--yes"]).ok();
    let before = tip(&s);
    s.loopx(&["reopen", ID, "--reason", "x", "--sign"])
        .fails_with(1)
        .says("did not sign");
    assert_eq!(tip(&s), before);
}

/// The rows of `status` about one thing.
fn row(out: &Output, label: &str) -> String {
    let mut lines = out.stdout.lines().map(str::trim);
    let found = lines.find(|line| line.starts_with(label));
    found.unwrap_or_default().to_owned()
}

#[test]
fn a_waived_check_is_shown_as_waived_with_whoever_waived_it_and_why() {
    let s = built(&["true", "false"]);
    let why = "the lab is down";
    s.loopx(&["build", "--waive", "check-2", "--reason", why])
        .ok();
    let checks = row(&s.loopx(&["status"]), "checks");
    assert_eq!(checks, "checks    1 of 2 pass on this code, 1 waived");
    let shown = "waived   check-2  false  (Ada Author <ada@example.org>: the lab is down)";
    s.loopx(&["status", "-v"]).says(shown).ok();
    s.loopx(&["approve", "--show"]).says(shown).ok();
    let out = s.loopx(&["finish"]).fails_with(2);
    insta::assert_snapshot!(out.says(shown).steady(), @"
    $ git-loopx finish
    0000000000..0000000000
      src/a.rs
      waived   check-2  false  (Ada Author <ada@example.org>: the lab is down)
    --- stderr
    error: 1 commit, 1 file, 1 of 2 checks passed, 1 waived: expected --yes, because there is no terminal to ask at

    hint: git loopx finish --yes
    --- exit 2
    ");
    let word = |of: &Value| of["word"]["reason"].clone();
    assert_eq!(word(&status(&s)["audit"][1]), why);
    assert_eq!(status(&s)["audit"][0]["word"], Value::Null);
    let preview = s.loopx(&["--json", "approve", "--show"]).json();
    assert_eq!(word(&preview["checks"][1]), why);
    s.loopx(&["approve"]).ok();
    let review = s.loopx(&["--json", "review"]).json();
    assert_eq!(word(&review["checks"][1]), why);
    s.loopx(&["review", "--show"]).says(shown).ok();
}

#[test]
fn a_policy_that_moved_is_said_before_an_approval_and_before_a_finish() {
    let s = built(&["true"]);
    let shown = |s: &Sandbox| s.loopx(&["--json", "approve", "--show"]).json();
    assert_eq!(shown(&s)["policy_moved"], Value::Null);
    s.git(&["switch", "--quiet", "main"]).ok();
    let stricter = "[gates]\nprotected = [\"main\"]\n[build]\nregression = true\n";
    s.commit_file("loopx.toml", stricter, "policy").ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    let said = "the policy of main has changed since this session began ([build], [gates])";
    let whole = s.loopx(&["approve", "--show"]).says(said);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx approve --show
    it: build->review
      0000000000  brief.md
    code    0000000000..0000000000, 1 commit, tree 0000000000
    check   passed   check-1  true
    next: git loopx finish --yes
    --- stderr
    warning: the policy of main has changed since this session began ([build], [gates]), and main judges what lands by its present policy
    warning: read `git loopx status`
    --- exit 0
    ");
    assert_eq!(shown(&s)["policy_moved"]["target"], "main");
    s.loopx(&["finish"]).fails_with(2).says(said);
    let done = s.loopx(&["--json", "finish", "--yes"]).json();
    assert_eq!(done["policy_moved"]["target"], "main", "{done:#}");
}

#[test]
fn an_approval_of_a_plan_hears_of_the_profile_that_its_code_demands() {
    let s = Sandbox::new();
    let policy = "[profiles.careful]\nextends = \"lite\"\nreviews = [\"critic\"]\n\
                  [profiles.demand]\n\"src/**\" = \"careful\"\n";
    s.commit_file("loopx.toml", policy, "first").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", ID, "Shorter"])
        .ok();
    s.write(
        ".loopx/it/plan.md",
        "# P\n\n## Problem\n\nx\n\n## Approach\n\nx\n\n## Risks\n\nx\n",
    );
    s.write(
        ".loopx/it/change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: only a number\n---\n",
    );
    s.write(
        ".loopx/it/tasks.jsonl",
        "{\"id\":\"T-1\",\"title\":\"Do it\",\"convergence\":{\"criteria\":[\"x\"],\"verification\":{\"cmd\":[\"true\"]}}}\n",
    );
    s.loopx(&["approve", "--show"]).ok();
    s.commit_file("src/a.rs", "code\n", "code").ok();
    let before = tip(&s);
    let out = s.loopx(&["--json", "approve"]).fails_with(1);
    let refusal = out.error_json();
    let codes = &refusal["error"]["blockers"][0]["code"];
    assert_eq!(codes, "profile_too_light", "{out}");
    assert_eq!(tip(&s), before);
    s.loopx(&["status"]).says("git loopx profile careful").ok();
    s.loopx(&["profile", "careful"]).ok();
    // Its plan is judged by the critic alone.
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    assert_eq!(status(&s)["stage"], "build");
}

#[test]
fn what_stands_in_the_way_of_a_working_copy_is_named_and_nothing_is_called_missing() {
    type Spoil = fn(&Sandbox);
    let spoilt: [(Spoil, &str, &str); 4] = [
        (
            |s| {
                s.write(".loopx/it/change", "a file\n");
            },
            ".loopx/it/change",
            "is a file; expected a folder",
        ),
        (
            |s| {
                std::fs::remove_dir_all(s.path().join(".loopx/it")).expect("a folder");
                s.write(".loopx/it", "a file\n");
            },
            ".loopx/it",
            "is a file; expected a folder",
        ),
        (
            |s| {
                std::fs::remove_file(s.path().join(BRIEF)).expect("a file");
                std::fs::create_dir(s.path().join(BRIEF)).expect("no file");
            },
            BRIEF,
            "is not a file",
        ),
        (
            |s| {
                std::fs::remove_file(s.path().join(BRIEF)).expect("a file");
                std::os::unix::fs::symlink("brief.md", s.path().join(BRIEF)).expect("no file");
            },
            BRIEF,
            "is a symbolic link",
        ),
    ];
    for (spoil, path, said) in spoilt {
        let s = built(&["true"]);
        let before = tip(&s);
        spoil(&s);
        for words in [
            &["status"][..],
            &["next"],
            &["approve", "--show"],
            &["approve"],
            &["save"],
            &["finish", "--yes"],
        ] {
            let out = s.loopx(words).fails_with(1).says(path).says(said);
            let out = out.says("git loopx checkout");
            assert!(!out.stderr.contains("make room"), "{words:?}\n{out}");
            assert_eq!(tip(&s), before, "{words:?}");
        }
        // What the hint says, to the end.
        let at = s.path().join(path);
        std::fs::rename(at, s.root().join("aside")).expect("moved away");
        let out = s.loopx(&["checkout"]);
        if out.stderr.contains("checkout --force brief.md") {
            s.loopx(&["checkout", "--force", "brief.md"]).ok();
        } else {
            out.ok();
        }
        s.loopx(&["approve"]).ok();
    }
}

#[test]
fn a_reopening_whose_working_copy_cannot_be_written_says_what_is_left_and_what_finishes_it() {
    let reopen = ["reopen", ID, "--reason", "x"];
    for nth in 1..20 {
        let s = Sandbox::once("", || {
            let s = built(&["true"]);
            s.loopx(&["finish", "--yes"]).ok();
            s
        });
        let call = s.call(LOOPX).durable().args(&reopen);
        let place = format!("error:file-written:{nth}+");
        let out = call.env("LOOPX_FAILPOINT", place).run();
        if !out.stderr.contains("Input/output error") {
            out.ok();
            assert!(nth > 4, "it writes a note, a working copy and its bases");
            return;
        }
        match out.code {
            Some(0) => drop(out.says("git loopx doctor --fix").ok()),
            _ => drop(out.fails_with(1).says("try again")),
        }
        s.loopx(&["doctor", "--fix"]).ok();
        if status(&s)["stage"] == "done" {
            s.loopx(&reopen).ok();
        }
        assert_eq!(s.read(BRIEF), s.loopx(&["cat", "brief.md"]).ok(), "{nth}");
        let report = ".loopx/it/review-report.md";
        assert_eq!(s.read(report), s.loopx(&["cat", "review-report.md"]).ok());
    }
    panic!("it never wrote everything");
}

#[test]
fn a_slice_that_is_laid_out_has_its_box_and_nobody_types_it_twice() {
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    d.edit("change/spec-delta.md", DELTA);
    d.does(&["plan"]);
    let boxes = |d: &Drive| d.artifact("change/tasks.md");
    assert!(
        boxes(&d).ends_with("\n\n- [ ] VS-1 Idle\n"),
        "{}",
        boxes(&d)
    );
    let slices = d.artifact("change/slices.json");
    assert!(slices.contains("\"id\": \"VS-1\""), "{slices}");
    // What somebody wrote stays.
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    d.edit("change/spec-delta.md", DELTA);
    d.edit("change/tasks.md", "# Tasks\n\n## Tasks\n\n- [ ] mine\n");
    d.does(&["plan"]);
    assert!(boxes(&d).ends_with("\n- [ ] mine\n"), "{}", boxes(&d));
}
