//! Texts of other systems: criteria out of lists, sections behind a description.

use crate::issue::filter::is_day;
use crate::issue::limits::LONGEST_LINE as LONGEST;
use crate::issue::plain::{Plain, PlainCriterion};
use crate::lease::seconds_of;

/// Adds a section to the description.
pub(super) fn section(plain: &mut Plain, title: &str, text: Option<String>) {
    let Some(text) = text else { return };
    if !plain.description.trim().is_empty() {
        plain.description.push_str("\n\n");
    }
    plain
        .description
        .push_str(&format!("## {title}\n\n{}\n", text.trim()));
}

/// Makes criteria of a text where each line of it is an item of a list, or where it is one line; else it is a section.
pub(super) fn criteria(plain: &mut Plain, title: &str, text: Option<String>) {
    let Some(text) = text else { return };
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let items: Option<Vec<(String, bool)>> = match lines.as_slice() {
        [one] => Some(vec![item(one).unwrap_or(((*one).to_owned(), false))]),
        more => more.iter().map(|line| item(line)).collect(),
    };
    match items {
        Some(items)
            if items
                .iter()
                .all(|(text, _)| text.chars().count() <= LONGEST) =>
        {
            add(plain, items);
        }
        _ => section(plain, title, Some(text)),
    }
}

/// Adds criteria, each once.
pub(super) fn add(plain: &mut Plain, items: Vec<(String, bool)>) {
    for (text, done) in items {
        let is_known = plain.criteria.iter().any(|one| match one {
            PlainCriterion::Text(known) | PlainCriterion::Ticked { text: known, .. } => {
                *known == text
            }
        });
        if !is_known && !text.is_empty() {
            plain.criteria.push(PlainCriterion::Ticked { text, done });
        }
    }
}

/// The text of a line that is an item of a list, and whether its box is ticked.
pub(super) fn item(line: &str) -> Option<(String, bool)> {
    let line = line.trim();
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest.strip_prefix(' ')?,
        None => {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            if digits.len() < line.len() {
                digits.strip_prefix(". ").or(digits.strip_prefix(") "))?
            } else {
                return None;
            }
        }
    };
    let rest = rest.trim();
    let (rest, done) = match rest.strip_prefix("[ ]") {
        Some(rest) => (rest, false),
        None => match rest.strip_prefix("[x]").or(rest.strip_prefix("[X]")) {
            Some(rest) => (rest, true),
            None => (rest, false),
        },
    };
    Some((rest.trim().to_owned(), done))
}

/// A text as a title, and as a description where it is too long for one.
pub(super) fn titled(text: &str) -> (String, String) {
    let text = text.trim();
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let title: String = plain.take(LONGEST).collect();
    let rest = if title == text { "" } else { text };
    (title.trim().to_owned(), rest.to_owned())
}

