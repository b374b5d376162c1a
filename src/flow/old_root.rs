//! Roots of the JavaScript program in the worktree: which there are, and what of them lies where working copies do.
//!
//! It looks, and takes nothing over: that is `import loopx`.

use super::context::Context;
use super::workcopy::FOLDER;
use loopx_base::failure::{Code, Failure};
use loopx_base::hint::command;
use loopx_rules::peer::{Tool, is_loopx_root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The names in a folder; none where it cannot be read.
fn names(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

fn inside(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let each = names(folder).into_iter().map(|name| {
        let inside = names(&folder.join(&name));
        (name, inside)
    });
    each.collect()
}

/// The roots that are there, the newest name first.
pub(super) fn roots(top: &Path) -> Vec<&'static str> {
    // The file system may not tell two of the names apart.
    let there = names(top);
    let is_there = |root: &&&str| {
        there.contains(**root) && (**root != FOLDER || is_loopx_root(&inside(&top.join(FOLDER))))
    };
    let roots = Tool::Loopx.roots().iter().filter(is_there);
    roots.copied().collect()
}

/// Names in the folder of working copies of an old root that are no working copies; git shows them, as before.
pub(super) fn beside_copies(top: &Path) -> Vec<String> {
    let inside = inside(&top.join(FOLDER));
    if !is_loopx_root(&inside) {
        return Vec::new();
    }
    // A working copy has the request in it, or the brief.
    let is_copy =
        |found: &BTreeSet<String>| found.contains("intent.md") || found.contains("brief.md");
    let own = inside.into_iter().filter(|(_, found)| !is_copy(found));
    own.map(|(name, _)| name).collect()
}

/// Says of a name that no session has that a workflow of an old root has it.
pub(super) fn explained(ctx: &Context, name: &str, failure: Failure) -> Failure {
    let Some(top) = ctx
        .repo
        .work_dir()
        .filter(|_| failure.code == Code::SessionUnknown)
    else {
        return failure;
    };
    for root in roots(top) {
        let folder = format!("{root}/workflows/{name}");
        if !name.contains(['/', '\\']) && top.join(&folder).is_dir() {
            let message =
                format!("`{name}` is a workflow of loopx 0.x, in {folder}, and no session yet");
            return Failure::not_found(Code::LegacyWorkflow, message)
                .help(command!("import loopx"));
        }
    }
    failure
}
