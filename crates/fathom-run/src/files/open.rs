//! Opens the files of a clone for the run.

use super::{FileEntry, FileError, FileKind, layout};
use crate::cause::Cause;
use crate::engine::OpenFile;
use crate::plan::WorkerPlan;
use crate::plan::model::files::{Advice, OpenPlan};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::memory::{Mapping, page_size};
use fathom_sys::{Errno, block_device, file};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// The opened files of a clone; closed on drop.
#[derive(Default)]
pub struct OpenFiles {
    /// What engines see.
    pub list: Vec<OpenFile>,
    /// Device numbers of the block devices below, without repetition.
    pub devices: Vec<u64>,
    /// As `list`; `None` for diskless engines and for files that are closed for now.
    descriptors: Vec<Option<OwnedFd>>,
    entries: Vec<FileEntry>,
}

impl OpenFiles {
    /// Opens everything; drops the page cache of the files where the job wants that.
    pub fn open(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<OpenFiles, FileError> {
        let mut files = OpenFiles { entries: entries.to_vec(), ..OpenFiles::default() };
        let limit = plan.target_plan.files.most_open.unwrap_or(usize::MAX);
        for (index, entry) in entries.iter().enumerate() {
            let mut descriptor = None;
            if entry.kind != FileKind::None {
                let opened = open_one(plan, entry)?;
                settle_cache(&plan.files.opening, entry, opened.as_raw_fd())?;
                files.remember_device(entry);
                // Beyond the limit a file is opened when an I/O wants it; the check that it can be comes now.
                descriptor = Some(opened).filter(|_| index < limit);
            }
            files.list.push(OpenFile {
                name: entry.name(),
                fd: descriptor.as_ref().map_or(-1, |descriptor| descriptor.as_raw_fd()),
                is_block_device: entry.kind == FileKind::Block,
                start: entry.start,
                size: entry.size,
            });
            files.descriptors.push(descriptor);
        }
        Ok(files)
    }

    /// What was found before they were opened.
    pub(crate) fn entries(&self) -> &[FileEntry] {
        &self.entries
    }

    /// Bytes of a zone, with `zonemode=zbd`.
    pub(crate) fn zone_size(&self) -> Option<u64> {
        self.entries.first()?.zones.as_ref().map(|geometry| geometry.zone_size)
    }

    /// How many files are open; those of diskless engines always are.
    pub fn open_count(&self) -> usize {
        (0..self.list.len()).filter(|index| self.is_open(*index)).count()
    }

    /// True for a file that is open, as those of diskless engines always are.
    pub(crate) fn is_open(&self, index: usize) -> bool {
        self.list[index].fd >= 0 || self.entries[index].kind == FileKind::None
    }

    /// Closes a file for now.
    pub(crate) fn close(&mut self, index: usize) {
        self.descriptors[index] = None;
        self.list[index].fd = -1;
    }

    /// Opens a file (again); its descriptor.
    pub(crate) fn reopen(&mut self, plan: &WorkerPlan, index: usize) -> Result<i32, FileError> {
        let descriptor = open_one(plan, &self.entries[index])?;
        let fd = descriptor.as_raw_fd();
        self.descriptors[index] = Some(descriptor);
        self.list[index].fd = fd;
        Ok(fd)
    }

    /// Removes the regular files, lays them out again and opens them.
    pub(crate) fn renew(&mut self, plan: &WorkerPlan, readonly: bool) -> Result<(), FileError> {
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.kind != FileKind::Regular {
                continue;
            }
            match std::fs::remove_file(&entry.path) {
                // Clones that share a file all try to remove it; the first succeeds.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileError::of_call(error.into(), "unlink", &entry.path));
                }
                _ => entry.present_size = None,
            }
        }
        layout::prepare(plan, &self.entries, readonly, |_, _| {})?;
        for index in 0..self.entries.len() {
            let is_open = self.list[index].fd >= 0;
            if self.entries[index].kind == FileKind::Regular && is_open {
                self.reopen(plan, index)?;
            }
        }
        Ok(())
    }

    fn remember_device(&mut self, entry: &FileEntry) {
        let Ok(metadata) = std::fs::metadata(&entry.path) else { return };
        let device = match entry.kind {
            FileKind::Block => metadata.rdev(),
            FileKind::Regular => metadata.dev(),
            FileKind::Character | FileKind::None => return,
        };
        if !self.devices.contains(&device) {
            self.devices.push(device);
        }
    }

    /// Reads all files once, so that they are cached, unless it is stopped. Those beyond `openfiles` are open meanwhile.
    pub(crate) fn read_into_cache(
        &self,
        plan: &WorkerPlan,
        stopped: impl Fn() -> bool,
    ) -> Result<(), FileError> {
        let failed = |errno: Errno| FileError {
            errno: errno.0,
            text: Some(Cause::PRE_READ.line(errno)),
            message: None,
        };
        // On a page, and in whole pages: the descriptor may be one for direct I/O.
        let buffer = Mapping::private(1 << 20).map_err(failed)?;
        for (open, entry) in self.list.iter().zip(&self.entries) {
            let opened = if open.fd < 0 { Some(open_one(plan, entry)?) } else { None };
            let fd = opened.as_ref().map_or(open.fd, |opened| opened.as_raw_fd());
            read_all(fd, open, &buffer, &stopped).map_err(failed)?;
        }
        Ok(())
    }
}

