//! Errors that concern logical units and sessions.

use crate::net::library::LibraryError;
use fathom_sys::Errno;
use thiserror::Error;

/// Why the name of a logical unit is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UnitError {
    /// The name contains a password, which is not shown.
    #[error(
        "a password does not belong in filename=, where everybody can read it: put user and password in the environment \
         variables LIBISCSI_CHAP_USERNAME and LIBISCSI_CHAP_PASSWORD"
    )]
    Password,
    /// The name is not a URL of a logical unit.
    #[error(
        "{0} is not a URL of iSCSI; a logical unit is named as in filename=iscsi\\://host\\:3260/iqn.2026-01.org.example\\:disk/1"
    )]
    NoUrl(String),
    /// A port that is not a 16-bit number.
    #[error("{text}: {port} is not a port")]
    NoPort { text: String, port: String },
    /// The LUN is not a number.
    #[error("{text}: {lun} is not a number of a logical unit")]
    NoNumber { text: String, lun: String },
}

/// Why no session with a target could be established.
#[derive(Debug, Error)]
pub(super) enum SessionError {
    /// The name of the unit is invalid.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The library cannot be loaded.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A name contains a zero byte, so it cannot be a C string.
    #[error("{0:?} has a zero byte in it")]
    ZeroByte(String),
    /// The user name or the password contains a zero byte.
    #[error("user and password must not have a zero byte in them")]
    ZeroByteInUser,
    /// A user is given without a password.
    #[error("there is a user but no password: set the environment variable LIBISCSI_CHAP_PASSWORD")]
    NoPassword,
    /// The library ran out of memory.
    #[error("libiscsi cannot create a session")]
    NoContext,
    /// The target refuses the login.
    #[error("{portal}: {said}")]
    Refused { portal: String, said: Said },
    /// The portal refuses connections.
    #[error("{portal}: {errno}; no iSCSI target listens there")]
    NotConnected { portal: String, errno: Errno },
    /// The target refuses to describe the unit.
    #[error(transparent)]
    NotDescribed(#[from] Said),
    /// An incompatible release of the library.
    #[error("this release of libiscsi is not known")]
    UnknownRelease,
    /// The target's response contains no size.
    #[error("the target does not report the size of the unit")]
    NoSize,
    /// The unit reports a block size of 0.
    #[error("the target reports blocks of 0 bytes")]
    EmptyBlocks,
}

/// libiscsi's message about its last error.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Said(pub(super) String);
