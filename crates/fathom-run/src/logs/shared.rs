//! Shared memory between workers and the log writer: a ring for each worker that keeps logs, and a futex word
//! for each writer thread.

use crate::plan::{Plan, WorkerPlan};
use fathom_logs::ring::{Consumer, Producer, RingHeader, words_for};
use fathom_sys::memory::Mapping;
use fathom_sys::{Errno, futex};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Records in all rings together, of 40 bytes each.
const RECORDS_OF_A_RUN: usize = 1 << 20;
/// Maximum records in one ring: a larger ring would only use up processor cache.
const LARGEST_RING: usize = 1 << 15;
const SMALLEST_RING: usize = 1 << 10;
/// Maximum number of threads that write logs.
const MOST_THREADS: usize = 64;

/// One thread of the log writer.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct WriterThread {
    /// 1 while the thread sleeps; a futex word.
    sleeping: AtomicU32,
}

impl WriterThread {
    /// Sleeps until woken, or until the timeout.
    pub(crate) fn sleep(&self, time: Duration) {
        self.sleeping.store(1, Relaxed);
        futex::wait_while(&self.sleeping, 1, Some(time));
        self.sleeping.store(0, Relaxed);
    }

    /// Wakes the thread if it is asleep.
    pub(crate) fn wake(&self) {
        if self.sleeping.load(Relaxed) == 1 {
            futex::set_and_wake(&self.sleeping, 0);
        }
    }
}

/// State of the writer as a whole.
#[repr(C, align(128))]
#[derive(Default)]
struct State {
    /// Nonzero once all workers have ended.
    finished: AtomicU32,
    /// Nonzero once the writer is gone and no longer removes records.
    gone: AtomicU32,
    /// Files that could not be written completely.
    failed_files: AtomicU32,
    /// Number of writes to log files.
    writes: AtomicU64,
}

/// Shared control data; all-zero memory is a valid initial state.
#[repr(C)]
struct Control {
    state: State,
    threads: [WriterThread; MOST_THREADS],
}

/// The kinds of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// The worker's logs: a record per completed I/O.
    Logs = 0,
    /// `write_iolog`: a record per issued I/O.
    Recording = 1,
}

impl Ring {
    pub(crate) const ALL: [Ring; 2] = [Ring::Logs, Ring::Recording];
}

/// Location of one worker's ring in the shared memory.
#[derive(Clone, Copy)]
struct Place {
    header: usize,
    first_word: usize,
    words: usize,
    thread: usize,
}

/// Shared memory for the logs of a run.
pub(crate) struct LogRegion {
    control: Mapping,
    headers: Mapping,
    words: Mapping,
    /// The rings of each worker, indexed by [`Ring`].
    places: Vec<[Option<Place>; 2]>,
    threads: usize,
}

impl LogRegion {
    /// Allocates memory for the logs of a plan. Pages cost nothing until they are touched.
    pub(crate) fn new(plan: &Plan) -> Result<LogRegion, Errno> {
        let wanted = |worker: &WorkerPlan| [worker.logs.is_some(), worker.recording.is_some()];
        let keepers = plan.workers.iter().flat_map(wanted).filter(|is_wanted| *is_wanted).count().max(1);
        let usual = (RECORDS_OF_A_RUN / keepers).clamp(SMALLEST_RING, LARGEST_RING);
        let usual = 1usize << usual.ilog2();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = keepers.min(processors).min(MOST_THREADS);
        let (mut headers, mut next_word) = (0, 0);
        let mut places = Vec::with_capacity(plan.workers.len());
        for worker in &plan.workers {
            let asked = worker.logs.as_ref().and_then(|logs| logs.ring_records);
            let records = [asked.map_or(usual, usize::next_power_of_two), usual];
            let wanted = wanted(worker);
            places.push(Ring::ALL.map(|ring| {
                if !wanted[ring as usize] {
                    return None;
                }
                let words = words_for(records[ring as usize]);
                let place =
                    Place { header: headers, first_word: next_word, words, thread: headers % threads };
                headers += 1;
                next_word += words;
                Some(place)
            }));
        }
        Ok(LogRegion {
            control: Mapping::shared(std::mem::size_of::<Control>())?,
            headers: Mapping::shared(std::mem::size_of::<RingHeader>() * headers.max(1))?,
            words: Mapping::shared(std::mem::size_of::<AtomicU64>() * next_word.max(1))?,
            places,
            threads,
        })
    }

