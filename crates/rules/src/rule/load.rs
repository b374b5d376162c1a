//! The rules that apply now: which documents, in which order, and what did not fit.

use super::document::{Categories, Document, GENERAL, ReadMode};
use crate::stage::Stage;
use serde::Serialize;
use std::collections::BTreeSet;

/// Work that somebody is about to do.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub stage: Option<Stage>,
    pub category: Option<String>,
    /// Keyword of the documents that need not be read: only those that have it apply.
    pub keyword: Option<String>,
    /// Paths that the work is about; any where none is named.
    pub paths: Vec<String>,
    /// The most bytes.
    pub budget: Option<usize>,
}

/// A document that did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub path: String,
    #[serde(rename = "readMode")]
    pub mode: ReadMode,
    pub bytes: usize,
}

/// Documents that apply, in the order in which they are read.
#[derive(Clone, Debug, Default)]
pub struct Loaded<'d> {
    pub documents: Vec<&'d Document>,
    pub left_out: Vec<LeftOut>,
    pub bytes: usize,
}

/// The categories that count at a stage. What policy names belongs to no stage alone.
pub fn categories_at(stage: Stage, categories: &Categories) -> BTreeSet<String> {
    let of_stage: &[&str] = match stage {
        Stage::Clarify => &["exploration"],
        Stage::Plan => &["planning"],
        Stage::Build => &["execution"],
        // Whoever reviews looks at the structure and at the code.
        Stage::Review => &["planning", "execution"],
        Stage::Done => &[],
    };
    let all = [GENERAL].into_iter().chain(of_stage.iter().copied());
    all.chain(categories.own()).map(str::to_owned).collect()
}

/// The order in which documents are read: required ones first, then by priority, then by path.
pub(super) fn in_order(documents: &mut [&Document]) {
    documents.sort_by(|one, other| {
        let key = |document: &Document| (document.mode, document.priority);
        (key(one), &one.path).cmp(&(key(other), &other.path))
    });
}

/// Chooses what applies. A document without a word in it does not.
pub fn load<'d>(documents: &'d [Document], ask: &Ask, categories: &Categories) -> Loaded<'d> {
    let wanted = match (&ask.category, ask.stage) {
        (None, None) => None,
        (named, stage) => {
            let of_stage = stage.map(|stage| categories_at(stage, categories));
            let mut wanted = of_stage.unwrap_or_default();
            wanted.insert(GENERAL.to_owned());
            wanted.extend(named.clone());
            Some(wanted)
        }
    };
    let applies = |document: &&Document| {
        let keyword = ask.keyword.as_ref();
        document.filled
            && wanted
                .as_ref()
                .is_none_or(|wanted| wanted.contains(&document.category))
            && document.is_about(&ask.paths)
            && (document.is_required() || keyword.is_none_or(|word| document.has_keyword(word)))
    };
    let mut chosen: Vec<&Document> = documents.iter().filter(applies).collect();
    in_order(&mut chosen);
    let mut loaded = Loaded::default();
    for document in chosen {
        let bytes = loaded.bytes.saturating_add(document.bytes);
        if ask.budget.is_some_and(|budget| bytes > budget) {
            loaded.left_out.push(LeftOut {
                path: document.path.clone(),
                mode: document.mode,
                bytes: document.bytes,
            });
        } else {
            loaded.bytes = bytes;
            loaded.documents.push(document);
        }
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::{Ask, load};
    use crate::rule::document::tests::read;
    use crate::rule::{Categories, Document};
    use crate::stage::Stage;

    fn document(path: &str, fields: &str, text: &str) -> Document {
        read(path, &format!("---\n{fields}\n---\n{text}\n"))
    }

    fn documents() -> Vec<Document> {
        vec![
            document("a.md", "priority: low", "- a"),
            document(
                "b.md",
                "category: planning\nreadMode: required\npriority: low",
                "- b",
            ),
            document(
                "c.md",
                "category: execution\nkeywords: [sql]\napplies_to: [db/**]",
                "- c",
            ),
            document("d.md", "readMode: required\npriority: high", "- d"),
            document("e.md", "category: security\nkeywords: [web]", "- e"),
            document("f.md", "category: exploration\npriority: high", "- f"),
            document("g.md", "readMode: required", "# nothing yet"),
        ]
    }

    fn loaded(ask: &Ask) -> String {
        let documents = documents();
        let categories = Categories::of(&["security".to_owned()]);
        let loaded = load(&documents, ask, &categories);
        let paths = loaded
            .documents
            .iter()
            .map(|one| one.path.trim_end_matches(".md"));
        paths.collect()
    }

    #[test]
    fn required_ones_come_first_then_priority_then_path() {
        assert_eq!(loaded(&Ask::default()), "dbfcea");
    }

    #[test]
    fn a_stage_a_category_a_keyword_and_a_path_each_narrow() {
        let stage = |stage| Ask {
            stage: Some(stage),
            ..Ask::default()
        };
        for (stage_is, wanted) in [
            (Stage::Clarify, "dfea"),
            (Stage::Plan, "dbea"),
            (Stage::Build, "dcea"),
            (Stage::Review, "dbcea"),
            (Stage::Done, "dea"),
        ] {
            assert_eq!(loaded(&stage(stage_is)), wanted, "{stage_is}");
        }
        let of = |category: &str| Ask {
            category: Some(category.to_owned()),
            ..Ask::default()
        };
        assert_eq!(loaded(&of("planning")), "dba");
        assert_eq!(loaded(&of("general")), "da");
        let about = |path: &str| Ask {
            paths: vec![path.to_owned()],
            ..stage(Stage::Build)
        };
        assert_eq!(loaded(&about("db/one.sql")), "dcea");
        assert_eq!(loaded(&about("src/one.rs")), "dea");
        // What must be read is read whatever the word is.
        let word = |word: &str| Ask {
            keyword: Some(word.to_owned()),
            ..Ask::default()
        };
        assert_eq!(loaded(&word("SQL")), "dbc");
        assert_eq!(loaded(&word("nothing")), "db");
    }

    #[test]
    fn what_does_not_fit_is_named_and_what_fits_behind_it_is_read() {
        let documents = vec![
            document("a.md", "readMode: required", "- a"),
            document("b.md", "priority: high", &"- long\n".repeat(100)),
            document("c.md", "priority: low", "- c"),
        ];
        let budget = documents[0].bytes + documents[2].bytes;
        let ask = |budget| Ask {
            budget: Some(budget),
            ..Ask::default()
        };
        let categories = Categories::default();
        let fitting = load(&documents, &ask(budget), &categories);
        let paths: Vec<&str> = fitting
            .documents
            .iter()
            .map(|one| one.path.as_str())
            .collect();
        assert_eq!(paths, ["a.md", "c.md"]);
        assert_eq!(fitting.bytes, budget);
        assert_eq!(fitting.left_out[0].path, "b.md");
        assert_eq!(
            load(&documents, &ask(budget - 1), &categories)
                .left_out
                .len(),
            2
        );
    }
}
