//! Input that an adversary writes for somebody else's machine, by its numbers: links, names, texts and settings. Each
//! command answers, nothing is written outside of its place, and nothing that a repository names is run.

use crate::support::archive::{ID, Yard};
use crate::support::drive::{Drive, SPEC};
use crate::support::keys::{ADA, RITA, Signer, by, everybody};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time within which each answer comes, also where other tests run beside it.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn answers(out: Output, what: &str) -> Output {
    assert!(matches!(out.code, Some(0..=6)), "{what}: {out}");
    assert!(!out.stderr.contains("panicked"), "{what}: {out}");
    out
}

#[test]
fn held_50_to_52_one_person_under_another_spelling_is_no_second_approver() {
    let policy = "[approve]\nsigned = [\"plan->build\"]\nrequired = { \"plan->build\" = 2 }\n";
    let files = [("loopx.toml", policy), ("loopx.signers", &everybody())];
    let d = Drive::planned_with(&files);
    let approve: &[&str] = &["approve", "--to", "build", "--sign"];
    by(&d, ADA, approve).ok();
    let spelled: [(&str, Signer); 3] = [
        ("50 capitals", (ADA.0, "ADA@example.org", ADA.2)),
        (
            "51 a part of the address",
            (ADA.0, "ada+2@example.org", ADA.2),
        ),
        (
            "52 a letter that looks the same",
            (ADA.0, "\u{430}da@example.org", ADA.2),
        ),
    ];
    for (what, who) in spelled {
        let out = answers(by(&d, who, approve), what);
        assert!(matches!(out.code, Some(1 | 5)), "{what}: {out}");
        d.refuses(&["build"])
            .is("approvals_missing", &["approvals_missing"]);
    }
    by(&d, RITA, approve).ok();
    d.does(&["build"]);
}

#[test]
fn held_55_who_is_denied_is_so_in_capitals_too() {
    let d = Drive::clarified_under("[approve]\ndeny = [\"*@bots.example.org\"]\n");
    let approve = ["--json", "approve", "--to", "plan"];
    for email in ["agent@bots.example.org", "AGENT@BOTS.example.ORG"] {
        d.fails_as(1, |d| d.by(("Agent", email), &approve))
            .is("approver_denied", &["approver_denied"]);
    }
    d.by(("Agent", "agent@bots.example.com"), &approve).ok();
}

/// Files outside of the repository, with their content.
fn outside(s: &Sandbox) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut files = s.snapshot(s.root());
    files.retain(|(path, ..)| !path.starts_with("repo"));
    files
}

/// Puts a link in the place of a file or folder of the working copy; what was there goes on outside.
fn link(s: &Sandbox, place: &str) {
    let (here, there) = (s.path().join(place), s.root().join("outside"));
    fs::rename(&here, &there).expect("it moves");
    symlink(&there, &here).expect("a link");
}

#[test]
fn held_86_to_90_links_lead_no_command_out_of_the_repository() {
    let commands: [&[&str]; 6] = [
        &["save"],
        &["clarify"],
        &["checkout", "--force"],
        &["put", "spec.md", "src/demo.txt"],
        &["edit", "spec.md"],
        &["undo"],
    ];
    for place in [
        ".loopx",
        ".loopx/demo",
        ".loopx/demo/spec.md",
        ".loopx/demo/change",
    ] {
        let d = Drive::planning();
        link(&d, place);
        let before = outside(&d);
        for args in commands {
            let call = d.call(LOOPX).args(args).env("GIT_EDITOR", "true");
            let out = answers(call.run(), place);
            assert!(outside(&d) == before, "{place} {args:?}: {out}");
        }
        d.loopx(&["save"]).fails_with(1).says("is a symbolic link");
        // The honest neighbour: without the link it goes on.
        fs::remove_file(d.path().join(place)).expect("the link");
        drop(d.loopx(&["checkout", "--force"]));
        d.loopx(&["status"]).ok();
    }
    // 90: the specs themselves.
    let y = Yard::ready();
    link(&y, "specs");
    let before = outside(&y);
    let out = answers(y.archive(ID, &[]), "90");
    assert!(outside(&y) == before, "90: {out}");
    fs::remove_file(y.path().join("specs")).expect("the link");
    y.git(&["checkout", "--quiet", "--", "specs"]).ok();
    drop(out);
    if y.archived().is_empty() {
        y.archive(ID, &[]).ok();
    }
}

