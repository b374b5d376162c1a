//! The animals of the repository zoo: one repository each in which the session [`ID`] is in build, and
//! the way in which a command is run there.

use super::drive::{Drive, ID};
use super::{Call, LOOPX, Output, Sandbox, copy_program};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

/// State of a repository that a refusal must leave as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    refs: String,
    /// The names of packs and loose objects.
    objects: Vec<PathBuf>,
    worktree: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Stand {
    /// The refs and objects are the same.
    pub(crate) fn is_stored_as(&self, other: &Stand) -> bool {
        (&self.refs, &self.objects) == (&other.refs, &other.objects)
    }
}

#[derive(Debug)]
pub(crate) struct Animal {
    pub(crate) s: Sandbox,
    /// Folder in which commands run.
    pub(crate) dir: PathBuf,
    common_dir: PathBuf,
    has_worktree: bool,
    env: Vec<(OsString, Option<OsString>)>,
    /// A shell line that runs `"$@"`, where a command does not start by itself.
    shell: Option<&'static str>,
    /// Set when objects may come from a remote while a command runs.
    pub(crate) is_partial: bool,
    /// Set when nothing below the folder may be written.
    is_locked: bool,
}

impl Animal {
    fn new(s: Sandbox) -> Self {
        let dir = s.path().to_owned();
        Animal {
            common_dir: dir.join(".git"),
            dir,
            s,
            has_worktree: true,
            env: Vec::new(),
            shell: None,
            is_partial: false,
            is_locked: false,
        }
    }

    fn at(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = self.s.path().join(dir);
        let common = self.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        self.common_dir = PathBuf::from(common.line());
        self
    }

    /// A variable of every command; `None` takes it away.
    fn env(mut self, name: &str, value: Option<&str>) -> Self {
        self.env
            .push((name.into(), value.map(|value| value.to_owned().into())));
        self
    }

    fn with_env<'s>(&self, mut call: Call<'s>) -> Call<'s> {
        for (name, value) in &self.env {
            call = match value {
                Some(value) => call.env(name, value),
                None => call.without_env(name),
            };
        }
        call
    }

    #[must_use]
    pub(crate) fn git(&self, args: &[&str]) -> Output {
        let call = self.s.call("git").cwd(&self.dir).args(args);
        self.with_env(call).run()
    }

    /// The binary under test, as everybody runs it here.
    pub(crate) fn loopx(&self, args: &[&str]) -> Call<'_> {
        let call = match self.shell {
            Some(line) => self.s.call("sh").args(&["-c", line, "sh", LOOPX]),
            None => self.s.call(LOOPX),
        };
        self.with_env(call.cwd(&self.dir).args(args))
    }

    /// The file of the worktree, where there is one.
    pub(crate) fn write(&self, path: &str, text: &str) {
        if self.has_worktree && !self.is_locked {
            self.s.write(self.work_dir().join(path), text);
        }
    }

    /// Commits a file of the worktree, where there is one.
    pub(crate) fn commit(&self, path: &str, text: &str) {
        if self.has_worktree {
            self.write(path, text);
            self.git(&[
                "-C",
                &self.work_dir().display().to_string(),
                "add",
                "--",
                path,
            ])
            .ok();
            self.git(&["commit", "--quiet", "-m", "Give sessions an end"])
                .ok();
        }
    }

    fn work_dir(&self) -> PathBuf {
        let named = self.env.iter().find(|(name, _)| name == "GIT_WORK_TREE");
        match named {
            Some((_, Some(path))) => PathBuf::from(path),
            _ => self.dir.clone(),
        }
    }

    pub(crate) fn stand(&self) -> Stand {
        let mut objects = Vec::new();
        for dir in fs::read_dir(self.common_dir.join("objects")).expect("objects") {
            let dir = dir.expect("an entry").path();
            for file in fs::read_dir(&dir).into_iter().flatten().flatten() {
                objects.push(file.path());
            }
        }
        objects.sort();
        let mut worktree = Vec::new();
        if self.has_worktree {
            worktree = self.s.snapshot(self.work_dir());
            worktree.retain(|(path, ..)| !path.starts_with(".git"));
        }
        Stand {
            refs: self.git(&["for-each-ref"]).ok(),
            objects: if self.is_partial { Vec::new() } else { objects },
            worktree,
        }
    }
}

