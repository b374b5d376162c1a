//! The real clients, against a scripted model on the loopback. `LOOPX_TEST_HOSTS=1` has npm install them
//! once below the target folder, or another folder that it names; nothing else leaves this machine, and
//! each client has a home of its own.

use crate::support::drive::Drive;
use crate::support::model::{Model, TASK};
use crate::support::{LOOPX, Output};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

struct Client {
    host: &'static str,
    package: &'static str,
    /// The version that this was written against.
    version: &'static str,
    bin: &'static str,
}

const CLAUDE: Client = Client {
    host: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    bin: "claude",
};
const CODEX: Client = Client {
    host: "codex",
    package: "@openai/codex",
    version: "0.169.0",
    bin: "codex",
};
const GEMINI: Client = Client {
    host: "gemini",
    package: "@google/gemini-cli",
    version: "0.61.0",
    bin: "gemini",
};
const COPILOT: Client = Client {
    host: "copilot",
    package: "@github/copilot",
    version: "1.0.102",
    bin: "copilot",
};

impl Client {
    /// The program; `None` where nobody asked for it.
    #[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
    fn installed(&self) -> Option<PathBuf> {
        let Some(asked) = std::env::var_os("LOOPX_TEST_HOSTS").filter(|dir| !dir.is_empty()) else {
            eprintln!(
                "skipped: LOOPX_TEST_HOSTS is not set, {} is not run",
                self.bin
            );
            return None;
        };
        let folder = match asked.to_str() {
            Some("1") => Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts"),
            _ => PathBuf::from(asked),
        };
        let folder = folder.join(format!("{}-{}", self.host, self.version));
        let program = folder.join("node_modules/.bin").join(self.bin);
        // npm makes the link to the program before all that the program needs is there.
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = INSTALLING.lock();
        if !program.exists() {
            std::fs::create_dir_all(&folder).expect("a folder");
            let package = format!("{}@{}", self.package, self.version);
            let npm = Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(&folder)
                .arg("--cache")
                .args([folder.join("cache").as_os_str(), package.as_ref()])
                // Some clients build modules while they are installed, with a cache in the home.
                .env("HOME", &folder)
                .output()
                .expect("npm");
            assert!(npm.status.success(), "{npm:?}");
        }
        Some(program)
    }

