//! Merge of three versions of a list, task by task and field by field. Two people who change different tasks, or
//! different fields of one, never meet.

use super::edit::set_field;
use loopx_base::json_text::{Kind, Member, Node as Json, parse};
use std::collections::{BTreeMap, BTreeSet};

/// The names that stand at markers.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    pub base: &'n str,
    pub ours: &'n str,
    pub theirs: &'n str,
}

/// A field that both sides changed, each in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The id as it is written.
    pub task: String,
    /// Name of the field; empty where one side took the task out.
    pub field: String,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub text: String,
    pub clashes: Vec<Clash>,
}

struct Row<'t> {
    key: String,
    id: String,
    text: &'t str,
    /// Fields as they are written.
    fields: BTreeMap<String, &'t str>,
}

/// Fields that are merged part by part.
const IN_PARTS: [&str; 2] = ["convergence", "reads"];

/// Merges three lists. `None` where one of them is no list of objects with ids of their own: then lines are all that
/// there is to merge.
pub fn merge(base: &str, ours: &str, theirs: &str, names: Names<'_>) -> Option<Merged> {
    let [before, here, there] = [rows(base)?, rows(ours)?, rows(theirs)?];
    let find = |rows: &'_ [Row<'_>]| -> BTreeMap<String, usize> {
        rows.iter()
            .enumerate()
            .map(|(at, row)| (row.key.clone(), at))
            .collect()
    };
    let [in_base, in_ours, in_theirs] = [find(&before), find(&here), find(&there)];
    let mut clashes = Vec::new();
    let mut out = String::new();
    for key in order(&before, &here, &there) {
        let of = |places: &BTreeMap<String, usize>| places.get(&key).copied();
        let base = of(&in_base).map(|at| &before[at]);
        let ours = of(&in_ours).map(|at| &here[at]);
        let theirs = of(&in_theirs).map(|at| &there[at]);
        let (text, mut met) = one(base, ours, theirs, names);
        out.push_str(&text);
        clashes.append(&mut met);
    }
    if !ours.ends_with('\n') && !theirs.ends_with('\n') && clashes.is_empty() {
        out.truncate(out.trim_end_matches('\n').len());
    }
    Some(Merged { text: out, clashes })
}

fn rows(text: &str) -> Option<Vec<Row<'_>>> {
    let mut found = Vec::new();
    let mut keys = BTreeSet::new();
    for (_, text) in super::lines(text) {
        let root = parse(text).ok()?;
        let (id, key) = named(&root, text)?;
        let Kind::Object(members) = &root.kind else {
            return None;
        };
        let mut fields = BTreeMap::new();
        for (name, written) in members.iter().flat_map(|member| parts(member, text)) {
            if fields.insert(name, written).is_some() {
                return None;
            }
        }
        if !keys.insert(key.clone()) {
            return None;
        }
        found.push(Row {
            key,
            id,
            text,
            fields,
        });
    }
    Some(found)
}

/// Name of a line, and the key that it is looked up by: a domain has no id, and meets none.
fn named(root: &Json, text: &str) -> Option<(String, String)> {
    let field = |name: &str| Some(root.get(name)?.value(text).as_str()?.to_owned());
    match (root.get("id"), field("domain")) {
        (None, Some(name)) => {
            let key = format!("domain {}", name.to_ascii_lowercase());
            Some((format!("domain {name}"), key))
        }
        _ => {
            let id = field("id")?;
            let key = id.to_ascii_lowercase();
            Some((id, key))
        }
    }
}

/// A field, or the parts of one that is merged part by part.
fn parts<'t>(member: &Member, text: &'t str) -> Vec<(String, &'t str)> {
    let name = &member.key;
    match &member.value.kind {
        Kind::Object(parts) if IN_PARTS.contains(&name.as_str()) && !parts.is_empty() => parts
            .iter()
            .map(|part| {
                (
                    format!("{name}.{}", part.key),
                    &text[part.value.range.clone()],
                )
            })
            .collect(),
        _ => vec![(name.clone(), &text[member.value.range.clone()])],
    }
}

