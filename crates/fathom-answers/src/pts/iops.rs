//! The IOPS test: random I/O with eight block sizes and seven mixes of reads and writes.

use super::definition::{Definition, Part};
use crate::measures::Figure;

/// Percentages of reads, from all reads to all writes.
const MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];
const BLOCKS: [u64; 8] = [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512];
/// Block size of the point whose writes are the tracking variable.
const TRACKED: u64 = 4 << 10;

pub(super) const TEST: Definition = Definition {
    title: "IOPS",
    usual_load: (4, 32),
    has_fixed_load: false,
    figure: Figure::Iops,
    blocks: &BLOCKS,
    parts,
};

fn parts(sector: u64) -> Vec<Part> {
    vec![Part::matrix(&MIXES, &BLOCKS, TRACKED, sector)]
}
