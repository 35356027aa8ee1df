//! Requests of io_uring in flight.

use std::collections::HashMap;

/// Requests in flight, by the kernel's address.
pub(crate) type Requests = HashMap<u64, Request>;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(super) serial: u64,
    /// Device and inode that the file system named.
    pub(super) inode: Option<(u32, u64)>,
}
