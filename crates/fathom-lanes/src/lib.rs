//! Multi-buffer MD5 and SHA-512: several messages of equal length are hashed together, one per SIMD lane.
//!
//! Every step of these hashes depends on the previous one, so SIMD cannot speed up a single message. Independent messages take the same
//! steps on different data.

#[cfg(target_arch = "x86_64")]
mod md5;
#[cfg(target_arch = "x86_64")]
mod padding;
#[cfg(target_arch = "x86_64")]
mod sha512;
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "elsewhere.rs")]
mod vectors;

pub use vectors::Vectors;

/// Messages per MD5 call.
pub const MD5_LANES: usize = 8;

/// Messages per SHA-512 call.
pub const SHA512_LANES: usize = 4;
