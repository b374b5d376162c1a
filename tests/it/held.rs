//! Attempts of an adversary that did not get through, by their numbers: it stays so. Each table shares one server.
//!
//! The other numbers stand elsewhere:
//!
//! | numbers | where |
//! |---|---|
//! | 35, 37 to 44, 82, 84, 85 | `held_push` |
//! | 45 | `approvals`: a signed approval opens the gate; `one_of_two_people_authorizes_nothing_yet_...` |
//! | 46 | `approvals`: `edge_12_an_approval_is_no_approval_of_something_else`, `..._of_another_namespace_is_none` |
//! | 47 to 49 | `approvals`: `edge_12_a_signature_is_the_word_of_whom_the_operation_names` |
//! | 50 to 52, 55, 86 to 112 | `held_input` |
//! | 53 | `approvals::people`: `edge_13_another_name_is_the_same_person_by_the_mailmap_of_the_base` |
//! | 54 | `approvals::people`: `people_are_counted_and_not_names_or_keys` |
//! | 56 | `approvals`: `a_revoked_key_and_a_key_that_nobody_touches_do_not_count` |
//! | 57, 58 | `approvals`: `edge_12_a_backdated_approval_revives_no_expired_key` |
//! | 59 | `approvals`: `edge_12_a_key_or_a_signature_of_another_namespace_is_none` |
//! | 80 | `verify`: `a_clone_verifies_with_the_fetched_branch_and_says_when_it_is_shallow` |
//! | 81 | whatever loops over `FORMATS`: `landing_model`, `proven`, `setup_server` |
//! | 113, 114 | `landing_attacks`: `g2_g3_a_verdict_lands_once_and_only_where_it_merges` |

use crate::support::landing::{at, build, ci, done, lands, make, push, rev};
use crate::support::server::{begun, entries, literally, put_tree, raw_tree, server, with_entry};
use crate::support::session::tip;
use crate::support::store::{tamper, tamper_all};
use crate::support::{LOOPX, Sandbox};

const EVIL: (&str, &str) = ("src/evil.rs", "evil\n");

/// Files of the branch of sessions, written or taken away.
type Edits = Vec<(String, Option<Vec<u8>>)>;

/// A commit of this tree, past every file and hook.
fn commit(s: &Sandbox, tree: &str, parents: &[&str], message: &str) -> String {
    let mut args = vec!["commit-tree", "-m", message];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    args.push(tree);
    s.git(&args).line()
}

/// Pushes of one ref each that a server refuses, and nothing moves there.
#[track_caller]
fn all_refused(s: &Sandbox, table: &[(&str, String)]) {
    let remote = s.root().join("remote.git");
    let refs = || s.git_in(&remote, &["for-each-ref"]).ok();
    let before = refs();
    for (what, spec) in table {
        let out = push(s, &[spec]);
        assert_eq!(out.code, Some(1), "{what}: {out}");
        let declined = "pre-receive hook declined";
        assert!(out.stderr.contains(declined), "{what}: {out}");
        assert!(!out.stderr.contains("panicked"), "{what}: {out}");
        assert_eq!(refs(), before, "{what}");
    }
}

