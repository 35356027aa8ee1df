//! Sockets: TCP, and Unix sockets of this machine.

use crate::keys::KeysError;
use crate::pipe::Pipe;
use crate::protocol::opening;
use fathom_errors::plain;
use fathom_sys::socket::Awaited;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Default port of agents.
pub const PORT: u16 = 8766;

/// Deadline for an agent's first answer. A listening agent answers immediately, so this is generous.
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// A connected, non-blocking socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// A socket from a connected stream.
    pub fn tcp(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        // Clock requests are small and must not be delayed to be merged with more data.
        stream.set_nodelay(true)?;
        Ok(Socket::Tcp(stream))
    }

    /// Like `tcp`, for a Unix socket.
    pub fn unix(stream: UnixStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Ok(Socket::Unix(stream))
    }

    /// Descriptor to poll.
    pub fn descriptor(&self) -> RawFd {
        match self {
            Socket::Tcp(stream) => stream.as_raw_fd(),
            Socket::Unix(stream) => stream.as_raw_fd(),
        }
    }

    /// IP address of the peer.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
            Socket::Unix(_) => None,
        }
    }

    /// IP address of this side.
    pub fn own_address(&self) -> Option<String> {
        match self {
            Socket::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip().to_string()),
            Socket::Unix(_) => None,
        }
    }

    /// Shuts down the sending side.
    pub fn end_output(&self) {
        // An error is ignored, because the socket may already be closed.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Closes the socket.
    pub fn close(&self) {
        // An error is ignored, because the socket may already be closed.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(bytes),
            Socket::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unencrypted transport, for this machine or a trusted network.
pub struct PlainPipe {
    socket: Socket,
    /// Bytes that were received before the pipe was created.
    first: Vec<u8>,
    /// Unsent rest of the opening line.
    opening: Vec<u8>,
}

impl PlainPipe {
    /// Creates a transport over this socket, from which `first` has already been read.
    pub fn new(socket: Socket, first: Vec<u8>) -> PlainPipe {
        PlainPipe { socket, first, opening: Vec::new() }
    }

    /// Creates the transport of the connecting side.
    pub fn connect(socket: Socket) -> PlainPipe {
        PlainPipe { socket, first: Vec::new(), opening: opening().into_bytes() }
    }
}

impl Pipe for PlainPipe {
    fn transport(&self) -> &'static str {
        match self.socket {
            Socket::Tcp(_) => "tcp",
            Socket::Unix(_) => "unix",
        }
    }

    fn shows_keys(&self) -> bool {
        false
    }

    fn descriptors(&self, to_send: bool) -> Vec<Awaited> {
        vec![Awaited { socket: self.socket.descriptor(), to_send: to_send || !self.opening.is_empty() }]
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.first.is_empty() {
            return self.socket.read(bytes);
        }
        let count = self.first.len().min(bytes.len());
        bytes[..count].copy_from_slice(&self.first[..count]);
        self.first.drain(..count);
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while !self.opening.is_empty() {
            let count = self.socket.write(&self.opening)?;
            self.opening.drain(..count);
        }
        if bytes.is_empty() { Ok(0) } else { self.socket.write(bytes) }
    }

    fn is_flushed(&self) -> bool {
        self.opening.is_empty()
    }

    fn own_address(&self) -> Option<String> {
        self.socket.own_address()
    }

    fn answers_within(&self) -> Option<Duration> {
        Some(ANSWERS_WITHIN)
    }

    fn last_words(&mut self) -> String {
        String::new()
    }

    fn close(&mut self) {
        self.socket.close();
    }
}

/// Address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Network {
        /// Name or IP address; empty for all addresses of this machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// A socket file.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Network { host, port } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Address::Network { host, port } => write!(formatter, "{host}:{port}"),
            Address::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not an address; expected HOST, HOST:PORT or [ADDRESS]:PORT")]
pub struct AddressError(String);

/// Why a host cannot be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The name of the host is not an address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The agent is on another machine, but keys were not given.
    #[error("an agent at {0} is reached with keys: give --keys=FILE (fathom keys makes it)")]
    NoKeys(Address),
    /// No process listens there, or the network is down.
    #[error("{address}: {}{}", plain(.error), advice(.error))]
    NotConnected {
        /// The address.
        address: Address,
        /// The system's error.
        error: io::Error,
    },
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The shell cannot be started.
    #[error("its shell cannot be started: {error}", error = plain(.0))]
    Shell(io::Error),
}

