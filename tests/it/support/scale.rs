//! Repositories that are large because git's fast-import makes them: thousands of sessions would take
//! minutes to start one by one.

use super::Sandbox;
use std::fmt::Write as _;

/// The session that the others are copies of.
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
    let state = s
        .git(&["cat-file", "-p", &format!("{folder}/state.json")])
        .ok();
    let listed = s.git(&["ls-tree", "-r", "-t", &folder]).ok();
    // Operations and artifacts name no session: the copies share them.
    let entries: Vec<(&str, &str, &str)> = listed
        .lines()
        .filter_map(|line| {
            let (meta, path) = line.split_once('\t')?;
            let mut meta = meta.split(' ');
            Some((meta.next()?, meta.nth(1)?, path))
        })
        .filter(|(mode, _, path)| *path != "state.json" && (*mode != "040000" || *path == "ops"))
        .filter(|(_, _, path)| !path.starts_with("ops/"))
        .collect();
    let mut stream = String::new();
    for n in 0..sessions {
        let name = copy(n);
        let state = state.replace(
            &format!("\"id\": \"{SEED}\""),
            &format!("\"id\": \"{name}\""),
        );
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
            for (mode, id, path) in &entries {
                writeln!(stream, "M {mode} {id} sessions/{name}/{path}").expect("a string");
            }
        }
        stream.push('\n');
    }
    s.call("git")
        .args(&["fast-import", "--quiet"])
        .stdin(stream)
        .run()
        .ok();
}
