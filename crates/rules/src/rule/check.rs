//! The check of rule documents, each for itself and with each other.

use super::document::{Document, Origin, Priority};
use loopx_base::globs::Globs;
use loopx_spec::{Finding, Known, Severity};
use std::collections::BTreeMap;

/// Findings about rules, by id.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "rule_category_unknown",
        Known::ERROR,
        "a document of rules has a category that does not exist",
        "write one of the categories, or name it in `rules.categories` of loopx.toml",
    ),
    Known::new(
        "rule_contradiction",
        Known::WARNING,
        "two fields in the front matter of a document of rules contradict each other",
        "keep one of the two fields",
    ),
    Known::new(
        "rule_dead_path",
        Known::WARNING,
        "a pattern of `applies_to` matches no file of the repository",
        "mend the pattern, or take it away",
    ),
    Known::new(
        "rule_duplicate",
        Known::WARNING,
        "one rule stands twice",
        "take one of them away",
    ),
    Known::new(
        "rule_empty",
        &[Severity::Info],
        "a document of rules has only headings and comments, and is given to nobody",
        "write rules into it, or remove it",
    ),
    Known::new(
        "rule_field_unknown",
        Known::WARNING,
        "the front matter of a document of rules has a field that means nothing",
        "mend the name of the field, or remove it",
    ),
    Known::new(
        "rule_front_matter",
        Known::ERROR,
        "the front matter of a document of rules cannot be read; it counts as required",
        "write `field: value` lines between two lines `---` at the top",
    ),
    Known::new(
        "rule_over_budget",
        Known::WARNING,
        "documents of rules have more bytes than the budget takes",
        "shorten or split the document, or raise `rules.budget` in loopx.toml",
    ),
    Known::new(
        "rule_pattern_invalid",
        Known::ERROR,
        "a pattern of `applies_to` cannot be read; the document counts for every path",
        "write a path pattern like `src/**`",
    ),
    Known::new(
        "rule_unreadable",
        Known::ERROR,
        "a file in the folder of rules is a link, too large, or not UTF-8, and is not read",
        "put a Markdown file in UTF-8 there",
    ),
    Known::new(
        "rule_word_avoided",
        Known::WARNING,
        "a rule has a word that the glossary says to avoid",
        "write the word that the glossary names instead",
    ),
];

/// A finding of this list.
pub(super) fn finding(id: &'static str, file: &str, line: usize, message: String) -> Finding {
    let (severity, fix) = Known::of(FINDINGS, id);
    Finding::new(severity, id, file, line, message, fix)
}

/// Limits and files by which documents are judged.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'g> {
    /// The most bytes that are read to somebody.
    pub budget: usize,
    /// Every file of the repository; nothing where nobody knows.
    pub files: Option<&'g [String]>,
    /// Files that could not be read, each with the reason.
    pub unread: &'g [(String, String)],
}

/// Lists the findings about documents, by file and line.
pub fn findings(documents: &[Document], ground: Ground<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, why) in ground.unread {
        found.push(finding("rule_unreadable", path, 0, why.clone()));
    }
    for document in documents {
        let slips = document.slips.iter();
        found.extend(
            slips.map(|slip| finding(slip.id, &document.path, slip.line, slip.message.clone())),
        );
        found.extend(contradictions(document));
        found.extend(dead_paths(document, ground.files));
        if !document.filled {
            let message = "expected rules, found headings and comments alone".to_owned();
            found.push(finding("rule_empty", &document.path, 0, message));
        }
        if document.bytes > ground.budget {
            let message = format!(
                "it has {} bytes, and the budget is {}: it is given to nobody",
                document.bytes, ground.budget
            );
            found.push(finding("rule_over_budget", &document.path, 0, message));
        }
    }
    found.extend(duplicates(documents));
    found.extend(titles(documents));
    found.extend(required_over_budget(documents, ground.budget));
    found.extend(super::glossary::findings(documents));
    found.sort_by(|one, other| {
        (&one.file, one.line, one.id, &one.message).cmp(&(
            &other.file,
            other.line,
            other.id,
            &other.message,
        ))
    });
    found
}

