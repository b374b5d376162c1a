//! Changelog fragments: reads those of the worktree, and puts them into the changelog, for a person to
//! commit. Archive writes them.

use super::context::Context;
use super::{files, specs};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::policy::is_inside;
use loopx_spec::changelog;
use loopx_spec::changelog::Entries;
use std::path::Path;

/// The fragments of the worktree, joined.
#[derive(Debug)]
pub(crate) struct Collected {
    /// Paths from the top of the worktree.
    pub fragments: Vec<String>,
    pub entries: Entries,
    /// The changelog that took the fragments in.
    pub written: Option<String>,
}

/// Reads every fragment; with `into`, puts them into that file and removes them.
pub(crate) fn collect(ctx: &Context, into: Option<&str>) -> Result<Collected> {
    let folder = specs::policy(ctx)?.changelog.fragments;
    if folder.is_empty() {
        return Err(Failure::refused(
            Code::ChangelogOff,
            "policy names no folder of changelog fragments",
        )
        .help("in loopx.toml: [changelog] fragments = \"changelog.d\""));
    }
    let top = ctx.repo.work_dir().ok_or_else(|| {
        Failure::usage(Code::WorktreeRequired, "fragments are read from a worktree")
    })?;
    if let Some(into) = into {
        require_inside(into)?;
    }
    let mut collected = Collected {
        fragments: fragments(top, &folder)?,
        entries: Entries::default(),
        written: None,
    };
    if collected.fragments.is_empty() {
        return Err(Failure::nothing(
            Code::NoFragments,
            format!("there is no fragment in {folder}"),
        )
        .help(command!("archive").note("(writes one for each session)")));
    }
    for path in &collected.fragments {
        let text = read(top, path)?.unwrap_or_default();
        let entries = changelog::read(&text).map_err(|(line, why)| {
            Failure::refused(
                Code::ChangelogFragmentInvalid,
                format!("{path}:{line}: {why}"),
            )
            .help(format!("edit {path}, or move it out of {folder}"))
        })?;
        collected.entries.join(entries);
    }
    let Some(into) = into else {
        return Ok(collected);
    };
    let before = read(top, into)?.unwrap_or_default();
    let after = changelog::insert(&before, &collected.entries);
    // The changelog first: a fragment that stays behind after a kill is taken in once all the same.
    if after != before {
        files::write(&files::inside(top, into)?, after.as_bytes())?;
    }
    for path in &collected.fragments {
        files::remove(&files::inside(top, path)?)?;
    }
    collected.written = Some(into.to_owned());
    Ok(collected)
}

/// Refuses a changelog that no commit of the repository could have.
fn require_inside(into: &str) -> Result<()> {
    if is_inside(into) {
        return Ok(());
    }
    Err(Failure::usage(
        Code::ChangelogOutside,
        format!(
            "`{into}` is not inside the repository; expected a path from its top, like CHANGELOG.md"
        ),
    )
    .help(command!("spec changelog --write --file CHANGELOG.md")))
}

fn fragments(top: &Path, folder: &str) -> Result<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(files::inside(top, folder)?) else {
        return Ok(Vec::new());
    };
    let mut found: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "README.md" && !name.starts_with('.'))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort_unstable();
    Ok(found)
}

fn read(top: &Path, path: &str) -> Result<Option<String>> {
    let Some(bytes) = files::read(&files::inside(top, path)?, u64::MAX)? else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|_| {
        Failure::refused(
            Code::NotUtf8,
            format!("{path}: expected UTF-8, found other bytes"),
        )
        .help("convert the file to UTF-8")
    })
}
