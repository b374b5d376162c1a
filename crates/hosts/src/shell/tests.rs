//! Command lines as the shell reads them.

use super::commands;
use proptest::prelude::{ProptestConfig, proptest};

fn words(line: &str) -> Vec<Vec<String>> {
    commands(line).unwrap_or_else(|| panic!("cannot read {line:?}"))
}

#[test]
fn words_are_what_the_shell_would_hand_over() {
    for (line, wanted) in [
        (
            "git commit -m 'a b'",
            vec![vec!["git", "commit", "-m", "a b"]],
        ),
        (
            "a \"b 'c' \\\"d\\\"\" e\\ f",
            vec![vec!["a", "b 'c' \"d\"", "e f"]],
        ),
        (
            "a;b&&c||d|e&f\ng",
            vec![
                vec!["a"],
                vec!["b"],
                vec!["c"],
                vec!["d"],
                vec!["e"],
                vec!["f"],
                vec!["g"],
            ],
        ),
        ("a # b ; c\nd", vec![vec!["a"], vec!["d"]]),
        ("a b#c", vec![vec!["a", "b#c"]]),
        ("a 2>&1 >out b &>both c", vec![vec!["a", "b", "c"]]),
        (
            "(a b); { c; }",
            vec![vec!["a", "b"], vec!["{", "c"], vec!["}"]],
        ),
        ("a $(b c) d", vec![vec!["b", "c"], vec!["a", "", "d"]]),
        (
            "a \"x $(b 'y)') z\"",
            vec![vec!["b", "y)"], vec!["a", "x  z"]],
        ),
        ("a `b c`", vec![vec!["b", "c"], vec!["a", ""]]),
        (
            "a $((1 + (2))) ${x:-y z} $HOME",
            vec![vec!["a", "", "", "$HOME"]],
        ),
        ("a $'b\\'c'", vec![vec!["a", "b'c"]]),
        ("a \\\n b", vec![vec!["a", "b"]]),
    ] {
        assert_eq!(words(line), wanted, "{line}");
    }
}

#[test]
fn a_here_document_is_no_command() {
    let line =
        "git commit -m \"$(cat <<'EOF'\nDon't use --no-verify; it's (bad\nEOF\n)\" && git push";
    assert_eq!(
        words(line),
        [
            vec!["cat"],
            vec!["git", "commit", "-m", ""],
            vec!["git", "push"]
        ]
    );
    assert_eq!(
        words("cat <<-E >x\n\tgit commit -n\n\tE\nb"),
        [vec!["cat"], vec!["b"]]
    );
    assert_eq!(words("a <<< 'b c' d"), [vec!["a", "d"]]);
}

#[test]
fn what_is_not_closed_is_not_read() {
    for line in ["a 'b", "a \"b", "a $(b", "a `b", "(a", "a \\"] {
        assert_eq!(commands(line), None, "{line}");
    }
    assert_eq!(commands(&"$(".repeat(2000)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]
    #[test]
    fn no_text_ends_the_reader(line in "[ a-c'\"\\\\$(){}`<>&|;#\n-]{0,40}") {
        drop(commands(&line));
    }
}
