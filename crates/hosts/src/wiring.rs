//! The wiring of our hooks into a host: its configuration file, what stands in it for us, and how that is put in and
//! taken out without touching what is somebody else's.

use super::{Host, Moment, material, quoted};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::json_text;
use loopx_base::json_text::Node;
use loopx_base::vocabulary::vocabulary;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Mark by which a command in a host's file is known as ours, in any version.
const MARK: &str = "# git-loopx-agent-hook:";
/// The number of the command's form.
const FORM: u32 = 1;

vocabulary!(
    /// State of a host's file.
    Wired {
        Absent = "absent",
        Current = "current",
        /// File that was written by another version, or for a program at another place; or a part is missing.
        Outdated = "outdated",
        /// File that is no JSON, or not of the form that the host reads.
        Unreadable = "unreadable",
    }
);

/// The host's file, from the top of the worktree.
pub fn file(host: Host) -> &'static str {
    host.spec().file
}

/// Files that `agent install` and `agent material` make and nobody else writes code into, from the top of the worktree.
pub fn files() -> impl Iterator<Item = &'static str> {
    Host::ALL
        .into_iter()
        .map(file)
        .chain([material::Place::Skill.path()])
}

/// Tells whether a path, from the top of the worktree, is one of [`files`].
pub fn is_ours(path: &str) -> bool {
    files().any(|ours| ours == path)
}

/// Advice on the folder in which an agent has to be started, where the host reads its hooks only there.
pub fn starts_in(host: Host, top: &str) -> Option<String> {
    host.spec().is_read_where_started.then(|| {
        format!(
            "start {} in {top}: in a folder below, it reads no hooks of this repository",
            host.title()
        )
    })
}

/// The command of a hook: the program at its place, else the one in PATH, else nothing; and whatever
/// happens exit 0, since Gemini takes 127 for a refusal.
pub fn command(host: Host, event: &str, program: &str) -> String {
    format!(
        "loopx={}; [ -x \"$loopx\" ] || loopx=$(command -v git-loopx) || exit 0; \"$loopx\" agent-hook {host} {event} || exit 0 {MARK}{FORM}",
        quoted(program)
    )
}

/// Entry for one event in the host's file.
fn entry(host: Host, event: &str, moment: Moment, program: &str) -> Value {
    (host.spec().entry)(event, moment, &command(host, event, program))
}

/// The file of a host that has none yet.
fn skeleton(host: Host) -> Value {
    if host.spec().has_version {
        json!({ "version": 1, "hooks": {} })
    } else {
        json!({ "hooks": {} })
    }
}

/// Text for a person to paste where this program does not write.
pub fn snippet(host: Host, program: &str) -> Result<String> {
    wire(host, None, program)
}

fn has_mark(entry: &Value) -> bool {
    ["command", "bash"]
        .iter()
        .any(|key| entry[*key].as_str().is_some_and(|text| text.contains(MARK)))
}

fn unreadable(host: Host, why: &str) -> Failure {
    Failure::refused(
        Code::AgentConfigUnreadable,
        format!("{}: {why}; nothing was written", file(host)),
    )
    .help(command!("agent install {host} --dry-run").note("(prints what to add by hand)"))
}

