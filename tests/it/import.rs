//! `import openspec`: a small tree by hand, and the corpus of another project where it is at hand.

use crate::spec_cases::shared;
use crate::support::{LOOPX, Sandbox};
use git_loopx::testing::{Apply, apply};
use loopx_spec::{Finding, read_delta};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const SPEC: &str = "# auth Specification\r\n\r\n## Purpose\r\nWho may come in, and for how long.\r\n\r\n## Requirements\r\n\r\n### Requirement: Timeout\r\nThe system SHALL end an idle session.\r\n\r\n#### Scenario: Idle\r\n- **WHEN** it is idle\r\n- **THEN** it ends\r\n\r\n### Requirement: Logout\r\nThe system SHALL offer to log out.\r\n\r\n#### Scenario: Logout\r\n- **WHEN** a person logs out\r\n- **THEN** the session ends\r\n";
const MODIFY: &str = "# Domain: not an address\n\n## MODIFIED Requirements\n\n### Requirement: Timeout\nThe system SHALL end an idle session after 10 minutes.\n\n#### Scenario: Idle\n- **WHEN** it is idle for 10 minutes\n- **THEN** it ends";
const ADD: &str = "## ADDED Requirements\n\n### Requirement: Audit\nThe system SHALL write down who came in.\n\n#### Scenario: Login\n- **WHEN** a person logs in\n- **THEN** a line is written\n";

/// A repository with an OpenSpec tree: two open changes, one of them without specs, one archived twice.
fn tree() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("README.md", "x\n", "one").ok();
        s.loopx(&["init"]).ok();
        s.write("openspec/config.yaml", "schema: spec-driven\n");
        s.write("openspec/specs/auth/spec.md", SPEC);
        let open = "openspec/changes/Add-timeout";
        s.write(
            format!("{open}/.openspec.yaml"),
            "schema: spec-driven\ncreated: 2025-12-01\ngoal: Sessions must end\n",
        );
        s.write(
            format!("{open}/proposal.md"),
            "# Change: Time out\n\n## Why\n\nThey never end.\n",
        );
        s.write(format!("{open}/design.md"), "## Decision\n\nA clock.\n");
        s.write(
            format!("{open}/tasks.md"),
            "## 1. Do\n- [x] 1.1 it\n- [ ] 1.2 more\n",
        );
        s.write(format!("{open}/notes/why.md"), "```\ncode\n```\n");
        s.write(format!("{open}/sketch.png"), b"\x89PNG\xff\x00");
        s.write(format!("{open}/specs/auth/spec.md"), MODIFY);
        s.write(format!("{open}/specs/log/audit/spec.md"), ADD);
        s.write(
            "openspec/changes/chore/.openspec.yaml",
            "schema: spec-driven\nskip_specs: true\n",
        );
        s.write("openspec/changes/chore/proposal.md", "## Why\n\nTidy.\n");
        for day in ["2025-03-04", "2025-08-09"] {
            let folder = format!("openspec/changes/archive/{day}-log-out");
            s.write(format!("{folder}/proposal.md"), "## Why\n\nTo leave.\n");
            s.write(format!("{folder}/specs/auth/spec.md"), ADD);
        }
        s.write("openspec/changes/ORDER.md", "first this\n");
        s
    })
}

fn change<'a>(report: &'a Value, session: &str) -> &'a Value {
    let changes = report["changes"].as_array().expect("changes");
    changes
        .iter()
        .find(|one| one["session"] == session)
        .unwrap_or_else(|| panic!("no {session} in {report:#}"))
}

/// An artifact as it is on the branch.
fn stored(s: &Sandbox, path: &str) -> Vec<u8> {
    s.git(&["cat-file", "blob", &format!("loopx:{path}")]).bytes
}

