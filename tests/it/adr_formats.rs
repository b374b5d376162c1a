//! Decision records as other tools and people leave them: log4brains, MADR 2 to 4, adr-tools. The numbers
//! are those of the findings.

use crate::adr::{adr, filled};
use crate::support::Sandbox;

fn repo(files: &[(&str, &str)]) -> Sandbox {
    Sandbox::once(format!("{files:?}"), || {
        let s = Sandbox::new();
        s.write("a.txt", "a\n");
        for (path, text) in files {
            s.write(path, text);
        }
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "records"]).ok();
        s
    })
}

/// The ids of the findings of one severity, with their files.
fn found(s: &Sandbox, severity: &str) -> Vec<String> {
    let json = adr(s, &["check", "--json"]).json();
    let list = json["findings"].as_array().expect("a list").iter();
    let word = |f: &serde_json::Value, key: &str| f[key].as_str().expect(key).to_owned();
    list.filter(|f| f["severity"] == severity)
        .map(|f| format!("{} {}", word(f, "id"), word(f, "file")))
        .collect()
}

const LOG4BRAINS: &str = "# Use Log4brains\n\n- Status: accepted\n- Date: 2020-09-24\n- Tags: doc\n\n\
    ## Context and Problem Statement\n\nWhich?\n\n## Decision Outcome\n\nThis.\n";

#[test]
fn e07_records_that_are_named_by_a_date_are_read() {
    let next = LOG4BRAINS
        .replace("Use Log4brains", "Use markdown")
        .replace(
            "accepted",
            "superseded by [20210113-use-html](20210113-use-html.md)",
        );
    let html = LOG4BRAINS.replace("Use Log4brains", "Use HTML").replace(
        "- Tags: doc\n",
        "- Tags: doc\n\n- Supersedes [20200925-use-markdown](20200925-use-markdown.md)\n",
    );
    let s = repo(&[
        ("docs/adr/20200924-use-log4brains.md", LOG4BRAINS),
        ("docs/adr/20200925-use-markdown.md", &next),
        ("docs/adr/20210113-use-html.md", &html),
        ("docs/adr/2021-02-01-use-log4brains.md", LOG4BRAINS),
        ("docs/adr/README.md", "# Records\n"),
        ("docs/adr/template.md", LOG4BRAINS),
    ]);
    let list = adr(&s, &["list", "--json"]).json();
    let records = list["records"].as_array().expect("records");
    let status: Vec<_> = records.iter().map(|r| r["status"].clone()).collect();
    assert_eq!(
        status,
        ["accepted", "superseded", "accepted", "accepted"],
        "{list}"
    );
    assert_eq!(found(&s, "error"), [""; 0]);
    assert!(
        adr(&s, &["check"])
            .to_string()
            .contains("4 records are in order")
    );
    let said = adr(&s, &["list"]).ok();
    assert!(
        said.contains("20200924") && !said.contains("draft"),
        "{said}"
    );
    adr(&s, &["accept", "20200924-use-log4brains.md"]).ok();
    adr(
        &s,
        &[
            "supersede",
            "20200924-use-log4brains.md",
            "20210113-use-html.md",
        ],
    )
    .ok();
    let old = s.read("docs/adr/20200924-use-log4brains.md");
    assert!(
        old.contains("superseded by [Use HTML](20210113-use-html.md)"),
        "{old}"
    );
    assert_eq!(found(&s, "error"), [""; 0]);
}

