//! `loopx.autoSync`: the sync that nobody types, around the commands that other people wait for.

use crate::support::Output;
use crate::support::clones::Clones;
use std::cell::RefCell;

/// Two people, a clone each, and what they type.
struct Two {
    all: Clones,
    typed: RefCell<Vec<String>>,
    is_automatic: bool,
}

impl Two {
    fn new(auto_sync: Option<&str>) -> Self {
        let all = Clones::apart(2);
        for at in 0..2 {
            let key = "loopx.autoSync";
            if let Some(value) = auto_sync {
                all.git(at, &["config", key, value]).ok();
            }
        }
        Two {
            all,
            typed: RefCell::default(),
            is_automatic: auto_sync.is_some(),
        }
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    fn types(&self, at: usize, args: &[&str]) -> Output {
        self.typed.borrow_mut().push(args.join(" "));
        self.all.loopx(at, args)
    }

    fn syncs(&self, at: usize) {
        if !self.is_automatic {
            self.types(at, &["sync"]).ok();
        }
    }

    fn commits(&self, at: usize, text: &str) {
        self.all.s.write(self.all.dir(at).join("code.txt"), text);
        self.all
            .git(at, &["commit", "--quiet", "-a", "-m", text])
            .ok();
    }

    /// Goes from the first thought to the archive, with a review that sends it back once.
    fn go_the_whole_road(&self) {
        let git = |at: usize, args: &[&str]| drop(self.all.git(at, args).ok());
        git(0, &["switch", "--quiet", "-c", "work"]);
        self.types(0, &["init"]).ok();
        self.types(0, &["start", "--quick", "Other code"]).ok();
        self.commits(0, "other");
        self.types(0, &["run", "--", "grep", "-q", "other", "code.txt"])
            .ok();
        self.types(0, &["approve"]).ok();
        self.syncs(0);
        git(0, &["push", "--quiet", "-u", "origin", "work"]);

        git(1, &["fetch", "--quiet"]);
        git(1, &["switch", "--quiet", "work"]);
        self.syncs(1);
        let asked = ["--finding", "high: code.txt:1: say which", "--reason", "no"];
        let verdict = [&["review", "--verdict", "changes"][..], &asked].concat();
        self.types(1, &verdict).ok();
        self.syncs(1);

        self.syncs(0);
        self.types(0, &["approve", "--to", "build", "--enter"]).ok();
        self.commits(0, "other, that one");
        self.types(0, &["run"]).ok();
        self.types(0, &["review", "--answer", "1", "fixed"]).ok();
        self.types(0, &["approve"]).ok();
        self.syncs(0);
        git(0, &["push", "--quiet"]);

        git(1, &["pull", "--quiet"]);
        self.syncs(1);
        self.types(1, &["review", "--verdict", "approve"]).ok();
        self.types(1, &["finish", "--yes"]).says("archived").ok();
        self.syncs(1);
    }

    /// The commands that were typed, and how many of them were `sync`.
    fn counts(&self) -> (usize, usize) {
        let typed = self.typed.borrow();
        let syncs = typed.iter().filter(|line| line.starts_with("sync"));
        (typed.len(), syncs.count())
    }
}

#[test]
fn two_people_with_one_rejected_review_type_twenty_commands_and_none_to_sync() {
    let by_hand = Two::new(None);
    by_hand.go_the_whole_road();
    let (all, syncs) = by_hand.counts();
    assert!(all <= 20 && syncs <= 8, "{:#?}", by_hand.typed);

    let by_itself = Two::new(Some("true"));
    by_itself.go_the_whole_road();
    assert_eq!(
        by_itself.counts(),
        (all - syncs, 0),
        "{:#?}",
        by_itself.typed
    );
    // Nobody has anything that the other one lacks.
    let git = |args: &[&str]| by_itself.all.git(1, args).line();
    assert_eq!(
        git(&["rev-parse", "loopx"]),
        git(&["rev-parse", "origin/loopx"])
    );
    by_itself.all.sync(0).ok();
    by_itself.all.assert_agreed();
}

/// The steps that `next` prints, or what it says instead of one: the commands of ours and of git in its hint.
fn said(out: &Output) -> (Vec<String>, String) {
    if out.code == Some(0) {
        return (vec![out.stdout.trim().to_owned()], String::new());
    }
    let text = format!("{} {}", out.stdout, out.stderr);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = [
        "git loopx init",
        "git fetch origin",
        "git fetch",
        "git switch work",
        "git loopx sync origin",
    ];
    let typed = known.iter().filter(|one| {
        let mut ends = text
            .match_indices(**one)
            .map(|(at, one)| &text[at + one.len()..]);
        ends.any(|rest| !rest.starts_with(" origin"))
    });
    (typed.map(|one| (*one).to_owned()).collect(), text)
}

/// N14: two people get to the archive who type only what `next` says, of a session whose review is rejected once. A waiting
/// person hears of the other one by the `sync` that is named then.
#[test]
fn n14_two_people_who_type_what_next_says_need_twenty_commands_and_eight_syncs() {
    let two = Two::new(None);
    let git = |at: usize, args: &[&str]| drop(two.all.git(at, args).ok());
    let policy = "[review]\nindependence = \"require\"\n";
    two.all.s.write(two.all.dir(0).join("loopx.toml"), policy);
    git(0, &["add", "loopx.toml"]);
    git(0, &["commit", "--quiet", "-m", "Say the policy"]);
    git(0, &["push", "--quiet", "origin", "HEAD"]);
    git(0, &["switch", "--quiet", "-c", "work"]);
    let types = |at: usize, line: &str| {
        if let Some(words) = line.strip_prefix("git loopx ") {
            two.typed.borrow_mut().push(words.to_owned());
        }
        let words = shlex::split(line).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let out = match words.as_slice() {
            ["loopx", rest @ ..] => two.all.loopx(at, rest),
            git => two.all.git(at, git),
        };
        assert_eq!(out.code, Some(0), "{out}\n{:#?}", two.typed);
    };
    types(0, "git loopx init");
    types(0, "git loopx start --quick 'Other code'");
    let (mut at, mut versions, mut is_rejected) = (0, 0, false);
    for _ in 0..60 {
        let (steps, told) = said(&two.all.loopx(at, &["next"]));
        if told.contains("has ended: nothing is left") {
            break;
        }
        if told.contains("write the code") || told.contains("fix on branch") {
            versions += 1;
            two.commits(at, &format!("other {versions}"));
            continue;
        }
        if told.contains("shows that the change works") {
            types(at, "git loopx run -- grep -q other code.txt");
            continue;
        }
        let waits = told.contains("waits for") && !told.contains("git fetch");
        if waits {
            // The other one hears of it as `next` says.
            at = 1 - at;
            let (steps, told) = said(&two.all.loopx(at, &["next"]));
            let hears = |one: &&String| one.contains("init") || one.contains("sync");
            let step = steps.iter().find(hears);
            types(
                at,
                step.unwrap_or_else(|| panic!("{told}\n{:#?}", two.typed)),
            );
            continue;
        }
        assert!(!steps.is_empty(), "{told}\n{:#?}", two.typed);
        for step in steps {
            if step.contains("--verdict approve") && !is_rejected {
                is_rejected = true;
                types(
                    at,
                    "git loopx review --verdict changes --finding 'high: code.txt:1: say which' --reason no",
                );
            } else {
                types(at, &step);
            }
        }
    }
    let (all, syncs) = two.counts();
    assert!(is_rejected, "{:#?}", two.typed);
    assert!(
        two.typed
            .borrow()
            .iter()
            .any(|one| one.starts_with("archive") || one.starts_with("finish")),
        "{:#?}",
        two.typed
    );
    assert!(all <= 20 && syncs <= 8, "{all} {syncs} {:#?}", two.typed);
}

#[test]
fn the_end_of_a_session_needs_no_sync_whether_it_is_finished_or_archived() {
    let two = Two::new(Some("finish"));
    let tips = || {
        let tip = |name: &str| two.all.git(0, &["rev-parse", name]).line();
        (tip("loopx"), tip("origin/loopx"))
    };
    two.all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    two.types(0, &["init"]).ok();
    two.types(0, &["start", "--quick", "Other code"]).ok();
    two.commits(0, "other");
    two.types(0, &["run", "--", "true"]).ok();
    two.types(0, &["approve", "--to", "review"]).ok();
    two.types(0, &["review", "--verdict", "approve"]).ok();
    two.types(0, &["approve", "--to", "done"]).ok();
    two.all
        .git(0, &["push", "--quiet", "-u", "origin", "work"])
        .ok();
    two.types(0, &["archive"]).ok();
    let (ours, theirs) = tips();
    assert_eq!(ours, theirs, "{:#?}", two.typed);
    two.types(0, &["reopen", "--reason", "it is slow"]).ok();
    let (ours, theirs) = tips();
    assert_eq!(ours, theirs, "{:#?}", two.typed);
}

#[test]
fn a_sync_that_nobody_typed_runs_around_what_is_listed_and_fails_with_a_warning() {
    let two = Two::new(Some("review, finish"));
    two.all.git(0, &["switch", "--quiet", "-c", "work"]).ok();
    for args in [&["init"][..], &["start", "--quick", "It"]] {
        two.types(0, args).ok();
    }
    two.commits(0, "other");
    two.types(0, &["run", "--", "true"]).ok();
    let there = || {
        two.all
            .git(0, &["ls-remote", "origin", "refs/heads/loopx"])
            .ok()
    };
    // `approve` is not in the list.
    two.types(0, &["approve"]).ok();
    assert_eq!(there(), "");
    // Nothing is fetched or pushed by what only shows.
    two.types(0, &["review", "--show"]).ok();
    assert_eq!(there(), "");
    two.types(0, &["review"]).says("pushed").ok();
    assert_ne!(there(), "");

    let before = there();
    let origin = format!("file://{}", two.all.remote().display());
    two.all
        .git(0, &["remote", "set-url", "origin", "file:///nowhere"])
        .ok();
    let out = two.types(0, &["--json", "review", "--verdict", "approve"]);
    assert!(out.stderr.contains("not synced: "), "{out}");
    assert_eq!(out.json()["stage"], "review");
    // A refusal keeps its code, with or without a remote that answers.
    let again = ["review", "--answer", "7", "fixed"];
    let refused = two.types(0, &again).says("not synced: ");
    two.all
        .git(0, &["remote", "set-url", "origin", &origin])
        .ok();
    let reached = two.types(0, &again);
    assert!(!reached.stderr.contains("not synced"), "{reached}");
    assert_eq!(
        (refused.code, refused.code != Some(0)),
        (reached.code, true)
    );
    assert_eq!(there(), before);

    // A repository without a remote has nobody to sync with.
    two.all.git(0, &["remote", "remove", "origin"]).ok();
    let out = two.types(0, &["finish", "--yes"]).says("archived");
    assert!(!out.stderr.contains("synced"), "{out}");
}

#[test]
fn doctor_names_a_value_that_is_no_command_to_sync_around() {
    let two = Two::new(Some("aprove"));
    two.types(0, &["init"]).ok();
    two.types(0, &["doctor"])
        .says("loopx.autoSync is `aprove`, expected true, false or some of approve,review,finish");
}
