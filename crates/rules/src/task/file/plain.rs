//! A line with which nothing is wrong, read in one pass. It gives the node that [`super::fields`] gives, or nothing: a
//! line that has more than stands here, or of which anything is to be said, is read again by that module, which owns
//! the rules and says what is wrong. So this one may only be narrower, and a test holds the two together.

use super::cursor::Cursor;
use super::fields::{PRIORITIES, STAGES};
use crate::policy::is_inside;
use crate::stage::Stage;
use crate::task::node::{
    Details, Edge, Kept, Node, NodeFile, NodeKind, OnFailed, Risk, TaskId, Verification, is_thing,
};
use std::borrow::Cow;

/// The node of a line with which nothing is wrong, if this is one. `details` are those of the line, to be read once
/// somebody asks for them.
pub(super) fn node(text: &str, line: usize, details: Kept) -> Option<Node> {
    let mut read = Reading {
        line,
        ..Reading::default()
    };
    let mut cursor = Cursor::of(text);
    cursor.object(|at, name| read.field(at, name))?;
    if !cursor.is_at_end() {
        return None;
    }
    Some(Node {
        id: read.id?,
        title: read.title?,
        kind: NodeKind::Work,
        priority: read.priority.unwrap_or(Node::PRIORITY),
        role: read.role,
        stage: read.stage.unwrap_or(Stage::Build),
        depends_on: read.depends_on.unwrap_or_default(),
        waits: Vec::new(),
        parent: read.parent,
        shared: None,
        scenarios: read.scenarios.unwrap_or_default(),
        reads: read.reads.unwrap_or_default(),
        deferred: Vec::new(),
        skill: None,
        outputs: read.outputs.unwrap_or_default(),
        exclusive: read.exclusive.unwrap_or_default(),
        parallel: read.parallel.unwrap_or(true),
        cap: read.cap.unwrap_or(Node::CAP),
        time_limit: read.time_limit,
        turn: None,
        on_failed: OnFailed::Hold,
        part: None,
        revision_of: None,
        gate: None,
        line: read.line,
        details,
    })
}

/// The fields of a line that its graph needs.
#[derive(Default)]
struct Reading {
    id: Option<TaskId>,
    title: Option<String>,
    priority: Option<u32>,
    role: Option<String>,
    stage: Option<Stage>,
    depends_on: Option<Vec<Edge>>,
    parent: Option<TaskId>,
    scenarios: Option<Vec<String>>,
    reads: Option<Vec<String>>,
    outputs: Option<Vec<String>>,
    exclusive: Option<Vec<String>>,
    parallel: Option<bool>,
    cap: Option<u32>,
    time_limit: Option<u64>,
    line: usize,
}

impl Reading {
    fn field(&mut self, at: &mut Cursor<'_>, name: &str) -> Option<()> {
        match name {
            "id" => self.id = Some(id(at)?),
            "title" => self.title = Some(title(at)?),
            "depends_on" => self.depends_on = at.perhaps(|at| at.list(edge))?,
            "scenarios" => self.scenarios = at.perhaps(texts)?,
            "priority" => self.priority = at.perhaps(priority)?,
            "role" => self.role = at.perhaps(text)?,
            "stage" => self.stage = at.perhaps(stage)?,
            "parent" => self.parent = at.perhaps(id)?,
            "reads" => self.reads = at.perhaps(texts)?,
            "outputs" => self.outputs = at.perhaps(|at| at.list(inside))?,
            "exclusive" => self.exclusive = at.perhaps(|at| at.list(thing))?,
            "parallel" => self.parallel = at.perhaps(Cursor::truth)?,
            "cap" => {
                let cap = at.perhaps(count)?;
                self.cap = cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX));
            }
            "time_limit" => self.time_limit = at.perhaps(count)?,
            "kind" => drop(at.perhaps(work)?),
            _ => detail(at, name, &mut |detail| match detail {
                Detail::File(file) => is_inside(&file.path).then_some(()),
                _ => Some(()),
            })?,
        }
        Some(())
    }
}

