//! Tables of losses, and of changes that are none (A4).

use super::{Holding, How, Records, between, has_all};
use crate::Snapshot;
use loopx_base::fanout::Fanout::Operations;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, Repo};
use std::collections::BTreeMap;

const FIRST: &str = "00000001-01arz3ndektsv4rrffq69g5fav.json";
const SECOND: &str = "00000002-01arz3ndektsv4rrffq69g5faw.json";

/// A record of format 1, as its file has it.
fn record(seq: u64, end: &str, name: &str) -> String {
    format!(
        "{{\n  \"format\": 1,\n  \"seq\": {seq},\n  \"op\": \"01arz3ndektsv4rrffq69g5f{end}\",\n  \"at\": \"2026-01-01T00:00:00Z\",\n  \
         \"by\": {{\n    \"name\": \"{name}\",\n    \"email\": \"a@x\"\n  }},\n  \"reason\": null,\n  \"event\": {{\n    \"kind\": \"saved\"\n  }}\n}}\n"
    )
}

fn first() -> String {
    record(1, "av", "Ada")
}

fn second() -> String {
    record(2, "aw", "Ada")
}

/// A record as a program of format 1 sealed it: on one line, without fields that are null.
fn line(record: &str) -> String {
    let text: String = record.lines().map(str::trim_start).collect();
    text.replace("\"reason\": null,", "")
}

struct Bench {
    _dir: tempfile::TempDir,
    repo: Repo,
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().expect("a folder");
    let repo = Repo::init_bare(dir.path()).expect("make a repository");
    Bench { _dir: dir, repo }
}

impl Bench {
    fn tree<'n>(&self, files: impl IntoIterator<Item = (&'n str, &'n str)>) -> Entry {
        let blob = |text: &str| self.repo.write_blob(text.as_bytes()).expect("a blob");
        let files = files.into_iter();
        let edits = files.map(|(path, text)| (path.to_owned(), Some(Entry::blob(blob(text)))));
        let tree = self.repo.edit_tree(None, &edits.collect());
        Entry::tree(tree.expect("a tree"))
    }

    /// An entity's folder with these files in `ops/`.
    fn folder(&self, files: &[(&str, &str)]) -> Entry {
        let places: Vec<(String, &str)> = files
            .iter()
            .map(|(name, text)| (format!("ops/{name}"), *text))
            .collect();
        self.tree(places.iter().map(|(path, text)| (path.as_str(), *text)))
    }

    fn sealed(&self, records: &[&str]) -> Entry {
        let lines: Vec<String> = records.iter().map(|record| line(record) + "\n").collect();
        self.tree([("ops.jsonl", lines.concat().as_str())])
    }

    /// Records that are lost, found in both ways.
    fn lost(&self, before: &Entry, after: &Entry) -> Vec<(String, How)> {
        let of = |folder: &Entry| Records::of(&self.repo, Some(folder)).expect("readable");
        let all = of(before).lost(&self.repo, &of(after));
        let (had, has) = Records::differing(&self.repo, Some(before), Some(after));
        let few = had
            .expect("readable")
            .lost(&self.repo, &has.expect("readable"));
        assert_eq!(all, few);
        all.into_iter().map(|lost| (lost.name, lost.how)).collect()
    }

    /// A commit of the branch with these folders.
    fn branch(&self, folders: &[(&str, &Entry)]) -> Oid {
        let format = self.repo.write_blob(b"1\n").expect("a blob");
        let mut edits = BTreeMap::from([("format".to_owned(), Some(Entry::blob(format)))]);
        edits.extend(
            folders
                .iter()
                .map(|(path, folder)| ((*path).to_owned(), Some((*folder).clone()))),
        );
        let tree = self.repo.edit_tree(None, &edits).expect("a tree");
        let commit = self.repo.write_constant_commit(&tree, "x\n");
        commit.expect("a commit")
    }

    fn at(&self, commit: &Oid) -> Snapshot<'_> {
        Snapshot::at(&self.repo, commit.clone(), "loopx").expect("a state")
    }

    fn said(&self, before: &[(&str, &Entry)], now: &[(&str, &Entry)]) -> Vec<String> {
        let [before, now] = [before, now].map(|folders| self.branch(folders));
        let held = |commit: &Oid| Holding::of(self.at(commit)).expect("readable");
        let lost = between(&held(&before), &held(&now));
        let has = has_all(&self.at(&now), &self.at(&before)).expect("readable");
        assert_eq!(has, lost.is_empty());
        lost.iter().map(super::Loss::said).collect()
    }
}

