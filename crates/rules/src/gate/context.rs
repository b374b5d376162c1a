//! Required context that a stage does not find, in the profiles that clarify a request.

use super::View;
use crate::artifact::Artifact;
use crate::manifest;
use crate::manifest::Row;
use crate::stage::Transition;
use loopx_base::failure::Blocker;
use loopx_base::hint::{Hint, command};
use loopx_base::shell_word;

/// The rows of the stage that is entered that are required and not there. Whoever gathered the facts looked at what
/// policy and profile ask for.
pub(super) fn missing(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    if transition.from() != view.state.stage {
        return Vec::new();
    }
    let help = |row: &Row| -> Hint {
        match &row.task {
            Some(_) => command!("edit {}", Artifact::TaskList),
            None => Hint::from(format!(
                "git restore {}",
                shell_word(&format!(":/{}", row.path))
            )),
        }
    };
    manifest::blockers(view.context, &help)
}
