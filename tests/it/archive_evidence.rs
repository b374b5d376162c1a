//! No scenario goes in without evidence, unless somebody says why or policy asks for none.

use crate::support::Sandbox;
use crate::support::changes::adding;
use crate::support::keys::{ADA, key, listed, use_key};
use crate::support::landing::{ci, lands, merge, offer, refused, serve};

const APPLES: &str = "demo/Apples/Asked";

/// A session that is done, whose slice serves no scenario of its delta.
fn unproven(policy: Option<&str>) -> Sandbox {
    let s = unserved(policy);
    s.finish_unserved("one");
    s
}

/// A session in plan, whose slice serves no scenario of its delta.
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
        assert_eq!(out.code, Some(i32::from(said)), "{out}");
        assert_eq!(out.stderr.contains(APPLES), said, "{out}");
    }
}

#[test]
fn a_plan_that_serves_not_every_scenario_is_approved_with_a_reason_alone() {
    let s = unserved(None);
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    let before = s.git(&["for-each-ref"]).ok();
    // Whoever looks before they give their word sees it.
    s.loopx(&["status"]).says(APPLES);
    s.loopx(&["approve", "--show"]).says(APPLES).fails_with(1);
    let refused = s.error(1, &["approve", "--enter"]);
    assert_eq!(refused["code"], "scenario_unserved");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    let help = refused["help"].as_str().expect("help");
    assert_eq!(
        help,
        "git loopx edit change/slices.json  (where a person will waive it at the archive: git loopx approve --to build \
         --reason 'the scenario is looked at by hand')"
    );
    let waived = ["approve", "--to", "build", "--reason", "seen by hand"];
    s.loopx(&waived).ok();
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("no slice names"), "{status}");
    s.loopx(&["next"]).says("git loopx build");
}

/// M4: a word that waits for a second one says already why the plan may leave a scenario out.
#[test]
fn m4_where_two_approve_a_plan_the_reason_of_the_first_holds_for_the_second() {
    let s = unserved(Some("[approve]\nrequired = { \"plan->build\" = 2 }\n"));
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    let waived = ["approve", "--to", "build", "--reason", "seen by hand"];
    let first = s.loopx(&waived);
    assert!(!first.to_string().contains("edit change/slices"), "{first}");
    let led = s.loopx(&["next"]).fails_with(6);
    assert!(led.stderr.contains("waits for another person"), "{led}");
    let bob = |args: &[&str]| {
        let call = s.call(crate::support::LOOPX).args(args);
        let call = call
            .env("GIT_AUTHOR_NAME", "Bob")
            .env("GIT_AUTHOR_EMAIL", "bob@x.example");
        call.env("GIT_COMMITTER_NAME", "Bob")
            .env("GIT_COMMITTER_EMAIL", "bob@x.example")
            .run()
    };
    assert_eq!(bob(&["next"]).line(), "git loopx approve --to build");
    bob(&["approve", "--to", "build"]).ok();
}

/// A12: the way out of a review for a scenario that no slice names goes through the file that names it, and back.
#[test]
fn what_the_review_would_be_sent_back_for_leads_before_the_plan_is_reviewed() {
    let s = unserved(None);
    let slices = crate::support::changes::slices(&adding("Apples"));
    let (id, mut typed) = ("one", Vec::new());
    let next = || {
        let out = s.loopx(&["next"]);
        (out.stdout.trim().to_owned(), out.stderr)
    };
    let edit = "git loopx edit change/slices.json";
    // Nobody reviews a plan that the archive would refuse.
    assert_eq!(next().0, edit);
    // A person who says why goes on, and the review sends the work back once.
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--enter", "--reason", "later"]).ok();
    for _ in 0..30 {
        let (command, told) = next();
        let told = told.as_str();
        match command.as_str() {
            "" if told.contains("write the code") || told.contains("fix on branch") => {
                let text = format!("one {}\n", typed.len());
                s.commit_file("src/demo.txt", &text, "Write it").ok();
            }
            "git loopx edit execution-record.md" => {
                s.edit(id, "execution-record.md", crate::support::changes::RECORD);
            }
            command if command == edit => s.edit(id, "change/slices.json", &slices),
            "git loopx archive" => break,
            "" => panic!("{told}\n{typed:#?}"),
            command => {
                let out = s.call("sh").args(&["-c", command]).run();
                assert_eq!(out.code, Some(0), "{out}\n{typed:#?}");
            }
        }
        typed.push(command);
    }
    let count = |words: &str| typed.iter().filter(|one| one.contains(words)).count();
    assert_eq!(count("--target plan"), 1, "{typed:#?}");
    assert_eq!(count(edit), 1, "{typed:#?}");
    assert_eq!(count("review --verdict approve"), 1, "{typed:#?}");
    assert_eq!(next().0, "git loopx archive", "{typed:#?}");
    s.loopx(&["archive"]).ok();
    s.loopx(&["fsck"]).ok();
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
        s.finish_unserved("one");
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

/// The signature is all that these commits lack, so the signature is what the refusal names.
#[test]
fn z10_a_commit_that_lacks_only_its_signature_is_refused_for_that_and_a_promotion_is_signed() {
    let policy = "[gates]\nprotected = [\"main\"]\n[review]\nsigned = true\n";
    // Whoever commits here has Ada's key, too.
    let signers = listed(&format!("{},carl@example.org", ADA.1), "", ADA.2);
    let s = Sandbox::with_spec();
    s.commit_file("loopx.toml", policy, "Say the policy").ok();
    s.commit_file("loopx.signers", &signers, "Say the keys")
        .ok();
    use_key(&s, key("ada"));
    let set = |name: &str, value: &str| s.git(&["config", name, value]).ok();
    set("loopx.sign", "true");
    serve(&s);
    s.plan("one", &adding("Apples"));
    s.finish("one");
    s.document(0, &["archive"]);
    offer(&s, &["one"]);
    lands(&s, &merge(&s, "main", "one", "Merge pull request #1"));
    s.git(&["switch", "--quiet", "-C", "main"]).ok();
    set("loopx.sign", "false");
    let promote = ["adr", "promote", "one", "--onto", "main"];
    set("loopx.sign", "true");
    s.loopx(&promote).ok();
    s.git(&["cat-file", "commit", "main"]).says("gpgsig").ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    set("loopx.sign", "false");
    let undo = ["archive", "--undo", "one", "--onto", "main"];
    for args in [promote, undo] {
        s.loopx(&args).ok();
        refused(&s, "main", "opening_unsigned");
        ci(&s, "main", "other")
            .says("expected git's signature by a key of the signers")
            .says("git commit --amend --no-edit -S");
        let amend = ["commit", "--quiet", "--no-verify", "--amend", "--no-edit"];
        s.git(&[&amend[..], &["-S"]].concat()).ok();
        lands(&s, "main");
    }
}
