//! Real specs and deltas, damaged: no reader panics, what it tells of lies in the text, and one operation
//! changes its own block and no other byte.

use crate::spec_cases::shared;
use git_loopx::testing::FileMerge;
use loopx_spec::{
    Action, Bases, MarkerNames, PlanOptions, Span, Spec, fold, merge_spec, plan_domain, read_delta,
    read_spec,
};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const PLAIN: &str = "# demo\r\n\r\n## Purpose\r\nWhat it is for.\r\n\r\nRequirements\r\n------------\r\n\r\n\
    ### Requirement: A ###\r\n<!-- id: a -->\r\nIt SHALL a.\r\n\r\n```\r\n### Requirement: no\r\n```\r\n\r\n\
    #### Scenario: S\r\n- **GIVEN** x\r\n  1. y\r\n\r\n     | t |\r\n     |---|\r\n- **WHEN** z\r\n- **THEN** w\r\n\r\n\
    <!--\r\n### Requirement: hidden\r\n-->\r\n\r\n### Requirement: B\r\nIt MUST b.\r\n#### Scenario: T\r\n- **THEN** u";

const CHINESE: &str = "# 演示\n\n## 目的\n用途。\n\n## 需求\n\n### 需求：会话\n系统必须结束会话。\n\n\
    #### 场景：空闲\n- **当** 空闲\n- **那么** 结束\n";

/// Every Markdown file of the cases and the corpus, and some of our own.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all = vec![String::new(), PLAIN.to_owned(), CHINESE.to_owned()];
    let mut open = Vec::new();
    if let Some(shared) = shared() {
        open.extend([
            shared.join("cases/spec-merge"),
            shared.join("corpus/openspec"),
        ]);
    }
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if is_spec(&path) {
                all.extend(fs::read_to_string(&path));
            }
        }
    }
    all.sort();
    all.dedup();
    all
});

fn is_spec(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    ["spec.md", "base.md", "ours.md", "theirs.md"]
        .iter()
        .any(|one| name == *one)
}

