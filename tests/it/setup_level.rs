//! `setup solo|team|strict|clone`: the policy of a level, keys, the CI file and a clone that works by them; and the
//! road from an empty server to a strict landing, in the steps that docs/server.md counts.

use crate::support::drive::{Drive, RECORD, SPEC};
use crate::support::keys::{self, RITA, key, public};
use crate::support::{LOOPX, Output, Sandbox, landing};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A repository with one commit on `main`, and nothing of ours.
fn plain() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("src/a", "a\n", "first").ok();
    s
}

fn json(out: Output) -> Value {
    let document = out.json();
    out.ok();
    document
}

/// Gives somebody whose home this is a key.
fn give_key(s: &Sandbox, home: &Path, name: &str) {
    for end in ["", ".pub"] {
        let from = key(name).with_extension(end.trim_start_matches('.'));
        let to = home.join(format!(".ssh/id_ed25519{end}"));
        s.write(&to, fs::read(from).expect("a key"));
        s.chmod(&to, 0o600);
    }
}

fn fates(document: &Value) -> Vec<String> {
    let files = document["files"].as_array().expect("files").iter();
    files
        .map(|file| {
            let text = |key: &str| file[key].as_str().expect(key);
            format!("{} {}", text("path"), text("fate"))
        })
        .collect()
}

#[test]
fn a_level_is_written_once_and_nothing_is_committed() {
    let s = plain();
    let (head, before) = (s.git(&["rev-parse", "HEAD"]).line(), s.snapshot("."));
    let would = s.loopx(&["setup", "solo", "--dry-run"]).ok();
    assert!(
        would.contains("+++ b/loopx.toml") && would.contains("+protected = [\"main\"]"),
        "{would}"
    );
    assert!(s.snapshot(".") == before, "a dry run wrote");
    let done = json(s.loopx(&["--json", "setup", "solo"]));
    assert_eq!(fates(&done), ["loopx.toml written"]);
    assert_eq!(done["ci"], "none");
    let next = done["next_action"].as_str().expect("a command");
    assert_eq!(
        next,
        "git add :/loopx.toml && git commit -m 'Say what may land' -- :/loopx.toml"
    );
    assert_eq!(s.git(&["rev-parse", "HEAD"]).line(), head);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "?? loopx.toml\n");
    // The clone is wired: branch, hooks.
    assert_eq!(s.loopx(&["--json", "hooks", "status"]).json()["ok"], true);
    s.git(&["rev-parse", "--verify", "refs/heads/loopx"]).ok();
    let wired = s.snapshot(".");
    let again = json(s.loopx(&["--json", "setup", "solo"]));
    assert_eq!(again["changed"], false);
    assert!(s.snapshot(".") == wired, "the second time wrote");
    // What leads on works as it is typed.
    s.call("sh").args(&["-c", next]).run().ok();
    s.loopx(&["config", "show"]).ok();
}

#[test]
fn a_file_that_says_something_else_is_not_replaced_unasked() {
    let s = plain();
    s.write("loopx.toml", "[gates]\nprotected = [\"x\"]\n");
    s.write(".github/workflows/loopx.yml", "theirs\n");
    let before = s.snapshot(".");
    let args = ["--json", "setup", "team", "--ci", "github"];
    let refused = s.loopx(&args).fails_with(1).error_json();
    assert_eq!(refused["error"]["code"], "setup_file_differs");
    assert_eq!(
        refused["error"]["blockers"]
            .as_array()
            .expect("blockers")
            .len(),
        2
    );
    let shown = s.loopx(&["setup", "team", "--ci", "github", "-n"]).ok();
    assert!(
        shown.contains("-theirs") && shown.contains("-protected = [\"x\"]"),
        "{shown}"
    );
    assert!(s.snapshot(".") == before, "a refusal wrote");
    json(s.loopx(&[&args[..], &["--force"]].concat()));
    assert!(s.read("loopx.toml").contains("independence = \"require\""));
    assert!(
        s.read(".github/workflows/loopx.yml")
            .contains("git loopx verify --sessions")
    );
    // Where the policy that stands protects the branch, the next one is a session's to change.
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "policy"])
        .ok();
    let done = json(s.loopx(&["--json", "setup", "strict", "--force"]));
    let next = done["next_action"].as_str().expect("a command");
    assert!(next.starts_with("git loopx start "), "{next}");
}