#[test]
fn held_1_to_18_nothing_reaches_a_protected_branch_without_a_review() {
    let s = done();
    let main = rev(&s, "main");
    let tree = rev(&s, "main^{tree}");
    let state = tip(&s);
    at(&s, "main");
    let evil = make(&s, &[EVIL], "evil");
    let evil_tree = rev(&s, "HEAD^{tree}");
    let trailer = |key: &str, id: &str| format!("take it back\n\n{key}: demo\nLoopx-State: {id}\n");
    let back = commit(&s, &tree, &[&evil], "take it back");
    let claimed = commit(&s, &tree, &[&evil], &trailer("Loopx-Session", &state));
    let replayed = commit(&s, &evil_tree, &[&main], &trailer("Loopx-Session", &state));
    let ours = commit(&s, &tree, &[&main, &evil], "Merge branch 'evil'");
    let turned = commit(&s, &evil_tree, &[&evil, &main], "Merge branch 'main'");
    let who = "A <a@b> 1767225600 +0000";
    let header = |more: &str| {
        let text =
            format!("tree {evil_tree}\nparent {main}\nauthor {who}\ncommitter {who}\n{more}\nx\n");
        literally(&s, "commit", text)
    };
    let encoded = header("encoding UTF-16\n");
    let folded = header("gpgsig x\n tree 0\n");
    let root = commit(&s, &evil_tree, &[], "a history of its own");
    let joined = commit(
        &s,
        &evil_tree,
        &[&main, &root],
        "Merge a history of its own",
    );
    s.git(&["tag", "light", &evil]).ok();
    s.git(&["tag", "-a", "-m", "x", "heavy", &evil]).ok();
    let to_main = |from: &str| format!("+{from}:refs/heads/main");
    let table = [
        ("1 plain", to_main(&evil)),
        ("4 taken back with a trailer", to_main(&claimed)),
        ("5 taken back", to_main(&back)),
        ("6 merge -s ours", to_main(&ours)),
        ("6 merge the other way round", to_main(&turned)),
        ("7 a state that was there", to_main(&replayed)),
        ("11 an encoding", to_main(&encoded)),
        ("11 a folded header", to_main(&folded)),
        ("12 deleted", ":refs/heads/main".into()),
        ("14 a tag's commit", to_main("light^{}")),
        ("15 a tag", "+heavy:refs/heads/main".into()),
        ("16 a root", to_main(&root)),
        ("16 a root that is merged", to_main(&joined)),
        ("17 a shadow", format!("{evil}:refs/loopx/shadow")),
    ];
    all_refused(&s, &table);
    for (what, spec) in &table[..8] {
        let commit = spec.trim_start_matches('+').split(':').next();
        let out = ci(&s, commit.expect("a commit"), "other");
        assert_eq!(out.code, Some(1), "{what}: {out}");
    }
    // 18: what lies beside the branch of sessions has no say.
    push(
        &s,
        &[
            "loopx:refs/remotes/origin/loopx",
            &format!("{evil}:refs/remotes/origin/demo"),
        ],
    )
    .ok();
    all_refused(&s, &table[..1]);
    // The honest neighbour; and back from there leads nothing.
    lands(&s, "demo");
    all_refused(&s, &[("13 forced back", to_main(&main))]);
}

/// Code on top of a branch in review, with what trailers may claim of it.
fn claims(s: &Sandbox, head: &str, code: &str) -> Vec<(&'static str, String)> {
    const SESSION: &str = "Loopx-Session";
    const STATE: &str = "Loopx-State";
    let building = ["log", "--format=%H", "--grep=^demo: build$", "-1", "loopx"];
    let building = s.git(&building).line();
    assert!(!building.is_empty(), "the build was entered");
    let main = rev(s, "main");
    let (demo, state) = ((SESSION, "demo"), (STATE, building.as_str()));
    let small = [("loopx-session", "demo"), ("loopx-state", &building)];
    let table: [(&str, &[(&str, &str)]); 6] = [
        ("60 a state of the build", &[demo, state]),
        ("61 a foreign commit", &[demo, (STATE, &main)]),
        ("62 two sessions", &[demo, (SESSION, "other"), state]),
        ("63 a session of nobody", &[(SESSION, "nobody"), state]),
        ("64 lower case", &small),
        ("65 no state", &[demo]),
    ];
    let made = table.map(|(what, lines)| {
        let lines = lines.iter().map(|(key, value)| format!("{key}: {value}\n"));
        let message = format!("x\n\n{}", lines.collect::<String>());
        (what, commit(s, code, &[head], &message))
    });
    made.into()
}

