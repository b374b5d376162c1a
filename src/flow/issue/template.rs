//! The templates of issues that the code branch has, read at HEAD.

use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_git::EntryKind;
use loopx_rules::issue::template::{Given, Template};

const ENDING: &str = ".md";

/// The template of a name, with the values of its variables, for an issue of this title.
pub(crate) fn find(ctx: &Context, (name, title): (&str, &str), given: &Given) -> Result<Template> {
    let policy = crate::flow::specs::policy(ctx)?;
    let folder = format!("{}/issue", policy.paths.templates);
    let tree = match ctx.repo.head()?.commit {
        Some(commit) => ctx
            .repo
            .entry_at(&ctx.repo.commit_info(&commit)?.tree, &folder)?
            .filter(|entry| entry.kind == EntryKind::Tree),
        None => None,
    };
    let entries = match &tree {
        Some(tree) => ctx.repo.list_tree(&tree.id)?,
        None => Vec::new(),
    };
    // The name is looked for among those that are there: no path is made of it.
    let wanted = entries
        .iter()
        .find(|(file, entry)| file.strip_suffix(ENDING) == Some(name) && is_text(entry.kind));
    let Some((file, entry)) = wanted else {
        let names: Vec<&str> = entries
            .iter()
            .filter_map(|(file, _)| file.strip_suffix(ENDING))
            .collect();
        let there = if names.is_empty() {
            format!("{folder} has none at HEAD")
        } else {
            format!("{folder} has {}", names.join(", "))
        };
        return Err(Failure::not_found(
            Code::IssueTemplateUnknown,
            format!("there is no template `{name}`: {there}"),
        )
        .help(command!("help issue create")));
    };
    let path = format!("{folder}/{file}");
    let bytes = ctx.repo.read_blob(&entry.id)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::refused(Code::InputNotUtf8, format!("{path}: expected UTF-8"))
            .help("mend the file, and commit it")
    })?;
    let title = match title {
        "" => String::new(),
        title => format!("{} ", shell_word(title)),
    };
    let typed = format!("{title}--template {}", shell_word(name));
    Template::read(&text, (&path, &typed), given)
}

fn is_text(kind: EntryKind) -> bool {
    kind == EntryKind::Blob
}
