//! Document of rules: what its front matter says, and its rules.
//!
//! A missing field has its default. A field that cannot be read is a fault, and counts as what lets the document apply
//! most often: a slip of the pen must not switch a rule off.

use super::layout::{Layout, body_start};
use super::normal::plain;
use loopx_base::globs::Globs;
use loopx_base::nearest;
use loopx_base::vocabulary::vocabulary;
use loopx_spec::front::{Fault, FrontMatter};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde::Serialize;
use std::collections::BTreeSet;

vocabulary!(
    /// Duty or freedom of whoever works to have read a document.
    ReadMode {
        Required = "required",
        Optional = "optional",
    }
);

vocabulary!(
    /// Rank of a document among those that are read.
    Priority {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
);

vocabulary!(
    /// Owner of the rules that a document has.
    Origin {
        /// The repository's, for everybody.
        Project = "project",
        /// Rules of the person at this machine.
        Personal = "personal",
    }
);

/// The category of what holds everywhere.
pub const GENERAL: &str = "general";
const BUILT_IN: [&str; 4] = [GENERAL, "exploration", "planning", "execution"];

/// The fields of the front matter; `dimension` and `scope` are another tool's.
const FIELDS: [&str; 8] = [
    "applies_to",
    "category",
    "dimension",
    "keywords",
    "priority",
    "readMode",
    "scope",
    "title",
];

/// The categories that documents may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    own: Vec<String>,
}

impl Categories {
    /// The program's, and those that policy names.
    pub fn of(own: &[String]) -> Self {
        Categories { own: own.to_vec() }
    }

    pub fn has(&self, word: &str) -> bool {
        self.names().any(|name| name == word)
    }

    /// The categories that only policy names.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        let own = self.own.iter().map(String::as_str);
        own.filter(|name| !BUILT_IN.contains(name))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        BUILT_IN.into_iter().chain(self.own())
    }

    /// Message about a word that is no category.
    pub fn unknown(&self, word: &str) -> String {
        let names: Vec<&str> = self.names().collect();
        let near = nearest(word, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; there is `{near}`"));
        format!(
            "expected one of the categories {}, found `{word}`{near}",
            names.join(", ")
        )
    }
}

/// Place where a document was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path as it is shown: from the top of the repository, or of a person's own folder.
    pub path: String,
    pub origin: Origin,
    /// Id of the document's content.
    pub blob: String,
}

/// Rule of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Text as it reads, on one line.
    pub text: String,
    /// Normalised text that tells the rule from others.
    #[serde(skip)]
    pub key: String,
}

/// Fault in the front matter of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slip {
    pub(super) id: &'static str,
    pub(super) line: usize,
    pub(super) message: String,
}

/// A document, read.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    pub path: String,
    pub origin: Origin,
    pub blob: String,
    pub title: String,
    pub category: String,
    pub keywords: Vec<String>,
    #[serde(rename = "readMode")]
    pub mode: ReadMode,
    pub priority: Priority,
    /// Patterns of paths; everywhere where there is none.
    pub applies_to: Vec<String>,
    pub bytes: usize,
    /// Set when the document has text besides headings and comments.
    pub filled: bool,
    pub rules: Vec<Entry>,
    #[serde(skip)]
    pub text: String,
    #[serde(skip)]
    pub(super) slips: Vec<Slip>,
    /// Fields of another tool that say whose the document is: the field, its line, what it says.
    #[serde(skip)]
    pub(super) foreign: Vec<(&'static str, usize, String)>,
    /// The lines of the fields.
    #[serde(skip)]
    pub(super) applies_to_line: usize,
    #[serde(skip)]
    globs: Option<Globs>,
}

