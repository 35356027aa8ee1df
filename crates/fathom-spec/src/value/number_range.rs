//! Numbers in a list, alone (`3`) or as a range (`2-5`).

use std::ops::RangeInclusive;

/// The numbers in one part of a list; `None` if it is neither a number nor an ascending range.
pub(super) fn number_range(part: &str) -> Option<RangeInclusive<u32>> {
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    let low: u32 = low.trim().parse().ok()?;
    let high: u32 = high.trim().parse().ok()?;
    (low <= high).then_some(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ascending_ranges() {
        assert_eq!(number_range("3"), Some(3..=3));
        assert_eq!(number_range("2 - 5"), Some(2..=5));
        for text in ["", "-", "1-", "-1", "2-1", "1-2-3", "0x1", "4294967296"] {
            assert_eq!(number_range(text), None, "{text}");
        }
    }
}
