//! A line with which nothing is wrong, read in one pass. It gives the node that [`super::fields`] gives, or nothing: a
//! line that has more than stands here, or of which anything is to be said, is read again by that module, which owns
//! the rules and says what is wrong. So this one may only be narrower, and a test holds the two together.

use super::fields::{PRIORITIES, STAGES, risk_of};
use crate::policy::is_inside;
use crate::stage::Stage;
use crate::task::node::{
    Details, Edge, Kept, Node, NodeFile, NodeKind, OnFailed, Risk, TaskId, Verification, is_thing,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A text, borrowed where nothing in it is escaped.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl Text<'_> {
    fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

/// A field of an inner object: it may be missing, and may not be `null`.
struct Said<T>(Option<T>);

impl<T> Default for Said<T> {
    fn default() -> Self {
        Said(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(|value| Said(Some(value)))
    }
}

/// An object and nothing else: fields alone would also be read from a list of values in their order.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        from.deserialize_map(Only(PhantomData))
    }
}

/// The fields of a line as nearly every list has them. A field that stands twice is an error here.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'t> {
    #[serde(borrow)]
    id: Text<'t>,
    #[serde(borrow)]
    title: Text<'t>,
    #[serde(borrow, default)]
    description: Option<Text<'t>>,
    #[serde(borrow, default)]
    kind: Option<Text<'t>>,
    #[serde(borrow, default, rename = "type")]
    work: Option<Text<'t>>,
    #[serde(default)]
    priority: Option<Priority>,
    #[serde(borrow, default)]
    role: Option<Text<'t>>,
    #[serde(borrow, default)]
    stage: Option<Text<'t>>,
    #[serde(borrow, default)]
    depends_on: Option<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    parent: Option<Text<'t>>,
    #[serde(borrow, default)]
    files: Option<Vec<File<'t>>>,
    #[serde(borrow, default)]
    scenarios: Option<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    convergence: Option<Object<Convergence<'t>>>,
    #[serde(borrow, default)]
    reads: Option<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    outputs: Option<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    exclusive: Option<Vec<Text<'t>>>,
    #[serde(default)]
    parallel: Option<bool>,
    #[serde(default)]
    cap: Option<u64>,
    #[serde(default)]
    time_limit: Option<u64>,
    #[serde(borrow, default)]
    done_when: Option<Text<'t>>,
    // What follows means nothing here, and has to be JSON all the same.
    #[serde(default, rename = "effort")]
    _effort: Option<Value>,
    #[serde(default, rename = "scope")]
    _scope: Option<Value>,
    #[serde(default, rename = "source")]
    _source: Option<Value>,
    #[serde(default, rename = "status")]
    _status: Option<Value>,
    #[serde(default, rename = "tags")]
    _tags: Option<Value>,
    #[serde(default, rename = "created_at")]
    _created_at: Option<Value>,
    #[serde(default, rename = "updated_at")]
    _updated_at: Option<Value>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Convergence<'t> {
    #[serde(borrow, default)]
    criteria: Said<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    verification: Option<Object<Check<'t>>>,
    #[serde(borrow, default, rename = "definition_of_done")]
    _done: Said<Text<'t>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Check<'t> {
    #[serde(borrow, default)]
    cmd: Said<Vec<Text<'t>>>,
    #[serde(borrow, default)]
    manual: Said<Text<'t>>,
}

/// A priority by number or word.
struct Priority(u32);

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Said;
        impl Visitor<'_> for Said {
            type Value = Priority;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a priority")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Priority, E> {
                let known = u32::try_from(number).ok().filter(|number| *number <= 4);
                known.map(Priority).ok_or_else(|| E::custom("a priority"))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Priority, E> {
                let known = PRIORITIES.iter().find(|(word, _)| *word == text);
                let known = known.map(|(_, number)| Priority(*number));
                known.ok_or_else(|| E::custom("a priority"))
            }
        }
        from.deserialize_any(Said)
    }
}

/// A path, or an object that says more of it.
struct File<'t> {
    path: Cow<'t, str>,
    action: Option<Cow<'t, str>>,
    risk: Option<Risk>,
}

impl<'t> File<'t> {
    fn of(path: Cow<'t, str>) -> Self {
        let (action, risk) = (None, None);
        File { path, action, risk }
    }
}

/// The fields of such an object.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFields<'t> {
    #[serde(borrow)]
    path: Text<'t>,
    #[serde(borrow, default)]
    action: Said<Text<'t>>,
    #[serde(default, rename = "changes")]
    _changes: Option<Value>,
    #[serde(default, rename = "change")]
    _change: Option<Value>,
    #[serde(default)]
    conflict_risk: Option<Value>,
    #[serde(default, rename = "target")]
    _target: Option<Value>,
    #[serde(default, rename = "description")]
    _description: Option<Value>,
}

impl<'de: 't, 't> Deserialize<'de> for File<'t> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<'t>(PhantomData<&'t str>);
        impl<'de: 't, 't> Visitor<'de> for Either<'t> {
            type Value = File<'t>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path")
            }
            fn visit_borrowed_str<E: Error>(self, path: &'de str) -> Result<File<'t>, E> {
                let path = Cow::Borrowed(path);
                Ok(File::of(path))
            }
            fn visit_str<E: Error>(self, path: &str) -> Result<File<'t>, E> {
                let path = Cow::Owned(path.to_owned());
                Ok(File::of(path))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<File<'t>, A::Error> {
                let from = MapAccessDeserializer::new(map);
                let file = FileFields::deserialize(from)?;
                Ok(File {
                    path: file.path.0,
                    action: file.action.0.map(|action| action.0),
                    risk: file.conflict_risk.as_ref().and_then(risk_of),
                })
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}

