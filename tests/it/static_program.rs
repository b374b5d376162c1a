//! The program that `cargo static` builds has no loader and no libraries around it: what the C library would
//! load for it (who has which home, by the system's own lists) has to work without.
//!
//! LOOPX_TEST_STATIC names the program; without that there is nothing to test.

use crate::support::{Call, Sandbox};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user that no list of users has.
const NOBODY: u32 = 54_321;

#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("LOOPX_TEST_STATIC").filter(|path| !path.is_empty());
    if named.is_none() {
        eprintln!("skipped: LOOPX_TEST_STATIC names no program");
    }
    named.map(PathBuf::from)
}

fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    let bytes = bytes[at..at + length].iter().rev();
    bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// The kinds of an ELF file's program headers, 64 bits, and the kind of the file itself.
fn headers(program: &Path) -> (usize, Vec<usize>) {
    let bytes = std::fs::read(program).expect("the program");
    assert!(bytes.starts_with(b"\x7fELF\x02\x01"), "a program of Linux");
    let (from, size, count) = (
        number(&bytes, 32, 8),
        number(&bytes, 54, 2),
        number(&bytes, 56, 2),
    );
    let kinds = (0..count).map(|n| number(&bytes, from + n * size, 4));
    (number(&bytes, 16, 2), kinds.collect())
}

#[test]
fn v1_a_static_program_has_no_loader_and_a_fixed_place() {
    let Some(program) = program() else { return };
    const EXECUTABLE: usize = 2;
    const INTERPRETER: usize = 3;
    let (kind, parts) = headers(&program);
    assert_eq!(
        kind, EXECUTABLE,
        "position-independent: paid for at each start"
    );
    assert!(!parts.contains(&INTERPRETER), "{parts:?}");
}

#[test]
fn v1_a_static_program_plays_the_demo() {
    let Some(program) = program() else { return };
    let s = Sandbox::empty("repo");
    s.call(&program).args(&["demo"]).run().ok();
}

/// libgit2 asks who has which home where HOME does not say it.
#[test]
fn v1_a_static_program_needs_no_home_and_no_known_user() {
    let Some(program) = program() else { return };
    let s = Sandbox::new();
    s.commit_file("README.md", "a\n", "first").ok();
    fn homeless<'s>(s: &'s Sandbox, program: &Path, args: &[&str]) -> Call<'s> {
        let call = s.call(program).args(args);
        call.without_env("HOME").without_env("XDG_CONFIG_HOME")
    }
    let steps: [&[&str]; 5] = [
        &["init"],
        &["start", "one"],
        &["status"],
        &["hook", "pre-commit"],
        &["doctor"],
    ];
    for args in steps {
        homeless(&s, &program, args).run().ok();
    }
    if s.path().metadata().expect("a folder").uid() != 0 {
        return;
    }
    // Nobody else reads a sandbox, nor the folder of a build.
    let copy = s.root().join("static-program");
    let run = |name: &str, args: &[&OsStr]| {
        let ended = Command::new(name).args(args).status();
        assert!(ended.expect("it starts").success(), "{name} {args:?}");
    };
    run("cp", &[program.as_ref(), copy.as_ref()]);
    let root = s.root();
    run(
        "chown",
        &["-R".as_ref(), NOBODY.to_string().as_ref(), root.as_ref()],
    );
    for args in [
        ["status", "--json"],
        ["note", "seen"],
        ["hook", "pre-commit"],
    ] {
        let as_nobody = |command: &mut Command| {
            command.uid(NOBODY).gid(NOBODY);
        };
        homeless(&s, &copy, &args).run_as(as_nobody).ok();
    }
}
