//! `roadmap`: what is asked of roadmaps, and said about them. No rule lives here.

pub(crate) mod read;
pub(crate) mod write;

use crate::cli::{Exit, RoadmapCommand};
use crate::flow::Context;
use crate::ui::Ui;
use loopx_base::failure::Result;

pub(crate) fn run(command: RoadmapCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        RoadmapCommand::New(args) => write::new(*args, ctx, ui),
        RoadmapCommand::List(_) => read::list(ctx, ui),
        RoadmapCommand::Show(args) => read::show(&args, ctx, ui),
        RoadmapCommand::Set(args) => write::set(args, ctx, ui),
        RoadmapCommand::Order(args) => write::order(&args, ctx, ui),
        RoadmapCommand::Feedback(args) => write::feedback(&args, ctx, ui),
        RoadmapCommand::Check(args) => read::check(&args, ctx, ui),
        RoadmapCommand::Import(args) => write::import(&args, ctx, ui),
    }
}
