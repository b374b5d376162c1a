//! The texts of a session's artifacts. This module owns that the list of tasks among them is read once, however many
//! rules ask for its nodes; it knows neither where the texts come from nor what the rules make of them.

use super::artifact::Artifact;
use super::task::node::Node;
use super::task::slices;
use loopx_base::failure::Blocker;
use std::cell::OnceCell;
use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// The text of each artifact that is there.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    of: BTreeMap<Artifact, String>,
    /// The list of tasks among them, once somebody asks for its nodes.
    list: OnceCell<SharedList>,
}

/// A list of tasks with its nodes, which are read once for all texts that have it.
#[derive(Clone, Debug)]
pub struct SharedList(Rc<List>);

#[derive(Debug)]
struct List {
    text: Rc<str>,
    nodes: OnceCell<Result<Vec<Node>, Blocker>>,
}

impl Texts {
    /// The nodes of the list of tasks, or what is wrong with it; nothing where there is no list.
    pub fn list(&self) -> Option<&Result<Vec<Node>, Blocker>> {
        let SharedList(list) = self.shared()?;
        Some(
            list.nodes
                .get_or_init(|| slices::nodes(Rc::clone(&list.text))),
        )
    }

    fn shared(&self) -> Option<&SharedList> {
        let text = self.of.get(&Artifact::TaskList)?;
        Some(self.list.get_or_init(|| {
            SharedList(Rc::new(List {
                text: text.as_str().into(),
                nodes: OnceCell::new(),
            }))
        }))
    }

    /// Shares the list with those who asked before, where it is theirs, and else with those who ask from now on. Says
    /// whether it is new.
    pub fn share(&mut self, known: &mut Option<SharedList>) -> bool {
        let text = self.of.get(&Artifact::TaskList);
        match (text, &known) {
            (None, _) => false,
            (Some(text), Some(known)) if *known.0.text == **text => {
                self.list = known.clone().into();
                false
            }
            _ => {
                *known = self.shared().cloned();
                true
            }
        }
    }
}

impl Deref for Texts {
    type Target = BTreeMap<Artifact, String>;

    fn deref(&self) -> &Self::Target {
        &self.of
    }
}

/// Access to change the texts: the list is read again afterwards.
impl DerefMut for Texts {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.list = OnceCell::new();
        &mut self.of
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
    }
}

impl From<BTreeMap<Artifact, String>> for Texts {
    fn from(of: BTreeMap<Artifact, String>) -> Self {
        Texts {
            of,
            list: OnceCell::new(),
        }
    }
}

impl<const N: usize> From<[(Artifact, String); N]> for Texts {
    fn from(texts: [(Artifact, String); N]) -> Self {
        BTreeMap::from(texts).into()
    }
}

impl FromIterator<(Artifact, String)> for Texts {
    fn from_iter<I: IntoIterator<Item = (Artifact, String)>>(texts: I) -> Self {
        BTreeMap::from_iter(texts).into()
    }
}

impl IntoIterator for Texts {
    type Item = (Artifact, String);
    type IntoIter = btree_map::IntoIter<Artifact, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.of.into_iter()
    }
}

impl<'t> IntoIterator for &'t Texts {
    type Item = (&'t Artifact, &'t String);
    type IntoIter = btree_map::Iter<'t, Artifact, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.of.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::artifact::Artifact;

    #[test]
    fn a_list_is_read_once_and_again_when_a_text_changed() {
        let line = |id: &str| format!("{{\"id\":\"{id}\",\"title\":\"T\"}}\n");
        let mut texts = Texts::from([(Artifact::TaskList, line("A"))]);
        let ids = |texts: &Texts| {
            let nodes = texts.list().expect("a list").as_ref().expect("nodes");
            (nodes.as_ptr(), nodes[0].id.to_string())
        };
        let first = ids(&texts);
        assert_eq!(ids(&texts), first);
        let mut known = None;
        assert!(texts.share(&mut known));
        let mut same = Texts::from([(Artifact::TaskList, line("A"))]);
        assert!(!same.share(&mut known));
        assert_eq!(ids(&same), first);
        let mut other = Texts::from([(Artifact::TaskList, line("C"))]);
        assert!(other.share(&mut known));
        assert_eq!(ids(&other).1, "C");
        texts.insert(Artifact::TaskList, line("B"));
        assert_eq!(ids(&texts).1, "B");
        texts.remove(&Artifact::TaskList);
        assert!(texts.list().is_none());
    }
}
