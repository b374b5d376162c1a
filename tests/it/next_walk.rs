//! Random sessions that are walked by typing what `next` says, with somebody who writes the files, and with mishaps
//! in between: failing runs, stale evidence, other branches, untracked files, reviews that ask for changes, undo. A
//! walk always arrives at the archive; nothing that it types is refused, and it never goes round in a circle. It walks
//! the whole way, as `standard` and `deep` ask for it, and the short ones of `lite` and `quick`.

use crate::support::Output;
use crate::support::drive::{Drive, ID, SLICES};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Ceremony of a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Road {
    Deep,
    Standard,
    Lite,
    Quick,
    /// A lite session whose list has each kind of task, in each stage that has some.
    Tasks,
}

const ROADS: [Road; 5] = [
    Road::Standard,
    Road::Deep,
    Road::Lite,
    Road::Quick,
    Road::Tasks,
];

const TASKS: &str = r#"{"id": "A", "title": "Do it", "convergence": {"criteria": ["it is there"], "verification": {"cmd": ["sh", "-c", "! grep -q broken src/demo.txt"]}}}
{"id": "B", "title": "Look", "depends_on": ["A"], "convergence": {"criteria": ["the page shows the end"], "verification": {"manual": "the page looks well"}}}
{"id": "R", "title": "Report", "depends_on": ["A"], "outputs": ["tasks/R/report.md"], "convergence": {"criteria": ["it is told"], "verification": {"cmd": ["true"]}}}
{"id": "C", "title": "Let it pass", "kind": "checkpoint", "depends_on": ["B", "R"]}
{"id": "D", "title": "Judge", "kind": "decision", "depends_on": ["C"], "gate": {"judges": ["R"]}}
{"id": "E", "title": "Read", "stage": "review", "convergence": {"criteria": ["somebody read it"], "verification": {"manual": "the change looks well"}}}
{"id": "F", "title": "Tell", "stage": "done", "convergence": {"criteria": ["people know"], "verification": {"manual": "the letter says so"}}}
"#;

/// The plan of a lite session, its delta, and its one task; the plan has what a session that is lifted asks for, too.
const LITE: [(&str, &str); 3] = [
    (
        "plan.md",
        "---\nscope: []\nacceptance_criteria_testable: true\nverification_steps_resolved: true\n---\n# Plan\n\n## Problem\n\nA.\n\n## Approach\n\nB.\n\n## Risks\n\nC.\n\n## Acceptance criteria\n\n- It is there.\n",
    ),
    (
        "change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: \"only words change\"\n---\n\n# Nothing that users see\n",
    ),
    (
        "tasks.jsonl",
        r#"{"id": "TASK-001", "title": "Do it", "convergence": {"criteria": ["it is there"], "verification": {"cmd": ["sh", "-c", "! grep -q broken src/demo.txt"]}}}
"#,
    ),
];

const BRIEF: &str = "# Demo\n\n## Why\n\nIt never ends.\n\n## What changes\n\nIt ends.\n\n## Checks\n\n- `sh -c '! grep -q broken src/demo.txt'`\n";

/// Mishaps that may happen on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mishap {
    Break,
    StrayRun,
    Untracked,
    Edit,
    Remove,
    Unreadable,
    Switch,
    Undo,
    Delegate,
    SendBack,
    Iterate,
    LateCommit,
    /// The target takes another policy, which is none for what is at work.
    Policy,
    /// The branch goes to a remote, and another clone says something there.
    Clone,
    /// Command typed by somebody that is not what comes next, and then what its refusal says.
    Astray,
    /// Task that somebody takes, gives up or lets go.
    Task,
}

const MISHAPS: [Mishap; 16] = [
    Mishap::Break,
    Mishap::StrayRun,
    Mishap::Untracked,
    Mishap::Edit,
    Mishap::Remove,
    Mishap::Unreadable,
    Mishap::Switch,
    Mishap::Undo,
    Mishap::Delegate,
    Mishap::SendBack,
    Mishap::Iterate,
    Mishap::LateCommit,
    Mishap::Policy,
    Mishap::Clone,
    Mishap::Astray,
    Mishap::Task,
];

