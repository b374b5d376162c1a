//! `roadmap new`, `set`, `order`, `feedback` and `import`.

use crate::cli::Exit;
use crate::cmd::issue::import::print as print_import;
use crate::flow::Context;
use crate::flow::issue::Written;
use crate::flow::issue::roadmap as flow;
use crate::flow::issue::roadmap::{Make, Ordered, Wanted};
use crate::ui::{Ui, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::{counted, shell_word};
use loopx_rules::roadmap::{Factor, Level, Mode, Verdict, Wish};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Make a roadmap of issues: waves that follow from their links, or layers that people choose
///
/// A roadmap is an issue of kind epic whose parts are its issues. Direct: each issue is in the first wave that is behind
/// everything it waits for. Progressive: `roadmap set` says which issue is in which layer; the first layer waits for
/// nothing of the later ones. Where neither is asked for, the five factors decide: three that are high are progressive,
/// three that are low are direct.
#[derive(Clone, Debug, clap::Args)]
pub struct NewArgs {
    /// The title of the roadmap
    #[arg(value_name = "TITLE")]
    title: String,
    /// An issue of the roadmap; repeat it
    #[arg(short, long = "issue", value_name = "ID")]
    issues: Vec<String>,
    /// progressive, direct, or auto: the factors decide
    #[arg(short, long, value_name = "MODE", default_value = "auto", value_parser = clap::builder::PossibleValuesParser::new(Wish::WORDS))]
    mode: String,
    /// A factor and its level, as technical_risk=high; repeat it
    #[arg(long = "factor", value_name = "FACTOR=LEVEL")]
    factors: Vec<String>,
    /// The name of a layer, the first one first; two to four (default: MVP, Usable, Refined, Optimized)
    #[arg(long = "layer", value_name = "NAME")]
    layers: Vec<String>,
    /// The document that names milestones and phases as headings; `-` reads it from stdin
    #[arg(short = 'F', long, value_name = "FILE")]
    file: Option<String>,
}

/// Put issues into a roadmap: their wave, their phase, their milestone
///
/// What is not said stays; `none` takes a value away. An issue that has parts stands for them. A phase that the document
/// of the roadmap names brings its milestone.
#[derive(Clone, Debug, clap::Args)]
pub struct SetArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    issues: Vec<String>,
    /// The roadmap (default: the only open one)
    #[arg(short, long, value_name = "ID")]
    roadmap: Option<String>,
    /// The number of a wave, L0 for the first, or the name of a layer
    #[arg(short, long, value_name = "WAVE")]
    wave: Option<String>,
    /// The number of a phase, as 2 or 2.1
    #[arg(short, long, value_name = "PHASE")]
    phase: Option<String>,
    /// The milestone
    #[arg(short, long, value_name = "NAME")]
    milestone: Option<String>,
    /// Take them out of the roadmap, with their wave and their phase
    #[arg(long, conflicts_with_all = ["wave", "phase", "milestone"])]
    out: bool,
}

/// Put each issue of a direct roadmap into the wave that follows from its links
#[derive(Clone, Debug, clap::Args)]
pub struct OrderArgs {
    /// The roadmap (default: the only open one)
    #[arg(value_name = "ID")]
    roadmap: Option<String>,
}

/// Ask for a change of a roadmap, or approve the roadmap
///
/// Five rounds may ask for a change; then the roadmap is taken as it is, where it has no error. Only a person approves,
/// and only what has no error.
#[derive(Clone, Debug, clap::Args)]
pub struct FeedbackArgs {
    /// approve, scope, criteria or decompose
    #[arg(value_name = "VERDICT", value_parser = clap::builder::PossibleValuesParser::new(Verdict::WORDS))]
    verdict: String,
    /// What is to change
    #[arg(value_name = "TEXT", default_value = "")]
    text: String,
    /// The roadmap (default: the only open one)
    #[arg(short, long, value_name = "ID")]
    roadmap: Option<String>,
}

