//! Taking over a backlog of another program, our own JSON lines, or the TODO comments of the code: all of it or nothing,
//! in one commit. An issue that is here already, by its id or by where it came from, is left alone.

use super::change::{Ask, check};
use super::create::{self, New};
pub(crate) use super::later::Differs;
use super::same::Sources;
use super::{Names, Plan, Written, later, solution, tree, write};
use crate::flow::context::Context;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_rules::issue::foreign;
use loopx_rules::issue::foreign::{File, Finding, Format, Item, Mapped, Taken, Wishes, todos};
use loopx_rules::issue::plain::{BOUND, SOLUTIONS};
use loopx_rules::issue::{Issue, IssueId, KINDS, LinkKind, Place, Source, Status};
use loopx_rules::policy::BacklogPolicy;
use loopx_rules::roadmap::WAVE;
use loopx_store::Snapshot;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The largest file of code in which comments are looked for.
const LARGEST_CODE: u64 = 1 << 20;
/// Number of solutions that come with an issue.
const MOST_WAYS: usize = 100;
/// The number of faults that are told.
const MOST_FAULTS: usize = 50;

/// The place from which issues are imported.
#[derive(Clone, Debug)]
pub(crate) enum From {
    /// Stdin.
    Text(String),
    /// A file or a folder, as somebody typed it.
    Path(String),
    /// The comments of the code at HEAD, all of it or below one path.
    Todos(Option<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub from: From,
    pub format: Option<Format>,
    pub map: Vec<foreign::Wish>,
    /// A name that tells this backlog from another one of its format, whose ids are the same.
    pub source: Option<String>,
    /// Brings what the program changed of issues that are here.
    pub update: bool,
    pub dry_run: bool,
}

/// An issue that was taken over.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Came {
    pub issue: IssueId,
    pub title: String,
    /// The place of the issue in the file.
    pub at: String,
    /// The id of the issue in the other backlog.
    pub key: String,
}

/// The report on what became, or would become, of a backlog.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub format: String,
    pub dry_run: bool,
    pub new: Vec<Came>,
    /// The number of issues that are here already.
    pub here: usize,
    /// Changes that their program made to issues that are here: what it says otherwise than when it spoke last.
    pub changed: Vec<Differs>,
    /// Set when those changes were brought.
    pub updated: bool,
    /// Issues whose beginning was taken back here: they stay away.
    pub taken_back: Vec<IssueId>,
    /// Issues that stood in a queue there: they come as planned, and `issue queue form` orders them here.
    pub queued: Vec<IssueId>,
    /// Open issues whose comment is no longer in the code.
    pub gone: Vec<IssueId>,
    pub words: Vec<Mapped>,
    pub kept: BTreeMap<String, usize>,
    pub remarks: Vec<Finding>,
    pub commit: Option<Oid>,
    #[serde(skip)]
    pub names: Names,
}

impl Request {
    /// Words and kinds that are known to whoever reads the backlog.
    fn wishes(&self, policy: &BacklogPolicy) -> Wishes {
        let mut kinds: Vec<String> = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
        kinds.extend(policy.kinds.iter().cloned());
        Wishes {
            map: self.map.clone(),
            kinds,
            ..Wishes::default()
        }
    }

    /// The command of this import with these words mapped, where there are any.
    fn again(&self, wishes: &[String]) -> Option<Hint> {
        if wishes.is_empty() {
            return None;
        }
        self.command(wishes, "")
    }

    /// Command that brings what the other program changed, too.
    pub(crate) fn with_update(&self) -> Option<Hint> {
        self.command(&[], " --update")
    }

    fn command(&self, wishes: &[String], more: &str) -> Option<Hint> {
        let from = match &self.from {
            From::Path(path) => shell_word(path).to_string(),
            From::Text(_) => "-".to_owned(),
            From::Todos(_) => return None,
        };
        let format = self.format.map(|format| format!(" --format {format}"));
        let source = self.source.as_ref();
        let source = source.map(|name| format!(" --source {}", shell_word(name)));
        let told = self
            .map
            .iter()
            .map(|wish| format!("{}={}", wish.word, wish.value));
        let maps: String = told
            .chain(wishes.iter().cloned())
            .map(|wish| format!(" --map {}", shell_word(&wish)))
            .collect();
        Some(command!(
            "issue import {from}{}{}{maps}{more}",
            format.unwrap_or_default(),
            source.unwrap_or_default()
        ))
    }
}

