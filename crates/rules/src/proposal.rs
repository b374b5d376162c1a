//! The proposal of `plan`: a task, or a slice, for each scenario of the delta that none serves yet. Which command shows
//! that it works only its writer knows: that place stays empty, and holds the gate.

use super::change_pack::{Slice, SliceKind};
use super::task::file::{lines, read_anyway};
use serde_json::json;

/// Task or slice to come.
struct Proposed<'a> {
    id: String,
    /// The scenario's own name.
    title: &'a str,
    /// `domain/Requirement/Scenario`.
    scenario: &'a str,
}

/// The scenarios that the text does not name, each with an id that it does not have.
fn missing<'a>(
    text: &str,
    scenarios: &'a [String],
    id: impl Fn(u32) -> Option<String>,
) -> Vec<Proposed<'a>> {
    let known = text.to_lowercase();
    let is_named = |scenario: &str| known.contains(&json!(scenario).to_string().to_lowercase());
    let mut ids = (1..)
        .filter_map(id)
        .filter(|id| !text.contains(id.as_str()));
    let new = scenarios.iter().filter(|scenario| !is_named(scenario));
    new.filter_map(|scenario| {
        Some(Proposed {
            id: ids.next()?,
            title: scenario.rsplit('/').next().unwrap_or(scenario),
            scenario,
        })
    })
    .collect()
}

/// A proposal: the new text, and what it adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub text: String,
    /// Number of new tasks or slices.
    pub count: usize,
}

/// A list of one task, the request itself: for a change that no scenario describes. Nothing where there is a task.
pub fn request(text: &str, title: &str) -> Option<Proposal> {
    let title = json!(title);
    let file = read_anyway(text);
    // Domains are no tasks.
    let is_empty = lines(text).count() == file.domains.len();
    let id = file.free_id(None).filter(|_| is_empty)?;
    let text = if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    };
    Some(Proposal {
        text: format!(
            "{text}{{\"id\":\"{id}\",\"title\":{title},\"convergence\":{{\"criteria\":[{title}],\"verification\":{{\"cmd\":[]}}}}}}\n"
        ),
        count: 1,
    })
}

/// The list of tasks with those that are missing; nothing where none is.
pub fn tasks(text: &str, scenarios: &[String]) -> Option<Proposal> {
    let domains = read_anyway(text).domains;
    let new = missing(text, scenarios, |number| {
        let is_taken = domains.iter().any(|domain| domain.holds(number));
        (!is_taken).then(|| format!("TASK-{number:03}"))
    });
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for one in &new {
        let [id, title, scenario] = [json!(one.id), json!(one.title), json!(one.scenario)];
        out.push_str(&format!(
            "{{\"id\":{id},\"title\":{title},\"scenarios\":[{scenario}],\"convergence\":{{\"criteria\":[{title}],\"verification\":{{\"cmd\":[]}}}}}}\n"
        ));
    }
    (!new.is_empty()).then_some(Proposal {
        text: out,
        count: new.len(),
    })
}

/// The slices of a plan that has none yet; nothing where it has, or where there is no scenario.
pub fn slices(text: &str, scenarios: &[String]) -> Option<Proposal> {
    let is_empty =
        serde_json::from_str(text).is_ok_and(|all: Vec<serde_json::Value>| all.is_empty());
    if !text.trim().is_empty() && !is_empty {
        return None;
    }
    let new = missing("", scenarios, |number| Some(format!("VS-{number}")));
    let slices: Vec<Slice> = new
        .iter()
        .map(|one| Slice {
            id: one.id.clone(),
            title: one.title.to_owned(),
            kind: SliceKind::Afk,
            behaviour: one.title.to_owned(),
            acceptance_criteria: vec![one.title.to_owned()],
            verification: Vec::new(),
            scenarios: vec![one.scenario.to_owned()],
            blocked_by: Vec::new(),
            files: Vec::new(),
        })
        .collect();
    let text = serde_json::to_string_pretty(&slices).ok()? + "\n";
    (!slices.is_empty()).then_some(Proposal {
        text,
        count: slices.len(),
    })
}

/// A list of boxes for tasks.md, one for each of these slices: what a slice is stands in its own file.
pub fn boxes(text: &str, slices: &str) -> String {
    let all: Vec<Slice> = serde_json::from_str(slices).unwrap_or_default();
    let boxes = all
        .iter()
        .map(|one| format!("- [ ] {} {}\n", one.id, one.behaviour));
    format!("{}\n\n{}", text.trim_end(), boxes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{request, slices, tasks};
    use crate::change_pack;
    use crate::task::slices::{good_plan, slices as read_tasks};

    const ONE: &str = r#"{"id":"TASK-001","title":"T","scenarios":["a/R/S"],"convergence":{"criteria":["C"],"verification":{"cmd":["sh","t.sh"]}}}"#;

    #[test]
    fn a_task_is_proposed_for_each_scenario_that_none_names() {
        let scenarios = ["a/R/S".to_owned(), "a/R/Two \"words\"".to_owned()];
        let proposal = tasks(ONE, &scenarios).expect("a proposal");
        assert!(proposal.text.starts_with(ONE));
        assert_eq!((proposal.count, proposal.text.lines().count()), (1, 2));
        let id = loopx_base::id::SessionId::parse("demo").expect("an id");
        let fault = good_plan(&proposal.text, &id).expect_err("no command yet");
        let said = "TASK-002: it has no check yet";
        assert!(fault.message.contains(said), "{}", fault.message);
        let filled = proposal.text.replace("\"cmd\":[]", "\"cmd\":[\"true\"]");
        good_plan(&filled, &id).expect("a plan");
        let found = read_tasks(&filled).expect("tasks");
        assert_eq!(found[1].scenarios, [scenarios[1].clone()]);
        assert_eq!(tasks(&filled, &scenarios), None);
        assert_eq!(tasks("", &[]), None);
    }

    #[test]
    fn slices_are_proposed_where_there_is_none_and_lack_a_command_alone() {
        let scenarios = ["a/R/S".to_owned(), "a/R/Two \"words\"".to_owned()];
        let proposal = slices("[]\n", &scenarios).expect("a proposal");
        assert_eq!(proposal.count, 2);
        let fault = change_pack::slices(Some(&proposal.text)).expect_err("no command yet");
        let faults: Vec<&str> = fault.message.lines().collect();
        assert_eq!(faults.len(), 2, "{faults:#?}");
        assert!(
            faults[1].contains("slice VS-2 has no verification command"),
            "{faults:#?}"
        );
        let filled = proposal
            .text
            .replace("\"verification\": []", "\"verification\": [\"true\"]");
        let found = change_pack::slices(Some(&filled)).expect("slices");
        assert_eq!(found[1].scenarios, [scenarios[1].clone()]);
        // What somebody wrote stays.
        assert_eq!(slices(&filled, &["a/R/New".to_owned()]), None);
        assert_eq!(slices("[]", &[]), None);
    }

    #[test]
    fn what_is_proposed_has_no_number_of_a_domain() {
        let domain = "{\"domain\":\"a\",\"from\":1,\"to\":2}\n";
        let one = request(domain, "T").expect("a task");
        assert!(one.text.starts_with(domain) && one.text.contains("TASK-003"));
        assert_eq!(request(&one.text, "T"), None);
        let all = tasks(domain, &["a/R/S".to_owned()]).expect("a task");
        assert!(all.text.contains("TASK-003"), "{}", all.text);
    }
}
