//! Corrections of drawn targets that the zone rules move, shorten, or cannot place.

use super::{Target, Targets, step_position};
use fathom_stats::Direction;

impl Targets {
    /// Reports that the last target was moved, so the sequence continues from its new position. `behind` is the
    /// offset in the file at which a sequential job continues.
    pub fn moved(&mut self, target: Target, behind: u64) {
        let state = &mut self.files[target.file as usize];
        state.positions[target.direction] = match self.plan.postfix {
            Some(step) if !self.plan.random => {
                step_position(target.offset + u64::from(target.length) - state.start, step, state.size)
            }
            _ => behind.saturating_sub(state.start),
        };
        // A write follows its trim to the new position.
        if state.trimmed.is_some() && target.direction == Direction::Trim {
            state.trimmed = Some(target);
        }
        self.last = Some(target);
    }

    /// Reports that the last target was shortened, so its remainder may be drawn again.
    pub fn shortened(&mut self, drawn: Target, length: u32) {
        let state = &mut self.files[drawn.file as usize];
        let alignment = self.plan.alignment[drawn.direction];
        let units = |length: u32| u64::from(length).div_ceil(alignment);
        let first = drawn.offset.saturating_sub(state.start) / alignment + units(length);
        if let Some(random) = &mut state.random {
            random.uncover(first, units(drawn.length) - units(length));
        }
    }

    /// Reports that the file has no more targets in this pass.
    pub fn finish_file(&mut self, file: u32) {
        self.files[file as usize].done = true;
        self.choice.is_done(file as usize);
    }
}