#[test]
fn the_remote_says_whose_ci_file_is_written() {
    let s = plain();
    s.git(&[
        "remote",
        "add",
        "origin",
        "git@gitlab.example.org:ada/ward.git",
    ])
    .ok();
    s.git(&["config", "loopx.syncTimeout", "1"]).ok();
    // The branch is there already: nobody asks the remote, which is none.
    s.git(&["update-ref", "refs/remotes/origin/loopx", "HEAD"])
        .ok();
    let would = json(s.loopx(&["--json", "setup", "team", "-n"]));
    assert_eq!(would["ci"], "gitlab");
    assert!(fates(&would).contains(&".gitlab-ci.yml written".to_owned()));
    s.write(".gitlab-ci.yml", "build:\n  script: [make]\n");
    let would = json(s.loopx(&["--json", "setup", "team", "-n"]));
    assert!(fates(&would).contains(&".gitlab/loopx.yml written".to_owned()));
    let by_hand = would["by_hand"].to_string();
    assert!(
        by_hand.contains("include: [{ local: .gitlab/loopx.yml }]"),
        "{by_hand}"
    );
    let would = json(s.loopx(&["--json", "setup", "team", "-n", "--ci", "none"]));
    assert_eq!(fates(&would), ["loopx.toml written"]);
    s.loopx(&["setup", "team", "--ci", "other"]).fails_with(2);
}

#[test]
fn keys_are_found_where_git_would_and_added_beside_others() {
    let s = plain();
    let home = s.root().join("home");
    let said =
        |args: &[&str]| json(s.loopx(&[&["--json", "setup", "strict", "-n"], args].concat()));
    let warned = |document: &Value, text: &str| document["warnings"].to_string().contains(text);
    // None, one, two, and the one that git is set to.
    assert!(warned(&said(&[]), "no SSH key was found"));
    give_key(&s, &home, "ada");
    let one = said(&[]);
    let line = format!(
        "ada@example.org namespaces=\"loopx-approval,git\" {}\n",
        public("ada")
    );
    let after = |document: &Value| {
        document["files"][1]["after"]
            .as_str()
            .expect("signers")
            .to_owned()
    };
    assert!(after(&one).ends_with(&line), "{one:#}");
    assert!(warned(
        &one,
        "has the key of 1 person, and this policy needs 2"
    ));
    s.write(
        home.join(".ssh/other.pub"),
        format!("{} other\n", public("bob")),
    );
    assert!(warned(&said(&[]), "several SSH keys"));
    keys::use_key(&s, key("ada"));
    assert!(after(&said(&[])).ends_with(&line));
    s.git(&[
        "config",
        "user.signingKey",
        &format!("key::{}", public("bob")),
    ])
    .ok();
    assert!(after(&said(&[])).ends_with(&format!("{}\n", public("bob"))));
    s.git(&["config", "gpg.format", "openpgp"]).ok();
    assert!(warned(&said(&[]), "git signs by openpgp"));
    keys::use_key(&s, key("ada"));
    // Others by file; what is in the file stays, and is no reason to refuse.
    s.write("loopx.signers", keys::listed("bob@example.org", "", "bob"));
    let rita = format!(
        "rita@example.org={}",
        key("rita").with_extension("pub").display()
    );
    let both = said(&["--key", &rita]);
    assert!(after(&both).starts_with(&keys::listed("bob@example.org", "", "bob")));
    assert!(after(&both).contains(&format!(
        "rita@example.org namespaces=\"loopx-approval,git\" {}",
        public("rita")
    )));
    assert!(fates(&both).contains(&"loopx.signers added".to_owned()));
    assert!(!warned(&both, "this policy needs"));
    for wrong in ["rita", "*@example.org=x", "rita@example.org=/nowhere"] {
        s.loopx(&["setup", "strict", "--key", wrong]).fails_with(2);
    }
}

