//! The documents of a session that takes a commit back. What is known of such a change is written down already, so
//! that in an emergency people read and approve, and write little.
//!
//! It knows no git: which paths the commit changed, and which of them are still as it left them, are handed in.

use super::artifact::Artifact;
use super::policy::Language;
use super::profile::Profile;
use super::template::TemplateInput;
use loopx_base::counted;
use loopx_base::id::{Oid, SessionId};
use serde_json::json;
use std::collections::BTreeMap;

/// Number of paths that a document names one by one.
const NAMED: usize = 100;

/// A commit that is to be taken back.
#[derive(Clone, Debug)]
pub struct Revert {
    pub commit: Oid,
    /// The commit before it: the first parent of a merge.
    pub before: Oid,
    pub is_merge: bool,
    pub subject: String,
    pub author: String,
    /// Paths that the commit changed.
    pub paths: Vec<String>,
    /// The paths that nobody changed since: taking the commit back makes them what they were.
    pub still: Vec<String>,
    /// The sessions that it names.
    pub sessions: Vec<String>,
}

impl Revert {
    /// Title of the change where nobody gives it another name.
    pub fn title(&self) -> String {
        format!("Revert \"{}\"", self.subject)
    }

    /// A name that folds to a short id.
    pub fn name(&self) -> String {
        format!("revert-{}", self.commit.short())
    }

    /// The git command that makes the change.
    pub fn command(&self) -> String {
        let mainline = if self.is_merge { " -m 1" } else { "" };
        format!("git revert{mainline} {}", self.commit.short())
    }

    fn what(&self, language: Language) -> String {
        let (short, subject) = (self.commit.short(), &self.subject);
        match language {
            Language::Off => format!("commit {short} (\"{subject}\", by {})", self.author),
            Language::Zh => format!("提交 {short}(“{subject}”,作者 {})", self.author),
        }
    }

    /// Artifacts that the session starts with, for the reason that was given.
    pub fn artifacts(
        &self,
        id: &SessionId,
        title: &str,
        why: Option<&str>,
        language: Language,
    ) -> BTreeMap<Artifact, String> {
        let what = self.what(language);
        let why = match (why, language) {
            (Some(why), _) => why.to_owned(),
            (None, Language::Off) => format!("Take back {what}."),
            (None, Language::Zh) => format!("撤销{what}。"),
        };
        let texts = match language {
            Language::Off => self.english(title, &what, &why),
            Language::Zh => self.chinese(title, &what, &why),
        };
        let mut found = BTreeMap::from(texts);
        found.insert(Artifact::Slices, self.slices(id, title, language));
        let input = TemplateInput {
            id,
            title,
            intent: &why,
            domains: &[],
            profile: &Profile::empty(),
            language,
        };
        found.insert(Artifact::Intent, Artifact::Intent.template(input));
        found
    }

    fn english(&self, title: &str, what: &str, why: &str) -> [(Artifact, String); 9] {
        let (command, short) = (self.command(), self.commit.short());
        let bullets = bullets(&self.paths, Language::Off);
        let sessions = match self.sessions.as_slice() {
            [] => String::new(),
            named => format!(
                "\nSessions that it names: {}. What they archived goes by `git loopx archive --undo ID`.\n",
                named.join(", ")
            ),
        };
        let reason = format!("takes back commit {short}; no requirement is written anew");
        let reason = serde_json::Value::from(reason);
        let scope = serde_json::Value::from(self.scope());
        [
            (
                Artifact::Spec,
                format!(
                    "---\nunresolved_ambiguity_count: 0\ncurrent_round: 1\nambiguity_score: 0.0\n\
                     non_goals_resolved: true\ndecision_boundaries_resolved: true\n\
                     pressure_pass_complete: true\ntarget_domains: []\n---\n# {title}\n\n\
                     ## Desired outcome\n\nWhat {what} changed is as it was before it.\n\n{why}\n\n\
                     ## In scope\n\n{bullets}{sessions}\n\
                     ## Non-goals\n\nNothing else changes. What was wrong is mended in a session of its own.\n\n\
                     ## Decision boundaries\n\nConflicts with later commits are resolved in favour of the later commits; \
                     where that is not possible, ask.\n\n\
                     ## Success criteria\n\nThe verification of the slice passes.\n\n\
                     ## Execution inputs\n\n- `{command}`\n"
                ),
            ),
            (
                Artifact::Plan,
                format!(
                    "---\nscope: {scope}\nacceptance_criteria_testable: true\n\
                     verification_steps_resolved: true\n---\n# Plan\n\n\
                     ## Approach\n\n`{command}`, and nothing beside it.\n\n\
                     ## Acceptance criteria\n\n- What commit {short} changed is as it was before it.\n"
                ),
            ),
            (
                Artifact::Architecture,
                format!(
                    "# Architecture\n\n## Structure\n\nAs it was before {what}: {} change.\n",
                    counted(self.paths.len(), "file")
                ),
            ),
            (
                Artifact::DevelopmentPlan,
                format!("# Development plan\n\n## Steps\n\n1. `{command}`\n"),
            ),
            (
                Artifact::TestPlan,
                "# Test plan\n\n## Verification\n\nThe slice names the command; the tests of the repository run in CI.\n"
                    .to_owned(),
            ),
            (
                Artifact::Proposal,
                format!("# {title}\n\n## Why\n\n{why}\n\n## What changes\n\n{bullets}"),
            ),
            (
                Artifact::SpecDelta,
                format!("---\nbehaviour: unchanged\nreason: {reason}\n---\n\n# {title}\n"),
            ),
            (
                Artifact::Design,
                format!("# Design\n\n## Decision\n\nTake back {what} as a whole.\n\n## Consequences\n\nWhat it brought is missing until it comes again, with a review of its own.\n"),
            ),
            (
                Artifact::Tasks,
                format!("# Tasks\n\n## Tasks\n\n- [ ] 1.1 `{command}`\n"),
            ),
        ]
    }

