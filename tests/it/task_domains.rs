//! Domains of a list: parts of the work with ids of their own, what several of them touch, and the plan that waits for
//! it.

use crate::support::Output;
use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::tasks::{planning, task, text, with};
use serde_json::{Value, json};

fn words(s: &Sandbox, line: &str) -> Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

const FILE: &str = ".loopx/demo/tasks.jsonl";

fn tip(s: &Sandbox) -> (String, String) {
    (s.read(FILE), s.git(&["rev-parse", "loopx"]).ok())
}

#[test]
fn team_k1_each_domain_has_a_range_and_gives_out_its_own_ids() {
    let s = planning(&[]);
    for (name, range) in [("auth", "001-100"), ("ui", "101-200"), ("ops", "201-300")] {
        words(&s, &format!("task domain add {name} --owner Rita"))
            .says(&format!("the domain {name} has the numbers {range}"))
            .ok();
    }
    words(&s, "task add One --domain ui --criterion Always -- true")
        .says("TASK-101 added")
        .ok();
    words(&s, "task add Two --domain UI --criterion Always -- true")
        .says("TASK-102 added")
        .ok();
    words(&s, "task add Three --criterion Always -- true")
        .says("TASK-301 added")
        .ok();
    words(&s, "task domain list")
        .says("ui  101-200  2 tasks, next TASK-103  Rita")
        .ok();
    let listed = words(&s, "task list --json").json();
    assert_eq!(listed["tasks"][0]["domain"], "ui");
    let exported = words(&s, "task export --json").json();
    assert_eq!(exported["domains"][2]["from"], 201);

    // What is no range, or no place in one, is refused, and nothing changes.
    let before = tip(&s);
    for (line, code, said) in [
        (
            "task add Four --id TASK-250 --domain ui",
            1,
            "numbers 101-200",
        ),
        (
            "task add Four --id REVIEW --domain ui",
            1,
            "git loopx task domain list",
        ),
        (
            "task add Four --domain api",
            1,
            "git loopx task domain add api",
        ),
        (
            "task edit TASK-301 --domain ui",
            1,
            "TASK-301 is none of the domain `ui`",
        ),
        (
            "task domain add api --from 150 --to 160",
            1,
            "`ui` has 101-200",
        ),
        ("task domain add UI", 1, "stands there twice"),
        ("task domain add api --from 20 --to 10", 1, "found 20 to 10"),
        ("task domain add api --from 20", 2, "--to"),
    ] {
        words(&s, line).says(said).fails_with(code);
    }
    assert_eq!(tip(&s), before);
    words(&s, "task domain add d4").says("401-500").ok();
    words(&s, "task domain add d5").ok();
    words(&s, "task domain add d6")
        .says("5 are the most")
        .says("git loopx task domain add d6 --most 6")
        .fails_with(1);
    words(&s, "task domain add d6 --from 601 --to 601 --most 6").ok();
    words(&s, "task add Full --domain d6").says("TASK-601").ok();
    words(&s, "task add More --domain d6")
        .says("601-601, is taken")
        .says("git loopx task domain add d6-2")
        .fails_with(1);
}

/// Two clones that each added a domain made a list that is none; one command makes it one again.
#[test]
fn domains_that_clones_gave_the_same_numbers_are_moved_apart() {
    let all = Clones::apart(2);
    let plan = |at: usize, line: &str| all.loopx(at, &line.split(' ').collect::<Vec<_>>());
    plan(0, "init").ok();
    all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    plan(0, "start --profile lite demo").ok();
    plan(0, "task add Base --criterion Always -- true").ok();
    plan(0, "sync origin").ok();
    all.git(1, &["switch", "--quiet", "-c", "work"]).ok();
    plan(1, "sync origin").ok();
    plan(0, "task domain add login --from 101 --to 200").ok();
    plan(0, "task add One --domain login --criterion Always -- true").ok();
    plan(0, "sync origin").ok();
    plan(1, "task domain add board --from 101 --to 200").ok();
    plan(
        1,
        "task add Two --id TASK-102 --domain board --criterion Always -- true",
    )
    .ok();
    plan(1, "sync origin").ok();

    // The later line moves; which one that is the merge says.
    let found = plan(1, "task conflicts --json").fails_with(1).json();
    assert_eq!(kinds(&found), ["critical range_conflict"]);
    let [stays, moves] = [0, 1].map(|at| text(&found["conflicts"][0]["domains"][at]));
    let lead = format!("task domain move {moves} --from 201 --to 300");
    for line in ["task add More", "task check", "task conflicts", "task list"] {
        plan(1, line).says(&lead).fails_with(1);
    }
    // What mends nothing is refused, and changes nothing.
    let list = || std::fs::read_to_string(all.dir(1).join(FILE)).expect("a list");
    let before = list();
    for (range, code, said) in [
        ("--from 150 --to 250", 1, format!("`{stays}` has 101-200")),
        (
            "--from 101 --to 200",
            5,
            "has the numbers 101-200 already".into(),
        ),
        ("--from 20 --to 10", 1, "found 20 to 10".into()),
    ] {
        plan(1, &format!("task domain move {moves} {range}"))
            .says(&said)
            .fails_with(code);
    }
    plan(1, "task domain move nobody")
        .says("no domain `nobody`")
        .fails_with(1);
    assert_eq!(list(), before);

    let kept = if moves == "board" {
        "TASK-102"
    } else {
        "TASK-101"
    };
    let moved = plan(1, &format!("{lead} --json")).json();
    assert_eq!(moved["kept"], json!([kept]));
    assert_eq!(moved["left"], Value::Null);
    let line = format!("{{\"domain\":\"{moves}\",\"from\":201,\"to\":300,\"was\":[[101,200]]}}");
    assert!(list().contains(&line), "{}", list());
    plan(1, "task check").says("3 tasks, 0 errors").ok();
    plan(
        1,
        &format!("task add More --domain {moves} --criterion Always -- true"),
    )
    .says("TASK-201 added")
    .ok();
    plan(1, "sync origin").ok();
    plan(0, "sync origin").ok();
    let listed = plan(0, "task domain list --json").json();
    let domains = listed["domains"].as_array().expect("domains");
    let of = |name: &str| domains.iter().find(|one| one["name"] == name);
    assert_eq!(of(&moves).expect("it")["was"], json!([[101, 200]]));
    assert_eq!(of(&stays).expect("it")["next"], "TASK-103");
}

