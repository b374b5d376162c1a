//! Advice before an agent runs a command: whether it would get past the gates of git's hooks, or move a
//! ref that is not its own.
//!
//! Advice, not enforcement: `verify` finds what was bypassed. So nothing is refused on a guess, and no
//! command that a message of ours recommends is refused at all (reference 8, case 17).

use super::shell;

/// Step of a command line that goes past the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offence {
    pub kind: Kind,
    /// Words that name the step.
    pub what: String,
    /// Folders that the line goes to before, in order: `cd` and `git -C`.
    pub dirs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Hooks are passed over.
    Hooks,
    /// A commit is made without git's own command.
    Plumbing,
    /// Ref that is moved by hand.
    Ref(String),
}

/// Result of reading a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub offence: Option<Offence>,
    /// Mark of a build step of git loopx: whoever runs the line is at work on the build.
    pub builds: bool,
}

/// Reads a command line. One that cannot be read is let through.
pub fn read(line: &str) -> Reading {
    let mut reading = Reading::default();
    // Most commands have nothing to do with git.
    if line.contains("git") || line.contains("LOOPX") {
        look(line, &mut Vec::new(), &mut reading, 0);
    }
    reading
}

/// Depth to which a shell may start a shell.
const MAX_DEPTH: usize = 4;

fn look(line: &str, dirs: &mut Vec<String>, reading: &mut Reading, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    for words in shell::commands(line).unwrap_or_default() {
        simple(&words, dirs, reading, depth);
    }
}

/// Words that stand before a command and do not change what it is.
const RESERVED: [&str; 11] = [
    "{", "}", "!", "if", "then", "elif", "else", "while", "until", "do", "time",
];
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];

fn simple(words: &[String], dirs: &mut Vec<String>, reading: &mut Reading, depth: usize) {
    let mut words = words;
    let mut assigned: Vec<(&str, &str)> = Vec::new();
    while let Some(first) = words.first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if let Some(pair) = assignment(first) {
            assigned.push(pair);
            words = &words[1..];
        } else if RESERVED.contains(&first.as_str()) {
            words = &words[1..];
        } else if let Some(rest) = unwrapped(name, &words[1..]) {
            words = rest;
        } else {
            break;
        }
    }
    let Some(first) = words.first() else {
        return;
    };
    let args = &words[1..];
    let name = first.rsplit('/').next().unwrap_or(first);
    match name {
        "cd" | "pushd" => dirs.extend(args.iter().find(|arg| !arg.starts_with('-')).cloned()),
        "export" => {
            let off = args.iter().any(|arg| arg == "LOOPX=0");
            if off {
                found(reading, dirs, Kind::Hooks, "LOOPX=0");
            }
        }
        "eval" => look(&args.join(" "), dirs, reading, depth + 1),
        _ if SHELLS.contains(&name) => {
            let is_script =
                |arg: &&String| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('c');
            if let Some(at) = args.iter().position(|arg| is_script(&arg))
                && let Some(script) = args[at + 1..].iter().find(|arg| !arg.starts_with('-'))
            {
                // What it changes to is its own.
                let mut inner = dirs.clone();
                if assigned.contains(&("LOOPX", "0")) && script.contains("git") {
                    found(reading, dirs, Kind::Hooks, "LOOPX=0");
                }
                look(script, &mut inner, reading, depth + 1);
            }
        }
        "git-loopx" => reading.builds |= is_build_step(args),
        "git" => git(args, &assigned, dirs, reading),
        _ => {}
    }
}

/// Tells whether the words after our name are a step of the build. Options may stand before the verb.
fn is_build_step(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-s" | "--session" | "--color" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return matches!(verb, "build" | "run"),
        }
    }
    false
}

/// `NAME=VALUE` before a command.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let valid = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some((name, value))
}

/// The command that a wrapper like `env` or `timeout` runs.
fn unwrapped<'a>(name: &str, args: &'a [String]) -> Option<&'a [String]> {
    // Options that take the next word as their value, and words that come before the command.
    let (with_value, before): (&[&str], usize) = match name {
        "env" => (&["-u", "-C", "--unset", "--chdir"], 0),
        "command" | "exec" | "nohup" | "builtin" | "setsid" => (&[], 0),
        "nice" => (&["-n"], 0),
        "sudo" | "doas" => (&["-u", "-g", "-C", "-h", "-p"], 0),
        "timeout" => (&["-s", "-k", "--signal", "--kill-after"], 1),
        "stdbuf" => (&["-i", "-o", "-e"], 0),
        "xargs" => (&["-n", "-I", "-L", "-P", "-d", "-E", "-s", "-a"], 0),
        _ => return None,
    };
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
        at += if with_value.contains(&arg.as_str()) {
            2
        } else {
            1
        };
        if arg == "--" {
            break;
        }
    }
    args.get(at + before..)
}

