//! The policy of a level, the keys and the CI file that it needs, and a clone that works by it: read as a whole,
//! shown, and then done.

use super::keys;
use crate::flow::context::Context;
use crate::flow::verify::policy_at;
use crate::flow::{begin, files, hooks as wiring, sessions, upstream};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_git::run::Run;
use loopx_hosts::hooks;
use loopx_rules::policy::{FILE as POLICY_FILE, Independence, Policy};
use loopx_rules::setup::ci::{Ci, GITLAB_FILE};
use loopx_rules::setup::file::{Fate, File, refuse_replacing};
use loopx_rules::setup::level::Level;
use loopx_rules::setup::signers::{PublicKey, is_principal, people, with_key};
use loopx_rules::setup::{commit_of, typed};
use loopx_rules::stage::Transition;
use std::path::Path;

/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// Arguments of `setup`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// `None` wires the clone for the policy that stands.
    pub level: Option<Level>,
    /// `None` is what the remote's address says.
    pub ci: Option<Ci>,
    /// `EMAIL=FILE`: public keys of other people.
    pub keys: Vec<String>,
    pub force: bool,
}

/// Step of the clone's set-up: a setting, the sessions' branch, or the hooks.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub text: String,
    pub needed: bool,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Config(&'static str, String),
    Init,
    Hooks,
}

/// Plan of a set-up, before it is carried out.
pub(crate) struct Plan {
    /// The branch that results go to.
    pub branch: String,
    pub ci: Ci,
    pub files: Vec<File>,
    pub wires: Vec<Wire>,
    pub warnings: Vec<String>,
    /// Steps that only a person can do.
    pub by_hand: Vec<String>,
    pub next: Hint,
}

impl Plan {
    /// Tells whether anything is left to do.
    pub(crate) fn changes(&self) -> bool {
        self.files.iter().any(|file| file.fate() != Fate::Found)
            || self.wires.iter().any(|wire| wire.needed)
    }
}

/// Reads what is there, and says what is lacking.
pub(crate) fn read(ctx: &Context, request: &Request) -> Result<Plan> {
    let top = top(ctx)?;
    // Whoever is nobody could not begin the branch of sessions: nothing is written then.
    ctx.repo.identity()?;
    let branch = target(ctx)?;
    let now = there(top, POLICY_FILE)?;
    let policy = match (request.level, &now) {
        (Some(level), _) => Policy::parse(&level.policy(&branch), POLICY_FILE)?,
        (None, Some(text)) => Policy::parse(text, POLICY_FILE)?,
        (None, None) => Policy::default(),
    };
    let mut plan = Plan {
        ci: ci(ctx, request)?,
        branch,
        files: Vec::new(),
        wires: Vec::new(),
        warnings: Vec::new(),
        by_hand: Vec::new(),
        next: command!("start \"{}\"", crate::flow::begin::title(ctx)),
    };
    if let Some(level) = request.level {
        plan.files.push(File {
            path: POLICY_FILE.to_owned(),
            after: level.policy(&plan.branch),
            before: now,
            adds: false,
        });
    }
    let wants_key = request
        .level
        .map_or(policy.asks_signatures(), |level| level.asks().has_signers);
    if wants_key || !request.keys.is_empty() {
        signing(ctx, top, &policy, &request.keys, &mut plan)?;
    }
    if request.level.is_some() {
        let others = there(top, GITLAB_FILE)?;
        if let Some((path, text)) = plan.ci.file(others.as_deref()) {
            plan.files.push(File {
                path: path.to_owned(),
                before: there(top, path)?,
                after: text.to_owned(),
                adds: false,
            });
        }
        plan.by_hand = plan.ci.by_hand(&plan.branch, others.as_deref());
    }
    clone(ctx, &mut plan)?;
    plan.next = next(ctx, &plan)?;
    Ok(plan)
}

