//! `note list` and `note show`.

use super::PlaceArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::note::Where;
use crate::flow::note::filter::Filter;
use crate::flow::note::list as flow;
use crate::flow::note::list::{APPROVAL, Listed, Notes};
use crate::ui::{Ui, clean, line, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::note::Note;
use loopx_rules::when;
use loopx_rules::when::Side;
use serde_json::{Value, json};

/// Every kind that a list can be asked for.
pub(super) const KINDS: [&str; 12] = {
    let mut all = [APPROVAL; 12];
    let mut at = 0;
    while at < Note::KINDS.len() {
        all[at] = Note::KINDS[at];
        at += 1;
    }
    all
};

/// List notes, oldest first
///
/// Notes of the session that is named or bound to this branch, else of the journal. Filters can be combined.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ListArgs {
    /// Only of this kind; `approval` lists the approvals and verdicts of sessions
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(super::kinds()))]
    kind: Option<String>,
    /// Only notes for this role, or for everybody
    #[arg(long, value_name = "ROLE")]
    to: Option<String>,
    /// Only notes of this role
    #[arg(long, value_name = "ROLE")]
    from: Option<String>,
    /// Only by this person: a part of the name or of the address
    #[arg(long, value_name = "PERSON")]
    by: Option<String>,
    /// Only with these words in the text
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// Only messages of this type
    #[arg(long = "type", value_name = "TYPE")]
    sort: Option<String>,
    /// Only about this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only the thread of this note
    #[arg(long, value_name = "NOTE")]
    thread: Option<String>,
    /// Only since then: 2026-11-01, a time, or how long ago (30m, 12h, 3d, 2w)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only the newest, 1 to 100 of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    last: Option<u8>,
    /// Also notes that were withdrawn
    #[arg(long)]
    withdrawn: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Of all sessions, archived ones too, of all issues, and of the journal
    #[arg(short, long, conflicts_with_all = ["journal", "issue"])]
    all: bool,
}

/// The second that somebody means: a day, a time, or how long ago.
fn since(typed: &str, now: i64) -> Result<i64> {
    when::second(typed, now, Side::Begin).ok_or_else(|| {
        Failure::usage(
            Code::NoteInvalid,
            format!("expected a day, a time or an age like `3d`, found `{typed}`"),
        )
        .help(command!("note list --since 3d"))
    })
}

pub(super) fn run(args: ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let since = args
        .since
        .as_deref()
        .map(|typed| since(typed, ctx.now()))
        .transpose()?;
    let filter = Filter {
        kind: args.kind,
        to: args.to,
        from: args.from,
        by: args.by,
        text: args.grep,
        task: args.task,
        sort: args.sort,
        thread: args.thread,
        since,
        last: args.last.map(usize::from),
        withdrawn: args.withdrawn,
        place: args.place.place(),
        all: args.all,
    };
    let Notes {
        notes,
        left_out,
        withdrawn,
        damaged,
    } = flow::list(ctx, &filter)?;
    for note in &notes {
        print(note, ui);
    }
    for (place, what) in &damaged {
        ui.warn(format!("{} is damaged: {}", clean(place), clean(what)));
    }
    let place = match (
        filter.all,
        filter.place.journal,
        filter.place.issue.as_deref(),
    ) {
        (true, ..) => " --all".to_owned(),
        (_, true, _) => " --journal".to_owned(),
        (_, _, Some(issue)) => format!(" --issue {issue}"),
        _ => String::new(),
    };
    if !damaged.is_empty() {
        ui.hint(command!("fsck --repair"));
    } else if notes.is_empty() && withdrawn > 0 {
        let withdrawn = counted(withdrawn, "withdrawn note");
        ui.status(format!("no notes but {withdrawn}"));
        ui.hint(command!("note list --withdrawn{place}"));
    } else if notes.is_empty() && filter.is_narrow() {
        ui.status("no such note");
        ui.hint(command!("note list{place}"));
    } else if notes.is_empty() {
        ui.status("no notes");
        ui.hint(command!("note \"WHAT WAS LEARNED\""));
    } else if left_out > 0 {
        ui.status(format!("{left_out} older ones are not shown"));
    }
    let damaged: Vec<Value> = damaged
        .iter()
        .map(|(place, what)| json!({ "place": place, "what": what }))
        .collect();
    ui.json(
        "note list",
        &json!({ "notes": notes, "left_out": left_out, "damaged": damaged }),
    );
    Ok(Exit::Done)
}

pub(super) fn show(typed: &str, place: &Where, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (note, thread) = flow::show(ctx, typed, place)?;
    for one in &thread {
        print(one, ui);
        if one.op == note.op {
            detail(one, ui);
        }
    }
    ui.json("note show", &json!({ "note": note, "thread": thread }));
    Ok(Exit::Done)
}

/// Prints the fields of a note that a list leaves out.
fn detail(note: &Listed, ui: &mut Ui) {
    ui.out(format!("    id: {}", note.op));
    if let Some(about) = &note.about {
        ui.fold_out(format!("    ref: {}", line(about)), 6);
    }
    if let Some(data) = &note.data {
        ui.fold_out(format!("    data: {}", line(&data.to_string())), 6);
    }
}

fn print(note: &Listed, ui: &mut Ui) {
    let place = match (&note.session, &note.issue) {
        (Some(id), _) => id.as_str(),
        (_, Some(id)) => id.as_str(),
        _ => "journal",
    };
    let role = |word: &str, role: &Option<String>| {
        role.as_ref()
            .map_or_else(String::new, |role| format!(" {word} {}", line(role)))
    };
    let (from, to) = (role("from", &note.from), role("to", &note.to));
    let sort = role("of type", &note.sort);
    let task = role("on", &note.task);
    // An answer names what it answers by this number, and so does whoever answers.
    let about = match (&note.angle, &note.key) {
        (Some(angle), _) => format!(" on {angle}"),
        (None, Some(key)) => format!(" {}", line(key)),
        (None, None) => String::new(),
    };
    let head = format!(
        "{} {} @{}{about}{sort}{from}{to}{task}  {}  {}{}",
        ui.paint(style::NAME, place),
        note.kind,
        note.seq,
        ui.when(&note.at),
        line(&note.by.name),
        fate(note, ui)
    );
    ui.fold_out(head, 4);
    for text in note.text.trim_end().lines() {
        ui.fold_out(format!("    {}", clean(text)), 4);
    }
}

/// Fate of a note: open, or answered.
fn fate(note: &Listed, ui: &Ui) -> String {
    let mut said = match (note.open, note.answers.as_slice()) {
        (None, _) => String::new(),
        (Some(_), []) => format!("  {}", ui.paint(style::BAD, "open")),
        (Some(_), answers) => {
            let by: Vec<String> = answers
                .iter()
                .map(|one| format!("@{} by {}", one.seq, line(&one.by.name)))
                .collect();
            format!("  answered in {}", by.join(", "))
        }
    };
    if note.withdrawn {
        said.push_str("  withdrawn");
    }
    for one in &note.promoted {
        said.push_str(&format!("  in {}", line(&one.path)));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn a_time_is_a_day_a_moment_or_an_age() {
        let now = 1_767_225_600;
        for (typed, wanted) in [
            ("2026-01-01", now),
            ("2026-01-01T02:00:00+01:00", now + 3_600),
            ("90m", now - 5_400),
            ("2d", now - 172_800),
            ("1w", now - 604_800),
        ] {
            assert_eq!(since(typed, now).ok(), Some(wanted), "{typed}");
        }
        for typed in ["", "d", "x", "2026-13-01", "soon"] {
            since(typed, now).expect_err(typed);
        }
    }
}
