//! Reasons for which a store cannot be used: what, where, and what to do.

use crate::schema::SCHEMA;
use std::path::PathBuf;
use thiserror::Error;

/// Why a store could not be opened, read or written. Nothing of a run is stored after any of them but
/// [`Error::Uncertain`].
#[derive(Debug, Error)]
pub enum Error {
    /// No store exists there.
    #[error("{place}: no history there yet; fathom history add RESULT creates it")]
    Missing {
        /// The store.
        place: String,
    },
    /// The store was removed while it was not open.
    #[error("{place}: the history that was there before the run is gone; restore it")]
    Gone {
        /// The store.
        place: String,
    },
    /// A file that is not a store.
    #[error("{}: this file is not a history of fathom; name another one with --store", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A store of a later version.
    #[error(
        "{place}: the history has schema version {found}, and this version of fathom knows versions up to {SCHEMA}; use the newer fathom that wrote it"
    )]
    Newer {
        /// The store.
        place: String,
        /// Its version.
        found: i64,
    },
    /// The file or its directory cannot be written.
    #[error(
        "{place}: the history cannot be written: {why}; make the file and its directory writable, or name another one with --store"
    )]
    ReadOnly {
        /// The store.
        place: String,
        /// The reason as the system gives it.
        why: String,
    },
    /// Another program holds the lock.
    #[error(
        "{place}: another program has kept the history locked for {seconds} s; try again when it has finished"
    )]
    Locked {
        /// The store.
        place: String,
        /// How long was waited.
        seconds: u64,
    },
    /// No answer.
    #[error(
        "{place}: the server has not answered for {seconds} s; nothing of an unfinished change is stored; check the server and the network, then try again"
    )]
    Silent {
        /// The store.
        place: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The connection failed while the server was to store a change for good.
    #[error(
        "{place}: {why} while the change was to be stored, so it may or may not be there; make it again when the server answers: no run is stored twice"
    )]
    Uncertain {
        /// The store.
        place: String,
        /// The reason.
        why: String,
    },
    /// No space.
    #[error(
        "{place}: no space left there; nothing of this run was stored; free some space, or name another place with --store"
    )]
    Full {
        /// The store.
        place: String,
    },
    /// The content is not what this program writes.
    #[error("the history is damaged: {what}; restore it from a backup, or start another one with --store")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// Any other failure of the system or of the database.
    #[error("{place}: {why}")]
    Other {
        /// The store.
        place: String,
        /// The reason.
        why: String,
    },
    /// A URL with a password.
    #[error(
        "--store: the URL of {place} contains a password, which other users of this machine could read; put it into ~/.pgpass, the file of PGPASSFILE, or PGPASSWORD"
    )]
    PasswordInUrl {
        /// The server, without the password.
        place: String,
    },
    /// A URL that cannot be used.
    #[error("`{url}`: {why}; write postgres://USER@HOST:PORT/DATABASE")]
    Url {
        /// The URL, without a password.
        url: String,
        /// The reason.
        why: String,
    },
    /// A condition that cannot be used.
    #[error("`{text}`: {why}")]
    Condition {
        /// The text of the user.
        text: String,
        /// The reason.
        why: String,
    },
    /// No run with this number.
    #[error("{place}: there is no run {id}; fathom history list lists the runs")]
    NoRun {
        /// The store.
        place: String,
        /// The number.
        id: i64,
    },
}
