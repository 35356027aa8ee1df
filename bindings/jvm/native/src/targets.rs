//! The files and buffers to which the descriptors of a ring refer by index.

use crate::descriptor::{Descriptor, READ, WRITE};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Opens for writing as well.
pub const WRITABLE: i32 = 1;
/// Bypasses the page cache.
pub const DIRECT: i32 = 2;
/// Creates a missing file.
pub const CREATE: i32 = 4;

/// Maximum number of files and of buffers per ring.
const MOST: usize = 1024;

/// An open file.
#[derive(Debug)]
pub struct File {
    descriptor: OwnedFd,
    writable: bool,
    alignment: u32,
    /// A [`WriteWay`].
    write_way: AtomicU8,
}

/// Where the writes of a file are executed: in the kernel's queue, or in the thread that waits for them.
///
/// Many file systems (ext4, tmpfs) cannot write into the page cache without being able to block. Their kernels hand every such write
/// to a worker thread, which costs more than the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteWay {
    /// Unknown until the first write.
    Unknown,
    /// The queue.
    Queue,
    /// The thread.
    Thread,
}

/// The files and buffers that a ring may access.
#[derive(Debug, Default)]
pub struct Targets {
    files: Vec<File>,
    buffers: Vec<(usize, usize)>,
}

/// Operation, file and range of a read or write.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// `READ` or `WRITE`.
    pub operation: i32,
    /// The file's number.
    pub file: i32,
    /// Byte offset in the file.
    pub offset: i64,
}

/// A read or write that has been checked: the file is open for it, and all of it is within the ring's files and
/// buffers.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// True for a write.
    pub write: bool,
    /// The file's number.
    pub file: u16,
    /// Its descriptor.
    pub fd: RawFd,
    /// Index of the buffer.
    pub buffer: u16,
    /// The first byte in memory.
    pub address: *mut u8,
    /// Bytes.
    pub length: u32,
    /// Byte offset in the file.
    pub offset: u64,
}

impl Transfer {
    /// Executes the transfer in the calling thread with flags of `preadv2`; returns the number of bytes, or a
    /// negative error number.
    pub fn perform(&self, flags: i32) -> i32 {
        let vector = libc::iovec { iov_base: self.address.cast(), iov_len: self.length as usize };
        let (fd, offset) = (self.fd, self.offset as i64);
        loop {
            // SAFETY: the transfer was checked: its file is open, and its memory is within a buffer that outlives the ring, or was named
            // by a caller that keeps it until the call returns.
            let moved = unsafe {
                match (self.write, flags) {
                    (true, 0) => libc::pwritev64(fd, &vector, 1, offset),
                    (true, _) => libc::pwritev2(fd, &vector, 1, offset, flags),
                    (false, 0) => libc::preadv64(fd, &vector, 1, offset),
                    (false, _) => libc::preadv2(fd, &vector, 1, offset, flags),
                }
            };
            match moved {
                0.. => return moved as i32,
                _ => match errno() {
                    libc::EINTR => {}
                    error => return -error,
                },
            }
        }
    }
}

/// The last error number of this thread.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

impl Targets {
    /// Opens a file or a block device. A device that is written is opened exclusively, so one that is mounted or otherwise in use is
    /// refused (`EBUSY`); so is everything that has no offsets (`EINVAL` for pipes, sockets and terminals, `EISDIR`).
    pub fn open(&mut self, path: &CStr, flags: i32) -> Result<usize, i32> {
        if self.files.len() >= MOST {
            return Err(libc::EMFILE);
        }
        let writable = flags & WRITABLE != 0;
        let mut open_flags =
            libc::O_CLOEXEC | libc::O_NONBLOCK | if writable { libc::O_RDWR } else { libc::O_RDONLY };
        open_flags |= if flags & DIRECT != 0 { libc::O_DIRECT } else { 0 };
        open_flags |= if flags & CREATE != 0 && writable { libc::O_CREAT } else { 0 };
        // O_EXCL without O_CREAT applies to block devices only.
        if writable && is_block_device(path) {
            open_flags = open_flags & !libc::O_CREAT | libc::O_EXCL;
        }
        // SAFETY: `path` ends in a zero byte; the call touches no other memory.
        let fd = unsafe { libc::open(path.as_ptr(), open_flags, 0o644) };
        if fd < 0 {
            return Err(errno());
        }
        // SAFETY: the kernel just gave this descriptor, and nothing else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(fd) };
        let direct = flags & DIRECT != 0;
        let alignment = alignment(&descriptor, direct)?;
        let write_way = if direct { WriteWay::Queue } else { WriteWay::Unknown };
        self.files.push(File { descriptor, writable, alignment, write_way: AtomicU8::new(write_way as u8) });
        Ok(self.files.len() - 1)
    }

