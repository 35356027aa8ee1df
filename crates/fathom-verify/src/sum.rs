//! A stored checksum.

/// Maximum length of a checksum in bytes.
pub const LONGEST: usize = 64;

/// A checksum: its bytes in the order in which they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Checksum {
    /// Value for methods without a checksum.
    pub(crate) const NONE: Checksum = Checksum { bytes: [0; LONGEST], length: 0 };

    pub(crate) fn of_bytes(value: &[u8]) -> Checksum {
        let mut bytes = [0; LONGEST];
        bytes[..value.len()].copy_from_slice(value);
        Checksum { bytes, length: value.len() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the same value with the bytes of each `word`-byte word swapped.
    pub(crate) fn with_turned_words(&self, word: usize) -> Checksum {
        let mut turned = *self;
        turned.bytes[..self.length].chunks_mut(word).for_each(<[u8]>::reverse);
        turned
    }
}
