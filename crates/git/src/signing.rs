//! SSH signatures, made and checked by `ssh-keygen -Y`.
//!
//! Signing follows git's own settings, those of the repository included: it happens because somebody
//! asked for it, as with `git commit -S`. Checking does not: a program that a repository's
//! configuration can name must not be the one that says whether a signature is good, so it is always
//! the `ssh-keygen` of PATH. Nothing goes through a shell.

use super::repo::Repo;
use super::run::{Captured, Run};
use loopx_base::failure::{Code, Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "ssh-keygen";

/// A signature that ssh-keygen found good: the kind of its key, and the key's fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Good {
    pub kind: String,
    pub key: String,
}

/// Keys that may sign, and those that may not any more, where ssh-keygen can read them.
pub struct Signers {
    dir: tempfile::TempDir,
    /// Name of the file of keys for people.
    label: String,
}

impl Signers {
    /// Writes the two lists into a folder of our own. What is not there lists nobody.
    pub fn new(allowed: &[u8], revoked: &[u8], label: &str) -> Result<Self> {
        let dir = private_dir()?;
        write(&dir.path().join("allowed"), allowed)?;
        write(&dir.path().join("revoked"), revoked)?;
        Ok(Signers {
            dir,
            label: label.to_owned(),
        })
    }

    fn allowed(&self) -> PathBuf {
        self.dir.path().join("allowed")
    }

    /// Names that the key of a signature is listed for at a moment (`YYYYMMDDhhmmss`), or the reason for which the key
    /// is listed for nobody.
    pub fn principals(&self, armour: &str, at: &str) -> Result<Result<Vec<String>, String>> {
        let signature = self.signature(armour)?;
        let said = ssh_keygen()
            .args(["-Y", "find-principals", "-f"])
            .args([self.allowed()])
            .args([format!("-Overify-time={at}")])
            .arg_path("-s", &signature)
            .capture()?;
        if !said.ended.success() {
            return Ok(Err(
                self.why(&said, "no key of the signers' file made the signature")
            ));
        }
        let names = String::from_utf8_lossy(&said.stdout)
            .split([',', '\n'])
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(Ok(names))
    }

    /// Verifies that somebody's listed key made this signature over these bytes; else gives the reason against it.
    pub fn verify(
        &self,
        who: &str,
        namespace: &str,
        payload: &[u8],
        armour: &str,
        at: &str,
    ) -> Result<Result<Good, String>> {
        let signature = self.signature(armour)?;
        let said = ssh_keygen()
            .args(["-Y", "verify", "-n", namespace, "-I", who])
            .args([format!("-Overify-time={at}")])
            .arg_path("-f", &self.allowed())
            .arg_path("-r", &self.dir.path().join("revoked"))
            .arg_path("-s", &signature)
            .stdin(payload)
            .capture()?;
        Ok(match good(&said) {
            Some(good) => Ok(good),
            None => Err(self.why(
                &said,
                "the key is not listed for signatures of this kind, or was revoked",
            )),
        })
    }

    /// Verifies that a signature is over these bytes at all, whoever made it; else gives the reason against it.
    pub fn integrity(
        &self,
        namespace: &str,
        payload: &[u8],
        armour: &str,
    ) -> Result<Result<Good, String>> {
        let signature = self.signature(armour)?;
        let said = ssh_keygen()
            .args(["-Y", "check-novalidate", "-n", namespace])
            .arg_path("-s", &signature)
            .stdin(payload)
            .capture()?;
        Ok(match good(&said) {
            Some(good) => Ok(good),
            None => Err(self.why(&said, "the signature was made for another text")),
        })
    }

    fn signature(&self, armour: &str) -> Result<PathBuf> {
        let path = self.dir.path().join("signature");
        write(&path, armour.as_bytes())?;
        Ok(path)
    }

    /// Reason in the words of ssh-keygen, without the names of our own files.
    fn why(&self, said: &Captured, otherwise: &str) -> String {
        let text = String::from_utf8_lossy(&said.stderr);
        let folder = format!("{}/", self.dir.path().display());
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("No principal matched"))
            .map_or(otherwise.to_owned(), |line| {
                line.replace(&format!("{folder}allowed"), &self.label)
                    .replace(&folder, "")
            })
    }
}

/// Tells whether signatures can be checked here.
pub fn can_check() -> bool {
    loopx_base::env::path()
        .iter()
        .any(|dir| dir.join(PROGRAM).is_file())
}

/// `ssh-keygen` as everybody's verdict has it: times without a zone are UTC, words are not translated.
fn ssh_keygen() -> Run {
    Run::program(PROGRAM).env("TZ", "UTC0").env("LC_ALL", "C")
}

/// `Good "NAMESPACE" signature [for WHO] with KIND key FINGERPRINT`
fn good(said: &Captured) -> Option<Good> {
    if !said.ended.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&said.stdout);
    let line = text.lines().find(|line| line.starts_with("Good "))?;
    let (_, key) = line.rsplit_once(" with ")?;
    let (kind, key) = key.split_once(" key ")?;
    Some(Good {
        kind: kind.to_owned(),
        key: key.trim().to_owned(),
    })
}

