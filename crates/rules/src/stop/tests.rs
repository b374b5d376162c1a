//! The order of the stop gate, its counters and its caps.

use super::{
    Build, BuildOwner, Call, Decision, Driver, Host, Judged, Ledger, MAX_ROW, MAX_SECONDS,
    MAX_TOTAL, Moment, Parked, Ruling, decide, is_block_text,
};
use crate::op::BlockCause;

fn call() -> Call {
    Call {
        session: Some("s1".into()),
        ..Call::default()
    }
}

fn build() -> Build {
    Build {
        session: "demo".into(),
        key: "k1".into(),
        owner: BuildOwner::Here {
            agent: Some("s1".into()),
            alive: true,
        },
        blocked: false,
        delegated: 0,
    }
}

fn judged(fingerprint: &str) -> Judged {
    Judged {
        missing: vec![("lane".into(), "not reported".into())],
        next: "git loopx run --task VS-1".into(),
        fingerprint: fingerprint.into(),
    }
}

fn stop(call: &Call, build: &Build, ledger: &Ledger, now: i64, fingerprint: &str) -> Ruling {
    decide(
        Host::Claude,
        Moment::Stop,
        call,
        now,
        Some(build),
        ledger,
        || Some(judged(fingerprint)),
    )
}

fn blocks(ruling: &Ruling) -> bool {
    matches!(ruling.decision, Decision::Block(_))
}

#[test]
fn nobody_is_held_before_the_code_is_looked_at_unless_the_build_is_theirs() {
    let elsewhere = Build {
        owner: BuildOwner::Elsewhere,
        ..build()
    };
    let another = Build {
        owner: BuildOwner::Here {
            agent: Some("s2".into()),
            alive: true,
        },
        ..build()
    };
    let blocked = Build {
        blocked: true,
        ..build()
    };
    let delegated = Build {
        delegated: 1,
        ..build()
    };
    let unfinished = Call {
        unfinished: true,
        ..call()
    };
    let background = Call {
        background: 1,
        ..call()
    };
    let nameless = Call::default();
    for (name, call, build) in [
        ("no build", call(), None),
        ("another worktree", call(), Some(elsewhere)),
        ("another agent", call(), Some(another)),
        ("no name, and the owner has one", nameless, Some(build())),
        ("interrupted", unfinished, Some(build())),
        ("background", background, Some(build())),
        ("delegated", call(), Some(delegated)),
        ("blocked", call(), Some(blocked)),
    ] {
        let ledger = Ledger {
            build: "k1".into(),
            agent: Some("s1".into()),
            row: 2,
            total: 2,
            ..Ledger::default()
        };
        let ruling = decide(
            Host::Claude,
            Moment::Stop,
            &call,
            1,
            build.as_ref(),
            &ledger,
            || panic!("{name}: the code was looked at"),
        );
        assert!(
            matches!(ruling.decision, Decision::Allow | Decision::Park),
            "{name}"
        );
        assert_eq!(
            (ruling.ledger.total, ruling.record),
            (2, None),
            "{name}: budget"
        );
    }
}

#[test]
fn a_sub_agent_is_held_only_where_it_is_the_one_that_builds() {
    let sub = Call {
        subagent: Some("s2".into()),
        ..call()
    };
    let decided = |build: &Build| {
        decide(
            Host::Claude,
            Moment::SubagentStop,
            &sub,
            1,
            Some(build),
            &Ledger::default(),
            || Some(judged("a")),
        )
    };
    assert_eq!(decided(&build()).decision, Decision::Allow);
    let its_own = Build {
        owner: BuildOwner::Here {
            agent: Some("s2".into()),
            alive: true,
        },
        ..build()
    };
    let ruling = decide(
        Host::Claude,
        Moment::SubagentStop,
        &sub,
        1,
        Some(&its_own),
        &Ledger::default(),
        || Some(judged("a")),
    );
    assert!(blocks(&ruling));
}

#[test]
fn h1_a_stop_that_names_a_sub_agent_is_the_sub_agents() {
    let sub = Call {
        subagent: Some("s2".into()),
        ..call()
    };
    let free = Build {
        owner: BuildOwner::Nobody,
        ..build()
    };
    for build in [build(), free] {
        let ruling = stop(&sub, &build, &Ledger::default(), 1, "a");
        assert_eq!(ruling.decision, Decision::Allow);
        assert_eq!((ruling.adopt, ruling.record), (false, None));
    }
}

#[test]
fn h2_the_text_of_a_block_is_known_again() {
    let Decision::Block(text) = stop(&call(), &build(), &Ledger::default(), 1, "a").decision else {
        panic!("no block");
    };
    assert!(is_block_text(&text) && is_block_text(&format!("\n {text}\n")));
    assert!(!is_block_text(
        "What does `git loopx: the build of session` mean?"
    ));
}

#[test]
fn h4_who_types_a_build_step_is_held_whatever_is_recorded() {
    let driven = Ledger {
        driver: Some(Driver {
            agent: "s2".into(),
            at: 0,
        }),
        ..Ledger::default()
    };
    let restarted = Call {
        session: Some("s2".into()),
        ..Call::default()
    };
    let ruling = stop(&restarted, &build(), &driven, 1, "a");
    assert!(blocks(&ruling) && ruling.adopt);
    // Later it needs the record.
    assert!(!blocks(&stop(&restarted, &build(), &driven, 10_000, "a")));
}