/// Without domains two clones give the same next id. Neither task falls, and one command keeps both.
#[test]
fn b31_clones_that_gave_one_id_to_two_tasks_keep_both_by_one_command() {
    let all = Clones::apart(2);
    let plan = |at: usize, line: &str| all.loopx(at, &line.split(' ').collect::<Vec<_>>());
    plan(0, "init").ok();
    all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    plan(0, "start --profile lite demo").ok();
    plan(0, "task add Base --criterion Always -- true").ok();
    plan(0, "sync origin").ok();
    all.git(1, &["switch", "--quiet", "-c", "work"]).ok();
    plan(1, "sync origin").ok();
    for (at, title) in [(0, "One"), (1, "Two")] {
        plan(at, &format!("task add {title} --criterion Always -- true"))
            .says("TASK-002 added")
            .ok();
        let behind =
            format!("task add Behind{title} --depends-on TASK-002 --criterion Always -- true");
        plan(at, &behind).ok();
    }
    plan(0, "sync origin").ok();
    plan(1, "sync origin").fails_with(3);

    // What is apart is one fault, and every command leads to where it is settled.
    let found = plan(1, "resolve --json").fails_with(3).json();
    let twice = json!(["TASK-002", "TASK-003"]);
    assert_eq!(found["artifacts"][0]["made_twice"], twice);
    let keep = "resolve tasks.jsonl --both";
    plan(1, "resolve").says(keep).fails_with(3);
    for line in ["task list", "task check", "task add More", "take"] {
        let said = plan(1, line).fails_with(1).to_string();
        assert!(said.contains("the versions of TASK-002"), "{said}");
        assert!(said.contains("git loopx resolve"), "{said}");
        assert!(!said.contains("expected value"), "{said}");
    }
    plan(1, "resolve plan.md --both")
        .says("expected --both with tasks.jsonl")
        .fails_with(2);
    let before = all.operations(1);
    let done = plan(1, &format!("{keep} --json")).json();
    let renamed = done["renamed"].as_array().expect("ids");
    assert_eq!(renamed.len(), 2, "{done:#}");
    assert_eq!(all.operations(1).len(), before.len() + 1);

    // Each task is there with what it waits for, here and in the other clone.
    plan(1, "sync origin").ok();
    plan(0, "sync origin").ok();
    for at in [0, 1] {
        let listed = plan(at, "task list --json").json();
        let tasks = listed["tasks"].as_array().expect("tasks");
        let id = |title: &str| {
            let of = tasks.iter().find(|one| one["title"] == title);
            text(&of.unwrap_or_else(|| panic!("{title} in {listed:#}"))["task"])
        };
        let on = |title: &str| {
            let of = tasks.iter().find(|one| one["title"] == title);
            of.map(|one| one["depends_on"].clone())
        };
        assert_eq!(tasks.len(), 5);
        for title in ["One", "Two"] {
            let behind = on(&format!("Behind{title}")).expect("it is there");
            assert_eq!(behind, json!([id(title)]), "{title}");
        }
    }
    plan(0, keep).fails_with(5);
}

