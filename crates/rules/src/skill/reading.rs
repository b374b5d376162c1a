//! The reading of a skill: what has to be read before it is followed, and what may wait. Both stand in blocks of the
//! document, by path.
//!
//! ```text
//! <required_reading>
//! @~/.maestro/workflows/plan.md and @guide.md
//! - [the rules](../rules.md)
//! </required_reading>
//! ```

use super::Scope;
use serde::Serialize;

/// Paths as a skill writes them, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Readings {
    pub required: Vec<String>,
    pub deferred: Vec<String>,
}

/// The reading that the body of a skill names.
pub fn readings(body: &str) -> Result<Readings, String> {
    Ok(Readings {
        required: block(body, "required_reading")?,
        deferred: block(body, "deferred_reading")?,
    })
}

/// The paths of the first block of this name. What is shown between fences is no block.
fn block(body: &str, name: &str) -> Result<Vec<String>, String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut is_inside = false;
    let mut is_fenced = false;
    for line in body.lines() {
        if line.trim_start().starts_with("```") && !is_inside {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            continue;
        }
        let mut rest = line;
        if !is_inside {
            let Some(at) = position(rest, &open) else {
                continue;
            };
            is_inside = true;
            rest = &rest[at + open.len()..];
        }
        let end = position(rest, &close);
        for path in paths(&rest[..end.unwrap_or(rest.len())]) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
        if end.is_some() {
            return Ok(found);
        }
    }
    if is_inside {
        Err(format!("`{open}` has no `{close}`"))
    } else {
        Ok(found)
    }
}

/// Finds the place of a tag, whatever its letter case. ASCII case changes no length.
fn position(text: &str, tag: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(tag)
}

/// The paths of one line: each `@path`; else the target of a link in a list; else the first word of a row of a list.
fn paths(line: &str) -> Vec<String> {
    let marked: Vec<String> = marked(line).map(str::to_owned).collect();
    if !marked.is_empty() {
        return marked;
    }
    let Some(row) = line.trim_start().strip_prefix("- ") else {
        return Vec::new();
    };
    let link = row
        .split_once("](")
        .and_then(|(_, rest)| rest.split_once(')'));
    let word = match link {
        Some((target, _)) => target,
        None => row.split_whitespace().next().unwrap_or_default(),
    };
    let word = word.trim_matches(['`', '"', '\'']);
    // An address of the web or of somebody is no file.
    let is_path = !word.is_empty() && !word.contains("://") && !word.contains('@');
    is_path.then(|| word.to_owned()).into_iter().collect()
}

/// Lists the words behind each `@` that begins a word: an `@` inside an address does not.
fn marked(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || ",()<>`\"'".contains(c);
    line.match_indices('@').filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"._-+@/".contains(c));
        let rest = &line[at + 1..];
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        // A full stop ends the sentence, not the path.
        let word = word.trim_end_matches(['.', ';', ':']);
        (begins && !word.is_empty()).then_some(word)
    })
}

/// Place of a file that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Path below the worktree, or below home.
    Inside(Scope, String),
    /// Place that no skill may name.
    Outside,
}

/// The place of a path that a skill names. `file` is the skill's own path, below the worktree or below home.
pub fn place(written: &str, scope: Scope, file: &str) -> Place {
    let (scope, path) = match written.strip_prefix("~/") {
        Some(rest) => (Scope::Home, rest.to_owned()),
        None if written.starts_with(['/', '~', '\\']) => return Place::Outside,
        None if is_hosts(written) => (scope, written.to_owned()),
        None => {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            (scope, format!("{folder}/{written}"))
        }
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Place::Outside,
            ".." => {}
            part => parts.push(part),
        }
    }
    // What git keeps is nobody's reading.
    if parts.is_empty() || parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        Place::Outside
    } else {
        Place::Inside(scope, parts.join("/"))
    }
}

/// Tells whether a path begins with the folder of a host: then it counts from the folder that has the host's folder.
fn is_hosts(path: &str) -> bool {
    let folders = super::Platform::ALL.map(super::Platform::folder);
    let first = path.split('/').next().unwrap_or_default();
    folders.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::{Place, place, readings};
    use crate::skill::Scope;

    fn required(block: &str) -> Vec<String> {
        let text = format!("<Required_Reading>\n{block}\n</required_reading>\n");
        readings(&text).expect("a block").required
    }

    /// Two marks on one line are two files, each under its own name.
    #[test]
    fn each_mark_of_a_line_is_a_path_of_its_own() {
        assert_eq!(
            required("@a.md and @b/c.md, (@d.md)."),
            ["a.md", "b/c.md", "d.md"]
        );
        assert_eq!(required("@a.md @a.md"), ["a.md"]);
    }

    #[test]
    fn an_address_is_no_path() {
        let none: [&str; 0] = [];
        assert_eq!(required("ask ada@example.org"), none);
        assert_eq!(required("- ada@example.org"), none);
        assert_eq!(required("- https://example.org/x.md"), none);
        assert_eq!(required("ask ada@example.org, read @a.md."), ["a.md"]);
    }

    #[test]
    fn a_row_of_a_list_names_its_link_or_its_first_word() {
        assert_eq!(
            required("- [rules](../rules.md) for all\n- `guide.md` first\nplain words\n* x"),
            ["../rules.md", "guide.md"]
        );
    }

    #[test]
    fn the_first_block_counts_and_an_example_is_none() {
        let text = "```\n<required_reading>\n@x.md\n</required_reading>\n```\n<required_reading>@a.md</required_reading>\n<required_reading>@b.md</required_reading>\n<deferred_reading>\n@c.md\n</deferred_reading>";
        let read = readings(text).expect("blocks");
        assert_eq!(
            (read.required, read.deferred),
            (vec!["a.md".into()], vec!["c.md".into()])
        );
        assert!(readings("<required_reading>\n@a.md\n").is_err());
    }

    #[test]
    fn a_path_stays_inside_of_the_worktree_or_of_home() {
        let file = ".claude/skills/plan/SKILL.md";
        let inside = |scope, path: &str| Place::Inside(scope, path.to_owned());
        for (written, wanted) in [
            (
                "guide.md",
                inside(Scope::Project, ".claude/skills/plan/guide.md"),
            ),
            (
                "../a/./b.md",
                inside(Scope::Project, ".claude/skills/a/b.md"),
            ),
            ("../../../docs/x.md", inside(Scope::Project, "docs/x.md")),
            (
                ".claude/rules.md",
                inside(Scope::Project, ".claude/rules.md"),
            ),
            (
                "~/.maestro/plan.md",
                inside(Scope::Home, ".maestro/plan.md"),
            ),
            ("../../../../x", Place::Outside),
            ("~/../x", Place::Outside),
            ("/etc/passwd", Place::Outside),
            ("~ada/x", Place::Outside),
            ("../../../.git/config", Place::Outside),
            ("../../..", Place::Outside),
        ] {
            assert_eq!(place(written, Scope::Project, file), wanted, "{written}");
        }
    }
}
