//! From a delta to a new spec: apply the delta to the base it was written against, then merge the result
//! with the target three ways.
//!
//! [`plan_domain`] is the one verdict behind archive, validate, diff and overlap: what it finds is what
//! archive would refuse.

use super::check;
use super::conflict::{Conflict, MarkerNames};
use super::domain::check_domain;
use super::layout::Layout;
use super::lines::{Eol, LineMerge};
use super::merge::{Tree, merge_trees};
use super::operate::{self, Hand};
use super::operation::DomainDelta;
use super::standing::{self, Standing};
use super::tree::Node;
use super::words::{self, OpKind};
use loopx_base::findings;
use loopx_base::findings::{Finding, Notes};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// What a delta was written against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// The spec as it was; absent when there was none.
    pub default: Option<String>,
    /// Requirements, by folded name, that were recorded from another version of the spec: its text.
    pub per_requirement: BTreeMap<String, Rc<str>>,
    /// Renames that the target is known to have made since, old and new name.
    pub target_renames: Vec<(String, String)>,
}

/// What a caller decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions<'a> {
    /// The last requirement may go, and the spec with it.
    pub retire: bool,
    /// The label of the target in findings; the domain's path when empty.
    pub target_file: &'a str,
    pub markers: MarkerNames<'a>,
}

/// What is to be done to the spec of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "text")]
pub enum Action {
    /// Nothing: the delta's effect is there already, or it must not be applied.
    Keep,
    Write(String),
    /// The last requirement is gone: delete the file.
    Retire,
}

/// The verdict on one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DomainOutcome {
    pub domain: String,
    pub action: Action,
    pub findings: Vec<Finding>,
    pub conflicts: Vec<Conflict>,
    /// The merged spec with markers around each conflict.
    pub rendered_conflict: Option<String>,
}

impl DomainOutcome {
    /// Whether the delta may be applied.
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty() && !findings::has_errors(&self.findings)
    }
}

