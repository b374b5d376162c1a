//! Differences between trees, and what a merge of trees gives, as plain values: what the git door finds and the rules judge.

/// Kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Plain,
    Executable,
    Link,
    Submodule,
}

/// Path that differs between two trees, by mode or content; renames are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub old: Option<Mode>,
    pub new: Option<Mode>,
}

/// Result of a merge, held against a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Same,
    /// Merge without conflict, of which the tree has something otherwise: each change starts from the result of the
    /// merge.
    Other(Vec<Change>),
    Conflict,
}

/// Thoroughness of the look at a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Look by one way of merging.
    Quick,
    /// Look before something is held against somebody: by every way that is at hand.
    Whole,
}