fn found(reading: &mut Reading, dirs: &[String], kind: Kind, what: &str) {
    if reading.offence.is_none() {
        reading.offence = Some(Offence {
            kind,
            what: what.to_owned(),
            dirs: dirs.to_vec(),
        });
    }
}

/// Settings by which git would not run our hooks.
fn is_hook_setting(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "core.hookspath"
        || (key.starts_with("hook.")
            && (key.ends_with(".enabled") || key.starts_with("hook.loopx-")))
}

/// `key=value` of `-c`, where it switches hooks off.
fn switches_off(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let on = matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "yes" | "on" | "1"
    );
    is_hook_setting(key) && !(on && key.to_ascii_lowercase().ends_with(".enabled"))
}

fn git(args: &[String], assigned: &[(&str, &str)], dirs: &[String], reading: &mut Reading) {
    let Some(call) = Call::read(args, dirs) else {
        return;
    };
    if call.command == "loopx" {
        reading.builds |= is_build_step(call.rest);
        return;
    }
    let bypass = call.bypass.clone();
    let bypass = bypass.or_else(|| assigned_bypass(assigned));
    let bypass = bypass.or_else(|| call.unverified());
    let offence = match bypass {
        Some(what) => Some((Kind::Hooks, what)),
        None => call.offence(),
    };
    if let Some((kind, what)) = offence {
        found(reading, &call.dirs, kind, &what);
    }
}

/// A call of git.
struct Call<'c> {
    /// Folders that the call goes to before it runs, each relative to the one before.
    dirs: Vec<String>,
    /// The first option in front of the command that switches hooks off.
    bypass: Option<String>,
    command: &'c str,
    rest: &'c [String],
}

impl<'c> Call<'c> {
    /// Reads the call of git; `None` where the words call no command.
    fn read(args: &'c [String], dirs: &[String]) -> Option<Self> {
        let mut dirs = dirs.to_vec();
        let mut bypass: Option<String> = None;
        let mut at = 0;
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
            let next = args.get(at + 1);
            match arg.as_str() {
                "-C" => {
                    dirs.extend(next.cloned());
                    at += 1;
                }
                "-c" => {
                    if let Some(setting) = next.filter(|setting| switches_off(setting)) {
                        bypass.get_or_insert(format!("-c {setting}"));
                    }
                    at += 1;
                }
                "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--super-prefix"
                | "--attr-source" => at += 1,
                "--config-env" => {
                    if let Some(setting) = next.filter(|s| names_hook_setting(s)) {
                        bypass.get_or_insert(format!("--config-env {setting}"));
                    }
                    at += 1;
                }
                _ => {
                    if let Some(setting) = arg.strip_prefix("--config-env=")
                        && names_hook_setting(setting)
                    {
                        bypass.get_or_insert(arg.clone());
                    }
                }
            }
            at += 1;
        }
        Some(Call {
            dirs,
            bypass,
            command: args.get(at)?,
            rest: &args[at + 1..],
        })
    }

    /// An option of the command by which the hooks do not run.
    fn unverified(&self) -> Option<String> {
        let what = match self.command {
            "commit" => no_verify(self.rest, "mFcCt", "uS", true),
            "merge" | "pull" => no_verify(self.rest, "mFsX", "S", false),
            "push" => no_verify(self.rest, "o", "", false),
            _ => None,
        }?;
        Some(format!("git {} {what}", self.command))
    }

    /// Offence of the command, where the command goes past the hooks.
    fn offence(&self) -> Option<(Kind, String)> {
        match self.command {
            "config" => Some((Kind::Hooks, config(self.rest)?)),
            "commit-tree" => Some((Kind::Plumbing, "git commit-tree".to_owned())),
            "update-ref" => {
                let name = updated_ref(self.rest)?;
                Some((Kind::Ref(name.to_owned()), format!("git update-ref {name}")))
            }
            "branch" => {
                let (flag, branch) = forced_branch(self.rest)?;
                Some((
                    Kind::Ref(format!("refs/heads/{branch}")),
                    format!("git branch {flag} {branch}"),
                ))
            }
            _ => None,
        }
    }
}

