//! The kinds of check.

use serde::{Deserialize, Serialize};

/// How a block is checked. The numbers are those of the type field in block headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Method {
    /// The fields of the header only.
    Meta = 1,
    /// MD5.
    Md5 = 2,
    /// CRC-64 with the polynomial of D. Jones.
    Crc64 = 3,
    /// CRC-32, not reflected, start value 0.
    Crc32 = 4,
    /// CRC-32C.
    Crc32c = 5,
    /// CRC-16 (ARC).
    Crc16 = 7,
    /// CRC-7 (MMC).
    Crc7 = 8,
    /// SHA-256.
    Sha256 = 9,
    /// SHA-512.
    Sha512 = 10,
    /// SHA3-224.
    Sha3_224 = 11,
    /// SHA3-256.
    Sha3_256 = 12,
    /// SHA3-384.
    Sha3_384 = 13,
    /// SHA3-512.
    Sha3_512 = 14,
    /// xxHash of 32 bits, seed 1.
    Xxhash = 15,
    /// SHA-1.
    Sha1 = 16,
    /// A pattern after a header.
    PatternHeader = 17,
    /// A pattern and nothing else.
    Pattern = 18,
    /// Nothing is checked.
    Null = 19,
}

impl Method {
    /// All kinds.
    pub const ALL: [Method; 18] = [
        Method::Meta,
        Method::Md5,
        Method::Crc64,
        Method::Crc32,
        Method::Crc32c,
        Method::Crc16,
        Method::Crc7,
        Method::Sha256,
        Method::Sha512,
        Method::Sha3_224,
        Method::Sha3_256,
        Method::Sha3_384,
        Method::Sha3_512,
        Method::Xxhash,
        Method::Sha1,
        Method::PatternHeader,
        Method::Pattern,
        Method::Null,
    ];

    /// The word in `verify=` and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Method::Meta => "meta",
            Method::Md5 => "md5",
            Method::Crc64 => "crc64",
            Method::Crc32 => "crc32",
            Method::Crc32c => "crc32c",
            Method::Crc16 => "crc16",
            Method::Crc7 => "crc7",
            Method::Sha256 => "sha256",
            Method::Sha512 => "sha512",
            Method::Sha3_224 => "sha3-224",
            Method::Sha3_256 => "sha3-256",
            Method::Sha3_384 => "sha3-384",
            Method::Sha3_512 => "sha3-512",
            Method::Xxhash => "xxhash",
            Method::Sha1 => "sha1",
            Method::PatternHeader => "pattern_hdr",
            Method::Pattern => "pattern",
            Method::Null => "null",
        }
    }

    /// The method with this number in a header.
    pub fn of_code(code: u8) -> Option<Method> {
        Method::ALL.into_iter().find(|method| *method as u8 == code)
    }

    /// True when blocks begin with a header.
    pub fn has_header(self) -> bool {
        !matches!(self, Method::Pattern | Method::Null)
    }

    /// Bytes between the header and the data, kept for the checksum.
    pub fn checksum_room(self) -> usize {
        match self {
            Method::Md5 => 16,
            Method::Crc64 => 8,
            Method::Crc32 | Method::Crc32c | Method::Xxhash => 4,
            Method::Crc16 => 2,
            Method::Crc7 => 1,
            Method::Sha256 => 64,
            Method::Sha512 => 128,
            Method::Sha3_224 => 28,
            Method::Sha3_256 => 32,
            Method::Sha3_384 => 48,
            Method::Sha3_512 => 64,
            Method::Sha1 => 20,
            Method::Meta | Method::PatternHeader | Method::Pattern | Method::Null => 0,
        }
    }
}
