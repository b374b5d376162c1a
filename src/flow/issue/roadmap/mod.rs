//! The roadmap: milestones, phases and waves over issues. What they mean and what follows from them, the core decides
//! ([`loopx_rules::roadmap`], which says where a roadmap is kept); here they meet the backlog.
//!
//! Every command that writes is one commit, decided anew where another writer was faster.

mod feedback;
mod import;
mod make;
mod place;
mod standing;
mod view;

pub(crate) use feedback::feedback;
pub(crate) use import::import;
pub(crate) use make::{Make, Ordered, make, order};
pub(crate) use place::{Wanted, place, take_out};
pub(crate) use standing::{InRoadmap, standing};
pub(crate) use view::{View, check, list, view};

use super::{Names, all, names, require_understood, today};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::findings::{Finding, Severity};
use loopx_base::hint::command;
use loopx_git::Repo;
use loopx_rules::issue::{Backlog, Issue, IssueId};
use loopx_rules::roadmap::{Cut, Document, Ground, Round, Shape, Standing, content, findings};
use loopx_store::Snapshot;

/// A roadmap with everything that is known of it.
struct Loaded {
    root: Issue,
    cut: Cut,
    document: Document,
    /// The text of the document.
    description: String,
    rounds: Vec<Round>,
    backlog: Backlog,
    names: Names,
    /// The day on which somebody asks.
    today: String,
}

impl Loaded {
    /// The roadmap that somebody means: the one that is named, or the only one that is open.
    fn of(ctx: &Context, snapshot: &Snapshot<'_>, typed: Option<&str>) -> Result<Self> {
        let found = all(snapshot)?;
        let names = Names::of_issues(&found);
        let id = match typed {
            Some(typed) => names::resolve(snapshot, typed)?,
            None => only(&found.issues, &names)?,
        };
        let root = require_understood(snapshot, id.as_str())?;
        if !root.is_roadmap() {
            return Err(Failure::not_found(
                Code::RoadmapUnknown,
                format!("{} is an issue, and no roadmap", names.short(&id)),
            )
            .help(command!("roadmap list")));
        }
        let texts = super::require(snapshot, id.as_str())?.texts;
        Ok(Loaded {
            cut: Cut::of(&texts.kept),
            document: Document::read(&texts.description),
            rounds: Round::all(&texts.comments),
            description: texts.description,
            backlog: Backlog::of(found.issues),
            names,
            root,
            today: today(ctx.now()),
        })
    }

    fn shape(&self) -> Shape<'_> {
        Shape::of(&self.backlog, &self.root.id, &self.today)
    }

    fn short<'i>(&self, id: &'i IssueId) -> &'i str {
        self.names.short(id)
    }

    fn findings(&self, shape: &Shape<'_>) -> Vec<Finding> {
        findings(&Ground {
            root: &self.root,
            shape,
            document: &self.document,
            cut: &self.cut,
            name: self.short(&self.root.id),
            short: &|id| self.short(id).to_owned(),
        })
    }

    /// The id of what an approval is for.
    fn content(&self, shape: &Shape<'_>) -> Result<String> {
        let text = content(&self.root.title, &self.description, &self.cut, shape);
        Ok(Repo::sha1_of(text.as_bytes())?.to_string())
    }

    fn standing(&self, shape: &Shape<'_>, findings: &[Finding]) -> Result<Standing> {
        let is_error = |one: &Finding| one.severity == Severity::Error;
        let is_sound = !findings.iter().any(is_error);
        Ok(Standing::of(&self.rounds, &self.content(shape)?, is_sound))
    }
}

/// The only open roadmap.
fn only(issues: &[Issue], names: &Names) -> Result<IssueId> {
    let open = issues
        .iter()
        .filter(|one| one.is_roadmap() && !one.status.is_final());
    let open: Vec<&Issue> = open.collect();
    match open.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => Err(
            Failure::not_found(Code::RoadmapUnknown, "there is no open roadmap")
                .help(command!("roadmap new \"Notes that sync\" --mode direct").note("(for one)")),
        ),
        more => {
            let words: Vec<String> = more
                .iter()
                .map(|one| format!("{} {}", names.short(&one.id), one.title))
                .collect();
            Err(Failure::usage(
                Code::RoadmapAmbiguous,
                format!(
                    "there are {} open roadmaps: {}",
                    more.len(),
                    words.join(", ")
                ),
            )
            .help(command!("roadmap list")))
        }
    }
}

/// The refusal of links by which issues wait for each other.
fn in_a_cycle(cycle: &[IssueId], names: &Names) -> Failure {
    let words: Vec<&str> = cycle.iter().map(|id| names.short(id)).collect();
    let failure = Failure::refused(
        Code::IssueCycle,
        format!("these issues wait for each other: {}", words.join(" -> ")),
    );
    match words.first() {
        Some(first) => failure.help(command!("issue show {first}")),
        None => failure,
    }
}

/// The refusal of an issue that belongs to another one.
fn elsewhere(issue: &str, parent: &str) -> Failure {
    Failure::refused(
        Code::RoadmapPartElsewhere,
        format!("{issue} is a part of {parent}, which is not in the roadmap"),
    )
    .help(command!("roadmap set {parent}"))
}
