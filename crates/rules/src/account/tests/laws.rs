//! The law of landings: over random histories of honest and dishonest pushes the account says what the model
//! says. `LOOPX_LAW_CASES` or `LOOPX_STRESS=1` raises the number of histories.

use super::histories::{Counts, File, Ground, History, How, Review};
use super::world::{World, number, resolved, session, three_ways};
use crate::account::{Candidate, Landing, PutDown, Reviewed, Rules, account};
use crate::policy::Policy;
use crate::stage::Stage;
use loopx_base::id::Oid;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// The number of histories that fit into the suite, and those of a long run.
const FEW: u32 = 300;
const MANY: u32 = 10_000;

const POLICY: &str = "[gates]\nprotected = [\"main\", \"release\"]\n[landing]\nbackport = [\"main\"]\n\
    [[landing.exception]]\npaths = [\"lock\"]\nkey = \"ssh-ed25519 AAAA\"\n";

struct Memory {
    world: World,
    rules: Rules,
    tips: [Oid; 2],
    candidates: Vec<Candidate>,
}

impl Memory {
    fn new() -> Self {
        let mut world = World::default();
        let files = [
            "src/a",
            "src/b",
            "docs/a",
            "README.md",
            "lock",
            "specs/a/spec.md",
        ];
        let first = world.add(&[], &files.map(|path| (path, path)));
        let policy = Policy::parse(POLICY, "loopx.toml").expect("a policy");
        Memory {
            world,
            rules: Rules::new(&policy).expect("rules"),
            tips: [first.clone(), first],
            candidates: Vec::new(),
        }
    }

    fn id(name: &str) -> Oid {
        Oid::parse(name).expect("an id")
    }

    /// A commit, or with `^` the parent of it.
    fn files(&self, name: &str) -> super::world::Tree {
        match name.strip_suffix('^') {
            Some(child) => self
                .world
                .files(&self.world.commits[number(&Self::id(child))].parents[0]),
            None => self.world.files(&Self::id(name)),
        }
    }

    fn add(&mut self, parents: &[&str], tree: super::world::Tree) -> Oid {
        let parents: Vec<Oid> = parents.iter().map(|name| Self::id(name)).collect();
        self.world
            .with_tree(&parents.iter().collect::<Vec<_>>(), tree)
    }
}

fn text(id: &Oid) -> String {
    id.as_str().to_owned()
}

impl Ground for Memory {
    fn tip(&self, branch: usize) -> String {
        text(&self.tips[branch])
    }

    fn write(&mut self, parents: &[&str], files: &[(String, Option<File>)], how: How) -> String {
        let mut tree = parents
            .first()
            .map(|one| self.files(one))
            .unwrap_or_default();
        for (path, file) in files {
            match file {
                Some(text) => tree.insert(path.clone(), text.clone()),
                None => tree.remove(path),
            };
        }
        assert!(how.by < 3, "three people");
        let made = self.add(parents, tree);
        if how.signed {
            self.world.signed.insert(made.clone());
        }
        if let Some(claimed) = how.claims {
            self.world
                .named
                .insert(made.clone(), self.candidates[claimed].session.clone());
        }
        text(&made)
    }

    fn merge(
        &mut self,
        [ours, theirs]: [&str; 2],
        parents: &[&str],
        with: Option<&str>,
    ) -> Option<String> {
        use crate::account::Objects as _;
        let met = self
            .world
            .met(&Self::id(ours), &Self::id(theirs))
            .expect("a base");
        let base = met.map(|base| self.world.files(&base)).unwrap_or_default();
        let tree = resolved(&base, &self.files(ours), &self.files(theirs), with)?;
        Some(text(&self.add(parents, tree)))
    }

    fn pick(&mut self, commit: &str, onto: &str) -> Option<String> {
        let id = Self::id(commit);
        if self.world.commits[number(&id)].parents.len() != 1 {
            return None;
        }
        let base = self.files(&format!("{commit}^"));
        let tree = three_ways(&base, &self.files(onto), &self.files(commit))?;
        let made = self.add(&[onto], tree);
        self.world.picked.insert(made.clone(), id);
        Some(text(&made))
    }

    fn amend(&mut self, commit: &str, files: &[(String, Option<File>)]) -> String {
        let id = Self::id(commit);
        let parents: Vec<String> = self.world.commits[number(&id)]
            .parents
            .iter()
            .map(text)
            .collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let edited = self.write(&[commit], files, How::default());
        let tree = self.files(&edited);
        let made = self.add(&parents, tree);
        if let Some(from) = self.world.picked.get(&id).cloned() {
            self.world.picked.insert(made.clone(), from);
        }
        text(&made)
    }

