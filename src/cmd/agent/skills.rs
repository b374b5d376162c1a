//! `agent skills`.

use crate::cli::Exit;
use crate::flow::{Context, skills};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::skill::Platform;
use serde_json::json;

pub(super) fn run(platform: Option<Platform>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let all = skills::list(ctx, platform)?;
    let wide = all.iter().map(|one| one.name.chars().count()).max();
    let wide = wide.unwrap_or(0).min(40);
    for one in &all {
        let is_whole = one.fault.is_none() && one.missing_required.is_empty();
        let mark = if is_whole { " " } else { "!" };
        let name = ui.paint(style::NAME, &format!("{:<wide$}", line(&one.name)));
        let head = format!("{:<7} {:<7} {:<7}", one.platform, one.form, one.scope);
        ui.out(format!("{mark} {head}  {name}  {}", line(&one.hint)).trim_end());
        if !one.description.is_empty() {
            ui.out(format!("    {}", line(&one.description)));
        }
        for path in &one.missing_required {
            ui.out(format!(
                "    asks for a file that is not there: {}",
                line(path)
            ));
        }
        for path in &one.displaces {
            ui.out(format!(
                "    passed over, with another text: {}",
                line(path)
            ));
        }
        if let Some(first) = &one.displaced_by {
            ui.out(format!("    passed over for {}", line(first)));
        }
        if let Some(fault) = &one.fault {
            ui.out(format!("    {}", line(fault)));
        }
    }
    let faulty = all.iter();
    let faulty = faulty.filter(|one| one.fault.is_some() || !one.missing_required.is_empty());
    ui.status(format!(
        "{}, {} that cannot be used",
        counted(all.len(), "skill"),
        faulty.count()
    ));
    ui.json("agent skills", &json!({ "skills": all }));
    Ok(Exit::Done)
}
