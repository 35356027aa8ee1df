//! Errors when loading an external engine.

use super::interface::{SYMBOL, VERSION};
use crate::net::library::LibraryError;
use fathom_errors::plain;
use fathom_spec::engines::loaded::UnfitOption;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A shared object that was refused, and the reason.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub struct LoadError {
    /// The file.
    pub(super) path: PathBuf,
    /// The error.
    pub(super) fault: Fault,
}

/// Why a shared object is refused.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// It cannot be read.
    #[error("{}", plain(.0))]
    Unreadable(#[from] io::Error),
    /// The path is a directory or a device.
    #[error("is not a file")]
    NoFile,
    /// The file is not an ELF file.
    #[error("is not a shared object; {PAGE}")]
    NoObject,
    /// An engine written for fio, recognised by this symbol.
    #[error(
        "is an engine for fio ({0}), which depends on the structures of one version of fio; fathom has a \
        different interface, include/fathom_engine.h: {PAGE}"
    )]
    ForFio(&'static str),
    /// The library has no entry function, so it is not an engine.
    #[error("exports no {SYMBOL}; {PAGE}")]
    NoEntry,
    /// The system cannot load it.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Loading the library starts a thread, but workers are forked from a single-threaded process.
    #[error("starts a thread when it is loaded; workers are forked without it, so open() has to start it")]
    StartsThread,
    /// The library has no engine for this version of the interface.
    #[error("does not support version {VERSION} of the interface, which this fathom uses")]
    UnknownVersion,
    /// The engine was built for another version of the interface.
    #[error(
        "uses version {0} of the interface, this fathom version {VERSION}: build it with its include/fathom_engine.h"
    )]
    OtherVersion(u32),
    /// Undefined bits.
    #[error("has capabilities that version {VERSION} does not have: {0:#x}")]
    UnknownCapabilities(u32),
    /// The library lacks a function that its capabilities require.
    #[error("has no function {0} in its struct fathom_engine")]
    NoFunction(&'static str),
    /// A numeric field has an impossible value.
    #[error("claims {0} options")]
    TooManyOptions(u64),
    /// An option without a name.
    #[error("has an option without a name")]
    NamelessOption,
    /// An option of an unknown type.
    #[error("has an option {name} of an unknown type, {kind}")]
    UnknownType { name: String, kind: u32 },
    /// An option with a name that jobs cannot use.
    #[error(transparent)]
    UnfitOption(#[from] UnfitOption),
}

/// The documentation page on writing an engine.
const PAGE: &str = "docs/external.md says how to write an engine";
