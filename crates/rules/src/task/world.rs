//! Waiting for the world: what a node waits for outside of its graph, and when that holds. What is seen of the world
//! comes in as [`World`]; this module reads no clock, no git and no other session.

use super::node::{Node, TaskId};
use super::status::Moment;
use crate::lease::seconds_of;
use crate::session::{Ending, State};
use crate::stage::Stage;
use loopx_base::id::{Person, SessionId};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

vocabulary!(
    /// Stage that a session has reached. A later word holds for the earlier ones, too.
    Reached {
        Clarify = "clarify",
        Plan = "plan",
        Build = "build",
        Review = "review",
        Done = "done",
        Archived = "archived",
    }
);

impl From<Stage> for Reached {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Clarify => Reached::Clarify,
            Stage::Plan => Reached::Plan,
            Stage::Build => Reached::Build,
            Stage::Review => Reached::Review,
            Stage::Done => Reached::Done,
        }
    }
}

/// Condition that a node waits for, as it stands in the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// A time has come.
    Time { time: String },
    /// A branch contains a commit.
    Commit { branch: String, contains: String },
    /// A path is there on a branch.
    Path { branch: String, path: String },
    /// A check, or a kind of run, passed on the code as it is; where a role is named, in a run that its key signed.
    Evidence {
        evidence: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    /// Stage that another session has to reach.
    Session { session: SessionId, stage: Reached },
    /// A person says so: this one, or [`ANYBODY`].
    Person { person: String },
}

/// The word for a person who is not named.
pub const ANYBODY: &str = "any";

/// A name that git takes for a ref, or the id of a commit; nothing that git would compute.
pub fn is_name(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && !text.contains(is_odd)
        && text.split('/').all(is_part)
}

impl Condition {
    /// Tells whether the condition is a person's word.
    pub fn is_word(&self) -> bool {
        matches!(self, Condition::Person { .. })
    }

    /// Tells whether somebody of these names is who is waited for.
    pub fn is_persons(&self, names: &[Person]) -> bool {
        let Condition::Person { person } = self else {
            return false;
        };
        let wanted = Person::parse(person);
        let is_it = |name: &Person| {
            let same = |text: &str| text.trim().to_lowercase() == person.trim().to_lowercase();
            if wanted.email.is_empty() {
                same(&name.name) || same(&name.email)
            } else {
                wanted.email.eq_ignore_ascii_case(&name.email)
            }
        };
        person == ANYBODY || names.iter().any(is_it)
    }
}

/// Observation of a condition that needs looking at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Lack of the branch here.
    NoBranch,
    /// Lack of a commit: what the branch is to contain names none here.
    NoCommit,
    /// The branch has it or not, and its newest commit is of that time.
    Branch { has: bool, at: String },
    /// Policy has no such role.
    NoRole,
    /// Lack of a run: nobody who counts made one.
    NoRun,
    /// The newest run that counts, of whatever code.
    Ran { how: Run, at: String },
    /// Lack of the session here.
    NoSession,
    /// The session is there, and cannot be read.
    Damaged,
    /// Stage that the session has reached, and the time when it changed last.
    Session { reached: Reached, at: String },
    /// The session was abandoned.
    Abandoned { at: String },
}

/// Result of a run for the code as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    Passed,
    Failed,
    /// Run on other code.
    Elsewhere,
}

impl Seen {
    /// Reads another session's state.
    pub fn session(state: &State) -> Seen {
        let at = state.touched.at.clone();
        match &state.ending {
            Some(Ending::Abandoned { .. }) => Seen::Abandoned { at },
            Some(ending) if ending.is_result() => Seen::Session {
                reached: Reached::Archived,
                at,
            },
            Some(Ending::Archived { .. }) | None => Seen::Session {
                reached: state.stage.into(),
                at,
            },
        }
    }
}

