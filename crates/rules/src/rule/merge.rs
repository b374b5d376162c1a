//! Merge of three versions of a document by rule: what both sides added is there once, what one side took away is gone.
//! Nothing is guessed: where both changed one rule, one line or one field, there is no merge by rule, and whoever asked
//! merges lines.

use super::layout::{Layout, Section, Unit, UnitKey};
use loopx_base::alignment;
use loopx_spec::{Eol, merge3, to_lf, with_eol};
use similar::DiffOp;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Merges `ours` and `theirs` from `base`; nothing where a person has to choose. The two sides can be exchanged.
pub fn merge_rules(base: &str, ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs || theirs == base {
        return Some(ours.to_owned());
    }
    if ours == base {
        return Some(theirs.to_owned());
    }
    let ends = [base, ours, theirs].map(|text| Eol::of(text).unwrap_or(Eol::Lf));
    if ends.contains(&Eol::Mixed) {
        return merge_texts(base, ours, theirs);
    }
    let [b, o, t] = ends;
    let merged = merge_texts(&to_lf(base), &to_lf(ours), &to_lf(theirs))?;
    Some(with_eol(&merged, merge3(b, o, t)))
}

fn merge_texts(base: &str, ours: &str, theirs: &str) -> Option<String> {
    // In one order whichever side is ours: the result does not depend on who merges.
    let (one, other) = if ours <= theirs {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let sides = [base, one, other].map(Layout::of);
    let [b, o, t] = &sides;
    let mut page = Page {
        most: [o, t].map(counts).into_iter().fold(BTreeMap::new(), most),
        ..Page::default()
    };
    page.put(&front(b.front, o.front, t.front)?);
    let keys = sides.each_ref().map(|side| {
        let keys = side.sections.iter().map(|section| section.key.clone());
        keys.collect::<Vec<_>>()
    });
    let none = Section::default();
    for slot in weave(&keys[0], &keys[1], &keys[2]) {
        let found = (
            at(&b.sections, slot.base),
            at(&o.sections, slot.ours),
            at(&t.sections, slot.theirs),
        );
        match found {
            (base, Some(ours), Some(theirs)) => {
                page.section(base.unwrap_or(&none), ours, theirs)?;
            }
            (None, Some(added), None) | (None, None, Some(added)) => {
                page.section(&none, added, added)?;
            }
            // One side took the section away: what the other side did to it would be lost.
            (Some(base), Some(left), None) | (Some(base), None, Some(left)) => {
                if base != left {
                    return None;
                }
            }
            (_, None, None) => {}
        }
    }
    // Text that stands beside other text than before may be read as something else.
    let is_as_meant = counts(&Layout::of(&page.text)) == page.written;
    is_as_meant.then_some(page.text)
}

/// Counts how often each rule stands in a document.
fn counts(layout: &Layout<'_>) -> BTreeMap<UnitKey, usize> {
    let mut found = BTreeMap::new();
    for (_, unit) in layout.rules() {
        *found.entry(unit.key.clone()).or_default() += 1;
    }
    found
}

fn most(
    mut known: BTreeMap<UnitKey, usize>,
    more: BTreeMap<UnitKey, usize>,
) -> BTreeMap<UnitKey, usize> {
    for (key, count) in more {
        let known = known.entry(key).or_default();
        *known = count.max(*known);
    }
    known
}

fn at<T>(items: &[T], place: Option<usize>) -> Option<&T> {
    place.and_then(|place| items.get(place))
}

/// The side that differs from the base, or both where they agree.
fn one_of<'t>(base: &'t str, ours: &'t str, theirs: &'t str) -> Option<&'t str> {
    if ours == theirs || theirs == base {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}

/// The front matter, merged by field.
fn front(base: &str, ours: &str, theirs: &str) -> Option<String> {
    if let Some(whole) = one_of(base, ours, theirs) {
        return Some(whole.to_owned());
    }
    let sides = [base, ours, theirs].map(fields);
    let keys = sides.each_ref().map(|side| {
        let keys = side.iter().map(|(key, _)| key.clone());
        keys.collect::<Vec<_>>()
    });
    let mut out = String::new();
    for slot in weave(&keys[0], &keys[1], &keys[2]) {
        let text =
            |side: usize, place: Option<usize>| at(&sides[side], place).map(|(_, text)| *text);
        let found = (text(0, slot.base), text(1, slot.ours), text(2, slot.theirs));
        match found {
            (Some(base), Some(ours), Some(theirs)) => out.push_str(one_of(base, ours, theirs)?),
            (None, Some(ours), Some(theirs)) if ours == theirs => out.push_str(ours),
            (None, Some(added), None) | (None, None, Some(added)) => out.push_str(added),
            (Some(base), Some(left), None) | (Some(base), None, Some(left)) if base == left => {}
            (_, None, None) => {}
            _ => return None,
        }
    }
    Some(out)
}

