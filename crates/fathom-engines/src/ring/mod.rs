//! An io_uring ring with the newest features that the kernel supports and the job allows. All engines that use
//! io_uring share this module.

mod call;
mod queues;

use fathom_run::engine::{Completion, Completions, Queued, Setup, SetupError};
use fathom_run::exhausted;
use fathom_sys::Errno;
use fathom_sys::clock::timespec;
use io_uring::{Probe, cqueue, squeue};
use queues::Queues;
use std::os::fd::AsRawFd;
use std::time::Duration;

// Flags of `io_uring_enter`.
const GET_EVENTS: u32 = 1;
const EXTENDED_ARGUMENT: u32 = 1 << 3;

/// Poll interval on kernels whose waits do not support a timeout.
const LONGEST_SLEEP: Duration = Duration::from_micros(100);

/// Index of the registered buffer, which is the whole arena.
pub(crate) const ARENA: u16 = 0;
/// Maximum size of memory that is pinned without an explicit request of the job, in bytes.
const PINNED_UNASKED: usize = 256 << 20;

/// A ring, and its handle for `io_uring_enter`. The entries of each queue may have either of two sizes.
pub(crate) struct Ring<S: squeue::EntryMarker = squeue::Entry, C: cqueue::EntryMarker = cqueue::Entry> {
    queues: Queues<S, C>,
    /// The descriptor of the ring, or its registered index.
    handle: Handle,
    /// True if the kernel's submission thread is used.
    kernel_thread: bool,
    /// The owner of the ring, for queries and registrations. It is declared last, because dropping it closes
    /// the descriptor.
    pub(crate) setup: io_uring::IoUring<S, C>,
}

/// A read or write request: `struct io_uring_sqe` of linux/io_uring.h.
#[repr(C)]
pub(crate) struct Transfer {
    pub(crate) code: u8,
    pub(crate) flags: u8,
    /// The `ioprio` value of the request.
    pub(crate) priority: u16,
    /// Descriptor or registered index of the file.
    pub(crate) target: i32,
    pub(crate) offset: u64,
    /// Address of the buffer, or of its vector.
    pub(crate) address: u64,
    /// Number of bytes, or of vectors.
    pub(crate) length: u32,
    pub(crate) rw_flags: i32,
    pub(crate) slot: u64,
    /// Index of the registered buffer; reads and writes do not use the upper bits.
    pub(crate) buffer: u64,
    /// Address of the request's attributes.
    pub(crate) attributes: u64,
    pub(crate) attribute_kinds: u64,
}

const _: () = assert!(size_of::<Transfer>() == size_of::<squeue::Entry>());

/// Selects the requests that go directly to a kernel worker (`force_async`).
#[derive(Clone, Copy)]
pub(crate) struct EveryNth {
    /// Interval in requests; 0 disables.
    every: u32,
    left: u32,
}

impl EveryNth {
    pub(crate) fn new(every: u32) -> EveryNth {
        EveryNth { every, left: every }
    }

    /// True if any requests are selected.
    pub(crate) fn is_any(&self) -> bool {
        self.every > 0
    }

    /// Counts a request; returns true if it is selected.
    #[inline(always)]
    pub(crate) fn is_due(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.every;
            return true;
        }
        false
    }
}

/// The resources that are registered with a ring.
#[derive(Clone, Copy, Default)]
pub(crate) struct Registered {
    /// True if the arena is registered, as buffer [`ARENA`].
    pub(crate) buffers: bool,
    /// True if the files are registered, by their indices.
    pub(crate) files: bool,
}

#[derive(Clone, Copy)]
struct Handle {
    fd: i32,
    flags: u32,
}

/// `struct io_uring_getevents_arg` of linux/io_uring.h.
#[repr(C)]
struct WaitArgument {
    signals: u64,
    signals_size: u32,
    least_us: u32,
    limit: *const libc::timespec,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// Creates the best ring for this number of requests that the kernel and the job's options allow; also
    /// returns the ring's features. `instead` names an alternative if io_uring is not available.
    pub(crate) fn new(
        setup: &Setup<'_>,
        entries: u32,
        instead: &str,
    ) -> Result<(Self, Vec<&'static str>), SetupError> {
        let (ring, features) = build_ring(setup, entries, instead)?;
        let queues = Queues::new(&ring).map_err(|errno| SetupError::new(errno, "io_queue_init"))?;
        let handle = Handle { fd: ring.as_raw_fd(), flags: 0 };
        let kernel_thread = setup.job.private.io_uring.sqthread_poll;
        Ok((Ring { queues, handle, kernel_thread, setup: ring }, features))
    }

