//! Skills: where they are looked for, what the card of a task says of one, and what holds a task whose skill is not
//! there.

use crate::support::Sandbox;
use crate::support::tasks::{
    DEMO, building, planning, planning_with, refuses, take, task, text, with,
};
use serde_json::{Value, json};

/// A task that is done by a skill.
fn skilled(id: &str, skill: &str, args: &str) -> Value {
    let mut line = task(id, &[], Some(&["true"]));
    line["skill"] = json!(skill);
    line["args"] = json!(args);
    line
}

fn put(s: &Sandbox, path: &str, head: &str, body: &str) {
    s.write(path, format!("---\n{head}\n---\n{body}"));
}

fn home(s: &Sandbox, path: &str, text: &str) {
    let path = s.root().join("home").join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn listed(s: &Sandbox) -> Vec<Value> {
    let listed = s.loopx(&["agent", "skills", "--json"]).json();
    listed["skills"].as_array().expect("skills").clone()
}

fn find(s: &Sandbox, name: &str) -> Value {
    let mut all = listed(s).into_iter();
    all.find(|one| one["name"] == name).expect("the skill")
}

#[test]
fn skills_of_the_worktree_count_before_those_at_home() {
    let s = planning(&[]);
    put(
        &s,
        ".claude/skills/plan/SKILL.md",
        "name: plan\ndescription: ours",
        "",
    );
    home(
        &s,
        ".claude/skills/plan/SKILL.md",
        "---\ndescription: mine\n---\n",
    );
    home(&s, ".codex/skills/plan/SKILL.md", "codex\n");
    home(
        &s,
        ".agents/skills/look/SKILL.md",
        "---\nargument-hint: [a] [b]\n---\nLook.\n",
    );
    home(&s, ".agy/commands/say.md", "say\n");
    home(&s, ".claude/commands/notes.txt", "none\n");
    let rows: Vec<String> = listed(&s)
        .iter()
        .map(|one| {
            let words = ["platform", "type", "scope", "name", "path"];
            let words: Vec<String> = words.iter().map(|word| text(&one[*word])).collect();
            words.join(" ")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "claude skill project plan .claude/skills/plan/SKILL.md",
            "codex skill home plan ~/.codex/skills/plan/SKILL.md",
            "agent skill home look ~/.agents/skills/look/SKILL.md",
            "agy command home say ~/.agy/commands/say.md",
        ]
    );
    assert_eq!(find(&s, "plan")["description"], "ours");
    assert_eq!(find(&s, "look")["hint"], "[a] [b]");
    let only = s.loopx(&["agent", "skills", "--platform", "codex"]);
    assert!(only.ok().contains("plan"));
}

#[test]
fn a_skill_that_leads_out_of_its_folder_is_never_read() {
    let s = building(&[skilled("A", "out", ""), skilled("B", "../plan", "")]);
    s.write("secret.md", "---\nname: secret\n---\nhidden words\n");
    std::fs::create_dir_all(s.path().join(".claude/skills/out")).expect("a folder");
    let link = s.path().join(".claude/skills/out/SKILL.md");
    std::os::unix::fs::symlink(s.path().join("secret.md"), link).expect("a link");
    let found = find(&s, "out");
    assert!(
        text(&found["fault"]).contains("leads out of .claude/skills"),
        "{found}"
    );
    assert_eq!(found["blob"], Value::Null);
    refuses(&s, 1, "skill_unusable", &["take", "A"]);
    refuses(&s, 1, "skill_missing", &["take", "B"]);
}

#[test]
fn the_card_names_the_skill_with_its_words_and_what_is_to_be_read() {
    let first = with(
        "analyze",
        &[],
        json!({
            "convergence": { "criteria": ["it is there"], "verification": { "cmd": ["true"] } },
            "outputs": ["tasks/analyze/notes.md"],
        }),
    );
    let mut second = skilled("plan", "maestro-plan", "");
    second["depends_on"] = json!(["analyze"]);
    second["reads"] = json!({ "required": ["code.txt"], "deferred": ["later.md"] });
    let s = building(&[first, second]);
    put(
        &s,
        ".claude/skills/plan/SKILL.md",
        "name: maestro-plan",
        "<required_reading>\n@guide.md and @~/.maestro/way.md, ask ada@example.org\n</required_reading>\n<deferred_reading>\n- [more](more.md)\n</deferred_reading>\n",
    );
    s.write(".claude/skills/plan/guide.md", "guide\n");
    home(&s, ".maestro/way.md", "way\n");
    assert_eq!(take(&s), "analyze");
    s.write(format!(".loopx/{DEMO}/tasks/analyze/notes.md"), "notes\n");
    s.loopx(&["task", "done"]).ok();
    let taken = s.loopx(&["take", "--json"]).json();
    let skill = &taken["card"]["skill"];
    assert_eq!(skill["name"], "maestro-plan");
    assert_eq!(skill["text"], format!("--dir .loopx/{DEMO}/tasks/analyze"));
    assert_eq!(skill["path"], ".claude/skills/plan/SKILL.md");
    let required = skill["required"].as_array().expect("reading");
    assert_eq!(required[0]["path"], ".claude/skills/plan/guide.md");
    assert!(required[0]["blob"].is_string());
    // Of what the repository wants from home no content is known here.
    assert_eq!(
        required[1],
        json!({ "path": "~/.maestro/way.md", "blob": null })
    );
    assert_eq!(skill["deferred"], json!([".claude/skills/plan/more.md"]));
    assert_eq!(taken["card"]["deferred"], json!(["later.md"]));
    let card = s.loopx(&["task", "show"]).ok();
    for said in [
        "skill   | maestro-plan --dir",
        ".claude/skills/plan/SKILL.md (",
        "later   | later.md",
    ] {
        assert!(card.contains(said), "{said}\n{card}");
    }
    // It is pinned: whoever had the task is told that it changed.
    put(
        &s,
        ".claude/skills/plan/SKILL.md",
        "name: maestro-plan",
        "Do it otherwise.\n",
    );
    s.loopx(&["task", "done"])
        .says(".claude/skills/plan/SKILL.md")
        .ok();
}

#[test]
fn a_task_whose_skill_is_not_there_is_left_to_others() {
    let s = building(&[skilled("A", "planing", ""), task("B", &[], Some(&["true"]))]);
    put(&s, ".agents/skills/planning/SKILL.md", "description: x", "");
    let said = refuses(&s, 1, "skill_missing", &["take", "A"]);
    assert!(text(&said["message"]).contains("`planning`"), "{said}");
    assert_eq!(take(&s), "B");
    s.loopx(&["task", "done"]).ok();
    refuses(&s, 1, "skill_missing", &["take"]);
    let shown = s.loopx(&["task", "show", "A", "--json"]).json();
    assert!(shown["card"]["skill"]["fault"].is_string(), "{shown}");
    put(&s, ".agents/skills/planing/SKILL.md", "description: x", "");
    assert_eq!(take(&s), "A");
}

#[test]
fn a_skill_that_wants_read_what_is_not_there_holds_its_task() {
    let s = building(&[skilled("A", "plan", "")]);
    let body = "<required_reading>\n@guide.md @/etc/passwd\n</required_reading>\n";
    put(&s, ".codex/commands/plan.md", "description: x", body);
    let found = find(&s, "plan");
    assert_eq!(
        found["missing_required"],
        json!([".codex/commands/guide.md", "/etc/passwd"])
    );
    let said = refuses(&s, 1, "skill_unusable", &["take", "A"]);
    assert!(text(&said["message"]).contains("guide.md"), "{said}");
}

#[test]
fn a_check_says_which_skills_are_missing_and_which_have_another_name() {
    let s = planning(&[skilled("A", "nowhere", ""), skilled("B", "plan", "")]);
    put(
        &s,
        ".claude/skills/plan/SKILL.md",
        "name: maestro-plan",
        "Plan it.\n",
    );
    let checked = s.loopx(&["task", "check", "--json"]).fails_with(1).json();
    let found = checked["findings"].as_array().expect("findings");
    let ids: Vec<(String, u64)> = found
        .iter()
        .map(|one| (text(&one["id"]), one["line"].as_u64().expect("a line")))
        .collect();
    assert_eq!(
        ids,
        [
            ("task_skill_missing".to_owned(), 1),
            ("task_skill_renamed".to_owned(), 2)
        ]
    );
    // Another machine may have it: the plan is not held by it.
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
}

#[test]
fn a_pipeline_names_its_skills_and_starts_without_them() {
    let pipeline = "title = \"Own\"\n[[nodes]]\nid = \"A\"\ntitle = \"Do it\"\nskill = \"nowhere\"\nargs = \"{intent} {scratch_dir}\"\ncriteria = [\"it is there\"]\nverification = { manual = \"the page looks well\" }\n";
    let s = planning_with(&[("loopx/pipelines/own.toml", pipeline)], &[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    let ids = |exit: i32| -> Vec<String> {
        let checked = s.loopx(&["pipeline", "check", "own.toml", "--json"]);
        let checked = checked.fails_with(exit).json();
        let found = checked["findings"].as_array().expect("findings");
        found.iter().map(|one| text(&one["id"])).collect()
    };
    s.write("own.toml", pipeline.replace("{scratch_dir}", "{unknown}"));
    assert_eq!(
        ids(1),
        ["pipeline_placeholder_unknown", "pipeline_skill_missing"]
    );
    s.write("own.toml", pipeline);
    assert_eq!(ids(1), ["pipeline_skill_missing"]);
    let started = s.loopx(&["pipeline", "start", "own", "--json"]).json();
    assert_eq!(started["skills_missing"], json!(["nowhere"]));
    let list = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
    assert!(list.contains("{scratch_dir}"), "{list}");
    put(&s, ".claude/commands/nowhere.md", "description: x", "");
    s.loopx(&["pipeline", "check", "own.toml", "--strict"]).ok();
}

#[test]
fn what_no_placeholder_stands_for_is_said_on_the_card() {
    let s = building(&[skilled(
        "A",
        "/look {id}",
        "--milestone {milestone} {intent}",
    )]);
    put(&s, ".claude/commands/look.md", "description: x", "");
    let card = s.loopx(&["take", "--full"]).ok();
    assert!(
        card.contains("look A --milestone {milestone} demo"),
        "{card}"
    );
    assert!(
        card.contains("{milestone}: nothing is known for it"),
        "{card}"
    );
}
