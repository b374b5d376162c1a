//! Lists of tasks that clones wrote apart: what both made of their own stays, and each refusal leads out of it.

use crate::support::clones::Clones;
use crate::support::tasks::text;
use serde_json::{Value, json};

const FILE: &str = ".loopx/demo/tasks.jsonl";

/// Two clones that each typed some lines into one list; the second one has met what the first one sent.
fn apart(lines: [&[&str]; 2]) -> Clones {
    let all = Clones::apart(2);
    let say = |at: usize, line: &str| all.loopx(at, &line.split(' ').collect::<Vec<_>>());
    say(0, "init").ok();
    all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    say(0, "start --profile lite demo").ok();
    say(0, "task add Base --criterion Always -- true").ok();
    say(0, "sync origin").ok();
    all.git(1, &["switch", "--quiet", "-c", "work"]).ok();
    say(1, "sync origin").ok();
    for (at, lines) in lines.into_iter().enumerate() {
        for line in lines {
            say(at, line).ok();
        }
    }
    say(0, "sync origin").ok();
    say(1, "sync origin").fails_with(3);
    all
}

/// The tasks of a list with their titles, in the order of the titles.
fn titled(list: &Value) -> Vec<(String, String)> {
    let tasks = list["tasks"].as_array().expect("tasks").iter();
    let mut found: Vec<_> = tasks
        .map(|one| (text(&one["title"]), text(&one["task"])))
        .collect();
    found.sort();
    found
}

#[test]
fn n17_a_domain_and_an_id_that_both_clones_made_are_kept_by_one_command() {
    let all = apart([
        &[
            "task domain add login --from 101 --to 150 --owner Rita",
            "task add One --criterion Always -- true",
            "task add Left --domain login --criterion Always -- true",
        ],
        &[
            "task domain add login --from 201 --to 250 --owner Bo",
            "task add Two --criterion Always -- true",
            "task add Right --domain login --criterion Always -- true",
        ],
    ]);
    let say = |at: usize, line: &str| all.loopx(at, &line.split(' ').collect::<Vec<_>>());
    let found = say(1, "resolve --json").fails_with(3).json();
    assert_eq!(found["artifacts"][0]["made_twice"], json!(["TASK-002"]));
    assert_eq!(found["artifacts"][0]["domains_apart"], json!(["login"]));
    for line in ["task conflicts", "task domain move login", "task list"] {
        say(1, line).says("git loopx resolve").fails_with(1);
    }
    say(1, "resolve tasks.jsonl --both")
        .says("the domain login has the numbers")
        .ok();
    say(1, "task check").ok();
    say(1, "task conflicts").says("0 conflicts").ok();
    say(1, "sync origin").ok();
    say(0, "sync origin").ok();
    let lists = [0, 1].map(|at| say(at, "task list --json").json());
    assert_eq!(titled(&lists[0]), titled(&lists[1]));
    let titles: Vec<String> = titled(&lists[0]).into_iter().map(|(one, _)| one).collect();
    assert_eq!(titles, ["Base", "Left", "One", "Right", "Two"]);
    let domains = say(0, "task domain list --json").json();
    let domains = domains["domains"].as_array().expect("domains");
    assert_eq!(domains.len(), 1, "{domains:?}");
    assert_eq!(domains[0]["tasks"], 2);
}

#[test]
fn n17_a_domain_alone_that_both_clones_made_is_kept_by_the_same_command() {
    let all = apart([
        &["task domain add login --from 101 --to 150"],
        &["task domain add login --from 201 --to 250"],
    ]);
    let say = |line: &str| all.loopx(1, &line.split(' ').collect::<Vec<_>>());
    say("task conflicts")
        .says("git loopx resolve")
        .fails_with(1);
    say("resolve")
        .says("resolve tasks.jsonl --both")
        .fails_with(3);
    say("resolve tasks.jsonl --both").ok();
    say("task conflicts").says("0 conflicts").ok();
    say("task domain move login").ok();
}

#[test]
fn n17_a_list_that_has_one_id_twice_settles_nothing() {
    let all = apart([
        &["task add One --criterion Always -- true"],
        &["task add Two --criterion Always -- true"],
    ]);
    let say = |line: &str| all.loopx(1, &line.split(' ').collect::<Vec<_>>());
    let marked = all.s.read(all.dir(1).join(FILE));
    let lines = marked.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<&str> = lines.collect();
    all.s
        .write(all.dir(1).join(FILE), format!("{}\n", lines.join("\n")));
    let before = all.operations(1);
    say("resolve tasks.jsonl")
        .says("tasks.jsonl:3: the id `TASK-002` stands there twice")
        .says("on line 2")
        .says("resolve tasks.jsonl --both")
        .fails_with(1);
    assert_eq!(all.operations(1), before);
    let mended = lines.join("\n").replacen("TASK-002", "TASK-009", 1);
    all.s.write(all.dir(1).join(FILE), format!("{mended}\n"));
    say("resolve tasks.jsonl").ok();
    say("task check").ok();
}

#[test]
fn n17_what_cannot_stay_whole_is_not_offered() {
    let all = apart([
        &[
            "task edit TASK-001 --title Left",
            "task add One --criterion Always -- true",
        ],
        &[
            "task edit TASK-001 --title Right",
            "task add Two --criterion Always -- true",
        ],
    ]);
    let say = |line: &str| all.loopx(1, &line.split(' ').collect::<Vec<_>>());
    let listed = say("resolve").fails_with(3).to_string();
    assert!(!listed.contains("--both"), "{listed}");
    assert!(
        listed.contains("give one of the two another id"),
        "{listed}"
    );
    say("resolve tasks.jsonl --both")
        .says("TASK-001: title differs")
        .says("give one of the two another id")
        .fails_with(3);
}
