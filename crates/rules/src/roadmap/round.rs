//! Rounds of feedback: each is a comment of the roadmap that begins with a verdict. How far the roadmap is follows from
//! them and is never stored.

use crate::issue::Comment;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;

/// Number of rounds that ask for changes; then the roadmap is taken as it is.
pub const CAP: usize = 5;
/// The beginning of a comment that is a round.
const MARK: &str = "roadmap feedback: ";

vocabulary!(
    /// Verdict of a round of feedback.
    Verdict {
        /// The roadmap can be worked by.
        Approve = "approve",
        /// The roadmap has something in it that should not be, or the other way round.
        Scope = "scope",
        /// The criteria of issues do not say when they are done.
        Criteria = "criteria",
        /// The roadmap is to be cut anew.
        Decompose = "decompose",
    }
);

vocabulary!(
    /// State of a roadmap.
    Status {
        /// The roadmap has no round of feedback.
        Planning = "planning",
        /// A round asked for a change, or something is wrong with it.
        Refining = "refining",
        /// The roadmap can be worked by.
        Ready = "ready",
    }
);

/// Round of feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    pub verdict: Verdict,
    /// The id of the content that an approval is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    pub text: String,
    pub by: String,
    pub at: String,
}

impl Round {
    /// The comment by which a round is kept: an approval names its content in the first line.
    pub fn comment(&self) -> String {
        let mut said = format!("{MARK}{}", self.verdict);
        if let Some(content) = &self.content {
            said = format!("{said} {content}");
        }
        let text = self.text.trim();
        if !text.is_empty() {
            said = format!("{said}\n\n{text}");
        }
        said
    }

    /// Tells whether a text would be read as a round.
    pub fn reads(text: &str) -> bool {
        text.trim_start().starts_with(MARK.trim_end())
    }

    /// The rounds among comments, in their order.
    pub fn all(comments: &[Comment]) -> Vec<Round> {
        comments.iter().filter_map(Round::of).collect()
    }

    fn of(comment: &Comment) -> Option<Round> {
        let rest = comment.text.strip_prefix(MARK)?;
        let (word, text) = rest.split_once('\n').unwrap_or((rest, ""));
        let (word, content) = word.trim().split_once(' ').unwrap_or((word.trim(), ""));
        let (by, at) = comment.origin();
        Some(Round {
            verdict: word.parse().ok()?,
            content: (!content.is_empty()).then(|| content.to_owned()),
            text: text.trim().to_owned(),
            by: by.to_owned(),
            at: at.to_owned(),
        })
    }
}

/// State of a roadmap, and the reasons for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    pub status: Status,
    /// The rounds that asked for changes since it was approved last.
    pub rounds: usize,
    /// Set when no round is left: the roadmap is ready although the last round asked for a change.
    pub forced: bool,
    /// Set when the roadmap was approved, and its content is another one now.
    pub changed: bool,
}

impl Standing {
    /// `content`: the id of what the roadmap says now. `sound`: nothing that is an error stands in the way.
    pub fn of(rounds: &[Round], content: &str, sound: bool) -> Self {
        let is_approval = |round: &Round| round.verdict == Verdict::Approve;
        let since = rounds.iter().rev().take_while(|round| !is_approval(round));
        let asked = since.count();
        let last = rounds.last().filter(|round| is_approval(round));
        let is_for = |round: &Round| round.content.as_deref() == Some(content);
        let changed = last.is_some_and(|round| !is_for(round));
        let is_approved = last.is_some_and(is_for);
        let forced = asked >= CAP && sound;
        let status = if rounds.is_empty() {
            Status::Planning
        } else if sound && (is_approved || forced) {
            Status::Ready
        } else {
            Status::Refining
        };
        Standing {
            status,
            rounds: asked,
            forced,
            changed,
        }
    }

    /// The rounds for people; none once it is approved, when nothing counts them.
    pub fn rounds_in_words(&self) -> Option<String> {
        let counts = self.rounds > 0 || self.status != Status::Ready;
        counts.then(|| format!("{} of {CAP} rounds", self.rounds))
    }

    /// Tells whether no round may ask for one more change.
    pub fn is_spent(&self) -> bool {
        self.rounds >= CAP
    }
}
