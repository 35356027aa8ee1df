//! Mapped persistent memory: reads and writes copy memory, and processor instructions make the copies durable.
//! The engines for files (`libpmem`) and for devices (`dev-dax`) share this module.

pub(crate) mod dev_dax;
pub(crate) mod libpmem;

use fathom_run::engine::{Io, OpenFile, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use fathom_sys::memory::Mapping;
use fathom_sys::persistent_memory::{self, WriteBack};

/// The mapped targets of a job.
struct Memory {
    parts: Vec<Part>,
    write_back: WriteBack,
    /// True if writes bypass the processor cache (`direct=1`).
    past_cache: bool,
    /// True if each write is durable when it completes (`sync=1`).
    drains: bool,
}

/// One mapped target.
struct Part {
    mapping: Mapping,
    /// Offset in the target at which the mapping starts.
    first: u64,
}

impl Memory {
    /// Maps all targets. `unit` is the alignment of a target's mapping, in bytes.
    fn map(
        setup: &Setup<'_>,
        unit: impl Fn(&OpenFile) -> Result<u64, SetupError>,
    ) -> Result<Memory, SetupError> {
        let mut parts = Vec::with_capacity(setup.files.len());
        for file in setup.files {
            parts.push(Part::map(file, unit(file)?, setup.writes)?);
        }
        Ok(Memory {
            parts,
            write_back: WriteBack::detect(),
            past_cache: setup.job.io_type.direct,
            drains: setup.job.io_type.sync != SyncMode::None,
        })
    }

    /// Performs one I/O; returns the number of bytes moved, or `-errno`.
    #[inline(always)]
    fn perform(&self, io: &Io) -> i64 {
        let part = &self.parts[io.file() as usize];
        let (place, length) = (io.offset().wrapping_sub(part.first) as usize, io.length() as usize);
        match io.operation() {
            Operation::Read | Operation::Write => {}
            // Memory cannot be trimmed.
            Operation::Trim => return i64::from(-libc::EINVAL),
            Operation::Sync | Operation::DataSync | Operation::RangeSync => {
                persistent_memory::drain();
                return 0;
            }
        }
        if place.checked_add(length).is_none_or(|end| end > part.mapping.len()) {
            return i64::from(-libc::EINVAL);
        }
        // SAFETY: the range was just checked to be inside the mapping; the buffer holds `length` bytes and
        // cannot overlap it.
        unsafe {
            let mapped = part.mapping.address().add(place);
            match (io.operation(), self.past_cache) {
                (Operation::Read, _) => {
                    std::ptr::copy_nonoverlapping(mapped.cast_const(), io.buffer(), length)
                }
                (_, true) => persistent_memory::copy_past_cache(self.write_back, io.buffer(), mapped, length),
                (_, false) => {
                    persistent_memory::copy_through_cache(self.write_back, io.buffer(), mapped, length)
                }
            }
        }
        if self.drains && io.operation() == Operation::Write {
            persistent_memory::drain();
        }
        i64::from(io.length())
    }

    /// Features in use, for the report.
    fn features(&self) -> Vec<&'static str> {
        let stores =
            if self.past_cache { "stores that bypass the cache" } else { "stores through the cache" };
        vec![stores, self.write_back.instruction()]
    }
}

impl Part {
    fn map(file: &OpenFile, unit: u64, writes: bool) -> Result<Part, SetupError> {
        let first = file.start / unit * unit;
        let end = (file.start + file.size).next_multiple_of(unit);
        let failed = |errno: Errno| {
            let advice = match errno.0 {
                libc::EOPNOTSUPP => format!(
                    "{} does not point to persistent memory: its file system must be mounted with -o dax on a device that is",
                    file.name
                ),
                _ => format!("cannot map {} bytes of {} ({errno})", end - first, file.name),
            };
            SetupError::new(errno, "mmap").with_advice(advice)
        };
        let length = usize::try_from(end - first).map_err(|_| failed(Errno(libc::EFBIG)))?;
        let mapping = Mapping::persistent(file.handle.descriptor(), first, length, writes).map_err(failed)?;
        Ok(Part { mapping, first })
    }
}