/// An id as one line: what is longer keeps its beginning, and the sum of the whole.
pub(super) fn short(id: &str) -> String {
    if id.chars().count() <= 200 {
        return id.to_owned();
    }
    let sum = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let begin: String = id.chars().take(180).collect();
    format!("{begin} {sum:016x}")
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A time as other programs write it, as RFC 3339; a day stays one. What names no zone is read as UTC. Nothing of what may
/// be one of two days.
pub(super) fn moment(text: &str) -> Option<String> {
    let text = text.trim();
    if is_day(text) || seconds_of(text).is_some() {
        return Some(text.to_owned());
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    let found = match parts.as_slice() {
        [one] if one.len() == 16 && one.contains('T') => compact(one)?,
        // As a browser writes it: Fri Jan 05 2024 10:32:10 GMT+0000 (GMT).
        [_, month, day, year, time, zone, ..] => {
            let zone = zone.strip_prefix("GMT")?;
            let (hours, minutes) = (zone.get(..3)?, zone.get(3..5)?);
            format!("{}T{time}{hours}:{minutes}", dated(day, month, year)?)
        }
        [day, rest @ ..] => {
            let day = if is_day(day) {
                (*day).to_owned()
            } else {
                let mut parts = day.split('/');
                let (day, month) = (parts.next()?, parts.next()?);
                dated(day, month, parts.next()?)?
            };
            match rest {
                [] => day,
                [time] => format!("{day}T{}Z", clock(time, None)?),
                [time, half] => format!("{day}T{}Z", clock(time, Some(half))?),
                _ => return None,
            }
        }
        [] => return None,
    };
    (is_day(&found) || seconds_of(&found).is_some()).then_some(found)
}

/// A time like `20260102T090507Z`.
fn compact(text: &str) -> Option<String> {
    let of = |from: usize, to: usize| text.get(from..to);
    let day = [of(0, 4)?, of(4, 6)?, of(6, 8)?].join("-");
    let time = [of(9, 11)?, of(11, 13)?, of(13, 15)?].join(":");
    Some(format!("{day}T{time}Z"))
}

/// A day whose month has a name.
fn dated(day: &str, month: &str, year: &str) -> Option<String> {
    let mut months = MONTHS.iter();
    let month = months.position(|name| name.eq_ignore_ascii_case(month))? + 1;
    let day: u8 = day.parse().ok()?;
    let year: u16 = year.parse().ok()?;
    let year = if year < 100 { 2000 + year } else { year };
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// A time of day of hours and minutes, and seconds where it has some; by halves of the day where it names one.
fn clock(time: &str, half: Option<&str>) -> Option<String> {
    let mut parts = time.split(':');
    let hours: u8 = parts.next()?.parse().ok()?;
    let minutes: u8 = parts.next()?.parse().ok()?;
    let seconds: u8 = parts.next().unwrap_or("0").parse().ok()?;
    let hours = match half.map(str::to_ascii_uppercase).as_deref() {
        None | Some("UTC") => hours,
        Some("AM") if (1..=12).contains(&hours) => hours % 12,
        Some("PM") if (1..=12).contains(&hours) => hours % 12 + 12,
        Some(_) => return None,
    };
    Some(format!("{hours:02}:{minutes:02}:{seconds:02}"))
}

#[cfg(test)]
mod tests {
    use super::{moment, titled};

    #[test]
    fn times_of_other_programs_are_read_where_they_are_certain() {
        for (text, at) in [
            ("2026-01-02", Some("2026-01-02")),
            (
                "2026-01-02T09:00:00+01:00",
                Some("2026-01-02T09:00:00+01:00"),
            ),
            ("20260102T090507Z", Some("2026-01-02T09:05:07Z")),
            ("2026-01-02 9:05", Some("2026-01-02T09:05:00Z")),
            ("02/Jan/26 9:05 PM", Some("2026-01-02T21:05:00Z")),
            ("2/jan/2026 12:05 AM", Some("2026-01-02T00:05:00Z")),
            ("2/Jan/26", Some("2026-01-02")),
            (
                "Fri Jan 02 2026 10:32:10 GMT+0100 (CET)",
                Some("2026-01-02T10:32:10+01:00"),
            ),
            ("01/02/2026", None),
            ("02/Jan/26 13:05 PM", None),
            ("40/Jan/26", None),
            ("2026-13-02 9:00", None),
            ("tomorrow", None),
            ("a Jan 2 2026 10:00:00 GMTééé", None),
            ("20260102Té90507Z", None),
            ("", None),
        ] {
            assert_eq!(moment(text).as_deref(), at, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_title_is_a_description_too() {
        assert_eq!(titled(" One "), ("One".to_owned(), String::new()));
        assert_eq!(titled("a\tb"), ("a b".to_owned(), "a\tb".to_owned()));
        let (title, rest) = titled(&"é".repeat(400));
        assert_eq!((title.chars().count(), rest.chars().count()), (300, 400));
    }
}
