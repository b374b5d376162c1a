//! `fsck`.

use crate::cli::Exit;
use crate::core::failure::Result;
use crate::flow::{Context, fsck as flow};
use crate::ui::{Ui, line};
use serde_json::json;

pub fn fsck(repair: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let checked = flow::fsck(ctx, repair)?;
    for damage in &checked.damages {
        let since = match &damage.since {
            Some(commit) => format!(", since commit {}", commit.short()),
            None => String::new(),
        };
        ui.out(format!(
            "{}: {}{since}",
            line(&damage.session),
            line(&damage.what)
        ));
    }
    match (&checked.repaired, checked.damages.len()) {
        (Some(commit), n) => ui.status(format!(
            "repaired {n} record{} in {}",
            if n == 1 { "" } else { "s" },
            commit.short()
        )),
        (None, 0) => ui.status(format!("{} active sessions, all whole", checked.sessions)),
        (None, _) => ui.hint("git loopx fsck --repair"),
    }
    ui.json(
        "fsck",
        &json!({ "sessions": checked.sessions, "damages": checked.damages, "repaired": checked.repaired }),
    );
    Ok(
        if checked.damages.is_empty() || checked.repaired.is_some() {
            Exit::Done
        } else {
            Exit::Blocked
        },
    )
}
