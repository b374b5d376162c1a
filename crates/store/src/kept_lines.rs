//! Files of lines that the git dir keeps of what was read, with a sum at their end that tells a torn one from a whole
//! one. They are disposable. A long one is read and written line by line, so that it is never in memory beside what it
//! gives. This module must not know what the lines mean.

use flate2::Crc;
use loopx_git::Repo;
use loopx_git::sharing::SharedFile;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// A kept file that is being read.
pub(super) struct KeptLines {
    from: BufReader<File>,
    sum: Crc,
    line: Vec<u8>,
    is_whole: bool,
}

impl KeptLines {
    /// `None` where nothing is kept.
    pub(super) fn open(path: &Path) -> Option<Self> {
        Some(KeptLines {
            from: BufReader::with_capacity(1 << 16, File::open(path).ok()?),
            sum: Crc::new(),
            line: Vec::new(),
            is_whole: false,
        })
    }

    /// Next line. Behind the last one [`KeptLines::is_whole`] says whether the lines were the ones that were kept.
    pub(super) fn next_line(&mut self) -> Option<&str> {
        self.line.clear();
        self.from.read_until(b'\n', &mut self.line).ok()?;
        let line = self.line.strip_suffix(b"\n")?;
        if self.from.fill_buf().ok()?.is_empty() {
            self.is_whole = line == in_hex(&self.sum).as_bytes();
            return None;
        }
        self.sum.update(&self.line);
        std::str::from_utf8(line).ok()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// A kept file that is being written. It has its name once it is whole.
pub(super) struct KeptDraft<'r> {
    to: SharedFile<'r>,
    sum: Crc,
}

impl<'r> KeptDraft<'r> {
    /// Begins a file of kept lines; `None` where nothing can be kept: reading is slower then, and right.
    pub(super) fn begin(repo: &'r Repo, path: &Path, head: &impl Serialize) -> Option<Self> {
        let mut draft = KeptDraft {
            to: repo.begin_shared(path).ok()?,
            sum: Crc::new(),
        };
        let head = serde_json::to_string(head).ok()?;
        draft.line(&head).ok()?;
        Some(draft)
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        for part in [line.as_bytes(), b"\n"] {
            self.sum.update(part);
            self.to.write_all(part)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        let sum = in_hex(&self.sum);
        self.to.write_all(sum.as_bytes())?;
        self.to.write_all(b"\n")?;
        self.to.finish()
    }
}

fn in_hex(sum: &Crc) -> String {
    format!("{:08x}", sum.sum())
}

/// The sum that tells a torn text from a whole one.
pub(super) fn checksum(text: &str) -> String {
    let mut sum = Crc::new();
    sum.update(text.as_bytes());
    in_hex(&sum)
}

/// A kept text without the sum at its end, which has to fit.
pub(super) fn whole_text(text: &str) -> Option<&str> {
    let (whole, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let end = whole.len() + 1;
    (checksum(&text[..end]) == sum).then_some(&text[..end])
}