/// An ordinary repository.
pub(crate) fn plain() -> Animal {
    let s = Drive::building().into_sandbox();
    for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        s.git(&["config", key, "true"]).ok();
    }
    Animal::new(s)
}

fn url(s: &Sandbox) -> String {
    format!("file://{}", s.path().display())
}

/// A clone with the branch of the session checked out. What `options` leave out stays out.
fn cloned(options: &[&str]) -> Animal {
    let animal = plain();
    let source = if options.contains(&"--shared") {
        animal.s.path().display().to_string()
    } else {
        url(&animal.s)
    };
    let args = [
        &["clone", "--quiet", "--branch", ID],
        options,
        &[&source, "../clone"],
    ];
    animal.s.git(&args.concat()).ok();
    let animal = animal.at("../clone");
    if !options.contains(&"--single-branch") {
        animal.git(&["branch", "main", "origin/main"]).ok();
    }
    animal
}

pub(crate) fn linked_worktree() -> Animal {
    let animal = plain();
    animal.git(&["switch", "--quiet", "--detach"]).ok();
    animal
        .git(&["worktree", "add", "--quiet", "../linked", ID])
        .ok();
    animal.at("../linked")
}

pub(crate) fn submodule() -> Animal {
    let animal = plain();
    fs::create_dir(animal.s.root().join("top")).expect("a folder");
    let top = |args: &[&str]| animal.s.git_in("../top", args).ok();
    top(&["init", "--quiet"]);
    let source = url(&animal.s);
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
    top(&[&allow[..], &["add", "--branch", ID, &source, "mod"]].concat());
    let animal = animal.at("../top/mod");
    animal.git(&["branch", "main", "origin/main"]).ok();
    animal
}

pub(crate) fn bare() -> Animal {
    let animal = plain();
    let source = url(&animal.s);
    animal
        .git(&["clone", "--quiet", "--bare", &source, "../bare.git"])
        .ok();
    let mut animal = animal.at("../bare.git");
    animal.has_worktree = false;
    animal
}

pub(crate) fn separate_git_dir() -> Animal {
    let animal = plain();
    animal
        .git(&["init", "--quiet", "--separate-git-dir", "../git dir"])
        .ok();
    animal.at(".")
}

pub(crate) fn alternates() -> Animal {
    cloned(&["--shared"])
}

pub(crate) fn shallow() -> Animal {
    cloned(&["--depth=1", "--no-single-branch"])
}

pub(crate) fn partial(filter: &str) -> Animal {
    let mut animal = cloned(&[filter]);
    animal.is_partial = true;
    animal
}

pub(crate) fn sparse_checkout(index: &str) -> Animal {
    let animal = plain();
    animal.commit("elsewhere/deep/file", "text\n");
    animal
        .git(&["config", "advice.sparseIndexExpanded", "false"])
        .ok();
    animal
        .git(&["sparse-checkout", "set", "--cone", index, "src", "specs"])
        .ok();
    animal
}

pub(crate) fn split_index() -> Animal {
    let animal = plain();
    animal.git(&["config", "core.splitIndex", "true"]).ok();
    animal.git(&["update-index", "--split-index"]).ok();
    animal
}

/// A repository of another format: driven there from the first command on.
pub(crate) fn format(options: &[&str]) -> Animal {
    Animal::new(Drive::building_in(options).into_sandbox())
}

/// `None` where nobody but root could make one.
pub(crate) fn other_owner() -> Option<Animal> {
    let animal = plain();
    if animal.dir.metadata().expect("a folder").uid() != 0 {
        return None;
    }
    let config = animal.s.root().join("home/gitconfig");
    let trusted = animal.s.root().display().to_string();
    animal
        .s
        .write(&config, format!("[safe]\n\tdirectory = {trusted}/*\n"));
    for path in [".", ".git", ".git/config"] {
        chown(animal.dir.join(path), Some(12_345), None).expect("a new owner");
    }
    Some(animal.env("GIT_CONFIG_GLOBAL", config.to_str()))
}

pub(crate) fn replaced() -> Animal {
    let animal = plain();
    // The first commit looks like HEAD to git: a tree that was never there.
    animal.git(&["replace", "main~0", "loopx"]).ok();
    animal
}

