//! Set-up by command: what a server, a clone and a policy still need, as pure decisions over facts that
//! `flow::setup` gathers.

pub mod attack;
pub mod ci;
pub mod file;
pub mod level;
pub mod server;
pub mod signers;

use loopx_base::hint::Hint;
use loopx_hosts::quoted;

/// A path as it is typed: quoted where a shell would read something else.
pub fn typed(path: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "/._-+@%".contains(sign);
    if path.chars().all(is_plain) && !path.starts_with('-') {
        path.to_owned()
    } else {
        quoted(path)
    }
}

/// The command that commits the files of a set-up, by their names as they are typed.
pub fn commit_of(files: &[String]) -> Hint {
    // From the top, wherever it is typed.
    let files: Vec<String> = files.iter().map(|file| format!(":/{file}")).collect();
    let files = files.join(" ");
    format!("git add {files} && git commit -m 'Say what may land' -- {files}").into()
}