fn text(at: &mut Cursor<'_>) -> Option<String> {
    at.text().map(Cow::into_owned)
}

fn texts(at: &mut Cursor<'_>) -> Option<Vec<String>> {
    at.list(text)
}

fn id(at: &mut Cursor<'_>) -> Option<TaskId> {
    TaskId::parse(&at.text()?)
}

fn title(at: &mut Cursor<'_>) -> Option<String> {
    text(at).filter(|title| !title.trim().is_empty())
}

fn edge(at: &mut Cursor<'_>) -> Option<Edge> {
    let optional = false;
    id(at).map(|on| Edge { on, optional })
}

fn inside(at: &mut Cursor<'_>) -> Option<String> {
    text(at).filter(|path| is_inside(path))
}

fn thing(at: &mut Cursor<'_>) -> Option<String> {
    text(at).filter(|name| is_thing(name))
}

fn work(at: &mut Cursor<'_>) -> Option<()> {
    (at.text()? == NodeKind::Work.as_str()).then_some(())
}

fn stage(at: &mut Cursor<'_>) -> Option<Stage> {
    let word = at.text()?;
    STAGES.contains(&&*word).then(|| word.parse().ok())?
}

/// A priority by number or word.
fn priority(at: &mut Cursor<'_>) -> Option<u32> {
    if !at.is_at_text() {
        let number = u32::try_from(at.number()?).ok()?;
        return (number <= 4).then_some(number);
    }
    let word = at.text()?;
    let known = PRIORITIES.iter().find(|(known, _)| *known == word);
    known.map(|(_, number)| *number)
}

/// A number that counts something that there has to be.
fn count(at: &mut Cursor<'_>) -> Option<u64> {
    at.number().filter(|count| *count > 0)
}

/// Detail that a line says and the graph does not need.
enum Detail<'t> {
    Description(Cow<'t, str>),
    Work(Cow<'t, str>),
    DoneWhen(Cow<'t, str>),
    File(File<'t>),
    Criterion(Cow<'t, str>),
    /// Word of the command that verifies the node.
    Word(Cow<'t, str>),
    /// Words on what a person looks at to verify the node.
    Look(Cow<'t, str>),
}

#[derive(Default)]
struct File<'t> {
    path: Cow<'t, str>,
    action: Option<Cow<'t, str>>,
    risk: Option<Risk>,
}

/// The function that takes details one by one; `None` ends the reading.
type Takes<'r, 't> = &'r mut dyn FnMut(Detail<'t>) -> Option<()>;

/// Reads a field of which the graph needs nothing, if it is one that a plain line may have.
fn detail<'t>(at: &mut Cursor<'t>, name: &str, takes: Takes<'_, 't>) -> Option<()> {
    match name {
        "description" => said(at, |text| takes(Detail::Description(text))),
        "type" => said(at, |text| takes(Detail::Work(text))),
        "done_when" => said(at, |text| takes(Detail::DoneWhen(text))),
        "files" => {
            let files = at.perhaps(|at| at.each(|at| takes(Detail::File(file(at)?))));
            files.map(drop)
        }
        "convergence" => at.perhaps(|at| convergence(at, takes)).map(drop),
        // They mean nothing here, and have to be JSON all the same.
        "effort" | "scope" | "source" | "status" | "tags" | "created_at" | "updated_at" => at.any(),
        _ => None,
    }
}

fn said<'t>(at: &mut Cursor<'t>, take: impl FnOnce(Cow<'t, str>) -> Option<()>) -> Option<()> {
    match at.perhaps(Cursor::text)? {
        Some(text) => take(text),
        None => Some(()),
    }
}

/// A path, or an object that says more of it.
fn file<'t>(at: &mut Cursor<'t>) -> Option<File<'t>> {
    let mut file = File::default();
    if at.is_at_text() {
        file.path = at.text()?;
        return Some(file);
    }
    let mut has_path = false;
    at.object(|at, name| {
        match name {
            "path" => {
                file.path = at.text()?;
                has_path = true;
            }
            "action" => file.action = Some(at.text()?),
            "conflict_risk" if at.is_at_text() => file.risk = at.text()?.parse().ok(),
            "conflict_risk" | "changes" | "change" | "target" | "description" => at.any()?,
            _ => return None,
        }
        Some(())
    })?;
    has_path.then_some(file)
}

fn convergence<'t>(at: &mut Cursor<'t>, takes: Takes<'_, 't>) -> Option<()> {
    at.object(|at, name| match name {
        "criteria" => at.each(|at| takes(Detail::Criterion(at.text()?))),
        "verification" => at.perhaps(|at| check(at, takes)).map(drop),
        "definition_of_done" => at.text().map(drop),
        _ => None,
    })
}

