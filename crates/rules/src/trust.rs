//! Trust: whether a command that stands in the data of a session was agreed to by whoever is about to run it. A push
//! by somebody else never makes this machine run something new.
//!
//! Pure: who wrote the words and who approved them is found elsewhere, and so is whose signature holds.

use super::artifact::Artifact;
use super::change_pack;
use super::checks::Check;
use super::issue::event::Change;
use super::issue::solution::Proposal;
use super::op::{Body, Operation};
use super::task::slices::commands;
use super::texts::Texts;
use loopx_base::id::{Oid, Person};
use loopx_base::vocabulary::vocabulary;
use std::collections::{BTreeMap, HashSet};

/// The setting that says whose word is enough.
pub const SETTING: &str = "loopx.trust";

vocabulary!(
    /// Mode of trust: whose word is enough for a command to be run.
    #[derive(Default)]
    Mode {
        /// Commands run that whoever runs them wrote or approved in this clone.
        #[default]
        Here = "here",
        /// Commands run as with `here`, from any clone: whoever wrote or approved them is known by their address, which
        /// anybody can claim.
        Names = "names",
        /// Approvals alone count, and only those whose signature the target's signers accept.
        Signed = "signed",
        /// Commands all run: on a machine that is thrown away afterwards.
        All = "all",
    }
);

impl Mode {
    /// Reads a value of the setting; a value that means nothing counts as if it were not there.
    pub fn of(value: Option<&str>) -> Self {
        let word = value.and_then(|value| value.trim().parse().ok());
        word.unwrap_or_default()
    }
}

/// Person as a record names them: who, and git's committer where that is somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Hands<'p> {
    pub by: &'p Person,
    pub committer: Option<&'p Person>,
}

impl Hands<'_> {
    fn people(&self) -> [&Person; 2] {
        [self.by, self.committer.unwrap_or(self.by)]
    }

    /// Tells whether two records are of one person. An agent acts under its own name for whoever ran it, and many
    /// people have the same agent: so all people of one side have to be on the other, or the committer is the same.
    pub fn are_of(&self, other: Hands<'_>) -> bool {
        let (mine, theirs) = (self.people(), other.people());
        let all = |some: &[&Person; 2], among: &[&Person; 2]| {
            some.iter()
                .all(|one| among.iter().any(|known| has_address_of(one, known)))
        };
        has_address_of(mine[1], theirs[1]) || all(&mine, &theirs) || all(&theirs, &mine)
    }
}

fn has_address_of(one: &Person, other: &Person) -> bool {
    let address = |person: &Person| person.email.trim().to_lowercase();
    !address(one).is_empty() && address(one) == address(other)
}

/// Origin of the words of a command.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'o> {
    /// The words stand in the files of this worktree alone.
    Here,
    /// The first record that has them.
    Written(&'o Operation),
    /// No record wrote them: they came together when two sides were merged.
    Merged,
}

/// The commands that one file of checks has.
#[derive(Debug)]
pub struct Commands {
    text: String,
    /// Commands of the file; nothing where it cannot be read.
    all: Option<HashSet<Vec<String>>>,
}

impl Commands {
    /// Reads one file among some texts.
    pub fn of(artifact: Artifact, texts: &Texts) -> Self {
        let all = match (artifact, texts.list()) {
            (Artifact::TaskList, Some(list)) => list.as_deref().ok().map(commands),
            _ => change_pack::slices_in(artifact, texts).ok().map(|slices| {
                let argvs = slices.into_iter().map(|slice| slice.verification);
                argvs.collect()
            }),
        };
        Commands {
            text: texts.get(&artifact).cloned().unwrap_or_default(),
            all,
        }
    }

    /// Tells whether these words are a command of the file. A file that cannot be read has them where each word stands
    /// in it: who mends it did not write them.
    pub fn has(&self, argv: &[String]) -> bool {
        match &self.all {
            Some(all) => all.contains(argv),
            None => argv.iter().all(|word| self.text.contains(word.as_str())),
        }
    }
}

/// The first of some records, in their order, that wrote these words.
pub fn origin<'o>(
    operations: &[&'o Operation],
    argv: &[String],
    is_stored: bool,
    has: impl Fn(Artifact, &Oid, &[String]) -> bool,
) -> Origin<'o> {
    let wrote = |op: &&&Operation| {
        let mut written = op.writes.iter();
        written.any(|(artifact, write)| {
            change_pack::CHECK_FILES.contains(artifact)
                && write.to.as_ref().is_some_and(|to| has(*artifact, to, argv))
        })
    };
    match operations.iter().find(wrote) {
        Some(op) => Origin::Written(op),
        None if is_stored => Origin::Merged,
        None => Origin::Here,
    }
}

/// The first of some records of issues, in their order, whose proposed tasks have these words. A session that begins
/// for an issue takes them over, and they stay whose they were.
pub fn proposed<'o>(records: &'o [Operation], argv: &[String]) -> Option<&'o Operation> {
    records.iter().find(|op| {
        let mut proposals = proposals(op);
        proposals.any(|proposal| {
            let list = proposal.lines("").join("\n");
            let texts = [(Artifact::TaskList, list)].into();
            Commands::of(Artifact::TaskList, &texts).has(argv)
        })
    })
}

/// Test for a record whose solutions an import brought.
pub fn is_brought(op: &Operation) -> bool {
    proposals(op).any(|proposal| proposal.from.is_some())
}

