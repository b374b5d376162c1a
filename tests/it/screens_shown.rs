//! Screens of what lists and shows, and of what refuses, at 40, 80 and 120 columns. Short ones stand here, long ones
//! in `snapshots/`.

use crate::support::drive::Drive;
use crate::support::screens::{screens, terminals};
use crate::support::session;
use crate::support::tasks::{planning, task};

#[test]
fn the_board_and_the_log_have_their_pictures() {
    let d = Drive::building();
    d.does(&["start", "流式导出", "--no-branch"]);
    d.does(&[
        "start",
        "A change whose name is longer than anybody reads",
        "--no-branch",
    ]);
    d.does(&["start", "Left behind", "--no-branch"]);
    d.loopx(&["-s", "left-behind", "abandon"]).ok();
    insta::assert_snapshot!(screens(&d, &["list"], "C.UTF-8"), @"
    ----------------------------------------
      SESSION       STAGE    LACKS  NEXT
      a-change-w..  clarify  7
        git loopx -s
        a-change-whose-name-is-longer edit
        spec.md
    ● demo          build    2      (write)
      liu-shi-da..  clarify  7
        git loopx -s liu-shi-dao-chu edit
        spec.md
    those that have ended: git loopx list --all
    --------------------------------------------------------------------------------
      SESSION                       STAGE    LACKS  WAITS FOR  NEXT          AGE
      a-change-whose-name-is-lon..  clarify  7      you        edit spec.md  moments
    ● demo                          build    2      you        (write)       moments
      liu-shi-dao-chu               clarify  7      you        edit spec.md  moments
    those that have ended: git loopx list --all
    ------------------------------------------------------------------------------------------------------------------------
      SESSION                        STAGE    LACKS  WAITS FOR  NEXT          AGE      TITLE
      a-change-whose-name-is-longer  clarify  7      you        edit spec.md  moments  A change whose name is longer than..
    ● demo                           build    2      you        (write)       moments  Demo
      liu-shi-dao-chu                clarify  7      you        edit spec.md  moments  流式导出
    those that have ended: git loopx list --all
    ");
    insta::assert_snapshot!(screens(&d, &["list", "--all"], "C.UTF-8"), @"
    ----------------------------------------
      SESSION     STAGE      LACKS  NEXT
      a-change..  clarify    7
        git loopx -s
        a-change-whose-name-is-longer edit
        spec.md
    ● demo        build      2      (write)
      left-beh..  abandoned  -      -
      liu-shi-..  clarify    7
        git loopx -s liu-shi-dao-chu edit
        spec.md
    --------------------------------------------------------------------------------
      SESSION                       STAGE      LACKS  WAITS FOR  NEXT
      a-change-whose-name-is-lon..  clarify    7      you        edit spec.md
    ● demo                          build      2      you        (write)
      left-behind                   abandoned  -      -          -
      liu-shi-dao-chu               clarify    7      you        edit spec.md
    ------------------------------------------------------------------------------------------------------------------------
      SESSION                        STAGE      LACKS  WAITS FOR  NEXT          AGE      TITLE
      a-change-whose-name-is-longer  clarify    7      you        edit spec.md  moments  A change whose name is longer tha..
    ● demo                           build      2      you        (write)       moments  Demo
      left-behind                    abandoned  -      -          -             moments  Left behind
      liu-shi-dao-chu                clarify    7      you        edit spec.md  moments  流式导出
    ");
    d.loopx(&[
        "-s",
        "demo",
        "note",
        "the clock is wrong by an hour in winter, and nobody knows why that is so",
    ])
    .ok();
    if let Some(shown) = terminals(&d, "git loopx -s demo log") {
        insta::assert_snapshot!("log", shown);
    }
    if let Some(shown) = terminals(&d, "git loopx help") {
        insta::assert_snapshot!("help", shown);
    }
}

/// N14: what shows a session, its plan, its notes and the profiles fits a narrow screen.
#[test]
fn n14_what_is_shown_at_length_is_folded_and_has_its_picture() {
    let d = Drive::done();
    d.does(&[
        "note",
        "the clock is wrong by an hour in winter, and nobody knows why that is so",
    ]);
    d.does(&[
        "note",
        "--to",
        "builder",
        "--from",
        "reviewer",
        "read the log of the server first",
    ]);
    if let Some(shown) = terminals(&d, "git loopx show") {
        insta::assert_snapshot!("show", shown);
    }
    if let Some(shown) = terminals(&d, "git loopx profile") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
          quick     build -> review -> done, 1
                    file
          lite      plan -> build -> review ->
                    done, 3 files
          deep      clarify -> plan -> build ->
                    review -> done, 12 files
        * standard  clarify -> plan -> build ->
                    review -> done, 12 files
        --------------------------------------------------------------------------------
          quick     build -> review -> done, 1 file
          lite      plan -> build -> review -> done, 3 files
          deep      clarify -> plan -> build -> review -> done, 12 files
        * standard  clarify -> plan -> build -> review -> done, 12 files
        ------------------------------------------------------------------------------------------------------------------------
          quick     build -> review -> done, 1 file
          lite      plan -> build -> review -> done, 3 files
          deep      clarify -> plan -> build -> review -> done, 12 files
        * standard  clarify -> plan -> build -> review -> done, 12 files
        ");
    }
    if let Some(shown) = terminals(&d, "git loopx note list") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
        demo learning @19  moments ago  Ada
            Author
            the clock is wrong by an hour in
            winter, and nobody knows why that is
            so
        demo learning @20 from reviewer to
            builder  moments ago  Ada Author
            read the log of the server first
        --------------------------------------------------------------------------------
        demo learning @19  moments ago  Ada Author
            the clock is wrong by an hour in winter, and nobody knows why that is so
        demo learning @20 from reviewer to builder  moments ago  Ada Author
            read the log of the server first
        ------------------------------------------------------------------------------------------------------------------------
        demo learning @19  moments ago  Ada Author
            the clock is wrong by an hour in winter, and nobody knows why that is so
        demo learning @20 from reviewer to builder  moments ago  Ada Author
            read the log of the server first
        ");
    }
    let s = planning(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    s.loopx(&[
        "note",
        "--ask",
        "Which port does the server of the tests listen at?",
    ])
    .ok();
    if let Some(shown) = terminals(&s, "git loopx plan --show") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
        complexity  low (no word of the request
                    says otherwise)
        look at     nothing has to be looked at
                    first
        question    @2: Which port does the
                    server of the tests listen
                    at?
        groups      1: A
                    2: B
        next: git loopx approve --enter
        --------------------------------------------------------------------------------
        complexity  low (no word of the request says otherwise)
        look at     nothing has to be looked at first
        question    @2: Which port does the server of the tests listen at?
        groups      1: A
                    2: B
        next: git loopx approve --enter
        ------------------------------------------------------------------------------------------------------------------------
        complexity  low (no word of the request says otherwise)
        look at     nothing has to be looked at first
        question    @2: Which port does the server of the tests listen at?
        groups      1: A
                    2: B
        next: git loopx approve --enter
        ");
    }
}

