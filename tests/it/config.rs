//! `config`: what holds, where it comes from, and the schema of `loopx.toml`. What the stages say to
//! code is tested where the hooks are asked.

use crate::support::session::{advance, commit, started};
use crate::support::{Output, Sandbox};

fn setting(out: &Output, key: &str) -> (String, String) {
    let json = out.json();
    let all = ["policy", "personal"].map(|list| json[list].as_array().cloned().expect("a list"));
    let found = all
        .concat()
        .into_iter()
        .find(|setting| setting["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no {key} in {json:#}"));
    let source = found["source"].as_str().expect("a source").to_owned();
    (found["value"].to_string(), source)
}

#[test]
fn every_setting_says_where_it_comes_from() {
    let s = started("[gates]\nout_of_scope = \"refuse\"\n");
    s.git(&["config", "loopx.target", "main"]).ok();
    let out = s.loopx(&["config", "show", "--json"]);
    let of = |key: &str, value: &str, source: &str| {
        assert_eq!(setting(&out, key), (value.into(), source.into()));
    };
    of("gates.out_of_scope", "\"refuse\"", "loopx.toml");
    of("gates.stages.plan", "\"refuse\"", "default");
    of("loopx.target", "\"main\"", "git config --local");
    assert_eq!(out.json()["session"], "demo");
    insta::assert_snapshot!(s.loopx(&["config", "show"]).steady(), @r#"
    $ git-loopx config show
    approve.agents = []  (default)
    approve.by = {}  (default)
    approve.deny = []  (default)
    approve.independent = []  (default)
    approve.required = {}  (default)
    approve.revoked = "loopx.revoked"  (default)
    approve.roles = {}  (default)
    approve.signed = []  (default)
    approve.signers = "loopx.signers"  (default)
    approve.take_back = []  (default)
    approve.touched = []  (default)
    archive.evidence = "require"  (default)
    artifacts.language = "off"  (default)
    artifacts.max_bytes = 1048576  (default)
    backlog.follows = {}  (default)
    backlog.kinds = []  (default)
    backlog.limits = {}  (default)
    backlog.prefix = "lx"  (default)
    backlog.resolve = []  (default)
    backlog.take = []  (default)
    backlog.wip = 0  (default)
    build.lanes = ["execution"]  (default)
    build.regression = false  (default)
    changelog.fragments = ""  (default)
    checks = {}  (default)
    context.manifest = "require"  (default)
    evidence.by = []  (default)
    gates.always_allow = ["specs/**","docs/**","*.md","loopx.toml"]  (default)
    gates.out_of_scope = "refuse"  (loopx.toml)
    gates.protected = []  (default)
    gates.stages.build = "allow"  (default)
    gates.stages.clarify = "refuse"  (default)
    gates.stages.done = "refuse"  (default)
    gates.stages.plan = "refuse"  (default)
    gates.stages.review = "refuse"  (default)
    gates.target = null  (default)
    gates.task_files = "allow"  (default)
    intent.contract = "require"  (default)
    intent.coverage = "require"  (default)
    landing.backport = []  (default)
    landing.exception = []  (default)
    paths.adr = "docs/adr"  (default)
    paths.pipelines = "loopx/pipelines"  (default)
    paths.prompts = "loopx/prompts"  (default)
    paths.rules = "docs/rules"  (default)
    paths.specs = "specs"  (default)
    paths.templates = "loopx/templates"  (default)
    policy.strict = false  (default)
    profiles = {}  (default)
    review.independence = "record"  (default)
    review.signed = false  (default)
    rules.budget = 32768  (default)
    rules.categories = []  (default)
    secrets.allow = []  (default)
    start.profile = null  (default)
    loopx.target = "main"  (git config --local)
    from base 0000000000 of session demo
    --- exit 0
    "#);
    // The base of the session counts, until another commit is asked for.
    s.write("loopx.toml", "[gates]\nout_of_scope = \"allow\"\n");
    commit(&s, "docs/a", "a document").ok();
    s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    assert_eq!(
        setting(
            &s.loopx(&["config", "show", "--json"]),
            "gates.out_of_scope"
        )
        .0,
        "\"refuse\""
    );
    let head = s.loopx(&["config", "show", "--from", "HEAD", "--json"]);
    assert_eq!(setting(&head, "gates.out_of_scope").0, "\"allow\"");
    s.loopx(&["config", "show", "--from", "nothing"])
        .fails_with(4);
    s.loopx(&["-s", "nobody", "config", "show"]).fails_with(4);
}

#[test]
fn the_schema_is_one_document_anywhere() {
    let s = Sandbox::empty("nothing");
    let out = s.loopx(&["config", "schema"]);
    let json = out.json();
    assert_eq!(
        json["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(json["additionalProperties"], false);
    assert_eq!(
        json["properties"]["gates"]["properties"]["target"]["type"],
        "string"
    );
    assert_eq!(s.loopx(&["config", "schema", "--json"]).json(), json);
    // In a repository that has nothing yet, the defaults hold.
    s.git(&["init", "--quiet"]).ok();
    let shown = s.loopx(&["config", "show", "--json"]);
    assert_eq!(
        setting(&shown, "gates.stages.build"),
        ("\"allow\"".into(), "default".into())
    );
}

/// A1: a key of a newer program stops an older one only where it could open a gate.
#[test]
fn a_key_that_is_not_known_is_warned_of_and_holds_where_it_could_open_a_gate() {
    let s = started("[paths]\nspec = \"x\"\n\n[telemetry]\nto = \"nobody\"\n");
    let spec = ":2: the key `paths.spec` is not known, the nearest is `paths.specs`";
    let table = ":4: the key `telemetry` is not known; the key is passed over";
    for args in [&["status"][..], &["config", "show"]] {
        let out = s.loopx(args).says(spec).says(table);
        assert_eq!(out.stderr.lines().count(), 2, "{out}");
        out.ok();
        let json = s.loopx(&[args, &["--json"]].concat()).json();
        assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2));
    }
    let whole = s.loopx(&["doctor"]).says(spec);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx doctor
    ok      git        git version $GIT
    ok      worktree   the worktree is in the folder that git recorded
    ok      identity   Ada Author <ada@example.org>
    note    fsync      loopx.fsync is off: a power cut can take the newest steps away
                       -> git config loopx.fsync true
    ok      settings   every setting has a valid value
    note    policy     loopx.toml at HEAD:4: the key `telemetry` is not known; the key is passed over; loopx.toml at HEAD:2: the key `paths.spec` is not known, the nearest is `paths.specs`; the key is passed over
                       -> git loopx config schema  (the keys that there are)
    ok      signers    each key is for named people only
    ok      branch     `loopx` at 0000000000
    ok      shadow     refs/loopx/shadow/loopx at 0000000000
    ok      lock       nobody is writing
    ok      ref_locks  none
    ok      leftovers  none
    ok      landings   all finished
    ok      displaced  nothing was put aside
    ok      copies     every working copy belongs to a session
    ok      sessions   1 active, all whole
    ok      bases      each session starts from a commit that is here
    ok      bindings   the branch of each session is here
    ok      hooks      3 fire
    ok      merge_drivers every merge driver that .gitattributes names is set up
    ok      old_roots  no root of loopx 0.x is there
    --- exit 0
    ");
    // Hooks have nothing to say of it.
    let out = commit(&s, "docs/a", "a document");
    assert_eq!(out.stderr, "", "{out}");
    out.ok();

    let policy = |text: &str| {
        s.write("loopx.toml", text);
        s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    };
    let start = || {
        let args = ["--json", "start", "other", "--no-branch"];
        s.loopx(&args).says("\"code\": \"policy_invalid\"")
    };
    policy("[gates]\nprotect = [\"main\"]\n");
    insta::assert_snapshot!(start().steady(), @r#"
    $ git-loopx --json start other --no-branch
    --- stderr
    {
      "error": {
        "blockers": [],
        "code": "policy_invalid",
        "exit": 1,
        "help": "mend the key on the branch that the session starts from, or install a newer git loopx",
        "kind": "refused",
        "message": "loopx.toml at 0000000000:2: the key `gates.protect` is not known, the nearest is `gates.protected`; a newer git loopx may know the key, and passing over it could open a gate"
      },
      "schema": 1
    }
    --- exit 1
    "#);
    s.loopx(&["doctor"]).fails_with(1).says("gates.protect");
    s.loopx(&["verify", "--policy-from", "HEAD"])
        .fails_with(1)
        .says("gates.protect");
    policy("[policy]\nstrict = true\n[paths]\nspec = \"x\"\n");
    start().fails_with(2).says("policy.strict is set");
    policy("[paths]\nspecs = 3\nspec = \"x\"\n");
    start()
        .fails_with(2)
        .says(":2: paths.specs: expected a string, found integer `3`");
    let ids = s.loopx(&["list", "--json"]).json()["sessions"].clone();
    assert_eq!(ids.as_array().map(Vec::len), Some(1), "{ids}");
}

#[test]
fn each_stage_says_to_code_what_policy_says() {
    let s = started("[gates.stages]\nclarify = \"allow\"\nplan = \"warn\"\nbuild = \"refuse\"\n");
    let said = |path: &str| commit(&s, path, "code");
    let out = said("src/clarify.rs");
    assert_eq!(out.stderr, "", "{out}");
    out.ok();
    advance(&s, "clarify", "plan", "");
    let out = said("src/plan.rs").says("stage plan takes no code");
    out.ok();
    advance(&s, "plan", "build", "");
    said("src/build.rs").fails_with(1).says("takes no code");
    s.git(&["rm", "--quiet", "--force", "src/build.rs"]).ok();
    let json = s.loopx(&["verify", "--json"]).json();
    let found = json["findings"].as_array().expect("findings");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["code"], "stage_refuses_code");
    assert_eq!(found[0]["severity"], "warning");
}
