//! The files of another backlog, and the code that an import looks at. A link below what somebody names is not followed,
//! and no path is made of an id.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::foreign::roadmap::PLAN;
use loopx_rules::issue::foreign::{File, Format, detect};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// Paths of the folders and files of other programs in a repository.
const PLACES: [(&str, Format); 7] = [
    ("issues.jsonl", Format::Beads),
    (".beads/issues.jsonl", Format::Beads),
    (".workflow/issues/issues.jsonl", Format::Ccw),
    (".taskmaster/tasks/tasks.json", Format::TaskMaster),
    ("tasks", Format::Backlog),
    ("backlog/tasks", Format::Backlog),
    (".backlog/tasks", Format::Backlog),
];

/// The files of a backlog, and the links among them, which nobody follows.
pub(super) struct Found {
    pub format: Format,
    pub files: Vec<File>,
    pub links: Vec<String>,
}

/// Reads a backlog: a text, a file or a folder.
pub(super) fn read(named: &str, wanted: Option<Format>) -> Result<Found> {
    let mut links = Vec::new();
    let (format, files) = found(named, wanted, &mut links)?;
    links.sort();
    Ok(Found {
        format,
        files,
        links,
    })
}

fn found(
    named: &str,
    wanted: Option<Format>,
    links: &mut Vec<String>,
) -> Result<(Format, Vec<File>)> {
    let path = Path::new(named);
    let meta = fs::metadata(path).map_err(|error| {
        let failure = unreadable(named, &error);
        match wanted {
            Some(Format::Roadmap) => failure.help(command!("help roadmap import")),
            _ => failure,
        }
    })?;
    if wanted == Some(Format::Roadmap) {
        return Ok((Format::Roadmap, roadmap(path, meta.is_dir())?));
    }
    if meta.is_dir() {
        folder(path, wanted, links)
    } else {
        file(path, wanted, links)
    }
}

/// A roadmap of ccw: its document, the plan beside it, and the issues beside it or in the store of its workflow.
fn roadmap(path: &Path, is_folder: bool) -> Result<Vec<File>> {
    let dir = if is_folder {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let document = if is_folder {
        dir.join("roadmap.md")
    } else {
        path.to_owned()
    };
    let store = dir.join("../../issues/issues.jsonl");
    let mut files = Vec::new();
    for place in [document, dir.join(PLAN), dir.join("issues.jsonl"), store] {
        let is_new = |one: &File| Path::new(&one.name) != place;
        if is_file(&place) && files.iter().all(is_new) {
            files.push(load(&place)?);
        }
    }
    if files.iter().all(|one| one.name.ends_with(".jsonl")) {
        return Err(Failure::not_found(
            Code::ImportMissing,
            format!("{}: there is neither roadmap.md nor {PLAN}", dir.display()),
        )
        .help(command!("help roadmap import")));
    }
    Ok(files)
}

/// The format of a text, where nobody says it.
pub(super) fn format_of(file: &File, wanted: Option<Format>) -> Result<Format> {
    wanted.or_else(|| detect(&file.text)).ok_or_else(|| {
        let is_mark = |c: char| c.is_whitespace() || "[]\u{feff}".contains(c);
        if file.text.chars().all(is_mark) {
            return Failure::usage(
                Code::InputMissing,
                format!("{}: expected issues, found none", file.name),
            )
            .help(command!("help issue import"));
        }
        Failure::usage(
            Code::IssueFormatUnknown,
            format!(
                "{}: nothing tells whose backlog this is; say it: --format {}",
                file.name,
                Format::WORDS.join(", ")
            ),
        )
        .help(command!("help issue import"))
    })
}

fn file(
    path: &Path,
    wanted: Option<Format>,
    links: &mut Vec<String>,
) -> Result<(Format, Vec<File>)> {
    let one = read_file(path, path.display().to_string())?;
    let format = format_of(&one, wanted)?;
    let mut files = vec![one];
    if format == Format::Ccw
        && let Some(dir) = path.parent()
    {
        files.extend(beside(dir, links)?);
    }
    Ok((format, files))
}

fn folder(
    dir: &Path,
    wanted: Option<Format>,
    links: &mut Vec<String>,
) -> Result<(Format, Vec<File>)> {
    let mut found: Vec<(Format, PathBuf)> = Vec::new();
    for (place, format) in PLACES {
        let path = dir.join(place);
        let is_there = fs::symlink_metadata(&path).is_ok_and(|meta| match format {
            Format::Backlog => meta.is_dir(),
            _ => meta.is_file(),
        });
        if !is_there {
            continue;
        }
        // A name alone says only that it is JSON lines.
        let format = match place {
            "issues.jsonl" => format_of(&load(&path)?, wanted)?,
            _ => format,
        };
        if wanted.is_none_or(|wanted| wanted == format) {
            found.push((format, path));
        }
    }
    let named = dir.display();
    match found.as_slice() {
        [(Format::Backlog, tasks)] => Ok((Format::Backlog, backlog(tasks, links)?)),
        [(format, path)] => {
            let (format, mut files) = file(path, Some(*format), links)?;
            let history = path.with_file_name("issue-history.jsonl");
            if format == Format::Ccw && is_file(&history) {
                files.push(load(&history)?);
            }
            Ok((format, files))
        }
        [] => Err(Failure::not_found(
            Code::ImportMissing,
            format!("{named}: there is no backlog of a format that is known"),
        )
        .help(command!("help issue import"))),
        more => {
            let paths: Vec<String> = (more.iter())
                .map(|(_, path)| path.display().to_string())
                .collect();
            Err(Failure::usage(
                Code::IssueFormatUnknown,
                format!("{named} has more than one backlog: {}", paths.join(", ")),
            )
            .help("name one of them"))
        }
    }
}

/// The files of a Backlog.md folder.
fn backlog(tasks: &Path, links: &mut Vec<String>) -> Result<Vec<File>> {
    let root = tasks.parent().unwrap_or(tasks);
    let mut files = Vec::new();
    for name in ["config.yml", "config.yaml"] {
        let path = root.join(name);
        if is_file(&path) {
            files.push(load(&path)?);
        }
    }
    for folder in [
        "tasks",
        "completed",
        "drafts",
        "archive/tasks",
        "archive/drafts",
    ] {
        for path in inside(&root.join(folder), links)? {
            let stem = path.file_name().and_then(|name| name.to_str());
            let parts = stem.and_then(|name| name.split_once('-'));
            // `<prefix>-<number> - <title>.md`: a README beside the tasks is none.
            let is_task = parts.is_some_and(|(_, rest)| {
                rest.starts_with(|c: char| c.is_ascii_digit()) && rest.ends_with(".md")
            });
            if is_task {
                files.push(load(&path)?);
            }
        }
    }
    Ok(files)
}

/// Reads the files that lie beside the issues of ccw.
fn beside(dir: &Path, links: &mut Vec<String>) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for (folder, ends) in [
        ("solutions", ".jsonl"),
        ("queue", ".json"),
        ("queues", ".json"),
    ] {
        for path in inside(&dir.join(folder), links)? {
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.ends_with(ends) && name != "index.json") {
                files.push(load(&path)?);
            }
        }
    }
    Ok(files)
}

