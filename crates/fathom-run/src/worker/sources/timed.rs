//! I/Os with scheduled times: the entries of a log, and the arrivals of an open loop.

use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::gates::open_loop::OpenLoop;
use crate::worker::next::Next;
use crate::worker::sources::dependent::DependentReplay;
use crate::worker::sources::replay::Replay;
use crate::worker::{GivenUp, Worker, WorkerContext};
use fathom_stats::Direction;
use fathom_sys::clock::{Clock, Moment};
use std::sync::atomic::Ordering::Relaxed;

/// Source of the due times of a job: a log, a schedule, or a log whose times are treated as a schedule.
pub(in crate::worker) struct Timed<'a> {
    /// A log whose entries replace targets.
    pub(in crate::worker) replay: Option<Replay<'a>>,
    /// A log whose dependencies are kept.
    pub(in crate::worker) dependent: Option<DependentReplay<'a>>,
    /// An open loop, in which each I/O is measured from its due time.
    pub(in crate::worker) open_loop: Option<OpenLoop<'a>>,
}

impl Feature for Timed<'_> {
    /// Provides the I/Os or their due times, and measures the time from the due time to completion.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, preparation: true, ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> Timed<'a> {
    /// Created for workers with a log or a schedule. Reports problems of the log.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        clock: Clock,
    ) -> Result<Option<Timed<'a>>, GivenUp> {
        let (replay, dependent) = (Replay::of(context, clock)?, DependentReplay::of(context, clock)?);
        let timed = Timed { replay, dependent, open_loop: OpenLoop::of(context, clock) };
        let is_needed = timed.replay.is_some() || timed.dependent.is_some() || timed.open_loop.is_some();
        Ok(is_needed.then_some(timed))
    }

    /// Puts the last chosen I/O into this slot.
    pub(in crate::worker) fn begin(&mut self, slot: u32, target: Target, units: &[Unit]) {
        let entry = self.replay.as_mut().and_then(|replay| {
            let due = replay.begin(slot)?;
            let others = if self.open_loop.is_some() { replay.others_due(target.direction) } else { 0 };
            Some((due, others))
        });
        if let Some(dependent) = &mut self.dependent {
            dependent.begin(slot);
        }
        let Some(open_loop) = &mut self.open_loop else { return };
        if let Some((due, others)) = entry {
            open_loop.entry_is_due(target.direction, due, others);
            if let Some(end) = self.replay.as_ref().and_then(Replay::end) {
                open_loop.ends_by(end);
            }
        }
        open_loop.start(slot, units);
    }

    /// Puts a sync of a log into this slot.
    pub(in crate::worker) fn begin_sync(&mut self, slot: u32) {
        if let Some(replay) = &mut self.replay {
            replay.begin(slot);
        }
        if let Some(dependent) = &mut self.dependent {
            dependent.begin(slot);
        }
    }

    /// Records that the I/O in this slot has completed; `direction` is set if it succeeded. `none_was_free` is
    /// true if all slots were in use before. Returns the response time of an arrival, ns.
    pub(in crate::worker) fn ended(
        &mut self,
        slot: u32,
        unit: &Unit,
        direction: Option<Direction>,
        now: u64,
        none_was_free: bool,
    ) -> Option<u64> {
        if let Some(replay) = &mut self.replay {
            replay.issued(slot, unit.issue());
        }
        if let Some(dependent) = &mut self.dependent {
            dependent.ended(slot, unit, now);
        }
        let open_loop = self.open_loop.as_mut()?;
        open_loop.freed(now, none_was_free);
        direction.and_then(|direction| open_loop.ended(slot, unit, direction, now))
    }

    /// Starts the log and the schedule when the job begins.
    pub(in crate::worker) fn start(&mut self, now: u64) {
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.begin(now);
        }
    }

    /// Records that the next I/O waits for another one to complete.
    pub(in crate::worker) fn hold_back(&mut self) {
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.hold_back();
        }
    }
}

impl Worker<'_> {
    /// The next I/O that is due.
    #[inline(never)]
    pub(in crate::worker) fn next_when_due(&mut self, now: u64) -> Next {
        let Some(timed) = &self.features.timed else { return Next::End };
        let next = match (&timed.replay, &timed.dependent) {
            (Some(_), _) => self.next_to_replay(now),
            (None, Some(_)) => self.next_dependent(),
            (None, None) => self.next_arrival(now),
        };
        let next = self.admit(next, now);
        if let Some(open_loop) = self.features.timed.as_mut().and_then(|timed| timed.open_loop.as_mut())
            && (matches!(next, Next::WaitForEnd | Next::WaitForAll)
                || matches!(next, Next::Wait(_)) && open_loop.has_chosen())
        {
            open_loop.hold_back();
        }
        next
    }

    /// The next I/O of the job, once it is due by its schedule.
    fn next_arrival(&mut self, now: u64) -> Next {
        if self.features.verifier.is_some()
            && let Some(next) = self.next_to_verify()
        {
            self.enter_zone(&next);
            return next;
        }
        let next = match self.take_held_by_zone() {
            Some(target) => Next::Io(target),
            None => match self.sync_that_is_due() {
                Some(sync) => sync,
                None => self.next_of_schedule(now),
            },
        };
        self.place_in_zones(next, now)
    }

    fn next_of_schedule(&mut self, now: u64) -> Next {
        let Some(mut timed) = self.features.timed.take() else { return Next::End };
        let next = match &mut timed.open_loop {
            Some(open_loop) => {
                open_loop.set_left(self.ios_to_go());
                self.next_through(open_loop, now)
            }
            None => Next::End,
        };
        self.features.timed = Some(timed);
        self.count_for_syncs(next)
    }

    /// Number of I/Os left in the job, if it is limited.
    fn ios_to_go(&self) -> Option<u64> {
        let used = self.plan.target_plan.used_directions();
        let lengths = used.iter().map(|&direction| self.plan.target_plan.lengths[direction].mean());
        self.budget.ios_to_go(lengths.sum::<f64>() / used.len().max(1) as f64)
    }

    /// Frees the slot of an I/O, which succeeded if a direction is given. Returns the response time of an
    /// arrival, ns.
    #[inline(never)]
    pub(in crate::worker) fn settle_timed(
        &mut self,
        slot: u32,
        direction: Option<Direction>,
        now: u64,
    ) -> Option<u64> {
        let none_was_free = self.slots.none_is_free() || !self.recording.submission;
        let timed = self.features.timed.as_mut()?;
        timed.ended(slot, self.slots.unit(slot), direction, now, none_was_free)
    }

    /// Called when the engine's run is over: counts the arrivals that are still waiting.
    pub(in crate::worker) fn close_arrivals(&mut self) {
        let left = self.ios_to_go();
        let Some(timed) = &mut self.features.timed else { return };
        let Some(open_loop) = &mut timed.open_loop else { return };
        let now = self.clock.moment();
        let deadline = self.block.deadline_ns.load(Relaxed);
        // I/O in flight at the end of the run time may have taken much longer, so the end is the deadline.
        let end = match deadline {
            1.. if deadline < now.ns => {
                Moment { ns: deadline, ticks: now.ticks - self.clock.ticks_of_ns(now.ns - deadline) }
            }
            _ => now,
        };
        // A job that reached its own end has no arrivals left.
        let was_stopped = self.stopping || self.block.should_stop();
        open_loop.set_left(if was_stopped { left } else { Some(0) });
        match &mut timed.replay {
            Some(replay) if was_stopped => open_loop.close_log(replay.waiting(end.ticks), end),
            Some(_) => open_loop.close_log(std::iter::empty(), end),
            None => open_loop.close(end),
        }
    }
}
