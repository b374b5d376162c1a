//! Codes: every reason that a refusal, an error or a note can have, with the exit codes that it ends with
//! and a sentence that says what it means.
//!
//! Words are part of the contract (scripts match on them). `git loopx help codes` prints them.

use super::failure::Kind;
use serde::{Serialize, Serializer};
use std::fmt;

/// Sign in a word that stands for what a blocker names.
const SUBJECT: char = '*';

macro_rules! codes {
    ($($variant:ident $word:literal [$($kind:ident),*] $sentence:literal;)+) => {
        /// The name of a reason, for machines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($variant,)+
            /// A finding about a spec or a list of tasks, by its id.
            Finding(&'static str),
        }

        impl Code {
            /// Every code that is none of a finding, sorted by its word.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// Word of the contract. Where a `*` is in the word, a blocker names something there.
            pub fn word(self) -> &'static str {
                match self {
                    $(Code::$variant => $word,)+
                    Code::Finding(id) => id,
                }
            }

            /// Meaning of the code, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Code::$variant => $sentence,)+
                    Code::Finding(_) => "A finding of the spec engine.",
                }
            }

            /// Kinds of failure with which the code ends a command. A note ends none.
            pub fn kinds(self) -> &'static [Kind] {
                match self {
                    $(Code::$variant => &[$(Kind::$kind),*],)+
                    Code::Finding(_) => &[Kind::Refused],
                }
            }
        }
    };
}

