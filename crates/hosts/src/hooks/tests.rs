use super::manager::Manager;
use super::*;
use loopx_base::failure::Code;

fn version(minor: u32) -> GitVersion {
    GitVersion { major: 2, minor }
}

fn facts(minor: u32) -> Facts {
    let slot = |event| Slot {
        event,
        found: Found::Nothing,
        saved: Saved::Nothing,
        saved_by: None,
        aside: Vec::new(),
        in_dir: false,
        line: None,
        config: Setting::Absent,
        global: Setting::Absent,
    };
    Facts {
        version: version(minor),
        dir: "/r/.git/hooks".into(),
        standing: Standing::Owned,
        own_dir: "/r/.git/hooks".into(),
        slots: Event::ALL.into_iter().map(slot).collect(),
        manager: None,
        manager_files: Vec::new(),
        rewriter: None,
        in_worktree: false,
        recorded: false,
        program_dir: None,
        other_gits: Vec::new(),
        opted_out: None,
    }
}

fn foreign(minor: u32, scope: &str) -> Facts {
    Facts {
        dir: "/r/.husky/_".into(),
        standing: Standing::Foreign {
            path: SetAt {
                scope: scope.into(),
                origin: "file:x".into(),
            },
            tracked: false,
        },
        ..facts(minor)
    }
}

fn every(facts: &mut Facts, set: impl Fn(&mut Slot)) {
    facts.slots.iter_mut().for_each(set);
}

fn steps(facts: &Facts) -> Vec<Step> {
    plan_install(facts).expect("a plan").steps
}

#[test]
fn versions_of_every_vendor_are_read() {
    for (answer, minor) in [
        ("git version 2.47.3\n", 47),
        ("git version 2.39.5 (Apple Git-154)", 39),
        ("git version 2.54.0.windows.1", 54),
        ("git version 2.55.GIT", 55),
        ("git version 2.54-rc0", 54),
    ] {
        assert_eq!(GitVersion::parse(answer), Some(version(minor)), "{answer}");
    }
    assert_eq!(GitVersion::parse("hub version 2"), None);
    assert!(!version(53).has_config_hooks());
    assert!(GitVersion { major: 3, minor: 0 }.has_config_hooks());
}

#[test]
fn git_2_54_gets_config_hooks_even_beside_a_manager_and_older_git_shims() {
    assert_eq!(steps(&facts(54)), [Step::WriteConfig]);
    assert_eq!(steps(&foreign(54, "local")), [Step::WriteConfig]);
    assert_eq!(steps(&facts(53)), Event::ALL.map(Step::WriteShim));
}

#[test]
fn a_git_that_would_ignore_config_hooks_is_named() {
    let mut facts = facts(55);
    facts.other_gits = vec![
        ("/ide/git".into(), version(47)),
        ("/new/git".into(), version(54)),
    ];
    let notes = plan_install(&facts).expect("a plan").notes;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("/ide/git is git 2.47"), "{notes:?}");
    facts.version = version(47);
    assert_eq!(plan_install(&facts).expect("a plan").notes, [""; 0]);
}

#[test]
fn what_is_installed_is_left_alone() {
    let mut shims = facts(47);
    every(&mut shims, |slot| {
        slot.found = Found::Ours { current: true }
    });
    assert_eq!(steps(&shims), []);
    shims.version = version(55);
    let plan = plan_install(&shims).expect("a plan");
    assert_eq!((plan.mode, plan.steps), (Some(Mode::Shim), vec![]));

    let mut config = facts(55);
    every(&mut config, |slot| slot.config = Setting::Current);
    assert_eq!(steps(&config), []);
}

#[test]
fn never_both_ways_in_one_repository() {
    let mut config = facts(47);
    every(&mut config, |slot| slot.config = Setting::Current);
    assert_eq!(
        steps(&config)[0],
        Step::RemoveConfig,
        "older git after newer"
    );

    let mut unreached = foreign(55, "local");
    every(&mut unreached, |slot| {
        slot.found = Found::Ours { current: true }
    });
    let mut wanted: Vec<Step> = Event::ALL.map(Step::RemoveShim).to_vec();
    wanted.push(Step::WriteConfig);
    assert_eq!(
        steps(&unreached),
        wanted,
        "shims that git no longer reaches"
    );

    let mut both = facts(55);
    every(&mut both, |slot| {
        slot.found = Found::Ours { current: true };
        slot.config = Setting::Current;
    });
    assert_eq!(steps(&both), [Step::RemoveConfig]);
}

