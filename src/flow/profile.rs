//! `profile NAME`: gives an open session another profile, and with it the stage that it goes on from.

use super::context::Context;
use super::moves::Moves;
use super::transaction::{Act, Done, Facts, Needs, act};
use super::verify::policy_at;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::op::Event;
use loopx_rules::profile::{Profile, ProfileName};
use loopx_rules::range_rules::approvals;
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::template::TemplateInput;
use loopx_spec::front::set_field;
use loopx_store::{Lines, Session};
use serde::Serialize;
use std::collections::BTreeMap;

/// Profile as a row of `profile`.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub name: ProfileName,
    pub stages: Vec<Stage>,
    pub files: Vec<Artifact>,
    /// Set when the session has this profile.
    pub current: bool,
    /// Reason why policy does not take the profile.
    pub forbidden: Option<String>,
}

/// The profiles that a session could have, the lightest first.
pub(crate) fn list(ctx: &Context) -> Result<Vec<Listed>> {
    let session = session(ctx)?;
    let policy = match &session {
        Some(session) => {
            let (policy, missing) = ctx.policy_if_there(&session.state)?;
            if let Some(missing) = missing {
                return Err(missing);
            }
            policy
        }
        None => policy_at(ctx, ctx.repo.head()?.commit.as_ref())?,
    };
    let is_current = |name: &ProfileName| {
        let state = session.as_ref().map(|session| &session.state);
        state.is_some_and(|state| state.profile == *name)
    };
    let names = policy.profiles.names().into_iter();
    names
        .map(|name| {
            let profile = policy.profiles.get(&name)?;
            Ok(Listed {
                current: is_current(&name),
                forbidden: policy.forbids(&name, &profile),
                stages: profile.stages,
                files: profile.files,
                name,
            })
        })
        .collect()
}

