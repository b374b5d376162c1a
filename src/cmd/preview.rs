//! `approve --show`: how what would be approved reads.

use super::{blocker_lines, check_lines, debt_line, tell_next, warn_policy_moved};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::approve::Ends;
use crate::flow::preview::preview;
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use serde_json::json;

pub(crate) fn show(ends: Ends, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let preview = preview(ctx, ends)?;
    let mut body = json!(preview);
    tell_next(&mut body, &preview.advised);
    ui.json("approve", &body);
    let people = match preview.required {
        1 => String::new(),
        n => format!(", by {n} people"),
    };
    ui.out(format!(
        "{}: {}{people}",
        ui.paint(style::NAME, preview.session.as_str()),
        preview.transition
    ));
    for (artifact, blob) in &preview.files {
        let edited = if preview.edited.contains(artifact) {
            "  (edited, not saved yet)"
        } else {
            ""
        };
        ui.out(format!("  {}  {artifact}{edited}", blob.short()));
    }
    if let Some(code) = &preview.code {
        let name = |oid: Option<&Oid>| oid.map_or("nothing", |oid| oid.short()).to_owned();
        ui.out(format!(
            "code    {}..{}, {}, tree {}",
            name(code.base.as_ref()),
            name(code.head.as_ref()),
            counted(code.commits, "commit"),
            code.tree.short()
        ));
    }
    check_lines(ui, "check   ", &preview.checks);
    for finding in &preview.findings {
        ui.out(format!("finding {}", clean(&finding.words())));
    }
    for debt in &preview.left {
        ui.fold_out(format!("left    {}", debt_line(debt)), 8);
    }
    for question in &preview.questions {
        let said = format!("asked   {} ({})", line(&question.text), line(&question.by));
        ui.fold_out(said, 8);
    }
    blocker_lines(ui, &preview.blockers);
    if let Some(moved) = &preview.policy_moved {
        warn_policy_moved(moved, ui);
    }
    ui.next(&preview.advised);
    Ok(if preview.blockers.is_empty() {
        Exit::Done
    } else {
        Exit::Blocked
    })
}
