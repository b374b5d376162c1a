//! Help: grouped, with examples that work, and where a wrong command line leads.

use crate::support::{LOOPX, Sandbox};
use clap::{CommandFactory, Parser};
use git_loopx::testing::{Cli, described};
use git_loopx::testing::{GROUPS, examples};
use std::collections::BTreeSet;
use std::path::Path;

fn words(line: &str) -> Vec<String> {
    shlex::split(line).expect(line)
}

fn parses(line: &str) -> bool {
    let args = ["git-loopx".to_owned()].into_iter().chain(words(line));
    match Cli::try_parse_from(args) {
        Ok(_) => true,
        Err(error) => error.kind() == clap::error::ErrorKind::DisplayHelp,
    }
}

/// Every command that people type, with what stands below it: `spec`, `spec apply`.
fn commands(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    for part in command.get_subcommands() {
        if part.is_hide_set() || part.get_name() == "help" {
            continue;
        }
        let path = format!("{path} {}", part.get_name()).trim().to_owned();
        commands(part, &path, found);
        found.push(path);
    }
}

fn all_commands() -> Vec<String> {
    let mut found = Vec::new();
    commands(&Cli::command(), "", &mut found);
    found
}

#[test]
fn every_command_ends_its_help_with_examples_that_the_parser_takes() {
    let wrong: Vec<&str> = examples().filter(|line| !parses(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut cli = described();
    for path in all_commands() {
        let mut at = &mut cli;
        for word in path.split(' ') {
            at = at.find_subcommand_mut(word).expect(&path);
        }
        for help in [at.render_help(), at.render_long_help()] {
            let help = help.to_string();
            let (_, shown) = help
                .split_once("\nExamples:\n")
                .unwrap_or_else(|| panic!("{path} has no example"));
            let shown: Vec<&str> = shown.trim_end().lines().collect();
            let begin = format!("  git loopx {path}");
            assert!(shown.len() <= 3, "{path}: {shown:?}");
            assert!(
                shown.iter().all(|line| line.starts_with(&begin)),
                "{path}: {shown:?}"
            );
        }
        let takes_words = at
            .get_arguments()
            .any(|arg| !arg.is_global_set() && arg.get_id() != "help");
        let own = examples()
            .filter(|line| format!("{line} ").starts_with(&format!("{path} ")))
            .count();
        assert!(
            own >= 2 || path.contains(' ') || !takes_words,
            "{path} has one example"
        );
    }
}

#[test]
fn every_command_stands_in_one_group_and_hidden_ones_in_none() {
    let grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, commands)| *commands)
        .copied()
        .collect();
    let set: BTreeSet<String> = grouped.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(set.len(), grouped.len(), "one stands twice");
    let mut wanted: BTreeSet<String> = all_commands()
        .into_iter()
        .filter(|path| !path.contains(' '))
        .collect();
    wanted.insert("help".to_owned());
    assert_eq!(set, wanted);

    let s = Sandbox::empty("nowhere");
    let all = s.loopx(&["help", "--all"]).ok();
    for word in all_commands().iter().flat_map(|path| path.split(' ')) {
        assert!(all.contains(word), "{word}\n{all}");
    }
    for hidden in [
        "  agent-hook",
        "  block",
        "  park",
        "  hook ",
        "  complete ",
    ] {
        assert!(
            !all.lines().any(|line| line.starts_with(hidden)),
            "{hidden}\n{all}"
        );
    }
    assert_eq!(all, s.loopx(&["help", "-a"]).ok());
}

