//! One read or write of a batch, in memory shared between both languages.

use std::ptr;

/// Bytes of a descriptor.
pub const SIZE: usize = 32;
/// Position of the result in a descriptor: bytes moved, or a negative error number.
const RESULT_AT: usize = 24;
/// Operation code of a read.
pub const READ: i32 = 0;
/// Operation code of a write.
pub const WRITE: i32 = 1;

/// A copy of a descriptor. Checks apply to the copy because another thread may change the original at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// Byte offset in the file.
    pub offset: i64,
    /// Bytes to move.
    pub length: i32,
    /// First byte in the buffer.
    pub position: i32,
    /// `READ` or `WRITE`.
    pub operation: i32,
    /// Index of the file, in the order in which the files were opened.
    pub file: i16,
    /// Index of the buffer, in the order in which the buffers were added.
    pub buffer: i16,
}

/// The descriptors of a batch: an address and the number of entries.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    address: usize,
    count: u32,
}

impl Table {
    /// Describes memory that holds descriptors.
    ///
    /// # Safety
    /// `address` points to `count` descriptors, aligned to 8 bytes, which stay valid until the batch is
    /// awaited or the ring is freed.
    pub const unsafe fn new(address: usize, count: u32) -> Table {
        Table { address, count }
    }

    /// Number of descriptors.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns a copy of one descriptor, or none beyond the end.
    pub fn read(&self, index: u32) -> Option<Descriptor> {
        if index >= self.count {
            return None;
        }
        let at = (self.address + index as usize * SIZE) as *const Descriptor;
        // SAFETY: the index is within the table, whose validity its creator guarantees; any bytes are a valid
        // descriptor.
        Some(unsafe { ptr::read_volatile(at) })
    }

    /// Writes the result of one descriptor; ignores an index beyond the end.
    pub fn set_result(&self, index: u32, result: i32) {
        if index < self.count {
            let at = (self.address + index as usize * SIZE + RESULT_AT) as *mut i32;
            // SAFETY: as for reading.
            unsafe { ptr::write_volatile(at, result) };
        }
    }

    /// The result of one descriptor.
    pub fn result(&self, index: u32) -> i32 {
        if index >= self.count {
            return -libc::EINVAL;
        }
        let at = (self.address + index as usize * SIZE + RESULT_AT) as *const i32;
        // SAFETY: as for reading.
        unsafe { ptr::read_volatile(at) }
    }
}
