//! The exact method: a table of all unique chunks.

use fathom_command::Failure;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// MD5 of a chunk.
pub(super) type Hash = [u8; 16];

/// The table is divided into parts with separate locks, so that threads seldom wait.
const PARTS: usize = 256;

/// Chunks by hash. Chunks with equal hashes and different content are numbered.
type Part = HashMap<(Hash, u32), Kind, BuildHasherDefault<FirstBytes>>;

/// A unique chunk.
#[derive(Debug)]
struct Kind {
    first: u64,
    count: u64,
    /// All offsets, if they are kept.
    offsets: Vec<u64>,
}

/// All unique chunks.
pub(super) struct Table {
    parts: Vec<Mutex<Part>>,
    keep_offsets: bool,
}

impl Table {
    pub(super) fn new(keep_offsets: bool) -> Table {
        Table { parts: (0..PARTS).map(|_| Mutex::default()).collect(), keep_offsets }
    }

    /// Adds the chunk at `offset`; returns true if it is unique so far. `is_same` returns whether the chunk at
    /// another offset with the same hash has the same content.
    pub(super) fn add(
        &self,
        hash: Hash,
        offset: u64,
        mut is_same: impl FnMut(u64) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let mut part = locked(&self.parts[usize::from(hash[15])]);
        for number in 0.. {
            let Some(kind) = part.get_mut(&(hash, number)) else {
                let offsets = if self.keep_offsets { vec![offset] } else { Vec::new() };
                part.insert((hash, number), Kind { first: offset, count: 1, offsets });
                return Ok(true);
            };
            if is_same(kind.first)? {
                kind.count += 1;
                if self.keep_offsets {
                    kind.offsets.push(offset);
                }
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Number of unique chunks that occur more than once.
    pub(super) fn duplicated(&self) -> u64 {
        let count = |part: &Mutex<Part>| locked(part).values().filter(|kind| kind.count > 1).count() as u64;
        self.parts.iter().map(count).sum()
    }

    /// Each chunk with its offsets in ascending order, by hash.
    pub(super) fn into_extents(self) -> Vec<(Hash, Vec<u64>)> {
        let parts =
            self.parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut extents: Vec<((Hash, u32), Vec<u64>)> =
            parts.flatten().map(|(key, kind)| (key, kind.offsets)).collect();
        extents.sort_unstable_by_key(|(key, _)| *key);
        extents
            .into_iter()
            .map(|((hash, _), mut offsets)| {
                offsets.sort_unstable();
                (hash, offsets)
            })
            .collect()
    }
}

fn locked(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses the first eight bytes of the MD5 as the hash.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_ne_bytes(*first);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = self.0.wrapping_add(u64::from(number));
    }

    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_hash_is_not_the_same_chunk_when_they_are_compared() {
        let table = Table::new(true);
        let content = |offset: u64| offset % 3;
        let mut unique = 0;
        for offset in 0..9 {
            let is_new = table.add([7; 16], offset, |other| Ok(content(other) == content(offset)));
            unique += u32::from(is_new.expect("nothing is read"));
        }
        assert_eq!((unique, table.duplicated()), (3, 3));
        let offsets: Vec<Vec<u64>> = table.into_extents().into_iter().map(|(_, offsets)| offsets).collect();
        assert_eq!(offsets, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]);
    }
}
