//! Files on overlayfs: a changed file also exists in the upper directory, under another inode number.

use super::{Machine, Thing};
use crate::mounts::Mount;
use std::fs;
use std::path::Path;

/// The counterparts of `thing`, which is at `path`, on the other sides of its overlays.
pub(super) fn other_sides<'m>(
    machine: &Machine<'_>,
    mounts: impl Iterator<Item = &'m Mount>,
    thing: Thing,
    path: &Path,
) -> Vec<Thing> {
    if !matches!(thing, Thing::File(..)) {
        return Vec::new();
    }
    let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
    // The path as seen in the examined machine's tree.
    let real =
        machine.root.canonicalize().ok().and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned));
    let Some(inside) = real else { return Vec::new() };
    let upper = |mount: &Mount| {
        let below = inside.strip_prefix(mount.report.directory.trim_start_matches('/')).ok()?;
        let options = mount.report.options.split([' ', ',']);
        let upper =
            options.filter_map(|option| option.split_once('=')).find(|(name, _)| *name == "upperdir")?.1;
        (machine.identify)(&machine.root.join(upper.trim_start_matches('/')).join(below))
    };
    mounts
        .filter(|mount| mount.report.kind == "overlay")
        .filter_map(upper)
        .filter(|side| *side != thing)
        .collect()
}