codes! {
    AcceptanceCriteriaUnresolved "acceptance_criteria_unresolved" [Refused]
        "plan.md does not say that the acceptance criteria can be tested.";
    AcceptedAlready "accepted_already" [Nothing]
        "The decision record was accepted before, and its text has not changed since.";
    ActorMissing "actor_missing" [Internal]
        "A command needs the name of its user, and has none: a fault of git loopx.";
    AddressInvalid "address_invalid" [Usage]
        "The text is no address of a repository that git understands.";
    AgentBackup "agent_backup" [Internal]
        "The copy of an agent host's file that is kept before a change could not be made.";
    AgentConfigUnreadable "agent_config_unreadable" [Refused]
        "A file of an agent host cannot be understood, so nothing is written into it.";
    AgentMayNot "agent_may_not" [Waiting]
        "An agent ran a command that only a person may run.";
    AliasInvalid "alias_invalid" [Usage]
        "An alias of `git config loopx.alias.*` does not lead to a command.";
    AllowSecretInvalid "allow_secret_invalid" [Usage]
        "An entry of `allow_secret` is not a fingerprint and a reason.";
    AmendBarred "amend_barred" [Refused]
        "An amendment would change a task that is done, or put a task before one that is under way.";
    AmendClosed "amend_closed" [Refused]
        "The list of tasks is amended in stage build alone.";
    AngleInvalid "angle_invalid" [Usage]
        "The name of an angle of the plan has characters that are not allowed.";
    AnswerMissing "answer_missing" [Usage]
        "The command has to ask a question, and there is no terminal.";
    ApprovalContent "approval_content" [Refused]
        "The tree that an approval names is not the tree that its files make.";
    ApprovalFromStageMismatch "approval_from_stage_mismatch" [Refused]
        "An approval was asked for from a stage that the session is not in.";
    ApprovalSignatureInvalid "approval_signature_invalid" [Refused]
        "The signature under an approval does not count.";
    ApprovalStale "approval_stale" [Refused]
        "What an approval covers has changed since it was given.";
    ApprovalUnsigned "approval_unsigned" [Refused]
        "Policy asks for a signed approval, and this one is not signed.";
    ApprovalVoid "approval_void" [Refused]
        "An approval does not count, and the session passed the transition with no other approval.";
    ApprovalWithoutTouch "approval_without_touch" [Refused]
        "Policy asks for a security key that somebody touches, and the approval was signed with another kind of key.";
    ApprovalsMissing "approvals_missing" [Refused]
        "Fewer people approved than policy asks for.";
    ApprovedAlready "approved_already" [Nothing]
        "The same person has approved the same content already.";
    ApprovedTransitionRequired "approved_transition_required" [Refused]
        "The transition has not been approved.";
    ApproverDenied "approver_denied" [Refused]
        "Policy does not let this person approve.";
    ApproverNotIndependent "approver_not_independent" [Refused]
        "Policy asks for an approver who took no part in the approved work.";
    ApproverRefused "approver_refused" [Refused]
        "An approval does not count for a reason that has no code of its own.";
    ApproverWithoutRole "approver_without_role" [Refused]
        "Policy asks for a role that the approver does not have.";
    ArchitectIterate "architect_iterate" [Refused]
        "The architect asks for changes in the build.";
    ArchitectPending "architect_pending" [Refused]
        "The architect has not judged the present code.";
    ArchitectReject "architect_reject" [Refused]
        "The architect refused the build.";
    ArchitectReviewIncomplete "architect_review_incomplete" [Refused]
        "The architect has not approved the present draft of the plan.";
    ArchitectReviewRequired "architect_review_required" [Refused]
        "The critic comes after the architect, who has not approved this draft.";
    ArchiveBlocked "archive_blocked" [Refused]
        "A rule that has no code of its own holds the archive.";
    ArchiveChangedNothing "archive_changed_nothing" [Nothing]
        "The archive changed no spec, so there is nothing to take back.";
    ArchiveConflict "archive_conflict" [Conflict]
        "The specs changed since the session began, and a person has to choose.";
    ArchiveDates "archive_dates" []
        "OpenSpec records the day on which a change was archived, but no commit.";
    ArchiveDiffers "archive_differs" [Refused]
        "A commit says that it archives a session, and its specs differ from those that the archive makes.";
    ArchiveNotThere "archive_not_there" [Refused]
        "The commit of the archive is not on the branch that is named.";
    ArchiveRequiresDoneSession "archive_requires_done_session" [Refused]
        "Only a session in stage done is archived.";
    ArchiveScopeBlocked "archive_scope_blocked" [Refused]
        "The execution record does not say that all of the scope was done.";
    ArchiveUnproven "archive_unproven" [Refused]
        "A scenario of the delta has no passing evidence.";
    ArchiveUnreviewed "archive_unreviewed" [Refused]
        "The code, or a document that the review rests on, changed since it was reviewed.";
    ArchiveWaits "archive_waits" [Refused]
        "A session that the delta depends on has to be archived first.";
    ArchivedAlready "archived_already" [Nothing]
        "The session is archived already.";
    ArchivedSince "archived_since" []
        "An imported session came from a change that OpenSpec archived since.";
    ArtifactAmbiguous "artifact_ambiguous" [Usage]
        "Several artifacts begin with this name.";
    ArtifactConflict "artifact_conflict" [Conflict]
        "An artifact has conflict markers, or sides that a person has to choose between.";
    ArtifactInvalid "artifact_invalid" [Refused]
        "An artifact has a fault, so that no gate can judge it.";
    ArtifactLocked "artifact_locked" [Refused]
        "The artifact is not open in the stage of the session.";
    ArtifactMissing "artifact_missing" [NotFound]
        "The session has no such artifact.";
    ArtifactNotCheckedOut "artifact_not_checked_out" [Usage]
        "The artifact is not in a working copy here.";
    ArtifactNotUtf8 "artifact_not_utf8" [Refused]
        "An artifact is not UTF-8.";
    ArtifactTooLarge "artifact_too_large" [Refused]
        "An artifact is larger than is taken.";
    ArtifactUnknown "artifact_unknown" [NotFound, Usage]
        "No artifact has this name.";
    BadDomain "bad_domain" [Refused]
        "A folder's name cannot be the name of a domain.";
    BaseForeign "base_foreign" [Refused]
        "A delta is recorded against a text of a spec that the session's branch neither has nor had.";
    BaseMissing "base_missing" [Refused]
        "The commit that the session starts from is not in this repository.";
    BaseOutside "base_outside" [Refused]
        "The commit cannot become the base of the session.";
    BaseRecorded "base_recorded" []
        "An imported delta had no base, and the specs of now were recorded as one.";
    BaseSame "base_same" [Nothing]
        "The session starts from this commit already.";
    BaseStands "base_stands" [Refused]
        "The base of the session is in the history of its branch, so the base stays.";
    BoundBranchMissing "bound_branch_missing" [Refused]
        "The branch that the session is bound to is not here.";
    BranchBound "branch_bound" [Refused]
        "The branch is bound to another session.";
    BranchBoundAlready "branch_bound_already" [Nothing]
        "The branch is bound to this session already.";
    BranchBusy "branch_busy" [Waiting]
        "Other commands moved the branch while this command was writing it.";
    BranchCheckedOut "branch_checked_out" [Refused]
        "The branch that keeps sessions is checked out in a worktree.";
    BranchDamaged "branch_damaged" [Refused]
        "Sessions on the branch of another clone are damaged.";
    BranchEdited "branch_edited" [Conflict]
        "A commit on the branch of sessions was made by hand.";
    BranchForeign "branch_foreign" [Refused]
        "The branch of sessions was not made by git loopx.";
    BranchGone "branch_gone" [NotFound]
        "The branch of sessions is gone, and this clone had it.";
    BranchMismatch "branch_mismatch" [Refused]
        "The session is bound to another branch than the one that is checked out.";
    BranchNameBlocked "branch_name_blocked" [Refused]
        "Git cannot keep a branch of this name beside one that is there.";
    BranchNameInvalid "branch_name_invalid" [Usage]
        "Git takes no branch of this name.";
    BranchNotUtf8 "branch_not_utf8" [Refused]
        "The branch that is checked out has a name that is no UTF-8.";
    BranchProtected "branch_protected" [Refused]
        "Policy protects the branch, so no session can be bound to it.";
    BranchReplaced "branch_replaced" [Conflict]
        "The branch of sessions was replaced by one that does not come from it.";
    BranchRewound "branch_rewound" [Conflict]
        "The branch of sessions was set back.";
    BranchShared "branch_shared" [Refused]
        "Several sessions are bound to one branch, so that nobody can say whose work is on it.";
    BranchUnknown "branch_unknown" [NotFound]
        "There is no branch of this name.";
    BriefCheckInvalid "brief_check_invalid" [Refused]
        "A check of brief.md is no command.";
    BriefCheckMissing "brief_check_missing" [Refused]
        "brief.md names no command that shows that the change works.";
    BriefEmpty "brief_empty" [Refused]
        "Nothing stands under a heading of brief.md that needs a text.";
    BriefMissing "brief_missing" [Refused]
        "The profile asks for brief.md, which is not there.";
    BuildEntered "build_entered" [Nothing]
        "Another command entered the build at the same time.";
    BuildFromReviewArtifactMissing "build_from_review_artifact_missing" [Refused]
        "The review report that is named is not there.";
    BuildFromReviewArtifactRequired "build_from_review_artifact_required" [Refused]
        "The file that is named is not the review report of the session.";
    BuildHeld "build_held" [Waiting]
        "The build belongs to another worktree.";
    BuildIsYours "build_is_yours" [Nothing]
        "This worktree has the build already.";
    BuildIterationsExhausted "build_iterations_exhausted" [Refused]
        "The build took as many iterations as policy allows.";
    BuildRequiresApprovedPlanArtifacts "build_requires_approved_plan_artifacts" [Refused]
        "An artifact that the approved plan needs is gone.";
    BuildRequiresWorkflowPlanArtifacts "build_requires_workflow_plan_artifacts" [Refused]
        "A plan document is gone since the plan was approved.";
    BuildReviewGateBlocked "build_review_gate_blocked" [Refused]
        "The build is not ready for its review.";
    BundleForeign "bundle_foreign" [Refused]
        "The file is no session that git loopx exported.";
    BundleRedacted "bundle_redacted" [Refused]
        "Records were redacted, and either the bundle or this clone still has the records from before the redaction.";
    CandidateMissing "candidate_missing" [NotFound]
        "The session was archived without a candidate for a decision record.";
    CategoryUnknown "category_unknown" [Usage]
        "The category of rules does not exist, or the document belongs to another category.";
    ChangeArtifactEmpty "change_artifact_empty_*" [Refused]
        "A file of the change pack has an empty section; `*` is its key.";
    ChangelogFragmentExists "changelog_fragment_exists" [Refused]
        "The changelog fragment is on the branch already, with another text.";
    ChangelogFragmentInvalid "changelog_fragment_invalid" [Refused]
        "A changelog fragment cannot be read.";
    ChangelogOff "changelog_off" [Refused]
        "Policy names no folder of changelog fragments.";
    ChangelogOutside "changelog_outside" [Usage]
        "The changelog that was named is outside of the repository.";
    CheckHasCommand "check_has_command" [Usage]
        "`run --task` names a check that has a command of its own, and another command was given.";
    CheckNameTaken "check_name_taken" [Refused]
        "A check of an artifact has the name of a check of the policy, and another command.";
    CheckNotAgreed "check_not_agreed" [Refused]
        "A role's key runs only what an approved plan says, or the policy of the target.";
    CheckNotTrusted "check_not_trusted" [Waiting]
        "A check of the session is a command that somebody else wrote, and that nobody agreed to run here.";
    CheckpointOpen "checkpoint_open" [Waiting]
        "A person has to complete the next task.";
    ChecksFresh "checks_fresh" [Nothing]
        "Every check of the session has passed on the present tree.";
    ChoiceContradicts "choice_contradicts" [Usage]
        "The choices would both keep and leave out one operation.";
    ClaimArrived "claim_arrived" [Waiting]
        "The remote has a claim of this worktree, and this clone could not merge it.";
    ClarifyAmbiguityScoreAboveThreshold "clarify_ambiguity_score_above_threshold" [Refused]
        "The ambiguity score of spec.md is above what the profile lets pass.";
    ClarifyCurrentRoundRequired "clarify_current_round_required" [Refused]
        "No round of questions has been held.";
    ClarifyDecisionBoundariesUnresolved "clarify_decision_boundaries_unresolved" [Refused]
        "spec.md does not say that the decision boundaries are settled.";
    ClarifyMaxRoundsExceeded "clarify_max_rounds_exceeded" [Refused]
        "More rounds of questions were held than are allowed.";
    ClarifyNonGoalsUnresolved "clarify_non_goals_unresolved" [Refused]
        "spec.md does not say that the non-goals are settled.";
    ClarifyPressurePassIncomplete "clarify_pressure_pass_incomplete" [Refused]
        "spec.md does not say that the pressure pass is done.";
    ClarifyReadinessBlocked "clarify_readiness_blocked" [Refused]
        "spec.md is not ready for a plan.";
    ClarifySectionEmpty "clarify_section_empty" [Refused]
        "A section that spec.md needs is empty.";
    CommandLineInvalid "command_line_invalid" [Usage]
        "The command line is wrong.";
    CommandMissing "command_missing" [Usage]
        "No command was given to run.";
    CommitInvalid "commit_invalid" [Refused]
        "A commit object is not as git writes them, so that programs read it differently.";
    CommitWithoutState "commit_without_state" [Refused]
        "A commit changes code, and no session that allowed it is named.";
    CompletionApprovalStale "completion_approval_stale" [Refused]
        "A text was changed after the session was approved as done.";
    CompletionAuditBlocked "completion_audit_blocked" [Refused]
        "The audit of the build found work that is open or has no evidence.";
    CompletionAuditMissingEvidence "completion_audit_missing_evidence" [Refused]
        "An item of the build has no passing evidence.";
    CompletionClaim "completion_claim_*" [Refused]
        "The execution record claims less than the whole scope; `*` is the claim.";
    ConfigLocked "config_locked" [Waiting]
        "Another process holds git's configuration file.";
    ConfigNotWritten "config_not_written" [Internal]
        "Git's configuration file could not be written.";
    Conflict "conflict" [Conflict]
        "A delta and the specs changed the same thing.";
    ConflictAmbiguous "conflict_ambiguous" [Usage]
        "Conflicts of several sessions wait, and the command names no session.";
    ConflictFileMissing "conflict_file_missing" [Conflict]
        "A file that was written out with a conflict is not there any more.";
    ConflictNotUtf8 "conflict_not_utf8" [Conflict]
        "A file that was written out with a conflict is not UTF-8 any more.";
    ConflictUnknown "conflict_unknown" [NotFound]
        "The session has no conflict about this operation.";
    ConflictUnresolved "conflict_unresolved" [Conflict]
        "Conflict markers are still there.";
    ContractMissing "contract_missing" [Refused]
        "The request is broad, and plan.md does not say where it ends and when it is done.";
    CriticVerdictIterate "critic_verdict_iterate" [Refused]
        "The critic asks for another draft of the plan.";
    CriticVerdictNone "critic_verdict_none" [Refused]
        "No critic has judged this draft.";
    CriticVerdictPending "critic_verdict_pending" [Refused]
        "The plan changed since the critic's verdict.";
    CriticVerdictReject "critic_verdict_reject" [Refused]
        "The critic refused the plan.";
    DateInvalid "date_invalid" [Usage]
        "git cannot read a date that the environment gives it.";
    DecisionEarly "decision_early" [Refused]
        "A task that a decision judges is not done yet.";
    DecisionEvidence "decision_evidence" [Refused]
        "The evidence of a decision is not there, or is about other code.";
    DecisionOpen "decision_open" [Waiting]
        "A decision is due, and no other task can be taken before it.";
    DecisionValues "decision_values" [Usage]
        "The values of a decision do not fit its rubric.";
    DelegationActive "delegation_active_*" [Refused]
        "Delegated work is open; `*` is its id.";
    DelegationIdInvalid "delegation_id_invalid" [Usage]
        "The id of a delegation has characters that are not allowed.";
    DeltaClosed "delta_closed" [Refused]
        "The delta is at fault, and the stage does not let anybody edit it.";
    DeltaInvalid "delta_invalid" [Refused]
        "A delta has errors, or cannot be applied.";
    DeltaMissing "delta_missing" [Nothing]
        "The session has no spec delta yet.";
    DeltaWarnings "delta_warnings" [Refused]
        "The delta has warnings, and --strict is given.";
    DeltaWithoutBase "delta_without_base" [Refused]
        "Nothing records which text of a spec the delta was written against.";
    DemoFailed "demo_failed" [Internal]
        "The demonstration could not be played to its end.";
    DependencyCycle "dependency_cycle" [Refused]
        "Sessions wait for each other.";
    DeslopBlocked "deslop_blocked" [Refused]
        "The deslop lane was reported blocked.";
    DeslopFailed "deslop_failed" [Refused]
        "The deslop lane was reported failed.";
    DeslopIncomplete "deslop_incomplete" [Refused]
        "The deslop lane was reported incomplete.";
    DeslopPending "deslop_pending" [Refused]
        "The deslop lane has not been reported on the present code.";
    DeslopSkipped "deslop_skipped" [Refused]
        "The deslop lane was skipped, and policy asks for it.";
    DisplacedFull "displaced_full" [Refused]
        "The repository already keeps as many histories that were put aside as it may.";
    DomainInvalid "domain_invalid" [Usage]
        "The name of a domain has characters or parts that a path cannot have.";
    DraftAmbiguous "draft_ambiguous" [Usage]
        "There are several drafts of decision records, and the command names none.";
    DraftExists "draft_exists" [Refused]
        "A draft of this name is there already.";
    DraftOutside "draft_outside" [Usage]
        "The draft is outside of the worktree.";
    DraftUnknown "draft_unknown" [NotFound]
        "There is no draft of this name.";
    DriverNotInstalled "driver_not_installed" [Nothing]
        "The merge driver is not installed here.";
    EditorFailed "editor_failed" [Refused]
        "The editor ended with an error, and nothing was saved.";
    EventUnsupported "event_unsupported" [Refused]
        "The hook is called for an event that it cannot judge.";
    EventsTooFew "events_too_few" [Refused]
        "The session has fewer steps to take back or bring back than asked for.";
    EvidenceUnproven "evidence_unproven" [Refused]
        "A slice is not proven on the reviewed code by the signed run of a role that policy names.";
    ExecutionInputsUnresolved "execution_inputs_unresolved" [Refused]
        "An execution input of spec.md is not decided.";
    ExecutionRecordInvalid "execution_record_invalid" [Refused]
        "The execution record cannot be read.";
    ExecutionRecordMissing "execution_record_missing" [Refused]
        "The execution record is not there.";
    ExecutionRecordPartial "execution_record_partial" [Refused]
        "The execution record lacks something that a review needs.";
    FileEdited "file_edited" [Refused]
        "A file was edited after the archive.";
    FileExists "file_exists" [Refused]
        "The file that would be written is there already.";
    FileExpected "file_expected" [Refused]
        "The path does not name a file.";
    FileFailed "file_failed" [Internal, Refused]
        "The system refused to read or write a file.";
    FileMissing "file_missing" [NotFound]
        "The file is not there.";
    FileNotFound "file_not_found" [NotFound]
        "The file that is named is not there.";
    FileUnreadable "file_unreadable" [NotFound, Usage]
        "The file that is named cannot be read.";
    FindingInvalid "finding_invalid" [Usage]
        "A finding is not written as SEVERITY:TEXT.";
    FindingOpen "finding_open" [Refused]
        "A critical or high finding is still open.";
    FindingUnchanged "finding_unchanged" [Refused]
        "A finding is answered `fixed`, and no file changed since the finding was recorded.";
    FindingUnknown "finding_unknown" [NotFound]
        "No finding of the session has this number.";
    FindingWithoutVerdict "finding_without_verdict" [Usage]
        "A finding was given without a verdict.";
    FolderExpected "folder_expected" [Refused]
        "A file or a link stands where a folder is needed.";
    FolderGuarded "folder_guarded" [Refused]
        "The folder is git's own, or holds working copies.";
    FolderMissing "folder_missing" [NotFound]
        "There is no such folder to write into.";
    FolderUnreadable "folder_unreadable" [Internal]
        "The system refused to read a folder.";
    FormatNewer "format_newer" [Refused]
        "A newer git loopx wrote something that this program does not know.";
    FrontMatterInvalid "front_matter_invalid" [Refused]
        "The front matter of an artifact cannot be read.";
    FrozenChanged "frozen_changed" [Refused]
        "The body of a record changed after it was accepted.";
    GateSkipped "gate_skipped" [Refused]
        "A session came to a stage without the approval that its profile asks for.";
    GateTooLight "gate_too_light" [Refused]
        "A transition of a session was made without something that the policy of the branch asks for.";
    GitFailed "git_failed" [Internal]
        "Git could not do what it was asked to.";
    GitTooOld "git_too_old" [Refused]
        "The git that is installed is too old for this.";
    GitVersionUnknown "git_version_unknown" [Internal]
        "Git did not say its version.";
    GlobalConfigNotAFile "global_config_not_a_file" [Refused]
        "The path of a person's git configuration names no file.";
    GlobalConfigUnknown "global_config_unknown" [Refused]
        "Git names no file for a person's configuration.";
    HeadDetached "head_detached" [Usage]
        "HEAD is detached, so there is no branch to bind.";
    HistoriesUnrelated "histories_unrelated" [Refused]
        "The branches of sessions of two clones share no commit.";
    HistoryCutOff "history_cut_off" [Refused]
        "The clone is shallow, and what two branches share is beyond its edge.";
    HistoryShallow "history_shallow" [NotFound, Refused]
        "The clone is shallow, and commits that are needed are not in it.";
    HomeUnknown "home_unknown" [Usage]
        "A personal file is needed, and the environment names no home folder.";
    HookLine "hook_line" [Refused]
        "A hook manager is used here, and a line has to be added to its file.";
    HookLinesStand "hook_lines_stand" [Refused]
        "Lines that call git loopx stand in files that it does not write.";
    HookNotRead "hook_not_read" [Internal]
        "A hook file could not be read.";
    HookNotWritten "hook_not_written" [Refused]
        "The system refused to write a hook.";
    HookSavedAlready "hook_saved_already" [Refused]
        "Two hooks that are not ours are there, and only one can be kept.";
    HooksNotInstalled "hooks_not_installed" [Nothing]
        "No hook of git loopx is installed.";
    HooksOptedOut "hooks_opted_out" [Refused]
        "loopx.hooks is false: this repository takes no hooks.";
    HooksPathForeign "hooks_path_foreign" [Refused]
        "Git looks for hooks in a folder that belongs to somebody else.";
    HooksSwitchedOff "hooks_switched_off" [Refused]
        "core.hooksPath switches hooks off in this repository.";
    HostUnknown "host_unknown" [Usage]
        "No agent host has this name.";
    IdentityUnknown "identity_unknown" [Refused]
        "Git does not know who you are.";
    ImplementedScopeMismatch "implemented_scope_mismatch" [Refused]
        "The execution record names another scope as done than as planned.";
    ImportAnalysisInvalid "import_analysis_invalid" [Refused]
        "The task graph of a team's session cannot be read; nothing was imported.";
    ImportDelta "import_delta" [Refused]
        "The delta of an OpenSpec change cannot be read.";
    ImportFormatUnknown "import_format_unknown" [Usage]
        "A file is in none of the forms that can be taken in.";
    ImportInvalid "import_invalid" [Refused]
        "A file of another tool is not as that tool writes it; nothing was imported.";
    ImportMissing "import_missing" [NotFound]
        "There is no folder to import.";
    ImportNotUtf8 "import_not_utf8" [Refused]
        "A name or a file of the tree that is imported is not UTF-8.";
    ImportNothing "import_nothing" [Refused]
        "The folder has no files of the named tool.";
    ImportRoleInvalid "import_role_invalid" [Refused]
        "The file of a role of a team's session is missing or cannot be read; nothing was imported.";
    ImportSessionInvalid "import_session_invalid" [Refused]
        "The state file of a team's session is missing or cannot be read; nothing was imported.";
    ImportUnclear "import_unclear" [Usage]
        "An import needs exactly one thing to take in.";
    IndexCurrent "index_current" [Nothing]
        "The index of the decision records is up to date.";
    IndexLocked "index_locked" [Waiting]
        "Another git holds the index of a worktree.";
    IndexNotUtf8 "index_not_utf8" [Refused]
        "The index of the decision records is not UTF-8.";
    InputMissing "input_missing" [Usage]
        "The text of an artifact was expected in a file or on stdin, and there is none.";
    InputNotUtf8 "input_not_utf8" [Usage, Refused]
        "The text that was given is not UTF-8.";
    IntentUncovered "intent_uncovered" [Refused]
        "A statement of the request is neither cited by an artifact nor deferred with a reason.";
    InvalidTransition "invalid_transition" [Refused]
        "No transition leads from the stage of the session to the one that is named.";
    IssueAmbiguous "issue_ambiguous" [Usage]
        "The text is the beginning of the ids of several issues.";
    IssueBlocked "issue_blocked" [Refused]
        "The issue waits for another issue, a day or an event.";
    IssueCriterionOpen "issue_criterion_open" [Refused]
        "A criterion of the issue is not ticked.";
    IssueCriterionUnknown "issue_criterion_unknown" [NotFound]
        "The issue has no such criterion, or more than one.";
    IssueCycle "issue_cycle" [Refused]
        "The links would make an issue wait for itself, or make issues duplicates of each other so that none is done.";
    IssueEnded "issue_ended" [Refused, Nothing]
        "The issue is resolved or closed already.";
    IssueFieldInvalid "issue_field_invalid" [Usage]
        "A field of an issue cannot have this value.";
    IssueFormatUnknown "issue_format_unknown" [Usage]
        "The file does not tell which program wrote the backlog.";
    IssueHeld "issue_held" [Waiting]
        "Another worktree has the issue in hand.";
    IssueImportInvalid "issue_import_invalid" [Refused]
        "An issue of another backlog cannot be taken over.";
    IssueKeyTwice "issue_key_twice" [Usage]
        "Two new issues have one key.";
    IssueLacks "issue_lacks" [Refused]
        "Policy asks for something that the issue does not have.";
    IssueLinkInvalid "issue_link_invalid" [Usage]
        "An issue cannot be linked to itself.";
    IssueLinkUnknown "issue_link_unknown" [NotFound]
        "The issue has no such link.";
    IssueMendsSpent "issue_mends_spent" [Waiting]
        "A rejected solution was mended as often as allowed: a person decides.";
    IssueNamedUnknown "issue_named_unknown" []
        "A commit names an issue that the backlog does not have: a warning.";
    IssueNoneFailed "issue_none_failed" [Nothing]
        "No issue of the queue failed.";
    IssueNoneReady "issue_none_ready" [Nothing]
        "No open issue can be begun now.";
    IssueNotHeld "issue_not_held" [Nothing]
        "Nobody has the issue in hand.";
    IssueNotNext "issue_not_next" [Refused]
        "Policy does not allow the issue's status to change in this way.";
    IssueOpen "issue_open" [Nothing]
        "The issue is open already.";
    IssueQueueConflict "issue_queue_conflict" [Conflict]
        "Issues touch the same files, and nobody said which comes first.";
    IssueSolutionRejected "issue_solution_rejected" [Refused]
        "The solution is rejected.";
    IssueSolutionUnbound "issue_solution_unbound" [Refused]
        "No solution of the issue is bound.";
    IssueSolutionUnknown "issue_solution_unknown" [NotFound]
        "The issue has no such solution, or more than one.";
    IssueTakenBack "issue_taken_back" [NotFound]
        "The record that made the issue was taken back.";
    IssueTemplateInvalid "issue_template_invalid" [Refused]
        "A template of issues gives a field a value that no issue can have.";
    IssueTemplateUnknown "issue_template_unknown" [NotFound]
        "The code branch has no template of issues of that name.";
    IssueUnchanged "issue_unchanged" [Nothing]
        "The command would change nothing: the backlog has these values already.";
    IssueUnknown "issue_unknown" [NotFound]
        "There is no issue of that id.";
    IssueUsed "issue_used" [Refused]
        "A session, a comment or another issue depends on the records that would be taken back.";
    IssueVariableMissing "issue_variable_missing" [Usage]
        "A template of issues asks for a value that nobody gave.";
    IssueVariableUnknown "issue_variable_unknown" [Usage]
        "A template of issues has no such variable.";
    IssueWipReached "issue_wip_reached" [Refused]
        "Somebody has as many issues in hand as policy lets them have.";
    KindInvalid "kind_invalid" [Usage]
        "The kind of a run (`run --kind`) is not one word.";
    LandedAlready "landed_already" [Refused]
        "The changes of this verdict landed on the branch before; to land them again they need a new verdict.";
    LandingConflict "landing_conflict" [Refused]
        "The reviewed changes conflict with the branch as it is now; the resolved changes need a new review.";
    LandingNotShown "landing_not_shown" [Refused]
        "A commit that would land is older than the commits that were reviewed.";
    LandingOtherTarget "landing_other_target" [Refused]
        "The verdict is about another target branch.";
    LandingUnfinished "landing_unfinished" [Refused]
        "A command that was killed left index and files of before its landing, and a commit would take the landing back.";
    LaneIncompleteExecution "lane_incomplete_execution" [Refused]
        "The execution lane was not reported complete.";
    LeaseInvalid "lease_invalid" [Usage]
        "The setting of the lease is no number of seconds.";
    LegacyWorkflow "legacy_workflow_not_supported" [NotFound]
        "The name is that of a workflow of loopx 0.x, which was not imported.";
    LineInvalid "line_invalid" [Usage]
        "Git handed a hook a line that is not understood.";
    LinkBroken "link_broken" [Refused]
        "A decision record links to a record that the target branch does not have.";
    LinkedAlready "linked_already" [Nothing]
        "Both decision records have this link already.";
    ListMoved "list_moved" [Refused]
        "The list of tasks was amended since this worktree saw it.";
    ListUnknown "list_unknown" [Usage]
        "There is no list of that name in git config, or its words are none of a list.";
    LockHeld "lock_held" [Waiting]
        "Another process of git loopx holds the lock of the repository.";
    LogUnknown "log_unknown" [NotFound]
        "The operation has no log.";
    ManFailed "man_failed" [Internal]
        "The manual page could not be made.";
    MaterialUnreadable "material_unreadable" [Refused]
        "A file that agent material would be written into is not UTF-8.";
    MergeChangesCode "merge_changes_code" [Refused]
        "A merge has code that none of its parents has, and no session that allowed it is named.";
    MergeFailed "merge_failed" [Internal]
        "Git could not merge three texts.";
    MergeInputs "merge_inputs" [Internal]
        "A merge of three texts was asked for with another number.";
    MessageUnreadable "message_unreadable" [Internal]
        "The commit message could not be read or written.";
    MissingChangeArtifact "missing_change_artifact_*" [Refused]
        "A file of the change pack is not there; `*` is its key.";
    MissingPlanArtifact "missing_plan_artifact_*" [Refused]
        "A plan document is not there; `*` is its key.";
    MissingRequiredContext "missing_required_context" [Refused]
        "Something that the next stage or one of its tasks has to read is not there.";
    MixedRuntimeRoots "mixed_runtime_roots_detected" [Refused]
        "There are several roots of loopx 0.x, and nobody said which one counts.";
    MomentUnknown "moment_unknown" [Usage]
        "The text names no moment: no day, time, age, operation or commit.";
    NewerProgramRequired "newer_program_required" [Refused]
        "Only a newer program understands a record of the session.";
    NextWaits "next_waits" [Waiting]
        "No command is next: somebody has to do something first.";
    NoActiveSession "no_active_session" [NotFound]
        "No session is active.";
    NoCommit "no_commit" [NotFound]
        "The repository has no commit yet.";
    NoConflict "no_conflict" [Nothing]
        "No archive waits to be continued here.";
    NoCurrentFolder "no_current_folder" [Internal]
        "The system does not say which folder is the current one.";
    NoDelta "no_delta" []
        "An imported change has no delta.";
    NoFragments "no_fragments" [Nothing]
        "There is no changelog fragment to collect.";
    NoProgram "no_program" [Internal]
        "The system does not say where the program git-loopx is.";
    NoRepository "no_repository" [NotFound]
        "There is no git repository here.";
    NotArchived "not_archived" [Refused]
        "The session is not archived.";
    NotInitialised "not_initialised" [NotFound]
        "The repository has no sessions: git loopx init was not run.";
    NotOpenspec "not_openspec" [Refused]
        "The folder is no OpenSpec tree.";
    NotShared "not_shared" [Refused]
        "The remote lacks the session, or the records of the task, that the new record is about.";
    NotUtf8 "not_utf8" [Refused]
        "A spec or a delta is not UTF-8.";
    NoteEmpty "note_empty" [Usage]
        "A note has no text.";
    NoteInvalid "note_invalid" [Usage]
        "The role, the type, the key or the data of a note is not what one can be.";
    NoteKeyOwned "note_key_owned" [Refused]
        "A key of the notes belongs to another role.";
    NoteKeyUnknown "note_key_unknown" [NotFound]
        "No role has set this key.";
    NotePromoted "note_promoted" [Nothing]
        "A rule or a draft was made out of the note already.";
    NoteTooLong "note_too_long" [Usage]
        "A note is longer than one may be.";
    NoteUnknown "note_unknown" [NotFound, Usage]
        "No note has this number or id, or several notes have it.";
    NoteWithdrawn "note_withdrawn" [Nothing]
        "The note was withdrawn already.";
    NothingAmended "nothing_amended" [Nothing]
        "The list of tasks has nothing that was not approved.";
    NothingDecided "nothing_decided" [Internal]
        "A decision made no commit: a fault of git loopx.";
    NothingMoved "nothing_moved" [Nothing]
        "The specs that the delta changes have not changed since its base.";
    NothingNext "nothing_next" [Nothing]
        "The session has ended, and nothing is left to do.";
    NothingToEdit "nothing_to_edit" [Nothing]
        "No document of the present stage needs work.";
    NothingToPropose "nothing_to_propose" [Nothing]
        "Every scenario of the delta has a task.";
    NothingToRecover "nothing_to_recover" [Nothing]
        "The branch of sessions is as this clone knew it.";
    NothingToRedact "nothing_to_redact" [Nothing]
        "No record that was not pushed contains the text.";
    NothingToRedo "nothing_to_redo" [Nothing]
        "Nothing of the session is undone.";
    NothingToResolve "nothing_to_resolve" [Nothing]
        "There is no conflict to resolve.";
    NothingToResume "nothing_to_resume" [Nothing]
        "The session is neither parked nor blocked here.";
    NothingToSave "nothing_to_save" [Nothing]
        "The working copy has no edits.";
    NothingToUndo "nothing_to_undo" [Nothing]
        "The session has no step that can be taken back.";
    NumberTaken "number_taken" [Refused]
        "Another decision record has the number.";
    NumbersUnique "numbers_unique" [Nothing]
        "Every decision record has a number of its own.";
    ObjectDamaged "object_damaged" [Internal]
        "An object of the repository is damaged.";
    ObjectIdInvalid "object_id_invalid" [Usage]
        "The text is no id of an object.";
    ObjectMissing "object_missing" [Internal]
        "An object that is needed is not in the repository.";
    ObjectNotFetched "object_not_fetched" [Refused]
        "The object was left out of this partial clone, and could not be fetched.";
    OpenFilesExhausted "open_files_exhausted" [Refused]
        "The system lets the process open no more files.";
    OpeningUnsigned "opening_unsigned" [Refused]
        "A record that opens a gate is not signed, and policy asks for signatures.";
    OperationIdInvalid "operation_id_invalid" [Usage]
        "The text is no id of an operation.";
    OperationMisfit "operation_misfit" [Internal]
        "A decision does not fit the session: a fault of git loopx.";
    OperationRests "operation_rests" [Refused]
        "Another operation depends on the operation that would be taken back.";
    OperationUnfit "operation_unfit" [Refused]
        "The operation does not fit the present state of the session.";
    OperationUnsignable "operation_unsignable" [Internal]
        "A signature was asked for on an operation that takes none: a fault of git loopx.";
    OperationsIncomplete "operations_incomplete" [Internal]
        "The first operation of a session is not its start.";
    OperationsMissing "operations_missing" [Internal]
        "Operations that a session needs are not there.";
    OtherSession "other_session" [Refused]
        "A commit names a session whose branch does not have it.";
    OutOfScope "out_of_scope" [Refused]
        "A path is outside of the scope that the plan declared.";
    OutputPathInvalid "output_path_invalid" [Refused]
        "A file of a task has a name that it cannot have everywhere, or that leads elsewhere.";
    OutputUnwritable "output_unwritable" [Output]
        "What the command says could not be written.";
    OutputsTooMany "outputs_too_many" [Refused]
        "A task would leave more files in its session than it may.";
    PackDamaged "pack_damaged" [Internal]
        "The index of a git pack is damaged.";
    PackageDeltaElsewhere "package_delta_elsewhere" [Refused]
        "The delta of the session stands in its brief, and a package needs a file of its own.";
    PackageDeltaThere "package_delta_there" [Refused]
        "The session has a delta already that says otherwise than a specification package.";
    PackageInvalid "package_invalid" [Refused]
        "A specification package has errors: the blockers name each line.";
    PackageMissing "package_missing" [NotFound]
        "No document of a specification package is there.";
    PairExpected "pair_expected" [Usage]
        "The argument is not written as NAME=STATUS.";
    PartialScopeRemaining "partial_scope_remaining" [Refused]
        "The execution record says that a part of the scope remains.";
    ParticipantUnproven "participant_unproven" [Refused]
        "Policy counts keys, and no key proves who took part in the reviewed work.";
    PathGuarded "path_guarded" [Refused]
        "The path is guarded (policy, signers, CI, hooks, accepted specs and decision records): it lands only by a session.";
    PathUnreadable "path_unreadable" [Internal]
        "The system cannot resolve a path.";
    PatternInvalid "pattern_invalid" [Usage]
        "The text is no path pattern.";
    PipelineIdTaken "pipeline_id_taken" [Refused]
        "The list of tasks has an id already that a pipeline would add.";
    PipelineInvalid "pipeline_invalid" [Refused]
        "The pipeline has errors: the blockers name each line.";
    PipelineModeOpen "pipeline_mode_open" [Usage]
        "No word of a request decides which pipeline, or which team, it asks for.";
    PipelineParam "pipeline_param" [Usage]
        "A pipeline was started without a value that it needs, or with one that it cannot have.";
    PipelineUnknown "pipeline_unknown" [NotFound]
        "Neither the program nor the code branch has a pipeline of this name.";
    PlanApprovalStale "plan_approval_stale" [Refused]
        "The plan changed since it was approved.";
    PlanArtifactEmpty "plan_artifact_empty_*" [Refused]
        "A plan document has an empty section; `*` is its key.";
    PlanArtifactNotChinese "plan_artifact_not_chinese_*" [Refused]
        "Policy asks for Chinese, and a plan document is not; `*` is its key.";
    PlanIterationsExhausted "plan_iterations_exhausted" [Refused]
        "As many drafts as policy allows were not approved.";
    PlanNotReviewed "plan_not_reviewed" [Refused]
        "The present draft waits for its architect and its critic.";
    PlanPackageIncomplete "plan_package_incomplete" [Refused]
        "A plan document is missing, so the plan cannot be approved.";
    PlanPackageMissing "plan_package_missing" [Refused]
        "No plan document is there.";
    PlanPackagePartial "plan_package_partial" [Refused]
        "Some plan documents are not there.";
    PlanReturnsExhausted "plan_returns_exhausted" [Waiting]
        "A plan without reviews went back to be changed three times, and a person has to say that it may again.";
    PlanReviewGateBlocked "plan_review_gate_blocked" [Refused]
        "The plan is not ready for its build.";
    PlanScopeInvalid "plan_scope_invalid" [Refused]
        "The scope of plan.md has what is no path pattern.";
    PointAmbiguous "point_ambiguous" [Usage]
        "Several operations have the id or the prefix that was given.";
    PointElsewhere "point_elsewhere" [Refused]
        "A rollback point is of another stage, or on a commit that the branch does not have.";
    PointInvalid "point_invalid" [Usage, Internal]
        "The name of a rollback point has other characters than it can have.";
    PointNotCommitted "point_not_committed" [Refused]
        "The code of a rollback point could not be committed; nothing was changed.";
    PointTaken "point_taken" [Refused]
        "The session has a rollback point of this name already.";
    PointUndone "point_undone" [Refused]
        "The named operation was taken back since.";
    PointUnknown "point_unknown" [NotFound]
        "The session has no such operation, or no rollback point of this name.";
    PolicyInvalid "policy_invalid" [Refused, Usage]
        "The policy file loopx.toml is wrong.";
    ProfileForbidden "profile_forbidden" [Refused, Usage]
        "Policy asks for something that the profile lacks.";
    ProfileSame "profile_same" [Nothing]
        "The session has this profile already.";
    ProfileTooLight "profile_too_light" [Refused]
        "Policy demands a heavier profile for a path that changes.";
    ProfileUnknown "profile_unknown" [Refused, Usage]
        "No profile has this name.";
    ProgramFailed "program_failed" [Internal]
        "A program that git loopx needs ended with an error.";
    ProgramNotFound "program_not_found" [Internal]
        "A program that git loopx needs is not installed.";
    ProgramNotStarted "program_not_started" [Internal]
        "The system could not start a program that git loopx needs.";
    ProgramPathUnreadable "program_path_unreadable" [Refused]
        "The path of git-loopx is not UTF-8.";
    PromotedAlready "promoted_already" [Nothing]
        "The draft or decision has a number already.";
    PromptUnknown "prompt_unknown" [NotFound]
        "There is no prompt for the role, neither in the program nor in the code.";
    ProtectedNotDone "protected_not_done" [Refused]
        "A protected branch takes the work of sessions that are done.";
    ProtectedNotReviewed "protected_not_reviewed" [Refused]
        "A protected branch takes what was reviewed, and no verdict covers this tree.";
    ProtectedSetBack "protected_set_back" [Refused]
        "A push would remove commits from a protected branch.";
    ProtectedWithoutSession "protected_without_session" [Refused]
        "A protected branch takes only the result of a session.";
    PushNotJudged "push_not_judged" [Refused]
        "git loopx could not judge a push, so the push is refused.";
    PushTooLarge "push_too_large" [Refused]
        "A push brings more than a server judges at once.";
    QuestionUnknown "question_unknown" [NotFound]
        "No open question has this number.";
    QuestionsOpen "questions_open" [Refused]
        "As many questions are open as a round may have.";
    RangeInvalid "range_invalid" [Usage]
        "The text is neither a range of commits nor a commit.";
    RangeWithoutBase "range_without_base" [Usage]
        "No session tells where the range begins, so the range has to be named.";
    ReasonMissing "reason_missing" [Usage]
        "The reason is empty.";
    ReasonRequired "reason_required" [Usage]
        "The command needs a reason.";
    RecordAmbiguous "record_ambiguous" [Usage]
        "Several decision records have the number.";
    RecordClosed "record_closed" [Refused]
        "The decision record is not a proposed one any more.";
    RecordDamaged "record_damaged" [Internal]
        "A record of git loopx is damaged.";
    RecordDirty "record_dirty" [Refused]
        "A file of the decision records has edits that are not committed.";
    RecordIsDraft "record_is_draft" [Refused]
        "The decision record is a draft and has no number yet.";
    RecordMisplaced "record_misplaced" [Internal]
        "A record lies in a session that it does not belong to.";
    RecordNotUtf8 "record_not_utf8" [Refused]
        "A decision record is not UTF-8.";
    RecordSame "record_same" [Usage]
        "Two decision records were expected, and one was named twice.";
    RecordUnfilled "record_unfilled" [Refused]
        "A section of the decision record is still empty.";
    RecordUnknown "record_unknown" [NotFound]
        "There is no such decision record.";
    RecordUnnumbered "record_unnumbered" [Internal]
        "A decision record has no number where git loopx needs one: a fault of git loopx.";
    RecordUnwritable "record_unwritable" [Internal]
        "A record could not be written as JSON: a fault of git loopx.";
    RecordsExhausted "records_exhausted" [Refused]
        "A session or another entity has as many records as it may have.";
    RedactionSigned "redaction_signed" [Refused]
        "A record that contains the text is signed.";
    RedactionTextInvalid "redaction_text_invalid" [Usage]
        "The text to redact is too short, or is not UTF-8.";
    RedactionUnfit "redaction_unfit" [Refused]
        "The text is part of a name, a branch or a word that git loopx reads, and cannot be redacted.";
    RedoOvertaken "redo_overtaken" [Refused]
        "A later operation does not fit the state that the redo would bring back.";
    RefClosed "ref_closed" [Refused]
        "A push changes refs/replace or refs/loopx, which no push may change.";
    RefLocked "ref_locked" [Internal, Waiting]
        "Another git process is moving a ref, or was killed while it did.";
    RefMoved "ref_moved" [Refused]
        "A branch is not where a push says that it was.";
    RefTwice "ref_twice" [Refused]
        "A push moves one ref twice.";
    RefreshClosed "refresh_closed" [Refused]
        "The delta is closed in this stage, so its base stays.";
    RefusedAlone "refused_alone" [Refused]
        "A session of the pair cannot be archived even alone.";
    RegressionFailed "regression_failed" [Refused]
        "The regression run failed on the present code.";
    RegressionPending "regression_pending" [Refused]
        "There is no regression run on the present code.";
    RemoteAmbiguous "remote_ambiguous" [Usage]
        "There are several remotes, and none is named.";
    RemoteAuthentication "remote_authentication" [Refused]
        "The remote did not accept who you are.";
    RemoteDamaged "remote_damaged" [Refused]
        "The remote's branch brings damage that is not here.";
    RemoteEmpty "remote_empty" [Refused]
        "The remote has no branch yet.";
    RemoteFoundSecrets "remote_found_secrets" [Refused]
        "The remote found a credential in what is pushed.";
    RemoteHookDeclined "remote_hook_declined" [Refused]
        "A hook of the remote declined the push.";
    RemoteLimitsSize "remote_limits_size" [Refused]
        "Something is larger than the remote takes.";
    RemoteLostOperations "remote_lost_operations" [Refused]
        "The remote lacks operations that this clone has.";
    RemoteMissing "remote_missing" [NotFound]
        "The repository has no remote.";
    RemoteMoved "remote_moved" [Waiting]
        "The branch of the remote moved each time that it was pushed.";
    RemoteNoAccess "remote_no_access" [Refused]
        "The repository of the remote is not there, or not open to you.";
    RemotePolicy "remote_policy" [Refused]
        "A rule of the remote on messages or addresses does not hold.";
    RemoteProtectsBranch "remote_protects_branch" [Refused]
        "A rule or protection of the remote covers the branch.";
    RemoteReadOnly "remote_read_only" [Refused]
        "The repository of the remote is read-only.";
    RemoteRefused "remote_refused" [Refused]
        "Git says no for a reason that has no code of its own.";
    RemoteShallow "remote_shallow" [Refused]
        "The remote takes nothing from a shallow clone.";
    RemoteTimeout "remote_timeout" [Waiting]
        "The remote gave no answer in time.";
    RemoteUnknown "remote_unknown" [NotFound]
        "There is no remote of this name.";
    RemoteUnreachable "remote_unreachable" [Waiting]
        "The remote could not be reached.";
    RemoteWantsLinear "remote_wants_linear" [Refused]
        "The remote takes no merge commits.";
    RemoteWantsSignatures "remote_wants_signatures" [Refused]
        "The remote takes signed commits only.";
    RemoteWithoutSessions "remote_without_sessions" [NotFound]
        "The other repository has no branch of sessions.";
    RenumberedAlready "renumbered_already" [Nothing]
        "The decision record has this number already.";
    RepairLoses "repair_loses" [Internal]
        "A repair would take operations away, so nothing was changed.";
    RepositoryMissing "repository_missing" [NotFound]
        "The folder is in no git repository.";
    RepositoryMoved "repository_moved" [NotFound]
        "The git dir that a linked worktree names is not there.";
    RepositoryNotOwned "repository_not_owned" [Refused]
        "The repository belongs to another user, and git does not trust it for you.";
    RepositoryQuarantined "repository_quarantined" [Refused]
        "Git is receiving a push, and nothing can be written before it is accepted.";
    RepositoryUnsupported "repository_unsupported" [Refused]
        "The repository has a form that cannot be used.";
    RepositoryUnwritable "repository_unwritable" [Refused]
        "The system does not let the repository be written.";
    RequestRepeated "request_repeated" [Nothing]
        "The request name (`take --request`) was used before, and got a task.";
    RequirementConflict "requirement_conflict" [Conflict]
        "A requirement changed after the archive that is taken back.";
    RequirementUnknown "requirement_unknown" [NotFound]
        "No requirement has this name.";
    ResolutionInvalid "resolution_invalid" [Refused]
        "The text that resolves a conflict has errors.";
    ResultInvalid "result_invalid" [Refused, Usage]
        "The text of a result cannot be read, is about another task, or says that the task failed.";
    Retire "retire" []
        "OpenSpec's setting that retires a domain was taken over.";
    ReverseUnknown "reverse_unknown" [Usage]
        "A link between decision records needs the words for its other side.";
    RevertOutside "revert_outside" [Refused]
        "The commit to take back is not in the history that the session starts from.";
    ReviewBuildFixNotRequested "review_build_fix_not_requested" [Refused]
        "The review asks for no changes in the build.";
    ReviewClarifyFixNotRequested "review_clarify_fix_not_requested" [Refused]
        "The review asks for no changes in the clarification.";
    ReviewDoneScopeBlocked "review_done_scope_blocked" [Refused]
        "The execution record does not cover the whole scope.";
    ReviewEmpty "review_empty" [Refused]
        "The review covers no change, and gives no reason for that.";
    ReviewGateBlocked "review_gate_blocked" [Refused]
        "The execution record is not ready for a review.";
    ReviewNotApproved "review_not_approved" [Refused]
        "The review does not approve the present code.";
    ReviewPlanFixNotRequested "review_plan_fix_not_requested" [Refused]
        "The review asks for no changes in the plan.";
    ReviewStale "review_stale" [Refused]
        "The code changed since it was reviewed.";
    ReviewVerdictNone "review_verdict_none" [Refused]
        "No verdict has been recorded.";
    ReviewVerdictRequestChanges "review_verdict_request-changes" [Refused]
        "The review asks for changes.";
    ReviewedCodeMissing "reviewed_code_missing" [Refused]
        "The code that was reviewed is not in this repository, so nobody can say here whether it changed since.";
    ReviewedCommitMissing "reviewed_commit_missing" [Refused]
        "The reviewed commit is not in this repository, so the code cannot be compared with it.";
    ReviewerNotIndependent "reviewer_not_independent" [Refused]
        "The reviewer took part in what is reviewed.";
    RevisionAmbiguous "revision_ambiguous" [Usage]
        "A tag and a branch have the name of a revision, and are other commits.";
    RevisionUnknown "revision_unknown" [NotFound]
        "The revision names no commit.";
    RoadmapAmbiguous "roadmap_ambiguous" [Usage]
        "There are several roadmaps, and nobody said which one is meant.";
    RoadmapLayered "roadmap_layered" [Refused]
        "The waves of the roadmap are layers: a person says which issue is in which.";
    RoadmapModeOpen "roadmap_mode_open" [Usage]
        "The factors do not decide whether a roadmap is progressive or direct.";
    RoadmapPartElsewhere "roadmap_part_elsewhere" [Refused]
        "The issue is a part of another issue, which is not in the roadmap.";
    RoadmapRoundsSpent "roadmap_rounds_spent" [Refused]
        "The rounds of feedback on a roadmap are used up.";
    RoadmapUnknown "roadmap_unknown" [NotFound]
        "There is no such roadmap.";
    RoadmapUnsound "roadmap_unsound" [Refused]
        "A roadmap has errors, and cannot be approved.";
    RollbackBlocked "rollback_blocked" [Refused]
        "The session cannot go back to the earlier stage: the blockers say why.";
    RollbackRationaleRequired "rollback_rationale_required" [Refused]
        "Going back to an earlier stage needs a reason.";
    RuleDocumentAmbiguous "rule_document_ambiguous" [Usage]
        "A word names more than one document of rules.";
    RuleDocumentUnknown "rule_document_unknown" [NotFound, Usage]
        "There is no such document of rules, or it is not among the documents that were asked for.";
    RuleImportInvalid "rule_import_invalid" [Refused]
        "A file of rules that was to be taken over is not what it should be, and nothing was taken over.";
    RuleInvalid "rule_invalid" [Usage]
        "A text cannot be one rule: it is empty, too long, or Markdown reads it as something else.";
    RuleKnown "rule_known" [Nothing]
        "A document has this rule already.";
    RulesImportedAlready "rules_imported_already" [Nothing]
        "The import has no rule that the documents lack.";
    RulesLaidOut "rules_laid_out" [Nothing]
        "Every document that the command would write exists already.";
    RunFailed "run_failed" [Internal]
        "A run could not be started, or its output not be read.";
    SavedHookNotStarted "saved_hook_not_started" [Refused]
        "A hook that was there before could not be started.";
    ScenarioFailed "scenario_failed" [Refused]
        "A slice that serves the scenario failed.";
    ScenarioStale "scenario_stale" [Refused]
        "The slices that serve the scenario ran on other code.";
    ScenarioUnproven "scenario_unproven" [Refused]
        "The slices that serve the scenario never ran.";
    ScenarioUnserved "scenario_unserved" [Refused]
        "No slice serves the scenario.";
    ScopeDiffers "scope_differs" [Refused]
        "A session builds in another scope than its approved plan has.";
    SecretFound "secret_found" [Refused]
        "A credential was found in what would be kept.";
    SecretPushed "secret_pushed" [Refused]
        "A remote has the text already.";
    SectionsMissing "sections_missing" []
        "An imported artifact lacks sections that stage plan asks for.";
    SequenceExhausted "sequence_exhausted" [Refused]
        "No operation number is left in the session.";
    SequenceJump "sequence_jump" [Refused]
        "The numbers of a session's operations have a gap that no command makes.";
    ServerCheckFailed "server_check_failed" [Internal]
        "The check of a server could not be run, or one of its test pushes changed the server.";
    ServerNotBare "server_not_bare" [Refused]
        "A server is a bare repository, and the folder that was named is none.";
    SessionAbandoned "session_abandoned" [Refused]
        "The session was abandoned.";
    SessionAmbiguous "session_ambiguous" [Refused, Usage]
        "Several sessions could be meant, and none is named.";
    SessionArchived "session_archived" [Refused]
        "The session is archived.";
    SessionConflict "session_conflict" [Refused]
        "Operations of the session contradict each other, and a person has to choose.";
    SessionElsewhere "session_elsewhere" [Usage]
        "The only active session is bound to another branch, and the command would change it.";
    SessionEnded "session_ended" [Refused]
        "A commit names a session that had ended.";
    SessionExists "session_exists" [Refused]
        "Another session has this name.";
    SessionIdInvalid "session_id_invalid" [Usage]
        "The text is no id of a session.";
    SessionIdReserved "session_id_reserved" [Usage]
        "The name is that of a device on Windows.";
    SessionMissing "session_missing" [Refused]
        "A commit has a Loopx-State trailer, and no Loopx-Session trailer.";
    SessionMovedOn "session_moved_on" [Refused]
        "Somebody works on the session again, so it is not stale.";
    SessionNameRequired "session_name_required" [Usage]
        "A session needs a name with a letter or digit.";
    SessionNotDone "session_not_done" [Refused]
        "The session is neither done nor archived.";
    SessionRequired "session_required" [Usage]
        "A command that is about one session needs its name.";
    SessionUnknown "session_unknown" [NotFound, Refused]
        "There is no session of this name.";
    SessionsDeleted "sessions_deleted" [Refused]
        "A push would delete the branch that keeps the sessions.";
    SessionsInvalid "sessions_invalid" [Refused]
        "A push brings sessions whose records do not fit together.";
    SettingsUnread "settings_unread" []
        "A settings file of an imported change could not be read.";
    SetupFileDiffers "setup_file_differs" [Refused]
        "A file that the set-up would write is there already, and says something else.";
    SeveralSessions "several_sessions" [Usage]
        "One session was expected, and several are named.";
    ShadowMissing "shadow_missing" [NotFound]
        "This clone remembers no earlier state of the branch of sessions.";
    SideAmbiguous "side_ambiguous" [Usage]
        "Several sides of an artifact are meant.";
    SideUnknown "side_unknown" [Usage]
        "The artifact does not have this side.";
    SignatureDamaged "signature_damaged" [Internal]
        "A signature that is kept is damaged.";
    SignatureUnchecked "signature_unchecked" [Refused]
        "The signature cannot be checked here.";
    SignerExpired "signer_expired" []
        "A key of the signers' file is not valid any more.";
    SignerNamespace "signer_namespace" []
        "A key of the signers' file is listed for other signatures than policy asks of it.";
    SignerPattern "signer_pattern" []
        "A key of the signers' file stands for everybody whose address fits a pattern.";
    SignerRepeated "signer_repeated" []
        "A key stands on several lines of the signers' file, and only the first is found.";
    SigningFailed "signing_failed" [Refused]
        "The program that signs did not sign.";
    SigningNotConfigured "signing_not_configured" [Refused]
        "Git is not set up to sign with SSH.";
    SkillMissing "skill_missing" [Refused]
        "No folder of a host has the skill by which a task is done.";
    SkillUnusable "skill_unusable" [Refused]
        "The skill by which a task is done is there, and nobody can follow it as it stands.";
    SkipSpecs "skip_specs" []
        "An imported change said that it needs no delta.";
    SliceUnknown "slice_unknown" [NotFound]
        "No slice has this name.";
    SomebodyElse "somebody_else" [Waiting]
        "The next step is somebody else's: policy wants another person for it.";
    SpecConflict "spec_conflict" [Conflict]
        "A delta and the specs changed the same thing.";
    SpecDeltaMissingScenario "spec_delta_*_missing_scenario" [Refused]
        "A requirement of the delta has no scenario; `*` is its domain, operation and name.";
    SpecDeltaEmpty "spec_delta_empty" [Refused]
        "The delta of the session is empty.";
    SpecDeltaMissing "spec_delta_missing" [Refused]
        "The session has no spec delta.";
    SpecDeltaMissingDomains "spec_delta_missing_domains" [Refused]
        "The delta does not say which domain it changes.";
    SpecDeltaMissingRequirements "spec_delta_missing_requirements" [Refused]
        "The delta changes no requirement.";
    SpecDiffers "spec_differs" [Refused]
        "A spec that would be imported is there with another text.";
    SpecDirty "spec_dirty" [Refused]
        "A spec has edits that are not committed.";
    SpecIsALink "spec_is_a_link" [Refused]
        "The path of a spec is a symbolic link.";
    SpecNotText "spec_not_text" [Refused]
        "A spec is not UTF-8.";
    SpecPathBlocked "spec_path_blocked" [Refused]
        "A file or a link stands where a spec needs a folder.";
    SpecUnknown "spec_unknown" [NotFound]
        "No spec has this domain.";
    SpecsNotCommitted "specs_not_committed" []
        "The commit that imported sessions begin at lacks the specs.";
    StageClarify "stage_clarify" []
        "Imported changes begin in stage clarify.";
    StageMismatch "stage_mismatch" [Refused]
        "The command does not belong to the stage of the session.";
    StageNotInProfile "stage_not_in_profile" [Refused]
        "The session's profile lacks the stage that a move leads to, or the review of it.";
    StageNotReached "stage_not_reached" [Refused]
        "The session has not reached the stage.";
    StageRefusesCode "stage_refuses_code" [Refused]
        "The stage of the session takes no code.";
    StageUnknown "stage_unknown" [Usage]
        "No stage has this name.";
    StateDamaged "state_damaged" [Refused]
        "A commit names a state that is damaged.";
    StateMissing "state_missing" [Refused]
        "A commit has a Loopx-Session trailer, and no Loopx-State trailer.";
    StateNotOnBranch "state_not_on_branch" [Refused]
        "A commit names a state that is not on the branch of sessions.";
    StateOfOtherSession "state_of_other_session" [Refused]
        "A commit names a state at which its session did not exist.";
    StateReplayed "state_replayed" [Refused]
        "A commit names a state that was not the newest when it was made.";
    StatusUnknown "status_unknown" [Refused, Usage]
        "No decision record can have this status.";
    StatusUnplaced "status_unplaced" [Refused]
        "The status cannot be written into the decision record.";
    StopGateHeld "stop_gate_held" [Waiting]
        "Another process holds the memory of the stop gate.";
    StopGateUnwritable "stop_gate_unwritable" [Internal]
        "The memory of the stop gate could not be written.";
    SummaryTooLong "summary_too_long" [Usage]
        "A summary of a task is longer than what a card can carry.";
    SupersedeCircle "supersede_circle" [Refused]
        "A decision record cannot supersede a record by which it is superseded itself.";
    SymlinkRefused "symlink_refused" [Refused]
        "A symbolic link stands where a file or folder of git loopx belongs.";
    TargetBusy "target_busy" [Refused]
        "The branch is being rebased or merged in a worktree.";
    TargetInvalid "target_invalid" [Usage]
        "The branch keeps the sessions, and the command needs a code branch.";
    TargetLacksCode "target_lacks_code" [Refused]
        "The target branch does not have the reviewed code, and no branch has its commit.";
    TargetMoved "target_moved" [Refused]
        "The branch moved since a conflict was written out.";
    TargetUnknown "target_unknown" [Usage]
        "No branch is named, and none is checked out.";
    TargetWithoutChanges "target_without_changes" [Usage]
        "An approving verdict has no stage to go back to.";
    TargetsDiffer "targets_differ" [Refused]
        "Sessions that are archived together are bound to different branches.";
    TaskCapReached "task_cap_reached" [Refused]
        "A task failed at all the attempts that it may have.";
    TaskConflictUnknown "task_conflict_unknown" [Nothing]
        "Two tasks have no conflict that somebody could accept.";
    TaskDomainFull "task_domain_full" [Refused]
        "Every id of a domain of tasks is taken.";
    TaskDomainsMany "task_domains_many" [Refused]
        "The list has as many domains as it may have.";
    TaskFileUndeclared "task_file_undeclared" [Refused]
        "A commit changes a file that the task of the committer does not name.";
    TaskHeld "task_held" [Waiting]
        "Somebody has the task.";
    TaskListEmpty "task_list_empty" [Refused]
        "tasks.jsonl holds no task.";
    TaskListInvalid "task_list_invalid" [Refused, Usage, Internal]
        "A line of tasks.jsonl is no task.";
    TaskNotCommitted "task_not_committed" [Refused]
        "The files of a task could not be committed, and the task stays as it was.";
    TaskNotNamed "task_not_named" [Usage]
        "The command is about one task, and the task has to be named.";
    TaskNotReady "task_not_ready" [Refused]
        "A task waits for something, and cannot be taken yet.";
    TaskOfRole "task_of_role" [Waiting]
        "The tasks that are ready are for another role.";
    TaskOutputMissing "task_output_missing" [Refused]
        "A task did not leave a file that the plan says it leaves.";
    TaskStepInvalid "task_step_invalid" [Refused]
        "The task is in a status that does not allow this step.";
    TaskStuck "task_stuck" [Refused]
        "The check of a task failed in the same way on three versions of the code.";
    TaskTimedOut "task_timed_out" [Refused]
        "The check of a task did not end in the time that the plan gives it.";
    TaskUnknown "task_unknown" [NotFound]
        "The session has no task of this name.";
    TaskUnverified "task_unverified" [Refused]
        "No run and no person proves that a task is done.";
    TasksDone "tasks_done" [Nothing]
        "There is no task left to take.";
    TasksMissing "tasks_missing" [NotFound]
        "The session has no tasks.";
    TasksOpen "tasks_open" [Refused]
        "Tasks of the stage are neither completed nor skipped.";
    TasksStalled "tasks_stalled" [Refused]
        "Tasks are left, none is ready, and nobody works on one.";
    TemporaryFolderMissing "temporary_folder_missing" [Refused]
        "There is no temporary folder that can be written.";
    Ticks "ticks" []
        "An imported task list has ticks, which prove nothing.";
    TitleMissing "title_missing" [Refused]
        "A decision record has no title.";
    TitleRequired "title_required" [Usage]
        "A decision record needs a title.";
    TrackingRefLocked "tracking_ref_locked" [Waiting]
        "Another git is writing what is fetched.";
    TransitionUnknown "transition_unknown" [Usage]
        "No transition has this name.";
    TreeEntryInvalid "tree_entry_invalid" [Internal]
        "A tree would get an entry that is neither a file nor a folder.";
    TreeNameInvalid "tree_name_invalid" [Refused]
        "A file or folder has a name, a mode or a place that no tree should have.";
    UnarchiveConflict "unarchive_conflict" [Conflict]
        "The specs that the archive changed were changed again since.";
    UnarchiveInvalid "unarchive_invalid" [Refused]
        "Without the archive the specs would be invalid.";
    UnarchivedAlready "unarchived_already" [Nothing]
        "The archive was taken back already.";
    UnresolvedAmbiguity "unresolved_ambiguity" [Refused]
        "spec.md has questions that are not resolved.";
    UnsavedEdits "unsaved_edits" [Refused]
        "An artifact has edits that are not saved.";
    VerbInvalid "verb_invalid" [Usage]
        "The words of a link between decision records have characters that are not allowed.";
    VerbIsStatus "verb_is_status" [Usage]
        "A link that supersedes a decision record has a command of its own.";
    VerdictContradictsFinding "verdict_contradicts_finding" [Refused]
        "An approving verdict cannot stand beside a severe finding.";
    VerdictSignatureInvalid "verdict_signature_invalid" [Refused]
        "The signature under a verdict does not count.";
    VerdictUnknown "verdict_unknown" [Usage]
        "The lane does not give this verdict.";
    VerdictUnsigned "verdict_unsigned" [Refused]
        "Policy asks for a signed verdict, and this one is not signed.";
    VerificationFailed "verification_failed" [Refused]
        "A verification command failed on the present code.";
    VerificationStepsUnresolved "verification_steps_unresolved" [Refused]
        "plan.md does not say that the verification steps are settled.";
    VerticalSlicesInvalid "vertical_slices_invalid" [Refused]
        "change/slices.json cannot be read, or is wrong.";
    VerticalSlicesMissing "vertical_slices_missing" [Refused]
        "change/slices.json has no slice.";
    WaiverUnused "waiver_unused" [Usage]
        "The command waives a scenario that needs no waiver.";
    WordTakenBack "word_taken_back" [Refused]
        "A signed record was taken back or brought back by somebody who may not do so, or without a signature.";
    WordUnknown "word_unknown" [Usage]
        "The word is not one of the expected words.";
    WorkingCopyCommitted "working_copy_committed" [Refused]
        "A commit has files of the working copy of sessions.";
    WorkingCopyForeign "working_copy_foreign" [Refused]
        "The files of a working copy are of another session, which had the same name.";
    WorktreeDirty "worktree_dirty" [Refused]
        "The worktree has changes that are not committed.";
    WorktreeHidden "worktree_hidden" [Refused]
        "A file differs from what git has of it, and git was told not to look at it.";
    WorktreeRequired "worktree_required" [Usage]
        "The command needs a worktree, and the repository is bare.";
}

