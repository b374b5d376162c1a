//! pre-receive against pushes whose objects and refs are changed at random: nothing breaks it, and nothing that it
//! takes is what git, or an honest history, does not have.
//!
//! `LOOPX_FUZZ_MINUTES=30 cargo test --test it receive_fuzz` goes on for so long, from `LOOPX_FUZZ_SEED` on, and names
//! the seed of each fault; `LOOPX_FUZZ_SEED=N LOOPX_FUZZ_CASES=1` makes that one again.

mod mutate;
mod oracle;
mod world;

use crate::support::{LOOPX, Output};
use mutate::Dice;
use oracle::broken;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use world::{Maker, Server, Updates, World};

/// A push of this length is slow, on a machine that does other things, too.
const SLOW: Duration = Duration::from_secs(40);

/// Numbers of pushes that were taken and refused.
#[derive(Debug, Default)]
struct Counts {
    taken: usize,
    refused: usize,
    /// Number of pushes that git itself refused, before the hook was asked.
    by_git: usize,
}

fn lines(server: &Server, updates: &Updates) -> String {
    let mut text = String::new();
    for (name, new) in updates {
        let old = server.refs.iter().find(|(known, _)| known == name);
        let old = old.map_or_else(|| "0".repeat(new.len()), |(_, id)| id.clone());
        let _ = writeln!(text, "{old} {new} {name}");
    }
    text
}

/// The updates of a list that git would carry out: each ref once, from where it is.
fn carried_out(server: &Server, text: &str) -> Updates {
    let mut found = Updates::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [old, new, name] = words.as_slice() else {
            return Updates::new();
        };
        let one = (name.to_string(), new.to_string());
        let known = lines(server, &vec![one.clone()]);
        if known != format!("{old} {new} {name}\n") || found.iter().any(|(known, _)| known == name)
        {
            return Updates::new();
        }
        found.push(one);
    }
    found
}

/// The hook as git starts it while what was pushed is in quarantine.
fn hook(world: &World, server: &Server, text: &[u8]) -> Output {
    let call = world.s.call(LOOPX).cwd(&server.dir);
    call.args(&["hook", "pre-receive"])
        .env("GIT_DIR", ".")
        .env("GIT_QUARANTINE_PATH", world.quarantine.join("objects"))
        .env("GIT_OBJECT_DIRECTORY", world.quarantine.join("objects"))
        .env(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            server.dir.join("objects"),
        )
        .stdin(text)
        .run()
}

/// Bytes that a client sends to git on a server: the refs, and a pack of these objects.
fn sent(world: &World, text: &str, made: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let end = if at == 0 {
            "\0report-status delete-refs"
        } else {
            ""
        };
        let format = match world.ids[0].len() {
            64 if at == 0 => " object-format=sha256",
            _ => "",
        };
        let line = format!("{line}{end}{format}\n");
        bytes.extend(format!("{:04x}{line}", line.len() + 4).bytes());
    }
    bytes.extend(b"0000");
    let listed: String = made.iter().map(|id| format!("{id}\n")).collect();
    let call = world
        .s
        .call("git")
        .cwd(&world.quarantine)
        .env("GIT_DIR", ".");
    let args = ["pack-objects", "--stdout", "--quiet"];
    let pack = call.args(&args).stdin(listed).run();
    bytes.extend(pack.bytes);
    bytes
}

/// Pushes by git itself; says what moved.
fn push(world: &World, server: &Server, bytes: Vec<u8>) -> (Output, Updates) {
    let dir = server.dir.to_str().expect("UTF-8");
    let out = world
        .s
        .call("git")
        .args(&["receive-pack", dir])
        .stdin(bytes)
        .run();
    let format = "--format=%(refname) %(objectname)";
    let now = world.s.git_in(&server.dir, &["for-each-ref", format]).ok();
    let mut moved = Updates::new();
    for line in now.lines() {
        let (name, id) = line.split_once(' ').expect("a ref");
        let one = (name.to_owned(), id.to_owned());
        if !server.refs.contains(&one) {
            moved.push(one);
        }
    }
    for (name, id) in &server.refs {
        if !now.contains(&format!("{name} ")) {
            moved.push((name.clone(), "0".repeat(id.len())));
        }
    }
    (out, moved)
}

/// Puts a server back to where it was.
fn back(world: &World, server: &Server, moved: &Updates) {
    for (name, _) in moved {
        world
            .s
            .git_in(&server.dir, &["update-ref", "-d", name])
            .ok();
    }
    for (name, id) in &server.refs {
        world.s.git_in(&server.dir, &["update-ref", name, id]).ok();
    }
}

