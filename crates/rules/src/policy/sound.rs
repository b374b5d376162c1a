//! Values of a policy that was read: each means something, or the file is refused with the key and the line.

use super::Policy;
use super::fault::Fault;
use loopx_base::failure::Result;
use loopx_base::globs::Globs;
use loopx_base::tree_name;

impl Policy {
    /// Every value means something.
    pub(super) fn check(&self) -> Result<(), Fault> {
        paths_of(
            "gates.always_allow",
            &self.gates.always_allow,
            Globs::of_files,
        )?;
        self.check_protected()?;
        patterns_of("approve.deny", &self.approve.deny, Globs::in_any_case)?;
        for (name, path) in [
            ("paths.specs", &self.paths.specs),
            ("paths.adr", &self.paths.adr),
            ("paths.pipelines", &self.paths.pipelines),
            ("paths.prompts", &self.paths.prompts),
            ("paths.templates", &self.paths.templates),
            ("paths.rules", &self.paths.rules),
            ("approve.signers", &self.approve.signers),
            ("approve.revoked", &self.approve.revoked),
            ("changelog.fragments", &self.changelog.fragments),
        ] {
            let off = name == "changelog.fragments" && path.is_empty();
            if !off && (!is_inside(path) || is_working_copy(path)) {
                return Err(Fault::new(
                    name,
                    format!(
                        "expected a path inside the repository and outside `.loopx`, found `{path}`"
                    ),
                ));
            }
        }
        self.check_rules()?;
        self.check_backlog()?;
        self.check_roles()?;
        self.check_profiles()?;
        self.check_checks()?;
        self.check_landing()
    }

    /// The name of a category is part of the name of a file.
    fn check_rules(&self) -> Result<(), Fault> {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = |name: &&String| {
            (1..=40).contains(&name.len())
                && name.chars().all(is_part)
                && name.starts_with(|c: char| c.is_ascii_lowercase())
        };
        match self.rules.categories.iter().find(|name| !is_name(name)) {
            None => Ok(()),
            Some(name) => Err(Fault::new(
                "rules.categories",
                format!(
                    "expected a name of small letters, digits and `-`, at most 40, found `{name}`"
                ),
            )),
        }
    }

    /// The prefix is a part of each id, and a limit is one of a label or a person.
    fn check_backlog(&self) -> Result<(), Fault> {
        let prefix = &self.backlog.prefix;
        if !crate::issue::IssueId::is_prefix(prefix) {
            return Err(Fault::new(
                "backlog.prefix",
                format!(
                    "expected a small letter and up to 9 small letters and digits, found `{prefix}`"
                ),
            ));
        }
        let is_limited = |of: &&String| match of.strip_prefix(crate::issue::hands::PERSON) {
            Some(address) => !address.trim().is_empty(),
            None => crate::issue::limits::is_label(of),
        };
        match self.backlog.limits.keys().find(|of| !is_limited(of)) {
            None => Ok(()),
            Some(of) => Err(Fault::new(
                "backlog.limits",
                format!("expected a label, or the address of a person behind `@`, found `{of}`"),
            )),
        }
    }

    /// Every pattern of protected branches is one that a branch can have.
    fn check_protected(&self) -> Result<(), Fault> {
        let is_branch = |pattern: &String| {
            let is_glob = !pattern.contains('*') || globset::Glob::new(pattern).is_ok();
            let starts = ["refs/", "!"];
            is_glob
                && odd(pattern).is_none()
                && !starts.iter().any(|one| pattern.starts_with(one))
                && !pattern.starts_with('/')
        };
        let mut all = self.gates.protected.iter();
        match all.find(|pattern| !is_branch(pattern)) {
            None => Ok(()),
            Some(found) => Err(Fault::new(
                "gates.protected",
                format!(
                    "expected the name of a branch like `main` or `release/*`, found `{found}`, which no branch has"
                ),
            )),
        }
    }

