//! Random walks: whatever is decided, done, failed and retried, the plan stays a graph, nothing is repaired more often
//! than its cap, the measure of design 5 falls, and taking the last step back gives what was before.

use super::{Decision, Rating, Standing, Verdict, expand, files, results, standing, statuses};
use crate::op::{Body, Event, Operation, SessionBody};
use crate::replay::fold;
use crate::replay_props::{id, op_id, operation, started};
use crate::session::State;
use crate::stage::Stage;
use crate::task::early::early;
use crate::task::event::{Claim, Completion, TaskEvent};
use crate::task::file::read;
use crate::task::graph::{Graph, Now, Wait};
use crate::task::node::Node;
use crate::task::status::Status;
use crate::task::world::UNSEEN;
use crate::words::Word;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::Index;

/// Two gates in a row, the first with a gate in its template, the second with views.
const PLAN: &str = r#"{"id":"A","title":"A"}
{"id":"G","title":"G","kind":"decision","depends_on":["A"],"gate":{"cap":2,"repair":[{"id":"x","title":"{gate} {attempt}"},{"id":"in","title":"In","kind":"decision","depends_on":["x"],"gate":{"cap":1,"repair":[{"id":"y","title":"Y"}]}}]}}
{"id":"B","title":"B","depends_on":["G"]}
{"id":"V","title":"V","kind":"decision","depends_on":["B"],"gate":{"views":["one"],"cap":2}}
{"id":"C","title":"C","depends_on":["V"]}"#;
/// Number of nodes that the plan can have with every repair in it: 5, of G 2 times (2 and a gate, and once 1 and a
/// gate), of V 2 times (1 and a gate).
const MOST: usize = 5 + 2 * (3 + 2) + 2 * 2;

fn now(ops: &[Operation]) -> (State, Vec<Node>, Vec<Status>) {
    let state = fold(&id(), ops).expect("a state");
    let nodes = expand(read(PLAN).expect("a plan").nodes, &state);
    let decided = statuses(&nodes, &state, &std::cell::OnceCell::new()).into_iter();
    let status = |(node, decided): (&Node, Option<Status>)| {
        decided.unwrap_or_else(|| state.task_status(&node.id))
    };
    let statuses = nodes.iter().zip(decided).map(status).collect();
    (state, nodes.into_owned(), statuses)
}

/// The steps that the rules let somebody take, as records.
fn legal(state: &State, nodes: &[Node], statuses: &[Status]) -> Vec<TaskEvent> {
    let graph = Graph::of(nodes);
    let stage = Stage::Build;
    let now = Now {
        statuses,
        stage,
        world: &UNSEEN,
        capacity: None,
    };
    let mut found = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let task = node.id.clone();
        let waits = graph.waits(at, now);
        let is_early = waits.iter().any(|wait| matches!(wait, Wait::Task { .. }));
        match standing(node, state) {
            Some(Standing::Open) if !is_early => {
                for verdict in [Verdict::Proceed, Verdict::Fix, Verdict::Escalate] {
                    let views = node.gate.iter().flat_map(|gate| gate.views.clone());
                    let ratings = views.map(|view| Rating {
                        view,
                        rating: 5,
                        flags: Vec::new(),
                    });
                    let decision = Decision {
                        verdict: Some(verdict),
                        ratings: ratings.collect(),
                        judged: results(&graph, at, state),
                        saw: files(&graph, at, state),
                        ..Decision::default()
                    };
                    found.push(TaskEvent::Decided {
                        task: task.clone(),
                        decision,
                    });
                }
            }
            Some(Standing::Escalated(_)) if !is_early => found.push(TaskEvent::Opened {
                task,
                judged: results(&graph, at, state),
                saw: files(&graph, at, state),
                outcome: None,
            }),
            Some(_) => {}
            None => match (statuses[at], state.claim_of(&node.id).cloned()) {
                (Status::Pending, _) if waits.is_empty() => found.push(TaskEvent::Claimed {
                    task,
                    claim: Claim {
                        owner: "w".into(),
                        agent: None,
                        seconds: 1,
                        ..Claim::default()
                    },
                }),
                (Status::Claimed, Some(claim)) => {
                    found.push(TaskEvent::Completed {
                        task: task.clone(),
                        claim: claim.clone(),
                        done: Completion::default(),
                    });
                    found.push(TaskEvent::Failed { task, claim });
                }
                (Status::Completed | Status::Failed, _) => {
                    found.push(TaskEvent::Retried { task, agent: None })
                }
                _ => {}
            },
        }
    }
    found
}

/// A session that begins in the build.
fn building() -> Operation {
    let mut op = started();
    if let Body::Session(SessionBody {
        event: Event::Started { stage, .. },
        ..
    }) = &mut op.body
    {
        *stage = Some(Stage::Build);
    }
    op
}

fn recorded(ops: &[Operation], body: impl Into<crate::op::Body>) -> Operation {
    let at = ops.len();
    let mut op = operation(at, at as u64 + 1, body, None);
    op.after = vec![ops[at - 1].op.clone()];
    // A word without a reason does not count.
    op.reason = Some("for a reason".to_owned());
    op
}

