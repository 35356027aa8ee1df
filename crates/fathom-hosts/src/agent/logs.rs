//! Handles logs of jobs, and verification states that a trigger saved. They are written on the host during the
//! run and sent to the controller afterwards; the host does not keep a copy.

use super::channel::Channel;
use crate::protocol::{Bytes, FromAgent};
use fathom_errors::plain;
use fathom_run::plan::{Plan, WorkerPlan};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Maximum number of log bytes per message.
const AT_ONCE: u64 = 1 << 20;
/// Directory for logs during the run. It is on a disk, because memory may be too small.
const DIRECTORY: &str = "/var/tmp";

/// The directory for logs cannot be created.
#[derive(Debug, Error)]
#[error("fathom: cannot make a directory for logs in {}: {error}", parent.display(), error = plain(.error))]
pub(super) struct NoDirectory {
    parent: PathBuf,
    error: io::Error,
}

/// The logs of a run, and the directory that holds them until they are sent.
pub(super) struct CollectedLogs {
    directory: Option<PathBuf>,
    /// User-visible name of each file, by path.
    names: BTreeMap<PathBuf, PathBuf>,
}

impl CollectedLogs {
    /// Redirects the logs of the plan into a private directory.
    pub(super) fn redirect(plan: &mut Plan) -> Result<CollectedLogs, NoDirectory> {
        let mut logs = CollectedLogs { directory: None, names: BTreeMap::new() };
        let keeps = |worker: &WorkerPlan| worker.logs.is_some() || worker.triggered_state.is_some();
        let keeps_any = plan.bandwidth_log.is_some() || plan.workers.iter().any(keeps);
        if !keeps_any {
            return Ok(logs);
        }
        let directory = private_directory()?;
        let mut places: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        let mut place_of = |name: &PathBuf| {
            let next = directory.join(places.len().to_string());
            places.entry(name.clone()).or_insert(next).clone()
        };
        for worker in &mut plan.workers {
            let paths = worker.logs.iter_mut().flat_map(|logs| &mut logs.paths);
            paths.chain(worker.triggered_state.iter_mut()).for_each(|path| *path = place_of(path));
        }
        logs.names = places.into_iter().map(|(name, place)| (place, name)).collect();
        if let Some(prefix) = &mut plan.bandwidth_log {
            let name = std::mem::replace(prefix, directory.join("total"));
            // This name is a prefix, to which the files add suffixes.
            logs.names.insert(prefix.clone(), name);
        }
        logs.directory = Some(directory);
        Ok(logs)
    }

    /// Sends the logs; true if all of them could be read.
    pub(super) fn send(&self, channel: &mut Channel, patience: Duration) -> bool {
        let Some(directory) = &self.directory else { return true };
        let Ok(entries) = fs::read_dir(directory) else { return false };
        let mut is_whole = true;
        let mut places: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        places.sort();
        for place in places {
            is_whole &=
                self.name_of(&place).is_some_and(|name| send_file(channel, &place, name, patience).is_ok());
        }
        is_whole
    }

    /// The user-visible name of a file in the directory.
    fn name_of(&self, place: &Path) -> Option<String> {
        if let Some(name) = self.names.get(place) {
            return Some(name.to_string_lossy().into_owned());
        }
        let text = place.to_string_lossy();
        self.names.iter().find_map(|(prefix, name)| {
            let ending = text
                .strip_prefix(&*prefix.to_string_lossy())
                .filter(|ending| ending.starts_with(['_', '-']))?;
            Some(format!("{}{ending}", name.to_string_lossy()))
        })
    }
}

fn send_file(channel: &mut Channel, place: &Path, name: String, patience: Duration) -> std::io::Result<()> {
    let mut file = File::open(place)?;
    loop {
        let mut bytes = Vec::new();
        let count = Read::by_ref(&mut file).take(AT_ONCE).read_to_end(&mut bytes)?;
        // A log without records is sent as well, because the user expects its file.
        channel.send(&FromAgent::Log { name: name.clone(), bytes: Bytes(bytes) });
        channel.finish(patience);
        if (count as u64) < AT_ONCE {
            return Ok(());
        }
    }
}

/// Creates a new directory that only this user can enter.
fn private_directory() -> Result<PathBuf, NoDirectory> {
    use std::os::unix::fs::DirBuilderExt;
    let parent = Some(Path::new(DIRECTORY))
        .filter(|path| path.is_dir())
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let pid = std::process::id();
    let mut error = io::ErrorKind::AlreadyExists.into();
    for attempt in 0..100 {
        let directory = parent.join(format!("fathom-agent-{pid}-{attempt}"));
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(refusal) => error = refusal,
        }
    }
    Err(NoDirectory { parent, error })
}

impl Drop for CollectedLogs {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            // If this fails, the directory stays until the host cleans up.
            let _ = fs::remove_dir_all(directory);
        }
    }
}
