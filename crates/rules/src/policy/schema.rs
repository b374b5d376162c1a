//! The JSON Schema of `loopx.toml`, and which of its keys a file sets.
//!
//! Keys, types and defaults are read off the typed policy, so that a new key is in the schema at once.
//! What a type cannot say stands in the tables below; a test holds them against the parser.

use super::{EvidenceRule, Independence, Language, Policy, Strictness};
use crate::artifact::Artifact;
use crate::issue::Status;
use crate::issue::needs::{ResolveNeed, TakeNeed};
use crate::op::{Lane, PlanLane};
use crate::stage::Stage;
use serde_json::{Map, Value, json};

/// The words that a key, or each item of a list, takes.
const WORDS: &[(&str, &[&str])] = &[
    ("gates.stages.clarify", Strictness::WORDS),
    ("gates.stages.plan", Strictness::WORDS),
    ("gates.stages.build", Strictness::WORDS),
    ("gates.stages.review", Strictness::WORDS),
    ("gates.stages.done", Strictness::WORDS),
    ("gates.out_of_scope", Strictness::WORDS),
    ("gates.task_files", Strictness::WORDS),
    ("approve.signed", TRANSITIONS),
    ("approve.touched", TRANSITIONS),
    ("approve.independent", TRANSITIONS),
    ("review.independence", Independence::WORDS),
    ("build.lanes", Lane::WORDS),
    ("archive.evidence", EvidenceRule::WORDS),
    ("intent.contract", EvidenceRule::WORDS),
    ("intent.coverage", EvidenceRule::WORDS),
    ("context.manifest", EvidenceRule::WORDS),
    ("artifacts.language", Language::WORDS),
    ("backlog.take", TakeNeed::WORDS),
    ("backlog.resolve", ResolveNeed::WORDS),
];

const TRANSITIONS: &[&str] = &[
    "clarify->plan",
    "plan->build",
    "build->review",
    "build->plan",
    "review->build",
    "review->plan",
    "review->clarify",
    "review->done",
    "done->build",
];

