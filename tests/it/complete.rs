//! Completion: what could stand where the cursor is, and the shells' scripts that ask for it.

use crate::support::{Output, Sandbox};
use std::path::Path;
use std::time::Instant;

/// A session in plan with a task, and another one.
fn started() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.git(&["commit", "-q", "--allow-empty", "-m", "begin"])
            .ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "-q", "-c", "timeout"]).ok();
        s.loopx(&["start", "--profile", "lite", "Fix the timeout"])
            .ok();
        s.git(&["switch", "-q", "-c", "other"]).ok();
        s.loopx(&["start", "--profile", "quick", "Another change"])
            .ok();
        s.git(&["switch", "-q", "timeout"]).ok();
        s
    })
}

/// Words that are offered for the last of these words, without what they mean.
fn offered(s: &Sandbox, words: &[&str]) -> Vec<String> {
    let args = [&["complete", "--"], words].concat();
    let out = s.loopx(&args);
    assert_eq!(out.stderr, "", "{words:?}");
    let lines = out.ok();
    let lines = lines
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default());
    lines.map(str::to_owned).collect()
}

#[test]
fn each_place_is_offered_what_it_takes() {
    let s = started();
    for (words, wanted) in [
        (&["stat"][..], &["status"][..]),
        (&["approve", "--t"], &["--to"]),
        (&["approve", "--to", ""], &["build"]),
        (&["approve", "--to=b"], &["--to=build"]),
        (&["approve", "--to", "=", "b"], &["build"]),
        (
            &["-s", "another-change", "approve", "--to", ""],
            &["review"],
        ),
        (&["-s", ""], &["another-change", "fix-the-timeout"]),
        (&["use", "f"], &["fix-the-timeout"]),
        (&["status", "a"], &["another-change"]),
        (&["st", "a"], &["another-change"]),
        (&["cat", "p"], &["plan.md"]),
        (&["-s", "another-change", "edit", "b"], &["brief.md"]),
        (&["profile", "s"], &["standard"]),
        (&["start", "--profile", "q"], &["quick"]),
        (
            &["review", "--verdict", ""],
            &["approve", "request-changes"],
        ),
        (&["review", "--answer", "1", "w"], &["wontfix"]),
        (&["plan", "--critic", "r"], &["reject"]),
        (&["rebase", "--onto", "m"], &["main"]),
        (&["list", "--stage", "b"], &["build"]),
        (&["note", "--kind", "r"], &["risk"]),
        (&["hooks", "unin"], &["uninstall"]),
        (&["agent", "install", "cl"], &["claude"]),
        (&["help", "prof"], &["profile", "profiles"]),
        (&["put", "plan.md", ""], &[""]),
        (&["start", ""], &[]),
        (&["note", "--to", ""], &[]),
        (&["bl"], &[]),
        (&["agent-h"], &[]),
        (&["comple"], &["completions"]),
        (&["nonsense", "--bogus", "x"], &[]),
    ] {
        assert_eq!(offered(&s, words), wanted, "{words:?}");
    }
    s.git(&["remote", "add", "upstream", "../nowhere"]).ok();
    s.git(&["config", "loopx.alias.waiting", "list --waiting"])
        .ok();
    s.git(&["config", "loopx.alias.to", "approve --to"]).ok();
    s.write("specs/auth/session/spec.md", "# Session\n");
    for (words, wanted) in [
        (&["sync", "u"][..], &["upstream"][..]),
        (&["spec", "show", ""], &["auth/session"]),
        (&["wai"], &["waiting"]),
        (&["waiting", "--st"], &["--stage"]),
        (&["to", "b"], &["build"]),
    ] {
        assert_eq!(offered(&s, words), wanted, "{words:?}");
    }
    let delta = "# Domain: auth\n\n## ADDED Requirements\n### Requirement: Timeout\nIt SHALL end.\n\
        #### Scenario: Nobody types\n- **WHEN** nobody types\n- **THEN** it ends\n";
    s.write(".loopx/fix-the-timeout/change/spec-delta.md", delta);
    s.write(
        ".loopx/fix-the-timeout/tasks.jsonl",
        "{\"id\":\"T-1\",\"title\":\"Timeout\",\"convergence\":{\"criteria\":[\"it ends\"],\"verification\":{\"cmd\":[\"true\"]}},\
        \"scenarios\":[\"auth/Timeout/Nobody types\"]}\n",
    );
    assert_eq!(offered(&s, &["run", "--task", ""]), ["T-1"]);
    let all = offered(&s, &[""]);
    for hidden in ["hook", "agent-hook", "block", "park", "resume", "complete"] {
        assert!(!all.iter().any(|one| one == hidden), "{hidden}");
    }
}

