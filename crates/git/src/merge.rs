//! libgit2's three-way file merge.

use loopx_base::failure::{Code, Failure, Result};

/// Result of a three-way merge of three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub text: Vec<u8>,
    /// Mark of a text without conflict markers.
    pub clean: bool,
}

/// The names that stand at conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    pub base: &'a str,
    pub ours: &'a str,
    pub theirs: &'a str,
}

/// Merges `ours` and `theirs` from `base`, line by line, with diff3 markers where they conflict.
pub fn merge_file(base: &[u8], ours: &[u8], theirs: &[u8], labels: Labels<'_>) -> Result<Merged> {
    fn input(bytes: &[u8]) -> git2::MergeFileInput<'_> {
        let mut input = git2::MergeFileInput::new();
        input.content(bytes);
        input
    }
    // Of all calls this one does not start libgit2 itself: without a repository it would always fail,
    // and every merge of lines would look like a conflict. An empty buffer starts it.
    drop(git2::Buf::new());
    let mut options = git2::MergeFileOptions::new();
    options
        .style_diff3(true)
        .ancestor_label(labels.base)
        .our_label(labels.ours)
        .their_label(labels.theirs);
    let result = git2::merge_file(
        &input(base),
        &input(ours),
        &input(theirs),
        Some(&mut options),
    )
    .map_err(|error| {
        Failure::internal(Code::MergeFailed, error.message().to_owned())
            .context("merge three texts")
    })?;
    Ok(Merged {
        text: result.content().to_vec(),
        clean: result.is_automergeable(),
    })
}
