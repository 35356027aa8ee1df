//! Names of the files of a clone. With `directory=`, every file of a job is below that directory, even if its
//! name begins with a slash: `/b` in `d` is `d//b`. A job therefore writes only below the directory that its
//! options name. A name with `..` (`../b`) is used unchanged.

use crate::plan::model::files::{Names, NamesPlan};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The paths of a clone's targets, in order.
pub fn paths(plan: &NamesPlan) -> Vec<PathBuf> {
    let directory = plan.directory.as_deref();
    let mut paths = match &plan.device {
        Some(name) if is_special_file(Path::new(name)) => vec![below(directory, name)],
        _ => planned_paths(plan),
    };
    if let Some(opened) = &plan.opened_directory {
        let mut found = Vec::new();
        add_directory(Path::new(opened), &mut found);
        paths.extend(found.iter().map(|path| below(directory, path)));
    }
    paths
}

/// Joins a directory and a name. Unlike [`Path::join`], the result stays below the directory if the name begins
/// with a slash.
fn below(directory: Option<&str>, name: impl AsRef<OsStr>) -> PathBuf {
    let Some(directory) = directory else { return PathBuf::from(name.as_ref()) };
    let mut path = OsString::from(directory);
    path.push("/");
    path.push(name);
    PathBuf::from(path)
}

/// Adds the files and devices below a directory, in the order of their names; symbolic links are not
/// followed.
fn add_directory(directory: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    for path in found {
        let Ok(kind) = std::fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else {
            continue;
        };
        if kind.is_dir() {
            add_directory(&path, paths);
        } else if kind.is_file() || kind.is_block_device() || kind.is_char_device() {
            paths.push(path);
        }
    }
}

/// The same paths from the plan alone, without accessing any file.
pub fn planned_paths(plan: &NamesPlan) -> Vec<PathBuf> {
    let directory = plan.directory.as_deref();
    match &plan.names {
        Names::Listed(names) => names.iter().map(|name| below(directory, name)).collect(),
        Names::Numbered { texts, count, tree } => {
            let name = |number: usize| texts.join(&number.to_string());
            let place = |number: usize| match tree {
                Some(tree) => below(directory, tree.directory_of(number).join(name(number))),
                None => below(directory, name(number)),
            };
            (0..*count).map(place).collect()
        }
    }
}

/// The paths that determine where a clone works: its targets, or the root of its tree.
pub fn leading_paths(plan: &NamesPlan) -> Vec<PathBuf> {
    match &plan.names {
        Names::Numbered { tree: Some(tree), .. } => vec![below(plan.directory.as_deref(), tree.directory(0))],
        _ => paths(plan),
    }
}

/// The directories of a clone's tree, parents first; empty without a tree.
pub fn tree_directories(plan: &NamesPlan) -> Vec<PathBuf> {
    let Names::Numbered { tree: Some(tree), .. } = &plan.names else { return Vec::new() };
    let directory = plan.directory.as_deref();
    (0..tree.directories).map(|number| below(directory, tree.directory(number))).collect()
}

fn is_special_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_block_device() || kind.is_char_device()
    })
}
