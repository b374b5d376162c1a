//! Conflicts between the sides of a merge, as data: kind, place, the three texts.

use serde::Serialize;

/// Kind of disagreement between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ConflictKind {
    /// Change of one text by both sides.
    #[serde(rename = "modify/modify")]
    ModifyModify,
    /// Change by ours of a text that theirs removed.
    #[serde(rename = "modify/delete")]
    ModifyDelete,
    /// Removal by ours of a text that theirs changed.
    #[serde(rename = "delete/modify")]
    DeleteModify,
    /// Addition of one name by both sides with different texts, or two things that came to one name.
    #[serde(rename = "add/add")]
    AddAdd,
    /// Rename by both sides, each to another name.
    #[serde(rename = "rename/rename")]
    RenameRename,
}

impl ConflictKind {
    pub fn name(self) -> &'static str {
        match self {
            ConflictKind::ModifyModify => "modify/modify",
            ConflictKind::ModifyDelete => "modify/delete",
            ConflictKind::DeleteModify => "delete/modify",
            ConflictKind::AddAdd => "add/add",
            ConflictKind::RenameRename => "rename/rename",
        }
    }

    /// The kind that the merge with its sides swapped gives.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            ConflictKind::ModifyDelete => ConflictKind::DeleteModify,
            ConflictKind::DeleteModify => ConflictKind::ModifyDelete,
            other => other,
        }
    }
}

/// Conflict: a place where a person has to choose. A text is empty where a side has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Domain of the spec; empty when the merge was of bare texts.
    pub domain: String,
    /// Requirement with the conflict; absent when the conflict is outside the requirements: see `section`.
    pub requirement: Option<String>,
    pub scenario: Option<String>,
    pub section: String,
    pub kind: ConflictKind,
    pub base: String,
    pub ours: String,
    pub theirs: String,
    /// Line in `theirs` (the target); the line of the nearest thing around the conflict when it is not there.
    pub line: usize,
}

/// The names that stand at conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct MarkerNames<'a> {
    pub base: &'a str,
    pub ours: &'a str,
    pub theirs: &'a str,
}

impl Default for MarkerNames<'_> {
    fn default() -> Self {
        MarkerNames {
            base: "base",
            ours: "delta",
            theirs: "target",
        }
    }
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merged spec; with diff3 markers around each conflict when there are any.
    pub text: String,
    pub conflicts: Vec<Conflict>,
}
