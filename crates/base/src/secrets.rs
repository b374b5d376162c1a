//! Credentials in text, by the shapes that well-known ones have. A hit says what and where, and never
//! shows what it found.

use std::fmt;

/// Place in a text that looks like a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Hit {
    /// Line of the hit, counted from 1.
    pub line: usize,
    pub kind: &'static str,
    text: String,
}

impl Hit {
    /// Text that was found: to be hashed, never to be printed.
    pub fn secret(&self) -> &str {
        &self.text
    }

    /// Tells whether a private key begins at the hit.
    pub fn is_key(&self) -> bool {
        self.kind == PRIVATE_KEY
    }
}

impl fmt::Debug for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in line {}", self.kind, self.line)
    }
}

const PRIVATE_KEY: &str = "private key";
const ASSIGNED: &str = "secret that was assigned";

/// Names of files that hold credentials by convention.
const FILES: [&str; 10] = [
    ".env",
    ".netrc",
    ".pypirc",
    ".htpasswd",
    ".pgpass",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
];

/// Ends of names of files that hold credentials.
const FILE_ENDS: [&str; 8] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
];

/// Ends of names of files that show the form of such a file, without the secret.
const SHOWN_ENDS: [&str; 5] = [".example", ".sample", ".template", ".dist", ".pub"];

/// Tells whether the name of a file says that it holds credentials: nobody is led to commit such a file.
pub fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let ends_so = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let is_named = FILES.contains(&name.as_str()) || name.starts_with(".env.");
    (is_named || ends_so(&FILE_ENDS)) && !ends_so(&SHOWN_ENDS)
}

/// Characters that follow the beginning of a credential.
#[derive(Clone, Copy)]
enum Set {
    /// A-Z 0-9
    Upper,
    /// A-Z a-z 0-9
    Alnum,
    /// A-Z a-z 0-9 _ -
    Url,
}

impl Set {
    fn has(self, c: u8) -> bool {
        match self {
            Set::Upper => c.is_ascii_uppercase() || c.is_ascii_digit(),
            Set::Alnum => c.is_ascii_alphanumeric(),
            Set::Url => c.is_ascii_alphanumeric() || c == b'_' || c == b'-',
        }
    }
}

/// Kind of a credential, its beginning, the characters that follow, and how many of them at least and at most.
const TOKENS: [(&str, &str, Set, usize, usize); 27] = [
    ("AWS access key", "AKIA", Set::Upper, 16, 16),
    ("AWS access key", "ASIA", Set::Upper, 16, 16),
    ("GitHub token", "ghp_", Set::Alnum, 36, 255),
    ("GitHub token", "gho_", Set::Alnum, 36, 255),
    ("GitHub token", "ghu_", Set::Alnum, 36, 255),
    ("GitHub token", "ghs_", Set::Alnum, 36, 255),
    ("GitHub token", "ghr_", Set::Alnum, 36, 255),
    ("GitHub token", "github_pat_", Set::Url, 40, 255),
    ("GitLab token", "glpat-", Set::Url, 20, 255),
    ("GitLab token", "gldt-", Set::Url, 20, 255),
    ("GitLab token", "glrt-", Set::Url, 20, 255),
    ("GitLab token", "glptt-", Set::Url, 20, 255),
    ("Slack token", "xoxb-", Set::Url, 20, 255),
    ("Slack token", "xoxp-", Set::Url, 20, 255),
    ("Slack token", "xoxa-", Set::Url, 20, 255),
    ("Slack token", "xoxr-", Set::Url, 20, 255),
    ("Slack token", "xoxs-", Set::Url, 20, 255),
    ("Slack token", "xapp-", Set::Url, 20, 255),
    ("Stripe key", "sk_live_", Set::Alnum, 16, 255),
    ("Stripe key", "rk_live_", Set::Alnum, 16, 255),
    ("Google API key", "AIza", Set::Url, 35, 35),
    ("Google OAuth token", "ya29.", Set::Url, 20, 2000),
    ("npm token", "npm_", Set::Alnum, 36, 36),
    ("PyPI token", "pypi-AgEI", Set::Url, 50, 500),
    ("Anthropic key", "sk-ant-", Set::Url, 32, 255),
    ("OpenAI key", "sk-proj-", Set::Url, 32, 255),
    ("SendGrid key", "SG.", Set::Url, 20, 100),
];

/// Names after which a random value is a secret.
const NAMES: [&str; 12] = [
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "access-key",
    "private_key",
    "client_secret",
    "credential",
];

