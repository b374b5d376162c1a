//! Worth of an approval, and of its giver: edge cases 11 to 13 of the hooks reference.

mod people;
mod taken;

use crate::support::drive::{Drive, ID};
use crate::support::forge::forge_records;
use crate::support::keys::{
    ADA, BOB, RITA, by, by_key, everybody, forge, forge_in, key, listed, operation, public, use_key,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;

const PLAN_SIGNED: &str = "[approve]\nsigned = [\"plan->build\"]\n";
const APPROVE: &[&str] = &["approve", "--to", "build", "--sign"];

/// A planned session whose policy wants the plan's approval signed by somebody of this list.
fn planned(signers: &str) -> Drive {
    Drive::planned_with(&[("loopx.toml", PLAN_SIGNED), ("loopx.signers", signers)])
}

/// Asserts that a signed approval is refused with a word of why, and that nothing was written.
#[track_caller]
fn refused(d: &Drive, code: &str, why: &str, call: impl FnOnce(&Drive) -> Output) {
    let refusal = d.fails_as(1, call);
    assert_eq!(refusal.code, code, "{refusal:?}");
    assert!(refusal.message.contains(why), "{refusal:?}");
}

/// The errors of `verify` as `code: message`.
fn errors(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut all = vec!["verify", "--json"];
    all.extend(args);
    let json = s.loopx(&all).json();
    let found = json["findings"].as_array().expect("findings").iter();
    found
        .filter(|f| f["severity"] == "error")
        .map(|f| format!("{}: {}", f["code"].as_str().expect("a code"), f["message"]))
        .collect()
}

#[track_caller]
fn has(errors: &[String], code: &str, why: &str) {
    assert!(
        errors
            .iter()
            .any(|e| e.starts_with(code) && e.contains(why)),
        "expected {code} ({why}) in {errors:#?}"
    );
}

#[test]
fn a_signed_approval_opens_the_gate_and_says_by_whose_key() {
    let d = planned(&everybody());
    d.refuses(&["approve", "--to", "build"])
        .is("approval_unsigned", &["approval_unsigned"]);
    by(&d, ADA, APPROVE).ok();
    let (path, text) = operation(&d, "approved");
    let signed = d.git(&["show", &format!("loopx:{path}.sig")]).ok();
    let (statement, armour) = signed.split_once("-----BEGIN").expect("an armour");
    assert!(armour.trim_end().ends_with("-----END SSH SIGNATURE-----"));
    let statement: Value = serde_json::from_str(statement).expect("JSON");
    let mut op: Value = serde_json::from_str(&text).expect("JSON");
    let name = path.rsplit('-').next().expect("an id");
    op["op"] = name.trim_end_matches(".json").into();
    assert_eq!(statement["operation"], op);
    assert_eq!(statement["role"], "approver");
    assert_eq!(statement["target"], "refs/heads/demo");
    assert_eq!(statement["session"], ID);
    let root = d.git(&["rev-list", "--max-parents=0", "main"]).line();
    assert_eq!(statement["repository"], root);
    assert_eq!(statement["base"], d.git(&["rev-parse", "main"]).line());
    assert_eq!(
        statement["policy"],
        d.git(&["rev-parse", "main:loopx.toml"]).line()
    );
    let status = d.status();
    let gate = &status["gates"][1];
    assert_eq!(gate["signatures"][0]["signer"]["principals"][0], ADA.1);
    assert_eq!(gate["signatures"][0]["signer"]["kind"], "ED25519");
    d.loopx(&["-v", "status"])
        .says("signed, ED25519 SHA256:")
        .ok();
    d.loopx(&["show"]).says("signed, ED25519 SHA256:").ok();
    d.does(&["build"]);
    d.commit_code("an end\n");
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn ssh_keygen_itself_verifies_what_was_signed() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    let (path, _) = operation(&d, "approved");
    let signed = d.git(&["show", &format!("loopx:{path}.sig")]).ok();
    let at = signed.find("-----BEGIN").expect("an armour");
    d.write(d.root().join("sig"), &signed[at..]);
    d.write(d.root().join("allowed"), everybody());
    d.call("ssh-keygen")
        .cwd(d.root())
        .args(&[
            "-Y",
            "verify",
            "-f",
            "allowed",
            "-I",
            ADA.1,
            "-n",
            "loopx-approval",
            "-s",
            "sig",
        ])
        .stdin(&signed[..at])
        .run()
        .ok();
}

#[test]
fn keys_come_from_gits_own_settings() {
    let d = planned(&everybody());
    d.fails(1, APPROVE).is("signing_not_configured", &[]);
    d.git(&["config", "gpg.format", "openpgp"]).ok();
    d.fails(1, APPROVE).is("signing_not_configured", &[]);
    d.git(&["config", "gpg.format", "ssh"]).ok();
    d.fails(1, APPROVE).is("signing_not_configured", &[]);
    use_key(&d, "/nowhere/at all");
    d.fails(1, APPROVE).is("signing_failed", &[]);
    // A key whose secret half only the agent has: as a literal, as a file, and from a command. None of
    // them is read by a shell.
    let secret = key("ada");
    let agent = |d: &Drive, args: &str| {
        let script = format!("ssh-add -q '{}' && exec '{LOOPX}' {args}", secret.display());
        d.call("ssh-agent").args(&["sh", "-c", &script]).run()
    };
    let approve = "approve --to build --sign";
    use_key(&d, format!("key::{}", public("ada")));
    agent(&d, approve).ok();
    d.does(&["undo"]);
    d.write(d.root().join("only.pub"), format!("{}\n", public("ada")));
    use_key(&d, d.root().join("only.pub"));
    agent(&d, approve).ok();
    d.does(&["undo"]);
    d.git(&["config", "--unset", "user.signingKey"]).ok();
    let dir = d.root().join("a $(touch pwned) folder");
    d.write(dir.join("key"), format!("{}\n", public("ada")));
    let command = format!("cat '{}'", dir.join("key").display());
    d.git(&["config", "gpg.ssh.defaultKeyCommand", &command])
        .ok();
    agent(&d, approve).ok();
    assert!(!d.exists("pwned"));
}

#[test]
fn the_configured_program_signs_and_never_judges() {
    let d = planned(&listed(ADA.1, "", "ada"));
    let program = d.root().join("signer");
    d.script(
        &program,
        "#!/bin/sh\necho \"$*\" >> \"$0.log\"\ncase \"$2\" in sign) exec ssh-keygen \"$@\";; esac\n\
         echo 'Good \"loopx-approval\" signature for ada@example.org with ED25519 key SHA256:x'\n",
    );
    let name = program.to_str().expect("UTF-8");
    d.git(&["config", "gpg.ssh.program", name]).ok();
    by(&d, ADA, APPROVE).ok();
    d.does(&["build"]);
    let log = d.read(d.root().join("signer.log"));
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.starts_with("-Y sign -n loopx-approval -f "), "{log}");
    // It would have called Bob's signature good as well.
    d.does(&["undo"]);
    d.does(&["undo"]);
    refused(
        &d,
        "approval_signature_invalid",
        "no key of the signers' file made the signature",
        |d| by_key(d, ADA, "bob", APPROVE),
    );
}

