//! A spec as people think of it: purpose, requirements, scenarios, steps, each with its place in the text.
//!
//! Made from the layout for checks, reports and JSON; the merge works on `tree`, not on this.

use super::check;
use super::layout::{Child, Item, ItemKind, Layout, Section};
use super::lines;
use super::renames;
use super::tree::split_gap;
use super::words::{self, Language, Level, SectionWord, StepWord};
use loopx_base::findings;
use loopx_base::findings::{Finding, Notes};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Place of a part: bytes from `start` to before `end`, the first of them on `line` (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub line: usize,
}

/// Content of a spec file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spec {
    pub title: Option<String>,
    pub purpose: Option<Passage>,
    pub language: Option<Language>,
    pub requirements: Vec<Requirement>,
    pub findings: Vec<Finding>,
}

/// A stretch of text as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The optional stable id: `<!-- id: NAME -->` on the line below the heading.
    pub id: Option<String>,
    /// Name as written; look it up folded ([`words::fold`]).
    pub name: String,
    /// The strongest RFC 2119 word of the body.
    pub level: Option<Level>,
    /// The EARS pattern of the first sentence, when it follows one.
    pub ears: Option<&'static str>,
    /// The text between the heading and the first scenario.
    pub body: String,
    pub scenarios: Vec<Scenario>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scenario {
    pub name: String,
    pub steps: Vec<Step>,
    /// The text below the heading.
    pub body: String,
    pub span: Span,
}

/// Step of a scenario with its nested data; prose that is no step has no word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub word: Option<StepWord>,
    /// The first line behind the word.
    pub text: String,
    /// The lines below it, as written.
    pub data: String,
    pub line: usize,
}

impl Spec {
    /// Finds a requirement by name, folded.
    pub fn requirement(&self, name: &str) -> Option<&Requirement> {
        let key = words::fold(name);
        self.requirements
            .iter()
            .find(|requirement| words::fold(&requirement.name) == key)
    }
}

/// Reads a spec and checks it. `Err` when the bytes are not UTF-8.
pub fn read_spec(bytes: &[u8], file: &str) -> Result<Spec, Finding> {
    let text = utf8(bytes, file)?;
    Ok(spec_of(&Layout::read(text), file))
}

/// The text of `bytes`, or the finding that says where they stop being UTF-8.
pub fn utf8<'b>(bytes: &'b [u8], file: &str) -> Result<&'b str, Finding> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        Finding::new(
            findings::Severity::Error,
            "not_utf8",
            file,
            line,
            format!("byte {} is not UTF-8", error.valid_up_to()),
            "save the file as UTF-8; nothing was changed",
        )
    })
}

pub(crate) fn spec_of(layout: &Layout<'_>, file: &str) -> Spec {
    let mut notes = Notes::new(file);
    let mut spec = Spec {
        title: None,
        purpose: None,
        language: None,
        requirements: Vec::new(),
        findings: Vec::new(),
    };
    for section in &layout.sections {
        if section.level == 1 && spec.title.is_none() {
            spec.title = Some(layout.slice(&section.title).to_owned());
        }
        match section.word {
            Some((SectionWord::Purpose, _)) if spec.purpose.is_none() => {
                spec.purpose = Some(passage(layout, section));
            }
            Some((SectionWord::Requirements, language)) if section.level == 2 => {
                spec.language = spec.language.or(Some(language));
                spec.requirements.extend(
                    section
                        .items
                        .iter()
                        .filter_map(|item| requirement(layout, item)),
                );
            }
            _ => {}
        }
    }
    check::spec(layout, &spec, &mut notes);
    spec.findings = notes.list;
    findings::sort(&mut spec.findings);
    spec
}

/// The text of a section below its heading.
pub(crate) fn passage(layout: &Layout<'_>, section: &Section) -> Passage {
    let range = section.heading.end..section.range.end;
    let (text, span) = trimmed(layout, &range);
    Passage { text, span }
}

fn trimmed(layout: &Layout<'_>, range: &Range<usize>) -> (String, Span) {
    let source = layout.slice(range);
    let text = source.trim();
    let start = range.start + (source.len() - source.trim_start().len());
    let span = Span {
        start,
        end: start + text.len(),
        line: layout.line(start),
    };
    (text.to_owned(), span)
}

