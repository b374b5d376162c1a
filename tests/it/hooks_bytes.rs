//! Uninstall gives every byte back: whatever the configuration looked like, and also where its owner
//! edited other parts of it while our hooks were installed.

use crate::support::hooks::shims;
use crate::support::{LOOPX, Sandbox};
use std::fs;
use std::path::Path;

/// Configurations as people have them, to be put behind what `git init` writes.
const TEXTS: [(&str, &str); 7] = [
    ("as git leaves it", ""),
    (
        "comments",
        "# mine\n[user]\n\tname = n ; here too\n# the end\n",
    ),
    ("no newline at the end", "[user]\n\tname = n"),
    ("CRLF", "[user]\r\n\tname = \"n\" # x\r\n\r\n; end\r\n"),
    (
        "an include",
        "[include]\n\tpath = ../extra\n[includeIf \"gitdir:/x/\"]\n\tpath = y\n",
    ),
    ("empty lines at the end", "[user]\n\tname = n\n\n\n"),
    (
        "hooks of somebody else",
        "[hook \"mine\"]\n\tcommand = true\n\tenabled = false\n[hook \"loopx-pre-commit-x\"]\n",
    ),
];

/// Edit of a file by its owner meanwhile. The same edit is made to a copy that we never saw.
type Edit = fn(&Sandbox, &Path);

fn git(s: &Sandbox, file: &Path, args: &[&str]) {
    let call = s.call("git").args(&["config", "--file"]).args(&[file]);
    call.args(args).run().ok();
}

const EDITS: [(&str, Edit); 6] = [
    ("nothing", |_, _| {}),
    ("a value of git config", |s, file| {
        git(s, file, &["core.editor", "vi"])
    }),
    ("a section of git config", |s, file| {
        git(s, file, &["remote.o.url", "u"])
    }),
    ("a second section", |s, file| {
        git(s, file, &["a.b", "c"]);
        git(s, file, &["branch.x.merge", "y"]);
        git(s, file, &["--remove-section", "a"]);
    }),
    ("a comment in front", |_, file| {
        let text = fs::read(file).expect("a file");
        fs::write(file, [b"# first\n".as_slice(), &text].concat()).expect("written");
    }),
    ("a value changed by hand", |_, file| {
        let text = fs::read_to_string(file).expect("a file");
        let text = text.replacen("bare = false", "bare = false # no", 1);
        fs::write(file, text).expect("written");
    }),
];

#[test]
fn a_configuration_comes_back_byte_for_byte_also_after_other_edits() {
    for (what, text) in TEXTS {
        for (edit_name, edit) in EDITS {
            let s = Sandbox::new();
            s.git_claims("2.55.0");
            s.write("extra", "[core]\n\tpager = cat\n");
            let file = s.path().join(".git/config");
            let begun = s.read(".git/config") + text;
            s.write(".git/config", &begun);
            let copy = s.root().join("copy");
            fs::write(&copy, &begun).expect("written");
            edit(&s, &copy);

            s.loopx(&["hooks", "install"]).ok();
            assert_ne!(s.read(".git/config"), begun);
            let before = s.bytes(".git/config");
            s.loopx(&["hooks", "install"]).says("nothing to do").ok();
            assert_eq!(s.bytes(".git/config"), before);
            edit(&s, &file);
            s.loopx(&["hooks", "uninstall"]).ok();
            let wanted = fs::read_to_string(&copy).expect("a copy");
            assert_eq!(s.read(".git/config"), wanted, "{what}, {edit_name}");
        }
    }
}

/// A key that git itself put into our section goes with it, and so does a comment in it that stands
/// before a key.
#[test]
fn what_stands_in_our_own_sections_goes_with_them() {
    let s = Sandbox::new();
    s.git_claims("2.55.0");
    let before = s.bytes(".git/config");
    s.loopx(&["hooks", "install"]).ok();
    s.git(&["config", "hook.loopx-pre-commit.enabled", "false"])
        .ok();
    s.git(&[
        "config",
        "--add",
        "hook.loopx-pre-push.event",
        "push-to-checkout",
    ])
    .ok();
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.bytes(".git/config"), before);
}

#[test]
fn hook_files_come_back_after_others_were_added_beside_ours() {
    let s = shims("repo");
    s.write(".git/hooks/commit-msg", "#!/bin/sh\r\n: no newline \u{1}");
    s.chmod(".git/hooks/commit-msg", 0o751);
    s.loopx(&["hooks", "install"]).ok();
    s.script(".git/hooks/post-commit", "#!/bin/sh\n");
    s.write(".git/hooks/notes", "mine");
    let kept = s.bytes(".git/hooks/commit-msg.before-loopx");
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.bytes(".git/hooks/commit-msg"), kept);
    assert_eq!(s.mode(".git/hooks/commit-msg"), 0o751);
    let left: Vec<_> = s
        .snapshot(".git/hooks")
        .into_iter()
        .filter(|(path, ..)| path.extension().is_none_or(|end| end != "sample"))
        .map(|(path, ..)| path.display().to_string())
        .collect();
    assert_eq!(left, ["commit-msg", "notes", "post-commit"]);
}

/// A person's own file, for every repository: the same bytes, also where it is a link.
#[test]
fn the_configuration_of_a_person_comes_back_byte_for_byte() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    let text = "; dotfiles\r\n[user]\r\n\tname = n\n[include]\n\tpath = other";
    let file = s.root().join("dotfiles/gitconfig");
    s.write(&file, text);
    let link = s.root().join("home/.gitconfig");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let loopx = |args: &[&str]| s.call(LOOPX).args(args).without_env("GIT_CONFIG_GLOBAL");
    loopx(&["hooks", "install", "--global"]).run().ok();
    let written = fs::read_to_string(&file).expect("a file");
    assert_eq!(written.matches("[hook \"loopx-").count(), 3, "{written}");
    let again = loopx(&["hooks", "install", "--global"]).run();
    again.says("nothing to do").ok();
    loopx(&["hooks", "uninstall", "--global"]).run().ok();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).expect("a file"), text);
    let out = loopx(&["hooks", "uninstall", "--global"]).run();
    out.fails_with(5);
}
