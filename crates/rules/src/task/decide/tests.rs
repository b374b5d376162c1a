//! The rules of decisions, by tables.

use super::values::{Flag, Rating, Severity, Verdict};
use super::{AtCap, Decision, Dimension, Gate, Points, judge, weakest};
use crate::task::decide::judge::severity;
use crate::task::node::NodeKind;
use std::collections::BTreeSet;

fn points(text: &str) -> Points {
    Points::parse(text).expect("a score")
}

fn given(verdict: Verdict, score: Option<&str>) -> Decision {
    Decision {
        verdict: Some(verdict),
        score: score.map(points),
        ..Decision::default()
    }
}

/// A gate with a cap, after so many repairs.
fn gate(cap: u32, attempt: u32) -> Gate {
    Gate {
        cap,
        attempt,
        ..Gate::plain(Vec::new())
    }
}

/// Chain B16: what was given, and what counts.
#[test]
fn chain_b16_a_verdict_is_never_made_milder_and_a_low_score_makes_it_stricter() {
    use Verdict::{Escalate, Fix, Proceed};
    let table = [
        (Proceed, Some("40"), 0, Fix),
        (Proceed, Some("59.999"), 0, Fix),
        (Proceed, Some("60"), 0, Proceed),
        (Proceed, None, 0, Proceed),
        (Fix, Some("97"), 1, Fix),
        (Fix, None, 0, Fix),
        (Escalate, Some("100"), 0, Escalate),
        // Nothing is left to repair with.
        (Fix, Some("97"), 2, Escalate),
        (Proceed, Some("40"), 2, Escalate),
        (Proceed, Some("60"), 2, Proceed),
    ];
    for (verdict, score, attempt, wanted) in table {
        let judged = judge(
            NodeKind::Decision,
            &gate(2, attempt),
            &given(verdict, score),
        );
        assert_eq!(judged.verdict, wanted, "{verdict} {score:?} {attempt}");
        assert_eq!(judged.adjusted, verdict != wanted);
        assert_eq!(judged.why.is_empty(), verdict == wanted, "{judged:?}");
        // What a person decides is no fix that could proceed.
        let asks = wanted == Fix && score == Some("97") && attempt > 0;
        assert_eq!(judged.suggestion.is_some(), asks);
    }
}

fn rubric(at_cap: AtCap) -> Gate {
    let mut gate = gate(1, 0);
    gate.at_cap = at_cap;
    gate.rubric.scale = points("10");
    gate.rubric.pass = points("8");
    gate.rubric.warn = Some(points("6"));
    gate.rubric.dimensions = [("code", "25", Some("5")), ("a11y", "75", None)]
        .map(|(name, weight, minimum)| Dimension {
            warn: None,
            name: name.to_owned(),
            weight: points(weight),
            minimum: minimum.map(points),
        })
        .into();
    gate
}

fn scored(code: &str, a11y: &str, criticals: u32) -> Decision {
    Decision {
        scores: [("code", code), ("a11y", a11y)]
            .map(|(name, score)| (name.to_owned(), points(score)))
            .into(),
        criticals,
        ..Decision::default()
    }
}

/// Team D4, and the end of its loop.
#[test]
fn team_d4_a_rubric_makes_the_verdict() {
    use Verdict::{Escalate, Fix, Proceed};
    let table = [
        ("8", "8", 0, [Proceed, Proceed, Proceed]),
        ("8", "8", 1, [Fix, Escalate, Escalate]),
        ("7.9", "7.9", 0, [Fix, Escalate, Proceed]),
        ("6", "6", 0, [Fix, Escalate, Proceed]),
        ("5.999", "6", 0, [Fix, Escalate, Escalate]),
        // The whole passes, and one part does not.
        ("4.9", "10", 0, [Fix, Escalate, Proceed]),
    ];
    for (code, a11y, criticals, wanted) in table {
        let given = scored(code, a11y, criticals);
        let first = judge(NodeKind::Decision, &rubric(AtCap::Escalate), &given);
        let at_end = |at_cap| {
            let gate = Gate {
                attempt: 1,
                ..rubric(at_cap)
            };
            judge(NodeKind::Decision, &gate, &given)
        };
        let found = [
            first.verdict,
            at_end(AtCap::Escalate).verdict,
            at_end(AtCap::Accept).verdict,
        ];
        assert_eq!(found, wanted, "{code} {a11y} {criticals}");
        let warned = at_end(AtCap::Accept);
        let is_warned = wanted[0] == Fix && warned.verdict == Proceed;
        assert_eq!(warned.notes.len(), usize::from(is_warned));
    }
    let given = scored("9", "8.5", 0);
    assert_eq!(
        weakest(&rubric(AtCap::Accept), &given).as_deref(),
        Some("a11y")
    );
    let judged = judge(NodeKind::Decision, &rubric(AtCap::Accept), &given);
    assert_eq!(judged.score, Some(points("8.625")));
}

/// Chain C13: what cannot be read says nothing good.
#[test]
fn chain_c13_a_verdict_that_cannot_be_read_is_a_fix_with_score_0() {
    let given = Decision {
        parse_failed: true,
        ..Decision::default()
    };
    let judged = judge(NodeKind::Decision, &gate(1, 0), &given);
    assert_eq!(
        (judged.verdict, judged.score),
        (Verdict::Fix, Some(points("0")))
    );
    let accepting = Gate {
        at_cap: AtCap::Accept,
        attempt: 1,
        ..rubric(AtCap::Accept)
    };
    let judged = judge(NodeKind::Decision, &accepting, &given);
    assert_eq!(judged.verdict, Verdict::Escalate);
}

