//! Keys of `loopx.toml` that this program does not know: mistyped, or of a newer program.
//!
//! A gate that a team closed must not open because somebody's program is older. So a key that may ask
//! for something holds (the file is refused), and one that asks for nothing is passed over with a warning.

use super::Policy;
use super::fault::{line_of, unreadable};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::nearest;
use serde::Deserialize;
use serde_json::Value;
use toml::de::{DeTable, DeValue, Deserializer};

/// The tables whose keys tighten gates: what approvals, reviews, builds, commits, pushes, artifacts and
/// archives must have, what lands, and how the file itself is read.
///
/// The rule: an unknown key holds where it stands in one of these tables, or is itself a table with
/// nearly such a name, or has the name of a key of such a table and stands elsewhere (a header was
/// forgotten). Any other is passed over, tables that nobody knows among them. So a program that learns a
/// key which asks for more puts it into one of these tables: older programs then hold.
const HOLDING: &[&str] = &[
    "gates",
    "approve",
    "review",
    "build",
    "checks",
    "archive",
    "evidence",
    "secrets",
    "artifacts",
    "policy",
    "landing",
    "profiles",
    "intent",
    "context",
];

/// Number of unknown keys that a file may have: more than anybody mistypes; each costs a search for the nearest name.
const MOST: usize = 100;

/// A key that is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The file as errors name it.
    pub file: String,
    pub line: usize,
    /// Name of the key, like `paths.spec`.
    pub key: String,
    /// The known name that looks most like it.
    pub near: Option<String>,
}

impl UnknownKey {
    /// The sentence for people.
    pub fn warning(&self) -> String {
        format!("{}; the key is passed over", self.words())
    }

    fn words(&self) -> String {
        let UnknownKey {
            file,
            line,
            key,
            near,
        } = self;
        let near = near
            .as_ref()
            .map_or(String::new(), |near| format!(", the nearest is `{near}`"));
        format!("{file}:{line}: the key `{key}` is not known{near}")
    }

    fn holds(&self) -> Failure {
        Failure::refused(
            Code::PolicyInvalid,
            format!(
                "{}; a newer git loopx may know the key, and passing over it could open a gate",
                self.words()
            ),
        )
        .help(
            "mend the key on the branch that the session starts from, or install a newer git loopx",
        )
    }

    fn refused(&self) -> Failure {
        let words = self.words();
        Failure::usage(
            Code::PolicyInvalid,
            format!("{words}, and policy.strict is set"),
        )
        .help("mend the file on the branch that the session starts from, or remove the line")
    }
}

/// Reads a file that the typed policy did not take, without the keys that are not known; `error` is
/// what it did not take.
pub(super) fn read(text: &str, label: &str, error: &toml::de::Error) -> Result<Policy> {
    let Ok(mut root) = DeTable::parse(text) else {
        return Err(unreadable(text, label, error));
    };
    // A policy is plain data: it always has a JSON form.
    let known = serde_json::to_value(Policy::default()).unwrap_or_default();
    let mut search = Search {
        text,
        label,
        known: &known,
        found: Vec::new(),
    };
    search.take("", root.get_mut(), &known)?;
    let found = search.found;
    if found.is_empty() {
        return Err(unreadable(text, label, error));
    }
    let mut policy = Policy::deserialize(Deserializer::from(root))
        .map_err(|error| unreadable(text, label, &error))?;
    if let Some((_, first)) = found.iter().find(|(holds, _)| *holds) {
        return Err(first.holds());
    }
    policy.unknown = found.into_iter().map(|(_, key)| key).collect();
    match policy.unknown.first() {
        Some(first) if policy.policy.strict => Err(first.refused()),
        _ => Ok(policy),
    }
}

struct Search<'a> {
    text: &'a str,
    label: &'a str,
    known: &'a Value,
    /// Unknown keys, each with a mark of whether it holds; in the order of names.
    found: Vec<(bool, UnknownKey)>,
}

