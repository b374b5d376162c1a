//! The merge driver for spec files: what git calls, and how it comes to call it (gitattributes(5)).
//!
//! git takes exit 1 to 128 of a driver as a conflict and then keeps whatever OURS holds. So OURS is
//! always written before a conflict is reported; where it cannot be, the exit is 129: git stops.

use super::context::Context;
use super::files;
use super::spec;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::command;
use crate::core::spec::{Conflict, MarkerNames, merge_spec};
use crate::git::merge::{FileMerge, Labels, merge_file};
use crate::git::run::Run;
use serde::Serialize;
use std::path::{Path, PathBuf};

const NAME: &str = "loopx-spec";
const TITLE: &str = "specs by requirement and scenario (git loopx)";
const ATTRIBUTES: &str = ".gitattributes";

/// Falls back to git's own merge of lines where git-loopx is gone: a driver that cannot be started would
/// count as a conflict without a marker.
const DRIVER: &str = "if command -v git-loopx >/dev/null; \
    then git-loopx spec merge-driver %O %A %B %P; \
    else git merge-file -L ours -L base -L theirs %A %O %B; fi";

const BASE: &str = "base";
const OURS: &str = "ours";
const THEIRS: &str = "theirs";

/// How a merge of three files ended.
#[derive(Debug, Serialize)]
pub struct Driven {
    pub clean: bool,
    pub conflicts: Vec<Conflict>,
    /// Merged line by line, because a side is not UTF-8.
    pub by_lines: bool,
}

/// Merges into the file OURS.
pub fn merge(base: &Path, ours: &Path, theirs: &Path) -> Result<Driven> {
    let sides = [spec::read(base)?, spec::read(ours)?, spec::read(theirs)?];
    let [b, o, t] = sides.each_ref().map(|bytes| std::str::from_utf8(bytes));
    if let (Ok(b), Ok(o), Ok(t)) = (b, o, t) {
        let names = MarkerNames {
            base: BASE,
            ours: OURS,
            theirs: THEIRS,
        };
        let merged = merge_spec(b, o, t, &FileMerge, names);
        spec::write_file(ours, merged.text.as_bytes())?;
        return Ok(Driven {
            clean: merged.conflicts.is_empty(),
            conflicts: merged.conflicts,
            by_lines: false,
        });
    }
    let labels = Labels {
        base: BASE,
        ours: OURS,
        theirs: THEIRS,
    };
    let [b, o, t] = &sides;
    let merged = merge_file(b, o, t, labels)?;
    spec::write_file(ours, &merged.text)?;
    Ok(Driven {
        clean: merged.clean,
        conflicts: Vec::new(),
        by_lines: true,
    })
}

/// What installing or removing the driver changes.
#[derive(Debug, Serialize)]
pub struct Wiring {
    pub attributes: PathBuf,
    pub line: String,
    pub attributes_change: bool,
    pub config: Vec<(String, String)>,
    pub config_change: bool,
}

/// Writes the attribute and the configuration that make git call the driver, or takes them away.
pub fn wire(ctx: &Context, uninstall: bool, dry_run: bool) -> Result<Wiring> {
    let top = ctx.repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "a merge driver needs a worktree: this repository is bare",
        )
        .help("run it in a clone with files")
    })?;
    let path = files::inside(top, ATTRIBUTES)?;
    let line = attribute(&super::specs::policy(ctx)?.paths.specs);
    let old = files::read(&path, u64::MAX)?.unwrap_or_default();
    let new = if uninstall {
        without(&old, &line)
    } else {
        with(&old, &line)
    };
    let key = |name: &str| format!("merge.{NAME}.{name}");
    let config = vec![
        (key("name"), TITLE.to_owned()),
        (key("driver"), DRIVER.to_owned()),
    ];
    let is_set = |(key, value): &(String, String)| {
        let found = ctx.repo.config(key);
        if uninstall {
            found.is_none()
        } else {
            found.as_ref() == Some(value)
        }
    };
    let wiring = Wiring {
        attributes_change: old != new,
        config_change: !config.iter().all(is_set),
        attributes: PathBuf::from(ATTRIBUTES),
        line,
        config,
    };
    if uninstall && !wiring.attributes_change && !wiring.config_change {
        return Err(Failure::nothing(
            Code::DriverNotInstalled,
            "the merge driver is not installed here",
        )
        .help(command!("spec install-driver")));
    }
    if dry_run {
        return Ok(wiring);
    }
    // Configuration first: an attribute that names an unknown driver is a plain merge of lines, and so
    // is a driver that no attribute names.
    if wiring.config_change {
        if uninstall {
            let section = format!("merge.{NAME}");
            git(top, &["config", "--local", "--remove-section", &section])?;
        } else {
            for (key, value) in &wiring.config {
                git(top, &["config", "--local", key, value])?;
            }
        }
    }
    if wiring.attributes_change {
        if new.is_empty() {
            files::remove(&path)?;
        } else {
            files::write(&path, &new)?;
        }
    }
    Ok(wiring)
}

fn git(top: &Path, args: &[&str]) -> Result<()> {
    Run::git(args).cwd(top).capture()?.ok().map(drop)
}

/// `specs/**/spec.md merge=loopx-spec`, quoted as gitattributes(5) wants it where the folder needs it.
fn attribute(specs: &str) -> String {
    let pattern = format!("{specs}/**/spec.md");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/*._-".contains(c) || !c.is_ascii();
    if pattern.chars().all(plain) {
        format!("{pattern} merge={NAME}")
    } else {
        let escaped = pattern.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\" merge={NAME}")
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn is(found: &[u8], line: &str) -> bool {
    found.trim_ascii() == line.as_bytes()
}

/// The attributes with the line at their end: later lines win.
fn with(old: &[u8], line: &str) -> Vec<u8> {
    if lines(old).any(|found| is(found, line)) {
        return old.to_vec();
    }
    let mut new = old.to_vec();
    if !new.is_empty() && !new.ends_with(b"\n") {
        new.push(b'\n');
    }
    new.extend(line.as_bytes());
    new.push(b'\n');
    new
}

fn without(old: &[u8], line: &str) -> Vec<u8> {
    lines(old)
        .filter(|found| !is(found, line))
        .collect::<Vec<_>>()
        .concat()
}

#[cfg(test)]
mod tests {
    use super::{attribute, with, without};

    #[test]
    fn the_attribute_is_added_once_and_taken_away_alone() {
        let line = attribute("specs");
        assert_eq!(line, "specs/**/spec.md merge=loopx-spec");
        let old = b"*.png binary";
        let new = with(old, &line);
        assert_eq!(new, b"*.png binary\nspecs/**/spec.md merge=loopx-spec\n");
        assert_eq!(with(&new, &line), new);
        assert_eq!(without(&new, &line), b"*.png binary\n");
        assert_eq!(
            attribute("my specs"),
            "\"my specs/**/spec.md\" merge=loopx-spec"
        );
    }
}
