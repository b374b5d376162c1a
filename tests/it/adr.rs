//! `git loopx adr`: decision records with real repositories.

use crate::support::shell::typed;
use crate::support::{Output, Sandbox};

/// A record as adr-tools writes it.
fn nygard(number: u32, title: &str, status: &str) -> String {
    format!(
        "# {number}. {title}\n\nDate: 2020-01-0{number}\n\n## Status\n\n{status}\n\n\
         ## Context\n\nc\n\n## Decision\n\nd\n\n## Consequences\n\ne\n"
    )
}

/// A repository with one commit.
fn repo() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("a.txt", "a\n", "one").ok();
    s
}

/// The repository of `repo` with two records that adr-tools wrote.
pub(crate) fn with_records() -> Sandbox {
    Sandbox::once("", || {
        let s = repo();
        s.write(
            "docs/adr/0001-use-mysql.md",
            nygard(1, "Use MySQL", "Accepted"),
        );
        s.write(
            "docs/adr/0002-use-rest.md",
            nygard(2, "Use REST", "Accepted"),
        );
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "records"]).ok();
        s
    })
}

pub(crate) fn adr(s: &Sandbox, args: &[&str]) -> Output {
    let mut all = vec!["adr"];
    all.extend(args);
    s.loopx(&all)
}

/// The template with a line in each section.
pub(crate) fn filled(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix("## ") {
        Some(title) if title != "Status" => format!("{line}\n\nSaid.\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Writes a draft with a line in each section.
fn drafted(s: &Sandbox, args: &[&str]) {
    let json = adr(s, &[&["new", "--json"], args].concat()).json();
    let path = json["path"].as_str().expect("a path");
    s.write(path, filled(&s.read(path)));
}

/// The ids of what `adr check` found, with file and line.
fn findings(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut all = vec!["check", "--json"];
    all.extend(args);
    let json = adr(s, &all).json();
    let list = json["findings"].as_array().expect("a list");
    list.iter()
        .map(|f| {
            format!(
                "{} {}:{}",
                f["id"].as_str().expect("an id"),
                f["file"].as_str().expect("a file"),
                f["line"]
            )
        })
        .collect()
}

#[test]
fn a_draft_touches_nothing_else_and_a_promotion_writes_both_sides() {
    let s = with_records();
    let before = s.read("docs/adr/0001-use-mysql.md");
    let title = "Use \"A|B\" & <C> $(x) `y` 数据库 \\ [z]";
    let json = adr(&s, &["new", title, "--supersedes", "1", "--json"]).json();
    let draft = json["path"].as_str().expect("a path").to_owned();
    assert!(
        draft.starts_with("docs/adr/draft-use-a-b-c-x-y-z"),
        "{draft}"
    );
    assert_eq!(json["record"]["title"], title);
    assert_eq!(s.read("docs/adr/0001-use-mysql.md"), before);
    adr(&s, &["check"]).ok();
    // Work of others, staged and not, of the same and of other files.
    s.write("staged.txt", "s\n");
    s.git(&["add", "staged.txt"]).ok();
    s.write("a.txt", "edited\n");
    s.write(
        "docs/adr/0002-use-rest.md",
        nygard(2, "Use REST", "Accepted") + "more\n",
    );
    s.write(&draft, filled(&s.read(&draft)));
    let json = adr(&s, &["promote", &draft, "--accept", "--json"]).json();
    assert_eq!(json["number"], 3);
    let path = json["path"].as_str().expect("a path");
    assert_eq!(
        s.git(&["status", "--porcelain"]).ok(),
        " M a.txt\n M docs/adr/0002-use-rest.md\nA  staged.txt\n"
    );
    assert_eq!(
        s.git(&["show", "--name-status", "--format=", "HEAD"])
            .ok()
            .lines()
            .count(),
        2
    );
    let old = s.read("docs/adr/0001-use-mysql.md");
    let link = format!(
        "Superseded by [3. Use \"A|B\" & <C> $(x) `y` 数据库 \\\\ \\[z\\]]({})",
        path.trim_start_matches("docs/adr/")
    );
    assert_eq!(old, before.replace("Accepted", &link));
    let trailers = s.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Loopx-Event,valueonly)",
    ]);
    assert_eq!(trailers.line(), "adr");
    let list = adr(&s, &["list", "--json"]).json();
    assert_eq!(list["records"][0]["status"], "superseded");
    assert_eq!(list["records"][2]["title"], title);
    adr(&s, &["check"]).ok();
    assert!(!s.exists(&draft));
}

