//! A signed operation: the statement that a person's key vouches for, and how far it holds.
//!
//! What is signed is the whole operation with the context that gives it its meaning: repository,
//! session, branch, base and policy. So a signature proves nothing on another branch, in another
//! session or repository, or over other content. The bytes are kept in front of the armour, as git
//! keeps them in a signed tag: nothing has to be written the same way twice to be checked.

use super::op::{Body, Event, Operation, parse_json, to_json};
use super::session::State;
use super::words::Word;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The namespace of our signatures: one made for git, or for a file, is none of ours.
pub const NAMESPACE: &str = "loopx-approval";
/// Value of the first field of every statement.
pub const STATEMENT: &str = "git-loopx approval";
pub const VERSION: u32 = 1;
/// Ending of a signature's name behind the operation's.
pub const SUFFIX: &str = ".sig";
/// The largest file that is believed to be a signature: a review with many findings fits.
pub const MAX_BYTES: u64 = 256 * 1024;

/// Ending of the name of a record's file.
const ENDING: &str = ".json";
const ARMOUR: &str = "-----BEGIN SSH SIGNATURE-----";

/// Name of the record that a signature's file stands beside: `RECORD.sig`, or `RECORD.DIGEST.sig` where another signature
/// has that name. Nothing for the name of anything else.
pub fn record_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(SUFFIX)?;
    if stem.ends_with(ENDING) {
        return Some(stem);
    }
    let (record, digest) = stem.rsplit_once('.')?;
    let is_digest = Oid::parse(digest).is_ok();
    (is_digest && record.ends_with(ENDING)).then_some(record)
}

/// Names for the signatures of one record, which are the same in all clones: the smallest has the record's name.
pub fn names(record: &str, blobs: &BTreeSet<Oid>) -> BTreeMap<String, Oid> {
    let name = |(at, blob): (usize, &Oid)| match at {
        0 => format!("{record}{SUFFIX}"),
        _ => format!("{record}.{blob}{SUFFIX}"),
    };
    let blobs = blobs.iter().enumerate();
    blobs.map(|one| (name(one), one.1.clone())).collect()
}

/// Result of reading a signature file beside an operation, without a look at its armour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A statement over the operation: the armour says whether somebody signed it.
    Over(Signed<'a>),
    /// A file or an operation that only a newer program understands.
    Newer,
    /// A file that is no signature over the operation, with the reason.
    Fault(String),
}

impl<'a> Read<'a> {
    /// Reads a file; nothing in its place is a file that is too large.
    pub fn of(op: &Operation, bytes: Option<&'a [u8]>) -> Self {
        let Some(bytes) = bytes else {
            return Read::Fault("the file is larger than any signature".to_owned());
        };
        let path = format!("{}{SUFFIX}", op.file_name());
        let read =
            Signed::parse(bytes, &path).and_then(|signed| Ok((signed, signed.statement(&path)?)));
        match read {
            Err(failure) if failure.code == Code::FormatNewer => Read::Newer,
            Err(failure) => Read::Fault(failure.message),
            Ok(_) if matches!(op.body, Body::Unknown(_)) => Read::Newer,
            Ok((signed, statement)) => match statement.differs_over(op) {
                Some(why) => Read::Fault(why),
                None => Read::Over(signed),
            },
        }
    }
}

/// Statement that a key vouches for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    pub statement: String,
    pub version: u32,
    /// The first commit of the base's history: two repositories that have nothing in common differ in it.
    pub repository: Option<Oid>,
    pub session: SessionId,
    pub uid: String,
    /// The branch that the session was bound to.
    pub target: Option<String>,
    /// The commit that the session started from.
    pub base: Option<Oid>,
    /// `loopx.toml` there.
    pub policy: Option<Oid>,
    /// `approver`, `reviewer`, ...: see [`role`].
    pub role: String,
    /// Operation that is signed: transition or verdict, content, code, who, when, why; its random id is the nonce.
    #[serde(serialize_with = "Operation::signed")]
    pub operation: Operation,
}

