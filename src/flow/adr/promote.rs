//! `adr promote`: a candidate gets the next free number on the target branch, in one commit there.
//!
//! The number is decided against the tip that the commit is put on, and again when that moved: two
//! promotions never give one number. Links are written to both records here and nowhere earlier.

use super::{MAX_BYTES, hash, of_tree, record, require_filled, tree_files};
use crate::flow::context::Context;
use crate::flow::journal::{Entry, Scope, Step, Worktree};
use crate::flow::naming;
use crate::flow::naming::unknown;
use crate::flow::write_scope::Opening;
use crate::flow::{archive, checked_out, delta, files, transaction};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git as git;
use loopx_git::{Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::session::Ending;
use loopx_rules::stage::Stage;
use loopx_rules::texts::Texts;
use loopx_spec::adr;
use loopx_spec::adr::edit;
use loopx_spec::adr::edit::Target;
use loopx_spec::adr::record::{reverse, verb_key};
use loopx_spec::adr::supersede;
use loopx_spec::adr::{DRAFT, Record, Status, overview};
use loopx_store as store;
use std::collections::BTreeMap;

/// Tries before a busy target branch is given up.
const TRIES: u32 = 10;

/// The options of `adr promote`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// A session or a draft's file.
    pub what: Option<&'a str>,
    pub nygard: bool,
    /// Set when the record is accepted in the same commit.
    pub accept: bool,
    pub onto: Option<&'a str>,
}

/// The record that was promoted, and the commit that has it.
#[derive(Debug)]
pub(crate) struct Promoted {
    pub number: u32,
    pub path: String,
    pub target: String,
    pub commit: Oid,
    pub session: Option<SessionId>,
    /// Other files that the commit changed.
    pub touched: Vec<String>,
    /// The draft that was left, because it could not be taken away.
    pub left: Option<String>,
    /// Set where each section that its form asks for has a text.
    pub is_filled: bool,
}

/// A draft's file in the worktree.
pub(super) struct Draft {
    path: String,
    bytes: Vec<u8>,
}

/// Texts by path; `None` where a file goes.
pub(in crate::flow) type FileTexts = BTreeMap<String, Option<String>>;

/// The draft of a record that is promoted, wherever the draft comes from.
pub(super) struct Candidate {
    pub(super) text: String,
    /// The id by which the record is known, whatever its number.
    pub(super) id: String,
    pub(super) session: Option<SessionId>,
    pub(super) draft: Option<Draft>,
    pub(super) branch: Option<String>,
}

impl Candidate {
    fn path(&self) -> &str {
        self.draft
            .as_ref()
            .map_or("change/adr-candidate.md", |draft| &draft.path)
    }
}

/// Promotes a candidate.
pub(crate) fn promote(ctx: &Context, request: Request<'_>) -> Result<Promoted> {
    // git's index takes one writer at a time; whoever else lands on a branch waits here.
    let opening = Opening::of(ctx)?;
    let candidate = candidate(ctx, request.what, &opening.identity)?;
    let target = match request.onto {
        Some(branch) => branch.to_owned(),
        None => candidate.branch.clone().ok_or_else(|| {
            let here = ctx.head().map(|head| head.words()).unwrap_or_default();
            let why = format!("expected a branch, found {here}");
            Failure::usage(Code::TargetUnknown, why).help("name the branch with --onto")
        })?,
    };
    require_target(ctx, &target, opening.store.branch())?;
    for _ in 0..TRIES {
        if let Some(done) = land(&opening.scope(ctx), request, &candidate, &target)? {
            return Ok(done);
        }
    }
    Err(Failure::new(
        Kind::Waiting,
        Code::BranchBusy,
        format!("the branch {target} moved {TRIES} times while the record was being written"),
    )
    .help(command!("adr promote")))
}

/// The branch of the sessions takes no record, and a rebase lets nobody move its branch.
fn require_target(ctx: &Context, target: &str, sessions: &str) -> Result<()> {
    Repo::check_branch_name(target)?;
    if target == sessions {
        return Err(Failure::usage(
            Code::TargetInvalid,
            format!("`{target}` keeps the sessions; records belong on a code branch"),
        )
        .help("name a code branch with --onto"));
    }
    if ctx.repo.is_being_rebased(&format!("refs/heads/{target}")) {
        return Err(Failure::refused(
            Code::TargetBusy,
            format!("`{target}` is being rebased; it would be moved under the rebase"),
        )
        .help(hint![
            "git rebase --continue  (or --abort), then: ",
            command!("adr promote")
        ]));
    }
    Ok(())
}

