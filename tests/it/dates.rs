//! Dates that the environment gives: read as git reads them, and no lease ends because somebody sets one.

use crate::support::store::{detached, tip};
use crate::support::tasks::{building, task, text, there};
use crate::support::{LOOPX, Sandbox};

fn made(s: &Sandbox, date: &str) -> crate::support::Output {
    let call = s.call(LOOPX).env("GIT_COMMITTER_DATE", date);
    call.args(&["--json", "note", "one"]).run()
}

/// Date as git itself reads it.
fn git_reads(s: &Sandbox, date: &str) -> Option<String> {
    let call = s.call("git").env("GIT_COMMITTER_DATE", date);
    let out = call.args(&["var", "GIT_COMMITTER_IDENT"]).run();
    let (_, time) = out.stdout.split_once("> ")?;
    (out.code == Some(0)).then(|| time.trim().to_owned())
}

#[test]
fn a_date_is_read_as_git_reads_it_or_refused_with_what_git_says() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let dates = [
        "garbage",
        "1969-12-31T00:00:00Z",
        "@99999999999 +0000",
        "@0 +0000",
        "2026-02-30T00:00:00Z",
        "2026-03-04 05:06:07 +0200",
        "2026-01-02T03:04:05Z",
        "1767300000 +0130",
    ];
    for date in dates {
        let before = tip(&s);
        let out = made(&s, date);
        let Some(time) = git_reads(&s, date) else {
            let error = out.fails_with(2).error_json()["error"].clone();
            assert_eq!(error["code"], "date_invalid", "{date}: {error:#}");
            let said = text(&error["message"]);
            assert!(
                said.contains(&format!("found `GIT_COMMITTER_DATE={date}`")),
                "{said}"
            );
            assert_eq!(error["help"], "unset GIT_COMMITTER_DATE");
            assert_eq!(tip(&s), before);
            continue;
        };
        out.ok();
        let own = s.git(&["log", "-1", "--format=%cd", "--date=raw", "loopx"]);
        assert_eq!(own.line(), time, "{date}");
    }
    assert!(
        git_reads(&s, "garbage").is_none(),
        "git refuses one of them"
    );
    // What leads on says so too, for each of them, and where nothing began yet.
    let both = |args: &[&str]| {
        let call = s.call(LOOPX).env("GIT_COMMITTER_DATE", "garbage");
        call.env("GIT_AUTHOR_DATE", "nonsense").args(args).run()
    };
    let advice = text(&both(&["--json", "status"]).json()["advice"]);
    let said = "unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE  (expected a date that git reads, like \
                2026-01-31T12:00:00Z, found `GIT_AUTHOR_DATE=nonsense` and \
                `GIT_COMMITTER_DATE=garbage` in the environment)";
    assert_eq!(advice, said);
    let late = made(&s, "@999999999999999 +0000");
    assert_ne!(late.code, Some(0), "no record can write it: {late}");
    // Who is nobody is still told so.
    let nobody = s
        .call(LOOPX)
        .env("GIT_COMMITTER_NAME", " ")
        .args(&["--json", "note", "one"]);
    let error = nobody.run().fails_with(1).error_json();
    assert_eq!(error["error"]["code"], "identity_unknown", "{error:#}");
}

#[test]
fn no_lease_ends_because_somebody_sets_a_date() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let other = detached(&s, "other");
    // A lease that runs by the clock of this machine too.
    let take = s
        .call(LOOPX)
        .without_env("GIT_COMMITTER_DATE")
        .args(&["take"]);
    take.run().ok();
    for args in [
        &["take"][..],
        &["take", "A"],
        &["task", "skip", "A", "--reason", "no"],
    ] {
        let call = there(&s, &other, args).env("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z");
        let error = call.run().fails_with(6).error_json();
        assert_eq!(error["error"]["code"], "task_held", "{args:?}: {error:#}");
    }
}