/// A variable in front of git that switches hooks off.
fn assigned_bypass(assigned: &[(&str, &str)]) -> Option<String> {
    let switches_off = |(name, value): &&(&str, &str)| {
        let by_config = (name.starts_with("GIT_CONFIG_KEY_") && is_hook_setting(value))
            || (*name == "GIT_CONFIG_PARAMETERS"
                && value.to_ascii_lowercase().contains("core.hookspath"));
        (*name == "LOOPX" && *value == "0") || by_config
    };
    let (name, value) = assigned.iter().find(switches_off)?;
    Some(format!("{name}={value}"))
}

/// The ref that `git update-ref` moves.
fn updated_ref(words: &[String]) -> Option<&str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "-m" {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// The option by which `git branch` moves, renames or deletes a branch, and the branch.
fn forced_branch(words: &[String]) -> Option<(&str, &str)> {
    let forced = |word: &&String| {
        matches!(word.as_str(), "--force" | "--delete")
            || (word.starts_with('-')
                && !word.starts_with("--")
                && word.contains(['f', 'D', 'd', 'M']))
    };
    let flag = words.iter().find(forced)?;
    let branch = words.iter().find(|word| !word.starts_with('-'))?;
    Some((flag, branch))
}

fn names_hook_setting(setting: &str) -> bool {
    is_hook_setting(setting.split('=').next().unwrap_or_default())
}

/// Options of commit, merge and push that take the next word as their value.
const WITH_VALUE: [&str; 20] = [
    "--message",
    "--file",
    "--author",
    "--date",
    "--template",
    "--reuse-message",
    "--reedit-message",
    "--fixup",
    "--squash",
    "--trailer",
    "--cleanup",
    "--pathspec-from-file",
    "--strategy",
    "--strategy-option",
    "--into-name",
    "--push-option",
    "--receive-pack",
    "--repo",
    "--exec",
    "--depth",
];

/// The flag that passes over hooks, where there is one. `values` are the short options with a value,
/// `attached` those whose value can only be attached.
fn no_verify(args: &[String], values: &str, attached: &str, short: bool) -> Option<String> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        if arg == "--" {
            return None;
        }
        if arg.starts_with("--") {
            // git takes an unambiguous beginning: `--no-verb` is another option.
            if arg.len() >= "--no-veri".len() && "--no-verify".starts_with(arg.as_str()) {
                return Some(arg.clone());
            }
            let whole = arg.len() > 4
                && WITH_VALUE
                    .iter()
                    .any(|option| option.starts_with(arg.as_str()));
            if whole {
                at += 1;
            }
            continue;
        }
        let Some(cluster) = arg.strip_prefix('-') else {
            continue;
        };
        for (i, c) in cluster.char_indices() {
            if short && c == 'n' {
                return Some(arg.clone());
            }
            if values.contains(c) {
                if i + c.len_utf8() == cluster.len() {
                    at += 1;
                }
                break;
            }
            if attached.contains(c) {
                break;
            }
        }
    }
    None
}

/// A `git config` that switches hooks off for good.
fn config(args: &[String]) -> Option<String> {
    let mut words = Vec::new();
    let mut removes = false;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        match arg.as_str() {
            "-f" | "--file" | "--type" | "--default" | "--comment" | "--value" | "--blob" => {
                at += 1
            }
            "--get" | "--get-all" | "--get-regexp" | "-l" | "--list" | "--get-urlmatch" => {
                return None;
            }
            "--unset" | "--unset-all" | "--remove-section" => removes = true,
            other if other.starts_with('-') => {}
            _ => words.push(arg.as_str()),
        }
    }
    match words.first() {
        Some(&("get" | "list" | "edit")) => return None,
        Some(&"set") => drop(words.remove(0)),
        Some(&("unset" | "remove-section")) => {
            removes = true;
            words.remove(0);
        }
        _ => {}
    }
    let key = words.first()?;
    let offends = if removes {
        key.to_ascii_lowercase().starts_with("hook.loopx-")
    } else {
        words
            .get(1)
            .is_some_and(|value| switches_off(&format!("{key}={value}")))
    };
    offends.then(|| format!("git config {}", words.join(" ")))
}

#[cfg(test)]
mod tests;
