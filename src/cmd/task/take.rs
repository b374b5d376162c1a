//! `take`.

use crate::cli::Exit;
use crate::flow::task as flow;
use crate::flow::task::TakeRequest;
use crate::flow::{Context, next};
use crate::ui::{Ui, clean, style};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_rules::lease::clock;
use loopx_rules::next::{Advised, Next};
use loopx_rules::task::card::Card;
use loopx_rules::task::prompt;
use loopx_rules::task::prompt::CardForm;
use loopx_rules::task::status::{Status, Step};
use serde_json::{Value, json};

/// Take the next task that is ready, and print its card
///
/// Claimed and printed in one step: two callers never get one task. A claim holds for the time of a lease
/// (loopx.lease); a task whose lease has ended is given to whoever asks next, and the record says so.
#[derive(Clone, Debug, clap::Args)]
pub struct TakeArgs {
    /// The task (default: the next one that is ready)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Only print the card of the task that would be taken
    #[arg(long, conflicts_with = "take_over")]
    peek: bool,
    /// Only tasks of this role, or of no role
    #[arg(long, value_name = "ROLE", conflicts_with = "task")]
    role: Option<String>,
    /// Take it from somebody whose lease is still running (needs TASK and --reason)
    #[arg(long, requires = "task")]
    take_over: bool,
    /// Claim it on the remote first: one commit, pushed alone (loopx.claim=remote: always)
    #[arg(long, conflicts_with = "peek")]
    remote: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    /// A name for this request: the same name again prints the same card and claims no other task
    #[arg(long, value_name = "NAME", conflicts_with = "peek")]
    request: Option<String>,
    /// Print the whole card, however long
    #[arg(long)]
    full: bool,
    /// How the card is printed: text, or prompt for an agent
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: CardForm,
}

pub(crate) fn run(args: TakeArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = TakeRequest {
        task: args.task,
        role: args.role,
        take_over: args.take_over,
        reason: args.reason,
        request: args.request,
        remote: args.remote,
    };
    if args.peek {
        return peek((args.format, args.full), ctx, &request, ui);
    }
    let done = flow::take(ctx, &request)?;
    let taken = &done.value;
    let task = &taken.card.task;
    print(ui, &taken.card, args.format, args.full);
    let until = clock(taken.until);
    let over = taken.from.as_ref();
    let over = over.map_or_else(String::new, |from| format!(", taken over from {from}"));
    let id = ui.paint(style::NAME, done.id.as_str());
    let at = taken.remote.as_ref();
    let at = at.map_or_else(String::new, |remote| {
        format!(", and {remote} has the claim")
    });
    if args.format == CardForm::Text {
        ui.status(format!(
            "{id}: {task} is yours {}{}{}",
            ui.lasting(true, &until),
            clean(&over),
            clean(&at)
        ));
    }
    let (next, advice) = leads_on(ctx, &done.id, &taken.card);
    if args.format == CardForm::Text {
        let fail = command!("task fail {task} --reason WHY");
        let ends = hint![fail, "  or: ", command!("task release {task}")];
        let told = advice.clone().unwrap_or_default();
        ui.hint(match &next {
            Some(next) if told.is_empty() => hint![next, "  or: ", ends],
            Some(next) => hint![told, ": ", next, "  or: ", ends],
            None if told.commands().next().is_some() => hint![told, "  or: ", ends],
            None => hint![told, "; to end it: ", ends],
        });
    }
    let mut body = json!({
        "claimed": !taken.again,
        "session": done.id,
        "commit": done.commit,
        "card": taken.card,
        "until": until,
        "from": taken.from,
        "remote": taken.remote,
        "next_action": next,
        "advice": advice,
    });
    let steps: Vec<Step> = taken.card.status.steps().collect();
    body["next"] = legal(&taken.card, &steps, (true, false));
    ui.json("take", &body);
    Ok(Exit::Done)
}

