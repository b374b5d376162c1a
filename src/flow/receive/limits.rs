//! Limits on what one push may cost a server: an administrator may say otherwise in git's configuration.

use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_store::receive::Budget;
use std::time::Duration;

/// Seconds for a push, where `loopx.receiveTimeout` says nothing.
pub(crate) const SECONDS: u64 = 120;

/// Records, where `loopx.receiveRecords` says nothing.
const RECORDS: u64 = 10_000;

/// Merges, where `loopx.receiveMerges` says nothing.
const MERGES: u64 = 500;

/// Bytes of files of sessions, where `loopx.receiveBytes` says nothing.
const BYTES: u64 = 128 << 20;

/// Time that a push may take; `None` is as long as it takes.
pub(crate) fn within(ctx: &Context) -> Result<Option<Duration>> {
    let seconds = number(ctx, "loopx.receiveTimeout", SECONDS)?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

/// Budget of what a push may bring.
pub(crate) fn budget(ctx: &Context) -> Result<Budget> {
    let limit = |key: &str, default: u64| {
        let number = number(ctx, key, default)?;
        Ok(if number == 0 { u64::MAX } else { number })
    };
    Ok(Budget {
        records: limit("loopx.receiveRecords", RECORDS)?,
        merges: limit("loopx.receiveMerges", MERGES)?,
        bytes: limit("loopx.receiveBytes", BYTES)?,
    })
}

/// A limit that is mistyped is none that its administrator chose.
fn number(ctx: &Context, key: &str, default: u64) -> Result<u64> {
    match ctx.repo.config(&key.to_lowercase()) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| {
            let message = format!("{key} is `{text}`, expected a number");
            Failure::internal(Code::GitFailed, message)
        }),
    }
}

/// The refusal of a push that took too long.
pub(crate) fn too_long(limit: Duration) -> Failure {
    Failure::refused(
        Code::PushTooLarge,
        format!(
            "git loopx could not judge this push within {} seconds (loopx.receiveTimeout)",
            limit.as_secs()
        ),
    )
    .help("push a part of it first; for the administrator of this server: git config loopx.receiveTimeout SECONDS")
}
