//! A signature is a record beside a record: nobody takes it away, and what is no signature of its record comes in by no
//! door (acceptance of issue 15: D17, D28, D29).

use crate::support::drive::{Drive, ID};
use crate::support::keys::{RITA, by, by_key, everybody, forge, key, operation};
use crate::support::server::HOOK;
use crate::support::{LOOPX, Output, Sandbox};
use std::path::{Path, PathBuf};

const SIGNED: &str = "[review]\nsigned = true\n";

/// A session whose review is signed, a remote that has it, and a clone.
fn shared(policy: &[(&str, &str)]) -> (Drive, PathBuf) {
    let d = Drive::reviewing_with(policy);
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "origin", "main", ID]).ok();
    d.loopx(&["sync", "origin"]).ok();
    let dir = d.root().join("clone");
    let path = dir.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    d.loopx_in(&dir, &["init"]).ok();
    (d, dir)
}

fn guarded(s: &Sandbox) {
    s.script("../remote.git/hooks/pre-receive", HOOK);
}

/// A commit on the branch with other files in the session's folder; nothing takes a file away.
fn by_hand(s: &Sandbox, dir: &Path, files: &[(String, Option<&[u8]>)]) -> String {
    let index = s.root().join("hand-index");
    let git = |args: &[&str]| {
        let call = s.call("git").cwd(dir).env("GIT_INDEX_FILE", &index);
        call.args(args)
    };
    git(&["read-tree", "loopx"]).run().ok();
    for (path, bytes) in files {
        match bytes {
            Some(bytes) => {
                let made = git(&["hash-object", "-w", "--stdin"]).stdin(*bytes).run();
                let entry = format!("100644,{},{path}", made.line());
                git(&["update-index", "--add", "--cacheinfo", &entry])
                    .run()
                    .ok();
            }
            None => drop(git(&["update-index", "--force-remove", path]).run().ok()),
        }
    }
    let tree = git(&["write-tree"]).run().line();
    let args = ["commit-tree", &tree, "-p", "loopx", "-m", "by hand"];
    git(&args).run().line()
}

fn push(s: &Sandbox, dir: &Path, commit: &str) -> Output {
    let spec = format!("{commit}:refs/heads/loopx");
    s.git_in(dir, &["push", "--quiet", "--no-verify", "origin", &spec])
}

fn state() -> String {
    format!("sessions/{ID}/state.json")
}

/// The path of the signature under the verdict.
fn signature(d: &Drive) -> String {
    format!("{}.sig", operation(d, "reviewed").0)
}

fn everyone() -> Vec<(&'static str, String)> {
    vec![
        ("loopx.toml", SIGNED.to_owned()),
        ("loopx.signers", everybody()),
    ]
}

fn world() -> (Drive, PathBuf) {
    let files = everyone();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    shared(&files)
}

#[test]
fn d28_a_push_that_takes_a_signature_away_is_refused() {
    let (d, clone) = world();
    guarded(&d);
    let signature = signature(&d);
    for bytes in [None, Some(&b"x\n"[..])] {
        let files = [(state(), None), (signature.clone(), bytes)];
        let commit = by_hand(&d, &clone, &files);
        push(&d, &clone, &commit)
            .fails_with(1)
            .says("sessions_invalid")
            .says("the signature");
    }
}

