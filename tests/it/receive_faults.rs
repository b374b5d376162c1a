//! Refusals of what pre-receive and `verify` cannot read, parse or finish: with the object's id, and a line for whoever
//! runs the server.

use crate::support::server::{FORMATS, begun, bypass, literally, push, refused, remote, server};
use crate::support::store::count;
use crate::support::{Call, LOOPX, Output, Sandbox};
use std::os::unix::fs::{MetadataExt, chown};

const POLICY: &str = "[gates]\nprotected = [\"main\", \"release/*\"]\n";

/// `OLD NEW REF` as git writes it; the new side by its name here, which the server has as a tag.
fn line(s: &Sandbox, name: &str, new: &str) -> String {
    let there = s.git_in(remote(s), &["rev-parse", "--verify", "--quiet", name]);
    let new = s.git(&["rev-parse", new]).line();
    let old = match there.code {
        Some(0) => there.line(),
        _ => "0".repeat(new.len()),
    };
    format!("{old} {new} {name}\n")
}

/// The hook on the server, as git starts it.
fn hook<'s>(s: &'s Sandbox, stdin: &str) -> Call<'s> {
    let call = s.call(LOOPX).cwd(remote(s)).env("GIT_DIR", ".");
    call.args(&["hook", "pre-receive"]).stdin(stdin)
}

/// A server that has the objects of what is about to be pushed: code of nobody, and a newer loopx branch.
fn with_objects(format: &str) -> Sandbox {
    Sandbox::once(format, || {
        let s = begun(format, POLICY);
        server(&s);
        push(&s, &["demo"]).ok();
        bypass(&s, "src/evil.rs");
        s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
        push(&s, &["demo:refs/tags/evil", "loopx:refs/tags/newer"]).ok();
        s
    })
}

#[test]
fn g7_a_commit_that_cannot_be_parsed_is_refused_and_named() {
    for format in FORMATS {
        let s = begun(format, POLICY);
        server(&s);
        push(&s, &["demo"]).ok();
        let tree = s.git(&["rev-parse", "demo^{tree}"]).line();
        let parent = s.git(&["rev-parse", "demo"]).line();
        let text = format!("tree {tree}\nparent {parent}\nauthor a\ncommitter b\n\nevil\n");
        let evil = literally(&s, "commit", text);
        let over = s.git(&["commit-tree", "-p", &evil, "-m", "over", &tree]);
        let over = over.line();
        // A new protected branch, a bound one, one of nobody; and hidden under a commit that is well formed.
        for to in ["refs/heads/release/1", "refs/heads/demo", "refs/heads/free"] {
            refused(&s, &[&format!("{evil}:{to}")], "could not judge")
                .says(&evil)
                .says("for the administrator of this server: git cat-file -p ");
        }
        for to in ["refs/heads/release/1", "refs/heads/demo"] {
            refused(&s, &[&format!("{over}:{to}")], "could not judge").says(&evil);
        }
        // The honest neighbour.
        push(&s, &["main:refs/heads/release/1", "demo:refs/heads/free"]).ok();
        s.git(&["update-ref", "refs/heads/broken", &over]).ok();
        let verify = ["verify", "main..broken", "--onto", "main"];
        let code = s.loopx(&verify).code;
        assert!(matches!(code, Some(1 | 70)), "{code:?}");
    }
}

#[test]
fn t3_a_push_that_is_not_read_to_its_end_is_refused() {
    let s = with_objects("sha1");
    let whole = line(&s, "refs/heads/free", "main") + &line(&s, "refs/tags/x", "main");
    hook(&s, &whole).run().ok();
    let first = whole.find('\n').expect("a line") + 1;
    for length in [0, 1, 41, 82, 90, first - 1, first + 1, whole.len() - 1] {
        hook(&s, &whole[..length])
            .run()
            .fails_with(1)
            .says("could not judge");
    }
    // A stdin that is closed, and one that the system refuses to read.
    for shell in ["<&-", "<."] {
        let script = format!("exec '{LOOPX}' hook pre-receive {shell}");
        let call = s.call("sh").cwd(remote(&s)).env("GIT_DIR", ".");
        call.args(&["-c", &script])
            .run()
            .fails_with(1)
            .says("could not judge");
    }
    // A part of the refs has names of its own.
    let part = hook(&s, &whole).env("GIT_NAMESPACE", "part");
    part.run().fails_with(1).says("GIT_NAMESPACE");
}

/// Runs a command with a fault at every n that it meets, or at some of them: it never succeeds, and says why.
/// Gives how many it meets.
#[track_caller]
fn sweep(what: &str, every: usize, normal: &Output, run: impl Fn(&str) -> Output) -> usize {
    assert_eq!(normal.code, Some(1), "{normal}");
    let checked = |fault: &str| {
        let out = run(fault);
        assert!(matches!(out.code, Some(1 | 70)), "{fault}: {out}");
        let said = out.stderr.len() + out.stdout.len();
        assert!(said > 0, "{fault}: {out}");
        out
    };
    let is_met = |n: usize| {
        let all = checked(&format!("error:{what}:{n}+"));
        all.stderr != normal.stderr || all.stdout != normal.stdout
    };
    let (mut met, mut too_many) = (0, 1);
    while is_met(too_many) {
        (met, too_many) = (too_many, too_many * 2);
    }
    while too_many - met > 1 {
        match met.midpoint(too_many) {
            n if is_met(n) => met = n,
            n => too_many = n,
        }
    }
    for n in (1..=met).step_by(every) {
        checked(&format!("error:{what}:{n}"));
    }
    met
}

