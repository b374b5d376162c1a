//! The documents that the program lays out: those of the four kinds of rules, and those of the words of a project.

use super::document::{GENERAL, Priority, ReadMode, header};
use super::glossary;
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// Kind of a rule.
    RuleKind {
        /// Ways in which things are done here.
        Convention = "convention",
        /// Limits of the work: what must not be done, or not otherwise.
        Constraint = "constraint",
        /// Lessons of the work: what was found out.
        Learning = "learning",
        /// Qualities that a result must have.
        Quality = "quality",
    }
);

impl RuleKind {
    /// Category of the kind's document where none is named.
    pub fn category(self) -> &'static str {
        match self {
            RuleKind::Convention | RuleKind::Learning => GENERAL,
            RuleKind::Constraint => "planning",
            RuleKind::Quality => "execution",
        }
    }

    /// Plural of the kind, as a file is named.
    fn plural(self) -> &'static str {
        match self {
            RuleKind::Convention => "conventions",
            RuleKind::Constraint => "constraints",
            RuleKind::Learning => "learnings",
            RuleKind::Quality => "quality-rules",
        }
    }

    fn weight(self) -> (ReadMode, Priority) {
        match self {
            RuleKind::Learning => (ReadMode::Optional, Priority::Medium),
            _ => (ReadMode::Required, Priority::High),
        }
    }

    /// Name of the kind's document for a category, below the folder of rules.
    pub fn file(self, category: &str) -> String {
        let usual = match self {
            RuleKind::Convention => "coding-conventions",
            RuleKind::Constraint => "architecture-constraints",
            RuleKind::Learning => "learnings",
            RuleKind::Quality => "quality-rules",
        };
        if category == self.category() {
            format!("{usual}.md")
        } else {
            format!("{category}-{}.md", self.plural())
        }
    }

    /// Document of the kind for a category, before there is a rule in it.
    pub fn document(self, category: &str) -> String {
        let title = match (self, category == self.category()) {
            (RuleKind::Convention, true) => "Coding conventions".to_owned(),
            (RuleKind::Constraint, true) => "Architecture constraints".to_owned(),
            (RuleKind::Learning, true) => "Learnings".to_owned(),
            (RuleKind::Quality, true) => "Quality rules".to_owned(),
            (_, false) => {
                let plural = self.plural().replace('-', " ");
                format!("{plural} of {category}")
            }
        };
        let mut first = title.chars();
        let title: String = first.next().map_or_else(String::new, |c| {
            c.to_uppercase().collect::<String>() + first.as_str()
        });
        let head = header(&title, category, &[category, self.as_str()], self.weight());
        format!("{head}\n# {title}\n\n")
    }
}

/// A document that is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Path below the folder of rules.
    pub file: String,
    pub text: String,
}

/// The glossary, the documents of these domains and the labels of triage.
pub fn seeds(domains: &[String]) -> Vec<Seed> {
    let must = (ReadMode::Required, Priority::High);
    let may = (ReadMode::Optional, Priority::Medium);
    let mut seeds = vec![Seed {
        file: glossary::FILE.to_owned(),
        text: format!(
            "{}{GLOSSARY}",
            header("Glossary", GENERAL, &["glossary", "words"], must)
        ),
    }];
    seeds.extend(domains.iter().map(|domain| Seed {
        file: format!("domain/{domain}.md"),
        text: format!(
            "{}{}",
            header(
                &format!("Domain {domain}"),
                GENERAL,
                &["domain", domain],
                may
            ),
            DOMAIN.replace("DOMAIN", domain)
        ),
    }));
    seeds.push(Seed {
        file: "triage-labels.md".to_owned(),
        text: format!(
            "{}{TRIAGE}",
            header("Triage labels", "exploration", &["triage", "labels"], may)
        ),
    });
    seeds
}

const GLOSSARY: &str = "
# Glossary

<!-- One word for one thing, in code, texts and talk. A document without a word in it is not read to anybody. -->

## Canonical

<!-- - **order**: what a customer asks for, from the first item to the invoice -->

## Avoid

<!-- - purchase: say order -->

## Ambiguous

<!-- - account: a login, or a ledger; say which -->
";

const DOMAIN: &str = "
# Domain DOMAIN

<!-- What somebody has to know who has never worked on it. -->

## What it is about

## What always holds

<!-- - An order that is paid is never changed. -->

## Where it lives

<!-- - src/orders: the rules; src/orders/store: the only place that writes -->
";

const TRIAGE: &str = "
# Triage labels

<!-- Each label with what it means, and what becomes of an issue that has it. -->

## Kinds

<!-- - bug: something that worked, or was promised, does not -->

## States

<!-- - needs-info: waits for who reported it; closed after 14 days -->
";

#[cfg(test)]
mod tests {
    use super::{RuleKind, seeds};
    use crate::rule::document::tests::read;

    #[test]
    fn each_seed_is_in_order_and_is_not_read_to_anybody() {
        for seed in seeds(&["auth".to_owned()]) {
            let document = read(&seed.file, &seed.text);
            assert_eq!(document.faults(), Vec::<String>::new(), "{}", seed.file);
            assert!(
                !document.filled && document.rules.is_empty(),
                "{}",
                seed.file
            );
        }
    }

    #[test]
    fn each_kind_has_a_document_of_its_own_for_each_category() {
        let mut files = std::collections::BTreeSet::new();
        for kind in RuleKind::WORDS {
            let kind: RuleKind = kind.parse().expect("a kind");
            for category in [
                "general",
                "exploration",
                "planning",
                "execution",
                "security",
            ] {
                assert!(files.insert(kind.file(category)), "{kind} {category}");
                let document = read("a.md", &kind.document(category));
                assert_eq!(document.category, category);
                assert!(document.has_keyword(kind.as_str()));
                assert_eq!(document.faults(), Vec::<String>::new());
                assert_eq!(document.is_required(), kind != RuleKind::Learning);
            }
        }
        assert!(files.contains("coding-conventions.md"));
        assert!(files.contains("planning-conventions.md"));
        assert!(
            read("a.md", &RuleKind::Quality.document("security")).title
                == "Quality rules of security"
        );
    }
}
