//! Merges of an edited text with what the branch has, and the markers that a conflict leaves in it.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_git::merge::Labels;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_store as store;

/// The text of some bytes, which are not copied where they are one.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The text of an artifact, which is UTF-8. `help` leads on where it is not.
pub(crate) fn utf8(bytes: Vec<u8>, path: &str, help: impl Into<Hint>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.as_bytes(), error.utf8_error(), path).help(help))
}

/// [`utf8`] of bytes that somebody else keeps.
pub(crate) fn as_utf8<'b>(bytes: &'b [u8], path: &str, help: impl Into<Hint>) -> Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error, path).help(help))
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error, path: &str) -> Failure {
    let before = &bytes[..error.valid_up_to()];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    Failure::refused(
        Code::ArtifactNotUtf8,
        format!("{path}:{line}: expected UTF-8, found other bytes"),
    )
}

/// The refusal of a text in which a merge left its markers.
pub(crate) fn marked(path: &str, line: usize, help: impl Into<Hint>) -> Failure {
    Failure::conflict(
        Code::ArtifactConflict,
        format!("{path}:{line}: conflict markers are still there"),
    )
    .help(help)
}

/// The merge of an edited text with another one that the branch has by now; where that conflicts, both sides between
/// markers.
pub(crate) fn merge(
    repo: &Repo,
    artifact: Artifact,
    (base, theirs): (Option<&Oid>, Option<&Oid>),
    ours: &str,
) -> Result<std::result::Result<String, String>> {
    let read = |id: Option<&Oid>| id.map_or_else(|| Ok(Vec::new()), |id| repo.read_blob(id));
    // A base may be gone with a history that was put aside and pruned. Nobody knows then which side
    // changed what, so a person decides.
    let base_bytes = match read(base) {
        Err(failure) if failure.is_of_missing_object() => None,
        known => Some(known?),
    };
    let labels = Labels {
        base: "as it was",
        ours: OURS,
        theirs: THEIRS,
    };
    let known = base_bytes.as_deref().unwrap_or_default();
    let merged = store::merge_artifact(artifact, [known, ours.as_bytes(), &read(theirs)?], labels)?;
    let text = String::from_utf8_lossy(&merged.text).into_owned();
    if merged.clean && base_bytes.is_some() && gate::faults(artifact, &text).is_empty() {
        Ok(Ok(text))
    } else {
        Ok(Err(text))
    }
}

/// The names that stand at the markers of a conflict of ours.
pub(super) const OURS: &str = "here";

pub(super) const THEIRS: &str = "on the branch";

/// The line of the first marker in a text that carries those of a merge of ours, all of them: a
/// document may well show somebody else's.
pub(crate) fn our_marker_line(text: &str) -> Option<usize> {
    let at = |marker: String| text.lines().position(|line| line.trim_end() == marker);
    at(format!(">>>>>>> {THEIRS}"))?;
    Some(at(format!("<<<<<<< {OURS}"))? + 1)
}

/// The line of the first conflict marker, if there is one.
pub(crate) fn marker_line(text: &str) -> Option<usize> {
    text.lines()
        .position(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
        .map(|at| at + 1)
}
