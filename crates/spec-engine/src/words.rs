//! The words of the grammar, as data: header words, step words and normative words per language, and
//! the folding by which names are looked up. Adding a language is adding rows.
//!
//! Knows nothing of files or structure.

use serde::Serialize;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// A language whose header words are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    English,
    Chinese,
}

/// Effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    Added,
    Modified,
    Removed,
    Renamed,
}

impl OpKind {
    /// The word as it stands in a heading.
    pub fn word(self) -> &'static str {
        match self {
            OpKind::Added => "ADDED",
            OpKind::Modified => "MODIFIED",
            OpKind::Removed => "REMOVED",
            OpKind::Renamed => "RENAMED",
        }
    }
}

/// The word of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepWord {
    Given,
    When,
    Then,
    And,
    But,
}

/// Binding force of a requirement (RFC 2119, RFC 8174).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    May,
    ShouldNot,
    Should,
    MustNot,
    Must,
}

/// Section that a level-1 or level-2 heading opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionWord {
    Purpose,
    Requirements,
    Delta(OpKind),
}

use Language::{Chinese, English};

const SECTIONS: &[(&str, SectionWord, Language)] = &[
    ("purpose", SectionWord::Purpose, English),
    ("requirements", SectionWord::Requirements, English),
    (
        "added requirements",
        SectionWord::Delta(OpKind::Added),
        English,
    ),
    (
        "modified requirements",
        SectionWord::Delta(OpKind::Modified),
        English,
    ),
    (
        "removed requirements",
        SectionWord::Delta(OpKind::Removed),
        English,
    ),
    (
        "renamed requirements",
        SectionWord::Delta(OpKind::Renamed),
        English,
    ),
    ("目的", SectionWord::Purpose, Chinese),
    ("需求", SectionWord::Requirements, Chinese),
    ("新增需求", SectionWord::Delta(OpKind::Added), Chinese),
    ("修改需求", SectionWord::Delta(OpKind::Modified), Chinese),
    ("删除需求", SectionWord::Delta(OpKind::Removed), Chinese),
    ("移除需求", SectionWord::Delta(OpKind::Removed), Chinese),
    ("重命名需求", SectionWord::Delta(OpKind::Renamed), Chinese),
];

const REQUIREMENT: &[(&str, Language)] = &[("requirement", English), ("需求", Chinese)];
const SCENARIO: &[(&str, Language)] = &[("scenario", English), ("场景", Chinese)];
const OPERATIONS: &[(&str, OpKind)] = &[
    ("added", OpKind::Added),
    ("modified", OpKind::Modified),
    ("removed", OpKind::Removed),
    ("renamed", OpKind::Renamed),
    ("新增", OpKind::Added),
    ("修改", OpKind::Modified),
    ("删除", OpKind::Removed),
    ("移除", OpKind::Removed),
    ("重命名", OpKind::Renamed),
];
const STEPS: &[(&str, StepWord)] = &[
    ("given", StepWord::Given),
    ("when", StepWord::When),
    ("then", StepWord::Then),
    ("and", StepWord::And),
    ("but", StepWord::But),
    ("假设", StepWord::Given),
    ("假如", StepWord::Given),
    ("当", StepWord::When),
    ("那么", StepWord::Then),
    ("则", StepWord::Then),
    ("并且", StepWord::And),
    ("而且", StepWord::And),
    ("但是", StepWord::But),
];
/// Words of the levels, the longer forms first: `MUST NOT` is one word.
const LEVELS: &[(&str, Level)] = &[
    ("MUST NOT", Level::MustNot),
    ("SHALL NOT", Level::MustNot),
    ("SHOULD NOT", Level::ShouldNot),
    ("NOT RECOMMENDED", Level::ShouldNot),
    ("MUST", Level::Must),
    ("SHALL", Level::Must),
    ("REQUIRED", Level::Must),
    ("SHOULD", Level::Should),
    ("RECOMMENDED", Level::Should),
    ("MAY", Level::May),
    ("OPTIONAL", Level::May),
];
const LEVELS_CJK: &[(&str, Level)] = &[
    ("必须", Level::Must),
    ("不得", Level::MustNot),
    ("禁止", Level::MustNot),
    ("应当", Level::Should),
    ("不应", Level::ShouldNot),
    ("可以", Level::May),
];