/// Bytes of a line that are looked at together: a line of a data file can be as long as the file.
const WINDOW: usize = 64 * 1024;

/// Bytes that two windows of a line share: more than any credential is long.
const SHARED: usize = 4 * 1024;

/// Every credential of some bytes, however many they are; what is no text in them is passed over.
pub fn scan(bytes: &[u8]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    // The end of the line before, where a value may stand below its name.
    let mut name: &[u8] = &[];
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let begun = std::mem::replace(&mut name, unfinished(line));
        if !begun.is_empty() {
            let first = &line[..line.len().min(SHARED)];
            let whole = [begun, b" ", first].concat();
            let whole = String::from_utf8_lossy(&whole).into_owned();
            let below = assigned(&whole).into_iter();
            hits.extend(below.map(|text| Hit {
                line: at + 1,
                kind: ASSIGNED,
                text: text.to_owned(),
            }));
        }
        let known = hits.len();
        for window in windows(line) {
            for (kind, text) in scan_line(&String::from_utf8_lossy(window)) {
                // Both windows that share it have it.
                if !hits[known..]
                    .iter()
                    .any(|hit| hit.kind == kind && hit.text == text)
                {
                    hits.push(Hit {
                        line: at + 1,
                        kind,
                        text,
                    });
                }
            }
        }
    }
    hits
}

/// The last word of a line that ends with a name and `:` or `=`, or with an option; else nothing.
fn unfinished(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    let begin = line.iter().rposition(u8::is_ascii_whitespace);
    let word = &line[begin.map_or(0, |at| at + 1)..];
    let is_open = word.ends_with(b":") || word.ends_with(b"=") || word.starts_with(b"--");
    if is_open && word.len() <= 200 {
        word
    } else {
        &[]
    }
}

/// The parts of a line, cut between words where there are any.
fn windows(mut line: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while line.len() > WINDOW {
        let shared = &line[WINDOW - SHARED..WINDOW];
        let word = shared.iter().rposition(u8::is_ascii_whitespace);
        let (end, next) = match word {
            Some(at) => (WINDOW - SHARED + at, WINDOW - SHARED + at),
            None => (WINDOW, WINDOW - SHARED),
        };
        found.push(&line[..end]);
        line = &line[next..];
    }
    found.push(line);
    found
}

/// The credentials of one line, all of them: a credential that somebody let through hides no other one.
fn scan_line(line: &str) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, &str)> = Vec::new();
    for (kind, begin, set, least, most) in TOKENS {
        found.extend(tokens(line, begin, set, least, most).map(|text| (kind, text)));
    }
    found.extend(private_keys(line));
    found.extend(web_tokens(line));
    found.extend(url_passwords(line));
    // What has a shape of its own may be assigned, too. A private key is told as its whole line.
    let shaped = found.iter().filter(|(kind, _)| *kind != PRIVATE_KEY);
    let shaped: Vec<&str> = shaped.map(|(_, text)| *text).collect();
    let other = assigned(line).into_iter();
    let other = other.filter(|text| !shaped.iter().any(|one| one.contains(text)));
    found.extend(other.map(|text| (ASSIGNED, text)));
    let owned = found.into_iter();
    owned.map(|(kind, text)| (kind, text.to_owned())).collect()
}

fn tokens<'t>(
    line: &'t str,
    begin: &'static str,
    set: Set,
    least: usize,
    most: usize,
) -> impl Iterator<Item = &'t str> {
    line.match_indices(begin).filter_map(move |(at, _)| {
        if is_within_word(&line.as_bytes()[..at]) {
            return None;
        }
        let rest = &line.as_bytes()[at + begin.len()..];
        let length = rest.iter().take_while(|c| set.has(**c)).count();
        let text = &line[at..at + begin.len() + length];
        // Documentation shows keys that are none; what repeats one letter is none either.
        let is_real = (least..=most).contains(&length)
            && !text.to_uppercase().contains("EXAMPLE")
            && variety(&rest[..length]) > 4;
        is_real.then_some(text)
    })
}

/// Test for a place before which a word goes on. What JSON writes for a line break or a tab is no letter.
fn is_within_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => false,
        [.., last] => Set::Url.has(*last),
        [] => false,
    }
}

