//! `resolve`: arguments, and how conflicts read.

use super::artifacts::read_bytes;
use super::history;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::resolve;
use crate::flow::resolve::{Brief, Choices, Conflicts, Contested, Held, SideView, Text};
use crate::flow::task_files;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::id::{OpId, Person, SessionId};
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use serde_json::json;

/// List the conflicts between clones that a person has to decide, and settle them
#[derive(Debug, clap::Args)]
pub struct ResolveArgs {
    /// The artifact to settle; with no choice, as it stands in .loopx/ID
    pub artifact: Option<String>,
    /// Take the side that you wrote
    #[arg(long, requires = "artifact", group = "text")]
    pub ours: bool,
    /// Take the side that you did not write
    #[arg(long, requires = "artifact", group = "text")]
    pub theirs: bool,
    /// Take the side of this number
    #[arg(long, value_name = "N", requires = "artifact", group = "text")]
    pub side: Option<usize>,
    /// Keep the tasks of all sides of tasks.jsonl: where two gave one id to tasks of their own, the later one gets the
    /// next free id; a domain with different numbers keeps those of the first side
    #[arg(long, requires = "artifact", group = "text")]
    pub both: bool,
    /// Take a file's content (`-` for stdin)
    #[arg(long, value_name = "FILE", requires = "artifact", group = "text")]
    pub file: Option<String>,
    /// Let this operation count, and leave out the operations that contradict it
    #[arg(long, value_name = "OPERATION", conflicts_with = "artifact")]
    pub keep: Vec<String>,
    /// Leave this operation out; its record stays
    #[arg(long, value_name = "OPERATION", conflicts_with = "artifact")]
    pub drop: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub(crate) fn resolve(args: ResolveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if args.artifact.is_none() && args.keep.is_empty() && args.drop.is_empty() {
        let found = resolve::conflicts(ctx)?;
        text(ctx, &found, ui);
        let mut body = json!(found);
        if !found.is_empty() {
            super::lead(ctx, &found.session, &mut body, ui);
        }
        ui.json("resolve", &body);
        return Ok(if found.is_empty() {
            Exit::Done
        } else {
            Exit::Conflict
        });
    }
    let text = match (&args.side, &args.file) {
        _ if args.ours => Some(Text::Mine),
        _ if args.theirs => Some(Text::Theirs),
        _ if args.both => Some(Text::Both),
        (Some(side), _) => Some(Text::Side(*side)),
        (_, Some(file)) => Some(Text::Given(read_bytes(file)?)),
        _ => None,
    };
    let (mut artifact, mut output) = (None, None);
    if let Some(name) = &args.artifact {
        match task_files::named(name)? {
            Some(path) => output = Some((path, text)),
            None => artifact = Some((Artifact::parse(name)?, text)),
        }
    }
    let choices = Choices {
        artifact,
        file: output,
        keep: args.keep,
        drop: args.drop,
        reason: args.reason,
    };
    let done = resolve::resolve(ctx, &choices)?;
    let left = done.left;
    for one in &done.renamed {
        ui.status(format!("{} of the later side is {} now", one.from, one.to));
    }
    for one in &done.joined {
        let name = line(&one.name);
        ui.status(format!("the domain {name} has the numbers {}", one.range()));
    }
    ui.status(format!(
        "{}: settled; {}",
        ui.paint(style::NAME, done.id.as_str()),
        match left {
            0 => format!("in stage {}", done.state.stage),
            1 => "1 conflict is left".to_owned(),
            n => format!("{n} conflicts are left"),
        }
    ));
    let mut body = json!({
        "session": done.id,
        "commit": done.commit,
        "stage": done.state.stage,
        "left": left,
        "renamed": done.renamed,
        "domains": done.joined,
    });
    super::lead(ctx, &done.id, &mut body, ui);
    ui.json("resolve", &body);
    Ok(Exit::Done)
}

/// The word or act of somebody, who and when; and the names by which it is settled.
fn brief(one: &Brief, ui: &Ui) -> String {
    let ids = |ids: &[OpId]| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.join(", ")
    };
    format!(
        "{} by {}, {}  (@{}, {})",
        line(&history::told(&one.body, ids)),
        clean(&one.by.name),
        ui.when(&one.at),
        one.seq,
        one.op
    )
}