/// Decides what `delta` makes of the spec of `domain`. `target` is the spec as it is now, if it is.
pub fn plan_domain(
    domain: &str,
    bases: &Bases,
    target: Option<&str>,
    delta: &DomainDelta,
    options: &PlanOptions<'_>,
    lines: &dyn LineMerge,
) -> DomainOutcome {
    let mut outcome = DomainOutcome {
        domain: domain.to_owned(),
        action: Action::Keep,
        findings: Vec::new(),
        conflicts: Vec::new(),
        rendered_conflict: None,
    };
    let path = format!("{domain}/spec.md");
    let file = if options.target_file.is_empty() {
        path.as_str()
    } else {
        options.target_file
    };
    let mut notes = Notes::new(&delta.file);
    if let Err(why) = check_domain(domain) {
        notes.error(
            "bad_domain",
            0,
            format!("`{domain}` cannot be a domain: {why}"),
            "name the folder of the spec below the folder of specs, as `auth/login`",
        );
    }
    let target_layout = target.map(Layout::read);
    let touched = standing::touched(delta);
    let standing = match &target_layout {
        Some(layout) => Standing::of(layout, file, &touched),
        None => Standing::default(),
    };
    outcome.findings.extend(standing.findings.iter().cloned());
    if let Some(layout) = &target_layout
        && let (Some(theirs), Some(ours)) = (check::language(layout), delta.language)
        && theirs != ours
    {
        notes.error(
            "language_differs",
            1,
            "the headings of the delta are in another language than those of the spec",
            "use the header words of the spec: `## ADDED Requirements`, `### Requirement: NAME`",
        );
    }
    // The usual case is that nothing came in between: then one reading serves both.
    let same_base = bases.per_requirement.is_empty() && target == bases.default.as_deref();
    let own_layout;
    let base_layout = match &target_layout {
        Some(layout) if same_base => layout,
        _ => {
            // Who says what a new domain is for says it in the place of a placeholder only.
            let placeholder = operate::placeholder_section(target_layout.as_ref());
            let text = bases
                .default
                .as_deref()
                .or(placeholder.filter(|_| delta.purpose.is_some()));
            own_layout = Layout::read(text.unwrap_or_default());
            &own_layout
        }
    };
    let mut base = Tree::of(base_layout);
    // Many requirements come from few versions of the spec: each is read once.
    let mut layouts: HashMap<*const str, Layout<'_>> = HashMap::new();
    for text in bases.per_requirement.values() {
        let layout = layouts.entry(Rc::as_ptr(text));
        layout.or_insert_with(|| Layout::read(text));
    }
    let versions: HashMap<*const str, Node<'_>> = layouts
        .iter()
        .map(|(text, layout)| (*text, Node::read(layout)))
        .collect();
    if !versions.is_empty() {
        let recorded = bases.per_requirement.iter().filter_map(|(name, text)| {
            let version = versions.get(&Rc::as_ptr(text))?;
            Some((words::fold(name), version))
        });
        operate::graft(&mut base.root, recorded);
        operate::refresh_sections(&mut base.root);
    }
    let known = bases.default.is_some() || !layouts.is_empty();
    let eol_source = target.or(bases.default.as_deref()).unwrap_or_default();
    let eol = Eol::most(bases.default.as_deref().unwrap_or(eol_source));
    // The base stays as it was only where something is merged with it.
    let (mut ours, base) = if same_base {
        (base, None)
    } else {
        (base.clone(), Some(base))
    };
    let empty = Layout::read("");
    let theirs = base
        .as_ref()
        .map(|_| Tree::of(target_layout.as_ref().unwrap_or(&empty)));
    let behind = theirs
        .as_ref()
        .and_then(|theirs| operate::before_requirements(&theirs.root));
    let mut hand = Hand {
        domain,
        delta,
        eol,
        behind: behind.as_deref(),
        notes,
    };
    if known || target.is_some() {
        hand.apply(&mut ours.root, known);
    } else {
        hand.create(&mut ours.root);
    }
    let missing = |finding: &Finding| finding.id == "missing_requirement";
    if hand.notes.list.iter().any(missing) {
        // What is not there may be what nobody reads.
        Standing::refuse_taking(&mut outcome.findings);
    }
    outcome.findings.extend(hand.notes.list);
    if findings::has_errors(&outcome.findings) {
        findings::sort(&mut outcome.findings);
        return outcome;
    }
    ours.root.refresh();
    let text = match base.zip(theirs) {
        None => ours.write(),
        Some((base, theirs)) => {
            // What the delta names is known of its own side only: the other may be the result of a delta
            // too. Both sides are read as texts, so that neither the first nor the second decides.
            let text = ours.write();
            let layout = Layout::read(&text);
            let ours = Tree::of(&layout);
            let renames: Vec<(String, String)> = bases
                .target_renames
                .iter()
                .map(|(from, to)| (words::fold(from), words::fold(to)))
                .collect();
            let merged = merge_trees(&base, &ours, &theirs, &renames, lines, options.markers);
            if !merged.conflicts.is_empty() {
                outcome.conflicts = merged.conflicts;
                for conflict in &mut outcome.conflicts {
                    domain.clone_into(&mut conflict.domain);
                }
                outcome.rendered_conflict = Some(merged.text);
                findings::sort(&mut outcome.findings);
                return outcome;
            }
            merged.text
        }
    };
    let is_new = target != Some(text.as_str()) && !(target.is_none() && text.is_empty());
    if is_new {
        let layout = Layout::read(&text);
        let mut may_go = judge(&mut outcome, &layout, delta, options, (file, &standing));
        if let (true, Some(before)) = (may_go, &target_layout) {
            let mut notes = Notes::new(&delta.file);
            reads_otherwise(before, &layout, (delta, &touched), &mut notes);
            may_go = notes.list.is_empty();
            if !may_go && !Standing::refuse_taking(&mut outcome.findings) {
                outcome.findings.extend(notes.list);
            }
        }
        if may_go {
            outcome.action = Action::Write(text);
        }
    }
    findings::sort(&mut outcome.findings);
    outcome
}