    /// Registers the ring itself, which saves the kernel a lookup in every call. Returns true on success.
    pub(crate) fn register(&mut self) -> bool {
        match register_ring(self.setup.as_raw_fd()) {
            Some(handle) => {
                self.handle = handle;
                true
            }
            None => false,
        }
    }

    /// Registers the ring, the files and the buffers, as far as the kernel supports that and the job does not
    /// forbid it. A failure is an error only if the job explicitly requests the registration. `may_fix_buffers`
    /// tells whether buffers are registered by default.
    pub(crate) fn register_all(
        &mut self,
        setup: &Setup<'_>,
        may_fix_buffers: bool,
        features: &mut Vec<&'static str>,
    ) -> Result<Registered, SetupError> {
        let (job, asked) = (setup.job, &setup.job.private.io_uring);
        let mut registered = Registered::default();
        let may_fix_buffers =
            may_fix_buffers && !job.is_set("fixedbufs") && arena_length(setup) <= PINNED_UNASKED;
        if asked.fixedbufs || may_fix_buffers {
            match self.register_buffers(setup) {
                Ok(()) => {
                    registered.buffers = true;
                    features.push("fixed buffers");
                }
                Err(error) if asked.fixedbufs => return Err(error),
                Err(_) => {}
            }
        }
        // Files that are opened during the run (`openfiles`, `unlink_each_loop`) have no descriptor to
        // register.
        let all_are_open = setup.files.iter().all(|file| file.handle.is_open()) && !job.file.unlink_each_loop;
        if asked.registerfiles && !all_are_open {
            return Err(SetupError::new(Errno(libc::EINVAL), "io_uring_register_files").with_advice(
                "registerfiles=1 needs all files open; leave out openfiles and unlink_each_loop",
            ));
        }
        if all_are_open && (asked.registerfiles || !job.is_set("registerfiles")) {
            let fds: Vec<i32> = setup.files.iter().map(|file| file.handle.descriptor()).collect();
            match self.setup.submitter().register_files(&fds) {
                Ok(()) => {
                    registered.files = true;
                    features.push("registered files");
                }
                Err(error) if asked.registerfiles => {
                    return Err(SetupError::new(error.into(), "io_uring_register_files"));
                }
                Err(_) => {}
            }
        }
        if self.register() {
            features.push("registered ring");
        }
        Ok(registered)
    }

    /// Registers the arena as a single buffer, of which each I/O uses a part.
    fn register_buffers(&self, setup: &Setup<'_>) -> Result<(), SetupError> {
        let whole = libc::iovec { iov_base: setup.buffers.first().cast(), iov_len: arena_length(setup) };
        // SAFETY: the arena is mapped to that length and outlives the engine.
        unsafe { self.setup.submitter().register_buffers(&[whole]) }.map_err(|error| {
            SetupError::new(error.into(), "io_uring_register_buffers").with_advice(format!(
                "the buffers cannot be pinned (leave out fixedbufs): {}",
                exhausted::locked_memory()
            ))
        })
    }

