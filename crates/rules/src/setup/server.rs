//! A bare repository that judges each push: what it has, and the steps that it lacks.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_hosts::hooks::{SAVED_SUFFIX, SetAt, Standing, shell_quoted};
use serde::Serialize;

/// The hook that git asks before any ref of a push moves.
pub const HOOK: &str = "pre-receive";
/// The setting that has git look at each object of a push.
pub const CHECK_OBJECTS: &str = "receive.fsckObjects";
/// The setting that closes namespaces to every push, also where no hook runs.
pub const HIDE: &str = "receive.hideRefs";
/// Namespaces that are closed: see the hook's own list of namespaces.
pub const HIDDEN: [&str; 2] = ["refs/replace", "refs/loopx"];

const SHIM: &str = include_str!("../../../../hooks/pre-receive.sh");
/// The words of our script's second line.
const ID: &str = "# loopx-hook: ";
/// Words that a script has in it that asks us by itself.
const CALL: [&str; 2] = ["git-loopx", "hook pre-receive"];

/// The script that stands at the hook's name. `program` is our absolute path.
pub fn shim(program: &[u8]) -> Vec<u8> {
    let (before, after) = SHIM.split_once("@PROGRAM@").unwrap_or((SHIM, ""));
    [before.as_bytes(), &shell_quoted(program), after.as_bytes()].concat()
}

/// Script that stands at the hook's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// A script that we wrote.
    Ours {
        current: bool,
    },
    /// Script of somebody's own that asks us.
    Asks,
    Foreign,
}

/// Reads what stands there.
pub fn found(content: Option<&[u8]>, program: &[u8]) -> Found {
    let Some(content) = content else {
        return Found::Nothing;
    };
    if content == shim(program) {
        return Found::Ours { current: true };
    }
    let text = String::from_utf8_lossy(content);
    if text.lines().nth(1).is_some_and(|line| line.starts_with(ID)) {
        return Found::Ours { current: false };
    }
    let mut lines = text.lines().map(str::trim);
    let asks =
        lines.any(|line| !line.starts_with('#') && CALL.iter().all(|part| line.contains(part)));
    if asks { Found::Asks } else { Found::Foreign }
}

/// A bare repository, as far as pushes go.
#[derive(Clone, Debug)]
pub struct Facts {
    pub found: Found,
    /// Git passes over a hook that cannot be run.
    pub is_executable: bool,
    /// A hook is kept from an earlier set-up.
    pub is_saved: bool,
    pub standing: Standing,
    /// Folder where git looks for hooks.
    pub folder: String,
    pub checks_objects: bool,
    /// The values of [`HIDE`].
    pub hidden: Vec<String>,
}

/// Step that is to be done, or was found done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Keeps somebody's hook, which runs first from then on.
    SaveHook,
    WriteHook,
    /// Lets git run the hook.
    OpenHook,
    CheckObjects,
    /// Closes a namespace of [`HIDDEN`].
    Hide(&'static str),
}

impl Step {
    /// State that holds once the step is done, in words.
    pub fn holds(self) -> String {
        match self {
            Step::SaveHook => {
                format!("the {HOOK} that was there is kept as {HOOK}{SAVED_SUFFIX} and runs first")
            }
            Step::WriteHook => format!("{HOOK} asks git loopx about each push"),
            Step::OpenHook => format!("{HOOK} can be run"),
            Step::CheckObjects => format!("{CHECK_OBJECTS} is true: git looks at each object"),
            Step::Hide(name) => {
                format!("{HIDE} has {name}: nothing is pushed there, also where no hook runs")
            }
        }
    }
}

/// A step, and whether it is still to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    pub step: Step,
    pub needed: bool,
}

