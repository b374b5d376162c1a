//! The step where clones made something apart: a person says what counts, and anybody puts texts together. The list of all
//! of it settles nothing, so it is named beside the choice.

use super::{Advised, Here, tasks};
use crate::gate::View;
use crate::session::OpConflict;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_base::shell_word;

/// The choice that comes first; nothing where nothing was made apart. An agent is led to what it may settle.
pub(super) fn settle(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let state = view.state;
    let id = &state.id;
    // What stands against each other comes before what only follows from it.
    let is_choice = |one: &&OpConflict| !one.with.is_empty();
    let all = &state.conflicts;
    let first = all.iter().find(is_choice).or(all.first());
    let word = first.map(|first| {
        let what = "the choice between two records".to_owned();
        tasks::by_person(view, here, what, || counts(id, first, all))
    });
    let mut contested = state.contested().map(|(file, _)| file.to_string());
    let mut files = state.outputs_apart().map(|(path, _)| shell_word(path));
    let text = contested.next().or_else(|| files.next());
    let text = text.map(|name| side(id, &name));
    match word {
        Some(word) if word.waiting().is_none() || text.is_none() => Some(word),
        _ => text,
    }
}

/// The choice of the record that counts.
fn counts(id: &SessionId, first: &OpConflict, all: &[OpConflict]) -> Advised {
    let drop = || command!("resolve --drop {}", first.op).session(id);
    let read = command!("resolve").session(id);
    let Some(other) = first.with.first() else {
        let told = format!("{}: to leave that record out: ", first.why);
        return Advised::write(hint![told, drop(), "; to read it: ", read]);
    };
    let keep = |op| -> Hint { command!("resolve --keep {op}").session(id) };
    let against = if all.iter().any(|one| one.op == *other) {
        keep(other)
    } else {
        drop()
    };
    Advised::write(hint![
        "say which of two records counts: ",
        keep(&first.op),
        "  or: ",
        against,
        "; to read them: ",
        read
    ])
}

/// The choice of a text.
fn side(id: &SessionId, name: &str) -> Advised {
    Advised::write(hint![
        format!("{name} was changed apart; to read its sides: "),
        command!("resolve").session(id),
        "; to take the first: ",
        command!("resolve {name} --side 1").session(id)
    ])
}
