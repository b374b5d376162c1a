//! A landing is asked for all that it changes on its branch: also for what a merge takes from another parent, what git
//! carries to another place because the branch renamed it, and what a session below brings along.

use crate::support::landing::{self, PULL, at, ci, make, merge, push, rev, serve, would_land};
use crate::support::{LOOPX, Sandbox};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const DEMAND: &str = "[profiles.demand]\n\"src/pay/**\" = \"standard\"\n";
const CHECK: &str = "[checks.unit]\nrun = [\"false\"]\npaths = [\"src/pay/**\"]\n";
const REFUSE: &str = "out_of_scope = \"refuse\"\n";
const PLAN: &str = "---\nscope: [SCOPE]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";
const TASK: &str = "{\"id\":\"TASK-001\",\"title\":\"Do it\",\"convergence\":{\"criteria\":[\"it is there\"],\
\"verification\":{\"cmd\":[\"true\"]}}}\n";

fn policy(more: &str) -> String {
    format!(
        "{}always_allow = [\"docs/**\", \"*.md\"]\n{more}",
        landing::PROTECTED
    )
}

/// A repository with these files on `main`, checked out.
fn repository(policy: &str, files: &[(&str, &str)]) -> Sandbox {
    Sandbox::once(format!("{policy:?} {files:?}"), || {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("loopx.toml", policy);
        for (path, text) in files {
            s.write(path, text);
        }
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A quick session `id` on a branch of that name, from here.
fn quick(s: &Sandbox, id: &str) {
    s.git(&["switch", "--quiet", "-c", id]).ok();
    s.loopx(&["start", "--quick", "--id", id, id]).ok();
}

/// A lite session with this scope, on a branch of its name, in plan.
fn planned(s: &Sandbox, id: &str, scope: &str) {
    s.git(&["switch", "--quiet", "-c", id]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", id, id])
        .ok();
    let file = |name: &str| format!(".loopx/{id}/{name}");
    s.write(file("plan.md"), PLAN.replace("SCOPE", scope));
    s.write(
        file("change/spec-delta.md"),
        "---\nbehaviour: unchanged\nreason: only a number\n---\n",
    );
    s.write(file("tasks.jsonl"), TASK);
}

fn finish(s: &Sandbox) {
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

/// Takes a session to its archive without `finish`, which refuses what lies outside of the scope.
fn end_by_steps(s: &Sandbox) {
    for args in [
        &["run"][..],
        &["approve", "--enter"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "done"],
        &["archive"],
    ] {
        s.loopx(args).ok();
    }
}

/// Takes a quick session to done by the review of this person.
fn reviewed(s: &Sandbox, who: &str) {
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    let email = format!("{}@example.org", who.to_lowercase());
    for args in [
        &["review", "--verdict", "approve"][..],
        &["approve", "--to", "done"],
    ] {
        let call = s.call(LOOPX).args(args);
        call.env("GIT_AUTHOR_NAME", who)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_COMMITTER_NAME", who)
            .env("GIT_COMMITTER_EMAIL", &email)
            .run()
            .ok();
    }
}

/// A merge by hand of these commits that has what HEAD has, and this path as `from` has it.
fn roll_back(s: &Sandbox, parents: &[&str], from: &str, path: &str) {
    let source = format!("--source={from}");
    s.git(&["restore", &source, "--staged", "--worktree", "--", path])
        .ok();
    let tree = s.git(&["write-tree"]).line();
    let mut args = vec!["commit-tree", "-m", "Merge branch 'main'"];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    args.push(&tree);
    let made = s.git(&args).line();
    s.git(&["reset", "--quiet", "--hard", &made]).ok();
}

#[track_caller]
fn refused(s: &Sandbox, commit: &str, said: &[&str]) {
    let mut judged = ci(s, commit, "other").fails_with(1);
    let what = format!("{commit}:refs/heads/main");
    let mut pushed = push(s, &[&what, "loopx"]).fails_with(1);
    for word in said {
        judged = judged.says(word);
        pushed = pushed.says(word);
    }
}

/// Git's squash and merge of a branch onto `main`, where it follows renamed folders.
fn shapes(s: &Sandbox, branch: &str) -> [String; 2] {
    s.git(&["config", "merge.directoryRenames", "true"]).ok();
    [
        landing::squash(s, "main", branch, landing::SQUASH),
        merge(s, "main", branch, PULL),
    ]
}

#[test]
fn what_a_session_below_brings_is_judged_by_its_own_approvals_in_any_shape() {
    let strict = policy("[review]\nindependence = \"require\"\n");
    let s = repository(&strict, &[]);
    serve(&s);
    // The author alone, under a policy of their own that asks for nobody else.
    s.git(&["switch", "--quiet", "-c", "lax"]).ok();
    make(&s, &[("loopx.toml", "[gates]\ntarget = \"main\"\n")], "lax");
    quick(&s, "below");
    s.git(&["reset", "--quiet", "--hard", "main"]).ok();
    let evil = [
        ("src/evil", "x\n"),
        ("loopx.toml", "[gates]\ntarget = \"main\"\n"),
    ];
    make(&s, &evil, "below");
    reviewed(&s, "Ada");
    let main = rev(&s, "main");
    quick(&s, "above");
    make(&s, &[("src/timeout", "10\n")], "above");
    // A clone whose own branch has the lower one already: the review shows what is above it.
    s.git(&["branch", "--quiet", "--force", "main", "below"])
        .ok();
    reviewed(&s, "Rita");
    s.git(&["branch", "--quiet", "--force", "main", &main]).ok();
    // Under names that no session is bound to.
    landing::offer(&s, &["below:refs/heads/one", "above:refs/heads/two"]);
    let said = ["reviewer_not_independent", "below"];
    refused(&s, "above", &said);
    for made in shapes(&s, "above") {
        refused(&s, &made, &said);
    }
    refused(&s, &landing::rebase(&s, "main", "above"), &said);
}

#[test]
fn a_review_shows_all_that_lands_whatever_the_policy_of_its_base_protects() {
    let s = repository(&policy(""), &[]);
    serve(&s);
    s.git(&["switch", "--quiet", "-c", "lax"]).ok();
    make(&s, &[("loopx.toml", ""), ("src/evil", "x\n")], "lax");
    quick(&s, "it");
    make(&s, &[("src/timeout", "10\n")], "ten");
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review"]).says("src/evil").ok();
}

#[test]
fn a_document_that_a_merge_carries_elsewhere_is_held_against_where_it_lands() {
    let roads = [
        ("docs/style.md", "docs/rules/style.md", "path_guarded"),
        ("NOTES.md", "AGENTS.md", "path_guarded"),
        ("docs/run.sh", "src/run.sh", "protected_without_session"),
        ("docs/lib/a", "src/lib/a", "protected_without_session"),
        ("docs/one.md", "docs/two.md", ""),
    ];
    for (from, to, code) in roads {
        let s = repository(&policy(""), &[(from, LINES)]);
        s.git(&["tag", "old"]).ok();
        make(&s, &[(from, ""), (to, LINES)], "move it");
        serve(&s);
        at(&s, "old");
        // A new file goes where its folder went.
        let (path, lands_at) = match from {
            "docs/lib/a" => ("docs/lib/b", "src/lib/b"),
            _ => (from, to),
        };
        let side = make(&s, &[(path, &format!("{LINES}10\n"))], "a typo");
        s.git(&["config", "merge.directoryRenames", "true"]).ok();
        let made = merge(&s, "main", &side, PULL);
        if code.is_empty() {
            would_land(&s, &made);
        } else {
            refused(&s, &made, &[code, lands_at]);
        }
    }
}

#[test]
fn a_document_after_the_review_is_carried_nowhere_by_a_merge_of_the_target() {
    let s = repository(&policy(""), &[("docs/style.md", LINES)]);
    s.git(&["tag", "old"]).ok();
    make(
        &s,
        &[("docs/style.md", ""), ("AGENTS.md", LINES)],
        "move it",
    );
    serve(&s);
    at(&s, "old");
    quick(&s, "it");
    make(&s, &[("src/timeout", "10\n")], "ten");
    reviewed(&s, "Rita");
    landing::offer(&s, &["it"]);
    let honest = merge(&s, "it", "main", "Merge branch 'main' into it");
    would_land(&s, &honest);
    at(&s, "it");
    let typo = [("docs/style.md", &*format!("{LINES}10\n"))];
    let document = make(&s, &typo, "a typo");
    let evil = merge(&s, &document, "main", "Merge branch 'main' into it");
    refused(&s, &evil, &["path_guarded", "AGENTS.md"]);
    let evil = merge(&s, "main", &evil, PULL);
    refused(&s, &evil, &["path_guarded", "AGENTS.md"]);
}

#[test]
fn a_pick_of_what_another_branch_has_is_held_against_where_it_lands() {
    let policy = "[gates]\nprotected = [\"main\", \"release\"]\nalways_allow = [\"docs/**\"]\n\
        [landing]\nbackport = [\"main\"]\n";
    let notes = "1\n2\n3\n4\n5\n6\n7\n8\n9\nnotes\n";
    let files = [
        ("src/a", LINES),
        ("docs/notes", notes),
        ("docs/other", "other\n"),
    ];
    let s = repository(policy, &files);
    s.git(&["switch", "--quiet", "-c", "release"]).ok();
    let moved = [
        ("src/a", ""),
        ("lib/a", LINES),
        ("docs/notes", ""),
        ("AGENTS.md", notes),
    ];
    make(&s, &moved, "move them");
    s.git(&["switch", "--quiet", "main"]).ok();
    serve(&s);
    s.script("../remote.git/hooks/pre-receive", "#!/bin/sh\n");
    push(&s, &["release"]).ok();
    s.script(
        "../remote.git/hooks/pre-receive",
        crate::support::server::HOOK,
    );
    make(&s, &[("docs/notes", &format!("{notes}more\n"))], "more");
    push(&s, &["main"]).ok();
    quick(&s, "it");
    make(&s, &[("src/a", &format!("{LINES}10\n"))], "ten");
    reviewed(&s, "Rita");
    landing::offer(&s, &["it"]);
    push(&s, &["it:refs/heads/main", "loopx"]).ok();
    let pick = |commit: &str| {
        at(&s, "release");
        s.git(&["cherry-pick", "-x", commit]).ok();
        let range = format!("origin/release..{}", rev(&s, "HEAD"));
        s.loopx(&[
            "verify",
            &range,
            "--onto=release",
            "--policy-from=origin/release",
        ])
    };
    pick("main").fails_with(1).says("AGENTS.md");
    push(&s, &["HEAD:refs/heads/release"])
        .fails_with(1)
        .says("AGENTS.md");
    pick("it").ok();
    push(&s, &["HEAD:refs/heads/release"]).ok();
    // Documents that stay where they are hold no code, and none that is carried elsewhere.
    s.git(&["branch", "--quiet", "--force", "release", "HEAD"])
        .ok();
    at(&s, "it");
    for (id, line, document, text) in [
        ("staying", '1', "docs/other", "another\n"),
        ("carried", '5', "docs/notes", &format!("0\n{notes}more\n")),
    ] {
        quick(&s, id);
        let code = s.read("src/a").replacen(line, "word", 1);
        make(&s, &[("src/a", &code), (document, text)], id);
        reviewed(&s, "Rita");
        landing::offer(&s, &[id]);
        push(&s, &[&format!("{id}:refs/heads/main"), "loopx"]).ok();
    }
    pick("staying").ok();
    pick("carried").fails_with(1).says("AGENTS.md");
}

#[test]
fn what_a_merge_carries_into_a_demanded_place_is_demanded_of_the_session() {
    for (rule, code) in [(DEMAND, "profile_too_light"), (CHECK, "unit")] {
        for path in ["lib/a", "lib/new"] {
            let s = repository(&policy(rule), &[("lib/a", LINES), ("lib/b", LINES)]);
            quick(&s, "it");
            make(&s, &[(path, &format!("{LINES}10\n"))], "ten");
            finish(&s);
            s.git(&["switch", "--quiet", "main"]).ok();
            let moved = [
                ("lib/a", ""),
                ("lib/b", ""),
                ("src/pay/a", LINES),
                ("src/pay/b", LINES),
            ];
            make(&s, &moved, "move it");
            serve(&s);
            landing::offer(&s, &["it"]);
            s.git(&["config", "merge.directoryRenames", "true"]).ok();
            let named = "Ten\n\nLoopx-Session: it\n";
            for made in [
                landing::squash(&s, "main", "it", named),
                merge(&s, "main", "it", PULL),
            ] {
                refused(&s, &made, &[code, "it"]);
            }
        }
    }
    // Without such a rule it is an honest merge.
    let s = repository(&policy(""), &[("lib/a", LINES)]);
    quick(&s, "it");
    make(&s, &[("lib/a", &format!("{LINES}10\n"))], "ten");
    finish(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    make(&s, &[("lib/a", ""), ("src/pay/a", LINES)], "move it");
    serve(&s);
    landing::offer(&s, &["it"]);
    for made in shapes(&s, "it") {
        would_land(&s, &made);
    }
}

/// `main` with a file that was mended, and the commit before that as `old`.
fn mended(policy: &str, path: &str) -> Sandbox {
    let s = repository(policy, &[(path, "limit\n")]);
    s.git(&["tag", "old"]).ok();
    make(&s, &[(path, "limit, owner\n")], "mend it");
    s
}

#[test]
fn what_a_merge_takes_back_is_demanded_of_the_session_that_made_it() {
    for (rule, code) in [(DEMAND, "profile_too_light"), (CHECK, "unit")] {
        for parents in [
            &["old", "HEAD"][..],
            &["HEAD", "old"],
            &["old", "HEAD", "main"],
        ] {
            let s = mended(&policy(""), "src/pay/a");
            quick(&s, "it");
            make(&s, &[("src/timeout", "10\n")], "ten");
            roll_back(&s, parents, "old", "src/pay/a");
            finish(&s);
            s.git(&["switch", "--quiet", "main"]).ok();
            make(&s, &[("loopx.toml", &policy(rule))], "policy");
            s.git(&["switch", "--quiet", "it"]).ok();
            s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
            serve(&s);
            landing::offer(&s, &["it"]);
            refused(&s, "it", &[code, "it"]);
            for made in shapes(&s, "it") {
                refused(&s, &made, &[code, "it"]);
            }
        }
        // The gates of the session say so before anything is pushed.
        let s = mended(&policy(rule), "src/pay/a");
        quick(&s, "it");
        make(&s, &[("src/timeout", "10\n")], "ten");
        roll_back(&s, &["old", "HEAD"], "old", "src/pay/a");
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["-v", "finish", "--yes"]).fails_with(1).says(code);
    }
}

#[test]
fn what_a_merge_takes_from_the_target_is_demanded_of_nobody() {
    let s = mended(&policy(DEMAND), "src/pay/a");
    quick(&s, "it");
    make(&s, &[("src/timeout", "10\n")], "ten");
    s.git(&["switch", "--quiet", "main"]).ok();
    make(&s, &[("src/pay/a", "limit, owner, log\n")], "log it");
    s.git(&["switch", "--quiet", "it"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    finish(&s);
    serve(&s);
    landing::offer(&s, &["it"]);
    would_land(&s, "it");
}

#[test]
fn what_a_merge_takes_back_is_held_against_the_scope() {
    for parents in [
        &["old", "HEAD"][..],
        &["HEAD", "old"],
        &["old", "HEAD", "main"],
    ] {
        let s = mended(&policy(""), "deploy.sh");
        make(
            &s,
            &[(
                "loopx.toml",
                &policy("").replace("always", &format!("{REFUSE}always")),
            )],
            "policy",
        );
        planned(&s, "it", "\"src/**\"");
        s.loopx(&["approve", "--enter"]).ok();
        make(&s, &[("src/timeout", "10\n")], "ten");
        roll_back(&s, parents, "old", "deploy.sh");
        end_by_steps(&s);
        serve(&s);
        // A push of the session's own branch is asked the same.
        let elsewhere = rev(&s, "it");
        push(&s, &[&format!("{elsewhere}:refs/heads/elsewhere"), "loopx"]).ok();
        refused(&s, "it", &["deploy.sh"]);
        at(&s, "main");
        s.git(&["restore", "--source=it", "--staged", "--worktree", "."])
            .ok();
        let made = make(&s, &[], landing::SQUASH);
        refused(&s, &made, &["out_of_scope", "deploy.sh", "it"]);
    }
}

/// A repository whose policy refuses what is outside of the scope, with a session that is `done` of nothing.
fn with_alibi(start: impl Fn(&Sandbox)) -> Sandbox {
    let policy = policy("").replace("always", &format!("{REFUSE}always"));
    let s = repository(&policy, &[("deploy.sh", "ok\n")]);
    start(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    s
}

#[test]
fn a_session_that_does_not_land_lends_no_scope() {
    let s = with_alibi(|s| planned(s, "alibi", "\"**\""));
    planned(&s, "it", "\"src/**\"");
    s.loopx(&["approve", "--enter"]).ok();
    make(&s, &[("src/timeout", "10\n")], "ten");
    make(
        &s,
        &[("deploy.sh", "evil\n")],
        "deploy\n\nLoopx-Session: alibi\n",
    );
    end_by_steps(&s);
    serve(&s);
    let it = rev(&s, "it");
    push(&s, &[&format!("{it}:refs/heads/elsewhere"), "loopx"]).ok();
    let made = landing::squash(&s, "main", "it", landing::SQUASH);
    refused(&s, &made, &["out_of_scope", "deploy.sh", "it"]);
    refused(&s, &landing::rebase(&s, "main", "it"), &["deploy.sh"]);
}

#[test]
fn a_session_that_does_not_land_lends_no_state() {
    for stage in ["plan", "build"] {
        let s = with_alibi(|s| quick(s, "alibi"));
        let state = rev(&s, "loopx");
        planned(&s, "it", "\"src/**\"");
        let evil = format!("deploy\n\nLoopx-Session: alibi\nLoopx-State: {state}\n");
        if stage == "build" {
            s.loopx(&["approve", "--enter"]).ok();
        }
        make(&s, &[("deploy.sh", "evil\n")], &evil);
        if stage == "plan" {
            s.loopx(&["approve", "--enter"]).ok();
        }
        make(&s, &[("src/timeout", "10\n")], "ten");
        end_by_steps(&s);
        serve(&s);
        let it = rev(&s, "it");
        push(&s, &[&format!("{it}:refs/heads/elsewhere"), "loopx"]).ok();
        refused(&s, "it", &["deploy.sh", "it"]);
    }
}

/// A session that stands on another one, which has landed as one commit meanwhile, lands with the commits of both.
#[test]
fn a_session_that_has_landed_still_stands_for_its_own_commits() {
    let policy = policy("").replace("always", &format!("{REFUSE}always"));
    let s = repository(&policy, &[("deploy.sh", "ok\n")]);
    planned(&s, "below", "\"deploy.sh\"");
    s.loopx(&["approve", "--enter"]).ok();
    let state = rev(&s, "loopx");
    let message = format!("deploy\n\nLoopx-Session: below\nLoopx-State: {state}\n");
    make(&s, &[("deploy.sh", "new\n")], &message);
    end_by_steps(&s);
    serve(&s);
    landing::offer(&s, &["below"]);
    let made = landing::squash(&s, "main", "below", landing::SQUASH);
    landing::lands(&s, &made);
    s.git(&["branch", "--quiet", "--force", "main", &made]).ok();
    s.git(&["switch", "--quiet", "below"]).ok();
    planned(&s, "above", "\"src/**\"");
    s.loopx(&["approve", "--enter"]).ok();
    make(&s, &[("src/timeout", "10\n")], "ten");
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    end_by_steps(&s);
    landing::offer(&s, &["above"]);
    would_land(&s, "above");
    for made in shapes(&s, "above") {
        would_land(&s, &made);
    }
}

/// Takes `main` and a squash of the session `bob` into the branch `side`, and that into `main`.
fn landed_with_bob(s: &Sandbox) -> String {
    let args = ["merge", "--quiet", "--no-verify", "-m", "take main in"];
    s.git(&[&args[..], &["main"]].concat()).ok();
    s.git(&["merge", "--quiet", "--squash", "bob"]).ok();
    make(s, &[], "a word (#3)");
    merge(s, "main", "side", PULL)
}

/// `main` with a document that it has made a script since, and the commit from before that.
fn renamed(documents: &[(&str, &str)]) -> (Sandbox, String) {
    let files = [&[("docs/run.md", LINES)], documents].concat();
    let s = repository(&policy(""), &files);
    let before = rev(&s, "main");
    s.git(&["mv", "docs/run.md", "src/run.sh"]).ok();
    make(&s, &[], "a script");
    serve(&s);
    (s, before)
}

#[test]
fn a_path_that_a_reviewed_session_touches_is_no_way_for_a_document_to_be_carried_to() {
    let (s, before) = renamed(&[]);
    quick(&s, "bob");
    make(&s, &[("src/run.sh", &LINES.replace('1', "one"))], "a word");
    finish(&s);
    landing::offer(&s, &["bob"]);
    s.git(&["switch", "--quiet", "-c", "side", &before]).ok();
    make(
        &s,
        &[("docs/run.md", &format!("{LINES}evil\n"))],
        "a document",
    );
    let evil = landed_with_bob(&s);
    assert!(s.read("src/run.sh").contains("evil"));
    refused(&s, &evil, &["src/run.sh"]);
    // The session alone lands, however it is merged.
    for honest in shapes(&s, "bob") {
        would_land(&s, &honest);
    }
}

#[test]
fn a_document_behind_a_reviewed_session_does_not_hold_what_the_session_renames_bring() {
    let s = repository(&policy(""), &[("docs/a.md", "a\n")]);
    quick(&s, "demo");
    make(&s, &[("src/timeout", "10\n")], "code");
    finish(&s);
    make(&s, &[("docs/a.md", "b\n")], "a document");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["mv", "src", "lib"]).ok();
    make(&s, &[], "another place");
    serve(&s);
    landing::offer(&s, &["demo"]);
    let honest = merge(&s, "main", "demo", PULL);
    assert_eq!(s.read("lib/timeout"), "10\n");
    would_land(&s, &honest);
}

#[test]
fn a_pull_request_is_held_against_what_the_merge_will_carry_to_the_target() {
    let (s, before) = renamed(&[("docs/other.md", "other\n")]);
    at(&s, &before);
    let evil = make(
        &s,
        &[("docs/run.md", &format!("{LINES}evil\n"))],
        "a document",
    );
    ci(&s, &evil, "typo").fails_with(1).says("src/run.sh");
    at(&s, &before);
    let honest = make(&s, &[("docs/other.md", "better\n")], "a document");
    ci(&s, &honest, "typo").ok();
    let honest = merge(&s, "main", &honest, PULL);
    would_land(&s, &honest);
}

#[test]
fn a_path_that_another_session_touches_is_demanded_of_the_one_whose_code_is_carried_there() {
    let rule = "[profiles.demand]\n\"src/pay/**\" = \"lite\"\n";
    let s = repository(&policy(rule), &[("lib/a", LINES)]);
    let before = rev(&s, "main");
    make(&s, &[("lib/a", ""), ("src/pay/a", LINES)], "move it");
    planned(&s, "bob", "\"src/**\"");
    s.loopx(&["approve", "--enter"]).ok();
    make(&s, &[("src/pay/a", &LINES.replace('1', "one"))], "a word");
    end_by_steps(&s);
    s.git(&["switch", "--quiet", "--detach", &before]).ok();
    quick(&s, "it");
    make(&s, &[("lib/a", &format!("{LINES}evil\n"))], "evil");
    finish(&s);
    serve(&s);
    landing::offer(&s, &["it", "bob"]);
    // The merge of a forge will carry it there.
    let judged = ci(&s, "it", "it").fails_with(1);
    judged.says("profile_too_light");
    s.git(&["switch", "--quiet", "-c", "side"]).ok();
    let evil = landed_with_bob(&s);
    assert!(s.read("src/pay/a").contains("evil"));
    refused(&s, &evil, &["profile_too_light", "it"]);
    for honest in shapes(&s, "bob") {
        would_land(&s, &honest);
    }
}
