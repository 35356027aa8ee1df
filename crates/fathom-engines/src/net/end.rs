//! The end of a target, at which data is appended.

use fathom_sys::Errno;
use std::io;

/// Calls `write` with bytes and their offset; `write` returns the number of bytes that it accepted.
pub(crate) struct End<W> {
    offset: u64,
    write: W,
}

impl<W: FnMut(&[u8], u64) -> Result<usize, Errno>> End<W> {
    pub(crate) fn new(offset: u64, write: W) -> End<W> {
        End { offset, write }
    }
}

impl<W: FnMut(&[u8], u64) -> Result<usize, Errno>> io::Write for End<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count =
            (self.write)(bytes, self.offset).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        self.offset += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
