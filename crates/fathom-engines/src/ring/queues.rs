//! The two queues of a ring, in memory shared with the kernel: requests are written and completions are read in
//! place. Counters are published once per batch, not for each entry.

use fathom_run::invariant::{CHECKS_ALL, Invariant, broken};
use fathom_sys::Errno;
use fathom_sys::memory::Mapping;
use io_uring::{cqueue, squeue};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

// Offsets of a ring's mappings: `IORING_OFF_*` of linux/io_uring.h.
const REQUEST_COUNTERS: u64 = 0;
const ENDS: u64 = 0x800_0000;
const REQUESTS: u64 = 0x1000_0000;

/// `struct io_uring_params` of linux/io_uring.h, as filled in by the kernel.
#[repr(C)]
struct Layout {
    requests: u32,
    ends: u32,
    others: [u32; 8],
    /// Offsets of head, tail and other fields of the submission queue in its mapping.
    request_places: [u32; 2],
    other_request_places: [u32; 8],
    /// Offsets of head, tail and other fields of the completion queue in its mapping.
    end_places: [u32; 2],
    other_end_places: [u32; 3],
    /// Offset of the completion queue's entries.
    first_end: u32,
    last_end_places: [u32; 4],
}

const _: () = assert!(size_of::<Layout>() == 120 && size_of::<io_uring::Parameters>() == 120);

/// The submission and the completion queue. Counters run beyond the size of a queue; the index of an entry is
/// the counter modulo the size.
pub(super) struct Queues<S, C> {
    requests: *mut S,
    request_mask: u32,
    /// Number of requests written so far.
    written: u32,
    /// Number of requests passed to the kernel.
    handed_over: u32,
    /// Maximum value of `written` until the kernel consumes more requests.
    limit: u32,
    ends: *const C,
    end_mask: u32,
    /// Number of completions taken so far.
    taken: u32,
    /// Value of `taken` at the end of the current batch.
    batch_end: u32,
    /// Shared counters: requests consumed and published, completions consumed and published.
    requests_taken: *const AtomicU32,
    requests_there: *const AtomicU32,
    ends_taken: *const AtomicU32,
    ends_there: *const AtomicU32,
    /// The mappings to which the pointers above refer.
    _mappings: [Mapping; 3],
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Queues<S, C> {
    /// The queues of a new ring, which must have no other user.
    pub(super) fn new(ring: &io_uring::IoUring<S, C>) -> Result<Queues<S, C>, Errno> {
        // SAFETY: the parameters are a transparent wrapper of the kernel's structure, whose layout this is.
        let layout = unsafe { &*std::ptr::from_ref(ring.params()).cast::<Layout>() };
        let map = |offset, length| Mapping::file(ring.as_raw_fd(), offset, length, true, true, false);
        let end_of = |places: &[u32; 2]| places[0].max(places[1]) as usize + size_of::<u32>();
        let counters = map(REQUEST_COUNTERS, end_of(&layout.request_places))?;
        let first_end = layout.first_end as usize;
        let ends_length = first_end + layout.ends as usize * size_of::<C>();
        let ends = map(ENDS, ends_length.max(end_of(&layout.end_places)))?;
        let requests = map(REQUESTS, layout.requests as usize * size_of::<S>())?;
        let counter = |mapping: &Mapping, place: u32| {
            // SAFETY: the offsets of the counters are inside the mapping.
            unsafe { mapping.address().add(place as usize).cast::<AtomicU32>().cast_const() }
        };
        Ok(Queues {
            requests: requests.address().cast(),
            request_mask: layout.requests - 1,
            written: 0,
            handed_over: 0,
            limit: layout.requests,
            // SAFETY: the first entry is inside the mapping.
            ends: unsafe { ends.address().add(first_end).cast() },
            end_mask: layout.ends - 1,
            taken: 0,
            batch_end: 0,
            requests_taken: counter(&counters, layout.request_places[0]),
            requests_there: counter(&counters, layout.request_places[1]),
            ends_taken: counter(&ends, layout.end_places[0]),
            ends_there: counter(&ends, layout.end_places[1]),
            _mappings: [counters, ends, requests],
        })
    }

    /// True if the queue has room for `count` more requests.
    #[inline(always)]
    pub(super) fn has_room(&mut self, count: u32) -> bool {
        self.limit.wrapping_sub(self.written) >= count || self.looks_for_room(count)
    }

    #[inline(never)]
    fn looks_for_room(&mut self, count: u32) -> bool {
        self.limit = load(self.requests_taken).wrapping_add(self.request_mask + 1);
        self.limit.wrapping_sub(self.written) >= count
    }

    /// Adds a request, for which there [is room](Queues::has_room); the kernel does not see it until
    /// [`show`](Queues::show).
    ///
    /// # Safety
    ///
    /// `write` fills the entry, and all memory to which it refers stays valid until the request has completed.
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, write: impl FnOnce(*mut S)) {
        if CHECKS_ALL && self.written == self.limit {
            broken(Invariant::HandedOver, format_args!("a request more than the queue holds"));
        }
        // SAFETY: the remainder is inside the queue, and the kernel does not read the entry until it is
        // shown.
        write(unsafe { self.requests.add((self.written & self.request_mask) as usize) });
        self.written = self.written.wrapping_add(1);
    }

