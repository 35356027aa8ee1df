//! Creates sockets of any family, and binds, connects, accepts and tunes them. Transfers between connected sockets and
//! buffers are in [`socket`](crate::socket).

use crate::Errno;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// An address of any family, in the kernel's format.
#[derive(Clone, Copy)]
pub struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    fn empty() -> Address {
        // SAFETY: all zero is a valid value of this plain structure.
        let storage = unsafe { std::mem::zeroed() };
        Address { storage, length: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    fn of<T>(value: T) -> Address {
        let mut address = Address::empty();
        assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        // SAFETY: the storage is at least as large as the value, and aligned for every family of addresses.
        unsafe { std::ptr::from_mut(&mut address.storage).cast::<T>().write(value) };
        address.length = size_of::<T>() as libc::socklen_t;
        address
    }

    /// Returns an IPv4 or IPv6 address.
    pub fn internet(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(address) => Address::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(address) => Address::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            }),
        }
    }

    /// Returns a Unix socket path as an address. `ENAMETOOLONG` for a path that does not fit into an address.
    pub fn unix(path: &Path) -> Result<Address, Errno> {
        let bytes = path.as_os_str().as_bytes();
        // SAFETY: all zero is a valid value of this plain structure.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        if bytes.len() >= address.sun_path.len() {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
            *place = *byte as libc::c_char;
        }
        Ok(Address::of(address))
    }

    /// Returns the address of a virtual machine or its host: context identifier and port.
    pub fn vsock(cid: u32, port: u32) -> Address {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = cid;
        address.svm_port = port;
        Address::of(address)
    }

    /// Returns a pointer for libraries that take addresses; valid as long as this address is not moved.
    pub fn pointer(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "address of family {}", self.storage.ss_family)
    }
}

fn done(result: libc::c_int) -> Result<(), Errno> {
    if result < 0 { Err(Errno::last()) } else { Ok(()) }
}

fn moved(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::last())
}

/// Opens a close-on-exec socket of a family (`AF_*`) and type (`SOCK_*`).
pub fn open(family: i32, kind: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory is passed, and the descriptor is new.
    unsafe {
        let descriptor = libc::socket(family, kind | libc::SOCK_CLOEXEC, 0);
        done(descriptor)?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Binds a socket to a local address.
pub fn bind(socket: RawFd, address: &Address) -> Result<(), Errno> {
    // SAFETY: the address lives through the call, and its length is stated.
    done(unsafe { libc::bind(socket, address.pointer(), address.length) })
}

/// Listens for connections, with this backlog.
pub fn listen(socket: RawFd, backlog: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::listen(socket, backlog) })
}

/// Connects, or starts connecting if the socket is non-blocking (`EINPROGRESS`).
pub fn connect(socket: RawFd, address: &Address) -> Result<(), Errno> {
    // SAFETY: the address lives through the call, and its length is stated.
    done(unsafe { libc::connect(socket, address.pointer(), address.length) })
}

/// Accepts the next connection of a listening socket; returns it with the peer's address.
pub fn accept(socket: RawFd) -> Result<(OwnedFd, Address), Errno> {
    let mut peer = Address::empty();
    // SAFETY: the storage takes addresses of every family, its length is stated, and the descriptor is new.
    unsafe {
        let address = std::ptr::from_mut(&mut peer.storage).cast();
        let descriptor = libc::accept4(socket, address, &mut peer.length, libc::SOCK_CLOEXEC);
        done(descriptor)?;
        Ok((OwnedFd::from_raw_fd(descriptor), peer))
    }
}

