//! `rule`: documents of rules are read, added to, checked, taken over, and stand on cards with the ids of their contents.

use crate::support::Sandbox;
use crate::support::shell::typed;
use serde_json::{Value, json};
use std::fs;

const CONVENTIONS: &str = "docs/rules/coding-conventions.md";

fn document(fields: &str, body: &str) -> String {
    format!("---\n{fields}\n---\n\n{body}")
}

/// A repository with documents of each category.
fn shelved() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        for (path, fields, body) in [
            ("a.md", "title: A\npriority: low", "- a\n"),
            (
                "plan.md",
                "title: Plan\ncategory: planning\nreadMode: required",
                "- p\n",
            ),
            (
                "sub/db.md",
                "title: Db\ncategory: execution\nkeywords: [sql]\napplies_to: [db/**]",
                "- d\n",
            ),
            (
                "must.md",
                "title: Must\nreadMode: required\npriority: high",
                "- m\n",
            ),
        ] {
            s.write(format!("docs/rules/{path}"), document(fields, body));
        }
        s.write("db/one.sql", "select 1;\n");
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "rules"]).ok();
        s
    })
}

fn paths(document: &Value) -> Vec<String> {
    let all = document["documents"].as_array().expect("documents");
    let path = |one: &Value| {
        one["path"]
            .as_str()
            .expect("a path")
            .replace("docs/rules/", "")
    };
    all.iter().map(path).collect()
}

fn loaded(s: &Sandbox, args: &[&str]) -> Vec<String> {
    paths(&s.document(0, &[&["rule", "load"], args].concat()))
}

#[test]
fn s02_load_gives_what_applies_required_first_then_priority_then_path() {
    let s = shelved();
    for (args, wanted) in [
        (&[][..], &["must.md", "plan.md", "sub/db.md", "a.md"][..]),
        (&["--stage", "build"], &["must.md", "sub/db.md", "a.md"]),
        (&["--stage", "plan"], &["must.md", "plan.md", "a.md"]),
        (&["--category", "planning"], &["must.md", "plan.md", "a.md"]),
        (
            &["--stage", "build", "--path", "src/x.rs"],
            &["must.md", "a.md"],
        ),
        (
            &["--stage", "build", "--path", "./db/"],
            &["must.md", "sub/db.md", "a.md"],
        ),
        (&["--keyword", "SQL"], &["must.md", "plan.md", "sub/db.md"]),
    ] {
        assert_eq!(loaded(&s, args), wanted, "{args:?}");
    }
    // A path is typed from the folder that somebody is in.
    let below = s.loopx_in(
        s.path().join("db"),
        &[
            "rule", "load", "--json", "--stage", "build", "--path", "one.sql",
        ],
    );
    assert_eq!(paths(&below.json()), ["must.md", "sub/db.md", "a.md"]);
    let text = s.loopx(&["rule", "load", "--category", "general"]).ok();
    let blob = s.git(&["rev-parse", "HEAD:docs/rules/must.md"]).line();
    assert!(
        text.starts_with(&format!(
            "<!-- docs/rules/must.md ({}) -->\n---\ntitle: Must\n",
            &blob[..10]
        )),
        "{text}"
    );
    let unknown = s.error(2, &["rule", "load", "--category", "plannin"]);
    assert_eq!(unknown["code"], "category_unknown");
    assert_eq!(unknown["help"], "git loopx rule list --category planning");
}

#[test]
fn s02_what_does_not_fit_into_the_budget_is_named() {
    let s = shelved();
    let all = s.document(0, &["rule", "load"]);
    let first = all["documents"][0]["bytes"]
        .as_u64()
        .expect("bytes")
        .to_string();
    let cut = s.document(0, &["rule", "load", "--budget", &first]);
    assert_eq!(paths(&cut), ["must.md"]);
    assert_eq!(cut["left_out"].as_array().map(Vec::len), Some(3));
    s.loopx(&["rule", "load", "--budget", &first])
        .says("docs/rules/plan.md does not fit: ")
        .ok();
    s.commit_file("loopx.toml", "[rules]\nbudget = 10\n", "budget")
        .ok();
    assert_eq!(loaded(&s, &[]), Vec::<String>::new());
    s.commit_file("loopx.toml", "[rules]\nbudget = 0\n", "budget")
        .ok();
    assert_eq!(loaded(&s, &[]).len(), 4);
}

