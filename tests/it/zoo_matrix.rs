//! Every command on every animal of the repository zoo: it does there what it does in an ordinary
//! repository, or it refuses in one sentence and changes nothing (reference git-stores, section 6).
//!
//! [`STORY`] takes a session from build to its archive and calls every command on the way. What it gives
//! in an ordinary repository stands beside each call; an animal names only what is different there.

use crate::support::drive::{DELTA, RECORD, RITA};
use crate::support::zoo::{self, Animal};
use clap::CommandFactory;
use std::collections::BTreeSet;

/// A step of the story.
enum Step {
    /// A command, and its exit code in an ordinary repository.
    Call(&'static str, i32),
    /// A command of Rita, who wrote nothing, and its exit code.
    Rita(&'static str, i32),
    /// Judged, recorded, not passed: 1.
    Blocked(&'static str),
    /// The code is written and committed.
    Code,
    File(&'static str, &'static str),
}
use Step::{Blocked, Call, Code, File, Rita};

const STORY: &[Step] = &[
    Call("init", 0),
    Call("list", 0),
    Call("history", 0),
    Call("status", 0),
    Call("profile", 0),
    Call("show", 0),
    Call("log", 0),
    Call("diff", 0),
    Call("cat spec.md", 0),
    Call("config show", 0),
    Call("config schema", 0),
    Call("fsck", 0),
    Call("doctor", 0),
    Call("clean", 0),
    Call("spec list", 0),
    Call("spec show demo", 0),
    Call("spec drift", 0),
    Call("spec findings", 0),
    Call("spec coverage", 1),
    Call("spec package check", 4),
    Call("spec package matrix", 4),
    Call("spec package apply", 4),
    Call("spec package template epics", 0),
    Call("change validate", 0),
    Call("change diff", 0),
    Call("change overlap", 0),
    Call("change refresh", 1),
    Call("adr list", 0),
    Call("adr graph", 0),
    Call("adr check", 0),
    Call("adr show 1", 4),
    Call("rule list", 0),
    Call("rule load --stage build", 0),
    Call("rule check", 0),
    Call("rule facts", 0),
    Call("rule show nothing", 4),
    Call("rule import nowhere", 4),
    Call("rule add --dry-run One", 0),
    Call("rule init --dry-run", 0),
    Call("verify HEAD", 0),
    Call("signers check", 0),
    Call("agent install claude", 0),
    Call("agent status", 0),
    Call("agent skills", 0),
    Call("agent prompt analyst", 0),
    Call("agent prompt --check", 0),
    Call("agent uninstall claude", 0),
    Call("agent material", 0),
    Call("agent material --remove", 0),
    Call("agent-hook claude Stop", 0),
    Call("hooks status", 0),
    Call("hooks install", 0),
    Call("hook pre-commit", 0),
    Call("setup server nowhere", 4),
    Call("setup solo --dry-run", 0),
    Call("setup team --dry-run", 0),
    Call("setup strict --dry-run", 0),
    Call("setup clone --dry-run", 0),
    Call("checkout", 0),
    File(".loopx/demo/execution-record.md", RECORD),
    Call("save", 0),
    Call("put execution-record.md -", 0),
    Call("save", 5),
    Call("edit execution-record.md", 0),
    Call("start second --no-branch", 0),
    Call("-s second rebase --onto HEAD --reason moved", 5),
    Blocked("-s second clarify"),
    Call("-s second undo", 0),
    Call("-s second redo", 0),
    Call("-s second undo --to 1", 0),
    // The list of tasks is written in plan, and this session is not there yet.
    Call("-s second task add One", 1),
    Call("-s second task edit TASK-001 --title Two", 1),
    Call("-s second task move TASK-001 --last", 1),
    Call("-s second task domain add login", 1),
    Call("-s second task domain move login", 1),
    Call("-s second task domain list", 4),
    Call("-s second task conflicts", 4),
    Call("-s second task check", 4),
    Call("-s second task import nowhere", 4),
    Call("-s second task export", 4),
    Call("pipeline list", 0),
    Call("pipeline show spec-only", 0),
    Call("pipeline check", 0),
    Call("-s second pipeline start spec-only", 1),
    Call("pipeline status", 4),
    Call("pipeline ledger", 4),
    Call("pipeline retro", 4),
    Call("pipeline export ../results", 4),
    Call("-s second amend --reason later", 1),
    Call("-s second abandon", 0),
    Call("use demo", 5),
    Call("build --take-over --reason moved", 5),
    Call("agent park --reason later", 0),
    Call("agent resume", 0),
    Call("agent block --reason stuck", 0),
    Call("agent resume --reason unstuck", 0),
    Call("park --reason later", 0),
    Call("resume", 0),
    Call("block --reason stuck", 0),
    Call("resume --reason unstuck", 0),
    Code,
    Call("task list", 0),
    Call("take --peek", 0),
    Call("take", 0),
    Call("take VS-1", 6),
    Call("task show VS-1", 0),
    Call("task release", 0),
    Call("task skip VS-1 --reason later", 0),
    Call("task retry VS-1", 0),
    Call("take VS-1", 0),
    Call("task fail --reason flaky", 0),
    // A decision and a checkpoint are tasks of their kind.
    Call("task decide VS-1 --verdict proceed", 1),
    Call("task open VS-1 --reason seen", 1),
    Call("task graph", 0),
    Call("task waves", 0),
    Call("task outputs VS-1", 0),
    Call("task resources", 0),
    Call("point add here", 0),
    Call("point list", 0),
    Call("point back here", 0),
    Call("task retry VS-1", 0),
    Call("take", 0),
    Call("task done --trust", 0),
    Call("task log", 0),
    Call("take --full", 5),
    Call("run --task VS-1 --trust", 0),
    Call("build --report execution=complete", 0),
    Call("build", 0),
    Call("plan", 1),
    Call("next", 0),
    Call("approve --to review", 0),
    Call("review", 0),
    Rita("review --verdict approve", 0),
    Call("approve --to done", 0),
    Call("finish nobody", 4),
    Call("complete -- status", 0),
    Call("reopen", 2),
    Call("archive", 0),
    Call("verify main..HEAD", 0),
    Call("adr promote demo", 0),
    Call("adr accept 1", 0),
    Call("adr new Second", 0),
    Call("adr link 1 amends 1", 2),
    Call("adr supersede 1 2", 4),
    Call("adr renumber 1 7", 0),
    Call("adr index", 0),
    Call("import openspec openspec", 4),
    Call("import loopx nowhere", 4),
    Call("import maestro nowhere", 4),
    Call("import ccw nowhere", 4),
    Call("spec changelog", 1),
    Call("fsck --repair", 0),
    Call("rule propose", 0),
    Call("note list", 0),
    Call("note Seen --journal", 0),
    Call("note set q:k v --from q --journal", 0),
    Call("note get q:k --journal", 0),
    Call("note status --journal", 0),
    Call("note show 1 --journal", 0),
    Call("note import nowhere --journal", 4),
    File(
        "issues.jsonl",
        "{\"id\":\"lx-000000000a\",\"title\":\"A\",\"criteria\":[\"it works\"]}\n{\"id\":\"lx-0000000bbb\",\"title\":\"B\"}\n",
    ),
    Call("issue create --from issues.jsonl", 0),
    Call("issue list", 0),
    Call("issue ready", 0),
    Call("issue link 0000000b blocked-by lx-000000000a", 0),
    Call("issue graph", 0),
    Call("issue unlink 0000000b blocked-by lx-000000000a", 0),
    Call("issue edit 0000000b -p 0", 0),
    Call("issue comment 0000000b seen", 0),
    Call("issue tick 000000000a 1", 0),
    Call("issue untick 000000000a 1", 0),
    Call("issue take", 0),
    Call("issue release 0000000b", 0),
    Call("issue show 0000000b", 0),
    Call("issue resolve 000000000a --reason seen", 1),
    Call("issue close 0000000b --reason unwanted", 0),
    Call("issue reopen 0000000b", 0),
    Call("issue undo 0000000b", 0),
    Call("issue redo 0000000b", 0),
    Call("issue log 0000000b", 0),
    Call("issue diff --since 1d", 0),
    Call("issue board", 0),
    Call("issue stats", 0),
    Call("issue report", 0),
    Call("issue duplicates", 0),
    Call("issue export", 0),
    Call("issue import nowhere", 4),
    Call("issue solution add 0000000b So --task Do", 0),
    Call("issue solution list 0000000b", 0),
    Call("issue solution show 0000000b", 0),
    Call("issue solution audit 0000000b --solution s1", 0),
    Call(
        "issue solution score 0000000b --feasibility 90 --risk 90 --completeness 90",
        0,
    ),
    Call("issue solution bind 0000000b", 0),
    Call("issue queue form", 0),
    Call("issue queue show", 0),
    Call("issue queue next", 0),
    Call("issue queue fail 0000000b --reason red", 0),
    Call("issue queue retry 0000000b", 0),
    Call("issue solution unbind 0000000b", 0),
    Call("issue solution reject 0000000b s1 --reason unwanted", 0),
    Call("roadmap new Notes --mode direct --issue 0000000b", 0),
    Call("roadmap list", 0),
    Call("roadmap show", 0),
    Call("roadmap set 0000000b --phase 2", 0),
    Call("roadmap order", 5),
    Call("roadmap check", 0),
    Call("roadmap feedback approve", 0),
    Call("roadmap import nowhere", 4),
    Call("resolve", 0),
    Call("export demo -o demo.bundle", 0),
    Call("import bundle demo.bundle", 0),
    Call("redact --dry-run", 5),
    Call("sync nowhere", 4),
    File("one.md", "# one\n"),
    File("delta.md", DELTA),
    Call("spec parse one.md", 0),
    Call("spec validate specs/demo/spec.md", 0),
    Call("spec merge-file one.md one.md one.md", 0),
    Call(
        "spec merge-driver one.md one.md one.md specs/demo/spec.md",
        0,
    ),
    Call("spec apply --specs specs delta.md", 0),
    Call(
        "rule merge-driver one.md one.md one.md docs/rules/one.md",
        0,
    ),
    Call("spec install-driver", 0),
    Call("hooks uninstall", 0),
    Call("completions bash", 0),
    Call("man", 0),
    Call("note promote 1 --to rule --journal", 0),
    Call("note withdraw 1 --reason old --journal", 0),
];

/// Commands that are left out of the story, and why.
const APART: [(&str, &str); 1] = [("demo", "it makes a repository of its own")];

/// The paths of all commands that do something.
fn commands() -> BTreeSet<String> {
    fn walk(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        let mut is_leaf = true;
        for sub in command.get_subcommands() {
            if sub.get_name() != "help" {
                is_leaf = false;
                walk(sub, format!("{path} {}", sub.get_name()).trim(), found);
            }
        }
        if is_leaf {
            found.insert(path.to_owned());
        }
    }
    let mut found = BTreeSet::new();
    walk(&git_loopx::testing::Cli::command(), "", &mut found);
    found
}

/// The command line of a step, without the choice of a session.
fn line(step: &Step) -> Option<&'static str> {
    match step {
        Call(line, _) | Rita(line, _) | Blocked(line) => {
            Some(line.strip_prefix("-s second ").unwrap_or(line))
        }
        Code | File(..) => None,
    }
}

#[test]
fn no_command_is_left_out_of_the_story() {
    let lines: Vec<&str> = STORY.iter().filter_map(line).collect();
    let is_told = |command: &str| {
        let begins = |line: &&str| *line == command || line.starts_with(&format!("{command} "));
        lines.iter().any(begins)
    };
    let apart: Vec<&str> = APART.iter().map(|(command, _)| *command).collect();
    let forgotten: Vec<String> = commands()
        .into_iter()
        .filter(|command| !is_told(command) && !apart.contains(&command.as_str()))
        .collect();
    assert!(
        forgotten.is_empty(),
        "add a call of these to STORY: {forgotten:?}"
    );
}

/// Differences from an ordinary repository: the command line and the exit code.
type Different = &'static [(&'static str, i32)];