/// Commands that somebody may type at any time.
const TYPED: [&str; 22] = [
    "approve",
    "approve --to plan",
    "approve --to build",
    "approve --to review",
    "approve --to done",
    "clarify",
    "plan",
    "plan --critic approve",
    "build",
    "build --verify",
    "review",
    "review --verdict approve",
    "finish --yes",
    "archive",
    "reopen --reason late",
    "run",
    "run --all",
    "run --task VS-1",
    "task list",
    "checkout",
    "resolve",
    "rebase --onto main --reason newer",
];

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

struct Walk {
    d: Drive,
    editor: String,
    dice: Dice,
    log: Vec<String>,
    /// Places where a command was typed: twice the same place is a circle.
    seen: BTreeSet<(String, String)>,
    versions: u32,
    road: Road,
}

/// Fills a file of the session from those that were written before, and changes what is full already.
const EDITOR: &str = r#"#!/bin/sh
case "$1" in
*/.loopx/demo/*)
    written="$WRITTEN/${1##*/.loopx/demo/}"
    if cmp -s "$written" "$1" || grep -q 'changed by the walk' "$1"; then
        case "$1" in
        *.json) printf '\n' >> "$1" ;;
        *.jsonl) printf '\n' >> "$1" ;;
        *) printf '\n<!-- changed by the walk -->\n' >> "$1" ;;
        esac
    else
        cp "$written" "$1"
    fi ;;
*) printf 'A change\n' > "$1" ;;
esac
"#;

