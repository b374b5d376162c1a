//! Domains of a list: parts of the work, each with a range of the numbers that its tasks have, so that several people
//! add tasks at once and never take one id. A line without an id is one. This module owns that line and the ranges; it
//! knows nothing of what the tasks of a domain do.

use super::TaskFile;
use super::finding::found;
use super::row::{Fields, Row};
use crate::task::node::{Node, TaskId};
use loopx_base::hint::{Hint, command};
use loopx_spec::Finding;
use serde::Serialize;
use serde_json::{Value, json};

/// Part of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Domain {
    pub name: String,
    /// First and last number that a task of the domain can have.
    pub from: u32,
    pub to: u32,
    pub owner: Option<String>,
    /// Ranges that the domain had before, of which tasks of it have numbers still.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub was: Vec<(u32, u32)>,
    #[serde(skip)]
    pub line: usize,
}

const OF_DOMAIN: [&str; 5] = ["domain", "from", "to", "owner", "was"];
/// Size of a domain where nobody says how many numbers it has.
pub const SIZE: u32 = 100;
/// The largest number.
pub const LAST: u32 = 99_999;

impl Domain {
    /// A domain, unless its name or its range is none.
    pub fn new(name: &str, from: u32, to: u32, owner: Option<String>) -> Result<Self, String> {
        if TaskId::parse(name).is_none() {
            return Err(format!(
                "expected the name of a domain of letters, digits, `-`, `_`, `.`, found {name:?}"
            ));
        }
        if from == 0 || from > to || to > LAST {
            return Err(format!(
                "expected the numbers of `{name}` from 1 to {LAST}, the first one first, found {from} to {to}"
            ));
        }
        Ok(Domain {
            name: name.to_owned(),
            from,
            to,
            owner,
            was: Vec::new(),
            line: 0,
        })
    }

    pub fn holds(&self, number: u32) -> bool {
        (self.from..=self.to).contains(&number)
    }

    /// Tells whether a task of the domain can have the number: the domain has it, or had it before the domain moved.
    fn knows(&self, number: u32) -> bool {
        let mut was = self.was.iter();
        self.holds(number) || was.any(|(from, to)| (*from..=*to).contains(&number))
    }

