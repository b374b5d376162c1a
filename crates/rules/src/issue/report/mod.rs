//! A report of the backlog as one document: the board, what waits for what, statistics, and what was left day by day. It
//! needs nothing beside it: no script, no style sheet, no network.

mod graph;
mod html;
mod markdown;

use super::board::{Lane, about};
use super::stats::Stats;
use super::{Backlog, IssueId, Wait};
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// The format of a report.
    Format {
        Html = "html",
        Markdown = "markdown",
    }
);

/// The first line of every report. A file that begins with it is one, and may be written anew.
pub const MARK: &str = "<!-- made by git loopx issue report -->";

/// Content of a report.
pub struct Report<'r> {
    pub title: &'r str,
    /// Moment that the report is of.
    pub at: &'r str,
    pub day: &'r str,
    pub backlog: &'r Backlog,
    pub waits: &'r [Vec<Wait>],
    pub lanes: &'r [Lane],
    /// Issues that others wait for, each with who waits for it, by their places.
    pub edges: &'r [(usize, usize)],
    pub stats: &'r Stats,
    /// The short name of an issue.
    pub name: &'r dyn Fn(&IssueId) -> String,
}

impl Report<'_> {
    /// The document, marked as one.
    pub fn document(&self, format: Format) -> String {
        match format {
            Format::Html => html::document(self),
            Format::Markdown => markdown::document(self),
        }
    }

    fn short(&self, at: usize) -> String {
        (self.name)(&self.backlog.issues[at].id)
    }

    fn about(&self, at: usize) -> String {
        about(
            &self.backlog.issues[at],
            &self.waits[at],
            self.day,
            self.name,
        )
        .join(" ")
    }
}

/// The longest text of one place. What people see of a longer one is its beginning.
const LONGEST: usize = 300;

/// A text as one line that shows what stands in it: what controls a terminal, a line or the direction of a script is made
/// visible.
fn plain(text: &str) -> String {
    let line = loopx_base::clean(text).replace(['\n', '\t'], " ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let begin: String = line.chars().take(LONGEST).collect();
    format!("{}..", begin.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{Format, LONGEST, Report, graph, plain};
    use crate::issue::board::{LaneBy, lanes};
    use crate::issue::stats::{Asked, Course, stats};
    use crate::issue::{Backlog, Issue};

    /// Issues in a chain, each waiting for the one before, with a long title that somebody means ill with.
    fn chain(count: usize) -> Vec<Issue> {
        let issue = |at: usize| {
            let links = (at > 0).then(
                || serde_json::json!({"kind": "blocked-by", "to": format!("lx-{:010}", at - 1)}),
            );
            let links: Vec<serde_json::Value> = links.into_iter().collect();
            let signed = serde_json::json!({"by": {"name": "A", "email": "a@x"}, "at": "2026-01-01T00:00:00Z"});
            serde_json::from_value(serde_json::json!({
                "id": format!("lx-{at:010}"), "title": "<b>&\"'".repeat(1_300), "kind": "task", "status": "open", "priority": 2,
                "links": links, "created": signed, "changed": signed, "seq": 1, "newest": [],
            }))
            .expect("an issue")
        };
        (0..count).map(issue).collect()
    }

    fn document(count: usize, format: Format) -> String {
        let backlog = Backlog::of(chain(count));
        let waits = backlog.waits("2026-01-02");
        let courses = backlog.issues.iter().map(|issue| Course {
            issue,
            waits: &[],
            turns: Vec::new(),
        });
        let asked = Asked {
            now: 1_767_312_000,
            since: 1_767_225_600,
            stale: 30,
            step: None,
        };
        let stats = stats(&courses.collect::<Vec<_>>(), &asked);
        let all: Vec<usize> = (0..count).collect();
        let name = |id: &crate::issue::IssueId| id.to_string();
        let edges: Vec<(usize, usize)> = (1..count).map(|at| (at - 1, at)).collect();
        Report {
            title: "Backlog",
            at: "2026-01-02T00:00:00Z",
            day: "2026-01-02",
            backlog: &backlog,
            waits: &waits,
            lanes: &lanes(&backlog, &waits, (&all, Some(LaneBy::Owner)), name),
            edges: &edges,
            stats: &stats,
            name: &name,
        }
        .document(format)
    }

    #[test]
    fn a_report_grows_with_its_issues_and_not_with_their_square() {
        for format in [Format::Html, Format::Markdown] {
            let size = |count| document(count, format).len();
            let (few, more) = (size(200), size(400));
            assert!(more < 2 * few + 4_000, "{format}: {few} and {more}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_escaped_behind_the_cut() {
        assert_eq!(plain(&"x".repeat(10_000)).chars().count(), LONGEST + 2);
        assert_eq!(plain("a\nb\tc\u{202e}d"), "a b c<U+202E>d");
        let page = document(3, Format::Html);
        assert!(
            !page.contains("<b>") && page.len() < 40_000,
            "{}",
            page.len()
        );
        let text = document(3, Format::Markdown);
        assert!(
            !text.contains("<b>") && text.len() < 40_000,
            "{}",
            text.len()
        );
    }

    #[test]
    fn an_issue_stands_in_a_layer_behind_all_that_it_waits_for() {
        let layer = |edges: &[(usize, usize)]| {
            let found = graph::layers(edges).into_iter();
            found
                .map(|(at, (across, _))| (at, across))
                .collect::<Vec<_>>()
        };
        assert_eq!(layer(&[(1, 2), (2, 3), (1, 3)]), [(1, 0), (2, 1), (3, 2)]);
        // A cycle that only a merge makes ends all the same.
        assert_eq!(layer(&[(1, 2), (2, 1), (0, 1)]).len(), 3);
        assert_eq!(layer(&[]), []);
    }
}
