//! Whether the next I/O reads, writes or trims.

use crate::random::{DrawnAhead, Generator, Taus88};
use fathom_stats::{Direction, PerDirection};

/// The rule by which directions follow each other.
// One per worker, in the loop all the time: a pointer to the larger variant would cost more than its room.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Directions {
    /// Always the same.
    Only(Direction),
    /// Reads and writes by chance.
    Mix(Mix),
    /// Each block is trimmed, then written, file by file.
    TrimThenWrite {
        /// The file of the next target: it says whether a write is due.
        file: Option<usize>,
    },
}

/// A mix of reads and writes.
///
/// A draw decides; after it has changed the direction, the next draw waits until the new direction has made up for
/// the share of the old one, which keeps short stretches close to the wanted ratio.
#[derive(Clone, Debug)]
pub struct Mix {
    read_percent: u32,
    numbers: DrawnAhead,
    /// Numbers below this one are reads.
    reads_below: u64,
    current: Direction,
    issued: PerDirection<u64>,
    /// No draw until this many I/Os of the current direction have been issued.
    draw_at: u64,
}

impl Mix {
    /// A mix with this share of reads in percent.
    pub fn new(read_percent: u32, generator: Taus88) -> Mix {
        Mix {
            read_percent,
            numbers: DrawnAhead::new(Generator::Bits32(generator)),
            reads_below: (u128::from(read_percent) << 64).div_ceil(100).min(u64::MAX.into()) as u64,
            current: Direction::Read,
            issued: PerDirection::default(),
            draw_at: 0,
        }
    }

    /// The direction of the next I/O.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Direction {
        if self.issued[self.current] >= self.draw_at {
            self.draw();
        }
        self.issued[self.current] += 1;
        self.current
    }

    /// Direction that must be used instead of the drawn one (the other is held back by its rate).
    pub fn replace_last(&mut self, direction: Direction) {
        self.issued[self.current] -= 1;
        self.issued[direction] += 1;
    }

    /// A direction in place of the last one, in which there was nothing left.
    pub fn draw_again(&mut self, direction: Direction) -> Direction {
        self.issued[direction] -= 1;
        self.next()
    }

    fn draw(&mut self) {
        let drawn = if self.numbers.next() < self.reads_below { Direction::Read } else { Direction::Write };
        if drawn != self.current {
            let share_of_drawn =
                if drawn == Direction::Read { self.read_percent } else { 100 - self.read_percent };
            self.draw_at = self.issued[self.current] * u64::from(share_of_drawn) / 100;
            self.current = drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeedUse, Seeds};

    fn letters(read_percent: u32) -> String {
        let mut mix = Mix::new(read_percent, Seeds::new(0x89, 1).generator(SeedUse::Mix));
        (0..16).map(|_| &mix.next().word()[..1]).collect()
    }

    #[test]
    fn golden_mixes() {
        assert_eq!(letters(50), "rrrwrrwwwrwrwrrr");
        assert_eq!(letters(70), "rrrwrrwrrrwrwrrr");
    }
}