/// The steps in the order in which they are done. `dir` names the server in what leads on.
pub fn plan(facts: &Facts, dir: &str) -> Result<Vec<Planned>> {
    let owned = facts.standing == Standing::Owned;
    if !owned && facts.found != Found::Asks {
        return Err(foreign(facts, dir));
    }
    let mut steps = vec![Planned {
        step: Step::CheckObjects,
        needed: !facts.checks_objects,
    }];
    steps.extend(HIDDEN.map(|name| Planned {
        step: Step::Hide(name),
        needed: !facts.hidden.iter().any(|hidden| hidden == name),
    }));
    let hook = |step, needed| Planned { step, needed };
    match facts.found {
        Found::Foreign if facts.is_saved => {
            return Err(Failure::refused(
                Code::HookSavedAlready,
                format!(
                    "two hooks that are not ours are there, `{HOOK}` and `{HOOK}{SAVED_SUFFIX}` in {}, and one can be kept",
                    facts.folder
                ),
            )
            .help("put both into one file, remove the other, and try again"));
        }
        Found::Foreign => {
            steps.push(hook(Step::SaveHook, true));
            steps.push(hook(Step::WriteHook, true));
        }
        Found::Ours { current } => {
            steps.push(hook(Step::WriteHook, !current || !facts.is_executable));
        }
        Found::Asks => {
            steps.push(hook(Step::WriteHook, false));
            if !facts.is_executable {
                steps.push(hook(Step::OpenHook, true));
            }
        }
        Found::Nothing => steps.push(hook(Step::WriteHook, true)),
    }
    Ok(steps)
}

/// The refusal where git looks for hooks in a folder that is not this repository's.
fn foreign(facts: &Facts, dir: &str) -> Failure {
    let said = |at: &SetAt| format!("{} {}", at.scope, at.origin);
    let (code, why) = match &facts.standing {
        Standing::Off { path } => (Code::HooksSwitchedOff, said(path)),
        Standing::Foreign { path, .. } => (Code::HooksPathForeign, said(path)),
        Standing::Owned => (Code::HooksPathForeign, String::new()),
    };
    Failure::refused(
        code,
        format!(
            "git looks for the hooks of this repository in {}, which is not its own (core.hooksPath: {why})",
            facts.folder
        ),
    )
    .help(hint![
        format!("git config --unset core.hooksPath, or let {HOOK} there end with: exec git-loopx hook {HOOK}; then: "),
        command!("setup server {dir}")
    ])
}

/// Rules that the server judges by: the policy of its default branch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rules {
    /// The default branch.
    pub branch: Option<String>,
    pub commit: Option<Oid>,
    /// A branch that is there, where the default one is not: nothing judges a branch that is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The patterns of branches that take only what is accounted for.
    pub protected: Vec<String>,
    pub protects_default: bool,
    pub asks_signatures: bool,
    pub can_check_signatures: bool,
    pub has_sessions: bool,
    /// Reason why the policy cannot be read.
    pub fault: Option<String>,
}

