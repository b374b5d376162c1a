//! `git loopx setup`: what a person would otherwise do in twenty steps, each of them said.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::setup::check::check;
use crate::flow::setup::level as flow;
use crate::flow::setup::level::{Plan, Request};
use crate::flow::setup::server::Server;
use crate::ui::diff::unified;
use crate::ui::{Ui, clean, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_rules::setup::attack::{Ending, Row};
use loopx_rules::setup::ci::Ci;
use loopx_rules::setup::file::Fate;
use loopx_rules::setup::level::Level;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum SetupCommand {
    /// Let a bare repository judge each push, and prove that it does
    ///
    /// Writes hooks/pre-receive (a hook that is there is kept and runs first), sets
    /// receive.fsckObjects, and hides refs/replace and refs/loopx from pushes. Which branches may be
    /// deleted or forced is policy's to say (gates.protected), so git's own receive.deny* stay as they
    /// are. Run it as the user that receives pushes.
    Server(ServerArgs),
    /// Write the policy of one person: what they review themselves lands, and is shown as such
    ///
    /// Writes loopx.toml and the file that has a forge run the check; wires this clone: branch of
    /// sessions, hooks. Nothing is committed, and a file that says something else is not replaced
    /// unasked.
    Solo(LevelArgs),
    /// Write the policy of a team: somebody reviews who took no part, by name
    ///
    /// Does what `setup solo` does, and puts your key into the file of signers where there is one:
    /// the key that git signs with, else the only one in ~/.ssh.
    Team(LevelArgs),
    /// Write the strictest policy: nothing lands without a session, two people approve a plan, and each
    /// approval and verdict is signed
    ///
    /// Does what `setup team` does, and sets gpg.format, user.signingKey and loopx.sign of this clone
    /// where they are not set. The keys of those who begin go into the first commit (--key): later
    /// ones need a session.
    Strict(LevelArgs),
    /// Wire this clone for the policy that stands: branch of sessions, hooks, signing
    ///
    /// Where policy asks for signatures it sets gpg.format, user.signingKey and loopx.sign of this
    /// clone, and adds your key to the file of signers, for a session to bring.
    Clone(CloneArgs),
}

#[derive(Debug, clap::Args)]
pub struct LevelArgs {
    /// Whose CI file is written: github, gitlab or none (default: by the remote's address)
    #[arg(long, value_name = "CI")]
    pub ci: Option<Ci>,
    /// Another person's public key for the file of signers (can be repeated)
    #[arg(long = "key", value_name = "EMAIL=FILE")]
    pub keys: Vec<String>,
    /// Replace files that are there and say something else
    #[arg(long)]
    pub force: bool,
    /// Show what would be written, do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct CloneArgs {
    /// Show what would be written, do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// The bare repository
    pub dir: PathBuf,
    /// Try pushes, attacks and an honest one, and print which the server would accept; no push stays.
    /// Exits with 1 when an attack would get in, or an honest push would not
    #[arg(long)]
    pub check: bool,
    /// Print what would be done, do nothing
    #[arg(short = 'n', long, conflicts_with = "check")]
    pub dry_run: bool,
}

pub(crate) fn run(
    command: SetupCommand,
    open: impl FnOnce() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    let level = |level, args: LevelArgs| {
        let request = Request {
            level: Some(level),
            ci: args.ci,
            keys: args.keys,
            force: args.force,
        };
        (request, args.dry_run)
    };
    let (request, dry_run) = match command {
        SetupCommand::Server(args) if args.check => return prove(&Server::read(&args.dir)?, ui),
        SetupCommand::Server(args) => return server(&Server::read(&args.dir)?, args.dry_run, ui),
        SetupCommand::Solo(args) => level(Level::Solo, args),
        SetupCommand::Team(args) => level(Level::Team, args),
        SetupCommand::Strict(args) => level(Level::Strict, args),
        SetupCommand::Clone(CloneArgs { dry_run }) => (Request::default(), dry_run),
    };
    let ctx = open()?;
    let plan = flow::read(&ctx, &request)?;
    if !dry_run {
        flow::check(&plan, &request)?;
        flow::apply(&ctx, &plan)?;
    }
    tell(&plan, &request, dry_run, ui);
    Ok(Exit::Done)
}

/// Each thing that was done, or found done, and what is left for people.
fn tell(plan: &Plan, request: &Request, dry_run: bool, ui: &mut Ui) {
    let color = ui.color();
    let mut files = Vec::new();
    for file in &plan.files {
        let fate = file.fate();
        let word = match fate {
            Fate::Found => "found",
            Fate::Replaced if dry_run && !request.force => "stays",
            _ if dry_run => "would",
            Fate::Written => "wrote",
            Fate::Added => "added",
            Fate::Replaced => "wrote",
        };
        let needed = fate != Fate::Found;
        ui.status(format!(
            "{}  {}",
            ui.paint(role(needed), &format!("{word:<5}")),
            clean(&file.path)
        ));
        if dry_run && needed && !ui.is_json() {
            let before = file.before.as_deref().unwrap_or_default();
            ui.raw_text(&unified(&file.path, before, &file.after, color));
        }
        files.push(
            json!({"path": file.path, "fate": fate, "before": file.before, "after": file.after}),
        );
    }
    let mut clone = Vec::new();
    for wire in &plan.wires {
        let state = state(wire.needed, dry_run);
        let text = clean(&wire.text);
        ui.status(format!(
            "{}  {text}",
            ui.paint(role(wire.needed), &format!("{state:<5}"))
        ));
        clone.push(json!({"text": text, "state": state}));
    }
    warn(&plan.warnings, ui);
    if !plan.by_hand.is_empty() {
        ui.status("left for a person:");
    }
    for (at, text) in plan.by_hand.iter().enumerate() {
        ui.status(format!("  {}. {}", at + 1, clean(text)));
    }
    let name = match request.level {
        Some(level) => format!("setup {level}"),
        None => "setup clone".to_owned(),
    };
    ui.json(
        &name,
        &json!({
            "branch": plan.branch,
            "ci": plan.ci.to_string(),
            "dry_run": dry_run,
            "changed": !dry_run && plan.changes(),
            "files": files,
            "clone": clone,
            "warnings": plan.warnings,
            "by_hand": plan.by_hand,
            "next_action": plan.next,
        }),
    );
    if !dry_run {
        ui.hint(&plan.next);
    }
}

fn server(server: &Server, dry_run: bool, ui: &mut Ui) -> Result<Exit> {
    let plan = server.plan()?;
    if !dry_run {
        server.apply(&plan)?;
    }
    let mut steps = Vec::new();
    for one in &plan {
        let state = state(one.needed, dry_run);
        let text = clean(&one.step.holds());
        ui.status(format!(
            "{}  {text}",
            ui.paint(role(one.needed), &format!("{state:<5}"))
        ));
        steps.push(json!({"step": one.step, "state": state, "text": text}));
    }
    let warnings = server.rules.warnings();
    warn(&warnings, ui);
    let next = command!("setup server --check {}", server.named);
    ui.json(
        "setup server",
        &json!({
            "dir": server.dir.display().to_string(),
            "dry_run": dry_run,
            "changed": !dry_run && plan.iter().any(|one| one.needed),
            "steps": steps,
            "policy": server.rules,
            "warnings": warnings,
            "next_action": next,
        }),
    );
    if !dry_run {
        ui.hint(next);
    }
    Ok(Exit::Done)
}

/// The word for a step.
fn state(needed: bool, dry_run: bool) -> &'static str {
    match (needed, dry_run) {
        (false, _) => "found",
        (true, true) => "would",
        (true, false) => "done",
    }
}

