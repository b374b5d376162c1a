//! The values with which a pipeline starts: those that somebody gives, and the defaults of the rest.

use super::Pipeline;
use super::definition::{Param, ParamKind};
use std::collections::{BTreeMap, BTreeSet};

/// Facts of the session in which a pipeline starts; texts of a pipeline may name them.
#[derive(Clone, Debug, Default)]
pub struct Given<'g> {
    pub session: &'g str,
    /// Purpose of the session.
    pub intent: &'g str,
    /// Parameters by name, as they were typed.
    pub params: &'g [(String, String)],
}

/// Names that stand for something in every text of a pipeline.
pub(super) const ALWAYS: [&str; 4] = ["id", "intent", "pipeline", "session"];
/// Name among these that each task has its own value for: no default can name it.
pub(super) const OF_TASK: &str = "id";
/// Names that a gate fills in when it inserts a repair.
pub(super) const OF_GATES: [&str; 6] =
    ["attempt", "gate", "reason", "strategy", "unmet", "weakest"];

/// The value of each parameter and of what every text may name; else what is wrong with what was given.
pub fn values(pipeline: &Pipeline, given: &Given<'_>) -> Result<BTreeMap<String, String>, String> {
    let params = &pipeline.whole.params;
    let mut found: BTreeMap<String, String> = [
        ("intent", given.intent),
        ("pipeline", pipeline.name.as_str()),
        ("session", given.session),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for (name, _) in given.params {
        if !params.contains_key(name) {
            let known: Vec<&str> = params.keys().map(String::as_str).collect();
            let near = loopx_base::nearest(name, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
            return Err(format!(
                "the pipeline {} has no parameter `{name}`; it has {}{near}",
                pipeline.name,
                known.join(", ")
            ));
        }
        if given.params.iter().filter(|(one, _)| one == name).count() > 1 {
            return Err(format!("the parameter `{name}` is given twice"));
        }
    }
    for (name, param) in in_order(params, given)? {
        let own = given.params.iter().find(|(one, _)| one == name);
        let mut instead = param.instead.iter();
        let instead = instead.find(|one| one.holds(|name| found.get(name).map(String::as_str)));
        let value = match (
            own,
            instead.map(|one| &one.value).or(param.default.as_ref()),
        ) {
            (Some((_, value)), _) => {
                require_length(name, value)?;
                value.clone()
            }
            (None, Some(default)) => of_default(name, default, &found)?,
            (None, None) => {
                let about = if param.about.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", param.about)
                };
                return Err(format!(
                    "the pipeline {} needs the parameter `{name}`{about}",
                    pipeline.name
                ));
            }
        };
        if !param.values.is_empty() && !param.values.contains(&value) {
            return Err(format!(
                "expected `{name}` to be one of {}, found `{value}`",
                param.values.join(", ")
            ));
        }
        if param.kind == ParamKind::Check && check(&value).is_none() {
            return Err(format!(
                "expected `{name}` as the words of a command, or `manual: WHAT`, found `{value}`"
            ));
        }
        found.insert(name.clone(), value);
    }
    Ok(found)
}

/// The parameters, each behind those that its default names.
fn in_order<'p>(
    params: &'p BTreeMap<String, Param>,
    given: &Given<'_>,
) -> Result<Vec<(&'p String, &'p Param)>, String> {
    let is_given = |name: &String| given.params.iter().any(|(one, _)| one == name);
    let mut left: Vec<(&String, &Param)> = params.iter().collect();
    let mut found = Vec::new();
    while !left.is_empty() {
        let open: BTreeSet<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
        let is_ready = |(name, param): &(&String, &Param)| {
            let texts = param.instead.iter().map(|one| &one.value);
            let named = texts.chain(&param.default).flat_map(|text| names(text));
            let asked = param.instead.iter().flat_map(|one| one.when.keys());
            let mut named = named.chain(asked.map(String::as_str));
            is_given(name) || !named.any(|one| open.contains(one))
        };
        let (ready, rest): (Vec<_>, Vec<_>) = left.iter().copied().partition(is_ready);
        if ready.is_empty() {
            let names: Vec<&str> = open.into_iter().collect();
            return Err(format!(
                "the defaults of {} name each other",
                names.join(", ")
            ));
        }
        found.extend(ready);
        left = rest;
    }
    Ok(found)
}

