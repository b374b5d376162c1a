use super::merge_rules;
use crate::rule::layout::Layout;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn keys(text: &str) -> BTreeSet<String> {
    let layout = Layout::of(text);
    layout
        .rules()
        .map(|(_, unit)| format!("{:?}", unit.key))
        .collect()
}

#[test]
fn what_two_sides_did_to_rules_is_merged() {
    for (what, base, ours, theirs, wanted) in [
        (
            "both append",
            "- a\n",
            "- a\n- x\n",
            "- a\n- y\n",
            "- a\n- x\n- y\n",
        ),
        (
            "no line end",
            "- a",
            "- a\n- x",
            "- a\n- y",
            "- a\n- x\n- y",
        ),
        (
            "the same rule twice",
            "- a\n",
            "- a\n- X.\n",
            "- a\n- x\n- y\n",
            "- a\n- X.\n- y\n",
        ),
        (
            "the same rule in two sections",
            "# A\n\n- a\n\n# B\n\n- b\n",
            "# A\n\n- a\n- x\n\n# B\n\n- b\n",
            "# A\n\n- a\n\n# B\n\n- b\n- x\n",
            "# A\n\n- a\n- x\n\n# B\n\n- b\n",
        ),
        (
            "one adds, one takes away",
            "- a\n- b\n",
            "- b\n",
            "- a\n- b\n- y\n",
            "- b\n- y\n",
        ),
        (
            "neighbours are edited",
            "- a\n- b\n",
            "- a1\n- b\n",
            "- a\n- b1\n",
            "- a1\n- b1\n",
        ),
        (
            "an edit and a new rule",
            "- a\n",
            "- a1\n",
            "- a\n- y\n",
            "- a1\n- y\n",
        ),
        (
            "before the first",
            "- a\n",
            "- x\n- a\n",
            "- y\n- a\n",
            "- x\n- y\n- a\n",
        ),
        (
            "a loose list stays loose",
            "# A\n\n- a\n",
            "# A\n\n- a\n\n- x\n",
            "# A\n\n- a\n\n- y\n",
            "# A\n\n- a\n\n- x\n\n- y\n",
        ),
        (
            "a tight list stays tight",
            "# A\n\n- a\n",
            "# A\n\n- x\n- a\n",
            "# A\n\n- y\n- a\n",
            "# A\n\n- x\n- y\n- a\n",
        ),
        (
            "a rule and a section behind it",
            "# A\n\n- a\n",
            "# A\n\n- a\n\n# B\n\n- b\n",
            "# A\n\n- a\n- y\n",
            "# A\n\n- a\n- y\n\n# B\n\n- b\n",
        ),
        (
            "two sections of one name",
            "# A\n\n- a\n",
            "# A\n\n- a\n\n# B\n\n- b\n",
            "# A\n\n- a\n\n# B\n\n- c\n",
            "# A\n\n- a\n\n# B\n\n- b\n- c\n",
        ),
        (
            "line endings follow who changed them",
            "- a\n",
            "- a\r\n- x\r\n",
            "- a\n- y\n",
            "- a\r\n- x\r\n- y\r\n",
        ),
        (
            "fields of the front matter",
            "---\ntitle: t\npriority: low\n---\n- a\n",
            "---\ntitle: u\npriority: low\n---\n- a\n- x\n",
            "---\ntitle: t\npriority: high\nkeywords:\n  - k\n---\n- a\n- y\n",
            "---\ntitle: u\npriority: high\nkeywords:\n  - k\n---\n- a\n- y\n- x\n",
        ),
    ] {
        assert_eq!(
            merge_rules(base, ours, theirs).as_deref(),
            Some(wanted),
            "{what}"
        );
        assert_eq!(
            merge_rules(base, theirs, ours).as_deref(),
            Some(wanted),
            "{what}, exchanged"
        );
    }
}

#[test]
fn what_a_person_has_to_choose_is_not_merged() {
    for (what, base, ours, theirs) in [
        ("one rule in two ways", "- a\n", "- a1\n", "- a2\n"),
        (
            "edited and taken away",
            "- a\n- b\n",
            "- a1\n- b\n",
            "- b\n",
        ),
        ("one line in two ways", "Text\n", "Text 1\n", "Text 2\n"),
        (
            "two new lines at one place",
            "- a\n",
            "- a\n\nOne\n",
            "- a\n\nTwo\n",
        ),
        (
            "a section that one side lost",
            "# A\n- a\n",
            "",
            "# A\n- a\n- b\n",
        ),
        (
            "one field in two ways",
            "---\ntitle: t\n---\n",
            "---\ntitle: u\n---\n",
            "---\ntitle: v\n---\n",
        ),
    ] {
        assert_eq!(merge_rules(base, ours, theirs), None, "{what}");
        assert_eq!(merge_rules(base, theirs, ours), None, "{what}, exchanged");
    }
}

