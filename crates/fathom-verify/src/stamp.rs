//! The content of a verified write: filled from its seed, with a header in front of every interval.

use crate::checksum::store;
use crate::header::{Header, MAGIC};
use crate::rule::Rule;
use crate::sum::Checksum;
use crate::sums::{Sums, gain_together};

pub use crate::write::{Write, split_time};

/// Generates the content of a write.
pub fn stamp(rule: &Rule, buffer: &mut [u8], write: &Write) {
    rule.fill(buffer, write.seed, write.offset);
    let sums = match rule.interval_of(buffer.len()) < buffer.len() && gain_together(rule, 0) {
        true => Sums::of_writes(rule, std::iter::once(&*buffer)).pop(),
        false => None,
    };
    stamp_headers(rule, buffer, write, &sums.unwrap_or_default());
}

/// Adds headers to a write that already has its content, with precomputed checksums if `sums` contains them.
pub(crate) fn stamp_headers(rule: &Rule, buffer: &mut [u8], write: &Write, sums: &Sums) {
    if !rule.method.has_header() {
        return;
    }
    let room = rule.header_room(rule.format);
    let interval = rule.interval_of(buffer.len());
    for (index, part) in buffer.chunks_mut(interval.max(1)).enumerate() {
        stamp_interval(rule, part, write, write.offset + (index * interval) as u64, sums.after(index, room));
        exchange(rule, part, room);
    }
}

/// Writes header and checksum to an interval that has its content; `known` is its precomputed checksum.
pub(crate) fn stamp_interval(
    rule: &Rule,
    part: &mut [u8],
    write: &Write,
    offset: u64,
    known: Option<&Checksum>,
) {
    let room = rule.header_room(rule.format);
    if part.len() < room {
        return;
    }
    let header = Header {
        magic: MAGIC,
        format: rule.format,
        kind: rule.method as u16,
        length: part.len() as u32,
        // With a pattern, the content does not depend on the seed.
        seed: if rule.pattern.is_some() { 0 } else { write.seed },
        offset,
        seconds: write.time.0,
        nanoseconds: write.time.1,
        number: rule.format.number(write.number),
        thread: write.thread,
        checksum: 0,
    };
    header.encode(part);
    let (front, data) = part.split_at_mut(room);
    store(rule.method, rule.format, data, known, &mut front[rule.format.length()..]);
}

/// Swaps the header with the same number of bytes at the offset of `verify_offset`. Swapping twice restores the
/// original.
pub(crate) fn exchange(rule: &Rule, part: &mut [u8], room: usize) {
    let at = rule.header_offset as usize;
    if at < room || at + room > part.len() {
        return;
    }
    let (front, back) = part.split_at_mut(at);
    front[..room].swap_with_slice(&mut back[..room]);
}
