//! Hooks and the places where they fire, which `hooks status` knows without an effect: worktrees, foreign hooks
//! folders, submodules, and config hooks on a git that has them (LOOPX_TEST_GIT).

use crate::support::hooks::{EVENTS, all, commit, foreign, husky, probe, rows, shims};
use crate::support::{LOOPX, Output, Sandbox, copy_program};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_linked_worktree_has_the_same_hooks_and_is_proven_by_itself() {
    let s = shims("repo");
    commit(&s).ok();
    let log = foreign(&s, "pre-commit", 0);
    let linked = s.root().join("linked tree");
    s.git(&["worktree", "add", "-q", "-b", "linked", "../linked tree"])
        .ok();
    // Installed from the linked one, from a folder below it.
    fs::create_dir(linked.join("sub")).expect("a folder");
    s.loopx_in(linked.join("sub"), &["hooks", "install"]).ok();
    let status = s.loopx(&["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("shim", Some(true)));
    assert_eq!(rows(&status, &linked), all("shim", Some(true)));
    assert!(!log.exists(), "a probe runs no foreign hook");
    s.git_in(&linked, &["commit", "--allow-empty", "-m", "x"])
        .ok();
    assert!(log.exists());
    // One worktree that looks elsewhere is dead there, and only there.
    s.git(&["config", "extensions.worktreeConfig", "true"]).ok();
    s.git_in(&linked, &["config", "--worktree", "core.hooksPath", "own"])
        .ok();
    let status = s.loopx(&["hooks", "status", "--json"]).fails_with(1);
    assert_eq!(rows(&status, s.path()), all("shim", Some(true)));
    assert_eq!(rows(&status, &linked), all("shim", Some(false)));
    s.loopx(&["hooks", "status"])
        .fails_with(1)
        .says("core.hooksPath, worktree");
}

#[test]
fn status_changes_nothing_and_finds_dead_hooks() {
    let s = shims("repo");
    let log = foreign(&s, "commit-msg", 0);
    s.loopx(&["hooks", "install"]).ok();
    let before = s.snapshot(".git");
    s.git(&["loopx", "hooks", "status"]).says("fires").ok();
    assert_eq!(s.snapshot(".git"), before);
    assert!(!log.exists());
    s.chmod(".git/hooks/pre-commit", 0o644);
    s.script(".git/hooks/commit-msg", "#!/bin/sh\nexit 1\n");
    s.script(".git/hooks/pre-push", "#!/no/such/sh\n# loopx-hook: x\n");
    let status = s.loopx(&["hooks", "status", "--json"]).fails_with(1);
    let modes: Vec<_> = rows(&status, s.path())
        .into_iter()
        .map(|(_, mode, fires)| (mode, fires))
        .collect();
    assert_eq!(
        modes,
        [
            ("shim".to_owned(), Some(false)),
            ("none".into(), Some(false)),
            ("shim".into(), Some(false)),
        ]
    );
    fs::remove_file(s.path().join(".git/hooks/pre-push")).expect("removed");
    let status = s.loopx(&["hooks", "status", "--json"]).fails_with(1);
    assert_eq!(
        rows(&status, s.path())[2],
        ("pre-push".into(), "none".into(), Some(false))
    );
    // Two hooks that are not ours for one name: neither is thrown away.
    let before = s.snapshot(".git");
    s.loopx(&["hooks", "install"])
        .fails_with(1)
        .says("only one can be kept");
    assert_eq!(s.snapshot(".git"), before);
    fs::remove_file(s.path().join(".git/hooks/commit-msg")).expect("removed");
    s.loopx(&["hooks", "install"]).ok();
    s.loopx(&["hooks", "status"]).ok();
}

#[test]
fn status_of_a_repository_without_our_hooks_is_no_failure() {
    let s = shims("repo");
    foreign(&s, "pre-commit", 1);
    s.loopx(&["hooks", "status"])
        .says("no hook of git loopx")
        .ok();
    let s = Sandbox::empty("repo");
    s.loopx(&["hooks", "status"])
        .fails_with(4)
        .says("no git repository");
}

/// On older git.
#[test]
fn edge_04_a_managers_folder_is_never_written_to_and_its_line_is_printed() {
    let s = shims("repo");
    husky(&s);
    let before = s.snapshot(".");
    let out = s.loopx(&["hooks", "install", "--json"]).fails_with(1);
    assert_eq!(s.snapshot("."), before);
    let error = &out.error_json()["error"];
    assert_eq!(error["code"], "hooks_path_foreign");
    let blockers = error["blockers"].as_array().expect("blockers");
    assert_eq!(blockers.len(), EVENTS.len());
    assert_eq!(blockers[0]["message"], "add to .husky/pre-commit:");
    let line = blockers[0]["help"].as_str().expect("a line").to_owned();
    let out = s.loopx(&["hooks", "install"]).fails_with(1);
    out.says(&line).says("husky owns it");

    // The line does what it promises: calls us, and blocks nothing where we are missing.
    s.write(".husky/pre-commit", format!("true\n{line}\n"));
    assert!(probe(&s, s.path(), "pre-commit"));
    commit(&s).ok();
    let path = s.path_without_loopx();
    let call = s.call("git").args(&["commit", "--allow-empty", "-m", "x"]);
    call.env("PATH", path).run().ok();
    let status = s.loopx(&["hooks", "status", "--json"]);
    assert_eq!(
        rows(&status, s.path())[0],
        ("pre-commit".into(), "manager".into(), None)
    );
}

#[test]
fn a_global_a_tracked_and_a_linked_hooks_folder_are_refused() {
    let refused = |s: &Sandbox, call: Output, words: &str| {
        call.fails_with(1)
            .says(words)
            .says("git-loopx hook pre-push");
        assert!(!s.exists(".git/hooks/pre-push"));
    };
    let s = shims("repo");
    let global = s.root().join("global");
    s.write(&global, "[core]\n\thooksPath = ~/hooks\n");
    let call = s.call(LOOPX).args(&["hooks", "install"]);
    let out = call.env("GIT_CONFIG_GLOBAL", &global).run();
    refused(&s, out, "every repository of this machine uses it");
    // Even where it names this repository's own folder: others would run what is in there.
    s.write(
        &global,
        format!("[core]\n\thooksPath = {}/.git/hooks\n", s.path().display()),
    );
    let call = s.call(LOOPX).args(&["hooks", "install"]);
    let out = call.env("GIT_CONFIG_GLOBAL", &global).run();
    refused(&s, out, "every repository of this machine uses it");

    s.script("our hooks/pre-push", "#!/bin/sh\n");
    s.git(&["add", "our hooks"]).ok();
    s.git(&["config", "core.hooksPath", "our hooks"]).ok();
    refused(&s, s.loopx(&["hooks", "install"]), "under version control");

    s.git(&["config", "--unset", "core.hooksPath"]).ok();
    fs::remove_dir_all(s.path().join(".git/hooks")).expect("removed");
    symlink("../our hooks", s.path().join(".git/hooks")).expect("a link");
    let before = s.snapshot("our hooks");
    s.loopx(&["hooks", "install"])
        .fails_with(1)
        .says("under version control");
    assert_eq!(s.snapshot("our hooks"), before);

    s.git(&["config", "core.hooksPath", "/dev/null"]).ok();
    s.loopx(&["hooks", "install"])
        .fails_with(1)
        .says("runs no hook files");
}

#[test]
fn a_hooks_path_of_the_repositorys_own_is_used() {
    let s = shims("repo");
    s.git(&["config", "core.hooksPath", ".git/my hooks"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    assert!(s.exists(".git/my hooks/pre-commit"));
    s.loopx(&["hooks", "status"]).ok();
    commit(&s).ok();
    s.loopx(&["hooks", "uninstall"]).ok();
    assert!(!s.exists(".git/my hooks/pre-commit"));
}

#[test]
fn names_with_spaces_quotes_and_other_scripts_are_no_obstacle() {
    let s = shims("dépôt 'x' \"$y\" & 日本");
    let log = foreign(&s, "pre-commit", 0);
    s.loopx(&["hooks", "install"]).ok();
    s.loopx(&["hooks", "status"]).ok();
    let linked = s.root().join("日本 2");
    commit(&s).ok();
    s.git(&["worktree", "add", "-q", "-b", "日本", "../日本 2"])
        .ok();
    s.git_in(&linked, &["commit", "--allow-empty", "-m", "x"])
        .ok();
    assert_eq!(fs::read_to_string(log).expect("a log"), "[].\n[].\n");
    let status = s.loopx_in(&linked, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, &linked), all("shim", Some(true)));
    s.loopx(&["hooks", "uninstall"]).ok();
}

/// Started by a hook or an alias, we inherit variables that name one worktree.
#[test]
fn variables_that_name_one_worktree_do_not_blind_status_for_the_others() {
    let s = shims("repo");
    commit(&s).ok();
    let linked = s.root().join("linked");
    s.git(&["worktree", "add", "-q", "../linked"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    let git_dir = s
        .git_in(&linked, &["rev-parse", "--absolute-git-dir"])
        .line();
    let status = s
        .call(LOOPX)
        .cwd(&linked)
        .args(&["hooks", "status", "--json"])
        .env("GIT_INDEX_FILE", format!("{git_dir}/index"))
        .env("GIT_DIR", git_dir)
        .run();
    for worktree in [s.path(), &linked] {
        assert_eq!(rows(&status, worktree), all("shim", Some(true)));
    }
}

#[test]
fn a_submodule_and_a_bare_repository_have_their_own_hooks() {
    let s = shims("repo");
    commit(&s).ok();
    let top = s.path().to_owned();
    s.call("git")
        .args(&["clone", "-q", "--bare", ".", "../bare.git"])
        .run()
        .ok();
    s.call("git")
        .args(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ])
        .args(&["../bare.git", "sub"])
        .run()
        .ok();
    s.loopx_in("sub", &["hooks", "install"]).ok();
    assert!(s.exists(".git/modules/sub/hooks/pre-push"));
    assert!(!s.exists(".git/hooks/pre-push"));
    let status = s.loopx_in("sub", &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, &top.join("sub")), all("shim", Some(true)));

    let bare = s.root().join("bare.git");
    s.loopx_in(&bare, &["hooks", "install"]).ok();
    let status = s.loopx_in(&bare, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, &bare), all("shim", Some(true)));
    s.loopx_in(&bare, &["hooks", "uninstall"]).ok();
}

/// An IDE brings its own git.
#[test]
fn edge_03_another_git_that_ignores_config_hooks_is_named() {
    let s = Sandbox::new();
    s.git_claims("2.55.0");
    let ide = s.root().join("ide");
    s.script(ide.join("git"), "#!/bin/sh\necho git version 2.30.1\n");
    let path = format!(
        "{}:{}:{}",
        s.root().join("bin").display(),
        ide.display(),
        s.path_without_loopx().display()
    );
    for command in ["install", "status"] {
        let call = s.call(LOOPX).args(&["hooks", command]);
        let out = call.env("PATH", &path).run();
        out.says(&format!("{}/git is git 2.30 and ignores", ide.display()));
    }
}

#[test]
fn edge_04_config_hooks_fire_beside_a_manager_in_every_worktree() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    husky(&s);
    commit(&s).ok();
    let ran = s.root().join("ran");
    for (key, value) in [
        (
            "hook.other=x.command",
            format!("touch '{}'; true", ran.display()),
        ),
        ("hook.other=x.event", "pre-commit".into()),
    ] {
        s.git(&["config", key, &value]).ok();
    }
    let before = s.bytes(".git/config");
    let linked = s.root().join("linked");
    s.git(&["worktree", "add", "--quiet", "../linked"]).ok();
    drop(fs::remove_file(&ran));
    s.loopx(&["hooks", "install"]).ok();
    let whole = s.snapshot(".git");
    let status = s.loopx_in(&linked, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("config", Some(true)));
    assert_eq!(rows(&status, &linked), all("config", Some(true)));
    assert_eq!(s.snapshot(".git"), whole);
    assert!(!ran.exists(), "a probe runs no foreign hook");
    s.git_in(&linked, &["commit", "--allow-empty", "-m", "x"])
        .ok();
    assert!(ran.exists());
    s.git(&["config", "hook.loopx-pre-push.enabled", "false"])
        .ok();
    let status = s.loopx(&["hooks", "status", "--json"]).fails_with(1);
    assert_eq!(
        rows(&status, &linked)[2],
        ("pre-push".into(), "config".into(), Some(false))
    );
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.bytes(".git/config"), before);
}