#[test]
fn d28_a_sync_brings_a_signature_back_and_ci_names_its_loss() {
    let (d, clone) = world();
    let signature = signature(&d);
    let commit = by_hand(&d, &clone, &[(state(), None), (signature.clone(), None)]);
    push(&d, &clone, &commit).ok();
    d.git_in(&clone, &["fetch", "--quiet", "origin"]).ok();
    d.loopx_in(&clone, &["verify", "--sessions"])
        .fails_with(1)
        .says("the signature");
    d.loopx(&["sync", "origin"]).says("signature").ok();
    d.git(&["cat-file", "-e", &format!("loopx:{signature}")])
        .ok();
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn d28_a_repair_brings_signatures_back_from_history() {
    let (d, clone) = world();
    let signature = signature(&d);
    let commit = by_hand(&d, &clone, &[(state(), None), (signature.clone(), None)]);
    d.git_in(&clone, &["update-ref", "refs/heads/loopx", &commit])
        .ok();
    d.loopx_in(&clone, &["fsck"])
        .fails_with(1)
        .says("1 signature has gone");
    d.loopx_in(&clone, &["fsck", "--repair"]).ok();
    d.git_in(&clone, &["cat-file", "-e", &format!("loopx:{signature}")])
        .ok();
    d.loopx_in(&clone, &["fsck"]).says("all whole").ok();
}

#[test]
fn d29_a_push_without_the_state_of_a_session_is_refused() {
    let (d, clone) = world();
    let commit = by_hand(&d, &clone, &[(state(), None)]);
    push(&d, &clone, &commit).ok();
    // Without a hook a sync computes it again.
    d.loopx(&["sync", "origin"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
    let (d, clone) = world();
    guarded(&d);
    let commit = by_hand(&d, &clone, &[(state(), None)]);
    push(&d, &clone, &commit)
        .fails_with(1)
        .says("state.json is not there");
}

#[test]
fn d17_what_is_no_signature_of_its_record_comes_in_by_no_door() {
    let (d, clone) = world();
    let signed = d.git(&["show", &format!("loopx:{}", signature(&d))]).ok();
    let beside = format!("{}.sig", operation(&d, "ran").0);
    let flipped = signed.replace("\"role\": \"reviewer\"", "\"role\": \"runner\"");
    assert_ne!(flipped, signed);
    for text in ["x\n", &signed, &flipped] {
        let files = [(state(), None), (beside.clone(), Some(text.as_bytes()))];
        let commit = by_hand(&d, &clone, &files);
        guarded(&d);
        push(&d, &clone, &commit)
            .fails_with(1)
            .says("is no signature of its record");
    }
    std::fs::remove_file(d.root().join("remote.git/hooks/pre-receive")).expect("no hook");
    let files = [(state(), None), (beside, Some(signed.as_bytes()))];
    let commit = by_hand(&d, &clone, &files);
    push(&d, &clone, &commit).ok();
    let before = d.git(&["rev-parse", "loopx"]).line();
    d.loopx(&["sync", "origin"])
        .fails_with(1)
        .says("is no signature of its record");
    assert_eq!(d.git(&["rev-parse", "loopx"]).line(), before);
}

#[test]
fn d17_a_signature_of_an_unknown_key_is_taken() {
    let (d, clone) = shared(&[]);
    guarded(&d);
    let signature = signature(&d);
    d.git_in(&clone, &["cat-file", "-e", &format!("loopx:{signature}")])
        .ok();
    d.does(&["run", "--", "true"]);
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    d.loopx_in(&clone, &["fsck", "--full"])
        .says("all whole")
        .ok();
}

#[test]
fn d31_what_no_record_of_an_issue_names_is_refused_and_repaired() {
    let d = Drive::reviewing_with(&[]);
    d.loopx(&["issue", "create", "A fault"]).ok();
    d.loopx(&["note", "--journal", "seen"]).ok();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "origin", "main", ID]).ok();
    d.loopx(&["sync", "origin"]).ok();
    guarded(&d);
    let listed = d
        .git(&["ls-tree", "-r", "--name-only", "loopx", "issues"])
        .ok();
    let record = listed.lines().next().expect("a record").to_owned();
    let (folder, _) = record.split_once("/ops/").expect("a folder");
    let files = [
        format!("{folder}/evil.md"),
        format!("{folder}/x/y.sh"),
        format!("{folder}/state.json"),
        format!("{record}.sig"),
    ];
    for file in files {
        let commit = by_hand(&d, d.path(), &[(file.clone(), Some(b"x\n"))]);
        push(&d, d.path(), &commit)
            .fails_with(1)
            .says("sessions_invalid");
        d.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
        d.loopx(&["fsck"]).fails_with(1);
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck"]).says("all whole").ok();
        let gone = d
            .git(&["ls-tree", "-r", "--name-only", "loopx", &file])
            .ok();
        assert_eq!(gone, "", "{file}");
        d.git(&["update-ref", "refs/heads/loopx", "origin/loopx"])
            .ok();
        d.loopx(&["doctor", "--accept"]).ok();
    }
}

/// A text whose blob has a larger, or a smaller, id than another.
fn beside(s: &Sandbox, blob: &str, is_larger: bool) -> String {
    let mut texts = (0..).map(|n| format!("no signature {n}\n"));
    let is_wanted = |text: &String| {
        let call = s.call("git").args(&["hash-object", "--stdin"]);
        let id = call.stdin(text.as_str()).run().line();
        (id.as_str() > blob) == is_larger
    };
    texts.find(is_wanted).expect("a text")
}

#[test]
fn of_two_signatures_of_one_record_that_meet_the_one_that_holds_is_taken() {
    for is_larger in [true, false] {
        for went_on in [true, false] {
            let (d, clone) = world();
            let signature = signature(&d);
            let blob = || d.git(&["rev-parse", &format!("loopx:{signature}")]).line();
            let good = blob();
            let text = beside(&d, &good, is_larger);
            let files = [(state(), None), (signature.clone(), Some(text.as_bytes()))];
            let commit = by_hand(&d, &clone, &files);
            push(&d, &clone, &commit).ok();
            if went_on {
                d.does(&["run", "--", "true"]);
            }
            d.loopx(&["sync", "origin"]).ok();
            assert_eq!(blob(), good, "{is_larger} {went_on}");
            d.loopx(&["fsck", "--full"]).says("all whole").ok();
            d.loopx_in(&clone, &["sync", "origin"]).ok();
            d.loopx_in(&clone, &["fsck", "--full"])
                .says("all whole")
                .ok();
        }
    }
}

#[test]
fn each_signature_is_held_against_its_record_once() {
    let (d, clone) = world();
    for _ in 0..3 {
        d.does(&["run", "--", "true"]);
        by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    }
    d.loopx(&["sync", "origin"]).ok();
    let log = d.root().join("starts");
    let script = format!(
        "#!/bin/sh\necho x >> '{}'\nPATH=${{PATH#*:}}\nexec ssh-keygen \"$@\"\n",
        log.display()
    );
    d.program("ssh-keygen", &script);
    let starts = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count());
    let call = |args: &[&str]| d.call(LOOPX).cwd(&clone).args(args).run();
    call(&["sync", "origin"]).ok();
    assert_eq!(starts(), 3, "each that came, once");
    // The first came with the branch itself, which nothing here stood against.
    call(&["fsck"]).ok();
    assert_eq!(starts(), 4);
    // A full look believes no file.
    call(&["fsck", "--full"]).ok();
    assert_eq!(starts(), 8);
    // A file that says anything else costs a look, and no more.
    d.write(clone.join(".git/loopx/signatures-known"), "\u{0}\n");
    call(&["fsck", "--full"]).says("all whole").ok();
    assert_eq!(starts(), 12);
}

