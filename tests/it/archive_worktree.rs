//! Index and files of everybody else, which archive leaves alone in every worktree; and the targets that are not an
//! ordinary checked-out branch.

use crate::support::archive::{DEMO, DEMO_PATH, ID, SHORTEN, Yard, adds, shortened};

const OTHER: &str = "# other Specification

## Purpose
Says what else there is in this repository, for those who ask.

## Requirements

### Requirement: Old
The system SHALL be old.

#### Scenario: Old
- **WHEN** it is asked
- **THEN** it is old
";

/// The entries of the index besides that of the spec, with mode, blob and stage.
fn staged(y: &Yard) -> String {
    let all = y.git(&["ls-files", "-s"]).ok();
    all.lines()
        .filter(|line| !line.ends_with(DEMO_PATH))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn staged_and_unstaged_work_of_others_stays_as_it_was() {
    let y = Yard::ready();
    y.write("src/app.txt", "staged\n");
    y.write("staged new.txt", "new\n");
    y.write("specs/other/spec.md", OTHER);
    y.git(&["add", "."]).ok();
    y.git(&["rm", "--quiet", "--cached", "src/shorten.txt"])
        .ok();
    y.write("src/app.txt", "staged, then edited\n");
    y.write("untracked.txt", "mine\n");
    let look = |y: &Yard| {
        (
            y.git(&["diff", "--cached"]).ok(),
            y.git(&["diff"]).ok(),
            y.git(&["status", "--porcelain"]).ok(),
            staged(y),
        )
    };
    let before = look(&y);
    y.archive(ID, &[]).ok();
    assert_eq!(look(&y), before);
    assert_eq!(y.read(DEMO_PATH), shortened());
    let made = y.git(&["show", "--format=", "--name-only", ID]).ok();
    assert_eq!(
        made,
        format!("{DEMO_PATH}\n"),
        "only the spec is in the commit"
    );
    y.archived_once(ID, ID);
}

#[test]
fn an_edited_or_a_staged_spec_is_a_refusal_that_names_it() {
    for stage in [false, true] {
        let y = Yard::ready();
        y.write(DEMO_PATH, DEMO.replace("a known user", "my own words"));
        if stage {
            y.git(&["add", DEMO_PATH]).ok();
        }
        let error = y.refused(ID, &[], 1, "spec_dirty");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains(DEMO_PATH), "{message}");
        y.git(&["stash", "push", "--quiet", DEMO_PATH]).ok();
        y.archive(ID, &[]).ok();
        y.clean();
    }
}

#[test]
fn a_spec_that_is_edited_but_not_touched_by_the_delta_is_no_refusal() {
    let y = Yard::with(&[(DEMO_PATH, DEMO), ("specs/other/spec.md", OTHER)]);
    y.done(ID, SHORTEN);
    y.write("specs/other/spec.md", "my own words\n");
    y.archive(ID, &[]).ok();
    assert_eq!(y.read("specs/other/spec.md"), "my own words\n");
}

#[test]
fn a_file_in_the_way_of_a_new_spec_is_a_refusal_ignored_or_not() {
    let new = adds("Fresh").replace("# Domain: demo", "# Domain: fresh/one");
    for (path, ignored) in [
        ("specs/fresh/one/spec.md", false),
        ("specs/fresh/one/spec.md", true),
        ("specs/fresh", false),
        ("specs/fresh/one", true),
    ] {
        let y = Yard::new();
        y.done("fresh", &new);
        y.write(path, "mine\n");
        if ignored {
            y.write(y.path().join(".git/info/exclude"), "specs/fresh\n.loopx\n");
        }
        let error = y.refused("fresh", &[], 1, "spec_dirty");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains(path), "{message}");
        assert_eq!(y.read(path), "mine\n");
    }
}

