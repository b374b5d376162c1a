//! Templates of issues: a Markdown file of the code branch, whose front matter says fields and whose text is the
//! description. It may name variables, which stand as `{name}` in what it says. Read as data: nothing in it is run, and a
//! value is text in which nothing is looked for.

use super::event::Change;
use super::filter::minutes;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_spec::front::{Fault, FrontMatter};
use std::collections::BTreeMap;

/// The fields that a template can say.
const KNOWN: [&str; 10] = [
    "about",
    "title",
    "kind",
    "priority",
    "labels",
    "assignee",
    "milestone",
    "estimate",
    "criteria",
    "variables",
];

/// The variable that everybody has: the title that somebody types.
const TITLE: &str = "title";

/// Values of variables, as somebody gives them.
pub type Given = [(String, String)];

/// A text with the values of its variables in their places, each looked for once. Braces that name none stay.
fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let inner = behind[1..].split_once('}');
        match inner.and_then(|(name, rest)| Some((values.get(name)?, rest))) {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = &behind[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// A variable as the front matter names it: `name`, which has to be given, or `name=value`.
fn variable(line: usize, text: &str) -> Result<(String, Option<String>), Fault> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
        None => (text.trim(), None),
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if name == TITLE || name.is_empty() || !name.chars().all(is_part) {
        return Err(Fault {
            line,
            field: Some("variables"),
            message: format!(
                "expected a name of letters, digits, - and _ (and not `{TITLE}`), or NAME=VALUE, found `{text}`"
            ),
            missing: false,
        });
    }
    Ok((name.to_owned(), value))
}

/// The value of each variable. Refused where one that has to be given is not, and where there is no such variable.
fn values(
    (path, typed): (&str, &str),
    variables: &[(String, Option<String>)],
    given: &Given,
) -> Result<BTreeMap<String, String>> {
    let is_known = |one: &&(String, String)| variables.iter().any(|(name, _)| *name == one.0);
    if let Some((unknown, _)) = given.iter().find(|one| !is_known(one)) {
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        let has = match names.as_slice() {
            [] => "has no variables".to_owned(),
            names => format!("has {}", names.join(", ")),
        };
        return Err(Failure::usage(
            Code::IssueVariableUnknown,
            format!("expected a variable of {path}, found `{unknown}`: it {has}"),
        )
        .help(command!("help issue create")));
    }
    let mut values = BTreeMap::new();
    let mut missing = Vec::new();
    for (name, default) in variables {
        let said = given.iter().rev().find(|(one, _)| one == name);
        match said.map(|(_, value)| value).or(default.as_ref()) {
            Some(value) => drop(values.insert(name.clone(), value.clone())),
            None => missing.push(name.as_str()),
        }
    }
    if missing.is_empty() {
        return Ok(values);
    }
    let given = given.iter().map(|(name, value)| {
        let pair = format!("{name}={value}");
        format!("--set {}", shell_word(&pair))
    });
    let wanted = missing.iter().map(|name| format!("--set {name}=TEXT"));
    let set: Vec<String> = given.chain(wanted).collect();
    let set = set.join(" ");
    Err(Failure::usage(
        Code::IssueVariableMissing,
        format!(
            "expected a value of {}, which {path} asks for",
            missing.join(" and ")
        ),
    )
    .help(command!("issue create {typed} {set}")))
}

/// A template, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    title: Option<String>,
    values: BTreeMap<String, String>,
    /// Fields that the template says.
    pub changes: Vec<Change>,
}

impl Template {
    /// Reads a template with the values of its variables; what is wrong is told with its line. `typed`: the words by which
    /// somebody asked for it.
    pub fn read(text: &str, (path, typed): (&str, &str), given: &Given) -> Result<Self> {
        let invalid = |fault: Fault| {
            Failure::refused(
                Code::IssueTemplateInvalid,
                format!("{path}:{}: {}", fault.line, fault.message),
            )
            .help("mend the file, and commit it")
        };
        let front = FrontMatter::parse(text).map_err(invalid)?;
        if let Some(fault) = front.unknown(&KNOWN) {
            return Err(invalid(fault));
        }
        let line = front.line_of("variables");
        let variables = front.list("variables").map_err(invalid)?;
        let variables = variables.iter().map(|text| variable(line, text));
        let variables = variables.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
        let values = values((path, typed), &variables, given)?;
        let fill = |text: &str| filled(text, &values);
        let value = |key: &'static str| {
            let text = front.text(key).map_err(invalid)?;
            Ok::<_, Failure>(text.map(|text| fill(&text)))
        };
        let list = |key: &'static str| {
            let all = front.list(key).map_err(invalid)?;
            Ok::<_, Failure>(all.iter().map(|text| fill(text)).collect::<Vec<String>>())
        };
        let mut changes = Vec::new();
        let description = fill(text[front.body_offset()..].trim());
        if !description.is_empty() {
            changes.push(Change::Description(format!("{description}\n")));
        }
        changes.extend(value("kind")?.map(Change::Kind));
        if value("priority")?.is_some() {
            let priority = front.count("priority").map_err(invalid)?;
            changes.push(Change::Priority(u8::try_from(priority).unwrap_or(u8::MAX)));
        }
        changes.extend(list("labels")?.into_iter().map(Change::Label));
        changes.extend(value("assignee")?.map(|name| Change::Assignee(Some(name))));
        changes.extend(value("milestone")?.map(|name| Change::Milestone(Some(name))));
        if let Some(time) = value("estimate")? {
            let minutes = minutes(&time).ok_or_else(|| {
                invalid(Fault {
                    line: front.line_of("estimate"),
                    field: Some("estimate"),
                    message: format!("expected a time like 90m, 4h or 2d, found `{time}`"),
                    missing: false,
                })
            })?;
            changes.push(Change::Estimate(Some(minutes)));
        }
        changes.extend(list("criteria")?.into_iter().map(Change::Criterion));
        Ok(Template {
            title: front.text("title").map_err(invalid)?,
            values,
            changes,
        })
    }

    /// The title of an issue, with what somebody typed in its place.
    pub fn title(&self, typed: &str) -> String {
        let mut values = self.values.clone();
        values.insert(TITLE.to_owned(), typed.trim().to_owned());
        match &self.title {
            Some(title) if asks_title(title) || typed.trim().is_empty() => filled(title, &values),
            _ => typed.trim().to_owned(),
        }
    }

    /// Tells whether nobody can tell the title from what was typed.
    pub fn lacks_title(&self, typed: &str) -> bool {
        let needs = self.title.as_deref().is_none_or(asks_title);
        needs && typed.trim().is_empty()
    }
}

