//! `init`, `start`, `use`, `rebase`, `abandon`.

use super::report;
use crate::cli::Exit;
use crate::flow::sessions;
use crate::flow::sessions::{Binding, StartRequest, Used};
use crate::flow::{Context, begin, rebase};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::profile::ProfileName;
use serde_json::json;

pub(crate) fn init(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = sessions::init(ctx)?;
    match &done.created {
        Some(begun) => {
            let from = begun.from.as_deref().unwrap_or_default();
            let from = from.trim_start_matches("refs/remotes/");
            let from = (from, "computed again");
            super::sync::flaws(from, (&begun.mended, &begun.damaged), ui);
            let tip = &begun.tip;
            ui.status(format!(
                "sessions are stored on the branch `{}` ({})",
                done.branch,
                tip.short()
            ));
            match super::sync::way_on(&begun.damaged, &done.branch) {
                Some(way) => ui.hint(way),
                None if !done.open.is_empty() => {
                    ui.status(open(&done.open));
                    ui.hint(command!("list"));
                }
                None => ui.hint(hint![
                    command!("start \"{}\"", begin::title(ctx)),
                    "   (and, to let git check commits and pushes: ",
                    command!("hooks install"),
                    ")"
                ]),
            }
        }
        None => {
            ui.status(format!("already initialised: branch `{}`", done.branch));
            if !done.open.is_empty() {
                ui.status(open(&done.open));
                ui.hint(command!("list"));
            }
        }
    }
    if let Some(remote) = &done.unasked {
        ui.warn(format!(
            "{} could not be asked whether it has sessions; what it has comes with: {}",
            line(remote),
            command!("sync")
        ));
    }
    if !done.old_roots.is_empty() {
        ui.status(format!(
            "{} is a root of loopx 0.x, and was not changed",
            done.old_roots.join(" and ")
        ));
        ui.hint(command!("import loopx --dry-run"));
    }
    let begun = done.created.as_ref();
    ui.json("init", &json!({ "branch": done.branch, "commit": begun.map(|begun| &begun.tip), "created": begun.is_some(), "mended": begun.map(|begun| &begun.mended), "damaged": begun.map(|begun| &begun.damaged), "open": done.open, "old_roots": done.old_roots }));
    Ok(Exit::Done)
}

/// Number of open sessions that `init` names; `list` shows them all.
const NAMED: usize = 3;

/// The sessions that somebody finds here.
fn open(ids: &[SessionId]) -> String {
    let names: Vec<&str> = ids.iter().take(NAMED).map(SessionId::as_str).collect();
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let is = if ids.len() == 1 { "is" } else { "are" };
    format!(
        "{} {is} open: {}{more}",
        counted(ids.len(), "session"),
        names.join(", ")
    )
}

/// Start a session: one change, from its intent
#[derive(Debug, clap::Args)]
pub struct StartArgs {
    /// What to change, in a few words; the session's id is made of them
    #[arg(required_unless_present_any = ["revert", "issues"])]
    pub name: Vec<String>,
    /// The session's id, instead of one made of the words
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Take this commit back; git loopx writes the documents of the session
    #[arg(long, value_name = "COMMIT")]
    pub revert: Option<String>,
    /// For this issue of the backlog: its title and text are the request; more of them stand behind it
    #[arg(long = "issue", value_name = "ISSUE", conflicts_with = "revert")]
    pub issues: Vec<String>,
    /// The request as it was given
    #[arg(short = 'm', long, value_name = "TEXT", conflicts_with = "file")]
    pub message: Option<String>,
    /// Read the request from a file (`-` for stdin)
    #[arg(short = 'F', long, value_name = "FILE")]
    pub file: Option<String>,
    /// The profile, with the stages and files of the session: quick, lite, standard, deep, or one of loopx.toml
    #[arg(long, value_name = "NAME", group = "weight")]
    pub profile: Option<String>,
    /// One file, and no plan: the same as --profile quick
    #[arg(long, group = "weight")]
    pub quick: bool,
    /// Clarify thoroughly, ambiguity at most 0.1: the same as --profile deep
    #[arg(long, group = "weight")]
    pub deep: bool,
    /// Bind this branch instead of the current one
    #[arg(long, value_name = "BRANCH", conflicts_with = "no_branch")]
    pub branch: Option<String>,
    /// Bind the session to no branch
    #[arg(long)]
    pub no_branch: bool,
    /// The commit that the change starts from (default: HEAD)
    #[arg(long, value_name = "REVISION")]
    pub base: Option<String>,
}

pub(crate) fn start(args: StartArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = request(args, ctx)?;
    let done = sessions::start(ctx, &request)?;
    let stage = done.state.stage;
    let place = match &done.state.branch {
        Some(branch) => format!("started on branch {branch}, stage {stage}"),
        None => format!("started without a branch, stage {stage}"),
    };
    if ctx.must_name(&done.id) {
        ui.address(done.id.as_str());
    }
    let said = match &done.value {
        Some(revert) => format!("{place}; the documents are written, and the build is: {revert}"),
        None => format!(
            "{place}; the files to write are in {}",
            ctx.folder(&done.id)
        ),
    };
    report(
        ctx,
        ui,
        "start",
        &done,
        &said,
        json!({ "branch": done.state.branch, "base": done.state.base, "revert": done.value }),
    );
    Ok(Exit::Done)
}