/// Place where an operation was signed, or should have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub repository: Option<Oid>,
    pub policy: Option<Oid>,
}

impl Statement {
    /// The statement about an operation of a session; `None` for one that is nobody's word.
    pub fn of(state: &State, place: &Place, operation: &Operation) -> Option<Self> {
        Some(Statement {
            statement: STATEMENT.to_owned(),
            version: VERSION,
            repository: place.repository.clone(),
            session: state.id.clone(),
            uid: state.uid.clone(),
            target: state
                .branch
                .as_ref()
                .map(|branch| format!("refs/heads/{branch}")),
            base: state.base.clone(),
            policy: place.policy.clone(),
            role: role(operation)?.to_owned(),
            operation: operation.clone(),
        })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        to_json(self)
    }

    /// The first field in which this is not what it should be, in words.
    pub fn differs(&self, expected: &Statement) -> Option<String> {
        // A session whose name was taken elsewhere got another one by a merge; its uid stays.
        let mut expected = expected.clone();
        if self.uid == expected.uid && self.session.beside(&self.uid) == expected.session {
            expected.session.clone_from(&self.session);
        }
        let name = |oid: &Option<Oid>| match oid {
            Some(oid) => oid.short().to_owned(),
            None => "nothing".to_owned(),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "no branch".to_owned());
        let fields: [(&str, String, String); 9] = [
            (
                "kind of statement",
                format!("{} {}", self.statement, self.version),
                format!("{} {}", expected.statement, expected.version),
            ),
            (
                "repository",
                name(&self.repository),
                name(&expected.repository),
            ),
            (
                "session",
                self.session.to_string(),
                expected.session.to_string(),
            ),
            ("session uid", self.uid.clone(), expected.uid.clone()),
            ("branch", text(&self.target), text(&expected.target)),
            ("base", name(&self.base), name(&expected.base)),
            ("policy", name(&self.policy), name(&expected.policy)),
            ("role", self.role.clone(), expected.role.clone()),
            (
                "operation",
                self.operation.op.to_string(),
                expected.operation.op.to_string(),
            ),
        ];
        for (field, signed, here) in fields {
            if signed != here {
                return Some(format!(
                    "the signature is about another {field}: {signed}, not {here}"
                ));
            }
        }
        (*self != expected).then(|| "the operation was changed since it was signed".to_owned())
    }
}

impl Statement {
    /// Reason why this is not about an operation, wherever it is judged.
    pub fn differs_over(&self, op: &Operation) -> Option<String> {
        let is_kind = self.statement == STATEMENT && self.version == VERSION;
        if !is_kind {
            return Some("the signature is for another kind of statement".to_owned());
        }
        if self.operation.op != op.op {
            return Some(format!(
                "the signature is about another operation: {}, not {}",
                self.operation.op, op.op
            ));
        }
        let uid = op.entity.as_deref().or(op.started_uid());
        if uid.is_some_and(|uid| uid != self.uid) {
            return Some("the signature is about another session uid".to_owned());
        }
        (self.operation != *op).then(|| "the operation was changed since it was signed".to_owned())
    }
}

/// The commits that a session started from, one after the other: whoever signed before a rebase signed under the base
/// of that time.
pub fn bases(state: &State, operations: &[Operation]) -> Vec<Option<Oid>> {
    let mut found = vec![state.base.clone()];
    for op in operations {
        let base = match op.event() {
            Some(Event::Started { base, .. }) => base.clone(),
            Some(Event::Rebased { base }) => Some(base.clone()),
            _ => continue,
        };
        if !found.contains(&base) {
            found.push(base);
        }
    }
    found
}

