//! Sends and receives on connected sockets with several buffers, optionally blocking.

use crate::Errno;
use crate::span::timespec;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::RawFd;
use std::time::Duration;

/// Maximum number of buffers per call (`UIO_MAXIOV`).
pub const MOST_PIECES: usize = 1024;

/// Whether a call may block on the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Blocks until bytes were transferred or the socket's time limit has passed.
    Allowed,
    /// `EAGAIN` instead.
    Never,
}

impl Wait {
    fn flags(self) -> libc::c_int {
        match self {
            Wait::Allowed => libc::MSG_NOSIGNAL,
            Wait::Never => libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        }
    }
}

/// Returns the user at the peer of a Unix socket at the time of the connection, according to the kernel.
pub fn peer_user(socket: RawFd) -> Result<u32, Errno> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the structure is written by the kernel, and its length is stated.
    let done = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            std::ptr::from_mut(&mut peer).cast(),
            &mut length,
        )
    };
    match (done, peer.uid) {
        // The kernel reports these values for network sockets, whose user is unknown.
        (0, u32::MAX) => Err(Errno(libc::ENODATA)),
        (0, user) => Ok(user),
        _ => Err(Errno::last()),
    }
}

fn outcome(moved: isize) -> Result<usize, Errno> {
    usize::try_from(moved).map_err(|_| Errno::last())
}

/// Disables delayed acknowledgements on a TCP socket until the kernel enables them again. The call is a hint,
/// so an error is ignored.
pub fn acknowledge_at_once(socket: RawFd) {
    let on: libc::c_int = 1;
    // SAFETY: the option is a number, and its length is stated.
    unsafe {
        libc::setsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_QUICKACK,
            std::ptr::from_ref(&on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
}

/// Sends the buffers in order; returns the bytes sent. A closed connection is an error, never a signal.
pub fn send(socket: RawFd, pieces: &[IoSlice<'_>], wait: Wait) -> Result<usize, Errno> {
    let count = pieces.len().min(MOST_PIECES);
    // SAFETY: an IoSlice has the layout of an iovec, the kernel only reads through them, and the message
    // outlives the call.
    outcome(unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = pieces.as_ptr().cast_mut().cast();
        message.msg_iovlen = count as _;
        libc::sendmsg(socket, &message, wait.flags())
    })
}

/// Receives into the buffers in order; returns the bytes received, 0 at the end of the connection.
pub fn receive(socket: RawFd, pieces: &mut [IoSliceMut<'_>], wait: Wait) -> Result<usize, Errno> {
    let count = pieces.len().min(MOST_PIECES);
    // SAFETY: an IoSliceMut has the layout of an iovec, its memory is borrowed for writing, and the message
    // outlives the call.
    outcome(unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = pieces.as_mut_ptr().cast();
        message.msg_iovlen = count as _;
        libc::recvmsg(socket, &mut message, wait.flags())
    })
}

/// A socket for which to wait.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// The socket.
    pub socket: RawFd,
    /// Waits for writability as well as readability.
    pub to_send: bool,
}

/// Maximum number of sockets per [`wait_for_any`].
pub const MOST_AWAITED: usize = 256;

/// Sleeps until one of the sockets is ready (or has failed), but at most for `span`; returns false if none is.
/// `EINTR` after a signal. Only the first [`MOST_AWAITED`] sockets are used.
pub fn wait_for_any(sockets: &[Awaited], span: Option<Duration>) -> Result<bool, Errno> {
    let none = libc::pollfd { fd: -1, events: 0, revents: 0 };
    let mut entries = [none; MOST_AWAITED];
    let count = sockets.len().min(MOST_AWAITED);
    for (entry, awaited) in entries.iter_mut().zip(sockets) {
        let to_send = if awaited.to_send { libc::POLLOUT } else { 0 };
        *entry = libc::pollfd { fd: awaited.socket, events: libc::POLLIN | to_send, revents: 0 };
    }
    let limit = span.map(timespec);
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the `count` entries are local, and the time limit, if any, outlives the call.
    let ready = unsafe { libc::ppoll(entries.as_mut_ptr(), count as libc::nfds_t, limit, std::ptr::null()) };
    if ready < 0 { Err(Errno::last()) } else { Ok(ready > 0) }
}

/// Does the same for any number of sockets; errors count as ready.
pub fn wait_for_any_of_many(sockets: &[Awaited], span: Duration) {
    let entry = |awaited: &Awaited| {
        let to_send = if awaited.to_send { libc::POLLOUT } else { 0 };
        libc::pollfd { fd: awaited.socket, events: libc::POLLIN | to_send, revents: 0 }
    };
    let mut entries: Vec<libc::pollfd> = sockets.iter().map(entry).collect();
    let limit = timespec(span);
    // SAFETY: the entries and the limit live through the call.
    unsafe { libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &limit, std::ptr::null()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn pieces_arrive_in_order_and_nothing_waits_that_must_not() {
        let (one, other) = UnixStream::pair().expect("sockets");
        let (one_fd, other_fd) = (one.as_raw_fd(), other.as_raw_fd());
        let mut front = [0; 3];
        let mut back = [0; 8];
        let mut pieces = [IoSliceMut::new(&mut front), IoSliceMut::new(&mut back)];
        assert_eq!(receive(other_fd, &mut pieces, Wait::Never), Err(Errno(libc::EAGAIN)));
        let awaited = [Awaited { socket: other_fd, to_send: false }];
        assert_eq!(wait_for_any(&awaited, Some(Duration::from_millis(1))), Ok(false));

        assert_eq!(send(one_fd, &[IoSlice::new(b"ab"), IoSlice::new(b"cde")], Wait::Never), Ok(5));
        assert_eq!(wait_for_any(&awaited, None), Ok(true));
        assert_eq!(receive(other_fd, &mut pieces, Wait::Allowed), Ok(5));
        assert_eq!((&front, &back[..2]), (b"abc", &b"de"[..]));

        drop(other);
        assert_eq!(send(one_fd, &[IoSlice::new(b"x")], Wait::Allowed), Err(Errno(libc::EPIPE)));
    }
}
