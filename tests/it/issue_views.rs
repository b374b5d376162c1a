//! Views of the whole backlog: the board, statistics and the report.

use crate::support::issues::{backlog, create, id_of, refused};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

/// Runs a command as on that day of January 2026, at noon.
fn on(s: &Sandbox, day: u32, args: &[&str]) -> Value {
    let at = format!("2026-01-{day:02}T12:00:00Z");
    let call = s.call(LOOPX).args(&[&["--json"], args].concat());
    let call = call
        .env("GIT_COMMITTER_DATE", &at)
        .env("GIT_AUTHOR_DATE", &at);
    call.run().json()
}

/// Runs a command on a screen of so many columns.
fn wide(s: &Sandbox, columns: usize, args: &[&str]) -> Output {
    s.call(LOOPX)
        .args(args)
        .env("COLUMNS", columns.to_string())
        .run()
}

fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or_default()
}

/// An epic with a part in each column of the board, and an issue beside it.
fn filled() -> (Sandbox, Vec<String>) {
    let s = backlog();
    let make = |day, args: &[&str]| id_of(&on(&s, day, &[&["issue", "create"], args].concat()));
    let epic = make(2, &["The form", "-k", "epic"]);
    let of = ["--parent", &epic];
    let ready = make(
        2,
        &[
            &[
                "The form times out on slow lines",
                "-k",
                "bug",
                "--criterion",
                "it waits",
                "-a",
                "Bob",
                "-m",
                "v1",
            ],
            of.as_slice(),
        ]
        .concat(),
    );
    let waits = make(
        3,
        &[
            &[
                "Write it down",
                "--blocked-by",
                &ready,
                "--due",
                "2026-01-04",
            ],
            of.as_slice(),
        ]
        .concat(),
    );
    let taken = make(3, &[&["Say it in the help"], of.as_slice()].concat());
    let done = make(3, &[&["Look at it"], of.as_slice()].concat());
    let beside = make(4, &["Something else", "-m", "v2"]);
    on(&s, 6, &["issue", "resolve", &done, "--reason", "looked"]);
    s.loopx(&["issue", "take", &taken]).ok();
    (s, vec![epic, ready, waits, taken, done, beside])
}

