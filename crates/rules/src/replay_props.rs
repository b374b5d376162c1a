//! Laws of the core, held by random input: replaying operations, and reading what people write.

use super::artifact::Artifact;
use super::contract::Contract;
use super::gate;
use super::lease::Claim;
use super::op::{
    Answer, AnswerWord, BlockCause, Body, CodeVerdict, Delegation, DelegationStatus, Event,
    Evidence, Lane, LaneStatus, Operation, PlanLane, PlanVerdict, ReviewFinding, SessionBody,
    Smell, Target, Verdict, Write,
};
use super::policy::Language;
use super::profile::ProfileName;
use super::replay::{begin, fold, undoable};
use super::session::State;
use super::stage::{Stage, Transition};
use super::words::Word;
use super::{change_pack, markdown, policy, review};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_spec::front::{FrontMatter, set_field};
use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest,
};
use proptest::sample::select;
use std::collections::BTreeMap;

pub(super) fn oid(n: u8) -> Oid {
    Oid::parse(&format!("{n:02x}").repeat(20)).expect("an id")
}

pub(super) fn op_id(n: usize) -> OpId {
    OpId::parse(&format!("{n:026}")).expect("an id")
}

pub(super) fn id() -> SessionId {
    SessionId::parse("demo").expect("an id")
}

pub(super) fn evidence(task: bool, exit: i32, tree: u8) -> Evidence {
    Evidence {
        what: "test".into(),
        task: task.then(|| "VS-1".into()),
        argv: vec!["true".into()],
        exit: Some(exit),
        started: "2026-01-01T00:00:00Z".into(),
        millis: 1,
        tree: oid(tree),
        tree_kept: true,
        changed: Vec::new(),
        output: oid(0),
        output_bytes: 0,
        truncated: false,
        limit: None,
    }
}

fn verdict(approves: bool, target: Target) -> Verdict {
    Verdict {
        verdict: if approves {
            CodeVerdict::Approve
        } else {
            CodeVerdict::RequestChanges
        },
        target: Some(target),
        architecture: Smell::Pass,
        architecture_target: None,
        findings: if approves {
            Vec::new()
        } else {
            vec![ReviewFinding::read("high: no test").expect("a finding")]
        },
        base: None,
        head: None,
        onto: None,
        seen: None,
        tree: oid(1),
        files: BTreeMap::new(),
        commits: 1,
        dependence: Vec::new(),
    }
}

fn answer_word() -> impl Strategy<Value = AnswerWord> {
    select(&[AnswerWord::Fixed, AnswerWord::Open, AnswerWord::Wontfix][..])
}

