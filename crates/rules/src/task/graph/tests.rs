//! The graph against a naive model, and the cases that its rules were written for.

use super::{Graph, Now, Wait};
use crate::stage::Stage;
use crate::task::node::{Details, Edge, Node, NodeFile, NodeKind, OnFailed, TaskId};
use crate::task::status::Status;
use crate::task::world::UNSEEN;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

fn node(id: &str, on: &[&str]) -> Node {
    Node {
        id: TaskId::parse(id).expect("an id"),
        title: id.to_owned(),
        kind: NodeKind::Work,
        priority: Node::PRIORITY,
        role: None,
        stage: Stage::Build,
        depends_on: on.iter().map(|on| edge(on)).collect(),
        waits: Vec::new(),
        parent: None,
        shared: None,
        scenarios: Vec::new(),
        reads: Vec::new(),
        deferred: Vec::new(),
        skill: None,
        outputs: Vec::new(),
        exclusive: Vec::new(),
        parallel: true,
        cap: Node::CAP,
        time_limit: None,
        turn: None,
        on_failed: OnFailed::Hold,
        part: None,
        revision_of: None,
        gate: None,
        line: 1,
        details: Details::default().into(),
    }
}

/// `?` behind the id: a skipped node will do.
fn edge(on: &str) -> Edge {
    Edge {
        on: TaskId::parse(on.trim_end_matches('?')).expect("an id"),
        optional: on.ends_with('?'),
    }
}

fn touching(id: &str, path: &str) -> Node {
    let mut node = node(id, &[]);
    let file = NodeFile {
        path: path.to_owned(),
        action: None,
        risk: None,
    };
    node.edit(|details| details.files.push(file));
    node
}

fn ids(graph: &Graph<'_>, places: &[usize]) -> Vec<String> {
    let ids = places.iter().map(|at| graph.nodes[*at].id.to_string());
    ids.collect()
}

fn now(statuses: &[Status]) -> Now<'_> {
    Now {
        statuses,
        stage: Stage::Build,
        world: &UNSEEN,
        capacity: None,
    }
}

const PENDING: Status = Status::Pending;

#[test]
fn j1_the_order_is_the_same_on_every_run() {
    let nodes = [
        node("001", &[]),
        node("002", &["001"]),
        node("003", &[]),
        node("004", &["002", "003"]),
    ];
    let graph = Graph::of(&nodes);
    assert_eq!(ids(&graph, &graph.order()), ["001", "003", "002", "004"]);
    let path = graph.critical_path(&[PENDING; 4]);
    assert_eq!(ids(&graph, &path), ["001", "002", "004"]);
}

#[test]
fn j2_a_wave_holds_what_may_run_side_by_side() {
    let nodes = [
        node("A", &[]),
        node("B", &["A"]),
        node("C", &["B"]),
        node("D", &["B"]),
    ];
    let graph = Graph::of(&nodes);
    let waves = graph.waves(&[PENDING; 4], None);
    assert_eq!(waves, [vec![0], vec![1], vec![2, 3]]);
    let five: Vec<Node> = ["1", "2", "3", "4", "5"].map(|id| node(id, &[])).into();
    let graph = Graph::of(&five);
    let waves = graph.waves(&[PENDING; 5], Some(3));
    assert_eq!(waves, [vec![0, 1, 2], vec![3, 4]]);
    assert_eq!(
        graph.waves(&[PENDING; 5], Some(0)),
        Vec::<Vec<usize>>::new()
    );
    let same = [touching("1", "src/a.rs"), touching("2", "src/a.rs")];
    let graph = Graph::of(&same);
    assert_eq!(graph.waves(&[PENDING; 2], None), [vec![0], vec![1]]);
}

/// Nodes that depend on something that failed wait, with what depends on them in turn; the rest goes on.
#[test]
fn s172_what_is_blocked_holds_what_depends_on_it_and_nothing_else() {
    let nodes = [
        node("A", &[]),
        node("B", &["A"]),
        node("C", &[]),
        node("D", &["B"]),
    ];
    let graph = Graph::of(&nodes);
    let statuses = [Status::Failed, PENDING, PENDING, PENDING];
    assert_eq!(ids(&graph, &graph.ready(now(&statuses))), ["C"]);
    let blocked = graph.blocked(&statuses);
    let blocked: Vec<Vec<String>> = blocked.iter().map(|one| ids(&graph, one)).collect();
    assert_eq!(blocked, [vec!["B", "A"], vec!["D", "B", "A"]]);
}

