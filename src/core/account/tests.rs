//! Tables over histories in memory: a tree is a map of paths to words, a merge takes whole files.

use super::{
    Account, Candidate, Change, Depth, Landing, Made, Merge, Mode, Node, Objects, Reviewed, Rules,
    account,
};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::policy::Policy;
use crate::core::stage::Stage;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

type Tree = BTreeMap<String, String>;

#[derive(Default)]
struct World {
    trees: RefCell<Vec<Tree>>,
    commits: Vec<Node>,
    named: BTreeMap<Oid, SessionId>,
    picked: BTreeMap<Oid, Oid>,
    archives: BTreeSet<Oid>,
    signed: BTreeSet<Oid>,
}

fn oid(kind: char, number: usize) -> Oid {
    Oid::parse(&format!("{kind}{number:039x}")).expect("an id")
}

fn number(id: &Oid) -> usize {
    usize::from_str_radix(&id.as_str()[1..], 16).expect("a number")
}

fn session(name: &str) -> SessionId {
    SessionId::parse(name).expect("an id")
}

impl World {
    fn tree(&self, id: &Oid) -> Tree {
        self.trees.borrow()[number(id)].clone()
    }

    fn keep(&self, tree: Tree) -> Oid {
        let mut trees = self.trees.borrow_mut();
        let at = match trees.iter().position(|known| *known == tree) {
            Some(at) => at,
            None => {
                trees.push(tree);
                trees.len() - 1
            }
        };
        oid('a', at)
    }

    fn files(&self, commit: &Oid) -> Tree {
        self.tree(&self.commits[number(commit)].tree)
    }

    /// Commits the first parent's files with these written; an empty text takes a file away.
    fn add(&mut self, parents: &[&Oid], files: &[(&str, &str)]) -> Oid {
        let mut tree = parents.first().map_or(Tree::new(), |one| self.files(one));
        for (path, text) in files {
            if text.is_empty() {
                tree.remove(*path);
            } else {
                tree.insert((*path).to_owned(), (*text).to_owned());
            }
        }
        self.with_tree(parents, tree)
    }

    fn with_tree(&mut self, parents: &[&Oid], tree: Tree) -> Oid {
        let tree = self.keep(tree);
        self.commits.push(Node {
            tree,
            parents: parents.iter().map(|&one| one.clone()).collect(),
        });
        oid('c', self.commits.len() - 1)
    }

    /// What merging gives, as a commit with these parents.
    fn merged(&mut self, ours: &Oid, theirs: &Oid, parents: &[&Oid]) -> Oid {
        let tree = self.merge_of(ours, theirs).expect("a clean merge");
        self.with_tree(parents, tree)
    }

    fn behind(&self, commit: &Oid) -> BTreeSet<Oid> {
        let mut found = BTreeSet::new();
        let mut next = vec![commit.clone()];
        while let Some(id) = next.pop() {
            if found.insert(id.clone()) {
                next.extend(self.commits[number(&id)].parents.clone());
            }
        }
        found
    }

    fn merge_of(&self, ours: &Oid, theirs: &Oid) -> Option<Tree> {
        let base = self.met(ours, theirs).expect("a base");
        let base = base.map_or(Tree::new(), |base| self.files(&base));
        three_ways(&base, &self.files(ours), &self.files(theirs))
    }

    fn against(&self, merged: Option<Tree>, tree: &Oid) -> Merge {
        let tree = self.tree(tree);
        match merged {
            None => Merge::Conflict,
            Some(merged) if merged == tree => Merge::Same,
            Some(merged) => Merge::Other(differing(&merged, &tree)),
        }
    }
}

fn differing(one: &Tree, other: &Tree) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = paths
        .into_iter()
        .filter(|path| one.get(*path) != other.get(*path));
    differ.cloned().collect()
}

fn three_ways(base: &Tree, ours: &Tree, theirs: &Tree) -> Option<Tree> {
    let mut merged = ours.clone();
    for path in differing(base, theirs) {
        if ours.get(&path) != base.get(&path) && ours.get(&path) != theirs.get(&path) {
            return None;
        }
        match theirs.get(&path) {
            Some(text) => merged.insert(path, text.clone()),
            None => merged.remove(&path),
        };
    }
    Some(merged)
}

impl Objects for World {
    fn has(&self, commit: &Oid) -> Result<bool> {
        Ok(number(commit) < self.commits.len())
    }

    fn commit(&self, id: &Oid) -> Result<Node> {
        Ok(self.commits[number(id)].clone())
    }

    fn reaches(&self, from: &Oid, to: &Oid) -> Result<bool> {
        Ok(self.behind(from).contains(to))
    }

    fn between(&self, to: &Oid, without: &[Oid]) -> Result<Vec<Oid>> {
        let hidden: BTreeSet<Oid> = without.iter().flat_map(|id| self.behind(id)).collect();
        // Parents were made before their children.
        Ok(self.behind(to).difference(&hidden).cloned().collect())
    }

    fn met(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        let both: BTreeSet<Oid> = self.behind(one);
        Ok(both.intersection(&self.behind(other)).max().cloned())
    }

    fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>> {
        let old = old.map_or(Tree::new(), |old| self.tree(old));
        let new = self.tree(new);
        let mode = |tree: &Tree, path: &str| tree.get(path).map(|_| Mode::Plain);
        let change = |path: String| Change {
            old: mode(&old, &path),
            new: mode(&new, &path),
            path,
        };
        Ok(differing(&old, &new).into_iter().map(change).collect())
    }

    fn merge(&self, ours: &Oid, theirs: &Oid, tree: &Oid, _: Depth) -> Result<Merge> {
        Ok(self.against(self.merge_of(ours, theirs), tree))
    }

    fn pick(&self, pick: &Oid, onto: &Oid, tree: &Oid) -> Result<Merge> {
        let parent = &self.commits[number(pick)].parents[0];
        let merged = three_ways(&self.files(parent), &self.files(onto), &self.files(pick));
        Ok(self.against(merged, tree))
    }

    fn named(&self, commit: &Oid) -> Result<Vec<SessionId>> {
        Ok(self.named.get(commit).cloned().into_iter().collect())
    }

    fn picked_from(&self, commit: &Oid) -> Result<Option<Oid>> {
        Ok(self.picked.get(commit).cloned())
    }

    fn is_archive(&self, _: &SessionId, commit: &Oid) -> Result<bool> {
        Ok(self.archives.contains(commit))
    }

    fn made(&self, _: &Oid) -> Result<Option<Made>> {
        Ok(None)
    }

    fn is_signed(&self, commit: &Oid, key: &str) -> Result<bool> {
        Ok(key == "ssh-ed25519 AAAA" && self.signed.contains(commit))
    }
}

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
        two,
        demo,
        ..
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
    assert_eq!(letters(&judge(&world, &main, &top, &stacked)), "FFF");
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
        first_why(&account).contains("in conflict"),
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
        first_why(&account).contains("lands once"),
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
        first_why(&account).contains("began above"),
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
            "about `release`",
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
