//! The encrypted connection: how tokio-postgres uses rustls.

use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Begins TLS with a host. Not used for connections without TLS, which have no configuration.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) config: Option<Arc<ClientConfig>>,
    pub(super) host: String,
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Connector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connector, io::Error> {
        Ok(Connector { config: self.config.clone(), host: host.to_owned() })
    }
}

impl TlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, io::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or(io::ErrorKind::Unsupported)?;
            let why = format!("{} is not a name that a certificate could have", self.host);
            let name = ServerName::try_from(self.host);
            let name = name.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, why))?;
            TlsConnector::from(config).connect(name, socket).await.map(Encrypted)
        })
    }
}

/// A connection with TLS.
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl TlsStream for Encrypted {
    /// What SCRAM-SHA-256-PLUS binds the password to: `tls-server-end-point` of RFC 5929.
    fn channel_binding(&self) -> ChannelBinding {
        let chain = self.0.get_ref().1.peer_certificates();
        match chain.and_then(<[_]>::first).and_then(|certificate| end_point(certificate)) {
            Some(digest) => ChannelBinding::tls_server_end_point(digest),
            None => ChannelBinding::none(),
        }
    }
}

/// Digest of a certificate with the hash that its signature uses, SHA-256 instead of MD5 and SHA-1. `None` for signatures
/// that have no single hash, such as Ed25519, or name it elsewhere, such as RSA-PSS.
fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    match signature_of(certificate)? {
        // 1.2.840.113549.1.1: MD5, SHA-1 and SHA-256, SHA-384, SHA-512 with RSA.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4 | 5 | 11] => Some(Sha256::digest(certificate).to_vec()),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12] => Some(Sha384::digest(certificate).to_vec()),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13] => Some(Sha512::digest(certificate).to_vec()),
        // 1.2.840.10045.4: SHA-1, and SHA-256, SHA-384, SHA-512 with ECDSA.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2] => {
            Some(Sha256::digest(certificate).to_vec())
        }
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3] => Some(Sha384::digest(certificate).to_vec()),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4] => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// Object identifier of the signature: `SEQUENCE { tbsCertificate, SEQUENCE { OID, ... }, ... }`.
fn signature_of(certificate: &[u8]) -> Option<&[u8]> {
    let (whole, _) = element(certificate, 0x30)?;
    let (_, rest) = element(whole, 0x30)?;
    let (algorithm, _) = element(rest, 0x30)?;
    element(algorithm, 6).map(|(identifier, _)| identifier)
}

/// Content of the first element of DER, which has this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_of_a_certificate_is_found() {
        let small = [0x30, 12, 0x30, 1, 0, 0x30, 7, 6, 3, 0x2b, 0x65, 0x70, 5, 0];
        assert_eq!(signature_of(&small), Some(&[0x2b, 0x65, 0x70][..]));
        assert_eq!(end_point(&CertificateDer::from(small.to_vec())), None);
        let long = [&[0x30, 0x82, 0, 10, 0x30, 0x81, 1, 0, 0x30, 4, 6, 2, 1, 2][..]].concat();
        assert_eq!(signature_of(&long), Some(&[1, 2][..]));
        (0..long.len()).for_each(|length| assert_eq!(signature_of(&long[..length]), None));
    }
}
