//! Repositories that libgit2 does not open, or not as git does: another ref format, extensions, an
//! owner whom git trusts, settings from the environment (reference git-stores, section 6: 6, 7, 15).

use crate::support::server::HOOK;
use crate::support::store::{ID, assert_nothing_lost, assert_whole, begin, count, linked, tip};
use crate::support::{Call, LOOPX, Output, Sandbox};
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Child;

/// A repository in git's newest formats.
fn repository(options: &[&str]) -> Sandbox {
    let s = Sandbox::empty("repo");
    s.git(&[&["init", "--quiet"], options].concat()).ok();
    s
}

const REFTABLE: &str = "--ref-format=reftable";
const SHA256: &str = "--object-format=sha256";

#[test]
fn reftable_is_written_by_git_alone_and_nothing_of_ours_is_below_refs() {
    for options in [&[REFTABLE][..], &[REFTABLE, "--object-format=sha256"]] {
        let s = repository(options);
        let stubs = s.snapshot(".git/refs");
        let head = s.bytes(".git/HEAD");
        begin(&s);
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["start", "Second", "--no-branch"]).ok();
        s.loopx(&["-s", ID, "abandon", "--reason", "enough"]).ok();
        s.loopx(&["list"]).says("second").ok();
        assert_eq!(s.snapshot(".git/refs"), stubs);
        assert_eq!(s.bytes(".git/HEAD"), head);
        assert!(!s.exists(".git/packed-refs"));
        assert_eq!(s.git(&["reflog", "loopx"]).ok().lines().count(), 5);
        assert_whole(&s);
        // Nothing of the view that libgit2 gets is left.
        let left = std::fs::read_dir(s.root().join("tmp")).expect("a folder");
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn reftable_gates_hold_in_hooks_and_rest_where_commits_are_replayed() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    s.git(&["switch", "--quiet", "--create", "side"]).ok();
    s.commit_file("side.txt", "side\n", "side").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("new.txt", "new\n");
    s.git(&["add", "new.txt"]).ok();
    let hook = || s.loopx(&["hook", "pre-commit"]);
    hook().fails_with(1).says("`new.txt`: stage");
    // CHERRY_PICK_HEAD is no file here.
    s.git(&["reset", "--quiet", "--hard"]).ok();
    s.write("side.txt", "other\n");
    s.git(&["add", "side.txt"]).ok();
    s.git(&["commit", "--quiet", "-m", "other"]).ok();
    s.git(&["cherry-pick", "side"]).fails_with(1);
    s.git(&["add", "side.txt"]).ok();
    assert!(!s.exists(".git/CHERRY_PICK_HEAD"));
    hook().ok();
    s.git(&["cherry-pick", "--abort"]).ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    s.write("new.txt", "new\n");
    s.git(&["add", "new.txt"]).ok();
    hook().ok();
}

#[test]
fn reftable_in_a_linked_worktree_and_with_the_branch_checked_out() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    let other = linked(&s, "other");
    s.loopx_in(&other, &["start", "second"]).ok();
    s.loopx_in(&other, &["status"]).says("second  ").ok();
    s.loopx(&["status"]).says("auth-timeout  ").ok();
    let before = tip(&s);
    s.git_in(&other, &["switch", "--quiet", "loopx"]).ok();
    let refused = s.loopx(&["start", "third", "--no-branch"]).fails_with(1);
    refused.says(other.to_str().expect("UTF-8"));
    assert_eq!(tip(&s), before);
}

#[test]
fn reftable_writers_at_once_lose_nothing() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    let (writers, runs) = (4, count(4, 50));
    let children: Vec<Child> = (0..writers)
        .map(|_| {
            let script =
                format!("for i in $(seq {runs}); do git-loopx -s {ID} run -- true || exit 1; done");
            let mut command = s.call("sh").args(&["-c", &script]).command();
            command.stdin(std::process::Stdio::null());
            command.stdout(std::process::Stdio::null());
            command.spawn().expect("sh")
        })
        .collect();
    for child in children {
        let out = child.wait_with_output().expect("an end");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{said}");
    }
    assert_nothing_lost(&s, ID, 1 + writers * runs);
    assert_whole(&s);
}

#[test]
fn reftable_under_a_lock_of_another_git_is_waited_for_and_then_named() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    s.git(&["config", "reftable.lockTimeout", "1"]).ok();
    s.write(".git/reftable/tables.list.lock", "");
    let before = tip(&s);
    s.loopx(&["run", "--", "true"])
        .fails_with(6)
        .says("another git process");
    assert_eq!(tip(&s), before);
    std::fs::remove_file(s.path().join(".git/reftable/tables.list.lock")).expect("the lock");
    s.loopx(&["run", "--", "true"]).ok();
}

