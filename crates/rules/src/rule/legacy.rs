//! Rules as another tool keeps them: Markdown documents with its front matter, and one file of guidelines in JSON.

use super::add::is_one_rule;
use super::document::{Categories, Document, Entry, GENERAL, Origin, Source, header, yaml};
use super::layout::{Layout, UnitKey, body_start};
use super::seed::RuleKind;
use loopx_spec::front::block;
use serde_json::Value;
use std::collections::BTreeSet;

/// A rule of a file of guidelines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legacy {
    pub kind: RuleKind,
    pub category: &'static str,
    pub text: String,
}

/// Tells whether front matter is in a language that a reader would have to run: `---js`.
pub fn begins_with_code(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().next();
    let language = first.and_then(|line| line.strip_prefix("---"));
    language.is_some_and(|word| word.starts_with(|letter: char| letter.is_ascii_alphabetic()))
}

/// A document of another tool with its `critical` priority as our highest.
fn in_our_words(text: &str) -> String {
    let Ok(Some((front, body))) = block(text) else {
        return text.to_owned();
    };
    let is_critical = |line: &str| {
        let value = line.strip_prefix("priority:").map(str::trim);
        value.is_some_and(|value| value.trim_matches(['"', '\'']) == "critical")
    };
    let lines: Vec<&str> = front.split('\n').collect();
    let ours = |line| {
        if is_critical(str::trim_end(line)) {
            "priority: high"
        } else {
            line
        }
    };
    let lines: Vec<&str> = lines.into_iter().map(ours).collect();
    format!("---\n{}---\n{}", lines.join("\n"), &text[body..])
}

/// A document of another tool as one of ours: its front matter in our words, its text kept, without the rules that are
/// known already. `None` where nothing is left of it. `Err` says what is wrong with it.
pub fn legacy_document(
    path: &str,
    text: &str,
    categories: &Categories,
    known: &BTreeSet<String>,
) -> Result<Option<(String, Vec<Entry>)>, String> {
    let text = in_our_words(text);
    let text = text.as_str();
    let source = Source {
        path: path.to_owned(),
        origin: Origin::Project,
        blob: String::new(),
    };
    let document = Document::read(source, text, categories);
    // A field that neither tool knows is left behind with the rest of the front matter.
    let faults = document
        .slips
        .iter()
        .filter(|slip| slip.id != "rule_field_unknown");
    if let Some(fault) = faults.into_iter().next() {
        return Err(format!("{path}:{}: {}", fault.line, fault.message));
    }
    let is_new = |rule: &&Entry| !known.contains(&rule.key);
    let new: Vec<Entry> = document.rules.iter().filter(is_new).cloned().collect();
    if !document.filled || (new.is_empty() && !document.rules.is_empty()) {
        return Ok(None);
    }
    let keywords: Vec<&str> = document.keywords.iter().map(String::as_str).collect();
    let head = header(
        &document.title,
        &document.category,
        &keywords,
        (document.mode, document.priority),
    );
    let head = if document.applies_to.is_empty() {
        head
    } else {
        let patterns: Vec<String> = document.applies_to.iter().map(|one| yaml(one)).collect();
        let end = head.len().saturating_sub("---\n".len());
        let (fields, closing) = head.split_at(end);
        format!("{fields}applies_to: [{}]\n{closing}", patterns.join(", "))
    };
    let body = without(&text[body_start(text)..], known);
    Ok(Some((format!("{head}{body}"), new)))
}

/// A text without the rules that are known.
fn without(body: &str, known: &BTreeSet<String>) -> String {
    let layout = Layout::of(body);
    let mut out = layout.front.to_owned();
    for section in &layout.sections {
        out.push_str(section.heading);
        for unit in &section.units {
            let is_known = matches!(&unit.key, UnitKey::Rule(key) if known.contains(key));
            if !is_known {
                out.push_str(unit.lead);
                out.push_str(unit.text);
            }
        }
        out.push_str(section.tail);
    }
    out
}

/// The rules of a file of guidelines; `Err` says where it is not what it should be.
pub fn guidelines(text: &str) -> Result<Vec<Legacy>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("not readable as JSON: {error}"))?;
    let Value::Object(table) = &value else {
        return Err("expected an object".to_owned());
    };
    let known = ["conventions", "constraints", "quality_rules", "learnings"];
    if !known.iter().any(|name| table.contains_key(*name)) {
        return Err(format!("expected one of the keys {}", known.join(", ")));
    }
    let mut found = Vec::new();
    for (name, kind) in [
        ("conventions", RuleKind::Convention),
        ("constraints", RuleKind::Constraint),
    ] {
        match table.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(groups)) => {
                for (group, rules) in groups {
                    list(&mut found, kind, &format!("{name}.{group}"), rules)?;
                }
            }
            Some(rules) => list(&mut found, kind, name, rules)?,
        }
    }
    for (name, kind) in [
        ("quality_rules", RuleKind::Quality),
        ("learnings", RuleKind::Learning),
    ] {
        if let Some(rules) = table.get(name).filter(|rules| !rules.is_null()) {
            list(&mut found, kind, name, rules)?;
        }
    }
    Ok(found)
}