    /// Files that the client has to find in its home, and the words before the prompt.
    fn words(&self, d: &Drive, model: &Model) -> Vec<String> {
        let words: &[&str] = match self.host {
            "claude" => &["--dangerously-skip-permissions", "-p"],
            "codex" => {
                let top = d.path().canonicalize().expect("the worktree");
                let config = format!(
                    "model = \"gpt-5-codex\"\nmodel_provider = \"page\"\n\
                     [model_providers.page]\nname = \"page\"\nbase_url = \"{}/v1\"\n\
                     wire_api = \"responses\"\nenv_key = \"PAGE_KEY\"\n\
                     [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
                    model.url,
                    top.display()
                );
                d.write("../home/.codex/config.toml", config);
                &[
                    "exec",
                    "--dangerously-bypass-approvals-and-sandbox",
                    "--dangerously-bypass-hook-trust",
                ]
            }
            "gemini" => {
                let chosen = "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}}";
                d.write("../home/.gemini/settings.json", chosen);
                &["--yolo", "-m", "gemini-2.5-flash", "-p"]
            }
            _ => &["--allow-all-tools", "-p"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Runs the client once, without a terminal.
    fn asked(&self, program: &Path, d: &Drive, model: &Model, prompt: &str) -> Output {
        let ours = Path::new(LOOPX).parent().expect("a folder").display();
        let path = format!("{ours}:{}", std::env::var("PATH").expect("PATH"));
        // Codex runs commands in a login shell, which begins with a PATH of its own.
        d.write("../home/.profile", format!("PATH='{path}'\n"));
        let mut call = d
            .call("timeout")
            .args(&["120".as_ref(), program.as_os_str()])
            .args(&self.words(d, model))
            .args(&[prompt]);
        // Whatever asks for another machine gets no answer.
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            call = call.env(name, "http://127.0.0.1:9");
        }
        for (name, value) in [
            ("PATH", path.as_str()),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("no_proxy", "127.0.0.1,localhost"),
            ("TERM", "dumb"),
            ("LANG", "C.UTF-8"),
            ("IS_SANDBOX", "1"),
            ("ANTHROPIC_BASE_URL", &model.url),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("PAGE_KEY", "none"),
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", &model.url),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", &model.url),
            ("COPILOT_PROVIDER_TYPE", "anthropic"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "claude-sonnet-4"),
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_ALLOW_ALL", "true"),
        ] {
            call = call.env(name, value);
        }
        let out = call.run();
        assert_eq!(out.code, Some(0), "{out}");
        out
    }
}

fn claim(d: &Drive) -> Value {
    d.state()["build"]["claim"].clone()
}

fn cause(d: &Drive) -> Value {
    d.state()["build"]["blocked"]["cause"].clone()
}

/// Tells whether a request has this text in it.
fn has(heard: &[String], text: &str) -> bool {
    heard.iter().any(|request| request.contains(text))
}

/// The whole path of one client: start context, guard, held, let go; started again; sub-agent; at work.
fn plays(client: &Client) {
    let Some(program) = client.installed() else {
        return;
    };
    let d = Drive::building();
    let model = Model::start();
    d.loopx(&["agent", "install", client.host]).ok();
    let ask = |prompt: &str| {
        let out = client.asked(&program, &d, &model, prompt);
        let heard = model.heard();
        assert!(!heard.is_empty(), "the model was not asked\n{out}");
        (heard, out)
    };

    let head = d.git(&["rev-parse", "HEAD"]).line();
    let (heard, out) = ask("DO[git commit --no-verify --allow-empty -m x]");
    assert!(heard[0].contains("belongs to the git loopx session demo"));
    assert!(has(&heard, "passes over git's hooks"), "not refused\n{out}");
    assert_eq!(d.git(&["rev-parse", "HEAD"]).line(), head);
    for n in 1..=3 {
        let is_held = has(
            &heard,
            &format!("is not ready for review ({n} of at most 5"),
        );
        assert_eq!(is_held, n < 3, "{n}\n{out}");
    }
    assert_eq!(cause(&d), "no-progress", "{out}");
    let first = claim(&d)["agent"].clone();
    assert!(first.is_string(), "{out}");

    // Started again, it is another session; its first build step makes it the owner.
    let (heard, out) = ask("DO[git loopx run --task VS-1]");
    assert!(has(&heard, "(1 of at most 5"), "not held\n{out}");
    let second = claim(&d);
    assert_ne!(second["agent"], first, "{out}");
    assert_eq!(second["over"]["agent"], first, "{out}");

    // A sub-agent is not held, its prompts are nobody's, and its parent is.
    d.does(&["agent", "resume"]);
    let (heard, out) = ask("DO[git loopx run --task VS-1]DO[delegate]");
    let of_sub = |request: &&String| request.contains(TASK) && !request.contains("DO[");
    let (sub, main): (Vec<_>, Vec<_>) = heard.iter().partition(of_sub);
    assert!(!sub.is_empty(), "no sub-agent\n{out}");
    let is_held = |request: &&String| request.contains("is not ready for review (");
    assert!(!sub.iter().any(is_held), "the sub-agent was held\n{out}");
    assert!(main.iter().any(is_held), "the main agent was not\n{out}");

    // An agent that works on between its stops is held five times in a row, and no further.
    d.does(&["agent", "resume"]);
    let (heard, out) = ask("BUSY DO[git loopx run --task VS-1]");
    for n in 1..=6 {
        let is_held = has(
            &heard,
            &format!("is not ready for review ({n} of at most 5"),
        );
        assert_eq!(is_held, n < 6, "{n}\n{out}");
    }
    assert_eq!(cause(&d), "exhausted", "{out}");
    d.loopx(&["fsck"]).ok();
}

#[test]
fn claude_code_is_held_and_let_go() {
    plays(&CLAUDE);
}

#[test]
fn codex_is_held_and_let_go() {
    plays(&CODEX);
}

#[test]
fn gemini_cli_is_held_and_let_go() {
    plays(&GEMINI);
}

#[test]
fn copilot_cli_is_held_and_let_go() {
    plays(&COPILOT);
}

/// Copilot runs Claude Code's file too, and hears the start from it (H8).
#[test]
fn copilot_cli_hears_the_start_from_claudes_file_alone() {
    let Some(program) = COPILOT.installed() else {
        return;
    };
    let d = Drive::building();
    let model = Model::start();
    d.loopx(&["agent", "install", "claude"]).ok();
    let out = COPILOT.asked(&program, &d, &model, "DO[git commit --no-verify -m x]");
    let heard = model.heard();
    assert!(
        has(&heard, "belongs to the git loopx session demo"),
        "{out}"
    );
    assert!(has(&heard, "passes over git's hooks"), "{out}");
    assert!(has(&heard, "is not ready for review (2 of"), "{out}");
}
