//! Cache of a list of issues in the git directory. It is disposable: torn, forged in its form, or of another state, it
//! changes nothing that anybody is shown; and where nothing can be kept, everything works.

use crate::support::Sandbox;
use crate::support::issues::{backlog, create, refused};
use crate::support::store::checksum;
use std::fs;
use std::path::PathBuf;

/// More issues than are read anew each time.
const COUNT: usize = 70;

fn many() -> Sandbox {
    Sandbox::once("", || {
        let s = backlog();
        let lines = (0..COUNT).map(|n| {
            let link = match n % 3 {
                0 | 1 => String::new(),
                _ => format!(r#","links":[{{"kind":"blocked-by","to":"k{}"}}]"#, n - 1),
            };
            format!(
                r#"{{"key":"k{n}","title":"Part {n}","labels":["l-{}"]{link}}}"#,
                n % 4
            )
        });
        let lines: Vec<String> = lines.collect();
        s.write("plan.jsonl", lines.join("\n"));
        s.loopx(&["issue", "create", "--from", "plan.jsonl", "-q"])
            .ok();
        s
    })
}

fn kept(s: &Sandbox) -> PathBuf {
    s.path().join(".git/loopx/issue-cache")
}

/// Output of a list of issues, in words and as a document.
fn said(s: &Sandbox) -> (String, String) {
    let words = s.loopx(&["issue", "list", "--all"]).ok();
    let document = s.loopx(&["--json", "issue", "list", "--all"]).ok();
    (words, document)
}

#[test]
fn a_kept_file_that_is_torn_or_of_another_form_changes_nothing() {
    let s = many();
    let expected = said(&s);
    let whole = fs::read(kept(&s)).expect("a kept file");
    let text = String::from_utf8(whole.clone()).expect("text");
    let mut wrong: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\n".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        text.replacen("\"format\":2", "\"format\":1", 1)
            .into_bytes(),
        text.replacen("\"fold\":", "\"fold\":9", 1).into_bytes(),
        text.replacen("Part 7", "Forged", 1).into_bytes(),
    ];
    for at in (0..whole.len()).step_by(whole.len() / 12) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        wrong.push(flipped);
    }
    for bytes in wrong {
        fs::write(kept(&s), &bytes).expect("written");
        assert_eq!(said(&s), expected);
        assert_eq!(
            fs::read(kept(&s)).expect("a kept file"),
            whole,
            "it is mended"
        );
    }
}

#[test]
fn a_kept_file_of_an_earlier_state_gives_the_list_of_this_one() {
    let s = many();
    said(&s);
    let before = fs::read(kept(&s)).expect("a kept file");
    let id = create(&s, &["Another", "one"]);
    let taken_back = create(&s, &["Taken", "back"]);
    s.loopx(&["issue", "undo", &taken_back]).ok();
    s.loopx(&["issue", "close", &id, "--reason", "done elsewhere"])
        .ok();
    fs::remove_file(kept(&s)).expect("removed");
    let expected = said(&s);
    assert!(expected.0.contains("Another one") && !expected.0.contains("Taken back"));
    // From the file that was just kept, from an old one, and from none.
    assert_eq!(said(&s), expected);
    fs::write(kept(&s), before).expect("written");
    assert_eq!(said(&s), expected);
    fs::remove_file(kept(&s)).expect("removed");
    fs::create_dir(kept(&s)).expect("a folder in its place");
    assert_eq!(said(&s), expected);
}

#[test]
fn the_names_of_a_list_are_those_that_a_command_understands() {
    let s = many();
    said(&s);
    let list = s.loopx(&["--json", "issue", "list"]).json();
    let rows = list["issues"].as_array().expect("issues");
    assert_eq!(rows.len(), COUNT);
    for row in rows.iter().step_by(9) {
        let short = row["short"].as_str().expect("a name");
        let shown = s.loopx(&["--json", "issue", "show", short]).json();
        assert_eq!((&shown["id"], &shown["short"]), (&row["id"], &row["short"]));
    }
}

/// A forger who writes the kept file anew, with a sum that fits, hands out nothing that the records do not, ends
/// nothing and starts nothing.
#[test]
fn what_is_taken_ended_or_started_is_judged_by_its_records() {
    let s = many();
    let (words, _) = said(&s);
    assert!(words.contains("Part 2"), "{words}");
    let text = fs::read_to_string(kept(&s)).expect("a kept file");
    let (whole, _) = text.trim_end().rsplit_once('\n').expect("a sum");
    let line = |title: &str| {
        let title = format!("\"title\":\"{title}\"");
        let mut lines = whole.lines();
        lines.find(|line| line.contains(&title)).expect("a line")
    };
    let id = |line: &str| {
        let (_, id) = line.split_once("\"id\":\"").expect("an id");
        id.split('"').next().expect("an id").to_owned()
    };
    // Part 2 waits for Part 1, which the kept file says is closed, and Part 4 is closed and said to be open.
    let (blocked, free, closed) = (line("Part 2"), line("Part 1"), line("Part 4"));
    s.loopx(&["issue", "close", &id(closed), "--reason", "no"])
        .ok();
    said(&s);
    let text = fs::read_to_string(kept(&s)).expect("a kept file");
    let (whole, _) = text.trim_end().rsplit_once('\n').expect("a sum");
    let forged: Vec<String> = (whole.lines())
        .map(|line| {
            let (from, to) = match line {
                _ if line == free => ("\"status\":\"open\"", "\"status\":\"closed\""),
                _ if line.contains(&format!("\"id\":\"{}\"", id(closed))) => {
                    ("\"status\":\"closed\"", "\"status\":\"open\"")
                }
                _ => return line.to_owned(),
            };
            assert!(line.contains(from), "{line}");
            line.replacen(from, to, 1)
        })
        .collect();
    let forged = forged.join("\n") + "\n";
    let sum = format!("{:08x}\n", checksum(forged.as_bytes()));
    fs::write(kept(&s), forged + &sum).expect("written");
    let (words, _) = said(&s);
    assert!(words.contains("closed    "), "a list believes it: {words}");
    refused(&s, 1, "issue_blocked", &["issue", "take", &id(blocked)]);
    refused(&s, 1, "issue_ended", &["issue", "take", &id(closed)]);
    let why = ["issue", "resolve", &id(blocked), "--reason", "done"];
    refused(&s, 1, "issue_blocked", &why);
    for (code, line) in [("issue_blocked", blocked), ("issue_ended", closed)] {
        refused(&s, 1, code, &["start", "--quick", "--issue", &id(line)]);
    }
    s.loopx(&["issue", "take", &id(free)]).ok();
}
