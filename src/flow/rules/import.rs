//! `rule import`: the documents and guidelines of another tool. All is read and judged before anything is written; what
//! is known already is left out, so that a second import finds nothing new.

use super::write::{Held, top, write_all};
use super::{ENDING, MAX, RuleSet, rule_set};
use crate::flow::context::Context;
use crate::flow::files;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::rule;
use loopx_rules::rule::{
    Document, Origin, RuleKind, Source, Target, begins_with_code, guidelines, legacy_document,
    normalised,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder in which the other tool keeps its rules.
const WORKFLOW: &str = ".workflow";
const FOLDER: &str = ".workflow/specs";
const GUIDELINES: &str = "project-guidelines.json";

/// Rules that one document got.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Imported {
    pub path: String,
    /// Set when the document is new.
    pub created: bool,
    pub rules: Vec<String>,
    #[serde(skip)]
    pub before: String,
    #[serde(skip)]
    pub after: String,
}

/// Result of an import, or of its dry run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ImportReport {
    pub from: Vec<String>,
    pub dry_run: bool,
    pub documents: Vec<Imported>,
    /// Rules that were known.
    pub known: usize,
    /// Files that had nothing to bring.
    pub empty: Vec<String>,
    /// Files that were not read, or not taken over.
    pub passed_over: Vec<PassedOver>,
}

/// A file that is left where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PassedOver {
    pub path: String,
    pub why: &'static str,
}

const LINK: &str = "a symbolic link, which is not followed";
const CODE: &str = "its front matter is code, which is not read";

/// Takes the rules over from a folder or a file; from the other tool's usual place where none is named.
pub(crate) fn import(ctx: &Context, from: Option<&Path>, dry_run: bool) -> Result<ImportReport> {
    let top = top(ctx)?;
    let (sources, links) = sources(&top, from)?;
    let _held = if dry_run {
        None
    } else {
        Some(Held::of_repository(ctx)?)
    };
    let rule_set = rule_set(ctx, None)?;
    let mut taking = Taking::of(&rule_set, links);
    for (name, text) in &sources {
        taking.source(name, text);
    }
    taking.require_sound(from)?;
    let report = ImportReport {
        from: sources.into_iter().map(|(name, _)| name).collect(),
        dry_run,
        documents: taking
            .pages
            .into_values()
            .filter(|page| page.before != page.after)
            .collect(),
        known: taking.known_rules,
        empty: taking.empty,
        passed_over: taking.passed_over,
    };
    if report.documents.is_empty() && !report.passed_over.is_empty() && report.known == 0 {
        let first = &report.passed_over[0];
        return Err(Failure::nothing(
            Code::RulesImportedAlready,
            format!("nothing was imported: {}: {}", first.path, first.why),
        )
        .help(command!("help rule import")));
    }
    if report.documents.is_empty() {
        return Err(Failure::nothing(
            Code::RulesImportedAlready,
            format!(
                "{} has no rule that the documents here lack",
                report.from.join(", ")
            ),
        )
        .help(command!("rule list")));
    }
    let mut places = Vec::new();
    for page in &report.documents {
        places.push((files::inside(&top, &page.path)?, page.after.clone()));
    }
    if !dry_run {
        write_all(&places)?;
    }
    Ok(report)
}

/// Files with their names and texts, and what was passed over.
type Sources = (Vec<(String, String)>, Vec<PassedOver>);

/// The files that are to be read, each with its name and text, and the links among them: a repository that somebody
/// else made could lead out of itself by them. A place that is named on the command line may be a link.
fn sources(top: &Path, from: Option<&Path>) -> Result<Sources> {
    let place: PathBuf = match from {
        Some(path) => path.to_path_buf(),
        None => {
            let inside = |path| files::without_link(top, path, command!("rule import PATH"));
            let usual = inside(FOLDER)?;
            if usual.is_dir() {
                usual
            } else {
                // A link in its place is named below.
                inside(WORKFLOW)?.join(GUIDELINES)
            }
        }
    };
    let missing = || {
        Failure::not_found(
            Code::FileNotFound,
            format!(
                "there is nothing to import at {}: expected a folder of Markdown documents, or a file",
                shown(top, &place)
            ),
        )
        .help(command!("help rule import"))
    };
    let meta = fs::metadata(&place).map_err(|_| missing())?;
    let mut names: Vec<PathBuf> = Vec::new();
    if meta.is_dir() {
        let is_source = |name: &String| name.ends_with(ENDING) || name == GUIDELINES;
        let found = files::entries(&place).into_iter().filter(is_source);
        names.extend(found.map(|name| place.join(name)));
        // The other tool keeps the guidelines beside the folder of documents.
        let beside = place.parent().map(|dir| dir.join(GUIDELINES));
        names.extend(beside.filter(|file| fs::symlink_metadata(file).is_ok()));
    } else {
        names.push(place.clone());
    }
    if names.is_empty() {
        return Err(missing());
    }
    let is_link = |file: &PathBuf| {
        (from.is_none() || *file != place)
            && fs::symlink_metadata(file).is_ok_and(|meta| meta.is_symlink())
    };
    let (links, names): (Vec<PathBuf>, Vec<PathBuf>) = names.into_iter().partition(is_link);
    let links = links.iter().map(|file| PassedOver {
        path: shown(top, file),
        why: LINK,
    });
    let mut found = Vec::new();
    for file in names {
        let name = shown(top, &file);
        let bytes = files::read(&file, MAX)?.ok_or_else(missing)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::usage(Code::InputNotUtf8, format!("{name}: expected UTF-8"))
                .help("convert it, for example with iconv")
        })?;
        found.push((name, text));
    }
    Ok((found, links.collect()))
}