#[test]
fn a_foreign_hook_is_saved_once_and_never_over_another() {
    let mut facts = facts(47);
    facts.slots[0].found = Found::Foreign(None);
    assert_eq!(
        steps(&facts)[..2],
        [
            Step::Save(Event::PreCommit),
            Step::WriteShim(Event::PreCommit)
        ]
    );
    facts.slots[0].saved = Saved::Both;
    assert_eq!(steps(&facts)[0], Step::WriteShim(Event::PreCommit));
    facts.slots[0].saved = Saved::Kept;
    assert_eq!(
        plan_install(&facts).expect_err("refused").code,
        Code::HookSavedAlready
    );
}

#[test]
fn what_a_manager_wrote_again_takes_the_place_of_what_it_wrote_before() {
    let mut facts = facts(47);
    facts.slots[0].found = Found::Foreign(Some(Manager::Lefthook));
    facts.slots[0].saved = Saved::Kept;
    facts.slots[0].saved_by = Some(Manager::Lefthook);
    assert_eq!(
        steps(&facts)[..3],
        [
            Step::DropSaved(Event::PreCommit),
            Step::Save(Event::PreCommit),
            Step::WriteShim(Event::PreCommit)
        ]
    );
    // Of two managers, or of nobody we know, none is thrown away.
    for saved_by in [Some(Manager::PreCommit), None] {
        facts.slots[0].saved_by = saved_by;
        assert_eq!(
            plan_install(&facts).expect_err("refused").code,
            Code::HookSavedAlready
        );
    }
    facts.slots[0].found = Found::Foreign(None);
    assert_eq!(
        plan_install(&facts).expect_err("refused").code,
        Code::HookSavedAlready
    );
}

#[test]
fn who_opted_out_gets_nothing_and_is_told_where_it_says_so() {
    let set = |scope: &str| SetAt {
        scope: scope.into(),
        origin: "file:x".into(),
    };
    let mut facts = facts(55);
    for (scope, help) in [
        ("local", "git config --local --unset-all loopx.hooks"),
        ("worktree", "git config --worktree --unset-all loopx.hooks"),
        (
            "system",
            "git config loopx.hooks true  (for this repository alone)",
        ),
    ] {
        facts.opted_out = Some(set(scope));
        let failure = plan_install(&facts).expect_err("refused");
        assert_eq!(failure.code, Code::HooksOptedOut);
        assert!(failure.message.contains("file:x"), "{failure:?}");
        assert_eq!(failure.help, Some(help.into()));
    }
    facts.slots[0].config = Setting::Current;
    assert_eq!(
        plan_uninstall(&facts).expect("a plan").steps,
        [Step::RemoveConfig],
        "taking away is always allowed"
    );
}

#[test]
fn an_install_for_every_repository_is_one_edit_and_needs_a_git_that_has_it() {
    let mut facts = GlobalFacts {
        version: version(55),
        settings: vec![Setting::Absent; 3],
        opted_out: None,
        other_gits: vec![("/usr/bin/git".into(), version(47))],
    };
    let plan = plan_global(&facts, true).expect("a plan");
    assert_eq!(plan.steps, [Step::WriteGlobal]);
    assert_eq!(plan.notes.len(), 1);
    assert_eq!(
        plan_global(&facts, false).expect_err("none").code,
        Code::HooksNotInstalled
    );
    facts.settings[1] = Setting::Outdated;
    let plan = plan_global(&facts, false).expect("a plan");
    assert_eq!(plan.steps, [Step::RemoveGlobal]);
    facts.settings = vec![Setting::Current; 3];
    assert_eq!(plan_global(&facts, true).expect("a plan").steps, []);
    facts.version = version(53);
    assert_eq!(
        plan_global(&facts, true).expect_err("old").code,
        Code::GitTooOld
    );
}

