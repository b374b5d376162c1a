//! A session is one thing for ever: a second folder of one uid is refused, and borrows no signature.

use crate::support::Sandbox;
use crate::support::keys::{everybody, use_key};
use crate::support::server::{FORMATS, push, refused, server};
use crate::support::session::{READY_SPEC, advance, begin, put, tip};
use crate::support::store::tamper_all;
use serde_json::Value;

/// A session that somebody signed an approval of, and a server that has it.
fn signed(format: &str) -> Sandbox {
    Sandbox::once(format!("{format:?}"), || {
        let s = Sandbox::empty("repo");
        let format = format!("--object-format={format}");
        s.git(&["init", "--quiet", &format]).ok();
        s.write("loopx.signers", everybody());
        begin(&s, "[approve]\nsigned = [\"clarify->plan\"]\n");
        use_key(&s, crate::support::keys::key("ada"));
        put(&s, "spec.md", READY_SPEC);
        s.loopx(&["approve", "--to", "plan", "--sign"]).ok();
        server(&s);
        s
    })
}

fn state(s: &Sandbox, at: &str) -> Value {
    let text = s.git(&["show", &format!("{at}/state.json")]).ok();
    serde_json::from_str(&text).expect("a state")
}

/// The name that a merge would give the session.
fn beside(s: &Sandbox) -> String {
    let uid = state(s, "loopx:sessions/demo")["uid"].to_string();
    let uid: Vec<char> = uid.chars().filter(char::is_ascii_alphanumeric).collect();
    let end: String = uid[uid.len() - 8..].iter().collect();
    format!("demo-{}", end.to_lowercase())
}

/// Commits the folder of the session `demo` as it was to another path, under another name.
fn copy(s: &Sandbox, at: &str, path: &str) {
    let from = format!("{at}:sessions/demo");
    let listed = s.git(&["ls-tree", "-r", "--name-only", "--full-tree", &from]);
    let mut edits = Vec::new();
    for name in listed.ok().lines() {
        let mut bytes = s.git(&["show", &format!("{from}/{name}")]).bytes;
        if name == "state.json" {
            let id = path.rsplit('/').next().expect("a name");
            let mut state = state(s, &from);
            state["id"] = id.into();
            bytes = serde_json::to_vec_pretty(&state).expect("JSON");
            bytes.push(b'\n');
        }
        edits.push((format!("{path}/{name}"), Some(bytes)));
    }
    let id = path.rsplit('/').next().expect("a name");
    edits.push(("branches/demo".into(), Some(format!("{id}\n").into_bytes())));
    tamper_all(s, &edits);
}

#[test]
fn g5_a_second_folder_of_one_session_is_refused_and_signed_by_nobody() {
    for format in FORMATS {
        let s = signed(format);
        let good = tip(&s);
        let beside = beside(&s);
        let paths = [
            format!("sessions/{beside}"),
            "sessions/other".into(),
            "archive/2026-01/demo".into(),
            format!("archive/2026-01/{beside}"),
        ];
        let few = if format == "sha1" { paths.len() } else { 1 };
        for path in paths.into_iter().take(few) {
            copy(&s, &good, &path);
            refused(&s, &["loopx"], "sessions_invalid").says("is a copy of the session of");
            let found = s.loopx(&["fsck"]).fails_with(1);
            assert!(
                found.stdout.contains("is a copy of the session of"),
                "{path}: {found}"
            );
            s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        }
        // Where nobody looked at the branch, the copy is still signed by nobody.
        copy(&s, &good, &format!("sessions/{beside}"));
        let signed = |id: &str| {
            let status = s.loopx(&["-s", id, "--json", "status"]).json();
            status["gates"][0]["signatures"].to_string()
        };
        assert!(
            signed("demo").contains("ada@example.org"),
            "{}",
            signed("demo")
        );
        assert!(
            !signed(&beside).contains("ada@example.org"),
            "{}",
            signed(&beside)
        );
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        s.loopx(&["plan"]).ok();
        push(&s, &["loopx"]).ok();
        s.loopx(&["fsck"]).ok();
        // Nobody but a person says which of them it is.
        copy(&s, "loopx", "sessions/other");
        let repair = s.loopx(&["fsck", "--repair"]);
        assert!(matches!(repair.code, Some(1 | 70)), "{repair}");
        s.loopx(&["fsck"])
            .fails_with(1)
            .says("is a copy of the session of");
    }
}

/// An archived session has its folder in the archive, for ever.
#[test]
fn g5_an_archived_session_does_not_come_back_beside_itself() {
    let s = signed("sha1");
    s.loopx(&["plan"]).ok();
    advance(&s, "plan", "done", "");
    push(&s, &["loopx", "demo"]).ok();
    let active = tip(&s);
    s.loopx(&["archive"]).ok();
    push(&s, &["loopx", "demo"]).ok();
    let good = tip(&s);
    for path in ["sessions/demo", "sessions/again"] {
        copy(&s, &active, path);
        refused(&s, &["loopx"], "sessions_invalid").says("is a copy of the session of");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
    s.git(&["switch", "--quiet", "-c", "next", "main"]).ok();
    s.loopx(&["start", "Demo again"]).ok();
    push(&s, &["loopx"]).ok();
    s.loopx(&["fsck"]).ok();
}