    /// Adds a request to the queue, which [`commit`](Ring::commit) submits. `write` fills its entry in place.
    ///
    /// # Safety
    ///
    /// `write` fills the whole entry, and all memory to which it refers stays valid until its completion has
    /// been taken.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, write: impl FnOnce(*mut S)) -> Queued {
        if !self.queues.has_room(1)
            && let Err(errno) = self.wait_for_room()
        {
            return Queued::Done(i64::from(-errno.0));
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.queues.add(write) };
        Queued::Pending
    }

    /// Adds linked entries, either all of them or none.
    ///
    /// # Safety
    ///
    /// As for [`push`](Ring::push).
    pub(crate) unsafe fn push_all<const N: usize>(&mut self, entries: [S; N]) -> Result<(), Errno> {
        if !self.queues.has_room(N as u32) {
            return Err(Errno(libc::EBUSY));
        }
        for entry in entries {
            // SAFETY: guaranteed by the caller; the place is that of an entry.
            unsafe { self.queues.add(|place| place.write(entry)) };
        }
        Ok(())
    }

    /// Number of entries that are queued but not submitted.
    pub(crate) fn queued(&self) -> u32 {
        self.queues.kept_back()
    }

    /// Waits until the queue has room for an entry. The ring has an entry for every slot, so it is full only if
    /// the kernel's thread has completed an I/O but not yet released its entry; the thread releases the entries
    /// of a batch together.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&mut self) -> Result<(), Errno> {
        self.queues.show();
        loop {
            // This call wakes the kernel's thread if it is asleep.
            self.setup.submit().map_err(Errno::from)?;
            match self.setup.submitter().squeue_wait().map_err(Errno::from) {
                Ok(_) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
            if self.queues.has_room(1) {
                return Ok(());
            }
        }
    }

    /// Submits queued entries; returns the number that the kernel accepted.
    #[inline(always)]
    pub(crate) fn commit(&mut self) -> Result<u32, Errno> {
        self.queues.show();
        if self.kernel_thread {
            return self.commit_to_kernel_thread();
        }
        // With deferred task run, completions become visible only in a call that asks for events. Asking for
        // them here saves a separate call. While completions are left to take, it does not ask, so that the
        // kernel later processes more of them together.
        let flags = if self.queues.left_of_batch() == 0 { GET_EVENTS } else { 0 };
        let taken = self.enter(self.queues.kept_back(), 0, flags)?;
        self.queues.taken(taken);
        Ok(taken)
    }

    /// Submits to the kernel's thread, which accepts entries as soon as they are visible but may have to be
    /// woken.
    #[cold]
    fn commit_to_kernel_thread(&mut self) -> Result<u32, Errno> {
        self.setup.submit().map_err(Errno::from)?;
        let queued = self.queues.kept_back();
        self.queues.hand_over_all();
        Ok(queued)
    }

    /// Waits for at least `min` completions (0 polls once), of which up to `most` can then be
    /// [taken](Ring::take).
    #[inline(always)]
    pub(crate) fn wait(&mut self, min: u32, most: u32) -> Result<(), Errno> {
        let mut count = self.queues.gather(most);
        if min == 0 && count == 0 {
            // The kernel lists completions only when it is entered.
            self.enter(0, 0, GET_EVENTS)?;
            self.queues.gather(most);
        }
        while count < min.min(most) {
            match self.enter(0, min - count, GET_EVENTS) {
                Ok(_) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
            count = self.queues.gather(most);
        }
        Ok(())
    }

    /// Waits for a completion, for at most `span`; up to `most` completions can then be taken.
    pub(crate) fn wait_within(&mut self, span: Duration, most: u32) -> Result<(), Errno> {
        if self.queues.gather(most) == 0 {
            self.wait_for_one(span)?;
            self.queues.gather(most);
        }
        Ok(())
    }

    /// Waits for at least `min` completions and lists them in `out`. `read` converts a completion, or returns
    /// `None` to skip it.
    pub(crate) fn reap(
        &mut self,
        min: u32,
        out: &mut Completions,
        mut read: impl FnMut(&C) -> Option<Completion>,
    ) -> Result<(), Errno> {
        loop {
            let missing = min.saturating_sub(out.len() as u32);
            let waited = self.wait(missing, out.room() as u32);
            self.list(out, &mut read);
            waited?;
            if out.len() >= min as usize || out.room() == 0 {
                return Ok(());
            }
        }
    }

    pub(crate) fn reap_within(
        &mut self,
        span: Duration,
        out: &mut Completions,
        read: impl FnMut(&C) -> Option<Completion>,
    ) -> Result<(), Errno> {
        let waited = self.wait_within(span, out.room() as u32);
        self.list(out, read);
        waited
    }

    fn list(&mut self, out: &mut Completions, mut read: impl FnMut(&C) -> Option<Completion>) {
        while self.left_of_batch() > 0 {
            if let Some(end) = self.take(&mut read) {
                out.push(end.slot, end.result);
            }
        }
    }

    /// Number of completions in the batch that have not been taken.
    #[inline(always)]
    pub(crate) fn left_of_batch(&self) -> u32 {
        self.queues.left_of_batch()
    }

    /// Takes the next completion of the batch.
    #[inline(always)]
    pub(crate) fn take<R>(&mut self, read: impl FnOnce(&C) -> R) -> R {
        self.queues.take(read)
    }

    /// True if the kernel supports requests with all of these codes; false if it does not support the query.
    pub(crate) fn supports(&self, codes: &[u8]) -> bool {
        let mut probe = Probe::new();
        let probed = self.setup.submitter().register_probe(&mut probe).is_ok();
        probed && codes.iter().all(|code| probe.is_supported(*code))
    }

    /// `io_uring_enter`: submits `submit` entries and waits for `wanted` completions.
    #[inline(always)]
    fn enter(&self, submit: u32, wanted: u32, flags: u32) -> Result<u32, Errno> {
        self.enter_with(submit, wanted, flags, None)
    }

    #[inline(always)]
    fn enter_with(
        &self,
        submit: u32,
        wanted: u32,
        flags: u32,
        argument: Option<&WaitArgument>,
    ) -> Result<u32, Errno> {
        let (flag, size) = argument.map_or((0, 0), |_| (EXTENDED_ARGUMENT, size_of::<WaitArgument>()));
        let argument = argument.map_or(std::ptr::null(), std::ptr::from_ref);
        let Handle { fd, flags: own } = self.handle;
        // SAFETY: no signal mask is given; the entries that the kernel reads were added by `push`; the
        // argument, if there is one, lives through the call and has the stated size.
        let taken = unsafe { call::enter(fd, submit, wanted, flags | flag | own, argument.cast(), size) };
        if taken < 0 { Err(Errno(-taken as i32)) } else { Ok(taken as u32) }
    }

    /// Waits for a completion or until the timeout.
    fn wait_for_one(&self, span: Duration) -> Result<(), Errno> {
        if !self.setup.params().is_feature_ext_arg() {
            // On Linux 5.10 and earlier, only a completion ends a wait, so this sleeps briefly instead.
            std::thread::sleep(span.min(LONGEST_SLEEP));
            return self.enter(0, 0, GET_EVENTS).map(|_| ());
        }
        let limit = timespec(span);
        let argument = WaitArgument { signals: 0, signals_size: 0, least_us: 0, limit: &raw const limit };
        match self.enter_with(0, 1, GET_EVENTS, Some(&argument)) {
            Ok(_) | Err(Errno(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn arena_length(setup: &Setup<'_>) -> usize {
    setup.buffers.stride() * setup.depth as usize
}

/// Registers the ring's descriptor (Linux 5.18), which saves the kernel a lookup in every call.
fn register_ring(fd: i32) -> Option<Handle> {
    /// `struct io_uring_rsrc_update`.
    #[repr(C)]
    struct Update {
        offset: u32,
        reserved: u32,
        data: u64,
    }
    const REGISTER_RING_FDS: u32 = 20;
    const ENTER_REGISTERED_RING: u32 = 16;
    const ANY_INDEX: u32 = u32::MAX;
    let mut update = Update { offset: ANY_INDEX, reserved: 0, data: fd as u64 };
    // SAFETY: one update record, which the kernel reads and whose offset it fills in.
    let registered = unsafe {
        libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, std::ptr::from_mut(&mut update), 1)
    };
    (registered == 1).then_some(Handle { fd: update.offset as i32, flags: ENTER_REGISTERED_RING })
}

/// The newer ring features to request.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Plain,
    /// Linux 6.1: a single submitter, and completions that are processed when it asks for them.
    Deferred,
    /// Linux 6.6: submission queue entries without an indirection.
    Direct,
}

/// The best ring that this kernel and the job's options allow.
fn build_ring<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    setup: &Setup<'_>,
    entries: u32,
    instead: &str,
) -> Result<(io_uring::IoUring<S, C>, Vec<&'static str>), SetupError> {
    let mut levels = [Level::Direct, Level::Deferred, Level::Plain].into_iter();
    loop {
        let level = levels.next().unwrap_or(Level::Plain);
        match ring_builder(setup, entries, level).build(entries) {
            Ok(ring) => return Ok((ring, ring_features(setup, level))),
            // Kernels that do not know some of the flags return EINVAL, so the next level is tried.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && level != Level::Plain => {}
            Err(error) => return Err(refused(error, entries, instead)),
        }
    }
}

fn ring_builder<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    setup: &Setup<'_>,
    entries: u32,
    level: Level,
) -> io_uring::Builder<S, C> {
    let options = &setup.job.private.io_uring;
    let mut builder = io_uring::IoUring::<S, C>::builder();
    builder.setup_cqsize(entries.next_power_of_two() * 2);
    if options.hipri {
        builder.setup_iopoll();
    }
    if options.sqthread_poll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
        if let Some(cpu) = options.sqthread_poll_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    } else if level >= Level::Deferred {
        builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun();
    }
    if level >= Level::Direct {
        builder.setup_no_sqarray();
    }
    builder
}

