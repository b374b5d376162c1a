//! Words of the commands that have a few and no file of their own for them.

use crate::cmd;
use clap::Args;

/// Session that a command shows.
#[derive(Args, Clone, Debug)]
pub struct SessionArgs {
    /// The session (default: as for --session)
    pub id: Option<String>,
}

/// Session, and what of it is shown.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// The session (default: as for --session)
    pub id: Option<String>,
    /// Print the recorded output of this run instead
    #[arg(long, value_name = "OPERATION")]
    pub run: Option<String>,
    #[command(flatten)]
    pub context: cmd::show_context::ContextArgs,
}

/// Session and points between which it is compared.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// The session (default: as for --session), then up to two points: operations by their number from
    /// `git loopx log`, like @3 (default: now)
    #[arg(value_name = "ID|POINT", num_args = 0..=3)]
    pub words: Vec<String>,
}

/// Session that is ended without a result.
#[derive(Args, Clone, Debug)]
pub struct AbandonArgs {
    /// The session (default: as for --session)
    pub id: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Artifact that an editor opens.
#[derive(Args, Clone, Debug)]
pub struct EditArgs {
    /// The artifact, like spec.md (default: the first one that the gate wants work on)
    pub artifact: Option<String>,
}

/// Artifact that is printed.
#[derive(Args, Clone, Debug)]
pub struct CatArgs {
    /// The artifact, like spec.md
    pub artifact: String,
    /// As it was after this operation
    #[arg(long, value_name = "POINT")]
    pub at: Option<String>,
}

/// Artifacts that are brought in step.
#[derive(Args, Clone, Debug)]
pub struct CheckoutArgs {
    /// Only these artifacts
    pub artifacts: Vec<String>,
    /// Replace edits too; what is replaced is kept as a blob and named
    #[arg(short, long)]
    pub force: bool,
}

/// Reason for a record of edits.
#[derive(Args, Clone, Debug)]
pub struct SaveArgs {
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}
