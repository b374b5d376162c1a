//! Decision records: reading, numbering, status, the frozen body, links, and what is generated from them.
//!
//! The words: a *draft* has no number yet; a *record* has the number, or date, that its file name begins with;
//! an accepted record is *frozen*: a hash pins everything but status and links (reference spec-merge,
//! section 3). MADR 4, MADR 2, Nygard, adr-tools and `adrs` files are read, and kept byte for byte
//! outside what an edit is about.

pub mod check;
pub mod edit;
pub mod overview;
pub mod record;
pub mod renumber;
pub mod supersede;
pub mod text;
mod unread;

use loopx_base::hint::command;
pub use record::{Layout, Link, Record, Status};
pub use unread::{is_named_like_one, is_text, named_as_record, reads_like_one};

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::SessionId;

/// Beginning of the file name of every draft.
pub const DRAFT: &str = "draft-";

/// The name of the file of a record.
pub fn file_name(number: u32, slug: &str) -> String {
    format!("{number:04}-{slug}.md")
}

/// The date that a file name begins with, where it is a record's: `20240115-slug.md` (log4brains) or
/// `2024-01-15-slug.md`.
pub fn date_of(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".md")?;
    [8, 10].into_iter().find_map(|width| {
        let date = stem.get(..width)?;
        let slug = stem.get(width..)?.strip_prefix('-')?;
        let mut parts: Vec<&str> = date.split('-').collect();
        if let ([whole], 8) = (parts.as_slice(), width) {
            parts = vec![whole.get(..4)?, whole.get(4..6)?, whole.get(6..)?];
        }
        let [year, month, day] = parts.as_slice() else {
            return None;
        };
        let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_date = [year, month, day].into_iter().all(is_number)
            && (year.len(), month.len(), day.len()) == (4, 2, 2)
            && (1..=12).contains(&month.parse::<u8>().ok()?)
            && (1..=31).contains(&day.parse::<u8>().ok()?);
        (is_date && !slug.is_empty()).then_some(date)
    })
}

