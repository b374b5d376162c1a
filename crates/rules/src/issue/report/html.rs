//! The report as a page: escaped wherever somebody wrote, laid out by its own few styles, shut to everything else.

use super::{MARK, Report, graph, plain};
use crate::issue::board::{Column, Lane};
use crate::issue::stats::Days;
use std::fmt::Write as _;

/// A text that stands for itself in an element and in a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text that somebody wrote, whatever the direction of its script: it turns nothing beside it.
fn said(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(&plain(text)))
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.4 system-ui,sans-serif;margin:1.5rem auto;max-width:90rem;padding:0 1rem}\
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}\
.board{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:1rem}\
.column>h4{margin:0 0 .4rem;font-size:.9rem}\
.card{border:1px solid #8886;border-left:4px solid #888;border-radius:4px;padding:.35rem .5rem;margin:0 0 .4rem;overflow-wrap:anywhere}\
.ready .card{border-left-color:#2a2}.taken .card{border-left-color:#c80}.waits .card{border-left-color:#b33}\
.about,.small{color:#777;font-size:.85rem}.id{font-family:ui-monospace,monospace;font-weight:600}\
table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}\
.number{text-align:right;font-variant-numeric:tabular-nums}\
.bar{display:inline-block;height:.8rem;vertical-align:middle}.left{background:#36c}.over{background:#8885}\
.wide{overflow:auto}svg text{font-size:11px;fill:currentColor}svg rect{fill:none;stroke:#888}svg .done rect{stroke-dasharray:3}\
svg .edge{fill:none;stroke:#888}\n";

/// The page.
pub(super) fn document(report: &Report<'_>) -> String {
    let mut out = format!(
        "{MARK}\n<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{1}</h1>\n\
         <p class=\"small\">as of <time>{2}</time></p>\n",
        escaped(&plain(report.title)),
        said(report.title),
        escaped(report.at)
    );
    out.push_str("<h2>Board</h2>\n");
    for lane in report.lanes {
        board(report, lane, &mut out);
    }
    out.push_str("<h2>What waits for what</h2>\n");
    if report.edges.is_empty() {
        out.push_str("<p>No open issue waits for another one.</p>\n");
    } else {
        let _ = writeln!(out, "<div class=\"wide\">{}</div>", graph::svg(report));
    }
    statistics(report, &mut out);
    burndown(report, &mut out);
    out.push_str("</body>\n</html>\n");
    out
}

fn board(report: &Report<'_>, lane: &Lane, out: &mut String) {
    if let Some(title) = lane.heading() {
        let _ = writeln!(out, "<h3>{}</h3>", said(&title));
    }
    out.push_str("<div class=\"board\">\n");
    for (column, places) in Column::ALL.iter().zip(&lane.columns) {
        let _ = writeln!(
            out,
            "<section class=\"column {column}\"><h4>{column} {}</h4>",
            places.len()
        );
        for at in places {
            let issue = &report.backlog.issues[*at];
            let _ = write!(
                out,
                "<article class=\"card\" title=\"{}\"><span class=\"id\">{}</span> {}",
                escaped(issue.id.as_str()),
                escaped(&report.short(*at)),
                said(&issue.title)
            );
            let labels = issue.labels.iter().map(|label| format!(" #{label}"));
            let about = format!("{}{}", report.about(*at), labels.collect::<String>());
            let _ = writeln!(out, "<div class=\"about\">{}</div></article>", said(&about));
        }
        out.push_str("</section>\n");
    }
    out.push_str("</div>\n");
}

fn statistics(report: &Report<'_>, out: &mut String) {
    let stats = report.stats;
    out.push_str("<h2>Statistics</h2>\n<table>\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "<tr><th>{name}</th><td>{}</td></tr>", escaped(value));
    };
    row(
        "open",
        &format!(
            "{} of {}: {} ready, {} wait, {} overdue, {} stale",
            stats.open, stats.all, stats.ready, stats.waiting, stats.overdue, stats.stale
        ),
    );
    let counts = stats
        .statuses
        .iter()
        .map(|(status, count)| format!("{status} {count}"));
    row("status", &counts.collect::<Vec<_>>().join(", "));
    let kinds = stats
        .kinds
        .iter()
        .map(|(kind, count)| format!("{} {count}", plain(kind)));
    row("kind", &kinds.collect::<Vec<_>>().join(", "));
    let days = |days: &Days| {
        format!(
            "median {} days, p90 {}, most {} ({})",
            days.median,
            days.p90,
            days.most,
            (report.name)(&days.of)
        )
    };
    if let Some(age) = &stats.age {
        row("age of what is open", &days(age));
    }
    if let Some(lead) = &stats.lead {
        row(
            "lead time",
            &format!("{}, of {} resolved", days(lead), lead.issues),
        );
    }
    out.push_str("</table>\n<table>\n<tr><th>week of</th><th>came</th><th>resolved</th><th>closed</th></tr>\n");
    for week in &stats.weeks {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            week.week, week.created, week.resolved, week.closed
        );
    }
    out.push_str("</table>\n");
}

fn burndown(report: &Report<'_>, out: &mut String) {
    let burndown = &report.stats.burndown;
    let _ = writeln!(out, "<h2>Left by {}</h2>\n<table>", burndown.step);
    let all = burndown.points.iter().map(|point| point.open + point.done);
    let most = all.max().unwrap_or_default().max(1);
    for point in &burndown.points {
        let share = |count: usize| count as f64 * 40.0 / most as f64;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td><span class=\"bar left\" style=\"width:{:.2}rem\"></span>\
             <span class=\"bar over\" style=\"width:{:.2}rem\"></span></td><td class=\"number\">{} of {}</td></tr>",
            point.day,
            share(point.open),
            share(point.done),
            point.open,
            point.open + point.done
        );
    }
    out.push_str("</table>\n");
}
