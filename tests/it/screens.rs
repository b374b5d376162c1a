//! Screens of `status` at 40, 80 and 120 columns: each stage, and each kind of hold. Short ones stand here, long ones
//! in `snapshots/`.

use crate::support::clones::Clones;
use crate::support::drive::Drive;
use crate::support::screens::{at_each_width, screens, shown, status, status_as, terminals};
use crate::support::{LOOPX, session};

#[test]
fn u3_each_stage_has_its_picture() {
    let d = Drive::repository(None);
    d.does(&["start", "Demo"]);
    insta::assert_snapshot!("status-clarify", status(&d));
    insta::assert_snapshot!(status(&Drive::clarified()), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ● clarify ── ○ plan ── ○ build
      ○ review ── ○ done

      spec.md  written

    next: git loopx approve --enter
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written

    next: git loopx approve --enter
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written

    next: git loopx approve --enter
    ");
    insta::assert_snapshot!("status-plan", status(&Drive::planning()));
    insta::assert_snapshot!("status-planned", status(&Drive::planned()));
    insta::assert_snapshot!("status-build", status(&Drive::building()));
    insta::assert_snapshot!("status-built", status(&Drive::built()));
    insta::assert_snapshot!("status-review", status(&Drive::reviewing()));
    insta::assert_snapshot!("status-reviewed", status(&Drive::reviewed()));
    insta::assert_snapshot!(status(&Drive::done()), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ✓ clarify ── ✓ plan ── ✓ build
      ✓ review ── ● done

      review  approve by Rita Reviewer
              <rita@example.org> (name not
              proven) (independent), tree
              0000000000

    next: git loopx archive
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ● done

      review  approve by Rita Reviewer <rita@example.org> (name not proven)
              (independent), tree 0000000000

    next: git loopx archive
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ● done

      review  approve by Rita Reviewer <rita@example.org> (name not proven) (independent), tree 0000000000

    next: git loopx archive
    ");
    // Where the locale takes no more than ASCII, no more is shown.
    let d = Drive::building();
    let ascii = screens(&d, &["status"], "C");
    assert!(ascii.is_ascii(), "{ascii}");
    insta::assert_snapshot!("status-ascii", ascii);
}

#[test]
fn each_end_has_its_picture() {
    let named = ["-s", "demo", "status"];
    let d = Drive::done();
    d.does(&["archive"]);
    insta::assert_snapshot!(status_as(&d, &named), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ✓ clarify ── ✓ plan ── ✓ build
      ✓ review ── ✓ done

      archived  on demo as 0000000000, not
                on main
      review    approve by Rita Reviewer
                <rita@example.org> (name not
                proven) (independent), tree
                0000000000

    main does not have the change yet; on
    main, run: git merge demo
    next: git switch main
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ✓ done

      archived  on demo as 0000000000, not on main
      review    approve by Rita Reviewer <rita@example.org> (name not proven)
                (independent), tree 0000000000

    main does not have the change yet; on main, run: git merge demo
    next: git switch main
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ✓ done

      archived  on demo as 0000000000, not on main
      review    approve by Rita Reviewer <rita@example.org> (name not proven) (independent), tree 0000000000

    main does not have the change yet; on main, run: git merge demo
    next: git switch main
    ");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", "--ff-only", "demo"]).ok();
    insta::assert_snapshot!(status_as(&d, &named), @r#"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ✓ clarify ── ✓ plan ── ✓ build
      ✓ review ── ✓ done

      archived  on demo as 0000000000, on
                main with 0000000000
      review    approve by Rita Reviewer
                <rita@example.org> (name not
                proven) (independent), tree
                0000000000

    next: git loopx start "Fix the timeout"
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ✓ done

      archived  on demo as 0000000000, on main with 0000000000
      review    approve by Rita Reviewer <rita@example.org> (name not proven)
                (independent), tree 0000000000

    next: git loopx start "Fix the timeout"
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ✓ build ── ✓ review ── ✓ done

      archived  on demo as 0000000000, on main with 0000000000
      review    approve by Rita Reviewer <rita@example.org> (name not proven) (independent), tree 0000000000

    next: git loopx start "Fix the timeout"
    "#);
    let d = Drive::building();
    d.does(&["abandon", "--reason", "the server does it"]);
    insta::assert_snapshot!(status_as(&d, &named), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ✓ clarify ── ✓ plan ── ● build
      ○ review ── ○ done

      abandoned  in stage build; everything
                 is kept

    the session was abandoned; to undo that:
    git loopx -s demo undo
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ● build ── ○ review ── ○ done

      abandoned  in stage build; everything is kept

    the session was abandoned; to undo that: git loopx -s demo undo
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ✓ clarify ── ✓ plan ── ● build ── ○ review ── ○ done

      abandoned  in stage build; everything is kept

    the session was abandoned; to undo that: git loopx -s demo undo
    ");
}

#[test]
fn what_a_person_has_to_mend_has_its_picture() {
    // The commit that the session began on is gone.
    let (s, _) = crate::base_gone::gone();
    insta::assert_snapshot!(status(&s), @"
    ----------------------------------------
    auth-timeout  Auth timeout
    standard, branch main, from 0000000000,
    new

      ● clarify ── ○ plan ── ○ build
      ○ review ── ○ done

      spec.md  written
      held by  session auth-timeout starts
               from commit 0000000000, which
               is not in this repository

    the commit that it started from is gone
    next: git loopx rebase --onto 0000000000 --reason 'the commit that it started from is gone'
    --------------------------------------------------------------------------------
    auth-timeout  Auth timeout           standard, branch main, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written
      held by  session auth-timeout starts from commit 0000000000, which is not in
               this repository

    the commit that it started from is gone
    next: git loopx rebase --onto 0000000000 --reason 'the commit that it started from is gone'
    ------------------------------------------------------------------------------------------------------------------------
    auth-timeout  Auth timeout                                                   standard, branch main, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written
      held by  session auth-timeout starts from commit 0000000000, which is not in this repository

    the commit that it started from is gone
    next: git loopx rebase --onto 0000000000 --reason 'the commit that it started from is gone'
    ");
    // An agent could not go on.
    let d = Drive::building();
    d.does(&["agent", "block", "--reason", "no network"]);
    insta::assert_snapshot!("status-blocked", status(&d));
    // A critic found something in the plan.
    let d = Drive::planning();
    d.does(&["plan", "--architect", "approve"]);
    let finding = "high: nothing says how long idle is";
    d.does(&["plan", "--critic", "iterate", "--finding", finding]);
    insta::assert_snapshot!("status-critic", status(&d));
    // An approval is older than what it is about, and so is a verdict.
    let d = Drive::planned();
    d.does(&["approve", "--to", "build"]);
    d.edit("plan.md", "# Plan\n\n## Approach\n\nTwo steps.\n");
    insta::assert_snapshot!("status-stale", status(&d));
    let d = Drive::reviewed();
    d.write("src/demo.txt", "later\n");
    let late = ["commit", "--quiet", "--no-verify", "-am", "Later"];
    d.git(&late).ok();
    insta::assert_snapshot!("status-late", status(&d));
    // The target takes another policy meanwhile.
    let d = Drive::building();
    d.git(&["switch", "--quiet", "main"]).ok();
    let policy = "[approve]\nrequired = { \"plan->build\" = 2 }\n";
    d.commit_file("loopx.toml", policy, "Policy").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    if let Some(shown) = terminals(&d, "git loopx status") {
        insta::assert_snapshot!("status-policy", shown);
    }
}

#[test]
fn what_waits_for_another_person_has_its_picture() {
    // One of two approvals.
    let two = "[approve]\nrequired = { \"clarify->plan\" = 2 }\n";
    let d = Drive::repository(Some(two));
    d.does(&["start", "Demo"]);
    d.edit("spec.md", crate::support::drive::SPEC);
    d.does(&["approve", "--to", "plan"]);
    insta::assert_snapshot!(status(&d), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ● clarify ── ○ plan ── ○ build
      ○ review ── ○ done

      spec.md   written
      approved  clarify->plan by Ada Author
                <ada@example.org> (name not
                proven)

    waits for: another person, for the
               approval of clarify->plan
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md   written
      approved  clarify->plan by Ada Author <ada@example.org> (name not proven)

    waits for: another person, for the approval of clarify->plan
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md   written
      approved  clarify->plan by Ada Author <ada@example.org> (name not proven)

    waits for: another person, for the approval of clarify->plan
    ");
    // A review by somebody who took no part.
    let s = session::at("review", "", "[review]\nindependence = \"require\"\n");
    insta::assert_snapshot!("status-apart-review", status(&s));
    // What two clones said apart is settled by one of them.
    let all = crate::resolve::contested();
    let out = at_each_width(|columns| {
        let shown = shown(all.call(0).args(&["status"]), columns);
        // Which of the two comes first differs from run to run.
        shown.replace("Person 1", "Person 0")
    });
    insta::assert_snapshot!("status-conflict", out);
}

#[test]
fn each_kind_of_hold_has_its_picture() {
    // Files that are not committed, and another branch.
    let d = Drive::building();
    d.write("src/demo.txt", "an end\n");
    d.write("notes.txt", "a note\n");
    insta::assert_snapshot!("status-dirty", status(&d));
    d.git(&["stash", "--quiet", "--include-untracked"]).ok();
    d.git(&["switch", "--quiet", "main"]).ok();
    let there = ["-s", "demo", "status"];
    insta::assert_snapshot!("status-branch", screens(&d, &there, "C.UTF-8"));
    // A merge that left both sides.
    let d = Drive::building();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file("src/demo.txt", "theirs\n", "Theirs").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    d.commit_file("src/demo.txt", "ours\n", "Ours").ok();
    d.git(&["merge", "--quiet", "main"]).fails_with(1);
    insta::assert_snapshot!("status-merge", status(&d));
    // A file that is not saved, and one that cannot be.
    let d = Drive::planned();
    d.edit("plan.md", "# Plan\n\n## Approach\n");
    d.edit("change/slices.json", "[{\n");
    insta::assert_snapshot!("status-unsaved", status(&d));
    // Somebody else has to approve.
    let d = Drive::repository(Some("[approve]\ndeny = [\"*<test@*\", \"*\"]\n"));
    d.does(&["start", "Demo"]);
    d.edit("spec.md", crate::support::drive::SPEC);
    d.does(&["save"]);
    insta::assert_snapshot!(status(&d), @"
    ----------------------------------------
    demo  Demo
    standard, branch demo, from 0000000000,
    new

      ● clarify ── ○ plan ── ○ build
      ○ review ── ○ done

      spec.md  written

    waits for: somebody whom policy lets
               approve, for the approval of
               clarify->plan
    --------------------------------------------------------------------------------
    demo  Demo                           standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written

    waits for: somebody whom policy lets approve, for the approval of clarify->plan
    ------------------------------------------------------------------------------------------------------------------------
    demo  Demo                                                                   standard, branch demo, from 0000000000, new

      ● clarify ── ○ plan ── ○ build ── ○ review ── ○ done

      spec.md  written

    waits for: somebody whom policy lets approve, for the approval of clarify->plan
    ");
    // A review that asks for changes.
    let d = Drive::reviewing();
    d.loopx(&[
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "build",
        "--finding",
        "high: no audit log on logout",
        "--reason",
        "mend it",
    ])
    .ok();
    insta::assert_snapshot!("status-changes", status(&d));
}

#[test]
fn what_others_hold_and_what_a_remote_has_have_their_pictures() {
    // Another worktree has the build.
    let d = Drive::building();
    let dir = d.root().join("other");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&[
        "worktree",
        "add",
        "--quiet",
        dir.to_str().expect("UTF-8"),
        "demo",
    ])
    .ok();
    let held = at_each_width(|columns| {
        let call = d.call(LOOPX).cwd(&dir).args(&["status"]);
        shown(call, columns)
    });
    insta::assert_snapshot!("status-held", held);
    // Parked by a person.
    let d = Drive::building();
    d.does(&[
        "agent",
        "park",
        "--reason",
        "it waits for the key of the server",
    ]);
    insta::assert_snapshot!("status-parked", status(&d));
    // Ahead of the remote, then apart from it.
    let d = Drive::building();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "origin", "main", "demo"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    let clone = d.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    d.loopx_in(&clone, &["init"]).ok();
    d.loopx_in(&clone, &["-s", "demo", "note", "the clock is wrong"])
        .ok();
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    d.does(&["note", "one more"]);
    insta::assert_snapshot!("status-ahead", status(&d));
    d.git(&["fetch", "--quiet", "origin"]).ok();
    insta::assert_snapshot!("status-apart", status(&d));
}

#[test]
fn a_branch_that_two_sessions_have_has_its_picture() {
    let all = Clones::sharing(2);
    for (at, name) in [(0, "first"), (1, "second")] {
        all.git(at, &["switch", "--quiet", "-c", "shared"]).ok();
        all.loopx(at, &["start", name]).ok();
    }
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    let status = at_each_width(|columns| {
        let call = all.call(0).args(&["-s", "first", "status"]);
        shown(call, columns)
    });
    insta::assert_snapshot!("status-shared", status);
    let list = at_each_width(|columns| shown(all.call(0).args(&["list"]), columns));
    insta::assert_snapshot!(list, @"
    ----------------------------------------
      SESSION       STAGE    LACKS  NEXT
      auth-timeout  clarify  7
        git loopx -s auth-timeout edit
        spec.md
    ● first         clarify  8
        git loopx use first --branch shared
    ● second        clarify  8
        git loopx use second --branch shared
    --------------------------------------------------------------------------------
      SESSION       STAGE    LACKS  WAITS FOR  NEXT              AGE
      auth-timeout  clarify  7      you        edit spec.md      moments
    ● first         clarify  8      you                          moments
        git loopx use first --branch shared
    ● second        clarify  8      you                          moments
        git loopx use second --branch shared
    ------------------------------------------------------------------------------------------------------------------------
      SESSION       STAGE    LACKS  WAITS FOR  NEXT                        AGE      TITLE
      auth-timeout  clarify  7      you        edit spec.md                moments  Auth timeout
    ● first         clarify  8      you        use first --branch shared   moments  first
    ● second        clarify  8      you        use second --branch shared  moments  second
    ");
}