/// `name` as it is looked up: NFC, every run of white space one blank, outer white space gone. Letter
/// case stays: two names that differ in it only are told apart, and reported.
pub fn fold(name: &str) -> String {
    folded(name).into_owned()
}

/// [`fold`] without a copy of a name that is folded already.
pub(crate) fn folded(name: &str) -> Cow<'_, str> {
    if is_folded(name.as_bytes()) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut words = name
        .split(|c: char| c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}')
        .filter(|word| !word.is_empty());
    if let Some(first) = words.next() {
        out.push_str(first);
        for word in words {
            out.push(' ');
            out.push_str(word);
        }
    }
    Cow::Owned(if out.is_ascii() {
        out
    } else {
        out.nfc().collect()
    })
}

/// Tells whether a name is folded already, as most names are: visible ASCII with single blanks between.
fn is_folded(name: &[u8]) -> bool {
    let mut blank = true;
    for byte in name {
        match (byte, blank) {
            (b'!'..=b'~', _) => blank = false,
            (b' ', false) => blank = true,
            _ => return false,
        }
    }
    !blank || name.is_empty()
}

/// Name folded further, to find names that a person would take for the same.
pub(crate) fn loose(name: &str) -> String {
    if name.is_ascii() {
        return name
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
    }
    fold(name)
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The one of `names` that is nearest to `name`, when it is near at all.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted: Vec<char> = fold(name).to_lowercase().chars().take(200).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in names.into_iter().take(2_000) {
        let other: Vec<char> = fold(candidate).to_lowercase().chars().take(200).collect();
        if wanted.len().abs_diff(other.len()) * 3 > wanted.len().max(other.len()) {
            continue;
        }
        let distance = distance(&wanted, &other);
        if distance * 3 <= wanted.len().max(other.len()) && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            let value = (corner + usize::from(x != y)).min(above + 1).min(left + 1);
            corner = above;
            left = value;
            *cell = value;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Section and language that the title of a section names.
pub(crate) fn section(title: &str) -> Option<(SectionWord, Language)> {
    let title = fold(title).to_lowercase();
    let title = title.trim_end_matches([':', '：']).trim_end();
    SECTIONS
        .iter()
        .find(|(word, _, _)| *word == title)
        .map(|(_, section, language)| (*section, *language))
}

/// `Requirement: NAME` without its word.
pub(crate) fn requirement(title: &str) -> Option<(&str, Language)> {
    REQUIREMENT
        .iter()
        .find_map(|(word, language)| Some((after_colon(strip(title, word)?)?, *language)))
}

/// Tells whether the title of a heading names a requirement.
pub fn is_requirement(title: &str) -> bool {
    requirement(title).is_some()
}

/// `Requirement NAME`: the colon was forgotten.
pub(crate) fn almost_requirement(title: &str) -> bool {
    REQUIREMENT
        .iter()
        .any(|(word, _)| strip(title, word).is_some())
        && requirement(title).is_none()
}

/// `[OPERATION] Scenario: NAME` without its words.
pub(crate) fn scenario(title: &str) -> Option<(Option<OpKind>, &str, Language)> {
    if let Some((name, language)) = plain_scenario(title) {
        return Some((None, name, language));
    }
    OPERATIONS.iter().find_map(|(word, kind)| {
        let (name, language) = plain_scenario(strip(title, word)?.trim_start())?;
        Some((Some(*kind), name, language))
    })
}

fn plain_scenario(title: &str) -> Option<(&str, Language)> {
    SCENARIO
        .iter()
        .find_map(|(word, language)| Some((after_colon(strip(title, word)?)?, *language)))
}

/// The step word at the start of `text`, and what follows it.
pub(crate) fn step(text: &str) -> Option<(StepWord, &str)> {
    let bold = text.strip_prefix("**").or_else(|| text.strip_prefix("__"));
    let text = bold.unwrap_or(text);
    STEPS.iter().find_map(|(word, step)| {
        let rest = strip(text, word)?;
        if bold.is_some() {
            let (inside, rest) = rest.split_once("**").or_else(|| rest.split_once("__"))?;
            return inside
                .trim_matches([':', '：', ' '])
                .is_empty()
                .then(|| (*step, rest.trim_start_matches([':', '：', ' ', '\t'])));
        }
        let first = text.chars().next()?;
        let cjk = !first.is_ascii();
        let next = rest.chars().next();
        (cjk || (first.is_uppercase() && next.is_none_or(|c| c.is_whitespace() || c == ':')))
            .then(|| (*step, rest.trim_start_matches([':', '：', ' ', '\t'])))
    })
}

/// The strongest normative word of `text`. Upper case only (RFC 8174).
pub(crate) fn level(text: &str) -> Option<Level> {
    let mut best: Option<Level> = None;
    let mut keep = |level: Level| best = best.max(Some(level));
    let mut words = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '"' || c == '“'))
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        if !word.bytes().all(|b| b.is_ascii_uppercase()) {
            continue;
        }
        let pair = words.peek().map(|next| format!("{word} {next}"));
        let two = LEVELS
            .iter()
            .find(|(name, _)| pair.as_deref() == Some(*name));
        if let Some((_, level)) = two {
            words.next();
            keep(*level);
        } else if let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == word) {
            keep(*level);
        }
    }
    if !text.is_ascii() {
        for (word, level) in LEVELS_CJK {
            if text.contains(word) {
                keep(*level);
            }
        }
    }
    best
}

