//! Issues that come again: how often, which of them this is, and what the next one is like. The next one follows from the
//! one before by these rules alone, so that clones that end it apart make one.

use super::event::Change;
use super::{Issue, IssueId, Link, LinkKind, Texts};
use crate::lease::seconds_of;
use crate::when::day_of;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most units of a period.
const MOST: u16 = 999;

/// The unit of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

/// The time from one issue to the next: `1d`, `2w`, `1mo`, `1y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period {
    count: u16,
    unit: Unit,
}

impl FromStr for Period {
    type Err = String;

    /// Reads `2w`, `P2W`, `2 weeks`, and `week` for one.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_lowercase();
        let iso = lower.strip_prefix('p');
        let body = iso.unwrap_or(&lower);
        let at = body
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(body.len());
        let count = if at == 0 { Ok(1) } else { body[..at].parse() };
        let unit = match body[at..].trim() {
            "d" | "day" | "days" => Some(Unit::Day),
            "w" | "week" | "weeks" => Some(Unit::Week),
            "m" if iso.is_some() => Some(Unit::Month),
            "mo" | "month" | "months" => Some(Unit::Month),
            "y" | "year" | "years" => Some(Unit::Year),
            _ => None,
        };
        match (count, unit) {
            (Ok(count), Some(unit)) if (1..=MOST).contains(&count) => Ok(Period { count, unit }),
            _ => Err(format!(
                "expected a period like 1d, 2w, 1mo or 1y, found `{text}`"
            )),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Day => "d",
            Unit::Week => "w",
            Unit::Month => "mo",
            Unit::Year => "y",
        };
        write!(f, "{}{unit}", self.count)
    }
}

impl TryFrom<String> for Period {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

impl Period {
    /// The day a period after a day; the last of the month where that month is shorter. A day that was moved there from
    /// that of the first goes back to it.
    pub fn after(self, day: &str, first: Option<&str>) -> Option<String> {
        let count = i64::from(self.count);
        let days = |days: i64| {
            let begin = seconds_of(&format!("{day}T00:00:00Z"))?;
            Some(day_of(begin + days * 86_400))
        };
        let months = match self.unit {
            Unit::Day => return days(count),
            Unit::Week => return days(7 * count),
            Unit::Month => count,
            Unit::Year => 12 * count,
        };
        let (year, month, of_month) = parts(day)?;
        let wanted = first.and_then(parts).map(|(_, _, of_first)| of_first);
        let wanted = wanted.filter(|wanted| in_month(year, month, *wanted).as_deref() == Some(day));
        let all = year * 12 + (month - 1) + months;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) + 1);
        in_month(year, month, wanted.unwrap_or(of_month))
    }
}

/// Year, month and day of a day.
fn parts(day: &str) -> Option<(i64, i64, i64)> {
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// A day of a month, or its last where it is shorter.
fn in_month(year: i64, month: i64, of_month: i64) -> Option<String> {
    (1..=of_month).rev().take(4).find_map(|of_month| {
        let day = format!("{year:04}-{month:02}-{of_month:02}");
        super::filter::is_day(&day).then_some(day)
    })
}

/// The way in which an issue comes again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    pub every: Period,
    /// First issue of those that come again; nothing for the first itself. `number`: the number of this one behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<IssueId>,
    #[serde(default, skip_serializing_if = "is_first")]
    pub number: u32,
}

fn is_first(number: &u32) -> bool {
    *number == 0
}

impl Repeat {
    pub fn first(every: Period) -> Self {
        Repeat {
            every,
            of: None,
            number: 0,
        }
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.every)?;
        match &self.of {
            Some(of) => write!(f, ", number {} of {of}", self.number + 1),
            None => Ok(()),
        }
    }
}

/// The issue that comes after one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// First issue of all; `number`: the number behind it. The id follows from them.
    pub of: IssueId,
    pub number: u32,
    pub changes: Vec<Change>,
}

impl Next {
    /// The bytes that the id is made of.
    pub fn seed(&self) -> String {
        format!("{}\0{}", self.of, self.number)
    }
}

/// The day an issue is due, or that it was made.
fn due_of(issue: &Issue) -> String {
    let created = || issue.created.at.chars().take(10).collect();
    issue.due.clone().unwrap_or_else(created)
}

