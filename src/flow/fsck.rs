//! `fsck`: the stored sessions against their operations, and mending them by a new commit.

use super::context::Context;
use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::store::Decision;
use crate::store::check::{self, Damage};

/// What `fsck` found, and what it did.
#[derive(Debug)]
pub struct Checked {
    pub sessions: usize,
    pub damages: Vec<Damage>,
    /// The commit that mended it.
    pub repaired: Option<Oid>,
}

/// Checks every active session; with `repair` restores the damaged ones by a new commit.
pub fn fsck(ctx: &Context, repair: bool) -> Result<Checked> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let damages = check::check(&ctx.repo, &snapshot)?;
    let sessions = match snapshot.active_ids() {
        Ok(ids) => ids.len(),
        // `sessions/` itself is damaged, and was found so.
        Err(_) if !damages.is_empty() => 0,
        Err(failure) => return Err(failure),
    };
    if damages.is_empty() || !repair {
        return Ok(Checked {
            sessions,
            damages,
            repaired: None,
        });
    }
    let identity = ctx.repo.identity()?;
    let lock = store.lock()?;
    let committed = store.update(&lock, &identity, |snapshot| {
        let damages = check::check(&ctx.repo, snapshot)?;
        let names: Vec<&str> = damages.iter().map(|d| d.session.as_str()).collect();
        Ok(Decision {
            edits: check::mend(&store, snapshot, &damages)?,
            message: format!(
                "loopx: repair {}\n\nLoopx-Event: repair\n",
                names.join(", ")
            ),
            value: (),
        })
    })?;
    Ok(Checked {
        sessions,
        damages,
        repaired: Some(committed.commit),
    })
}
