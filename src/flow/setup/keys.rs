//! The SSH key that this person signs with, as git would choose it, or the only one that they have.

use loopx_base::env;
use loopx_git::Repo;
use loopx_rules::setup::signers::PublicKey;
use std::fs;
use std::path::{Path, PathBuf};

/// Larger than this is no public key.
const LARGEST: u64 = 64 * 1024;

/// A key of this person.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) key: PublicKey,
    /// Value that `user.signingKey` has to have for the key; `None` where it has that already.
    pub(super) setting: Option<String>,
}

/// Finds a key to sign with, or says why there is none.
pub(super) fn find(repo: &Repo) -> Result<Found, String> {
    let format = repo.config("gpg.format").unwrap_or_default();
    let wanted = repo.config("user.signingkey").filter(|key| !key.is_empty());
    if format == "ssh"
        && let Some(wanted) = &wanted
    {
        return configured(repo, wanted);
    }
    if format.is_empty()
        && let Some(wanted) = wanted
    {
        // What git would take for an OpenPGP key is not ours to replace.
        let found = configured(repo, &wanted).map_err(|why| {
            format!(
                "{why}, and gpg.format is not set, so that git takes it for an OpenPGP key; sessions are signed with SSH: git config gpg.format ssh && git config user.signingKey FILE"
            )
        })?;
        return Ok(Found {
            setting: Some(wanted),
            ..found
        });
    }
    if !format.is_empty() && format != "ssh" {
        return Err(format!(
            "git signs by {format} here (gpg.format), and sessions are signed with SSH: git config gpg.format ssh"
        ));
    }
    let all = in_home();
    let (file, key) = match all.as_slice() {
        [one] => one,
        [] => return Err("no SSH key was found: ssh-keygen -t ed25519 makes one".to_owned()),
        _ => {
            return Err(
                "several SSH keys are in ~/.ssh: git config user.signingKey FILE, with gpg.format ssh, chooses one"
                    .to_owned(),
            );
        }
    };
    Ok(Found {
        key: key.clone(),
        setting: Some(file.display().to_string()),
    })
}

/// The key that git signs with: a literal, or a file, of which the public half counts.
fn configured(repo: &Repo, wanted: &str) -> Result<Found, String> {
    let literal = wanted.strip_prefix("key::").unwrap_or(wanted);
    let key = PublicKey::parse(literal).or_else(|| {
        let path = repo.config_path("user.signingkey")?;
        let mut public = path.clone().into_os_string();
        public.push(".pub");
        read(&path).or_else(|| read(&PathBuf::from(public)))
    });
    match key {
        Some(key) => Ok(Found { key, setting: None }),
        None => Err(format!(
            "user.signingKey is `{wanted}`, and no public key was found there"
        )),
    }
}

fn in_home() -> Vec<(PathBuf, PublicKey)> {
    let Some(home) = env::var_os("HOME") else {
        return Vec::new();
    };
    let entries = fs::read_dir(Path::new(&home).join(".ssh"))
        .into_iter()
        .flatten();
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let public = files.filter(|path| path.extension().is_some_and(|end| end == "pub"));
    let mut keys: Vec<_> = public
        .filter_map(|path| Some((path.clone(), read(&path)?)))
        .collect();
    keys.sort_by(|(a, _), (b, _)| a.cmp(b));
    keys
}

/// The public key of a file.
pub(super) fn read(path: &Path) -> Option<PublicKey> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    PublicKey::parse(&String::from_utf8_lossy(&fs::read(path).ok()?))
}