#[derive(Clone, Debug)]
enum Damage {
    Drop(prop::sample::Index, usize),
    Twice(prop::sample::Index, usize),
    Move(prop::sample::Index, prop::sample::Index),
    Put(prop::sample::Index, &'static str),
    Crlf(prop::sample::Index, usize),
    Join(prop::sample::Index),
    Indent(prop::sample::Index, &'static str),
    Cut(prop::sample::Index),
    Bom,
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let put = [
        "## Requirements",
        "## ADDED Requirements",
        "## MODIFIED Requirements",
        "## REMOVED Requirements",
        "## RENAMED Requirements",
        "### Requirement: A",
        "### Requirement: B `c`",
        "### 需求：会话",
        "#### Scenario: S",
        "#### 场景：S",
        "#### ADDED Scenario: T",
        "#### REMOVED Scenario: S",
        "#### RENAMED Scenario: S -> T",
        "##### Deep",
        "- FROM: `### Requirement: A`",
        "- TO: `### Requirement: B`",
        "After: A",
        "<!-- id: x -->",
        "# Domain: other",
        "---",
        "===",
        "```",
        "~~~~",
        "<!--",
        "-->",
        "<div>",
        "> ### Requirement: quoted",
        "- ### Requirement: listed",
        "\t### Requirement: tab",
        "- **WHEN** x",
        "- **THEN** y\u{a0}e\u{301}",
        "<<<<<<< ours",
        "\u{b}\u{c}",
        "",
    ];
    let indent = prop::sample::select(vec![" ", "   ", "    ", "\t", "> ", "- ", "\u{feff}"]);
    prop_oneof![
        (at(), 1..6_usize).prop_map(|(a, n)| Damage::Drop(a, n)),
        (at(), 1..12_usize).prop_map(|(a, n)| Damage::Twice(a, n)),
        (at(), at()).prop_map(|(a, b)| Damage::Move(a, b)),
        (at(), prop::sample::select(put.to_vec())).prop_map(|(a, line)| Damage::Put(a, line)),
        (at(), 1..9_usize).prop_map(|(a, n)| Damage::Crlf(a, n)),
        at().prop_map(Damage::Join),
        (at(), indent).prop_map(|(a, with)| Damage::Indent(a, with)),
        at().prop_map(Damage::Cut),
        Just(Damage::Bom),
    ]
}

fn damaged(text: &str, all: &[Damage]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for one in all {
        let len = lines.len();
        let range = |a: &prop::sample::Index, n: usize| {
            let from = a.index(len.max(1)).min(len);
            from..(from + n).min(len)
        };
        match one {
            Damage::Drop(a, n) => drop(lines.drain(range(a, *n))),
            Damage::Twice(a, n) => {
                let range = range(a, *n);
                let again = lines[range.clone()].to_vec();
                lines.splice(range.end..range.end, again);
            }
            Damage::Move(a, b) if len > 0 => {
                let line = lines.remove(a.index(len));
                lines.insert(b.index(len), line);
            }
            Damage::Put(a, line) => lines.insert(a.index(len + 1), format!("{line}\n")),
            Damage::Crlf(a, n) => {
                for line in &mut lines[range(a, *n)] {
                    *line = match line.strip_suffix("\r\n") {
                        Some(bare) => format!("{bare}\n"),
                        None => line.replace('\n', "\r\n"),
                    };
                }
            }
            Damage::Join(a) if len > 0 => {
                let line = &mut lines[a.index(len)];
                *line = line.trim_end().to_owned();
            }
            Damage::Indent(a, with) if len > 0 => lines[a.index(len)].insert_str(0, with),
            Damage::Cut(a) if len > 0 => {
                let line = &mut lines[a.index(len)];
                let half = (0..=line.len() / 2)
                    .rev()
                    .find(|at| line.is_char_boundary(*at));
                line.truncate(half.unwrap_or(0));
            }
            Damage::Bom => lines.insert(0, "\u{feff}".to_owned()),
            Damage::Move(..) | Damage::Join(..) | Damage::Indent(..) | Damage::Cut(..) => {}
        }
    }
    lines.concat()
}

/// Real texts are long: most lines of one are left out before it is damaged, so that the damage meets.
fn text() -> impl Strategy<Value = String> {
    let at = any::<prop::sample::Index>;
    let damage = prop::collection::vec(damage(), 0..5);
    (
        prop::sample::select(TEXTS.clone()),
        at(),
        8..80_usize,
        damage,
    )
        .prop_map(|(text, from, count, damage)| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let from = from.index(lines.len() + 1);
            let kept: String = if lines.len() <= count {
                text.clone()
            } else {
                let head: String = lines.iter().take(6).copied().collect();
                head + &lines
                    .iter()
                    .skip(from.max(6))
                    .take(count)
                    .copied()
                    .collect::<String>()
            };
            damaged(&kept, &damage)
        })
}

fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::with_cases(asked.and_then(|n| n.parse().ok()).unwrap_or(cases))
    }
}

/// `inner` lies in `outer`, behind `after`, and says the line that it is on.
fn lies(text: &str, inner: &Span, outer: &Span, after: usize) -> Result<(), TestCaseError> {
    prop_assert!(
        outer.start <= inner.start && inner.end <= outer.end,
        "{inner:?} in {outer:?}"
    );
    prop_assert!(
        after <= inner.start && inner.start <= inner.end,
        "{inner:?} after {after}"
    );
    let before = text.get(..inner.start);
    prop_assert!(
        before.is_some() && text.get(..inner.end).is_some(),
        "{inner:?}"
    );
    let line = before.unwrap_or_default().matches('\n').count() + 1;
    // A lone carriage return ends a line too.
    if !text.replace("\r\n", "").contains('\r') {
        prop_assert_eq!(inner.line, line);
    }
    Ok(())
}

