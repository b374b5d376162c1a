//! The words behind `issue`.

use super::issue_more::{QueueCommand, SolutionCommand};
use crate::cmd;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum IssueCommand {
    #[command(visible_alias = "new")]
    Create(Box<cmd::issue::create::CreateArgs>),
    #[command(visible_alias = "ls")]
    List(Box<cmd::issue::list::ListArgs>),
    Ready(cmd::issue::list::ReadyArgs),
    Show(cmd::issue::show::ShowArgs),
    Edit(Box<cmd::issue::edit::EditArgs>),
    /// Link an issue to others
    Link(cmd::issue::edit::LinksArgs),
    /// Take a link away
    Unlink(cmd::issue::edit::LinksArgs),
    /// Say that criteria of an issue hold
    Tick(cmd::issue::edit::TickArgs),
    /// Say that criteria of an issue do not hold
    Untick(cmd::issue::edit::TickArgs),
    Comment(cmd::issue::edit::CommentArgs),
    #[command(visible_alias = "claim")]
    Take(cmd::issue::claim::TakeArgs),
    Release(cmd::issue::claim::ReleaseArgs),
    Resolve(cmd::issue::end::ResolveArgs),
    Close(cmd::issue::end::CloseArgs),
    Reopen(cmd::issue::end::ReopenArgs),
    /// Take back what was done last to an issue
    Undo(cmd::issue::end::BackArgs),
    /// Bring back what was taken back
    Redo(cmd::issue::end::BackArgs),
    Board(cmd::issue::board::BoardArgs),
    Stats(cmd::issue::stats::StatsArgs),
    Report(Box<cmd::issue::report::ReportArgs>),
    Graph(cmd::issue::graph::GraphArgs),
    Log(cmd::issue::log::LogArgs),
    Diff(cmd::issue::diff::DiffArgs),
    Duplicates(cmd::issue::duplicates::DuplicatesArgs),
    Export(cmd::issue::export::ExportArgs),
    Import(cmd::issue::import::ImportArgs),
    /// Ways to do an issue: proposed, judged, bound, rejected
    #[command(subcommand)]
    Solution(SolutionCommand),
    /// The issues that are to be done next, in groups that can run side by side
    #[command(subcommand)]
    Queue(QueueCommand),
}
