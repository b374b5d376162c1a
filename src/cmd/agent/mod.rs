//! `git loopx agent install|uninstall|status|material|block|park|resume`: arguments, and how the outcome reads.

mod prompt;
mod skills;

use super::pause;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::agent::{install, material};
use crate::ui::diff::unified;
use crate::ui::{Ui, clean, style};
use loopx_base::failure::{Code, Result};
use loopx_hosts::Host;
use loopx_hosts::material::Drift;
use loopx_hosts::wiring::Wired;
use loopx_rules::skill::Platform;
use serde_json::json;

#[derive(Debug, clap::Subcommand)]
pub enum AgentCommand {
    /// Let a coding agent's host ask git loopx when the agent starts, stops and runs a command
    ///
    /// Adds our entries to the host's file in this worktree and leaves the rest of it as it is. The
    /// commands look for this program at its present place, then in PATH, and do nothing where it is
    /// gone. A file that cannot be read is not written.
    Install {
        /// claude, codex, cursor, copilot or gemini
        host: Host,
        /// Show what would be written, and what to paste by hand; do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Take our entries out of the host's file: every byte as it was, where nobody else wrote since
    Uninstall {
        /// claude, codex, cursor, copilot or gemini
        host: Host,
        /// Show what would be written, do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Show which hosts are wired, and whether the material is current, outdated or edited
    Status,
    /// Write the working agreement (AGENTS.md, an existing CLAUDE.md) and the skill
    ///
    /// The agreement is a block between two marks; text around it stays. What somebody edited is
    /// never overwritten.
    Material {
        /// Take the agreement and the skill away again
        #[arg(long)]
        remove: bool,
        /// Show what would be written, do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    Prompt(prompt::PromptArgs),
    /// List the skills by which tasks can be done here: of the repository, then of home
    ///
    /// git loopx looks for skills in `.claude`, `.codex`, `.agents` and `.agy`: `skills/NAME/SKILL.md` and `commands/NAME.md`. A
    /// skill that asks for a file that is not there is marked with `!`.
    Skills {
        /// Only those of this host's folder: claude, codex, agent or agy
        #[arg(long, value_name = "HOST")]
        platform: Option<Platform>,
    },
    /// Record what stands in the way of the build; a coding agent may stop then
    Block {
        /// What stands in the way (needed)
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let coding agents of this worktree stop until the build is taken up again
    Park {
        /// Why (needed)
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Take a build up again that was parked or blocked
    Resume {
        /// Why, for the record
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
}

pub(crate) fn run(command: AgentCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        AgentCommand::Install { host, dry_run } => {
            let change = install::install(&ctx.repo, host, dry_run);
            let change = match change {
                Err(failure) if dry_run && failure.code == Code::AgentConfigUnreadable => {
                    // The way out that the refusal names: what to add by hand.
                    let text = install::snippet(&install::read(&ctx.repo, host)?)?;
                    ui.warn(clean(&failure.message));
                    ui.raw_text(&text);
                    ui.json("agent install", &json!({ "host": host.name(), "dry_run": true, "changed": false, "snippet": text }));
                    return Ok(Exit::Done);
                }
                other => other?,
            };
            tell(ui, "agent install", host, &change, dry_run, "wired into");
        }
        AgentCommand::Uninstall { host, dry_run } => {
            let change = install::uninstall(ctx, host, dry_run)?;
            tell(
                ui,
                "agent uninstall",
                host,
                &change,
                dry_run,
                "taken out of",
            );
        }
        AgentCommand::Status => return status(ctx, ui),
        AgentCommand::Prompt(args) => return prompt::run(&args, ctx, ui),
        AgentCommand::Skills { platform } => return skills::run(platform, ctx, ui),
        AgentCommand::Block { reason } => return pause::block(reason, ctx, ui),
        AgentCommand::Park { reason } => return pause::park(reason, ctx, ui),
        AgentCommand::Resume { reason } => return pause::resume(reason, ctx, ui),
        AgentCommand::Material { remove, dry_run } => materials(ctx, remove, dry_run, ui)?,
    }
    Ok(Exit::Done)
}

fn materials(ctx: &Context, remove: bool, dry_run: bool, ui: &mut Ui) -> Result<()> {
    let pieces = material::apply(&ctx.repo, remove, dry_run)?;
    let color = ui.color();
    let links = material::links(&ctx.repo)?;
    for path in &links {
        ui.warn(format!(
            "{path} is a symbolic link, which is not followed: nothing of git loopx is written there"
        ));
    }
    for piece in &pieces {
        let old = piece.before.as_deref().unwrap_or_default();
        let new = piece.after.as_deref().unwrap_or_default();
        match (piece.changed, piece.state) {
            (true, _) if dry_run => ui.raw_text(&unified(piece.path, old, new, color)),
            (true, _) if piece.after.is_none() => ui.status(format!("removed {}", piece.path)),
            (true, _) => ui.status(format!("wrote {}", piece.path)),
            (false, Drift::Edited) => ui.warn(format!(
                "{}: somebody edited what git loopx wrote, so it stays as it is",
                piece.path
            )),
            (false, Drift::Absent) => {}
            (false, _) => ui.status(format!("{} is current", piece.path)),
        }
    }
    ui.json(
        "agent material",
        &json!({ "dry_run": dry_run, "removed": remove, "files": pieces, "links": links }),
    );
    Ok(())
}

fn tell(
    ui: &mut Ui,
    command: &str,
    host: Host,
    change: &install::Change,
    dry_run: bool,
    done: &str,
) {
    let path = change.path.display().to_string();
    let changed = change.changes();
    if !changed {
        ui.status(format!("nothing to do in {}", clean(&path)));
    } else if dry_run {
        let old = change.before.as_deref().unwrap_or_default();
        let new = change.after.as_deref().unwrap_or_default();
        let color = ui.color();
        let name = loopx_hosts::wiring::file(host);
        ui.raw_text(&unified(name, old, new, color));
    } else {
        ui.status(format!("{} is {done} {}", host.title(), clean(&path)));
    }
    if changed && !ui.is_json() {
        for note in &change.notes {
            ui.status(format!("  {}", clean(note)));
        }
    }
    ui.json(
        command,
        &json!({
            "host": host.name(),
            "file": path,
            "dry_run": dry_run,
            "changed": changed && !dry_run,
            "text": change.after.as_ref().filter(|_| dry_run),
            "notes": change.notes,
        }),
    );
}

fn status(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mut rows = Vec::new();
    for host in Host::ALL {
        let file = match install::read(&ctx.repo, host) {
            // A link in the place of one file says nothing of the others.
            Err(failure) if failure.code == Code::SymlinkRefused => {
                let (state, file) = (Wired::Unreadable, loopx_hosts::wiring::file(host));
                let word = ui.paint(style::WARN, &format!("{:<10}", state.as_str()));
                let note = clean(&failure.message);
                ui.out(format!("{:<12} {word}  {file}", host.title()));
                ui.out(format!("{:<12} {:<10}  {note}", "", ""));
                rows.push(
                    json!({ "host": host.name(), "state": state, "file": file, "note": note }),
                );
                continue;
            }
            file => file?,
        };
        let role = match file.wired {
            Wired::Current => style::GOOD,
            Wired::Absent => style::DIM,
            Wired::Outdated | Wired::Unreadable => style::WARN,
        };
        let word = ui.paint(role, &format!("{:<10}", file.wired.as_str()));
        let path = file.path.display().to_string();
        ui.out(format!("{:<12} {word}  {}", host.title(), clean(&path)));
        let is_wired = matches!(file.wired, Wired::Current | Wired::Outdated);
        let note = file.starts_in().filter(|_| is_wired);
        if let Some(note) = &note {
            ui.out(format!("{:<12} {:<10}  {}", "", "", clean(note)));
        }
        rows.push(json!({ "host": host.name(), "state": file.wired, "file": path, "note": note }));
    }
    let pieces = material::status(&ctx.repo)?;
    for piece in &pieces {
        ui.out(format!(
            "{:<12} {:<10}  {}",
            "material",
            piece.state.as_str(),
            piece.path
        ));
    }
    ui.json(
        "agent status",
        &json!({ "hosts": rows, "material": pieces }),
    );
    Ok(Exit::Done)
}
