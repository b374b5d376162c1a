//! Independence of a person who approves: edge case 13 of the hooks reference.

use super::{APPROVE, errors, has};
use crate::support::drive::{Drive, RECORD};
use crate::support::keys::{ADA, BOB, RITA, by, by_key, listed};
use crate::support::{LOOPX, Output};

/// A session in review, with these rules for approvals of it.
fn reviewing(policy: &str, mailmap: &str) -> Drive {
    Drive::reviewing_with(&[("loopx.toml", policy), (".mailmap", mailmap)])
}

const INDEPENDENT: &str =
    "[approve]\nindependent = [\"review->done\"]\n[review]\nindependence = \"require\"\n";
const RITA_HERSELF: (&str, &str) = (RITA.0, RITA.1);

#[test]
fn edge_13_who_pushed_one_fixup_does_not_approve() {
    let d = reviewing(INDEPENDENT, "");
    d.verdict(&["--verdict", "approve"]);
    let fixup = |d: &Drive| {
        d.write("docs/note", "a fixup that every stage may commit\n");
        d.git(&["add", "."]).ok();
        let who = format!("{} <{}>", RITA.0, RITA.1);
        d.git(&["commit", "--quiet", "--author", &who, "-m", "fixup"])
            .ok();
    };
    fixup(&d);
    d.does(&["run", "--task", "VS-1"]);
    d.fails_as(1, |d| d.verdict_by(RITA_HERSELF, &["--verdict", "approve"]))
        .is("reviewer_not_independent", &[]);
    // Somebody else reviews; Rita, who wrote a part, does not approve either.
    let bob = (BOB.0, BOB.1);
    d.verdict_by(bob, &["--verdict", "approve"]).ok();
    d.fails_as(1, |d| {
        d.by(RITA_HERSELF, &["--json", "approve", "--to", "done"])
    })
    .is("approver_not_independent", &["approver_not_independent"]);
    d.by(bob, &["approve", "--to", "done"]).ok();
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
}

#[test]
fn edge_13_an_approver_who_wrote_a_part_afterwards_is_seen_by_verify() {
    let d = reviewing(INDEPENDENT, "");
    d.verdict(&["--verdict", "approve"]);
    d.by(RITA_HERSELF, &["approve", "--to", "done"]).ok();
    d.write("docs/note", "afterwards\n");
    d.git(&["add", "."]).ok();
    let message = "note\n\nCo-authored-by: R <RITA@example.org>";
    d.git(&["commit", "--quiet", "--no-verify", "-m", message])
        .ok();
    let errors = errors(&d, &["main..HEAD"]);
    has(&errors, "approver_not_independent", "is co-author");
    has(&errors, "reviewer_not_independent", "took part");
}

#[test]
fn edge_13_another_name_is_the_same_person_by_the_mailmap_of_the_base() {
    let d = reviewing(
        INDEPENDENT,
        "Ada Author <ada@example.org> <ada@home.example.net>\n",
    );
    let renamed = ("A. Lovelace", "ada@home.example.net");
    d.fails_as(1, |d| d.verdict_by(renamed, &["--verdict", "approve"]))
        .is("reviewer_not_independent", &[]);
    // The change takes the line away: what counts is the base's.
    d.write(
        ".mailmap",
        "Somebody <else@example.org> <ada@home.example.net>\n",
    );
    d.git(&["commit", "--quiet", "--no-verify", "-am", "names"])
        .ok();
    d.does(&["run", "--task", "VS-1"]);
    d.fails_as(1, |d| d.verdict_by(renamed, &["--verdict", "approve"]))
        .is("reviewer_not_independent", &[]);
    d.verdict(&["--verdict", "approve"]);
    d.fails_as(1, |d| d.by(renamed, &["--json", "approve", "--to", "done"]))
        .is("approver_not_independent", &["approver_not_independent"]);
}

#[test]
fn edge_13_a_co_author_does_not_approve() {
    let d = reviewing(INDEPENDENT, "");
    d.write("docs/note", "together\n");
    d.git(&["add", "."]).ok();
    let message = "note\n\nCo-authored-by: Bob Builder <bob@example.org>";
    d.git(&["commit", "--quiet", "-m", message]).ok();
    d.does(&["run", "--task", "VS-1"]);
    d.verdict(&["--verdict", "approve"]);
    d.fails_as(1, |d| {
        d.by((BOB.0, BOB.1), &["--json", "approve", "--to", "done"])
    })
    .is("approver_not_independent", &["approver_not_independent"]);
}

/// Runs a command as an agent that Rita started: the agent's name, her hand.
fn through_rita(d: &Drive, args: &[&str]) -> Output {
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
    d.edit("execution-record.md", RECORD);
    through_rita(&d, &["run", "--task", "VS-1", "--trust"]).ok();
    d.does(&["build", "--report", "execution=complete"]);
    d.does(&["build"]);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.fails_as(1, |d| d.verdict_by(RITA_HERSELF, &["--verdict", "approve"]))
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
    d.fails_as(1, lent)
        .is("approver_denied", &["approver_denied"]);
    d.does(&["approve", "--to", "plan"]);
}

#[test]
fn people_are_counted_and_not_names_or_keys() {
    let policy = "[approve]\nsigned = [\"plan->build\"]\nrequired = { \"plan->build\" = 2 }\n";
    // One key that stands for many, and one person with two keys.
    let signers = format!(
        "{}{}{}",
        listed("*@example.org", "", "ada"),
        listed("rita@example.org,rita@home.example.net", "", "rita"),
        listed("rita@home.example.net", "", "bob"),
    );
    let mailmap = "Rita Reviewer <rita@example.org> <rita@home.example.net>\n";
    let files = [
        ("loopx.toml", policy),
        ("loopx.signers", &signers),
        (".mailmap", mailmap),
    ];
    let d = Drive::planned_with(&files);
    by(&d, ADA, APPROVE).ok();
    d.fails_as(5, |d| by_key(d, BOB, "ada", APPROVE))
        .is("approved_already", &[]);
    d.refuses(&["build"])
        .is("approvals_missing", &["approvals_missing"]);
    by(&d, RITA, APPROVE).ok();
    d.does(&["build"]);
    let d = Drive::planned_with(&files);
    by(&d, RITA, APPROVE).ok();
    let at_home = ("R. R.", "rita@home.example.net", "bob");
    d.fails_as(5, |d| by(d, at_home, APPROVE))
        .is("approved_already", &[]);
}

#[test]
fn a_role_decides_who_approves_what() {
    let policy = "[approve]\nroles = { lead = [\"rita@example.org\"] }\nby = { \"plan->build\" = [\"lead\"] }\n";
    let d = Drive::planned_with(&[("loopx.toml", policy)]);
    d.refuses(&["approve", "--to", "build"])
        .is("approver_without_role", &["approver_without_role"]);
    d.by(RITA_HERSELF, &["approve", "--to", "build"]).ok();
    d.does(&["build"]);
    let unknown = Drive::repository(Some("[approve]\nby = { \"plan->build\" = [\"leed\"] }\n"));
    assert_eq!(unknown.fails(2, &["start", "demo"]).code, "policy_invalid");
}
