//! The lines of the picture: one for each file that is asked for, and one for each other thing to know.

use crate::cmd::debt_line;
use crate::flow::landed::Landed;
use crate::flow::outline::Question;
use crate::flow::view::Status;
use crate::flow::workcopy::FileStatus;
use crate::ui::{Ui, line, style};
use anstyle::Style;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Verb, command};
use loopx_base::{counted, first_words};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::{Proof, Uncommitted, named};
use loopx_rules::next::mended_in;
use loopx_rules::op::CodeVerdict;
use loopx_rules::session::Ending;
use loopx_rules::stage::Stage;

/// The number of things that tasks left which are named before they are counted.
const LEFT: usize = 4;

/// A label, and what is said of it.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) text: String,
    pub(super) role: Option<Style>,
}

impl Row {
    fn new(label: impl Into<String>, text: impl AsRef<str>) -> Self {
        Row {
            label: label.into(),
            text: line(text.as_ref()),
            role: None,
        }
    }

    fn role(mut self, role: Style) -> Self {
        self.role = Some(role);
        self
    }
}

pub(super) fn of(status: &Status, ui: &Ui) -> Vec<Row> {
    let mut rows: Vec<Row> = ending(status).into_iter().collect();
    rows.extend(files(status));
    rows.extend(not_saved(status));
    rows.extend(not_cited(status));
    rows.extend(held(status));
    rows.extend(approval(status));
    rows.extend(asked(status));
    rows.extend(tally(status));
    rows.extend(code(status));
    rows.extend(sequence(status));
    rows.extend(aside(status));
    rows.extend(behind(status));
    rows.extend(checks(status));
    rows.extend(review(status));
    rows.extend(findings(status));
    rows.extend(people(status, ui));
    rows.extend(remote(status));
    rows
}

