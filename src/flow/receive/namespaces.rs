//! Refs that are not what their names say: names for other refs, and namespaces that change what everybody
//! on the server reads.

use super::Update;
use crate::flow::context::Context;
use loopx_base::counted;
use loopx_base::env;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::id::Oid;
use std::collections::HashMap;

const HEADS: &str = "refs/heads/";

/// Namespaces below which nobody pushes, and why.
const CLOSED: [(&str, &str); 2] = [
    (
        "refs/replace/",
        "a replaced object changes what everybody reads here, and no review saw it",
    ),
    (
        "refs/loopx/",
        "each repository keeps there what it knew of its own sessions",
    ),
];

/// Number of times that a name is followed to another: git follows no further.
const FOLLOWED: usize = 5;

/// Refuses to go on where the name of the branch of sessions is not the one that git reads: a setting that
/// cannot be read is none, and another branch would be judged. A part of the refs has names of its own.
pub(super) fn require_settings(ctx: &Context, branch: &str) -> Result<()> {
    if let Some(part) = env::var_os(env::GIT_NAMESPACE) {
        let message = format!(
            "expected all refs of a repository, found its part `{}` (GIT_NAMESPACE)",
            part.display()
        );
        return Err(Failure::internal(Code::GitFailed, message));
    }
    let said = ctx.repo.config_all("loopx.branch")?;
    let wanted = said.last().map_or("loopx", String::as_str);
    if wanted == branch {
        return Ok(());
    }
    Err(Failure::internal(
        Code::GitFailed,
        format!("expected sessions on `{wanted}` as loopx.branch says, found `{branch}`"),
    ))
}

/// The refs that a push moves: git follows a symbolic ref to the one that it names.
pub(super) fn resolved(ctx: &Context, updates: &[Update]) -> Result<Vec<Update>> {
    let mut found = updates.to_vec();
    for update in &mut found {
        for _ in 0..FOLLOWED {
            match ctx.repo.symbolic_target(&update.name)? {
                Some(target) => update.name = target,
                None => break,
            }
        }
    }
    Ok(found)
}

/// The refusal of a push of which git may carry out another one than is judged. It moves what it can of a push, one ref after
/// the other: a ref that is named twice moves twice, and where one branch is not what the push says that it was, that
/// branch stays and the others move.
pub(super) fn not_whole(ctx: &Context, updates: &[Update]) -> Result<Option<Failure>> {
    let mut seen: HashMap<&str, &Update> = HashMap::new();
    for update in updates {
        let name = &update.name;
        if seen
            .insert(name, update)
            .is_some_and(|known| known != update)
        {
            let message = format!("expected each ref of a push once, found `{name}` twice");
            return Ok(Some(Failure::refused(Code::RefTwice, message)));
        }
        if !name.starts_with(HEADS) {
            continue;
        }
        let is = ctx.repo.find_ref(name)?;
        if is != update.old {
            let said = |id: &Option<Oid>| match id {
                Some(id) => id.short().to_owned(),
                None => "nothing".to_owned(),
            };
            let message = format!(
                "expected `{name}` at {}, as the push says; found it at {}",
                said(&update.old),
                said(&is)
            );
            let moved = Failure::refused(Code::RefMoved, message);
            return Ok(Some(moved.help("git fetch, then push again")));
        }
    }
    Ok(None)
}

/// The refusal of a push into a closed namespace.
pub(super) fn refused(updates: &[Update]) -> Option<Failure> {
    let blockers: Vec<Blocker> = updates.iter().filter_map(blocker).collect();
    if blockers.is_empty() {
        return None;
    }
    let reasons = counted(blockers.len(), "reason");
    Some(
        Failure::refused(
            Code::RefClosed,
            format!("this push is refused, for {reasons}"),
        )
        .blockers(blockers)
        .help("git update-ref  (on the server itself, where its administrator wants it)"),
    )
}

fn blocker(update: &Update) -> Option<Blocker> {
    let name = &update.name;
    let (below, why) = CLOSED.iter().find(|(below, _)| name.starts_with(below))?;
    let message = format!("`{name}`: nothing is pushed below {below}: {why}");
    Some(Blocker::new(
        Code::RefClosed,
        message,
        "leave this ref out of the push",
    ))
}

#[cfg(test)]
mod tests {
    use super::{Update, refused};
    use loopx_base::failure::Code;

    fn update(name: &str) -> Update {
        Update {
            name: name.into(),
            old: None,
            new: None,
        }
    }

    #[test]
    fn g14_closed_namespaces_are_named_and_all_others_pass() {
        let open = ["refs/heads/replace/x", "refs/tags/loopx/1", "refs/notes/x"];
        assert_eq!(refused(&open.map(update)), None);
        let all = ["refs/heads/main", "refs/replace/1", "refs/loopx/shadow"];
        let failure = refused(&all.map(update)).expect("a refusal");
        assert_eq!(failure.code, Code::RefClosed);
        assert_eq!(failure.blockers.len(), 2);
    }
}