fn candidate(ctx: &Context, what: Option<&str>, identity: &Identity) -> Result<Candidate> {
    if let Some(word) = what {
        if let Some(path) = draft_path(ctx, word)? {
            return from_file(ctx, &path);
        }
        if word.ends_with(".md") || word.contains('/') {
            return Err(Failure::not_found(
                Code::DraftUnknown,
                format!("there is no file `{word}`"),
            )
            .help(command!("adr list")));
        }
        let id = naming::find(&ctx.store()?.snapshot()?, word)?;
        return from_session(ctx, Some(&id), identity);
    }
    let session = from_session(ctx, None, identity);
    let failure = match session {
        Err(failure) if ctx.wanted().is_none() => failure,
        found => return found,
    };
    let folder = super::load(ctx)?;
    let drafts: Vec<&Record> = folder.records.iter().filter(|r| r.is_draft()).collect();
    match drafts.as_slice() {
        [] => Err(failure),
        [only] => from_file(ctx, &format!("{}/{}", folder.path, only.file)),
        many => {
            let names: Vec<&str> = many.iter().map(|record| record.file.as_str()).collect();
            Err(Failure::usage(
                Code::DraftAmbiguous,
                format!("{} are drafts; expected one by name", names.join(", ")),
            )
            .help(command!("adr promote {}/{}", folder.path, names[0])))
        }
    }
}

/// The draft that a word names, by its path below the top: as typed from the current folder, from the
/// top, or by its name in the folder.
fn draft_path(ctx: &Context, word: &str) -> Result<Option<String>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    let folder = super::folder_path(ctx)?;
    let top = std::fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
    let here = loopx_base::env::current_dir().unwrap_or_else(|_| top.clone());
    let stem = word.strip_suffix(".md").unwrap_or(word);
    let named = stem.strip_prefix(DRAFT).unwrap_or(stem);
    let places = [
        here.join(word),
        top.join(word),
        top.join(&folder).join(format!("{DRAFT}{named}.md")),
    ];
    for place in places {
        let is_text = place.extension().is_some_and(|extension| extension == "md");
        if !is_text || !place.is_file() {
            continue;
        }
        let place = std::fs::canonicalize(&place).unwrap_or(place);
        let Ok(below) = place.strip_prefix(&top) else {
            return Err(Failure::usage(
                Code::DraftOutside,
                format!("{} is outside the worktree", place.display()),
            )
            .help(format!("move it to {folder}/, then try again")));
        };
        return Ok(Some(below.to_string_lossy().replace('\\', "/")));
    }
    Ok(None)
}

fn from_file(ctx: &Context, path: &str) -> Result<Candidate> {
    let top = super::top(ctx)?;
    let file = path.rsplit('/').next().unwrap_or(path);
    let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    if let Some(number) = adr::number_of(file) {
        return Err(Failure::nothing(
            Code::PromotedAlready,
            format!("{path} has the number {number} already"),
        )
        .help(command!("adr accept {number}")));
    }
    let bytes = files::read(&files::inside(&top, path)?, MAX_BYTES)?.ok_or_else(|| {
        Failure::not_found(Code::DraftUnknown, format!("there is no file `{path}`"))
            .help(command!("adr list"))
    })?;
    let read = record(dir, file, bytes.clone())?;
    // A draft that was written by hand is known by its content.
    let id = read.id.unwrap_or_else(|| hash(&read.text));
    Ok(Candidate {
        text: read.text,
        id,
        session: None,
        draft: Some(Draft {
            path: path.to_owned(),
            bytes,
        }),
        branch: ctx.repo.head()?.branch,
    })
}

/// Tells whether the archive of a session drafted a record of the decisions of its design.
pub(crate) fn is_drafted(ctx: &Context, id: &SessionId) -> Result<bool> {
    let session = ctx.store()?.snapshot()?.find(id)?;
    Ok(session.is_some_and(|session| {
        let artifacts = &session.state.artifacts;
        artifacts.contains_key(&Artifact::AdrCandidate) && artifacts.contains_key(&Artifact::Design)
    }))
}

