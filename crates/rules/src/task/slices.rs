//! The tasks of a list as slices: what gates, runs and coverage rest on. The list itself is read by [`super::task::file`].

use super::file::{self, check, of_own_session, read};
use super::node::{Node, NodeKind, Verification};
use crate::artifact::Artifact;
use crate::change_pack::{Slice, SliceKind};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_spec::{Finding, Severity};
use std::collections::HashSet;
use std::rc::Rc;

/// Reads the tasks as slices.
pub fn slices(text: &str) -> Result<Vec<Slice>, Blocker> {
    Ok(nodes(text)?.iter().filter_map(slice).collect())
}

/// Reads the tasks of a list. The blocker names each line that cannot be read, and what was expected there.
pub fn nodes(text: impl Into<Rc<str>>) -> Result<Vec<Node>, Blocker> {
    let nodes = file::graph(text)
        .map_err(|findings| invalid(&findings))?
        .nodes;
    if nodes.is_empty() {
        let path = Artifact::TaskList.path();
        return Err(Blocker::new(
            Code::TaskListEmpty,
            format!(
                "{path} has no task yet; `git loopx plan` proposes a task for each scenario of the delta"
            ),
            command!("plan").note("(or write a line by hand)"),
        ));
    }
    Ok(nodes)
}

/// The commands of the checks that some nodes have, and of those that a fix would insert.
pub fn commands(nodes: &[Node]) -> HashSet<Vec<String>> {
    fn of_repair(node: &Node, found: &mut HashSet<Vec<String>>) {
        for inner in node.gate.iter().flat_map(|gate| &gate.repair) {
            if let Some(Verification::Cmd(argv)) = &inner.verification {
                found.insert(argv.clone());
            }
            of_repair(inner, found);
        }
    }
    let own = nodes.iter().filter_map(check_of);
    let mut found: HashSet<Vec<String>> = own.map(<[String]>::to_vec).collect();
    nodes.iter().for_each(|node| of_repair(node, &mut found));
    found
}

/// Checks that a list is a good plan, too: asked once, before it is approved. A list that was approved by then stays
/// readable where a later program finds more to say of it.
pub fn good_plan(text: &str, session: &SessionId) -> Result<(), Blocker> {
    let file = read(text).map_err(|findings| invalid(&findings))?;
    let mut findings = check(&file, None);
    findings.extend(of_own_session(&file, session));
    findings.retain(|finding| finding.severity == Severity::Error);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(invalid(&findings))
    }
}

/// Number of findings that one message tells.
const SHOWN: usize = 12;

fn invalid(findings: &[Finding]) -> Blocker {
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let mut said: Vec<String> = errors
        .map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.message))
        .collect();
    if said.len() > SHOWN {
        let more = said.len() - SHOWN;
        said.truncate(SHOWN);
        said.push(format!("and {more} more; a task stands on one line"));
    }
    let mut errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let by_hand = || command!("edit {}", Artifact::TaskList.path());
    let lead = errors.next().map_or_else(by_hand, |one| one.fix.clone());
    Blocker::new(Code::TaskListInvalid, said.join("\n"), lead)
}

/// A decision, a checkpoint or a goal is a slice only where it has a check of its own.
pub fn slice(node: &Node) -> Option<Slice> {
    let verification = check_of(node)?.to_vec();
    Some(Slice {
        id: node.id.to_string(),
        behaviour: node.title.clone(),
        title: node.title.clone(),
        kind: match node.verification {
            Some(Verification::Cmd(_)) => SliceKind::Afk,
            _ => SliceKind::Hitl,
        },
        acceptance_criteria: node.criteria.clone(),
        verification,
        scenarios: node.scenarios.clone(),
        blocked_by: node
            .depends_on
            .iter()
            .map(|edge| edge.on.to_string())
            .collect(),
        files: node.files.iter().map(|file| file.path.clone()).collect(),
    })
}

/// The command of a node's check, which is empty where a person looks; nothing of a node that has no check.
pub fn check_of(node: &Node) -> Option<&[String]> {
    match &node.verification {
        Some(Verification::Cmd(argv)) => Some(argv),
        None if node.kind != NodeKind::Work => None,
        _ => Some(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::{good_plan, slices};
    use loopx_base::failure::Code;
    use loopx_base::id::SessionId;

    const GOOD: &str = r#"{"id":"TASK-001","title":"T","scenarios":["a/R/S"],"depends_on":[],"files":["src/a.rs",{"path":"src/b.rs","action":"create"}],"priority":2,"convergence":{"criteria":["C"],"verification":{"cmd":["sh","t.sh"]}}}"#;

    #[test]
    fn a_line_is_a_task_and_what_is_not_known_stays() {
        let manual = r#"{"id":"TASK-002","title":"Look","depends_on":["TASK-001"],"convergence":{"criteria":["C"],"verification":{"manual":"the page"}}}"#;
        let found = slices(&format!("{GOOD}\n\n{manual}\n")).expect("tasks");
        assert_eq!(found[0].verification, ["sh", "t.sh"]);
        assert_eq!(found[0].files, ["src/a.rs", "src/b.rs"]);
        assert!(found[1].verification.is_empty());
        assert_eq!(found[1].blocked_by, ["TASK-001"]);
    }

    #[test]
    fn every_line_that_is_wrong_is_named_at_once() {
        let text = format!(
            "{GOOD}\nnonsense\n{}\n{}\n{}\n",
            r#"{"id":"task-001","title":"","convergence":{"criteria":[],"verification":{"cmd":[]}}}"#,
            "{\"id\":\"-x\",\"title\":\"T\"}\n{\"id\":\"x\",\"title\":\"T\",\"depends_on\":[\"nobody\"],\"files\":[\"../y\"]}",
            r#"{"id":"b","title":"T","convergence":{"criteria":["1","2","3","4","5","6"],"verification":"run it"}}"#,
        );
        let blocker = slices(&text).expect_err("faults");
        assert_eq!(blocker.code, Code::TaskListInvalid);
        for said in [
            "tasks.jsonl:2: found text that is no JSON; expected a line like",
            "tasks.jsonl:3: task-001: it has no title",
            "tasks.jsonl:3: the id `task-001` stands there twice",
            "tasks.jsonl:4: expected an id",
            "x depends on `nobody`",
            "`../y`, which is not inside",
            "tasks.jsonl:6: b: expected `convergence.verification` as",
        ] {
            assert!(
                blocker.message.contains(said),
                "{said}: {}",
                blocker.message
            );
        }
        assert_eq!(slices("\n").expect_err("nothing").code, Code::TaskListEmpty);
        let circle = GOOD.replace("\"depends_on\":[]", "\"depends_on\":[\"TASK-001\"]");
        assert!(
            slices(&circle)
                .expect_err("a circle")
                .message
                .contains("TASK-001 -> TASK-001")
        );
    }

    #[test]
    fn a_vague_list_is_no_good_plan_and_stays_readable_once_it_was_approved() {
        let id = SessionId::parse("demo").expect("an id");
        let vague = GOOD.replace("\"C\"", "\"ok\"");
        let blocker = good_plan(&vague, &id).expect_err("a vague criterion");
        assert_eq!(blocker.code, Code::TaskListInvalid);
        assert_eq!(slices(&vague).expect("slices").len(), 1);
        good_plan(
            &GOOD.replace("\"C\"", "\"The session ends after 10 minutes\""),
            &id,
        )
        .expect("a plan");
    }
}
