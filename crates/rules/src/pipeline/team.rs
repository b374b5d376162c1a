//! A team that is made for one request: what has to be done follows from its whole words, who does it from how much
//! that is, and what waits for what from the tier of each. The result is a pipeline like every other, as text: it can
//! be shown, kept in the repository and changed there.
//!
//! ```text
//! tier 0          1         2                3
//! research   -+-  design -+- writing    -+-  analysis
//! planning   -+           +- coding     -+-  testing
//! ```

use crate::outline::{said, words};
use serde::Serialize;

/// Capability of a team.
struct Capability {
    name: &'static str,
    prefix: &'static str,
    role: &'static str,
    tier: usize,
    /// Rank in which capabilities give way where there are more roles than a team has; a smaller number stays longer.
    rank: usize,
    /// File that the capability leaves; nothing where it leaves a check of the code.
    output: Option<&'static str>,
    title: &'static str,
    criterion: &'static str,
    words: &'static [&'static str],
}

impl Capability {
    /// Tells whether the capability judges: who judges is not who made.
    fn judges(&self) -> bool {
        self.tier == 3
    }
}

const ALL: [Capability; 7] = [
    Capability {
        name: "research",
        prefix: "RESEARCH",
        role: "analyst",
        tier: 0,
        rank: 6,
        output: Some("research.md"),
        title: "Research",
        criterion: "Each statement names where it comes from",
        words: &[
            "research",
            "investigate",
            "investigation",
            "explore",
            "survey",
            "compare",
            "find out",
            "study",
            "look into",
        ],
    },
    Capability {
        name: "planning",
        prefix: "PLAN",
        role: "planner",
        tier: 0,
        rank: 3,
        output: Some("plan.md"),
        title: "Plan",
        criterion: "Each step says how it is verified",
        words: &[
            "plan",
            "planning",
            "roadmap",
            "schedule",
            "estimate",
            "break down",
            "decompose",
            "prioritize",
        ],
    },
    Capability {
        name: "design",
        prefix: "DESIGN",
        role: "architect",
        tier: 1,
        rank: 5,
        output: Some("design.md"),
        title: "Design",
        criterion: "Each decision names the ways that were left",
        words: &[
            "design",
            "architecture",
            "architect",
            "model",
            "schema",
            "interface",
            "prototype",
            "wireframe",
        ],
    },
    Capability {
        name: "writing",
        prefix: "DRAFT",
        role: "writer",
        tier: 2,
        rank: 1,
        output: Some("draft.md"),
        title: "Write",
        criterion: "Each section can be understood by whom it is for",
        words: &[
            "write",
            "document",
            "documents",
            "documentation",
            "docs",
            "draft",
            "article",
            "guide",
            "readme",
            "tutorial",
            "specification",
            "report",
        ],
    },
    Capability {
        name: "coding",
        prefix: "IMPL",
        role: "executor",
        tier: 2,
        rank: 0,
        output: None,
        title: "Build",
        criterion: "The code does what the request asks for",
        words: &[
            "implement",
            "implementation",
            "build",
            "code",
            "develop",
            "fix",
            "add",
            "refactor",
            "migrate",
            "port",
            "program",
            "prototype",
        ],
    },
    Capability {
        name: "analysis",
        prefix: "ANALYSIS",
        role: "reviewer",
        tier: 3,
        rank: 4,
        output: Some("analysis.md"),
        title: "Judge",
        criterion: "Each finding has a severity and a place",
        words: &[
            "analyze",
            "analyse",
            "analysis",
            "review",
            "audit",
            "assess",
            "evaluate",
            "benchmark",
            "report",
        ],
    },
    Capability {
        name: "testing",
        prefix: "TEST",
        role: "tester",
        tier: 3,
        rank: 2,
        output: None,
        title: "Test",
        criterion: "What was asked for has a test that passes",
        words: &[
            "test",
            "tests",
            "testing",
            "verify",
            "validate",
            "validation",
            "qa",
            "coverage",
            "regression",
            "benchmark",
        ],
    },
];

/// The most roles that any team has.
pub const MOST_ROLES: usize = 5;

/// The name of a pipeline that was made for a request.
pub const TEAM: &str = "team";

/// The role of these that gives way first, and the one of the nearest tier that takes it over: who judges is never who
/// makes. Nothing where no capability is known by two of them.
pub fn merged_role(roles: &[&str]) -> Option<(&'static str, &'static str)> {
    let mut known: Vec<&Capability> = ALL.iter().filter(|one| roles.contains(&one.role)).collect();
    known.sort_by_key(|one| std::cmp::Reverse(one.rank));
    let takes = |from: &&Capability| {
        let others = known.iter();
        let others = others.filter(|to| to.role != from.role && to.judges() == from.judges());
        others.min_by_key(|to| (to.tier.abs_diff(from.tier), to.rank))
    };
    let mut all = known.iter();
    all.find_map(|from| Some((from.role, takes(from)?.role)))
}