    fn copy(&mut self, parent: &str, tree_of: &str) -> String {
        let tree = self.files(tree_of);
        text(&self.add(&[parent], tree))
    }

    fn text(&self, commit: &str, path: &str) -> Option<File> {
        self.files(commit).get(path).cloned()
    }

    fn changed(&self, one: &str, other: &str) -> Vec<String> {
        super::world::differing(&self.files(one), &self.files(other))
    }

    fn has(&self, commit: &str, other: &str) -> bool {
        self.world
            .behind(&Self::id(commit))
            .contains(&Self::id(other))
    }

    fn start(&mut self, _: &str) -> Option<()> {
        if self.candidates.len() == 5 {
            return None;
        }
        self.candidates.push(Candidate {
            session: session(&format!("s{}", self.candidates.len())),
            stage: Stage::Build,
            ended: false,
            verdict: None,
            result: None,
        });
        Some(())
    }

    /// Takes no verdict of somebody who took part where policy says so: that is asked before the account.
    fn review(&mut self, review: &Review<'_>) -> bool {
        assert!(review.by < 3, "three people");
        if !review.independent {
            return false;
        }
        let candidate = &mut self.candidates[review.session];
        candidate.stage = Stage::Review;
        if review.approves {
            let head = Self::id(review.head);
            candidate.stage = Stage::Done;
            candidate.verdict = Some(Reviewed {
                onto: Some(["main", "release"][review.branch].into()),
                seen: Some(Self::id(review.seen)),
                tree: self.world.commits[number(&head)].tree.clone(),
                head: Some(head),
                // Where nothing differs nobody says why.
                reasoned: review.differs,
            });
        }
        true
    }

    fn archive(&mut self, session: usize, at: &str) -> Option<String> {
        let fresh = format!("archive {session} {}", self.world.commits.len());
        let mut tree = self.files(at);
        tree.insert(format!("specs/s{session}/spec.md"), fresh.clone());
        tree.insert(format!("changelog.d/s{session}"), fresh);
        let made = self.add(&[at], tree);
        self.world.archives.insert(made.clone());
        self.candidates[session].result = Some(made.clone());
        Some(text(&made))
    }

    fn unarchive(&mut self, _: usize, result: &str, at: &str) -> Option<String> {
        let base = self.files(result);
        let tree = three_ways(&base, &self.files(at), &self.files(&format!("{result}^")))?;
        let made = self.add(&[at], tree);
        self.world.undone.insert(made.clone());
        Some(text(&made))
    }

    fn push(&mut self, branch: usize, new: &str) -> bool {
        let landing = Landing {
            target: ["main", "release"][branch].into(),
            old: Some(self.tips[branch].clone()),
            new: Self::id(new),
            tip: None,
            backports: match branch {
                0 => Vec::new(),
                _ => vec![("main".into(), self.tips[0].clone())],
            },
            put_down: PutDown::Highest,
        };
        let covers = |put_down: PutDown| {
            let landing = Landing {
                put_down,
                ..landing.clone()
            };
            let account = account(&landing, &self.rules, &self.candidates, &self.world);
            account.expect("an account").is_covered()
        };
        let is_covered = covers(PutDown::Highest);
        // Whose a commit is says nothing about whether it lands.
        assert_eq!(is_covered, covers(PutDown::Lowest));
        if is_covered {
            self.tips[branch] = Self::id(new);
        }
        is_covered
    }
}

fn cases() -> u32 {
    // As they were when the test was built: nothing in the core reads the environment.
    let asked = option_env!("LOOPX_LAW_CASES").and_then(|n| n.parse().ok());
    let long = option_env!("LOOPX_STRESS") == Some("1");
    asked.unwrap_or(if long { MANY } else { FEW })
}

#[test]
fn the_account_takes_what_is_honest_and_nothing_else() {
    let cases = cases();
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        // The same histories each time: a failure is nobody's bad luck.
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let counts = std::cell::RefCell::new(Counts::default());
    let turns = vec(any::<u64>().no_shrink(), 10..50);
    let run = runner.run(&turns, |turns| {
        let mut memory = Memory::new();
        let mut history = History::new(&mut memory);
        for turn in turns {
            let mut counts = counts.borrow_mut();
            if let Err(why) = history.turn(turn, &mut counts) {
                let told = history.told.join("\n");
                return Err(TestCaseError::fail(format!("{why}\n{told}")));
            }
        }
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}\n{:#?}", counts.borrow());
    }
}
