//! The part of the backlog that a board, statistics or a report are of.

use super::list::person;
use crate::flow::Context;
use crate::flow::issue::scope::Scope;
use loopx_base::failure::Result;
use loopx_rules::issue::filter::Filter;

/// The issues that are meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ScopeArgs {
    /// Only the parts of this issue, and theirs: of an epic, or of a roadmap
    #[arg(value_name = "ID")]
    whole: Option<String>,
    /// Only for this milestone
    #[arg(short, long, value_name = "NAME")]
    milestone: Option<String>,
    /// Only with this label; repeat it for those with all of them
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Only of this kind; repeat it
    #[arg(short, long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Only of this person: a part of the name, or @me; an empty one is nobody
    #[arg(short, long, value_name = "NAME")]
    assignee: Option<String>,
    /// As the backlog was then: a day (its end), a time, `3d` or `last friday`, the id of an operation, or a commit of the
    /// branch of sessions
    #[arg(long, value_name = "WHEN")]
    at: Option<String>,
}

impl ScopeArgs {
    /// The scope, also with what has ended.
    pub(super) fn scope(self, ctx: &Context) -> Result<Scope> {
        Ok(Scope {
            whole: self.whole,
            at: self.at,
            filter: Filter {
                all: true,
                milestone: self.milestone,
                labels: self.labels,
                kinds: self.kinds,
                assignee: person(ctx, self.assignee)?,
                ..Filter::default()
            },
        })
    }
}
