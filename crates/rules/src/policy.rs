//! `loopx.toml`: the shared policy, typed. What becomes of a key that is not known is said in [`unknown`].
//!
//! Which version of the file counts (the base's, never the change's) is decided by the caller.

mod checks;
mod fault;
pub mod schema;
mod signing;
mod sound;
pub mod unknown;

use super::issue::needs::{ResolveNeed, TakeNeed};
use super::op::Lane;
use super::profile::{Profile, ProfileName, Profiles};
use super::stage::{Stage, Transition};
pub use checks::CheckPolicy;
use loopx_base::failure::Result;
use loopx_base::globs::Globs;
use loopx_base::id::Person;
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
pub use sound::is_inside;
use std::collections::{BTreeMap, BTreeSet};
use unknown::UnknownKey;

/// The file's name at the top of the code branch.
pub const FILE: &str = "loopx.toml";

/// Policy: all that a team can decide together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    pub paths: Paths,
    pub gates: Gates,
    pub approve: Approve,
    pub review: ReviewPolicy,
    pub build: BuildPolicy,
    pub checks: BTreeMap<String, CheckPolicy>,
    pub archive: ArchivePolicy,
    pub evidence: EvidencePolicy,
    pub intent: IntentPolicy,
    pub context: ContextPolicy,
    pub landing: LandingPolicy,
    pub changelog: ChangelogPolicy,
    pub artifacts: ArtifactPolicy,
    pub secrets: SecretPolicy,
    pub start: StartPolicy,
    pub backlog: BacklogPolicy,
    pub profiles: Profiles,
    pub rules: RulesPolicy,
    pub policy: OwnPolicy,
    #[serde(skip)]
    pub trust: Trust,
    /// Keys that the file sets and this program passes over.
    #[serde(skip)]
    pub unknown: Vec<UnknownKey>,
}

/// Rules for issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BacklogPolicy {
    /// The beginning of the ids of new issues.
    pub prefix: String,
    /// Kinds beside those that every backlog has.
    pub kinds: Vec<String>,
    /// The most issues that one person may have in hand; 0 is no limit.
    pub wip: u32,
    /// The most issues in hand at once, by label, or by person as `@address`; 0 is no limit.
    pub limits: BTreeMap<String, u32>,
    /// The statuses that a status may come after; any where nothing is said of it.
    pub follows: BTreeMap<crate::issue::Status, Vec<crate::issue::Status>>,
    /// Needs of an issue before somebody begins it.
    pub take: Vec<TakeNeed>,
    /// Needs of an issue before a person's word resolves it.
    pub resolve: Vec<ResolveNeed>,
}

impl Default for BacklogPolicy {
    fn default() -> Self {
        BacklogPolicy {
            prefix: crate::issue::IssueId::PREFIX.to_owned(),
            kinds: Vec::new(),
            wip: 0,
            limits: BTreeMap::new(),
            follows: BTreeMap::new(),
            take: Vec::new(),
            resolve: Vec::new(),
        }
    }
}

/// Rules for the beginning of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartPolicy {
    /// The profile of a session that names none; the lightest that policy does not forbid where nothing is said.
    pub profile: Option<ProfileName>,
}

/// A path that wants a heavier profile than a session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub path: String,
    pub profile: ProfileName,
    /// Stage, review or file that the session's profile lacks.
    pub lacking: String,
}

impl Demand {
    pub fn sentence(&self, has: &ProfileName) -> String {
        let Demand {
            path,
            profile,
            lacking,
        } = self;
        format!(
            "`{path}` needs the profile {profile}, and the session has {has}, which lacks {lacking}"
        )
    }
}

/// Paths for which policy demands a profile.
#[derive(Clone, Debug)]
pub struct Demanded(Globs);

impl Demanded {
    /// Tells whether policy demands a profile for a path. A file system may fold letter case, and a file or a link may
    /// take the place of a folder whose content is meant.
    pub fn has(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        self.0.matches(&path) || self.0.matches(&format!("{path}/x"))
    }
}

