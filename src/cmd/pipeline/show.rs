//! `pipeline show`.

use crate::cli::Exit;
use crate::flow::{Context, pipeline as flow};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_rules::pipeline::view;
use serde_json::{Value, json};

/// Print a pipeline: its file as it is, or the graph that it makes
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// The tasks with what each waits for, those that it takes from others among them
    #[arg(long)]
    graph: bool,
}

pub(crate) fn run(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let pipeline = flow::find_here(ctx, &args.name)?;
    let lines = flow::sample(&pipeline);
    if args.graph {
        graph(&lines, ui);
    } else if !ui.is_json() {
        ui.raw(pipeline.text.as_bytes());
    }
    let mut body = json!(view(&pipeline));
    body["lines"] = json!(lines);
    ui.json("pipeline show", &body);
    Ok(Exit::Done)
}

fn graph(lines: &[Value], ui: &mut Ui) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    for one in lines {
        let kind = one["kind"].as_str().unwrap_or("work");
        let kind = format!("{kind:<10}");
        let role = text(&one["role"]);
        let role = if role.is_empty() {
            String::new()
        } else {
            format!("  {role}")
        };
        let id = ui.paint(style::NAME, &text(&one["id"]));
        let title = text(&one["title"]);
        ui.out(format!("{kind}  {id}{}  {}", line(&role), line(&title)));
        let mut on = list(&one["depends_on"]);
        for judged in list(&one["gate"]["judges"]) {
            if !on.contains(&judged) {
                on.insert(0, judged);
            }
        }
        if !on.is_empty() {
            ui.out(format!("            <- {}", line(&on.join(", "))));
        }
        let views = list(&one["gate"]["views"]);
        if !views.is_empty() {
            let round = one["round"].as_u64();
            let round = round.map_or_else(String::new, |round| format!("round {round}: "));
            ui.out(format!("            {round}{}", line(&views.join(", "))));
        }
    }
}
