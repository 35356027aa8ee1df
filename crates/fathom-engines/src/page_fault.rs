//! `page_fault`: copies to and from memory that is mapped once at the length of the file, and whose pages are
//! allocated on first access.

use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::exhausted;
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::memory::Mapping;

/// The memory that represents a file.
struct Memory {
    mapping: Mapping,
    /// File offset of the first byte of the memory.
    first: u64,
}

pub(crate) struct PageFault {
    memories: Vec<Memory>,
}

impl EngineType for PageFault {
    const DEFINITION: &'static EngineDef = &engines::plain::PAGE_FAULT;

    fn new(setup: &Setup<'_>) -> Result<PageFault, SetupError> {
        let memories = setup.files.iter().map(map).collect::<Result<_, _>>()?;
        Ok(PageFault { memories })
    }
}

impl Engine for PageFault {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let memory = &self.memories[io.file() as usize];
        let place = io.offset().wrapping_sub(memory.first) as usize;
        let length = io.length() as usize;
        if !matches!(io.operation(), Operation::Read | Operation::Write) {
            // The engine has no storage that could be synced or trimmed.
            return Queued::Done(if io.operation() == Operation::Trim {
                i64::from(-libc::EOPNOTSUPP)
            } else {
                0
            });
        }
        if place.checked_add(length).is_none_or(|end| end > memory.mapping.len()) {
            return Queued::Done(i64::from(-libc::EINVAL));
        }
        // SAFETY: place..place + length was just checked to be inside the mapping; the buffer holds `length`
        // bytes and cannot overlap it.
        unsafe {
            let mapped = memory.mapping.address().add(place);
            match io.operation() {
                Operation::Read => std::ptr::copy_nonoverlapping(mapped, io.buffer(), length),
                _ => std::ptr::copy_nonoverlapping(io.buffer(), mapped, length),
            }
        }
        Queued::Done(i64::from(io.length()))
    }
}

fn map(file: &OpenFile) -> Result<Memory, SetupError> {
    let failed = |errno| {
        let advice = format!(
            "{} bytes of memory for {} cannot be mapped: {}",
            file.size,
            file.name,
            exhausted::memory()
        );
        SetupError::new(errno, "mmap").with_advice(advice)
    };
    let length = usize::try_from(file.size).map_err(|_| failed(Errno(libc::EFBIG)))?;
    Ok(Memory { mapping: Mapping::private(length).map_err(failed)?, first: file.start })
}