/// Any event but `Started`, `Undone` and `Redone`.
pub(super) fn event() -> impl Strategy<Value = Event> {
    let transition = || select(&Transition::ALL[..]);
    let files = || any::<u8>().prop_map(|n| BTreeMap::from([(Artifact::Spec, oid(n))]));
    proptest::prop_oneof![
        1 => Just(Event::Saved),
        1 => Just(Event::Claimed),
        1 => Just(Event::Resumed),
        1 => select(&[BlockCause::Reported, BlockCause::NoProgress][..]).prop_map(|cause| {
            Event::Blocked { cause, missing: vec!["audit".into()] }
        }),
        1 => Just(Event::Drafted),
        1 => Just(Event::Abandoned),
        2 => (0..3_u8, any::<bool>()).prop_map(|(commit, late)| Event::Archived {
            commit: Some(oid(commit)),
            target: "main".into(),
            month: if late { "2026-02" } else { "2026-01" }.into(),
        }),
        1 => (0..3_u8, any::<u8>()).prop_map(|(archive, back)| Event::Unarchived {
            archive: oid(archive),
            commit: oid(back),
            target: "main".into(),
        }),
        1 => Just(Event::Unbound),
        1 => "[a-z]{1,5}".prop_map(|branch| Event::Bound { branch }),
        1 => any::<u8>().prop_map(|n| Event::Rebased { base: oid(n) }),
        1 => select(vec![ProfileName::standard(), ProfileName::deep()])
            .prop_map(|profile| Event::Clarified { profile }),
        1 => (select(vec![ProfileName::quick(), ProfileName::standard()]), select(&Stage::ALL[..4]))
            .prop_map(|(profile, stage)| Event::Reprofiled { profile, stage, head: None }),
        6 => (transition(), any::<u8>(), files(), any::<bool>()).prop_map(
            |(transition, content, files, completes)| Event::Approved {
                transition,
                content: oid(content),
                files,
                code: None,
                completes,
                head: None,
                amends: None,
            }
        ),
        6 => transition().prop_map(|transition| Event::Entered {
            transition,
            scope: Vec::new(),
            out_of_scope: Vec::new(),
            head: None,
        }),
        1 => (any::<bool>(), select(&[PlanVerdict::Approve, PlanVerdict::Iterate][..]), files())
            .prop_map(|(critic, verdict, files)| Event::PlanReviewed {
                lane: if critic { PlanLane::Critic } else { PlanLane::Architect },
                verdict,
                findings: Vec::new(),
                found: Vec::new(),
                files,
            }),
        1 => (select(&Stage::ALL[..]), any::<u32>())
            .prop_map(|(stage, by)| Event::Extended { stage, by }),
        1 => select(&[LaneStatus::Complete, LaneStatus::Failed][..]).prop_map(|status| {
            Event::LaneReported {
                lane: Lane::Execution,
                status,
                summary: String::new(),
                tree: oid(1),
            }
        }),
        1 => (0..3_u8, any::<bool>()).prop_map(|(n, open)| Event::Delegated {
            delegation: Delegation {
                id: format!("worker-{n}"),
                role: "worker".into(),
                status: if open { DelegationStatus::Active } else { DelegationStatus::Complete },
                blocking: true,
                summary: String::new(),
            }
        }),
        1 => (any::<bool>(), 0..2_i32, 0..3_u8).prop_map(|(task, exit, tree)| Event::Ran {
            evidence: evidence(task, exit, tree)
        }),
        1 => Just(Event::Waived { task: "VS-1".into() }),
        1 => any::<bool>().prop_map(|no_deslop| Event::Audited {
            tree: oid(1),
            blockers: Vec::new(),
            no_deslop,
        }),
        2 => (0..14_usize, answer_word()).prop_map(|(n, answer)| Event::Answered {
            answers: vec![Answer { op: op_id(n), nth: 0, answer }],
            tree: None,
        }),
        1 => (any::<bool>(), select(&[Target::Build, Target::Plan, Target::Clarify][..]))
            .prop_map(|(approves, target)| Event::Reviewed {
                verdict: verdict(approves, target)
            }),
    ]
}

pub(super) fn operation(
    n: usize,
    seq: u64,
    body: impl Into<Body>,
    write: Option<(u8, Option<u8>)>,
) -> Operation {
    let writes = write.map(|(at, to)| {
        let artifact = Artifact::ALL[usize::from(at) % Artifact::ALL.len()];
        (
            artifact,
            Write {
                from: None,
                to: to.map(oid),
            },
        )
    });
    // Whatever the event: a claim rides on any of them.
    let claim = n.is_multiple_of(3).then(|| Claim {
        owner: format!("worktree-{}", n % 2),
        agent: None,
        seconds: 60,
        over: None,
    });
    let body = match body.into() {
        Body::Session(step) => Body::Session(SessionBody { claim, ..step }),
        other => other,
    };
    Operation {
        format: 1,
        seq,
        op: op_id(n),
        after: Vec::new(),
        at: "2026-01-01T00:00:00Z".into(),
        by: Person::parse(if n.is_multiple_of(2) {
            "Ada <a@x>"
        } else {
            "Bob <b@x>"
        }),
        committer: None,
        reason: None,
        writes: writes.into_iter().collect(),
        others: BTreeMap::new(),
        entity: None,
        tx: None,
        weight: body.weight(),
        body,
    }
}

pub(super) fn started() -> Operation {
    let event = Event::Started {
        uid: "u".into(),
        title: "Demo".into(),
        profile: ProfileName::standard(),
        stage: None,
        branch: None,
        base: None,
        issues: Vec::new(),
    };
    operation(0, 1, event, None)
}