#[test]
fn help_is_one_screen_and_its_topics_are_too() {
    let s = Sandbox::empty("nowhere");
    let wide =
        |columns: &str, args: &[&str]| s.call(LOOPX).env("COLUMNS", columns).args(args).run().ok();
    assert_eq!(
        wide("80", &["help"]),
        "Keep a change's workflow inside the repository that it changes.\n\n\
        begin    init  start  status  next\n\
        write    edit  diff  save\n\
        move     approve  run  review  finish  archive  undo\n\
        tasks    task list  take  task done\n\
        team     sync  list  verify\n\
        more     git loopx help --all\n\
        topics   git loopx help TOPIC: stages, profiles, specs, backlog, hooks, agents,\n         words, licenses, codes\n\n\
        git loopx start --quick \"Fix the typo in the login form\"\n\
        git loopx help start\n"
    );
    assert_eq!(wide("80", &["--help"]), wide("80", &["help"]));
    assert_eq!(wide("80", &["-h"]), wide("80", &["help"]));
    for line in wide("40", &["help"]).lines().take(13) {
        assert!(line.chars().count() <= 40, "{line}");
    }
    for topic in [
        "stages", "profiles", "specs", "backlog", "hooks", "agents", "words",
    ] {
        let said = wide("80", &["help", topic]);
        let own = said.split("\n\nUsage:").next().expect("a topic");
        assert!(own.lines().count() <= 40, "{topic}\n{said}");
        assert!(
            own.lines().all(|line| line.chars().count() <= 80),
            "{topic}\n{own}"
        );
        for line in own
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("git loopx "))
        {
            let command = line.split("  ").next().expect("a command");
            assert!(parses(command), "{topic}: {command}");
        }
        let document = s.loopx(&["--json", "help", topic]).json();
        assert_eq!(document["topic"], topic);
    }
    let hooks = wide("80", &["help", "hooks"]);
    assert!(
        hooks.contains("uninstall") && hooks.contains("  git loopx hooks install\n"),
        "{hooks}"
    );
}

