//! The documents as text to the package.

use super::block::{Block, blocks};
use super::criterion::Criterion;
use super::finding::Findings;
use super::{Decision, Document, Named, Package, Priority, Requirement, Source, Sources};
use crate::headings::is_same;
use loopx_spec::front::FrontMatter;

const CRITERIA: &str = "Acceptance criteria";
const FRONT: &str = "package_front_matter_invalid";

/// Reads the package.
pub fn read(sources: Sources) -> Package {
    let mut package = Package::default();
    let mut findings = Findings::default();
    for (document, source) in &sources.whole {
        let (label, text) = (source.label.as_str(), source.text.as_str());
        let front = front(*document, label, text, &mut findings);
        let blocks = blocks(text, front.body_offset());
        let mut reader = Reader {
            label,
            text,
            blocks: &blocks,
            findings: &mut findings,
        };
        match document {
            Document::ProductBrief => package.goals = reader.goals(),
            Document::Requirements => {
                package.domain = field(&front, "domain");
                package.purpose = field(&front, "purpose");
                let domain = package.domain.as_deref().unwrap_or_default();
                package.requirements = reader.requirements(domain);
            }
            Document::Architecture => {
                reader.narrow("Decisions");
                package.decisions = reader.decisions();
            }
            Document::Epics => package.stories = reader.stories(),
            Document::ReadinessReport => {
                if let Some(word) = field(&front, "verdict") {
                    match word.parse() {
                        Ok(verdict) => package.verdict = Some(verdict),
                        Err(failure) => {
                            let line = front.line_of("verdict");
                            findings.say(FRONT, label, line, failure.message);
                        }
                    }
                }
                if let Some(text) = field(&front, "depth") {
                    package.depth = text.parse().ok().filter(|depth| *depth <= 100);
                    if package.depth.is_none() {
                        let message =
                            format!("depth: expected a number from 0 to 100, found `{text}`");
                        let line = front.line_of("depth");
                        findings.say(FRONT, label, line, message);
                    }
                }
            }
        }
    }
    for (document, source) in &sources.items {
        item(&mut package, *document, source, &mut findings);
    }
    package.sources = sources;
    package.findings = findings.0;
    package
}

/// Reads an item that has a file of its own: what is a heading of level 3 within a document is the first one here, and
/// an epic, which is of level 2 there, likewise.
fn item(package: &mut Package, document: Document, source: &Source, findings: &mut Findings) {
    let (label, text) = (source.label.as_str(), source.text.as_str());
    let front = FrontMatter::parse(text).unwrap_or_else(|fault| {
        findings.say(FRONT, label, fault.line, fault.message);
        FrontMatter::default()
    });
    let deeper = if document == Document::Epics { 1 } else { 2 };
    let mut blocks = blocks(text, front.body_offset());
    for block in &mut blocks {
        block.level += deeper;
    }
    if !blocks.iter().any(|block| block.level == deeper + 1) {
        let beginning = document.beginnings().first().unwrap_or(&"");
        let message = format!("expected a heading like `# {beginning}001: NAME`, found none");
        findings.say("package_id_invalid", label, 0, message);
    }
    let mut reader = Reader {
        label,
        text,
        blocks: &blocks,
        findings,
    };
    let name = label.rsplit('/').next().unwrap_or(label);
    let is_of_name = |block: &Block| {
        let id = Id::read(&block.title, document.beginnings());
        id.is_none_or(|id| is_named(name, &id.id))
    };
    if let Some(other) = blocks
        .iter()
        .find(|one| one.level == deeper + 1 && !is_of_name(one))
    {
        let message = format!("`{}` stands in a file of another name", other.title);
        reader
            .findings
            .say("package_file_apart", label, other.line, message);
    }
    match document {
        Document::Requirements => {
            let domain = package.domain.clone().unwrap_or_default();
            package.requirements.extend(reader.requirements(&domain));
        }
        Document::Architecture => package.decisions.extend(reader.decisions()),
        Document::Epics => package.stories.extend(reader.stories()),
        Document::ProductBrief | Document::ReadinessReport => {}
    }
}

/// A field of front matter that says something.
pub(super) fn field(front: &FrontMatter, key: &'static str) -> Option<String> {
    let text = front.text(key).ok().flatten()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn front(document: Document, label: &str, text: &str, findings: &mut Findings) -> FrontMatter {
    let front = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(fault) => {
            findings.say(FRONT, label, fault.line, fault.message);
            return FrontMatter::default();
        }
    };
    if field(&front, "document").as_deref() != Some(document.as_str()) {
        let line = front.line_of("document");
        let message = format!("expected front matter with `document: {document}`");
        findings.say(FRONT, label, line, message);
    }
    front
}

/// Tells whether a file is named by an id: `REQ-001.md`, `REQ-001-idle.md`.
fn is_named(name: &str, id: &str) -> bool {
    let rest = name.strip_prefix(id);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

struct Reader<'r> {
    label: &'r str,
    text: &'r str,
    blocks: &'r [Block],
    findings: &'r mut Findings,
}

