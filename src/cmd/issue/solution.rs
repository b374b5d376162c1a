//! `issue solution add|list|show|audit|score|bind|unbind|reject`.

use super::edit::text_of;
use super::say;
use crate::cli::{Exit, SolutionCommand};
use crate::flow::Context;
use crate::flow::issue::Written;
use crate::flow::issue::audit;
use crate::flow::issue::audit::Review;
use crate::flow::issue::solution as flow;
use crate::flow::issue::solution::Said;
use crate::flow::rules::typed_path;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::shell_word;
use loopx_rules::issue::solution::{Action, Proposal, Scores, Solution, Touched, Verdict};
use loopx_rules::issue::{Read, Status};
use loopx_rules::strict_json::strict;
use serde_json::{Value, json};

pub(crate) fn run(command: SolutionCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        SolutionCommand::Add(args) => add(*args, ctx, ui),
        SolutionCommand::List(args) => list(&args, ctx, ui),
        SolutionCommand::Show(args) => show(&args, ctx, ui),
        SolutionCommand::Audit(args) => judge(&args, ctx, ui),
        SolutionCommand::Score(args) => score(&args, ctx, ui),
        SolutionCommand::Bind(args) => bind(&args, ctx, ui),
        SolutionCommand::Unbind(args) => unbind(&args, ctx, ui),
        SolutionCommand::Reject(args) => reject(&args, ctx, ui),
    }
}

/// Propose a way to do an issue
///
/// A solution says how the issue is done, with which tasks and in which files. A solution never changes: a new
/// solution takes its place. A new solution with --mends mends a rejected one, twice at most; then a person decides.
#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// The issue
    id: String,
    /// The approach; the words are joined
    #[arg(value_name = "HOW", required_unless_present = "from")]
    approach: Vec<String>,
    /// Its name (default: s1, s2, ...)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The title of a task; repeat it
    #[arg(long = "task", value_name = "TITLE", conflicts_with = "tasks")]
    titles: Vec<String>,
    /// Its tasks from a file of JSON lines as tasks.jsonl has them; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    tasks: Option<String>,
    /// A file that it changes; a folder ends with `/`; repeat it
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// A file that it makes; repeat it
    #[arg(long = "create", value_name = "PATH")]
    created: Vec<String>,
    /// A file that it deletes; repeat it
    #[arg(long = "delete", value_name = "PATH")]
    deleted: Vec<String>,
    /// The whole solution from a file of JSON: approach, tasks, files; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["approach", "titles", "tasks", "files", "created", "deleted"])]
    from: Option<String>,
    /// The rejected solution that it mends
    #[arg(long, value_name = "SOLUTION")]
    mends: Option<String>,
}

fn add(args: AddArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mut proposal = match &args.from {
        Some(file) => of_json(file)?,
        None => of_words(ctx, &args)?,
    };
    if let Some(name) = args.name {
        proposal.name = name;
    }
    let written = flow::add(ctx, &args.id, &proposal, args.mends.as_deref())?;
    let short = written.names.short(&written.value.issue);
    let next = command!("issue solution bind {short} {}", written.value.solution);
    done(
        ui,
        &written,
        "is proposed",
        Some(next),
        "issue solution add",
    );
    Ok(Exit::Done)
}

fn of_json(file: &str) -> Result<Proposal> {
    let text = text_of(file)?;
    let wrong = |what: String| Failure::usage(Code::IssueFieldInvalid, format!("{file}: {what}"));
    let proposal: Proposal = strict(&text)
        .and_then(serde_json::from_value)
        .map_err(|error| wrong(format!("expected a solution as JSON: {error}")))?;
    match (&proposal.mends, &proposal.from) {
        (None, None) => Ok(proposal),
        (Some(_), _) => Err(wrong("what it mends is said by --mends".to_owned())),
        (None, Some(_)) => Err(wrong("where it is from is said by an import".to_owned())),
    }
}

