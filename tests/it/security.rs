//! The chapter on security of docs/server.md: each row of its table of guarantees and each paragraph has tests that hold it,
//! and those tests are there.

use crate::support::sources;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Beginnings of rows and paragraphs, and the tests that hold each.
const HELD: [(&str, &[&str]); 20] = [
    (
        "| whoever pushes, with any client",
        &[
            "the_account_takes_what_is_honest_and_nothing_else",
            "a_server_takes_what_is_honest_and_nothing_else",
            "g9_g18_every_commit_of_a_landing_is_judged_whatever_its_branch_is_called",
            "g1_g10_guarded_paths_land_only_with_a_review",
        ],
    ),
    (
        "| whoever pushes the loopx branch",
        &[
            "g8_a_branch_is_freed_by_operations_alone",
            "g5_a_second_folder_of_one_session_is_refused_and_signed_by_nobody",
            "a_state_that_says_more_than_its_operations_opens_nothing",
            "a_branch_that_was_set_back_lacks_a_pin_of_what_landed",
        ],
    ),
    (
        "| the author of a change",
        &[
            "edge_11_a_change_is_judged_by_the_policy_and_the_signers_of_its_base",
            "g1_g10_guarded_paths_land_only_with_a_review",
        ],
    ),
    (
        "| whoever replays",
        &[
            "g2_g3_a_verdict_lands_once_and_only_where_it_merges",
            "edge_12_an_approval_holds_in_its_own_session_alone",
            "edge_12_an_approval_holds_on_its_own_branch_alone",
            "edge_12_an_approval_holds_in_its_own_repository_alone",
            "edge_12_an_approval_covers_no_later_tree",
        ],
    ),
    (
        "| whoever hides",
        &[
            "g7_a_commit_that_cannot_be_parsed_is_refused_and_named",
            "g19_merges_and_bytes_are_counted_before_they_are_judged",
            "g15_names_that_no_tree_should_have_are_refused",
            "t3_no_read_that_fails_opens_a_gate",
        ],
    ),
    (
        "| a repository that you clone",
        &[
            "a_monitor_that_the_repository_names_is_not_run",
            "a_slice_id_cannot_carry_a_command",
            "a_check_of_somebody_else_runs_once_somebody_here_said_so",
            "w_19_a_domain_is_never_a_path",
        ],
    ),
    (
        "| the author who approves",
        &["g4b_independence_is_asked_of_everybody_whose_commits_land"],
    ),
    (
        "| whoever invents a name",
        &[
            "g11_an_invented_committer_lands_nothing_where_policy_counts_keys",
            "g11_one_key_under_two_names_is_one_person",
        ],
    ),
    (
        "| whoever takes a signed word back",
        &[
            "g12_a_signed_refusal_that_was_taken_back_waits_for_its_own_person",
            "g12_a_signed_approval_is_not_brought_back_by_others",
        ],
    ),
    (
        "| a key that was lost",
        &[
            "a_revoked_key_and_a_key_that_nobody_touches_do_not_count",
            "edge_12_a_backdated_approval_revives_no_expired_key",
            "a_key_that_was_taken_away_shows_what_it_leaves_open",
        ],
    ),
    (
        "**The base, not the change.**",
        &[
            "status_says_what_a_policy_that_moved_misses_before_the_push_does",
            "a_policy_that_the_target_never_had_excuses_nothing",
            "g6_a_new_protected_branch_is_judged_by_the_present_policy_too",
        ],
    ),
    (
        "**Names are claims, signatures are proof.**",
        &[
            "ssh_keygen_itself_verifies_what_was_signed",
            "people_are_counted_and_not_names_or_keys",
            "keys_come_from_gits_own_settings",
        ],
    ),
    (
        "**What is only a name says `name not proven`**",
        &["g11_a_review_is_refused_until_keys_show_who_took_part"],
    ),
    (
        "**Where policy asks for signatures",
        &[
            "g11_waivers_and_raised_caps_are_signed_where_policy_asks_for_signatures",
            "a_waiver_is_signed_where_policy_asks_for_signatures_and_lands_no_other_way",
        ],
    ),
    (
        "**A key that goes away**",
        &[
            "a_key_that_was_taken_away_shows_what_it_leaves_open",
            "what_a_key_showed_of_commits_steps_and_runs_is_listed_when_it_goes",
        ],
    ),
    (
        "**A signed word is replaced by a signed word.**",
        &[
            "g12_a_role_that_policy_names_stands_for_somebody_who_left",
            "g12_whoever_signed_a_word_takes_it_back_with_the_same_key",
        ],
    ),
    (
        "**The clock of whoever judges.**",
        &["edge_12_a_backdated_approval_revives_no_expired_key"],
    ),
    (
        "**The loopx branch is only its own word.**",
        &[
            "verify_takes_no_state_that_was_undone_or_forged",
            "a_state_that_its_operations_do_not_give_archives_nothing",
            "fsck_takes_a_signature_away_that_signs_nothing_here",
        ],
    ),
    (
        "**What is run.**",
        &[
            "the_configured_program_signs_and_never_judges",
            "a_monitor_that_the_repository_names_is_not_run",
        ],
    ),
    (
        "| against | holds | from |",
        &["the_chapter_on_security_is_held_by_tests"],
    ),
];

#[test]
fn the_chapter_on_security_is_held_by_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/server.md")).expect("the page");
    let (_, chapter) = page.split_once("\n## Security").expect("a chapter");
    assert!(!chapter.contains("\n## "), "the chapter is the last one");
    let begins = |line: &&str| {
        line.starts_with("**") || (line.starts_with("| ") && !line.starts_with("|---"))
    };
    for line in chapter.lines().filter(begins) {
        let held = HELD.iter().any(|(begin, _)| line.starts_with(begin));
        assert!(held, "no test is named for: {line}");
    }
    let mut files = sources::program();
    files.extend(sources::rust_files("tests"));
    let mut tests = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a source");
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line == "#[test]" {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_test) {
                tests.extend(rest.split('(').next().map(str::to_owned));
                is_test = false;
            }
        }
    }
    for (begin, names) in HELD {
        assert!(
            chapter.lines().any(|line| line.starts_with(begin)),
            "the chapter does not say: {begin}"
        );
        for name in names {
            assert!(tests.contains(*name), "there is no test `{name}`");
        }
    }
}
