//! The verdict on a signature. It holds where it is about this operation in this place, its key is one of the signers',
//! for this person, use and time, and nobody revoked it.

use super::super::files;
use super::place;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, Person};
use loopx_git::signing::{Good, Signers, can_check};
use loopx_git::{CommitInfo, Mailmap, Repo};
use loopx_rules::op::Operation;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::signature::{Checked, Flaw, NAMESPACE, Place, Signed, Signer, Statement, touched};
use loopx_store::SignatureFiles;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// The namespace of git's own signatures.
const COMMITS: &str = "git";
const ARMOUR: &str = "-----BEGIN SSH SIGNATURE-----";
const UNCHECKED: &str = "ssh-keygen, which checks signatures, is not in PATH";

/// A signature, over what, and whose it claims to be.
struct Made<'a> {
    by: &'a Person,
    /// RFC 3339.
    at: &'a str,
    namespace: &'a str,
    payload: &'a [u8],
    armour: &'a str,
}

/// The largest file of signers that is read for show.
const MAX_SIGNERS: u64 = 1024 * 1024;

/// Judges signatures by what a policy trusts. Each is checked once, whoever asks.
pub(crate) struct Judge {
    signers: Vec<u8>,
    revoked: Vec<u8>,
    label: String,
    /// Set when the signers say when a key is valid.
    dated: bool,
    listed: bool,
    mailmap: Option<Mailmap>,
    now: String,
    opened: OnceCell<Signers>,
    places: RefCell<HashMap<Option<Oid>, Place>>,
    known: RefCell<HashMap<Oid, Checked>>,
}

impl Judge {
    pub(crate) fn new(policy: &Policy) -> Result<Self> {
        let trust = &policy.trust;
        let signers = trust.signers.clone().unwrap_or_default();
        let text = String::from_utf8_lossy(&signers);
        let dated = ["valid-", "cert-authority"]
            .iter()
            .any(|option| text.contains(option));
        Ok(Judge {
            dated,
            listed: trust.signers.is_some(),
            signers,
            revoked: trust.revoked.clone().unwrap_or_default(),
            label: policy.approve.signers.clone(),
            mailmap: trust.mailmap.as_deref().map(Mailmap::parse).transpose()?,
            now: moment(loopx_base::env::now()),
            opened: OnceCell::new(),
            places: RefCell::new(HashMap::new()),
            known: RefCell::new(HashMap::new()),
        })
    }

    /// The other name that the trusted mailmap gives somebody.
    pub(crate) fn canonical(&self, who: &Person) -> Result<Person> {
        match &self.mailmap {
            Some(mailmap) => mailmap.canonical(who),
            None => Ok(who.clone()),
        }
    }

    /// Checks the signature files beside an operation, and gives the best result; `None` where there is no file. `bases`
    /// are the commits that the session started from so far.
    pub(crate) fn check(
        &self,
        repo: &Repo,
        session: (&State, &[Option<Oid>]),
        op: &Operation,
        files: &SignatureFiles,
    ) -> Result<Option<Checked>> {
        let mut best: Option<Checked> = None;
        for file in files.get(&op.file_name()).into_iter().flatten() {
            let checked = self.check_file(repo, session, op, file.bytes.as_deref())?;
            let better = match best {
                Some(best) => best.better(checked),
                None => checked,
            };
            // A policy may ask for a touch: a signature without one says less than one with it.
            let is_best = better.is_best();
            best = Some(better);
            if is_best {
                break;
            }
        }
        Ok(best)
    }

