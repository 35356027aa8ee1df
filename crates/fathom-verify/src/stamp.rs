//! The content of a verified write: filled from its seed, with a header in front of every interval.

use crate::checksum::store;
use crate::header::{Header, MAGIC};
use crate::rule::Rule;

pub use crate::write::{Write, split_time};

/// Makes the content of a write.
pub fn stamp(rule: &Rule, buffer: &mut [u8], write: &Write) {
    rule.fill(buffer, write.seed, write.offset);
    if !rule.method.has_header() {
        return;
    }
    let interval = rule.interval_of(buffer.len());
    for (index, part) in buffer.chunks_mut(interval.max(1)).enumerate() {
        stamp_interval(rule, part, write, write.offset + (index * interval) as u64);
        exchange(rule, part, rule.header_room(rule.format));
    }
}

/// Puts header and checksum to the start of an interval that has its content.
pub(crate) fn stamp_interval(rule: &Rule, part: &mut [u8], write: &Write, offset: u64) {
    let room = rule.header_room(rule.format);
    if part.len() < room {
        return;
    }
    let header = Header {
        magic: MAGIC,
        format: rule.format,
        kind: rule.method as u16,
        length: part.len() as u32,
        // With a pattern nothing comes from the seed.
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
    store(rule.method, rule.format, data, &mut front[rule.format.length()..]);
}

/// `verify_offset`: the header changes places with as many bytes from that offset on. Doing it twice undoes it.
pub(crate) fn exchange(rule: &Rule, part: &mut [u8], room: usize) {
    let at = rule.header_offset as usize;
    if at < room || at + room > part.len() {
        return;
    }
    let (front, back) = part.split_at_mut(at);
    front[..room].swap_with_slice(&mut back[..room]);
}
