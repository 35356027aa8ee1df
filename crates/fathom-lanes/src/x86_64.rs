//! AVX2.

use crate::{MD5_LANES, SHA512_LANES, md5, sha512};

/// Proof that the processor supports the vector instructions in use.
#[derive(Clone, Copy, Debug)]
pub struct Vectors(());

impl Vectors {
    /// `None` if the processor lacks AVX2.
    pub fn find() -> Option<Vectors> {
        is_x86_feature_detected!("avx2").then_some(Vectors(()))
    }

    /// MD5 of messages of equal length.
    pub fn md5(self, messages: [&[u8]; MD5_LANES]) -> [[u8; 16]; MD5_LANES] {
        // SAFETY: a value of this type exists, so the processor has AVX2.
        unsafe { md5::digests(messages) }
    }

    /// SHA-512 of messages of equal length.
    pub fn sha512(self, messages: [&[u8]; SHA512_LANES]) -> [[u8; 64]; SHA512_LANES] {
        // SAFETY: a value of this type exists, so the processor has AVX2.
        unsafe { sha512::digests(messages) }
    }
}
