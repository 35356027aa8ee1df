//! `splice`: moves data between a file and the buffer of a block through a pipe. Pages of the file and of the
//! buffer are lent to the pipe; the file system copies a write once, or not at all with `direct=1`.

use crate::shared::Immediate;
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::{Errno, pipe};
use std::os::fd::{AsRawFd, OwnedFd};

/// Page size: a block need not be page-aligned, so it may occupy one page more than its size.
const PAGE: usize = 4096;

pub(crate) struct Splice {
    immediate: Immediate,
    reader: OwnedFd,
    writer: OwnedFd,
    /// Capacity of the pipe in bytes.
    room: usize,
    /// The error because of which memory cannot be lent to the pipe and is copied instead.
    copies: Option<Errno>,
    /// Set once a message has reported the copying.
    has_told: bool,
    /// Explanation of the current I/O's error.
    why: Option<&'static str>,
}

impl EngineType for Splice {
    const DEFINITION: &'static EngineDef = &engines::plain::SPLICE;

    fn new(setup: &Setup<'_>) -> Result<Splice, SetupError> {
        let (reader, writer) = pipe::pipe().map_err(|errno| SetupError::new(errno, "pipe"))?;
        let wanted = i32::try_from(setup.buffers.length().saturating_add(PAGE)).unwrap_or(i32::MAX);
        let room = pipe::widen(&writer, wanted).map_err(|errno| SetupError::new(errno, "F_GETPIPE_SZ"))?;
        let immediate = Immediate::new(setup);
        Ok(Splice { immediate, reader, writer, room, copies: None, has_told: false, why: None })
    }
}

impl Engine for Splice {
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let transfer = match io.operation() {
            Operation::Read => Splice::read_part,
            Operation::Write => Splice::write_part,
            _ => return Queued::Done(self.immediate.perform(io)),
        };
        let length = io.length() as usize;
        let mut done = 0;
        while done < length {
            match transfer(self, io, done, (length - done).min(self.room)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno(libc::EINTR)) => {}
                // The bytes moved so far are returned; the retry of the rest then fails again.
                Err(_) if done > 0 => break,
                Err(errno) => return Queued::Done(i64::from(-errno.0)),
            }
        }
        Queued::Done(done as i64)
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.why.take().map(str::to_owned)
    }

    fn remarks(&mut self) -> Vec<String> {
        let Some(errno) = self.copies.filter(|_| !std::mem::replace(&mut self.has_told, true)) else {
            return Vec::new();
        };
        vec![format!(
            "note: ioengine=splice: vmsplice is refused ({errno}), so blocks are copied to and from the pipe by write and read; \
             a block costs one more copy than it should"
        )]
    }
}

impl Splice {
    /// Reads part of a block through the empty pipe; returns 0 at the end of the file.
    fn read_part(&mut self, io: &Io, done: usize, length: usize) -> Result<usize, Errno> {
        let offset = io.offset() + done as u64;
        let held = pipe::splice_from_file(io.handle().descriptor(), offset, self.writer.as_raw_fd(), length)
            .map_err(|errno| self.refused(errno))?;
        let mut taken = 0;
        while taken < held {
            // SAFETY: the loop provides a buffer of at least `io.length()` bytes, and the part ends inside
            // it.
            let place = (unsafe { io.buffer().add(done + taken) }, held - taken);
            match self.take(place) {
                Ok(0) => return Err(Errno(libc::EIO)),
                Ok(count) => taken += count,
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(self.without_rest(held - taken, errno)),
            }
        }
        Ok(held)
    }

    /// Writes part of a block through the empty pipe.
    fn write_part(&mut self, io: &Io, done: usize, length: usize) -> Result<usize, Errno> {
        // SAFETY: the loop provides a buffer of at least `io.length()` bytes, and the part ends inside it.
        let held = self.put((unsafe { io.buffer().add(done) }, length))?;
        let mut given = 0;
        while given < held {
            let offset = io.offset() + (done + given) as u64;
            let from = self.reader.as_raw_fd();
            match pipe::splice_to_file(from, io.handle().descriptor(), offset, held - given) {
                Ok(0) => break,
                Ok(count) => given += count,
                Err(Errno(libc::EINTR)) => {}
                Err(errno) if given == 0 => {
                    let errno = self.refused(errno);
                    return Err(self.without_rest(held, errno));
                }
                Err(_) => break,
            }
        }
        if given < held {
            pipe::discard(self.reader.as_raw_fd(), held - given)?;
        }
        Ok(given)
    }

    /// Lends memory to the empty pipe, or copies it there. The memory may be changed once `splice` has
    /// returned, because the file then has the data.
    fn put(&mut self, (bytes, length): (*mut u8, usize)) -> Result<usize, Errno> {
        let writer = self.writer.as_raw_fd();
        if self.copies.is_none() {
            // SAFETY: the caller's memory can be read, and the loop does not change it before this I/O has
            // completed, when no part of it is in the pipe any more.
            match unsafe { pipe::splice_memory(writer, (bytes, length), pipe::NO_WAIT) } {
                Err(errno) if cannot_lend(errno) => self.copies = Some(errno),
                result => return result,
            }
        }
        // SAFETY: the caller's memory can be read.
        unsafe { pipe::fill(writer, (bytes, length)) }
    }

    /// Moves the content of the pipe into memory.
    fn take(&mut self, place: (*mut u8, usize)) -> Result<usize, Errno> {
        let reader = self.reader.as_raw_fd();
        if self.copies.is_none() {
            // SAFETY: the caller's memory can be written, and belongs to this I/O.
            match unsafe { pipe::splice_memory(reader, place, 0) } {
                Err(errno) if cannot_lend(errno) => self.copies = Some(errno),
                result => return result,
            }
        }
        // SAFETY: as above.
        unsafe { pipe::empty(reader, place) }
    }

    /// Empties the pipe, because its remaining content must not reach another I/O.
    #[cold]
    fn without_rest(&self, held: usize, errno: Errno) -> Errno {
        pipe::discard(self.reader.as_raw_fd(), held).err().unwrap_or(errno)
    }

    /// Explains an error of `splice` that is not the device's.
    #[cold]
    fn refused(&mut self, errno: Errno) -> Errno {
        self.why = match errno.0 {
            libc::EINVAL => Some(
                "splice is refused: the file's file system or driver does not support it, or with direct=1 \
                needs other offsets and lengths; ioengine=psync does the same by plain calls",
            ),
            libc::ENOSYS | libc::EPERM => Some(
                "splice is not allowed here, for example by a seccomp filter; ioengine=psync does the same by plain calls",
            ),
            _ => None,
        };
        errno
    }
}

/// True if the kernel refuses `vmsplice` for this memory, or in general.
fn cannot_lend(errno: Errno) -> bool {
    matches!(errno.0, libc::EFAULT | libc::EINVAL | libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP)
}
