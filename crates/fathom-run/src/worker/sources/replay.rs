//! The worker's part in a replay: entries of the log instead of targets. A thread of the worker reads ahead and
//! hands over entries in chunks; the run loop takes each entry when it is due. Due times are those of the log,
//! relative to the first call, so a late entry does not delay the others.

use crate::cause::Cause;
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::replay::ReplayPlan;
use crate::replay as source;
use crate::targets::Target;
use crate::unit::{Operation, Unit};
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::next::Next;
use crate::worker::{GivenUp, Worker, WorkerContext};
use fathom_errors::plain;
use fathom_stats::Direction;
use fathom_stats::samples::LatencySamples;
use fathom_sys::Errno;
use fathom_sys::clock::Clock;
use fathom_trace::reader::Reader;
use fathom_trace::{Action, Entry, TraceError};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use thiserror::Error;

/// Number of log entries per chunk.
const CHUNK: usize = 4096;
/// Number of chunks by which the reader may be ahead.
const AHEAD: usize = 8;
/// Poll interval while the reader has no complete chunk, in ns.
const PAUSE_NS: u64 = 20_000;
/// Busy-waiting time before an entry is due, in ns; the value was found by trial.
const AWAKE_NS: u64 = 60_000;
/// A short busy-wait.
const STEP_NS: u64 = 10_000;
/// The due time of an entry that is due immediately.
const AT_ONCE: u64 = u64::MAX;

/// Why a log was not replayed to its end.
#[derive(Debug, Error)]
#[error("{log}: {fault}")]
struct ReplayError {
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

/// What the reader thread sends.
enum Part {
    Entries(Vec<Entry>),
    /// The log cannot be read any further.
    Failed(ReplayError),
}

/// The replay of one worker.
pub(in crate::worker) struct Replay<'a> {
    parts: Receiver<Part>,
    /// Channel that returns used chunks.
    used: SyncSender<Vec<Entry>>,
    chunk: Vec<Entry>,
    position: usize,
    clock: Clock,
    /// True if entries have times.
    keeps_time: bool,
    /// Time at which the last entry is due, ns since the start.
    last_due_ns: Option<u64>,
    /// Tick at which the replay began.
    start: Option<u64>,
    /// Tick at which the last drawn entry was due.
    drawn_due: u64,
    /// For each slot, the tick at which its entry was due.
    due: Box<[u64]>,
    /// True if syncs wait for the I/Os before them, and the I/Os after them for the sync. The flushes of a block
    /// trace did neither, so in an open loop they do not either.
    orders_syncs: bool,
    /// True while syncs in flight must complete before any I/O is issued.
    behind_sync: bool,
    lateness: &'a LatencySamples,
}

/// What the log provides next.
enum Step {
    Entry(Entry),
    Wait(u64),
    End,
    Failed(ReplayError),
}

