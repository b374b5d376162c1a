//! The statements of a request: numbered once, when the session begins, and from then on cited by number. What covers
//! each is computed from the artifacts.
//!
//! `I-3` cites a statement, `I-3..I-7` several; whatever artifact has it says that it is addressed there. A line that
//! begins with the number and says `deferred: WHY` puts it off. A request of one statement needs no number: the session
//! is about it.

use super::artifact::Artifact;
use super::markdown::without_asides;
use super::texts::Texts;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The file of a session that has them.
pub const FILE: &str = "statements.md";

/// The purpose that a request begins with: its first paragraph, in one line, were it a heading.
pub fn purpose(request: &str) -> Option<String> {
    let lines = request
        .lines()
        .map(|line| line.trim_start_matches('#').trim());
    let lines = lines.skip_while(|line| line.is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// Prefix of each number.
const PREFIX: &str = "I-";
/// Number of statements that a range may name.
const LONGEST_RANGE: u32 = 1_000;

/// Statement of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    pub number: u32,
    pub text: String,
}

impl Statement {
    /// Name of the statement, as documents cite it.
    pub fn id(&self) -> String {
        format!("{PREFIX}{}", self.number)
    }
}

vocabulary!(
    /// Fate of a statement.
    Fate {
        Addressed = "addressed",
        Deferred = "deferred",
        Missing = "missing",
    }
);

/// A statement, and where it is cited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveredStatement {
    pub id: String,
    pub text: String,
    pub fate: Fate,
    /// The files that cite it, in their order.
    pub cited: Vec<&'static str>,
    /// Reason why the statement is deferred, and the place of that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Deferral>,
}

/// A line that puts a statement off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deferral {
    pub reason: String,
    pub at: String,
}

/// The statements of a request: each item of a list, and each sentence of what else it says. Headings, comments and
/// code say nothing by themselves.
pub fn statements(request: &str) -> Vec<Statement> {
    let mut found: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    let mut item: Option<String> = None;
    let mut fence: Option<String> = None;
    for line in request.lines() {
        let text = line.trim().trim_start_matches('>').trim();
        if let Some(mark) = &fence {
            if text.starts_with(mark.as_str()) {
                fence = None;
            }
            continue;
        }
        let mark: String = text
            .chars()
            .take_while(|c| matches!(c, '`' | '~'))
            .collect();
        let begins = entry(text);
        let breaks =
            mark.len() >= 3 || text.is_empty() || text.starts_with('#') || begins.is_some();
        if breaks {
            found.extend(item.take());
            found.extend(sentences(&std::mem::take(&mut paragraph)));
        }
        if mark.len() >= 3 {
            fence = Some(mark);
        } else if let Some(begins) = begins {
            item = Some(begins.to_owned());
        } else if !breaks && !text.starts_with("<!--") {
            let open = item.as_mut().unwrap_or(&mut paragraph);
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(text);
        }
    }
    found.extend(item);
    found.extend(sentences(&paragraph));
    let says = |text: &String| text.chars().any(char::is_alphanumeric);
    found
        .into_iter()
        .filter(says)
        .zip(1..)
        .map(|(text, number)| Statement { number, text })
        .collect()
}

/// Text behind the marker of a list.
fn entry(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "];
    if let Some(rest) = bullet.iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest.trim());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?;
    let rest = rest
        .strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))?;
    (1..=3).contains(&digits).then_some(rest.trim())
}

/// The sentences of a paragraph.
fn sentences(text: &str) -> Vec<String> {
    const SHORT: [&str; 6] = ["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx."];
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let rest = &text[end..];
        let is_end = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let follows = rest.trim_start().chars().next();
                let is_new = follows.is_none_or(|next| !next.is_lowercase());
                rest.starts_with(' ')
                    && is_new
                    && !SHORT.iter().any(|short| text[start..end].ends_with(short))
            }
            _ => false,
        };
        if is_end {
            found.push(text[start..end].trim().to_owned());
            start = end;
        }
    }
    found.push(text[start..].trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// The file that numbers the statements of a request; none where there is one alone.
pub fn numbered(request: &str) -> Option<String> {
    let found = statements(request);
    if found.len() < 2 {
        return None;
    }
    let mut text = "# Statements of the request\n\n".to_owned();
    for one in found {
        text.push_str(&format!("- {}: {}\n", one.id(), one.text));
    }
    Some(text)
}

/// The statements of such a file.
pub fn read(text: &str) -> Vec<Statement> {
    let of = |line: &str| {
        let (number, text) = line.strip_prefix("- ")?.split_once(": ")?;
        Some(Statement {
            number: number.strip_prefix(PREFIX)?.parse().ok()?,
            text: text.to_owned(),
        })
    };
    text.lines().filter_map(of).collect()
}

/// The numbers that a text cites.
fn cited(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(PREFIX) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) {
            continue;
        }
        let Some((first, rest)) = number(&text[at + PREFIX.len()..]) else {
            continue;
        };
        let last = rest.strip_prefix("..").and_then(|rest| {
            let rest = rest.strip_prefix(PREFIX).unwrap_or(rest);
            Some(number(rest)?.0)
        });
        let last = last.unwrap_or(first);
        if last.saturating_sub(first) <= LONGEST_RANGE {
            found.extend(first..=last);
        }
    }
    found
}