#[test]
fn held_91_to_99_a_domain_is_a_name_and_no_path() {
    let d = Drive::planning();
    let delta = d.artifact("change/spec-delta.md");
    let before = outside(&d);
    for domain in [
        "../../etc",
        "/etc/x",
        "a/../../b",
        ".git/hooks",
        "a\\..\\b",
        "x:y",
        "CON",
        "a\tb",
        ".loopx/y",
    ] {
        let text = delta.replace("# Domain: demo", &format!("# Domain: {domain}"));
        d.edit("change/spec-delta.md", &text);
        let out = answers(d.loopx(&["--json", "change", "validate"]), domain);
        assert_eq!(out.code, Some(1), "{domain}: {out}");
        d.loopx(&["approve", "--to", "build"]).fails_with(1);
        assert!(outside(&d) == before, "{domain}");
    }
    d.edit("change/spec-delta.md", &delta);
    d.loopx(&["change", "validate"]).ok();
}

#[test]
fn held_100_to_104_a_title_of_a_decision_is_no_path() {
    let d = Drive::started();
    let before = outside(&d);
    let long = "x".repeat(5_000);
    for title in [
        "../../../etc/passwd",
        "/etc/passwd",
        "a\nb: c\n---",
        "CON",
        &long,
    ] {
        answers(d.loopx(&["adr", "new", title]), title);
        assert!(outside(&d) == before, "{title}");
    }
    let made = d
        .git(&["status", "--porcelain", "--untracked-files=all"])
        .ok();
    for line in made.lines() {
        let path = line[3..].trim_matches('"');
        let is_record = Path::new(path).parent() == Some(Path::new("docs/adr"));
        assert!(is_record && path.len() < 255, "{path}");
    }
    d.loopx(&["adr", "new", "Use git"]).ok();
}

#[test]
fn held_105_to_108_front_matter_that_is_made_to_cost_is_refused_soon() {
    let d = Drive::started();
    let path = d.path().join(".loopx/demo/spec.md");
    let laughs: String = (1..40)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1))
        .collect();
    let texts: [(&str, Vec<u8>); 4] = [
        (
            "105 anchors",
            format!("---\na0: &a0 [x, x]\n{laughs}---\n# Demo\n").into_bytes(),
        ),
        (
            "106 a megabyte",
            format!("---\nx: {}\n---\n# Demo\n", "y".repeat(1 << 20)).into_bytes(),
        ),
        (
            "107 depth",
            format!("---\nx: {}\n---\n# Demo\n", "[".repeat(100_000)).into_bytes(),
        ),
        ("108 bytes", b"---\nx: \xff\xfe\n---\n# Demo\n".to_vec()),
    ];
    for (what, bytes) in texts {
        fs::write(&path, bytes).expect("a file");
        for args in [&["status"][..], &["save"], &["approve", "--to", "plan"]] {
            let begun = Instant::now();
            answers(d.loopx(args), what);
            assert!(begun.elapsed() < SOON, "{what}: {:?}", begun.elapsed());
        }
        d.loopx(&["approve", "--to", "plan"]).fails_with(1);
    }
    d.edit("spec.md", SPEC);
    d.loopx(&["approve", "--to", "plan"]).ok();
}

