//! The delta reader: what a change does to the requirements of each domain, in the order written.
//!
//! Reports what is wrong with the delta by itself; whether it fits the specs is the business of `apply`.
//! The grammar is written down in the docs of the parent module.

use super::check;
use super::domain::check_domain;
use super::layout::{Item, ItemKind, Layout, Section};
use super::model::{self, Requirement};
use super::operation::{Delta, DomainDelta, Operation, ScenarioOperation};
use super::outline::Block;
use super::renames;
use super::tree::split_gap;
use super::words::{self, OpKind, SectionWord};
use loopx_base::findings;
use loopx_base::findings::{Notes, Severity};
use std::collections::{HashMap, HashSet};

const INTO_SECTION: &str = "put it below `## ADDED Requirements`, MODIFIED, REMOVED or RENAMED";

/// Reads one delta file. Never fails: what cannot be read is a finding.
pub fn read_delta(bytes: &[u8], file: &str) -> Delta {
    let text = match model::utf8(bytes, file) {
        Ok(text) => text,
        Err(finding) => {
            return Delta {
                findings: vec![finding],
                ..Delta::default()
            };
        }
    };
    let layout = Layout::read(text);
    let mut reader = Reader {
        layout: &layout,
        notes: Notes::new(file),
        delta: Delta::default(),
        current: None,
        names: HashMap::new(),
        sections: 0,
    };
    layout.problems(&mut reader.notes);
    reader.front();
    reader.levels();
    reader.early();
    for section in &layout.sections {
        reader.section(section);
    }
    let Reader {
        mut notes,
        mut delta,
        sections,
        ..
    } = reader;
    says_something(&delta, sections, &mut notes);
    for domain in &delta.domains {
        domain.clashes(&mut notes);
    }
    delta.findings = notes.list;
    findings::sort(&mut delta.findings);
    delta
}

/// A delta changes something, or says that it changes nothing.
fn says_something(delta: &Delta, sections: usize, notes: &mut Notes<'_>) {
    let said = |d: &DomainDelta| !d.operations.is_empty() || d.purpose.is_some();
    let says_nothing = !delta.domains.iter().any(said);
    if delta.unchanged.is_some() && !says_nothing {
        notes.error(
            "unchanged_with_operations",
            1,
            "the delta says `behaviour: unchanged`, and changes requirements",
            "take out the line, or the sections",
        );
    }
    if says_nothing && delta.unchanged.is_none() && !findings::has_errors(&notes.list) {
        let (id, message) = if sections == 0 {
            ("no_delta", "the delta has no section")
        } else {
            ("no_operations", "no section of the delta has an entry")
        };
        notes.error(
            id,
            1,
            message,
            "write `## ADDED Requirements` (or MODIFIED, REMOVED, RENAMED) with requirements below; where no behaviour \
             changes, begin with `---`, `behaviour: unchanged`, `reason: WHY`, `---`",
        );
    }
}

struct Reader<'l, 't, 'f> {
    layout: &'l Layout<'t>,
    notes: Notes<'f>,
    delta: Delta,
    /// The domain that the next section belongs to.
    current: Option<usize>,
    names: HashMap<String, usize>,
    sections: usize,
}

