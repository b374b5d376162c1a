//! Manual pages and completions: made from the command line, and usable where git looks for them.

use crate::support::Sandbox;
use std::path::Path;

#[test]
fn every_command_has_a_page_under_gits_name_for_it() {
    let s = Sandbox::new();
    s.loopx(&["man", "--install", "share"]).ok();
    let page = s.read("share/man1/git-loopx.1");
    for command in ["start", "approve", "archive", "verify"] {
        assert!(page.contains(command), "{command} is not in the main page");
        let own = s.read(format!("share/man1/git-loopx-{command}.1"));
        assert!(own.contains(&format!("git\\-loopx\\-{command}")), "{own}");
    }
    assert!(
        !s.exists("share/man1/git-loopx-hook.1"),
        "git calls it, people do not"
    );
}

#[test]
fn bash_completes_git_loopx_as_gits_own_completion_calls_it() {
    let s = Sandbox::new();
    s.write("completions", s.loopx(&["completions", "bash"]).ok());
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./completions; COMP_WORDS=({words}); COMP_CWORD={at}; _git_loopx; echo \"${{COMPREPLY[@]}}\""
        );
        let out = s.call(Path::new("bash")).args(&["-c", &script]).run();
        if out.code == Some(127) {
            // There is no bash here.
            return None;
        }
        Some(out.ok().trim().to_owned())
    };
    for (words, at, wanted) in [
        ("git loopx stat", 2, "status"),
        ("git loopx approve --t", 3, "--to"),
        ("git loopx hooks unin", 3, "uninstall"),
    ] {
        if let Some(found) = complete(words, at) {
            assert_eq!(found, wanted, "{words}");
        }
    }
}
