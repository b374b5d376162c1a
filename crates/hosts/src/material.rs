//! Texts about git loopx for agents: a short working agreement as a block in AGENTS.md or CLAUDE.md, and a skill. Each
//! carries a digest of itself, so that what a person edited is known and never overwritten.

use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// State of a piece of material.
    Drift {
        Absent = "absent",
        Current = "current",
        /// Text as an earlier version wrote it.
        Outdated = "outdated",
        /// Text that somebody changed: it is theirs now.
        Edited = "edited",
    }
);

/// A file that material goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A block in a file that belongs to somebody else.
    Block(&'static str),
    /// A file of ours.
    Skill,
}

impl Place {
    pub const ALL: [Place; 3] = [
        Place::Block("AGENTS.md"),
        Place::Block("CLAUDE.md"),
        Place::Skill,
    ];

    /// Path of the file, from the top of the worktree.
    pub fn path(self) -> &'static str {
        match self {
            Place::Block(path) => path,
            Place::Skill => ".agents/skills/git-loopx/SKILL.md",
        }
    }
}

const BEGIN: &str = "<!-- git-loopx:begin ";
const END: &str = "<!-- git-loopx:end -->";

const AGREEMENT: &str = "\
## git loopx

Changes here go through `git loopx`: clarify, plan, build, review, done. The state is in git; ask it, do not guess.

- Begin with `git loopx status`. It ends with the command that leads on.
- A person approves transitions (`git loopx approve`). You do not.
- Evidence counts when git loopx ran it: `git loopx run --task SLICE`.
- Stuck for real: `git loopx agent block --reason WHY`. Later: `git loopx agent park --reason WHY`.
- Do not pass over the hooks. A refusal names the rule and the way on.
";

const SKILL: &str = "\
---
name: git-loopx
description: Work on a change that is kept in git loopx (a session with the stages clarify, plan, build, review, done). Use it when the repository has a loopx branch, when a git hook refuses a commit or a push, or when the user speaks of a session, a stage, an approval or evidence.
metadata:
  generator: git-loopx
  digest: \"DIGEST\"
---

# git loopx

`git loopx status` says where the session stands, what holds it, and the next command; `--json` gives it to a program.

| stage | your part |
|---|---|
| clarify | edit `.loopx/ID/spec.md`; `git loopx clarify` judges it |
| plan | write the documents in `.loopx/ID/`; `git loopx save`; `git loopx plan` |
| build | write and commit the code inside the plan's scope; `git loopx run --task SLICE`; `git loopx build --report execution=complete --reason SUMMARY`; `git loopx build` |
| review | wait for the verdict; `git loopx build --from-review` when it sends the work back |

A person approves each transition (`git loopx approve --to STAGE`); ask for it when the gate is ready.

- A refused commit names the rule, the file and the way on. Do not pass over hooks: `git loopx verify` finds it.
- Exit code 6 means that another worktree builds: wait, or ask before `git loopx build --take-over --reason WHY`.
- Something real stops you: `git loopx agent block --reason WHY`. For later: `git loopx agent park --reason WHY`, then `git loopx agent resume`.
";

/// FNV-1a, 64 bits: it tells edits from updates, not friends from foes.
fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn skill() -> String {
    SKILL.replace("DIGEST", &digest(SKILL))
}

fn block() -> String {
    format!("{BEGIN}{} -->\n{AGREEMENT}{END}\n", digest(AGREEMENT))
}

/// The block in a text: where it stands, its digest, its body.
fn find(text: &str) -> Option<(std::ops::Range<usize>, &str, &str)> {
    let start = text.find(BEGIN)?;
    let after = &text[start + BEGIN.len()..];
    let (digest, rest) = after.split_once(" -->\n")?;
    let end = rest.find(END)?;
    let body = &rest[..end];
    let at = start + BEGIN.len() + digest.len() + " -->\n".len() + end + END.len();
    Some((start..at, digest, body))
}

/// State of the material in a file.
pub fn state(place: Place, text: Option<&str>) -> Drift {
    let Some(text) = text else {
        return Drift::Absent;
    };
    // A checkout with other line endings is no edit.
    let text = text.replace("\r\n", "\n");
    let by_digest = |is_current: bool, is_untouched: bool| match (is_current, is_untouched) {
        (true, _) => Drift::Current,
        (false, true) => Drift::Outdated,
        (false, false) => Drift::Edited,
    };
    match place {
        Place::Block(_) => match find(&text) {
            Some((_, known, body)) => {
                let current = digest(body) == digest(AGREEMENT) && known == digest(AGREEMENT);
                by_digest(current, known == digest(body))
            }
            // Half a block is somebody's edit.
            None if text.contains(BEGIN.trim_end()) || text.contains(END) => Drift::Edited,
            None => Drift::Absent,
        },
        Place::Skill => {
            let known = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("digest: \"")?.strip_suffix('"'));
            let untouched =
                known.is_some_and(|known| digest(&text.replacen(known, "DIGEST", 1)) == known);
            by_digest(text == skill(), untouched)
        }
    }
}