#[test]
fn q22_a_lock_of_the_tables_is_named_and_taken_away_as_other_locks_of_git() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    s.git(&["config", "reftable.lockTimeout", "1"]).ok();
    let lock = s.path().join(".git/reftable/tables.list.lock");
    let file = std::fs::File::create(&lock).expect("a lock");
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    file.set_modified(hours_ago).expect("an older file");
    s.loopx(&["note", "x"])
        .fails_with(6)
        .says("reftable/tables.list.lock stands in the way")
        .says("git loopx doctor --fix");
    s.loopx(&["doctor"])
        .says("reftable/tables.list.lock: left behind");
    s.loopx(&["doctor", "--fix"]).ok();
    assert!(!lock.exists());
    s.loopx(&["note", "x"]).ok();
}

#[test]
fn extensions_that_git_knows_are_opened_and_the_others_refused() {
    let s = Sandbox::new();
    begin(&s);
    s.git(&["config", "core.repositoryformatversion", "1"]).ok();
    for (extension, value) in [
        ("preciousObjects", "true"),
        ("worktreeConfig", "true"),
        ("partialClone", "origin"),
    ] {
        let key = format!("extensions.{extension}");
        s.git(&["config", &key, value]).ok();
        s.loopx(&["status"]).says("auth-timeout  ").ok();
        s.loopx(&["run", "--", "true"]).ok();
    }
    let before = s.snapshot(".");
    s.git(&["config", "extensions.fromTomorrow", "1"]).ok();
    for args in [
        &["init"][..],
        &["status"],
        &["start", "x"],
        &["run", "--", "true"],
    ] {
        let out = s.loopx(args).fails_with(1).says("fromtomorrow");
        assert!(!out.stderr.contains("internal error"), "{out}");
    }
    let mut after = s.snapshot(".");
    for (now, then) in after.iter_mut().zip(&before) {
        if now.0.ends_with("config") {
            *now = then.clone();
        }
    }
    assert_eq!(after, before);
    // A hook does not stand in anybody's way.
    let hook = s.loopx(&["hook", "pre-commit"]);
    hook.says("checked nothing").ok();
}

/// git would have to know each object of ours by its other name too.
#[test]
fn a_repository_with_two_object_formats_is_refused_and_stays_as_it_is() {
    let s = repository(&[SHA256]);
    s.git(&["config", "extensions.compatObjectFormat", "sha1"])
        .ok();
    s.write("code.txt", "code\n");
    s.git(&["add", "."]).ok();
    // Only a git that knows it makes one.
    if s.git(&["commit", "--quiet", "-m", "code"]).code != Some(0) {
        return;
    }
    let before = s.snapshot(".");
    for args in [&["init"][..], &["status"], &["start", "x"], &["sync"]] {
        let out = s.loopx(args).fails_with(1).says("compatObjectFormat");
        assert!(!out.stderr.contains("internal error"), "{out}");
    }
    s.loopx(&["hook", "pre-commit"])
        .says("checked nothing")
        .ok();
    assert_eq!(s.snapshot("."), before);
}

/// Identities for work and for home are often chosen by the remote; libgit2 does not know how.
#[test]
fn a_file_that_is_included_for_a_remote_counts() {
    let s = Sandbox::new();
    s.write(
        "../work.conf",
        "[user]\n\tname = At Work\n\temail = at@work.example\n[loopx]\n\tbranch = sessions\n",
    );
    let key = "includeIf.hasconfig:remote.*.url:https://work.example/**.path";
    s.git(&["config", key, "../../work.conf"]).ok();
    s.git(&["remote", "add", "origin", "https://work.example/x.git"])
        .ok();
    let as_git = |call: Call<'_>| -> Output {
        let names = [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ];
        names
            .iter()
            .fold(call, |call, name| call.without_env(name))
            .run()
    };
    let git = |args: &[&str]| as_git(s.call("git").args(args));
    let loopx = |args: &[&str]| as_git(s.call(LOOPX).args(args));
    s.write("code.txt", "code\n");
    git(&["add", "."]).ok();
    git(&["commit", "--quiet", "-m", "code"]).ok();
    // What `init` asks of the remote has no answer here.
    s.git(&["config", "remote.origin.url", "https://work.example/x.git"])
        .ok();
    s.git(&["config", "protocol.https.allow", "never"]).ok();
    loopx(&["init"]).fails_with(0);
    loopx(&["start", "Auth timeout"]).ok();
    let said = git(&["log", "-1", "--format=%an <%ae> %cn <%ce>", "sessions"]).line();
    assert_eq!(said, "At Work <at@work.example> At Work <at@work.example>");
    // Elsewhere it does not.
    s.git(&["config", "remote.origin.url", "https://home.example/x.git"])
        .ok();
    s.git(&["config", "user.name", "At Home"]).ok();
    s.git(&["config", "user.email", "at@home.example"]).ok();
    s.git(&["config", "loopx.branch", "sessions"]).ok();
    loopx(&["-s", ID, "run", "--", "true"]).ok();
    let said = git(&["log", "-1", "--format=%an", "sessions"]).line();
    assert_eq!(said, "At Home");
}