#[test]
fn i3_a_cycle_is_printed() {
    let nodes = [
        node("T-0", &["T-1"]),
        node("T-1", &["t-2"]),
        node("T-2", &["T-1"]),
    ];
    let cycle = Graph::of(&nodes).cycle().expect("a cycle");
    let cycle: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
    assert_eq!(cycle, ["T-1", "T-2", "T-1"]);
    let own = [node("T-1", &["T-1"])];
    assert_eq!(Graph::of(&own).cycle().expect("a cycle").len(), 2);
    let mut parts = [node("P", &[]), node("C", &["P"])];
    parts[1].parent = Some(parts[0].id.clone());
    assert!(
        Graph::of(&parts).cycle().is_some(),
        "a part waits for its whole"
    );
    assert!(Graph::of(&parts).order().is_empty());
}

/// Ids of ten thousand tasks in chains were hashed twice each, for a claim that names none.
#[test]
fn ids_of_a_chain_are_not_looked_up() {
    let mut nodes = vec![node("A", &[]), node("B", &["A"]), node("C", &["B"])];
    let graph = Graph::of(&nodes);
    assert_eq!(ids(&graph, &graph.ready(now(&[Status::Pending; 3]))), ["A"]);
    assert!(graph.places.get().is_none());
    // Whoever waits for something farther away, or writes it otherwise, has it looked up.
    nodes.push(node("D", &["a"]));
    let graph = Graph::of(&nodes);
    assert!(graph.places.get().is_some());
    assert_eq!(graph.needs(3).collect::<Vec<_>>(), [(0, false)]);
}

#[test]
fn b1_ready_is_what_waits_for_nothing() {
    let nodes = [node("A", &[]), node("T", &["A"]), node("U", &["A?"])];
    let graph = Graph::of(&nodes);
    for (status, t, u) in [
        (Status::Completed, true, true),
        (Status::Skipped, false, true),
        (Status::Failed, false, false),
        (Status::Claimed, false, false),
        (PENDING, false, false),
    ] {
        let statuses = [status, PENDING, PENDING];
        let ready = graph.ready(now(&statuses));
        assert_eq!((ready.contains(&1), ready.contains(&2)), (t, u), "{status}");
    }
    let waits = graph.waits(1, now(&[Status::Failed, PENDING, PENDING]));
    assert_eq!(waits[0].words(), "A (failed)");
}

#[test]
fn a_part_waits_for_what_its_whole_waits_for_and_the_whole_for_its_parts() {
    let mut nodes = [
        node("X", &[]),
        node("P", &["X", "C"]),
        node("C", &[]),
        node("D", &[]),
    ];
    for part in [2, 3] {
        nodes[part].parent = Some(nodes[1].id.clone());
    }
    let graph = Graph::of(&nodes);
    assert_eq!(graph.cycle(), None);
    assert_eq!(graph.ready(now(&[PENDING; 4])), [0]);
    let x_done = [Status::Completed, PENDING, PENDING, PENDING];
    assert_eq!(graph.ready(now(&x_done)), [2, 3]);
    let parts_done = [
        Status::Completed,
        PENDING,
        Status::Completed,
        Status::Skipped,
    ];
    assert_eq!(graph.ready(now(&parts_done)), [1]);
}

#[test]
fn team_a2_a4_what_waits_for_two_waits_for_both_and_two_that_wait_for_one_go_together() {
    let nodes = [
        node("PLAN", &[]),
        node("IMPL", &["PLAN"]),
        node("DEV-FE", &["PLAN"]),
        node("TEST", &["IMPL"]),
        node("QA-FE", &["DEV-FE"]),
        node("REVIEW", &["TEST", "QA-FE"]),
    ];
    let graph = Graph::of(&nodes);
    let done = Status::Completed;
    let ready = |statuses: [Status; 6]| ids(&graph, &graph.ready(now(&statuses)));
    let after_plan = [done, PENDING, PENDING, PENDING, PENDING, PENDING];
    assert_eq!(ready(after_plan), ["IMPL", "DEV-FE"]);
    let qa_works = [done, done, done, done, Status::Claimed, PENDING];
    assert_eq!(ready(qa_works), [""; 0]);
    assert_eq!(ready([done, done, done, done, done, PENDING]), ["REVIEW"]);
}