#[test]
fn a_new_domain_becomes_a_file_with_the_purpose_of_its_delta() {
    let y = Yard::new();
    let new = format!(
        "# Domain: fresh/one\n\n## Purpose\nSays what is fresh and how people notice it at once.\n{}",
        adds("Fresh").trim_start_matches("# Domain: demo\n")
    );
    y.done("fresh", &new);
    y.archive("fresh", &[]).ok();
    y.clean();
    let text = y.read("specs/fresh/one/spec.md");
    assert!(
        text.contains("Says what is fresh") && text.contains("### Requirement: Fresh"),
        "{text}"
    );
    assert_eq!(
        y.git(&["show", "--format=", "--name-status", "HEAD"]).ok(),
        "A\tspecs/fresh/one/spec.md\n"
    );
}

#[test]
fn a_retired_domain_loses_its_file_and_its_folder() {
    let y = Yard::with(&[(DEMO_PATH, DEMO), ("specs/other/spec.md", OTHER)]);
    let delta = "---\nretire_capabilities: true\n---\n# Domain: other\n\n## REMOVED Requirements\n\n\
        ### Requirement: Old\n**Reason**: nobody asks\n**Migration**: none\n";
    y.done("retire", delta);
    y.archive("retire", &[]).ok();
    y.clean();
    assert!(!y.exists("specs/other"));
    assert_eq!(
        y.git(&["show", "--format=", "--name-status", "HEAD"]).ok(),
        "D\tspecs/other/spec.md\n"
    );
    y.archived_once("retire", "retire");
}

#[test]
fn a_target_that_another_worktree_has_is_brought_in_step_there() {
    let y = Yard::ready();
    let there = y.root().join("other tree");
    let there = there.to_str().expect("UTF-8");
    y.git(&["worktree", "add", "--quiet", there, "main"]).ok();
    y.git_in(there, &["rm", "--quiet", "--cached", "src/app.txt"])
        .ok();
    let before = y.git_in(there, &["status", "--porcelain"]).ok();
    let here = y.git(&["status", "--porcelain"]).ok();
    y.archive(ID, &["--onto", "main"]).ok();
    let text = std::fs::read_to_string(format!("{there}/{DEMO_PATH}")).expect("the spec");
    assert_eq!(text, shortened());
    assert_eq!(y.git_in(there, &["status", "--porcelain"]).ok(), before);
    assert_eq!(y.git(&["status", "--porcelain"]).ok(), here);
    assert_eq!(
        y.read(DEMO_PATH),
        DEMO,
        "this worktree is on another branch"
    );
    y.archived_once("main", ID);
}

#[test]
fn an_edit_in_the_worktree_of_the_target_is_a_refusal_too() {
    let y = Yard::ready();
    let there = y.root().join("other");
    let there = there.to_str().expect("UTF-8");
    y.git(&["worktree", "add", "--quiet", there, "main"]).ok();
    std::fs::write(format!("{there}/{DEMO_PATH}"), "mine\n").expect("write");
    y.refused(ID, &["--onto", "main"], 1, "spec_dirty");
}

/// The file is clean here: what mends it says where it is edited, and works when it is typed.
#[test]
fn z17_an_edit_in_the_worktree_of_the_target_is_put_aside_there() {
    let y = Yard::ready();
    let there = y.root().join("other tree");
    let there = there.to_str().expect("UTF-8");
    y.git(&["worktree", "add", "--quiet", there, "main"]).ok();
    std::fs::write(format!("{there}/{DEMO_PATH}"), "mine\n").expect("write");
    let held = y
        .loopx(&["archive", ID, "--onto", "main"])
        .fails_with(1)
        .says(&format!("{DEMO_PATH} in {there} has changes"));
    let hint = held.stderr.split_once("hint: ").expect("a hint").1;
    let (commit, stash) = hint.trim().split_once("  or: ").expect("two ways");
    assert_eq!(commit, format!("git -C '{there}' commit {DEMO_PATH}"));
    y.call("sh").args(&["-c", stash]).run().ok();
    y.archive(ID, &["--onto", "main"]).ok();
}

