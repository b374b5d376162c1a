//! The personal settings (`git config loopx.*`) that take one of few values. A value that is none of them
//! counts as if it were not there, so somebody has to be told.

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// What git takes for a boolean (git-config(1), "Values").
    Truth,
    Seconds,
    Number,
    Words(&'static [&'static str]),
    /// Some of these, with commas between them; or a boolean for all or none.
    Some(&'static [&'static str]),
}

/// The setting that says around which commands a sync runs.
pub const AUTO_SYNC: &str = "loopx.autoSync";

/// A command that other people wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    Approve,
    Review,
    Finish,
}

impl SyncPoint {
    const NAMES: [&str; 3] = ["approve", "review", "finish"];

    /// Whether a value of [`AUTO_SYNC`] asks for a sync around this command.
    pub fn is_wanted(self, value: &str) -> bool {
        let name = Self::NAMES[self as usize];
        truth(value).unwrap_or_else(|| items(value).any(|item| item == name))
    }
}

const SETTINGS: [(&str, Takes); 12] = [
    (AUTO_SYNC, Takes::Some(&SyncPoint::NAMES)),
    ("loopx.fsync", Takes::Truth),
    ("loopx.lockTimeout", Takes::Seconds),
    ("loopx.receiveBytes", Takes::Number),
    ("loopx.receiveMerges", Takes::Number),
    ("loopx.receiveRecords", Takes::Number),
    ("loopx.receiveTimeout", Takes::Seconds),
    ("loopx.sign", Takes::Truth),
    ("loopx.sync", Takes::Words(&["merge", "linear"])),
    ("loopx.syncOnPush", Takes::Truth),
    ("loopx.syncOnPushTimeout", Takes::Seconds),
    ("loopx.syncTimeout", Takes::Seconds),
];

/// What is wrong with the settings that `value` gives: each with what was expected.
pub fn faults(value: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, takes) in SETTINGS {
        let Some(value) = value(key) else { continue };
        let fits = match takes {
            Takes::Truth => truth(&value).is_some(),
            Takes::Seconds | Takes::Number => value.parse::<u64>().is_ok(),
            Takes::Words(words) => words.contains(&value.as_str()),
            Takes::Some(words) => {
                truth(&value).is_some() || items(&value).all(|item| words.contains(&item))
            }
        };
        if !fits {
            let expected = match takes {
                Takes::Truth => "true or false".to_owned(),
                Takes::Seconds => "a number of seconds".to_owned(),
                Takes::Number => "a number".to_owned(),
                Takes::Words(words) => words.join(" or "),
                Takes::Some(words) => format!("true, false or some of {}", words.join(",")),
            };
            found.push(format!("{key} is `{value}`, expected {expected}"));
        }
    }
    found
}

/// What git takes for a boolean.
fn truth(value: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    if is_one_of(&["true", "yes", "on", "1"]) {
        return Some(true);
    }
    is_one_of(&["false", "no", "off", "0", ""]).then_some(false)
}

fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{SyncPoint, faults};

    #[test]
    fn only_a_value_that_means_nothing_is_named() {
        for (key, value, fits) in [
            ("loopx.sync", "linear", true),
            ("loopx.sync", "linera", false),
            ("loopx.fsync", "Off", true),
            ("loopx.fsync", "maybe", false),
            ("loopx.syncTimeout", "30", true),
            ("loopx.syncTimeout", "30s", false),
            ("loopx.autoSync", "true", true),
            ("loopx.autoSync", "approve, finish", true),
            ("loopx.autoSync", "aprove", false),
            ("loopx.autoSync", "approve,", false),
        ] {
            let found = faults(|asked| (asked == key).then(|| value.to_owned()));
            assert_eq!(found.is_empty(), fits, "{key}={value}: {found:?}");
        }
        assert!(faults(|_| None).is_empty());
    }

    #[test]
    fn a_sync_runs_around_the_commands_that_are_listed() {
        for (value, wanted) in [
            ("true", [true, true, true]),
            ("no", [false, false, false]),
            ("", [false, false, false]),
            ("approve, finish", [true, false, true]),
            ("review", [false, true, false]),
            ("reviews", [false, false, false]),
        ] {
            let points = [SyncPoint::Approve, SyncPoint::Review, SyncPoint::Finish];
            assert_eq!(points.map(|one| one.is_wanted(value)), wanted, "{value}");
        }
    }
}
