//! Offences that the guard finds, and lines that only look like them.

use super::{Kind, read};

#[test]
fn what_passes_over_the_gates_is_found() {
    for line in [
        "git commit --no-verify -m x",
        "git commit --no-veri -m x",
        "git commit -n -m x",
        "git commit -anm x",
        "git commit -m x -n",
        "git commit -m 'a' -m 'b' --no-verify",
        "git add . && git commit -qnm 'x' && git push",
        "true; git -C sub commit -n",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git -c core.HOOKSPATH= commit -m x",
        "git -c hook.loopx-commit-msg.enabled=false commit -m x",
        "git -c hook.pre-commit.enabled=0 commit",
        "git --config-env=core.hooksPath=NONE commit",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit",
        "LOOPX=0 git commit -m x",
        "env LOOPX=0 git push",
        "env -u X LOOPX=0 git push",
        "export LOOPX=0; git commit -m x",
        "LOOPX=0 sh -c 'git commit'",
        "sh -c 'git commit -n -m x'",
        "bash -lc \"cd sub && git commit --no-verify -m 'x'\"",
        "eval 'git commit -n'",
        "echo $(git commit -n)",
        "( cd x; git push --no-verify )",
        "if true; then git commit -n; fi",
        "timeout 10 git push --no-verify origin HEAD",
        "sudo -u me /usr/bin/git commit -n",
        "git merge --no-verify topic",
        "git config core.hooksPath /dev/null",
        "git config --local set core.hooksPath .x",
        "git config hook.loopx-pre-push.enabled false",
        "git config --remove-section hook.loopx-pre-push",
        "git commit -F - --no-verify <<'EOF'\nmessage\nEOF",
    ] {
        let found = read(line)
            .offence
            .unwrap_or_else(|| panic!("let through: {line}"));
        assert_eq!(found.kind, Kind::Hooks, "{line}");
    }
}

#[test]
fn what_only_looks_like_it_is_let_through() {
    for line in [
        "git commit -m \"--no-verify\"",
        "git commit -m --no-verify",
        "git commit -m -n",
        "git commit -am 'never use -n or --no-verify; LOOPX=0 git commit'",
        "git commit --message '-n'",
        "git commit --author 'n <-n>' -m x",
        "git commit --mess --no-verify",
        "git commit -mno",
        "git commit -uno -m x",
        "git commit -Snnn -m x",
        "git commit -- -n",
        "git commit --no-verbose -m x",
        "git commit --verify -m x",
        "git commit -m \"$(cat <<'EOF'\nDon't: git commit --no-verify\nEOF\n)\"",
        "git push -n",
        "git push --dry-run",
        "git merge -n topic",
        "git cherry-pick -n abc",
        "git revert -n abc",
        "git log -n 3 --grep=--no-verify",
        "echo git commit -n",
        "grep -rn 'core.hooksPath=' .",
        "echo 'LOOPX=0 git commit'",
        "LOOPX=1 git commit -m x",
        "LOOPX=0 git loopx status",
        "git -c user.name=x commit -m y",
        "git -c hook.loopx-pre-push.enabled=true push",
        "git config core.hooksPath",
        "git config --get core.hooksPath",
        "git config get core.hooksPath",
        "git config --unset core.hooksPath",
        "git config user.name -n",
        "# git commit -n",
        "git commit 'unclosed -n",
        "nogit commit -n",
    ] {
        assert_eq!(read(line).offence, None, "{line}");
    }
}

#[test]
fn a_ref_that_is_moved_by_hand_is_named_with_where() {
    let found = read("cd sub && git -C deep update-ref -m x refs/heads/loopx HEAD").offence;
    let found = found.expect("an offence");
    assert_eq!(found.kind, Kind::Ref("refs/heads/loopx".into()));
    assert_eq!(found.dirs, ["sub", "deep"]);
    let branch = read("git branch -f loopx HEAD~1")
        .offence
        .expect("an offence");
    assert_eq!(branch.kind, Kind::Ref("refs/heads/loopx".into()));
    assert_eq!(read("git branch new").offence, None);
    let tree = read("git commit-tree HEAD^{tree} -m x")
        .offence
        .expect("an offence");
    assert_eq!(tree.kind, Kind::Plumbing);
}

#[test]
fn a_build_step_is_known_by_its_name() {
    for line in [
        "git loopx build",
        "git-loopx run -- make",
        "cd x && git -C y loopx run --task A",
        "git loopx -s demo run --task A",
        "git loopx --json --session demo build",
    ] {
        assert!(read(line).builds, "{line}");
    }
    for line in [
        "git loopx status",
        "git loopx -s build status",
        "echo git loopx build",
        "git log",
    ] {
        assert!(!read(line).builds, "{line}");
    }
}
