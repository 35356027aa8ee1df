//! Reading a log ahead of its replay: a thread of the worker hands over entries in chunks.

use crate::cause::Cause;
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::replay::ReplayPlan;
use crate::replay as source;
use crate::worker::{GivenUp, Worker, WorkerContext};
use fathom_errors::plain;
use fathom_sys::Errno;
use fathom_sys::clock::Clock;
use fathom_trace::dependencies::Dependent;
use fathom_trace::reader::Reader;
use fathom_trace::{Entry, TraceError};
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use thiserror::Error;

/// Number of log entries per chunk.
pub(super) const CHUNK: usize = 4096;
/// Number of chunks by which the reader may be ahead.
const AHEAD: usize = 8;
/// Poll interval while the reader has no complete chunk, in ns.
pub(super) const PAUSE_NS: u64 = 20_000;
/// Busy-waiting time before an entry is due, in ns; the value was found by trial.
const AWAKE_NS: u64 = 60_000;
/// A short busy-wait.
const STEP_NS: u64 = 10_000;

/// Why a log was not replayed to its end.
#[derive(Debug, Error)]
#[error("{log}: {fault}")]
pub(super) struct ReplayError {
    log: String,
    fault: Fault,
}

/// What is wrong with a log.
#[derive(Debug, Error)]
enum Fault {
    /// The log cannot be opened.
    #[error("{}", plain(.0))]
    NotOpened(#[from] io::Error),
    /// The log is malformed, or cannot be read to its end.
    #[error(transparent)]
    Unreadable(#[from] TraceError),
    /// The log names files or blocks that were not in it when the run was planned.
    #[error("the log has changed since the run was planned")]
    Changed,
}

/// What is read ahead: an entry, alone or with its dependencies.
pub(super) trait Item: Send + Sized + 'static {
    fn read<R: BufRead>(reader: &mut Reader<R>) -> Result<Option<Self>, TraceError>;
    fn entry(&self) -> &Entry;
}

impl Item for Entry {
    fn read<R: BufRead>(reader: &mut Reader<R>) -> Result<Option<Entry>, TraceError> {
        reader.next()
    }

