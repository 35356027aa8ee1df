//! Transport over TLS 1.3, in which both sides authenticate (see [`crate::keys`]).

use super::Pipe;
use super::tcp::{ANSWERS_WITHIN, Socket};
use crate::callers;
use crate::keys::{Keys, KeysError};
use crate::protocol::OPENING;
use fathom_sys::socket::Awaited;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use std::io::{self, Read, Write};
use std::time::Duration;

/// TLS over a non-blocking socket.
pub struct TlsPipe {
    socket: Socket,
    tls: Connection,
    /// The first received bytes, until they are recognised as TLS.
    first: Option<Vec<u8>>,
    /// Why this side ends the connection. The peer closes it after reading the reason; closing it earlier might
    /// discard the reason.
    farewell: Option<&'static str>,
}

/// Number of bytes needed to distinguish TLS from fio's protocol.
const TELLING: usize = 24;

impl TlsPipe {
    /// Creates the connecting side; the handshake takes place during reads and writes.
    pub fn connect(socket: Socket, keys: &Keys) -> Result<TlsPipe, KeysError> {
        // The peer's name is not checked, because its key is.
        let name = ServerName::try_from("peer").map_err(KeysError::Name)?;
        let tls = ClientConnection::new(keys.client()?, name).map_err(KeysError::Tls)?;
        Ok(TlsPipe { socket, tls: tls.into(), first: Some(Vec::new()), farewell: None })
    }

    /// Creates the accepting side.
    pub fn accept(socket: Socket, keys: &Keys) -> Result<TlsPipe, KeysError> {
        let tls = ServerConnection::new(keys.server()?).map_err(KeysError::Tls)?;
        Ok(TlsPipe { socket, tls: tls.into(), first: Some(Vec::new()), farewell: None })
    }

    /// Continues the handshake as far as possible without blocking; true once the peer has authenticated.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        loop {
            match self.push() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ if !self.tls.is_handshaking() => return Ok(true),
                _ => {}
            }
            match self.pull() {
                Ok(true) => {}
                Ok(false) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends the pending output of TLS.
    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    /// Receives input for TLS; false at the end of the connection.
    fn pull(&mut self) -> io::Result<bool> {
        if let Some(reason) = self.farewell {
            let mut rest = [0; 4096];
            return match self.socket.read(&mut rest) {
                Ok(1..) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
                Ok(0) | Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, reason)),
            };
        }
        match self.first.take() {
            None => {
                if self.tls.read_tls(&mut self.socket)? == 0 {
                    return Ok(false);
                }
                self.process()
            }
            Some(first) => self.pull_first(first),
        }
    }

    /// Like [`pull`](TlsPipe::pull) while the peer may be fio, so that the error names fio instead of a TLS failure.
    fn pull_first(&mut self, mut first: Vec<u8>) -> io::Result<bool> {
        let mut some = [0; 4096];
        let read = self.socket.read(&mut some);
        first.extend_from_slice(&some[..*read.as_ref().unwrap_or(&0)]);
        let is_tls = first.first().is_some_and(|kind| (0x14..=0x18).contains(kind));
        if first.starts_with(OPENING.as_bytes()) {
            // A controller shows this line as the reason, because it expects the greeting here.
            let line = "an agent that has keys answers only those who have them, too: give --keys=FILE";
            let _ = writeln!(self.socket, "{line}");
            self.socket.end_output();
            self.farewell = Some("it has no keys");
            return Ok(true);
        }
        if let Some(version) = callers::version_of_client(&first) {
            callers::answer(&mut self.socket, version);
            self.farewell = Some("it is fio's client");
            return Ok(true);
        }
        if callers::is_server(&first) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, callers::FIO_SERVER));
        }
        if !is_tls && first.len() < TELLING && matches!(&read, Ok(1..) | Err(_)) {
            self.first = Some(first);
            return read.map(|_| true);
        }
        let mut rest = first.as_slice();
        while !rest.is_empty() {
            self.tls.read_tls(&mut rest)?;
            self.process()?;
        }
        read.map(|count| count > 0)
    }

    fn process(&mut self) -> io::Result<bool> {
        if let Err(error) = self.tls.process_new_packets() {
            // The alert tells the peer the reason.
            let _ = self.push();
            return Err(io::Error::new(io::ErrorKind::InvalidData, describe(&error)));
        }
        Ok(true)
    }
}

/// Describes a TLS error, with the remedy if it is known.
fn describe(error: &rustls::Error) -> String {
    use rustls::{AlertDescription, Error};
    match error {
        Error::InvalidCertificate(_) => {
            "it has other keys; both sides need those of one fathom keys".to_owned()
        }
        Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::CertificateUnknown) => {
            "it does not accept these keys; both sides need those of one fathom keys".to_owned()
        }
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        other => format!("TLS: {other}"),
    }
}

impl Pipe for TlsPipe {
    fn transport(&self) -> &'static str {
        "tls"
    }

    fn shows_keys(&self) -> bool {
        true
    }

    fn descriptors(&self, to_send: bool) -> Vec<Awaited> {
        // Output waits for the end of the handshake.
        let to_send = self.tls.wants_write() || (to_send && !self.tls.is_handshaking());
        vec![Awaited { socket: self.socket.descriptor(), to_send }]
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.push() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            match self.tls.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A close without a TLS alert counts as a normal end, because frames show whether they are
                // complete.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            if !self.pull()? {
                return Ok(0);
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.tls.is_handshaking() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.tls.writer().write(bytes)?;
        match self.push() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            // Nothing more is accepted while TLS output is pending.
            _ if taken == 0 && !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    fn is_flushed(&self) -> bool {
        !self.tls.wants_write()
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
        self.tls.send_close_notify();
        // A failure is ignored, because a peer that has gone does not need the alert.
        let _ = self.push();
        self.socket.close();
    }
}