/// Tells whether a title has a place for what somebody types.
fn asks_title(title: &str) -> bool {
    title.contains(&format!("{{{TITLE}}}"))
}

#[cfg(test)]
mod tests {
    use super::Template;
    use crate::issue::event::Change;

    #[test]
    fn a_template_says_fields_and_a_text() {
        let text = "---\ntitle: \"Bug: {title}\"\nkind: bug\npriority: 1\nlabels: [ui]\nestimate: 4h\ncriteria: [it is gone]\n---\n\n## Steps\n";
        let template = Template::read(text, ("bug.md", "bug"), &[]).expect("a template");
        assert_eq!(
            template.changes,
            [
                Change::Description("## Steps\n".into()),
                Change::Kind("bug".into()),
                Change::Priority(1),
                Change::Label("ui".into()),
                Change::Estimate(Some(240)),
                Change::Criterion("it is gone".into()),
            ]
        );
        assert_eq!(template.title("x"), "Bug: x");
        assert!(template.lacks_title(" "));
        let fixed =
            Template::read("---\ntitle: Release\n---\n", ("r.md", "r"), &[]).expect("a template");
        assert_eq!(
            (fixed.title(""), fixed.title("v2")),
            ("Release".into(), "v2".into())
        );
        assert!(!fixed.lacks_title(""));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, said) in [
            (
                "---\nkind: bug\nlabel: x\n---\n",
                "t.md:3: no field is named `label`",
            ),
            ("---\npriority: high\n---\n", "t.md:2: priority"),
            ("---\nestimate: long\n---\n", "t.md:2: expected a time"),
            (
                "---\nvariables: [title]\n---\n",
                "t.md:2: expected a name of letters",
            ),
            (
                "---\ntitle: !!js/function x\n---\n",
                "t.md:2: anchors and tags",
            ),
        ] {
            let failure = Template::read(text, ("t.md", "t"), &[]).expect_err(text);
            assert!(failure.message.starts_with(said), "{}", failure.message);
        }
    }
    #[test]
    fn each_variable_stands_in_its_places_once() {
        let text = "---\ntitle: \"{title} of {version}\"\nvariables: [version, branch=main]\nlabels: [\"v{version}\"]\nestimate: \"{version}h\"\n---\nFrom {branch}, {braces} and {version}: {\n";
        let read = |given: &[(&str, &str)]| {
            let given = given
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            let given: Vec<(String, String)> = given.collect();
            Template::read(text, ("t.md", "t"), &given)
        };
        let template = read(&[("version", "4")]).expect("a template");
        assert_eq!(template.title("Notes"), "Notes of 4");
        assert_eq!(
            template.changes,
            [
                Change::Description("From main, {braces} and 4: {\n".into()),
                Change::Label("v4".into()),
                Change::Estimate(Some(240)),
            ]
        );
        // What somebody gives is text, in which nothing is looked for.
        let sly = read(&[("version", "{branch}"), ("branch", "$(rm) `x` {version}")]);
        assert!(sly.is_err(), "{{branch}}h is no estimate");
        let sly = read(&[("version", "1"), ("branch", "$(rm) `x` {version} {title}")]);
        let sly = sly.expect("a template");
        assert_eq!(sly.title("{version}"), "{version} of 1");
        assert_eq!(
            sly.changes[0],
            Change::Description("From $(rm) `x` {version} {title}, {braces} and 1: {\n".into())
        );
        let missing = read(&[]).expect_err("a value is missing");
        assert!(
            missing.message.contains("a value of version"),
            "{}",
            missing.message
        );
        let unknown = read(&[("version", "1"), ("other", "")]).expect_err("no such variable");
        assert!(
            unknown.message.contains("version, branch"),
            "{}",
            unknown.message
        );
    }
}
