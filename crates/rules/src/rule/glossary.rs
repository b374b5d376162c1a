//! The words of the glossary: which are canonical, which to avoid. Rules that use a word to avoid are found.

use super::Document;
use super::check::finding;
use super::document::Origin;
use crate::markdown::without_asides;
use loopx_spec::Finding;

/// The name of the document, below the folder of rules.
pub const FILE: &str = "glossary.md";

/// A word of the glossary, as `- purchase: say order`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    word: String,
    /// Words to say instead.
    said: String,
    line: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Canonical,
    Avoid,
    Other,
}

/// The words of one section.
fn words(text: &str, wanted: Section) -> Vec<Word> {
    let mut section = Section::Other;
    let mut found = Vec::new();
    for (at, line) in without_asides(text).lines().enumerate() {
        let line = line.trim();
        if let Some(heading) = line.strip_prefix('#') {
            section = match heading
                .trim_start_matches('#')
                .trim()
                .to_lowercase()
                .as_str()
            {
                "canonical" => Section::Canonical,
                "avoid" => Section::Avoid,
                _ => Section::Other,
            };
            continue;
        }
        let item = line.strip_prefix("- ").or(line.strip_prefix("* "));
        if let Some(item) = item.filter(|_| section == wanted) {
            let (word, said) = item.split_once(':').unwrap_or((item, ""));
            let word = word.replace("**", "").replace('`', "").trim().to_owned();
            if !word.is_empty() {
                found.push(Word {
                    word,
                    said: said.trim().to_owned(),
                    line: at + 1,
                });
            }
        }
    }
    found
}

/// Tells whether a document is the glossary of the repository.
fn is_glossary(document: &Document) -> bool {
    document.origin == Origin::Project && document.path.rsplit('/').next() == Some(FILE)
}

/// Rules that use a word to avoid, and words that are both canonical and to avoid.
pub(super) fn findings(documents: &[Document]) -> Vec<Finding> {
    let Some(glossary) = documents.iter().find(|one| is_glossary(one)) else {
        return Vec::new();
    };
    let avoid = words(&glossary.text, Section::Avoid);
    let canonical = words(&glossary.text, Section::Canonical);
    let mut found = Vec::new();
    for one in &avoid {
        let is_it = |other: &&Word| other.word.to_lowercase() == one.word.to_lowercase();
        if let Some(other) = canonical.iter().find(is_it) {
            let message = format!(
                "`{}` is to be avoided, and canonical in line {}",
                one.word, other.line
            );
            found.push(finding(
                "rule_contradiction",
                &glossary.path,
                one.line,
                message,
            ));
        }
    }
    let others = documents.iter().filter(|one| !is_glossary(one));
    for document in others {
        for rule in &document.rules {
            for one in avoid.iter().filter(|one| has_word(&rule.text, &one.word)) {
                let instead = if one.said.is_empty() {
                    String::new()
                } else {
                    format!(": {}", one.said)
                };
                let message = format!("`{}` is a word to avoid{instead}", one.word);
                found.push(finding(
                    "rule_word_avoided",
                    &document.path,
                    rule.line,
                    message,
                ));
            }
        }
    }
    found
}

/// Tells whether a text has a word, or several words that belong together, whatever the letter case.
fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(&word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + word.len()..].chars().next();
        // Scripts without blanks have no borders of words.
        let is_latin = word.is_ascii();
        !is_latin || !is_inside(before) && !is_inside(behind)
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_word_is_found_as_a_whole_whatever_its_case() {
        for (text, word, wanted) in [
            ("Log each Purchase once", "purchase", true),
            ("purchases are logged", "purchase", false),
            ("the (purchase)", "purchase", true),
            ("a shopping  cart", "shopping cart", false),
            ("a Shopping cart.", "shopping cart", true),
            ("记录每个购买", "购买", true),
            ("", "a", false),
        ] {
            assert_eq!(has_word(text, word), wanted, "{text}: {word}");
        }
    }
}
