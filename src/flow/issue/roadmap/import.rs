//! Taking over a roadmap of another program: the importer of the backlog reads it.

use crate::flow::context::Context;
use crate::flow::issue::import::{self, From, Report, Request};
use loopx_base::failure::Result;
use loopx_rules::issue::foreign::Format;

/// Takes over a roadmap, a file or a folder, with its issues: all of it or nothing.
pub(crate) fn import(ctx: &Context, path: &str, dry_run: bool) -> Result<Report> {
    import::import(
        ctx,
        &Request {
            from: From::Path(path.to_owned()),
            format: Some(Format::Roadmap),
            map: Vec::new(),
            source: None,
            update: false,
            dry_run,
        },
    )
}