#[test]
fn a_worktree_whose_folder_is_gone_is_nobody_s() {
    let y = Yard::ready();
    let there = y.root().join("other");
    y.git(&[
        "worktree",
        "add",
        "--quiet",
        there.to_str().expect("UTF-8"),
        "main",
    ])
    .ok();
    std::fs::remove_dir_all(&there).expect("remove");
    y.archive(ID, &["--onto", "main"]).ok();
    y.archived_once("main", ID);
}

#[test]
fn a_target_that_is_checked_out_nowhere_moves_without_a_worktree() {
    let y = Yard::ready();
    let before = y.world();
    y.archive(ID, &["--onto", "main"]).ok();
    assert_eq!(y.at("main", DEMO_PATH), shortened());
    assert_eq!(y.at(ID, DEMO_PATH), DEMO);
    assert_eq!(y.git(&["status", "--porcelain"]).ok(), "");
    assert_ne!(y.world(), before);
    y.archived_once("main", ID);
}

#[test]
fn a_detached_head_takes_the_named_target() {
    let y = Yard::ready();
    y.git(&["switch", "--quiet", "--detach"]).ok();
    let head = y.rev("HEAD");
    y.archive(ID, &["--onto", "main"]).ok();
    assert_eq!(y.rev("HEAD"), head);
    assert_eq!(y.at("main", DEMO_PATH), shortened());
    assert_eq!(y.read(DEMO_PATH), DEMO);
    y.clean();
}

#[test]
fn a_bound_branch_that_was_merged_and_deleted_does_not_hold_the_archive_up() {
    let y = Yard::ready();
    y.git(&["switch", "--quiet", "main"]).ok();
    y.git(&["merge", "--quiet", "--no-ff", "--no-edit", ID])
        .ok();
    y.git(&["branch", "--quiet", "--delete", ID]).ok();
    let error = y.refused(ID, &[], 4, "branch_unknown");
    assert!(
        error["error"]["help"]
            .as_str()
            .expect("help")
            .contains("--onto")
    );
    y.archive(ID, &["--onto", "main"]).ok();
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.clean();
    y.archived_once("main", ID);
}

#[test]
fn targets_that_cannot_be_are_refused_before_anything_is_written() {
    let y = Yard::ready();
    y.refused(ID, &["--onto", "nowhere"], 4, "branch_unknown");
    y.refused(ID, &["--onto", "../x"], 2, "branch_name_invalid");
    y.refused(ID, &["--onto", "loopx"], 2, "target_invalid");
}

#[test]
fn a_branch_in_the_middle_of_a_rebase_is_not_moved_under_it() {
    let y = Yard::ready();
    y.git(&["switch", "--quiet", "main"]).ok();
    y.commit_file("src/shorten.txt", "another\n", "In the way")
        .ok();
    y.git(&["switch", "--quiet", ID]).ok();
    assert_ne!(y.git(&["rebase", "--quiet", "main"]).code, Some(0));
    y.refused(ID, &[], 1, "target_busy");
    y.git(&["rebase", "--abort"]).ok();
    y.archive(ID, &[]).ok();
}

#[test]
fn an_unborn_branch_gets_the_archive_as_its_first_commit() {
    let y = Yard::ready();
    y.git(&["switch", "--quiet", "--orphan", "fresh"]).ok();
    let new = adds("Fresh").replace("# Domain: demo", "# Domain: fresh");
    y.write("kept.txt", "staged\n");
    y.git(&["add", "kept.txt"]).ok();
    // The delta of the session changes a requirement that this branch does not have.
    y.conflict(ID, &["--onto", "fresh"]);
    y.archive(ID, &["--abort"]).ok();
    y.git(&["switch", "--quiet", "--force", ID]).ok();
    y.done("fresh-one", &new);
    y.git(&["switch", "--quiet", "--orphan", "fresh"]).ok();
    y.write("kept.txt", "staged\n");
    y.git(&["add", "kept.txt"]).ok();
    y.archive("fresh-one", &["--onto", "fresh"]).ok();
    assert_eq!(y.git(&["rev-list", "--count", "fresh"]).line(), "1");
    assert_eq!(y.git(&["status", "--porcelain"]).ok(), "A  kept.txt\n");
    assert!(y.read("specs/fresh/spec.md").contains("Fresh"));
}

