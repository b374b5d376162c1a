//! Reads an OpenSpec tree from the file system. Links are not followed: they could lead anywhere.

use crate::flow::spec;
use loopx_base::failure::{Code, Failure, Result};
use loopx_rules::openspec::{Folder, Tree};
use loopx_spec::{check_domain, utf8};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads each file below `dir` by its path from there. Links are not followed: they are strays.
pub(super) fn walk(
    dir: &Path,
    below: &str,
    found: &mut BTreeMap<String, Vec<u8>>,
    strays: &mut Vec<String>,
) -> Result<()> {
    let mut open = vec![(dir.to_path_buf(), below.to_owned())];
    while let Some((folder, below)) = open.pop() {
        for (name, path, kind) in entries(&folder)? {
            let at = format!("{below}{name}");
            if kind.is_dir() && name != ".git" {
                open.push((path, format!("{at}/")));
            } else if kind.is_file() && name != ".git" {
                found.insert(at, spec::read(&path)?);
            } else {
                strays.push(at);
            }
        }
    }
    Ok(())
}

fn entries(dir: &Path) -> Result<Vec<(String, PathBuf, fs::FileType)>> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(
            Code::FileUnreadable,
            format!("cannot read `{}`: {error}", dir.display()),
        )
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().into_string().map_err(|name| {
            Failure::refused(
                Code::ImportNotUtf8,
                format!(
                    "the name {} in `{}` is not UTF-8",
                    name.display(),
                    dir.display()
                ),
            )
            .help("rename it")
        })?;
        found.push((name, entry.path(), entry.file_type().map_err(unreadable)?));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// A folder itself, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Reads all files below the tree, sorted into specs, changes and strays.
pub(super) fn read_tree(root: &Path, label: &str) -> Result<Tree> {
    let mut tree = Tree::default();
    let (specs, changes) = (root.join("specs"), root.join("changes"));
    for (name, path, kind) in entries(root)? {
        match name.as_str() {
            "specs" | "changes" if kind.is_dir() => {}
            _ if kind.is_dir() => {
                let mut inside = BTreeMap::new();
                walk(&path, &format!("{name}/"), &mut inside, &mut tree.strays)?;
                tree.strays.extend(inside.into_keys());
            }
            _ => tree.strays.push(name),
        }
    }
    if is_folder(&specs) {
        let mut inside = BTreeMap::new();
        walk(&specs, "", &mut inside, &mut tree.strays)?;
        for (path, bytes) in inside {
            match path.strip_suffix("/spec.md") {
                Some(domain) => drop(tree.specs.insert(domain.to_owned(), bytes)),
                None => tree.strays.push(format!("specs/{path}")),
            }
        }
    }
    for (place, archive) in [("changes", false), ("changes/archive", true)] {
        let dir = if archive {
            changes.join("archive")
        } else {
            changes.clone()
        };
        if !is_folder(&dir) {
            continue;
        }
        for (name, path, kind) in entries(&dir)? {
            let at = format!("{place}/{name}");
            if !kind.is_dir() {
                tree.strays.push(at);
                continue;
            }
            if !archive && name == "archive" {
                continue;
            }
            let mut folder = Folder {
                path: at.clone(),
                files: BTreeMap::new(),
            };
            let mut links = Vec::new();
            walk(&path, "", &mut folder.files, &mut links)?;
            tree.strays
                .extend(links.iter().map(|link| format!("{at}/{link}")));
            if folder.is_change() {
                tree.changes.push(folder);
            } else {
                let files = folder.files.keys().map(|path| format!("{at}/{path}"));
                tree.strays.extend(files);
            }
        }
    }
    tree.strays.sort_unstable();
    if tree.specs.is_empty() && tree.changes.is_empty() {
        return Err(Failure::refused(
            Code::NotOpenspec,
            format!(
                "`{label}` is no OpenSpec tree: expected specs/<domain>/spec.md or changes/<id>/proposal.md in it"
            ),
        )
        .help("name the folder that has specs/ and changes/ in it"));
    }
    Ok(tree)
}

/// The specs as text. A name or a byte that cannot be kept stops everything.
pub(super) fn spec_texts(tree: &Tree, label: &str) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for (domain, bytes) in &tree.specs {
        let file = format!("{label}/specs/{domain}/spec.md");
        check_domain(domain).map_err(|why| {
            Failure::refused(Code::BadDomain, format!("{file}: {why}")).help("rename the folder")
        })?;
        let text = utf8(bytes, &file).map_err(|finding| {
            Failure::refused(
                Code::ImportNotUtf8,
                format!("{}:{}: {}", finding.file, finding.line, finding.message),
            )
            .help(finding.fix)
        })?;
        texts.insert(domain.clone(), text.to_owned());
    }
    Ok(texts)
}