#[test]
fn a4_a_record_is_its_name_and_its_blob() {
    let bench = bench();
    let (one, two) = (first(), second());
    let other = record(1, "av", "Eve");
    let both = [(FIRST, one.as_str()), (SECOND, two.as_str())];
    let signature = format!("{FIRST}.sig");
    let signed = [both[0], both[1], (signature.as_str(), "signed")];
    let dreamt = "{\"format\": 2, \"kind\": \"dreamt\", \"topic\": \"unknown\"}";
    let gone = |name: &str| vec![(name.to_owned(), How::Gone)];
    let changed = |name: &str| vec![(name.to_owned(), How::Changed)];
    for (what, before, after, expected) in [
        ("the same", &both[..], &both[..], Vec::new()),
        ("one more", &both[..1], &both[..], Vec::new()),
        ("one went", &both[..], &both[1..], gone(FIRST)),
        ("all went", &both[..1], &[], gone(FIRST)),
        (
            "another blob",
            &both[..1],
            &[(FIRST, other.as_str())],
            changed(FIRST),
        ),
        (
            "a signature went",
            &signed[..],
            &both[..],
            gone(signed[2].0),
        ),
        (
            "a signature stands for no record",
            &both[..],
            &[both[0], signed[2]],
            gone(SECOND),
        ),
        (
            "an unknown kind is one",
            &[(SECOND, dreamt)],
            &both[..1],
            gone(SECOND),
        ),
        (
            "a file that is named otherwise is none",
            &[("notes.md", "x")],
            &[],
            Vec::new(),
        ),
    ] {
        let (before, after) = (bench.folder(before), bench.folder(after));
        assert_eq!(bench.lost(&before, &after), expected, "{what}");
    }
    // Without `ops/`, or no folder at all.
    let whole = bench.folder(&both);
    assert_eq!(
        bench
            .lost(&whole, &bench.tree([("state.json", "{}")]))
            .len(),
        2
    );
    let blob = Entry::blob(bench.repo.write_blob(b"x").expect("a blob"));
    assert_eq!(bench.lost(&whole, &blob).len(), 2);
    assert!(bench.lost(&blob, &whole).is_empty());
}

#[test]
fn a4_the_layout_of_a_folder_changes_no_record() {
    let bench = bench();
    let names: Vec<String> = (1..=230)
        .map(|seq| format!("{seq:08}-01arz3ndektsv4rrffq69g5fav.json"))
        .collect();
    let laid_out = |spread: bool, text: &str| {
        let places: Vec<(String, &str)> = names
            .iter()
            .map(|name| {
                let is_other = name.starts_with("00000117");
                (
                    Operations.place(name, spread),
                    if is_other { text } else { "{}" },
                )
            })
            .collect();
        let files: Vec<(&str, &str)> = places.iter().map(|(p, text)| (p.as_str(), *text)).collect();
        bench.folder(&files)
    };
    let changed = vec![(names[116].clone(), How::Changed)];
    for before in [false, true] {
        for after in [false, true] {
            let whole = laid_out(before, "{}");
            assert!(bench.lost(&whole, &laid_out(after, "{}")).is_empty());
            assert_eq!(bench.lost(&whole, &laid_out(after, "{ }")), changed);
        }
    }
    // What lies beside the folders is what everybody finds, though the folders are the same.
    let whole = laid_out(true, "{}");
    let flat = format!("ops/{}", names[116]);
    let blob = bench.repo.write_blob(b"{ }").expect("a blob");
    let edits = BTreeMap::from([(flat, Some(Entry::blob(blob)))]);
    let hidden = bench
        .repo
        .edit_tree(Some(&whole.id), &edits)
        .expect("a tree");
    assert_eq!(bench.lost(&whole, &Entry::tree(hidden)), changed);
}

