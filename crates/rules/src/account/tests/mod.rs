//! Tables over histories in memory.

mod attempts;
mod histories;
mod laws;
mod model;
mod pieces;
mod rules;
mod sessions;
mod world;

use super::{Account, Candidate, Landing, PutDown, Reviewed, Rules, Step, account};
use crate::policy::Policy;
use crate::stage::Stage;
use loopx_base::id::Oid;
use world::{World, number, oid, session};

/// A verdict on everything that `head` has beyond `seen`.
fn reviewed(world: &World, name: &str, seen: &Oid, head: &Oid) -> Candidate {
    Candidate {
        session: session(name),
        stage: Stage::Done,
        ended: false,
        verdict: Some(Reviewed {
            onto: Some("main".into()),
            seen: Some(seen.clone()),
            head: Some(head.clone()),
            tree: world.commits[number(head)].tree.clone(),
            reasoned: false,
        }),
        result: None,
    }
}

/// `main` with a file, and a branch of two commits from there.
struct Start {
    world: World,
    main: Oid,
    one: Oid,
    two: Oid,
    demo: Candidate,
}

fn start() -> Start {
    let mut world = World::default();
    let main = world.add(&[], &[("src/old", "1"), ("src/more", "1")]);
    let one = world.add(&[&main], &[("src/a", "1")]);
    let two = world.add(&[&one], &[("src/old", "2")]);
    let demo = reviewed(&world, "demo", &main, &two);
    Start {
        world,
        main,
        one,
        two,
        demo,
    }
}

fn judge(world: &World, old: &Oid, new: &Oid, candidates: &[Candidate]) -> Account {
    judged(world, (old, new), candidates, PutDown::Highest)
}

fn judged(
    world: &World,
    (old, new): (&Oid, &Oid),
    candidates: &[Candidate],
    put_down: PutDown,
) -> Account {
    let policy = "[gates]\nprotected = [\"main\", \"release\"]\n[landing]\nbackport = [\"release\"]\n\
         [[landing.exception]]\npaths = [\"lock\"]\nkey = \"ssh-ed25519 AAAA\"\n";
    let policy = Policy::parse(policy, "loopx.toml").expect("a policy");
    let rules = Rules::new(&policy).expect("rules");
    let landing = Landing {
        target: "main".into(),
        old: Some(old.clone()),
        new: new.clone(),
        tip: None,
        backports: Vec::new(),
        put_down,
    };
    account(&landing, &rules, candidates, world).expect("an account")
}

/// The letters of the steps, `-` where there is none, parents first.
fn letters(account: &Account) -> String {
    let entries = account.entries.iter();
    let letter = |entry: &super::Entry| match &entry.verdict {
        Ok(step) => step.letter().to_owned(),
        Err(_) => "-".to_owned(),
    };
    entries.map(letter).collect()
}

fn first_why(account: &Account) -> String {
    let mut whys = account.entries.iter();
    let why = whys.find_map(|entry| entry.verdict.as_ref().err());
    why.map_or(String::new(), ToString::to_string)
}

#[test]
fn a_reviewed_branch_lands_in_every_honest_shape() {
    let Start {
        mut world,
        main,
        one,
        two,
        demo,
    } = start();
    let all = [demo];
    assert_eq!(letters(&judge(&world, &main, &two, &all)), "FF");
    let beside = world.add(&[&main], &[("README.md", "x")]);
    let merge = world.merged(&beside, &two, &[&beside, &two]);
    assert_eq!(letters(&judge(&world, &beside, &merge, &all)), "FFM");
    let squash = world.merged(&beside, &two, &[&beside]);
    assert_eq!(letters(&judge(&world, &beside, &squash, &all)), "S");
    let first = world.add(&[&beside], &[("src/a", "1")]);
    let last = world.add(&[&first], &[("src/old", "2")]);
    assert_eq!(letters(&judge(&world, &beside, &last, &all)), "RR");
    // The branch took in what the target has after it was reviewed; the other way round, too.
    let update = world.merged(&two, &beside, &[&two, &beside]);
    assert_eq!(letters(&judge(&world, &beside, &update, &all)), "FFF");
    let squash = world.merged(&beside, &update, &[&beside]);
    assert_eq!(letters(&judge(&world, &beside, &squash, &all)), "S");
    // A squash that was made apart, and merged.
    let apart = world.merged(&main, &two, &[&main]);
    let merge = world.merged(&beside, &apart, &[&beside, &apart]);
    assert_eq!(letters(&judge(&world, &beside, &merge, &all)), "SM");
    // A document, an empty commit, and a merge of a document.
    let document = world.add(&[&two], &[("docs/a", "x")]);
    let empty = world.add(&[&document], &[]);
    assert_eq!(letters(&judge(&world, &main, &empty, &all)), "FFEE");
    let side = world.add(&[&main], &[("docs/b", "x")]);
    let merge = world.merged(&beside, &side, &[&beside, &side]);
    assert_eq!(letters(&judge(&world, &beside, &merge, &all)), "EM");
    // Half a branch is none.
    assert_eq!(letters(&judge(&world, &main, &one, &all)), "-");
}

