//! `help codes`: the catalogue of codes.

use crate::cli::Exit;
use crate::ui::Ui;
use loopx_rules::catalogue;
use loopx_rules::catalogue::Entry;
use serde_json::json;

/// Prints every code, by its word.
pub(crate) fn codes(ui: &mut Ui) -> Exit {
    let all = catalogue::catalogue();
    for Entry {
        code,
        exit,
        sentence,
    } in &all
    {
        let exit: Vec<String> = exit.iter().map(ToString::to_string).collect();
        let exit = match exit.as_slice() {
            [] => "-".to_owned(),
            exit => exit.join(", "),
        };
        ui.out(format!("{code:43} {exit:5} {sentence}"));
    }
    ui.json("help codes", &json!({ "codes": all }));
    Exit::Done
}
