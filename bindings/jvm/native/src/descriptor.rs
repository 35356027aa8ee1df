//! One read or write of a batch, in memory shared between both languages.

use std::ptr;

/// Bytes of a descriptor.
pub const SIZE: usize = 32;
/// Where its result lies: bytes moved, or a negative error number.
const RESULT_AT: usize = 24;
/// The word for a read.
pub const READ: i32 = 0;
/// The word for a write.
pub const WRITE: i32 = 1;

/// A copy of a descriptor. What is checked is the copy: the memory may be changed by another thread at any time.
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
    /// Number of the file, in the order that they were opened.
    pub file: i16,
    /// Number of the buffer, in the order that they were added.
    pub buffer: i16,
}

/// The descriptors of a batch: an address and a number of entries.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    address: usize,
    count: u32,
}

impl Table {
    /// Describes memory that holds descriptors.
    ///
    /// # Safety
    /// `count` descriptors lie at `address`, aligned to 8 bytes, and stay there until the batch is awaited or the ring is freed.
    pub const unsafe fn new(address: usize, count: u32) -> Table {
        Table { address, count }
    }

    /// How many descriptors there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Copies one; none beyond the end.
    pub fn read(&self, index: u32) -> Option<Descriptor> {
        if index >= self.count {
            return None;
        }
        let at = (self.address + index as usize * SIZE) as *const Descriptor;
        // SAFETY: within the table, which the maker of this one answers for; any bytes are a valid descriptor.
        Some(unsafe { ptr::read_volatile(at) })
    }

    /// Writes the result of one; nothing beyond the end.
    pub fn set_result(&self, index: u32, result: i32) {
        if index < self.count {
            let at = (self.address + index as usize * SIZE + RESULT_AT) as *mut i32;
            // SAFETY: as for reading.
            unsafe { ptr::write_volatile(at, result) };
        }
    }

    /// The result of one.
    pub fn result(&self, index: u32) -> i32 {
        if index >= self.count {
            return -libc::EINVAL;
        }
        let at = (self.address + index as usize * SIZE + RESULT_AT) as *const i32;
        // SAFETY: as for reading.
        unsafe { ptr::read_volatile(at) }
    }
}
