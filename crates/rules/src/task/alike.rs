//! Failures that repeat: whether the last runs of a check failed in one and the same way, so that another try shows
//! nothing new. What two runs never have alike (times, addresses, counts) is left out.

use std::collections::BTreeSet;

/// Number of runs that are enough where they fail alike, each on other code.
pub const ENOUGH: usize = 3;

/// Words by which a line of an output says that something failed.
const WORDS: [&str; 12] = [
    "fail",
    "failed",
    "failing",
    "failure",
    "failures",
    "error",
    "errors",
    "panicked",
    "assertion",
    "exception",
    "traceback",
    "fatal",
];

/// Failures that an output tells: its lines with a word of failing, figures left out; all of its lines where none has
/// one.
pub fn failures(output: &str) -> BTreeSet<String> {
    let says = |line: &&str| {
        let line = line.to_lowercase();
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        words.any(|word| WORDS.contains(&word))
    };
    let named: BTreeSet<String> = output.lines().filter(says).map(plain).collect();
    if named.is_empty() {
        output
            .lines()
            .map(plain)
            .filter(|line| !line.is_empty())
            .collect()
    } else {
        named
    }
}

/// A line without its figures and its colours.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut is_escape = false;
    for c in line.trim().chars() {
        match c {
            '\u{1b}' => is_escape = true,
            c if is_escape => is_escape = !c.is_ascii_alphabetic(),
            c if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Tells whether the newest runs failed alike, as often as is enough. The newest stands last; a run that printed
/// nothing said nothing.
pub fn are_alike(outputs: &[String]) -> bool {
    let Some(from) = outputs.len().checked_sub(ENOUGH) else {
        return false;
    };
    let last: Vec<BTreeSet<String>> = outputs[from..].iter().map(|one| failures(one)).collect();
    !last[0].is_empty() && last.iter().all(|one| *one == last[0])
}

#[cfg(test)]
mod tests {
    use super::are_alike;

    fn alike(outputs: &[&str]) -> bool {
        let outputs: Vec<String> = outputs.iter().map(|one| (*one).to_owned()).collect();
        are_alike(&outputs)
    }

    #[test]
    fn three_runs_that_name_the_same_failures_are_alike() {
        let one = "running 9 tests\ntest a ... FAILED\nfinished in 0.12s\n";
        let other = "running 9 tests\n\u{1b}[31mtest a ... FAILED\u{1b}[0m\nfinished in 3.4s\n";
        assert!(alike(&[one, other, one]));
        assert!(alike(&["test b failed", one, one, one]));
        assert!(!alike(&[one, one]));
        assert!(!alike(&[one, "test b ... FAILED\n", one]));
        assert!(!alike(&[
            one,
            one,
            "test a ... FAILED\ntest b ... FAILED\n"
        ]));
        // Silence says nothing of what failed.
        assert!(!alike(&["", "", ""]));
        assert!(alike(&[
            "no such file x\n",
            "no such file x\n",
            "no such file x"
        ]));
    }
}
