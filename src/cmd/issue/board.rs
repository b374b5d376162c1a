//! `issue board`.

use super::scope::ScopeArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::board as flow;
use crate::flow::issue::scope::Scoped;
use crate::ui::layout;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::issue::board::{Column, Lane, LaneBy, about};
use serde_json::{Value, json};

/// The number of ended issues that are shown unless all are asked for.
const ENDED: usize = 5;
/// A column that is narrower says nothing.
const NARROWEST: usize = 18;
/// The space between two columns.
const GAP: usize = 2;

/// Show the backlog as a board: what waits, what is ready, what is taken and what is done
///
/// A card has two lines: the issue, and what it waits for or who has it, its priority, its criteria and its owner. On a narrow
/// screen the columns stand below each other.
#[derive(Clone, Debug, clap::Args)]
pub struct BoardArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// A board for each epic, owner or milestone
    #[arg(long, value_name = "BY", value_parser = clap::builder::PossibleValuesParser::new(LaneBy::WORDS))]
    lanes: Option<String>,
    /// Show all issues that have ended, and not only the last five of a board
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: BoardArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let by = args.lanes.as_deref().map(str::parse).transpose()?;
    let (scoped, lanes) = flow::board(ctx, &args.scope.scope(ctx)?, by)?;
    let most = if args.all { usize::MAX } else { ENDED };
    ui.lines(|ui| {
        for (at, lane) in lanes.iter().enumerate() {
            if at > 0 {
                ui.out("");
            }
            if let Some(title) = lane.heading() {
                let title = ui.paint(style::HEAD, &line(&title));
                ui.out(title);
            }
            print(&scoped, lane, most, ui);
        }
    });
    let at = scoped.at.as_ref();
    if let Some(at) = at {
        ui.status(format!("as of {at}"));
    }
    let next = flow::next(ctx, &scoped, &lanes);
    if let Some(next) = &next {
        ui.hint(next);
    }
    let lanes: Vec<Value> = lanes
        .iter()
        .map(|lane| document(&scoped, lane, most))
        .collect();
    ui.json(
        "issue board",
        &json!({ "lanes": lanes, "at": at, "next_action": next }),
    );
    Ok(Exit::Done)
}

/// The cards of a column that are shown.
fn cards(lane: &Lane, column: usize, most: usize) -> &[usize] {
    let all = lane.columns[column].as_slice();
    match Column::ALL[column] {
        Column::Done => &all[..all.len().min(most)],
        _ => all,
    }
}

fn document(scoped: &Scoped, lane: &Lane, most: usize) -> Value {
    let columns = Column::ALL.iter().enumerate().map(|(at, column)| {
        let cards = cards(lane, at, most).iter();
        let cards = cards.map(|at| {
            let issue = &scoped.backlog.issues[*at];
            json!({
                "id": issue.id, "short": scoped.short(&issue.id), "title": issue.title, "status": issue.status,
                "priority": issue.priority, "waits": scoped.waits[*at],
                "about": about(issue, &scoped.waits[*at], &scoped.day(), |id| scoped.short(id)),
            })
        });
        let cards: Vec<Value> = cards.collect();
        json!({ "column": column, "count": lane.columns[at].len(), "cards": cards })
    });
    let columns: Vec<Value> = columns.collect();
    let mut document = json!({ "lane": lane.title, "columns": columns });
    if let Some((done, all)) = lane.parts {
        document["parts"] = json!({ "done": done, "all": all });
    }
    document
}

fn print(scoped: &Scoped, lane: &Lane, most: usize, ui: &mut Ui) {
    // A column without an issue takes no room.
    let there: Vec<usize> = (0..Column::ALL.len())
        .filter(|at| !lane.columns[*at].is_empty())
        .collect();
    if there.is_empty() {
        ui.out("no issues");
        return;
    }
    let wide = layout::columns();
    let width = (wide + GAP) / there.len() - GAP;
    let is_narrow = width < NARROWEST;
    let width = if is_narrow { wide } else { width };
    let columns = there
        .iter()
        .map(|at| column(scoped, lane, (*at, most), width, ui));
    let columns: Vec<Vec<(usize, String)>> = columns.collect();
    if is_narrow {
        for (_, line) in columns.iter().flatten() {
            ui.out(line);
        }
        return;
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or_default();
    for row in 0..rows {
        let mut text = String::new();
        let mut gap = 0;
        for lines in &columns {
            let (taken, line) = lines
                .get(row)
                .map_or((0, ""), |(taken, line)| (*taken, line.as_str()));
            if taken > 0 {
                text.push_str(&" ".repeat(gap));
                text.push_str(line);
                gap = 0;
            }
            gap += width - taken + GAP;
        }
        ui.out(text);
    }
}

/// The lines of a column, each with the columns of the screen that it takes.
fn column(
    scoped: &Scoped,
    lane: &Lane,
    (at, most): (usize, usize),
    width: usize,
    ui: &Ui,
) -> Vec<(usize, String)> {
    let painted = |role, text: &str| {
        let text = layout::cut(text, width);
        (layout::width(&text), ui.paint(role, &text))
    };
    let column = Column::ALL[at];
    let count = lane.columns[at].len();
    let mut lines = vec![painted(style::HEAD, &format!("{column} {count}"))];
    let shown = cards(lane, at, most);
    for at in shown {
        let issue = &scoped.backlog.issues[*at];
        let short = scoped.short(&issue.id);
        let title = layout::cut(&format!("{short} {}", line(&issue.title)), width);
        let title = match title.strip_prefix(&short) {
            Some(rest) => (
                layout::width(&title),
                format!("{}{rest}", ui.paint(style::NAME, &short)),
            ),
            None => (layout::width(&title), title),
        };
        let about = about(issue, &scoped.waits[*at], &scoped.day(), |id| {
            scoped.short(id)
        });
        lines.push(title);
        lines.push(painted(
            style::DIM,
            &format!("  {}", line(&about.join(" "))),
        ));
    }
    if shown.len() < count {
        let more = format!("  and {} more (--all)", count - shown.len());
        lines.push(painted(style::DIM, &more));
    }
    lines
}
