//! Facts about a repository, from its files: languages, commands that build and test, documents to begin with. Nothing
//! is run and nothing is remembered: the same files give the same facts.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Language, and the number of files in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Language {
    pub name: &'static str,
    pub files: usize,
}

/// A command, and the file that says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CommandFact {
    /// `build`, `test` or `lint`.
    pub what: &'static str,
    pub run: Vec<String>,
    pub from: String,
}

/// Facts that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Languages, the one with the most files first.
    pub languages: Vec<Language>,
    pub commands: Vec<CommandFact>,
    /// The files that describe a build, at the top and below.
    pub manifests: Vec<String>,
    /// Documents that somebody reads first.
    pub documents: Vec<String>,
    /// Files that could not be read, each with the reason.
    pub unread: Vec<String>,
}

const LANGUAGES: &[(&str, &[&str])] = &[
    ("C", &["c", "h"]),
    ("C#", &["cs"]),
    ("C++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("Clojure", &["clj", "cljc", "cljs"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Erlang", &["erl", "hrl"]),
    ("Go", &["go"]),
    ("Haskell", &["hs"]),
    ("Java", &["java"]),
    ("JavaScript", &["cjs", "js", "jsx", "mjs"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("OCaml", &["ml", "mli"]),
    ("Objective-C", &["m", "mm"]),
    ("PHP", &["php"]),
    ("Perl", &["pl", "pm"]),
    ("Python", &["py", "pyi"]),
    ("R", &["r", "R"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("SQL", &["sql"]),
    ("Scala", &["scala"]),
    ("Shell", &["bash", "sh", "zsh"]),
    ("Svelte", &["svelte"]),
    ("Swift", &["swift"]),
    ("TypeScript", &["cts", "mts", "ts", "tsx"]),
    ("Vue", &["vue"]),
    ("Zig", &["zig"]),
];

/// Files that describe a build. Those of which the text matters are read at the top.
const MANIFESTS: [&str; 21] = [
    "CMakeLists.txt",
    "Cargo.toml",
    "Gemfile",
    "GNUmakefile",
    "Justfile",
    "Makefile",
    "Package.swift",
    "build.gradle",
    "build.gradle.kts",
    "build.zig",
    "composer.json",
    "deno.json",
    "go.mod",
    "justfile",
    "makefile",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pubspec.yaml",
    "pyproject.toml",
    "setup.py",
];

const READ: [&str; 9] = [
    "GNUmakefile",
    "Justfile",
    "Makefile",
    "composer.json",
    "deno.json",
    "justfile",
    "makefile",
    "package.json",
    "pyproject.toml",
];

/// Documents to begin with, the first before the others; without ending and letter case.
const DOCUMENTS: [&str; 13] = [
    "readme",
    "contributing",
    "agents",
    "claude",
    "gemini",
    "architecture",
    "design",
    "docs/readme",
    "docs/index",
    "docs/architecture",
    "docs/contributing",
    "doc/readme",
    ".github/copilot-instructions",
];

/// Folders of what somebody else wrote.
const FOREIGN: [&str; 6] = [
    "node_modules",
    "third_party",
    "vendor",
    "dist",
    "target",
    ".venv",
];

/// The files of which the text is needed.
pub fn wanted_files(paths: &[String]) -> impl Iterator<Item = &String> {
    paths.iter().filter(|path| READ.contains(&path.as_str()))
}

/// Finds what there is. `texts` has what [`wanted_files`] names, or why that cannot be read.
pub fn facts(paths: &[String], texts: &BTreeMap<String, Result<String, String>>) -> Facts {
    let is_own = |path: &&String| !path.split('/').any(|part| FOREIGN.contains(&part));
    let own: Vec<&String> = paths.iter().filter(is_own).collect();
    let top: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut found = Facts {
        languages: languages(&own),
        documents: documents(paths),
        ..Facts::default()
    };
    let is_manifest = |path: &&&String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        MANIFESTS.contains(&name) || name.ends_with(".csproj") || name.ends_with(".sln")
    };
    found.manifests = own
        .iter()
        .filter(is_manifest)
        .map(|path| (*path).clone())
        .collect();
    let mut say = |what: &'static str, run: &str, from: &str| {
        found.commands.push(CommandFact {
            what,
            run: run.split(' ').map(str::to_owned).collect(),
            from: from.to_owned(),
        });
    };
    fixed(&top, &mut say);
    for (path, text) in texts {
        let read = match text {
            Ok(text) => of_text(path, text, &top, &mut say),
            Err(why) => Err(why.clone()),
        };
        if let Err(why) = read {
            found.unread.push(format!("{path}: {why}"));
        }
    }
    found.commands.sort();
    found.commands.dedup();
    found
}

fn languages(paths: &[&String]) -> Vec<Language> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, ending)) = name.rsplit_once('.') else {
            continue;
        };
        let known = LANGUAGES
            .iter()
            .find(|(_, endings)| endings.contains(&ending));
        if let Some((name, _)) = known {
            *counts.entry(name).or_default() += 1;
        }
    }
    let counts = counts.into_iter();
    let mut found: Vec<Language> = counts
        .map(|(name, files)| Language { name, files })
        .collect();
    found.sort_by(|one, other| (other.files, one.name).cmp(&(one.files, other.name)));
    found
}

