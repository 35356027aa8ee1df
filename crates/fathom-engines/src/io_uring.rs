//! `io_uring`: submission and completion rings shared with the kernel. The kernel is probed once, during setup.
//! The best supported set of ring features is used, and [`Engine::features`] reports it. Each round makes two
//! calls, to submit and then to wait, so that submission and completion latency are measured separately.

use crate::integrity::{self, Integrity};
use crate::ring::{ARENA, EveryNth, Ring, Transfer};
use crate::shared::{Immediate, Said, rwf};
use fathom_run::engine::{Completion, Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use io_uring::{cqueue, opcode, squeue, types};
use std::time::Duration;

pub(crate) struct IoUring {
    ring: Ring,
    /// Fields that all reads have in common.
    read: Form,
    /// Fields that all writes have in common.
    write: Form,
    /// True if requests refer to registered files by index instead of by descriptor.
    registered_files: bool,
    /// True if requests use a vector per slot instead of the slot's buffer.
    vectored: bool,
    /// True if some requests have extra fields: protection information, or a flag.
    is_extended: bool,
    vectors: Box<[libc::iovec]>,
    features: Vec<&'static str>,
    immediate: Immediate,
    force_async: EveryNth,
    integrity: Option<Box<Integrity>>,
    remarks: Vec<String>,
    /// Error in the protection information of the unit in each slot, for messages.
    said: Said,
}

/// The fields that all requests of a direction have in common.
#[derive(Clone, Copy)]
struct Form {
    code: u8,
    flags: u8,
    rw_flags: i32,
}

impl EngineType for IoUring {
    const DEFINITION: &'static EngineDef = &engines::io_uring::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<IoUring, SetupError> {
        let private = &setup.job.private.io_uring;
        let (mut ring, mut features) = Ring::new(setup, setup.depth.max(1), "ioengine=libaio")?;
        let plain = ring.supports(&[opcode::Read::CODE, opcode::Write::CODE]);
        let common = if private.nowait { rwf::NOWAIT } else { 0 }
            | if private.uncached.unwrap_or(0) != 0 { rwf::DONTCACHE } else { 0 };
        let vectored = private.nonvectored == 0 || !plain;
        // Kernels up to at least 7.2 refuse atomic writes from registered buffers.
        let may_fix_buffers = !vectored && !setup.job.engine.atomic;
        let registered = ring.register_all(setup, may_fix_buffers, &mut features)?;
        let (read, write) = match (registered.buffers, vectored) {
            (true, _) => (opcode::ReadFixed::CODE, opcode::WriteFixed::CODE),
            (false, true) => (opcode::Readv::CODE, opcode::Writev::CODE),
            (false, false) => (opcode::Read::CODE, opcode::Write::CODE),
        };
        let flags = if registered.files { FIXED_FILE } else { 0 };
        let atomic = if setup.job.engine.atomic { rwf::ATOMIC } else { 0 };
        let force_async = EveryNth::new(private.force_async.unwrap_or(0));
        let integrity = Integrity::of(setup)?.map(Box::new);
        Ok(IoUring {
            ring,
            read: Form { code: read, flags, rw_flags: common },
            write: Form { code: write, flags, rw_flags: common | atomic },
            registered_files: registered.files,
            vectored: vectored && !registered.buffers,
            is_extended: integrity.is_some() || force_async.is_any(),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; setup.depth as usize]
                .into(),
            features,
            immediate: Immediate::new(setup),
            force_async,
            integrity,
            remarks: integrity::without_effect(setup).into_iter().collect(),
            said: Said::default(),
        })
    }
}

/// Flag of a request that refers to a registered file (`IOSQE_FIXED_FILE`).
const FIXED_FILE: u8 = 1;

impl Engine for IoUring {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        match io.operation() {
            Operation::Read => self.transfer(slot, io, self.read),
            Operation::Write => self.transfer(slot, io, self.write),
            // SAFETY: the copy is dropped when the call returns. It keeps ordinary I/Os in registers.
            _ => self.queue_other(slot, &unsafe { io.keep() }),
        }
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        self.ring.commit()
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    #[inline(always)]
    fn has_ends_in_place(&self) -> bool {
        true
    }

