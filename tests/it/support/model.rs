//! A stand-in for the model that a coding agent's client talks to: it listens on the loopback, speaks the
//! wire formats of Anthropic, OpenAI (responses) and Gemini as far as the clients ask, and does what the
//! prompt says and nothing else.
//!
//! `DO[git status]` has the client run a command, `DO[delegate]` start a sub-agent, one after another;
//! then it is done. In a conversation that says `BUSY`, it changes a file each time that it is held.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Request to a sub-agent.
pub(crate) const TASK: &str = "Look around.";
/// Words by which a block of ours is known.
const HELD: &str = "is not ready for review (";

/// The requests so far, in the order in which they came.
type Heard = Arc<Mutex<Vec<String>>>;

pub(crate) struct Model {
    pub(crate) url: String,
    heard: Heard,
}

impl Model {
    /// Listens from now on; it ends with the process.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Heard::default();
        let hears = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let hears = Arc::clone(&hears);
                // A client that hangs up has heard enough.
                std::thread::spawn(move || drop(serve(stream, &hears)));
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Model { url, heard }
    }

    /// Requests since the last time.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().expect("no panic"))
    }
}

fn serve(stream: TcpStream, heard: &Heard) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (kind, answer) = answer(path, &request, heard);
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )?;
    stream.flush()
}

fn answer(path: &str, request: &Value, heard: &Heard) -> (&'static str, String) {
    const STREAM: &str = "text/event-stream";
    let counts = path.contains("count_tokens") || path.contains("countTokens");
    let wire = match path {
        _ if counts => None,
        path if path.contains("/messages") => Some(anthropic as fn(&Value) -> String),
        path if path.contains("/responses") => Some(openai as fn(&Value) -> String),
        path if path.contains("streamGenerateContent") => Some(gemini as fn(&Value) -> String),
        _ => None,
    };
    match wire {
        Some(wire) => {
            let mut heard = heard.lock().expect("no panic");
            heard.push(request.to_string());
            (STREAM, wire(request))
        }
        None => {
            let said = json!({"data": [], "models": [], "input_tokens": 5, "totalTokens": 5});
            ("application/json", said.to_string())
        }
    }
}

/// Step of a conversation.
enum Turn {
    Said(String),
    /// A tool has answered.
    Result,
}

/// Next step of the model.
enum Step {
    Done,
    Tool(String, Value),
}

/// The next step of a conversation, with these tools.
fn next(turns: &[Turn], tools: &[String]) -> Step {
    let said = |turn: &Turn, what: &str| matches!(turn, Turn::Said(text) if text.contains(what));
    let is_busy = turns.iter().any(|turn| said(turn, "BUSY"));
    let mut open: Vec<String> = Vec::new();
    let mut done = 0;
    for turn in turns {
        match turn {
            Turn::Result => done += 1,
            Turn::Said(text) if text.contains(HELD) => {
                let edit = "echo more >> src/demo.txt".to_owned();
                (open, done) = (is_busy.then_some(edit).into_iter().collect(), 0);
            }
            Turn::Said(text) => {
                let asked: Vec<String> = text.split("DO[").skip(1).map(directive).collect();
                if !asked.is_empty() {
                    (open, done) = (asked, 0);
                }
            }
        }
    }
    let Some(what) = open.get(done) else {
        return Step::Done;
    };
    let names = match what.as_str() {
        "delegate" => DELEGATES,
        _ => SHELLS,
    };
    let tool = names.iter().find(|name| tools.iter().any(|t| t == *name));
    let name = tool.unwrap_or_else(|| panic!("none of {names:?} in {tools:?}"));
    Step::Tool((*name).to_owned(), arguments(name, what))
}

fn directive(text: &str) -> String {
    text.split(']').next().unwrap_or_default().to_owned()
}

/// The tools that run a command, by client.
const SHELLS: [&str; 4] = ["Bash", "bash", "run_shell_command", "exec_command"];
/// The tools that start a sub-agent.
const DELEGATES: [&str; 4] = ["Agent", "task", "spawn_agent", "invoke_agent"];