#[test]
fn what_somebody_has_for_himself_and_the_number_of_hands_hold_the_rest() {
    let mut nodes = [
        node("A", &[]),
        node("B", &[]),
        node("C", &[]),
        touching("D", "x"),
        node("E", &[]),
    ];
    nodes[0].exclusive = vec!["db".into()];
    nodes[1].exclusive = vec!["db".into()];
    nodes[2].parallel = false;
    let files = nodes[3].files.clone();
    nodes[0].edit(|details| details.files = files);
    nodes[4].stage = Stage::Review;
    let graph = Graph::of(&nodes);
    let statuses = [Status::Claimed, PENDING, PENDING, PENDING, PENDING];
    let held = now(&statuses);
    let words = |at: usize| {
        graph
            .waits(at, held)
            .iter()
            .map(Wait::words)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(1), ["db, which A has"]);
    assert_eq!(words(2), ["A, which runs alone or beside which it may not"]);
    assert_eq!(words(4), ["stage review"]);
    // What meets a claimed node's files comes last, and is ready all the same.
    assert_eq!(ids(&graph, &graph.ready(held)), ["D"]);
    let one = Now {
        capacity: Some(1),
        ..held
    };
    assert_eq!(graph.ready(one), Vec::<usize>::new());
    let none = Now {
        capacity: Some(0),
        statuses: &[PENDING; 5],
        stage: Stage::Build,
        world: &UNSEEN,
    };
    assert_eq!(graph.ready(none), Vec::<usize>::new());
    assert_eq!(graph.waits(0, none), [Wait::Capacity { capacity: 0 }]);
}

#[test]
fn b4_what_failed_stalls_what_waits_for_it_and_is_named() {
    let nodes = [
        node("IMPL", &[]),
        node("TEST", &["IMPL"]),
        node("REVIEW", &["TEST"]),
        node("LOST", &["nobody"]),
    ];
    let graph = Graph::of(&nodes);
    let statuses = [Status::Failed, PENDING, PENDING, PENDING];
    assert!(graph.is_stalled(now(&statuses)));
    let chains: Vec<Vec<String>> = graph
        .blocked(&statuses)
        .iter()
        .map(|one| ids(&graph, one))
        .collect();
    assert_eq!(chains[0], ["TEST", "IMPL"]);
    assert_eq!(chains[1], ["REVIEW", "TEST", "IMPL"]);
    assert_eq!(chains[2], ["LOST"]);
    assert!(
        !graph.is_stalled(now(&[Status::Completed; 4])),
        "that is the end"
    );
}

/// Fault 11 of the step chains: a step between is skipped, and what stands behind the open gate goes on.
#[test]
fn fault_11_no_gate_is_passed_by_skipping_what_stands_behind_it() {
    let mut nodes = [
        node("A", &[]),
        node("GATE", &["A"]),
        node("DUMMY", &["GATE"]),
        node("B", &["DUMMY?"]),
    ];
    nodes[1].kind = NodeKind::Checkpoint;
    let graph = Graph::of(&nodes);
    let done = Status::Completed;
    for (gate, dummy, is_ready) in [
        (PENDING, Status::Skipped, false),
        (Status::Claimed, Status::Skipped, false),
        // It was open, and is asked anew.
        (PENDING, done, false),
        (done, Status::Skipped, true),
        (Status::Skipped, Status::Skipped, true),
    ] {
        let statuses = [done, gate, dummy, PENDING];
        let ready = graph.ready(now(&statuses));
        assert_eq!(ready.contains(&3), is_ready, "{gate} {dummy}");
        let said: Vec<String> = graph
            .waits(3, now(&statuses))
            .iter()
            .map(Wait::words)
            .collect();
        assert_eq!(
            said.contains(&format!("GATE ({gate})")),
            !is_ready,
            "{said:?}"
        );
    }
}

