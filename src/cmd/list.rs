//! `list`: the sessions as a board.

use super::issue;
use crate::cli::Exit;
use crate::flow;
use crate::flow::Context;
use crate::flow::issue::view;
use crate::flow::issue::view::Asked;
use crate::flow::list;
use crate::flow::list::{Board, Listed, Request};
use crate::flow::outline::Question;
use crate::ui::{Ui, layout, line, style};
use loopx_base::age::age;
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::lease::seconds_of;
use loopx_rules::next::Advised;
use loopx_rules::session::Ending;
use loopx_rules::stage::Stage;
use serde_json::json;

/// The number of issues that are shown where there is no session.
const FIRST_ISSUES: usize = 3;

/// List the sessions: the stage of each, whom it waits for, and the next command
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ListArgs {
    /// Only sessions whose id, title or branch contains this
    pub text: Option<String>,
    /// Archived and abandoned sessions too
    #[arg(short, long)]
    pub all: bool,
    /// Only sessions that you began, or touched last
    #[arg(long)]
    pub mine: bool,
    /// Only sessions in this stage
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Only sessions that wait for somebody else
    #[arg(long)]
    pub waiting: bool,
}

/// The column of what is next.
const NEXT: usize = 4;

/// Blanks before what is next on a line of its own.
const NEXT_INDENT: usize = 4;

/// Columns for a title, where there is room for one.
const TITLE: usize = 24;

pub(crate) fn list(args: ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let ListArgs {
        text,
        all,
        mine,
        stage,
        waiting,
    } = args;
    let request = Request {
        all,
        mine,
        stage,
        waiting,
        text,
    };
    let board = list::list(ctx, &request)?;
    let next = match (&board.sessions, request.is_filter()) {
        (none, true) if none.is_empty() => Some(command!("list").into()),
        (none, false) if none.is_empty() => Some(flow::begin::begin(ctx)?),
        _ => None,
    };
    ui.json("list", &document(&board));
    show(&board, ctx, ui);
    if let Some(next) = next {
        ui.next(&next);
    }
    Ok(Exit::Done)
}

/// The sessions that go on, and what is next for somebody who is in none of them.
pub(crate) fn board(ctx: &Context, next: &Advised, ui: &mut Ui) -> Result<Exit> {
    let board = list::list(ctx, &Request::default())?;
    let mut body = if ui.is_json() {
        json!(document(&board))
    } else {
        json!({})
    };
    // The page stands, whatever can be read of the backlog: `fsck` names what is damaged.
    let issues = if board.sessions.is_empty() {
        view::list(ctx, &first_issues()).ok()
    } else {
        None
    };
    if let Some(issues) = issues.as_ref().filter(|issues| issues.len() > 0) {
        body["issues"] = json!(issues.iter().collect::<Vec<_>>());
    }
    let taken = board.sessions.is_empty().then(|| view::taken_here(ctx));
    let taken = taken.and_then(|taken| taken.ok().flatten());
    let taken = taken.filter(|taken| taken.len() > 0);
    if let Some(taken) = &taken {
        body["taken"] = json!(taken.iter().collect::<Vec<_>>());
    }
    super::tell_next(&mut body, next);
    ui.json("list", &body);
    show(&board, ctx, ui);
    if let Some(taken) = &taken {
        for row in taken.iter() {
            issue::row_lines(ui, &taken.names, &row);
        }
    }
    if let Some(issues) = &issues {
        show_issues(issues, taken.is_none(), ui);
    }
    ui.next(next);
    Ok(Exit::Done)
}

/// The document of a board: of ten thousand rows it is made only where somebody reads it.
#[derive(serde::Serialize)]
struct Document<'b> {
    sessions: &'b [Listed],
    left_out: usize,
}

fn document(board: &Board) -> Document<'_> {
    Document {
        sessions: &board.sessions,
        left_out: board.left_out,
    }
}

/// The first issues of the backlog that somebody can begin.
fn first_issues() -> Asked {
    Asked {
        ready: true,
        limit: Some(FIRST_ISSUES),
        ..Asked::default()
    }
}

fn show_issues(issues: &view::Rows, leads: bool, ui: &mut Ui) {
    let Some(first) = issues.iter().next() else {
        return;
    };
    for row in issues.iter() {
        issue::row_lines(ui, &issues.names, &row);
    }
    if leads {
        let take = command!("issue take {}", first.short);
        let take = ui.command(&take);
        ui.status(format!("to begin with the backlog: {take}"));
    }
}