fn list(found: &mut Vec<Legacy>, kind: RuleKind, place: &str, rules: &Value) -> Result<(), String> {
    let Value::Array(rules) = rules else {
        return Err(format!("{place}: expected a list"));
    };
    for (nth, rule) in rules.iter().enumerate() {
        let text = text_of(rule).ok_or_else(|| {
            format!(
                "{place}[{nth}]: expected a text, or an object with `rule`, `insight` or `text`"
            )
        })?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !is_one_rule(&text) {
            return Err(format!("{place}[{nth}]: expected one rule, found `{text}`"));
        }
        found.push(Legacy {
            kind,
            category: match kind {
                RuleKind::Convention | RuleKind::Learning => GENERAL,
                _ => kind.category(),
            },
            text,
        });
    }
    Ok(())
}

/// The text of a rule, with what stands beside it.
fn text_of(rule: &Value) -> Option<String> {
    let table = match rule {
        Value::String(text) => return Some(text.clone()),
        Value::Object(table) => table,
        _ => return None,
    };
    let word = |name: &str| {
        let text = table.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let mut text = ["rule", "insight", "text", "learning", "description"]
        .into_iter()
        .find_map(word)?
        .to_owned();
    let beside = [("scope", "scope"), ("enforced_by", "enforced by")];
    let beside: Vec<String> = beside
        .iter()
        .filter_map(|(name, words)| Some(format!("{words}: {}", word(name)?)))
        .collect();
    if !beside.is_empty() {
        text.push_str(&format!(" ({})", beside.join("; ")));
    }
    if let Some(day) = word("date").and_then(|date| date.get(..10)) {
        text.push_str(&format!(" ({day})"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{guidelines, legacy_document};
    use crate::rule::{Categories, RuleKind, normalised};
    use std::collections::BTreeSet;

    #[test]
    fn guidelines_are_read_with_their_kinds() {
        let found = guidelines(
            r#"{"conventions": {"coding_style": ["Use one\n logger"], "documentation": []},
                "constraints": {"security": ["No secrets in code"]},
                "quality_rules": [{"rule": "Cover 80%", "scope": "src", "enforced_by": "ci"}],
                "learnings": [{"insight": "Retries hide faults", "date": "2026-01-02T10:00:00Z"}, "Plain"],
                "_metadata": {"version": "1"}}"#,
        )
        .expect("it is sound");
        let said: Vec<(RuleKind, &str, &str)> = found
            .iter()
            .map(|one| (one.kind, one.category, one.text.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                (RuleKind::Convention, "general", "Use one logger"),
                (RuleKind::Constraint, "planning", "No secrets in code"),
                (
                    RuleKind::Quality,
                    "execution",
                    "Cover 80% (scope: src; enforced by: ci)"
                ),
                (
                    RuleKind::Learning,
                    "general",
                    "Retries hide faults (2026-01-02)"
                ),
                (RuleKind::Learning, "general", "Plain"),
            ]
        );
        for (text, said) in [
            ("[", "not readable"),
            ("[]", "expected an object"),
            ("{\"a\": 1}", "expected one of the keys"),
            (
                "{\"conventions\": {\"x\": \"y\"}}",
                "conventions.x: expected a list",
            ),
            ("{\"learnings\": [3]}", "learnings[0]: expected a text"),
            (
                "{\"learnings\": [\"# x\"]}",
                "learnings[0]: expected one rule",
            ),
            (
                "{\"learnings\": [\" \"]}",
                "learnings[0]: expected one rule",
            ),
        ] {
            let fault = guidelines(text).expect_err(text);
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }

    #[test]
    fn a_document_keeps_its_text_and_loses_what_is_known() {
        let text = "---\ntitle: Coding\ndimension: specs\ncategory: planning\nkeywords:\n  - a\nreadMode: required\n\
                    priority: high\nscope: project\n---\n\n# C\n\n- [general] One\n- Two\n";
        let none = BTreeSet::new();
        let categories = Categories::default();
        let (new, rules) = legacy_document("c.md", text, &categories, &none)
            .expect("sound")
            .expect("new");
        assert_eq!(
            new,
            "---\ntitle: Coding\ncategory: planning\nkeywords: [a]\nreadMode: required\npriority: high\n---\n\n# C\n\n\
             - [general] One\n- Two\n"
        );
        assert_eq!(rules.len(), 2);
        let known = BTreeSet::from([normalised("one")]);
        let (new, rules) = legacy_document("c.md", text, &categories, &known)
            .expect("sound")
            .expect("new");
        assert!(
            new.ends_with("# C\n- Two\n") || new.ends_with("# C\n\n- Two\n"),
            "{new}"
        );
        assert_eq!(rules.len(), 1);
        let all = BTreeSet::from([normalised("one"), normalised("two")]);
        assert_eq!(legacy_document("c.md", text, &categories, &all), Ok(None));
        assert_eq!(
            legacy_document("c.md", "# Nothing\n", &categories, &none),
            Ok(None)
        );
        let somewhere = text.replace("scope: project", "applies_to: src/**");
        let (new, _) = legacy_document("c.md", &somewhere, &categories, &none)
            .expect("sound")
            .expect("new");
        assert!(
            new.contains("\npriority: high\napplies_to: [\"src/**\"]\n---\n"),
            "{new}"
        );
        let bad = text.replace("planning", "architecture");
        let fault = legacy_document("c.md", &bad, &categories, &none).expect_err("unknown");
        assert!(
            fault.starts_with("c.md:4: expected one of the categories"),
            "{fault}"
        );
    }
}