    fn control(&self) -> &Control {
        // SAFETY: the mapping has the size of a control block and page alignment, zeros are a valid block, it lives as long
        // as `self`, and all fields are atomics, so sharing it with other processes is sound.
        unsafe { &*self.control.address().cast::<Control>() }
    }

    fn ring(&self, place: Place) -> (&RingHeader, &[AtomicU64]) {
        // SAFETY: as for `control`; `new` laid every place out inside the mappings, and places do not overlap.
        unsafe {
            let header = &*self.headers.address().cast::<RingHeader>().add(place.header);
            let first = self.words.address().cast::<AtomicU64>().add(place.first_word);
            (header, std::slice::from_raw_parts(first, place.words))
        }
    }

    /// The worker's end of its ring; `None` if it has none.
    pub(crate) fn producer(&self, ring: Ring, worker: usize) -> Option<Producer<'_>> {
        let (header, words) = self.ring(self.places[worker][ring as usize]?);
        Some(Producer::new(header, words))
    }

    /// The writer's end of a ring.
    pub(crate) fn consumer(&self, ring: Ring, worker: usize) -> Option<Consumer<'_>> {
        let (header, words) = self.ring(self.places[worker][ring as usize]?);
        Some(Consumer::new(header, words))
    }

    /// State shared by both ends.
    pub(crate) fn header(&self, ring: Ring, worker: usize) -> Option<&RingHeader> {
        Some(self.ring(self.places[worker][ring as usize]?).0)
    }

    /// The headers of all rings that a worker has.
    pub(crate) fn headers_of(&self, worker: usize) -> impl Iterator<Item = &RingHeader> {
        Ring::ALL.into_iter().filter_map(move |ring| self.header(ring, worker))
    }

    /// Number of the thread that writes the logs of a worker.
    pub(crate) fn thread_of(&self, ring: Ring, worker: usize) -> Option<usize> {
        Some(self.places[worker][ring as usize]?.thread)
    }

    /// A thread by its number.
    pub(crate) fn thread(&self, number: usize) -> &WriterThread {
        &self.control().threads[number % MOST_THREADS]
    }

    /// Number of threads that write logs.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The thread that samples the bandwidth of the whole run.
    pub(crate) fn aggregate_thread(&self) -> &WriterThread {
        &self.control().threads[MOST_THREADS - 1]
    }

    /// Announces that all workers have ended: the writer completes its files and ends.
    pub(crate) fn finish(&self) {
        self.control().state.finished.store(1, Relaxed);
        for thread in &self.control().threads {
            thread.wake();
        }
    }

    /// True after [`finish`](LogRegion::finish).
    pub(crate) fn is_finished(&self) -> bool {
        self.control().state.finished.load(Relaxed) != 0
    }

    /// Announces that no records are removed any longer, so workers must not wait for room.
    pub(crate) fn set_gone(&self) {
        self.control().state.gone.store(1, Relaxed);
    }

    /// True after [`set_gone`](LogRegion::set_gone).
    pub(crate) fn is_gone(&self) -> bool {
        self.control().state.gone.load(Relaxed) != 0
    }

    /// Counts a file that could not be written completely.
    pub(crate) fn add_failed_file(&self) {
        self.control().state.failed_files.fetch_add(1, Relaxed);
    }

    /// Number of files that could not be written completely.
    pub(crate) fn failed_files(&self) -> u32 {
        self.control().state.failed_files.load(Relaxed)
    }

    /// Counts a write to a log file.
    pub(crate) fn count_write(&self) {
        self.control().state.writes.fetch_add(1, Relaxed);
    }

    /// Grows while the writer makes progress: records removed plus writes to files. Neither count alone would
    /// suffice: after an idle period, few records can fill many averaging windows.
    pub(crate) fn progress(&self) -> u64 {
        let headers = (0..self.places.len()).flat_map(|worker| self.headers_of(worker));
        let taken: u64 = headers.map(RingHeader::taken).sum();
        taken + self.control().state.writes.load(Relaxed)
    }
}
