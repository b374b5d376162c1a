//! Wires a bare repository: reads what it has, has [`loopx_rules::setup::server`] decide, and does what is lacking.

use crate::flow::context::Context;
use crate::flow::hooks::{hooks_dir, program, real, write_script};
use crate::flow::verify::policy_at;
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::NEW_HOOK;
use loopx_git::run::Run;
use loopx_git::signing::can_check;
use loopx_hosts::hooks::{Place, SAVED_SUFFIX, standing};
use loopx_rules::setup::server;
use loopx_rules::setup::server::{CHECK_OBJECTS, Facts, HIDE, HOOK, Planned, Rules, Step};
use loopx_rules::setup::typed;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A bare repository that takes pushes.
pub(crate) struct Server {
    pub ctx: Context,
    /// Folder of the repository, with links followed.
    pub dir: PathBuf,
    /// Name of the repository as it was typed, for what leads on.
    pub named: String,
    hooks: PathBuf,
    program: Vec<u8>,
    facts: Facts,
    pub rules: Rules,
}

impl Server {
    /// Reads a server, and goes there.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let named = typed(&dir.to_string_lossy());
        let none = || {
            Failure::not_found(
                Code::NoRepository,
                format!(
                    "expected a bare repository, found none at `{}`",
                    dir.display()
                ),
            )
            .help(format!("git init --bare {named}"))
        };
        let place = dir.canonicalize().map_err(|_| none())?;
        env::enter(&place).map_err(|_| none())?;
        let ctx = Context::open(None).map_err(|failure| match failure.code {
            Code::NoRepository | Code::RepositoryMissing => none(),
            _ => failure,
        })?;
        let found = real(&ctx.repo.git_dir());
        if found != place || ctx.repo.work_dir().is_some() {
            return Err(Failure::refused(
                Code::ServerNotBare,
                format!(
                    "expected a bare repository at `{}`, found {} at `{}`",
                    place.display(),
                    match ctx.repo.work_dir() {
                        Some(_) => "one with a worktree",
                        None => "it",
                    },
                    found.display()
                ),
            )
            .help(hint![
                "git clone --bare makes one; in a clone it is: ",
                command!("hooks install")
            ]));
        }
        let program = program()?;
        let (hooks, hooks_path) = hooks_dir(&place, &|run: Run| run.cwd(&place))?;
        let within = Place {
            in_git_dir: real(&hooks).starts_with(&place),
            ..Place::default()
        };
        let file = hooks.join(HOOK);
        let content = content(&file)?;
        let kept = self::content(&saved(&file))?;
        let repo = &ctx.repo;
        let facts = Facts {
            found: server::found(content.as_deref(), &program),
            is_executable: is_executable(&file),
            // The same twice is what a killed set-up left.
            is_saved: kept.is_some() && kept != content,
            standing: standing(&hooks, hooks_path, within),
            folder: hooks.display().to_string(),
            checks_objects: repo.config_bool(&CHECK_OBJECTS.to_lowercase()) == Some(true),
            hidden: repo.config_all(HIDE)?,
        };
        let rules = rules(&ctx)?;
        Ok(Server {
            ctx,
            dir: place,
            named,
            hooks,
            program,
            facts,
            rules,
        })
    }

    /// Lists what the server lacks, and what it has.
    pub(crate) fn plan(&self) -> Result<Vec<Planned>> {
        server::plan(&self.facts, &self.named)
    }

    /// The hook that git asks.
    pub(crate) fn hook(&self) -> PathBuf {
        self.hooks.join(HOOK)
    }

    /// Does what is needed.
    pub(crate) fn apply(&self, plan: &[Planned]) -> Result<()> {
        let file = self.hook();
        for step in plan.iter().filter(|one| one.needed).map(|one| one.step) {
            let done = match step {
                Step::CheckObjects => self.config(&[CHECK_OBJECTS, "true"]).map(Ok)?,
                Step::Hide(name) => self.config(&["--add", HIDE, name]).map(Ok)?,
                // Some file systems have no hard links.
                Step::SaveHook => {
                    fs::hard_link(&file, saved(&file)).or_else(|_| fs::rename(&file, saved(&file)))
                }
                Step::WriteHook => self.write_hook(&file),
                Step::OpenHook => fs::metadata(&file).and_then(|meta| {
                    let mode = meta.permissions().mode() | 0o111;
                    fs::set_permissions(&file, Permissions::from_mode(mode))
                }),
            };
            done.map_err(|error| {
                let what = format!("write {}: {error}", file.display());
                Failure::refused(Code::HookNotWritten, what)
            })?;
        }
        Ok(())
    }

    fn config(&self, args: &[&str]) -> Result<()> {
        let run = Run::git(["config"]).args(args).cwd(&self.dir);
        run.capture()?.ok().map(drop)
    }

    /// Writes the script beside its place first, so that no push finds half of it.
    fn write_hook(&self, file: &Path) -> io::Result<()> {
        self.ctx.repo.make_folder(&self.hooks)?;
        let fresh = self.hooks.join(format!(".{HOOK}.{NEW_HOOK}"));
        let script = server::shim(&self.program);
        write_script(Some(&self.ctx.repo), (&fresh, file), &script)
    }
}

/// Rules of the default branch, and whether this machine can judge by them.
fn rules(ctx: &Context) -> Result<Rules> {
    let head = ctx.repo.head()?;
    let store = ctx.store()?;
    let mut rules = Rules {
        has_sessions: ctx.repo.find_ref(&store.branch_ref())?.is_some(),
        can_check_signatures: can_check(),
        branch: head.branch,
        commit: head.commit,
        ..Rules::default()
    };
    if rules.commit.is_none() {
        rules.instead = instead(ctx, store.branch())?;
    }
    match policy_at(ctx, rules.commit.as_ref()) {
        Ok(policy) => {
            let branch = rules.branch.as_deref();
            rules.protects_default = branch.is_some_and(|branch| policy.protects(branch));
            rules.asks_signatures = policy.asks_signatures();
            rules.protected = policy.gates.protected;
        }
        Err(failure) => rules.fault = Some(failure.message),
    }
    Ok(rules)
}

/// The branch that HEAD was likely meant to name: one that protects itself before others.
fn instead(ctx: &Context, sessions: &str) -> Result<Option<String>> {
    let heads = ctx.repo.refs_below("refs/heads/")?.into_iter();
    let heads: Vec<(String, Oid)> = heads
        .map(|(name, tip)| (name["refs/heads/".len()..].to_owned(), tip))
        .filter(|(name, _)| name != sessions)
        .collect();
    let protects = |(name, tip): &&(String, Oid)| {
        policy_at(ctx, Some(tip)).is_ok_and(|own| own.protects(name))
    };
    let is_usual = |(name, _): &&(String, Oid)| ["main", "master"].contains(&name.as_str());
    let found = heads.iter().find(protects);
    let found = found.or_else(|| heads.iter().find(is_usual));
    Ok(found.or(heads.first()).map(|(name, _)| name.clone()))
}

fn saved(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(SAVED_SUFFIX);
    PathBuf::from(name)
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o111 == 0o111)
}

/// The content of a hook; a link that leads nowhere is a hook, too: an empty one.
fn content(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(content) => Ok(Some(content)),
        Err(_) if file.is_symlink() => Ok(Some(Vec::new())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Failure::internal(
            Code::HookNotRead,
            format!("read `{}`: {error}", file.display()),
        )),
    }
}
