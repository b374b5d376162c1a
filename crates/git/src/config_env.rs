//! The settings that the environment holds: what `git -c` and `GIT_CONFIG_COUNT` give to every program
//! that git starts. libgit2 does not know them, and they win over every file.

use loopx_base::env;

/// In the order in which git reads them: the last one wins.
#[derive(Debug, Default)]
pub(super) struct EnvConfig {
    settings: Vec<(String, String)>,
}

impl EnvConfig {
    pub(super) fn read() -> Self {
        let mut settings = Vec::new();
        if let Some(text) = env::var(env::GIT_CONFIG_PARAMETERS) {
            settings.extend(parameters(&text));
        }
        let count: usize = env::var(env::GIT_CONFIG_COUNT)
            .and_then(|count| count.parse().ok())
            .unwrap_or(0);
        for at in 0..count {
            // One that is missing is an error to git, which then runs nothing at all.
            if let Some(key) = env::var(&format!("GIT_CONFIG_KEY_{at}")) {
                let value = env::var(&format!("GIT_CONFIG_VALUE_{at}")).unwrap_or_default();
                settings.push((canonical(&key), value));
            }
        }
        EnvConfig { settings }
    }

    /// The value of a key that is spelled as git spells it: section and name in lower case.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.settings
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Tells whether any key is below one of these sections.
    pub(super) fn has_section(&self, sections: &[&str]) -> bool {
        self.settings.iter().any(|(key, _)| {
            let section = key.split('.').next().unwrap_or_default();
            sections.contains(&section)
        })
    }
}

/// Section and name in lower case; what stands between them keeps its letters.
pub(super) fn canonical(key: &str) -> String {
    match (key.split_once('.'), key.rsplit_once('.')) {
        (Some((section, _)), Some((head, name))) if head.len() > section.len() => {
            let middle = &head[section.len()..];
            format!("{}{middle}.{}", section.to_lowercase(), name.to_lowercase())
        }
        _ => key.to_lowercase(),
    }
}

/// `GIT_CONFIG_PARAMETERS`: words quoted for a shell, `'key'='value'`, and `'key=value'` from before git
/// 2.31. A word without a value is a boolean that is true. What is no such list is no list at all.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((key, after)) = unquote(rest) else {
            return Vec::new();
        };
        match after.strip_prefix('=') {
            Some(value) if value.is_empty() || value.starts_with(' ') => {
                found.push((canonical(&key), "true".to_owned()));
                rest = value;
            }
            Some(value) => {
                let Some((value, after)) = unquote(value) else {
                    return Vec::new();
                };
                found.push((canonical(&key), value));
                rest = after;
            }
            None => {
                let (key, value) = key.split_once('=').unwrap_or((&key, "true"));
                found.push((canonical(key), value.to_owned()));
                rest = after;
            }
        }
        rest = rest.trim_start();
    }
    found
}

/// Reads a word in git's quoting: `'` around it, and `'\''` or `'\!'` for those two signs.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text.strip_prefix('\'')?;
    loop {
        let (plain, after) = rest.split_once('\'')?;
        word.push_str(plain);
        let sign = after
            .strip_prefix('\\')
            .and_then(|escaped| escaped.chars().next())
            .filter(|sign| matches!(sign, '\'' | '!'));
        match sign.and_then(|sign| Some((sign, after.get(2..)?.strip_prefix('\'')?))) {
            Some((sign, more)) => {
                word.push(sign);
                rest = more;
            }
            None => return Some((word, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, parameters};
    use crate::run::Run;

    #[test]
    fn keys_are_spelled_as_git_spells_them() {
        for (typed, key) in [
            ("User.Name", "user.name"),
            ("branch.My.Branch.Merge", "branch.My.Branch.merge"),
            ("Loopx", "loopx"),
        ] {
            assert_eq!(canonical(typed), key);
        }
    }

    /// Settings that git itself hands to a child, through an alias that prints them.
    #[test]
    fn what_git_hands_over_is_read_as_it_was_typed() {
        let values = [
            "plain",
            "it's",
            "a!b",
            "'",
            "",
            " two  words ",
            "\\'",
            "x=y",
            "ü\n",
        ];
        for value in values {
            let printed = Run::git([
                "-c",
                "Loopx.Branch=first",
                "-c",
                &format!("loopx.branch={value}"),
                "-c",
                "alias.shown=!printf %s \"$GIT_CONFIG_PARAMETERS\"",
                "-c",
                "user.useConfigOnly",
                "shown",
            ])
            .scrubbed()
            .capture()
            .expect("git runs")
            .ok()
            .expect("git prints");
            let found = parameters(&String::from_utf8(printed).expect("UTF-8"));
            let last = |key: &str| {
                let all = found.iter().rev();
                let mut named = all.filter(|(name, _)| name == key);
                named.next().map(|(_, value)| value.as_str())
            };
            assert_eq!(last("loopx.branch"), Some(value));
            assert_eq!(last("user.useconfigonly"), Some("true"));
        }
    }

    #[test]
    fn the_form_of_older_gits_and_what_is_no_list() {
        assert_eq!(
            parameters("'a.b=c=d' 'a.bare'"),
            [("a.b", "c=d"), ("a.bare", "true")].map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
        for text in ["", "x", "'a", "'a.b'='c"] {
            assert!(parameters(text).is_empty(), "{text}");
        }
    }
}
