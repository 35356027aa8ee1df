//! Memory shared between the workers on this machine and their crew: one block per worker, and all units.

use crate::crew::job_start_ms;
pub use crate::crew::{Order, Stage};
use crate::layers::LayerRegion;
use crate::logs::LogRegion;
use crate::plan::model::priority::DIRECTIONS_WITH_PRIORITY;
use crate::plan::{Plan, WorkerPlan};
use crate::surroundings::SurroundingsBlock;
use crate::unit::Unit;
use crate::zones::table::ZoneTable;
use fathom_stats::PerDirection;
use fathom_stats::arrivals::ArrivalSamples;
use fathom_stats::block_errors::BlockErrorSamples;
use fathom_stats::samples::{LatencySamples, WorkerSamples};
use fathom_sys::Errno;
use fathom_sys::memory::Mapping;
use fathom_verify::verdict::CLASSES;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// Maximum length of a stored error text; fio's reports have the same limit.
const ERROR_TEXT: usize = 127;
/// Space for the names of engine features, in bytes.
const FEATURE_TEXT: usize = 255;
/// Maximum number of block devices that are recorded per worker.
pub const DEVICES: usize = 16;

/// The range of a file that a worker has chosen for its next I/O but not yet put into a unit. All-zero memory
/// means none.
pub struct Reservation {
    /// Number that identifies the file; 0 for none.
    file: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

impl Reservation {
    /// Reserves a range; workers that check for overlaps afterwards see it.
    pub fn set(&self, file: u64, start: u64, end: u64) {
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        self.file.store(file, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Releases it.
    pub fn clear(&self) {
        self.file.store(0, Ordering::SeqCst);
    }

    /// True if this range and the reserved one overlap.
    pub fn meets(&self, file: u64, start: u64, end: u64) -> bool {
        self.file.load(Ordering::SeqCst) == file
            && self.start.load(Ordering::Relaxed) < end
            && start < self.end.load(Ordering::Relaxed)
    }
}

/// The block of one worker. All-zero memory is a valid initial state.
#[repr(C, align(128))]
pub struct WorkerBlock {
    /// The current [`Order`]; a futex word.
    pub order: AtomicU32,
    stage: AtomicU32,
    /// Process id.
    pub pid: AtomicU32,
    /// ID of the thread that runs the loop; equal to `pid` unless clones are threads.
    pub thread_id: AtomicU32,
    /// Files open.
    pub open_files: AtomicU32,
    /// Monotonic ns when recording started (after delay and ramp); 0 until then.
    pub start_ns: AtomicU64,
    /// Monotonic ns when the job's clock started (before the ramp); 0 until then.
    pub begin_ns: AtomicU64,
    /// Monotonic ns when the last I/O of the run completed; 0 until then.
    pub end_ns: AtomicU64,
    /// `job_start` of the report, ms.
    pub job_start_ms: AtomicU64,
    /// Monotonic ns after which the worker stops issuing; 0 for no limit.
    pub deadline_ns: AtomicU64,
    /// Total bytes that the job wants to move; 0 if unknown.
    pub goal_bytes: AtomicU64,
    /// Queue depth found by the `latency_target` search; 0 without a search.
    pub found_depth: AtomicU32,
    /// Bytes moved since the job began, including the ramp.
    pub progress_bytes: AtomicU64,
    /// The range that the worker has reserved for its next I/O.
    pub reservation: Reservation,
    /// Number of I/Os issued, for balancing a flow.
    pub flow_ios: AtomicU64,
    /// Processor use: µs in user and system mode, context switches, major and minor page faults.
    pub usage: [AtomicU64; 5],
    /// The state of the machine during the job, written when the job ends.
    pub surroundings: SurroundingsBlock,
    /// Holes in the backing files of the loop devices among the targets.
    pub holes: HoleCounters,
    /// Device numbers (`dev_t`) of the devices below the files; 0 ends the list.
    pub devices: [AtomicU64; DEVICES],
    /// 1 once a defect in fathom has ended the job.
    defect: AtomicU32,
    error: AtomicI32,
    error_length: AtomicU32,
    error_text: [AtomicU8; ERROR_TEXT],
    /// Names of the engine's features, each terminated by a NUL.
    features: [AtomicU8; FEATURE_TEXT],
    /// Verification counters.
    pub verification: VerificationCounters,
    /// 1 plus the bytes of the job's files that were not yet written to storage when it ended; 0 while unknown.
    pub unwritten_bytes: AtomicU64,
    /// How late the entries of a replayed log were issued.
    pub lateness: LatencySamples,
    /// Counters of the worker.
    pub samples: WorkerSamples,
}

/// Holes that a worker found in the backing files of its loop devices.
#[repr(C)]
pub struct HoleCounters {
    /// Number of the last loop device whose backing file has holes; 0 for none.
    device: AtomicU64,
    part_bytes: AtomicU64,
    hole_bytes: AtomicU64,
}

impl HoleCounters {
    /// Adds a target: its device number, the bytes of the used part, and the bytes of holes in that part.
    pub fn add(&self, device: u64, part_bytes: u64, hole_bytes: u64) {
        let holes = self.hole_bytes.load(Ordering::Relaxed);
        if hole_bytes > 0 {
            self.device.store(device, Ordering::Relaxed);
        }
        self.part_bytes.store(self.part_bytes.load(Ordering::Relaxed) + part_bytes, Ordering::Relaxed);
        self.hole_bytes.store(holes + hole_bytes, Ordering::Relaxed);
    }

    /// The device number, the total bytes of used parts, and the total bytes of holes in them; `None` without
    /// holes.
    pub fn found(&self) -> Option<(u64, u64, u64)> {
        let holes = self.hole_bytes.load(Ordering::Relaxed);
        let parts = self.part_bytes.load(Ordering::Relaxed);
        (holes > 0).then(|| (self.device.load(Ordering::Relaxed), parts, holes))
    }
}

/// Counters of a job that verifies.
#[repr(C)]
pub struct VerificationCounters {
    /// Number of reads that were checked.
    pub checked_reads: AtomicU64,
    /// Their bytes.
    pub checked_bytes: AtomicU64,
    /// Monotonic time at which the current read-back phase began, ns; 0 outside of such phases.
    pub reading_back_since_ns: AtomicU64,
    /// Duration of earlier read-back phases, ns.
    pub read_back_ns: AtomicU64,
    /// Blocks that were wrong, by class.
    pub classes: [AtomicU64; CLASSES.len()],
    /// Upper bound of the checked bytes that were served from the page cache rather than the device.
    pub from_memory_bytes: AtomicU64,
    /// Checked bytes whose source the kernel does not report.
    pub unknown_source_bytes: AtomicU64,
    /// 1 if blocks of any run are accepted, because the run that wrote the checked data is unknown.
    pub takes_any_run: AtomicU64,
    /// Blocks that should have been checked but were not; counted when the job ends.
    pub unchecked_blocks: AtomicU64,
    /// 1 once the number of unchecked blocks is known.
    pub is_accounted: AtomicU64,
}

impl VerificationCounters {
    /// Marks the start or end of reading back.
    pub fn set_reading_back(&self, begins: bool, now_ns: u64) {
        let since = self.reading_back_since_ns.load(Ordering::Relaxed);
        if since > 0 {
            let before = self.read_back_ns.load(Ordering::Relaxed);
            self.read_back_ns.store(before + now_ns.saturating_sub(since), Ordering::Relaxed);
        }
        self.reading_back_since_ns.store(if begins { now_ns } else { 0 }, Ordering::Relaxed);
    }

    /// Total duration of reading back, ns.
    pub fn read_back_until(&self, now_ns: u64) -> u64 {
        let current = match self.reading_back_since_ns.load(Ordering::Relaxed) {
            0 => 0,
            since => now_ns.saturating_sub(since),
        };
        self.read_back_ns.load(Ordering::Relaxed) + current
    }
}

impl WorkerBlock {
    /// Stage of the worker.
    pub fn stage(&self) -> Stage {
        Stage::from_number(self.stage.load(Ordering::Acquire))
    }

    /// Sets the stage.
    pub fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Release);
    }