/// The node of a line with which nothing is wrong, if this is one. `details` are those of the line, to be read once
/// somebody asks for them.
pub(super) fn node(text: &str, line: usize, details: Kept) -> Option<Node> {
    let Object(said): Object<Line<'_>> = serde_json::from_str(text).ok()?;
    let is_work = said
        .kind
        .as_ref()
        .is_none_or(|kind| kind.0 == NodeKind::Work.as_str());
    if !is_work || !said.has_details() {
        return None;
    }
    let outputs = owned(said.outputs);
    if !outputs.iter().all(|path| is_inside(path)) {
        return None;
    }
    Some(Node {
        id: TaskId::parse(&said.id.0)?,
        title: said.title.0.into_owned(),
        kind: NodeKind::Work,
        priority: said.priority.map_or(Node::PRIORITY, |priority| priority.0),
        role: text_of(said.role),
        stage: match said.stage {
            Some(stage) => stage_of(&stage.0)?,
            None => Stage::Build,
        },
        depends_on: edges(said.depends_on)?,
        waits: Vec::new(),
        parent: match said.parent {
            Some(parent) => Some(TaskId::parse(&parent.0)?),
            None => None,
        },
        shared: None,
        scenarios: owned(said.scenarios),
        reads: owned(said.reads),
        deferred: Vec::new(),
        skill: None,
        outputs,
        exclusive: exactly(said.exclusive, |name| {
            is_thing(&name.0).then(|| name.0.into_owned())
        })?,
        parallel: said.parallel.unwrap_or(true),
        cap: match said.cap {
            Some(0) => return None,
            Some(cap) => u32::try_from(cap).unwrap_or(u32::MAX),
            None => Node::CAP,
        },
        time_limit: match said.time_limit {
            Some(0) => return None,
            limit => limit,
        },
        turn: None,
        on_failed: OnFailed::Hold,
        part: None,
        revision_of: None,
        gate: None,
        line,
        details,
    })
}

/// The details of a line of which [`node`] made one.
pub(super) fn details(text: &str) -> Details {
    let said = serde_json::from_str::<Object<Line<'_>>>(text).ok();
    said.map(|Object(said)| said.details()).unwrap_or_default()
}

impl Line<'_> {
    /// Whether nothing is to be said of its details.
    fn has_details(&self) -> bool {
        let mut files = self.files.iter().flatten();
        let check = self.convergence.as_ref();
        let check = check.and_then(|Object(said)| said.verification.as_ref());
        let has_both =
            |Object(check): &Object<Check<'_>>| check.cmd.0.is_some() && check.manual.0.is_some();
        !self.title.is_blank()
            && files.all(|file| is_inside(&file.path))
            && !check.is_some_and(has_both)
    }

    fn details(self) -> Details {
        let (criteria, verification) = match self.convergence {
            Some(Object(said)) => (said.criteria.0, said.verification),
            None => (None, None),
        };
        let file = |file: File<'_>| NodeFile {
            path: file.path.into_owned(),
            action: file.action.map(Cow::into_owned),
            risk: file.risk,
        };
        let files = self.files.into_iter().flatten();
        Details {
            description: text_of(self.description).unwrap_or_default(),
            work: text_of(self.work),
            files: files.map(file).collect(),
            criteria: owned(criteria),
            verification: verification.and_then(check),
            done_when: text_of(self.done_when),
        }
    }
}

fn text_of(text: Option<Text<'_>>) -> Option<String> {
    text.map(|text| text.0.into_owned())
}

fn owned(texts: Option<Vec<Text<'_>>>) -> Vec<String> {
    exactly(texts, |text| Some(text.0.into_owned())).unwrap_or_default()
}

/// The values made of others, `None` where one cannot be. Most lists have one value, and ten thousand nodes keep no
/// room for more.
fn exactly<T, U>(values: Option<Vec<T>>, make: impl Fn(T) -> Option<U>) -> Option<Vec<U>> {
    let values = values.unwrap_or_default();
    let mut made = Vec::with_capacity(values.len());
    for value in values {
        made.push(make(value)?);
    }
    Some(made)
}

fn stage_of(word: &str) -> Option<Stage> {
    STAGES.contains(&word).then(|| word.parse().ok())?
}

fn edges(ids: Option<Vec<Text<'_>>>) -> Option<Vec<Edge>> {
    exactly(ids, |id| {
        let on = TaskId::parse(&id.0)?;
        let optional = false;
        Some(Edge { on, optional })
    })
}

/// How a line is verified; nothing where it says no words.
fn check(Object(said): Object<Check<'_>>) -> Option<Verification> {
    if let Some(cmd) = said.cmd.0 {
        let is_said = cmd.first().is_some_and(|word| !word.is_blank());
        return is_said.then(|| Verification::Cmd(owned(Some(cmd))));
    }
    let what = said.manual.0.filter(|what| !what.is_blank())?;
    Some(Verification::Manual(what.0.into_owned()))
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
        let lines = Rc::new(Lines::new(text, details));
        let kept = Kept::of_line(&lines, 0, text.len())?;
        super::node(text, line, kept)
    }

    /// What the rules make of a line, and whether anything is to be said of it.
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
