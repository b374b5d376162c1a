//! The header of plan.md: what the tasks determine, between two markers above the first section. The program writes what
//! stands between them; every other byte is the writer's.

use super::Complexity;
use crate::policy::Language;
use crate::task::file::TaskFile;
use crate::task::graph::Graph;
use crate::task::status::Status;
use loopx_base::counted;
use std::fmt::Write as _;
use std::ops::Range;

pub const BEGIN: &str = "<!-- loopx:tasks -->";
pub const END: &str = "<!-- /loopx:tasks -->";

/// Number of tasks in the table.
const ROWS: usize = 100;

/// Damage of the markers, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub line: usize,
    pub message: String,
}

/// Finds the place of the lines between the markers; nothing where there are no markers.
pub fn place(text: &str) -> Result<Option<Range<usize>>, Damage> {
    let mut begin: Option<(usize, usize)> = None;
    let mut found: Option<Range<usize>> = None;
    let mut is_below = false;
    let mut at = 0;
    let damage = |line: usize, message: &str| Damage {
        line,
        message: message.to_owned(),
    };
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let word = line.trim();
        is_below |= line.starts_with("## ");
        match (word, begin, &found) {
            (BEGIN | END, _, Some(_)) => {
                return Err(damage(number, "both markers are there twice"));
            }
            (BEGIN, Some(_), None) => {
                return Err(damage(number, "the first marker is there twice"));
            }
            (BEGIN, None, None) if is_below => {
                return Err(damage(number, "the markers stand below the first section"));
            }
            (BEGIN, None, None) => begin = Some((at + line.len(), number)),
            (END, None, None) => {
                return Err(damage(
                    number,
                    "the second marker is there without the first",
                ));
            }
            (END, Some((from, _)), None) => found = Some(from..at),
            _ => {}
        }
        at += line.len();
    }
    match (begin, found) {
        (Some((_, number)), None) => Err(damage(
            number,
            "the first marker is there without the second",
        )),
        (_, found) => Ok(found),
    }
}

/// The text with these lines between its markers; nothing where it has none, where they are damaged, or where it says
/// so already.
pub fn with(text: &str, lines: &str) -> Option<String> {
    let at = place(text).ok()??;
    let is_there = text.get(at.clone()) == Some(lines);
    (!is_there).then(|| format!("{}{lines}{}", &text[..at.start], &text[at.end..]))
}

/// The text with nothing between its markers: what its writer wrote.
pub fn without(text: &str) -> String {
    with(text, "").unwrap_or_else(|| text.to_owned())
}

/// The words of the header in one language.
struct Words {
    counts: fn([usize; 3], Complexity) -> String,
    titles: &'static str,
    more: fn(usize) -> String,
    groups: &'static str,
}

const ENGLISH: Words = Words {
    counts: |[tasks, groups, files], complexity| {
        format!(
            "{} in {}, {}, complexity {complexity}.",
            counted(tasks, "task"),
            counted(groups, "group"),
            counted(files, "file"),
        )
    },
    titles: "Title | Type | Priority | Effort | Dependencies | Group",
    more: |more| format!("And {more} more."),
    groups: "The tasks of one group can run side by side.",
};

const CHINESE: Words = Words {
    counts: |[tasks, groups, files], complexity| {
        let complexity = match complexity {
            Complexity::Low => "低",
            Complexity::Medium => "中",
            Complexity::High => "高",
        };
        format!("{tasks} 个任务，分 {groups} 组，涉及 {files} 个文件，复杂度{complexity}。")
    },
    titles: "标题 | 类型 | 优先级 | 工作量 | 依赖 | 组",
    more: |more| format!("还有 {more} 个。"),
    groups: "同一组的任务可以并行。",
};