/// Meaning of each key. A table without a sentence of its own is explained by its keys.
const MEANINGS: &[(&str, &str)] = &[
    ("paths.specs", "Folder of the specs on the code branch"),
    (
        "paths.adr",
        "Folder of the decision records on the code branch",
    ),
    (
        "paths.pipelines",
        "Folder of the repository's own pipelines on the code branch",
    ),
    (
        "paths.prompts",
        "Folder of the repository's own prompts of roles on the code branch",
    ),
    (
        "paths.templates",
        "Folder of the repository's own templates on the code branch; those of issues are in its folder `issue`",
    ),
    (
        "paths.rules",
        "Folder of the documents of rules on the code branch",
    ),
    (
        "gates.stages.clarify",
        "A commit of code while the session is in clarify",
    ),
    (
        "gates.stages.plan",
        "A commit of code while the session is in plan",
    ),
    (
        "gates.stages.build",
        "A commit of code while the session is in build",
    ),
    (
        "gates.stages.review",
        "A commit of code while the session is in review",
    ),
    (
        "gates.stages.done",
        "A commit of code once the session is done",
    ),
    (
        "gates.always_allow",
        "Path patterns that every stage may commit",
    ),
    (
        "gates.out_of_scope",
        "A path outside the scope that the plan declares",
    ),
    (
        "gates.task_files",
        "A path that the tasks of the committer do not name",
    ),
    (
        "gates.protected",
        "Branches, by name or pattern, that take a push only when the session is done and reviewed",
    ),
    (
        "gates.target",
        "Branch that results go to; commits that it has belong to no session",
    ),
    (
        "approve.deny",
        "Patterns over \"Name <email>\": identities that cannot approve",
    ),
    (
        "approve.agents",
        "Hosts of coding agents whose commands may do what else only a person may, like \"claude\"; none where nothing is said",
    ),
    (
        "approve.required",
        "Different people that a transition needs; 1 where nothing is said",
    ),
    (
        "approve.signed",
        "Transitions whose approvals count only when they are signed by a key of approve.signers",
    ),
    (
        "approve.touched",
        "Transitions whose approvals are signed with a security key that somebody touched",
    ),
    (
        "approve.independent",
        "Transitions whose approvers took no part in the commits or the build",
    ),
    (
        "approve.roles",
        "Who has a role: patterns over \"Name <email>\"",
    ),
    (
        "approve.take_back",
        "The roles that may take back, with a signature, what somebody else signed",
    ),
    (
        "approve.by",
        "The roles that may approve a transition; everybody where nothing is said",
    ),
    (
        "approve.signers",
        "File of the keys that people sign with, as ssh-keygen reads allowed signers",
    ),
    (
        "approve.revoked",
        "File of keys that count no more: public keys, or a KRL of ssh-keygen",
    ),
    (
        "review.signed",
        "Whether a verdict counts only when it is signed",
    ),
    (
        "review.independence",
        "What to do with a reviewer who wrote part of what is reviewed; \"signed\" counts only keys",
    ),
    (
        "build.lanes",
        "Lanes that must be reported before a build is handed to review",
    ),
    (
        "build.regression",
        "Whether a build needs a `--kind regression` run that passed",
    ),
    (
        "checks",
        "Commands that have to pass, by name: `run`, the command and its arguments; `paths`: the paths whose change asks for it, all where nothing is said",
    ),
    (
        "archive.evidence",
        "What to do with a scenario that no passing run proves",
    ),
    (
        "intent.contract",
        "Whether the plan of a broad request has to say where it ends: scope or out_of_scope, constraints, definition_of_done",
    ),
    (
        "intent.coverage",
        "Whether each statement of a request has to be cited or deferred before the review, in profiles with clarify",
    ),
    (
        "context.manifest",
        "Whether something that has to be read and is not there holds the stage, in profiles with clarify",
    ),
    (
        "backlog.prefix",
        "The beginning of the ids of new issues: a letter, then letters and digits",
    ),
    (
        "backlog.kinds",
        "Kinds of issues beside bug, feature, task, chore and epic",
    ),
    (
        "backlog.wip",
        "The most issues that one person may have in hand; 0 is no limit",
    ),
    (
        "backlog.limits",
        "The most issues in hand at once, by label, or by person as \"@address\" in place of wip; 0 is no limit",
    ),
    (
        "backlog.follows",
        "The statuses that a status of an issue may come after; any where nothing is said of it",
    ),
    (
        "backlog.take",
        "What an issue has to have before it is taken or a session begins for it",
    ),
    (
        "backlog.resolve",
        "What an issue has to have before a person's word resolves it; with `session` only an archive does",
    ),
    (
        "evidence.by",
        "The roles whose signed runs count for gates; any run where none is named",
    ),
    (
        "landing.backport",
        "Protected branches whose commits may be picked, or merged, onto other protected branches",
    ),
    (
        "landing.exception",
        "Paths that a key may change without a session: commits signed by it, never on guarded paths",
    ),
    (
        "changelog.fragments",
        "Folder that gets a changelog fragment for each archived session; none where it is empty",
    ),
    (
        "artifacts.language",
        "Language that templates are laid out in, and that the plan is checked for",
    ),
    (
        "profiles",
        "Own or changed profiles, by name; `allowed`: profiles that may be used although they lack what policy asks for; `demand`: the profile that a change of a path needs",
    ),
    ("start.profile", "Profile of a session that names none"),
    ("artifacts.max_bytes", "The largest artifact, in bytes"),
    (
        "rules.categories",
        "Categories of rules besides general, exploration, planning and execution",
    ),
    (
        "rules.budget",
        "The most bytes of rules that are read to somebody; 0 takes all of them",
    ),
    (
        "policy.strict",
        "Whether a key that this program does not know is refused wherever it stands",
    ),
    (
        "secrets.allow",
        "What looks like a credential and is none, each as \"FINGERPRINT REASON\"",
    ),
];