/// Role in which an operation is somebody's word; `None` where it is not.
pub fn role(operation: &Operation) -> Option<&'static str> {
    Some(match &operation.body {
        Body::Log(Word::Undone { .. } | Word::Redone { .. } | Word::Resolved { .. }) => "editor",
        Body::Session(step) => match &step.event {
            Event::Approved { .. } => "approver",
            Event::Reviewed { .. } => "reviewer",
            Event::Ran { .. } => "runner",
            Event::Waived { .. } => "waiver",
            Event::Extended { .. } => "extender",
            Event::Answered { .. } => "answerer",
            Event::Entered { .. }
            | Event::LaneReported { .. }
            | Event::Delegated { .. }
            | Event::Audited { .. } => "builder",
            _ => return None,
        },
        _ => return None,
    })
}

/// A signature file, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The statement, byte for byte as it was signed.
    pub payload: &'a [u8],
    pub armour: &'a str,
}

impl<'a> Signed<'a> {
    /// Reads `statement, armour`. `path` names the file in errors.
    pub fn parse(bytes: &'a [u8], path: &str) -> Result<Self> {
        let damaged = || {
            Failure::internal(
                Code::SignatureDamaged,
                format!("{path}: expected a statement and an SSH signature below it"),
            )
            .help(command!("fsck --repair"))
        };
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        let at = text.find(ARMOUR).ok_or_else(damaged)?;
        if at == 0 || !text[..at].ends_with('\n') {
            return Err(damaged());
        }
        Ok(Signed {
            payload: &bytes[..at],
            armour: &text[at..],
        })
    }

    pub fn statement(&self, path: &str) -> Result<Statement> {
        parse_json(self.payload, path)
    }

    /// Tells whether two files have one signature, however its armour is written: spaces and lines say nothing.
    pub fn is_respelled(&self, other: &Signed<'_>) -> bool {
        let one = decoded(self.armour);
        self.payload == other.payload && one.is_some() && one == decoded(other.armour)
    }
}

/// The bytes of a signature file.
pub fn file(payload: &[u8], armour: &str) -> Vec<u8> {
    let mut bytes = payload.to_vec();
    bytes.extend(armour.trim_end().as_bytes());
    bytes.push(b'\n');
    bytes
}

/// The key of a signature, and whom it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    /// `SHA256:...`
    pub key: String,
    /// `ED25519`, `ED25519-SK`, ...
    pub kind: String,
    /// A security key says that somebody touched it.
    pub touched: bool,
    /// People whom the signers' file names with this key.
    pub principals: Vec<String>,
}

/// Reason why a signature does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// The key is not one of the signers', or not for this person, use or time.
    NotListed,
    /// The signature is none over this operation in this place.
    Broken,
    /// No program here can check the signature.
    Unchecked,
}

/// Result of the check of one signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// `None` where the signature itself is broken or nothing could check it.
    pub signer: Option<Signer>,
    /// `None`: it holds.
    pub flaw: Option<Flaw>,
    /// The flaw in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Checked {
    pub fn good(signer: Signer) -> Self {
        Checked {
            signer: Some(signer),
            flaw: None,
            why: None,
        }
    }

    pub fn flawed(flaw: Flaw, why: impl Into<String>) -> Self {
        Checked {
            signer: None,
            flaw: Some(flaw),
            why: Some(why.into()),
        }
    }

    pub fn holds(&self) -> bool {
        self.flaw.is_none()
    }

    /// Tells whether no other signature of the record can be better.
    pub fn is_best(&self) -> bool {
        self.holds() && self.is_touched()
    }

    fn is_touched(&self) -> bool {
        self.signer.as_ref().is_some_and(|signer| signer.touched)
    }

    /// The better of two results, where one record has two signatures: whoever adds one takes nothing from the other. A
    /// touched one stands for more.
    #[must_use]
    pub fn better(self, other: Checked) -> Checked {
        let rank = |checked: &Checked| {
            let flaw = match checked.flaw {
                None => 0,
                Some(Flaw::NotListed) => 1,
                Some(Flaw::Unchecked) => 2,
                Some(Flaw::Broken) => 3,
            };
            (flaw, !checked.is_touched())
        };
        if rank(&other) < rank(&self) {
            other
        } else {
            self
        }
    }

    /// Result in a few words: `signed, ED25519 SHA256:...`.
    pub fn words(&self) -> String {
        let key = self.signer.as_ref().map(|signer| {
            let touch = if signer.touched { ", touched" } else { "" };
            format!("{} {}{touch}", signer.kind, signer.key)
        });
        match (self.flaw, key) {
            (None, Some(key)) => format!("signed, {key}"),
            (None, None) => "signed".to_owned(),
            (Some(Flaw::Broken), _) => format!("bad signature: {}", self.reason()),
            (Some(Flaw::NotListed), Some(key)) => {
                format!(
                    "signed by a key that is not trusted, {key}: {}",
                    self.reason()
                )
            }
            (Some(_), _) => format!("signature not checked: {}", self.reason()),
        }
    }

    /// Reason why the signature does not hold.
    pub fn reason(&self) -> &str {
        self.why
            .as_deref()
            .unwrap_or("the signature could not be checked")
    }
}

