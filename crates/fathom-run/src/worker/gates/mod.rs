//! May the next I/O go now? What a rate, a flow, a zone, a lock or another I/O has to say to that.

pub(super) mod admission;
pub(super) mod flow;
pub(super) mod open_loop;
pub(super) mod overlap;
pub(super) mod pace;
pub(super) mod schedule;
pub(super) mod zones;

use super::next::Next;
use crate::targets::{Target, Targets};
use fathom_stats::Direction;

/// What says when the next I/O of the job is due.
pub(super) trait Gate {
    /// The direction of the next I/O if it may start now, or what to wait for.
    fn draw(&mut self, now: u64, targets: &mut Targets) -> Result<Direction, Next>;

    /// That I/O is being issued.
    fn issued(&mut self, target: &Target);
}