/// The text as the host reads it, without comments where it passes over them. Every byte stays where it is.
fn plain(host: Host, text: &str) -> Cow<'_, str> {
    if host.spec().takes_comments {
        json_text::without_comments(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// The `hooks` object of a file, with the whole.
fn parse(host: Host, text: &str) -> Result<Node> {
    let root = json_text::parse(&plain(host, text))
        .map_err(|why| unreadable(host, &format!("expected JSON, found something else: {why}")))?;
    let is_object = |node: &Node| matches!(node.kind, json_text::Kind::Object(_));
    if !is_object(&root) {
        return Err(unreadable(host, "expected an object"));
    }
    if let Some(hooks) = root.get("hooks") {
        if !is_object(hooks) {
            return Err(unreadable(host, "expected `hooks` to be an object"));
        }
        for (event, _) in host.events() {
            let list = hooks.get(event);
            if list.is_some_and(|list| !matches!(list.kind, json_text::Kind::Array(_))) {
                return Err(unreadable(
                    host,
                    &format!("expected `hooks.{event}` to be a list"),
                ));
            }
        }
    }
    Ok(root)
}

/// Text with our hooks in it; the same text where they are there already.
pub fn wire(host: Host, text: Option<&str>, program: &str) -> Result<String> {
    let blank = |text: &&str| text.trim().is_empty();
    let mut text = match text.filter(|text| !blank(text)) {
        Some(text) => text.to_owned(),
        None => format!("{:#}\n", skeleton(host)),
    };
    if state(host, Some(&text), program) == Wired::Current {
        return Ok(text);
    }
    parse(host, &text)?;
    text = without_ours(host, &text, false)?;
    for (event, moment) in host.events() {
        let entry = entry(host, event, *moment, program);
        let root = parse(host, &text)?;
        text = match root.get("hooks") {
            None => {
                let mut events = serde_json::Map::new();
                events.insert((*event).to_owned(), json!([entry]));
                json_text::add(&text, &root, Some("hooks"), &Value::Object(events))
            }
            Some(hooks) => match hooks.get(event) {
                None => json_text::add(&text, hooks, Some(event), &json!([entry])),
                Some(list) => json_text::add(&text, list, None, &entry),
            },
        };
    }
    Ok(text)
}

/// The text without our hooks. Lists that only we had filled go with them.
pub fn unwire(host: Host, text: &str) -> Result<String> {
    without_ours(host, text, true)
}

fn without_ours(host: Host, text: &str, tidy: bool) -> Result<String> {
    let mut text = text.to_owned();
    let mut root = parse(host, &text)?;
    let mut took = false;
    // One cut at a time: places move with each.
    while let Some(cut) = next_cut(host, &text, &plain(host, &text), &root) {
        text = cut;
        root = parse(host, &text)?;
        took = true;
    }
    let hooks = root.get("hooks");
    if took && tidy && hooks.is_some_and(Node::is_empty) {
        // An empty `hooks` says nothing; with it a file of ours alone becomes empty.
        if let Some(at) = json_text::index_of(&root, "hooks") {
            text = json_text::remove(&text, &root, at);
        }
    }
    Ok(text)
}

/// `plain` is the text without comments.
fn next_cut(host: Host, text: &str, plain: &str, root: &Node) -> Option<String> {
    let hooks = root.get("hooks")?;
    let json_text::Kind::Object(members) = &hooks.kind else {
        return None;
    };
    for (n, member) in members.iter().enumerate() {
        let list = &member.value;
        for (at, item) in list.items().iter().enumerate() {
            let inner = item.get("hooks").filter(|_| host.spec().is_nested);
            let ours = match inner {
                None => has_mark(&item.value(plain)),
                Some(inner) => {
                    let mine: Vec<bool> = inner
                        .items()
                        .iter()
                        .map(|one| has_mark(&one.value(plain)))
                        .collect();
                    if mine.contains(&true) && mine.contains(&false) {
                        // Somebody put a hook of his own beside ours.
                        let first = mine.iter().position(|mine| *mine)?;
                        return Some(json_text::remove(text, inner, first));
                    }
                    mine.contains(&true)
                }
            };
            if ours {
                return Some(if list.items().len() == 1 {
                    json_text::remove(text, hooks, n)
                } else {
                    json_text::remove(text, list, at)
                });
            }
        }
    }
    None
}

/// State of a host's file, for this program.
pub fn state(host: Host, text: Option<&str>, program: &str) -> Wired {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Wired::Absent;
    };
    let Ok(root) = parse(host, text) else {
        return Wired::Unreadable;
    };
    let Some(hooks) = root
        .get("hooks")
        .map(|hooks| hooks.value(&plain(host, text)))
    else {
        return Wired::Absent;
    };
    let ours = |item: &Value| {
        has_mark(item)
            || item["hooks"]
                .as_array()
                .is_some_and(|inner| inner.iter().any(has_mark))
    };
    let mut found = 0;
    let mut current = 0;
    for (event, list) in hooks.as_object().into_iter().flatten() {
        for item in list
            .as_array()
            .into_iter()
            .flatten()
            .filter(|item| ours(item))
        {
            found += 1;
            let wanted = host
                .events()
                .iter()
                .find(|(name, _)| name == event)
                .map(|(name, moment)| entry(host, name, *moment, program));
            current += usize::from(Some(item) == wanted.as_ref());
        }
    }
    match found {
        0 => Wired::Absent,
        n if n == current && n == host.events().len() => Wired::Current,
        _ => Wired::Outdated,
    }
}

/// Notes that a person has to know about this host; `top` is the folder of its file.
pub fn notes(host: Host, others: &[Host], top: &str) -> Vec<String> {
    let twice = others.iter().find_map(|other| {
        let pairs = [(host, *other), (*other, host)];
        let both = pairs
            .into_iter()
            .find(|(one, other)| one.spec().also_runs == Some(*other));
        both.map(|(one, other)| {
            format!(
                "{} may run {}'s hooks as well: a stop is answered once all the same",
                one.title(),
                other.title()
            )
        })
    });
    let notes = host.spec().notes.iter().map(|note| (*note).to_owned());
    let notes = notes.chain(twice);
    starts_in(host, top).into_iter().chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::{MARK, Wired, state, unwire, wire};
    use crate::Host;
    use loopx_base::failure::Code;
    use serde_json::{Value, json};

    const PROGRAM: &str = "/opt/it's/git-loopx";

    #[test]
    fn what_is_put_in_is_current_and_goes_out_without_a_trace() {
        let foreign = "{\n    \"model\": \"x\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\n        ],\n        \"stop\": [{\"command\": \"mine\"}]\n    },\n    \"z\": [1,2]\n}\n";
        for host in Host::ALL {
            for before in [None, Some("{}"), Some("{\"a\":1}"), Some(foreign)] {
                let wired = wire(host, before, PROGRAM).expect("wired");
                assert_eq!(
                    state(host, Some(&wired), PROGRAM),
                    Wired::Current,
                    "{host}\n{wired}"
                );
                assert_eq!(wire(host, Some(&wired), PROGRAM).expect("again"), wired);
                assert_eq!(state(host, Some(&wired), "/elsewhere"), Wired::Outdated);
                let moved = wire(host, Some(&wired), "/elsewhere").expect("moved");
                assert_eq!(state(host, Some(&moved), "/elsewhere"), Wired::Current);
                assert_eq!(moved.matches(MARK).count(), host.events().len(), "{moved}");
                let back = unwire(host, &wired).expect("back");
                assert!(!back.contains("loopx"), "{host}\n{back}");
                let values: Option<(Value, Value)> = before.map(|before| {
                    (
                        serde_json::from_str(&back).expect("JSON"),
                        serde_json::from_str(before).expect("JSON"),
                    )
                });
                if let Some((back, before)) = values {
                    assert_eq!(back, before, "{host}");
                }
                if before == Some(foreign) {
                    assert_eq!(back, foreign, "{host}: bytes");
                }
            }
        }
    }

    #[test]
    fn a_hook_that_somebody_put_beside_ours_stays() {
        let wired = wire(Host::Claude, None, PROGRAM).expect("wired");
        let mut value: Value = serde_json::from_str(&wired).expect("JSON");
        let inner = value["hooks"]["Stop"][0]["hooks"]
            .as_array_mut()
            .expect("a list");
        inner.push(json!({"type": "command", "command": "mine"}));
        let text = value.to_string();
        assert_eq!(state(Host::Claude, Some(&text), PROGRAM), Wired::Outdated);
        let back: Value =
            serde_json::from_str(&unwire(Host::Claude, &text).expect("back")).expect("JSON");
        assert_eq!(
            back,
            json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}})
        );
    }

    #[test]
    fn h8_comments_of_gemini_stay_and_are_no_json_to_the_others() {
        let text = "// mine\n{\n  \"model\": \"x\", // fast\n  /* hooks: none */\n}\n";
        let text = text.replace("\"x\",", "\"x\"");
        let wired = wire(Host::Gemini, Some(&text), PROGRAM).expect("wired");
        assert_eq!(
            state(Host::Gemini, Some(&wired), PROGRAM),
            Wired::Current,
            "{wired}"
        );
        assert_eq!(
            wire(Host::Gemini, Some(&wired), PROGRAM).expect("again"),
            wired
        );
        let back = unwire(Host::Gemini, &wired).expect("back");
        for text in [&wired, &back] {
            for comment in ["// mine", "// fast", "/* hooks: none */"] {
                assert!(text.contains(comment), "{text}");
            }
        }
        assert!(!back.contains("loopx"), "{back}");
        assert!(wire(Host::Claude, Some(&text), PROGRAM).is_err());
    }

    #[test]
    fn h5_where_a_host_has_to_be_started_is_said() {
        for host in Host::ALL {
            let said = crate::wiring::notes(host, &[], "/work")
                .join("\n")
                .contains(" in /work");
            assert_eq!(said, matches!(host, Host::Claude | Host::Gemini), "{host}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "{",
            "[]",
            "// a comment\n{}",
            "{\"hooks\": []}",
            "{\"hooks\": {\"Stop\": {}}}",
            "{\"a\": 1,}",
        ] {
            assert_eq!(
                state(Host::Claude, Some(text), PROGRAM),
                Wired::Unreadable,
                "{text}"
            );
            let refused = wire(Host::Claude, Some(text), PROGRAM).expect_err(text);
            assert_eq!(refused.code, Code::AgentConfigUnreadable);
        }
    }
}
