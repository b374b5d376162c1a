//! The kind of a change, by the words of its session's title, and its part of the code, by its paths.

use loopx_base::vocabulary::vocabulary;
use std::collections::BTreeMap;

vocabulary!(
    /// The sort of a change.
    ChangeKind {
        Bugfix = "bugfix",
        Refactor = "refactor",
        Docs = "docs",
        Feature = "feature",
        Enhancement = "enhancement",
    }
);

/// The words of each sort but the last, which is what no word says. The first sort with a word of the title is meant.
const WORDS: [(ChangeKind, &[&str]); 4] = [
    (
        ChangeKind::Bugfix,
        &["fix", "bug", "bugfix", "hotfix", "error", "crash"],
    ),
    (
        ChangeKind::Refactor,
        &["refactor", "cleanup", "reorganize", "reorganise"],
    ),
    (
        ChangeKind::Docs,
        &["doc", "document", "documentation", "readme", "comment"],
    ),
    (ChangeKind::Feature, &["add", "new", "create", "implement"]),
];

/// The ends that a word of the list may have in a title.
const ENDS: [&str; 6] = ["", "s", "es", "d", "ed", "ing"];

impl ChangeKind {
    /// The sort that a title says. Whole words count: nothing is added by an address.
    pub fn of(title: &str) -> ChangeKind {
        let title = title.to_lowercase();
        let words = title.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let has = |wanted: &&str| words.iter().any(|word| is_form(word, wanted));
        let found = WORDS.iter().find(|(_, wanted)| wanted.iter().any(has));
        found.map_or(ChangeKind::Enhancement, |(kind, _)| *kind)
    }
}

/// Tells whether a word is the wanted one, with one of the ends; a silent `e` goes before `ing`.
fn is_form(word: &str, wanted: &str) -> bool {
    let is_with = |stem: &str| {
        let end = word.strip_prefix(stem);
        end.is_some_and(|end| ENDS.contains(&end))
    };
    let stem = wanted.strip_suffix('e');
    is_with(wanted) || stem.is_some_and(|stem| word.strip_prefix(stem) == Some("ing"))
}

/// The part of the code that paths are about: the folder in which most of them lie, by its own name; of several the first
/// by name.
pub fn area<'p>(paths: impl IntoIterator<Item = &'p str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let mut names = path.rsplit('/');
        names.next();
        if let Some(folder) = names.next() {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let most = counts.values().max().copied()?;
    let mut all = counts.into_iter();
    all.find_map(|(folder, count)| (count == most).then(|| folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{ChangeKind, area};

    #[test]
    fn the_first_sort_with_a_word_of_the_title_is_meant() {
        for (title, kind) in [
            ("Fix the new timeout", ChangeKind::Bugfix),
            ("Fixes two crashes", ChangeKind::Bugfix),
            ("Error messages say more", ChangeKind::Bugfix),
            ("Refactoring: add no name", ChangeKind::Refactor),
            ("Reorganizing docs", ChangeKind::Refactor),
            ("README says how", ChangeKind::Docs),
            ("Creating accounts", ChangeKind::Feature),
            ("ADD pears", ChangeKind::Feature),
            ("Shorter idle timeout", ChangeKind::Enhancement),
            ("", ChangeKind::Enhancement),
        ] {
            assert_eq!(ChangeKind::of(title), kind, "{title}");
        }
    }

    #[test]
    fn a_part_of_a_word_says_nothing() {
        for title in [
            "Address of the prefix",
            "Renew the newer terror",
            "Debugger",
            "Docker",
            "Paddings",
        ] {
            assert_eq!(ChangeKind::of(title), ChangeKind::Enhancement, "{title}");
        }
    }

    #[test]
    fn the_area_is_the_folder_of_most_paths() {
        let paths = ["src/auth/a.rs", "src/auth/b.rs", "docs/a.md", "README"];
        assert_eq!(area(paths).as_deref(), Some("auth"));
        assert_eq!(area(["b/x", "a/x"]).as_deref(), Some("a"));
        assert_eq!(area(["README"]), None);
        assert_eq!(area([]), None);
    }
}