#[test]
fn a_dead_hook_comes_with_the_command_that_repairs_it() {
    let repair = |facts: &WorktreeEvent| {
        let row = row(facts, &probe(facts), Some(false));
        assert_eq!(row.fires, Some(false));
        row.repair.expect("a command").to_string()
    };
    let mut facts = seen(55);
    assert_eq!(repair(&facts), "git loopx hooks install");
    facts.global = Setting::Outdated;
    assert_eq!(repair(&facts), "git loopx hooks install --global");
    let set = |scope: &str| SetAt {
        scope: scope.into(),
        origin: "file:x".into(),
    };
    let key = "hook.loopx-pre-commit.enabled";
    for (scope, command) in [
        (
            "local",
            "git config --local --unset-all hook.loopx-pre-commit.enabled",
        ),
        (
            "command",
            "take hook.loopx-pre-commit.enabled off the command line",
        ),
    ] {
        facts.disabled = Some((key.into(), set(scope)));
        assert_eq!(repair(&facts), command);
    }
    facts.version = version(47);
    assert_eq!(repair(&facts), "git loopx hooks install");
    let mut elsewhere = seen(47);
    elsewhere.own = Found::Ours { current: true };
    elsewhere.hooks_path = Some(set("worktree"));
    assert!(repair(&elsewhere).starts_with("git config --worktree --unset-all core.hooksPath"));
}

#[test]
fn uninstall_takes_ours_and_leaves_the_rest() {
    let mut facts = facts(47);
    assert_eq!(
        plan_uninstall(&facts)
            .expect_err("nothing")
            .kind
            .exit_code(),
        5
    );
    facts.slots[0].found = Found::Ours { current: false };
    facts.slots[1].found = Found::Ours { current: true };
    facts.slots[1].saved = Saved::Kept;
    facts.slots[2].found = Found::Foreign(None);
    facts.slots[2].saved = Saved::Both;
    facts.slots[2].config = Setting::Outdated;
    let plan = plan_uninstall(&facts).expect("a plan");
    assert_eq!(
        plan.steps,
        [
            Step::RemoveConfig,
            Step::RemoveShim(Event::PreCommit),
            Step::Restore(Event::CommitMsg),
            Step::DropSaved(Event::PrePush),
        ]
    );
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    // Two hooks that are both somebody else's stay, and that is said.
    facts.slots[2].saved = Saved::Kept;
    let plan = plan_uninstall(&facts).expect("a plan");
    assert_eq!(plan.steps.len(), 3);
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
}

#[test]
fn only_a_folder_that_no_other_repository_uses_is_ours() {
    let path = |scope: &str| {
        Some(SetAt {
            scope: scope.into(),
            origin: "file:x".into(),
        })
    };
    let dir = Path::new("/r/.git/hooks");
    let foreign = |standing| matches!(standing, Standing::Foreign { .. });
    let outside = Place::default();
    let inside = Place {
        in_git_dir: true,
        ..outside
    };
    let beside = Place {
        in_worktree: true,
        ..outside
    };
    let tracked = Place {
        is_tracked: true,
        ..beside
    };
    let managed = Place {
        is_managed: true,
        ..beside
    };
    assert_eq!(standing(dir, None, inside), Standing::Owned);
    assert_eq!(standing(dir, path("local"), inside), Standing::Owned);
    assert_eq!(standing(dir, path("local"), beside), Standing::Owned);
    assert!(foreign(standing(dir, path("local"), tracked)));
    assert!(foreign(standing(dir, path("local"), managed)));
    assert!(foreign(standing(dir, path("global"), beside)));
    assert!(foreign(standing(dir, None, tracked)));
    assert!(foreign(standing(dir, path("global"), inside)));
    assert!(foreign(standing(dir, path("command"), inside)));
    assert!(foreign(standing(dir, path("local"), outside)));
    let off = standing(Path::new("/dev/null"), path("local"), outside);
    assert!(matches!(off, Standing::Off { .. }));
}