/// Rules for reading the file itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnPolicy {
    /// Set when a key that is not known is refused wherever it stands.
    pub strict: bool,
}

/// People whom the policy trusts, from the same commit as the policy: never from the change that is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The file of the keys that people sign with, where there is one.
    pub signers: Option<Vec<u8>>,
    pub revoked: Option<Vec<u8>>,
    pub mailmap: Option<Vec<u8>>,
}

/// Rules for what a push lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretPolicy {
    /// Texts that look like a credential and are none: `FINGERPRINT REASON`.
    pub allow: Vec<String>,
}

/// Places of results on the code branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    pub specs: String,
    pub adr: String,
    pub pipelines: String,
    pub prompts: String,
    pub templates: String,
    pub rules: String,
}

impl Paths {
    /// Takes away what people type around the name of a folder, as shells complete it: `./docs/adr/`.
    fn tidy(&mut self) {
        for path in [
            &mut self.specs,
            &mut self.adr,
            &mut self.pipelines,
            &mut self.prompts,
            &mut self.templates,
            &mut self.rules,
        ] {
            let bare = path.strip_prefix("./").unwrap_or(path);
            let bare = bare.trim_end_matches('/').to_owned();
            if !bare.is_empty() {
                *path = bare;
            }
        }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Paths {
            specs: "specs".into(),
            adr: "docs/adr".into(),
            pipelines: "loopx/pipelines".into(),
            prompts: "loopx/prompts".into(),
            templates: "loopx/templates".into(),
            rules: "docs/rules".into(),
        }
    }
}

/// Rules of hooks and `verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// Answer of each stage to a commit that changes code.
    pub stages: StageGates,
    /// Paths that every stage may commit.
    pub always_allow: Vec<String>,
    /// A path outside the declared scope of a build.
    pub out_of_scope: Strictness,
    /// A path that no task names which whoever commits has.
    pub task_files: Strictness,
    /// Branches that take a push only when the session is done and the approval covers the tree.
    pub protected: Vec<String>,
    /// The branch that results go to: what it has is no session's own. Found by itself where nothing is said.
    pub target: Option<String>,
}

impl Default for Gates {
    fn default() -> Self {
        Gates {
            stages: StageGates::default(),
            always_allow: ["specs/**", "docs/**", "*.md", "loopx.toml"]
                .map(String::from)
                .to_vec(),
            out_of_scope: Strictness::Warn,
            task_files: Strictness::Allow,
            protected: Vec::new(),
            target: None,
        }
    }
}

/// Answer of each stage to a commit that changes more than `always_allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StageGates {
    pub clarify: Strictness,
    pub plan: Strictness,
    pub build: Strictness,
    pub review: Strictness,
    pub done: Strictness,
}

impl Default for StageGates {
    fn default() -> Self {
        StageGates {
            clarify: Strictness::Refuse,
            plan: Strictness::Refuse,
            build: Strictness::Allow,
            review: Strictness::Refuse,
            done: Strictness::Refuse,
        }
    }
}

impl StageGates {
    pub fn at(&self, stage: Stage) -> Strictness {
        match stage {
            Stage::Clarify => self.clarify,
            Stage::Plan => self.plan,
            Stage::Build => self.build,
            Stage::Review => self.review,
            Stage::Done => self.done,
        }
    }
}

vocabulary!(
    /// Answer of policy to a commit.
    Strictness { Allow = "allow", Warn = "warn", Refuse = "refuse" }
);