#[test]
fn several_sessions_land_in_one_push() {
    let Start {
        mut world,
        main,
        one,
        two,
        demo,
    } = start();
    let other = world.add(&[&main], &[("src/b", "1")]);
    let other = [demo, reviewed(&world, "other", &main, &other)];
    let head = other[1]
        .verdict
        .as_ref()
        .and_then(|v| v.head.clone())
        .expect("a head");
    let first = world.merged(&main, &two, &[&main]);
    let second = world.merged(&first, &head, &[&first]);
    assert_eq!(letters(&judge(&world, &main, &second, &other)), "SS");
    let second = world.merged(&first, &head, &[&first, &head]);
    let account = judge(&world, &main, &second, &other);
    assert_eq!(letters(&account), "FSM");
    assert!(account.is_covered());
    assert_eq!(account.sessions().len(), 2);
    // Stacked: the second was reviewed on top of the first, and shows both.
    let top = world.add(&[&two], &[("src/b", "1")]);
    let stacked = [other[0].clone(), reviewed(&world, "top", &main, &top)];
    let account = judge(&world, &main, &top, &stacked);
    assert_eq!(letters(&account), "FFF");
    assert_eq!(account.sessions(), [session("top")]);
    let account = judged(&world, (&main, &top), &stacked, PutDown::Lowest);
    assert_eq!(letters(&account), "FFF");
    assert_eq!(account.step(&one), Some(&Step::Forward(session("demo"))));
    assert_eq!(account.sessions(), [session("demo"), session("top")]);
}

/// Commits of the part were each shown, but by a verdict about the whole.
#[test]
fn a_part_of_a_reviewed_branch_lands_beside_no_other_one() {
    let Start {
        mut world,
        main,
        one,
        two,
        demo,
    } = start();
    let other = world.add(&[&main], &[("src/b", "1")]);
    let all = [demo, reviewed(&world, "other", &main, &other)];
    for parents in [[&one, &other], [&other, &one]] {
        let part = world.merged(&one, &other, &parents);
        assert!(!judge(&world, &main, &part, &all).is_covered());
    }
    let whole = world.merged(&two, &other, &[&two, &other]);
    assert!(judge(&world, &main, &whole, &all).is_covered());
}

#[test]
fn g1_g10_guarded_paths_land_by_no_exception() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let all = [demo];
    for path in [
        "loopx.toml",
        "specs/a/spec.md",
        "AGENTS.md",
        "docs/adr/0001-a.md",
    ] {
        let evil = world.add(&[&two], &[(path, "evil")]);
        world.named.insert(evil.clone(), session("demo"));
        let account = judge(&world, &two, &evil, &all);
        assert_eq!(letters(&account), "-", "{path}");
        world.signed.insert(evil.clone());
        assert_eq!(letters(&judge(&world, &two, &evil, &all)), "-", "{path}");
    }
    let honest = world.add(&[&main], &[("docs/a", "x")]);
    assert_eq!(letters(&judge(&world, &main, &honest, &all)), "E");
}

#[test]
fn g2_an_old_tree_is_no_squash_of_it() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let all = [demo];
    let squash = world.merged(&main, &two, &[&main]);
    let later = world.add(&[&squash], &[("src/old", "3"), ("src/fix", "x")]);
    let back = world.with_tree(&[&later], world.files(&two));
    let account = judge(&world, &later, &back, &all);
    assert_eq!(letters(&account), "-");
    // One that conflicts and has not landed is no better.
    let fix = world.add(&[&main], &[("src/old", "3")]);
    let bare = world.with_tree(&[&fix], world.files(&two));
    let account = judge(&world, &fix, &bare, &all);
    assert_eq!(letters(&account), "-");
    assert!(
        first_why(&account).contains("conflict with"),
        "{}",
        first_why(&account)
    );
}