fn role(needed: bool) -> anstyle::Style {
    if needed { style::GOOD } else { style::DIM }
}

/// Prints the warnings on stderr; with --json they are in the document.
fn warn(warnings: &[String], ui: &mut Ui) {
    let said = if ui.is_json() { &[] } else { warnings };
    for warning in said {
        ui.warn(clean(warning));
    }
}

fn prove(server: &Server, ui: &mut Ui) -> Result<Exit> {
    let checked = check(server)?;
    for row in &checked.rows {
        ui.out(line(row, ui));
    }
    let mut warnings = server.rules.warnings();
    warnings.extend(checked.notes.iter().cloned());
    warn(&warnings, ui);
    let wrong = checked.rows.iter().filter(|row| !row.ending.is_good());
    let wrong = wrong.count();
    let named = &server.named;
    let next = match &server.rules.instead {
        Some(branch) => Some(hint![
            format!("git -C {named} symbolic-ref HEAD refs/heads/{branch}, then: "),
            command!("setup server --check {named}")
        ]),
        None => {
            (wrong > 0).then(|| command!("setup server {named}").note("(and see to the warnings)"))
        }
    };
    ui.json(
        "setup server",
        &json!({
            "dir": server.dir.display().to_string(),
            "ok": next.is_none(),
            "attempts": checked.rows,
            "policy": server.rules,
            "warnings": warnings,
            "next_action": next,
        }),
    );
    let pushes = checked.rows.len();
    ui.status(if wrong == 0 {
        format!("{pushes} pushes tried, each answered as it should be; no push stayed")
    } else {
        format!("{pushes} pushes tried, {wrong} answered wrongly; no push stayed")
    });
    match next {
        None => Ok(Exit::Done),
        Some(next) => {
            ui.hint(next);
            Ok(Exit::Blocked)
        }
    }
}

fn line(row: &Row, ui: &Ui) -> String {
    let (role, word) = match row.ending {
        Ending::Refused => (style::GOOD, "refused"),
        Ending::Taken => (style::GOOD, "taken"),
        Ending::GetsIn => (style::BAD, "GETS IN"),
        Ending::Held => (style::BAD, "HELD"),
        Ending::Unproven => (style::BAD, "UNPROVEN"),
    };
    let by = row
        .by
        .as_deref()
        .map_or(String::new(), |by| format!("  {by}"));
    let mut line = format!(
        "{}  {:<36} {}{by}",
        ui.paint(role, &format!("{word:<8}")),
        row.what,
        clean(&row.name)
    );
    for said in row.said.iter().flat_map(|said| said.lines()) {
        line.push_str(&format!("\n          {}", clean(said)));
    }
    line
}