/// Repairs that are left, counted down by each fix, then steps that are left of what is open.
fn measure(nodes: &[Node], statuses: &[Status]) -> (usize, usize) {
    let steps = |(node, status): (&Node, &Status)| match status {
        Status::Pending if node.gate.is_some() => 2,
        Status::Pending => 2,
        Status::Claimed => 1,
        _ => 0,
    };
    let open = nodes.iter().zip(statuses).map(steps).sum();
    (MOST - nodes.len(), open)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_sequence_of_decisions_escapes_the_caps(choices in vec(any::<Index>(), 0..60)) {
        let mut ops = vec![building()];
        for choice in choices {
            let (state, nodes, statuses) = now(&ops);
            let legal = legal(&state, &nodes, &statuses);
            // Something leads on as long as something is open: it never stalls.
            if legal.is_empty() {
                prop_assert!(statuses.iter().all(|status| status.is_terminal()));
                break;
            }
            let event = choice.get(&legal).clone();
            let op = recorded(&ops, event.clone());
            ops.push(op);
            let (after, new, new_statuses) = now(&ops);
            prop_assert!(after.conflicts.is_empty(), "{:?}", after.conflicts);
            // Whoever reads it asks what whoever wrote it was asked.
            let early = early(&new, &after, &UNSEEN);
            prop_assert!(early.is_empty(), "{early:?}");
            prop_assert!(new.len() <= MOST, "{} nodes", new.len());
            let graph = Graph::of(&new);
            prop_assert!(graph.cycle().is_none());
            let mut ids: Vec<String> = new.iter().map(|node| node.id.key()).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), new.len());
            // Work that is done anew is more work; every other step is a step down.
            let is_anew = matches!(event, TaskEvent::Retried { .. });
            let asks = |node: &Node| {
                node.id == *event.task()
                    && matches!(standing(node, &after), Some(Standing::Escalated(_)))
            };
            let is_question = new.iter().any(asks);
            if !is_anew && !is_question {
                prop_assert!(measure(&new, &new_statuses) < measure(&nodes, &statuses), "{event:?}");
            }
            // Taken back, it never was.
            let mut undone = ops.clone();
            let last = vec![op_id(ops.len() - 1)];
            undone.push(recorded(&ops, Word::Undone { undone: last }));
            let (_, before_nodes, before_statuses) = now(&undone);
            prop_assert_eq!(before_nodes, nodes);
            prop_assert_eq!(before_statuses, statuses);
        }
    }
}

/// A plan ends however often everything is sent back: with every fix that the caps allow, and a person's word.
#[test]
fn a_plan_in_which_everything_is_fixed_ends() {
    let mut ops = vec![started()];
    let mut steps = 0;
    loop {
        let (state, nodes, statuses) = now(&ops);
        let legal = legal(&state, &nodes, &statuses);
        let strict = |event: &&TaskEvent| match event {
            TaskEvent::Decided { decision, .. } => decision.verdict == Some(Verdict::Fix),
            TaskEvent::Retried { .. } | TaskEvent::Failed { .. } => false,
            _ => true,
        };
        let Some(event) = legal.iter().find(strict) else {
            assert!(statuses.iter().all(|status| status.is_terminal()));
            assert_eq!(nodes.len(), MOST);
            return;
        };
        steps += 1;
        assert!(steps < 100, "it goes on for ever");
        let op = recorded(&ops, event.clone());
        ops.push(op);
    }
}

/// Every text of a template may name what it repairs; what is filled in is not read again, and no command is changed.
#[test]
fn a_template_names_what_it_repairs() {
    let plan = r#"{"id":"A","title":"A"}
{"id":"G","title":"G","kind":"decision","depends_on":["A"],"gate":{"repair":[{"id":"x","title":"{gate} {attempt} {weakest}: {reason} {other}","convergence":{"verification":{"cmd":["echo","{reason}"]}}},{"id":"in","title":"Judge what {id} left","kind":"decision","depends_on":["x"],"gate":{"cap":1,"repair":[{"id":"y","title":"Mend {id}"}]}}]}}"#;
    let mut op = recorded(
        &[started()],
        TaskEvent::Decided {
            task: crate::task::node::TaskId::parse("G").expect("an id"),
            decision: Decision {
                verdict: Some(Verdict::Fix),
                weakest: Some("{gate}".into()),
                ..Decision::default()
            },
        },
    );
    op.reason = Some("it fails".into());
    let state = fold(&id(), &[started(), op]).expect("a state");
    let nodes = expand(read(plan).expect("a plan").nodes, &state);
    assert_eq!(nodes[2].title, "G 1 {gate}: it fails {other}");
    assert_eq!(nodes[2].depends_on[0].on.as_str(), "G");
    let cmd = format!("{:?}", nodes[2].verification);
    assert!(cmd.contains("{reason}"), "{cmd}");
    // A gate that is inserted is about what it judges, and what it inserts itself is filled in by then.
    assert_eq!(nodes[3].title, "Judge what G.1.x left");
    let inner = nodes[3].gate.as_ref().expect("a gate");
    assert_eq!(inner.repair[0].title, "Mend {id}");
}
