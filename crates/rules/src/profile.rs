//! Profiles: the stages, files, reviews and lanes that a session of one kind has. The program's own stand in
//! `profiles.toml`; `[profiles.NAME]` of `loopx.toml` changes them or adds others, in the same form.
//!
//! Knows nothing of a session: who has which profile is in [`super::session`], what a gate makes of it in
//! [`super::gate`]. Source: design 4, "Profiles".

use super::artifact::Artifact;
use super::op::{Lane, PlanLane};
use super::stage::{Stage, Transition};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// The name of a profile: `a-z`, `0-9` and `-`, at most 32.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProfileName(String);

/// The longest name.
const MAX_NAME: usize = 32;
/// Keys of `[profiles]` beside profiles.
const RESERVED: [&str; 2] = ["allowed", "demand"];

impl ProfileName {
    pub fn parse(text: &str) -> Result<Self> {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        let is_name = !text.is_empty()
            && text.len() <= MAX_NAME
            && !text.starts_with('-')
            && text.bytes().all(plain)
            && !RESERVED.contains(&text);
        if is_name {
            Ok(ProfileName(text.to_owned()))
        } else {
            Err(Failure::usage(
                Code::ProfileUnknown,
                format!(
                    "expected the name of a profile like `lite` (a-z, 0-9, -; at most {MAX_NAME}), found `{text}`"
                ),
            ))
        }
    }

    pub fn quick() -> Self {
        ProfileName("quick".to_owned())
    }

    pub fn lite() -> Self {
        ProfileName("lite".to_owned())
    }

    pub fn standard() -> Self {
        ProfileName("standard".to_owned())
    }