impl Repo {
    /// Signs bytes as git would sign a commit, in a namespace of ours. Gives the armour.
    pub fn sign_ssh(&self, namespace: &str, payload: &[u8]) -> Result<String> {
        let format = self.config("gpg.format").unwrap_or_default();
        if format != "ssh" {
            let found = if format.is_empty() {
                "nothing"
            } else {
                format.as_str()
            };
            return Err(Failure::refused(
                Code::SigningNotConfigured,
                format!(
                    "signing goes by git's SSH settings: expected gpg.format ssh, found {found}"
                ),
            )
            .help(
                "git config gpg.format ssh && git config user.signingKey ~/.ssh/id_ed25519.pub",
            ));
        }
        let dir = private_dir()?;
        let (key, from_agent) = self.signing_key(dir.path())?;
        let buffer = dir.path().join("statement");
        write(&buffer, payload)?;
        let program = self
            .config("gpg.ssh.program")
            .filter(|program| !program.is_empty())
            .unwrap_or_else(|| PROGRAM.to_owned());
        let mut run = Run::program(expand(&program))
            .args(["-Y", "sign", "-n", namespace])
            .arg_path("-f", &key);
        if from_agent {
            run = run.args(["-U"]);
        }
        // A passphrase is asked for on the terminal, which ssh-keygen opens itself.
        let said = run.args([&buffer]).capture()?;
        let armour = fs::read_to_string(dir.path().join("statement.sig"));
        match armour {
            Ok(armour) if said.ended.success() => Ok(armour),
            _ => {
                let text = String::from_utf8_lossy(&said.stderr);
                let why = text
                    .lines()
                    .map(str::trim)
                    .rfind(|line| !line.is_empty())
                    .unwrap_or("no signature came back")
                    .to_owned();
                Err(Failure::refused(Code::SigningFailed, format!("{program} did not sign: {why}"))
                    .help("check user.signingKey: git config --get user.signingKey  (and, for a key in the agent: ssh-add -l)"))
            }
        }
    }

    /// The file of the key to sign with, and whether only the agent has its secret half.
    fn signing_key(&self, dir: &Path) -> Result<(PathBuf, bool)> {
        let wanted = match self.config("user.signingKey").filter(|key| !key.is_empty()) {
            Some(key) => key,
            None => self.default_key()?,
        };
        let literal = match wanted.strip_prefix("key::") {
            Some(key) => Some(key),
            // git reads keys without the prefix too.
            None => wanted.starts_with("ssh-").then_some(wanted.as_str()),
        };
        match literal {
            Some(key) => {
                let path = dir.join("key.pub");
                write(&path, format!("{}\n", key.trim()).as_bytes())?;
                Ok((path, true))
            }
            None => Ok((
                self.config_path("user.signingKey")
                    .unwrap_or_else(|| PathBuf::from(&wanted)),
                false,
            )),
        }
    }

    /// The first key that gpg.ssh.defaultKeyCommand prints.
    fn default_key(&self) -> Result<String> {
        let missing = |why: String| {
            Failure::refused(Code::SigningNotConfigured, why)
                .help("git config user.signingKey ~/.ssh/id_ed25519.pub")
        };
        let command = self
            .config("gpg.ssh.defaultKeyCommand")
            .filter(|command| !command.trim().is_empty())
            .ok_or_else(|| {
                missing(
                    "expected a key in user.signingKey or gpg.ssh.defaultKeyCommand, found neither"
                        .to_owned(),
                )
            })?;
        let mut words = split_words(&command)
            .ok_or_else(|| {
                missing(format!(
                    "gpg.ssh.defaultKeyCommand: a quote is not closed in `{command}`"
                ))
            })?
            .into_iter();
        let program = words.next().unwrap_or_default();
        let said = Run::program(expand(&program)).args(words).capture()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        text.lines()
            .next()
            .filter(|line| {
                said.ended.success() && (line.starts_with("key::") || line.starts_with("ssh-"))
            })
            .map(str::to_owned)
            .ok_or_else(|| {
                missing(format!(
                    "gpg.ssh.defaultKeyCommand: expected a line with a key from `{command}`, found none"
                ))
            })
    }
}

/// `~/` at the beginning, as git reads it in names of programs and files.
fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), loopx_base::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// The words of a command, with quotes and backslashes as git splits it: no shell reads it. `None`
/// where a quote is not closed.
fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

fn private_dir() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("loopx-sign-")
        .tempdir()
        .map_err(|error| super::no_temporary_folder("sign in", &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| super::no_temporary_folder("sign in", &error))
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn a_key_command_is_split_without_a_shell() {
        for (command, words) in [
            ("ssh-add -L", vec!["ssh-add", "-L"]),
            ("  a  'b c' d\\ e ", vec!["a", "b c", "d e"]),
            ("a \"b \\\" c\" ''", vec!["a", "b \" c", ""]),
            ("a; rm $(x) `y`", vec!["a;", "rm", "$(x)", "`y`"]),
        ] {
            assert_eq!(split_words(command).expect(command), words);
        }
        assert_eq!(split_words("a 'b"), None);
    }
}