#[test]
fn a_decision_is_promoted_once() {
    let s = repo();
    adr(&s, &["new", "Use X"]).ok();
    let text = s.read("docs/adr/draft-use-x.md");
    adr(&s, &["promote"]).ok();
    adr(&s, &["promote", "docs/adr/0001-use-x.md"]).fails_with(5);
    // A copy of the draft, from a stash or another worktree, is the same decision.
    s.write(
        "docs/adr/draft-use-x.md",
        text.replace("# Use X", "# Use Y"),
    );
    adr(&s, &["promote"])
        .fails_with(5)
        .says("docs/adr/0001-use-x.md");
    assert_eq!(
        findings(&s, &[])
            .iter()
            .filter(|f| f.starts_with("id_taken docs/adr/draft"))
            .count(),
        1
    );
}

#[test]
fn drafts_are_taken_away_whether_untracked_staged_or_committed() {
    for how in ["untracked", "staged", "committed"] {
        let s = repo();
        drafted(&s, &["Use X", "--nygard"]);
        if how != "untracked" {
            s.git(&["add", "docs"]).ok();
        }
        if how == "committed" {
            s.git(&["commit", "--quiet", "-m", "draft"]).ok();
        }
        adr(&s, &["promote", "--accept"]).ok();
        assert_eq!(s.git(&["status", "--porcelain"]).ok(), "", "{how}");
        assert_eq!(
            s.git(&["ls-files", "docs"]).ok(),
            "docs/adr/0001-use-x.md\n"
        );
        assert!(
            s.read("docs/adr/0001-use-x.md")
                .starts_with("# 1. Use X\n\nDate: 2026-01-01\n\n## Status\n\nAccepted\n")
        );
        adr(&s, &["check", "--strict"]).ok();
    }
}

#[test]
fn a_touched_record_with_edits_is_a_refusal_and_nothing_is_written() {
    let s = with_records();
    drafted(&s, &["Use X", "--supersedes", "1"]);
    s.write(
        "docs/adr/0001-use-mysql.md",
        nygard(1, "Use MySQL", "Accepted") + "edit\n",
    );
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let out = adr(&s, &["promote", "--accept", "--json"]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "record_dirty");
    assert_eq!(s.git(&["rev-parse", "HEAD"]).line(), head);
    assert!(s.exists("docs/adr/draft-use-x.md"));
}

#[test]
fn z4_the_next_command_behind_a_promotion_elsewhere_can_be_typed() {
    let s = with_records();
    s.git(&["switch", "--quiet", "-c", "feat", "HEAD~1"]).ok();
    adr(&s, &["new", "Use X"]).ok();
    adr(&s, &["promote", "--onto", "main"])
        .says("next: git switch main\n")
        .says("git loopx adr accept 3");
}

#[test]
fn the_number_is_that_of_the_target_branch() {
    let s = with_records();
    s.git(&["switch", "--quiet", "-c", "feat", "HEAD~1"]).ok();
    adr(&s, &["new", "Use X"]).ok();
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "draft"]).ok();
    let json = adr(&s, &["promote", "--onto", "main", "--json"]).json();
    assert_eq!(json["number"], 3);
    assert_eq!(json["draft_left"], "docs/adr/draft-use-x.md");
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(
        s.git(&["show", "main:docs/adr/0003-use-x.md"])
            .ok()
            .contains("# Use X")
    );
    adr(&s, &["promote", "--onto", "gone"]).fails_with(4);
}

#[test]
fn what_was_accepted_is_committed_by_what_is_said_from_whatever_folder() {
    let s = with_records();
    let said = adr(&s, &["accept", "1"]);
    typed(&s, "docs", &said).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).line(), "");
}

