//! The plug pulled at every step of the write path: the next command works without help, git and git
//! loopx find nothing wrong, and the state is the old one or the new one (reference git-stores, 6, 4).

use crate::support::store::{ID, assert_nothing_lost, assert_whole, operations, put, started, tip};
use crate::support::{LOOPX, Sandbox};
use loopx_base::failpoint::{ROLL_UP, WRITE_PATH};

/// Runs a command that dies at a place; says whether it got there.
fn dies_at(s: &Sandbox, place: &str, args: &[&str]) -> bool {
    let call = s.call(LOOPX).args(&["-s", ID]).args(args);
    let call = call.durable().env("LOOPX_FAILPOINT", place);
    let out = call.stdin("# After\n").run();
    out.code.is_none()
}

/// Asserts what has to hold after a death: one more operation or none, and everything works.
fn survives(s: &Sandbox, place: &str, known: usize, before: &str) {
    let after = tip(s);
    let made = operations(s, ID).len() - known;
    assert_eq!(made, usize::from(after != before), "{place}");
    s.loopx(&["-s", ID, "run", "--", "true"]).ok();
    assert_nothing_lost(s, ID, known + made + 1);
    assert_whole(s);
    let doctor = s.loopx(&["doctor"]).ok();
    assert!(doctor.contains("leftovers  none"), "{place}\n{doctor}");
    assert!(!s.exists(".git/objects/loopx"), "{place}");
    for name in ["heads/loopx", "loopx/shadow/loopx"] {
        assert!(!s.exists(format!(".git/refs/{name}.lock")), "{place}");
    }
    assert_eq!(
        s.git(&["rev-parse", "refs/loopx/shadow/loopx"]).line(),
        tip(s),
        "{place}"
    );
}

#[test]
fn a_death_at_every_step_of_a_write_leaves_the_old_state_or_the_new_one() {
    let s = started();
    put(&s, "spec.md", "# Before\n").ok();
    let mut reached = 0;
    for place in WRITE_PATH {
        let known = operations(&s, ID).len();
        let before = tip(&s);
        reached += usize::from(dies_at(&s, place, &["run", "--", "true"]));
        survives(&s, place, known, &before);
    }
    assert_eq!(reached, WRITE_PATH.len());
}

#[test]
fn a_death_while_the_branch_is_made_leaves_none_or_all_of_it() {
    for place in WRITE_PATH {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        let call = s.call(LOOPX).args(&["init"]);
        // It may die before, in or after the making; the second one makes it or finds it.
        drop(call.durable().env("LOOPX_FAILPOINT", place).run());
        let again = s.loopx(&["init"]);
        assert!(again.code.is_some(), "{place}\n{again}");
        s.loopx(&["start", "Auth timeout"]).ok();
        assert_nothing_lost(&s, ID, 1);
        assert_whole(&s);
    }
}

#[test]
fn a_death_at_every_step_of_a_roll_up_loses_nothing() {
    let s = started();
    for place in ROLL_UP {
        let mut died = false;
        for _ in 0..40 {
            let known = operations(&s, ID).len();
            let before = tip(&s);
            if dies_at(&s, place, &["run", "--", "true"]) {
                survives(&s, place, known, &before);
                died = true;
                break;
            }
        }
        assert!(died, "{place} was never reached");
    }
}

#[test]
fn packs_are_rolled_up_before_they_are_many() {
    let s = started();
    for _ in 0..60 {
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        let packs = s.snapshot(".git/objects/pack");
        let packs = packs
            .iter()
            .filter(|(path, ..)| path.extension().is_some_and(|end| end == "pack"));
        assert!(packs.count() < 32);
    }
    assert_nothing_lost(&s, ID, 61);
    assert_whole(&s);
}

