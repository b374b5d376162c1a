//! Commits that a key signed, as `git commit -S` with SSH does.

use super::judge::{Judge, moment};
use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::core::policy::Policy;
use crate::git::Repo;
use crate::git::signing::{Signers, can_check};

/// The namespace of git's own signatures.
const NAMESPACE: &str = "git";
const WHO: &str = "landing";

/// Whether a commit is signed with this public key, which nobody revoked.
pub fn is_commit_by(repo: &Repo, policy: &Policy, commit: &Oid, key: &str) -> Result<bool> {
    let Some((signature, payload)) = repo.commit_signature(commit)? else {
        return Ok(false);
    };
    let armour = String::from_utf8_lossy(&signature);
    if !armour.starts_with("-----BEGIN SSH SIGNATURE-----") || !can_check() {
        return Ok(false);
    }
    let allowed = format!("{WHO} namespaces=\"{NAMESPACE}\" {key}\n");
    let revoked = policy.trust.revoked.clone().unwrap_or_default();
    let signers = Signers::new(allowed.as_bytes(), &revoked, "landing.exception")?;
    let now = moment(crate::env::now());
    let good = signers.verify(WHO, NAMESPACE, &payload, &armour, &now)?;
    Ok(good.is_ok())
}

/// Whether a commit has git's SSH signature by its committer, with a key of the policy's signers.
pub fn is_signed_by_somebody(repo: &Repo, policy: &Policy, commit: &Oid) -> Result<bool> {
    let info = repo.commit_info(commit)?;
    let checked = Judge::new(policy)?.check_commit(repo, &info)?;
    Ok(checked.is_some_and(|checked| checked.holds()))
}
