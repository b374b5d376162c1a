//! The story that `demo` plays: a change from intent to archived specs, with a refused commit, a stale
//! approval and a merge conflict on the way.

/// Person who types.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    Ada,
    Grace,
}

impl Who {
    pub(super) fn name(self) -> &'static str {
        match self {
            Who::Ada => "Ada",
            Who::Grace => "Grace",
        }
    }

    pub(super) fn email(self) -> &'static str {
        match self {
            Who::Ada => "ada@example.org",
            Who::Grace => "grace@example.org",
        }
    }
}

#[derive(Debug)]
pub(super) enum Step {
    Say(&'static str),
    Write(&'static str, String),
    /// Resolve a conflict file by the delta's side.
    Keep(&'static str),
    Run {
        who: Who,
        args: Vec<&'static str>,
        exit: u8,
    },
}

fn run(who: Who, exit: u8, args: &[&'static str]) -> Step {
    Step::Run {
        who,
        args: args.to_vec(),
        exit,
    }
}

fn ada(args: &[&'static str]) -> Step {
    run(Who::Ada, 0, args)
}

fn refused(args: &[&'static str]) -> Step {
    run(Who::Ada, 1, args)
}

fn write(path: &'static str, text: &str) -> Step {
    Step::Write(path, text.to_owned())
}

macro_rules! input {
    ($name:literal) => {
        include_str!(concat!("input/", $name))
    };
}

const SPEC: &str = input!("spec.md");
const BASE: &str = input!("base-spec.md");

/// A file of the session's working copy.
macro_rules! session {
    ($name:literal) => {
        concat!(".loopx/shorter-idle-timeout/", $name)
    };
}

pub(super) fn story() -> Vec<Step> {
    let mut story = begin();
    story.extend(clarify());
    story.extend(plan());
    story.extend(build());
    story.extend(review());
    story.extend(archive());
    story
}

fn begin() -> Vec<Step> {
    vec![
        Step::Say("A repository with a spec, and a branch to work on"),
        ada(&["init", "-q", "-b", "main"]),
        write("specs/session/spec.md", BASE),
        write("src/session.sh", input!("session.sh")),
        ada(&["add", "."]),
        ada(&["commit", "-q", "-m", "Sessions that end when idle"]),
        ada(&["switch", "-q", "-c", "timeout"]),
        ada(&["loopx", "init"]),
        ada(&["loopx", "hooks", "install"]),
        ada(&[
            "loopx",
            "start",
            "--profile",
            "standard",
            "Shorter idle timeout",
            "-m",
            "Unattended browsers must be logged out sooner.",
        ]),
    ]
}

fn clarify() -> Vec<Step> {
    vec![
        Step::Say("Clarify: nothing is decided yet, so git takes no code"),
        write("src/session.sh", input!("session-new.sh")),
        refused(&["commit", "-a", "-m", "Ten minutes"]),
        ada(&["restore", "src/session.sh"]),
        write(session!("spec.md"), SPEC),
        ada(&["loopx", "clarify"]),
        ada(&[
            "loopx",
            "approve",
            "--to",
            "plan",
            "--reason",
            "the ward agreed",
        ]),
        Step::Say("An approval is about content: change the spec, and it no longer counts"),
        Step::Write(
            session!("spec.md"),
            SPEC.replace(
                "needs an answer first.",
                "needs an answer first, and so does the wording of the 401.",
            ),
        ),
        refused(&["loopx", "plan"]),
        ada(&["loopx", "save"]),
        ada(&[
            "loopx",
            "approve",
            "--to",
            "plan",
            "--reason",
            "agreed again",
        ]),
        ada(&["loopx", "plan"]),
    ]
}

fn plan() -> Vec<Step> {
    vec![
        Step::Say("Plan: four documents and the change pack, then an architect and a critic"),
        write(session!("plan.md"), input!("plan.md")),
        write(session!("architecture.md"), input!("architecture.md")),
        write(
            session!("development-plan.md"),
            input!("development-plan.md"),
        ),
        write(session!("test-plan.md"), input!("test-plan.md")),
        write(session!("change/proposal.md"), input!("proposal.md")),
        write(session!("change/spec-delta.md"), input!("spec-delta.md")),
        write(session!("change/design.md"), input!("design.md")),
        write(session!("change/tasks.md"), input!("tasks.md")),
        write(session!("change/slices.json"), input!("slices.json")),
        // What she plans is hers, also where somebody else would save it with a step of their own.
        ada(&["loopx", "save"]),
        run(Who::Grace, 0, &["loopx", "plan", "--architect", "approve"]),
        run(Who::Grace, 0, &["loopx", "plan", "--critic", "approve"]),
        run(Who::Grace, 0, &["loopx", "approve", "--to", "build"]),
        ada(&["loopx", "build"]),
    ]
}

fn build() -> Vec<Step> {
    vec![
        Step::Say("Build: code is let in; a task is done when git loopx has seen its check pass"),
        write("tests/check.sh", input!("check.sh")),
        ada(&["loopx", "take"]),
        refused(&["loopx", "task", "done"]),
        ada(&[
            "loopx",
            "task",
            "fail",
            "--reason",
            "the script is still the old one",
        ]),
        ada(&["loopx", "task", "retry", "VS-1"]),
        write("src/session.sh", input!("session-new.sh")),
        ada(&["loopx", "take"]),
        ada(&[
            "loopx",
            "task",
            "done",
            "--summary",
            "ten minutes, and an audit log",
            "--caveat",
            "the log has no rotation yet",
        ]),
        ada(&["add", "src", "tests"]),
        ada(&["commit", "-q", "-m", "End idle sessions after ten minutes"]),
        ada(&["log", "-1", "--format=%s%n%n%(trailers)"]),
        write(
            session!("execution-record.md"),
            input!("execution-record.md"),
        ),
        ada(&[
            "loopx",
            "build",
            "--report",
            "execution=complete",
            "--reason",
            "timeout and audit log are in",
        ]),
        ada(&["loopx", "build"]),
        ada(&["loopx", "approve", "--to", "review"]),
    ]
}

fn review() -> Vec<Step> {
    vec![
        Step::Say("Review: of base..head, by somebody who is not its author"),
        run(Who::Grace, 0, &["loopx", "review"]),
        run(
            Who::Grace,
            0,
            &[
                "loopx",
                "review",
                "--verdict",
                "approve",
                "--finding",
                "low: the log has no rotation yet",
            ],
        ),
        run(Who::Grace, 0, &["loopx", "approve", "--to", "done"]),
        ada(&["loopx", "status"]),
    ]
}

fn archive() -> Vec<Step> {
    vec![
        Step::Say("Archive: meanwhile somebody changed the same requirement, so a person decides"),
        Step::Write(
            "specs/session/spec.md",
            BASE.replace("idle for 30 minutes.", "idle for 20 minutes."),
        ),
        run(
            Who::Grace,
            0,
            &["commit", "-q", "-a", "-m", "Twenty minutes, as a stopgap"],
        ),
        run(Who::Ada, 3, &["loopx", "archive"]),
        Step::Keep(session!("conflicts/session/spec.md")),
        ada(&["loopx", "archive", "--continue"]),
        ada(&["show", "--stat", "--format=%s%n%n%(trailers)", "HEAD"]),
        ada(&["loopx", "verify", "main..timeout"]),
        Step::Say("What both branches say"),
        ada(&["log", "--oneline", "timeout"]),
        ada(&["log", "--format=%h %an  %s", "loopx"]),
    ]
}
