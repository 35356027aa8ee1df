//! `libaio`: the kernel's native asynchronous I/O, through its system calls `io_setup`, `io_submit`,
//! `io_getevents` and `io_destroy`.

use crate::shared::{Immediate, rwf};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, REAP_BATCH, Setup, SetupError};
use fathom_run::exhausted;
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::clock::timespec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

// Commands and structures of linux/aio_abi.h.
const CMD_PREAD: u16 = 0;
const CMD_PWRITE: u16 = 1;
const CMD_FSYNC: u16 = 2;
const CMD_FDSYNC: u16 = 3;
const CMD_PREADV: u16 = 7;
const CMD_PWRITEV: u16 = 8;
/// Flag that marks the field `priority` as valid (IOCB_FLAG_IOPRIO).
const FLAG_PRIORITY: u32 = 2;

/// `struct iocb`, little-endian field order.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    control_block: u64,
    result: i64,
    result2: i64,
}

/// Head of the completion ring that the kernel maps into the process. `io_setup` returns the ring's address. A
/// magic number identifies the layout, which has been stable since Linux 2.6.
#[repr(C)]
struct Ring {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_length: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;

const _: () = assert!(std::mem::size_of::<ControlBlock>() == 64 && std::mem::size_of::<Event>() == 32);

pub(crate) struct Libaio {
    context: u64,
    /// One control block per slot; pinned, because the kernel reads them through pointers.
    control_blocks: Box<[ControlBlock]>,
    vectors: Box<[libc::iovec]>,
    /// Pointers to the queued control blocks, in order.
    queued: Vec<*mut ControlBlock>,
    events: Box<[Event; REAP_BATCH]>,
    immediate: Immediate,
    flags: i32,
    write_flags: i32,
    vectored: bool,
    reaps_in_user_space: bool,
    /// True if the kernel performs syncs asynchronously. File systems and devices without this support report
    /// that at the first sync.
    syncs_by_kernel: bool,
}

impl EngineType for Libaio {
    const DEFINITION: &'static EngineDef = &engines::libaio::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Libaio, SetupError> {
        let depth = setup.depth as usize;
        let options = &setup.job.private.libaio;
        let context = io_setup(setup.depth)?;
        Ok(Libaio {
            context,
            control_blocks: vec![ControlBlock::default(); depth].into(),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; depth].into(),
            queued: Vec::with_capacity(depth),
            events: Box::new([Event::default(); REAP_BATCH]),
            immediate: Immediate::new(setup),
            flags: if options.nowait { rwf::NOWAIT } else { 0 },
            write_flags: if setup.job.engine.atomic { rwf::ATOMIC } else { 0 },
            vectored: options.libaio_vectored,
            reaps_in_user_space: options.userspace_reap,
            syncs_by_kernel: syncs_by_kernel(context, setup),
        })
    }
}

impl Engine for Libaio {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let (opcode, rw_flags) = match io.operation() {
            Operation::Read => (if self.vectored { CMD_PREADV } else { CMD_PREAD }, self.flags),
            Operation::Write => {
                (if self.vectored { CMD_PWRITEV } else { CMD_PWRITE }, self.flags | self.write_flags)
            }
            Operation::Sync if self.syncs_by_kernel => (CMD_FSYNC, 0),
            Operation::DataSync if self.syncs_by_kernel => (CMD_FDSYNC, 0),
            _ => return Queued::Done(self.immediate.perform(io)),
        };
        let (mut buffer, mut length, mut offset) =
            (io.buffer() as u64, u64::from(io.length()), io.offset() as i64);
        if matches!(opcode, CMD_FSYNC | CMD_FDSYNC) {
            (buffer, length, offset) = (0, 0, 0);
        } else if self.vectored {
            let vector = &mut self.vectors[slot as usize];
            *vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
            (buffer, length) = (std::ptr::from_mut(vector) as u64, 1);
        }
        let block = &mut self.control_blocks[slot as usize];
        *block = ControlBlock {
            data: u64::from(slot),
            rw_flags,
            priority: io.priority() as i16,
            flags: if io.priority() != 0 { FLAG_PRIORITY } else { 0 },
            opcode,
            fd: io.handle().descriptor() as u32,
            buffer,
            length,
            offset,
            ..ControlBlock::default()
        };
        self.queued.push(std::ptr::from_mut(block));
        Queued::Pending
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        // SAFETY: every queued pointer is to a control block of `self`, and its buffer belongs to a slot in
        // flight.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_submit, self.context, self.queued.len(), self.queued.as_mut_ptr())
        };
        if taken < 0 {
            return Err(Errno::last());
        }
        if taken as usize == self.queued.len() {
            self.queued.clear();
        } else {
            self.queued.drain(..taken as usize);
        }
        Ok(taken as u32)
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        if self.reaps_in_user_space && min == 0 {
            self.reap_from_ring(out);
            return Ok(());
        }
        self.get_events(min, if min == 0 { &raw const NO_WAIT } else { std::ptr::null() }, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let limit = timespec(span);
        self.get_events(1, &raw const limit, out)
    }

    fn features(&self) -> Vec<&'static str> {
        if self.reaps_in_user_space { vec!["userspace_reap"] } else { Vec::new() }
    }
}

