//! A push that could not be judged, as a refusal: which object it was, and what the administrator can do.

use super::Update;
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure};
use loopx_base::hint::hint;
use loopx_base::id::Oid;
use std::collections::{HashSet, VecDeque};

/// Number of a push's commits that are searched for one that cannot be read.
const LOOKED_AT: usize = 1000;

/// The refusal of a push that ended in this failure.
pub(super) fn refusal(ctx: Option<&Context>, updates: &[Update], failure: Failure) -> Failure {
    // What is too much is not unreadable.
    if failure.code == Code::PushTooLarge {
        return failure;
    }
    let unread = ctx.and_then(|ctx| unread(ctx, updates));
    let (id, message) = match unread {
        Some((id, message)) => (Some(id), message),
        None => (named(&failure.message), failure.message),
    };
    let look = match id {
        Some(id) => format!("git cat-file -p {id}"),
        None => "git fsck".to_owned(),
    };
    let administrator = format!(
        "for the administrator of this server: {look}  (in the repository, as the user that receives pushes)"
    );
    let help = match failure.help {
        Some(help) => hint![help, "; ", administrator],
        None => administrator.into(),
    };
    Failure::refused(
        Code::PushNotJudged,
        format!("git loopx could not judge this push: {message}"),
    )
    .blockers(failure.blockers)
    .help(help)
}

/// The first pushed commit that cannot be read, and why: libgit2 does not always say which one it was.
fn unread(ctx: &Context, updates: &[Update]) -> Option<(Oid, String)> {
    let mut next: VecDeque<Oid> = updates.iter().filter_map(|one| one.new.clone()).collect();
    let mut met: HashSet<Oid> = updates.iter().filter_map(|one| one.old.clone()).collect();
    let mut looked_at = 0;
    while let Some(id) = next.pop_front() {
        if looked_at == LOOKED_AT || !met.insert(id.clone()) {
            continue;
        }
        looked_at += 1;
        match ctx.repo.commit_info(&id) {
            Ok(info) => next.extend(info.parents),
            Err(failure) => return Some((id, failure.message)),
        }
    }
    None
}

/// The object that a message names.
fn named(message: &str) -> Option<Oid> {
    let mut words = message.split(|sign: char| !sign.is_ascii_hexdigit());
    words.find_map(|word| Oid::parse(word).ok())
}
