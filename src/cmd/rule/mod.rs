//! `rule`: what is asked of the documents of rules, and said about them. No rule lives here.

mod facts;
mod load;
pub(crate) mod propose;
mod read;
mod write;

use crate::cli::Exit;
use crate::flow::Context;
use crate::ui::Ui;
use loopx_base::failure::Result;

#[derive(Debug, clap::Subcommand)]
pub enum RuleCommand {
    Init(write::InitArgs),
    Add(write::AddArgs),
    #[command(visible_alias = "ls")]
    List(read::ListArgs),
    Show(read::ShowArgs),
    Load(load::LoadArgs),
    Check(read::CheckArgs),
    Propose(propose::ProposeArgs),
    Facts(facts::FactsArgs),
    Import(write::ImportArgs),
    MergeDriver(read::DriverArgs),
}

pub(crate) fn run(
    command: RuleCommand,
    open: impl FnOnce() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    match command {
        RuleCommand::Init(args) => write::init(&args, &open()?, ui),
        RuleCommand::Add(args) => write::add(&args, &open()?, ui),
        RuleCommand::List(args) => read::list(&args, &open()?, ui),
        RuleCommand::Show(args) => read::show(&args, &open()?, ui),
        RuleCommand::Load(args) => load::run(args, &open()?, ui),
        RuleCommand::Check(args) => read::check(&args, &open()?, ui),
        RuleCommand::Propose(args) => propose::run(&args, &open()?, ui),
        RuleCommand::Facts(args) => facts::run(&args, &open()?, ui),
        RuleCommand::Import(args) => write::import(&args, &open()?, ui),
        RuleCommand::MergeDriver(args) => Ok(read::merge_driver(&args, ui)),
    }
}
