//! What the backlog says of an issue is what its commands do with it, and each of its words leads on.

use crate::support::issues::{backlog, create, list, refused, show, titles};
use serde_json::json;

#[test]
fn n38_2_what_waited_for_a_duplicate_waits_for_its_original() {
    let s = backlog();
    let original = create(&s, &["Original"]);
    let duplicate = create(&s, &["Duplicate"]);
    let other = create(&s, &["Waits", "--blocked-by", &duplicate]);
    let close = ["issue", "close", &duplicate, "--duplicate-of", &original];
    let closed = s.loopx(&[&["--json"], &close[..]].concat()).json();
    assert_eq!(closed["freed"], json!([]), "{closed}");
    assert_eq!(titles(&list(&s, &["--ready"])), ["Original"]);
    assert_eq!(
        show(&s, &other)["waits"],
        json!([{ "for": "issue", "issue": original, "status": "open" }])
    );
    let error = refused(&s, 1, "issue_blocked", &["issue", "take", &other]);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(&original), "{error}");
    let graph = s.loopx(&["--json", "issue", "graph"]).json();
    assert_eq!(graph["waves"].as_array().map(Vec::len), Some(2), "{graph}");
    let done = ["--json", "issue", "resolve", &original, "--reason", "tried"];
    let freed = s.loopx(&done).json()["freed"].take();
    assert_eq!(freed[0], other.as_str(), "{freed}");
    s.loopx(&["issue", "take", &other]).ok();
}

#[test]
fn n38_2_a_duplicate_by_which_its_original_would_wait_for_itself_is_refused() {
    let s = backlog();
    let duplicate = create(&s, &["Duplicate"]);
    let between = create(&s, &["Between", "--blocked-by", &duplicate]);
    let original = create(&s, &["Original", "--blocked-by", &between]);
    let close = ["issue", "close", &duplicate, "--duplicate-of", &original];
    refused(&s, 1, "issue_cycle", &close);
    s.loopx(&["issue", "unlink", &between, "blocked-by", &duplicate])
        .ok();
    s.loopx(&close).ok();
}
