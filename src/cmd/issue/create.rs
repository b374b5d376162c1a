//! `issue create`.

use super::edit::{FieldArgs, LinkArgs, meant, text_of};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::change::Ask;
use crate::flow::issue::create as flow;
use crate::flow::issue::create::New;
use crate::flow::issue::debt;
use crate::flow::issue::template;
use crate::ui::{Ui, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::event::Change;
use loopx_rules::issue::plain;
use loopx_rules::issue::template::Template;
use loopx_rules::issue::{IssueId, Status};
use serde_json::json;

/// Make an issue, or many from a file
///
/// The issue lies on the branch of sessions, where every clone finds it. An id is random, so that clones that were
/// apart never give one id twice; type as much of it as tells it from the others.
#[derive(Clone, Debug, clap::Args)]
pub struct CreateArgs {
    /// The title; its words are joined
    #[arg(value_name = "TITLE")]
    title: Vec<String>,
    /// Many issues from a file of JSON lines, in one commit; `-` reads stdin. A line has `title` and the fields
    /// that `issue export` writes; lines link to each other by `key` or `id`
    #[arg(long, value_name = "FILE", conflicts_with = "title")]
    from: Option<String>,
    /// An issue for each thing that completed tasks of the session left: parts that are not done, work that was put off,
    /// caveats. A thing that has an issue already is left alone
    #[arg(long, conflicts_with_all = ["title", "from", "template", "criteria"])]
    debt: bool,
    /// Begin with the fields and the text of loopx/templates/issue/NAME.md at HEAD
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    template: Option<String>,
    /// The value of a variable of the template; repeat it
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "template", value_parser = assigned)]
    set: Vec<(String, String)>,
    /// Print the issues that would be made, and make none
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fields: FieldArgs,
    /// Something that has to hold when it is done; repeat it
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    #[command(flatten)]
    links: LinkArgs,
}

/// A name and its value.
fn assigned(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("expected NAME=VALUE, found `{text}`"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The issues that are asked for, with what their words mean here.
fn asked(args: &CreateArgs, ctx: &Context) -> Result<Vec<New>> {
    let mut new = match &args.from {
        Some(file) => many(file)?,
        None if args.debt => debt::proposed(ctx, &args.fields.changes()?)?,
        None => {
            let template = match &args.template {
                Some(name) => template::find(ctx, (name, &args.title.join(" ")), &args.set)?,
                None => Template::default(),
            };
            vec![one(args, template)?]
        }
    };
    for one in &mut new {
        let changes = std::mem::take(&mut one.changes);
        one.changes = meant(ctx, changes).map_err(|failure| match &one.at {
            Some(at) => failure.context(at),
            None => failure,
        })?;
    }
    Ok(new)
}

pub(crate) fn run(args: CreateArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let new = asked(&args, ctx)?;
    if args.dry_run {
        for one in &new {
            ui.out(format!(
                "the issues that would be made: {}",
                crate::ui::line(one.title())
            ));
        }
        let titles: Vec<&str> = new.iter().map(New::title).collect();
        ui.json(
            "issue create",
            &json!({ "dry_run": true, "titles": titles }),
        );
        return Ok(Exit::Done);
    }
    let made = flow::create(ctx, &new, None)?;
    // Those that were there already are no new ones.
    let is_new = |(_, id): &(&New, &IssueId)| made.ids.contains(id);
    for (one, id) in new.iter().zip(&made.value).filter(is_new) {
        let short = ui.paint(style::NAME, made.names.short(id));
        ui.out(format!("{short}  {}", crate::ui::line(one.title())));
    }
    let next = match made.ids.as_slice() {
        [one] => command!("issue show {}", made.names.short(one)),
        _ => command!("issue ready"),
    };
    ui.hint(&next);
    ui.json(
        "issue create",
        &json!({ "issues": made.value, "commit": made.commit, "next_action": next }),
    );
    Ok(Exit::Done)
}

/// Builds an issue: options that are typed come after the fields of the template, and count.
fn one(args: &CreateArgs, template: Template) -> Result<New> {
    let typed = args.title.join(" ");
    if template.lacks_title(&typed) {
        return Err(Failure::usage(
            Code::IssueFieldInvalid,
            "expected the title of the issue, found none",
        )
        .help(command!("issue create \"The login form times out\" --kind bug").note("(for one)")));
    }
    let mut changes = vec![Change::Title(template.title(&typed))];
    changes.extend(template.changes);
    changes.extend(args.fields.changes()?);
    changes.extend(
        args.criteria
            .iter()
            .map(|text| Change::Criterion(text.trim().to_owned())),
    );
    Ok(New {
        changes,
        links: args.links.asks()?,
        ..New::default()
    })
}

fn many(file: &str) -> Result<Vec<New>> {
    let text = text_of(file)?;
    let plain = plain::read(&text, file)?;
    let new = plain.into_iter().map(|plain| {
        let at = format!("{}:{}", file, plain.line);
        let new = new_of(plain).map_err(|failure| failure.context(&at))?;
        require_open(&new).map_err(|failure| failure.context(&at))?;
        Ok(New {
            at: Some(at),
            ..new
        })
    });
    new.collect()
}

/// Refuses a new issue that has ended, or that somebody is at: an import alone says how far an issue is elsewhere.
fn require_open(new: &New) -> Result<()> {
    let is_beyond = |change: &&Change| matches!(change, Change::Status(status) if status.is_final() || *status == Status::InProgress);
    match new.changes.iter().find(is_beyond) {
        Some(Change::Status(status)) => Err(Failure::usage(
            Code::IssueFieldInvalid,
            format!("expected a status from which an issue begins, found {status}"),
        )
        .help(command!("help issue import"))),
        _ => Ok(()),
    }
}

/// A line of a plan as an issue that is to be made.
pub(super) fn new_of(plain: plain::Plain) -> Result<New> {
    let links = plain.links.iter();
    let links = links.map(|link| Ask::of(&link.kind, &link.to));
    Ok(New {
        key: plain.key.clone(),
        id: plain.id.clone(),
        links: links.collect::<Result<_>>()?,
        changes: plain.changes(),
        reason: plain.reason.clone(),
        ways: Vec::new(),
        at: None,
    })
}
