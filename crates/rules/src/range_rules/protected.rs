//! A protected branch goes forward. What it takes, [`crate::account`] says.

use super::{Finding, Severity};
use loopx_base::failure::Code;
use loopx_base::id::Oid;

/// A protected branch goes forward: nothing that it took is taken away again. `old` is where it was,
/// `becomes` what would happen to it.
pub fn set_back(branch: &str, old: &Oid, subject: &str, becomes: &str) -> Finding {
    Finding {
        code: Code::ProtectedSetBack,
        severity: Severity::Error,
        commit: old.clone(),
        subject: subject.to_owned(),
        paths: Vec::new(),
        message: format!("`{branch}` is protected and would be {becomes}"),
        help: format!("git revert {}", old.short()).into(),
    }
}