#[test]
fn a4_a_sealed_record_is_the_one_that_lies_in_a_file() {
    let bench = bench();
    let (one, two) = (first(), second());
    let other = record(2, "aw", "Eve");
    let files = bench.folder(&[(FIRST, &one), (SECOND, &two)]);
    let sealed = bench.sealed(&[&one, &two]);
    let whole = [&files, &sealed];
    for before in whole {
        for after in whole {
            assert!(bench.lost(before, after).is_empty());
        }
        let after = [
            bench.sealed(&[&one, &other]),
            bench.folder(&[(FIRST, &one), (SECOND, &other)]),
        ];
        for after in after {
            assert_eq!(
                bench.lost(before, &after),
                [(SECOND.to_owned(), How::Changed)]
            );
        }
        for after in [bench.sealed(&[&one]), bench.folder(&[(FIRST, &one)])] {
            assert_eq!(bench.lost(before, &after), [(SECOND.to_owned(), How::Gone)]);
            assert!(bench.lost(&after, before).is_empty());
        }
    }
    // A sealed file beside the records is nothing to readers, and hides none of them.
    let nothing = bench.repo.write_blob(b"").expect("a blob");
    let edits = BTreeMap::from([("ops.jsonl".to_owned(), Some(Entry::blob(nothing)))]);
    let hidden = bench
        .repo
        .edit_tree(Some(&files.id), &edits)
        .expect("a tree");
    assert!(bench.lost(&files, &Entry::tree(hidden)).is_empty());
}

#[test]
fn a4_what_cannot_be_read_is_neither_there_nor_gone() {
    let bench = bench();
    let whole = bench.folder(&[(FIRST, &first())]);
    let torn = Entry::tree(Oid::parse(&"1".repeat(40)).expect("an id"));
    assert!(Records::of(&bench.repo, Some(&torn)).is_err());
    let (had, has) = Records::differing(&bench.repo, Some(&whole), Some(&torn));
    assert!(had.is_ok() && has.is_err());
    let (had, has) = Records::differing(&bench.repo, Some(&torn), Some(&whole));
    assert!(had.is_err() && has.is_ok());
    let nothing = Records::of(&bench.repo, None).expect("nothing to read");
    assert!(nothing.is_empty());
}

#[test]
fn a4_a_session_is_followed_to_its_new_name_and_into_the_archive() {
    let bench = bench();
    let session = |uid: &str, seq: u64, count: u64| {
        let state = format!("{{\"uid\": \"{uid}\"}}");
        let ends = ["av", "aw", "ax", "ay"];
        let records: Vec<(String, String)> = (seq..seq + count)
            .map(|n| {
                let end = ends[usize::try_from(n).expect("small") - 1];
                let name = format!("ops/{n:08}-01arz3ndektsv4rrffq69g5f{end}.json");
                (name, record(n, end, "Ada"))
            })
            .collect();
        let files = records
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        bench.tree(files.chain([("state.json", state.as_str())]))
    };
    let (mine, longer) = (session("aaaaaaaa", 1, 1), session("aaaaaaaa", 1, 2));
    let other = session("bbbbbbbb", 3, 2);
    let id = SessionId::parse("one").expect("an id");
    let beside = format!("sessions/{}", id.beside("aaaaaaaa"));
    let beside = beside.as_str();
    let here = ("sessions/one", &mine);
    let gone = ["session one is gone"];
    let none: [&str; 0] = [];
    for (what, now, expected) in [
        ("it stayed", vec![here], &none[..]),
        ("it grew", vec![("sessions/one", &longer)], &none),
        (
            "it was archived",
            vec![("archive/2026-11/one", &mine)],
            &none,
        ),
        (
            "renamed by a merge",
            vec![("sessions/one", &other), (beside, &longer)],
            &none,
        ),
        ("its name was taken", vec![("sessions/one", &other)], &gone),
        (
            "under a free name nobody looks",
            vec![("sessions/two", &mine)],
            &gone,
        ),
        ("it went", vec![("sessions/two", &other)], &gone),
    ] {
        assert_eq!(bench.said(&[here], &now), expected, "{what}");
    }
    let lost = bench.said(&[("sessions/one", &longer)], &[here]);
    assert!(lost[0].contains(SECOND), "{lost:?}");
    // Whatever else has records keeps them too, and what is damaged has not lost what is there.
    let months = ("journal/2026-11", &mine);
    assert_eq!(bench.said(&[months], &[here]), ["journal/2026-11 is gone"]);
    assert!(
        bench
            .said(&[months], &[("journal/2026-11", &longer)])
            .is_empty()
    );
    let damaged = bench.folder(&[(FIRST, &first())]);
    assert!(
        bench
            .said(&[("sessions/one", &damaged)], &[here])
            .is_empty()
    );
    assert!(
        bench
            .said(&[here], &[("sessions/one", &damaged)])
            .is_empty()
    );
}
