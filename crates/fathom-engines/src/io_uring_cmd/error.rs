//! What a device, or a namespace, has against a job and its I/Os.

use super::{describe_refusal, status};
use crate::protection::ProtectionError;
use crate::sg::ScsiError;
use fathom_sys::Errno;
use fathom_sys::nvme::Refusal;
use std::io;
use thiserror::Error;

/// Why an I/O is no command, or failed as one.
#[derive(Clone, Debug, Error)]
pub(super) enum CommandError {
    /// Addresses of NVMe are those of blocks.
    #[error(
        "commands cover whole blocks of {}, of {} bytes, not offset={} length={}",
        .0.device, .0.block, .0.offset, .0.length
    )]
    PartOfBlock(Asked),
    /// The number of blocks has 16 bits.
    #[error("{device}: a command covers at most {most} blocks: use a smaller bs=")]
    TooLong { device: String, most: u64 },
    /// Addresses of SCSI are those of blocks.
    #[error("commands cover whole blocks: {0}")]
    PartOfScsiBlock(Asked),
    /// Short commands have short addresses.
    #[error("commands of the length that cdb_len wants do not reach this far: {0}")]
    OutOfReach(Asked),
    /// The controller's status.
    #[error("{}", status::describe(*.0))]
    Status(u16),
    /// The disk's answer.
    #[error(transparent)]
    Scsi(#[from] ScsiError),
    /// Blocks that are not those that were written.
    #[error(transparent)]
    Protection(#[from] ProtectionError),
    /// More than the controller moves with one command.
    #[error("{device} takes at most {limit} bytes at once: use a smaller bs=")]
    TooLarge { device: String, limit: u64 },
    /// The user may not send it.
    #[error("the kernel passes this command on for those who may administer the system (CAP_SYS_ADMIN)")]
    NotAllowed,
    /// The kernel cannot send it.
    #[error("this kernel takes no SCSI commands through io_uring (Linux 7.1 does): use ioengine=sg")]
    NoScsi,
}

/// What an I/O asks of a device.
#[derive(Clone, Debug, Error)]
#[error("{device} has blocks of {block} bytes, not offset={offset} length={length}")]
pub(super) struct Asked {
    pub(super) device: String,
    pub(super) block: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// Why a namespace is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NamespaceError {
    /// The device has none.
    #[error("{0}")]
    NoNumber(#[from] Errno),
    /// The device does not describe it.
    #[error("{}", describe_refusal(*.0))]
    NotDescribed(Refusal),
    /// Formats that this program does not know, or an answer that is cut short.
    #[error("it names blocks of no known size")]
    UnknownBlocks,
    /// What the device says of its metadata contradicts itself.
    #[error("it has more protection information than metadata")]
    NoRoomForProtection,
}

/// Why a job does not fit a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum MisfitError {
    /// Blocks of data that are not blocks of the namespace.
    #[error(
        "{name}: block size must be a multiple of LBA data size\nfathom: {name} has blocks of {block} bytes, and bs={shortest}"
    )]
    PartOfBlock { name: String, block: u64, shortest: u64 },
    /// Blocks of data and metadata that are not blocks of the namespace.
    #[error(
        "{name}: block size must be a multiple of {block} (LBA data size + Metadata size)\n\
         Did you mean to use a block size of {better}?"
    )]
    PartOfExtendedBlock { name: String, block: u64, better: u64 },
    /// A checksum that only controllers make.
    #[error("{0}: guards of 32 bits are not made here: use pi_act=1")]
    WideGuards(String),
    /// Two kinds of headers in one place.
    #[error(
        "{0}: for extended LBA, verify cannot be used when E2E data protection is enabled\n\
         fathom: protection information would lie in the middle of what is checked; use pi_act=1"
    )]
    VerifiesProtected(String),
    /// No room for metadata.
    #[error("{name}: md_per_io_size should be at least {needed} bytes")]
    TooLittleMetadata { name: String, needed: u64 },
}

/// Why a file says nothing on where data goes.
#[derive(Debug, Error)]
pub(super) enum SchemeError {
    /// The system does not give it.
    #[error("dp_scheme={path}: {error}")]
    Unreadable { path: String, error: io::Error },
    /// A line that is no range.
    #[error(
        "{path}: line {number} is `{line}`, but should be three numbers: the first byte, the one after the last, and the index of an identifier"
    )]
    NoRange { path: String, number: usize, line: String },
}