#[test]
fn g3_a_verdict_lands_once() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let all = [demo];
    let squash = world.merged(&main, &two, &[&main]);
    let back = world.add(&[&squash], &[("src/old", "1"), ("src/a", "")]);
    let again = world.with_tree(&[&back], world.files(&two));
    let account = judge(&world, &back, &again, &all);
    assert_eq!(letters(&account), "-");
    assert!(
        first_why(&account).contains("counts for one landing only"),
        "{}",
        first_why(&account)
    );
    // By a merge, by picks, and on a branch that took the target in.
    let merge = world.merged(&back, &two, &[&back, &two]);
    assert!(!judge(&world, &back, &merge, &all).is_covered());
    let first = world.add(&[&back], &[("src/a", "1")]);
    let last = world.add(&[&first], &[("src/old", "2")]);
    assert!(!judge(&world, &back, &last, &all).is_covered());
    let update = world.merged(&two, &back, &[&two, &back]);
    assert!(!judge(&world, &back, &update, &all).is_covered());
    // It lands once in one push, too.
    assert!(!judge(&world, &main, &again, &all).is_covered());
    // The same on another line of main is a first time.
    let beside = world.add(&[&main], &[("docs/a", "x")]);
    let squash = world.merged(&beside, &two, &[&beside]);
    assert!(judge(&world, &beside, &squash, &all).is_covered());
}

#[test]
fn g3_a_verdict_does_not_land_again_below_another_one() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let top = world.add(&[&two], &[("src/top", "1")]);
    // Reviewed from the first session's end on: what is below was shown by that one alone.
    let all = [demo, reviewed(&world, "top", &two, &top)];
    assert_eq!(letters(&judge(&world, &main, &top, &all)), "FFF");
    let squash = world.merged(&main, &two, &[&main]);
    let back = world.add(&[&squash], &[("src/old", "1"), ("src/a", "")]);
    let merge = world.merged(&back, &top, &[&back, &top]);
    assert!(!judge(&world, &back, &merge, &all).is_covered());
    let again = world.merged(&back, &top, &[&back]);
    assert!(!judge(&world, &back, &again, &all).is_covered());
}

#[test]
fn g4_what_the_review_did_not_show_does_not_land() {
    let Start {
        mut world,
        main,
        one,
        two,
        ..
    } = start();
    // The review began at the first commit of the branch.
    let all = [reviewed(&world, "demo", &one, &two)];
    let account = judge(&world, &main, &two, &all);
    assert_eq!(letters(&account), "-F");
    assert!(
        first_why(&account).contains("began after"),
        "{}",
        first_why(&account)
    );
    let squash = world.merged(&main, &two, &[&main]);
    assert!(!judge(&world, &main, &squash, &all).is_covered());
    let merge = world.merged(&main, &two, &[&main, &two]);
    assert!(!judge(&world, &main, &merge, &all).is_covered());
    // Another review showed the rest.
    let below = [all[0].clone(), reviewed(&world, "below", &main, &one)];
    assert_eq!(letters(&judge(&world, &main, &two, &below)), "FF");
}

#[test]
fn g9_what_is_taken_back_in_the_same_push_has_landed() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let all = [demo];
    let evil = world.add(&[&two], &[("src/evil", "x")]);
    let back = world.add(&[&evil], &[("src/evil", "")]);
    assert_eq!(letters(&judge(&world, &main, &back, &all)), "FF--");
    let squash = world.merged(&main, &two, &[&main]);
    let evil = world.add(&[&squash], &[("src/evil", "x")]);
    let back = world.add(&[&evil], &[("src/evil", "")]);
    assert_eq!(letters(&judge(&world, &main, &back, &all)), "S--");
    // A merge that adds something is none.
    let tree = {
        let mut tree = world.merge_of(&squash, &two).expect("a merge");
        tree.insert("src/evil".into(), "x".into());
        tree
    };
    let merge = world.with_tree(&[&main, &two], tree);
    assert!(!judge(&world, &main, &merge, &all).is_covered());
}

#[test]
fn g22_a_review_of_nothing_covers_nothing() {
    let Start {
        mut world, main, ..
    } = start();
    let evil = world.add(&[&main], &[("src/evil", "x")]);
    let back = world.add(&[&evil], &[("src/evil", "")]);
    let mut demo = reviewed(&world, "demo", &main, &back);
    let account = judge(&world, &main, &back, std::slice::from_ref(&demo));
    assert_eq!(letters(&account), "--");
    // The archive of such a session needs a reason as well.
    let archive = world.add(&[&main], &[("specs/a/spec.md", "x")]);
    world.archives.insert(archive.clone());
    demo.result = Some(archive.clone());
    assert_eq!(
        letters(&judge(&world, &main, &archive, std::slice::from_ref(&demo))),
        "-"
    );
    if let Some(verdict) = &mut demo.verdict {
        verdict.reasoned = true;
    }
    assert_eq!(letters(&judge(&world, &main, &archive, &[demo])), "A");
}