/// A document: sections of rules, told by numbers.
fn page(sections: &[Vec<u8>], loose: bool, end: &str) -> String {
    let mut text = format!("---{end}title: Rules{end}---{end}");
    for (nth, rules) in sections.iter().enumerate() {
        text.push_str(&format!("## Section {nth}{end}{end}Why {nth}.{end}{end}"));
        for (at, rule) in rules.iter().enumerate() {
            if loose && at > 0 {
                text.push_str(end);
            }
            text.push_str(&format!("- Rule number {rule}{end}  more{end}"));
        }
        text.push_str(end);
    }
    text
}

/// Sections with other rules put in.
fn with(sections: &[Vec<u8>], added: &[(usize, usize, u8)]) -> Vec<Vec<u8>> {
    let mut all = sections.to_vec();
    for (section, at, rule) in added {
        let section = section % all.len();
        if let Some(rules) = all.get_mut(section) {
            let at = at % (rules.len() + 1);
            rules.insert(at, *rule);
        }
    }
    all
}

fn sections() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let rules = prop::collection::btree_set(0_u8..60, 0..18);
    (rules, 1_usize..4).prop_map(|(rules, count)| {
        let mut all = vec![Vec::new(); count];
        for (nth, rule) in rules.into_iter().enumerate() {
            all[nth % count].push(rule);
        }
        all
    })
}

fn additions(from: u8) -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    let rules = prop::collection::btree_set(from..from + 40, 0..6);
    let places = prop::collection::vec((0_usize..8, 0_usize..8), 6);
    (rules, places).prop_map(|(rules, places)| {
        let both = rules.into_iter().zip(places);
        both.map(|(rule, (section, at))| (section, at, rule))
            .collect()
    })
}

proptest! {
    /// Two sides that only add never conflict, and nothing is lost or written twice.
    #[test]
    fn two_sides_that_add_rules_merge(
        base in sections(),
        ours in additions(100),
        theirs in additions(120),
        loose in any::<bool>(),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let [o, t] = [&ours, &theirs].map(|added| page(&with(&base, added), loose, end));
        let b = page(&base, loose, end);
        let merged = merge_rules(&b, &o, &t);
        prop_assert!(merged.is_some(), "{b}\n-----\n{o}\n-----\n{t}");
        let merged = merged.unwrap_or_default();
        let wanted: BTreeSet<String> = keys(&o).union(&keys(&t)).cloned().collect();
        prop_assert_eq!(keys(&merged), wanted.clone());
        prop_assert_eq!(Layout::of(&merged).rules().count(), wanted.len());
        prop_assert_eq!(merge_rules(&b, &t, &o), Some(merged.clone()));
        // What is merged into one side again changes nothing.
        prop_assert_eq!(merge_rules(&o, &o, &merged), Some(merged.clone()));
        prop_assert_eq!(merge_rules(&t, &merged, &t), Some(merged.clone()));
        for line in merged.split_inclusive('\n') {
            prop_assert!(o.contains(line) || t.contains(line), "{line:?}");
        }
    }

    /// Bytes of one side are the result where the other side did nothing.
    #[test]
    fn one_side_alone_is_kept_byte_for_byte(base in sections(), ours in additions(100), loose in any::<bool>()) {
        let (b, o) = (page(&base, loose, "\n"), page(&with(&base, &ours), loose, "\n"));
        prop_assert_eq!(merge_rules(&b, &o, &b), Some(o.clone()));
        prop_assert_eq!(merge_rules(&b, &b, &o), Some(o.clone()));
        prop_assert_eq!(merge_rules(&b, &o, &o), Some(o));
    }

    /// Whatever the three texts are: there is a symmetric answer, and it has no rule that neither side has.
    #[test]
    fn any_three_texts_have_one_answer(
        texts in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "- a\n", "- b\n", "- c\n", "- a.\n", "\n", "# A\n", "# B\n", "text\n", "  more\n", "---\n", "x: 1\n",
                ]),
                0..10,
            ),
            3,
        ),
    ) {
        let [b, o, t] = [0, 1, 2].map(|at: usize| texts[at].concat());
        let merged = merge_rules(&b, &o, &t);
        prop_assert_eq!(&merged, &merge_rules(&b, &t, &o));
        if let Some(merged) = merged {
            let known: BTreeSet<String> = keys(&o).union(&keys(&t)).cloned().collect();
            prop_assert!(keys(&merged).is_subset(&known), "{b:?} {o:?} {t:?} -> {merged:?}");
        }
    }
}
