//! Signatures that a policy asks for, and the commands that do it so.

use super::{Independence, Policy};
use crate::stage::Transition;
use loopx_base::hint::{Hint, command};
use loopx_base::id::Person;

impl Policy {
    /// Tells whether anything that this policy asks for rests on signatures.
    pub fn asks_signatures(&self) -> bool {
        !self.approve.signed.is_empty()
            || !self.approve.touched.is_empty()
            || !self.evidence.by.is_empty()
            || self.asks_signed_verdict()
    }

    /// Flag that signs a record that opens a gate, where policy asks for a signature; to be put behind its command.
    pub fn sign_flag(&self) -> &'static str {
        if self.asks_signatures() {
            " --sign"
        } else {
            ""
        }
    }

    /// Tells whether a verdict has to be signed.
    pub fn asks_signed_verdict(&self) -> bool {
        self.review.signed || self.counts_keys()
    }

    /// Tells whether independence is one of keys, and a name alone proves nobody.
    pub fn counts_keys(&self) -> bool {
        self.review.independence == Independence::Signed
    }

    /// Tells whether the runs of somebody of these names count for gates, once they are signed.
    pub fn may_prove(&self, names: &[Person]) -> bool {
        self.has_role(&self.evidence.by, names)
    }

    /// Tells whether somebody of these names has a role.
    pub fn is_in_role(&self, role: &str, names: &[Person]) -> bool {
        self.has_role(&[role.to_owned()], names)
    }

    /// The command that proves a slice as policy wants it.
    pub fn run_task(&self, slice: &str) -> Hint {
        self.run(
            command!("run --task {slice}"),
            command!("run --sign --task {slice}"),
        )
    }

    /// Command that proves a check by its words, where the session may know others under its name.
    pub fn run_task_as(&self, check: &str, words: &str) -> Hint {
        self.run(
            command!("run --task {check} -- {words}"),
            command!("run --sign --task {check} -- {words}"),
        )
    }

    /// Command that proves any check as policy wants it.
    pub fn run_check(&self) -> Hint {
        self.run(
            command!("run -- COMMAND"),
            command!("run --sign -- COMMAND"),
        )
    }

    /// Command that makes a regression run as policy wants it.
    pub fn run_regression(&self) -> Hint {
        self.run(
            command!("run --kind regression -- COMMAND"),
            command!("run --sign --kind regression -- COMMAND"),
        )
    }

    fn run(&self, plain: Hint, signed: Hint) -> Hint {
        match self.evidence.by.as_slice() {
            [] => plain,
            roles => signed.note(format!("(by {})", roles.join(", "))),
        }
    }

    /// Tells whether the approvals of a transition have to be signed.
    pub fn asks_signature(&self, transition: Transition) -> bool {
        self.approve.signed.contains(&transition) || self.approve.touched.contains(&transition)
    }

    /// The command that approves a transition as policy wants it.
    pub fn approve_command(&self, transition: Transition) -> Hint {
        if self.asks_signature(transition) {
            command!("approve --to {} --sign", transition.to())
        } else {
            command!("approve --to {}", transition.to())
        }
    }

    /// Tells whether one person may amend the approved list: an amendment is an approval of the plan.
    pub fn lets_amend(&self) -> bool {
        self.required(Transition::PlanToBuild) == 1
    }

    /// The command that changes the approved list as policy wants it: an amendment, or the way back to the plan where
    /// one person cannot amend.
    pub fn amend_command(&self) -> Hint {
        match (
            self.lets_amend(),
            self.asks_signature(Transition::PlanToBuild),
        ) {
            (true, false) => command!("amend --reason WHY"),
            (true, true) => command!("amend --reason WHY --sign"),
            (false, _) => Transition::BuildToPlan.command(),
        }
    }

    /// The command that gives an approving verdict as policy wants it.
    pub fn verdict_command(&self) -> Hint {
        if self.asks_signed_verdict() {
            command!("review --verdict approve --sign")
        } else {
            command!("review --verdict approve")
        }
    }

    /// Command that gives an approving verdict where no file differs: a review of nothing says why there is nothing.
    pub fn empty_verdict_command(&self) -> Hint {
        if self.asks_signed_verdict() {
            command!("review --verdict approve --reason WHY --sign")
        } else {
            command!("review --verdict approve --reason WHY")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    #[test]
    fn a_review_of_nothing_is_signed_where_any_review_is() {
        for (text, is_signed) in [
            ("", false),
            ("[review]\nsigned = true\n", true),
            ("[review]\nindependence = \"signed\"\n", true),
        ] {
            let policy = Policy::parse(text, "loopx.toml").expect("a policy");
            for command in [policy.verdict_command(), policy.empty_verdict_command()] {
                let said = command.to_string();
                assert_eq!(said.contains("--sign"), is_signed, "{text}: {said}");
            }
        }
    }
}
