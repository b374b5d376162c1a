//! The pipelines that the program brings, as files. Nothing of them stands anywhere else.

/// Pipelines of the program, in the order in which they are listed.
const ALL: [(&str, &str); 11] = [
    ("spec-only", include_str!("builtin/spec-only.toml")),
    ("impl-only", include_str!("builtin/impl-only.toml")),
    ("fe-only", include_str!("builtin/fe-only.toml")),
    ("fullstack", include_str!("builtin/fullstack.toml")),
    (
        "full-lifecycle",
        include_str!("builtin/full-lifecycle.toml"),
    ),
    (
        "full-lifecycle-fe",
        include_str!("builtin/full-lifecycle-fe.toml"),
    ),
    ("chain", include_str!("builtin/chain.toml")),
    ("issue", include_str!("builtin/issue.toml")),
    ("patch", include_str!("builtin/patch.toml")),
    ("sprint", include_str!("builtin/sprint.toml")),
    ("multi-sprint", include_str!("builtin/multi-sprint.toml")),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

pub fn text(name: &str) -> Option<&'static str> {
    let found = ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Name by which a finding calls the file of a built-in pipeline.
pub fn label(name: &str) -> String {
    format!("{name}.toml")
}
