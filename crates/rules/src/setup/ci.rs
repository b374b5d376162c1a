//! Forges that run `verify`: the file that has them do so, and what only a person can do there.

use std::fmt;
use std::str::FromStr;

/// Forge that runs checks for pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ci {
    Github,
    Gitlab,
    /// No forge, or a server of one's own.
    None,
}

const GITHUB: &str = include_str!("ci/github.yml");
const GITLAB: &str = include_str!("ci/gitlab.yml");

/// GitLab's own file, and ours beside one that is there.
pub const GITLAB_FILE: &str = ".gitlab-ci.yml";
const GITLAB_BESIDE: &str = ".gitlab/loopx.yml";

impl Ci {
    /// Reads it from the address of a remote: its host says it.
    pub fn of_url(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        let host = host
            .rsplit('@')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let named = |name: &str| host.split('.').any(|part| part == name);
        if named("github") {
            Ci::Github
        } else if named("gitlab") {
            Ci::Gitlab
        } else {
            Ci::None
        }
    }

    /// The file and its text; `others` is what GitLab's own file says now, where there is one.
    pub fn file(self, others: Option<&str>) -> Option<(&'static str, &'static str)> {
        match self {
            Ci::Github => Some((".github/workflows/loopx.yml", GITHUB)),
            Ci::Gitlab if others.is_none_or(|text| text == GITLAB) => Some((GITLAB_FILE, GITLAB)),
            Ci::Gitlab => Some((GITLAB_BESIDE, GITLAB)),
            Ci::None => None,
        }
    }

    /// Steps that only a person can do, in order. `others` as above.
    pub fn by_hand(self, branch: &str, others: Option<&str>) -> Vec<String> {
        let forge = |check: &str| {
            vec![
                "git-loopx into the PATH of the runner that runs the check".to_owned(),
                format!("on the forge: {branch} takes pull requests alone, neither forced nor deleted, and {check}"),
                "on the forge: the branch loopx is neither forced nor deleted; everybody who works pushes it, so no pull requests there".to_owned(),
            ]
        };
        match self {
            Ci::Github => {
                forge("asks for the check `loopx`; a merge queue judges what lands as it lands")
            }
            Ci::Gitlab => {
                let mut said = forge(
                    "asks for pipelines that succeed; who may change CI files is asked too, since a merge request brings its own (or set the CI file to one of another project)",
                );
                if others.is_some_and(|text| text != GITLAB && !text.contains(GITLAB_BESIDE)) {
                    said.push(format!(
                        "into {GITLAB_FILE}: include: [{{ local: {GITLAB_BESIDE} }}]"
                    ));
                }
                said
            }
            Ci::None => vec![
                "on a server of your own: git-loopx in its PATH, then `setup server`".to_owned(),
            ],
        }
    }
}

impl FromStr for Ci {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "github" => Ok(Ci::Github),
            "gitlab" => Ok(Ci::Gitlab),
            "none" => Ok(Ci::None),
            _ => Err("expected github, gitlab or none".to_owned()),
        }
    }
}

impl fmt::Display for Ci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ci::Github => "github",
            Ci::Gitlab => "gitlab",
            Ci::None => "none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ci;

    #[test]
    fn the_host_of_a_remote_says_who_runs_checks() {
        for (url, wanted) in [
            ("git@github.com:ada/ward.git", Ci::Github),
            ("https://github.com/ada/gitlab.git", Ci::Github),
            ("ssh://git@gitlab.example.org:22/ada/ward.git", Ci::Gitlab),
            ("https://user@GitLab.com/ada/ward", Ci::Gitlab),
            ("https://notgithub.com/x", Ci::None),
            ("/srv/github.com/ward.git", Ci::None),
            ("../remote.git", Ci::None),
        ] {
            assert_eq!(Ci::of_url(url), wanted, "{url}");
        }
    }

    #[test]
    fn a_gitlab_file_that_is_there_gets_one_beside_it() {
        let (own, text) = Ci::Gitlab.file(None).expect("a file");
        assert_eq!(own, ".gitlab-ci.yml");
        assert_eq!(Ci::Gitlab.file(Some(text)), Some((own, text)));
        assert!(
            !Ci::Gitlab
                .by_hand("main", Some(text))
                .iter()
                .any(|one| one.contains("include"))
        );
        let (beside, _) = Ci::Gitlab.file(Some("x:\n")).expect("a file");
        assert_eq!(beside, ".gitlab/loopx.yml");
        assert!(
            Ci::Gitlab
                .by_hand("main", Some("x:\n"))
                .iter()
                .any(|one| one.contains("include"))
        );
    }
}
