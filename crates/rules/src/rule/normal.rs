//! Rules that say the same: their text without marker, box, tag, date, letter case, spacing and full stop.

use unicode_normalization::UnicodeNormalization as _;

/// The words that other tools put before a rule in brackets, alone or two with a slash between them.
const TAGS: [&str; 8] = [
    "convention",
    "constraint",
    "learning",
    "quality",
    "general",
    "exploration",
    "planning",
    "execution",
];

/// The text of a rule without the marker of its list and without a box, as one line.
pub fn plain(rule: &str) -> String {
    let one_line = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = after_marker(&one_line);
    let text = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
        .unwrap_or(text);
    text.to_owned()
}

/// Text behind `- ` or `1. `.
fn after_marker(text: &str) -> &str {
    if matches!(text, "-" | "*" | "+") {
        return "";
    }
    let bullet = ["- ", "* ", "+ "];
    if let Some(rest) = bullet.iter().find_map(|mark| text.strip_prefix(mark)) {
        return rest;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text.get(digits..).unwrap_or_default();
    let rest = behind
        .strip_prefix(". ")
        .or_else(|| behind.strip_prefix(") "));
    match rest {
        Some(rest) if (1..=9).contains(&digits) => rest,
        _ => text,
    }
}

/// The text that a rule is told by: two rules with one of these are one rule.
pub fn normalised(rule: &str) -> String {
    let plain = plain(rule);
    let text = without_date(without_tag(&plain));
    let folded: String = text.nfkc().filter(|c| *c != '`').collect();
    let folded = folded.to_lowercase();
    let words: Vec<&str> = folded.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', ';']).to_owned()
}

/// A rule without the tag that another tool put before it.
pub(super) fn without_tag(text: &str) -> &str {
    let Some((tag, rest)) = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    else {
        return text;
    };
    let is_tag = tag.split('/').all(|word| TAGS.contains(&word));
    if is_tag { rest } else { text }
}

/// A rule without the day on which it was learned, and without the note that it was made out of.
pub(super) fn without_date(text: &str) -> &str {
    let Some(start) = text.strip_suffix(')').and_then(|text| text.rfind(" (")) else {
        return text;
    };
    let inner = text[start + 2..text.len() - 1].trim();
    let day = inner.strip_prefix("learned:").unwrap_or(inner).trim();
    let is_day = day.len() == 10
        && day.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let note = inner.strip_prefix("note ").unwrap_or_default();
    let is_note = note.len() >= 10 && note.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_day || is_note {
        &text[..start]
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{normalised, plain};

    #[test]
    fn two_spellings_of_one_rule_are_one_rule() {
        let wanted = normalised("- Use one logger");
        for same in [
            "* use  one\n  logger.",
            "3) Use `one` logger",
            "- [general] Use one logger",
            "- [learning/planning] Use one logger (2026-01-02)",
            "- Use one logger (learned: 2026-01-02)",
            "- [ ] USE ONE LOGGER;",
            "- Use one logger (note 0123456789ab)",
            "- Use one ｌogger",
            "Use one logger",
        ] {
            assert_eq!(normalised(same), wanted, "{same}");
        }
        for other in [
            "- Use two loggers",
            "- Use one logger (twice)",
            "- [ops] Use one logger",
            "- [general](a.md) Use one logger",
            "- Use one logger (2026-1-02)",
        ] {
            assert_ne!(normalised(other), wanted, "{other}");
        }
    }

    #[test]
    fn the_text_of_a_rule_keeps_what_was_written() {
        assert_eq!(plain("- [ ] Use  `One`\n  logger.\n"), "Use `One` logger.");
        assert_eq!(plain("2026. was a year"), "was a year");
        assert_eq!(plain("12345678901. x"), "12345678901. x");
        assert_eq!(plain("-"), "");
    }
}
