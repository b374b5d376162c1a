//! Laws of the merge, over random specs and random pairs of edits.

use git_loopx::testing::FileMerge;
use git_loopx::testing::driver;
use git_loopx::testing::{Apply, apply};
use loopx_spec::{
    Action, Bases, Conflict, ConflictKind, DomainOutcome, MarkerNames, Merged, PlanOptions,
    Severity, merge_spec, plan_domain, read_delta, read_spec,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::fs;
use std::path::Path;

#[derive(Clone, Debug)]
struct Req {
    name: String,
    body: Vec<String>,
    scenarios: Vec<(String, Vec<String>)>,
    note: bool,
}

#[derive(Clone, Debug)]
enum Edit {
    Body(usize, usize),
    Step(usize, usize, usize),
    Remove(usize),
    Add(usize, u8),
    Rename(usize, u8),
    Move(usize, usize),
    AddScenario(usize, u8),
    RemoveScenario(usize, usize),
    RenameScenario(usize, usize, u8),
    Purpose,
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = 0..6_usize;
    prop_oneof![
        (n.clone(), 0..3_usize).prop_map(|(a, b)| Edit::Body(a, b)),
        (n.clone(), 0..3_usize, 0..3_usize).prop_map(|(a, b, c)| Edit::Step(a, b, c)),
        n.clone().prop_map(Edit::Remove),
        (n.clone(), 0..4_u8).prop_map(|(a, b)| Edit::Add(a, b)),
        (n.clone(), 0..4_u8).prop_map(|(a, b)| Edit::Rename(a, b)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Move(a, b)),
        (n.clone(), 0..3_u8).prop_map(|(a, b)| Edit::AddScenario(a, b)),
        (n.clone(), 0..3_usize).prop_map(|(a, b)| Edit::RemoveScenario(a, b)),
        (n, 0..3_usize, 0..3_u8).prop_map(|(a, b, c)| Edit::RenameScenario(a, b, c)),
        Just(Edit::Purpose),
    ]
}

fn base() -> impl Strategy<Value = Vec<Req>> {
    proptest::collection::vec((1..3_usize, 1..4_usize, any::<bool>()), 0..6).prop_map(|shape| {
        shape
            .into_iter()
            .enumerate()
            .map(|(r, (lines, scenarios, note))| Req {
                name: format!("R{r}"),
                body: (0..lines)
                    .map(|l| format!("The system SHALL {r}.{l}."))
                    .collect(),
                scenarios: (0..scenarios)
                    .map(|s| {
                        let steps = ["WHEN", "THEN", "AND"];
                        let steps = steps.map(|w| format!("- **{w}** {r} {s} {w}"));
                        (format!("S{s}"), steps.to_vec())
                    })
                    .collect(),
                note,
            })
            .collect()
    })
}

/// Content that a side made: its requirements, its purpose.
type Side = (Vec<Req>, String);

fn change(base: &[Req], edits: &[Edit], who: &str) -> Side {
    let mut list = base.to_vec();
    let mut purpose = "What it is for.".to_owned();
    for edit in edits {
        let count = list.len();
        let at = |n: usize| n % count.max(1);
        match edit {
            Edit::Purpose => purpose = format!("What it is for, says {who}."),
            Edit::Add(n, name) => {
                let name = format!("New{name}");
                if list.iter().all(|r| r.name != name) {
                    let new = Req {
                        body: vec![format!("The system SHALL {name} of {who}.")],
                        scenarios: vec![("N".into(), vec![format!("- **THEN** {name} {who}")])],
                        name,
                        note: false,
                    };
                    list.insert(n % (count + 1), new);
                }
            }
            _ if count == 0 => {}
            Edit::Body(n, line) => {
                let body = &mut list[at(*n)].body;
                let line = line % body.len();
                body[line] = format!("{} Said {who}.", body[line]);
            }
            Edit::Step(n, s, step) => {
                let scenarios = &mut list[at(*n)].scenarios;
                if !scenarios.is_empty() {
                    let s = s % scenarios.len();
                    let steps = &mut scenarios[s].1;
                    let step = step % steps.len();
                    steps[step] = format!("{} by {who}", steps[step]);
                }
            }
            Edit::Remove(n) => drop(list.remove(at(*n))),
            Edit::Rename(n, name) => {
                let name = format!("Name{name}");
                if list.iter().all(|r| r.name != name) {
                    list[at(*n)].name = name;
                }
            }
            Edit::Move(from, to) => {
                let one = list.remove(at(*from));
                list.insert(to % count, one);
            }
            Edit::AddScenario(n, name) => {
                let name = format!("T{name}");
                let scenarios = &mut list[at(*n)].scenarios;
                if scenarios.iter().all(|s| s.0 != name) {
                    scenarios.push((name.clone(), vec![format!("- **THEN** {name} {who}")]));
                }
            }
            Edit::RemoveScenario(n, s) => {
                let scenarios = &mut list[at(*n)].scenarios;
                if scenarios.len() > 1 {
                    scenarios.remove(s % scenarios.len());
                }
            }
            Edit::RenameScenario(n, s, name) => {
                let name = format!("U{name}");
                let scenarios = &mut list[at(*n)].scenarios;
                if !scenarios.is_empty() && scenarios.iter().all(|s| s.0 != name) {
                    let s = s % scenarios.len();
                    scenarios[s].0 = name;
                }
            }
        }
    }
    (list, purpose)
}

fn block(one: &Req) -> String {
    let mut text = format!("### Requirement: {}\n{}\n", one.name, one.body.join("\n"));
    for (name, steps) in &one.scenarios {
        write!(text, "\n#### Scenario: {name}\n{}\n", steps.join("\n")).expect("a string");
    }
    text
}

fn write_spec((list, purpose): &Side) -> String {
    let mut text = format!("# demo Specification\n\n## Purpose\n{purpose}\n\n## Requirements\n");
    for one in list {
        write!(text, "\n{}", block(one)).expect("a string");
        if one.note {
            // Each note belongs to its place, not to the requirement above it.
            write!(text, "\n---\n").expect("a string");
        }
    }
    text
}

fn merge(base: &str, ours: &str, theirs: &str) -> Merged {
    merge_spec(base, ours, theirs, &FileMerge, MarkerNames::default())
}

fn key(conflict: &Conflict, swap: bool) -> (String, ConflictKind, String, String) {
    let (ours, theirs) = (conflict.ours.clone(), conflict.theirs.clone());
    if swap {
        (conflict.base.clone(), conflict.kind.swapped(), theirs, ours)
    } else {
        (conflict.base.clone(), conflict.kind, ours, theirs)
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES")
                .ok()
                .and_then(|n| n.parse().ok())
                .unwrap_or(cases),
        )
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_merge_is_symmetric_and_loses_nothing(
        base in base(),
        ours in proptest::collection::vec(edit(), 0..4),
        theirs in proptest::collection::vec(edit(), 0..4),
        crlf in any::<bool>(),
    ) {
        let end = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
        let b = end(write_spec(&(base.clone(), "What it is for.".into())));
        let (x, y) = (change(&base, &ours, "ours"), change(&base, &theirs, "theirs"));
        let (o, t) = (end(write_spec(&x)), end(write_spec(&y)));
        prop_assert_eq!(&merge(&b, &o, &b).text, &o);
        prop_assert_eq!(&merge(&b, &b, &t).text, &t);
        prop_assert_eq!(&merge(&b, &o, &o).text, &o);
        let (one, other) = (merge(&b, &o, &t), merge(&b, &t, &o));
        if one.conflicts.is_empty() {
            prop_assert_eq!(&one.text, &other.text);
            for side in [&o, &t] {
                for line in side.lines().filter(|l| !b.lines().any(|old| old == *l)) {
                    if !line.starts_with('#') && !line.contains("SHALL") {
                        let kept = one.text.lines().any(|l| l.contains(line));
                        prop_assert!(kept, "lost {:?} in\n{}", line, one.text);
                    }
                }
            }
            let spec = read_spec(one.text.as_bytes(), "x").expect("UTF-8");
            prop_assert!(
                spec.findings.iter().all(|f| !f.id.starts_with("duplicate")),
                "{:?}\n{}", spec.findings, one.text
            );
            prop_assert_eq!(one.text.contains('\r'), crlf);
            if crlf {
                prop_assert_eq!(one.text.matches('\n').count(), one.text.matches("\r\n").count());
            }
            for one_req in &base {
                let stays = |side: &Side| side.0.iter().any(|r| block(r) == block(one_req));
                if stays(&x) && stays(&y) {
                    prop_assert!(one.text.contains(end(block(one_req)).trim_end()));
                }
            }
        }
        let mut first: Vec<_> = one.conflicts.iter().map(|c| key(c, false)).collect();
        let mut second: Vec<_> = other.conflicts.iter().map(|c| key(c, true)).collect();
        first.sort();
        second.sort();
        prop_assert_eq!(first, second);
    }

    #[test]
    fn two_deltas_meet_in_either_order(
        base in base(),
        ours in proptest::collection::vec(edit(), 0..3),
        theirs in proptest::collection::vec(edit(), 0..3),
    ) {
        let b = write_spec(&(base.clone(), "What it is for.".into()));
        let first = delta_of(&base, &ours, "ours");
        let second = delta_of(&base, &theirs, "theirs");
        let (Some(x), Some(y)) = (plan(&b, &b, &first), plan(&b, &b, &second)) else {
            return Ok(());
        };
        let (Some(on_x), Some(on_y)) = (plan(&b, &x, &second), plan(&b, &y, &first)) else {
            let clean = |o: Option<String>| o.is_some();
            prop_assert_eq!(clean(plan(&b, &x, &second)), clean(plan(&b, &y, &first)),
                "\n{}\n-----\n{}\n----\n{}", first, second, b);
            return Ok(());
        };
        prop_assert_eq!(on_x, on_y);
    }

    #[test]
    fn no_text_makes_it_panic(
        a in text(), b in text(), c in text(),
    ) {
        let merged = merge(&a, &b, &c);
        if b == c {
            prop_assert_eq!(&merged.text, &b);
        }
        let delta = read_delta(a.as_bytes(), "delta");
        for one in &delta.domains {
            let bases = Bases { default: Some(b.clone()), ..Bases::default() };
            for target in [None, Some(c.as_str()), Some(b.as_str())] {
                let outcome = plan_domain(
                    "demo", &bases, target, one, &PlanOptions::default(), &FileMerge,
                );
                let _ = outcome.is_clean();
            }
        }
    }
}

/// Change of a delta to one requirement, in few words: so bodies of different requirements are alike, and what goes may
/// look like what comes.
#[derive(Clone, Debug)]
enum Short {
    Added(u8, [u8; 3]),
    Removed(u8),
    Modified(u8, [u8; 3]),
    Renamed(u8, u8, Option<[u8; 3]>),
}

fn shorts() -> impl Strategy<Value = Vec<Short>> {
    let body = || proptest::array::uniform3(0..4_u8);
    proptest::collection::vec(
        prop_oneof![
            (0..6_u8, body()).prop_map(|(n, b)| Short::Added(n, b)),
            (0..4_u8).prop_map(Short::Removed),
            (0..4_u8, body()).prop_map(|(n, b)| Short::Modified(n, b)),
            (0..4_u8, 0..6_u8, proptest::option::of(body()))
                .prop_map(|(n, to, b)| Short::Renamed(n, to, b)),
        ],
        1..4,
    )
}

fn short_block(name: &str, body: [u8; 3]) -> String {
    let words = ["alpha", "beta", "gamma", "delta"];
    let [a, b, c] = body.map(|n| words[usize::from(n)]);
    format!(
        "### Requirement: {name}\nThe system SHALL {a}.\nIt MUST {b}.\n\n\
         #### Scenario: S\n- **WHEN** it runs\n- **THEN** {c}\n"
    )
}

fn short_delta(ops: &[Short]) -> String {
    let mut parts = [String::new(), String::new(), String::new(), String::new()];
    for op in ops {
        match op {
            Short::Added(n, b) => {
                write!(parts[0], "\n{}", short_block(&format!("N{n}"), *b)).expect("a string");
            }
            Short::Modified(n, b) => {
                write!(parts[1], "\n{}", short_block(&format!("R{n}"), *b)).expect("a string");
            }
            Short::Removed(n) => {
                write!(parts[2], "\n### Requirement: R{n}\n**Reason**: x\n").expect("a string");
            }
            Short::Renamed(n, to, b) => {
                writeln!(parts[3], "- FROM: R{n}\n- TO: N{to}").expect("a string");
                if let Some(b) = b {
                    write!(parts[1], "\n{}", short_block(&format!("N{to}"), *b)).expect("a string");
                }
            }
        }
    }
    let kinds = ["ADDED", "MODIFIED", "REMOVED", "RENAMED"];
    let some = kinds.iter().zip(parts).filter(|(_, part)| !part.is_empty());
    some.map(|(kind, part)| format!("## {kind} Requirements\n{part}\n"))
        .collect()
}

/// The clean text, or what is to be decided, the same for swapped sides.
type Met = Result<String, Vec<(String, ConflictKind, String, String)>>;

fn met(base: &str, target: &str, delta: &str, swap: bool) -> Met {
    let read = read_delta(delta.as_bytes(), "delta");
    let bases = Bases {
        default: Some(base.to_owned()),
        ..Bases::default()
    };
    let options = PlanOptions {
        retire: true,
        ..PlanOptions::default()
    };
    let outcome = plan_domain(
        "demo",
        &bases,
        Some(target),
        &read.domains[0],
        &options,
        &FileMerge,
    );
    let mut fights: Vec<_> = outcome.conflicts.iter().map(|c| key(c, swap)).collect();
    fights.sort();
    match &outcome.action {
        _ if !outcome.is_clean() => Err(fights),
        Action::Write(text) => Ok(text.clone()),
        Action::Keep => Ok(target.to_owned()),
        Action::Retire => Ok(String::new()),
    }
}

proptest! {
    #![proptest_config(config(600))]

    /// E4: what a delta names (a removal beside an addition that looks like it, a rename with a new
    /// text) is known of the one that is archived second only. It must not decide.
    #[test]
    fn e04_archives_in_either_order_give_one_spec(
        bodies in proptest::collection::vec(proptest::array::uniform3(0..4_u8), 1..4),
        first in shorts(),
        second in shorts(),
    ) {
        let mut base = "# demo\n\n## Purpose\nP.\n\n## Requirements\n".to_owned();
        for (n, body) in bodies.iter().enumerate() {
            write!(base, "\n{}", short_block(&format!("R{n}"), *body)).expect("a string");
        }
        let deltas = [short_delta(&first), short_delta(&second)];
        let read_well = deltas.iter().all(|d| {
            let read = read_delta(d.as_bytes(), "delta");
            !read.findings.iter().any(|f| f.severity == Severity::Error)
        });
        if !read_well {
            return Ok(());
        }
        let made = deltas.each_ref().map(|delta| met(&base, &base, delta, false));
        let [Ok(x), Ok(y)] = &made else { return Ok(()) };
        if x.is_empty() || y.is_empty() {
            return Ok(());
        }
        let one = met(&base, x, &deltas[1], false);
        let other = met(&base, y, &deltas[0], true);
        prop_assert_eq!(one, other, "\n{}-----\n{}-----\n{}", base, deltas[0], deltas[1]);
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// The driver's files and the folders of `spec apply`, both ways round: two branches that archived one
    /// delta each merge to what archiving both gives, or both stop.
    #[test]
    fn merging_two_archives_is_archiving_both(
        base in base(),
        ours in proptest::collection::vec(edit(), 0..3),
        theirs in proptest::collection::vec(edit(), 0..3),
    ) {
        let b = write_spec(&(base.clone(), "What it is for.".into()));
        let deltas = [delta_of(&base, &ours, "ours"), delta_of(&base, &theirs, "theirs")];
        let dir = tempfile::tempdir().expect("a folder");
        let made = deltas.each_ref().map(|delta| applied(dir.path(), &b, &b, delta));
        let [Some(x), Some(y)] = made else { return Ok(()) };
        let both = [applied(dir.path(), &b, &x, &deltas[1]), applied(dir.path(), &b, &y, &deltas[0])];
        prop_assert_eq!(&both[0], &both[1]);
        let driven = [driven(dir.path(), &b, &x, &y), driven(dir.path(), &b, &y, &x)];
        prop_assert_eq!(&driven[0], &driven[1]);
        // The driver has no delta that names a rename: it follows those that it can tell.
        // And it has nobody to ask whether the last requirement may go.
        let emptied = driven[0].as_ref().is_some_and(|text| !text.contains("### Requirement"));
        if emptied && both[0].is_none() {
            return Ok(());
        }
        if !deltas.iter().any(|delta| delta.contains("RENAMED")) {
            prop_assert_eq!(&driven[0], &both[0], "{}\n-----\n{}\n-----\n{}", b, deltas[0], deltas[1]);
        }
        if let Some(text) = &driven[0] {
            for one in &base {
                let block = block(one);
                let block = block.trim_end();
                if x.contains(block) && y.contains(block) {
                    prop_assert!(text.contains(block), "{}\nchanged in\n{}", block, text);
                }
            }
        }
    }
}

/// Spec that `spec apply` makes of a spec in a folder, where it does.
fn applied(dir: &Path, base: &str, target: &str, delta: &str) -> Option<String> {
    if delta.is_empty() {
        return Some(target.to_owned());
    }
    let write = |path: &str, text: &str| {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("base/demo/spec.md", base);
    write("specs/demo/spec.md", target);
    write("delta.md", &format!("# Domain: demo\n\n{delta}"));
    let request = Apply {
        delta: dir.join("delta.md"),
        specs: dir.join("specs"),
        base: Some(dir.join("base")),
        retire: false,
    };
    let refused = apply(&request).expect("a verdict").refusal().is_some();
    let text = fs::read_to_string(dir.join("specs/demo/spec.md")).expect("the spec");
    if refused {
        assert_eq!(text, target, "a refusal changes nothing");
        return None;
    }
    Some(text)
}

/// Text that the merge driver leaves in OURS, where it is clean.
fn driven(dir: &Path, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let paths = [("O", base), ("A", ours), ("B", theirs)].map(|(name, text)| {
        let path = dir.join(name);
        fs::write(&path, text).expect("a file");
        path
    });
    let done = driver::merge(&paths[0], &paths[1], &paths[2]).expect("a merge");
    let text = fs::read_to_string(&paths[1]).expect("OURS");
    done.clean.then_some(text)
}

/// Lines that mean something, in an order that means nothing.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# Domain: demo"),
        Just("## Purpose"),
        Just("## Requirements"),
        Just("## ADDED Requirements"),
        Just("## MODIFIED Requirements"),
        Just("## REMOVED Requirements"),
        Just("## RENAMED Requirements"),
        Just("### Requirement: A"),
        Just("### Requirement: B"),
        Just("### Requirement:"),
        Just("<!-- id: a -->"),
        Just("After: A"),
        Just("#### Scenario: S"),
        Just("#### ADDED Scenario: T"),
        Just("#### REMOVED Scenario: S"),
        Just("#### RENAMED Scenario: S -> U"),
        Just("#### MODIFIED Scenario: S"),
        Just("#### Note"),
        Just("- FROM: `### Requirement: A`"),
        Just("- TO: B"),
        Just("---"),
        Just("==="),
        Just("```"),
        Just("<!--"),
        Just("-->"),
        Just("- **WHEN** x"),
        Just("- **THEN** y"),
        Just("The system SHALL é."),
        Just("   "),
        Just(""),
        Just("<<<<<<< a"),
        Just("\u{feff}"),
    ];
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just("")];
    proptest::collection::vec((line, end), 0..25)
        .prop_map(|lines| lines.into_iter().map(|(l, e)| format!("{l}{e}")).collect())
}