/// The lines of a front matter, each with those that belong to it, by the name of its field. The lines `---` are fields,
/// too.
fn fields(front: &str) -> Vec<(String, &str)> {
    let mut found: Vec<(String, std::ops::Range<usize>)> = Vec::new();
    let mut at = 0;
    for line in front.split_inclusive('\n') {
        let end = at + line.len();
        let is_more = line.starts_with([' ', '\t', '-', '#']) && !line.starts_with("---");
        match found.last_mut() {
            Some((_, range)) if is_more || line.trim().is_empty() => range.end = end,
            last => {
                let bare = line.trim();
                let name = bare.split_once(':').map_or(bare, |(name, _)| name);
                // The line that opens the block and the one that closes it are two.
                let name = format!("{name}{}", if last.is_none() { " (first)" } else { "" });
                found.push((name, at..end));
            }
        }
        at = end;
    }
    found
        .into_iter()
        .map(|(name, range)| (name, &front[range]))
        .collect()
}

/// Slot of a merged sequence: its place on each side that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    base: Option<usize>,
    ours: Option<usize>,
    theirs: Option<usize>,
}

impl Slot {
    fn is_stable(self) -> bool {
        self.base.is_some() && self.ours.is_some() && self.theirs.is_some()
    }
}

/// Weaves three sequences to one: every element of each side stands in one slot, in the order of each side.
fn weave<K: Clone + Eq + Hash + Ord>(base: &[K], ours: &[K], theirs: &[K]) -> Vec<Slot> {
    let [o, t] = [ours, theirs].map(|side| Aligned::of(base, side));
    let mut slots = Vec::new();
    for at in 0..=base.len() {
        let (added_o, added_t) = (&o.added[at], &t.added[at]);
        let keys = |side: &[K], places: &[usize]| -> Vec<K> {
            places
                .iter()
                .filter_map(|at| side.get(*at).cloned())
                .collect()
        };
        // What only ours has comes before what theirs has there.
        let both = Aligned::of(&keys(theirs, added_t), &keys(ours, added_o));
        for (nth, place) in added_t.iter().map(Some).chain([None]).enumerate() {
            let before = both.added.get(nth).into_iter().flatten();
            for own in before {
                slots.push(Slot {
                    ours: added_o.get(*own).copied(),
                    ..Slot::default()
                });
            }
            if let Some(place) = place {
                let same = both.matched.get(nth).copied().flatten();
                slots.push(Slot {
                    base: None,
                    ours: same.and_then(|same| added_o.get(same).copied()),
                    theirs: Some(*place),
                });
            }
        }
        if at < base.len() {
            slots.push(Slot {
                base: Some(at),
                ours: o.matched[at],
                theirs: t.matched[at],
            });
        }
    }
    slots
}

/// Alignment of one side with the base.
struct Aligned {
    /// Place on the side of each element of the base.
    matched: Vec<Option<usize>>,
    /// Elements that the side has before each element of the base, and behind the last one. An element in the place of
    /// something that is gone stands before it.
    added: Vec<Vec<usize>>,
}

impl Aligned {
    fn of<K: Eq + Hash + Ord>(base: &[K], side: &[K]) -> Self {
        let mut matched = vec![None; base.len()];
        let mut owner: Vec<Option<usize>> = vec![None; side.len()];
        for op in alignment::patient(base, side) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for nth in 0..len {
                    matched[old_index + nth] = Some(new_index + nth);
                    owner[new_index + nth] = Some(old_index + nth);
                }
            }
        }
        let mut added = vec![Vec::new(); base.len() + 1];
        let mut gap = 0;
        for (place, owner) in owner.into_iter().enumerate() {
            match owner {
                Some(at) => gap = at + 1,
                None => added[gap].push(place),
            }
        }
        Aligned { matched, added }
    }
}

