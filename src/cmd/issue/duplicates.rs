//! `issue duplicates`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::duplicates as flow;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use serde_json::json;

/// Find issues that say the same
///
/// By the words of title and description; a word that few issues have says more. What was linked as a duplicate, as
/// related or as a part is left out. Nothing is closed: `issue close ID --duplicate-of OTHER` does that.
#[derive(Clone, Debug, clap::Args)]
pub struct DuplicatesArgs {
    /// Only issues that say the same as this issue
    id: Option<String>,
    /// Also issues that are resolved or closed
    #[arg(long)]
    all: bool,
    /// The least likeness of two issues, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    least: u8,
}

pub(crate) fn run(args: &DuplicatesArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (found, names) = flow::duplicates(ctx, args.id.as_deref(), args.all, args.least)?;
    for pair in &found {
        for (nth, (id, title)) in [(&pair.issue, &pair.title), (&pair.other, &pair.other_title)]
            .into_iter()
            .enumerate()
        {
            let percent = match nth {
                0 => format!("{:>3}%", pair.percent),
                _ => "    ".to_owned(),
            };
            let short = format!("{:<width$}", names.short(id), width = names.width());
            let short = ui.paint(style::NAME, &short);
            ui.out(format!("{percent}  {short}  {}", line(title)));
        }
    }
    if found.is_empty() {
        ui.out("no two issues say the same");
    }
    let next = found.first().map(|pair| {
        command!(
            "issue close {} --duplicate-of {}",
            names.short(&pair.other),
            names.short(&pair.issue)
        )
    });
    if let Some(next) = &next {
        ui.hint(next.clone().note("(if they do)"));
    }
    ui.json(
        "issue duplicates",
        &json!({ "pairs": found, "next_action": next }),
    );
    Ok(Exit::Done)
}
