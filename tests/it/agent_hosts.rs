//! Habits of real clients that no description names (findings H1 to H8): sub-agents that speak under their own name,
//! prompts that are our own words, clients that are started again.

use crate::support::agent::{document, hook, pre_tool, stop, stop_input};
use crate::support::drive::{Drive, ID};
use crate::support::landing::{self, PROTECTED, SQUASH, done, make, push, squash, would_land};
use crate::support::session::{at, begin, started};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::path::Path;

/// A golden payload, for this repository.
fn payload(d: &Drive, host: &str, name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/agent")
        .join(host)
        .join(format!("{name}-in.json"));
    let text = std::fs::read_to_string(file).expect("a payload");
    let text = text.replace("@REPO@", d.path().to_str().expect("UTF-8"));
    serde_json::from_str(&text).expect("JSON")
}

/// Makes a call of a host; gives what it is told.
#[track_caller]
fn call(d: &Drive, host: &str, event: &str, input: &Value) -> Option<Value> {
    hook(d, host, event, input.to_string().as_bytes()).filter(|said| *said != json!({}))
}

/// The reason of a block, whatever the host calls it.
fn reason(said: Option<Value>) -> Option<String> {
    let said = said?;
    let reason = said
        .get("reason")
        .or_else(|| said.get("followup_message"))?;
    reason.as_str().map(str::to_owned)
}

fn owner(d: &Drive) -> Value {
    d.state()["build"]["claim"]["agent"].clone()
}

fn work(d: &Drive, n: usize) {
    d.write("src/demo.txt", format!("step {n}\n"));
}

#[test]
fn h1_a_sub_agent_of_copilot_is_not_held_and_owns_nothing() {
    let d = Drive::building();
    let before = d.events();
    let sub = |name: &str| {
        let event = name.split('.').next().expect("an event");
        call(&d, "copilot", event, &payload(&d, "copilot", name))
    };
    for _ in 0..3 {
        assert_eq!(sub("userPromptSubmitted.subagent"), None);
        assert_eq!(sub("agentStop.subagent"), None);
        assert_eq!(sub("subagentStop"), None);
    }
    assert_eq!(d.events(), before, "something was recorded");
    // The main agent is held, and is the owner.
    let mut main = payload(&d, "copilot", "agentStop");
    main["sessionId"] = payload(&d, "copilot", "subagentStop")["sessionId"].clone();
    assert!(reason(call(&d, "copilot", "agentStop", &main)).is_some());
    assert_eq!(owner(&d), main["sessionId"]);
    // What a sub-agent types is the main agent's step, and judged like it.
    let refused = sub("preToolUse.subagent").expect("a refusal");
    assert_eq!(refused["permissionDecision"], "deny");
    let mut step = payload(&d, "copilot", "preToolUse.subagent");
    step["toolArgs"] = json!({"command": "git loopx run --task VS-1"})
        .to_string()
        .into();
    assert_eq!(call(&d, "copilot", "preToolUse", &step), None);
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(owner(&d), main["sessionId"]);
    assert!(reason(call(&d, "copilot", "agentStop", &main)).is_some());
}

#[test]
fn h2_a_prompt_that_is_our_own_text_is_no_person() {
    for (host, stop, prompt) in [
        ("gemini", "AfterAgent", "BeforeAgent"),
        ("copilot", "agentStop", "userPromptSubmitted"),
        ("cursor", "stop", "beforeSubmitPrompt"),
    ] {
        let d = Drive::building();
        let input = payload(&d, host, stop);
        let mut said = payload(&d, host, prompt);
        for name in ["session_id", "sessionId", "conversation_id"] {
            if let Some(id) = input.get(name) {
                said[name] = id.clone();
            }
        }
        for n in 0..5 {
            work(&d, n);
            let text = reason(call(&d, host, stop, &input)).expect(host);
            assert!(text.contains(&format!("({} of at most 5", n + 1)), "{text}");
            said["prompt"] = text.into();
            assert_eq!(call(&d, host, prompt, &said), None, "{host}");
        }
        work(&d, 5);
        assert_eq!(reason(call(&d, host, stop, &input)), None, "{host}");
        assert_eq!(d.state()["build"]["blocked"]["cause"], "exhausted");
        // A person's word is one.
        d.does(&["agent", "resume"]);
        work(&d, 6);
        assert!(reason(call(&d, host, stop, &input)).is_some(), "{host}");
        said["prompt"] = "Go on.".into();
        call(&d, host, prompt, &said);
        work(&d, 7);
        let text = reason(call(&d, host, stop, &input)).expect(host);
        assert!(text.contains("(1 of at most 5"), "{text}");
    }
}