    /// Number of requests that have not been passed to the kernel.
    #[inline(always)]
    pub(super) fn kept_back(&self) -> u32 {
        self.written.wrapping_sub(self.handed_over)
    }

    /// Publishes all requests to the kernel.
    #[inline(always)]
    pub(super) fn show(&self) {
        store(self.requests_there, self.written);
    }

    /// Records that the kernel accepted `count` more requests, which frees their entries.
    #[inline(always)]
    pub(super) fn taken(&mut self, count: u32) {
        self.handed_over = self.handed_over.wrapping_add(count);
        self.limit = self.limit.wrapping_add(count);
    }

    /// Passes all requests to the kernel, whose thread accepts them later.
    pub(super) fn hand_over_all(&mut self) {
        self.handed_over = self.written;
    }

    /// Begins a batch of completions, or adds new ones to it, up to `most`; returns their number. From then on
    /// the kernel may reuse the entries of the whole batch, although none has been taken. This is safe, because
    /// the kernel fills all other entries first, and the queue has twice as many entries as requests can be in
    /// flight.
    #[inline(always)]
    pub(super) fn gather(&mut self, most: u32) -> u32 {
        let count = load(self.ends_there).wrapping_sub(self.taken).min(most);
        self.batch_end = self.taken.wrapping_add(count);
        store(self.ends_taken, self.batch_end);
        count
    }

    /// Number of completions in the batch that have not been taken.
    #[inline(always)]
    pub(super) fn left_of_batch(&self) -> u32 {
        self.batch_end.wrapping_sub(self.taken)
    }

    /// Takes the next completion of the batch.
    #[inline(always)]
    pub(super) fn take<R>(&mut self, read: impl FnOnce(&C) -> R) -> R {
        if self.taken == self.batch_end {
            broken(Invariant::Ends, format_args!("a completion is taken, but none is ready"));
        }
        if CHECKS_ALL && load(self.ends_there).wrapping_sub(self.taken) > self.end_mask + 1 {
            broken(Invariant::Ends, format_args!("an end was written over before it was taken"));
        }
        // SAFETY: the remainder is inside the queue, and the kernel does not overwrite listed entries until
        // the queue is full.
        let read = read(unsafe { &*self.ends.add((self.taken & self.end_mask) as usize) });
        self.taken = self.taken.wrapping_add(1);
        read
    }
}

/// Reads a counter that the kernel writes; the entries that it counts are visible afterwards.
#[inline(always)]
fn load(counter: *const AtomicU32) -> u32 {
    // SAFETY: the counters are in mappings owned by the queues.
    unsafe { (*counter).load(Ordering::Acquire) }
}