#[derive(Clone, Debug)]
struct Drawn {
    nodes: Vec<Node>,
    statuses: Vec<Status>,
}

/// Nodes whose edges lead anywhere, so that some have cycles, and some lead to nothing.
fn drawn() -> impl Strategy<Value = Drawn> {
    let all = [
        PENDING,
        Status::Claimed,
        Status::Completed,
        Status::Failed,
        Status::Skipped,
    ];
    let one = (
        vec((0..9_usize, any::<bool>()), 0..3),
        proptest::option::weighted(0.2, 0..8_usize),
        proptest::option::weighted(0.3, 0..2_usize),
        proptest::bool::weighted(0.9),
        select(all.to_vec()),
        proptest::bool::weighted(0.2),
    );
    vec(one, 1..8).prop_map(|rows| {
        let mut drawn = Drawn {
            nodes: Vec::new(),
            statuses: Vec::new(),
        };
        for (at, (edges, parent, exclusive, parallel, status, is_gate)) in
            rows.into_iter().enumerate()
        {
            let mut new = node(&format!("N{at}"), &[]);
            new.depends_on = edges
                .into_iter()
                .map(|(to, optional)| Edge {
                    on: TaskId::parse(&format!("n{to}")).expect("an id"),
                    optional,
                })
                .collect();
            new.parent = parent.and_then(|to| TaskId::parse(&format!("N{to}")));
            new.exclusive = exclusive.iter().map(|n| format!("r{n}")).collect();
            new.parallel = parallel;
            if is_gate {
                new.kind = NodeKind::Checkpoint;
            }
            drawn.nodes.push(new);
            drawn.statuses.push(status);
        }
        drawn
    })
}

/// Tells whether a node is ready, by the rules as they are said, without a thought for time.
fn is_ready(drawn: &Drawn, at: usize) -> bool {
    let Drawn { nodes, statuses } = drawn;
    let find = |id: &TaskId| nodes.iter().position(|node| node.id.key() == id.key());
    let parent = |at: usize| nodes[at].parent.as_ref().and_then(find);
    let is_below = |mut low: usize, high: usize| {
        for _ in 0..=nodes.len() {
            match parent(low) {
                _ if low == high => return true,
                Some(next) => low = next,
                None => return false,
            }
        }
        false
    };
    let meets = |edge: &Edge| {
        find(&edge.on).is_some_and(|to| match statuses[to] {
            Status::Completed => true,
            Status::Skipped => edge.optional,
            _ => false,
        })
    };
    let own = nodes[at].depends_on.iter().all(meets);
    let above = (0..nodes.len())
        .filter(|high| *high != at && is_below(at, *high))
        .all(|high| {
            let mut edges = nodes[high].depends_on.iter();
            edges.all(|edge| find(&edge.on).is_some_and(|to| is_below(to, high)) || meets(edge))
        });
    let parts = (0..nodes.len())
        .filter(|part| parent(*part) == Some(at))
        .all(|part| statuses[part].is_terminal());
    let beside = (0..nodes.len())
        .filter(|other| *other != at && statuses[*other] == Status::Claimed)
        .all(|other| {
            let shares = nodes[at]
                .exclusive
                .iter()
                .any(|one| nodes[other].exclusive.contains(one));
            !shares && nodes[at].parallel && nodes[other].parallel
        });
    // A gate is before what waits for it, and before what waits for that; and so on.
    let mut before = vec![at];
    for _ in 0..=nodes.len() {
        for low in before.clone() {
            let waits = |to: usize| waits_for(drawn, low, to, &find, &is_below);
            let new: Vec<usize> = (0..nodes.len()).filter(|to| waits(*to)).collect();
            before.extend(new);
        }
        before.sort_unstable();
        before.dedup();
    }
    let is_open_gate =
        |gate: usize| nodes[gate].kind == NodeKind::Checkpoint && !statuses[gate].is_terminal();
    let gates = before
        .iter()
        .all(|gate| *gate == at || !is_open_gate(*gate));
    statuses[at] == PENDING && own && above && parts && beside && gates
}

