//! Nothing secret leaves: what a push would send for the first time is looked through before it does.

use super::super::context::Context;
use crate::core::counted;
use crate::core::failure::{Blocker, Code, Failure, Result};
use crate::core::id::Oid;
use crate::core::policy::FILE as POLICY_FILE;
use crate::core::secrets;
use crate::core::shelf::Shelf;
use crate::git::{EntryKind, Repo};
use crate::store;
use std::collections::{BTreeMap, BTreeSet};

/// The setting that lets one through: `FINGERPRINT REASON`, as often as needed.
const ALLOW: &str = "loopx.allowSecret";
/// Hits that are shown.
const SHOWN: usize = 20;

/// Refuses where a blob that `known` do not have carries a credential that nobody has let through.
pub(super) fn require_no_secrets(ctx: &Context, tip: &Oid, known: &[Oid]) -> Result<()> {
    // Asked for only where there is something to let through.
    let mut allowed = None;
    let mut blockers = Vec::new();
    let mut first = None;
    for (blob, path) in new_blobs(&ctx.repo, tip, known)? {
        // Computed from the operations, which are looked through.
        if path.ends_with("/state.json") {
            continue;
        }
        for hit in secrets::scan(&ctx.repo.read_blob(&blob)?) {
            let print = fingerprint(&ctx.repo, hit.secret())?;
            let allowed = match &mut allowed {
                Some(known) => known,
                unknown => unknown.insert(self::allowed(ctx)?),
            };
            if allowed.contains(&print) {
                continue;
            }
            first.get_or_insert_with(|| print.clone());
            blockers.push(Blocker::new(
                Code::SecretFound,
                format!(
                    "{}:{}: {} (fingerprint {print})",
                    described(&path),
                    hit.line,
                    hit.kind
                ),
                format!("git config --add {ALLOW} \"{print} WHY\""),
            ));
        }
    }
    let Some(first) = first else {
        return Ok(());
    };
    let count = blockers.len();
    blockers.truncate(SHOWN);
    Err(Failure::refused(
        Code::SecretFound,
        format!(
            "{} would be pushed; nothing was",
            counted(count, "credential")
        ),
    )
    .blockers(blockers)
    .help(format!(
        "withdraw what is real, for history keeps it; what is none: git config --add {ALLOW} \"{first} WHY\""
    )))
}

/// `session demo, spec.md`.
fn described(path: &str) -> String {
    let mut parts = path.split('/');
    match parts.next() {
        Some("sessions") => {}
        Some("archive") => drop(parts.next()),
        _ => return path.to_owned(),
    }
    // Where there are many sessions, each is in a folder of its own kind.
    let mut parts = parts.skip_while(|part| Shelf::Names.is_folder(part));
    let session = parts.next().unwrap_or_default();
    let file: Vec<&str> = parts.collect();
    format!("session {session}, {}", file.join("/"))
}

/// Says nothing of the secret, and is the same in every clone.
fn fingerprint(repo: &Repo, secret: &str) -> Result<String> {
    let id = repo.hash_blob(format!("loopx secret {secret}").as_bytes())?;
    Ok(id.as_str()[..16].to_owned())
}

/// Fingerprints that somebody let through, with a reason: in git's configuration or in the policy.
fn allowed(ctx: &Context) -> Result<BTreeSet<String>> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    entries.extend(
        ctx.repo
            .config_all(ALLOW)?
            .into_iter()
            .map(|value| (ALLOW, value)),
    );
    if let Some(head) = ctx.repo.head()?.commit {
        let tree = ctx.repo.commit_info(&head)?.tree;
        let policy = ctx.policy_at(&tree, &format!("{POLICY_FILE} at HEAD"))?;
        let allow = policy.secrets.allow.into_iter();
        entries.extend(allow.map(|value| ("secrets.allow", value)));
    }
    let mut allowed = BTreeSet::new();
    for (place, entry) in entries {
        match entry.trim().split_once(char::is_whitespace) {
            Some((print, reason)) if !reason.trim().is_empty() => {
                allowed.insert(print.to_owned());
            }
            _ => {
                return Err(Failure::usage(
                    Code::AllowSecretInvalid,
                    format!("{place}: expected `FINGERPRINT REASON`, found `{entry}`"),
                )
                .help("say why it is none, behind the fingerprint"));
            }
        }
    }
    Ok(allowed)
}

/// The blobs that commits bring which nobody there has, each with the first path that it had.
fn new_blobs(repo: &Repo, tip: &Oid, known: &[Oid]) -> Result<BTreeMap<Oid, String>> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for commit in repo.range(tip, known, usize::MAX)? {
        let info = repo.commit_info(&commit)?;
        let parents = info
            .parents
            .iter()
            .map(|parent| repo.commit_info(parent).map(|info| info.tree))
            .collect::<Result<Vec<Oid>>>()?;
        compare(repo, "", &info.tree, &parents, &mut seen, &mut found)?;
    }
    Ok(found)
}

fn compare(
    repo: &Repo,
    prefix: &str,
    tree: &Oid,
    parents: &[Oid],
    seen: &mut BTreeSet<Oid>,
    found: &mut BTreeMap<Oid, String>,
) -> Result<()> {
    if parents.contains(tree) || !seen.insert(tree.clone()) {
        return Ok(());
    }
    let trees: Vec<&Oid> = std::iter::once(tree).chain(parents).collect();
    let mut lists = store::comparable(repo, prefix.trim_end_matches('/'), &trees)?;
    let now = lists.remove(0);
    let before: Vec<BTreeMap<_, _>> = lists
        .into_iter()
        .map(|list| list.into_iter().collect())
        .collect();
    for (name, entry) in now {
        let path = format!("{prefix}{name}");
        let same: Vec<&crate::git::Entry> =
            before.iter().filter_map(|list| list.get(&name)).collect();
        if same.iter().any(|known| **known == entry) {
            continue;
        }
        match entry.kind {
            EntryKind::Blob => {
                found.entry(entry.id).or_insert(path);
            }
            EntryKind::Tree => {
                let trees = same.iter().filter(|known| known.kind == EntryKind::Tree);
                let trees: Vec<Oid> = trees.map(|known| known.id.clone()).collect();
                compare(repo, &format!("{path}/"), &entry.id, &trees, seen, found)?;
            }
            EntryKind::Other => {}
        }
    }
    Ok(())
}
