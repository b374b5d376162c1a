//! Work that a finished command has left for the next one. Whoever writes adds to the list, and the terminal reads it:
//! once a ref has moved, what fails after it is no failure of the command.

use super::hint::Hint;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// Piece of work that a command has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Work that is done: which ref stands where.
    pub done: String,
    /// Work that did not follow.
    pub left: String,
    /// Reason for which the work did not follow.
    pub why: String,
    /// The command that finishes it, or leads on from it.
    pub help: Hint,
    /// Set when the next command that writes finishes the work without being told.
    pub is_resumed: bool,
}

/// The list of one process, shared by all who hold a copy.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedList(Rc<RefCell<Vec<Unfinished>>>);

impl UnfinishedList {
    pub fn add(&self, one: Unfinished) {
        let mut list = self.0.borrow_mut();
        if !list.contains(&one) {
            list.push(one);
        }
    }

    pub fn all(&self) -> Vec<Unfinished> {
        self.0.borrow().clone()
    }
}
