//! `core.sharedRepository`: which mode a file or a folder of the git dir has, as git-config(1) says.

/// Permissions of other people to read and write the files in the git dir.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Permissions as the umask leaves them.
    #[default]
    Umask,
    /// Bits that every file has at least, whatever the umask.
    AtLeast(u32),
    /// Bits that every file has, and no others.
    Exactly(u32),
}

const GROUP: Sharing = Sharing::AtLeast(0o660);
const EVERYBODY: Sharing = Sharing::AtLeast(0o664);

impl Sharing {
    /// Reads the setting. `None` where git refuses it: the owner has to be able to read and write.
    pub fn parse(value: &str) -> Option<Self> {
        let lower = value.to_ascii_lowercase();
        Some(match lower.as_str() {
            "umask" | "false" | "no" | "off" => Sharing::Umask,
            // A key without a value is a yes, as everywhere in git's configuration.
            "group" | "true" | "yes" | "on" | "" => GROUP,
            "all" | "world" | "everybody" => EVERYBODY,
            octal => match u32::from_str_radix(octal, 8).ok()? {
                0 => Sharing::Umask,
                // What these numbers meant before modes could be given.
                1 => GROUP,
                2 => EVERYBODY,
                mode if mode & 0o600 == 0o600 => Sharing::Exactly(mode & 0o666),
                _ => return None,
            },
        })
    }

    /// The mode of a file that has `mode` by its umask. One that nobody may write stays so; one that can
    /// be run can be run by whoever reads it.
    pub fn file(self, mode: u32) -> u32 {
        let (Sharing::AtLeast(bits) | Sharing::Exactly(bits)) = self else {
            return mode;
        };
        let bits = if mode & 0o200 == 0 {
            bits & 0o444
        } else {
            bits
        };
        let bits = if mode & 0o100 == 0 {
            bits
        } else {
            bits | (bits & 0o444) >> 2
        };
        match self {
            Sharing::Exactly(_) => mode & !0o777 | bits,
            _ => mode | bits,
        }
    }

    /// The mode of a folder that has `mode` by its umask. What a group shares belongs to the group of the
    /// folder that it lies in.
    pub fn folder(self, mode: u32) -> u32 {
        let shared = self.file(mode);
        let of_group = self != Sharing::Umask && shared & 0o060 != 0;
        shared | if of_group { 0o2000 } else { 0 }
    }

    /// The umask under which others make files and folders that are shared so.
    pub fn umask(self, own: u32) -> u32 {
        match self {
            Sharing::Umask => own,
            _ => !self.file(0o777 & !own) & 0o777,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sharing;

    #[test]
    fn each_form_of_the_setting_is_read_as_git_reads_it() {
        for (value, file, folder, read_only) in [
            ("umask", 0o600, 0o700, 0o400),
            ("false", 0o600, 0o700, 0o400),
            ("0", 0o600, 0o700, 0o400),
            ("group", 0o660, 0o2770, 0o440),
            ("true", 0o660, 0o2770, 0o440),
            ("1", 0o660, 0o2770, 0o440),
            ("all", 0o664, 0o2775, 0o444),
            ("World", 0o664, 0o2775, 0o444),
            ("everybody", 0o664, 0o2775, 0o444),
            ("2", 0o664, 0o2775, 0o444),
            ("0660", 0o660, 0o2770, 0o440),
            ("0640", 0o640, 0o2750, 0o440),
            ("0600", 0o600, 0o700, 0o400),
        ] {
            let sharing = Sharing::parse(value).expect(value);
            assert_eq!(sharing.file(0o600), file, "{value}");
            assert_eq!(sharing.folder(0o700), folder, "{value}");
            assert_eq!(sharing.file(0o400), read_only, "{value}");
        }
        for value in ["0460", "nobody", "-1", "0x1ff"] {
            assert_eq!(Sharing::parse(value), None, "{value}");
        }
    }

    #[test]
    fn exact_bits_take_away_and_others_only_add() {
        let exactly = Sharing::parse("0640").expect("a mode");
        assert_eq!(exactly.file(0o644), 0o640);
        assert_eq!(exactly.file(0o755), 0o750);
        let group = Sharing::parse("group").expect("a word");
        assert_eq!(group.file(0o644), 0o664);
        assert_eq!(group.file(0o755), 0o775);
    }

    #[test]
    fn under_the_umask_of_a_sharing_files_are_made_as_it_says() {
        for own in [0o022, 0o077, 0o002] {
            for value in ["umask", "group", "all", "0660", "0640"] {
                let sharing = Sharing::parse(value).expect(value);
                let umask = sharing.umask(own);
                for (wanted, mode) in [(0o666, 0o666), (0o444, 0o444)] {
                    assert_eq!(
                        wanted & !umask,
                        sharing.file(mode & !own),
                        "{value} {own:o}"
                    );
                }
                let folder = sharing.folder(0o777 & !own) & 0o777;
                assert_eq!(0o777 & !umask, folder, "{value} {own:o}");
            }
        }
    }
}