/// World as somebody sees it who asks now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// The second at which somebody asks.
    pub now: i64,
    /// Set when some task waits for something in the world.
    pub is_asked: bool,
    pub seen: BTreeMap<Condition, Seen>,
    /// People who said that a node may begin, by the key of the node.
    pub words: BTreeMap<String, Vec<Vec<Person>>>,
    /// The number of the first run that a condition asks for, where one is known that passed.
    pub passed: BTreeMap<Condition, u64>,
    /// The names of those who gave words.
    pub names: BTreeMap<Person, Vec<Person>>,
}

/// A world that nobody looked at: nothing holds in it.
pub static UNSEEN: World = World {
    now: i64::MIN,
    is_asked: false,
    seen: BTreeMap::new(),
    words: BTreeMap::new(),
    passed: BTreeMap::new(),
    names: BTreeMap::new(),
};

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Open {
    #[serde(flatten)]
    pub condition: Condition,
    /// Task that waits for the condition.
    pub task: TaskId,
    /// State that is there instead.
    pub why: String,
    /// Time since which that is so, where somebody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Set when the condition cannot hold any more, whatever happens.
    pub never: bool,
}

impl Open {
    /// Words for the open condition, behind `waits for`.
    pub fn words(&self) -> String {
        self.condition.words(&self.why, self.since.as_deref())
    }
}

impl Condition {
    /// The condition in words, behind `waits for`, with what is there instead and since when.
    pub fn words(&self, why: &str, since: Option<&str>) -> String {
        let what = match self {
            Condition::Time { time } => time.clone(),
            Condition::Commit { branch, contains } => format!("{contains} on {branch}"),
            Condition::Path { branch, path } => format!("{path} on {branch}"),
            Condition::Evidence { evidence, role } => match role {
                Some(role) => format!("a passing run of {evidence} by {role}"),
                None => format!("a passing run of {evidence}"),
            },
            Condition::Session { session, stage } => {
                format!("session {session} to be {}", to_be(*stage))
            }
            Condition::Person { person } if person == ANYBODY => "a person's word".to_owned(),
            Condition::Person { person } => format!("the word of {person}"),
        };
        let since = since.map_or_else(String::new, |since| format!(" (since {since})"));
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {why}")
        };
        format!("{what}{why}{since}")
    }
}

fn to_be(stage: Reached) -> String {
    match stage {
        Reached::Archived => "archived".to_owned(),
        stage => format!("in stage {stage}"),
    }
}

/// The state that is there instead of a condition, since when, and whether it can never hold.
type Lack = (String, Option<String>, bool);

impl World {
    /// Conditions outside of its graph that a node waits for. Nothing fails open: what nobody looked at does not hold.
    pub fn open(&self, node: &Node) -> Vec<Open> {
        let found = node.waits.iter().filter_map(|one| {
            let (why, since, never) = self.lack(node, one)?;
            Some(Open {
                condition: one.clone(),
                task: node.id.clone(),
                why,
                since,
                never,
            })
        });
        found.collect()
    }

    /// Reason why a condition does not hold; nothing where it holds.
    fn lack(&self, node: &Node, condition: &Condition) -> Option<Lack> {
        if !condition.is_word() {
            return self.lack_of(condition);
        }
        let said = self.words.get(&node.id.key()).into_iter().flatten();
        let is_said = said.into_iter().any(|names| condition.is_persons(names));
        (!is_said).then(|| (String::new(), None, false))
    }

