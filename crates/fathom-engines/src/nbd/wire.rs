//! Wire format: the constants of the NBD protocol (doc/proto.md of the NBD project), requests, and the headers
//! of replies. All numbers are big-endian.

/// `NBDMAGIC`, the greeting of a server.
pub(super) const GREETING: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`: the server accepts options. Each option starts with it as well.
pub(super) const OPTIONS: u64 = 0x4948_4156_454f_5054;
/// Greeting of an old-style server, which has one export and no options.
pub(super) const OLD_STYLE: u64 = 0x0000_4202_8186_1253;
/// Magic number of a reply to an option.
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of the greeting, which the client sends back.
pub(super) mod greeting {
    /// Flag: replies to options have a fixed format.
    pub(in crate::nbd) const FIXED_NEW_STYLE: u16 = 1;
    /// Flag: omit the 124 zeroes after the old option that selects an export.
    pub(in crate::nbd) const NO_ZEROES: u16 = 2;
}

/// Options of the negotiation.
pub(super) mod option {
    pub(in crate::nbd) const EXPORT_NAME: u32 = 1;
    pub(in crate::nbd) const ABORT: u32 = 2;
    pub(in crate::nbd) const LIST: u32 = 3;
    pub(in crate::nbd) const START_TLS: u32 = 5;
    pub(in crate::nbd) const GO: u32 = 7;
    pub(in crate::nbd) const STRUCTURED_REPLY: u32 = 8;
}

/// Kinds of replies to options.
pub(super) mod reply {
    pub(in crate::nbd) const ACK: u32 = 1;
    pub(in crate::nbd) const SERVER: u32 = 2;
    pub(in crate::nbd) const INFO: u32 = 3;
    /// Bit that is set in the numbers of all errors.
    pub(in crate::nbd) const ERROR: u32 = 1 << 31;
    pub(in crate::nbd) const UNSUPPORTED: u32 = ERROR + 1;
    pub(in crate::nbd) const POLICY: u32 = ERROR + 2;
    pub(in crate::nbd) const TLS_REQUIRED: u32 = ERROR + 5;
    pub(in crate::nbd) const UNKNOWN: u32 = ERROR + 6;
    pub(in crate::nbd) const SHUTDOWN: u32 = ERROR + 7;
    pub(in crate::nbd) const BLOCK_SIZE_REQUIRED: u32 = ERROR + 8;
}

/// Kinds of information on an export.
pub(super) mod info {
    pub(in crate::nbd) const EXPORT: u16 = 0;
    pub(in crate::nbd) const BLOCK_SIZE: u16 = 3;
}

/// Capabilities of an export.
pub(super) mod transmission {
    pub(in crate::nbd) const READ_ONLY: u16 = 1 << 1;
    pub(in crate::nbd) const FLUSH: u16 = 1 << 2;
    pub(in crate::nbd) const FUA: u16 = 1 << 3;
    pub(in crate::nbd) const TRIM: u16 = 1 << 5;
    pub(in crate::nbd) const WRITE_ZEROES: u16 = 1 << 6;
    pub(in crate::nbd) const MULTI_CONN: u16 = 1 << 8;
}

/// Flags of a request.
pub(super) mod flag {
    /// Flag: the data must be durable before the reply is sent.
    pub(in crate::nbd) const FUA: u16 = 1;
}

/// Command code of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Command {
    Read = 0,
    Write = 1,
    Disconnect = 2,
    Flush = 3,
    Trim = 4,
    WriteZeroes = 6,
}

/// Length of a request in bytes, without the data of a write.
pub(super) const REQUEST_LENGTH: usize = 28;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) flags: u16,
    pub(super) command: Command,
    /// Cookie of the request, which the reply repeats.
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Request {
    #[inline]
    pub(super) fn bytes(&self) -> [u8; REQUEST_LENGTH] {
        let mut bytes = [0; REQUEST_LENGTH];
        bytes[..4].copy_from_slice(&0x2560_9513_u32.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(self.command as u16).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// The header of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyHead {
    /// A complete reply. The data of a read follows, unless the read failed.
    Simple { error: u32, cookie: u64 },
    /// One of several chunks, whose content has `length` bytes.
    Chunk { is_last: bool, kind: u16, cookie: u64, length: u32 },
}

/// Kinds of chunks.
pub(super) mod chunk {
    pub(in crate::nbd) const NONE: u16 = 0;
    pub(in crate::nbd) const DATA: u16 = 1;
    pub(in crate::nbd) const HOLE: u16 = 2;
    /// Bit that is set in the kinds of all errors.
    pub(in crate::nbd) const ERROR: u16 = 1 << 15;
}

/// A header and its length in bytes.
pub(super) type Head = Option<(ReplyHead, usize)>;

/// Parses the header at the start of these bytes; `None` if there are too few bytes.
#[inline]
pub(super) fn reply_head(bytes: &[u8]) -> Result<Head, u32> {
    let Some(magic) = u32_at(bytes, 0) else { return Ok(None) };
    match magic {
        0x6744_6698 => {
            let (Some(error), Some(cookie)) = (u32_at(bytes, 4), u64_at(bytes, 8)) else { return Ok(None) };
            Ok(Some((ReplyHead::Simple { error, cookie }, 16)))
        }
        0x668e_33ef => {
            let (Some(flags), Some(kind)) = (u16_at(bytes, 4), u16_at(bytes, 6)) else { return Ok(None) };
            let (Some(cookie), Some(length)) = (u64_at(bytes, 8), u32_at(bytes, 16)) else { return Ok(None) };
            Ok(Some((ReplyHead::Chunk { is_last: flags & 1 != 0, kind, cookie, length }, 20)))
        }
        other => Err(other),
    }
}

#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}