#[test]
fn h2_the_golden_continuations_are_what_we_say_today() {
    for (host, stop, prompt) in [
        ("gemini", "AfterAgent", "BeforeAgent.continuation"),
        ("copilot", "agentStop", "userPromptSubmitted.continuation"),
    ] {
        let d = Drive::building();
        let said = reason(call(&d, host, stop, &payload(&d, host, stop)));
        assert_eq!(json!(said), payload(&d, host, prompt)["prompt"], "{host}");
    }
}

#[test]
fn h3_what_codex_tells_a_sub_agent_begins_no_new_row() {
    let d = Drive::building();
    let prompt = payload(&d, "codex", "UserPromptSubmit.subagent");
    let mut input = payload(&d, "codex", "Stop");
    input["session_id"] = prompt["session_id"].clone();
    for n in 0..5 {
        work(&d, n);
        let text = reason(call(&d, "codex", "Stop", &input)).expect("a block");
        assert!(text.contains(&format!("({} of at most 5", n + 1)), "{text}");
        assert_eq!(call(&d, "codex", "UserPromptSubmit", &prompt), None);
    }
    work(&d, 5);
    assert_eq!(reason(call(&d, "codex", "Stop", &input)), None);
    assert_eq!(d.state()["build"]["blocked"]["cause"], "exhausted");
}

#[test]
fn h4_a_client_that_is_started_again_is_held_from_its_first_build_step() {
    let d = Drive::building();
    assert!(stop(&d, "first").is_some());
    assert_eq!(owner(&d), "first");
    assert_eq!(stop(&d, "second"), None, "it may only have looked");
    assert_eq!(
        pre_tool(&d, "second", "git loopx -s demo run --task VS-1"),
        None
    );
    d.does(&["-s", ID, "run", "--task", "VS-1"]);
    let claim = d.state()["build"]["claim"].clone();
    assert_eq!(claim["agent"], "second", "renewed under a dead name");
    assert_eq!(claim["over"]["agent"], "first");
    assert!(stop(&d, "second").is_some());
    assert_eq!(stop(&d, "first"), None, "it is gone");
    d.loopx(&["status"]).says("agent session second").ok();
    // A step that was refused shows who works, too.
    let before = d.events().len();
    pre_tool(&d, "third", "git loopx build --report nonsense");
    assert!(stop(&d, "third").is_some());
    assert_eq!(owner(&d), "third");
    assert_eq!(d.events().len(), before + 1);
}

#[test]
fn h4_a_person_takes_the_build_from_an_agent_of_the_same_worktree() {
    let d = Drive::building();
    pre_tool(&d, "first", "git loopx run --task VS-1");
    assert!(stop(&d, "first").is_some());
    let done = d.does(&["build", "--take-over", "--reason", "it crashed"]);
    assert!(done["claim"]["agent"].is_null(), "{done:#}");
    assert_eq!(done["claim"]["over"]["agent"], "first");
    d.fails(5, &["build", "--take-over", "--reason", "again"])
        .is("build_is_yours", &[]);
    assert!(stop(&d, "second").is_some());
    assert_eq!(stop(&d, "first"), None);
    // An agent may say so itself.
    d.call(LOOPX)
        .args(&["build", "--take-over", "--reason", "started again"])
        .env("LOOPX_AGENT_SESSION", "third")
        .run()
        .ok();
    assert_eq!(owner(&d), "third");
}