fn documents(paths: &[String]) -> Vec<String> {
    let mut found: Vec<(usize, &String)> = Vec::new();
    for path in paths {
        let lower = path.to_lowercase();
        let ending = [".md", ".rst", ".txt", ".adoc"]
            .iter()
            .find_map(|end| lower.strip_suffix(end));
        let name = ending.unwrap_or(&lower);
        if let Some(at) = DOCUMENTS.iter().position(|known| *known == name) {
            found.push((at, path));
        }
    }
    found.sort();
    found.into_iter().map(|(_, path)| path.clone()).collect()
}

type Say<'s> = dyn FnMut(&'static str, &str, &str) + 's;

/// Facts that a file tells by being there.
fn fixed(top: &BTreeSet<&str>, say: &mut Say<'_>) {
    const FIXED: [(&str, &str, &str); 9] = [
        ("Cargo.toml", "cargo build", "cargo test"),
        ("go.mod", "go build ./...", "go test ./..."),
        ("mix.exs", "mix compile", "mix test"),
        ("Package.swift", "swift build", "swift test"),
        ("build.zig", "zig build", "zig build test"),
        (
            "CMakeLists.txt",
            "cmake --build build",
            "ctest --test-dir build",
        ),
        ("pom.xml", "mvn package", "mvn test"),
        ("build.gradle", "gradle build", "gradle test"),
        ("build.gradle.kts", "gradle build", "gradle test"),
    ];
    for (file, build, test) in FIXED {
        if !top.contains(file) {
            continue;
        }
        // A repository's own copy of the tool counts before the one of the machine.
        let own = |command: &str| match command.split_once(' ') {
            Some(("mvn", rest)) if top.contains("mvnw") => format!("./mvnw {rest}"),
            Some(("gradle", rest)) if top.contains("gradlew") => format!("./gradlew {rest}"),
            _ => command.to_owned(),
        };
        say("build", &own(build), file);
        say("test", &own(test), file);
    }
    let is_net = |path: &&&str| path.ends_with(".sln") || path.ends_with(".csproj");
    if let Some(file) = top.iter().filter(|path| !path.contains('/')).find(is_net) {
        say("build", "dotnet build", file);
        say("test", "dotnet test", file);
    }
    let has_below = |folder: &str| {
        top.range(folder..)
            .next()
            .is_some_and(|path| path.starts_with(folder))
    };
    if top.contains("Gemfile") && has_below("spec/") {
        say("test", "bundle exec rspec", "Gemfile");
    }
}

/// Facts that the text of a file tells.
fn of_text(path: &str, text: &str, top: &BTreeSet<&str>, say: &mut Say<'_>) -> Result<(), String> {
    match path {
        "package.json" => {
            let manager = [
                ("pnpm-lock.yaml", "pnpm"),
                ("yarn.lock", "yarn"),
                ("bun.lock", "bun"),
                ("bun.lockb", "bun"),
            ];
            let manager = manager.iter().find(|(lock, _)| top.contains(lock));
            let manager = manager.map_or("npm", |(_, name)| name);
            of_scripts(path, text, "scripts", &format!("{manager} run"), say)
        }
        "composer.json" => of_scripts(path, text, "scripts", "composer run", say),
        "deno.json" => of_scripts(path, text, "tasks", "deno task", say),
        "pyproject.toml" => of_python(path, text, top, say),
        _ => {
            let tool = if path.to_lowercase() == "justfile" {
                "just"
            } else {
                "make"
            };
            for name in targets(text) {
                if let Some(what) = what_of(&name) {
                    say(what, &format!("{tool} {name}"), path);
                }
            }
            Ok(())
        }
    }
}

/// Purpose of a script or a target of this name.
fn what_of(name: &str) -> Option<&'static str> {
    match name {
        "build" => Some("build"),
        "test" | "tests" | "check" => Some("test"),
        "lint" => Some("lint"),
        _ => None,
    }
}

fn of_scripts(
    path: &str,
    text: &str,
    table: &str,
    run: &str,
    say: &mut Say<'_>,
) -> Result<(), String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let scripts = value.get(table).and_then(Value::as_object);
    for (name, script) in scripts.into_iter().flatten() {
        // What `npm init` writes tests nothing.
        let is_stub = script
            .as_str()
            .is_some_and(|script| script.contains("no test specified"));
        if let Some(what) = what_of(name).filter(|_| !is_stub) {
            say(what, &format!("{run} {name}"), path);
        }
    }
    Ok(())
}

