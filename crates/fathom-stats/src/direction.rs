//! Direction of an I/O.

use serde::{Deserialize, Serialize};

/// Reads, writes or trims. The values are indices of arrays with an element per direction.
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
    /// All directions, in the order of options, reports and logs.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Returns the word for the direction in options, messages, reports and file names.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }

    /// Returns the index in arrays with an element per direction.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the direction with this word.
    pub fn from_word(word: &str) -> Option<Direction> {
        Direction::ALL.into_iter().find(|direction| direction.word() == word)
    }

    /// Returns the direction with this index.
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