impl<'r> Reader<'r> {
    /// The blocks of a level that have ids with one of these beginnings, and those below each.
    fn items(&mut self, level: usize, prefixes: &[&str]) -> Vec<(Id, &'r Block, &'r [Block])> {
        let mut found = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            if block.level != level {
                continue;
            }
            let Some(id) = Id::read(&block.title, prefixes) else {
                let message = format!(
                    "expected a heading like `{}001: NAME`, found `{}`",
                    prefixes[0], block.title
                );
                self.findings
                    .say("package_id_invalid", self.label, block.line, message);
                continue;
            };
            let below = &self.blocks[at + 1..];
            let end = below.iter().position(|one| one.level <= level);
            found.push((id, block, &below[..end.unwrap_or(below.len())]));
        }
        found
    }

    fn ids(&self, block: &Block, name: &str) -> Vec<String> {
        let value = block.field(name).map_or("", |(value, _)| value);
        let words = value.split([',', ' ', ';', '、', '，']);
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    fn goals(&mut self) -> Vec<Named> {
        let blocks = self.blocks.iter();
        let of_goals = blocks.filter(|block| block.level == 2 && is_same(&block.title, "Goals"));
        let mut goals = Vec::new();
        for (text, line) in of_goals.flat_map(Block::items) {
            match Id::read(text, &["GOAL-"]) {
                Some(id) => goals.push(Named {
                    id: id.id,
                    title: id.title,
                    file: self.label.to_owned(),
                    line: *line,
                    serves: Vec::new(),
                }),
                None => {
                    let message = format!("expected an item like `GOAL-1: TEXT`, found `{text}`");
                    self.findings
                        .say("package_id_invalid", self.label, *line, message);
                }
            }
        }
        goals
    }

    fn requirements(&mut self, domain: &str) -> Vec<Requirement> {
        let mut all = Vec::new();
        for (id, block, below) in self.items(3, &["REQ-", "NFR-"]) {
            let priority = block.field("Priority").and_then(|(word, line)| {
                let word = word.to_lowercase().replace(['\'', '’'], "");
                if word.is_empty() || word == "unset" {
                    return None;
                }
                let parsed = word.parse::<Priority>();
                if let Err(failure) = &parsed {
                    let message = format!("{}: {}", id.id, failure.message);
                    self.findings
                        .say("package_priority_unknown", self.label, line, message);
                }
                parsed.ok()
            });
            let (criteria, others): (Vec<&Block>, Vec<&Block>) =
                below.iter().partition(|one| is_same(&one.title, CRITERIA));
            let criteria = criteria.into_iter().flat_map(Block::items);
            all.push(Requirement {
                line: block.line,
                priority,
                domain: block
                    .field("Domain")
                    .map_or(domain, |(value, _)| value)
                    .to_owned(),
                goals: self.ids(block, "Goals"),
                statement: block.prose(self.text, true),
                criteria: criteria
                    .map(|(text, line)| Criterion::read(text, *line))
                    .collect(),
                others: others.into_iter().map(|one| one.title.clone()).collect(),
                file: self.label.to_owned(),
                id: id.id,
                title: id.title,
            });
        }
        all
    }

    fn decisions(&mut self) -> Vec<Decision> {
        let mut all = Vec::new();
        for (id, block, below) in self.items(3, &["ADR-"]) {
            let part = |title: &str| below.iter().find(|one| is_same(&one.title, title));
            let said = |title: &str| {
                part(title).map_or_else(String::new, |one| one.prose(self.text, false))
            };
            all.push(Decision {
                requirements: self.ids(block, "Requirements"),
                context: said("Context"),
                options: said("Options considered"),
                considered: part("Options considered").map_or(0, |one| one.items().count()),
                outcome: said("Decision"),
                consequences: said("Consequences"),
                file: self.label.to_owned(),
                line: block.line,
                id: id.id,
                title: id.title,
            });
        }
        all
    }

    /// Goes on with one level-2 section alone: headings elsewhere are the writer's own.
    fn narrow(&mut self, title: &str) {
        let is_top = |block: &Block| block.level <= 2;
        let start = self
            .blocks
            .iter()
            .position(|block| is_top(block) && is_same(&block.title, title));
        let inside = start.map_or(&[][..], |at| &self.blocks[at + 1..]);
        let end = inside.iter().position(is_top);
        self.blocks = &inside[..end.unwrap_or(inside.len())];
    }

    fn stories(&mut self) -> Vec<Named> {
        self.items(2, &["EPIC-"]);
        let stories = self.items(3, &["STORY-"]);
        let named = stories.into_iter().map(|(id, block, _)| Named {
            file: self.label.to_owned(),
            line: block.line,
            serves: self.ids(block, "Requirements"),
            id: id.id,
            title: id.title,
        });
        named.collect()
    }
}

/// `REQ-001: Title`, in two.
struct Id {
    id: String,
    title: String,
}

impl Id {
    fn read(text: &str, prefixes: &[&str]) -> Option<Self> {
        let (id, title) = text.split_once([':', '：'])?;
        let id = id.trim().trim_matches('*');
        let prefix = prefixes.iter().find(|prefix| id.starts_with(**prefix))?;
        let number = &id[prefix.len()..];
        let is_good = !number.is_empty()
            && number
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        let title = title.trim();
        (is_good && !title.is_empty()).then(|| Id {
            id: id.to_owned(),
            title: title.to_owned(),
        })
    }
}
