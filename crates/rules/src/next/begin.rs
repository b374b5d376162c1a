//! Session that `git loopx`, `status` and `next` speak of where nobody names one, and the way in for somebody who is in
//! none. One decision, so that the three agree. Knows no store and no git: what is there comes in by name.

use super::Advised;
use crate::policy::FILE;
use crate::setup::commit_of;
use loopx_base::failure::{Code, Failure};
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

/// Ground on which somebody would begin.
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

/// Titles for the hint that begins a session.
const TITLES: [&str; 3] = [
    "Fix the timeout",
    "Log failed logins",
    "Speed up the search",
];

/// A title under which a session can begin: what is shown works when it is typed, whatever began before.
pub fn title(is_taken: impl Fn(&SessionId) -> bool) -> String {
    let numbered = (2..u16::MAX).map(|number| format!("{} {number}", TITLES[0]));
    let mut all = TITLES.into_iter().map(str::to_owned).chain(numbered);
    let is_free = |title: &String| SessionId::of_title(title).is_ok_and(|id| !is_taken(&id));
    all.find(is_free).unwrap_or_else(|| TITLES[0].to_owned())
}

/// The change that somebody would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'t> {
    /// Title that it may have.
    Title(&'t str),
    /// The issue that somebody has in hand.
    Issue(&'t str),
}

/// The command that leads on for somebody who is in no session.
pub fn begin(
    ground: Ground,
    unsigned: Option<Advised>,
    has_worktree: bool,
    wanted: Wanted<'_>,
) -> Advised {
    let (start, beside) = match wanted {
        Wanted::Title(title) => (
            command!("start \"{title}\""),
            command!("start --branch change \"{title}\""),
        ),
        Wanted::Issue(id) => (
            command!("start --issue {id}"),
            command!("start --branch change --issue {id}"),
        ),
    };
    match (ground, unsigned) {
        (Ground::NoRepository, _) => Hint::git("init").into(),
        // A record has a name and a time under it.
        (_, Some(first)) => first,
        (Ground::NotInitialised, None) => command!("init").into(),
        (Ground::Open, None) => start.into(),
        (Ground::Protected, None) if has_worktree => {
            hint!["git switch -c change, then: ", start].into()
        }
        (Ground::Protected, None) => hint!["git branch change, then: ", beside].into(),
        (Ground::ProtectedUnborn, None) => commit_of(&[FILE.to_owned()]).into(),
    }
}

/// Step where git does not say whose record it would be, and when; the step says why.
pub fn unsigned(why: &Failure) -> Advised {
    match (&why.code, &why.help) {
        (Code::DateInvalid, Some(help)) => Advised::write(format!("{help}  ({})", why.message)),
        _ => Advised::write(format!("tell git who you are: {IDENTITY}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Around, Ground, Meant, TITLES, Wanted, begin, meant, title, unsigned};
    use loopx_base::failure::{Code, Failure, Kind};
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
    fn the_title_that_is_shown_is_one_that_no_session_has() {
        let free = |taken: &[&str]| title(|id| taken.contains(&id.as_str()));
        assert_eq!(free(&[]), "Fix the timeout");
        assert_eq!(free(&["fix-the-timeout"]), "Log failed logins");
        let all = [
            "fix-the-timeout",
            "log-failed-logins",
            "speed-up-the-search",
            "fix-the-timeout-2",
        ];
        assert_eq!(free(&all), "Fix the timeout 3");
    }

    #[test]
    fn whoever_has_no_name_or_no_date_mends_that_before_anything_that_records() {
        let nameless = Failure::new(Kind::Refused, Code::IdentityUnknown, "no name");
        let undated = Failure::usage(Code::DateInvalid, "expected a date").help("unset DATE");
        assert_eq!(
            unsigned(&undated).advice.to_string(),
            "unset DATE  (expected a date)"
        );
        for ground in [
            Ground::NotInitialised,
            Ground::Open,
            Ground::Protected,
            Ground::ProtectedUnborn,
        ] {
            for first in [&nameless, &undated].map(unsigned) {
                let found = begin(ground, Some(first.clone()), true, Wanted::Title(TITLES[0]));
                assert_eq!(found, first, "{ground:?}");
                assert_ne!(
                    begin(ground, None, true, Wanted::Title(TITLES[0])),
                    first,
                    "{ground:?}"
                );
            }
        }
        // git makes a repository for anybody.
        let outside = begin(
            Ground::NoRepository,
            Some(unsigned(&nameless)),
            true,
            Wanted::Title(TITLES[0]),
        );
        assert_eq!(outside.into_hint().to_string(), "git init");
    }
}