#[test]
fn an_archive_lands_as_it_was_recorded_and_where_it_merges() {
    let Start {
        mut world,
        main,
        two,
        mut demo,
        ..
    } = start();
    let archive = world.add(&[&two], &[("specs/a/spec.md", "x")]);
    demo.result = Some(archive.clone());
    let all = [demo];
    // Not what the delta makes.
    assert_eq!(letters(&judge(&world, &main, &archive, &all)), "FF-");
    world.archives.insert(archive.clone());
    assert_eq!(letters(&judge(&world, &main, &archive, &all)), "FFA");
    // With the branch as one commit, or later by itself.
    let squash = world.merged(&main, &archive, &[&main]);
    assert_eq!(letters(&judge(&world, &main, &squash, &all)), "S");
    let squash = world.merged(&main, &two, &[&main]);
    let picked = world.add(&[&squash], &[("specs/a/spec.md", "x")]);
    assert_eq!(letters(&judge(&world, &squash, &picked, &all)), "A");
    // Once.
    let back = world.add(&[&picked], &[("specs/a/spec.md", "")]);
    let again = world.add(&[&back], &[("specs/a/spec.md", "x")]);
    assert!(!judge(&world, &back, &again, &all).is_covered());
}

#[test]
fn an_exception_is_a_commit_that_its_key_signed() {
    let Start {
        mut world, main, ..
    } = start();
    let lock = world.add(&[&main], &[("lock", "2")]);
    assert_eq!(letters(&judge(&world, &main, &lock, &[])), "-");
    world.signed.insert(lock.clone());
    assert_eq!(letters(&judge(&world, &main, &lock, &[])), "E");
    let merge = world.merged(&main, &lock, &[&main, &lock]);
    assert_eq!(letters(&judge(&world, &main, &merge, &[])), "EM");
    let more = world.add(&[&main], &[("lock", "2"), ("src/a", "x")]);
    world.signed.insert(more.clone());
    assert_eq!(letters(&judge(&world, &main, &more, &[])), "-");
}

#[test]
fn a_protected_branch_lends_its_commits_where_policy_says_so() {
    let Start {
        mut world,
        main,
        two,
        ..
    } = start();
    let fix = world.add(&[&main], &[("src/fix", "x")]);
    let pick = world.add(&[&two], &[("src/fix", "x")]);
    let evil = world.add(&[&two], &[("src/fix", "y")]);
    for commit in [&pick, &evil] {
        world.picked.insert(commit.clone(), fix.clone());
    }
    let rules = Rules::new(&Policy::default()).expect("rules");
    let judged = |world: &World, old: &Oid, new: &Oid, lends: bool| {
        let landing = Landing {
            target: "main".into(),
            old: Some(old.clone()),
            new: new.clone(),
            tip: None,
            backports: lends
                .then(|| ("release".to_owned(), fix.clone()))
                .into_iter()
                .collect(),
            put_down: PutDown::Highest,
        };
        letters(&account(&landing, &rules, &[], world).expect("an account"))
    };
    assert_eq!(judged(&world, &two, &pick, true), "R");
    assert_eq!(judged(&world, &two, &pick, false), "-");
    assert_eq!(judged(&world, &two, &evil, true), "-");
    let back = world.add(&[&pick], &[("src/fix", "")]);
    let again = world.add(&[&back], &[("src/fix", "x")]);
    world.picked.insert(again.clone(), fix.clone());
    assert_eq!(judged(&world, &back, &again, true), "-");
    let merge = world.merged(&two, &fix, &[&two, &fix]);
    assert_eq!(judged(&world, &two, &merge, true), "RM");
    assert_eq!(judged(&world, &two, &merge, false), "--");
}

