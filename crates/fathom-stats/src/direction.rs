//! Direction of an I/O.

use serde::{Deserialize, Serialize};

/// Reads, writes or trims. The numbers are the indices of per-direction arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// Transfers data from the file.
    Read = 0,
    /// Transfers data to the file.
    Write = 1,
    /// Discards a range.
    Trim = 2,
}

impl Direction {
    /// The three directions, in the order of options, reports and logs.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// The word in options, messages, reports and file names.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }

    /// Index in per-direction arrays.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The direction with this word.
    pub fn from_word(word: &str) -> Option<Direction> {
        Direction::ALL.into_iter().find(|direction| direction.word() == word)
    }

    /// The direction with this index.
    #[inline(always)]
    pub const fn from_index(index: usize) -> Option<Direction> {
        match index {
            0 => Some(Direction::Read),
            1 => Some(Direction::Write),
            2 => Some(Direction::Trim),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_places_lead_back() {
        for (place, direction) in Direction::ALL.into_iter().enumerate() {
            assert_eq!(direction.index(), place);
            assert_eq!(Direction::from_index(place), Some(direction));
            assert_eq!(Direction::from_word(direction.word()), Some(direction));
        }
        assert_eq!((Direction::from_index(3), Direction::from_word("mixed")), (None, None));
    }
}
