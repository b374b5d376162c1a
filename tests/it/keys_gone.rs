//! Keys that were taken away: `signers check` names everything that they leave open, and its way on works.

use crate::support::LOOPX;
use crate::support::drive::{Drive, RECORD};
use crate::support::keys::{ADA, BOB, RITA, Signer, by, everybody, key, listed, use_key};
use serde_json::Value;

const BY_KEY: &str = "[gates]\nprotected = [\"main\"]\n[review]\nindependence = \"signed\"\n\
[approve]\nroles = { ci = [\"*<bob@example.org>\"] }\n[evidence]\nby = [\"ci\"]\n";
const APPROVAL: &[&str] = &["review", "--verdict", "approve", "--sign"];

/// Rows that `signers check` leaves open, by code and person.
fn open(d: &Drive) -> Vec<(String, String, String)> {
    let out = d.loopx(&["--json", "signers", "check"]).json();
    let text = |row: &Value, key: &str| row[key].as_str().expect(key).to_owned();
    let rows = out["open"].as_array().expect("rows").iter();
    rows.map(|row| (text(row, "code"), text(row, "who"), text(row, "help")))
        .collect()
}

/// Lists the signers of `main` from now on.
fn listing(d: &Drive, signers: &[Signer]) {
    let text: String = signers
        .iter()
        .map(|(_, email, name)| listed(email, "", name))
        .collect();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file("loopx.signers", &text, "Keys").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
}

/// A session in review: Ada's signed commits and steps, a run that Bob's key signed for CI.
fn in_review() -> Drive {
    let d = Drive::planned_with(&[("loopx.toml", BY_KEY), ("loopx.signers", &everybody())]);
    d.git(&["config", "loopx.sign", "true"]).ok();
    by(&d, ADA, &["approve", "--to", "build"]).ok();
    by(&d, ADA, &["build"]).ok();
    d.write("src/demo.txt", "an end\n");
    d.git(&["add", "src/demo.txt"]).ok();
    use_key(&d, key(ADA.2));
    d.call("git")
        .args(&["commit", "--quiet", "-S", "-m", "an end"])
        .env("GIT_COMMITTER_NAME", ADA.0)
        .env("GIT_COMMITTER_EMAIL", ADA.1)
        .run()
        .ok();
    d.edit("execution-record.md", RECORD);
    by(&d, BOB, &["run", "--task", "VS-1"]).ok();
    by(&d, ADA, &["build", "--report", "execution=complete"]).ok();
    by(&d, ADA, &["build"]).ok();
    by(&d, ADA, &["approve", "--to", "review"]).ok();
    by(&d, ADA, &["review"]).ok();
    d
}

#[test]
fn what_a_key_showed_of_commits_steps_and_runs_is_listed_when_it_goes() {
    let d = in_review();
    assert_eq!(open(&d), []);
    // The role's key goes: its run counts no more. A run that nobody signed never did.
    listing(&d, &[ADA, RITA]);
    let rows = open(&d);
    let named: Vec<(&str, &str)> = rows.iter().map(|row| (&*row.0, &*row.1)).collect();
    let bob = "Bob Builder <bob@example.org>";
    let run = [("evidence_unproven", bob), ("participant_unproven", bob)];
    assert_eq!(named, run, "{rows:?}");
    assert_eq!(rows[0].2, "git loopx -s demo run --sign --task VS-1");
    // The author's key goes: a commit and the steps of the build prove nobody.
    listing(&d, &[BOB, RITA]);
    let rows = open(&d);
    let named: Vec<(&str, &str)> = rows.iter().map(|row| (&*row.0, &*row.1)).collect();
    let ada = "Ada Author <ada@example.org>";
    let both = [("participant_unproven", ada); 2];
    assert_eq!(named, both, "{rows:?}");
    assert!(
        rows.iter()
            .any(|row| row.2.starts_with("git rebase --force-rebase --gpg-sign ")),
        "{rows:?}"
    );
    // A run of the role that is there again closes it.
    listing(&d, &[ADA, BOB, RITA]);
    assert_eq!(open(&d), []);
}

#[test]
fn the_way_on_works_also_where_the_session_is_archived_and_changes_no_behaviour() {
    let d = Drive::planned_with(&[
        (
            "loopx.toml",
            "[gates]\nprotected = [\"main\"]\n[review]\nsigned = true\n",
        ),
        ("loopx.signers", &everybody()),
    ]);
    d.edit(
        "change/spec-delta.md",
        "---\nbehaviour: unchanged\nreason: \"a dependency is renewed\"\n---\n\n# Nothing that users see\n",
    );
    let slices = d.artifact("change/slices.json");
    d.edit(
        "change/slices.json",
        &slices.replace("\"demo/Idle sessions end/Idle\"", ""),
    );
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    d.commit_code("an end\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    by(&d, RITA, APPROVAL).ok();
    by(&d, RITA, &["approve", "--to", "done"]).ok();
    d.does(&["archive"]);
    assert_eq!(open(&d), []);
    listing(&d, &[ADA, BOB]);
    let rows = open(&d);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let help = rows[0].2.clone();
    assert!(help.contains("start "), "{help}");
    d.call(LOOPX).args(&["signers", "check"]).run().says(&help);
}
