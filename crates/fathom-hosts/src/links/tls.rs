//! A way over TLS 1.3, in which both sides prove who they are (see [`crate::keys`]).

use super::Pipe;
use super::tcp::{ANSWERS_WITHIN, Socket};
use crate::keys::{Keys, KeysError};
use fathom_sys::socket::Awaited;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use std::io::{self, Read, Write};
use std::time::Duration;

/// TLS over a socket that does not wait.
pub struct TlsPipe {
    socket: Socket,
    tls: Connection,
}

impl TlsPipe {
    /// The side that has connected, with its keys; the handshake takes place as things are read and written.
    pub fn connect(socket: Socket, keys: &Keys) -> Result<TlsPipe, KeysError> {
        // The name is not looked at: the key is.
        let name = ServerName::try_from("peer").map_err(KeysError::Name)?;
        let tls = ClientConnection::new(keys.client()?, name).map_err(KeysError::Tls)?;
        Ok(TlsPipe { socket, tls: tls.into() })
    }

    /// The side that was connected to.
    pub fn accept(socket: Socket, keys: &Keys) -> Result<TlsPipe, KeysError> {
        let tls = ServerConnection::new(keys.server()?).map_err(KeysError::Tls)?;
        Ok(TlsPipe { socket, tls: tls.into() })
    }

    /// Goes on with the handshake as far as that is possible without waiting; true once the other side has proved who it is.
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

    /// Sends what TLS has to say.
    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    /// Takes in what has come; false at the end.
    fn pull(&mut self) -> io::Result<bool> {
        if self.tls.read_tls(&mut self.socket)? == 0 {
            return Ok(false);
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The other side is told why.
            let _ = self.push();
            return Err(io::Error::new(io::ErrorKind::InvalidData, describe(&error)));
        }
        Ok(true)
    }
}

/// What is wrong, in words that say what to do where that is known.
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
        // Until hands are shaken there is nothing that could be sent.
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
                // An end without a farewell is one, too: frames tell whether they are whole.
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
            // What TLS holds back already goes out before more is taken.
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
        // Whoever is gone needs no farewell.
        let _ = self.push();
        self.socket.close();
    }
}
