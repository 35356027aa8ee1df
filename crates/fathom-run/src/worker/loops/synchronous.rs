//! The loop for engines that complete every I/O inside the call: one unit after the other.

use crate::engine::{Io, Queued};
use crate::invariant::{Invariant, broken};
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::complete::After;
use crate::worker::next::Next;
use crate::worker::{Loop, Worker, files, setup};
use fathom_stats::Direction;
use fathom_stats::samples::{batch_bucket, bump};

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// Runs until the budget, the time or an error ends it.
    pub(in crate::worker) fn run_synchronous(&mut self) {
        let mut now = self.clock.ticks();
        loop {
            if now >= self.next_event {
                self.any().handle_event(now);
            }
            if self.stopping
                || self.block.should_stop()
                || self.engine.may_be_over() && self.any().engine_is_over()
            {
                return;
            }
            if let Some(target) = self.next_in_pass() {
                now = self.run_one(target);
                continue;
            }
            match self.any().next(now) {
                Next::Io(target) => now = self.run_one(target),
                Next::ZoneReset(target) => now = self.any().run_zone_reset(target),
                Next::Sync(operation, file) => {
                    let io = self.any().prepare_sync(0, operation, file, now);
                    now = self.issue_and_wait(io, self.slots.unit(0), None);
                }
                Next::Wait(until) => now = self.any().wait_until(until),
                Next::WaitForEnd | Next::WaitForAll => now = self.clock.ticks(),
                Next::End => return,
            }
        }
    }

    #[inline(always)]
    fn run_one(&mut self, target: Target) -> u64 {
        // Each I/O gets a new start time, because the time since the end of the previous one belongs to the
        // loop.
        let unit = self.slots.begin(0);
        let io = self.prepare_io(0, unit, target, 0);
        self.issue_and_wait(io, unit, Some(target.direction))
    }

    #[inline(always)]
    fn issue_and_wait(&mut self, mut io: Io, unit: &Unit, direction: Option<Direction>) -> u64 {
        self.count_issue(direction, 1);
        if self.recording.batches {
            bump(&self.samples.submit_map[batch_bucket(1)], 1);
            bump(&self.samples.complete_map[batch_bucket(1)], 1);
        }
        let start = self.clock.ticks();
        unit.started_at(start);
        loop {
            unit.set_in_flight(true);
            let result = match self.engine.queue(0, &io) {
                Queued::Done(result) => result,
                Queued::Pending => broken(Invariant::EndsAtOnce, format_args!("slot 0 is pending")),
            };
            let now = self.clock.ticks();
            if self.follows_issue {
                self.any().note_handed_over(unit);
            }
            if result == -i64::from(libc::EAGAIN) && self.engine.waits_for_peers() {
                match self.any().waits_on(0, now) {
                    true => continue,
                    false => return now,
                }
            }
            // `queue` returned the result of this unit, so no slot has to be looked up.
            unit.set_in_flight(false);
            match self.complete_unit(0, unit, result, now, None) {
                After::Free => return now,
                After::GoOn => io = self.any().rest_of(0),
            }
        }
    }
}

impl Worker<'_> {
    /// True if the engine's activity besides its I/Os has ended, which ends the job.
    fn engine_is_over(&mut self) -> bool {
        setup::pass_on_remarks(&self.context, &mut self.engine);
        let Some(end) = self.engine.is_over() else { return false };
        if let Err(error) = end {
            files::report(&self.context, &error);
        }
        true
    }

    fn run_zone_reset(&mut self, target: Target) -> u64 {
        let unit = self.slots.begin(0);
        self.prepare_io(0, unit, target, 0);
        self.count_issue(Some(target.direction), 1);
        let start = self.clock.ticks();
        unit.started_at(start);
        let result = self.reset_zone(target);
        let now = self.clock.ticks();
        self.complete(0, result, now);
        now
    }
}
