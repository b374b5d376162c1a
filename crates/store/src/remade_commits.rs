//! Own commits that no server takes, though what was wrong in them was mended since: a server judges each commit, and one
//! that nobody has yet need not go anywhere. The good ones are made again without them.

use super::history::MENDS;
use super::merge_tip::was;
use super::receive::{self, Budget};
use super::{Snapshot, Store};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{CommitInfo, Identity};

/// Budget without limits: nothing is too much for a clone to judge of its own.
const ALL: Budget = Budget {
    records: u64::MAX,
    merges: u64::MAX,
    bytes: u64::MAX,
};

impl Store<'_> {
    /// The own commits again without those that a server refuses, where something among them was mended; `None` where
    /// nothing was, or where they can be pushed as they are. Where they cannot be made one by one, one commit brings
    /// what they came to. What is damaged still stays as it is.
    pub(super) fn cleared(
        &self,
        identity: &Identity,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<Option<Oid>> {
        let repo = self.repo;
        let Some(base) = repo.merge_base(ours, theirs)? else {
            return Ok(None);
        };
        if !self.has_mends(ours, &base)? || Snapshot::at(repo, base.clone(), self.branch()).is_err()
        {
            return Ok(None);
        }
        let is_taken = |tip: &Oid| -> Result<bool> {
            let wrong = receive::check(repo, self.branch(), Some(&base), tip, &ALL)?;
            Ok(wrong.is_empty())
        };
        if is_taken(ours)? {
            return Ok(None);
        }
        let is_good =
            |info: &CommitInfo| info.parents.len() == 1 && !is_by_hand(info) && !mends(info);
        let again = self.again(identity, (ours, &base), (true, false), is_good);
        if let Ok(tip) = again
            && is_taken(&tip)?
        {
            return Ok(Some(tip));
        }
        let own = repo.range(ours, std::slice::from_ref(&base), usize::MAX)?;
        let names: Vec<String> = own.iter().rev().map(was).collect();
        let tree = repo.commit_info(ours)?.tree;
        let tip = self.gathered(identity, (&tree, &base), &names)?;
        Ok(is_taken(&tip)?.then_some(tip))
    }

    /// Tells whether a commit since `base` mends what others did.
    fn has_mends(&self, tip: &Oid, base: &Oid) -> Result<bool> {
        for commit in self
            .repo
            .range(tip, std::slice::from_ref(base), usize::MAX)?
        {
            if mends(&self.repo.commit_info(&commit)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn mends(info: &CommitInfo) -> bool {
    let events = info.trailer("Loopx-Event");
    events.iter().any(|event| MENDS.contains(event))
}

fn is_by_hand(info: &CommitInfo) -> bool {
    info.trailer("Loopx-Event").is_empty()
}