fn from_session(ctx: &Context, id: Option<&SessionId>, identity: &Identity) -> Result<Candidate> {
    let snapshot = ctx.store()?.snapshot()?;
    let id = match id {
        Some(id) => id.clone(),
        None => ctx.session_id_to_change(&snapshot)?,
    };
    let session = snapshot.find(&id)?.ok_or_else(|| unknown(&snapshot, &id))?;
    let state = &session.state;
    let (text, branch) = match &state.ending {
        Some(Ending::Archived { target, .. }) => {
            let bytes = snapshot
                .artifact(&session, Artifact::AdrCandidate)?
                .ok_or_else(|| {
                    Failure::not_found(
                        Code::CandidateMissing,
                        format!("session {id} was archived without a candidate for a record"),
                    )
                    .help(command!("adr new TITLE"))
                })?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            (text, Some(target.clone()))
        }
        None if state.stage == Stage::Done => {
            let mut texts = Texts::default();
            transaction::read_texts(&ctx.repo, state, &mut texts)?;
            let text = archive::adr_candidate(state, &texts, &identity.at);
            (text, delta::target_branch(ctx, state)?)
        }
        _ => {
            return Err(Failure::refused(
                Code::SessionNotDone,
                format!(
                    "session {id} is {}; its decision is recorded when it is done or archived",
                    if state.ending.is_some() {
                        "abandoned".to_owned()
                    } else {
                        format!("at {}", state.stage)
                    }
                ),
            )
            .help(command!("status").session(&id)));
        }
    };
    Ok(Candidate {
        text,
        id: state.uid.clone(),
        session: Some(id),
        draft: None,
        branch,
    })
}

/// The other records that a promotion changes: the far side of each link of the draft.
fn far_sides(records: &[Record], new: &Record, path: &str) -> Result<BTreeMap<String, String>> {
    let me = Target::of(new).ok_or_else(|| {
        Failure::internal(
            Code::RecordUnnumbered,
            "a record was promoted without a number",
        )
    })?;
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for link in &new.links {
        let Some(other) = records.iter().find(|other| link.names(other)) else {
            return Err(Failure::refused(
                Code::LinkBroken,
                format!(
                    "{path}:{}: `{}` names a record that the target branch does not have",
                    link.line, link.verb
                ),
            )
            .help(command!("adr list")));
        };
        let text = texts.get(&other.file).unwrap_or(&other.text);
        let after = match (verb_key(&link.verb).as_str(), reverse(&link.verb)) {
            // What a record supersedes stands until the record is accepted.
            ("supersedes", _) if new.status != Some(Status::Accepted) => continue,
            ("supersedes", _) => {
                let at = format!("{path}:{}", link.line);
                supersede::require_free(records, other, new, &at)?;
                edit::supersede(text, me)
            }
            (_, Some(back)) => edit::add_link(text, back, me),
            (_, None) => continue,
        };
        texts.insert(other.file.clone(), after);
    }
    Ok(texts)
}

/// The tree with the texts in it, and what it changes.
fn edited(
    repo: &Repo,
    before: &Oid,
    edits: &BTreeMap<String, Option<String>>,
) -> Result<(Oid, checked_out::Changes)> {
    let mut entries = BTreeMap::new();
    let mut touched = checked_out::Changes::new();
    for (path, text) in edits {
        let text = text.as_ref();
        let blob = text
            .map(|text| repo.write_blob(text.as_bytes()))
            .transpose()?;
        let old = repo.entry_at(before, path)?.map(|entry| entry.id);
        entries.insert(path.clone(), blob.clone().map(git::Entry::blob));
        touched.insert(path.clone(), (old, blob));
    }
    Ok((repo.edit_tree(Some(before), &entries)?, touched))
}

/// A folder of decision records: its path, the records, and its files by name.
type Folder = (String, Vec<Record>, Vec<(String, Oid)>);

/// The folder of decision records with its records and files, as a tree has it.
fn folder_at(ctx: &Context, tree: Option<&Oid>, target: &str) -> Result<Folder> {
    let Some(tree) = tree else {
        return Ok((super::folder_path(ctx)?, Vec::new(), Vec::new()));
    };
    let policy = ctx.policy_at(tree, &format!("loopx.toml on {target}"))?;
    let folder = policy.paths.adr;
    let records = of_tree(&ctx.repo, tree, &folder)?;
    let there = tree_files(&ctx.repo, tree, &folder)?;
    Ok((folder, records, there))
}

