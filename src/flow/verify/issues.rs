//! Issues of the backlog that commits name. One that is not there stops nothing: the word of a trailer opens no gate.

use super::Sessions;
use super::sessions::Named;
use crate::flow::issue::apart;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::command;
use loopx_base::trailers;
use loopx_git::CommitInfo;
use loopx_rules::issue::IssueId;
use loopx_rules::range_rules::{Finding, Severity};
use std::collections::BTreeMap;

/// A warning for each commit and each issue that it names and that is not there, or that nobody would do.
pub(super) fn unknown(sessions: &Sessions<'_>, infos: &[CommitInfo]) -> Result<Vec<Finding>> {
    let mut known: BTreeMap<&str, Named> = BTreeMap::new();
    let mut found = Vec::new();
    for info in infos {
        for named in info.trailer(trailers::ISSUE) {
            let of = match (known.get(named), IssueId::parse(named)) {
                (Some(of), _) => of.clone(),
                (None, Some(id)) => sessions.issue_named(&id)?,
                (None, None) => Named::Unknown,
            };
            known.insert(named, of.clone());
            let (code, what, help) = match of {
                Named::There => continue,
                Named::Circle(oldest) => (
                    Code::IssueCycle,
                    "which was closed as a duplicate of its duplicate",
                    apart::original(&oldest),
                ),
                Named::TakenBack => (
                    Code::IssueNamedUnknown,
                    "whose beginning was taken back",
                    command!("issue log {named}"),
                ),
                Named::Unknown => (
                    Code::IssueNamedUnknown,
                    "which the backlog does not have",
                    command!("issue list --all"),
                ),
            };
            found.push(Finding {
                code,
                severity: Severity::Warning,
                commit: info.id.clone(),
                subject: info.subject().to_owned(),
                paths: Vec::new(),
                message: format!("the commit names the issue `{named}`, {what}"),
                help,
            });
        }
    }
    Ok(found)
}
