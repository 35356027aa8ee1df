//! `io_uring`: submission and completion rings shared with the kernel.
//!
//! Probed once, when the engine is set up: the best legal set of ring features is used, and [`Engine::features`] says
//! which. Two calls a round (submit, then wait), so that submission and completion latency mean what they say.

use crate::shared::{Immediate, rwf};
use fathom_run::engine::{Completions, Engine, Io, Queued, Setup, SetupError};
use fathom_run::exhausted;
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::clock::timespec;
use io_uring::{Probe, opcode, squeue, types};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A kernel whose waits have no limit is asked again after so long.
const LONGEST_SLEEP: Duration = Duration::from_micros(100);

pub(crate) struct IoUring {
    ring: io_uring::IoUring,
    features: Vec<&'static str>,
    immediate: Immediate,
    vectors: Box<[libc::iovec]>,
    /// Queued, not yet handed over.
    queued: u32,
    /// How `io_uring_enter` names the ring: by descriptor, or by its registered index.
    handle: Handle,
    options: Options,
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

/// Choices made once, looked at for every I/O.
#[derive(Clone, Copy)]
struct Options {
    fixed_buffers: bool,
    registered_files: bool,
    vectored: bool,
    read_flags: i32,
    write_flags: i32,
    /// Ask for asynchronous execution of every Nth request; 0: never.
    force_async: u32,
    force_async_left: u32,
    /// The kernel's own thread takes submissions.
    kernel_thread: bool,
}

impl Engine for IoUring {
    const DEFINITION: &'static EngineDef = &engines::io_uring::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<IoUring, SetupError> {
        let private = &setup.job.private.io_uring;
        let (ring, mut features) = build_ring(setup)?;
        let mut probe = Probe::new();
        let probed = ring.submitter().register_probe(&mut probe).is_ok();
        let supports = |code: u8| probed && probe.is_supported(code);
        let plain = supports(opcode::Read::CODE) && supports(opcode::Write::CODE);
        let common = if private.nowait { rwf::NOWAIT } else { 0 }
            | if private.uncached.unwrap_or(0) != 0 { rwf::DONTCACHE } else { 0 };
        let mut engine = IoUring {
            immediate: Immediate::new(setup),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; setup.depth as usize]
                .into(),
            queued: 0,
            options: Options {
                fixed_buffers: false,
                registered_files: false,
                vectored: private.nonvectored == 0 || !plain,
                read_flags: common,
                write_flags: common | if setup.job.engine.atomic { rwf::ATOMIC } else { 0 },
                force_async: private.force_async.unwrap_or(0),
                force_async_left: private.force_async.unwrap_or(0),
                kernel_thread: private.sqthread_poll,
            },
            handle: Handle { fd: ring.as_raw_fd(), flags: 0 },
            features: Vec::new(),
            ring,
        };
        engine.register(setup, &mut features)?;
        engine.features = features;
        Ok(engine)
    }

    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let entry = match io.operation {
            Operation::Read | Operation::Write => self.transfer(slot, io),
            Operation::Trim if !self.immediate.is_block_device(io.file) => self.punch_hole(io),
            Operation::Trim => return Queued::Done(self.immediate.perform(io)),
            _ => self.sync(io),
        };
        let mut entry = entry.user_data(u64::from(slot));
        if self.options.force_async > 0 {
            entry = self.every_nth_async(entry);
        }
        // SAFETY: buffer, vector and descriptor of the entry stay valid until its completion has been reaped: the loop
        // reuses a slot only then, and `Drop` of the ring waits for the kernel.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err()
            && let Err(errno) = self.push_once_there_is_room(&entry)
        {
            return Queued::Done(i64::from(-errno.0));
        }
        self.queued += 1;
        Queued::Pending
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        if self.options.kernel_thread {
            return self.commit_to_kernel_thread();
        }
        // With deferred task run, completions become visible only in a call that asks for events: asking here saves a
        // call of its own for them.
        let taken = self.enter(self.queued, 0)?;
        self.queued -= taken;
        Ok(taken)
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(out);
        if min == 0 && out.is_empty() {
            // The kernel lists what has ended when it is entered, and not before.
            self.enter(0, 0)?;
            self.collect(out);
        }
        while out.len() < min as usize && out.room() > 0 {
            let wanted = min as usize - out.len();
            self.wait(wanted)?;
            self.collect(out);
        }
        Ok(())
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(out);
        if out.is_empty() {
            self.wait_within(span)?;
            self.collect(out);
        }
        Ok(())
    }

    fn features(&self) -> Vec<&'static str> {
        self.features.clone()
    }
}

