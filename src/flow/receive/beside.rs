//! Refs that leave no room for the branch of sessions: git keeps no ref `a` beside one `a/b`. Where one stands, no
//! record gets in, and what is judged by pushed records lands by records that git does not store. A file system without
//! letter case keeps no ref `A` beside one `a` either: in a clone there, `A` of the server is its `a`.

use super::Update;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_rules::push_rejection::{blocks, is_same_in_any_case};
use loopx_store::Store;

/// The refusal of a push that makes such a ref, or that needs the branch where one stands.
pub(super) fn refused(store: &Store<'_>, updates: &[Update]) -> Result<Option<Failure>> {
    let own = store.branch_ref();
    let made = updates.iter().filter(|update| update.new.is_some());
    let mut names: Vec<String> = Vec::new();
    let mut is_needed = false;
    for update in made {
        is_needed |= update.name == own;
        if update.name != own && is_same_in_any_case(&update.name, &own) {
            names.push(update.name.clone());
        }
    }
    if is_needed
        && let Some(name) = store.blocking_ref()?
        && !names.contains(&name)
    {
        names.push(name);
    }
    if names.is_empty() {
        return Ok(None);
    }
    let branch = store.branch();
    let blockers = names.iter().map(|name| {
        let message = if blocks(name, &own) {
            format!("git cannot keep a branch `{branch}` beside {name}")
        } else {
            format!("without letter case git cannot keep a branch `{branch}` beside {name}")
        };
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let help =
            format!("another name; where it stands already: git push REMOTE --delete {short}");
        Blocker::new(Code::BranchNameBlocked, message, help)
    });
    let message = format!("this push is not taken: `{branch}` keeps the sessions");
    Ok(Some(
        Failure::refused(Code::BranchNameBlocked, message).blockers(blockers.collect()),
    ))
}
