//! `sync`: arguments, and how its report reads.

use crate::cli::Exit;
use crate::core::counted;
use crate::core::failure::Result;
use crate::flow::Context;
use crate::flow::sync::{self, Report, Request};
use crate::ui::{Ui, clean, style};
use std::io::{IsTerminal, Write};

/// Bring the sessions here and on a remote together: fetch, merge, push
#[derive(Debug, clap::Args)]
pub struct SyncArgs {
    /// The remote; else loopx.remote, that of this branch, the only one, or origin
    pub remote: Option<String>,
    /// Fetch, and say what would happen; move no branch
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Use what was fetched before
    #[arg(long)]
    pub no_fetch: bool,
    /// Bring together here, push nothing
    #[arg(long)]
    pub no_push: bool,
    /// Fail instead of letting git ask for a password
    #[arg(long)]
    pub unattended: bool,
}

pub fn sync(args: SyncArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let SyncArgs {
        remote,
        dry_run,
        no_fetch,
        no_push,
        unattended,
    } = args;
    let is_watched = ui.shows_progress();
    let request = Request {
        remote,
        dry_run,
        no_fetch,
        no_push,
        // Where nobody watches, nobody answers.
        unattended: unattended || !std::io::stdin().is_terminal() && !is_watched,
    };
    let mut stderr = std::io::stderr();
    let live: Option<&mut (dyn Write + Send)> = match is_watched {
        true => Some(&mut stderr),
        false => None,
    };
    let report = sync::sync(ctx, &request, live)?;
    text(&report, &request, ui);
    ui.json("sync", &report);
    let conflicts: usize = report.united.iter().map(|one| one.conflicts).sum();
    Ok(if conflicts > 0 {
        Exit::Conflict
    } else {
        Exit::Done
    })
}

fn text(report: &Report, request: &Request, ui: &mut Ui) {
    let count = |n: usize| counted(n, "commit");
    for one in &report.renamed {
        ui.warn(format!(
            "two sessions are named {}: the one that is \"{}\" is {} from now on",
            one.from,
            clean(&one.title),
            one.to
        ));
    }
    for one in &report.bindings {
        ui.warn(format!(
            "the branch {} was bound to {} and to {}: it is bound to {} now (else: git loopx use {})",
            clean(&one.branch),
            clean(&one.session),
            clean(&one.instead_of),
            clean(&one.session),
            clean(&one.instead_of)
        ));
    }
    for one in &report.united {
        let session = ui.paint(style::NAME, one.session.as_str());
        match one.conflicts {
            0 => ui.status(format!("  {session}: changed on both sides, merged")),
            n => ui.status(format!(
                "  {session}: changed on both sides, {}",
                counted(n, "conflict")
            )),
        }
    }
    let would = if report.dry_run { "would be " } else { "" };
    let mut said = Vec::new();
    match report.met {
        "nothing" => {}
        "created" => said.push(format!("{would}taken from there")),
        "forward" => said.push(format!("{} {would}taken", count(report.received))),
        "merged" => said.push(format!("{} {would}merged", count(report.received))),
        _ => said.push(format!(
            "own commits {would}replayed on {}",
            count(report.received)
        )),
    }
    if report.pushed {
        said.push(format!("{} pushed", count(report.sent)));
    } else if report.sent > 0 {
        let left = if request.dry_run {
            "would be pushed"
        } else {
            "not pushed"
        };
        said.push(format!("{} {left}", count(report.sent)));
    }
    if said.is_empty() {
        said.push("nothing new".to_owned());
    }
    let (branch, remote) = (clean(&report.branch), clean(&report.remote));
    ui.status(format!("{branch} and {remote}: {}", said.join(", ")));
    if let Some(one) = report.united.iter().find(|one| one.conflicts > 0) {
        ui.hint(format!("git loopx -s {} resolve", one.session));
    }
}