/// Returns the pending error of a socket (`SO_ERROR`).
pub fn pending_error(socket: RawFd) -> Result<(), Errno> {
    match option(socket, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

/// Reads a numeric socket option.
pub fn option(socket: RawFd, level: i32, name: i32) -> Result<i32, Errno> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the option is a number, and its length is stated.
    done(unsafe {
        libc::getsockopt(socket, level, name, std::ptr::from_mut(&mut value).cast(), &mut length)
    })?;
    Ok(value)
}

/// Sets an option whose value is a number or a structure of plain data.
fn set<T>(socket: RawFd, level: i32, name: i32, value: &T) -> Result<(), Errno> {
    // SAFETY: the value lives through the call, and its length is stated.
    done(unsafe {
        libc::setsockopt(
            socket,
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Sets a numeric socket option.
pub fn set_option(socket: RawFd, level: i32, name: i32, value: i32) -> Result<(), Errno> {
    set(socket, level, name, &value)
}

/// Limits how long a blocking call may take before it ends with `EAGAIN`, or with the bytes transferred so far.
pub fn limit_waits(socket: RawFd, limit: Duration) -> Result<(), Errno> {
    let limit = libc::timeval { tv_sec: limit.as_secs() as _, tv_usec: limit.subsec_micros() as _ };
    set(socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit)?;
    set(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &limit)
}

/// Makes a socket blocking or non-blocking.
pub fn set_waiting(socket: RawFd, waits: bool) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    unsafe {
        let flags = libc::fcntl(socket, libc::F_GETFL);
        done(flags)?;
        let flags = if waits { flags & !libc::O_NONBLOCK } else { flags | libc::O_NONBLOCK };
        done(libc::fcntl(socket, libc::F_SETFL, flags))
    }
}

/// Joins a multicast group, on the interface with this address (`0.0.0.0`: the kernel chooses).
pub fn join_group(socket: RawFd, group: Ipv4Addr, interface: Ipv4Addr) -> Result<(), Errno> {
    let in_order = |address: Ipv4Addr| libc::in_addr { s_addr: u32::from(address).to_be() };
    let wanted = libc::ip_mreq { imr_multiaddr: in_order(group), imr_interface: in_order(interface) };
    set(socket, libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, &wanted)
}

/// Sends multicast through the interface with this address.
pub fn send_groups_through(socket: RawFd, interface: Ipv4Addr) -> Result<(), Errno> {
    let interface = libc::in_addr { s_addr: u32::from(interface).to_be() };
    set(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &interface)
}

/// Sends from memory to an address, or to the connected peer. A broken connection is an error, never a signal.
///
/// # Safety
///
/// `length` bytes starting at `bytes` can be read.
#[inline]
pub unsafe fn send(
    socket: RawFd,
    (bytes, length): (*const u8, usize),
    flags: i32,
    to: Option<&Address>,
) -> Result<usize, Errno> {
    let (address, room) = to.map_or((std::ptr::null(), 0), |to| (to.pointer(), to.length));
    // SAFETY: the caller says so of the bytes, and the address lives through the call.
    moved(unsafe { libc::sendto(socket, bytes.cast(), length, flags | libc::MSG_NOSIGNAL, address, room) })
}

/// Receives into memory; returns 0 at the end of a stream. With `MSG_TRUNC` it returns the full length of a
/// datagram that was longer than the memory.
///
/// # Safety
/// `length` bytes from `bytes` on can be written, and nothing else uses them meanwhile.
#[inline]
pub unsafe fn receive(socket: RawFd, (bytes, length): (*mut u8, usize), flags: i32) -> Result<usize, Errno> {
    // SAFETY: the caller says so.
    moved(unsafe { libc::recv(socket, bytes.cast(), length, flags) })
}

/// Receives a datagram in the same way, and returns the sender's address too.
///
/// # Safety
/// As [`receive`].
#[inline]
pub unsafe fn receive_from(
    socket: RawFd,
    (bytes, length): (*mut u8, usize),
    flags: i32,
    from: &mut Address,
) -> Result<usize, Errno> {
    from.length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the caller says so of the bytes; the storage takes addresses of every family, and its length is stated.
    moved(unsafe {
        let address = std::ptr::from_mut(&mut from.storage).cast();
        libc::recvfrom(socket, bytes.cast(), length, flags, address, &mut from.length)
    })
}

/// Returns an empty address as space for the sender's.
pub fn nobody() -> Address {
    Address::empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_stream_is_bound_connected_and_accepted() {
        let listener = open(libc::AF_INET, libc::SOCK_STREAM).expect("a socket");
        bind(listener.as_raw_fd(), &Address::internet("127.0.0.1:0".parse().expect("an address")))
            .expect("bound");
        listen(listener.as_raw_fd(), 1).expect("listening");
        let own = std::net::TcpListener::from(listener.try_clone().expect("a copy"));
        let place = own.local_addr().expect("an address");
        let one = open(libc::AF_INET, libc::SOCK_STREAM).expect("a socket");
        connect(one.as_raw_fd(), &Address::internet(place)).expect("connected");
        let (other, _) = accept(listener.as_raw_fd()).expect("accepted");
        limit_waits(other.as_raw_fd(), Duration::from_millis(10)).expect("a limit");
        let mut bytes = [0u8; 8];
        // SAFETY: the bytes are ours.
        let early = unsafe { receive(other.as_raw_fd(), (bytes.as_mut_ptr(), 8), libc::MSG_WAITALL) };
        assert_eq!(early, Err(Errno(libc::EAGAIN)));
        // SAFETY: the bytes are ours.
        unsafe {
            assert_eq!(send(one.as_raw_fd(), (b"abc".as_ptr(), 3), 0, None), Ok(3));
            assert_eq!(receive(other.as_raw_fd(), (bytes.as_mut_ptr(), 8), libc::MSG_WAITALL), Ok(3));
        }
        assert_eq!(&bytes[..3], b"abc");
        drop(other);
        drop(own);
    }

    #[test]
    fn a_path_must_fit_an_address() {
        let long = "x".repeat(200);
        assert_eq!(Address::unix(Path::new(&long)).err(), Some(Errno(libc::ENAMETOOLONG)));
        assert!(Address::unix(Path::new("/tmp/s")).is_ok());
    }
}