/// Tells whether a text has a normative word that is not in upper case.
pub(crate) fn lower_case_level(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| matches!(word, "shall" | "must" | "Shall" | "Must"))
}

/// Cuts `word` (lower case) from the front, in any case.
fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    let is_same = if head.is_ascii() {
        head.eq_ignore_ascii_case(word)
    } else {
        head.to_lowercase() == *word
    };
    is_same.then(|| text.get(word.len()..)).flatten()
}

/// Text behind a colon, ASCII or full-width, with white space around it gone.
fn after_colon(rest: &str) -> Option<&str> {
    let rest = rest.trim_start();
    rest.strip_prefix(':')
        .or_else(|| rest.strip_prefix('：'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_composition_and_white_space_but_not_case() {
        assert_eq!(fold(" De\u{301}lai\u{a0}  cafe\u{301} "), "Délai café");
        assert_ne!(fold("Login"), fold("login"));
        assert_eq!(loose("Log-in x"), loose("login X"));
    }

    #[test]
    fn headings_are_read_in_both_languages_and_with_both_colons() {
        assert_eq!(requirement("Requirement：登出"), Some(("登出", English)));
        assert_eq!(requirement("需求: a"), Some(("a", Chinese)));
        assert_eq!(requirement("Requirements: a"), None);
        assert_eq!(
            scenario("REMOVED Scenario: X"),
            Some((Some(OpKind::Removed), "X", English))
        );
        assert_eq!(
            section("ADDED \u{a0} Requirements"),
            Some((SectionWord::Delta(OpKind::Added), English))
        );
    }

    #[test]
    fn levels_are_upper_case_words() {
        assert_eq!(level("it SHALL NOT do, it MAY"), Some(Level::MustNot));
        assert_eq!(level("it shall"), None);
        assert_eq!(level("MUSTER"), None);
        assert_eq!(level("the word \"SHALL\" here"), None);
        assert_eq!(level("系统必须登出"), Some(Level::Must));
    }

    #[test]
    fn steps_are_bold_or_upper_case() {
        assert_eq!(step("**WHEN** x"), Some((StepWord::When, "x")));
        assert_eq!(step("**When**: x"), Some((StepWord::When, "x")));
        assert_eq!(step("THEN y"), Some((StepWord::Then, "y")));
        assert_eq!(step("and then"), None);
        assert_eq!(step("当 x"), Some((StepWord::When, "x")));
        assert_eq!(step("Whenever"), None);
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(
            nearest("session Timeout", ["Login", "Session timeout"]),
            Some("Session timeout")
        );
        assert_eq!(nearest("Never existed", ["Login"]), None);
    }
}
