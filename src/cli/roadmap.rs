//! The words below `roadmap`.

use crate::cmd;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum RoadmapCommand {
    New(Box<cmd::roadmap::write::NewArgs>),
    #[command(visible_alias = "ls")]
    List(cmd::roadmap::read::ListArgs),
    Show(cmd::roadmap::read::ShowArgs),
    Set(cmd::roadmap::write::SetArgs),
    Order(cmd::roadmap::write::OrderArgs),
    Feedback(cmd::roadmap::write::FeedbackArgs),
    Check(cmd::roadmap::read::CheckArgs),
    Import(cmd::roadmap::write::ImportArgs),
}