impl Search<'_> {
    /// Takes what is not known out of a table.
    fn take(&mut self, name: &str, table: &mut DeTable<'_>, known: &Value) -> Result<()> {
        let Value::Object(names) = known else {
            return Ok(());
        };
        let mut unknown = Vec::new();
        for (key, value) in table.iter() {
            let word = key.get_ref().as_ref();
            if names.contains_key(word) {
                continue;
            }
            if self.found.len() == MOST {
                return Err(Failure::usage(
                    Code::PolicyInvalid,
                    format!(
                        "{}: more than {MOST} keys are not known, `{}` among them",
                        self.label, self.found[0].1.key
                    ),
                )
                .help("mend the file on the branch that the session starts from"));
            }
            let near = nearest(word, names.keys().map(String::as_str));
            let elsewhere = self.elsewhere(name, word, value.get_ref());
            let holds = match name.split('.').next() {
                Some("") | None => {
                    let tables = HOLDING.iter().copied();
                    HOLDING.contains(&word)
                        || nearest(word, tables).is_some()
                        || elsewhere.is_some()
                }
                Some(top) => HOLDING.contains(&top) || elsewhere.is_some(),
            };
            let unknown_key = UnknownKey {
                file: self.label.to_owned(),
                line: line_of(self.text, key.span().start),
                key: super::schema::join(name, word),
                near: near
                    .map(|near| super::schema::join(name, near))
                    .or(elsewhere),
            };
            self.found.push((holds, unknown_key));
            unknown.push(word.to_owned());
        }
        for word in unknown {
            table.remove(word.as_str());
        }
        for (key, value) in table.iter_mut() {
            let word: &str = key.get_ref().as_ref();
            let below = super::schema::join(name, word);
            if let DeValue::Table(table) = value.get_mut()
                && !super::schema::is_map(&below)
                && let Some(known) = names.get(word)
            {
                self.take(&below, table, known)?;
            }
        }
        Ok(())
    }

    /// The key of a table that holds which has this name, where the key stands in none.
    fn elsewhere(&self, table: &str, word: &str, value: &DeValue<'_>) -> Option<String> {
        let top = table.split('.').next().unwrap_or_default();
        if HOLDING.contains(&top) {
            return None;
        }
        HOLDING.iter().find_map(|holding| {
            let known = self.known.get(holding)?.get(word)?;
            (known.is_object() || !value.is_table()).then(|| format!("{holding}.{word}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{HOLDING, MOST};
    use crate::policy::Policy;
    use loopx_base::failure::{Code, Kind};

    /// Tables whose keys say where things are, and ask for nothing.
    const OPEN: [&str; 5] = ["paths", "changelog", "rules", "start", "backlog"];

    #[test]
    fn every_table_either_holds_or_asks_for_nothing() {
        let policy = serde_json::to_value(Policy::default()).expect("JSON");
        for table in policy.as_object().expect("tables").keys() {
            let word = table.as_str();
            assert!(
                HOLDING.contains(&word) != OPEN.contains(&word),
                "say in HOLDING whether the keys of {table} tighten a gate"
            );
        }
    }

    #[test]
    fn a_key_that_asks_for_nothing_is_passed_over_with_the_nearest_name() {
        for (text, line, key, near) in [
            (
                "[paths]\nspec = \"x\"\n",
                2,
                "paths.spec",
                Some("paths.specs"),
            ),
            ("\n[changelog]\nzzz = 1\n", 3, "changelog.zzz", None),
            ("[nothing]\nat = { all = 1 }\n", 1, "nothing", None),
            ("[[nothing]]\na = 1\n[[nothing]]\n", 1, "nothing", None),
            ("xyz = 1\n[paths]\nspecs = \"s\"\n", 1, "xyz", None),
            ("path.specs = \"s\"\n", 1, "path", Some("paths")),
        ] {
            let policy = Policy::parse(text, "loopx.toml").expect(text);
            let [unknown] = policy.unknown.as_slice() else {
                panic!("{text}: {:?}", policy.unknown);
            };
            let found = (unknown.line, unknown.key.as_str(), unknown.near.as_deref());
            assert_eq!(found, (line, key, near), "{text}");
            assert!(
                unknown
                    .warning()
                    .starts_with(&format!("loopx.toml:{line}: "))
            );
        }
        // What is known beside it counts.
        let policy = Policy::parse("[paths]\nspec = 1\nspecs = \"s\"\n", "").expect("a policy");
        assert_eq!(policy.paths.specs, "s");
        assert!(
            Policy::parse("[paths]\nspecs = \"s\"\n", "")
                .expect("a policy")
                .unknown
                .is_empty()
        );
    }

    #[test]
    fn a_key_that_may_tighten_a_gate_holds() {
        for (text, key) in [
            ("[gates]\nprotect = []\n", "gates.protect"),
            ("[gates.stages]\nland = \"refuse\"\n", "gates.stages.land"),
            ("[approve]\nwitness = 2\n", "approve.witness"),
            ("[approve.quorum]\nplan = 2\n", "approve.quorum"),
            ("[review]\nblind = true\n", "review.blind"),
            ("[build]\nregresion = true\n", "build.regresion"),
            ("[archive]\nevidance = \"require\"\n", "archive.evidance"),
            ("[secrets]\nrefuse = []\n", "secrets.refuse"),
            ("[artifacts]\nlangauge = \"zh\"\n", "artifacts.langauge"),
            ("[policy]\nneeds = \"9.0\"\n", "policy.needs"),
            ("[landing]\nself_review = false\n", "landing.self_review"),
            // A table with nearly the name of one that holds, and keys without their header.
            ("[gate]\nprotected = [\"main\"]\n", "gate"),
            ("[approval]\nrequired = {}\n", "approval"),
            ("protected = [\"main\"]\n", "protected"),
            ("strict = true\n", "strict"),
            ("[stages]\nplan = \"refuse\"\n", "stages"),
            (
                "[paths]\nspecs = \"s\"\nprotected = [\"main\"]\n",
                "paths.protected",
            ),
            // Another unknown key before it, and strictness, change nothing about it.
            (
                "[paths]\nspec = \"s\"\n[review]\nblind = true\n",
                "review.blind",
            ),
            (
                "[policy]\nstrict = true\n[review]\nblind = true\n",
                "review.blind",
            ),
        ] {
            let failure = Policy::parse(text, "loopx.toml").expect_err(text);
            assert_eq!(
                (failure.kind, failure.code),
                (Kind::Refused, Code::PolicyInvalid),
                "{text}"
            );
            assert!(failure.message.contains(&format!("`{key}`")), "{failure}");
            assert!(
                failure
                    .message
                    .contains("a newer git loopx may know the key"),
                "{failure}"
            );
        }
    }

    #[test]
    fn a_strict_policy_refuses_every_unknown_key() {
        for text in ["[paths]\nspec = \"s\"\n", "[nothing]\n"] {
            let strict = format!("{text}[policy]\nstrict = true\n");
            let failure = Policy::parse(&strict, "loopx.toml").expect_err(text);
            assert_eq!(
                (failure.kind, failure.code),
                (Kind::Usage, Code::PolicyInvalid),
                "{text}"
            );
            let lax = format!("{text}[policy]\nstrict = false\n");
            assert_eq!(Policy::parse(&lax, "").expect(text).unknown.len(), 1);
        }
    }

    #[test]
    fn a_wrong_type_is_an_error_beside_an_unknown_key() {
        let text = "[paths]\nspec = 1\nspecs = 2\n";
        let failure = Policy::parse(text, "loopx.toml").expect_err(text);
        assert_eq!(failure.kind, Kind::Usage);
        assert!(failure.message.starts_with("loopx.toml:3: "), "{failure}");
        // What is data is no key.
        let text = "[approve]\nrequired = { \"plan->done\" = 2 }\n";
        assert!(Policy::parse(text, "").expect_err(text).kind == Kind::Usage);
    }

    #[test]
    fn a_file_of_nothing_but_unknown_keys_is_refused() {
        let keys = |count: usize| -> String { (0..count).map(|n| format!("q{n} = 1\n")).collect() };
        assert_eq!(
            Policy::parse(&keys(MOST), "")
                .expect("a policy")
                .unknown
                .len(),
            MOST
        );
        assert!(Policy::parse(&keys(MOST + 1), "").is_err());
    }
}
