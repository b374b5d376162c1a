//! `sync`: arguments, and how its report reads.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::apart;
use crate::flow::issue::apart::{LostClaim, News, OverLimit};
use crate::flow::sync;
use crate::flow::sync::{Flaw, MergedSession, RemovedByRemote, Report, Request, SetBack};
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_rules::issue::compare::What;
use loopx_rules::settings::SyncPoint;
use std::io::{IsTerminal, Write};

/// Exchange sessions with a remote: fetch, merge, push
#[derive(Debug, clap::Args)]
pub struct SyncArgs {
    /// The remote (default: loopx.remote, else the remote of this branch, else the only remote, else origin)
    pub remote: Option<String>,
    /// Fetch, and say what would happen; move no branch
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Fetch nothing, and use what was fetched before
    #[arg(long)]
    pub no_fetch: bool,
    /// Fetch and merge, and push nothing
    #[arg(long)]
    pub no_push: bool,
    /// Fail instead of letting git ask for a password
    #[arg(long)]
    pub unattended: bool,
}

pub(crate) fn sync(args: SyncArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
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
    let live: Option<&mut (dyn Write + Send)> = if is_watched { Some(&mut stderr) } else { None };
    let report = sync::sync(ctx, &request, live)?;
    text(&report, &request, ui);
    ui.json("sync", &report);
    Ok(if report.conflicts.is_empty() {
        Exit::Done
    } else {
        Exit::Conflict
    })
}

/// Runs a command between the syncs that `loopx.autoSync` asks for: what others recorded comes before it is judged, and
/// what it recorded goes. A sync that fails is a warning; the command's exit code stays.
pub(crate) fn around(
    point: SyncPoint,
    ctx: &Context,
    ui: &mut Ui,
    command: impl FnOnce(&mut Ui) -> Result<Exit>,
) -> Result<Exit> {
    if !sync::is_automatic(ctx, point) {
        return command(ui);
    }
    let tip = || ctx.store().and_then(|store| store.tip()).ok().flatten();
    let is_reached = unasked(ctx, true, ui);
    let before = tip();
    let exit = command(ui)?;
    if is_reached && tip() != before {
        unasked(ctx, false, ui);
    }
    Ok(exit)
}

/// A sync that nobody typed; whether it worked.
fn unasked(ctx: &Context, no_push: bool, ui: &mut Ui) -> bool {
    let request = Request {
        no_push,
        unattended: true,
        ..Request::default()
    };
    match sync::sync(ctx, &request, None) {
        Ok(report) => {
            // What is to be pushed is pushed afterwards.
            if report.pushed || report.received > 0 {
                text(&report, &request, ui);
            }
            true
        }
        Err(failure) => {
            ui.warn(format!("not synced: {}", clean(&failure.message)));
            if let Some(help) = &failure.help {
                ui.warn(format!("to sync: {}", ui.command(help)));
            }
            false
        }
    }
}

/// Warns of what the other side had taken away, and says who did it.
pub(super) fn lost(from: &str, taken: &[RemovedByRemote], dry_run: bool, ui: &mut Ui) {
    for one in taken {
        let then = match (one.brought_back, dry_run) {
            (true, false) => "brought back",
            (true, true) => "would be brought back",
            (false, _) => "left so, for that commit takes back what was done by hand",
        };
        let (what, commit) = (clean(&one.what), one.commit.short());
        ui.warn(format!("{}: {what} (commit {commit}): {then}", clean(from)));
    }
}

/// Warns of what the other side had otherwise than its records say, and of what is damaged there.
pub(super) fn flaws(
    (from, then): (&str, &str),
    (mended, damaged): (&[Flaw], &[Flaw]),
    ui: &mut Ui,
) {
    for one in mended {
        let (session, what) = (clean(&one.session), clean(&one.what));
        ui.warn(format!("{}: {session}: {what}: {then}", clean(from)));
    }
    for one in damaged {
        let (session, what) = (clean(&one.session), clean(&one.what));
        ui.warn(format!("{session} is damaged: {what}"));
    }
}

/// The way on from damage that was taken.
pub(super) fn way_on(damaged: &[Flaw], branch: &str) -> Option<Hint> {
    damaged.first()?;
    let Some(one) = damaged.iter().find(|one| !one.is_mendable) else {
        return Some(command!("fsck --repair"));
    };
    let path = if one.session.contains('/') {
        clean(&one.session).to_string()
    } else {
        format!("sessions/{}", clean(&one.session))
    };
    let branch = clean(branch);
    Some(hint![format!(
        "git log {branch} -- '{path}'  (shows the COMMIT that brought it; no repair takes it out of the history), then: git push --force-with-lease REMOTE COMMIT^:refs/heads/{branch}, and clone again"
    )])
}

