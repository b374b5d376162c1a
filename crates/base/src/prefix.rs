//! Names by their beginning, as git shortens object ids: a whole name wins, and a beginning that several share is
//! none of them.

/// Things that a word names: none, one or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant<'n, T> {
    None,
    One(&'n T),
    Several(Vec<&'n T>),
}

/// The one of these that `word` names.
pub fn meant<'n, T>(word: &str, all: &'n [T], name: impl Fn(&T) -> &str) -> Meant<'n, T> {
    if word.is_empty() {
        return Meant::None;
    }
    if let Some(whole) = all.iter().find(|one| name(one) == word) {
        return Meant::One(whole);
    }
    let mut found: Vec<&T> = all
        .iter()
        .filter(|one| name(one).starts_with(word))
        .collect();
    match found.len() {
        0 | 1 => found.pop().map_or(Meant::None, Meant::One),
        _ => Meant::Several(found),
    }
}

#[cfg(test)]
mod tests {
    use super::{Meant, meant};

    #[test]
    fn u16_a_whole_name_wins_and_a_shared_beginning_is_nobodys() {
        let all = ["fix", "fix-login", "fix-logout", "auth"];
        let found = |word| meant(word, &all, |name| name);
        assert_eq!(found("fix"), Meant::One(&"fix"));
        assert_eq!(found("fix-logi"), Meant::One(&"fix-login"));
        assert_eq!(
            found("fix-log"),
            Meant::Several(vec![&"fix-login", &"fix-logout"])
        );
        assert_eq!(found("a"), Meant::One(&"auth"));
        assert_eq!(found(""), Meant::None);
        assert_eq!(found("fixes"), Meant::None);
    }
}