/// Tables whose keys are data.
const MAPS: &[&str] = &[
    "approve.by",
    "approve.required",
    "approve.roles",
    "backlog.follows",
    "backlog.limits",
    "checks",
    "profiles",
];

/// Tells whether the keys of a table are data.
pub(super) fn is_map(name: &str) -> bool {
    MAPS.contains(&name)
}

/// Setting of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Name of the key, like `gates.out_of_scope`.
    pub name: String,
    pub value: Value,
}

/// Every setting of a policy, tables in the order of their names.
pub fn keys(policy: &Policy) -> Vec<Key> {
    let mut found = Vec::new();
    // A policy is plain data: it always has a JSON form.
    let value = serde_json::to_value(policy).unwrap_or_default();
    collect("", &value, &mut found);
    found
}

fn collect(name: &str, value: &Value, found: &mut Vec<Key>) {
    match value {
        Value::Object(table) if !is_map(name) => {
            for (key, value) in table {
                collect(&join(name, key), value, found);
            }
        }
        value => found.push(Key {
            name: name.to_owned(),
            value: value.clone(),
        }),
    }
}

pub(super) fn join(table: &str, key: &str) -> String {
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}

/// The settings that a file names; the file has been parsed as a policy before.
pub fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(table) = text.parse::<toml::Table>()
        && let Ok(value) = serde_json::to_value(table)
    {
        let mut keys = Vec::new();
        collect("", &value, &mut keys);
        found.extend(keys.into_iter().map(|key| key.name));
    }
    found
}

/// Meaning of a setting.
pub fn meaning(name: &str) -> Option<&'static str> {
    look_up(MEANINGS, name)
}

/// The words that a setting, or each item of it, takes; `None` is free text.
pub fn words(name: &str) -> Option<&'static [&'static str]> {
    look_up(WORDS, name)
}

fn look_up<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, found)| *found)
}

/// The schema (JSON Schema, draft 2020-12).
pub fn schema() -> Value {
    let defaults = serde_json::to_value(Policy::default()).unwrap_or_default();
    let mut schema = table("", &defaults);
    if let Value::Object(top) = &mut schema {
        top.insert(
            "$schema".into(),
            "https://json-schema.org/draft/2020-12/schema".into(),
        );
        top.insert("title".into(), super::FILE.into());
    }
    schema
}

