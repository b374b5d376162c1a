//! `config`: what holds, and the schema of `loopx.toml`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::config;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_rules::policy::schema;

#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Print every setting that holds, and where it comes from
    Show {
        /// The commit whose loopx.toml is shown (default: the session's base, else HEAD)
        #[arg(long, value_name = "REV")]
        from: Option<String>,
    },
    /// Print the JSON Schema of loopx.toml
    Schema,
}

pub(crate) fn run(
    command: ConfigCommand,
    open: impl FnOnce() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    match command {
        ConfigCommand::Show { from } => show(&open()?, from.as_deref(), ui),
        // A schema is a document of its own: with --json or without, it is the same.
        ConfigCommand::Schema => {
            let schema = schema::schema();
            ui.raw(format!("{schema:#}\n").as_bytes());
            Ok(Exit::Done)
        }
    }
}

fn show(ctx: &Context, from: Option<&str>, ui: &mut Ui) -> Result<Exit> {
    let effective = config::show(ctx, from)?;
    for setting in effective.policy.iter().chain(&effective.personal) {
        let says = format!("{} = {}", setting.key, setting.value);
        let source = format!("({})", setting.source);
        ui.out(format!(
            "{}  {}",
            clean(&says),
            ui.paint(style::DIM, &source)
        ));
    }
    let whose = match (&effective.session, &effective.commit) {
        (Some(session), Some(commit)) => format!("base {} of session {session}", commit.short()),
        (Some(session), None) => format!("session {session}, which has no base"),
        (None, Some(commit)) => format!("commit {}", commit.short()),
        (None, None) => "no commit yet".to_owned(),
    };
    ui.status(format!("from {whose}"));
    ui.json("config show", &effective);
    if !ui.is_json() {
        for warning in &effective.warnings {
            ui.warn(line(warning));
        }
    }
    Ok(Exit::Done)
}