    fn chinese(&self, title: &str, what: &str, why: &str) -> [(Artifact, String); 9] {
        let (command, short) = (self.command(), self.commit.short());
        let bullets = bullets(&self.paths, Language::Zh);
        let sessions = match self.sessions.as_slice() {
            [] => String::new(),
            named => format!(
                "\n它提到的会话:{}。它们归档的内容用 `git loopx archive --undo ID` 撤销。\n",
                named.join("、")
            ),
        };
        let reason = format!("撤销提交 {short};没有重写任何需求");
        let reason = serde_json::Value::from(reason);
        let scope = serde_json::Value::from(self.scope());
        [
            (
                Artifact::Spec,
                format!(
                    "---\nunresolved_ambiguity_count: 0\ncurrent_round: 1\nambiguity_score: 0.0\n\
                     non_goals_resolved: true\ndecision_boundaries_resolved: true\n\
                     pressure_pass_complete: true\ntarget_domains: []\n---\n# {title}\n\n\
                     ## 期望结果\n\n{what}改动的内容恢复到它之前的样子。\n\n{why}\n\n\
                     ## 范围内\n\n{bullets}{sessions}\n\
                     ## 非目标\n\n不改动其他任何内容。出错的地方在另一个会话中修正。\n\n\
                     ## 决策边界\n\n与之后的提交冲突时,以之后的提交为准;做不到时,先询问。\n\n\
                     ## 成功标准\n\n切片的验证通过。\n\n\
                     ## 执行输入\n\n- `{command}`\n"
                ),
            ),
            (
                Artifact::Plan,
                format!(
                    "---\nscope: {scope}\nacceptance_criteria_testable: true\n\
                     verification_steps_resolved: true\n---\n# 计划\n\n\
                     ## 方案\n\n`{command}`,除此之外什么也不做;与之后的提交冲突时,以之后的提交为准。\n\n\
                     ## 验收标准\n\n- 提交 {short} 改动的内容恢复到它之前的样子。\n"
                ),
            ),
            (
                Artifact::Architecture,
                format!(
                    "# 架构\n\n## 结构\n\n与{what}之前相同:改动 {} 个文件。没有新的部分,也没有新的依赖;各部分之间传递的内容不变,仍与它之前一样。\n",
                    self.paths.len()
                ),
            ),
            (
                Artifact::DevelopmentPlan,
                format!("# 开发计划\n\n## 步骤\n\n1. `{command}`\n2. 运行切片的验证,确认每个文件都恢复到之前的内容。\n3. 提交,并说明撤销的原因和之后要做的事。\n"),
            ),
            (
                Artifact::TestPlan,
                "# 测试计划\n\n## 验证\n\n切片给出验证的命令,它把改动过的文件与之前的内容逐一比较;仓库的测试在 CI 中运行,全部通过才算完成。\n".to_owned(),
            ),
            (
                Artifact::Proposal,
                format!("# {title}\n\n## 背景\n\n{why}\n\n## 变更内容\n\n{bullets}"),
            ),
            (
                Artifact::SpecDelta,
                format!("---\nbehaviour: unchanged\nreason: {reason}\n---\n\n# {title}\n"),
            ),
            (
                Artifact::Design,
                format!(
                    "# 设计\n\n## 决策\n\n整体撤销{what}。\n\n## 影响\n\n它带来的内容会缺失,直到经过单独的审查再次提交。\n"
                ),
            ),
            (
                Artifact::Tasks,
                format!("# 任务\n\n## 任务\n\n- [ ] 1.1 `{command}`\n"),
            ),
        ]
    }

