//! Calls that several engines make alike.

use fathom_run::engine::{Io, OpenFile, Setup};
use fathom_run::unit::Operation;
use fathom_spec::value::SyncFileRange;
use fathom_sys::{Errno, block_device, file};

/// The result of a system call in the form of a completion: bytes moved, or `-errno`.
#[inline(always)]
pub(crate) fn outcome(returned: isize) -> i64 {
    if returned >= 0 { returned as i64 } else { i64::from(-Errno::last().0) }
}

/// What there is to say of units that failed, by their slots.
#[derive(Debug, Default)]
pub(crate) struct Said(Vec<(u32, String)>);

impl Said {
    /// Keeps what is said of a slot, and forgets what was said of it before.
    #[cold]
    pub(crate) fn keep(&mut self, slot: u32, why: String) {
        self.take(slot);
        self.0.push((slot, why));
    }

    /// What was said of a slot.
    pub(crate) fn take(&mut self, slot: u32) -> Option<String> {
        let place = self.0.iter().position(|(of, _)| *of == slot)?;
        Some(self.0.swap_remove(place).1)
    }
}

/// Trims and syncs that an engine does inside the call.
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

    /// Does a trim or a sync; reads and writes are the engine's own.
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

    /// True when trims of this file are block discards.
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
    // A replayed log may have such a sync where the job does not say how: all that was written is on its way when it ends.
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

/// `RWF_*` flags (linux/fs.h) that the C library's headers may not know yet.
pub(crate) mod rwf {
    /// Polled completion.
    pub(crate) const HIPRI: i32 = 0x01;
    /// Fail rather than wait.
    pub(crate) const NOWAIT: i32 = 0x08;
    /// All or nothing.
    pub(crate) const ATOMIC: i32 = 0x40;
    /// Through the page cache, but not kept there.
    pub(crate) const DONTCACHE: i32 = 0x80;
}

/// Moves the file position of a descriptor if it is not there already, as engines with `read` and `write` need.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    next: Vec<u64>,
    /// Others move them, too.
    shared: bool,
}

impl Positions {
    pub(crate) fn new(setup: &Setup<'_>) -> Positions {
        // Just opened: every descriptor stands at 0.
        Positions { next: vec![0; setup.files.len()], shared: setup.shares_descriptors }
    }

    /// A new descriptor stands at the beginning of its file.
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
        // After an error nobody knows where the descriptor stands.
        self.next[io.file() as usize] = if result >= 0 { io.offset() + result as u64 } else { u64::MAX };
    }
}