/// Plays a case; says what was wrong about it.
fn case(world: &World, seed: u64, counts: &mut Counts) -> Result<(), String> {
    let mut dice = Dice(seed);
    let server = dice.of(&world.servers);
    let mut updates = dice.of(&server.honest).clone();
    let mut maker = Maker::new(world);
    let hidden: Vec<&str> = server.refs.iter().map(|(_, id)| id.as_str()).collect();
    for _ in 0..=dice.below(2) {
        let at = dice.below(updates.len());
        updates[at].1 = maker.mutated(&mut dice, &updates[at].1, &hidden);
    }
    let mut list = lines(server, &updates).into_bytes();
    if dice.one_in(6) {
        mutate::list(&mut dice, &mut list, &world.ids);
    }
    let text = String::from_utf8_lossy(&list).into_owned();
    let by_git = dice.one_in(8);
    let begun = Instant::now();
    let (out, moved) = if by_git {
        if dice.one_in(10) {
            let at = dice.below(maker.made.len().max(1));
            maker.made.truncate(at);
        }
        let mut bytes = sent(world, &text, &maker.made);
        if dice.one_in(20) {
            mutate::file(&mut dice, &mut bytes, &world.ids);
        }
        push(world, server, bytes)
    } else {
        let out = hook(world, server, &list);
        let moved = match out.code {
            Some(0) => carried_out(server, &text),
            _ => Updates::new(),
        };
        (out, moved)
    };
    let said = |what: &str| {
        format!(
            "LOOPX_FUZZ_SEED={seed}: {what}\n{:?}\n{text}{out}",
            maker.told
        )
    };
    let is_taken = !moved.is_empty() || !by_git && out.code == Some(0);
    if is_taken {
        counts.taken += 1;
    } else if by_git && !out.stderr.contains("git loopx") {
        counts.by_git += 1;
    } else {
        counts.refused += 1;
    }
    if begun.elapsed() > SLOW {
        return Err(said("it is slow"));
    }
    let bad = if by_git {
        out.stderr.contains("panicked") || out.stderr.contains("bug")
    } else {
        broken(&out) || !matches!(out.code, Some(0 | 1))
    };
    let wrong = world.wrong(server, &moved);
    if by_git && !moved.is_empty() {
        back(world, server, &moved);
    }
    if bad {
        return Err(said("it broke"));
    }
    wrong.map_or(Ok(()), |what| Err(said(&what)))
}

/// Asserts that what honest people push is taken, in both ways.
fn honest(world: &World) {
    for server in &world.servers {
        for updates in &server.honest {
            let text = lines(server, updates);
            hook(world, server, text.as_bytes()).ok();
            let (out, moved) = push(world, server, sent(world, &text, &[]));
            assert_eq!(
                moved.len(),
                updates
                    .iter()
                    .filter(|one| !server.refs.contains(one))
                    .count(),
                "{out}"
            );
            assert_eq!(world.wrong(server, &moved), None);
            back(world, server, &moved);
        }
    }
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_mutant_of_a_push_breaks_the_judge_or_passes_it() {
    let first = asked("LOOPX_FUZZ_SEED").unwrap_or(1);
    let Some(minutes) = asked("LOOPX_FUZZ_MINUTES") else {
        let world = World::of_seed(first);
        let cases = asked("LOOPX_FUZZ_CASES").unwrap_or(20);
        for seed in first..first + cases {
            if let Err(why) = case(&world, seed, &mut Counts::default()) {
                panic!("{why}");
            }
        }
        return;
    };
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let mut faults = Vec::new();
    let mut seed = first;
    while Instant::now() < end {
        let world = World::of_seed(seed);
        honest(&world);
        let mut counts = Counts::default();
        let last = (seed / 1000 + 1) * 1000;
        while seed < last && Instant::now() < end {
            if let Err(why) = case(&world, seed, &mut counts) {
                report(&why);
                faults.push(why);
            }
            seed += 1;
            if seed.is_multiple_of(50) {
                world.clean();
            }
        }
        report(&format!(
            "up to seed {seed}: {counts:?}, {} faults",
            faults.len()
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[expect(
    clippy::print_stderr,
    reason = "the faults and counts of a long run are its result"
)]
fn report(what: &str) {
    eprintln!("{what}");
}
