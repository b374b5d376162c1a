//! Commands, one file per group: arguments in, text or JSON out. No rule lives here.

pub(crate) mod adr;
pub(crate) mod agent;
pub(crate) mod agent_hook;
pub(crate) mod amend;
pub(crate) mod archive;
pub(crate) mod artifacts;
pub(crate) mod bundle;
pub(crate) mod change;
pub(crate) mod clean;
pub(crate) mod codes;
pub(crate) mod complete;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod finish;
pub(crate) mod fsck;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod home;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod import;
pub(crate) mod issue;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod next;
pub(crate) mod note;
pub(crate) mod outline;
pub(crate) mod pause;
pub(crate) mod pipeline;
pub(crate) mod point;
pub(crate) mod preview;
pub(crate) mod project_history;
pub(crate) mod redact;
pub(crate) mod resolve;
pub(crate) mod review;
mod review_show;
pub(crate) mod roadmap;
pub(crate) mod rule;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod show_context;
pub(crate) mod signers;
pub(crate) mod spec;
mod spec_package;
pub(crate) mod specs;
mod specs_intent;
pub(crate) mod stages;
pub(crate) mod status;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod undo;
pub(crate) mod verify;

use crate::flow;
use crate::flow::policy_moved;
use crate::flow::policy_moved::PolicyMoved;
use crate::flow::{Context, Done};
use crate::ui::{Ui, clean, line, style};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::gate::{AuditItem, FindingView, Proof};
use loopx_rules::next::Advised;
use loopx_rules::task::debt::Debt;
use loopx_rules::task::outputs::task_of;
use loopx_spec::Finding;
use serde_json::{Value, json};

/// Whether what is recorded is signed.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct SignArgs {
    /// Sign the record with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign it, whatever loopx.sign says
    #[arg(long, overrides_with = "sign")]
    pub no_sign: bool,
}

impl SignArgs {
    fn of(sign: bool, no_sign: bool) -> Self {
        SignArgs { sign, no_sign }
    }

    fn wanted(self, ctx: &Context) -> bool {
        self.sign || !self.no_sign && ctx.signs()
    }
}

/// A reason as somebody types it: whoever reads the record has to see it. Where a reason is asked for, nothing but blanks
/// is none.
pub(crate) fn reason(text: &str) -> std::result::Result<String, String> {
    if text.trim().is_empty() || loopx_base::says_something(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "expected a reason that can be seen, found {text:?}"
        ))
    }
}

/// Says what a writing command did: one line, and the command that leads on.
fn report<T>(ctx: &Context, ui: &mut Ui, command: &str, done: &Done<T>, said: &str, extra: Value) {
    tell_done(done, said, ui);
    let mut body = json!({
        "session": done.id,
        "commit": done.commit,
        "stage": done.state.stage,
        "saved": done.saved,
    });
    lead(ctx, &done.id, &mut body, ui);
    if let (Value::Object(body), Value::Object(extra)) = (&mut body, extra) {
        body.extend(extra);
    }
    ui.json(command, &body);
}

/// Says what a command did, and what it saved along with that.
fn tell_done<T>(done: &Done<T>, said: &str, ui: &mut Ui) {
    let is_gone = |path: &String| task_of(path).is_some() && done.state.output(path).is_none();
    let (gone, saved): (Vec<String>, _) = done.saved.iter().cloned().partition(is_gone);
    for (what, paths) in [("saved", saved), ("saved as removed:", gone)] {
        if !paths.is_empty() {
            ui.status(format!("{what} {}", paths.join(", ")));
        }
    }
    ui.status(format!(
        "{}: {said}",
        ui.paint(crate::ui::style::NAME, done.id.as_str())
    ));
}

/// Says what leads on, and puts it into the document.
fn lead(ctx: &Context, id: &SessionId, body: &mut Value, ui: &mut Ui) {
    if !ui.tells_next() {
        return;
    }
    let next = flow::next::after(ctx, id).unwrap_or_else(Advised::nothing);
    ui.next(&next);
    tell_next(body, &next);
}

/// Adds the next step to a document, as keys.
fn tell_next(body: &mut Value, next: &Advised) {
    body["next_action"] = json!(next.command());
    let advice = Some(&next.advice).filter(|advice| !advice.is_empty());
    body["advice"] = json!(advice);
    body["waits"] = json!(next.waiting());
}