#[test]
fn a_review_shows_itself_and_has_its_picture() {
    let d = Drive::reviewing();
    if let Some(shown) = terminals(&d, "git loopx review --show") {
        insta::assert_snapshot!("review", shown);
    }
    d.loopx(&[
        "review",
        "--verdict",
        "request-changes",
        "--finding",
        "high: no audit log on logout",
    ])
    .ok();
    if let Some(shown) = terminals(&d, "git loopx review --show") {
        insta::assert_snapshot!("review-changes", shown);
    }
}

#[test]
fn refusals_of_a_commit_by_the_hooks_have_their_pictures() {
    let policy = "[gates]\nout_of_scope = \"refuse\"\n";
    let commit = "git commit --quiet -m code";
    let refused = |stage: &str, path: &str| {
        let s = session::at(stage, "src", policy);
        s.write(path, "code\n");
        s.git(&["add", path]).ok();
        terminals(&s, commit)
    };
    if let Some(shown) = refused("plan", "src/new.rs") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
        refused: this commit is not allowed:
        session demo is in stage plan
          `src/new.rs`: stage plan takes no code
            git loopx edit plan.md

        hint: to commit all the same:
              git commit --no-verify
              (or LOOPX=0); `git loopx verify`
              will tell
        --------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage plan
          `src/new.rs`: stage plan takes no code
            git loopx edit plan.md

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0);
              `git loopx verify` will tell
        ------------------------------------------------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage plan
          `src/new.rs`: stage plan takes no code
            git loopx edit plan.md

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0); `git loopx verify` will tell
        ");
    }
    if let Some(shown) = refused("build", "other/new.rs") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
        refused: this commit is not allowed:
        session demo is in stage build
          `other/new.rs`: outside the scope that
          the plan declares
            git loopx plan --reason 'the plan has to change'

        hint: to commit all the same:
              git commit --no-verify
              (or LOOPX=0); `git loopx verify`
              will tell
        --------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage build
          `other/new.rs`: outside the scope that the plan declares
            git loopx plan --reason 'the plan has to change'

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0);
              `git loopx verify` will tell
        ------------------------------------------------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage build
          `other/new.rs`: outside the scope that the plan declares
            git loopx plan --reason 'the plan has to change'

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0); `git loopx verify` will tell
        ");
    }
    if let Some(shown) = refused("review", "src/late.rs") {
        insta::assert_snapshot!(shown, @"
        ----------------------------------------
        refused: this commit is not allowed:
        session demo is in stage review
          `src/late.rs`: stage review takes no
          code
            git loopx review --verdict request-changes --target build --reason 'it has to be mended'

        hint: to commit all the same:
              git commit --no-verify
              (or LOOPX=0); `git loopx verify`
              will tell
        --------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage review
          `src/late.rs`: stage review takes no code
            git loopx review --verdict request-changes --target build --reason 'it has to be mended'

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0);
              `git loopx verify` will tell
        ------------------------------------------------------------------------------------------------------------------------
        refused: this commit is not allowed: session demo is in stage review
          `src/late.rs`: stage review takes no code
            git loopx review --verdict request-changes --target build --reason 'it has to be mended'

        hint: to commit all the same: git commit --no-verify  (or LOOPX=0); `git loopx verify` will tell
        ");
    }
}
