//! `issue import`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::import as flow;
use crate::flow::issue::import::{Differs, From, Report, Request};
use crate::ui::{Ui, line, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_rules::issue::foreign::{Format, Wish};
use serde_json::json;

/// Number of remarks that are told in text.
const MOST_REMARKS: usize = 20;

/// Take over a backlog of another program, our JSON lines, or the TODO comments of the code
///
/// Read are Beads, what `gh issue list --json` and `glab issue list -F json` print, ccw, Backlog.md, the tasks.json of
/// Task Master, `task export` of Taskwarrior, a CSV with a header as Jira and Linear export it, and a Markdown list of
/// check boxes; --format says which where nothing in the file tells.
///
/// All of it or nothing, in one commit. An issue that is here already is left alone, so that a second import adds only
/// what is new. What became of the words of the other program is told, and a field without a counterpart is kept as
/// data. An id there names no file here, and nothing of what is read is run.
///
/// For GitHub: `gh issue list --state all --limit 1000 --json
/// number,url,title,body,state,stateReason,labels,assignees,milestone,author,createdAt,comments | git loopx issue
/// import -`
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// A file, a folder, or `-` for stdin; with --todos a path of the code
    #[arg(value_name = "FILE", required_unless_present = "todos")]
    from: Option<String>,
    /// Whose backlog it is, where nothing in it tells
    #[arg(long, value_name = "FORMAT", conflicts_with = "todos", value_parser = clap::builder::PossibleValuesParser::new(Format::WORDS))]
    format: Option<String>,
    /// Take the TODO and FIXME comments of the code at HEAD, each linked to its line
    #[arg(long)]
    todos: bool,
    /// What a word of status, kind or priority becomes, as "In Review=in_progress" or "priority:P5=4"; repeat it
    #[arg(long = "map", value_name = "WORD=VALUE")]
    map: Vec<String>,
    /// A name for this backlog, where another one of its format has the same ids
    #[arg(long, value_name = "NAME", conflicts_with = "todos")]
    source: Option<String>,
    /// Bring also what the other program changed of issues that are here: by field, as two clones merge. JSON lines of our
    /// own do not tell who spoke, and change nothing
    #[arg(long)]
    update: bool,
    /// Say what would be taken over, and take nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: ImportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let from = match (args.todos, args.from) {
        (true, under) => From::Todos(under.map(|path| flow::code_path(ctx, &path))),
        (false, Some(file)) if file == "-" => From::Text(super::edit::text_of("-")?),
        (false, Some(file)) => From::Path(file),
        (false, None) => {
            return Err(
                Failure::usage(Code::InputMissing, "expected a file, a folder or `-`")
                    .help(command!("help issue import")),
            );
        }
    };
    let map = args.map.iter().map(|text| wish(text));
    let request = Request {
        from,
        format: args.format.as_deref().map(str::parse).transpose()?,
        map: map.collect::<Result<_>>()?,
        source: args.source,
        update: args.update,
        dry_run: args.dry_run,
    };
    let report = flow::import(ctx, &request)?;
    print(&report, ui);
    let next = match (report.dry_run, report.new.is_empty(), report.gone.first()) {
        (true, _, _) => None,
        _ if !report.changed.is_empty() && !report.updated => request.with_update(),
        _ if report.changed.iter().any(|one| !one.apart.is_empty()) => settle(&report),
        (false, _, Some(gone)) => Some(command!(
            "issue resolve {} --reason \"the comment is gone\"",
            report.names.short(gone)
        )),
        (false, true, None) => Some(command!("issue list --all")),
        (false, false, None) if !report.queued.is_empty() => Some(command!("issue queue form")),
        (false, false, None) => Some(command!("issue ready")),
    };
    if let Some(next) = &next {
        ui.hint(next);
    }
    let mut body = json!(report);
    body["next_action"] = json!(next);
    ui.json("issue import", &body);
    Ok(Exit::Done)
}

/// The command that settles the only field that an update wrote apart, or lists them.
fn settle(report: &Report) -> Option<Hint> {
    let mut apart = report.changed.iter().filter(|one| !one.apart.is_empty());
    let only = apart.next().and_then(|one| one.settle.clone());
    let only = only.filter(|_| apart.next().is_none());
    Some(only.unwrap_or_else(|| command!("issue list --apart")))
}

fn wish(text: &str) -> Result<Wish> {
    match text.rsplit_once('=') {
        Some((word, value)) if !word.trim().is_empty() && !value.trim().is_empty() => Ok(Wish {
            word: word.trim().to_owned(),
            value: value.trim().to_owned(),
        }),
        _ => Err(Failure::usage(
            Code::IssueFieldInvalid,
            format!("expected --map WORD=VALUE, found `{text}`"),
        )
        .help(command!("help issue import"))),
    }
}

pub(crate) fn print(report: &Report, ui: &mut Ui) {
    for came in &report.new {
        let short = ui.paint(style::NAME, report.names.short(&came.issue));
        ui.out(format!(
            "{short}  {}  {}",
            line(&came.title),
            line(&came.at)
        ));
    }
    let would = if report.dry_run { "would come" } else { "came" };
    ui.out(format!(
        "{} {would} from {}, {} here already",
        report.new.len(),
        report.format,
        report.here
    ));
    for one in &report.changed {
        let short = ui.paint(style::NAME, report.names.short(&one.issue));
        let said = differences(one, report.updated);
        ui.out(format!("{short}  {}  {said}", line(&one.at)));
    }
    for id in &report.taken_back {
        let short = report.names.short(id);
        ui.out(format!(
            "{short} was taken back here: issue redo {short} brings it back"
        ));
    }
    for id in &report.gone {
        let short = report.names.short(id);
        ui.out(format!("{short}: its comment is no longer in the code"));
    }
    if !report.queued.is_empty() {
        let many = report.queued.len();
        ui.out(format!(
            "{many} stood in a queue of the other program, and come as planned"
        ));
    }
    if !report.new.is_empty() {
        print_mapping(report, ui);
    }
}

/// Changes that the other program made to an issue that is here, in words.
fn differences(one: &Differs, is_updated: bool) -> String {
    let brought = if is_updated {
        "brought"
    } else {
        "otherwise there"
    };
    let is_apart = |words: &&String| one.apart.contains(words);
    let (apart, whole): (Vec<&String>, Vec<&String>) = one.changes.iter().partition(is_apart);
    let said = [
        (brought, whole),
        ("written apart, and nobody has settled them", apart),
    ];
    let said = said.iter().filter(|(_, changes)| !changes.is_empty());
    let said = said.map(|(what, changes)| {
        let changes: Vec<String> = changes.iter().map(|one| line(one)).collect();
        format!("{what}: {}", changes.join(", "))
    });
    let said: Vec<String> = said.collect();
    said.join("; ")
}

/// Says what became of the words and fields of the other program.
fn print_mapping(report: &Report, ui: &mut Ui) {
    // A word that stays what it is has nothing to tell.
    for word in report.words.iter().filter(|one| one.word != one.became) {
        ui.out(format!(
            "  {:<8} {} -> {}  ({})",
            word.field,
            line(&word.word),
            line(&word.became),
            word.issues
        ));
    }
    for (name, issues) in &report.kept {
        ui.out(format!("  kept as data: {} ({issues})", line(name)));
    }
    for remark in report.remarks.iter().take(MOST_REMARKS) {
        ui.out(format!("  {}: {}", line(&remark.at), line(&remark.message)));
    }
    if let Some(more) = report.remarks.len().checked_sub(MOST_REMARKS)
        && more > 0
    {
        ui.out(format!("  and {more} more remarks (--json has them)"));
    }
}
