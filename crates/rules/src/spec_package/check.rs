//! Findings about a specification package: errors, warnings and remarks.

use super::finding::Findings;
use super::quality::quality;
use super::read::field;
use super::{Document, Package, Requirement};
use crate::markdown;
use loopx_base::findings;
use loopx_spec::front::FrontMatter;
use loopx_spec::{Finding, check_domain, fold};
use std::collections::{BTreeMap, BTreeSet};

/// Letters that a problem has at least.
const PROBLEM: usize = 30;
/// Requirements that a package has at least.
const FEATURES: usize = 2;
/// Sides from which a request is looked at.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 3..=5;

/// Lists what is wrong, by document and line.
pub fn check(package: &Package) -> Vec<Finding> {
    let mut found = Findings(package.findings.clone());
    documents(package, &mut found);
    brief(package, &mut found);
    requirements(package, &mut found);
    ids(package, &mut found);
    decisions(package, &mut found);
    stories(package, &mut found);
    report(package, &mut found);
    findings::sort(&mut found.0);
    found.0
}

fn documents(package: &Package, found: &mut Findings) {
    for document in Document::ALL {
        if package.sources.whole.contains_key(&document) {
            continue;
        }
        let id = match document {
            Document::ProductBrief | Document::Requirements => "package_document_missing",
            Document::Architecture | Document::Epics => "package_document_expected",
            Document::ReadinessReport => "package_document_later",
        };
        let name = package.sources.file_name(document);
        found.say(id, &name, 0, format!("there is no {name}"));
    }
}

fn brief(package: &Package, found: &mut Findings) {
    let Some(source) = package.sources.whole.get(&Document::ProductBrief) else {
        return;
    };
    let label = &source.label;
    let sections = markdown::sections(&source.text);
    let line = |title: &str| markdown::section(&sections, title).map_or(0, |one| one.line);
    let is_filled = |title: &str| markdown::section(&sections, title).is_some_and(|one| one.filled);
    let problem = markdown::section_text(&source.text, "Problem").unwrap_or_default();
    let letters = markdown::without_asides(&problem).trim().chars().count();
    if letters < PROBLEM {
        let message = format!("expected a problem of {PROBLEM} letters, found {letters}");
        found.say("package_problem_short", label, line("Problem"), message);
    }
    let asked = [
        ("Users", "package_user_missing"),
        ("In scope", "package_scope_open"),
        ("Out of scope", "package_scope_open"),
        ("Constraints", "package_constraint_missing"),
        ("Assumptions", "package_assumption_missing"),
    ];
    for (title, id) in asked {
        if !is_filled(title) {
            found.say(
                id,
                label,
                line(title),
                format!("nothing stands below `## {title}`"),
            );
        }
    }
    if package.goals.is_empty() {
        found.say(
            "package_goal_missing",
            label,
            line("Goals"),
            "there is no goal",
        );
    }
    let front = FrontMatter::parse(&source.text).unwrap_or_default();
    let dimensions = front.list("dimensions").map_or(0, |all| all.len());
    if !DIMENSIONS.contains(&dimensions) {
        let message = format!("expected three to five dimensions, found {dimensions}");
        let line = front.line_of("dimensions");
        found.say("package_exploration_narrow", label, line, message);
    }
    if front.boolean("confirmed") != Ok(true) {
        let line = front.line_of("confirmed");
        found.say("package_unconfirmed", label, line, "nobody confirmed it");
    }
    if front.count("discussion_rounds").unwrap_or(0) == 0 {
        let line = front.line_of("discussion_rounds");
        found.say("package_undiscussed", label, line, "nobody discussed it");
    }
    for goal in &package.goals {
        if !package.brought().any(|one| one.goals.contains(&goal.id)) {
            let message = format!("no requirement serves {}", goal.id);
            found.say("package_goal_unserved", label, goal.line, message);
        }
    }
}