/// Row of the statements of the request that the plan has to cite before a later gate asks for them.
fn not_cited(status: &Status) -> Option<Row> {
    let (verb, them) = match status.not_cited.len() {
        0 => return None,
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let said = format!(
        "{} {verb} cited nowhere yet; to read {them}: {}",
        status.not_cited.join(", "),
        command!("spec coverage --intent")
    );
    Some(Row::new("request", said).role(style::WARN))
}

fn not_saved(status: &Status) -> Vec<Row> {
    let row = |name: &String| {
        Row::new("not saved", format!("{} is no artifact", line(name))).role(style::WARN)
    };
    status.not_saved.iter().map(row).collect()
}

fn ending(status: &Status) -> Option<Row> {
    match status.ending.as_ref()? {
        Ending::Abandoned { .. } => {
            let said = format!("in stage {}; everything is kept", status.stage);
            Some(Row::new("abandoned", said).role(style::WARN))
        }
        Ending::Archived {
            target,
            commit,
            taken_back,
            ..
        } => {
            let commit = commit.as_ref();
            let commit = commit.map_or_else(String::new, |id| format!(" as {}", id.short()));
            let landed = match &status.landed {
                Some(landed) if landed.target == *target => match landed.commit {
                    Some(_) if landed.lacks_code => ", which does not have the code".to_owned(),
                    Some(_) => String::new(),
                    None => ", which no longer has the archive".to_owned(),
                },
                Some(Landed {
                    target,
                    commit: None,
                    ..
                }) => format!(", not on {target}"),
                Some(Landed {
                    target,
                    commit: Some(commit),
                    ..
                }) => format!(", on {target} with {}", commit.short()),
                None => String::new(),
            };
            let back = taken_back.as_ref().map(|back| {
                let (on, by) = (line(&back.target), back.commit.short());
                format!("; taken back on {on} by {by}")
            });
            let back = back.unwrap_or_default();
            Some(Row::new(
                "archived",
                format!("on {target}{commit}{landed}{back}"),
            ))
        }
    }
}

/// The file that a blocker asks somebody to edit.
fn file_of(blocker: &Blocker) -> Option<Artifact> {
    if blocker.code == Code::TaskListEmpty {
        return Some(Artifact::TaskList);
    }
    let Some(lead) = blocker.help.lead() else {
        return mended_in(blocker);
    };
    let command = lead
        .command()
        .filter(|command| matches!(command.verb(), Verb::Edit | Verb::Put | Verb::Checkout))?;
    let name = command
        .args()
        .split(' ')
        .find(|word| !word.starts_with('-'))?;
    Artifact::parse(name).ok()
}

/// Words of a blocker about its file, without the name that stands before it.
fn about(artifact: Artifact, message: &str) -> String {
    // Before the name there may be its folder.
    let mut text = match message.find(artifact.path()) {
        Some(at) if !message[..at].contains(' ') => &message[at..],
        _ => message,
    };
    for name in [
        artifact.path(),
        artifact.path().rsplit('/').next().unwrap_or_default(),
    ] {
        text = text.strip_prefix(name).unwrap_or(text);
    }
    if let Some(rest) = text.strip_prefix(':') {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        return match rest.split_at_checked(digits) {
            Some((number, rest)) if digits > 0 => {
                format!("line {number}{rest}")
            }
            _ => rest.trim_start().to_owned(),
        };
    }
    text.trim_start().to_owned()
}

/// The first of several findings, and how many more there are.
fn first_of(text: String) -> String {
    let mut lines = text.lines();
    match (lines.next(), lines.count()) {
        (Some(first), more) if more > 0 => format!("{first}; and {more} more"),
        _ => text,
    }
}

fn files(status: &Status) -> Vec<Row> {
    let is_open = |artifact: Artifact| {
        status.ending.is_none()
            && status.open.contains(&artifact)
            && status.artifacts.contains(&artifact)
    };
    let mut rows = Vec::new();
    for artifact in Artifact::ALL {
        let of_it = status.blockers.iter();
        let mut lacks: Vec<String> = of_it
            .filter(|blocker| file_of(blocker) == Some(artifact))
            .filter(|blocker| !blocker.code.is_of_plan_review())
            .map(|blocker| first_of(about(artifact, &blocker.message)))
            .collect();
        lacks.dedup();
        let saved = status.working_copy.get(&artifact).copied();
        let unsaved = saved.and_then(word);
        if artifact.is_derived() || lacks.is_empty() && unsaved.is_none() && !is_open(artifact) {
            continue;
        }
        let is_stale = status.stale_artifacts.contains(&artifact);
        let mut said = if !lacks.is_empty() {
            lacks.join("; ")
        } else if status.blank_artifacts.contains(&artifact) {
            "not filled in; no gate needs it".to_owned()
        } else if is_stale {
            "written; a document that it builds on changed later".to_owned()
        } else {
            "written".to_owned()
        };
        if let Some(unsaved) = unsaved {
            said.push_str(&format!(" ({unsaved})"));
        }
        let row = Row::new(artifact.path(), said);
        rows.push(match (lacks.is_empty(), is_stale) {
            (true, true) => row.role(style::WARN),
            (true, false) => row.role(style::DIM),
            (false, _) => row,
        });
    }
    // What is saved is in the list of tasks.
    let unsaved = status.outputs.iter();
    let unsaved = unsaved.filter_map(|(path, saved)| Some((path, word(*saved)?)));
    rows.extend(unsaved.map(|(path, unsaved)| Row::new(line(path), format!("({unsaved})"))));
    rows
}

/// Rows of the other blockers that hold the gate.
fn held(status: &Status) -> Vec<Row> {
    // What the checks say is said there.
    let is_said = |blocker: &&Blocker| {
        matches!(
            blocker.code,
            Code::CompletionAuditBlocked | Code::ReviewVerdictNone
        ) || file_of(blocker).is_some() && !blocker.code.is_of_plan_review()
    };
    let mut rows: Vec<Row> = Vec::new();
    for blocker in status.blockers.iter().filter(|blocker| !is_said(blocker)) {
        let text = line(&blocker.message);
        if rows.iter().all(|row| row.text != text) {
            let label = if rows.is_empty() { "held by" } else { "" };
            rows.push(Row::new(label, text).role(style::WARN));
        }
    }
    for void in &status.void {
        let said = format!("the approval by {} is void: {}", void.by, void.why);
        rows.push(Row::new("void", said).role(style::WARN));
    }
    for taken in &status.taken {
        let did = if taken.back { "brought" } else { "taken" };
        let why = taken.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let (word, by, seq) = (&taken.word, &taken.by, taken.seq);
        let said = format!(
            "`{word}` that {by} signed (@{seq}), by {}{why}",
            taken.told_by
        );
        rows.push(Row::new(format!("{did} back"), said).role(style::WARN));
    }
    rows
}

/// Row of the people who let the session go on from here, where somebody did already.
fn approval(status: &Status) -> Option<Row> {
    let from_here = |transition: loopx_rules::stage::Transition| transition.from() == status.stage;
    let gate = status
        .gates
        .iter()
        .find(|gate| from_here(gate.transition))?;
    let who = gate.approvers().join(", ");
    match gate.approval {
        "stale" => {
            let said = format!(
                "{} by {who}, and the content changed since",
                gate.transition
            );
            Some(Row::new("approved", said).role(style::WARN))
        }
        _ if who.is_empty() => None,
        _ => Some(Row::new(
            "approved",
            format!("{} by {who}", gate.transition),
        )),
    }
}

/// Questions about the plan that somebody waits for.
fn asked(status: &Status) -> Vec<Row> {
    let row = |(at, question): (usize, &Question)| {
        let label = if at == 0 { "asked" } else { "" };
        let Question { number, by, text } = question;
        Row::new(label, format!("@{number} {text} ({by})")).role(style::WARN)
    };
    let mut rows: Vec<Row> = status.questions.iter().enumerate().map(row).collect();
    if let Some(first) = status.questions.first() {
        let answer = command!("note --answer {} TEXT", first.number);
        rows.push(Row::new("", format!("to answer: {answer}")));
    }
    rows
}

/// Paths as they are opened from the current folder: the first three.
fn shown(status: &Status, files: &[&Uncommitted]) -> String {
    let below = status.below.as_deref().unwrap_or_default();
    let files: Vec<Uncommitted> = files.iter().map(|one| one.seen_from(below)).collect();
    named(&files.iter().collect::<Vec<_>>())
}

fn code(status: &Status) -> Vec<Row> {
    if !matches!(status.stage, Stage::Build | Stage::Review) || status.ending.is_some() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let mut said = match status.commits {
        Some(0) => "no commit yet".to_owned(),
        Some(commits) => counted(commits, "commit"),
        None => String::new(),
    };
    let left: Vec<&Uncommitted> = status.uncommitted.iter().collect();
    if !left.is_empty() {
        if !said.is_empty() {
            said.push_str(", ");
        }
        said.push_str(&format!(
            "{} not committed: {}",
            counted(left.len(), "file"),
            shown(status, &left)
        ));
    }
    if !said.is_empty() {
        rows.push(Row::new("code", said));
    }
    if let Some(bound) = &status.branch
        && status.has_worktree
        && status.checked_out.as_ref() != Some(bound)
    {
        let said = format!(
            "{} is checked out here, and the session is on {bound}",
            status.here
        );
        rows.push(Row::new("branch", said).role(style::WARN));
    }
    rows
}

/// The merge, rebase or the like that git has begun here and not ended.
fn sequence(status: &Status) -> Option<Row> {
    let is_about_code = matches!(status.stage, Stage::Build | Stage::Review);
    let sequence = status
        .sequence
        .filter(|_| is_about_code || status.ending.is_some())?;
    let both: Vec<&Uncommitted> = status.marked.iter().collect();
    let both = if both.is_empty() {
        String::new()
    } else {
        format!("; both sides stand in {}", shown(status, &both))
    };
    let word = sequence.as_str();
    Some(Row::new(word, format!("a {word} is under way{both}")).role(style::WARN))
}

fn aside(status: &Status) -> Option<Row> {
    let (branch, pop) = status.aside.as_ref()?;
    Some(Row::new(
        "stash",
        format!("edits stashed on {branch}; to bring them back: {pop}"),
    ))
}

/// The tally of the list of tasks, and what can be taken next.
fn tally(status: &Status) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(tally) = &status.tally {
        let mut said = format!("{} of {} done", tally.done, tally.all);
        if let Some(ready) = &tally.ready {
            said.push_str(&format!("; {ready} is ready, nobody has it"));
        }
        let row = Row::new("tasks", said);
        rows.push(if tally.done == tally.all {
            row.role(style::GOOD)
        } else {
            row
        });
    }
    let left = status
        .left
        .iter()
        .map(|debt| Row::new("left", debt_line(debt)));
    rows.extend(left.take(LEFT));
    let more = status.left.len().saturating_sub(LEFT);
    if more > 0 {
        rows.push(Row::new("", format!("and {more} more")));
    }
    rows
}

