//! Repositories that are large because git's fast-import makes them: thousands of sessions would take
//! minutes to start one by one.

use super::forge;
use super::{LOOPX, Sandbox};
use loopx_base::fanout::Fanout::Operations;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The session that the others are made like.
pub(crate) const SEED: &str = "seed";

/// The name of a copy.
pub(crate) fn copy(n: usize) -> String {
    format!("session-{n:05}")
}

/// Adds copies of an unbound session, and empty commits until the branch has this many more.
pub(crate) fn grow(s: &Sandbox, sessions: usize, commits: usize) {
    if s.git(&["rev-parse", "--verify", "--quiet", "loopx"]).code != Some(0) {
        s.loopx(&["init"]).ok();
    }
    s.loopx(&["start", "--no-branch", SEED]).ok();
    let folder = format!("loopx:sessions/{SEED}");
    let show = |path: &str| s.git(&["cat-file", "-p", &format!("{folder}/{path}")]).ok();
    let state = show("state.json");
    let known: Value = serde_json::from_str(&state).expect("JSON");
    let word = |key: &str| known[key].as_str().expect("a word").to_owned();
    let (uid, ops, last) = (word("uid"), word("ops"), word("last"));
    let record = show(&format!("ops/{:08}-{last}.json", 1));
    let listed = s.git(&["ls-tree", &folder]).ok();
    // Artifacts name no session: the copies share them.
    let entries: Vec<(&str, &str, &str)> = listed
        .lines()
        .filter_map(|line| {
            let (meta, path) = line.split_once('\t')?;
            let mut meta = meta.split(' ');
            Some((meta.next()?, meta.nth(1)?, path))
        })
        .filter(|(_, _, path)| *path != "state.json" && *path != "ops")
        .collect();
    let first = "commit refs/heads/copies\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata 4\nops\n";
    let mut stream = first.to_owned();
    let mut states = Vec::new();
    for n in 0..sessions {
        let name = copy(n);
        // A session of its own, and no second folder of the seed.
        let own = format!("{}{n:05}", &uid[..uid.len() - 5]);
        let text = record.replace(&uid, &own);
        let value = serde_json::from_str(&text).expect("JSON");
        let (id, bytes) = forge::record(&value);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let file = forge::file_name(&value, &id);
        write!(
            stream,
            "M 100644 inline {name}/ops/{file}\ndata {}\n{text}\n",
            text.len()
        )
        .expect("a string");
        let state = state.replace(
            &format!("\"id\": \"{SEED}\""),
            &format!("\"id\": \"{name}\""),
        );
        states.push(state.replace(&uid, &own).replace(&last, &id));
    }
    let import = |stream: String| {
        let call = s.call("git").args(&["fast-import", "--quiet"]);
        call.stdin(stream).run().ok();
    };
    import(stream);
    let trees = s.git(&["ls-tree", "-d", "-r", "copies"]).ok();
    s.git(&["update-ref", "-d", "refs/heads/copies"]).ok();
    let trees: BTreeMap<&str, &str> = trees
        .lines()
        .filter_map(|line| {
            let (meta, path) = line.split_once('\t')?;
            Some((path.strip_suffix("/ops")?, meta.rsplit(' ').next()?))
        })
        .collect();
    let mut stream = String::new();
    for (n, state) in states.iter().enumerate() {
        let state = state.replace(&ops, trees[copy(n).as_str()]);
        write!(
            stream,
            "blob\nmark :{}\ndata {}\n{state}\n",
            n + 1,
            state.len()
        )
        .expect("a string");
    }
    for at in 0..commits.max(1) {
        stream.push_str("commit refs/heads/loopx\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata 24\ncopy\n\nLoopx-Event: copy\n");
        if at > 0 {
            stream.push('\n');
            continue;
        }
        stream.push_str("from refs/heads/loopx^0\n");
        for n in 0..sessions {
            let name = copy(n);
            writeln!(stream, "M 100644 :{} sessions/{name}/state.json", n + 1).expect("a string");
            let ops = trees[name.as_str()];
            writeln!(stream, "M 040000 {ops} sessions/{name}/ops").expect("a string");
            for (mode, id, path) in &entries {
                writeln!(stream, "M {mode} {id} sessions/{name}/{path}").expect("a string");
            }
        }
        stream.push('\n');
    }
    import(stream);
}

/// Adds operations to a session until it has this many: they write its spec in turn as these two texts
/// and end with the second. They lie side by side, as older programs left them, unless what is there is spread.
pub(crate) fn prolong(s: &Sandbox, dir: &Path, id: &str, operations: usize, texts: [&str; 2]) {
    let git = |args: &[&str]| s.git_in(dir, args);
    for text in texts {
        let put = s.call(LOOPX).cwd(dir).args(&["-s", id, "put", "spec.md"]);
        put.stdin(text).run().ok();
    }
    let folder = format!("sessions/{id}");
    let show = |path: &str| -> Value {
        let text = git(&["show", &format!("loopx:{folder}/{path}")]).ok();
        serde_json::from_str(&text).expect("JSON")
    };
    let mut state = show("state.json");
    let list = [
        "ls-tree",
        "-r",
        "--name-only",
        &format!("loopx:{folder}/ops"),
    ];
    let places = git(&list).ok();
    let places: Vec<&str> = places
        .lines()
        .filter(|place| place.ends_with(".json"))
        .collect();
    let there = places.len();
    let name = |place: &&&str| place.rsplit('/').next().map(str::to_owned);
    let newest = places.iter().max_by_key(name).expect("an operation");
    let is_spread = newest.contains('/');
    let mut op = show(&format!("ops/{newest}"));
    let (_, newest) = newest.rsplit_once('-').expect("an id");
    let mut last = newest.trim_end_matches(".json").to_owned();
    let first = "commit refs/heads/prolonged\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata 6\nmore\n\nfrom refs/heads/loopx^0\n";
    let mut stream = first.to_owned();
    let more = operations - there;
    // The first of them goes back.
    assert!(
        more.is_multiple_of(2),
        "{more} operations end with the other text"
    );
    for _ in 0..more {
        let write = &mut op["files"]["spec.md"];
        *write = json!({"from": write["to"], "to": write["from"]});
        op["after"] = json!([last]);
        let seq = op["seq"].as_u64().expect("a number") + 1;
        op["seq"] = json!(seq);
        let (id, bytes) = forge::record(&op);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let place = Operations.place(&forge::file_name(&op, &id), is_spread);
        last = id;
        let size = text.len();
        write!(
            stream,
            "M 100644 inline {folder}/ops/{place}\ndata {size}\n{text}\n"
        )
        .expect("a string");
    }
    let import = |stream: String| {
        let call = s.call("git").cwd(dir).args(&["fast-import", "--quiet"]);
        call.stdin(stream).run().ok();
    };
    import(stream);
    let ops = git(&["rev-parse", &format!("prolonged:{folder}/ops")]).line();
    git(&["update-ref", "-d", "refs/heads/prolonged"]).ok();
    state["ops"] = json!(ops);
    state["seq"] = op["seq"].clone();
    state["last"] = json!(last);
    let text = serde_json::to_string_pretty(&state).expect("JSON") + "\n";
    let message = format!("{id}: more\n\nLoopx-Session: {id}\nLoopx-Event: saved\n");
    import(format!(
        "commit refs/heads/loopx\ncommitter Seed <seed@example.org> 1767225600 +0000\ndata {}\n{message}from refs/heads/loopx^0\nM 040000 {ops} {folder}/ops\nM 100644 inline {folder}/state.json\ndata {}\n{text}\n",
        message.len(),
        text.len()
    ));
}
