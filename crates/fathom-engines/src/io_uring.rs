//! `io_uring`: submission and completion rings shared with the kernel.
//!
//! Probed once, when the engine is set up: the best legal set of ring features is used, and [`Engine::features`] says
//! which. Two calls a round (submit, then wait), so that submission and completion latency mean what they say.

use crate::ring::Ring;
use crate::shared::{Immediate, rwf};
use fathom_run::engine::{Completions, Engine, Io, Queued, Setup, SetupError};
use fathom_run::exhausted;
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use io_uring::{opcode, squeue, types};
use std::time::Duration;

pub(crate) struct IoUring {
    ring: Ring,
    features: Vec<&'static str>,
    immediate: Immediate,
    vectors: Box<[libc::iovec]>,
    /// Queued, not yet handed over.
    queued: u32,
    options: Options,
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
        let (ring, mut features) = Ring::new(setup, setup.depth.max(1), "ioengine=libaio")?;
        let plain = ring.supports(&[opcode::Read::CODE, opcode::Write::CODE]);
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
        let pushed = unsafe { self.ring.queues.submission().push(&entry) };
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
        let taken = self.ring.enter(self.queued, 0)?;
        self.queued -= taken;
        Ok(taken)
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(out);
        if min == 0 && out.is_empty() {
            // The kernel lists what has ended when it is entered, and not before.
            self.ring.enter(0, 0)?;
            self.collect(out);
        }
        while out.len() < min as usize && out.room() > 0 {
            let wanted = min as usize - out.len();
            self.ring.wait(wanted)?;
            self.collect(out);
        }
        Ok(())
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(out);
        if out.is_empty() {
            self.ring.wait_within(span)?;
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
        let mut completions = self.ring.queues.completion();
        while out.room() > 0
            && let Some(entry) = completions.next()
        {
            // Trims and range syncs report 0 for "all of it"; the loop settles that by the operation.
            out.push(entry.user_data() as u32, i64::from(entry.result()));
        }
    }

    /// With a kernel thread the entries are taken as soon as they lie in the ring; it may have to be woken.
    #[cold]
    fn commit_to_kernel_thread(&mut self) -> Result<u32, Errno> {
        self.ring.queues.submit().map_err(Errno::from)?;
        Ok(std::mem::take(&mut self.queued))
    }

    /// The ring has an entry for every slot, so it is full only while the kernel's thread has ended an I/O whose entry it still
    /// counts as waiting: it gives back the entries of a whole batch at once.
    #[cold]
    fn push_once_there_is_room(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        loop {
            // Wakes the thread, should it sleep.
            self.ring.queues.submit().map_err(Errno::from)?;
            match self.ring.queues.submitter().squeue_wait().map_err(Errno::from) {
                Ok(_) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
            // SAFETY: as in `queue`.
            if unsafe { self.ring.queues.submission().push(entry) }.is_ok() {
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
            match self.ring.queues.submitter().register_files(&fds) {
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
        if self.ring.register() {
            features.push("registered ring");
        }
        Ok(())
    }

    /// Registers the arena as one buffer, of which every I/O uses its part.
    fn register_buffers(&self, setup: &Setup<'_>) -> Result<(), SetupError> {
        let whole = libc::iovec { iov_base: setup.arena.cast(), iov_len: arena_length(setup) };
        // SAFETY: the arena is mapped to that length and outlives the engine.
        unsafe { self.ring.queues.submitter().register_buffers(&[whole]) }.map_err(|error| {
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
