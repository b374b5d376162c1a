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
}

const SETTINGS: [(&str, Takes); 11] = [
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
            Takes::Truth => {
                let words = ["true", "false", "yes", "no", "on", "off", "1", "0", ""];
                words.iter().any(|word| value.eq_ignore_ascii_case(word))
            }
            Takes::Seconds | Takes::Number => value.parse::<u64>().is_ok(),
            Takes::Words(words) => words.contains(&value.as_str()),
        };
        if !fits {
            let expected = match takes {
                Takes::Truth => "true or false".to_owned(),
                Takes::Seconds => "a number of seconds".to_owned(),
                Takes::Number => "a number".to_owned(),
                Takes::Words(words) => words.join(" or "),
            };
            found.push(format!("{key} is `{value}`, expected {expected}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn only_a_value_that_means_nothing_is_named() {
        for (key, value, fits) in [
            ("loopx.sync", "linear", true),
            ("loopx.sync", "linera", false),
            ("loopx.fsync", "Off", true),
            ("loopx.fsync", "maybe", false),
            ("loopx.syncTimeout", "30", true),
            ("loopx.syncTimeout", "30s", false),
        ] {
            let found = faults(|asked| (asked == key).then(|| value.to_owned()));
            assert_eq!(found.is_empty(), fits, "{key}={value}: {found:?}");
        }
        assert!(faults(|_| None).is_empty());
    }
}