/// Size of what a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    Low,
    Medium,
    High,
}

impl Size {
    /// The most roles that a team of this size has.
    fn roles(self) -> usize {
        match self {
            Size::Low => 2,
            Size::Medium => 3,
            Size::High => MOST_ROLES,
        }
    }
}

/// Task of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    pub task: String,
    pub capability: &'static str,
    pub role: &'static str,
    /// Role that would have the task alone, where another one took it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<&'static str>,
    pub tier: usize,
    /// Words of the request that ask for the task.
    pub words: Vec<String>,
    pub depends_on: Vec<String>,
}

/// Team for a request, and the reason why it is this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Team {
    pub size: Size,
    pub score: usize,
    pub roles: Vec<&'static str>,
    pub members: Vec<Member>,
    /// Pipeline that the team comes to.
    pub text: String,
}

/// The words that ask for each capability, for whoever used none of them.
pub fn vocabulary() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    ALL.iter().map(|one| (one.name, one.words))
}

/// The team that a request asks for; nothing where no word of it asks for anything.
pub fn team(request: &str) -> Option<Team> {
    let request = words(request);
    let asked: Vec<(&Capability, Vec<String>)> = ALL
        .iter()
        .map(|one| (one, said(&request, one.words)))
        .filter(|(_, words)| !words.is_empty())
        .collect();
    if asked.is_empty() {
        return None;
    }
    let mut tiers: Vec<usize> = asked.iter().map(|(one, _)| one.tier).collect();
    tiers.dedup();
    let score = score(asked.len(), &tiers);
    let size = match score {
        0..=3 => Size::Low,
        4..=6 => Size::Medium,
        _ => Size::High,
    };
    let roles = roles(&asked, size.roles());
    let before = |tier: usize| tiers.iter().rev().find(|one| **one < tier).copied();
    let members: Vec<Member> = asked
        .iter()
        .zip(&roles)
        .map(|((one, words), role)| {
            let nearest = before(one.tier);
            let on = asked
                .iter()
                .filter(|(other, _)| Some(other.tier) == nearest);
            Member {
                task: format!("{}-001", one.prefix),
                capability: one.name,
                role,
                merged: (*role != one.role).then_some(one.role),
                tier: one.tier,
                words: words.clone(),
                depends_on: on
                    .map(|(other, _)| format!("{}-001", other.prefix))
                    .collect(),
            }
        })
        .collect();
    let mut named: Vec<&'static str> = Vec::new();
    for role in roles {
        if !named.contains(&role) {
            named.push(role);
        }
    }
    let text = text(&members);
    Some(Team {
        size,
        score,
        roles: named,
        members,
        text,
    })
}

/// Score: one for each capability, two for three tiers or more, one for each track beside another, one for each tier.
fn score(count: usize, tiers: &[usize]) -> usize {
    let wide = if tiers.len() >= 3 { 2 } else { 0 };
    count + wide + (count - tiers.len()) + tiers.len()
}

/// Role that does each capability: its own, until there are as few as the team has. Two roles that more than half of
/// their words ask for alike are one role; then what gives way first goes to the nearest tier, and never from who makes
/// to who judges.
fn roles(asked: &[(&Capability, Vec<String>)], most: usize) -> Vec<&'static str> {
    let mut roles: Vec<&'static str> = asked.iter().map(|(one, _)| one.role).collect();
    for at in 0..asked.len() {
        for other in 0..at {
            let shared = asked[at]
                .1
                .iter()
                .filter(|word| asked[other].1.contains(word));
            let fewest = asked[at].1.len().min(asked[other].1.len());
            let is_one = shared.count() * 2 > fewest;
            if is_one && asked[at].0.judges() == asked[other].0.judges() {
                roles[at] = roles[other];
            }
        }
    }
    loop {
        let mut left = roles.clone();
        left.sort_unstable();
        left.dedup();
        if left.len() <= most {
            return roles;
        }
        let owns = |at: &usize| roles[*at] == asked[*at].0.role;
        let takes = |from: usize| {
            let can = (0..asked.len()).filter(|to| {
                roles[*to] != roles[from] && asked[*to].0.judges() == asked[from].0.judges()
            });
            can.min_by_key(|to| {
                (
                    asked[*to].0.tier.abs_diff(asked[from].0.tier),
                    asked[*to].0.rank,
                )
            })
        };
        let mut open: Vec<usize> = (0..asked.len()).filter(owns).collect();
        open.sort_by_key(|at| std::cmp::Reverse(asked[*at].0.rank));
        let Some((from, to)) = open.into_iter().find_map(|from| Some((from, takes(from)?))) else {
            return roles;
        };
        let (gone, into) = (roles[from], roles[to]);
        roles
            .iter_mut()
            .filter(|role| **role == gone)
            .for_each(|role| *role = into);
    }
}