#[test]
fn a_clone_is_wired_for_the_policy_that_stands_and_what_leads_on_is_quoted() {
    let s = plain();
    give_key(&s, &s.root().join("home"), "ada");
    let policy = "[approve]\nsigned = [\"plan->build\"]\nsigners = \"keys; exit 9\"\n";
    s.commit_file("loopx.toml", policy, "policy").ok();
    let done = json(s.loopx(&["--json", "setup", "clone"]));
    assert_eq!(fates(&done), ["keys; exit 9 written"]);
    let get = |key: &str| s.git(&["config", "--local", key]).line();
    assert_eq!(get("gpg.format"), "ssh");
    assert!(get("user.signingKey").ends_with("/.ssh/id_ed25519.pub"));
    assert_eq!(get("loopx.sign"), "true");
    assert_eq!(s.read("loopx.toml"), policy);
    let next = done["next_action"].as_str().expect("a command");
    s.call("sh").args(&["-c", next]).run().ok();
    s.git(&["cat-file", "-e", "HEAD:keys; exit 9"]).ok();
    assert_eq!(
        json(s.loopx(&["--json", "setup", "clone"]))["changed"],
        false
    );
}

#[test]
fn a_bare_repository_has_no_worktree_to_set_up() {
    let s = plain();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    let out = s
        .loopx_in("../remote.git", &["--json", "setup", "team"])
        .fails_with(2);
    assert_eq!(out.error_json()["error"]["code"], "worktree_required");
}

/// Rita's own clone and home.
struct Rita<'a> {
    s: &'a Sandbox,
    dir: PathBuf,
    home: PathBuf,
}

impl Rita<'_> {
    fn runs(&self, program: &str, args: &[&str]) -> Output {
        let (name, email, _) = RITA;
        let call = self.s.call(program).cwd(&self.dir).args(args);
        call.env("HOME", &self.home)
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .run()
    }

    fn does(&self, args: &[&str]) {
        self.runs(LOOPX, args).ok();
    }
}

