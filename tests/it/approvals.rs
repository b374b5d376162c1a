//! Who may approve, and what an approval is worth: edge cases 11 to 13 of the hooks reference.

use crate::support::LOOPX;
use crate::support::drive::{Drive, RITA};

/// Runs a command as an agent that Rita started: the agent's name, her hand.
fn through_rita(d: &Drive, args: &[&str]) -> crate::support::Output {
    d.call(LOOPX)
        .args(args)
        .env("GIT_AUTHOR_NAME", "agent-bot")
        .env("GIT_AUTHOR_EMAIL", "agent@bots.example.org")
        .env("GIT_COMMITTER_NAME", RITA.0)
        .env("GIT_COMMITTER_EMAIL", RITA.1)
        .run()
}

#[test]
fn edge_13_whoever_ran_the_agent_that_built_is_not_independent() {
    let d = Drive::building_under("[review]\nindependence = \"require\"\n");
    d.commit_code("an end\n");
    d.edit("execution-record.md", crate::support::drive::RECORD);
    through_rita(&d, &["run", "--task", "VS-1"]).ok();
    d.does(&["build", "--report", "execution=complete"]);
    d.does(&["build"]);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.fails_as(1, |d| d.verdict_by(RITA, &["--verdict", "approve"]))
        .is("reviewer_not_independent", &[]);
}

#[test]
fn an_agent_cannot_approve_under_a_persons_name() {
    let d = Drive::clarified_under("[approve]\ndeny = [\"*@bots.example.org\"]\n");
    let lent = |d: &Drive| {
        d.call(LOOPX)
            .args(&["--json", "approve", "--to", "plan"])
            .env("GIT_COMMITTER_NAME", "agent-bot")
            .env("GIT_COMMITTER_EMAIL", "agent@bots.example.org")
            .run()
    };
    d.fails_as(1, lent).is("approver_denied", &[]);
    d.does(&["approve", "--to", "plan"]);
}
