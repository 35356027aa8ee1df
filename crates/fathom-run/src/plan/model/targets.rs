//! Targets of a worker's I/Os: directions, offsets, lengths and files.

use super::distribution::DistributionRule;
use super::lengths::LengthRule;
use fathom_stats::{Direction, PerDirection};
use serde::{Deserialize, Serialize};

/// Everything that determines the targets of I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetPlan {
    /// Directions.
    pub directions: DirectionPlan,
    /// True for random offsets, false for sequential ones.
    pub random: bool,
    /// Share of random offsets by direction, percent. Only random plans use it; 100 makes all offsets random.
    pub random_percent: PerDirection<u32>,
    /// In sequential plans, bytes added after each block; in random plans, I/Os per random draw.
    pub postfix: Option<i64>,
    /// True to repeat the offset between random draws instead of advancing.
    pub repeat_offset: bool,
    /// Lengths per direction.
    pub lengths: PerDirection<LengthRule>,
    /// True if sequential I/O uses read lengths and random I/O write lengths, regardless of the direction.
    pub length_by_pattern: bool,
    /// True if write lengths are drawn from the generator of read lengths, which lets verification draw them
    /// again.
    pub writes_drawn_as_reads: bool,
    /// True if sequential I/O, or a sequential step of random I/O, that reaches the exact end of a file
    /// continues at the file's start within the pass. Each direction wraps separately. A remainder too short
    /// for a block ends the pass.
    pub wraps: bool,
    /// True if random I/O that has covered a file starts over in it immediately, without ending the pass.
    pub begins_files_anew: bool,
    /// Alignment of random offsets per direction, bytes.
    pub alignment: PerDirection<u64>,
    /// True if each block is accessed once before any block is repeated.
    pub each_block_once: bool,
    /// Generator of uniformly distributed offsets.
    pub generator: GeneratorKind,
    /// Distribution of random offsets.
    pub distribution: DistributionRule,
    /// The order in which files are used.
    pub files: FileRule,
    /// Zones of each file that are used in turn.
    pub stride: Option<StrideRule>,
    /// True if zone rules may move each target; see `Targets::moved`.
    pub follows_zones: bool,
}

impl TargetPlan {
    /// The directions in use.
    pub fn used_directions(&self) -> &'static [Direction] {
        self.directions.used()
    }

    /// Size of the smallest possible I/O.
    pub fn smallest_length(&self) -> u64 {
        self.used_directions()
            .iter()
            .map(|&direction| self.lengths[direction].min())
            .min()
            .unwrap_or(1)
            .max(1)
    }

    /// Size of the largest possible I/O.
    pub(crate) fn longest_length(&self) -> u64 {
        self.used_directions().iter().map(|&direction| self.lengths[direction].max()).max().unwrap_or(0)
    }

    /// The largest power of two that divides all offsets and lengths of I/Os in a part that begins at `start`.
    pub fn common_alignment(&self, start: u64) -> u64 {
        match self.one_length().filter(|_| self.postfix.is_none()) {
            Some(length) => 1 << (length | start).trailing_zeros().min(62),
            None => 1,
        }
    }

    /// True if one pass reads, or writes, every byte of the part.
    pub fn covers_everything(&self) -> bool {
        let is_one_direction = self.used_directions().len() == 1;
        let has_gaps = self.postfix.is_some() || self.stride.is_some() || self.follows_zones;
        let everywhere = match self.random {
            true => self.each_block_once && self.random_percent.values().all(|&percent| percent >= 100),
            false => true,
        };
        is_one_direction && !has_gaps && everywhere && !self.files.order.is_skewed()
    }

    /// The length of all I/Os in bytes, if it is constant and random offsets are multiples of it, so that
    /// blocks cannot overlap.
    pub fn one_length(&self) -> Option<u64> {
        let used = self.used_directions();
        let LengthRule::Fixed(length) = self.lengths[used[0]] else { return None };
        let has_length =
            |&d: &Direction| self.lengths[d] == LengthRule::Fixed(length) && self.alignment[d] == length;
        (!self.length_by_pattern && used.iter().all(has_length)).then_some(length)
    }

    /// True if all I/Os have [one length](TargetPlan::one_length).
    pub fn has_one_length(&self) -> bool {
        self.one_length().is_some()
    }
}

/// The order of directions.
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
    /// True if some I/Os read.
    pub fn reads(self) -> bool {
        self.used().contains(&Direction::Read)
    }

    /// True if some I/Os write.
    pub fn writes(self) -> bool {
        self.used().contains(&Direction::Write)
    }

    /// The only direction in use; `None` if there are several.
    pub fn only(self) -> Option<Direction> {
        match self.used() {
            [direction] => Some(*direction),
            _ => None,
        }
    }

    /// The directions in use.
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

/// The generator of uniform random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneratorKind {
    /// Chosen by the run: a permutation if possible.
    Free,
    /// fio's generator for the size of the file: taus88, or taus258 for files of 2^32 or more blocks.
    BySize,
    /// taus88, fio's sequence.
    Tausworthe,
    /// taus258, fio's sequence.
    Tausworthe64,
    /// A linear feedback shift register.
    ShiftRegister,
}

/// The order of files, and how many I/Os each choice lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRule {
    /// The order.
    pub order: FileOrder,
    /// Number of I/Os until the next choice; at least 1.
    pub hold: u64,
    /// Maximum number of files in use at a time: another file is started only when one is done. `None` for no
    /// limit.
    pub most_open: Option<usize>,
}

/// How the next file is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileOrder {
    /// Round robin.
    RoundRobin,
    /// One file until it is done, then the next.
    Sequential,
    /// Uniform draw.
    Random,
    /// Zipf with this exponent: the first files are the most frequent.
    Zipf(f64),
    /// Pareto with this shape.
    Pareto(f64),
    /// A normal distribution over the files; the value is its deviation in percent.
    Normal(f64),
}

impl FileOrder {
    /// True if some files are chosen more often than others.
    pub fn is_skewed(self) -> bool {
        matches!(self, FileOrder::Zipf(_) | FileOrder::Pareto(_) | FileOrder::Normal(_))
    }
}

/// Zones of equal length at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrideRule {
    /// Bytes to move within a zone before advancing to the next.
    pub work: u64,
    /// Length of a zone, bytes.
    pub length: u64,
    /// Gap between two zones, bytes.
    pub skip: u64,
}