fn places(text: &str, spec: &Spec) -> Result<(), TestCaseError> {
    let whole = Span {
        start: 0,
        end: text.len(),
        line: 1,
    };
    let mut at = 0;
    for requirement in &spec.requirements {
        lies(text, &requirement.span, &whole, at)?;
        at = requirement.span.end;
        let mut within = requirement.span.start;
        for scenario in &requirement.scenarios {
            lies(text, &scenario.span, &requirement.span, within)?;
            within = scenario.span.end;
            for step in &scenario.steps {
                prop_assert!(scenario.span.line <= step.line);
            }
        }
    }
    let lines = text.lines().count() + text.matches('\r').count() + 1;
    for finding in &spec.findings {
        prop_assert!(finding.line <= lines, "{finding:?}");
    }
    Ok(())
}

fn common(a: &[u8], b: &[u8]) -> (usize, usize) {
    let ahead = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let behind = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    (ahead, behind)
}

/// Spec that a delta of one operation makes of a spec, where it may be applied.
fn plan(spec: &str, delta: &str) -> Option<String> {
    let delta = read_delta(delta.as_bytes(), "delta");
    let [one] = delta.domains.as_slice() else {
        return None;
    };
    let bases = Bases {
        default: Some(spec.to_owned()),
        ..Bases::default()
    };
    let outcome = plan_domain(
        "demo",
        &bases,
        Some(spec),
        one,
        &PlanOptions::default(),
        &FileMerge,
    );
    match outcome.action {
        Action::Write(text) if outcome.conflicts.is_empty() => Some(text),
        _ => None,
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn what_is_read_of_a_damaged_spec_lies_in_it(text in text()) {
        let spec = read_spec(text.as_bytes(), "spec.md").expect("UTF-8");
        places(&text, &spec)?;
        prop_assert_eq!(&read_spec(text.as_bytes(), "spec.md").expect("UTF-8"), &spec);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        text in text(),
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut all = text.into_bytes();
        let at = at.index(all.len() + 1);
        all.splice(at..at, bytes);
        let delta = read_delta(&all, "delta");
        if let Ok(spec) = read_spec(&all, "spec.md") {
            places(std::str::from_utf8(&all).expect("UTF-8"), &spec)?;
        } else {
            prop_assert!(delta.findings.iter().any(|f| f.id == "not_utf8"));
        }
    }

    #[test]
    fn what_is_read_of_a_damaged_delta_lies_in_it(text in text()) {
        let delta = read_delta(text.as_bytes(), "delta");
        let lines = text.split(['\n', '\r']).count();
        for domain in &delta.domains {
            for op in &domain.operations {
                prop_assert!((1..=lines).contains(&op.line), "{op:?}");
                let is_whole = op.after.is_some() || text.contains(op.text.trim_end());
                prop_assert!(is_whole, "{op:?}");
                // A position hint goes; the lines around it stay lines.
                for line in op.text.lines().filter(|_| !text.replace("\r\n", "").contains('\r')) {
                    prop_assert!(text.lines().any(|source| source == line), "{line:?} of {op:?}");
                }
            }
        }
        prop_assert_eq!(&read_delta(text.as_bytes(), "delta"), &delta);
    }

    #[test]
    fn one_operation_changes_its_own_block_and_no_other_byte(
        text in text(), which in any::<prop::sample::Index>(), other in text(),
    ) {
        let spec = read_spec(text.as_bytes(), "spec.md").expect("UTF-8");
        let added = "## ADDED Requirements\n\n### Requirement: Quite new\nIt SHALL be new.\n\n\
            #### Scenario: New\n- **WHEN** x\n- **THEN** y\n";
        if let Some(after) = plan(&text, added) {
            let (ahead, behind) = common(text.as_bytes(), after.as_bytes());
            prop_assert!(ahead + behind >= text.trim_end().len(), "added to\n{text}\n---\n{after}");
            prop_assert_eq!(read_spec(after.as_bytes(), "x").expect("UTF-8").requirements.len(),
                spec.requirements.len() + 1);
        }
        if !spec.requirements.is_empty() {
            let one = &spec.requirements[which.index(spec.requirements.len())];
            let block = &text[one.span.start..one.span.end];
            let removed = format!("## REMOVED Requirements\n\n### Requirement: {}\n**Reason**: x\n", one.name);
            if let Some(after) = plan(&text, &removed) {
                let (ahead, behind) = common(text.as_bytes(), after.as_bytes());
                prop_assert!(ahead + behind >= after.trim_end().len(), "removed from\n{text}\n---\n{after}");
                let gone = text.len() - after.len().min(text.len());
                prop_assert!(gone <= block.len() + 8, "{gone} bytes of {}", block.len());
            }
            let modified = format!(
                "## MODIFIED Requirements\n\n### Requirement: {}\nIt SHALL differ.\n\n#### ADDED Scenario: Quite new\n\
                 - **WHEN** x\n- **THEN** y\n", one.name);
            if let Some(after) = plan(&text, &modified) {
                let (ahead, behind) = common(text.as_bytes(), after.as_bytes());
                prop_assert!(ahead + behind + block.len() + 4 >= text.len(), "modified in\n{text}\n---\n{after}");
                let spec = read_spec(after.as_bytes(), "x").expect("UTF-8");
                let found = spec.requirements.iter().find(|r| fold(&r.name) == fold(&one.name));
                prop_assert!(found.is_some_and(|r| r.scenarios.len() == one.scenarios.len() + 1));
            }
        }
        // The driver's merge: a side that did nothing changes nothing.
        let names = MarkerNames::default();
        prop_assert_eq!(&merge_spec(&text, &text, &other, &FileMerge, names).text, &other);
        prop_assert_eq!(&merge_spec(&text, &other, &text, &FileMerge, names).text, &other);
        prop_assert_eq!(&merge_spec(&text, &other, &other, &FileMerge, names).text, &other);
        let (one, two) = (
            merge_spec(&text, &other, &spec_like(&text), &FileMerge, names),
            merge_spec(&text, &spec_like(&text), &other, &FileMerge, names),
        );
        prop_assert_eq!(one.conflicts.len(), two.conflicts.len());
        if one.conflicts.is_empty() {
            prop_assert_eq!(one.text, two.text);
        }
    }
}

#[test]
fn a_line_that_a_lone_carriage_return_ends_is_left_as_it_is() {
    let spec = "# demo\r\n\r\n## Requirements\r\n\r\n### Requirement: Alpha\r\nIt SHALL.\r\n\r\n\
        #### Scenario: A1\r\n- **THEN** alpha ends\r### Requirement: Beta\r\n\r\n\
        #### Scenario: B1\r\n- **THEN** beta ends\r\n";
    let added = "## ADDED Requirements\n\n### Requirement: New\nIt SHALL.\n\n#### Scenario: N\n- **THEN** z\n";
    let after = plan(spec, added).expect("a spec");
    assert!(after.starts_with(spec.trim_end()), "{after:?}");
}

#[test]
fn what_is_added_behind_an_html_block_is_read() {
    // No empty line stands between the blocks of this spec; only one ends the HTML.
    let spec = "# demo\n\n## Requirements\n\n### Requirement: Alpha\nIt SHALL.\n\n\
        #### Scenario: A1\n- **THEN** alpha ends\n### Requirement: Beta\n<div>\nIt SHALL.\n> \n\
        #### Scenario: B1\n- **THEN** beta ends\n";
    let added = "## ADDED Requirements\n\n### Requirement: New\nIt SHALL.\n\n#### Scenario: N\n- **THEN** z\n";
    let after = plan(spec, added).expect("a spec");
    let read = read_spec(after.as_bytes(), "spec.md").expect("UTF-8");
    assert_eq!(read.requirements.len(), 3, "{after}");
}

/// The text with an edit at its end.
fn spec_like(text: &str) -> String {
    format!(
        "{text}\n\n### Requirement: Last\nIt SHALL be last.\n\n#### Scenario: Z\n- **THEN** z\n"
    )
}
