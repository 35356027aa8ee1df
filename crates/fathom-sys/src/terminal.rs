//! The terminal: its size, its mode, and non-blocking input.

use crate::errno::{Errno, check};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

/// A terminal mode.
#[derive(Clone)]
pub struct Mode(libc::termios);

impl Mode {
    /// Returns the current mode of a terminal.
    pub fn of(terminal: RawFd) -> Result<Mode, Errno> {
        let mut mode = MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: room for one structure.
        check(i64::from(unsafe { libc::tcgetattr(terminal, mode.as_mut_ptr()) }))?;
        // SAFETY: the call has filled it.
        Ok(Mode(unsafe { mode.assume_init() }))
    }

    /// Returns the same mode, except that every key is delivered immediately and not echoed. Signal keys keep
    /// their effect; Ctrl-S does not stop the output.
    pub fn with_single_keys(&self) -> Mode {
        let mut mode = self.0;
        mode.c_lflag &= !(libc::ICANON | libc::ECHO);
        mode.c_iflag &= !(libc::IXON | libc::ICRNL);
        // With a minimum of 0, reads return available input only, which may be none.
        mode.c_cc[libc::VMIN] = 0;
        mode.c_cc[libc::VTIME] = 0;
        Mode(mode)
    }

    /// Sets a terminal's mode once all output has been shown.
    pub fn apply(&self, terminal: RawFd) -> Result<(), Errno> {
        // SAFETY: the structure is valid and only read.
        check(i64::from(unsafe { libc::tcsetattr(terminal, libc::TCSADRAIN, &self.0) })).map(|_| ())
    }
}

/// Returns the columns and rows of a terminal; `None` if unknown.
pub fn size(terminal: RawFd) -> Option<(u16, u16)> {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: the request fills one such structure.
    let done = unsafe { libc::ioctl(terminal, libc::TIOCGWINSZ, size.as_mut_ptr()) };
    // SAFETY: zeroed or filled; any bytes are valid.
    let size = unsafe { size.assume_init() };
    (done == 0 && size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Reads typed input into `buffer` without blocking; returns the number of bytes, 0 for none. `EIO` if the
/// terminal no longer exists.
pub fn read_typed(terminal: RawFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut entry = libc::pollfd { fd: terminal, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry that lives through the call.
    let ready = unsafe { libc::poll(&mut entry, 1, 0) };
    if ready <= 0 {
        return Ok(0);
    }
    if entry.revents & libc::POLLIN == 0 {
        return Err(Errno(libc::EIO));
    }
    // SAFETY: the buffer is valid for its length.
    let read = unsafe { libc::read(terminal, buffer.as_mut_ptr().cast(), buffer.len()) };
    match read {
        -1 if Errno::last() == Errno(libc::EINTR) => Ok(0),
        -1 => Err(Errno::last()),
        // A hangup makes the terminal readable, although there is no data.
        0 if entry.revents & libc::POLLHUP != 0 => Err(Errno(libc::EIO)),
        count => Ok(count as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::pipe;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_pipe_is_no_terminal() {
        let (read, write) = pipe().expect("a pipe");
        assert!(Mode::of(read.as_raw_fd()).is_err());
        assert_eq!(size(read.as_raw_fd()), None);
        let mut buffer = [0; 8];
        assert_eq!(read_typed(read.as_raw_fd(), &mut buffer), Ok(0));
        // SAFETY: two bytes of a static string into our own pipe.
        assert_eq!(unsafe { libc::write(write.as_raw_fd(), c"ab".as_ptr().cast(), 2) }, 2);
        assert_eq!(read_typed(read.as_raw_fd(), &mut buffer), Ok(2));
        assert_eq!(&buffer[..2], b"ab");
        drop(write);
        assert_eq!(read_typed(read.as_raw_fd(), &mut buffer), Err(Errno(libc::EIO)));
    }
}
