//! Root tree of the index, where git has written it down: in the index's cache of trees, whose root `git commit` brings
//! up to date before it runs a hook, and then commits.
//!
//! The file is read forward once, and believed only where nothing is unusual: no conflict, nothing that
//! is announced and not added, no extension that changes what the entries mean. `None` says that the
//! entries themselves have to be asked.

use std::io::BufRead;

/// Length of the times, device, inode, mode, owner and size that stand before an entry's id.
const STAT: usize = 40;
/// Flags of an entry: it has a second pair, its stage, the length of its name.
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const NAME: u16 = 0x0fff;
/// Flag in the second pair.
const INTENT_TO_ADD: u16 = 0x2000;
/// Size of the largest cache of trees that is read: nobody waits for a larger one.
const MAX_CACHE: u64 = 64 << 20;

/// The root tree of an index of `length` bytes whose ids have `id_length` bytes.
pub(super) fn root_tree(index: impl BufRead, length: u64, id_length: usize) -> Option<Vec<u8>> {
    let mut index = Forward {
        from: index,
        left: length,
    };
    let checksum = u64::try_from(id_length).ok()?;
    let header: [u8; 12] = index.read()?;
    let version = number(&header[4..8])?;
    if !header.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(&header[8..])?;
    for _ in 0..count {
        index.skip_entry(version, id_length)?;
    }
    let mut root = None;
    while index.left > checksum {
        let head: [u8; 8] = index.read()?;
        let size = u64::from(number(&head[4..])?);
        if size + checksum > index.left {
            return None;
        }
        match &head[..4] {
            b"TREE" if root.is_some() || size > MAX_CACHE => return None,
            b"TREE" => {
                let mut bytes = vec![0; usize::try_from(size).ok()?];
                index.fill(&mut bytes)?;
                root = Some(root_of(&bytes, count, id_length)?);
            }
            // Who does not know an extension of such a name may pass it over; any other is to be known.
            name if name[0].is_ascii_uppercase() => index.skip(size)?,
            _ => return None,
        }
    }
    root.filter(|_| index.left == checksum)
}

/// The root in a cache of trees, if it is valid and about all entries.
fn root_of(cache: &[u8], count: u32, id_length: usize) -> Option<Vec<u8>> {
    // The root's path is empty; then follow how many entries and how many trees are below it.
    let rest = cache.strip_prefix(b"\0")?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (entries, _) = std::str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
    // A root that is out of date has -1.
    if entries.parse() != Ok(count) {
        return None;
    }
    rest[end + 1..].get(..id_length).map(<[u8]>::to_vec)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// File that is read forward, and the number of bytes that are left of it.
struct Forward<R> {
    from: R,
    left: u64,
}

impl<R: BufRead> Forward<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.left = self.left.checked_sub(u64::try_from(bytes.len()).ok()?)?;
        self.from.read_exact(bytes).ok()
    }

    fn read<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Some(bytes)
    }

    fn skip(&mut self, mut bytes: u64) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        while bytes > 0 {
            let here = self.from.fill_buf().ok()?.len();
            let step = usize::try_from(bytes).unwrap_or(here).min(here);
            if step == 0 {
                return None;
            }
            self.from.consume(step);
            bytes -= u64::try_from(step).ok()?;
        }
        Some(())
    }

    /// Passes a name over with the zero behind it. Gives its length.
    fn skip_name(&mut self) -> Option<u64> {
        let passed = u64::try_from(self.from.skip_until(0).ok()?).ok()?;
        self.left = self.left.checked_sub(passed)?;
        passed.checked_sub(1)
    }

    fn skip_entry(&mut self, version: u32, id_length: usize) -> Option<()> {
        if version < 4
            && let Some(length) = plain_entry(self.from.fill_buf().ok()?, id_length)
        {
            self.from.consume(length);
            self.left = self.left.checked_sub(u64::try_from(length).ok()?)?;
            return Some(());
        }
        let mut fixed = u64::try_from(STAT + id_length + 2).ok()?;
        self.skip(fixed - 2)?;
        let flags = u16::from_be_bytes(self.read()?);
        if flags & STAGE != 0 {
            return None;
        }
        if flags & EXTENDED != 0 {
            fixed += 2;
            let more = u16::from_be_bytes(self.read()?);
            if version < 3 || more & INTENT_TO_ADD != 0 {
                return None;
            }
        }
        if version == 4 {
            // How much of the name before stays, seven bits a byte.
            while self.read::<1>()?[0] & 0x80 != 0 {}
            return self.skip_name().map(drop);
        }
        let name = match flags & NAME {
            // Longer than the flags can say.
            NAME => self.skip_name()?,
            short => {
                let short = u64::from(short);
                self.skip(short)?;
                // At least one zero ends a name, and so many that the next entry begins at eight bytes.
                (self.read()? == [0]).then_some(short)?
            }
        };
        let padding = 8 - (fixed + name) % 8;
        self.skip(padding - 1)
    }
}