    /// Reason why a condition that is no word of a person does not hold; nothing where it holds.
    pub(crate) fn lack_of(&self, condition: &Condition) -> Option<Lack> {
        let not = |why: &str, since: Option<&String>| Some((why.to_owned(), since.cloned(), false));
        if let Condition::Time { time } = condition {
            let is_over = seconds_of(time).is_some_and(|time| time <= self.now);
            return (!is_over).then(|| (String::new(), None, false));
        }
        match (condition, self.seen.get(condition)) {
            (_, None) => not("nobody looked yet", None),
            (_, Some(Seen::NoBranch)) => not("there is no such branch here", None),
            (_, Some(Seen::NoCommit)) => not("no commit here has this name", None),
            (_, Some(Seen::Branch { has: true, .. })) => None,
            (_, Some(Seen::Branch { has: false, at })) => {
                not("the branch does not have it", Some(at))
            }
            (_, Some(Seen::NoRole)) => not("policy has no such role in approve.roles", None),
            (_, Some(Seen::NoRun)) => not("nobody ran it", None),
            (_, Some(Seen::Ran { how, at })) => match how {
                Run::Passed => None,
                Run::Failed => not("it failed on this code", Some(at)),
                Run::Elsewhere => not("it ran on other code", Some(at)),
            },
            (_, Some(Seen::NoSession)) => not("there is no such session here", None),
            (_, Some(Seen::Damaged)) => not("it cannot be read; `fsck` says why", None),
            (Condition::Session { stage, .. }, Some(Seen::Session { reached, .. }))
                if reached >= stage =>
            {
                None
            }
            (_, Some(Seen::Session { reached, at })) => Some((
                format!("it is {}", to_be(*reached)),
                Some(at.clone()),
                false,
            )),
            (_, Some(Seen::Abandoned { at })) => Some((
                "it was abandoned, and will never be".to_owned(),
                Some(at.clone()),
                true,
            )),
        }
    }

    /// Conditions that a node waited for at a moment that is over, as far as it can be told: a time, a person's word, a run. `people`
    /// had given theirs. Where nobody looked nothing is said.
    pub fn was_open(&self, node: &Node, moment: &Moment, people: &[&Person]) -> Vec<Open> {
        if !self.is_asked {
            return Vec::new();
        }
        let at = seconds_of(&moment.at);
        let was_there = |condition: &Condition| match condition {
            Condition::Time { time } => seconds_of(time)
                .zip(at)
                .is_some_and(|(time, at)| time <= at),
            Condition::Person { .. } => people.iter().any(|who| {
                let names = self.names.get(*who);
                names.is_some_and(|names| condition.is_persons(names))
            }),
            Condition::Evidence { .. } => {
                let first = self.passed.get(condition);
                first.is_some_and(|first| *first < moment.seq)
            }
            // A branch may have moved since, and a session gone back.
            Condition::Commit { .. } | Condition::Path { .. } | Condition::Session { .. } => true,
        };
        let open = node.waits.iter().filter(|condition| !was_there(condition));
        open.map(|condition| Open {
            condition: condition.clone(),
            task: node.id.clone(),
            why: String::new(),
            since: None,
            never: false,
        })
        .collect()
    }

    /// Takes in who said that a node may begin, each by all their names.
    pub fn hear(&mut self, task: &TaskId, said: Vec<Vec<Person>>) {
        self.words.insert(task.key(), said);
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Reached, Run, Seen, World};
    use crate::artifact::Artifact;
    use crate::lease::seconds_of;
    use crate::task::node::Node;
    use crate::task::plan;
    use loopx_base::id::{Person, SessionId};