#[test]
fn a_refusal_gives_the_line_for_every_event() {
    let mut facts = foreign(47, "local");
    facts.manager = Some(Manager::Husky);
    let failure = plan_install(&facts).expect_err("refused");
    assert_eq!(failure.kind.exit_code(), 1);
    let files: Vec<&str> = failure
        .blockers
        .iter()
        .map(|b| b.message.as_str())
        .collect();
    assert_eq!(
        files,
        [
            "add to .husky/pre-commit:",
            "add to .husky/commit-msg:",
            "add to .husky/pre-push:"
        ]
    );
    facts.manager = Some(Manager::PreCommit);
    let failure = plan_install(&facts).expect_err("refused");
    assert!(!failure.blockers[0].message.contains("stdin"));
    assert!(failure.blockers[2].message.contains("stdin"));
    facts.manager = Some(Manager::Lefthook);
    facts.manager_files = vec!["lefthook.yml".into()];
    let failure = plan_install(&facts).expect_err("refused");
    assert_eq!(failure.blockers[0].message, "add to lefthook-local.yml:");
}

#[test]
fn a_shim_is_at_most_five_lines_of_lf_and_knows_itself() {
    for event in Event::ALL {
        let text = shim("/a b/it's/ü/git-loopx".as_bytes(), event);
        assert!(!text.contains(&b'\r'));
        assert!(text.starts_with(b"#!/bin/sh\n# loopx-hook: "));
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(text.lines().count() <= 2 + 5, "{text}");
        assert!(
            text.contains("loopx='/a b/it'\\''s/ü/git-loopx';"),
            "{text}"
        );
        assert!(!text.contains('@') || text.matches('@').count() == text.matches("$@").count());
    }
    let ours = shim(b"/x", Event::PrePush);
    let known = |program: &[u8], mode| found(Some(&ours), mode, program, Event::PrePush);
    assert_eq!(known(b"/x", true), Found::Ours { current: true });
    assert_eq!(known(b"/y", true), Found::Ours { current: false });
    assert_eq!(known(b"/x", false), Found::Ours { current: false });
    let other = b"#!/bin/sh\necho '# loopx-hook: '\n";
    assert_eq!(
        found(Some(other), true, b"/x", Event::PrePush),
        Found::Foreign(None)
    );
}

fn seen(minor: u32) -> WorktreeEvent {
    WorktreeEvent {
        event: Event::PreCommit,
        worktree: "/r".into(),
        version: version(minor),
        config: Setting::Absent,
        config_file: "/r/.git/config".into(),
        global: Setting::Absent,
        global_file: Some("/home/.gitconfig".into()),
        disabled: None,
        dir: "/r/.git/hooks".into(),
        hooks_path: None,
        here: Found::Nothing,
        own_dir: "/r/.git/hooks".into(),
        own: Found::Nothing,
        saved: Saved::Nothing,
        aside: Vec::new(),
        line: None,
        rewriter: None,
        recorded: false,
        in_main: None,
    }
}

#[test]
fn git_is_asked_only_where_what_it_runs_is_ours() {
    let mut facts = seen(55);
    assert!(matches!(
        probe(&facts),
        Probe::Known {
            fires: Some(false),
            ..
        }
    ));
    facts.config = Setting::Current;
    assert_eq!(probe(&facts), Probe::Config);
    facts.version = version(47);
    assert!(matches!(
        probe(&facts),
        Probe::Known {
            fires: Some(false),
            ..
        }
    ));
    facts.config = Setting::Absent;
    facts.here = Found::Ours { current: true };
    assert_eq!(probe(&facts), Probe::Shim);
    facts.here = Found::Foreign(None);
    facts.own = Found::Ours { current: true };
    assert!(matches!(
        probe(&facts),
        Probe::Known {
            fires: Some(false),
            ..
        }
    ));
    facts.own = Found::Nothing;
    facts.line = Some(Wired {
        file: ".husky/pre-commit".into(),
        line: "git-loopx hook pre-commit".into(),
        manager: Some(Manager::Husky),
        reached: true,
        first: true,
    });
    assert!(matches!(probe(&facts), Probe::Known { fires: None, .. }));
}

#[test]
fn a_hook_that_did_not_answer_is_dead() {
    let mut facts = seen(47);
    facts.here = Found::Ours { current: true };
    facts.saved = Saved::Kept;
    let alive = row(&facts, &Probe::Shim, Some(true));
    assert_eq!((alive.fires, alive.reason), (Some(true), None));
    assert_eq!(
        alive.chained.as_deref(),
        Some("/r/.git/hooks/pre-commit.before-loopx")
    );
    assert_eq!(row(&facts, &Probe::Shim, Some(false)).fires, Some(false));
}