/// Advice on what to check when a host cannot be reached.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "; no agent listens there: start fathom agent --listen= on that host"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "; check the address and the firewalls on the way"
        }
        _ => "",
    }
}

impl Address {
    /// Parses `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or `:PORT`; without a port, the default one.
    pub fn read(text: &str) -> Result<Address, AddressError> {
        let refused = || AddressError(text.to_owned());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(refused)?;
                (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some("")).ok_or_else(refused)?)
            }
            // A text with more than one colon is an IPv6 address without a port.
            None => match text.split_once(':') {
                Some((_, rest)) if rest.contains(':') => (text, ""),
                Some((host, port)) => (host, port),
                None => (text, ""),
            },
        };
        let port = if port.is_empty() { PORT } else { port.parse().map_err(|_| refused())? };
        Ok(Address::Network { host: host.to_owned(), port })
    }

    /// True if the address can be reached only from this machine.
    pub fn is_of_this_machine(&self) -> bool {
        match self {
            Address::Unix(_) => true,
            Address::Network { host, .. } if host == "localhost" => true,
            Address::Network { host, .. } => {
                host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }

    fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Address::Unix(_) => Ok(Vec::new()),
            Address::Network { host, port } if host.is_empty() => Ok(vec![
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, *port)),
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, *port)),
            ]),
            Address::Network { host, port } => Ok((host.as_str(), *port).to_socket_addrs()?.collect()),
        }
    }

    /// Connects to the address, waiting for at most this long for each IP address of a name.
    pub fn connect(&self, wait: Duration) -> io::Result<Socket> {
        if let Address::Unix(path) = self {
            return Socket::unix(UnixStream::connect(path)?);
        }
        let mut last = None;
        for address in self.resolve()? {
            match TcpStream::connect_timeout(&address, wait) {
                Ok(stream) => return Socket::tcp(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Listens on the address. An existing socket file is not replaced.
    pub fn listen(&self) -> io::Result<Listener> {
        if let Address::Unix(path) = self {
            return Ok(Listener::Unix(UnixListener::bind(path)?));
        }
        let mut last = None;
        for address in self.resolve()? {
            match TcpListener::bind(address) {
                Ok(listener) => return Ok(Listener::Tcp(listener)),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

impl Listener {
    /// Accepts the next connection; returns it with its address.
    pub fn accept(&self) -> io::Result<(Socket, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                Ok((Socket::tcp(stream)?, from.to_string()))
            }
            Listener::Unix(listener) => Ok((Socket::unix(listener.accept()?.0)?, "this machine".to_owned())),
        }
    }

    /// Selects whether `accept` blocks.
    pub fn set_nonblocking(&self, wanted: bool) -> io::Result<()> {
        match self {
            Listener::Tcp(listener) => listener.set_nonblocking(wanted),
            Listener::Unix(listener) => listener.set_nonblocking(wanted),
        }
    }

    /// Descriptor to poll.
    pub fn descriptor(&self) -> RawFd {
        match self {
            Listener::Tcp(listener) => listener.as_raw_fd(),
            Listener::Unix(listener) => listener.as_raw_fd(),
        }
    }

    /// The port; chosen by the system if it was 0.
    pub fn port(&self) -> Option<u16> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Listener::Unix(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| Address::read(text).map(|address| address.to_string());
        assert_eq!(read("a"), Ok("a:8766".to_owned()));
        assert_eq!(read("a:1"), Ok("a:1".to_owned()));
        assert_eq!(read("[::1]:9"), Ok("[::1]:9".to_owned()));
        assert_eq!(read("fe80::1"), Ok("[fe80::1]:8766".to_owned()));
        assert_eq!(read(":80"), Ok(":80".to_owned()));
        assert!(read("a:b").is_err() && read("[::1").is_err() && read("a:99999").is_err());
        let is_local = |text: &str| Address::read(text).is_ok_and(|address| address.is_of_this_machine());
        assert!(is_local("127.0.0.2:1") && is_local("[::1]:1") && is_local("localhost"));
        assert!(!is_local("0.0.0.0") && !is_local(":1") && !is_local("10.0.0.1"));
    }
}
