//! Taking over a backlog of another program, our own JSON lines, or the TODO comments of the code: all of it or nothing,
//! in one commit. An issue that is here already, by its id or by where it came from, is left alone.

mod sorting;

use super::create;
pub(crate) use super::later::Differs;
use super::{Names, Plan, Written, later, tree, write};
use crate::flow::context::Context;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_rules::issue::foreign;
use loopx_rules::issue::foreign::{File, Finding, Format, Mapped, Taken, Wishes, todos};
use loopx_rules::issue::{IssueId, KINDS, Status};
use loopx_rules::policy::BacklogPolicy;
use loopx_store::Snapshot;
use serde::Serialize;
use sorting::Sorting;
use std::collections::BTreeMap;

/// The largest file of code in which comments are looked for.
const LARGEST_CODE: u64 = 1 << 20;
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

fn is_under(path: &str, under: Option<&str>) -> bool {
    let Some(under) = under else { return true };
    let under = under.trim_start_matches("./").trim_end_matches('/');
    let rest = path.strip_prefix(under);
    under.is_empty()
        || under == "."
        || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