    pub fn deep() -> Self {
        ProfileName("deep".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether programs before profiles knew the name: all sessions of those programs begin with clarify.
    pub fn is_first(&self) -> bool {
        ["standard", "deep"].contains(&self.as_str())
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ProfileName> for String {
    fn from(name: ProfileName) -> String {
        name.0
    }
}

impl TryFrom<String> for ProfileName {
    type Error = Failure;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

/// Profile: what its sessions have.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Stages in their order; the last three are always build, review and done.
    pub stages: Vec<Stage>,
    /// The files that somebody writes, which its gates want.
    pub files: Vec<Artifact>,
    /// Level-2 headings below which something must stand.
    pub sections: BTreeMap<Artifact, Vec<String>>,
    /// Front matter fields that must be true.
    pub flags: BTreeMap<Artifact, Vec<String>>,
    /// Lanes that review the plan before it can be approved.
    pub reviews: Vec<PlanLane>,
    /// The lanes of the build that policy can ask for.
    pub lanes: Vec<Lane>,
    /// The highest ambiguity score that passes clarify.
    pub ambiguity: f64,
    /// The rounds of clarify before somebody raises the cap.
    pub rounds: u32,
}

/// A profile as a file has it: what is left out comes from the one that it extends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<ProfileName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<Stage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<Artifact>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<BTreeMap<Artifact, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<BTreeMap<Artifact, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<Vec<PlanLane>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Vec<Lane>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ambiguity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

/// `[profiles]` of `loopx.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profiles {
    /// Profiles that are taken although they lack what policy asks something of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<ProfileName>,
    /// Path patterns of the code, each with the profile that a change of such a path needs at least.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub demand: BTreeMap<String, ProfileName>,
    #[serde(flatten)]
    pub written: BTreeMap<ProfileName, Written>,
}

/// Depth to which profiles may extend each other.
const MAX_EXTENDS: usize = 8;

/// The profiles that the program brings.
static BUILT_IN: LazyLock<BTreeMap<ProfileName, Profile>> = LazyLock::new(|| {
    let written: BTreeMap<ProfileName, Written> =
        toml::from_str(include_str!("profiles.toml")).unwrap_or_default();
    let all = Profiles {
        written,
        ..Profiles::default()
    };
    let names = all.written.keys().cloned();
    let found = names.filter_map(|name| Some((name.clone(), all.resolve(&name, None).ok()?)));
    found.collect()
});

impl Profiles {
    /// Every profile: the program's, changed and added to.
    pub fn names(&self) -> Vec<ProfileName> {
        let mut names: Vec<ProfileName> = BUILT_IN.keys().cloned().collect();
        names.extend(self.written.keys().cloned());
        names.sort();
        names.dedup();
        names.sort_by_key(|name| self.get(name).map_or(usize::MAX, |one| one.stages.len()));
        names
    }

    /// The profile of a name.
    pub fn get(&self, name: &ProfileName) -> Result<Profile> {
        if !self.written.contains_key(name)
            && let Some(known) = BUILT_IN.get(name)
        {
            return Ok(known.clone());
        }
        self.resolve(name, Some(&BUILT_IN))
    }

    /// Fault of the table, as a sentence.
    pub fn fault(&self) -> Option<String> {
        let written = self.written.keys().map(|name| ("", name));
        let allowed = self.allowed.iter().map(|name| ("profiles.allowed: ", name));
        let demand = self.demand.values().map(|name| ("profiles.demand: ", name));
        let mut all = written.chain(allowed).chain(demand);
        all.find_map(|(key, name)| Some(format!("{key}{}", self.get(name).err()?.message)))
    }

    fn resolve(
        &self,
        name: &ProfileName,
        base: Option<&BTreeMap<ProfileName, Profile>>,
    ) -> Result<Profile> {
        let mut chain: Vec<&Written> = Vec::new();
        let mut seen: Vec<ProfileName> = Vec::new();
        let mut at = name.clone();
        let mut profile = loop {
            let built_in = base.and_then(|all| all.get(&at));
            let Some(written) = self.written.get(&at) else {
                break match built_in {
                    Some(profile) => profile.clone(),
                    None => return Err(self.unknown(&at)),
                };
            };
            if seen.contains(&at) {
                return Err(extends_itself(name, &at));
            }
            seen.push(at.clone());
            if chain.len() == MAX_EXTENDS {
                return Err(Failure::usage(
                    Code::PolicyInvalid,
                    format!(
                        "profiles.{name}.extends: expected at most {MAX_EXTENDS} profiles in a row, found more"
                    ),
                ));
            }
            chain.push(written);
            match (&written.extends, built_in) {
                (Some(next), _) if *next != at => at = next.clone(),
                // A table with a name of the program's changes that profile.
                (_, Some(profile)) => break profile.clone(),
                (Some(_), None) => {
                    return Err(extends_itself(name, &at));
                }
                (None, None) => match base.and_then(|all| all.get(&ProfileName::standard())) {
                    Some(profile) => break profile.clone(),
                    None => break Profile::empty(),
                },
            }
        };
        for written in chain.into_iter().rev() {
            profile.change(written);
        }
        profile.check(name)?;
        Ok(profile)
    }

    /// The refusal of a name that no profile has.
    pub fn unknown(&self, name: &ProfileName) -> Failure {
        let known: Vec<&str> = self.known().collect();
        Failure::usage(
            Code::ProfileUnknown,
            format!(
                "no profile is named `{name}`; there are {}",
                known.join(", ")
            ),
        )
        .help(command!("profile"))
    }

    /// The profile whose name is nearest to a mistyped one.
    pub fn nearest(&self, name: &ProfileName) -> Option<String> {
        loopx_base::nearest(name.as_str(), self.known()).map(str::to_owned)
    }

    /// The names of all profiles, also of those that cannot be resolved.
    fn known(&self) -> impl Iterator<Item = &str> {
        let written = self.written.keys();
        let added = written.filter(|name| !BUILT_IN.contains_key(*name));
        BUILT_IN.keys().chain(added).map(ProfileName::as_str)
    }
}

impl Profile {
    /// A profile that asks for nothing.
    pub fn empty() -> Self {
        Profile {
            stages: Vec::new(),
            files: Vec::new(),
            sections: BTreeMap::new(),
            flags: BTreeMap::new(),
            reviews: Vec::new(),
            lanes: Vec::new(),
            ambiguity: 0.2,
            rounds: 15,
        }
    }

    fn change(&mut self, written: &Written) {
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(from) = from {
                *to = from.clone();
            }
        }
        set(&mut self.stages, &written.stages);
        set(&mut self.files, &written.files);
        set(&mut self.reviews, &written.reviews);
        set(&mut self.lanes, &written.lanes);
        set(&mut self.ambiguity, &written.ambiguity);
        set(&mut self.rounds, &written.rounds);
        for (to, from) in [
            (&mut self.sections, &written.sections),
            (&mut self.flags, &written.flags),
        ] {
            for (artifact, names) in from.iter().flatten() {
                to.insert(*artifact, names.clone());
            }
        }
    }

    fn check(&self, name: &ProfileName) -> Result<()> {
        let invalid = |what: &str| {
            Err(Failure::usage(
                Code::PolicyInvalid,
                format!("profiles.{name}.{what}"),
            ))
        };
        if !self.stages.is_sorted() || self.stages.windows(2).any(|two| two[0] == two[1]) {
            return invalid(
                "stages: expected them in the order clarify, plan, build, review, done",
            );
        }
        if !self
            .stages
            .ends_with(&[Stage::Build, Stage::Review, Stage::Done])
        {
            return invalid("stages: expected build, review and done at the end");
        }
        if self.has_stage(Stage::Clarify) && !self.has_stage(Stage::Plan) {
            return invalid("stages: clarify leads to plan, which is not among them");
        }
        let early = self
            .files
            .iter()
            .find(|file| !self.has_stage(file.written_at()));
        if let Some(file) = early {
            return invalid(&format!(
                "files: {file} is written in {}, which is not among the stages",
                file.written_at()
            ));
        }
        if self.has_stage(Stage::Clarify) && !self.asks(Artifact::Spec) {
            return invalid("files: clarify needs spec.md");
        }
        if !self.reviews.is_empty() && !self.has_stage(Stage::Plan) {
            return invalid("reviews: there is no plan to review");
        }
        Ok(())
    }

    pub fn has_stage(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    /// Stage at which sessions of the profile begin.
    pub fn first(&self) -> Stage {
        self.stages.first().copied().unwrap_or(Stage::Clarify)
    }

    /// Tells whether somebody has to write the file.
    pub fn asks(&self, artifact: Artifact) -> bool {
        self.files.contains(&artifact)
    }

    /// The files that are written from a stage on.
    pub fn files_of(&self, stage: Stage) -> impl Iterator<Item = Artifact> + '_ {
        let files = self.files.iter().copied();
        files.filter(move |file| file.written_at() == stage)
    }

    /// The sections of a file that must hold something.
    pub fn sections_of(&self, artifact: Artifact) -> &[String] {
        self.sections.get(&artifact).map_or(&[], Vec::as_slice)
    }

    /// Front matter fields of a file that must be true.
    pub fn flags_of(&self, artifact: Artifact) -> &[String] {
        self.flags.get(&artifact).map_or(&[], Vec::as_slice)
    }

    /// Tells whether the profile begins after clarify: its sessions ask for little, and little is typed.
    pub fn is_light(&self) -> bool {
        !self.has_stage(Stage::Clarify)
    }

    /// Tells whether sessions of the profile can make a move.
    pub fn has(&self, transition: Transition) -> bool {
        self.has_stage(transition.from()) && self.has_stage(transition.to())
    }

    /// Names what the profile lacks of another one; nothing where it asks for as much.
    pub fn lacks(&self, of: &Profile) -> Option<String> {
        fn first<T: PartialEq + Copy>(own: &[T], other: &[T]) -> Option<T> {
            other.iter().copied().find(|one| !own.contains(one))
        }
        if let Some(stage) = first(&self.stages, &of.stages) {
            return Some(format!("the stage {stage}"));
        }
        if let Some(lane) = first(&self.reviews, &of.reviews) {
            return Some(format!("the {lane}'s review of the plan"));
        }
        if let Some(lane) = first(&self.lanes, &of.lanes) {
            return Some(format!("the {lane} lane of the build"));
        }
        // A file is there for a statement: quick's brief says what lite's plan and tasks say, and no more is asked
        // of it than is asked by stages and reviews.
        let same_stages = self.stages == of.stages;
        if let Some(file) = first(&self.files, &of.files).filter(|_| same_stages) {
            return Some(format!("the file {file}"));
        }
        for (own, other, what) in [
            (&self.sections, &of.sections, "the section"),
            (&self.flags, &of.flags, "the field"),
        ] {
            let asked = other
                .iter()
                .filter(|(file, _)| same_stages && of.asks(**file));
            for (file, names) in asked {
                let known = own.get(file).map_or(&[][..], Vec::as_slice);
                if let Some(name) = names.iter().find(|name| !known.contains(name)) {
                    return Some(format!("{what} {name} of {file}"));
                }
            }
        }
        let clarifies = of.has_stage(Stage::Clarify);
        (clarifies && self.ambiguity > of.ambiguity)
            .then(|| format!("ambiguity of at most {}", of.ambiguity))
    }

    /// The stage of a session that gets this profile: as it is, or the first one that it has not been through.
    /// `passed` are the gates that somebody opened and that still stand; `light` those that were passed with less than this
    /// profile asks for.
    pub fn stage_of(
        &self,
        now: Stage,
        before: &Profile,
        (passed, light): (&[Transition], &[Transition]),
    ) -> Stage {
        let skipped = self.stages.iter().copied().find(|stage| {
            let forward = Transition::ALL
                .into_iter()
                .find(|one| one.from() == *stage && one.is_forward());
            let is_in = |all: &[Transition]| forward.is_some_and(|forward| all.contains(&forward));
            *stage < now && (is_in(light) || !before.has_stage(*stage) && !is_in(passed))
        });
        let here = self.stages.iter().copied().find(|stage| *stage >= now);
        skipped.or(here).unwrap_or(now)
    }
}

fn extends_itself(name: &ProfileName, at: &ProfileName) -> Failure {
    Failure::usage(
        Code::PolicyInvalid,
        format!(
            "profiles.{name}.extends: expected another profile, found that `{at}` extends itself"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Profile, ProfileName, Profiles, Written};
    use crate::artifact::Artifact;
    use crate::stage::{Stage, Transition};

    fn built_in(name: &str) -> Profile {
        let name = ProfileName::parse(name).expect("a name");
        Profiles::default().get(&name).expect("a profile")
    }

    fn read(text: &str) -> Profiles {
        toml::from_str(text).expect("profiles")
    }

    #[test]
    fn the_programs_own_table_has_the_four_profiles_of_the_design() {
        let names: Vec<&str> = BUILT_IN.keys().map(ProfileName::as_str).collect();
        assert_eq!(names, ["deep", "lite", "quick", "standard"]);
        for (name, first, files) in [
            ("quick", Stage::Build, 1),
            ("lite", Stage::Plan, 3),
            ("standard", Stage::Clarify, 12),
            ("deep", Stage::Clarify, 12),
        ] {
            let profile = built_in(name);
            assert_eq!(
                (profile.first(), profile.files.len()),
                (first, files),
                "{name}"
            );
        }
        assert_eq!(built_in("deep").ambiguity, 0.1);
        assert_eq!(built_in("deep").rounds, 25);
    }

    #[test]
    fn an_own_profile_takes_what_it_leaves_out_from_the_one_that_it_extends() {
        let own = read(
            "[hotfix]\nextends = \"quick\"\n[hotfix.sections]\n\"brief.md\" = [\"Why\", \"Impact\"]\n[lite]\nreviews = [\"critic\"]\n",
        );
        let hotfix = own
            .get(&ProfileName::parse("hotfix").expect("a name"))
            .expect("hotfix");
        assert_eq!(hotfix.stages, built_in("quick").stages);
        assert_eq!(hotfix.sections_of(Artifact::Brief), ["Why", "Impact"]);
        let lite = own.get(&ProfileName::lite()).expect("lite");
        assert_eq!((lite.reviews.len(), lite.files.len()), (1, 3));
        assert_eq!(own.fault(), None);
    }

    #[test]
    fn a_profile_that_cannot_work_is_refused_with_what_is_wrong() {
        for (text, said) in [
            (
                "[x]\nextends = \"y\"\n[y]\nextends = \"x\"\n",
                "extends itself",
            ),
            ("[x]\nextends = \"x\"\n", "extends itself"),
            (
                "[x]\nextends = \"nothing\"\n",
                "no profile is named `nothing`",
            ),
            ("[x]\nstages = [\"plan\", \"build\"]\n", "at the end"),
            (
                "[x]\nstages = [\"build\", \"plan\", \"review\", \"done\"]\n",
                "in the order",
            ),
            (
                "[x]\nstages = [\"build\", \"review\", \"done\"]\n",
                "which is not among the stages",
            ),
            (
                "demand = { \"src/**\" = \"huge\" }\n",
                "no profile is named `huge`",
            ),
        ] {
            let fault = read(text).fault().unwrap_or_default();
            assert!(fault.contains(said), "{text}: {fault}");
        }
        assert!(toml::from_str::<Profiles>("[x]\nstage = []\n").is_err());
    }

    #[test]
    fn a_profile_lacks_what_a_heavier_one_asks_for() {
        for (light, heavy) in [
            ("quick", "lite"),
            ("quick", "standard"),
            ("lite", "standard"),
            ("standard", "deep"),
        ] {
            assert!(
                built_in(light).lacks(&built_in(heavy)).is_some(),
                "{light} {heavy}"
            );
            assert_eq!(
                built_in(heavy).lacks(&built_in(light)),
                None,
                "{heavy} {light}"
            );
        }
        let same = Written::default();
        let mut profile = built_in("lite");
        profile.change(&same);
        assert_eq!(profile.lacks(&built_in("lite")), None);
    }

    #[test]
    fn a_session_that_is_lifted_goes_back_to_the_first_stage_that_it_missed() {
        let all = [Transition::ClarifyToPlan, Transition::PlanToBuild];
        for (from, to, now, passed, then) in [
            ("quick", "standard", Stage::Build, &all[..0], Stage::Clarify),
            ("quick", "lite", Stage::Review, &all[..0], Stage::Plan),
            ("lite", "standard", Stage::Plan, &all[..0], Stage::Clarify),
            ("standard", "quick", Stage::Clarify, &all[..0], Stage::Build),
            ("standard", "lite", Stage::Clarify, &all[..0], Stage::Plan),
            ("standard", "quick", Stage::Build, &all[..], Stage::Build),
            ("quick", "standard", Stage::Build, &all[..], Stage::Build),
            ("standard", "deep", Stage::Build, &all[..], Stage::Build),
        ] {
            let stage = built_in(to).stage_of(now, &built_in(from), (passed, &[]));
            assert_eq!(stage, then, "{from} -> {to} in {now}");
        }
        let light = [Transition::PlanToBuild];
        let stage = built_in("deep").stage_of(Stage::Review, &built_in("standard"), (&all, &light));
        assert_eq!(stage, Stage::Plan);
    }
}
