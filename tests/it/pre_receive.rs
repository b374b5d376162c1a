//! `hook pre-receive` on a bare repository, with real pushes through the hook file that docs/server.md
//! shows: every ref of a push, policy from before the push, and a loopx branch that only goes forward.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::scale::prolong;
use crate::support::server::{HOOK, begun, bypass, push, refused, server};
use crate::support::session::{READY_SPEC, advance, commit, put, started, tip};
use crate::support::store::tamper;
use std::fmt::Write as _;

#[test]
fn what_the_workflow_allows_goes_through_and_the_rest_does_not() {
    let s = started("");
    server(&s);
    commit(&s, "docs/a", "a document").ok();
    push(&s, &["demo"]).ok();
    // Nothing of a session: branches of nobody, tags, deletes.
    s.git(&["branch", "free", "main"]).ok();
    s.git(&["tag", "v1"]).ok();
    push(&s, &["free", "v1"]).ok();
    push(&s, &[":free", ":v1"]).ok();
    bypass(&s, "src/a.rs");
    refused(&s, &["demo"], "commit_without_state");
    refused(
        &s,
        &["main:refs/heads/other", "demo", "HEAD~1:refs/tags/v2"],
        "commit_without_state",
    );
    refused(&s, &["--force", "demo"], "commit_without_state");
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    // A state that the server does not know yet; then the branch that has it, in the same push.
    advance(&s, "clarify", "build", "");
    commit(&s, "src/a.rs", "code").ok();
    refused(&s, &["demo"], "state_not_on_branch");
    push(&s, &["demo", "loopx"]).ok();
    // Forced, over what is there: judged from the target.
    s.git(&["commit", "--quiet", "--amend", "-m", "again"]).ok();
    push(&s, &["--force", "demo"]).ok();
    // A variable of the pusher switches nothing off here.
    advance(&s, "build", "review", "");
    bypass(&s, "src/late.rs");
    let call = s
        .call("git")
        .args(&["push", "--no-verify", "origin", "demo", "loopx"]);
    call.env("LOOPX", "0")
        .run()
        .fails_with(1)
        .says("commit_without_state");
}

