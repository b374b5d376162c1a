//! Templates of issues: a Markdown file of the code branch, whose front matter says fields and whose text is the
//! description. Read as data: nothing in it is run.

use super::event::Change;
use super::filter::minutes;
use loopx_base::failure::{Code, Failure, Result};
use loopx_spec::front::{Fault, FrontMatter};

/// The fields that a template can say.
const KNOWN: [&str; 9] = [
    "about",
    "title",
    "kind",
    "priority",
    "labels",
    "assignee",
    "milestone",
    "estimate",
    "criteria",
];

/// What stands for the title that somebody types.
const TITLE: &str = "{title}";

/// A template, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    title: Option<String>,
    /// The fields that it says.
    pub changes: Vec<Change>,
}

impl Template {
    /// Reads a template; what is wrong is told with its line.
    pub fn read(text: &str, path: &str) -> Result<Self> {
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
        let value = |key: &'static str| front.text(key).map_err(invalid);
        let list = |key: &'static str| front.list(key).map_err(invalid);
        let mut changes = Vec::new();
        let description = text[front.body_offset()..].trim();
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
            title: value("title")?,
            changes,
        })
    }

    /// The title of an issue, with what somebody typed in its place.
    pub fn title(&self, typed: &str) -> String {
        match &self.title {
            Some(title) if title.contains(TITLE) => title.replace(TITLE, typed.trim()),
            Some(title) if typed.trim().is_empty() => title.clone(),
            _ => typed.trim().to_owned(),
        }
    }

    /// Whether nobody can tell the title from what was typed.
    pub fn lacks_title(&self, typed: &str) -> bool {
        let needs = self
            .title
            .as_ref()
            .is_none_or(|title| title.contains(TITLE));
        needs && typed.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Template;
    use crate::issue::event::Change;

    #[test]
    fn a_template_says_fields_and_a_text() {
        let text = "---\ntitle: \"Bug: {title}\"\nkind: bug\npriority: 1\nlabels: [ui]\nestimate: 4h\ncriteria: [it is gone]\n---\n\n## Steps\n";
        let template = Template::read(text, "bug.md").expect("a template");
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
        let fixed = Template::read("---\ntitle: Release\n---\n", "r.md").expect("a template");
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
                "---\ntitle: !!js/function x\n---\n",
                "t.md:2: anchors and tags",
            ),
        ] {
            let failure = Template::read(text, "t.md").expect_err(text);
            assert!(failure.message.starts_with(said), "{}", failure.message);
        }
    }
}
