//! The files of a commit against the tasks that whoever makes it has. The hook asks before a commit; afterwards nobody
//! can tell who had which task by then, so `verify` does not.

use super::node::{Node, TaskId};

/// A path that no task names which whoever commits has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    pub path: String,
    /// Task of the list that names the path.
    pub of: Option<TaskId>,
}

/// The paths that none of their `own` tasks names. Nothing where they have none, or one that names no file: then the
/// plan does not say what belongs to it.
pub fn strays(nodes: &[Node], own: &[&Node], paths: &[String]) -> Vec<Stray> {
    let says_nothing = |node: &&&Node| node.own_files().next().is_none();
    if own.is_empty() || own.iter().any(|node| says_nothing(&node)) {
        return Vec::new();
    }
    let is_own = |path: &&String| own.iter().any(|node| node.is_about(path));
    let foreign = paths.iter().filter(|path| !is_own(path));
    let stray = |path: &String| Stray {
        path: path.clone(),
        of: nodes
            .iter()
            .find(|node| node.is_about(path))
            .map(|node| node.id.clone()),
    };
    foreign.map(stray).collect()
}

impl Stray {
    /// Sentence about the path, for whoever has these tasks.
    pub fn words(&self, own: &[&Node]) -> String {
        let ids: Vec<&str> = own.iter().map(|node| node.id.as_str()).collect();
        let ids = ids.join(" and ");
        let does = if own.len() > 1 { "do" } else { "does" };
        match &self.of {
            Some(other) => format!(
                "`{}` is a file of {other}, and {ids} {does} not name it",
                self.path
            ),
            None => format!("{ids} {does} not name `{}`", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::strays;
    use crate::task::file::read;

    #[test]
    fn team_j8_g5_a_path_is_held_against_the_tasks_of_whoever_commits() {
        let text = r#"{"id":"A","title":"A","files":["src/a"]}
{"id":"B","title":"B","files":["src/b.rs",{"path":"src/a/seen.rs","action":"read"}]}
{"id":"C","title":"C"}"#;
        let nodes = read(text).expect("a list").nodes;
        let paths = ["src/a/x.rs", "src/b.rs", "lib.rs"].map(str::to_owned);
        let said = |own: &[usize]| -> Vec<String> {
            let own: Vec<_> = own.iter().map(|at| &nodes[*at]).collect();
            let found = strays(&nodes, &own, &paths);
            found.iter().map(|one| one.words(&own)).collect()
        };
        assert_eq!(
            said(&[0]),
            [
                "`src/b.rs` is a file of B, and A does not name it",
                "A does not name `lib.rs`"
            ]
        );
        assert_eq!(said(&[0, 1]), ["A and B do not name `lib.rs`"]);
        assert!(said(&[]).is_empty(), "nobody has a task");
        assert!(said(&[0, 2]).is_empty(), "C says nothing of its files");
    }
}