#[test]
fn edge_12_a_signature_is_the_word_of_whom_the_operation_names() {
    let d = planned(&everybody());
    refused(
        &d,
        "approval_signature_invalid",
        "the signature was made by bob@example.org, not by Ada Author <ada@example.org>",
        |d| by_key(d, ADA, "bob", APPROVE),
    );
    let d = planned(&listed(BOB.1, "", "bob"));
    refused(&d, "approval_signature_invalid", "", |d| {
        by(d, ADA, APPROVE)
    });
}

#[test]
fn edge_12_a_backdated_approval_revives_no_expired_key() {
    let expired = listed(ADA.1, "valid-before=\"20200101\"", "ada");
    let d = planned(&expired);
    let backdated = |d: &Drive| {
        use_key(d, key("ada"));
        d.call(LOOPX)
            .args(&["--json"])
            .args(APPROVE)
            .env("GIT_COMMITTER_DATE", "1550000000 +0000")
            .env("GIT_AUTHOR_DATE", "1550000000 +0000")
            .run()
    };
    refused(&d, "approval_signature_invalid", "expired", backdated);
    // Nor does a key count for a time before it was valid, whatever the clock says now.
    let d = planned(&listed(ADA.1, "valid-after=\"20200101\"", "ada"));
    refused(&d, "approval_signature_invalid", "not yet valid", backdated);
    by(&d, ADA, APPROVE).ok();
}

