//! One test binary: every file of this folder is a module of it.

mod layers;
