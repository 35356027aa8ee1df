//! A connection, plain or encrypted, for an engine that keeps many requests in flight: it sends and receives
//! without blocking, and waits only on request.

use super::socket::{Socket, Stream};
use super::tls::TlsError;
use fathom_sys::Errno;
use fathom_sys::socket::{self, Awaited, Wait};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

/// Maximum number of plaintext bytes waiting for encryption; a few large writes fit.
const TLS_BUFFER: usize = 1 << 20;

/// One connection.
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    pub(crate) fn plain(socket: Socket) -> Transport {
        Transport { socket, tls: None }
    }

    /// Switches the connection to TLS; the first read or write performs the handshake.
    pub(crate) fn encrypt(&mut self, settings: Arc<ClientConfig>, host: &str) -> Result<(), TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::NoName(host.to_owned()))?;
        let mut connection = ClientConnection::new(settings, name)
            .map_err(|error| TlsError::Connection { host: host.to_owned(), error })?;
        connection.set_buffer_limit(Some(TLS_BUFFER));
        self.tls = Some(Box::new(connection));
        Ok(())
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Events for which the socket must be polled. `more` means that the caller has more to send than was
    /// accepted.
    pub(crate) fn awaited(&self, more: bool) -> Awaited {
        let encrypted = self.tls.as_ref().is_some_and(|tls| tls.wants_write());
        Awaited { socket: self.socket.descriptor(), to_send: more || encrypted }
    }

    /// Sends as many bytes as possible; returns the number accepted. With [`Wait::Never`], and always with TLS,
    /// returns `EAGAIN` if no byte was accepted.
    #[inline]
    pub(crate) fn send(&mut self, pieces: &[IoSlice<'_>], wait: Wait) -> Result<usize, Errno> {
        match &mut self.tls {
            None => socket::send(self.socket.descriptor(), pieces, wait),
            Some(tls) => {
                let taken = tls.writer().write_vectored(pieces).map_err(Errno::from)?;
                flush(tls, &self.socket)?;
                if taken == 0 && !pieces.is_empty() { Err(Errno(libc::EAGAIN)) } else { Ok(taken) }
            }
        }
    }

    /// Sends encrypted data that was accepted by an earlier call.
    pub(crate) fn send_rest(&mut self) -> Result<(), Errno> {
        match &mut self.tls {
            Some(tls) if tls.wants_write() => flush(tls, &self.socket),
            _ => Ok(()),
        }
    }

    /// Receives into the pieces; returns the number of bytes, 0 at the end of the connection. With
    /// [`Wait::Never`], returns `EAGAIN` if no data is available.
    #[inline]
    pub(crate) fn receive(&mut self, pieces: &mut [IoSliceMut<'_>], wait: Wait) -> Result<usize, Errno> {
        let Some(tls) = &mut self.tls else {
            return socket::receive(self.socket.descriptor(), pieces, wait);
        };
        loop {
            match tls.reader().read_vectored(pieces) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many servers close the connection without a TLS alert, so this counts as a normal end.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error.into()),
            }
            tls.read_tls(&mut Stream(&self.socket, wait)).map_err(Errno::from)?;
            if tls.process_new_packets().is_err() {
                // The alert tells the server why the connection ends; a failure to send it is ignored.
                let _ = tls.write_tls(&mut Stream(&self.socket, Wait::Never));
                return Err(Errno(libc::EPROTO));
            }
            flush(tls, &self.socket)?;
        }
    }

    /// The connection as a blocking reader and writer, for a handshake.
    pub(crate) fn waiting(&mut self) -> Waiting<'_> {
        Waiting(self)
    }
}

fn flush(tls: &mut ClientConnection, socket: &Socket) -> Result<(), Errno> {
    while tls.wants_write() {
        match tls.write_tls(&mut Stream(socket, Wait::Never)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// See [`Transport::waiting`].
pub(crate) struct Waiting<'a>(&'a mut Transport);

impl Read for Waiting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = Stream(&self.0.socket, Wait::Allowed);
        match &mut self.0.tls {
            None => stream.read(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut stream).read(buffer),
        }
    }
}

impl Write for Waiting<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut stream = Stream(&self.0.socket, Wait::Allowed);
        match &mut self.0.tls {
            None => stream.write(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut stream).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut stream = Stream(&self.0.socket, Wait::Allowed);
        match &mut self.0.tls {
            None => Ok(()),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut stream).flush(),
        }
    }
}