impl Reader<'_, '_, '_> {
    fn front(&mut self) {
        let Some(range) = self.layout.front.clone() else {
            return;
        };
        let first = self.layout.line(range.start);
        let mut list = false;
        let mut behaviour = None;
        let mut reason = String::new();
        for (index, line) in self.layout.slice(&range).lines().enumerate() {
            // The items of a list below its key.
            if let (true, Some(id)) = (list, line.trim_start().strip_prefix("- ")) {
                let id = id.trim().trim_matches(['"', '\'']);
                self.delta.depends_on.push(id.to_owned());
                continue;
            }
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            list = matches!(key.trim(), "depends_on" | "dependsOn") && value.trim().is_empty();
            let value = value.trim().trim_matches(['"', '\'']);
            match key.trim() {
                "domain" => self.enter(value, first + index),
                "depends_on" | "dependsOn" => {
                    self.delta.depends_on.extend(
                        value
                            .trim_matches(['[', ']'])
                            .split(',')
                            .map(|id| id.trim().trim_matches(['"', '\'']).to_owned())
                            .filter(|id| !id.is_empty()),
                    );
                }
                "retire" | "retire_capabilities" => self.delta.retire |= value == "true",
                "behaviour" | "behavior" => behaviour = Some((value.to_owned(), first + index)),
                "reason" => value.clone_into(&mut reason),
                _ => {}
            }
        }
        if let Some((value, line)) = behaviour {
            self.behaviour(&value, line, reason);
        }
    }

    /// A delta that says that no behaviour changes.
    fn behaviour(&mut self, value: &str, line: usize, reason: String) {
        if value != "unchanged" {
            self.notes.error(
                "bad_behaviour",
                line,
                format!("expected `behaviour: unchanged`, found `{value}`"),
                "take the line out where behaviour changes",
            );
        } else if reason.is_empty() {
            self.notes.error(
                "unchanged_without_reason",
                line,
                "the delta says that no behaviour changes, and not why a change is made",
                "write `reason: WHY` below it",
            );
        } else {
            self.delta.unchanged = Some(reason);
        }
    }

    fn enter(&mut self, name: &str, line: usize) {
        if let Err(why) = check_domain(name) {
            self.notes.error(
                "bad_domain",
                line,
                format!("`{name}` cannot be a domain: {why}"),
                "name the folder of the spec below the folder of specs, as `auth/login`",
            );
        }
        let at = match self.names.get(name) {
            Some(at) => *at,
            None => self.open(Some(name.to_owned())),
        };
        self.names.insert(name.to_owned(), at);
        self.current = Some(at);
    }

    fn open(&mut self, domain: Option<String>) -> usize {
        self.delta.domains.push(DomainDelta {
            domain,
            file: self.notes.file().to_owned(),
            ..DomainDelta::default()
        });
        self.delta.domains.len() - 1
    }

    /// The domain at hand; made when the file names none.
    fn domain(&mut self) -> Option<&mut DomainDelta> {
        let at = match self.current {
            Some(at) => at,
            None => self.open(None),
        };
        self.current = Some(at);
        self.delta.domains.get_mut(at)
    }

    /// Headings that name a requirement and are read as something else: one mark too many or too few.
    fn levels(&mut self) {
        for heading in &self.layout.outline.headings {
            let title = self.layout.slice(&heading.title);
            if let (2 | 4..=6, Some((name, _))) = (heading.level, words::requirement(title)) {
                let line = self.layout.line(heading.range.start);
                let found = format!("{} {title}", "#".repeat(heading.level.into()));
                self.wrong_level(line, &found, &format!("### Requirement: {name}"));
            }
        }
    }

    fn wrong_level(&mut self, line: usize, found: &str, wanted: &str) {
        self.notes.error(
            "wrong_heading_level",
            line,
            format!("`{found}` is not read as what it says: its heading is of another level"),
            format!("write `{wanted}`"),
        );
    }

    /// Lines in bold that stand where a heading is meant.
    fn bold(&mut self, section: &Section) {
        for (line, text) in renames::lines(self.layout, &section.intro) {
            let bare = text.trim().trim_matches(['*', '_']).trim();
            if text.trim().starts_with(['*', '_'])
                && let Some((name, _)) = words::requirement(bare)
            {
                let wanted = format!("### Requirement: {}", name.trim_matches(['*', '_', ' ']));
                self.wrong_level(line, text.trim(), &wanted);
            }
        }
    }

    fn section(&mut self, section: &Section) {
        let line = self.layout.line(section.heading.start);
        let title = self.layout.slice(&section.title);
        if section.level == 1
            && let Some(name) = domain_heading(title)
        {
            self.enter(name.trim_matches('`'), line);
            self.orphans(section);
            return;
        }
        match section.word {
            Some((SectionWord::Delta(kind), language)) if section.level == 2 => {
                self.sections += 1;
                if let Some(domain) = self.domain() {
                    domain.language = domain.language.or(Some(language));
                }
                let before = (self.count(), self.notes.errors());
                self.bold(section);
                match kind {
                    OpKind::Added | OpKind::Modified => self.blocks(section, kind),
                    OpKind::Removed => self.removed(section),
                    OpKind::Renamed => self.renamed(section),
                }
                if (self.count(), self.notes.errors()) == before {
                    self.notes.warn(
                        "empty_section",
                        line,
                        format!("`{title}` has no entry"),
                        "add requirements below it, or delete the heading",
                    );
                }
            }
            Some((SectionWord::Purpose, _)) if section.level == 2 => {
                self.sections += 1;
                let passage = model::passage(self.layout, section);
                if passage.text.is_empty() {
                    self.notes.error(
                        "empty_purpose",
                        line,
                        "the new purpose is empty",
                        "say what the domain is for, or delete the heading",
                    );
                } else if let Some(domain) = self.domain() {
                    domain.purpose = Some(passage);
                }
                self.orphans(section);
            }
            _ => self.orphans(section),
        }
    }

    /// The operations of the domain at hand.
    fn count(&self) -> usize {
        self.current
            .and_then(|at| self.delta.domains.get(at))
            .map_or(0, |domain| domain.operations.len())
    }

    fn push(&mut self, op: Operation) {
        if let Some(domain) = self.domain() {
            domain.operations.push(op);
        }
    }

    /// Notes requirements that stand above every heading that could say what happens to them.
    fn early(&mut self) {
        for (name, line) in self.layout.early() {
            self.notes.error(
                "requirement_outside_section",
                line,
                format!("requirement `{name}` stands above the first section of the delta"),
                INTO_SECTION,
            );
        }
    }

    /// Notes requirements below a heading that does not say what happens to them.
    fn orphans(&mut self, section: &Section) {
        for item in &section.items {
            if let ItemKind::Requirement { name } = &item.kind {
                self.notes.error(
                    "requirement_outside_section",
                    self.layout.line(item.range.start),
                    format!(
                        "requirement `{}` stands below `{}`, which is no section of a delta",
                        self.layout.slice(name),
                        self.layout.slice(&section.title)
                    ),
                    INTO_SECTION,
                );
            }
        }
    }

    fn blocks(&mut self, section: &Section, kind: OpKind) {
        for (index, item) in section.items.iter().enumerate() {
            let line = self.layout.line(item.range.start);
            if matches!(item.kind, ItemKind::Note) {
                self.foreign(item, line);
                continue;
            }
            let Some(requirement) = model::requirement(self.layout, item) else {
                continue;
            };
            let below = section.items.get(index + 1..).unwrap_or_default();
            if let Some(op) = self.block(item, below, kind, requirement) {
                self.push(op);
            }
        }
        let intro = self.layout.slice(&section.intro).trim();
        if !intro.is_empty() && !intro.starts_with("<!--") {
            self.notes.add(
                Severity::Info,
                "stray_text",
                self.layout.line(section.intro.start) + 1,
                "text before the first requirement belongs to no operation",
                "move it into a requirement, or leave it as a note",
            );
        }
    }

    fn foreign(&mut self, item: &Item, line: usize) {
        let Some(heading) = &item.heading else {
            return;
        };
        let title = self.layout.slice(heading).trim_start_matches(['#', ' ']);
        if let Some((_, name, _)) = words::scenario(title) {
            let found = format!("### {title}");
            self.wrong_level(line, &found, &format!("#### Scenario: {name}"));
        } else if words::almost_requirement(title) {
            self.notes.error(
                "almost_requirement",
                line,
                format!("`{title}` has no colon behind its first word"),
                "write `### Requirement: NAME`",
            );
        } else {
            self.notes.error(
                "foreign_heading",
                line,
                format!("`{title}` is no requirement"),
                "write `### Requirement: NAME`, or move the text out of the section",
            );
        }
    }

    fn block(
        &mut self,
        item: &Item,
        below: &[Item],
        kind: OpKind,
        mut requirement: Requirement,
    ) -> Option<Operation> {
        let scenarios = self.scenario_operations(item, kind);
        if self.mixes(&requirement, &scenarios) {
            return None;
        }
        let patch = kind == OpKind::Modified && scenarios.iter().all(|s| s.op.is_some());
        let mut text = self.source(item, below, kind);
        let mut after = None;
        if kind == OpKind::Added
            && let Some((name, rest)) = position_hint(self.layout.slice(&item.body))
        {
            after = Some(name.to_owned());
            requirement.body = rest.trim().to_owned();
            self.cut_hint(item, rest, &mut text);
        }
        self.judge(&requirement, &scenarios, patch);
        Some(Operation {
            kind,
            name: requirement.name.clone(),
            to: None,
            line: requirement.span.line,
            reason: None,
            migration: None,
            after,
            patch,
            scenarios,
            requirement: Some(requirement),
            text,
        })
    }

    /// Refuses scenarios of which some replace the whole requirement and some keep the rest of it.
    fn mixes(&mut self, requirement: &Requirement, scenarios: &[ScenarioOperation]) -> bool {
        let plain = scenarios.iter().any(|s| s.op.is_none());
        let marked = scenarios
            .iter()
            .find(|s| matches!(s.op, Some(OpKind::Added | OpKind::Modified)));
        let (true, Some(mark)) = (plain, marked) else {
            return false;
        };
        self.notes.error(
            "mixed_scenarios",
            mark.line,
            format!(
                "`{}` replaces the whole requirement, as it has plain scenarios; \
                 ADDED and MODIFIED scenarios are for a requirement that keeps the rest",
                requirement.name
            ),
            "mark every scenario, or none but the REMOVED and RENAMED ones",
        );
        true
    }

    /// The source of a block. A comment behind an added requirement comes along; a rule only parts it from the next.
    fn source(&self, item: &Item, below: &[Item], kind: OpKind) -> String {
        let mut whole = item.range.clone();
        let notes = below.iter().take_while(|note| note.heading.is_none());
        if let (OpKind::Added, Some(last)) = (kind, notes.last()) {
            let blocks = &self.layout.outline.blocks;
            let first = blocks.partition_point(|(at, _)| *at < item.range.end);
            let rule = blocks
                .iter()
                .skip(first)
                .take_while(|(at, _)| *at < last.range.end)
                .any(|(_, block)| *block == Block::Rule);
            if !rule {
                whole.end = last.range.end;
            }
        }
        split_gap(self.layout.slice(&whole)).0.to_owned()
    }

    /// Takes the line that says where an addition stands out of its source; `rest` is its body without it.
    fn cut_hint(&self, item: &Item, rest: &str, text: &mut String) {
        let body = self.layout.slice(&item.body).trim_end();
        let Some(at) = text.find(body) else {
            return;
        };
        // The line goes; what parts the heading from the rest stays.
        let lead = if rest.trim().is_empty() {
            0
        } else {
            body.len() - body.trim_start().len()
        };
        let rest = without_blank_lines(rest).trim_end();
        text.replace_range(at + lead..at + body.len(), rest);
    }

    /// Judges a block by itself. A mark is judged later, with the base at hand; a removal has no body to judge.
    fn judge(&mut self, requirement: &Requirement, scenarios: &[ScenarioOperation], patch: bool) {
        let mut judged = requirement.clone();
        let kept: HashSet<usize> = scenarios
            .iter()
            .filter(|op| !matches!(op.op, Some(OpKind::Removed | OpKind::Renamed)))
            .map(|op| op.line)
            .collect();
        judged
            .scenarios
            .retain(|scenario| kept.contains(&scenario.span.line));
        check::requirement(&judged, patch, &mut self.notes);
        if patch && scenarios.is_empty() && requirement.body.is_empty() {
            self.notes.error(
                "no_text",
                requirement.span.line,
                format!("requirement `{}` says nothing", requirement.name),
                "write its new text, its scenarios, or operations on its scenarios",
            );
        }
    }

    fn scenario_operations(&mut self, item: &Item, kind: OpKind) -> Vec<ScenarioOperation> {
        let mut list = Vec::new();
        for child in &item.children {
            let Some(scenario) = &child.scenario else {
                continue;
            };
            let line = self.layout.line(child.heading.start);
            let name = self.layout.slice(&scenario.name);
            if scenario.op.is_some() && kind == OpKind::Added {
                self.notes.error(
                    "scenario_operation_in_added",
                    line,
                    "operations on scenarios are for MODIFIED requirements",
                    "write `#### Scenario: NAME`",
                );
            }
            let mut op = ScenarioOperation {
                op: scenario.op,
                name: name.to_owned(),
                to: None,
                line,
            };
            if scenario.op == Some(OpKind::Renamed) {
                match renames::arrow(name) {
                    Some((from, to)) => {
                        op.name = from.to_owned();
                        op.to = Some(to.to_owned());
                    }
                    None => {
                        self.notes.error(
                            "rename_form",
                            line,
                            format!("`{name}` does not name an old and a new scenario"),
                            "write `#### RENAMED Scenario: OLD -> NEW`",
                        );
                        continue;
                    }
                }
            }
            list.push(op);
        }
        list
    }

    fn removed(&mut self, section: &Section) {
        let mut found: Vec<(String, usize, std::ops::Range<usize>)> = Vec::new();
        for (line, text) in renames::lines(self.layout, &section.intro) {
            if let Some(name) = renames::bullet_header(text) {
                let end = section.intro.end;
                found.push((name.to_owned(), line, end..end));
            }
        }
        for item in &section.items {
            let line = self.layout.line(item.range.start);
            match &item.kind {
                ItemKind::Requirement { name } => {
                    let end = item.range.end;
                    found.push((
                        self.layout.slice(name).to_owned(),
                        line,
                        item.body.start..end,
                    ));
                }
                ItemKind::Note => self.foreign(item, line),
            }
        }
        for (name, line, body) in found {
            let field = |key: &str| renames::field(self.layout, &body, key);
            let (reason, migration) = (field("reason"), field("migration"));
            if reason.is_none() {
                self.notes.warn(
                    "no_reason",
                    line,
                    format!("requirement `{name}` is removed without a reason"),
                    "add `**Reason**: ...` and `**Migration**: ...` below it",
                );
            }
            self.push(Operation {
                kind: OpKind::Removed,
                name,
                to: None,
                line,
                reason,
                migration,
                after: None,
                patch: false,
                scenarios: Vec::new(),
                requirement: None,
                text: String::new(),
            });
        }
    }

    fn renamed(&mut self, section: &Section) {
        for (from, to, line) in renames::read(self.layout, section, &mut self.notes) {
            self.push(Operation {
                kind: OpKind::Renamed,
                name: from,
                to: Some(to),
                line,
                reason: None,
                migration: None,
                after: None,
                patch: false,
                scenarios: Vec::new(),
                requirement: None,
                text: String::new(),
            });
        }
    }
}

/// `Domain: PATH`.
pub(super) fn domain_heading(title: &str) -> Option<&str> {
    let (word, rest) = title.split_once([':', '：'])?;
    let word = word.trim();
    (word.eq_ignore_ascii_case("domain") || word == "领域").then(|| rest.trim())
}

/// The text from its first line that is not blank.
fn without_blank_lines(text: &str) -> &str {
    let blank = text.len() - text.trim_start().len();
    let start = text.get(..blank).and_then(|lead| lead.rfind('\n'));
    text.get(start.map_or(0, |newline| newline + 1)..)
        .unwrap_or_default()
}

/// `After: NAME` on the first line of a body, and the body without it.
fn position_hint(body: &str) -> Option<(&str, &str)> {
    let trimmed = body.trim_start();
    let (first, rest) = trimmed.split_once('\n').unwrap_or((trimmed, ""));
    let name = first
        .strip_prefix("After:")
        .or_else(|| first.strip_prefix("**After**:"))
        .or_else(|| first.strip_prefix("**After:**"))?;
    let name = renames::bare_name(name);
    (!name.is_empty()).then_some((name, rest))
}
