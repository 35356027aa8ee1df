//! The worker's part in a replay: entries of the log instead of targets. A thread of the worker reads ahead and
//! hands over entries in chunks; the run loop takes each entry when it is due. Due times are those of the log,
//! relative to the first call, so a late entry does not delay the others.

use crate::targets::Target;
use crate::unit::{Operation, Unit};
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::next::Next;
use crate::worker::sources::ahead::{Ahead, PAUSE_NS, ReplayError, Taken, report_problems, wake_for};
use crate::worker::{GivenUp, Worker, WorkerContext};
use fathom_stats::Direction;
use fathom_stats::samples::LatencySamples;
use fathom_sys::clock::Clock;
use fathom_trace::{Action, Entry};

/// The due time of an entry that is due immediately.
const AT_ONCE: u64 = u64::MAX;

/// The replay of one worker.
pub(in crate::worker) struct Replay<'a> {
    ahead: Ahead<Entry>,
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
        if replay.rules.keeps_dependencies {
            return Ok(None);
        }
        report_problems(context, replay);
        Ok(Some(Replay {
            ahead: Ahead::start(context, replay)?,
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
            match self.ahead.take(&mut self.chunk) {
                Taken::Chunk => self.position = 0,
                Taken::NotYet => return Step::Wait(now + self.clock.ticks_of_ns(PAUSE_NS)),
                Taken::End => return Step::End,
                Taken::Failed(reason) => return Step::Failed(reason),
            }
        }
        let entry = self.chunk[self.position];
        let start = *self.start.get_or_insert(now);
        self.drawn_due = AT_ONCE;
        if let Some(due_ns) = entry.due_ns {
            let due = start + self.clock.ticks_of_ns(due_ns);
            if due > now {
                return Step::Wait(wake_for(self.clock, due, now));
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
        while let Some(chunk) = self.ahead.wait() {
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
        rest.filter_map(|(entry, due)| Some((entry.action.direction()?, due)))
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
        let Some(direction) = entry.action.direction() else {
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
}
