//! The source files of the program and of its crates, for tests that hold the code against its lists.

use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file below a folder of the checkout, sorted.
pub(crate) fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The files of the program and of all of its crates.
pub(crate) fn program() -> Vec<PathBuf> {
    let mut found = rust_files("src");
    found.extend(rust_files("crates"));
    found
}

/// The text of a source file.
pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a source file")
}