fn show(board: &Board, ctx: &Context, ui: &mut Ui) {
    for one in &board.sessions {
        if let Some(cause) = &one.unjudged {
            ui.warn(format!(
                "session {} is not judged: {}",
                one.session,
                line(cause)
            ));
        }
    }
    if ui.is_json() {
        return;
    }
    if board.sessions.is_empty() {
        nothing(board, ui)
    } else {
        table(&board.sessions, ctx.repo.now(), ui)
    }
    let is_left = |one: &&Listed| is_unjudged(one) && one.unjudged.is_none();
    let unjudged = board.sessions.iter().filter(is_left).count();
    if unjudged > 0 {
        ui.status(format!(
            "?: {} not checked, because only the sessions touched last are checked; to check one: {}; to check all that wait for others: {}",
            counted(unjudged, "session"),
            command!("next -s SESSION"),
            command!("list --waiting")
        ));
    }
    let asked = board.sessions.iter().map(|one| one.questions.len());
    let asked: usize = asked.sum();
    if asked > 0 && !ui.shows_codes() {
        ui.status(format!(
            "{} nobody has answered: {}",
            counted(asked, "question"),
            command!("list -v")
        ));
    }
    if board.ended > 0 && !board.sessions.is_empty() {
        ui.status(format!("those that have ended: {}", command!("list --all")));
    }
    if board.sessions.iter().any(|one| one.damage.is_some()) {
        let repair = command!("fsck --repair");
        ui.warn(format!(
            "some sessions are damaged; `{repair}` repairs them"
        ));
    }
}

fn nothing(board: &Board, ui: &mut Ui) {
    match (board.left_out, board.ended) {
        (0, _) => ui.status("no session yet"),
        (all, ended) if all == ended => {
            let all = command!("list --all");
            ui.status(format!(
                "no active session; {}: {all}",
                counted(ended, "ended one")
            ));
        }
        (left, _) => ui.status(format!("none of {} matches", counted(left, "session"))),
    }
}

/// Row of a session as cells: marker, id, stage, its gate, who is waited for, what is next, age, title.
struct Cells {
    texts: [String; 7],
    /// The next command as it is typed, where it is a command.
    next: Option<String>,
    current: bool,
    is_ready: bool,
    stage_role: Option<anstyle::Style>,
}

/// The cell of a session that waits for nobody, or that nobody looked at.
fn nothing_known(one: &Listed) -> String {
    if is_unjudged(one) {
        "?".to_owned()
    } else {
        "-".to_owned()
    }
}

/// Tells whether a session goes on, and nobody looked how.
fn is_unjudged(one: &Listed) -> bool {
    !one.judged && one.ending.is_none() && one.damage.is_none()
}

fn cells(one: &Listed, now: i64) -> Cells {
    let (stage, stage_role) = match (&one.damage, &one.ending, one.stage) {
        (Some(_), _, _) => ("damaged".to_owned(), Some(style::BAD)),
        (None, Some(Ending::Abandoned { .. }), _) => ("abandoned".to_owned(), Some(style::DIM)),
        (None, Some(Ending::Archived { .. }), _) => match &one.not_on {
            Some(target) => (
                format!("archived, not on {}", line(target)),
                Some(style::WARN),
            ),
            None => ("archived".to_owned(), Some(style::DIM)),
        },
        (None, None, Some(stage)) => (stage.to_string(), None),
        (None, None, None) => (String::new(), None),
    };
    let gate = match one.missing {
        Some(0) => "ready".to_owned(),
        Some(missing) => missing.to_string(),
        None => nothing_known(one),
    };
    let waits = match (&one.waits, &one.next_action, one.to_write) {
        (Some(waits), _, _) => line(&waits.who),
        (None, Some(_), _) | (None, None, true) => "you".to_owned(),
        (None, None, false) => nothing_known(one),
    };
    let next = match (&one.next_action, one.to_write) {
        (Some(next), _) => match next.command() {
            Some(command) => line(command.words()),
            None => line(&next.to_string()),
        },
        (None, true) => "(write)".to_owned(),
        (None, false) => nothing_known(one),
    };
    let since = one.started.as_deref().and_then(seconds_of);
    let title = match &one.damage {
        Some(damage) => line(damage),
        None => line(&one.title),
    };
    Cells {
        texts: [
            one.session.to_string(),
            stage,
            gate,
            waits,
            next,
            since.map_or_else(String::new, |then| age(now, then)),
            title,
        ],
        next: one.next_action.as_ref().map(|next| line(&next.to_string())),
        current: one.current,
        is_ready: one.missing == Some(0),
        stage_role,
    }
}

