//! The smallest change on each road, by somebody who types what `next` says and writes what it asks for: how much there
//! is to type and to write.

use crate::support::Sandbox;
use crate::support::drive::Drive;

const SPEC: &str = "# Session\n\n## Purpose\n\nSessions of people.\n\n## Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 30 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
const DELTA: &str = "# Domain: session\n\n## MODIFIED Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 10 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
const PLAN: &str = "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";
const TASK: &str = r#"{"id":"TASK-001","title":"Idle","scenarios":["session/Idle timeout/Idle"],"convergence":{"criteria":["C"],"verification":{"cmd":["sh","check.sh"]}}}"#;

/// Fills the file from those that were written before; a commit message is the subject alone.
const EDITOR: &str = r#"#!/bin/sh
case "$1" in
*/.loopx/it/*) cp "$WRITTEN/${1##*/.loopx/it/}" "$1"; echo "${1##*/.loopx/it/}" >> "$WRITTEN/../files" ;;
*) printf 'Ten minutes\n' > "$1" ;;
esac
"#;

struct Road {
    typed: Vec<String>,
    files: usize,
}

impl Road {
    /// The commands that begin with one of these words.
    fn count(&self) -> usize {
        self.typed.len()
    }
}

/// Walks from `start` to the archive. Editing a file is writing it: the file is counted, not the command.
fn walk(start: &str, written: &[(&str, &str)]) -> Road {
    let s = Sandbox::new();
    s.write("src/timeout", "30\n");
    s.write("check.sh", "grep -q 10 src/timeout\n");
    s.write("specs/session/spec.md", SPEC);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "first"]).ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let folder = s.root().join("written");
    for (path, text) in written {
        s.write(folder.join(path), text);
    }
    let editor = s.root().join("editor.sh");
    s.script(
        &editor,
        &EDITOR.replace("$WRITTEN", folder.to_str().expect("UTF-8")),
    );
    let types = |command: &str| {
        let call = s.call("sh").args(&["-c", command]);
        call.env("GIT_EDITOR", editor.to_str().expect("UTF-8"))
            .env("GIT_CONFIG_COUNT", "6")
            .run()
    };
    types(start).ok();
    let mut typed = vec![start.to_owned()];
    for _ in 0..40 {
        let out = s.loopx(&["next", "--json"]);
        let command = match out.code {
            Some(0) => out.json()["next_action"]
                .as_str()
                .expect("a command")
                .to_owned(),
            Some(6) if !s.read("src/timeout").contains("10") => {
                s.write("src/timeout", "10\n");
                continue;
            }
            // Which command shows that it works, only a person knows.
            Some(6) => "git loopx run -- sh check.sh".to_owned(),
            _ => break,
        };
        // The change is archived, and git brings it to its target.
        if command == "git switch main" {
            break;
        }
        types(&command).ok();
        if !command.starts_with("git loopx edit") {
            typed.push(command);
        }
    }
    let list = s.loopx(&["list", "--all", "--json"]).json();
    assert!(
        list["sessions"][0]["ending"]["how"] == "archived",
        "{typed:#?}\n{list:#}"
    );
    let edited = if s.exists("../files") {
        s.read("../files")
    } else {
        String::new()
    };
    let mut files: Vec<&str> = edited.lines().collect();
    files.sort_unstable();
    files.dedup();
    Road {
        typed,
        files: files.len(),
    }
}

#[test]
fn the_smallest_change_is_typed_as_shortly_as_its_profile_allows() {
    let brief = "# It\n\n## Why\n\nLong.\n\n## Checks\n\n- `sh check.sh`\n";
    let quick = walk("git loopx start --quick it", &[("brief.md", brief)]);
    assert!(quick.count() <= 5 && quick.files <= 1, "{:#?}", quick.typed);
    let lite = walk(
        "git loopx start it",
        &[
            ("plan.md", PLAN),
            ("change/spec-delta.md", DELTA),
            ("tasks.jsonl", TASK),
        ],
    );
    assert!(lite.count() <= 9 && lite.files <= 3, "{:#?}", lite.typed);
}

/// The whole path has a gate for everything; what it takes is known, so that it does not grow unseen.
#[test]
fn the_whole_path_takes_no_more_commands_than_it_did() {
    let from = Drive::built();
    let top = from.path().join(".loopx/demo");
    let files: Vec<(String, String)> = from
        .snapshot(&top)
        .into_iter()
        .filter_map(|(path, _, bytes)| {
            let name = path
                .strip_prefix(&top)
                .unwrap_or(&path)
                .display()
                .to_string();
            Some((name, String::from_utf8(bytes).ok()?))
        })
        .collect();
    let named: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let whole = walk("git loopx start --profile standard it", &named);
    assert!(whole.count() <= 14, "{}: {:#?}", whole.count(), whole.typed);
}
