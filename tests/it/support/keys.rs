//! SSH keys of people, and signing with them as git is told to.

use super::drive::Drive;
use super::{Output, Sandbox};
use loopx_base::id::Oid;
use loopx_rules::session::State;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A person with the name of their key. Ada is the author of every sandbox.
pub(crate) type Signer = (&'static str, &'static str, &'static str);

pub(crate) const ADA: Signer = ("Ada Author", "ada@example.org", "ada");
pub(crate) const RITA: Signer = ("Rita Reviewer", "rita@example.org", "rita");
pub(crate) const BOB: Signer = ("Bob Builder", "bob@example.org", "bob");

static KEYS: OnceLock<tempfile::TempDir> = OnceLock::new();

/// The file of a key's secret half; the public one has `.pub` behind it.
pub(crate) fn key(name: &str) -> PathBuf {
    let dir = KEYS.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["ada", "rita", "bob"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
                .arg(dir.path().join(name))
                .status();
            assert!(made.expect("ssh-keygen").success());
        }
        dir
    });
    dir.path().join(name)
}

/// `ssh-ed25519 AAAA...`
pub(crate) fn public(name: &str) -> String {
    let text = std::fs::read_to_string(key(name).with_extension("pub")).expect("a key");
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A line of the signers' file.
pub(crate) fn listed(principals: &str, options: &str, name: &str) -> String {
    let options = if options.is_empty() {
        String::new()
    } else {
        format!("{options} ")
    };
    format!("{principals} {options}{}\n", public(name))
}

/// Ada, Rita and Bob, each with their own key.
pub(crate) fn everybody() -> String {
    [ADA, RITA, BOB]
        .map(|(_, email, name)| listed(email, "", name))
        .concat()
}

/// Makes git sign with a key from now on.
pub(crate) fn use_key(s: &Sandbox, key: impl AsRef<Path>) {
    s.git(&["config", "gpg.format", "ssh"]).ok();
    let key = key.as_ref().to_str().expect("UTF-8");
    s.git(&["config", "user.signingKey", key]).ok();
}

/// Runs a command as somebody whose git signs with a key that is not always theirs.
#[must_use]
pub(crate) fn by_key(d: &Drive, who: Signer, name: &str, args: &[&str]) -> Output {
    use_key(d, key(name));
    let mut all = vec!["--json"];
    all.extend(args);
    d.by((who.0, who.1), &all)
}

/// Runs a command as somebody whose git signs with their key.
#[must_use]
pub(crate) fn by(d: &Drive, who: Signer, args: &[&str]) -> Output {
    by_key(d, who, who.2, args)
}

/// The path of the newest operation of a kind, and its text.
pub(crate) fn operation(d: &Drive, kind: &str) -> (String, String) {
    let list = ["ls-tree", "--name-only", "loopx", "sessions/demo/ops/"];
    let found = d.git(&list).ok();
    let mut found: Vec<(String, String)> = found
        .lines()
        .filter(|path| path.ends_with(".json"))
        .map(|path| {
            (
                path.to_owned(),
                d.git(&["show", &format!("loopx:{path}")]).ok(),
            )
        })
        .filter(|(_, text)| {
            let op: Value = serde_json::from_str(text).expect("JSON");
            op["kind"] == kind
        })
        .collect();
    found.pop().unwrap_or_else(|| panic!("no operation {kind}"))
}

/// Writes a file of the session `demo` on the loopx branch, as somebody who can write there and keeps
/// the digest of its operations in step.
pub(crate) fn forge(s: &Sandbox, path: &str, text: Option<&[u8]>) {
    forge_in(s, "demo", path, text);
}

pub(crate) fn forge_in(s: &Sandbox, id: &str, path: &str, text: Option<&[u8]>) {
    super::store::tamper(s, path, text);
    let folder = format!("sessions/{id}");
    let ops = s.git(&["rev-parse", &format!("loopx:{folder}/ops")]).line();
    let state = s.git(&["show", &format!("loopx:{folder}/state.json")]).ok();
    let mut state: State = serde_json::from_str(&state).expect("a state");
    state.ops = Some(Oid::parse(&ops).expect("an id"));
    let text = state.to_bytes().expect("JSON");
    super::store::tamper(s, &format!("{folder}/state.json"), Some(&text));
}