#[test]
fn a_wrong_command_line_ends_in_the_help_of_its_command() {
    let s = Sandbox::new();
    let mut all = String::new();
    for (line, leads) in [
        ("approve --bogus", "help approve"),
        ("-s one approve --bogus", "help approve"),
        ("spec apply", "help spec apply"),
        ("spec aply", "help spec"),
        ("aprove", "help"),
        ("--bogus", "help"),
        ("st --bogus", "help status"),
        ("list --stage nowhere", "help list"),
    ] {
        let said = s.loopx(&words(line)).fails_with(2);
        all.push_str(&said.steady());
        all.push_str("\n\n");
        let text = &said.stderr;
        assert!(
            text.ends_with(&format!("\n\nhint: git loopx {leads}\n")),
            "{line}\n{text}"
        );
        assert!(!text.contains("--help"), "{line}\n{text}");
        assert!(parses(leads), "{leads}");
        let mut args = vec!["--json".to_owned()];
        args.extend(words(line));
        let document = s.loopx(&args).fails_with(2).error_json();
        assert_eq!(
            document["error"]["help"],
            format!("git loopx {leads}"),
            "{line}"
        );
    }
    insta::assert_snapshot!(all, @"
    $ git-loopx approve --bogus
    --- stderr
    error: expected an option of `approve`, found `--bogus`

    hint: git loopx help approve
    --- exit 2

    $ git-loopx -s one approve --bogus
    --- stderr
    error: expected an option of `approve`, found `--bogus`

    hint: git loopx help approve
    --- exit 2

    $ git-loopx spec apply
    --- stderr
    error: expected --specs DIR, DELTA of `spec apply`, found nothing

    hint: git loopx help spec apply
    --- exit 2

    $ git-loopx spec aply
    --- stderr
    error: expected a command of `spec`, found `aply`; the nearest is apply

    hint: git loopx help spec
    --- exit 2

    $ git-loopx aprove
    --- stderr
    error: expected a command, found `aprove`; the nearest is approve

    hint: git loopx help
    --- exit 2

    $ git-loopx --bogus
    --- stderr
    error: expected an option, found `--bogus`

    hint: git loopx help
    --- exit 2

    $ git-loopx st --bogus
    --- stderr
    error: expected an option of `status`, found `--bogus`

    hint: git loopx help status
    --- exit 2

    $ git-loopx list --stage nowhere
    --- stderr
    error: --stage STAGE: expected clarify, plan, build, review or done, found `nowhere`

    hint: git loopx help list
    --- exit 2
    ");
}

#[test]
fn the_help_of_a_command_says_what_it_does_and_what_it_takes() {
    let s = Sandbox::empty("nowhere");
    insta::assert_snapshot!(s.loopx(&["help", "start"]).steady(), @r#"
    $ git-loopx help start
    Start a session: one change, from its intent

    Usage: git loopx start [OPTIONS] [NAME]...

    Arguments:
      [NAME]...  What to change, in a few words; the session's id is made of them

    Options:
          --id <ID>          The session's id, instead of one made of the words
          --revert <COMMIT>  Take this commit back; git loopx writes the documents of the session
          --issue <ISSUE>    For this issue of the backlog: its title and text are the request; more of
                             them stand behind it
      -m, --message <TEXT>   The request as it was given
      -F, --file <FILE>      Read the request from a file (`-` for stdin)
          --profile <NAME>   The profile, with the stages and files of the session: quick, lite,
                             standard, deep, or one of loopx.toml
          --quick            One file, and no plan: the same as --profile quick
          --deep             Clarify thoroughly, ambiguity at most 0.1: the same as --profile deep
          --branch <BRANCH>  Bind this branch instead of the current one
          --no-branch        Bind the session to no branch
          --base <REVISION>  The commit that the change starts from (default: HEAD)

    Options of every command:
          --json          Print one JSON document instead of text
      -q, --quiet         Say nothing but what was asked for
      -v, --verbose       Say more: codes, and what rests on what
          --color <WHEN>  When to use colour [default: auto] [possible values: auto, always, never]
      -s, --session <ID>  The session (default: LOOPX_SESSION, else the session bound to this branch,
                          else the only active session)
      -h, --help          Print help

    Examples:
      git loopx start "Fix the timeout of the login form"
      git loopx start --quick "Fix the typo in the login form"
      git loopx start --profile standard move-sessions -F request.md
    --- exit 0
    "#);
    insta::assert_snapshot!(s.loopx(&["help", "approve"]).steady(), @r#"
    $ git-loopx help approve
    Approve a transition: the human gate

    Usage: git loopx approve [OPTIONS]

    Options:
          --to <STAGE>     The stage to go to (default: the one that comes next)
          --from <STAGE>   The stage that the session must be in
      -S, --sign           Sign the record with the key that git signs with (gpg.format ssh)
          --no-sign        Do not sign it, whatever loopx.sign says
          --reason <TEXT>  Why, for the record
          --enter          Go on at once: run the command of the stage that was approved (with --json
                           its document is printed)
          --show           Print what would be approved, and change nothing

    Options of every command:
          --json          Print one JSON document instead of text
      -q, --quiet         Say nothing but what was asked for
      -v, --verbose       Say more: codes, and what rests on what
          --color <WHEN>  When to use colour [default: auto] [possible values: auto, always, never]
      -s, --session <ID>  The session (default: LOOPX_SESSION, else the session bound to this branch,
                          else the only active session)
      -h, --help          Print help

    Examples:
      git loopx approve
      git loopx approve --show
      git loopx approve --to build --enter --reason "agreed with Rita"
    --- exit 0
    "#);
    insta::assert_snapshot!(s.loopx(&["run", "-h"]).steady(), @"
    $ git-loopx run -h
    Run a command and record it as evidence for the present code

    Usage: git loopx run [OPTIONS] [-- <COMMAND>...]

    Arguments:
      [COMMAND]...  The command and its arguments, after `--`

    Options:
          --all          Run every check that has no pass on the present code
          --task <ID>    The task that the run is evidence for; without COMMAND, the task's own check is
                         run
          --kind <KIND>  What kind of check it is: one word, like test, lint, build, regression
                         [default: test]
          --trust        Run a check that somebody else wrote: you have read the check, and are not
                         asked again for the same command
      -S, --sign         Sign the record with the key that git signs with (gpg.format ssh)
          --no-sign      Do not sign it, whatever loopx.sign says

    Options of every command:
          --json          Print one JSON document instead of text
      -q, --quiet         Say nothing but what was asked for
      -v, --verbose       Say more: codes, and what rests on what
          --color <WHEN>  When to use colour [default: auto] [possible values: auto, always, never]
      -s, --session <ID>  The session (default: LOOPX_SESSION, else the session bound to this branch,
                          else the only active session)
      -h, --help          Print help (see more with '--help')

    Examples:
      git loopx run
      git loopx run --task VS-1
      git loopx run -- cargo test
    --- exit 0
    ");
    insta::assert_snapshot!(s.loopx(&["help", "point"]).steady(), @"
    $ git-loopx help point
    Name a commit and the state of the session, and go back to both

    Usage: git loopx point [OPTIONS] <COMMAND>

    Commands:
      add   Name the commit that is checked out and the state of the session, to go back to both
      list  List the points of the session, oldest first [alias: ls]
      back  Go back to a point: the code by a new commit with what was there then, the session by an
            undo
      help  Print this message or the help of the given subcommand(s)

    Options of every command:
          --json          Print one JSON document instead of text
      -q, --quiet         Say nothing but what was asked for
      -v, --verbose       Say more: codes, and what rests on what
          --color <WHEN>  When to use colour [default: auto] [possible values: auto, always, never]
      -s, --session <ID>  The session (default: LOOPX_SESSION, else the session bound to this branch,
                          else the only active session)
      -h, --help          Print help

    Examples:
      git loopx point add before-the-move
      git loopx point list
      git loopx point back before-the-move
    --- exit 0
    ");
}

#[test]
fn the_options_of_every_command_stand_apart_from_its_own() {
    let s = Sandbox::empty("nowhere");
    let help = s.loopx(&["help", "approve"]).ok();
    let (own, everywhere) = help
        .split_once("\nOptions of every command:\n")
        .expect(&help);
    let (everywhere, _) = everywhere.split_once("\nExamples:\n").expect(&help);
    for option in ["--to <STAGE>", "--enter", "--show"] {
        assert!(
            own.contains(option) && !everywhere.contains(option),
            "{help}"
        );
    }
    for option in ["  --json  ", "--quiet", "--session <ID>", "--help"] {
        assert!(
            !own.contains(option) && everywhere.contains(option),
            "{help}"
        );
    }
}

#[test]
fn the_licences_name_each_library_in_the_version_that_is_linked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    let quoted = |line: &str, key: &str| {
        let value = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some(value.strip_suffix('"')?.to_owned())
    };
    let lock = read("Cargo.lock");
    let names = lock.lines().filter_map(|line| quoted(line, "name"));
    // The first `version` of the file is its own format, and stands unquoted.
    let versions = lock.lines().filter_map(|line| quoted(line, "version"));
    let locked: BTreeSet<(String, String)> = names.zip(versions).collect();
    let text = Sandbox::new().loopx(&["help", "licenses"]).ok();
    let rows = text.lines().filter_map(|line| {
        let (library, _) = line.strip_prefix("  ")?.split_once(": ")?;
        let (name, version) = library.split_once(' ')?;
        Some((name.to_owned(), version.to_owned()))
    });
    let rows: BTreeSet<_> = rows
        .filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let unknown: Vec<_> = rows.difference(&locked).collect();
    assert!(unknown.is_empty(), "run .ci/licenses: {unknown:?}");
    let manifest = read("Cargo.toml");
    let direct = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .expect("the table");
    let direct = direct.lines().take_while(|line| !line.starts_with('['));
    let direct = direct.filter_map(|line| line.split_once(" = "));
    // Only tests use these two, and our own crates have our own licence.
    let ours = |name: &str| name.starts_with("loopx-") || ["insta", "proptest"].contains(&name);
    let direct = direct
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('#') && !ours(name));
    for name in direct {
        assert!(
            rows.iter().any(|(row, _)| row == name),
            "run .ci/licenses: {name}"
        );
    }
}