    /// `101-200`.
    pub fn range(&self) -> String {
        format!("{:03}-{:03}", self.from, self.to)
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn meets(&self, other: &Domain) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    /// Command that gives the domain the numbers that it has here.
    pub fn lead(&self) -> Hint {
        let Domain { name, from, to, .. } = self;
        command!("task domain move {name} --from {from} --to {to}")
    }

    /// Line of the domain.
    pub fn text(&self) -> String {
        let owner = self.owner.as_deref();
        let owner = owner.map_or(String::new(), |who| {
            format!(",\"owner\":{}", Value::from(who))
        });
        let was = if self.was.is_empty() {
            String::new()
        } else {
            format!(",\"was\":{}", json!(self.was))
        };
        format!(
            "{{\"domain\":{},\"from\":{},\"to\":{}{owner}{was}}}",
            Value::from(self.name.as_str()),
            self.from,
            self.to
        )
    }
}

/// Tells whether a line says a domain, and no task.
pub(super) fn is_one(fields: &Fields) -> bool {
    fields.get("domain").is_some() && fields.get("id").is_none() && fields.get("title").is_none()
}

/// The domain of a line.
pub(super) fn of(fields: &Fields, line: usize, findings: &mut Vec<Finding>) -> Option<Domain> {
    let mut row = Row {
        line,
        name: "a domain".to_owned(),
        found: findings,
    };
    row.names("", fields.0.iter().map(|(name, _)| name), &OF_DOMAIN);
    let name = row.text("domain", fields.get("domain"))?;
    let owner = row.text("owner", fields.get("owner"));
    let number = |count: Option<u64>| count.map_or(0, |one| u32::try_from(one).unwrap_or(u32::MAX));
    let from = number(row.count("from", fields.get("from")));
    let to = number(row.count("to", fields.get("to")));
    let was = fields.get("was").cloned();
    let was = was.map_or(Ok(Vec::new()), serde_json::from_value::<Vec<(u32, u32)>>);
    let Ok(was) = was else {
        row.say(
            "task_field_type",
            "expected `was` as a list of pairs of numbers, like [[1,100]]",
        );
        return None;
    };
    match Domain::new(&name, from, to, owner) {
        Ok(domain) => Some(Domain {
            line,
            was,
            ..domain
        }),
        Err(why) => {
            row.found.push(found("task_domain_invalid", line, why));
            None
        }
    }
}

/// Domains of one name, and ranges that meet.
pub(super) fn wiring(file: &TaskFile, findings: &mut Vec<Finding>) {
    for (domain, other) in file.meetings() {
        let why = clash(domain, other).unwrap_or_default();
        // Two clones that each added a domain took the same range.
        if domain.is_called(&other.name) {
            let mut said = found("task_domain_invalid", domain.line, why);
            said.fix = other.lead();
            findings.push(said);
            continue;
        }
        let Some((from, to)) = file.free_range() else {
            findings.push(found("task_domain_invalid", domain.line, why));
            continue;
        };
        let moved = Domain {
            from,
            to,
            ..domain.clone()
        };
        let (range, text) = (moved.range(), moved.text());
        let why = format!("{why}; free is {range}: write the line as {text}");
        let mut said = found("task_domain_invalid", domain.line, why);
        said.fix = moved.lead();
        findings.push(said);
    }
}

/// Reason why two domains cannot stand in one list.
pub fn clash(domain: &Domain, other: &Domain) -> Option<String> {
    if domain.is_called(&other.name) {
        return Some(format!(
            "the domain `{}` stands there twice: it has {} on line {}",
            domain.name,
            other.range(),
            other.line
        ));
    }
    domain.meets(other).then(|| {
        format!(
            "the domain `{}` would have {}, and `{}` has {}",
            domain.name,
            domain.range(),
            other.name,
            other.range()
        )
    })
}

/// The number at the end of an id.
pub fn number(id: &TaskId) -> Option<u32> {
    let text = id.as_str();
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    text[text.len() - digits..].parse().ok()
}

/// The number of an id that the list gives out by itself: `TASK-012`.
fn given(id: &TaskId) -> Option<u32> {
    let is_given = id
        .key()
        .strip_prefix("task-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|one| one.is_ascii_digit()));
    number(id).filter(|_| is_given)
}

/// Fault of a task that does not stand in the domain that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misplaced<'f> {
    /// The list has no such domain.
    Unknown(&'f str),
    /// Id that is none of the domain's.
    Outside(&'f Domain),
}

impl TaskFile {
    pub fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|one| one.is_called(name))
    }

    /// Domains that cannot stand beside each other: each with the first above it that it meets.
    pub fn meetings(&self) -> Vec<(&Domain, &Domain)> {
        let all = self.domains.iter().enumerate();
        let first = |(at, domain)| {
            let mut above = self.domains[..at].iter();
            let other = above.find(|other| clash(domain, other).is_some())?;
            Some((domain, other))
        };
        all.filter_map(first).collect()
    }

    /// The domain that a task is of: the one that it names, or whose numbers its id has.
    pub fn domain_of<'f>(&'f self, node: &'f Node) -> Option<&'f str> {
        if let Some(name) = node.domain() {
            return Some(
                self.domain(name)
                    .map_or(name, |domain| domain.name.as_str()),
            );
        }
        let number = given(&node.id)?;
        let mut all = self.domains.iter();
        all.find(|domain| domain.holds(number))
            .map(|domain| domain.name.as_str())
    }

    /// Fault in the domain of a task.
    pub fn misplaced<'f>(&'f self, node: &'f Node) -> Option<Misplaced<'f>> {
        let name = node.domain()?;
        let Some(domain) = self.domain(name) else {
            return Some(Misplaced::Unknown(name));
        };
        let holds = number(&node.id).is_some_and(|number| domain.knows(number));
        (!holds).then_some(Misplaced::Outside(domain))
    }

    /// The next free id: of a domain, or outside of all of them. Nothing where the domain is full.
    pub fn free_id(&self, domain: Option<&Domain>) -> Option<TaskId> {
        let (from, to) = domain.map_or((1, u32::MAX), |one| (one.from, one.to));
        let is_meant =
            |number: &u32| domain.is_some() || !self.domains.iter().any(|one| one.holds(*number));
        let numbers = (from..=to).filter(is_meant);
        let mut ids = numbers.filter_map(|number| TaskId::parse(&format!("TASK-{number:03}")));
        ids.find(|id| self.place(id).is_none())
    }

    /// The next free range: behind every other one, and behind what the list has without a domain.
    pub fn free_range(&self) -> Option<(u32, u32)> {
        let last = self.domains.iter().map(|one| one.to).max().unwrap_or(0);
        let loose = self.nodes.iter().filter(|node| node.domain().is_none());
        let loose = loose.filter_map(|node| given(&node.id)).max().unwrap_or(0);
        let from = last
            .max(loose)
            .div_ceil(SIZE)
            .checked_mul(SIZE)?
            .checked_add(1)?;
        let to = from.checked_add(SIZE - 1)?;
        (to <= LAST).then_some((from, to))
    }

    /// Counts the tasks of a domain.
    pub fn tasks_of(&self, domain: &Domain) -> usize {
        let own = |node: &&Node| node.domain().is_some_and(|name| domain.is_called(name));
        self.nodes.iter().filter(own).count()
    }
}

/// Says what is wrong with the domain of a task.
pub(super) fn check(file: &TaskFile, node: &Node, row: &mut Row<'_>) {
    match file.misplaced(node) {
        Some(Misplaced::Unknown(name)) => row.say(
            "task_domain_unknown",
            format!("it is of the domain `{name}`, which the list does not have"),
        ),
        Some(Misplaced::Outside(domain)) => row.say(
            "task_domain_outside",
            format!(
                "it is of the domain `{}`, whose tasks have the numbers {}",
                domain.name,
                domain.range()
            ),
        ),
        None if node.domain().is_none() => {
            let number = given(&node.id);
            let holds = |one: &&Domain| number.is_some_and(|number| one.holds(number));
            if let Some(domain) = file.domains.iter().find(holds) {
                row.say(
                    "task_domain_missing",
                    format!(
                        "its number is of the domain `{}`, and it names none",
                        domain.name
                    ),
                );
            }
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::task::file::read;
    use crate::task::node::TaskId;

    fn task(id: &str, domain: &str) -> String {
        let domain = match domain {
            "" => String::new(),
            name => format!(",\"domain\":\"{name}\""),
        };
        format!("{{\"id\":\"{id}\",\"title\":\"T\"{domain}}}\n")
    }

    const THREE: &str = "{\"domain\":\"auth\",\"from\":1,\"to\":100}\n{\"domain\":\"ui\",\"from\":101,\"to\":200,\"owner\":\"Ada\"}\n{\"domain\":\"ops\",\"from\":201,\"to\":202}\n";

    #[test]
    fn each_domain_gives_out_ids_of_its_own() {
        let text = format!(
            "{THREE}{}{}",
            task("TASK-101", "ui"),
            task("TASK-201", "ops")
        );
        let file = read(&text).expect("a list");
        let next = |name: &str| file.free_id(file.domain(name)).map(|id| id.to_string());
        assert_eq!(next("auth").as_deref(), Some("TASK-001"));
        assert_eq!(next("UI").as_deref(), Some("TASK-102"));
        assert_eq!(next("ops").as_deref(), Some("TASK-202"));
        assert_eq!(next("nobody").as_deref(), Some("TASK-203"), "of no domain");
        let full = format!("{text}{}", task("TASK-202", "ops"));
        let file = read(&full).expect("a list");
        assert_eq!(file.free_id(file.domain("ops")), None);
        assert_eq!(file.free_range(), Some((301, 400)));
        assert_eq!(read("").expect("a list").free_range(), Some((1, 100)));
        let loose = read(&task("TASK-007", "")).expect("a list");
        assert_eq!(loose.free_range(), Some((101, 200)));
    }

    #[test]
    fn ranges_that_meet_and_lines_that_say_no_domain_are_faults() {
        let fault = |text: &str| read(text).expect_err("no list")[0].message.clone();
        let meets = format!("{THREE}{{\"domain\":\"api\",\"from\":150,\"to\":160}}\n");
        assert!(fault(&meets).contains("and `ui` has 101-200"));
        let line = "write the line as {\"domain\":\"api\",\"from\":301,\"to\":400}";
        assert!(fault(&meets).contains(line), "{}", fault(&meets));
        let moved = meets.replace("\"from\":150,\"to\":160", "\"from\":301,\"to\":400");
        assert!(read(&moved).is_ok());
        let twice = format!("{THREE}{{\"domain\":\"UI\",\"from\":500,\"to\":600}}\n");
        assert!(fault(&twice).contains("stands there twice"));
        for odd in [
            "{\"domain\":\"a b\",\"from\":1,\"to\":2}",
            "{\"domain\":\"a\",\"from\":3,\"to\":2}",
            "{\"domain\":\"a\",\"from\":1}",
            "{\"domain\":\"a\",\"from\":1,\"to\":100000}",
            "{\"domain\":\"a\",\"from\":\"1\",\"to\":2}",
        ] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn the_number_of_an_id_stands_at_its_end() {
        let of = |id: &str| number(&TaskId::parse(id).expect("an id"));
        assert_eq!(of("TASK-012"), Some(12));
        assert_eq!(of("API-v2.101"), Some(101));
        assert_eq!(of("REVIEW"), None);
        assert_eq!(of("7"), Some(7));
    }
}
