//! A test of the specification as data: its parts, and the points that each part measures.

use crate::figures;
use crate::measures::Figure;

/// One test of the specification.
pub(crate) struct Definition {
    pub(crate) title: &'static str,
    /// Default number of threads and queue depth, which the specification leaves to the tester.
    pub(super) usual_load: (u32, u32),
    /// True if the specification requires this load.
    pub(super) has_fixed_load: bool,
    /// The tracking variable, which is also the first figure in the tables.
    pub(crate) figure: Figure,
    /// Block sizes of the specification.
    pub(super) blocks: &'static [u64],
    /// Returns the parts for a device with sectors of `sector` bytes.
    pub(super) parts: fn(sector: u64) -> Vec<Part>,
}

/// A part of a test, which begins with a purge and ends by its own rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Name of the part; empty if the test has only one.
    pub(crate) name: String,
    /// Number of times that the capacity is written before the first round.
    pub(crate) passes: u32,
    /// The points measured in each round, in order.
    pub(crate) points: Vec<Point>,
    /// Index of the point that supplies the tracking variable.
    pub(crate) tracked: usize,
    pub(crate) ends: Ends,
}

/// The condition that ends a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ends {
    /// Ends when five rounds are steady.
    Steady,
    /// Ends when the capacity has been written `fills` times, or after `rounds` rounds.
    Written { fills: u32, rounds: usize },
}

impl Part {
    pub(super) fn new(name: String, passes: u32, points: Vec<Point>, tracked: u64, ends: Ends) -> Part {
        // On a device with larger sectors, the smallest supported block size is tracked instead.
        let writes = || points.iter().enumerate().filter(|(_, point)| point.read_percent == 0);
        let smallest = writes().min_by_key(|(_, point)| point.block_bytes);
        let found = writes().find(|(_, point)| point.block_bytes == tracked).or(smallest);
        let tracked = found.map_or(0, |(place, _)| place);
        Part { name, passes, points, tracked, ends }
    }

    /// The only part of a random I/O test. Each round measures all points, mix by mix and size by size, until
    /// steady state.
    pub(super) fn matrix(mixes: &[u8], blocks: &[u64], tracked: u64, sector: u64) -> Part {
        let blocks = usable(blocks, sector);
        let points = mixes
            .iter()
            .flat_map(|&read_percent| blocks.iter().map(move |&bytes| Point::random(bytes, read_percent)))
            .collect();
        Part::new(String::new(), 2, points, tracked, Ends::Steady)
    }
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) is_random: bool,
    pub(crate) block_bytes: u64,
    /// Percentage of reads; the rest are writes.
    pub(crate) read_percent: u8,
}

impl Point {
    pub(super) fn random(block_bytes: u64, read_percent: u8) -> Point {
        Point { is_random: true, block_bytes, read_percent }
    }

    pub(super) fn sequential(block_bytes: u64, read_percent: u8) -> Point {
        Point { is_random: false, block_bytes, read_percent }
    }

    /// The mix as percentages of reads and writes, such as `100/0`.
    pub(crate) fn mix(&self) -> String {
        format!("{}/{}", self.read_percent, 100 - self.read_percent)
    }

    /// `4 KiB`.
    pub(crate) fn block(&self) -> String {
        figures::size(self.block_bytes)
    }

    /// `random 4 KiB, 65/35`.
    pub(crate) fn name(&self) -> String {
        let pattern = if self.is_random { "random" } else { "sequential" };
        format!("{pattern} {}, {}", self.block(), self.mix())
    }
}

/// The block sizes that a device with sectors of this size supports.
pub(super) fn usable(blocks: &[u64], sector: u64) -> Vec<u64> {
    blocks.iter().copied().filter(|block| block.is_multiple_of(sector.max(1))).collect()
}
