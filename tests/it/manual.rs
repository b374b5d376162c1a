//! Manual pages and completions: made from the command line, and usable where git looks for them.

use crate::support::Sandbox;
use std::path::Path;

#[test]
fn every_command_has_a_page_under_gits_name_for_it() {
    let s = Sandbox::new();
    s.loopx(&["man", "--install", "share"]).ok();
    let page = s.read("share/man1/git-loopx.1");
    for command in ["start", "approve", "archive", "verify"] {
        assert!(page.contains(command), "{command} is not in the main page");
        let own = s.read(format!("share/man1/git-loopx-{command}.1"));
        assert!(own.contains(&format!("git\\-loopx\\-{command}")), "{own}");
    }
    assert!(
        !s.exists("share/man1/git-loopx-hook.1"),
        "git calls it, people do not"
    );
}

/// The pages that a page names: `git\-loopx\-start(1)`.
fn named(page: &str) -> Vec<String> {
    let plain = page.replace("\\fR", "").replace("\\-", "-");
    let begins = plain.match_indices("git-loopx");
    let names = begins.filter_map(|(at, _)| plain[at..].split_once("(1)"));
    names
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.bytes().all(|b| b == b'-' || b.is_ascii_lowercase()))
        .collect()
}

#[test]
fn a_page_names_only_pages_that_there_are_and_has_the_sections_of_a_manual() {
    let s = Sandbox::new();
    s.loopx(&["man", "--install", "share"]).ok();
    let mut pages = 0;
    for entry in std::fs::read_dir(s.path().join("share/man1")).expect("the pages") {
        let name = entry.expect("a page").file_name();
        let name = name.to_string_lossy().into_owned();
        let page = s.read(format!("share/man1/{name}"));
        for other in named(&page) {
            assert!(
                s.exists(format!("share/man1/{other}.1")),
                "{name} names {other}"
            );
        }
        for section in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"] {
            assert!(
                page.contains(&format!("\n.SH {section}\n")),
                "{name} has no {section}"
            );
        }
        assert!(page.contains("    git loopx "), "{name} has no example");
        pages += 1;
    }
    assert!(pages > 80, "{pages}");
    let main = s.loopx(&["man"]).ok();
    for section in ["FILES", "CONFIGURATION"] {
        assert!(
            main.contains(&format!("\n.SH {section}\n")),
            "{section}\n{main}"
        );
    }
    for setting in loopx_rules::settings::SETTINGS {
        assert!(main.contains(setting.key), "{}", setting.key);
    }
    for known in ["gates.target", "approve.required", "docs/adr/", "74"] {
        assert!(main.contains(known), "{known}\n{main}");
    }
    let out = s
        .call(Path::new("man"))
        .args(&["-l", "--warnings", "share/man1/git-loopx.1"])
        .run();
    if out.code == Some(0) {
        assert_eq!(out.stderr, "", "{out}");
        assert!(out.stdout.contains("loopx.syncTimeout"), "{out}");
    }
}

#[test]
fn n17_an_installation_that_is_cut_off_leaves_no_half_page() {
    let s = Sandbox::new();
    s.write("pages/man1/git-loopx.1", "of before\n");
    let cut = "ulimit -f 8; exec git-loopx man --install pages";
    let out = s.call("sh").args(&["-c", cut]).run();
    assert_ne!(out.code, Some(0), "{out}");
    assert_eq!(s.read("pages/man1/git-loopx.1"), "of before\n");
    s.loopx(&["man", "--install", "pages"]).ok();
    assert!(s.read("pages/man1/git-loopx.1").len() > 4_096);
}

#[test]
fn man_is_installed_where_man_looks_and_it_says_where_it_does_not() {
    let s = Sandbox::new();
    s.program(
        "manpath",
        "#!/bin/sh\necho \"/usr/share/man:$HOME/pages\"\n",
    );
    let said = s.loopx(&["man", "--install"]).ok();
    assert!(
        said.contains("home/pages/man1") && said.contains("git help loopx"),
        "{said}"
    );
    assert!(s.root().join("home/pages/man1/git-loopx.1").exists());
    let said = s.loopx(&["man", "--install", "share"]);
    assert!(
        said.stderr.contains("`man` does not look in share"),
        "{said}"
    );
    s.program("manpath", "#!/bin/sh\necho /usr/share/man\n");
    let said = s.loopx(&["man", "--install"]);
    assert!(
        s.root()
            .join("home/.local/share/man/man1/git-loopx.1")
            .exists()
    );
    assert!(said.stderr.contains("export MANPATH="), "{said}");
    assert_eq!(
        s.loopx(&["--json", "man", "--install"]).json()["is_read"],
        false
    );
}
