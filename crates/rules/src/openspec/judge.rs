//! The verdict on the deltas of imported changes against the specs of their tree: findings by requirement, which of
//! them OpenSpec judges otherwise, and which changes meet on one requirement.

use super::Change;
use loopx_spec::{
    Action, Bases, DomainDelta, Finding, LineMerge, OpKind, PlanOptions, Severity, fold,
    plan_domain,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A finding, with the requirement that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub domain: String,
    pub requirement: Option<String>,
    #[serde(flatten)]
    pub finding: Finding,
    /// Behaviour of OpenSpec with the same text, where it differs.
    pub openspec: Option<&'static str>,
}

/// The verdict on one change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub domains: Vec<String>,
    pub operations: usize,
    pub remarks: Vec<Remark>,
}

impl Judgement {
    pub fn applies(&self) -> bool {
        let error = |r: &Remark| r.finding.severity == Severity::Error;
        self.operations > 0 && !self.remarks.iter().any(error)
    }
}

/// Overlap of two open changes that touch one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    pub domain: String,
    pub requirement: String,
    pub changes: [String; 2],
    /// Mark of whether both changes can be archived, in either order. Unknown where one of them does not apply
    /// to the domain alone.
    pub merges: Option<bool>,
}

/// Judges a change against the specs, by domain, that it was written against.
pub fn judge(
    change: &Change,
    specs: &BTreeMap<String, String>,
    lines: &dyn LineMerge,
) -> Judgement {
    let mut judged = Judgement::default();
    let mut findings: Vec<(String, Finding)> = Vec::new();
    for finding in &change.delta.findings {
        let of = |d: &&DomainDelta| d.file == finding.file;
        let domain = change.delta.domains.iter().find(of);
        let name = domain.and_then(|d| d.domain.clone()).unwrap_or_default();
        findings.push((name, finding.clone()));
    }
    for delta in &change.delta.domains {
        let Some(domain) = &delta.domain else {
            continue;
        };
        judged.domains.push(domain.clone());
        judged.operations += delta.operations.len() + usize::from(delta.purpose.is_some());
        let spec = specs.get(domain).map(String::as_str);
        let outcome = plan(change, delta, spec, spec, lines);
        for finding in outcome.findings {
            findings.push((domain.clone(), finding));
        }
    }
    for (domain, finding) in findings {
        let known = |r: &Remark| r.domain == domain && r.finding == finding;
        if judged.remarks.iter().any(known) {
            continue;
        }
        judged.remarks.push(Remark {
            requirement: requirement(change, &domain, &finding),
            openspec: openspec(finding.id),
            domain,
            finding,
        });
    }
    judged
}

fn plan(
    change: &Change,
    delta: &DomainDelta,
    base: Option<&str>,
    target: Option<&str>,
    lines: &dyn LineMerge,
) -> loopx_spec::DomainOutcome {
    let bases = Bases {
        default: base.map(str::to_owned),
        ..Bases::default()
    };
    let options = PlanOptions {
        retire: change.delta.retire,
        ..PlanOptions::default()
    };
    let domain = delta.domain.as_deref().unwrap_or_default();
    plan_domain(domain, &bases, target, delta, &options, lines)
}

/// The requirement whose operation stands at the line of the finding.
fn requirement(change: &Change, domain: &str, finding: &Finding) -> Option<String> {
    let delta = change
        .delta
        .domains
        .iter()
        .find(|d| d.domain.as_deref() == Some(domain) && d.file == finding.file)?;
    let above = delta.operations.iter().filter(|op| op.line <= finding.line);
    above.max_by_key(|op| op.line).map(|op| op.name.clone())
}

/// Describes what OpenSpec 1.13 does where this program reports a finding (reference/spec-merge.md, 1.4 to 1.8).
fn openspec(id: &str) -> Option<&'static str> {
    Some(match id {
        "missing_requirement" | "missing_scenario" => {
            "`validate` passes with an info line; `archive` refuses a MODIFIED one and only warns for a REMOVED one"
        }
        "requirement_exists" | "existing_requirement" => {
            "`validate` passes with an info line; `archive` refuses, unless the text is equal"
        }
        "purpose_replaced" => "a warning; the purpose of a spec that there is stays",
        "no_purpose" => "a placeholder, and a warning afterwards",
        "near_name" => "`validate` passes; `archive` refuses",
        "missing_domain" => "`validate` passes with an info line; `archive` refuses all but ADDED",
        "duplicate_scenario" => "accepted; the second one hides behind the first",
        "unclosed_fence" | "unclosed_comment" | "unclosed_html" => {
            "not reported; what follows is silently text"
        }
        "foreign_heading" => "an info line; the text goes with the requirement above it",
        "requirement_outside_section" => "a warning; the requirement is left out",
        _ => return None,
    })
}

/// Every pair of changes that touch one requirement, by domain and requirement.
pub fn overlaps(
    changes: &[(String, &Change)],
    specs: &BTreeMap<String, String>,
    lines: &dyn LineMerge,
) -> Vec<Overlap> {
    let mut touched: BTreeMap<(String, String), Vec<(usize, String)>> = BTreeMap::new();
    for (at, (_, change)) in changes.iter().enumerate() {
        for delta in &change.delta.domains {
            let domain = delta.domain.clone().unwrap_or_default();
            let mut names: Vec<String> = delta.touched().into_iter().map(|t| t.name).collect();
            let renamed = delta
                .operations
                .iter()
                .filter(|op| op.kind == OpKind::Renamed);
            names.extend(renamed.filter_map(|op| op.to.clone()));
            names.dedup();
            for name in names {
                let all = touched.entry((domain.clone(), fold(&name))).or_default();
                if all.last().is_none_or(|(last, _)| *last != at) {
                    all.push((at, name));
                }
            }
        }
    }
    let mut found = Vec::new();
    for ((domain, _), who) in &touched {
        for (index, (a, name)) in who.iter().enumerate() {
            for (b, _) in who.iter().skip(index + 1) {
                let (Some(one), Some(two)) = (changes.get(*a), changes.get(*b)) else {
                    continue;
                };
                found.push(Overlap {
                    domain: domain.clone(),
                    requirement: name.clone(),
                    changes: [one.0.clone(), two.0.clone()],
                    merges: merges(domain, one.1, two.1, specs, lines),
                });
            }
        }
    }
    found
}

/// Tells whether the second change still applies after the first one, in this domain.
fn merges(
    domain: &str,
    one: &Change,
    two: &Change,
    specs: &BTreeMap<String, String>,
    lines: &dyn LineMerge,
) -> Option<bool> {
    let of = |change: &'_ Change| -> Option<DomainDelta> {
        let is = |d: &&DomainDelta| d.domain.as_deref() == Some(domain);
        change.delta.domains.iter().find(is).cloned()
    };
    let (first, second) = (of(one)?, of(two)?);
    let base = specs.get(domain).map(String::as_str);
    let alone = plan(one, &first, base, base, lines);
    if !alone.is_clean() || !plan(two, &second, base, base, lines).is_clean() {
        return None;
    }
    let target = match &alone.action {
        Action::Write(text) => Some(text.as_str()),
        Action::Retire => None,
        Action::Keep => base,
    };
    Some(plan(two, &second, base, target, lines).is_clean())
}