impl Document {
    /// Reads a document.
    pub fn read(source: Source, text: &str, categories: &Categories) -> Self {
        let Source { path, origin, blob } = source;
        let mut document = Document {
            title: String::new(),
            category: GENERAL.to_owned(),
            keywords: Vec::new(),
            mode: ReadMode::Optional,
            priority: Priority::Medium,
            applies_to: Vec::new(),
            bytes: text.len(),
            filled: is_filled(&text[body_start(text)..]),
            rules: entries(text),
            text: text.to_owned(),
            slips: Vec::new(),
            foreign: Vec::new(),
            applies_to_line: 1,
            globs: None,
            path,
            origin,
            blob,
        };
        match FrontMatter::parse(text) {
            Ok(front) => document.take(&front, categories),
            Err(fault) => document.slip("rule_front_matter", fault),
        }
        if document
            .slips
            .iter()
            .any(|slip| slip.id == "rule_front_matter")
        {
            document.mode = ReadMode::Required;
        }
        if document.title.is_empty() {
            document.title = heading(text).unwrap_or_else(|| stem(&document.path).to_owned());
        }
        document
    }

    fn slip(&mut self, id: &'static str, fault: Fault) {
        self.slips.push(Slip {
            id,
            line: fault.line,
            message: fault.message,
        });
    }

    fn take(&mut self, front: &FrontMatter, categories: &Categories) {
        const SLIP: &str = "rule_front_matter";
        if let Some(fault) = front.unknown(&FIELDS) {
            self.slip("rule_field_unknown", fault);
        }
        match front.text("title") {
            Ok(title) => self.title = title.unwrap_or_default().trim().to_owned(),
            Err(fault) => self.slip(SLIP, fault),
        }
        match front.list("keywords") {
            Ok(words) => self.keywords = words,
            Err(fault) => self.slip(SLIP, fault),
        }
        match word(front, "readMode") {
            Ok(mode) => self.mode = mode.unwrap_or(ReadMode::Optional),
            Err(fault) => self.slip(SLIP, fault),
        }
        match word(front, "priority") {
            Ok(priority) => self.priority = priority.unwrap_or(Priority::Medium),
            Err(fault) => self.slip(SLIP, fault),
        }
        match front.text("category") {
            Ok(Some(name)) if !categories.has(&name) => self.slips.push(Slip {
                id: "rule_category_unknown",
                line: front.line_of("category"),
                message: categories.unknown(&name),
            }),
            Ok(name) => self.category = name.unwrap_or_else(|| GENERAL.to_owned()),
            Err(fault) => self.slip(SLIP, fault),
        }
        self.applies_to_line = front.line_of("applies_to");
        match front.list("applies_to") {
            Ok(patterns) if patterns.is_empty() => {}
            Ok(patterns) => match Globs::new(&patterns) {
                Ok(globs) => {
                    self.applies_to = patterns;
                    self.globs = Some(globs);
                }
                Err(failure) => self.slips.push(Slip {
                    id: "rule_pattern_invalid",
                    line: self.applies_to_line,
                    message: failure.message,
                }),
            },
            Err(fault) => self.slip(SLIP, fault),
        }
        for field in ["dimension", "scope"] {
            match front.text(field) {
                Ok(Some(word)) => self.foreign.push((field, front.line_of(field), word)),
                Ok(None) => {}
                Err(fault) => self.slip(SLIP, fault),
            }
        }
    }

    /// Tells whether the document is about one of these paths; where none is named it may be.
    pub fn is_about(&self, paths: &[String]) -> bool {
        match &self.globs {
            Some(globs) if !paths.is_empty() => paths.iter().any(|path| globs.matches(path)),
            _ => true,
        }
    }

    pub fn is_required(&self) -> bool {
        self.mode == ReadMode::Required
    }

    /// Tells whether one of the document's keywords is this word, whatever the letter case.
    pub fn has_keyword(&self, word: &str) -> bool {
        let word = word.trim().to_lowercase();
        self.keywords
            .iter()
            .any(|known| known.trim().to_lowercase() == word)
    }

    /// Faults of the front matter, each as a sentence with its line.
    pub fn faults(&self) -> Vec<String> {
        let slips = self.slips.iter();
        slips
            .map(|slip| format!("{}:{}: {}", self.path, slip.line, slip.message))
            .collect()
    }
}

