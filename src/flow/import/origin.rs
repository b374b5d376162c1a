//! The records with which a change of another tool begins here: its start, what was taken over, its notes.

use super::Bases;
use crate::flow::context::Context;
use crate::flow::delta;
use crate::flow::transaction::differences;
use crate::flow::write_scope::{first, new_uid, seal};
use loopx_base::failure::Result;
use loopx_base::id::SessionId;
use loopx_git::Identity;
use loopx_rules::artifact::Artifact;
use loopx_rules::note::{Note, Said};
use loopx_rules::op::{Body, Event, ImportedEnd, RequirementBase, SessionBody};
use loopx_rules::profile::ProfileName;
use loopx_rules::record::Draft;
use loopx_rules::replay::fold;
use loopx_spec::Delta;
use loopx_store as store;
use loopx_store::{Edits, Placed};
use std::collections::BTreeMap;

/// A change as another tool has it.
pub(super) struct Origin<'a> {
    pub tool: &'a str,
    pub folder: &'a str,
    pub title: &'a str,
    /// The day on which the change began there, `yyyy-mm-dd`.
    pub created: Option<&'a str>,
    /// Set where the change had ended there, with the day where the tool knows it.
    pub ended: Option<Option<&'a str>>,
    pub artifacts: &'a BTreeMap<Artifact, String>,
    /// The files of the change as they were, by path.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    pub delta: Option<&'a Delta>,
    pub notes: &'a [Said],
}

impl Origin<'_> {
    /// The commit in which the change becomes a session. `what` says that in its subject.
    pub(super) fn place(
        &self,
        ctx: &Context,
        id: &SessionId,
        bases: &Bases<'_>,
        identity: &Identity,
        what: &str,
    ) -> Result<Placed> {
        let repo = &ctx.repo;
        let (started, now) = self.times(&identity.at);
        let ended = self.ended.map(|_| ImportedEnd {
            target: bases.head.branch.as_deref().unwrap_or("HEAD").to_owned(),
            month: now.chars().take(7).collect(),
        });
        let recorded = self.bases(ctx, bases)?;
        let uid = new_uid();
        let start = Event::Started {
            uid: uid.clone(),
            title: self.title.to_owned(),
            profile: ProfileName::standard(),
            stage: None,
            branch: None,
            base: bases.head.commit.clone(),
            issues: Vec::new(),
        };
        let mut start = first(identity, &uid, start);
        start.at = started;
        let tx = start.tx.clone();
        let mut ops = vec![seal(repo, &start)?];
        let mut artifacts = BTreeMap::new();
        for (artifact, text) in self.artifacts {
            artifacts.insert(*artifact, repo.write_blob(text.as_bytes())?);
        }
        let mut files = BTreeMap::new();
        for (path, bytes) in self.files {
            files.insert(path.clone(), repo.write_blob(bytes)?);
        }
        let event = Event::Imported {
            from: self.tool.to_owned(),
            folder: self.folder.to_owned(),
            files,
            ended,
        };
        let body = Body::Session(SessionBody {
            event,
            bases: recorded,
            claim: None,
        });
        let import = Draft {
            seq: 2,
            after: vec![ops[0].op.clone()],
            tx: tx.clone(),
            at: now.clone(),
            writes: differences(&BTreeMap::new(), &artifacts),
            ..first(identity, &uid, body)
        };
        ops.push(seal(repo, &import)?);
        for said in self.notes {
            let last = &ops[ops.len() - 1];
            let draft = Draft {
                seq: last.seq + 1,
                after: vec![last.op.clone()],
                tx: tx.clone(),
                at: now.clone(),
                ..first(identity, &uid, Note::from(said.clone()))
            };
            ops.push(seal(repo, &draft)?);
        }
        let state = fold(id, &ops)?;
        Ok(Placed {
            edits: Edits::place(repo, &ops, &state)?,
            message: store::message(id, what, &ops[1], &state),
        })
    }

    /// The times at which the change began and ended; `now` where the tool has none, or one that is still to come.
    fn times(&self, now: &str) -> (String, String) {
        let midnight = |day: &str| format!("{day}T00:00:00Z");
        let past = |day: &&str| *day <= now.get(..10).unwrap_or_default();
        let ended = self.ended.flatten().filter(past);
        let ended = ended.map_or_else(|| now.to_owned(), midnight);
        let began = self.created.filter(|day| day.get(..10) <= ended.get(..10));
        (began.map_or_else(|| ended.clone(), midnight), ended)
    }

    /// The bases of a change that is open; what had ended is merged by nobody.
    fn bases(&self, ctx: &Context, bases: &Bases<'_>) -> Result<Vec<RequirementBase>> {
        match (self.delta, self.ended) {
            (Some(delta), None) => delta::bases_of(&[], delta, |domain| bases.of(ctx, domain)),
            _ => Ok(Vec::new()),
        }
    }
}
