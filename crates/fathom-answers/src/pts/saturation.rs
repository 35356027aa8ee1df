//! The write saturation test: random 4 KiB writes to a purged device, minute by minute, until it has been
//! filled four times or six hours have passed. It shows how performance declines, so it neither waits for
//! steady state nor preconditions the device.

use super::definition::{Definition, Ends, Part, Point, usable};
use crate::measures::Figure;

const BLOCKS: [u64; 1] = [4 << 10];
/// Number of times that the capacity is written.
const FILLS: u32 = 4;
const MINUTES: usize = 6 * 60;

pub(super) const TEST: Definition = Definition {
    title: "Write saturation",
    usual_load: (4, 32),
    has_fixed_load: false,
    figure: Figure::Iops,
    blocks: &BLOCKS,
    parts,
};

/// The parts of the test: a single one, whose rounds are minutes.
fn parts(sector: u64) -> Vec<Part> {
    let points: Vec<Point> =
        usable(&BLOCKS, sector).into_iter().map(|bytes| Point::random(bytes, 0)).collect();
    vec![Part::new(String::new(), 0, points, BLOCKS[0], Ends::Written { fills: FILLS, rounds: MINUTES })]
}