fn checks(status: &Status) -> Option<Row> {
    // What has ended asks for no check.
    if status.ending.is_some() {
        return None;
    }
    let all: Vec<_> = status.audit.iter().filter(|item| item.is_check()).collect();
    if all.is_empty() {
        let nothing_ran = status.audit.iter().any(|item| item.is_of_nothing());
        return nothing_ran.then(|| match status.failed.as_slice() {
            [] => Row::new("checks", "no check has passed on this code"),
            argv => {
                let said = format!("`{}` failed on this code", argv.join(" "));
                Row::new("checks", said).role(style::BAD)
            }
        });
    }
    let mut open: Vec<_> = all.iter().filter(|item| !item.is_proven()).collect();
    // Of many the first that failed are named.
    open.sort_by_key(|item| item.proof != Proof::Failed);
    let open: Vec<String> = open
        .into_iter()
        .map(|item| {
            let word = match item.proof {
                Proof::Failed => "failed",
                Proof::Stale => "has to run again",
                _ if item.is_manual() => "waits for a person to look",
                _ => "has not run",
            };
            format!("{} {word}", item.id)
        })
        .collect();
    let count = |proof: Proof| all.iter().filter(|item| item.proof == proof).count();
    let (passed, waived, looked) = (
        count(Proof::Passed),
        count(Proof::Waived),
        count(Proof::Looked),
    );
    let mut said = format!("{passed} of {} pass on this code", all.len());
    if waived > 0 {
        said.push_str(&format!(", {waived} waived"));
    }
    if looked > 0 {
        said.push_str(&format!(", {looked} looked at by a person"));
    }
    if !open.is_empty() {
        said.push_str(&format!("; {}", first_words(&open)));
    }
    let row = Row::new("checks", said);
    Some(if open.is_empty() {
        row.role(style::GOOD)
    } else {
        row
    })
}