/// Tells whether the commit of a record is signed: a decision is a word, and so is each commit that git signs with an
/// SSH key.
fn is_signed(ctx: &Context) -> bool {
    let by_git = || ctx.repo.config_bool("commit.gpgsign").unwrap_or(false);
    let is_ssh = || ctx.repo.config("gpg.format").as_deref() == Some("ssh");
    ctx.signs() || by_git() && is_ssh()
}

/// Tries once to put the record on the target branch. `None`: the branch moved, decide again.
fn land(
    scope: &Scope<'_>,
    request: Request<'_>,
    candidate: &Candidate,
    target: &str,
) -> Result<Option<Promoted>> {
    let ctx = scope.ctx;
    let repo = &ctx.repo;
    let target_ref = format!("refs/heads/{target}");
    let head = repo.head()?;
    let tip = tip_of(repo, (target, &target_ref), &head)?;
    let tree_of = |commit: &Oid| repo.commit_info(commit).map(|info| info.tree);
    let tree = tip.as_ref().map(tree_of).transpose()?;
    let (folder, records, files_there) = folder_at(ctx, tree.as_ref(), target)?;
    require_new(candidate, (&folder, &records), target)?;
    let there = (folder.as_str(), records.as_slice(), files_there.as_slice());
    let (new, mut edits) = promotion(repo, request, candidate, there)?;
    // The draft goes with the commit where the branch has it.
    if let (Some(draft), Some(tree)) = (&candidate.draft, &tree)
        && repo.entry_at(tree, &draft.path)?.is_some()
    {
        edits.insert(draft.path.clone(), None);
    }
    let before = match tree {
        Some(tree) => tree,
        None => repo.empty_tree()?,
    };
    let (tree, mut touched) = edited(repo, &before, &edits)?;
    if let Some(worktree) = checked_out::of(ctx, &target_ref)? {
        // git is asked about trees that are in memory so far.
        repo.keep(&before)?;
        repo.keep(&tree)?;
        let trees = (&before, &tree);
        worktree.require_free("adr promote", &touched, trees, Code::RecordDirty)?;
    }
    let head_tree = head.commit.as_ref().map(tree_of).transpose()?;
    let parents: Vec<Oid> = tip.iter().cloned().collect();
    let said = message(&new, candidate);
    let commit = if is_signed(ctx) {
        repo.write_signed_commit(&tree, &parents, &said, scope.identity)?
    } else {
        repo.write_commit(&tree, &parents, &said, scope.identity)?
    };
    let mut follows = vec![Step::Follow {
        changes: touched.clone(),
    }];
    let mut left = None;
    if let Some(draft) = &candidate.draft
        && !touched.contains_key(&draft.path)
    {
        match drop_draft(ctx, draft, head_tree.as_ref())? {
            Some(step) => follows.push(step),
            None => left = Some(draft.path.clone()),
        }
    }
    let entry = Entry::new("git loopx adr promote", &target_ref, &commit, follows);
    let why = format!("loopx: adr promote {}", new.label());
    if !scope.land(entry, tip.as_ref(), &why)? {
        return Ok(None);
    }
    let path = format!("{folder}/{}", new.file);
    touched.remove(&path);
    let is_filled = require_filled(&path, &new).is_ok();
    Ok(Some(Promoted {
        number: new.number.unwrap_or_default(),
        path,
        target: target.to_owned(),
        commit,
        session: candidate.session.clone(),
        touched: touched.into_keys().collect(),
        left,
        is_filled,
    }))
}

/// The commit that a record is promoted onto; nothing on a branch that is checked out and has no commit yet.
fn tip_of(
    repo: &Repo,
    (target, target_ref): (&str, &str),
    head: &git::Head,
) -> Result<Option<Oid>> {
    let tip = repo.find_ref(target_ref)?;
    if tip.is_none() && head.branch.as_deref() != Some(target) {
        return Err(Failure::not_found(
            Code::BranchUnknown,
            format!("there is no branch `{target}`"),
        )
        .help("name a code branch with --onto"));
    }
    Ok(tip)
}

