//! New roadmaps, and the waves of those that follow from links.

use super::{Loaded, elsewhere, in_a_cycle};
use crate::flow::context::Context;
use crate::flow::issue::change::Ask;
use crate::flow::issue::create::{self, New};
use crate::flow::issue::{
    Names, Plan, Step, Written, backlog_with, require_understood, today, write,
};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::shell_word;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{Backlog, Issue, IssueId, Kept, LinkKind};
use loopx_rules::roadmap::{
    Cut, FIELD, Factor, LABEL, LAYERS, Level, Mode, Place, Shape, WAVE, Wish, label,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The options of `roadmap new`.
#[derive(Clone, Debug)]
pub(crate) struct Make {
    pub title: String,
    pub wish: Wish,
    pub factors: BTreeMap<Factor, Level>,
    pub layers: Vec<String>,
    /// Issues that the roadmap is about, as somebody typed them.
    pub issues: Vec<String>,
    /// The document that names milestones and phases.
    pub document: Option<String>,
}

/// The waves of a roadmap, as they are now.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Ordered {
    pub roadmap: Option<IssueId>,
    pub mode: Option<Mode>,
    pub waves: Vec<Vec<IssueId>>,
}

/// Makes a roadmap of issues. Where it is direct, each is put into its wave.
pub(crate) fn make(ctx: &Context, asked: &Make) -> Result<Written<Ordered>> {
    let mode = asked.wish.mode(&asked.factors).ok_or_else(|| open(asked))?;
    let layers = layers(asked, mode)?;
    let cut = Cut {
        mode: Some(mode),
        factors: asked.factors.clone(),
        layers,
    };
    let json = serde_json::to_string(&cut)
        .map_err(|error| Failure::usage(Code::IssueFieldInvalid, error.to_string()))?;
    let mut changes = vec![
        Change::Title(asked.title.trim().to_owned()),
        Change::Kind("epic".to_owned()),
        Change::Label(LABEL.to_owned()),
        Change::Kept(Kept {
            name: FIELD.to_owned(),
            json,
        }),
    ];
    changes.extend(asked.document.clone().map(Change::Description));
    let links = asked.issues.iter().map(|id| Ask::of("part", id));
    let new = [New {
        changes,
        links: links.collect::<Result<_>>()?,
        ..New::default()
    }];
    let ids = create::ready(ctx, &new)?;
    write(ctx, |snapshot, _| {
        for typed in &asked.issues {
            let issue = require_understood(snapshot, typed)?;
            if let Some(parent) = issue.linked(LinkKind::Parent).next() {
                let names = Names::of(snapshot)?;
                let (issue, parent) = (names.short(&issue.id), names.short(parent));
                let failure = elsewhere(issue, parent);
                return Err(failure.help(command!("issue show {issue}")));
            }
        }
        let plan = create::plan(snapshot, &new, &ids, None)?;
        let mut ordered = Ordered {
            roadmap: ids.first().cloned(),
            mode: Some(mode),
            waves: Vec::new(),
        };
        let mut steps = plan.steps;
        if let (Mode::Direct, Some(root)) = (mode, ids.first()) {
            let mut after: Vec<Issue> = steps.iter().filter_map(|one| one.before.clone()).collect();
            after.push(create::blank(root));
            let backlog = backlog_with(snapshot, after)?;
            let shape = Shape::of(&backlog, root, &today(ctx.now()));
            ordered.waves = waves(&shape, &Names::of(snapshot)?)?;
            steps.extend(relabel(&backlog, &ordered.waves));
        }
        Ok(Plan {
            what: plan.what,
            reason: None,
            steps,
            value: ordered,
        })
    })
}

/// The refusal where nothing decides the mode: it says what to answer.
fn open(asked: &Make) -> Failure {
    let said: Vec<String> = asked
        .factors
        .iter()
        .map(|(factor, level)| format!("{factor}={level}"))
        .collect();
    let said = if said.is_empty() {
        "nothing is said of the five factors".to_owned()
    } else {
        format!("{} decide neither", said.join(", "))
    };
    let factors = Factor::WORDS.join(", ");
    let title = shell_word(&asked.title);
    let issues: String = asked
        .issues
        .iter()
        .map(|id| format!(" --issue {}", shell_word(id)))
        .collect();
    Failure::usage(
        Code::RoadmapModeOpen,
        format!(
            "progressive (layers that people choose) or direct (the order of the links)? {said}: three of {factors} are \
             high for progressive, or low for direct"
        ),
    )
    .help(hint![
        command!("roadmap new {title}{issues} --mode direct"),
        "  or: ",
        command!("roadmap new {title}{issues} --mode progressive")
    ])
}

