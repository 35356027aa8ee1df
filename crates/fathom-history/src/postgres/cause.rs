//! What the user learns of a failure of the server, of the connection, or of TLS.

use super::verify;
use crate::Error;
use std::error::Error as StdError;
use std::io;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// How long to wait for another writer.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// The reason for a failure, by the code that the server gives.
pub(super) fn cause(place: &str, error: &tokio_postgres::Error) -> Error {
    let place = place.to_owned();
    let why = told(error);
    let Some(code) = error.code() else {
        return Error::Other { place, why };
    };
    match *code {
        SqlState::DISK_FULL => Error::Full { place },
        SqlState::LOCK_NOT_AVAILABLE => Error::Locked { place, seconds: LOCK_PATIENCE.as_secs() },
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::ReadOnly { place, why }
        }
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Error::Other {
            place,
            why: format!("{why}; passwords come from PGPASSWORD, the file of PGPASSFILE, or ~/.pgpass"),
        },
        SqlState::QUERY_CANCELED => Error::Other {
            place,
            why: format!(
                "{why}; a longer time for this user is set with ALTER ROLE USER SET statement_timeout = '10min'"
            ),
        },
        _ => Error::Other { place, why },
    }
}

/// True if the server may have done what it was asked for, although it says that it failed, or says nothing.
pub(super) fn is_uncertain(error: &tokio_postgres::Error) -> bool {
    // Classes 08 and 57P: the connection is gone, or the server or its process ends.
    error.code().is_none_or(|code| code.code().starts_with("08") || code.code().starts_with("57P"))
}

/// True if TLS failed, rather than the connection or the server's consent.
pub(super) fn is_tls(error: &tokio_postgres::Error) -> bool {
    of_tls(error).is_some() || error.to_string().starts_with("error performing TLS handshake")
}

/// The error of rustls, if that is the reason.
fn of_tls(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    let mut source = error.source();
    while let Some(inner) = source {
        let wrapped = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|inner| inner.downcast_ref()) {
            return Some(found);
        }
        source = inner.source();
    }
    None
}

/// The innermost message: that of the server, of TLS, or of the system.
pub(super) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(of_server) = error.as_db_error() {
        return of_server.message().to_owned();
    }
    if let Some(of_tls) = of_tls(error) {
        return verify::explain(of_tls);
    }
    if error.is_closed() {
        return "the server closed the connection; its log says why".to_owned();
    }
    let mut text = fathom_errors::plain(error);
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {}", fathom_errors::plain(inner));
        source = inner.source();
    }
    if text.ends_with("server does not support TLS") {
        return "the server does not offer TLS; set ssl = on there, or allow connections that are not encrypted with sslmode=prefer".to_owned();
    }
    text
}
