//! Words as a shell takes them apart, without a shell; what a hint says, typed into a shell; and the processes that a
//! shell started.

use super::{Output, Sandbox};

/// Tells whether a process still works: it is neither gone, nor dead and not waited for.
pub(crate) fn works(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The words of a command: blanks end one, quotes keep one together.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, ' ') => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Types what the `hint:` or `next:` of an output says into a shell, in a folder below the top.
#[track_caller]
pub(crate) fn typed(s: &Sandbox, folder: &str, said: &Output) -> Output {
    let mut lines = said.stdout.lines().chain(said.stderr.lines());
    let named = |line: &'_ str| -> Option<String> {
        let command = line.strip_prefix("hint: ").or(line.strip_prefix("next: "));
        command.map(str::to_owned)
    };
    let found = lines.find_map(named);
    let line = found.unwrap_or_else(|| panic!("no command is named:\n{said}"));
    s.call("sh").cwd(folder).args(&["-c", &line]).run()
}
