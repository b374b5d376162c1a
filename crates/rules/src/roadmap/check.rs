//! The catalogue of what can be wrong with a roadmap.

use loopx_base::findings::{Known, Severity};

/// Findings of a roadmap, by id.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "roadmap_apart",
        Known::WARNING,
        "two clones gave a field of a roadmap, or of one of its issues, different values",
        "write the field anew",
    ),
    Known::new(
        "roadmap_cycle",
        Known::ERROR,
        "issues of a roadmap wait for each other",
        "take one of the links away",
    ),
    Known::new(
        "roadmap_empty",
        Known::ERROR,
        "a roadmap has no issue",
        "put issues into it",
    ),
    Known::new(
        "roadmap_files_overlap",
        Known::WARNING,
        "two issues of one wave touch the same file, and are not done side by side",
        "put one of them into a later wave, or leave it: they are in different groups",
    ),
    Known::new(
        "roadmap_label_unread",
        Known::WARNING,
        "a label of an issue looks like a wave or a phase, and no wave and no phase has that number",
        "take the label away, and say where the issue stands",
    ),
    Known::new(
        "roadmap_milestone_differs",
        Known::WARNING,
        "an issue is for another milestone than its phase",
        "give the issue the milestone of its phase, or another phase",
    ),
    Known::new(
        "roadmap_no_criteria",
        Known::WARNING,
        "an issue of a roadmap does not say when it is done",
        "add a criterion",
    ),
    Known::new(
        "roadmap_no_mode",
        Known::WARNING,
        "a roadmap does not say how it was cut",
        "make a roadmap by `roadmap new`",
    ),
    Known::new(
        "roadmap_no_phase",
        Known::WARNING,
        "an issue of a roadmap is in no phase, and others are",
        "put it into a phase",
    ),
    Known::new(
        "roadmap_no_wave",
        Known::ERROR,
        "an issue of a roadmap is in no wave",
        "put it into a wave",
    ),
    Known::new(
        "roadmap_outside",
        Known::WARNING,
        "an issue of a roadmap waits for an open issue that is not in it",
        "put that issue into the roadmap, or resolve it first",
    ),
    Known::new(
        "roadmap_phase_empty",
        &[Severity::Info],
        "the document of a roadmap names a phase that no issue is in",
        "put issues into the phase",
    ),
    Known::new(
        "roadmap_phase_repeated",
        Known::ERROR,
        "the document of a roadmap names one phase twice",
        "give each phase a number of its own",
    ),
    Known::new(
        "roadmap_phase_unknown",
        Known::WARNING,
        "an issue is in a phase that the document of its roadmap does not name",
        "put it into a phase of the document, or name the phase there",
    ),
    Known::new(
        "roadmap_two_phases",
        Known::ERROR,
        "an issue of a roadmap is in more than one phase",
        "keep one of them",
    ),
    Known::new(
        "roadmap_two_waves",
        Known::ERROR,
        "an issue of a roadmap is in more than one wave",
        "keep one of them",
    ),
    Known::new(
        "roadmap_wave_gap",
        Known::WARNING,
        "a wave has issues, and the wave before it has none",
        "move the issues of the later wave",
    ),
    Known::new(
        "roadmap_wave_order",
        Known::ERROR,
        "an issue waits for an issue of the same wave or of a later one",
        "put it into a later wave, or take the link away",
    ),
    Known::new(
        "roadmap_wave_unknown",
        Known::ERROR,
        "an issue is in a wave that is not a layer of its roadmap",
        "put it into a layer",
    ),
];
