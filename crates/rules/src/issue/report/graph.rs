//! The picture of what waits for what: layers from left to right, each issue behind all that it waits for.

use super::{Report, html::escaped, plain};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const WIDTH: usize = 200;
const HEIGHT: usize = 34;
const ACROSS: usize = 260;
const DOWN: usize = 46;
const MARGIN: usize = 10;
/// Characters of a title that fit a box.
const FITS: usize = 30;

/// The issues of a picture with their layers and their places in them.
pub(super) fn layers(edges: &[(usize, usize)]) -> BTreeMap<usize, (usize, usize)> {
    let nodes: BTreeSet<usize> = edges
        .iter()
        .flat_map(|(one, other)| [*one, *other])
        .collect();
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut open: BTreeMap<usize, usize> = BTreeMap::new();
    for (one, other) in edges {
        behind.entry(*one).or_default().push(*other);
        *open.entry(*other).or_default() += 1;
    }
    let mut layer: BTreeMap<usize, usize> = BTreeMap::new();
    let mut free: Vec<usize> = nodes
        .iter()
        .copied()
        .filter(|at| !open.contains_key(at))
        .collect();
    for at in &free {
        layer.insert(*at, 0);
    }
    while let Some(at) = free.pop() {
        let next = layer[&at] + 1;
        for other in behind.get(&at).into_iter().flatten() {
            let known = layer.entry(*other).or_default();
            *known = (*known).max(next);
            if let Some(left) = open.get_mut(other) {
                *left -= 1;
                if *left == 0 {
                    free.push(*other);
                }
            }
        }
    }
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let placed = nodes.into_iter().map(|at| {
        // Those of a cycle wait for each other: they stand where the rest puts them.
        let across = layer.get(&at).copied().unwrap_or_default();
        let count = counts.entry(across).or_default();
        *count += 1;
        (at, (across, *count - 1))
    });
    placed.collect()
}

/// The picture, as part of a page.
pub(super) fn svg(report: &Report<'_>) -> String {
    let places = layers(report.edges);
    let most = |of: fn(&(usize, usize)) -> usize| places.values().map(of).max().unwrap_or_default();
    let (across, down) = (most(|place| place.0), most(|place| place.1));
    let corner = |place: &(usize, usize)| (MARGIN + place.0 * ACROSS, MARGIN + place.1 * DOWN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{}\" height=\"{}\">\n<title>What waits for what</title>\n",
        across * ACROSS + WIDTH + 2 * MARGIN,
        down * DOWN + HEIGHT + 2 * MARGIN
    );
    for (one, other) in report.edges {
        let (from, to) = (corner(&places[one]), corner(&places[other]));
        let _ = writeln!(
            out,
            "<path class=\"edge\" d=\"M{} {} C{} {} {} {} {} {}\"/>",
            from.0 + WIDTH,
            from.1 + HEIGHT / 2,
            from.0 + WIDTH + 30,
            from.1 + HEIGHT / 2,
            to.0.saturating_sub(30),
            to.1 + HEIGHT / 2,
            to.0,
            to.1 + HEIGHT / 2
        );
    }
    for (at, place) in &places {
        let issue = &report.backlog.issues[*at];
        let (x, y) = corner(place);
        let title: String = plain(&issue.title).chars().take(FITS).collect();
        let _ = writeln!(
            out,
            "<g class=\"{}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\"/>\
             <text x=\"{}\" y=\"{}\" class=\"id\">{}</text><text x=\"{}\" y=\"{}\">{}</text></g>",
            if issue.status.is_final() {
                "done"
            } else {
                "open"
            },
            escaped(&plain(&issue.title)),
            x + 6,
            y + 14,
            escaped(&report.short(*at)),
            x + 6,
            y + 28,
            escaped(&title)
        );
    }
    out.push_str("</svg>\n");
    out
}