/// Check as a line of `tasks.jsonl` says it: words are split as a shell splits them, and no shell runs them.
pub(super) fn check(value: &str) -> Option<serde_json::Value> {
    if let Some(what) = value.trim().strip_prefix("manual:") {
        let what = what.trim();
        return (!what.is_empty()).then(|| serde_json::json!({ "manual": what }));
    }
    let words = shlex::split(value)?;
    let is_said = words.first().is_some_and(|word| !word.trim().is_empty());
    is_said.then(|| serde_json::json!({ "cmd": words }))
}

/// Bytes that a default has at most once it is filled in. Defaults name each other, so that each may repeat another ten
/// times, and that one another.
const MAX_DEFAULT: usize = 8 << 10;

/// Refuses a value that is longer than any default may be.
fn require_length(name: &str, value: &str) -> Result<(), String> {
    if value.len() <= MAX_DEFAULT {
        return Ok(());
    }
    Err(format!(
        "expected at most {MAX_DEFAULT} bytes for the parameter `{name}`, found {}; put a long text into a file, and name that",
        value.len()
    ))
}

/// The default of a parameter, with what it names filled in.
fn of_default(name: &str, text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let named = names(text).into_iter().filter_map(|one| values.get(one));
    let bytes = text.len() + named.map(String::len).sum::<usize>();
    if bytes > MAX_DEFAULT {
        return Err(format!(
            "expected at most {MAX_DEFAULT} bytes of `{name}`, found a default of about {bytes} once it is filled in"
        ));
    }
    Ok(filled(text, values))
}

/// A text with its placeholders filled in. What is filled in is not read again, and a name that stands for nothing
/// stays.
pub(super) fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        out.push_str(before);
        match values.get(name) {
            Some(value) => out.push_str(value),
            None => out.push_str(&format!("{{{name}}}")),
        }
        rest = after;
    }
    out + rest
}

/// The first placeholder of a text: what stands before it, its name, and what stands behind it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('{')?;
        let rest = &text[open + 1..];
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        if end > 0 && rest[end..].starts_with('}') {
            return Some((&text[..open], &rest[..end], &rest[end + 1..]));
        }
        from = open + 1;
    }
}

/// The names of all placeholders of a text.
pub(super) fn names(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some((_, name, after)) = placeholder(rest) {
        found.push(name);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, check, filled, names, of_default};

    #[test]
    fn a_placeholder_is_filled_in_once_and_other_braces_stay() {
        let values = [
            ("a".to_owned(), "{b}".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ];
        let values = values.into();
        for (text, wanted) in [
            ("", ""),
            ("{a}", "{b}"),
            ("{b}{b}", "xx"),
            ("{ b } {B} {} {{b}", "{ b } {B} {} {x"),
            ("{c} {gate}", "{c} {gate}"),
            ("{", "{"),
        ] {
            assert_eq!(filled(text, &values), wanted, "{text}");
        }
        assert_eq!(names("{a} and {gate}, { x }"), ["a", "gate"]);
    }

    #[test]
    fn defaults_that_repeat_each_other_are_bounded() {
        let mut values = BTreeMap::from([("a0".to_owned(), "x".to_owned())]);
        let fill = |n: usize, values: &BTreeMap<String, String>| {
            of_default("p", &format!("{{a{n}}}").repeat(10), values)
        };
        for n in 0..3 {
            let value = fill(n, &values).expect("it is small");
            values.insert(format!("a{}", n + 1), value);
        }
        let refused = fill(3, &values).expect_err("it is too large");
        assert!(refused.contains("at most 8192 bytes of `p`"), "{refused}");
    }

    #[test]
    fn a_check_is_words_or_something_to_look_at() {
        let of = |text: &str| check(text).map(|value| value.to_string());
        assert_eq!(
            of("cargo test 'a b'").as_deref(),
            Some(r#"{"cmd":["cargo","test","a b"]}"#)
        );
        assert_eq!(
            of("manual: the page").as_deref(),
            Some(r#"{"manual":"the page"}"#)
        );
        for text in ["", "  ", "manual:", "a 'b"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
