//! Multi-buffer checksums: several messages per call where SIMD makes that faster.

use super::checksum;
use crate::header::HeaderFormat;
use crate::method::Method;
use crate::sum::Checksum;
use fathom_lanes::{MD5_LANES, SHA512_LANES, Vectors};

/// Minimum number of messages. For fewer messages, empty lanes cost more time than SIMD saves.
const FEWEST: usize = 2;

/// True if this method has a multi-buffer implementation on this processor.
pub(crate) fn is_faster_together(method: Method, format: HeaderFormat) -> bool {
    let has_lanes = match method {
        Method::Md5 => true,
        // Headers of the first layout do not contain a digest, so none is computed.
        Method::Sha512 => format == HeaderFormat::Current,
        _ => false,
    };
    has_lanes && Vectors::find().is_some()
}

/// Computes the checksum of each message.
pub(crate) fn checksums(method: Method, messages: &[&[u8]]) -> Vec<Checksum> {
    let mut sums = Vec::with_capacity(messages.len());
    let alone = |message: &&[u8]| checksum(method, message);
    for equal in messages.chunk_by(|one, other| one.len() == other.len()) {
        match (method, Vectors::find()) {
            (Method::Md5, Some(vectors)) => {
                for group in equal.chunks(MD5_LANES) {
                    sums.extend(in_lanes(group, alone, |lanes| vectors.md5(lanes)));
                }
            }
            (Method::Sha512, Some(vectors)) => {
                for group in equal.chunks(SHA512_LANES) {
                    sums.extend(in_lanes(group, alone, |lanes| vectors.sha512(lanes)));
                }
            }
            _ => sums.extend(equal.iter().map(alone)),
        }
    }
    sums
}

/// Hashes at most `LANES` messages of equal length.
fn in_lanes<const BYTES: usize, const LANES: usize>(
    messages: &[&[u8]],
    alone: impl Fn(&&[u8]) -> Checksum,
    together: impl Fn([&[u8]; LANES]) -> [[u8; BYTES]; LANES],
) -> Vec<Checksum> {
    if messages.len() < FEWEST {
        return messages.iter().map(alone).collect();
    }
    // Unused lanes repeat the first message.
    let lanes = std::array::from_fn(|lane| *messages.get(lane).unwrap_or(&messages[0]));
    together(lanes)[..messages.len()].iter().map(|sum| Checksum::of_bytes(sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks any number of messages, in runs of equal length.
        #[test]
        fn each_is_that_of_its_message(
            method in prop::sample::select(Method::ALL),
            messages in prop::collection::vec((prop::sample::select(vec![0usize, 464, 3952]), any::<u8>()), 0..20),
        ) {
            let messages: Vec<Vec<u8>> = messages.into_iter().map(|(length, byte)| vec![byte; length]).collect();
            let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
            let expected: Vec<Checksum> = messages.iter().map(|message| checksum(method, message)).collect();
            prop_assert_eq!(checksums(method, &messages), expected);
        }
    }
}
