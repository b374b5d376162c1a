//! `agent prompt`.

use crate::cli::Exit;
use crate::cmd::pipeline::say;
use crate::flow::{Context, prompts};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_spec::Severity;
use serde_json::json;

/// Print the prompt of a role; without ROLE list the roles
///
/// The program has a prompt for each role of its pipelines. A repository's own stand in `loopx/prompts/ROLE.md` of the
/// code branch, and are read as policy is: from the commit that the session starts from.
#[derive(Clone, Debug, clap::Args)]
pub struct PromptArgs {
    /// The role; with --check also a file of the worktree
    #[arg(value_name = "ROLE")]
    role: Option<String>,
    /// Say what is wrong with the prompt, or with all prompts of the repository; exit 1 for errors
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &PromptArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match (&args.role, args.check) {
        (role, true) => return check(role.as_deref(), ctx, ui),
        (Some(role), false) => {
            let found = prompts::find(ctx, role)?;
            if !ui.is_json() {
                ui.raw(found.text.as_bytes());
            }
            ui.json("agent prompt", &json!(found));
        }
        (None, false) => {
            let all = prompts::all(ctx)?;
            let wide = all.iter().map(|one| one.role.len()).max().unwrap_or(0);
            for one in &all {
                let role = ui.paint(style::NAME, &format!("{:<wide$}", one.role));
                ui.out(format!("{role}  {}", line(&one.about)));
                if let Some(path) = &one.path {
                    ui.out(format!("{:wide$}  {}", "", line(path)));
                }
            }
            let rows = all.iter().map(|one| {
                json!({ "role": one.role, "about": one.about, "path": one.path, "words": one.words })
            });
            let rows: Vec<_> = rows.collect();
            ui.json("agent prompt", &json!({ "roles": rows }));
        }
    }
    Ok(Exit::Done)
}

fn check(role: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let all = prompts::check(ctx, role)?;
    let findings: Vec<_> = all.iter().flat_map(|one| one.findings.clone()).collect();
    say(&findings, ui);
    let errors = findings.iter();
    let errors = errors.filter(|one| one.severity == Severity::Error).count();
    ui.status(format!(
        "{}: {}, {}",
        counted(all.len(), "prompt"),
        counted(errors, "error"),
        counted(findings.len() - errors, "warning")
    ));
    let roles: Vec<&str> = all.iter().map(|one| one.role.as_str()).collect();
    ui.json(
        "agent prompt",
        &json!({ "roles": roles, "findings": findings }),
    );
    Ok(if errors > 0 {
        Exit::Blocked
    } else {
        Exit::Done
    })
}
