//! `loopx.signers` by command: a person's key into the file, restricted to what it is for.

/// The namespaces that a key of the file signs in: words of sessions, and commits.
pub const NAMESPACES: &str = "loopx-approval,git";

const HEAD: &str = "# The keys of people who approve and review, as ssh-keygen reads allowed signers: git loopx help setup\n";

/// A public key, taken apart: its kind and its base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kind: String,
    data: String,
}

impl PublicKey {
    /// Reads the first line of a `.pub` file.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_whitespace();
        let (kind, data) = (words.next()?, words.next()?);
        let is_kind = ["ssh-", "ecdsa-", "sk-"]
            .iter()
            .any(|start| kind.starts_with(start));
        let is_data = data.len() > 16
            && data
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        (is_kind && is_data).then(|| PublicKey {
            kind: kind.to_owned(),
            data: data.to_owned(),
        })
    }
}

/// Tells whether an address can stand in the file for one person and no other.
pub fn is_principal(email: &str) -> bool {
    email.contains('@')
        && email
            .chars()
            .all(|sign| sign.is_alphanumeric() || "@.+-_=/&'%$~^{}|".contains(sign))
}

/// The file with this person's key; as it was where it has it.
pub fn with_key(text: Option<&str>, email: &str, key: &PublicKey) -> String {
    let text = text.unwrap_or(HEAD);
    if keys(text).any(|(who, data)| {
        data == key.data && who.iter().any(|one| one.eq_ignore_ascii_case(email))
    }) {
        return text.to_owned();
    }
    let newline = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let PublicKey { kind, data } = key;
    format!("{text}{newline}{email} namespaces=\"{NAMESPACES}\" {kind} {data}\n")
}

/// Counts the people who have a key in the file.
pub fn people(text: &str) -> usize {
    let mut all: Vec<String> = keys(text)
        .flat_map(|(who, _)| who)
        .map(str::to_ascii_lowercase)
        .collect();
    all.sort();
    all.dedup();
    all.len()
}

/// The principals of each line, and its key.
fn keys(text: &str) -> impl Iterator<Item = (Vec<&str>, &str)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_kind = |word: &&str| {
            ["ssh-", "ecdsa-", "sk-"]
                .iter()
                .any(|start| word.starts_with(start))
        };
        let at = words.iter().skip(1).position(is_kind)? + 1;
        Some((words[0].split(',').collect(), *words.get(at + 1)?))
    })
}

#[cfg(test)]
mod tests {
    use super::{PublicKey, is_principal, people, with_key};

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA ada@laptop\n";

    #[test]
    fn a_key_is_added_once_and_what_is_there_stays() {
        let key = PublicKey::parse(KEY).expect("a key");
        let new = with_key(None, "ada@example.org", &key);
        let line = "ada@example.org namespaces=\"loopx-approval,git\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA\n";
        assert!(new.starts_with('#') && new.ends_with(line), "{new}");
        assert_eq!(with_key(Some(&new), "Ada@Example.org", &key), new);
        let theirs = "bob@example.org ssh-rsa BBBBB3NzaC1lZDI1NTE5AAAAIA";
        let both = with_key(Some(theirs), "ada@example.org", &key);
        assert_eq!(both, format!("{theirs}\n{line}"));
        assert_eq!(people(&both), 2);
        assert_eq!(people("# nobody\n\n"), 0);
    }

    #[test]
    fn what_is_no_key_or_no_one_person_is_not_written() {
        for text in [
            "",
            "x",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n",
            "ssh-rsa",
            "ssh-rsa a\"b",
        ] {
            assert_eq!(PublicKey::parse(text), None, "{text}");
        }
        for email in ["ada", "*@example.org", "a@b,c@d", "a b@c", "!a@b", "a@b\n"] {
            assert!(!is_principal(email), "{email}");
        }
        assert!(is_principal("ada+loopx@example.org"));
    }
}