/// Rules for approvals and for who may give them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Approve {
    /// Globs over `Name <email>`: identities (agents) that cannot approve.
    pub deny: Vec<String>,
    /// Hosts of agents, as `claude`, whose commands may give a person's word: approvals, verdicts, waivers.
    pub agents: Vec<String>,
    /// Distinct people that a transition needs, 1 where nothing is said.
    pub required: BTreeMap<Transition, u32>,
    /// Transitions whose approvals count only when they are signed.
    pub signed: BTreeSet<Transition>,
    /// Transitions whose approvals are signed with a security key that somebody touched.
    pub touched: BTreeSet<Transition>,
    /// Transitions whose approvers took no part in the range or the build.
    pub independent: BTreeSet<Transition>,
    /// People of each role: globs over `Name <email>`.
    pub roles: BTreeMap<String, Vec<String>>,
    /// The roles whose signed word stands for a signed word that was taken back.
    pub take_back: Vec<String>,
    /// The roles that may approve a transition; everybody where nothing is said.
    pub by: BTreeMap<Transition, Vec<String>>,
    /// The file of the keys that people sign with, in the format of ssh-keygen's allowed signers.
    pub signers: String,
    /// The file of keys that count no more: public keys, or a KRL of ssh-keygen.
    pub revoked: String,
}

impl Default for Approve {
    fn default() -> Self {
        Approve {
            deny: Vec::new(),
            agents: Vec::new(),
            required: BTreeMap::new(),
            signed: BTreeSet::new(),
            touched: BTreeSet::new(),
            independent: BTreeSet::new(),
            roles: BTreeMap::new(),
            take_back: Vec::new(),
            by: BTreeMap::new(),
            signers: "loopx.signers".to_owned(),
            revoked: "loopx.revoked".to_owned(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewPolicy {
    pub independence: Independence,
    /// A verdict counts only when it is signed.
    pub signed: bool,
}

vocabulary!(
    /// Treatment of a reviewer who wrote part of what is reviewed.
    #[derive(Default)]
    Independence {
        /// Record it, and say so in every view: a single developer must be able to work.
        #[default]
        Record = "record",
        Require = "require",
        /// Required, and only keys count: whoever committed or built is proven by a signature.
        Signed = "signed",
    }
);

impl Independence {
    /// Tells whether a dependent review is refused.
    pub fn is_required(self) -> bool {
        self != Independence::Record
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildPolicy {
    /// Lanes that must be reported before a build can be handed to review.
    pub lanes: Vec<Lane>,
    /// Set when a build needs a `--kind regression` run that passed.
    pub regression: bool,
}

impl Default for BuildPolicy {
    fn default() -> Self {
        BuildPolicy {
            lanes: vec![Lane::Execution],
            regression: false,
        }
    }
}

/// Demands of an archive besides the gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchivePolicy {
    pub evidence: EvidenceRule,
}

/// Demands on the statements of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IntentPolicy {
    /// Rule that each statement has to be cited or deferred, where the profile clarifies the request.
    pub coverage: EvidenceRule,
    /// Rule that a broad request has to have a contract before it is built.
    pub contract: EvidenceRule,
}

/// Demands on the context manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextPolicy {
    /// Rule that a missing file which has to be read holds the stage, where the profile clarifies the request.
    pub manifest: EvidenceRule,
}

/// Rules for the runs that count for a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidencePolicy {
    /// Roles of `approve.roles`, whose key signs the record; everybody, signed or not, where none is named.
    pub by: Vec<String>,
}

/// Commits that land on a protected branch besides those that were reviewed for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandingPolicy {
    /// Protected branches whose commits may be picked, or merged, onto others. One that is not protected
    /// lends nothing.
    pub backport: Vec<String>,
    /// Keys whose signed commits land without a session, and the paths where they may.
    pub exception: Vec<LandingException>,
}

/// Paths that a key may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandingException {
    pub paths: Vec<String>,
    /// A public key as OpenSSH writes it, its comment left out or not.
    pub key: String,
}

/// Rules for documents of rules: what they may say, and how much of them is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RulesPolicy {
    /// Categories besides those of the program.
    pub categories: Vec<String>,
    /// The most bytes that are read to somebody; 0 is all of them.
    pub budget: u64,
}

impl Default for RulesPolicy {
    fn default() -> Self {
        RulesPolicy {
            categories: Vec::new(),
            budget: 32 * 1024,
        }
    }
}

/// Rules for what archive says of a change besides the specs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangelogPolicy {
    /// The folder that gets a fragment for each session; none is written where it is empty.
    pub fragments: String,
}

