//! The report as Markdown, which a page of a forge or a job summary shows. What somebody wrote is text there and nothing
//! else: no link, no element, no picture.

use super::{MARK, Report, graph, plain};
use crate::issue::board::{Column, Lane};
use std::fmt::Write as _;

/// A text that stands for itself in a line, a list and a cell of a table.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Names and numbers of a forge would be links, and call somebody.
            '@' => out.push_str("@&#8203;"),
            '#' => out.push_str("\\#&#8203;"),
            c if c.is_ascii_punctuation() && !".,;'\"/-:?%".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // A bare address would be a link.
    out.replace("://", ":\\/\\/").replace("www.", "www\\.")
}

/// The document.
pub(super) fn document(report: &Report<'_>) -> String {
    let mut out = format!(
        "{MARK}\n\n# {}\n\nAs of {}.\n\n## Board\n",
        escaped(report.title),
        report.at
    );
    for lane in report.lanes {
        board(report, lane, &mut out);
    }
    out.push_str("\n## What waits for what\n\n");
    if report.edges.is_empty() {
        out.push_str("No open issue waits for another one.\n");
    } else {
        waits(report, &mut out);
    }
    statistics(report, &mut out);
    out
}

fn board(report: &Report<'_>, lane: &Lane, out: &mut String) {
    if let Some(title) = lane.heading() {
        let _ = write!(out, "\n### {}\n", escaped(&title));
    }
    for (column, places) in Column::ALL.iter().zip(&lane.columns) {
        if places.is_empty() {
            continue;
        }
        let _ = write!(out, "\n**{column}** {}\n\n", places.len());
        for at in places {
            let issue = &report.backlog.issues[*at];
            let _ = writeln!(
                out,
                "- `{}` {}<br>{}",
                report.short(*at),
                escaped(&issue.title),
                escaped(&report.about(*at))
            );
        }
    }
}

/// The picture by its ids alone, which no title can break, and the titles in a table.
fn waits(report: &Report<'_>, out: &mut String) {
    out.push_str("```mermaid\ngraph LR\n");
    for (one, other) in report.edges {
        let _ = writeln!(
            out,
            "  n{one}[{}] --> n{other}[{}]",
            report.short(*one),
            report.short(*other)
        );
    }
    out.push_str("```\n\n| issue | title |\n|---|---|\n");
    for at in graph::layers(report.edges).keys() {
        let title = &report.backlog.issues[*at].title;
        let _ = writeln!(out, "| `{}` | {} |", report.short(*at), escaped(title));
    }
}

fn statistics(report: &Report<'_>, out: &mut String) {
    let stats = report.stats;
    let _ = write!(
        out,
        "\n## Statistics\n\n- open: {} of {}; {} ready, {} wait, {} overdue, {} stale\n",
        stats.open, stats.all, stats.ready, stats.waiting, stats.overdue, stats.stale
    );
    for (name, days) in [
        ("age of what is open", &stats.age),
        ("lead time", &stats.lead),
    ] {
        if let Some(days) = days {
            let _ = writeln!(
                out,
                "- {name}: median {} days, p90 {}, most {} (`{}`)",
                days.median,
                days.p90,
                days.most,
                (report.name)(&days.of)
            );
        }
    }
    out.push_str("\n| week of | came | resolved | closed |\n|---|--:|--:|--:|\n");
    for week in &stats.weeks {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            week.week, week.created, week.resolved, week.closed
        );
    }
    let _ = write!(out, "\n## Left by {}\n\n```\n", stats.burndown.step);
    let points = &stats.burndown.points;
    let most = points.iter().map(|point| point.open + point.done).max();
    let most = most.unwrap_or_default().max(1);
    for point in points {
        let share = |count: usize| (count * 40).div_ceil(most).min(40);
        let bar = "#".repeat(share(point.open));
        let all = share(point.open + point.done).max(bar.len());
        let over = ".".repeat(all - bar.len());
        let rest = " ".repeat(40 - all);
        let _ = writeln!(
            out,
            "{}  {bar}{over}{rest}  {} of {}",
            point.day,
            point.open,
            point.open + point.done
        );
    }
    out.push_str("```\n");
}