#[test]
fn held_109_patterns_that_are_made_to_cost_are_answered_soon() {
    let alternatives: Vec<String> = (0..5_000).map(|n| format!("a{n}")).collect();
    for pattern in [
        "**/".repeat(300) + "x",
        "*a".repeat(2_000),
        format!("{{{}}}", alternatives.join(",")),
    ] {
        let d = Drive::planned();
        d.change("plan.md", "scope: []", &format!("scope: [{pattern:?}]"));
        let begun = Instant::now();
        for args in [
            &["plan", "--architect", "approve"][..],
            &["plan", "--critic", "approve"],
            &["approve", "--to", "build"],
            &["build"],
        ] {
            answers(d.loopx(args), &pattern[..20]);
        }
        d.write("src/demo.txt", "an end\n");
        drop(d.git(&["commit", "--quiet", "-am", "code"]));
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}

#[test]
fn held_110_a_run_that_changes_what_it_proves_proves_nothing_of_it() {
    let d = Drive::building();
    d.commit_code("an end\n");
    let out = d.loopx(&["run", "--task", "VS-1"]);
    out.ok();
    let run = ["run", "--", "sh", "-c", "echo more >>src/demo.txt"];
    d.loopx(&run).says("warning").ok();
    let runs = d.state()["evidence"].clone();
    let kept = |run: &serde_json::Value| run["tree_kept"].as_bool().expect("a word");
    let kept: Vec<bool> = runs.as_array().expect("runs").iter().map(kept).collect();
    assert_eq!(kept, [true, false], "{runs}");
}

/// Settings that have git start a program, and what reads. `program` notes that it ran.
fn settings(program: &str) -> [[String; 2]; 9] {
    [
        ["diff.external", program],
        ["diff.evil.textconv", program],
        ["diff.evil.command", program],
        ["core.sshCommand", program],
        ["core.pager", program],
        ["gpg.ssh.program", program],
        ["merge.evil.driver", program],
        ["core.fsmonitor", program],
        ["interactive.diffFilter", program],
    ]
    .map(|pair| pair.map(str::to_owned))
}

const READING: [&[&str]; 24] = [
    &["status"],
    &["list"],
    &["list", "--all"],
    &["show"],
    &["log"],
    &["diff"],
    &["cat", "spec.md"],
    &["doctor"],
    &["fsck"],
    &["fsck", "--full"],
    &["hooks", "status"],
    &["config", "show"],
    &["note", "list"],
    &["signers", "check"],
    &["verify", "main..HEAD"],
    &["verify", "--sessions"],
    &["spec", "list"],
    &["spec", "validate"],
    &["spec", "coverage"],
    &["change", "validate"],
    &["change", "diff"],
    &["adr", "list"],
    &["adr", "check"],
    &["archive", "--dry-run"],
];

#[test]
fn held_111_112_nothing_that_a_repository_names_runs_when_it_is_read() {
    let d = Drive::reviewing();
    let attributes = "* diff=evil merge=evil filter=evil\n";
    d.write(".gitattributes", attributes);
    d.write("src/demo.txt", "edited\n");
    let marker = d.root().join("ran");
    let program = d.root().join("evil");
    d.script(
        &program,
        &format!("#!/bin/sh\necho \"$0\" >>'{}'\nexit 1\n", marker.display()),
    );
    for [key, value] in settings(program.to_str().expect("UTF-8")) {
        d.git(&["config", &key, &value]).ok();
    }
    for args in READING {
        let call = d.call(LOOPX).args(args).env("GIT_CONFIG_COUNT", "0");
        let out = answers(call.run(), &args.join(" "));
        assert!(!marker.exists(), "{args:?}: {out}");
    }
    // git itself would have run it.
    let diff = d.call("git").args(&["diff"]).env("GIT_CONFIG_COUNT", "0");
    drop(diff.run());
    assert!(marker.exists());
    fs::remove_file(&marker).expect("the marker");
    // 112: in a clone of that, nothing of it is left but the attributes.
    drop(d.git(&["commit", "--quiet", "--no-verify", "-am", "x"]));
    let clone = d.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "--branch", "demo", ".", path])
        .ok();
    d.loopx_in(&clone, &["init"]).ok();
    for args in READING {
        let call = d.call(LOOPX).args(args).cwd(&clone);
        let out = answers(call.env("GIT_CONFIG_COUNT", "0").run(), "in a clone");
        assert!(!marker.exists(), "{args:?}: {out}");
    }
}