/// The issue that comes after one that ends; nothing where it comes no more. Days of a month count from those of the first.
pub fn next(issue: &Issue, texts: &Texts, first: Option<&Issue>) -> Option<Next> {
    let repeat = issue.repeat.as_ref()?;
    let of = repeat.of.clone().unwrap_or_else(|| issue.id.clone());
    let number = repeat.number.checked_add(1)?;
    let first = first.unwrap_or(issue);
    let due = repeat.every.after(&due_of(issue), Some(&due_of(first)));
    // As long before its day as this one was.
    let defer = issue.defer.as_ref();
    let defer = defer.and_then(|day| repeat.every.after(day, first.defer.as_deref()));
    let mut changes = vec![
        Change::Title(issue.title.clone()),
        Change::Kind(issue.kind.clone()),
        Change::Priority(issue.priority),
    ];
    if !texts.description.is_empty() {
        changes.push(Change::Description(texts.description.clone()));
    }
    // The wave of a roadmap is a place of this one alone.
    let is_place = |label: &&String| label.starts_with("wave-") || label.starts_with("phase-");
    let labels = issue.labels.iter().filter(|label| !is_place(label));
    changes.extend(labels.cloned().map(Change::Label));
    let named = |value: &Option<String>| value.clone().map(Some);
    changes.extend(named(&issue.milestone).map(Change::Milestone));
    changes.extend(due.map(|day| Change::Due(Some(day))));
    changes.extend(defer.map(|day| Change::Defer(Some(day))));
    changes.extend(
        issue
            .estimate
            .map(|minutes| Change::Estimate(Some(minutes))),
    );
    changes.extend(named(&issue.assignee).map(Change::Assignee));
    let criteria = issue.criteria.iter();
    changes.extend(criteria.map(|one| Change::Criterion(one.text.clone())));
    changes.push(Change::Repeat(Some(Repeat {
        every: repeat.every,
        of: Some(of.clone()),
        number,
    })));
    changes.push(Change::Link(Link {
        kind: LinkKind::DiscoveredFrom,
        to: issue.id.clone(),
    }));
    Some(Next {
        of,
        number,
        changes,
    })
}

#[cfg(test)]
mod tests {
    use super::Period;

    #[test]
    fn a_period_is_read_as_it_is_written() {
        for (text, written) in [
            ("1d", "1d"),
            ("2w", "2w"),
            ("P1W", "1w"),
            ("p3m", "3mo"),
            ("1mo", "1mo"),
            ("week", "1w"),
            ("2 months", "2mo"),
            ("Year", "1y"),
        ] {
            let period: Period = text.parse().expect(text);
            assert_eq!(period.to_string(), written);
            assert_eq!(written.parse(), Ok(period));
        }
        for text in [
            "", "0d", "1", "1m", "-1d", "1000d", "1.5w", "P", "P1W2D", "\u{e9}",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_day_after_a_period_is_one_that_exists() {
        for (day, period, wanted) in [
            ("2026-12-31", "1d", "2027-01-01"),
            ("2026-02-22", "1w", "2026-03-01"),
            ("2026-01-31", "1mo", "2026-02-28"),
            ("2024-01-31", "1mo", "2024-02-29"),
            ("2026-11-30", "3mo", "2027-02-28"),
            ("2024-02-29", "1y", "2025-02-28"),
        ] {
            let period: Period = period.parse().expect("a period");
            assert_eq!(
                period.after(day, None).as_deref(),
                Some(wanted),
                "{day} {period}"
            );
        }
    }

    #[test]
    fn a_day_of_the_month_goes_back_to_that_of_the_first() {
        let month: Period = "1mo".parse().expect("a period");
        for (first, day, wanted) in [
            ("2027-01-31", "2027-02-28", "2027-03-31"),
            ("2027-01-31", "2027-04-30", "2027-05-31"),
            ("2027-01-30", "2027-02-28", "2027-03-30"),
            // Somebody named another day meanwhile.
            ("2027-01-31", "2027-02-15", "2027-03-15"),
            ("2027-01-15", "2027-02-28", "2027-03-28"),
        ] {
            let found = month.after(day, Some(first));
            assert_eq!(found.as_deref(), Some(wanted), "{first} {day}");
        }
    }
}