impl IoUring {
    #[inline(always)]
    fn transfer(&mut self, slot: u32, io: &Io) -> squeue::Entry {
        let reads = io.operation == Operation::Read;
        let flags = if reads { self.options.read_flags } else { self.options.write_flags };
        let (fd, fixed) = (types::Fd(io.handle.descriptor()), types::Fixed(io.file));
        macro_rules! with_target {
            ($build:expr) => {
                if self.options.registered_files { $build(fixed.into()) } else { $build(fd.into()) }
            };
        }
        if self.options.fixed_buffers {
            return if reads {
                with_target!(|target: Target| target.read_fixed(io, ARENA, flags))
            } else {
                with_target!(|target: Target| target.write_fixed(io, ARENA, flags))
            };
        }
        if self.options.vectored {
            let vector = &mut self.vectors[slot as usize];
            *vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.length as usize };
            let vector: *const libc::iovec = vector;
            return with_target!(|target: Target| target.vectored(reads, vector, io, flags));
        }
        if reads {
            with_target!(|target: Target| target.read(io, flags))
        } else {
            with_target!(|target: Target| target.write(io, flags))
        }
    }

    fn sync(&self, io: &Io) -> squeue::Entry {
        if io.operation == Operation::RangeSync {
            return opcode::SyncFileRange::new(types::Fd(io.handle.descriptor()), io.length)
                .offset(io.offset)
                .flags(self.immediate.range_flags())
                .build();
        }
        let flags = match io.operation {
            Operation::DataSync => types::FsyncFlags::DATASYNC,
            _ => types::FsyncFlags::empty(),
        };
        opcode::Fsync::new(types::Fd(io.handle.descriptor())).flags(flags).build()
    }

    fn punch_hole(&self, io: &Io) -> squeue::Entry {
        opcode::Fallocate::new(types::Fd(io.handle.descriptor()), u64::from(io.length))
            .offset(io.offset)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build()
    }

    fn every_nth_async(&mut self, entry: squeue::Entry) -> squeue::Entry {
        self.options.force_async_left -= 1;
        if self.options.force_async_left > 0 {
            return entry;
        }
        self.options.force_async_left = self.options.force_async;
        entry.flags(squeue::Flags::ASYNC)
    }

    #[inline(always)]
    fn collect(&mut self, out: &mut Completions) {
        let mut completions = self.ring.completion();
        while out.room() > 0
            && let Some(entry) = completions.next()
        {
            // Trims and range syncs report 0 for "all of it"; the loop settles that by the operation.
            out.push(entry.user_data() as u32, i64::from(entry.result()));
        }
    }

    fn wait(&mut self, wanted: usize) -> Result<(), Errno> {
        match self.enter(0, wanted as u32) {
            Ok(_) | Err(Errno(libc::EINTR)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// `io_uring_enter`: hands over `submit` entries and waits until `wanted` completions are there.
    #[inline(always)]
    fn enter(&self, submit: u32, wanted: u32) -> Result<u32, Errno> {
        self.enter_with(submit, wanted, None)
    }

    #[inline(always)]
    fn enter_with(&self, submit: u32, wanted: u32, argument: Option<&WaitArgument>) -> Result<u32, Errno> {
        const GET_EVENTS: u32 = 1;
        const EXTENDED_ARGUMENT: u32 = 1 << 3;
        let (flag, size) = argument.map_or((0, 0), |_| (EXTENDED_ARGUMENT, size_of::<WaitArgument>()));
        // SAFETY: no signal mask is given; the entries that the kernel reads were pushed by `queue`; the argument, if there is
        // one, lives through the call and has the size that is given.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.handle.fd,
                submit,
                wanted,
                GET_EVENTS | flag | self.handle.flags,
                argument.map_or(std::ptr::null(), |argument| argument as *const WaitArgument),
                size,
            )
        };
        if taken < 0 { Err(Errno::last()) } else { Ok(taken as u32) }
    }

    /// Waits until a completion is there, or for so long.
    fn wait_within(&self, span: Duration) -> Result<(), Errno> {
        if !self.ring.params().is_feature_ext_arg() {
            // Linux 5.10 and earlier: nothing ends a wait but a completion.
            std::thread::sleep(span.min(LONGEST_SLEEP));
            return self.enter(0, 0).map(|_| ());
        }
        let limit = timespec(span);
        let argument = WaitArgument { signals: 0, signals_size: 0, least_us: 0, limit: &raw const limit };
        match self.enter_with(0, 1, Some(&argument)) {
            Ok(_) | Err(Errno(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// With a kernel thread the entries are taken as soon as they lie in the ring; it may have to be woken.
    #[cold]
    fn commit_to_kernel_thread(&mut self) -> Result<u32, Errno> {
        self.ring.submit().map_err(Errno::from)?;
        Ok(std::mem::take(&mut self.queued))
    }

    /// The ring has an entry for every slot, so it is full only while the kernel's thread has ended an I/O whose entry it still
    /// counts as waiting: it gives back the entries of a whole batch at once.
    #[cold]
    fn push_once_there_is_room(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        loop {
            // Wakes the thread, should it sleep.
            self.ring.submit().map_err(Errno::from)?;
            match self.ring.submitter().squeue_wait().map_err(Errno::from) {
                Ok(_) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
            // SAFETY: as in `queue`.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
        }
    }

    /// Registers the ring, and files and buffers wherever the kernel takes them and the job does not forbid it. Only
    /// what the job asks for by name must succeed.
    fn register(&mut self, setup: &Setup<'_>, features: &mut Vec<&'static str>) -> Result<(), SetupError> {
        let (job, asked) = (setup.job, &setup.job.private.io_uring);
        let vectored = self.options.vectored;
        // Kernels (7.2 and older) refuse atomic writes from registered buffers.
        let may_fix_buffers = !job.is_set("fixedbufs")
            && !vectored
            && !job.engine.atomic
            && arena_length(setup) <= PINNED_UNASKED;
        if asked.fixedbufs || may_fix_buffers {
            match self.register_buffers(setup) {
                Ok(()) => {
                    self.options.fixed_buffers = true;
                    features.push("fixed buffers");
                }
                Err(error) if asked.fixedbufs => return Err(error),
                Err(_) => {}
            }
        }
        // Files that come and go (`openfiles`, `unlink_each_loop`) have no descriptor to register.
        let all_are_open = setup.files.iter().all(|file| file.handle.is_open()) && !job.file.unlink_each_loop;
        if asked.registerfiles && !all_are_open {
            return Err(SetupError::new(Errno(libc::EINVAL), "io_uring_register_files").with_advice(
                "registerfiles=1 needs all files open; leave openfiles and unlink_each_loop out",
            ));
        }
        if all_are_open && (asked.registerfiles || !job.is_set("registerfiles")) {
            let fds: Vec<i32> = setup.files.iter().map(|file| file.handle.descriptor()).collect();
            match self.ring.submitter().register_files(&fds) {
                Ok(()) => {
                    self.options.registered_files = true;
                    features.push("registered files");
                }
                Err(error) if asked.registerfiles => {
                    return Err(SetupError::new(error.into(), "io_uring_register_files"));
                }
                Err(_) => {}
            }
        }
        if let Some(handle) = register_ring(self.ring.as_raw_fd()) {
            self.handle = handle;
            features.push("registered ring");
        }
        Ok(())
    }

    /// Registers the arena as one buffer, of which every I/O uses its part.
    fn register_buffers(&self, setup: &Setup<'_>) -> Result<(), SetupError> {
        let whole = libc::iovec { iov_base: setup.arena.cast(), iov_len: arena_length(setup) };
        // SAFETY: the arena is mapped to that length and outlives the engine.
        unsafe { self.ring.submitter().register_buffers(&[whole]) }.map_err(|error| {
            SetupError::new(error.into(), "io_uring_register_buffers").with_advice(format!(
                "the buffers cannot be pinned (leave fixedbufs out): {}",
                exhausted::locked_memory()
            ))
        })
    }
}

/// The registered buffer: the whole arena.
const ARENA: u16 = 0;
/// Memory that is pinned without being asked to.
const PINNED_UNASKED: usize = 256 << 20;

fn arena_length(setup: &Setup<'_>) -> usize {
    setup.buffer_stride * setup.depth as usize
}

/// A descriptor or the number of a registered file; both build the same requests.
enum Target {
    Fd(types::Fd),
    Fixed(types::Fixed),
}

impl From<types::Fd> for Target {
    fn from(fd: types::Fd) -> Target {
        Target::Fd(fd)
    }
}

impl From<types::Fixed> for Target {
    fn from(fixed: types::Fixed) -> Target {
        Target::Fixed(fixed)
    }
}

macro_rules! on_target {
    ($target:expr, $name:ident => $build:expr) => {
        match $target {
            Target::Fd($name) => $build,
            Target::Fixed($name) => $build,
        }
    };
}

impl Target {
    #[inline(always)]
    fn read(self, io: &Io, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::Read::new(fd, io.buffer, io.length).offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
    }

    #[inline(always)]
    fn write(self, io: &Io, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::Write::new(fd, io.buffer, io.length).offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
    }

    #[inline(always)]
    fn read_fixed(self, io: &Io, index: u16, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::ReadFixed::new(fd, io.buffer, io.length, index)
            .offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
    }

    #[inline(always)]
    fn write_fixed(self, io: &Io, index: u16, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::WriteFixed::new(fd, io.buffer, io.length, index)
            .offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
    }

    #[inline(always)]
    fn vectored(self, reads: bool, vector: *const libc::iovec, io: &Io, flags: i32) -> squeue::Entry {
        if reads {
            on_target!(self, fd => opcode::Readv::new(fd, vector, 1).offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
        } else {
            on_target!(self, fd => opcode::Writev::new(fd, vector, 1).offset(io.offset).rw_flags(flags).ioprio(io.priority).build())
        }
    }
}

/// Registers the ring's descriptor (Linux 5.18), which saves looking it up in every call.
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

/// How much of the newer ring features to ask for.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Plain,
    /// Linux 6.1: one submitter, completions handled when it asks for them.
    Deferred,
    /// Linux 6.6: no indirection between the submission queue and its entries.
    Direct,
}

/// The best ring that this kernel and the job's options allow.
fn build_ring(setup: &Setup<'_>) -> Result<(io_uring::IoUring, Vec<&'static str>), SetupError> {
    let mut levels = [Level::Direct, Level::Deferred, Level::Plain].into_iter();
    loop {
        let level = levels.next().unwrap_or(Level::Plain);
        match ring_builder(setup, level).build(setup.depth.max(1)) {
            Ok(ring) => return Ok((ring, ring_features(setup, level))),
            // An older kernel does not know some of the flags.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && level != Level::Plain => {}
            Err(error) => return Err(refused(error)),
        }
    }
}

fn ring_builder(setup: &Setup<'_>, level: Level) -> io_uring::Builder {
    let options = &setup.job.private.io_uring;
    let mut builder = io_uring::IoUring::builder();
    builder.setup_cqsize(setup.depth.max(1).next_power_of_two() * 2);
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

/// Milliseconds without work after which the kernel's submission thread sleeps.
const SQPOLL_IDLE_MS: u32 = 1000;

/// Where the kernel says who may use io_uring: 0 for everybody.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
const FILTERED: &str = "a seccomp filter forbids io_uring here, as those of containers do: allow io_uring_setup, io_uring_enter and \
                        io_uring_register in its profile (or, for a try, --security-opt seccomp=unconfined), or use ioengine=libaio";

fn refused(error: std::io::Error) -> SetupError {
    let errno = Errno::from(error);
    let advice = match errno.0 {
        // The switch is there since 6.6 where the kernel was built with io_uring, so a filter answers in its place.
        libc::ENOSYS if std::path::Path::new(SWITCH).exists() => FILTERED,
        libc::ENOSYS => "this kernel has no io_uring, or a seccomp filter of the container hides it",
        libc::EPERM if std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() != "0") => {
            "io_uring is switched off here: see /proc/sys/kernel/io_uring_disabled"
        }
        libc::EPERM => FILTERED,
        libc::ENOMEM => &format!("no memory for the rings: {}", exhausted::locked_memory()),
        _ => "",
    };
    SetupError::new(errno, "io_queue_init").with_advice(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a ring in a thread for which `io_uring_setup` is answered by an error number, as seccomp profiles of containers do.
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
            // SAFETY: the kernel copies the filter, which lives through the call; it holds for this thread alone.
            let is_set = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const rules) == 0
            };
            assert!(is_set, "{}", std::io::Error::last_os_error());
            refused(io_uring::IoUring::new(8).err().expect("refused")).advice
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
