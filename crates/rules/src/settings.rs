//! The personal settings (`git config loopx.*`): `doctor` judges their values, the manual page lists them. A value
//! that means nothing counts as if it were not there, so somebody has to be told.

use super::trust;

/// Values that a setting may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// Boolean, as git reads one (git-config(1), "Values").
    Truth,
    Seconds,
    Number,
    Words(&'static [&'static str]),
    /// Judged where it is used, if at all.
    Text,
    /// Words of this list, some of them, with commas between them; or a boolean for all or none.
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

    /// Tells whether a value of [`AUTO_SYNC`] asks for a sync around this command.
    pub fn is_wanted(self, value: &str) -> bool {
        let name = Self::NAMES[self as usize];
        truth(value).unwrap_or_else(|| items(value).any(|item| item == name))
    }
}

/// Setting of one person.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub key: &'static str,
    takes: Takes,
    /// Value that counts where nobody sets it.
    pub default: &'static str,
    /// Effect of the setting, as one sentence.
    pub means: &'static str,
}

impl Setting {
    /// Values that the setting may have, in words.
    pub fn expected(&self) -> String {
        match self.takes {
            Takes::Truth => "true or false".to_owned(),
            Takes::Seconds => "a number of seconds".to_owned(),
            Takes::Number => "a number".to_owned(),
            Takes::Words(words) => words.join(" or "),
            Takes::Text => "text".to_owned(),
            Takes::Some(words) => format!("true, false or some of {}", words.join(",")),
        }
    }

    fn takes(&self, value: &str) -> bool {
        match self.takes {
            Takes::Truth => truth(value).is_some(),
            Takes::Some(words) => {
                truth(value).is_some() || items(value).all(|item| words.contains(&item))
            }
            Takes::Seconds | Takes::Number => value.parse::<u64>().is_ok(),
            Takes::Words(words) => words.contains(&value),
            Takes::Text => true,
        }
    }
}

const fn setting(
    key: &'static str,
    takes: Takes,
    default: &'static str,
    means: &'static str,
) -> Setting {
    Setting {
        key,
        takes,
        default,
        means,
    }
}

/// Every setting, by its name.
pub const SETTINGS: [Setting; 22] = [
    setting(
        "loopx.alias.NAME",
        Takes::Text,
        "none",
        "A name of your own for a command with its arguments; it runs no shell and hides no command.",
    ),
    setting(
        "loopx.allowSecret",
        Takes::Text,
        "none",
        "A fingerprint, a space and a reason: what looks like a credential and is none (can be repeated).",
    ),
    setting(
        AUTO_SYNC,
        Takes::Some(&SyncPoint::NAMES),
        "false",
        "The commands around which a sync runs: approve, review, finish, with commas; true for all of them.",
    ),
    setting(
        "loopx.branch",
        Takes::Text,
        "loopx",
        "The branch that sessions live on.",
    ),
    setting(
        "loopx.claim",
        Takes::Words(&["local", "remote"]),
        "local",
        "Whether what happens to a task goes to the remote at once, alone.",
    ),
    setting(
        "loopx.fsync",
        Takes::Truth,
        "true",
        "Whether each step is on the disk before the branch moves.",
    ),
    setting(
        "loopx.hooks",
        Takes::Truth,
        "true",
        "Whether hooks that are installed check anything here.",
    ),
    setting(
        "loopx.lease",
        Takes::Seconds,
        "7200",
        "How long a build belongs to the worktree that took it.",
    ),
    setting(
        "loopx.lockTimeout",
        Takes::Seconds,
        "60",
        "How long a command waits for another one that writes.",
    ),
    setting(
        "loopx.profile",
        Takes::Text,
        "what start.profile of loopx.toml says, or lite",
        "The profile of the sessions that you start.",
    ),
    setting(
        "loopx.receiveBytes",
        Takes::Number,
        "134217728",
        "On a server: the most bytes of files of sessions in one push.",
    ),
    setting(
        "loopx.receiveMerges",
        Takes::Number,
        "500",
        "On a server: the most merges of the branch of sessions in one push.",
    ),
    setting(
        "loopx.receiveRecords",
        Takes::Number,
        "10000",
        "On a server: the most records in one push.",
    ),
    setting(
        "loopx.receiveTimeout",
        Takes::Seconds,
        "120",
        "On a server: how long one push is judged.",
    ),
    setting(
        "loopx.remote",
        Takes::Text,
        "that of the branch, the only one, or origin",
        "The remote that sync takes.",
    ),
    setting(
        "loopx.sign",
        Takes::Truth,
        "false",
        "Whether approvals, verdicts and runs are signed without --sign.",
    ),
    setting(
        "loopx.sync",
        Takes::Words(&["merge", "linear"]),
        "merge",
        "How sync joins two sides: linear for a forge that takes no merge commits.",
    ),
    setting(
        "loopx.syncOnPush",
        Takes::Truth,
        "false",
        "Whether the pre-push hook syncs the sessions too.",
    ),
    setting(
        "loopx.syncOnPushTimeout",
        Takes::Seconds,
        "10",
        "How long that may take.",
    ),
    setting(
        "loopx.syncTimeout",
        Takes::Seconds,
        "120",
        "How long a sync may take.",
    ),
    setting(
        "loopx.target",
        Takes::Text,
        "what gates.target of loopx.toml says, or what git tells",
        "The branch that results go to.",
    ),
    setting(
        trust::SETTING,
        Takes::Words(trust::Mode::WORDS),
        "here",
        "Which checks of a session run without --trust: here, those that were written or approved in this clone; names, also those that somebody with your address wrote or approved elsewhere; signed, those that an accepted signature approves; all, every check.",
    ),
];

/// Faults of the settings that `value` gives: each with what was expected.
pub fn faults(value: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let judged = SETTINGS
        .iter()
        .filter(|setting| setting.takes != Takes::Text);
    judged
        .filter_map(|setting| {
            let found = value(setting.key).filter(|found| !setting.takes(found))?;
            let expected = setting.expected();
            Some(format!("{} is `{found}`, expected {expected}", setting.key))
        })
        .collect()
}

/// Reads a boolean as git does.
pub fn truth(value: &str) -> Option<bool> {
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
    use super::{SETTINGS, SyncPoint, faults};

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
            ("loopx.remote", "30s", true),
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

    #[test]
    fn each_setting_stands_once_and_by_its_name() {
        let keys: Vec<String> = SETTINGS.iter().map(|one| one.key.to_lowercase()).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(keys, sorted);
    }
}