/// The ids in the order of the result: as the side that moved lines has them, and what the other one added behind the
/// line that it stands behind there.
fn order(base: &[Row<'_>], ours: &[Row<'_>], theirs: &[Row<'_>]) -> Vec<String> {
    let keys =
        |rows: &[Row<'_>]| -> Vec<String> { rows.iter().map(|row| row.key.clone()).collect() };
    let [base, ours, theirs] = [keys(base), keys(ours), keys(theirs)];
    let common = |of: &[String], with: &[String]| -> Vec<String> {
        let with: BTreeSet<&String> = with.iter().collect();
        of.iter()
            .filter(|key| with.contains(key))
            .cloned()
            .collect()
    };
    let moved_here = common(&ours, &base) != common(&base, &ours);
    let (mut order, other) = if moved_here {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let mut known: BTreeSet<String> = order.iter().cloned().collect();
    let mut behind: Option<String> = None;
    for key in other {
        if known.insert(key.clone()) {
            let at = behind.and_then(|last| order.iter().position(|one| *one == last));
            order.insert(at.map_or(0, |at| at + 1), key.clone());
        }
        behind = Some(key);
    }
    order
}

/// Merges one task: its line, or the sides of it between markers.
fn one(
    base: Option<&Row<'_>>,
    ours: Option<&Row<'_>>,
    theirs: Option<&Row<'_>>,
    names: Names<'_>,
) -> (String, Vec<Clash>) {
    let line = |row: &Row<'_>| (format!("{}\n", row.text), Vec::new());
    let is_same =
        |a: Option<&Row<'_>>, b: Option<&Row<'_>>| a.map(|row| row.text) == b.map(|row| row.text);
    let taken = match (ours, theirs) {
        _ if is_same(ours, theirs) || is_same(theirs, base) => ours,
        _ if is_same(ours, base) => theirs,
        (Some(ours), Some(theirs)) => return fields(base, ours, theirs, names),
        // Taken out on one side, changed on the other.
        (left, right) => {
            let id = left.or(right).map_or(String::new(), |row| row.id.clone());
            let clash = Clash {
                task: id,
                field: String::new(),
            };
            let text =
                |row: Option<&Row<'_>>| row.map_or(String::new(), |row| format!("{}\n", row.text));
            let sides = [text(base), text(left), text(right)];
            return (
                marked(&sides, std::slice::from_ref(&clash), names),
                vec![clash],
            );
        }
    };
    taken.map_or_else(|| (String::new(), Vec::new()), line)
}

fn fields(
    base: Option<&Row<'_>>,
    ours: &Row<'_>,
    theirs: &Row<'_>,
    names: Names<'_>,
) -> (String, Vec<Clash>) {
    let mut all: BTreeSet<&String> = ours.fields.keys().chain(theirs.fields.keys()).collect();
    all.extend(base.iter().flat_map(|row| row.fields.keys()));
    let (mut merged, mut other) = (ours.text.to_owned(), theirs.text.to_owned());
    let mut clashes = Vec::new();
    for field in all {
        let written = |row: &Row<'_>| row.fields.get(field).map(|text| (*text).to_owned());
        let before = base.and_then(written);
        let (here, there) = (written(ours), written(theirs));
        if here == there {
            continue;
        }
        let (target, value) = match () {
            () if there == before => (&mut other, here),
            () if here == before => (&mut merged, there),
            () => {
                clashes.push(Clash {
                    task: ours.id.clone(),
                    field: field.clone(),
                });
                continue;
            }
        };
        // Both sides of a conflict show what is agreed on.
        match set_field(target, field, value.as_deref()) {
            Ok(text) => *target = text,
            Err(_) => clashes.push(Clash {
                task: ours.id.clone(),
                field: field.clone(),
            }),
        }
    }
    if clashes.is_empty() {
        return (format!("{merged}\n"), clashes);
    }
    let before = base.map_or(String::new(), |row| format!("{}\n", row.text));
    let sides = [before, format!("{merged}\n"), format!("{other}\n")];
    (marked(&sides, &clashes, names), clashes)
}

/// The sides of a task between markers, which name the task and the fields.
fn marked([base, ours, theirs]: &[String; 3], clashes: &[Clash], names: Names<'_>) -> String {
    let fields: Vec<&str> = clashes.iter().map(|clash| clash.field.as_str()).collect();
    let task = clashes.first().map_or("", |clash| clash.task.as_str());
    let what = match fields.join(", ") {
        none if none.is_empty() => format!("{task}: removed, and changed"),
        fields => format!("{task}: {fields}"),
    };
    format!(
        "<<<<<<< {}\n{ours}||||||| {} ({what})\n{base}=======\n{theirs}>>>>>>> {}\n",
        names.ours, names.base, names.theirs
    )
}
