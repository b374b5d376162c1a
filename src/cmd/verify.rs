//! `verify`: arguments, and how findings read.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::verify;
use crate::flow::verify::{BranchRequest, Report, Request};
use crate::ui::{Ui, clean, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_rules::range_rules::{Finding, Severity};

/// Judge every commit of a range again, also the commits that no hook judged
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Like main..HEAD, or one commit (default: from where the branch's session began to HEAD)
    pub range: Option<String>,
    /// The commit whose loopx.toml counts (default: the first end of the range)
    #[arg(long, value_name = "BASE")]
    pub policy_from: Option<String>,
    /// The branch that the commits are on, where HEAD is detached
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// The branch that the commits go to; if policy protects it, its rules for protected branches are judged too
    #[arg(long, value_name = "NAME")]
    pub onto: Option<String>,
    /// Print what covers each commit and path that a protected branch would take, or why nothing does
    #[arg(long)]
    pub explain: bool,
    /// Judge the branch of sessions instead, as a server judges a push of all of it: each state the
    /// replay of its operations, nothing taken away, and every state that a commit of --onto (and of
    /// the range) names still there
    #[arg(long, conflicts_with_all = ["explain", "branch", "policy_from"])]
    pub sessions: bool,
    /// With --sessions: do not ask for the states that this commit, or what it has, names
    #[arg(long, value_name = "COMMIT", requires = "sessions")]
    pub since: Option<String>,
}

/// The account, newest commit last: the letter of the step, the commit, and its paths below.
fn explain(report: &Report, ui: &mut Ui) {
    let Some(account) = &report.account else {
        ui.status("these commits go to no protected branch, so --explain has nothing to print");
        return;
    };
    for row in &account.commits {
        let (role, letter) = match row.step {
            Some(letter) => (style::GOOD, letter),
            None => (style::BAD, "-"),
        };
        ui.out(format!(
            "{} {} {}: {}",
            ui.paint(role, letter),
            ui.paint(style::NAME, row.commit.short()),
            clean(&row.subject),
            clean(&row.because)
        ));
        for path in &row.paths {
            let why = path.why.map_or(String::new(), |why| format!("  ({why})"));
            ui.out(format!("    {}{why}", clean(&path.path)));
        }
    }
    for one in &report.people {
        ui.out(format!(
            "{} {}: {} ({})",
            ui.paint(style::NAME, one.session.as_str()),
            one.role,
            clean(&one.person),
            one.proof.word()
        ));
    }
}

/// The branch of sessions as a whole.
fn sessions(args: VerifyArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = BranchRequest {
        range: args.range,
        onto: args.onto,
        since: args.since,
    };
    let report = verify::verify_branch(ctx, &request)?;
    show(&report.findings, ui);
    let errors = report.errors().count();
    let commits = counted(report.commits, "commit");
    let pins = counted(report.pins, "pin");
    let branch = clean(&report.branch);
    ui.status(match errors {
        0 => format!("{branch}: {commits}, {pins}, no error"),
        n => format!("{branch}: {commits}, {pins}, {}", counted(n, "error")),
    });
    if let Some(finding) = report.errors().next() {
        ui.hint(&finding.help);
    }
    ui.json("verify --sessions", &report);
    Ok(ending(errors))
}

fn show(findings: &[Finding], ui: &mut Ui) {
    for finding in findings {
        let role = match finding.severity {
            Severity::Error => style::BAD,
            Severity::Warning => style::WARN,
        };
        ui.out(format!(
            "{} {} {}: {}",
            ui.paint(style::NAME, finding.commit.short()),
            ui.paint(role, finding.severity.as_str()),
            finding.code,
            clean(&finding.message).replace('\n', " ")
        ));
    }
}

fn ending(errors: usize) -> Exit {
    match errors {
        0 => Exit::Done,
        _ => Exit::Blocked,
    }
}

pub(crate) fn verify(args: VerifyArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if args.sessions {
        return sessions(args, ctx, ui);
    }
    let request = Request {
        range: args.range,
        policy_from: args.policy_from,
        branch: args.branch,
        onto: args.onto,
        session: None,
    };
    let report = verify::verify(ctx, &request)?;
    if args.explain {
        explain(&report, ui);
    }
    show(&report.findings, ui);
    let errors = report.errors().count();
    let commits = counted(report.commits, "commit");
    match (&report.session, errors) {
        (None, 0) if report.findings.is_empty() => ui.status(format!(
            "{commits}, no findings; the branch is bound to no session"
        )),
        (_, 0) => ui.status(format!("{commits}, no error")),
        (_, n) => ui.status(format!("{commits}, {}", counted(n, "error"))),
    }
    if let Some(finding) = report.errors().next() {
        ui.hint(&finding.help);
    }
    ui.json("verify", &report);
    Ok(ending(errors))
}
