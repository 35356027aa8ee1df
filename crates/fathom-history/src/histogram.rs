//! Stored form of a histogram: the bins as the result has them (centre in ns, count), so that merging stored
//! histograms is exact. Numbers are LEB128, centres as differences to the one before, all of it compressed by zstd
//! after one byte for the version of the form.

use crate::Error;
use std::collections::BTreeMap;

const FORM: u8 = 1;
const LEVEL: i32 = 3;
/// Largest size of a histogram once decompressed: a bin takes at most 20 bytes, and no program has a million.
const MOST_BYTES: usize = 20_000_000;

/// Encodes the bins of a histogram.
pub(crate) fn encode(bins: &BTreeMap<u64, u64>) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::with_capacity(bins.len() * 3);
    let mut before = 0;
    for (&centre, &count) in bins {
        put(&mut plain, centre - before);
        put(&mut plain, count);
        before = centre;
    }
    let packed = zstd::bulk::compress(&plain, LEVEL)
        .map_err(|error| Error::Damaged { what: format!("a histogram cannot be compressed: {error}") })?;
    Ok([&[FORM], packed.as_slice()].concat())
}

/// Decodes the bins of a histogram.
pub(crate) fn decode(bytes: &[u8]) -> Result<BTreeMap<u64, u64>, Error> {
    let damaged = |what: &str| Error::Damaged { what: format!("a histogram {what}") };
    let Some((&FORM, packed)) = bytes.split_first() else {
        return Err(damaged("has an unknown form"));
    };
    let plain = zstd::bulk::decompress(packed, MOST_BYTES).map_err(|_| damaged("cannot be decompressed"))?;
    let mut rest = plain.as_slice();
    let (mut bins, mut centre) = (BTreeMap::new(), 0u64);
    while !rest.is_empty() {
        let (Some(step), Some(count)) = (take(&mut rest), take(&mut rest)) else {
            return Err(damaged("ends within a bin"));
        };
        centre = centre.checked_add(step).ok_or_else(|| damaged("has a bin beyond all latencies"))?;
        bins.insert(centre, count);
    }
    Ok(bins)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn histograms_come_back_exactly(bins in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..400)) {
            let bytes = encode(&bins).expect("encodes");
            prop_assert_eq!(decode(&bytes).expect("decodes"), bins);
        }

        #[test]
        fn damaged_histograms_are_refused_or_decoded_but_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode(&[&[FORM], bytes.as_slice()].concat());
        }
    }

    #[test]
    fn usual_histograms_take_few_bytes() {
        let bins: BTreeMap<u64, u64> = (0..500u64).map(|bin| (80_000 + bin * 512, 100 + bin % 90)).collect();
        assert!(encode(&bins).expect("encodes").len() < 1500);
    }
}
