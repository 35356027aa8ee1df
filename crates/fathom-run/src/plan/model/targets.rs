//! What a worker's I/Os are aimed at: directions, offsets, lengths and files.

use super::distribution::DistributionRule;
use super::lengths::LengthRule;
use fathom_stats::{Direction, PerDirection};
use serde::{Deserialize, Serialize};

/// Everything that decides on targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetPlan {
    /// Directions.
    pub directions: DirectionPlan,
    /// Random rather than sequential offsets.
    pub random: bool,
    /// Share of random offsets per direction, percent; 100 is all (only of interest to random plans).
    pub random_percent: PerDirection<u32>,
    /// Sequential plans: bytes added after each block. Random plans: I/Os per random draw.
    pub postfix: Option<i64>,
    /// Between random draws repeat the offset instead of going on after it.
    pub repeat_offset: bool,
    /// Lengths per direction.
    pub lengths: PerDirection<LengthRule>,
    /// Sequential I/O takes lengths of reads, random I/O those of writes, whatever the direction.
    pub length_by_pattern: bool,
    /// Lengths of writes are drawn as those of reads are: what a job that verifies wrote must come up again when it is checked.
    pub writes_drawn_as_reads: bool,
    /// Sequential I/O, or a sequential step of random I/O, that comes to the very end of a file goes on at its start within
    /// the pass, each direction by itself. Before a rest too short for a block the pass ends.
    pub wraps: bool,
    /// A file that is covered by random I/O is covered anew at once, and the pass does not end.
    pub begins_files_anew: bool,
    /// Alignment of random offsets per direction, bytes.
    pub alignment: PerDirection<u64>,
    /// Cover each block once before any comes again.
    pub each_block_once: bool,
    /// Generator of uniform offsets.
    pub generator: GeneratorKind,
    /// Distribution of random offsets.
    pub distribution: DistributionRule,
    /// Order of files.
    pub files: FileRule,
    /// Zones that each file is worked on in, one after the other.
    pub stride: Option<StrideRule>,
    /// Zones decide where each target really goes; see `Targets::moved`.
    pub follows_zones: bool,
}

impl TargetPlan {
    /// The directions that occur.
    pub fn used_directions(&self) -> &'static [Direction] {
        self.directions.used()
    }

    /// The smallest I/O that can come.
    pub fn smallest_length(&self) -> u64 {
        self.used_directions()
            .iter()
            .map(|&direction| self.lengths[direction].min())
            .min()
            .unwrap_or(1)
            .max(1)
    }

    /// The largest I/O that can come.
    pub(crate) fn longest_length(&self) -> u64 {
        self.used_directions().iter().map(|&direction| self.lengths[direction].max()).max().unwrap_or(0)
    }

    /// A power of two that all offsets and lengths in a part that begins at `start` are multiples of.
    pub fn common_alignment(&self, start: u64) -> u64 {
        match self.one_length().filter(|_| self.postfix.is_none()) {
            Some(length) => 1 << (length | start).trailing_zeros().min(62),
            None => 1,
        }
    }

    /// True when a pass reads, or writes, each byte of the part.
    pub fn covers_everything(&self) -> bool {
        let is_one_direction = self.used_directions().len() == 1;
        let has_gaps = self.postfix.is_some() || self.stride.is_some() || self.follows_zones;
        let everywhere = match self.random {
            true => self.each_block_once && self.random_percent.values().all(|&percent| percent >= 100),
            false => true,
        };
        is_one_direction && !has_gaps && everywhere && !self.files.order.is_skewed()
    }

    /// The length of all I/Os in bytes, if it is the same and random offsets are multiples of it: blocks cannot overlap.
    pub fn one_length(&self) -> Option<u64> {
        let used = self.used_directions();
        let LengthRule::Fixed(length) = self.lengths[used[0]] else { return None };
        let has_length =
            |&d: &Direction| self.lengths[d] == LengthRule::Fixed(length) && self.alignment[d] == length;
        (!self.length_by_pattern && used.iter().all(has_length)).then_some(length)
    }

    /// True when there is [one length](TargetPlan::one_length).
    pub fn has_one_length(&self) -> bool {
        self.one_length().is_some()
    }
}

/// How directions follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectionPlan {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Reads and writes, with this share of reads in percent.
    Mix(u32),
    /// Trim, then write, block by block.
    TrimThenWrite,
}

impl DirectionPlan {
    /// True when some I/Os read.
    pub fn reads(self) -> bool {
        self.used().contains(&Direction::Read)
    }

    /// True when some I/Os write.
    pub fn writes(self) -> bool {
        self.used().contains(&Direction::Write)
    }

    /// The direction of all I/Os, if they have the same.
    pub fn only(self) -> Option<Direction> {
        match self.used() {
            [direction] => Some(*direction),
            _ => None,
        }
    }

    /// The directions that occur.
    pub fn used(self) -> &'static [Direction] {
        match self {
            DirectionPlan::Read => &[Direction::Read],
            DirectionPlan::Write => &[Direction::Write],
            DirectionPlan::Trim => &[Direction::Trim],
            DirectionPlan::Mix(_) => &[Direction::Read, Direction::Write],
            DirectionPlan::TrimThenWrite => &[Direction::Trim, Direction::Write],
        }
    }
}

/// The generator behind uniform random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneratorKind {
    /// The plan leaves it open: a permutation where one fits.
    Free,
    /// fio's sequence for the size of the file: taus88, and taus258 from 2^32 blocks on.
    BySize,
    /// taus88, fio's sequence.
    Tausworthe,
    /// taus258, fio's sequence.
    Tausworthe64,
    /// A linear feedback shift register.
    ShiftRegister,
}

/// The rule, and for how many I/Os a choice holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRule {
    /// How to choose.
    pub order: FileOrder,
    /// I/Os until the next choice; at least 1.
    pub hold: u64,
    /// Files in use at the same time: another is taken up only when one is done. `None` for no limit.
    pub most_open: Option<usize>,
}

/// How the next file is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileOrder {
    /// Each in turn.
    RoundRobin,
    /// One until it is done, then the next.
    Sequential,
    /// Uniform draw.
    Random,
    /// Zipf with this exponent: the first files come up most.
    Zipf(f64),
    /// Pareto with this shape.
    Pareto(f64),
    /// A bell over the files with this deviation in percent.
    Normal(f64),
}

impl FileOrder {
    /// True when some files come up more often than others.
    pub fn is_skewed(self) -> bool {
        matches!(self, FileOrder::Zipf(_) | FileOrder::Pareto(_) | FileOrder::Normal(_))
    }
}

/// Zones of one length at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrideRule {
    /// Bytes to move in a zone before the next has its turn.
    pub work: u64,
    /// Bytes from the first to the last of a zone.
    pub length: u64,
    /// Bytes between two zones.
    pub skip: u64,
}