#[test]
fn h5_install_and_status_say_where_a_client_has_to_be_started() {
    let s = Sandbox::new();
    s.commit_file("src/a.txt", "a\n", "a").ok();
    let top = s.path().canonicalize().expect("the worktree");
    let below = s.path().join("src");
    let wanted = |title: &str| format!("start {title} in {}: ", top.display());
    for (host, title) in [("claude", "Claude Code"), ("gemini", "Gemini CLI")] {
        let status = s.loopx_in(&below, &["agent", "status"]);
        assert!(!status.stdout.contains(&wanted(title)), "{status}");
        let installed = s.loopx_in(&below, &["agent", "install", host]);
        installed.says(&wanted(title)).ok();
        s.loopx_in(&below, &["agent", "status"])
            .says(&wanted(title))
            .ok();
    }
    s.loopx(&["agent", "install", "codex"]).ok();
    let status = s.loopx_in(&below, &["--json", "agent", "status"]).json();
    for row in status["hosts"].as_array().expect("hosts") {
        let is_named = row["host"] == "claude" || row["host"] == "gemini";
        assert_eq!(row["note"].is_string(), is_named, "{row}");
    }
}

#[test]
fn h6_the_person_hears_from_the_host_that_an_agent_was_let_go() {
    for (host, event) in [
        ("claude", "Stop"),
        ("codex", "Stop"),
        ("gemini", "AfterAgent"),
    ] {
        let d = Drive::building();
        let input = payload(&d, host, event);
        for _ in 0..2 {
            assert!(reason(call(&d, host, event, &input)).is_some());
        }
        let said = call(&d, host, event, &input).expect("a word");
        let text = said["systemMessage"].as_str().expect("a text");
        assert!(text.contains("demo is not ready for review"), "{text}");
        assert!(text.contains("blocked:no-progress"), "{text}");
        assert_eq!(said.as_object().map(serde_json::Map::len), Some(1));
        // Once: it is recorded now.
        assert_eq!(call(&d, host, event, &input), None, "{host}");
    }
}

const HOSTS: [&str; 5] = ["claude", "codex", "cursor", "copilot", "gemini"];

/// Wires every host, and adds what was written for it to the index.
fn wire(s: &Sandbox) {
    for host in HOSTS {
        s.loopx(&["agent", "install", host]).ok();
    }
    s.loopx(&["agent", "material"]).ok();
}

