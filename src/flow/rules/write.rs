//! Edits of rule documents: a rule more, and the documents that a repository begins with. Commits are left to a person.

use super::{RuleSet, personal_folder, rule_set};
use crate::flow::context::Context;
use crate::flow::files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::secrets;
use loopx_base::tree_name::turns_text;
use loopx_git::unwritable;
use loopx_rules::rule;
use loopx_rules::rule::{Document, Origin, RuleKind, Target, is_one_rule, plain, seeds};
use loopx_spec::check_domain;
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The longest rule, in bytes.
const LONGEST: usize = 2000;

/// Arguments of `rule add`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddRequest<'a> {
    pub text: &'a str,
    pub kind: RuleKind,
    /// The category; else that of the kind.
    pub category: Option<&'a str>,
    /// The document; else the one that the kind and the category belong in.
    pub document: Option<&'a str>,
    pub personal: bool,
    pub dry_run: bool,
}

/// A rule that stands in a document now, or would.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Added {
    pub path: String,
    pub origin: Origin,
    pub line: usize,
    pub rule: String,
    pub category: String,
    /// Set when the document is new.
    pub created: bool,
    #[serde(skip)]
    pub before: String,
    #[serde(skip)]
    pub after: String,
}

/// Held while documents are read and written: of two who add at once none takes away what the other wrote.
pub(super) struct Held {
    _lock: File,
}

impl Held {
    /// Waits for whoever writes documents of the repository.
    pub(super) fn of_repository(ctx: &Context) -> Result<Self> {
        let dir = ctx.repo.common_dir().join("loopx");
        ctx.repo
            .make_folder(&dir)
            .map_err(|error| unwritable(&dir, &error))?;
        let path = dir.join("rules.lock");
        let held = Held::at(&path)?;
        ctx.repo.share(&path);
        Ok(held)
    }

    fn of_person(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
        Held::at(&dir.join(".lock"))
    }

    fn at(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| unwritable(path, &error);
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true);
        // One that somebody else made, and that others may only read, is held as well.
        let lock = lock.open(path).or_else(|error| match error.kind() {
            ErrorKind::PermissionDenied => File::open(path).map_err(|_| error),
            _ => Err(error),
        });
        let lock = lock.map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok(Held { _lock: lock })
    }
}

/// The top of the worktree; documents are edited nowhere else.
pub(super) fn top(ctx: &Context) -> Result<PathBuf> {
    match ctx.repo.work_dir() {
        Some(top) => Ok(top.to_path_buf()),
        None => Err(Failure::usage(
            Code::WorktreeRequired,
            "documents of rules are edited in a worktree: this repository is bare",
        )
        .help("run it in a clone with files")),
    }
}

fn own_folder() -> Result<(PathBuf, String)> {
    personal_folder().ok_or_else(|| {
        Failure::usage(
            Code::HomeUnknown,
            "rules of your own are kept at home, and neither HOME nor XDG_CONFIG_HOME is set",
        )
        .help("set HOME, or leave out --personal")
    })
}

fn require_rule(text: &str) -> Result<()> {
    let invalid = |what: String| {
        let example = command!("rule add \"Log with one logger\" --kind convention");
        Err(Failure::usage(Code::RuleInvalid, what).help(example.note("(for one)")))
    };
    if text.is_empty() {
        return invalid("expected the text of a rule, found none".to_owned());
    }
    if text.len() > LONGEST {
        let found = text.len();
        return invalid(format!(
            "expected a rule of at most {LONGEST} bytes, found {found}"
        ));
    }
    if text.chars().any(char::is_control) {
        return invalid("expected a rule without control characters".to_owned());
    }
    if text.chars().any(turns_text) {
        return invalid("expected a rule without signs that turn the direction of text".to_owned());
    }
    if let Some(hit) = secrets::scan(text.as_bytes()).first() {
        return invalid(format!(
            "expected a rule that anybody may read, found what looks like a {}",
            hit.kind
        ));
    }
    if !is_one_rule(text) {
        return invalid(format!(
            "expected one rule, found what Markdown reads as something else: `{text}`"
        ));
    }
    Ok(())
}

