//! `redact`: credentials and other texts taken out of what no remote has yet, in all of the unpushed history.
//!
//! What was pushed is out of reach: it is named, so that it gets revoked.

use super::context::Context;
use super::sync::follow;
use super::sync::guard::{credentials, described};
use super::workcopy::FOLDER;
use super::write_scope::Opening;
use loopx_base::failpoint::fail;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_base::redaction::{LEAST, Texts, typed};
use loopx_base::{counted, shell_word};
use loopx_git::Repo;
use loopx_rules::outline::header::cell;
use loopx_rules::session::is_state_file;
use loopx_store::audit_cache::Memory;
use loopx_store::check;
use loopx_store::check::Signed;
use loopx_store::{Blobs, Redacted, Snapshot, Store, brought, redacted};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Arguments of `redact`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// A text to take out beside what looks like a credential.
    pub text: Option<Vec<u8>>,
    pub dry_run: bool,
    /// Set when signatures over what changes may go.
    pub drop_signatures: bool,
}

/// A place where a text stands, by words for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Place {
    pub file: String,
    pub line: usize,
}

/// An approval whose content is another now.
#[derive(Debug, Serialize)]
pub(crate) struct Approval {
    pub session: String,
    pub transition: String,
    pub by: String,
}

/// Result of a redaction.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub dry_run: bool,
    /// Tip of the sessions' branch before; the next field has the tip after, or the one that a dry run would leave.
    pub before: Oid,
    pub tip: Oid,
    /// Commits that are others now.
    pub commits: usize,
    pub places: Vec<Place>,
    /// Places on a remote that hold the text too.
    pub pushed: Vec<Place>,
    /// Records that somebody had signed.
    pub unsigned: Vec<String>,
    pub approvals: Vec<Approval>,
    /// Refs that still lead to the old commits.
    pub refs: Vec<String>,
    /// Files of this worktree that still have a text.
    pub files: Vec<String>,
    /// The commands that make git forget what is not led to any more.
    pub forget: Vec<String>,
}

/// Takes texts out of the unpushed history.
pub(crate) fn redact(ctx: &Context, request: &Request) -> Result<Report> {
    let store = ctx.store()?;
    store.require_undisturbed()?;
    let opening = if request.dry_run {
        None
    } else {
        Some(Opening::of(ctx)?)
    };
    let before = store.snapshot()?.commit().clone();
    let known = pushed_tips(&ctx.repo)?;
    let mut blobs = brought(&ctx.repo, std::slice::from_ref(&before), &known)?;
    let old = brought(&ctx.repo, &known, &[])?;
    blobs.retain(|blob, _| !old.contains_key(blob));
    let texts = texts(ctx, request, &blobs, &old)?;
    let places = places(&ctx.repo, &blobs, &texts)?;
    let pushed = self::places(&ctx.repo, &old, &texts)?;
    if places.is_empty() {
        let mut paths = blobs.values().flatten();
        let named = paths.find(|path| texts.is_in_name(path));
        return Err(match named {
            Some(path) => stays(path),
            None if pushed.is_empty() => nothing(),
            None => is_pushed(&pushed),
        });
    }
    let made = redacted(&ctx.repo, (&before, &known), &texts, &blobs)?;
    let tip = made.tip.clone().unwrap_or_else(|| before.clone());
    if !request.drop_signatures {
        require_unsigned(&made)?;
    }
    require_whole(&store, (&before, &tip), (&known, &old), &texts)?;
    let mut report = Report {
        dry_run: request.dry_run,
        commits: made.commits,
        places,
        pushed,
        unsigned: made.unsigned.iter().map(record).collect(),
        approvals: approvals(&made),
        refs: Vec::new(),
        files: Vec::new(),
        forget: Vec::new(),
        before,
        tip,
    };
    if let Some(opening) = opening {
        store.replace(&opening.lock, &report.before, &report.tip)?;
        let what = ("git loopx redact", &report.tip);
        follow(&opening.scope(ctx), what, Some(&report.before));
        store.drop_disposable();
        report.files = files(&ctx.repo, &texts);
        // The texts are out: who cannot say what else has them has not failed.
        let said = "the texts are taken out of the sessions' branch";
        let found = refs(&ctx.repo, &store, &made);
        let left = (said, "the look for refs that still lead to them");
        let help = Hint::git("for-each-ref");
        report.refs = ctx.follow(left, help, found).unwrap_or_default();
    } else {
        report.refs = refs(&ctx.repo, &store, &made)?;
    }
    report.forget = forget(&ctx.repo, &store);
    Ok(report)
}