/// Code on top of a branch in review, in the shapes that a commit may have.
fn shapes(s: &Sandbox, head: &str, code: &str) -> Vec<(&'static str, String)> {
    let main = rev(s, "main");
    let side = commit(s, code, &[&main], "beside");
    let other = commit(s, &rev(s, "main^{tree}"), &[&main], "beside, too");
    let blob = rev(s, &format!("{head}:src/a.rs"));
    let mut src = entries(s, &format!("{head}:src"));
    let (mode, _, id) = src.remove(0);
    src.push((mode, b"zz.rs".to_vec(), id));
    let src = raw_tree(s, &src);
    let of = |folder: &str, mode: &str, name: &str, id: &str| {
        let tree = with_entry(s, head, folder, (mode, name.as_bytes(), id));
        commit(s, &tree, &[head], "x")
    };
    let args = ["commit-tree", "-p", head, "-m", "x", code];
    let dated = s.call("git").args(&args);
    let dated = dated
        .env("GIT_AUTHOR_DATE", "978307200 +0000")
        .env("GIT_COMMITTER_DATE", "978307200 +0000");
    let back = rev(s, "demo~1^{tree}");
    vec![
        (
            "66 an octopus",
            commit(s, code, &[head, &side, &other], "Merge"),
        ),
        ("67 a merge", commit(s, code, &[head, &side], "Merge")),
        ("68 a rename", of("", "40000", "src", &src)),
        ("69 a mode", of("src", "100755", "a.rs", &blob)),
        ("70 attributes", of("", "100644", ".gitattributes", &blob)),
        ("71 a submodule", of("src", "160000", "sub", head)),
        ("72 a link", of("src", "120000", "link", &blob)),
        ("73 a revert", commit(s, &back, &[head], "x")),
        ("74 dated 2001", dated.run().line()),
    ]
}

/// Asserts that nothing that a client says switches the judge off.
#[track_caller]
fn no_client_opens_it(s: &Sandbox, spec: &str) {
    let quiet = ["push", "--no-verify", "origin", spec];
    let branch = "'loopx.branch'='other'";
    for (name, value) in [("LOOPX", "0"), ("GIT_CONFIG_PARAMETERS", branch)] {
        let out = s.call("git").args(&quiet).env(name, value).run();
        assert_eq!(out.code, Some(1), "{name}: {out}");
    }
    let remote = s.root().join("remote.git");
    s.git_in(&remote, &["config", "receive.advertisePushOptions", "true"])
        .ok();
    let declined = "pre-receive hook declined";
    let option = ["push", "--no-verify", "-o", "loopx=0", "origin", spec];
    s.git(&option).fails_with(1).says(declined);
    s.git_in(&remote, &["config", "uploadpack.allowFilter", "true"])
        .ok();
    let from = format!("file://{}", remote.display());
    for (name, part) in [("shallow", "--depth=1"), ("partial", "--filter=blob:none")] {
        let clone = s.root().join(name);
        let path = clone.to_str().expect("UTF-8");
        s.git(&["clone", "--quiet", part, "--branch=demo", &from, path])
            .ok();
        s.write(clone.join("src/evil.rs"), "evil\n");
        s.git_in(&clone, &["add", "."]).ok();
        s.git_in(&clone, &["commit", "--quiet", "-m", "x"]).ok();
        s.git_in(&clone, &["push", "--quiet", "origin", "demo"])
            .fails_with(1)
            .says(declined);
    }
}

