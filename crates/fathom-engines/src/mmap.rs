//! `mmap`: the file is mapped, reads and writes copy memory, and fsync calls `msync`.

use crate::shared::Immediate;
use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::value::Rw;
use fathom_sys::Errno;
use fathom_sys::memory::{Mapping, page_size};

/// One mapped file.
struct MappedFile {
    mapping: Mapping,
    /// File offset of the first byte of the mapping, a multiple of the page size.
    first: u64,
}

pub(crate) struct Mmap {
    files: Vec<MappedFile>,
    immediate: Immediate,
    /// True to write back every change and drop every page, which is the closest that a mapping comes to direct
    /// I/O.
    direct: bool,
}

impl EngineType for Mmap {
    const DEFINITION: &'static EngineDef = &engines::mmap::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Mmap, SetupError> {
        let files = setup
            .files
            .iter()
            .map(|file| map(setup.job, file, setup.reads, setup.writes))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Mmap { files, immediate: Immediate::new(setup), direct: setup.job.io_type.direct })
    }
}

impl Engine for Mmap {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let file = &self.files[io.file() as usize];
        let place = io.offset().wrapping_sub(file.first) as usize;
        let length = io.length() as usize;
        match io.operation() {
            Operation::Read | Operation::Write => {
                if place.checked_add(length).is_none_or(|end| end > file.mapping.len()) {
                    return Queued::Done(i64::from(-libc::EINVAL));
                }
                // SAFETY: place..place + length was just checked to be inside the mapping; the buffer holds
                // `length` bytes and cannot overlap it.
                unsafe {
                    let mapped = file.mapping.address().add(place);
                    match io.operation() {
                        Operation::Read => std::ptr::copy_nonoverlapping(mapped, io.buffer(), length),
                        _ => std::ptr::copy_nonoverlapping(io.buffer(), mapped, length),
                    }
                }
                if self.direct {
                    return Queued::Done(self.push_out(file, place, length));
                }
                Queued::Done(i64::from(io.length()))
            }
            Operation::Trim => Queued::Done(self.immediate.perform(io)),
            _ => Queued::Done(match file.mapping.sync(0, file.mapping.len()) {
                Ok(()) => 0,
                Err(errno) => i64::from(-errno.0),
            }),
        }
    }

    fn let_go(&mut self, file: u32) {
        let mapping = &self.files[file as usize].mapping;
        // Failures are ignored, because the caller counts the pages that stay in memory.
        let _ = mapping.drop_pages(0, mapping.len());
    }
}

impl Mmap {
    #[cold]
    fn push_out(&self, file: &MappedFile, place: usize, length: usize) -> i64 {
        let done = file.mapping.sync(place, length).and_then(|()| file.mapping.drop_pages(place, length));
        match done {
            Ok(()) => length as i64,
            Err(errno) => i64::from(-errno.0),
        }
    }
}

fn map(job: &JobSpec, file: &OpenFile, reads: bool, writes: bool) -> Result<MappedFile, SetupError> {
    let page = page_size() as u64;
    let first = file.start / page * page;
    let length = file.start - first + file.size;
    let huge_pages = job.private.mmap.thp.unwrap_or(0) != 0;
    let error = |errno| {
        SetupError::new(errno, "mmap")
            .with_advice(format!("cannot map {length} bytes of {} ({errno})", file.name))
    };
    // Accesses to pages beyond the end of a file would raise a signal.
    let reaches_beyond = !file.is_block_device
        && std::fs::metadata(format!("/proc/thread-self/fd/{}", file.handle.descriptor()))
            .is_ok_and(|found| found.is_file() && found.len() < file.start + file.size);
    if reaches_beyond {
        let advice =
            format!("{} is shorter than the job wants: lay it out first (create_on_open=0)", file.name);
        return Err(SetupError::new(Errno(libc::EINVAL), "mmap").with_advice(advice));
    }
    let length_here = usize::try_from(length).map_err(|_| error(Errno(libc::EFBIG)))?;
    let mapping =
        Mapping::file(file.handle.descriptor(), first, length_here, reads || !writes, writes, huge_pages)
            .map_err(error)?;
    // A kernel that refuses the advice does no harm.
    let _ = if huge_pages {
        mapping.advise(libc::MADV_HUGEPAGE)
    } else if matches!(job.io_type.rw.rw, Rw::RandRead | Rw::RandWrite | Rw::RandRw) {
        mapping.advise(libc::MADV_RANDOM)
    } else {
        mapping.advise(libc::MADV_SEQUENTIAL)
    };
    Ok(MappedFile { mapping, first })
}
