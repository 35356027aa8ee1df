//! How the blocks of a job are made and checked.

use crate::content::{Pattern, fill_random};
use crate::header::HeaderFormat;
use crate::method::Method;
use serde::{Deserialize, Serialize};

/// The rule of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Kind of check.
    pub method: Method,
    /// Layout of the headers that are written. Reading knows both.
    pub format: HeaderFormat,
    /// Bytes between two headers; `None` puts one header into each write.
    pub interval: Option<u32>,
    /// Where the header lies in its interval.
    pub header_offset: u32,
    /// Content other than random bytes.
    pub pattern: Option<Pattern>,
    /// The pattern begins anew every so many bytes; 0 for once a write.
    pub pattern_interval: u32,
    /// The seed in the header must be the expected one.
    pub checks_seed: bool,
    /// The sequence number in the header must be the expected one.
    pub checks_number: bool,
}

impl Rule {
    /// Bytes of one interval of a write of `length` bytes.
    pub fn interval_of(&self, length: usize) -> usize {
        match self.interval {
            Some(interval) if (interval as usize) < length => interval as usize,
            _ => length,
        }
    }

    /// Bytes of header and checksum together, in this format.
    pub fn header_room(&self, format: HeaderFormat) -> usize {
        if self.method.has_header() { format.length() + self.method.checksum_room() } else { 0 }
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
}
