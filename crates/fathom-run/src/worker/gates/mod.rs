//! Gates decide whether the next I/O may be issued: rate limits, flow control, zone limits, locks, overlap.

pub(super) mod admission;
pub(super) mod flow;
pub(super) mod open_loop;
pub(super) mod overlap;
pub(super) mod pace;
pub(super) mod schedule;
mod steps;
pub(super) mod zones;

use super::next::Next;
use crate::targets::{Target, Targets};
use fathom_stats::Direction;

/// Decides when the next I/O of the job is due.
pub(super) trait Gate {
    /// The direction of the next I/O if it may start now; otherwise the wait that it requires.
    fn draw(&mut self, now: u64, targets: &mut Targets) -> Result<Direction, Next>;

    /// Called when the drawn I/O is issued.
    fn issued(&mut self, target: &Target);
}