impl Cells {
    /// Colours the name, the stage and a gate that lacks nothing.
    fn paint(&self, cells: &mut [String], ui: &Ui) {
        let name = if self.current {
            style::GOOD
        } else {
            style::NAME
        };
        cells[0] = ui.paint(name, &cells[0]);
        if let Some(role) = self.stage_role {
            cells[1] = ui.paint(role, &cells[1]);
        }
        if self.is_ready {
            cells[2] = ui.paint(style::GOOD, &cells[2]);
        }
    }
}

/// The mark of the session that is meant here.
fn current_mark() -> &'static str {
    if layout::is_utf8() { "●" } else { "*" }
}

fn table(sessions: &[Listed], now: i64, ui: &mut Ui) {
    const HEADS: [&str; 7] = [
        "SESSION",
        "STAGE",
        "LACKS",
        "WAITS FOR",
        "NEXT",
        "AGE",
        "TITLE",
    ];
    let rows: Vec<Cells> = sessions.iter().map(|one| cells(one, now)).collect();
    let natural: Vec<usize> = (0..HEADS.len())
        .map(|at| {
            let texts = rows.iter().map(|row| layout::width(&row.texts[at]));
            texts.max().unwrap_or(0).max(layout::width(HEADS[at]))
        })
        .collect();
    let columns = layout::columns();
    let widths = fitted(&natural, columns);
    let shown = |texts: &[String]| -> Vec<String> {
        texts
            .iter()
            .zip(&widths)
            .map(|(text, width)| layout::cell(text, *width))
            .collect()
    };
    let join = |cells: &[String]| {
        let mut line = String::with_capacity(columns);
        for cell in cells.iter().filter(|cell| !cell.is_empty()) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            line.push_str(cell);
        }
        line.truncate(line.trim_end().len());
        line
    };
    let heads: Vec<String> = HEADS.iter().map(|head| (*head).to_owned()).collect();
    let head = join(&shown(&heads));
    ui.out(format!("  {}", ui.paint(style::DIM, &head)));
    let mut board = String::new();
    for (row, one) in rows.iter().zip(sessions) {
        let mut cells = shown(&row.texts);
        // Nobody types half of a command: what has no room in its column has a line of its own.
        let next = row
            .next
            .as_ref()
            .filter(|_| layout::width(&row.texts[NEXT]) > widths[NEXT]);
        if next.is_some() {
            cells[NEXT] = " ".repeat(widths[NEXT]);
        }
        row.paint(&mut cells, ui);
        let mark = if row.current { current_mark() } else { " " };
        for part in [mark, " ", &join(&cells), "\n"] {
            board.push_str(part);
        }
        let questions = one.questions.iter().filter(|_| ui.shows_codes());
        let asked = questions.map(|Question { number, by, text }| {
            format!("asked  @{number} {} ({})", line(text), line(by))
        });
        let below = next.cloned().into_iter().chain(asked);
        for text in below.flat_map(|text| layout::wrap(&text, columns - NEXT_INDENT)) {
            board.push_str(&format!("{:NEXT_INDENT$}{text}\n", ""));
        }
    }
    // In one piece: ten thousand writes cost more than what is in them.
    ui.out(board.trim_end_matches('\n'));
}

/// The widths of the columns in so many: what is long is cut first, then the title, the age, who is waited for and at last
/// the gate go, in this order; what is next stays.
fn fitted(natural: &[usize], columns: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let taken = |widths: &[usize]| {
        let shown = widths.iter().filter(|width| **width > 0);
        2 + shown
            .map(|width| width + 2)
            .sum::<usize>()
            .saturating_sub(2)
    };
    // (column, the least that it is cut to before it is left out)
    let steps = [
        (6, TITLE),
        (0, 28),
        (4, 16),
        (3, 12),
        (6, 0),
        (5, 0),
        (3, 0),
        (0, 14),
        (4, 8),
        (0, 10),
        (2, 0),
    ];
    for (at, least) in steps {
        let over = taken(&widths).saturating_sub(columns);
        if over == 0 {
            break;
        }
        let width = widths[at];
        widths[at] = match least {
            0 => 0,
            least => width.saturating_sub(over).max(least.min(width)),
        };
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn a_board_fits_the_screen_and_keeps_ids_longest() {
        let natural = [20, 8, 5, 30, 40, 10, 40];
        for columns in [40, 60, 80, 120, 300] {
            let widths = fitted(&natural, columns);
            let shown: Vec<usize> = widths.iter().copied().filter(|width| *width > 0).collect();
            let taken = 2 + shown.iter().map(|width| width + 2).sum::<usize>() - 2;
            assert!(taken <= columns, "{columns}: {widths:?}");
            assert!(widths[0] >= 10 && widths[1] == 8, "{columns}: {widths:?}");
            assert!(widths[4] >= 8, "{columns}: {widths:?}");
        }
        assert_eq!(fitted(&natural, 300), natural);
    }
}
