//! Rules of the definition that the random law asked about.

use super::{first_why, judge, letters, reviewed, start};
use crate::account::tests::world::World;

#[test]
fn an_archive_lands_on_the_branch_that_its_verdict_is_about() {
    let mut world = World::default();
    let main = world.add(&[], &[("src/a", "1")]);
    let head = world.add(&[&main], &[("src/a", "2")]);
    let result = world.add(&[&head], &[("specs/a/spec.md", "1")]);
    world.archives.insert(result.clone());
    let mut demo = reviewed(&world, "demo", &main, &head);
    demo.result = Some(result);
    let pick = world.add(&[&main], &[("specs/a/spec.md", "1")]);
    assert_eq!(letters(&judge(&world, &main, &pick, &[demo.clone()])), "A");
    if let Some(verdict) = &mut demo.verdict {
        verdict.onto = Some("release".into());
    }
    assert_eq!(letters(&judge(&world, &main, &pick, &[demo])), "-");
}

/// Archives land once, also with their branch: what was taken back since would come again.
#[test]
fn an_archive_lands_once_in_every_shape() {
    let mut world = World::default();
    let main = world.add(&[], &[("src/a", "1")]);
    let head = world.add(&[&main], &[("src/a", "2")]);
    let result = world.add(&[&head], &[("specs/a/spec.md", "1")]);
    world.archives.insert(result.clone());
    let mut demo = reviewed(&world, "demo", &main, &head);
    demo.result = Some(result.clone());
    let all = [demo];
    let pick = world.add(&[&main], &[("specs/a/spec.md", "1")]);
    assert_eq!(letters(&judge(&world, &main, &pick, &all)), "A");
    let undo = world.add(&[&pick], &[("specs/a/spec.md", "")]);
    world.undone.insert(undo.clone());
    for tip in [&pick, &undo] {
        let merge = world.merged(tip, &result, &[tip, &result]);
        assert!(!judge(&world, tip, &merge, &all).is_covered());
        let plain = world.merged(tip, &head, &[tip, &head]);
        assert_eq!(letters(&judge(&world, tip, &plain, &all)), "FM");
        let update = world.merged(&result, tip, &[&result, tip]);
        assert!(!judge(&world, tip, &update, &all).is_covered());
    }
    let squash = world.merged(&undo, &result, &[&undo]);
    assert_eq!(letters(&judge(&world, &undo, &squash, &all)), "-");
    // Where it never was, it comes with its branch.
    let beside = world.add(&[&main], &[("docs/a", "x")]);
    let merge = world.merged(&beside, &result, &[&beside, &result]);
    assert_eq!(letters(&judge(&world, &beside, &merge, &all)), "FAM");
}

/// Squash of two sessions: the branch had of the lower one what the upper one left of it.
#[test]
fn a_session_below_a_squash_has_landed_unless_it_was_taken_back_in_it() {
    let mut start = start();
    let (main, lower) = (start.main, start.two);
    let world = &mut start.world;
    let stays = world.add(&[&lower], &[("src/b", "1")]);
    let takes_back = world.add(&[&lower], &[("src/b", "1"), ("src/a", "")]);
    for (upper, may_land) in [(stays, false), (takes_back, true)] {
        let all = [start.demo.clone(), reviewed(world, "upper", &main, &upper)];
        let squash = world.merged(&main, &upper, &[&main]);
        assert_eq!(letters(&judge(world, &main, &squash, &all)), "S");
        let merge = world.merged(&squash, &lower, &[&squash, &lower]);
        let judged = judge(world, &squash, &merge, &all);
        assert_eq!(judged.is_covered(), may_land, "{}", first_why(&judged));
    }
}

#[test]
fn what_another_session_did_as_well_has_landed_with_it() {
    let mut start = start();
    let main = start.main;
    let world = &mut start.world;
    let same = world.add(&[&main], &[("src/a", "1"), ("src/old", "2")]);
    let all = [start.demo, reviewed(world, "same", &main, &same)];
    let landed = world.merged(&main, &same, &[&main, &same]);
    assert_eq!(letters(&judge(world, &main, &landed, &all)), "FM");
    let merge = world.merged(&landed, &start.two, &[&landed, &start.two]);
    let judged = judge(world, &landed, &merge, &all);
    assert!(
        first_why(&judged).contains("an earlier landing"),
        "{}",
        first_why(&judged)
    );
    // Whoever makes these bytes lands them: they are what was reviewed.
    let typed = world.with_tree(&[&main], world.files(&same));
    assert_eq!(letters(&judge(world, &main, &typed, &all)), "S");
}

#[test]
fn a_merge_into_somebody_elses_branch_is_no_step_of_this_one() {
    let mut start = start();
    let world = &mut start.world;
    let tip = world.add(&[&start.main], &[("docs/a", "x")]);
    let turned = world.merged(&start.main, &tip, &[&start.main, &tip]);
    assert_eq!(letters(&judge(world, &tip, &turned, &[])), "-");
    // It lands with the reviewed branch that it is in.
    let head = world.add(&[&turned], &[("src/a", "1")]);
    let all = [reviewed(world, "turned", &tip, &head)];
    assert_eq!(letters(&judge(world, &tip, &head, &all)), "FF");
}

/// Squash on either of two merge bases: where both sides had each other's commits, a forge may make it on either.
#[test]
fn a_squash_on_one_of_two_commits_where_histories_met_is_merged() {
    let mut start = start();
    let main = start.main;
    let world = &mut start.world;
    let lower = start.two;
    let upper = world.add(&[&lower], &[("src/b", "1")]);
    let beside = world.add(&[&main], &[("docs/a", "x")]);
    let head = world.merged(&upper, &beside, &[&upper, &beside]);
    let all = [start.demo, reviewed(world, "upper", &beside, &head)];
    let landed = world.merged(&beside, &lower, &[&beside, &lower]);
    assert_eq!(letters(&judge(world, &beside, &landed, &all)), "FFM");
    for met in [&lower, &beside] {
        let squash = world.merged(met, &head, &[met]);
        let merge = world.merged(&landed, &squash, &[&landed, &squash]);
        assert_eq!(letters(&judge(world, &landed, &merge, &all)), "SM");
    }
}
