//! An acceptance criterion: one item of a list, `NAME: GIVEN ..., WHEN ..., THEN ...`, which becomes a scenario.

use serde::Serialize;

const WORDS: [&str; 5] = ["GIVEN", "WHEN", "THEN", "AND", "BUT"];

/// Acceptance criterion. Without steps it is a sentence that nothing can be made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Criterion {
    pub name: String,
    pub line: usize,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub word: &'static str,
    pub text: String,
}

impl Criterion {
    /// Reads an item. The words of its steps are upper case, as those of a scenario; where no name stands before
    /// them, the condition is the name.
    pub(super) fn read(item: &str, line: usize) -> Self {
        let places = places(item);
        let head = places.first().map_or(item.len(), |(_, at)| *at);
        let mut steps = Vec::new();
        for (nth, (word, at)) in places.iter().enumerate() {
            let end = places.get(nth + 1).map_or(item.len(), |(_, next)| *next);
            let text = item[at + word.len()..end].trim_matches(|c: char| {
                c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.' | '，' | '；' | '。' | '：')
            });
            steps.push(Step {
                word,
                text: text.to_owned(),
            });
        }
        let named = item[..head]
            .trim()
            .trim_end_matches([':', '：', ',', '.', ' ']);
        let when = steps.iter().find(|step| step.word == "WHEN");
        let name = match (named.is_empty(), when) {
            (true, Some(step)) => capital(&step.text),
            _ => named.to_owned(),
        };
        Criterion { name, line, steps }
    }

    /// Tells whether the criterion says when and what then, so that a scenario can be made of it.
    pub fn is_scenario(&self) -> bool {
        let has = |word: &str| self.steps.iter().any(|step| step.word == word);
        let is_said = self.steps.iter().all(|step| !step.text.is_empty());
        has("WHEN") && has("THEN") && is_said && !self.name.is_empty()
    }
}

/// The places of the words, each whole and in upper case.
fn places(item: &str) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    for word in WORDS {
        for (at, _) in item.match_indices(word) {
            let before = item[..at].chars().next_back();
            let after = item[at + word.len()..].chars().next();
            let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '`');
            if is_end(before) && is_end(after) {
                found.push((word, at));
            }
        }
    }
    found.sort_by_key(|(_, at)| *at);
    found
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}