/// Puts a rule into the document that it belongs in.
pub(crate) fn add(ctx: &Context, request: AddRequest<'_>) -> Result<Added> {
    let words: Vec<&str> = request.text.split_whitespace().collect();
    let text = plain(&words.join(" "));
    require_rule(&text)?;
    let home = if request.personal {
        Home::Person(own_folder()?)
    } else {
        Home::Worktree(top(ctx)?)
    };
    let _held = match &home {
        _ if request.dry_run => None,
        Home::Person((dir, _)) => Some(Held::of_person(dir)?),
        Home::Worktree(_) => Some(Held::of_repository(ctx)?),
    };
    let rule_set = rule_set(ctx, None)?;
    if let Some(name) = request.category {
        rule_set.require_category(name)?;
    }
    let (folder, origin) = match &home {
        Home::Person((_, shown)) => (shown.as_str(), Origin::Personal),
        Home::Worktree(_) => (rule_set.folder.as_str(), Origin::Project),
    };
    let found = choose(&rule_set, &request, (folder, origin))?;
    require_new(&rule_set, &text, origin)?;
    let category = request.category.unwrap_or(request.kind.category());
    let (path, before, category) = match found {
        Some(one) => (one.path.clone(), one.text.clone(), one.category.as_str()),
        None => {
            let file = request.kind.file(category);
            (format!("{folder}/{file}"), String::new(), category)
        }
    };
    let base = match found {
        Some(_) => before.clone(),
        None => request.kind.document(category),
    };
    let day: Option<String> = match request.kind {
        RuleKind::Learning => Some(ctx.repo.identity()?.at.chars().take(10).collect()),
        _ => None,
    };
    let after = rule::add(&base, &text, day.as_deref());
    let place = home.place(&path)?;
    if found.is_none() && fs::symlink_metadata(&place).is_ok() {
        return Err(Failure::refused(
            Code::Finding("rule_unreadable"),
            format!("{path} is there, and cannot be read"),
        )
        .help(command!("rule check")));
    }
    if !request.dry_run {
        files::write(&place, after.as_bytes())?;
    }
    Ok(Added {
        line: line_of(&base, &after),
        rule: text,
        category: category.to_owned(),
        created: found.is_none(),
        path,
        origin,
        before,
        after,
    })
}

/// Place of the documents that are edited: the repository's or a person's.
enum Home {
    /// The top of the worktree.
    Worktree(PathBuf),
    /// A person's own folder, and how it is shown.
    Person((PathBuf, String)),
}

impl Home {
    /// The file of a document.
    fn place(&self, path: &str) -> Result<PathBuf> {
        match self {
            Home::Worktree(top) => files::inside(top, path),
            Home::Person((dir, shown)) => {
                let below = path.strip_prefix(shown.as_str()).unwrap_or(path);
                Ok(dir.join(below.trim_start_matches('/')))
            }
        }
    }
}

impl RuleSet {
    /// The repository's document that has a rule.
    pub(crate) fn project_document(&self, rule: &str) -> Option<Document> {
        let all = self.documents.iter();
        let mut all = all.filter(|one| one.origin == Origin::Project);
        all.find(|one| rule::known([*one], rule).is_some()).cloned()
    }
}

/// Refuses a rule that is known. The repository's rules hold for everybody: nobody needs one of his own that says the
/// same. What somebody has for himself says nothing to the others.
fn require_new(rule_set: &RuleSet, text: &str, origin: Origin) -> Result<()> {
    let counts = |one: &&Document| origin == Origin::Personal || one.origin == Origin::Project;
    match rule::known(rule_set.documents.iter().filter(counts), text) {
        None => Ok(()),
        Some(known) => Err(Failure::nothing(
            Code::RuleKnown,
            format!("{}:{} has this rule already", known.path, known.line),
        )
        .help(command!("rule show {}", known.path))),
    }
}

