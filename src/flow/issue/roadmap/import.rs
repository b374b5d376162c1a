//! Taking over a roadmap of another program: the importer of the backlog reads it.

use crate::flow::context::Context;
use crate::flow::issue::import::{self, From, Report, Request};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::issue::foreign::Format;

/// Takes over a roadmap, a file or a folder, with its issues: all of it or nothing.
pub(crate) fn import(ctx: &Context, path: &str, dry_run: bool) -> Result<Report> {
    let request = Request {
        from: From::Path(path.to_owned()),
        format: Some(Format::Roadmap),
        map: Vec::new(),
        source: None,
        update: false,
        dry_run,
    };
    import::import(ctx, &request).map_err(|failure| {
        if failure.help == Some(command!("help issue import")) {
            failure.help(command!("help roadmap import"))
        } else {
            failure
        }
    })
}