#[test]
fn completion_is_quiet_and_quick_where_there_is_nothing() {
    let nowhere = Sandbox::empty("nowhere");
    let fresh = Sandbox::new();
    for s in [&nowhere, &fresh] {
        for words in [
            &["use", ""][..],
            &["run", "--task", ""],
            &["cat", ""],
            &["sync", ""],
            &["spec", "show", ""],
            &[],
        ] {
            assert_eq!(offered(s, words), Vec::<String>::new(), "{words:?}");
        }
        assert_eq!(offered(s, &["stat"]), ["status"]);
    }
    let s = started();
    s.loopx(&["hooks", "install"]).ok();
    let begin = Instant::now();
    for _ in 0..5 {
        offered(&s, &["use", ""]);
    }
    let each = begin.elapsed() / 5;
    assert!(each.as_millis() < 1_000, "{each:?}");
}

/// Output of a shell's program; nothing where the shell is not here.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn shell(s: &Sandbox, name: &str, script: &str) -> Option<Output> {
    s.write("script", script);
    let which = format!("command -v {name} >/dev/null");
    if s.call(Path::new("sh")).args(&["-c", &which]).run().code != Some(0) {
        eprintln!("skipped: no {name} here");
        return None;
    }
    Some(s.call(Path::new(name)).args(&["script"]).run())
}

#[test]
fn bash_completes_git_loopx_as_gits_own_completion_calls_it() {
    let s = started();
    s.write("completions", s.loopx(&["completions", "bash"]).ok());
    let cases = [
        ("git loopx stat", 2, "status"),
        ("git loopx approve --t", 3, "--to"),
        ("git loopx approve --to ''", 4, "build"),
        ("git loopx approve --to = b", 5, "build"),
        ("git -C . loopx use f", 5, "fix-the-timeout"),
        ("git loopx hooks unin", 3, "uninstall"),
        ("git loopx agent-h", 2, ""),
    ];
    let mut script = "source ./completions\n".to_owned();
    for (words, at, _) in cases {
        script.push_str(&format!(
            "COMP_WORDS=({words}); COMP_CWORD={at}; _git_loopx; echo \"${{COMPREPLY[*]}}\"\n"
        ));
    }
    script.push_str("COMP_WORDS=(git-loopx status a); COMP_CWORD=2; _git_loopx_program; echo \"${COMPREPLY[*]}\"\n");
    let Some(out) = shell(&s, "bash", &script) else {
        return;
    };
    assert_eq!(out.stderr, "", "{out}");
    let out = out.ok();
    let found: Vec<&str> = out.lines().collect();
    let mut wanted: Vec<&str> = cases.iter().map(|(.., wanted)| *wanted).collect();
    wanted.push("another-change");
    assert_eq!(found, wanted);
}

#[test]
fn zsh_completes_values() {
    let s = started();
    s.write("completions", s.loopx(&["completions", "zsh"]).ok());
    let script = "compadd() { print -l -- $words_found }\n_files() { print files }\nsource ./completions\n\
        words=(git-loopx approve --to ''); CURRENT=4; _git-loopx\n\
        words=(loopx use f); CURRENT=3; _git-loopx\n\
        words=(git-loopx put plan.md ''); CURRENT=4; _git-loopx\n";
    if let Some(out) = shell(&s, "zsh", script) {
        assert_eq!(out.stderr, "", "{out}");
        assert_eq!(out.ok(), "build\nfix-the-timeout\nfiles\n");
    }
}

#[test]
fn fish_completes_values() {
    let s = started();
    s.write("completions", s.loopx(&["completions", "fish"]).ok());
    let script = "source ./completions\n\
        complete -C 'git-loopx approve --to '\n\
        complete -C 'git loopx use f'\n";
    if let Some(out) = shell(&s, "fish", script) {
        assert_eq!(out.stderr, "", "{out}");
        assert_eq!(out.ok(), "build\nfix-the-timeout\tplan: Fix the timeout\n");
    }
}

#[test]
fn approve_offers_only_stages_that_the_profile_has() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    assert_eq!(offered(&s, &["approve", "--to", ""]), ["review"]);
    s.loopx(&["start", "--profile", "standard", "--no-branch", "Other"])
        .ok();
    let other = offered(&s, &["-s", "other", "approve", "--to", ""]);
    assert_eq!(other, ["plan"]);
}
