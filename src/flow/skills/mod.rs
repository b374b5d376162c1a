//! The skills of this machine: those in the hosts' folders of the worktree, then those at home. What a document says is
//! read by [`loopx_rules::skill`]; here files meet it. Nothing outside of those folders is opened: a link that leads out
//! of one is a fault of its skill.

mod tasks;

pub(super) use tasks::Skills;
pub(in crate::flow) use tasks::findings;

use crate::flow::context::Context;
use loopx_base::env;
use loopx_base::failure::Result;
use loopx_base::nearest;
use loopx_git::Repo;
use loopx_rules::skill::{Form, Looked, Place, Platform, Scope, document, is_name, place};
use serde::Serialize;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest document that is read.
const MAX: u64 = 256 * 1024;

/// File that a skill wants read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reading {
    /// Path from the worktree, or with `~/` from home; as it is written where it is neither.
    pub path: String,
    pub present: bool,
    /// Blob of the content, where the file stands with the skill.
    pub blob: Option<String>,
}

/// Skill as it stands here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Skill {
    pub platform: Platform,
    #[serde(rename = "type")]
    pub form: Form,
    pub scope: Scope,
    pub name: String,
    /// File of the skill, from the worktree or with `~/` from home.
    pub path: String,
    pub blob: Option<String>,
    pub description: String,
    pub hint: String,
    pub required: Vec<Reading>,
    pub deferred: Vec<String>,
    /// Files that have to be read and are not there.
    pub missing_required: Vec<String>,
    /// Fault for which nobody can follow the skill.
    pub fault: Option<String>,
    /// Paths of other skills of its name that are passed over for this one and say otherwise.
    pub displaces: Vec<String>,
    /// Skill of the same name that counts before this one and says otherwise.
    pub displaced_by: Option<String>,
    /// Name of the skill's file or folder.
    #[serde(skip)]
    pub entry: String,
}

impl Skill {
    /// Tells how the skill stands for a task that names it.
    fn looked(&self, name: &str) -> Looked {
        if let Some(fault) = &self.fault {
            return Looked::Unusable(fault.clone());
        }
        if !self.missing_required.is_empty() {
            let missing = self.missing_required.join(", ");
            return Looked::Unusable(format!(
                "{} asks for {missing}, which is not there",
                self.path
            ));
        }
        if self.name == name {
            Looked::There
        } else {
            Looked::Renamed(self.name.clone())
        }
    }
}

/// Folders in which skills are looked for.
struct Roots {
    project: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Roots {
    fn of(repo: &Repo) -> Self {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let project = repo.work_dir().and_then(real);
        let home = env::var_os("HOME").and_then(|home| real(Path::new(&home)));
        Roots {
            // A home that is the worktree is looked at once.
            home: home.filter(|home| Some(home) != project.as_ref()),
            project,
        }
    }

    fn top(&self, scope: Scope) -> Option<&Path> {
        match scope {
            Scope::Project => self.project.as_deref(),
            Scope::Home => self.home.as_deref(),
        }
    }
}

/// Every skill of this machine, the one that counts first before the others: the repository's before those at home.
fn all(repo: &Repo) -> Vec<Skill> {
    let roots = Roots::of(repo);
    let mut found: Vec<Skill> = Vec::new();
    for scope in [Scope::Project, Scope::Home] {
        let Some(top) = roots.top(scope) else {
            continue;
        };
        for platform in Platform::ALL {
            for form in Form::ALL {
                let folder = format!("{}/{}", platform.folder(), form.folder());
                for entry in super::files::entries(&top.join(&folder)) {
                    let Some((name, file)) = form.file(&entry) else {
                        continue;
                    };
                    let own = Own {
                        kind: (platform, form, scope),
                        folder: &folder,
                        path: format!("{folder}/{file}"),
                        name,
                    };
                    found.extend(one(repo, &roots, top, own));
                }
            }
        }
    }
    found
}

/// A skill that is about to be read.
struct Own<'o> {
    kind: (Platform, Form, Scope),
    folder: &'o str,
    path: String,
    name: String,
}

/// Reads one skill; nothing where there is none.
fn one(repo: &Repo, roots: &Roots, top: &Path, own: Own<'_>) -> Option<Skill> {
    let (platform, form, scope) = own.kind;
    let mut skill = Skill {
        platform,
        form,
        scope,
        path: shown(scope, &own.path),
        name: own.name.clone(),
        entry: own.name,
        blob: None,
        description: String::new(),
        hint: String::new(),
        required: Vec::new(),
        deferred: Vec::new(),
        missing_required: Vec::new(),
        fault: None,
        displaces: Vec::new(),
        displaced_by: None,
    };
    let text = match text(top, own.folder, scope, &own.path) {
        Ok(text) => text?,
        Err(fault) => {
            skill.fault = Some(fault);
            return Some(skill);
        }
    };
    skill.blob = repo
        .hash_blob(text.as_bytes())
        .ok()
        .map(|id| id.to_string());
    let read = match document(&text) {
        Ok(read) => read,
        Err(fault) => {
            skill.fault = Some(format!("{}: {fault}", skill.path));
            return Some(skill);
        }
    };
    skill.name = read.name.filter(|name| is_name(name)).unwrap_or(skill.name);
    skill.description = read.description;
    skill.hint = read.hint;
    let reading = |written: &String| reading(repo, roots, written, (scope, &own.path));
    skill.required = read.readings.required.iter().map(reading).collect();
    let missing = skill.required.iter().filter(|one| !one.present);
    skill.missing_required = missing.map(|one| one.path.clone()).collect();
    let later = read.readings.deferred.iter();
    skill.deferred = later
        .map(|written| match place(written, scope, &own.path) {
            Place::Inside(scope, path) => shown(scope, &path),
            Place::Outside => written.clone(),
        })
        .collect();
    Some(skill)
}