    /// Checks one signature file; `None` is a file that is too large.
    pub(super) fn check_file(
        &self,
        repo: &Repo,
        (state, bases): (&State, &[Option<Oid>]),
        op: &Operation,
        bytes: Option<&[u8]>,
    ) -> Result<Checked> {
        let Some(bytes) = bytes else {
            return Ok(Checked::flawed(
                Flaw::Broken,
                "the file is larger than any signature",
            ));
        };
        let broken = |why: String| Ok(Checked::flawed(Flaw::Broken, why));
        let path = format!("{}.sig", op.file_name());
        let read =
            Signed::parse(bytes, &path).and_then(|signed| Ok((signed, signed.statement(&path)?)));
        let (signed, statement) = match read {
            Ok(read) => read,
            Err(failure) => return broken(failure.message),
        };
        let mut under = state.clone();
        if bases.contains(&statement.base) {
            under.base.clone_from(&statement.base);
        }
        if let Some(base) = &under.base
            && under.base != state.base
            && !repo.contains(base)?
        {
            let why = format!(
                "the signature was made for a session at commit {}, which is not here",
                base.short()
            );
            return Ok(Checked::flawed(Flaw::Unchecked, why));
        }
        let state = &under;
        let mut place = self.place(repo, state)?;
        if repo.is_shallow() {
            // The root is cut off here; the base, which is compared too, has it in its history.
            place.repository.clone_from(&statement.repository);
        }
        let Some(expected) = Statement::of(state, &place, op) else {
            return broken(format!("`{}` is an operation that nobody signs", op.word()));
        };
        if let Some(why) = statement.differs(&expected) {
            return broken(why);
        }
        if !can_check() {
            return Ok(Checked::flawed(Flaw::Unchecked, UNCHECKED));
        }
        // The bytes are those of this operation in this place: nothing else decides.
        let key = repo.hash_blob(bytes)?;
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let placed = state.base.is_some();
        let made = Made {
            by: &op.by,
            at: &op.at,
            namespace: NAMESPACE,
            payload: signed.payload,
            armour: signed.armour,
        };
        let checked = self.verify(repo, &made, placed)?;
        self.known.borrow_mut().insert(key, checked.clone());
        Ok(checked)
    }

    /// Checks the signature that git has put into a commit: it has to be its committer's. `None` where there
    /// is none.
    pub(crate) fn check_commit(&self, repo: &Repo, commit: &CommitInfo) -> Result<Option<Checked>> {
        let Some((signature, payload)) = repo.commit_signature(&commit.id)? else {
            return Ok(None);
        };
        let armour = String::from_utf8_lossy(&signature);
        if !armour.starts_with(ARMOUR) {
            let why = "the signature is not an SSH signature, and the signers' file has SSH keys";
            return Ok(Some(Checked::flawed(Flaw::Unchecked, why)));
        }
        if !can_check() {
            return Ok(Some(Checked::flawed(Flaw::Unchecked, UNCHECKED)));
        }
        let made = Made {
            by: &commit.committer,
            at: &commit.at,
            namespace: COMMITS,
            payload: &payload,
            armour: &armour,
        };
        self.verify(repo, &made, true).map(Some)
    }

    fn verify(&self, repo: &Repo, made: &Made<'_>, placed: bool) -> Result<Checked> {
        let signers = self.signers()?;
        let whole = |principals: Vec<String>, good: Good| Signer {
            touched: good.kind.ends_with("-SK") && touched(made.armour),
            key: good.key,
            kind: good.kind,
            principals,
        };
        let not_listed = |why: String, principals: Vec<String>| -> Result<Checked> {
            // A signature over something else is worse than one by a stranger.
            match signers.integrity(made.namespace, made.payload, made.armour)? {
                Err(broken) => Ok(Checked::flawed(Flaw::Broken, broken)),
                Ok(good) => Ok(Checked {
                    signer: Some(whole(principals, good)),
                    flaw: Some(Flaw::NotListed),
                    why: Some(why),
                }),
            }
        };
        if !self.listed {
            let why = format!("the base has no file {}", self.label);
            return match self.known_here(repo, made.armour)? {
                Some(names) => {
                    let why = format!("{why}; your gpg.ssh.allowedSignersFile has it for {names}");
                    not_listed(why, Vec::new())
                }
                None => not_listed(why, Vec::new()),
            };
        }
        if !placed {
            let why = "the session began before the first commit, so it names no repository";
            return not_listed(why.to_owned(), Vec::new());
        }
        let principals = match signers.principals(made.armour, &self.now)? {
            Ok(principals) => principals,
            Err(why) => return not_listed(why, Vec::new()),
        };
        let Some(who) = self.identity(made.by, &principals)? else {
            let why = format!(
                "the signature was made by {}, not by {}",
                principals.join(", "),
                made.by
            );
            return not_listed(why, principals);
        };
        let claimed = claimed(made.at).filter(|_| self.dated);
        let mut moments = vec![self.now.clone()];
        moments.extend(claimed);
        let mut good = None;
        for at in moments {
            match signers.verify(&who, made.namespace, made.payload, made.armour, &at)? {
                Ok(found) => good = Some(found),
                Err(why) => return not_listed(why, principals),
            }
        }
        match good {
            Some(good) => Ok(Checked::good(whole(principals, good))),
            None => not_listed("nothing was checked".to_owned(), principals),
        }
    }