#[test]
fn e07_what_looks_like_a_record_and_is_read_as_none_is_a_finding() {
    let s = repo(&[
        (
            "docs/adr/0001-use-x.md",
            "# Use X\n\n## Status\n\nAccepted\n\n## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n",
        ),
        ("docs/adr/use-y.md", LOG4BRAINS),
        ("docs/adr/backend/0002-use-z.md", LOG4BRAINS),
        ("docs/adr/notes.md", "# Notes\n\nOf no form.\n"),
    ]);
    assert_eq!(
        found(&s, "error"),
        [
            "record_unread docs/adr/backend/0002-use-z.md",
            "record_unread docs/adr/use-y.md"
        ]
    );
    let said = adr(&s, &["check"]).fails_with(1).to_string();
    assert!(!said.contains("in order"), "{said}");
    // Where paths.adr names no folder and the records lie in a usual one.
    for (folder, file) in [
        ("doc/adr", "0001-use-x.md"),
        ("docs/decisions", "0001-use-x.md"),
        ("adr", "20200924-x.md"),
    ] {
        let s = repo(&[(&format!("{folder}/{file}"), LOG4BRAINS)]);
        assert_eq!(
            found(&s, "error"),
            [format!("records_elsewhere {folder}/{file}")]
        );
        assert!(
            adr(&s, &["check"])
                .to_string()
                .contains(&format!("adr = \"{folder}\""))
        );
    }
    let s = repo(&[("0001-use-x.md", LOG4BRAINS)]);
    assert_eq!(found(&s, "error"), ["records_elsewhere 0001-use-x.md"]);
    let s = repo(&[("docs/readme.md", "# Nothing\n")]);
    assert_eq!(found(&s, "error"), [""; 0]);
}

#[test]
fn e12_a_madr_record_needs_no_status() {
    let body = "## Context and Problem Statement\n\nWhich?\n\n## Decision Outcome\n\nThis.\n";
    let s = repo(&[
        ("docs/adr/0001-use-a.md", &format!("# Use A\n\n{body}")),
        (
            "docs/adr/0002-use-b.md",
            &format!("---\nparent: Decisions\n---\n# Use B\n\n{body}"),
        ),
        (
            "docs/adr/0003-use-c.md",
            &format!("# Use C\n\n* Status: accepted\n\n{body}"),
        ),
        (
            "docs/adr/0004-use-d.md",
            &format!("---\nstatus: accepted\n---\n# Use D\n\n{body}"),
        ),
        (
            "docs/adr/0005-use-e.md",
            "# Use E\n\n## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n",
        ),
        (
            "docs/adr/0006-use-f.md",
            &format!("---\nstatus: perhaps\n---\n# Use F\n\n{body}"),
        ),
    ]);
    assert_eq!(
        found(&s, "error"),
        [
            "status_unknown docs/adr/0005-use-e.md",
            "status_unknown docs/adr/0006-use-f.md"
        ]
    );
    adr(&s, &["accept", "1"]).ok();
    adr(&s, &["accept", "2"]).ok();
    let list = adr(&s, &["list", "--json"]).json();
    for at in 0..2 {
        assert_eq!(list["records"][at]["status"], "accepted", "{list}");
    }
    assert_eq!(found(&s, "error").len(), 2);
}

#[test]
fn e13_what_a_record_supersedes_stands_until_the_record_is_accepted() {
    let s = crate::adr::with_records();
    adr(&s, &["new", "Use SQLite", "--supersedes", "1"]).ok();
    let before = s.read("docs/adr/0001-use-mysql.md");
    adr(&s, &["promote"]).ok();
    assert_eq!(
        s.read("docs/adr/0001-use-mysql.md"),
        before,
        "still accepted"
    );
    adr(&s, &["check"]).ok();
    // Sections that are still the template's comments are no decision.
    let path = "docs/adr/0003-use-sqlite.md";
    let unfilled = s.read(path);
    adr(&s, &["accept", "3"])
        .fails_with(1)
        .says("expected text below `## Context and Problem Statement`");
    assert_eq!(s.read(path), unfilled);
    s.write(path, filled(&unfilled));
    adr(&s, &["accept", "3"]).ok();
    let old = s.read("docs/adr/0001-use-mysql.md");
    assert!(
        old.contains("Superseded by [3. Use SQLite](0003-use-sqlite.md)"),
        "{old}"
    );
    adr(&s, &["check"]).ok();
}

