//! Reads and writes without a batch, on memory supplied by the caller. One thread submits them to the kernel,
//! waits, and collects completions; any thread may wake it. When a thread ends, the kernel cancels its
//! requests, so the threads that want the I/O do not submit it themselves.

use crate::targets::{Place, Targets, errno};
use crate::uring::Uring;
use std::cell::{Cell, UnsafeCell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// User data of the read that a wake-up completes.
const WAKE: u64 = u64::MAX;

/// A read or write as the caller describes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    /// Identifies the completion; not negative.
    pub token: i64,
    /// Address of the first byte in memory.
    pub address: i64,
    /// Byte offset in the file.
    pub offset: i64,
    /// Bytes to move.
    pub length: i32,
    /// `READ` or `WRITE`.
    pub operation: i32,
    /// Index of the file.
    pub file: i32,
    /// Padding.
    pub unused: i32,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Completion {
    /// The request's.
    pub token: i64,
    /// Bytes moved, or a negative error number.
    pub result: i32,
    /// Padding.
    pub unused: i32,
}

/// A ring of one thread, and the counter that wakes the thread.
pub struct Singles {
    // Dropped before the memory that its read of the counter refers to.
    uring: Uring,
    counter: OwnedFd,
    counted: Box<UnsafeCell<u64>>,
    /// True while the read of the counter is in flight.
    listening: Cell<bool>,
}

impl Singles {
    /// Sets up a ring of the calling thread for up to `depth` requests in flight.
    pub fn new(targets: &Targets, depth: u32) -> Result<Singles, i32> {
        // One additional entry for the read of the counter.
        let mut uring = Uring::of_this_thread(depth + 1)?;
        uring.register_files(targets);
        // SAFETY: makes a descriptor and touches no memory.
        let counter = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if counter < 0 {
            return Err(errno());
        }
        // SAFETY: the kernel just returned this descriptor, and nothing else owns it.
        let counter = unsafe { OwnedFd::from_raw_fd(counter) };
        Ok(Singles { uring, counter, counted: Box::new(UnsafeCell::new(0)), listening: Cell::new(false) })
    }

    /// Submits requests, waits until something is complete or the thread is woken, and returns how many completions were written.
    /// An invalid request completes immediately.
    ///
    /// # Safety
    /// Only the thread that set the ring up calls this. `requests` points to `count` requests, and
    /// `completions` has room for one completion of each request in flight, including these. The memory of
    /// each request stays valid until its completion.
    pub unsafe fn turn(
        &self,
        targets: &Targets,
        requests: *const Request,
        count: u32,
        completions: *mut Completion,
    ) -> Result<u32, i32> {
        let mut done = 0;
        let mut finish = |token: u64, result: i32| {
            let completion = Completion { token: token as i64, result, unused: 0 };
            // SAFETY: the caller has room for one completion of each request.
            unsafe { ptr::write(completions.add(done as usize), completion) };
            done += 1;
            done
        };
        let mut failed = 0;
        for index in 0..count as usize {
            // SAFETY: the caller guarantees `count` requests; any bytes are a valid request.
            let request = unsafe { ptr::read(requests.add(index)) };
            let place = Place { operation: request.operation, file: request.file, offset: request.offset };
            match targets.transfer(place, request.address as usize, request.length) {
                Ok(transfer) if self.uring.push(&transfer, request.token as u64) => {}
                Ok(_) => failed = finish(request.token as u64, -libc::EBUSY),
                Err(error) => failed = finish(request.token as u64, -error),
            }
        }
        self.listen();
        match self.uring.enter_and_post(self.uring.queued(), u32::from(failed == 0)) {
            // A signal, or a kernel that requires its completions to be reaped first.
            Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
            Err(error) => return Err(error),
        }
        self.uring.reap(|token, result| match token {
            WAKE => self.listening.set(false),
            _ => {
                finish(token, result);
            }
        });
        Ok(done)
    }

    /// Ends the current or next wait of the thread in `turn`. May be called by any thread.
    pub fn wake(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of our own. A counter that is full wakes as well.
        unsafe { libc::write(self.counter.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    fn listen(&self) {
        if !self.listening.get() {
            // SAFETY: the memory is on the heap and freed after the ring.
            let pushed = unsafe {
                self.uring.push_read_of_counter(self.counter.as_raw_fd(), self.counted.get(), WAKE)
            };
            self.listening.set(pushed);
        }
    }
}

impl Drop for Singles {
    /// Cancels the read of the counter first, because the memory it refers to is freed.
    fn drop(&mut self) {
        self.wake();
        while self.listening.get() {
            match self.uring.enter_and_post(self.uring.queued(), 1) {
                Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                Err(_) => {
                    // The kernel rejects the ring and may keep the read, so the memory is leaked.
                    std::mem::forget(std::mem::replace(&mut self.counted, Box::new(UnsafeCell::new(0))));
                    return;
                }
            }
            self.uring.reap(|token, _| {
                if token == WAKE {
                    self.listening.set(false);
                }
            });
        }
    }
}
