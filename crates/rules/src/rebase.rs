//! A session's base, recorded anew after history was rewritten: which commit may become it.
//!
//! The base gives the policy and the begin of what a review covers. So it is no matter of taste: one that
//! still holds stays, unless the branch took in what the target has since, and no commit of the session itself
//! may come to lie before it.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};

/// Facts about the commit that is to become the base, and about the present base.
#[derive(Clone, Debug)]
pub struct Bases<'a> {
    pub session: &'a SessionId,
    pub branch: Option<&'a str>,
    /// The base that is recorded; none where the session began before the first commit.
    pub recorded: Option<&'a Oid>,
    /// Set when the recorded base is here and in the history of the branch.
    pub stands: bool,
    pub onto: &'a Oid,
    /// Set when the new base is in the history of the branch.
    pub is_in_history: bool,
    /// Set when the target has the new base, with the recorded one behind it.
    pub is_newer_on_target: bool,
    /// A commit up to the new one that names the session.
    pub own: Option<&'a Oid>,
}

/// Refuses a base that cannot be one.
pub fn check(bases: &Bases<'_>) -> Result<()> {
    let Bases {
        session,
        branch,
        recorded,
        stands,
        onto,
        is_in_history,
        is_newer_on_target,
        own,
    } = *bases;
    if recorded == Some(onto) {
        return Err(Failure::nothing(
            Code::BaseSame,
            format!(
                "session {session} starts from commit {} already",
                onto.short()
            ),
        )
        .help(command!("status")));
    }
    let place = branch.map_or("HEAD".to_owned(), |branch| format!("the branch {branch}"));
    if stands && !(is_newer_on_target && is_in_history) {
        let base = recorded.map_or("nothing", Oid::short);
        return Err(Failure::refused(
            Code::BaseStands,
            format!(
                "session {session} starts from commit {base}, which is in the history of {place}: expected one that was rewritten, or a newer one that both the branch and its target have"
            ),
        )
        .help(if is_newer_on_target { hint![format!("git merge {}  (the branch has to have it)", onto.short())] } else { command!("status") }));
    }
    if !is_in_history {
        return Err(Failure::refused(
            Code::BaseOutside,
            format!("commit {} is not in the history of {place}", onto.short()),
        )
        .help(format!("git log {}", branch.unwrap_or("HEAD"))));
    }
    if let Some(own) = own {
        return Err(Failure::refused(
            Code::BaseOutside,
            format!(
                "commit {} of session {session} would come before its base, and no review would see it",
                own.short()
            ),
        )
        .help(hint![
            "choose a commit before it: ",
            command!("rebase --onto {}~1 --reason WHY", own.short())
        ]));
    }
    Ok(())
}

/// Way on where the base of a session is not here.
pub fn way_on(onto: &str) -> Hint {
    hint![
        "git fetch  (the branch that has it); where that history was rewritten: ",
        command!("rebase --onto {onto} --reason WHY")
    ]
}

#[cfg(test)]
mod tests {
    use super::{Bases, check};
    use loopx_base::failure::Code;
    use loopx_base::id::{Oid, SessionId};

    #[test]
    fn a_base_that_was_rewritten_or_passed_by_is_replaced_by_one_before_the_sessions_commits() {
        let id = SessionId::parse("demo").expect("an id");
        let oid = |c: &str| Oid::parse(&c.repeat(40)).expect("an id");
        let (old, new, own) = (oid("a"), oid("b"), oid("c"));
        let free = Bases {
            session: &id,
            branch: Some("main"),
            recorded: Some(&old),
            stands: false,
            onto: &new,
            is_in_history: true,
            is_newer_on_target: false,
            own: None,
        };
        assert_eq!(check(&free), Ok(()));
        let newer = Bases {
            stands: true,
            is_newer_on_target: true,
            ..free.clone()
        };
        assert_eq!(check(&newer), Ok(()));
        for (bases, code) in [
            (
                Bases {
                    onto: &old,
                    ..free.clone()
                },
                Code::BaseSame,
            ),
            (
                Bases {
                    stands: true,
                    ..free.clone()
                },
                Code::BaseStands,
            ),
            (
                Bases {
                    is_in_history: false,
                    ..newer
                },
                Code::BaseStands,
            ),
            (
                Bases {
                    is_in_history: false,
                    ..free.clone()
                },
                Code::BaseOutside,
            ),
            (
                Bases {
                    own: Some(&own),
                    ..free
                },
                Code::BaseOutside,
            ),
        ] {
            assert_eq!(check(&bases).map_err(|failure| failure.code), Err(code));
        }
    }
}
