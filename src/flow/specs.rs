//! The specs of this repository: which there are, and what they say.
//!
//! Reads the worktree, because that is what people edit; a bare repository's HEAD otherwise.

use super::begin::LARGEST;
use super::context::Context;
use super::files as worktree;
use super::spec as files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::policy::Policy;
use loopx_spec::{Finding, Severity, Spec, block_of, check_domain, read_spec};

/// Spec file that was read.
#[derive(Debug)]
pub(crate) struct Listed {
    pub domain: String,
    pub path: String,
    pub text: String,
    /// Spec, or the fault of the file where it is no spec at all.
    pub spec: Result<Spec, Finding>,
}

impl Listed {
    pub(crate) fn errors(&self) -> usize {
        match &self.spec {
            Ok(spec) => {
                let is_error = |finding: &&Finding| finding.severity == Severity::Error;
                spec.findings.iter().filter(is_error).count()
            }
            Err(_) => 1,
        }
    }
}

/// The policy of HEAD: it says where the specs are.
pub(crate) fn policy(ctx: &Context) -> Result<Policy> {
    match ctx.repo.head()?.commit {
        Some(commit) => {
            let label = format!("{} at HEAD", loopx_rules::policy::FILE);
            ctx.policy_at(&ctx.repo.commit_info(&commit)?.tree, &label)
        }
        None => Ok(Policy::default()),
    }
}

/// Fault of the policy file of the worktree: nothing judges by that file yet, and the first session that starts from it
/// would be refused.
pub(crate) fn worktree_fault(ctx: &Context) -> Option<String> {
    let file = loopx_rules::policy::FILE;
    let path = worktree::inside(ctx.repo.work_dir()?, file);
    let text = path.and_then(|path| worktree::read(&path, LARGEST));
    let fault = match text {
        Ok(text) => Policy::parse(&String::from_utf8_lossy(&text?), file).err()?,
        Err(fault) => fault,
    };
    Some(format!("in the worktree: {}", fault.message))
}

/// Every spec, by domain.
pub(crate) fn list(ctx: &Context) -> Result<Vec<Listed>> {
    each(ctx, |domain, path, read| Ok(listed(domain, &read()?, path)))
}

/// The domains that have a spec; none is read.
pub(crate) fn domains(ctx: &Context) -> Result<Vec<String>> {
    each(ctx, |domain, _, _| Ok(domain))
}

/// Makes something of each spec: of its domain, its path, and its text where that is wanted.
fn each<T>(
    ctx: &Context,
    make: impl Fn(String, String, &dyn Fn() -> Result<Vec<u8>>) -> Result<T>,
) -> Result<Vec<T>> {
    let folder = policy(ctx)?.paths.specs;
    let mut found = Vec::new();
    if let Some(top) = ctx.repo.work_dir() {
        let dir = top.join(&folder);
        if dir.is_dir() {
            for domain in files::walk(&dir)?.0 {
                let path = format!("{folder}/{domain}/spec.md");
                let file = top.join(&path);
                found.push(make(domain, path, &|| files::read(&file))?);
            }
        }
    } else if let Some(commit) = ctx.repo.head()?.commit {
        let tree = ctx.repo.commit_info(&commit)?.tree;
        if let Some(entry) = ctx.repo.entry_at(&tree, &folder)? {
            for (path, blob) in ctx.repo.walk_blobs(&entry.id)? {
                if let Some(domain) = path.strip_suffix("/spec.md") {
                    let path = format!("{folder}/{path}");
                    let read = || ctx.repo.read_blob(&blob);
                    found.push(make(domain.to_owned(), path, &read)?);
                }
            }
        }
    }
    Ok(found)
}

fn listed(domain: String, bytes: &[u8], path: String) -> Listed {
    let mut spec = read_spec(bytes, &path);
    if let (Ok(spec), Err(why)) = (&mut spec, check_domain(&domain)) {
        // No delta could ever be applied to it.
        spec.findings
            .insert(0, files::bad_domain(&path, &domain, &why));
    }
    Listed {
        spec,
        text: String::from_utf8_lossy(bytes).into_owned(),
        domain,
        path,
    }
}

/// Reads a spec, or one requirement of it, as written.
pub(crate) fn show(
    ctx: &Context,
    domain: &str,
    requirement: Option<&str>,
) -> Result<(Listed, String)> {
    let mut all = list(ctx)?;
    let wanted = domain.trim_matches('/');
    let Some(at) = all.iter().position(|one| one.domain == wanted) else {
        let near = loopx_base::nearest(wanted, all.iter().map(|one| one.domain.as_str()));
        let failure = Failure::not_found(
            Code::SpecUnknown,
            format!("no spec has the domain `{wanted}`"),
        );
        return Err(match near {
            Some(near) => failure.help(command!("spec show {near}")),
            None => failure.help(command!("spec list")),
        });
    };
    let one = all.swap_remove(at);
    let Some(name) = requirement else {
        let text = one.text.clone();
        return Ok((one, text));
    };
    match block_of(&one.text, name) {
        Some(block) if !name.is_empty() => Ok((one, block)),
        _ => {
            let names: Vec<&str> = match &one.spec {
                Ok(spec) => spec.requirements.iter().map(|r| r.name.as_str()).collect(),
                Err(_) => Vec::new(),
            };
            let failure = Failure::not_found(
                Code::RequirementUnknown,
                format!("{}: no requirement is named `{name}`", one.path),
            );
            Err(match loopx_base::nearest(name, names.iter().copied()) {
                Some(near) => failure.help(command!("spec show {wanted} '{near}'")),
                None => failure.help(command!("spec show {wanted}")),
            })
        }
    }
}