    /// True if the supervisor wants the worker to stop.
    #[inline(always)]
    pub fn should_stop(&self) -> bool {
        self.order.load(Ordering::Relaxed) >= Order::Stop as u32
    }

    /// True if the worker has to save its verification state.
    pub fn should_save(&self) -> bool {
        self.order.load(Ordering::Relaxed) == Order::StopAndSave as u32
    }

    /// Sends an order and wakes the worker if it sleeps on it.
    pub fn send(&self, order: Order) {
        // A plain stop must not revoke an earlier order to save the state.
        if order == Order::Stop && self.should_save() {
            return;
        }
        fathom_sys::futex::set_and_wake(&self.order, order as u32);
    }

    /// Stores the error that ends the job, unless an earlier error is already stored.
    pub fn fail_in_words(&self, errno: Errno, text: &str) {
        if self.error.load(Ordering::Acquire) != 0 {
            return;
        }
        let bytes = text.as_bytes();
        let length = bytes.len().min(ERROR_TEXT);
        for (place, byte) in self.error_text.iter().zip(&bytes[..length]) {
            place.store(*byte, Ordering::Relaxed);
        }
        self.error_length.store(length as u32, Ordering::Relaxed);
        self.error.store(errno.0, Ordering::Release);
    }

    /// Records that a defect in fathom ended the job. This overrides any earlier error.
    pub fn break_in_words(&self, errno: Errno, text: &str) {
        self.defect.store(1, Ordering::Release);
        self.error.store(0, Ordering::Release);
        self.fail_in_words(errno, text);
    }