    fn entry(&self) -> &Entry {
        self
    }
}

impl Item for Dependent {
    fn read<R: BufRead>(reader: &mut Reader<R>) -> Result<Option<Dependent>, TraceError> {
        reader.next_dependent()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// What the reader thread sends.
enum Part<T> {
    Entries(Vec<T>),
    /// The log cannot be read any further.
    Failed(ReplayError),
}

/// The worker's end of the reader thread.
pub(super) struct Ahead<T> {
    parts: Receiver<Part<T>>,
    /// Channel that returns used chunks.
    used: SyncSender<Vec<T>>,
}

/// What the reader thread has for the run loop.
pub(super) enum Taken {
    /// The chunk was replaced by the next one.
    Chunk,
    /// The reader has no complete chunk yet.
    NotYet,
    /// The log is over.
    End,
    Failed(ReplayError),
}

impl<T: Item> Ahead<T> {
    /// Starts to read the log of a worker.
    pub(super) fn start(context: &WorkerContext<'_>, replay: &ReplayPlan) -> Result<Ahead<T>, GivenUp> {
        let (sender, parts) = sync_channel(AHEAD);
        let (used, back) = sync_channel(AHEAD + 1);
        let own = replay.clone();
        let reader = std::thread::Builder::new().spawn(move || read_ahead(&own, &sender, &back));
        match reader {
            Ok(_) => Ok(Ahead { parts, used }),
            Err(error) => Err(context.fail_for_thread("to read the log ahead", &error)),
        }
    }

    /// Replaces a used chunk by the next one.
    pub(super) fn take(&mut self, chunk: &mut Vec<T>) -> Taken {
        match self.parts.try_recv() {
            Ok(Part::Entries(next)) => {
                // A reader that has finished no longer accepts chunks.
                let _ = self.used.try_send(std::mem::replace(chunk, next));
                Taken::Chunk
            }
            Ok(Part::Failed(reason)) => Taken::Failed(reason),
            Err(TryRecvError::Empty) => Taken::NotYet,
            Err(TryRecvError::Disconnected) => Taken::End,
        }
    }

    /// Waits for the next chunk; `None` at the end of the log.
    pub(super) fn wait(&mut self) -> Option<Vec<T>> {
        match self.parts.recv() {
            Ok(Part::Entries(chunk)) => Some(chunk),
            _ => None,
        }
    }
}

/// Reports the problems of a worker's log, unless an earlier worker of its job with the same log does so.
pub(super) fn report_problems(context: &WorkerContext<'_>, replay: &ReplayPlan) {
    let plan = context.worker_plan();
    let mut before = context.plan.workers[..context.index].iter();
    let is_same = |other: &WorkerPlan| {
        other.job == plan.job && other.replay.as_ref().is_some_and(|own| own.source == replay.source)
    };
    if !before.any(is_same) {
        replay.warnings.iter().for_each(|text| context.messages.send(&Message::Error(text.clone())));
    }
}

/// The tick until which to wait for an entry that is due later. Sleeps end late, so the end of the wait is a
/// busy-wait.
pub(super) fn wake_for(clock: Clock, due: u64, now: u64) -> u64 {
    let early = due.saturating_sub(clock.ticks_of_ns(AWAKE_NS));
    let soon = due.min(now + clock.ticks_of_ns(STEP_NS));
    if early > now { early } else { soon }
}

impl Worker<'_> {
    /// Ends the job because its log cannot be read to the end.
    #[cold]
    pub(super) fn replay_failed(&mut self, reason: &ReplayError) {
        self.stopping = true;
        self.context.messages.send(&Message::Error(format!("fathom: job {}: {reason}", self.plan.name)));
        self.context.fail(Errno(libc::EINVAL), Cause::LOG_READ);
    }
}

/// Reads the log to its end, as far ahead as the channel has room.
fn read_ahead<T: Item>(plan: &ReplayPlan, parts: &SyncSender<Part<T>>, used: &Receiver<Vec<T>>) {
    if let Err(fault) = read_chunks(plan, parts, used) {
        // Sending fails if the receiver is gone, which means that the run is over.
        let _ = parts.send(Part::Failed(ReplayError { log: plan.name.clone(), fault }));
    }
}

fn read_chunks<T: Item>(
    plan: &ReplayPlan,
    parts: &SyncSender<Part<T>>,
    used: &Receiver<Vec<T>>,
) -> Result<(), Fault> {
    let file = source::open(&plan.source)?;
    let mut reader = Reader::new(file, plan.rules.clone())?;
    loop {
        // Chunks are reused; the first few are allocated here.
        let mut chunk = used.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        chunk.clear();
        while chunk.len() < CHUNK {
            match T::read(&mut reader)? {
                Some(item) => {
                    check(item.entry(), plan)?;
                    chunk.push(item);
                }
                None => break,
            }
        }
        let is_last = chunk.len() < CHUNK;
        if !chunk.is_empty() && parts.send(Part::Entries(chunk)).is_err() || is_last {
            return Ok(());
        }
    }
}

/// Checks an entry against the scan of the log, by which buffers and files were sized: the log may have changed
/// since.
fn check(entry: &Entry, plan: &ReplayPlan) -> Result<(), Fault> {
    let fits = entry.length <= plan.largest()
        && plan.scan.files.get(entry.file as usize).is_some_and(|file| {
            entry.offset.checked_add(u64::from(entry.length)).is_some_and(|end| end <= file.end)
        });
    if fits { Ok(()) } else { Err(Fault::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::replay::LogSource;
    use fathom_trace::scan::{Scan, ScannedDirection, ScannedFile};
    use fathom_trace::{Action, FileName, Rules};

    #[test]
    fn a_log_that_has_grown_meanwhile_ends_the_replay() {
        let read = ScannedDirection { ios: 1, bytes: 512, smallest: 512, largest: 512 };
        let file = ScannedFile { name: FileName::Path("a".to_owned()), end: 4096, size: 0 };
        let plan = ReplayPlan {
            name: "log".to_owned(),
            source: LogSource::File("log".into()),
            rules: Rules::default(),
            scan: Scan {
                files: vec![file],
                directions: [read, ScannedDirection::default(), ScannedDirection::default()].into(),
                ..Scan::default()
            },
            warnings: Vec::new(),
            failure: None,
        };
        let entry = |file, offset, length| Entry { due_ns: None, action: Action::Read, file, offset, length };
        assert!(check(&entry(0, 3584, 512), &plan).is_ok());
        for changed in [entry(0, 0, 1024), entry(1, 0, 512), entry(0, 4096, 512), entry(0, u64::MAX, 512)] {
            assert!(matches!(check(&changed, &plan), Err(Fault::Changed)));
        }
    }
}
