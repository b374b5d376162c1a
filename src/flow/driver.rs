//! The merge drivers for specs and for documents of rules: what git calls, and how it comes to call them
//! (gitattributes(5)).
//!
//! git takes exit 1 to 128 of a driver as a conflict and then keeps whatever OURS holds. So OURS is
//! always written before a conflict is reported; where it cannot be, the exit is 129: git stops.

use super::context::Context;
use super::files;
use super::spec;
use crate::flow::file_merge::FileMerge;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::merge::{Labels, merge_file};
use loopx_git::run::Run;
use loopx_rules::policy::Paths;
use loopx_rules::rule;
use loopx_spec::{Conflict, MarkerNames, merge_spec};
use serde::Serialize;
use std::path::{Path, PathBuf};

const ATTRIBUTES: &str = ".gitattributes";

/// A merge driver of ours.
struct Driver {
    name: &'static str,
    title: &'static str,
    /// The command that merges, behind the name of the program.
    command: &'static str,
    /// The pattern of the files that the driver merges.
    pattern: fn(&Paths) -> String,
}

const DRIVERS: [Driver; 2] = [
    Driver {
        name: "loopx-spec",
        title: "specs by requirement and scenario (git loopx)",
        command: "spec merge-driver",
        pattern: |paths| format!("{}/**/spec.md", paths.specs),
    },
    Driver {
        name: "loopx-rules",
        title: "documents of rules by rule (git loopx)",
        command: "rule merge-driver",
        pattern: |paths| format!("{}/**/*.md", paths.rules),
    },
];

impl Driver {
    fn key(&self, name: &str) -> String {
        format!("merge.{}.{name}", self.name)
    }

    /// Falls back to git's own merge of lines where git-loopx is gone: a driver that cannot be started would
    /// count as a conflict without a marker.
    fn words(&self) -> String {
        format!(
            "if command -v git-loopx >/dev/null; then git-loopx {} %O %A %B %P; \
             else git merge-file -L ours -L base -L theirs %A %O %B; fi",
            self.command
        )
    }

    fn settings(&self) -> [(String, String); 2] {
        [
            (self.key("name"), self.title.to_owned()),
            (self.key("driver"), self.words()),
        ]
    }

    /// `specs/**/spec.md merge=loopx-spec`, quoted as gitattributes(5) wants it where the folder needs it.
    fn attribute(&self, paths: &Paths) -> String {
        let pattern = (self.pattern)(paths);
        let plain = |c: char| c.is_ascii_alphanumeric() || "/*._-".contains(c) || !c.is_ascii();
        if pattern.chars().all(plain) {
            format!("{pattern} merge={}", self.name)
        } else {
            let escaped = pattern.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{escaped}\" merge={}", self.name)
        }
    }
}

const BASE: &str = "base";
const OURS: &str = "ours";
const THEIRS: &str = "theirs";

/// The result of a merge of three files.
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
        files::write_out(ours, merged.text.as_bytes())?;
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
    files::write_out(ours, &merged.text)?;
    Ok(Driven {
        clean: merged.clean,
        conflicts: Vec::new(),
        by_lines: true,
    })
}

/// The result of a merge of three documents of rules.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DrivenRules {
    pub clean: bool,
    /// Merged line by line, because a person has to choose, or a side is not UTF-8.
    pub by_lines: bool,
}

/// Merges documents of rules into the file OURS: by rule, and by lines where that gives no answer.
pub fn merge_rules(base: &Path, ours: &Path, theirs: &Path) -> Result<DrivenRules> {
    let sides = [spec::read(base)?, spec::read(ours)?, spec::read(theirs)?];
    let [b, o, t] = sides.each_ref().map(|bytes| std::str::from_utf8(bytes));
    if let (Ok(b), Ok(o), Ok(t)) = (b, o, t)
        && let Some(merged) = rule::merge_rules(b, o, t)
    {
        files::write_out(ours, merged.as_bytes())?;
        return Ok(DrivenRules {
            clean: true,
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
    files::write_out(ours, &merged.text)?;
    Ok(DrivenRules {
        clean: merged.clean,
        by_lines: true,
    })
}

/// The changes that installing or removing the drivers makes.
#[derive(Debug, Serialize)]
pub struct Wiring {
    pub attributes: PathBuf,
    /// The lines that come or go.
    pub lines: Vec<String>,
    pub attributes_change: bool,
    pub config: Vec<(String, String)>,
    pub config_change: bool,
}

/// Writes the attributes and the configuration that make git call the drivers, or takes them away.
pub fn wire(ctx: &Context, uninstall: bool, dry_run: bool) -> Result<Wiring> {
    let top = ctx.repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "a merge driver needs a worktree: this repository is bare",
        )
        .help("run it in a clone with files")
    })?;
    let path = files::inside(top, ATTRIBUTES)?;
    let paths = super::specs::policy(ctx)?.paths;
    let old = files::read(&path, u64::MAX)?.unwrap_or_default();
    let mut new = old.clone();
    let mut changed = Vec::new();
    for driver in &DRIVERS {
        let line = driver.attribute(&paths);
        let edited = if uninstall {
            without(&new, &line)
        } else {
            with(&new, &line)
        };
        if edited != new {
            changed.push(line);
            new = edited;
        }
    }
    let config: Vec<(String, String)> = DRIVERS.iter().flat_map(Driver::settings).collect();
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
        lines: changed,
        config,
    };
    if uninstall && !wiring.attributes_change && !wiring.config_change {
        return Err(Failure::nothing(
            Code::DriverNotInstalled,
            "no merge driver is installed here",
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
            for driver in &DRIVERS {
                let is_set = |(key, _): &(String, String)| ctx.repo.config(key).is_some();
                if driver.settings().iter().any(is_set) {
                    let section = format!("merge.{}", driver.name);
                    git(top, &["config", "--local", "--remove-section", &section])?;
                }
            }
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

/// The drivers that the attributes of the worktree name and this clone does not have as they should be: git merges by
/// lines then, without a word.
pub(super) fn not_set_up(ctx: &Context) -> Vec<&'static str> {
    let Some(top) = ctx.repo.work_dir() else {
        return Vec::new();
    };
    let attributes = std::fs::read(top.join(ATTRIBUTES)).unwrap_or_default();
    let attributes = String::from_utf8_lossy(&attributes);
    let is_named = |driver: &&Driver| {
        let word = format!("merge={}", driver.name);
        let mut lines = attributes
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'));
        lines.any(|line| line.split_whitespace().any(|part| part == word))
    };
    let is_missing =
        |driver: &&Driver| ctx.repo.config(&driver.key("driver")) != Some(driver.words());
    let missing = DRIVERS.iter().filter(is_named).filter(is_missing);
    missing.map(|driver| driver.name).collect()
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
    use super::{DRIVERS, with, without};
    use loopx_rules::policy::Paths;

    #[test]
    fn the_attribute_is_added_once_and_taken_away_alone() {
        let attribute = |specs: &str| {
            let specs = specs.to_owned();
            DRIVERS[0].attribute(&Paths {
                specs,
                ..Paths::default()
            })
        };
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
        assert_eq!(
            DRIVERS[1].attribute(&Paths::default()),
            "docs/rules/**/*.md merge=loopx-rules"
        );
    }
}
