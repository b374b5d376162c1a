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
    s.loopx(&["config", "show"])
        .says("gates.out_of_scope = \"refuse\"  (loopx.toml)")
        .says("of session demo")
        .ok();
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
    let table = ":4: the key `telemetry` is not known; it is passed over";
    for args in [&["status"][..], &["config", "show"]] {
        let out = s.loopx(args).says(spec).says(table);
        assert_eq!(out.stderr.lines().count(), 2, "{out}");
        out.ok();
        let json = s.loopx(&[args, &["--json"]].concat()).json();
        assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2));
    }
    s.loopx(&["doctor"])
        .says("note    policy")
        .says(spec)
        .says("git loopx config schema")
        .ok();
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
    start()
        .fails_with(1)
        .says("the nearest is `gates.protected`")
        .says("a newer git loopx may know it");
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