    fn node(waits: &str) -> Node {
        let line = format!(r#"{{"id":"A","title":"a","waits":[{waits}]}}"#);
        let texts = [(Artifact::TaskList, line)].into();
        let mut nodes = plan::nodes(&texts).expect("a list").into_owned();
        nodes.remove(0)
    }

    fn seen(what: Option<Seen>, waits: &str) -> Vec<String> {
        let node = node(waits);
        let mut world = World {
            now: seconds_of("2026-06-01T00:00:00Z").expect("a time"),
            ..World::default()
        };
        if let Some(what) = what {
            world.seen.insert(node.waits[0].clone(), what);
        }
        world.open(&node).iter().map(super::Open::words).collect()
    }

    #[test]
    fn each_form_holds_by_what_is_seen_and_by_nothing_else() {
        let at = || "2026-05-01T00:00:00Z".to_owned();
        let branch = |has| Some(Seen::Branch { has, at: at() });
        let ran = |how| Some(Seen::Ran { how, at: at() });
        let reached = |reached| Some(Seen::Session { reached, at: at() });
        let commit = r#"{"branch":"main","contains":"v1"}"#;
        let path = r#"{"branch":"main","path":"src/x"}"#;
        let ci = r#"{"evidence":"test","role":"ci"}"#;
        let review = r#"{"session":"other","stage":"review"}"#;
        let table = [
            (None, r#"{"time":"2026-06-01T00:00:00Z"}"#, ""),
            (None, r#"{"time":"2026-06-01T01:00:00+02:00"}"#, ""),
            (
                None,
                r#"{"time":"2026-06-01T00:00:01Z"}"#,
                "2026-06-01T00:00:01Z",
            ),
            // What nobody looked at does not hold.
            (None, commit, "v1 on main: nobody looked yet"),
            (
                Some(Seen::NoBranch),
                commit,
                "v1 on main: there is no such branch here",
            ),
            (
                Some(Seen::NoCommit),
                commit,
                "v1 on main: no commit here has this name",
            ),
            (
                branch(false),
                path,
                "src/x on main: the branch does not have it (since 2026-05-01T00:00:00Z)",
            ),
            (branch(true), path, ""),
            (branch(true), commit, ""),
            (
                Some(Seen::NoRole),
                ci,
                "a passing run of test by ci: policy has no such role in approve.roles",
            ),
            (
                Some(Seen::NoRun),
                ci,
                "a passing run of test by ci: nobody ran it",
            ),
            (
                ran(Run::Failed),
                ci,
                "a passing run of test by ci: it failed on this code (since 2026-05-01T00:00:00Z)",
            ),
            (
                ran(Run::Elsewhere),
                ci,
                "a passing run of test by ci: it ran on other code (since 2026-05-01T00:00:00Z)",
            ),
            (ran(Run::Passed), ci, ""),
            (
                Some(Seen::NoSession),
                review,
                "session other to be in stage review: there is no such session here",
            ),
            (
                Some(Seen::Damaged),
                review,
                "session other to be in stage review: it cannot be read; `fsck` says why",
            ),
            (
                reached(Reached::Build),
                review,
                "session other to be in stage review: it is in stage build (since 2026-05-01T00:00:00Z)",
            ),
            (reached(Reached::Review), review, ""),
            (reached(Reached::Archived), review, ""),
            (None, r#"{"person":"any"}"#, "a person's word"),
            (None, r#"{"person":"Ada"}"#, "the word of Ada"),
        ];
        for (what, waits, expected) in table {
            let said = seen(what, waits).join("; ");
            assert_eq!(said, expected, "{waits}");
        }
    }

    #[test]
    fn an_abandoned_session_never_comes_and_every_condition_counts() {
        let node = node(
            r#"{"session":"other","stage":"done"},{"time":"2020-01-01T00:00:00Z"},{"person":"any"}"#,
        );
        let session = SessionId::parse("other").expect("an id");
        let stage = Reached::Done;
        let mut world = World::default();
        let at = "2026-05-01T00:00:00Z".to_owned();
        world.seen.insert(
            Condition::Session { session, stage },
            Seen::Abandoned { at },
        );
        let open = world.open(&node);
        assert_eq!(open.len(), 3);
        assert_eq!(
            [open[0].never, open[1].never, open[2].never],
            [true, false, false]
        );
        world.now = i64::MAX;
        assert_eq!(world.open(&node).len(), 2);
    }

    #[test]
    fn a_named_person_is_known_by_name_or_address() {
        let says = |who: &str, wanted: &str| {
            let condition = Condition::Person {
                person: wanted.to_owned(),
            };
            condition.is_persons(&[Person::parse(who)])
        };
        let ada = "Ada L <ada@example.com>";
        for wanted in [
            "any",
            "ada l",
            "ADA@example.com",
            "Somebody <ada@example.com>",
        ] {
            assert!(says(ada, wanted), "{wanted}");
        }
        for wanted in ["Ada", "bob@example.com", "Ada L <bob@example.com>", ""] {
            assert!(!says(ada, wanted), "{wanted}");
        }
    }
}
