//! Where policy asks for evidence, no scenario goes in without it, unless somebody says why.

use crate::support::Sandbox;
use crate::support::changes::adding;

const APPLES: &str = "demo/Apples/Asked";

/// A session that is done, whose slice serves no scenario of its delta.
fn unproven(policy: Option<&str>) -> Sandbox {
    let s = Sandbox::with_spec();
    if let Some(policy) = policy {
        s.commit_file("loopx.toml", policy, "Say the policy").ok();
    }
    s.plan("one", &adding("Apples"));
    let slices = s.read(".loopx/one/change/slices.json");
    s.edit(
        "one",
        "change/slices.json",
        &slices.replace("Apples/Asked", "Apples/Other"),
    );
    s.finish("one");
    s
}

#[test]
fn a_scenario_without_evidence_holds_the_archive_until_it_is_waived_by_name() {
    let s = unproven(Some(
        "[archive]\nevidence = \"require\"\n[approve]\ndeny = [\"Bot\"]\n",
    ));
    let before = s.git(&["for-each-ref"]).ok();
    for dry in [&[][..], &["--dry-run"]] {
        let failure = s.error(1, &[&["archive"], dry].concat());
        assert_eq!(failure["code"], "archive_unproven");
        assert_eq!(failure["blockers"][0]["code"], "scenario_unserved");
    }
    s.loopx(&["archive", "--waive", APPLES]).fails_with(2);
    let blank = s.error(2, &["archive", "--waive", APPLES, "--reason", " "]);
    assert_eq!(blank["code"], "reason_missing");
    let other = ["archive", "--waive", "demo/Apples/None", "--reason", "x"];
    assert_eq!(s.error(2, &other)["code"], "waiver_unused");
    let waive = ["archive", "--waive", APPLES, "--reason", "seen by hand"];
    s.document(0, &[&waive[..], &["-n"]].concat());
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    // Who may not approve may not waive.
    let out = s
        .call(crate::support::LOOPX)
        .args(&[&["--json"], &waive[..]].concat())
        .env("GIT_AUTHOR_NAME", "Bot")
        .run()
        .fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "approver_denied");
    s.document(0, &waive);
    let body = s.git(&["log", "-1", "--format=%B"]).ok();
    for part in [
        "because: seen by hand",
        "Loopx-Event: archive",
        "Loopx-Waived: demo/Apples/Asked",
    ] {
        assert!(body.contains(part), "no `{part}` in\n{body}");
    }
    s.loopx(&["fsck"]).ok();
}

#[test]
fn by_default_evidence_is_not_asked_for_and_there_is_nothing_to_waive() {
    let s = unproven(None);
    s.document(1, &["spec", "coverage"]);
    let waive = ["archive", "--waive", APPLES, "--reason", "x"];
    assert_eq!(s.error(2, &waive)["code"], "waiver_unused");
    s.document(0, &["archive"]);
}