#[test]
fn a_build_without_a_known_agent_is_adopted_unless_another_drives_it() {
    let free = Build {
        owner: BuildOwner::Here {
            agent: None,
            alive: true,
        },
        ..build()
    };
    let ruling = stop(&call(), &free, &Ledger::default(), 1, "a");
    assert!(blocks(&ruling) && ruling.adopt);
    let driven = Ledger {
        driver: Some(Driver {
            agent: "s2".into(),
            at: 0,
        }),
        ..Ledger::default()
    };
    assert_eq!(
        stop(&call(), &free, &driven, 1, "a").decision,
        Decision::Allow
    );
    // The other one has not been seen for long.
    assert!(blocks(&stop(&call(), &free, &driven, 10_000, "a")));
    let dead = Build {
        owner: BuildOwner::Here {
            agent: Some("s2".into()),
            alive: false,
        },
        ..build()
    };
    let ruling = stop(&call(), &dead, &Ledger::default(), 1, "a");
    assert!(blocks(&ruling) && ruling.adopt);
    // A call without a name is nobody's.
    let ruling = stop(&Call::default(), &free, &Ledger::default(), 1, "a");
    assert_eq!(ruling.decision, Decision::Allow);
}

#[test]
fn two_identical_blocks_and_then_it_is_recorded() {
    let mut ledger = Ledger::default();
    for _ in 0..2 {
        let ruling = stop(&call(), &build(), &ledger, 1, "a");
        assert!(blocks(&ruling));
        ledger = ruling.ledger;
    }
    let ruling = stop(&call(), &build(), &ledger, 1, "a");
    assert!(
        matches!(&ruling.decision, Decision::Nudge(text) if text.contains("blocked:no-progress"))
    );
    assert_eq!(
        ruling.record.map(|(cause, _)| cause),
        Some(BlockCause::NoProgress)
    );
    // Whatever could be recorded: the third is never a block.
    assert!(!blocks(&stop(&call(), &build(), &ruling.ledger, 1, "a")));
    // Something changed: it is held again.
    assert!(blocks(&stop(&call(), &build(), &ruling.ledger, 1, "b")));
}

#[test]
fn progress_is_held_up_to_the_caps_and_no_further() {
    let mut ledger = Ledger::default();
    let mut given = 0;
    for n in 0..200 {
        let ruling = stop(&call(), &build(), &ledger, 1, &n.to_string());
        given += u32::from(blocks(&ruling));
        if n + 1 == MAX_ROW {
            assert_eq!(given, MAX_ROW);
        } else if n == MAX_ROW {
            assert_eq!(
                ruling.record.as_ref().map(|(cause, _)| *cause),
                Some(BlockCause::Exhausted)
            );
        }
        ledger = ruling.ledger;
    }
    assert_eq!(given, MAX_TOTAL);
    let mut row = stop(&call(), &build(), &Ledger::default(), 0, "a").ledger;
    let late = stop(&call(), &build(), &row, MAX_SECONDS + 1, "b");
    assert_eq!(
        late.record.map(|(cause, _)| cause),
        Some(BlockCause::Exhausted)
    );
    row.breathe();
    assert!(blocks(&stop(&call(), &build(), &row, MAX_SECONDS + 1, "b")));
}

#[test]
fn another_build_or_another_agent_inherits_no_counters() {
    let ledger = Ledger {
        build: "k1".into(),
        agent: Some("s1".into()),
        row: MAX_ROW,
        total: MAX_TOTAL,
        fingerprint: "a".into(),
        same: 2,
        parked: Some(Parked {
            at: 0,
            why: "x".into(),
            told: true,
        }),
        ..Ledger::default()
    };
    let next = Build {
        key: "k2".into(),
        ..build()
    };
    assert!(blocks(&stop(&call(), &next, &ledger, 1, "a")));
    assert_eq!(
        stop(&call(), &build(), &ledger, 1, "a").decision,
        Decision::Park
    );
}

#[test]
fn background_work_parks_and_its_end_is_judged() {
    let busy = Call {
        background: 2,
        ..call()
    };
    let parked = stop(&busy, &build(), &Ledger::default(), 1, "a");
    assert_eq!(parked.decision, Decision::Park);
    assert!(parked.ledger.parked.is_some());
    let after = stop(&call(), &build(), &parked.ledger, 2, "a");
    assert!(blocks(&after) && after.ledger.parked.is_none());
    assert_eq!(after.ledger.total, 1);
}

#[test]
fn one_stop_that_two_hosts_tell_of_is_answered_once() {
    let first = stop(&call(), &build(), &Ledger::default(), 1, "a");
    let decided = |host, now| {
        decide(
            host,
            Moment::Stop,
            &call(),
            now,
            Some(&build()),
            &first.ledger,
            || Some(judged("a")),
        )
    };
    let second = decided(Host::Cursor, 2);
    assert_eq!((second.decision, second.ledger.total), (Decision::Allow, 1));
    assert!(blocks(&decided(Host::Claude, 2)));
    assert!(blocks(&decided(Host::Cursor, 60)));
}

#[test]
fn our_own_failure_and_a_ready_hand_off_hold_nobody() {
    for judged in [None, Some(Judged::default())] {
        let ruling = decide(
            Host::Codex,
            Moment::Stop,
            &call(),
            1,
            Some(&build()),
            &Ledger::default(),
            || judged,
        );
        assert_eq!((ruling.decision, ruling.record), (Decision::Allow, None));
    }
}

#[test]
fn a_block_says_what_is_missing_and_every_way_out() {
    let Decision::Block(text) = stop(&call(), &build(), &Ledger::default(), 1, "a").decision else {
        panic!("no block");
    };
    for part in [
        "demo",
        "- lane: not reported",
        "git loopx run --task VS-1",
        "git loopx agent block --reason",
        "git loopx agent park --reason",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
