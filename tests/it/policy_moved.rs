//! A policy that moves on the target while a session is under way: the gates keep the policy of the base, the
//! target judges what lands by its own, and whoever works is told before the push (issue 12, item 9).

use crate::support::session::{advance, at, commit, start, started};
use crate::support::{LOOPX, Sandbox};
use serde_json::Value;

const STRICTER: &str =
    "[gates]\nprotected = [\"main\"]\n[approve]\nrequired = { \"plan->build\" = 2 }\n";

fn move_policy(s: &Sandbox) {
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("loopx.toml", STRICTER);
    s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
}

fn status(s: &Sandbox) -> Value {
    s.loopx(&["--json", "status"]).json()
}

fn codes(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.filter_map(|one| one["code"].as_str()).collect()
}

fn lands(s: &Sandbox) -> crate::support::Output {
    let range = [
        "verify",
        "main..demo",
        "--policy-from",
        "main",
        "--onto",
        "main",
        "--json",
    ];
    s.loopx(&range)
}

#[test]
fn status_says_what_a_policy_that_moved_misses_before_the_push_does() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    assert_eq!(status(&s)["policy_moved"], Value::Null);
    // Another commit on the target is no other policy.
    s.git(&["switch", "--quiet", "main"]).ok();
    commit(&s, "b.txt", "more").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    assert_eq!(status(&s)["policy_moved"], Value::Null);
    move_policy(&s);
    let moved = &status(&s)["policy_moved"];
    assert_eq!(moved["target"], "main", "{moved:#}");
    assert_eq!(
        moved["changed"],
        serde_json::json!(["[approve]", "[gates]"])
    );
    assert_eq!(codes(&moved["missing"]), ["approvals_missing"]);
    insta::assert_snapshot!(s.loopx(&["status"]).steady(), @"
    $ git-loopx status
    demo  demo                                               standard, branch demo, from 0000000000, new

      [x] clarify -- [x] plan -- [*] build -- [ ] review -- [ ] done

      execution-record.md  nothing stands under `## Changes`
      change/tasks.md      written
      held by              the execution lane has not been reported
      code                 1 commit
      checks               0 of 1 pass on this code; VS-1 has not run
      owner                this worktree, for 2 hours more

    the policy of main has changed since this session began ([approve], [gates]), and main judges what lands by its present policy
      session demo: 1 of 2 people approved plan->build
          git loopx -s demo log
            git merge main, then: git loopx rebase --onto 0000000000 --reason 'the base has moved'  (then its gates use the new policy)

    next: git loopx run --task VS-1
    --- exit 0
    ");
    // The gates ask what they asked, and whoever passes one is told.
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let record = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
                  completion_claim: full\n---\n# E\n\n## Changes\n\nx\n";
    crate::support::session::put(&s, "execution-record.md", record);
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    s.loopx(&["approve", "--to", "review"])
        .says("the policy of main has changed")
        .ok();
    let entered = s.loopx(&["--json", "review"]).json();
    assert_eq!(entered["policy_moved"]["target"], "main");
    advance(&s, "review", "done", "");
    // What the push would have said.
    let report = lands(&s).fails_with(1);
    assert!(
        report.stdout.contains("1 of 2 people approved plan->build"),
        "{report}"
    );
}

#[test]
fn a_session_takes_the_policy_that_moved_by_a_rebase_and_its_earlier_moves_keep_theirs() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    move_policy(&s);
    let onto = ["rebase", "--onto", "main", "--reason", "the policy moved"];
    s.loopx(&onto).fails_with(1).says("git merge");
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    s.loopx(&onto).ok();
    // The gates ask by the new policy; that the plan was approved by one person is not settled by that.
    let moved = &status(&s)["policy_moved"];
    assert_eq!(moved["changed"], serde_json::json!([]));
    assert_eq!(codes(&moved["missing"]), ["approvals_missing"]);
    insta::assert_snapshot!(s.loopx(&["status"]).steady(), @"
    $ git-loopx status
    demo  demo                                               standard, branch demo, from 0000000000, new

      [x] clarify -- [x] plan -- [*] build -- [ ] review -- [ ] done

      execution-record.md  nothing stands under `## Changes`
      change/tasks.md      written
      held by              the execution lane has not been reported
      code                 2 commits
      checks               0 of 1 pass on this code; VS-1 has not run
      owner                this worktree, for 2 hours more

    this session passed gates under an older policy; the policy of main, which judges what lands, has changed since
      session demo: 1 of 2 people approved plan->build
          git loopx -s demo log
            make those moves again: git loopx -s demo plan --reason 'the plan has to change'

    next: git loopx run --task VS-1
    --- exit 0
    ");
    advance(&s, "build", "review", "");
    plan_again(&s);
    lands(&s).ok();
}

#[test]
fn a_policy_that_the_target_never_had_excuses_nothing() {
    let s = started(STRICTER);
    s.git(&["switch", "--quiet", "-c", "weak", "main"]).ok();
    s.write("loopx.toml", "");
    s.git(&["commit", "--quiet", "-am", "no policy"]).ok();
    start(&s, "other");
    advance(&s, "clarify", "build", "");
    s.git(&["reset", "--quiet", "--hard", "main"]).ok();
    commit(&s, "src/a.rs", "code").ok();
    s.loopx(&["rebase", "--onto", "main", "--reason", "another base"])
        .ok();
    advance(&s, "build", "review", "");
    plan_again(&s);
    let range = [
        "verify",
        "main..other",
        "--policy-from",
        "main",
        "--onto",
        "main",
    ];
    s.loopx(&range)
        .fails_with(1)
        .says("1 of 2 people approved plan->build");
}

/// Goes from review back to plan, and by two people to done.
fn plan_again(s: &Sandbox) {
    let back = [
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "plan",
        "--reason",
        "x",
    ];
    s.loopx(&back).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    for lane in ["--architect", "--critic"] {
        s.loopx(&["plan", lane, "approve"]).ok();
    }
    s.loopx(&["approve", "--to", "build"])
        .says("by 1 of 2 people")
        .ok();
    s.loopx(&["build"]).fails_with(1);
    s.call(LOOPX)
        .env("GIT_AUTHOR_NAME", "Rita")
        .env("GIT_AUTHOR_EMAIL", "rita@example.org")
        .env("GIT_COMMITTER_NAME", "Rita")
        .env("GIT_COMMITTER_EMAIL", "rita@example.org")
        .args(&["approve", "--to", "build"])
        .run()
        .ok();
    s.loopx(&["build"]).ok();
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    advance(s, "review", "done", "");
}
