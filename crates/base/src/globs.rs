//! Path patterns as policy, scopes and gates write them. What a pattern is for is their matter.

use super::failure::{Code, Failure, Result};
use globset::{Glob, GlobSet, GlobSetBuilder};

/// Path patterns: `*` stays within a folder, `**` does not, and a pattern without a slash matches at
/// any depth (as in gitignore). A pattern of names with an ending, like `*.md`, means files: never what is
/// in a folder of such a name.
#[derive(Clone, Debug)]
pub struct Globs(GlobSet);

impl Globs {
    pub fn new(patterns: &[String]) -> Result<Self> {
        Self::build(patterns, true, false)
    }

    /// Patterns of files: none takes a folder of its name, unless it ends with a slash or with `/**`.
    pub fn of_files(patterns: &[String]) -> Result<Self> {
        Self::build(patterns, false, false)
    }

    /// Patterns of people, who are the same in capitals.
    pub fn in_any_case(patterns: &[String]) -> Result<Self> {
        Self::build(patterns, true, true)
    }

    fn build(patterns: &[String], names_mean_folders: bool, any_case: bool) -> Result<Self> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            let invalid = |error: globset::Error| {
                Failure::usage(
                    Code::PatternInvalid,
                    format!(
                        "expected a path pattern, found `{pattern}`: {}",
                        error.kind()
                    ),
                )
            };
            let anchored = pattern.trim_start_matches('/');
            let build = |text: &str| {
                globset::GlobBuilder::new(text)
                    .literal_separator(true)
                    .case_insensitive(any_case)
                    .build()
            };
            // `**/x` is at the top too. A pattern more is one more to compile in each hook.
            let text = if pattern.contains('/') {
                anchored.to_owned()
            } else {
                format!("**/{anchored}")
            };
            builder.add(build(&text).map_err(invalid)?);
            let last = pattern.rsplit('/').next().unwrap_or_default();
            let is_whole_folder = anchored
                .strip_suffix("/**")
                .is_some_and(|folder| !folder.contains(['*', '?', '[', '{', '\\']));
            let is_folder = if names_mean_folders {
                !last.starts_with("*.")
            } else {
                last.is_empty()
            };
            if is_folder && !is_whole_folder {
                // A folder covers what is in it.
                builder.add(
                    Glob::new(&format!("{}/**", anchored.trim_end_matches('/')))
                        .map_err(invalid)?,
                );
            }
        }
        builder
            .build()
            .map(Globs)
            .map_err(|error| Failure::usage(Code::PatternInvalid, error.to_string()))
    }

    pub fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::Globs;

    #[test]
    fn patterns_match_as_in_gitignore() {
        let patterns = |p: &str| Globs::new(&[p.to_owned()]).expect("pattern");
        assert!(patterns("*.md").matches("a/b/README.md"));
        assert!(patterns("specs/**").matches("specs/a/spec.md"));
        assert!(!patterns("specs/**").matches("src/specs/a"));
        assert!(patterns("src").matches("src/a/b.rs"));
        assert!(!patterns("src/*.rs").matches("src/a/b.rs"));
        assert!(!patterns("*.md").matches("src/lib.md/evil.sh"));
        assert!(!patterns("docs/*.md").matches("docs/x.md/evil.sh"));
        assert!(patterns("*.d/**").matches("a.d/b"));
        for path in ["loopx.toml", "a/loopx.toml", "loopx.toml/x"] {
            assert!(patterns("loopx.toml").matches(path), "{path}");
        }
        for path in ["a", "a/b", "a/b/c"] {
            assert!(patterns("**").matches(path), "{path}");
            assert!(
                patterns("/a/**").matches(path) == path.contains('/'),
                "{path}"
            );
        }
        let files = |p: &str| Globs::of_files(&[p.to_owned()]).expect("pattern");
        for (pattern, path, wanted) in [
            ("Cargo.lock", "Cargo.lock", true),
            ("Cargo.lock", "a/Cargo.lock", true),
            ("Cargo.lock", "Cargo.lock/x", false),
            ("/Cargo.lock", "a/Cargo.lock", false),
            ("docs", "docs/a", false),
            ("docs/*", "docs/a/b", false),
            ("docs/", "docs/a/b", true),
            ("docs/**", "docs/a/b", true),
            ("**/docs/**", "a/docs/b/c", true),
            ("**", "a/b", true),
            ("*", "a/b", true),
        ] {
            assert_eq!(files(pattern).matches(path), wanted, "{pattern} {path}");
        }
        assert!(patterns("*.md").matches(".md"));
        assert!(!patterns("*.md").matches("a.mdx"));
    }
}
