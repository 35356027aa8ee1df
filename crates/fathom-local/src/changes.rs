//! Effects of workers on the files and devices of this machine, and the users of these files and devices.

use fathom_run::files::{self, names};
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_run::storage;
use fathom_run::storage::files::uses_of;
use fathom_spec::engines::StorageKind;
use fathom_spec::engines::metadata::NameOperation;
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A change that a worker makes to one of its files or devices.
pub struct Change {
    /// The file or device.
    pub path: PathBuf,
    /// True if the worker writes or trims.
    pub writes: bool,
    /// True if the worker removes a regular file, at the end or after each loop.
    pub is_removed: bool,
    /// True if the worker extends an existing regular file before the run, even if the job only reads.
    pub is_longer: bool,
}

impl Change {
    /// True if the change affects the content.
    pub fn is_any(&self) -> bool {
        self.writes || self.is_removed || self.is_longer
    }
}

/// The changes of all workers of a plan, in their order; empty for workers without files.
pub fn of(plan: &Plan) -> Vec<Vec<Change>> {
    plan.workers.iter().map(of_worker).collect()
}

fn of_worker(worker: &WorkerPlan) -> Vec<Change> {
    if worker.storage != StorageKind::Files {
        return Vec::new();
    }
    let paths = names::paths(&worker.files.names);
    let short = short(worker, &paths);
    let deletes = worker.metadata.is_some_and(|metadata| metadata.operation == NameOperation::Delete);
    let is_removed = worker.files.are_removed || worker.files.are_renewed || deletes;
    let change = |path: PathBuf| Change {
        writes: worker.changes_data(),
        is_removed: is_removed && !is_device_node(&path),
        is_longer: short.as_ref().is_none_or(|short| short.contains(&path)) && size_of_file(&path).is_some(),
        path,
    };
    paths.into_iter().map(change).collect()
}

/// Returns existing files that are shorter than the worker needs; `None` if that is unknown, in which case any
/// file may be.
fn short(worker: &WorkerPlan, paths: &[PathBuf]) -> Option<HashSet<PathBuf>> {
    if !worker.files.layout.creates
        || !paths.iter().any(|path| size_of_file(path).is_some_and(|size| size > 0))
    {
        return Some(HashSet::new());
    }
    let storage = storage::of_kind(StorageKind::Files);
    let entries = files::resolve(&*storage, worker).ok()?;
    Some(entries.into_iter().filter(|entry| entry.is_short()).map(|entry| entry.path).collect())
}

fn size_of_file(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len())
}

/// The users of targets that would be changed; each path is looked up once.
#[derive(Default)]
pub struct Uses(HashMap<PathBuf, Option<String>>);

impl Uses {
    /// Looks up the existing targets of these changes.
    pub fn look(&mut self, changes: &[Vec<Change>]) {
        let changed = changes.iter().flatten().filter(|change| change.is_any()).map(|change| &*change.path);
        let new: HashSet<&Path> = changed.filter(|path| !self.0.contains_key(*path)).collect();
        let new: Vec<&Path> = new.into_iter().filter(|path| path.exists()).collect();
        if !new.is_empty() {
            let uses = uses_of(new.iter().copied());
            self.0.extend(new.into_iter().map(Path::to_owned).zip(uses));
        }
    }

    /// The use of a path, as a phrase that follows "is in use: ".
    pub fn of(&self, path: &Path) -> Option<String> {
        self.0.get(path).cloned().flatten()
    }
}

/// True for block and character devices that hold data, regardless of the directory of their node.
pub fn is_device_node(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_block_device() || kind.is_char_device()
    })
}