/// The document that is being written.
#[derive(Default)]
struct Page {
    text: String,
    /// Count of each rule on the side that has it most often; `written`: how often it was written.
    most: BTreeMap<UnitKey, usize>,
    written: BTreeMap<UnitKey, usize>,
}

impl Page {
    /// Writes a piece on a line of its own.
    fn put(&mut self, piece: &str) {
        if !piece.is_empty() && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }

    /// Writes a section that both sides have.
    fn section(
        &mut self,
        base: &Section<'_>,
        ours: &Section<'_>,
        theirs: &Section<'_>,
    ) -> Option<()> {
        self.put(merge3(base.heading, ours.heading, theirs.heading));
        let keys = [base, ours, theirs].map(|side| {
            let keys = side.units.iter().map(|unit| unit.key.clone());
            keys.collect::<Vec<_>>()
        });
        let slots = weave(&keys[0], &keys[1], &keys[2]);
        if slots
            .split(|slot| slot.is_stable())
            .any(|part| is_contested(part, ours, theirs))
        {
            return None;
        }
        let mut is_behind_ours = false;
        for slot in &slots {
            let (b, o, t) = (
                at(&base.units, slot.base),
                at(&ours.units, slot.ours),
                at(&theirs.units, slot.theirs),
            );
            match (b, o, t) {
                (Some(b), Some(o), Some(t)) => {
                    let lead = merge3(b.lead, o.lead, t.lead);
                    self.unit(lead, merge3(b.text, o.text, t.text), &o.key);
                }
                (None, Some(o), Some(t)) => {
                    self.unit(o.lead.min(t.lead), o.text.min(t.text), &o.key);
                }
                (None, Some(o), None) => self.unit(o.lead, o.text, &o.key),
                (None, None, Some(t)) => {
                    let lead = match slot.theirs.filter(|_| is_behind_ours) {
                        Some(at) => lead_behind_a_rule(theirs, at),
                        None => t.lead,
                    };
                    self.unit(lead, t.text, &t.key);
                }
                _ => {}
            }
            is_behind_ours = slot.base.is_none() && slot.theirs.is_none();
        }
        self.put(merge3(base.tail, ours.tail, theirs.tail));
        Some(())
    }

    fn unit(&mut self, lead: &str, text: &str, key: &UnitKey) {
        if let Some(most) = self.most.get(key) {
            let written = self.written.entry(key.clone()).or_default();
            // Both sides added it, at two places.
            if *written >= *most {
                return;
            }
            *written += 1;
        }
        self.put(lead);
        self.put(text);
    }
}

/// The blank lines that a rule has before it where another rule comes to stand before it. The first one of a list has
/// those of the text above: how far apart its rules stand is said by the next one.
fn lead_behind_a_rule<'t>(section: &Section<'t>, at: usize) -> &'t str {
    let lead_of = |at: Option<usize>| {
        let unit = at.and_then(|at| section.units.get(at));
        unit.filter(|unit| !is_line(unit)).map(|unit| unit.lead)
    };
    if lead_of(at.checked_sub(1)).is_some() {
        return lead_of(Some(at)).unwrap_or_default();
    }
    lead_of(at.checked_add(1)).unwrap_or_default()
}

/// Tells whether a person has to choose between what two sides made of the same place.
fn is_contested(part: &[Slot], ours: &Section<'_>, theirs: &Section<'_>) -> bool {
    let added = |side: &Section<'_>, at: &dyn Fn(&Slot) -> Option<usize>| -> Vec<bool> {
        let units = part.iter().filter(|slot| slot.base.is_none());
        let units = units.filter(|slot| slot.ours.is_none() || slot.theirs.is_none());
        let units = units.filter_map(at).filter_map(|at| side.units.get(at));
        units.map(is_line).collect()
    };
    let by_ours = added(ours, &|slot| slot.ours);
    let by_theirs = added(theirs, &|slot| slot.theirs);
    let gone = part
        .iter()
        .any(|slot| slot.base.is_some() && slot.ours.is_none() && slot.theirs.is_none());
    let is_some = !by_ours.is_empty() || !by_theirs.is_empty();
    let is_both = !by_ours.is_empty() && !by_theirs.is_empty();
    let has_line = by_ours.contains(&true) || by_theirs.contains(&true);
    (gone && is_some) || (is_both && has_line)
}

fn is_line(unit: &Unit<'_>) -> bool {
    matches!(unit.key, UnitKey::Line(_))
}

#[cfg(test)]
mod tests;
