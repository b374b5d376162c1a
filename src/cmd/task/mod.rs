//! `task`: one file per word. No rule lives here.

pub mod add;
pub mod check;
pub mod edit;
pub mod export;
pub mod fields;
pub mod import;
pub mod place;

use crate::cli::{Exit, TaskCommand};
use crate::core::failure::Result;
use crate::flow::Context;
use crate::ui::Ui;

pub fn run(command: TaskCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        TaskCommand::Add(args) => add::run(*args, ctx, ui),
        TaskCommand::Edit(args) => edit::run(*args, ctx, ui),
        TaskCommand::Move(args) => place::run(args, ctx, ui),
        TaskCommand::Check(args) => check::run(&args, ctx, ui),
        TaskCommand::Import(args) => import::run(args, ctx, ui),
        TaskCommand::Export(args) => export::run(&args, ctx, ui),
    }
}
