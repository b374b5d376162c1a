//! Prompts of roles: those of the program, and a repository's own. The latter are read as policy is: from the commit that
//! the session starts from, and where no session is meant from the one that is checked out.

use super::context::Context;
use super::pipeline::{Source, source_here, worktree_file};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::EntryKind;
use loopx_rules::role;
use loopx_rules::role::lint;
use loopx_rules::task::node::{Node, TaskId};
use loopx_rules::task::roles;
use loopx_spec::Finding;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

const ENDING: &str = ".md";

/// The prompt of a role.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RolePrompt {
    pub role: String,
    pub about: String,
    /// File of the prompt on the code branch; nothing where the program brings it.
    pub path: Option<String>,
    pub words: usize,
    pub text: String,
    pub findings: Vec<Finding>,
    /// Set when the file is no text.
    #[serde(skip)]
    pub is_unreadable: bool,
}

impl RolePrompt {
    fn of(role: &str, path: Option<&str>, text: String) -> Self {
        let read = role::read(&text);
        let label = path.map_or_else(|| format!("{role}{ENDING}"), str::to_owned);
        RolePrompt {
            role: role.to_owned(),
            about: read.about,
            path: path.map(str::to_owned),
            words: read.words,
            findings: lint(role, &label, &text),
            is_unreadable: false,
            text,
        }
    }

    /// Builds the prompt of a file that is no text: it hides no other, and is not followed.
    fn unreadable(role: &str, path: &str) -> Self {
        RolePrompt {
            role: role.to_owned(),
            about: String::new(),
            path: Some(path.to_owned()),
            words: 0,
            text: String::new(),
            findings: vec![role::unreadable(path)],
            is_unreadable: true,
        }
    }

    /// Refuses a prompt whose file is no text.
    fn readable(self) -> Result<Self> {
        let Some(path) = self.path.as_ref().filter(|_| self.is_unreadable) else {
            return Ok(self);
        };
        let message = format!("{path}: expected UTF-8");
        Err(Failure::refused(Code::InputNotUtf8, message).help("mend the file, and commit it"))
    }
}

/// The repository's own prompts.
fn own(ctx: &Context, source: &Source) -> Result<Vec<RolePrompt>> {
    let mut found = Vec::new();
    for (file, entry) in source.files(ctx, &source.paths.prompts)? {
        let Some(name) = file.strip_suffix(ENDING) else {
            continue;
        };
        if entry.kind == EntryKind::Tree || TaskId::parse(name).is_none() {
            continue;
        }
        let bytes = ctx.repo.read_blob(&entry.id)?;
        let path = format!("{}/{file}", source.paths.prompts);
        let prompt = match String::from_utf8(bytes) {
            Ok(text) => RolePrompt::of(name, Some(&path), text),
            Err(_) => RolePrompt::unreadable(name, &path),
        };
        found.push(prompt);
    }
    Ok(found)
}

/// Every role that has a prompt, the repository's own in the place of the program's.
pub(crate) fn all(ctx: &Context) -> Result<Vec<RolePrompt>> {
    let own = own(ctx, &source_here(ctx)?)?;
    let is_own = |name: &&str| own.iter().any(|known| known.role == *name);
    let built_in = role::names().filter(|name| !is_own(name));
    let built_in = built_in.filter_map(|name| {
        let text = role::prompt(name)?.to_owned();
        Some(RolePrompt::of(name, None, text))
    });
    let mut all: Vec<RolePrompt> = built_in.collect();
    all.extend(own);
    all.sort_by(|one, other| one.role.cmp(&other.role));
    Ok(all)
}

/// The roles that have a prompt, and where a repository's own stand.
#[derive(Default)]
pub(in crate::flow) struct Prompted {
    pub(in crate::flow) folder: String,
    /// Roles that have a prompt; nothing where nobody can read them: then nothing is said of any role.
    roles: Option<BTreeSet<String>>,
}

impl Prompted {
    pub(in crate::flow) fn here(ctx: &Context) -> Self {
        let read = || -> Result<Self> {
            let roles = all(ctx)?.into_iter().map(|one| one.role);
            Ok(Prompted {
                folder: source_here(ctx)?.paths.prompts,
                roles: Some(roles.collect()),
            })
        };
        read().unwrap_or_default()
    }

    pub(in crate::flow) fn has(&self, role: &str) -> bool {
        let roles = self.roles.as_ref();
        roles.is_none_or(|roles| roles.contains(role))
    }

    /// The remarks on the roles of a list.
    pub(in crate::flow) fn findings(&self, nodes: &[Node]) -> Vec<Finding> {
        roles::findings(nodes, &self.folder, |role| self.has(role))
    }

    /// The remarks that one list has and another one had not.
    pub(in crate::flow) fn new_findings(&self, nodes: &[Node], before: &[Node]) -> Vec<Finding> {
        let known = self.findings(before);
        let mut found = self.findings(nodes);
        found.retain(|one| known.iter().all(|other| other.message != one.message));
        found
    }
}

/// The prompt of a role.
pub(crate) fn find(ctx: &Context, name: &str) -> Result<RolePrompt> {
    let mut all = all(ctx)?;
    if let Some(at) = all.iter().position(|known| known.role == name) {
        return all.swap_remove(at).readable();
    }
    let near = loopx_base::nearest(name, all.iter().map(|known| known.role.as_str()));
    let message =
        format!("no prompt is there for the role `{name}`, neither in the program nor in the code");
    let failure = Failure::not_found(Code::PromptUnknown, message);
    Err(match near {
        Some(near) => failure.help(command!("agent prompt {near}")),
        None => failure.help(command!("agent prompt")),
    })
}

/// Judges one prompt, a file of the worktree, or all of the repository's own.
pub(crate) fn check(ctx: &Context, name: Option<&str>) -> Result<Vec<RolePrompt>> {
    match name {
        Some(path) if path.ends_with(ENDING) => {
            let text = worktree_file(path, Code::PromptUnknown, command!("agent prompt"))?;
            let stem = Path::new(path).file_stem();
            let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            Ok(vec![RolePrompt::of(&stem, Some(path), text)])
        }
        Some(name) => {
            let mut all = all(ctx)?;
            match all.iter().position(|known| known.role == name) {
                Some(at) => Ok(vec![all.swap_remove(at)]),
                None => Ok(vec![find(ctx, name)?]),
            }
        }
        None => own(ctx, &source_here(ctx)?),
    }
}