fn table(name: &str, defaults: &Value) -> Value {
    let mut properties = Map::new();
    for (key, value) in defaults.as_object().into_iter().flatten() {
        let name = join(name, key);
        let of_key = if value.is_object() && !is_map(&name) {
            table(&name, value)
        } else {
            setting(&name, value)
        };
        properties.insert(key.clone(), of_key);
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// The table `profiles`: two keys of its own, and a profile below every other name.
fn profiles() -> Value {
    let words =
        |words: Vec<&str>| json!({ "type": "array", "items": { "type": "string", "enum": words } });
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let map = |values: &Value| json!({ "type": "object", "propertyNames": {}, "additionalProperties": values });
    let files = Artifact::ALL.map(Artifact::path);
    let files: Vec<&str> = files.into_iter().collect();
    let by_file = json!({ "type": "object", "propertyNames": { "enum": files }, "additionalProperties": texts });
    let profile = json!({ "type": "object", "additionalProperties": false, "properties": {
        "extends": text,
        "stages": words(Stage::ALL.map(Stage::as_str).to_vec()),
        "files": words(files),
        "sections": by_file,
        "flags": by_file,
        "reviews": words(PlanLane::WORDS.to_vec()),
        "lanes": words(Lane::WORDS.to_vec()),
        "ambiguity": { "type": "number" },
        "rounds": { "type": "integer", "minimum": 0 },
    } });
    json!({ "type": "object", "additionalProperties": profile, "properties": {
        "allowed": texts,
        "demand": map(&text),
    } })
}

fn setting(name: &str, default: &Value) -> Value {
    let text = || match words(name) {
        Some(words) => json!({ "type": "string", "enum": words }),
        None if name == "backlog.prefix" => {
            json!({ "type": "string", "pattern": "^[a-z][a-z0-9]{0,9}$" })
        }
        None => json!({ "type": "string" }),
    };
    let mut found = match default {
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "integer", "minimum": 0 }),
        Value::Array(_) if name == "landing.exception" => {
            let names = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
            let properties = json!({ "paths": names, "key": { "type": "string" } });
            let item = json!({ "type": "object", "additionalProperties": false, "required": ["paths", "key"], "properties": properties });
            json!({ "type": "array", "items": item })
        }
        Value::Array(_) => json!({ "type": "array", "items": text() }),
        Value::Object(_) if name == "profiles" => profiles(),
        Value::Object(_) if name == "checks" => {
            let texts = json!({ "type": "array", "items": { "type": "string" } });
            let run = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
            let check = json!({ "type": "object", "additionalProperties": false, "required": ["run"], "properties": { "run": run, "paths": texts } });
            json!({ "type": "object", "propertyNames": {}, "additionalProperties": check })
        }
        Value::Object(_) => {
            let names = json!({ "type": "array", "items": { "type": "string" } });
            let (keys, values) = match name {
                "approve.roles" => (json!({}), names),
                "approve.by" => (json!({ "enum": TRANSITIONS }), names),
                "backlog.limits" => (json!({}), json!({ "type": "integer", "minimum": 0 })),
                "backlog.follows" => {
                    let words = json!({ "enum": Status::WORDS });
                    let all = json!({ "type": "array", "items": { "type": "string", "enum": Status::WORDS } });
                    (words, all)
                }
                _ => {
                    let number = json!({ "type": "integer", "minimum": 0 });
                    (json!({ "enum": TRANSITIONS }), number)
                }
            };
            json!({ "type": "object", "propertyNames": keys, "additionalProperties": values })
        }
        Value::String(_) | Value::Null => text(),
    };
    if let Value::Object(found) = &mut found {
        if let Some(meaning) = meaning(name) {
            found.insert("description".into(), meaning.into());
        }
        if !default.is_null() {
            found.insert("default".into(), default.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{keys, meaning, named, schema, words};
    use crate::issue::IssueId;
    use crate::policy::Policy;
    use serde_json::Value;

    /// A file that sets one key.
    fn file(name: &str, value: &str) -> String {
        match name.rsplit_once('.') {
            Some((table, key)) => format!("[{table}]\n{key} = {value}\n"),
            None => format!("{name} = {value}\n"),
        }
    }

    /// Tells whether a value is what a schema asks for, as far as ours goes.
    fn fits(schema: &Value, value: &Value) -> bool {
        let kind = match schema["type"].as_str().expect("a type") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64(),
            other => panic!("type {other}"),
        };
        let words = schema["enum"].as_array();
        let known = |key: &str| schema["properties"].get(key);
        // One key has a pattern, and the rule is what it says.
        let is_prefix = |value: &Value| value.as_str().is_some_and(IssueId::is_prefix);
        kind && words.is_none_or(|words| words.contains(value))
            && (schema["pattern"].is_null() || is_prefix(value))
            && value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| fits(&schema["items"], item)))
            && value.as_object().is_none_or(|table| {
                table.iter().all(|(key, value)| {
                    match (known(key), &schema["additionalProperties"]) {
                        (Some(schema), _) => fits(schema, value),
                        (None, Value::Bool(more)) => *more,
                        (None, more) => {
                            fits(more, value)
                                && schema["propertyNames"]["enum"]
                                    .as_array()
                                    .is_none_or(|names| names.contains(&key.as_str().into()))
                        }
                    }
                })
            })
    }

    fn agrees(text: &str) -> bool {
        let table: toml::Table = text.parse().expect("TOML");
        let fits = fits(&schema(), &serde_json::to_value(table).expect("JSON"));
        // The schema is there for who writes the file: it takes no key that is passed over.
        let read = Policy::parse(text, "loopx.toml");
        let whole = read.is_ok_and(|policy| policy.unknown.is_empty());
        assert_eq!(whole, fits, "{text}");
        fits
    }

    #[test]
    fn every_key_is_explained_and_typed_as_the_parser_takes_it() {
        let keys = keys(&Policy::default());
        assert!(keys.len() > 15);
        for key in &keys {
            let name = key.name.as_str();
            assert!(meaning(name).is_some(), "say in MEANINGS what {name} means");
            // The default is a value of it, and nothing of another type is.
            if !key.value.is_null() && !key.value.is_object() {
                assert!(agrees(&file(name, &key.value.to_string())), "{name}");
            }
            for wrong in ["1.5", "[[1]]", "{ x = \"y\" }"] {
                assert!(!agrees(&file(name, wrong)), "{name} = {wrong}");
            }
            let is_text = key.value.is_string() || key.value.is_null();
            let wrap = |word: &str| {
                if is_text {
                    format!("\"{word}\"")
                } else if name == "landing.exception" {
                    format!("[{{ paths = [\"{word}\"], key = \"ssh-ed25519 AAAA\" }}]")
                } else {
                    format!("[\"{word}\"]")
                }
            };
            match words(name) {
                Some(words) => {
                    for word in words {
                        assert!(agrees(&file(name, &wrap(word))), "{name} {word}");
                    }
                    let unknown = file(name, &wrap("no-such-word"));
                    assert!(!agrees(&unknown), "{name}");
                    // The parser knows no word more.
                    let said = Policy::parse(&unknown, "").expect_err("a word").message;
                    assert_eq!(said.matches('`').count(), 2 * (words.len() + 1), "{said}");
                }
                None if is_text || key.value.is_array() => {
                    // Which profiles there are, the same file says.
                    let word = match name {
                        "start.profile" => "lite",
                        "backlog.prefix" => "word",
                        _ => "no-such-word",
                    };
                    assert!(
                        agrees(&file(name, &wrap(word))),
                        "add the words of {name} to WORDS"
                    );
                }
                None => {}
            }
        }
        assert!(!agrees(&file("backlog.prefix", "\"no-such-word\"")));
    }

    #[test]
    fn sample_files_are_judged_as_the_parser_judges_them() {
        for (text, good) in [
            ("", true),
            ("[approve]\nrequired = { \"plan->build\" = 2 }\n", true),
            ("[approve]\nrequired = { \"plan->done\" = 2 }\n", false),
            ("[approve]\nrequired = { \"plan->build\" = -1 }\n", false),
            ("[gates]\nalways_alow = []\n", false),
            (
                "[gates.stages]\nplan = \"warn\"\n[build]\nlanes = [\"execution\", \"deslop\"]\n",
                true,
            ),
            ("[checks.unit]\nrun = [\"true\"]\npaths = [\"src\"]\n", true),
            ("[checks.unit]\nrun = \"true\"\n", false),
            ("[checks.unit]\nruns = [\"true\"]\n", false),
            (
                "[backlog]\nlimits = { ui = 2, \"@ada@example.org\" = 0 }\nfollows = { resolved = [\"in_progress\"] }\n",
                true,
            ),
            ("[backlog]\nlimits = { ui = -1 }\n", false),
            ("[backlog]\nfollows = { done = [\"open\"] }\n", false),
            ("[backlog.follows]\nresolved = [\"done\"]\n", false),
            ("[nothing]\n", false),
            ("gates = 3\n", false),
            ("[artifacts]\nmax_bytes = -1\n", false),
        ] {
            assert_eq!(agrees(text), good, "{text}");
        }
    }

    #[test]
    fn every_transition_is_one_of_the_words() {
        let all: Vec<String> = crate::stage::Transition::ALL
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut words = super::TRANSITIONS.to_vec();
        words.sort_by_key(|word| all.iter().position(|known| known == word));
        assert_eq!(words, all);
    }

    #[test]
    fn the_keys_that_a_file_sets_are_named() {
        let text =
            "[approve]\nrequired = { \"plan->build\" = 2 }\n[gates.stages]\nplan = \"warn\"\n";
        assert_eq!(named(text), ["approve.required", "gates.stages.plan"]);
    }
}