/// The card of the task that would be given, with nothing claimed.
fn peek(
    (format, is_full): (CardForm, bool),
    ctx: &Context,
    request: &TakeRequest,
    ui: &mut Ui,
) -> Result<Exit> {
    let (card, advised) = flow::peek(ctx, request)?;
    print(ui, &card, format, is_full);
    if format == CardForm::Text {
        ui.next(&advised);
    }
    let advice = Some(&advised.advice).filter(|advice| !advice.is_empty());
    let next: Vec<_> = advised.command().into_iter().collect();
    ui.json(
        "take",
        &json!({
            "claimed": false,
            "session": card.session,
            "commit": null,
            "card": card,
            "until": null,
            "from": null,
            "remote": null,
            "next_action": advised.command(),
            "advice": advice,
            "next": next,
        }),
    );
    Ok(Exit::Done)
}

/// The step that `next` names, now that a task is taken: a command, and what to know or to do before it. Where a person's
/// word ends the task and an agent asks, no command is named.
fn leads_on(ctx: &Context, id: &SessionId, card: &Card) -> (Option<Hint>, Option<Hint>) {
    let task = &card.task;
    let is_word = card.lead.as_ref().is_some_and(Hint::is_persons_word);
    if card.is_agents && is_word {
        return (
            None,
            Some(format!("a person gives the word on {task}").into()),
        );
    }
    if card.is_for_a_person() {
        let missing = card.missing().join(", ");
        let left = if missing.is_empty() {
            String::new()
        } else {
            format!("write {missing}, which {task} leaves; ")
        };
        let told =
            format!("{left}no command checks {task}: do it, and a person looks and completes it");
        return (None, Some(told.into()));
    }
    let advised = next::after_card(ctx, id, task).unwrap_or_else(Advised::nothing);
    let told = Some(advised.advice).filter(|told| !told.is_empty());
    match advised.next {
        Next::Command(command) => (Some(command), told),
        Next::Write => (None, told),
        // What is nobody's turn here is the task's own end all the same.
        Next::Waits(_) | Next::Nothing => (Some(command!("task show {task}")), None),
    }
}

/// The commands that are legal from here, for whoever asks.
pub(super) fn legal(card: &Card, steps: &[Step], (is_ready, is_at_cap): (bool, bool)) -> Value {
    let task = &card.task;
    let is_own = |step: &&Step| match step {
        Step::Take => card.status != Status::Claimed && is_ready,
        // A gate is decided or opened.
        Step::Done => !card.is_for_a_person() && card.lead.is_none(),
        Step::Skip | Step::Open => !card.is_agents,
        Step::Retry => !(card.is_agents && (is_at_cap || card.status == Status::Skipped)),
        _ => true,
    };
    let steps = steps.iter().filter(is_own);
    let words = |step| match step {
        Step::Take => command!("take {task}"),
        Step::Done if card.is_manual() => command!("task done {task} --manual --reason WHY"),
        Step::Done => command!("task done {task}"),
        Step::Fail => command!("task fail {task} --reason WHY"),
        Step::Release => command!("task release {task}"),
        Step::Retry if is_at_cap => command!("task retry {task} --reason WHY"),
        Step::Retry => command!("task retry {task}"),
        Step::Skip => command!("task skip {task} --reason WHY"),
        Step::Decide => {
            let lead = card.lead.as_ref().and_then(Hint::lead);
            lead.unwrap_or_else(|| command!("task show {task}"))
        }
        Step::Open => {
            let lead = card.lead.as_ref().and_then(Hint::lead);
            let is_open = |lead: &Hint| {
                let lead = lead.command();
                lead.is_some_and(|lead| lead.args().starts_with("open "))
            };
            lead.filter(is_open)
                .unwrap_or_else(|| command!("task open {task} --reason WHY"))
        }
    };
    let all: Vec<_> = steps.map(|step| words(*step)).collect();
    json!(all)
}

/// A card, line by line.
pub(super) fn print(ui: &mut Ui, card: &Card, form: CardForm, is_full: bool) {
    let contents = || card.contents(|whole| ui.command(whole));
    let text = match form {
        CardForm::Text if is_full => card.text(true) + &contents(),
        CardForm::Text => card.text(false),
        CardForm::Prompt => {
            let commands = prompt::commands(card);
            let commands: Vec<String> = commands.iter().map(|one| ui.command(one)).collect();
            prompt::prompt(card, &contents(), &commands, is_full)
        }
    };
    for line in text.lines() {
        ui.out(clean(line));
    }
}
