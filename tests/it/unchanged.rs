//! A change without behaviour: its delta says so with a reason, it leaves plan, lands and is archived (E8 of the
//! spec engine's findings).

use crate::support::archive::Yard;

const UNCHANGED: &str = "---\nbehaviour: unchanged\nreason: \"a dependency is renewed\"\n---\n\n# Nothing that users see\n";

#[test]
fn e08_a_change_without_behaviour_leaves_plan_and_its_archive_carries_the_reason() {
    let y = Yard::new();
    y.done("renew", UNCHANGED);
    let specs = y.git(&["rev-parse", "renew:specs"]).line();
    y.archive("renew", &[]).ok();
    assert_eq!(y.git(&["rev-parse", "renew:specs"]).line(), specs);
    y.archived_once("renew", "renew");
    let message = y.git(&["log", "-1", "--format=%B", "renew"]).ok();
    assert!(
        message.contains("No behaviour changes: a dependency is renewed\n"),
        "{message}"
    );
    assert!(message.contains("Loopx-Event: archive"), "{message}");
    y.sound();
    y.loopx(&["verify", "renew~2..renew"]).ok();
    // It is taken back by a commit that changes as little, once.
    y.loopx(&["archive", "--undo", "renew", "--reason", "too early"])
        .ok();
    assert_eq!(y.git(&["rev-parse", "renew:specs"]).line(), specs);
    let message = y.git(&["log", "-1", "--format=%B", "renew"]).ok();
    assert!(message.contains("Loopx-Event: unarchive"), "{message}");
    y.loopx(&["archive", "--undo", "renew"]).fails_with(5);
}

#[test]
fn e08_a_delta_that_only_says_unchanged_is_held_where_it_gives_no_reason_or_changes_something() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "-c", "renew"]).ok();
    y.does(&["start", "renew"]);
    for (front, code) in [
        ("behaviour: unchanged", "unchanged_without_reason"),
        (
            "behaviour: unchanged\nreason: \"\"",
            "unchanged_without_reason",
        ),
        ("behaviour: none\nreason: x", "bad_behaviour"),
    ] {
        let delta = format!("---\n{front}\n---\n\n# Demo\n");
        y.planned_blocked("renew", &delta, code);
    }
    let adds = crate::support::archive::adds("More");
    let both = format!("---\nbehaviour: unchanged\nreason: x\n---\n\n{adds}");
    y.planned_blocked("renew", &both, "unchanged_with_operations");
}