/// The objects of a push wait in a folder that the environment names.
#[test]
fn a_push_in_quarantine_is_judged_whatever_the_format() {
    for options in [&[][..], &[REFTABLE], &[REFTABLE, "--object-format=sha256"]] {
        let s = repository(options);
        begin(&s);
        let make = [&["init", "--quiet", "--bare"], options, &["../served.git"]];
        s.git(&make.concat()).ok();
        s.git(&["push", "--quiet", "../served.git", "main", "loopx"])
            .ok();
        s.script("../served.git/hooks/pre-receive", HOOK);
        let message = format!("code\n\nLoopx-Session: {ID}\nLoopx-State: {}", tip(&s));
        s.commit_file("code.txt", "more\n", &message).ok();
        let push = s.git(&["push", "--quiet", "../served.git", "main"]);
        push.fails_with(1).says("takes no code");
        s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
        s.commit_file("docs/x.md", "text\n", &message).ok();
        s.git(&["push", "--quiet", "../served.git", "main"]).ok();
    }
}

/// A repository of the git of LOOPX_TEST_GIT: as it makes one by default, and with the formats that it will.
#[test]
fn a_repository_that_another_git_made() {
    let options: [&[&str]; 3] = [
        &[],
        &["--ref-format=reftable"],
        &["--ref-format=reftable", "--object-format=sha256"],
    ];
    for options in options {
        let Some(s) = Sandbox::with_test_git() else {
            return;
        };
        std::fs::remove_dir_all(s.path().join(".git")).expect("a folder");
        s.git(&[&["init", "--quiet"], options].concat()).ok();
        s.git(&["config", "worktree.useRelativePaths", "true"]).ok();
        begin(&s);
        s.loopx(&["run", "--", "true"]).ok();
        let other = linked(&s, "other");
        s.loopx_in(&other, &["start", "second"]).ok();
        s.loopx(&["list"]).says("second").ok();
        assert_whole(&s);
    }
}

#[test]
fn a_setting_of_one_worktree_is_read_there_alone() {
    let s = Sandbox::new();
    begin(&s);
    let other = linked(&s, "other");
    s.git(&["config", "extensions.worktreeConfig", "true"]).ok();
    s.git_in(&other, &["config", "--worktree", "loopx.branch", "mine"])
        .ok();
    s.loopx_in(&other, &["init"]).says("`mine`").ok();
    s.loopx_in(&other, &["list"]).says("no session yet").ok();
    s.loopx(&["list"]).says(ID).ok();
}

#[test]
fn settings_of_the_command_line_reach_us_through_git() {
    let s = Sandbox::new();
    begin(&s);
    s.git(&["-c", "loopx.branch=theirs", "loopx", "init"])
        .says("`theirs`")
        .ok();
    assert_eq!(
        s.git(&["rev-parse", "theirs~1"]).line(),
        s.git(&["rev-parse", "loopx~2"]).line()
    );
    let by = |call: Call<'_>| {
        let mut call = call;
        for role in ["AUTHOR", "COMMITTER"] {
            for part in ["NAME", "EMAIL"] {
                call = call.without_env(format!("GIT_{role}_{part}"));
            }
        }
        call.run().ok();
        s.git(&["log", "-1", "--format=%an <%ae>", "loopx"]).line()
    };
    let typed = ["-c", "user.name=Typed It", "-c", "User.Email=t@x", "loopx"];
    let run = ["run", "--", "true"];
    assert_eq!(by(s.call("git").args(&typed).args(&run)), "Typed It <t@x>");
    s.write("../included", "[loopx]\n\tbranch = included\n");
    let file = format!("include.path={}", s.root().join("included").display());
    s.git(&["-c", &file, "loopx", "init"])
        .says("`included`")
        .ok();
    // The sandbox gives settings through GIT_CONFIG_COUNT itself: two more.
    let listed = s.call(LOOPX).args(&run);
    let listed = listed
        .env("GIT_CONFIG_KEY_7", "user.name")
        .env("GIT_CONFIG_VALUE_7", "Listed")
        .env("GIT_CONFIG_KEY_8", "user.email")
        .env("GIT_CONFIG_VALUE_8", "l@x")
        .env("GIT_CONFIG_COUNT", "9");
    assert_eq!(by(listed), "Listed <l@x>");
}

