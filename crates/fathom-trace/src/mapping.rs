//! Fits the offsets of a log into one target.

use crate::error::Damage;

use serde::{Deserialize, Serialize};

/// Unit in which places are scaled, in bytes. Within a unit, I/Os keep their distances, so sequential I/Os stay
/// sequential.
const UNIT: u64 = 1 << 20;
/// Unit to which an I/O is aligned if it would go beyond the end of the target, in bytes.
const PAGE: u64 = 4096;

/// How offsets are fitted into a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fit {
    /// In proportion: the whole of the log's devices becomes the whole of the target.
    Scale,
    /// Unchanged, from the start again where the target ends.
    Wrap,
}

/// The places of the files of a log in a target: one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// How offsets are fitted.
    pub fit: Fit,
    /// Bytes of the target that the log may use.
    pub capacity: u64,
    /// Where each file of the log begins, by number.
    starts: Vec<u64>,
    /// Where the last one ends.
    end: u64,
}

impl Mapping {
    /// A mapping that does not know the files yet.
    pub fn new(fit: Fit, capacity: u64) -> Mapping {
        Mapping { fit, capacity, starts: Vec::new(), end: 0 }
    }

    /// Lays out the files of a log: for each, in the order of their numbers, the end of its highest I/O, and the size of
    /// the device or 0.
    pub fn lay_out(&mut self, files: impl Iterator<Item = (u64, u64)>) {
        self.end = 0;
        self.starts = files
            .map(|(end, size)| {
                let length = match self.fit {
                    Fit::Scale => end.max(size),
                    Fit::Wrap => end,
                };
                let start = self.end;
                self.end = start.saturating_add(length).checked_next_multiple_of(UNIT).unwrap_or(u64::MAX);
                start
            })
            .collect();
    }

    /// Bytes that the files of the log need, one after another.
    pub fn needed(&self) -> u64 {
        self.end
    }

    /// The place of an I/O in the target.
    pub(crate) fn place(&self, file: u32, offset: u64, length: u64) -> Result<u64, Damage> {
        if length > self.capacity {
            return Err(Damage::LargerThanTarget { length, capacity: self.capacity });
        }
        let start = self.starts.get(file as usize).ok_or(Damage::Changed)?;
        let place = start.saturating_add(offset);
        let place = match self.fit {
            Fit::Wrap => place % self.capacity,
            Fit::Scale => self.scaled(place),
        };
        if place.saturating_add(length) <= self.capacity {
            return Ok(place);
        }
        let last = self.capacity - length;
        Ok(if place.is_multiple_of(PAGE) { last - last % PAGE } else { last })
    }

    fn scaled(&self, place: u64) -> u64 {
        let (from, to) = ((self.end / UNIT).max(1), self.capacity / UNIT);
        if to == 0 {
            return place % self.capacity;
        }
        let unit = u128::from(place / UNIT) * u128::from(to) / u128::from(from);
        (unit as u64).min(to - 1) * UNIT + place % UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapping(fit: Fit, capacity: u64, ends: &[u64]) -> Mapping {
        let mut mapping = Mapping::new(fit, capacity);
        mapping.lay_out(ends.iter().map(|&end| (end, 0)));
        mapping
    }

    #[test]
    fn files_lie_one_after_another_and_wrap() {
        let mapping = mapping(Fit::Wrap, 4 * UNIT, &[UNIT + 1, 3 * UNIT]);
        assert_eq!(mapping.needed(), 5 * UNIT);
        assert_eq!(mapping.place(0, 512, 512), Ok(512));
        assert_eq!(mapping.place(1, 512, 512), Ok(2 * UNIT + 512));
        assert_eq!(mapping.place(1, 2 * UNIT + 512, 512), Ok(512));
        // An I/O across the end moves before it.
        assert_eq!(mapping.place(1, 2 * UNIT - PAGE, 2 * PAGE), Ok(4 * UNIT - 2 * PAGE));
        assert_eq!(mapping.place(2, 0, 512), Err(Damage::Changed));
        assert!(mapping.place(0, 0, 4 * UNIT + 1).is_err());
    }

    #[test]
    fn a_whole_device_becomes_a_whole_target() {
        let mut mapping = Mapping::new(Fit::Scale, 8 * UNIT);
        mapping.lay_out([(10, 2 * UNIT)].into_iter());
        assert_eq!(mapping.place(0, 0, 512), Ok(0));
        assert_eq!(mapping.place(0, UNIT + 4096, 512), Ok(4 * UNIT + 4096));
    }

    proptest! {
        #[test]
        fn every_io_is_inside_the_target_and_keeps_its_alignment(
            scales: bool, capacity in 1u64..1 << 44, ends in prop::collection::vec(0u64..1 << 45, 1..4), share in 0.0f64..1.0, length in 0u64..1 << 22,
        ) {
            let capacity = capacity.next_multiple_of(PAGE);
            let mapping = mapping(if scales { Fit::Scale } else { Fit::Wrap }, capacity, &ends);
            let length = length.min(capacity) / 512 * 512;
            for (number, end) in (0u32..).zip(&ends) {
                let offset = (*end as f64 * share) as u64 / 512 * 512;
                let place = mapping.place(number, offset, length).expect("inside");
                prop_assert!(place + length <= capacity);
                prop_assert_eq!(place % 512, 0);
                if offset.is_multiple_of(PAGE) {
                    prop_assert_eq!(place % PAGE, 0);
                }
            }
        }

        #[test]
        fn what_fits_stays_in_place(ends in prop::collection::vec(1u64..1 << 40, 1..2), share in 0.0f64..1.0) {
            let mapping = mapping(Fit::Wrap, 1 << 41, &ends);
            let offset = (ends[0] as f64 * share) as u64 / 512 * 512;
            prop_assert_eq!(mapping.place(0, offset, 512), Ok(offset));
        }
    }
}
