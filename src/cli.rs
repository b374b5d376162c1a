//! The command line: what can be typed, and the one place that turns an outcome into an exit code.

mod alias;
mod help;
mod issue;
mod issue_more;
mod roadmap;
mod short;
mod task;
mod words;
mod wrong;

pub use help::described;
pub(crate) use issue::IssueCommand;
pub(crate) use issue_more::{QueueCommand, SolutionCommand};
pub(crate) use roadmap::RoadmapCommand;
pub(crate) use task::{TaskCommand, TaskDomainCommand};
use words::{
    AbandonArgs, CatArgs, CheckoutArgs, DiffArgs, EditArgs, SaveArgs, SessionArgs, ShowArgs,
};

use crate::cmd;
use crate::flow::amend::as_policy_wants;
use crate::flow::{Context, pager};
use crate::ui::{ColorChoice, Options, Ui};
use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser, Subcommand};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::Hint;
use loopx_rules::settings::SyncPoint;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Ending of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done: 0.
    Done,
    /// Stamped, but what was judged does not pass: 1.
    Blocked,
    /// The code of another hook that ran first, or of the reason why a command went no further.
    Code(u8),
    /// Written with conflict markers for a person: 3.
    Conflict,
}

/// Keep a change's workflow inside the repository that it changes
#[derive(Debug, Parser)]
#[command(
    name = "git-loopx",
    bin_name = "git loopx",
    version,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The heading of the options that every command takes.
const EVERYWHERE: &str = "Options of every command";

/// Options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Print one JSON document instead of text
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// Say nothing but what was asked for
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub quiet: bool,
    /// Say more: codes, and what rests on what
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub verbose: bool,
    /// When to use colour
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The session (default: LOOPX_SESSION, else the session bound to this branch, else the only active session)
    #[arg(short, long, global = true, help_heading = EVERYWHERE, value_name = "ID")]
    pub session: Option<String>,
}

