//! The identity of an agent that types a command: the hosts of agents name it in the environment of what they start.
//!
//! An agent gives nobody's word by accident. Whoever wants to pass as a person can: against that there are
//! signatures (design 4).

use crate::policy::Policy;
use loopx_base::failure::{Code, Failure, Result};

/// Variables that hosts set for the commands of their agents, each with the name of the host. The last one holds the
/// name itself, as hosts agreed among themselves.
pub const VARIABLES: [(&str, &str); 8] = [
    ("CLAUDECODE", "claude"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_CI", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("COPILOT_CLI", "copilot"),
    ("GEMINI_CLI", "gemini"),
    ("AI_AGENT", ""),
];

/// The name of the agent's host, where `variable` gives one of them.
pub fn host(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    VARIABLES.iter().find_map(|(name, host)| {
        let value = variable(name)?;
        Some(match *host {
            "" => value.trim().to_lowercase(),
            host => host.to_owned(),
        })
    })
}

/// Refuses somebody's word where an agent types it, unless policy names its host.
pub fn require_person(policy: &Policy, agent: Option<&str>, what: &str) -> Result<()> {
    let Some(agent) = agent else { return Ok(()) };
    let is_named = |name: &String| {
        let own = agent.split(['@', '/', '_', '-']).next().unwrap_or(agent);
        name == "*" || name == agent || name == own
    };
    if policy.approve.agents.iter().any(is_named) {
        return Ok(());
    }
    Err(Failure::waiting(
        Code::AgentMayNot,
        format!("{what} needs a person, and this command comes from the agent {agent}"),
    )
    .help("let a person type it; approve.agents in loopx.toml names agents that may"))
}

#[cfg(test)]
mod tests {
    use super::{VARIABLES, host, require_person};
    use crate::policy::Policy;

    #[test]
    fn an_agent_is_known_by_what_its_host_sets() {
        for (name, value, known) in [
            ("CLAUDECODE", "1", Some("claude")),
            ("CODEX_THREAD_ID", "x", Some("codex")),
            ("AI_AGENT", "Goose", Some("goose")),
            ("TERM", "xterm", None),
        ] {
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(host(variable).as_deref(), known, "{name}");
        }
    }

    /// An agent of a host without a variable would pass for a person.
    #[test]
    fn every_host_is_known_by_a_variable() {
        for wired in loopx_hosts::Host::ALL {
            let is_known = VARIABLES.iter().any(|(_, host)| *host == wired.name());
            assert!(is_known, "{}", wired.name());
        }
    }

    #[test]
    fn only_an_agent_that_policy_names_gives_a_word() {
        let with = |agents: &str| {
            Policy::parse(&format!("[approve]\nagents = {agents}\n"), "").expect("a policy")
        };
        for (agents, agent, may) in [
            ("[]", None, true),
            ("[]", Some("claude"), false),
            ("[\"codex\"]", Some("claude"), false),
            ("[\"claude\"]", Some("claude"), true),
            ("[\"claude\"]", Some("claude-code_2.1"), true),
            ("[\"*\"]", Some("goose"), true),
        ] {
            let word = require_person(&with(agents), agent, "an approval");
            assert_eq!(word.is_ok(), may, "{agents} {agent:?}");
        }
    }
}