#[test]
fn an_import_whose_specs_cannot_be_written_imports_nothing() {
    let s = tree();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    s.call(LOOPX)
        .args(&["import", "openspec"])
        .env("LOOPX_FAILPOINT", "error:file-written:1+")
        .run()
        .fails_with(1)
        .says("specs/auth/spec.md");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    s.loopx(&["import", "openspec"]).ok();
    assert_eq!(s.read("specs/auth/spec.md"), SPEC);
    assert_ne!(s.git(&["rev-parse", "loopx"]).line(), tip);
}

#[test]
fn a_tree_becomes_specs_and_sessions() {
    let s = tree();
    let before = s.snapshot("openspec");
    let report = s.loopx(&["import", "openspec", "--json"]).json();
    assert_eq!(s.snapshot("openspec"), before, "the tree stays as it is");
    assert_eq!(s.read("specs/auth/spec.md"), SPEC);
    assert_eq!(
        s.git(&["log", "--oneline", "main"]).line().lines().count(),
        1
    );

    // Every file is there as it was, the delta of both domains says what it said.
    let id = "add-timeout";
    let folder = "openspec/changes/Add-timeout";
    for (path, _, bytes) in s.snapshot(folder) {
        let path = path.display();
        assert_eq!(stored(&s, &format!("sessions/{id}/imported/{path}")), bytes);
    }
    for name in ["proposal", "design", "tasks"] {
        let kept = stored(&s, &format!("sessions/{id}/change/{name}.md"));
        assert_eq!(kept, s.bytes(format!("{folder}/{name}.md")));
    }
    let delta = stored(&s, &format!("sessions/{id}/change/spec-delta.md"));
    let read = read_delta(&delta, "");
    assert_eq!(read.domains().collect::<Vec<_>>(), ["auth", "log/audit"]);
    assert_eq!(read.findings, Vec::<Finding>::new());
    let text = String::from_utf8(delta).expect("UTF-8");
    assert!(text.contains("# Title: Domain: not an address"), "{text}");
    assert!(text.ends_with(ADD), "{text}");
    let intent = String::from_utf8(stored(&s, &format!("sessions/{id}/intent.md"))).expect("UTF-8");
    assert!(intent.starts_with("Sessions must end\n"), "{intent}");
    assert!(intent.contains("````\n```\ncode\n```\n````"), "{intent}");

    // The record: stage, bases against the imported spec, which is committed nowhere yet.
    let state: Value =
        serde_json::from_slice(&stored(&s, &format!("sessions/{id}/state.json"))).expect("JSON");
    assert_eq!(state["stage"], "clarify");
    assert_eq!(state["started"]["at"], "2025-12-01T00:00:00Z");
    let blob = s.git(&["hash-object", "specs/auth/spec.md"]).line();
    for base in state["bases"].as_array().expect("bases") {
        let of_auth = base["domain"] == "auth";
        assert_eq!(base["blob"] == blob, of_auth, "{base}");
        assert_eq!(base["commit"].is_null(), of_auth, "{base}");
    }
    let log = s.git(&["log", "-1", "--format=%(trailers:key=Loopx-Event)", "loopx"]);
    assert_eq!(log.line(), "Loopx-Event: import");
    s.loopx(&["fsck"]).ok();

    // The report.
    let open = change(&report, id);
    assert_eq!(open["applies"], true);
    assert_eq!(open["domains"], serde_json::json!(["auth", "log/audit"]));
    assert_eq!(
        open["unplaced"],
        serde_json::json!(["notes/why.md", "sketch.png"])
    );
    assert_eq!(change(&report, "chore")["applies"], false);
    assert_eq!(change(&report, "chore")["notes"][0]["code"], "skip_specs");
    assert_eq!(
        report["strays"],
        serde_json::json!(["changes/ORDER.md", "config.yaml"])
    );
    s.loopx(&["-s", id, "status"]).ok();
    s.loopx(&["-s", id, "undo"]).fails_with(5);
}

