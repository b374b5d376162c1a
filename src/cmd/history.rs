//! `show`, `log`, `diff`.

use crate::cli::Exit;
use crate::flow::view::{Log, Logged, Shown};
use crate::flow::{Context, diff as flow_diff, view};
use crate::ui::{Ui, clean, diff as text_diff, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::id::OpId;
use loopx_rules::note::Note;
use loopx_rules::op::{Body, Event, Operation};
use loopx_rules::session::State;
use loopx_rules::task::outputs::task_of;
use loopx_rules::topic::Topic;
use loopx_rules::words::Word;
use serde_json::json;

pub(crate) fn show(ctx: &Context, run: Option<String>, ui: &mut Ui) -> Result<Exit> {
    if let Some(op) = run {
        let log = view::run_log(ctx, &op)?;
        ui.json(
            "show",
            &json!({ "operation": op, "log": String::from_utf8_lossy(&log) }),
        );
        if !ui.is_json() {
            ui.raw(&log);
        }
        return Ok(Exit::Done);
    }
    let shown = view::show(ctx)?;
    ui.json("show", &shown);
    print_head(&shown, ui);
    print_artifacts(&shown.state, ui);
    print_approvals(&shown, ui);
    print_verdict(&shown, ui);
    print_evidence(&shown, ui);
    print_conflicts(&shown.state, ui);
    for base in &shown.state.bases {
        let said = format!(
            "base     {}: {} against {}",
            line(&base.domain),
            line(&base.requirement),
            base.blob.as_ref().map_or("nothing", |blob| blob.short())
        );
        ui.fold_out(said, LABEL);
    }
    Ok(Exit::Done)
}

/// The column behind the label of a line.
const LABEL: usize = 9;

fn print_head(shown: &Shown, ui: &mut Ui) {
    let state = &shown.state;
    let named = format!(
        "session  {}  {}",
        ui.paint(style::HEAD, state.id.as_str()),
        line(&state.title)
    );
    ui.fold_out(named, LABEL);
    let stored = format!("commit   {}  ({})", shown.commit, shown.path);
    ui.fold_out(stored, LABEL);
    for (name, stamp) in [("started", &state.started), ("touched", &state.touched)] {
        let said = format!(
            "{name}  {} by {}",
            ui.when(&stamp.at),
            line(&stamp.by.to_string())
        );
        ui.fold_out(said, LABEL);
    }
    ui.out(format!("stage    {}, operation {}", state.stage, state.seq));
}

fn print_artifacts(state: &State, ui: &mut Ui) {
    ui.out("\nartifacts");
    for (artifact, blob) in &state.artifacts {
        ui.fold_out(format!("  {}  {artifact}", blob.short()), 14);
    }
    let outputs = state.files.keys().filter(|path| task_of(path).is_some());
    for path in outputs {
        if let Some(blob) = state.output(path) {
            ui.fold_out(format!("  {}  {}", blob.short(), line(path)), 14);
        }
    }
}

/// Prints how far the signature of an operation was proven, where it has one.
fn print_signature(shown: &Shown, op: &OpId, ui: &mut Ui) {
    if let Some(checked) = shown.signatures.get(op) {
        ui.fold_out(format!("  {}", line(&checked.words())), 4);
    }
}

fn print_approvals(shown: &Shown, ui: &mut Ui) {
    for (key, approval) in &shown.state.approvals {
        for by in &approval.by {
            ui.out("");
            let said = format!(
                "approval {:?}: {} by {} {}{}{}",
                key,
                approval.transition,
                line(&shown.basis(&by.op).named(&by.signed.by.to_string())),
                ui.when(&by.signed.at),
                if approval.armed { ", not used yet" } else { "" },
                by.reason
                    .as_deref()
                    .map_or(String::new(), |r| format!(": {}", clean(r)))
            );
            ui.fold_out(said, LABEL);
            print_signature(shown, &by.op, ui);
        }
    }
}

fn print_verdict(shown: &Shown, ui: &mut Ui) {
    let Some(verdict) = &shown.state.verdict else {
        return;
    };
    let by = verdict.signed.by.to_string();
    ui.out("");
    let said = format!(
        "verdict  {} by {} {}",
        verdict.value.verdict,
        line(&shown.basis(&verdict.op).named(&by)),
        ui.when(&verdict.signed.at)
    );
    ui.fold_out(said, LABEL);
    print_signature(shown, &verdict.op, ui);
}

fn print_evidence(shown: &Shown, ui: &mut Ui) {
    if shown.state.evidence.is_empty() {
        return;
    }
    ui.out("\nevidence");
    for evidence in &shown.state.evidence {
        let value = &evidence.value;
        let said = format!(
            "  {}  {}  exit {}  on {}  {}  {}  {}",
            evidence.op,
            value.what,
            value.exit.map_or("-".to_owned(), |code| code.to_string()),
            value.tree.short(),
            value.task.as_deref().unwrap_or("-"),
            line(&value.argv.join(" ")),
            shown.basis(&evidence.op).word()
        );
        ui.fold_out(said, 4);
    }
    ui.out(format!(
        "  ({} prints what one of them said)",
        ui.command(&command!("show --run OPERATION"))
    ));
}

fn print_conflicts(state: &State, ui: &mut Ui) {
    let contested: Vec<String> = state
        .contested()
        .map(|(artifact, _)| artifact.to_string())
        .chain(state.outputs_apart().map(|(path, _)| line(path)))
        .collect();
    if contested.is_empty() && state.conflicts.is_empty() {
        return;
    }
    let operations = match state.conflicts.len() {
        0 => Vec::new(),
        1 => vec!["1 operation that does not count".to_owned()],
        n => vec![format!("{n} operations that do not count")],
    };
    let all = [operations, contested].concat().join(", ");
    ui.out("");
    let said = format!(
        "conflict {all}  ({})",
        command!("resolve").session(&state.id)
    );
    ui.fold_out(said, LABEL);
}

/// Show what happened to the session, newest first
#[derive(Clone, Debug, Default, clap::Args)]
pub struct LogArgs {
    /// The session (default: the one that is meant)
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Only the last N operations
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub count: Option<usize>,
    /// One line for each operation
    #[arg(long)]
    pub oneline: bool,
    /// Only decisions about tasks, one line for each
    #[arg(long, conflicts_with = "oneline")]
    pub decisions: bool,
}

pub(crate) fn log(args: &LogArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if args.decisions {
        return super::task::decide::log(ctx, args.count, ui);
    }
    let log = view::log(ctx)?;
    let operations = &log.operations;
    let left_out = operations
        .len()
        .saturating_sub(args.count.unwrap_or(usize::MAX));
    let shown = &operations[left_out..];
    ui.json(
        "log",
        &json!({ "session": log.session, "operations": shown }),
    );
    // A pipe is read by programs, which want the time itself.
    let when = |at: &str, ui: &Ui| {
        if ui.is_watched() {
            ui.when(at)
        } else {
            line(at)
        }
    };
    let mut lines = Vec::new();
    for logged in shown.iter().rev() {
        let op = &logged.operation;
        if args.oneline {
            lines.push(one_line(logged, &log, ui));
            continue;
        }
        let fate = match (logged.undone, &logged.void) {
            (true, _) => ui.paint(style::DIM, " (undone)"),
            (false, Some(_)) => ui.paint(style::DIM, " (void)"),
            (false, None) => String::new(),
        };
        let said = format!(
            "{} {}  {}  {}{fate}",
            ui.paint(style::NAME, &format!("@{:<3}", op.seq)),
            when(&op.at, ui),
            line(&logged.proof.map_or_else(
                || op.by.name.clone(),
                |proof| format!("{} ({})", op.by.name, proof.word())
            )),
            line(&what(op, &log))
        );
        lines.push(ui.fold_to_screen(&said, 7));
        if let Some(why) = &logged.void {
            lines.push(ui.fold_to_screen(&format!("       {}", clean(why)), 7));
        }
        if let Some(reason) = &op.reason {
            for line in reason.lines() {
                lines.push(ui.fold_to_screen(&format!("       {}", clean(line)), 7));
            }
        }
    }
    if !lines.is_empty() {
        ui.out(lines.join("\n"));
    }
    Ok(Exit::Done)
}

/// An operation in one line: its number, what it was, and what became of it.
fn one_line(logged: &Logged, log: &Log, ui: &Ui) -> String {
    let op = &logged.operation;
    let fate = match (logged.undone, &logged.void) {
        (true, _) => " (undone)",
        (false, Some(_)) => " (void)",
        (false, None) => "",
    };
    let number = ui.paint(style::NAME, &format!("@{:<3}", op.seq));
    format!(
        "{number} {}{}",
        line(&what(op, log)),
        ui.paint(style::DIM, fate)
    )
}

/// Operations by their numbers, as the log shows them.
fn names(all: &[Logged], ids: &[OpId]) -> String {
    let number = |id: &OpId| all.iter().find(|known| known.operation.op == *id);
    let names: Vec<String> = ids
        .iter()
        .map(|id| match number(id) {
            Some(known) => format!("@{}", known.operation.seq),
            None => id.to_string(),
        })
        .collect();
    names.join(", ")
}

fn what(op: &Operation, log: &Log) -> String {
    let mut text = told(&op.body, |ids| names(&log.operations, ids));
    if let Some(over) = op.claim().and_then(|claim| claim.over.as_ref()) {
        let worktrees = &log.worktrees;
        let whose = worktrees.whose(&over.owner, over.agent.as_deref(), &over.signed.by);
        text.push_str(&format!("; the build was taken over from {whose}"));
    }
    let written: Vec<String> = op.files().map(|(path, _)| line(path)).collect();
    if !written.is_empty() {
        text.push_str(&format!("  [{}]", written.join(", ")));
    }
    text
}

/// The words of an operation, for people; `names` gives those of other operations.
pub(super) fn told(body: &Body, names: impl Fn(&[OpId]) -> String) -> String {
    match body {
        Body::Session(step) => happened(&step.event),
        Body::Log(word) => said(word, names),
        Body::Task(event) => format!("{} {}", event.word(), event.task()),
        Body::Issue(event) => event.word().to_owned(),
        Body::Note(Note::Noted(said)) => {
            let to = said.to.as_ref();
            let to = to.map_or_else(String::new, |role| format!(" to {role}"));
            format!("note ({}{to}): {}", said.kind, said.text)
        }
        Body::Note(Note::Set {
            key, value, role, ..
        }) => format!("{role} set {key}: {value}"),
        Body::Note(Note::Explored { angle, text, .. }) => format!("note on {angle}: {text}"),
        Body::Note(note) => format!("{}: {}", note.kind_word(), note.text()),
        Body::Unknown(unknown) => format!(
            "{} ({}), which needs git loopx {}",
            unknown.kind, unknown.topic, unknown.needs
        ),
    }
}

/// An event of the session, for people.
fn happened(event: &Event) -> String {
    match event {
        Event::Approved {
            content,
            amends: Some(amendment),
            ..
        } => {
            let [dropped, added, changed] = [
                amendment.dropped.len(),
                amendment.added.len(),
                amendment.changed.len(),
            ];
            format!(
                "amend the tasks: {added} added, {changed} changed, {dropped} dropped, content {}",
                content.short()
            )
        }
        Event::Approved {
            transition,
            content,
            ..
        } => format!("approve {transition}, content {}", content.short()),
        Event::Entered { transition, .. } => format!("{transition}"),
        Event::PlanReviewed {
            lane,
            verdict,
            findings,
            found,
            ..
        } => {
            let found = found.iter().map(ToString::to_string);
            let findings: Vec<String> = findings.iter().cloned().chain(found).collect();
            let mut text = format!("{lane}: {verdict}");
            if !findings.is_empty() {
                text.push_str(&format!(" ({})", findings.join("; ")));
            }
            text
        }
        Event::LaneReported { lane, status, .. } => format!("{lane} lane: {status}"),
        Event::Delegated { delegation } => {
            format!("delegation {}: {}", delegation.id, delegation.status)
        }
        Event::Ran { evidence } => format!(
            "run `{}`: {}",
            evidence.argv.join(" "),
            evidence
                .exit
                .map_or("did not end by itself".to_owned(), |code| format!(
                    "exit {code}"
                ))
        ),
        Event::Waived { task } => format!("waive {task}"),
        Event::Audited { blockers, .. } if blockers.is_empty() => "audit passes".to_owned(),
        Event::Audited { blockers, .. } => format!("audit: {}", blockers.join(", ")),
        Event::Reviewed { verdict } => format!("verdict {}", verdict.verdict),
        Event::Answered { answers, .. } => {
            let words: Vec<&str> = answers.iter().map(|one| one.answer.as_str()).collect();
            format!("findings: {}", words.join(", "))
        }
        Event::Extended { stage, by } => format!("extend {stage} by {by}"),
        Event::Bound { branch } => format!("use on {branch}"),
        Event::Unbound => "unbind from the branch".to_owned(),
        Event::Blocked { cause, missing } => format!("blocked:{cause} ({})", missing.join(", ")),
        other => other.word().to_owned(),
    }
}

/// A word about other operations, for people.
fn said(word: &Word, names: impl Fn(&[OpId]) -> String) -> String {
    let each = |word: &str, ids: &[OpId]| -> String {
        ids.iter().map(|id| format!(" {word} {id}")).collect()
    };
    match word {
        Word::Resolved { keep, drop } => {
            format!("resolve{}{}", each("keep", keep), each("drop", drop))
        }
        Word::Undone { undone } => format!("undo {}", names(undone)),
        Word::Redone { redone } => format!("redo {}", names(redone)),
        Word::Renamed { from, to } => format!("rename {from} to {to}"),
    }
}

pub(crate) fn diff(words: &[String], ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let differences = flow_diff::diff(ctx, words)?;
    let color = ui.color();
    let mut documents = Vec::new();
    for difference in &differences.found {
        let path = difference.artifact.as_str();
        let unified = text_diff::unified(path, &difference.old, &difference.new, color);
        ui.raw_text(&unified);
        documents.push(json!({
            "artifact": path,
            "diff": text_diff::unified(path, &difference.old, &difference.new, false),
        }));
    }
    if differences.has_ended && differences.from.is_none() && documents.is_empty() {
        let all = command!("diff @1").session(&differences.session);
        ui.status(format!(
            "{} has ended, and nothing differs from its working copy; all that was written in it: {}",
            differences.session,
            ui.command(&all)
        ));
    }
    ui.json(
        "diff",
        &json!({
            "session": differences.session,
            "from": differences.from,
            "to": differences.to,
            "differences": documents,
        }),
    );
    Ok(Exit::Done)
}
