//! The mode that a request asks for, by its whole words: `require` is not `UI`, and `performance` is no form. Whoever
//! names a mode gets that one.

use crate::outline::{said, words};
use serde::Serialize;

/// Words that ask for a front end.
const FRONT: [&str; 39] = [
    "component",
    "components",
    "page",
    "pages",
    "ui",
    "react",
    "vue",
    "css",
    "html",
    "tailwind",
    "svelte",
    "next js",
    "nextjs",
    "nuxt",
    "shadcn",
    "design system",
    "frontend",
    "front end",
    "responsive",
    "layout",
    "layouts",
    "form",
    "forms",
    "dialog",
    "dialogs",
    "modal",
    "modals",
    "sidebar",
    "navbar",
    "theme",
    "themes",
    "dark mode",
    "animation",
    "animations",
    "screen reader",
    "stylesheet",
    "stylesheets",
    "angular",
    "web page",
];
/// Words that ask for what stands behind it.
const BACK: [&str; 24] = [
    "api",
    "apis",
    "database",
    "databases",
    "server",
    "servers",
    "endpoint",
    "endpoints",
    "backend",
    "back end",
    "middleware",
    "migration",
    "migrations",
    "schema",
    "schemas",
    "rest",
    "graphql",
    "authentication",
    "authorization",
    "queue",
    "queues",
    "worker",
    "workers",
    "cron",
];
/// Words that ask for a specification.
const SPEC: [&str; 8] = [
    "specify",
    "specification",
    "specifications",
    "spec",
    "specs",
    "requirements",
    "prd",
    "product brief",
];
/// Words that ask for code.
const CODE: [&str; 16] = [
    "implement",
    "implements",
    "implementation",
    "build",
    "code",
    "develop",
    "program",
    "fix",
    "add",
    "change",
    "remove",
    "rename",
    "refactor",
    "port",
    "migrate",
    "support",
];
/// Words that ask for the whole way.
const WHOLE: [&str; 7] = [
    "from scratch",
    "greenfield",
    "end to end",
    "new product",
    "new app",
    "new application",
    "lifecycle",
];
/// Packages of a front end.
const PACKAGES: [&str; 4] = ["react", "vue", "svelte", "next"];

/// Mode, and what it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub mode: &'static str,
    /// The mode before the words of a front end made another one of it.
    pub base: &'static str,
    /// Words that chose the base; none where the base is what stands where no word does.
    pub words: Vec<String>,
    pub front_end: Vec<String>,
    pub back_end: Vec<String>,
    /// Packages of the code that stand for a front end.
    pub packages: Vec<String>,
}

/// The mode that a request asks for; nothing where no word of it decides. `packages` are those of the code.
pub fn choose(request: &str, packages: &[String]) -> Option<Choice> {
    let request = words(request);
    let said = |list: &[&str]| said(&request, list);
    let (spec, code, whole) = (said(&SPEC), said(&CODE), said(&WHOLE));
    let (base, chose) = if !whole.is_empty() {
        ("full-lifecycle", whole)
    } else if !spec.is_empty() && !code.is_empty() {
        ("full-lifecycle", [spec, code].concat())
    } else if !spec.is_empty() {
        ("spec-only", spec)
    } else {
        ("impl-only", code)
    };
    let (front_end, back_end) = (said(&FRONT), said(&BACK));
    if chose.is_empty() && front_end.is_empty() && back_end.is_empty() {
        return None;
    }
    let is_known = |name: &&String| PACKAGES.contains(&name.as_str());
    let packages: Vec<String> = packages.iter().filter(is_known).cloned().collect();
    let mode = match base {
        "impl-only" if !front_end.is_empty() && !back_end.is_empty() => "fullstack",
        "impl-only" if !front_end.is_empty() => "fe-only",
        "full-lifecycle" if !front_end.is_empty() || !packages.is_empty() => "full-lifecycle-fe",
        base => base,
    };
    Some(Choice {
        mode,
        base,
        words: chose,
        front_end,
        back_end,
        packages,
    })
}

impl Choice {
    /// Reason for the mode, in a sentence.
    pub fn because(&self) -> String {
        let Choice {
            mode,
            base,
            words,
            front_end,
            back_end,
            packages,
        } = self;
        let rows = [
            ("", words),
            ("front end: ", front_end),
            ("back end: ", back_end),
            ("packages: ", packages),
        ];
        let rows = rows.iter().filter(|(_, words)| !words.is_empty());
        let rows: Vec<String> = rows
            .map(|(what, words)| format!("{what}{}", words.join(", ")))
            .collect();
        let from = if mode == base {
            String::new()
        } else {
            format!(", made of {base}")
        };
        format!("{mode}{from}, by the words: {}", rows.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::choose;

    /// Team A7 among them.
    #[test]
    fn team_a7_whole_words_choose_the_mode() {
        for (request, mode, base) in [
            ("build a performance monitor", "impl-only", "impl-only"),
            (
                "require a guid in the platform queue",
                "impl-only",
                "impl-only",
            ),
            ("fix the settings page", "fe-only", "impl-only"),
            ("a Next.js page and its REST API", "fullstack", "impl-only"),
            ("Dark mode", "fe-only", "impl-only"),
            ("the author's queue", "impl-only", "impl-only"),
            (
                "write the requirements of a note app",
                "spec-only",
                "spec-only",
            ),
            ("a PRD for the login page", "spec-only", "spec-only"),
            (
                "specify and implement a note app",
                "full-lifecycle",
                "full-lifecycle",
            ),
            (
                "a note app from scratch",
                "full-lifecycle",
                "full-lifecycle",
            ),
            (
                "a note app from scratch, with a UI",
                "full-lifecycle-fe",
                "full-lifecycle",
            ),
        ] {
            let choice = choose(request, &[]).expect("a mode");
            assert_eq!((choice.mode, choice.base), (mode, base), "{request}");
        }
    }

    #[test]
    fn where_no_word_decides_no_mode_is_chosen() {
        for request in [
            "",
            "the author's guide",
            "say hello",
            "quick building platforms",
        ] {
            assert_eq!(choose(request, &["react".to_owned()]), None, "{request}");
        }
    }

    #[test]
    fn a_package_of_a_front_end_counts_for_the_whole_way_alone() {
        let packages = ["react".to_owned(), "left-pad".to_owned()];
        let choose =
            |request: &str, packages: &[String]| choose(request, packages).expect("a mode");
        assert_eq!(
            choose("a note app from scratch", &packages).mode,
            "full-lifecycle-fe"
        );
        assert_eq!(choose("a queue", &packages).mode, "impl-only");
        let said = choose("a page and an API", &[]).because();
        assert_eq!(
            said,
            "fullstack, made of impl-only, by the words: front end: page; back end: api"
        );
    }
}
