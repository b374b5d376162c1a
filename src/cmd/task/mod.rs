//! `take` and `task`: one file per word. No rule lives here.

pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod conflicts;
pub(crate) mod decide;
pub(crate) mod domain;
pub(crate) mod done;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod fields;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod moves;
pub(crate) mod outputs;
pub(crate) mod place;
pub(crate) mod resources;
pub(crate) mod show;
pub(crate) mod take;

use crate::cli::{Exit, TaskCommand};
use crate::flow::Context;
use crate::flow::task::{GateView, Row};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_rules::gate::Proof;
use loopx_rules::task::early::Early;
use loopx_rules::task::status::{Status, Step};

pub(crate) fn run(command: TaskCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        TaskCommand::List(args) => list::run(&args, ctx, ui),
        TaskCommand::Show(args) => show::run(&args, ctx, ui),
        TaskCommand::Done(args) => done::run(args, ctx, ui),
        TaskCommand::Fail(args) => moves::own(args, Step::Fail, ctx, ui),
        TaskCommand::Release(args) => moves::own(args, Step::Release, ctx, ui),
        TaskCommand::Retry(args) => moves::named(args, Step::Retry, ctx, ui),
        TaskCommand::Skip(args) => moves::named(args, Step::Skip, ctx, ui),
        TaskCommand::Decide(args) => decide::decide(*args, ctx, ui),
        TaskCommand::Open(args) => decide::open(args, ctx, ui),
        TaskCommand::Graph(args) => graph::run(&args, ctx, ui),
        TaskCommand::Waves(args) => graph::waves(&args, ctx, ui),
        TaskCommand::Log(args) => log::run(&args, ctx, ui),
        TaskCommand::Outputs(args) => outputs::run(&args, ctx, ui),
        TaskCommand::Resources(args) => resources::run(args, ctx, ui),
        TaskCommand::Add(args) => add::run(*args, ctx, ui),
        TaskCommand::Edit(args) => edit::run(*args, ctx, ui),
        TaskCommand::Move(args) => place::run(args, ctx, ui),
        TaskCommand::Check(args) => check::run(&args, ctx, ui),
        TaskCommand::Conflicts(args) => conflicts::run(args, ctx, ui),
        TaskCommand::Domain(command) => domain::run(command, ctx, ui),
        TaskCommand::Import(args) => import::run(args, ctx, ui),
        TaskCommand::Export(args) => export::run(&args, ctx, ui),
    }
}

/// Status of a task, as a word of a fixed width.
fn status_word(ui: &Ui, row: &Row) -> String {
    let (role, word) = match row.status {
        Status::Pending if row.ready => (style::GOOD, "ready"),
        Status::Pending => (style::DIM, "waits"),
        Status::Claimed => (style::WARN, "taken"),
        Status::Completed if row.partial.is_some() => (style::WARN, "partial"),
        Status::Completed => (style::GOOD, "done"),
        Status::Failed => (style::BAD, "failed"),
        Status::Skipped => (style::DIM, "skipped"),
        Status::Superseded => (style::DIM, "fixed"),
    };
    ui.paint(role, &format!("{word:<7}"))
}

/// Remarks on a task, beside its title.
fn remarks(row: &Row, ui: &Ui) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(claim) = &row.claim {
        let lasts = ui.lasting(claim.alive, &claim.until);
        said.push(format!("{}, {lasts}", claim.words));
    }
    if let Some(turn) = row.turn.as_ref().filter(|turn| turn.asked_to_finish) {
        said.push(if turn.over { "its time has passed: it is free for others".to_owned() } else { format!(
            "asked to finish: {} s of {} s have passed; save what is there, and say what is left",
            turn.elapsed, turn.limit
        ) });
    }
    if row.by_evidence {
        said.push(match row.proof {
            Some(Proof::Waived) => "a person waived its check".to_owned(),
            Some(Proof::Looked) => "a person looked at this code".to_owned(),
            _ => "its check has passed on this code".to_owned(),
        });
    }
    said.extend(row.early.iter().map(Early::words));
    if row.unearned && row.early.is_empty() {
        said.push("a person recorded the task as done, but that record does not count".to_owned());
    }
    if row.reopened {
        said.push(
            "a person let the task pass, but the tasks before it, or their files, changed: a person has to look again"
                .to_owned(),
        );
    }
    if row.status == Status::Completed && row.proof.is_some_and(|proof| !proof.is_proven()) {
        said.push("the code changed since: the task has to be proven again".to_owned());
    }
    said.extend(row.partial.iter().map(|left| format!("left: {left}")));
    if matches!(row.status, Status::Failed | Status::Skipped) {
        said.extend(row.reason.clone());
    }
    if let Some(gate) = &row.gate {
        said.extend(gate_words(gate));
    }
    let waits: Vec<String> = row.waits.iter().map(|wait| wait.words()).collect();
    if !waits.is_empty() {
        said.push(format!("waits for {}", waits.join(", ")));
    }
    said.extend(
        row.outputs_changed.iter().map(|path| {
            format!("{path} changed since: the task was completed with another content")
        }),
    );
    said.extend(row.outputs_apart.iter().map(|path| {
        let name = shell_word(path);
        format!("{path} was written apart: {}", command!("resolve {name}"))
    }));
    said.extend(row.beside.iter().map(|aside| {
        format!(
            "also recorded: `{}` by {}, which does not count",
            aside.value.step, aside.signed.by.name
        )
    }));
    said
}

/// State of a gate, in words.
fn gate_words(gate: &GateView) -> Vec<String> {
    let mut said = Vec::new();
    match (gate.standing, &gate.next) {
        ("fix", Some(next)) => said.push(format!("{next} is decided in its place")),
        ("escalate", _) => {
            let why = gate.why.iter().chain(&gate.reason);
            let why: Vec<&str> = why.map(String::as_str).collect();
            said.push(match why.as_slice() {
                [] => "waits for a person".to_owned(),
                why => format!("waits for a person: {}", why.join("; ")),
            });
        }
        ("open", _) if gate.attempt > 0 => {
            said.push(format!("repaired {} of {} times", gate.attempt, gate.cap));
        }
        _ => {}
    }
    if gate.reopened {
        said.push(
            "it went on, but what was judged, or its files, changed since: it is decided again"
                .to_owned(),
        );
    }
    said.extend(gate.notes.iter().map(|note| format!("note: {note}")));
    said.extend(gate.beside.iter().map(|one| {
        format!(
            "also recorded: `{}` by {}, which does not count",
            one.verdict, one.by
        )
    }));
    said
}

/// Prints a task in a line, with what there is to say of it below.
fn row_lines(ui: &mut Ui, row: &Row) {
    let word = status_word(ui, row);
    let id = ui.paint(style::NAME, row.task.as_str());
    ui.out(format!("{word}  {id}  {}", line(&row.title)));
    for said in remarks(row, ui) {
        ui.out(format!("           {}", line(&said)));
    }
}
