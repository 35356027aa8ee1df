//! Why there is no logical unit to work on.

use crate::net::library::LibraryError;
use fathom_sys::Errno;
use thiserror::Error;

/// What is wrong with the name of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UnitError {
    /// A password, which is not shown.
    #[error(
        "a password does not belong in filename=, where everybody can read it: put user and password in the environment \
         variables LIBISCSI_CHAP_USERNAME and LIBISCSI_CHAP_PASSWORD"
    )]
    Password,
    /// Not the URL of a unit.
    #[error(
        "{0} is no URL of iSCSI; a logical unit is named as in filename=iscsi\\://host\\:3260/iqn.2026-01.org.example\\:disk/1"
    )]
    NoUrl(String),
    /// A port that is no number of 16 bits.
    #[error("{text}: {port} is no port")]
    NoPort { text: String, port: String },
    /// A unit that is no number.
    #[error("{text}: {lun} is no number of a logical unit")]
    NoNumber { text: String, lun: String },
}

/// Why there is no session with a target.
#[derive(Debug, Error)]
pub(super) enum SessionError {
    /// What to connect to.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// What to connect with.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A name that C cannot hold.
    #[error("{0:?} has a zero byte in it")]
    ZeroByte(String),
    /// A name or password that C cannot hold.
    #[error("user and password must not have a zero byte in them")]
    ZeroByteInUser,
    /// A user alone proves nothing.
    #[error("there is a user but no password: put it into the environment variable LIBISCSI_CHAP_PASSWORD")]
    NoPassword,
    /// The library has no memory.
    #[error("libiscsi cannot make a session")]
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
    /// Structures that are not those that the engine was built for.
    #[error("this release of libiscsi is not known")]
    UnknownRelease,
    /// The target's answer has no size in it.
    #[error("the target does not say how large the unit is")]
    NoSize,
    /// A unit that cannot hold anything.
    #[error("the target says that the unit's blocks have no bytes")]
    EmptyBlocks,
}

/// What libiscsi says of its last error.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Said(pub(super) String);
