//! Turns of clones: what one clone may do to one of its sessions, and histories of such turns at random.

use super::CLONES;
use loopx_base::id::Oid;
use loopx_rules::artifact::Artifact;
use loopx_rules::op::{
    AnswerWord, CodeVerdict, Delegation, DelegationStatus, Event, Lane, LaneStatus, PlanLane,
    PlanVerdict, ReviewFinding, Smell, Target, Verdict,
};
use loopx_rules::profile::ProfileName;
use loopx_rules::stage::{Stage, Transition};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::{Index, select};
use std::collections::BTreeMap;

pub(super) const ARTIFACTS: [Artifact; 5] = [
    Artifact::Intent,
    Artifact::Spec,
    Artifact::Plan,
    Artifact::Tasks,
    Artifact::ReviewReport,
];

/// Act of one clone on one of its sessions.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// A session of one of two names; the number makes its uid.
    Start(bool, u8, Option<u8>),
    Save(Edit),
    Remove(Index),
    /// The way on from the stage, or the first way back.
    Approve(bool, Option<Edit>),
    /// Enter the stage of the transition that is armed, whichever it is.
    Enter,
    Event(Box<Event>),
    /// Word that answers the first finding.
    Answer(AnswerWord),
    Bind(u8),
    Run(i32, u8),
    Archive(bool),
    /// The archive of one month or the other is taken back.
    Unarchive(bool),
    Undo(usize),
    Redo(usize),
    /// Conflict by its number, and whether its operation counts.
    Settle(Index, bool),
    /// A side of an artifact in conflict.
    Choose(Index),
    Note(u8),
    Rename,
    /// Record of a newer program: its weight, and whether it changes a file that nobody knows here.
    Unknown(u8, Option<u8>),
    /// Fetch of all that another clone has.
    Fetch(usize),
}

/// Change of one line of an artifact.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// Index into [`ARTIFACTS`].
    pub(super) artifact: usize,
    pub(super) line: usize,
    pub(super) text: u8,
}

fn edit() -> impl Strategy<Value = Edit> {
    (0..ARTIFACTS.len(), 0..6_usize, 0..5_u8).prop_map(|(artifact, line, text)| Edit {
        artifact,
        line,
        text,
    })
}

pub(super) fn tree() -> Oid {
    Oid::parse(&"1".repeat(40)).expect("an id")
}

fn reported(status: LaneStatus) -> Event {
    Event::LaneReported {
        lane: Lane::Execution,
        status,
        summary: String::new(),
        tree: tree(),
    }
}

fn reviewed(verdict: CodeVerdict) -> Event {
    Event::Reviewed {
        verdict: Verdict {
            verdict,
            target: Some(Target::Plan),
            architecture: Smell::Pass,
            architecture_target: None,
            findings: match verdict {
                CodeVerdict::Approve => Vec::new(),
                _ => vec![ReviewFinding::read("high: no test").expect("a finding")],
            },
            base: None,
            head: None,
            onto: None,
            seen: None,
            tree: tree(),
            files: BTreeMap::new(),
            commits: 1,
            dependence: Vec::new(),
        },
    }
}

fn delegated(status: DelegationStatus) -> Event {
    Event::Delegated {
        delegation: Delegation {
            id: "worker".into(),
            role: "worker".into(),
            status,
            blocking: true,
            summary: String::new(),
        },
    }
}

fn event() -> impl Strategy<Value = Event> {
    proptest::prop_oneof![
        select(vec![ProfileName::standard(), ProfileName::deep()])
            .prop_map(|profile| Event::Clarified { profile }),
        select(vec![
            (ProfileName::quick(), Stage::Build),
            (ProfileName::lite(), Stage::Plan),
            (ProfileName::standard(), Stage::Clarify),
        ])
        .prop_map(|(profile, stage)| Event::Reprofiled {
            profile,
            stage,
            head: None
        }),
        select(&[Transition::BuildToPlan, Transition::DoneToBuild][..]).prop_map(|transition| {
            Event::Entered {
                transition,
                scope: Vec::new(),
                out_of_scope: Vec::new(),
                head: None,
            }
        }),
        Just(Event::Drafted),
        select(&[PlanVerdict::Approve, PlanVerdict::Iterate][..]).prop_map(|verdict| {
            Event::PlanReviewed {
                lane: PlanLane::Critic,
                verdict,
                findings: Vec::new(),
                found: Vec::new(),
                files: BTreeMap::new(),
            }
        }),
        (1..4_u32).prop_map(|by| Event::Extended {
            stage: Stage::Build,
            by
        }),
        select(&[LaneStatus::Complete, LaneStatus::Failed][..]).prop_map(reported),
        select(&[DelegationStatus::Active, DelegationStatus::Complete][..]).prop_map(delegated),
        Just(Event::Waived { task: "1".into() }),
        any::<bool>().prop_map(|no_deslop| Event::Audited {
            tree: tree(),
            blockers: Vec::new(),
            no_deslop,
        }),
        Just(Event::Claimed),
        Just(Event::Resumed),
        select(&[CodeVerdict::Approve, CodeVerdict::RequestChanges][..]).prop_map(reviewed),
        Just(Event::Refreshed),
        Just(Event::Rebased { base: tree() }),
        Just(Event::Abandoned),
        Just(Event::Unbound),
    ]
}

/// Turns, each with its clone and its session.
pub(super) fn turns() -> impl Strategy<Value = Vec<(usize, u8, Turn)>> {
    let some = proptest::option::of::<_>;
    let turn = proptest::prop_oneof![
        1 => (any::<bool>(), any::<u8>(), some(0..2_u8))
            .prop_map(|(name, uid, branch)| Turn::Start(name, uid, branch)),
        10 => edit().prop_map(Turn::Save),
        1 => any::<Index>().prop_map(Turn::Remove),
        8 => (proptest::bool::weighted(0.2), proptest::option::weighted(0.3, edit()))
            .prop_map(|(back, edit)| Turn::Approve(back, edit)),
        5 => Just(Turn::Enter),
        4 => event().prop_map(|event| Turn::Event(Box::new(event))),
        2 => select(&[AnswerWord::Fixed, AnswerWord::Open][..]).prop_map(Turn::Answer),
        1 => (0..2_u8).prop_map(Turn::Bind),
        1 => (0..2_i32, 0..3_u8).prop_map(|(exit, text)| Turn::Run(exit, text)),
        2 => any::<bool>().prop_map(Turn::Archive),
        1 => any::<bool>().prop_map(Turn::Unarchive),
        6 => (1..4_usize).prop_map(Turn::Undo),
        4 => (1..4_usize).prop_map(Turn::Redo),
        3 => (any::<Index>(), any::<bool>()).prop_map(|(which, keep)| Turn::Settle(which, keep)),
        2 => any::<Index>().prop_map(Turn::Choose),
        2 => any::<u8>().prop_map(Turn::Note),
        1 => Just(Turn::Rename),
        1 => (0..3_u8, some(0..3_u8)).prop_map(|(weight, file)| Turn::Unknown(weight, file)),
        9 => (0..CLONES).prop_map(Turn::Fetch),
    ];
    vec((0..CLONES, any::<u8>(), turn), 1..36)
}