vocabulary!(
    /// Treatment of a scenario that no passing run proves.
    #[derive(Default)]
    EvidenceRule {
        /// Archive refuses it, unless somebody waives it by name and says why.
        #[default]
        Require = "require",
        /// `spec coverage` shows it, and archive takes it.
        Off = "off",
    }
);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactPolicy {
    pub language: Language,
    /// The largest artifact, in bytes.
    pub max_bytes: u64,
}

impl Default for ArtifactPolicy {
    fn default() -> Self {
        ArtifactPolicy {
            language: Language::Off,
            max_bytes: 1024 * 1024,
        }
    }
}

vocabulary!(
    /// Language of templates, and of what the plan is checked for.
    Language { Off = "off", Zh = "zh" }
);

impl Policy {
    /// Reads the file; `label` names it in errors.
    pub fn parse(text: &str, label: &str) -> Result<Self> {
        let mut policy = match toml::from_str::<Policy>(text) {
            Ok(policy) => policy,
            Err(error) => unknown::read(text, label, &error)?,
        };
        policy.paths.tidy();
        match policy.check() {
            Ok(()) => Ok(policy),
            Err(fault) => Err(fault.placed(text, label)),
        }
    }

    /// Warnings about keys that are passed over.
    pub fn warnings(&self) -> Vec<String> {
        self.unknown.iter().map(UnknownKey::warning).collect()
    }

    /// The paths that every stage may commit.
    pub fn allowed(&self) -> Result<Globs> {
        Globs::of_files(&self.gates.always_allow)
    }

    /// The paths of results that archive writes, besides those that every stage may commit.
    pub fn results(&self) -> Result<Globs> {
        let mut patterns = self.gates.always_allow.clone();
        patterns.extend(self.result_patterns());
        Globs::of_files(&patterns)
    }

    /// The paths of results that archive writes, and no others.
    pub fn archived(&self) -> Result<Globs> {
        Globs::of_files(&self.result_patterns())
    }

    fn result_patterns(&self) -> Vec<String> {
        let fragments = &self.changelog.fragments;
        let dirs = [&self.paths.specs, &self.paths.adr, fragments];
        let dirs = dirs.into_iter().filter(|dir| !dir.is_empty());
        dirs.map(|dir| format!("{dir}/**")).collect()
    }

    /// Tells whether a branch takes only what is done: by its name, or by a pattern with `*`. A file system that folds
    /// letter case has one file for two names.
    pub fn protects(&self, branch: &str) -> bool {
        let folded = branch.to_lowercase();
        self.gates.protected.iter().any(|pattern| {
            pattern.to_lowercase() == folded
                || pattern.contains('*')
                    && globset::GlobBuilder::new(pattern)
                        .literal_separator(true)
                        .case_insensitive(true)
                        .build()
                        .is_ok_and(|glob| glob.compile_matcher().is_match(branch))
        })
    }

    fn denied(&self) -> Result<Globs> {
        Globs::in_any_case(&self.approve.deny)
    }

    /// Tells whether policy bars this person from approving.
    pub fn denies(&self, person: &Person) -> bool {
        self.denied()
            .is_ok_and(|globs| is_named(&globs, std::slice::from_ref(person)))
    }

    /// Words what policy asks for and a profile lacks, as a sentence; nothing where the profile is taken.
    pub fn forbids(&self, name: &ProfileName, profile: &Profile) -> Option<String> {
        if self.profiles.allowed.contains(name) {
            return None;
        }
        let forward = Transition::ALL.into_iter().filter(|one| one.is_forward());
        for transition in forward.filter(|one| !profile.has(*one)) {
            if let Some(key) = self.asks_of(transition) {
                return Some(format!(
                    "{key} is a rule for {transition}, and the profile {name} does not have this transition"
                ));
            }
        }
        if !self.evidence.by.is_empty() && !profile.has_stage(Stage::Plan) {
            return Some(format!(
                "evidence.by counts runs of checks that an approved plan names, and the profile {name} has no plan"
            ));
        }
        let usual = BuildPolicy::default().lanes;
        let mut lanes = self.build.lanes.iter();
        let lane = lanes.find(|lane| !usual.contains(lane) && !profile.lanes.contains(lane))?;
        Some(format!(
            "build.lanes asks for the lane {lane}, which the profile {name} lacks"
        ))
    }

