//! Policy that cannot be escaped by the name of a ref: new branches, names for other refs, namespaces.

use crate::support::server::{FORMATS, begun, bypass, push, refused, remote, server};

const PROTECTED: &str = "[gates]\nprotected = [\"main\", \"release/*\"]\n";

/// A commit from before the policy.
fn before_policy(format: &str) -> (crate::support::Sandbox, String) {
    let s = crate::support::Sandbox::empty("repo");
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", &format]).ok();
    s.commit_file("src/first.rs", "first\n", "before any policy")
        .ok();
    let first = s.git(&["rev-parse", "HEAD"]).line();
    crate::support::session::begin(&s, PROTECTED);
    (s, first)
}

#[test]
fn g6_a_new_protected_branch_is_judged_by_the_present_policy_too() {
    for format in FORMATS {
        let (s, first) = before_policy(format);
        server(&s);
        // As it was, it may have a name.
        push(&s, &[&format!("{first}:refs/heads/release/66")]).ok();
        s.git(&["switch", "--quiet", "-c", "weak", &first]).ok();
        bypass(&s, "src/evil.rs");
        refused(
            &s,
            &["weak:refs/heads/release/66"],
            "protected_without_session",
        );
        refused(
            &s,
            &["weak:refs/heads/release/67"],
            "protected_without_session",
        );
        // A branch that nobody protects takes it, and what main has may be released.
        push(&s, &["weak", "main:refs/heads/release/68"]).ok();
    }
}

/// The other way round: a branch that its own policy protects is no freer because main's does not.
#[test]
fn g6_a_branch_that_protects_itself_stays_protected() {
    let s = begun("sha1", "[gates]\nprotected = [\"main\"]\n");
    server(&s);
    s.git(&["switch", "--quiet", "-c", "own", "main"]).ok();
    s.write("loopx.toml", "[gates]\nprotected = [\"own\"]\n");
    s.git(&["commit", "--quiet", "-am", "protects itself"]).ok();
    push(&s, &["own"]).ok();
    bypass(&s, "src/evil.rs");
    refused(&s, &["own"], "protected_without_session");
}

#[test]
fn g13_a_push_through_a_symbolic_ref_is_judged_as_what_it_moves() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        server(&s);
        push(&s, &["main:refs/heads/release/9"]).ok();
        let alias = |name: &str, target: &str| {
            s.git_in(remote(&s), &["symbolic-ref", name, target]).ok();
        };
        alias("refs/heads/trunk", "refs/heads/main");
        alias("refs/heads/latest", "refs/heads/trunk");
        alias("refs/heads/sessions", "refs/heads/loopx");
        alias("refs/heads/next", "refs/heads/release/9");
        s.git(&["switch", "--quiet", "main"]).ok();
        bypass(&s, "src/evil.rs");
        for name in ["trunk", "latest", "next"] {
            let to = format!("main:refs/heads/{name}");
            refused(&s, &[&to], "protected_without_session");
        }
        refused(&s, &["--force", "main:sessions"], "sessions_invalid");
        refused(&s, &[":trunk"], "protected_set_back");
        refused(&s, &[":sessions"], "sessions_deleted");
        // What may go to the branch may go by its other name.
        s.loopx(&["-s", "demo", "note", "it goes there too"]).ok();
        push(&s, &["loopx:sessions"]).ok();
        push(&s, &["main~1:trunk", "main:refs/heads/free"]).ok();
    }
}

#[test]
fn g14_nothing_is_pushed_that_changes_what_the_server_reads() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        server(&s);
        s.git(&["switch", "--quiet", "-c", "free", "main"]).ok();
        bypass(&s, "src/evil.rs");
        let main = s.git(&["rev-parse", "main"]).line();
        let before = s.git_in(remote(&s), &["log", "main"]).ok();
        // What `git replace` and its grafts make.
        let replaced = format!("refs/replace/{main}");
        for name in [&replaced, "refs/loopx/shadow/loopx"] {
            refused(&s, &["free", &format!("free:{name}")], "ref_closed").says(name);
        }
        push(
            &s,
            &["free", "free:refs/notes/replace", "main:refs/tags/v1"],
        )
        .ok();
        assert_eq!(s.git_in(remote(&s), &["log", "main"]).ok(), before);
        // One that is there is not taken away by a push either.
        s.git_in(remote(&s), &["update-ref", &replaced, "free"])
            .ok();
        refused(&s, &[&format!(":{replaced}")], "ref_closed");
    }
}
