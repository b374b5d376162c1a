//! Which session `git loopx`, `status` and `next` speak of where nobody names one, and how somebody begins who is in
//! none. One decision, so that the three agree. Knows no store and no git: what is there comes in by name.

use super::Advised;
use crate::policy::FILE;
use crate::setup::commit_of;
use loopx_base::hint::{Hint, IDENTITY, command, hint};
use loopx_base::id::SessionId;

/// The sessions around somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Named, or bound to the branch that is checked out.
    pub called: Option<SessionId>,
    /// The sessions that are active.
    pub active: Vec<SessionId>,
    /// The only active session is bound to a branch, and another one or none is checked out.
    pub is_elsewhere: bool,
    /// The session that ended last on the branch that is checked out.
    pub ended: Option<SessionId>,
}

/// The session that is meant, where one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// The session of whoever asks, also where it has ended.
    Here(SessionId),
    /// The only active session, on another branch.
    Elsewhere(SessionId),
    /// The active sessions: any may be meant, and it has to be said which.
    Several(Vec<SessionId>),
    /// No session is active, and none ended here.
    Nothing,
}

/// The session that is meant.
pub fn meant(around: Around) -> Meant {
    let Around {
        called,
        mut active,
        is_elsewhere,
        ended,
    } = around;
    if let Some(id) = called {
        return Meant::Here(id);
    }
    match (active.len(), active.pop()) {
        (1, Some(only)) if is_elsewhere => Meant::Elsewhere(only),
        (1, Some(only)) => Meant::Here(only),
        (_, Some(last)) => {
            active.push(last);
            Meant::Several(active)
        }
        (_, None) => ended.map_or(Meant::Nothing, Meant::Here),
    }
}

/// Where somebody would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// No repository is here.
    NoRepository,
    /// The repository keeps no sessions yet.
    NotInitialised,
    /// A session can begin on what is checked out.
    Open,
    /// Policy takes no session on the branch that is checked out.
    Protected,
    /// Policy takes no session on this branch, and is not committed yet: there is no commit.
    ProtectedUnborn,
}

/// What leads on for somebody who is in no session.
pub fn begin(ground: Ground, is_nobody: bool, has_worktree: bool) -> Advised {
    let start = command!("start \"Fix the timeout\"");
    match ground {
        Ground::NoRepository => Hint::git("init").into(),
        // A record has a name under it.
        _ if is_nobody => nobody(),
        Ground::NotInitialised => command!("init").into(),
        Ground::Open => start.into(),
        Ground::Protected if has_worktree => hint!["git switch -c change, then: ", start].into(),
        Ground::Protected => hint![
            "git branch change, then: ",
            command!("start --branch change \"Fix the timeout\"")
        ]
        .into(),
        Ground::ProtectedUnborn => commit_of(&[FILE.to_owned()]).into(),
    }
}

/// Git has no name for whoever asks, and each record needs one.
pub fn nobody() -> Advised {
    Advised::write(format!("tell git who you are: {IDENTITY}"))
}

#[cfg(test)]
mod tests {
    use super::{Around, Ground, Meant, begin, meant, nobody};
    use loopx_base::id::SessionId;

    fn id(name: &str) -> SessionId {
        SessionId::parse(name).expect("an id")
    }

    #[test]
    fn who_is_in_a_session_means_it_and_else_the_only_one() {
        let around = |called: &[&str], active: &[&str], ended: &[&str]| Around {
            called: called.first().map(|name| id(name)),
            active: active.iter().map(|name| id(name)).collect(),
            is_elsewhere: false,
            ended: ended.first().map(|name| id(name)),
        };
        for (facts, wanted) in [
            (around(&["a"], &["a", "b"], &["c"]), Meant::Here(id("a"))),
            (around(&[], &["b"], &["c"]), Meant::Here(id("b"))),
            (around(&[], &[], &["c"]), Meant::Here(id("c"))),
            (around(&[], &[], &[]), Meant::Nothing),
            (
                around(&[], &["a", "b"], &["c"]),
                Meant::Several(vec![id("a"), id("b")]),
            ),
        ] {
            assert_eq!(meant(facts.clone()), wanted, "{facts:?}");
        }
        let elsewhere = Around {
            is_elsewhere: true,
            ..around(&[], &["b"], &["c"])
        };
        assert_eq!(meant(elsewhere), Meant::Elsewhere(id("b")));
    }

    #[test]
    fn whoever_has_no_name_is_told_to_give_one_before_anything_that_records() {
        for ground in [
            Ground::NotInitialised,
            Ground::Open,
            Ground::Protected,
            Ground::ProtectedUnborn,
        ] {
            assert_eq!(begin(ground, true, true), nobody(), "{ground:?}");
            assert_ne!(begin(ground, false, true), nobody(), "{ground:?}");
        }
        // git makes a repository for anybody.
        let outside = begin(Ground::NoRepository, true, true);
        assert_eq!(outside.into_hint().to_string(), "git init");
    }
}