#[test]
fn a_domain_that_stands_there_twice_holds_the_plan_and_one_command_makes_one_of_it() {
    let s = planning(&[]);
    words(&s, "task domain add login").ok();
    words(&s, "task add One --domain login --criterion Always -- true").ok();
    let twin = "{\"domain\":\"Login\",\"from\":201,\"to\":300,\"owner\":\"Rita\"}\n";
    let two = "{\"id\":\"TASK-201\",\"title\":\"Two\",\"domain\":\"login\",\"convergence\":{\"criteria\":[\"It is there at noon\"],\"verification\":{\"cmd\":[\"true\"]}}}\n";
    s.write(FILE, format!("{}{twin}{two}", s.read(FILE)));
    let found = words(&s, "task conflicts --json").fails_with(1).json();
    assert_eq!(kinds(&found), ["critical domain_repeated"]);
    let lead = "task domain move login --from 1 --to 100";
    for line in ["task conflicts", "task check", "task add More", "task list"] {
        words(&s, line).says(lead).fails_with(1);
    }
    words(&s, lead).ok();
    words(&s, "task check").says("2 tasks, 0 errors").ok();
    words(&s, "task conflicts").says("0 conflicts").ok();
    words(&s, "task domain list")
        .says("login  001-100  2 tasks, next TASK-002  Rita")
        .ok();
}

#[test]
fn what_is_wrong_with_an_argument_leads_to_the_argument() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    s.loopx(&["save"]).ok();
    let before = tip(&s);
    for (line, code, said) in [
        (
            "task add B --depends-on NONE",
            1,
            "give --depends-on and --parent ids of the list: git loopx task list",
        ),
        (
            "task edit A --parent A",
            1,
            "give --depends-on and --parent tasks that do not wait for it: git loopx task graph",
        ),
        (
            "task add B --file ../x",
            1,
            "give --file and --output paths from the top of the repository",
        ),
        (
            "task add B --wait-time soon",
            1,
            "give --until what others bring about",
        ),
        (
            "task add B --id A",
            2,
            "leave --id out for the next free one, or: git loopx task show A",
        ),
        (
            "task add B --after AA",
            4,
            "is A meant? git loopx task show A",
        ),
        ("task edit ZZZ --title X", 4, "git loopx task list"),
    ] {
        let out = words(&s, line).says(said).fails_with(code);
        assert!(
            !out.to_string().contains("edit tasks.jsonl"),
            "{line}\n{out}"
        );
    }
    assert_eq!(tip(&s), before);
    words(&s, "task list").ok();
    words(&s, "task graph").ok();
    words(&s, "task show A").ok();
}

/// A list that no plan is approved of is held where its stage ends.
#[test]
fn the_quick_profile_holds_conflicts_of_domains_at_its_end() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "quick", "demo", "-m", "two parts"])
        .ok();
    for line in [
        "task domain add auth",
        "task domain add ui",
        "task add One --domain auth --file code.txt --criterion Always -- true",
        "task add Two --domain ui --file code.txt --criterion Always -- true",
    ] {
        words(&s, line).ok();
    }
    let held = "both change `code.txt`";
    words(&s, "status").says(held).ok();
    words(&s, "finish").says(held).fails_with(1);
    words(&s, "task edit TASK-101 --depends-on TASK-001").ok();
    assert!(!words(&s, "status").ok().contains(held));
    let ring = s.read(FILE).replacen(
        "\"domain\":\"auth\",\"files\"",
        "\"depends_on\":[\"TASK-101\"],\"domain\":\"auth\",\"files\"",
        1,
    );
    s.write(FILE, ring);
    words(&s, "status").says("TASK-001 -> TASK-101").ok();
    words(&s, "finish")
        .says("TASK-001 -> TASK-101")
        .fails_with(1);
}

/// The plan of two domains that meet in one file.
fn meeting() -> Sandbox {
    let mut one = task("TASK-001", &[], Some(&["true"]));
    let mut two = task("TASK-101", &[], Some(&["true"]));
    for (line, domain, risk) in [(&mut one, "auth", "high"), (&mut two, "ui", "medium")] {
        let line = line.as_object_mut().expect("a line");
        line.insert("domain".to_owned(), json!(domain));
        line.insert("conflict_risk".to_owned(), json!(risk));
        line.insert("files".to_owned(), json!(["code.txt"]));
    }
    let auth = json!({ "domain": "auth", "from": 1, "to": 100 });
    let ui = json!({ "domain": "ui", "from": 101, "to": 200 });
    planning(&[auth, ui, one, two])
}

fn kinds(all: &Value) -> Vec<String> {
    let all = all["conflicts"].as_array().expect("conflicts").iter();
    let kind = |one: &Value| format!("{} {}", one["severity"], one["kind"]).replace('"', "");
    all.map(kind).collect()
}