/// Refuses a decision that the target has.
fn require_new(
    candidate: &Candidate,
    (folder, records): (&str, &[Record]),
    target: &str,
) -> Result<()> {
    let is_it = |record: &&Record| {
        !record.is_draft() && record.id.as_deref() == Some(candidate.id.as_str())
    };
    let Some(known) = records.iter().find(is_it) else {
        return Ok(());
    };
    Err(Failure::nothing(
        Code::PromotedAlready,
        format!("this decision is {folder}/{} on {target}", known.file),
    )
    .help(command!("adr show {}", known.label())))
}

/// The new record, and the texts that promoting makes, by path. `there` are the folder, its records and its
/// files as the branch has them.
pub(super) fn promotion(
    repo: &Repo,
    request: Request<'_>,
    candidate: &Candidate,
    (folder, records, files): (&str, &[Record], &[(String, Oid)]),
) -> Result<(Record, FileTexts)> {
    let number = adr::next_number(files.iter().map(|(file, _)| file.as_str()));
    let new = numbered(request, candidate, number, records)?;
    let mut texts = far_sides(records, &new, candidate.path())?;
    texts.insert(new.file.clone(), new.text.clone());
    let mut edits: FileTexts = texts
        .iter()
        .map(|(file, text)| (format!("{folder}/{file}"), Some(text.clone())))
        .collect();
    for (file, blob) in files {
        if !matches!(file.as_str(), "README.md" | "index.md") {
            continue;
        }
        let text = String::from_utf8_lossy(&repo.read_blob(blob)?).into_owned();
        if overview::has_index(&text) {
            let after = after(records, &texts);
            let path = format!("{folder}/{file}");
            let written = overview::write_index(&text, &path, &after)?;
            edits.insert(path, Some(written));
        }
    }
    Ok((new, edits))
}

fn numbered(
    request: Request<'_>,
    candidate: &Candidate,
    number: u32,
    records: &[Record],
) -> Result<Record> {
    let mut text = edit::set_meta(&candidate.text, "id", &candidate.id);
    if request.nygard && overview::is_madr(&text) {
        text = overview::to_nygard(&text, records);
    }
    text = edit::set_number(&text, number);
    if request.accept {
        super::require_filled(candidate.path(), &Record::read("", &text))?;
        text = edit::accept(&text, hash);
        let read = Record::read("", &text);
        if read.status != Some(Status::Accepted) || edit::holds(&read, hash) != Some(true) {
            return Err(Failure::refused(
                Code::StatusUnplaced,
                format!(
                    "{}: the status cannot be written: is a code fence open, or a link `superseded by` there?",
                    candidate.path()
                ),
            )
            .help("mend the draft, or promote it without --accept"));
        }
    }
    let title = Record::read("", &text).title;
    if title.is_empty() {
        return Err(Failure::refused(
            Code::TitleMissing,
            format!(
                "{}:1: expected a heading `# Title`, found none",
                candidate.path()
            ),
        )
        .help("write the title as the first heading, then promote again"));
    }
    let file = adr::file_name(number, &adr::slug(&title)?);
    Ok(Record::read(&file, &text))
}

/// The records as they are after the commit.
fn after(records: &[Record], texts: &BTreeMap<String, String>) -> Vec<Record> {
    let mut after: Vec<Record> = records
        .iter()
        .filter(|record| !texts.contains_key(&record.file))
        .cloned()
        .collect();
    after.extend(texts.iter().map(|(file, text)| Record::read(file, text)));
    super::sorted(after)
}

fn message(new: &Record, candidate: &Candidate) -> String {
    let mut text = format!(
        "Record ADR-{}: {}\n\n",
        new.label(),
        store::one_line(&new.title)
    );
    if let Some(session) = &candidate.session {
        text.push_str(&format!("Loopx-Session: {session}\n"));
    }
    text.push_str(&format!(
        "Loopx-Event: adr\nLoopx-Record: {}\n",
        candidate.id
    ));
    text
}

/// The step that takes a draft away which no commit has: its content is in the new commit. `None`: this
/// branch has it, and it stays.
fn drop_draft(ctx: &Context, draft: &Draft, head_tree: Option<&Oid>) -> Result<Option<Step>> {
    let repo = &ctx.repo;
    if let Some(tree) = head_tree
        && repo.entry_at(tree, &draft.path)?.is_some()
    {
        return Ok(None);
    }
    Ok(Some(Step::Remove {
        at: Worktree::here(repo),
        path: draft.path.clone(),
        blob: repo.hash_blob(&draft.bytes)?,
    }))
}