/// A path from the top where it is below it.
fn shown(top: &Path, path: &Path) -> String {
    let below = path.strip_prefix(top).unwrap_or(path);
    below.display().to_string()
}

/// An import on its way: the documents as they will be.
struct Taking<'s> {
    rule_set: &'s RuleSet,
    known: BTreeSet<String>,
    known_rules: usize,
    pages: BTreeMap<String, Imported>,
    empty: Vec<String>,
    passed_over: Vec<PassedOver>,
    faults: Vec<String>,
}

impl<'s> Taking<'s> {
    fn of(rule_set: &'s RuleSet, passed_over: Vec<PassedOver>) -> Self {
        let own = rule_set
            .documents
            .iter()
            .filter(|one| one.origin == Origin::Project);
        Taking {
            rule_set,
            known: own
                .flat_map(|one| one.rules.iter().map(|rule| rule.key.clone()))
                .collect(),
            known_rules: 0,
            pages: BTreeMap::new(),
            empty: Vec::new(),
            passed_over,
            faults: Vec::new(),
        }
    }

    fn source(&mut self, name: &str, text: &str) {
        if name.ends_with(ENDING) {
            self.document(name, text)
        } else {
            self.guidelines(name, text)
        }
    }

    /// A document keeps its text where there is none of its name, else its rules are put into that.
    fn document(&mut self, name: &str, text: &str) {
        let file = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let path = format!("{}/{file}", self.rule_set.folder);
        if begins_with_code(text) {
            let path = name.to_owned();
            return self.passed_over.push(PassedOver { path, why: CODE });
        }
        let (fresh, rules) =
            match legacy_document(name, text, &self.rule_set.categories, &self.known) {
                Err(fault) => return self.faults.push(fault),
                Ok(None) => return self.empty.push(name.to_owned()),
                Ok(Some(found)) => found,
            };
        let all = rule_count(text);
        self.known_rules += all.saturating_sub(rules.len());
        let standing = self.rule_set.documents.iter().find(|one| one.path == path);
        let is_written = self.pages.contains_key(&path);
        match standing {
            None if !is_written => {
                self.known.extend(rules.iter().map(|rule| rule.key.clone()));
                let rules = rules.into_iter().map(|rule| rule.text).collect();
                let page = Imported {
                    created: true,
                    rules,
                    after: fresh,
                    path: path.clone(),
                    ..Imported::default()
                };
                self.pages.insert(path, page);
            }
            // Text without rules stands beside text: nobody knows what of it is new.
            _ if rules.is_empty() => self.empty.push(name.to_owned()),
            standing => {
                for rule in rules {
                    let base = || standing.map_or_else(String::new, |one| one.text.clone());
                    self.put(path.clone(), &rule.text, base, false);
                }
            }
        }
    }

    fn guidelines(&mut self, name: &str, text: &str) {
        let found = match guidelines(text) {
            Ok(found) => found,
            Err(fault) => return self.faults.push(format!("{name}: {fault}")),
        };
        if found.is_empty() {
            self.empty.push(name.to_owned());
        }
        for one in found {
            let target = Target {
                kind: one.kind,
                category: one.category,
            };
            let own: Vec<&Document> = self
                .rule_set
                .documents
                .iter()
                .filter(|one| one.origin == Origin::Project)
                .collect();
            let standing = target.find(&self.rule_set.folder, own);
            let path = match standing {
                Some(document) => document.path.clone(),
                None => format!("{}/{}", self.rule_set.folder, one.kind.file(one.category)),
            };
            if self.known.contains(&normalised(&one.text)) {
                self.known_rules += 1;
                continue;
            }
            let (kind, category): (RuleKind, &str) = (one.kind, one.category);
            let base =
                || standing.map_or_else(|| kind.document(category), |found| found.text.clone());
            self.put(path, &one.text, base, standing.is_none());
        }
    }

    /// Puts a rule into a document, which is as `base` says where nothing was put into it yet.
    fn put(&mut self, path: String, text: &str, base: impl FnOnce() -> String, created: bool) {
        self.known.insert(normalised(text));
        let page = self.pages.entry(path.clone()).or_insert_with(|| {
            let base = base();
            Imported {
                path,
                created,
                before: if created { String::new() } else { base.clone() },
                after: base,
                rules: Vec::new(),
            }
        });
        page.after = rule::add(&page.after, text, None);
        page.rules.push(text.to_owned());
    }

    /// Whole or not at all: one fault refuses everything.
    fn require_sound(&self, from: Option<&Path>) -> Result<()> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let fix = match from {
            Some(path) => {
                let path = path.display().to_string();
                command!("rule import {path} --dry-run")
            }
            None => command!("rule import --dry-run"),
        };
        let faults = self.faults.iter();
        let blockers: Vec<Blocker> = faults
            .map(|fault| Blocker::new(Code::RuleImportInvalid, fault.clone(), fix.clone()))
            .collect();
        let first = self.faults.first().map_or("", String::as_str);
        Err(Failure::refused(
            Code::RuleImportInvalid,
            format!("nothing was imported: {first}"),
        )
        .help("mend it there, or name the category in `rules.categories` of loopx.toml")
        .blockers(blockers))
    }
}

/// Counts the rules of a text.
fn rule_count(text: &str) -> usize {
    let source = Source {
        path: String::new(),
        origin: Origin::Project,
        blob: String::new(),
    };
    Document::read(source, text, &rule::Categories::default())
        .rules
        .len()
}