fn of_python(
    path: &str,
    text: &str,
    top: &BTreeSet<&str>,
    say: &mut Say<'_>,
) -> Result<(), String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    if table.contains_key("build-system") {
        say("build", "python -m build", path);
    }
    let tools = table.get("tool").and_then(toml::Value::as_table);
    let has_tool = |name: &str| tools.is_some_and(|tools| tools.contains_key(name));
    let is_test = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("test_") && name.ends_with(".py")
    };
    if has_tool("pytest") || top.iter().any(is_test) {
        say("test", "python -m pytest", path);
    }
    if has_tool("ruff") {
        say("lint", "ruff check", path);
    }
    Ok(())
}

/// The targets of a makefile, the recipes of a justfile.
fn targets(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let target = |line: &str| {
        let (head, rest) = line.split_once(':')?;
        if rest.starts_with('=') || head.starts_with(char::is_whitespace) {
            return None;
        }
        // A recipe of just may have parameters behind its name.
        let name = head.split_whitespace().next()?.trim_start_matches('@');
        let is_whole = !name.is_empty() && name.chars().all(is_name);
        is_whole.then(|| name.to_owned())
    };
    text.lines().filter_map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::{Facts, facts, wanted_files};
    use std::collections::BTreeMap;

    fn of(files: &[(&str, &str)]) -> Facts {
        let mut paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        paths.sort();
        let wanted: Vec<&String> = wanted_files(&paths).collect();
        let texts: BTreeMap<String, Result<String, String>> = files
            .iter()
            .filter(|(path, _)| wanted.iter().any(|one| one == path))
            .map(|(path, text)| ((*path).to_owned(), Ok((*text).to_owned())))
            .collect();
        facts(&paths, &texts)
    }

    fn commands(files: &[(&str, &str)]) -> Vec<String> {
        let found = of(files).commands;
        found
            .iter()
            .map(|one| format!("{}: {} ({})", one.what, one.run.join(" "), one.from))
            .collect()
    }

    #[test]
    fn commands_are_those_that_files_say() {
        let script = r#"{"scripts": {"test": "vitest", "lint": "x", "dev": "y"}}"#;
        for (files, wanted) in [
            (
                vec![("Cargo.toml", ""), ("src/main.rs", "")],
                vec![
                    "build: cargo build (Cargo.toml)",
                    "test: cargo test (Cargo.toml)",
                ],
            ),
            (vec![("sub/Cargo.toml", "")], vec![]),
            (
                vec![("package.json", script), ("yarn.lock", "")],
                vec![
                    "lint: yarn run lint (package.json)",
                    "test: yarn run test (package.json)",
                ],
            ),
            (
                vec![(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                vec![],
            ),
            (
                vec![(
                    "Makefile",
                    "CC := gcc\nbuild: a\n\tx: y\n.PHONY: test\ntest check: b\nlint-all:\n",
                )],
                vec!["build: make build (Makefile)", "test: make test (Makefile)"],
            ),
            (
                vec![("justfile", "@test filter='':\n  cargo test\nx := 'y'\n")],
                vec!["test: just test (justfile)"],
            ),
            (
                vec![
                    (
                        "pyproject.toml",
                        "[build-system]\nrequires=[]\n[tool.ruff]\n",
                    ),
                    ("tests/test_a.py", ""),
                ],
                vec![
                    "build: python -m build (pyproject.toml)",
                    "lint: ruff check (pyproject.toml)",
                    "test: python -m pytest (pyproject.toml)",
                ],
            ),
            (
                vec![("build.gradle.kts", ""), ("gradlew", "")],
                vec![
                    "build: ./gradlew build (build.gradle.kts)",
                    "test: ./gradlew test (build.gradle.kts)",
                ],
            ),
            (
                vec![("a.sln", "")],
                vec!["build: dotnet build (a.sln)", "test: dotnet test (a.sln)"],
            ),
            (
                vec![("Gemfile", ""), ("spec/a_spec.rb", "")],
                vec!["test: bundle exec rspec (Gemfile)"],
            ),
        ] {
            assert_eq!(commands(&files), wanted, "{files:?}");
        }
    }

    #[test]
    fn languages_manifests_and_documents_are_counted_and_foreign_folders_left_out() {
        let found = of(&[
            ("README.md", ""),
            ("docs/index.rst", ""),
            ("AGENTS.md", ""),
            ("a/README.md", ""),
            ("go.mod", ""),
            ("a.go", ""),
            ("b.go", ""),
            ("c.sh", ""),
            ("vendor/x.c", ""),
            ("sub/package.json", "{"),
            ("LICENSE", ""),
        ]);
        let languages: Vec<(&str, usize)> = found
            .languages
            .iter()
            .map(|one| (one.name, one.files))
            .collect();
        assert_eq!(languages, [("Go", 2), ("Shell", 1)]);
        assert_eq!(
            found.documents,
            ["README.md", "AGENTS.md", "docs/index.rst"]
        );
        assert_eq!(found.manifests, ["go.mod", "sub/package.json"]);
        assert!(found.unread.is_empty());
        let broken = of(&[("package.json", "{"), ("pyproject.toml", "=")]);
        assert_eq!(broken.unread.len(), 2);
        assert_eq!(of(&[]), Facts::default());
    }
}