/// A path of the code from the top; a folder ends with `/`.
fn placed(ctx: &Context, typed: &str) -> String {
    let path = typed_path(ctx, typed);
    if typed.ends_with('/') && !path.is_empty() && !path.ends_with('/') {
        format!("{path}/")
    } else {
        path
    }
}

/// A solution of words: its paths count from where somebody stands.
fn of_words(ctx: &Context, args: &AddArgs) -> Result<Proposal> {
    let titles = args.titles.iter().enumerate();
    let mut tasks: Vec<Value> = titles
        .map(|(at, title)| json!({ "id": format!("TASK-{:03}", at + 1), "title": title }))
        .collect();
    if let Some(file) = &args.tasks {
        for (at, text) in text_of(file)?.lines().enumerate() {
            if text.trim().is_empty() {
                continue;
            }
            tasks.push(strict(text).map_err(|error| {
                Failure::usage(
                    Code::IssueFieldInvalid,
                    format!("{file}:{}: expected a task as JSON: {error}", at + 1),
                )
            })?);
        }
    }
    let named = [
        (&args.files, Action::Modify),
        (&args.created, Action::Create),
        (&args.deleted, Action::Delete),
    ];
    let files = named.iter().flat_map(|(paths, action)| {
        paths.iter().map(|path| Touched {
            path: placed(ctx, path),
            action: *action,
        })
    });
    Ok(Proposal {
        approach: args.approach.join(" "),
        tasks,
        files: files.collect(),
        ..Proposal::default()
    })
}

/// Prints what was said of a solution, and the document of it.
fn done(ui: &mut Ui, written: &Written<Said>, what: &str, next: Option<Hint>, verb: &str) {
    let said = &written.value;
    let words = format!("{} {what}", said.solution);
    let body = json!({ "solution": said.solution, "status": said.status });
    say(ui, written, &words, next, body, verb);
}

/// List the solutions of an issue
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// The issue
    id: String,
}

fn list(args: &ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let read = flow::read(ctx, &args.id)?;
    let all = &read.texts.solutions;
    for one in all {
        row(&read, one, ui);
    }
    let id = &read.issue.id;
    let next = match (
        all.iter().find(|one| one.rejected.is_none()),
        &read.issue.bound,
    ) {
        (None, _) => command!("issue solution add {id} HOW"),
        (Some(_), Some(_)) => command!("issue solution audit {id}"),
        (Some(one), None) => command!("issue solution bind {id} {}", one.proposal.name),
    };
    if all.is_empty() {
        ui.status("no solution");
    }
    ui.hint(&next);
    let bound = read.issue.bound.as_ref().map(|bound| &bound.name);
    ui.json(
        "issue solution list",
        &json!({ "issue": id, "bound": bound, "solutions": all, "failures": read.texts.failures, "next_action": next }),
    );
    Ok(Exit::Done)
}

/// Prints a solution in two lines.
pub(super) fn row(read: &Read, one: &Solution, ui: &mut Ui) {
    let (role, word) = standing(read, one);
    let word = ui.paint(role, &format!("{word:<8}"));
    let name = ui.paint(style::NAME, &one.proposal.name);
    let first = one.proposal.approach.lines().next().unwrap_or_default();
    ui.out(format!("{word}  {name}  {}", line(first)));
    ui.out(format!("          {}", line(&size(one))));
    if let Some(rejected) = &one.rejected {
        let why = rejected.reason.as_deref().unwrap_or_default();
        ui.out(format!(
            "          {}: {}",
            line(&rejected.by.name),
            line(why)
        ));
    }
}

fn standing(read: &Read, one: &Solution) -> (anstyle::Style, &'static str) {
    let bound = read.issue.bound.as_ref();
    if bound.is_some_and(|bound| bound.solution == one.op) {
        (style::GOOD, "bound")
    } else if one.rejected.is_some() {
        (style::DIM, "rejected")
    } else {
        (style::WARN, "proposed")
    }
}

