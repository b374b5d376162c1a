//! The attacks of a server check, and their results: an attack that nothing refuses gets in.

use loopx_base::failure::Code;
use serde::Serialize;

/// Judge that has to refuse an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// Hook of ours, with one of these codes, while git's own checks are switched off for this push.
    Hook(&'static [Code]),
    /// Git itself, with these words, before any hook is asked.
    Git(&'static str),
    /// No judge: the attempt is honest.
    Nobody,
}

/// An attempt to push something.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Description of what is tried.
    pub what: &'static str,
    /// Refspec that git is told to push: `SOURCE:REF`, `+` in front of what is forced.
    pub refspec: String,
    pub judge: Judge,
}

impl Attempt {
    pub fn of(what: &'static str, refspec: String, judge: Judge) -> Self {
        Attempt {
            what,
            refspec,
            judge,
        }
    }

    /// The ref that is pushed to.
    pub fn target(&self) -> &str {
        self.refspec.rsplit(':').next().unwrap_or_default()
    }
}

/// Folders of refs on a server whose names can end with the whole name of another ref, so that git could mean either.
pub fn shadowing(target: &str) -> impl Iterator<Item = &'static str> {
    let all = ["refs/heads/refs", "refs/tags/refs", "refs/refs"];
    all.into_iter()
        .filter(move |folder| !target.starts_with(folder))
}

/// Answer to one push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The hook was asked: whether it took the push, and what it said.
    Hook { took: bool, said: String },
    /// Git refused before it asked.
    Git { said: String },
}

/// End of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The attack was refused, as it should be.
    Refused,
    /// The honest push would be taken, as it should be.
    Taken,
    /// The attack would get in.
    GetsIn,
    /// The honest push would be refused.
    Held,
    /// The attempt was refused, but by nobody who had to, or for another reason.
    Unproven,
}

impl Ending {
    pub fn is_good(self) -> bool {
        matches!(self, Ending::Refused | Ending::Taken)
    }
}

/// An attempt and how it ended.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub what: &'static str,
    #[serde(rename = "ref")]
    pub name: String,
    pub ending: Ending,
    /// The code that the hook gave, or `git`.
    pub by: Option<String>,
    /// Answer in words, where the attempt did not end as it should.
    pub said: Option<String>,
}

/// Judges what came back.
pub fn row(attempt: &Attempt, answer: &Answer) -> Row {
    let (ending, by) = ending(attempt.judge, answer);
    let said = match answer {
        Answer::Hook { said, .. } | Answer::Git { said } => said.trim(),
    };
    Row {
        what: attempt.what,
        name: attempt.target().to_owned(),
        ending,
        by,
        said: (!ending.is_good() && !said.is_empty()).then(|| said.to_owned()),
    }
}

fn ending(judge: Judge, answer: &Answer) -> (Ending, Option<String>) {
    let code = |said: &str, codes: &[Code]| {
        let named = |code: &&Code| words(said).any(|word| word == code.word());
        codes.iter().find(named).map(|code| code.word().to_owned())
    };
    match (judge, answer) {
        (Judge::Nobody, Answer::Hook { took: true, .. }) => (Ending::Taken, None),
        (Judge::Nobody, Answer::Hook { took: false, said }) => {
            (Ending::Held, code(said, Code::ALL))
        }
        (Judge::Nobody, Answer::Git { .. }) => (Ending::Held, Some("git".to_owned())),
        (_, Answer::Hook { took: true, .. }) => (Ending::GetsIn, None),
        (Judge::Hook(codes), Answer::Hook { said, .. }) => match code(said, codes) {
            Some(code) => (Ending::Refused, Some(code)),
            None => (Ending::Unproven, code(said, Code::ALL)),
        },
        (Judge::Git(wanted), Answer::Git { said }) if said.contains(wanted) => {
            (Ending::Refused, Some("git".to_owned()))
        }
        // A hook that says why closes the server as well.
        (Judge::Git(_), Answer::Hook { said, .. }) => match code(said, Code::ALL) {
            Some(code) => (Ending::Refused, Some(code)),
            None => (Ending::Unproven, None),
        },
        (_, Answer::Git { .. }) => (Ending::Unproven, Some("git".to_owned())),
    }
}

/// The words of a text that could be codes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'))
}

#[cfg(test)]
mod tests {
    use super::{Answer, Attempt, Ending, Judge, row};
    use loopx_base::failure::Code;

    #[test]
    fn only_a_refusal_for_the_right_reason_by_the_right_judge_counts() {
        let hook = |took, said: &str| Answer::Hook {
            took,
            said: said.into(),
        };
        let git = |said: &str| Answer::Git { said: said.into() };
        let closed = Judge::Hook(&[Code::RefClosed]);
        for (judge, answer, wanted, by) in [
            (
                closed,
                hook(false, "  ref_closed `x`"),
                Ending::Refused,
                Some("ref_closed"),
            ),
            (
                closed,
                hook(false, "push_not_judged"),
                Ending::Unproven,
                Some("push_not_judged"),
            ),
            (closed, hook(false, "no"), Ending::Unproven, None),
            (closed, hook(true, "ref_closed"), Ending::GetsIn, None),
            (closed, git("unpack failed"), Ending::Unproven, Some("git")),
            (
                Judge::Git("hasDotgit"),
                git("x: hasDotgit: y"),
                Ending::Refused,
                Some("git"),
            ),
            (
                Judge::Git("hasDotgit"),
                git("disk full"),
                Ending::Unproven,
                Some("git"),
            ),
            (
                Judge::Git("hasDotgit"),
                hook(true, ""),
                Ending::GetsIn,
                None,
            ),
            (
                Judge::Git("x"),
                hook(false, "ref_closed"),
                Ending::Refused,
                Some("ref_closed"),
            ),
            (Judge::Nobody, hook(true, ""), Ending::Taken, None),
            (
                Judge::Nobody,
                hook(false, "ref_closed"),
                Ending::Held,
                Some("ref_closed"),
            ),
            (Judge::Nobody, git("no"), Ending::Held, Some("git")),
        ] {
            let attempt = Attempt {
                what: "it",
                refspec: "a:refs/heads/b".into(),
                judge,
            };
            let row = row(&attempt, &answer);
            assert_eq!(
                (row.ending, row.by.as_deref()),
                (wanted, by),
                "{judge:?} {answer:?}"
            );
            assert_eq!(row.name, "refs/heads/b");
        }
    }
}
