//! `fsck`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::fsck as flow;
use crate::flow::fsck::{Checked, Depth};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;
use serde_json::json;

/// Check every session: operations, state, approvals, evidence, and what history did to them
///
/// What an earlier run found whole is not looked at again. A repair looks at everything.
#[derive(clap::Args, Clone, Debug)]
pub struct FsckArgs {
    /// Check everything again, also what was found whole before
    #[arg(long)]
    full: bool,
    /// Restore what is damaged, by a new commit
    #[arg(long)]
    repair: bool,
}

pub(crate) fn fsck(args: &FsckArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let depth = if args.full { Depth::Full } else { Depth::New };
    let checked = flow::fsck(ctx, depth, args.repair)?;
    let is_left = |name: &String| checked.left.contains(name);
    let left = checked.damages.iter();
    let left = left.filter(|one| !one.is_mendable() || is_left(&one.session));
    let left = left.count();
    tell_damages(&checked, ui);
    tell_repair(&checked, left, ui);
    tell_early(&checked, ui);
    ui.json(
        "fsck",
        &json!({
            "sessions": checked.sessions,
            "checked": checked.checked,
            "known": checked.known,
            "commits": checked.commits,
            "damages": checked.damages,
            "oddities": checked.oddities,
            "repaired": checked.repaired,
            "left": checked.left,
            "put_back": checked.put_back,
            "early": checked.early,
        }),
    );
    let is_mended = left == 0 && (checked.repaired.is_some() || !checked.put_back.is_empty());
    Ok(if checked.damages.is_empty() || is_mended {
        Exit::Done
    } else {
        Exit::Blocked
    })
}

fn tell_damages(checked: &Checked, ui: &mut Ui) {
    for odd in &checked.oddities {
        ui.warn(format!("commit {} {}", odd.commit.short(), line(&odd.what)));
    }
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
}

/// Says what a repair did, or leads to one; `left` damages no repair mends.
fn tell_repair(checked: &Checked, left: usize, ui: &mut Ui) {
    if !checked.put_back.is_empty() {
        ui.status(format!(
            "put back {}",
            counted(checked.put_back.len(), "object")
        ));
    }
    for name in &checked.left {
        ui.warn(format!(
            "{} is not repaired: history has no whole copy of it; put back what is missing from another clone or a backup",
            line(name)
        ));
    }
    match (&checked.repaired, checked.damages.len() - left) {
        (Some(commit), n) => ui.status(format!(
            "repaired {} in {}",
            counted(n, "record"),
            commit.short()
        )),
        (None, 0) if left == 0 => ui.status(format!(
            "{}, all whole ({} looked at, {} known from before, {})",
            counted(checked.sessions, "active session"),
            checked.checked,
            checked.known,
            counted(checked.commits, "commit")
        )),
        (None, _) if !checked.put_back.is_empty() => {}
        (None, _) => ui.hint(command!("fsck --repair")),
    }
}

/// Warns of records about tasks that were made before their time.
fn tell_early(checked: &Checked, ui: &mut Ui) {
    for early in &checked.early {
        let (session, said) = (&early.session, early.step.words());
        ui.warn(format!("{session}: {}", line(&said)));
    }
    if let Some(first) = checked.early.first() {
        ui.address(first.session.as_str());
        ui.hint(command!("task show {}", first.step.task));
    }
}
