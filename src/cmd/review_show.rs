//! The text of `review --show`.

use crate::cmd::{check_lines, debt_line};
use crate::flow::change::RequirementDiff;
use crate::flow::review_show::{FoundBefore, ReviewShown, ReviewedFile};
use crate::ui::{Ui, diff, line, style};
use loopx_base::counted;
use loopx_rules::contract::Contract;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Document with all that is shown, for machines.
pub(super) fn document(shown: &ReviewShown) -> Value {
    let commits: Vec<Value> = shown
        .commits
        .iter()
        .zip(&shown.proof)
        .map(|(commit, proof)| {
            json!({
                "id": commit.id,
                "author": commit.author.to_string(),
                "committer": commit.committer.to_string(),
                "proof": proof,
                "subject": commit.subject(),
            })
        })
        .collect();
    let paths: Vec<&str> = shown.files.iter().map(|file| file.path.as_str()).collect();
    let mut body = json!({
        "session": shown.session,
        "stage": shown.stage,
        "base": shown.base,
        "head": shown.head,
        "tree": shown.tree,
        "commits": commits,
        "files": paths,
        "changes": shown.files,
        "scope": shown.scope,
        "contract": shown.contract,
        "uncommitted": shown.is_dirty,
        "checks": shown.checks,
        "left": shown.left,
        "findings": shown.findings,
        "specs": shown.specs,
        "specs_failed": shown.specs_failed,
        "dependence": shown.dependence,
        "independent": shown.dependence.as_ref().map(Vec::is_empty),
        "verdict": shown.verdict.as_ref().map(|verdict| &verdict.value),
        "judgement": shown.judgement,
        "diff_command": shown.diff_command(),
    });
    super::tell_next(&mut body, &shown.advised);
    body
}

/// Prints all that is shown, for people.
pub(super) fn print(shown: &ReviewShown, ui: &mut Ui) {
    head(shown, ui);
    for (commit, proof) in shown.commits.iter().zip(&shown.proof) {
        let id = ui.paint(style::NAME, commit.id.short());
        let (subject, author) = (line(commit.subject()), line(&commit.author.name));
        ui.fold_out(format!("  {id} {subject} ({author}, {})", proof.word()), 4);
    }
    files(shown, ui);
    if shown.is_dirty {
        let word = ui.paint(style::WARN, "uncommitted");
        ui.out(format!(
            "  {word}  the worktree differs from the last commit"
        ));
    }
    contract(shown, ui);
    checks(shown, ui);
    for debt in &shown.left {
        ui.fold_out(format!("left    {}", debt_line(debt)), 8);
    }
    specs(shown, ui);
    if !shown.findings.is_empty() {
        ui.out("findings");
        for one in &shown.findings {
            finding(one, ui);
        }
    }
    verdict(shown, ui);
    if let Some(command) = shown.diff_command() {
        ui.out(format!("read: {command}"));
    }
}

fn head(shown: &ReviewShown, ui: &mut Ui) {
    let authors: BTreeSet<String> = shown
        .commits
        .iter()
        .map(|commit| line(&commit.author.name))
        .collect();
    let by = match authors.len() {
        0 => String::new(),
        _ => {
            let names: Vec<&str> = authors.iter().map(String::as_str).collect();
            format!(" by {}", names.join(", "))
        }
    };
    let since = shown
        .base
        .as_ref()
        .map_or_else(String::new, |base| format!(" since {}", base.short()));
    let sum =
        |of: fn(&ReviewedFile) -> Option<usize>| shown.files.iter().filter_map(of).sum::<usize>();
    let name = ui.paint(style::HEAD, shown.session.as_str());
    let said = format!(
        "{name}  {}{by}{since}, {}, +{} -{}",
        counted(shown.commits.len(), "commit"),
        counted(shown.files.len(), "file"),
        sum(|file| file.added),
        sum(|file| file.removed)
    );
    ui.fold_out(said, 2);
}

fn files(shown: &ReviewShown, ui: &mut Ui) {
    let names: Vec<String> = shown.files.iter().map(|file| line(&file.path)).collect();
    let wide = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    for (file, name) in shown.files.iter().zip(&names) {
        let counts = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            _ => "binary or long".to_owned(),
        };
        let becomes = file.becomes.as_ref().map_or_else(String::new, |word| {
            format!("  {}", ui.paint(style::WARN, &line(word)))
        });
        let outside = if file.in_scope {
            String::new()
        } else {
            let scope = line(&shown.contract.boundary().to_string());
            format!(
                "  {}",
                ui.paint(style::WARN, &format!("outside the plan's scope ({scope})"))
            )
        };
        ui.fold_out(format!("  {name:wide$}  {counts}{becomes}{outside}"), 4);
    }
}