pub(super) fn open_conflicts(sessions: &[MergedSession], ui: &mut Ui) {
    for one in sessions {
        let session = ui.paint(style::NAME, one.session.as_str());
        ui.status(format!(
            "  {session}: {}, open",
            counted(one.conflicts, "conflict")
        ));
    }
}

/// The number of issues of a person that are named.
const NAMED: usize = 5;

/// Number of sessions that moved and are told one by one.
const TOLD: usize = 20;

/// Prints whose sessions moved and how, one line each.
fn moved(report: &Report, ui: &mut Ui) {
    let not_yet = if report.dry_run {
        " (not taken yet)"
    } else {
        ""
    };
    for one in report.moved.iter().take(TOLD) {
        ui.status(format!(
            "{}: {}  {}{not_yet}",
            line(&one.people()),
            ui.paint(style::NAME, one.session.as_str()),
            one.words()
        ));
        for lost in &one.lost {
            ui.warn(line(&format!(
                "{}: the claim of {} by {} does not count: {} was first",
                one.session, lost.task, lost.of.name, lost.to.name
            )));
        }
    }
    if let Some(more @ 1..) = report.moved.len().checked_sub(TOLD) {
        ui.status(format!("and {}", counted(more, "more session")));
    }
}

fn text(report: &Report, request: &Request, ui: &mut Ui) {
    warn_of_history(report, ui);
    warn_of_names(report, ui);
    moved(report, ui);
    for one in &report.merged {
        let session = ui.paint(style::NAME, one.session.as_str());
        match one.conflicts {
            0 => ui.status(format!("  {session}: changed on both sides, merged")),
            n => ui.status(format!(
                "  {session}: changed on both sides, {}",
                counted(n, "conflict")
            )),
        }
    }
    for one in &report.unreadable {
        let said = format!(
            "{}: the list of tasks cannot be read since the merge: {}",
            one.session, one.message
        );
        ui.warn(line(&said));
    }
    let is_new = |one: &&MergedSession| !report.merged.contains(one);
    let came: Vec<MergedSession> = report.conflicts.iter().filter(is_new).cloned().collect();
    open_conflicts(&came, ui);
    tell_apart(report, ui);
    let (branch, remote) = (clean(&report.branch), clean(&report.remote));
    let said = traffic(report, request.dry_run);
    ui.status(format!("{branch} and {remote}: {said}"));
    if let Some(way) = way_on(&report.damaged, &report.branch) {
        ui.hint(way);
    } else if let Some(one) = report.conflicts.first() {
        ui.hint(command!("resolve").session(&one.session));
    } else if let Some(one) = report.unreadable.first() {
        ui.hint(command!("task check").session(&one.session));
    } else if let Some(way) = apart::way(&report.apart) {
        ui.hint(way);
    }
}

/// Issues that clones wrote apart, and those that both began.
fn tell_apart(report: &Report, ui: &mut Ui) {
    for one in report.apart.iter().filter(|one| !one.sessions.is_empty()) {
        let sessions: Vec<&str> = one.sessions.iter().map(SessionId::as_str).collect();
        let last = one.sessions.last();
        let way = last.map(|last| command!("abandon --reason WHY").session(last));
        ui.warn(format!(
            "{} sessions go on for {}: {}{}",
            sessions.len(),
            one.short,
            sessions.join(" and "),
            way.map_or_else(String::new, |way| {
                format!(" (to end one of them: {})", ui.command(&way))
            })
        ));
    }
    for one in &report.backlog {
        ui.status(line(&news(one)));
    }
    for one in &report.lost_claims {
        ui.warn(line(&lost_claim(one)));
    }
    for one in &report.over_limit {
        ui.warn(line(&over_limit(one, ui)));
    }
    for one in &report.open_parts {
        let parts = counted(one.parts.len(), "open part");
        ui.warn(line(&format!(
            "{} is {} and has {parts} since the merge: {} (it goes on: {})",
            one.short,
            one.status,
            one.parts.join(", "),
            ui.command(&one.way)
        )));
    }
    if let Some(listed) = apart::listed(&report.apart) {
        ui.status(format!("  issues written apart: {}", line(&listed)));
    }
}