fn plan(base: &str, target: &str, delta: &str) -> Option<String> {
    let delta = read_delta(delta.as_bytes(), "delta");
    let Some(one) = delta.domains.first() else {
        return Some(target.to_owned());
    };
    let bases = Bases {
        default: Some(base.to_owned()),
        ..Bases::default()
    };
    let options = PlanOptions::default();
    let outcome = plan_domain("demo", &bases, Some(target), one, &options, &FileMerge);
    let DomainOutcome { action, .. } = &outcome;
    match action {
        _ if !outcome.is_clean() => None,
        Action::Write(text) => Some(text.clone()),
        Action::Keep => Some(target.to_owned()),
        Action::Retire => None,
    }
}

/// The delta that says what the edits did: renames, removals, whole blocks.
fn delta_of(base: &[Req], edits: &[Edit], who: &str) -> String {
    let edits: Vec<Edit> = edits
        .iter()
        .filter(|e| {
            !matches!(
                e,
                Edit::Move(..) | Edit::RemoveScenario(..) | Edit::RenameScenario(..)
            )
        })
        .cloned()
        .collect();
    // Numbers in the bodies tell which requirement a block was.
    let (list, purpose) = change(base, &edits, who);
    let origin = |one: &Req| {
        base.iter().find(|b| {
            one.scenarios.first().is_some_and(|s| {
                let mark = |l: &str| l.split_whitespace().nth(2).map(str::to_owned);
                s.1.first().and_then(|l| mark(l)) == b.scenarios[0].1.first().and_then(|l| mark(l))
                    && s.0 != "N"
            })
        })
    };
    let mut text = String::new();
    if purpose != "What it is for." {
        write!(text, "## Purpose\n{purpose}\n\n").expect("a string");
    }
    let mut parts = [String::new(), String::new(), String::new(), String::new()];
    for one in &list {
        match origin(one) {
            None => write!(parts[0], "\n{}", block(one)).expect("a string"),
            Some(old) => {
                if old.name != one.name {
                    writeln!(parts[3], "- FROM: {}\n- TO: {}", old.name, one.name)
                        .expect("a string");
                }
                if block(old).lines().skip(1).ne(block(one).lines().skip(1)) {
                    write!(parts[1], "\n{}", block(one)).expect("a string");
                }
            }
        }
    }
    for old in base {
        let gone = !list
            .iter()
            .any(|one| origin(one).is_some_and(|o| o.name == old.name));
        if gone {
            writeln!(parts[2], "### Requirement: {}", old.name).expect("a string");
        }
    }
    for (kind, part) in ["ADDED", "MODIFIED", "REMOVED", "RENAMED"]
        .iter()
        .zip(parts)
    {
        if !part.is_empty() {
            write!(text, "## {kind} Requirements\n{part}\n").expect("a string");
        }
    }
    text
}
