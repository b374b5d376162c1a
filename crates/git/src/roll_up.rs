//! Rolling our small packs up into one: each step leaves a pack, and many packs make every look-up slow
//! and the user's next git command repack (reference git-stores, 4). Only packs of our own are touched.

use super::pack::{OURS, SETTLED};
use super::repo::Repo;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Number of small packs of ours that are too many.
const MANY: usize = 24;
/// Number of packs that are rolled up at once, at least.
const FEWEST: usize = 12;
/// A pack of this size has found its place; `gc` may take it on.
const LARGE: u64 = 2 << 20;
/// Bytes of objects, unpacked, that are rolled up at once: the work happens inside somebody's command. A small pack may
/// hold much more, where each object is a small difference to the one before.
const WORK: u64 = 8 << 20;

/// libgit2's settings for packing. It compares each object with ten others, which takes seconds where those are
/// trees of thousands of entries: so much memory is room for ten small ones and for one neighbour of a large
/// one, which is the same tree a step earlier.
const PACKING: &str = "loopx/packing";
const PACKING_TEXT: &str =
    "# Read by git loopx alone, when it packs.\n[pack]\n\twindowMemory = 384k\n";

impl Repo {
    /// Rolls up if there are many. Only a holder of the lock comes here, so that no other process of
    /// ours works on the same packs. Gives the packs that went.
    pub fn roll_up(&self) -> Result<usize> {
        let mut packs = self.small_packs(MANY);
        // What a multi-pack-index names must stay until git rewrites it.
        if packs.len() < MANY || self.pack_dir().join("multi-pack-index").exists() {
            return Ok(0);
        }
        packs.sort();
        let id_length = match self.inner.format() {
            git2::ObjectFormat::Sha1 => 20,
            git2::ObjectFormat::Sha256 => 32,
        };
        let mut chosen = Vec::new();
        let mut ids = HashSet::new();
        let (mut sum, mut work) = (0, 0);
        for (size, index) in packs {
            // Like with like: an object is written again about as often as the total doubles.
            if chosen.len() >= FEWEST && size > sum {
                break;
            }
            let bytes = std::fs::read(&index).map_err(|error| super::unwritable(&index, &error))?;
            let found = ids_of(&bytes, id_length).ok_or_else(|| damaged(&index))?;
            let Some(more) = self.unpacked(&found, WORK - work)? else {
                break;
            };
            ids.extend(found);
            work += more;
            sum += size;
            chosen.push(index);
        }
        if chosen.len() < 2 {
            return Ok(0);
        }
        reach("roll-up-begins");
        let mut ids: Vec<Oid> = ids.into_iter().collect();
        ids.sort();
        self.bound_comparing();
        // Two of this size would be too much at once.
        let prefix = if work > WORK / 2 { SETTLED } else { OURS };
        let keep = self.write_pack(&ids, prefix)?;
        reach("roll-up-written");
        for index in &chosen {
            // Index first: a pack without one is no pack, an index without its pack is a broken one.
            drop(std::fs::remove_file(index));
            reach("roll-up-index-removed");
            for kind in ["pack", "rev"] {
                drop(std::fs::remove_file(index.with_extension(kind)));
            }
            reach("roll-up-pack-removed");
        }
        drop(std::fs::remove_file(keep));
        reach("roll-up-ends");
        Ok(chosen.len())
    }

    /// Sum of the bytes of objects, unpacked; `None` where the sum is more than `most`.
    fn unpacked(&self, ids: &[Oid], most: u64) -> Result<Option<u64>> {
        let mut sum = 0;
        for id in ids {
            sum += self.inner.object_size(id)?;
            if sum > most {
                return Ok(None);
            }
        }
        Ok(Some(sum))
    }

    /// Bounds the memory in which libgit2 compares objects. Where libgit2 cannot be told, packing takes longer.
    fn bound_comparing(&self) {
        let file = self.common_dir().join(PACKING);
        if std::fs::read_to_string(&file).ok().as_deref() != Some(PACKING_TEXT) {
            drop(self.write_shared(&file, PACKING_TEXT.as_bytes()));
        }
        self.inner.add_settings(&file);
    }

    /// Our packs that nobody keeps, by size, as their index files; none where there are fewer than so many.
    fn small_packs(&self, fewest: usize) -> Vec<(u64, PathBuf)> {
        let Ok(entries) = std::fs::read_dir(self.pack_dir()) else {
            return Vec::new();
        };
        let ours = entries.flatten().map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(OURS) && name.ends_with(".idx")
        });
        let ours: Vec<PathBuf> = ours.collect();
        if ours.len() < fewest {
            return Vec::new();
        }
        let ours = ours.into_iter();
        ours.filter(|index| !index.with_extension("keep").exists())
            .filter_map(|index| {
                let size = index.with_extension("pack").metadata().ok()?.len();
                (size < LARGE).then_some((size, index))
            })
            .collect()
    }
}

fn damaged(path: &Path) -> Failure {
    Failure::internal(
        Code::PackDamaged,
        format!("{}: not what a pack index says", path.display()),
    )
}

/// The ids in a pack index of version 2.
fn ids_of(index: &[u8], id_length: usize) -> Option<Vec<Oid>> {
    const HEADER: usize = 8;
    const TABLE: usize = 256 * 4;
    if index.get(..HEADER)? != [0xff, b't', b'O', b'c', 0, 0, 0, 2] {
        return None;
    }
    let last = index.get(HEADER + TABLE - 4..HEADER + TABLE)?;
    let count = usize::try_from(u32::from_be_bytes(last.try_into().ok()?)).ok()?;
    let names = index
        .get(HEADER + TABLE..)?
        .get(..count.checked_mul(id_length)?)?;
    names
        .chunks_exact(id_length)
        .map(|name| Oid::of_bytes(name).ok())
        .collect()
}