#[test]
fn archived_changes_keep_their_days_and_names() {
    let s = tree();
    s.loopx(&["import", "openspec"]).ok();
    for (place, day) in [
        ("archive/2025-03/log-out", "2025-03-04"),
        ("archive/2025-08/log-out-2025-08-09", "2025-08-09"),
    ] {
        let state: Value =
            serde_json::from_slice(&stored(&s, &format!("{place}/state.json"))).expect("JSON");
        assert_eq!(state["ending"]["how"], "archived");
        assert_eq!(state["touched"]["at"], format!("{day}T00:00:00Z"));
        let ops = s.git(&["ls-tree", "--name-only", "loopx", &format!("{place}/ops/")]);
        assert_eq!(ops.ok().lines().count(), 2);
    }
    s.loopx(&["list", "--all"]).says("log-out-2025-08-09");
    s.loopx(&["-s", "log-out", "log"]).ok();
    s.loopx(&["-s", "log-out", "archive"]).fails_with(5);
}

#[test]
fn a_second_run_adds_only_what_is_new() {
    let s = tree();
    s.loopx(&["import", "openspec"]).ok();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    // E15: totals, and nothing of what was said before.
    let text = s.loopx(&["import", "openspec"]).to_string();
    let totals: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("changes: "))
        .collect();
    assert!(
        totals.len() == 1 && totals[0].contains("imported before"),
        "{text}"
    );
    assert!(!text.contains(": imported before"), "{text}");
    let again = s.loopx(&["import", "openspec", "--json"]).json();
    let statuses: BTreeSet<&str> = again["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .filter_map(|one| one["status"].as_str())
        .collect();
    assert_eq!(statuses, BTreeSet::from(["already"]));
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    // Archived by OpenSpec since: still one change.
    let open = s.path().join("openspec/changes");
    fs::rename(open.join("chore"), open.join("archive/2026-01-02-chore")).expect("moved");
    s.write("openspec/changes/later/proposal.md", "## Why\n\nMore.\n");
    let third = s.loopx(&["import", "openspec", "--json"]).json();
    assert_eq!(change(&third, "later")["status"], "imported");
    assert_eq!(
        change(&third, "chore")["notes"]
            .as_array()
            .and_then(|n| n.last())
            .expect("a note")["code"],
        "archived_since"
    );
    assert_eq!(
        s.git(&["rev-list", "--count", &format!("{tip}..loopx")])
            .line(),
        "1"
    );
}

#[test]
fn a_name_that_is_taken_is_left_and_said() {
    let s = tree();
    s.loopx(&["start", "Chore", "--no-branch"]).ok();
    let report = s
        .loopx(&["import", "openspec", "--json"])
        .fails_with(1)
        .json();
    assert_eq!(change(&report, "chore")["status"], "taken");
    assert_eq!(change(&report, "add-timeout")["status"], "imported");
}

#[test]
fn nothing_is_written_where_something_stands_in_the_way() {
    let s = tree();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    s.loopx(&["import", "openspec", "--dry-run"])
        .says("would be imported");
    s.loopx(&["import", "openspec", "src"]).fails_with(4);
    s.write("plain/a.md", "a\n");
    s.loopx(&["import", "openspec", "plain"])
        .fails_with(1)
        .says("no OpenSpec tree");
    s.write("specs/auth/spec.md", "# Another\n");
    s.loopx(&["import", "openspec"])
        .fails_with(1)
        .says("specs/auth/spec.md is there with other bytes");
    fs::remove_file(s.path().join("specs/auth/spec.md")).expect("removed");
    s.write("openspec/changes/chore/design.md", b"caf\xe9\n");
    s.loopx(&["import", "openspec"])
        .fails_with(1)
        .says("openspec/changes/chore/design.md:1");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    assert!(!s.exists("specs/auth/spec.md"));

    s.write("openspec/changes/chore/design.md", "fine\n");
    s.loopx(&["import", "openspec", "--specs-only"]).ok();
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    assert_eq!(s.read("specs/auth/spec.md"), SPEC);
}

