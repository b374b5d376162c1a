//! The list of findings is what the code says: no id is missing, and none is left over.

use crate::support::Sandbox;
use crate::support::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The sources that make findings, the list itself left out.
fn sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = sources::rust_files("crates/spec-engine/src");
    files.retain(|path| !path.components().any(|part| part.as_os_str() == "adr"));
    files.extend(
        ["spec", "delta", "effective_target"].map(|name| root.join(format!("src/flow/{name}.rs"))),
    );
    files.retain(|path| path.is_file() && !path.ends_with(Path::new("catalogue.rs")));
    files.iter().map(|path| sources::text(path)).collect()
}

/// Ids by the severities that calls give them: the first words of each call's arguments.
fn made(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut made: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (call, own) in [
        (".error(", Some("error")),
        (".warn(", Some("warning")),
        (".add(", None),
        ("Finding::new(", None),
    ] {
        for part in text.split(call).skip(1) {
            let mut words = part.splitn(3, ',').map(str::trim);
            let mut first = words.next().unwrap_or_default();
            let mut severity = own.map(str::to_owned);
            if let Some((_, name)) = first.split_once("Severity::") {
                severity = Some(name.to_lowercase());
                first = words.next().unwrap_or_default();
            }
            let id = first.strip_prefix('"').and_then(|id| id.strip_suffix('"'));
            if let (Some(id), Some(severity)) = (id, severity) {
                made.entry(id.to_owned()).or_default().insert(severity);
            }
        }
    }
    made
}

#[test]
fn every_finding_that_the_code_makes_is_listed_with_its_severity_and_no_other() {
    let text = sources();
    let made = made(&text);
    assert!(made.len() > 40, "{made:?}");
    let s = Sandbox::empty("repo");
    let shown = s.loopx(&["--json", "spec", "findings"]);
    let shown = (shown.json(), shown.ok()).0;
    let list = shown["findings"].as_array().expect("findings");
    let mut listed = BTreeMap::new();
    for one in list {
        let words = one["severities"].as_array().expect("severities").iter();
        let words: BTreeSet<String> = words
            .map(|word| word.as_str().expect("a word").to_owned())
            .collect();
        listed.insert(one["id"].as_str().expect("an id").to_owned(), words);
        assert!(one["meaning"] != "" && one["fix"] != "");
    }
    assert_eq!(listed.len(), list.len(), "an id is listed twice");
    for (id, severities) in &made {
        assert_eq!(listed.get(id), Some(severities), "{id}");
    }
    for id in listed.keys() {
        assert!(text.contains(&format!("\"{id}\"")), "nobody says {id}");
    }
    let plain = s.loopx(&["spec", "findings"]).ok();
    assert!(listed.keys().all(|id| plain.contains(id.as_str())));
}