/// Writes a counter that the kernel reads; all earlier writes are then visible to the kernel.
#[inline(always)]
fn store(counter: *const AtomicU32, value: u32) {
    // SAFETY: as above.
    unsafe { (*counter).store(value, Ordering::Release) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::invariant::Broken;
    use io_uring::{IoUring, opcode};
    use proptest::prelude::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const SIZE: u32 = 4;

    /// A small ring with requests that complete on submission.
    fn ring() -> Option<(IoUring, Queues<squeue::Entry, cqueue::Entry>)> {
        match IoUring::new(SIZE) {
            Ok(ring) => {
                let queues = Queues::new(&ring).expect("its queues");
                Some((ring, queues))
            }
            Err(error) => {
                fathom_skip::record(&format!("io_uring: {error}"));
                None
            }
        }
    }

    fn add(queues: &mut Queues<squeue::Entry, cqueue::Entry>, number: u64) {
        let entry = opcode::Nop::new().build().user_data(number);
        // SAFETY: the whole entry is written, and refers to no memory.
        unsafe { queues.add(|place| place.write(entry)) };
    }

    fn submit(ring: &IoUring, queues: &mut Queues<squeue::Entry, cqueue::Entry>) {
        queues.show();
        let taken = ring.submit().expect("taken");
        assert_eq!(taken as u32, queues.kept_back());
        queues.taken(taken as u32);
    }

    fn broken_by(work: impl FnOnce()) -> Option<Invariant> {
        let payload = catch_unwind(AssertUnwindSafe(work)).err()?;
        payload.downcast::<Broken>().ok().map(|broken| broken.invariant)
    }

    #[test]
    fn a_full_queue_has_no_room_until_the_kernel_has_taken_something() {
        let Some((ring, mut queues)) = ring() else { return };
        assert!(queues.has_room(SIZE) && !queues.has_room(SIZE + 1));
        (0..SIZE).for_each(|number| add(&mut queues, number.into()));
        assert!(!queues.has_room(1));
        if CHECKS_ALL {
            assert_eq!(broken_by(|| add(&mut queues, 9)), Some(Invariant::HandedOver));
        }
        submit(&ring, &mut queues);
        assert!(queues.has_room(SIZE));
    }

    #[test]
    fn the_kernel_sees_nothing_before_it_is_shown() {
        let Some((ring, mut queues)) = ring() else { return };
        add(&mut queues, 1);
        assert_eq!(ring.submit().ok(), Some(0));
        assert_eq!((queues.gather(9), queues.kept_back()), (0, 1));
        submit(&ring, &mut queues);
        assert_eq!(queues.gather(9), 1);
    }

    #[test]
    fn an_end_that_is_not_there_cannot_be_taken() {
        let Some((ring, mut queues)) = ring() else { return };
        assert_eq!(broken_by(|| queues.take(|_| ())), Some(Invariant::Ends));
        add(&mut queues, 1);
        submit(&ring, &mut queues);
        // The completion is available but not part of a batch.
        assert_eq!(broken_by(|| queues.take(|_| ())), Some(Invariant::Ends));
        queues.gather(1);
        queues.take(|_| ());
        assert_eq!(broken_by(|| queues.take(|_| ())), Some(Invariant::Ends));
    }

    #[test]
    fn ends_that_are_written_over_are_noticed() {
        let Some((ring, mut queues)) = ring() else { return };
        for _ in 0..3 {
            (0..SIZE).for_each(|number| add(&mut queues, number.into()));
            submit(&ring, &mut queues);
            queues.gather(u32::MAX);
        }
        if CHECKS_ALL {
            assert_eq!(broken_by(|| queues.take(|_| ())), Some(Invariant::Ends));
        }
    }

    proptest! {
        /// For any batches of requests and completions, every request completes once and in order, even if
        /// others follow it.
        #[test]
        fn every_request_ends_once(rounds in prop::collection::vec((0..=SIZE, 0..=SIZE, any::<bool>()), 1..200)) {
            let Some((ring, mut queues)) = ring() else { return Ok(()) };
            let (mut written, mut ended, mut under_way) = (0u64, 0u64, 0);
            for (most, batch, goes_on) in rounds {
                for _ in 0..most.min(SIZE - under_way) {
                    prop_assert!(queues.has_room(1));
                    add(&mut queues, written);
                    written += 1;
                    under_way += 1;
                }
                submit(&ring, &mut queues);
                let count = queues.gather(batch);
                prop_assert_eq!(count, under_way.min(batch));
                for _ in 0..count {
                    prop_assert_eq!(queues.take(cqueue::Entry::user_data), ended);
                    ended += 1;
                    under_way -= 1;
                    if goes_on {
                        prop_assert!(queues.has_room(1));
                        add(&mut queues, written);
                        written += 1;
                        under_way += 1;
                        submit(&ring, &mut queues);
                    }
                }
                prop_assert_eq!(queues.left_of_batch(), 0);
            }
            prop_assert_eq!(written - ended, u64::from(under_way));
        }
    }
}
