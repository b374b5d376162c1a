//! Issues of the backlog that commits name. One that is not there stops nothing: the word of a trailer opens no gate.

use super::Sessions;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::command;
use loopx_base::trailers;
use loopx_git::CommitInfo;
use loopx_rules::issue::IssueId;
use loopx_rules::range_rules::{Finding, Severity};
use std::collections::BTreeMap;

/// A warning for each commit and each issue that it names and that is not there.
pub(super) fn unknown(sessions: &Sessions<'_>, infos: &[CommitInfo]) -> Result<Vec<Finding>> {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut found = Vec::new();
    for info in infos {
        for named in info.trailer(trailers::ISSUE) {
            let is_there = match (known.get(named), IssueId::parse(named)) {
                (Some(is_there), _) => *is_there,
                (None, Some(id)) => sessions.has_issue(&id)?,
                (None, None) => false,
            };
            known.insert(named, is_there);
            if is_there {
                continue;
            }
            found.push(Finding {
                code: Code::IssueNamedUnknown,
                severity: Severity::Warning,
                commit: info.id.clone(),
                subject: info.subject().to_owned(),
                paths: Vec::new(),
                message: format!("it names the issue `{named}`, which the backlog does not have"),
                help: command!("issue list --all"),
            });
        }
    }
    Ok(found)
}
