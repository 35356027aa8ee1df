//! System calls that several engines share.

use fathom_run::engine::{Io, OpenFile, Setup};
use fathom_run::unit::Operation;
use fathom_spec::value::SyncFileRange;
use fathom_sys::{Errno, block_device, file};

/// Converts the result of a system call to a completion: bytes moved, or `-errno`.
#[inline(always)]
pub(crate) fn outcome(returned: isize) -> i64 {
    if returned >= 0 { returned as i64 } else { i64::from(-Errno::last().0) }
}

/// Error texts of failed units, by slot.
#[derive(Debug, Default)]
pub(crate) struct Said(Vec<(u32, String)>);

impl Said {
    /// Stores the text of a slot, replacing an earlier one.
    #[cold]
    pub(crate) fn keep(&mut self, slot: u32, why: String) {
        self.take(slot);
        self.0.push((slot, why));
    }

    /// Takes the text of a slot.
    pub(crate) fn take(&mut self, slot: u32) -> Option<String> {
        let place = self.0.iter().position(|(of, _)| *of == slot)?;
        Some(self.0.swap_remove(place).1)
    }
}

/// Trims and syncs that an engine performs synchronously.
#[derive(Clone, Debug)]
pub(crate) struct Immediate {
    block_devices: Vec<bool>,
    range_flags: u32,
}

impl Immediate {
    pub(crate) fn new(setup: &Setup<'_>) -> Immediate {
        Immediate {
            block_devices: setup.files.iter().map(|file: &OpenFile| file.is_block_device).collect(),
            range_flags: range_flags(setup.job.io_type.sync_file_range.as_ref()),
        }
    }

    /// Performs a trim or a sync. Reads and writes are left to the engine.
    #[cold]
    #[inline(never)]
    pub(crate) fn perform(&self, io: &Io) -> i64 {
        let result = match io.operation() {
            Operation::Trim => self.trim(io),
            Operation::Sync => file::sync(io.handle().descriptor()).map(|()| 0),
            Operation::DataSync => file::sync_data(io.handle().descriptor()).map(|()| 0),
            Operation::RangeSync => file::sync_range(
                io.handle().descriptor(),
                io.offset(),
                u64::from(io.length()),
                self.range_flags,
            )
            .map(|()| 0),
            Operation::Read | Operation::Write => Err(Errno(libc::EINVAL)),
        };
        result.unwrap_or_else(|errno| i64::from(-errno.0))
    }

    fn trim(&self, io: &Io) -> Result<i64, Errno> {
        let length = u64::from(io.length());
        if self.block_devices[io.file() as usize] {
            block_device::discard(io.handle().descriptor(), io.offset(), length)?;
        } else {
            file::punch_hole(io.handle().descriptor(), io.offset(), length)?;
        }
        Ok(i64::from(io.length()))
    }

    /// True if trims of this file are block discards.
    pub(crate) fn is_block_device(&self, file: u32) -> bool {
        self.block_devices[file as usize]
    }

    /// `SYNC_FILE_RANGE_*` flags of the job.
    pub(crate) fn range_flags(&self) -> u32 {
        self.range_flags
    }
}

const ALL_RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

fn range_flags(options: Option<&SyncFileRange>) -> u32 {
    // A replayed log may contain such a sync although the job has no option for it. All written data is then
    // under writeback when it completes.
    let Some(range) = options else { return ALL_RANGE_FLAGS };
    let mut flags = 0;
    for (set, flag) in [
        (range.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
        (range.write, libc::SYNC_FILE_RANGE_WRITE),
        (range.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER),
    ] {
        if set {
            flags |= flag;
        }
    }
    flags
}

/// `RWF_*` flags (linux/fs.h) that the C library's headers may not define yet.
pub(crate) mod rwf {
    /// Polled completion.
    pub(crate) const HIPRI: i32 = 0x01;
    /// Fail instead of blocking.
    pub(crate) const NOWAIT: i32 = 0x08;
    /// Atomic write.
    pub(crate) const ATOMIC: i32 = 0x40;
    /// Use the page cache, but do not keep the data in it.
    pub(crate) const DONTCACHE: i32 = 0x80;
}

/// Positions of descriptors, which are moved only if necessary, for engines that use `read` and `write`.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    next: Vec<u64>,
    /// True if other threads move the positions as well.
    shared: bool,
}

impl Positions {
    pub(crate) fn new(setup: &Setup<'_>) -> Positions {
        // Files that were just opened are at position 0.
        Positions { next: vec![0; setup.files.len()], shared: setup.shares_descriptors }
    }

    /// Resets the position, because a new descriptor is at the start of its file.
    pub(crate) fn reopened(&mut self, index: usize) {
        self.next[index] = 0;
    }

    #[inline(always)]
    pub(crate) fn seek(&mut self, io: &Io) -> Result<(), Errno> {
        if self.next[io.file() as usize] == io.offset() && !self.shared {
            return Ok(());
        }
        // SAFETY: no memory is passed.
        let reached =
            unsafe { libc::lseek(io.handle().descriptor(), io.offset() as libc::off_t, libc::SEEK_SET) };
        if reached < 0 { Err(Errno::last()) } else { Ok(()) }
    }

    #[inline(always)]
    pub(crate) fn moved(&mut self, io: &Io, result: i64) {
        // The position is unknown after an error.
        self.next[io.file() as usize] = if result >= 0 { io.offset() + result as u64 } else { u64::MAX };
    }
}
