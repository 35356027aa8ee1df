//! Precomputed checksums of several reads or writes, one per verify interval.

use crate::checksum::{checksums, is_faster_together};
use crate::rule::Rule;
use crate::sum::Checksum;

/// Number of reads or writes per batch.
pub const TOGETHER: usize = 8;

/// Maximum size of a batch in bytes: it must stay in the cache until every block has been used.
const MOST_BYTES: usize = 1 << 20;

/// Precomputed checksums of the intervals of one read or write.
#[derive(Clone, Debug, Default)]
pub struct Sums(Vec<Option<Known>>);

/// Checksum of the bytes of an interval from `room` to its end.
#[derive(Clone, Copy, Debug)]
struct Known {
    room: usize,
    sum: Checksum,
}

/// True if hashing [`TOGETHER`] blocks of this length per batch is faster than one at a time.
pub fn gain_together(rule: &Rule, length: usize) -> bool {
    is_faster_together(rule.method, rule.format) && length.saturating_mul(TOGETHER) <= MOST_BYTES
}

impl Sums {
    /// Computes the checksums of reads. Each read comes with the length of the write to which it belongs.
    pub fn of_reads(rule: &Rule, reads: &[(&[u8], usize)]) -> Vec<Sums> {
        let rooms = |part: &[u8]| {
            let format = rule.format_of(part);
            // With `verify_offset`, the hashed bytes are contiguous only once the header has been moved.
            let is_plain = rule.header_offset == 0 && is_faster_together(rule.method, format);
            is_plain.then(|| rule.header_room(format))
        };
        Sums::of(rule, reads, rooms)
    }

    /// Computes the checksums of writes whose headers are still missing.
    pub(crate) fn of_writes<'a>(rule: &Rule, contents: impl Iterator<Item = &'a [u8]>) -> Vec<Sums> {
        let writes: Vec<(&[u8], usize)> = contents.map(|content| (content, content.len())).collect();
        Sums::of(rule, &writes, |_| Some(rule.header_room(rule.format)))
    }

    /// Computes checksums; `rooms` returns the offset of the hashed bytes in an interval, or `None` to skip it.
    fn of(rule: &Rule, blocks: &[(&[u8], usize)], rooms: impl Fn(&[u8]) -> Option<usize>) -> Vec<Sums> {
        let mut messages = Vec::new();
        let mut places = Vec::new();
        for &(data, write_length) in blocks {
            let parts = data.chunks(rule.interval_of(write_length).max(1));
            places.push(
                parts
                    .map(|part| {
                        let room = rooms(part).filter(|&room| room <= part.len())?;
                        messages.push(&part[room..]);
                        Some(room)
                    })
                    .collect::<Vec<Option<usize>>>(),
            );
        }
        let mut sums = checksums(rule.method, &messages).into_iter();
        let mut known = |room: Option<usize>| Some(Known { room: room?, sum: sums.next()? });
        places.into_iter().map(|rooms| Sums(rooms.into_iter().map(&mut known).collect())).collect()
    }

    /// Returns the checksum of an interval from byte `room` on, if it was precomputed.
    pub(crate) fn after(&self, interval: usize, room: usize) -> Option<&Checksum> {
        let known = self.0.get(interval)?.as_ref()?;
        (known.room == room).then_some(&known.sum)
    }
}