/// Names that differ in case alone, names and a message that are not UTF-8.
pub(crate) fn odd_names() -> Animal {
    use std::os::unix::ffi::OsStringExt;
    let animal = plain();
    for name in [
        &b"src/Demo.txt"[..],
        b"src/DEMO.TXT",
        b"src/\xff\xfe",
        b"src/a\nb",
    ] {
        let path = OsString::from_vec(name.to_vec());
        animal.s.write(PathBuf::from(path), "odd\n");
    }
    animal.git(&["add", "."]).ok();
    let message = animal.s.root().join("message");
    animal.s.write(&message, b"Gr\xfc\xdfe\n");
    let message = message.display().to_string();
    animal.git(&["commit", "--quiet", "-F", &message]).ok();
    animal
}

/// Sessions on a branch of another name, because `loopx/x` leaves no room for `loopx`.
pub(crate) fn other_branch() -> Animal {
    let animal = plain();
    for args in [
        &["branch", "--quiet", "-m", "loopx", "sessions"][..],
        &["branch", "loopx/x"],
        &["config", "loopx.branch", "sessions"],
    ] {
        animal.git(args).ok();
    }
    animal
}

pub(crate) fn extensions() -> Animal {
    let animal = plain();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.worktreeConfig", "true"),
        ("extensions.preciousObjects", "true"),
        ("extensions.partialClone", "origin"),
    ] {
        animal.git(&["config", key, value]).ok();
    }
    animal
}

/// The environment names everything, and commands run elsewhere.
pub(crate) fn environment() -> Animal {
    let animal = plain();
    let top = animal.dir.clone();
    let root = animal.s.root();
    fs::create_dir(root.join("elsewhere")).expect("a folder");
    let index = root.join("index");
    fs::copy(top.join(".git/index"), &index).expect("a copy");
    animal
        .env("GIT_DIR", top.join(".git").to_str())
        .env("GIT_WORK_TREE", top.to_str())
        .env("GIT_INDEX_FILE", index.to_str())
        .at("../elsewhere")
}

/// A clone of one commit of one branch, HEAD detached, nobody to be.
pub(crate) fn pipeline() -> Animal {
    let animal = cloned(&["--depth=1", "--single-branch"]);
    animal.git(&["checkout", "--quiet", "--detach"]).ok();
    let mut animal = animal.env("HOME", None).env("XDG_CONFIG_HOME", None);
    for role in ["AUTHOR", "COMMITTER"] {
        for part in ["NAME", "EMAIL"] {
            animal = animal.env(&format!("GIT_{role}_{part}"), None);
        }
    }
    animal.git(&["config", "user.useConfigOnly", "true"]).ok();
    animal
}

/// A repository of somebody who may read everything and write nothing; `None` where root cannot become somebody else.
pub(crate) fn read_only() -> Option<Animal> {
    let mut animal = plain();
    let root = animal.s.root();
    let is_root = root.metadata().expect("a folder").uid() == 0;
    if is_root {
        let tried = animal.s.call("setpriv").args(&["--version"]).command();
        let has_setpriv = { tried }.output().is_ok_and(|out| out.status.success());
        if !has_setpriv {
            return None;
        }
        // The way to the repository, and the binary, are open to everybody.
        animal.s.chmod(&root, 0o755);
        copy_program(root.join("bin/git-loopx"));
        animal.shell = Some(
            "shift; exec setpriv --reuid=65534 --regid=65534 --clear-groups -- git-loopx \"$@\"",
        );
        animal.s.chmod(root.join("tmp"), 0o777);
    } else {
        for path in walk(&animal.dir).into_iter().rev() {
            let mode = animal.s.mode(&path) & 0o555;
            animal.s.chmod(path, mode);
        }
        animal.is_locked = true;
    }
    let config = root.join("home/gitconfig");
    animal.s.write(&config, "[safe]\n\tdirectory = *\n");
    let config = config.display().to_string();
    Some(animal.env("GIT_CONFIG_GLOBAL", Some(&config)))
}

/// Folders before what is in them.
fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            found.extend(walk(&entry.path()))
        } else {
            found.push(entry.path())
        }
    }
    found
}

impl Drop for Animal {
    fn drop(&mut self) {
        if self.is_locked {
            // What may not be written cannot be removed.
            drop(
                std::process::Command::new("chmod")
                    .args(["-R", "u+w"])
                    .arg(&self.dir)
                    .status(),
            );
        }
    }
}

/// A repository on a disk on which no file can grow.
pub(crate) fn full_disk() -> Animal {
    let mut animal = plain();
    animal.shell = Some("trap '' XFSZ; ulimit -f 0; exec \"$@\"");
    animal
}
