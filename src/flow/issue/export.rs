//! The whole backlog as JSON lines, which `import` reads again.

use crate::flow::context::Context;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::Texts;
use loopx_rules::issue::plain::Plain;

/// Exports the issues, oldest id first; all, or those that are named. A backlog that cannot be read whole is refused: a
/// part of it would look like all of it.
pub(crate) fn export(ctx: &Context, typed: &[String]) -> Result<Vec<Plain>> {
    let snapshot = ctx.store()?.snapshot()?;
    if !typed.is_empty() {
        let named = typed.iter().map(|typed| {
            let read = super::require(&snapshot, typed)?;
            Ok(Plain::of(&read.issue, &read.texts))
        });
        return named.collect();
    }
    let (mut found, texts) = snapshot.issues_with_texts()?;
    if !found.damaged.is_empty() {
        let blockers = found.damaged.into_iter().map(|(id, failure)| {
            Blocker::new(
                Code::BranchDamaged,
                format!("{id}: {}", failure.message),
                command!("fsck --repair"),
            )
        });
        return Err(Failure::refused(
            Code::BranchDamaged,
            "nothing is exported: the backlog cannot be read whole",
        )
        .blockers(blockers.collect())
        .help(command!("fsck --repair")));
    }
    super::sessions::settle(&snapshot, &mut found.issues)?;
    let none = Texts::default();
    let lines = found
        .issues
        .iter()
        .map(|issue| Plain::of(issue, texts.get(&issue.id).unwrap_or(&none)));
    Ok(lines.collect())
}