/// Tips of the remotes' branches of sessions, under whatever name, as git last heard of them.
fn pushed_tips(repo: &Repo) -> Result<Vec<Oid>> {
    let is_ours = |name: &str, tip: &Oid| Snapshot::at(repo, tip.clone(), name).is_ok();
    let found = repo.refs_below("refs/remotes/")?.into_iter();
    let found = found.filter(|(name, tip)| is_ours(name, tip));
    let found: BTreeSet<Oid> = found.map(|(_, tip)| tip).collect();
    Ok(found.into_iter().collect())
}

/// Texts that are to be taken out.
fn texts(ctx: &Context, request: &Request, blobs: &Blobs, old: &Blobs) -> Result<Texts> {
    let mut texts = Texts::default();
    for found in credentials(ctx, blobs)? {
        texts.add_hit(&found.hit);
    }
    if let Some(bytes) = &request.text {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let text = text.trim_matches(['\r', '\n']);
        if text.trim().len() < LEAST {
            return Err(Failure::usage(
                Code::RedactionTextInvalid,
                format!(
                    "expected a text of at least {LEAST} bytes in UTF-8, found {}",
                    counted(bytes.len(), "byte")
                ),
            )
            .help(
                command!("redact --dry-run").note("(finds what looks like a credential by itself)"),
            ));
        }
        forms(text).iter().for_each(|form| texts.add(form));
    }
    if !texts.is_empty() {
        return Ok(texts);
    }
    let mut found = Vec::new();
    for one in credentials(ctx, old)? {
        found.push(Place {
            file: described(&one.path),
            line: one.hit.line,
        });
    }
    if found.is_empty() {
        Err(nothing())
    } else {
        Err(is_pushed(&found))
    }
}

/// A text as it is, and as it stands where the program wrote it anew: on one line, in a cell of a table, as a word of a
/// command.
fn forms(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut forms = BTreeSet::new();
    for form in [text.to_owned(), words.join(" ")] {
        forms.extend([
            cell(&form),
            form.replace('|', "\\|"),
            shell_word(&form),
            form.replace('\'', "'\\''"),
        ]);
        forms.extend(shlex::try_quote(&form).map(std::borrow::Cow::into_owned));
        forms.insert(form);
    }
    forms
}

/// Places in which the texts stand.
fn places(repo: &Repo, blobs: &Blobs, texts: &Texts) -> Result<Vec<Place>> {
    let mut found = BTreeSet::new();
    for (blob, paths) in blobs {
        let Some(path) = paths.iter().find(|path| !is_state_file(path)) else {
            continue;
        };
        let bytes = repo.read_blob(blob)?;
        let mut lines = texts.lines(&bytes);
        if lines.is_empty() && path.ends_with(".json") {
            let typed = typed(&bytes).unwrap_or_default();
            let mut typed = typed.iter();
            let has = typed.any(|(_, text)| texts.taken_out_of(text).is_some());
            lines.extend(has.then_some(1));
        }
        found.extend(lines.into_iter().map(|line| Place {
            file: described(path),
            line,
        }));
    }
    Ok(found.into_iter().collect())
}

fn nothing() -> Failure {
    Failure::nothing(
        Code::NothingToRedact,
        "nothing to redact was found in what was not pushed yet",
    )
    .help(
        command!("redact --text-from - --dry-run")
            .note("(reads a text that looks like no credential)"),
    )
}

fn is_pushed(places: &[Place]) -> Failure {
    let shown = places.iter().take(20).map(|place| {
        let Place { file, line } = place;
        Blocker::new(
            Code::SecretPushed,
            format!("{file}:{line}"),
            "revoke it where it was issued",
        )
    });
    Failure::refused(
        Code::SecretPushed,
        "a remote has the text already, and what was pushed is not made again: others have it",
    )
    .blockers(shown.collect())
    .help("revoke the secret where it was issued")
}

fn record((session, file): &(String, String)) -> String {
    described(&format!("{session}/ops/{file}"))
}

fn approvals(made: &Redacted) -> Vec<Approval> {
    let all = made.approvals.iter();
    all.map(|(session, transition, by)| Approval {
        session: session.rsplit('/').next().unwrap_or(session).to_owned(),
        transition: transition.clone(),
        by: by.clone(),
    })
    .collect()
}