/// The document that a rule goes to; nothing where it is yet to be written.
fn choose<'s>(
    rule_set: &'s RuleSet,
    request: &AddRequest<'_>,
    (folder, origin): (&str, Origin),
) -> Result<Option<&'s Document>> {
    let category = request.category.unwrap_or(request.kind.category());
    let Some(name) = request.document else {
        let target = Target {
            kind: request.kind,
            category,
        };
        let own: Vec<&Document> = rule_set
            .documents
            .iter()
            .filter(|one| one.origin == origin)
            .collect();
        return Ok(target.find(folder, own));
    };
    let document = rule_set.find(name)?;
    if document.origin != origin {
        return Err(Failure::usage(
            Code::RuleDocumentUnknown,
            format!("{} is not among the documents of {folder}", document.path),
        )
        .help(command!("rule list")));
    }
    match request
        .category
        .filter(|wanted| *wanted != document.category)
    {
        None => Ok(Some(document)),
        Some(wanted) => Err(Failure::usage(
            Code::CategoryUnknown,
            format!(
                "expected a document of the category {wanted}, found that {} is of the category {}",
                document.path, document.category
            ),
        )
        .help(command!("rule list --category {wanted}"))),
    }
}

/// The line on which a text begins to differ.
fn line_of(before: &str, after: &str) -> usize {
    let same = before
        .lines()
        .zip(after.lines())
        .take_while(|(one, other)| one == other);
    let mut line = same.count() + 1;
    // A blank line before the rule is none of it.
    while after
        .lines()
        .nth(line - 1)
        .is_some_and(|text| text.trim().is_empty())
    {
        line += 1;
    }
    line
}

/// The documents that were laid out, or would be.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Laid {
    pub written: Vec<String>,
    /// Documents that were there and were kept.
    pub kept: Vec<String>,
}

/// Lays out the glossary, a document for each domain, and the labels of triage. What is there stays.
pub(crate) fn init(ctx: &Context, domains: &[String], dry_run: bool) -> Result<Laid> {
    let top = top(ctx)?;
    for domain in domains {
        if let Err(why) = check_domain(domain) {
            return Err(Failure::usage(
                Code::DomainInvalid,
                format!("`{domain}` cannot be the name of a domain: {why}"),
            )
            .help(command!("rule init --domain payments")));
        }
    }
    let overview = ["overview".to_owned()];
    let domains = if domains.is_empty() {
        &overview[..]
    } else {
        domains
    };
    let _held = if dry_run {
        None
    } else {
        Some(Held::of_repository(ctx)?)
    };
    let folder = crate::flow::specs::policy(ctx)?.paths.rules;
    let mut laid = Laid {
        written: Vec::new(),
        kept: Vec::new(),
    };
    let mut places = Vec::new();
    for seed in seeds(domains) {
        let path = format!("{folder}/{}", seed.file);
        let place = files::inside(&top, &path)?;
        if fs::symlink_metadata(&place).is_ok() {
            laid.kept.push(path);
        } else {
            laid.written.push(path);
            places.push((place, seed.text));
        }
    }
    if places.is_empty() {
        return Err(Failure::nothing(
            Code::RulesLaidOut,
            format!("{} are there already", laid.kept.join(", ")),
        )
        .help(command!("rule check")));
    }
    if !dry_run {
        write_all(&places)?;
    }
    Ok(laid)
}

/// Writes files, all or none of them.
pub(super) fn write_all(places: &[(PathBuf, String)]) -> Result<()> {
    let mut before: Vec<(&PathBuf, Option<Vec<u8>>)> = Vec::new();
    for (place, text) in places {
        let old = files::read(place, u64::MAX)?;
        if let Err(failure) = files::write(place, text.as_bytes()) {
            for (place, old) in before {
                // What cannot be put back either is said by the failure that is on its way.
                drop(match old {
                    Some(bytes) => files::write(place, &bytes),
                    None => files::remove(place),
                });
            }
            return Err(failure);
        }
        before.push((place, old));
    }
    Ok(())
}
