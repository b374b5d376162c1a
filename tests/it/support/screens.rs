//! Screens: what a command shows at 40, 80 and 120 columns, one after the other under a rule of that width.

use super::{Call, LOOPX, Sandbox, steady};
use std::path::Path;

/// The widths that each picture has.
const WIDTHS: [usize; 3] = [40, 80, 120];

/// The pictures of one call, which `shown` makes for each width.
pub(crate) fn at_each_width(shown: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for columns in WIDTHS {
        let shown = steady::object_ids(&shown(&columns.to_string()));
        out.push_str(&format!("{}\n{shown}", "-".repeat(columns)));
    }
    out
}

/// Output of a call in a locale that has every character.
pub(crate) fn shown(call: Call<'_>, columns: &str) -> String {
    let call = call.env("COLUMNS", columns).env("LC_ALL", "C.UTF-8");
    call.run().ok()
}

/// Outputs of a command at each width.
pub(crate) fn screens(s: &Sandbox, args: &[&str], locale: &str) -> String {
    at_each_width(|columns| {
        let call = s.call(LOOPX).args(args).env("COLUMNS", columns);
        call.env("LC_ALL", locale).run().ok()
    })
}

/// The pictures of `status`, in which no line is wider than the screen.
#[track_caller]
pub(crate) fn status(s: &Sandbox) -> String {
    status_as(s, &["status"])
}

#[track_caller]
pub(crate) fn status_as(s: &Sandbox, args: &[&str]) -> String {
    fits(s, args);
    screens(s, args, "C.UTF-8")
}

/// Asserts that no line is wider than the screen, but those with a command or a name that no space breaks.
#[track_caller]
fn fits(s: &Sandbox, args: &[&str]) {
    for columns in WIDTHS {
        let call = s.call(LOOPX).args(args).env("COLUMNS", columns.to_string());
        let shown = call.run().ok();
        let wide: Vec<&str> = shown
            .lines()
            .filter(|line| line.chars().count() > columns && !line.contains("git "))
            .collect();
        assert!(wide.is_empty(), "{columns}: {wide:#?}");
    }
}

/// Screens of a terminal that shows a command at each width; nothing where there is no script(1), which is the terminal.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
pub(crate) fn terminals(s: &Sandbox, line: &str) -> Option<String> {
    let typed = |line: &str, columns: &str| {
        let call = s
            .call(Path::new("script"))
            .args(&["-qec", line, "/dev/null"]);
        let call = call.env("COLUMNS", columns).env("LC_ALL", "C.UTF-8");
        call.env("NO_COLOR", "1").env("GIT_PAGER", "cat").run()
    };
    if typed("true", "80").code != Some(0) {
        eprintln!("skipped: no script(1) here");
        return None;
    }
    Some(at_each_width(|columns| {
        typed(line, columns).stdout.replace("\r\n", "\n")
    }))
}
