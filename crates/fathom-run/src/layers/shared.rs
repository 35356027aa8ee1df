//! The memory that the workers, the recorder and the supervisor share.

use super::obstacle;
use crate::plan::Plan;
use crate::region::{Counters, OfSome};
use fathom_logs::ring::{Consumer, Producer, RingHeader, words_for};
use fathom_stats::layers::{LayerRun, LayerSamples, LayerStats};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::monotonic_ns;
use fathom_sys::memory::Mapping;
use fathom_sys::{Errno, futex};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

/// Records in a worker's ring: those of 100,000 I/Os per second in 160 ms.
const RING: usize = 1 << 14;

/// All-zero memory is a valid initial state.
#[repr(C, align(128))]
struct Control {
    /// Number of times that the supervisor has asked for the devices of newly ready workers, and the last of these
    /// requests that the recorder has fulfilled; a futex word.
    asked: AtomicU32,
    fulfilled: AtomicU32,
    /// Nonzero once all workers have ended.
    finished: AtomicU32,
    /// Nonzero once everything is counted; a futex word.
    done: AtomicU32,
    /// Nonzero if the recorder has given up.
    failed: AtomicU32,
    shift: AtomicU32,
    begin_ns: AtomicU64,
    end_ns: AtomicU64,
    cpu_ns: AtomicU64,
    events: AtomicU64,
    lost_events: AtomicU64,
}

/// What belongs to one worker.
#[repr(C, align(128))]
struct WorkerLayers {
    /// The worker's records: it pushes, and the recorder takes.
    header: RingHeader,
    words: [AtomicU64; words_for(RING)],
    /// Written by the recorder.
    samples: PerDirection<LayerSamples>,
    /// I/Os for whose records the ring had no room. Written by the worker.
    dropped: PerDirection<AtomicU64>,
}

// SAFETY: atomics, which may be zero.
unsafe impl Counters for WorkerLayers {}

/// The shared memory; the workers whose layers are recorded have a part each.
pub(crate) struct LayerRegion {
    control: Mapping,
    workers: OfSome<WorkerLayers>,
}

impl LayerRegion {
    /// Allocates memory for a plan. Pages cost nothing until they are touched.
    pub(crate) fn new(plan: &Plan) -> Result<LayerRegion, Errno> {
        Ok(LayerRegion {
            control: Mapping::shared(size_of::<Control>())?,
            workers: OfSome::of_workers(plan, |worker| obstacle(worker).is_none())?,
        })
    }

    fn control(&self) -> &Control {
        // SAFETY: the mapping has the size of a control block and page alignment, zeros are a valid block, it lives as long
        // as `self`, and all fields are atomics, so sharing it with other processes is sound.
        unsafe { &*self.control.address().cast::<Control>() }
    }

    /// The recorder's counters of a worker; `None` if its layers are not recorded.
    pub(crate) fn samples(&self, worker: usize) -> Option<&PerDirection<LayerSamples>> {
        self.workers.of(worker).map(|worker| &worker.samples)
    }

    /// A worker's layers so far; `None` without any.
    pub(crate) fn stats(&self, worker: usize, direction: Direction) -> Option<LayerStats> {
        let worker = self.workers.of(worker)?;
        let dropped = worker.dropped[direction].load(Relaxed);
        let stats = worker.samples[direction].snapshot();
        let mut stats = if dropped > 0 { stats.unwrap_or_default() } else { stats? };
        stats.unseen += dropped;
        Some(stats)
    }

    /// The worker's end of its ring, and its counters of dropped records.
    pub(crate) fn producer(&self, worker: usize) -> Option<(Producer<'_>, &PerDirection<AtomicU64>)> {
        let own = self.workers.of(worker)?;
        Some((Producer::new(&own.header, &own.words), &own.dropped))
    }

    /// The recorder's end of a ring.
    pub(crate) fn consumer(&self, worker: usize) -> Option<Consumer<'_>> {
        self.workers.of(worker).map(|own| Consumer::new(&own.header, &own.words))
    }

    /// Has the recorder look for the devices of workers that have become ready, and waits for that.
    pub(crate) fn watch(&self, patience: Duration) {
        let control = self.control();
        let request = control.asked.fetch_add(1, Release) + 1;
        let deadline = monotonic_ns() + patience.as_nanos() as u64;
        while !self.is_over() && monotonic_ns() < deadline {
            let fulfilled = control.fulfilled.load(Acquire);
            if fulfilled >= request {
                return;
            }
            futex::wait_while(&control.fulfilled, fulfilled, Some(Duration::from_millis(10)));
        }
    }

    /// The number of the last request of [`watch`](Self::watch).
    pub(super) fn asked(&self) -> u32 {
        self.control().asked.load(Acquire)
    }

    /// Answers all requests up to this one.
    pub(super) fn fulfil(&self, request: u32) {
        futex::set_and_wake(&self.control().fulfilled, request);
    }

    /// All workers have ended: the recorder counts what is left and ends. Waits for that.
    pub(crate) fn finish(&self, patience: Duration) {
        let control = self.control();
        control.finished.store(1, Release);
        let deadline = monotonic_ns() + patience.as_nanos() as u64;
        while !self.is_over() && monotonic_ns() < deadline {
            futex::wait_while(&control.done, 0, Some(Duration::from_millis(50)));
        }
    }

    /// True after [`finish`](Self::finish).
    pub(super) fn is_finished(&self) -> bool {
        self.control().finished.load(Acquire) != 0
    }

    /// The recorder begins now.
    pub(super) fn begin(&self) {
        self.control().begin_ns.store(monotonic_ns(), Relaxed);
    }

    /// The recorder's figures so far.
    pub(super) fn publish(&self, cpu_ns: u64, events: u64, lost_events: u64, shift: u32) {
        let control = self.control();
        control.end_ns.store(monotonic_ns(), Relaxed);
        control.cpu_ns.store(cpu_ns, Relaxed);
        control.events.store(events, Relaxed);
        control.lost_events.store(lost_events, Relaxed);
        control.shift.store(control.shift.load(Relaxed).max(shift), Relaxed);
    }

    /// The recorder has ended. Only the first call counts.
    pub(crate) fn end(&self, has_failed: bool) {
        if !self.is_over() {
            self.control().failed.store(u32::from(has_failed), Relaxed);
            futex::set_and_wake(&self.control().done, 1);
        }
    }

    /// True once the recorder has ended.
    fn is_over(&self) -> bool {
        self.control().done.load(Acquire) != 0
    }

    /// What recording was like.
    pub(crate) fn report(&self) -> LayerRun {
        let control = self.control();
        let begin_ns = control.begin_ns.load(Relaxed);
        LayerRun {
            cpu_ns: control.cpu_ns.load(Relaxed),
            span_ns: control.end_ns.load(Relaxed).saturating_sub(begin_ns),
            events: control.events.load(Relaxed),
            lost_events: control.lost_events.load(Relaxed),
            one_in: 1 << control.shift.load(Relaxed),
            ended_early: control.failed.load(Relaxed) != 0 || self.is_finished() && !self.is_over(),
        }
    }
}
