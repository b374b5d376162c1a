//! The README's session, run command by command: what it shows is what comes back. With LOOPX_BLESS=1
//! the README is rewritten to that.

use crate::support::Sandbox;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A repository as the README finds it, and the notes beside it.
fn ward() -> Sandbox {
    let s = Sandbox::named("ward");
    let input = root().join("src/cmd/demo/input");
    let read = |name: &str| fs::read_to_string(input.join(name)).expect(name);
    s.write("specs/session/spec.md", read("base-spec.md"));
    s.write("src/session.sh", read("session.sh"));
    s.write("tests/check.sh", read("check.sh"));
    s.git(&["add", "."]).ok();
    s.git(&["commit", "-q", "-m", "Sessions that end when idle"])
        .ok();
    let notes = s.path().parent().expect("a parent").join("notes");
    fs::create_dir_all(notes.join("change")).expect("make the notes");
    let change = [
        "proposal.md",
        "spec-delta.md",
        "design.md",
        "tasks.md",
        "slices.json",
    ];
    let plain = [
        "spec.md",
        "plan.md",
        "development-plan.md",
        "test-plan.md",
        "architecture.md",
        "execution-record.md",
    ];
    for name in change {
        fs::write(notes.join("change").join(name), read(name)).expect(name);
    }
    for name in plain {
        fs::write(notes.join(name), read(name)).expect(name);
    }
    fs::write(notes.join("session.sh"), read("session-new.sh")).expect("session.sh");
    s
}

/// What differs from run to run: object ids, milliseconds.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let tail = &word[bare.len()..];
        let is_id = (7..=40).contains(&bare.len())
            && bare
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if is_id {
            out.push_str(&"0".repeat(bare.len()));
        } else {
            out.push_str(bare);
        }
        out.push_str(tail);
    }
    let mut lines = Vec::new();
    for line in out.lines() {
        let line = match line
            .split_once(" in ")
            .and_then(|(a, b)| Some((a, b.split_once(" ms")?)))
        {
            Some((head, (_, tail))) => format!("{head} in 0 ms{tail}"),
            None => line.to_owned(),
        };
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

struct Block {
    start: usize,
    end: usize,
}

fn session_block(readme: &str) -> Block {
    let mark = readme
        .find("<!-- session:")
        .expect("the README marks its session");
    let start = mark + readme[mark..].find("```console\n").expect("a block") + "```console\n".len();
    let end = start + readme[start..].find("```\n").expect("the block's end");
    Block { start, end }
}

#[test]
fn the_readmes_session_is_what_a_terminal_shows() {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("read the README");
    let Block { start, end } = session_block(&readme);
    let shown = &readme[start..end];
    let s = ward();
    let mut real = String::new();
    for line in shown.lines().filter(|line| line.starts_with("$ ")) {
        let command = &line[2..];
        let out = s
            .call(Path::new("sh"))
            .args(&["-c", &format!("({command}) 2>&1")])
            .run();
        assert!(
            out.code == Some(0) || out.stdout.starts_with("refused:"),
            "{command} exited with {:?}: {}",
            out.code,
            out.stdout
        );
        real.push_str(line);
        real.push('\n');
        if !out.stdout.trim().is_empty() {
            real.push_str(out.stdout.trim_end());
            real.push('\n');
        }
    }
    if std::env::var_os("LOOPX_BLESS").is_some() {
        let blessed = format!("{}{real}{}", &readme[..start], &readme[end..]);
        fs::write(&path, blessed).expect("write the README");
        return;
    }
    assert_eq!(steady(shown), steady(&real));
}

#[test]
fn every_command_that_the_readme_names_exists() {
    let readme = fs::read_to_string(root().join("README.md")).expect("read the README");
    let s = Sandbox::new();
    let mut seen = std::collections::BTreeSet::new();
    for part in readme.split("git loopx ").skip(1) {
        let name: String = part
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '-')
            .collect();
        // `help` is the parser's own, and takes names of commands alone.
        if !name.is_empty() && name != "help" && seen.insert(name.clone()) {
            s.loopx(&[name.as_str(), "--help"]).ok();
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
}

#[test]
fn the_policy_that_the_readme_shows_is_the_default() {
    let readme = fs::read_to_string(root().join("README.md")).expect("read the README");
    let start = readme.find("```toml\n").expect("a toml block") + "```toml\n".len();
    let end = start + readme[start..].find("```").expect("its end");
    let policy =
        git_loopx::core::policy::Policy::parse(&readme[start..end], "README.md").expect("a policy");
    assert_eq!(policy, git_loopx::core::policy::Policy::default());
}

#[test]
fn the_demo_ends_as_its_story_says() {
    let s = Sandbox::new();
    let told = s.loopx(&["demo", "--json"]).json();
    let commands = told["commands"].as_array().expect("commands");
    let exits: Vec<i64> = commands.iter().filter_map(|c| c["exit"].as_i64()).collect();
    assert_eq!(
        exits.iter().filter(|code| **code == 1).count(),
        3,
        "a commit, a plan and a check are refused"
    );
    assert_eq!(
        exits.iter().filter(|code| **code == 3).count(),
        1,
        "one archive conflicts"
    );
    assert!(
        s.loopx(&["demo"])
            .ok()
            .contains("Archive shorter-idle-timeout")
    );
}
