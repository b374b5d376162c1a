//! Filter of the issues that a list shows. All conditions have to hold; a field that is named twice takes either value.

use super::{Issue, Status, Wait};
use crate::lease::seconds_of;

/// Minutes as people write them: `2d`, `4h`, `90m`. A day has eight hours of work.
pub fn duration(minutes: u32) -> String {
    match minutes {
        0 => "0m".to_owned(),
        _ if minutes.is_multiple_of(480) => format!("{}d", minutes / 480),
        _ if minutes.is_multiple_of(60) => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    }
}

/// Reads [`duration`]; `None` where the text is none.
pub fn minutes(text: &str) -> Option<u32> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u32 = text[..at].parse().ok()?;
    let unit = match &text[at..] {
        "m" => 1,
        "h" => 60,
        "d" => 480,
        "w" => 2400,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Tells whether a text is a day, as `2026-11-30`.
pub fn is_day(text: &str) -> bool {
    text.len() == 10 && seconds_of(&format!("{text}T00:00:00Z")).is_some()
}

/// Tells whether people wrote a field of the issue apart, took the issue back while others used it, or closed it as a
/// duplicate of its duplicate.
fn is_apart(issue: &Issue, waits: &[Wait]) -> bool {
    let mut circles = waits.iter().filter_map(Wait::circle);
    !issue.apart.is_empty()
        || issue.overruled.is_some()
        || circles.any(|circle| circle.contains(&issue.id))
}

/// Conditions of the issues that are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Set when issues that are resolved or closed are asked for, too.
    pub all: bool,
    pub statuses: Vec<Status>,
    pub kinds: Vec<String>,
    /// Labels that an issue has to have, all of them.
    pub labels: Vec<String>,
    /// Labels of which an issue may have none.
    pub without: Vec<String>,
    /// Part of the assignee's name; an empty one is nobody.
    pub assignee: Option<String>,
    pub milestone: Option<String>,
    /// Number that the priority is at most.
    pub priority: Option<u8>,
    /// Part of the title.
    pub text: Option<String>,
    /// Mark of issues that wait for something, or of those that do not.
    pub blocked: Option<bool>,
    /// Second of the clock since which the issue was not changed.
    pub stale: Option<i64>,
    /// Day on which, or before which, the issue is due.
    pub due: Option<String>,
    /// Set when only what people wrote apart is asked for.
    pub apart: bool,
}

impl Filter {
    /// Tells whether the filter leaves anything out that is open.
    pub fn is_narrow(&self) -> bool {
        let open = Filter {
            all: self.all,
            ..Filter::default()
        };
        *self != open
    }

    pub fn takes(&self, issue: &Issue, waits: &[Wait]) -> bool {
        let either = |wanted: &[String], value: &str| {
            wanted.is_empty() || wanted.iter().any(|one| one == value)
        };
        let contains =
            |value: &str, part: &str| value.to_lowercase().contains(&part.to_lowercase());
        let is_open =
            self.all || self.apart || !self.statuses.is_empty() || !issue.status.is_final();
        is_open
            && (self.statuses.is_empty() || self.statuses.contains(&issue.status))
            && either(&self.kinds, &issue.kind)
            && self.labels.iter().all(|label| issue.labels.contains(label))
            && !self
                .without
                .iter()
                .any(|label| issue.labels.contains(label))
            && self
                .assignee
                .as_ref()
                .is_none_or(|wanted| match &issue.assignee {
                    Some(name) => !wanted.is_empty() && contains(name, wanted),
                    None => wanted.is_empty(),
                })
            && (self.milestone.as_ref()).is_none_or(|name| issue.milestone.as_ref() == Some(name))
            && self.priority.is_none_or(|most| issue.priority <= most)
            && self
                .text
                .as_ref()
                .is_none_or(|text| contains(&issue.title, text))
            && self
                .blocked
                .is_none_or(|blocked| blocked != waits.is_empty())
            && self.stale.is_none_or(|moment| {
                seconds_of(&issue.changed.at).is_none_or(|changed| changed < moment)
            })
            && (self.due.as_ref())
                .is_none_or(|day| issue.due.as_ref().is_some_and(|due| due <= day))
            && (!self.apart || is_apart(issue, waits))
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, is_day, minutes};

    #[test]
    fn an_estimate_is_read_as_it_is_written() {
        for (text, wanted) in [
            ("90m", Some(90)),
            ("2h", Some(120)),
            ("1d", Some(480)),
            ("1w", Some(2400)),
            ("2", None),
            ("h", None),
            ("-1h", None),
            ("1.5h", None),
            ("99999999999m", None),
            ("9999999d", None),
        ] {
            assert_eq!(minutes(text), wanted, "{text}");
        }
        for written in ["90m", "2h", "3d"] {
            assert_eq!(minutes(written).map(duration).as_deref(), Some(written));
        }
    }

    #[test]
    fn a_day_is_a_date_that_exists() {
        for (text, is_it) in [
            ("2026-11-30", true),
            ("2026-02-30", false),
            ("2026-1-3", false),
            ("tomorrow", false),
            ("2026-11-30T00:00:00Z", false),
        ] {
            assert_eq!(is_day(text), is_it, "{text}");
        }
    }
}
