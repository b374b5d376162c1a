//! Templates: the text of each artifact before anybody wrote in it, in English and in Chinese. Guidance
//! and examples stand in comments, which no gate counts.
//!
//! The texts are the files beside this one; a word in braces is filled in. Which sections have to hold something is the
//! profile's business, and how their headings are read that of [`super::headings`].

use super::artifact::Artifact;
use super::headings;
use super::markdown;
use super::policy::Language;
use super::profile::Profile;
use loopx_base::id::SessionId;
use pulldown_cmark::{Event, Parser, Tag};
use std::borrow::Cow;

/// The values that fill a template.
#[derive(Clone, Copy, Debug)]
pub struct TemplateInput<'a> {
    pub id: &'a SessionId,
    pub title: &'a str,
    pub intent: &'a str,
    /// Spec domains that the clarified spec names; `general` where it names none.
    pub domains: &'a [String],
    pub profile: &'a Profile,
    pub language: Language,
}

/// The texts of one language. Light: the plan of a profile without flags.
struct Texts {
    brief: &'static str,
    spec: &'static str,
    plan: &'static str,
    plan_light: &'static str,
    architecture: &'static str,
    development_plan: &'static str,
    test_plan: &'static str,
    proposal: &'static str,
    spec_delta: &'static str,
    domain: &'static str,
    design: &'static str,
    tasks: &'static str,
    execution_record: &'static str,
    review_report: &'static str,
}

macro_rules! texts {
    ($folder:literal) => {
        Texts {
            brief: include_str!(concat!($folder, "/brief.md")),
            spec: include_str!(concat!($folder, "/spec.md")),
            plan: include_str!(concat!($folder, "/plan.md")),
            plan_light: include_str!(concat!($folder, "/plan-light.md")),
            architecture: include_str!(concat!($folder, "/architecture.md")),
            development_plan: include_str!(concat!($folder, "/development-plan.md")),
            test_plan: include_str!(concat!($folder, "/test-plan.md")),
            proposal: include_str!(concat!($folder, "/proposal.md")),
            spec_delta: include_str!(concat!($folder, "/spec-delta.md")),
            domain: include_str!(concat!($folder, "/domain.md")),
            design: include_str!(concat!($folder, "/design.md")),
            tasks: include_str!(concat!($folder, "/tasks.md")),
            execution_record: include_str!(concat!($folder, "/execution-record.md")),
            review_report: include_str!(concat!($folder, "/review-report.md")),
        }
    };
}

static ENGLISH: Texts = texts!("en");
static CHINESE: Texts = texts!("zh");

impl Artifact {
    /// The text that a person starts from, with every section that the profile asks for.
    pub fn template(self, input: TemplateInput<'_>) -> String {
        let mut text = self.usual_template(input);
        let sections = markdown::sections(&text);
        for title in input.profile.sections_of(self) {
            if markdown::section(&sections, title).is_none() {
                let title = headings::written(title, input.language);
                text.push_str(&format!("\n## {title}\n\n<!-- -->\n"));
            }
        }
        text
    }

    fn usual_template(self, input: TemplateInput<'_>) -> String {
        let texts = match input.language {
            Language::Off => &ENGLISH,
            Language::Zh => &CHINESE,
        };
        let text = match self {
            Artifact::Brief => texts.brief,
            Artifact::Spec => texts.spec,
            Artifact::Plan if input.profile.flags_of(self).is_empty() => texts.plan_light,
            Artifact::Plan => texts.plan,
            Artifact::Architecture => texts.architecture,
            Artifact::DevelopmentPlan => texts.development_plan,
            Artifact::TestPlan => texts.test_plan,
            Artifact::Proposal => texts.proposal,
            Artifact::Design => texts.design,
            Artifact::Tasks => texts.tasks,
            Artifact::ExecutionRecord => texts.execution_record,
            Artifact::ReviewReport => texts.review_report,
            Artifact::SpecDelta => return spec_delta(texts, input.domains),
            Artifact::Slices => "[]\n",
            Artifact::Intent => return format!("{}\n", input.intent.trim_end()),
            Artifact::TaskList | Artifact::ArtifactGraph | Artifact::AdrCandidate => "",
        };
        filled(
            text,
            &[
                ("id", input.id.as_str()),
                ("title", &input.title.replace(char::is_control, " ")),
                ("intent", &without_form(input.intent.trim())),
                ("ambiguity", &input.profile.ambiguity.to_string()),
                ("rounds", &input.profile.rounds.to_string()),
            ],
        )
    }
}

