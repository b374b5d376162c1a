//! The roadmap of Claude-Code-Workflow: `roadmap.md` with its table of waves and its section of criteria, beside it
//! `execution-plan.json`, and the issues that both name. The roadmap becomes an issue, its issues become parts of it, and
//! each gets the label of its wave. A document without waves is one of phases.

use super::json::{self, Fields, inner};
use super::{File, Finding, Format, Gather, Item, ccw, phases, text};
use crate::issue::Source;
use crate::issue::plain::{Plain, PlainLink};
use crate::markdown::without_asides;
use crate::roadmap::{Cut, FIELD, LABEL, Mode, WAVE, label};
use serde_json::Value;
use std::collections::BTreeMap;

/// Beginnings of the ids of roadmaps.
const IDS: [&str; 2] = ["RMAP-", "RPLAN-"];
/// The file that says waves as data.
pub const PLAN: &str = "execution-plan.json";

/// An issue as the roadmap names it.
#[derive(Default)]
struct Named {
    at: String,
    title: Option<String>,
    /// Waves that the issue is put into, and the place that says so.
    waves: Vec<(u32, String)>,
    depends_on: Vec<String>,
    criteria: Vec<(String, bool)>,
}

/// Content of all documents of a roadmap.
#[derive(Default)]
struct Told {
    id: Option<String>,
    title: Option<String>,
    at: String,
    text: String,
    mode: Option<Mode>,
    layers: BTreeMap<u32, String>,
    issues: BTreeMap<String, Named>,
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    let mut told = Told::default();
    let mut stores = Vec::new();
    for file in files {
        match file.name.rsplit('/').next().unwrap_or_default() {
            PLAN => plan(file, &mut told, g),
            name if name.ends_with(".jsonl") => stores.push(file.clone()),
            _ => document(file, &mut told, g),
        }
    }
    let is_of_phases = told.issues.values().all(|one| one.waves.is_empty());
    if is_of_phases {
        told.mode = told.mode.or(Some(Mode::Direct));
    }
    let text = told.text.clone();
    let Some(root) = root(&mut told, g) else {
        return;
    };
    let root_at = told.at.clone();
    g.push(root_at.clone(), root.clone());
    let key = root.key.unwrap_or_default();
    if !is_of_phases {
        parts(&told, &key, &stores, g);
    } else if !phases::read(&text, &root_at, &key, g) {
        let message =
            "expected a table of waves that names issues, or headings of phases, found none";
        g.fault(&root_at, message);
    }
}

/// The roadmap as an issue.
fn root(told: &mut Told, g: &mut Gather<'_>) -> Option<Plain> {
    let title = told.title.clone().or_else(|| told.id.clone());
    let Some(title) = title else {
        let at = told.at.clone();
        g.fault(
            &at,
            "expected a heading with the title of the roadmap, found none",
        );
        return None;
    };
    let id = told.id.clone().unwrap_or_else(|| title.clone());
    let id = g.key(&told.at.clone(), id)?;
    if told.mode.is_none() {
        let at = told.at.clone();
        g.remark(&at, "nothing says whether it is progressive or direct");
    }
    let last = told.layers.keys().copied().max().unwrap_or(0);
    let name = |wave: u32| told.layers.get(&wave).cloned();
    let layers = (1..=last).map(|wave| name(wave).unwrap_or_else(|| format!("Wave {wave}")));
    let cut = Cut {
        mode: told.mode,
        layers: layers.collect(),
        ..Cut::default()
    };
    let mut plain = Plain {
        title,
        description: std::mem::take(&mut told.text),
        kind: Some("epic".to_owned()),
        labels: vec![LABEL.to_owned()],
        source: Some(Source {
            system: Format::Roadmap.system().to_owned(),
            id: id.clone(),
        }),
        key: Some(id),
        ..Plain::default()
    };
    if let Ok(cut) = serde_json::to_value(&cut) {
        plain.kept.insert(FIELD.to_owned(), cut);
    }
    Some(plain)
}