/// The number that a text begins with, and what is behind it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if rest.starts_with(is_word) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

/// The statements that a line puts off, and why; the reason may be missing.
fn deferred(line: &str) -> Option<(BTreeSet<u32>, String)> {
    let text = line.trim();
    let text = entry(text).unwrap_or(text);
    if !text.starts_with(PREFIX) {
        return None;
    }
    let (head, reason) = text.split_once(':')?;
    let (numbers, word) = head.rsplit_once(' ')?;
    let word = word.trim_matches(['(', ')', '*', '`']);
    word.eq_ignore_ascii_case("deferred")
        .then(|| (cited(numbers), reason.trim().to_owned()))
}

/// Tells whether a reason has a letter or a digit, and is not the place that a hint leaves for one: dots, dashes and
/// characters of no width say nothing.
fn says_something(reason: &str) -> bool {
    reason.chars().any(char::is_alphanumeric) && reason != "WHY"
}

/// A citation of a number that no statement has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stray {
    pub id: String,
    /// File and line.
    pub at: String,
}

/// The numbers that the artifacts cite and no statement has; none where nothing is numbered.
pub fn strays(statements: &[Statement], texts: &Texts) -> Vec<Stray> {
    let known: BTreeSet<u32> = statements.iter().map(|one| one.number).collect();
    let mut found = Vec::new();
    if known.is_empty() {
        return found;
    }
    let texts = texts
        .iter()
        .filter(|(artifact, _)| **artifact != Artifact::Intent);
    for (artifact, text) in texts {
        for (at, line) in text.lines().enumerate() {
            let strange = cited(line).into_iter().filter(|one| !known.contains(one));
            found.extend(strange.map(|number| Stray {
                id: format!("{PREFIX}{number}"),
                at: format!("{artifact}:{}", at + 1),
            }));
        }
    }
    found
}

/// Finds what covers each statement.
pub fn coverage(statements: &[Statement], texts: &Texts) -> Vec<CoveredStatement> {
    let mut cites: BTreeMap<u32, Vec<&'static str>> = BTreeMap::new();
    let mut put_off: BTreeMap<u32, Deferral> = BTreeMap::new();
    for (artifact, text) in texts.iter() {
        // The request says everything, and covers nothing.
        if *artifact == Artifact::Intent || !text.contains(PREFIX) {
            continue;
        }
        // What nobody reads on the page addresses nothing.
        let written = without_asides(text);
        for (at, line) in written.lines().enumerate() {
            match deferred(line) {
                // Without a reason it is neither put off nor addressed.
                Some((_, reason)) if !says_something(&reason) => {}
                Some((numbers, reason)) => {
                    for number in numbers {
                        put_off.entry(number).or_insert_with(|| Deferral {
                            reason: reason.clone(),
                            at: format!("{artifact}:{}", at + 1),
                        });
                    }
                }
                None => {
                    for number in cited(line) {
                        let files = cites.entry(number).or_default();
                        if files.last() != Some(&artifact.path()) {
                            files.push(artifact.path());
                        }
                    }
                }
            }
        }
    }
    let of = |one: &Statement| {
        let cited = cites.remove(&one.number).unwrap_or_default();
        let deferred = put_off.remove(&one.number);
        let fate = match (&deferred, cited.is_empty()) {
            (Some(_), _) => Fate::Deferred,
            (None, false) => Fate::Addressed,
            (None, true) => Fate::Missing,
        };
        CoveredStatement {
            id: one.id(),
            text: one.text.clone(),
            fate,
            cited,
            deferred,
        }
    };
    statements.iter().map(of).collect()
}