/// The slice's check fails where the code says so.
fn slices() -> String {
    let check = r#""verification": ["sh", "-c", "! grep -q broken src/demo.txt"]"#;
    SLICES.replace(r#""verification": ["true"]"#, check)
}

/// The first command of a hint that can be typed as it is, with a reason where it wants one.
fn first_command(hint: &str) -> Option<String> {
    let from = hint.find("git loopx ")?;
    let rest = &hint[from..];
    // A command that stands within a sentence ends at its backtick.
    let ends = ["  ", ", or: ", ", then: ", "; then: ", "\n", "`"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    let command = rest[..end.unwrap_or(rest.len())].replace(" WHY", " because");
    let is_name = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
    // Behind `--` comes a command that only the reader knows.
    let is_whole = !command.ends_with(" --") && !command.split(' ').any(is_name);
    is_whole.then_some(command)
}

impl Road {
    /// The document that says what is done.
    fn document(self) -> &'static str {
        match self {
            Road::Deep | Road::Standard | Road::Lite | Road::Tasks => "plan.md",
            Road::Quick => "brief.md",
        }
    }

    /// Tells whether the road passes through every stage.
    fn is_whole(self) -> bool {
        matches!(self, Road::Standard | Road::Deep)
    }
}

impl Walk {
    fn new(seed: u64, road: Road) -> Self {
        let d = Drive::repository(None);
        let written = d.root().join("written");
        // What a lighter session is lifted for asks for the files of the whole way.
        let from = Drive::built();
        let top = from.path().join(".loopx").join(ID);
        for (path, _, bytes) in from.snapshot(&top) {
            d.write(written.join(path), bytes);
        }
        d.write(written.join("change/slices.json"), slices());
        match road {
            Road::Standard => {
                d.does(&["start", "Demo"]);
            }
            Road::Deep => {
                d.does(&["start", "--profile", "deep", "Demo"]);
            }
            Road::Lite | Road::Tasks => {
                d.loopx(&["start", "--profile", "lite", "Demo"]).ok();
                for (path, text) in LITE {
                    d.write(written.join(path), text);
                }
                if road == Road::Tasks {
                    d.write(written.join("tasks.jsonl"), TASKS);
                }
            }
            Road::Quick => {
                d.loopx(&["start", "--quick", "Demo"]).ok();
                d.write(written.join("brief.md"), BRIEF);
            }
        }
        d.write(
            written.join("review-report.md"),
            "# Review\n\n## Findings\n\nNone.\n",
        );
        let editor = d.root().join("editor.sh");
        let script = EDITOR.replace("$WRITTEN", written.to_str().expect("UTF-8"));
        d.script(&editor, &script);
        Walk {
            editor: editor.to_str().expect("UTF-8").to_owned(),
            d,
            dice: Dice(seed),
            log: vec![format!("seed {seed}, {road:?}")],
            road,
            seen: BTreeSet::new(),
            versions: 0,
        }
    }

    fn types(&self, command: &str) -> Output {
        let call = self.d.call("sh").args(&["-c", command]);
        call.env("GIT_EDITOR", &self.editor).run()
    }

    /// State of everything that a command could have changed.
    fn place(&self) -> String {
        let git = |args: &[&str]| self.d.git(args).stdout;
        let folder = self.d.path().join(".loopx");
        let files = if folder.is_dir() {
            format!("{:?}", self.d.snapshot(&folder))
        } else {
            String::new()
        };
        format!(
            "{}{}{}{}{files}",
            self.d.tip(),
            git(&["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]),
            git(&["status", "--porcelain", "--untracked-files=all"]),
            git(&["diff", "HEAD"]),
        )
    }

    fn code(&mut self, text: &str) {
        self.versions += 1;
        self.d
            .write("src/demo.txt", format!("{text} {}\n", self.versions));
    }

    /// Does what somebody does who reads the advice.
    fn heeds(&mut self, advice: &str) {
        self.log.push(format!("(writes: {advice})"));
        assert!(
            !advice.is_empty(),
            "neither a command nor advice: {:#?}",
            self.log
        );
        if advice.contains("choose between the marked sides") {
            self.chooses();
            return;
        }
        if let Some((path, _)) = advice
            .strip_prefix("write ")
            .and_then(|rest| rest.split_once(", which "))
        {
            self.d.write(path, "It is told.\n");
            return;
        }
        // What only a person can say.
        let words = ["record what you saw", "look at what ", "decide "];
        if words.iter().any(|words| advice.contains(words))
            && let Some(command) = first_command(&advice.replace("VERDICT", "proceed"))
        {
            self.log.push(format!("({command})"));
            let out = self.types(&command);
            assert_eq!(
                out.code,
                Some(0),
                "`{command}` after {:#?}\n{out}",
                self.log
            );
            return;
        }
        if advice.contains("run the command that shows") {
            let check = "! grep -q broken src/demo.txt";
            drop(self.d.loopx(&["run", "--", "sh", "-c", check]));
            return;
        }
        self.code("an end");
        if advice.contains("commit it") {
            drop(self.d.git(&["commit", "--quiet", "-a", "-m", "The code"]));
        }
    }

    /// Keeps both sides of each file that git left unmerged.
    fn chooses(&self) {
        let unmerged = self.d.git(&["diff", "--name-only", "--diff-filter=U"]).ok();
        for path in unmerged.lines() {
            let text = self.d.read(path);
            let is_marker = |line: &&str| {
                ["<<<<<<<", "|||||||", "=======", ">>>>>>>"]
                    .iter()
                    .any(|mark| line.starts_with(mark))
            };
            let kept: Vec<&str> = text.lines().filter(|line| !is_marker(line)).collect();
            self.d.write(path, kept.join("\n"));
        }
    }

    fn mishap(&mut self) {
        if std::env::var_os("LOOPX_ASTRAY").is_some() {
            self.astray();
            self.seen.clear();
            return;
        }
        let mishap = MISHAPS[self.dice.roll(MISHAPS.len())];
        let loopx = |args: &[&str]| drop(self.d.loopx(args));
        match mishap {
            Mishap::Break => self.code("broken"),
            Mishap::StrayRun => loopx(&["run", "--", "false"]),
            Mishap::Untracked => self
                .d
                .write(format!("note-{}.txt", self.log.len()), "a note\n"),
            Mishap::Edit => {
                let file = self.file(self.road.document());
                if self.d.exists(&file) {
                    drop(self.types(&format!("{} {file}", self.editor)));
                }
            }
            Mishap::Remove => {
                let file = match self.road {
                    Road::Deep | Road::Standard => "change/design.md",
                    Road::Lite | Road::Tasks => "tasks.jsonl",
                    Road::Quick => "brief.md",
                };
                drop(std::fs::remove_file(self.file(file)));
            }
            Mishap::Unreadable if self.d.exists(self.file("plan.md")) => {
                self.d.write(self.file("plan.md"), "---\nscope: [\n---\n");
            }
            Mishap::Unreadable if self.road == Road::Quick => {}
            Mishap::Unreadable => self
                .d
                .write(self.file("spec.md"), "---\ncurrent_round: 3x\n---\n"),
            Mishap::Switch => drop(self.d.git(&["switch", "--quiet", "main"])),
            Mishap::Undo => loopx(&["undo"]),
            Mishap::Delegate if !self.road.is_whole() => {}
            Mishap::Delegate => loopx(&["build", "--delegate", "worker-a=active"]),
            Mishap::SendBack => {
                let target = ["build", "plan", "clarify"][self.dice.roll(3)];
                let back = [
                    "review",
                    "--verdict",
                    "request-changes",
                    "--target",
                    target,
                    "--reason",
                    "no",
                ];
                drop(self.d.loopx(&back));
            }
            Mishap::Iterate => loopx(&["plan", "--critic", "iterate", "--finding", "too long"]),
            Mishap::Astray => self.astray(),
            Mishap::Task => {
                let all: [&[&str]; 4] = [
                    &["take"],
                    &["task", "fail", "--reason", "no"],
                    &["task", "release"],
                    &["take", "R"],
                ];
                loopx(all[self.dice.roll(all.len())]);
            }
            Mishap::Policy => self.policy(),
            Mishap::Clone => self.clone_says(),
            Mishap::LateCommit => {
                self.code("late");
                let commit = ["commit", "--quiet", "--no-verify", "-a", "-m", "late"];
                drop(self.d.git(&commit));
            }
        }
        self.log.push(format!("[{mishap:?}]"));
        // The same mishap may come twice, and leads to the same place.
        self.seen.clear();
    }

    /// Commits another policy on `main`, beside the worktree.
    fn policy(&mut self) {
        self.versions += 1;
        let top = self.d.root().join(format!("policy-{}", self.versions));
        let top = top.to_str().expect("UTF-8");
        let git = |args: &[&str]| drop(self.d.git(args));
        git(&["worktree", "add", "--quiet", "--detach", top, "main"]);
        let text = format!("# {}\n[gates]\nout_of_scope = \"warn\"\n", self.versions);
        self.d.write(Path::new(top).join("loopx.toml"), text);
        git(&["-C", top, "add", "loopx.toml"]);
        git(&[
            "-C",
            top,
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            "policy",
        ]);
        git(&["-C", top, "push", "--quiet", ".", "HEAD:main"]);
        git(&["worktree", "remove", "--force", top]);
    }

    /// Writes a note in another clone, and sends it.
    fn clone_says(&mut self) {
        self.versions += 1;
        let remote = self.d.root().join("remote.git");
        let clone = self.d.root().join(format!("clone-{}", self.versions));
        let (remote, clone) = (
            remote.to_str().expect("UTF-8"),
            clone.to_str().expect("UTF-8"),
        );
        if !Path::new(remote).exists() {
            self.d.git(&["init", "--quiet", "--bare", remote]).ok();
            self.d.git(&["remote", "add", "origin", remote]).ok();
        }
        drop(self.d.loopx(&["sync", "origin"]));
        drop(self.d.git(&["clone", "--quiet", remote, clone]));
        drop(self.d.loopx_in(clone, &["init"]));
        drop(
            self.d
                .loopx_in(clone, &["-s", ID, "note", "the clock is wrong"]),
        );
        drop(self.d.loopx_in(clone, &["sync", "origin"]));
        drop(self.d.git(&["fetch", "--quiet", "origin"]));
    }

    /// Types what a refusal says, and what the refusal of that says: it leads somewhere, or to somebody else.
    fn astray(&mut self) {
        let mut typed = format!("git loopx -s {ID} {}", TYPED[self.dice.roll(TYPED.len())]);
        let mut before = Vec::new();
        loop {
            let out = self.types(&typed.replacen("git loopx", "git loopx --json", 1));
            self.log.push(format!("{{{typed}}}"));
            if out.code == Some(0) {
                return;
            }
            // A command that did something, and found more to do, is no refusal.
            let Ok(document) = serde_json::from_str::<Value>(&out.stderr) else {
                let is_done = serde_json::from_str::<Value>(&out.stdout).is_ok();
                assert!(is_done || typed.contains(" run -- "), "`{typed}`: {out}");
                return;
            };
            let error = &document["error"];
            let said = error["help"].as_str().unwrap_or_default();
            let bad = matches!(out.code, Some(70 | 101) | None)
                || !before.is_empty() && matches!(out.code, Some(2 | 4));
            assert!(
                !bad && !before.contains(&typed),
                "`{typed}` leads nowhere: {:#?}\n{out}",
                self.log
            );
            before.push(typed);
            let Some(next) = first_command(said) else {
                return;
            };
            typed = next;
        }
    }

    fn file(&self, artifact: &str) -> String {
        let path = self.d.path().join(".loopx").join(ID).join(artifact);
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Takes the next step, and tells whether the session was archived.
    fn step(&mut self) -> bool {
        let out = self.d.loopx(&["--json", "-s", ID, "status"]);
        assert_eq!(out.code, Some(0), "{:#?}\n{out}", self.log);
        let status: Value = out.json();
        let advice = status["advice"].as_str().unwrap_or_default();
        let Some(next) = status["next_action"].as_str() else {
            if status["ending"]["how"] == "archived" {
                return true;
            }
            assert!(status["waits"].is_null(), "{:#?}\n{status:#}", self.log);
            self.heeds(advice);
            return false;
        };
        if advice.contains("mend it") {
            self.heeds(advice);
            return false;
        }
        assert!(!next.contains("git loopx status"), "{next}");
        let places = ["WHY", "COMMAND", "SLICE", "NAME", "SUMMARY"];
        assert!(
            next.split(' ').all(|word| !places.contains(&word)),
            "{next}"
        );
        let place = (self.place(), next.to_owned());
        assert!(
            self.seen.insert(place),
            "a circle at `{next}`: {:#?}\n{status:#}",
            self.log
        );
        let out = self.types(next);
        // A check says that the code is broken: that is recorded, and refused by nobody.
        let is_broken = self.d.read("src/demo.txt").contains("broken");
        let is_check = next.contains(" run ") || next.contains(" task done ");
        let is_told = is_broken && is_check && out.code == Some(1);
        // git says that a merge stopped: what it left is chosen between next.
        let is_stopped = next.starts_with("git merge ") && out.stdout.contains("CONFLICT");
        let head = &status["blockers"];
        assert!(
            out.code == Some(0) || is_told || is_stopped,
            "`{next}` after {:#?}\n{out}\n{head:#}",
            self.log
        );
        self.log.push(next.to_owned());
        false
    }

    fn walk(mut self, mishaps: usize) {
        let mut left = mishaps;
        for _ in 0..200 {
            if self.step() {
                return;
            }
            if left > 0 && self.dice.roll(3) == 0 {
                left -= 1;
                self.mishap();
            }
        }
        panic!("no end in sight: {:#?}", self.log);
    }
}

#[test]
fn t9_u12_whoever_types_what_is_next_arrives() {
    let many = std::env::var_os("LOOPX_STRESS").is_some_and(|value| value == "1");
    let first = std::env::var("LOOPX_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let is_one = first.is_some();
    let (first, walks) = first.map_or((1, if many { 200 } else { 2 }), |seed| (seed, 1));
    let road = std::env::var("LOOPX_ROAD").unwrap_or_default();
    for road in ROADS
        .into_iter()
        .filter(|one| road.is_empty() || format!("{one:?}") == road)
    {
        for seed in first..first + walks {
            // The walk without a mishap is one for all roads, where there is little time.
            if seed == 1 && road != Road::Standard && !many && !is_one {
                continue;
            }
            Walk::new(seed, road).walk(if seed == 1 { 0 } else { 8 });
        }
    }
}
