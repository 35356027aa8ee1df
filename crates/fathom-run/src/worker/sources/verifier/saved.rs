//! Verification state files: one is saved when a job ends, and a loaded one limits the check.

use super::{Verifier, Worker, WorkerContext};
use crate::message::Message;
use crate::worker::GivenUp;
use fathom_errors::plain;
use fathom_stats::Direction;
use fathom_sys::Errno;
use fathom_verify::header::{Header, MAGIC};
use fathom_verify::rule::Rule;
use fathom_verify::state::{RunTime, SavedState, SavedThread, SavedWrites, StateError, StateFile, VERSION};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use thiserror::Error;

/// Why a state file cannot be used.
#[derive(Debug, Error)]
enum LimitError {
    /// The file cannot be read.
    #[error("{}", plain(.0))]
    NotRead(#[from] io::Error),
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is too short for any state.
    #[error("the file ends too early")]
    NoHeader,
    /// The file is damaged, or of an unknown version.
    #[error(transparent)]
    Unusable(#[from] StateError),
    /// The file's version does not list the writes in flight.
    #[error("the file has version {0}; version {VERSION} can be read")]
    OtherVersion(u64),
    /// The file contains no thread state.
    #[error("the file holds no job")]
    NoJob,
}

/// The limits of what can be checked of an earlier run.
pub(super) struct Limit {
    /// Number of writes that the run issued.
    writes: u64,
    /// Numbers of the writes that were in flight.
    in_flight: Vec<u64>,
    /// The time span in which the run wrote, if the file contains it: start and end, ns.
    pub(super) issued: Option<(u64, u64)>,
}

impl Limit {
    /// Reads a state file; an error is reported and stored as the job's error.
    pub(super) fn load(context: &WorkerContext<'_>, path: &Path) -> Result<Limit, GivenUp> {
        let of_fio = |error: &std::io::Error| {
            let (errno, path) = (Errno(error.raw_os_error().unwrap_or(libc::EIO)), path.display());
            context.messages.send(&Message::Error(format!(
                "fio: open state file: {errno}\nfio: state file: {path} (for_write=0)"
            )));
        };
        let read = std::fs::read(path).inspect_err(of_fio);
        match read.map_err(LimitError::from).and_then(Limit::read) {
            Ok(limit) => Ok(limit),
            Err(problem) => {
                context.messages.send(&Message::Error(format!(
                    "fathom: job {}: verify_state_load: {}: {problem}; a run with verify_state_save=1 writes \
                    the file, and --aux-path names its directory",
                    context.worker_plan().name,
                    path.display()
                )));
                Err(context.fail_without_line(Errno(libc::EINVAL)))
            }
        }
    }

    fn read(bytes: Vec<u8>) -> Result<Limit, LimitError> {
        if bytes.is_empty() {
            return Err(LimitError::Empty);
        }
        let state = StateFile::new(bytes).ok_or(LimitError::NoHeader)?;
        match state.threads()?.into_iter().next() {
            Some(SavedThread { ios, writes: SavedWrites::InFlight(numbers), .. }) => {
                let issued = state.run.map(|run| (run.begin_ns, run.end_ns));
                Ok(Limit { writes: ios, in_flight: numbers.into_iter().flatten().collect(), issued })
            }
            Some(_) => Err(LimitError::OtherVersion(state.version)),
            None => Err(LimitError::NoJob),
        }
    }

    /// True if the write with this number was issued.
    pub(super) fn has(&self, number: u64) -> bool {
        number < self.writes
    }

    /// The message for a write that the run never issued.
    pub(super) fn stop_line(&self, number: u64) -> Option<String> {
        let writes = self.writes;
        (!self.has(number)).then(|| format!("Stop verify because seq {number} >= {writes}"))
    }

    /// The message for read data whose header contains the number of a write that was never issued.
    pub(super) fn stop_line_of_data(&self, rule: &Rule, data: &[u8]) -> Option<String> {
        let header = Header::decode(data.get(rule.header_offset as usize..)?, rule.format)?;
        if header.magic != MAGIC || !rule.method.has_header() {
            return None;
        }
        self.stop_line(header.number)
    }

    /// True for a write that was in flight when the state was saved, so that its block holds the old or the new
    /// data.
    pub(super) fn was_in_flight(&self, number: u64) -> bool {
        self.in_flight.contains(&number)
    }
}

impl Worker<'_> {
    /// Saves the state that a later run needs. A `verify_only` run does not replace an existing file, because it
    /// knows less than the writing run.
    pub(super) fn save_verify_state(&mut self) {
        let Some(verifier) = &self.features.verifier else { return };
        let wanted = verifier.plan.state_to_save.as_ref();
        if let Some(path) = wanted.filter(|path| !verifier.plan.only_checks || !path.exists()) {
            self.save_state(path, false);
        }
    }

    /// Saves the state of a job that a trigger ended, regardless of any later order. The state is on disk when
    /// this returns.
    pub(in crate::worker) fn save_triggered_state(&mut self) {
        let wanted = self.plan.triggered_state.as_ref().filter(|_| self.block.should_save());
        if let Some(path) = wanted.filter(|_| self.plan.writes_data()) {
            self.save_state(path, true);
        }
    }

    fn save_state(&self, path: &Path, is_synced: bool) {
        let (words, is_64_bit) = self.targets.generator_state();
        let verifier = self.features.verifier.as_deref();
        let has_written = verifier.is_none_or(|verifier| !verifier.plan.only_checks);
        let writes_issued = || self.block.samples.directions[Direction::Write].issued.load(Relaxed);
        let state = SavedState {
            depth: self.plan.depth,
            writes: verifier.map_or_else(writes_issued, Verifier::writes_to_save),
            index: u64::from(self.plan.thread_number) - 1,
            is_64_bit,
            generator: words,
            name: self.plan.name.clone(),
            in_flight: verifier.map_or_else(Vec::new, |verifier| verifier.writes_in_flight().collect()),
            run: has_written.then(|| RunTime {
                begin_ns: self.block.begin_ns.load(Relaxed),
                end_ns: self.clock.monotonic_ns(),
            }),
        };
        let save = || {
            let mut file = File::create(path)?;
            file.write_all(&state.encode())?;
            if is_synced { file.sync_all() } else { Ok(()) }
        };
        if let Err(error) = save() {
            self.context.messages.send(&Message::Error(format!(
                "fathom: job {}: cannot save the verify state {}: {error}",
                self.plan.name,
                path.display(),
                error = plain(&error)
            )));
        }
    }
}

impl Verifier<'_> {
    fn writes_to_save(&self) -> u64 {
        if self.plan.state_up_to_sync { self.synced.0 } else { self.number }
    }
}