fn ring_features(setup: &Setup<'_>, level: Level) -> Vec<&'static str> {
    let options = &setup.job.private.io_uring;
    let mut features = Vec::new();
    if options.sqthread_poll {
        features.push("kernel submission thread");
    } else if level >= Level::Deferred {
        features.extend(["single issuer", "deferred task run"]);
    }
    if level >= Level::Direct {
        features.push("no submission index array");
    }
    if options.hipri {
        features.push("polled completions");
    }
    features
}

/// Idle time in ms after which the kernel's submission thread goes to sleep.
const SQPOLL_IDLE_MS: u32 = 1000;

/// The kernel's setting that limits who may use io_uring; 0 allows all users.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
const FILTERED: &str = "a seccomp filter forbids io_uring here, as containers' default profiles do: allow \
                        io_uring_setup, io_uring_enter and io_uring_register in the profile (or, for a test, \
                        --security-opt seccomp=unconfined)";

/// Explains why io_uring is not available; `instead` names an alternative.
pub(crate) fn refused(error: std::io::Error, entries: u32, instead: &str) -> SetupError {
    let errno = Errno::from(error);
    // The limit is io_uring's, so the advice is to stay within it; another engine may not have it.
    if errno.0 == libc::EINVAL && entries > exhausted::RING {
        return SetupError::new(errno, "io_queue_init").with_advice(exhausted::ring(entries));
    }
    let advice = match errno.0 {
        // A kernel that was built with io_uring has this setting since 6.6. If it exists, the error comes from
        // a seccomp filter.
        libc::ENOSYS if std::path::Path::new(SWITCH).exists() => FILTERED,
        libc::ENOSYS => "this kernel has no io_uring, or a seccomp filter of the container hides it",
        libc::EPERM if std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() != "0") => {
            "io_uring is switched off here: see /proc/sys/kernel/io_uring_disabled"
        }
        libc::EPERM => FILTERED,
        libc::ENOMEM => &format!("no memory for the rings: {}", exhausted::locked_memory()),
        _ => return SetupError::new(errno, "io_queue_init"),
    };
    SetupError::new(errno, "io_queue_init").with_advice(format!("{advice}, or use {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message about a ring in a thread in which a seccomp filter makes `io_uring_setup` fail with this
    /// error, as container profiles do.
    fn advice_where_filtered(errno: i32) -> String {
        const LOAD: u16 = 0x20;
        const SKIP_UNLESS_EQUAL: u16 = 0x15;
        const RETURN: u16 = 0x06;
        let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
        let mut filter = [
            step(LOAD, 0, 0),
            step(SKIP_UNLESS_EQUAL, 1, libc::SYS_io_uring_setup as u32),
            step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
            step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let thread = std::thread::spawn(move || {
            let rules = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            // SAFETY: the kernel copies the filter, which lives through the call; it only affects this
            // thread.
            let is_set = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const rules) == 0
            };
            assert!(is_set, "{}", std::io::Error::last_os_error());
            refused(io_uring::IoUring::new(8).err().expect("refused"), 8, "ioengine=libaio").advice
        });
        thread.join().expect("a thread that ends")
    }

    #[test]
    fn who_forbids_io_uring_is_told() {
        for errno in [libc::ENOSYS, libc::EPERM] {
            let advice = advice_where_filtered(errno);
            assert!(advice.contains("seccomp filter"), "{errno}: {advice}");
        }
    }
}
