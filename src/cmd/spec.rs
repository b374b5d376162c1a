//! `git loopx spec`: the plumbing of the spec engine.

use crate::cli::Exit;
use crate::core::failure::Result;
use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum SpecCommand {}

pub fn run(command: SpecCommand, _ui: &mut Ui) -> Result<Exit> {
    match command {}
}