/// Takes over a backlog.
pub(crate) fn import(ctx: &Context, request: &Request) -> Result<Report> {
    let policy = crate::flow::specs::policy(ctx)?.backlog;
    let (format, taken) = read(ctx, request, &request.wishes(&policy))?;
    let snapshot = ctx.store()?.snapshot()?;
    let mut sorting = sorted(ctx, &snapshot, request, (&format, taken), &policy.prefix)?;
    let mut changed = sorting.changed(&snapshot)?;
    if request.update {
        sorting.taken.faults.extend(later::faults(ctx, &changed));
    }
    let wishes = sorting.unmapped();
    if !sorting.taken.faults.is_empty() {
        let failure = refused(sorting.taken.faults);
        return Err(match request.again(&wishes) {
            Some(again) => failure.help(again),
            None => failure,
        });
    }
    let gone = match &request.from {
        From::Todos(under) => sorting.gone(ctx, under.as_deref())?,
        From::Text(_) | From::Path(_) => Vec::new(),
    };
    let mut names = Names::of(&snapshot)?;
    let brings = request.update && !changed.is_empty();
    let mut commit = None;
    if sorting.comes.contains(&true) || brings {
        let written = bring(ctx, &sorting, (request, &format));
        if let Some(written) = written.map_err(|failure| sorting.named(failure))? {
            commit = Some(written.commit);
            names = written.names;
            if request.update {
                changed = written.value;
                later::judged(&ctx.store()?.snapshot()?, &names, &mut changed)?;
            }
        } else {
            let new = sorting.coming().map(|(at, _)| sorting.ids[at].clone());
            names.add(&new.collect::<Vec<_>>());
        }
    }
    Ok(Report {
        updated: commit.is_some() && request.update && !changed.is_empty(),
        changed,
        new: sorting.came(),
        here: sorting.here,
        taken_back: sorting.taken_back,
        queued: sorting.queued,
        gone,
        words: sorting.taken.words,
        kept: sorting.taken.kept,
        remarks: sorting.taken.remarks,
        dry_run: request.dry_run,
        format,
        commit,
        names,
    })
}

/// The issues that were read, sorted by what is here, each with the states, solutions and links that it can have here.
fn sorted(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    request: &Request,
    (format, mut taken): (&str, Taken),
    prefix: &str,
) -> Result<Sorting> {
    if let Some(name) = &request.source {
        name_source(&mut taken, name);
    }
    let is = |one: Format| format == one.to_string();
    // A phase of a document is known by its number, whatever its title is.
    let is_same = request.update || is(Format::Roadmap);
    let mut sorting = Sorting::of(snapshot, prefix, (taken, is_same))?;
    sorting.ways();
    sorting.is_own = is(Format::Loopx);
    if sorting.is_own {
        sorting.settle(|_| true);
    } else if is(Format::Ccw) || is(Format::Roadmap) {
        // There, too, these follow from a solution; who has one in hand nobody says.
        sorting.settle(|status| matches!(status, Status::Planned | Status::Queued));
    }
    sorting.links();
    if is(Format::Roadmap) {
        sorting.waves();
    }
    sorting.check(ctx);
    Ok(sorting)
}

/// Tells a backlog by its name from another one of its format: whoever brings no ids of ours is known by both.
fn name_source(taken: &mut Taken, name: &str) {
    let foreign = taken
        .items
        .iter_mut()
        .filter(|item| item.plain.id.is_none());
    for source in foreign.filter_map(|item| item.plain.source.as_mut()) {
        source.system = format!("{}:{name}", source.system);
    }
}

/// Writes what comes and, where it is asked for, what the program changed: in one commit, or nothing. A dry run is
/// refused what the run would be, and writes nothing.
fn bring(
    ctx: &Context,
    sorting: &Sorting,
    (request, format): (&Request, &str),
) -> Result<Option<Written<Vec<Differs>>>> {
    let new = sorting.new_issues();
    let ids = create::ready(ctx, &new)?;
    let plan = |snapshot: &Snapshot<'_>| {
        let created = create::plan(snapshot, &new, &ids, Some(format))?;
        let changed = if request.update {
            sorting.changed(snapshot)?
        } else {
            Vec::new()
        };
        // What the program says goes first: it stands beside what was done here, and a link of now stands behind both.
        let mut steps = later::steps(ctx, snapshot, &changed, format)?;
        let what = if created.steps.is_empty() {
            format!("import again from {format}: {}", later::words(&changed))
        } else {
            created.what
        };
        steps.extend(created.steps);
        Ok(Plan {
            what,
            reason: None,
            steps,
            value: changed,
        })
    };
    if request.dry_run {
        return plan(&ctx.store()?.snapshot()?).map(|_| None);
    }
    write(ctx, |snapshot, _| plan(snapshot)).map(Some)
}

