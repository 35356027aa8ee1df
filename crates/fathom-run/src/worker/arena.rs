//! Memory for a worker's buffers, of the kind selected by `mem`, and memory locked by `lockmem`.

use super::{GivenUp, WorkerContext};
use crate::cause::Cause;
use crate::engine::Buffers;
use crate::exhausted;
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::memory::MemoryPlan;
use crate::plan::model::targets::DirectionPlan;
use fathom_spec::value::MemoryKind;
use fathom_stats::Direction;
use fathom_sys::memory::{self, HugePage, Mapping, page_size};
use fathom_sys::{Errno, file, file_system};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// All buffers of a worker.
#[derive(Debug)]
pub(super) struct Arena {
    memory: Mapping,
    /// Bytes before the first buffer.
    first: usize,
    /// Bytes from one buffer to the next; 0 if all slots share one.
    stride: usize,
    /// Bytes of a buffer.
    buffer_length: usize,
    /// Number of buffers.
    count: u32,
    /// A file created to back the memory, and removed with it.
    made_file: Option<PathBuf>,
}

impl Arena {
    /// Allocates the buffers of a worker. A failure is reported and stored as the job's error.
    pub(super) fn of(context: &WorkerContext<'_>, uses_buffers: bool) -> Result<Arena, GivenUp> {
        let plan = context.worker_plan();
        let longest = buffer_length(plan);

        let alignment = (plan.memory.alignment as usize).max(page_size());
        let stride = longest.div_ceil(alignment) * alignment;
        // Diskless engines never touch their buffers, so all slots share one page.
        let count = if uses_buffers { plan.depth as usize } else { 1 };
        let stride = if uses_buffers { stride } else { 0 };
        // Memory is page-aligned. The extra bytes allow for a coarser alignment.
        let slack = if alignment > page_size() { alignment } else { 0 };
        let length = stride.max(page_size()).checked_mul(count).and_then(|all| all.checked_add(slack));
        let taken = match length {
            Some(length) if uses_buffers => take(&plan.memory, length),
            Some(_) => Mapping::private(page_size()).map(|memory| (memory, None)).map_err(Refusal::from),
            None => Err(Refusal::from(Errno(libc::ENOMEM))),
        };
        match taken {
            Ok((memory, made_file)) => {
                let beyond = memory.address() as usize % alignment;
                let first = if uses_buffers && beyond > 0 { alignment - beyond } else { 0 };
                Ok(Arena { memory, first, stride, buffer_length: longest, count: plan.depth, made_file })
            }
            Err(refusal) => Err(refusal.report(context, longest)),
        }
    }

    /// The buffers. Those of engines that move no data are one shared page, which must not be touched.
    pub(super) fn buffers(&self) -> Buffers {
        // SAFETY: the memory is larger than the buffers by the alignment, `first` is less than the alignment,
        // and the arena outlives every engine that is set up with it.
        unsafe {
            let first = self.memory.address().add(self.first);
            Buffers::new(first, self.stride, self.buffer_length, self.count)
        }
    }
}