    /// The key that asks something of a transition.
    fn asks_of(&self, transition: Transition) -> Option<&'static str> {
        let approve = &self.approve;
        let asked = [
            ("approve.required", self.required(transition) > 1),
            ("approve.signed", approve.signed.contains(&transition)),
            ("approve.touched", approve.touched.contains(&transition)),
            (
                "approve.independent",
                approve.independent.contains(&transition),
            ),
            ("approve.by", approve.by.contains_key(&transition)),
        ];
        let mut asked = asked.into_iter();
        asked.find(|(_, asks)| *asks).map(|(key, _)| key)
    }

    /// The profile of a session that names none.
    pub fn default_profile(&self) -> Result<ProfileName> {
        if let Some(name) = &self.start.profile {
            return Ok(name.clone());
        }
        for name in [ProfileName::lite(), ProfileName::standard()] {
            if self.forbids(&name, &self.profiles.get(&name)?).is_none() {
                return Ok(name);
            }
        }
        Ok(ProfileName::standard())
    }

    /// The profile that a change of these paths needs at least, where `profile` lacks something of it.
    pub fn demands(&self, profile: &Profile, paths: &[String]) -> Result<Option<Demand>> {
        for (demanded, name) in self.demanded()? {
            let Some(lacking) = profile.lacks(&self.profiles.get(&name)?) else {
                continue;
            };
            if let Some(path) = paths.iter().find(|path| demanded.has(path)) {
                return Ok(Some(Demand {
                    path: path.clone(),
                    profile: name,
                    lacking,
                }));
            }
        }
        Ok(None)
    }

    /// The paths for which a profile is demanded, each set with its profile. Whoever could change the demand itself by
    /// less would have none, so the files that policy is made of belong to each set.
    pub fn demanded(&self) -> Result<Vec<(Demanded, ProfileName)>> {
        let own = [
            FILE,
            &self.approve.signers,
            &self.approve.revoked,
            ".mailmap",
        ];
        let demand = self.profiles.demand.iter();
        demand
            .map(|(pattern, name)| {
                let mut patterns = own.map(str::to_lowercase).to_vec();
                patterns.push(pattern.to_lowercase());
                Ok((Demanded(Globs::new(&patterns)?), name.clone()))
            })
            .collect()
    }

    /// Tells whether it matters who took part in what a transition is about.
    pub fn asks_independence(&self, transition: Transition) -> bool {
        self.approve.independent.contains(&transition)
            || (transition == Transition::ReviewToDone && self.review.independence.is_required())
    }

    /// Tells whether somebody of these names has a role that may approve a transition.
    pub fn may_approve(&self, transition: Transition, names: &[Person]) -> bool {
        let roles = self.approve.by.get(&transition);
        roles.is_none_or(|roles| self.has_role(roles, names))
    }

    /// Tells whether the signed word of somebody of these names stands for a word that was taken back.
    pub fn may_take_back(&self, names: &[Person]) -> bool {
        self.has_role(&self.approve.take_back, names)
    }

    fn has_role(&self, roles: &[String], names: &[Person]) -> bool {
        roles
            .iter()
            .filter_map(|role| self.approve.roles.get(role))
            .any(|patterns| Globs::new(patterns).is_ok_and(|globs| is_named(&globs, names)))
    }

    /// Distinct people that must approve a transition.
    pub fn required(&self, transition: Transition) -> usize {
        self.approve
            .required
            .get(&transition)
            .map_or(1, |&n| (n as usize).max(1))
    }
}

fn is_named(globs: &Globs, people: &[Person]) -> bool {
    people.iter().any(|person| {
        [&person.to_string(), &person.email, &person.name]
            .into_iter()
            .any(|text| !text.is_empty() && globs.matches(text))
    })
}

#[cfg(test)]
mod tests {
    use super::{Policy, Strictness};
    use loopx_base::id::Person;

