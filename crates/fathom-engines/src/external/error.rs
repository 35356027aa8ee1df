//! Why the engine in a shared object is not used.

use super::interface::{SYMBOL, VERSION};
use crate::net::library::LibraryError;
use fathom_spec::engines::loaded::UnfitOption;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A shared object, and what is wrong with it.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub struct LoadError {
    /// The file.
    pub(super) path: PathBuf,
    /// What is wrong.
    pub(super) fault: Fault,
}

/// What is wrong with a shared object.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// The system does not give it.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// A directory or a device.
    #[error("is no file")]
    NoFile,
    /// No ELF file.
    #[error("is no shared object; {PAGE}")]
    NoObject,
    /// An engine for fio, which has this symbol.
    #[error(
        "is an engine for fio ({0}), which works on structures of one version of fio; \
         the interface of fathom is another, include/fathom_engine.h: {PAGE}"
    )]
    ForFio(&'static str),
    /// No engine at all.
    #[error("exports no {SYMBOL}; {PAGE}")]
    NoEntry,
    /// The system cannot load it.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Workers are copies of a process with one thread.
    #[error("starts a thread when it is loaded; the workers of a run begin without it, so open() has to")]
    StartsThread,
    /// It gives no engine for this version.
    #[error("does not know version {VERSION} of the interface, which is that of this fathom")]
    UnknownVersion,
    /// It gives an engine for another version.
    #[error(
        "speaks version {0} of the interface, this fathom version {VERSION}: build it with its include/fathom_engine.h"
    )]
    OtherVersion(u32),
    /// Bits that mean nothing.
    #[error("has capabilities that version {VERSION} does not have: {0:#x}")]
    UnknownCapabilities(u32),
    /// A function that its capabilities need.
    #[error("has no function {0} in its struct fathom_engine")]
    NoFunction(&'static str),
    /// A number that cannot be.
    #[error("claims {0} options")]
    TooManyOptions(u64),
    /// An option that cannot be named.
    #[error("has an option without a name")]
    NamelessOption,
    /// An option with values of an unknown kind.
    #[error("has an option {name} of an unknown type, {kind}")]
    UnknownType { name: String, kind: u32 },
    /// An option that does not fit into jobs.
    #[error(transparent)]
    UnfitOption(#[from] UnfitOption),
}

/// What tells how to write an engine.
const PAGE: &str = "docs/external.md says how to write an engine";
