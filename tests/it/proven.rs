//! Names prove nobody where policy counts keys: who committed, who built, who ran a check, who waived.

use crate::support::drive::{Drive, Refusal};
use crate::support::keys::{
    ADA, BOB, RITA, Signer, by, by_key, everybody, forge, key, listed, operation, public, use_key,
};
use crate::support::landing::{
    SQUASH, ci, lands, merge, offer, push, refused, rev, serve, squash, would_land,
};
use crate::support::server::FORMATS;
use crate::support::{LOOPX, Output};

const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n[review]\n";
const KEYS: &str = "independence = \"signed\"\n";
const NAMES: &str = "independence = \"require\"\nsigned = true\n";
/// Signer whom only Ada has ever met.
const ZED: Signer = ("Zed", "zed@ex.org", "ada");
const APPROVAL: &[&str] = &["review", "--verdict", "approve", "--sign"];

/// A planned session under a policy.
fn planned(policy: &str, signers: &str) -> Drive {
    Drive::planned_with(&[("loopx.toml", policy), ("loopx.signers", signers)])
}

/// Commits as somebody, signed with their key or not.
fn commit(d: &Drive, who: Signer, signed: bool) -> String {
    use_key(d, key(who.2));
    let mut args = vec!["commit", "--quiet", "--no-verify", "-m", "an end"];
    args.extend(signed.then_some("-S"));
    d.write("src/demo.txt", "an end\n");
    d.git(&["add", "src/demo.txt"]).ok();
    as_somebody(d, "git", who, &args).ok();
    rev(d, "HEAD")
}

fn as_somebody(d: &Drive, program: &str, who: Signer, args: &[&str]) -> Output {
    d.call(program)
        .args(args)
        .env("GIT_AUTHOR_NAME", who.0)
        .env("GIT_AUTHOR_EMAIL", who.1)
        .env("GIT_COMMITTER_NAME", who.0)
        .env("GIT_COMMITTER_EMAIL", who.1)
        .run()
}

/// Builds as somebody, with their signature under everything or nothing, and opens the review.
fn build(d: &Drive, who: Signer, signed: bool) {
    let word = if signed { "true" } else { "false" };
    d.git(&["config", "loopx.sign", word]).ok();
    by(d, who, &["approve", "--to", "build"]).ok();
    by(d, who, &["build"]).ok();
    commit(d, who, signed);
    d.edit("execution-record.md", RECORD);
    by(d, who, &["run", "--task", "VS-1"]).ok();
    by(d, who, &["build", "--report", "execution=complete"]).ok();
    by(d, who, &["build"]).ok();
    by(d, who, &["approve", "--to", "review"]).ok();
    by(d, who, &["review"]).ok();
    d.git(&["config", "loopx.sign", "false"]).ok();
}

const RECORD: &str = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
completion_claim: full\n---\n# Execution record\n\n## Changes\n\nSessions end.\n";

#[track_caller]
fn fails(d: &Drive, who: Signer, args: &[&str], code: &str) -> Refusal {
    let refusal = d.fails_as(1, |d| by(d, who, args));
    assert_eq!(refusal.code, code, "{refusal:?}");
    refusal
}

/// `main` has another policy since the session began, and a server has it; then the result merged onto that.
fn landing(d: &Drive, policy: &str) -> String {
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file("loopx.toml", policy, "another policy").ok();
    serve(d);
    merge(d, "main", "demo", "Merge pull request #1")
}

#[test]
fn g11_an_invented_committer_lands_nothing_where_policy_counts_keys() {
    for format in FORMATS {
        // Under the policy that the session began with, names were enough.
        let d = begun(format);
        build(&d, ZED, false);
        by(&d, ADA, APPROVAL).ok();
        by(&d, ADA, &["approve", "--to", "done", "--sign"]).ok();
        let evil = landing(&d, &format!("{PROTECTED}{KEYS}"));
        refused(&d, &evil, "participant_unproven");
        ci(&d, &evil, "demo")
            .fails_with(1)
            .says("Zed <zed@ex.org> is committer by name only")
            .says("Zed <zed@ex.org> is builder by name only")
            .says("git rebase --force-rebase --gpg-sign");
    }
}