/// A request as the text of one section. What would begin or swallow a section is set in as code: whoever wrote it
/// elsewhere gives the file no checks and no delta.
fn without_form(request: &str) -> Cow<'_, str> {
    let probe = format!("{request}\n\n# x\n");
    let headings = Parser::new(&probe)
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Start(Tag::Heading { .. })));
    let headings: Vec<usize> = headings.map(|(_, range)| range.start).collect();
    if headings == [probe.len() - "# x\n".len()] {
        return Cow::Borrowed(request);
    }
    // A lone carriage return ends a line too.
    let lines = request.replace("\r\n", "\n");
    let lines = lines.split(['\n', '\r']).map(|line| match line.trim() {
        "" => String::new(),
        _ => format!("    {line}"),
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

fn spec_delta(texts: &Texts, domains: &[String]) -> String {
    let general = ["general".to_owned()];
    let domains = if domains.is_empty() {
        &general[..]
    } else {
        domains
    };
    let parts = domains
        .iter()
        .map(|domain| filled(texts.domain, &[("domain", domain)]));
    texts.spec_delta.to_owned() + &parts.collect::<String>()
}

/// The text with its words in braces replaced, once: what is filled in is not read again.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = values.iter().find_map(|(name, value)| {
            let after = after.strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after))
        });
        rest = match found {
            Some((value, after)) => {
                out.push_str(value);
                after
            }
            None => {
                out.push('{');
                after
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{TemplateInput, filled};
    use crate::artifact::Artifact;
    use crate::markdown;
    use crate::policy::Language;
    use crate::profile::{ProfileName, Profiles};
    use loopx_base::id::SessionId;
    use loopx_spec::front::FrontMatter;
    use loopx_spec::read_delta;

    fn template(artifact: Artifact, profile: &str, language: Language) -> String {
        let name = ProfileName::parse(profile).expect("a name");
        artifact.template(TemplateInput {
            id: &SessionId::parse("it").expect("an id"),
            title: "T {intent}",
            intent: "W {title}",
            domains: &["a".to_owned(), "b/c".to_owned()],
            profile: &Profiles::default().get(&name).expect("a profile"),
            language,
        })
    }

    #[test]
    fn a_template_holds_nothing_that_a_gate_would_count_and_explains_each_field() {
        for language in [Language::Off, Language::Zh] {
            for profile in ["quick", "lite", "standard", "deep"] {
                let name = ProfileName::parse(profile).expect("a name");
                let asked = Profiles::default().get(&name).expect("a profile");
                for artifact in asked.files.iter().copied() {
                    let text = template(artifact, profile, language);
                    let place = format!("{language:?} {profile} {artifact}\n{text}");
                    let mut empty =
                        markdown::empty_sections(&text, asked.sections_of(artifact), language);
                    // They say what the title says, which somebody has typed.
                    empty.extend(
                        ["Why", "背景", "Problem", "问题"]
                            .map(str::to_owned)
                            .into_iter()
                            .filter(|title| text.contains(&format!("## {title}\n\nW {{title}}"))),
                    );
                    assert_eq!(empty.len(), asked.sections_of(artifact).len(), "{place}");
                    if let Some(known) = artifact.known_fields() {
                        let front = FrontMatter::parse(&text).expect("front matter");
                        assert_eq!(front.unknown(&known), None, "{place}");
                        let block = &text[..front.body_offset()];
                        let lines: Vec<&str> = block.lines().collect();
                        let bare = lines.windows(2).find(|two| {
                            two[1].contains(": ")
                                && !two[1].starts_with('#')
                                && !two[0].starts_with("# ")
                        });
                        assert_eq!(bare, None, "{place}");
                    }
                    let is_chinese = |text: &str| {
                        let (cjk, latin) = markdown::letters(text);
                        markdown::is_chinese(cjk, latin)
                    };
                    let is_text = artifact.path().ends_with(".md");
                    assert_eq!(
                        is_chinese(&text),
                        is_text && language == Language::Zh,
                        "{place}"
                    );
                    let is_judged = Artifact::PLAN_DOCUMENTS.contains(&artifact);
                    assert!(!is_judged || !is_chinese(&markdown::said(&text)), "{place}");
                }
            }
        }
    }

    /// A file is read once somebody takes the example out of its comment.
    #[test]
    fn the_example_of_a_delta_is_one() {
        for language in [Language::Off, Language::Zh] {
            for artifact in [Artifact::SpecDelta, Artifact::Brief] {
                let text = template(artifact, "standard", language);
                let at = text.find("\n## ADDED").or(text.find("\n## 新增"));
                let example = &text[at.expect("an example")..];
                let example = &example[..example.find("-->").expect("its end")];
                let delta = read_delta(format!("# Domain: a\n{example}").as_bytes(), "delta");
                assert_eq!(delta.domains.len(), 1, "{example}");
                assert_eq!(delta.domains[0].operations.len(), 1, "{example}");
                assert!(delta.findings.is_empty(), "{delta:?}");
            }
            let text = template(Artifact::SpecDelta, "standard", language);
            let headings = text.lines().filter(|line| line.starts_with("# "));
            assert_eq!(
                headings.collect::<Vec<_>>(),
                ["# Domain: a", "# Domain: b/c"]
            );
        }
    }

    #[test]
    fn a_request_forms_no_section_of_the_file_that_quotes_it() {
        let profile = ProfileName::parse("quick").expect("a name");
        let brief = |title: &str, intent: &str| {
            Artifact::Brief.template(TemplateInput {
                id: &SessionId::parse("it").expect("an id"),
                title,
                intent,
                domains: &[],
                profile: &Profiles::default().get(&profile).expect("a profile"),
                language: Language::Off,
            })
        };
        let titles = |text: &str| -> Vec<String> {
            let found = markdown::sections(text).into_iter();
            found.map(|section| section.title).collect()
        };
        let own = titles(&brief("T", "It says no"));
        let checks = "## Checks\n\n- `touch x`\n";
        for request in [
            checks.to_owned(),
            format!("x\n\n{checks}"),
            format!("x\r{}", checks.replace('\n', "\r")),
            format!("x\r\n\r\n{}", checks.replace('\n', "\r\n")),
            format!("> {checks}"),
            format!("- x\n\n  {checks}"),
            "x\n\nChecks\n---\n\n- `touch x`\n".to_owned(),
            "# Domain: a\n\n## ADDED Requirements\n\n### Requirement: R\n".to_owned(),
            format!("```\n{checks}"),
            format!("```\n\n```\n{checks}"),
            "x\n\n<!--\n".to_owned(),
            "x\n\n<script>\n".to_owned(),
        ] {
            for text in [brief("T", &request), brief(&format!("T\n\n{request}"), "y")] {
                assert_eq!(titles(&text), own, "{text}");
                let checks = crate::brief::checks(&text).expect("checks");
                assert_eq!(checks, [], "{text}");
                assert!(!crate::brief::has_delta(&text), "{text}");
            }
        }
        let plain = "It says no\n\n- `one`\n- two\n\n```\n# code\n```";
        assert!(brief("T", plain).contains(&format!("## Why\n\n{plain}\n")));
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let values = [("title", "{id}"), ("id", "x")];
        assert_eq!(
            filled("{title} {id} {other} {", &values),
            "{id} x {other} {"
        );
    }
}