/// A start, and operations after it as several writers could have made them: numbers repeat, and an
/// undo or a redo names any operation, itself undone or not.
fn history() -> impl Strategy<Value = Vec<Operation>> {
    let step = (
        event(),
        proptest::option::of((any::<u8>(), proptest::option::of(any::<u8>()))),
        proptest::option::weighted(0.2, any::<proptest::sample::Index>()),
        0..2_u64,
    );
    vec(step, 0..14).prop_map(|steps| {
        let mut ops = vec![started()];
        let mut seq = 2;
        for (at, (event, write, undone, more)) in steps.into_iter().enumerate() {
            let event = match undone {
                Some(index) if ops.len() > 1 => {
                    let named = vec![ops[1 + index.index(ops.len() - 1)].op.clone()];
                    match seq % 3 {
                        0 => Body::Log(Word::Redone { redone: named }),
                        _ => Body::Log(Word::Undone { undone: named }),
                    }
                }
                _ => event.into(),
            };
            ops.push(operation(at + 1, seq, event, write));
            seq += more;
        }
        ops
    })
}

/// State without the traces of who touched it last.
fn without_traces(mut state: State, like: &State) -> State {
    state.seq = like.seq;
    state.last = like.last.clone();
    state.touched = like.touched.clone();
    state
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_fold_knows_no_arrival_order_and_no_duplicates(
        ops in history(),
        order in vec(any::<proptest::sample::Index>(), 0..40),
    ) {
        let expected = fold(&id(), &ops).expect("a state");
        let mut arrived = ops.clone();
        for index in order {
            let at = index.index(arrived.len());
            arrived.push(arrived[at].clone());
            arrived.swap(0, at);
        }
        prop_assert_eq!(fold(&id(), &arrived).expect("a state"), expected);
    }

    #[test]
    fn one_operation_after_another_gives_what_a_replay_gives(ops in history()) {
        let ops: Vec<Operation> = ops
            .into_iter()
            .filter(|op| !op.is_about_others())
            .collect();
        let mut state = begin(&id(), &ops[0]).expect("a state");
        for op in &ops[1..] {
            state.apply(op);
        }
        prop_assert_eq!(state, fold(&id(), &ops).expect("a state"));
    }

    #[test]
    fn an_undo_gives_the_state_before_and_its_undo_the_state_after(
        ops in history(),
        event in event(),
        write in proptest::option::of((any::<u8>(), proptest::option::of(any::<u8>()))),
    ) {
        let before = fold(&id(), &ops).expect("a state");
        let mut ops = ops;
        let next = ops.len();
        ops.push(operation(next, before.seq + 1, event, write));
        let after = fold(&id(), &ops).expect("a state");
        let is_note = ops[next].is_passed_over();
        prop_assert_eq!(
            undoable(&ops).first().map(|op| &op.op) == Some(&op_id(next)),
            !is_note
        );

        let undo = Word::Undone { undone: vec![op_id(next)] };
        ops.push(operation(next + 1, before.seq + 2, undo, None));
        let undone = fold(&id(), &ops).expect("a state");
        prop_assert_eq!(undone.seq, before.seq + 2);
        prop_assert_eq!(without_traces(undone, &before), before);

        for redo in [
            Word::Redone { redone: vec![op_id(next)] },
            // As older programs understood it.
            Word::Undone { undone: vec![op_id(next + 1)] },
        ] {
            let mut ops = ops.clone();
            ops.push(operation(next + 2, after.seq + 2, redo, None));
            let redone = fold(&id(), &ops).expect("a state");
            prop_assert_eq!(&without_traces(redone, &after), &after);
        }
    }

    #[test]
    fn what_is_written_is_read_back(ops in history()) {
        for op in &ops {
            let bytes = op.to_bytes().expect("bytes");
            prop_assert_eq!(&Operation::parse(&bytes, "op", &oid(1)).expect("an operation"), op);
        }
        let state = fold(&id(), &ops).expect("a state");
        let bytes = state.to_bytes().expect("bytes");
        prop_assert_eq!(State::parse(&bytes, "state", || Ok(Vec::new())).expect("a state"), Some(state));
    }

    /// No approval opens a stage by itself, and a stage is entered by an approved transition or another profile alone.
    #[test]
    fn a_stage_is_reached_by_approved_transitions_or_another_profile_only(ops in history()) {
        let state = fold(&id(), &ops).expect("a state");
        let approved = |to: Stage| {
            ops.iter().any(|op| matches!(op.event(), Some(Event::Approved { transition, .. }) if transition.to() == to))
        };
        let has_profile = ops.iter().any(|op| matches!(op.event(), Some(Event::Reprofiled { .. })));
        prop_assert!(state.stage == Stage::Clarify || has_profile || approved(state.stage));
    }

    #[test]
    fn no_text_ends_the_readers(text in text()) {
        read_everything(&text);
    }

    #[test]
    fn no_bytes_end_the_readers_of_records(bytes in vec(any::<u8>(), 0..200)) {
        drop(Operation::parse(&bytes, "op", &oid(1)));
        drop(State::parse(&bytes, "state", || Ok(Vec::new())));
        read_everything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_field_that_is_set_is_read_and_the_rest_is_left_alone(
        round in 0..100_u32,
        others in proptest::collection::btree_map("[a-z]{1,6}", "[a-z0-9 ]{0,8}", 0..5),
        body in "(\\PC|\n){0,60}",
        crlf in any::<bool>(),
    ) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("---{newline}");
        for (key, value) in &others {
            text.push_str(&format!("{key}: \"{value}\"{newline}"));
        }
        text.push_str(&format!("---{newline}{body}"));
        let set = set_field(&text, "current_round", &round.to_string());
        let front = FrontMatter::parse(&set).expect("front matter");
        prop_assert_eq!(front.count("current_round"), Ok(round));
        prop_assert_eq!(&set[front.body_offset()..], body.as_str());
        let again = set_field(&set, "current_round", &round.to_string());
        prop_assert_eq!(again, set);
    }
}