fn requirements(package: &Package, found: &mut Findings) {
    let sources = &package.sources;
    if !sources.whole.contains_key(&Document::Requirements) && package.requirements.is_empty() {
        return;
    }
    let label = package.label(Document::Requirements);
    let said = package.requirements.iter();
    let said = said.filter(|one| !one.statement.is_empty() && !one.is_of_quality());
    let count = said.count();
    if count < FEATURES {
        let message = format!("expected {FEATURES} requirements with a statement, found {count}");
        found.say("package_requirements_few", &label, 0, message);
    }
    if !package.brought().any(Requirement::is_of_quality) {
        let message = "there is no requirement with an id like NFR-001";
        found.say("package_quality_missing", &label, 0, message);
    }
    let mut titles: BTreeSet<(String, String)> = BTreeSet::new();
    for one in &package.requirements {
        requirement(one, found);
        if !titles.insert((one.domain.clone(), fold(&one.title))) {
            let message = format!("{}: `{}` is there already", one.id, one.title);
            found.say("package_title_repeated", &one.file, one.line, message);
        }
    }
}

fn requirement(one: &Requirement, found: &mut Findings) {
    let (id, label) = (&one.id, one.file.as_str());
    let mut say = |what: &'static str, message: String| found.say(what, label, one.line, message);
    if one.statement.is_empty() {
        say("package_statement_missing", format!("{id} says nothing"));
    } else if !binds(&one.statement) && !one.is_left() {
        say("package_statement_weak", format!("{id} has no SHALL"));
    }
    // The reader said it of a word that is none.
    if one.priority.is_none() {
        say("package_priority_missing", format!("{id} has no priority"));
    }
    if one.is_left() {
        return;
    }
    if let Err(why) = check_domain(&one.domain) {
        say("package_domain_invalid", format!("{id}: {why}"));
    }
    if one.criteria.is_empty() {
        let what = if one.is_of_quality() {
            "package_measure_missing"
        } else {
            "package_criterion_missing"
        };
        say(what, format!("{id} has no criterion"));
    }
    let mut names: BTreeSet<String> = BTreeSet::new();
    for criterion in &one.criteria {
        let name = &criterion.name;
        if !criterion.is_scenario() {
            let message = format!("{id}: expected `NAME: WHEN ..., THEN ...`, found `{name}`");
            found.say("package_criterion_invalid", label, criterion.line, message);
        } else if !names.insert(fold(name)) {
            let message = format!("{id}: `{name}` is there already");
            found.say("package_criterion_repeated", label, criterion.line, message);
        }
    }
}

/// Tells whether a statement has a word of RFC 2119 that binds.
pub(super) fn binds(statement: &str) -> bool {
    let mut words = statement.split(|c: char| !c.is_alphanumeric());
    words.any(|word| matches!(word, "SHALL" | "MUST" | "SHOULD" | "MAY" | "REQUIRED"))
        || ["必须", "应当", "应", "不得"]
            .iter()
            .any(|word| statement.contains(word))
}

/// The file and the line of an item.
type Place<'p> = (&'p str, usize);
/// An item that names ids: its place, its own id, and what it names.
type Names<'p> = (Place<'p>, &'p str, &'p [String]);

fn place(file: &str, line: usize) -> Place<'_> {
    (file, line)
}

pub(super) fn references(package: &Package) -> Vec<Names<'_>> {
    let of_requirements = package.requirements.iter().map(|one| {
        let goals = one.goals.as_slice();
        (place(&one.file, one.line), one.id.as_str(), goals)
    });
    let of_decisions = package.decisions.iter().map(|one| {
        let named = one.requirements.as_slice();
        (place(&one.file, one.line), one.id.as_str(), named)
    });
    let of_stories = package.stories.iter().map(|one| {
        let named = one.serves.as_slice();
        (place(&one.file, one.line), one.id.as_str(), named)
    });
    of_requirements
        .chain(of_decisions)
        .chain(of_stories)
        .collect()
}

