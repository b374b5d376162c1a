//! Paths in the tree of the loopx branch (design 2), and nothing else.

use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_base::tree_name;
use loopx_git::Repo;
use loopx_rules::issue::IssueId;
use loopx_rules::session::State;
use std::collections::BTreeMap;

pub(crate) const FORMAT_FILE: &str = "format";
pub(crate) const README_FILE: &str = "README.md";
pub(crate) const SESSIONS: &str = "sessions";
pub(crate) const ARCHIVE: &str = "archive";
pub(crate) const BRANCHES: &str = "branches";
pub(crate) const JOURNAL: &str = "journal";
pub(crate) const ISSUES: &str = "issues";
/// Bytes of an escaped branch name that stay readable where the whole is too long.
const READABLE: usize = 200;
pub(crate) const OPS: &str = "ops";
/// The sealed operations of a session that an older program archived, one a line.
pub(crate) const SEALED_OPS: &str = "ops.jsonl";
/// The signatures of a session that an older program archived, one a line.
pub(crate) const SEALED_SIGNATURES: &str = "signatures.jsonl";
pub(crate) const STATE: &str = "state.json";
pub(crate) const LOGS: &str = "logs";
/// Spec files that requirements were written against, by blob id: they must stay reachable.
pub(crate) const BASES: &str = "change/bases";
/// The files of an imported change, as they were.
pub(crate) const IMPORTED: &str = "imported";

/// The versions of artifacts that were written apart, until somebody writes them again.
pub(crate) const VERSIONS: &str = "versions";

/// Text for somebody who finds the branch on a forge.
pub(crate) const README: &str = "\
# The loopx branch

This branch holds the sessions of `git loopx`: changes on their way from intent to archived specs.
Every commit is one event. Do not check it out, merge it or edit it by hand; read it with git:

    git log loopx                               what happened
    git log loopx -- sessions/<id>              to one session
    git log loopx -- journal                    notes that belong to none
    git show loopx:sessions/<id>/spec.md        an artifact

Where there are hundreds of sessions each lies one folder deeper, in a folder like `+a7`; then

    git log loopx -- ':(glob)sessions/**/<id>/**'

finds what happened to one. Work on it with `git loopx status`.
";