/// The issues: those of the stores that the roadmap names, then those that it names alone.
fn parts(told: &Told, root: &str, stores: &[File], g: &mut Gather<'_>) {
    let mut found: Vec<Fields> = Vec::new();
    for file in stores {
        let all = json::objects(file, g).into_iter();
        found.extend(
            all.filter(|fields| id_of(fields).is_some_and(|id| told.issues.contains_key(id))),
        );
    }
    let before = g.taken.items.len();
    for fields in found {
        ccw::alone(fields, g);
    }
    for (id, named) in &told.issues {
        let is_it = |item: &Item| item.plain.key.as_ref() == Some(id);
        if g.taken.items[before..].iter().any(is_it) || g.places.contains_key(id) {
            continue;
        }
        let Some(title) = named.title.clone() else {
            g.fault(
                &named.at,
                format!("{id} has no title here, and no issues.jsonl has it"),
            );
            continue;
        };
        let Some(key) = g.key(&named.at, id.clone()) else {
            continue;
        };
        g.remark(
            &named.at,
            format!("no issues.jsonl has {id}: it comes as the roadmap names it"),
        );
        let plain = Plain {
            title,
            source: Some(Source {
                system: Format::Ccw.system().to_owned(),
                id: id.clone(),
            }),
            key: Some(key),
            ..Plain::default()
        };
        g.push(named.at.clone(), plain);
    }
    let mut faults = Vec::new();
    for item in &mut g.taken.items[before..] {
        let key = item.plain.key.clone().unwrap_or_default();
        if let Some(named) = told.issues.get(&key) {
            faults.extend(put(&mut item.plain, named, root));
        }
    }
    for Finding { at, message } in faults {
        g.fault(&at, message);
    }
}

/// Puts an issue into the roadmap; the fault where it is in two waves.
fn put(plain: &mut Plain, named: &Named, root: &str) -> Option<Finding> {
    let mut waves: Vec<(u32, &str)> = named
        .waves
        .iter()
        .map(|(wave, at)| (*wave, at.as_str()))
        .collect();
    let own = plain
        .labels
        .iter()
        .filter_map(|one| one.strip_prefix(WAVE)?.parse().ok());
    waves.extend(own.map(|wave: u32| (wave, "its tags")));
    waves.dedup_by_key(|(wave, _)| *wave);
    if let Some((other, at)) = waves.iter().find(|(wave, _)| *wave != waves[0].0) {
        let key = plain.key.as_deref().unwrap_or_default();
        let message = format!(
            "{key} is in wave {}, and by {at} in wave {other}",
            waves[0].0
        );
        return Some(Finding {
            at: named.at.clone(),
            message,
        });
    }
    if let Some((wave, _)) = waves.first() {
        let wanted = label(WAVE, wave);
        if !plain.labels.contains(&wanted) {
            plain.labels.push(wanted);
        }
    }
    let link = |kind: &str, to: &str| PlainLink {
        kind: kind.to_owned(),
        to: to.to_owned(),
    };
    plain.links.push(link("parent", root));
    for other in &named.depends_on {
        let link = link("blocked-by", other);
        if !plain.links.contains(&link) {
            plain.links.push(link);
        }
    }
    text::add(plain, named.criteria.clone());
    None
}

fn id_of(fields: &Fields) -> Option<&str> {
    fields.map.get("id").and_then(Value::as_str)
}