/// Length of an entry that lies whole in the bytes that were read, and has nothing unusual: nearly all do.
fn plain_entry(read: &[u8], id_length: usize) -> Option<usize> {
    let at = STAT + id_length;
    let flags = u16::from_be_bytes(read.get(at..at + 2)?.try_into().ok()?);
    if flags & (EXTENDED | STAGE) != 0 || flags & NAME == NAME {
        return None;
    }
    let end = at + 2 + usize::from(flags & NAME);
    let length = (end + 8) & !7;
    (*read.get(end)? == 0 && length <= read.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::root_tree;
    use proptest::prelude::*;

    /// An index as git writes it: entries with their flags and names, extensions, a checksum.
    fn index(version: u32, names: &[(&str, u16, u16)], extensions: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).expect("a number").to_be_bytes());
        for (name, flags, more) in names {
            let begin = bytes.len();
            bytes.extend([7; 60]);
            let length = u16::try_from(name.len()).expect("a number").min(0xfff);
            let extended = if *more == 0 { 0 } else { 0x4000 };
            bytes.extend((flags | extended | length).to_be_bytes());
            if *more != 0 {
                bytes.extend(more.to_be_bytes());
            }
            if version == 4 {
                bytes.extend([0x81, 0]);
            }
            bytes.extend(name.bytes());
            bytes.push(0);
            while version < 4 && !(bytes.len() - begin).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        for (name, content) in extensions {
            bytes.extend(name.bytes());
            bytes.extend(
                u32::try_from(content.len())
                    .expect("a number")
                    .to_be_bytes(),
            );
            bytes.extend(content);
        }
        bytes.extend([9; 20]);
        bytes
    }

    fn cache(entries: i32) -> (&'static str, Vec<u8>) {
        let mut bytes = format!("\0{entries} 1\n").into_bytes();
        if entries >= 0 {
            bytes.extend([3; 20]);
        }
        bytes.extend(b"src\x001 0\n");
        bytes.extend([4; 20]);
        ("TREE", bytes)
    }

    fn root(bytes: &[u8]) -> Option<Vec<u8>> {
        // Entries lie across the ends of a small buffer, and whole in a large one.
        let [small, large] = [17, 1 << 20].map(|capacity| {
            let buffered = std::io::BufReader::with_capacity(capacity, bytes);
            root_tree(buffered, bytes.len() as u64, 20)
        });
        assert_eq!(small, large);
        small
    }

    #[test]
    fn the_root_that_git_wrote_down_is_found_in_every_version() {
        let long = "n".repeat(5_000);
        let names = [
            ("a", 0, 0),
            ("src/bb", 0x8000, 0),
            (&long, 0, 0),
            ("ccc", 0, 0),
        ];
        for version in [2, 3, 4] {
            let bytes = index(version, &names, &[cache(4), ("UNTR", vec![1; 99])]);
            assert_eq!(root(&bytes), Some(vec![3; 20]), "version {version}");
            // One that is skipped in the worktree is in the tree all the same.
            if version > 2 {
                let names = [("a", 0, 0x4000)];
                assert!(root(&index(version, &names, &[cache(1)])).is_some());
            }
        }
    }

    #[test]
    fn whatever_is_unusual_is_not_believed() {
        let one = [("a", 0, 0)];
        let announced = [("a", 0, 0x2000)];
        let conflict = [("a", 0x1000, 0)];
        for (bytes, why) in [
            (index(2, &one, &[]), "no cache"),
            (index(2, &one, &[cache(-1)]), "out of date"),
            (index(2, &one, &[cache(2)]), "of other entries"),
            (index(3, &announced, &[cache(1)]), "announced"),
            (index(2, &conflict, &[cache(1)]), "a conflict"),
            (index(2, &one, &[("link", vec![0; 20]), cache(1)]), "split"),
            (index(2, &one, &[cache(1), ("sdir", vec![])]), "sparse"),
            (index(2, &one, &[cache(1), cache(1)]), "twice"),
            (index(5, &one, &[cache(1)]), "of another version"),
        ] {
            assert_eq!(root(&bytes), None, "{why}");
        }
        let whole = index(2, &one, &[cache(1)]);
        for end in 0..whole.len() {
            assert_eq!(root(&whole[..end]), None, "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_end_the_reader(
            version in 2_u32..5,
            cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut bytes = index(version, &[("a", 0, 0), ("src/b", 0, 0)], &[cache(2)]);
            for (at, byte) in cuts {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.extend(tail);
            if let Some(root) = root(&bytes) {
                prop_assert_eq!(root.len(), 20);
            }
        }
    }
}