impl Rules {
    /// Warnings that a person should know before relying on the server.
    pub fn warnings(&self) -> Vec<String> {
        let branch = self.branch.as_deref().unwrap_or("HEAD");
        let mut said = Vec::new();
        if let Some(fault) = &self.fault {
            said.push(format!(
                "the policy of {branch} cannot be read, so each push is refused: {fault}"
            ));
        } else if let Some(instead) = &self.instead {
            said.push(format!(
                "HEAD names {branch}, which is not there, so that no policy holds for a branch that is new  (git symbolic-ref HEAD refs/heads/{instead})"
            ));
        } else if self.commit.is_none() {
            said.push(format!(
                "{branch} has no commit yet: whatever is pushed first sets the policy  (in a clone: {})",
                command!("setup team")
            ));
        } else if self.protected.is_empty() {
            said.push(format!(
                "the policy of {branch} protects no branch (gates.protected), so every branch takes code that nobody reviewed  (in a clone: {})",
                command!("setup team")
            ));
        } else if !self.protects_default {
            said.push(format!(
                "the policy of {branch} protects {}, and not {branch} itself: whoever pushes there changes the policy",
                self.protected.join(", ")
            ));
        }
        if self.commit.is_some() && !self.has_sessions {
            said.push(format!(
                "there is no branch of sessions yet  (in a clone: {})",
                command!("sync")
            ));
        }
        if self.asks_signatures && !self.can_check_signatures {
            said.push(
                "policy asks for signatures, and there is no ssh-keygen in PATH: none can be checked here"
                    .to_owned(),
            );
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Found, HIDDEN, Rules, Step, found, plan, shim};
    use loopx_base::failure::Code;
    use loopx_hosts::hooks::{SetAt, Standing};

    fn bare() -> Facts {
        Facts {
            found: Found::Nothing,
            is_executable: false,
            is_saved: false,
            standing: Standing::Owned,
            folder: "hooks".into(),
            checks_objects: false,
            hidden: Vec::new(),
        }
    }

    fn needed(facts: &Facts) -> Vec<Step> {
        let steps = plan(facts, "x").expect("a plan").into_iter();
        steps.filter(|one| one.needed).map(|one| one.step).collect()
    }

    #[test]
    fn what_is_done_is_not_done_again() {
        let all = [
            Step::CheckObjects,
            Step::Hide(HIDDEN[0]),
            Step::Hide(HIDDEN[1]),
            Step::WriteHook,
        ];
        assert_eq!(needed(&bare()), all);
        let done = Facts {
            found: Found::Ours { current: true },
            is_executable: true,
            checks_objects: true,
            hidden: HIDDEN.map(str::to_owned).to_vec(),
            ..bare()
        };
        assert_eq!(needed(&done), []);
        let asks = Facts {
            found: Found::Asks,
            is_executable: false,
            ..done
        };
        assert_eq!(needed(&asks), [Step::OpenHook]);
    }

    #[test]
    fn a_hook_of_somebody_else_is_kept_once() {
        let foreign = Facts {
            found: Found::Foreign,
            checks_objects: true,
            hidden: HIDDEN.map(str::to_owned).to_vec(),
            ..bare()
        };
        assert_eq!(needed(&foreign), [Step::SaveHook, Step::WriteHook]);
        let twice = Facts {
            is_saved: true,
            ..foreign
        };
        let code = plan(&twice, "x").expect_err("two").code;
        assert_eq!(code, Code::HookSavedAlready);
    }

    #[test]
    fn a_hook_is_known_by_what_it_runs() {
        let program = b"/opt/it's/git-loopx";
        assert_eq!(found(None, program), Found::Nothing);
        assert_eq!(
            found(Some(&shim(program)), program),
            Found::Ours { current: true }
        );
        assert_eq!(
            found(Some(&shim(b"/other")), program),
            Found::Ours { current: false }
        );
        for (text, wanted) in [
            ("#!/bin/sh\nexec git-loopx hook pre-receive\n", Found::Asks),
            ("#!/bin/sh\n# git-loopx hook pre-receive\n", Found::Foreign),
            ("#!/bin/sh\nexit 0\n", Found::Foreign),
        ] {
            assert_eq!(found(Some(text.as_bytes()), program), wanted, "{text}");
        }
    }

    #[test]
    fn a_folder_of_others_is_refused_unless_its_hook_asks_us() {
        let facts = Facts {
            standing: Standing::Foreign {
                path: SetAt {
                    scope: "system".into(),
                    origin: "file:/etc/gitconfig".into(),
                },
                tracked: false,
            },
            ..bare()
        };
        let code = plan(&facts, "x").expect_err("foreign").code;
        assert_eq!(code, Code::HooksPathForeign);
        let asks = Facts {
            found: Found::Asks,
            is_executable: true,
            ..facts
        };
        assert_eq!(needed(&asks).len(), 3);
    }

    #[test]
    fn what_is_missing_is_said() {
        let good = Rules {
            branch: Some("main".into()),
            instead: None,
            commit: Some(loopx_base::id::Oid::parse(&"1".repeat(40)).expect("an id")),
            protected: vec!["main".into()],
            protects_default: true,
            has_sessions: true,
            can_check_signatures: true,
            asks_signatures: true,
            fault: None,
        };
        assert_eq!(good.warnings(), Vec::<String>::new());
        for (rules, said) in [
            (
                Rules {
                    protected: Vec::new(),
                    ..good.clone()
                },
                "protects no branch",
            ),
            (
                Rules {
                    protects_default: false,
                    ..good.clone()
                },
                "not main itself",
            ),
            (
                Rules {
                    commit: None,
                    ..good.clone()
                },
                "no commit yet",
            ),
            (
                Rules {
                    has_sessions: false,
                    ..good.clone()
                },
                "no branch of sessions",
            ),
            (
                Rules {
                    can_check_signatures: false,
                    ..good.clone()
                },
                "no ssh-keygen",
            ),
            (
                Rules {
                    fault: Some("x".into()),
                    ..good.clone()
                },
                "cannot be read",
            ),
        ] {
            let warnings = rules.warnings();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains(said), "{warnings:?}");
        }
    }
}
