//! The step where clones made something apart: a person says what counts, and anybody puts texts together. The list of all
//! of it settles nothing, so it is named beside the choice.

use super::{Advised, Here, tasks};
use crate::gate::View;
use crate::session::OpConflict;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{OpId, SessionId};
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
        tasks::by_person(view, here, what, || counts(here, id, first, all))
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

/// The choice of the record that counts. A refusal that somebody else signed is no choice to leave out: the other record
/// is, or that person is waited for.
fn counts(here: &Here<'_>, id: &SessionId, first: &OpConflict, all: &[OpConflict]) -> Advised {
    let drop = || command!("resolve --drop {}", first.op).session(id);
    let read = command!("resolve").session(id);
    let kept = |ops: &[OpId]| ops.iter().find_map(|op| here.kept.get(op));
    let own = std::slice::from_ref(&first.op);
    let Some(other) = first.with.first() else {
        let told = format!("{}: to leave that record out: ", first.why);
        return match kept(own) {
            Some(who) => Advised::waits(who.name.clone(), "the choice about a record they signed"),
            None => Advised::write(hint![told, drop(), "; to read it: ", read]),
        };
    };
    let keep = |op| -> Hint { command!("resolve --keep {op}").session(id) };
    let against = match all.iter().find(|one| one.op == *other) {
        Some(one) => (keep(other), kept(&one.with)),
        None => (drop(), kept(own)),
    };
    match ((keep(&first.op), kept(&first.with)), against) {
        ((one, None), (other, None)) => Advised::write(hint![
            "say which of two records counts: ",
            one,
            "  or: ",
            other,
            "; to read them: ",
            read
        ]),
        ((way, None), (_, Some(who))) | ((_, Some(who)), (way, None)) => Advised::write(hint![
            format!(
                "{} signed one of two records, and nobody else leaves it out; to let it count: ",
                who.name
            ),
            way,
            "; to read them: ",
            read
        ]),
        ((_, Some(who)), (_, Some(_))) => {
            Advised::waits(who.name.clone(), "the choice between two records")
                .advice(hint!["to read them: ", read])
        }
    }
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