/// The animals on which every command that would write refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    Yes,
    Never,
}

#[track_caller]
fn tell(animal: &Animal, different: Different, writes: Writes) {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let mut before = animal.stand();
    for step in STORY {
        let (line, plain, by) = match *step {
            Call(line, code) => (line, code, None),
            Rita(line, code) => (line, code, Some(RITA)),
            Blocked(line) => (line, 1, None),
            File(path, text) => {
                animal.write(path, text);
                before = animal.stand();
                continue;
            }
            Code => {
                if writes == Writes::Yes {
                    animal.commit("src/demo.txt", "an end\n");
                    before = animal.stand();
                }
                continue;
            }
        };
        let args: Vec<&str> = line.split(' ').collect();
        let mut call = animal.loopx(&args).env("GIT_EDITOR", "true");
        call = call.stdin(format!("{RECORD}\nMore.\n"));
        if let Some((name, email)) = by {
            for role in ["AUTHOR", "COMMITTER"] {
                call = call.env(format!("GIT_{role}_NAME"), name);
                call = call.env(format!("GIT_{role}_EMAIL"), email);
            }
        }
        let out = call.run();
        let after = animal.stand();
        let expected = different.iter().find(|(other, _)| *other == line);
        used.extend(expected.map(|(line, _)| *line));
        let code = out.code.unwrap_or(-1);
        let is_known = match writes {
            Writes::Yes => code == expected.map_or(plain, |(_, code)| *code),
            Writes::Never if line.starts_with("start ") => matches!(code, 1 | 4),
            // Reading works as ever, or says why not.
            Writes::Never => (0..=6).contains(&code) || code == 129 && line.contains("-driver "),
        };
        let says_it_well = code == 0
            || (!out.stderr.is_empty() || !out.stdout.is_empty())
                && !["internal error", "panicked", "libgit2", "class=", "git_"]
                    .iter()
                    .any(|raw| out.stderr.contains(raw));
        let is_blocked = matches!(step, Blocked(_)) && writes == Writes::Yes;
        let is_as_it_was = match writes {
            Writes::Yes => code == 0 || is_blocked || after == before,
            // Some commands need no session, and write to the worktree alone.
            Writes::Never => after.is_stored_as(&before) && (code == 0 || after == before),
        };
        let changed = if is_as_it_was {
            ""
        } else {
            "\nand something changed"
        };
        if !is_known || !says_it_well || !changed.is_empty() {
            wrong.push(format!("expected {plain}{changed}: {out}"));
        }
        before = after;
    }
    for (line, _) in different {
        if !used.contains(line) {
            wrong.push(format!("`{line}` is not in the story"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

macro_rules! animals {
    ($($name:ident: $animal:expr, $different:expr;)*) => {
        $(
            #[test]
            fn $name() {
                tell(&$animal, $different, Writes::Yes);
            }
        )*
    };
}

/// The build was begun in another worktree, and is taken over.
const MOVED: Different = &[("build --take-over --reason moved", 0)];

/// The older texts of a session are not there, and none is handed on without them.
const SHALLOW: Different = &[
    ("build --take-over --reason moved", 0),
    ("export demo -o demo.bundle", 1),
    ("import bundle demo.bundle", 4),
];

/// Decision records are files, and `docs/adr` is not checked out.
const WITHOUT_DOCS: Different = &[
    ("adr accept 1", 4),
    ("adr link 1 amends 1", 4),
    ("adr renumber 1 7", 4),
];

/// Commands about files need a worktree; what follows from those is not ready.
const BARE: Different = &[
    ("setup solo --dry-run", 2),
    ("setup team --dry-run", 2),
    ("setup strict --dry-run", 2),
    ("setup clone --dry-run", 2),
    ("agent install claude", 2),
    ("agent status", 2),
    ("agent uninstall claude", 2),
    ("agent material", 2),
    ("agent material --remove", 2),
    ("checkout", 2),
    ("save", 5),
    ("put execution-record.md -", 2),
    ("edit execution-record.md", 2),
    ("-s second task add One", 2),
    ("-s second task edit TASK-001 --title Two", 2),
    ("-s second task move TASK-001 --last", 2),
    ("-s second task domain add login", 2),
    ("-s second task domain move login", 2),
    ("build --take-over --reason moved", 0),
    ("agent park --reason later", 1),
    ("agent resume", 5),
    ("park --reason later", 1),
    ("resume", 5),
    ("task done --trust", 2),
    ("point add here", 2),
    ("point back here", 2),
    ("take --full", 6),
    ("run --task VS-1 --trust", 2),
    ("build --report execution=complete", 2),
    ("build", 2),
    ("approve --to review", 1),
    ("review", 1),
    ("review --verdict approve", 1),
    ("approve --to done", 1),
    ("archive", 1),
    ("adr promote demo", 1),
    ("adr accept 1", 4),
    ("adr new Second", 2),
    ("adr link 1 amends 1", 4),
    ("adr renumber 1 7", 2),
    ("note promote 1 --to rule --journal", 2),
    ("issue create --from issues.jsonl", 4),
    ("issue link 0000000b blocked-by lx-000000000a", 4),
    ("issue unlink 0000000b blocked-by lx-000000000a", 4),
    ("issue edit 0000000b -p 0", 4),
    ("issue comment 0000000b seen", 4),
    ("issue tick 000000000a 1", 4),
    ("issue untick 000000000a 1", 4),
    ("issue take", 5),
    ("issue release 0000000b", 4),
    ("issue show 0000000b", 4),
    ("issue resolve 000000000a --reason seen", 4),
    ("issue close 0000000b --reason unwanted", 4),
    ("issue reopen 0000000b", 4),
    ("issue undo 0000000b", 4),
    ("issue redo 0000000b", 4),
    ("issue log 0000000b", 4),
    ("issue solution add 0000000b So --task Do", 4),
    ("issue solution list 0000000b", 4),
    ("issue solution show 0000000b", 4),
    ("issue solution audit 0000000b --solution s1", 4),
    (
        "issue solution score 0000000b --feasibility 90 --risk 90 --completeness 90",
        4,
    ),
    ("issue solution bind 0000000b", 4),
    ("issue queue form", 5),
    ("issue queue next", 5),
    ("issue queue fail 0000000b --reason red", 4),
    ("issue queue retry 0000000b", 4),
    ("issue solution unbind 0000000b", 4),
    ("issue solution reject 0000000b s1 --reason unwanted", 4),
    ("roadmap new Notes --mode direct --issue 0000000b", 4),
    ("roadmap show", 4),
    ("roadmap set 0000000b --phase 2", 4),
    ("roadmap order", 4),
    ("roadmap check", 4),
    ("roadmap feedback approve", 4),
    ("spec parse one.md", 4),
    ("spec validate specs/demo/spec.md", 4),
    ("spec merge-file one.md one.md one.md", 4),
    (
        "spec merge-driver one.md one.md one.md specs/demo/spec.md",
        129,
    ),
    ("spec apply --specs specs delta.md", 4),
    (
        "rule merge-driver one.md one.md one.md docs/rules/one.md",
        129,
    ),
    ("spec install-driver", 2),
    ("rule import nowhere", 2),
    ("rule add --dry-run One", 2),
    ("rule init --dry-run", 2),
];

/// Files are named from the current folder, which is not that of the worktree.
const ELSEWHERE: Different = &[
    ("issue create --from issues.jsonl", 4),
    ("issue link 0000000b blocked-by lx-000000000a", 4),
    ("issue unlink 0000000b blocked-by lx-000000000a", 4),
    ("issue edit 0000000b -p 0", 4),
    ("issue comment 0000000b seen", 4),
    ("issue tick 000000000a 1", 4),
    ("issue untick 000000000a 1", 4),
    ("issue take", 5),
    ("issue release 0000000b", 4),
    ("issue show 0000000b", 4),
    ("issue resolve 000000000a --reason seen", 4),
    ("issue close 0000000b --reason unwanted", 4),
    ("issue reopen 0000000b", 4),
    ("issue undo 0000000b", 4),
    ("issue redo 0000000b", 4),
    ("issue log 0000000b", 4),
    ("issue solution add 0000000b So --task Do", 4),
    ("issue solution list 0000000b", 4),
    ("issue solution show 0000000b", 4),
    ("issue solution audit 0000000b --solution s1", 4),
    (
        "issue solution score 0000000b --feasibility 90 --risk 90 --completeness 90",
        4,
    ),
    ("issue solution bind 0000000b", 4),
    ("issue queue form", 5),
    ("issue queue next", 5),
    ("issue queue fail 0000000b --reason red", 4),
    ("issue queue retry 0000000b", 4),
    ("issue solution unbind 0000000b", 4),
    ("issue solution reject 0000000b s1 --reason unwanted", 4),
    ("roadmap new Notes --mode direct --issue 0000000b", 4),
    ("roadmap show", 4),
    ("roadmap set 0000000b --phase 2", 4),
    ("roadmap order", 4),
    ("roadmap check", 4),
    ("roadmap feedback approve", 4),
    ("spec parse one.md", 4),
    ("spec validate specs/demo/spec.md", 4),
    ("spec merge-file one.md one.md one.md", 4),
    (
        "spec merge-driver one.md one.md one.md specs/demo/spec.md",
        129,
    ),
    ("spec apply --specs specs delta.md", 4),
    (
        "rule merge-driver one.md one.md one.md docs/rules/one.md",
        129,
    ),
];

animals! {
    an_ordinary_repository: zoo::plain(), &[];
    a_linked_worktree: zoo::linked_worktree(), MOVED;
    a_submodule: zoo::submodule(), MOVED;
    a_bare_repository: zoo::bare(), BARE;
    a_separate_git_dir: zoo::separate_git_dir(), &[];
    alternates: zoo::alternates(), MOVED;
    a_shallow_clone: zoo::shallow(), SHALLOW;
    a_clone_without_blobs: zoo::partial("--filter=blob:none"), MOVED;
    a_clone_without_trees: zoo::partial("--filter=tree:0"), MOVED;
    a_sparse_checkout: zoo::sparse_checkout("--no-sparse-index"), WITHOUT_DOCS;
    a_sparse_index: zoo::sparse_checkout("--sparse-index"), WITHOUT_DOCS;
    a_split_index: zoo::split_index(), &[];
    reftable: zoo::format(&["--ref-format=reftable"]), &[];
    sha256: zoo::format(&["--object-format=sha256"]), &[];
    reftable_and_sha256: zoo::format(&["--ref-format=reftable", "--object-format=sha256"]), &[];
    replaced_objects: zoo::replaced(), &[];
    odd_names: zoo::odd_names(), &[];
    a_branch_of_another_name: zoo::other_branch(), &[];
    extensions: zoo::extensions(), &[];
    an_environment_that_names_it: zoo::environment(), ELSEWHERE;
}

#[test]
fn another_owner() {
    if let Some(animal) = zoo::other_owner() {
        tell(&animal, &[], Writes::Yes);
    }
}

#[test]
fn a_pipeline() {
    tell(&zoo::pipeline(), &[], Writes::Never);
}

#[test]
fn nobody_may_write() {
    if let Some(animal) = zoo::read_only() {
        tell(&animal, &[], Writes::Never);
    }
}

#[test]
fn a_full_disk() {
    tell(&zoo::full_disk(), &[], Writes::Never);
}
