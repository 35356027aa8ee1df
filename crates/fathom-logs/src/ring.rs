//! A bounded, lock-free ring of records between one worker and the log writer, in memory that two processes may
//! share.
//!
//! One side pushes, the other takes. The words of a record are relaxed atomics: the `Release` store of `pushed`
//! publishes them, and the `Release` store of `taken` frees their space.

use crate::record::{IoRecord, WORDS};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The shared state of a ring. All-zero memory is an open, empty ring. Each side writes to its own cache
/// lines.
#[repr(C, align(128))]
#[derive(Default)]
pub struct RingHeader {
    worker: WorkerSide,
    writer: WriterSide,
}

/// Written by the worker.
#[repr(C, align(128))]
#[derive(Default)]
struct WorkerSide {
    /// Records ever pushed.
    pushed: AtomicU64,
    /// Offset of times in the log, milliseconds (`log_alternate_epoch`).
    epoch_ms: AtomicU64,
    /// Total time that the worker waited for space, in ns.
    held_back_ns: AtomicU64,
    /// Number of waits.
    held_back: AtomicU64,
    /// Records dropped for lack of space.
    dropped: AtomicU64,
    /// Recorded run time in ns; valid once closed.
    end_ns: AtomicU64,
    closed: AtomicU32,
}

/// Written by the log writer.
#[repr(C, align(128))]
#[derive(Default)]
struct WriterSide {
    /// Records ever taken.
    taken: AtomicU64,
}

impl RingHeader {
    /// Closes the ring: no more records will follow. The argument is the recorded run time. Only the first call
    /// counts.
    pub fn close(&self, end_ns: u64) {
        if !self.is_closed() {
            self.worker.end_ns.store(end_ns, Relaxed);
            self.worker.closed.store(1, Release);
        }
    }

    /// True once no more records will follow.
    pub fn is_closed(&self) -> bool {
        self.worker.closed.load(Acquire) != 0
    }

    /// Recorded run time in ns; valid once closed.
    pub fn end_ns(&self) -> u64 {
        self.worker.end_ns.load(Relaxed)
    }

    /// Shifts all times of the log by this many milliseconds; called before the first record.
    pub fn set_epoch_ms(&self, milliseconds: u64) {
        self.worker.epoch_ms.store(milliseconds, Relaxed);
    }

    /// See [`set_epoch_ms`](RingHeader::set_epoch_ms).
    pub fn epoch_ms(&self) -> u64 {
        self.worker.epoch_ms.load(Relaxed)
    }

    /// Counts a wait for space. Only for the worker.
    pub fn add_held_back(&self, ns: u64) {
        let side = &self.worker;
        side.held_back_ns.store(side.held_back_ns.load(Relaxed) + ns, Relaxed);
        side.held_back.store(side.held_back.load(Relaxed) + 1, Relaxed);
    }

    /// Number of waits for space, and their total time in ns.
    pub fn held_back(&self) -> (u64, u64) {
        (self.worker.held_back.load(Relaxed), self.worker.held_back_ns.load(Relaxed))
    }

    /// Counts a dropped record. Only for the worker.
    pub fn add_dropped(&self) {
        self.worker.dropped.store(self.worker.dropped.load(Relaxed) + 1, Relaxed);
    }

    /// Number of dropped records.
    pub fn dropped(&self) -> u64 {
        self.worker.dropped.load(Relaxed)
    }

    /// Number of records that the writer has taken so far.
    pub fn taken(&self) -> u64 {
        self.writer.taken.load(Relaxed)
    }
}

/// Size in words of a ring for this number of records.
pub const fn words_for(records: usize) -> usize {
    records * WORDS
}

/// The worker's side.
pub struct Producer<'a> {
    header: &'a RingHeader,
    words: &'a [AtomicU64],
    mask: u64,
    pushed: u64,
    /// Position up to which space is known to be available.
    limit: u64,
}