#[test]
fn an_accepted_body_is_frozen_and_its_status_is_not() {
    let s = with_records();
    let before = s.read("docs/adr/0001-use-mysql.md");
    adr(&s, &["accept", "1"]).ok();
    let accepted = s.read("docs/adr/0001-use-mysql.md");
    assert!(
        accepted.starts_with(&before) && accepted.contains("frozen="),
        "{accepted}"
    );
    adr(&s, &["accept", "1"]).fails_with(5);
    adr(&s, &["supersede", "1", "2"]).ok();
    assert!(
        s.read("docs/adr/0001-use-mysql.md")
            .contains("Superseded by [2. Use REST](0002-use-rest.md)")
    );
    assert!(
        s.read("docs/adr/0002-use-rest.md")
            .contains("Accepted\n\nSupersedes [1. Use MySQL](0001-use-mysql.md)\n\n## Context")
    );
    adr(&s, &["supersede", "1", "2"]).fails_with(5);
    adr(&s, &["check"]).ok();
    let text = s
        .read("docs/adr/0001-use-mysql.md")
        .replace("\nd\n", "\nsomething else\n");
    s.write("docs/adr/0001-use-mysql.md", text);
    let out = adr(&s, &["check"]).fails_with(1);
    out.says("docs/adr/0001-use-mysql.md:21: error frozen_changed");
    adr(&s, &["accept", "1"]).fails_with(1).says("superseded");
    // Nor does it help to take the pin away.
    s.git(&["stash", "--quiet"]).ok();
    adr(&s, &["accept", "1"]).ok();
    s.git(&["commit", "--quiet", "-am", "accept"]).ok();
    s.write(
        "docs/adr/0001-use-mysql.md",
        before.replace("\nd\n", "\nsomething else\n"),
    );
    assert_eq!(
        findings(&s, &[])[0],
        "frozen_removed docs/adr/0001-use-mysql.md:7"
    );
    s.git(&["commit", "--quiet", "-am", "thaw"]).ok();
    assert_eq!(
        findings(&s, &["--with", "HEAD~1"])[0],
        "frozen_removed docs/adr/0001-use-mysql.md:7"
    );
}

#[test]
fn links_are_written_on_both_sides() {
    let s = with_records();
    adr(&s, &["link", "2", "Amends", "1"]).ok();
    assert!(
        s.read("docs/adr/0001-use-mysql.md")
            .contains("Amended by [2. Use REST](0002-use-rest.md)")
    );
    adr(&s, &["link", "2", "amends", "1"]).fails_with(5);
    adr(&s, &["link", "2", "annoys", "1"])
        .fails_with(2)
        .says("annoys");
    adr(&s, &["link", "2", "annoys", "1", "annoyed by"]).ok();
    adr(&s, &["link", "2", "supersedes", "1"])
        .fails_with(2)
        .says("adr supersede");
    adr(&s, &["link", "2", "amends", "9"]).fails_with(4);
    let graph = adr(&s, &["graph"]).ok();
    assert!(graph.contains("adr2 -->|amends| adr1"), "{graph}");
    adr(&s, &["check"]).ok();
}

#[test]
fn two_branches_that_gave_one_number_are_found_and_repaired() {
    let s = with_records();
    s.git(&["switch", "--quiet", "-c", "feat"]).ok();
    drafted(&s, &["Ours"]);
    adr(&s, &["promote", "--accept"]).ok();
    s.commit_file(
        "docs/guide.md",
        "See [3. Ours](adr/0003-ours.md).\n",
        "guide",
    )
    .ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    adr(&s, &["new", "Theirs", "--nygard", "--supersedes", "2"]).ok();
    adr(&s, &["promote"]).ok();
    s.git(&["switch", "--quiet", "feat"]).ok();
    let wanted = ["number_taken_elsewhere docs/adr/0003-ours.md:7"];
    let seen = |args: &[&str]| -> Vec<String> {
        findings(&s, args)
            .into_iter()
            .filter(|f| f.starts_with("number_"))
            .collect()
    };
    assert_eq!(seen(&[]), wanted);
    assert_eq!(seen(&["--with", "main"]), wanted);
    assert!(seen(&["--with", "HEAD"]).is_empty());
    let before = s.snapshot("docs");
    adr(&s, &["renumber", "--fix", "--with", "main", "--dry-run"])
        .says("0003-ours.md -> 0004-ours.md")
        .ok();
    assert_eq!(s.snapshot("docs"), before);
    let said = adr(&s, &["renumber", "--fix", "--with", "main"]);
    typed(&s, "docs", &said).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).line(), "");
    assert_eq!(
        s.read("docs/guide.md"),
        "See [4. Ours](adr/0004-ours.md).\n"
    );
    assert!(seen(&[]).iter().all(|f| f.starts_with("number_gap")));
    adr(&s, &["check"]).ok();
}