#[test]
fn edge_12_a_key_or_a_signature_of_another_namespace_is_none() {
    let d = planned(&listed(ADA.1, "namespaces=\"git\"", "ada"));
    refused(&d, "approval_signature_invalid", "namespace", |d| {
        by(d, ADA, APPROVE)
    });
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    let (path, _) = operation(&d, "approved");
    let signed = d.git(&["show", &format!("loopx:{path}.sig")]).ok();
    let at = signed.find("-----BEGIN").expect("an armour");
    let armour = d
        .call("ssh-keygen")
        .args(&[
            "-q",
            "-Y",
            "sign",
            "-n",
            "git",
            "-f",
            key("ada").to_str().expect("UTF-8"),
        ])
        .stdin(&signed[..at])
        .run()
        .ok();
    let forged = format!("{}{armour}", &signed[..at]);
    forge(&d, &format!("{path}.sig"), Some(forged.as_bytes()));
    d.fails(1, &["build"]).is(
        "approval_signature_invalid",
        &["approval_signature_invalid"],
    );
}

#[test]
fn edge_12_an_approval_is_no_approval_of_something_else() {
    let d = planned(&everybody());
    by(
        &d,
        ADA,
        &["approve", "--to", "build", "--sign", "--reason", "for now"],
    )
    .ok();
    // Another word about the same content.
    let forever = |op: &mut Value| {
        if op["reason"] == "for now" {
            op["reason"] = "for ever".into();
        }
    };
    forge_records(&d, ID, forever);
    d.fails(1, &["build"]).is(
        "approval_signature_invalid",
        &["approval_signature_invalid"],
    );
    d.does(&["undo"]);
    // The operation and its signature once more, under another number.
    let (path, text) = operation(&d, "approved");
    let signed = d.bytes_of(&format!("{path}.sig"));
    let copy = path.replacen("/0000", "/0001", 1);
    forge(&d, &copy, Some(text.as_bytes()));
    forge(&d, &format!("{copy}.sig"), Some(&signed));
    d.loopx(&["build"]).fails_with(1);
    d.loopx(&["log"]).says("holds the operation").fails_with(70);
}

#[test]
fn edge_12_an_approval_holds_on_its_own_branch_alone() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    d.git(&["switch", "--quiet", "-c", "elsewhere"]).ok();
    d.does(&["use", ID]);
    let refusal = d.refuses(&["build"]);
    assert!(
        refusal
            .message
            .contains("about another branch: refs/heads/demo, not refs/heads/elsewhere")
    );
    refusal.is(
        "approval_signature_invalid",
        &["approval_signature_invalid"],
    );
    d.git(&["switch", "--quiet", "demo"]).ok();
    d.does(&["use", ID]);
    d.does(&["build"]);
    // Used there, and carried away afterwards.
    d.git(&["switch", "--quiet", "elsewhere"]).ok();
    d.does(&["use", ID]);
    d.commit_code("an end\n");
    has(
        &errors(&d, &["main..HEAD"]),
        "approval_signature_invalid",
        "another branch",
    );
}

#[test]
fn edge_12_an_approval_holds_in_its_own_session_alone() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    let (path, text) = operation(&d, "approved");
    let signed = d.bytes_of(&format!("{path}.sig"));
    // Somebody writes the operation, and what was signed about it, into a session of their own.
    d.does(&["undo"]);
    d.does(&["start", "other", "--no-branch"]);
    let copy = path.replace("/demo/", "/other/");
    forge_in(&d, "other", &copy, Some(text.as_bytes()));
    forge_in(&d, "other", &format!("{copy}.sig"), Some(&signed));
    d.loopx(&["fsck"])
        .says("other")
        .says("belongs to")
        .fails_with(1);
    // What was copied is none of its operations: a repair takes it away.
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck"]).ok();
    assert_eq!(d.does(&["-s", "other", "status"])["stage"], "clarify");
}