/// Blockers of a gate: each statement that no artifact cites and nobody put off.
pub fn blockers(covered: &[CoveredStatement], edit: Artifact) -> Vec<Blocker> {
    let missing = covered.iter().filter(|one| one.fate == Fate::Missing);
    missing
        .map(|one| {
            let text: String = one.text.chars().take(80).collect();
            Blocker::new(
                Code::IntentUncovered,
                format!(
                    "{} of the request is neither cited nor deferred: \"{text}\"; cite {} where it is addressed, or write `- {} deferred: WHY`",
                    one.id, one.id, one.id
                ),
                command!("edit {edit}"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Fate, cited, coverage, deferred, numbered, read, statements, strays};
    use crate::artifact::Artifact;
    use crate::texts::Texts;

    const REQUEST: &str = "# Timeouts\n\nSessions end after ten minutes. Use e.g. a timer, and v1.2 of it! The log\nsays why.\n\n- a setting\n  for the time\n- no change of the form. Really.\n\n```\n- not this\n```\n1. tests\n";

    #[test]
    fn a_request_is_its_items_and_its_sentences() {
        let texts: Vec<String> = statements(REQUEST)
            .into_iter()
            .map(|one| one.text)
            .collect();
        let expected = [
            "Sessions end after ten minutes.",
            "Use e.g. a timer, and v1.2 of it!",
            "The log says why.",
            "a setting for the time",
            "no change of the form. Really.",
            "tests",
        ];
        assert_eq!(texts, expected);
        let file = numbered(REQUEST).expect("several");
        assert_eq!(read(&file), statements(REQUEST));
        for one in [
            "",
            "Fix the timeout",
            "Fix it.\n",
            "# Title\n\n- only this\n",
        ] {
            assert_eq!(numbered(one), None, "{one}");
        }
    }

    #[test]
    fn a_number_is_cited_as_a_word() {
        let all = |text: &str| cited(text).into_iter().collect::<Vec<_>>();
        assert_eq!(all("I-1, (I-2) and \"I-10\"."), [1, 2, 10]);
        assert_eq!(all("I-3..I-5 I-7..8"), [3, 4, 5, 7, 8]);
        assert!(all("API-1 I-x I-2b i-3 I- X_I-4").is_empty());
        let (numbers, reason) = deferred("- I-2, I-3 deferred: after the release").expect("a line");
        assert_eq!((numbers.len(), reason.as_str()), (2, "after the release"));
        let (_, reason) = deferred("- I-2 deferred:").expect("a line");
        assert_eq!(reason, "");
        for none in ["I-2 is not deferred because", "deferred: I-2"] {
            assert!(deferred(none).is_none(), "{none}");
        }
    }

    #[test]
    fn a_deferral_without_a_reason_is_none_and_a_stray_number_is_told() {
        let mut texts = Texts::default();
        let plan = "# Plan\n\n- I-1 deferred: . \u{200b}\n- I-2 (deferred):  \n\nSee I-99.\n";
        texts.insert(Artifact::Plan, plan.to_owned());
        let covered = coverage(&statements(REQUEST), &texts);
        assert!(covered.iter().all(|one| one.fate == Fate::Missing));
        let found = strays(&statements(REQUEST), &texts);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (one.id.as_str(), one.at.as_str()))
            .collect();
        assert_eq!(found, [("I-99", "plan.md:6")]);
        assert!(strays(&[], &texts).is_empty());
    }

    #[test]
    fn a_statement_is_addressed_deferred_or_missing() {
        let mut texts = Texts::default();
        texts.insert(
            Artifact::Intent,
            "I-3 is named by the request itself".to_owned(),
        );
        texts.insert(
            Artifact::Plan,
            "# Plan\n\nA timer (I-1).\n\n- I-2 deferred: next time\n".to_owned(),
        );
        let covered = coverage(&statements(REQUEST), &texts);
        let fates: Vec<Fate> = covered.iter().map(|one| one.fate).collect();
        assert_eq!(fates[..3], [Fate::Addressed, Fate::Deferred, Fate::Missing]);
        assert_eq!(covered[0].cited, ["plan.md"]);
        assert_eq!(
            covered[1].deferred.as_ref().map(|one| one.at.as_str()),
            Some("plan.md:5")
        );
    }
}