#[test]
fn documents_are_read_from_the_worktree_a_commit_or_a_bare_repository() {
    let s = shelved();
    s.write("docs/rules/new.md", "- n\n");
    assert_eq!(loaded(&s, &[]).len(), 5);
    assert_eq!(loaded(&s, &["--at", "HEAD"]).len(), 4);
    assert_eq!(
        s.error(4, &["rule", "load", "--at", "nowhere"])["code"],
        "revision_unknown"
    );
    s.git(&["clone", "--quiet", "--bare", ".", "../bare"]).ok();
    let bare = s.loopx_in("../bare", &["rule", "load", "--json"]).json();
    assert_eq!(paths(&bare).len(), 4);
    s.loopx_in("../bare", &["rule", "add", "X"])
        .fails_with(2)
        .says("worktree");
    let s = Sandbox::new();
    s.loopx(&["rule", "list"])
        .says("no rules in docs/rules")
        .ok();
    assert_eq!(s.document(0, &["rule", "list"])["total"], 0);
}

/// Design 12: the folder and the categories are the team's.
#[test]
fn policy_says_where_rules_are_and_which_categories_there_are() {
    let s = Sandbox::new();
    s.commit_file(
        "loopx.toml",
        "[paths]\nrules = \"handbook\"\n[rules]\ncategories = [\"security\"]\n",
        "policy",
    )
    .ok();
    let added = s.document(
        0,
        &[
            "rule",
            "add",
            "No secret in code",
            "--category",
            "security",
            "--kind",
            "constraint",
        ],
    );
    assert_eq!(added["added"]["path"], "handbook/security-constraints.md");
    assert_eq!(
        loaded(&s, &["--stage", "clarify"]),
        ["handbook/security-constraints.md"]
    );
    s.write("loopx.toml", "[rules]\ncategories = [\"../x\"]\n");
    s.git(&["commit", "--quiet", "-am", "bad"]).ok();
    s.loopx(&["rule", "list"])
        .fails_with(2)
        .says("loopx.toml at HEAD:2");
}

#[test]
fn s03_add_puts_a_rule_into_the_document_of_its_kind_and_category() {
    let s = Sandbox::new();
    s.commit_file("README.md", "x\n", "first").ok();
    for (args, path) in [
        (&["Log with one logger"][..], "coding-conventions.md"),
        (
            &["No network in core", "--kind", "constraint"],
            "architecture-constraints.md",
        ),
        (
            &["Each bug has a test", "--kind", "quality"],
            "quality-rules.md",
        ),
        (
            &["Retries hide faults", "--kind", "learning"],
            "learnings.md",
        ),
        (
            &["Name tables in plural", "--category", "planning"],
            "planning-conventions.md",
        ),
    ] {
        let added = s.document(0, &[&["rule", "add"], args].concat());
        assert_eq!(added["added"]["path"], format!("docs/rules/{path}"));
        assert_eq!(added["added"]["created"], true);
    }
    s.loopx(&["rule", "add", "  Use\n UTC  everywhere "])
        .says("coding-conventions.md:12: Use UTC everywhere")
        .ok();
    assert_eq!(
        s.read(CONVENTIONS),
        "---\ntitle: Coding conventions\ncategory: general\nkeywords: [convention, general]\nreadMode: required\n\
         priority: high\n---\n\n# Coding conventions\n\n- Log with one logger\n- Use UTC everywhere\n"
    );
    let learned = s.read("docs/rules/learnings.md");
    assert!(
        learned.ends_with("- Retries hide faults (2026-01-01)\n"),
        "{learned}"
    );
    s.loopx(&["rule", "check", "--strict"])
        .says("5 documents: 0 errors, 0 warnings")
        .ok();
    assert_eq!(s.document(0, &["rule", "list"])["total"], 5);
    s.loopx(&["rule", "list", "--category", "planning"])
        .says("planning-conventions.md")
        .ok();
}

