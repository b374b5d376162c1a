//! Coding agents: what a host says when one of its hooks fires, what is decided, and how the host wants
//! to hear it (design 7; reference 4, 7 "Agent adapters" and "Stop gate").
//!
//! [`guard`] decides whether a command would get past the gates. One
//! file per host reads its fields and writes its answer, and knows nothing else. All of it is pure.

pub mod guard;
pub mod hooks;
pub mod material;
pub mod shell;
pub mod wiring;

use loopx_base::failure::{Code, Failure};
use loopx_base::hint::command;
use serde_json::Value;
use std::fmt;

/// The longest text that a host takes.
pub const MAX_TEXT: usize = 9_000;

macro_rules! hosts {
    ($($host:ident = $file:ident,)+) => {
        $(mod $file;)+

        /// A program that runs coding agents and calls hooks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Host {
            $($host,)+
        }

        impl Host {
            pub const ALL: [Host; [$(Host::$host),+].len()] = [$(Host::$host),+];

            /// Description of the host.
            pub fn spec(self) -> &'static HostSpec {
                match self {
                    $(Host::$host => &$file::SPEC,)+
                }
            }
        }
    };
}

// A host is one file and one line.
hosts! {
    Claude = claude,
    Codex = codex,
    Cursor = cursor,
    Copilot = copilot,
    Gemini = gemini,
}

/// Description of a host: the form of its file, the fields of its calls, and the answers that it wants.
pub struct HostSpec {
    pub name: &'static str,
    /// Name by which the host calls itself.
    pub title: &'static str,
    /// The host's file, from the top of the worktree.
    pub file: &'static str,
    /// The file has a `version` beside `hooks`.
    pub has_version: bool,
    /// The file may hold comments, which the host passes over.
    pub takes_comments: bool,
    /// An entry of the file holds a list of hooks, and is no hook itself.
    pub is_nested: bool,
    /// The host reads the file of the folder that it is started in, and of no folder above.
    pub is_read_where_started: bool,
    /// The host reads the file of the primary checkout, also in linked worktrees.
    pub is_read_in_primary: bool,
    /// The host may run the hooks of this other host's file as well.
    pub also_runs: Option<Host>,
    /// Notes that a person has to know about the host.
    pub notes: &'static [&'static str],
    /// The events that we listen to, by the host's names.
    pub events: &'static [(&'static str, Moment)],
    /// Reads the fields of a call. Unknown ones are passed over, missing ones are nothing.
    pub read: fn(&Value) -> Call,
    /// Answer to print: one document, or nothing.
    pub answer: fn(Moment, &Decision) -> Option<Value>,
    /// Entry for an event in the host's file, from the event's name, its moment and the command of the hook.
    pub entry: fn(&str, Moment, &str) -> Value,
}

/// Seconds that a host waits for a hook; our own deadline is 10.
const TIMEOUT: u32 = 15;

/// A hook as Claude Code writes it, which Codex and Gemini CLI took over.
fn command_hook(command: &str) -> Value {
    serde_json::json!({ "type": "command", "command": command, "timeout": TIMEOUT })
}

/// Moment at which a hook fires, whatever its host calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Stop,
    SubagentStop,
    SessionStart,
    Prompt,
    PreTool,
}

/// Fields of a host's call, as far as this program wants to know them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The agent session; of a sub-agent, the one that started it.
    pub session: Option<String>,
    /// The folder that the agent works in.
    pub cwd: Option<String>,
    /// The sub-agent that speaks, where it is not the session itself.
    pub subagent: Option<String>,
    /// Mark of a stop that is not to be judged: interrupted, failed, or only planning.
    pub unfinished: bool,
    /// Background tasks and scheduled wakes.
    pub background: usize,
    /// The shell command that is about to run.
    pub command: Option<String>,
    /// Text that the agent is asked to work on.
    pub prompt: Option<String>,
}

/// Decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Let through without a word.
    Allow,
    /// Let through, with a word to the person.
    Nudge(String),
    /// Hold back, for a reason.
    Block(String),
    /// Let through, with something that the agent should know.
    Inject(String),
    /// Let through: something still runs, or somebody said to wait.
    Park,
}

