//! The program `git-loopx`: parse, run, exit code. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_loopx::main(std::env::args_os())
}