    /// Name that git's own file of signers gives: something to show, and nothing to rely on.
    fn known_here(&self, repo: &Repo, armour: &str) -> Result<Option<String>> {
        let bytes = match repo.config_path("gpg.ssh.allowedSignersFile") {
            Some(path) => files::read(&path, MAX_SIGNERS).ok().flatten(),
            None => None,
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let signers = Signers::new(&bytes, &[], "gpg.ssh.allowedSignersFile")?;
        let names = signers.principals(armour, &self.now)?;
        Ok(names.ok().map(|names| names.join(", ")))
    }

    /// The address under which a key may stand for somebody: one that the key is listed for.
    fn identity(&self, by: &Person, principals: &[String]) -> Result<Option<String>> {
        let names = [by.email.clone(), self.canonical(by)?.email];
        for name in names.iter().filter(|name| !name.trim().is_empty()) {
            for principal in principals {
                if principal.eq_ignore_ascii_case(name) {
                    return Ok(Some(principal.clone()));
                }
                if principal.contains(['*', '?']) && covers(principal, name) {
                    return Ok(Some(name.clone()));
                }
            }
        }
        Ok(None)
    }

    fn place(&self, repo: &Repo, state: &State) -> Result<Place> {
        if let Some(place) = self.places.borrow().get(&state.base) {
            return Ok(place.clone());
        }
        let place = place(repo, state.base.as_ref())?;
        self.places
            .borrow_mut()
            .insert(state.base.clone(), place.clone());
        Ok(place)
    }

    fn signers(&self) -> Result<&Signers> {
        if let Some(signers) = self.opened.get() {
            return Ok(signers);
        }
        let signers = Signers::new(&self.signers, &self.revoked, &self.label)?;
        Ok(self.opened.get_or_init(|| signers))
    }
}

/// Tells whether a pattern of OpenSSH, `*` and `?`, matches a name.
fn covers(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The time that an operation claims, as ssh-keygen reads it.
fn claimed(at: &str) -> Option<String> {
    let format = &time::format_description::well_known::Rfc3339;
    let time = time::OffsetDateTime::parse(at, format).ok()?;
    Some(moment(time.unix_timestamp()))
}

/// Seconds since 1970 as `YYYYMMDDhhmmss` in UTC.
pub(crate) fn moment(seconds: i64) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp(seconds)
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

#[cfg(test)]
mod tests {
    use super::{claimed, covers, moment};

    #[test]
    fn times_are_written_as_ssh_keygen_reads_them() {
        assert_eq!(moment(1_767_225_600), "20260101000000");
        assert_eq!(
            claimed("2026-01-01T01:30:05+01:00").as_deref(),
            Some("20260101003005")
        );
        assert_eq!(claimed("yesterday"), None);
    }

    #[test]
    fn principals_match_as_in_openssh() {
        for (pattern, name, matches) in [
            ("*@example.org", "ada@example.org", true),
            ("*@example.org", "ada@example.org.evil", false),
            ("a?a@*", "ada@example.org", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
        ] {
            assert_eq!(covers(pattern, name), matches, "{pattern} {name}");
        }
    }
}
