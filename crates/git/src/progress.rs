//! git's progress without its complaints. What git complains of is read from what was kept, and said in words of
//! our own where it keeps something from being done; a remote without our branch does not.

use std::io::{Result, Write};

/// Beginnings of the lines in which git complains.
const COMPLAINTS: [&[u8]; 3] = [b"error: ", b"fatal: ", b"hint: "];

/// Filter that passes on what git writes to stderr, but for complaints.
pub(super) struct Progress<'w> {
    to: &'w mut (dyn Write + Send),
    at: At,
}

/// Place in a line of git's output.
enum At {
    /// Beginning of a line, which may still become a complaint's.
    Beginning(Vec<u8>),
    Passed,
    Complaint,
}

impl<'w> Progress<'w> {
    pub(super) fn to(to: &'w mut (dyn Write + Send)) -> Self {
        Progress {
            to,
            at: At::Beginning(Vec::new()),
        }
    }

    /// Passes on the text that was held back and became no complaint.
    pub(super) fn end(self) -> Result<()> {
        match self.at {
            At::Beginning(held) => self.to.write_all(&held),
            At::Passed | At::Complaint => Ok(()),
        }
    }

    /// Takes one byte; gives what may be passed on by now.
    fn take(&mut self, byte: u8) -> Vec<u8> {
        let (at, passed) = match std::mem::replace(&mut self.at, At::Passed) {
            At::Complaint => (At::Complaint, Vec::new()),
            At::Passed => (At::Passed, vec![byte]),
            At::Beginning(mut held) => {
                held.push(byte);
                if COMPLAINTS.contains(&held.as_slice()) {
                    (At::Complaint, Vec::new())
                } else if COMPLAINTS.iter().any(|one| one.starts_with(&held)) {
                    (At::Beginning(held), Vec::new())
                } else {
                    (At::Passed, held)
                }
            }
        };
        self.at = match byte {
            b'\n' | b'\r' => At::Beginning(Vec::new()),
            _ => at,
        };
        passed
    }
}

impl Write for Progress<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let passed: Vec<u8> = bytes.iter().flat_map(|byte| self.take(*byte)).collect();
        self.to.write_all(&passed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use std::io::Write;

    /// Progress is passed on and complaints are not, however the pipe cuts what git says.
    #[test]
    fn u14_progress_is_passed_on_and_complaints_are_not() {
        let said = "remote: Counting: 50%\rremote: Counting: 100%\nfatal: couldn't find remote ref \
                    refs/heads/loopx\nfate\nerror: cannot lock ref\nFrom it\nhint: pull\nhi";
        let wanted = "remote: Counting: 50%\rremote: Counting: 100%\nfate\nFrom it\nhi";
        for size in 1..=said.len() {
            let mut shown = Vec::new();
            let mut progress = Progress::to(&mut shown);
            for part in said.as_bytes().chunks(size) {
                progress.write_all(part).expect("written");
            }
            progress.end().expect("written");
            assert_eq!(String::from_utf8_lossy(&shown), wanted, "{size}");
        }
    }
}