/// A command, or something that a person looks at, and not both.
fn check<'t>(at: &mut Cursor<'t>, takes: Takes<'_, 't>) -> Option<()> {
    let mut forms = 0;
    at.object(|at, name| {
        forms += 1;
        match name {
            "cmd" => at.each(|at| takes(Detail::Word(at.text()?))),
            "manual" => takes(Detail::Look(at.text()?)),
            _ => None,
        }
    })?;
    (forms < 2).then_some(())
}

/// The details of a line of which [`node`] made one.
pub(super) fn details(text: &str) -> Details {
    let mut found = Details::default();
    let mut words = Vec::new();
    let read = Cursor::of(text).object(|at, name| {
        let is_detail = matches!(
            name,
            "description" | "type" | "done_when" | "files" | "convergence"
        );
        if !is_detail {
            return at.any();
        }
        detail(at, name, &mut |detail| {
            match detail {
                Detail::Description(text) => found.description = text.into_owned(),
                Detail::Work(work) => found.work = Some(work.into_owned()),
                Detail::DoneWhen(text) => found.done_when = Some(text.into_owned()),
                Detail::File(file) => found.files.push(file.into()),
                Detail::Criterion(text) => found.criteria.push(text.into_owned()),
                Detail::Word(word) => words.push(word.into_owned()),
                Detail::Look(text) if text.trim().is_empty() => {}
                Detail::Look(text) => {
                    found.verification = Some(Verification::Manual(text.into_owned()));
                }
            }
            Some(())
        })
    });
    if words.first().is_some_and(|word| !word.trim().is_empty()) {
        found.verification = Some(Verification::Cmd(words));
    }
    read.map(|()| found).unwrap_or_default()
}

