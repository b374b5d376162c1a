//! Issues that say the same, found by their words. A word that few issues have says more than one that many have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Words that say nothing of what an issue is about.
const PLAIN: [&str; 32] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "does", "for", "from", "has", "in",
    "into", "is", "it", "its", "not", "of", "on", "or", "should", "so", "that", "the", "then",
    "there", "this", "to", "when", "with",
];

/// A word of more issues than this leads from no issue to another.
const COMMON: usize = 100;
/// Weight of a word of the title.
const TITLE: f64 = 3.0;

/// Texts of an issue.
#[derive(Clone, Copy, Debug)]
pub struct Said<'t> {
    pub title: &'t str,
    pub description: &'t str,
}

/// Two issues by their places, and how much they say the same, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub one: usize,
    pub other: usize,
    pub percent: u8,
}

/// The pairs that say at least so much the same, those that say most first; all of them, or those of one issue.
pub fn pairs(all: &[Said<'_>], only: Option<usize>, least: u8) -> Vec<Pair> {
    let texts: Vec<BTreeMap<String, f64>> = all.iter().map(weighed).collect();
    let mut having: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, words) in texts.iter().enumerate() {
        for word in words.keys() {
            having.entry(word).or_default().push(at);
        }
    }
    let count = texts.len() as f64;
    let rare = |word: &str| {
        let all = having.get(word).map_or(1, Vec::len) as f64;
        (1.0 + count / all).ln()
    };
    let mut found: Vec<Pair> = candidates(all, &having, only)
        .into_iter()
        .map(|(one, other)| Pair {
            one,
            other,
            percent: likeness(&texts[one], &texts[other], &rare),
        })
        .filter(|pair| pair.percent >= least)
        .collect();
    found.sort_by_key(|pair| (std::cmp::Reverse(pair.percent), pair.one, pair.other));
    found
}

/// Issues that share a word that is not common, or the whole title.
fn candidates(
    all: &[Said<'_>],
    having: &HashMap<&str, Vec<usize>>,
    only: Option<usize>,
) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    let mut titles: HashMap<String, usize> = HashMap::new();
    for (at, said) in all.iter().enumerate() {
        let title = words(said.title).join(" ");
        if let Some(before) = titles.insert(title, at) {
            found.insert((before, at));
        }
    }
    for places in having.values().filter(|places| places.len() <= COMMON) {
        for (nth, one) in places.iter().enumerate() {
            found.extend(places[nth + 1..].iter().map(|other| (*one, *other)));
        }
    }
    found.retain(|(one, other)| only.is_none_or(|only| *one == only || *other == only));
    found
}

fn weighed(said: &Said<'_>) -> BTreeMap<String, f64> {
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for word in words(said.description) {
        found.insert(word, 1.0);
    }
    for word in words(said.title) {
        found.insert(word, TITLE);
    }
    found
}

/// The cosine of the angle between two texts, in percent.
fn likeness(
    one: &BTreeMap<String, f64>,
    other: &BTreeMap<String, f64>,
    rare: &impl Fn(&str) -> f64,
) -> u8 {
    let square = |text: &BTreeMap<String, f64>| -> f64 {
        text.iter()
            .map(|(word, weight)| (weight * rare(word)).powi(2))
            .sum()
    };
    let shared: f64 = one
        .iter()
        .filter_map(|(word, weight)| Some(weight * other.get(word)? * rare(word).powi(2)))
        .sum();
    let length = (square(one) * square(other)).sqrt();
    if length > 0.0 {
        (100.0 * shared / length).round().clamp(0.0, 100.0) as u8
    } else {
        0
    }
}

/// The words of a text that say something. A script without spaces gives pairs of its letters.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let letters: Vec<char> = word.chars().collect();
        let is_dense = letters
            .iter()
            .any(|c| ('\u{2e80}'..='\u{9fff}').contains(c));
        if is_dense && letters.len() > 1 {
            found.extend(letters.windows(2).map(|pair| pair.iter().collect()));
        } else if !word.is_empty() && !PLAIN.contains(&word) {
            let bare = word.strip_suffix('s').filter(|bare| bare.len() > 2);
            found.push(bare.unwrap_or(word).to_owned());
        }
    }
    found
}

/// Tells whether two titles have a word in common that says something.
pub fn shares_word(one: &str, other: &str) -> bool {
    let other = words(other);
    words(one).iter().any(|word| other.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{Said, pairs};

    fn found(titles: &[&str], only: Option<usize>) -> Vec<(usize, usize)> {
        let all: Vec<Said<'_>> = titles
            .iter()
            .map(|title| Said {
                title,
                description: "",
            })
            .collect();
        let pairs = pairs(&all, only, 50).into_iter();
        pairs.map(|pair| (pair.one, pair.other)).collect()
    }

    #[test]
    fn issues_that_say_the_same_in_other_words_of_little_meaning_are_found() {
        let titles = [
            "The login form times out",
            "Login forms time out",
            "Write the manual of the export",
            "Export writes a file that is empty",
            "登录表单超时",
            "登录表单总是超时",
        ];
        assert_eq!(found(&titles, None), [(0, 1), (4, 5)]);
        assert_eq!(found(&titles, Some(1)), [(0, 1)]);
        assert_eq!(found(&titles, Some(2)), []);
    }

    #[test]
    fn what_says_nothing_is_like_nothing() {
        assert_eq!(found(&["", "", "the of", "the of"], None), []);
        assert_eq!(found(&[], None), []);
    }

    #[test]
    fn the_same_title_is_found_however_common_its_words_are() {
        let titles = vec!["Fix it"; 300];
        assert_eq!(found(&titles, None).len(), 299);
    }
}
