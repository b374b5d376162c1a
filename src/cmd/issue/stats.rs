//! `issue stats`.

use super::scope::ScopeArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::scope::Scoped;
use crate::flow::issue::stats as flow;
use crate::ui::layout;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::issue::Status;
use loopx_rules::issue::stats::{Burndown, Days, Stats, Step, Week};
use serde_json::json;

/// Show statistics of the backlog: how many, how many a week, how long, how old, and what was left day by day
///
/// Lead time is the time from the beginning of an issue until it was resolved, for what was resolved since then. An issue that
/// had ended when it was taken over from elsewhere counts in neither weeks nor lead times. Days and weeks are those of UTC.
#[derive(Clone, Debug, clap::Args)]
pub struct StatsArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// The moment from which weeks, lead times and the burndown count; seven weeks before this one where none is named
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// The step of the burndown; by weeks where it goes over more than a month
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(Step::WORDS))]
    by: Option<String>,
    /// Days without a change after which an open issue is stale
    #[arg(long, value_name = "DAYS", default_value_t = flow::Asked::STALE)]
    stale: u32,
}

pub(crate) fn run(args: StatsArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let asked = flow::Asked {
        since: args.since,
        step: args.by.as_deref().map(str::parse).transpose()?,
        stale: args.stale,
    };
    let (scoped, stats) = flow::stats(ctx, &args.scope.scope(ctx)?, &asked)?;
    print_counts(&scoped, &stats, asked.stale, ui);
    if stats.all > 0 {
        print_weeks(&stats.weeks, ui);
        print_burndown(&stats.burndown, ui);
    }
    if let Some(at) = &scoped.at {
        ui.status(format!("as of {at}"));
    }
    let mut body = json!(stats);
    body["at"] = json!(scoped.at);
    ui.json("issue stats", &body);
    Ok(Exit::Done)
}

fn row(ui: &mut Ui, name: &str, value: &str) {
    let name = ui.paint(style::HEAD, &layout::pad(name, 9));
    ui.fold_out(format!("{name}  {value}"), 11);
}

/// Numbers with their names, without those that are none.
fn listed(all: &[(&str, usize)]) -> String {
    let there = all.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = there
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    words.join(", ")
}

fn behind(count: usize, more: &str) -> String {
    if more.is_empty() {
        count.to_string()
    } else {
        format!("{count:<4} {more}")
    }
}

fn print_counts(scoped: &Scoped, stats: &Stats, stale: u32, ui: &mut Ui) {
    let of = |status| stats.statuses.get(&status).copied().unwrap_or_default();
    let open = [
        ("ready", stats.ready),
        ("waits", stats.waiting),
        ("taken", of(Status::InProgress)),
        ("overdue", stats.overdue),
        ("stale", stats.stale),
        ("nobody's", stats.unassigned),
    ];
    row(ui, "open", &behind(stats.open, &listed(&open)));
    let ended = [
        ("resolved", of(Status::Resolved)),
        ("closed", of(Status::Closed)),
    ];
    let over = stats.all - stats.open;
    row(ui, "ended", &behind(over, &listed(&ended)));
    let kinds: Vec<(&str, usize)> = stats
        .kinds
        .iter()
        .map(|(kind, count)| (kind.as_str(), *count))
        .collect();
    if !kinds.is_empty() {
        row(ui, "kind", &line(&listed(&kinds)));
    }
    let names: Vec<String> = (0..stats.priorities.len())
        .map(|number| format!("P{number}"))
        .collect();
    let priorities = names
        .iter()
        .map(String::as_str)
        .zip(stats.priorities.iter().copied());
    let priorities: Vec<(&str, usize)> = priorities.collect();
    if stats.open > 0 {
        row(ui, "priority", &listed(&priorities));
    }
    let days = |days: &Days| {
        let of = scoped.short(&days.of);
        format!(
            "median {} days, p90 {}, most {} ({of})",
            days.median, days.p90, days.most
        )
    };
    if let Some(age) = &stats.age {
        row(ui, "age", &days(age));
    }
    if let Some(lead) = &stats.lead {
        row(
            ui,
            "lead time",
            &format!("{}, of {} resolved", days(lead), lead.issues),
        );
    }
    if stats.stale > 0 {
        ui.status(format!(
            "stale: nobody changed it for {stale} days (issue list --stale {stale})"
        ));
    }
}

fn print_weeks(weeks: &[Week], ui: &mut Ui) {
    ui.out("");
    let head = "week of     came  resolved  closed";
    let head = ui.paint(style::HEAD, head);
    ui.out(head);
    for week in weeks {
        ui.out(format!(
            "{}  {:>4}  {:>8}  {:>6}",
            week.week, week.created, week.resolved, week.closed
        ));
    }
    let ended: usize = weeks.iter().map(|week| week.resolved + week.closed).sum();
    let rate = ended as f64 / weeks.len().max(1) as f64;
    ui.out(format!("{rate:.1} end in a week"));
}

fn print_burndown(burndown: &Burndown, ui: &mut Ui) {
    let most = burndown
        .points
        .iter()
        .map(|point| point.open + point.done)
        .max();
    let most = most.unwrap_or_default().max(1);
    let digits = most.to_string().len();
    let step = burndown.step;
    ui.out("");
    let head = ui.paint(style::HEAD, &format!("left by {step}"));
    let (open, done) = marks();
    ui.out(format!("{head}  {open} open, {done} done"));
    // The day, two spaces, the bar, a space, and `N of M`.
    let room = layout::columns()
        .saturating_sub(10 + 2 + 1 + 2 * digits + 4)
        .max(4);
    for point in &burndown.points {
        let all = point.open + point.done;
        let (left, over) = bar((point.open, point.done), most, room);
        let bar = format!(
            "{}{}",
            open.to_string().repeat(left),
            done.to_string().repeat(over)
        );
        let bar = layout::pad(&bar, room);
        ui.out(format!(
            "{}  {bar} {:>digits$} of {all:>digits$}",
            point.day, point.open
        ));
    }
}

/// The characters of a bar.
fn marks() -> (char, char) {
    if layout::is_utf8() {
        ('\u{2588}', '\u{2591}')
    } else {
        ('#', '.')
    }
}

/// The columns of what is open and of what is done, of so many; what is there at all has one at least.
fn bar((open, done): (usize, usize), most: usize, room: usize) -> (usize, usize) {
    let of = |count: usize| match count {
        0 => 0,
        count => (count * room / most).max(1),
    };
    let all = of(open + done);
    let left = of(open).min(all);
    (left, all - left)
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_fits_its_room_and_shows_whatever_is_there() {
        for room in [4, 10, 100] {
            for most in [1, 7, 1000] {
                for open in [0, 1, most / 2, most] {
                    let (left, over) = bar((open, most - open), most, room);
                    assert_eq!(left + over, room);
                    assert_eq!(left > 0, open > 0, "{open} of {most} in {room}");
                }
            }
        }
        assert_eq!(bar((0, 0), 5, 10), (0, 0));
        assert_eq!(bar((5, 5), 10, 10), (5, 5));
    }
}