#[test]
fn g11_proven_commits_and_steps_land_with_anothers_signed_verdict() {
    for format in FORMATS {
        let d = begun(format);
        build(&d, ADA, true);
        by(&d, BOB, APPROVAL).ok();
        by(&d, BOB, &["approve", "--to", "done"]).ok();
        let merged = landing(&d, &format!("{PROTECTED}{KEYS}"));
        offer(&d, &["demo"]);
        // What a forge makes of it has no key, and is the reviewed tree.
        let squashed = format!("{SQUASH}Loopx-Session: demo\n");
        would_land(&d, &squash(&d, "main", "demo", &squashed));
        lands(&d, &merged);
    }
}

/// A planned session under a policy that compares names, in a repository of a format.
fn begun(format: &str) -> Drive {
    let policy = format!("{PROTECTED}{NAMES}");
    let signers = everybody();
    let files = [("loopx.toml", policy.as_str()), ("loopx.signers", &signers)];
    Drive::planned_in(&files, &[&format!("--object-format={format}")])
}

#[test]
fn g11_a_review_is_refused_until_keys_show_who_took_part() {
    let d = planned(&format!("{PROTECTED}{KEYS}"), &everybody());
    build(&d, ZED, false);
    let refusal = fails(&d, ADA, APPROVAL, "participant_unproven");
    assert_eq!(refusal.blockers, ["participant_unproven"; 2], "{refusal:?}");
    assert!(refusal.message.contains("Zed <zed@ex.org>"), "{refusal:?}");
    assert!(refusal.message.contains("it is not signed"), "{refusal:?}");
    // Her own key under the other name is none of that name's.
    d.git(&["reset", "--quiet", "--hard", "main"]).ok();
    commit(&d, ZED, true);
    let refusal = fails(&d, ADA, APPROVAL, "participant_unproven");
    let why = "the signature was made by ada@example.org, not by Zed <zed@ex.org>";
    assert!(refusal.message.contains(why), "{refusal:?}");
    // Bob's commit, and one signed step that covers what he built before.
    d.git(&["reset", "--quiet", "--hard", "main"]).ok();
    commit(&d, BOB, true);
    fails(&d, BOB, APPROVAL, "reviewer_not_independent");
    let refusal = fails(&d, RITA, APPROVAL, "participant_unproven");
    assert_eq!(refusal.blockers, ["participant_unproven"], "{refusal:?}");
    assert!(refusal.message.contains("builder"), "{refusal:?}");
}

#[test]
fn g11_a_later_signed_step_covers_the_earlier_ones_and_the_whole_way_is_honest() {
    let d = planned(&format!("{PROTECTED}{KEYS}"), &everybody());
    serve(&d);
    build(&d, BOB, false);
    d.git(&["reset", "--quiet", "--hard", "main"]).ok();
    commit(&d, BOB, true);
    // A merge that brings nothing of its own is nobody's work.
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file("README.md", "read me\n", "a document").ok();
    push(&d, &["main"]).ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    d.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    fails(&d, RITA, APPROVAL, "participant_unproven");
    by(&d, BOB, &["run", "--task", "VS-1", "--sign"]).ok();
    // A verdict without a key is none, whatever review.signed says.
    let refusal = d.fails_as(1, |d| by(d, RITA, &["review", "--verdict", "approve"]));
    assert_eq!(refusal.code, "verdict_unsigned", "{refusal:?}");
    let reviewed = by(&d, RITA, APPROVAL).json();
    assert_eq!(reviewed["proof"], "signed", "{reviewed}");
    assert_eq!(reviewed["commits"][1]["proof"], "signed", "{reviewed}");
    by(&d, RITA, &["approve", "--to", "done"]).ok();
    d.git(&["fetch", "--quiet", "origin"]).ok();
    let said = d.loopx(&["verify", "origin/main..demo", "--onto", "main", "--explain"]);
    said.says("demo reviewer: Rita Reviewer <rita@example.org> (signed)")
        .says("demo committer: Bob Builder <bob@example.org> (signed)")
        .says("demo author: Bob Builder <bob@example.org> (name not proven)")
        .says("demo approver of review->done: Rita Reviewer <rita@example.org> (name not proven)")
        .ok();
    d.loopx(&["-v", "status"])
        .says("authorized by Rita Reviewer <rita@example.org> (name not proven)")
        .says("approve by Rita Reviewer <rita@example.org> (independent)")
        .ok();
    d.loopx(&["log"])
        .says("Rita Reviewer (signed)  verdict approve")
        .says("Rita Reviewer (name not proven)  approve review->done")
        .ok();
    d.loopx(&["show"])
        .says("by Rita Reviewer <rita@example.org> (name not proven)")
        .ok();
    by(&d, BOB, &["archive"]).ok();
    lands(&d, &rev(&d, "demo"));
}