/// Refuses what would replace somebody's text; nothing is written then.
pub(crate) fn check(plan: &Plan, request: &Request) -> Result<()> {
    let level = request.level.filter(|_| !request.force);
    match level.and_then(|level| refuse_replacing(&plan.files, level)) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

/// Does it.
pub(crate) fn apply(ctx: &Context, plan: &Plan) -> Result<()> {
    let top = top(ctx)?;
    for file in plan.files.iter().filter(|file| file.fate() != Fate::Found) {
        let path = files::inside(top, &file.path)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| loopx_git::unwritable(folder, &error))?;
        }
        files::write(&path, file.after.as_bytes())?;
    }
    for wire in plan.wires.iter().filter(|wire| wire.needed) {
        match &wire.what {
            What::Config(key, value) => {
                Run::git(["config", key, value]).cwd(top).capture()?.ok()?;
            }
            What::Init => drop(sessions::init(ctx)?),
            What::Hooks => {
                let repository = wiring::read()?;
                wiring::apply(&repository, &hooks::plan_install(&repository.facts)?, drop)?;
            }
        }
    }
    Ok(())
}

fn top(ctx: &Context) -> Result<&Path> {
    ctx.repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "expected a worktree to write the policy into, found a bare repository",
        )
        .help(command!("setup server ."))
    })
}