#[test]
fn q23_what_the_target_has_keeps_its_number_after_a_merge() {
    let s = with_records();
    let record = |name: &str, title: &str| {
        let path = format!("docs/adr/0003-{name}.md");
        s.commit_file(&path, &nygard(3, title, "Proposed"), name)
            .ok();
    };
    s.git(&["switch", "--quiet", "-c", "feat"]).ok();
    record("ours", "Ours");
    s.git(&["switch", "--quiet", "main"]).ok();
    record("theirs", "Theirs");
    s.git(&["switch", "--quiet", "feat"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    adr(&s, &["check"])
        .fails_with(1)
        .says("git loopx adr renumber --fix --with main");
    for with in [&[][..], &["--with", "main"]] {
        let fix = [&["renumber", "--fix", "--dry-run"], with].concat();
        adr(&s, &fix).says("0003-ours.md -> 0004-ours.md").ok();
    }
}

#[test]
fn a_merge_with_one_number_twice_is_repaired() {
    let s = with_records();
    s.write(
        "docs/adr/0002-use-soap.md",
        nygard(
            2,
            "Use SOAP",
            "Proposed\n\nAmends [1. Use MySQL](0001-use-mysql.md)",
        ),
    );
    s.write(
        "docs/adr/0001-use-mysql.md",
        nygard(
            1,
            "Use MySQL",
            "Accepted\n\nAmended by [2. Use SOAP](0002-use-soap.md)",
        ),
    );
    adr(&s, &["check"]).fails_with(1).says("number_taken");
    adr(&s, &["show", "2"]).fails_with(2).says("renumber --fix");
    adr(&s, &["renumber", "2", "5"])
        .fails_with(2)
        .says("--file");
    adr(&s, &["renumber", "2", "1", "--file", "0002-use-soap.md"]).fails_with(1);
    adr(&s, &["renumber", "--fix"]).ok();
    assert!(
        s.read("docs/adr/0001-use-mysql.md")
            .contains("Amended by [3. Use SOAP](0003-use-soap.md)")
    );
    assert!(
        s.read("docs/adr/0003-use-soap.md")
            .starts_with("# 3. Use SOAP\n")
    );
    assert!(s.exists("docs/adr/0002-use-rest.md") && !s.exists("docs/adr/0002-use-soap.md"));
    adr(&s, &["renumber", "--fix"]).fails_with(5);
    adr(&s, &["check"]).ok();
}

#[test]
fn f23_a_renumbering_that_was_killed_is_finished_by_the_same_command() {
    let s = with_records();
    let old = "docs/adr/0002-use-rest.md";
    let text = s.read(old);
    adr(&s, &["renumber", "2", "7"]).ok();
    let done = s.snapshot("docs");
    // As a kill between the two files leaves them.
    s.write(old, &text);
    adr(&s, &["renumber", "2", "7", "--dry-run"]).ok();
    assert!(s.exists(old));
    adr(&s, &["renumber", "2", "7"]).ok();
    assert_eq!(s.snapshot("docs"), done);
    // Another record of that name stays.
    s.write(old, &text);
    let new = "docs/adr/0007-use-rest.md";
    s.write(new, s.read(new) + "\nMore.\n");
    let before = s.snapshot("docs");
    adr(&s, &["renumber", "2", "7"])
        .fails_with(1)
        .says("0007-use-rest.md has the number 7");
    assert_eq!(s.snapshot("docs"), before);
}

#[test]
fn the_index_is_kept_between_its_markers() {
    let s = with_records();
    s.write("docs/adr/README.md", "# Decisions\n\nOur words.\n");
    adr(&s, &["index", "--write"]).ok();
    adr(&s, &["index", "--write"]).fails_with(5);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "index"]).ok();
    adr(&s, &["new", "Use X"]).ok();
    adr(&s, &["promote"]).ok();
    let text = s.read("docs/adr/README.md");
    assert!(
        text.starts_with("# Decisions\n\nOur words.\n") && text.contains("[0003](0003-use-x.md)"),
        "{text}"
    );
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn folder_usage_and_names() {
    let s = repo();
    s.commit_file("loopx.toml", "[paths]\nadr = \"decisions\"\n", "policy")
        .ok();
    adr(&s, &["list"]).says("no records in decisions").ok();
    adr(&s, &["new", " \n"]).fails_with(2);
    adr(&s, &["new", "?!"]).ok();
    assert!(s.exists("decisions/draft-adr.md"));
    adr(&s, &["new", "?!"])
        .fails_with(1)
        .says("is there already");
    adr(&s, &["promote", "nothing.md"]).fails_with(4);
    adr(&s, &["accept", "draft-adr.md"])
        .fails_with(1)
        .says("adr promote decisions/draft-adr.md");
    adr(&s, &["list", "--status", "acepted"])
        .fails_with(2)
        .says("--status accepted");
    adr(&s, &["show", "7"]).fails_with(4);
    adr(&s, &["renumber"]).fails_with(2);
    // From a subfolder, by a path of the current folder.
    s.write("sub/x", "");
    s.loopx_in(
        s.path().join("decisions"),
        &["adr", "promote", "draft-adr.md"],
    )
    .ok();
    assert!(s.exists("decisions/0001-adr.md"));
    s.write("decisions/0002-x.md", b"# 2. X\n\xff\n");
    adr(&s, &["check"])
        .fails_with(1)
        .says("decisions/0002-x.md:2:");
}

#[test]
fn promotions_at_the_same_time_give_one_number_each() {
    let s = repo();
    for name in ["a", "b", "c", "d", "e", "f"] {
        adr(&s, &["new", name]).ok();
    }
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d", "e", "f"] {
            let s = &s;
            scope.spawn(move || adr(s, &["promote", name]).ok());
        }
    });
    adr(&s, &["check", "--strict"]).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    let files = s
        .git(&["ls-tree", "-r", "--name-only", "HEAD", "docs"])
        .ok();
    assert_eq!(files.lines().count(), 6);
    assert!(files.contains("docs/adr/0006-"), "{files}");
}

