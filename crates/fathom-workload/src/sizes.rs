//! Sizes and alignment of requests.

use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of sizes that are counted separately.
const MOST_SIZES: usize = 4096;
/// Minimum share of the requests for which a size is the usual one.
const USUAL: f64 = 0.9;
/// Largest alignment that is distinguished, as a power of two of sectors: 1 MiB.
const LARGEST_ALIGNMENT: u32 = 11;

/// Sizes and alignment of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Number of requests by size in bytes. After 4096 different sizes, a new size counts as the next power of
    /// two.
    pub counts: BTreeMap<u32, u64>,
    /// Number of requests by alignment: the first byte is a multiple of 512, 1 KiB, 2 KiB, ... 1 MiB, and of no
    /// larger one of these. Requests of files that begin elsewhere are in none.
    pub alignment: Vec<u64>,
}

impl Sizes {
    pub(crate) fn add(&mut self, request: &Request) {
        let size = match self.counts.len() < MOST_SIZES || self.counts.contains_key(&request.bytes) {
            true => request.bytes,
            false => request.bytes.checked_next_power_of_two().unwrap_or(u32::MAX),
        };
        *self.counts.entry(size).or_default() += 1;
        if request.skip > 0 {
            return;
        }
        let alignment = request.sector.trailing_zeros().min(LARGEST_ALIGNMENT) as usize;

        if self.alignment.len() <= alignment {
            self.alignment.resize(alignment + 1, 0);
        }
        self.alignment[alignment] += 1;
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Total bytes.
    pub fn bytes(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, (&size, &count)| sum.saturating_add(u64::from(size).saturating_mul(count)))
    }

    /// Returns the share of the requests that are aligned to this power of two of bytes, which is at least 512.
    pub fn aligned_share(&self, bytes: u64) -> f64 {
        let from = (bytes / 512).max(1).trailing_zeros() as usize;
        let aligned: u64 = self.alignment.iter().skip(from).sum();
        share(aligned, self.requests())
    }

    /// Returns the number of blocks of this many bytes that are accessed together: the blocks of the usual
    /// size, if there is one and requests begin at multiples of it; otherwise 1.
    pub(crate) fn unit(&self, block: u64) -> f64 {
        let usual =
            self.common(1).first().filter(|(_, share, _)| *share >= USUAL).map(|(size, ..)| u64::from(*size));
        let is_whole = |size: &u64| *size > block && size.is_multiple_of(block);
        let is_aligned = |size: &u64| self.aligned_share(1 << size.trailing_zeros()) >= USUAL;
        usual.filter(is_whole).filter(is_aligned).map_or(1.0, |size| (size / block) as f64)
    }

    /// Returns the most frequent sizes with their shares of the requests and of the bytes.
    pub fn common(&self, most: usize) -> Vec<(u32, f64, f64)> {
        let (requests, bytes) = (self.requests(), self.bytes());
        let mut all: Vec<(u32, u64)> = self.counts.iter().map(|(&size, &count)| (size, count)).collect();
        all.sort_by_key(|&(size, count)| (std::cmp::Reverse(count), size));
        all.truncate(most);
        let shares = |(size, count): (u32, u64)| {
            (size, share(count, requests), share(u64::from(size).saturating_mul(count), bytes))
        };
        all.into_iter().map(shares).collect()
    }
}

/// Returns the quotient of two numbers; 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
