//! Levels of policy: three, each a plain `loopx.toml` that anybody may edit. What a level asks for stands in one
//! table: [`Level::asks`].

use crate::stage::Transition;
use loopx_base::hint::{Hint, command};
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// Level of what a repository asks of those who work in it.
    Level {
        /// A single person works, whose own review lands and is shown as such.
        Solo = "solo",
        /// A reviewer is asked for who took no part, by name.
        Team = "team",
        /// A reviewer is asked for who took no part, by key, and two people for each plan.
        Strict = "strict",
    }
);

/// Demands of a level, beside the protected branch.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    about: &'static str,
    /// Paths that a protected branch takes without a session.
    documents: &'static [&'static str],
    out_of_scope: &'static str,
    independence: &'static str,
    /// People who approve a plan.
    planners: u32,
    /// Set when each approval and verdict is signed.
    pub signed: bool,
    /// Set when keys are put into the file of signers.
    pub has_signers: bool,
    strict_keys: bool,
}

/// Identities of agents, which approve nothing: of bots on forges, and those that agents commit by.
const AGENTS: [&str; 3] = [
    "*[[]bot[]]*",
    "* <noreply@anthropic.com>",
    "* <cursoragent@cursor.com>",
];

impl Level {
    pub fn asks(self) -> Asks {
        const DOCUMENTS: &[&str] = &["docs/**", "*.md"];
        match self {
            Level::Solo => Asks {
                about: "one person: work that you reviewed yourself may land, and is shown as self-reviewed",
                documents: DOCUMENTS,
                out_of_scope: "warn",
                independence: "record",
                planners: 1,
                signed: false,
                has_signers: false,
                strict_keys: false,
            },
            Level::Team => Asks {
                about: "every review is by somebody who took no part, identified by name",
                documents: DOCUMENTS,
                out_of_scope: "warn",
                independence: "require",
                planners: 1,
                signed: false,
                has_signers: true,
                strict_keys: false,
            },
            Level::Strict => Asks {
                about: "nothing lands without a session; each commit, approval and verdict is signed, two people approve a plan",
                documents: &[],
                out_of_scope: "refuse",
                independence: "signed",
                planners: 2,
                signed: true,
                has_signers: true,
                strict_keys: true,
            },
        }
    }

    /// The command that shows what it would write.
    pub fn shown(self) -> Hint {
        match self {
            Level::Solo => command!("setup solo --dry-run"),
            Level::Team => command!("setup team --dry-run"),
            Level::Strict => command!("setup strict --dry-run"),
        }
    }

    /// The command that replaces files.
    pub fn forced(self) -> Hint {
        match self {
            Level::Solo => command!("setup solo --force"),
            Level::Team => command!("setup team --force"),
            Level::Strict => command!("setup strict --force"),
        }
    }

    /// The text of `loopx.toml`, for results that go to this branch.
    pub fn policy(self, branch: &str) -> String {
        let asks = self.asks();
        let branch = quoted(branch);
        let mut out = format!(
            "# git loopx setup {self}: {}.\n# Everything else has its default: git loopx config show\n\n[gates]\n",
            asks.about
        );
        line(&mut out, "target", &branch);
        line(&mut out, "protected", &format!("[{branch}]"));
        line(&mut out, "always_allow", &list(asks.documents));
        line(&mut out, "out_of_scope", &quoted(asks.out_of_scope));
        out.push_str("\n[approve]\n");
        line(&mut out, "deny", &list(&AGENTS));
        if asks.planners > 1 {
            let plan = Transition::PlanToBuild;
            line(
                &mut out,
                "required",
                &format!("{{ \"{plan}\" = {} }}", asks.planners),
            );
        }
        if asks.signed {
            let all = [
                "clarify->plan",
                "plan->build",
                "build->review",
                "review->done",
            ];
            line(&mut out, "signed", &list(&all));
        }
        out.push_str("\n[review]\n");
        line(&mut out, "independence", &quoted(asks.independence));
        if asks.signed {
            line(&mut out, "signed", "true");
        }
        if asks.strict_keys {
            out.push_str("\n[policy]\nstrict = true\n");
        }
        out
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    out.push_str(&format!("{key} = {value}\n"));
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list(texts: &[&str]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::Level;
    use crate::policy::{Independence, Policy};
    use crate::stage::Transition;
    use loopx_base::id::Person;

    #[test]
    fn each_level_is_a_policy_that_asks_what_it_says() {
        for level in Level::ALL {
            let policy = Policy::parse(&level.policy("ma\"in"), "loopx.toml").expect("a policy");
            assert!(
                policy.protects("ma\"in") && policy.unknown.is_empty(),
                "{level}"
            );
            assert_eq!(policy.gates.target.as_deref(), Some("ma\"in"));
            for (who, denied) in [
                (
                    "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>",
                    true,
                ),
                ("Agent <noreply@anthropic.com>", true),
                ("Bo Tott <bot@example.org>", false),
            ] {
                assert_eq!(policy.denies(&Person::parse(who)), denied, "{who}");
            }
            let strict = level == Level::Strict;
            assert_eq!(policy.gates.always_allow.is_empty(), strict);
            assert_eq!(
                policy.required(Transition::PlanToBuild),
                if strict { 2 } else { 1 }
            );
            assert_eq!(policy.review.signed, strict);
            assert_eq!(policy.asks_signatures(), strict);
            let independence = match level {
                Level::Solo => Independence::Record,
                Level::Team => Independence::Require,
                Level::Strict => Independence::Signed,
            };
            assert_eq!(policy.review.independence, independence);
        }
    }
}
