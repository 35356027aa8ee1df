//! The io_uring: submissions and completions. Callers of these functions hold the lock of the ring, except for
//! `enter`.

use crate::targets::{Targets, Transfer};
use io_uring::{EnterFlags, IoUring, opcode, squeue, types};
use std::os::fd::RawFd;

/// An io_uring and its registered files and buffers.
pub(crate) struct Uring {
    ring: IoUring,
    fixed_files: bool,
    fixed_buffers: bool,
    /// The error that prevented the registration of buffers, or 0.
    pub(crate) buffers_refused: i32,
}

impl Uring {
    /// Sets up a ring with `depth` entries that any thread may use.
    pub(crate) fn new(depth: u32) -> Result<Uring, i32> {
        // The waiting thread reaps the completions, so no thread has to be interrupted.
        Uring::build(depth, IoUring::builder().setup_submit_all().setup_coop_taskrun())
    }

    /// Sets up a ring to which only the calling thread submits and on which only it waits.
    pub(crate) fn of_this_thread(depth: u32) -> Result<Uring, i32> {
        Uring::build(depth, IoUring::builder().setup_submit_all().setup_single_issuer().setup_defer_taskrun())
    }

    fn build(depth: u32, builder: &mut io_uring::Builder) -> Result<Uring, i32> {
        let ring = builder
            .setup_clamp()
            .build(depth)
            .or_else(|error| match error.raw_os_error() {
                // Kernels before Linux 5.19 or 6.1 do not know these flags.
                Some(libc::EINVAL) => IoUring::builder().setup_clamp().build(depth),
                _ => Err(error),
            })
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        Ok(Uring { ring, fixed_files: false, fixed_buffers: false, buffers_refused: 0 })
    }

    /// Maximum number of I/Os in flight.
    pub(crate) fn depth(&self) -> u32 {
        self.ring.params().sq_entries()
    }

    /// Registers files and buffers. If the kernel refuses, I/Os name them by descriptor and address.
    pub(crate) fn register(&mut self, targets: &Targets) {
        self.register_files(targets);
        let buffers = targets.vectors();
        if buffers.is_empty() {
            return;
        }
        // SAFETY: the buffers stay valid until the ring is freed, as `Targets::add_buffer` demands.
        match unsafe { self.ring.submitter().register_buffers(&buffers) } {
            Ok(()) => self.fixed_buffers = true,
            Err(error) => self.buffers_refused = error.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// Registers files only: the I/Os refer to memory by address.
    pub(crate) fn register_files(&mut self, targets: &Targets) {
        self.fixed_files = self.ring.submitter().register_files(&targets.descriptors()).is_ok();
    }

    /// Queues one I/O; returns false if the queue is full.
    pub(crate) fn push(&self, transfer: &Transfer, user_data: u64) -> bool {
        let entry = self.entry(transfer).user_data(user_data);
        // SAFETY: the caller holds the lock, so there is no other reference to this queue.
        let mut queue = unsafe { self.ring.submission_shared() };
        // SAFETY: the transfer was checked: its memory is within a buffer that outlives the ring, or is kept until it is complete.
        unsafe { queue.push(&entry) }.is_ok()
    }

    /// Queues a read of eight bytes of a descriptor; false if the queue is full.
    ///
    /// # Safety
    /// Eight bytes at `address` stay valid until the read is complete or the ring is gone.
    pub(crate) unsafe fn push_read_of_counter(&self, fd: RawFd, address: *mut u64, user_data: u64) -> bool {
        let entry = opcode::Read::new(types::Fd(fd), address.cast(), 8).build().user_data(user_data);
        // SAFETY: the caller holds the lock.
        let mut queue = unsafe { self.ring.submission_shared() };
        // SAFETY: the caller answers for the memory.
        unsafe { queue.push(&entry) }.is_ok()
    }

    /// Number of entries that the kernel has not consumed yet.
    pub(crate) fn queued(&self) -> u32 {
        // SAFETY: the caller holds the lock.
        unsafe { self.ring.submission_shared() }.len() as u32
    }

    /// Passes on completions: user data and result of each.
    pub(crate) fn reap(&self, mut take: impl FnMut(u64, i32)) {
        // SAFETY: the caller holds the lock.
        for completion in unsafe { self.ring.completion_shared() } {
            take(completion.user_data(), completion.result());
        }
    }

    /// Submits entries and waits for completions. Needs no lock: the kernel has one.
    pub(crate) fn enter(&self, submit: u32, wait: u32) -> Result<(), i32> {
        self.call(submit, wait, if wait > 0 { EnterFlags::GETEVENTS.bits() } else { 0 })
    }

    /// Submits entries and makes the kernel post completions even if nothing waits for them.
    pub(crate) fn enter_and_post(&self, submit: u32, wait: u32) -> Result<(), i32> {
        self.call(submit, wait, EnterFlags::GETEVENTS.bits())
    }

    fn call(&self, submit: u32, wait: u32, flags: u32) -> Result<(), i32> {
        // SAFETY: no argument is a pointer; the entries were checked when they were queued.
        let entered = unsafe { self.ring.submitter().enter::<libc::sigset_t>(submit, wait, flags, None) };
        entered.map(drop).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
    }

    fn entry(&self, transfer: &Transfer) -> squeue::Entry {
        let Transfer { address, length, offset, buffer, .. } = *transfer;
        // A file by its index in the ring or its descriptor in the process: these are separate types that build
        // the same requests.
        macro_rules! on {
            ($file:expr) => {
                match (transfer.write, self.fixed_buffers) {
                    (false, true) => {
                        opcode::ReadFixed::new($file, address, length, buffer).offset(offset).build()
                    }
                    (true, true) => {
                        opcode::WriteFixed::new($file, address, length, buffer).offset(offset).build()
                    }
                    (false, false) => opcode::Read::new($file, address, length).offset(offset).build(),
                    (true, false) => opcode::Write::new($file, address, length).offset(offset).build(),
                }
            };
        }
        match self.fixed_files {
            true => on!(types::Fixed(u32::from(transfer.file))),
            false => on!(types::Fd(transfer.fd)),
        }
    }
}

impl Drop for Uring {
    /// The kernel tears down a ring later, in the background. Unregister files and buffers now, so that a
    /// file system can be unmounted, and the space of a removed file reused, as soon as the ring is closed.
    fn drop(&mut self) {
        if self.fixed_files {
            let _ = self.ring.submitter().unregister_files();
        }
        if self.fixed_buffers {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}