    /// Every role that may approve is one that somebody can have.
    fn check_roles(&self) -> Result<(), Fault> {
        for (role, patterns) in &self.approve.roles {
            patterns_of(&format!("approve.roles.{role}"), patterns, Globs::new)?;
        }
        // Nobody has a role of approve.take_back or evidence.by that is not known: that closes, and needs no refusal.
        for (transition, roles) in &self.approve.by {
            for role in roles {
                if !self.approve.roles.contains_key(role) {
                    let known: Vec<&str> = self.approve.roles.keys().map(String::as_str).collect();
                    return Err(Fault::new(
                        format!("approve.by.{transition}"),
                        format!(
                            "expected a role of approve.roles, found `{role}`; it has {}",
                            if known.is_empty() {
                                "none".to_owned()
                            } else {
                                known.join(", ")
                            }
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Every profile that is written or named can be read.
    fn check_profiles(&self) -> Result<(), Fault> {
        if let Some(said) = self.profiles.fault() {
            let (key, what) = said.split_once(": ").unwrap_or(("profiles", &said));
            return Err(Fault::new(key, what));
        }
        if let Some(name) = &self.start.profile {
            self.profiles
                .get(name)
                .map_err(|failure| Fault::new("start.profile", failure.message))?;
        }
        for pattern in self.profiles.demand.keys() {
            let key = format!("profiles.demand.{pattern}");
            paths_of(&key, std::slice::from_ref(pattern), Globs::new)?;
        }
        Ok(())
    }

    /// An exception has paths and a key.
    fn check_landing(&self) -> Result<(), Fault> {
        for exception in &self.landing.exception {
            let paths = "landing.exception.paths";
            paths_of(paths, &exception.paths, Globs::of_files)?;
            let mut words = exception.key.split_whitespace();
            let is_key = |kind: &str| {
                ["ssh-", "ecdsa-", "sk-"]
                    .iter()
                    .any(|start| kind.starts_with(start))
            };
            let is_base64 = |text: &str| {
                let mut bytes = text.bytes();
                bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
            };
            let is_public_key =
                words.next().is_some_and(is_key) && words.next().is_some_and(is_base64);
            if !is_public_key || exception.key.contains(['\n', '\r']) {
                return Err(Fault::new(
                    "landing.exception.key",
                    format!(
                        "expected a public key like `ssh-ed25519 AAAA...`, found `{}`",
                        exception.key
                    ),
                ));
            }
            if exception.paths.is_empty() {
                return Err(Fault::new(paths, "expected paths, found none"));
            }
        }
        Ok(())
    }
}

/// Refuses patterns of paths that no path could match, by their key.
pub(super) fn paths_of(
    key: &str,
    patterns: &[String],
    read: impl Fn(&[String]) -> Result<Globs>,
) -> Result<(), Fault> {
    for pattern in patterns {
        if let Some(why) = odd(pattern) {
            return Err(Fault::new(
                key,
                format!(
                    "expected a path pattern from the top of the repository like `src/pay/**`, found `{pattern}`: {why}"
                ),
            ));
        }
    }
    patterns_of(key, patterns, read)
}

/// Explains why no path could match a pattern, as far as its letters tell.
fn odd(pattern: &str) -> Option<&'static str> {
    let inner = pattern.strip_prefix('/').unwrap_or(pattern);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let mut parts = inner.split('/');
    let mut letters = pattern.chars().zip(pattern.chars().skip(1));
    if pattern.is_empty() {
        Some("it is empty")
    } else if pattern.trim() != pattern {
        Some("a blank is at its beginning or end")
    } else if pattern.starts_with('!') {
        Some("`!` takes nothing out here")
    } else if parts.any(|part| ["", ".", ".."].contains(&part)) {
        Some("no path has an empty part, `.` or `..`")
    } else if letters.any(|(one, next)| one == '\\' && next.is_alphanumeric()) {
        Some("folders are parted by `/`")
    } else {
        None
    }
}

/// Refuses patterns that cannot be read, by their key.
fn patterns_of(
    key: &str,
    patterns: &[String],
    read: impl Fn(&[String]) -> Result<Globs>,
) -> Result<(), Fault> {
    read(patterns)
        .map(drop)
        .map_err(|failure| Fault::new(key, failure.message))
}

/// Tells whether a path is below the folder of working copies, which no commit should have; a file system
/// may fold letter case.
fn is_working_copy(path: &str) -> bool {
    path.split('/')
        .next()
        .is_some_and(|top| top.eq_ignore_ascii_case(".loopx"))
}

/// A relative path with no `..`, no drive, no empty part, nothing that a terminal obeys, and no name of git's own in
/// any spelling.
pub fn is_inside(path: &str) -> bool {
    is_plain(path) || has_fine_parts(path)
}

fn has_fine_parts(path: &str) -> bool {
    let is_part = |part: &str| {
        tree_name::code_fault(b"100644", part.as_bytes()).is_none()
            && !part.chars().any(char::is_control)
    };
    !path.contains('\\') && !path.contains(':') && path.split('/').all(is_part)
}

/// Tells whether a path has letters, digits, `-`, `_` and `.` alone, and no part that is empty or begins with a dot.
/// Most are so, lists have thousands of them, and no such name is git's in any spelling.
fn is_plain(path: &str) -> bool {
    let mut begins = true;
    for byte in path.bytes() {
        match byte {
            b'/' | b'.' if begins => return false,
            b'/' => begins = true,
            b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => begins = false,
            _ => return false,
        }
    }
    !begins
}

#[cfg(test)]
mod tests {
    use super::{has_fine_parts, is_inside, is_plain};

    #[test]
    fn folders_outside_the_repository_are_seen() {
        for path in [
            "",
            "/etc",
            "../x",
            "a/../b",
            "C:/x",
            "a\\b",
            "a//b",
            ".git/x",
            ".GIT/config",
            ".Git/hooks/x",
            "git~1/config",
            ".g\u{200c}it/config",
            "a/.git./x",
            "a\0b",
            "a\nb",
        ] {
            assert!(!is_inside(path), "{path}");
        }
        assert!(is_inside("docs/adr"));
        let parts = [
            "", ".", "..", ".git", "git", "git~1", "a.b", "-A_9", "a.", "a b", "\u{e9}", "c:",
        ];
        let mut plain = 0;
        for (one, other) in parts.iter().flat_map(|one| parts.map(|other| (one, other))) {
            let path = format!("{one}/{other}");
            if is_plain(&path) {
                plain += 1;
                assert!(has_fine_parts(&path), "{path}");
            }
        }
        assert_eq!(plain, 16);
    }
}
