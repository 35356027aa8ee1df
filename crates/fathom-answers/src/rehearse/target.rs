//! The device or file on which a load is rehearsed.

use crate::device::{check_named_twice, refused, scratch};
use crate::figures::size;
use crate::{Runner, device};
use fathom_command::Failure;
use std::path::{Path, PathBuf};

/// A target that may be used.
pub(super) struct Target {
    /// Its path without links.
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// Examines a target that is read or, if `writes`, whose content is destroyed.
pub(super) fn examine(
    named: &Path,
    destroy: Option<&Path>,
    writes: bool,
    runner: &dyn Runner,
) -> Result<Target, Failure> {
    let metadata = std::fs::metadata(named).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refused(
            named,
            "there is no such device or file; a file must exist and be as large as the load needs, and have been written: \
             fathom --name=lay --rw=write --bs=1m --size=SIZE --filename=PATH",
        ),
        _ => Failure::file(named, &error),
    })?;
    if !metadata.is_file() {
        let device::Scratch { path, bytes } = scratch(named, destroy, writes, runner)?;
        return Ok(Target { path, bytes });
    }
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    if writes {
        check_named_twice(named, &metadata, destroy)?;
        if let Some(used) = runner.use_of(&path) {
            return Err(refused(named, &format!("it is in use: {used}; name another file")));
        }
    }
    Ok(Target { path, bytes: metadata.len() })
}

/// The part of the target that a load may use: whole mebibytes, unless the target is smaller than one.
pub(super) fn capacity(bytes: u64) -> u64 {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes {
        MEBIBYTE.. => bytes - bytes % MEBIBYTE,
        smaller => smaller - smaller % 4096,
    }
}

/// The refusal of a load that needs more than the target has. `ways` are those of making it fit.
pub(super) fn too_small(named: &Path, capacity: u64, needed: u64, ways: &str) -> Failure {
    refused(named, &format!("the load needs {} and it has {}; {ways}", size(needed), size(capacity)))
}
