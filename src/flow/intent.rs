//! The statements of a request: numbered when the session begins, in a file of the session that nobody edits, and shown
//! with what covers each.

use super::context::Context;
use super::transaction::{Needs, gather, texts_here};
use loopx_base::failure::Result;
use loopx_base::id::SessionId;
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::intent;
use loopx_rules::intent::{CoveredStatement, FILE, Statement, Stray};
use loopx_rules::op::Write;
use loopx_rules::policy::EvidenceRule;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use std::collections::BTreeMap;

/// The file that numbers what a request says, as the first record writes it.
pub(super) fn numbered(repo: &Repo, request: Option<&str>) -> Result<BTreeMap<String, Write>> {
    let Some(text) = request.and_then(intent::numbered) else {
        return Ok(BTreeMap::new());
    };
    let write = Write {
        from: None,
        to: Some(repo.write_blob(text.as_bytes())?),
    };
    Ok(BTreeMap::from([(FILE.to_owned(), write)]))
}

/// The statements of a session's request.
pub(super) fn statements(repo: &Repo, state: &State) -> Result<Vec<Statement>> {
    let blob = state.files.get(FILE).and_then(|versions| versions.last());
    match blob {
        Some(blob) => Ok(intent::read(&String::from_utf8_lossy(
            &repo.read_blob(blob)?,
        ))),
        None => Ok(Vec::new()),
    }
}

/// The coverage of each statement of a request.
#[derive(Debug)]
pub(crate) struct Coverage {
    pub id: SessionId,
    pub statements: Vec<CoveredStatement>,
    /// The numbers that are cited and that no statement has.
    pub strays: Vec<Stray>,
    /// Set when a gate of this session asks for the coverage.
    pub asked: bool,
    /// The artifact in which a statement can be cited now.
    pub edit: Option<Artifact>,
}

/// Shows what covers each statement of the session that is meant, as its files are here.
pub(crate) fn show(ctx: &Context) -> Result<Coverage> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let facts = gather(ctx, &snapshot, &session, None, Needs::Stage, None)?;
    let texts = texts_here(ctx, &facts.state, &facts.policy)?;
    let asked = facts.policy.intent.coverage == EvidenceRule::Require
        && facts.view().profile().has_stage(Stage::Clarify);
    let edit = match facts.state.stage {
        Stage::Clarify => Some(Artifact::Spec),
        Stage::Plan => Some(Artifact::Plan),
        Stage::Build => Some(Artifact::ExecutionRecord),
        Stage::Review => Some(Artifact::ReviewReport),
        Stage::Done => None,
    };
    Ok(Coverage {
        statements: intent::coverage(&facts.statements, &texts),
        strays: intent::strays(&facts.statements, &texts),
        asked,
        edit: edit.filter(|_| asked && facts.state.is_active()),
        id: facts.state.id,
    })
}
