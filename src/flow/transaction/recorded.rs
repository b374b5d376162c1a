//! The commit that records what was decided: the operations, the artifacts that follow from them, and what the act does
//! beside its session.

use super::gather::is_of_header;
use super::{Act, Facts};
use crate::flow::context::Context;
use crate::flow::issue::sessions::tell;
use crate::flow::recording::{Recording, let_go, placed, writes_delta};
use crate::flow::sign::Word;
use crate::flow::workcopy::Outputs;
use crate::flow::{delta, effective_target, lease, outline};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack;
use loopx_rules::lease::Claim;
use loopx_rules::op::{Body, Event, Operation, RequirementBase, SessionBody, Write};
use loopx_rules::profile::Profile;
use loopx_rules::session::{Stamped, State};
use loopx_rules::texts::Texts;
use loopx_store as store;
use loopx_store::{Decision, Record, Session, Snapshot};
use std::collections::BTreeMap;

/// Outcome of a decision: the state, what was saved of which files, and the value.
pub(in crate::flow) type Built<T> = (State, Vec<String>, BTreeMap<String, Oid>, T);

/// The commit that records what was decided.
pub(in crate::flow) fn build<T>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    facts: Facts<'_>,
    act: Act<T>,
    identity: &Identity,
) -> Result<Decision<Built<T>>> {
    let (act, value) = act.split();
    let recorded = recorded(ctx, snapshot, session, facts, act, identity)?;
    let (state, saved, taken, ()) = recorded.value;
    Ok(Decision {
        edits: recorded.edits,
        message: recorded.message,
        value: (state, saved, taken, value),
    })
}

fn recorded(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    mut facts: Facts<'_>,
    act: Act<()>,
    identity: &Identity,
) -> Result<Decision<Built<()>>> {
    let repo = &ctx.repo;
    let Act {
        body,
        what,
        reason,
        writes,
        outputs,
        takes,
        log,
        bases,
        claim,
        word,
        failure,
        before,
        value: (),
    } = act;
    require_base(&facts, &body)?;
    if let Some(claim) = &claim {
        lease::keep(repo, &claim.owner)?;
    }
    let what = taken_over(session.state.build.claim.as_ref(), claim.as_ref(), what);
    let words = words(&facts.saved, &writes, &body);
    let artifacts = stored(repo, &mut facts, writes)?;
    let writes = differences(&session.state.artifacts, &artifacts);
    let mut saved: Vec<String> = facts.saved.iter().map(ToString::to_string).collect();
    let outputs = together(repo, [std::mem::take(&mut facts.outputs), outputs])?;
    saved.extend(outputs.writes.keys().cloned());
    let mut taken = std::mem::take(&mut facts.taken);
    taken.extend(outputs.taken);
    let bases = match bases {
        Some(bases) => bases,
        None => new_bases(ctx, snapshot, &session.state, &facts, &writes)?,
    };
    store_large(repo, &mut facts, &artifacts);
    let recording = Recording {
        body: placed_body(ctx, &session.state, body)?,
        reason,
        writes,
        words,
        others: outputs.writes,
        bases,
        claim,
        before: placed_before(ctx, &session.state, before)?,
    };
    let (operations, state) = recording.operations(repo, identity, &session.state)?;
    let op = &operations[operations.len() - 1];
    let around = (&session.state, &state);
    let settle = |word: Word| word.settle(repo, &facts.policy, &facts.credentials, around, op);
    let signature = word.map(settle).transpose()?.flatten();
    let mut records: Vec<Record<'_>> = operations.iter().map(Record::from).collect();
    if let Some(record) = records.last_mut() {
        record.signature = signature.as_deref();
        record.log = log;
    }
    let mut edits = store::Edits::default();
    edits.record_all(repo, Some(session), &records, &state)?;
    let mut message = store::message(&state.id, &what, op, &state);
    let about = (op, &state);
    let trailers = beside(
        repo,
        snapshot,
        identity,
        (takes, failure),
        about,
        &mut edits,
    )?;
    message.push_str(&trailers);
    Ok(Decision {
        edits,
        message,
        value: (state, saved, taken, ()),
    })
}