#[test]
fn e05_after_a_merge_the_branch_that_is_named_keeps_its_numbers() {
    let record = |title: &str, status: &str| {
        format!(
            "# 2. {title}\n\nDate: 2020-01-0{}\n\n## Status\n\n{status}\n\n## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n",
            if status == "Accepted" { 1 } else { 2 }
        )
    };
    let s = repo(&[(
        "docs/adr/0001-use-x.md",
        &record("Use X", "Accepted").replace("# 2.", "# 1."),
    )]);
    s.git(&["switch", "--quiet", "-c", "topic"]).ok();
    // Ours is accepted and older: by these alone it would keep its number.
    s.write("docs/adr/0002-use-ours.md", record("Use ours", "Accepted"));
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "ours"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write(
        "docs/adr/0002-use-theirs.md",
        record("Use theirs", "Proposed"),
    );
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "theirs"]).ok();
    s.git(&["switch", "--quiet", "topic"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    let done = adr(&s, &["renumber", "--fix", "--with", "main", "--json"]).json();
    assert_eq!(done["moves"][0]["old"], "0002-use-ours.md", "{done}");
    assert_eq!(done["moves"].as_array().map(Vec::len), Some(1));
    assert!(s.exists("docs/adr/0002-use-theirs.md") && s.exists("docs/adr/0003-use-ours.md"));
}

const MADR: &str = "---\nstatus: accepted\n---\n# Use x\n\n## Context and Problem Statement\n\nIt is slow.\n\n## Considered Options\n\n* x\n\n## Decision Outcome\n\nx.\n";

/// The words of `adr check` about a folder of records with these files.
fn checked(files: &[(&str, &str)]) -> crate::support::Output {
    let s = repo(files);
    s.loopx(&["adr", "check"])
}

#[test]
fn d05_records_with_another_ending_and_links_are_findings() {
    let adoc = MADR
        .replace("\n#", "\n=")
        .replace("##", "==")
        .replace("=#", "==");
    for (name, text) in [
        ("docs/adr/0001-use-x.markdown", MADR),
        ("docs/adr/0002-use-x.adoc", &adoc),
        ("docs/adr/0003-use-x.MD", MADR),
        ("docs/adr/0004-use-x.txt", MADR),
    ] {
        let stem = name.rsplit_once('.').expect("an ending").0;
        checked(&[(name, text)])
            .fails_with(1)
            .says(name)
            .says(&format!("git mv '{name}' '{stem}.md'"));
    }
    let s = repo(&[("docs/adr/0001-use-x.md", MADR)]);
    std::os::unix::fs::symlink("0001-use-x.md", s.path().join("docs/adr/0002-use-x.md"))
        .expect("a link");
    s.loopx(&["adr", "check"])
        .fails_with(1)
        .says("symbolic link");
}

#[test]
fn d06_a_usual_folder_beside_the_records_is_a_finding() {
    for dir in ["docs/decisions", "doc/adr"] {
        let other = format!("{dir}/0002-use-x.md");
        checked(&[("docs/adr/0001-use-x.md", MADR), (&other, MADR)])
            .fails_with(1)
            .says(&format!(
                "expected all records in docs/adr, found 1 record in {dir}"
            ));
    }
}

#[test]
fn d07_the_hint_for_other_bytes_converts_the_file() {
    let s = repo(&[("docs/adr/0001-use-x.md", MADR)]);
    let path = s.path().join("docs/adr/0001-use-x.md");
    std::fs::write(&path, b"# Caf\xe9\n\n## Decision\n\nx\n").expect("a file");
    s.loopx(&["adr", "check"])
        .says("iconv -f latin1 -t utf-8 'docs/adr/0001-use-x.md' > ");
}

#[test]
fn d08_the_name_of_a_record_that_moves_has_its_own_number() {
    checked(&[("docs/adr/sub/0003-use-x.md", MADR)])
        .fails_with(1)
        .says("git mv 'docs/adr/sub/0003-use-x.md' 'docs/adr/0003-use-x.md'");
    checked(&[
        ("docs/adr/0001-a.md", MADR),
        ("docs/adr/NNNN-use-x.md", MADR),
    ])
    .fails_with(1)
    .says("git mv 'docs/adr/NNNN-use-x.md' 'docs/adr/0002-use-x.md'");
    checked(&[("0001-use-x.md", MADR)])
        .fails_with(1)
        .says("mkdir -p 'docs/adr' && git mv '0001-use-x.md' 'docs/adr/0001-use-x.md'");
}

const NYGARD: &str = "# Use X\n\n## Status\n\nAccepted\n\n## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n";

#[test]
fn w10_a_command_that_is_printed_runs_nothing_that_a_file_name_says() {
    for file in ["docs/adr/it's.md", "docs/adr/a'$(touch pwned)'.md"] {
        let s = repo(&[(file, NYGARD)]);
        adr(&s, &["check"]).fails_with(1);
        led(&s, file);
        assert!(!s.exists("pwned"));
    }
}

#[test]
fn q6_a_record_in_any_place_and_under_any_name_is_a_finding_until_it_is_read() {
    for (file, id) in [
        ("docs/adr/0001-use-x/README.md", "record_unread"),
        ("docs/adr/0001-use-x/index.md", "record_unread"),
        ("docs/adr/0001-use-x.mdx", "record_unread"),
        ("docs/adr/0001-use-x", "record_unread"),
        ("docs/adr/README.md", "record_unread"),
        ("docs/decisions/ADR-1.md", "records_elsewhere"),
        ("docs/decisions/adr-0001.md", "records_elsewhere"),
        ("docs/decisions/0001-use-x/README.md", "records_elsewhere"),
        ("adr/0001-x.adoc", "records_elsewhere"),
        ("docs/ADR/0001-use-x.md", "records_elsewhere"),
        ("ADR/0001-use-x.md", "records_elsewhere"),
        ("ADR-1.md", "records_elsewhere"),
    ] {
        let s = repo(&[(file, NYGARD)]);
        let said = adr(&s, &["check"]).fails_with(1).to_string();
        assert!(!said.contains("in order"), "{file}: {said}");
        assert_eq!(found(&s, "error"), [format!("{id} {file}")]);
        led(&s, file);
    }
    // What is about records is none.
    let s = repo(&[
        ("docs/adr/0001-use-x.md", NYGARD),
        (
            "docs/adr/README.md",
            "# Records\n\n- [Use X](0001-use-x.md)\n",
        ),
        ("docs/adr/adr-template.md", NYGARD),
        ("docs/adr/logo.svg", "<svg/>\n"),
    ]);
    assert_eq!(found(&s, "error"), [""; 0]);
}

/// Follows what the findings print until none is left.
#[track_caller]
fn led(s: &Sandbox, what: &str) {
    for _ in 0..4 {
        let listed = adr(s, &["check", "--json"]).json();
        let findings = listed["findings"].as_array().expect("findings").clone();
        let Some(one) = findings.iter().find(|one| {
            let id = one["id"].as_str().expect("an id");
            id == "record_unread" || id == "records_elsewhere"
        }) else {
            assert_eq!(listed["records"], 1, "{what}: {listed}");
            return;
        };
        let fix = one["fix"].as_str().expect("a fix");
        match fix.strip_prefix("in loopx.toml, below [paths]: ") {
            Some(line) => {
                let (line, then) = line.split_once("  ").expect("what comes then");
                assert!(then.contains("commit"), "{fix}");
                s.write("loopx.toml", format!("[paths]\n{line}\n"));
                s.git(&["add", "loopx.toml"]).ok();
            }
            None => {
                s.call("sh").args(&["-c", fix]).run().ok();
            }
        }
        s.git(&["add", "--all"]).ok();
        s.git(&["commit", "--quiet", "-m", "Move"]).ok();
    }
    panic!("{what}: the fixes lead nowhere");
}

#[test]
fn q7_records_at_the_top_are_moved_by_the_command_that_is_printed() {
    for committed in [true, false] {
        let s = repo(&[("code.txt", "code\n")]);
        s.write("0001-one.md", NYGARD.replace("Use X", "One"));
        s.write("0002-two.md", NYGARD.replace("Use X", "Two"));
        if committed {
            s.git(&["add", "--all"]).ok();
            s.git(&["commit", "--quiet", "-m", "Records"]).ok();
        }
        let listed = adr(&s, &["check", "--json"]).json();
        let fix = listed["findings"][0]["fix"].as_str().expect("a fix");
        assert_eq!(fix.contains("git mv"), committed, "{fix}");
        s.call("sh").args(&["-c", fix]).run().ok();
        adr(&s, &["check"]).says("2 records are in order").ok();
        assert!(!s.exists("0001-one.md") && s.exists("docs/adr/0002-two.md"));
    }
}

#[test]
fn q7_a_folder_may_end_with_a_slash() {
    let s = repo(&[
        ("loopx.toml", "[paths]\nadr = \"docs/decisions/\"\n"),
        ("docs/decisions/0001-use-x.md", NYGARD),
    ]);
    adr(&s, &["check"]).says("1 record is in order").ok();
    adr(&s, &["list"]).says("Use X").ok();
}

#[test]
fn q8_a_record_is_named_without_its_ending() {
    let s = repo(&[
        ("docs/adr/0001-use-x.md", NYGARD),
        ("docs/adr/20220101-third.md", NYGARD),
        (
            "docs/adr/0002-template.md",
            "---\nstatus: \"{proposed | rejected | accepted | deprecated}\"\n---\n# Template\n",
        ),
    ]);
    for word in [
        "0001-use-x",
        "docs/adr/0001-use-x",
        "0001-use-x.md",
        "use-x",
        "1",
    ] {
        adr(&s, &["show", word]).says("Use X").ok();
    }
    for word in [
        "20220101-third",
        "docs/adr/20220101-third",
        "third",
        "20220101",
    ] {
        adr(&s, &["show", word]).ok();
    }
    let listed = adr(&s, &["list"]).ok();
    let at = |title: &str| {
        let line = listed.lines().find(|line| line.contains(title));
        line.expect("a row").find("  -  ").expect("a date")
    };
    assert_eq!(at("Use X"), at("Template"), "{listed}");
}

#[test]
fn q13_a_promoted_decision_that_nobody_wrote_is_to_be_written_first() {
    let s = repo(&[("code.txt", "code\n")]);
    adr(&s, &["new", "Use X"]).ok();
    let said = adr(&s, &["promote"]).ok();
    assert!(
        said.contains("edit it, then: git loopx adr accept 1"),
        "{said}"
    );
}

/// A record of adr-tools with a status and the lines below it.
fn nygard(number: u32, title: &str, status: &str) -> String {
    format!(
        "# {number}. {title}\n\nDate: 2020-01-02\n\n## Status\n\n{status}\n\n## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n"
    )
}

#[test]
fn q25_a_record_is_accepted_in_the_place_of_one_that_stands() {
    let wish = "Proposed\n\nSupersedes [1. One](0001-one.md)";
    let broken = "Proposed\n\nSupersedes [2. Two](0002-two.md)";
    let s = repo(&[
        ("docs/adr/0001-one.md", &nygard(1, "One", "Accepted")),
        ("docs/adr/0003-three.md", &nygard(3, "Three", wish)),
        ("docs/adr/0004-four.md", &nygard(4, "Four", wish)),
        ("docs/adr/0005-five.md", &nygard(5, "Five", broken)),
    ]);
    let said = adr(&s, &["accept", "3"]).ok();
    assert!(
        said.contains("accepted docs/adr/0003-three.md\nsuperseded docs/adr/0001-one.md\n"),
        "{said}"
    );
    let before = s.snapshot("docs");
    adr(&s, &["accept", "4"])
        .fails_with(1)
        .says("docs/adr/0004-four.md:9: supersedes 0001-one.md, which 0003-three.md superseded already")
        .says("git loopx adr supersede 1 4");
    adr(&s, &["accept", "5"])
        .fails_with(1)
        .says("docs/adr/0005-five.md:9: supersedes a record that is not there");
    assert_eq!(s.snapshot("docs"), before);
    // The hint leads on, and the first link stays.
    adr(&s, &["supersede", "1", "4"]).ok();
    adr(&s, &["accept", "4"]).ok();
    let old = s.read("docs/adr/0001-one.md");
    assert!(
        old.contains(
            "Superseded by [3. Three](0003-three.md)\n\nSuperseded by [4. Four](0004-four.md)"
        ),
        "{old}"
    );
    assert_eq!(found(&s, "error"), ["link_broken docs/adr/0005-five.md"]);
}

#[test]
fn q25_a_promotion_is_accepted_in_the_place_of_one_that_stands() {
    let by = "Superseded by [2. Two](0002-two.md)";
    let says = "Accepted\n\nSupersedes [1. One](0001-one.md)";
    let s = repo(&[
        ("docs/adr/0001-one.md", &nygard(1, "One", by)),
        ("docs/adr/0002-two.md", &nygard(2, "Two", says)),
    ]);
    adr(&s, &["new", "Three", "--supersedes", "1"]).ok();
    let draft = "docs/adr/draft-three.md";
    s.write(draft, filled(&s.read(draft)));
    let head = s.git(&["rev-parse", "HEAD"]).line();
    adr(&s, &["promote", "--accept"])
        .fails_with(1)
        .says("supersedes 0001-one.md, which 0002-two.md superseded already");
    assert_eq!(s.git(&["rev-parse", "HEAD"]).line(), head);
    assert!(s.exists(draft));
}

#[test]
fn q25_records_supersede_each_other_in_no_circle() {
    let says = "Accepted\n\nSupersedes [1. One](0001-one.md)";
    let s = repo(&[
        ("docs/adr/0001-one.md", &nygard(1, "One", "Accepted")),
        ("docs/adr/0002-two.md", &nygard(2, "Two", "Accepted")),
        ("docs/adr/0003-three.md", &nygard(3, "Three", says)),
    ]);
    adr(&s, &["supersede", "1", "2"]).ok();
    adr(&s, &["supersede", "2", "3"]).ok();
    let before = s.snapshot("docs");
    adr(&s, &["supersede", "3", "1"])
        .fails_with(1)
        .says("0001-one.md cannot supersede 0003-three.md: 0001-one.md is superseded by")
        .says("git loopx adr new TITLE --supersedes 3");
    assert_eq!(s.snapshot("docs"), before);
    // What a person or another tool wrote is found, once.
    let circle = "Superseded by [2. Two](0002-two.md)\n\nSupersedes [2. Two](0002-two.md)";
    let back = "Superseded by [1. One](0001-one.md)\n\nSupersedes [1. One](0001-one.md)";
    let s = repo(&[
        ("docs/adr/0001-one.md", &nygard(1, "One", circle)),
        ("docs/adr/0002-two.md", &nygard(2, "Two", back)),
    ]);
    assert_eq!(
        found(&s, "error"),
        ["supersede_circle docs/adr/0001-one.md"]
    );
    adr(&s, &["check"]).fails_with(1).says(
        "docs/adr/0001-one.md:7: error supersede_circle: 0001-one.md is superseded by 0002-two.md is superseded by 0001-one.md",
    );
}

#[test]
fn q23_a_link_from_any_committed_text_goes_along() {
    let s = repo(&[
        ("docs/adr/0001-one.md", &nygard(1, "One", "Accepted")),
        ("notes.md", "See [1. One](docs/adr/0001-one.md).\n"),
        ("src/deep/README.md", "[one](../../docs/adr/0001-one.md)\n"),
        // R50-14: a session alone changes a spec.
        ("specs/a/spec.md", "[one](../../docs/adr/0001-one.md)\n"),
    ]);
    let said = adr(&s, &["renumber", "1", "7"]);
    assert!(s.read("specs/a/spec.md").contains("0001-one.md"));
    assert_eq!(s.read("notes.md"), "See [7. One](docs/adr/0007-one.md).\n");
    assert_eq!(
        s.read("src/deep/README.md"),
        "[one](../../docs/adr/0007-one.md)\n"
    );
    crate::support::shell::typed(&s, "docs", &said).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).line(), "");
}
