//! Direction of the next I/O.

use crate::invariant::holds;
use crate::random::{DrawnAhead, Generator, Taus88};
use fathom_stats::{Direction, PerDirection};

/// Decides the direction of each I/O.
// A worker has a single value of this type and uses it for every I/O, so boxing the larger variant would cost more
// time than the space is worth.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Directions {
    /// A single direction.
    Only(Direction),
    /// A random mix of reads and writes.
    Mix(Mix),
    /// Each block is trimmed and then written, one file after the other.
    TrimThenWrite {
        /// The file of the next target, which determines whether a write is due.
        file: Option<usize>,
    },
}

/// A mix of reads and writes.
///
/// Each direction is drawn at random. After a change of direction, no draw takes place until the new direction
/// has caught up with its share, which keeps even short sequences close to the requested ratio.
#[derive(Clone, Debug)]
pub struct Mix {
    read_percent: u32,
    numbers: DrawnAhead,
    /// Random numbers below this threshold mean reads.
    reads_below: u64,
    state: MixState,
    /// Directions drawn ahead; the lowest bit is the next one, and 1 means a write.
    ahead: u64,
    /// Number of directions drawn ahead.
    left: u32,
    /// Number of draws in each direction that had no target.
    unused: PerDirection<u64>,
    /// Number of directions drawn at a time.
    batch: u32,
}

/// Directions of the next I/Os, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct Following {
    /// Directions that follow; the lowest bit is the next one, and 1 means a write.
    pub(super) writes: u64,
    pub(super) count: u32,
}

impl Following {
    /// None are.
    pub(super) const NONE: Following = Following { writes: 0, count: 0 };
}

/// State of a mix.
#[derive(Clone, Copy, Debug)]
struct MixState {
    current: Direction,
    /// Number of I/Os drawn in each direction.
    drawn: PerDirection<u64>,
    /// Number of I/Os in the current direction after which the next draw takes place.
    draw_at: u64,
}

impl MixState {
    const BEGINNING: MixState =
        MixState { current: Direction::Read, drawn: PerDirection::new([0; 3]), draw_at: 0 };
}

impl Mix {
    /// Creates a mix with this share of reads in percent.
    pub fn new(read_percent: u32, generator: Taus88) -> Mix {
        Mix {
            read_percent,
            numbers: DrawnAhead::new(Generator::Bits32(generator)),
            reads_below: (u128::from(read_percent) << 64).div_ceil(100).min(u64::MAX.into()) as u64,
            state: MixState::BEGINNING,
            ahead: 0,
            left: 0,
            unused: PerDirection::default(),
            batch: u64::BITS,
        }
    }

    /// Draws each direction only when it is needed, so that a direction can be taken back.
    pub fn draw_one_by_one(&mut self) {
        self.batch = 1;
    }

    /// Restarts with the first direction.
    pub fn rewind(&mut self) {
        self.numbers.rewind();
        (self.state, self.unused) = (MixState::BEGINNING, PerDirection::default());
        (self.ahead, self.left) = (0, 0);
    }

    /// The direction of the next I/O.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Direction {
        if self.left == 0 {
            self.draw_ahead();
        }
        let is_write = self.ahead & 1 == 1;
        self.ahead >>= 1;
        self.left -= 1;
        if is_write { Direction::Write } else { Direction::Read }
    }

    /// The next directions, as far as they have been drawn.
    #[inline(always)]
    pub fn following(&self) -> Following {
        Following { writes: self.ahead, count: self.left }
    }

    /// Reports that the last direction had no target.
    pub fn drawn_unused(&mut self, direction: Direction) {
        self.unused[direction] += 1;
    }

    /// Number of returned directions that had a target, as wrapping counters.
    pub fn given(&self) -> PerDirection<u64> {
        let writes = u64::from(self.ahead.count_ones());
        let ahead = PerDirection::new([u64::from(self.left) - writes, writes, 0]);
        PerDirection::from_fn(|direction| {
            self.state.drawn[direction].wrapping_sub(ahead[direction]).wrapping_sub(self.unused[direction])
        })
    }

    /// Replaces the drawn direction, which its rate delays, by another one.
    pub fn replace_last(&mut self, direction: Direction) {
        self.take_back(self.state.current);
        self.state.drawn[direction] += 1;
    }

    /// Replaces the last direction, which had no targets left.
    pub fn draw_again(&mut self, direction: Direction) -> Direction {
        self.take_back(direction);
        self.next()
    }

    fn take_back(&mut self, direction: Direction) {
        let left = self.left;
        holds!(left == 0, Direction, "a direction is taken back with {left} drawn after it");
        self.state.drawn[direction] -= 1;
    }

    #[inline(never)]
    fn draw_ahead(&mut self) {
        self.left = self.batch;
        if self.batch == u64::BITS && self.draws_for_each() {
            return self.draw_together();
        }
        // Local copies stay in registers.
        let (mut state, mut ahead) = (self.state, 0);
        for place in 0..self.batch {
            if state.drawn[state.current] >= state.draw_at {
                self.draw(&mut state);
            }
            state.drawn[state.current] += 1;
            ahead |= u64::from(state.current == Direction::Write) << place;
        }
        (self.state, self.ahead) = (state, ahead);
    }

    /// True if none of the next 64 directions has to wait for a draw, whatever is drawn.
    fn draws_for_each(&self) -> bool {
        let [reads, writes, _] = self.state.drawn.into_array();
        let (of_reads, of_writes) = (u64::from(self.read_percent), u64::from(100 - self.read_percent));
        let waits = |own: u64, other: u64, share: u64| own < (other + u64::from(u64::BITS)) * share / 100;
        self.state.drawn[self.state.current] >= self.state.draw_at
            && !waits(reads, writes, of_reads)
            && !waits(writes, reads, of_writes)
    }

    /// Draws 64 directions, each with its own random number.
    fn draw_together(&mut self) {
        let (numbers, reads_below) = (self.numbers.next_of::<64>(), self.reads_below);
        let ahead =
            numbers.iter().rev().fold(0, |ahead, &number| ahead << 1 | u64::from(number >= reads_below));
        let writes = u64::from(ahead.count_ones());
        self.state.drawn[Direction::Write] += writes;
        self.state.drawn[Direction::Read] += u64::from(u64::BITS) - writes;
        self.state.current = if ahead >> 63 == 1 { Direction::Write } else { Direction::Read };
        // The direction reaches its quota regardless of what is drawn.
        self.state.draw_at = 0;
        self.ahead = ahead;
    }

    #[inline(always)]
    fn draw(&mut self, state: &mut MixState) {
        let drawn = if self.numbers.next() < self.reads_below { Direction::Read } else { Direction::Write };
        if drawn != state.current {
            let share_of_drawn =
                if drawn == Direction::Read { self.read_percent } else { 100 - self.read_percent };
            state.draw_at = state.drawn[state.current] * u64::from(share_of_drawn) / 100;
            state.current = drawn;
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

    #[test]
    fn directions_drawn_together_are_those_drawn_one_by_one() {
        for read_percent in 0..=100 {
            let mut together = Mix::new(read_percent, Seeds::new(0x89, 1).generator(SeedUse::Mix));
            let mut single = together.clone();
            single.draw_one_by_one();
            for count in 0..2000 {
                assert_eq!(together.next(), single.next(), "{count} with {read_percent} %");
                assert_eq!(together.given(), single.given(), "{count} with {read_percent} %");
            }
            // Both branches are covered, except where one direction is rare or missing.
            assert!(together.draws_for_each() || !(10..=90).contains(&read_percent), "{read_percent} %");
        }
    }
}
