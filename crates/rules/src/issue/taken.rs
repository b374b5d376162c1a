//! The origin of an issue that was taken over: who made it there, what was said of it, the line of code that it is
//! about, and fields that have no counterpart here.

use loopx_base::id::Oid;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Maker of something, and the time, as another system says it: nobody here can vouch for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A comment of another system. Its time comes first, so that comments that came together are in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(default)]
    pub by: String,
    #[serde(default = "message")]
    pub kind: String,
    pub text: String,
}

impl Ord for Said {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::COMPARED.with(|count| count.set(count.get() + 1));
        (&self.at, &self.by, &self.kind, &self.text).cmp(&(
            &other.at,
            &other.by,
            &other.kind,
            &other.text,
        ))
    }
}

impl PartialOrd for Said {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Said {}

/// The kind of a comment that says none.
pub(super) fn message() -> String {
    "message".to_owned()
}

/// A line of code, as it was at a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub path: String,
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)?;
        match &self.commit {
            Some(commit) => write!(f, " of {}", commit.as_str().get(..10).unwrap_or_default()),
            None => Ok(()),
        }
    }
}

/// A field that has no counterpart here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub name: String,
    /// Value of the field as JSON text: a number is kept as it was written.
    pub json: String,
}

impl Kept {
    /// The value; a text that is no JSON stands for itself.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.json)
            .unwrap_or_else(|_| serde_json::Value::String(self.json.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, message};
    use crate::issue::event::{Change, IssueEvent};
    use crate::issue::{IssueId, Source, fold};
    use crate::op::Operation;
    use crate::record::Draft;
    use loopx_base::id::{Oid, Person};
    use std::cell::Cell;
    use std::collections::BTreeMap;

    thread_local! {
        /// Comparisons of two comments by this thread.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    fn compared(work: impl FnOnce()) -> usize {
        let before = COMPARED.get();
        work();
        COMPARED.get() - before
    }

    fn comments(many: usize) -> Vec<Change> {
        let said = |at: usize| Said {
            at: None,
            by: "ada".to_owned(),
            kind: message(),
            text: format!("{at}"),
        };
        let mut changes = vec![
            Change::Title("a".to_owned()),
            Change::Source(Source {
                system: "beads".to_owned(),
                id: "bd-1".to_owned(),
            }),
        ];
        changes.extend((0..many).map(|at| Change::Said(said(at))));
        changes
    }

    fn brought(id: &IssueId, changes: Vec<Change>) -> Operation {
        let draft = Draft {
            seq: 1,
            after: Vec::new(),
            entity: format!("issues/{id}"),
            tx: "t".to_owned(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            by: Person::parse("P <p@x>"),
            committer: None,
            reason: None,
            writes: BTreeMap::new(),
            others: BTreeMap::new(),
            body: IssueEvent::Created { changes }.into(),
        };
        draft
            .seal(|_| Oid::parse(&"1".repeat(40)))
            .expect("a record")
    }

    #[test]
    fn comments_that_an_import_brought_are_not_each_compared_with_each() {
        const MANY: usize = 4096;
        let id = IssueId::parse("lx-7k2m000000").expect("an id");
        let ops = [brought(&id, comments(MANY))];
        let count = compared(|| {
            let read = fold(&id, &ops).expect("an issue");
            assert_eq!(read.issue.comments, MANY);
            // As whoever brought them has them.
            assert_eq!(read.texts.comments[4000].text, "4000");
        });
        // A tree of them compares each with a few on each of its levels.
        assert!(count <= 100 * MANY, "{count} comparisons");
    }
}
