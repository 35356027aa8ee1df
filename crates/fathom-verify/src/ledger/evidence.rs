//! Recognises data without a record. The last records of a ledger may be lost with its machine, although their
//! writes have reached the storage.

use crate::check::{Reading, check};
use crate::header::{Header, HeaderFormat};
use crate::rule::Rule;
use crate::stamp::exchange;
use fathom_random::HASH_FACTOR;

/// Returns the header of a block if it is valid and the block is at the offset that the header declares.
pub(super) fn sound_header(rule: &Rule, block: &[u8], offset: u64) -> Option<Header> {
    if !rule.method.has_header() {
        return None;
    }
    let mut block = block.to_vec();
    let rule = Rule { checks_seed: false, checks_number: false, ..rule.clone() };
    let reading = Reading::new(offset, None, block.len());
    if !check(&rule, &mut block, &reading, true).is_empty() {
        return None;
    }
    exchange(&rule, &mut block, rule.header_room(rule.format));
    Header::decode(&block, rule.format)
}

/// Returns the position of the header in a block of this length.
pub(super) fn place_of_header(rule: &Rule, length: u64) -> u64 {
    let (at, room) = (u64::from(rule.header_offset), rule.header_room(rule.format) as u64);
    if at >= room && at + room <= length { at } else { 0 }
}

/// Returns the header at the start of these bytes if it is valid.
pub(super) fn header_in(rule: &Rule, bytes: &[u8]) -> Option<Header> {
    Header::decode(bytes, rule.format).filter(|header| header.is_sound(bytes))
}

/// Returns a valid header at the start of a sector; the block after it may be torn.
pub(super) fn header_at(rule: &Rule, sector: &[u8], into_block: usize) -> Option<Header> {
    let at = (rule.header_offset as usize).checked_sub(into_block)?;
    let bytes = sector.get(at..)?;
    let header = Header::decode(bytes, rule.format)?;
    let is_whole = bytes.len() >= HeaderFormat::of(bytes, rule.format).length();
    (is_whole && header.is_sound(bytes)).then_some(header)
}

/// True if the whole header of a block is in this sector.
pub(super) fn has_place_of_header(rule: &Rule, sector: &[u8], into_block: usize) -> bool {
    let at = rule.header_offset as usize;
    rule.method.has_header()
        && into_block <= at
        && at + HeaderFormat::First.length() <= into_block + sector.len()
}

/// True if a sector was generated from a seed, which may be any: each row of four words is a number times 1, 2,
/// 3 and 5, and the number is multiplied by a known factor from row to row. `into_block` is the sector's
/// position in its block, a multiple of a row.
pub(super) fn comes_from_a_seed(rule: &Rule, sector: &[u8], into_block: usize) -> bool {
    const ROW: usize = 32;
    let room = rule.header_room(rule.format);
    let header = rule.header_offset as usize;
    // Header, checksum, and the bytes swapped with them do not come from the seed.
    let is_other = |at: usize| at < room + ROW || (header..header + room + ROW).contains(&(at + ROW - 1));
    let is_filled = |index: &usize| !is_other(into_block + index * ROW);
    let number = |row: usize| {
        let word = |at: usize| sector[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let words = [0, 8, 16, 24].map(|at| word(row * ROW + at));
        let fits = [1u64, 2, 3, 5].iter().zip(words).all(|(by, word)| words[0].wrapping_mul(*by) == word);
        (fits && words[0] != 0).then_some(words[0])
    };
    let rows: Vec<(usize, Option<u64>)> =
        (0..sector.len() / ROW).filter(is_filled).map(|row| (row, number(row))).collect();
    let goes_on = |pair: &[(usize, Option<u64>)]| match (pair[0], pair[1]) {
        ((first, Some(before)), (second, Some(after))) => {
            second != first + 1 || before.wrapping_mul(HASH_FACTOR) == after
        }
        _ => false,
    };
    rule.pattern.is_none() && rows.len() > 1 && rows.windows(2).all(goes_on)
}
