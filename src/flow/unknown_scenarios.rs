//! Slices that name scenarios which are nowhere.

use super::context::Context;
use super::delta::{Target, spec_path};
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::command;
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack;
use loopx_rules::coverage;
use loopx_rules::policy::Policy;
use loopx_rules::texts::Texts;
use loopx_spec::{Delta, fold, read_spec};
use std::collections::BTreeSet;

/// Slices that serve what nobody promised: archive would find nothing to prove by them, and the scenario that
/// was meant without a slice.
pub(super) fn of(
    ctx: &Context,
    policy: &Policy,
    target: &Target,
    delta: &Delta,
    texts: &Texts,
) -> Result<Vec<Blocker>> {
    let slices = change_pack::slices(texts.get(&Artifact::Slices).map(String::as_str));
    let mut known = coverage::scenarios(delta);
    let mut read: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for slice in slices.unwrap_or_default() {
        for name in &slice.scenarios {
            let is_known = |known: &[String]| known.iter().any(|one| fold(one) == fold(name));
            let domain = name.split('/').next().unwrap_or_default();
            if !is_known(&known) && is_domain(domain) && read.insert(domain.to_owned()) {
                known.extend(accepted(ctx, policy, target, domain)?);
            }
            if is_known(&known) {
                continue;
            }
            let mut message = format!(
                "{}: slice {} serves the scenario `{name}`, which neither the delta nor the specs have",
                Artifact::Slices.path(),
                slice.id
            );
            if let Some(near) = loopx_base::nearest(name, known.iter().map(String::as_str)) {
                message.push_str(&format!("; there is `{near}`"));
            }
            let edit = command!("edit slices.json");
            found.push(Blocker::new(Code::VerticalSlicesInvalid, message, edit));
        }
    }
    Ok(found)
}

fn is_domain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

/// The scenarios that the specs of the target have of a domain.
fn accepted(ctx: &Context, policy: &Policy, target: &Target, domain: &str) -> Result<Vec<String>> {
    let path = spec_path(policy, domain);
    let Some(bytes) = target.bytes(ctx, &path)? else {
        return Ok(Vec::new());
    };
    let Ok(spec) = read_spec(&bytes, &path) else {
        return Ok(Vec::new());
    };
    let of_requirements = spec.requirements.iter().flat_map(|one| {
        let scenarios = one.scenarios.iter();
        scenarios.map(move |scenario| format!("{domain}/{}/{}", one.name, scenario.name))
    });
    Ok(of_requirements.collect())
}
