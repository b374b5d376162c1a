//! `status`: where the session stands, what holds it, and the command that leads on.

use super::blocker_lines;
use crate::cli::Exit;
use crate::core::failure::Result;
use crate::core::gate::Proof;
use crate::core::session::Ending;
use crate::core::signature::Checked;
use crate::core::stage::Stage;
use crate::flow::workcopy::FileStatus;
use crate::flow::{Context, view};
use crate::ui::{Ui, clean, line, style};

pub fn status(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let status = view::status(ctx)?;
    ui.json("status", &status);
    if ui.is_json() {
        return Ok(Exit::Done);
    }
    for warning in &status.warnings {
        ui.warn(line(warning));
    }
    let id = ui.paint(style::HEAD, status.session.as_str());
    ui.out(format!("session {id}  {}", line(&status.title)));
    let branch = status
        .branch
        .as_deref()
        .map_or("no branch".to_owned(), |b| format!("branch {}", line(b)));
    let base = status
        .base
        .as_ref()
        .map_or("before any commit".to_owned(), |b| {
            format!("from {}", b.short())
        });
    let stage = match &status.ending {
        None => status.stage.to_string(),
        Some(Ending::Abandoned { .. }) => format!("{} (abandoned)", status.stage),
        Some(Ending::Archived { target, commit, .. }) => format!(
            "archived on {target}{}",
            commit
                .as_ref()
                .map_or(String::new(), |c| format!(" as {}", c.short()))
        ),
    };
    let stage_words = ui.paint(style::NAME, &stage);
    ui.out(format!(
        "stage   {stage_words}, {branch}, {base}, {} profile",
        status.profile
    ));
    if let Some(moved) = &status.policy_moved {
        let word = ui.paint(style::WARN, "policy_moved");
        ui.out(format!("{word}  {}", line(&moved.message())));
        blocker_lines(ui, &moved.missing);
        ui.out(format!("        {}", clean(&ui.command(&moved.help))));
    }
    let rounds = &status.rounds;
    match status.stage {
        Stage::Plan => ui.out(format!(
            "plan    draft {} of {}",
            rounds.plan_iteration, rounds.plan_max
        )),
        Stage::Build => ui.out(format!(
            "build   iteration {} of {}",
            rounds.build_iteration, rounds.build_max
        )),
        _ => {}
    }
    if let Some(claim) = &status.claim {
        ui.out(format!("owner   {}", line(&claim.words)));
    }
    if let Some(block) = &status.blocked {
        let cause = ui.paint(style::WARN, &format!("blocked:{}", block.value.cause));
        let why = block.reason.as_deref().unwrap_or_default();
        ui.out(format!("stuck   {cause}  {}", line(why)));
    }
    if let Some(parked) = &status.parked {
        let word = ui.paint(style::WARN, "parked");
        ui.out(format!("{word}  {}", line(&parked.why)));
    }
    ui.out("");
    for gate in &status.gates {
        let mark = |on: bool, yes: &str, no: &str| {
            if on {
                ui.paint(style::GOOD, yes)
            } else {
                ui.paint(style::DIM, no)
            }
        };
        let ready = mark(gate.ready, "ready      ", "not ready  ");
        let authorized = mark(gate.authorized, "authorized", "not authorized");
        let who = match (gate.approval, gate.approved_by.is_empty()) {
            ("stale", _) => " (stale: the content changed)".to_owned(),
            (_, false) => format!(" by {}", line(&gate.approvers().join(", "))),
            _ => String::new(),
        };
        let transition = gate.transition.to_string();
        ui.out(format!("  {:16} {ready} {authorized}{who}", transition));
        for checked in gate.signatures.iter().flatten() {
            ui.out(format!("{:19}{}", "", signature(ui, checked)));
        }
    }
    for void in &status.void {
        let word = ui.paint(style::WARN, "void");
        let who = line(&void.by.to_string());
        ui.out(format!(
            "  {word}  the approval by {who}: {}",
            line(&void.why)
        ));
    }
    for taken in &status.taken {
        let did = if taken.back { "brought" } else { "taken" };
        let word = ui.paint(style::WARN, &format!("{did} back"));
        let why = taken.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {}", line(why)));
        ui.out(format!(
            "  {word}  `{}` that {} signed (@{}), by {}{why}",
            taken.word,
            line(&taken.by.to_string()),
            taken.seq,
            line(&taken.told_by.to_string())
        ));
    }
    if let Some(review) = &status.review {
        let outcome = review
            .judgement
            .as_ref()
            .map_or(String::new(), |j| match j.target {
                Some(target) => format!(", goes back to {target}"),
                None => String::new(),
            });
        let independence = if review.independent {
            "independent".to_owned()
        } else {
            let roles: Vec<&str> = review
                .verdict
                .value
                .dependence
                .iter()
                .map(|d| d.role.as_str())
                .collect();
            ui.paint(
                style::WARN,
                &format!("not independent: {}", roles.join(", ")),
            )
        };
        ui.out(format!(
            "\nreview  {} by {} ({independence}){outcome}, tree {}",
            review.verdict.value.verdict,
            line(&review.proof.named(&review.reviewer)),
            review.verdict.value.tree.short()
        ));
        if let Some(checked) = &review.signature {
            ui.out(format!("        {}", signature(ui, checked)));
        }
        for because in review.judgement.iter().flat_map(|j| &j.because) {
            ui.out(format!("        {}", line(because)));
        }
    }
    if !status.audit.is_empty() {
        ui.out("\nevidence");
        for item in &status.audit {
            let word = match item.proof {
                Proof::Passed => ui.paint(style::GOOD, "passed "),
                Proof::Failed => ui.paint(style::BAD, "failed "),
                Proof::Stale => ui.paint(style::WARN, "stale  "),
                Proof::Missing => ui.paint(style::WARN, "missing"),
                Proof::Waived => ui.paint(style::DIM, "waived "),
            };
            ui.out(format!(
                "  {word}  {}  {}",
                line(&item.id),
                line(&item.detail)
            ));
        }
    }
    if !status.blockers.is_empty() {
        ui.out("\nblockers");
        blocker_lines(ui, &status.blockers);
    }
    if !status.evidence_chain.is_empty() {
        ui.out("\nchain");
        for claim in &status.evidence_chain {
            ui.out(format!("  {}: {}", claim.claim, line(&claim.basis)));
        }
    }
    if !status.stale_artifacts.is_empty() {
        let names: Vec<&str> = status.stale_artifacts.iter().map(|a| a.path()).collect();
        ui.out(format!(
            "\nolder than what they build on: {}",
            names.join(", ")
        ));
    }
    let edited: Vec<String> = status
        .working_copy
        .iter()
        .filter(|(_, s)| !matches!(s, FileStatus::Clean | FileStatus::Absent))
        .map(|(artifact, s)| format!("{artifact} ({})", word(*s)))
        .collect();
    if !edited.is_empty() {
        ui.out(format!(
            "\nin .loopx/{}: {}",
            status.session,
            edited.join(", ")
        ));
    }
    ui.out("");
    ui.next(&status.advised);
    Ok(Exit::Done)
}

fn signature(ui: &Ui, checked: &Checked) -> String {
    let words = line(&checked.words());
    match checked.flaw {
        None => ui.paint(style::GOOD, &words),
        Some(_) => ui.paint(style::WARN, &words),
    }
}

fn word(status: FileStatus) -> &'static str {
    match status {
        FileStatus::Clean => "clean",
        FileStatus::Modified => "edited",
        FileStatus::Deleted => "removed",
        FileStatus::Behind => "older than the branch",
        FileStatus::Diverged => "edited, and changed on the branch",
        FileStatus::Conflicted => "in conflict",
        FileStatus::Absent => "not checked out",
    }
}
