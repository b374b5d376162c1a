//! The texts that we write where git looks for hooks: the shim, and the command of a config hook. Both pass with a
//! warning where the program is gone.

use super::{Event, config};

/// The words of a shim's second line by which we know it again.
const ID: &[u8] = b"# loopx-hook: ";
const SHIM: &str = include_str!("../../../../hooks/shim.sh");
const COMMAND: &str = include_str!("../../../../hooks/command.sh");

/// Recognises our shim, under whatever name.
pub fn is_shim(content: &[u8]) -> bool {
    content
        .split(|&byte| byte == b'\n')
        .nth(1)
        .is_some_and(|line| line.starts_with(ID))
}

/// The script that stands at an event's name. `program` is our absolute path.
pub fn shim(program: &[u8], event: Event) -> Vec<u8> {
    fill(SHIM, program, event)
}

/// The value of `hook.loopx-<event>.command`. git appends `"$@"` and hands it to a shell.
pub fn command(program: &[u8], event: Event) -> Vec<u8> {
    let mut command = fill(COMMAND, program, event);
    while command.last() == Some(&b'\n') {
        command.pop();
    }
    command
}

/// The sections of the local configuration, all events.
pub fn sections(program: &[u8]) -> Vec<config::Section> {
    let section = |event: Event| config::Section {
        name: event.config_name(),
        command: command(program, event),
        event: event.name().into(),
    };
    Event::ALL.into_iter().map(section).collect()
}

/// The names of our sections.
pub fn section_names() -> Vec<String> {
    Event::ALL.into_iter().map(Event::config_name).collect()
}

/// Bytes, because a path need not be UTF-8.
fn fill(template: &str, program: &[u8], event: Event) -> Vec<u8> {
    let text = template.replace("@EVENT@", event.name());
    let mut out = Vec::with_capacity(text.len() + program.len());
    for (at, part) in text.split("@PROGRAM@").enumerate() {
        if at > 0 {
            out.extend(shell_quoted(program));
        }
        out.extend_from_slice(part.as_bytes());
    }
    out
}

/// Quotes bytes as a single word of a POSIX shell, whatever bytes they are.
pub fn shell_quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            out.extend_from_slice(b"'\\''");
        } else {
            out.push(byte);
        }
    }
    out.push(b'\'');
    out
}
