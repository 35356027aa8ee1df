//! Error history of a job's blocks under trims and writes (`block_error_percentiles`).

use crate::histogram::Histogram;
use crate::samples::{LatencySamples, bump};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// State of a block. The values are indices of arrays with an element per state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// The block was neither trimmed nor written.
    Untouched = 0,
    /// The block was trimmed, and not written since.
    Trimmed = 1,
    /// The block was written, and not trimmed since.
    Written = 2,
    /// The block's first error occurred in a trim.
    TrimFailed = 3,
    /// The block's first error occurred in a write.
    WriteFailed = 4,
}

/// Number of states.
pub const BLOCK_STATES: usize = 5;

impl BlockState {
    /// All states, in numerical order.
    pub const ALL: [BlockState; BLOCK_STATES] = [
        BlockState::Untouched,
        BlockState::Trimmed,
        BlockState::Written,
        BlockState::TrimFailed,
        BlockState::WriteFailed,
    ];

    /// Returns the state's name in reports.
    pub const fn words(self) -> &'static str {
        match self {
            BlockState::Untouched => "untouched",
            BlockState::Trimmed => "trimmed",
            BlockState::Written => "written",
            BlockState::TrimFailed => "trim failed",
            BlockState::WriteFailed => "write failed",
        }
    }

    /// True after an error. The block then stays in this state.
    pub const fn is_failed(self) -> bool {
        matches!(self, BlockState::TrimFailed | BlockState::WriteFailed)
    }
}

/// Block statistics of one worker. All zeros is a valid value; [`begin`](BlockErrorSamples::begin) must run
/// before the first change.
#[repr(C, align(64))]
pub struct BlockErrorSamples {
    states: [AtomicU64; BLOCK_STATES],
    /// For each failed block, the number of trims before its first error, stored like nanoseconds.
    trims: LatencySamples,
}

impl BlockErrorSamples {
    /// Starts with this many untouched blocks.
    pub fn begin(&self, blocks: u64) {
        self.trims.reset();
        self.states.iter().for_each(|count| count.store(0, Relaxed));
        self.states[BlockState::Untouched as usize].store(blocks, Relaxed);
    }

    /// Moves a block from one state to another.
    pub fn change(&self, from: BlockState, to: BlockState) {
        bump(&self.states[from as usize], u64::MAX);
        bump(&self.states[to as usize], 1);
    }

    /// Records the first error of a block that has been trimmed this many times.
    pub fn record_error(&self, trims: u64) {
        self.trims.record(trims, true);
    }

    /// Returns a copy of the current counts.
    pub fn snapshot(&self) -> BlockErrorReport {
        BlockErrorReport {
            states: self.states.each_ref().map(|count| count.load(Relaxed)),
            trims: self.trims.snapshot().histogram,
        }
    }
}

/// The blocks of a job. Reports merge by addition, because each clone counts its own blocks, even in a shared
/// file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockErrorReport {
    /// Number of blocks by [`BlockState`].
    pub states: [u64; BLOCK_STATES],
    /// For each failed block, the number of trims before its first error, as a histogram that is exact below
    /// 128 and within 1 % above.
    pub trims: Histogram,
}

impl BlockErrorReport {
    /// Adds the blocks of another clone.
    pub fn merge(&mut self, other: &BlockErrorReport) {
        for (own, theirs) in self.states.iter_mut().zip(other.states) {
            *own += theirs;
        }
        self.trims.merge(&other.trims);
    }

    /// Returns the names of the states, with the number of blocks in each.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        BlockState::ALL.map(BlockState::words).into_iter().zip(self.states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_add_up() {
        let report = |states, trims: &[u64]| {
            let mut report = BlockErrorReport { states, ..Default::default() };
            trims.iter().for_each(|&trims| report.trims.record(trims));
            report
        };
        let mut all = report([10, 3, 2, 1, 0], &[7]);
        all.merge(&report([0, 1, 0, 0, 2], &[5, 7]));
        assert_eq!(all, report([10, 4, 2, 1, 2], &[5, 7, 7]));
        assert_eq!(all.counts().last(), Some(("write failed", 2)));
    }

    #[test]
    fn numbers_are_places() {
        for (place, state) in BlockState::ALL.into_iter().enumerate() {
            assert_eq!((state as usize, state.is_failed()), (place, place >= 3));
        }
    }
}
