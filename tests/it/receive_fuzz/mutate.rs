//! Bytes of objects and of ref lists, changed at random.

/// Numbers from a seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % most.max(1) as u64).expect("a small number")
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Texts that mean something to some reader of records, commits or file systems.
const WORDS: [&str; 40] = [
    "",
    "0",
    "-1",
    "1e400",
    "9007199254740992",
    "18446744073709551616",
    "null",
    "true",
    "[]",
    "{}",
    "done",
    "review",
    "build",
    "clarify",
    "archived",
    "approved",
    "reviewed",
    "entered",
    "undone",
    "bound",
    "saved",
    "main",
    "refs/heads/main",
    "demo",
    "..",
    "../../x",
    "a/b",
    ".git",
    "Rita Reviewer <rita@example.org>",
    "Ada Author <ada@example.org>",
    "\\u0000",
    "\\ud800",
    "\u{202e}",
    "\n",
    "\0",
    "\"",
    "\\",
    "0000000000000000000000000000000000000000",
    "Loopx-Session: demo",
    "Loopx-State: 0123456789012345678901234567890123456789",
];

/// Changes bytes once, without regard to what they are.
fn blunt(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + 1 + dice.below(12)).min(bytes.len());
    match dice.below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 => drop(bytes.drain(at.min(end)..end)),
        2 => bytes.insert(at, *dice.of(&[0, b'\n', b' ', b'/', b'"', 0x80, 0xff])),
        3 => bytes.truncate(at),
        4 => {
            let word = dice.of(&WORDS).bytes();
            bytes.splice(at..at, word);
        }
        5 => {
            let piece = bytes[at.min(end)..end].to_vec();
            let to = dice.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        6 => {
            let piece = bytes[at.min(end)..end].to_vec();
            bytes.splice(at..at, piece.repeat(1 + dice.below(400)));
        }
        _ => bytes.extend_from_within(at..),
    }
}

/// Positions of the values of a JSON text: strings without their quotation marks, numbers and words.
fn values(text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let begun = at;
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += 1 + usize::from(text[at] == b'\\');
                }
                found.push((begun + 1, at.min(text.len())));
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                while at < text.len() && (text[at].is_ascii_alphanumeric() || text[at] == b'.') {
                    at += 1;
                }
                found.push((begun, at.max(begun + 1)));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Changes a file: a value of a record for another one, a line, or a few bytes.
pub(super) fn file(dice: &mut Dice, bytes: &mut Vec<u8>, ids: &[String]) {
    let places = values(bytes);
    match dice.below(6) {
        0..=2 if bytes.first() == Some(&b'{') && !places.is_empty() => {
            let (from, to) = *dice.of(&places);
            let new = match dice.below(4) {
                0 => {
                    let (from, to) = *dice.of(&places);
                    bytes[from..to].to_vec()
                }
                1 => dice.of(ids).clone().into_bytes(),
                _ => dice.of(&WORDS).as_bytes().to_vec(),
            };
            bytes.splice(from..to, new);
        }
        3 => lines(dice, bytes),
        _ => blunt(dice, bytes),
    }
}

/// Takes a line away, doubles it, moves it, or puts another one in.
fn lines(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut all: Vec<Vec<u8>> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if all.is_empty() {
        return;
    }
    let (at, to) = (dice.below(all.len()), dice.below(all.len()));
    match dice.below(4) {
        0 => drop(all.remove(at)),
        1 => all.insert(to, all[at].clone()),
        2 => all.swap(at, to),
        _ => all.insert(at, format!("{}\n", dice.of(&WORDS)).into_bytes()),
    }
    *bytes = all.concat();
}

/// Changes a commit: an id for another one, a person, a header, its message.
pub(super) fn commit(dice: &mut Dice, bytes: &mut Vec<u8>, ids: &[String]) {
    const LINES: [&str; 12] = [
        "author a\n",
        "author A <a@b> 99999999999999999999 +0000\n",
        "author A <a@b> -1 +0000\n",
        "committer <> 0 +9999\n",
        "encoding UTF-16\n",
        "gpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----\n",
        "mergetag object 0\n",
        "parent \n",
        "tree \n",
        " folded\n",
        "\n",
        "x\0y\n",
    ];
    let text = String::from_utf8_lossy(bytes).into_owned();
    match dice.below(9) {
        0 | 1 => {
            let heads: Vec<usize> = text
                .match_indices("tree ")
                .chain(text.match_indices("parent "))
                .map(|(at, word)| at + word.len())
                .filter(|at| at + ids[0].len() <= bytes.len())
                .collect();
            if !heads.is_empty() {
                let at = *dice.of(&heads);
                bytes.splice(at..at + ids[0].len(), dice.of(ids).bytes());
            }
        }
        2 => {
            let line = format!("parent {}\n", dice.of(ids));
            let at = text.find("author ").unwrap_or(0);
            bytes.splice(at..at, line.into_bytes());
        }
        3 => {
            if let (Some(at), Some(end)) = (text.find("parent "), text.find("author ")) {
                bytes.drain(at..end);
            }
        }
        4 => {
            let starts: Vec<usize> = (0..bytes.len())
                .filter(|at| *at == 0 || bytes[at - 1] == b'\n')
                .collect();
            let at = *dice.of(&starts);
            bytes.splice(at..at, dice.of(&LINES).bytes());
        }
        5 => {
            let id = dice.of(ids);
            let word = dice.of(&[
                "Loopx-Session",
                "Loopx-State",
                "Loopx-Event",
                "loopx-session",
            ]);
            let values = ["demo", "DEMO", "other", "", id, "demo\r"];
            let value = dice.of(&values);
            bytes.extend(format!("\n{word}: {value}\n").bytes());
        }
        6 => lines(dice, bytes),
        _ => blunt(dice, bytes),
    }
}