#[test]
fn s03_a_rule_that_stands_somewhere_is_not_written_again() {
    let s = Sandbox::new();
    s.loopx(&["rule", "add", "Use `one` logger"]).ok();
    let before = s.read(CONVENTIONS);
    for text in [
        "use one  logger.",
        "[general] Use one logger",
        "- Use one logger",
    ] {
        let known = s.error(5, &["rule", "add", "--kind", "quality", "--", text]);
        assert_eq!(known["code"], "rule_known", "{text}");
        assert_eq!(known["help"], format!("git loopx rule show {CONVENTIONS}"));
    }
    assert_eq!(s.read(CONVENTIONS), before);
    assert!(!s.path().join("docs/rules/quality-rules.md").exists());
}

#[test]
fn s03_a_word_outside_its_list_stops_and_nothing_is_written() {
    let s = Sandbox::new();
    for (args, code) in [
        (&["X", "--category", "architecture"][..], "category_unknown"),
        (&["X", "--category", "../../etc/x"], "category_unknown"),
        (&["X", "--to", "../../x.md"], "rule_document_unknown"),
        (&["  "], "rule_invalid"),
        (&["# X"], "rule_invalid"),
        (&["<!-- X -->"], "rule_invalid"),
        (&["a\u{1b}[31mb"], "rule_invalid"),
        (&["do \u{202e}ton\u{202c} log"], "rule_invalid"),
        (&["log in with AKIAQ7ZPL2MNB4KTR8WX"], "rule_invalid"),
    ] {
        let exit = if code == "rule_document_unknown" {
            4
        } else {
            2
        };
        assert_eq!(
            s.error(exit, &[&["rule", "add"], args].concat())["code"],
            code,
            "{args:?}"
        );
    }
    s.loopx(&["rule", "add", "X", "--kind", "law"])
        .fails_with(2);
    assert!(!s.path().join("docs").exists());
    s.loopx(&["rule", "add", "X", "--dry-run"])
        .says("+- X")
        .ok();
    assert!(!s.path().join("docs").exists());
}

#[test]
fn a_rule_is_added_to_a_named_document_and_every_other_byte_stays() {
    let s = Sandbox::new();
    let text = "# House\r\n\r\n1) One\r\n2) Two\r\n\r\nText after it.\r\n";
    s.write("docs/rules/house.md", text);
    let added = s.document(0, &["rule", "add", "Three", "--to", "House"]);
    assert_eq!(
        (&added["added"]["line"], &added["added"]["created"]),
        (&json!(5), &json!(false))
    );
    assert_eq!(
        s.read("docs/rules/house.md"),
        text.replace("Two\r\n", "Two\r\n3) Three\r\n")
    );
    s.write("docs/rules/sub/house.md", "- x\n");
    s.write("docs/rules/one/yard.md", "- y\n");
    s.write("docs/rules/two/yard.md", "- z\n");
    let two = s.error(2, &["rule", "add", "Four", "--to", "yard"]);
    assert_eq!(two["code"], "rule_document_ambiguous");
    let near = s.error(4, &["rule", "show", "hose"]);
    assert_eq!(near["help"], "git loopx rule show house");
    assert_eq!(
        s.loopx(&["rule", "show", "docs/rules/sub/house.md"]).ok(),
        "- x\n"
    );
}

/// A writer who adds at once with others takes away nothing that they wrote.
#[test]
fn eight_writers_add_eight_rules() {
    let s = Sandbox::new();
    std::thread::scope(|scope| {
        for nth in 0..8 {
            let s = &s;
            scope.spawn(move || {
                s.loopx(&["rule", "add", &format!("Rule number {nth}")])
                    .ok()
            });
        }
    });
    let shown = s.document(0, &["rule", "show", "coding-conventions"]);
    assert_eq!(shown["document"]["rules"].as_array().map(Vec::len), Some(8));
}