/// Arguments that a client's tool takes to run a command, or to start a sub-agent.
fn arguments(tool: &str, command: &str) -> Value {
    match tool {
        "exec_command" => json!({ "cmd": command }),
        "Agent" => {
            json!({"description": "look", "prompt": TASK, "subagent_type": "general-purpose"})
        }
        "task" => {
            json!({"name": "look", "description": "look", "prompt": TASK, "agent_type": "task"})
        }
        "spawn_agent" => json!({ "message": TASK }),
        "invoke_agent" => json!({"agent_name": "generalist", "prompt": TASK}),
        _ => json!({ "command": command, "description": "run" }),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a message's content, a string or a list of parts.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => list(parts)
            .iter()
            .filter_map(|p| p["text"].as_str())
            .collect(),
    }
}

fn names(tools: &Value) -> Vec<String> {
    let own = list(tools).iter();
    // Codex has the tools of a namespace inside of it.
    let inner = list(tools).iter().flat_map(|tool| list(&tool["tools"]));
    let declared = list(tools)
        .iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]));
    own.chain(inner)
        .chain(declared)
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

fn events(events: &[Value]) -> String {
    let event = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

/// An id that no answer to the same conversation had before.
fn id(turns: &[Turn]) -> String {
    format!("id_{}", turns.len())
}

/// Claude Code and Copilot CLI.
fn anthropic(request: &Value) -> String {
    let mut turns = Vec::new();
    for message in list(&request["messages"]) {
        if message["role"] == "assistant" {
            continue;
        }
        let results = list(&message["content"]);
        let results = results.iter().filter(|part| part["type"] == "tool_result");
        turns.extend(results.map(|_| Turn::Result));
        turns.push(Turn::Said(texts(&message["content"])));
    }
    let id = id(&turns);
    let (block, delta, stop) = match next(&turns, &names(&request["tools"])) {
        Step::Done => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "Done."}),
            "end_turn",
        ),
        Step::Tool(name, arguments) => (
            json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
    };
    events(&[
        json!({"type": "message_start", "message": {
            "id": id, "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 5, "output_tokens": 5},
        }}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

/// Codex.
fn openai(request: &Value) -> String {
    let mut turns = Vec::new();
    for item in list(&request["input"]) {
        match item["type"].as_str().unwrap_or("message") {
            "message" if item["role"] == "user" => {
                turns.push(Turn::Said(texts(&item["content"])));
            }
            "function_call_output" => turns.push(Turn::Result),
            _ => {}
        }
    }
    let id = id(&turns);
    let item = match next(&turns, &names(&request["tools"])) {
        Step::Done => json!({"type": "message", "role": "assistant", "id": id,
            "content": [{"type": "output_text", "text": "Done."}]}),
        Step::Tool(name, arguments) => {
            let mut call = json!({"type": "function_call", "id": id, "call_id": format!("c_{id}"),
                "name": name, "arguments": arguments.to_string()});
            if name == "spawn_agent" {
                call["namespace"] = json!("multi_agent_v1");
            }
            call
        }
    };
    events(&[
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"id": id, "usage": {
            "input_tokens": 5, "input_tokens_details": null, "output_tokens": 5,
            "output_tokens_details": null, "total_tokens": 10}}}),
    ])
}

/// Gemini CLI.
fn gemini(request: &Value) -> String {
    let mut turns = Vec::new();
    for content in list(&request["contents"]) {
        if content["role"] == "model" {
            continue;
        }
        for part in list(&content["parts"]) {
            match part.get("functionResponse") {
                Some(_) => turns.push(Turn::Result),
                None => turns.push(Turn::Said(texts(&json!([part])))),
            }
        }
    }
    let part = match next(&turns, &names(&request["tools"])) {
        Step::Done => json!({ "text": "Done." }),
        Step::Tool(name, arguments) => json!({"functionCall": {"name": name, "args": arguments}}),
    };
    let said = json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10},
    });
    format!("data: {said}\n\n")
}
