//! The header at the start of every verified interval. All numbers are little-endian. Two layouts are in use:
//! the current one of 48 bytes, which has a version number, and the first one of 40 bytes, which the fio of
//! most distributions still writes.

use crate::write::Write;
use serde::{Deserialize, Serialize};

/// First two bytes of a header.
pub const MAGIC: u16 = 0xacca;
/// Version number of the current layout.
const VERSION: u8 = 0x81;

/// The layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HeaderFormat {
    /// 48 bytes, since fio's data format has a version number.
    Current,
    /// 40 bytes, without a version number; fio 3.33 writes it.
    First,
}

impl HeaderFormat {
    /// Returns the size of a header in bytes.
    pub fn length(self) -> usize {
        match self {
            HeaderFormat::Current => 48,
            HeaderFormat::First => 40,
        }
    }

    /// Returns the layout that the bytes declare; `expected` if they declare neither layout.
    pub fn of(bytes: &[u8], expected: HeaderFormat) -> HeaderFormat {
        match bytes {
            [_, _, VERSION, ..] => HeaderFormat::Current,
            // In the first layout, this byte is the high byte of a small number.
            [_, _, _, 0, ..] => HeaderFormat::First,
            _ => expected,
        }
    }

    /// Returns the number of a write as a header stores it; the first layout keeps 16 bits.
    pub fn number(self, number: u64) -> u64 {
        match self {
            HeaderFormat::Current => number,
            HeaderFormat::First => number & 0xffff,
        }
    }

    /// Returns the number of bytes that the checksum of the header covers. The checksum follows these bytes.
    pub(crate) fn covered(self) -> usize {
        self.length() - 4
    }
}

/// The content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The magic number: [`MAGIC`] in an undamaged header.
    pub magic: u16,
    /// Layout.
    pub format: HeaderFormat,
    /// Number of the method; exceeds a byte in an unknown version.
    pub kind: u16,
    /// Length of the interval in bytes.
    pub length: u32,
    /// Seed of the whole write; 0 with a pattern.
    pub seed: u64,
    /// Offset of the interval in its file.
    pub offset: u64,
    /// Time of the write on the monotonic clock: seconds.
    pub seconds: u32,
    /// Nanoseconds of the time.
    pub nanoseconds: u32,
    /// Number of writes that the job had issued before.
    pub number: u64,
    /// Number of the clone; the first is 1.
    pub thread: u16,
    /// CRC-32C of the preceding fields.
    pub checksum: u32,
}

impl Header {
    /// Decodes the header at the start of an interval; `None` if the interval is too short. `expected` is the
    /// layout if the bytes do not declare one.
    pub fn decode(bytes: &[u8], expected: HeaderFormat) -> Option<Header> {
        let format = HeaderFormat::of(bytes, expected);
        let fields = bytes.get(..format.length())?;
        let u16_at = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let (kind, number, thread) = match format {
            HeaderFormat::Current if fields[2] == VERSION => (u16::from(fields[3]), u64_at(32), u16_at(40)),
            HeaderFormat::Current => (u16_at(2), u64_at(32), u16_at(40)),
            HeaderFormat::First => (u16_at(2), u64::from(u16_at(34)), u16_at(32)),
        };
        Some(Header {
            magic: u16_at(0),
            format,
            kind,
            length: u32_at(4),
            seed: u64_at(8),
            offset: u64_at(16),
            seconds: u32_at(24),
            nanoseconds: u32_at(28),
            number,
            thread,
            checksum: u32_at(format.covered()),
        })
    }

    /// Encodes the header with its checksum at the start of `bytes`, which must have room for it. Two unused
    /// bytes of the current layout stay unchanged.
    pub fn encode(&self, bytes: &mut [u8]) {
        let is_narrow = self.format == HeaderFormat::Current;
        assert!(!is_narrow || self.kind <= 0xff, "method {} does not fit the header of a block", self.kind);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &self.magic.to_le_bytes());
        put(4, &self.length.to_le_bytes());
        put(8, &self.seed.to_le_bytes());
        put(16, &self.offset.to_le_bytes());
        put(24, &self.seconds.to_le_bytes());
        put(28, &self.nanoseconds.to_le_bytes());
        match self.format {
            HeaderFormat::Current => {
                put(2, &[VERSION, self.kind as u8]);
                put(32, &self.number.to_le_bytes());
                put(40, &self.thread.to_le_bytes());
            }
            HeaderFormat::First => {
                put(2, &self.kind.to_le_bytes());
                put(32, &self.thread.to_le_bytes());
                put(34, &(self.number as u16).to_le_bytes());
            }
        }
        let checksum = Header::checksum_of(bytes, self.format);
        bytes[self.format.covered()..self.format.length()].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Returns the time of the write in ns.
    pub fn time_ns(&self) -> u64 {
        u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nanoseconds)
    }

    /// Returns the write that the header describes, if the write began at `offset`.
    pub fn write_at(&self, offset: u64) -> Write {
        Write {
            seed: self.seed,
            offset,
            number: self.number,
            thread: self.thread,
            time: (self.seconds, self.nanoseconds),
        }
    }

    /// Computes the checksum that the header at the start of `bytes` should contain.
    pub fn checksum_of(bytes: &[u8], format: HeaderFormat) -> u32 {
        !crc_fast::crc32_iscsi(&bytes[..format.covered()])
    }

    /// True if the header is intact: magic number and checksum are right.
    pub fn is_sound(&self, bytes: &[u8]) -> bool {
        self.magic == MAGIC && self.checksum == Header::checksum_of(bytes, self.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first header of a file that fio 3.33 wrote with verify=md5.
    const FIRST: [u8; 40] = [
        0xca, 0xac, 0x02, 0x00, 0x00, 0x10, 0x00, 0x00, 0x3c, 0x54, 0x09, 0xc5, 0x01, 0xcc, 0xa4, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xed, 0x99, 0x41, 0x06, 0x01, 0x00,
        0x00, 0x00, 0x07, 0xb4, 0xe7, 0x70,
    ];

    #[test]
    fn a_header_of_fio_3_33() {
        let header = Header::decode(&FIRST, HeaderFormat::Current).expect("room");
        assert!(header.is_sound(&FIRST), "{:x}", Header::checksum_of(&FIRST, HeaderFormat::First));
        assert_eq!((header.kind, header.length, header.offset), (2, 4096, 0));
        assert_eq!((header.seed, header.number, header.thread), (46_386_204_153_304_124, 0, 1));
        let mut again = [0; 40];
        header.encode(&mut again);
        assert_eq!(again, FIRST);
    }

    #[test]
    fn the_current_layout() {
        let header = Header {
            magic: MAGIC,
            format: HeaderFormat::Current,
            kind: 5,
            length: 512,
            seed: 7,
            offset: 1 << 40,
            seconds: 3,
            nanoseconds: 4,
            number: 1 << 33,
            thread: 9,
            checksum: 0,
        };
        let mut bytes = [0xee; 48];
        header.encode(&mut bytes);
        assert_eq!(bytes[..4], [0xca, 0xac, 0x81, 5]);
        assert_eq!(bytes[42..44], [0xee, 0xee]);
        let read = Header::decode(&bytes, HeaderFormat::First).expect("room");
        assert!(read.is_sound(&bytes));
        assert_eq!(Header { checksum: 0, ..read }, header);
    }
}
