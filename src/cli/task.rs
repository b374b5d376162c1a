//! The words behind `task`.

use crate::cmd;
use clap::Subcommand;
use cmd::task::domain;

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    #[command(visible_alias = "ls")]
    List(cmd::task::list::ListArgs),
    Show(cmd::task::show::ShowArgs),
    Done(cmd::task::done::DoneArgs),
    /// Say that an attempt at a task ended without a result
    Fail(cmd::task::moves::OwnArgs),
    /// Give a task back that is taken here
    Release(cmd::task::moves::OwnArgs),
    /// Have a task done again that failed, was skipped, or is done; beyond its cap with a reason
    Retry(cmd::task::moves::NamedArgs),
    /// Say that a task is not done, so that what can do without it goes on
    Skip(cmd::task::moves::NamedArgs),
    Decide(Box<cmd::task::decide::DecideArgs>),
    Open(cmd::task::decide::OpenArgs),
    Graph(cmd::task::graph::GraphArgs),
    Waves(cmd::task::graph::WavesArgs),
    Log(cmd::task::log::LogArgs),
    Outputs(cmd::task::outputs::OutputsArgs),
    Resources(cmd::task::resources::ResourcesArgs),
    Add(Box<cmd::task::add::AddArgs>),
    Edit(Box<cmd::task::edit::EditArgs>),
    Move(cmd::task::place::MoveArgs),
    Check(cmd::task::check::CheckArgs),
    Conflicts(cmd::task::conflicts::ConflictsArgs),
    /// Parts of the list that people own, each with the numbers of its tasks
    #[command(subcommand)]
    Domain(TaskDomainCommand),
    Import(cmd::task::import::ImportArgs),
    Export(cmd::task::export::ExportArgs),
}

#[derive(Debug, Subcommand)]
pub enum TaskDomainCommand {
    Add(domain::AddArgs),
    Move(domain::MoveArgs),
    #[command(visible_alias = "ls")]
    List(domain::ListArgs),
}
