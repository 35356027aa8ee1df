//! Multi-buffer digests equal those of the scalar implementations.

use fathom_lanes::{MD5_LANES, SHA512_LANES, Vectors};
use proptest::prelude::*;
use sha2::Digest;

/// Splits the bytes into one message per lane.
fn messages<const LANES: usize>(bytes: &[u8], length: usize) -> [&[u8]; LANES] {
    std::array::from_fn(|lane| &bytes[lane * length..][..length])
}

fn md5_is_the_same(vectors: Vectors, bytes: &[u8], length: usize) {
    let messages: [&[u8]; MD5_LANES] = messages(bytes, length);
    assert_eq!(vectors.md5(messages), messages.map(fast_md5::digest), "{length} bytes");
}

fn sha512_is_the_same(vectors: Vectors, bytes: &[u8], length: usize) {
    let messages: [&[u8]; SHA512_LANES] = messages(bytes, length);
    let alone = messages.map(|message| <[u8; 64]>::from(sha2::Sha512::digest(message)));
    assert_eq!(vectors.sha512(messages), alone, "{length} bytes");
}

/// Covers every tail length, with the padding in one block or two.
#[test]
fn all_short_lengths() {
    let Some(vectors) = Vectors::find() else {
        return fathom_skip::record("the vectors of this processor are not used");
    };
    let bytes: Vec<u8> = (0..8 * 300u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for length in 0..300 {
        md5_is_the_same(vectors, &bytes, length);
        sha512_is_the_same(vectors, &bytes, length);
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 8..40_000)) {
        let Some(vectors) = Vectors::find() else { return Ok(()) };
        md5_is_the_same(vectors, &bytes, bytes.len() / MD5_LANES);
        sha512_is_the_same(vectors, &bytes, bytes.len() / SHA512_LANES);
    }
}

#[test]
#[should_panic(expected = "messages of several lengths")]
fn lengths_differ() {
    let Some(vectors) = Vectors::find() else {
        panic!("messages of several lengths, on a processor without vectors")
    };
    vectors.sha512([b"one", b"two", b"four", b"six"]);
}