impl Feature for Replay<'_> {
    /// Provides the I/Os with their priorities, and must see when they are issued.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, preparation: true, ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> Replay<'a> {
    /// The replay of a worker, if its job has a log. Reports problems of the log.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        clock: Clock,
    ) -> Result<Option<Replay<'a>>, GivenUp> {
        let plan = context.worker_plan();
        let Some(replay) = &plan.replay else { return Ok(None) };
        let mut before = context.plan.workers[..context.index].iter();
        let is_same = |other: &WorkerPlan| {
            other.job == plan.job && other.replay.as_ref().is_some_and(|own| own.source == replay.source)
        };
        if !before.any(is_same) {
            replay.warnings.iter().for_each(|text| context.messages.send(&Message::Error(text.clone())));
        }
        let (sender, parts) = sync_channel(AHEAD);
        let (used, back) = sync_channel(AHEAD + 1);
        let own = replay.clone();
        let reader = std::thread::Builder::new().spawn(move || read_ahead(&own, &sender, &back));
        if let Err(error) = reader {
            return Err(context.fail_for_thread("to read the log ahead", &error));
        }
        Ok(Some(Replay {
            parts,
            used,
            chunk: Vec::new(),
            position: 0,
            clock,
            keeps_time: replay.scan.last_due_ns.is_some(),
            last_due_ns: replay.scan.last_due_ns,

            start: None,
            drawn_due: AT_ONCE,
            due: vec![AT_ONCE; plan.depth as usize].into_boxed_slice(),
            orders_syncs: !replay.scan.is_trace || plan.arrivals.is_none(),
            behind_sync: false,
            lateness: &context.block().lateness,
        }))
    }

    /// The current entry, or the reason why none is available.
    fn look(&mut self, now: u64) -> Step {
        while self.position == self.chunk.len() {
            match self.parts.try_recv() {
                Ok(Part::Entries(chunk)) => {
                    // A reader that has finished no longer accepts chunks.
                    let _ = self.used.try_send(std::mem::replace(&mut self.chunk, chunk));
                    self.position = 0;
                }
                Ok(Part::Failed(reason)) => return Step::Failed(reason),
                Err(TryRecvError::Empty) => return Step::Wait(now + self.clock.ticks_of_ns(PAUSE_NS)),
                Err(TryRecvError::Disconnected) => return Step::End,
            }
        }
        let entry = self.chunk[self.position];
        let start = *self.start.get_or_insert(now);
        self.drawn_due = AT_ONCE;
        if let Some(due_ns) = entry.due_ns {
            let due = start + self.clock.ticks_of_ns(due_ns);
            if due > now {
                // Sleeps end late, so the end of the wait is a busy-wait.
                let early = due.saturating_sub(self.clock.ticks_of_ns(AWAKE_NS));
                let soon = due.min(now + self.clock.ticks_of_ns(STEP_NS));
                return Step::Wait(if early > now { early } else { soon });
            }
            self.drawn_due = due;
        }
        Step::Entry(entry)
    }

    /// Puts the last drawn entry into this slot. Returns the tick at which it was due.
    pub(in crate::worker) fn begin(&mut self, slot: u32) -> Option<u64> {
        let due = std::mem::replace(&mut self.drawn_due, AT_ONCE);
        self.due[slot as usize] = due;
        (due != AT_ONCE).then_some(due)
    }

    /// Tick at which the last entry is due; `None` before the first entry was asked for, and without times.
    pub(in crate::worker) fn end(&self) -> Option<u64> {
        Some(self.start? + self.clock.ticks_of_ns(self.last_due_ns?))
    }

    /// Number of further entries of this direction that are due now, as far as the log has been read.
    pub(in crate::worker) fn others_due(&self, direction: Direction) -> u64 {
        self.due_by(self.clock.ticks()).filter(|(of, _)| *of == direction).count() as u64
    }

    /// Entries that are due by this tick but have not been drawn, as far as the log has been read.
    pub(in crate::worker) fn waiting(&mut self, now: u64) -> impl Iterator<Item = (Direction, u64)> {
        let mut all: Vec<(Direction, u64)> = self.due_by(now).collect();
        while let Ok(Part::Entries(chunk)) = self.parts.recv() {
            (self.chunk, self.position) = (chunk, 0);
            let before = all.len();
            all.extend(self.due_by(now));
            if all.len() == before {
                break;
            }
        }
        all.into_iter()
    }

    /// The I/Os of the current chunk that are due by a tick, with their ticks.
    fn due_by(&self, now: u64) -> impl Iterator<Item = (Direction, u64)> {
        let start = self.start.unwrap_or(now);
        let due = move |entry: &Entry| Some(start + self.clock.ticks_of_ns(entry.due_ns?));
        let rest = self.chunk[self.position..].iter();
        let rest = rest.map_while(move |entry| Some((entry, due(entry).filter(|&due| due <= now)?)));
        rest.filter_map(|(entry, due)| Some((direction_of(entry.action)?, due)))
    }

    /// Records that the entry in this slot was issued at this tick.
    pub(in crate::worker) fn issued(&mut self, slot: u32, tick: u64) {
        let due = std::mem::replace(&mut self.due[slot as usize], AT_ONCE);
        if due != AT_ONCE {
            self.lateness.record(self.clock.span_ns(tick.saturating_sub(due)), true);
        }
    }
}