impl<'a> Producer<'a> {
    /// A ring over `words`; their number of records must be a power of two.
    pub fn new(header: &'a RingHeader, words: &'a [AtomicU64]) -> Producer<'a> {
        let records = (words.len() / WORDS) as u64;
        debug_assert!(records.is_power_of_two());
        let pushed = header.worker.pushed.load(Relaxed);
        Producer { header, words, mask: records - 1, pushed, limit: header.taken() + records }
    }

    /// Pushes a record; returns false if there is no space.
    #[inline(always)]
    pub fn push(&mut self, record: &IoRecord) -> bool {
        if self.pushed == self.limit && !self.look_for_room() {
            return false;
        }
        let first = (self.pushed & self.mask) as usize * WORDS;
        if let Some(place) = self.words.get(first..first + WORDS) {
            for (index, value) in record.to_words().into_iter().enumerate() {
                place[index].store(value, Relaxed);
            }
        }
        self.pushed += 1;
        self.header.worker.pushed.store(self.pushed, Release);
        true
    }

    /// True whenever another half of the ring has been filled, at which point the writer must be awake.
    #[inline(always)]
    pub fn has_filled_half(&self) -> bool {
        self.pushed & (self.mask >> 1) == 0
    }

    /// Frees the space of records taken since the last call.
    #[cold]
    pub fn look_for_room(&mut self) -> bool {
        self.limit = self.header.writer.taken.load(Acquire) + self.mask + 1;
        self.pushed < self.limit
    }
}

/// The log writer's side.
pub struct Consumer<'a> {
    header: &'a RingHeader,
    words: &'a [AtomicU64],
    mask: u64,
    taken: u64,
}

impl<'a> Consumer<'a> {
    /// A writer for the same ring as the worker's.
    pub fn new(header: &'a RingHeader, words: &'a [AtomicU64]) -> Consumer<'a> {
        let records = (words.len() / WORDS) as u64;
        Consumer { header, words, mask: records - 1, taken: header.taken() }
    }

    /// Passes all available records to `take`, oldest first, and frees their space; returns their number.
    pub fn drain(&mut self, mut take: impl FnMut(&IoRecord)) -> u64 {
        /// Number of records after which space is freed.
        const STEP: u64 = 1024;
        let pushed = self.header.worker.pushed.load(Acquire);
        let before = self.taken;
        while self.taken < pushed {
            let end = pushed.min(self.taken + STEP);
            for position in self.taken..end {
                let first = (position & self.mask) as usize * WORDS;
                if let Some(place) = self.words.get(first..first + WORDS) {
                    let mut words = [0; WORDS];
                    for (index, word) in words.iter_mut().enumerate() {
                        *word = place[index].load(Relaxed);
                    }
                    take(&IoRecord::from_words(words));
                }
            }
            self.taken = end;
            self.header.writer.taken.store(end, Release);
        }
        self.taken - before
    }

    /// The shared part.
    pub fn header(&self) -> &'a RingHeader {
        self.header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(records: usize) -> Vec<AtomicU64> {
        (0..words_for(records)).map(|_| AtomicU64::new(0)).collect()
    }

    fn record(number: u64) -> IoRecord {
        IoRecord {
            end_ns: number,
            slat_ns: number.is_multiple_of(2).then_some(number ^ 7),
            clat_ns: u64::MAX - number,
            offset: number << 12,
            length: number as u32,
            direction: (number % 3) as u8,
            priority: number as u16,
            is_response: number.is_multiple_of(3),
        }
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let (header, words) = (RingHeader::default(), words(4));
        let (mut producer, mut consumer) = (Producer::new(&header, &words), Consumer::new(&header, &words));
        assert!((0..4).all(|number| producer.push(&record(number))));
        assert!(!producer.push(&record(4)));
        let mut taken = Vec::new();
        assert_eq!(consumer.drain(|record| taken.push(*record)), 4);
        assert_eq!(taken, (0..4).map(record).collect::<Vec<_>>());
        assert!(producer.push(&record(4)));
    }

    #[test]
    fn every_record_arrives_once_and_in_order() {
        const COUNT: u64 = 200_000;
        let (header, words) = (RingHeader::default(), words(256));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut producer = Producer::new(&header, &words);
                for number in 0..COUNT {
                    while !producer.push(&record(number)) {
                        std::thread::yield_now();
                    }
                }
                header.close(COUNT);
            });
            let mut consumer = Consumer::new(&header, &words);
            let mut next = 0;
            loop {
                let closed = header.is_closed();
                consumer.drain(|taken| {
                    assert_eq!(*taken, record(next));
                    next += 1;
                });
                if closed {
                    break;
                }
            }
            assert_eq!((next, header.end_ns()), (COUNT, COUNT));
        });
    }
}
