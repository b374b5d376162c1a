//! Refusals of a push by the other side, read from what git and the forge said. Words and the way
//! on; nothing here runs anything.

use loopx_base::failure::{Code, Failure, Kind};
use loopx_base::hint::{Hint, command, hint};

/// Kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The branch moved, since somebody pushed meanwhile: fetch, merge, push again.
    Moved,
    /// The ref that a fetch writes here is in the hands of another git. Not read from words.
    Held,
    /// A ref stands where the branch has to be: a name cannot be both a file and a folder.
    Blocked,
    Signatures,
    Linear,
    Protected,
    Secrets,
    TooLarge,
    Policy,
    ReadOnly,
    Auth,
    NoAccess,
    Shallow,
    Network,
    Hook,
    Other,
}

/// Words of git and of forges, lower case, the more particular first.
const WORDS: [(Refusal, &[&str]); 14] = [
    (
        Refusal::Secrets,
        &[
            "push cannot contain secrets",
            "push protection",
            "gh009",
            "secret detected",
            "contains secrets",
        ],
    ),
    (
        Refusal::Signatures,
        &[
            "verified signature",
            "must be signed",
            "commit is not signed",
            "unsigned commit",
            "commits must have valid signatures",
        ],
    ),
    (
        Refusal::Linear,
        &[
            "must not contain merge commits",
            "linear history",
            "merge commits are not allowed",
            "contains merge commits",
        ],
    ),
    (
        Refusal::TooLarge,
        &[
            "gh001",
            "large files detected",
            "file size limit",
            "http 413",
            "exceeds maximum allowed size",
            "size limit",
            "too large",
        ],
    ),
    (
        Refusal::ReadOnly,
        &[
            "archived so it is read-only",
            "is read-only",
            "read only",
            "read-only mode",
            "repository is archived",
        ],
    ),
    (
        Refusal::Policy,
        &[
            "commit message does not",
            "does not follow the pattern",
            "is not a member of",
            "email address must",
            "committer email",
            "author's email",
        ],
    ),
    (
        Refusal::Protected,
        &[
            "gh013",
            "gh006",
            "repository rule violations",
            "protected branch",
            "branch is protected",
            "ref updates are restricted",
            "creations being restricted",
            "updates to this branch are restricted",
        ],
    ),
    (
        Refusal::Blocked,
        &["' exists; cannot create '", "git cannot keep a branch `"],
    ),
    (
        Refusal::Moved,
        &[
            "(fetch first)",
            "(non-fast-forward)",
            "(stale info)",
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
            "reference already exists",
            "failed to lock",
            // The hook of a server of ours, which looks before git does.
            "[ref_moved]",
        ],
    ),
    (Refusal::Shallow, &["shallow update not allowed"]),
    (
        Refusal::Auth,
        &[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied (publickey",
            "host key verification failed",
            "invalid username or password",
            "invalid credentials",
            "http basic: access denied",
            "error: 401",
            "too many authentication failures",
        ],
    ),
    (
        Refusal::NoAccess,
        &[
            "repository not found",
            "does not appear to be a git repository",
            "write access to repository not granted",
            "you are not allowed to",
            "could not be found or you don't have permission",
            "access denied",
            "permission to",
            "error: 403",
        ],
    ),
    (
        Refusal::Network,
        &[
            "could not resolve host",
            "could not resolve proxy",
            "could not connect",
            "couldn't connect",
            "failed to connect",
            "unable to connect",
            "connection refused",
            "connection timed out",
            "connection reset",
            "network is unreachable",
            "operation timed out",
            "no route to host",
            "remote end hung up",
            "early eof",
            "sideband demultiplexer",
            "unexpected disconnect",
            "service unavailable",
            "error: 503",
            "error: 502",
            "could not read from remote repository",
        ],
    ),
    (
        Refusal::Hook,
        &["hook declined", "pre-receive hook", "update hook"],
    ),
];

impl Refusal {
    /// Tells whether the other side said no itself: nothing that was pushed stands there, or comes to stand there
    /// later.
    pub fn is_an_answer(self) -> bool {
        !matches!(self, Refusal::Network | Refusal::Other)
    }

    /// Reads both streams of a push or fetch that did not work.
    pub fn read(said: &str) -> Self {
        let said = said.to_lowercase();
        WORDS
            .iter()
            .find(|(_, words)| words.iter().any(|word| said.contains(word)))
            .map_or(Refusal::Other, |(refusal, _)| *refusal)
    }

    fn code(self) -> Code {
        match self {
            Refusal::Moved => Code::RemoteMoved,
            Refusal::Held => Code::TrackingRefLocked,
            Refusal::Blocked => Code::BranchNameBlocked,
            Refusal::Signatures => Code::RemoteWantsSignatures,
            Refusal::Linear => Code::RemoteWantsLinear,
            Refusal::Protected => Code::RemoteProtectsBranch,
            Refusal::Secrets => Code::RemoteFoundSecrets,
            Refusal::TooLarge => Code::RemoteLimitsSize,
            Refusal::Policy => Code::RemotePolicy,
            Refusal::ReadOnly => Code::RemoteReadOnly,
            Refusal::Auth => Code::RemoteAuthentication,
            Refusal::NoAccess => Code::RemoteNoAccess,
            Refusal::Shallow => Code::RemoteShallow,
            Refusal::Network => Code::RemoteUnreachable,
            Refusal::Hook => Code::RemoteHookDeclined,
            Refusal::Other => Code::RemoteRefused,
        }
    }

    /// Words what the refusal means, and what to do.
    fn words(self, remote: &str, branch: &str, said: &str) -> (&'static str, Hint) {
        match self {
            Refusal::Moved => ("the branch there kept moving", command!("sync {remote}")),
            Refusal::Held => (
                "another git is writing what is fetched",
                hint![
                    command!("sync {remote}"),
                    "; if no git is running, this removes the lock file that is named: ",
                    command!("doctor --fix")
                ],
            ),
            Refusal::Blocked => (
                "the name of another ref leaves no place for the branch",
                hint![
                    way_out(remote, branch, said),
                    ", then: ",
                    command!("sync {remote}")
                ],
            ),
            Refusal::Signatures => (
                "it takes signed commits only",
                format!(
                    "ask for an exception for the branch `{branch}`: session commits are not signed; or keep sessions on another remote: git config loopx.remote NAME"
                ).into(),
            ),
            Refusal::Linear => (
                "it takes no merge commits",
                hint![
                    "git config loopx.sync linear, then: ",
                    command!("sync {remote}")
                ],
            ),
            Refusal::Protected => (
                "a rule or protection covers the branch",
                format!(
                    "ask for an exception for the branch `{branch}`, or use a name that no rule covers: git config loopx.branch NAME"
                ).into(),
            ),
            Refusal::Secrets => (
                "it found a credential in what is pushed",
                "withdraw the credential, then take it out of the artifact or log that holds it"
                    .into(),
            ),
            Refusal::TooLarge => (
                "something is larger than it takes",
                hint![
                    command!("list"),
                    "; logs are capped, so look for a large artifact: git ls-tree -r -l loopx"
                ],
            ),
            Refusal::Policy => (
                "a rule on messages or addresses does not hold",
                "git config user.email ADDRESS, or ask for an exception for the session branch"
                    .into(),
            ),
            Refusal::ReadOnly => (
                "the repository there is read-only",
                "git config loopx.remote ANOTHER-REMOTE".into(),
            ),
            Refusal::Auth => (
                "it did not accept who you are",
                format!("git ls-remote {remote}  (sign in with git itself, then try again)").into(),
            ),
            Refusal::NoAccess => (
                "the repository is not there, or is not open to you",
                format!("git remote get-url {remote}").into(),
            ),
            Refusal::Shallow => (
                "it takes nothing from a shallow clone",
                "git fetch --unshallow".into(),
            ),
            Refusal::Network => (
                "it could not be reached",
                hint![
                    format!("git ls-remote {remote}, then: "),
                    command!("sync {remote}")
                ],
            ),
            Refusal::Hook => (
                "a hook there declined it",
                "ask whoever keeps that hook; nothing is lost here".into(),
            ),
            Refusal::Other => ("git refused it", format!("git ls-remote {remote}").into()),
        }
    }

    /// The one message: what was asked, what it means, what the other side said in its own words.
    pub fn failure(self, doing: &str, remote: &str, branch: &str, said: &str) -> Failure {
        let (meaning, help) = self.words(remote, branch, said);
        let words = lines(said);
        let quoted = if words.is_empty() {
            String::new()
        } else {
            format!(" ({})", words.join("; "))
        };
        let kind = match self {
            Refusal::Moved | Refusal::Held | Refusal::Network => Kind::Waiting,
            _ => Kind::Refused,
        };
        let message = format!("{doing}: {meaning}{quoted}");
        Failure::new(kind, self.code(), message).help(help)
    }
}

/// Tells whether a ref leaves no room for another one.
pub fn blocks(name: &str, other: &str) -> bool {
    let below = |name: &str, folder: &str| {
        let rest = name.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    below(name, other) || below(other, name)
}

/// Tells whether a file system without letter case has one file for two refs, or a file of one for a folder of the other.
pub fn is_same_in_any_case(name: &str, other: &str) -> bool {
    // Upper case first: it has one letter for several of lower case.
    let fold = |name: &str| name.to_uppercase().to_lowercase();
    let (name, other) = (fold(name), fold(other));
    name == other || blocks(&name, &other)
}

/// The command that takes away the ref that stands where a branch has to be.
fn way_out(remote: &str, branch: &str, said: &str) -> String {
    let heads = format!("refs/heads/{branch}");
    let mut words = said.split(|sign: char| sign.is_whitespace() || "'`,;:".contains(sign));
    match words.find_map(|word| {
        word.strip_prefix("refs/heads/")
            .filter(|_| blocks(word, &heads))
    }) {
        Some(name) => {
            format!("git push {remote} --delete {name}  (whoever works on it names it otherwise)")
        }
        None => format!("git remote prune {remote}"),
    }
}

/// Lists what the other side said, without git's own frame: its `remote:` lines, the reasons in brackets, and
/// else git's errors.
fn lines(said: &str) -> Vec<String> {
    const MOST: usize = 6;
    let mut remote = Vec::new();
    let mut errors = Vec::new();
    for line in said.split(['\n', '\r']) {
        let line = line.trim();
        if let Some(words) = line.strip_prefix("remote:") {
            let words = words
                .trim()
                .trim_start_matches("error: ")
                .trim_matches(['-', '=', '*', ' ']);
            let is_noise = words.is_empty()
                || [
                    "Enumerating",
                    "Counting",
                    "Compressing",
                    "Total ",
                    "Resolving",
                    "Create a pull request",
                    "To create a merge request",
                ]
                .iter()
                .any(|noise| words.starts_with(noise));
            if !is_noise {
                remote.push(words.to_owned());
            }
        } else if let Some(refused) = line.strip_prefix('!') {
            let reason = refused.rsplit(['\t', '[']).next().unwrap_or(refused);
            errors.push(reason.replace(']', "").trim().to_owned());
        } else if let Some(error) = line
            .strip_prefix("fatal: ")
            .or(line.strip_prefix("error: "))
            && !error.starts_with("failed to push some refs")
        {
            errors.push(error.to_owned());
        }
    }
    remote.extend(errors);
    if remote.is_empty() {
        // Nothing that is known: then as it came.
        let all = said.split(['\n', '\r']).map(str::trim);
        remote.extend(all.filter(|line| !line.is_empty()).map(str::to_owned));
    }
    remote.dedup();
    remote.truncate(MOST);
    remote
}

#[cfg(test)]
mod tests {
    use super::Refusal;

    /// Messages of forges and of git as they really are.
    const SAID: [(Refusal, &str); 23] = [
        (
            Refusal::Moved,
            "!\trefs/heads/loopx:refs/heads/loopx\t[rejected] (fetch first)\nerror: failed to push some refs to 'x'",
        ),
        (
            Refusal::Moved,
            "!\ta:b\t[remote rejected] (cannot lock ref 'refs/heads/loopx': is at 1 but expected 2)",
        ),
        (Refusal::Moved, "!\ta:b\t[rejected] (non-fast-forward)"),
        (
            Refusal::Moved,
            "remote: refused: expected `refs/heads/loopx` at 1, as the push says; found it at 2 [ref_moved]\n!\ta:b\t[remote rejected] (pre-receive hook declined)",
        ),
        (
            Refusal::Blocked,
            "remote: error: cannot lock ref 'refs/heads/loopx': 'refs/heads/loopx/x' exists; cannot create 'refs/heads/loopx'\n!\ta:b\t[remote rejected] (failed to update ref)",
        ),
        (
            Refusal::Protected,
            "remote: error: GH013: Repository rule violations found for refs/heads/loopx.\nremote: - Cannot create ref due to creations being restricted.\n!\ta:b\t[remote rejected] (push declined due to repository rule violations)",
        ),
        (
            Refusal::Protected,
            "remote: error: GH006: Protected branch update failed for refs/heads/loopx.\n!\ta:b\t[remote rejected] (protected branch hook declined)",
        ),
        (
            Refusal::Protected,
            "remote: GitLab: You are not allowed to push code to protected branches on this project.\n!\ta:b\t[remote rejected] (pre-receive hook declined)",
        ),
        (
            Refusal::Signatures,
            "remote: error: GH013: Repository rule violations found for refs/heads/loopx.\nremote: - Commits must have verified signatures.\nremote:   Found 1 violation:",
        ),
        (
            Refusal::Signatures,
            "remote: GitLab: Commit must be signed with a GPG key",
        ),
        (
            Refusal::Linear,
            "remote: error: GH013: Repository rule violations found for refs/heads/loopx.\nremote: - This branch must not contain merge commits.",
        ),
        (
            Refusal::Secrets,
            "remote: error: GH013: Repository rule violations found\nremote: - GITHUB PUSH PROTECTION\nremote:   - Push cannot contain secrets",
        ),
        (
            Refusal::TooLarge,
            "remote: error: GH001: Large files detected. You may want to try Git Large File Storage",
        ),
        (
            Refusal::TooLarge,
            "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413",
        ),
        (
            Refusal::ReadOnly,
            "remote: This repository was archived so it is read-only.\nfatal: unable to access 'x': The requested URL returned error: 403",
        ),
        (
            Refusal::Policy,
            "remote: GitLab: Commit message does not follow the pattern 'JIRA-.*'",
        ),
        (
            Refusal::Auth,
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
        ),
        (
            Refusal::Auth,
            "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
        ),
        (
            Refusal::NoAccess,
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
        ),
        (
            Refusal::Network,
            "fatal: unable to access 'https://x/': Could not resolve host: x",
        ),
        (
            Refusal::Network,
            "fatal: unable to access 'https://127.0.0.1:1/x.git/': Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
        ),
        (
            Refusal::Network,
            "fatal: unable to access 'https://127.0.0.1:1/x.git/': Could not connect to server",
        ),
        (
            Refusal::Hook,
            "remote: not today\n!\ta:b\t[remote rejected] (pre-receive hook declined)",
        ),
    ];

    #[test]
    fn what_forges_say_is_understood() {
        for (refusal, said) in SAID {
            assert_eq!(Refusal::read(said), refusal, "{said}");
        }
        assert_eq!(Refusal::read("fatal: something new"), Refusal::Other);
    }

    #[test]
    fn their_words_are_passed_on_without_the_frame() {
        let mut all = SAID.iter().map(|(_, said)| *said);
        let said = all.find(|said| said.contains("GH013: Repository rule"));
        let said = said.expect("words of a forge");
        let failure = Refusal::read(said).failure("push loopx to origin", "origin", "loopx", said);
        assert_eq!(
            failure.message,
            "push loopx to origin: a rule or protection covers the branch (GH013: Repository rule violations found for refs/heads/loopx.; \
             Cannot create ref due to creations being restricted.; remote rejected (push declined due to repository rule violations))"
        );
        assert!(
            failure
                .help
                .is_some_and(|help| help.to_string().contains("loopx.branch"))
        );
    }
}