#[test]
fn a_verdict_that_cannot_be_used_says_why() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    world.named.insert(two.clone(), session("demo"));
    let why = |world: &World, edit: fn(&mut Candidate)| {
        let mut demo = demo.clone();
        edit(&mut demo);
        let account = judge(world, &main, &two, &[demo]);
        assert!(!account.is_covered());
        let last = account.entries.last().expect("a commit");
        last.verdict.as_ref().expect_err("a reason").to_string()
    };
    fn verdict(candidate: &mut Candidate) -> &mut Reviewed {
        candidate.verdict.as_mut().expect("a verdict")
    }
    type Edit = fn(&mut Candidate);
    let edits: [(Edit, &str); 6] = [
        (|c| c.stage = Stage::Review, "in stage review"),
        (|c| c.verdict = None, "no verdict"),
        (
            |c| verdict(c).onto = Some("release".into()),
            "about the branch `release`",
        ),
        (|c| verdict(c).tree = oid('a', 0), "uncommitted work"),
        (
            |c| verdict(c).head = Some(oid('c', 999)),
            "not in this repository",
        ),
        (
            |c| verdict(c).seen = Some(oid('c', 999)),
            "not in this repository",
        ),
    ];
    for (edit, said) in edits {
        let found = why(&world, edit);
        assert!(found.contains(said), "{found}");
    }
}

/// A branch from before what a session takes back has all that the session brings, and is no landing of it.
#[test]
fn a_revert_lands_beside_a_branch_that_never_had_what_it_takes_back() {
    let mut world = World::default();
    let first = world.add(&[], &[("src/a", "1"), ("src/b", "1")]);
    let early = world.add(&[&first], &[("docs/a", "x")]);
    let landed = world.add(&[&first], &[("src/a", "2")]);
    let revert = world.add(&[&landed], &[("src/a", "1")]);
    let joined = world.merged(&landed, &early, &[&landed, &early]);
    let all = [reviewed(&world, "back", &landed, &revert)];
    let squash = world.merged(&joined, &revert, &[&joined]);
    assert_eq!(letters(&judge(&world, &joined, &squash, &all)), "S");
    // It lands once all the same.
    let again = world.add(&[&squash], &[("src/a", "2")]);
    let twice = world.add(&[&again], &[("src/a", "1")]);
    assert_eq!(letters(&judge(&world, &again, &twice, &all)), "-");
}

/// The button that brings a pull request up to date, where no session is needed.
#[test]
fn a_branch_of_documents_that_took_the_target_in_is_merged() {
    let mut world = World::default();
    let first = world.add(&[], &[("src/a", "1")]);
    let document = world.add(&[&first], &[("docs/a", "x")]);
    let main = world.add(&[&first], &[("docs/b", "x")]);
    let update = world.merged(&document, &main, &[&document, &main]);
    let more = world.add(&[&update], &[("docs/c", "x")]);
    let merge = world.merged(&main, &more, &[&main, &more]);
    assert_eq!(letters(&judge(&world, &main, &merge, &[])), "EMEM");
    // What the update had otherwise is somebody's.
    let evil = world.add(&[&document, &main], &[("docs/b", "x"), ("src/a", "2")]);
    let merge = world.merged(&main, &evil, &[&main, &evil]);
    assert!(letters(&judge(&world, &main, &merge, &[])).contains('-'));
}

/// Further changes to what the session touched do not make room for its archive again.
#[test]
fn an_archive_that_was_taken_back_does_not_land_again() {
    let mut world = World::default();
    let main = world.add(&[], &[("docs/a", "1")]);
    let head = world.add(&[&main], &[("docs/a", "2")]);
    let result = world.add(&[&head], &[("specs/a/spec.md", "1")]);
    world.archives.insert(result.clone());
    let mut demo = reviewed(&world, "demo", &main, &head);
    demo.result = Some(result);
    let all = [demo];
    let squash = world.add(&[&main], &[("docs/a", "2")]);
    let other = world.add(&[&squash], &[("docs/a", "3")]);
    let archive = world.add(&[&other], &[("specs/a/spec.md", "1")]);
    assert_eq!(letters(&judge(&world, &main, &archive, &all)), "SEA");
    let undo = world.add(&[&archive], &[("specs/a/spec.md", "")]);
    world.undone.insert(undo.clone());
    let again = world.add(&[&undo], &[("specs/a/spec.md", "1")]);
    assert_eq!(letters(&judge(&world, &archive, &again, &all)), "A-");
}