/// The names of the layers: two to four where it is progressive, none where it is direct.
fn layers(asked: &Make, mode: Mode) -> Result<Vec<String>> {
    let invalid = |message: String| {
        Failure::usage(Code::IssueFieldInvalid, message).help(command!("help roadmap new"))
    };
    if mode == Mode::Direct {
        return match asked.layers.first() {
            None => Ok(Vec::new()),
            Some(_) => Err(invalid(
                "a direct roadmap has waves, and no layers".to_owned(),
            )),
        };
    }
    if asked.layers.is_empty() {
        return Ok(LAYERS.iter().map(|name| (*name).to_owned()).collect());
    }
    let is_line = |name: &&String| {
        let name = name.trim();
        !name.is_empty() && name.chars().count() <= 40 && !name.chars().any(char::is_control)
    };
    let mut folded: Vec<String> = asked
        .layers
        .iter()
        .map(|name| name.trim().to_lowercase())
        .collect();
    folded.sort();
    folded.dedup();
    if !(2..=LAYERS.len()).contains(&asked.layers.len()) {
        return Err(invalid(format!(
            "expected 2 to {} layers, found {}",
            LAYERS.len(),
            asked.layers.len()
        )));
    }
    if folded.len() < asked.layers.len() || !asked.layers.iter().all(|name| is_line(&name)) {
        return Err(invalid(
            "expected names of layers as one line of at most 40 characters, each once".to_owned(),
        ));
    }
    let names = asked.layers.iter().map(|name| name.trim().to_owned());
    Ok(names.collect())
}

/// Puts each issue of a direct roadmap into the wave that follows from its links.
pub(crate) fn order(ctx: &Context, typed: Option<&str>) -> Result<Written<Ordered>> {
    write(ctx, |snapshot, _| {
        let loaded = Loaded::of(ctx, snapshot, typed)?;
        let short = loaded.short(&loaded.root.id);
        if loaded.cut.mode == Some(Mode::Progressive) {
            let layers = loaded.cut.layers.join(", ");
            return Err(Failure::refused(
                Code::RoadmapLayered,
                format!(
                    "{short} is progressive: a person says which issue is in which of {layers}"
                ),
            )
            .help(command!("roadmap check {short}")));
        }
        let waves = waves(&loaded.shape(), &loaded.names)?;
        Ok(Plan {
            what: format!("waves of {short}"),
            reason: None,
            steps: relabel(&loaded.backlog, &waves),
            value: Ordered {
                roadmap: Some(loaded.root.id.clone()),
                mode: loaded.cut.mode,
                waves,
            },
        })
    })
}

fn waves(shape: &Shape<'_>, names: &Names) -> Result<Vec<Vec<IssueId>>> {
    shape.levels().map_err(|cycle| in_a_cycle(&cycle, names))
}

/// The changes that put each issue into its wave.
fn relabel(backlog: &Backlog, waves: &[Vec<IssueId>]) -> Vec<Step> {
    let all = waves.iter().enumerate();
    let all = all.flat_map(|(at, wave)| wave.iter().map(move |id| (at + 1, id)));
    let steps = all.filter_map(|(wave, id)| {
        let issue = backlog.find(id)?;
        let wanted = label(WAVE, wave);
        let place = Place::of(issue);
        let old = place.waves.iter().map(|old| label(WAVE, old));
        let mut changes: Vec<Change> = old
            .filter(|old| *old != wanted)
            .map(Change::Unlabel)
            .collect();
        if !issue.labels.contains(&wanted) {
            changes.push(Change::Label(wanted));
        }
        (!changes.is_empty()).then(|| Step {
            id: issue.id.clone(),
            before: Some(issue.clone()),
            body: IssueEvent::Changed { changes }.into(),
            reason: None,
        })
    });
    steps.collect()
}