/// The text of a skill; nothing where the entry is none.
fn text(
    top: &Path,
    folder: &str,
    scope: Scope,
    path: &str,
) -> std::result::Result<Option<String>, String> {
    let Ok(real) = fs::canonicalize(top.join(path)) else {
        return Ok(None);
    };
    let root = fs::canonicalize(top.join(folder)).unwrap_or_else(|_| top.join(folder));
    // At home somebody's own links lead where they like; the worktree is others' work, too.
    let is_own = scope == Scope::Home || root.starts_with(top);
    if !is_own || !real.starts_with(&root) {
        let path = shown(scope, path);
        return Err(format!("{path} leads out of {}", shown(scope, folder)));
    }
    if !real.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(&real).and_then(|file| file.take(MAX + 1).read_to_end(&mut bytes));
    let path = shown(scope, path);
    read.map_err(|error| format!("{path}: {error}"))?;
    if bytes.len() as u64 > MAX {
        return Err(format!("{path} has more than {MAX} bytes"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(format!("{path}: expected UTF-8")),
    }
}

/// File that a skill wants read, as it stands. Of a file from home that the repository's skill wants, nothing is said
/// but whether it is there.
fn reading(repo: &Repo, roots: &Roots, written: &str, (own, file): (Scope, &str)) -> Reading {
    let (scope, path) = match place(written, own, file) {
        Place::Inside(scope, path) => (scope, path),
        Place::Outside => {
            return Reading {
                path: written.to_owned(),
                present: false,
                blob: None,
            };
        }
    };
    let real = roots.top(scope).and_then(|top| {
        let real = fs::canonicalize(top.join(&path)).ok()?;
        (real.starts_with(top) && real.is_file()).then_some(real)
    });
    let pinned = real.as_ref().filter(|_| scope == own);
    Reading {
        path: shown(scope, &path),
        present: real.is_some(),
        blob: pinned.and_then(|real| repo.hash_file(real).ok().map(|id| id.to_string())),
    }
}

fn shown(scope: Scope, path: &str) -> String {
    match scope {
        Scope::Project => path.to_owned(),
        Scope::Home => format!("~/{path}"),
    }
}

/// The skill of this name that counts: by the name that it gives itself, else by that of its file.
fn find<'s>(all: &'s [Skill], name: &str) -> Option<&'s Skill> {
    let is = |of: fn(&Skill) -> &str| all.iter().find(|skill| of(skill) == name);
    is(|skill| &skill.name).or_else(|| is(|skill| &skill.entry))
}

/// The skills that are passed over for this one and say otherwise; none where another counts before it.
fn displaced<'s>(all: &'s [Skill], skill: &Skill) -> Vec<&'s Skill> {
    let counts = find(all, &skill.name).is_some_and(|first| first.path == skill.path);
    let others = all.iter().filter(|one| {
        counts && one.name == skill.name && one.path != skill.path && one.blob != skill.blob
    });
    others.collect()
}

fn look(all: &[Skill], name: &str) -> Looked {
    match find(all, name) {
        Some(skill) => skill.looked(name),
        None => Looked::Missing {
            near: nearest(name, all.iter().map(|skill| skill.name.as_str())).map(str::to_owned),
        },
    }
}

/// The skills as `agent skills` lists them: of two of one host, form and name the repository's alone.
pub(crate) fn list(ctx: &Context, platform: Option<Platform>) -> Result<Vec<Skill>> {
    let mut found: Vec<Skill> = Vec::new();
    let all = all(&ctx.repo);
    for skill in &all {
        let is_same = |one: &Skill| {
            (one.platform, one.form, &one.name) == (skill.platform, skill.form, &skill.name)
        };
        let is_meant = platform.is_none_or(|meant| meant == skill.platform);
        if is_meant && !found.iter().any(is_same) {
            let others = displaced(&all, skill).into_iter();
            let first = find(&all, &skill.name);
            let first = first.filter(|one| one.path != skill.path && one.blob != skill.blob);
            found.push(Skill {
                displaces: others.map(|other| other.path.clone()).collect(),
                displaced_by: first.map(|first| first.path.clone()),
                ..skill.clone()
            });
        }
    }
    found.sort_by(|one, other| {
        let key = |skill: &Skill| (skill.platform, skill.form, skill.scope);
        (key(one), &one.name).cmp(&(key(other), &other.name))
    });
    Ok(found)
}