#[test]
fn edge_12_an_approval_holds_in_its_own_repository_alone() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    d.does(&["build"]);
    d.commit_code("an end\n");
    let trailers = d.git(&["log", "-1", "--format=%(trailers:only)"]).ok();
    // The loopx branch goes into a repository with the same files, policy and signers.
    let other = Drive::repository_with(&[
        ("loopx.toml", PLAN_SIGNED),
        ("loopx.signers", &everybody()),
        ("extra", "x"),
    ]);
    let from = d.path().to_str().expect("UTF-8");
    other.git(&["fetch", "--quiet", from, "+loopx:loopx"]).ok();
    other.commit_code(&format!("an end\n{trailers}"));
    has(
        &errors(&other, &["main..HEAD"]),
        "approval_signature_invalid",
        "another repository",
    );
}

#[test]
fn edge_12_an_approval_covers_no_later_tree() {
    let files = [
        (
            "loopx.toml",
            "[approve]\nsigned = [\"review->done\"]\nrequired = { \"review->done\" = 2 }\n",
        ),
        ("loopx.signers", &everybody()),
    ];
    let d = Drive::reviewing_with(&files);
    d.verdict(&["--verdict", "approve"]);
    by(&d, RITA, &["approve", "--to", "done", "--sign"]).ok();
    d.write("src/demo.txt", "more\n");
    d.git(&["commit", "--quiet", "--no-verify", "-am", "more"])
        .ok();
    d.does(&["run", "--task", "VS-1"]);
    let refusal = d.fails_as(1, |d| by(d, BOB, &["approve", "--to", "done", "--sign"]));
    assert_eq!(refusal.blockers, ["review_stale"], "{refusal:?}");
    // A new verdict takes the earlier approval with it: it does not count towards the two.
    d.verdict(&["--verdict", "approve"]);
    let json = by(&d, BOB, &["approve", "--to", "done", "--sign"]).json();
    assert_eq!(json["approvals"], 1, "{json}");
    assert_eq!(d.stage(), "review");
}

#[test]
fn edge_11_a_change_is_judged_by_the_policy_and_the_signers_of_its_base() {
    let d = planned(&listed(RITA.1, "", "rita"));
    // The change lets everybody in, and calls Ada Rita.
    d.write("loopx.toml", "");
    d.write("loopx.signers", everybody());
    d.write(
        ".mailmap",
        "Rita Reviewer <rita@example.org> <ada@example.org>\n",
    );
    d.git(&["add", "."]).ok();
    d.git(&["commit", "--quiet", "--no-verify", "-m", "policy"])
        .ok();
    d.refuses(&["approve", "--to", "build"])
        .is("approval_unsigned", &["approval_unsigned"]);
    refused(&d, "approval_signature_invalid", "", |d| {
        by(d, ADA, APPROVE)
    });
    // What goes past the gate is seen by verify, which takes them from the base too.
    let ops = d.git(&["rev-parse", "loopx"]).line();
    d.git(&["config", "loopx.branch", "loopx"]).ok();
    assert_eq!(ops, d.tip());
    by(&d, RITA, APPROVE).ok();
    let (path, _) = operation(&d, "approved");
    d.does(&["build"]);
    d.commit_code("an end\n");
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
    forge(&d, &format!("{path}.sig"), None);
    has(
        &errors(&d, &["main..HEAD"]),
        "approval_unsigned",
        "without a signature",
    );
    has(
        &errors(&d, &["main..HEAD", "--policy-from", "main"]),
        "approvals_missing",
        "0 of 1",
    );
}