/// A field that is one of a few words.
fn word<T: std::str::FromStr<Err = loopx_base::failure::Failure>>(
    front: &FrontMatter,
    field: &'static str,
) -> Result<Option<T>, Fault> {
    let Some(text) = front.text(field)? else {
        return Ok(None);
    };
    text.parse()
        .map(Some)
        .map_err(|failure: loopx_base::failure::Failure| Fault {
            line: front.line_of(field),
            field: Some(field),
            message: format!("{field}: {}", failure.message),
            missing: false,
        })
}

/// The name of a file without folder and ending.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

/// The rules of a text.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let layout = Layout::of(text);
    let (mut line, mut counted) = (1, 0);
    let mut found = Vec::new();
    for (at, unit) in layout.rules() {
        line += text[counted..at].matches('\n').count();
        counted = at;
        let super::layout::UnitKey::Rule(key) = &unit.key else {
            continue;
        };
        if !key.is_empty() {
            found.push(Entry {
                line,
                text: plain(unit.text),
                key: key.clone(),
            });
        }
    }
    found
}

/// The first heading.
fn heading(text: &str) -> Option<String> {
    let layout = Layout::of(text);
    let mut titles = layout.sections.iter().map(|section| {
        let line = section.heading.lines().next().unwrap_or_default();
        line.trim().trim_matches('#').trim().to_owned()
    });
    titles.find(|title| !title.is_empty())
}

