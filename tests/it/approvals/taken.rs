//! A signed word that was taken back or brought back: the session waits for whoever signed it, or for a role that
//! policy names.

use super::{errors, has};
use crate::support::drive::Drive;
use crate::support::keys::{ADA, BOB, RITA, Signer, by, everybody};
use serde_json::Value;

const SIGNED: &str = "[review]\nsigned = true\n";
const REFUSAL: [&str; 9] = [
    "review",
    "--verdict",
    "request-changes",
    "--target",
    "build",
    "--reason",
    "a backdoor",
    "--sign",
    "--finding=high:a backdoor",
];
const APPROVAL: &[&str] = &["review", "--verdict", "approve", "--sign"];
const DONE: &[&str] = &["approve", "--to", "done"];

fn reviewing(policy: &str) -> Drive {
    let signers = everybody();
    Drive::reviewing_with(&[("loopx.toml", policy), ("loopx.signers", &signers)])
}

/// Runs a command as somebody with this name, and without its key.
fn claiming(d: &Drive, who: Signer, args: &[&str]) {
    d.by((who.0, who.1), args).ok();
}

fn taken(d: &Drive) -> Value {
    d.status()["taken"].clone()
}

#[track_caller]
fn held(d: &Drive) {
    let refusal = d.fails_as(1, |d| by(d, RITA, DONE));
    assert!(
        refusal.blockers.iter().any(|one| one == "word_taken_back"),
        "{refusal:?}"
    );
    has(&errors(d, &["main..HEAD"]), "word_taken_back", BOB.1);
}

#[test]
fn g12_a_signed_refusal_that_was_taken_back_waits_for_its_own_person() {
    let d = reviewing(SIGNED);
    by(&d, BOB, &REFUSAL).ok();
    for args in [
        &["undo", "--of", "bob", "--reason", "why not"][..],
        &["undo", "--to", "1", "--reason", "why not"],
    ] {
        let refusal = d.fails_as(1, |d| by(d, RITA, args));
        assert_eq!(refusal.code, "word_taken_back", "{refusal:?}");
    }
    // A name is a claim, and so is an undo.
    claiming(&d, BOB, &["undo"]);
    by(&d, RITA, APPROVAL).ok();
    held(&d);
    d.loopx(&["status"]).says("taken back").says(BOB.1).ok();
    // The honest neighbour: Bob signs another one.
    by(&d, BOB, APPROVAL).ok();
    by(&d, RITA, APPROVAL).ok();
    by(&d, RITA, DONE).ok();
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
    assert_eq!(taken(&d)[0]["holds"], false);
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn g12_a_role_that_policy_names_stands_for_somebody_who_left() {
    let policy = "[approve]\nroles = { lead = [\"*<ada@example.org>\"] }\ntake_back = [\"lead\"]\n";
    let d = reviewing(&format!("{policy}{SIGNED}"));
    by(&d, BOB, &REFUSAL).ok();
    by(&d, ADA, &["undo", "--of", "bob", "--reason", "Bob left"]).ok();
    by(&d, RITA, APPROVAL).ok();
    held(&d);
    by(&d, ADA, APPROVAL).ok();
    by(&d, RITA, DONE).ok();
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
}

#[test]
fn g12_a_signed_approval_is_not_brought_back_by_others() {
    let policy = "[approve]\nsigned = [\"review->done\"]\nrequired = { \"review->done\" = 2 }\n";
    let d = reviewing(&format!("{policy}{SIGNED}"));
    by(&d, RITA, APPROVAL).ok();
    let done = ["approve", "--to", "done", "--sign"];
    by(&d, BOB, &done).ok();
    by(&d, BOB, &["undo"]).ok();
    by(&d, RITA, &["redo"]).ok();
    assert_eq!(taken(&d)[0]["back"], true);
    // Rita's is the first that counts, and the session is not done by it.
    by(&d, RITA, &done).ok();
    assert_eq!(d.stage(), "review");
    by(&d, BOB, &done).ok();
    assert_eq!(d.stage(), "done");
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
    // Whoever took it may bring it back, if that was not Bob.
    let d = reviewing(&format!("{policy}{SIGNED}"));
    by(&d, RITA, APPROVAL).ok();
    by(&d, BOB, &done).ok();
    by(&d, RITA, &["undo", "--of", "bob", "--reason", "too early"]).ok();
    by(&d, RITA, &["redo"]).ok();
    by(&d, RITA, &done).ok();
    assert_eq!(d.stage(), "done");
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
}

/// A word that somebody else has to say anew is no command: it is waited for.
#[test]
fn z15_a_signed_refusal_that_was_taken_back_is_waited_for_by_all_others() {
    let d = reviewing(SIGNED);
    by(&d, BOB, &REFUSAL).ok();
    claiming(&d, BOB, &["undo"]);
    by(&d, RITA, APPROVAL).ok();
    let next = |d: &Drive, who: Signer| d.by((who.0, who.1), &["next"]);
    for who in [RITA, ADA] {
        let waits = next(&d, who).fails_with(6).says("waits for Bob Builder");
        waits.says("`review request-changes` was taken back");
    }
    let again = "git loopx review --verdict approve --sign";
    assert_eq!(next(&d, BOB).line(), again);
    // A role that policy names stands in.
    let policy = "[approve]\nroles = { lead = [\"*<ada@example.org>\"] }\ntake_back = [\"lead\"]\n";
    let d = reviewing(&format!("{policy}{SIGNED}"));
    by(&d, BOB, &REFUSAL).ok();
    by(&d, ADA, &["undo", "--of", "bob", "--reason", "Bob left"]).ok();
    by(&d, RITA, APPROVAL).ok();
    next(&d, RITA).fails_with(6).says("waits for Bob Builder");
    assert_eq!(next(&d, ADA).line(), again);
}