/// Refuses what asks policy, where the commit is missing that the session starts from.
fn require_base(facts: &Facts<'_>, body: &Body) -> Result<()> {
    match (&facts.base_missing, body) {
        (Some(missing), Body::Session(step)) if !step.event.asks_no_policy() => {
            Err(missing.clone())
        }
        _ => Ok(()),
    }
}

/// Records what an act does beside its session: others let the branch go that it takes, and issues are told of a failure.
/// Gives the trailers that name them.
fn beside(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    (takes, failure): (Option<String>, Option<String>),
    (op, state): (&Operation, &State),
    edits: &mut store::Edits,
) -> Result<String> {
    let mut trailers = String::new();
    if let Some(branch) = takes {
        edits.keep_bound(repo, &branch, &state.id)?;
        for id in let_go(repo, snapshot, identity, &branch, op, &state.id, edits)? {
            trailers.push_str(&store::also(&id));
        }
    }
    if let Some(failure) = failure {
        let about = (state.issues.as_slice(), failure.as_str());
        trailers.push_str(&tell(repo, snapshot, identity, about, edits)?);
    }
    Ok(trailers)
}

/// The edits of somebody that stand apart from the operation that they were saved along with.
fn words(saved: &[Artifact], writes: &BTreeMap<Artifact, String>, body: &Body) -> Vec<Artifact> {
    let has_words = match body {
        // A command that does nothing but save is an operation for the edits alone.
        Body::Session(step) if step.event == Event::Saved => !writes.is_empty(),
        Body::Session(step) => step.event.is_beside_words(),
        _ => false,
    };
    let is_own = |artifact: &&Artifact| has_words && !writes.contains_key(artifact);
    saved.iter().filter(is_own).copied().collect()
}

/// The artifacts with what an act writes, what somebody edited, and what follows from both. Their texts are stored, and
/// the facts have them from here on.
fn stored(
    repo: &Repo,
    facts: &mut Facts<'_>,
    writes: BTreeMap<Artifact, String>,
) -> Result<BTreeMap<Artifact, Oid>> {
    let mut artifacts = facts.state.artifacts.clone();
    let all = (&mut artifacts, &mut facts.texts);
    write_artifacts(repo, &facts.state, writes, all)?;
    for artifact in &facts.saved {
        if let Some(text) = facts.texts.get(artifact).filter(|text| !is_large(text)) {
            repo.write_blob(text.as_bytes())?;
        }
    }
    let profile = facts.policy.profiles.get(&facts.state.profile);
    refresh_graph(
        repo,
        profile.ok().as_ref(),
        &mut artifacts,
        &mut facts.texts,
    )?;
    Ok(artifacts)
}

/// Size in bytes of a text from which on it is not kept beside its object.
const LARGE: usize = 8 * 1024 * 1024;

fn is_large(text: &str) -> bool {
    text.len() > LARGE
}

/// Stores the large texts that somebody edited, once nobody reads them any more. Their ids were found out as they were
/// collected.
fn store_large(repo: &Repo, facts: &mut Facts<'_>, artifacts: &BTreeMap<Artifact, Oid>) {
    for artifact in &facts.saved {
        let is_stored_here = facts.texts.get(artifact).is_some_and(|text| is_large(text));
        if let (true, Some(id)) = (is_stored_here, artifacts.get(artifact))
            && let Some(text) = facts.texts.remove(artifact)
        {
            repo.store_blob_as(id, text.into_bytes());
        }
    }
}

/// The files of tasks that were edited and those that go in beside them, stored.
fn together(repo: &Repo, both: [Outputs; 2]) -> Result<Outputs> {
    let mut all = Outputs::default();
    for outputs in both {
        for bytes in outputs.contents.values() {
            repo.write_blob(bytes)?;
        }
        all.writes.extend(outputs.writes);
        all.taken.extend(outputs.taken);
    }
    Ok(all)
}