/// Take over a roadmap: roadmap.md of ccw or maestro, execution-plan.json, and the issues that they name
///
/// All of it or nothing, in one commit; a second time adds nothing. Each issue becomes a part of the roadmap and gets the
/// label of its wave, its criteria and what it depends on.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// The folder of the roadmap, or its roadmap.md
    #[arg(value_name = "PATH")]
    from: String,
    /// Say what would be taken over, and take nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn new(args: NewArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let first = args.issues.first().cloned();
    let document = args.file.as_deref().map(crate::cmd::artifacts::read_text);
    let made = flow::make(
        ctx,
        &Make {
            title: args.title,
            wish: args.mode.parse()?,
            factors: factors(&args.factors)?,
            layers: args.layers,
            issues: args.issues,
            document: document.transpose()?,
        },
    )?;
    let ordered = &made.value;
    let root = ordered
        .roadmap
        .as_ref()
        .map_or("", |id| made.names.short(id))
        .to_owned();
    let next = match (ordered.mode, &first) {
        (_, None) => hint![command!("issue list"), "  names issues to put into it"],
        (Some(Mode::Progressive), Some(first)) => {
            command!("roadmap set {first} --wave 1 --roadmap {root}")
        }
        _ => command!("roadmap show {root}"),
    };
    let name = ui.paint(style::NAME, &root);
    let mode = ordered.mode.map_or("", Mode::as_str);
    ui.status(format!(
        "{name}: {mode} roadmap, {}",
        counted(ordered.waves.len(), "wave")
    ));
    done("roadmap new", &made, json!(ordered), &next, ui);
    Ok(Exit::Done)
}

fn factors(said: &[String]) -> Result<BTreeMap<Factor, Level>> {
    let one = |text: &String| {
        let (factor, level) = text.split_once('=').ok_or_else(|| {
            Failure::usage(
                Code::IssueFieldInvalid,
                format!("expected --factor FACTOR=LEVEL, found `{text}`"),
            )
            .help(command!("help roadmap new"))
        })?;
        Ok((factor.trim().parse()?, level.trim().parse()?))
    };
    said.iter().map(one).collect()
}

pub(super) fn set(args: SetArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let roadmap = args.roadmap.as_deref();
    let written = if args.out {
        flow::take_out(ctx, &args.issues, roadmap)?
    } else {
        let wanted = Wanted {
            wave: args.wave,
            phase: args.phase,
            milestone: args.milestone,
        };
        flow::place(ctx, &args.issues, roadmap, &wanted)?
    };
    let root = written.names.short(&written.value.roadmap);
    let next = command!("roadmap show {root}");
    let what = if args.out { "out of" } else { "in" };
    let name = ui.paint(style::NAME, root);
    ui.status(format!(
        "{} {what} roadmap {name}",
        counted(written.ids.len(), "issue")
    ));
    let body = json!(written.value);
    done("roadmap set", &written, body, &next, ui);
    Ok(Exit::Done)
}

pub(super) fn order(args: &OrderArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written: Written<Ordered> = flow::order(ctx, args.roadmap.as_deref())?;
    let ordered = &written.value;
    for (at, wave) in ordered.waves.iter().enumerate() {
        let ids: Vec<&str> = wave.iter().map(|id| written.names.short(id)).collect();
        ui.out(format!("wave {}: {}", at + 1, ids.join(", ")));
    }
    let root = ordered
        .roadmap
        .as_ref()
        .map_or("", |id| written.names.short(id));
    let next = command!("roadmap check {root}");
    ui.status(format!("{} moved", counted(written.ids.len(), "issue")));
    done("roadmap order", &written, json!(ordered), &next, ui);
    Ok(Exit::Done)
}

pub(super) fn feedback(args: &FeedbackArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let verdict: Verdict = args.verdict.parse()?;
    let written = flow::feedback(ctx, args.roadmap.as_deref(), verdict, &args.text)?;
    let given = &written.value;
    let root = written.names.short(&given.roadmap);
    let next = match given.verdict {
        Verdict::Approve => command!("roadmap show {root} --next"),
        _ => command!("roadmap check {root}"),
    };
    let name = ui.paint(style::NAME, root);
    let standing = &given.standing;
    let rounds = standing.rounds_in_words();
    let rounds = rounds.map_or_else(String::new, |rounds| format!(", {rounds}"));
    ui.status(format!("{name}: {}{rounds}", standing.status));
    done("roadmap feedback", &written, json!(given), &next, ui);
    Ok(Exit::Done)
}

pub(super) fn import(args: &ImportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let report = flow::import(ctx, &args.from, args.dry_run)?;
    print_import(&report, ui);
    let next = match (args.dry_run, report.changed.is_empty()) {
        (true, _) => None,
        (false, true) => Some(command!("roadmap list")),
        (false, false) => {
            let from = shell_word(&args.from);
            Some(command!("issue import {from} --format roadmap --update"))
        }
    };
    if let Some(next) = &next {
        ui.hint(next);
    }
    let mut body = json!(report);
    body["next_action"] = json!(next);
    ui.json("roadmap import", &body);
    Ok(Exit::Done)
}

fn done<T>(verb: &str, written: &Written<T>, mut body: Value, next: &Hint, ui: &mut Ui) {
    ui.hint(next);
    body["issues"] = json!(written.ids);
    body["commit"] = json!(written.commit);
    body["next_action"] = json!(next);
    ui.json(verb, &body);
}