/// The number that a file name begins with, where it is a record's: `NNNN-slug.md`. More than six
/// digits are no number.
pub fn number_of(file: &str) -> Option<u32> {
    if date_of(file).is_some() {
        return None;
    }
    let (digits, rest) = file.split_once('-')?;
    let is_number =
        (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && rest.ends_with(".md") && rest.len() > ".md".len() {
        digits.parse().ok()
    } else {
        None
    }
}

/// The part of a file name between number, date or `draft-` and `.md`.
pub fn slug_of(file: &str) -> &str {
    let stem = file.strip_suffix(".md").unwrap_or(file);
    if let Some(date) = date_of(file) {
        return stem.get(date.len() + 1..).unwrap_or(stem);
    }
    match (number_of(file), stem.split_once('-')) {
        (Some(_), Some((_, slug))) => slug,
        _ => stem.strip_prefix(DRAFT).unwrap_or(stem),
    }
}

/// Tells whether a file of the folder is a record or a draft; README, index and templates are neither.
pub fn is_record(file: &str) -> bool {
    number_of(file).is_some()
        || date_of(file).is_some()
        || (file.starts_with(DRAFT) && file.ends_with(".md"))
}

/// A title as it was typed, on one line.
pub fn title(typed: &str) -> Result<String> {
    let title = typed
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    if title.is_empty() {
        return Err(
            Failure::usage(Code::TitleRequired, "expected a title, found nothing")
                .help(command!("adr new \"Use PostgreSQL\"")),
        );
    }
    Ok(title)
}

/// The slug of a title: folded as a session's id is, so that any title has one of its own.
pub fn slug(title: &str) -> Result<String> {
    SessionId::fold(title)
        // A device name of Windows, or no letter at all.
        .or_else(|_| SessionId::fold(&format!("adr {title}")))
        .map(String::from)
}

/// The next free number: one more than the largest. A gap is never filled: somebody may refer to it.
pub fn next_number<'f>(files: impl IntoIterator<Item = &'f str>) -> u32 {
    files
        .into_iter()
        .filter_map(number_of)
        .max()
        .unwrap_or(0)
        .saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::{
        Record, date_of, file_name, is_record, next_number, number_of, slug, slug_of, title,
    };

    #[test]
    fn file_names_are_told_apart() {
        for (file, number) in [
            ("0001-record.md", Some(1)),
            ("12-x.md", Some(12)),
            ("20240115-x.md", None),
            ("2024-01-15-x.md", None),
            ("2024-x.md", Some(2024)),
            ("README.md", None),
            ("0001-.md", None),
            ("0001-x.txt", None),
            ("draft-x.md", None),
        ] {
            assert_eq!(number_of(file), number, "{file}");
        }
        assert!(is_record("draft-x.md") && !is_record("index.md"));
        assert_eq!(slug_of("0007-a-b.md"), "a-b");
        assert_eq!(slug_of("draft-a-b.md"), "a-b");
        assert_eq!(slug_of("2024-01-15-a-b.md"), "a-b");
        assert_eq!(date_of("20240115-a.md"), Some("20240115"));
        assert_eq!(date_of("20241315-a.md").or(date_of("20240115.md")), None);
        assert_eq!(file_name(7, "x"), "0007-x.md");
        assert_eq!(next_number(["0003-a.md", "README.md", "0001-b.md"]), 4);
        assert_eq!(next_number([]), 1);
    }

    /// Pieces of which records, and what only looks like one, are made.
    const PIECES: [&str; 24] = [
        "\u{feff}",
        "---\n",
        "---\r\n",
        "status: accepted\n",
        "status:\n",
        "links:\n",
        "links: []\n",
        "- target: 2\n  kind: amends\n",
        "id: x1\n",
        "# 1. Ä\n",
        "# ADR-0001: T",
        "## Status\r\n",
        "## Status\n\n",
        "Accepted\n",
        "* Status: accepted\n",
        "Superceded by [2. X](0002-x.md)\n",
        "\n",
        "\r\n",
        "```\n",
        "## Context\n\ntext 登 0001-a.md\n",
        "<!-- loopx: id=a frozen=b -->\n",
        "<!-- loopx:",
        "Title\n===\n",
        "no line end",
    ];

    proptest::proptest! {
        #[test]
        fn no_text_makes_an_edit_panic_or_thaws_a_pin(
            picks in proptest::collection::vec(0..PIECES.len(), 0..14)
        ) {
            let text: String = picks.into_iter().map(|at| PIECES[at]).collect();
            let hash = |text: &str| text.bytes().map(u64::from).sum::<u64>().to_string();
            let to = crate::adr::edit::Target { number: Some(2), title: "X", file: "0002-x.md" };
            let accepted = crate::adr::edit::accept(&text, hash);
            let record = Record::read("0001-a.md", &accepted);
            let is_accepted = record.status == Some(crate::adr::Status::Accepted)
                && crate::adr::edit::holds(&record, hash) == Some(true);
            let linked = crate::adr::edit::add_link(&accepted, "amended by", to);
            let gone = crate::adr::edit::supersede(&linked, to);
            for text in [&linked, &gone] {
                let edited = Record::read("0001-a.md", text);
                // A status that cannot be read back (in an open fence) is refused by whoever accepts.
                if is_accepted {
                    proptest::prop_assert_eq!(crate::adr::edit::holds(&edited, hash), Some(true), "{:?} {:?}", accepted, text);
                }
            }
            proptest::prop_assert_eq!(crate::adr::edit::pinned(&text.replace('\r', "")), crate::adr::edit::pinned(&text));
            let records = [record, Record::read("0002-x.md", &gone)];
            let step = crate::adr::renumber::single(&records, 1, 9, None).expect("a move");
            for record in &records {
                let _ = crate::adr::renumber::rewrite(record, "docs/adr", std::slice::from_ref(&step), hash);
            }
            let _ = crate::adr::overview::to_nygard(&text, &records);
            let _ = crate::adr::overview::graph(&records);
            let _ = crate::adr::overview::write_index(&text, "README.md", &records);
        }
    }

    #[test]
    fn any_title_has_a_slug() {
        for (typed, wanted) in [
            ("Use A|B & \"C\"", "use-a-b-c"),
            ("CON", "adr-con"),
            ("?!", "adr"),
            ("$(rm -rf /) `x` ../..", "rm-rf-x"),
        ] {
            assert_eq!(slug(typed).expect(typed), wanted);
        }
        assert_ne!(slug("登录").expect("slug"), slug("登出").expect("slug"));
        assert_eq!(title(" a\n\tb ").expect("title"), "a b");
        assert!(title(" \n").is_err());
    }
}
