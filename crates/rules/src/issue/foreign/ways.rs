//! Solutions of other backlogs, and of our own exports, as those of the issue that they come with. What one cannot say
//! here is kept as data; nothing of one is run, and its checks are nobody's own here.

use super::json::Fields;
use super::{Gather, Source};
use crate::issue::plain::{BOUND, Plain, SOLUTIONS};
use crate::issue::solution::{Proposal, Scored, Solution, Way};
use crate::strict_json::strict;
use crate::task::import;
use serde_json::{Map, Value, json};

/// The solutions of a line of our own.
pub(super) fn exported(at: &str, plain: &mut Plain, g: &mut Gather<'_>) {
    let Some(all) = plain.kept.remove(SOLUTIONS) else {
        return;
    };
    let solutions: Vec<Solution> = match serde_json::from_value(all.clone()) {
        Ok(solutions) => solutions,
        Err(error) => {
            g.remark(at, format!("its solutions are kept as data: {error}"));
            plain.kept.insert(SOLUTIONS.to_owned(), all);
            return;
        }
    };
    let bound = plain.kept.get(BOUND).and_then(Value::as_str);
    let bound = bound.and_then(|op| solutions.iter().position(|one| one.op.as_str() == op));
    if bound.is_some() {
        plain.kept.remove(BOUND);
    }
    let place = |op: &_| solutions.iter().position(|one| one.op == *op);
    let scored = |one: &Solution| {
        let scored: &Scored = one.scored.as_ref()?;
        Some(json!({ "solution": one.proposal.name, "scored": scored }))
    };
    let scores: Vec<Value> = solutions.iter().filter_map(scored).collect();
    for (number, one) in solutions.iter().enumerate() {
        let rejected = one.rejected.as_ref().map(|said| {
            let why = said.reason.as_deref().unwrap_or("no reason given");
            format!("{why} ({})", said.by.name)
        });
        let from = one.proposal.from.clone().unwrap_or_else(|| Source {
            system: "loopx".to_owned(),
            id: one.op.to_string(),
        });
        let mends = one.proposal.mends.as_ref().and_then(place);
        plain.ways.push(Way {
            bound: bound == Some(number) && rejected.is_none(),
            rejected,
            mends: mends.filter(|other| *other < number),
            proposal: Proposal {
                mends: None,
                from: Some(from),
                ..one.proposal.clone()
            },
        });
    }
    if !scores.is_empty() {
        g.remark(
            at,
            "the scores of its solutions are kept as data: a person judges here",
        );
        g.keep(plain, "scores".to_owned(), Value::Array(scores));
    }
}

/// The solutions of an issue of ccw; of several that are bound the first is.
pub(super) fn of_ccw(
    plain: &mut Plain,
    fields: &mut Fields,
    solutions: Vec<Value>,
    g: &mut Gather<'_>,
) {
    let wanted = fields.map.get("bound_solution_id").and_then(Value::as_str);
    let wanted = wanted.map(str::to_owned);
    let mut rest = Vec::new();
    for solution in solutions {
        let Value::Object(map) = solution else {
            rest.push(solution);
            continue;
        };
        match way(map.clone(), &fields.at, g) {
            Ok((mut way, left)) => {
                let id = way.proposal.from.as_ref().map(|from| from.id.as_str());
                let is_wanted = match &wanted {
                    Some(wanted) => id == Some(wanted),
                    None => way.bound,
                };
                way.bound = is_wanted && !plain.is_bound();
                plain.ways.push(way);
                rest.extend(left);
            }
            Err(why) => {
                g.remark(&fields.at, format!("a solution is kept as data: {why}"));
                rest.push(Value::Object(map));
            }
        }
    }
    if plain.is_bound() {
        fields.map.remove("bound_solution_id");
    }
    if !rest.is_empty() {
        g.keep(plain, SOLUTIONS.to_owned(), Value::Array(rest));
    }
}

/// Reads a solution of ccw, and what is said of it that has no counterpart.
fn way(
    mut map: Map<String, Value>,
    at: &str,
    g: &mut Gather<'_>,
) -> Result<(Way, Option<Value>), String> {
    let mut text = |name: &str| match map.remove(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => None,
    };
    let id = text("id").ok_or("expected `id`, found none")?;
    let title = text("title");
    let said: Vec<String> = ["description", "approach"]
        .into_iter()
        .filter_map(&mut text)
        .collect();
    let approach = if said.is_empty() {
        title.unwrap_or_else(|| id.clone())
    } else {
        title
            .into_iter()
            .chain(said)
            .collect::<Vec<_>>()
            .join("\n\n")
    };
    let tasks = match map.remove("tasks") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tasks)) => tasks,
        Some(_) => return Err(format!("expected a list in `tasks` of {id}")),
    };
    let is_bound = map.remove("is_bound") == Some(Value::Bool(true));
    let proposal = Proposal {
        name: id.clone(),
        approach,
        tasks: task_lines(&id, tasks, at, g)?,
        from: Some(Source {
            system: "ccw".to_owned(),
            id: id.clone(),
        }),
        ..Proposal::default()
    };
    let way = Way {
        proposal,
        bound: is_bound,
        ..Way::default()
    };
    map.retain(|_, value| !value.is_null());
    let rest = (!map.is_empty()).then(|| {
        map.insert("id".to_owned(), Value::String(id));
        Value::Object(map)
    });
    Ok((way, rest))
}

/// Tasks as lines of a list have them. Older ones name their files as points that are changed.
fn task_lines(
    id: &str,
    tasks: Vec<Value>,
    at: &str,
    g: &mut Gather<'_>,
) -> Result<Vec<Value>, String> {
    if tasks.is_empty() {
        return Ok(tasks);
    }
    let mut text = String::new();
    for mut task in tasks {
        if let Value::Object(fields) = &mut task
            && !fields.contains_key("files")
            && let Some(points) = fields.get("modification_points").and_then(Value::as_array)
        {
            let mut paths: Vec<&str> = Vec::new();
            for path in points
                .iter()
                .filter_map(|point| point.get("file")?.as_str())
            {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            let files: Vec<Value> = (paths.iter())
                .map(|path| json!({ "path": path, "action": "modify" }))
                .collect();
            fields.insert("files".to_owned(), Value::Array(files));
        }
        text.push_str(&task.to_string());
        text.push('\n');
    }
    let source = import::Source {
        path: id.to_owned(),
        text,
        ..import::Source::default()
    };
    let found = import::import(&source, Some(import::Format::Jsonl));
    let found = found.map_err(|failure| failure.message)?;
    for remark in found.remarks {
        g.remark(at, format!("{id}, {}: {}", remark.task, remark.message));
    }
    let lines = found.lines.iter();
    lines
        .map(|line| strict(line).map_err(|error| error.to_string()))
        .collect()
}