    #[inline(always)]
    fn await_ends(&mut self, min: u32, most: u32) -> Result<(), Errno> {
        self.ring.wait(min, most)
    }

    #[inline(always)]
    fn ends(&self) -> u32 {
        self.ring.left_of_batch()
    }

    #[inline(always)]
    fn take_end(&mut self) -> Completion {
        let Completion { slot, result } = self.ring.take(end_of);
        let result = if self.is_extended { self.check_integrity(slot, result) } else { result };
        Completion { slot, result }
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let waited = self.ring.wait_within(span, out.room() as u32);
        self.list_ends(out);
        waited
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.said.take(slot)
    }

    fn features(&self) -> Vec<&'static str> {
        self.features.clone()
    }
}

impl IoUring {
    #[inline(always)]
    fn transfer(&mut self, slot: u32, io: &Io, form: Form) -> Queued {
        let (address, length) = match self.vectored {
            true => (self.vector(slot, io), 1),
            false => (io.buffer() as u64, io.length()),
        };
        let target = if self.registered_files { io.file() as i32 } else { io.handle().descriptor() };
        let request = Transfer {
            code: form.code,
            flags: form.flags,
            priority: io.priority(),
            target,
            offset: io.offset(),
            address,
            length,
            rw_flags: form.rw_flags,
            slot: u64::from(slot),
            buffer: u64::from(ARENA),
            attributes: 0,
            attribute_kinds: 0,
        };
        let Self { ring, is_extended, integrity, force_async, .. } = self;
        // SAFETY: buffer, vector and descriptor of the request stay valid until its completion has been
        // taken: the loop reuses a slot only then, and `Drop` of the ring waits for the kernel. A transfer
        // fills a whole entry.
        unsafe {
            ring.push(|place| {
                let place = place.cast::<Transfer>();
                place.write(request);
                if *is_extended {
                    extend(&mut *place, slot, &io.keep(), integrity, force_async);
                }
            })
        }
    }

    /// Address of the vector for the buffer of a unit.
    #[inline(always)]
    fn vector(&mut self, slot: u32, io: &Io) -> u64 {
        let vector = &mut self.vectors[slot as usize];
        *vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
        std::ptr::from_ref(vector) as u64
    }

    /// Queues trims and syncs.
    #[cold]
    #[inline(never)]
    fn queue_other(&mut self, slot: u32, io: &Io) -> Queued {
        let entry = match io.operation() {
            Operation::Trim if self.immediate.is_block_device(io.file()) => {
                return Queued::Done(self.immediate.perform(io));
            }
            Operation::Trim => self.punch_hole(io),
            _ => self.sync(io),
        };
        let mut entry = entry.user_data(u64::from(slot));
        if self.force_async.is_due() {
            entry = entry.flags(squeue::Flags::ASYNC);
        }
        // SAFETY: the entry only refers to a descriptor, which stays open.
        unsafe { self.ring.push(|place| place.write(entry)) }
    }

    /// Checks the protection information of a completed read. Returns the unit's result.
    #[cold]
    #[inline(never)]
    fn check_integrity(&mut self, slot: u32, result: i64) -> i64 {
        let Some(integrity) = &mut self.integrity else { return result };
        match integrity.check(slot, result) {
            Ok(()) => result,
            Err(why) => {
                self.said.keep(slot, why.to_string());
                i64::from(-libc::EIO)
            }
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

/// Adds fields to a request that only some jobs need.
#[cold]
#[inline(never)]
fn extend(
    request: &mut Transfer,
    slot: u32,
    io: &Io,
    integrity: &mut Option<Box<Integrity>>,
    force_async: &mut EveryNth,
) {
    if let Some(integrity) = integrity {
        integrity.attach(slot, io, request);
    }
    if force_async.is_due() {
        request.flags |= squeue::Flags::ASYNC.bits();
    }
}

/// Converts a completion. A trim or range sync that was done completely has the result 0, which the loop
/// handles by operation.
#[inline(always)]
fn end_of(entry: &cqueue::Entry) -> Completion {
    Completion { slot: entry.user_data() as u32, result: i64::from(entry.result()) }
}