/// Tells somebody who goes on under a policy that has moved. The command itself is done by then: what keeps this
/// from being known is said by `status`.
fn tell_policy_moved<T>(ctx: &Context, done: &Done<T>, ui: &mut Ui) -> Option<PolicyMoved> {
    let moved = policy_moved::after(ctx, &done.state).ok().flatten()?;
    warn_policy_moved(&moved, ui);
    Some(moved)
}

/// The warning of a policy that has moved, with the command that says what to do.
fn warn_policy_moved(moved: &PolicyMoved, ui: &mut Ui) {
    if !ui.is_json() {
        ui.warn(crate::ui::line(&moved.message()));
        ui.warn(format!("read `{}`", command!("status")));
    }
}

/// The findings that are open, one a line, each with what there is to say of it.
fn finding_lines(ui: &mut Ui, findings: &[FindingView]) {
    for finding in findings.iter().filter(|one| one.open) {
        let mark = if finding.blocking {
            ui.paint(style::WARN, "open")
        } else {
            ui.paint(style::DIM, "note")
        };
        ui.fold_out(format!("  {mark}  {}", line(&finding.words())), 8);
        if let Some(said) = &finding.answer {
            let why = said.reason.as_deref().unwrap_or_default();
            let (by, answer) = (line(&said.by), said.answer);
            ui.fold_out(format!("        {by} says {answer}: {}", line(why)), 10);
        }
    }
}

/// State of a check, as a word of a fixed width.
fn proof_word(ui: &Ui, proof: Proof) -> String {
    match proof {
        Proof::Passed => ui.paint(style::GOOD, "passed "),
        Proof::Failed => ui.paint(style::BAD, "failed "),
        Proof::Stale => ui.paint(style::WARN, "stale  "),
        Proof::Missing => ui.paint(style::WARN, "missing"),
        Proof::Waived => ui.paint(style::DIM, "waived "),
        Proof::Looked => ui.paint(style::GOOD, "looked "),
    }
}

/// Checks as lines behind a label.
fn check_lines(ui: &mut Ui, label: &str, checks: &[AuditItem]) {
    for item in checks {
        ui.fold_out(check_line(ui, label, item), label.len() + 9);
    }
}

/// Warnings of the roles of a list, each with what leads on.
fn tell_roles(found: &[Finding], ui: &mut Ui) {
    for one in found {
        let lead = ui.command(&one.fix);
        ui.warn(format!("{}; {}", line(&one.message), clean(&lead)));
    }
}

/// The number of characters of what a task left that are shown beside other things; `task show --json` has all.
const LONGEST_DEBT: usize = 200;

/// The line of a thing that a completed task left undone.
fn debt_line(debt: &Debt) -> String {
    let text = line(&debt.text);
    let cut = text.char_indices().nth(LONGEST_DEBT);
    let text = cut.map_or(text.clone(), |(at, _)| format!("{}...", &text[..at]));
    format!("{}, {}: {text}", debt.task, debt.kind)
}

/// A check behind a label: how it stands, and who said so where no command did.
fn check_line(ui: &Ui, label: &str, item: &AuditItem) -> String {
    let mut said = format!(
        "{label}{}  {}  {}",
        proof_word(ui, item.proof),
        line(&item.id),
        line(&item.detail)
    );
    if let Some(file) = item.source {
        said.push_str(&format!("  (of {file})"));
    }
    if let Some(word) = &item.word {
        let reason = word.reason.as_deref().map(|why| format!(": {}", line(why)));
        let reason = reason.unwrap_or_default();
        said.push_str(&format!("  ({}{reason})", line(&word.by)));
    }
    said
}

/// Blockers as indented lines.
fn blocker_lines(ui: &mut Ui, blockers: &[loopx_base::failure::Blocker]) {
    for (at, blocker) in blockers.iter().enumerate() {
        let code = ui.code(style::WARN, &blocker.word());
        ui.fold_out(format!("  {code}{}", crate::ui::clean(&blocker.message)), 4);
        if crate::ui::report::is_last_help(blockers, at) {
            let help = crate::ui::clean(&ui.command(&blocker.help));
            ui.out(format!("      {help}"));
        }
    }
}