/// A signature over what another one is over, by a key that is not listed for that person, and whose blob has a larger,
/// or a smaller, id.
fn rival(s: &Sandbox, good: &str, is_larger: bool) -> Vec<u8> {
    let hash = |bytes: &[u8]| {
        let call = s.call("git").args(&["hash-object", "-w", "--stdin"]);
        call.stdin(bytes).run().line()
    };
    let (mut payload, _) = parted(good);
    let file = s.root().join("payload");
    let armour = s.root().join("payload.sig");
    let stranger = key("bob");
    let stranger = stranger.to_str().expect("UTF-8");
    loop {
        payload.push('\n');
        s.write(&file, &payload);
        drop(std::fs::remove_file(&armour));
        let args = ["-q", "-Y", "sign", "-n", "loopx-approval", "-f", stranger];
        let call = s.call("ssh-keygen").args(&args);
        call.args(&[file.to_str().expect("UTF-8")]).run().ok();
        let bytes = format!("{payload}{}", s.read(&armour)).into_bytes();
        if (hash(&bytes) > hash(good.as_bytes())) == is_larger {
            return bytes;
        }
    }
}

/// Statement and armour of a signature.
fn parted(signature: &str) -> (String, String) {
    let at = signature.find("-----BEGIN").expect("an armour");
    (signature[..at].to_owned(), signature[at..].to_owned())
}

/// A signature with an armour that is over another text.
fn broken(signature: &str) -> String {
    let (payload, armour) = parted(signature);
    let end = armour.find("\n-----END").expect("an end");
    let (head, last) = armour[..end].rsplit_once('\n').expect("lines");
    let first = if last.starts_with('B') { 'C' } else { 'B' };
    format!("{payload}{head}\n{first}{}{}", &last[1..], &armour[end..])
}

/// A signed verdict that no remote has, and the commit of somebody who has it with other bytes for its signature.
struct Met {
    d: Drive,
    clone: PathBuf,
    signature: String,
    good: String,
    mine: String,
    theirs: String,
}

impl Met {
    fn with(other: impl FnOnce(&Sandbox, &str) -> Vec<u8>) -> Self {
        let (d, clone) = world();
        d.does(&["run", "--", "true"]);
        by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
        let signature = signature(&d);
        let mine = d.git(&["rev-parse", "loopx"]).line();
        let good = d.git(&["show", &format!("loopx:{signature}")]).ok();
        let other = other(&d, &good);
        forge(&d, &signature, Some(&other));
        let args = [
            "commit-tree",
            "loopx^{tree}",
            "-p",
            "origin/loopx",
            "-m",
            "x",
        ];
        let theirs = d.git(&args).line();
        d.git(&["update-ref", "refs/heads/theirs", &theirs]).ok();
        let met = Met {
            d,
            clone,
            signature,
            good,
            mine,
            theirs,
        };
        met.stand(met.d.path(), &met.mine);
        met
    }

