//! The line merge that the spec engine is given: libgit2's merge of three files.

use loopx_git::merge::{Labels, merge_file};

/// The line merge of the spec engine.
#[derive(Clone, Copy, Debug)]
pub struct FileMerge;

impl loopx_spec::LineMerge for FileMerge {
    fn merge(&self, base: &str, ours: &str, theirs: &str) -> Option<String> {
        let labels = Labels {
            base: "base",
            ours: "ours",
            theirs: "theirs",
        };
        let merged =
            merge_file(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), labels).ok()?;
        merged
            .clean
            .then(|| String::from_utf8(merged.text).ok())
            .flatten()
    }
}
