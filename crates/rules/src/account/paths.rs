//! Paths that may land without a session: documents, and those that a key may bring. Guarded paths never do.

use super::{Change, Mode, PathWhy};
use crate::policy::{Demanded, FILE as POLICY_FILE, Policy};
use loopx_base::failure::Result;
use loopx_base::globs::Globs;
use loopx_base::tree_name;
use loopx_spec::adr;

/// Files that decide who judges what, at the top.
const FILES: &[&str] = &[
    POLICY_FILE,
    ".mailmap",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".drone.yml",
    ".cirrus.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Files that steer git or agents, in any folder.
const NAMES: &[&str] = &[
    ".aider.conf.yml",
    ".augment-guidelines",
    ".clinerules",
    ".crush.json",
    ".cursorrules",
    ".gitattributes",
    ".gitmodules",
    ".goosehints",
    ".mcp.json",
    ".opencode.json",
    ".roomodes",
    ".roorules",
    ".rules",
    ".traerules",
    ".windsurfrules",
    "airules.md",
    "best_practices.md",
    "codeowners",
    "copilot-instructions.md",
    "crush.json",
    "firebender.json",
    "opencode.json",
    "opencode.jsonc",
    "replit.md",
    "skill.md",
];

/// Files that agents read in any folder, whatever stands between these and `.md`.
const AGENTS_FILES: &[&str] = &[
    "agent",
    "agents",
    "claude",
    "codebuddy",
    "crush",
    "gemini",
    "iflow",
    "kimi",
    "qoder",
    "qwen",
    "shai",
    "tabnine",
    "warp",
];

/// Folders of agents, in any folder.
const AGENTS_FOLDERS: &[&str] = &[
    ".agent",
    ".agents",
    ".agy",
    ".aiassistant",
    ".amazonq",
    ".amp",
    ".augment",
    ".bob",
    ".claude",
    ".cline",
    ".clinerules",
    ".codebuddy",
    ".codex",
    ".continue",
    ".crush",
    ".cursor",
    ".devin",
    ".factory",
    ".firebender",
    ".forge",
    ".gemini",
    ".goose",
    ".idx",
    ".iflow",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kimi",
    ".kiro",
    ".kode",
    ".lingma",
    ".openclaw",
    ".opencode",
    ".openhands",
    ".pi",
    ".pochi",
    ".qoder",
    ".qwen",
    ".roo",
    ".rovodev",
    ".ruler",
    ".shai",
    ".tabnine",
    ".trae",
    ".vibe",
    ".windsurf",
    ".zencoder",
];

/// Folders of policy and CI, at the top, and the one in which each clone has the files of its sessions.
const FOLDERS: &[&str] = &[
    ".loopx",
    "loopx",
    "docs/rules",
    ".ci",
    ".circleci",
    ".buildkite",
    ".forgejo",
    ".gitea",
    ".github",
    ".gitlab",
    ".woodpecker",
];

/// The name that changelogs have (Keep a Changelog), in any case.
const CHANGELOG: &str = "changelog.md";

/// Rules of policy about landings without a session.
#[derive(Clone, Debug)]
pub struct Rules {
    always: Globs,
    exceptions: Vec<(Globs, String)>,
    /// Names of files without letter case: a file system may fold it.
    files: Vec<String>,
    folders: Vec<String>,
    records: String,
    /// Paths that need a session with a profile.
    demanded: Vec<Demanded>,
}

impl Rules {
    pub fn new(policy: &Policy) -> Result<Self> {
        let lower = |text: &str| folded(text.trim_end_matches('/'));
        let mut files: Vec<String> = FILES.iter().map(|file| lower(file)).collect();
        files.extend([
            lower(&policy.approve.signers),
            lower(&policy.approve.revoked),
        ]);
        let mut folders: Vec<String> = FOLDERS.iter().map(|folder| lower(folder)).collect();
        let paths = &policy.paths;
        folders.extend(
            [
                &paths.specs,
                &paths.rules,
                &paths.prompts,
                &paths.pipelines,
                &paths.templates,
            ]
            .map(|folder| lower(folder)),
        );
        let exceptions = policy.landing.exception.iter();
        Ok(Rules {
            always: policy.allowed()?,
            demanded: policy
                .demanded()?
                .into_iter()
                .map(|(paths, _)| paths)
                .collect(),
            exceptions: exceptions
                .map(|one| Ok((Globs::of_files(&one.paths)?, one.key.clone())))
                .collect::<Result<_>>()?,
            files,
            folders,
            records: lower(&policy.paths.adr),
        })
    }

    /// Tells whether a path lands only by a session, or by a command that makes it.
    pub fn guards(&self, path: &str) -> bool {
        let path = folded(path);
        let below = |folder: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        };
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let is_record = below(&self.records)
            && (folder != self.records
                || adr::number_of(name).is_some()
                || adr::date_of(name).is_some());
        is_record
            || NAMES.contains(&name)
            || is_agents_file(name)
            || path.split('/').any(|part| AGENTS_FOLDERS.contains(&part))
            || self.files.contains(&path)
            || self.folders.iter().any(|folder| below(folder))
    }

    /// Reason why a change cannot land without a session and without a key.
    pub fn document(&self, change: &Change) -> Option<PathWhy> {
        self.shape(change).or_else(|| {
            if self.demands(&change.path) {
                return Some(PathWhy::Demanded);
            }
            let passes = self.always.matches(&change.path);
            (!passes).then_some(PathWhy::Code)
        })
    }

    /// Tells whether a path lands only by a session with a profile.
    pub fn demands(&self, path: &str) -> bool {
        self.demanded.iter().any(|paths| paths.has(path))
    }

    /// Tells whether a file can be the changelog, into which fragments go without a session: a document, or a file with
    /// that name.
    pub fn is_changelog(&self, change: &Change) -> bool {
        let name = change.path.rsplit('/').next().unwrap_or_default();
        match self.document(change) {
            None => name.ends_with(".md"),
            Some(PathWhy::Code) => name.eq_ignore_ascii_case(CHANGELOG),
            Some(_) => false,
        }
    }

    /// Reason why a change can land by no exception at all.
    fn shape(&self, change: &Change) -> Option<PathWhy> {
        if self.guards(&change.path) {
            return Some(PathWhy::Guarded);
        }
        match (change.old, change.new) {
            (Some(Mode::Plain) | None, Some(Mode::Plain) | None)
            | (Some(Mode::Executable), Some(Mode::Executable) | None) => None,
            _ => Some(PathWhy::Mode),
        }
    }

    /// The exceptions that all of these changes fit, from 1, with their keys.
    pub fn exceptions(&self, changes: &[Change]) -> impl Iterator<Item = (usize, &str)> {
        let fits = |globs: &Globs, change: &Change| {
            self.shape(change).is_none()
                && (globs.matches(&change.path) || self.document(change).is_none())
        };
        let all = self.exceptions.iter().enumerate();
        all.filter(move |(_, (globs, _))| changes.iter().all(|change| fits(globs, change)))
            .map(|(at, (_, key))| (at + 1, key.as_str()))
    }
}