    /// Puts the branch of a clone to a commit.
    fn stand(&self, dir: &Path, commit: &str) {
        self.d
            .git_in(dir, &["update-ref", "refs/heads/loopx", commit])
            .ok();
        self.d.loopx_in(dir, &["doctor", "--accept"]).ok();
    }

    fn tree(&self, dir: &Path) -> String {
        self.d.git_in(dir, &["rev-parse", "loopx^{tree}"]).line()
    }

    /// The signatures of the verdict, by what they say.
    fn signatures(&self, dir: &Path) -> Vec<String> {
        let git = |args: &[&str]| self.d.git_in(dir, args).ok();
        let listed = git(&["ls-tree", "-r", "--name-only", "loopx"]);
        let record = self.signature.trim_end_matches(".sig");
        let found = listed.lines().filter(|path| path.starts_with(record));
        let found = found.filter(|path| path.ends_with(".sig"));
        found
            .map(|path| git(&["show", &format!("loopx:{path}")]))
            .collect()
    }

    /// Asserts that the verdict is signed by whoever gave it.
    #[track_caller]
    fn holds(&self, dir: &Path) {
        let name = self.signature.rsplit('/').next().expect("a name");
        let (_, id) = name.split_once('-').expect("an id");
        let id = id.trim_end_matches(".json.sig");
        let shown = self.d.loopx_in(dir, &["-s", ID, "--json", "show"]).json();
        let checked = &shown["signatures"][id];
        assert!(checked.is_object(), "{shown:#}");
        assert!(checked["flaw"].is_null(), "{checked:#}");
    }
}

#[test]
fn r9_two_signatures_of_one_record_that_both_hold_stay() {
    for is_larger in [true, false] {
        for is_stranger_first in [true, false] {
            let met = Met::with(|s, good| rival(s, good, is_larger));
            let (d, clone) = (&met.d, met.clone.as_path());
            guarded(d);
            let here = d.path().to_str().expect("UTF-8").to_owned();
            d.git_in(clone, &["fetch", "--quiet", &here, "theirs"]).ok();
            if is_stranger_first {
                push(d, clone, &met.theirs).ok();
                d.loopx(&["sync", "origin"]).ok();
                d.loopx_in(clone, &["sync", "origin"]).ok();
            } else {
                d.loopx(&["sync", "origin"]).ok();
                met.stand(clone, &met.theirs);
                d.loopx_in(clone, &["sync", "origin"]).ok();
                d.loopx(&["sync", "origin"]).ok();
            }
            let tree = met.tree(clone);
            for dir in [d.path(), clone] {
                assert_eq!(met.tree(dir), tree);
                assert_eq!(met.signatures(dir).len(), 2);
                assert!(met.signatures(dir).contains(&met.good));
                met.holds(dir);
                d.loopx_in(dir, &["fsck", "--full"]).says("all whole").ok();
                d.loopx_in(dir, &["sync", "origin"]).ok();
                assert_eq!(met.tree(dir), tree);
            }
            // Neither is taken away by anybody.
            d.does(&["run", "--", "true"]);
            let listed = d.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
            let record = met.signature.trim_end_matches(".sig");
            for path in listed.lines() {
                if path.starts_with(record) && path.ends_with(".sig") {
                    let files = [(path.to_owned(), None)];
                    push(d, d.path(), &by_hand(d, d.path(), &files))
                        .fails_with(1)
                        .says("sessions_invalid");
                }
            }
        }
    }
}

#[test]
fn r9_a_second_signature_that_is_none_of_its_record_comes_in_by_no_door() {
    let (d, _) = world();
    guarded(&d);
    let signature = signature(&d);
    let good = d.git(&["show", &format!("loopx:{signature}")]).ok();
    let record = signature.trim_end_matches(".sig");
    let beside = format!("{record}.{}.sig", "0".repeat(40));
    for text in ["x\n", &broken(&good)] {
        let mine = d.git(&["rev-parse", "loopx"]).line();
        forge(&d, &beside, Some(text.as_bytes()));
        push(&d, d.path(), "loopx")
            .fails_with(1)
            .says("is no signature of its record");
        d.loopx(&["fsck"]).fails_with(1);
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        d.git(&["cat-file", "-e", &format!("loopx:{signature}")])
            .ok();
        d.git(&["cat-file", "-e", &format!("loopx:{beside}")])
            .fails_with(128);
        d.git(&["update-ref", "refs/heads/loopx", &mine]).ok();
        d.loopx(&["doctor", "--accept"]).ok();
    }
}