#[test]
fn a_run_that_was_killed_behind_its_ref_is_finished_by_the_next() {
    let s = repo();
    adr(&s, &["new", "a"]).ok();
    adr(&s, &["promote"]).ok();
    let new = s.git(&["rev-parse", "HEAD"]).line();
    let blob = s.git(&["rev-parse", "HEAD:docs/adr/0001-a.md"]).line();
    // As it was before index and file followed.
    s.git(&["read-tree", "HEAD~1"]).ok();
    std::fs::remove_file(s.path().join("docs/adr/0001-a.md")).expect("remove");
    s.write(
        ".git/loopx/journal/x.json",
        format!(
            "{{\"format\":1,\"what\":\"git loopx adr promote\",\"name\":\"refs/heads/main\",\"new\":\"{new}\",\"sessions\":[],\"steps\":[{{\"follow\":{{\"changes\":{{\"docs/adr/0001-a.md\":[null,\"{blob}\"]}}}}}}]}}"
        ),
    );
    adr(&s, &["new", "b"]).ok();
    adr(&s, &["promote"]).ok();
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert!(s.exists("docs/adr/0001-a.md") && s.exists("docs/adr/0002-b.md"));
    assert!(!s.exists(".git/loopx/journal/x.json"));
}

#[test]
fn the_next_promotion_leaves_alone_what_somebody_changed_since() {
    let s = with_records();
    adr(&s, &["new", "a", "--supersedes", "1"]).ok();
    adr(&s, &["promote"]).ok();
    let new = s.git(&["rev-parse", "HEAD"]).line();
    let blob = |rev: &str| s.git(&["rev-parse", rev]).line();
    let paths = format!(
        "{{\"docs/adr/0003-a.md\":[null,\"{}\"],\"docs/adr/0001-use-mysql.md\":[\"{}\",\"{}\"]}}",
        blob("HEAD:docs/adr/0003-a.md"),
        blob("HEAD~1:docs/adr/0001-use-mysql.md"),
        blob("HEAD:docs/adr/0001-use-mysql.md"),
    );
    s.commit_file("b.txt", "b\n", "the branch goes on").ok();
    s.git(&["read-tree", "HEAD~2"]).ok();
    s.git(&["add", "b.txt"]).ok();
    std::fs::remove_file(s.path().join("docs/adr/0003-a.md")).expect("remove");
    s.write("docs/adr/0001-use-mysql.md", "mine\n");
    s.write(
        ".git/loopx/journal/x.json",
        format!("{{\"format\":1,\"what\":\"git loopx adr promote\",\"name\":\"refs/heads/main\",\"new\":\"{new}\",\"sessions\":[],\"steps\":[{{\"follow\":{{\"changes\":{paths}}}}}]}}"),
    );
    s.write(".git/loopx/journal/half.json", "{\"format\"");
    adr(&s, &["new", "b"]).ok();
    adr(&s, &["promote", "b"]).ok();
    assert_eq!(s.read("docs/adr/0001-use-mysql.md"), "mine\n");
    assert!(s.exists("docs/adr/0003-a.md") && s.exists("docs/adr/0004-b.md"));
    assert!(!s.exists(".git/loopx/journal/x.json") && !s.exists(".git/loopx/journal/half.json"));
}

