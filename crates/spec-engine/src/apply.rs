//! From a delta to a new spec: apply the delta to the base it was written against, then merge the result
//! with the target three ways.
//!
//! [`plan_domain`] is the one verdict behind archive, validate, diff and overlap: what it finds is what
//! archive would refuse.

use super::check;
use super::conflict::{Conflict, MarkerNames, Merged};
use super::domain::check_domain;
use super::layout::Layout;
use super::lines::{Eol, LineMerge};
use super::merge::{Tree, merge_trees};
use super::operate::{self, Hand, SectionKey};
use super::operation::{DomainDelta, Operation};
use super::standing::{self, Standing};
use super::tree::Node;
use super::words::{self, OpKind};
use loopx_base::findings;
use loopx_base::findings::{Finding, Notes};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Specs and renames against which a delta was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// Spec at the base; absent when there was none.
    pub default: Option<String>,
    /// Requirements, by folded name, that were recorded from another version of the spec: its text.
    pub per_requirement: BTreeMap<String, Rc<str>>,
    /// Renames that the target is known to have made since, old and new name.
    pub target_renames: Vec<(String, String)>,
}

/// Choices of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions<'a> {
    /// Permission to remove the last requirement, and the spec with it.
    pub retire: bool,
    /// The label of the target in findings; the domain's path when empty.
    pub target_file: &'a str,
    pub markers: MarkerNames<'a>,
}

/// Action on the spec of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "text")]
pub enum Action {
    /// No change: the delta's effect is there already, or the delta must not be applied.
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
    /// Tells whether the delta may be applied.
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
    let path = format!("{domain}/spec.md");
    let file = match options.target_file {
        "" => path.as_str(),
        given => given,
    };
    let layout = target.map(Layout::read);
    let touched = standing::touched(delta);
    let standing = match &layout {
        Some(layout) => Standing::of(layout, file, &touched),
        None => Standing::default(),
    };
    let mut outcome = DomainOutcome {
        domain: domain.to_owned(),
        action: Action::Keep,
        findings: standing.findings.clone(),
        conflicts: Vec::new(),
        rendered_conflict: None,
    };
    let ground = Ground {
        domain,
        bases,
        target,
        layout: layout.as_ref(),
        file,
        standing: &standing,
        delta,
        touched: &touched,
        options,
    };
    if let Some(text) = ground.merged(lines, &mut outcome)
        && text != target.unwrap_or_default()
    {
        ground.settle(text, &mut outcome);
    }
    findings::sort(&mut outcome.findings);
    outcome
}

/// Facts on which the verdict on one domain rests.
struct Ground<'g> {
    domain: &'g str,
    bases: &'g Bases,
    target: Option<&'g str>,
    /// The target as it is read.
    layout: Option<&'g Layout<'g>>,
    /// The label of the target in findings.
    file: &'g str,
    standing: &'g Standing,
    delta: &'g DomainDelta,
    /// The names that the delta reads or writes.
    touched: &'g HashSet<String>,
    options: &'g PlanOptions<'g>,
}

impl<'g> Ground<'g> {
    /// The spec with the delta in it; nothing where the delta must not be applied.
    fn merged(&self, lines: &dyn LineMerge, outcome: &mut DomainOutcome) -> Option<String> {
        let mut ours = self.base();
        // The base stays as it was only where something is merged with it.
        let apart = (!self.is_target_base()).then(|| (ours.clone(), self.theirs()));
        let theirs = apart.as_ref().map(|(_, theirs)| &theirs.root);
        let behind = theirs.and_then(operate::before_requirements);
        self.operate(&mut ours, behind.as_deref(), &mut outcome.findings);
        if findings::has_errors(&outcome.findings) {
            return None;
        }
        let text = ours.write();
        // A tree takes several times the memory of its text, and this one is not needed any more.
        drop(ours);
        let Some((base, theirs)) = apart else {
            return Some(text);
        };
        let merged = self.merge(&base, &text, &theirs, lines);
        if merged.conflicts.is_empty() {
            return Some(merged.text);
        }
        outcome.conflicts = merged.conflicts;
        for conflict in &mut outcome.conflicts {
            self.domain.clone_into(&mut conflict.domain);
        }
        outcome.rendered_conflict = Some(merged.text);
        None
    }

    /// Tells whether nothing came in between base and target, which is the usual case: then one reading serves both.
    fn is_target_base(&self) -> bool {
        self.bases.per_requirement.is_empty() && self.target == self.bases.default.as_deref()
    }

    /// Tells whether any base of the delta is known.
    fn is_base_known(&self) -> bool {
        self.bases.default.is_some() || !self.bases.per_requirement.is_empty()
    }