#[test]
fn links_are_not_followed() {
    let s = tree();
    let changes = s.path().join("openspec/changes");
    fs::rename(changes.join("archive"), s.root().join("elsewhere")).expect("moved");
    symlink(s.root().join("elsewhere"), changes.join("archive")).expect("a link");
    symlink("/etc/passwd", changes.join("chore/design.md")).expect("a link");
    let report = s.loopx(&["import", "openspec", "--json"]).json();
    let strays = report["strays"].to_string();
    assert!(strays.contains("changes/archive\""), "{strays}");
    assert!(strays.contains("changes/chore/design.md"), "{strays}");
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn two_changes_of_one_requirement_are_named() {
    let s = tree();
    let other = MODIFY.replace("10 minutes", "20 minutes");
    s.write("openspec/changes/slow/specs/auth/spec.md", &other);
    let gone = "## MODIFIED Requirements\n\n### Requirement: Time out\nThe system SHALL.\n\n#### Scenario: A\n- **WHEN** a\n- **THEN** b\n";
    s.write("openspec/changes/wrong/specs/auth/spec.md", gone);
    let report = s.loopx(&["import", "openspec", "--json"]).json();
    let overlap = &report["overlaps"][0];
    assert_eq!(overlap["requirement"], "Timeout");
    assert_eq!(
        overlap["changes"],
        serde_json::json!(["Add-timeout", "slow"])
    );
    assert_eq!(overlap["merges"], false);
    let wrong = change(&report, "wrong");
    assert_eq!(wrong["applies"], false);
    assert_eq!(wrong["findings"][0]["requirement"], "Time out");
    assert_eq!(
        wrong["findings"][0]["file"],
        "openspec/changes/wrong/specs/auth/spec.md"
    );
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).expect("copied");
        }
    }
}

/// A spec in pieces: each requirement by its name, and everything else under none.
fn pieces(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut name = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("### Requirement:") {
            name = rest.trim().to_owned();
        } else if line.starts_with("## ") {
            name = String::new();
        }
        found
            .entry(name.clone())
            .or_insert_with(String::new)
            .push_str(line);
    }
    // White space between blocks belongs to neither of them.
    found
        .into_iter()
        .map(|(k, v)| (k, v.trim_end().to_owned()))
        .collect()
}