/// The lines of the header, in the language of the plan. The same list gives the same bytes.
pub fn lines(file: &TaskFile, complexity: Complexity, language: Language) -> String {
    let words = match language {
        Language::Off => &ENGLISH,
        Language::Zh => &CHINESE,
    };
    let nodes = &file.nodes;
    let graph = Graph::of(nodes);
    let waves = graph.waves(&vec![Status::Pending; nodes.len()], None);
    let mut files: Vec<&str> = nodes
        .iter()
        .flat_map(|node| &node.files)
        .map(|one| one.path.as_str())
        .collect();
    files.sort_unstable();
    files.dedup();
    let mut out = String::new();
    let counts = [nodes.len(), waves.len(), files.len()];
    let _ = writeln!(out, "{}\n", (words.counts)(counts, complexity));
    if nodes.is_empty() {
        return out;
    }
    let _ = writeln!(
        out,
        "| # | ID | {} |\n|---|---|---|---|---|---|---|---|",
        words.titles
    );
    let mut group = vec![0; nodes.len()];
    for (number, wave) in (1..).zip(&waves) {
        for at in wave {
            group[*at] = number;
        }
    }
    for (at, node) in nodes.iter().enumerate().take(ROWS) {
        let on: Vec<&str> = node
            .depends_on
            .iter()
            .map(|edge| edge.on.as_str())
            .collect();
        let number = (at + 1).to_string();
        let on = on.join(", ");
        let group = group[at].to_string();
        let word = |field| file.word(at, field);
        let cells = [
            &number,
            node.id.as_str(),
            &node.title,
            &word("type"),
            &word("priority"),
            &word("effort"),
            &on,
            &group,
        ]
        .map(cell);
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    if let Some(more) = nodes.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(out, "\n{}", (words.more)(more));
    }
    let _ = writeln!(out, "\n{}", words.groups);
    out
}

/// A text in one cell of a table: on one line, and no marker, whatever it holds.
pub fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, Complexity, END, lines, place, with, without};
    use crate::policy::Language;
    use crate::task::file::read;

    #[test]
    fn what_stands_around_the_markers_stays_byte_for_byte() {
        let text = format!(
            "---\nscope: []\n---\n# Plan\r\n\n{BEGIN}\nold\n{END}\n\n## Problem\n\nIt  is.\t\n"
        );
        let new = with(&text, "new\n").expect("a new text");
        assert_eq!(new, text.replace("old\n", "new\n"));
        assert_eq!(with(&new, "new\n"), None);
        assert_eq!(without(&new), text.replace("old\n", ""));
        assert_eq!(with("# Plan\n", "new\n"), None);
    }

    #[test]
    fn damaged_markers_are_named_with_their_line_and_nothing_is_written() {
        for (text, line) in [
            (format!("# P\n{BEGIN}\nx\n"), 2),
            (format!("# P\n{END}\n"), 2),
            (format!("{BEGIN}\n{BEGIN}\n{END}\n"), 2),
            (format!("{BEGIN}\n{END}\n{END}\n"), 3),
            (format!("{END}\n{BEGIN}\n"), 1),
            (format!("## A\n\n{BEGIN}\n{END}\n"), 3),
        ] {
            assert_eq!(place(&text).expect_err(&text).line, line, "{text}");
            assert_eq!(with(&text, "new\n"), None);
            assert_eq!(without(&text), text);
        }
    }

    #[test]
    fn the_header_says_what_the_tasks_determine() {
        let list = r#"{"id":"A","title":"One | two\n<!-- /loopx:tasks -->","type":"fix","files":["src/a","src/b"],"effort":"small"}
{"id":"B","title":"Two","files":["src/a"],"depends_on":["A"]}
{"id":"C","title":"Three"}"#;
        let file = read(list).expect("a list");
        let text = lines(&file, Complexity::High, Language::Off);
        assert!(
            text.starts_with("3 tasks in 2 groups, 2 files, complexity high.\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "| 1 | A | One \\| two &lt;!-- /loopx:tasks --> | fix |  | small |  | 1 |\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("| 2 | B | Two |  |  |  | A | 2 |\n"),
            "{text}"
        );
        let plan = format!("# P\n{BEGIN}\n{END}\n## X\n");
        let plan = with(&plan, &text).expect("a plan");
        assert_eq!(
            with(&plan, &lines(&file, Complexity::High, Language::Off)),
            None,
            "the same bytes"
        );
        let many: String = (0..150)
            .map(|at| format!("{{\"id\":\"T{at}\",\"title\":\"T\"}}\n"))
            .collect();
        let many = read(&many).expect("a list");
        let in_both = [Language::Off, Language::Zh].map(|one| lines(&many, Complexity::Low, one));
        assert!(in_both[0].contains("And 50 more."));
        assert!(in_both[1].starts_with("150 个任务，分 1 组，涉及 0 个文件，复杂度低。\n"));
        assert!(!in_both[1].contains("task") && in_both[1].contains("还有 50 个。"));
    }
}
