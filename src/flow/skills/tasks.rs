//! The skills of tasks: whether they are there, what holds a task whose skill is not, and what the card says of one.

use super::{Skill, all, displaced, find, look};
use crate::flow::pipeline::intent;
use crate::flow::transaction::Facts;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_git::Repo;
use loopx_rules::gate;
use loopx_rules::session::State;
use loopx_rules::skill::{Folder, Ground, Looked, fill};
use loopx_rules::task::card::{Read, SkillRow};
use loopx_rules::task::file::TaskFile;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::{Node, NodeKind};
use loopx_rules::task::status::Status;
use loopx_spec::Finding;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Number of tasks whose leavings are looked at.
const LOOKED_AT: usize = 200;

/// The skills of this machine, looked up once somebody asks.
pub(in crate::flow) struct Skills<'r> {
    repo: &'r Repo,
    all: OnceCell<Vec<Skill>>,
}

impl<'r> Skills<'r> {
    pub(in crate::flow) fn of(repo: &'r Repo) -> Self {
        Skills {
            repo,
            all: OnceCell::new(),
        }
    }

    fn all(&self) -> &[Skill] {
        self.all.get_or_init(|| all(self.repo))
    }

    pub(in crate::flow) fn look(&self, name: &str) -> Looked {
        look(self.all(), name)
    }

    /// Names, in words, the other skills of the same name that are passed over for this one and say otherwise.
    pub(in crate::flow) fn displaced(&self, name: &str) -> Option<String> {
        let skill = find(self.all(), name)?;
        let others = displaced(self.all(), skill);
        let others: Vec<&str> = others.iter().map(|other| other.path.as_str()).collect();
        (!others.is_empty()).then(|| {
            format!(
                "the skill `{name}` is {}, and {} of that name says otherwise and is passed over",
                skill.path,
                others.join(", ")
            )
        })
    }

    /// Refused where nobody can follow the skill of a task.
    pub(in crate::flow) fn require(&self, facts: &Facts<'_>, node: &Node) -> Result<()> {
        let Some(skill) = &node.skill else {
            return Ok(());
        };
        let looked = self.look(&skill.name);
        let (Some(fault), true) = (looked.fault(&skill.name), looked.is_held()) else {
            return Ok(());
        };
        let id = &node.id;
        let code = match looked {
            Looked::Missing { .. } => Code::SkillMissing,
            _ => Code::SkillUnusable,
        };
        let what = match code {
            Code::SkillMissing => {
                format!("put it into .agents/skills/{}/SKILL.md, then: ", skill.name)
            }
            _ => "mend it, then: ".to_owned(),
        };
        Err(
            Failure::refused(code, format!("{id} is not taken: {fault}")).help(hint![
                what,
                command!("take {id}"),
                "  or look what is there: ",
                command!("agent skills"),
                "  or name another skill: ",
                gate::list_help(&facts.state, &facts.policy, command!("edit tasks.jsonl"))
            ]),
        )
    }

    /// The contents of a skill and of what it wants read: what its task is taken with.
    pub(in crate::flow) fn pins(&self, node: &Node) -> BTreeMap<String, String> {
        let skill = node.skill.as_ref();
        let skill = skill.and_then(|skill| find(self.all(), &skill.name));
        let own = skill.and_then(|skill| Some((skill.path.clone(), skill.blob.clone()?)));
        let required = skill.into_iter().flat_map(|skill| &skill.required);
        let required = required.filter_map(|one| Some((one.path.clone(), one.blob.clone()?)));
        own.into_iter().chain(required).collect()
    }

    /// Row of a task's card about its skill.
    pub(in crate::flow) fn row(
        &self,
        graph: &Graph<'_>,
        at: usize,
        (state, statuses): (&State, &[Status]),
    ) -> Option<SkillRow> {
        let node = &graph.nodes[at];
        let skilled = node.skill.as_ref()?;
        let around = Around::of(graph, at, (state, statuses));
        // Where it cannot be read the title says what the session is for.
        let intent = intent(self.repo, state).unwrap_or_else(|_| state.title.clone());
        let mut row = SkillRow {
            name: skilled.name.clone(),
            args: fill(&skilled.name, &skilled.args, &around.ground(node, &intent)),
            fault: self.look(&skilled.name).fault(&skilled.name),
            ..SkillRow::default()
        };
        if let Some(skill) = find(self.all(), &skilled.name) {
            row.path = Some(skill.path.clone());
            row.blob.clone_from(&skill.blob);
            let required = skill.required.iter().map(|one| Read {
                path: one.path.clone(),
                blob: one.blob.clone(),
            });
            row.required = required.collect();
            row.deferred.clone_from(&skill.deferred);
        }
        Some(row)
    }
}