fn size(one: &Solution) -> String {
    let tasks = match one.proposal.tasks.len() {
        1 => "1 task".to_owned(),
        more => format!("{more} tasks"),
    };
    let files: Vec<String> = (one.proposal.touched().iter())
        .map(|file| match file.action {
            Action::Modify => file.path.clone(),
            Action::Create => format!("+{}", file.path),
            Action::Delete => format!("-{}", file.path),
        })
        .collect();
    if files.is_empty() {
        tasks
    } else {
        format!("{tasks}: {}", files.join(", "))
    }
}

/// Show one solution with its tasks
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The issue
    id: String,
    /// The solution (default: the bound one)
    solution: Option<String>,
}

fn show(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (read, one) = flow::show(ctx, &args.id, args.solution.as_deref())?;
    row(&read, &one, ui);
    for text in one.proposal.approach.lines().skip(1) {
        ui.out(format!("          {}", clean(text)));
    }
    for task in &one.proposal.tasks {
        let of = |field: &str| task[field].as_str().unwrap_or_default().to_owned();
        ui.out(format!("  {}  {}", line(&of("id")), line(&of("title"))));
    }
    ui.json(
        "issue solution show",
        &json!({ "issue": read.issue.id, "bound": standing(&read, &one).1 == "bound", "solution": one }),
    );
    Ok(Exit::Done)
}

/// Judge solutions by what they name and what the code has
///
/// Feasibility (4 parts): 70 where no session changed anything for the issue yet, else 100 and 15 less for each changed
/// file that the solution does not name, at least 40; 10 less where more than half of the files that it changes are not
/// in the code. Risk (3 parts): 90, or 50 above 10 tasks. Completeness (3 parts): 85, or 30 without a task. From 80 on
/// it is approved, from 60 on there are concerns, below it is rejected. Exit code 1 where one is rejected.
#[derive(Clone, Debug, clap::Args)]
pub struct AuditArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// This solution, of one issue (default: the bound ones)
    #[arg(long, value_name = "SOLUTION")]
    solution: Option<String>,
}

fn judge(args: &AuditArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let report = audit::audit(ctx, &args.ids, args.solution.as_deref())?;
    for review in &report.reviews {
        review_lines(review, ui);
    }
    ui.status(format!("overall: {}", report.overall_verdict));
    ui.json("issue solution audit", &json!(report));
    Ok(match report.overall_verdict {
        Verdict::Rejected => Exit::Blocked,
        Verdict::Approved | Verdict::Concerns => Exit::Done,
    })
}

/// Prints an audit for people.
pub(super) fn review_lines(review: &Review, ui: &mut Ui) {
    let audit = &review.audit;
    let role = match audit.verdict {
        Verdict::Approved => style::GOOD,
        Verdict::Concerns => style::WARN,
        Verdict::Rejected => style::BAD,
    };
    let verdict = ui.paint(role, audit.verdict.as_str());
    let by = audit
        .by
        .as_ref()
        .map_or_else(String::new, |by| format!(", by {}", line(by)));
    ui.out(format!(
        "{verdict}  {}  {} {} of 100: feasibility {}, risk {}, completeness {}{by}",
        review.issue,
        line(&review.solution),
        audit.total_score,
        audit.feasibility.score,
        audit.risk.score,
        audit.completeness.score,
    ));
    for one in [&audit.feasibility, &audit.risk, &audit.completeness] {
        for finding in &one.findings {
            ui.out(format!("          {}", line(finding)));
        }
    }
}

