//! Times for people: how long ago, and how far ahead.

/// Words for the moment `then`, past or future, as a person says it: `2 days ago`, `in 2 hours`.
pub fn relative(now: i64, then: i64) -> String {
    if then > now {
        format!("in {}", left(now, then))
    } else {
        format!("{} ago", age(now, then))
    }
}

/// Time from `now` until `then`, to the nearest unit: a lease of two hours is not shown as one hour as soon as it
/// begins.
pub fn left(now: i64, then: i64) -> String {
    let seconds = then.saturating_sub(now).max(0);
    let nearer = [86_400, 3_600, 60]
        .into_iter()
        .find(|unit| seconds >= *unit);
    age(seconds.saturating_add(nearer.unwrap_or(0) / 2), 0)
}

/// Time from `then` until `now`, in the largest unit that fits: `2 days`.
pub fn age(now: i64, then: i64) -> String {
    const UNITS: [(i64, &str); 6] = [
        (365 * 86_400, "year"),
        (30 * 86_400, "month"),
        (7 * 86_400, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let seconds = now.saturating_sub(then).max(0);
    // Two weeks are better known as fourteen days than three as twenty-one.
    let fits = |unit: i64| seconds >= unit * if unit >= 7 * 86_400 { 2 } else { 1 };
    match UNITS.into_iter().find(|(unit, _)| fits(*unit)) {
        Some((unit, name)) => super::counted(seconds / unit, name),
        None => "moments".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{age, relative};

    #[test]
    fn a_time_is_before_now_or_behind_it() {
        assert_eq!(relative(7_200, 0), "2 hours ago");
        assert_eq!(relative(0, 7_200), "in 2 hours");
        assert_eq!(relative(5, 7_200), "in 2 hours");
        assert_eq!(relative(0, 30), "in moments");
        assert_eq!(relative(5, 5), "moments ago");
    }

    #[test]
    fn a_time_is_said_in_the_largest_unit_that_fits() {
        let day = 86_400;
        for (seconds, wanted) in [
            (-5, "moments"),
            (59, "moments"),
            (60, "1 minute"),
            (7_199, "1 hour"),
            (2 * day, "2 days"),
            (13 * day, "13 days"),
            (14 * day, "2 weeks"),
            (59 * day, "8 weeks"),
            (60 * day, "2 months"),
            (800 * day, "2 years"),
        ] {
            assert_eq!(age(seconds, 0), wanted, "{seconds}");
        }
    }
}