/// The steps of docs/server.md, and no other: five once, two for each person.
#[test]
fn from_an_empty_server_to_a_strict_landing_it_takes_five_steps_and_two_for_each_person() {
    let d = Drive::repository(None);
    let server = d.root().join("remote.git");
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["switch", "--quiet", "main"]).ok();
    let ada = |args: &[&str]| {
        let out = d.by(("Ada Author", "ada@example.org"), args);
        out.ok()
    };
    // For each person, 1: git-loopx, which is in PATH here, and a key.
    give_key(&d, &d.root().join("home"), "ada");
    let rita = Rita {
        s: &d,
        dir: d.root().join("rita"),
        home: d.root().join("rita-home"),
    };
    give_key(&d, &rita.home, "rita");
    // Once, 1: git-loopx and ssh-keygen on the server. 2:
    ada(&["setup", "server", "../remote.git"]);
    // Once, 3, and Ada's 2:
    let rita_key = format!(
        "rita@example.org={}",
        rita.home.join(".ssh/id_ed25519.pub").display()
    );
    ada(&["setup", "strict", "--key", &rita_key]);
    // Once, 4:
    d.git(&["add", "loopx.toml", "loopx.signers"]).ok();
    d.git(&["commit", "--quiet", "-m", "Say what may land"])
        .ok();
    d.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
    // Once, 5:
    ada(&["setup", "server", "--check", "../remote.git"]);
    // Rita's 2:
    d.git(&["clone", "--quiet", "../remote.git", "../rita"])
        .ok();
    rita.does(&["setup", "clone"]);
    assert_eq!(d.git_in(&rita.dir, &["status", "--porcelain"]).ok(), "");

    // What nobody reviewed stays out.
    d.git(&["switch", "--quiet", "--force-create", "demo", "main"])
        .ok();
    d.commit_file("src/evil", "evil\n", "evil").ok();
    let push = |what: &str| d.git(&["push", "--quiet", "--no-verify", "origin", what]);
    push("demo:main")
        .fails_with(1)
        .says("protected_without_session");
    d.git(&["reset", "--quiet", "--hard", "main"]).ok();
    // A session: each approval and verdict by key, two for the plan, a review by somebody else.
    ada(&["start", "Demo"]);
    d.edit("spec.md", SPEC);
    ada(&["clarify"]);
    ada(&["approve", "--to", "plan"]);
    ada(&["plan"]);
    d.fill_plan();
    ada(&["plan", "--architect", "approve"]);
    ada(&["plan", "--critic", "approve"]);
    ada(&["approve", "--to", "build"]);
    ada(&["sync"]);
    rita.does(&["sync"]);
    rita.does(&["-s", "demo", "approve", "--to", "build"]);
    rita.does(&["sync"]);
    ada(&["sync"]);
    ada(&["build"]);
    d.write("src/demo.txt", "an end\n");
    d.git(&["add", "src/demo.txt"]).ok();
    // The clone's settings sign a commit; those of the tests, which would not, are left out.
    d.call("git")
        .args(&["commit", "--quiet", "-m", "Give sessions an end"])
        .env("GIT_COMMITTER_NAME", "Ada Author")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_CONFIG_COUNT", "0")
        .run()
        .ok();
    d.edit("execution-record.md", RECORD);
    ada(&["run", "--task", "VS-1"]);
    ada(&["build", "--report", "execution=complete"]);
    ada(&["build"]);
    ada(&["approve", "--to", "review"]);
    ada(&["review"]);
    ada(&["sync"]);
    push("demo").ok();
    push("demo:main").fails_with(1).says("protected_not_done");
    rita.runs("git", &["fetch", "--quiet"]).ok();
    rita.runs("git", &["switch", "--quiet", "demo"]).ok();
    rita.does(&["sync"]);
    rita.does(&["run", "--task", "VS-1"]);
    rita.does(&["review", "--verdict", "approve"]);
    rita.does(&["approve", "--to", "done"]);
    rita.does(&["sync"]);
    push("demo:main").ok();
    let landed = d.git_in(&server, &["rev-parse", "main"]).line();
    assert_eq!(landed, d.git(&["rev-parse", "demo"]).line());
    ada(&["sync"]);
    ada(&["verify", "--sessions", "--onto", "main"]);
    ada(&["setup", "server", "--check", "../remote.git"]);
}

#[test]
fn set_up_without_a_key_or_a_name_leads_on_and_leaves_nothing_half_written() {
    let s = plain();
    // Nobody is nobody: no file is written.
    let nobody = |args: &[&str]| {
        let mut call = s.call(LOOPX).args(args);
        for name in [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ] {
            call = call.without_env(name);
        }
        call.run()
    };
    nobody(&["setup", "solo"]).fails_with(1);
    assert!(!s.exists("loopx.toml"));
    // Without a key git is not told to sign, or its own next command could not be typed.
    let done = json(s.loopx(&["--json", "setup", "strict"]));
    assert!(
        s.git(&["config", "commit.gpgsign"]).stdout.trim() != "true",
        "{done:#}"
    );
    // What an earlier run wrote and nobody committed is still named.
    give_key(&s, &s.root().join("home"), "ada");
    let again = json(s.loopx(&["--json", "setup", "strict"]));
    let next = again["next_action"].as_str().expect("a command");
    assert!(
        next.contains("loopx.toml") && next.contains("loopx.signers"),
        "{next}"
    );
}

#[test]
fn a_key_that_git_takes_for_another_kind_is_named_and_an_ssh_key_says_so() {
    let s = plain();
    let policy = "[approve]\nsigned = [\"plan->build\"]\n";
    s.commit_file("loopx.toml", policy, "policy").ok();
    give_key(&s, &s.root().join("home"), "ada");
    let get = |key: &str| s.git(&["config", "--get", key]).stdout.trim().to_owned();
    // What git takes for an OpenPGP key stays, and what is expected is said.
    s.git(&["config", "user.signingKey", "0xC0FFEE"]).ok();
    let done = json(s.loopx(&["--json", "setup", "clone"]));
    let warned = done["warnings"].to_string();
    for part in [
        "user.signingKey is `0xC0FFEE`",
        "gpg.format is not set",
        "git config gpg.format ssh && git config user.signingKey FILE",
    ] {
        assert!(warned.contains(part), "no `{part}` in {warned}");
    }
    assert_eq!(get("user.signingKey"), "0xC0FFEE");
    assert_eq!(get("gpg.format"), "");
    // A key that is an SSH key is used, and the format is set with a word.
    let public = key("bob").with_extension("pub");
    let file = public.to_str().expect("UTF-8");
    s.git(&["config", "user.signingKey", file]).ok();
    s.loopx(&["setup", "clone"])
        .says("gpg.format is ssh in this clone")
        .ok();
    assert_eq!(get("user.signingKey"), file);
    assert_eq!(get("gpg.format"), "ssh");
    assert!(s.read("loopx.signers").contains(&keys::public("bob")));
}

