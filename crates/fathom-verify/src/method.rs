//! The verification methods: the only list of them. All checksums come from libraries; this list defines the
//! variant of each and the order of its bytes. The values match fio's, except for SHA-2, for which
//! `checksum/fio_fields.rs` computes the values that fio stores.

use crate::header::HeaderFormat;
use crate::sum::Checksum;
use crc_fast::CrcAlgorithm;
use serde::{Deserialize, Serialize};
use sha2::Digest;

/// Declares a method per line: its help, its name in the code, its number in block headers, its name in
/// `verify=`, `--crctest=` and messages, the size of its checksum field after the header, and, if it has one,
/// the checksum.
macro_rules! methods {
    ($( #[doc = $about:literal] $Method:ident = $code:literal, $word:literal, $room:literal $(, $sum:expr)?; )+) => {
        /// A verification method. The numbers are those of the type field in block headers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Method {
            $( #[doc = $about] $Method = $code, )+
        }

        impl Method {
            /// All methods, in the order in which they are listed.
            pub const ALL: &'static [Method] = &[$( Method::$Method ),+];

            /// Returns the name in `verify=` and in messages.
            pub const fn word(self) -> &'static str {
                match self { $( Method::$Method => $word, )+ }
            }

            /// A short description.
            pub const fn about(self) -> &'static str {
                match self { $( Method::$Method => $about.trim_ascii(), )+ }
            }

            /// Returns the size of the checksum field between the header and the data.
            pub const fn checksum_room(self) -> usize {
                match self { $( Method::$Method => $room, )+ }
            }

            /// Returns the checksum function, if the method has one.
            pub fn function(self) -> Option<fn(&[u8]) -> Checksum> {
                match self { $( Method::$Method => methods!(@function $($sum)?), )+ }
            }
        }
    };
    (@function) => { None };
    (@function $sum:expr) => { Some($sum) };
}

methods! {
    /// MD5
    Md5 = 2, "md5", 16, |data| Checksum::of_bytes(&fast_md5::digest(data));
    /// 64-bit CRC
    Crc64 = 3, "crc64", 8, |data| Checksum::of_bytes(&crc_fast::checksum(CrcAlgorithm::Crc64Redis, data).to_le_bytes());
    // "cksum" without its final step: not reflected, initial value 0.
    /// 32-bit CRC
    Crc32 = 4, "crc32", 4, |data| Checksum::of_bytes(&(!(crc_fast::checksum(CrcAlgorithm::Crc32Cksum, data) as u32)).to_le_bytes());
    // The usual CRC-32C without its final step.
    /// CRC32C
    Crc32c = 5, "crc32c", 4, |data| Checksum::of_bytes(&(!crc_fast::crc32_iscsi(data)).to_le_bytes());
    /// 16-bit CRC
    Crc16 = 7, "crc16", 2, |data| Checksum::of_bytes(&(crc_fast::checksum(CrcAlgorithm::Crc16Arc, data) as u16).to_le_bytes());
    /// 7-bit CRC
    Crc7 = 8, "crc7", 1, |data| Checksum::of_bytes(&[CRC7.checksum(data)]);
    /// SHA-1
    Sha1 = 16, "sha1", 20, |data| Checksum::of_bytes(&sha1::Sha1::digest(data)).with_turned_words(4);
    // The field is larger than the digest: `checksum/fio_fields.rs`.
    /// SHA-256
    Sha256 = 9, "sha256", 64, |data| Checksum::of_bytes(&sha2::Sha256::digest(data));
    /// SHA-512
    Sha512 = 10, "sha512", 128, |data| Checksum::of_bytes(&sha2::Sha512::digest(data));
    /// SHA3-224
    Sha3_224 = 11, "sha3-224", 28, |data| Checksum::of_bytes(&sha3::Sha3_224::digest(data));
    /// SHA3-256
    Sha3_256 = 12, "sha3-256", 32, |data| Checksum::of_bytes(&sha3::Sha3_256::digest(data));
    /// SHA3-384
    Sha3_384 = 13, "sha3-384", 48, |data| Checksum::of_bytes(&sha3::Sha3_384::digest(data));
    /// SHA3-512
    Sha3_512 = 14, "sha3-512", 64, |data| Checksum::of_bytes(&sha3::Sha3_512::digest(data));
    // 32 bits, with seed 1.
    /// xxHash
    Xxhash = 15, "xxhash", 4, |data| Checksum::of_bytes(&twox_hash::XxHash32::oneshot(1, data).to_le_bytes());
    /// Header fields only
    Meta = 1, "meta", 0;
    /// Pattern without header
    Pattern = 18, "pattern", 0;
    /// Pattern with header
    PatternHeader = 17, "pattern_hdr", 0;
    /// Write headers, check nothing
    Null = 19, "null", 0;
}

const CRC7: crc::Crc<u8, crc::Table<16>> = crc::Crc::<u8, crc::Table<16>>::new(&crc::CRC_7_MMC);

impl Method {
    /// Returns the method with this number in a header.
    pub fn of_code(code: u8) -> Option<Method> {
        Method::ALL.iter().copied().find(|method| *method as u8 == code)
    }

    /// Returns the method with this name.
    pub fn of_word(word: &str) -> Option<Method> {
        Method::ALL.iter().copied().find(|method| method.word() == word)
    }

    /// True if blocks begin with a header.
    pub fn has_header(self) -> bool {
        !matches!(self, Method::Pattern | Method::Null)
    }

    /// Returns the number of bytes of a header of this layout and the checksum together.
    pub fn header_room(self, format: HeaderFormat) -> usize {
        if self.has_header() { format.length() + self.checksum_room() } else { 0 }
    }
}