/// Line of what a person did to the backlog.
fn news(news: &News) -> String {
    let words = |(what, count): (&What, &usize)| {
        let what = what.as_str().replace('_', " ");
        format!("{} {what}", counted(*count, "issue"))
    };
    let words: Vec<String> = news.kinds.iter().map(words).collect();
    let more = news.issues.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let named: Vec<&str> = news.issues.iter().take(NAMED).map(String::as_str).collect();
    format!(
        "{}: {} ({}{more})",
        news.by,
        words.join(", "),
        named.join(", ")
    )
}

fn lost_claim(one: &LostClaim) -> String {
    let LostClaim { short, of, to, .. } = one;
    if one.taken_over {
        format!("{short} is no longer in hand here: {to} took it over")
    } else if one.by_remote {
        format!("the claim of {short} by {of} does not count: the remote gave it to {to}")
    } else {
        format!("the claim of {short} by {of} does not count: {to} was first")
    }
}

fn over_limit(one: &OverLimit, ui: &Ui) -> String {
    let way = one.way.as_ref().map_or_else(String::new, |way| {
        format!(" (to give one back: {})", ui.command(way))
    });
    let held = counted(one.issues.len(), "issue");
    let who = match (&one.who, &one.label) {
        (None, Some(label)) => format!("{held} labelled {label} are in hand"),
        (who, _) => format!("{} has {held} in hand", who.as_deref().unwrap_or_default()),
    };
    format!(
        "{who}, and [backlog] {} of loopx.toml is {}: {}{way}",
        one.key,
        one.wip,
        one.issues.join(", ")
    )
}

/// Warns of what the remote, or a repair, did to commits that were there before.
fn warn_of_history(report: &Report, ui: &mut Ui) {
    if let Some(SetBack { had, has }) = &report.set_back {
        let now = match has {
            Some(has) => format!("now {}: it was set back", has.short()),
            None => "now none: it was deleted".to_owned(),
        };
        let then = match (report.pushed, report.dry_run) {
            (true, _) => "what it had is pushed again",
            (_, true) => "what it had would be pushed again",
            _ => "what it had is still here",
        };
        ui.warn(format!(
            "{} of {} was {}, {now}; {then}",
            clean(&report.branch),
            clean(&report.remote),
            had.short()
        ));
    }
    if let Some(left) = &report.left_behind {
        let (tip, what) = (left.tip.short(), "of a repair that was made here");
        ui.warn(match &left.kept {
            Some(kept) => format!(
                "a server refuses the commits {what}: the other commits were made again without them, and {kept} keeps {tip}"
            ),
            None => format!(
                "a server refuses the commits {what}: the other commits would be made again without them"
            ),
        });
    }
    lost(&report.remote, &report.taken_away, report.dry_run, ui);
    let mended = if report.dry_run {
        "would be computed again"
    } else {
        "computed again"
    };
    flaws(
        (&report.remote, mended),
        (&report.mended, &report.damaged),
        ui,
    );
}

/// Two sessions that had one name, or have one branch.
fn warn_of_names(report: &Report, ui: &mut Ui) {
    for one in &report.renamed {
        ui.warn(format!(
            "two sessions are named {}: the session \"{}\" is renamed to {}",
            one.from,
            clean(&one.title),
            one.to
        ));
    }
    for one in &report.shared {
        ui.warn(format!(
            "the branch {} is bound to {}: the gates of these sessions stay closed until only one session is bound to the branch (e.g. {})",
            clean(&one.branch),
            clean(&one.sessions.join(" and to ")),
            command!("use {} --branch {}", clean(&one.sessions[0]), clean(&one.branch))
        ));
    }
}

/// Words for the number of commits that came and went.
fn traffic(report: &Report, is_dry: bool) -> String {
    let would = if is_dry { "would be " } else { "" };
    let received = counted(report.received, "commit");
    let sent = counted(report.sent, "commit");
    let came = match report.met {
        "nothing" => None,
        "created" => Some(format!("{would}taken from there")),
        "forward" => Some(format!("{received} {would}taken")),
        "merged" => Some(format!("{received} {would}merged")),
        _ => Some(format!("own commits {would}replayed on {received}")),
    };
    let went = match (report.pushed, report.sent, is_dry) {
        (true, ..) => Some(format!("{sent} pushed")),
        (false, 0, _) => None,
        (false, _, true) => Some(format!("{sent} would be pushed")),
        (false, _, false) => Some(format!("{sent} not pushed")),
    };
    let said: Vec<String> = came.into_iter().chain(went).collect();
    if said.is_empty() {
        return "nothing new".to_owned();
    }
    said.join(", ")
}