#[test]
fn in_a_repository_without_a_commit_the_policy_comes_first_and_then_a_branch() {
    let s = Sandbox::empty("repo");
    s.git(&["init", "--quiet", "--initial-branch=main"]).ok();
    let done = json(s.loopx(&["--json", "setup", "solo"]));
    let commit = done["next_action"].as_str().expect("a command").to_owned();
    let hint = |s: &Sandbox| {
        let said = s.loopx(&["--json", "status"]).fails_with(4).error_json();
        said["error"]["help"].as_str().expect("help").to_owned()
    };
    // A session that `main` held would stop every landing from the first commit on.
    let refused = s.loopx(&["--json", "start", "x"]).fails_with(1);
    assert_eq!(refused.error_json()["error"]["code"], "branch_protected");
    assert_eq!(hint(&s), commit);
    s.call("sh").args(&["-c", &commit]).run().ok();
    let (switch, start) = {
        let hint = hint(&s);
        let (switch, start) = hint.split_once(", then: ").expect("two commands");
        (switch.to_owned(), start.to_owned())
    };
    s.call("sh").args(&["-c", &switch]).run().ok();
    s.call("sh").args(&["-c", &start]).run().ok();
    // So says `setup`, too.
    let again = |s: &Sandbox| json(s.loopx(&["--json", "setup", "solo"]))["next_action"].clone();
    // The branch is that session's now, and takes no other.
    let next = again(&s).to_string();
    assert!(!next.contains("git loopx start"), "{next}");
    // The title that was typed is taken now.
    let start = "git loopx start \"Log failed logins\"";
    s.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(again(&s), format!("{switch}, then: {start}"));
}
#[test]
fn a_clone_that_was_told_no_default_branch_takes_the_one_that_there_is_or_that_is_protected() {
    for (policy, beside) in [("", false), ("[gates]\nprotected = [\"trunk\"]\n", true)] {
        let s = Sandbox::new();
        s.git(&["switch", "--quiet", "-c", "trunk"]).ok();
        s.write("loopx.toml", policy);
        s.write("src/old.rs", "old\n");
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
        s.git(&["remote", "add", "origin", "../remote.git"]).ok();
        s.git(&["push", "--quiet", "origin", "trunk", "loopx"]).ok();
        if beside {
            s.git(&["push", "--quiet", "origin", "trunk:refs/heads/beside"])
                .ok();
        }
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.git(&["branch", "--quiet", "-D", "trunk"]).ok();
        s.git(&["fetch", "--quiet"]).ok();
        let below = landing::make(&s, &[("src/below.rs", "below\n")], "below the start");
        s.loopx(&["start", "--quick", "--id", "it", "It"]).ok();
        landing::make(&s, &[("src/a.rs", "one\n")], "code");
        s.loopx(&["run", "--", "true"]).ok();
        s.loopx(&["approve", "--enter"]).ok();
        s.loopx(&["review", "--verdict", "approve"]).ok();
        let state = s.git(&["show", "loopx:sessions/it/state.json"]).json();
        let onto = &state["verdict"]["onto"];
        if beside {
            assert_eq!(onto, "trunk");
            s.loopx(&["review"]).says(&below[..10]);
        }
        let told = s.loopx(&["setup", "solo", "--dry-run"]);
        if !beside {
            told.says("target = \"trunk\"");
        }
    }
}