#[test]
fn personal_rules_are_kept_at_home_and_shown_as_personal() {
    let s = shelved();
    let added = s.document(0, &["rule", "add", "Explain in short words", "--personal"]);
    assert_eq!(
        added["added"]["path"],
        "~/.config/loopx/rules/coding-conventions.md"
    );
    let own = s
        .path()
        .join("../home/.config/loopx/rules/coding-conventions.md");
    assert!(
        fs::read_to_string(own)
            .expect("written")
            .ends_with("- Explain in short words\n")
    );
    s.loopx(&["rule", "list", "--personal"])
        .says("~/.config/loopx/rules/coding-conventions.md  general, required, high, personal")
        .ok();
    let all = s.document(0, &["rule", "load", "--category", "planning"]);
    let origins: Vec<&Value> = all["documents"]
        .as_array()
        .expect("all")
        .iter()
        .map(|one| &one["origin"])
        .collect();
    assert_eq!(origins, ["project", "personal", "project", "project"]);
    // What everybody has nobody needs for himself; what somebody has for himself says nothing to the others.
    assert_eq!(
        s.error(5, &["rule", "add", "M.", "--personal"])["code"],
        "rule_known"
    );
    s.loopx(&["rule", "add", "Explain in short words"]).ok();
    let homeless = s
        .call(crate::support::LOOPX)
        .args(&["rule", "add", "X", "--personal", "--json"])
        .env("HOME", "")
        .env("XDG_CONFIG_HOME", "")
        .run();
    homeless.fails_with(2).says("home_unknown");
}

