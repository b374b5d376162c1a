use super::{
    CAP, Cut, Document, FINDINGS, Factor, Level, Mode, Place, Round, Standing, Status, Verdict,
    Wish,
};
use super::{is_phase, phase_order};
use std::collections::BTreeMap;

#[test]
fn three_factors_of_five_choose_the_mode_and_else_a_person_is_asked() {
    let all: Vec<Factor> = Factor::WORDS
        .iter()
        .map(|word| word.parse().expect("a factor"))
        .collect();
    assert_eq!(all.len(), 5);
    for (high, low, wanted) in [
        (3, 2, Some(Mode::Progressive)),
        (5, 0, Some(Mode::Progressive)),
        (0, 3, Some(Mode::Direct)),
        (2, 3, Some(Mode::Direct)),
        (2, 2, None),
        (0, 0, None),
    ] {
        let levels = |at: usize| match at {
            at if at < high => Level::High,
            at if at < high + low => Level::Low,
            _ => Level::Medium,
        };
        let factors: BTreeMap<Factor, Level> = all
            .iter()
            .enumerate()
            .map(|(at, one)| (*one, levels(at)))
            .collect();
        assert_eq!(Wish::Auto.mode(&factors), wanted, "{high} high, {low} low");
        assert_eq!(Wish::Direct.mode(&factors), Some(Mode::Direct));
    }
}

#[test]
fn a_wave_is_named_by_its_number_its_layer_or_the_name_of_that() {
    let cut = Cut {
        layers: vec!["MVP".to_owned(), "Usable".to_owned()],
        ..Cut::default()
    };
    for (word, wanted) in [
        ("1", Some(1)),
        ("L0", Some(1)),
        ("l1", Some(2)),
        ("usable", Some(2)),
        ("0", None),
        ("Refined", None),
        ("L", None),
        ("-1", None),
    ] {
        assert_eq!(cut.wave(word), wanted, "{word}");
    }
    assert_eq!(
        (cut.layer(2), cut.layer(3), cut.layer(0)),
        (Some("Usable"), None, None)
    );
}

#[test]
fn the_document_names_milestones_phases_and_their_criteria() {
    let text = "# Roadmap: notes\n\n## Milestone: v1\n\n### Phase 1: Login\n\nIt is first.\n\n**Success criteria**:\n\
                - [ ] Nobody is locked out\n- It answers in `1 s`\n\nMore.\n- no criterion\n\n```\n### Phase 9: code\n```\n\
                ## Milestone v2: Later\n### Phase 2.1 - Between\n#### Success Criteria\n1. It holds\n### Phase x: none\n";
    let document = Document::read(text);
    let phases: Vec<(&str, &str, Option<&str>, usize)> = (document.phases.iter())
        .map(|one| {
            (
                one.number.as_str(),
                one.title.as_str(),
                one.milestone.as_deref(),
                one.criteria.len(),
            )
        })
        .collect();
    assert_eq!(
        phases,
        [
            ("1", "Login", Some("v1"), 2),
            ("2.1", "Between", Some("v2"), 1)
        ]
    );
    assert_eq!(
        document.phases[0].criteria,
        ["Nobody is locked out", "It answers in 1 s"]
    );
    assert!(document.has_milestone("v2") && !document.has_milestone("v3"));
    let listed = Document::read(
        "## Phases\n- [ ] **Phase 1: Login** - first\n- [x] **Phase 2: Notes**\n- other\n",
    );
    let numbers: Vec<&str> = listed
        .phases
        .iter()
        .map(|one| one.number.as_str())
        .collect();
    assert_eq!(numbers, ["1", "2"]);
    assert_eq!(
        Document::read("no heading\n\u{fffd}# Phase\n# \n"),
        Document::default()
    );
}

#[test]
fn a_phase_is_a_number_and_two_labels_never_name_one() {
    for (text, is_it) in [
        ("1", true),
        ("2.1", true),
        ("01", false),
        ("0", false),
        ("1.", false),
        ("a", false),
        ("", false),
        ("1.2.3.4", false),
    ] {
        assert_eq!(is_phase(text), is_it, "{text}");
    }
    let mut phases = ["10", "2.1", "2", "1"];
    phases.sort_by_key(|phase| phase_order(phase));
    assert_eq!(phases, ["1", "2", "2.1", "10"]);
    assert_eq!(Place::default().wave(), None);
}

fn round(verdict: Verdict) -> Round {
    Round {
        verdict,
        content: (verdict == Verdict::Approve).then(|| "c1".to_owned()),
        text: String::new(),
        by: "Ada".to_owned(),
        at: String::new(),
    }
}

#[test]
fn a_roadmap_is_ready_when_it_is_approved_or_when_no_round_is_left_and_never_with_errors() {
    let scope = || round(Verdict::Scope);
    let approve = || round(Verdict::Approve);
    let spent = || (0..CAP).map(|_| scope()).collect::<Vec<_>>();
    let again = || [vec![approve()], spent()].concat();
    for (rounds, sound, status, forced) in [
        (vec![], true, Status::Planning, false),
        (vec![scope()], true, Status::Refining, false),
        (vec![scope(), approve()], true, Status::Ready, false),
        (vec![approve()], false, Status::Refining, false),
        (vec![approve(), scope()], true, Status::Refining, false),
        (spent(), true, Status::Ready, true),
        (spent(), false, Status::Refining, false),
        (again(), true, Status::Ready, true),
        (
            [spent(), vec![approve(), scope()]].concat(),
            true,
            Status::Refining,
            false,
        ),
    ] {
        let standing = Standing::of(&rounds, "c1", sound);
        assert_eq!(
            (standing.status, standing.forced),
            (status, forced),
            "{rounds:?}"
        );
    }
    assert!(Standing::of(&spent(), "c1", false).is_spent());
}

#[test]
fn an_approval_counts_for_the_content_that_it_names() {
    let bare = Round {
        content: None,
        ..round(Verdict::Approve)
    };
    for (last, now, is_ready) in [
        (round(Verdict::Approve), "c1", true),
        (round(Verdict::Approve), "c2", false),
        (bare, "c1", false),
    ] {
        let standing = Standing::of(std::slice::from_ref(&last), now, true);
        assert_eq!(standing.status == Status::Ready, is_ready, "{last:?}");
        assert_eq!(standing.changed, !is_ready, "{last:?}");
    }
}

#[test]
fn the_catalogue_is_sorted() {
    assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
}
