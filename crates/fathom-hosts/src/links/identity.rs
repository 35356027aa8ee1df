//! Identifies the local user at the other end of a socket. This is necessary because every local user can
//! access a loopback port, as well as many socket files; without keys, an agent serves only its own user and
//! root.

use super::tcp::Socket;
use fathom_errors::plain;
use fathom_sys::socket::peer_user;
use fathom_sys::{Errno, credentials};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::{fs, io};
use thiserror::Error;

/// Why the user of a peer is refused or unknown.
#[derive(Debug, Error)]
pub(crate) enum IdentityError {
    /// The user at the other end of a socket file cannot be determined.
    #[error("the kernel does not identify its user: {0}")]
    Unknown(Errno),
    /// The user of a port cannot be determined from the kernel's tables.
    #[error("the kernel does not identify its user ({0}); --keys lets both sides authenticate")]
    NotInTable(TableError),
    /// The socket has no addresses any longer.
    #[error("{}", plain(.0))]
    NoAddress(#[from] io::Error),
    /// The peer is on another machine, whose users cannot be identified.
    #[error("it is not on this machine")]
    Elsewhere,
    /// The peer's process has closed the socket, so it may belong to any user.
    #[error("its socket is closed already")]
    Closed,
    /// Another user.
    #[error("it belongs to user {user}; without --keys only user {own} and root are served")]
    OtherUser { user: u32, own: u32 },
    /// The user ID is one that several users share.
    #[error("its user cannot be identified: ID {0} stands for all users that are not mapped here")]
    SharedNumber(u32),
}

/// Why the kernel's socket tables do not tell the user.
#[derive(Debug, Error)]
pub(crate) enum TableError {
    /// A table cannot be read.
    #[error("{table}: {error}", error = plain(.error))]
    NotRead { table: &'static str, error: io::Error },
    /// The socket is in no table.
    #[error("The socket no longer exists.")]
    Gone,
}

/// The tables' code for a connection that is open on both sides.
const ESTABLISHED: &str = "01";

/// Refuses users other than root and the user of this process.
pub(crate) fn check(socket: &Socket) -> Result<(), IdentityError> {
    let user = match socket {
        Socket::Unix(stream) => peer_user(stream.as_raw_fd()).map_err(IdentityError::Unknown)?,
        Socket::Tcp(stream) => user_of(stream.peer_addr()?, stream.local_addr()?)?,
    };
    let own = credentials::effective_user();
    match user {
        user if user != own && user != 0 => Err(IdentityError::OtherUser { user, own }),
        // In a user namespace, all unmapped users share one ID, so that ID identifies nobody in particular.
        user if user != 0 && Some(user) == shared_number() => Err(IdentityError::SharedNumber(user)),
        _ => Ok(()),
    }
}

/// The ID that unmapped users share, if this process is in a user namespace.
fn shared_number() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    (!is_whole).then(|| overflow.and_then(|text| text.trim().parse().ok()).unwrap_or(65534))
}

/// The user of the socket at `peer`, which is connected to our socket at `own`.
fn user_of(peer: SocketAddr, own: SocketAddr) -> Result<u32, IdentityError> {
    if !peer.ip().to_canonical().is_loopback() {
        return Err(IdentityError::Elsewhere);
    }
    let mut reason = TableError::Gone;
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => {
                if let Some(user) = user_in(&text, canonical(peer), canonical(own)) {
                    return user;
                }
            }
            Err(error) => reason = TableError::NotRead { table, error },
        }
    }
    Err(IdentityError::NotInTable(reason))
}

fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// The user of a socket in the kernel's table. A socket that its process has closed appears as root's, so only
/// an open one counts.
fn user_in(table: &str, socket: (IpAddr, u16), other: (IpAddr, u16)) -> Option<Result<u32, IdentityError>> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, state, _, _, _, user, _, inode, ..] = fields[..] else { return None };
        if address(local) != Some(socket) || address(remote) != Some(other) {
            return None;
        }
        let is_open = state == ESTABLISHED && inode != "0";
        Some(match user.parse() {
            Ok(user) if is_open => Ok(user),
            _ => Err(IdentityError::Closed),
        })
    })
}

/// Parses an address in the table: 32-bit words in memory order, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (host, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(host.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    let host = match host.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn own_sockets_are_known() {
        for host in ["127.0.0.1:0", "127.0.0.7:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(host) else {
                fathom_skip::record(&format!("no socket at {host}"));
                continue;
            };
            let mut place = listener.local_addr().expect("an address");
            if place.ip().is_unspecified() {
                // This is an IPv4 address on an IPv6 socket.
                place.set_ip("127.0.0.1".parse().expect("an address"));
            }
            let mut client = TcpStream::connect(place).expect("it listens");
            let accepted = Socket::tcp(listener.accept().expect("it connected").0).expect("a socket");
            check(&accepted).unwrap_or_else(|error| panic!("{host}: {error}"));
            // A closed socket has no user and must not be taken for root's.
            client.write_all(b"x").expect("sent");
            drop(client);
            assert!(check(&accepted).is_err(), "{host}");
        }
        let (one, other) = UnixStream::pair().expect("sockets");
        check(&Socket::unix(one).expect("a socket")).expect("our own");
        drop(other);
    }

    #[test]
    fn the_table_of_sockets_is_read() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let line = |local: &str, remote: &str, state: &str, user: u32, inode: u32| {
            format!(
                "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1 0\n"
            )
        };
        let hex = |ip: &str| {
            let bytes = ip.parse::<Ipv4Addr>().expect("an address").octets();
            format!("{:08X}", u32::from_ne_bytes(bytes))
        };
        let (peer, own) = (format!("{}:A000", hex("127.0.0.1")), format!("{}:0050", hex("127.0.0.1")));
        let of = |ip: &str, port| (ip.parse::<IpAddr>().expect("an address"), port);
        let (asked, with) = (of("127.0.0.1", 0xa000), of("127.0.0.1", 80));
        let user = |text: String| user_in(&format!("{head}{text}"), asked, with);
        assert!(matches!(user(line(&peer, &own, "01", 1000, 7)), Some(Ok(1000))));
        assert!(user(line(&own, &peer, "01", 0, 7)).is_none(), "our own end is not the peer's");
        // The table shows root for sockets that were closed by their process, or that have ended.
        assert!(user(line(&peer, &own, "01", 0, 0)).is_some_and(|user| user.is_err()));
        assert!(user(line(&peer, &own, "06", 0, 0)).is_some_and(|user| user.is_err()));
        let mapped =
            |text: &str| format!("{:08X}{:08X}{:08X}{text}", 0, 0, u32::from_ne_bytes([0, 0, 0xff, 0xff]));
        assert!(matches!(user(line(&mapped(&peer), &mapped(&own), "01", 5, 7)), Some(Ok(5))));
    }
}
