//! The part that `status --verbose` adds: every gate, the codes of what holds them, and what rests on what.

use crate::cmd::{blocker_lines, check_lines};
use crate::flow::view::Status;
use crate::ui::{Ui, line, style};
use loopx_rules::signature::Checked;

pub(super) fn all(status: &Status, ui: &mut Ui) {
    gates(status, ui);
    evidence(status, ui);
    rest(status, ui);
}

fn gates(status: &Status, ui: &mut Ui) {
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
}

fn evidence(status: &Status, ui: &mut Ui) {
    if !status.audit.is_empty() {
        ui.out("\nevidence");
        check_lines(ui, "  ", &status.audit);
    }
}

fn rest(status: &Status, ui: &mut Ui) {
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
}

fn signature(ui: &Ui, checked: &Checked) -> String {
    let words = line(&checked.words());
    match checked.flaw {
        None => ui.paint(style::GOOD, &words),
        Some(_) => ui.paint(style::WARN, &words),
    }
}
