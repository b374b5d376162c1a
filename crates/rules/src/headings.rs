//! The headings of artifacts in the languages that templates have: one table, by which gates find a section whatever
//! language it is written in. A heading that is not in it stands for itself alone.

use super::policy::Language;

/// The heading as the profiles name it, and in Chinese.
const HEADINGS: [(&str, &str); 29] = [
    ("Acceptance criteria", "验收标准"),
    ("Approach", "方案"),
    ("Architecture", "架构"),
    ("Assumptions and risks", "假设与风险"),
    ("Changes", "改动"),
    ("Checks", "检查"),
    ("Consequences", "影响"),
    ("Decision", "决策"),
    ("Decision boundaries", "决策边界"),
    ("Desired outcome", "期望结果"),
    ("Execution inputs", "执行输入"),
    ("Findings", "发现"),
    ("In scope", "范围内"),
    ("Limitations", "限制"),
    ("Non-goals", "非目标"),
    ("Open questions", "待解问题"),
    ("Options considered", "备选方案"),
    ("Problem", "问题"),
    ("Risks", "风险"),
    ("Scope", "范围"),
    ("Steps", "步骤"),
    ("Structure", "结构"),
    ("Success criteria", "成功标准"),
    ("Tasks", "任务"),
    ("Trade-offs", "权衡"),
    ("Verdict", "结论"),
    ("Verification", "验证"),
    ("What changes", "变更内容"),
    ("Why", "背景"),
];

/// Tells whether two headings name the same section, whatever their letter case and their language.
pub fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
        || row(one).is_some_and(|found| row(other) == Some(found))
}

/// The heading as it is written in a language.
pub fn written(title: &str, language: Language) -> &str {
    match (row(title), language) {
        (Some(at), Language::Zh) => HEADINGS[at].1,
        _ => title,
    }
}

/// The language of a text, by the first of its headings that templates have.
pub fn language(text: &str) -> Language {
    let titles = text.lines().filter_map(|line| line.strip_prefix("## "));
    let known = titles.map(str::trim).find(|title| is_known(title));
    match known.filter(|title| !title.is_ascii()) {
        Some(_) => Language::Zh,
        None => Language::Off,
    }
}

/// Tells whether templates have the heading.
pub fn is_known(title: &str) -> bool {
    row(title).is_some()
}

fn row(title: &str) -> Option<usize> {
    HEADINGS
        .iter()
        .position(|(english, chinese)| english.eq_ignore_ascii_case(title) || *chinese == title)
}

#[cfg(test)]
mod tests {
    use super::{is_same, written};
    use crate::policy::Language;

    #[test]
    fn a_heading_is_the_same_section_in_every_language() {
        assert!(is_same("Non-goals", "non-Goals"));
        assert!(is_same("Non-goals", "非目标") && is_same("非目标", "non-goals"));
        assert!(is_same("Folgen", "folgen"));
        assert!(!is_same("Non-goals", "范围") && !is_same("Folgen", "影响"));
        assert_eq!(written("why", Language::Zh), "背景");
        assert_eq!(written("why", Language::Off), "why");
        assert_eq!(written("Folgen", Language::Zh), "Folgen");
    }
}