/// Reads what is to be taken over, and how it is called.
fn read(ctx: &Context, request: &Request, wishes: &Wishes) -> Result<(String, Taken)> {
    let found = match &request.from {
        From::Todos(under) => {
            let taken = comments(ctx, under.as_deref(), wishes)?;
            return Ok((todos::SYSTEM.to_owned(), taken));
        }
        From::Text(text) => {
            let file = File {
                name: "stdin".to_owned(),
                text: text.clone(),
            };
            tree::Found {
                format: tree::format_of(&file, request.format)?,
                files: vec![file],
                links: Vec::new(),
            }
        }
        From::Path(path) => tree::read(path, request.format)?,
    };
    let format = found.format;
    let evenings = match format {
        Format::Taskwarrior => foreign::evenings(&found.files),
        _ => BTreeMap::new(),
    };
    let wishes = Wishes {
        midnights: crate::flow::when::midnights(&evenings)?,
        ..wishes.clone()
    };
    let mut taken = foreign::read(format, &found.files, &wishes);
    let links = found.links.into_iter();
    taken.remarks.extend(links.map(|at| Finding {
        at,
        message: "it is a link, and is not followed".to_owned(),
    }));
    if taken.items.is_empty() && taken.faults.is_empty() {
        return Err(Failure::usage(
            Code::InputMissing,
            format!("expected issues of {format}, found none"),
        ));
    }
    Ok((format.to_string(), taken))
}

/// The comments of the code at HEAD.
fn comments(ctx: &Context, under: Option<&str>, wishes: &Wishes) -> Result<Taken> {
    let Some(commit) = ctx.repo.head()?.commit else {
        return Err(Failure::not_found(
            Code::ImportMissing,
            "there is no commit whose code could be read",
        ));
    };
    let tree = ctx.repo.commit_info(&commit)?.tree;
    let mut texts = Vec::new();
    for (path, blob) in ctx.repo.walk_blobs(&tree)? {
        if !is_under(&path, under) || ctx.repo.blob_size(&blob)? > LARGEST_CODE {
            continue;
        }
        let bytes = ctx.repo.read_blob(&blob)?;
        if !bytes.contains(&0)
            && let Ok(text) = String::from_utf8(bytes)
        {
            texts.push((path, text));
        }
    }
    if texts.is_empty()
        && let Some(under) = under
    {
        return Err(Failure::not_found(
            Code::ImportMissing,
            format!("there is no text at `{under}` in the code at HEAD"),
        )
        .help(command!("issue import --todos")));
    }
    let files = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    Ok(todos::read(files, Some(&commit), wishes))
}

/// A path of the code as somebody types it, from the top of the worktree.
pub(crate) fn code_path(ctx: &Context, typed: &str) -> String {
    let path = crate::flow::rules::typed_path(ctx, typed);
    let is_here = |part: &&str| !part.is_empty() && *part != ".";
    let parts: Vec<&str> = path.split('/').filter(is_here).collect();
    parts.join("/")
}

/// The branch of this worktree, as it is asked about comments that are gone.
struct Branch {
    head: Oid,
    tree: Oid,
}

impl Branch {
    /// Tells whether this branch had the comment once: the commit at which the comment was read is on the branch. Where
    /// that commit is not in this clone, the branch has the file of the comment; where nobody knows the commit, the
    /// answer is yes.
    fn had(&self, ctx: &Context, place: &Place) -> Result<bool> {
        if let Some(commit) = &place.commit
            && ctx.repo.contains(commit)?
        {
            return ctx.repo.is_ancestor(commit, &self.head);
        }
        Ok(ctx.repo.blob_at(&self.tree, &place.path)?.is_some() || place.commit.is_none())
    }
}

