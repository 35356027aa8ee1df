//! The worker's part in logging: a record per I/O, pushed into a ring that the log writer empties.

use crate::logs::{LogRegion, Ring};
use crate::region::WorkerBlock;
use crate::unit::Unit;
use crate::worker::WorkerContext;
use crate::worker::feature::{Feature, Needs};
use fathom_logs::ring::{Producer, RingHeader};
use fathom_logs::{IoRecord, LogKind};
use fathom_stats::Direction;
use fathom_sys::clock::{Clock, Moment, clock_at, monotonic_ns};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum time that a worker waits for space after the end of its run; the supervisor would consider a longer
/// wait stuck.
const LATEST_NS: u64 = 200_000_000;
/// Poll interval while the ring is full.
const PAUSE: Duration = Duration::from_micros(50);

/// The ring of records for the log writer.
pub(in crate::worker) struct RecordQueue<'a> {
    producer: Producer<'a>,
    header: &'a RingHeader,
    logs: &'a LogRegion,
    block: &'a WorkerBlock,
    thread: usize,
}

/// Pushes records of a worker's I/Os, if the worker keeps logs.
pub(in crate::worker) struct Recorder<'a> {
    queue: RecordQueue<'a>,
    clock: Clock,
    priority: u16,
    /// True if response times are logged as well.
    keeps_responses: bool,
    epoch_clock: Option<i32>,
    /// Monotonic time at which recording began, ns; `None` before that, as during a ramp.
    start_ns: Option<u64>,
    /// A tick and its system time, updated whenever the system clock is read, so that the times of a long run
    /// do not drift with the calibration of the counter.
    anchor: Moment,
}

impl Feature for Recorder<'_> {
    /// Must see each completion.
    fn needs(&self) -> Needs {
        Needs { ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> Recorder<'a> {
    /// The recorder of a worker; `None` without logs.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<Recorder<'a>> {
        let plan = context.worker_plan().logs.as_ref()?;
        let logs = context.region.logs()?;
        Some(Recorder {
            queue: RecordQueue::of(context, logs, Ring::Logs)?,
            clock,
            priority: plan.priority,
            keeps_responses: plan.rules.kinds.contains(&LogKind::Response),
            epoch_clock: plan.epoch_clock,
            start_ns: None,
            anchor: Moment { ticks: 0, ns: 0 },
        })
    }

    /// Starts recording I/Os.
    pub(in crate::worker) fn begin(&mut self, now: Moment) {
        self.start_ns = Some(now.ns);
        if let Some(epoch) = self.epoch_clock.and_then(|clock| clock_at(clock, now.ns)) {
            self.queue.header.set_epoch_ms(epoch / 1_000_000);
        }
        self.anchor(now);
    }

    /// Synchronises the recorder with the system clock.
    pub(in crate::worker) fn anchor(&mut self, now: Moment) {
        self.anchor = now;
    }

    /// Records an I/O that completed at this tick. `priority` is the priority of the I/O, if it has its own;
    /// otherwise the job's priority applies.
    #[inline]
    pub(in crate::worker) fn record(
        &mut self,
        unit: &Unit,
        direction: Direction,
        slat_ns: Option<u64>,
        clat_ns: u64,
        priority: Option<u16>,
        tick: u64,
    ) {
        let Some(start_ns) = self.start_ns else { return };
        let record = IoRecord {
            // The tick of a reap may be earlier than an anchor taken since the reap.
            end_ns: self.clock.ns_at(tick, self.anchor).saturating_sub(start_ns),
            slat_ns,
            clat_ns,
            offset: unit.offset(),
            length: unit.length(),
            direction: direction as u8,
            priority: priority.unwrap_or(self.priority),
            is_response: false,
        };
        self.queue.push(&record);
    }

    /// Records the response time of an arrival that completed at this tick.
    pub(in crate::worker) fn record_response(
        &mut self,
        unit: &Unit,
        direction: Direction,
        response_ns: u64,
        tick: u64,
    ) {
        let Some(start_ns) = self.start_ns.filter(|_| self.keeps_responses) else { return };
        self.queue.push(&IoRecord {
            end_ns: self.clock.ns_at(tick, self.anchor).saturating_sub(start_ns),
            slat_ns: None,
            clat_ns: response_ns,
            offset: unit.offset(),
            length: unit.length(),
            direction: direction as u8,
            priority: self.priority,
            is_response: true,
        });
    }

    /// Called when the worker is done, with the duration of recording in ns.
    pub(in crate::worker) fn close(&self, end_ns: u64) {
        self.queue.header.close(self.start_ns.map_or(0, |start| end_ns.saturating_sub(start)));
    }
}

impl<'a> RecordQueue<'a> {
    /// One of the worker's rings, if it exists.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        logs: &'a LogRegion,
        ring: Ring,
    ) -> Option<RecordQueue<'a>> {
        Some(RecordQueue {
            producer: logs.producer(ring, context.index)?,
            header: logs.header(ring, context.index)?,
            logs,
            block: context.block(),
            thread: logs.thread_of(ring, context.index)?,
        })
    }

    /// Hands a record to the log writer.
    #[inline(always)]
    pub(in crate::worker) fn push(&mut self, record: &IoRecord) {
        if !self.producer.push(record) {
            self.push_when_there_is_room(record);
        }
        if self.producer.has_filled_half() {
            self.logs.thread(self.thread).wake();
        }
    }

    /// Marks the end of the records.
    pub(in crate::worker) fn close(&self, end_ns: u64) {
        self.header.close(end_ns);
    }

    /// Waits for space in a full ring, which keeps the logs complete; the report shows for how long. After the
    /// end of the run, or without a log writer, records are counted as lost instead.
    #[cold]
    #[inline(never)]
    fn push_when_there_is_room(&mut self, record: &IoRecord) {
        let since = monotonic_ns();
        let deadline = self.block.deadline_ns.load(Relaxed);
        loop {
            if self.producer.look_for_room() {
                self.header.add_held_back(monotonic_ns() - since);
                self.producer.push(record);
                return;
            }
            let over = deadline != 0 && monotonic_ns() >= deadline + LATEST_NS;
            if over
                || self.logs.is_gone()
                || (self.block.should_stop() && monotonic_ns() >= since + LATEST_NS)
            {
                self.header.add_dropped();
                return;
            }
            self.logs.thread(self.thread).wake();
            std::thread::sleep(PAUSE);
        }
    }
}