/// Judge a solution by values of one's own
///
/// The values stand in place of those that `issue solution audit` computes, with the name of the person: all three,
/// or --none.
#[derive(Clone, Debug, clap::Args)]
pub struct ScoreArgs {
    /// The issue
    id: String,
    /// The solution (default: the bound one)
    solution: Option<String>,
    /// Feasibility, from 0 to 100
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(0..=100))]
    feasibility: Option<u8>,
    /// Risk, from 0 to 100: the more, the less can go wrong
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(0..=100))]
    risk: Option<u8>,
    /// Completeness, from 0 to 100
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(0..=100))]
    completeness: Option<u8>,
    /// Take the values back: the audit computes them again
    #[arg(long, conflicts_with_all = ["feasibility", "risk", "completeness"])]
    none: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn score(args: &ScoreArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let scores = match (args.feasibility, args.risk, args.completeness) {
        (Some(feasibility), Some(risk), Some(completeness)) => Some(Scores {
            feasibility,
            risk,
            completeness,
        }),
        _ if args.none => None,
        (feasibility, risk, completeness) => {
            let or = |value: Option<u8>| value.unwrap_or(80);
            let solution = args.solution.as_ref();
            let named = solution.map_or_else(String::new, |name| format!(" {}", shell_word(name)));
            let values = format!(
                "--feasibility {} --risk {} --completeness {}",
                or(feasibility),
                or(risk),
                or(completeness)
            );
            let given = [feasibility, risk, completeness].iter().flatten().count();
            return Err(Failure::usage(
                Code::InputMissing,
                format!(
                    "expected all three of --feasibility, --risk and --completeness, found {given}"
                ),
            )
            .help(command!("issue solution score {}{named} {values}", args.id)));
        }
    };
    let reason = args.reason.as_ref();
    let written = flow::score(ctx, &args.id, args.solution.as_deref(), scores, reason)?;
    let what = match scores {
        Some(scores) => format!("is worth {} of 100: {}", scores.total(), scores.verdict()),
        None => "is judged by its audit again".to_owned(),
    };
    let short = written.names.short(&written.value.issue);
    let next = match scores.map(Scores::verdict) {
        Some(Verdict::Rejected) => {
            command!(
                "issue solution reject {short} {} --reason WHY",
                written.value.solution
            )
        }
        _ => command!("issue solution list {short}"),
    };
    done(ui, &written, &what, Some(next), "issue solution score");
    Ok(Exit::Done)
}

/// Choose the solution of an issue: the one that was bound before is bound no longer
#[derive(Clone, Debug, clap::Args)]
pub struct BindArgs {
    /// The issue
    id: String,
    /// The solution (default: the only one that stands)
    solution: Option<String>,
    /// Why, for the record; a person who binds a rejected one says it
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn bind(args: &BindArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let reason = args.reason.as_ref();
    let written = flow::bind(ctx, &args.id, args.solution.as_deref(), reason)?;
    let short = written.names.short(&written.value.issue);
    let next = match written.value.status {
        Status::Planned => command!("issue queue form {short}"),
        _ => command!("issue show {short}"),
    };
    done(ui, &written, "is bound", Some(next), "issue solution bind");
    Ok(Exit::Done)
}

/// Choose no solution: the issue is open again
#[derive(Clone, Debug, clap::Args)]
pub struct UnbindArgs {
    /// The issue
    id: String,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn unbind(args: &UnbindArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = flow::unbind(ctx, &args.id, args.reason.as_ref())?;
    let short = written.names.short(&written.value.issue);
    let next = command!("issue solution list {short}");
    done(
        ui,
        &written,
        "is bound no longer",
        Some(next),
        "issue solution unbind",
    );
    Ok(Exit::Done)
}

/// Reject a solution, with what is wrong with it
#[derive(Clone, Debug, clap::Args)]
pub struct RejectArgs {
    /// The issue
    id: String,
    /// The solution (default: the bound one, or the only one that stands)
    solution: Option<String>,
    /// What is wrong with it
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn reject(args: &RejectArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let reason = args.reason.as_ref();
    let written = flow::reject(ctx, &args.id, args.solution.as_deref(), reason)?;
    let said = &written.value;
    let short = written.names.short(&said.issue);
    let next = command!("issue solution list {short}");
    done(
        ui,
        &written,
        "is rejected",
        Some(next),
        "issue solution reject",
    );
    Ok(Exit::Done)
}
