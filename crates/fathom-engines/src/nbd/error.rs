//! Why there is no export to work on.

use super::wire::reply;
use crate::net::tls::TlsError;
use fathom_sys::Errno;
use std::io;
use thiserror::Error;

/// What is wrong with `uri=`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UriError {
    /// No URI at all.
    #[error("uri={0} is no URI: it looks like nbd://host:10809/export or nbd+unix:///export?socket=/path")]
    NoUri(String),
    /// Another protocol.
    #[error("uri={text}: {scheme} is not built; there are nbd, nbds, nbd+unix and nbds+unix")]
    UnknownScheme { text: String, scheme: String },
    /// A local server without its socket.
    #[error("uri={0}: ?socket=PATH is missing, which names the server's socket")]
    NoSocket(String),
    /// A remote server with a socket.
    #[error("uri={0}: socket= belongs to nbd+unix:// and nbds+unix://")]
    UselessSocket(String),
    /// A remote server without a name.
    #[error("uri={0}: the host is missing")]
    NoHost(String),
    /// A port that is no number of 16 bits.
    #[error("uri={text}: {port} is no port")]
    NoPort { text: String, port: String },
    /// Escaped bytes that are not text.
    #[error("{0}: the escaped characters are no UTF-8")]
    NoText(String),
    /// Keys instead of certificates.
    #[error("tls-psk-file: keys shared beforehand are not built; use certificates (tls-certificates=DIR)")]
    SharedKeys,
    /// What stands after the question mark.
    #[error(
        "the parameter {0} of the URI is not known; there are socket, tls-certificates, tls-hostname and tls-verify-peer"
    )]
    UnknownParameter(String),
}

/// Why a server and this program did not agree on an export.
#[derive(Debug, Error)]
pub(super) enum HandshakeError {
    /// No connection.
    #[error("{}{}", words(.0), advice_on(.0))]
    NotConnected(io::Error),
    /// A connection that broke.
    #[error("{}", words(.0))]
    Broken(io::Error),
    /// The server went away.
    #[error("the server closed the connection")]
    Closed,
    /// The server says nothing.
    #[error("the server does not answer")]
    Silent,
    /// The server speaks another protocol.
    #[error("the server does not speak NBD")]
    NotNbd,
    /// The server speaks a later NBD.
    #[error("the server does not speak NBD as it is today")]
    UnknownNbd,
    /// What the server said makes no sense.
    #[error("the server breaks the NBD protocol")]
    Violation,
    /// A server without options has no TLS.
    #[error("the server is too old for TLS")]
    TooOldForTls,
    /// A server without options has one export.
    #[error("the server is too old for names of exports: leave the name out of uri=")]
    TooOldForNames,
    /// TLS cannot begin.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server refuses TLS or the export.
    #[error("{what}: {}{}{}", reason_of(*.kind), in_brackets(.said), listed(.exports))]
    Refused {
        /// `TLS`, or the export.
        what: String,
        /// A number of [`reply`].
        kind: u32,
        /// The server's own words.
        said: String,
        /// What the server has instead.
        exports: Vec<String>,
    },
}

impl HandshakeError {
    /// A server that refuses `what`, in these words.
    pub(super) fn refused(what: &str, kind: u32, text: &[u8]) -> HandshakeError {
        let said = String::from_utf8_lossy(text).trim().replace(char::is_control, " ");
        HandshakeError::Refused { what: what.to_owned(), kind, said, exports: Vec::new() }
    }

    /// The error of the job.
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
        io::ErrorKind::PermissionDenied => "; the socket belongs to somebody else",
        _ => "",
    }
}

/// An error without the number that std appends.
fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno(number).text(),
        None => error.to_string(),
    }
}