/// `execution-plan.json`: waves with their issues, and what each issue depends on.
fn plan(file: &File, told: &mut Told, g: &mut Gather<'_>) {
    let Some(mut fields) = json::objects(file, g).into_iter().next() else {
        return;
    };
    let at = fields.at.clone();
    if told.at.is_empty() {
        told.at.clone_from(&at);
    }
    let id = fields.text("session_id", g);
    told.id = told.id.take().or(id);
    let title = fields.text("requirement", g);
    told.title = told.title.take().or(title);
    if let Some(word) = fields
        .text("strategy", g)
        .or_else(|| fields.text("mode", g))
    {
        mode(&word, &at, told, g);
    }
    for wave in fields.list("waves", g) {
        let number = wave
            .get("wave")
            .and_then(Value::as_u64)
            .and_then(|one| u32::try_from(one).ok());
        let Some(number) = number.filter(|one| *one > 0) else {
            g.fault(
                &at,
                "expected a number from 1 on as `wave` in each of `waves`",
            );
            continue;
        };
        if let Some(name) = inner(&wave, "label") {
            told.layers.insert(number, name.to_owned());
        }
        let before = wave.get("depends_on_waves").and_then(Value::as_array);
        let before = before.into_iter().flatten().filter_map(Value::as_u64);
        for other in before.filter(|other| *other >= u64::from(number)) {
            g.fault(
                &at,
                format!("wave {number} depends on wave {other}, which does not come before it"),
            );
        }
        for id in texts(wave.get("issue_ids")) {
            named(told, &id, &at).waves.push((number, at.clone()));
        }
    }
    if let Some(Value::Object(depends)) = fields.map.remove("issue_dependencies") {
        for (id, on) in depends {
            named(told, &id, &at).depends_on.extend(texts(Some(&on)));
        }
    }
    for id in fields.texts("issue_ids", "id", g) {
        named(told, &id, &at);
    }
    for name in ["created_at", "updated_at", "issues"] {
        fields.map.remove(name);
    }
    for (name, _) in fields.rest() {
        g.remark(&at, format!("`{name}` has no counterpart here"));
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

fn named<'t>(told: &'t mut Told, id: &str, at: &str) -> &'t mut Named {
    let one = told.issues.entry(id.to_owned()).or_default();
    if one.at.is_empty() {
        at.clone_into(&mut one.at);
    }
    one
}

fn mode(word: &str, at: &str, told: &mut Told, g: &mut Gather<'_>) {
    match word.trim().to_lowercase().parse::<Mode>() {
        Ok(mode) => told.mode = told.mode.or(Some(mode)),
        Err(_) => g.fault(
            at,
            format!(
                "expected one of {} as the mode, found `{word}`",
                Mode::WORDS.join(", ")
            ),
        ),
    }
}

/// `roadmap.md`.
fn document(file: &File, told: &mut Told, g: &mut Gather<'_>) {
    let text = file.text.trim_start_matches('\u{feff}');
    told.at.clone_from(&file.name);
    text.clone_into(&mut told.text);
    let mut columns: Option<Vec<String>> = None;
    let mut about: Option<String> = None;
    for (number, line) in without_asides(text).lines().enumerate() {
        let at = format!("{}:{}", file.name, number + 1);
        let line = line.trim();
        if told.id.is_none() {
            told.id = roadmap_id(line);
        }
        if let Some(cells) = cells(line) {
            about = None;
            match &columns {
                _ if is_rule(&cells) => {}
                None => columns = Some(cells.iter().map(|cell| cell.to_lowercase()).collect()),
                Some(columns) => row(columns, &cells, &at, told, g),
            }
            continue;
        }
        columns = None;
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let said = bare(heading);
            if told.title.is_none() {
                told.title = Some(
                    said.strip_prefix("Roadmap:")
                        .unwrap_or(&said)
                        .trim()
                        .to_owned(),
                );
            }
            about = ids(&said).into_iter().next();
            continue;
        }
        if let Some((name, value)) = bare(line)
            .trim_start_matches(['-', '>', ' '])
            .split_once(':')
        {
            match name.trim().to_lowercase().as_str() {
                "mode" | "strategy" if about.is_none() => mode(value, &at, told, g),
                "status" if about.is_none() => g.remark(
                    &at,
                    format!(
                        "the status `{}` is not taken over: it follows from `roadmap feedback`",
                        value.trim()
                    ),
                ),
                _ => {}
            }
        }
        if let (Some(id), Some((criterion, done))) = (&about, text::item(line)) {
            let criterion = bare(&criterion);
            let is_title = criterion.ends_with(':') || criterion.is_empty();
            if !is_title && told.issues.contains_key(id) {
                named(told, id, &at).criteria.push((criterion, done));
            }
        }
    }
}