fn review(status: &Status) -> Vec<Row> {
    let mut rows = Vec::new();
    let Some(review) = &status.review else {
        if status.stage == Stage::Review && status.ending.is_none() {
            rows.push(Row::new("review", "no verdict yet"));
        }
        return rows;
    };
    let verdict = &review.verdict.value;
    let target = review.judgement.as_ref().and_then(|judged| judged.target);
    let outcome = target.map_or_else(String::new, |target| format!(", goes back to {target}"));
    let independence = if review.independent {
        "independent".to_owned()
    } else {
        let roles: Vec<&str> = verdict.dependence.iter().map(|d| d.role.as_str()).collect();
        format!("not independent: {}", roles.join(", "))
    };
    let said = format!(
        "{} by {} ({independence}){outcome}, tree {}",
        verdict.verdict,
        review.proof.named(&review.reviewer),
        verdict.tree.short()
    );
    let row = Row::new("review", said);
    rows.push(match verdict.verdict {
        CodeVerdict::Approve if target.is_none() => row,
        _ => row.role(style::WARN),
    });
    if let Some(checked) = &review.signature {
        let row = Row::new("", checked.words());
        rows.push(match checked.flaw {
            None => row.role(style::GOOD),
            Some(_) => row.role(style::WARN),
        });
    }
    for because in review.judgement.iter().flat_map(|judged| &judged.because) {
        let text = line(&because.to_string());
        let known = verdict
            .findings
            .iter()
            .any(|finding| text.contains(&finding.text));
        if !known {
            rows.push(Row::new("", text));
        }
    }
    rows
}