#[test]
fn held_60_to_79_a_branch_in_review_takes_no_code() {
    let s = done();
    while s.loopx(&["status", "--json"]).json()["stage"] != "review" {
        s.loopx(&["undo"]).ok();
    }
    push(&s, &["loopx", "demo"]).ok();
    let head = rev(&s, "demo");
    at(&s, "demo");
    make(&s, &[EVIL], "evil");
    let code = rev(&s, "HEAD^{tree}");
    let made = [claims(&s, &head, &code), shapes(&s, &head, &code)].concat();
    let to_demo = |(what, id): (&'static str, String)| (what, format!("{id}:refs/heads/demo"));
    let table: Vec<(&str, String)> = made.into_iter().map(to_demo).collect();
    all_refused(&s, &table);
    no_client_opens_it(&s, &table[0].1);
    // The honest neighbour: a document.
    at(&s, "demo");
    let document = make(&s, &[("docs/a", "x\n")], "a document");
    push(&s, &[&format!("{document}:refs/heads/demo")]).ok();
}

/// Entries of the branch of sessions that are no files or no folders.
#[track_caller]
fn odd_entries_are_refused(s: &Sandbox) {
    let good = tip(s);
    let blob = s.git(&["rev-parse", "loopx:format"]).line();
    let copy = s.git(&["rev-parse", "loopx:sessions/demo"]).line();
    for (what, path, entry) in [
        (
            "29 a link",
            "sessions/demo",
            ("120000", &b"spec.md"[..], blob.as_str()),
        ),
        ("31 a copy", "sessions", ("40000", b"other", copy.as_str())),
        (
            "32 a submodule",
            "sessions",
            ("160000", b"demo", good.as_str()),
        ),
        ("34 a link", "branches", ("120000", b"main", blob.as_str())),
    ] {
        let tree = with_entry(s, "loopx", path, entry);
        put_tree(s, &tree);
        all_refused(s, &[(what, "loopx".into())]);
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
}

#[test]
fn held_19_to_34_records_are_added_and_nothing_else_happens_to_them() {
    let s = begun("sha1", "");
    server(&s);
    s.loopx(&["run", "--", "true"]).ok();
    push(&s, &["loopx", "demo"]).ok();
    let good = tip(&s);
    let listed = s
        .git(&["ls-tree", "--name-only", "loopx:sessions/demo/ops"])
        .ok();
    let ops: Vec<&str> = listed
        .lines()
        .filter(|name| name.ends_with(".json"))
        .collect();
    let op = format!("sessions/demo/ops/{}", ops[0]);
    let text = s.git(&["show", &format!("loopx:{op}")]).ok();
    let (number, rest) = ops[ops.len() - 1].split_once('-').expect("a number");
    let next = |number: &str, rest: &str| format!("sessions/demo/ops/{number}-{rest}");
    let digits = number.len();
    let jump = |to: u64| next(&format!("{to:0digits$}"), rest);
    let last = s
        .git(&["show", &format!("loopx:{}", next(number, rest))])
        .ok();
    let last = last.into_bytes();
    let is_other = |byte: char| if byte == '0' { "1" } else { "0" };
    let other = rest.replacen(
        &rest[..1],
        is_other(rest.chars().next().expect("a sign")),
        1,
    );
    let state = s.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    let files: Vec<(&str, Edits)> = vec![
        (
            "19 rewritten",
            vec![(op.clone(), Some(text.replace("demo", "d3mo").into_bytes()))],
        ),
        (
            "20 forged",
            vec![(
                "sessions/demo/state.json".into(),
                Some(state.replace("clarify", "build").into_bytes()),
            )],
        ),
        ("21 deleted", vec![(op.clone(), None)]),
        (
            "23 an artifact",
            vec![("sessions/demo/spec.md".into(), Some(b"# Other\n".to_vec()))],
        ),
        (
            "24 without a state",
            vec![(jump(ops.len() as u64 + 1), Some(last.clone()))],
        ),
        (
            "25 two of one number",
            vec![(next(number, &other), Some(last.clone()))],
        ),
        ("26 far away", vec![(jump(1 << 53), Some(last.clone()))]),
        ("27 further", vec![(jump(1 << 63), Some(last))]),
        (
            "28 another format",
            vec![("format".into(), Some(b"99\n".to_vec()))],
        ),
        ("30 wiped", vec![("sessions/demo".into(), None)]),
        (
            "33 a file",
            vec![("sessions/demo".into(), Some(b"x".to_vec()))],
        ),
    ];
    for (what, edits) in files {
        tamper_all(&s, &edits);
        assert_ne!(tip(&s), good, "{what}");
        all_refused(&s, &[(what, "loopx".into())]);
        // Under an honest commit, too.
        tamper(&s, "README.md", Some(b"hello"));
        all_refused(&s, &[(what, "loopx".into())]);
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
    odd_entries_are_refused(&s);
    all_refused(&s, &[("36 back", "+loopx~1:loopx".into())]);
    s.loopx(&["run", "--", "true"]).ok();
    push(&s, &["loopx"]).ok();
}

/// Code that a server has without the state that it rests on is named afterwards.
#[test]
fn held_83_an_update_hook_that_stops_the_sessions_stops_no_judgement() {
    let s = begun("sha1", crate::support::landing::PROTECTED);
    server(&s);
    build(&s);
    let remote = s.root().join("remote.git");
    s.script(
        remote.join("hooks/update"),
        "#!/bin/sh\n[ \"$1\" != refs/heads/loopx ]\n",
    );
    push(&s, &["demo:main", "loopx"]).fails_with(1);
    s.script(remote.join("hooks/update"), "#!/bin/sh\n");
    let log = s.git_in(&remote, &["log", "--format=%s", "main"]).ok();
    assert!(log.starts_with("more code"), "{log}");
    let out = s
        .call(LOOPX)
        .cwd(&remote)
        .args(&["verify", "main~2..main", "--onto", "main"])
        .run();
    out.fails_with(1);
    push(&s, &["loopx"]).ok();
}