/// The reference's faults: code in front matter is never more than text, and nothing leads out of the repository.
#[test]
fn code_in_front_matter_is_a_finding_and_links_are_not_followed() {
    let s = Sandbox::new();
    s.write(
        "docs/rules/evil.md",
        document(
            "title: !!python/object/apply:os.system [\"touch pwned\"]",
            "- e\n",
        ),
    );
    s.write(
        "docs/rules/anchor.md",
        document("title: &a x\nkeywords: [*a]", "- f\n"),
    );
    s.write("docs/rules/binary.md", b"- \xff\n");
    s.write("../secret.md", "- secret\n");
    std::os::unix::fs::symlink("../../../secret.md", s.path().join("docs/rules/link.md"))
        .expect("a link");
    std::os::unix::fs::symlink("../..", s.path().join("docs/rules/loop")).expect("a link");
    let checked = s.document(1, &["rule", "check"]);
    let found: Vec<String> = checked["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| {
            format!(
                "{} {}",
                one["file"].as_str().unwrap_or("?"),
                one["id"].as_str().unwrap_or("?")
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "docs/rules/anchor.md rule_front_matter",
            "docs/rules/binary.md rule_unreadable",
            "docs/rules/evil.md rule_front_matter",
            "docs/rules/link.md rule_unreadable",
        ]
    );
    // A slip switches no rule off: what cannot be read counts as required.
    let text = s
        .loopx(&["rule", "load", "--stage", "done", "--path", "x"])
        .says("binary.md is not read")
        .ok();
    assert!(
        text.contains("- e\n") && text.contains("- f") && !text.contains("secret"),
        "{text}"
    );
    assert!(!s.path().join("pwned").exists());
    s.loopx(&["rule", "show", "link.md"])
        .fails_with(1)
        .says("cannot be read");
    let elsewhere = Sandbox::new();
    fs::create_dir_all(elsewhere.path().join("../outside")).expect("a folder");
    fs::create_dir_all(elsewhere.path().join("docs")).expect("a folder");
    std::os::unix::fs::symlink("../../outside", elsewhere.path().join("docs/rules"))
        .expect("a link");
    assert_eq!(
        elsewhere.error(1, &["rule", "add", "X"])["code"],
        "symlink_refused"
    );
    assert_eq!(
        elsewhere.error(1, &["rule", "init"])["code"],
        "symlink_refused"
    );
    assert_eq!(
        fs::read_dir(elsewhere.path().join("../outside"))
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn check_finds_each_fault_with_its_line() {
    let s = Sandbox::new();
    s.write(
        "docs/rules/a.md",
        document("title: T\ncategory: nonsense", "- One\n"),
    );
    s.write(
        "docs/rules/b.md",
        document(
            "title: T\nreadMode: required\npriority: low\napplies_to: [gone/**]",
            "- one.\n",
        ),
    );
    s.commit_file("loopx.toml", "[rules]\nbudget = 60\n", "budget")
        .ok();
    insta::assert_snapshot!(s.loopx(&["rule", "check"]).steady(), @"
    $ git-loopx rule check
    docs/rules/a.md:3: error rule_category_unknown: expected one of the categories general, exploration, planning, execution, found `nonsense`
    docs/rules/b.md:0: warning rule_over_budget: it has 80 bytes, and the budget is 60: it is given to nobody
    docs/rules/b.md:1: warning rule_contradiction: `readMode: required` says that everybody reads it, `priority: low` that it comes last
    docs/rules/b.md:1: warning rule_contradiction: it has the title of docs/rules/a.md, which is general, optional, and is general, required itself
    docs/rules/b.md:5: warning rule_dead_path: `gone/**` matches no file of the repository
    docs/rules/b.md:8: warning rule_duplicate: `one.` stands in docs/rules/a.md:6 already
    2 documents: 1 error, 5 warnings
    --- exit 1
    ");
    s.write("docs/rules/a.md", "- two\n");
    s.write("docs/rules/b.md", "# Empty\n");
    s.loopx(&["rule", "check"]).ok();
    let checked = s.document(0, &["rule", "check", "--strict"]);
    assert_eq!(checked["findings"][0]["id"], "rule_empty");
    let codes = s.loopx(&["help", "codes"]).ok();
    assert!(codes.contains("rule_dead_path"));
}

#[test]
fn init_lays_out_documents_and_overwrites_none() {
    let s = Sandbox::new();
    s.write("docs/rules/glossary.md", "- **session**: one change\n");
    let dry = s.document(0, &["rule", "init", "--dry-run"]);
    assert_eq!(
        dry["written"],
        json!([
            "docs/rules/domain/overview.md",
            "docs/rules/triage-labels.md"
        ])
    );
    assert!(!s.path().join("docs/rules/domain").exists());
    let laid = s.document(
        0,
        &[
            "rule",
            "init",
            "--domain",
            "payments",
            "--domain",
            "auth/session",
        ],
    );
    assert_eq!(laid["kept"], json!(["docs/rules/glossary.md"]));
    assert_eq!(
        s.read("docs/rules/glossary.md"),
        "- **session**: one change\n"
    );
    for path in [
        "domain/payments.md",
        "domain/auth/session.md",
        "triage-labels.md",
    ] {
        assert!(
            s.path().join(format!("docs/rules/{path}")).exists(),
            "{path}"
        );
    }
    // What has no word in it is given to nobody.
    assert_eq!(loaded(&s, &[]), ["glossary.md"]);
    s.loopx(&["rule", "check"]).ok();
    let again = s.error(5, &["rule", "init", "--domain", "payments"]);
    assert_eq!(again["code"], "rules_laid_out");
    assert_eq!(
        s.error(2, &["rule", "init", "--domain", "../x"])["code"],
        "domain_invalid"
    );
}

#[test]
fn facts_are_read_from_the_tree_and_nothing_is_run() {
    let s = Sandbox::new();
    s.loopx(&["rule", "facts"]).says("no commit yet").ok();
    for (path, text) in [
        ("Cargo.toml", "[package]\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("Makefile", "test: $(shell touch pwned)\n\ttouch pwned\n"),
        (
            "package.json",
            "{\"scripts\": {\"lint\": \"touch pwned\", \"test\": \"x\"}}",
        ),
        ("pnpm-lock.yaml", ""),
        ("README.md", "x\n"),
    ] {
        s.write(path, text);
    }
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "all"]).ok();
    s.write("main.go", "not committed\n");
    let found = s.document(0, &["rule", "facts"]);
    assert_eq!(found["tree"], s.git(&["rev-parse", "HEAD^{tree}"]).line());
    assert_eq!(found["languages"], json!([{ "name": "Rust", "files": 1 }]));
    assert_eq!(found["documents"], json!(["README.md"]));
    let text = s.loopx(&["rule", "facts"]).ok();
    assert_eq!(
        text,
        "languages   Rust  1 file\n\
         build       cargo build  (Cargo.toml)\n\
         test        cargo test  (Cargo.toml)\n            make test  (Makefile)\n            pnpm run test  (package.json)\n\
         lint        pnpm run lint  (package.json)\n\
         manifests   Cargo.toml\n            Makefile\n            package.json\n\
         read first  README.md\n"
    );
    assert!(!s.path().join("pwned").exists());
}

#[test]
fn s06_documents_and_guidelines_of_another_tool_are_taken_over_once() {
    let s = Sandbox::new();
    s.loopx(&["rule", "add", "Use one logger"]).ok();
    s.write(
        ".workflow/specs/coding-conventions.md",
        "---\ntitle: Coding\ndimension: specs\ncategory: general\nkeywords: [general]\nscope: project\n---\n\n\
         - [general] Use one logger\n- [general] Use UTC\n",
    );
    s.write(
        ".workflow/specs/Architecture.md",
        "---\ntitle: Architecture\ncategory: planning\nreadMode: required\npriority: high\n---\n\n# A\n\n- Layers point down\n",
    );
    s.write(
        ".workflow/project-guidelines.json",
        "{\"conventions\": {\"coding_style\": [\"use utc\", \"Two spaces\"]}, \"constraints\": {\"security\": [\"No secrets\"]}, \
          \"quality_rules\": [{\"rule\": \"Tests first\", \"enforced_by\": \"ci\"}], \"learnings\": [], \"_metadata\": {}}",
    );
    let dry = s.document(0, &["rule", "import", "--dry-run"]);
    assert_eq!(dry["documents"].as_array().map(Vec::len), Some(4));
    assert!(!s.path().join("docs/rules/architecture.md").exists());
    let report = s.document(0, &["rule", "import"]);
    assert_eq!(report["known"], 2);
    let conventions = s.read(CONVENTIONS);
    assert!(
        conventions.ends_with("- Use one logger\n- [general] Use UTC\n- Two spaces\n"),
        "{conventions}"
    );
    assert!(
        s.read("docs/rules/architecture.md")
            .ends_with("---\n\n# A\n\n- Layers point down\n")
    );
    assert!(
        s.read("docs/rules/architecture-constraints.md")
            .ends_with("- No secrets\n")
    );
    assert!(
        s.read("docs/rules/quality-rules.md")
            .ends_with("- Tests first (enforced by: ci)\n")
    );
    s.loopx(&["rule", "check", "--strict"]).ok();
    s.git(&["add", "."]).ok();
    assert_eq!(
        s.error(5, &["rule", "import"])["code"],
        "rules_imported_already"
    );
    assert_eq!(s.git(&["diff", "--name-only"]).ok(), "");
    assert_eq!(
        s.error(4, &["rule", "import", "nowhere"])["code"],
        "file_not_found"
    );
}

/// Links that a repository brings can lead anywhere: to a key of whoever imports.
#[test]
fn an_import_follows_no_link_out_of_the_repository() {
    let s = Sandbox::new();
    s.write("../elsewhere/key.md", "- SECRET\n");
    s.write(
        "../elsewhere/guidelines.json",
        "{\"learnings\": [\"SECRET\"]}",
    );
    s.write(".workflow/specs/own.md", "- Own\n");
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(s.root().join("elsewhere").join(to), s.path().join(from))
            .expect("a link");
    };
    link(".workflow/specs/evil.md", "key.md");
    link(".workflow/project-guidelines.json", "guidelines.json");
    let report = s.document(0, &["rule", "import"]);
    let passed: Vec<&str> = report["passed_over"]
        .as_array()
        .expect("what was passed over")
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert_eq!(
        passed,
        [
            ".workflow/specs/evil.md",
            ".workflow/project-guidelines.json"
        ]
    );
    assert!(s.exists("docs/rules/own.md") && !s.exists("docs/rules/evil.md"));
    let found = s.git(&["grep", "--untracked", "-l", "SECRET", "--", "docs"]);
    assert_eq!(found.stdout, "");
    std::fs::remove_dir_all(s.path().join(".workflow/specs")).expect("removed");
    link(".workflow/specs", "");
    let refused = s.error(1, &["rule", "import"]);
    assert_eq!(refused["code"], "symlink_refused");
}

#[test]
fn m4_a_document_whose_front_matter_is_code_is_passed_over_with_a_warning() {
    let s = Sandbox::new();
    s.write(
        ".workflow/specs/js.md",
        "---js\nprocess.exit(1)\n---\n\n- Run me\n",
    );
    s.write(
        ".workflow/specs/own.md",
        "---\ntitle: Own\npriority: critical\n---\n\n- Own\n",
    );
    s.loopx(&["rule", "import"])
        .says(".workflow/specs/js.md: left where it is: its front matter is code")
        .ok();
    assert!(!s.exists("docs/rules/js.md"));
    assert!(s.read("docs/rules/own.md").contains("priority: high"));
}

/// Names that differ in letter case alone are one document here.
#[test]
fn no_rule_is_lost_where_two_documents_get_one_name() {
    let s = Sandbox::new();
    s.write("old/Style.md", "- One\n");
    s.write("old/style.md", "- Two\n");
    // A file system may fold letter case: then there is one from the start.
    let wanted = match s.read("old/Style.md").as_str() {
        "- One\n" => "- One\n- Two\n",
        _ => "---\n- Two\n",
    };
    s.loopx(&["rule", "import", "old"]).ok();
    let text = s.read("docs/rules/style.md");
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn an_import_with_a_fault_brings_nothing() {
    let s = Sandbox::new();
    s.write(".workflow/specs/a.md", "- sound\n");
    s.write(
        ".workflow/specs/b.md",
        "---\ncategory: architecture\n---\n- b\n",
    );
    s.write(".workflow/specs/c.md", "---\ntitle: x\n- c\n");
    let refused = s.error(1, &["rule", "import"]);
    assert_eq!(refused["code"], "rule_import_invalid");
    assert_eq!(refused["blockers"].as_array().map(Vec::len), Some(2));
    assert!(!s.path().join("docs").exists());
    s.commit_file(
        "loopx.toml",
        "[rules]\ncategories = [\"architecture\"]\n",
        "policy",
    )
    .ok();
    s.write(".workflow/specs/c.md", "- c\n");
    s.loopx(&["rule", "import"]).ok();
    assert_eq!(s.document(0, &["rule", "list"])["total"], 3);
}

#[test]
fn a_rule_with_a_word_that_the_glossary_says_to_avoid_is_found_at_its_line() {
    let s = Sandbox::new();
    s.write(
        "docs/rules/glossary.md",
        "---\ntitle: Glossary\n---\n# Glossary\n\n## Avoid\n\n- purchase: say order\n<!-- - rule: none -->\n",
    );
    s.write(
        "docs/rules/coding-conventions.md",
        "# Coding\n\n- A rule about orders\n- Each Purchase has a number\n",
    );
    let out = s.loopx(&["--json", "rule", "check"]).json();
    let found = out["findings"].as_array().expect("findings").iter();
    let found: Vec<(&str, &serde_json::Value)> = found
        .map(|one| (one["id"].as_str().expect("an id"), &one["line"]))
        .collect();
    assert_eq!(found, [("rule_word_avoided", &json!(4))]);
    s.loopx(&["rule", "check", "--strict"]).fails_with(1);
}

#[test]
fn a_rule_that_was_added_is_committed_by_what_is_said_from_whatever_folder() {
    let s = shelved();
    let out = s.loopx_in(
        s.path().join("db"),
        &["rule", "add", "No selects", "--to", "sub/new.md"],
    );
    typed(&s, "db", &out).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).line(), "");
}

#[test]
fn a_link_in_place_of_a_folder_of_another_tool_leads_no_import_out() {
    let s = Sandbox::new();
    s.write("../elsewhere/project-tech.json", "{\"secret\": \"SECRET\"}");
    let link = s.path().join(".workflow");
    std::os::unix::fs::symlink(s.root().join("elsewhere"), link).expect("a link");
    for args in [&["rule", "import"][..], &["import", "ccw"]] {
        let error = s.error(1, args);
        assert_eq!(error["code"], "symlink_refused", "{error:#}");
        assert!(error["help"].to_string().contains("import"), "{error:#}");
    }
    assert_eq!(s.git(&["status", "--porcelain", "docs"]).ok(), "");
}
