//! No scenario goes in without evidence, unless somebody says why or policy asks for none.

use crate::support::Sandbox;
use crate::support::changes::adding;
use crate::support::keys::{ADA, key, listed, use_key};
use crate::support::landing::{lands, merge, offer, refused, serve};

const APPLES: &str = "demo/Apples/Asked";

/// A session that is done, whose slice serves no scenario of its delta.
fn unproven(policy: Option<&str>) -> Sandbox {
    let s = unserved(policy);
    s.finish("one");
    s
}

/// The same, in plan.
fn unserved(policy: Option<&str>) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::with_spec();
        if let Some(policy) = policy {
            s.commit_file("loopx.toml", policy, "Say the policy").ok();
        }
        s.plan("one", &adding("Apples"));
        let slices = s.read(".loopx/one/change/slices.json");
        s.edit(
            "one",
            "change/slices.json",
            &slices.replace("\"demo/Apples/Asked\"", ""),
        );
        s
    })
}

#[test]
fn a_scenario_without_evidence_holds_the_archive_until_it_is_waived_by_name() {
    let s = unproven(Some("[approve]\ndeny = [\"Bot\"]\n"));
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
fn where_policy_asks_for_none_there_is_nothing_to_waive() {
    let s = unproven(Some("[archive]\nevidence = \"off\"\n"));
    s.document(1, &["spec", "coverage"]);
    let waive = ["archive", "--waive", APPLES, "--reason", "x"];
    assert_eq!(s.error(2, &waive)["code"], "waiver_unused");
    s.document(0, &["archive"]);
}

#[test]
fn a_scenario_that_no_slice_names_is_said_while_the_plan_can_still_be_changed() {
    for (policy, said) in [
        (None, true),
        (Some("[archive]\nevidence = \"off\"\n"), false),
    ] {
        let s = unserved(policy);
        let validated = s.document(0, &["change", "validate"]);
        let unserved = &validated["sessions"][0]["unserved"];
        assert_eq!(
            unserved[0]["code"] == "scenario_unserved",
            said,
            "{unserved}"
        );
        s.document(i32::from(said), &["change", "validate", "--strict"]);
        s.loopx(&["plan", "--architect", "approve"]).ok();
        s.loopx(&["plan", "--critic", "approve"]).ok();
        let out = s.loopx(&["approve", "--to", "build"]);
        assert_eq!(out.code, Some(0), "{out}");
        assert_eq!(out.stderr.contains(APPLES), said, "{out}");
    }
}

#[test]
fn of_several_sessions_each_takes_the_waivers_of_its_own_scenarios() {
    let s = unproven(None);
    s.plan("two", &adding("Pears"));
    s.finish("two");
    s.git(&["switch", "--quiet", "main"]).ok();
    let both = ["archive", "one", "two", "--onto", "main"];
    let before = s.git(&["for-each-ref"]).ok();
    assert_eq!(s.error(1, &both)["code"], "archive_unproven");
    let waive = |name| [&both[..], &["--waive", name, "--reason", "seen by hand"]].concat();
    assert_eq!(
        s.error(2, &waive("demo/Plums/Asked"))["code"],
        "waiver_unused"
    );
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    s.document(0, &waive(APPLES));
    let bodies = s.git(&[
        "log",
        "-2",
        "--format=%s %(trailers:key=Loopx-Waived,valueonly)",
        "main",
    ]);
    let bodies = bodies.ok();
    let lines: Vec<&str> = bodies.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        ["Archive two: two ", "Archive one: one demo/Apples/Asked"]
    );
}

#[test]
fn a_waiver_is_signed_where_policy_asks_for_signatures_and_lands_no_other_way() {
    const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n";
    let signed = format!("{PROTECTED}[review]\nsigned = true\n");
    // Whoever commits here has Ada's key, too.
    let signers = listed(&format!("{},carl@example.org", ADA.1), "", ADA.2);
    let waive = |more: &'static str| {
        let waive = ["archive", "--waive", APPLES, "--reason", "seen by hand"];
        [&waive[..], &[more]].concat()
    };
    for (policy, sign) in [(signed.as_str(), true), (PROTECTED, false)] {
        let s = Sandbox::with_spec();
        s.commit_file("loopx.toml", policy, "Say the policy").ok();
        s.commit_file("loopx.signers", &signers, "Say the keys")
            .ok();
        use_key(&s, key("ada"));
        s.git(&["config", "loopx.sign", "true"]).ok();
        serve(&s);
        s.plan("one", &adding("Apples"));
        let slices = s.read(".loopx/one/change/slices.json");
        let unserved = slices.replace("\"demo/Apples/Asked\"", "");
        s.edit("one", "change/slices.json", &unserved);
        s.finish("one");
        if sign {
            let before = s.git(&["for-each-ref"]).ok();
            let refusal = s.error(1, &waive("--no-sign"));
            assert_eq!(refusal["code"], "opening_unsigned");
            let help = refusal["help"].as_str().expect("help");
            assert!(
                help.ends_with("--reason 'it needs no evidence' --sign"),
                "{help}"
            );
            use_key(&s, key("bob"));
            let refusal = s.error(1, &waive("--sign"));
            assert_eq!(refusal["code"], "opening_unsigned");
            assert_eq!(s.git(&["for-each-ref"]).ok(), before);
            use_key(&s, key("ada"));
            s.document(0, &waive("--sign"));
            s.git(&["log", "-1", "--format=%(trailers:key=Loopx-Waived)", "one"])
                .says(APPLES);
            offer(&s, &["one"]);
            lands(&s, &merge(&s, "main", "one", "Merge pull request #1"));
            s.loopx(&["fsck"]).ok();
            continue;
        }
        // Under the policy of its base nobody asked; `main` does now.
        s.document(0, &waive("--no-sign"));
        s.git(&["switch", "--quiet", "main"]).ok();
        s.commit_file("loopx.toml", &signed, "Ask for signatures")
            .ok();
        s.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "origin",
            "+main:refs/heads/other",
        ])
        .ok();
        let remote = s.root().join("remote.git");
        s.git_in(
            &remote,
            &["update-ref", "refs/heads/main", "refs/heads/other"],
        )
        .ok();
        s.git(&["fetch", "--quiet"]).ok();
        offer(&s, &["one"]);
        let merged = merge(&s, "main", "one", "Merge pull request #1");
        refused(&s, &merged, "review_stale");
        // Without the archive it is what was reviewed, and that is signed.
        lands(&s, &merge(&s, "main", "one~1", "Merge pull request #1"));
    }
}
