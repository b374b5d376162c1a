//! The outline of a plan beside the code and the records: which angles were looked at, which questions are open, which
//! tasks can run side by side; and the header of plan.md, kept in step with the list.

use super::context::Context;
use super::transaction::{Facts, Needs, gather_here};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::contract::Asked;
use loopx_rules::gate;
use loopx_rules::headings;
use loopx_rules::note::{Note, OpenQuestion, open_questions};
use loopx_rules::op::{Body, Operation};
use loopx_rules::outline;
use loopx_rules::outline::explore::{Explored, references};
use loopx_rules::outline::{Outline, header};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::file::{TaskFile, read};
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::status::Status;
use loopx_rules::texts::Texts;
use loopx_spec::Finding;
use loopx_store::{KnownQuestions, Session, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

/// The tree of the code that is checked out.
pub(crate) fn tree(ctx: &Context) -> Result<Option<Oid>> {
    let commit = ctx.repo.head()?.commit;
    let info = commit.map(|commit| ctx.repo.commit_info(&commit));
    Ok(info.transpose()?.map(|info| info.tree))
}

/// A question that nobody has answered.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Question {
    pub number: u64,
    pub by: String,
    pub text: String,
}

impl From<OpenQuestion> for Question {
    fn from(asked: OpenQuestion) -> Self {
        Question {
            number: asked.seq,
            by: asked.by.to_string(),
            text: asked.text,
        }
    }
}

/// The questions among some records that nobody has answered.
pub(super) fn questions(ops: &[Operation]) -> Vec<Question> {
    let open = open_questions(ops).into_iter();
    open.map(Question::from).collect()
}

/// The questions that are open in a session once a word on it was given.
pub(super) fn left_open(ctx: &Context, id: &SessionId) -> Result<Vec<Question>> {
    let snapshot = ctx.store()?.snapshot()?;
    match snapshot.session(id)? {
        Some(session) => open_questions_now(ctx, &snapshot, &session),
        None => Ok(Vec::new()),
    }
}

/// The questions of one session whose plan is open, that nobody has answered.
pub(super) fn open_questions_now(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Vec<Question>> {
    let mut known = KnownQuestions::of(&ctx.repo);
    let open = open_questions_of(&mut known, snapshot, session);
    known.keep();
    open
}

/// The questions of a session whose plan is open, that nobody has answered.
pub(super) fn open_questions_of(
    known: &mut KnownQuestions<'_>,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Vec<Question>> {
    let state = &session.state;
    if !state.is_active() || state.stage > Stage::Plan {
        return Ok(Vec::new());
    }
    let open = known.open(snapshot, session)?.into_iter();
    Ok(open.map(Question::from).collect())
}

/// The outline of one session.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct View {
    pub session: SessionId,
    #[serde(flatten)]
    pub outline: Outline,
    /// The contract that is asked for, where the request is broad.
    pub contract: Option<Asked>,
    /// The code that notes are held against.
    pub tree: Option<Oid>,
    /// The newest note on each angle.
    pub notes: Vec<Explored>,
    /// Angles of the outline on which nobody has written.
    pub missing: Vec<String>,
    pub questions: Vec<Question>,
    pub tasks: usize,
    /// Groups of tasks that can run side by side, one after the other.
    pub groups: Vec<Vec<TaskId>>,
    /// Number of times that the plan went back to be changed.
    pub returns: u32,
    pub findings: Vec<Finding>,
}

/// Tells whether a session has a light plan: a list of tasks, and nobody who reviews the plan.
pub(crate) fn is_light(facts: &Facts<'_>) -> bool {
    let view = facts.view();
    let profile = view.profile();
    profile.asks(Artifact::TaskList) && profile.asks(Artifact::Plan) && profile.reviews.is_empty()
}

/// The outline of the session that is meant; refused where it has no plan of this kind.
pub(crate) fn show(ctx: &Context) -> Result<View> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Operations)?;
    if !is_light(&facts) {
        return Err(Failure::refused(
            Code::StageNotInProfile,
            format!(
                "the profile {} has no plan with a list of tasks: there is nothing to outline",
                facts.state.profile
            ),
        )
        .help(command!("status")));
    }
    of(ctx, &facts)
}