pub(crate) fn requirement(layout: &Layout<'_>, item: &Item) -> Option<Requirement> {
    let ItemKind::Requirement { name } = &item.kind else {
        return None;
    };
    let prose: String = layout
        .outline
        .prose_in(&item.body)
        .map(|range| layout.slice(&range))
        .collect::<Vec<_>>()
        .join(" ");
    Some(Requirement {
        id: item.id.as_ref().map(|(_, id)| layout.slice(id).to_owned()),
        name: layout.slice(name).to_owned(),
        level: words::level(&prose),
        ears: ears(&prose),
        body: layout.slice(&item.body).trim().to_owned(),
        scenarios: item
            .children
            .iter()
            .filter_map(|child| scenario(layout, child))
            .collect(),
        span: span(layout, &item.range),
    })
}

fn span(layout: &Layout<'_>, range: &Range<usize>) -> Span {
    let (content, _) = split_gap(layout.slice(range));
    Span {
        start: range.start,
        end: range.start + content.len(),
        line: layout.line(range.start),
    }
}

fn scenario(layout: &Layout<'_>, child: &Child) -> Option<Scenario> {
    let heading = child.scenario.as_ref()?;
    let (body, place) = trimmed(layout, &child.body);
    let mut at = place.start;
    let mut steps = Vec::new();
    for unit in lines::steps(&body) {
        let (first, data) = unit.split_once('\n').unwrap_or((unit, ""));
        let bare = lines::unnumbered(renames::unbullet(first.trim()));
        let step = words::step(bare);
        steps.push(Step {
            word: step.map(|(word, _)| word),
            text: step.map_or(bare, |(_, rest)| rest).trim_end().to_owned(),
            data: data.trim_end().to_owned(),
            line: layout.line(at),
        });
        at += unit.len();
    }
    Some(Scenario {
        name: layout.slice(&heading.name).to_owned(),
        steps,
        body,
        span: span(layout, &child.range),
    })
}

/// The EARS pattern of the first sentence: which clause opens it, and `shall` behind it.
fn ears(prose: &str) -> Option<&'static str> {
    let sentence = prose.split(". ").next()?;
    let lower = sentence.to_lowercase();
    let shall = lower.find(" shall ").or_else(|| lower.find(" must "))?;
    let has = |word: &str| {
        lower.get(..shall).is_some_and(|head| {
            head.starts_with(&format!("{word} ")) || head.contains(&format!(", {word} "))
        })
    };
    let state = has("while");
    Some(match (has("when"), has("if"), has("where")) {
        (true, _, _) | (_, true, _) if state => "complex",
        (true, _, _) => "event-driven",
        (_, true, _) => "unwanted-behaviour",
        (_, _, true) => "optional-feature",
        _ if state => "state-driven",
        _ if lower.starts_with("the ") => "ubiquitous",
        _ => return None,
    })
}

/// The block of a requirement as written, looked up folded; of the empty name the purpose.
pub fn block_of(text: &str, name: &str) -> Option<String> {
    Blocks::read(text).get(name)
}

/// The blocks of a spec, read once for many names.
#[derive(Clone, Debug)]
pub struct Blocks<'t> {
    text: &'t str,
    purpose: Option<String>,
    /// Ranges of requirements by folded name; of two of one name the first.
    requirements: HashMap<Cow<'t, str>, Range<usize>>,
}

impl<'t> Blocks<'t> {
    pub fn read(text: &'t str) -> Self {
        let layout = Layout::read(text);
        let mut blocks = Blocks {
            text: layout.text,
            purpose: None,
            requirements: HashMap::new(),
        };
        for section in &layout.sections {
            match section.word {
                Some((SectionWord::Purpose, _)) if blocks.purpose.is_none() => {
                    blocks.purpose = Some(passage(&layout, section).text);
                }
                Some((SectionWord::Requirements, _)) if section.level == 2 => {
                    for item in &section.items {
                        if let ItemKind::Requirement { name } = &item.kind {
                            let key = words::folded(layout.slice(name));
                            let range = blocks.requirements.entry(key);
                            range.or_insert_with(|| item.range.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        blocks
    }

    /// The block of a requirement as written; of the empty name the purpose.
    pub fn get(&self, name: &str) -> Option<String> {
        let key = words::folded(name);
        if key.is_empty() {
            return self.purpose.clone();
        }
        let range = self.requirements.get(key.as_ref())?.clone();
        let (content, _) = split_gap(self.text.get(range)?);
        Some(content.to_owned())
    }
}