/// Every id of the package, with its places.
pub(super) fn known(package: &Package) -> BTreeMap<&str, Vec<Place<'_>>> {
    let mut all: BTreeMap<&str, Vec<Place<'_>>> = BTreeMap::new();
    for goal in &package.goals {
        let place = place(&goal.file, goal.line);
        all.entry(&goal.id).or_default().push(place);
    }
    for (place, id, _) in references(package) {
        all.entry(id).or_default().push(place);
    }
    all
}

fn ids(package: &Package, found: &mut Findings) {
    let known = known(package);
    for (id, places) in &known {
        for (file, line) in places.iter().skip(1) {
            let message = format!("{id} is there already");
            found.say("package_id_repeated", file, *line, message);
        }
    }
    for ((file, line), id, named) in references(package) {
        for name in named
            .iter()
            .filter(|name| !known.contains_key(name.as_str()))
        {
            let near = loopx_base::nearest(name, known.keys().copied());
            let near = near.map_or_else(String::new, |near| format!("; there is {near}"));
            let message = format!("{id} names {name}, which is not there{near}");
            found.say("package_reference_unknown", file, line, message);
        }
    }
}

fn decisions(package: &Package, found: &mut Findings) {
    let mut titles = BTreeSet::new();
    for one in &package.decisions {
        if !titles.insert(fold(&one.title)) {
            let message = format!("{}: `{}` is there already", one.id, one.title);
            found.say("package_title_repeated", &one.file, one.line, message);
        }
        if one.outcome.is_empty() {
            let message = format!("{} does not say what was decided", one.id);
            found.say("package_decision_incomplete", &one.file, one.line, message);
        }
        if one.considered < 2 {
            let message = format!("{} names {} of two options", one.id, one.considered);
            found.say("package_option_alone", &one.file, one.line, message);
        }
    }
    let Some(source) = package.sources.whole.get(&Document::Architecture) else {
        return;
    };
    let items = package.sources.items_of(Document::Architecture);
    let texts = items.chain([source]).map(|one| one.text.as_str());
    let said = markdown::without_asides(&texts.collect::<Vec<_>>().join("\n"));
    let words: BTreeSet<&str> = said
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.')
        .map(|word| word.trim_matches(['.', '-']))
        .collect();
    let must = package
        .brought()
        .filter(|one| one.priority == Some(super::Priority::Must));
    for one in must.filter(|one| !words.contains(one.id.as_str())) {
        let message = format!("{} is not named in the architecture", one.id);
        found.say("package_requirement_unplaced", &source.label, 0, message);
    }
}

fn stories(package: &Package, found: &mut Findings) {
    if package.stories.is_empty() && !package.sources.whole.contains_key(&Document::Epics) {
        return;
    }
    for story in package.stories.iter().filter(|one| one.serves.is_empty()) {
        let message = format!("{} names no requirement", story.id);
        found.say("package_story_idle", &story.file, story.line, message);
    }
    for one in package.brought() {
        if !package
            .stories
            .iter()
            .any(|story| story.serves.contains(&one.id))
        {
            let message = format!("no story serves {}", one.id);
            found.say("package_requirement_unserved", &one.file, one.line, message);
        }
    }
}

fn report(package: &Package, found: &mut Findings) {
    let Some(source) = package.sources.whole.get(&Document::ReadinessReport) else {
        return;
    };
    let front = FrontMatter::parse(&source.text).unwrap_or_default();
    let line = front.line_of("verdict");
    if field(&front, "verdict").is_none() {
        let message = "verdict: expected pass, review or fail, found nothing";
        found.say("package_front_matter_invalid", &source.label, line, message);
    }
    let computed = quality(package).verdict;
    if let (Some(said), Some(computed)) = (package.verdict, computed)
        && said != computed
    {
        let message = format!("it says {said}, and the figures come to {computed}");
        found.say("package_verdict_apart", &source.label, line, message);
    }
}