#[test]
fn r23_clones_with_and_without_ssh_keygen_keep_the_same_signatures() {
    let met = Met::with(|s, good| rival(s, good, true));
    let (d, clone) = (&met.d, met.clone.as_path());
    let path = d.path_without_loopx();
    let here = d.path().to_str().expect("UTF-8").to_owned();
    d.git_in(clone, &["fetch", "--quiet", &here, "theirs"]).ok();
    let mut trees = Vec::new();
    for is_bare in [true, false] {
        let spec = format!("+{}:refs/heads/loopx", met.theirs);
        d.git_in(clone, &["push", "--quiet", "--no-verify", "origin", &spec])
            .ok();
        met.stand(d.path(), &met.mine);
        let call = d.call(LOOPX).args(&["sync", "origin"]);
        let call = if is_bare {
            call.env("PATH", &path)
        } else {
            call
        };
        call.run().ok();
        trees.push(met.tree(d.path()));
    }
    assert_eq!(trees[0], trees[1]);
}

#[test]
fn r23_without_ssh_keygen_a_broken_signature_takes_no_other_away() {
    let met = Met::with(|_, good| broken(good).into_bytes());
    let (d, clone) = (&met.d, met.clone.as_path());
    let path = d.path_without_loopx();
    let here = d.path().to_str().expect("UTF-8").to_owned();
    d.git_in(clone, &["fetch", "--quiet", &here, "theirs"]).ok();
    push(d, clone, &met.theirs).ok();
    d.loopx(&["sync", "origin"])
        .fails_with(1)
        .says("is no signature of its record");
    let call = d.call(LOOPX).args(&["sync", "origin"]);
    call.env("PATH", &path).run().ok();
    met.holds(d.path());
    d.loopx(&["fsck"]).fails_with(1).says("does not hold");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
    let left = met.signatures(d.path());
    assert_eq!(left, std::slice::from_ref(&met.good));
    met.holds(d.path());
}

#[test]
fn w13_a_signature_that_is_written_in_another_way_is_no_other_one() {
    let (d, clone) = world();
    guarded(&d);
    let path = signature(&d);
    let good = d.git_in(&clone, &["cat-file", "blob", &format!("loopx:{path}")]);
    let good = good.ok();
    let (payload, armour) = parted(&good);
    let respelled = format!("{payload}{}", armour.replacen("\nU", "\n U", 1));
    assert_ne!(good, respelled);
    let call = d.call("git").args(&["hash-object", "-w", "--stdin"]);
    let blob = call.stdin(respelled.as_bytes()).run().line();
    let record = path.strip_suffix(".sig").expect("a signature");
    let other = format!("{record}.{blob}.sig");
    let commit = by_hand(&d, &clone, &[(other, Some(respelled.as_bytes()))]);
    push(&d, &clone, &commit)
        .fails_with(1)
        .says("written in another way");
}

#[test]
fn r24_a_full_look_believes_no_note_of_an_earlier_one() {
    let (d, _) = world();
    let signature = signature(&d);
    let good = d.git(&["show", &format!("loopx:{signature}")]).ok();
    forge(&d, &signature, Some(broken(&good).as_bytes()));
    drop(d.loopx(&["doctor", "--accept"]));
    let blob = d.git(&["rev-parse", &format!("loopx:{signature}")]).line();
    let known = d.path().join(".git/loopx/signatures-known");
    d.write(&known, format!("{blob}\n"));
    d.loopx(&["fsck", "--full"])
        .fails_with(1)
        .says("does not hold");
    assert!(!d.read(&known).contains(&blob));
}

#[test]
fn p5_a_key_that_is_not_listed_leads_to_another_key() {
    let (d, _) = world();
    d.does(&["run", "--", "true"]);
    let args = ["review", "--verdict", "approve", "--sign"];
    let error = by_key(&d, RITA, "bob", &args).fails_with(1).error_json();
    let help = error["error"]["help"].as_str().expect("help");
    assert!(help.contains("user.signingKey"), "{help}");
    assert!(help.contains(RITA.1), "{help}");
    assert!(!help.contains("--sign"), "{help}");
}