    /// Adds memory that descriptors may name.
    ///
    /// # Safety
    /// The memory stays valid until the ring is freed, and nothing in Rust refers to it.
    pub unsafe fn add_buffer(&mut self, address: usize, length: usize) -> Result<usize, i32> {
        if self.buffers.len() >= MOST {
            return Err(libc::EMFILE);
        }
        if address == 0 || length == 0 || length > i32::MAX as usize {
            return Err(libc::EINVAL);
        }
        self.buffers.push((address, length));
        Ok(self.buffers.len() - 1)
    }

    /// The required alignment of a file's offsets, lengths and positions in bytes; 1 without `DIRECT`.
    pub fn alignment(&self, file: usize) -> Option<u32> {
        self.files.get(file).map(|file| file.alignment)
    }

    /// The size of a file or block device in bytes.
    pub fn size(&self, file: usize) -> Result<i64, i32> {
        let fd = self.files.get(file).ok_or(libc::EINVAL)?.descriptor.as_raw_fd();
        // SAFETY: an open descriptor; nothing uses its file position.
        let size = unsafe { libc::lseek64(fd, 0, libc::SEEK_END) };
        if size < 0 { Err(errno()) } else { Ok(size) }
    }

    /// Flushes completed writes to stable storage (`fdatasync`).
    pub fn sync(&self, file: usize) -> Result<(), i32> {
        let fd = self.files.get(file).ok_or(libc::EINVAL)?.descriptor.as_raw_fd();
        // SAFETY: an open descriptor.
        if unsafe { libc::fdatasync(fd) } < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Sets a file's size: a longer file is truncated, a shorter one grows by a hole.
    pub fn truncate(&self, file: usize, size: i64) -> Result<(), i32> {
        let fd = self.writable(file)?;
        // SAFETY: an open descriptor.
        if unsafe { libc::ftruncate64(fd, size) } < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Reserves space for a range of a file, which grows to contain it.
    pub fn allocate(&self, file: usize, offset: i64, length: i64) -> Result<(), i32> {
        let fd = self.writable(file)?;
        loop {
            // SAFETY: an open descriptor.
            if unsafe { libc::fallocate64(fd, 0, offset, length) } == 0 {
                return Ok(());
            }
            match errno() {
                libc::EINTR => {}
                error => return Err(error),
            }
        }
    }

    fn writable(&self, file: usize) -> Result<RawFd, i32> {
        let file = self.files.get(file).ok_or(libc::EINVAL)?;
        if file.writable { Ok(file.descriptor.as_raw_fd()) } else { Err(libc::EBADF) }
    }

    /// Where the writes of a file are executed.
    pub fn write_way(&self, file: u16) -> WriteWay {
        match self.files.get(usize::from(file)).map(|file| file.write_way.load(Relaxed)) {
            Some(way) if way == WriteWay::Unknown as u8 => WriteWay::Unknown,
            Some(way) if way == WriteWay::Thread as u8 => WriteWay::Thread,
            _ => WriteWay::Queue,
        }
    }

    /// Determines where the writes of a file are executed.
    pub fn settle_write_way(&self, file: u16, way: WriteWay) {
        if let Some(file) = self.files.get(usize::from(file)) {
            file.write_way.store(way as u8, Relaxed);
        }
    }

    /// Checks a descriptor against files and buffers; an error number becomes its result.
    pub fn check(&self, wanted: &Descriptor) -> Result<Transfer, i32> {
        let buffer =
            usize::try_from(wanted.buffer).ok().and_then(|at| self.buffers.get(at)).ok_or(libc::EINVAL)?;
        let length = u32::try_from(wanted.length).map_err(|_| libc::EINVAL)?;
        let position = usize::try_from(wanted.position).map_err(|_| libc::EINVAL)?;
        if position.checked_add(length as usize).is_none_or(|end| end > buffer.1) {
            return Err(libc::EINVAL);
        }
        let place =
            Place { operation: wanted.operation, file: i32::from(wanted.file), offset: wanted.offset };
        let transfer = self.transfer(place, buffer.0 + position, wanted.length)?;
        Ok(Transfer { buffer: wanted.buffer as u16, ..transfer })
    }

    /// Checks a read or write of memory that is not one of the buffers.
    pub fn transfer(&self, place: Place, address: usize, length: i32) -> Result<Transfer, i32> {
        let file = usize::try_from(place.file).ok().and_then(|at| self.files.get(at)).ok_or(libc::EINVAL)?;
        let offset = u64::try_from(place.offset).map_err(|_| libc::EINVAL)?;
        let length = u32::try_from(length).map_err(|_| libc::EINVAL)?;
        let write = match place.operation {
            READ => false,
            WRITE if file.writable => true,
            WRITE => return Err(libc::EBADF),
            _ => return Err(libc::EINVAL),
        };
        let fits = offset.checked_add(u64::from(length)).is_some_and(|end| i64::try_from(end).is_ok());
        if !fits || length == 0 || address == 0 {
            return Err(libc::EINVAL);
        }
        let multiple = u64::from(file.alignment);
        if !offset.is_multiple_of(multiple) || !u64::from(length).is_multiple_of(multiple) {
            return Err(libc::EINVAL);
        }
        let fd = file.descriptor.as_raw_fd();
        Ok(Transfer {
            write,
            file: place.file as u16,
            fd,
            buffer: 0,
            address: address as *mut u8,
            length,
            offset,
        })
    }

    /// The descriptors of all files, in order.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.files.iter().map(|file| file.descriptor.as_raw_fd()).collect()
    }

    /// All buffers, in order, in the form that the kernel accepts.
    pub fn vectors(&self) -> Vec<libc::iovec> {
        let vector = |&(address, length): &(usize, usize)| libc::iovec {
            iov_base: address as *mut _,
            iov_len: length,
        };
        self.buffers.iter().map(vector).collect()
    }
}

fn is_block_device(path: &CStr) -> bool {
    // SAFETY: all zeros is a valid `stat`.
    let mut status: libc::stat64 = unsafe { std::mem::zeroed() };
    // SAFETY: a path that ends in a zero byte and a `stat` of our own.
    let found = unsafe { libc::stat64(path.as_ptr(), &mut status) } == 0;
    found && status.st_mode & libc::S_IFMT == libc::S_IFBLK
}

/// The required alignment of offsets and lengths. Rejects anything but regular files and block devices.
fn alignment(file: &OwnedFd, direct: bool) -> Result<u32, i32> {
    // SAFETY: all zeros is a valid `statx`.
    let mut status: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_TYPE | libc::STATX_DIOALIGN;
    // SAFETY: an open descriptor, an empty path that ends in a zero byte, and a local `statx`.
    let answer =
        unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, mask, &mut status) };
    if answer < 0 {
        return Err(errno());
    }
    match u32::from(status.stx_mode) & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFBLK => {}
        libc::S_IFDIR => return Err(libc::EISDIR),
        _ => return Err(libc::EINVAL),
    }
    if !direct {
        return Ok(1);
    }
    let known = status.stx_mask & libc::STATX_DIOALIGN != 0 && status.stx_dio_offset_align != 0;
    // Older kernels do not report the alignment; this one suits all disks.
    Ok(if known { status.stx_dio_offset_align } else { 4096 })
}