#[test]
fn a_revoked_key_and_a_key_that_nobody_touches_do_not_count() {
    let d = Drive::planned_with(&[
        ("loopx.toml", PLAN_SIGNED),
        ("loopx.signers", &everybody()),
        ("loopx.revoked", &format!("{}\n", public("ada"))),
    ]);
    refused(&d, "approval_signature_invalid", "", |d| {
        by(d, ADA, APPROVE)
    });
    by(&d, RITA, APPROVE).ok();
    let d = Drive::planned_with(&[
        ("loopx.toml", "[approve]\ntouched = [\"plan->build\"]\n"),
        ("loopx.signers", &everybody()),
    ]);
    d.refuses(&["approve", "--to", "build"])
        .is("approval_unsigned", &["approval_unsigned"]);
    refused(&d, "approval_without_touch", "security key", |d| {
        by(d, ADA, APPROVE)
    });
}

#[test]
fn a_verdict_is_signed_where_policy_asks_for_it() {
    let d = Drive::reviewing_with(&[
        ("loopx.toml", "[review]\nsigned = true\n"),
        ("loopx.signers", &everybody()),
    ]);
    d.fails_as(1, |d| {
        d.verdict_by((RITA.0, RITA.1), &["--verdict", "approve"])
    })
    .is("verdict_unsigned", &["verdict_unsigned"]);
    d.fails_as(1, |d| {
        by_key(
            d,
            RITA,
            "bob",
            &["review", "--verdict", "approve", "--sign"],
        )
    })
    .is("verdict_signature_invalid", &["verdict_signature_invalid"]);
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    assert_eq!(
        d.status()["review"]["signature"]["signer"]["principals"][0],
        RITA.1
    );
    d.does(&["approve", "--to", "done"]);
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
    let (path, _) = operation(&d, "reviewed");
    forge(&d, &format!("{path}.sig"), None);
    has(&errors(&d, &["main..HEAD"]), "verdict_unsigned", "");
    d.refuses(&["archive"])
        .is("archive_blocked", &["verdict_unsigned"]);
}

#[test]
fn a_signature_that_is_not_asked_for_is_shown_and_one_that_is_forged_never_counts() {
    let d = Drive::planned();
    by(&d, ADA, APPROVE).ok();
    let shown = d.status()["gates"][1]["signatures"][0].clone();
    assert_eq!(shown["flaw"], "not-listed");
    assert!(
        shown["why"]
            .as_str()
            .expect("why")
            .contains("no file loopx.signers")
    );
    d.write(d.root().join("mine"), everybody());
    let mine = d.root().join("mine");
    d.git(&[
        "config",
        "gpg.ssh.allowedSignersFile",
        mine.to_str().expect("UTF-8"),
    ])
    .ok();
    d.loopx(&["-v", "status"])
        .says("your gpg.ssh.allowedSignersFile has it for ada@example.org")
        .ok();
    let (path, _) = operation(&d, "approved");
    let text = d.git(&["show", &format!("loopx:{path}.sig")]).ok();
    forge(
        &d,
        &format!("{path}.sig"),
        Some(text.replace("\"approver\"", "\"reviewer\"").as_bytes()),
    );
    d.refuses(&["build"]).is(
        "approval_signature_invalid",
        &["approval_signature_invalid"],
    );
    // The gate that wants none opens again with a signature that says nothing else.
    forge(&d, &format!("{path}.sig"), Some(text.as_bytes()));
    d.does(&["build"]);
}

#[test]
fn without_ssh_keygen_a_demanded_signature_is_refused_and_another_is_noted() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    let path = d.path_without_loopx();
    let bare = |d: &Drive, args: &[&str]| d.call(LOOPX).args(args).env("PATH", &path).run();
    let refusal = d.fails_as(1, |d| bare(d, &["--json", "build"]));
    assert!(
        refusal
            .message
            .contains("ssh-keygen, which checks signatures, is not in PATH"),
        "{refusal:?}"
    );
    let d = Drive::planned();
    by(&d, ADA, APPROVE).ok();
    bare(&d, &["-v", "status"])
        .says("signature not checked")
        .ok();
    bare(&d, &["build"]).ok();
}