/// Refuses to take a text out of what somebody signed.
fn require_unsigned(made: &Redacted) -> Result<()> {
    if made.unsigned.is_empty() {
        return Ok(());
    }
    let blockers = made.unsigned.iter().map(|one| {
        Blocker::new(
            Code::RedactionSigned,
            format!("{} is signed", record(one)),
            command!("redact --drop-signatures"),
        )
    });
    Err(Failure::refused(
        Code::RedactionSigned,
        format!(
            "{} would change, and a signature does not hold for changed text",
            counted(made.unsigned.len(), "signed record")
        ),
    )
    .blockers(blockers.collect())
    .help(command!("redact --drop-signatures").note("(whoever signed them signs again)")))
}

fn unfit(what: String) -> Failure {
    Failure::refused(Code::RedactionUnfit, what)
        .help("revoke the secret; nothing was changed here, and nothing was pushed")
}

/// Refusal of a text that is part of a path.
fn stays(path: &str) -> Failure {
    let folder = path.split('/').next().unwrap_or_default();
    unfit(format!(
        "the text is part of a name below {folder}/, and names stay"
    ))
}

/// Refuses a history that still has a text, or that has damage which the old one had not.
fn require_whole(
    store: &Store<'_>,
    (before, tip): (&Oid, &Oid),
    (known, old): (&[Oid], &Blobs),
    texts: &Texts,
) -> Result<()> {
    let repo = store.repo();
    for (blob, paths) in brought(repo, std::slice::from_ref(tip), known)? {
        if let Some(path) = paths.iter().find(|path| texts.is_in_name(path)) {
            return Err(stays(path));
        }
        if !old.contains_key(&blob)
            && let Some(path) = paths.first()
            && texts.taken_out(&repo.read_blob(&blob)?).is_some()
        {
            return Err(unfit(format!(
                "{}: the text is part of what git loopx itself reads there",
                described(path)
            )));
        }
    }
    let damages = |commit: &Oid| {
        let snapshot = Snapshot::at(repo, commit.clone(), store.branch())?;
        let mut memory = Memory::of(store);
        check::check(repo, &snapshot, &mut memory, |_, _| Ok(Signed::Unchecked))
    };
    let had = damages(before)?.damages.len();
    let has = damages(tip)?.damages;
    match has.get(had) {
        None => Ok(()),
        Some(damage) => Err(unfit(format!("{}: {}", damage.session, damage.what))),
    }
}

/// The refs from which an old commit can be reached.
fn refs(repo: &Repo, store: &Store<'_>, made: &Redacted) -> Result<Vec<String>> {
    fail("kept-read").map_err(|error| loopx_git::unreadable(Path::new("refs"), &error))?;
    let own = [store.branch_ref(), store.shadow_ref()];
    let mut found = Vec::new();
    for (name, tip) in repo.refs_below("refs/")? {
        let leads = |old: &Oid| repo.is_ancestor(old, &tip).unwrap_or(false);
        if !own.contains(&name) && made.first.iter().any(leads) {
            found.push(name);
        }
    }
    Ok(found)
}

/// The commands that make git forget the old commits, after which nothing of this repository has them.
fn forget(repo: &Repo, store: &Store<'_>) -> Vec<String> {
    let mut names = store.branch_ref();
    // Only where git was told to keep a log of every ref.
    let shadow = store.shadow_ref();
    if repo.common_dir().join("logs").join(&shadow).is_file() {
        names = format!("{names} {shadow}");
    }
    vec![
        format!("git reflog expire --expire=now {names}"),
        "git gc --prune=now".to_owned(),
    ]
}

/// Files of this worktree's sessions, and of this program in the git dir, that have one of the texts.
fn files(repo: &Repo, texts: &Texts) -> Vec<String> {
    let top = repo.work_dir().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    let mut folders = vec![repo.common_dir().join("loopx")];
    folders.extend(repo.work_dir().map(|top| top.join(FOLDER)));
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && has(&path, texts) => {
                    let shown = path.strip_prefix(top).unwrap_or(&path);
                    found.push(shown.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn has(path: &Path, texts: &Texts) -> bool {
    std::fs::read(path).is_ok_and(|bytes| texts.taken_out(&bytes).is_some())
}
