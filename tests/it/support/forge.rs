//! Records as somebody could forge them who can write the branch: another text for an operation, with the
//! hash chain, the signatures' names, the logs and the state made to fit.

use super::Sandbox;
use super::store::tamper_all;
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_rules::op::Operation;
use loopx_rules::replay::fold;
use serde_json::Value;
use std::collections::BTreeMap;

/// The bytes of a record, and its id, as the program makes them in a repository of SHA-1.
pub(crate) fn record(value: &Value) -> (String, Vec<u8>) {
    let mut bytes = serde_json::to_vec_pretty(value).expect("JSON");
    bytes.push(b'\n');
    let id = Repo::sha1_of(&bytes).expect("an id");
    (id.to_string(), bytes)
}

/// The name of the file of a record of format 2.
pub(crate) fn file_name(value: &Value, id: &str) -> String {
    format!("{:08}-{id}.json", value["seq"].as_u64().expect("a number"))
}

/// Puts the new ids for the old ones, wherever a record names others.
fn renamed(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                text.clone_from(name);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| renamed(one, names)),
        Value::Object(map) => map.values_mut().for_each(|one| renamed(one, names)),
        _ => {}
    }
}

/// Rewrites the operations of a session, and everything that follows from them.
pub(crate) fn forge_records(s: &Sandbox, id: &str, edit: impl Fn(&mut Value)) {
    let folder = format!("sessions/{id}");
    let list = s
        .git(&[
            "ls-tree",
            "-r",
            "--name-only",
            "loopx",
            &format!("{folder}/"),
        ])
        .ok();
    let show = |path: &str| s.git(&["show", &format!("loopx:{path}")]).ok();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut edits: Vec<(String, Option<Vec<u8>>)> = Vec::new();
    let mut operations = Vec::new();
    let is_record = |path: &&str| path.contains("/ops/") && path.ends_with(".json");
    let mut paths: Vec<&str> = list.lines().filter(is_record).collect();
    paths.sort_by_key(|path| path.rsplit('/').next().map(str::to_owned));
    for path in paths {
        let (place, name) = path.rsplit_once('/').expect("a folder");
        let text = show(path);
        let stored: Value = serde_json::from_str(&text).expect("an operation");
        let mut op = stored.clone();
        edit(&mut op);
        renamed(&mut op, &names);
        let (new, bytes) = if op == stored {
            let id = Repo::sha1_of(text.as_bytes()).expect("an id");
            (id.to_string(), text.into_bytes())
        } else {
            record(&op)
        };
        let old = name
            .trim_end_matches(".json")
            .split_once('-')
            .expect("an id")
            .1;
        names.insert(old.to_owned(), new.clone());
        let file = file_name(&op, &new);
        let blob = Oid::parse(&new).expect("an id");
        operations.push(Operation::parse(&bytes, path, &blob).expect("an operation"));
        if file == name {
            continue;
        }
        edits.push((path.to_owned(), None));
        edits.push((format!("{place}/{file}"), Some(bytes)));
        for (from, to) in [
            (format!("{path}.sig"), format!("{place}/{file}.sig")),
            (
                format!("{folder}/logs/{old}.log"),
                format!("{folder}/logs/{new}.log"),
            ),
        ] {
            if list.lines().any(|path| path == from) {
                edits.push((to, Some(show(&from).into_bytes())));
                edits.push((from, None));
            }
        }
    }
    tamper_all(s, &edits);
    forge_state(s, id, &operations);
}

/// Writes the state that operations give, as the program would.
fn forge_state(s: &Sandbox, id: &str, operations: &[Operation]) {
    let id = SessionId::parse(id).expect("an id");
    let mut state = fold(&id, operations).expect("a state");
    let tree = s
        .git(&["rev-parse", &format!("loopx:sessions/{id}/ops")])
        .line();
    state.ops = Some(Oid::parse(&tree).expect("an id"));
    let text = state.to_bytes().expect("JSON");
    let path = format!("sessions/{id}/state.json");
    tamper_all(s, &[(path, Some(text))]);
}
