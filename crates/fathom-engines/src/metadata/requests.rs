//! Metadata operations as io_uring requests, so that many can be in flight. The kernel performs them in worker
//! threads, because all of them may block.

use super::operation::{CREATE_FLAGS, DIRECTORY_MODE, FILE_MODE, Operation};
use crate::ring::Ring;
use fathom_run::engine::{Completion, Completions, Setup, SetupError};
use fathom_run::storage::files::TargetName;
use fathom_sys::Errno;
use io_uring::{cqueue, opcode, squeue, types};
use std::time::Duration;

/// Bit in the user data that marks the first of two requests; the remaining bits are the slot.
const FIRST: u64 = 1 << 32;
/// Recommended alternative if the ring does not support the operation.
const INSTEAD: &str = "iodepth=1";

/// A ring, and the memory that its requests need while in flight.
pub(super) struct Requests {
    ring: Ring,
    operation: Operation,
    /// Number of requests per operation.
    per_operation: u32,
    /// Attribute buffers, indexed by slot.
    attributes: Box<[libc::statx]>,
    ends: Ends,
    pub(super) features: Vec<&'static str>,
}

/// Meaning of completions, indexed by slot: the number of bytes to report, and the error of the first of two
/// requests.
struct Ends {
    lengths: Box<[u32]>,
    errors: Box<[i32]>,
}

impl Requests {
    /// Creates a ring for a job of this depth. An error names what the kernel lacks or forbids.
    pub(super) fn new(setup: &Setup<'_>, operation: Operation) -> Result<Requests, SetupError> {
        let per_operation = if operation == Operation::CreateFile { 2 } else { 1 };
        let depth = setup.depth as usize;
        let (mut ring, mut features) = Ring::new(setup, setup.depth.saturating_mul(per_operation), INSTEAD)?;
        check(&ring, operation)?;
        if operation == Operation::CreateFile {
            // Files are opened into a table of the ring, so they never get a descriptor.
            ring.setup.submitter().register_files(&vec![-1; depth]).map_err(|error| {
                SetupError::new(error.into(), "io_uring_register_files").with_advice(format!(
                    "a smaller iodepth= or {INSTEAD} needs fewer files in the table of the ring"
                ))
            })?;
            features.push("files without descriptors");
        }
        if ring.register() {
            features.push("registered ring");
        }
        // SAFETY: all fields of the structure are numbers, for which zeros are valid.
        let attributes = vec![unsafe { std::mem::zeroed() }; depth].into();
        Ok(Requests {
            ring,
            operation,
            per_operation,
            attributes,
            ends: Ends { lengths: vec![0; depth].into(), errors: vec![0; depth].into() },
            features,
        })
    }

    /// Queues an operation whose completion reports `length` bytes.
    #[inline]
    pub(super) fn queue(&mut self, slot: u32, place: &TargetName, length: u32) -> Result<(), Errno> {
        self.ends.lengths[slot as usize] = length;
        let entry = self.entry(slot, place);
        if self.operation == Operation::CreateFile {
            let close = opcode::Close::new(types::Fixed(slot)).build().user_data(u64::from(slot));
            // The open reports only a failure; the completion of the close shows that both have succeeded.
            let open = entry
                .user_data(FIRST | u64::from(slot))
                .flags(squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS);
            // SAFETY: the entry's name lives as long as the engine.
            unsafe { self.ring.push_all([open, close]) }
        } else {
            // SAFETY: the entry's name and attribute buffer live as long as the engine, and the slot is free.
            unsafe { self.ring.push_all([entry.user_data(u64::from(slot))]) }
        }
    }

    fn entry(&mut self, slot: u32, place: &TargetName) -> squeue::Entry {
        let (directory, name) = (types::Fd(place.directory), place.name.as_ptr());
        let mut statx = |flags, mask| {
            let room = std::ptr::from_mut(&mut self.attributes[slot as usize]);
            opcode::Statx::new(directory, name, room.cast()).flags(flags).mask(mask).build()
        };
        match self.operation {
            Operation::CreateFile => opcode::OpenAt::new(directory, name)
                .flags(CREATE_FLAGS)
                .mode(FILE_MODE)
                .file_index(types::DestinationSlot::try_from_slot_target(slot).ok())
                .build(),
            Operation::CreateDirectory => opcode::MkDirAt::new(directory, name).mode(DIRECTORY_MODE).build(),
            // statx is the only such request; its basic attributes are those of stat(2).
            Operation::Stat { flags } => statx(flags, libc::STATX_BASIC_STATS),
            Operation::Statx => statx(libc::AT_STATX_SYNC_AS_STAT, libc::STATX_ALL),
            Operation::DeleteFile => opcode::UnlinkAt::new(directory, name).build(),
            Operation::DeleteDirectory => {
                opcode::UnlinkAt::new(directory, name).flags(libc::AT_REMOVEDIR).build()
            }
        }
    }

    /// Submits queued requests; returns the number of operations that the kernel accepted.
    pub(super) fn commit(&mut self) -> Result<u32, Errno> {
        let before = self.ring.queued().div_ceil(self.per_operation);
        self.ring.commit()?;
        Ok(before - self.ring.queued().div_ceil(self.per_operation))
    }

    pub(super) fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        let Requests { ring, ends, .. } = self;
        ring.reap(min, out, |entry| ends.end_of(entry))
    }

    pub(super) fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let Requests { ring, ends, .. } = self;
        ring.reap_within(span, out, |entry| ends.end_of(entry))
    }
}

impl Ends {
    /// The completion of an operation; `None` for the first of its two requests.
    fn end_of(&mut self, entry: &cqueue::Entry) -> Option<Completion> {
        let slot = entry.user_data() as u32;
        if entry.user_data() & FIRST != 0 {
            self.errors[slot as usize] = entry.result();
            return None;
        }
        let first = std::mem::take(&mut self.errors[slot as usize]);
        let result = match entry.result() {
            _ if first < 0 => i64::from(first),
            0.. => i64::from(self.lengths[slot as usize]),
            error => i64::from(error),
        };
        Some(Completion { slot, result })
    }
}

/// Checks that the kernel supports the operation's requests.
fn check(ring: &Ring, operation: Operation) -> Result<(), SetupError> {
    let (codes, call, since): (&[u8], &'static str, &str) = match operation {
        Operation::CreateFile => (&[opcode::OpenAt::CODE, opcode::Close::CODE], "openat", "5.17"),
        Operation::CreateDirectory => (&[opcode::MkDirAt::CODE], "mkdirat", "5.15"),
        Operation::Stat { .. } | Operation::Statx => (&[opcode::Statx::CODE], "statx", "5.6"),
        Operation::DeleteFile | Operation::DeleteDirectory => (&[opcode::UnlinkAt::CODE], "unlinkat", "5.11"),
    };
    // The kernel has no flag for this feature, so another one is tested that was introduced two releases later.
    let is_new_enough =
        operation != Operation::CreateFile || ring.setup.params().is_feature_skip_cqe_on_success();
    if is_new_enough && ring.supports(codes) {
        return Ok(());
    }
    let advice = format!(
        "the io_uring of this kernel cannot do {call} as it is needed here (Linux {since} can): use {INSTEAD}"
    );
    Err(SetupError::new(Errno(libc::EOPNOTSUPP), call).with_advice(advice))
}
