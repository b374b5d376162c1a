//! The part of the fold about issues that were taken over from elsewhere.

use super::{Field, Folding, Member};
use crate::issue::event::Change;
use crate::issue::{Comment, Made, Place};
use serde_json::Value;
use std::collections::BTreeMap;

impl Folding<'_> {
    /// Puts what was said elsewhere among the comments.
    pub(super) fn said(&mut self) {
        let mut found = Vec::new();
        for (member, puts) in &self.members {
            let (Member::Said(said), Some(put)) = (member, puts.iter().min()) else {
                continue;
            };
            let op = self.ops[put.at];
            let comment = Comment {
                op: op.op.clone(),
                seq: op.seq,
                by: op.by.clone(),
                at: op.at.clone(),
                kind: said.kind.clone(),
                text: said.text.clone(),
                first: Some(Made {
                    by: said.by.clone(),
                    at: said.at.clone(),
                }),
            };
            found.push((said.at.clone(), put.place, comment));
        }
        // Those of one record stand in the order of their times, and of one time as whoever brought them has them.
        found.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        self.comments
            .extend(found.into_iter().map(|(.., comment)| comment));
        self.comments.sort_by_key(|comment| comment.seq);
    }

    pub(super) fn made(&self) -> Option<Made> {
        match self.value(&Field::Made) {
            Some(Change::Made(made)) => Some(made.clone()),
            _ => None,
        }
    }

    pub(super) fn place(&self) -> Option<Place> {
        match self.value(&Field::Place) {
            Some(Change::Place(place)) => Some(place.clone()),
            _ => None,
        }
    }

    /// The fields without a counterpart.
    pub(super) fn kept(&self) -> BTreeMap<String, Value> {
        let fields = self.fields.keys();
        let kept = fields.filter(|field| matches!(field, Field::Kept(_)));
        let kept = kept.filter_map(|field| match self.value(field) {
            Some(Change::Kept(kept)) => Some((kept.name.clone(), kept.value())),
            _ => None,
        });
        kept.collect()
    }
}