    /// True if a defect in fathom ended the job.
    pub fn is_broken(&self) -> bool {
        self.defect.load(Ordering::Acquire) != 0
    }

    /// Stores the job's start at this monotonic time, and its reading of the clock with this ID
    /// (`job_start_clock_id`).
    pub fn set_job_start(&self, now_ns: u64, clock_id: Option<u32>) {
        self.job_start_ms.store(job_start_ms(now_ns, clock_id), Ordering::Relaxed);
    }

    /// Numbers of the block devices below the files, as far as they are known.
    pub fn devices(&self) -> impl Iterator<Item = u64> {
        self.devices.iter().map(|device| device.load(Ordering::Relaxed)).take_while(|&device| device != 0)
    }

    /// Stores the kernel features that the engine uses; names that do not fit are dropped.
    pub fn set_features(&self, names: &[&str]) {
        let mut place = self.features.iter();
        for name in names {
            if place.len() <= name.len() {
                return;
            }
            for byte in name.bytes().chain([0]) {
                if let Some(slot) = place.next() {
                    slot.store(byte, Ordering::Relaxed);
                }
            }
        }
    }

    /// Kernel features that the engine uses.
    pub fn features(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.features.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        bytes
            .split(|&byte| byte == 0)
            .take_while(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// True once an error has ended the job.
    pub fn has_failed(&self) -> bool {
        self.error.load(Ordering::Acquire) != 0
    }

    /// The error that ended the job: errno and text.
    pub fn error(&self) -> Option<(i32, String)> {
        let errno = self.error.load(Ordering::Acquire);
        if errno == 0 {
            return None;
        }
        let length = (self.error_length.load(Ordering::Relaxed) as usize).min(ERROR_TEXT);
        let bytes: Vec<u8> = self.error_text[..length].iter().map(|b| b.load(Ordering::Relaxed)).collect();
        Some((errno, String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Types of counters that consist of atomics, so that all-zero memory is a valid value.
///
/// # Safety
///
/// An implementing type must consist of atomics for which zero is a valid value.
pub(crate) unsafe trait Counters {}

// SAFETY: atomics, which may be zero.
unsafe impl Counters for PerDirection<ArrivalSamples> {}
// SAFETY: as above.
unsafe impl Counters for BlockErrorSamples {}

/// Counters that only some of the workers have.
pub(crate) struct OfSome<T> {
    mapping: Option<Mapping>,
    /// The index of each worker's counters; `None` for workers without any.
    places: Vec<Option<usize>>,
    counters: PhantomData<T>,
}

impl<T: Counters> OfSome<T> {
    const fn none() -> OfSome<T> {
        OfSome { mapping: None, places: Vec::new(), counters: PhantomData }
    }

    pub(crate) fn of_workers(
        plan: &Plan,
        has_them: impl Fn(&WorkerPlan) -> bool,
    ) -> Result<OfSome<T>, Errno> {
        let mut count = 0;
        let places = plan.workers.iter().map(|worker| {
            let place = has_them(worker).then_some(count);
            count += usize::from(place.is_some());
            place
        });
        let places = places.collect();
        let mapping = match count {
            0 => None,
            count => Some(Mapping::shared(size_of::<T>() * count)?),
        };
        Ok(OfSome { mapping, places, counters: PhantomData })
    }

    pub(crate) fn of(&self, index: usize) -> Option<&T> {
        let place = self.places.get(index).copied().flatten()?;
        let mapping = self.mapping.as_ref()?;
        // SAFETY: as for `Region::worker`; the mapping has room for every place, and zeros are a valid `T`.
        Some(unsafe { &*mapping.address().cast::<T>().add(place) })
    }
}

/// All shared memory of a run.
pub struct Region {
    blocks: Mapping,
    units: Mapping,
    /// The first unit of each worker, and the number of its units.
    unit_ranges: Vec<(usize, usize)>,
    logs: Option<LogRegion>,
    layers: Option<LayerRegion>,
    zones: Option<ZoneTable>,
    priorities: Option<Mapping>,
    /// The first priority sample of each worker, and their number.
    priority_ranges: Vec<(usize, usize)>,
    arrivals: OfSome<PerDirection<ArrivalSamples>>,
    block_errors: OfSome<BlockErrorSamples>,
}

impl Region {
    /// Allocates memory for all workers of a plan.
    pub fn for_plan(plan: &Plan) -> Result<Region, Errno> {
        let depths: Vec<u32> = plan.workers.iter().map(|worker| worker.depth).collect();
        let logs = if plan.keeps_logs() { Some(LogRegion::new(plan)?) } else { None };
        let layers = if plan.layers { Some(LayerRegion::new(plan)?) } else { None };
        let mut next = 0;
        let priority_ranges: Vec<(usize, usize)> = plan
            .workers
            .iter()
            .map(|worker| {
                let values =
                    worker.command_priorities.as_ref().map_or(0, |priorities| priorities.values.len());
                let range = (next, values * DIRECTIONS_WITH_PRIORITY);
                next += range.1;
                range
            })
            .collect();
        let priorities = match next {
            0 => None,
            count => Some(Mapping::shared(std::mem::size_of::<LatencySamples>() * count)?),
        };
        let arrivals = OfSome::of_workers(plan, |worker| worker.arrivals.is_some())?;
        let block_errors = OfSome::of_workers(plan, |worker| worker.block_bytes.is_some())?;
        let zones = ZoneTable::for_plan(plan)?;
        let region = Region::new(&depths)?;
        Ok(Region { logs, layers, zones, priorities, priority_ranges, arrivals, block_errors, ..region })
    }

    /// Allocates memory for workers with these queue depths. Pages cost nothing until a worker touches them.
    pub(crate) fn new(depths: &[u32]) -> Result<Region, Errno> {
        let mut next = 0;
        let unit_ranges = depths
            .iter()
            .map(|&depth| {
                let range = (next, depth as usize);
                next += depth as usize;
                range
            })
            .collect();
        let blocks = Mapping::shared(std::mem::size_of::<WorkerBlock>() * depths.len().max(1))?;
        let units = Mapping::shared(std::mem::size_of::<Unit>() * next.max(1))?;
        Ok(Region {
            blocks,
            units,
            unit_ranges,
            logs: None,
            layers: None,
            zones: None,
            priorities: None,
            priority_ranges: Vec::new(),
            arrivals: OfSome::none(),
            block_errors: OfSome::none(),
        })
    }

    /// Arrival counters of a worker, by direction; `None` in a closed loop.
    pub fn arrivals(&self, index: usize) -> Option<&PerDirection<ArrivalSamples>> {
        self.arrivals.of(index)
    }

    /// Counters of a worker's blocks; `None` without `block_error_percentiles`.
    pub fn block_errors(&self, index: usize) -> Option<&BlockErrorSamples> {
        self.block_errors.of(index)
    }

    /// Latencies of a worker by I/O priority: for each priority reads, then writes. Empty if the job sets no
    /// I/O priorities.
    pub(crate) fn priorities(&self, index: usize) -> &[LatencySamples] {
        let (first, count) = self.priority_ranges.get(index).copied().unwrap_or_default();
        match &self.priorities {
            // SAFETY: as for `worker`; the ranges were laid out inside the mapping, and zeros are valid samples.
            Some(mapping) => unsafe {
                std::slice::from_raw_parts(mapping.address().cast::<LatencySamples>().add(first), count)
            },
            None => &[],
        }
    }

    /// Shared memory of the logs; `None` if the plan keeps none.
    pub(crate) fn logs(&self) -> Option<&LogRegion> {
        self.logs.as_ref()
    }

    /// Shared memory of the layers; `None` if the plan records none.
    pub(crate) fn layers(&self) -> Option<&LayerRegion> {
        self.layers.as_ref()
    }

    /// Shared table of zones; `None` if no job uses zones.
    pub(crate) fn zones(&self) -> Option<&ZoneTable> {
        self.zones.as_ref()
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.unit_ranges.len()
    }

    /// The block of one worker.
    pub fn worker(&self, index: usize) -> &WorkerBlock {
        assert!(index < self.unit_ranges.len());
        // SAFETY: the mapping has room for every worker's block, is page aligned (the block's size is a multiple of its
        // alignment), starts as zeros, which is a valid block, and lives as long as `self`. All fields are
        // atomics, so sharing it with other processes is sound.
        unsafe { &*self.blocks.address().cast::<WorkerBlock>().add(index) }
    }

    /// The units of one worker.
    pub fn units(&self, index: usize) -> &[Unit] {
        let (first, count) = self.unit_ranges[index];
        // SAFETY: as for `worker`; the ranges were laid out inside the mapping.
        unsafe { std::slice::from_raw_parts(self.units.address().cast::<Unit>().add(first), count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_errors_stick() {
        let region = Region::new(&[1, 32, 4]).expect("mapped");
        region.worker(1).fail_in_words(Errno(28), "first");
        region.worker(1).fail_in_words(Errno(5), "second");
        assert_eq!(region.worker(1).error(), Some((28, "first".into())));
        assert_eq!(region.worker(0).error(), None);
        assert_eq!(region.units(1).len(), 32);
        region.units(1)[31].set_in_flight(true);
        assert!(!region.units(2)[0].is_in_flight());
        region.worker(1).break_in_words(Errno(14), "third");
        assert_eq!(region.worker(1).error(), Some((14, "third".into())));
        assert_eq!([0, 1, 2].map(|index| region.worker(index).is_broken()), [false, true, false]);
        region.worker(0).set_features(&["first", "second"]);
        assert_eq!(region.worker(0).features(), ["first", "second"]);
        assert!(region.worker(1).features().is_empty());
        region.worker(2).set_stage(Stage::Draining);
        assert_eq!(region.worker(2).stage(), Stage::Draining);
    }
}