/// Test for the text that this program writes for whoever finds the branch, or that an earlier version wrote.
pub(crate) fn is_readme(repo: &Repo, blob: &Oid) -> Result<bool> {
    const JOURNAL_LINE: &str =
        "    git log loopx -- journal                    notes that belong to none\n";
    let second = README.replace(JOURNAL_LINE, "");
    let until = second.find("Where there are").unwrap_or(second.len());
    let first = format!(
        "{}and work on it with `git loopx status`.\n",
        &second[..until]
    );
    for text in [README, &second, &first] {
        if repo.hash_blob(text.as_bytes())? == *blob {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn session(id: &SessionId) -> String {
    format!("{SESSIONS}/{id}")
}

pub(crate) fn archived(month: &str, id: &SessionId) -> String {
    format!("{ARCHIVE}/{month}/{id}")
}

/// The session whose folder a path is in, active or archived, however deep its folder lies.
pub(crate) fn session_of(path: &str) -> Option<SessionId> {
    let mut parts = path.split('/');
    match parts.next()? {
        SESSIONS => {}
        ARCHIVE => drop(parts.next()?),
        _ => return None,
    }
    let name = parts.find(|part| !Fanout::Names.is_folder(part))?;
    parts.next()?;
    SessionId::parse(name).ok()
}

/// A record of an entity that is no session, or what somebody signed about one: the folder of the records, by the name
/// of the entity, and the file's name, however deep both lie.
pub(crate) fn record(path: &str) -> Option<(String, &str)> {
    let (entity, name) = path.split_once(&format!("/{OPS}/"))?;
    let entity = match entity.split('/').collect::<Vec<_>>().as_slice() {
        [_, _] => entity.to_owned(),
        [ISSUES, folder, name] if Fanout::Names.is_folder(folder) => format!("{ISSUES}/{name}"),
        _ => return None,
    };
    let name = name.rsplit('/').next().unwrap_or(name);
    Some((format!("{entity}/{OPS}"), name))
}

/// Tells whether a folder of records is of the journal or of an issue.
pub(crate) fn is_log(place: &str) -> bool {
    place
        .split_once('/')
        .is_some_and(|(top, _)| top == JOURNAL || top == ISSUES)
}

/// Tells whether a path is the state of an entity that this program does not know: whoever knows it computes it.
pub(crate) fn is_foreign_state(path: &str) -> bool {
    path.split('/').count() == 3 && path.ends_with(&format!("/{STATE}"))
}

/// The folder of the notes of a month that belong to no session.
pub(crate) fn journal(month: &str) -> String {
    format!("{JOURNAL}/{month}")
}

/// The folder of an issue.
pub(crate) fn issue(id: &IssueId) -> String {
    format!("{ISSUES}/{id}")
}

/// Path in the index of a session that is bound to a code branch.
pub(crate) fn bound(branch: &str, id: &SessionId) -> String {
    format!("{}/{id}", binding(branch))
}

/// Tells whether a path is in the index of bindings.
pub(crate) fn is_bound(path: &str) -> bool {
    path.starts_with(&format!("{BRANCHES}/"))
}

/// Path in the index of the sessions of a code branch. One path part, readable for plain names, and equal on file
/// systems that fold letter case. A name that no file system takes is cut, and ends with the hash of the whole name
/// behind a `~`, which no branch has.
pub(crate) fn binding(branch: &str) -> String {
    let mut name = String::new();
    for byte in branch.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.len() > tree_name::MOST_BYTES {
        name.truncate(READABLE);
        let hash =
            Repo::sha1_of(branch.as_bytes()).map_or_else(|_| String::new(), |id| id.to_string());
        name = format!("{name}~{hash}");
    }
    format!("{BRANCHES}/{name}")
}

/// The branch that an entry of [`BRANCHES`] is about; none where its name was cut.
pub(crate) fn unescape(name: &str) -> Option<String> {
    if name.contains('~') {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let code = rest.strip_prefix('%').and_then(|hex| hex.get(..2));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.extend(first.to_string().into_bytes());
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files of a session that follow from its state, by path below its folder: the artifacts, what else
/// operations wrote, and the versions that were written apart, in a folder named like the file.
pub(crate) fn files(state: &State) -> BTreeMap<String, Oid> {
    let mut found = BTreeMap::new();
    for (artifact, blob) in &state.artifacts {
        found.insert(artifact.path().to_owned(), blob.clone());
    }
    for (path, versions) in &state.files {
        // No tree has a file and a folder of one name: two clones may have made one each.
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if above.any(|above| state.files.contains_key(above)) {
            continue;
        }
        found.extend(versions.last().map(|blob| (path.clone(), blob.clone())));
        if let [_, _, ..] = versions.as_slice() {
            let kept = versions.iter();
            found.extend(kept.map(|blob| (version(path, blob), blob.clone())));
        }
    }
    for (artifact, join) in &state.joins {
        let blobs = join.sides.iter().filter_map(|side| side.blob.as_ref());
        for blob in blobs.chain(&join.base) {
            found.insert(version(artifact.path(), blob), blob.clone());
        }
    }
    found
}

/// Path of a version of a file.
pub(crate) fn version(path: &str, blob: &Oid) -> String {
    format!("{VERSIONS}/{path}/{blob}")
}

#[cfg(test)]
mod tests {
    use super::{binding, unescape};

    #[test]
    fn a_binding_names_its_branch() {
        for branch in ["main", "feat/Log-in", ".x", "ü%41"] {
            let path = binding(branch);
            let name = unescape(path.trim_start_matches("branches/"));
            assert_eq!(name.as_deref(), Some(branch));
        }
    }

    #[test]
    fn a_branch_with_a_long_name_has_a_path_part_of_its_own_that_file_systems_take() {
        let paths = ["A", "B"].map(|last| binding(&format!("{}{last}", "Ü".repeat(120))));
        assert_ne!(paths[0], paths[1]);
        for path in paths {
            let name = path.trim_start_matches("branches/");
            assert_eq!(name.len(), 241);
            assert_eq!(unescape(name), None);
        }
    }

    #[test]
    fn branch_names_become_one_path_part() {
        assert_eq!(binding("main"), "branches/main");
        assert_eq!(binding("feat/Log-in"), "branches/feat%2F%4Cog-in");
        assert_eq!(binding(".x"), "branches/%2Ex");
        assert_ne!(binding("A"), binding("a"));
    }
}