#[test]
fn signatures_outlive_undo_and_archive() {
    let files = [
        (
            "loopx.toml",
            "[approve]\nsigned = [\"review->done\"]\n[review]\nsigned = true\n",
        ),
        ("loopx.signers", &everybody()),
    ];
    let d = Drive::reviewing_with(&files);
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    by(&d, RITA, &["approve", "--to", "done", "--sign"]).ok();
    d.does(&["undo", "--of", "rita", "--reason", "too early"]);
    assert_eq!(d.stage(), "review");
    by(&d, BOB, &["approve", "--to", "done", "--sign"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
    d.does(&["archive"]);
    let shown = d.does(&["-s", ID, "show"]);
    let signatures = shown["signatures"].as_object().expect("signatures");
    assert!(signatures.len() >= 2, "{shown}");
    assert!(
        signatures.values().all(|checked| checked["flaw"].is_null()),
        "{shown}"
    );
    d.loopx(&["fsck"]).ok();
    assert_eq!(errors(&d, &["main..HEAD"]), [""; 0]);
}

#[test]
fn fsck_takes_a_signature_away_that_signs_nothing_here() {
    let d = planned(&everybody());
    by(
        &d,
        ADA,
        &["approve", "--to", "build", "--sign", "--reason", "for now"],
    )
    .ok();
    let (path, _) = operation(&d, "approved");
    let signed = d.git(&["show", &format!("loopx:{path}.sig")]).ok();
    let forgeries = [
        signed.replace("for now", "for ever"),
        signed.replace("U1NIU0lH", "U1NIU0lI"),
        "nothing".to_owned(),
        "x".repeat(300_000),
    ];
    for forged in &forgeries {
        forge(&d, &format!("{path}.sig"), Some(forged.as_bytes()));
        d.loopx(&["fsck"]).fails_with(1).says("does not hold");
        d.refuses(&["build"]).is(
            "approval_signature_invalid",
            &["approval_signature_invalid"],
        );
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck"]).says("all whole").ok();
        d.refuses(&["build"])
            .is("approval_unsigned", &["approval_unsigned"]);
    }
    forge(
        &d,
        "sessions/demo/ops/00000099-01arz3ndektsv4rrffq69g5fav.json.sig",
        Some(signed.as_bytes()),
    );
    d.loopx(&["fsck"])
        .fails_with(1)
        .says("belongs to no operation");
    d.loopx(&["fsck", "--repair"]).ok();
    forge(&d, &format!("{path}.sig"), Some(signed.as_bytes()));
    d.loopx(&["fsck"]).says("all whole").ok();
    d.does(&["build"]);
}

#[test]
fn a_signature_outlives_a_rebase_of_its_session() {
    let d = planned(&everybody());
    by(&d, ADA, APPROVE).ok();
    d.does(&["build"]);
    d.commit_code("an end\n");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file(
        "loopx.toml",
        &format!("{PLAN_SIGNED}\n[review]\nsigned = true\n"),
        "stricter",
    )
    .ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    d.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    d.does(&["rebase", "--onto", "main", "--reason", "the policy moved"]);
    d.loopx(&["fsck"]).says("all whole").ok();
    let status = d.status();
    let gate = &status["gates"][1];
    assert_eq!(
        gate["signatures"][0]["signer"]["principals"][0], ADA.1,
        "{gate:#}"
    );
    assert_eq!(gate["signatures"][0]["flaw"], Value::Null, "{gate:#}");
    assert_eq!(
        errors(&d, &["main..HEAD", "--policy-from", "main"]),
        [""; 0]
    );
}

#[test]
fn one_of_two_people_authorizes_nothing_yet_and_is_told_whom_to_ask() {
    let d = Drive::planned_with(&[(
        "loopx.toml",
        "[approve]\nrequired = { \"plan->build\" = 2 }\n",
    )]);
    let approve = ["approve", "--to", "build"];
    by(&d, ADA, &approve).ok();
    let gate = &d.status()["gates"][1];
    assert_eq!(
        (&gate["authorized"], &gate["approval"]),
        (&false.into(), &"approved".into())
    );
    by(&d, ADA, &approve)
        .fails_with(5)
        .says("ask another person to run: git loopx approve --to build");
    by(&d, BOB, &approve).ok();
    assert_eq!(d.status()["gates"][1]["authorized"], true);
}