fn variety(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    bytes
        .iter()
        .for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Beginnings of private keys. The first one is told as its whole line, each other one from where it begins.
fn private_keys(line: &str) -> impl Iterator<Item = (&'static str, &str)> {
    let begins = line.match_indices("-----BEGIN ").filter(|(at, _)| {
        let name = line[at + 11..].split("-----").next();
        name.is_some_and(|name| {
            name.ends_with("PRIVATE KEY") || name.ends_with("PRIVATE KEY BLOCK")
        })
    });
    begins.enumerate().map(move |(count, (at, _))| {
        let from = if count == 0 { 0 } else { at };
        (PRIVATE_KEY, &line[from..])
    })
}

fn web_tokens(line: &str) -> impl Iterator<Item = (&'static str, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    line.match_indices("eyJ").filter_map(move |(at, _)| {
        let text = &line[at..];
        let text = &text[..text.find(|c| !part(c)).unwrap_or(text.len())];
        let mut parts = text.split('.');
        let (head, body, signature) = (parts.next()?, parts.next()?, parts.next()?);
        let long = [head, body, signature].iter().all(|part| part.len() >= 10);
        (long && body.starts_with("eyJ")).then_some(("JSON web token", text))
    })
}

/// Passwords in `scheme://user:password@host`.
fn url_passwords(line: &str) -> impl Iterator<Item = (&'static str, &str)> {
    line.match_indices("://").filter_map(|(at, _)| {
        let rest = &line[at + 3..];
        let end = rest
            .find(|c: char| c.is_whitespace() || "/?#\"'`<>)".contains(c))
            .unwrap_or(rest.len());
        let (login, _) = rest[..end].rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        (!is_placeholder(password)).then_some(("password in a URL", password))
    })
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.len() < 3
        || text.starts_with(['$', '{', '<', '%', '['])
        || text
            .bytes()
            .all(|c| c == b'*' || c == b'x' || c == b'X' || c == b'.')
        || [
            "password", "pass", "secret", "token", "changeme", "redacted",
        ]
        .contains(&lower.as_str())
}

/// Random values in `secret = VALUE`. JSON writes a quotation mark with a backslash before it.
fn assigned(line: &str) -> Vec<&str> {
    let lower = line.to_ascii_lowercase();
    let names = NAMES.iter().flat_map(|name| {
        let found = lower.match_indices(name);
        found.map(|(at, name)| (at, at + name.len()))
    });
    let values = names.filter_map(|(at, end)| {
        // The name may go on: `token_v2`, `"secret"`.
        let rest = without(&line[end..], |c| {
            c.is_ascii_alphanumeric() || "_-\"'`".contains(c)
        });
        let value = match rest.trim_start().strip_prefix(['=', ':']) {
            Some(value) => value,
            // `--password VALUE`
            None if is_option(&line[..at]) && line[end..].starts_with(char::is_whitespace) => rest,
            None => return None,
        };
        let value = without(value, |c| "=> \t\"'`".contains(c));
        let end = value
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+/=_-.~".contains(c)))
            .unwrap_or(value.len());
        let value = &value[..end];
        is_random(value).then_some(value)
    });
    values.collect()
}

/// Test for a name that an option of a command has, by what stands before it in its word.
fn is_option(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || "\"'`".contains(c));
    word.take(1).any(|word| word.starts_with("--"))
}