/// What the merged spec has to satisfy before it is written: whether it may be.
fn judge(
    outcome: &mut DomainOutcome,
    layout: &Layout<'_>,
    delta: &DomainDelta,
    options: &PlanOptions<'_>,
    (file, standing): (&str, &Standing),
) -> bool {
    let requirements = check::named(layout);
    let mut notes = Notes::new(&delta.file);
    let removes = delta.operations.iter().find(|o| o.kind == OpKind::Removed);
    if requirements.is_empty()
        && let Some(op) = removes
    {
        let prose: Vec<&str> = layout
            .sections
            .iter()
            .filter(|s| s.level == 2 && s.word.is_none())
            .map(|s| layout.slice(&s.title))
            .collect();
        if !options.retire {
            notes.error(
                "last_requirement",
                op.line,
                "the last requirement of the domain would go",
                "to give the domain up, put `retire: true` into the front matter of the delta \
                 (`retire_capabilities: true` in .openspec.yaml)",
            );
        } else if !prose.is_empty() {
            notes.error(
                "retire_loses_text",
                op.line,
                format!("the spec also has the sections `{}`", prose.join("`, `")),
                "move them elsewhere first: the file goes with the domain",
            );
        } else {
            outcome.action = Action::Retire;
        }
        outcome.findings.extend(notes.list);
        return false;
    }
    near_names(&requirements, delta, &mut notes);
    outcome.findings.extend(notes.list);
    outcome.findings.extend(standing.new_in(layout, file));
    !findings::has_errors(&outcome.findings)
}

/// What the delta does not touch has to be read as before: text that is put in front of a heading without
/// an empty line, or of an indented one, can take it in.
fn reads_otherwise(
    before: &Layout<'_>,
    after: &Layout<'_>,
    (delta, touched): (&DomainDelta, &HashSet<String>),
    notes: &mut Notes<'_>,
) {
    let headings = |layout: &Layout<'_>| -> Vec<String> {
        let sections = layout.sections.iter().filter(|s| s.word.is_none());
        let sections = sections.map(|s| layout.slice(&s.title).to_owned());
        let requirements = check::named(layout)
            .into_iter()
            .map(|one| one.name.to_owned());
        let requirements = requirements.filter(|name| !touched.contains(&words::fold(name)));
        let mut all: Vec<String> = sections.chain(requirements).collect();
        all.sort_unstable();
        all
    };
    let (was, is) = (headings(before), headings(after));
    // Both are sorted.
    let odd = was.iter().find(|name| is.binary_search(name).is_err());
    let odd = odd.or_else(|| is.iter().find(|name| was.binary_search(name).is_err()));
    let odd = odd.map(String::as_str).or_else(|| unread(after, delta));
    let Some(name) = odd.or((was != is).then_some("a heading")) else {
        return;
    };
    notes.error(
        "heading_taken_in",
        delta.operations.first().map_or(1, |op| op.line),
        format!(
            "behind what the delta writes, `{name}` of the spec would be read as something else"
        ),
        "in the spec, put an empty line in front of that heading, and no blanks at its begin",
    );
}

/// A requirement that the delta writes and that nobody would read: what stands in front takes it in.
fn unread<'d>(after: &Layout<'_>, delta: &'d DomainDelta) -> Option<&'d str> {
    let requirements = check::named(after).into_iter();
    let read: HashSet<String> = requirements.map(|one| words::fold(one.name)).collect();
    let mut written = delta.operations.iter().filter_map(|op| match op.kind {
        OpKind::Added => Some(op.name.as_str()),
        OpKind::Renamed => op.to.as_deref(),
        _ => None,
    });
    written.find(|name| !read.contains(&words::fold(name)))
}

