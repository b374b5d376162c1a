//! Loose objects, looked at before libgit2 reads them: from one whose file ends in its middle, libgit2
//! 1.9 never comes back (its inflate loop waits for bytes that do not exist). This module inflates such a
//! file with zlib first and says what is wrong. It knows files and zlib, nothing of what objects mean but
//! a commit's parents.
//!
//! Objects that other repositories lend (alternates) are not looked at.

use super::backend::Git;
use super::repo::{oid, raw};
use super::unwritable;
use flate2::bufread::ZlibDecoder;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Number of commits that are checked before a walk: a torn file is among those that were written last, and a long
/// history should not be read twice.
const NEWEST: usize = 64;

/// The folders of one repository that hold loose objects.
pub(super) struct Loose {
    folders: Vec<PathBuf>,
    git: Git,
    /// The folders of loose objects that there are, below each of `folders`: those that come later hold nothing that
    /// was torn before this process began.
    spread: OnceCell<Vec<HashSet<OsString>>>,
    /// Objects that were looked at and may be read.
    harmless: RefCell<HashSet<Oid>>,
}

/// State of the file of a loose object.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// No file: the object is packed, in memory, or nowhere.
    Nothing,
    Whole,
    Damaged(PathBuf),
    /// The system does not let us read it.
    Closed(Failure),
}

impl Loose {
    pub(super) fn new(objects: &Path, git: Git) -> Self {
        let mut folders = vec![objects.to_path_buf()];
        if let Some(dir) = loopx_base::env::var_os(loopx_base::env::GIT_OBJECT_DIRECTORY) {
            folders.push(PathBuf::from(dir));
        }
        Loose {
            folders,
            git,
            spread: OnceCell::new(),
            harmless: RefCell::default(),
        }
    }

    /// Refuses an object whose only copy is a damaged file.
    pub(super) fn check(&self, id: &Oid) -> Result<()> {
        if self.harmless.borrow().contains(id) {
            return Ok(());
        }
        match self.look_at(id) {
            Found::Nothing | Found::Whole => {}
            Found::Damaged(_) if self.is_packed_too(id)? => {}
            Found::Damaged(file) => return Err(damaged(id, &file)),
            // git may read a packed copy; where it cannot be started, that is no other reason.
            Found::Closed(_) if self.is_packed_too(id).unwrap_or(false) => {}
            Found::Closed(failure) => return Err(failure),
        }
        self.harmless.borrow_mut().insert(id.clone());
        Ok(())
    }

    /// Refuses a damaged file among the newest commits that a walk from these meets; the check also goes down from
    /// commits that the walk hides.
    pub(super) fn check_commits<'i>(
        &self,
        repo: &git2::Repository,
        from: impl IntoIterator<Item = &'i Oid>,
    ) -> Result<()> {
        let mut met: HashSet<Oid> = HashSet::new();
        let mut next: VecDeque<Oid> = from.into_iter().cloned().collect();
        while let Some(id) = next.pop_front() {
            if met.len() == NEWEST || !met.insert(id.clone()) {
                continue;
            }
            self.check(&id)?;
            // What is missing, the walk itself says.
            if let Ok(commit) = repo.find_commit(raw(&id, repo.object_format())?) {
                for parent in commit.parent_ids() {
                    next.push_back(oid(parent)?);
                }
            }
        }
        Ok(())
    }

    /// Takes the torn file of an object away, where git reads a packed copy. One that stays is harmless.
    pub(super) fn drop_torn(&self, id: &Oid) {
        if let Found::Damaged(file) = self.look_at(id)
            && self.is_packed_too(id).is_ok_and(|packed| packed)
        {
            drop(std::fs::remove_file(file));
        }
    }

    /// Failure that can make an object look missing that is here: libgit2 passes over packs that it cannot open.
    pub(super) fn hidden(&self) -> Option<Failure> {
        // As many as it needs at once to read one object.
        const NEEDED: usize = 4;
        let mut open = VecDeque::new();
        for folder in self.folders.iter().map(|objects| objects.join("pack")) {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if is_absence(error.kind()) => continue,
                Err(error) => return Some(unwritable(&folder, &error)),
            };
            for path in entries.flatten().map(|entry| entry.path()) {
                match File::open(&path) {
                    Ok(file) => open.push_back(file),
                    Err(error) if is_absence(error.kind()) => {}
                    Err(error) => return Some(unwritable(&path, &error)),
                }
                if open.len() > NEEDED {
                    open.pop_front();
                }
            }
            while open.len() < NEEDED {
                match File::open(&folder) {
                    Ok(file) => open.push_back(file),
                    Err(error) => return Some(unwritable(&folder, &error)),
                }
            }
        }
        None
    }

    /// Tells whether git can read the object all the same: git and libgit2 take a packed copy first.
    fn is_packed_too(&self, id: &Oid) -> Result<bool> {
        let read = self.git.run(["cat-file", "-p", id.as_str()]).capture()?;
        Ok(read.ended.success())
    }

    fn spread(&self) -> &[HashSet<OsString>] {
        let list = |folder: &PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        };
        self.spread
            .get_or_init(|| self.folders.iter().map(list).collect())
    }

    /// Inflates the file of an object, where it has one.
    fn look_at(&self, id: &Oid) -> Found {
        let (folder, name) = id.as_str().split_at(2);
        for (objects, spread) in self.folders.iter().zip(self.spread()) {
            if !spread.contains(OsStr::new(folder)) {
                continue;
            }
            let path = objects.join(folder).join(name);
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if is_absence(error.kind()) => continue,
                Err(error) => return Found::Closed(unwritable(&path, &error)),
            };
            let mut inflated = ZlibDecoder::new(BufReader::new(file));
            return match std::io::copy(&mut inflated, &mut std::io::sink()) {
                Ok(_) => Found::Whole,
                Err(error) if is_about_the_bytes(error.kind()) => Found::Damaged(path),
                Err(_) => Found::Nothing,
            };
        }
        Found::Nothing
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn is_about_the_bytes(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData
    )
}