#[test]
fn g11_one_key_under_two_names_is_one_person() {
    let mine = format!("{},{}", ADA.1, ZED.1);
    let two = format!("{}{}", listed(&mine, "", "ada"), listed(RITA.1, "", "rita"));
    let d = planned(&format!("{PROTECTED}{KEYS}"), &two);
    build(&d, ZED, true);
    fails(&d, ADA, APPROVAL, "reviewer_not_independent");
    by(&d, RITA, APPROVAL).ok();
    // A pattern lets a key sign as anybody: it is still that key.
    let mine = format!("{},*@ex.org", ADA.1);
    let any = format!("{}{}", listed(&mine, "", "ada"), listed(RITA.1, "", "rita"));
    let d = planned(&format!("{PROTECTED}{KEYS}"), &any);
    build(&d, ZED, true);
    fails(&d, ADA, APPROVAL, "reviewer_not_independent");
    d.loopx(&["verify", "main..demo", "--onto", "main"])
        .fails_with(1)
        .says("warning signer_pattern: loopx.signers:1: `*@ex.org`");
}

#[test]
fn g11_waivers_and_raised_caps_are_signed_where_policy_asks_for_signatures() {
    let d = planned("[review]\nsigned = true\n", &everybody());
    let cap = ["build", "--more", "2", "--reason", "hard"];
    let waive = ["build", "--waive", "VS-1", "--reason", "no network"];
    by(&d, ADA, &["approve", "--to", "build"]).ok();
    by(&d, ADA, &["build"]).ok();
    for args in [&cap, &waive] {
        let refusal = fails(&d, ADA, args, "opening_unsigned");
        assert!(refusal.message.contains("it is not signed"), "{refusal:?}");
        let signed = [&args[..], &["--sign"]].concat();
        // Rita's key is not Ada's.
        let wrong = d.fails_as(1, |d| by_key(d, ADA, "rita", &signed));
        assert_eq!(wrong.code, "opening_unsigned", "{wrong:?}");
        by(&d, ADA, &signed).ok();
    }
    // Somebody who can write the branch takes the signature away.
    let (path, _) = operation(&d, "waived");
    let signature = d.bytes_of(&format!("{path}.sig"));
    forge(&d, &format!("{path}.sig"), None);
    commit(&d, ADA, false);
    d.edit("execution-record.md", RECORD);
    by(&d, ADA, &["build", "--report", "execution=complete"]).ok();
    let refusal = d.fails_as(1, |d| by(d, ADA, &["approve", "--to", "review"]));
    assert!(
        refusal.blockers.iter().any(|one| one == "opening_unsigned"),
        "{refusal:?}"
    );
    let verify = d.loopx(&["verify", "main..demo"]).fails_with(1);
    verify.says("opening_unsigned").says("the waiver of VS-1");
    forge(&d, &format!("{path}.sig"), Some(&signature));
    by(&d, ADA, &["approve", "--to", "review"]).ok();
    d.loopx(&["verify", "main..demo"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn g12_whoever_signed_a_word_takes_it_back_with_the_same_key() {
    let signers = everybody();
    let files = [
        ("loopx.toml", "[review]\nsigned = true\n"),
        ("loopx.signers", signers.as_str()),
    ];
    let d = Drive::reviewing_with(&files);
    let refusal = [
        "review",
        "--verdict",
        "request-changes",
        "--sign",
        "--reason",
        "no",
    ];
    by(&d, BOB, &refusal).ok();
    by(&d, BOB, &["undo", "--sign"]).ok();
    by(&d, RITA, APPROVAL).ok();
    by(&d, RITA, &["approve", "--to", "done"]).ok();
    d.loopx(&["verify", "main..HEAD"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
    // With another key than that of the name it is no word.
    let d = Drive::reviewing_with(&files);
    by(&d, BOB, &refusal).ok();
    by_key(&d, BOB, "rita", &["undo", "--sign"]).ok();
    by(&d, RITA, APPROVAL).ok();
    let held = d.fails_as(1, |d| by(d, RITA, &["approve", "--to", "done"]));
    assert_eq!(held.blockers, ["word_taken_back"], "{held:?}");
}

#[test]
fn g12_a_signed_reopening_is_taken_back_by_whoever_signed_it_alone() {
    let signers = everybody();
    let files = [
        ("loopx.toml", "[review]\nsigned = true\n"),
        ("loopx.signers", signers.as_str()),
    ];
    let d = Drive::reviewing_with(&files);
    by(&d, RITA, APPROVAL).ok();
    by(&d, RITA, &["approve", "--to", "done"]).ok();
    by(&d, BOB, &["reopen", "--sign", "--reason", "a hole"]).ok();
    let other = ["undo", "--of", BOB.1, "--reason", "no hole"];
    let refusal = d.fails_as(1, |d| by(d, RITA, &other));
    assert_eq!(refusal.code, "word_taken_back", "{refusal:?}");
    by(&d, BOB, &["undo", "--sign"]).ok();
    d.loopx(&["verify", "main..HEAD"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
}

const BY_CI: &str = "[approve]\nroles = { ci = [\"ci@example.org\"] }\n[evidence]\nby = [\"ci\"]\n";
const CI: Signer = ("CI", "ci@example.org", "rita");

#[test]
fn g11_evidence_counts_only_with_the_key_of_a_role() {
    let signers = [ADA, BOB, CI].map(|(_, email, name)| listed(email, "", name));
    let signers = signers.concat();
    let d = planned(
        &format!("{BY_CI}[gates]\nprotected = [\"main\"]\n"),
        &signers,
    );
    serve(&d);
    let run = ["run", "--task", "VS-1", "--sign"];
    by(&d, ADA, &["approve", "--to", "build"]).ok();
    by(&d, ADA, &["build"]).ok();
    commit(&d, ADA, false);
    d.edit("execution-record.md", RECORD);
    by(&d, ADA, &["build", "--report", "execution=complete"]).ok();
    // A local run, signed or not, by a name or by a key that is not CI's.
    let local = by(&d, ADA, &run).json();
    assert_eq!(local["counts"], false, "{local}");
    let unsigned = [&run[..3], &["--trust"]].concat();
    assert_eq!(by(&d, CI, &unsigned).json()["counts"], false);
    let forged = by_key(&d, CI, "bob", &run).json();
    assert_eq!(forged["counts"], false);
    let refusal = d.fails_as(1, |d| by(d, ADA, &["approve", "--to", "review"]));
    assert_eq!(
        refusal.blockers,
        ["completion_audit_blocked"],
        "{refusal:?}"
    );
    assert!(
        refusal.help.contains("run --sign --task VS-1"),
        "{refusal:?}"
    );
    // CI takes the build from nobody, and a local run after it replaces nothing.
    let claim = d.status()["claim"].clone();
    push(&d, &["loopx", "demo"]).ok();
    runs_in_ci(&d);
    d.does(&["sync"]);
    assert_eq!(d.status()["claim"]["by"], claim["by"]);
    by(&d, ADA, &run[..3]).ok();
    by(&d, ADA, &["approve", "--to", "review"]).ok();
    by(&d, ADA, &["review"]).ok();
    by(&d, BOB, APPROVAL).ok();
    by(&d, BOB, &["approve", "--to", "done"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
    lands(&d, &rev(&d, "demo"));
}

/// Does what the job of docs/server.md does, in a clone of its own.
fn runs_in_ci(d: &Drive) {
    let clone = d.root().join("ci");
    let from = d.root().join("remote.git");
    let from = from.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "--branch", "demo", from, "../ci"])
        .ok();
    let secret = key(CI.2);
    let run = |program: &str, args: &[&str]| {
        d.call(program)
            .args(args)
            .cwd(&clone)
            .env("GIT_AUTHOR_NAME", CI.0)
            .env("GIT_AUTHOR_EMAIL", CI.1)
            .env("GIT_COMMITTER_NAME", CI.0)
            .env("GIT_COMMITTER_EMAIL", CI.1)
            .run()
    };
    let secret = secret.to_str().expect("UTF-8");
    run("git", &["config", "gpg.format", "ssh"]).ok();
    run("git", &["config", "user.signingKey", secret]).ok();
    run(LOOPX, &["init"]).ok();
    let ran = run(LOOPX, &["--json", "run", "--task", "VS-1", "--sign"]).json();
    assert_eq!(ran["counts"], true, "{ran}");
    run(LOOPX, &["sync"]).ok();
}

#[test]
fn g11_a_landing_needs_evidence_by_the_role_that_the_target_names() {
    let signers = [ADA, BOB, CI].map(|(_, email, name)| listed(email, "", name));
    let by_ci = format!("{BY_CI}[gates]\nprotected = [\"main\"]\n");
    for proven in [false, true] {
        // Any run was enough under the policy that the session began with.
        let d = planned("[gates]\nprotected = [\"main\"]\n", &signers.concat());
        build(&d, ADA, false);
        if proven {
            by(&d, CI, &["run", "--task", "VS-1", "--sign", "--trust"]).ok();
        }
        by(&d, BOB, APPROVAL).ok();
        by(&d, BOB, &["approve", "--to", "done"]).ok();
        let result = landing(&d, &by_ci);
        if proven {
            lands(&d, &result)
        } else {
            refused(&d, &result, "evidence_unproven")
        }
    }
}

#[test]
fn a_setting_signs_and_an_option_does_not() {
    let d = planned("[approve]\nsigned = [\"plan->build\"]\n", &everybody());
    let approve = ["approve", "--to", "build"];
    fails(&d, ADA, &approve, "approval_unsigned");
    d.git(&["config", "loopx.sign", "true"]).ok();
    fails(
        &d,
        ADA,
        &[&approve[..], &["--no-sign"]].concat(),
        "approval_unsigned",
    );
    by(&d, ADA, &approve).ok();
    by(&d, ADA, &["build"]).ok();
    let (path, _) = operation(&d, "entered");
    assert!(!d.bytes_of(&format!("{path}.sig")).is_empty());
    let shown = d.does(&["config", "show"]);
    assert!(shown.to_string().contains("loopx.sign"), "{shown}");
    d.git(&["config", "loopx.sign", "perhaps"]).ok();
    d.call(LOOPX).args(&["doctor"]).run().says("loopx.sign");
}

#[test]
fn a_key_that_was_taken_away_shows_what_it_leaves_open() {
    let policy = "[gates]\nprotected = [\"main\"]\n[approve]\nsigned = [\"plan->build\", \"build->review\"]\n\
                  [review]\nsigned = true\n";
    let d = planned(policy, &everybody());
    let check = ["--json", "signers", "check"];
    assert_eq!(d.does(&check[1..])["open"], serde_json::json!([]));
    by(&d, BOB, &["approve", "--to", "build", "--sign"]).ok();
    // Bob leaves: main has his key no more.
    d.git(&["switch", "--quiet", "main"]).ok();
    let left = format!("{}*@ex.org {}\n", listed(ADA.1, "", "ada"), public("rita"));
    d.commit_file("loopx.signers", &left, "Bob left").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    let out = d.loopx(&check).fails_with(1).json();
    let open = &out["open"][0];
    assert_eq!(open["session"], "demo", "{out}");
    assert_eq!(open["transition"], "plan->build");
    assert_eq!(open["who"], "Bob Builder <bob@example.org>");
    assert!(
        open["why"]
            .as_str()
            .expect("why")
            .contains("no key of the signers' file")
    );
    assert_eq!(open["help"], "git loopx -s demo approve --to build --sign");
    assert_eq!(out["remarks"][0]["code"], "signer_pattern");
    insta::assert_snapshot!(d.loopx(&["-v", "signers", "check"]).steady(), @"
    $ git-loopx -v signers check
    demo: approval_signature_invalid  the signature under Bob Builder <bob@example.org>'s approval of plan->build does not count: no key of the signers' file made the signature
        git loopx -s demo approve --to build --sign
    loopx.signers:2 warning signer_pattern: `*@ex.org`: whoever has this key signs as everybody whose address fits; name each person
    1 session not landed, by the keys of main at 0000000000: 1 signature left open
    --- exit 1
    ");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.loopx(&["doctor"]).says("`*@ex.org`").ok();
    // What was used is given again from the moment before, and the command works when typed.
    d.git(&["switch", "--quiet", "demo"]).ok();
    by(&d, ADA, &["build"]).ok();
    let help = d.loopx(&check).fails_with(1).json()["open"][0]["help"].clone();
    let help = help.as_str().expect("help").to_owned();
    let (undo, again) = help.split_once(", then: ").expect("two commands");
    let words = |line: &str| -> Vec<String> { shlex::split(line).expect("a command").split_off(2) };
    for line in [undo, again] {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        by(&d, ADA, &words).ok();
    }
    assert_eq!(d.does(&check[1..])["open"], serde_json::json!([]));
    // A landed session is nobody's business; a revoked key is as good as none.
    d.git(&["switch", "--quiet", "main"]).ok();
    let revoked = format!("{}\n", public("ada"));
    d.commit_file("loopx.revoked", &revoked, "Ada lost it").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    let out = d.loopx(&check).fails_with(1).json();
    assert_eq!(out["open"][0]["who"], "Ada Author <ada@example.org>");
    d.does(&["abandon", "--reason", "enough"]);
    assert_eq!(d.does(&check[1..])["open"], serde_json::json!([]));
}

#[test]
fn doctor_names_a_policy_that_asks_for_keys_and_a_base_that_has_none() {
    let d = Drive::planned_with(&[("loopx.toml", "[review]\nsigned = true\n")]);
    let checks = d.loopx(&["--json", "doctor"]).fails_with(1).json();
    let checks = checks["checks"].as_array().expect("checks");
    let signers = checks.iter().find(|check| check["what"] == "signers");
    let signers = signers.expect("a check of the signers");
    assert_eq!(signers["level"], "problem", "{signers}");
}

#[test]
fn g11_a_roles_key_runs_no_command_of_a_plan_that_nobody_approved() {
    let d = Drive::planned_with(&[
        (
            "loopx.toml",
            "[approve]\nroles = { ci = [\"*<ada@example.org>\"] }\n[evidence]\nby = [\"ci\"]\n",
        ),
        ("loopx.signers", &everybody()),
    ]);
    let run = ["run", "--task", "VS-1", "--sign"];
    fails(&d, ADA, &run, "check_not_agreed");
    assert_eq!(d.state()["evidence"].as_array().map_or(0, Vec::len), 0);
    by(&d, BOB, &["approve", "--to", "build"]).ok();
    by(&d, BOB, &["build"]).ok();
    by(&d, ADA, &run).ok();
}

#[test]
fn g11_a_roles_key_runs_nothing_by_a_policy_that_a_session_brought_itself() {
    let d = Drive::planned_with(&[("loopx.toml", ""), ("loopx.signers", &everybody())]);
    by(&d, BOB, &["approve", "--to", "build"]).ok();
    by(&d, BOB, &["build"]).ok();
    // The target wants the plan signed, and evidence by a role; the base of the session asks for neither.
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file(
        "loopx.toml",
        "[approve]\nsigned = [\"plan->build\"]\nroles = { ci = [\"*<ada@example.org>\"] }\n[evidence]\nby = [\"ci\"]\n",
        "policy",
    )
    .ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    fails(
        &d,
        ADA,
        &["run", "--task", "VS-1", "--sign"],
        "check_not_agreed",
    );
}
