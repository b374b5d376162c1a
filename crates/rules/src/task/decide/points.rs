//! Points: a score as an exact decimal with at most three places. Nothing is rounded between who gives it and who reads
//! it, so that two programs never come to two verdicts.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A score, in thousandths. In records it is text, `8.5`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Points(u32);

impl Points {
    /// The largest number that counts as a score.
    pub const MOST: Points = Points::whole(10_000);

    pub const fn whole(number: u32) -> Self {
        Points::of(number, 0)
    }

    /// A number and so many thousandths.
    pub const fn of(number: u32, thousandths: u32) -> Self {
        Points(number * 1000 + thousandths)
    }

    /// `None` where the text is no decimal with at most three places, or too large.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str, most: usize| {
            !text.is_empty() && text.len() <= most && text.bytes().all(|one| one.is_ascii_digit())
        };
        if !digits(whole, 5) || !digits(part, 3) {
            return None;
        }
        let whole: u32 = whole.parse().ok()?;
        let part: u32 = format!("{part:0<3}").parse().ok()?;
        let points = Points(whole * 1000 + part);
        (points <= Points::MOST).then_some(points)
    }

    pub const fn thousandths(self) -> u32 {
        self.0
    }

    /// Share of these points: so many of a hundred.
    pub fn percent(self, percent: u32) -> Points {
        Points(u32::try_from(u64::from(self.0) * u64::from(percent) / 100).unwrap_or(u32::MAX))
    }

    /// The mean of values by their weights, cut off behind the third place: it never reaches what they do not.
    pub fn mean(weighted: impl Iterator<Item = (Points, Points)>) -> Option<Points> {
        let (mut sum, mut weights) = (0_u64, 0_u64);
        for (value, weight) in weighted {
            sum += u64::from(value.0) * u64::from(weight.0);
            weights += u64::from(weight.0);
        }
        let mean = sum.checked_div(weights)?;
        u32::try_from(mean).ok().map(Points)
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:03}", self.0 % 1000);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / 1000),
            part => write!(f, "{}.{part}", self.0 / 1000),
        }
    }
}

impl TryFrom<String> for Points {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Points::parse(&text).ok_or_else(|| {
            format!("expected a score with at most three places, like 8.5, found {text:?}")
        })
    }
}

impl From<Points> for String {
    fn from(points: Points) -> Self {
        points.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Points;

    #[test]
    fn a_score_is_read_and_written_without_loss() {
        for text in ["0", "8", "8.5", "0.001", "99.999", "10000"] {
            let points = Points::parse(text).expect("a score");
            assert_eq!(points.to_string(), text);
        }
        assert_eq!(Points::parse("8.50"), Points::parse("8.5"));
        for text in [
            "",
            ".",
            "8.",
            ".5",
            "-1",
            "+1",
            "8.1234",
            "1e3",
            "10001",
            "99999999999",
            "8,5",
        ] {
            assert_eq!(Points::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_mean_never_reaches_what_its_values_do_not() {
        let of = |values: &[(u32, u32)]| {
            let values = values.iter();
            Points::mean(values.map(|(value, weight)| (Points(*value), Points(*weight))))
        };
        assert_eq!(of(&[(8000, 1000), (7999, 1000)]), Some(Points(7999)));
        assert_eq!(of(&[(10_000, 25_000), (0, 75_000)]), Some(Points(2500)));
        assert_eq!(of(&[]), None);
    }
}