    /// Spec against which the delta was written.
    fn base(&self) -> Tree<'g> {
        let mut base = match self.layout {
            Some(layout) if self.is_target_base() => Tree::skim(layout),
            _ => {
                // Who says what a new domain is for says it in the place of a placeholder only.
                let placeholder = operate::placeholder_section(self.layout);
                let placeholder = placeholder.filter(|_| self.delta.purpose.is_some());
                let text = self.bases.default.as_deref().or(placeholder);
                Tree::skim(&Layout::read(text.unwrap_or_default()))
            }
        };
        let recorded = &self.bases.per_requirement;
        // Many requirements come from few versions of the spec: each is read once.
        let mut versions: HashMap<*const str, Node<'_>> = HashMap::new();
        for text in recorded.values() {
            let version = versions.entry(Rc::as_ptr(text));
            version.or_insert_with(|| Node::skim(&Layout::read(text)));
        }
        if !versions.is_empty() {
            let recorded = recorded.iter().filter_map(|(name, text)| {
                let version = versions.get(&Rc::as_ptr(text))?;
                Some((words::fold(name), version))
            });
            operate::graft(&mut base.root, recorded);
            operate::refresh_sections(&mut base.root);
        }
        base
    }

    fn theirs(&self) -> Tree<'g> {
        match self.layout {
            Some(layout) => Tree::skim(layout),
            None => Tree::skim(&Layout::read("")),
        }
    }

    /// Carries the operations of the delta out on the base, and notes what speaks against them.
    fn operate(
        &self,
        ours: &mut Tree<'_>,
        behind: Option<&[SectionKey]>,
        found: &mut Vec<Finding>,
    ) {
        let mut notes = Notes::new(&self.delta.file);
        self.check(&mut notes);
        let text = self.bases.default.as_deref().or(self.target);
        let mut hand = Hand {
            domain: self.domain,
            delta: self.delta,
            eol: Eol::most(text.unwrap_or_default()),
            behind,
            notes,
        };
        let known = self.is_base_known();
        if known || self.target.is_some() {
            hand.apply(&mut ours.root, known);
        } else {
            hand.create(&mut ours.root);
        }
        let missing = |finding: &Finding| finding.id == "missing_requirement";
        if hand.notes.list.iter().any(missing) {
            // What is not there may be what nobody reads.
            Standing::refuse_taking(found);
        }
        found.extend(hand.notes.list);
    }

    /// Checks the delta for this domain, whatever its operations are.
    fn check(&self, notes: &mut Notes<'_>) {
        if let Err(why) = check_domain(self.domain) {
            notes.error(
                "bad_domain",
                0,
                format!("`{}` cannot be a domain: {why}", self.domain),
                "name the folder of the spec below the folder of specs, as `auth/login`",
            );
        }
        if let (Some(theirs), Some(ours)) =
            (self.layout.and_then(check::language), self.delta.language)
            && theirs != ours
        {
            notes.error(
                "language_differs",
                1,
                "the headings of the delta are in another language than those of the spec",
                "use the header words of the spec: `## ADDED Requirements`, `### Requirement: NAME`",
            );
        }
    }

    fn merge(
        &self,
        base: &Tree<'_>,
        ours: &str,
        theirs: &Tree<'_>,
        lines: &dyn LineMerge,
    ) -> Merged {
        // What the delta names is known of its own side only: the other may be the result of a delta
        // too. Both sides are read as texts, so that neither the first nor the second decides.
        let ours = Tree::skim(&Layout::read(ours));
        let renames = self.bases.target_renames.iter();
        let renames: Vec<(String, String)> = renames
            .map(|(from, to)| (words::fold(from), words::fold(to)))
            .collect();
        merge_trees(base, &ours, theirs, &renames, lines, self.options.markers)
    }

    /// Decides what becomes of the spec's file, which the merged text differs from.
    fn settle(&self, text: String, outcome: &mut DomainOutcome) {
        let after = Layout::read(&text);
        let requirements = check::named(&after);
        let removal = self.delta.of_kind(OpKind::Removed).next();
        if let (true, Some(removal)) = (requirements.is_empty(), removal) {
            self.retire(&after, removal, outcome);
            return;
        }
        let mut notes = Notes::new(&self.delta.file);
        near_names(&requirements, self.delta, &mut notes);
        outcome.findings.extend(notes.list);
        let new = self.standing.new_in(&after, self.file);
        outcome.findings.extend(new);
        if findings::has_errors(&outcome.findings) {
            return;
        }
        let mut notes = Notes::new(&self.delta.file);
        if let Some(before) = self.layout {
            self.reads_otherwise(before, &after, &mut notes);
        }
        if notes.list.is_empty() {
            outcome.action = Action::Write(text);
        } else if !Standing::refuse_taking(&mut outcome.findings) {
            outcome.findings.extend(notes.list);
        }
    }

    /// The spec goes with its last requirement, where the delta says so and nothing else is lost.
    fn retire(&self, after: &Layout<'_>, removal: &Operation, outcome: &mut DomainOutcome) {
        let mut notes = Notes::new(&self.delta.file);
        let prose: Vec<&str> = after
            .sections
            .iter()
            .filter(|s| s.level == 2 && s.word.is_none())
            .map(|s| after.slice(&s.title))
            .collect();
        if !self.options.retire {
            notes.error(
                "last_requirement",
                removal.line,
                "the last requirement of the domain would go",
                "to give the domain up, put `retire: true` into the front matter of the delta \
                 (`retire_capabilities: true` in .openspec.yaml)",
            );
        } else if !prose.is_empty() {
            notes.error(
                "retire_loses_text",
                removal.line,
                format!("the spec also has the sections `{}`", prose.join("`, `")),
                "move them elsewhere first: the file goes with the domain",
            );
        } else {
            outcome.action = Action::Retire;
        }
        outcome.findings.extend(notes.list);
    }

    /// Refuses a result in which text that the delta does not touch is read otherwise than before: text that is put in
    /// front of a heading without an empty line, or of an indented one, can take the heading in.
    fn reads_otherwise(&self, before: &Layout<'_>, after: &Layout<'_>, notes: &mut Notes<'_>) {
        let (was, is) = (self.untouched(before), self.untouched(after));
        let odd = if was == is {
            unread(after, self.delta)
        } else {
            // Both are sorted.
            let odd = was.iter().find(|name| is.binary_search(name).is_err());
            let odd = odd.or_else(|| is.iter().find(|name| was.binary_search(name).is_err()));
            let odd = odd.copied().or_else(|| unread(after, self.delta));
            odd.or(Some("a heading"))
        };
        let Some(name) = odd else {
            return;
        };
        notes.error(
            "heading_taken_in",
            self.delta.operations.first().map_or(1, |op| op.line),
            format!(
                "behind what the delta writes, `{name}` of the spec would be read as something else"
            ),
            "in the spec, put an empty line in front of that heading, and no blanks at its begin",
        );
    }

    /// The headings of a spec that the delta does not touch, sorted.
    fn untouched<'t>(&self, layout: &Layout<'t>) -> Vec<&'t str> {
        let sections = layout.sections.iter().filter(|s| s.word.is_none());
        let sections = sections.map(|s| layout.slice(&s.title));
        let requirements = check::named(layout).into_iter().map(|one| one.name);
        let requirements =
            requirements.filter(|name| !self.touched.contains(words::folded(name).as_ref()));
        let mut all: Vec<&str> = sections.chain(requirements).collect();
        all.sort_unstable();
        all
    }
}

