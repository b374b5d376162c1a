//! The catalogue of codes: what the sources make is what it says, and `help codes` prints it (finding A3).

use crate::support::Sandbox;
use crate::support::sources;
use loopx_base::code::Code;
use std::collections::BTreeSet;

fn all_sources() -> String {
    let files = sources::program().into_iter();
    let files = files.filter(|path| !path.ends_with("code.rs"));
    files.map(|path| sources::text(&path)).collect()
}

fn variant(code: Code) -> String {
    format!("{code:?}")
}

#[test]
fn what_a_code_ends_with_is_what_the_catalogue_says() {
    let text = all_sources();
    let mut wrong = BTreeSet::new();
    for kind in [
        "refused",
        "usage",
        "conflict",
        "not_found",
        "nothing",
        "internal",
    ] {
        for part in text.split(&format!("Failure::{kind}(")).skip(1) {
            let name = part.trim_start().strip_prefix("Code::").unwrap_or_default();
            let name = name.split(|c: char| !c.is_alphanumeric()).next();
            let Some(code) = Code::ALL
                .iter()
                .find(|code| Some(variant(**code).as_str()) == name)
            else {
                continue;
            };
            let said = code
                .kinds()
                .iter()
                .any(|said| format!("{said:?}").to_lowercase() == kind.replace('_', ""));
            if !said {
                wrong.insert(format!("{code}: {kind}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_code_of_the_catalogue_is_made_somewhere() {
    let text = all_sources();
    let is_made = |code: &Code| {
        let name = format!("Code::{}", variant(*code));
        text.match_indices(&name).any(|(at, _)| {
            let next = text[at + name.len()..].chars().next();
            !next.is_some_and(char::is_alphanumeric)
        })
    };
    let unused: Vec<&Code> = Code::ALL.iter().filter(|code| !is_made(code)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn codes_are_compared_as_values() {
    for found in [
        ".code.as_str()",
        "code.starts_with(",
        ".code == \"",
        ".code != \"",
    ] {
        assert!(!all_sources().contains(found), "{found}");
    }
}

#[test]
fn help_codes_prints_each_code_with_its_exit_code_and_a_sentence() {
    let s = Sandbox::empty("nowhere");
    let shown = s.loopx(&["--json", "help", "codes"]);
    let shown = (shown.json(), shown.ok()).0;
    let list = shown["codes"].as_array().expect("codes");
    let words: Vec<&str> = list.iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(words.len(), list.len());
    assert!(words.is_sorted());
    for code in Code::ALL {
        assert!(words.contains(&code.word()), "{code}");
    }
    for one in list {
        let sentence = one["sentence"].as_str().expect("a sentence");
        assert!(sentence.ends_with('.'), "{one}");
    }
    let find = |word: &str| list.iter().find(|one| one["code"] == word).expect("a code");
    assert_eq!(find("archive_conflict")["exit"], serde_json::json!([3]));
    assert_eq!(find("file_unreadable")["exit"], serde_json::json!([4, 2]));
    // A finding of the spec engine can refuse too.
    assert_eq!(find("dependency_open")["exit"], serde_json::json!([1]));
    let text = s.loopx(&["help", "codes"]).ok();
    assert!(text.contains("session_unknown") && text.contains("There is no session of this name."));
}