    /// Slices with a single one, whose verification compares what nobody changed since with what it was. Where all was
    /// changed since, only a person knows what proves it: the template stays.
    fn slices(&self, id: &SessionId, title: &str, language: Language) -> String {
        if self.still.is_empty() {
            let input = TemplateInput {
                id,
                title,
                intent: "",
                domains: &[],
                profile: &Profile::empty(),
                language,
            };
            return Artifact::Slices.template(input);
        }
        let mut verification: Vec<String> = [
            "git",
            "--literal-pathspecs",
            "diff",
            "--exit-code",
            "--stat",
        ]
        .map(str::to_owned)
        .to_vec();
        verification.extend([self.before.to_string(), "--".to_owned()]);
        verification.extend(self.still.iter().cloned());
        let (short, before) = (self.commit.short(), self.before.short());
        let [behaviour, criterion] = match language {
            Language::Off => [
                format!("what commit {short} changed is as it was"),
                format!("git finds no difference to {before}"),
            ],
            Language::Zh => [
                format!("提交 {short} 改动的内容恢复到之前的样子"),
                format!("git 找不到与 {before} 的差异"),
            ],
        };
        let slices = json!([{
            "id": "VS-1",
            "type": "AFK",
            "behaviour": behaviour,
            "acceptance_criteria": [criterion],
            "verification": verification,
        }]);
        format!("{slices:#}\n")
    }

    /// Patterns for what the build may change: the paths, or their folders where there are many.
    fn scope(&self) -> Vec<String> {
        let mut found: Vec<String> = if self.paths.len() > NAMED {
            let top = |path: &String| match path.split_once('/') {
                Some((folder, _)) => format!("{}/**", literal(folder)),
                None => literal(path),
            };
            self.paths.iter().map(top).collect()
        } else {
            self.paths.iter().map(|path| literal(path)).collect()
        };
        found.sort();
        found.dedup();
        found
    }
}

/// A pattern for one path: signs that mean something in a pattern become `?`.
fn literal(path: &str) -> String {
    path.replace(['*', '[', ']', '{', '}', '\\', '!', ','], "?")
}

fn bullets(paths: &[String], language: Language) -> String {
    let mut text: String = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("- `{}`\n", path.replace(['`', '\n'], "?")))
        .collect();
    if paths.len() > NAMED {
        let more = paths.len() - NAMED;
        text.push_str(&match language {
            Language::Off => format!("- and {more} more\n"),
            Language::Zh => format!("- 以及另外 {more} 个\n"),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Revert;
    use crate::artifact::Artifact;
    use crate::change_pack;
    use crate::headings;
    use crate::policy::Language;
    use loopx_base::id::{Oid, SessionId};

    fn revert(paths: &[&str], still: &[&str]) -> Revert {
        let oid = |c: &str| Oid::parse(&c.repeat(40)).expect("an id");
        Revert {
            commit: oid("a"),
            before: oid("b"),
            is_merge: false,
            subject: "Add \"x\"".into(),
            author: "Ada <ada@example.org>".into(),
            paths: paths.iter().map(ToString::to_string).collect(),
            still: still.iter().map(ToString::to_string).collect(),
            sessions: Vec::new(),
        }
    }

    #[test]
    fn the_slice_compares_what_nobody_changed_since() {
        let id = SessionId::parse("demo").expect("an id");
        let slices = |revert: &Revert| {
            let all = revert.artifacts(&id, &revert.title(), None, Language::Off);
            change_pack::slices(all.get(&Artifact::Slices).map(String::as_str))
        };
        let found = slices(&revert(&["a b", "-c"], &["-c"])).expect("slices");
        assert_eq!(found[0].verification[6..], ["--", "-c"]);
        assert!(slices(&revert(&["a"], &[])).is_err(), "a person fills it");
    }

    #[test]
    fn the_documents_of_both_languages_have_the_same_sections_and_front_matter() {
        let id = SessionId::parse("demo").expect("an id");
        let revert = revert(&["a"], &["a"]);
        let of = |language| revert.artifacts(&id, "T", None, language);
        let (english, chinese) = (of(Language::Off), of(Language::Zh));
        assert!(english.keys().eq(chinese.keys()));
        let heads = |text: &str| -> Vec<String> {
            let heads = text.lines().filter_map(|line| line.strip_prefix("## "));
            heads.map(str::to_owned).collect()
        };
        let fields = |text: &str| -> Vec<String> {
            let front = text
                .strip_prefix("---\n")
                .and_then(|text| text.split_once("---"));
            let lines = front.map_or("", |(front, _)| front).lines();
            let names = lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned()));
            names.collect()
        };
        for (artifact, text) in &english {
            let other = &chinese[artifact];
            assert_eq!(fields(text), fields(other), "{artifact}");
            let (one, two) = (heads(text), heads(other));
            assert_eq!(one.len(), two.len(), "{artifact}");
            for (one, two) in one.iter().zip(&two) {
                assert!(headings::is_same(one, two), "{artifact}: {one} and {two}");
                assert_ne!(one, two, "{artifact}");
            }
        }
    }

    #[test]
    fn a_scope_of_many_paths_names_their_folders() {
        let many: Vec<String> = (0..200).map(|n| format!("src/{n}.rs")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(revert(&many, &[]).scope(), ["src/**"]);
        assert_eq!(revert(&["a[1].rs", "b"], &[]).scope(), ["a?1?.rs", "b"]);
    }
}