impl Global {
    fn options(&self) -> Options {
        Options {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            color: self.color,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create the branch that sessions live on
    Init,
    #[command(visible_alias = "new")]
    Start(cmd::sessions::StartArgs),
    Use(cmd::sessions::UseArgs),
    Rebase(cmd::sessions::RebaseArgs),
    #[command(visible_alias = "ls")]
    List(cmd::list::ListArgs),
    History(cmd::project_history::HistoryArgs),
    /// Show the stage of the session, what blocks it, and the command that leads on
    #[command(visible_alias = "st")]
    Status(SessionArgs),
    /// Print the command that leads on, and nothing else
    Next(SessionArgs),
    /// Show everything that is stored of the session
    Show(ShowArgs),
    Log(cmd::history::LogArgs),
    /// Show what changed in its artifacts: unsaved edits, or between two points of its history
    Diff(DiffArgs),
    Note(Box<cmd::note::NoteArgs>),
    Finish(cmd::finish::FinishArgs),
    Reopen(cmd::finish::ReopenArgs),
    Profile(cmd::finish::ProfileArgs),
    Undo(cmd::undo::UndoArgs),
    Redo(cmd::undo::RedoArgs),
    Redact(cmd::redact::RedactArgs),
    /// End the session without a result; everything is kept
    Abandon(AbandonArgs),
    /// Edit an artifact in git's editor, and save it
    Edit(EditArgs),
    Put(cmd::artifacts::PutArgs),
    /// Print an artifact as it is stored
    Cat(CatArgs),
    /// Bring .loopx/ID in step with the session; edits stay
    Checkout(CheckoutArgs),
    /// Commit the edits of .loopx/ID to the session
    Save(SaveArgs),
    Clarify(cmd::stages::ClarifyArgs),
    Approve(cmd::stages::ApproveArgs),
    Plan(cmd::stages::PlanArgs),
    Build(cmd::stages::BuildArgs),
    Run(cmd::run::RunArgs),
    Take(cmd::task::take::TakeArgs),
    Amend(cmd::amend::AmendArgs),
    /// List tasks, and say what became of them
    #[command(subcommand)]
    Task(TaskCommand),
    /// Keep a backlog of issues: work that no session has started yet
    #[command(subcommand)]
    Issue(IssueCommand),
    /// Milestones, phases and waves over issues: cut, put in order, check, agree on, take over
    #[command(subcommand)]
    Roadmap(RoadmapCommand),
    /// Start a whole plan from a pipeline: list, show, check and start those that there are
    #[command(subcommand)]
    Pipeline(cmd::pipeline::PipelineCommand),
    /// Name a commit and the state of the session, and go back to both
    #[command(subcommand)]
    Point(cmd::point::PointCommand),
    /// Former spelling of `agent block`
    #[command(hide = true)]
    Block {
        /// What stands in the way (needed)
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Former spelling of `agent park`
    #[command(hide = true)]
    Park {
        /// Why (needed)
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Former spelling of `agent resume`
    #[command(hide = true)]
    Resume {
        /// Why, for the record
        #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
        reason: Option<String>,
    },
    Review(cmd::review::ReviewArgs),
    Archive(cmd::archive::ArchiveArgs),
    Sync(cmd::sync::SyncArgs),
    Resolve(cmd::resolve::ResolveArgs),
    Export(cmd::bundle::ExportArgs),
    Fsck(cmd::fsck::FsckArgs),
    Doctor(cmd::doctor::DoctorArgs),
    Clean(cmd::clean::CleanArgs),
    /// Read, list, check, merge and apply specs (most needs no session, some no repository)
    #[command(subcommand)]
    Spec(cmd::spec::SpecCommand),
    /// Take over the specs and changes of another tool, a session that was exported, or a session of a fork
    Import(cmd::import::ImportArgs),
    /// Check, show and renew the session's delta against the specs
    #[command(subcommand)]
    Change(cmd::change::ChangeCommand),
    /// Decision records: draft, promote, accept, supersede, check, renumber
    #[command(subcommand)]
    Adr(cmd::adr::AdrCommand),
    /// Rules that work must follow: add, list, load what applies now, check, take over
    #[command(subcommand)]
    Rule(cmd::rule::RuleCommand),
    /// Set up a server, a repository or a clone in one command
    #[command(subcommand)]
    Setup(cmd::setup::SetupCommand),
    /// Install, remove and check the git hooks of this repository
    #[command(subcommand)]
    Hooks(cmd::hooks::HooksCommand),
    /// Wire coding agents (Claude Code, Codex, Cursor, Copilot CLI, Gemini CLI); block, park, resume a build
    #[command(subcommand)]
    Agent(cmd::agent::AgentCommand),
    #[command(hide = true)]
    AgentHook(cmd::agent_hook::AgentHookArgs),
    /// Look at the keys that people sign with
    #[command(subcommand)]
    Signers(cmd::signers::SignersCommand),
    Verify(cmd::verify::VerifyArgs),
    /// Show the settings that hold, and the schema of loopx.toml
    #[command(subcommand)]
    Config(cmd::config::ConfigCommand),
    /// Answer a git hook (called by git)
    #[command(hide = true)]
    Hook(cmd::hook::HookArgs),
    /// Play the whole path in a temporary repository
    Demo {
        /// Keep the repository, and say where it is
        #[arg(long)]
        keep: bool,
    },
    /// Print the manual page, or install all pages
    Man {
        /// Write every page into DIR/man1 (default: a folder of yours that `man` reads)
        #[arg(long, value_name = "DIR", num_args = 0..=1)]
        install: Option<Option<PathBuf>>,
    },
    /// Print a shell's completion script, which completes commands, options and values
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print what could stand where the last word stands (called by completion scripts)
    #[command(hide = true)]
    Complete {
        /// The command line behind `git loopx`, up to the word that is to be completed
        #[arg(last = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

impl Command {
    /// The session that the command's own argument names.
    fn session(&self) -> Option<&str> {
        match self {
            Command::Status(SessionArgs { id })
            | Command::Next(SessionArgs { id })
            | Command::Finish(cmd::finish::FinishArgs { id, .. })
            | Command::Reopen(cmd::finish::ReopenArgs { id, .. })
            | Command::Show(ShowArgs { id, .. })
            | Command::Abandon(AbandonArgs { id, .. }) => id.as_deref(),
            Command::Log(args) => args.id.as_deref(),
            _ => None,
        }
    }

    /// Tells whether the command only shows, and at length.
    fn is_paged(&self) -> bool {
        matches!(
            self,
            Command::List(_)
                | Command::History(_)
                | Command::Log(_)
                | Command::Show(_)
                | Command::Diff(_)
                | Command::Task(
                    TaskCommand::List(_)
                        | TaskCommand::Graph(_)
                        | TaskCommand::Waves(_)
                        | TaskCommand::Log(_)
                        | TaskCommand::Show(_)
                )
                | Command::Issue(
                    IssueCommand::List(_)
                        | IssueCommand::Ready(_)
                        | IssueCommand::Graph(_)
                        | IssueCommand::Log(_)
                        | IssueCommand::Diff(_)
                        | IssueCommand::Board(_)
                        | IssueCommand::Stats(_)
                        | IssueCommand::Show(_)
                )
        )
    }
}

/// Takes the session that a command's own argument names for the one of `--session`.
fn name_once(named: &str, global: &mut Global) -> Result<()> {
    if let Some(other) = global.session.as_deref().filter(|other| *other != named) {
        return Err(Failure::usage(
            Code::SeveralSessions,
            format!("expected one session, found `{other}` and `{named}`"),
        )
        .help("name it once: behind the command, or with -s"));
    }
    global.session = Some(named.to_owned());
    Ok(())
}

/// Parses, runs and gives the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(hook) = hook_call(&args) {
        let mut ui = Ui::new(Options::default());
        return ended(cmd::hook::run(hook, &mut ui), &mut ui);
    }
    if let Some(hook) = agent_hook_call(&args) {
        let mut ui = Ui::new(Options::default());
        let exit = cmd::agent_hook::run(&hook, &mut ui);
        // Its exit code is part of what the host is told, so that one stays.
        if let Some(lost) = ui.lost_output() {
            ui.failure(&lost);
            return ExitCode::SUCCESS;
        }
        return ended(Ok(exit), &mut ui);
    }
    if let Some((asked, options)) = help::asked(&args) {
        let mut ui = Ui::new(options);
        ui.keep_for_pager();
        let exit = show_help(asked, &mut ui);
        return ended(Ok(exit), &mut ui);
    }
    if let Some(global) = home_call(&args) {
        let mut ui = Ui::new(global.options());
        let outcome = home(global, &mut ui);
        return ended(outcome, &mut ui);
    }
    if let Some(version) = short::version(&args) {
        return not_run(&version, &args);
    }
    let parsed = short::call(&args).map_or_else(|| Cli::try_parse_from(&args), Ok);
    let parsed = match parsed {
        Err(error) if error.kind() == ErrorKind::InvalidSubcommand => match alias::expand(&args) {
            Ok(Some(words)) => Cli::try_parse_from(words),
            Ok(None) => Err(error),
            Err(failure) => return ended(Err(failure), &mut Ui::new(options_of(&args))),
        },
        parsed => parsed,
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return not_run(&error, &args),
    };
    let mut ui = Ui::new(cli.global.options());
    let outcome = run(cli, &mut ui).map_err(|failure| match failure {
        // Of a word that means nothing the help of its command says more.
        Failure {
            kind: Kind::Usage,
            help: None,
            ..
        } => failure.help(help::leads_to(&args)),
        failure => failure,
    });
    ended(outcome, &mut ui)
}

fn show_help(asked: help::Asked, ui: &mut Ui) -> Exit {
    match asked {
        help::Asked::Page => cmd::help::page(ui),
        help::Asked::All => cmd::help::all(&described(), ui),
        help::Asked::Codes => cmd::codes::codes(ui),
        help::Asked::Command(path) => cmd::help::command(&described(), &path, ui),
        help::Asked::Topic(topic) => {
            cmd::help::topic(topic, help::of_command(topic.name).as_deref(), ui)
        }
    }
}

/// Ends a call that the parser answers itself: with help, with the version, or with what is wrong.
fn not_run(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if error.use_stderr() {
        return ended(
            Err(help::usage(error, args)),
            &mut Ui::new(options_of(args)),
        );
    }
    // Only who reads help pays for the examples in it.
    let is_help = error.kind() != ErrorKind::DisplayVersion;
    let again = is_help.then(|| described().try_get_matches_from(args).err());
    let again = again.flatten();
    let error = again
        .as_ref()
        .filter(|again| again.kind() == error.kind())
        .unwrap_or(error);
    let mut ui = Ui::new(Options::default());
    if is_help {
        ui.keep_for_pager();
    }
    ui.parser_said(error);
    show_kept(&mut ui);
    match ui.lost_output() {
        Some(lost) => ended(Err(lost), &mut ui),
        None => ExitCode::from(code),
    }
}

/// Reads a call that git makes at every commit, without the description of every other command: that is half of the
/// time that such a call takes.
fn hook_call(args: &[OsString]) -> Option<cmd::hook::HookArgs> {
    if args.get(1).is_none_or(|word| word != "hook") {
        return None;
    }
    let command = cmd::hook::HookArgs::augment_args(clap::Command::new("git loopx hook"));
    let matches = command.try_get_matches_from(&args[1..]).ok()?;
    cmd::hook::HookArgs::from_arg_matches(&matches).ok()
}

/// `git loopx` alone, with no more than options that every command takes.
fn home_call(args: &[OsString]) -> Option<Global> {
    let has_command = |arg: &OsString| !arg.to_string_lossy().starts_with('-');
    if args.get(1).is_some_and(has_command) {
        return None;
    }
    let described = Global::augment_args(clap::Command::new("git loopx"));
    let matches = described.try_get_matches_from(args).ok()?;
    Global::from_arg_matches(&matches).ok()
}

fn home(global: Global, ui: &mut Ui) -> Result<Exit> {
    if let Some(wanted) = &global.session
        && let Ok((_, Some(session))) = Context::open_for(wanted)
    {
        ui.address(session.as_str());
    }
    let ctx = Context::open(global.session);
    if let Ok(ctx) = &ctx {
        ui.bare().set(ctx.repo.work_dir().is_none());
        ui.tells_time_at(ctx.now());
    }
    cmd::home::home(ctx, ui)
}

/// Reads a call by a coding agent's host. The host is told nothing about a command line that is wrong: it would take
/// that, or the exit code, for an answer to its agent.
fn agent_hook_call(args: &[OsString]) -> Option<cmd::agent_hook::AgentHookArgs> {
    let asks = |arg: &OsString| arg == "--help" || arg == "-h";
    if args.get(1).is_none_or(|word| word != "agent-hook") || args.iter().any(asks) {
        return None;
    }
    let word = |at: usize| args.get(at).cloned().unwrap_or_default();
    Some(cmd::agent_hook::AgentHookArgs {
        host: word(2),
        event: word(3),
        rest: Vec::new(),
    })
}

/// Hands what was kept for a pager to it, and ends; else it is printed.
fn show_kept(ui: &mut Ui) {
    if let Some(text) = ui.kept() {
        pager::show(text);
    }
    ui.print_kept();
}

fn ended(outcome: Result<Exit>, ui: &mut Ui) -> ExitCode {
    // With --json an error document has it too, and stands alone.
    if outcome.is_ok() || !ui.is_json() {
        ui.warn_unfinished();
    }
    ui.say_taken();
    // Of what failed, or ended with a code of its own, no pager may be the end.
    match &outcome {
        Ok(Exit::Done) => show_kept(ui),
        _ => ui.print_kept(),
    }
    // Whoever reads less than was to be said must not take it for all of it.
    let outcome = outcome.and_then(|exit| match ui.lost_output() {
        Some(lost) => Err(lost),
        None => Ok(exit),
    });
    match outcome {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Blocked) => ExitCode::from(1),
        Ok(Exit::Code(code)) => ExitCode::from(code),
        Ok(Exit::Conflict) => ExitCode::from(3),
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

/// Options for output, where the command line as a whole cannot be read.
fn options_of(args: &[OsString]) -> Options {
    Options {
        json: wants_json(args),
        ..Options::default()
    }
}

/// Tells whether `--json` was typed, where the command line as a whole cannot be read.
fn wants_json(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json")
}

fn run(cli: Cli, ui: &mut Ui) -> Result<Exit> {
    let Cli {
        mut global,
        command,
    } = cli;
    if let Some(named) = command.session() {
        name_once(named, &mut global)?;
    }
    let session = global.session.as_deref();
    // What cannot be opened is said by the command that wants it, if it does.
    let opened = session.and_then(|session| Context::open_for(session).ok());
    let (unfinished, taken, aside) = (ui.unfinished().clone(), ui.taken(), ui.aside());
    if let Some((_, Some(session))) = &opened {
        ui.address(session.as_str());
    }
    let opened = RefCell::new(opened);
    let (is_bare, branch) = (ui.bare(), ui.branch());
    let open = || {
        let ctx = match opened.take() {
            Some((ctx, _)) => ctx,
            None => Context::open(global.session.clone())?,
        };
        is_bare.set(ctx.repo.work_dir().is_none());
        if is_bare.get() {
            *branch.borrow_mut() = Context::branch_of(global.session.clone());
        }
        Ok(ctx.leaving_to(&unfinished).telling(&taken, &aside))
    };
    if command.is_paged() {
        ui.keep_for_pager();
    }
    let outcome = dispatch(command, open, ui);
    outcome.map_err(|mut failure| {
        let is_amendment = |hint: &Hint| hint.has_amendment();
        let hints = failure.blockers.iter().map(|blocker| &blocker.help);
        if hints.chain(&failure.help).any(is_amendment)
            && let Ok(ctx) = open()
        {
            let wanted = |hint| as_policy_wants(&ctx, hint);
            failure.help = failure.help.take().map(wanted);
            for blocker in &mut failure.blockers {
                blocker.help = wanted(std::mem::take(&mut blocker.help));
            }
        }
        if crate::flow::next::has_word(&failure)
            && let Ok(ctx) = open()
        {
            failure = crate::flow::next::spoken(&ctx, failure);
        }
        // What begins is no way for somebody without a name.
        if failure.code == Code::NotInitialised
            && let Ok(ctx) = open()
            && let Some(first) = ctx.unsigned()
        {
            failure.help = Some(first.into_hint());
        }
        failure
    })
}

/// Lets times be told as the repository's clock has it: only who shows some pays for it.
fn timed(ctx: Context, ui: &mut Ui) -> Context {
    ui.tells_time_at(ctx.now());
    ctx
}

/// Runs a command, in the repository that it opens if it wants one.
fn dispatch(
    command: Command,
    open: impl Fn() -> Result<Context> + Copy,
    ui: &mut Ui,
) -> Result<Exit> {
    match command {
        Command::Hooks(command) => cmd::hooks::run(command, ui),
        Command::Setup(command) => cmd::setup::run(command, open, ui),
        Command::Agent(command) => cmd::agent::run(command, &open()?, ui),
        Command::AgentHook(args) => Ok(cmd::agent_hook::run(&args, ui)),
        Command::Block { reason } => cmd::pause::block(reason, &open()?, ui),
        Command::Park { reason } => cmd::pause::park(reason, &open()?, ui),
        Command::Resume { reason } => cmd::pause::resume(reason, &open()?, ui),
        Command::Hook(args) => cmd::hook::run(args, ui),
        Command::Config(command) => cmd::config::run(command, open, ui),
        Command::Signers(command) => cmd::signers::run(command, &open()?, ui),
        Command::Verify(args) => cmd::verify::verify(args, &open()?, ui),
        Command::Init => cmd::sessions::init(&open()?, ui),
        Command::Start(args) => cmd::sessions::start(args, &open()?, ui),
        Command::Use(args) => cmd::sessions::bind(args, ui),
        Command::Rebase(args) => cmd::sessions::rebase(args, &open()?, ui),
        Command::List(args) => cmd::list::list(args, &open()?, ui),
        Command::History(args) => cmd::project_history::history(args, &open()?, ui),
        Command::Status(_) => cmd::status::status(&timed(open()?, ui), ui),
        Command::Next(_) => cmd::next::next(&open()?, ui),
        Command::Show(args) if args.context.is_asked() => {
            cmd::show_context::run(&args.context, &open()?, ui)
        }
        Command::Show(args) => cmd::history::show(&timed(open()?, ui), args.run, ui),
        Command::Log(args) => cmd::history::log(&args, &timed(open()?, ui), ui),
        Command::Diff(args) => cmd::history::diff(&args.words, &open()?, ui),
        Command::Note(args) => cmd::note::run(*args, &timed(open()?, ui), ui),
        Command::Finish(args) => {
            let ctx = open()?;
            let finish = |ui: &mut Ui| cmd::finish::finish(args, &ctx, ui);
            cmd::sync::around(SyncPoint::Finish, &ctx, ui, finish)
        }
        // Whoever takes the steps of `finish` one by one, or takes its end back, tells others as `finish` does.
        Command::Reopen(args) => {
            let ctx = open()?;
            let reopen = |ui: &mut Ui| cmd::finish::reopen(&args, &ctx, ui);
            cmd::sync::around(SyncPoint::Finish, &ctx, ui, reopen)
        }
        Command::Profile(args) => cmd::finish::profile(args, &open()?, ui),
        Command::Undo(args) => cmd::undo::undo(args, &timed(open()?, ui), ui),
        Command::Redo(args) => cmd::undo::redo(args, &timed(open()?, ui), ui),
        Command::Redact(args) => cmd::redact::redact(&args, &open()?, ui),
        Command::Abandon(args) => cmd::sessions::abandon(args.reason, &open()?, ui),
        Command::Edit(args) => cmd::artifacts::edit(args.artifact.as_deref(), &open()?, ui),
        Command::Put(args) => cmd::artifacts::put(args, &open()?, ui),
        Command::Cat(args) => cmd::artifacts::cat(&args.artifact, args.at.as_deref(), &open()?, ui),
        Command::Checkout(args) => {
            cmd::artifacts::checkout(&args.artifacts, args.force, &open()?, ui)
        }
        Command::Save(args) => cmd::artifacts::save(args.reason, &open()?, ui),
        Command::Clarify(args) => cmd::stages::clarify(args, &open()?, ui),
        Command::Approve(args) if !args.show => {
            let ctx = open()?;
            let approve = |ui: &mut Ui| cmd::stages::approve(args, &ctx, ui);
            cmd::sync::around(SyncPoint::Approve, &ctx, ui, approve)
        }
        Command::Approve(args) => cmd::stages::approve(args, &open()?, ui),
        Command::Plan(args) => cmd::stages::plan(args, &open()?, ui),
        Command::Build(args) => cmd::stages::build(args, &open()?, ui),
        Command::Run(args) => cmd::run::run(args, &open()?, ui),
        Command::Take(args) => cmd::task::take::run(args, &timed(open()?, ui), ui),
        Command::Amend(args) => cmd::amend::run(args, &open()?, ui),
        Command::Task(command) => cmd::task::run(command, &timed(open()?, ui), ui),
        Command::Issue(command) => cmd::issue::run(command, &timed(open()?, ui), ui),
        Command::Roadmap(command) => cmd::roadmap::run(command, &open()?, ui),
        Command::Pipeline(command) => cmd::pipeline::run(command, &open()?, ui),
        Command::Point(command) => cmd::point::run(command, &open()?, ui),
        Command::Review(args) if !args.show => {
            let ctx = open()?;
            let review = |ui: &mut Ui| cmd::review::review(args, &ctx, ui);
            cmd::sync::around(SyncPoint::Review, &ctx, ui, review)
        }
        Command::Review(args) => cmd::review::review(args, &open()?, ui),
        Command::Archive(args) if args.writes_nothing() => {
            cmd::archive::archive(args, &open()?, ui)
        }
        Command::Archive(args) => {
            let ctx = open()?;
            let archive = |ui: &mut Ui| cmd::archive::archive(args, &ctx, ui);
            cmd::sync::around(SyncPoint::Finish, &ctx, ui, archive)
        }
        Command::Export(args) => cmd::bundle::export(args, &open()?, ui),
        Command::Resolve(args) => cmd::resolve::resolve(args, &open()?, ui),
        Command::Sync(args) => cmd::sync::sync(args, &open()?, ui),
        Command::Fsck(args) => cmd::fsck::fsck(&args, &open()?, ui),
        Command::Doctor(args) => cmd::doctor::doctor(&args, &open()?, ui),
        Command::Clean(args) => cmd::clean::clean(&args, &open()?, ui),
        Command::Change(command) => cmd::change::run(command, &open()?, ui),
        Command::Spec(command) => cmd::spec::run(command, open, ui),
        Command::Adr(command) => cmd::adr::run(command, &open()?, ui),
        Command::Rule(command) => cmd::rule::run(command, open, ui),
        Command::Import(args) => cmd::import::run(args, &open()?, ui),
        Command::Demo { keep } => cmd::demo::demo(keep, ui),
        Command::Man { install } => cmd::manual::man(install.as_ref().map(Option::as_deref), ui),
        Command::Completions { shell } => cmd::complete::completions(shell, ui),
        Command::Complete { words } => cmd::complete::complete(&alias::expand_begun(words), ui),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
