//! The parts of other devices that make up a mapped device. Two mapped devices may share bytes.

use fathom_sys::device_mapper::{self, Target};
use std::ops::Range;

const SECTOR: u64 = 512;

/// A part of a mapped device that is one contiguous range of another device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::storage::files) struct Part {
    /// Byte range of the mapped device.
    pub(super) own: Range<u64>,
    /// Number of the underlying device.
    pub(super) below: u64,
    /// Offset in the underlying device.
    pub(super) at: u64,
    /// Length in the underlying device. It is smaller than the own range if the part is one of several stripes.
    pub(super) length: u64,
}

impl Part {
    /// Restricts the part to this range of the mapped device. A part that is not mapped linearly is returned
    /// whole.
    pub(super) fn common(&self, range: &Range<u64>) -> Option<Part> {
        let common = super::common(&self.own, range)?;
        if self.length != self.own.end - self.own.start {
            return Some(self.clone());
        }
        let at = self.at + (common.start - self.own.start);
        Some(Part { below: self.below, at, length: common.end - common.start, own: common })
    }

    /// The bytes of the mapped device that share underlying bytes with `other`, if any.
    pub(super) fn above(&self, other: &Part) -> Option<Range<u64>> {
        let (one, two) = (self.at..self.at + self.length, other.at..other.at + other.length);
        let common = super::common(&one, &two)?;
        if self.length != self.own.end - self.own.start {
            return Some(self.own.clone());
        }
        let start = self.own.start + (common.start - self.at);
        Some(start..start + (common.end - common.start))
    }
}

/// The parts of the mapped device with this number; empty if the mapping is unknown.
pub(super) fn parts(number: u64) -> Vec<Part> {
    let table = device_mapper::table(number).unwrap_or_default();
    table.iter().flat_map(parts_of).collect()
}

fn parts_of(target: &Target) -> Vec<Part> {
    let words: Vec<&str> = target.parameters.split_whitespace().collect();
    let own = target.start * SECTOR..(target.start + target.length) * SECTOR;
    let part = |at: usize, length: u64| {
        let (major, minor) = words.get(at)?.split_once(':')?;
        let below = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
        let start: u64 = words.get(at + 1)?.parse().ok()?;
        Some(Part { own: own.clone(), below, at: start * SECTOR, length: length * SECTOR })
    };
    match target.kind.as_str() {
        "linear" | "flakey" | "delay" | "dust" | "unstriped" => part(0, target.length).into_iter().collect(),
        "crypt" => part(3, target.length).into_iter().collect(),
        "striped" => {
            let count: u64 = words.first().and_then(|word| word.parse().ok()).unwrap_or(1).max(1);
            (0..count as usize)
                .filter_map(|stripe| part(2 + 2 * stripe, target.length.div_ceil(count)))
                .collect()
        }
        // Thin volumes, snapshots and caches do not share their blocks with other devices.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(kind: &str, parameters: &str) -> Target {
        Target { start: 8, length: 16, kind: kind.to_owned(), parameters: parameters.to_owned() }
    }

    #[test]
    fn tables_say_what_lies_where() {
        let part = |below: u32, at: u64, length: u64| Part {
            own: 8 * SECTOR..24 * SECTOR,
            below: libc::makedev(8, below),
            at: at * SECTOR,
            length: length * SECTOR,
        };
        assert_eq!(parts_of(&target("linear", "8:0 2048")), [part(0, 2048, 16)]);
        assert_eq!(parts_of(&target("crypt", "aes - 0 8:1 4096")), [part(1, 4096, 16)]);
        assert_eq!(parts_of(&target("striped", "2 8 8:0 0 8:16 32")), [part(0, 0, 8), part(16, 32, 8)]);
        assert_eq!(parts_of(&target("thin", "253:2 1")), []);
        assert_eq!(parts_of(&target("linear", "nonsense")), []);
    }

    #[test]
    fn the_same_bytes_below_are_found_above() {
        let one = parts_of(&target("linear", "8:0 100")).remove(0);
        let other = Part { own: 0..64 * SECTOR, at: 110 * SECTOR, length: 64 * SECTOR, ..one.clone() };
        // Ranges of sectors 100 to 116 and 110 to 174 share six sectors.
        assert_eq!(other.above(&one), Some(0..6 * SECTOR));
        assert_eq!(one.above(&other), Some(18 * SECTOR..24 * SECTOR));
        let front = one.common(&(0..10 * SECTOR)).expect("two sectors");
        assert_eq!((front.at, front.length), (100 * SECTOR, 2 * SECTOR));
        assert_eq!(other.above(&front), None);
    }
}