static NO_WAIT: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

impl Libaio {
    /// Calls `io_getevents`: waits for `min` events, or until the timeout if one is given.
    #[inline(always)]
    fn get_events(
        &mut self,
        min: u32,
        limit: *const libc::timespec,
        out: &mut Completions,
    ) -> Result<(), Errno> {
        let room = out.room();
        // SAFETY: the array has room for at least `room` events; the timeout, if there is one, lives through
        // the call.
        let found = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                i64::from(min).min(room as i64),
                room,
                self.events.as_mut_ptr(),
                limit,
            )
        };
        if found < 0 {
            return Err(Errno::last());
        }
        for event in &self.events[..found as usize] {
            out.push(event.data as u32, event.result);
        }
        Ok(())
    }

    /// Takes completions from the ring shared with the kernel, without a system call.
    fn reap_from_ring(&mut self, out: &mut Completions) {
        // SAFETY: the context is the address of the ring, mapped until io_destroy; head and tail are shared with the
        // kernel and accessed as atomics, and events between them are complete (acquire on the tail).
        unsafe {
            let ring = self.context as *const Ring;
            let count = (*ring).count;
            let mut head = (*ring).head.load(Ordering::Relaxed);
            let tail = (*ring).tail.load(Ordering::Acquire);
            let events = ring.cast::<u8>().add((*ring).header_length as usize).cast::<Event>();
            while head != tail && out.room() > 0 {
                let event = &*events.add(head as usize);
                out.push(event.data as u32, event.result);
                head = (head + 1) % count;
            }
            (*ring).head.store(head, Ordering::Release);
        }
    }
}

impl Drop for Libaio {
    fn drop(&mut self) {
        // SAFETY: the context is ours; the kernel waits for what is in flight, so no buffer is written to
        // afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn io_setup(depth: u32) -> Result<u64, SetupError> {
    let mut context: u64 = 0;
    // SAFETY: the kernel stores one word through the pointer.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &mut context) };
    if result < 0 {
        let errno = Errno::last();
        let error = SetupError::new(errno, "io_queue_init");
        return Err(match errno.0 {
            libc::EAGAIN => error.with_advice(exhausted::asynchronous_io(depth)),
            libc::ENOSYS => error.with_advice("this kernel was built without asynchronous I/O (CONFIG_AIO)"),
            _ => error,
        });
    }
    // SAFETY: the context is the address of the ring, which has just been mapped.
    let magic = unsafe { (*(context as *const Ring)).magic };
    if magic != RING_MAGIC {
        return Err(SetupError::new(Errno(libc::EPROTO), "io_queue_init"));
    }
    Ok(context)
}

/// Tries one fdatasync on an empty queue if the job will need syncs: kernels before 4.18, and some files,
/// refuse it.
fn syncs_by_kernel(context: u64, setup: &Setup<'_>) -> bool {
    let options = &setup.job.io_type;
    let Some(file) = setup.files.first().filter(|_| options.fsync > 0 || options.fdatasync > 0) else {
        return false;
    };
    let mut block =
        ControlBlock { opcode: CMD_FDSYNC, fd: file.handle.descriptor() as u32, ..ControlBlock::default() };
    let mut list = [std::ptr::from_mut(&mut block)];
    let mut event = Event::default();
    // SAFETY: block, list and event live until the event has been reaped.
    unsafe {
        libc::syscall(libc::SYS_io_submit, context, 1, list.as_mut_ptr()) == 1
            && libc::syscall(
                libc::SYS_io_getevents,
                context,
                1,
                1,
                std::ptr::from_mut(&mut event),
                std::ptr::null::<libc::timespec>(),
            ) == 1
            && event.result == 0
    }
}