fn contradictions(document: &Document) -> Vec<Finding> {
    let mut said = Vec::new();
    if document.is_required() && document.priority == Priority::Low && document.slips.is_empty() {
        said.push((
            1,
            "`readMode: required` says that everybody reads it, `priority: low` that it comes last"
                .to_owned(),
        ));
    }
    for (field, line, word) in &document.foreign {
        let fits = match (*field, document.origin) {
            ("dimension", Origin::Project) => word == "specs",
            ("dimension", Origin::Personal) => word == "personal",
            ("scope", Origin::Project) => word == "project",
            _ => matches!(word.as_str(), "global" | "project"),
        };
        if !fits {
            let whose = match document.origin {
                Origin::Project => "the repository's",
                Origin::Personal => "a person's own",
            };
            said.push((
                *line,
                format!("`{field}: {word}`, and the document is {whose}"),
            ));
        }
    }
    let said = said.into_iter();
    said.map(|(line, message)| finding("rule_contradiction", &document.path, line, message))
        .collect()
}

fn dead_paths(document: &Document, files: Option<&[String]>) -> Vec<Finding> {
    let Some(files) = files else {
        return Vec::new();
    };
    let is_dead = |pattern: &&String| {
        let globs = Globs::new(std::slice::from_ref(*pattern));
        globs.is_ok_and(|globs| !files.iter().any(|file| globs.matches(file)))
    };
    // A person's own rules are for many repositories.
    let patterns = document
        .applies_to
        .iter()
        .filter(|_| document.origin == Origin::Project);
    patterns
        .filter(is_dead)
        .map(|pattern| {
            let message = format!("`{pattern}` matches no file of the repository");
            finding(
                "rule_dead_path",
                &document.path,
                document.applies_to_line,
                message,
            )
        })
        .collect()
}

fn duplicates(documents: &[Document]) -> Vec<Finding> {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut found = Vec::new();
    for document in documents {
        for rule in &document.rules {
            match first.get(rule.key.as_str()) {
                None => {
                    first.insert(&rule.key, (&document.path, rule.line));
                }
                Some((path, line)) => {
                    let message = format!("`{}` stands in {path}:{line} already", rule.text);
                    found.push(finding(
                        "rule_duplicate",
                        &document.path,
                        rule.line,
                        message,
                    ));
                }
            }
        }
    }
    found
}

/// Documents of one title that are to be read at different times.
fn titles(documents: &[Document]) -> Vec<Finding> {
    let mut first: BTreeMap<(Origin, String), &Document> = BTreeMap::new();
    let mut found = Vec::new();
    for document in documents {
        let title = (document.origin, document.title.to_lowercase());
        let Some(other) = first.get(&title) else {
            first.insert(title, document);
            continue;
        };
        let says = |one: &Document| format!("{}, {}", one.category, one.mode);
        if says(other) != says(document) {
            let message = format!(
                "it has the title of {}, which is {}, and is {} itself",
                other.path,
                says(other),
                says(document)
            );
            found.push(finding("rule_contradiction", &document.path, 1, message));
        }
    }
    found
}