impl Worker<'_> {
    /// The next entry of the log, once it is due and no other I/O has to complete first.
    #[inline(never)]
    pub(in crate::worker) fn next_to_replay(&mut self, recent: u64) -> Next {
        let Some(replay) = self.features.timed.as_mut().and_then(|timed| timed.replay.as_mut()) else {
            return Next::End;
        };
        if replay.behind_sync {
            if self.slots.units().iter().any(|unit| unit.is_in_flight() && unit.operation().is_sync()) {
                return Next::WaitForEnd;
            }
            replay.behind_sync = false;
        }
        let now = if replay.keeps_time { self.clock.ticks() } else { recent };
        let entry = match replay.look(now) {
            Step::Entry(entry) => entry,
            Step::Wait(until) => return Next::Wait(until),
            Step::End => return Next::End,
            Step::Failed(reason) => {
                self.replay_failed(&reason);
                return Next::End;
            }
        };
        let Some(direction) = direction_of(entry.action) else {
            let operation = match entry.action {
                Action::DataSync => Operation::DataSync,
                Action::RangeSync => Operation::RangeSync,
                _ => Operation::Sync,
            };
            return self.sync_to_replay(operation, entry.file);
        };
        replay.position += 1;
        Next::Io(Target { offset: entry.offset, length: entry.length, file: entry.file, direction })
    }

    /// A sync covers everything completed before it, so it waits for all I/O in flight on its file, and the
    /// next entry waits for the sync.
    fn sync_to_replay(&mut self, operation: Operation, file: u32) -> Next {
        let Some(replay) = self.features.timed.as_mut().and_then(|timed| timed.replay.as_mut()) else {
            return Next::End;
        };
        let blocks = |unit: &Unit| unit.is_in_flight() && unit.file() == file;
        if replay.orders_syncs && self.slots.units().iter().any(blocks) {
            return Next::WaitForEnd;
        }
        replay.position += 1;
        replay.behind_sync = replay.orders_syncs;
        Next::Sync(operation, file)
    }

    #[cold]
    fn replay_failed(&mut self, reason: &ReplayError) {
        self.stopping = true;
        self.context.messages.send(&Message::Error(format!("fathom: job {}: {reason}", self.plan.name)));
        self.context.fail(Errno(libc::EINVAL), Cause::LOG_READ);
    }
}

/// The direction of an entry; `None` for syncs.
fn direction_of(action: Action) -> Option<Direction> {
    match action {
        Action::Read => Some(Direction::Read),
        Action::Write => Some(Direction::Write),
        Action::Trim => Some(Direction::Trim),
        Action::Sync | Action::DataSync | Action::RangeSync => None,
    }
}

/// Reads the log to its end, as far ahead as the channel has room.
fn read_ahead(plan: &ReplayPlan, parts: &SyncSender<Part>, used: &Receiver<Vec<Entry>>) {
    if let Err(fault) = read_chunks(plan, parts, used) {
        // Sending fails if the receiver is gone, which means that the run is over.
        let _ = parts.send(Part::Failed(ReplayError { log: plan.name.clone(), fault }));
    }
}

fn read_chunks(
    plan: &ReplayPlan,
    parts: &SyncSender<Part>,
    used: &Receiver<Vec<Entry>>,
) -> Result<(), Fault> {
    let file = source::open(&plan.source)?;
    let mut reader = Reader::new(file, plan.rules.clone())?;
    loop {
        // Chunks are reused; the first few are allocated here.
        let mut chunk = used.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        chunk.clear();
        while chunk.len() < CHUNK {
            match reader.next()? {
                Some(entry) => chunk.push(checked(entry, plan)?),
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
fn checked(entry: Entry, plan: &ReplayPlan) -> Result<Entry, Fault> {
    let fits = entry.length <= plan.largest()
        && plan.scan.files.get(entry.file as usize).is_some_and(|file| {
            entry.offset.checked_add(u64::from(entry.length)).is_some_and(|end| end <= file.end)
        });
    if fits { Ok(entry) } else { Err(Fault::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::replay::LogSource;
    use fathom_trace::scan::{Scan, ScannedDirection, ScannedFile};
    use fathom_trace::{FileName, Rules};

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
        assert!(checked(entry(0, 3584, 512), &plan).is_ok());
        for changed in [entry(0, 0, 1024), entry(1, 0, 512), entry(0, 4096, 512), entry(0, u64::MAX, 512)] {
            assert!(matches!(checked(changed, &plan), Err(Fault::Changed)));
        }
    }
}
