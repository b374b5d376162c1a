//! `spec coverage --intent`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::intent;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_rules::intent::Fate;
use serde_json::json;

pub(super) fn coverage(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let found = intent::show(ctx)?;
    if found.statements.is_empty() {
        ui.status(format!(
            "{}: the request has one statement only, or is older than numbered statements",
            found.id
        ));
    }
    for one in &found.statements {
        let role = match one.fate {
            Fate::Missing => style::BAD,
            _ => style::GOOD,
        };
        let word = ui.paint(role, &format!("{:9}", one.fate.as_str()));
        ui.out(format!("{word}  {}  {}", one.id, clean(&one.text)));
        if let Some(deferred) = &one.deferred {
            ui.out(format!("    {}: {}", deferred.at, line(&deferred.reason)));
        }
        if !one.cited.is_empty() {
            ui.out(format!("    {}", one.cited.join(", ")));
        }
    }
    let missing = found
        .statements
        .iter()
        .find(|one| one.fate == Fate::Missing);
    for one in &found.strays {
        let (at, id) = (line(&one.at), &one.id);
        ui.status(format!("{at}: the request has no statement {id}"));
    }
    if missing.is_some() && !found.asked {
        ui.status(format!("{}: no gate of this session asks for it", found.id));
    }
    let complete = missing.is_none();
    let next = missing.zip(found.edit).map(|(one, edit)| {
        hint![
            format!(
                "cite {} where it is addressed, or write `- {} deferred: WHY`: ",
                one.id, one.id
            ),
            command!("edit {edit}")
        ]
    });
    if let Some(next) = &next {
        ui.hint(next);
    }
    ui.json(
        "spec coverage",
        &json!({
            "session": found.id, "complete": complete, "asked": found.asked, "statements": found.statements,
            "strays": found.strays,
            "next_action": next,
        }),
    );
    Ok(if complete || !found.asked {
        Exit::Done
    } else {
        Exit::Blocked
    })
}