fn there(top: &Path, path: &str) -> Result<Option<String>> {
    let bytes = files::read(&files::inside(top, path)?, LARGEST)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The branch that results go to: the remote's default one, or the usual one that is here.
fn target(ctx: &Context) -> Result<String> {
    let repo = &ctx.repo;
    let head = repo.head()?;
    if let Some(remote) = repo.default_remote(head.branch.as_deref())?
        && let Some(branch) = repo.default_branch(&remote)?
    {
        return Ok(branch);
    }
    if let Some(target) = upstream::target_of_project(ctx, None)? {
        return Ok(target.name);
    }
    Ok(head.branch.unwrap_or_else(|| "main".to_owned()))
}

fn ci(ctx: &Context, request: &Request) -> Result<Ci> {
    if let Some(ci) = request.ci {
        return Ok(ci);
    }
    let remote = ctx.repo.default_remote(None)?;
    let url = remote.and_then(|remote| ctx.repo.config(&format!("remote.{remote}.url")));
    Ok(url.map_or(Ci::None, |url| Ci::of_url(&url)))
}

/// The keys of people: into the file, and, where policy asks for signatures, this person's into git's settings.
fn signing(
    ctx: &Context,
    top: &Path,
    policy: &Policy,
    others: &[String],
    plan: &mut Plan,
) -> Result<()> {
    let signs = policy.asks_signatures();
    let path = policy.approve.signers.clone();
    let before = there(top, &path)?;
    let mut people = Vec::new();
    let email = ctx.repo.identity()?.author.email;
    let mut has_key = false;
    match keys::find(&ctx.repo) {
        Ok(_) if !is_principal(&email) => plan.warnings.push(format!(
            "{path} names people by their address, and `{email}` (user.email) is none"
        )),
        Ok(found) => {
            people.push((email, found.key));
            has_key = true;
            if let Some(setting) = found.setting.filter(|_| signs) {
                config(ctx, plan, "gpg.format", "ssh".to_owned());
                config(ctx, plan, "user.signingKey", setting);
            }
        }
        Err(why) if signs => plan
            .warnings
            .push(format!("nothing can be signed yet: {why}")),
        Err(_) => {}
    }
    for other in others {
        people.push(person(other)?);
    }
    let mut after = before.clone();
    for (email, key) in &people {
        after = Some(with_key(after.as_deref(), email, key));
    }
    if signs {
        config(ctx, plan, "loopx.sign", "true".to_owned());
        // Without a key git would refuse to commit.
        if has_key && policy.review.independence == Independence::Signed {
            // Who made a commit is proven by its signature alone.
            config(ctx, plan, "commit.gpgsign", "true".to_owned());
        }
        few(policy, after.as_deref().unwrap_or_default(), plan);
    }
    if let Some(after) = after.filter(|_| !people.is_empty()) {
        plan.files.push(File {
            path,
            before,
            after,
            adds: true,
        });
    }
    Ok(())
}

/// `EMAIL=FILE`, as it was typed.
fn person(text: &str) -> Result<(String, PublicKey)> {
    let invalid = |what: &str| {
        Failure::usage(
            Code::CommandLineInvalid,
            format!("--key: expected EMAIL=FILE with {what}, found `{text}`"),
        )
        .help(command!("help setup"))
    };
    let (email, file) = text.split_once('=').ok_or_else(|| invalid("a `=`"))?;
    if !is_principal(email) {
        return Err(invalid("the address of one person"));
    }
    let key = keys::read(Path::new(file)).ok_or_else(|| invalid("the file of a public key"))?;
    Ok((email.to_owned(), key))
}

/// Says where fewer people can sign than have to.
fn few(policy: &Policy, signers: &str, plan: &mut Plan) {
    let needed = Transition::ALL.map(|one| policy.required(one));
    // Whoever writes the change needs somebody else.
    let needed = needed.into_iter().max().unwrap_or(1).max(2);
    let have = people(signers);
    if have < needed {
        plan.warnings.push(format!(
            "{} has {}, and this policy needs {needed}: add them before it is pushed  ({})",
            policy.approve.signers,
            match have {
                1 => "the key of 1 person".to_owned(),
                _ => format!("the keys of {have} people"),
            },
            command!("setup strict --key EMAIL=FILE")
        ));
    }
}

fn config(ctx: &Context, plan: &mut Plan, key: &'static str, value: String) {
    let now = ctx.repo.config(&key.to_lowercase());
    plan.wires.push(Wire {
        text: format!("{key} is {value} in this clone"),
        needed: now.as_deref() != Some(value.as_str()),
        what: What::Config(key, value),
    });
}

/// The branch of sessions and the hooks.
fn clone(ctx: &Context, plan: &mut Plan) -> Result<()> {
    let store = ctx.store()?;
    let is_there = store.tip()?.is_some();
    plan.wires.push(Wire {
        text: format!("sessions are stored on the branch {}", store.branch()),
        needed: !is_there,
        what: What::Init,
    });
    let repository = wiring::read()?;
    match hooks::plan_install(&repository.facts) {
        Ok(wanted) => plan.wires.push(Wire {
            text: "git asks git loopx before a commit and a push".to_owned(),
            needed: !wanted.steps.is_empty(),
            what: What::Hooks,
        }),
        Err(failure) => plan.warnings.push(format!(
            "the hooks of this clone are not ours to write: {}  ({})",
            failure.message,
            command!("hooks install")
        )),
    }
    Ok(())
}

/// Command that leads on: a commit, a session where policy asks for one, or work.
fn next(ctx: &Context, plan: &Plan) -> Result<Hint> {
    let head = ctx.repo.head()?;
    let tree = match &head.commit {
        Some(commit) => Some(ctx.repo.commit_info(commit)?.tree),
        None => None,
    };
    // Also what an earlier run wrote and nobody committed.
    let mut written = Vec::new();
    for file in &plan.files {
        let committed = match &tree {
            Some(tree) => ctx.repo.blob_at(tree, &file.path)?,
            None => None,
        };
        if committed.as_deref() != Some(file.after.as_bytes()) {
            written.push(typed(&file.path));
        }
    }
    if written.is_empty() {
        // A branch that is bound already takes no other session.
        return match ctx.bound_session().ok().flatten() {
            Some(id) => Ok(super::super::next::of_session(ctx, &id)?.into_hint()),
            None => begin::way(ctx),
        };
    }
    let stands = policy_at(ctx, head.commit.as_ref());
    if stands.is_ok_and(|policy| policy.protects(&plan.branch)) {
        return Ok(command!("start \"Change who may do what\"").note(format!(
            "({} takes these files from a session alone; commit them in its build)",
            plan.branch
        )));
    }
    Ok(commit_of(&written))
}