/// State of a branch before it had a commit is no pick of what takes that commit back.
#[test]
fn a_revert_comes_over_as_what_it_reverts_did() {
    let mut world = World::default();
    let first = world.add(&[], &[("src/a", "1")]);
    let own = world.add(&[&first], &[("docs/a", "x")]);
    let there = world.add(&[&first], &[("src/a", "2")]);
    let back = world.add(&[&there], &[("src/a", "1")]);
    let one = world.add(&[&own], &[("src/a", "2")]);
    let two = world.add(&[&one], &[("src/a", "1")]);
    let again = world.add(&[&two], &[("src/a", "2")]);
    for (pick, from) in [(&one, &there), (&two, &back), (&again, &there)] {
        world.picked.insert(pick.clone(), from.clone());
    }
    let policy = Policy::parse("[landing]\nbackport = [\"release\"]\n", "loopx.toml");
    let rules = Rules::new(&policy.expect("a policy")).expect("rules");
    let landing = Landing {
        target: "main".into(),
        old: Some(own),
        new: again,
        tip: None,
        backports: vec![("release".into(), back)],
        put_down: PutDown::Highest,
    };
    let account = account(&landing, &rules, &[], &world).expect("an account");
    assert_eq!(letters(&account), "RR-");
}

/// Two sessions, one on the branch of the other, whose commits change one line twice.
#[test]
fn a_branch_on_a_branch_is_picked_as_one() {
    let mut world = World::default();
    let main = world.add(&[], &[("src/a", "1")]);
    let one = world.add(&[&main], &[("src/a", "2")]);
    let two = world.add(&[&one], &[("src/a", "3")]);
    let three = world.add(&[&two], &[("src/b", "1")]);
    let all = [
        reviewed(&world, "demo", &main, &two),
        reviewed(&world, "other", &main, &three),
    ];
    let beside = world.add(&[&main], &[("docs/a", "x")]);
    let first = world.add(&[&beside], &[("src/a", "2")]);
    let second = world.add(&[&first], &[("src/a", "3")]);
    let third = world.add(&[&second], &[("src/b", "1")]);
    assert_eq!(letters(&judge(&world, &beside, &third, &all)), "RRR");
}

/// Commits that a branch takes back itself leave its first commit with what the whole branch gives.
#[test]
fn a_branch_that_takes_back_a_part_of_itself_is_picked_whole() {
    let mut world = World::default();
    let main = world.add(&[], &[("src/a", "1")]);
    let mut head = main.clone();
    let mut line = world.add(&[&main], &[("docs/a", "x")]);
    let onto = line.clone();
    for text in ["2", "3", "2"] {
        head = world.add(&[&head], &[("src/a", text)]);
        line = world.add(&[&line], &[("src/a", text)]);
    }
    let all = [reviewed(&world, "demo", &main, &head)];
    assert_eq!(letters(&judge(&world, &onto, &line, &all)), "RRR");
}

#[test]
fn a_squash_rests_on_every_session_whose_commits_it_has() {
    let Start {
        mut world,
        main,
        two,
        demo,
        ..
    } = start();
    let upper = world.add(&[&two], &[("src/c", "1")]);
    let all = [demo, reviewed(&world, "upper", &two, &upper)];
    let squash = world.merged(&main, &upper, &[&main]);
    let first = world.add(&[&main], &[("src/a", "1")]);
    let second = world.add(&[&first], &[("src/old", "2")]);
    let third = world.add(&[&second], &[("src/c", "1")]);
    for (made, steps) in [(&squash, "S"), (&third, "RRR"), (&upper, "FFF")] {
        let account = judge(&world, &main, made, &all);
        assert_eq!(letters(&account), steps);
        assert_eq!(account.sessions(), [session("demo"), session("upper")]);
    }
}

#[test]
fn what_a_merge_has_of_an_older_commit_is_a_stray_of_its_session() {
    let Start {
        mut world, main, ..
    } = start();
    let mended = world.add(&[&main], &[("src/more", "2")]);
    let code = world.add(&[&mended], &[("src/a", "1")]);
    let mut tree = world.files(&code);
    tree.insert("src/more".into(), "1".into());
    let evil = world.with_tree(&[&main, &code], tree);
    let demo = reviewed(&world, "demo", &mended, &evil);
    let squash = world.merged(&mended, &evil, &[&mended]);
    for made in [&evil, &squash] {
        let account = judge(&world, &mended, made, std::slice::from_ref(&demo));
        assert!(account.is_covered(), "{account:?}");
        let demo = session("demo");
        assert_eq!(account.strays(&demo).collect::<Vec<_>>(), ["src/more"]);
    }
    // What lands after it by itself is held to none of that.
    let late = world.add(&[&evil], &[("docs/a", "x")]);
    let account = judge(&world, &mended, &late, std::slice::from_ref(&demo));
    assert_eq!(letters(&account), "FFE");
}