#[test]
fn a_protected_branch_takes_reviewed_results_and_goes_forward() {
    let s = started("[gates]\nprotected = [\"main\"]\n");
    server(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    bypass(&s, "src/free.rs");
    refused(&s, &["main"], "protected_without_session");
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    advance(&s, "clarify", "build", "");
    commit(&s, "src/a.rs", "code").ok();
    push(&s, &["demo", "loopx"]).ok();
    refused(&s, &["demo:main"], "protected_not_done");
    advance(&s, "build", "done", "");
    refused(&s, &["demo:main"], "protected_not_done");
    let reviewed = s.git(&["rev-parse", "demo"]).line();
    bypass(&s, "src/late.rs");
    refused(&s, &["demo:main", "loopx"], "review_stale");
    s.git(&["reset", "--quiet", "--hard", &reviewed]).ok();
    push(&s, &["demo:main", "loopx"]).ok();
    // It is not deleted, and nothing of it is taken back.
    refused(&s, &[":main"], "protected_set_back");
    refused(&s, &["--force", "main~0:main"], "protected_set_back");
}

#[test]
fn edge_11_a_change_does_not_judge_itself() {
    let s = started("[gates]\nprotected = [\"main\"]\n");
    server(&s);
    // The policy that is pushed would let everything in; so would the one that the branch had before.
    s.write("loopx.toml", "[gates]\nalways_allow = [\"**\"]\n");
    s.git(&["commit", "--quiet", "-am", "a friendlier policy"])
        .ok();
    push(&s, &["demo"]).ok();
    bypass(&s, "src/a.rs");
    refused(&s, &["demo"], "commit_without_state");
    refused(&s, &["demo:main"], "protected_not_done");
    s.loopx(&[
        "verify",
        "origin/main..demo",
        "--policy-from",
        "origin/main",
    ])
    .fails_with(1);
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    // One that nobody could read afterwards is not taken at all.
    s.write("loopx.toml", "[gates]\nprotect = [\"main\"]\n");
    s.git(&["commit", "--quiet", "-am", "a broken policy"]).ok();
    refused(&s, &["demo"], "policy_invalid");
    refused(&s, &["demo:refs/heads/nobody"], "policy_invalid");
}

#[test]
fn the_loopx_branch_goes_forward_and_loses_nothing() {
    let s = started("");
    let first = tip(&s);
    advance(&s, "clarify", "plan", "");
    server(&s);
    let good = tip(&s);
    let back = |s: &Sandbox| s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    refused(&s, &[":loopx"], "sessions_deleted");
    refused(
        &s,
        &["--force", &format!("{first}:refs/heads/loopx")],
        "sessions_invalid",
    );
    refused(&s, &["--force", "main:loopx"], "sessions_invalid");
    let folder = s
        .git(&["ls-tree", "--name-only", "loopx:sessions/demo/ops"])
        .ok();
    let op = format!(
        "sessions/demo/ops/{}",
        folder.lines().next().expect("an operation")
    );
    let text = s.git(&["show", &format!("loopx:{op}")]).ok();
    for (path, bytes) in [
        // A state that says more than its operations, one that says nothing, a session that is gone.
        ("sessions/demo/state.json", Some(&b"{}"[..])),
        ("sessions/demo", None),
        ("format", None),
        ("format", Some(b"3\n")),
        ("branches/other", Some(b"nobody\n")),
        (op.as_str(), None),
        (op.as_str(), Some(text.replace("demo", "d3mo").as_bytes())),
    ] {
        tamper(&s, path, bytes);
        refused(&s, &["loopx"], "sessions_invalid");
        // Hidden under an honest commit on top, it is seen as well.
        tamper(&s, "README.md", Some(b"hello"));
        refused(&s, &["loopx"], "sessions_invalid");
        back(&s);
    }
    // A hostile branch opens no gate for what comes with it.
    let state = s.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    assert!(state.contains("\"stage\": \"plan\""), "{state}");
    let open = state.replace("\"stage\": \"plan\"", "\"stage\": \"build\"");
    tamper(&s, "sessions/demo/state.json", Some(open.as_bytes()));
    let message = format!("x\n\nLoopx-Session: demo\nLoopx-State: {}\n", tip(&s));
    s.write("src/a.rs", "code");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", &message])
        .ok();
    refused(&s, &["demo", "loopx"], "sessions_invalid");
    refused(&s, &["demo"], "state_not_on_branch");
    back(&s);
    advance(&s, "plan", "build", "");
    push(&s, &["loopx"]).ok();
    // An archived session keeps its operations too, and is what they say.
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    advance(&s, "build", "done", "");
    push(&s, &["loopx"]).ok();
    s.loopx(&["archive"]).ok();
    let archived = tip(&s);
    let listed = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    let of = |name: &str| {
        let mut paths = listed.lines().filter(|path| path.starts_with("archive/"));
        paths.find(|path| path.contains(name)).expect("a file")
    };
    for (path, bytes) in [
        (of("/review-report.md"), Some(&b"fine\n"[..])),
        (of("/spec.md"), None),
        (of("/state.json"), Some(b"{}")),
        (of("/logs/"), Some(b"passed\n")),
    ] {
        tamper(&s, path, bytes);
        refused(&s, &["loopx"], "sessions_invalid");
        s.git(&["update-ref", "refs/heads/loopx", &archived]).ok();
    }
    push(&s, &["loopx", "demo"]).ok();
}

/// The number of sessions does not decide whether a push reads one, and what the push did not change is not its fault.
#[test]
fn where_the_sessions_are_not_there_yet_they_are_pushed_first() {
    let s = begun("sha1", "");
    server(&s);
    let old = tip(&s);
    s.loopx(&["run", "--", "true"]).ok();
    // A server that has none of it, and one that has an older branch.
    for (session, state, code) in [
        ("nobody", &old, "session_unknown"),
        ("demo", &tip(&s), "state_not_on_branch"),
    ] {
        let message = format!("x\n\nLoopx-Session: {session}\nLoopx-State: {state}\n");
        let args = ["commit-tree", "main^{tree}", "-p", "main", "-m", &message];
        let commit = s.git(&args).line();
        refused(&s, &[&format!("{commit}:refs/heads/demo")], code)
            .says("git push REMOTE loopx  (where its sessions are not there yet)");
    }
}

#[test]
fn what_a_push_did_not_change_is_not_judged_again() {
    let s = started("");
    s.loopx(&["start", "--no-branch", "Other"]).ok();
    server(&s);
    let good = tip(&s);
    // It came before the hook did.
    tamper(&s, "sessions/other/state.json", Some(b"{}"));
    refused(&s, &["loopx"], "sessions_invalid");
    let hook = s.root().join("remote.git/hooks/pre-receive");
    s.script(&hook, "#!/bin/sh\n");
    push(&s, &["loopx"]).ok();
    s.script(&hook, HOOK);
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    s.loopx(&["-s", "demo", "run", "--", "echo"]).ok();
    push(&s, &["loopx"]).ok();
    // Whatever changes in that session is judged, and so is its end.
    let now = tip(&s);
    tamper(&s, "sessions/other/more.txt", Some(b"more"));
    refused(&s, &["loopx"], "sessions_invalid");
    s.git(&["update-ref", "refs/heads/loopx", &now]).ok();
    let whole = format!("{good}:sessions/other/state.json");
    let whole = s.git(&["show", &whole]).ok();
    tamper(&s, "sessions/other/state.json", Some(whole.as_bytes()));
    push(&s, &["loopx"]).ok();
    tamper(&s, "sessions/other", None);
    refused(&s, &["loopx"], "is gone");
    s.git(&["update-ref", "refs/heads/loopx", "loopx^"]).ok();
    tamper(&s, "branches/nowhere", Some(b"nobody\n"));
    refused(&s, &["loopx"], "sessions_invalid");
}

/// git keeps what is pushed apart until the hook has let it in, as loose objects or as a pack.
#[test]
fn pushed_objects_are_read_in_quarantine_and_nothing_of_a_refusal_stays() {
    for limit in ["1", "1000"] {
        let s = started("");
        server(&s);
        let remote = s.root().join("remote.git");
        s.git_in(&remote, &["config", "receive.unpackLimit", limit])
            .ok();
        s.script(
            remote.join("hooks/pre-receive"),
            "#!/bin/sh\ntest -d \"$GIT_QUARANTINE_PATH\" && test \"$GIT_OBJECT_DIRECTORY\" = \"$GIT_QUARANTINE_PATH\" || exit 70\n\
             exec git-loopx hook pre-receive\n",
        );
        s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
        let good = tip(&s);
        bypass(&s, "src/a.rs");
        tamper(&s, "sessions/demo/state.json", Some(b"{}"));
        let before = s.snapshot(&remote);
        refused(&s, &["demo"], "commit_without_state");
        refused(&s, &["loopx"], "sessions_invalid");
        refused(&s, &["demo", "loopx"], "sessions_invalid");
        assert_eq!(s.snapshot(&remote), before, "a file stayed");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        push(&s, &["loopx"]).ok();
    }
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let s = started("");
    server(&s);
    let remote = s.root().join("remote.git");
    let hook = |event: &str, stdin: &str| {
        let call = s.call(crate::support::LOOPX).cwd(&remote);
        call.args(&["hook", event]).stdin(stdin).run()
    };
    hook("pre-receive", "").fails_with(1);
    hook("pre-receive", "not a line\n").fails_with(1);
    let unknown = format!("{} {} refs/heads/demo\n", "0".repeat(40), "1".repeat(40));
    hook("pre-receive", &unknown)
        .fails_with(1)
        .says(&format!("git cat-file -p {}", "1".repeat(40)));
    let there = s.git_in(&remote, &["rev-parse", "loopx"]).line();
    let loopx = format!("{there} {} refs/heads/loopx\n", "1".repeat(40));
    hook("pre-receive", &loopx)
        .fails_with(1)
        .says("could not judge");
    hook("update", "").fails_with(1).says("pre-receive");
    let out = s
        .call(crate::support::LOOPX)
        .cwd(s.root())
        .args(&["hook", "pre-receive"]);
    out.stdin(unknown.as_str()).run().fails_with(1);
    // A policy on the server that cannot be read closes the door, and says why.
    s.write("loopx.toml", "[paths]\nspecs = 3\n");
    s.git(&["commit", "--quiet", "-am", "broken"]).ok();
    s.git(&[
        "-C",
        remote.to_str().expect("UTF-8"),
        "fetch",
        "--quiet",
        s.path().to_str().expect("UTF-8"),
        "+demo:main",
    ])
    .ok();
    refused(&s, &["main:refs/heads/x"], "loopx.toml");
}

/// Two clones that chose one name: the merge gives one of the sessions another, and loses nothing.
#[test]
fn a_merge_that_gave_a_session_another_name_is_taken() {
    let all = Clones::apart(2);
    all.s.script(all.remote().join("hooks/pre-receive"), HOOK);
    for at in 0..2 {
        all.loopx(at, &["init"]).ok();
        all.loopx(at, &["start", "--no-branch", "Same name"]).ok();
        all.loopx(at, &["-s", "same-name", "run", "--", "true"])
            .ok();
    }
    all.sync(0).ok();
    all.sync(1).says("two sessions are named same-name").ok();
    all.settle();
    all.assert_agreed();
    let listed = all.loopx(0, &["--json", "list"]).json();
    let sessions = listed["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 2);
    for one in sessions {
        let id = one["session"].as_str().expect("a name");
        let log = all.loopx(0, &["-s", id, "--json", "log"]).json();
        assert_eq!(log["operations"].as_array().expect("operations").len(), 2);
    }
    // Taking one of them away under the other's name is refused still.
    let renamed = sessions
        .iter()
        .filter_map(|one| one["session"].as_str())
        .max_by_key(|id| id.len())
        .expect("a name");
    all.git(0, &["switch", "--quiet", "--detach"]).ok();
    let script = format!(
        "export GIT_INDEX_FILE=../index; git read-tree loopx && git rm -r -q --cached sessions/{renamed} && \
         git update-ref refs/heads/loopx $(git commit-tree -p loopx -m x $(git write-tree))"
    );
    all.s
        .call("sh")
        .cwd(all.dir(0))
        .args(&["-c", &script])
        .run()
        .ok();
    all.git(0, &["push", "--quiet", "--no-verify", "origin", "loopx"])
        .fails_with(1)
        .says("is gone");
}

/// The files of a session's operations on a branch.
fn records(s: &Sandbox) -> Vec<String> {
    let list = ["ls-tree", "-r", "loopx:sessions/demo/ops"];
    let listed = s.git(&list).ok();
    let ids = listed.lines().map(|line| line.split_whitespace().nth(2));
    ids.flatten().map(str::to_owned).collect()
}

/// G19: what a push costs follows what is new. The files of all earlier operations are taken away on the
/// server: a push that has to read one of them is refused.
#[test]
fn g19_one_more_operation_is_taken_without_reading_those_before_it() {
    let s = started("");
    prolong(&s, s.path(), "demo", 451, ["# Not yet\n", READY_SPEC]);
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    let remote = s.root().join("remote.git");
    s.git_in(&remote, &["config", "receive.unpackLimit", "100000"])
        .ok();
    push(&s, &["main", "loopx"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
    // The first of them moves all to folders, and is read whole.
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    push(&s, &["loopx"]).ok();
    let before = records(&s);
    assert_eq!(before.len(), 452);
    for id in &before {
        let file = remote.join(format!("objects/{}/{}", &id[..2], &id[2..]));
        std::fs::remove_file(file).expect("a loose object");
    }
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    push(&s, &["loopx"]).ok();
    s.loopx(&["plan"]).ok();
    put(&s, "test-plan.md", "# Test plan\n");
    push(&s, &["loopx"]).ok();
    // What tells the past anew is replayed whole, and so is what does not add up by itself.
    let good = tip(&s);
    let state = s.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    let other = state.replace("\"stage\": \"plan\"", "\"stage\": \"build\"");
    tamper(&s, "sessions/demo/state.json", Some(other.as_bytes()));
    push(&s, &["loopx"]).fails_with(1).says("sessions_invalid");
    s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    s.loopx(&["undo"]).ok();
    push(&s, &["loopx"]).fails_with(1);
}

/// A session whose `ops/` has so many names, all of them of one file: nobody is to read it.
fn overgrown(s: &Sandbox, count: usize) {
    let state = s.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    let first = s.git(&["ls-tree", "loopx:sessions/demo/ops"]).line();
    let blob = first.split_whitespace().nth(2).expect("an id").to_owned();
    let mut stream = "commit refs/heads/overgrown\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata 1\nx\nfrom refs/heads/loopx^0\n".to_owned();
    let there = records(s).len();
    for n in there..count {
        let name = format!("{:08}-01arz3ndektsv4rrffq6{n:06}.json", n + 1);
        writeln!(stream, "M 100644 {blob} sessions/demo/ops/{name}").expect("a string");
    }
    let import = |stream: String| {
        let call = s.call("git").args(&["fast-import", "--quiet"]);
        call.stdin(stream).run().ok();
    };
    import(stream);
    let ops = s.git(&["rev-parse", "overgrown:sessions/demo/ops"]).line();
    let known = s.git(&["rev-parse", "loopx:sessions/demo/ops"]).line();
    s.git(&["update-ref", "-d", "refs/heads/overgrown"]).ok();
    let state = state.replace(&known, &ops);
    let message = "demo: more\n\nLoopx-Session: demo\nLoopx-Event: saved\n";
    import(format!(
        "commit refs/heads/loopx\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata {}\n{message}from refs/heads/loopx^0\nM 040000 {ops} sessions/demo/ops\nM 100644 inline sessions/demo/state.json\ndata {}\n{state}\n",
        message.len(),
        state.len()
    ));
}

#[test]
fn g19_more_records_than_one_session_may_have_are_counted_and_not_read() {
    let s = started("");
    server(&s);
    let good = tip(&s);
    overgrown(&s, 20_001);
    // 0: as many at once as there are.
    let remote = s.root().join("remote.git");
    s.git_in(&remote, &["config", "loopx.receiveRecords", "0"])
        .ok();
    refused(&s, &["loopx"], "has 20001 records");
    // No clone takes them over, and its own work goes on.
    let other = s.root().join("other.git");
    let other = other.to_str().expect("UTF-8");
    s.git(&["init", "--quiet", "--bare", other]).ok();
    s.git(&["push", "--quiet", "--no-verify", other, "loopx"])
        .ok();
    s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    s.git(&["remote", "set-url", "origin", other]).ok();
    let error = s.loopx(&["--json", "sync"]).fails_with(1).error_json();
    assert_eq!(error["error"]["code"], "records_exhausted", "{error:#}");
    assert_eq!(tip(&s), good);
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
}

#[test]
fn g19_a_session_that_is_full_takes_its_end_and_nothing_else() {
    let s = started("");
    overgrown(&s, 19_900);
    let before = tip(&s);
    let run = s.loopx(&["--json", "-s", "demo", "run", "--", "true"]);
    let error = run.fails_with(1).error_json();
    assert_eq!(error["error"]["code"], "records_exhausted", "{error:#}");
    assert_eq!(tip(&s), before);
    s.loopx(&["-s", "demo", "abandon"]).ok();
    s.loopx(&["start", "--no-branch", "Demo again"]).ok();
}
