//! Pipes, and transfers between them and memory, files and sockets.

use crate::errno::Errno;
use rustix::pipe::PipeFlags;
use std::os::fd::{OwnedFd, RawFd};

/// Never block (`SPLICE_F_NONBLOCK` of linux/splice.h).
pub const NO_WAIT: u32 = libc::SPLICE_F_NONBLOCK;

/// Creates a pipe; returns its read end and its write end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

/// Grows a pipe to at least this many bytes; returns its capacity.
pub fn widen(end: &OwnedFd, bytes: i32) -> Result<usize, Errno> {
    // An error is ignored: unprivileged users have a limit, and the pipe then keeps its size.
    let _ = rustix::pipe::fcntl_setpipe_size(end, usize::try_from(bytes).unwrap_or(0));
    Ok(rustix::pipe::fcntl_getpipe_size(end)?)
}

/// Moves bytes between a pipe and a file, socket or other pipe without a copy (`splice`).
#[inline]
pub fn splice(from: RawFd, to: RawFd, length: usize, flags: u32) -> Result<usize, Errno> {
    // SAFETY: no memory is passed.
    moved(unsafe { libc::splice(from, std::ptr::null_mut(), to, std::ptr::null_mut(), length, flags) })
}

/// Splices from an offset of a file into a pipe, as much as fits.
#[inline]
pub fn splice_from_file(file: RawFd, offset: u64, pipe: RawFd, length: usize) -> Result<usize, Errno> {
    let mut offset = offset as libc::loff_t;
    // SAFETY: the offset lives through the call.
    moved(unsafe { libc::splice(file, &mut offset, pipe, std::ptr::null_mut(), length, 0) })
}

/// Splices from a pipe to an offset of a file.
#[inline]
pub fn splice_to_file(pipe: RawFd, file: RawFd, offset: u64, length: usize) -> Result<usize, Errno> {
    let mut offset = offset as libc::loff_t;
    // SAFETY: the offset lives through the call.
    moved(unsafe { libc::splice(pipe, std::ptr::null_mut(), file, &mut offset, length, 0) })
}

/// Moves memory into a pipe, or data of a pipe into memory, depending on the end of the pipe (`vmsplice`).
///
/// # Safety
/// `length` bytes from `bytes` on can be read, and stay as they are until they have left the pipe; for the reading end, they can be
/// written, and nothing else uses them meanwhile.
#[inline]
pub unsafe fn splice_memory(
    end: RawFd,
    (bytes, length): (*mut u8, usize),
    flags: u32,
) -> Result<usize, Errno> {
    let piece = libc::iovec { iov_base: bytes.cast(), iov_len: length };
    // SAFETY: the caller says so of the bytes, and the piece lives through the call.
    moved(unsafe { libc::vmsplice(end, &piece, 1, flags) })
}

/// Copies memory into a pipe.
///
/// # Safety
/// `length` bytes from `bytes` on can be read.
pub unsafe fn fill(end: RawFd, (bytes, length): (*const u8, usize)) -> Result<usize, Errno> {
    // SAFETY: the caller says so.
    moved(unsafe { libc::write(end, bytes.cast(), length) })
}

/// Copies the content of a pipe to memory.
///
/// # Safety
/// `length` bytes from `bytes` on can be written, and nothing else uses them meanwhile.
pub unsafe fn empty(end: RawFd, (bytes, length): (*mut u8, usize)) -> Result<usize, Errno> {
    // SAFETY: the caller says so.
    moved(unsafe { libc::read(end, bytes.cast(), length) })
}

/// Discards this many bytes from a pipe.
pub fn discard(end: RawFd, mut length: usize) -> Result<(), Errno> {
    let mut bytes = [0u8; 4096];
    while length > 0 {
        let part = length.min(bytes.len());
        // SAFETY: the array is ours, and no shorter than the part.
        match unsafe { empty(end, (bytes.as_mut_ptr(), part)) } {
            Ok(0) => return Err(Errno(libc::EIO)),
            Ok(count) => length -= count,
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[inline]
fn moved(returned: isize) -> Result<usize, Errno> {
    if returned < 0 { Err(Errno::last()) } else { Ok(returned as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn bytes_go_through_a_pipe() {
        let (reader, writer) = pipe().expect("a pipe");
        assert!(widen(&writer, 1 << 16).expect("a size") >= 1 << 16);
        let mut source = *b"through a pipe";
        let mut target = [0u8; 14];
        // SAFETY: both arrays are ours and outlive the calls.
        unsafe {
            assert_eq!(splice_memory(writer.as_raw_fd(), (source.as_mut_ptr(), 14), 0), Ok(14));
            assert_eq!(splice_memory(reader.as_raw_fd(), (target.as_mut_ptr(), 14), 0), Ok(14));
        }
        assert_eq!(source, target);
    }

    #[test]
    fn files_are_at_both_ends() {
        let (reader, writer) = pipe().expect("a pipe");
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"0123456789").expect("written");
        let pipe = (reader.as_raw_fd(), writer.as_raw_fd());
        assert_eq!(splice_from_file(file.as_raw_fd(), 2, pipe.1, 3), Ok(3));
        assert_eq!(splice_to_file(pipe.0, file.as_raw_fd(), 7, 3), Ok(3));
        assert_eq!(splice_from_file(file.as_raw_fd(), 10, pipe.1, 3), Ok(0), "the end");
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).expect("the beginning");
        file.read_to_string(&mut text).expect("text");
        assert_eq!(text, "0123456234");
        // SAFETY: the text is ours.
        assert_eq!(unsafe { fill(pipe.1, (text.as_ptr(), 10)) }, Ok(10));
        assert_eq!(discard(pipe.0, 10), Ok(()));
    }
}
