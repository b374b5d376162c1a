//! The README and the pages of docs/, run command by command: what a `console` block shows is what comes back.
//! With LOOPX_BLESS=1 the pages are rewritten to that.
//!
//! A block after the line `<!-- session: SCENE -->` begins a session, the next ones of the page go on with it.
//! A block after `<!-- file: PATH -->` is what the editor leaves in that file.

use crate::support::Sandbox;
use crate::support::tasks::{building, task, with};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pages of docs/, by their path in the repository.
fn docs() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs")).expect("the docs");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut pages: Vec<String> = names
        .map(|name| format!("docs/{}", name.display()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    pages.sort();
    pages
}

fn input(name: &str) -> String {
    page(&format!("src/cmd/demo/input/{name}"))
}

/// Beginning of somebody who has heard of nothing: a spec, a little code, a check of it.
fn first() -> Sandbox {
    let s = Sandbox::named("ward");
    s.write("specs/session/spec.md", input("base-spec.md"));
    s.write(
        "src/session.sh",
        "#!/bin/sh\nidle_minutes=30\nfarewell=\"Your sesion has ended\"\n",
    );
    s.write(
        "tests/check.sh",
        "#!/bin/sh\n. ./src/session.sh\ntest \"$idle_minutes\" -eq 30 && echo \"$farewell\" | grep \"session has ended\"\n",
    );
    commit_all(&s, "Sessions that end when idle");
    s
}

fn commit_all(s: &Sandbox, message: &str) {
    s.git(&["add", "."]).ok();
    s.git(&["commit", "-q", "-m", message]).ok();
}

/// A repository as the standard session finds it, and the notes beside it.
fn standard() -> Sandbox {
    let s = Sandbox::named("ward");
    s.write("specs/session/spec.md", input("base-spec.md"));
    s.write("src/session.sh", input("session.sh"));
    s.write("tests/check.sh", input("check.sh"));
    commit_all(&s, "Sessions that end when idle");
    let notes = s.path().parent().expect("a parent").join("notes");
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
        s.write(notes.join("change").join(name), input(name));
    }
    for name in plain {
        s.write(notes.join(name), input(name));
    }
    s.write(notes.join("session.sh"), input("session-new.sh"));
    s
}

/// A list with a decision in it, whose first task is done.
fn judged() -> Sandbox {
    let work = |id: &str, title: &str, on: &[&str]| {
        let mut work = task(id, on, Some(&["true"]));
        work["title"] = title.into();
        work
    };
    let mut mend = work("mend", "Mend {weakest} of {gate}", &[]);
    mend["depends_on"] = json!([]);
    let dimensions = [
        json!({ "name": "code", "weight": 1 }),
        json!({ "name": "tests", "weight": 1, "minimum": 6 }),
    ];
    let gate = json!({
        "rubric": { "scale": 10, "pass": 6, "dimensions": dimensions }, "cap": 2, "repair": [mend],
    });
    let s = building(&[
        work("TASK-001", "Write the audit log", &[]),
        with(
            "REVIEW",
            &["TASK-001"],
            json!({ "title": "Judge the log", "kind": "decision", "gate": gate }),
        ),
        work("TASK-002", "Announce it", &["REVIEW"]),
    ]);
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done"]).ok();
    s
}