#[test]
fn team_k2_conflicts_of_domains_hold_the_plan_until_somebody_orders_or_accepts_them() {
    let s = meeting();
    let found = words(&s, "task conflicts --json").fails_with(1).json();
    assert_eq!(
        kinds(&found),
        ["high file_conflict", "medium strategy_conflict"]
    );
    words(&s, "task conflicts")
        .says("TASK-001 and TASK-101 (auth, ui) both change `code.txt`")
        .says("git loopx task edit TASK-101 --depends-on TASK-001")
        .fails_with(1);
    words(&s, "task check")
        .says("error task_conflict_file")
        .says("warning task_conflict_strategy")
        .fails_with(1);
    s.loopx(&["approve", "--enter", "--reason", "agreed"])
        .says("neither waits for the other")
        .fails_with(1);
    words(&s, "task conflicts --accept TASK-101:TASK-001").fails_with(2);
    let accept = [
        "task",
        "conflicts",
        "--accept",
        "TASK-101:TASK-001",
        "--reason",
        "one line each",
    ];
    s.loopx(&accept).says("may both change code.txt").ok();
    s.loopx(&accept).fails_with(5);
    words(&s, "task conflicts")
        .says("accepted: one line each")
        .ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();

    // Ordered they are none; a cycle is critical, and nothing goes on.
    let s = meeting();
    words(
        &s,
        "task edit TASK-101 --depends-on TASK-001 --conflict-risk low",
    )
    .ok();
    words(&s, "task conflicts").says("0 conflicts").ok();
    let ring = s
        .read(FILE)
        .replacen("\"depends_on\":[]", "\"depends_on\":[\"TASK-101\"]", 1);
    s.write(FILE, ring);
    let found = words(&s, "task conflicts --json").fails_with(1).json();
    assert_eq!(kinds(&found), ["critical dependency_cycle"]);
    words(&s, "task conflicts")
        .says("TASK-001 -> TASK-101")
        .fails_with(1);
    s.loopx(&["approve", "--enter", "--reason", "agreed"])
        .fails_with(1);
}

#[test]
fn domains_of_several_clones_merge_and_are_amended_with_the_list() {
    let names = loopx_rules::task::file::Names {
        base: "base",
        ours: "ours",
        theirs: "theirs",
    };
    let auth = "{\"domain\":\"auth\",\"from\":1,\"to\":100}\n";
    let ui = "{\"domain\":\"ui\",\"from\":101,\"to\":200}\n";
    let merged = loopx_rules::task::file::merge("", auth, ui, names).expect("lists");
    assert!(merged.clashes.is_empty());
    assert!(
        merged.text.contains("auth") && merged.text.contains("ui"),
        "{}",
        merged.text
    );

    let s = planning(&[with(
        "A",
        &[],
        json!({ "convergence": { "criteria": ["it is 1"], "verification": { "cmd": ["true"] } } }),
    )]);
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    words(&s, "task domain add auth")
        .says("this list was approved")
        .fails_with(1);
    let list = s.read(FILE);
    s.write(FILE, format!("{auth}{list}"));
    s.loopx(&["amend", "--reason", "two of us"])
        .says("domain   auth")
        .ok();
    assert!(words(&s, "cat tasks.jsonl").ok().starts_with(auth));
}

/// In the build the list is closed, and a conflict is mended by hand: the line stands in the hint.
#[test]
fn a_conflict_in_the_build_is_ordered_or_accepted_by_the_line_that_the_hint_names() {
    for ways in [
        &["task", "edit", "TASK-101", "--depends-on", "TASK-001"][..],
        &[
            "task",
            "conflicts",
            "--accept",
            "TASK-001:TASK-101",
            "--reason",
            "one line each",
        ],
    ] {
        let s = meeting();
        let whole = s.read(FILE);
        s.write(FILE, whole.replacen("code.txt", "other.txt", 1));
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        s.write(FILE, &whole);
        s.loopx(&["amend", "--reason", "both"]).fails_with(1);
        let out = s.loopx(&[&["--json"], ways].concat()).fails_with(1);
        let help = out.error_json()["error"]["help"].to_string();
        let help: String = serde_json::from_str(&help).expect("text");
        let (_, rest) = help
            .split_once("write line 4 of .loopx/demo/tasks.jsonl as ")
            .expect("the line");
        let (line, _) = rest
            .split_once(" , then: git loopx amend")
            .expect("the way on");
        let mut lines: Vec<&str> = whole.lines().collect();
        lines[3] = line;
        s.write(FILE, lines.join("\n") + "\n");
        s.loopx(&["amend", "--reason", "both"]).ok();
    }
}

#[test]
fn a_file_that_a_shell_completed_is_named_from_the_top() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    words(&s, "task edit A --file ./code.txt").ok();
    assert!(s.read(FILE).contains("\"code.txt\""), "{}", s.read(FILE));
}
