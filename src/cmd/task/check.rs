//! `task check`.

use crate::cli::Exit;
use crate::flow::{Context, task_list};
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_spec::{Severity, has_errors};

/// Say what is wrong with the list of tasks, each finding with its line; exit 1 for errors
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct CheckArgs {
    /// Refuse warnings too
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &CheckArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let checked = task_list::judge(ctx)?;
    for finding in &checked.findings {
        let (role, word) = match finding.severity {
            Severity::Error => (style::BAD, "error"),
            _ => (style::WARN, "warning"),
        };
        ui.out(format!(
            "{}:{}: {} {}: {}",
            finding.file,
            finding.line,
            ui.paint(role, word),
            finding.id,
            line(&finding.message)
        ));
        ui.out(format!("    {}", clean(&ui.command(&finding.fix))));
    }
    let errors = checked
        .findings
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .count();
    let warnings = checked.findings.len() - errors;
    let tasks = match (checked.tasks, errors) {
        (0, 1..) => "the list cannot be read".to_owned(),
        (tasks, _) => counted(tasks, "task"),
    };
    ui.status(format!(
        "{}: {tasks}, {}, {}",
        checked.session,
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    ui.json("task check", &checked);
    let is_refused = has_errors(&checked.findings) || args.strict && warnings > 0;
    Ok(if is_refused {
        Exit::Blocked
    } else {
        Exit::Done
    })
}