fn of(ctx: &Context, facts: &Facts<'_>) -> Result<View> {
    let text = facts.texts.get(&Artifact::TaskList);
    let file = read(text.map_or("", String::as_str)).unwrap_or_default();
    let found = judged(&facts.state, &facts.texts, &file)?;
    let tree = tree(ctx)?;
    let notes = notes(&ctx.repo, facts, tree.as_ref());
    let is_missing = |angle: &&String| notes.iter().all(|note| note.angle != **angle);
    let missing = found.angles.value.iter().filter(is_missing).cloned();
    let graph = Graph::of(&file.nodes);
    let statuses = vec![Status::Pending; file.nodes.len()];
    let id = |at: usize| file.nodes[at].id.clone();
    let groups = graph.waves(&statuses, None).into_iter();
    let plan = facts.texts.get(&Artifact::Plan).map(String::as_str);
    Ok(View {
        session: facts.state.id.clone(),
        contract: gate::contract_asked(facts.view()),
        missing: missing.collect(),
        questions: questions(&facts.operations),
        tasks: file.nodes.len(),
        groups: groups
            .map(|wave| wave.into_iter().map(id).collect())
            .collect(),
        returns: facts.state.plan.run.saturating_sub(1),
        findings: outline::findings(&notes, tree.as_ref(), plan),
        outline: found,
        tree,
        notes,
    })
}

/// The findings about what the plan of a session rests on, where it has a plan of this kind and is planned now.
pub(crate) fn findings(ctx: &Context) -> Result<Vec<Finding>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    if session.state.stage != Stage::Plan {
        return Ok(Vec::new());
    }
    let facts = gather_here(ctx, &snapshot, &session, Needs::Operations)?;
    let tree = tree(ctx)?;
    let notes = notes(&ctx.repo, &facts, tree.as_ref());
    let plan = facts.texts.get(&Artifact::Plan).map(String::as_str);
    Ok(outline::findings(&notes, tree.as_ref(), plan))
}

/// The newest note on each angle, held against a tree of the code.
fn notes(repo: &Repo, facts: &Facts<'_>, tree: Option<&Oid>) -> Vec<Explored> {
    let mut newest = BTreeMap::new();
    for op in &facts.operations {
        if let Body::Note(Note::Explored {
            angle,
            text,
            tree: of,
        }) = &op.body
        {
            newest.insert(angle, (op, text, of));
        }
    }
    let lines = |path: &str| lines(repo, tree?, path);
    let explored = |(angle, (op, text, of)): (
        &String,
        (&loopx_rules::op::Operation, &String, &Option<Oid>),
    )| Explored {
        angle: angle.clone(),
        seq: op.seq,
        by: op.by.to_string(),
        tree: of.clone(),
        stale: of.as_ref() != tree,
        references: references(text, lines),
    };
    newest.into_iter().map(explored).collect()
}

/// Number of lines of a file of a tree; a folder has as many as anybody names.
fn lines(repo: &Repo, tree: &Oid, path: &str) -> Option<usize> {
    let entry = repo.entry_at(tree, path).ok()??;
    if entry.kind == EntryKind::Tree {
        return Some(usize::MAX);
    }
    let bytes = repo.read_blob(&entry.id).ok()?;
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let is_open = bytes.last().is_some_and(|byte| *byte != b'\n');
    Some(ends + usize::from(is_open))
}

fn judged(state: &State, texts: &Texts, file: &TaskFile) -> Result<Outline> {
    let has_files = file.nodes.iter().any(|node| !node.files.is_empty());
    outline::outline(&state.title, texts, has_files).map_err(|fault| {
        let path = Artifact::Plan.path();
        Failure::refused(
            Code::FrontMatterInvalid,
            format!("{path}:{}: {}", fault.line, fault.message),
        )
        .help(command!("edit {path}"))
    })
}

/// The text of plan.md with its header as the list determines it; nothing where that is what it says, where it has no
/// header, or where either of them cannot be read.
pub(super) fn header(state: &State, texts: &Texts) -> Option<String> {
    if state.stage != Stage::Plan {
        return None;
    }
    let plan = texts.get(&Artifact::Plan)?;
    header::place(plan).ok()??;
    let file = read(texts.get(&Artifact::TaskList)?).ok()?;
    let found = judged(state, texts, &file).ok()?;
    let language = headings::language(plan);
    header::with(
        plan,
        &header::lines(&file, found.complexity.value, language),
    )
}
