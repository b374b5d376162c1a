//! The words behind `task`.

use crate::cmd;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    Add(Box<cmd::task::add::AddArgs>),
    Edit(Box<cmd::task::edit::EditArgs>),
    Move(cmd::task::place::MoveArgs),
    Check(cmd::task::check::CheckArgs),
    Import(cmd::task::import::ImportArgs),
    Export(cmd::task::export::ExportArgs),
}