impl Host {
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Name by which the host calls itself.
    pub fn title(self) -> &'static str {
        self.spec().title
    }

    /// The events that we listen to, by the host's names.
    pub fn events(self) -> &'static [(&'static str, Moment)] {
        self.spec().events
    }

    /// The moment that the host names so; upper and lower case are one, as hosts mix them.
    pub fn moment(self, event: &str) -> Option<Moment> {
        let same = |(name, _): &&(&str, Moment)| name.eq_ignore_ascii_case(event);
        let known = self.events().iter().find(same).map(|(_, moment)| *moment);
        // Copilot and others take Claude's names as well.
        known.or_else(|| claude::EVENTS.iter().find(same).map(|(_, moment)| *moment))
    }

    /// Reads the fields of a call. Unknown ones are passed over, missing ones are nothing.
    pub fn read(self, input: &Value) -> Call {
        (self.spec().read)(input)
    }

    /// Answer to print: one document, or nothing.
    pub fn answer(self, event: &str, decision: &Decision) -> Option<Value> {
        (self.spec().answer)(self.moment(event)?, decision)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Host {
    type Err = Failure;
    fn from_str(text: &str) -> Result<Self, Failure> {
        let wanted = text.to_ascii_lowercase();
        Host::ALL
            .into_iter()
            .find(|host| host.name() == wanted)
            .ok_or_else(|| {
                let names: Vec<&str> = Host::ALL.iter().map(|host| host.name()).collect();
                Failure::usage(
                    Code::HostUnknown,
                    format!("expected one of {}, found `{text}`", names.join(", ")),
                )
                .help(command!("agent status"))
            })
    }
}

/// The first of these fields that is a text with something in it.
fn text(input: &Value, names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| input.get(name)?.as_str())
        .find(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// Counts the entries of the first list among these fields.
fn count(input: &Value, names: &[&str]) -> usize {
    names
        .iter()
        .filter_map(|name| input.get(name)?.as_array())
        .map(Vec::len)
        .sum()
}

/// The shell command of a tool call: a string, or a list whose last word is the script of `sh -c`.
fn command(arguments: &Value) -> Option<String> {
    let arguments = match arguments {
        // Copilot hands them over as JSON in a string.
        Value::String(text) => &serde_json::from_str(text).unwrap_or(Value::Null),
        other => other,
    };
    match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(
                words?
                    .iter()
                    .map(|word| quoted(word))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        }
        _ => None,
    }
}

/// A word as a POSIX shell reads it back.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads the fields that hosts with Claude's format agree on.
fn common(input: &Value) -> Call {
    let own = text(input, &["session_id", "sessionId", "conversation_id"]);
    let named = text(input, &["agent_id", "agentId", "subagent_id"]);
    // Copilot's sub-agents have a session id of their own and name whose they are.
    let parent = text(input, &["parentAgentId", "parent_agent_id"]);
    let subagent = named.or_else(|| own.clone().filter(|_| parent.is_some()));
    Call {
        session: parent.or(own),
        cwd: text(input, &["cwd"]),
        subagent,
        unfinished: text(input, &["permission_mode"]).as_deref() == Some("plan"),
        background: count(input, &["background_tasks", "session_crons"]),
        command: ["tool_input", "toolInput", "toolArgs"]
            .iter()
            .find_map(|name| command(input.get(name)?)),
        prompt: text(input, &["prompt"]),
    }
}

/// `{"decision":"block","reason":...}`: exactly two keys, which Claude, Codex, Copilot and Gemini take.
fn block(decision: &Decision) -> Option<Value> {
    match decision {
        Decision::Block(reason) => {
            Some(serde_json::json!({ "decision": "block", "reason": reason }))
        }
        _ => None,
    }
}

/// The answer to a stop where the host shows a word to the person: no host shows the stderr of a hook
/// that ends with 0.
fn block_or_tell(decision: &Decision) -> Option<Value> {
    match decision {
        Decision::Nudge(text) => Some(serde_json::json!({ "systemMessage": text })),
        other => block(other),
    }
}

/// `hookSpecificOutput` with what the agent should know, or with a refusal of a tool call.
fn specific(event: &str, moment: Moment, decision: &Decision) -> Option<Value> {
    let body = match (moment, decision) {
        (Moment::SessionStart | Moment::Prompt, Decision::Inject(text)) => {
            serde_json::json!({ "hookEventName": event, "additionalContext": text })
        }
        (Moment::PreTool, Decision::Block(reason)) => serde_json::json!({
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }),
        _ => return None,
    };
    Some(serde_json::json!({ "hookSpecificOutput": body }))
}

#[cfg(test)]
mod tests {
    use super::{Decision, Host, Moment};
    use serde_json::{Value, json};

    #[test]
    fn every_host_has_one_name_for_each_moment_that_it_knows() {
        for host in Host::ALL {
            assert_eq!(host.name().parse::<Host>(), Ok(host));
            for (name, moment) in host.events() {
                assert_eq!(
                    host.moment(&name.to_uppercase()),
                    Some(*moment),
                    "{host} {name}"
                );
            }
            for wanted in [Moment::Stop, Moment::SessionStart, Moment::PreTool] {
                assert!(
                    host.events().iter().any(|(_, m)| *m == wanted),
                    "{host} {wanted:?}"
                );
            }
            assert_eq!(host.moment("Nonsense"), None);
        }
    }

    #[test]
    fn a_call_without_anything_in_it_is_nothing_to_any_host() {
        for host in Host::ALL {
            for input in [
                Value::Null,
                json!([]),
                json!({}),
                json!({"cwd": 3, "tool_input": []}),
            ] {
                assert_eq!(host.read(&input), crate::Call::default(), "{host} {input}");
            }
        }
    }

    #[test]
    fn h6_a_word_to_the_person_goes_where_the_host_shows_it() {
        for host in Host::ALL {
            let stop = host.events().iter().find(|(_, m)| *m == Moment::Stop);
            let (stop, _) = stop.expect("a stop");
            let said = host.answer(stop, &Decision::Nudge("let go".into()));
            // Cursor and Copilot have no field for it: any text would send the agent on.
            let wanted = !matches!(host, Host::Cursor | Host::Copilot);
            let wanted = wanted.then(|| json!({ "systemMessage": "let go" }));
            assert_eq!(said, wanted, "{host}");
        }
    }

    #[test]
    fn h8_each_host_hears_the_start_where_it_looks_for_it() {
        let start = Decision::Inject("stage build".into());
        for (host, keys) in [
            // Copilot runs Claude's file as well, and looks for the text at the top.
            (
                Host::Claude,
                &["additionalContext", "hookSpecificOutput"][..],
            ),
            (Host::Copilot, &["additionalContext"]),
            (Host::Codex, &["hookSpecificOutput"]),
            (Host::Gemini, &["hookSpecificOutput"]),
        ] {
            let said = host.answer("SessionStart", &start).expect("an answer");
            let found: Vec<&String> = said.as_object().expect("an object").keys().collect();
            assert_eq!(found, keys, "{host}");
        }
    }

    #[test]
    fn h8_a_reason_does_not_end_twice() {
        let deny = Decision::Block("Ask the person to type it.".into());
        let said = Host::Codex.answer("PreToolUse", &deny).expect("an answer");
        assert_eq!(
            said["hookSpecificOutput"]["permissionDecisionReason"],
            "Ask the person to type it"
        );
    }

    #[test]
    fn h1_a_sub_agent_of_copilot_speaks_for_its_parent() {
        let call = Host::Copilot.read(&json!({
            "sessionId": "sub-1", "agentId": "sub-1", "agentType": "task", "parentAgentId": "main",
        }));
        assert_eq!(call.session.as_deref(), Some("main"));
        assert_eq!(call.subagent.as_deref(), Some("sub-1"));
    }

    #[test]
    fn to_allow_a_stop_is_to_say_nothing() {
        for host in Host::ALL {
            for decision in [Decision::Allow, Decision::Park] {
                for (event, _) in host.events() {
                    let said = host.answer(event, &decision);
                    // Gemini takes an empty object for "nothing".
                    let empty = (host == Host::Gemini).then(|| json!({}));
                    assert_eq!(said, empty, "{host} {event}");
                }
            }
        }
    }
}
