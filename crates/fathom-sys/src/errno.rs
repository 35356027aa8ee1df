//! A system error number as a type.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// An `errno` value; 0 never occurs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Errno(pub i32);

impl Errno {
    /// Returns the error of the system call that just failed on this thread.
    pub fn last() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// True if no space is left, on the device or for the user.
    pub fn is_out_of_space(self) -> bool {
        matches!(self.0, libc::ENOSPC | libc::EDQUOT)
    }

    /// True if the target does not support the operation at all.
    pub fn is_unsupported(self) -> bool {
        self.0 == libc::EOPNOTSUPP
    }

    /// False for codes that only a device defines.
    pub fn is_known(self) -> bool {
        self.0 <= libc::EHWPOISON
    }

    /// True if another user of the target prevents the operation.
    pub fn is_busy(self) -> bool {
        self.0 == libc::EBUSY
    }

    /// Returns the C library's text, for example `No space left on device`.
    pub fn text(self) -> String {
        fathom_errors::plain(&io::Error::from_raw_os_error(self.0))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for Errno {}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error())
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}

/// Converts the C library's `-1` convention to a result.
pub(crate) fn check(result: i64) -> Result<i64, Errno> {
    if result < 0 { Err(Errno::last()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_plain() {
        assert_eq!(Errno(libc::ENOSPC).text(), "No space left on device");
    }
}
