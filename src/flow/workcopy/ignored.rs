//! The rules by which git ignores working copies, in `info/exclude`.

use super::super::{files, old_root};
use super::FOLDER;
use loopx_base::failure::Result;
use loopx_git::Repo;

/// Makes git ignore working copies, in all worktrees of the repository.
pub(crate) fn exclude(repo: &Repo) -> Result<()> {
    let path = repo.common_dir().join("info").join("exclude");
    let known = files::read(&path, u64::MAX)?.unwrap_or_default();
    let is_rule = |line: &[u8]| line.starts_with(format!("/{FOLDER}/").as_bytes());
    let shown = match repo.work_dir() {
        Some(top) if !known.split(|b| *b == b'\n').any(is_rule) => old_root::beside_copies(top),
        _ => Vec::new(),
    };
    exclude_but(repo, &shown)
}

/// Rules by which git ignores the working copies, but nothing of what an old root has beside them. The rule of an earlier
/// run gives way.
pub(crate) fn exclude_but(repo: &Repo, shown: &[String]) -> Result<()> {
    let path = repo.common_dir().join("info").join("exclude");
    let (all, each) = (format!("/{FOLDER}/"), format!("/{FOLDER}/*"));
    let text = files::read(&path, u64::MAX)?.unwrap_or_default();
    let is = |line: &[u8], rule: &str| line == rule.as_bytes();
    let mut lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    let has = |rule: &str| lines.iter().any(|line| is(line, rule));
    let rules: Vec<String> = match shown {
        [] if has(&all) || has(&each) => Vec::new(),
        [] => vec![all.clone()],
        _ => {
            let names = shown
                .iter()
                .map(|name| format!("!/{FOLDER}/{}", escaped(name)));
            let rules = std::iter::once(each).chain(names);
            rules.filter(|rule| !has(rule)).collect()
        }
    };
    let gives_way = !shown.is_empty() && has(&all);
    if rules.is_empty() && !gives_way {
        return Ok(());
    }
    if gives_way {
        lines.retain(|line| !is(line, &all));
    }
    let mut text = lines.join(&b'\n');
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for rule in rules {
        text.extend(rule.as_bytes());
        text.push(b'\n');
    }
    files::write_in_git_dir(repo, &path, &text)
}

/// A name in which no letter is a pattern.
fn escaped(name: &str) -> String {
    let special = |c: char| "\\*?[ ".contains(c);
    name.chars().fold(String::new(), |mut out, c| {
        if special(c) {
            out.push('\\');
        }
        out.push(c);
        out
    })
}