/// Families that rules ask for.
impl Code {
    /// Tells whether the code says that an approval is missing or does not count.
    pub fn is_of_approval(self) -> bool {
        matches!(
            self,
            Code::ApprovalContent
                | Code::ApprovalFromStageMismatch
                | Code::ApprovalSignatureInvalid
                | Code::ApprovalStale
                | Code::ApprovalUnsigned
                | Code::ApprovalWithoutTouch
                | Code::ApprovalsMissing
                | Code::ApprovedTransitionRequired
                | Code::ApproverDenied
                | Code::ApproverNotIndependent
                | Code::ApproverRefused
                | Code::ApproverWithoutRole
        )
    }

    /// Tells whether the code says that a draft of the plan lacks a review, or failed in it.
    pub fn is_of_plan_review(self) -> bool {
        matches!(
            self,
            Code::ArchitectReviewIncomplete
                | Code::ArchitectReviewRequired
                | Code::CriticVerdictIterate
                | Code::CriticVerdictNone
                | Code::CriticVerdictPending
                | Code::CriticVerdictReject
        )
    }

    /// Tells whether the code says that the execution record is not fit for a review.
    pub fn is_of_execution_record(self) -> bool {
        matches!(
            self,
            Code::ExecutionRecordInvalid
                | Code::ExecutionRecordMissing
                | Code::ExecutionRecordPartial
        )
    }