    #[test]
    fn a_file_sets_what_it_names_and_defaults_hold_for_the_rest() {
        let policy = Policy::parse(
            "[gates]\nout_of_scope = \"refuse\"\n[approve]\ndeny = [\"*bot*\"]\nrequired = { \"plan->build\" = 2 }\n",
            "loopx.toml",
        )
        .expect("parse");
        assert_eq!(policy.gates.out_of_scope, Strictness::Refuse);
        assert_eq!(policy.paths.specs, "specs");
        assert!(policy.denies(&Person::parse("agent-bot <a@b>")));
        assert!(!policy.denies(&Person::parse("Ada <a@b>")));
        assert_eq!(policy.required(crate::stage::Transition::PlanToBuild), 2);
    }

    #[test]
    fn an_unknown_key_or_word_is_an_error_with_its_line() {
        for (text, line) in [
            ("[gates]\nalways_alow = []\n", 2),
            ("\n[gates]\nout_of_scope = \"maybe\"\n", 3),
            ("[paths]\nspecs = 3\n", 2),
        ] {
            let failure = Policy::parse(text, "loopx.toml").expect_err(text);
            assert!(
                failure.message.starts_with(&format!("loopx.toml:{line}:")),
                "{failure}"
            );
        }
        assert!(Policy::parse("[paths]\nspecs = \"../x\"\n", "loopx.toml").is_err());
    }

    #[test]
    fn a_category_of_rules_can_be_part_of_a_file_name() {
        let policy =
            |names: &str| Policy::parse(&format!("[rules]\ncategories = {names}\n"), "loopx.toml");
        let good = policy("[\"security\", \"ui-2\"]").expect("a policy");
        assert_eq!(good.rules.categories, ["security", "ui-2"]);
        assert_eq!(good.rules.budget, 32 * 1024);
        for bad in [
            "[\"../x\"]",
            "[\"\"]",
            "[\"A\"]",
            "[\"-x\"]",
            "[\"a.b\"]",
            "[\"a/b\"]",
        ] {
            let failure = policy(bad).expect_err(bad);
            assert!(failure.message.starts_with("loopx.toml:2: "), "{failure}");
        }
    }

    #[test]
    fn a_branch_is_protected_by_its_whole_name_or_a_pattern() {
        let policy = Policy::parse(
            "[gates]\nprotected = [\"main\", \"release/*\"]\n",
            "loopx.toml",
        )
        .expect("parse");
        for (branch, protected) in [
            ("main", true),
            ("feat/main", false),
            ("release/1", true),
            ("release/1/fix", false),
            // Where letter case does not count they are one file.
            ("Main", true),
            ("RELEASE/1", true),
        ] {
            assert_eq!(policy.protects(branch), protected, "{branch}");
        }
    }

    #[test]
    fn an_exception_of_landing_has_paths_and_a_public_key() {
        let good = "[gates]\nprotected = [\"main\"]\n[landing]\nbackport = [\"main\"]\n\
             [[landing.exception]]\npaths = [\"Cargo.lock\"]\nkey = \"ssh-ed25519 AAAA+/= bot\"\n";
        let policy = Policy::parse(good, "loopx.toml").expect("a policy");
        assert_eq!(policy.landing.exception[0].paths, ["Cargo.lock"]);
        for (bad, said) in [
            (
                "[[landing.exception]]\npaths = [\"a\"]\nkey = \"AAAA\"\n",
                "a public key",
            ),
            (
                "[[landing.exception]]\npaths = []\nkey = \"ssh-ed25519 AAAA\"\n",
                "expected paths",
            ),
            (
                "[[landing.exception]]\nkey = \"ssh-ed25519 AAAA\"\n",
                "paths",
            ),
            (
                "[[landing.exception]]\npaths = [\"a\"]\nkey = \"ssh-ed25519 AAAA\"\nmore = 1\n",
                "more",
            ),
        ] {
            let failure = Policy::parse(bad, "loopx.toml").expect_err(bad);
            assert!(failure.message.contains(said), "{failure}");
        }
    }
}
