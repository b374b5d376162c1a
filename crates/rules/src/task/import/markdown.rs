//! Lists of check boxes: OpenSpec's `tasks.md`, numbered below its headings, and spec-kit's, with ids and `[P]`.

use super::{Draft, Imported, NOT_DONE, Source, no_check};
use crate::markdown::{Checkbox, boxes};
use serde_json::json;

/// Tells whether a box begins with an id of spec-kit: `T001`.
pub(super) fn is_spec_kit(text: &str) -> bool {
    boxes(text)
        .iter()
        .any(|one| spec_kit_id(&one.text).is_some())
}

fn spec_kit_id(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let digits = word.strip_prefix('T')?;
    let is_id = digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit());
    is_id.then_some(word)
}

/// Takes one box over as a line.
fn line(
    id: &str,
    title: &str,
    depends_on: &[String],
    scope: Option<&str>,
    one: &Checkbox,
    found: &mut Imported,
) {
    let mut draft = Draft::default();
    draft.put("id", &json!(id));
    draft.put("title", &json!(title));
    draft.some("scope", scope.map(|scope| json!(scope)).as_ref());
    draft.some("depends_on", Some(&json!(depends_on)));
    draft.put(
        "convergence",
        &json!({"criteria": [title], "verification": no_check()}),
    );
    if one.is_ticked {
        found.remark(id, NOT_DONE);
    }
    found.lines.push(draft.line());
}

/// The number that a box begins with is its id; one without gets the next free one.
pub(super) fn openspec(source: &Source, found: &mut Imported) {
    let mut free = 0;
    for one in boxes(&source.text) {
        let (word, rest) = one
            .text
            .split_once(char::is_whitespace)
            .unwrap_or(("", &one.text));
        let number = word.trim_end_matches('.');
        let is_number = !number.is_empty()
            && number
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        let (id, title) = if is_number {
            (number.to_owned(), rest.trim())
        } else {
            (source.free_id(&mut free), one.text.as_str())
        };
        let scope = heading_above(&source.text, one.line);
        line(&id, title, &[], scope, &one, found);
    }
    found.remark(
        "",
        "the order of the boxes is no dependency here; `task edit ID --depends-on OTHER` makes one",
    );
}

/// A task with `[P]` runs beside its neighbours with `[P]` below the same heading; all others run one after the other.
pub(super) fn spec_kit(source: &Source, found: &mut Imported) {
    let (mut before, mut beside): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut was_parallel, mut last_phase) = (false, None);
    let mut free = 0;
    for one in boxes(&source.text) {
        let (id, rest) = match spec_kit_id(&one.text) {
            Some(id) => (id.to_owned(), one.text[id.len()..].trim()),
            None => (source.free_id(&mut free), one.text.as_str()),
        };
        let (is_parallel, story, title) = marks(rest);
        let phase = heading_above(&source.text, one.line);
        let goes_on = is_parallel && was_parallel && phase == last_phase;
        last_phase = phase;
        if !goes_on && !beside.is_empty() {
            before = std::mem::take(&mut beside);
        }
        was_parallel = is_parallel;
        let scope = story.or(phase);
        line(&id, title, &before, scope, &one, found);
        beside.push(id);
    }
    found.remark("", "what the phases say of dependencies in sentences is not read; tasks without [P] wait for those before them");
}

/// The marks `[P]` and `[US1]` before a title.
fn marks(text: &str) -> (bool, Option<&str>, &str) {
    let (mut is_parallel, mut story, mut rest) = (false, None, text);
    while let Some((mark, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        match mark {
            "P" => is_parallel = true,
            mark if mark.starts_with("US") => story = Some(mark),
            _ => break,
        }
        rest = behind.trim_start();
    }
    (is_parallel, story, rest)
}

/// The text of the heading that a line stands below.
fn heading_above(text: &str, line: usize) -> Option<&str> {
    let above: Vec<&str> = text.lines().take(line).collect();
    let heading = above
        .into_iter()
        .rev()
        .find(|line| line.starts_with("## "))?;
    Some(heading.trim_start_matches('#').trim())
}