/// Text as people and their editors make it: fragments of what the readers look for, and noise.
fn text() -> impl Strategy<Value = String> {
    let fragments = [
        "---\n",
        "---",
        "...\n",
        "\r\n",
        "\u{feff}",
        "ambiguity_score: 0.1\n",
        "current_round: 3\n",
        "scope: [a, b\n",
        "scope: {a: b}\n",
        "a: &x 1\n",
        "b: *x\n",
        "!!str c: d\n",
        "- item\n",
        "? x\n",
        "## Changes\n",
        "# ",
        "```\n",
        "<!--",
        "-->",
        "[{\"id\":",
        "\"}]",
        "\0",
        "\t",
        "é",
        "会",
        "# Domain: x\n",
        "## ADDED Requirements\n",
        "[gates]\n",
        "always_allow = [\"**\"]\n",
        "'",
        "\"",
        "|\n",
        ">\n",
        "%YAML 1.2\n",
    ];
    vec(
        proptest::prop_oneof![
            4 => select(fragments.to_vec()).prop_map(str::to_owned),
            1 => "\\PC{0,8}",
        ],
        0..16,
    )
    .prop_map(|parts| parts.concat())
}

fn read_everything(text: &str) {
    if let Ok(front) = FrontMatter::parse(text) {
        drop(front.count("current_round"));
        drop(front.ratio("ambiguity_score"));
        drop(front.boolean("a"));
        drop(front.list("scope"));
        drop(front.text("completion_claim"));
        assert!(text.is_char_boundary(front.body_offset()));
    }
    for artifact in Artifact::ALL {
        drop(gate::faults(artifact, text));
    }
    drop(Contract::read(text));
    drop(review::scope_blockers(Some(text)));
    drop(review::record_blockers(Some(text), &[], Language::Off));
    drop(change_pack::slices(Some(text)));
    drop(markdown::sections(text));
    let _ = markdown::letters(text);
    drop(policy::Policy::parse(text, "loopx.toml"));
    drop(set_field(text, "current_round", "3"));
    if let Ok(folded) = SessionId::fold(text) {
        assert_eq!(SessionId::parse(folded.as_str()), Ok(folded));
    }
}