fn is_under(path: &str, under: Option<&str>) -> bool {
    let Some(under) = under else { return true };
    let under = under.trim_start_matches("./").trim_end_matches('/');
    let rest = path.strip_prefix(under);
    under.is_empty()
        || under == "."
        || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The issues that are to be taken over, sorted by what is here.
struct Sorting {
    taken: Taken,
    /// The id here of each item.
    ids: Vec<IssueId>,
    /// Marks of the items that come.
    comes: Vec<bool>,
    by_key: HashMap<String, usize>,
    sources: Sources,
    open: Vec<Issue>,
    known: HashSet<IssueId>,
    /// Items that are a part of another issue here.
    parts: HashSet<IssueId>,
    links: Vec<Vec<Ask>>,
    here: usize,
    taken_back: Vec<IssueId>,
    queued: Vec<IssueId>,
    /// Set when the items are JSON lines of our own.
    is_own: bool,
}

impl Sorting {
    fn of(
        snapshot: &Snapshot<'_>,
        prefix: &str,
        (mut taken, is_same): (Taken, bool),
    ) -> Result<Self> {
        let issues = snapshot.issues()?.issues;
        let known: HashSet<IssueId> = issues.iter().map(|issue| issue.id.clone()).collect();
        let is_part = |issue: &&Issue| issue.linked(LinkKind::Parent).next().is_some();
        let parts = issues
            .iter()
            .filter(is_part)
            .map(|one| one.id.clone())
            .collect();
        let mut folders: HashSet<IssueId> = HashSet::new();
        snapshot.issue_ids(|name| folders.extend(IssueId::parse(name)))?;
        let mut sorting = Sorting {
            ids: Vec::new(),
            comes: Vec::new(),
            by_key: HashMap::new(),
            sources: Sources::of(&issues, folders, is_same),
            open: issues
                .into_iter()
                .filter(|issue| !issue.status.is_final())
                .collect(),
            known,
            parts,
            links: vec![Vec::new(); taken.items.len()],
            here: 0,
            taken_back: Vec::new(),
            queued: Vec::new(),
            is_own: false,
            taken: Taken::default(),
        };
        for (at, item) in taken.items.iter().enumerate() {
            let (id, fault) = sorting.sources.id_of(snapshot, prefix, item)?;
            taken.faults.extend(fault);
            let is_there = sorting.sources.has_folder(&id);
            match (sorting.known.contains(&id), is_there) {
                (true, _) => sorting.here += 1,
                (false, true) => sorting.taken_back.push(id.clone()),
                (false, false) => {}
            }
            sorting.comes.push(!is_there);
            sorting
                .by_key
                .insert(item.plain.key.clone().unwrap_or_default(), at);
            sorting.ids.push(id);
        }
        sorting.taken = taken;
        Ok(sorting)
    }

    /// Keeps as data what can be no solution here, names the others, and takes what was queued out of the queue.
    fn ways(&mut self) {
        for (at, item) in self.taken.items.iter_mut().enumerate() {
            let mut left = Vec::new();
            for (number, mut way) in std::mem::take(&mut item.plain.ways).into_iter().enumerate() {
                if !solution::is_name(&way.proposal.name) || way.proposal.name.is_empty() {
                    way.proposal.name = format!("s{}", number + 1);
                }
                let checked = if number < MOST_WAYS {
                    solution::check(&way.proposal).map_err(|failure| failure.message)
                } else {
                    Err(format!("an issue can have at most {MOST_WAYS} solutions"))
                };
                match checked {
                    Ok(()) => item.plain.ways.push(way),
                    Err(why) => {
                        let name = &way.proposal.name;
                        let message = format!("{name} is kept as data: {why}");
                        left.push(json!(way.proposal));
                        if let Some(from) = way.proposal.from.filter(|_| way.bound) {
                            item.plain.kept.insert(BOUND.to_owned(), json!(from.id));
                        }
                        if self.comes[at] {
                            let at = item.at.clone();
                            self.taken.remarks.push(Finding { at, message });
                        }
                    }
                }
            }
            if !left.is_empty() {
                // The places of what they mend are those of another list now.
                item.plain.ways.iter_mut().for_each(|way| way.mends = None);
                *self.taken.kept.entry(SOLUTIONS.to_owned()).or_default() += 1;
                let kept = item.plain.kept.entry(SOLUTIONS.to_owned());
                if let Value::Array(all) = kept.or_insert_with(|| json!([])) {
                    all.extend(left);
                }
            }
            if item.plain.unqueue() && self.comes[at] {
                self.queued.push(self.ids[at].clone());
            }
        }
    }

    /// Gives what comes a status that it can have here, and says where that is another one.
    fn settle(&mut self, asks: impl Fn(Status) -> bool) {
        for (at, item) in self.taken.items.iter_mut().enumerate() {
            if !item.plain.status.is_some_and(&asks) {
                continue;
            }
            // Of what is here already the same is no news.
            let said = item.plain.settle().filter(|_| self.comes[at]);
            self.taken.remarks.extend(said.map(|message| Finding {
                at: item.at.clone(),
                message,
            }));
        }
    }

    /// The issue that a link names: in what is taken over, or here.
    fn other(&self, at: usize, to: &str) -> Option<IssueId> {
        if let Some(other) = self.by_key.get(to) {
            return Some(self.ids[*other].clone());
        }
        let system = self.taken.items[at].plain.source.as_ref()?.system.clone();
        let source = Source {
            system,
            id: to.to_owned(),
        };
        self.sources.only(&source).cloned()
    }

    /// Makes links between issues of which at least one comes. What names nothing is kept as data.
    fn links(&mut self) {
        for at in 0..self.taken.items.len() {
            let named = std::mem::take(&mut self.taken.items[at].plain.links);
            let mut dangling = Vec::new();
            let mut has_parent = false;
            for link in named {
                let place = self.taken.items[at].at.clone();
                let own = IssueId::parse(&link.to).filter(|id| self.known.contains(id));
                let other = self.other(at, &link.to).or(own);
                let Some(other) = other else {
                    self.taken.remarks.push(Finding {
                        at: place,
                        message: format!(
                            "{} {}: there is no such issue; the link is kept as data",
                            link.kind, link.to
                        ),
                    });
                    dangling.push(json!({ "kind": link.kind, "to": link.to }));
                    continue;
                };
                let mut ask = match Ask::of(&link.kind, other.as_str()) {
                    Ok(ask) => ask,
                    Err(failure) => {
                        let message = failure.message;
                        self.taken.faults.push(Finding { at: place, message });
                        continue;
                    }
                };
                if other == self.ids[at] {
                    // It says nothing, and must not hold back the rest.
                    self.taken.remarks.push(Finding {
                        at: place,
                        message: format!(
                            "an issue cannot be {} itself: the link is left out",
                            link.kind
                        ),
                    });
                    continue;
                }
                if ask.kind == LinkKind::Parent && !ask.reversed {
                    if has_parent {
                        ask.kind = LinkKind::Related;
                        self.taken.remarks.push(Finding {
                            at: place,
                            message: format!(
                                "it is a part of one issue: parent {} becomes related",
                                link.to
                            ),
                        });
                    }
                    has_parent = true;
                }
                self.ask(at, &other, ask);
            }
            if !dangling.is_empty() {
                let plain = &mut self.taken.items[at].plain;
                plain.kept.insert("links".to_owned(), dangling.into());
            }
        }
    }

    /// Gives a link to the issue that comes: where it is of one that is here, the one that comes asks for it.
    fn ask(&mut self, at: usize, other: &IssueId, ask: Ask) {
        if self.comes[at] {
            self.links[at].push(ask);
            return;
        }
        let is_second = ask.kind == LinkKind::Parent && !ask.reversed;
        if is_second && self.parts.contains(&self.ids[at]) {
            let message = format!(
                "{} is here already, as a part of another issue: it stays there",
                self.ids[at]
            );
            let at = self.taken.items[at].at.clone();
            return self.taken.remarks.push(Finding { at, message });
        }
        let other = self.ids.iter().position(|id| id == other);
        if let Some(other) = other.filter(|other| self.comes[*other]) {
            let turned = Ask {
                reversed: !ask.reversed,
                other: self.ids[at].to_string(),
                ..ask
            };
            self.links[other].push(turned);
        }
    }

    /// Says of open issues that are here already which waves they are not in.
    fn waves(&mut self) {
        for (at, item) in self
            .taken
            .items
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.comes[*at])
        {
            let here = self.open.iter().find(|one| one.id == self.ids[at]);
            let waves = item
                .plain
                .labels
                .iter()
                .filter(|label| label.starts_with(WAVE));
            for wave in waves {
                if let Some(one) = here.filter(|one| !one.labels.contains(wave)) {
                    self.taken.remarks.push(Finding {
                        at: item.at.clone(),
                        message: format!("{} is here already, and not in {wave}", one.id),
                    });
                }
            }
        }
    }

    /// Checks each field of what comes.
    fn check(&mut self, ctx: &Context) {
        for (at, item) in self.taken.items.iter().enumerate() {
            if !self.comes[at] {
                continue;
            }
            for change in item.plain.changes() {
                if let Err(failure) = check(ctx, &change) {
                    self.taken.faults.push(Finding {
                        at: item.at.clone(),
                        message: failure.message,
                    });
                }
            }
        }
    }

    /// Refuses words of what comes for which nobody says what they become; gives what to say. What is here already has
    /// become something.
    fn unmapped(&mut self) -> Vec<String> {
        let here: HashSet<&str> = (self.taken.items.iter().zip(&self.comes))
            .filter(|(_, comes)| !**comes)
            .map(|(item, _)| item.at.as_str())
            .collect();
        let mut wishes = Vec::new();
        for one in &self.taken.unmapped {
            if here.contains(one.fault.at.as_str()) {
                continue;
            }
            self.taken.faults.push(one.fault.clone());
            if !wishes.contains(&one.wish) {
                wishes.push(one.wish.clone());
            }
        }
        wishes
    }

    /// News of what is here already. Our own lines bring none: their source is where an issue came from first, and not
    /// whoever wrote the lines.
    fn changed(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Differs>> {
        let mut found = Vec::new();
        if self.is_own {
            return Ok(found);
        }
        for (at, item) in self.taken.items.iter().enumerate() {
            if self.known.contains(&self.ids[at]) {
                found.extend(later::differs(snapshot, &self.ids[at], item)?);
            }
        }
        Ok(found)
    }

    /// The issues whose comment is no longer in the code.
    fn gone(&self, ctx: &Context, under: Option<&str>) -> Result<Vec<IssueId>> {
        let is_gone = |issue: &&Issue| {
            let is_todo = issue
                .source
                .as_ref()
                .is_some_and(|source| source.system == todos::SYSTEM);
            let place = issue.place.as_ref();
            is_todo
                && place.is_some_and(|place| is_under(&place.path, under))
                && !self.ids.contains(&issue.id)
        };
        let mut gone = Vec::new();
        let Some(head) = ctx.repo.head()?.commit else {
            return Ok(gone);
        };
        let tree = ctx.repo.commit_info(&head)?.tree;
        let branch = Branch { head, tree };
        for issue in self.open.iter().filter(is_gone) {
            if let Some(place) = &issue.place
                && branch.had(ctx, place)?
            {
                gone.push(issue.id.clone());
            }
        }
        Ok(gone)
    }

    fn coming(&self) -> impl Iterator<Item = (usize, &Item)> {
        let items = self.taken.items.iter().enumerate();
        items.filter(|(at, _)| self.comes[*at])
    }

    fn new_issues(&self) -> Vec<New> {
        self.coming()
            .map(|(at, item)| New {
                at: None,
                key: Some(self.ids[at].to_string()),
                id: Some(self.ids[at].clone()),
                changes: item.plain.changes(),
                links: self.links[at].clone(),
                reason: item.plain.reason.clone(),
                ways: item.plain.ways.clone(),
            })
            .collect()
    }

    fn came(&self) -> Vec<Came> {
        self.coming()
            .map(|(at, item)| Came {
                issue: self.ids[at].clone(),
                title: item.plain.title.clone(),
                at: item.at.clone(),
                key: item.plain.key.clone().unwrap_or_default(),
            })
            .collect()
    }

    /// A failure in the words of whoever knows the issues by their ids there.
    fn named(&self, mut failure: Failure) -> Failure {
        for (at, item) in self.coming() {
            let id = self.ids[at].as_str();
            if failure.message.contains(id) {
                let key = item.plain.key.as_deref().unwrap_or(id);
                let there = format!("{key} ({})", item.at);
                failure.message = failure.message.replace(id, &there);
                // What it helps to look at is not there yet.
                failure.help = Some(command!("help issue import"));
            }
        }
        failure
    }
}

/// The refusal of an import, with each fault and its place: nothing is taken over.
fn refused(faults: Vec<Finding>) -> Failure {
    let all = faults.len();
    let blockers = faults.into_iter().take(MOST_FAULTS).map(|fault| {
        Blocker::new(
            Code::IssueImportInvalid,
            format!("{}: {}", fault.at, fault.message),
            "",
        )
    });
    let more = match all.checked_sub(MOST_FAULTS) {
        Some(more) if more > 0 => format!(", the first {MOST_FAULTS} are told"),
        _ => String::new(),
    };
    let things = if all == 1 { "thing is" } else { "things are" };
    Failure::refused(
        Code::IssueImportInvalid,
        format!("nothing was taken over: {all} {things} wrong{more}"),
    )
    .blockers(blockers.collect())
    .help(command!("help issue import"))
}