/// Required documents that cannot be read together.
fn required_over_budget(documents: &[Document], budget: usize) -> Vec<Finding> {
    let mut by_category: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    let required = documents
        .iter()
        .filter(|one| one.is_required() && one.filled);
    for document in required {
        let (bytes, last) = by_category.entry(&document.category).or_default();
        *bytes = bytes.saturating_add(document.bytes);
        *last = &document.path;
    }
    let over = by_category.into_iter().filter(|(_, (bytes, last))| {
        let alone = documents
            .iter()
            .any(|one| one.path == *last && one.bytes > budget);
        *bytes > budget && !alone
    });
    over.map(|(category, (bytes, last))| {
        let message = format!(
            "the required documents of {category} have {bytes} bytes together, and the budget is {budget}"
        );
        finding("rule_over_budget", last, 0, message)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{FINDINGS, Ground, findings};
    use crate::rule::Document;
    use crate::rule::document::tests::read;
    use std::collections::BTreeSet;

    fn said(documents: &[Document], budget: usize) -> Vec<String> {
        let files = ["src/a.rs".to_owned()];
        let unread = [("z.md".to_owned(), "expected UTF-8".to_owned())];
        let ground = Ground {
            budget,
            files: Some(&files),
            unread: if documents.is_empty() { &unread } else { &[] },
        };
        let found = findings(documents, ground);
        found
            .iter()
            .map(|one| format!("{}:{} {}", one.file, one.line, one.id))
            .collect()
    }

    #[test]
    fn each_fault_is_found_at_its_place() {
        let mut all = BTreeSet::new();
        for (what, texts, wanted) in [
            (
                "in order",
                vec!["---\napplies_to: [src/**]\n---\n- a\n"],
                vec![],
            ),
            (
                "broken",
                vec!["---\nreadMode: x\n---\n- a\n"],
                vec!["0.md:2 rule_front_matter"],
            ),
            (
                "category",
                vec!["---\ncategory: x\n---\n- a\n"],
                vec!["0.md:2 rule_category_unknown"],
            ),
            (
                "field",
                vec!["---\nbudget: 3\n---\n- a\n"],
                vec!["0.md:2 rule_field_unknown"],
            ),
            (
                "pattern",
                vec!["---\napplies_to: \"a[\"\n---\n- a\n"],
                vec!["0.md:2 rule_pattern_invalid"],
            ),
            (
                "dead",
                vec!["---\ntitle: t\napplies_to: [src/*.rs, lib/**]\n---\n- a\n"],
                vec!["0.md:3 rule_dead_path"],
            ),
            (
                "required and low",
                vec!["---\nreadMode: required\npriority: low\n---\n- a\n"],
                vec!["0.md:1 rule_contradiction"],
            ),
            (
                "somebody's own",
                vec!["---\nscope: global\ndimension: personal\n---\n- a\n"],
                vec!["0.md:2 rule_contradiction", "0.md:3 rule_contradiction"],
            ),
            (
                "one title",
                vec![
                    "---\ntitle: T\n---\n- a\n",
                    "---\ntitle: t\ncategory: planning\n---\n- b\n",
                ],
                vec!["1.md:1 rule_contradiction"],
            ),
            (
                "twice",
                vec!["- a\n- b\n- A.\n", "- b\n"],
                vec!["0.md:3 rule_duplicate", "1.md:1 rule_duplicate"],
            ),
            ("empty", vec!["# H\n"], vec!["0.md:0 rule_empty"]),
            ("unread", vec![], vec!["z.md:0 rule_unreadable"]),
        ] {
            let documents: Vec<Document> = texts
                .iter()
                .enumerate()
                .map(|(nth, text)| read(&format!("{nth}.md"), text))
                .collect();
            let found = said(&documents, 1000);
            assert_eq!(found, wanted, "{what}");
            all.extend(
                found
                    .iter()
                    .filter_map(|one| one.split(' ').nth(1))
                    .map(str::to_owned),
            );
        }
        let glossary = "# Glossary\n## Canonical\n- **order**: a\n## Avoid\n- purchase: say order\n- Order\n## Ambiguous\n- log: b\n";
        let of_words = [
            read("a/glossary.md", glossary),
            read("1.md", "- Log each purchase\n- Keep each log\n"),
        ];
        let found = said(&of_words, 1000);
        assert_eq!(
            found,
            [
                "1.md:1 rule_word_avoided",
                "a/glossary.md:6 rule_contradiction"
            ]
        );
        all.insert("rule_word_avoided".to_owned());
        let long = read("0.md", &format!("- {}\n", "x".repeat(100)));
        assert_eq!(said(&[long], 100), ["0.md:0 rule_over_budget"]);
        let must = |name: &str| read(name, &format!("---\nreadMode: required\n---\n- {name}\n"));
        assert_eq!(
            said(&[must("0.md"), must("1.md")], 60),
            ["1.md:0 rule_over_budget"]
        );
        all.insert("rule_over_budget".to_owned());
        let known: BTreeSet<String> = FINDINGS.iter().map(|one| one.id.to_owned()).collect();
        assert_eq!(all, known);
        assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
