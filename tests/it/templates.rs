//! The templates that a person fills: in the language of policy, and with what `plan` proposes.

use crate::support::drive::{DELTA, Drive, codes};

const CHINESE: &str = "[artifacts]\nlanguage = \"zh\"\n";

/// The template with a sentence in each section, each box ticked and each flag set, as a person leaves it.
fn filled(d: &Drive, artifact: &str) {
    let text = d.artifact(artifact);
    assert!(text.contains("例:"), "no example\n{text}");
    let mut out = String::new();
    for line in text.lines() {
        out.push_str(line);
        out.push('\n');
        if line.starts_with("## ") {
            assert!(!line.is_ascii(), "{line}");
            out.push_str("\n- 闲置十分钟的会话必须结束。\n");
        }
    }
    let out = out
        .replace("\n- [ ]", "\n- [x]")
        .replace("_resolved: false", "_resolved: true")
        .replace("_complete: false", "_complete: true")
        .replace("_testable: false", "_testable: true")
        .replace("current_round: 0", "current_round: 1")
        .replace("ambiguity_score: 1.0", "ambiguity_score: 0.1");
    d.edit(artifact, &out);
}

#[test]
fn a_policy_of_chinese_lays_out_chinese_and_every_gate_reads_it() {
    let d = Drive::repository(Some(CHINESE));
    d.does(&["start", "演示", "--id", "demo"]);
    let empty = d.status()["blockers"].to_string();
    assert!(
        empty.contains("nothing stands under `## 期望结果`, `## 非目标`"),
        "{empty}"
    );
    filled(&d, "spec.md");
    d.does(&["clarify"]);
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    for artifact in [
        "plan.md",
        "architecture.md",
        "development-plan.md",
        "test-plan.md",
        "change/proposal.md",
        "change/design.md",
        "change/tasks.md",
    ] {
        filled(&d, artifact);
    }
    d.edit("change/spec-delta.md", DELTA);
    d.does(&["plan"]);
    let slices = d.artifact("change/slices.json");
    d.edit(
        "change/slices.json",
        &slices.replace("\"verification\": []", "\"verification\": [\"true\"]"),
    );
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    d.commit_code("an end\n");
    filled(&d, "execution-record.md");
    d.does(&["run", "--task", "VS-1"]);
    d.does(&["build", "--report", "execution=complete"]);
    d.does(&["build"]);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    assert!(
        d.artifact("review-report.md")
            .starts_with("# demo 的审查\n")
    );
    let out = d
        .loopx(&["review", "--verdict", "changes", "--finding", "high:太慢"])
        .ok();
    assert!(
        out.contains("demo: 要求修改,退回 build (name not proven)\n"),
        "{out}"
    );
    let report = d.artifact("review-report.md");
    for said in [
        "- 结论: request-changes",
        "- 退回: build",
        "- 独立: 否 (author",
        "- 发现: high: 太慢",
    ] {
        assert!(report.contains(said), "{said}\n{report}");
    }
}

#[test]
fn plan_proposes_slices_for_the_scenarios_until_somebody_wrote_some_or_the_critic_spoke() {
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    d.fill_plan();
    d.edit("change/slices.json", "[]\n");
    d.edit("change/spec-delta.md", "# Domain: demo\n");
    // Without a scenario it is what it was: the draft waits for its reviews.
    assert_eq!(d.fails(1, &["plan"]).code, "plan_not_reviewed");
    d.edit("change/spec-delta.md", DELTA);
    let said = d.loopx(&["plan"]).ok();
    assert!(
        said.contains("1 slice proposed in change/slices.json; write the check of each"),
        "{said}"
    );
    let slices: serde_json::Value =
        serde_json::from_str(&d.artifact("change/slices.json")).expect("JSON");
    assert_eq!(slices[0]["id"], "VS-1");
    assert_eq!(slices[0]["scenarios"][0], "demo/Idle sessions end/Idle");
    assert!(codes(&d.status()["blockers"]).contains(&"vertical_slices_invalid".to_owned()));
    // It is proposed once, and what somebody wrote stays.
    assert_eq!(d.fails(1, &["plan"]).code, "plan_not_reviewed");
    d.edit("change/slices.json", "[]\n");
    d.does(&["plan", "--architect", "approve"]);
    d.does(&["plan", "--critic", "iterate"]);
    let next = d.loopx(&["plan"]).ok();
    assert!(next.contains("draft 2 of 5"), "{next}");
}

#[test]
fn a_session_that_takes_a_commit_back_is_written_in_the_language_of_policy() {
    let d = Drive::repository(Some(CHINESE));
    d.commit_file(
        "src/bad.txt",
        "bad\n",
        "Add a bad thing whose name is long and Latin",
    )
    .ok();
    d.does(&["start", "--revert", "HEAD", "--id", "demo"]);
    // No document is left to write before the build, and the gate asks for Chinese.
    for args in [
        &["approve", "--to", "plan"][..],
        &["plan"],
        &["plan", "--architect", "approve"],
        &["plan", "--critic", "approve"],
        &["approve", "--to", "build"],
    ] {
        d.does(args);
    }
    assert!(d.artifact("plan.md").contains("## 方案"));
    assert!(d.artifact("intent.md").starts_with("撤销提交 "));
}
