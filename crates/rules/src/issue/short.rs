//! Short ids: the shortest prefix that tells an id from the others. The ids of a whole backlog are kept without a text
//! of their own each, and are put in order once many are asked for, so that a command that shows one of ten thousand
//! does little for the rest.

use super::IssueId;
use std::cell::{Cell, OnceCell};

/// The longest prefix of an id.
const PREFIX: usize = 10;

/// An id by its random part, which is what people may type alone, and then by what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortName {
    random: [u8; IssueId::RANDOM],
    /// Prefix, filled up with zeros.
    prefix: [u8; PREFIX],
}

impl ShortName {
    /// `None` where the text is no id.
    pub fn of(text: &str) -> Option<Self> {
        let (before, after) = IssueId::split(text)?;
        let mut prefix = [0; PREFIX];
        prefix
            .get_mut(..before.len())?
            .copy_from_slice(before.as_bytes());
        Some(ShortName {
            random: after.as_bytes().try_into().ok()?,
            prefix,
        })
    }

    /// Number of letters and digits with which two random parts begin alike.
    fn common(&self, other: &ShortName) -> usize {
        let both = self.random.iter().zip(&other.random);
        both.take_while(|(a, b)| a == b).count()
    }

    fn prefix_length(&self) -> usize {
        let end = self.prefix.iter().position(|byte| *byte == 0);
        end.unwrap_or(PREFIX)
    }
}

/// Number of ids that are looked for one by one before all are put in order.
const FEW: usize = 32;

/// All ids of a backlog.
#[derive(Clone, Debug, Default)]
pub struct ShortNames {
    all: Vec<ShortName>,
    /// All ids in order, made once many are asked for: a command that shows one issue needs no order.
    sorted: OnceCell<Vec<ShortName>>,
    looks: Cell<usize>,
    /// Width of the longest short name, for which each row of a list asks.
    width: OnceCell<usize>,
}

impl FromIterator<ShortName> for ShortNames {
    fn from_iter<I: IntoIterator<Item = ShortName>>(names: I) -> Self {
        ShortNames {
            all: names.into_iter().collect(),
            ..ShortNames::default()
        }
    }
}

impl ShortNames {
    pub fn add(&mut self, names: impl Iterator<Item = ShortName>) {
        self.all.extend(names);
        self.sorted = OnceCell::new();
        self.width = OnceCell::new();
    }

    /// Number of random letters and digits that tell an id from the others, at least [`IssueId::SHOWN`]; all of them
    /// where the id is not among these.
    pub fn length(&self, id: &IssueId) -> usize {
        let Some(name) = ShortName::of(id.as_str()) else {
            return IssueId::RANDOM;
        };
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() <= FEW && self.sorted.get().is_none() {
            return self.length_among_all(&name);
        }
        let at = self.sorted().binary_search(&name).ok();
        at.map_or(IssueId::RANDOM, |at| self.length_at(at))
    }

    fn length_among_all(&self, name: &ShortName) -> usize {
        let (mut is_here, mut needed) = (false, 0);
        for other in &self.all {
            if other == name {
                is_here = true
            } else {
                needed = needed.max(name.common(other) + 1)
            }
        }
        if is_here {
            needed.clamp(IssueId::SHOWN, IssueId::RANDOM)
        } else {
            IssueId::RANDOM
        }
    }

    fn sorted(&self) -> &[ShortName] {
        self.sorted.get_or_init(|| {
            let mut all = self.all.clone();
            all.sort_unstable();
            all.dedup();
            all
        })
    }

    fn length_at(&self, at: usize) -> usize {
        // In order, nothing is more alike than what stands beside it.
        let all = self.sorted();
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        let beside = before.into_iter().chain(all.get(at + 1));
        let needed = beside.map(|other| all[at].common(other) + 1);
        let needed = needed.max().unwrap_or(0);
        needed.clamp(IssueId::SHOWN, IssueId::RANDOM)
    }

    /// Length of the longest short id, as people are shown it.
    pub fn width(&self) -> usize {
        *self.width.get_or_init(|| {
            let all = self.sorted();
            let width = |at: usize| all[at].prefix_length() + 1 + self.length_at(at);
            (0..all.len()).map(width).max().unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ShortName, ShortNames};
    use crate::issue::IssueId;

    fn names(ids: &[&str]) -> ShortNames {
        ids.iter().filter_map(|id| ShortName::of(id)).collect()
    }

    #[test]
    fn so_much_of_an_id_is_shown_as_tells_it_from_the_others() {
        let ids = [
            "ab-7k2mab0000",
            "lx-7k2m000000",
            "lx-7k2maaaaaa",
            "lx-q000000000",
        ];
        let all = names(&ids);
        let ids: Vec<IssueId> = ids.iter().filter_map(|id| IssueId::parse(id)).collect();
        let shown: Vec<&str> = ids.iter().map(|id| id.short(all.length(id))).collect();
        assert_eq!(shown, ["ab-7k2mab", "lx-7k2m0", "lx-7k2maa", "lx-q000"]);
        assert_eq!(all.width(), 9);
        for typed in ["lx-7k2m0", "7k2m0", "7k2m000000", "lx-7k2m000000"] {
            let meant = ids.iter().filter(|id| id.is_meant(typed));
            assert_eq!(meant.count(), 1, "{typed}");
        }
        assert!(!ids[1].is_meant("lx-"), "a prefix alone means nothing");
    }

    #[test]
    fn a_name_is_as_short_among_few_that_are_asked_for_as_among_many() {
        let all: Vec<String> = (0..200_u64)
            .map(|n| format!("lx-{:010}", n * n * 7_919_777 % 10_000_000_000))
            .collect();
        let texts: Vec<&str> = all.iter().map(String::as_str).collect();
        let sorted = names(&texts);
        sorted.width();
        for text in &texts {
            let id = IssueId::parse(text).expect("an id");
            assert_eq!(names(&texts).length(&id), sorted.length(&id), "{text}");
        }
    }

    #[test]
    fn an_id_that_is_named_twice_is_one_and_a_strange_one_is_shown_whole() {
        let mut all = names(&["lx-7k2m000000", "lx-7k2m000000"]);
        let id = |text| IssueId::parse(text).expect("an id");
        assert_eq!(all.length(&id("lx-7k2m000000")), IssueId::SHOWN);
        assert_eq!(all.length(&id("lx-7k2m000001")), IssueId::RANDOM);
        all.add(ShortName::of("lx-7k2m000001").into_iter());
        assert_eq!(all.length(&id("lx-7k2m000001")), IssueId::RANDOM);
        all.add(ShortName::of("toolongprefix-0123456789").into_iter());
        assert_eq!(all.width(), 13);
        assert_eq!(ShortNames::default().width(), 0);
    }

    #[test]
    fn two_prefixes_with_one_random_part_are_told_apart_by_nothing_shorter() {
        let all = names(&["ab-7k2m000000", "lx-7k2m000000"]);
        let id = IssueId::parse("ab-7k2m000000").expect("an id");
        assert_eq!(all.length(&id), IssueId::RANDOM);
    }
}
