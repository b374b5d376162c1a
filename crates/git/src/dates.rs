//! The dates that the environment gives git. Those that are written in one of two plain forms are read here the same as by
//! git; every other one git reads itself, or refuses.

/// Names of git's author and committer, each with the variable that gives the date.
pub(super) const DATES: [(&str, &str); 2] = [
    ("GIT_AUTHOR_IDENT", "GIT_AUTHOR_DATE"),
    ("GIT_COMMITTER_IDENT", "GIT_COMMITTER_DATE"),
];

/// Tells whether no date of the environment has to be read by git.
pub(super) fn are_plain() -> bool {
    DATES
        .iter()
        .all(|(_, name)| match loopx_base::env::var_os(name) {
            Some(text) => text.to_str().is_some_and(is_plain),
            None => true,
        })
}

/// `@1767225600 +0000` with or without the sign before it, or `2026-01-01T00:00:00Z` with any offset. What libgit2 reads
/// otherwise than git is not among them: other years, days that some month does not have, more digits, words.
fn is_plain(text: &str) -> bool {
    is_raw(text.strip_prefix('@').unwrap_or(text)) || is_iso(text)
}

fn is_raw(text: &str) -> bool {
    let Some((seconds, offset)) = text.split_once(' ') else {
        return false;
    };
    let is_far = matches!(seconds.len(), 9 | 10) && !seconds.starts_with('0');
    is_far && is_number(seconds) && is_offset(offset)
}

fn is_iso(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else {
        return false;
    };
    let Some(at) = time.find(['Z', '+', '-']) else {
        return false;
    };
    let (time, offset) = time.split_at(at);
    let date: Vec<&str> = date.split('-').collect();
    let time: Vec<&str> = time.split(':').collect();
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return false;
    };
    let within = |text: &str, length: usize, from: u32, to: u32| {
        let number = text.parse().ok().filter(|_| is_number(text));
        text.len() == length && number.is_some_and(|number| (from..=to).contains(&number))
    };
    within(year, 4, 1971, 2037)
        && within(month, 2, 1, 12)
        && within(day, 2, 1, 28)
        && within(hour, 2, 0, 23)
        && within(minute, 2, 0, 59)
        && within(second, 2, 0, 59)
        && (offset == "Z" || is_offset(offset))
}

fn is_offset(text: &str) -> bool {
    let Some(digits) = text.strip_prefix(['+', '-']) else {
        return false;
    };
    digits.len() == 4 && is_number(digits) && digits < "1500" && digits[2..] < *"60"
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_forms_that_mean_one_thing_are_read_here() {
        for text in [
            "1767225600 +0000",
            "@1767225600 -0330",
            "999999999 +1400",
            "2026-01-28T23:59:59Z",
            "2026-01-01T00:00:00+0200",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "garbage",
            "",
            "now",
            "@99999999999 +0000",
            "@0 +0000",
            "1767225600",
            "1767225600 +9900",
            "1767225600 +0099",
            "1969-12-31T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2100-01-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01 00:00:00",
            "+26-01-01T00:00:00Z",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