/// A change of two tasks that Grace sent back, mended by half.
fn sent_back() -> Sandbox {
    let s = Sandbox::named("ward");
    s.write("specs/session/spec.md", input("base-spec.md"));
    s.write("src/session.sh", input("session.sh"));
    commit_all(&s, "Sessions that end when idle");
    let tasks = [("TASK-001", "End idle sessions", "Idle timeout/Idle", "10"), (
        "TASK-002",
        "Write the audit log",
        "Audit of session ends/Idle end is audited",
        "audit",
    )]
    .map(|(id, title, scenario, word)| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"{title}\",\"scenarios\":[\"session/{scenario}\"],\"convergence\":\
             {{\"criteria\":[\"{word}\"],\"verification\":{{\"cmd\":[\"grep\",\"-q\",\"{word}\",\"src/session.sh\"]}}}}}}\n"
        )
    });
    let steps = "git switch -q -c timeout && git loopx init -q && git loopx start -q Shorter idle timeout && \
                 cp -R ../written/. .loopx/shorter-idle-timeout/ && git loopx approve -q --enter && \
                 cp ../session.sh src/ && git commit -qam 'End idle sessions after ten minutes' && \
                 git loopx run -q && git loopx approve -q --to review && \
                 GIT_AUTHOR_NAME=Grace GIT_AUTHOR_EMAIL=grace@example.org GIT_COMMITTER_NAME=Grace \
                 GIT_COMMITTER_EMAIL=grace@example.org git loopx review -q --verdict request-changes --reason 'the log' \
                 --finding 'high: src/session.sh:5: nobody can read the log' && \
                 git loopx approve -q --to build && git loopx build -q --from-review && \
                 sed -i /audit/d src/session.sh && git loopx run -q --task TASK-001";
    let written = s.root().join("written");
    s.write(
        written.join("plan.md"),
        "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\nA\n\n## Approach\nB\n\n## Risks\nC\n",
    );
    s.write(written.join("change/spec-delta.md"), input("spec-delta.md"));
    s.write(written.join("tasks.jsonl"), tasks.concat());
    s.write(s.root().join("session.sh"), input("session-new.sh"));
    let made = shell(&s, steps);
    assert_eq!(made.code, Some(0), "{made}");
    s
}

/// Runs a line as a person types it, who has no settings and is called Ada.
fn shell(s: &Sandbox, line: &str) -> crate::support::Output {
    let editor = s.root().join("bin/editor");
    s.call("sh")
        .args(&["-c", &format!("({line}\n) 2>&1")])
        // Without the last setting of a sandbox, the profile: a stranger has the default.
        .env("GIT_CONFIG_COUNT", "6")
        .env("GIT_COMMITTER_NAME", "Ada Author")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_EDITOR", editor)
        .run()
}

/// A session of a page: the repository that it runs in, and the files that its editor will write.
fn begin(scene: &str, files: &[(String, String)]) -> Sandbox {
    let s = match scene {
        "first" => first(),
        "standard" => standard(),
        "sent back" => sent_back(),
        "judged" => judged(),
        "backlog" => crate::support::issues::backlog(),
        other => panic!("no scene is called {other}"),
    };
    for (path, text) in files {
        let path = path.strip_prefix(".loopx/").unwrap_or(path);
        s.write(s.root().join("edited").join(path), text);
    }
    let edited = s.root().join("edited");
    s.program(
        "editor",
        &format!(
            "#!/bin/sh\nmv \"{}/${{1##*/.loopx/}}\" \"$1\"\n",
            edited.display()
        ),
    );
    s
}

/// Text without what differs from run to run: object ids, milliseconds.
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

/// Use of a block of a page.
enum Use {
    /// Commands of a console, which begin a session in this scene, or go on with it.
    Console(Option<String>),
    /// Text that the editor leaves in this file.
    File(String),
}

struct Block {
    what: Use,
    start: usize,
    end: usize,
}

/// The blocks of a page that are run, and the files that they want.
fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut mark: Option<&str> = None;
    let mut open: Option<(Use, usize)> = None;
    let mut inside = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end();
        if let Some((what, start)) = open.take_if(|_| plain == "```") {
            let end = at;
            found.push(Block { what, start, end });
            inside = false;
        } else if plain.starts_with("```") && !inside {
            inside = true;
            let start = at + line.len();
            let scene = mark.and_then(|mark| mark.strip_prefix("session: "));
            let file = mark.and_then(|mark| mark.strip_prefix("file: "));
            open = match (scene, file) {
                (Some(scene), _) => Some((Use::Console(Some(scene.to_owned())), start)),
                (_, Some(path)) => Some((Use::File(path.to_owned()), start)),
                _ if plain == "```console" => Some((Use::Console(None), start)),
                _ => None,
            };
        } else if plain == "```" {
            inside = false;
        }
        mark = plain
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        at += line.len();
    }
    found
}