#[test]
fn the_worktree_that_has_the_branch_follows_and_its_files_are_not_overwritten() {
    let s = with_records();
    s.git(&["switch", "--quiet", "-c", "feat"]).ok();
    let there = s.path().with_file_name("there");
    let there = there.to_str().expect("a path");
    s.git(&["worktree", "add", "--quiet", there, "main"]).ok();
    let file = |name: &str| format!("{there}/{name}");
    std::fs::write(file("a.txt"), "staged\n").expect("write");
    s.git_in(there, &["add", "a.txt"]).ok();
    drafted(&s, &["Use X", "--supersedes", "1"]);
    std::fs::write(file(".gitignore"), "0003-*\n").expect("write");
    std::fs::write(file("docs/adr/0003-use-x.md"), "mine\n").expect("write");
    let out = adr(&s, &["promote", "--onto", "main", "--json"]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "record_dirty");
    assert!(out.stderr.contains("adr promote would have"), "{out}");
    std::fs::remove_file(file("docs/adr/0003-use-x.md")).expect("remove");
    std::fs::remove_file(file(".gitignore")).expect("remove");
    adr(&s, &["promote", "--accept", "--onto", "main"]).ok();
    assert_eq!(
        s.git_in(there, &["status", "--porcelain"]).ok(),
        "M  a.txt\n"
    );
    let text = std::fs::read_to_string(file("docs/adr/0001-use-mysql.md")).expect("read");
    assert!(text.contains("Superseded by"), "{text}");
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn a_branch_that_cannot_take_a_record_is_refused() {
    let s = repo();
    s.loopx(&["init"]).ok();
    adr(&s, &["new", "Use X"]).ok();
    let code = |onto: &str, exit: i32| {
        let out = adr(&s, &["promote", "--onto", onto, "--json"]).fails_with(exit);
        out.error_json()["error"]["code"]
            .as_str()
            .expect("a code")
            .to_owned()
    };
    assert_eq!(code("loopx", 2), "target_invalid");
    // A folder cannot be where a file is, also where nobody looks.
    s.git(&["switch", "--quiet", "-c", "blocked"]).ok();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "x"])
        .ok();
    std::fs::rename(s.path().join("docs"), s.path().join("kept")).expect("rename");
    s.commit_file("docs", "a file\n", "docs").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    std::fs::rename(s.path().join("kept"), s.path().join("docs")).expect("rename");
    assert_eq!(code("blocked", 1), "folder_expected");
    s.git(&["switch", "--quiet", "-c", "moving"]).ok();
    s.commit_file("a.txt", "two\n", "two").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("a.txt", "three\n", "three").ok();
    s.git(&["switch", "--quiet", "moving"]).ok();
    assert_ne!(s.git(&["rebase", "--quiet", "main"]).code, Some(0));
    assert_eq!(code("moving", 1), "target_busy");
}