/// A text behind what it begins with, also where JSON wrote a backslash before a quotation mark.
fn without(mut text: &str, is_before: impl Fn(char) -> bool) -> &str {
    loop {
        let bare = text.trim_start_matches('\\');
        let mut quote = ["u0022", "u0027"].iter();
        let quote = quote.find_map(|quote| bare.strip_prefix(quote));
        if let (Some(rest), true) = (quote, bare.len() < text.len()) {
            text = rest;
            continue;
        }
        let is_quote = bare.starts_with(['"', '\'', '`']);
        let from = if is_quote { bare } else { text };
        match from.strip_prefix(&is_before) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

fn is_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    (20..=200).contains(&value.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.to_uppercase().contains("EXAMPLE")
        && !value.contains("//")
        && entropy(value) >= 3.5
}

/// Bits per character.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * log2(share))
        .sum()
}

/// The binary logarithm of a number in (0, 1], bit by bit. `f64::log2` would load the system's library of
/// mathematics at every start of the program, which takes longer than this.
fn log2(number: f64) -> f64 {
    let (mut rest, mut log) = (number, 0.0);
    while rest < 1.0 {
        rest *= 2.0;
        log -= 1.0;
    }
    let mut bit = 0.5;
    for _ in 0..20 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            log += bit;
        }
        bit /= 2.0;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::{SHARED, WINDOW, log2, scan};

    #[test]
    fn files_are_secret_by_their_names_and_examples_of_them_are_not() {
        for path in [
            ".env",
            "app/.env.local",
            "id_rsa",
            "tls/server.KEY",
            "ca.pem",
        ] {
            assert!(super::is_secret_file(path), "{path}");
        }
        for path in [
            ".env.example",
            "id_rsa.pub",
            "src/env.rs",
            "keys.md",
            "monkey",
        ] {
            assert!(!super::is_secret_file(path), "{path}");
        }
    }

    #[test]
    fn logarithms_are_those_of_mathematics() {
        for n in 1..=200 {
            let share = f64::from(n) / 200.0;
            assert!((log2(share) - share.log2()).abs() < 1e-5, "{share}");
        }
    }

    /// Puts a credential together from parts: no whole one stands in this file.
    fn join(parts: &[&str]) -> String {
        parts.concat()
    }

    const RANDOM: &str = "q7Zk2mX9vB4nR8tL1wC6yH3jD5gF0sPaEuKi";

    #[test]
    fn credentials_are_seen() {
        let upper = "Q7ZK2MX9VB4NR8TL";
        for (kind, text) in [
            ("AWS access key", join(&["key AKI", "A", upper, " end"])),
            ("GitHub token", join(&["gh", "p_", RANDOM])),
            (
                "GitHub token",
                join(&["(gith", "ub_pat_", RANDOM, RANDOM, ")"]),
            ),
            ("GitLab token", join(&["glp", "at-", &RANDOM[..20]])),
            (
                "Slack token",
                join(&["xo", "xb-123456789012-", &RANDOM[..12]]),
            ),
            ("Stripe key", join(&["sk_", "live_", &RANDOM[..24]])),
            ("Google API key", join(&["AI", "za", &RANDOM[..35]])),
            ("npm token", join(&["np", "m_", RANDOM])),
            ("PyPI token", join(&["py", "pi-AgEI", RANDOM, RANDOM])),
            (
                "private key",
                join(&["-----BEGIN ", "RSA PRIVATE", " KEY-----"]),
            ),
            (
                "private key",
                join(&["-----BEGIN ", "OPENSSH PRIVATE", " KEY-----"]),
            ),
            (
                "JSON web token",
                join(&[
                    "Bearer ey",
                    "JhbGciOiJIUzI1NiJ9.ey",
                    "JzdWIiOiIxMjM0NTY3ODkwIn0.",
                    RANDOM,
                ]),
            ),
            (
                "password in a URL",
                join(&["https://ada:", "hunter22", "@example.org/x.git"]),
            ),
            (
                "secret that was assigned",
                join(&["client_secret = \"", RANDOM, "\""]),
            ),
            (
                "secret that was assigned",
                join(&["  \"apiKey\": \"", RANDOM, "\","]),
            ),
            ("secret that was assigned", join(&["export TOKEN=", RANDOM])),
        ] {
            let hits = scan(format!("first\n{text}\n").as_bytes());
            assert_eq!(hits.len(), 1, "{text}: {hits:?}");
            assert_eq!((hits[0].kind, hits[0].line), (kind, 2), "{text}");
            assert!(
                !format!("{:?}", hits[0]).contains(RANDOM),
                "a hit shows what it found"
            );
        }
    }

    /// The texts of what is found, sorted.
    fn texts(line: &str) -> Vec<String> {
        let hits = scan(line.as_bytes()).into_iter();
        let mut texts: Vec<String> = hits.map(|hit| hit.secret().to_owned()).collect();
        texts.sort();
        texts
    }

    #[test]
    fn d14_each_credential_of_a_line_is_seen_beside_the_others() {
        let (token, other) = (join(&["gh", "p_", RANDOM]), join(&[RANDOM, "x7"]));
        let both = |line: &str, one: &str, two: &str| {
            let mut expected = [one.to_owned(), two.to_owned()];
            expected.sort();
            assert_eq!(texts(line), expected, "{line}");
        };
        both(
            &format!("{token} client_secret = \"{other}\""),
            &token,
            &other,
        );
        both(
            &format!("client_secret = \"{other}\" {token}"),
            &token,
            &other,
        );
        both(&format!("secret: {RANDOM}, token: {other}"), RANDOM, &other);
        let urls = "test db pg://u:fixture1@localhost/x prod db pg://root:hunter22@prod/x";
        both(urls, "fixture1", "hunter22");
        let web = |body: &str| join(&["ey", "JhbGciOiJIUzI1NiJ9.ey", body, ".", RANDOM]);
        let (one, two) = (web("JzdWIiOiIxMjM0"), web("JzdWIiOiI5ODc2"));
        both(&format!("{one} {two}"), &one, &two);
        let key = |kind: &str| join(&["-----BEGIN ", kind, " PRIVATE", " KEY-----"]);
        let keys = format!("{} x {}", key("RSA"), key("EC"));
        both(&keys, &keys, &key("EC"));
        // A key is told as its whole line, and hides nothing of it (M9).
        let keyed = format!("KEY={} client_secret=\"{RANDOM}\"", key("RSA"));
        both(&keyed, &keyed, RANDOM);
        assert_eq!(texts(&format!("token = {token}")), [token]);
    }

    #[test]
    fn d23_what_json_escapes_hides_no_credential() {
        let token = join(&["gh", "p_", RANDOM]);
        for line in [
            format!(r#"{{"text":"client_secret = \"{RANDOM}\""}}"#),
            format!(r#"{{"text":"{{\"client_secret\": \"{RANDOM}\"}}"}}"#),
            format!(r#"{{"text":"{{\\\"client_secret\\\": \\\"{RANDOM}\\\"}}"}}"#),
            format!(r#"{{"cmd":["sh","-c","TOKEN=\"{RANDOM}\" true"]}}"#),
        ] {
            assert_eq!(texts(&line), [RANDOM], "{line}");
        }
        for text in [
            format!("password:\n  \"{RANDOM}\""),
            format!("run --password {RANDOM} now"),
            format!("run\n--api-key\n{RANDOM}"),
            format!("password=\\u0022{RANDOM}\\u0022"),
        ] {
            assert_eq!(texts(&text), [RANDOM], "{text}");
        }
        assert!(texts(&format!("the password:\nis not {RANDOM}")).is_empty());
        // A file that has the secret is none.
        assert!(texts("run --secret-file config/prod/Rel2024-a8.yaml").is_empty());
        for before in ["x\\n", "x\\t", "x\\r"] {
            assert_eq!(texts(&format!("\"{before}{token}\"")), [token.as_str()]);
        }
        assert!(texts(&format!("xn{token}")).is_empty());
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "AKIA1234",
            "XAKIAQ7ZK2MX9VB4NR8TL",
            "AKIAQ7ZK2MX9VB4NR8TLMORE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_short",
            "npm_config_registry",
            "sk_test_q7Zk2mX9vB4nR8tL1wC6",
            "-----BEGIN PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----",
            "eyJhbGciOiJIUzI1NiJ9",
            "https://ada@example.org/x.git",
            "https://ada:$TOKEN@example.org",
            "https://user:password@example.org",
            "ssh://git@example.org:22/x",
            "token: ${{ secrets.GITHUB_TOKEN }}",
            "password = os.environ['PASSWORD_OF_THE_DATABASE_1']",
            "the token is refreshed when the secret was rotated",
            "secret: aaaaaaaaaaaaaaaaaaaaaaaaa1",
            "token: read-the-manual-of-the-service",
            "Loopx-State: da6097c4419d8c59daf326f144f9979165157361",
            "\"tree\": \"635a1208bb635a1208bb635a1208bb635a1208bb\"",
            "see https://example.org/a:b@c",
        ] {
            let hits = scan(text.as_bytes());
            assert!(hits.is_empty(), "{text}: {hits:?}");
        }
    }

    #[test]
    fn a_line_as_long_as_its_file_is_looked_through() {
        let token = join(&["ghp_", RANDOM]);
        for (before, filler) in [
            (WINDOW - 20, "x "),
            (WINDOW - SHARED - 7, "x "),
            (WINDOW - 20, "x,"),
            (3 * WINDOW + 11, "\",\""),
            (100 * WINDOW, "word "),
        ] {
            let mut text = filler.repeat(before / filler.len());
            text.push_str(&format!(" {token} "));
            text.push_str(&filler.repeat(WINDOW));
            let hits = scan(text.as_bytes());
            let found: Vec<&str> = hits.iter().map(|hit| hit.secret()).collect();
            assert_eq!(found, [token.as_str()], "{before} {filler}");
            assert_eq!(hits[0].line, 1);
        }
        // No text at all is none either.
        let mut bytes: Vec<u8> = (0..=255).cycle().take(3 * WINDOW).collect();
        bytes.extend(format!("\n{token}\n").into_bytes());
        assert!(scan(&bytes).iter().any(|hit| hit.secret() == token));
    }
}
