//! Errors that concern URIs and exports.

use super::wire::reply;
use crate::net::tls::TlsError;
use fathom_errors::plain;
use fathom_sys::Errno;
use std::io;
use thiserror::Error;

/// Why `uri=` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UriError {
    /// Not a URI.
    #[error("uri={0} is not a URI: it looks like nbd://host:10809/export or nbd+unix:///export?socket=/path")]
    NoUri(String),
    /// Another protocol.
    #[error("uri={text}: {scheme} is not supported; there are nbd, nbds, nbd+unix and nbds+unix")]
    UnknownScheme { text: String, scheme: String },
    /// The URI of a local server lacks its socket.
    #[error("uri={0}: ?socket=PATH is missing, which names the server's socket")]
    NoSocket(String),
    /// The URI of a remote server names a socket.
    #[error("uri={0}: socket= belongs to nbd+unix:// and nbds+unix://")]
    UselessSocket(String),
    /// The URI of a remote server lacks a host.
    #[error("uri={0}: the host is missing")]
    NoHost(String),
    /// A port that is not a 16-bit number.
    #[error("uri={text}: {port} is not a port")]
    NoPort { text: String, port: String },
    /// Escaped bytes in the URI are not UTF-8.
    #[error("{0}: the escaped characters are not UTF-8")]
    NoText(String),
    /// The URI asks for pre-shared keys instead of certificates.
    #[error("tls-psk-file: pre-shared keys are not supported; use certificates (tls-certificates=DIR)")]
    SharedKeys,
    /// An unknown parameter.
    #[error(
        "the parameter {0} of the URI is not known; there are socket, tls-certificates, tls-hostname and tls-verify-peer"
    )]
    UnknownParameter(String),
}

/// Why the negotiation of an export failed.
#[derive(Debug, Error)]
pub(super) enum HandshakeError {
    /// No connection.
    #[error("{}{}", plain(.0), advice_on(.0))]
    NotConnected(io::Error),
    /// The connection broke.
    #[error("{}", plain(.0))]
    Broken(io::Error),
    /// The server went away.
    #[error("the server closed the connection")]
    Closed,
    /// No answer.
    #[error("the server does not answer")]
    Silent,
    /// Another protocol.
    #[error("the server does not speak NBD")]
    NotNbd,
    /// The server speaks a later version of NBD.
    #[error("the server does not speak the current NBD protocol")]
    UnknownNbd,
    /// The server violated the protocol.
    #[error("the server breaks the NBD protocol")]
    Violation,
    /// The server is too old for TLS.
    #[error("the server is too old for TLS")]
    TooOldForTls,
    /// The server is too old for export names.
    #[error("the server is too old for names of exports: leave the name out of uri=")]
    TooOldForNames,
    /// TLS cannot be started.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server refuses TLS or the export.
    #[error("{what}: {}{}{}", reason_of(*.kind), in_brackets(.said), listed(.exports))]
    Refused {
        /// The refused item: `TLS`, or the export.
        what: String,
        /// The kind of reply, from [`reply`].
        kind: u32,
        /// The server's own message.
        said: String,
        /// Exports that the server offers instead.
        exports: Vec<String>,
    },
}

impl HandshakeError {
    /// The server has refused `what` with this text.
    pub(super) fn refused(what: &str, kind: u32, text: &[u8]) -> HandshakeError {
        let said = String::from_utf8_lossy(text).trim().replace(char::is_control, " ");
        HandshakeError::Refused { what: what.to_owned(), kind, said, exports: Vec::new() }
    }

    /// The errno with which the job fails.
    pub(super) fn errno(&self) -> Errno {
        Errno(match self {
            HandshakeError::NotConnected(error) => error.raw_os_error().unwrap_or(libc::EIO),
            HandshakeError::Refused { kind, .. } => match *kind {
                reply::UNSUPPORTED => libc::EOPNOTSUPP,
                reply::POLICY | reply::TLS_REQUIRED => libc::EACCES,
                reply::UNKNOWN => libc::ENOENT,
                reply::SHUTDOWN => libc::ESHUTDOWN,
                reply::BLOCK_SIZE_REQUIRED => libc::EINVAL,
                _ => libc::EPROTO,
            },
            _ => libc::EPROTO,
        })
    }
}

fn reason_of(kind: u32) -> &'static str {
    match kind {
        reply::UNSUPPORTED => "the server cannot do that",
        reply::POLICY => "the server's rules forbid it",
        reply::TLS_REQUIRED => "the server wants TLS: use nbds:// or nbds+unix:// in uri=",
        reply::UNKNOWN => "the server has no such export",
        reply::SHUTDOWN => "the server is shutting down",
        reply::BLOCK_SIZE_REQUIRED => "the server insists on block sizes",
        _ => "the server refuses it",
    }
}

fn in_brackets(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" ({said})") }
}

fn listed(exports: &[String]) -> String {
    if exports.is_empty() { String::new() } else { format!("; it has {}", exports.join(", ")) }
}

fn advice_on(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; no NBD server listens there",
        io::ErrorKind::PermissionDenied => "; the socket belongs to another user",
        _ => "",
    }
}