/// The bases of what is new in the delta.
fn new_bases(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    state: &State,
    facts: &Facts<'_>,
    writes: &BTreeMap<Artifact, Write>,
) -> Result<Vec<RequirementBase>> {
    // Where the specs are nobody knows where the base is missing, and what is not recorded is asked for at the gate.
    if facts.base_missing.is_some() || !writes_delta(writes) {
        return Ok(Vec::new());
    }
    effective_target::new_bases(ctx, snapshot, state, &facts.policy, &facts.texts)
}

/// The move before a record, with the commits that belong to it.
fn placed_before(
    ctx: &Context,
    state: &State,
    before: Option<(Event, Artifact)>,
) -> Result<Option<(Event, Artifact)>> {
    let place = |(event, artifact)| Ok((placed(ctx, state, event)?, artifact));
    before.map(place).transpose()
}

/// The body of a record, with the commits that belong to its event.
fn placed_body(ctx: &Context, state: &State, body: Body) -> Result<Body> {
    Ok(match body {
        Body::Session(step) => Body::Session(SessionBody {
            event: placed(ctx, state, step.event)?,
            ..step
        }),
        other => other,
    })
}

/// Writes the artifacts, and with them the header of the plan where it counts what they say.
fn write_artifacts(
    repo: &Repo,
    state: &State,
    writes: BTreeMap<Artifact, String>,
    (artifacts, texts): (&mut BTreeMap<Artifact, Oid>, &mut Texts),
) -> Result<()> {
    let writes_header = writes.keys().any(is_of_header);
    for (artifact, text) in writes {
        artifacts.insert(artifact, repo.write_blob(text.as_bytes())?);
        texts.insert(artifact, text);
    }
    if writes_header && let Some(text) = outline::header(state, texts) {
        artifacts.insert(Artifact::Plan, repo.write_blob(text.as_bytes())?);
        texts.insert(Artifact::Plan, text);
    }
    Ok(())
}

/// The subject of a commit says when it takes a build over.
fn taken_over(before: Option<&Stamped<Claim>>, now: Option<&Claim>, what: String) -> String {
    match (before, now) {
        (Some(before), Some(now)) if before.value.owner != now.owner => {
            format!("{what}; takes the build over from {}", before.signed.by)
        }
        _ => what,
    }
}

/// The change from one set of artifacts to another.
pub(crate) fn differences(
    before: &BTreeMap<Artifact, Oid>,
    after: &BTreeMap<Artifact, Oid>,
) -> BTreeMap<Artifact, Write> {
    Artifact::ALL
        .into_iter()
        .filter_map(|artifact| {
            let (from, to) = (before.get(&artifact), after.get(&artifact));
            (from != to).then(|| {
                let write = Write {
                    from: from.cloned(),
                    to: to.cloned(),
                };
                (artifact, write)
            })
        })
        .collect()
}

/// Keeps `change/artifact-graph.json` in step with the pack: it is derived, and written for readers.
fn refresh_graph(
    repo: &Repo,
    profile: Option<&Profile>,
    artifacts: &mut BTreeMap<Artifact, Oid>,
    texts: &mut Texts,
) -> Result<()> {
    let is_of_pack = |artifact: &&Artifact| **artifact != Artifact::SpecDelta;
    let mut pack = Artifact::CHANGE_PACK.iter().filter(is_of_pack);
    let Some(profile) = profile.filter(|_| pack.any(|a| artifacts.contains_key(a))) else {
        return Ok(());
    };
    let previous: Option<change_pack::Graph> = texts
        .get(&Artifact::ArtifactGraph)
        .and_then(|text| serde_json::from_str(text).ok());
    let graph = change_pack::graph(previous.as_ref(), artifacts, |artifact| {
        delta::is_filled(artifact, profile, texts)
    });
    let text = String::from_utf8_lossy(&loopx_rules::op::to_json(&graph)?).into_owned();
    artifacts.insert(Artifact::ArtifactGraph, repo.write_blob(text.as_bytes())?);
    texts.insert(Artifact::ArtifactGraph, text);
    Ok(())
}