    /// Tells whether the code says that less than the whole scope was done.
    pub fn is_of_scope(self) -> bool {
        matches!(
            self,
            Code::CompletionClaim | Code::ImplementedScopeMismatch | Code::PartialScopeRemaining
        )
    }

    /// Tells whether the code says that the way back to the requested stage is not open.
    pub fn is_of_rollback(self) -> bool {
        matches!(
            self,
            Code::ReviewBuildFixNotRequested
                | Code::ReviewClarifyFixNotRequested
                | Code::ReviewPlanFixNotRequested
                | Code::RollbackRationaleRequired
        )
    }

    /// Tells whether the code says that policy wants another person, or a person whom a key proves.
    pub fn is_of_somebody_else(self) -> bool {
        matches!(
            self,
            Code::ReviewerNotIndependent
                | Code::ApprovalsMissing
                | Code::ApproverDenied
                | Code::ApproverNotIndependent
                | Code::ApproverWithoutRole
                | Code::ParticipantUnproven
        )
    }

    /// Tells whether the code says that somebody has to write brief.md first.
    pub fn is_of_brief(self) -> bool {
        matches!(
            self,
            Code::BriefMissing | Code::BriefEmpty | Code::BriefCheckInvalid
        )
    }

    /// Tells whether the code says that a delta waits for another session.
    pub fn is_of_dependency(self) -> bool {
        matches!(
            self,
            Code::DependencyCycle
                | Code::Finding(
                    "dependency_abandoned"
                        | "dependency_cycle"
                        | "dependency_open"
                        | "dependency_unknown"
                )
        )
    }

    /// Tells whether the code says that a scenario has no proof.
    pub fn is_of_scenario(self) -> bool {
        matches!(
            self,
            Code::ScenarioFailed
                | Code::ScenarioStale
                | Code::ScenarioUnproven
                | Code::ScenarioUnserved
        )
    }
}

impl Code {
    /// Word of the code, with the blocker's subject in its place.
    pub fn word_about(self, subject: &str) -> String {
        match subject {
            "" => self.word().to_owned(),
            subject => self.word().replace(SUBJECT, subject),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn each_code_has_one_word_and_a_sentence() {
        for pair in Code::ALL.windows(2) {
            let [one, next] = [pair[0].word(), pair[1].word()];
            assert!(one < next, "`{next}` stands behind `{one}`");
        }
        for code in Code::ALL {
            let sentence = code.sentence();
            assert!(sentence.ends_with('.') && sentence.len() > 15, "{code}");
        }
    }

    #[test]
    fn a_word_has_what_a_blocker_names() {
        let code = Code::DelegationActive;
        assert_eq!(code.word_about("worker-a"), "delegation_active_worker-a");
        assert_eq!(Code::DeltaMissing.word_about(""), "delta_missing");
    }
}