/// The files of a folder, sorted; links are none, and are named.
fn inside(dir: &Path, links: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let label = dir.display().to_string();
    let meta = fs::symlink_metadata(dir);
    if meta.as_ref().is_ok_and(fs::Metadata::is_symlink) {
        links.push(label);
        return Ok(Vec::new());
    }
    if !meta.is_ok_and(|meta| meta.is_dir()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| unreadable(&label, &error))? {
        let entry = entry.map_err(|error| unreadable(&label, &error))?;
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(fs::FileType::is_file) {
            found.push(entry.path());
        }
        if kind.is_ok_and(|kind| kind.is_symlink()) {
            links.push(entry.path().display().to_string());
        }
    }
    found.sort();
    Ok(found)
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn load(path: &Path) -> Result<File> {
    let name = path.display().to_string();
    let meta = fs::metadata(path).map_err(|error| unreadable(&name, &error))?;
    if !meta.is_file() {
        return Err(Failure::usage(
            Code::FileUnreadable,
            format!("{name}: expected a file, found none that is kept"),
        )
        .help(command!("help issue import")));
    }
    read_file(path, name)
}

/// Reads what is no folder: also what a shell hands over, as `<(...)` does.
fn read_file(path: &Path, name: String) -> Result<File> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path);
    file.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&name, &error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::usage(
            Code::FileUnreadable,
            format!("{name}: expected at most {LARGEST} bytes, found more"),
        )
        .help(command!("help issue import")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(File { name, text }),
        Err(error) => Err(Failure::refused(
            Code::ImportNotUtf8,
            format!(
                "{name} is not UTF-8 from byte {} on",
                error.utf8_error().valid_up_to()
            ),
        )),
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Failure::not_found(
            Code::ImportMissing,
            format!("there is no file and no folder `{name}`"),
        )
        .help(command!("help issue import"));
    }
    Failure::usage(
        Code::FileUnreadable,
        format!("cannot read `{name}`: {error}"),
    )
    .help(command!("help issue import"))
}