/// Basis on which it is known who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Key that the signers' file has for the person.
    Signed,
    /// Name that the person gave: anybody can give any.
    Claimed,
}

impl Basis {
    pub fn of(checked: Option<&Checked>) -> Self {
        if checked.is_some_and(Checked::holds) {
            Basis::Signed
        } else {
            Basis::Claimed
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Basis::Signed => "signed",
            Basis::Claimed => "name not proven",
        }
    }

    /// A name, and behind it that it is only one.
    pub fn named(self, name: &str) -> String {
        match self {
            Basis::Signed => name.to_owned(),
            Basis::Claimed => format!("{name} (name not proven)"),
        }
    }
}

/// Results of the checks of a session's signatures, by operation. An operation that is missing is not signed.
pub type Signatures = BTreeMap<OpId, Checked>;

/// Tells whether an armoured signature was made by a security key that somebody touched: the first bit of its
/// flags (PROTOCOL.u2f). `false` for every other key, and for what is no signature.
pub fn touched(armour: &str) -> bool {
    sk_flags(armour).is_some_and(|flags| flags & 1 != 0)
}

/// PROTOCOL.sshsig: magic, version, key, namespace, reserved, hash, signature; that of a security key
/// ends in flags and a counter.
fn sk_flags(armour: &str) -> Option<u8> {
    let bytes = decoded(armour)?;
    let mut rest = bytes.strip_prefix(b"SSHSIG")?.get(4..)?;
    for _ in 0..4 {
        rest = string(rest)?.1;
    }
    let (mut signature, _) = string(rest)?;
    let (kind, left) = string(signature)?;
    if !kind.starts_with(b"sk-") {
        return None;
    }
    signature = string(left)?.1;
    match signature {
        [flags, _, _, _, _] => Some(*flags),
        _ => None,
    }
}

/// The bytes that an armour has.
fn decoded(armour: &str) -> Option<Vec<u8>> {
    let lines = armour.lines().map(str::trim);
    let body = lines.filter(|line| !line.starts_with("-----"));
    let body: String = body.flat_map(str::split_whitespace).collect();
    base64(&body)
}

