//! How much of an id tells it from the others. The ids of a whole backlog are kept sorted and without a text of their
//! own each, so that a command that shows one of ten thousand does no work for the rest.

use super::IssueId;

/// The longest prefix of an id.
const PREFIX: usize = 10;

/// An id by its random part, which is what people may type alone, and then by what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortName {
    random: [u8; IssueId::RANDOM],
    /// Filled up with zeros.
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

    /// So many letters and digits two random parts begin with alike.
    fn common(&self, other: &ShortName) -> usize {
        let both = self.random.iter().zip(&other.random);
        both.take_while(|(a, b)| a == b).count()
    }

    fn prefix_length(&self) -> usize {
        let end = self.prefix.iter().position(|byte| *byte == 0);
        end.unwrap_or(PREFIX)
    }
}

/// All ids of a backlog.
#[derive(Clone, Debug, Default)]
pub struct ShortNames(Vec<ShortName>);

impl FromIterator<ShortName> for ShortNames {
    fn from_iter<I: IntoIterator<Item = ShortName>>(names: I) -> Self {
        let mut all: Vec<ShortName> = names.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        ShortNames(all)
    }
}

impl ShortNames {
    pub fn add(&mut self, names: impl Iterator<Item = ShortName>) {
        self.0.extend(names);
        // What was sorted before is one run for it.
        self.0.sort();
        self.0.dedup();
    }

    /// How many random letters and digits tell an id from the others, at least [`IssueId::SHOWN`]; all of them where
    /// the id is not among these.
    pub fn length(&self, id: &IssueId) -> usize {
        let name = ShortName::of(id.as_str());
        let at = name.and_then(|name| self.0.binary_search(&name).ok());
        at.map_or(IssueId::RANDOM, |at| self.length_at(at))
    }

    fn length_at(&self, at: usize) -> usize {
        // Sorted, nothing is more alike than what stands beside it.
        let before = at.checked_sub(1).and_then(|at| self.0.get(at));
        let beside = before.into_iter().chain(self.0.get(at + 1));
        let needed = beside.map(|other| self.0[at].common(other) + 1);
        let needed = needed.max().unwrap_or(0);
        needed.clamp(IssueId::SHOWN, IssueId::RANDOM)
    }

    /// The length of the longest of them, as they are shown.
    pub fn width(&self) -> usize {
        let widths =
            (0..self.0.len()).map(|at| self.0[at].prefix_length() + 1 + self.length_at(at));
        widths.max().unwrap_or(0)
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