#[test]
fn an_epic_says_how_many_of_its_parts_are_done() {
    let (s, ids) = filled();
    let parts = json!({ "done": 1, "all": 4 });
    let shown = s.loopx(&["--json", "issue", "show", &ids[0]]).json();
    assert_eq!(shown["parts"], parts, "{shown}");
    let listed = s.loopx(&["--json", "issue", "list"]).json();
    let all = listed["issues"].as_array().expect("issues");
    let of = |id: &str| all.iter().find(|one| one["id"] == id).expect("a row");
    assert_eq!(of(&ids[0])["parts"], parts);
    assert_eq!(of(&ids[1])["parts"], Value::Null);
    s.loopx(&["issue", "list"]).says("1/4 parts").ok();
    s.loopx(&["issue", "show", &ids[0]]).says("1/4 done").ok();
    let of_it = ["--json", "issue", "list", "--all", "--parent", &ids[0]];
    let listed = s.loopx(&of_it).json();
    assert_eq!(listed["issues"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_board_has_a_column_for_how_far_issues_are_with_cards_of_two_lines() {
    let (s, ids) = filled();
    let board = s.loopx(&["--json", "issue", "board"]).json();
    let column = |at: usize| -> Vec<Value> {
        let cards = board["lanes"][0]["columns"][at]["cards"]
            .as_array()
            .expect("cards")
            .iter();
        cards.map(|card| card["id"].clone()).collect()
    };
    assert_eq!(column(0), [json!(ids[2]), json!(ids[0])], "what waits");
    assert_eq!(column(1), [json!(ids[1]), json!(ids[5])], "what is ready");
    assert_eq!(column(2), [json!(ids[3])], "what is taken");
    assert_eq!(column(3), [json!(ids[4])], "what is done");
    let text = wide(&s, 160, &["issue", "board"]).ok();
    let lines: Vec<&str> = text.lines().collect();
    for head in ["waits 2", "ready 2", "taken 1", "done 1"] {
        assert!(lines[0].contains(head), "{text}");
    }
    for said in ["P2 0/1 @Bob", "by Ada Author", "due 2026-01-04"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(text.contains("next: git loopx issue take"), "{text}");
}

#[test]
fn a_board_fits_each_screen_and_needs_no_colour() {
    let (s, _) = filled();
    for columns in [20, 40, 80, 120] {
        let text = wide(&s, columns, &["-q", "issue", "board"]).ok();
        assert!(widest(&text) <= columns, "{columns}: {text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        for head in ["waits 2", "ready 2", "taken 1", "done 1"] {
            assert!(text.contains(head), "{columns}: {text}");
        }
    }
    let side = |columns| {
        wide(&s, columns, &["-q", "issue", "board"])
            .ok()
            .lines()
            .count()
    };
    assert!(
        side(40) > side(120),
        "on a narrow screen columns stand below each other"
    );
}

#[test]
fn a_board_has_lanes_and_a_scope_and_a_moment() {
    let (s, ids) = filled();
    let lanes = |args: &[&str]| -> Vec<(Value, usize)> {
        let board = s
            .loopx(&[&["--json", "issue", "board"], args].concat())
            .json();
        let lanes = board["lanes"].as_array().expect("lanes").clone();
        let count = |lane: &Value| {
            let columns = lane["columns"].as_array().expect("columns").iter();
            columns
                .map(|column| column["cards"].as_array().map_or(0, Vec::len))
                .sum()
        };
        lanes
            .iter()
            .map(|lane| (lane["lane"].clone(), count(lane)))
            .collect()
    };
    let of = lanes(&["--lanes", "milestone"]);
    assert_eq!(
        of,
        [
            (json!("v1"), 1),
            (json!("v2"), 1),
            (json!("no milestone"), 4)
        ]
    );
    let of = lanes(&["--lanes", "owner"]);
    assert_eq!(
        of,
        [
            (json!("Ada Author"), 1),
            (json!("Bob"), 1),
            (json!("no owner"), 4)
        ]
    );
    let board = s.loopx(&["--json", "issue", "board", "--lanes", "epic"]);
    let board = board.json();
    let parts = board["lanes"][0]["parts"].clone();
    let all = parts["all"].as_u64().expect("a number");
    assert!(all > 0 && parts["done"].as_u64() < Some(all), "{board:#}");
    assert_eq!(board["lanes"][1]["parts"], Value::Null);
    let text = s.loopx(&["issue", "board", "--lanes", "epic"]).ok();
    let count = format!("{}/{all} parts", parts["done"]);
    assert!(text.contains(&count), "{text}");
    for format in ["html", "markdown"] {
        let args = ["issue", "report", "--lanes", "epic", "--format", format];
        let printed = s.loopx(&args).ok();
        assert!(printed.contains(&count), "{printed}");
        // A dash is stdout.
        let dashed = s.loopx(&[&args[..], &["-o", "-"]].concat()).ok();
        assert!(dashed.contains(&count) && !s.exists("-"), "{dashed}");
    }
    let of = lanes(&["--lanes", "epic"]);
    assert_eq!(of.len(), 2);
    assert_eq!((of[0].1, &of[1]), (5, &(json!("no epic"), 1)));
    assert_eq!(
        lanes(&[&ids[0]]),
        [(Value::Null, 4)],
        "the parts of an epic alone"
    );
    assert_eq!(lanes(&["-m", "v2"]), [(Value::Null, 1)]);
    assert_eq!(lanes(&["--at", "2026-01-02"]), [(Value::Null, 2)]);
    assert_eq!(lanes(&["-a", "nobody-of-this-name"]), [(Value::Null, 0)]);
}

#[test]
fn of_what_has_ended_a_board_shows_the_last_few() {
    let s = backlog();
    let made: Vec<String> = (0..7)
        .map(|at| create(&s, &[&format!("Issue {at}")]))
        .collect();
    for id in &made {
        s.loopx(&["issue", "close", id, "--reason", "no"]).ok();
    }
    let text = s.loopx(&["issue", "board"]).ok();
    assert!(
        text.contains("done 7") && text.contains("and 2 more (--all)"),
        "{text}"
    );
    assert!(
        text.contains("Issue 6") && !text.contains("Issue 1"),
        "{text}"
    );
    let text = s.loopx(&["issue", "board", "--all"]).ok();
    assert!(text.contains("Issue 0") && !text.contains("more"), "{text}");
}

#[test]
fn statistics_count_what_is_open_what_ended_and_how_long_it_took() {
    let (s, ids) = filled();
    let stats = on(&s, 10, &["issue", "stats", "--since", "2026-01-01"]);
    assert_eq!((&stats["all"], &stats["open"]), (&json!(6), &json!(5)));
    assert_eq!(
        (&stats["ready"], &stats["waiting"], &stats["overdue"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(stats["statuses"]["resolved"], json!(1));
    let lead = &stats["lead"];
    assert_eq!(
        (&lead["issues"], &lead["median"], &lead["of"]),
        (&json!(1), &json!(3.0), &json!(ids[4]))
    );
    assert_eq!(stats["age"]["most"], json!(8.0));
    let weeks = stats["weeks"].as_array().expect("weeks");
    assert_eq!(
        weeks[0],
        json!({"week": "2025-12-29", "created": 6, "resolved": 0, "closed": 0})
    );
    assert_eq!(weeks[1]["resolved"], json!(1));
    let points = |args: &[&str]| {
        let stats = on(&s, 10, &[&["issue", "stats"], args].concat());
        let points = stats["burndown"]["points"]
            .as_array()
            .expect("points")
            .clone();
        points
            .iter()
            .map(|one| {
                format!(
                    "{} {}/{}",
                    one["day"].as_str().expect("a day"),
                    one["open"],
                    one["done"]
                )
            })
            .collect::<Vec<String>>()
    };
    let all = points(&["--since", "2026-01-01"]);
    assert_eq!(
        all[..5],
        [
            "2026-01-02 2/0",
            "2026-01-03 5/0",
            "2026-01-04 6/0",
            "2026-01-05 6/0",
            "2026-01-06 5/1"
        ]
    );
    assert_eq!(
        points(&[&ids[0], "--since", "2026-01-06"])[0],
        "2026-01-06 3/1"
    );
    assert_eq!(
        points(&["-m", "v2", "--by", "week"]),
        ["2025-12-29 1/0", "2026-01-05 1/0"]
    );
    let then = on(&s, 10, &["issue", "stats", "--at", "2026-01-03"]);
    assert_eq!((&then["all"], &then["open"]), (&json!(5), &json!(5)));
}

#[test]
fn statistics_fit_each_screen_and_need_no_colour() {
    let (s, _) = filled();
    for columns in [40, 80, 120] {
        let text = wide(&s, columns, &["-q", "issue", "stats"]).ok();
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains('#') && text.contains("of"), "{text}");
        let bars: String = text
            .lines()
            .filter(|line| line.contains('#'))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(widest(&bars) <= columns, "{columns}: {text}");
    }
    let empty = backlog();
    let text = empty.loopx(&["issue", "stats"]).ok();
    assert!(text.contains("open       0"), "{text}");
}

/// Titles and texts of somebody who means ill.
const HOSTILE: [&str; 7] = [
    "\u{202e}gnp.exe\u{2066} turned",
    "<script>alert(1)</script>",
    "]]> --> </title></style></svg><img src=x onerror=alert(1)>",
    "\"quoted\" 'twice' & &amp; `ticked` | cell",
    "\u{5e2}\u{5d1}\u{5e8}\u{5d9}\u{5ea} and after",
    "[link](javascript:alert(1)) ![i](https://x.example/i.png) @ada #12 https://x.example",
    "{{ template }} ${env} <!-- comment",
];

/// The elements of a page that were not written by the program.
fn elements(page: &str) -> Vec<String> {
    let known = [
        "!DOCTYPE", "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "p",
        "time", "div", "section", "article", "span", "bdi", "table", "tr", "th", "td", "svg", "g",
        "rect", "text", "path", "!--",
    ];
    let starts = page.split('<').skip(1);
    let name = |part: &str| {
        let part = part.trim_start_matches('/');
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '!' && c != '-');
        part[..end.unwrap_or(part.len())].to_owned()
    };
    starts
        .map(name)
        .filter(|name| !known.contains(&name.as_str()))
        .collect()
}

#[test]
fn whatever_somebody_wrote_is_text_in_a_report() {
    let s = backlog();
    let mut before: Option<String> = None;
    for title in HOSTILE {
        let mut args = vec![title, "-m", title, "-a", title];
        if let Some(before) = &before {
            args.extend(["--blocked-by", before]);
        }
        before = Some(create(&s, &args));
    }
    for lanes in ["epic", "owner", "milestone"] {
        let page = s.loopx(&["issue", "report", "--lanes", lanes]).ok();
        assert_eq!(elements(&page), [] as [&str; 0], "{page}");
        assert_eq!(page.matches("<!--").count(), 1, "the mark alone");
        for never in [
            "<script",
            "onerror=alert(1)>",
            "<img",
            " href=\"",
            " src=\"",
            "url(",
            "http-equiv=\"refresh",
        ] {
            assert!(!page.contains(never), "{never}: {page}");
        }
        assert!(page.contains("default-src 'none'"), "{page}");
        assert!(
            page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "{page}"
        );
        assert!(page.contains("<bdi>\u{5e2}\u{5d1}"), "{page}");
        let turned = !page.contains('\u{202e}') && page.contains("&lt;U+202E&gt;gnp.exe");
        assert!(turned, "{page}");
        let text = s
            .loopx(&["issue", "report", "--format", "markdown", "--lanes", lanes])
            .ok();
        let outside =
            text.replace("<br>", "")
                .replacen("<!-- made by git loopx issue report -->", "", 1);
        for never in ["<", "](", "![", "https://", "@ada", "#12"] {
            assert!(!outside.contains(never), "{never}: {outside}");
        }
    }
}

#[test]
fn a_report_is_one_whole_file_and_replaces_its_own_alone() {
    let (s, ids) = filled();
    let said = s.loopx(&["issue", "report", "-o", "backlog.html"]).ok();
    assert!(said.contains("6 issues"), "{said}");
    let first = s.read("backlog.html");
    for part in [
        "<!DOCTYPE html>",
        "</html>\n",
        "<svg",
        "Left by day",
        &ids[1],
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    s.loopx(&["issue", "close", &ids[5], "--reason", "no"]).ok();
    s.loopx(&["issue", "report", "-o", "backlog.html"]).ok();
    assert_ne!(s.read("backlog.html"), first, "a report is written anew");
    s.write("mine.html", "<p>mine</p>\n");
    let error = refused(
        &s,
        1,
        "file_exists",
        &["issue", "report", "-o", "mine.html"],
    );
    assert!(
        error["help"]
            .as_str()
            .is_some_and(|help| help.contains("--force")),
        "{error}"
    );
    assert_eq!(s.read("mine.html"), "<p>mine</p>\n");
    s.loopx(&["issue", "report", "-o", "mine.html", "--force"])
        .ok();
    assert!(s.read("mine.html").contains("<!DOCTYPE html>"));
    // A link is no report, wherever it leads.
    std::os::unix::fs::symlink(s.path().join("backlog.html"), s.path().join("link.html"))
        .expect("a link");
    refused(
        &s,
        1,
        "file_exists",
        &["issue", "report", "-o", "link.html"],
    );
    refused(
        &s,
        4,
        "folder_missing",
        &["issue", "report", "-o", "nowhere/report.html"],
    );
    std::fs::create_dir(s.path().join("folder")).expect("a folder");
    refused(
        &s,
        1,
        "file_expected",
        &["issue", "report", "-o", "folder", "--force"],
    );
    let text = s
        .loopx(&["issue", "report", "--format", "markdown", "-m", "v1"])
        .ok();
    assert!(
        text.contains("# v1, Backlog of repo") && text.contains("## Statistics"),
        "{text}"
    );
}

#[test]
fn reports_of_one_moment_are_the_same_byte_for_byte() {
    let (s, _) = filled();
    for format in ["html", "markdown"] {
        let report = || {
            let args = [
                "issue",
                "report",
                "--at",
                "2026-01-07",
                "--since",
                "2026-01-01",
                "--format",
                format,
            ];
            s.loopx(&args).ok()
        };
        assert_eq!(report(), report());
    }
}