/// Only root can give a repository away.
#[test]
fn the_repository_of_another_owner_opens_where_git_trusts_it() {
    let s = Sandbox::new();
    begin(&s);
    if s.path().metadata().expect("a folder").uid() != 0 {
        return;
    }
    let give_to = |owner: u32| {
        for path in [".", ".git", ".git/config"] {
            chown(s.path().join(path), Some(owner), None).expect("a new owner");
        }
    };
    let before = tip(&s);
    give_to(12_345);
    let run = |trusted: &str, args: &[&str]| {
        let config = s.root().join("home/gitconfig");
        s.write(&config, format!("[safe]\n\tdirectory = {trusted}\n"));
        let call = s.call(LOOPX).args(args).env("GIT_CONFIG_GLOBAL", config);
        call.run()
    };
    let refused = run("/nowhere", &["run", "--", "true"]).fails_with(1);
    refused
        .says("belongs to another user")
        .says("safe.directory");
    let exact = s.path().display().to_string();
    let prefix = format!("{}/*", s.root().display());
    for trusted in ["*", &exact, &prefix] {
        run(trusted, &["status"]).says("auth-timeout  ").ok();
        run(trusted, &["run", "--", "true"]).ok();
    }
    give_to(0);
    assert_eq!(s.git(&["rev-parse", "loopx~3"]).line(), before);
}

#[test]
fn what_is_replaced_for_git_is_not_for_a_gate() {
    let s = Sandbox::new();
    begin(&s);
    let first = s.git(&["rev-parse", "HEAD"]).line();
    s.commit_file("specs/x.md", "x\n", "specs").ok();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["replace", &head, &first]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["status"]).says("auth-timeout  ").ok();
    // git calls the index dirty now; the evidence is about the files that are there.
    let tree = s.git(&["write-tree"]).line();
    let log = s.loopx(&["--json", "log"]).json().to_string();
    assert!(log.contains(&tree), "{log}");
    s.git(&["replace", "--delete", &head]).ok();
    assert_whole(&s);
}

/// Each question to git is a process where refs are no files: so many, and no more.
#[test]
fn reftable_starts_few_processes() {
    let s = repository(&[REFTABLE]);
    begin(&s);
    s.loopx(&["run", "--", "true"]).ok();
    let path = std::env::var_os("PATH").expect("PATH");
    let real = std::env::split_paths(&path)
        .map(|dir| dir.join("git"))
        .find(|path| path.is_file())
        .expect("git");
    let log = s.root().join("calls");
    s.program(
        "git",
        &format!(
            "#!/bin/sh\necho \"$1 $2 $3\" >> '{}'\nexec '{}' \"$@\"\n",
            log.display(),
            real.display()
        ),
    );
    for (args, most) in [
        (&["hook", "pre-commit"][..], 7),
        // One of them looks whether the state came past this program, and one what HEAD has for the next stage to read.
        (&["status"], 12),
        // One of them looks for files that git was told not to look at.
        (&["run", "--", "true"], 43),
        (&["clarify"], 28),
    ] {
        s.write(&log, "");
        drop(s.loopx(args));
        let calls = s.read(&log);
        assert!(calls.lines().count() <= most, "{args:?}\n{calls}");
    }
}

#[test]
fn a_file_that_is_named_like_a_list_of_refs_is_a_file() {
    let s = Sandbox::new();
    begin(&s);
    for text in ["no list of refs\n", "# pack-refs with: peeled\n\0\n", ""] {
        s.write("packed-refs", text);
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        assert_eq!(s.read("packed-refs"), text);
    }
    std::fs::remove_file(s.path().join("packed-refs")).expect("remove the file");
    // In a folder of that name nothing is read either.
    s.write("packed-refs/x", "x\n");
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    // A bare repository is a folder with such a file.
    s.git(&["clone", "--quiet", "--bare", ".", "../bare.git"])
        .ok();
    let bare = s.root().join("bare.git");
    s.git_in(&bare, &["pack-refs", "--all"]).ok();
    s.loopx_in(&bare, &["-s", ID, "abandon", "--reason", "enough"])
        .ok();
    s.git_in(&bare, &["fsck", "--full", "--strict"]).ok();
    assert_whole(&s);
}
