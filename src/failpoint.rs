//! Places on the write path at which a test can end the process as a power switch would: no
//! destructor runs, no file is closed in order.
//!
//! `LOOPX_FAILPOINT=NAME` dies at the first passage of that place, `NAME:3` at the third. Only debug
//! builds look; in a release build [`reach`] is empty.

/// The write path, in its order: from taking the lock to the last thing that is tidied up.
pub const WRITE_PATH: [&str; 16] = [
    "lock-taken",
    "step-noted",
    "pack-built",
    "pack-synced",
    "pack-keep",
    "pack-named",
    "index-named",
    "folder-synced",
    "step-written",
    "branch-moved",
    "branch-synced",
    "shadow-moved",
    "keep-dropped",
    "note-forgotten",
    "working-copy-before",
    "working-copy-after",
];

/// The roll-up of small packs, in its order.
pub const ROLL_UP: [&str; 5] = [
    "roll-up-begins",
    "roll-up-written",
    "roll-up-index-removed",
    "roll-up-pack-removed",
    "roll-up-ends",
];

/// What an archive does around its two refs, in its order.
pub const ARCHIVE: [&str; 4] = [
    "archive-noted",
    "target-moved",
    "target-followed",
    "sessions-closed",
];

/// What a sync does around the write path, in its order.
pub const SYNC: [&str; 4] = ["sync-fetched", "sync-met", "sync-followed", "sync-pushed"];

/// What a bundle's import does around the write path, in its order; and an export.
pub const BUNDLE: [&str; 4] = [
    "bundle-fetched",
    "bundle-met",
    "bundle-forgotten",
    "export-named",
];

/// Dies here when a test asked for it.
#[inline]
pub fn reach(name: &str) {
    #[cfg(debug_assertions)]
    armed::reach(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use crate::env;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ARMED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);

    pub(super) fn reach(name: &str) {
        let armed = ARMED.get_or_init(|| {
            let wanted = env::var(env::LOOPX_FAILPOINT)?;
            let (name, passage) = wanted.split_once(':').unwrap_or((&wanted, "1"));
            Some((name.to_owned(), passage.parse().unwrap_or(1)))
        });
        if let Some((wanted, passage)) = armed
            && wanted == name
            && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *passage
        {
            std::process::abort();
        }
    }
}
