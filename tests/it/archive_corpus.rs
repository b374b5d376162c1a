//! Changes of a real project, by people who never saw this program, through the whole path onto the
//! specs that they were written for. Without the corpus the tests say so and pass.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use crate::spec_cases::shared;
use crate::support::archive::Yard;
use std::fs;
use std::path::{Path, PathBuf};

/// The specs below a folder, with their domains.
fn specs(dir: &Path) -> Vec<(String, String)> {
    fn walk(dir: &Path, top: &Path, out: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, top, out);
            } else if path.ends_with("spec.md") {
                let domain = dir.strip_prefix(top).expect("below").display().to_string();
                out.push((domain, fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    let mut out = Vec::new();
    walk(dir, dir, &mut out);
    out.sort();
    out
}

/// Takes a change of the corpus through every stage and archives it. Gives the diffstat of the commit.
fn archive(change: &str) -> Option<String> {
    let corpus: PathBuf = shared()?.join("corpus/openspec");
    if !corpus.is_dir() {
        eprintln!("skipped: no corpus in the folder `shared`");
        return None;
    }
    let known = specs(&corpus.join("specs"));
    let files: Vec<(String, String)> = known
        .iter()
        .map(|(domain, text)| (format!("specs/{domain}/spec.md"), text.clone()))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    let y = Yard::with(&files);
    let deltas = specs(&corpus.join("changes").join(change).join("specs"));
    let delta: String = deltas
        .iter()
        .map(|(domain, text)| format!("# Domain: {domain}\n\n{text}\n"))
        .collect();
    y.done(change, &delta);
    let dry = y.archive(change, &["--dry-run"]);
    let out = y.archive(change, &[]);
    assert_eq!(dry.json()["files"], out.json()["files"]);
    out.ok();
    let names = y.git(&["show", "--format=", "--name-only", "HEAD"]).ok();
    let wanted: String = deltas
        .iter()
        .map(|(domain, _)| format!("specs/{domain}/spec.md\n"))
        .collect();
    assert_eq!(names, wanted, "the domains of the delta and nothing else");
    for (domain, delta) in &deltas {
        let text = y.read(format!("specs/{domain}/spec.md"));
        let mut section = "";
        for line in delta.lines() {
            if line.starts_with("## ") {
                section = line;
            }
            let kept = section.starts_with("## ADDED") || section.starts_with("## MODIFIED");
            if kept && line.starts_with("### Requirement:") {
                let times = text.lines().filter(|l| *l == line).count();
                assert_eq!(times, 1, "{domain}: {line}");
            }
        }
    }
    y.clean();
    y.archived_once(change, change);
    let stat = y.git(&["show", "--stat=100", "HEAD"]).ok();
    eprintln!("{stat}");
    Some(stat)
}

#[test]
fn a_real_change_of_one_domain_is_archived() {
    archive("fix-archive-retirement-guidance");
}

#[test]
fn a_real_change_of_several_domains_is_archived() {
    archive("fix-cli-local-date-semantics");
}
