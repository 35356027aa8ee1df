//! Errors of devices and namespaces that concern a job or its I/Os.

use super::{describe_refusal, status};
use crate::protection::ProtectionError;
use crate::sg::ScsiError;
use fathom_errors::plain;
use fathom_sys::Errno;
use fathom_sys::nvme::Refusal;
use std::io;
use thiserror::Error;

/// Why an I/O cannot be sent as a command, or failed.
#[derive(Clone, Debug, Error)]
pub(super) enum CommandError {
    /// The I/O does not consist of whole blocks, but NVMe addresses are block numbers.
    #[error(
        "commands cover whole blocks of {}, of {} bytes, not offset={} length={}",
        .0.device, .0.block, .0.offset, .0.length
    )]
    PartOfBlock(Asked),
    /// The I/O has too many blocks for the 16-bit field of a command.
    #[error("{device}: a command covers at most {most} blocks: use a smaller bs=")]
    TooLong { device: String, most: u64 },
    /// The I/O does not consist of whole blocks, but SCSI addresses are block numbers.
    #[error("commands cover whole blocks: {0}")]
    PartOfScsiBlock(Asked),
    /// The I/O is beyond the last address that the job's command format can express.
    #[error("commands of the length cdb_len= do not reach this far: {0}")]
    OutOfReach(Asked),
    /// The controller returned this status.
    #[error("{}", status::describe(*.0))]
    Status(u16),
    /// The disk's response.
    #[error(transparent)]
    Scsi(#[from] ScsiError),
    /// The protection information shows that the data differs from what was written.
    #[error(transparent)]
    Protection(#[from] ProtectionError),
    /// The command exceeds the controller's limit.
    #[error("{device} takes at most {limit} bytes per command: use a smaller bs=")]
    TooLarge { device: String, limit: u64 },
    /// The user lacks the privilege to send the command.
    #[error("the kernel only passes this command on for administrators (CAP_SYS_ADMIN)")]
    NotAllowed,
    /// The kernel cannot send the command.
    #[error("this kernel does not support SCSI commands through io_uring (Linux 7.1 does): use ioengine=sg")]
    NoScsi,
}

/// The range of an I/O that does not consist of whole blocks.
#[derive(Clone, Debug, Error)]
#[error("{device} has blocks of {block} bytes, not offset={offset} length={length}")]
pub(super) struct Asked {
    pub(super) device: String,
    pub(super) block: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// Why a namespace cannot be identified.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NamespaceError {
    /// The device has no namespace.
    #[error("{0}")]
    NoNumber(#[from] Errno),
    /// The device does not describe its namespace.
    #[error("{}", describe_refusal(*.0))]
    NotDescribed(Refusal),
    /// The block format is unknown, or the response is truncated.
    #[error("it reports no known block size")]
    UnknownBlocks,
    /// The device's description of its metadata leaves no room for protection information.
    #[error("it has more protection information than metadata")]
    NoRoomForProtection,
}

/// Why a job does not match a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum MisfitError {
    /// The job's block size is not a multiple of the namespace's.
    #[error(
        "{name}: block size must be a multiple of LBA data size\nfathom: {name} has blocks of {block} bytes, and bs={shortest}"
    )]
    PartOfBlock { name: String, block: u64, shortest: u64 },
    /// The job's block size is not a multiple of the namespace's data plus metadata.
    #[error(
        "{name}: block size must be a multiple of {block} (LBA data size + Metadata size)\n\
         Did you mean to use a block size of {better}?"
    )]
    PartOfExtendedBlock { name: String, block: u64, better: u64 },
    /// The namespace's checksums can be generated only by the controller.
    #[error("{0}: 32-bit guards cannot be generated here: use pi_act=1")]
    WideGuards(String),
    /// The header of `verify` and the protection information would occupy the same place.
    #[error(
        "{0}: for extended LBA, verify cannot be used when E2E data protection is enabled\nfathom: protection \
        information would be in the middle of the checked data; use pi_act=1"
    )]
    VerifiesProtected(String),
    /// The metadata buffers are too small.
    #[error("{name}: md_per_io_size should be at least {needed} bytes")]
    TooLittleMetadata { name: String, needed: u64 },
}

/// Why a placement file cannot be used.
#[derive(Debug, Error)]
pub(super) enum SchemeError {
    /// The file cannot be read.
    #[error("dp_scheme={path}: {error}", error = plain(.error))]
    Unreadable { path: String, error: io::Error },
    /// A line of the file is not a range.
    #[error(
        "{path}: line {number} is `{line}`, but should be three numbers: the first byte, the one after the last, and the index of an identifier"
    )]
    NoRange { path: String, number: usize, line: String },
}