/// Reads one row of a table. A table counts where one of its columns is the wave and one the issues.
fn row(columns: &[String], cells: &[String], at: &str, told: &mut Told, g: &mut Gather<'_>) {
    let cell = |names: &[&str]| {
        let at = columns
            .iter()
            .position(|column| names.contains(&column.as_str()))?;
        cells.get(at).map(String::as_str)
    };
    let Some(issues) = cell(&["issue", "issues", "issue id", "issue ids", "id"]) else {
        return;
    };
    let criteria = cell(&["criteria", "convergence", "convergence criteria"]);
    let Some(wave) = cell(&["wave", "layer"]) else {
        for id in ids(issues) {
            if let Some(criteria) = criteria.filter(|_| told.issues.contains_key(&id)) {
                let all = criteria
                    .split(';')
                    .map(|one| (one.trim().to_owned(), false));
                named(told, &id, at).criteria.extend(all);
            }
        }
        return;
    };
    let Some((number, name)) = wave_of(wave) else {
        return g.fault(
            at,
            format!("expected a wave like `1`, `Wave 1` or `L0`, found `{wave}`"),
        );
    };
    if let Some(name) = name
        .or_else(|| cell(&["label", "name"]).map(str::to_owned))
        .filter(|one| !one.is_empty())
    {
        told.layers.entry(number).or_insert(name);
    }
    let issues = ids(issues);
    if issues.is_empty() {
        return g.fault(
            at,
            format!("expected the ids of issues for wave {number}, found none"),
        );
    }
    let is_one = issues.len() == 1;
    for id in issues {
        let depends = cell(&["dependencies", "depends on", "depends", "blocked by"])
            .map(ids)
            .unwrap_or_default();
        let title = cell(&["title", "feature", "task"]).filter(|one| is_one && !one.is_empty());
        let title = title.map(str::to_owned);
        let one = named(told, &id, at);
        one.waves.push((number, at.to_owned()));
        one.title = one.title.take().or(title);
        if is_one {
            one.depends_on
                .extend(depends.into_iter().filter(|other| *other != id));
            let all = criteria.into_iter().flat_map(|all| all.split(';'));
            one.criteria
                .extend(all.map(|one| (one.trim().to_owned(), false)));
        }
    }
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(bare).collect())
}

/// Tells whether cells are the line of dashes below the names of columns.
fn is_rule(cells: &[String]) -> bool {
    let is_dashes = |cell: &String| cell.chars().all(|c| "-: ".contains(c));
    cells.iter().all(is_dashes)
}

/// The wave that a cell names, and its name where one stands behind: `1`, `Wave 1`, `wave-1`, `L0: MVP`.
fn wave_of(cell: &str) -> Option<(u32, Option<String>)> {
    let (head, name) = cell.split_once(':').unwrap_or((cell, ""));
    let head = head.trim().to_lowercase();
    let number = match head
        .strip_prefix('l')
        .and_then(|rest| rest.trim().parse::<u32>().ok())
    {
        Some(layer) => layer.checked_add(1)?,
        None => {
            let rest = head.strip_prefix("wave").unwrap_or(&head);
            rest.trim_start_matches(['-', ' ']).parse().ok()?
        }
    };
    let name = name.trim();
    let name = (!name.is_empty()).then(|| name.to_owned());
    (number > 0).then_some((number, name))
}

/// The ids of issues in a text: words with a hyphen that end with a letter or a digit, as `ISS-20260101-001`, `GH-12`.
fn ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let is_id = |word: &&str| {
        let head = word.split('-').next().unwrap_or_default();
        word.contains('-')
            && !IDS.iter().any(|start| word.starts_with(start))
            && !head.is_empty()
            && head.chars().all(|c| c.is_ascii_uppercase())
            && word.ends_with(|c: char| c.is_ascii_alphanumeric())
            && word.contains(|c: char| c.is_ascii_digit())
    };
    let mut found: Vec<String> = Vec::new();
    for word in words.filter(is_id) {
        if !found.iter().any(|one| one == word) {
            found.push(word.to_owned());
        }
    }
    found
}

fn roadmap_id(line: &str) -> Option<String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
    let mut ids = words.filter(|word| IDS.iter().any(|start| word.starts_with(start)));
    ids.next()
        .map(|id| id.trim_end_matches(['.', '-']).to_owned())
}

/// A text without the marks of emphasis and of links between backticks.
fn bare(text: &str) -> String {
    text.replace("**", "").replace('`', "").trim().to_owned()
}