/// A path as a file system may see it.
fn folded(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(tree_name::folded).collect();
    parts.join("/")
}

fn is_agents_file(name: &str) -> bool {
    let stem = name.strip_suffix(".md");
    stem.and_then(|stem| stem.split('.').next())
        .is_some_and(|first| AGENTS_FILES.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::{Change, Mode, PathWhy, Policy, Rules};
    use crate::skill::Platform;
    use loopx_hosts::wiring;

    fn rules(text: &str) -> Rules {
        let policy = Policy::parse(text, "loopx.toml").expect("a policy");
        Rules::new(&policy).expect("rules")
    }

    #[test]
    fn the_file_of_every_host_is_guarded() {
        let rules = rules("");
        for host in loopx_hosts::Host::ALL {
            let file = host.spec().file;
            assert!(rules.guards(file), "{file}");
        }
    }

    #[test]
    fn what_decides_who_judges_is_guarded_in_any_case() {
        let rules = rules("");
        for path in [
            "loopx.toml",
            "Loopx.TOML",
            "loopx.signers",
            "loopx.revoked",
            ".mailmap",
            "loopx/prompts/plan.md",
            "specs/session/spec.md",
            "Specs/run.sh",
            "specs",
            "docs/adr/0007-use-git.md",
            "docs/adr/20240115-use-git.md",
            "docs/adr/old/notes.md",
            "docs/rules/style.md",
            "AGENTS.md",
            "src/CLAUDE.md",
            ".github/workflows/ci.yml",
            ".loopx/demo/brief.md",
            ".claude/settings.json",
            "docs/.gitattributes",
            ".gitmodules",
            "docs/AGENTS.override.md",
            "CLAUDE.local.md",
            "docs/skills/SKILL.md",
            "docs/.cursorrules",
            "docs/.windsurfrules",
            "docs/.claude/settings.json",
            "docs/.cursor/rules.md",
            "docs/.mcp.json",
            "docs/CODEOWNERS",
            "WARP.md",
            ".kilocode/rules/x.md",
            ".tabnine/guidelines/style.md",
            "TABNINE.md",
            ".zencoder/rules/style.md",
            "docs/.cline/rules/style.md",
            ".amp/settings.json",
            ".ruler/style.md",
            ".devin/wiki.json",
            "docs/.goose/recipes/x.md",
            ".rules",
            "docs/CLAUDE.md ",
            "docs/CLAUDE.md.",
            "docs/CLAUDE.MD::$DATA",
            "docs/CLAUDE\u{200c}.md",
            "AGENT\u{17f}.md",
            "docs /rules./style.md",
            "loopx.toml.",
        ] {
            assert!(rules.guards(path), "{path}");
        }
        for path in [
            "README.md",
            "docs/a.md",
            "docs/adr/README.md",
            "docs/adr/draft-use-git.md",
            "src/specs.rs",
            "specsheet.md",
            "src/loopx.toml",
            "docs/agents-and-people.md",
            "docs/claude/notes.md",
            "docs/skills.md",
        ] {
            assert!(!rules.guards(path), "{path}");
        }
        let elsewhere = super::tests::rules("[paths]\nrules = \"Handbook/rules\"\n");
        assert!(elsewhere.guards("handbook/rules/style.md"));
        assert!(!elsewhere.guards("handbook/style.md"));
        for name in ["prompts", "pipelines", "templates"] {
            let elsewhere = super::tests::rules(&format!("[paths]\n{name} = \"docs/{name}\"\n"));
            assert!(elsewhere.guards(&format!("docs/{name}/plan.md")), "{name}");
        }
    }

    #[test]
    fn a_document_is_a_plain_file_that_stays_one() {
        use Mode::{Executable, Link, Plain, Submodule};
        let rules = rules("");
        for (path, old, new, why) in [
            ("docs/a.md", None, Some(Plain), None),
            ("docs/a.md", Some(Plain), Some(Plain), None),
            ("docs/a.md", Some(Plain), None, None),
            ("docs/a.sh", Some(Executable), Some(Executable), None),
            ("docs/a.sh", None, Some(Executable), Some(PathWhy::Mode)),
            (
                "docs/a.sh",
                Some(Plain),
                Some(Executable),
                Some(PathWhy::Mode),
            ),
            ("docs/a", None, Some(Link), Some(PathWhy::Mode)),
            ("docs/a", Some(Link), None, Some(PathWhy::Mode)),
            ("docs/a", None, Some(Submodule), Some(PathWhy::Mode)),
            ("README.md", Some(Plain), Some(Plain), None),
            ("src/lib.md/evil.sh", None, Some(Plain), Some(PathWhy::Code)),
            (
                "loopx.toml",
                Some(Plain),
                Some(Plain),
                Some(PathWhy::Guarded),
            ),
            ("src/a.rs", Some(Plain), Some(Plain), Some(PathWhy::Code)),
        ] {
            let path = path.to_owned();
            let change = Change { path, old, new };
            assert_eq!(rules.document(&change), why, "{change:?}");
        }
    }

    #[test]
    fn an_exception_takes_its_paths_and_documents_and_nothing_guarded() {
        let rules = rules(
            "[[landing.exception]]\npaths = [\"**\"]\nkey = \"ssh-ed25519 AAAA\"\n[[landing.exception]]\npaths = [\"Cargo.lock\"]\nkey = \"ssh-ed25519 BBBB\"\n",
        );
        let fits = |paths: &[&str]| -> Vec<usize> {
            let plain = |path: &&str| Change {
                path: (*path).to_owned(),
                old: Some(Mode::Plain),
                new: Some(Mode::Plain),
            };
            let changes: Vec<Change> = paths.iter().map(plain).collect();
            rules.exceptions(&changes).map(|(at, _)| at).collect()
        };
        assert_eq!(fits(&["Cargo.lock"]), [1, 2]);
        assert_eq!(fits(&["Cargo.lock", "README.md"]), [1, 2]);
        assert_eq!(fits(&["Cargo.lock", "src/a.rs"]), [1]);
        assert_eq!(fits(&["Cargo.lock/x"]), [1]);
        assert_eq!(fits(&["loopx.toml"]), [0; 0]);
        // A document that policy demands a profile for is none; what the exception names, it takes.
        let rules = super::tests::rules(
            "[profiles.demand]\n\"docs/pay/**\" = \"standard\"\n[[landing.exception]]\npaths = [\"Cargo.lock\"]\nkey = \"ssh-ed25519 BBBB\"\n[[landing.exception]]\npaths = [\"docs/pay/rates.md\"]\nkey = \"ssh-ed25519 CCCC\"\n",
        );
        let takes = |path: &str| -> Vec<usize> {
            let change = Change {
                path: path.to_owned(),
                old: Some(Mode::Plain),
                new: Some(Mode::Plain),
            };
            let found = rules.exceptions(std::slice::from_ref(&change));
            found.map(|(at, _)| at).collect()
        };
        assert_eq!(takes("docs/pay/terms.md"), [0; 0]);
        assert_eq!(takes("docs/pay/rates.md"), [2]);
        assert_eq!(takes("docs/other.md"), [1, 2]);
        assert_eq!(fits(&[".github/workflows/ci.yml"]), [0; 0]);
    }

    #[test]
    fn h7_files_that_wire_agents_are_guarded_where_they_land() {
        let rules = rules("");
        for file in wiring::files() {
            assert!(wiring::is_ours(file) && rules.guards(file), "{file}");
        }
        assert!(!wiring::is_ours(".claude/settings.local.json"));
    }

    #[test]
    fn d16_folders_in_which_skills_are_looked_for_are_guarded() {
        let rules = rules("");
        for platform in Platform::ALL {
            let file = format!("docs/{}/commands/x.md", platform.folder());
            assert!(rules.guards(&file), "{file}");
        }
    }
}