#[test]
fn a_roll_up_that_was_much_work_is_not_done_again() {
    let s = started();
    // 24 of them are more than half of what one roll-up takes on.
    let text = "A line of a long text.\n".repeat(12_000);
    for n in 0..30 {
        put(&s, "spec.md", &format!("# Round {n}\n{text}")).ok();
    }
    let packs = s.snapshot(".git/objects/pack");
    let settled = packs.iter().filter(|(path, ..)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("pack-6c6f6f7073") && name.ends_with(".pack")
    });
    assert_eq!(settled.count(), 1, "{packs:#?}");
    s.loopx(&["doctor"]).ok();
    assert_nothing_lost(&s, ID, 31);
    assert_whole(&s);
}

/// The file of a repository that a pattern names, with what stands there.
fn pack_of_the_tip(s: &Sandbox) -> Vec<std::path::PathBuf> {
    let dir = s.path().join(".git/objects/pack");
    let mut packs: Vec<_> = s
        .snapshot(".git/objects/pack")
        .into_iter()
        .map(|(path, ..)| dir.join(path))
        .filter(|path| path.extension().is_some_and(|end| end == "pack"))
        .collect();
    packs.sort_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
    packs
}

/// Power loss without fsync, or a disk that lied: each file cut to nothing.
#[test]
fn a_torn_file_is_named_and_can_be_put_right() {
    for torn in ["shadow", "known", "lock", "durable", "ref"] {
        let s = started();
        put(&s, "spec.md", "# Before\n").ok();
        let known = tip(&s);
        let path = match torn {
            "shadow" => ".git/refs/loopx/shadow/loopx",
            "known" => ".git/loopx/known/loopx",
            "lock" => ".git/loopx/lock",
            "durable" => ".git/loopx/durable",
            _ => ".git/refs/heads/loopx",
        };
        s.write(path, "");
        match torn {
            "ref" => {
                let out = s.loopx(&["status"]);
                assert_ne!(out.code, Some(0), "{out}");
                out.says("refs/heads/loopx");
                s.loopx(&["doctor"]).fails_with(1).says("--recover");
                s.loopx(&["doctor", "--recover"]).ok();
            }
            "shadow" => {
                s.loopx(&["status"]).ok();
                s.loopx(&["doctor"]).fails_with(1).says("--fix");
                s.loopx(&["doctor", "--fix"]).ok();
            }
            _ => {}
        }
        assert_eq!(tip(&s), known, "{torn}");
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        assert_nothing_lost(&s, ID, 3);
        assert_whole(&s);
        s.loopx(&["doctor"]).ok();
    }
}

#[test]
fn a_torn_pack_is_named() {
    let s = started();
    put(&s, "spec.md", "# Before\n").ok();
    let packs = pack_of_the_tip(&s);
    let last = packs.last().expect("a pack");
    std::fs::remove_file(last).expect("a file");
    std::fs::write(last, "").expect("a file");
    let out = s.loopx(&["status"]);
    assert_eq!(out.code, Some(70), "{out}");
    assert!(
        !out.stderr.trim().is_empty() && out.stdout.is_empty(),
        "{out}"
    );
    s.loopx(&["doctor"]).fails_with(1);
}

/// A limit on what may be written stands for a full disk, for root too.
#[test]
fn a_full_disk_is_a_refusal_in_one_sentence_and_leaves_nothing_half() {
    let s = started();
    put(&s, "spec.md", "# Before\n").ok();
    let before = tip(&s);
    let text: String = (0..20_000)
        .map(|n| format!("{n} {}\n", n * 7919 % 10007))
        .collect();
    s.write("../big.md", format!("# Big\n\n{text}"));
    let line = format!("trap '' XFSZ; ulimit -f 16; exec '{LOOPX}' -s {ID} put spec.md ../big.md");
    let out = s.call("sh").args(&["-c", &line]).run();
    assert_ne!(out.code, Some(0), "{out}");
    out.says("File too large");
    assert_eq!(tip(&s), before);
    assert!(s.loopx(&["doctor"]).ok().contains("leftovers  none"));
    s.loopx(&["-s", ID, "put", "spec.md", "../big.md"]).ok();
    assert_nothing_lost(&s, ID, 3);
    assert_whole(&s);
}