#[test]
fn specs_lie_where_the_policy_of_the_base_says() {
    let y = Yard::with(&[
        ("loopx.toml", "[paths]\nspecs = \"doc/behaviour\"\n"),
        ("doc/behaviour/demo/spec.md", DEMO),
    ]);
    y.done(ID, SHORTEN);
    // The branch itself cannot move them: policy comes from the base.
    y.commit_file("loopx.toml", "[paths]\nspecs = \"elsewhere\"\n", "Move")
        .ok();
    y.archive(ID, &[]).ok();
    assert_eq!(y.read("doc/behaviour/demo/spec.md"), shortened());
    assert!(!y.exists("elsewhere") && !y.exists("specs"));
    y.clean();
}

#[test]
fn a_sparse_checkout_without_specs_is_not_in_the_way() {
    let y = Yard::ready();
    y.git(&["status"]).ok();
    y.git(&["sparse-checkout", "set", "src"]).ok();
    assert!(!y.exists(DEMO_PATH));
    y.archive(ID, &[]).ok();
    assert_eq!(y.at(ID, DEMO_PATH), shortened());
    y.clean();
    y.archived_once(ID, ID);
    y.git(&["sparse-checkout", "disable"]).ok();
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.clean();
}

#[test]
fn archive_works_from_a_subfolder_and_with_line_endings_converted() {
    let y = Yard::ready();
    y.git(&["config", "core.autocrlf", "true"]).ok();
    y.git(&["rm", "--quiet", "-r", "--cached", "."]).ok();
    y.git(&["reset", "--quiet", "--hard"]).ok();
    assert!(y.read(DEMO_PATH).contains("\r\n"));
    y.loopx_in("src", &["archive"]).ok();
    assert_eq!(y.at(ID, DEMO_PATH), shortened());
    assert_eq!(y.read(DEMO_PATH), shortened().replace('\n', "\r\n"));
    y.clean();
}

#[test]
fn an_edit_that_git_was_told_to_overlook_is_not_overwritten() {
    let y = Yard::ready();
    y.git(&["update-index", "--assume-unchanged", DEMO_PATH])
        .ok();
    y.write(DEMO_PATH, "mine\n");
    let refs = y.refs();
    let out = y.archive(ID, &[]).fails_with(1);
    assert_eq!(out.error_json()["error"]["code"], "spec_dirty", "{out}");
    assert_eq!((y.refs(), y.read(DEMO_PATH)), (refs, "mine\n".to_owned()));
}

#[test]
fn a_link_on_the_branch_is_not_replaced_by_a_folder() {
    let y = Yard::new();
    std::os::unix::fs::symlink("../src", y.path().join("specs/fresh")).expect("a link");
    y.git(&["add", "."]).ok();
    y.git(&["commit", "--quiet", "-m", "A link"]).ok();
    let new = adds("Fresh").replace("# Domain: demo", "# Domain: fresh");
    y.done("fresh", &new);
    for args in [&[][..], &["--onto", "main"]] {
        y.refused("fresh", args, 1, "spec_path_blocked");
    }
}

#[test]
fn the_mode_of_a_spec_stays() {
    let y = Yard::new();
    y.chmod(DEMO_PATH, 0o755);
    y.git(&["commit", "--quiet", "-a", "-m", "Odd, but theirs"])
        .ok();
    y.done(ID, SHORTEN);
    y.archive(ID, &[]).ok();
    assert!(
        y.git(&["ls-tree", ID, DEMO_PATH])
            .ok()
            .starts_with("100755")
    );
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.clean();
}

