//! `core.sharedRepository` (T2 of the store's findings): what we make in the git dir has the mode that git
//! itself would give it, whatever the umask, so that whoever shares the repository can go on there.

use crate::support::store::{ID, READY, assert_whole};
use crate::support::{Call, LOOPX, Output, Sandbox, copy_program};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// Places in a git dir where we, or git for us, write.
const OURS: [&str; 6] = ["loopx", "objects", "refs", "logs", "hooks", "info"];

/// A command under a umask.
fn under<'s>(s: &'s Sandbox, umask: &str, words: &[&str]) -> Call<'s> {
    let script = format!("umask {umask}; exec \"$@\"");
    s.call("sh").args(&["-c", &script, "sh"]).args(words)
}

/// A repository that is shared so, with something in each place that we write to.
fn played(setting: &str, umask: &str) -> Sandbox {
    let s = Sandbox::empty("repo");
    let run = |words: &[&str]| under(&s, umask, words).run();
    let shared = format!("--shared={setting}");
    run(&["git", "init", "--quiet", &shared]).ok();
    // As it is spelled here, which git translates.
    run(&["git", "config", "core.sharedRepository", setting]).ok();
    // git gives them the mode when it makes them, and they are there already.
    fs::remove_dir_all(s.path().join(".git/hooks")).expect("hooks of the template");
    fs::remove_dir_all(s.path().join(".git/info")).expect("info of the template");
    s.write("code.txt", "code\n");
    run(&["git", "add", "code.txt"]).ok();
    run(&["git", "commit", "--quiet", "-m", "code"]).ok();
    run(&[LOOPX, "init"]).ok();
    run(&[LOOPX, "start", "Auth timeout"]).ok();
    let put = under(&s, umask, &[LOOPX, "-s", ID, "put", "spec.md"]);
    put.stdin(READY).durable().run().ok();
    run(&[LOOPX, "hooks", "install"]).ok();
    run(&[LOOPX, "agent", "install", "claude"]).ok();
    run(&[LOOPX, "-s", ID, "run", "--", "true"]).ok();
    run(&[LOOPX, "undo", "1"]).ok();
    run(&[LOOPX, "adr", "new", "Keep it"]).ok();
    run(&[LOOPX, "adr", "promote"]).ok();
    run(&[LOOPX, "rule", "add", "Be kind"]).ok();
    run(&[LOOPX, "list"]).ok();
    run(&[LOOPX, "fsck"]).ok();
    drop(run(&[
        "git",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "refused",
    ]));
    s
}

/// Every file and folder of ours in the git dir, with its mode.
fn modes(s: &Sandbox) -> Vec<(PathBuf, bool, u32)> {
    fn walk(dir: &Path, out: &mut Vec<(PathBuf, bool, u32)>) {
        let meta = fs::symlink_metadata(dir).expect("an entry");
        out.push((dir.to_owned(), meta.is_dir(), meta.mode() & 0o7777));
        if meta.is_dir() {
            for entry in fs::read_dir(dir).expect("a folder") {
                walk(&entry.expect("an entry").path(), out);
            }
        }
    }
    let mut out = Vec::new();
    for top in OURS {
        let dir = s.path().join(".git").join(top);
        for entry in fs::read_dir(&dir).into_iter().flatten() {
            walk(&entry.expect("an entry").path(), &mut out);
        }
    }
    out
}