/// Bytes that a buffer needs. A trim has no data, and is often larger than all memory: mkfs and fstrim discard up
/// to 4 GiB each. Its length counts only where the trimmed range is written next, or verified.
fn buffer_length(plan: &WorkerPlan) -> usize {
    let targets = &plan.target_plan;
    let longest = |directions: &[Direction]| {
        directions.iter().map(|&direction| targets.lengths[direction].max()).max().unwrap_or(0)
    };
    let length = match targets.directions {
        _ if plan.verify.is_some() => longest(&Direction::ALL),
        DirectionPlan::TrimThenWrite => longest(&Direction::ALL),
        DirectionPlan::Trim => page_size() as u64,
        _ => longest(&[Direction::Read, Direction::Write]),
    };
    length.max(1) as usize
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(path) = &self.made_file {
            // All clones that share the file try to remove it, and a failure can no longer be reported.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Why the memory cannot be allocated, with advice.
struct Refusal {
    errno: Errno,
    cause: Cause,
    advice: Option<String>,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        Refusal { errno, cause: Cause::BUFFERS, advice: None }
    }
}

impl Refusal {
    fn report(self, context: &WorkerContext<'_>, longest: usize) -> GivenUp {
        let depth = context.worker_plan().depth;
        let advice = self.advice.unwrap_or_else(|| {
            format!("fathom: no memory for {depth} buffers of {longest} bytes: {}", exhausted::memory())
        });
        context.messages.send(&Message::Error(advice));
        context.fail(self.errno, self.cause)
    }
}

fn take(plan: &MemoryPlan, length: usize) -> Result<(Mapping, Option<PathBuf>), Refusal> {
    let plain = |memory: Result<Mapping, Errno>| memory.map(|memory| (memory, None)).map_err(Refusal::from);
    match (plan.buffers.kind, &plan.buffers.file) {
        (MemoryKind::Malloc | MemoryKind::CudaMalloc, _) | (MemoryKind::Mmap, None) => {
            plain(Mapping::private(length))
        }
        (MemoryKind::MmapShared, None) => plain(Mapping::shared(length)),
        (MemoryKind::Shm, _) => plain(Mapping::system_v(length, None)),
        (MemoryKind::ShmHuge, _) => {
            in_huge_pages(plan, length, |length, page| Mapping::system_v(length, Some(page)))
        }
        (MemoryKind::MmapHuge, None) => in_huge_pages(plan, length, Mapping::huge),
        (MemoryKind::Mmap, Some(path)) => in_file(path, length, true),
        (MemoryKind::MmapShared, Some(path)) => in_file(path, length, false),
        (MemoryKind::MmapHuge, Some(path)) => {
            let page = huge_page(plan)?;
            let length = length.next_multiple_of(page.bytes());
            let (file, made_file) = open(path)?;
            if !file_system::has_huge_pages(file.as_raw_fd())? {
                made_file.iter().for_each(|path| drop(std::fs::remove_file(path)));
                return Err(Refusal {
                    errno: Errno(libc::EINVAL),
                    cause: Cause::BUFFER_FILE,
                    advice: Some(format!(
                        "fathom: {} is not in a hugetlbfs (mount -t hugetlbfs), which mem=mmaphuge needs",
                        path.display()
                    )),
                });
            }
            map_file(&file, made_file, length, false).map_err(|refusal| no_huge_pages(refusal.errno, plan))
        }
    }
}

fn huge_page(plan: &MemoryPlan) -> Result<HugePage, Refusal> {
    let bytes = plan.huge_page_bytes;
    HugePage::of_bytes(u64::from(bytes)).ok_or_else(|| Refusal {
        errno: Errno(libc::EINVAL),
        cause: Cause::BUFFERS,
        advice: Some(format!(
            "fathom: hugepage-size={bytes} is not a size of huge pages; /sys/kernel/mm/hugepages lists those of this machine"
        )),
    })
}

fn in_huge_pages(
    plan: &MemoryPlan,
    length: usize,
    map: impl FnOnce(usize, HugePage) -> Result<Mapping, Errno>,
) -> Result<(Mapping, Option<PathBuf>), Refusal> {
    let page = huge_page(plan)?;
    let memory = map(length.next_multiple_of(page.bytes()), page);
    memory.map(|memory| (memory, None)).map_err(|errno| no_huge_pages(errno, plan))
}

fn no_huge_pages(errno: Errno, plan: &MemoryPlan) -> Refusal {
    let kib = plan.huge_page_bytes / 1024;
    let (cause, line_of_fio) = match plan.buffers.kind {
        MemoryKind::ShmHuge => (
            Cause::SHARED_BUFFERS,
            "fio: no huge pages available, do you need to allocate some? See HOWTO.\n",
        ),
        _ => (Cause::MAPPED_BUFFERS, ""),
    };
    let advice = format!(
        "{line_of_fio}fathom: no huge pages are free; /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages takes their number"
    );
    Refusal { errno, cause, advice: Some(advice) }
}

fn in_file(path: &Path, length: usize, private: bool) -> Result<(Mapping, Option<PathBuf>), Refusal> {
    let (file, made_file) = open(path)?;
    map_file(&file, made_file, length, private)
}

/// Opens the file of a mapping; returns its path if it was created.
fn open(path: &Path) -> Result<(std::fs::File, Option<PathBuf>), Refusal> {
    let made_file = (!path.exists()).then(|| path.to_owned());
    let opened = file::open(path, libc::O_RDWR | libc::O_CREAT, 0o644);
    let file = opened.map_err(|errno| Refusal {
        errno,
        cause: Cause::BUFFER_FILE,
        advice: Some(format!("fathom: the file for buffers {} cannot be opened: {errno}", path.display())),
    })?;
    Ok((file.into(), made_file))
}

/// Maps the first `length` bytes of a file, extending it if necessary.
fn map_file(
    file: &std::fs::File,
    made_file: Option<PathBuf>,
    length: usize,
    private: bool,
) -> Result<(Mapping, Option<PathBuf>), Refusal> {
    let present = file.metadata().map_err(Errno::from)?.len();
    if present < length as u64 {
        file::truncate(file.as_raw_fd(), length as u64)?;
    }
    Ok((Mapping::file(file.as_raw_fd(), 0, length, true, true, private)?, made_file))
}

/// `lockmem`: locks memory for the lifetime of the result, so that the rest of the machine cannot use it. A
/// failure is reported and stored as the job's error.
pub(super) fn lock_memory(context: &WorkerContext<'_>) -> Result<Option<Mapping>, GivenUp> {
    const KEPT_FREE: u64 = 128 << 20;
    let wanted = context.worker_plan().memory.locked_bytes;
    if wanted == 0 {
        return Ok(None);
    }
    let most = memory::physical_memory().saturating_sub(KEPT_FREE);
    if wanted > most {
        let text = format!("fio: limiting mlocked memory to {}MiB", most >> 20);
        context.messages.send(&Message::Output(text));
    }
    let locked =
        Mapping::private(wanted.min(most) as usize).and_then(|memory| memory.lock().map(|()| memory));
    match locked {
        Ok(memory) => Ok(Some(memory)),
        Err(errno) => {
            context.messages.send(&Message::Error(format!(
                "fathom: job {}: lockmem={wanted} cannot be locked: {errno}; {}",
                context.worker_plan().name,
                exhausted::locked_memory()
            )));
            Err(context.fail(errno, Cause::LOCK_MEMORY))
        }
    }
}
