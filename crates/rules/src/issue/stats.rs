//! Statistics of a backlog: how many there are, how many end in a week, how long it takes, and what was left on each day.
//! All of it follows from the issues and from the turns that their records give.

use super::then::Turn;
use super::{Issue, IssueId, LAST_PRIORITY, Status, Wait};
use crate::lease::seconds_of;
use crate::when::{begin_of, day_of};
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::collections::BTreeMap;

const DAY: i64 = 86_400;
/// A burndown over more days than these goes by weeks where nobody says otherwise.
const MOST_DAYS: i64 = 31;

vocabulary!(
    /// The distance between two points of a burndown.
    Step {
        Day = "day",
        Week = "week",
    }
);

/// An issue with what statistics ask of it.
#[derive(Clone, Debug)]
pub struct Course<'i> {
    pub issue: &'i Issue,
    pub waits: &'i [Wait],
    /// Turns of the issue, oldest first.
    pub turns: Vec<Turn>,
}

/// The questions to the statistics.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub now: i64,
    /// The second from which weeks, lead times and the burndown count.
    pub since: i64,
    /// Days without a change after which an issue is stale.
    pub stale: u32,
    /// The step of the burndown; by the length of the time where nobody says.
    pub step: Option<Step>,
}

/// A number of days over several issues.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Days {
    pub issues: usize,
    pub median: f64,
    pub p90: f64,
    pub most: f64,
    /// The issue that has the most.
    pub of: IssueId,
}

/// The issues that came and that ended in a week.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Week {
    /// Monday that the week begins with.
    pub week: String,
    pub created: usize,
    pub resolved: usize,
    pub closed: usize,
}

/// The issues that were left at the end of a day or a week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The day, or the Monday of the week.
    pub day: String,
    pub open: usize,
    pub done: usize,
}

/// The issues that were left, step by step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Burndown {
    pub step: Step,
    pub points: Vec<Point>,
}

/// The statistics of some issues.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    pub all: usize,
    pub open: usize,
    pub statuses: BTreeMap<Status, usize>,
    /// Numbers of the issues that are open.
    pub ready: usize,
    pub waiting: usize,
    pub overdue: usize,
    pub stale: usize,
    pub unassigned: usize,
    pub kinds: BTreeMap<String, usize>,
    pub priorities: Vec<usize>,
    pub weeks: Vec<Week>,
    /// Days from the beginning of an issue until it was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<Days>,
    /// Days since the beginning of what is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Days>,
    pub burndown: Burndown,
}

/// The statistics of some issues.
pub fn stats(all: &[Course<'_>], asked: &Asked) -> Stats {
    let is_open = |one: &&Course<'_>| !one.issue.status.is_final();
    let open: Vec<&Course<'_>> = all.iter().filter(is_open).collect();
    let count = |holds: &dyn Fn(&Course<'_>) -> bool| open.iter().filter(|one| holds(one)).count();
    let mut statuses = BTreeMap::new();
    for one in all {
        *statuses.entry(one.issue.status).or_default() += 1;
    }
    let mut kinds = BTreeMap::new();
    let mut priorities = vec![0; usize::from(LAST_PRIORITY) + 1];
    for one in &open {
        *kinds.entry(one.issue.kind.clone()).or_default() += 1;
        if let Some(number) = priorities.get_mut(usize::from(one.issue.priority)) {
            *number += 1;
        }
    }
    let today = day_of(asked.now);
    let stale = asked.now - i64::from(asked.stale) * DAY;
    let days = |from: i64, to: i64| (to - from).max(0) as f64 / DAY as f64;
    let ages = open.iter().filter_map(|one| {
        let began = began(one.issue)?;
        Some((days(began, asked.now), &one.issue.id))
    });
    let leads = all.iter().filter_map(|one| {
        let (ended, status) = ended(one)?;
        let is_meant = status == Status::Resolved && ended >= asked.since;
        let began = began(one.issue)?;
        is_meant.then(|| (days(began, ended), &one.issue.id))
    });
    Stats {
        all: all.len(),
        open: open.len(),
        statuses,
        ready: count(&|one| one.issue.is_ready(one.waits)),
        waiting: count(&|one| !one.waits.is_empty()),
        overdue: count(&|one| one.issue.due.as_ref().is_some_and(|day| *day < today)),
        stale: count(&|one| seconds_of(&one.issue.changed.at).is_none_or(|at| at < stale)),
        unassigned: count(&|one| one.issue.assignee.is_none()),
        kinds,
        priorities,
        weeks: weeks(all, asked),
        lead: spread(leads.collect()),
        age: spread(ages.collect()),
        burndown: burndown(all, asked),
    }
}

/// The second at which an issue began: where it was taken over from, if that says so.
fn began(issue: &Issue) -> Option<i64> {
    let made = issue
        .made
        .as_ref()
        .and_then(|made| seconds_of(made.at.as_deref()?));
    made.or_else(|| seconds_of(&issue.created.at))
}

/// The second at which an issue ended, and how; nothing of one that had ended when it came: nobody knows when that was.
fn ended(one: &Course<'_>) -> Option<(i64, Status)> {
    let last = one.turns.last()?;
    let status = last.status.filter(|status| status.is_final())?;
    (one.turns.len() > 1).then_some((last.second, status))
}

/// Median, ninth tenth and most of some numbers, by their nearest ranks.
fn spread(mut all: Vec<(f64, &IssueId)>) -> Option<Days> {
    all.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(one.1)));
    let rank = |percent: usize| {
        let at = (all.len() * percent).div_ceil(100).max(1) - 1;
        tenth(all[at].0)
    };
    let (most, of) = all.last()?;
    Some(Days {
        issues: all.len(),
        median: rank(50),
        p90: rank(90),
        most: tenth(*most),
        of: (*of).clone(),
    })
}