/// Asserts that nothing of ours has fewer bits than `least`, nor more than `most`, under this umask.
#[track_caller]
fn assert_modes(setting: &str, umask: &str, least: u32, most: u32) -> Sandbox {
    let s = played(setting, umask);
    let mut wrong = Vec::new();
    for (path, is_dir, mode) in modes(&s) {
        let entered = |bits: u32| bits | (bits & 0o444) >> 2;
        let is_run = is_dir || mode & 0o100 != 0;
        let bits = if mode & 0o200 == 0 {
            least & 0o444
        } else if is_run {
            entered(least)
        } else {
            least
        };
        let above = if is_run { entered(most) } else { most };
        let of_group = !is_dir || setting == "umask" || mode & 0o2000 != 0;
        if mode & bits != bits || mode & 0o777 & !above != 0 || !of_group {
            wrong.push(format!("{} {mode:o}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{setting} {umask}\n{}", wrong.join("\n"));
    s
}

#[test]
fn t2_what_a_group_shares_the_group_can_write_under_either_umask() {
    assert_modes("group", "022", 0o660, 0o775);
    let s = assert_modes("true", "077", 0o660, 0o775);
    assert_whole(&s);
}

#[test]
fn t2_what_all_share_all_can_read_under_either_umask() {
    assert_modes("all", "022", 0o664, 0o775);
    assert_modes("everybody", "077", 0o664, 0o775);
}

#[test]
fn t2_a_mode_that_is_given_holds_exactly_and_no_sharing_leaves_the_umask() {
    assert_modes("0660", "022", 0o660, 0o660);
    assert_modes("0640", "077", 0o640, 0o640);
    assert_modes("umask", "077", 0o600, 0o755);
}

#[test]
fn t2_the_files_of_a_worktree_and_what_a_verification_makes_keep_the_umask_of_their_user() {
    let s = played("group", "077");
    let spec = format!(".loopx/{ID}/spec.md");
    assert_eq!(s.mode(&spec), 0o600);
    assert_eq!(s.mode("docs/adr/0001-keep-it.md"), 0o600);
    let made = [
        "-s",
        ID,
        "run",
        "--",
        "sh",
        "-c",
        "touch made && mkdir folder",
    ];
    let words = [&[LOOPX][..], &made].concat();
    under(&s, "077", &words).run().ok();
    assert_eq!((s.mode("made"), s.mode("folder")), (0o600, 0o700));
}

/// The group that both users of a repository are in.
const GROUP: u32 = 61_000;

/// A user of its own id, with a home.
struct User<'s> {
    s: &'s Sandbox,
    id: u32,
    home: PathBuf,
    program: PathBuf,
    top: PathBuf,
}

impl<'s> User<'s> {
    fn new(s: &'s Sandbox, id: u32, top: &str) -> Self {
        let home = s.root().join(format!("home-{id}"));
        s.write(home.join(".gitconfig"), "[safe]\n\tdirectory = *\n");
        let top = s.root().join(top);
        fs::create_dir(&top).expect("a folder");
        s.chmod(&top, 0o2770);
        for own in [&home, &top] {
            std::os::unix::fs::chown(own, Some(id), Some(GROUP)).expect("a folder of its own");
        }
        User {
            s,
            id,
            home,
            program: s.root().join("git-loopx"),
            top,
        }
    }

    /// Runs a command under the strictest umask.
    fn run(&self, words: &[&str], stdin: &str) -> Output {
        let program = self.program.to_str().expect("UTF-8");
        let words: Vec<&str> = words
            .iter()
            .map(|word| if *word == LOOPX { program } else { *word })
            .collect();
        let call = under(self.s, "077", &words)
            .cwd(&self.top)
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .without_env("GIT_CONFIG_GLOBAL")
            .env("GIT_AUTHOR_EMAIL", format!("{}@example.org", self.id))
            .stdin(stdin);
        call.run_as(|command| {
            command.uid(self.id).gid(GROUP);
        })
    }

    fn loopx(&self, words: &[&str]) -> Output {
        self.run(&[&[LOOPX], words].concat(), "")
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn t2_two_users_of_one_group_write_in_turn_and_git_reads_what_both_wrote() {
    let s = Sandbox::empty("unused");
    let root = s.root();
    if fs::metadata(&root).expect("a folder").uid() != 0 {
        eprintln!("skipped: only root can act as two users");
        return;
    }
    let is_open = |dir: &Path| fs::metadata(dir).is_ok_and(|meta| meta.mode() & 0o001 != 0);
    if !root.ancestors().skip(1).all(is_open) {
        eprintln!("skipped: other users cannot enter the folder of the tests");
        return;
    }
    copy_program(root.join("git-loopx"));
    for open in [root.clone(), root.join("bin")] {
        s.chmod(&open, 0o2775);
        std::os::unix::fs::chown(&open, None, Some(GROUP)).expect("a group");
    }
    let ada = User::new(&s, 61_001, "ada");
    let bob = User::new(&s, 61_002, "bob");
    let repo = ada.top.to_str().expect("UTF-8").to_owned();
    ada.run(&["git", "init", "--quiet", "--shared=group", &repo], "")
        .ok();
    ada.run(
        &["git", "commit", "--quiet", "--allow-empty", "-m", "a"],
        "",
    )
    .ok();
    ada.loopx(&["init"]).ok();
    ada.loopx(&["start", "Auth timeout"]).ok();
    ada.run(&[LOOPX, "put", "spec.md"], "# First\n").ok();
    ada.loopx(&["-s", ID, "run", "--", "true"]).ok();
    ada.loopx(&["fsck"]).says("all whole").ok();
    ada.loopx(&["hooks", "install"]).ok();
    ada.loopx(&["rule", "add", "Be kind"]).ok();
    let there = bob.top.to_str().expect("UTF-8");
    let linked = [
        "git", "-C", &repo, "worktree", "add", "--quiet", "-b", "bob", there,
    ];
    bob.run(&linked, "").ok();
    for turn in 0..3 {
        for user in [&bob, &ada] {
            let id = user.id;
            let title = format!("turn-{turn}-of-{id}");
            user.loopx(&["start", "--no-branch", &title]).ok();
            let text = format!("# {title}\n");
            user.run(&[LOOPX, "-s", ID, "put", "spec.md"], &text).ok();
            user.loopx(&["-s", ID, "undo"]).ok();
            user.loopx(&["list"]).ok();
            // Q1: the lock of the rules is everybody's.
            user.loopx(&["rule", "add", &format!("Be {title}")]).ok();
            user.loopx(&["fsck"]).says("all whole").ok();
            user.loopx(&["-s", ID, "status"]).ok();
            user.run(&["git", "log", "loopx"], "").says(&title).ok();
            user.run(&["git", "fsck", "--strict"], "").ok();
            let commit = ["git", "commit", "--quiet", "--allow-empty", "-m", "x"];
            drop(user.run(&commit, ""));
        }
    }
    bob.run(&["git", "-c", "gc.auto=1", "gc", "--quiet"], "")
        .ok();
    ada.run(&["git", "pack-refs", "--all"], "").ok();
    for user in [&bob, &ada] {
        user.loopx(&["fsck", "--full"]).says("all whole").ok();
        user.loopx(&["doctor", "--fix"]).ok();
    }
    assert_eq!(
        fs::metadata(root.join("ada/.git/loopx/lock"))
            .expect("the lock")
            .permissions()
            .mode()
            & 0o777,
        0o660
    );
}