impl From<File<'_>> for NodeFile {
    fn from(file: File<'_>) -> Self {
        NodeFile {
            path: file.path.into_owned(),
            action: file.action.map(Cow::into_owned),
            risk: file.risk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::details;
    use crate::task::file::fields;
    use crate::task::file::row::Fields;
    use crate::task::node::{Kept, Lines, Node};
    use std::rc::Rc;

    /// The node of a line, with its details to be read from there.
    fn node(text: &str, line: usize) -> Option<Node> {
        let lines = Rc::new(Lines::new(text.into(), details));
        let kept = Kept::of_line(&lines, 0, text.len())?;
        super::node(text, line, kept)
    }

    /// Node that the rules make of a line, if nothing is to be said of it.
    fn by_rules(text: &str) -> Option<Node> {
        let fields: Fields = serde_json::from_str(text).ok()?;
        let mut findings = Vec::new();
        let node = fields::node(&fields, 7, &mut findings)?;
        findings.is_empty().then_some(node)
    }

    /// Values that a field may be given, right and wrong ones.
    const VALUES: [&str; 37] = [
        "null",
        "true",
        "0",
        "2",
        "-1",
        "5",
        "1.5",
        "1e999",
        "99999999999999999999",
        "\"\"",
        "\" \"",
        "\"A\"",
        "\"a\\\\b\"",
        "\"\\ud800\"",
        "\"\\u00e9\"",
        "\"high\"",
        "\"work\"",
        "\"goal\"",
        "\"review\"",
        "\"archived\"",
        "\"cmd: true\"",
        "[]",
        "[1]",
        "[[]]",
        "[[\"a\"]]",
        "[[\"c\"],{\"cmd\":[\"true\"]}]",
        "[\"A\"]",
        "[\"../a\"]",
        "[\".GIT/a\",null]",
        "[{\"path\":\"a\"}]",
        "[{\"path\":\"a\",\"action\":\"read\",\"changes\":[1]},\"b\"]",
        "[{\"path\":\"a\",\"path\":\"/b\"}]",
        "[{\"path\":\"a\",\"action\":null}]",
        "[{\"id\":\"A\",\"optional\":true}]",
        "{}",
        "{\"a\":{\"b\":[]}}",
        "{\"required\":[\"a\"]}",
    ];

    const CHECKS: [&str; 18] = [
        "{}",
        "{\"criteria\":[\"a\"]}",
        "{\"criteria\":null}",
        "{\"criteria\":[\"a\"],\"criteria\":[\"b\"]}",
        "{\"definition_of_done\":\"a\"}",
        "{\"definition_of_done\":null}",
        "{\"verification\":null}",
        "{\"verification\":\"cmd: true\"}",
        "{\"verification\":{}}",
        "{\"verification\":[]}",
        "{\"verification\":[[\"true\"]]}",
        "{\"verification\":{\"cmd\":[\"a\",\"b\"]}}",
        "{\"verification\":{\"cmd\":[]}}",
        "{\"verification\":{\"cmd\":[\" \"]}}",
        "{\"verification\":{\"cmd\":null}}",
        "{\"verification\":{\"cmd\":[],\"manual\":\"a\"}}",
        "{\"verification\":{\"manual\":\"look\"}}",
        "{\"verification\":{\"manual\":\"\"},\"more\":1}",
    ];

    #[test]
    fn a_plain_line_gives_what_the_rules_give_or_nothing() {
        let names = fields::OWN
            .iter()
            .chain(&["status", "tags", "details", "unknown", "Title"]);
        let (mut plain, mut all) = (0, 0);
        let mut look = |line: &str| {
            let (found, expected) = (node(line, 7), by_rules(line));
            all += 1;
            if found.is_some() {
                plain += 1;
                assert_eq!(found, expected, "{line}");
            }
        };
        for name in names {
            for value in VALUES.iter().chain(&CHECKS) {
                look(&format!(
                    "{{\"id\":\"T-1\",\"title\":\"T\",\"{name}\":{value}}}"
                ));
                look(&format!("{{\"{name}\":{value},\"title\":\"T\"}}"));
                look(&format!("{{\"id\":\"T-1\",\"{name}\":{value}}}"));
                let twice = format!("\"{name}\":{value},\"{name}\":{value}");
                look(&format!("{{\"id\":\"T-1\",\"title\":\"T\",{twice}}}"));
            }
        }
        for odd in [
            "",
            "[]",
            "[\"T-1\",\"T\"]",
            "{}",
            "{\"id\":\"a\",\"title\":\"b\"} x",
            "{\"id\":\"a\",\"title\":\"b\"",
            "\u{feff}{}",
        ] {
            look(odd);
        }
        // Most values are wrong for most fields; few of these lines are plain, and those are what is compared.
        assert!(plain > 300, "{plain} of {all}");
    }

    #[test]
    fn the_line_of_a_usual_list_is_plain() {
        for line in [
            r#"{"id":"TASK-1","title":"T","depends_on":["TASK-0"],"files":[{"path":"src/a.rs","action":"create"}],"convergence":{"criteria":["c"],"verification":{"cmd":["true"]}}}"#,
            r#"{"id":"A","title":"\u00e9 \"quoted\"","description":"a\nb","type":"feature","priority":"high","effort":"small","role":"writer","stage":"review","parent":"B","files":["a","b/c"],"scenarios":["d/R/S"],"reads":["spec.md"],"outputs":["o.md"],"exclusive":["db"],"parallel":false,"cap":2,"time_limit":9,"convergence":{"criteria":["c"],"verification":{"manual":"look"},"definition_of_done":"d"}}"#,
        ] {
            let found = node(line, 7);
            assert!(found.is_some(), "{line}");
            assert_eq!(found, by_rules(line));
        }
    }
}