#[test]
fn specs_that_say_so_already_close_the_session_without_a_commit() {
    let y = Yard::ready();
    y.commit_file(DEMO_PATH, &shortened(), "By hand").ok();
    let tip = y.rev(ID);
    let out = y.archive(ID, &[]);
    assert!(out.json()["commit"].is_null(), "{out}");
    out.ok();
    assert_eq!(y.rev(ID), tip);
    assert_eq!(y.archived().len(), 1);
    assert!(!y.exists(".loopx"), "the working copy is retired");
    y.sound();
}

#[test]
fn an_archive_into_a_worktree_starts_git_seven_times_however_many_specs_change() {
    for domains in [1, 30] {
        let delta: String = (0..domains)
            .map(|n| adds("Fresh").replace("# Domain: demo", &format!("# Domain: fresh/d{n}")))
            .collect();
        let y = Yard::new();
        y.done("fresh", &delta);
        let trace = y.root().join("trace");
        let call = y.call(crate::support::LOOPX).args(&["archive"]);
        call.env("GIT_TRACE2_EVENT", &trace).run().ok();
        y.clean();
        let trace = std::fs::read_to_string(trace).expect("a trace");
        // What is staged and whether the files are free; what is staged now, whether the checkout is sparse, the
        // index, the files as they are to be, and that git need not read them again.
        assert_eq!(trace.matches("\"event\":\"start\"").count(), 7, "{trace}");
    }
}

#[test]
fn v5_an_archive_over_a_copied_worktree_looks_only_at_the_files_that_it_changes() {
    let y = Yard::ready();
    // As after a copy: what git noted of every file is out of date.
    for path in [DEMO_PATH, "src/app.txt"] {
        let text = y.read(path);
        std::fs::remove_file(y.path().join(path)).expect("a file");
        y.write(path, text);
    }
    let trace = y.root().join("trace");
    let call = y.call(crate::support::LOOPX).args(&["archive"]);
    call.env("GIT_TRACE2_EVENT", &trace).run().ok();
    let trace = std::fs::read_to_string(trace).expect("a trace");
    assert!(!trace.contains("--refresh"), "{trace}");
    // As ever, and once more whether the files are free, after a look at whether they are edited.
    assert!(trace.matches("\"event\":\"start\"").count() <= 8, "{trace}");
    // What it wrote git need not read again.
    let stale = y.git(&["diff-files", "--name-only"]).ok();
    assert!(!stale.contains(DEMO_PATH), "{stale}");
    y.clean();
}

#[test]
fn edits_beside_many_changed_specs_are_no_refusal_and_one_in_them_is_named_alone() {
    let name = |n: usize| format!("specs/many/d{n:02}/spec.md");
    let specs: Vec<String> = (0..30).map(name).collect();
    let mut files: Vec<(&str, &str)> = specs.iter().map(|path| (path.as_str(), DEMO)).collect();
    files.push(("specs/many/other/spec.md", OTHER));
    let y = Yard::with(&files);
    let delta: String = (0..30)
        .map(|n| SHORTEN.replace("# Domain: demo", &format!("# Domain: many/d{n:02}")))
        .collect();
    y.done(ID, &delta);
    y.write("specs/many/other/spec.md", "my own words\n");
    y.write("specs/many/notes.txt", "not tracked\n");
    y.write(name(7), "mine\n");
    let error = y.refused(ID, &[], 1, "spec_dirty");
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(
        message.starts_with(&format!("{} has changes", name(7))),
        "{message}"
    );
    y.write(name(7), shortened());
    y.git(&["add", &name(7)]).ok();
    let error = y.refused(ID, &[], 1, "spec_dirty");
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(
        message.starts_with(&format!("{} has changes", name(7))),
        "{message}"
    );
    y.git(&["reset", "--quiet", "--", &name(7)]).ok();
    y.git(&["checkout", "--quiet", "--", &name(7)]).ok();
    y.archive(ID, &[]).ok();
    assert!(specs.iter().all(|path| y.read(path) == shortened()));
    assert_eq!(
        y.git(&["status", "--porcelain"]).ok(),
        " M specs/many/other/spec.md\n?? specs/many/notes.txt\n"
    );
}