/// Runs the commands of a block; gives the block as a terminal shows it.
fn run(s: &Sandbox, shown: &str) -> String {
    let mut real = String::new();
    for line in shown.lines().filter(|line| line.starts_with("$ ")) {
        let out = shell(s, &line[2..]);
        // A refusal, a check that says no, or something to wait for is an answer; nothing else that fails is shown.
        assert!(
            matches!(out.code, Some(0 | 1 | 6)),
            "{line} exited with {:?}: {}",
            out.code,
            out.stdout
        );
        // The folder of a person, not that of a test.
        let said = out
            .stdout
            .replace(&s.root().display().to_string(), "/home/ada");
        real.push_str(line);
        real.push('\n');
        if !said.trim().is_empty() {
            real.push_str(said.trim_end());
            real.push('\n');
        }
    }
    real
}

/// Runs a page from top to bottom, and blesses it where that is asked for.
fn play(name: &str) {
    let text = page(name);
    let blocks = blocks(&text);
    let files: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|block| match &block.what {
            Use::File(path) => Some((path.clone(), text[block.start..block.end].to_owned())),
            Use::Console(_) => None,
        })
        .collect();
    let bless = std::env::var_os("LOOPX_BLESS").is_some();
    let mut blessed = String::new();
    let mut kept = 0;
    let mut scene: Option<Sandbox> = None;
    for block in &blocks {
        let Use::Console(begins) = &block.what else {
            continue;
        };
        if let Some(scene_name) = begins {
            scene = Some(begin(scene_name, &files));
        }
        let s = scene
            .as_ref()
            .unwrap_or_else(|| panic!("{name}: a console before any session began"));
        let shown = &text[block.start..block.end];
        let real = run(s, shown);
        if !bless {
            assert_eq!(steady(shown), steady(&real), "{name}");
        }
        blessed.push_str(&text[kept..block.start]);
        // Milliseconds and the ids that come of them are no reason to write.
        let is_same = steady(shown) == steady(&real);
        blessed.push_str(if is_same { shown } else { &real });
        kept = block.end;
    }
    if let Some(s) = scene {
        for (path, _) in &files {
            let left = s
                .root()
                .join("edited")
                .join(path.trim_start_matches(".loopx/"));
            assert!(!left.exists(), "{name}: no command opens {path}");
        }
    }
    blessed.push_str(&text[kept..]);
    if bless && blessed != text {
        fs::write(root().join(name), blessed).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_readmes_sessions_are_what_a_terminal_shows() {
    play("README.md");
}

#[test]
fn the_sessions_of_the_docs_are_what_a_terminal_shows() {
    std::thread::scope(|scope| {
        for name in docs() {
            scope.spawn(move || play(&name));
        }
    });
}

#[test]
fn the_readme_is_one_page() {
    let lines = page("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_every_page_is_linked() {
    let readme = page("README.md");
    for name in docs() {
        assert!(
            readme.contains(&format!("]({name}")),
            "{name} is not linked"
        );
    }
    for name in docs().into_iter().chain(["README.md".to_owned()]) {
        let text = page(&name);
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap_or_default();
            let folder = root().join(&name);
            let folder = folder.parent().expect("a folder");
            let leads = file.is_empty() || file.contains("://") || folder.join(file).exists();
            assert!(leads, "{name} links to {link}");
        }
    }
}

/// The commands that a page names: what follows `git loopx` where that is typed, not spoken of.
fn commands_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("git loopx ") {
        let is_typed = ["`", "$ ", "&& ", "    ", "- ", "run: ", "next: ", "\n"]
            .iter()
            .any(|end| before.ends_with(end));
        let name: String = after
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '-')
            .collect();
        if is_typed && !name.is_empty() {
            found.push(name);
        }
        rest = after;
    }
    found
}

#[test]
fn every_command_that_a_page_names_exists() {
    let s = Sandbox::new();
    let pages = docs().into_iter().chain(["README.md".to_owned()]);
    let named = pages.flat_map(|name| commands_of(&page(&name)));
    // `help` is the parser's own, and takes names of commands alone.
    let named: std::collections::BTreeSet<String> = named.filter(|name| name != "help").collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        s.loopx(&[name.as_str(), "--help"]).ok();
    }
}

#[test]
fn the_policy_that_the_docs_show_is_the_default() {
    let name = "docs/policy.md";
    let text = page(name);
    let start = text.find("```toml\n").expect("a toml block") + "```toml\n".len();
    let end = start + text[start..].find("```").expect("its end");
    let policy = loopx_rules::policy::Policy::parse(&text[start..end], name).expect("a policy");
    assert_eq!(policy, loopx_rules::policy::Policy::default());
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