#[test]
fn what_adrs_wrote_is_kept_but_for_the_edited_lines() {
    let s = repo();
    let one = "---\nnumber: 1\ntitle: Use MySQL\ndate: 2024-01-15\nstatus: accepted\ntags:\n- db\n---\n\n# Use MySQL\n\n## Context and Problem Statement\n\nx  \n\n## Decision Outcome\n\ny";
    let two = "---\r\nnumber: 2\r\ntitle: Use PostgreSQL\r\nstatus: proposed\r\nlinks:\r\n- target: 1\r\n  kind: relatesto\r\n---\r\n\r\n# Use PostgreSQL\r\n\r\n## Context and Problem Statement\r\n\r\n## Decision Outcome\r\n";
    s.write("docs/adr/0001-use-mysql.md", one);
    s.write("docs/adr/0002-use-postgresql.md", two);
    adr(&s, &["supersede", "1", "2"]).ok();
    assert_eq!(
        s.read("docs/adr/0001-use-mysql.md"),
        one.replace("status: accepted", "status: superseded").replace(
            "- db\n---",
            "- db\nlinks:\n  - target: 2\n    kind: supersededby\n    file: 0002-use-postgresql.md\n---"
        )
    );
    assert_eq!(
        s.read("docs/adr/0002-use-postgresql.md"),
        two.replace(
            "relatesto\r\n",
            "relatesto\r\n- target: 1\r\n  kind: supersedes\r\n  file: 0001-use-mysql.md\r\n"
        )
    );
    assert_eq!(
        findings(&s, &[]),
        ["link_one_sided docs/adr/0002-use-postgresql.md:6"]
    );
}

#[test]
fn a_bare_repository_is_read() {
    let s = with_records();
    s.git(&["clone", "--quiet", "--bare", ".", "../bare.git"])
        .ok();
    let bare = s.root().join("bare.git");
    let run = |args: &[&str]| s.loopx_in(&bare, args);
    assert_eq!(run(&["adr", "list"]).ok().lines().count(), 2);
    assert_eq!(
        run(&["adr", "show", "1"]).ok(),
        nygard(1, "Use MySQL", "Accepted")
    );
    run(&["adr", "graph"]).ok();
    run(&["adr", "check"]).ok();
    run(&["adr", "new", "X"]).fails_with(2).says("bare");
}

/// A folder that cannot be listed to its end is not taken for one with fewer records.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn n16_no_index_is_written_of_a_folder_that_cannot_be_listed() {
    let trace = "trace";
    for when in 1..12 {
        let s = with_records();
        let inject = format!("inject=getdents64:error=EIO:when={when}");
        let call = s.call("strace").args(&["-f", "-qq", "-o", trace]);
        let call = call.args(&["-e", "trace=getdents64", "-e", &inject]);
        let call = call.args(&[crate::support::LOOPX, "adr", "index", "--write"]);
        let Ok(out) = call.command().output() else {
            eprintln!("skipped: strace cannot be used here");
            return;
        };
        if when == 1 && (!s.exists(trace) || s.read(trace).is_empty()) {
            eprintln!("skipped: strace cannot be used here");
            return;
        }
        let said = String::from_utf8_lossy(&out.stderr);
        if out.status.code() == Some(0) {
            let text = s.read("docs/adr/README.md");
            for record in ["0001-use-mysql.md", "0002-use-rest.md"] {
                assert!(text.contains(record), "{when}: {said}\n{text}");
            }
        } else {
            assert!(!s.exists("docs/adr/README.md"), "{when}: {said}");
        }
    }
}