/// An entry of a tree.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) mode: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) id: Vec<u8>,
}

pub(super) fn entries(bytes: &[u8], length: usize) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(space) = rest.iter().position(|byte| *byte == b' ')
        && let Some(zero) = rest.iter().position(|byte| *byte == 0)
        && space < zero
        && zero + 1 + length <= rest.len()
    {
        found.push(Entry {
            mode: rest[..space].to_vec(),
            name: rest[space + 1..zero].to_vec(),
            id: rest[zero + 1..zero + 1 + length].to_vec(),
        });
        rest = &rest[zero + 1 + length..];
    }
    found
}

pub(super) fn written(entries: &[Entry]) -> Vec<u8> {
    let one = |entry: &Entry| [&entry.mode, &b" "[..], &entry.name, b"\0", &entry.id].concat();
    entries.iter().flat_map(one).collect()
}

/// Changes a tree: names, modes, order, and which objects it has.
pub(super) fn tree(dice: &mut Dice, bytes: &mut Vec<u8>, ids: &[String]) {
    const NAMES: [&[u8]; 26] = [
        b"",
        b".",
        b"..",
        b".git",
        b".GIT",
        b"git~1",
        b".git ",
        b".g\xe2\x80\x8cit",
        b"a/b",
        b"a\\b",
        b".gitmodules",
        b".gitattributes",
        b"loopx.toml",
        b"loopx.signers",
        b"AGENTS.md",
        b"evil.rs",
        b"\xff",
        b"\n",
        b"docs",
        b"src",
        b"sessions",
        b"archive",
        b"branches",
        b"state.json",
        b"ops",
        b"journal",
    ];
    const MODES: [&[u8]; 11] = [
        b"100644",
        b"100755",
        b"120000",
        b"160000",
        b"40000",
        b"040000",
        b"100664",
        b"0",
        b"",
        b"777777777777",
        b"x",
    ];
    let length = ids[0].len() / 2;
    let mut all = entries(bytes, length);
    let raw = |id: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
        (0..length).map(|at| digit(2 * at)).collect()
    };
    if all.is_empty() || dice.one_in(12) {
        return blunt(dice, bytes);
    }
    let (at, other) = (dice.below(all.len()), dice.below(all.len()));
    match dice.below(10) {
        0 => all[at].mode = dice.of(&MODES).to_vec(),
        1 => all[at].name = dice.of(&NAMES).to_vec(),
        2 => all.swap(at, other),
        3 => drop(all.remove(at)),
        4 => all.insert(other, all[at].clone()),
        5 => all[at].id = all[other].id.clone(),
        6 => all[at].id = raw(dice.of::<String>(ids)),
        7 => blunt(dice, &mut all[at].name),
        _ => {
            let mut new = all[other].clone();
            new.name = if dice.one_in(2) {
                dice.of(&NAMES).to_vec()
            } else {
                [&new.name[..], b"-2"].concat()
            };
            all.push(new);
        }
    }
    if !dice.one_in(4) {
        // As git would order it.
        all.sort_by_key(|entry| {
            let end: &[u8] = if entry.mode == b"40000" { b"/" } else { b"" };
            [&entry.name[..], end].concat()
        });
    }
    *bytes = written(&all);
}

/// Changes the list that git would have written to the hook.
pub(super) fn list(dice: &mut Dice, bytes: &mut Vec<u8>, ids: &[String]) {
    const NAMES: [&str; 16] = [
        "refs/heads/main",
        "refs/heads/Main",
        "refs/heads/release/1",
        "refs/heads/release/1/x",
        "refs/heads/release/",
        "refs/heads//main",
        "refs/heads/../heads/main",
        "refs/heads/loopx",
        "refs/tags/x",
        "refs/replace/x",
        "refs/loopx/shadow",
        "refs/remotes/origin/loopx",
        "refs/notes/x",
        "HEAD",
        "main",
        "refs/heads/\u{202e}",
    ];
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    if all.is_empty() || dice.one_in(5) {
        return blunt(dice, bytes);
    }
    let at = dice.below(all.len());
    let mut words: Vec<String> = all[at].splitn(3, ' ').map(str::to_owned).collect();
    let zero = "0".repeat(ids[0].len());
    match dice.below(6) {
        0 => words[2] = (*dice.of(&NAMES)).to_owned(),
        1 => words[dice.below(2)] = zero,
        2 => words[0].clone_from(dice.of(ids)),
        3 => words[1].clone_from(dice.of(ids)),
        4 => all.push(all[at].clone()),
        _ => {
            let new = format!("{zero} {} {}", dice.of(ids), dice.of(&NAMES));
            all.insert(at, new);
        }
    }
    if dice.below(6) < 4 || words.len() == 3 {
        all[at] = words.join(" ");
    }
    *bytes = all.join("\n").into_bytes();
    bytes.push(b'\n');
}