#[test]
fn h7_our_own_files_are_committed_in_every_stage_and_in_no_scope() {
    let kept = |s: &Sandbox| {
        wire(s);
        s.git(&["add", "--all"]).ok();
        let out = s.git(&["commit", "--quiet", "-m", "Wire the agents"]);
        assert_eq!(out.stderr, "", "{out}");
        out.ok();
        s.loopx(&["verify", "main..HEAD"]).ok();
    };
    let clarifying = started("");
    kept(&clarifying);
    // Beside ours it is code like any other.
    clarifying.write(".claude/settings.local.json", "{}\n");
    clarifying.git(&["add", "--all"]).ok();
    clarifying
        .git(&["commit", "--quiet", "-m", "x"])
        .fails_with(1)
        .says(".claude/settings.local.json");
    kept(&at(
        "build",
        "\"src/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    ));
}

#[test]
fn h7_our_own_files_are_no_uncommitted_work_to_a_review() {
    let d = Drive::built();
    d.does(&["approve", "--to", "review"]);
    for host in HOSTS {
        d.loopx(&["agent", "install", host]).ok();
    }
    d.does(&["review"]);
    d.verdict(&["--verdict", "approve"]);
    let tree = d.git(&["rev-parse", "HEAD^{tree}"]).line();
    let recorded = d.state().to_string();
    assert!(recorded.contains(&tree), "a tree that no commit has");
    // A change of one that is tracked is none either; a file beside it is.
    let e = Drive::built();
    e.loopx(&["agent", "install", "claude"]).ok();
    e.git(&["add", ".claude"]).ok();
    e.git(&["commit", "--quiet", "-m", "Wire Claude Code"]).ok();
    e.does(&["run", "--task", "VS-1"]);
    e.does(&["build", "--report", "execution=complete"]);
    e.does(&["approve", "--to", "review"]);
    e.does(&["review"]);
    let wired = e.read(".claude/settings.json");
    e.write(".claude/settings.json", format!("{wired}\n"));
    e.write(".claude/notes.txt", "mine\n");
    let refused = e.verdict_by(("Rita", "rita@example.org"), &["--verdict", "approve"]);
    let error = refused.fails_with(1).error_json();
    assert_eq!(error["error"]["code"], "worktree_dirty", "{error:#}");
    std::fs::remove_file(e.path().join(".claude/notes.txt")).expect("the file");
    e.verdict(&["--verdict", "approve"]);
}

#[test]
fn h7_our_own_files_land_with_what_was_reviewed_and_in_no_other_way() {
    let s = done();
    let is_refused = |made: &str| {
        landing::ci(&s, made, "demo").fails_with(1);
        push(&s, &[&format!("{made}:refs/heads/main"), "loopx"])
            .fails_with(1)
            .says("pre-receive hook declined");
    };
    let claude = ".claude/settings.json";
    let wiring = [(claude, "{}\n"), (".github/hooks/git-loopx.json", "{}\n")];
    // By itself, behind the verdict, and in what a forge makes of the branch.
    for onto in ["main", "demo"] {
        landing::at(&s, onto);
        is_refused(&make(&s, &wiring, "Wire the agents"));
    }
    squash(&s, "main", "demo", SQUASH);
    is_refused(&landing::amend(&s, claude, "{}\n"));
    // Committed in clarify and reviewed with the rest.
    let s = Sandbox::new();
    begin(&s, PROTECTED);
    make(&s, &[(".claude/settings.json", "{}\n")], "Wire Claude Code");
    landing::build(&s);
    landing::serve(&s);
    landing::offer(&s, &["demo"]);
    would_land(&s, "demo");
}

#[test]
fn h8_comments_of_gemini_stay_and_uninstall_gives_the_bytes_back() {
    let s = Sandbox::new();
    let text = "// House rules\n{\n  \"ui\": {}, // plain\n  /* \"hooks\": no */\n  \"b\": 1\n}\n";
    s.write(".gemini/settings.json", text);
    s.loopx(&["agent", "install", "gemini"]).ok();
    let wired = s.read(".gemini/settings.json");
    for comment in ["// House rules", "// plain", "/* \"hooks\": no */"] {
        assert!(wired.contains(comment), "{wired}");
    }
    s.loopx(&["agent", "status"]).says("current").ok();
    s.loopx(&["agent", "uninstall", "gemini"]).ok();
    assert_eq!(s.read(".gemini/settings.json"), text);
    // Where somebody wrote meanwhile, ours goes and the comments stay.
    s.loopx(&["agent", "install", "gemini"]).ok();
    s.write(
        ".gemini/settings.json",
        wired.replace("\"b\": 1,", "\"b\": 2, // two"),
    );
    s.loopx(&["agent", "uninstall", "gemini"]).ok();
    let back = s.read(".gemini/settings.json");
    assert!(
        back.contains("// two") && back.contains("// plain"),
        "{back}"
    );
    assert!(!back.contains("loopx"), "{back}");
    // To Claude Code a comment is an error, and the refusal says so.
    s.write(".claude/settings.json", text);
    s.loopx(&["agent", "install", "claude"])
        .fails_with(1)
        .says("expected JSON");
}

#[test]
fn h8_copilot_hears_the_start_from_claudes_file_alone() {
    let d = Drive::building();
    let input = stop_input("a", d.path());
    let said = call(&d, "claude", "SessionStart", &input).expect("a word");
    let text = said["additionalContext"].as_str().expect("at the top");
    assert!(text.contains("stage build"), "{text}");
    assert_eq!(said["hookSpecificOutput"]["additionalContext"], text);
    let out = d
        .call(LOOPX)
        .args(&["agent-hook", "copilot", "userPromptSubmitted"])
        .stdin(payload(&d, "copilot", "userPromptSubmitted").to_string())
        .run();
    assert_eq!(document(&out), None, "nothing holds the build");
    // What holds it is a word at Copilot's next prompt: it shows nothing at a stop.
    d.does(&["agent", "block", "--reason", "no network"]);
    let prompt = payload(&d, "copilot", "userPromptSubmitted");
    let said = call(&d, "copilot", "userPromptSubmitted", &prompt).expect("a word");
    let text = said["additionalContext"].as_str().expect("a text");
    assert!(text.contains("blocked:reported (no network)"), "{text}");
}
