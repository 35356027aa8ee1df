//! The latency test: random I/O with three block sizes and three mixes, one I/O at a time.

use super::definition::{Definition, Part};
use crate::measures::Figure;

const MIXES: [u8; 3] = [100, 65, 0];
const BLOCKS: [u64; 3] = [8 << 10, 4 << 10, 512];
/// Block size of the point whose writes are the tracking variable.
const TRACKED: u64 = 4 << 10;

pub(super) const TEST: Definition = Definition {
    title: "Latency",
    usual_load: (1, 1),
    has_fixed_load: true,
    figure: Figure::LatencyMean,
    blocks: &BLOCKS,
    parts,
};

fn parts(sector: u64) -> Vec<Part> {
    vec![Part::matrix(&MIXES, &BLOCKS, TRACKED, sector)]
}
