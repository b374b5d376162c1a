//! Place of the folders of tests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Lets folders lie where temporary files do, from now on: a benchmark measures a disk.
pub(crate) fn on_disk() {
    PLACE.get_or_init(std::env::temp_dir);
}

/// A new folder for a test: in memory where there is room, since the making and removing of thousands of
/// small files is what a disk is slow at. TMPDIR chooses another place.
pub(super) fn folder() -> tempfile::TempDir {
    let place = PLACE.get_or_init(|| {
        if in_memory() && std::env::var_os("TMPDIR").is_none() {
            PathBuf::from(MEMORY)
        } else {
            std::env::temp_dir()
        }
    });
    tempfile::Builder::new()
        .prefix("loopx-test-")
        .tempdir_in(place)
        .expect("a temporary folder")
}

/// Folder in which Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";

/// Tells whether programs run there, and two gigabytes are free: the tests that run at one time need far less.
fn in_memory() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let options = mounts.lines().rev().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        (words.next() == Some(MEMORY) && words.next() == Some("tmpfs")).then(|| words.next())?
    });
    let runs = options.is_some_and(|options| {
        let mut options = options.split(',');
        options.clone().any(|one| one == "rw") && !options.any(|one| one == "noexec")
    });
    let said = Command::new("df").args(["-Pk", MEMORY]).output();
    let said = said.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let free = said.ok().and_then(|said| {
        let free = said.lines().nth(1)?.split_whitespace().nth(3)?;
        free.parse::<u64>().ok()
    });
    runs && free.is_some_and(|kilobytes| kilobytes > 2 << 20)
}