/// Rows of the findings that nobody has answered, where the gate does not say them.
fn findings(status: &Status) -> Vec<Row> {
    let is_said = |words: &str| {
        let mut held = status.blockers.iter();
        held.any(|one| one.code == Code::FindingOpen && one.message.contains(words))
    };
    let open = status.findings.iter().filter(|one| one.open);
    let open = open.filter(|one| !is_said(&one.words()));
    open.map(|one| {
        let row = Row::new("finding", one.words());
        if one.blocking {
            row.role(style::WARN)
        } else {
            row
        }
    })
    .collect()
}

/// Rows of whose build it is, and of what stopped it.
fn people(status: &Status, ui: &Ui) -> Vec<Row> {
    let mut rows = Vec::new();
    // Nobody works on what has ended.
    if status.ending.is_some() {
        return rows;
    }
    if let Some(claim) = &status.claim {
        let lasts = ui.lasting(claim.alive, &claim.until);
        rows.push(Row::new("owner", format!("{}, {lasts}", claim.words)));
    }
    for taken in &status.tasks {
        let claim = &taken.claim;
        let lasts = ui.lasting(claim.alive, &claim.until);
        let said = format!("{}: {}, {lasts}", taken.task, claim.words);
        rows.push(Row::new("taken", said));
    }
    for apart in &status.apart {
        let others = counted(apart.by.len(), "more result");
        let said = format!(
            "{}: {others}, by {}: {}",
            apart.task,
            apart.by.join(", "),
            command!("task show {}", apart.task)
        );
        rows.push(Row::new("apart", said).role(style::WARN));
    }
    if let Some(block) = &status.blocked {
        let why = block.reason.as_deref().unwrap_or_default();
        let said = format!("blocked:{}  {why}", block.value.cause);
        rows.push(Row::new("stuck", said).role(style::WARN));
    }
    if let Some(parked) = &status.parked {
        rows.push(Row::new("parked", &parked.why).role(style::WARN));
    }
    rows
}

fn behind(status: &Status) -> Option<Row> {
    let behind = status.behind.as_ref()?;
    Some(Row::new("branch", behind.words()).role(style::WARN))
}

fn remote(status: &Status) -> Option<Row> {
    let remote = status.remote.as_ref()?;
    let commits = |n: usize| counted(n, "commit");
    let place = format!("{}/{}", remote.remote, remote.branch);
    let said = match (remote.ahead, remote.behind) {
        (0, 0) => return None,
        (ahead, 0) => format!("{place} lacks {} of this clone", commits(ahead)),
        (0, behind) => format!("{place} is {behind} ahead"),
        (ahead, behind) => format!(
            "{place} is {behind} ahead, and lacks {} of this clone",
            commits(ahead)
        ),
    };
    Some(Row::new("sessions", said))
}

/// Word for how a file differs from what is saved, where it does.
fn word(status: FileStatus) -> Option<&'static str> {
    match status {
        FileStatus::Clean | FileStatus::Absent => None,
        FileStatus::Modified => Some("not saved"),
        FileStatus::Deleted => Some("removed here, not saved"),
        FileStatus::Behind => Some("older than the branch"),
        FileStatus::Diverged => Some("changed here and on the branch"),
        FileStatus::Conflicted => Some("in conflict"),
    }
}
