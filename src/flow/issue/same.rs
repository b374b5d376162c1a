//! The issue here that an issue of another backlog is, by where it comes from. Two backlogs of one format may count alike:
//! what has the id of an issue that is here need not be that issue.

use super::{create, later};
use loopx_base::failure::Result;
use loopx_rules::issue::foreign::{Finding, Item};
use loopx_rules::issue::{Issue, IssueId, Source, similar};
use loopx_rules::lease::seconds_of;
use loopx_store::Snapshot;
use std::collections::{HashMap, HashSet};

/// An issue that was taken over before.
#[derive(Clone, Debug)]
struct Here {
    id: IssueId,
    title: String,
    /// The time at which the issue was made there.
    made: Option<String>,
}

/// The issues of a backlog that were taken over, by where they come from.
#[derive(Debug, Default)]
pub(super) struct Sources {
    here: HashMap<Source, Vec<Here>>,
    /// All ids, also of issues whose beginning was taken back.
    folders: HashSet<IssueId>,
    /// Set when somebody says that a backlog is the one that was taken over before.
    is_same: bool,
}

impl Sources {
    pub(super) fn of(issues: &[Issue], folders: HashSet<IssueId>, is_same: bool) -> Self {
        let mut here: HashMap<Source, Vec<Here>> = HashMap::new();
        for issue in issues {
            if let Some(source) = &issue.source {
                let made = issue.made.as_ref().and_then(|made| made.at.clone());
                here.entry(source.clone()).or_default().push(Here {
                    id: issue.id.clone(),
                    title: issue.title.clone(),
                    made,
                });
            }
        }
        Sources {
            here,
            folders,
            is_same,
        }
    }

    pub(super) fn has_folder(&self, id: &IssueId) -> bool {
        self.folders.contains(id)
    }

    /// The only issue that comes from there.
    pub(super) fn only(&self, source: &Source) -> Option<&IssueId> {
        match self.here.get(source)?.as_slice() {
            [one] => Some(&one.id),
            _ => None,
        }
    }

    /// The id here of an issue, with what is unclear about it.
    pub(super) fn id_of(
        &self,
        snapshot: &Snapshot<'_>,
        prefix: &str,
        item: &Item,
    ) -> Result<(IssueId, Option<Finding>)> {
        if let Some(id) = item.plain.id.as_ref().filter(|id| self.has_folder(id)) {
            return Ok((id.clone(), None));
        }
        let Some(source) = &item.plain.source else {
            // A line of our own without an id: its key is all that there is.
            let key = item.plain.key.as_deref().unwrap_or_default();
            let id = item.plain.id.clone();
            let id = id.map_or_else(|| create::imported(prefix, "key", key), Ok)?;
            return Ok((id, None));
        };
        let known = self.here.get(source).map_or(&[][..], Vec::as_slice);
        let made = made(item);
        let is_time = |one: &&Here| one.made.is_some() && is_moment(one.made.as_deref(), made);
        if let Some(one) = known.iter().find(is_time) {
            return Ok((one.id.clone(), None));
        }
        let fault = match known {
            [] => None,
            [one] if self.is_likely(snapshot, one, item)? => return Ok((one.id.clone(), None)),
            some => Some(unclear(source, some, item)),
        };
        let new = match &item.plain.id {
            Some(id) => id.clone(),
            None => self.new_id(prefix, source, made)?,
        };
        Ok((new, fault))
    }

    /// The id of what was not here. Its time there tells it from what has its id elsewhere, in another clone, too. What came
    /// by its id alone and was taken back keeps that.
    fn new_id(&self, prefix: &str, source: &Source, made: Option<&str>) -> Result<IssueId> {
        let plain = create::imported(prefix, &source.system, &source.id)?;
        let seconds = made.and_then(seconds_of);
        match seconds.filter(|_| !self.has_folder(&plain)) {
            Some(seconds) => {
                let id = format!("{}\0{seconds}", source.id);
                create::imported(prefix, &source.system, &id)
            }
            None => Ok(plain),
        }
    }

    /// Tells whether nothing says that an issue is another one than the only issue here of its id: neither its time nor
    /// its title, which shares a word with the title here, or with the title that the issue had there.
    fn is_likely(&self, snapshot: &Snapshot<'_>, one: &Here, item: &Item) -> Result<bool> {
        let title = item.plain.title.trim();
        let are_apart = one.made.is_some() && made(item).is_some();
        if are_apart {
            return Ok(self.is_same && one.title == title);
        }
        if self.is_same || similar::shares_word(&one.title, title) || one.title == title {
            return Ok(true);
        }
        let spoken = later::spoken_title(snapshot, &one.id)?;
        Ok(spoken.is_some_and(|spoken| spoken == title || similar::shares_word(&spoken, title)))
    }
}

/// The time at which an issue was made there.
fn made(item: &Item) -> Option<&str> {
    item.plain.created.as_ref()?.at.as_deref()
}

fn is_moment(one: Option<&str>, other: Option<&str>) -> bool {
    let seconds = |text: Option<&str>| text.and_then(seconds_of);
    one == other || seconds(one).is_some() && seconds(one) == seconds(other)
}

/// An issue that may be another one than those here of its id, with all of them.
fn unclear(source: &Source, known: &[Here], item: &Item) -> Finding {
    let named = |title: &str, made: Option<&str>| match made {
        Some(made) => format!("`{title}` of {made}"),
        None => format!("`{title}`"),
    };
    let here: Vec<String> = known
        .iter()
        .map(|one| {
            format!(
                "{} here, {}",
                one.id,
                named(&one.title, one.made.as_deref())
            )
        })
        .collect();
    let title = item.plain.title.trim();
    let may_be = known
        .iter()
        .any(|one| one.title == title || one.made.is_none() || made(item).is_none());
    let same = match known {
        [_] if may_be => "; where it is the same issue, --update says so",
        _ => "",
    };
    Finding {
        at: item.at.clone(),
        message: format!(
            "{} is {}; this is {}: {} tells the two backlogs apart, as --source NAME{same}",
            source.id,
            here.join(", and "),
            named(title, made(item)),
            match source.name() {
                Some(name) => format!("another name than {name}"),
                None => "a name".to_owned(),
            }
        ),
    }
}