/// Session that the arguments ask for, with what its issues say where it is for some.
fn request(args: StartArgs, ctx: &Context) -> Result<StartRequest> {
    let StartArgs {
        name,
        id,
        revert,
        issues,
        message,
        file,
        profile,
        quick,
        deep,
        branch,
        no_branch,
        base,
    } = args;
    let (mut name, mut issues) = (name, issues);
    // `--issue A B "A name"`: words behind an issue that mean issues are no name, and words in quotes are one.
    let quoted = name.pop_if(|word| word.contains(' '));
    if !issues.is_empty() && crate::flow::issue::sessions::are_issues(ctx, &name)? {
        issues.append(&mut name);
    }
    name.extend(quoted);
    let intent = match (message, file) {
        (Some(message), _) => Some(message),
        (None, Some(file)) => Some(super::artifacts::read_text(&file)?),
        (None, None) => None,
    };
    let about = if issues.is_empty() {
        None
    } else {
        Some(crate::flow::issue::sessions::request(ctx, &issues)?)
    };
    let named = (!name.is_empty()).then(|| name.join(" "));
    Ok(StartRequest {
        name: named.or_else(|| about.as_ref().map(|about| about.title.clone())),
        id,
        asked: match (&intent, &about) {
            (None, Some(about)) => Some(about.asked.clone()),
            _ => intent.clone(),
        },
        intent: intent.or_else(|| about.as_ref().map(|about| about.intent.clone())),
        issues: about.map(|about| about.ids).unwrap_or_default(),
        profile: match (profile, quick, deep) {
            (Some(name), ..) => Some(ProfileName::parse(&name)?),
            (None, true, _) => Some(ProfileName::quick()),
            (None, _, true) => Some(ProfileName::deep()),
            (None, false, false) => None,
        },
        binding: match (branch, no_branch) {
            (Some(branch), _) => Binding::Branch(branch),
            (None, true) => Binding::Unbound,
            (None, false) => Binding::Current,
        },
        base,
        revert,
    })
}

/// Bind the current branch to a session
#[derive(Debug, clap::Args)]
pub struct UseArgs {
    /// The session
    pub id: String,
    /// Bind this branch instead of the current one
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
}

pub(crate) fn bind(args: UseArgs, ui: &mut Ui) -> Result<Exit> {
    let ctx = Context::open(Some(args.id.clone()))?.leaving_to(ui.unfinished());
    let done = sessions::bind(&ctx, args.branch).inspect_err(|failure| {
        // What leads on from here is about the session that was named, whatever branch is checked out.
        if failure.code != Code::SessionUnknown {
            ui.address(args.id);
        }
    })?;
    let before: Vec<&str> = done.value.before.iter().map(SessionId::as_str).collect();
    let Used { branch, left, .. } = &done.value;
    let others = (!before.is_empty()).then(|| format!("which was bound to {}", before.join(", ")));
    let left = left.as_ref().map(|left| {
        let back = ui.command(&command!("undo").session(&done.id));
        format!("and to {left} no more; {back} binds it there again")
    });
    let more: Vec<String> = others.into_iter().chain(left).collect();
    let said = match more.as_slice() {
        [] => format!("bound to branch {branch}"),
        more => format!("bound to branch {branch} ({})", more.join(", ")),
    };
    let extra = json!({ "branch": branch, "before": done.value.before, "left": done.value.left });
    report(&ctx, ui, "use", &done, &said, extra);
    Ok(Exit::Done)
}

/// Change the base of the session, after history was rewritten or policy changed
///
/// The base gives the policy and the begin of what a review covers. A base is replaced when it is no longer in the
/// history of the branch, or by a newer commit of the target that the branch has merged; no commit of the
/// session may come before the new one. What was approved and not used yet, and the verdict of an open
/// review, have to be given again.
#[derive(Debug, clap::Args)]
pub struct RebaseArgs {
    /// The commit to start from
    #[arg(long, value_name = "COMMIT")]
    pub onto: String,
    /// Why, for the record (needed)
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub(crate) fn rebase(args: RebaseArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let RebaseArgs { onto, reason } = args;
    let done = rebase::rebase(ctx, &onto, reason)?;
    let before = done.value.before.as_ref().map_or("nothing", Oid::short);
    let said = format!(
        "starts from {} now (before: {before})",
        done.value.base.short()
    );
    let below = done.value.below;
    let extra = json!({ "base": done.value.base, "before": done.value.before, "below": below });
    report(ctx, ui, "rebase", &done, &said, extra);
    if below > 0 {
        let commits = counted(below, "commit");
        ui.warn(format!(
            "up to {} there are {commits} made since the session began: no review sees them",
            done.value.base.short()
        ));
    }
    Ok(Exit::Done)
}

pub(crate) fn abandon(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = sessions::abandon(ctx, reason)?;
    let said = "abandoned; everything is kept";
    report(ctx, ui, "abandon", &done, said, json!({}));
    Ok(Exit::Done)
}
