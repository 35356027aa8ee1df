//! Architectures without a multi-buffer implementation.

use crate::{MD5_LANES, SHA512_LANES};

/// Uninhabited: callers hash one message at a time.
#[derive(Clone, Copy, Debug)]
pub enum Vectors {}

impl Vectors {
    /// Always `None`.
    pub fn find() -> Option<Vectors> {
        None
    }

    /// MD5 of messages of equal length.
    pub fn md5(self, _messages: [&[u8]; MD5_LANES]) -> [[u8; 16]; MD5_LANES] {
        match self {}
    }

    /// SHA-512 of messages of equal length.
    pub fn sha512(self, _messages: [&[u8]; SHA512_LANES]) -> [[u8; 64]; SHA512_LANES] {
        match self {}
    }
}
