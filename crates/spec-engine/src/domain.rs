//! Names of domains: paths below the folder of specs, and nothing else.

/// Names of which Windows cannot hold a file, with any extension.
const RESERVED: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Checks that `name` can be a domain; the error says why it cannot.
pub fn check_domain(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name of the domain is empty".into());
    }
    if name.len() > 200 {
        return Err("the name of the domain is longer than 200 bytes".into());
    }
    if let Some(c) = name
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-')))
    {
        return Err(format!(
            "{c:?} cannot stand in the name of a domain: letters, digits, `.`, `_`, `-` and `/` can"
        ));
    }
    for part in name.split('/') {
        if part.is_empty() {
            return Err("the path has an empty part".into());
        }
        if part == "." || part == ".." {
            return Err(format!("`{part}` leads out of the folder of specs"));
        }
        if part.starts_with('.') || part.ends_with('.') {
            return Err(format!("`{part}` starts or ends with a dot"));
        }
        let stem = part
            .split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let numbered = ["com", "lpt"].iter().any(|device| {
            stem.strip_prefix(device)
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
        });
        if numbered || RESERVED.contains(&stem.as_str()) {
            return Err(format!("Windows has no file named `{part}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_domain;

    #[test]
    fn paths_stay_inside_and_work_everywhere() {
        for good in ["demo", "auth/login", "a.b_c-1", "v1.2/x"] {
            assert!(check_domain(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            "..",
            "a/../b",
            "a\\b",
            "C:x",
            "con",
            "a/NUL.txt",
            "com1",
            ".git",
            "a.",
            "a b",
            "é",
        ] {
            assert!(check_domain(bad).is_err(), "{bad}");
        }
    }
}
