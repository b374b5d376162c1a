//! The pager that long output goes through, as git chooses it (git-var(1), GIT_PAGER).
//!
//! This process becomes the pager: a Ctrl-C is then the pager's alone, as it is where git pages its own output.

use loopx_base::env;
use loopx_git::run::Run;
use loopx_rules::settings::truth;
use std::io::{Seek, Write};

/// Variables that git sets for a pager where nobody set them (git(1), GIT_PAGER).
const TOLD: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// Shows the text and ends this process. Comes back where there is no pager, or none can be started.
pub(crate) fn show(text: &[u8]) {
    let Some(pager) = chosen() else {
        return;
    };
    // The pager is the person's own configuration, which git runs through the shell, too. Where it is not there, the
    // text is still shown; a Ctrl-C is for the pager, and not for the shell that waits for it.
    let script =
        format!("trap : INT\n{pager}\ncode=$?\n[ $code -ne 127 ] || exec cat\nexit $code\n");
    let mut run = Run::program("sh").args(["-c", &script]);
    for (name, value) in TOLD {
        if !env::is_set(name) {
            run = run.env(name, value);
        }
    }
    run = run.env(env::GIT_PAGER_IN_USE, "true");
    let kept = tempfile::tempfile().and_then(|mut file| {
        file.write_all(text)?;
        file.rewind()?;
        Ok(file)
    });
    if let Ok(file) = kept {
        drop(run.replace(file));
    }
}

/// The command; nothing where output is not to be paged.
fn chosen() -> Option<String> {
    let said = |args: &[&str]| {
        let line = Run::git(args).capture().ok()?.line().ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    };
    // `git loopx` has read it: this is for a call that git did not start.
    let own = said(&["config", "--get", "pager.loopx"]).filter(|own| !own.is_empty());
    let pager = match own.as_deref().map(|own| (truth(own), own)) {
        Some((Some(false), _)) => return None,
        Some((None, own)) if !env::is_set(env::GIT_PAGER) => own.to_owned(),
        _ => said(&["var", "GIT_PAGER"])?,
    };
    let pager = pager.trim();
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}
