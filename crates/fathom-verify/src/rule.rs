//! How a job's blocks are generated and checked.

use crate::content::{Pattern, fill_random, fill_random_part};
use crate::header::{HeaderFormat, MAGIC};
use crate::method::Method;
use serde::{Deserialize, Serialize};

/// The rule for the blocks of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The kind of check.
    pub method: Method,
    /// Layout of the headers that are written. Both layouts are read.
    pub format: HeaderFormat,
    /// Distance of two headers in bytes; `None` puts one header into each write.
    pub interval: Option<u32>,
    /// Offset of the header in its interval.
    pub header_offset: u32,
    /// Content of blocks, if it is not random bytes.
    pub pattern: Option<Pattern>,
    /// Number of bytes after which the pattern restarts; 0 for once per write.
    pub pattern_interval: u32,
    /// True if the seed in the header is checked.
    pub checks_seed: bool,
    /// True if the sequence number in the header is checked.
    pub checks_number: bool,
}

impl Rule {
    /// False if no job can have this rule, because its pattern is empty or has offsets outside of it.
    pub fn is_possible(&self) -> bool {
        let is_pattern = |pattern: &Pattern| {
            !pattern.bytes.is_empty()
                && pattern.offset_places.iter().all(|place| *place < pattern.bytes.len())
        };
        self.pattern.as_ref().is_none_or(is_pattern)
    }

    /// Returns the length of an interval of a write of `length` bytes.
    pub fn interval_of(&self, length: usize) -> usize {
        match self.interval {
            Some(interval) if (interval as usize) < length => interval as usize,
            _ => length,
        }
    }

    /// Returns the number of bytes of header and checksum together, in this format.
    pub fn header_room(&self, format: HeaderFormat) -> usize {
        self.method.header_room(format)
    }

    /// Returns the layout of an interval's header, at any position within the interval.
    pub(crate) fn format_of(&self, part: &[u8]) -> HeaderFormat {
        let bytes = part.get(self.header_offset as usize..).unwrap_or_default();
        // An end that is too short for the expected header contains only content, which may look like a header
        // of the other layout.
        match self.has_no_room(part) && !bytes.starts_with(&MAGIC.to_le_bytes()) {
            true => self.format,
            false => HeaderFormat::of(bytes, self.format),
        }
    }

    /// True for an end of a write that is too short for the expected header.
    pub(crate) fn has_no_room(&self, part: &[u8]) -> bool {
        part.len() < self.header_room(self.format)
    }

    /// Fills a write at `offset` with its content, without headers.
    pub fn fill(&self, buffer: &mut [u8], seed: u64, offset: u64) {
        let Some(pattern) = &self.pattern else {
            fill_random(buffer, seed);
            return;
        };
        let restart = match self.pattern_interval {
            0 => buffer.len().max(1),
            bytes => bytes as usize,
        };
        for (index, part) in buffer.chunks_mut(restart).enumerate() {
            let part_offset = offset + (index * restart) as u64;
            pattern.repeat(part);
            pattern.place_offsets(part, |_| part_offset);
        }
    }

    /// Fills `part` with the bytes from `from` on of the `total` bytes that [`fill`](Rule::fill) writes at
    /// `offset`, without generating the others.
    pub fn fill_part(&self, part: &mut [u8], seed: u64, offset: u64, (from, total): (usize, usize)) {
        let Some(pattern) = &self.pattern else {
            fill_random_part(part, seed, from, total);
            return;
        };
        let restart = match self.pattern_interval {
            0 => total.max(1),
            bytes => bytes as usize,
        };
        let mut done = 0;
        while done < part.len() {
            let place = from + done;
            let section = place / restart * restart;
            let count = (section + restart - place).min(part.len() - done);
            // The pattern is generated from the start of the repetition that contains the first byte.
            let skipped = (place - section) % pattern.bytes.len().max(1);
            let mut bytes = vec![0; skipped + count];
            pattern.repeat(&mut bytes);
            pattern.place_offsets(&mut bytes, |_| offset + section as u64);
            part[done..done + count].copy_from_slice(&bytes[skipped..]);
            done += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_is_that_of_the_whole(
            (total, one, other) in (1usize..200).prop_flat_map(|total| (Just(total), 0..=total, 0..=total)),
            pattern in prop::option::of((prop::collection::vec(any::<u8>(), 1..40), prop::option::of(0usize..40))),
            interval in 0u32..50,
            seed in any::<u64>(),
        ) {
            let pattern = pattern.map(|(bytes, place)| Pattern {
                offset_places: place.filter(|place| *place < bytes.len()).into_iter().collect(),
                bytes,
            });
            let rule = Rule {
                method: Method::Pattern,
                format: HeaderFormat::Current,
                interval: None,
                header_offset: 0,
                pattern,
                pattern_interval: interval,
                checks_seed: true,
                checks_number: true,
            };
            let mut whole = vec![0; total];
            rule.fill(&mut whole, seed, 7 << 20);
            let (from, to) = (one.min(other), one.max(other));
            let mut part = vec![0; to - from];
            rule.fill_part(&mut part, seed, 7 << 20, (from, total));
            prop_assert_eq!(&part[..], &whole[from..to]);
        }
    }
}
