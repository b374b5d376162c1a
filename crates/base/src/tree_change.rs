//! Differences between trees, and what a merge of trees gives, as plain values: what the git door finds and the rules judge.

/// What a tree has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Plain,
    Executable,
    Link,
    Submodule,
}

/// One path that differs between two trees, by mode or content; renames are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub old: Option<Mode>,
    pub new: Option<Mode>,
}

/// What merging gives, held against a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Same,
    /// It merges, and the tree has this otherwise: each change is from what merging gives.
    Other(Vec<Change>),
    Conflict,
}

/// How hard a merge is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// By one way of merging.
    Quick,
    /// Before something is held against somebody: by every way that is at hand.
    Whole,
}
