//! Writers at work while git tidies up: `gc --prune=now`, `pack-refs`, `repack -ad` and `prune` in a loop,
//! and a foreign git that moves the branch and other refs (reference git-stores, section 6, 2 and 3).
//! LOOPX_STRESS=1 makes it long.

use crate::support::store::{
    ID, assert_nothing_lost, assert_whole, count, detached, started, tell, tip,
};
use crate::support::{LOOPX, Sandbox};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const WRITERS: usize = 8;
const WORKTREES: usize = 4;

/// Commands that tidy up, in turn. One after the other: that two of these lose each other's objects is git's.
const TIDY: [&[&str]; 4] = [
    &["gc", "--prune=now", "--quiet"],
    &["pack-refs", "--all"],
    &["repack", "-ad", "--quiet"],
    &["prune", "--expire=now"],
];

/// Makes an operation of a writer: on the session of all, or on the writer's own.
fn operation(s: &Sandbox, dir: &Path, writer: usize, turn: usize) {
    let own = format!("own-{writer}");
    let id = if turn % 3 == 1 { own.as_str() } else { ID };
    let call = s.call(LOOPX).cwd(dir).args(&["-s", id, "--json"]);
    let (out, codes): (_, &[i32]) = match turn % 3 {
        0 => (call.args(&["run", "--", "true"]).run(), &[0]),
        1 => {
            let text = format!("# Writer {writer}\n\nturn {turn}\n");
            (call.args(&["put", "spec.md"]).stdin(text).run(), &[0])
        }
        // A round is recorded, passed or not.
        _ => (call.args(&["clarify"]).run(), &[0, 1]),
    };
    assert!(
        out.code.is_some_and(|code| codes.contains(&code)),
        "writer {writer}, turn {turn}\n{out}"
    );
}

/// A commit of a foreign git on top of the branch, which changes nothing; `None` where we were faster.
fn foreign_commit(s: &Sandbox) -> Option<String> {
    let tip = tip(s);
    let tree = format!("{tip}^{{tree}}");
    let commit = s
        .git(&["commit-tree", &tree, "-p", &tip, "-m", "foreign"])
        .line();
    let out = s.git(&["update-ref", "refs/heads/loopx", &commit, &tip]);
    (out.code == Some(0)).then_some(commit)
}

#[test]
fn writers_lose_nothing_while_git_tidies_up_and_a_foreign_git_writes() {
    let turns = count(6, 200);
    let s = started();
    let folders: Vec<_> = (0..WORKTREES)
        .map(|at| detached(&s, &format!("w{at}")))
        .collect();
    for writer in 0..WRITERS {
        let dir = &folders[writer % WORKTREES];
        let name = format!("Own {writer}");
        s.loopx_in(dir, &["start", "--no-branch", &name]).ok();
    }
    let working = AtomicUsize::new(WRITERS);
    let done = AtomicBool::new(false);
    let start = Barrier::new(WRITERS + 2);
    // Bounded, so that a failure elsewhere ends the test.
    let most = turns * 40;
    let (rounds, complained, foreign, flips) = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (s, folders, start) = (&s, &folders, &start);
            let (working, done) = (&working, &done);
            scope.spawn(move || {
                start.wait();
                for turn in 0..turns {
                    operation(s, &folders[writer % WORKTREES], writer, turn);
                }
                if working.fetch_sub(1, Ordering::Relaxed) == 1 {
                    done.store(true, Ordering::Relaxed);
                }
            });
        }
        let tidy = scope.spawn(|| {
            start.wait();
            let (mut rounds, mut complained) = (0, 0);
            let mut foreign = BTreeSet::new();
            while rounds < 2 || rounds < most && !done.load(Ordering::Relaxed) {
                for args in TIDY {
                    // Its commit is loose until the ref stands: between two of these it is safe.
                    foreign.extend((0..3).filter_map(|_| foreign_commit(&s)));
                    complained += usize::from(s.git(args).code != Some(0));
                }
                rounds += 1;
            }
            (rounds, complained, foreign)
        });
        // Another ref comes and goes: its deletion locks and rewrites the packed refs.
        let other = scope.spawn(|| {
            start.wait();
            let mut flips = 0;
            while flips < 2 || flips < most && !done.load(Ordering::Relaxed) {
                drop(s.git(&["update-ref", "refs/heads/other", "refs/heads/main"]));
                drop(s.git(&["update-ref", "-d", "refs/heads/other"]));
                flips += 1;
            }
            flips
        });
        let (rounds, complained, foreign) = tidy.join().expect("a git that tidies up");
        (
            rounds,
            complained,
            foreign,
            other.join().expect("a foreign git"),
        )
    });
    let own = (0..turns).filter(|turn| turn % 3 == 1).count();
    for writer in 0..WRITERS {
        assert_nothing_lost(&s, &format!("own-{writer}"), 1 + own);
    }
    assert_nothing_lost(&s, ID, 1 + WRITERS * (turns - own));
    assert_whole(&s);
    let history = s.git(&["rev-list", "refs/heads/loopx"]).ok();
    let history: BTreeSet<String> = history.lines().map(str::to_owned).collect();
    assert!(!foreign.is_empty(), "the foreign git never got in");
    assert!(foreign.is_subset(&history), "a foreign commit was lost");
    // Something has to be left that git can tidy up: it took our packs too.
    s.git(&["gc", "--prune=now", "--quiet"]).ok();
    assert_whole(&s);
    tell(&format!(
        "{} operations by {WRITERS} writers in {WORKTREES} worktrees; {rounds} rounds of gc, pack-refs, \
         repack, prune ({complained} complained); {} foreign commits kept, {flips} flips of another ref",
        WRITERS * turns,
        foreign.len()
    ));
}
