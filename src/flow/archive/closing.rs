//! The end of a session: the candidate for a decision record, and the steps by which its files go.

use super::super::context::Context;
use super::super::journal::{Step, Worktree};
use super::contest::clear_conflicts;
use loopx_base::failure::Result;
use loopx_base::id::SessionId;
use loopx_rules::artifact::Artifact;
use loopx_rules::markdown::section_text;
use loopx_rules::session::State;
use loopx_rules::texts::Texts;
use loopx_store as store;

/// Lists the steps that follow the end of sessions in this worktree: their conflicts and working copies go.
pub(super) fn leave(ctx: &Context, ids: impl Iterator<Item = SessionId>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    if ctx.repo.work_dir().is_none() {
        return Ok(steps);
    }
    for id in ids {
        steps.extend(clear_conflicts(ctx, &id)?);
        let at = Worktree::here(&ctx.repo);
        steps.push(Step::Retire { at, session: id });
    }
    Ok(steps)
}

/// A candidate for a decision record; `adr promote` gives it a number.
pub(crate) fn adr_candidate(state: &State, texts: &Texts, at: &str) -> String {
    let section = |artifact: Artifact, title: &str| {
        texts
            .get(&artifact)
            .and_then(|text| section_text(text, title))
    };
    let context = section(Artifact::Proposal, "Why")
        .or_else(|| {
            texts
                .get(&Artifact::Intent)
                .map(|text| text.trim().to_owned())
        })
        .unwrap_or_default();
    let decision = section(Artifact::Design, "Decision").unwrap_or_default();
    let mut text = format!(
        "---\nstatus: proposed\ndate: {}\nsession: {}\n---\n# {}\n\n## Context and Problem Statement\n\n{context}\n",
        at.chars().take(10).collect::<String>(),
        state.id,
        store::one_line(&state.title)
    );
    if let Some(options) = section(Artifact::Plan, "Options considered") {
        text.push_str(&format!("\n## Considered Options\n\n{options}\n"));
    }
    text.push_str(&format!("\n## Decision Outcome\n\n{decision}\n"));
    if let Some(consequences) = section(Artifact::Design, "Consequences") {
        text.push_str(&format!("\n### Consequences\n\n{consequences}\n"));
    }
    text
}