/// Tells whether one node waits for another itself: the node says so, its whole says so of what is no part of the
/// whole, or the node is the other's whole.
fn waits_for(
    drawn: &Drawn,
    low: usize,
    to: usize,
    find: &impl Fn(&TaskId) -> Option<usize>,
    is_below: &impl Fn(usize, usize) -> bool,
) -> bool {
    let names = |from: usize| {
        let mut edges = drawn.nodes[from].depends_on.iter();
        edges.any(|edge| find(&edge.on) == Some(to))
    };
    let above = (0..drawn.nodes.len()).filter(|high| *high != low && is_below(low, *high));
    names(low)
        || above
            .into_iter()
            .any(|high| names(high) && !is_below(to, high))
        || drawn.nodes[to].parent.as_ref().and_then(find) == Some(low)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_is_ready_is_what_the_rules_say(drawn in drawn()) {
        let graph = Graph::of(&drawn.nodes);
        let ready = graph.ready(now(&drawn.statuses));
        for at in 0..drawn.nodes.len() {
            prop_assert_eq!(ready.contains(&at), is_ready(&drawn, at), "N{}", at);
        }
    }

    #[test]
    fn waves_do_everything_once_and_nothing_before_what_it_waits_for(drawn in drawn(), limit in 1..4_usize) {
        let graph = Graph::of(&drawn.nodes);
        let all = vec![PENDING; drawn.nodes.len()];
        let mut statuses = all.clone();
        for wave in graph.waves(&all, Some(limit)) {
            prop_assert!(!wave.is_empty() && wave.len() <= limit);
            for at in &wave {
                prop_assert_eq!(statuses[*at], PENDING);
                prop_assert!(graph.unmet(*at, &statuses).is_empty());
            }
            for at in wave {
                statuses[at] = Status::Completed;
            }
        }
        let is_whole = graph.cycle().is_none() && graph.missing.is_empty();
        prop_assert_eq!(is_whole, statuses.iter().all(|one| *one == Status::Completed));
        prop_assert_eq!(graph.cycle().is_some(), graph.order().is_empty());
    }

    #[test]
    fn whoever_takes_what_is_ready_comes_to_an_end(drawn in drawn()) {
        let graph = Graph::of(&drawn.nodes);
        let mut statuses = vec![PENDING; drawn.nodes.len()];
        for _ in 0..=drawn.nodes.len() {
            let Some(at) = graph.ready(now(&statuses)).first().copied() else { break };
            statuses[at] = Status::Completed;
        }
        let is_done = statuses.iter().all(|one| *one == Status::Completed);
        prop_assert_eq!(is_done, !graph.is_stalled(now(&statuses)));
        if is_done {
            prop_assert!(graph.critical_path(&statuses).is_empty());
        } else {
            prop_assert!(graph.cycle().is_some() || !graph.missing.is_empty());
        }
    }
}

/// A chain as long as no plan is: what a node waits for is asked a few times, not once for each other one.
#[test]
fn the_waves_and_the_chains_of_a_long_plan_are_one_walk() {
    const LONG: usize = 5_000;
    let id = |at: usize| format!("T-{at}");
    for gate in [None, Some(0), Some(LONG / 2)] {
        let mut nodes: Vec<Node> = (0..LONG)
            .map(|at| match at {
                0 => node(&id(0), &[]),
                at => node(&id(at), &[&id(at - 1)]),
            })
            .collect();
        if let Some(gate) = gate {
            nodes[gate].kind = NodeKind::Checkpoint;
        }
        let graph = Graph::of(&nodes);
        let statuses = vec![Status::Pending; LONG];
        assert_eq!(graph.waves(&statuses, None).len(), LONG);
        assert_eq!(graph.critical_path(&statuses).len(), LONG);
        assert!(graph.blocked(&statuses).is_empty());
        let looks = graph.looks.get();
        assert!(looks <= 5 * LONG, "{looks}");
    }
    // What is a part of a part, and so on: each waits for its part alone.
    let mut nodes: Vec<Node> = (0..LONG).map(|at| node(&id(at), &[])).collect();
    for at in 1..LONG {
        nodes[at].parent = Some(nodes[at - 1].id.clone());
    }
    let graph = Graph::of(&nodes);
    assert_eq!(graph.waves(&vec![Status::Pending; LONG], None).len(), LONG);
    assert!(graph.cycle().is_none());
}