/// The corpus: everything comes over, and each change that can be archived changes what it names, and
/// no byte besides.
#[test]
fn the_corpus_comes_over_whole() {
    let Some(corpus) = shared().map(|dir| dir.join("corpus/openspec")) else {
        return;
    };
    let s = Sandbox::new();
    s.commit_file("README.md", "x\n", "one").ok();
    s.loopx(&["init"]).ok();
    copy(&corpus, &s.path().join("openspec"));
    let report = s.loopx(&["import", "openspec", "--json"]).json();
    assert_eq!(report["specs"].as_array().map(Vec::len), Some(36));
    let changes = report["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 22);
    assert!(changes.iter().all(|one| one["status"] == "imported"));
    s.loopx(&["fsck"]).says("22 active sessions");
    for (path, _, bytes) in s.snapshot("openspec/specs") {
        assert_eq!(s.bytes(Path::new("specs").join(&path)), bytes);
    }
    let mut applied: Vec<PathBuf> = Vec::new();
    for one in changes {
        let id = one["session"].as_str().expect("an id");
        let folder = s
            .path()
            .join("openspec")
            .join(one["folder"].as_str().expect("a folder"));
        for (path, _, bytes) in s.snapshot(&folder) {
            let kept = stored(&s, &format!("sessions/{id}/imported/{}", path.display()));
            assert_eq!(kept, bytes, "{id}: {}", path.display());
        }
        if one["domains"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        // Once from the folder, once from the session's own delta: the same verdict, the same bytes.
        let delta = stored(&s, &format!("sessions/{id}/change/spec-delta.md"));
        let pack = s.root().join("pack").join(id);
        fs::create_dir_all(&pack).expect("a folder");
        fs::write(pack.join("spec-delta.md"), &delta).expect("written");
        fs::copy(folder.join("proposal.md"), pack.join("proposal.md")).expect("copied");
        let mut results = Vec::new();
        for (name, from) in [("folder", &folder), ("session", &pack)] {
            let scratch = s.root().join("scratch").join(id).join(name);
            copy(&corpus.join("specs"), &scratch);
            let verdict = apply(&Apply {
                delta: from.clone(),
                specs: scratch.clone(),
                base: None,
                retire: false,
            })
            .expect("a verdict");
            assert_eq!(verdict.refusal().is_none(), one["applies"] == true, "{id}");
            results.push(s.snapshot(&scratch));
        }
        assert_eq!(
            results[0], results[1],
            "{id}: the joined delta does the same"
        );
        if one["applies"] != true {
            continue;
        }
        applied.push(pack);
        let read = read_delta(&delta, "");
        let before = s.snapshot(corpus.join("specs"));
        for (path, _, bytes) in &results[0] {
            let domain = path.parent().expect("a domain").to_str().expect("UTF-8");
            let was = before.iter().find(|(p, ..)| p == path).map(|(.., b)| b);
            let Some(delta) = read
                .domains
                .iter()
                .find(|d| d.domain.as_deref() == Some(domain))
            else {
                assert_eq!(Some(bytes), was, "{id}: {domain} is not named");
                continue;
            };
            let touched: BTreeSet<&str> = delta
                .operations
                .iter()
                .flat_map(|op| [Some(op.name.as_str()), op.to.as_deref()])
                .flatten()
                .collect();
            let Some(was) = was else { continue };
            let (was, is) = (String::from_utf8_lossy(was), String::from_utf8_lossy(bytes));
            let is = pieces(&is);
            for (name, text) in pieces(&was) {
                if touched.contains(name.as_str()) || (name.is_empty() && delta.purpose.is_some()) {
                    continue;
                }
                assert_eq!(is.get(&name), Some(&text), "{id}: {domain}: {name}");
            }
        }
    }
    assert_eq!(applied.len(), 16);
    // One after the other, each from the base that it was written against: the order does not matter.
    let mut ends = Vec::new();
    for name in ["forward", "backward"] {
        let scratch = s.root().join(name);
        copy(&corpus.join("specs"), &scratch);
        for delta in &applied {
            let verdict = apply(&Apply {
                delta: delta.clone(),
                specs: scratch.clone(),
                base: Some(corpus.join("specs")),
                retire: false,
            })
            .expect("a verdict");
            assert_eq!(verdict.refusal(), None, "{name}: {}", delta.display());
        }
        ends.push(s.snapshot(&scratch));
        applied.reverse();
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn what_an_import_writes_itself_is_in_the_language_of_policy() {
    let s = tree();
    let policy = "[artifacts]\nlanguage = \"zh\"\n";
    s.commit_file("loopx.toml", policy, "policy").ok();
    s.loopx(&["import", "openspec"]).ok();
    let cat = |name: &str| s.loopx(&["-s", "add-timeout", "cat", name]).ok();
    let intent = cat("intent.md");
    assert!(
        intent.contains("从 OpenSpec 导入:`changes/Add-timeout`,创建于 2025-12-01。"),
        "{intent}"
    );
    assert!(
        intent.contains("原样保存在会话的 `imported/sketch.png` 中。"),
        "{intent}"
    );
    assert!(cat("spec.md").contains("## 期望结果"));
    // What is theirs stays byte for byte.
    assert_eq!(
        cat("change/proposal.md"),
        "# Change: Time out\n\n## Why\n\nThey never end.\n"
    );
}
