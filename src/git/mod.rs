//! The only place that names libgit2 or starts the git program. Owned plain data comes out.

pub mod config_file;
pub mod merge;
pub mod run;