/// Tells whether a text says something besides its headings and its comments.
pub(super) fn is_filled(body: &str) -> bool {
    let mut is_heading = false;
    let mut html = String::new();
    for event in Parser::new(body) {
        match event {
            Event::Start(Tag::Heading { .. }) => is_heading = true,
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Start(Tag::HtmlBlock) => html.clear(),
            Event::Html(part) => html.push_str(&part),
            Event::End(TagEnd::HtmlBlock) => {
                let rest = html.trim();
                if !(rest.starts_with("<!--")
                    && rest.find("-->").is_none_or(|at| at + 3 == rest.len()))
                {
                    return true;
                }
            }
            Event::InlineHtml(part) if !part.starts_with("<!--") => return true,
            Event::Text(part) | Event::Code(part) if !is_heading && !part.trim().is_empty() => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// The front matter of a new document.
pub fn header(
    title: &str,
    category: &str,
    keywords: &[&str],
    (mode, priority): (ReadMode, Priority),
) -> String {
    let words: BTreeSet<&str> = keywords.iter().copied().collect();
    let words: Vec<String> = words.into_iter().map(yaml).collect();
    format!(
        "---\ntitle: {}\ncategory: {category}\nkeywords: [{}]\nreadMode: {mode}\npriority: {priority}\n---\n",
        yaml(title),
        words.join(", ")
    )
}

/// A text as a scalar of YAML.
pub(super) fn yaml(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || " -_./".contains(c);
    let is_plain = text.chars().all(is_word)
        && text.starts_with(|c: char| c.is_alphabetic())
        && !text.ends_with(' ');
    let is_value = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_lowercase().as_str());
    if is_plain && !is_value {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Categories, Document, Origin, Priority, ReadMode, Source, header, yaml};

    pub(in crate::rule) fn read(path: &str, text: &str) -> Document {
        let source = Source {
            path: path.to_owned(),
            origin: Origin::Project,
            blob: String::new(),
        };
        Document::read(source, text, &Categories::of(&["security".to_owned()]))
    }

    #[test]
    fn fields_have_the_defaults_of_s01() {
        let document = read("docs/rules/my-rules.md", "- one\n");
        assert_eq!(document.title, "my-rules");
        assert_eq!(document.category, "general");
        assert_eq!(document.mode, ReadMode::Optional);
        assert_eq!(document.priority, Priority::Medium);
        assert!(document.keywords.is_empty() && document.applies_to.is_empty());
        assert!(document.faults().is_empty());
        assert_eq!(read("a.md", "# The title #\n").title, "The title");
    }

    #[test]
    fn both_forms_of_lists_are_read() {
        let text = "---\ntitle: T\ncategory: security\nkeywords:\n  - sql\n  - Web\nreadMode: required\npriority: high\n\
                    applies_to: [src/**, \"*.sql\"]\nscope: project\ndimension: specs\n---\n# H\n\n- one\n- two\n  more\n";
        let document = read("a.md", text);
        assert_eq!(document.faults(), Vec::<String>::new());
        assert_eq!(document.category, "security");
        assert!(document.has_keyword("web") && !document.has_keyword("we"));
        assert!(document.is_required());
        assert_eq!(document.priority, Priority::High);
        let is_about = |path: &str| document.is_about(&[path.to_owned()]);
        assert!(is_about("src/a/b.rs") && is_about("x/y.sql") && !is_about("docs/a.md"));
        assert!(document.is_about(&[]));
        let rules: Vec<(usize, &str)> = document
            .rules
            .iter()
            .map(|one| (one.line, one.text.as_str()))
            .collect();
        assert_eq!(rules, [(15, "one"), (16, "two more")]);
    }

    /// Fields that cannot be read never switch a rule off.
    #[test]
    fn a_fault_makes_a_document_apply_more_often_and_is_named_with_its_line() {
        for (text, id, line) in [
            ("---\nreadMode: sometimes\n---\n", "rule_front_matter", 2),
            ("---\ntitle: &x t\n---\n", "rule_front_matter", 2),
            (
                "---\ntitle: !!python/object/apply:os.system [id]\n---\n",
                "rule_front_matter",
                2,
            ),
            ("---\ntitle: t\n", "rule_front_matter", 1),
        ] {
            let document = read("a.md", text);
            assert!(document.is_required(), "{text}");
            assert_eq!(document.slips[0].id, id, "{text}");
            assert!(
                document.slips[0].line.abs_diff(line) <= 1,
                "{text}: {:?}",
                document.slips
            );
        }
        let unknown = read("a.md", "---\ncategory: plannin\n---\n");
        assert_eq!(
            (unknown.category.as_str(), unknown.slips[0].id),
            ("general", "rule_category_unknown")
        );
        assert_eq!(
            unknown.faults(),
            [
                "a.md:2: expected one of the categories general, exploration, planning, execution, security, found \
              `plannin`; there is `planning`"
            ]
        );
        let pattern = read("a.md", "---\napplies_to: [\"a[\"]\n---\n");
        assert_eq!(pattern.slips[0].id, "rule_pattern_invalid");
        assert!(pattern.is_about(&["x".to_owned()]));
        let field = read("a.md", "---\nreadmode: required\n---\n");
        assert_eq!(field.slips[0].id, "rule_field_unknown");
    }

    #[test]
    fn headings_and_comments_alone_are_nothing_to_read() {
        for (text, filled) in [
            ("---\ntitle: t\n---\n# H\n\n<!-- write\n- here -->\n", false),
            ("# H\n\n## More <!-- x -->\n", false),
            ("# H\n- x\n", true),
            ("text\n", true),
            ("<!-- a --> b\n", true),
            ("", false),
            ("-\n", false),
        ] {
            assert_eq!(read("a.md", text).filled, filled, "{text}");
        }
    }

    #[test]
    fn a_header_is_read_back() {
        for title in [
            "Rules",
            "a: b # c",
            "\"quoted\" \\",
            "yes",
            "- x",
            "[a]",
            "1",
        ] {
            let text = header(
                title,
                "planning",
                &["sql", "a: b"],
                (ReadMode::Required, Priority::High),
            );
            let document = read("a.md", &text);
            assert_eq!(document.faults(), Vec::<String>::new(), "{text}");
            assert_eq!(document.title, title);
            assert_eq!(document.keywords, ["a: b", "sql"]);
            assert!(document.is_required());
        }
        assert_eq!(yaml("Coding conventions"), "Coding conventions");
    }
}