fn damaged(id: &Oid, file: &Path) -> Failure {
    let file: PathBuf = file
        .iter()
        .rev()
        .take(3)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    Failure::internal(
        Code::ObjectDamaged,
        format!(
            "the object {id} is damaged: its file {} ends too early or is not an object; \
             put it back from another clone or a backup",
            file.display()
        ),
    )
    .help(command!("doctor"))
}

#[cfg(test)]
mod tests {
    use super::{Found, Git, Loose};
    use loopx_base::failure::Code;
    use loopx_base::id::Oid;
    use std::io::Write;

    const ID: &str = "1234567890123456789012345678901234567890";

    fn object(bytes: &[u8]) -> (tempfile::TempDir, Loose) {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("12")).expect("a folder");
        std::fs::write(dir.path().join("12").join(&ID[2..]), bytes).expect("write");
        let loose = Loose::new(dir.path(), Git { in_hook: false });
        (dir, loose)
    }

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).expect("deflate");
        out.finish().expect("deflate")
    }

    fn state_of(bytes: &[u8]) -> Found {
        let (_dir, loose) = object(bytes);
        loose.look_at(&Oid::parse(ID).expect("an id"))
    }

    #[test]
    fn a_file_is_whole_only_at_its_full_length() {
        let text: String = (0..2000).map(|n| format!("line {n}\n")).collect();
        let whole = deflated(format!("blob {}\0{text}", text.len()).as_bytes());
        assert_eq!(state_of(&whole), Found::Whole);
        for cut in [
            0,
            1,
            2,
            10,
            whole.len() / 2,
            whole.len() - 5,
            whole.len() - 1,
        ] {
            let found = state_of(&whole[..cut]);
            assert!(matches!(found, Found::Damaged(_)), "{cut}: {found:?}");
        }
        let mut zeros = whole.clone();
        zeros[whole.len() / 2..].fill(0);
        assert!(matches!(state_of(&zeros), Found::Damaged(_)));
    }

    #[test]
    fn an_object_without_a_file_is_not_judged() {
        let (_dir, loose) = object(b"");
        let other = Oid::parse(&ID.replace('1', "a")).expect("an id");
        assert_eq!(loose.look_at(&other), Found::Nothing);
        assert!(loose.check(&other).is_ok());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let (_dir, loose) = object(b"");
        let id = Oid::parse(ID).expect("an id");
        let said = loose.check(&id).expect_err("a refusal");
        assert_eq!(said.code, Code::ObjectDamaged);
        assert!(said.message.contains(&format!("12/{}", &ID[2..])), "{said}");
    }
}
