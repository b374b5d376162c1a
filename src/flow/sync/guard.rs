//! Secrets that a push would send for the first time: the guard looks through the content before anything leaves.

use super::super::context::Context;
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_base::redaction::typed;
use loopx_base::secrets;
use loopx_base::secrets::Hit;
use loopx_git::Repo;
use loopx_rules::policy::FILE as POLICY_FILE;
use loopx_rules::session::is_state_file;
use loopx_store::{Blobs, brought};
use std::collections::BTreeSet;

/// The setting that lets one through: `FINGERPRINT REASON`, as often as needed.
const ALLOW: &str = "loopx.allowSecret";
/// Hits that are shown.
const SHOWN: usize = 20;

/// A credential that nobody has let through.
pub(in super::super) struct Found {
    pub(in super::super) path: String,
    pub(in super::super) hit: Hit,
    print: String,
}

/// The credentials in some blobs, as they stand there and as they were typed before JSON wrote them otherwise.
pub(in super::super) fn credentials(ctx: &Context, blobs: &Blobs) -> Result<Vec<Found>> {
    // Asked for only where there is something to let through.
    let mut allowed = None;
    let mut found = Vec::new();
    for (blob, paths) in blobs {
        // Computed from the operations, which are looked through.
        let Some(path) = paths.iter().find(|path| !is_state_file(path)) else {
            continue;
        };
        let bytes = ctx.repo.read_blob(blob)?;
        let is_json = path.ends_with(".json") || path.ends_with(".jsonl");
        let typed = is_json.then(|| typed(&bytes)).flatten();
        let hits = match &typed {
            Some(strings) => typed_hits(&bytes, strings),
            None => secrets::scan(&bytes),
        };
        for hit in hits {
            let print = fingerprint(&ctx.repo, hit.secret())?;
            let allowed = match &mut allowed {
                Some(known) => known,
                unknown => unknown.insert(self::allowed(ctx)?),
            };
            if !allowed.contains(&print) {
                let path = path.clone();
                found.push(Found { path, hit, print });
            }
        }
    }
    Ok(found)
}

/// The credentials in JSON: of the bytes, where somebody typed them, and of each string as it was typed.
fn typed_hits(bytes: &[u8], strings: &[(usize, String)]) -> Vec<Hit> {
    let mut hits = secrets::scan(bytes);
    hits.retain(|hit| {
        let text = hit.secret();
        !hit.is_key() && strings.iter().any(|(_, string)| string.contains(text))
    });
    let mut add = |mut hit: Hit, line: usize| {
        if !hits.iter().any(|one| one.secret() == hit.secret()) {
            hit.line = line;
            hits.push(hit);
        }
    };
    for (line, string) in strings {
        for hit in secrets::scan(string.as_bytes()) {
            add(hit, *line);
        }
    }
    // The words of a command are strings of their own.
    for pair in strings.windows(2) {
        let [(_, option), (line, value)] = pair else {
            continue;
        };
        if option.starts_with("--") && !option.contains('\n') {
            for hit in secrets::scan(format!("{option}\n{value}").as_bytes()) {
                add(hit, *line);
            }
        }
    }
    hits
}

/// Refuses where a blob that `known` do not have carries a credential that nobody has let through.
pub(in super::super) fn require_no_secrets(ctx: &Context, tip: &Oid, known: &[Oid]) -> Result<()> {
    let blobs = brought(&ctx.repo, std::slice::from_ref(tip), known)?;
    let found = credentials(ctx, &blobs)?;
    let Some(first) = found.first() else {
        return Ok(());
    };
    let first = &first.print;
    let blockers = found.iter().take(SHOWN).map(|Found { path, hit, print }| {
        Blocker::new(
            Code::SecretFound,
            format!(
                "{}:{}: {} (fingerprint {print})",
                described(path),
                hit.line,
                hit.kind
            ),
            format!("git config --add {ALLOW} \"{print} WHY\""),
        )
    });
    Err(Failure::refused(
        Code::SecretFound,
        format!(
            "{} would be pushed; nothing was",
            counted(found.len(), "credential")
        ),
    )
    .blockers(blockers.collect())
    .help(
        command!("redact --dry-run").note(format!(
            "(takes what is real out of what was not pushed; what is none: git config --add {ALLOW} \"{first} WHY\")"
        )),
    ))
}

/// `session demo, spec.md`.
pub(in super::super) fn described(path: &str) -> String {
    let mut parts = path.split('/');
    match parts.next() {
        Some("sessions") => {}
        Some("archive") => drop(parts.next()),
        _ => return path.to_owned(),
    }
    // Where there are many sessions, each is in a folder of its own kind.
    let mut parts = parts.skip_while(|part| Fanout::Names.is_folder(part));
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