#[test]
fn a_shim_is_proven_under_a_git_with_config_hooks_without_running_those() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    let ran = s.root().join("ran");
    let test_git = s.root().join("bin/git");
    let wrapper = fs::read_to_string(&test_git).expect("a script");
    s.git_claims("2.47.3");
    s.loopx(&["hooks", "install"]).ok();
    s.script(&test_git, &wrapper);
    let touch = format!("touch '{}'", ran.display());
    s.git(&["config", "hook.other.command", &touch]).ok();
    s.git(&["config", "hook.other.event", "pre-commit"]).ok();
    let status = s.loopx(&["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("shim", Some(true)));
    assert!(!ran.exists(), "a probe runs no foreign hook");
    commit(&s).ok();
    assert!(ran.exists());
}

#[test]
fn edge_02_config_hooks_get_arguments_and_pass_without_the_binary() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    let tools = s.root().join("my 'tools' \\ \"ü\" #;");
    fs::create_dir(&tools).expect("a folder");
    let copy = tools.join("git-loopx");
    // Stands for the binary at the path that was written into the configuration.
    copy_program(&copy);
    s.call(&copy).args(&["hooks", "install"]).run().ok();
    let log = s.root().join("calls");
    let script = format!("#!/bin/sh\nprintf '[%s]' \"$@\" >>'{}'\n", log.display());
    s.script(&copy, &script);
    commit(&s).ok();
    assert_eq!(
        fs::read_to_string(&log).expect("it was called"),
        "[hook][pre-commit][hook][commit-msg][.git/COMMIT_EDITMSG]"
    );
    fs::remove_file(&copy).expect("removed");
    let call = s.call("git").args(&["commit", "--allow-empty", "-m", "x"]);
    let out = call.env("PATH", s.path_without_loopx()).run();
    out.says("warning: git-loopx is gone, so its pre-commit hook")
        .ok();
    // The same repository under a git that ignores the keys, told by `status`.
    s.git_claims("2.47.3");
    let status = s.loopx(&["hooks", "status"]).fails_with(1);
    status.says("ignores hooks in the configuration");
}
