//! A connected socket, TCP or Unix.

use fathom_sys::Errno;
use fathom_sys::socket::{self, Wait};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A host name or address, and a port.
    Tcp { host: String, port: u16 },
    /// A Unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to the server. Every address of the host is tried, each for at most `limit`.
    pub(crate) fn connect(address: &Address, limit: Duration) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                for place in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&place, limit) {
                        Ok(stream) => {
                            // The kernel must not delay requests, because fathom batches them itself.
                            stream.set_nodelay(true)?;
                            return Ok(Socket::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Sets the timeout of blocking calls; `None` for no limit.
    pub(crate) fn limit_waits(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(limit)?;
                stream.set_write_timeout(limit)
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(limit)?;
                stream.set_write_timeout(limit)
            }
        }
    }

    /// Shuts down the sending side; the peer may continue to send.
    pub(crate) fn end_sending(&self) {
        // A lost connection cannot be shut down, so a failure is ignored.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Socket::Tcp(stream) => stream.as_raw_fd(),
            Socket::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

/// A socket as a reader and writer, either blocking or not.
pub(crate) struct Stream<'a>(pub(crate) &'a Socket, pub(crate) Wait);

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::receive(self.0.descriptor(), &mut [IoSliceMut::new(buffer)], self.1).map_err(to_io)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        socket::send(self.0.descriptor(), pieces, self.1).map_err(to_io)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn to_io(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.0)
}
