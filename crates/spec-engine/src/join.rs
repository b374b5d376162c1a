//! Several delta files, one for each domain, as the one file that a session keeps.
//!
//! The bytes of each part stay; what parts them is a `# Domain: PATH` heading. The joined file is read
//! again and has to say what the parts said: what cannot be kept apart is refused, never guessed.

use super::delta::{domain_heading, read_delta};
use super::layout::Layout;
use super::operation::{Delta, DomainDelta, Operation, ScenarioOperation};
use loopx_base::findings::{Finding, Severity};

/// The delta of one domain, as a folder of deltas holds it.
#[derive(Clone, Copy, Debug)]
pub struct DeltaPart<'a> {
    pub domain: &'a str,
    /// The label in findings.
    pub file: &'a str,
    pub text: &'a str,
}

/// Delta in one file that takes the place of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedDelta {
    pub text: String,
    /// Delta of all the parts. Findings and lines are about the files that the parts came from.
    pub delta: Delta,
    /// Front matter of parts, by file: only its known keys have a place in the joined file.
    pub front: Vec<(String, String)>,
}

/// Findings that mean that a part may swallow what stands behind it.
const OPEN: [&str; 3] = ["unclosed_fence", "unclosed_comment", "unclosed_html"];

/// Joins the parts. `retire` allows whole domains to go, as the parts' own front matter may.
pub fn join_deltas(parts: &[DeltaPart<'_>], retire: bool) -> Result<JoinedDelta, Finding> {
    let mut joined = JoinedDelta::default();
    joined.delta.retire = retire;
    let mut pieces = Vec::new();
    for part in parts {
        let text = without_domain_titles(part.text);
        let mut read = read_delta(text.as_bytes(), part.file);
        let open = read.findings.iter().any(|f| OPEN.contains(&f.id));
        read.domains = vec![one_domain(read.domains, part)];
        let layout = Layout::read(&text);
        let body = match &layout.front {
            Some(front) => {
                let block = layout.slice(front).to_owned();
                joined.front.push((part.file.to_owned(), block));
                // The line that closes it goes with it.
                let rest = text.get(front.end..).unwrap_or_default();
                rest.split_once('\n').map_or("", |(_, rest)| rest)
            }
            None => &text,
        };
        pieces.push((open, part.domain, body.to_owned()));
        joined.delta.join(read);
    }
    // What does not end would take in the next part: it stands last.
    pieces.sort_by_key(|(open, ..)| *open);
    joined.text = front(&joined.delta);
    for (_, domain, body) in &pieces {
        if !joined.text.is_empty() {
            let gap = if joined.text.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            joined.text.push_str(gap);
        }
        joined.text.push_str(&format!("# Domain: {domain}\n\n"));
        joined.text.push_str(body);
    }
    let open = pieces.iter().filter(|(open, ..)| *open).count();
    if open < 2
        && let Some(part) = parts.iter().find(|part| !kept(part.domain, &joined))
    {
        return Err(Finding::new(
            Severity::Error,
            "delta_not_joinable",
            part.file,
            1,
            format!(
                "the delta of `{}` means something else beside the others",
                part.domain
            ),
            "close every fence, comment and HTML block in it",
        ));
    }
    Ok(joined)
}

/// Tells whether the joined file says the same of a domain as its part.
fn kept(domain: &str, joined: &JoinedDelta) -> bool {
    let find = |delta: &Delta| -> DomainDelta {
        let found = delta
            .domains
            .iter()
            .find(|d| d.domain.as_deref() == Some(domain));
        found.cloned().unwrap_or_default()
    };
    let again = read_delta(joined.text.as_bytes(), "");
    let (was, is) = (find(&joined.delta), find(&again));
    let purpose = |d: &DomainDelta| d.purpose.as_ref().map(|p| p.text.clone());
    purpose(&was) == purpose(&is)
        && was.operations.len() == is.operations.len()
        && was
            .operations
            .iter()
            .zip(&is.operations)
            .all(|(a, b)| same(a, b))
        && again.retire == joined.delta.retire
        && again.depends_on == joined.delta.depends_on
        && again.unchanged == joined.delta.unchanged
}

/// Tells whether two operations do the same, wherever they stand.
fn same(a: &Operation, b: &Operation) -> bool {
    let scenarios = |op: &Operation| -> Vec<_> {
        let of = |s: &ScenarioOperation| (s.op, s.name.clone(), s.to.clone());
        op.scenarios.iter().map(of).collect()
    };
    (
        a.kind,
        &a.name,
        &a.to,
        &a.reason,
        &a.migration,
        &a.after,
        a.patch,
        &a.text,
    ) == (
        b.kind,
        &b.name,
        &b.to,
        &b.reason,
        &b.migration,
        &b.after,
        b.patch,
        &b.text,
    ) && scenarios(a) == scenarios(b)
}

/// Puts the whole of a part into the domain of its folder, whatever domains the part names.
fn one_domain(read: Vec<DomainDelta>, part: &DeltaPart<'_>) -> DomainDelta {
    let mut whole = DomainDelta {
        domain: Some(part.domain.to_owned()),
        file: part.file.to_owned(),
        ..DomainDelta::default()
    };
    for one in read {
        whole.language = whole.language.or(one.language);
        whole.purpose = whole.purpose.or(one.purpose);
        whole.operations.extend(one.operations);
    }
    whole
}

/// A part's own title may read `Domain: ...`: here that would be an address. It stays a title.
fn without_domain_titles(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let layout = Layout::read(text);
    let mut out = text.to_owned();
    for section in layout.sections.iter().rev().filter(|s| s.level == 1) {
        if domain_heading(layout.slice(&section.title)).is_some() {
            out.insert_str(section.title.start, "Title: ");
        }
    }
    out
}

fn front(delta: &Delta) -> String {
    let mut text = String::new();
    if !delta.depends_on.is_empty() {
        text.push_str(&format!("depends_on: [{}]\n", delta.depends_on.join(", ")));
    }
    if delta.retire {
        text.push_str("retire: true\n");
    }
    if let Some(reason) = &delta.unchanged {
        text.push_str(&format!("behaviour: unchanged\nreason: {reason}\n"));
    }
    if text.is_empty() {
        text
    } else {
        format!("---\n{text}---\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{DeltaPart, join_deltas};
    use crate::read_delta;

    const A: &str = "# A Delta\n\n## ADDED Requirements\n\n### Requirement: One\nThe system SHALL do it.\n\n#### Scenario: S\n- **WHEN** a\n- **THEN** b";
    const B: &str = "# Domain: of something else\n## REMOVED Requirements\r\n\r\n### Requirement: Two\r\n**Reason**: gone\r\n";

    fn part<'a>(domain: &'a str, text: &'a str) -> DeltaPart<'a> {
        DeltaPart {
            domain,
            file: domain,
            text,
        }
    }

    #[test]
    fn the_joined_file_says_what_the_parts_say() {
        let front = "\u{feff}---\ndepends_on: [x]\nnote: kept\n---\n";
        let b = format!("{front}{B}");
        let joined = join_deltas(&[part("a", A), part("b/c", &b)], true).expect("joined");
        assert!(
            joined.text.starts_with(
                "---\ndepends_on: [x]\nretire: true\n---\n\n# Domain: a\n\n# A Delta\n"
            ),
            "{}",
            joined.text
        );
        assert!(
            joined
                .text
                .contains("\n\n# Domain: b/c\n\n# Title: Domain: of something else\n"),
            "{}",
            joined.text
        );
        let read = read_delta(joined.text.as_bytes(), "");
        assert_eq!(read.domains().collect::<Vec<_>>(), ["a", "b/c"]);
        assert_eq!(
            read.domains[1].operations[0].reason.as_deref(),
            Some("gone")
        );
        assert!(joined.front[0].1.contains("note: kept"));
    }

    #[test]
    fn a_part_that_does_not_end_stands_last_and_is_still_an_error() {
        let open = format!("{A}\n\n```\nnever closed\n");
        let joined = join_deltas(&[part("a", &open), part("b", B)], false).expect("joined");
        let read = read_delta(joined.text.as_bytes(), "");
        assert_eq!(read.domains().collect::<Vec<_>>(), ["b", "a"]);
        assert!(read.findings.iter().any(|f| f.id == "unclosed_fence"));
    }
}