/// Chain C11: a goal that nothing shows to be met is not.
#[test]
fn chain_c11_a_goal_without_evidence_is_unmet() {
    let met = given(Verdict::Proceed, None);
    let judged = judge(NodeKind::Goal, &gate(1, 0), &met);
    assert_eq!((judged.verdict, judged.adjusted), (Verdict::Fix, true));
    let judged = judge(NodeKind::Goal, &gate(1, 1), &met);
    assert_eq!(judged.verdict, Verdict::Escalate);
}

fn views(ratings: &[u8], flag: Option<Flag>) -> Decision {
    let rating = |(at, rating): (usize, &u8)| Rating {
        view: format!("view-{at}"),
        rating: *rating,
        flags: flag.into_iter().filter(|_| at == 0).collect(),
    };
    Decision {
        ratings: ratings.iter().enumerate().map(rating).collect(),
        ..Decision::default()
    }
}

#[test]
fn the_severity_of_views_is_what_the_corrected_table_says() {
    use Severity::{High, Low, Medium};
    let table: [(&[u8], Option<Flag>, Option<Severity>); 11] = [
        (&[5, 4, 4], None, None),
        (&[3, 4], None, None),
        (&[3, 3, 4], None, Some(Low)),
        (&[2, 5, 5], None, Some(Medium)),
        (&[2, 3], None, Some(Medium)),
        (&[2, 2], None, Some(High)),
        (&[1, 4, 5], None, Some(Medium)),
        (&[5, 5, 5], Some(Flag::MissingRequirement), Some(High)),
        (&[5, 5, 5], Some(Flag::CriticalRisk), Some(High)),
        (&[5, 5, 5], Some(Flag::HighRisk), Some(High)),
        (&[5], None, None),
    ];
    for (ratings, flag, wanted) in table {
        assert_eq!(
            severity(&views(ratings, flag)),
            wanted,
            "{ratings:?} {flag:?}"
        );
    }
}

/// The contradiction of 4.13: there, every blocked discussion was HIGH.
#[test]
fn contradiction_severity_each_of_its_values_occurs() {
    let mut found = BTreeSet::new();
    for first in 1..=5_u8 {
        for second in 1..=5 {
            for third in 1..=5 {
                for flag in [None, Some(Flag::MissingRequirement), Some(Flag::HighRisk)] {
                    let ratings = [first, second, third];
                    let value = severity(&views(&ratings, flag));
                    found.insert(value);
                    // Nobody's low rating passes as agreement, and no flag as less than high.
                    assert!(ratings.iter().all(|one| *one > 2) || value.is_some());
                    assert!(flag.is_none() || value == Some(Severity::High));
                }
            }
        }
    }
    assert_eq!(found.len(), 4);
}

/// All 15,600 of 4.13: two to five views, each rating, with each flag and without. The table of the corrected function,
/// written in whole numbers.
#[test]
fn contradiction_severity_every_combination_has_one_and_each_occurs() {
    use Severity::{High, Low, Medium};
    let mut counts = std::collections::BTreeMap::new();
    let flags = [
        None,
        Some(Flag::MissingRequirement),
        Some(Flag::HighRisk),
        Some(Flag::CriticalRisk),
    ];
    for views_of in 2..=5_u32 {
        for number in 0..5_u32.pow(views_of) {
            let ratings: Vec<u8> = (0..views_of)
                .map(|at| u8::try_from(number / 5_u32.pow(at) % 5).expect("a digit") + 1)
                .collect();
            let sum: u32 = ratings.iter().map(|one| u32::from(*one)).sum();
            let least = *ratings.iter().min().expect("a rating");
            let most = *ratings.iter().max().expect("a rating");
            for flag in flags {
                let wanted = if flag.is_some() || sum * 2 < views_of * 5 {
                    Some(High)
                } else if least <= 2 || most - least >= 3 {
                    Some(Medium)
                } else if sum * 2 < views_of * 7 {
                    Some(Low)
                } else {
                    None
                };
                assert_eq!(
                    severity(&views(&ratings, flag)),
                    wanted,
                    "{ratings:?} {flag:?}"
                );
                *counts.entry(wanted).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(counts.values().sum::<i32>(), 15_600);
    assert_eq!(counts.len(), 4, "{counts:?}");
}

/// Team C1, C2, C4, C5: what follows from views.
#[test]
fn team_c1_to_c5_views_that_are_far_apart_make_one_revision() {
    use Verdict::{Escalate, Fix, Proceed};
    let table: [(&[u8], [Verdict; 3], usize); 4] = [
        (&[5, 4], [Proceed, Proceed, Proceed], 0),
        (&[3, 3, 4], [Proceed, Proceed, Proceed], 1),
        (&[2, 5, 5], [Proceed, Proceed, Proceed], 1),
        (&[1, 1, 5], [Fix, Escalate, Escalate], 0),
    ];
    for (ratings, wanted, notes) in table {
        let given = views(ratings, None);
        let first = judge(NodeKind::Decision, &gate(1, 0), &given);
        let second = judge(NodeKind::Decision, &gate(1, 1), &given);
        let last = Gate {
            is_final: true,
            ..gate(1, 0)
        };
        let last = judge(NodeKind::Decision, &last, &given);
        let found = [first.verdict, second.verdict, last.verdict];
        assert_eq!(found, wanted, "{ratings:?}");
        assert_eq!(first.notes.len(), notes, "{:?}", first.notes);
    }
}
