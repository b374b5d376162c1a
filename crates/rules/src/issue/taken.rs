//! The origin of an issue that was taken over: who made it there, what was said of it, the line of code that it is
//! about, and fields that have no counterpart here.

use loopx_base::id::Oid;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who made something, and when, as another system says it: nobody here can vouch for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A comment of another system. Its time comes first, so that comments that came together are in their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(default)]
    pub by: String,
    #[serde(default = "message")]
    pub kind: String,
    pub text: String,
}

/// The kind of a comment that says none.
pub(super) fn message() -> String {
    "message".to_owned()
}

/// A line of code, as it was at a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub path: String,
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)?;
        match &self.commit {
            Some(commit) => write!(f, " of {}", commit.as_str().get(..10).unwrap_or_default()),
            None => Ok(()),
        }
    }
}

/// A field that has no counterpart here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub name: String,
    /// Its value as JSON text: a number is kept as it was written.
    pub json: String,
}

impl Kept {
    /// The value; a text that is no JSON stands for itself.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.json)
            .unwrap_or_else(|_| serde_json::Value::String(self.json.clone()))
    }
}