/// Pushes that have one reason alone to be refused.
fn dishonest(s: &Sandbox) -> [String; 3] {
    let there = |revision: &str| s.git_in(remote(s), &["rev-parse", revision]).line();
    [
        line(s, "refs/heads/loopx", "loopx") + &line(s, "refs/heads/demo", "demo"),
        line(s, "refs/heads/release/1", "demo"),
        format!("{} {} refs/heads/loopx\n", there("loopx"), there("loopx~1")),
    ]
}

#[test]
fn t3_no_read_that_fails_opens_a_gate() {
    let s = with_objects("sha1");
    for (at, push) in dishonest(&s).into_iter().enumerate() {
        // In short all of them for one push; LOOPX_STRESS=1 takes all for each.
        let every = if at == 1 { 1 } else { count(5, 1) };
        let normal = hook(&s, &push).run();
        for what in loopx_base::failpoint::READS {
            let met = sweep(what, every, &normal, |fault| {
                hook(&s, &push).env("LOOPX_FAILPOINT", fault).run()
            });
            assert!(met > 0, "{what} is not met");
        }
    }
    let verify = |fault: Option<&str>| {
        let call = s.call(LOOPX).args(&["verify", "main..demo", "--onto=main"]);
        match fault {
            Some(fault) => call.env("LOOPX_FAILPOINT", fault).run(),
            None => call.run(),
        }
    };
    let normal = verify(None);
    for what in ["object-read", "ref-read"] {
        let met = sweep(what, count(5, 1), &normal, |fault| verify(Some(fault)));
        assert!(met > 0, "{what} is not met");
    }
}

/// Tells whether this machine lets a program be traced. Where it does not, a line on stderr says so.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn traces(s: &Sandbox) -> bool {
    let script = ["-c", "strace -f -o trace -e trace=openat true"];
    let can = s.call("sh").cwd(s.root()).args(&script).run().code == Some(0);
    if !can {
        eprintln!("skipped: strace is missing here, or may not trace");
    }
    can
}

/// Faults from outside: each call of the system fails in turn, in this program and in every git that it starts. In
/// short a part of them; LOOPX_STRESS=1 takes all.
#[test]
fn t3_no_call_of_the_system_that_fails_opens_a_gate() {
    let s = with_objects("sha1");
    if !traces(&s) {
        return;
    }
    let mut faults = vec![("openat", "EMFILE"), ("read", "EIO")];
    let mut pushes = dishonest(&s).to_vec();
    if count(0, 1) == 0 {
        pushes.truncate(2);
    } else {
        faults.extend([
            ("access", "EACCES"),
            ("getdents64", "EIO"),
            ("mmap", "ENOMEM"),
            ("newfstatat", "EACCES"),
            ("newfstatat", "EIO"),
            ("openat", "EACCES"),
            ("openat", "EIO"),
            ("pread64", "EIO"),
        ]);
    }
    let trace = s.root().join("trace");
    for push in &pushes {
        hook(&s, push).run().fails_with(1);
        for (call, error) in &faults {
            for n in (1..1000).step_by(count(7, 1)) {
                let only = format!("trace={call}");
                let inject = format!("inject={call}:error={error}:when={n}");
                let to = trace.to_str().expect("UTF-8");
                let args = ["-f", "-o", to, "-e", &only, "-e", &inject, LOOPX];
                let strace = s.call("strace").cwd(remote(&s)).env("GIT_DIR", ".");
                let strace = strace.args(&args).args(&["hook", "pre-receive"]);
                let out = strace.stdin(push.as_str()).run();
                assert_ne!(out.code, Some(0), "{call} {error} {n}: {out}");
                let text = std::fs::read_to_string(&trace).expect("a trace");
                if !text.contains("INJECTED") {
                    break;
                }
            }
        }
    }
}

/// A repository of somebody else is read through git, which passes over a ref that it cannot read. Only root can
/// give one away.
#[test]
fn t3_a_branch_that_cannot_be_read_is_not_none_for_another_owner() {
    let s = with_objects("sha1");
    if s.path().metadata().expect("a folder").uid() != 0 {
        return;
    }
    let push = line(&s, "refs/heads/demo", "demo");
    let honest = line(&s, "refs/heads/demo", "demo~1") + &line(&s, "refs/heads/loopx", "loopx");
    let trusted = |call: Call<'_>| {
        let call = call.env("GIT_CONFIG_COUNT", "1");
        let call = call.env("GIT_CONFIG_KEY_0", "safe.directory");
        call.env("GIT_CONFIG_VALUE_0", "*").run()
    };
    let give = |dir: &std::path::Path| {
        for path in [".", "config", "HEAD"] {
            chown(dir.join(path), Some(12_345), None).expect("a new owner");
        }
    };
    give(&remote(&s));
    trusted(hook(&s, &honest)).ok();
    trusted(hook(&s, &push))
        .fails_with(1)
        .says("commit_without_state");
    let there = remote(&s).join("refs/heads/loopx");
    let whole = s.bytes(&there);
    let own = s.path().join(".git");
    give(&own);
    chown(s.path(), Some(12_345), None).expect("a new owner");
    for torn in ["", "hello\n"] {
        s.write(&there, torn);
        trusted(hook(&s, &push))
            .fails_with(1)
            .says("could not judge")
            .says("refs/heads/loopx");
        // Here there is a way back.
        s.write(own.join("refs/heads/loopx"), torn);
        for command in ["status", "init"] {
            let said = trusted(s.call(LOOPX).args(&[command]));
            said.fails_with(70).says("git loopx doctor --recover");
        }
        trusted(s.call(LOOPX).args(&["doctor", "--recover"])).ok();
        trusted(s.call(LOOPX).args(&["fsck"])).ok();
    }
    s.write(&there, whole);
    trusted(hook(&s, &honest)).ok();
}