/// Tasks that stand before a task, and the folders that they left.
struct Around {
    left: Vec<Folder>,
    behind: Option<Folder>,
    gap: Option<String>,
    issue: Option<String>,
}

impl Around {
    fn of(graph: &Graph<'_>, at: usize, (state, statuses): (&State, &[Status])) -> Self {
        let folder = |at: usize| {
            let node = &graph.nodes[at];
            let skill = node.skill.as_ref().map_or("", |skill| skill.name.as_str());
            let role = node.role.as_deref().unwrap_or_default();
            Folder {
                task: node.id.to_string(),
                words: format!("{} {role} {skill}", node.id),
                path: format!(".loopx/{}/tasks/{}", state.id, node.id),
            }
        };
        let is_work = |at: usize| graph.nodes[at].kind == NodeKind::Work;
        let mut left = Vec::new();
        let mut behind = None;
        let mut seen = BTreeSet::from([at]);
        // The nearest first, and each once.
        let mut now = vec![at];
        while !now.is_empty() && seen.len() <= LOOKED_AT {
            let next = now.iter().flat_map(|at| graph.needs(*at)).map(|(to, _)| to);
            let next: Vec<usize> = next.filter(|to| seen.insert(*to)).collect();
            for to in next.iter().copied().filter(|to| is_work(*to)) {
                if behind.is_none() {
                    behind = Some(folder(to));
                }
                let is_done = statuses.get(to) == Some(&Status::Completed);
                if is_done && !graph.nodes[to].outputs.is_empty() {
                    left.push(folder(to));
                }
            }
            now = next;
        }
        let own = state.task(&graph.nodes[at].id);
        let failed = own.and_then(|own| own.failure.as_ref()?.reason.clone());
        let decided = || {
            graph.needs(at).find_map(|(to, _)| {
                let facts = state.task(&graph.nodes[to].id)?;
                facts.decisions.last()?.reason.clone()
            })
        };
        Around {
            left,
            behind,
            gap: failed.or_else(decided),
            issue: state.issues.first().map(ToString::to_string),
        }
    }

    fn ground<'g>(&'g self, node: &'g Node, intent: &'g str) -> Ground<'g> {
        Ground {
            id: node.id.as_str(),
            intent,
            part: node.part.as_ref().and_then(|part| part.phase.as_deref()),
            gap: self.gap.as_deref(),
            issue: self.issue.as_deref(),
            left: &self.left,
            behind: self.behind.as_ref(),
        }
    }
}

/// Findings about the skills of a list on this machine.
pub(in crate::flow) fn findings(repo: &Repo, file: &TaskFile) -> Vec<Finding> {
    let skills = Skills::of(repo);
    let repairs = |node: &'_ Node| -> Vec<Node> {
        let gate = node.gate.as_deref();
        gate.map(|gate| gate.repair.clone()).unwrap_or_default()
    };
    let mut found = Vec::new();
    for node in &file.nodes {
        for one in std::iter::once(node.clone()).chain(repairs(node)) {
            let Some(skill) = &one.skill else { continue };
            if let Some(why) = skills.displaced(&skill.name) {
                let message = format!("{}: {why}", one.id);
                let id = "task_skill_displaced";
                found.push(loopx_rules::task::file::found(id, node.line, message));
            }
            let looked = skills.look(&skill.name);
            if let Some(fault) = looked.fault(&skill.name) {
                let id = if looked.is_held() {
                    "task_skill_missing"
                } else {
                    "task_skill_renamed"
                };
                let message = format!("{}: {fault}", one.id);
                found.push(loopx_rules::task::file::found(id, node.line, message));
            }
        }
    }
    found
}
