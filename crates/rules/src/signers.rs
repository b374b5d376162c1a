//! The check of a file of signers (ssh-keygen(1), "ALLOWED SIGNERS") before anybody relies on it: keys that stand for
//! more people than one line shows, and keys that count for nothing.
//!
//! Whether a signature holds ssh-keygen alone decides: nothing here opens a gate.

use super::signature::NAMESPACE;
use loopx_base::failure::Code;
use serde::Serialize;

/// The namespace of git's own signatures.
const COMMITS: &str = "git";

/// Remark on a line that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub code: Code,
    pub line: usize,
    pub message: String,
}

/// A line of the file.
struct Entry {
    line: usize,
    principals: Vec<String>,
    options: Vec<(String, String)>,
    key: String,
}

/// Remarks on a file. `now` is `YYYYMMDDhhmmss`; `commits` says whether the keys sign commits too.
pub fn remarks(text: &str, now: &str, commits: bool) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut known: Vec<Entry> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(entry) = read(at + 1, line) else {
            continue;
        };
        let mut say = |code: Code, message: String| {
            let line = entry.line;
            found.push(Remark {
                code,
                line,
                message,
            });
        };
        let is_pattern = |name: &&String| name.contains(['*', '?']);
        for pattern in entry.principals.iter().filter(is_pattern) {
            let message = format!(
                "`{pattern}`: whoever has this key signs as everybody whose address fits; name each person"
            );
            say(Code::SignerPattern, message);
        }
        if let Some(first) = known.iter().find(|first| first.key == entry.key) {
            let message = format!(
                "the key stands on line {} too, and ssh-keygen finds only that line's people; put them on one line",
                first.line
            );
            say(Code::SignerRepeated, message);
        }
        if let Some(until) = entry.option("valid-before")
            && until.trim_end_matches('Z')
                <= &now[..now.len().min(until.trim_end_matches('Z').len())]
        {
            say(
                Code::SignerExpired,
                format!("the key of {} was valid before {until}", entry.names()),
            );
        }
        if let Some(list) = entry.option("namespaces") {
            let has = |name: &str| list.split(',').any(|one| matches(one, name));
            let missing = [(NAMESPACE, true), (COMMITS, commits)];
            for (name, _) in missing
                .into_iter()
                .filter(|(name, asked)| *asked && !has(name))
            {
                let message = format!(
                    "the key of {} is listed for the namespaces {list}, and not for {name}",
                    entry.names()
                );
                say(Code::SignerNamespace, message);
            }
        }
        known.push(entry);
    }
    found
}

impl Entry {
    fn option(&self, name: &str) -> Option<&str> {
        let mut all = self.options.iter();
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    fn names(&self) -> String {
        self.principals.join(", ")
    }
}

/// Tells whether a pattern of a namespace list covers this name: `*` is the only wildcard that people write.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.trim().split_once('*') {
        None => pattern.trim() == name,
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
    }
}

/// `PRINCIPALS [OPTIONS] KEYTYPE KEY [COMMENT]`
fn read(line: usize, text: &str) -> Option<Entry> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let words = fields(text);
    let is_kind = |word: &String| {
        let starts = ["ssh-", "ecdsa-", "sk-"];
        starts.iter().any(|start| word.starts_with(start))
    };
    let at = words.iter().skip(1).position(is_kind)? + 1;
    let plain = |word: &str| word.replace('"', "");
    let principals = plain(&words[0]);
    let options = words[1..at].iter().flat_map(|word| options(word));
    Some(Entry {
        line,
        principals: principals
            .split(',')
            .map(|one| one.trim().to_owned())
            .collect(),
        options: options.collect(),
        key: words.get(at + 1)?.clone(),
    })
}

/// Words apart from each other by blanks that no quotes hold.
fn fields(text: &str) -> Vec<String> {
    split(text, |c| c == ' ' || c == '\t')
}

fn options(word: &str) -> Vec<(String, String)> {
    let all = split(word, |c| c == ',');
    let all = all
        .iter()
        .map(|one| one.split_once('=').unwrap_or((one, "")));
    all.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

fn split(text: &str, at: impl Fn(char) -> bool) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_quoted = false;
    for c in text.chars() {
        is_quoted ^= c == '"';
        if at(c) && !is_quoted {
            found.push(String::new())
        } else {
            found
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|one| one.push(c))
        }
    }
    found.retain(|one| !one.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::remarks;

    #[test]
    fn a_file_of_signers_says_what_it_lets_people_do() {
        let now = "20261122123456";
        let key = "ssh-ed25519 AAAA";
        let codes = |text: &str, commits: bool| -> Vec<String> {
            let found = remarks(text, now, commits).into_iter();
            found
                .map(|one| format!("{}:{}", one.line, one.code))
                .collect()
        };
        for (text, commits, expected) in [
            (format!("ada@ex.org {key}\n"), true, vec![]),
            (
                format!("# all\n\n*@ex.org {key} x\n"),
                false,
                vec!["3:signer_pattern"],
            ),
            (
                format!("\"a@x,b?@x\" {key}\n"),
                false,
                vec!["1:signer_pattern"],
            ),
            (
                format!("a@x {key}\nb@x {key}\n"),
                false,
                vec!["2:signer_repeated"],
            ),
            (
                format!("a@x valid-before=\"20261122\" {key}\n"),
                false,
                vec!["1:signer_expired"],
            ),
            (
                format!("a@x valid-before=\"202611221300Z\" {key}\n"),
                false,
                vec![],
            ),
            (
                format!("a@x namespaces=\"git,file\" {key}\n"),
                true,
                vec!["1:signer_namespace"],
            ),
            (
                format!("a@x namespaces=\"loopx-approval\",valid-after=\"20200101\" {key}\n"),
                true,
                vec!["1:signer_namespace"],
            ),
            (
                format!("a@x namespaces=\"loopx-approval\" {key}\n"),
                false,
                vec![],
            ),
            (format!("a@x namespaces=\"*\" {key}\n"), true, vec![]),
            ("nonsense\n".to_owned(), true, vec![]),
        ] {
            assert_eq!(codes(&text, commits), expected, "{text}");
        }
    }
}