/// The commit of an archive, its branch, and who has it: whoever chooses between two keeps the one that others have.
fn archive(one: &Brief, ui: &mut Ui) {
    let Some(made) = &one.archive else {
        return;
    };
    let at = format!("commit {} of {}", made.commit.short(), line(&made.target));
    let remotes: Vec<String> = made.remotes.iter().map(|name| line(name)).collect();
    ui.out(match (remotes.as_slice(), &made.fetch) {
        ([], Some(remote)) => format!("    {at}, which is not here: git fetch {}", line(remote)),
        ([], None) if !made.is_here => format!("    {at}, which is not here"),
        ([], None) => format!("    {at}, which no remote is known to have"),
        (remotes, _) => format!("    {at}, which is on {}", remotes.join(", ")),
    });
}

/// The deed of `--both`.
const KEEPS: &str = "keeps all: the later ones get the next free ids, and a domain has the numbers of the first side";

fn text(ctx: &Context, found: &Conflicts, ui: &mut Ui) {
    let id = &found.session;
    if found.is_empty() {
        ui.status(format!("{id}: nothing to resolve"));
        return;
    }
    for one in &found.operations {
        held(one, found, ui);
    }
    for one in &found.artifacts {
        contested(one, ctx, id, ui);
    }
    for one in &found.files {
        let name = shell_word(&one.path);
        ui.out(format!(
            "{}  {}",
            ui.paint(style::WARN, "written apart"),
            line(&one.path)
        ));
        sides(&one.sides, ui);
        ui.out(format!(
            "    {}   (or --file FILE)",
            command!("resolve {name} --side {}", "N").session(id)
        ));
    }
}

/// An operation that does not count, what stands against it, and what settles it.
fn held(one: &Held, found: &Conflicts, ui: &mut Ui) {
    let id = &found.session;
    ui.out(format!(
        "{}  {}",
        ui.paint(style::WARN, "does not count"),
        brief(&one.operation, ui)
    ));
    archive(&one.operation, ui);
    ui.out(format!("    {}", clean(&one.why)));
    for other in &one.with {
        let mut all = found.operations.iter();
        let counts = !all.any(|one| one.operation.op == other.op);
        let word = if counts { "stands " } else { "against" };
        ui.out(format!("    {word}  {}", brief(other, ui)));
        if counts {
            archive(other, ui);
        }
    }
    let op = &one.operation.op;
    let keep = command!("resolve --keep {op}").session(id);
    let drop = command!("resolve --drop {op}").session(id);
    // To keep a record is to leave out what stands against it.
    let against = one.with.iter().find_map(|one| found.kept.get(&one.op));
    let signer = |who: &Person| {
        format!(
            "({} signed the other, and nobody else leaves it out)",
            clean(&who.name)
        )
    };
    let ways = match (one.with.is_empty(), against, found.kept.get(op)) {
        (false, None, None) => format!("{keep}   or   --drop {op}"),
        (false, None, Some(_)) => keep.to_string(),
        (true, _, None) => drop.to_string(),
        (false, Some(who), None) => format!("{drop}   {}", signer(who)),
        (_, _, Some(who)) => format!("waits for {}, who signed it", clean(&who.name)),
    };
    ui.out(format!("    {ways}"));
}

/// An artifact that clones changed apart, and the ways to settle it.
fn contested(one: &Contested, ctx: &Context, id: &SessionId, ui: &mut Ui) {
    ui.out(format!(
        "{}  {}",
        ui.paint(style::WARN, "changed apart"),
        one.artifact
    ));
    sides(&one.sides, ui);
    let twice = one.made_twice.iter().map(ToString::to_string);
    let domains = one.domains_apart.iter();
    let twice = twice.chain(domains.map(|name| format!("the domain {}", line(name))));
    let twice: Vec<String> = twice.collect();
    if !twice.is_empty() {
        ui.out(format!("    made on each side: {}", twice.join(", ")));
    }
    if one.keeps_all {
        let keep = command!("resolve {} --both", one.artifact).session(id);
        ui.out(format!("    {keep}   ({KEEPS})"));
    }
    let by_hand = if one.made_twice.is_empty() {
        ""
    } else {
        resolve::ANOTHER_ID
    };
    ui.out(format!(
        "    edit {}/{}{by_hand}, then: {}   (or --side N, --file FILE)",
        ctx.folder(id),
        one.artifact,
        command!("resolve {}", one.artifact).session(id)
    ));
}

fn sides(sides: &[SideView], ui: &mut Ui) {
    for side in sides {
        let place = match &side.path {
            Some(path) => format!("git show loopx:{path}"),
            None => "removed".to_owned(),
        };
        ui.out(format!(
            "    side {}  {}",
            side.number,
            brief(&side.operation, ui)
        ));
        ui.out(format!("            {}", clean(&place)));
    }
}