/// Text with our material in it. Material that somebody edited stays as it is.
pub fn put(place: Place, text: Option<&str>) -> String {
    let old = text.unwrap_or_default();
    let crlf = old.contains("\r\n");
    let flat = old.replace("\r\n", "\n");
    let new = match (place, state(place, text)) {
        (_, Drift::Current | Drift::Edited) => return old.to_owned(),
        (Place::Skill, _) => skill(),
        (Place::Block(_), Drift::Outdated) => match find(&flat) {
            Some((range, ..)) => {
                format!(
                    "{}{}{}",
                    &flat[..range.start],
                    block().trim_end(),
                    &flat[range.end..]
                )
            }
            None => return old.to_owned(),
        },
        (Place::Block(_), Drift::Absent) => {
            let gap = match flat.as_str() {
                "" => "",
                text if text.ends_with("\n\n") => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{flat}{gap}{}", block())
        }
    };
    if crlf { new.replace('\n', "\r\n") } else { new }
}

/// The text without our material; `None` when nothing is left. What somebody edited stays.
pub fn take(place: Place, text: &str) -> Option<String> {
    if !matches!(state(place, Some(text)), Drift::Current | Drift::Outdated) {
        return Some(text.to_owned());
    }
    let Place::Block(_) = place else {
        return None;
    };
    let crlf = text.contains("\r\n");
    let flat = text.replace("\r\n", "\n");
    let Some((range, ..)) = find(&flat) else {
        return Some(text.to_owned());
    };
    let before = &flat[..range.start];
    let after = flat[range.end..]
        .strip_prefix('\n')
        .unwrap_or(&flat[range.end..]);
    // The blank line that `put` made goes too.
    let before = match before.strip_suffix("\n\n") {
        Some(shorter) if after.is_empty() => format!("{shorter}\n"),
        _ => before.to_owned(),
    };
    let new = format!("{before}{after}");
    if new.is_empty() {
        return None;
    }
    Some(if crlf { new.replace('\n', "\r\n") } else { new })
}

#[cfg(test)]
mod tests {
    use super::{Drift, Place, put, state, take};

    #[test]
    fn what_is_put_in_is_current_and_goes_out_byte_for_byte() {
        for place in Place::ALL {
            let blank = put(place, None);
            assert_eq!(state(place, Some(&blank)), Drift::Current, "{blank}");
            assert_eq!(put(place, Some(&blank)), blank);
            assert_eq!(take(place, &blank), None);
        }
        let place = Place::Block("AGENTS.md");
        for text in ["# Ours\n", "# Ours\r\n\r\nText\r\n"] {
            let with = put(place, Some(text));
            assert_eq!(state(place, Some(&with)), Drift::Current);
            assert_eq!(take(place, &with).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_somebody_edited_is_never_overwritten() {
        for place in Place::ALL {
            let edited = put(place, None).replace("git loopx status", "git loopx stat");
            assert_eq!(state(place, Some(&edited)), Drift::Edited);
            assert_eq!(put(place, Some(&edited)), edited);
            assert_eq!(take(place, &edited).as_deref(), Some(edited.as_str()));
        }
        let half = "<!-- git-loopx:begin 1 -->\ntext";
        assert_eq!(state(Place::Block("AGENTS.md"), Some(half)), Drift::Edited);
        assert_eq!(state(Place::Skill, Some("mine")), Drift::Edited);
    }

    #[test]
    fn what_an_earlier_version_wrote_is_renewed_in_its_place() {
        let old = "Do this.\n";
        let text = format!(
            "# A\n\n<!-- git-loopx:begin {} -->\n{old}<!-- git-loopx:end -->\n\n# B\n",
            crate::material::digest(old)
        );
        let place = Place::Block("AGENTS.md");
        assert_eq!(state(place, Some(&text)), Drift::Outdated);
        let new = put(place, Some(&text));
        assert_eq!(state(place, Some(&new)), Drift::Current);
        assert!(
            new.starts_with("# A\n\n<!--") && new.ends_with("-->\n\n# B\n"),
            "{new}"
        );
    }

    /// The rules of agent skills: a name like its folder, at most 1,024 characters of description.
    #[test]
    fn the_skill_keeps_the_rules_of_skills() {
        let text = put(Place::Skill, None);
        let line = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key))
                .expect("a field")
                .to_owned()
        };
        assert!(text.starts_with("---\nname: git-loopx\n"));
        assert_eq!(line("name: "), "git-loopx");
        assert!(Place::Skill.path().ends_with("/git-loopx/SKILL.md"));
        assert!((1..=1024).contains(&line("description: ").chars().count()));
        assert!(text.lines().count() < 40, "little text");
    }
}
