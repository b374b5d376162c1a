//! git settings that hooks depend on, as the git program reads them.

use super::text;
use loopx_base::failure::Result;
use loopx_git::run::Run;
use loopx_hosts::hooks;
use loopx_hosts::hooks::{Event, SetAt, Setting};
use std::ffi::OsStr;
use std::path::Path;

/// Keys and values of one file under our names.
pub(super) type Settings = Vec<(String, Vec<u8>)>;

/// Reads the settings of a configuration file under our names.
pub(super) fn own_settings(file: &Path) -> Result<Settings> {
    let listed = Run::git(["config", "-z", "--file"])
        .args([file.as_os_str(), OsStr::new("--get-regexp")])
        .args([r"^hook\.loopx-"])
        .capture()?;
    let field = |field: &[u8]| {
        let mut parts = field.splitn(2, |&byte| byte == b'\n');
        let key = text(parts.next()?);
        (!key.is_empty()).then(|| (key, parts.next().unwrap_or_default().to_vec()))
    };
    Ok(listed
        .stdout
        .split(|&byte| byte == 0)
        .filter_map(field)
        .collect())
}

pub(super) fn setting(settings: &[(String, Vec<u8>)], event: Event, program: &[u8]) -> Setting {
    let section = format!("hook.{}.", event.config_name());
    let ours = || {
        settings
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(&section)?, value.as_slice())))
    };
    let values = |wanted: &str| -> Vec<&[u8]> {
        let of_key = |(key, value)| (key == wanted).then_some(value);
        ours().filter_map(of_key).collect()
    };
    if ours().next().is_none() {
        Setting::Absent
    } else if values("command") == [hooks::command(program, event)]
        && values("event") == [event.name().as_bytes()]
    {
        Setting::Current
    } else {
        Setting::Outdated
    }
}

/// The file and scope of a setting that is false, in whichever file has the last word.
pub(super) fn switched_off(enter: &impl Fn(Run) -> Run, key: &str) -> Result<Option<SetAt>> {
    let args = [
        "config",
        "-z",
        "--show-scope",
        "--show-origin",
        "--type=bool",
        "--get",
    ];
    let asked = enter(Run::git(args).args([key])).capture()?;
    let Ok(said) = asked.ok() else {
        return Ok(None);
    };
    let mut fields = said.split(|&byte| byte == 0);
    let (scope, origin) = (fields.next(), fields.next());
    Ok(match (scope, origin, fields.next()) {
        (Some(scope), Some(origin), Some(b"false")) => Some(SetAt {
            scope: text(scope),
            origin: text(origin),
        }),
        _ => None,
    })
}