/// The session that is meant; where none is named and none is open here, those that could begin are listed.
fn session(ctx: &Context) -> Result<Option<Session>> {
    let store = ctx.store()?;
    let found = store
        .snapshot()
        .and_then(|snapshot| ctx.session_to_change(&snapshot));
    match found {
        Ok(session) => Ok(Some(session)),
        Err(failure) if ctx.wanted().is_some() || failure.kind == Kind::Internal => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Changes that came with another profile.
#[derive(Debug)]
pub(crate) struct Changed {
    pub before: ProfileName,
    pub from: Stage,
    /// Gates that are no more before the session.
    pub opened: Vec<Transition>,
    /// Gates that are before the session now.
    pub closed: Vec<Transition>,
}

/// Gives the session another profile. Every file is kept; what was approved and not used has to be approved again.
pub(crate) fn change(
    ctx: &Context,
    name: &ProfileName,
    reason: Option<String>,
    sign: bool,
) -> Result<Done<Changed>> {
    act(ctx, Needs::Operations, |facts| {
        let state = &facts.state;
        let profiles = &facts.policy.profiles;
        let profile = profiles
            .get(name)
            .map_err(|failure| match profiles.nearest(name) {
                Some(near) if failure.code == Code::ProfileUnknown => {
                    failure.help(command!("profile {near}"))
                }
                _ => failure,
            })?;
        require_change(facts, name, &profile)?;
        // A profile that policy does not know any more asked for nothing that anybody could compare.
        let before = profiles
            .get(&state.profile)
            .unwrap_or_else(|_| Profile::empty());
        if let Some(lacking) = profile.lacks(&before) {
            require_lighter(facts, name, &lacking, reason.as_deref())?;
        }
        let is_passed = |one: &Transition| {
            let approval = state.approvals.get(&one.key());
            one.to() <= state.stage
                && approval.is_some_and(|approval| !approval.armed && approval.transition == *one)
        };
        let passed: Vec<Transition> = Transition::ALL.into_iter().filter(is_passed).collect();
        let light = light(ctx, facts, name, &profile)?;
        let stage = match profile.stage_of(state.stage, &before, (&passed, &light)) {
            // A brief is written in the build, and what the review judges stands in it.
            Stage::Review if profile.asks(Artifact::Brief) => Stage::Build,
            stage => stage,
        };
        let was = gates_ahead(&before, state.stage);
        let is = gates_ahead(&profile, stage);
        let apart = |of: &[Transition], from: &[Transition]| {
            let rest = of.iter().filter(|one| !from.contains(one));
            rest.copied().collect()
        };
        let value = Changed {
            before: state.profile.clone(),
            from: state.stage,
            opened: apart(&was, &is),
            closed: apart(&is, &was),
        };
        let input = TemplateInput {
            id: &state.id,
            title: &state.title,
            intent: facts
                .texts
                .get(&Artifact::Intent)
                .map_or(&state.title, String::as_str),
            domains: &[],
            profile: &profile,
            language: facts.policy.artifacts.language,
        };
        let move_to = |stage: Stage| Event::Reprofiled {
            profile: name.clone(),
            stage,
            head: None,
        };
        let writes = laid_out(facts, &profile, input, stage);
        let is_open = |file: &Artifact| state.is_open(*file) || state.is_open_in(*file, stage);
        // From a review the way to the plan leads through the build, where the brief can say that its delta moved.
        let brief = Artifact::Brief;
        let is_first =
            state.stage == Stage::Review && writes.contains_key(&brief) && !is_open(&brief);
        let mut act = Act::new(move_to(stage), format!("profile {name}"), value)
            .reason(reason.clone())
            .before(is_first.then(|| (move_to(Stage::Build), brief)));
        act.writes = writes;
        act.writes
            .retain(|file, _| is_open(file) || is_first && *file == brief);
        Ok(act.word(sign))
    })
}

/// The gates behind the session that were passed with less than a profile asks for. A gate of a profile that is as heavy
/// asked for as much, in other files.
fn light(
    ctx: &Context,
    facts: &Facts<'_>,
    name: &ProfileName,
    profile: &Profile,
) -> Result<Vec<Transition>> {
    let (state, policy) = (&facts.state, &facts.policy);
    let moves = Moves::new(ctx, state, &facts.operations);
    let all = approvals::used(&state.id, &facts.operations, &Lines::of(&ctx.repo))?;
    let mut found = Vec::new();
    for used in all.iter().filter(|used| used.stands) {
        let then = policy.profiles.get(&used.profile);
        let is_as_heavy = then.is_ok_and(|then| then.lacks(profile).is_none());
        if profile.has(used.transition)
            && !is_as_heavy
            && !moves
                .lacking(used, policy, Some(name), &facts.credentials)?
                .is_empty()
        {
            found.push(used.transition);
        }
    }
    Ok(found)
}

/// The gates that a session still has before it.
fn gates_ahead(profile: &Profile, from: Stage) -> Vec<Transition> {
    let all = Transition::ALL.into_iter();
    all.filter(|one| one.is_forward() && profile.has(*one) && one.from() >= from)
        .collect()
}

/// The session is not done, its profile is another one, and policy takes the new one.
fn require_change(facts: &Facts<'_>, name: &ProfileName, profile: &Profile) -> Result<()> {
    let state = &facts.state;
    if state.profile == *name {
        return Err(Failure::nothing(
            Code::ProfileSame,
            format!("session {} has the profile {name}", state.id),
        )
        .help(command!("status")));
    }
    if state.stage == Stage::Done {
        return Err(Failure::refused(
            Code::StageMismatch,
            format!(
                "session {} is done; a profile is for what is ahead",
                state.id
            ),
        )
        .help(command!("reopen --reason WHY")));
    }
    match facts.policy.forbids(name, profile) {
        Some(why) => Err(Failure::refused(
            Code::ProfileForbidden,
            format!("policy does not take the profile {name}: {why}"),
        )
        .help(command!("profile"))),
        None => Ok(()),
    }
}

/// A person says why the session gets a lighter profile, and policy lets that person.
fn require_lighter(
    facts: &Facts<'_>,
    name: &ProfileName,
    lacking: &str,
    reason: Option<&str>,
) -> Result<()> {
    if reason.is_none() {
        return Err(Failure::usage(
            Code::ReasonRequired,
            format!(
                "{name} is lighter than {}: {lacking} is missing; that needs a reason",
                facts.state.profile
            ),
        )
        .help(command!("profile {name} --reason WHY")));
    }
    facts.require_person("a lighter profile")?;
    if facts.policy.denies(facts.actor()?) {
        return Err(Failure::refused(
            Code::ApproverDenied,
            format!(
                "policy does not let {} take a lighter profile (approve.deny in loopx.toml)",
                facts.actor()?
            ),
        )
        .help(hint![
            "ask somebody else to run: ",
            command!("profile {name} --reason WHY")
        ]));
    }
    Ok(())
}

/// The files of a session that gets another profile: those that the profile has by this stage and that are not there,
/// and the brief, where what is said of the specs moves into it or out of it.
fn laid_out(
    facts: &Facts<'_>,
    profile: &Profile,
    input: TemplateInput<'_>,
    stage: Stage,
) -> BTreeMap<Artifact, String> {
    let brief = brief::of(&facts.texts);
    // Of two files that have a delta one counts so far, and its words go on.
    let counts = brief::delta_file(&facts.texts);
    let mut writes = BTreeMap::new();
    let files = profile.files.iter().copied();
    for file in files.filter(|file| file.written_at() <= stage) {
        let delta = brief.filter(|brief| brief::has_delta(brief));
        let is_newer =
            file == Artifact::SpecDelta && counts == Some(Artifact::Brief) && delta.is_some();
        if facts.state.artifacts.contains_key(&file) && !is_newer {
            continue;
        }
        let text = match (file, delta) {
            // What the brief says of the specs is said once.
            (Artifact::SpecDelta, Some(brief)) => brief::delta(brief).trim_start().to_owned(),
            _ => file.template(input),
        };
        writes.insert(file, text);
    }
    let is_asked = profile.asks(Artifact::Brief);
    let text = match brief {
        _ if is_asked => {
            let brief = brief.map(|text| match counts {
                Some(Artifact::SpecDelta) => brief::without_delta(text),
                _ => text,
            });
            let kept = brief.map(|text| set_field(text, "delta", Artifact::Brief.path()));
            let text = kept.unwrap_or_else(|| Artifact::Brief.template(input));
            // A delta in which nothing stands would only be asked for.
            let says = facts.delta.operations > 0 || !facts.delta.blockers.is_empty();
            let delta = facts.texts.get(&Artifact::SpecDelta).filter(|_| says);
            Some(brief::with_delta(&text, delta.map_or("", String::as_str)))
        }
        Some(brief) if profile.asks(Artifact::SpecDelta) => {
            Some(brief::with_delta_elsewhere(brief))
        }
        _ => None,
    };
    // What says so already is not written again.
    if let Some(text) = text.filter(|text| brief != Some(text.as_str())) {
        writes.insert(Artifact::Brief, text);
    }
    writes
}
