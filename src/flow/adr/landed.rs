//! The trees that promoting could have made: for whoever judges a commit that says so.

use super::promote::{Candidate, FileTexts, Request, promotion};
use super::{of_tree, tree_files};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::account::Change;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_spec::adr::Record;

/// Changes of files that promoting a session's candidate could make of a tree: in either layout, accepted or not.
pub(in crate::flow) fn promotions(
    repo: &Repo,
    policy: &Policy,
    state: &State,
    text: String,
    tree: &Oid,
) -> Result<Vec<FileTexts>> {
    let folder = &policy.paths.adr;
    let records = of_tree(repo, tree, folder)?;
    let files = tree_files(repo, tree, folder)?;
    let candidate = Candidate {
        text,
        id: state.uid.clone(),
        session: Some(state.id.clone()),
        draft: None,
        branch: None,
    };
    let mut found = Vec::new();
    for (nygard, accept) in [(false, false), (false, true), (true, false), (true, true)] {
        let request = Request {
            what: None,
            nygard,
            accept,
            onto: None,
        };
        let there = (folder.as_str(), records.as_slice(), files.as_slice());
        // What cannot be promoted in one way may be in another.
        if let Ok((_, texts)) = promotion(repo, request, &candidate, there) {
            found.push(texts);
        }
    }
    Ok(found)
}

/// The dates of the records that changes bring.
pub(in crate::flow) fn days(
    repo: &Repo,
    policy: &Policy,
    tree: &Oid,
    changes: &[Change],
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for change in changes {
        let Some(file) = change.path.strip_prefix(&format!("{}/", policy.paths.adr)) else {
            continue;
        };
        if change.old.is_none()
            && let Some(bytes) = repo.blob_at(tree, &change.path)?
        {
            let read = Record::read(file, &String::from_utf8_lossy(&bytes));
            found.extend(read.date);
        }
    }
    Ok(found)
}