/// The pipeline of a team, as its file.
fn text(members: &[Member]) -> String {
    let of = |member: &Member| ALL.iter().find(|one| one.name == member.capability);
    let mut out = String::from(
        "title = \"A team for one request\"\n\n[params.scope]\nabout = \"what is done\"\ndefault = \"{intent}\"\n",
    );
    if members
        .iter()
        .filter_map(of)
        .any(|one| one.output.is_none())
    {
        out.push_str("\n[params.check]\nabout = \"the command whose success shows that the code does what it should, or `manual: WHAT`\"\ntype = \"check\"\n");
    }
    let mut roles: Vec<&str> = members.iter().map(|member| member.role).collect();
    roles.sort_unstable();
    roles.dedup();
    for role in roles {
        let own = members.iter().filter(|member| member.role == role);
        let does: Vec<&str> = own.map(|member| member.capability).collect();
        out.push_str(&format!(
            "\n[roles.{role}]\nabout = \"does {}\"\n",
            does.join(" and ")
        ));
    }
    for (member, one) in members
        .iter()
        .filter_map(|member| Some((member, of(member)?)))
    {
        let on: Vec<String> = member
            .depends_on
            .iter()
            .map(|id| format!("\"{id}\""))
            .collect();
        out.push_str(&format!(
            "\n[[nodes]]\nid = \"{}\"\ntitle = \"{}: {{scope}}\"\nrole = \"{}\"\nphase = \"tier-{}\"\ndepends_on = [{}]\n",
            member.task,
            one.title,
            member.role,
            one.tier,
            on.join(", ")
        ));
        let verification = match one.output {
            Some(file) => {
                out.push_str(&format!("outputs = [\"tasks/{{id}}/{file}\"]\n"));
                "outputs"
            }
            None => "{check}",
        };
        out.push_str(&format!(
            "criteria = [\"{}\"]\nverification = \"{verification}\"\ncap = 3\n",
            one.criterion
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{ALL, MOST_ROLES, Size, team};
    use crate::pipeline::{Pipeline, lint};

    #[test]
    fn the_words_of_a_request_make_the_team_and_its_tiers() {
        let made = team("Research the parsers, design the grammar, implement it and write tests")
            .expect("a team");
        let rows: Vec<(&str, &str, Vec<String>)> = made
            .members
            .iter()
            .map(|one| (one.task.as_str(), one.role, one.depends_on.clone()))
            .collect();
        assert_eq!(
            rows,
            [
                ("RESEARCH-001", "analyst", vec![]),
                ("DESIGN-001", "architect", vec!["RESEARCH-001".to_owned()]),
                ("DRAFT-001", "writer", vec!["DESIGN-001".to_owned()]),
                ("IMPL-001", "executor", vec!["DESIGN-001".to_owned()]),
                (
                    "TEST-001",
                    "tester",
                    vec!["DRAFT-001".to_owned(), "IMPL-001".to_owned()]
                ),
            ]
        );
        assert_eq!((made.size, made.score), (Size::High, 12));
        assert_eq!(team("the author's latest building"), None);
        let one = team("fix the timeout").expect("a team");
        assert_eq!(
            (one.size, one.roles.as_slice()),
            (Size::Low, &["executor"][..])
        );
    }

    /// Every set of capabilities: a pipeline without a finding, at most five roles, and nobody judges what they made.
    #[test]
    fn every_team_is_a_pipeline_without_a_finding() {
        for set in 1_u32..1 << ALL.len() {
            let words: Vec<&str> = ALL
                .iter()
                .enumerate()
                .filter(|(at, _)| set >> at & 1 == 1)
                .map(|(_, one)| one.words[0])
                .collect();
            let made = team(&words.join(" ")).expect("a team");
            assert_eq!(made.members.len(), words.len());
            let most = match made.size {
                Size::Low => 2,
                Size::Medium => 3,
                Size::High => MOST_ROLES,
            };
            assert!(made.roles.len() <= most, "{words:?}: {:?}", made.roles);
            for one in &made.members {
                for other in made.members.iter().filter(|other| other.role == one.role) {
                    assert_eq!(one.tier == 3, other.tier == 3, "{words:?}");
                }
            }
            let pipeline = Pipeline::read("team", &made.text, None).expect("a pipeline");
            let found = lint(&pipeline);
            assert!(found.is_empty(), "{words:?}: {found:#?}\n{}", made.text);
        }
    }
}
