//! Moments as people name them: a day, a time, how long ago. Days begin and end in UTC, as all days of the backlog do.

use crate::lease::{clock, seconds_of};

const DAY: i64 = 86_400;

/// The side of a day that its name alone means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Begin,
    End,
}

/// The second that is meant; `None` where the text names none, or one that no date can say.
pub fn second(text: &str, now: i64, side: Side) -> Option<i64> {
    let found = read(text, now, side)?;
    (seconds_of(&clock(found)) == Some(found)).then_some(found)
}

fn read(text: &str, now: i64, side: Side) -> Option<i64> {
    let text = text.trim();
    let lower = text.to_lowercase();
    if lower == "now" {
        return Some(now);
    }
    let day = match lower.as_str() {
        "today" => Some(begin_of(now)),
        "yesterday" => Some(begin_of(now) - DAY),
        _ => seconds_of(&format!("{text}T00:00:00Z")),
    };
    if let Some(begin) = day {
        return Some(match side {
            Side::Begin => begin,
            Side::End => begin + DAY - 1,
        });
    }
    ago(&lower)
        .map(|seconds| now.saturating_sub(seconds))
        .or_else(|| seconds_of(text))
        .or_else(|| seconds_of(&format!("{}Z", text.replacen(' ', "T", 1))))
        .or_else(|| seconds_of(&format!("{}:00Z", text.replacen(' ', "T", 1))))
}

/// The day of a second, as `2026-11-30`.
pub fn day_of(second: i64) -> String {
    clock(second).chars().take(10).collect()
}

/// The first second of the day of a second.
pub fn begin_of(second: i64) -> i64 {
    second.div_euclid(DAY) * DAY
}

/// An age: `3d`, `3 days ago`, `3.days.ago`.
fn ago(text: &str) -> Option<i64> {
    let text = text.replace(['.', '_', ' '], "");
    let text = text.strip_suffix("ago").unwrap_or(&text);
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let count: i64 = text[..at].parse().ok()?;
    let unit = match &text[at..] {
        "s" | "second" | "seconds" => 1,
        "m" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => 7 * DAY,
        _ => return None,
    };
    (count <= i64::from(u32::MAX)).then(|| count.saturating_mul(unit))
}

/// The words by which git reads dates. Git takes any other text for the present moment, so whoever asks it looks here first.
const WORDS: [&str; 60] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "noon",
    "midnight",
    "tea",
    "last",
    "ago",
    "am",
    "pm",
    "second",
    "seconds",
    "minute",
    "minutes",
    "hour",
    "hours",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "yesterday",
];

/// The words that say a part of a day or a length, and nothing without a number.
const PARTS: [&str; 16] = [
    "am", "pm", "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week",
    "weeks", "month", "months", "year", "years",
];

/// Tells whether git reads each word of a text as a part of a date, and the words name a date.
pub fn is_date_of_git(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 10;
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || " .,:/-+_".contains(c));
    let all: Vec<&str> = words.clone().collect();
    let has_number = all.iter().any(|word| is_number(word) || *word == "last");
    let has_part = all.iter().any(|word| PARTS.contains(word));
    let is_name = |word: &&str| {
        WORDS.contains(word) && !PARTS.contains(word) && !["ago", "last"].contains(word)
    };
    let says = all.iter().any(is_name) || has_number && has_part;
    is_plain && says && words.all(|word| is_number(word) || WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::{Side, day_of, is_date_of_git, second};
    use crate::lease::clock;

    /// 2026-11-27T12:00:00Z.
    const NOW: i64 = 1_795_780_800;

    #[test]
    fn a_moment_is_a_day_a_time_or_an_age() {
        for (text, begin, end) in [
            ("2026-11-01", "2026-11-01T00:00:00Z", "2026-11-01T23:59:59Z"),
            ("today", "2026-11-27T00:00:00Z", "2026-11-27T23:59:59Z"),
            ("Yesterday", "2026-11-26T00:00:00Z", "2026-11-26T23:59:59Z"),
            ("now", "2026-11-27T12:00:00Z", "2026-11-27T12:00:00Z"),
            ("3d", "2026-11-24T12:00:00Z", "2026-11-24T12:00:00Z"),
            (
                "2 weeks ago",
                "2026-11-13T12:00:00Z",
                "2026-11-13T12:00:00Z",
            ),
            (
                "90.minutes.ago",
                "2026-11-27T10:30:00Z",
                "2026-11-27T10:30:00Z",
            ),
            (
                "2026-11-01T10:00:00+02:00",
                "2026-11-01T08:00:00Z",
                "2026-11-01T08:00:00Z",
            ),
            (
                "2026-11-01 10:00",
                "2026-11-01T10:00:00Z",
                "2026-11-01T10:00:00Z",
            ),
            (
                "2026-11-01 10:00:05",
                "2026-11-01T10:00:05Z",
                "2026-11-01T10:00:05Z",
            ),
        ] {
            let found = |side| second(text, NOW, side).map(clock);
            assert_eq!(found(Side::Begin).as_deref(), Some(begin), "{text}");
            assert_eq!(found(Side::End).as_deref(), Some(end), "{text}");
        }
        for text in [
            "",
            "soon",
            "2026-02-30",
            "d",
            "-3d",
            "3x",
            "99999999999999d",
            "4294967295w",
            "3d later",
            "\u{e9}",
        ] {
            assert_eq!(second(text, NOW, Side::Begin), None, "{text}");
        }
        assert_eq!(day_of(NOW), "2026-11-27");
    }

    #[test]
    fn git_is_asked_for_words_that_it_knows_alone() {
        for text in [
            "last friday",
            "3 months ago",
            "Nov 1 2026",
            "noon yesterday",
            "1 year ago",
            "last week",
            "10 am",
        ] {
            assert!(is_date_of_git(text), "{text}");
        }
        for text in [
            "",
            "soon",
            "3 moons ago",
            "--all",
            "12",
            "friday; rm",
            "am",
            "ago",
            "last",
            "day",
            "days ago",
            "3 ago",
            "\u{e9}",
        ] {
            assert!(!is_date_of_git(text), "{text}");
        }
    }
}
