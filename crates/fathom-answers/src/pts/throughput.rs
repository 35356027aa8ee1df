//! The throughput test: sequential reads and writes with two block sizes, each with its own purge and steady state.

use super::definition::{Definition, Ends, Part, Point, usable};
use crate::figures;
use crate::measures::Figure;

const BLOCKS: [u64; 2] = [128 << 10, 1 << 20];

pub(super) const TEST: Definition = Definition {
    title: "Throughput",
    usual_load: (1, 32),
    has_fixed_load: false,
    figure: Figure::Bandwidth,
    blocks: &BLOCKS,
    parts,
};

/// The parts of the test: one per block size. A round consists of reads, then writes.
fn parts(sector: u64) -> Vec<Part> {
    let part = |bytes: u64| {
        let points = vec![Point::sequential(bytes, 100), Point::sequential(bytes, 0)];
        Part::new(figures::size(bytes), 2, points, bytes, Ends::Steady)
    };
    usable(&BLOCKS, sector).into_iter().map(part).collect()
}