/// A new name that differs from another in case or marks only is a mistake more often than a name.
fn near_names(requirements: &[check::Named<'_>], delta: &DomainDelta, notes: &mut Notes<'_>) {
    let mut loose: HashMap<String, Vec<&str>> = HashMap::new();
    for one in requirements {
        loose
            .entry(words::loose(one.name))
            .or_default()
            .push(one.name);
    }
    for op in &delta.operations {
        let new = match op.kind {
            OpKind::Added => op.name.as_str(),
            OpKind::Renamed => op.to.as_deref().unwrap_or_default(),
            _ => continue,
        };
        let key = words::fold(new);
        let others = loose.get(&words::loose(new)).map(Vec::as_slice);
        if let Some(other) = others
            .unwrap_or_default()
            .iter()
            .find(|other| words::fold(other) != key)
        {
            notes.error(
                "near_name",
                op.line,
                format!("`{new}` and the requirement `{other}` differ in case or marks only"),
                "modify that requirement, or choose a clearly different name",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_delta;

    struct Never;
    impl LineMerge for Never {
        fn merge(&self, _: &str, _: &str, _: &str) -> Option<String> {
            None
        }
    }

    fn spec(bodies: &[(&str, &str)]) -> String {
        let mut text = "# d\n\n## Purpose\nP.\n\n## Requirements\n".to_owned();
        for (name, body) in bodies {
            text.push_str(&format!(
                "\n### Requirement: {name}\n{body}\n\n#### Scenario: S\n- **THEN** {name}\n"
            ));
        }
        text
    }

    fn plan(bases: &Bases, target: &str, delta: &str) -> DomainOutcome {
        let delta = read_delta(delta.as_bytes(), "delta.md");
        let options = PlanOptions::default();
        plan_domain(
            "d",
            bases,
            Some(target),
            &delta.domains[0],
            &options,
            &Never,
        )
    }

    const DELTA: &str = "## MODIFIED Requirements\n\n### Requirement: B\nIt MUST b, newly.\n\n### Requirement: C\nIt MUST c, newly.\n";

    #[test]
    fn requirements_are_merged_from_the_versions_they_were_recorded_in() {
        let old = spec(&[("A", "It MUST a."), ("B", "It MUST b.")]);
        let newer = spec(&[
            ("A", "It MUST a2."),
            ("C", "It MUST c."),
            ("B", "It MUST b2."),
        ]);
        let target = spec(&[
            ("A", "It MUST a3."),
            ("C", "It MUST c."),
            ("B", "It MUST b2."),
        ]);
        let mut bases = Bases {
            default: Some(old),
            ..Bases::default()
        };
        // From the old version alone: C is not there.
        let outcome = plan(&bases, &target, DELTA);
        assert_eq!(outcome.findings[0].id, "missing_requirement");
        for name in ["B", "C"] {
            bases
                .per_requirement
                .insert(name.into(), newer.as_str().into());
        }
        let outcome = plan(&bases, &target, DELTA);
        assert!(outcome.is_clean(), "{outcome:#?}");
        let wanted = target
            .replace("b2.", "b, newly.")
            .replace("MUST c.", "MUST c, newly.");
        assert_eq!(outcome.action, Action::Write(wanted));
    }

    #[test]
    fn a_rename_that_the_target_is_known_to_have_made_is_followed() {
        let old = spec(&[("B", "It MUST b."), ("C", "It MUST c.")]);
        let target = old
            .replace(
                "Requirement: B\nIt MUST b.",
                "Requirement: Beta\nAll of it is new, it MUST.",
            )
            .replace("- **THEN** B", "- **THEN** b");
        let bases = Bases {
            default: Some(old),
            ..Bases::default()
        };
        let delta = "## MODIFIED Requirements\n\n### Requirement: B\n\n#### ADDED Scenario: T\n- **THEN** t\n";
        let kind = plan(&bases, &target, delta).conflicts[0].kind;
        assert_eq!(kind, crate::ConflictKind::ModifyDelete);
        let bases = Bases {
            target_renames: vec![("B".into(), "Beta".into())],
            ..bases
        };
        let outcome = plan(&bases, &target, delta);
        assert!(outcome.is_clean(), "{outcome:#?}");
        let added = "- **THEN** b\n\n#### Scenario: T\n- **THEN** t\n";
        assert_eq!(
            outcome.action,
            Action::Write(target.replace("- **THEN** b\n", added))
        );
    }
}