/// Requirement that the delta writes and that nobody would read: the text in front takes it in.
fn unread<'d>(after: &Layout<'_>, delta: &'d DomainDelta) -> Option<&'d str> {
    let requirements = check::named(after).into_iter();
    let read: HashSet<Cow<'_, str>> = requirements.map(|one| words::folded(one.name)).collect();
    let mut written = delta.operations.iter().filter_map(new_name);
    written.find(|name| !read.contains(&words::folded(name)))
}

/// Name that an operation brings into the spec.
fn new_name(op: &Operation) -> Option<&str> {
    match op.kind {
        OpKind::Added => Some(&op.name),
        OpKind::Renamed => op.to.as_deref(),
        _ => None,
    }
}

/// A new name that differs from another in case or marks only is a mistake more often than a name.
fn near_names(requirements: &[check::Named<'_>], delta: &DomainDelta, notes: &mut Notes<'_>) {
    let new: Vec<(&Operation, &str, String)> = (delta.operations.iter())
        .filter_map(|op| Some((op, new_name(op)?)))
        .map(|(op, name)| (op, name, words::loose(name)))
        .collect();
    let mut alike: HashMap<&str, Vec<&str>> = HashMap::new();
    for (_, _, loose) in &new {
        alike.entry(loose).or_default();
    }
    for one in requirements {
        if let Some(names) = alike.get_mut(words::loose(one.name).as_str()) {
            names.push(one.name);
        }
    }
    for (op, new, loose) in &new {
        let key = words::fold(new);
        let others = alike.get(loose.as_str()).map(Vec::as_slice);
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
