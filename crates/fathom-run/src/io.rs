//! One I/O as an engine sees it, and the buffers of a worker. Both refer to memory that an engine reads, writes, or hands to
//! the kernel, so their addresses are private: safe code can neither construct an address nor keep an I/O beyond the call
//! that lent it.

use crate::storage::Handle;
use crate::unit::Operation;

/// One I/O, lent to an engine for the call that queues it.
#[derive(Debug)]
pub struct Io {
    operation: Operation,
    file: u32,
    handle: Handle,
    buffer: *mut u8,
    length: u32,
    offset: u64,
    priority: u16,
}

impl Io {
    /// An I/O of `length` bytes from `offset` on, in the file with this index and handle. `priority` is the
    /// kernel's `ioprio` value for this I/O; with 0, the priority of the process applies.
    ///
    /// # Safety
    ///
    /// From the call of [`Engine::queue`](crate::engine::Engine::queue) until the engine reports the unit's
    /// completion, the handle must stay open, and `buffer` must be valid for reads and writes by the engine
    /// alone: `length` bytes, or for a trim the size of a setup buffer.
    #[inline(always)]
    pub unsafe fn new(
        operation: Operation,
        (file, handle): (u32, Handle),
        buffer: *mut u8,
        length: u32,
        offset: u64,
        priority: u16,
    ) -> Io {
        Io { operation, file, handle, buffer, length, offset, priority }
    }

    /// A sync of an open file, which moves no data.
    pub fn sync(file: u32, handle: Handle) -> Io {
        let buffer = std::ptr::null_mut();
        Io { operation: Operation::Sync, file, handle, buffer, length: 0, offset: 0, priority: 0 }
    }

    /// A sync of the data of an open file.
    pub fn data_sync(file: u32, handle: Handle) -> Io {
        Io { operation: Operation::DataSync, ..Io::sync(file, handle) }
    }

    /// Copies the I/O for an engine that needs it beyond the call.
    ///
    /// # Safety
    ///
    /// The copy must not be used after the engine has reported the unit's completion.
    #[inline(always)]
    pub unsafe fn keep(&self) -> Io {
        Io { ..*self }
    }

    /// The operation.
    #[inline(always)]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Index of the file.
    #[inline(always)]
    pub fn file(&self) -> u32 {
        self.file
    }

    /// The storage's handle of the open file.
    #[inline(always)]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The I/O's memory: [`length`](Io::length) bytes, owned by the engine until it reports the unit's
    /// completion.
    #[inline(always)]
    pub fn buffer(&self) -> *mut u8 {
        self.buffer
    }

    /// Bytes.
    #[inline(always)]
    pub fn length(&self) -> u32 {
        self.length
    }

    /// First byte in the file.
    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The kernel's `ioprio` value of this I/O; with 0, the priority of the process applies.
    #[inline(always)]
    pub fn priority(&self) -> u16 {
        self.priority
    }
}

/// The buffers of a worker, one for each slot, at equal distances.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    first: *mut u8,
    stride: usize,
    length: usize,
    count: u32,
}

impl Buffers {
    /// `count` buffers of `length` bytes, `stride` bytes apart; with a stride of 0 they all share one buffer.
    ///
    /// # Safety
    ///
    /// All buffers are valid for reads and writes for as long as an engine exists that was set up with them.
    pub unsafe fn new(first: *mut u8, stride: usize, length: usize, count: u32) -> Buffers {
        Buffers { first, stride, length, count }
    }

    /// First byte of the first buffer.
    #[inline(always)]
    pub fn first(self) -> *mut u8 {
        self.first
    }

    /// Bytes from one buffer to the next.
    #[inline(always)]
    pub fn stride(self) -> usize {
        self.stride
    }

    /// Bytes of a buffer.
    #[inline(always)]
    pub fn length(self) -> usize {
        self.length
    }

    /// Number of buffers.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The buffer of a slot.
    ///
    /// # Safety
    ///
    /// A buffer exists for this slot.
    #[inline(always)]
    pub unsafe fn of_slot(self, slot: u32) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.first.add(slot as usize * self.stride) }
    }
}