/// A string of the SSH wire format, and what follows it.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    (length <= rest.len()).then(|| rest.split_at(length))
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Checked, Flaw, Signed, Signer, base64, file, names, record_of, touched};
    use loopx_base::failure::Code;
    use loopx_base::id::Oid;
    use std::collections::BTreeSet;

    fn armour(kind: &str, flags: Option<u8>) -> String {
        fn put(out: &mut Vec<u8>, bytes: &[u8]) {
            out.extend(u32::try_from(bytes.len()).expect("short").to_be_bytes());
            out.extend(bytes);
        }
        let mut signature = Vec::new();
        put(&mut signature, kind.as_bytes());
        put(&mut signature, &[7; 64]);
        if let Some(flags) = flags {
            signature.push(flags);
            signature.extend([0, 0, 0, 9]);
        }
        let mut all = b"SSHSIG\0\0\0\x01".to_vec();
        put(&mut all, b"a key");
        put(&mut all, b"loopx-approval");
        put(&mut all, b"");
        put(&mut all, b"sha512");
        put(&mut all, &signature);
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in all.chunks(3) {
            let word = chunk
                .iter()
                .chain(&[0, 0])
                .take(3)
                .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
            for at in 0..=chunk.len() {
                let digit = word >> (18 - 6 * at) & 63;
                text.push(char::from(digits[digit as usize]));
            }
        }
        format!("-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n")
    }

    #[test]
    fn w12_of_two_signatures_that_hold_the_touched_one_counts() {
        let by = |kind: &str, touched| {
            Checked::good(Signer {
                key: "SHA256:x".to_owned(),
                kind: kind.to_owned(),
                touched,
                principals: Vec::new(),
            })
        };
        let (plain, touch) = (by("ED25519", false), by("ED25519-SK", true));
        assert_eq!(plain.clone().better(touch.clone()), touch);
        assert_eq!(touch.clone().better(plain.clone()), touch);
        assert!(touch.is_best() && !plain.is_best());
        // A flaw is worse than any touch is good.
        let mut broken = touch;
        broken.flaw = Some(Flaw::Broken);
        assert_eq!(broken.better(plain.clone()), plain);
    }

    #[test]
    fn only_a_security_key_that_was_touched_shows_a_hand() {
        let sk = "sk-ssh-ed25519@openssh.com";
        assert!(touched(&armour(sk, Some(1))));
        assert!(touched(&armour(sk, Some(5))));
        assert!(!touched(&armour(sk, Some(0))));
        assert!(!touched(&armour(sk, Some(4))));
        assert!(!touched(&armour(sk, None)));
        assert!(!touched(&armour("ssh-ed25519", Some(1))));
        assert!(!touched(&armour("ssh-ed25519", None)));
        for text in ["", "U1NIU0lH", "-----BEGIN SSH SIGNATURE-----\n*\n"] {
            assert!(!touched(text), "{text}");
        }
    }

    #[test]
    fn r9_each_signature_of_a_record_has_a_name() {
        let [one, two] = ["1", "2"].map(|digit| Oid::parse(&digit.repeat(40)).expect("an id"));
        let blobs = BTreeSet::from([two.clone(), one.clone()]);
        let found = names("3-x.json", &blobs);
        let other = format!("3-x.json.{two}.sig");
        assert_eq!(found["3-x.json.sig"], one);
        assert_eq!(found[&other], two);
        for name in ["3-x.json.sig", &other] {
            assert_eq!(record_of(name), Some("3-x.json"));
        }
        for name in ["3-x.json", "3-x.sig", "3-x.json.sig.sig", "3-x.json.x.sig"] {
            assert_eq!(record_of(name), None, "{name}");
        }
    }

    #[test]
    fn r9_of_two_signatures_the_better_counts() {
        let [unlisted, broken] =
            [Flaw::NotListed, Flaw::Broken].map(|flaw| Checked::flawed(flaw, ""));
        for (one, other) in [(&unlisted, &broken), (&broken, &unlisted)] {
            assert_eq!(one.clone().better(other.clone()), unlisted);
        }
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9vYmE=", "fooba"),
        ] {
            assert_eq!(base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64("Z*=="), None);
    }

    #[test]
    fn a_signature_file_is_its_statement_and_its_armour() {
        let armour = armour("ssh-ed25519", None);
        let bytes = file(b"{}\n", &armour);
        let signed = Signed::parse(&bytes, "x").expect("a signature");
        assert_eq!(signed.payload, b"{}\n");
        assert_eq!(signed.armour, armour);
        for broken in [
            &b"{}\n"[..],
            b"",
            armour.as_bytes(),
            b"\xff",
            b"{} -----BEGIN SSH SIGNATURE-----",
        ] {
            let failure = Signed::parse(broken, "x").expect_err("no signature");
            assert_eq!(failure.code, Code::SignatureDamaged);
        }
    }
}