fn read_all(fd: RawFd, file: &OpenFile, buffer: &Mapping, stopped: &impl Fn() -> bool) -> Result<(), Errno> {
    let mut offset = file.start;
    let end = file.start + file.size;
    while offset < end && !stopped() {
        let wanted = (end - offset).min(buffer.len() as u64) as usize;
        let length = wanted.next_multiple_of(page_size()).min(buffer.len());
        // SAFETY: the buffer has room for `length` bytes.
        let read = unsafe { libc::pread(fd, buffer.address().cast(), length, offset as libc::off_t) };
        match read {
            ..0 => return Err(Errno::last()),
            // The file ends here.
            _ if (read as usize) < length => break,
            _ => offset += read as u64,
        }
    }
    Ok(())
}

fn open_one(plan: &WorkerPlan, entry: &FileEntry) -> Result<OwnedFd, FileError> {
    let mut flags = if plan.changes_data() { libc::O_RDWR } else { libc::O_RDONLY };
    if plan.changes_data() && entry.kind == FileKind::Regular && plan.files.layout.creates {
        flags |= libc::O_CREAT;
        layout::create_parents(&entry.path)
            .map_err(|errno| FileError::of_call(errno, "mkdir", &entry.path))?;
    }
    if plan.files.opening.direct {
        flags |= libc::O_DIRECT;
    }
    flags |= match plan.files.opening.sync {
        SyncMode::None => 0,
        SyncMode::Sync => libc::O_SYNC,
        SyncMode::Dsync => libc::O_DSYNC,
    };
    // Reading must not cost a write of the access time; only the owner (or root) may ask for that.
    let attempts = [flags | libc::O_NOATIME, flags];
    let mut last = Errno(libc::EIO);
    for flags in attempts {
        match file::open(&entry.path, flags, 0o600) {
            Ok(descriptor) => return Ok(descriptor),
            Err(errno) => last = errno,
        }
        if last != Errno(libc::EPERM) {
            break;
        }
    }
    if last == Errno(libc::EACCES) && plan.changes_data() && !plan.reads_data() {
        // A target that may only be written to.
        let write_only = (flags & !libc::O_RDWR) | libc::O_WRONLY;
        if let Ok(descriptor) = file::open(&entry.path, write_only, 0o600) {
            return Ok(descriptor);
        }
    }
    let mut error = FileError::of_call(last, "open", &entry.path);
    if last == Errno(libc::EINVAL) && flags & libc::O_DIRECT != 0 {
        let name = entry.path.display();
        error.message = Some(format!(
            "fio: looks like your file system does not support direct=1/buffered=0 ({name}); leave direct=1 out"
        ));
    }
    Err(error)
}

fn settle_cache(plan: &OpenPlan, entry: &FileEntry, fd: i32) -> Result<(), FileError> {
    if plan.invalidates {
        // Dropping the cache needs privileges on some targets; a run without it is still a run.
        let _ = match entry.kind {
            FileKind::Block => block_device::flush_buffers(fd),
            FileKind::Regular => file::advise(fd, entry.start, entry.size, libc::POSIX_FADV_DONTNEED),
            FileKind::Character | FileKind::None => Ok(()),
        };
    }
    if let Some(hint) = plan.write_hint {
        file::set_write_hint(fd, hint)
            .map_err(|errno| FileError::of_call(errno, "fcntl write hint", &entry.path))?;
    }
    if let Some(advice) = plan.advice.filter(|_| matches!(entry.kind, FileKind::Regular | FileKind::Block)) {
        let advice = match advice {
            Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
            Advice::Random => libc::POSIX_FADV_RANDOM,
            Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
        };
        file::advise(fd, entry.start, entry.size, advice)
            .map_err(|errno| FileError::of_call(errno, "fadvise", &entry.path))?;
    }
    Ok(())
}
