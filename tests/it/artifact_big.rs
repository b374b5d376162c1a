//! Big artifacts (T10 of the store's findings): a text is in memory once, and twice only where libgit2 hands it over.
//! Nothing here looks at a clock: a command that needs more room than it may have ends.

use crate::support::{LOOPX, Output, Sandbox};

/// Bytes of the artifact: memory of as many goes back to the system as soon as it is free.
const SIZE: usize = 34_000_000;

fn large(word: &str) -> String {
    let mut text =
        "# Plan\n\n## Problem\n\nP is slow.\n\n## Approach\n\nOne step.\n\n## Risks\n\nNone known.\n".to_owned();
    while text.len() < SIZE {
        text.push_str(word);
        text.push_str(" of what there is to say.\n\n");
    }
    text
}

/// A session whose plan may be large.
fn roomy() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file(
        "loopx.toml",
        "[artifacts]\nmax_bytes = 100000000\n",
        "policy",
    )
    .ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "--create", "large"]).ok();
    s.loopx(&["start", "--profile", "lite", "large"]).ok();
    s
}

/// A command that may have so many times the bytes of the artifact in memory, in tenths.
fn within(s: &Sandbox, tenths: usize, args: &[&str]) -> Output {
    let script = format!(
        "ulimit -d {}; exec '{LOOPX}' \"$@\"",
        SIZE / 10 * tenths / 1024
    );
    s.call("sh").args(&["-c", &script, "sh"]).args(args).run()
}

#[test]
fn t10_a_large_artifact_is_in_memory_once_and_twice_where_it_is_packed() {
    let s = roomy();
    let (one, two) = (large("line"), large("Line"));
    s.write("one.md", &one);
    s.write("two.md", &two);
    within(&s, 30, &["put", "plan.md", "one.md"]).ok();
    within(&s, 30, &["put", "plan.md", "two.md"]).ok();
    let said = within(&s, 30, &["put", "plan.md", "two.md"]);
    said.fails_with(5).says("has this content already");
    assert!(within(&s, 17, &["cat", "plan.md"]).ok() == two);
    within(&s, 17, &["fsck"]).ok();
    within(&s, 20, &["next"]).ok();
    within(&s, 20, &["status"]).ok();
    s.write(".loopx/large/plan.md", &one);
    within(&s, 30, &["save"]).ok();
    // Edits that were not saved are kept where another text is put, which is in memory meanwhile.
    let other = two.replace("P is slow", "P is slower");
    s.write(".loopx/large/plan.md", &other);
    let said = within(&s, 40, &["put", "plan.md", "two.md"]).says("they are kept");
    let kept = said.stdout.rsplit_once("git cat-file blob ");
    let kept = kept.and_then(|(_, rest)| rest.split_whitespace().next());
    let blob = s.git(&["cat-file", "blob", kept.expect("a blob")]).ok();
    assert!(blob == other);
    assert!(s.read(".loopx/large/plan.md") == two);
}

#[test]
fn t10_a_large_text_that_is_refused_leaves_what_stood_there() {
    let s = roomy();
    let one = large("line");
    s.write("one.md", &one);
    s.loopx(&["put", "plan.md", "one.md"]).ok();
    s.write("two.md", large("Line"));
    let bad = [large("Line").as_bytes(), b"\xff\n"].concat();
    s.write("bad.md", bad);
    let out = s.loopx(&["put", "plan.md", "bad.md"]).fails_with(1);
    out.says("expected UTF-8, found other bytes");
    assert!(s.read(".loopx/large/plan.md") == one);
    // What a branch has of it is refused once the text stands in its file.
    s.git(&["add", "--force", ".loopx/large/plan.md"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "odd"])
        .ok();
    let out = s.loopx(&["put", "plan.md", "two.md"]).fails_with(1);
    out.says("expected no commit to have .loopx/large");
    assert!(s.read(".loopx/large/plan.md") == one);
    assert!(s.loopx(&["cat", "plan.md"]).ok() == one);
}
