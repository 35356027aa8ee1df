//! Fills files with content before they are read.

use crate::payload::Payload;
use crate::plan::WorkerPlan;
use crate::plan::model::payload::PayloadRule;
use fathom_stats::Direction;
use fathom_sys::Errno;
use std::io::Write;

/// Bytes per write when filling a new file, unless the job's blocks are larger.
const HANDED_OVER: usize = 1 << 20;

/// Fills the files of a job one after the other, each with different content, because a deduplicating device
/// would store equal content once.
pub struct Filling {
    payload: Payload,
    buffer: Vec<u8>,
    /// Bytes of the job's blocks.
    block: usize,
}

impl Filling {
    /// Prepares to fill files of at most this size. Fails with ENOMEM.
    pub(super) fn new(plan: &WorkerPlan, longest: u64) -> Result<Filling, Errno> {
        let rule = match &plan.payload {
            // The buffer is refilled for every block, so that all blocks of a new file differ.
            PayloadRule::Random { .. } => PayloadRule::Random { refill: true, scramble: false },
            other => other.clone(),
        };
        let is_pattern = matches!(rule, PayloadRule::Pattern(_));
        let no_memory = Errno(libc::ENOMEM);
        let mut payload = Payload::new(rule, &plan.files.seeds, longest).map_err(|_| no_memory)?;
        // Files are filled as if the job had written them, so each block is different. Small blocks are
        // combined into one write.
        let block = plan.target_plan.lengths[Direction::Write].max().max(1) as usize;
        // With `fill_device`, the last block that fits is part of the result, so blocks are written one at a
        // time.
        let at_once =
            if plan.files.layout.fills_device { block } else { block * (HANDED_OVER / block).max(1) };
        let at_once = usize::try_from(longest).map_or(at_once, |longest| longest.min(at_once));
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(at_once).map_err(|_| no_memory)?;
        buffer.resize(at_once, 0);
        if is_pattern {
            buffer.chunks_mut(block).for_each(|block| payload.prepare(block));
        }
        Ok(Filling { payload, buffer, block })
    }

    /// Appends the missing bytes to a target, in order. Fails with EINTR when stopped.
    pub fn fill(
        &mut self,
        target: &mut dyn Write,
        (present, missing): (u64, u64),
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        let mut left = missing;
        let mut offset = present;
        while left > 0 {
            if stopped() {
                return Err(Errno(libc::EINTR));
            }
            let length = left.min(self.buffer.len() as u64) as usize;
            for block in self.buffer[..length].chunks_mut(self.block) {
                self.payload.refresh(block, offset, 0);
                offset += block.len() as u64;
            }
            target.write_all(&self.buffer[..length]).map_err(Errno::from)?;
            left -= length as u64;
        }
        Ok(())
    }
}
