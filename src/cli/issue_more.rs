//! The words behind `issue solution` and `issue queue`.

use crate::cmd::issue::{queue, solution};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum SolutionCommand {
    Add(Box<solution::AddArgs>),
    #[command(visible_alias = "ls")]
    List(solution::ListArgs),
    Show(solution::ShowArgs),
    Audit(solution::AuditArgs),
    Score(solution::ScoreArgs),
    Bind(solution::BindArgs),
    Unbind(solution::UnbindArgs),
    Reject(solution::RejectArgs),
}

#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    Form(queue::FormArgs),
    Show(queue::ShowArgs),
    Next(queue::NextArgs),
    Fail(queue::FailArgs),
    Retry(queue::RetryArgs),
}
