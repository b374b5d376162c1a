//! Commits that a key signed, as `git commit -S` with SSH does.

use super::judge::{Judge, moment};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_git::signing::{Signers, can_check};
use loopx_rules::policy::Policy;

/// The namespace of git's own signatures.
const NAMESPACE: &str = "git";
const WHO: &str = "landing";

/// Tells whether a commit is signed with this public key, which nobody revoked.
pub(crate) fn is_commit_by(repo: &Repo, policy: &Policy, commit: &Oid, key: &str) -> Result<bool> {
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
    let now = moment(loopx_base::env::now());
    let good = signers.verify(WHO, NAMESPACE, &payload, &armour, &now)?;
    Ok(good.is_ok())
}

/// Tells whether a commit has git's SSH signature by its committer, with a key of the policy's signers.
pub(crate) fn is_signed_by_somebody(repo: &Repo, policy: &Policy, commit: &Oid) -> Result<bool> {
    let info = repo.commit_info(commit)?;
    let checked = Judge::new(policy)?.check_commit(repo, &info)?;
    Ok(checked.is_some_and(|checked| checked.holds()))
}
