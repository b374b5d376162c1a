//! A number for each line, shared between those who know nearly the same.

use std::rc::Rc;

/// The numbers or branches of one node.
const WIDTH: usize = 16;
const BITS: u32 = WIDTH.trailing_zeros();

/// Numbers by line; what was never raised is 0. A copy costs nothing, and a change what leads to it.
#[derive(Clone, Default)]
pub(super) struct Table {
    /// The levels below the root.
    depth: u32,
    root: Option<Rc<Node>>,
}

#[derive(Clone, PartialEq)]
enum Node {
    Numbers([usize; WIDTH]),
    Branches([Option<Rc<Node>>; WIDTH]),
}

impl Node {
    fn empty(depth: u32) -> Self {
        match depth {
            0 => Node::Numbers([0; WIDTH]),
            _ => Node::Branches([const { None }; WIDTH]),
        }
    }
}

/// Index at which a line is found in the nodes of a level.
fn slot(line: u32, depth: u32) -> usize {
    (line >> (depth * BITS)) as usize % WIDTH
}

impl Table {
    pub(super) fn get(&self, line: u32) -> usize {
        if !self.has_room(line) {
            return 0;
        }
        let mut depth = self.depth;
        let mut node = self.root.as_deref();
        while let Some(Node::Branches(branches)) = node {
            node = branches[slot(line, depth)].as_deref();
            depth -= 1;
        }
        match node {
            Some(Node::Numbers(numbers)) => numbers[slot(line, 0)],
            _ => 0,
        }
    }

    /// Makes a number as large as this one.
    pub(super) fn raise(&mut self, line: u32, to: usize) {
        if self.get(line) >= to {
            return;
        }
        while !self.has_room(line) {
            self.deepen();
        }
        let mut depth = self.depth;
        let root = self.root.get_or_insert_with(|| Rc::new(Node::empty(depth)));
        let mut node = Rc::make_mut(root);
        loop {
            match node {
                Node::Numbers(numbers) => {
                    numbers[slot(line, 0)] = to;
                    return;
                }
                Node::Branches(branches) => {
                    let branch = &mut branches[slot(line, depth)];
                    depth -= 1;
                    let branch = branch.get_or_insert_with(|| Rc::new(Node::empty(depth)));
                    node = Rc::make_mut(branch);
                }
            }
        }
    }

    /// Makes each number as large as it is in the other one.
    pub(super) fn join(&mut self, other: &Table) {
        let mut other = other.clone();
        while self.depth < other.depth {
            self.deepen();
        }
        while other.depth < self.depth {
            other.deepen();
        }
        self.root = joined(self.root.as_ref(), other.root.as_ref());
    }

    fn has_room(&self, line: u32) -> bool {
        let bits = (self.depth + 1) * BITS;
        bits >= u32::BITS || line >> bits == 0
    }

    fn deepen(&mut self) {
        self.depth += 1;
        if let Some(root) = self.root.take() {
            let mut branches = [const { None }; WIDTH];
            branches[0] = Some(root);
            self.root = Some(Rc::new(Node::Branches(branches)));
        }
    }

    /// The nodes of it, each by where it is.
    #[cfg(test)]
    pub(super) fn nodes(&self, found: &mut std::collections::BTreeSet<usize>) {
        let mut next: Vec<&Rc<Node>> = self.root.iter().collect();
        while let Some(node) = next.pop() {
            if found.insert(Rc::as_ptr(node) as usize)
                && let Node::Branches(branches) = node.as_ref()
            {
                next.extend(branches.iter().flatten());
            }
        }
    }
}

/// Joins two nodes of one depth. What is the same in both, or has all of the other, is taken as it is.
fn joined(one: Option<&Rc<Node>>, other: Option<&Rc<Node>>) -> Option<Rc<Node>> {
    let (Some(one), Some(other)) = (one, other) else {
        return one.or(other).cloned();
    };
    if Rc::ptr_eq(one, other) {
        return Some(Rc::clone(one));
    }
    let is_it = |known: &Option<Rc<Node>>, branch: &Option<Rc<Node>>| match (known, branch) {
        (Some(known), Some(branch)) => Rc::ptr_eq(known, branch),
        (None, None) => true,
        _ => false,
    };
    match (one.as_ref(), other.as_ref()) {
        (Node::Numbers(a), Node::Numbers(b)) => {
            let most: [usize; WIDTH] = std::array::from_fn(|at| a[at].max(b[at]));
            Some(match (most == *a, most == *b) {
                (true, _) => Rc::clone(one),
                (_, true) => Rc::clone(other),
                _ => Rc::new(Node::Numbers(most)),
            })
        }
        (Node::Branches(a), Node::Branches(b)) => {
            let both: [Option<Rc<Node>>; WIDTH] =
                std::array::from_fn(|at| joined(a[at].as_ref(), b[at].as_ref()));
            let is = |known: &[Option<Rc<Node>>; WIDTH]| {
                known
                    .iter()
                    .zip(&both)
                    .all(|(known, now)| is_it(known, now))
            };
            Some(match (is(a), is(b)) {
                (true, _) => Rc::clone(one),
                (_, true) => Rc::clone(other),
                _ => Rc::new(Node::Branches(both)),
            })
        }
        // Nodes of one depth are of one kind.
        _ => Some(Rc::clone(one)),
    }
}
