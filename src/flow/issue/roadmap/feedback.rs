//! Feedback on a roadmap: at most five rounds ask for a change, and only a person approves.

use super::Loaded;
use crate::flow::context::Context;
use crate::flow::issue::{Plan, Step, Written, require_person, write};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::findings::{Finding, Severity};
use loopx_base::hint::command;
use loopx_rules::issue::IssueId;
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::roadmap::{CAP, Round, Standing, Verdict};
use serde::Serialize;

/// The round that was given, and how far the roadmap is now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Given {
    pub roadmap: IssueId,
    pub verdict: Verdict,
    #[serde(flatten)]
    pub standing: Standing,
    pub rounds_cap: usize,
}

/// Keeps a round of feedback.
pub(crate) fn feedback(
    ctx: &Context,
    roadmap: Option<&str>,
    verdict: Verdict,
    text: &str,
) -> Result<Written<Given>> {
    require_words(ctx, verdict, text)?;
    write(ctx, |snapshot, _| {
        let loaded = Loaded::of(ctx, snapshot, roadmap)?;
        let shape = loaded.shape();
        let findings = loaded.findings(&shape);
        let short = loaded.short(&loaded.root.id);
        let is_sound = match (errors(&findings), verdict) {
            (errors, Verdict::Approve) if !errors.is_empty() => return Err(unsound(short, errors)),
            (errors, _) => errors.is_empty(),
        };
        let before = loaded.standing(&shape, &findings)?;
        if verdict != Verdict::Approve && before.is_spent() {
            return Err(Failure::refused(
                Code::RoadmapRoundsSpent,
                format!(
                    "{CAP} rounds asked for a change of {short}: it is taken as it is, or approved"
                ),
            )
            .help(command!("roadmap show {short}")));
        }
        let content = loaded.content(&shape)?;
        let round = Round {
            verdict,
            content: (verdict == Verdict::Approve).then(|| content.clone()),
            text: text.trim().to_owned(),
            by: String::new(),
            at: String::new(),
        };
        let said = round.comment();
        let rounds = [loaded.rounds.as_slice(), &[round]].concat();
        let after = Standing::of(&rounds, &content, is_sound);
        if after.is_spent() {
            require_person(
                ctx,
                "the last round of feedback, after which the roadmap is taken as it is,",
            )?;
        }
        let note = Note::from(Said::new(NoteKind::Decision, said));
        Ok(Plan {
            what: format!("roadmap feedback: {verdict}"),
            reason: None,
            steps: vec![Step {
                id: loaded.root.id.clone(),
                before: Some(loaded.root.clone()),
                body: note.into(),
                reason: None,
            }],
            value: Given {
                roadmap: loaded.root.id.clone(),
                verdict,
                standing: after,
                rounds_cap: CAP,
            },
        })
    })
}

/// Refuses an approval by anybody but a person, and a change that is asked for without a word.
fn require_words(ctx: &Context, verdict: Verdict, text: &str) -> Result<()> {
    let again = match verdict {
        Verdict::Approve => return require_person(ctx, "approving a roadmap"),
        Verdict::Criteria => command!("roadmap feedback criteria \"Say how fast\""),
        Verdict::Decompose => command!("roadmap feedback decompose \"Sync comes first\""),
        Verdict::Scope => command!("roadmap feedback scope \"The export can wait\""),
    };
    crate::flow::note::require_said("the change that is asked for", text, again)
}

/// The errors among findings, as blockers of an approval.
fn errors(findings: &[Finding]) -> Vec<Blocker> {
    let errors = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let errors = errors.map(|one| {
        let said = format!("{}: {}", one.file, one.message);
        Blocker::new(Code::Finding(one.id), said, one.fix.clone())
    });
    errors.collect()
}

fn unsound(short: &str, errors: Vec<Blocker>) -> Failure {
    Failure::refused(
        Code::RoadmapUnsound,
        format!("{short} has {}", loopx_base::counted(errors.len(), "error")),
    )
    .blockers(errors)
    .help(command!("roadmap check {short}"))
}