/// The ways to do an issue that a record proposes.
pub fn proposals(op: &Operation) -> impl Iterator<Item = &Proposal> {
    let changes = match &op.body {
        Body::Issue(event) => event.changes(),
        _ => &[],
    };
    changes.iter().filter_map(|change| match change {
        Change::Solution(proposal) => Some(&**proposal),
        _ => None,
    })
}

/// Tells whether an approval of some files covers these words.
pub fn covers(
    files: &BTreeMap<Artifact, Oid>,
    argv: &[String],
    has: impl Fn(Artifact, &Oid, &[String]) -> bool,
) -> bool {
    let mut files = files.iter();
    files.any(|(artifact, blob)| {
        change_pack::CHECK_FILES.contains(artifact) && has(*artifact, blob, argv)
    })
}

/// A command that nobody here agreed to, with who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub check: Check,
    pub by: Option<Person>,
}

impl Stranger {
    /// The command and where it is from, in words.
    pub fn words(&self) -> String {
        let argv = self
            .check
            .argv
            .iter()
            .map(|word| loopx_base::shell_word(word));
        let argv: Vec<String> = argv.collect();
        let whose = match &self.by {
            _ if self.check.is_of_policy() => {
                "[checks] of the session's base has it, and that of its target has not".to_owned()
            }
            Some(by) => format!("{by} wrote it"),
            None => "it came out of a merge".to_owned(),
        };
        format!("{}: `{}` ({whose})", self.check.id, argv.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Commands, Hands, Mode, Origin, Stranger, origin};
    use crate::artifact::Artifact;
    use crate::checks::{Check, Source};
    use crate::stage::Stage;
    use loopx_base::id::{Oid, Person};

    #[test]
    fn an_agent_that_two_people_have_makes_them_no_one_person() {
        let [ada, bob, agent, other] = ["ada", "bob", "agent", "other"]
            .map(|name| Person::parse(&format!("{name} <{name}@x>")));
        fn hands<'p>(by: &'p Person, committer: Option<&'p Person>) -> Hands<'p> {
            Hands { by, committer }
        }
        for (one, two, same) in [
            (hands(&ada, None), hands(&ada, None), true),
            (hands(&ada, None), hands(&bob, None), false),
            (hands(&agent, Some(&ada)), hands(&ada, None), true),
            (hands(&agent, Some(&ada)), hands(&agent, Some(&ada)), true),
            (hands(&agent, Some(&ada)), hands(&other, Some(&ada)), true),
            (hands(&agent, Some(&ada)), hands(&agent, Some(&bob)), false),
            (hands(&ada, Some(&agent)), hands(&ada, None), true),
            (hands(&agent, None), hands(&agent, Some(&bob)), true),
        ] {
            assert_eq!(one.are_of(two), same, "{one:?} {two:?}");
            assert_eq!(two.are_of(one), same, "{two:?} {one:?}");
        }
        let nobody = Person::parse("Ada <>");
        assert!(!hands(&nobody, None).are_of(hands(&nobody, None)));
    }

    #[test]
    fn words_that_no_record_wrote_came_out_of_a_merge_and_are_nobodys() {
        let words = ["sh".to_owned(), "x".to_owned()];
        let anything = |_: Artifact, _: &Oid, _: &[String]| true;
        assert!(matches!(
            origin(&[], &words, true, anything),
            Origin::Merged
        ));
        assert!(matches!(origin(&[], &words, false, anything), Origin::Here));
        let stranger = Stranger {
            check: Check {
                id: "A".to_owned(),
                argv: words.to_vec(),
                source: Source::Artifact(Artifact::TaskList),
                stage: Stage::Build,
            },
            by: None,
        };
        assert_eq!(stranger.words(), "A: `sh x` (it came out of a merge)");
    }

    fn has(list: &str, argv: &[String]) -> bool {
        let texts = [(Artifact::TaskList, list.to_owned())].into();
        Commands::of(Artifact::TaskList, &texts).has(argv)
    }

    #[test]
    fn only_exactly_the_words_count_and_a_broken_file_has_what_it_may_have() {
        let line = r#"{"id":"A","title":"T","convergence":{"criteria":["It says no"],"verification":{"cmd":["sh","-c","x"]}}}"#;
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        for (text, argv, holds) in [
            (line.to_owned(), words(&["sh", "-c", "x"]), true),
            (line.to_owned(), words(&["sh", "-c"]), false),
            (line.to_owned(), words(&["sh", "-c", "x", "y"]), false),
            (format!("{line}\nno list"), words(&["sh", "-c"]), true),
            ("no list".to_owned(), words(&["sh"]), false),
        ] {
            assert_eq!(has(&text, &argv), holds, "{text} {argv:?}");
        }
    }

    #[test]
    fn a_value_that_means_nothing_trusts_nobody_more() {
        for (value, mode) in [
            (None, Mode::Here),
            (Some("here"), Mode::Here),
            (Some("names"), Mode::Names),
            (Some("signed"), Mode::Signed),
            (Some("all"), Mode::All),
            (Some("everything"), Mode::Here),
        ] {
            assert_eq!(Mode::of(value), mode, "{value:?}");
        }
    }

    #[test]
    fn what_a_fix_inserts_is_written_by_whoever_wrote_the_list() {
        let list = r#"{"id":"A","title":"A"}
{"id":"G","title":"G","kind":"decision","depends_on":["A"],"gate":{"repair":[{"id":"in","title":"In","kind":"decision","gate":{"repair":[{"id":"x","title":"X","convergence":{"verification":{"cmd":["sh","x.sh"]}}}]}}]}}"#;
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert!(has(list, &words(&["sh", "x.sh"])));
        assert!(!has(list, &words(&["sh"])));
    }
}