/// The contract of the work: the boundary, and the conditions that have to hold now.
fn contract(shown: &ReviewShown, ui: &mut Ui) {
    let Contract {
        constraints,
        definition_of_done,
        execution_criteria,
        ..
    } = &shown.contract;
    for (head, lines) in [
        ("constraints", constraints),
        ("execution criteria", execution_criteria),
        ("done when", definition_of_done),
    ] {
        if !lines.is_empty() {
            ui.out(head);
        }
        for one in lines {
            ui.fold_out(format!("  {}", line(one)), 4);
        }
    }
}

fn checks(shown: &ReviewShown, ui: &mut Ui) {
    let tree = shown
        .tree
        .as_ref()
        .map_or_else(String::new, |tree| format!(" on {}", tree.short()));
    ui.out(format!("checks{tree}"));
    check_lines(ui, "  ", &shown.checks);
}

fn specs(shown: &ReviewShown, ui: &mut Ui) {
    if let Some(why) = &shown.specs_failed {
        let word = ui.paint(style::WARN, "specs");
        ui.fold_out(format!("{word}  {}", line(why)), 7);
    }
    if shown.specs.is_empty() {
        return;
    }
    ui.out(format!(
        "specs  {} changed",
        counted(shown.specs.len(), "requirement")
    ));
    let color = ui.color();
    for one in &shown.specs {
        let name = one.requirement.as_deref().unwrap_or("Purpose");
        let to = one
            .renamed_to
            .as_ref()
            .map_or_else(String::new, |to| format!(" -> {to}"));
        let said = format!("  {}: {}{}", line(&one.domain), line(name), line(&to));
        ui.fold_out(said, 4);
        for changed in words_of(one, color) {
            ui.fold_out(format!("    {changed}"), 4);
        }
    }
}

/// Changes of a requirement, word by word: against what the target has, else what the change was written against.
fn words_of(one: &RequirementDiff, color: bool) -> Vec<String> {
    let old = one.target.as_deref().or(one.base.as_deref());
    let new = one.merged.as_deref().or(one.delta.as_deref());
    diff::words(old.unwrap_or_default(), new.unwrap_or_default(), color)
}

fn finding(one: &FoundBefore, ui: &mut Ui) {
    let finding = &one.finding;
    let mark = match (&finding.answer, finding.open, finding.blocking) {
        (_, true, true) => ui.paint(style::WARN, "open"),
        (_, true, false) => ui.paint(style::DIM, "note"),
        (Some(said), false, _) => said.answer.to_string(),
        (None, false, _) => String::new(),
    };
    ui.fold_out(format!("  {mark}  {}", line(&finding.words())), 8);
    if let Some(said) = &finding.answer {
        let why = said
            .reason
            .as_deref()
            .map_or_else(String::new, |why| format!(": {why}"));
        let (by, answer) = (line(&said.by), said.answer);
        ui.fold_out(format!("        {by} says {answer}{}", line(&why)), 10);
    }
    let changed: Vec<String> = one.changed.iter().map(|path| line(path)).collect();
    let since = match (changed.as_slice(), finding.changed_since) {
        ([], false) => "nothing changed since".to_owned(),
        ([], true) => return,
        (paths, _) => format!("changed since: {}", paths.join(", ")),
    };
    ui.fold_out(format!("        {since}"), 10);
}

fn verdict(shown: &ReviewShown, ui: &mut Ui) {
    if let Some(verdict) = &shown.verdict {
        let (word, by) = (verdict.value.verdict, line(&verdict.signed.by.to_string()));
        let tree = verdict.value.tree.short();
        ui.fold_out(format!("verdict  {word} by {by}, on {tree}"), 9);
        for because in shown.judgement.iter().flat_map(|one| &one.because) {
            ui.fold_out(format!("  {}", line(&because.to_string())), 4);
        }
    }
    match shown.dependence.as_deref() {
        None => {}
        Some([]) => ui.fold_out(
            "you took no part in these commits: your verdict is independent",
            0,
        ),
        Some(roles) => {
            let roles: Vec<&str> = roles.iter().map(|one| one.role.as_str()).collect();
            let then = if shown.asks_independence {
                "policy asks for the verdict of somebody who took no part"
            } else {
                "your verdict is recorded as not independent"
            };
            let said = format!(
                "you are {} of the reviewed code: {then}",
                roles.join(" and ")
            );
            ui.fold_out(ui.paint(style::WARN, &said), 0);
        }
    }
}
