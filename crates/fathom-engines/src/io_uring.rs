//! `io_uring`: submission and completion rings shared with the kernel.
//!
//! Probed once, when the engine is set up: the best legal set of ring features is used, and [`Engine::features`] says
//! which. Two calls a round (submit, then wait), so that submission and completion latency mean what they say.

use crate::integrity::Integrity;
use crate::ring::{ARENA, EveryNth, Ring};
use crate::shared::{Immediate, Said, rwf};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
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
    options: Options,
    force_async: EveryNth,
    integrity: Option<Box<Integrity>>,
    /// What was wrong with the protection information of the unit in a slot.
    said: Said,
}

/// Choices made once, looked at for every I/O.
#[derive(Clone, Copy)]
struct Options {
    fixed_buffers: bool,
    registered_files: bool,
    vectored: bool,
    read_flags: i32,
    write_flags: i32,
}

impl EngineType for IoUring {
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
            options: Options {
                fixed_buffers: false,
                registered_files: false,
                vectored: private.nonvectored == 0 || !plain,
                read_flags: common,
                write_flags: common | if setup.job.engine.atomic { rwf::ATOMIC } else { 0 },
            },
            force_async: EveryNth::new(private.force_async.unwrap_or(0)),
            integrity: Integrity::of(setup)?.map(Box::new),
            said: Said::default(),
            features: Vec::new(),
            ring,
        };
        // Kernels (7.2 and older) refuse atomic writes from registered buffers.
        let may_fix_buffers = !engine.options.vectored && !setup.job.engine.atomic;
        let registered = engine.ring.register_all(setup, may_fix_buffers, &mut features)?;
        engine.options.fixed_buffers = registered.buffers;
        engine.options.registered_files = registered.files;
        engine.features = features;
        Ok(engine)
    }
}

impl Engine for IoUring {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let entry = match io.operation() {
            Operation::Read | Operation::Write => self.transfer(slot, io),
            Operation::Trim if !self.immediate.is_block_device(io.file()) => self.punch_hole(io),
            Operation::Trim => return Queued::Done(self.immediate.perform(io)),
            _ => self.sync(io),
        };
        let mut entry = entry.user_data(u64::from(slot));
        if let Some(integrity) = &mut self.integrity
            && matches!(io.operation(), Operation::Read | Operation::Write)
        {
            integrity.attach(slot, io, &mut entry);
        }
        if self.force_async.is_due() {
            entry = entry.flags(squeue::Flags::ASYNC);
        }
        // SAFETY: buffer, vector and descriptor of the entry stay valid until its completion has been reaped: the loop
        // reuses a slot only then, and `Drop` of the ring waits for the kernel.
        unsafe { self.ring.push(&entry) }
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        self.ring.commit()
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        if self.integrity.is_some() {
            let from = out.len();
            self.ring.reap(min, out, collect)?;
            self.check_integrity(from, out);
            return Ok(());
        }
        self.ring.reap(min, out, collect)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.ring.reap_within(span, out, collect)?;
        if self.integrity.is_some() {
            self.check_integrity(0, out);
        }
        Ok(())
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.said.take(slot)
    }

    fn features(&self) -> Vec<&'static str> {
        self.features.clone()
    }
}

impl IoUring {
    /// Looks at the protection information of what has been read.
    #[inline(never)]
    fn check_integrity(&mut self, from: usize, out: &mut Completions) {
        let Some(integrity) = &mut self.integrity else { return };
        for ended in &mut out.list_mut()[from..] {
            if let Err(why) = integrity.check(ended.slot, ended.result) {
                ended.result = i64::from(-libc::EIO);
                self.said.keep(ended.slot, why.to_string());
            }
        }
    }

    #[inline(always)]
    fn transfer(&mut self, slot: u32, io: &Io) -> squeue::Entry {
        let reads = io.operation() == Operation::Read;
        let flags = if reads { self.options.read_flags } else { self.options.write_flags };
        let (fd, fixed) = (types::Fd(io.handle().descriptor()), types::Fixed(io.file()));
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
            *vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
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
        if io.operation() == Operation::RangeSync {
            return opcode::SyncFileRange::new(types::Fd(io.handle().descriptor()), io.length())
                .offset(io.offset())
                .flags(self.immediate.range_flags())
                .build();
        }
        let flags = match io.operation() {
            Operation::DataSync => types::FsyncFlags::DATASYNC,
            _ => types::FsyncFlags::empty(),
        };
        opcode::Fsync::new(types::Fd(io.handle().descriptor())).flags(flags).build()
    }

    fn punch_hole(&self, io: &Io) -> squeue::Entry {
        opcode::Fallocate::new(types::Fd(io.handle().descriptor()), u64::from(io.length()))
            .offset(io.offset())
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build()
    }
}

#[inline(always)]
fn collect(ring: &mut Ring, out: &mut Completions) {
    let mut completions = ring.queues.completion();
    while out.room() > 0
        && let Some(entry) = completions.next()
    {
        // Trims and range syncs report 0 for "all of it"; the loop settles that by the operation.
        out.push(entry.user_data() as u32, i64::from(entry.result()));
    }
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
        on_target!(self, fd => opcode::Read::new(fd, io.buffer(), io.length()).offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
    }

    #[inline(always)]
    fn write(self, io: &Io, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::Write::new(fd, io.buffer(), io.length()).offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
    }

    #[inline(always)]
    fn read_fixed(self, io: &Io, index: u16, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::ReadFixed::new(fd, io.buffer(), io.length(), index)
            .offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
    }

    #[inline(always)]
    fn write_fixed(self, io: &Io, index: u16, flags: i32) -> squeue::Entry {
        on_target!(self, fd => opcode::WriteFixed::new(fd, io.buffer(), io.length(), index)
            .offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
    }

    #[inline(always)]
    fn vectored(self, reads: bool, vector: *const libc::iovec, io: &Io, flags: i32) -> squeue::Entry {
        if reads {
            on_target!(self, fd => opcode::Readv::new(fd, vector, 1).offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
        } else {
            on_target!(self, fd => opcode::Writev::new(fd, vector, 1).offset(io.offset()).rw_flags(flags).ioprio(io.priority()).build())
        }
    }
}