fn tenth(days: f64) -> f64 {
    (days * 10.0).round() / 10.0
}

/// The first second of the week of a second: its Monday.
fn week_of(second: i64) -> i64 {
    // The first day of 1970 was a Thursday.
    let days = begin_of(second).div_euclid(DAY) + 3;
    (days.div_euclid(7) * 7 - 3) * DAY
}

fn weeks(all: &[Course<'_>], asked: &Asked) -> Vec<Week> {
    let first = week_of(first(all, asked));
    let count = usize::try_from((week_of(asked.now) - first) / (7 * DAY) + 1).unwrap_or(0);
    let begins = (0_i64..).map(|at| first + at * 7 * DAY);
    let weeks = begins.take(count).map(|begin| Week {
        week: day_of(begin),
        ..Week::default()
    });
    let mut weeks: Vec<Week> = weeks.collect();
    let place = |second: i64| usize::try_from((week_of(second) - first).div_euclid(7 * DAY)).ok();
    for one in all {
        let came = one.turns.first().and_then(|turn| place(turn.second));
        if let Some(week) = came.and_then(|at| weeks.get_mut(at)) {
            week.created += 1;
        }
        let Some((second, status)) = ended(one) else {
            continue;
        };
        if let Some(week) = place(second).and_then(|at| weeks.get_mut(at)) {
            match status {
                Status::Resolved => week.resolved += 1,
                _ => week.closed += 1,
            }
        }
    }
    weeks
}

/// The second with which a series begins: that of the first record at the earliest.
fn first(all: &[Course<'_>], asked: &Asked) -> i64 {
    let firsts = all.iter().filter_map(|one| Some(one.turns.first()?.second));
    let first = firsts.min().unwrap_or(asked.now);
    first.max(asked.since).min(asked.now)
}

fn burndown(all: &[Course<'_>], asked: &Asked) -> Burndown {
    let first = first(all, asked);
    let step = asked
        .step
        .unwrap_or(if asked.now - first > MOST_DAYS * DAY {
            Step::Week
        } else {
            Step::Day
        });
    let (mut begin, length) = match step {
        Step::Day => (begin_of(first), DAY),
        Step::Week => (week_of(first), 7 * DAY),
    };
    // Turn by turn: of each issue the step that it took, at the point behind it.
    let mut turns: Vec<(i64, isize, isize)> = Vec::new();
    for one in all {
        let mut before = None;
        for turn in &one.turns {
            let is = |status: Option<Status>, ended: bool| {
                isize::from(status.is_some_and(|status| status.is_final() == ended))
            };
            turns.push((
                turn.second,
                is(turn.status, false) - is(before, false),
                is(turn.status, true) - is(before, true),
            ));
            before = turn.status;
        }
    }
    turns.sort_unstable();
    let mut turns = turns.into_iter().peekable();
    let (mut open, mut done) = (0_isize, 0_isize);
    let mut points = Vec::new();
    while begin <= asked.now {
        let end = (begin + length - 1).min(asked.now);
        while let Some((_, opened, ended)) = turns.next_if(|turn| turn.0 <= end) {
            open += opened;
            done += ended;
        }
        points.push(Point {
            day: day_of(begin),
            open: open.unsigned_abs(),
            done: done.unsigned_abs(),
        });
        begin += length;
    }
    Burndown { step, points }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Course, Point, Stats, Step, Week, stats};
    use crate::issue::then::Turn;
    use crate::issue::{Issue, Status};
    use crate::lease::seconds_of;

    fn second(day: &str) -> i64 {
        seconds_of(&format!("{day}T12:00:00Z")).expect("a day")
    }

    /// An issue by its turns.
    fn issue(at: usize, turns: &[(&str, Status)]) -> Issue {
        let signed = |day: &str| serde_json::json!({"by": {"name": "A", "email": "a@x"}, "at": format!("{day}T12:00:00Z")});
        let last = turns.last().expect("a turn");
        serde_json::from_value(serde_json::json!({
            "id": format!("lx-{at:010}"), "title": "T", "kind": "task", "status": last.1, "priority": 2,
            "created": signed(turns[0].0), "changed": signed(last.0), "seq": 1, "newest": [],
        }))
        .expect("an issue")
    }

    fn of(all: &[&[(&str, Status)]], since: &str, step: Option<Step>) -> Stats {
        let issues: Vec<Issue> = all
            .iter()
            .enumerate()
            .map(|(at, turns)| issue(at, turns))
            .collect();
        let courses: Vec<Course<'_>> = issues
            .iter()
            .zip(all)
            .map(|(issue, turns)| Course {
                issue,
                waits: &[],
                turns: turns
                    .iter()
                    .map(|(day, status)| Turn {
                        second: second(day),
                        status: Some(*status),
                    })
                    .collect(),
            })
            .collect();
        stats(
            &courses,
            &Asked {
                now: second("2026-01-15"),
                since: second(since),
                stale: 7,
                step,
            },
        )
    }

    #[test]
    fn lead_times_are_those_of_what_was_resolved_in_the_time() {
        let resolved = |from, to| vec![(from, Status::Open), (to, Status::Resolved)];
        let all = [
            resolved("2026-01-01", "2026-01-02"),
            resolved("2026-01-01", "2026-01-04"),
            resolved("2026-01-01", "2026-01-11"),
            // Before the time, by another word, again open, and brought as it was.
            resolved("2025-01-01", "2025-12-01"),
            vec![("2026-01-01", Status::Open), ("2026-01-09", Status::Closed)],
            vec![
                ("2026-01-01", Status::Open),
                ("2026-01-02", Status::Resolved),
                ("2026-01-14", Status::Open),
            ],
            vec![("2026-01-05", Status::Resolved)],
        ];
        let all: Vec<&[(&str, Status)]> = all.iter().map(Vec::as_slice).collect();
        let found = of(&all, "2026-01-01", None);
        let lead = found.lead.expect("lead times");
        assert_eq!(
            (lead.issues, lead.median, lead.p90, lead.most),
            (3, 3.0, 10.0, 10.0)
        );
        assert_eq!(lead.of.as_str(), "lx-0000000002");
        let age = found.age.expect("an age");
        assert_eq!(
            (age.issues, age.median, age.of.as_str()),
            (1, 14.0, "lx-0000000005")
        );
        assert_eq!((found.all, found.open, found.stale), (7, 1, 0));
        assert_eq!(found.statuses[&Status::Resolved], 5);
    }

    #[test]
    fn a_week_has_what_came_and_what_ended_in_it() {
        let all: [&[(&str, Status)]; 3] = [
            &[
                ("2026-01-04", Status::Open),
                ("2026-01-05", Status::Resolved),
            ],
            &[("2026-01-06", Status::Open), ("2026-01-12", Status::Closed)],
            &[("2026-01-15", Status::Open)],
        ];
        let week = |week: &str, created, resolved, closed| Week {
            week: week.to_owned(),
            created,
            resolved,
            closed,
        };
        assert_eq!(
            of(&all, "1900-01-01", None).weeks,
            [
                week("2025-12-29", 1, 0, 0),
                week("2026-01-05", 1, 1, 0),
                week("2026-01-12", 1, 0, 1),
            ]
        );
    }

    #[test]
    fn a_burndown_says_what_was_left_at_the_end_of_each_day_or_week() {
        let all: [&[(&str, Status)]; 2] = [
            &[
                ("2026-01-10", Status::Open),
                ("2026-01-12", Status::Resolved),
                ("2026-01-13", Status::Open),
            ],
            &[
                ("2026-01-11", Status::Open),
                ("2026-01-14", Status::InProgress),
                ("2026-01-15", Status::Closed),
            ],
        ];
        let points = |since, step| {
            let found = of(&all, since, step).burndown.points.into_iter();
            found
                .map(|Point { day, open, done }| (day, open, done))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("2026-01-10", 1, 0),
            ("2026-01-11", 2, 0),
            ("2026-01-12", 1, 1),
            ("2026-01-13", 2, 0),
            ("2026-01-14", 2, 0),
            ("2026-01-15", 1, 1),
        ];
        let expected = expected.map(|(day, open, done)| (day.to_owned(), open, done));
        assert_eq!(points("2026-01-01", Some(Step::Day)), expected);
        assert_eq!(
            points("2026-01-13", None),
            expected[3..],
            "what came before is in it"
        );
        assert_eq!(
            points("2026-01-01", Some(Step::Week)),
            [
                ("2026-01-05".to_owned(), 2, 0),
                ("2026-01-12".to_owned(), 1, 1)
            ]
        );
        assert_eq!(of(&[], "2026-01-01", None).burndown.points.len(), 1);
    }
}
