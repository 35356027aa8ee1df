//! The loop for engines that keep many I/Os in flight: fill up to the depth, submit, reap, repeat.

use super::depths::bump_depths;
use crate::engine::{Completion, Queued, REAP_BATCH};
use crate::invariant::{Invariant, broken, holds};
use crate::plan::model::queue::QueuePlan;
use crate::targets::Target;
use crate::unit::{Operation, Unit};
use crate::worker::complete::After;
use crate::worker::next::Next;
use crate::worker::rules::Rules;
use crate::worker::tally::Tally;
use crate::worker::{Loop, Worker};
use fathom_stats::samples::{batch_bucket, bump};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::Errno;
use std::time::Duration;

/// Time after which the job fails if the kernel refuses every I/O although none is in flight.
const STALLED: Duration = Duration::from_secs(30);

/// Units that were queued but not yet accepted by the kernel, in order.
struct Pending {
    slots: Vec<u32>,
    /// True if another I/O is submitted in place of each completed one during a reap.
    tops_up: bool,
    /// Completions of the current reap that have yet to be counted.
    tally: Tally,
}

/// What a reap waits for.
#[derive(Clone, Copy)]
enum Wait {
    /// A number of completions.
    For(u32),
    /// One completion, but no longer than this.
    Within(Duration),
}

/// Parameters of the loop.
#[derive(Clone, Copy)]
struct Batching {
    depth: u32,
    /// Maximum number of I/Os in flight now; less than the depth while `latency_target` searches.
    limit: u32,
    submit: u32,
    complete_min: u32,
    complete_max: u32,
    low: u32,
    /// True to refill the queue after each completion instead of after the whole reap.
    tops_up: bool,
}

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// Runs until the budget, the time or an error ends it, then waits for the I/Os in flight.
    pub(in crate::worker) fn run_queued(&mut self) {
        let mut batching = self.any().batching();
        let tally = Tally::new(self.clock, self.recording, self.short_latency_ns, self.follows_issue);
        let slots = Vec::with_capacity(batching.depth as usize);
        let mut pending = Pending { slots, tops_up: false, tally };
        let alone = batching.submit == 1;
        let mut now = self.clock.ticks();
        let mut ended = false;
        while !ended {
            if now >= self.next_event {
                self.any().handle_event(now);
                self.any().follow_search(&mut batching);
            }
            if self.stopping || self.block.should_stop() {
                break;
            }
            // Issues as many I/Os as there are free slots now. An I/O that completes immediately frees its slot
            // only for the next round, so that time and orders are checked in between.
            let room = batching.limit.saturating_sub(self.slots.handed_over() + pending.slots.len() as u32);
            let (mut wait, mut looks_again) = (None, false);
            for _ in 0..room {
                match self.next_in_pass() {
                    Some(target) => now = self.queue_io(target, &mut pending, now, alone),
                    None => match self.any().next(now) {
                        Next::Io(target) => now = self.queue_io(target, &mut pending, now, alone),
                        Next::ZoneReset(target) => now = self.any().queue_zone_reset(target, &mut pending),
                        Next::Sync(operation, file) => {
                            now = self.any().queue_sync(operation, file, &mut pending, now)
                        }
                        next @ (Next::Wait(_) | Next::WaitForEnd | Next::WaitForAll) => {
                            wait = Some(next);
                            break;
                        }
                        Next::End => {
                            ended = true;
                            break;
                        }
                    },
                }
                if pending.slots.len() as u32 >= batching.submit {
                    now = self.commit(&mut pending, now);
                }
                // Without this check, I/Os that complete immediately, or a kernel that accepts none, would keep
                // the loop running past the end of the run.
                if now >= self.next_event {
                    looks_again = true;
                    break;
                }
            }
            now = self.commit(&mut pending, now);
            // The next I/O may be due before any other completes, so the loop does not wait.
            if looks_again {
                continue;
            }
            now = match wait {
                Some(Next::Wait(until)) => self.any().reap_or_wait(until, &batching, &mut pending),
                Some(_) => self.any().reap_one(&batching, &mut pending),
                None => self.reap_down(&batching, &mut pending, now),
            };
        }
        self.any().drain(&batching, &mut pending);
    }

    #[inline(always)]
    fn queue_io(&mut self, target: Target, pending: &mut Pending, now: u64, alone: bool) -> u64 {
        let slot = self.slots.take();
        let unit = self.slots.begin(slot);
        let io = self.prepare_io(slot, unit, target, now);
        match self.engine.queue(slot, &io) {
            Queued::Pending if alone && pending.slots.is_empty() => {
                let Some(now) = self.commit_one(unit) else { return self.leave_to_commit(slot, pending) };
                let depth = self.slots.hand_over(1);
                self.count_issued(unit, target.direction, depth, now, &mut pending.tally);
                now
            }
            Queued::Pending => {
                pending.slots.push(slot);
                now
            }
            Queued::Done(result) => self.any().ended_at_once(slot, result, pending),
        }
    }

    /// Queues an I/O in the slot of a completed one, so the number in flight does not change.
    #[inline(always)]
    fn replace_io(&mut self, slot: u32, unit: &Unit, target: Target, pending: &mut Pending, now: u64) -> u64 {
        let io = self.prepare_io(slot, unit, target, now);
        let queued = self.engine.queue(slot, &io);
        if let Queued::Pending = queued
            && pending.slots.is_empty()
            && let Some(now) = self.commit_one(unit)
        {
            let depth = self.slots.handed_over();
            self.count_issued(unit, target.direction, depth, now, &mut pending.tally);
            return now;
        }
        self.slots.take_back(slot);
        match queued {
            Queued::Pending => self.leave_to_commit(slot, pending),
            Queued::Done(result) => self.any().ended_at_once(slot, result, pending),
        }
    }

    /// Submits a single I/O; returns the tick at which the kernel accepted it, or `None` if it did not.
    #[inline(always)]
    fn commit_one(&mut self, unit: &Unit) -> Option<u64> {
        match self.engine.commit() {
            Ok(1) => {
                let now = self.clock.ticks();
                unit.issued_at(now);
                Some(now)
            }
            Ok(taken @ 2..) => broken(Invariant::HandedOver, format_args!("{taken} were taken of 1")),
            _ => None,
        }
    }

    /// Leaves an I/O to the loop's next commit: in the middle of a reap, all I/Os in flight may already be
    /// listed as completed, so waiting for another completion would never end.
    #[cold]
    #[inline(never)]
    fn leave_to_commit(&mut self, slot: u32, pending: &mut Pending) -> u64 {
        pending.slots.push(slot);
        self.clock.ticks()
    }

    /// Submits the queued units. All units of one call share its time of issue.
    #[inline(always)]
    fn commit(&mut self, pending: &mut Pending, now: u64) -> u64 {
        if pending.slots.is_empty() {
            return now;
        }
        match self.engine.commit() {
            Ok(taken) if taken as usize == pending.slots.len() => {
                let now = self.clock.ticks();
                self.mark_batch_issued(&pending.slots, now);
                pending.slots.clear();
                now
            }
            result => self.any().commit_in_parts(result, pending),
        }
    }

    /// Counts an I/O that was submitted alone, at the queue depth that it reaches.
    #[inline(always)]
    fn count_issued(&mut self, unit: &Unit, direction: Direction, depth: u32, now: u64, tally: &mut Tally) {
        if tally.take_issue(direction, depth, now, self.samples) {
            return;
        }
        self.count_issue(Some(direction), depth);
        if self.recording.batches {
            bump(&self.samples.submit_map[batch_bucket(1)], 1);
        }
        if self.follows_issue {
            self.any().note_handed_over(unit);
        }
    }

    /// Counts a batch of submitted I/Os, with their depths and directions counted together.
    fn mark_batch_issued(&mut self, slots: &[u32], now: u64) {
        let mut issued = PerDirection::all(0u64);
        for &slot in slots {
            let unit = self.slots.unit(slot);
            unit.issued_at(now);
            if let Some(direction) = unit.direction() {
                issued[direction] += 1;
            }
            if self.follows_issue {
                self.any().note_handed_over(unit);
            }
        }
        for (direction, &count) in issued.iter() {
            bump(&self.samples.directions[direction].issued, count);
        }
        let count = slots.len() as u32;
        let reached = self.slots.hand_over(count);
        bump_depths(&self.samples.depth_map, reached - count, reached);
        if self.recording.batches {
            bump(&self.samples.submit_map[batch_bucket(count)], 1);
        }
    }

    /// Reaps until a slot is free again, or down to `iodepth_low`.
    #[inline(always)]
    fn reap_down(&mut self, batching: &Batching, pending: &mut Pending, mut now: u64) -> u64 {
        if self.slots.handed_over() == 0 {
            return now;
        }
        loop {
            let before = self.slots.handed_over();
            let min = batching.complete_min.min(self.slots.handed_over());
            now = self.reap(Wait::For(min), batching.complete_max, batching.tops_up, pending);
            let enough = batching.low == batching.depth || self.slots.handed_over() <= batching.low;
            let nothing = self.slots.handed_over() == before;
            if batching.tops_up || enough || nothing || self.stopping || self.slots.handed_over() == 0 {
                return now;
            }
        }
    }

    /// Reaps and handles completions. All units of one reap share its time.
    #[inline(always)]
    fn reap(&mut self, wait: Wait, max: u32, tops_up: bool, pending: &mut Pending) -> u64 {
        pending.tops_up = tops_up;
        match wait {
            Wait::For(min) if self.engine.has_ends_in_place() => self.reap_in_place(min, max, pending),
            _ => self.reap_by_list(wait, max, pending),
        }
    }

    #[inline(always)]
    fn reap_in_place(&mut self, min: u32, max: u32, pending: &mut Pending) -> u64 {
        let waited = self.engine.await_ends(min, max.min(REAP_BATCH as u32));
        let now = self.clock.ticks();
        self.count_reaped(self.engine.ends());
        self.slots.check_ends(self.engine.ends());
        let collects = pending.tally.begin(self.engine.ends(), self.slots.handed_over(), now);
        let mut last = now;
        while self.engine.ends() > 0 {
            let end = self.engine.take_end();
            last = self.settle_end(end, now, last, pending);
        }
        if collects {
            pending.tally.end(self.samples);
        }
        self.look_at_reap(waited);
        last
    }

    #[inline(always)]
    fn reap_by_list(&mut self, wait: Wait, max: u32, pending: &mut Pending) -> u64 {
        // The list is taken out during the reap, so that the rest of the worker can be borrowed.
        let mut completions = self.completions.take().unwrap_or_default();
        completions.begin(max);
        let reaped = match wait {
            Wait::For(min) => self.engine.reap(min, &mut completions),
            Wait::Within(span) => self.engine.reap_within(span, &mut completions),
        };
        let now = self.clock.ticks();
        // A wait that timed out has reaped no completions, so it does not count as a reap.
        if matches!(wait, Wait::For(_)) || !completions.is_empty() {
            self.count_reaped(completions.len() as u32);
        }
        self.slots.check_ends(completions.len() as u32);
        let collects = pending.tally.begin(completions.len() as u32, self.slots.handed_over(), now);
        let mut last = now;
        for end in completions.list() {
            last = self.settle_end(*end, now, last, pending);
        }
        if collects {
            pending.tally.end(self.samples);
        }
        self.completions = Some(completions);
        self.look_at_reap(reaped);
        last
    }

    #[inline(always)]
    fn count_reaped(&self, count: u32) {
        if self.recording.batches {
            bump(&self.samples.complete_map[batch_bucket(count)], 1);
        }
    }

    /// Handles a completion that was reaped at `now`. `last` is the latest known tick; returns an updated one.
    #[inline(always)]
    fn settle_end(
        &mut self,
        Completion { slot, result }: Completion,
        now: u64,
        last: u64,
        pending: &mut Pending,
    ) -> u64 {
        let unit = self.slots.end(slot);
        if let After::GoOn = self.complete_unit(slot, unit, result, now, Some(&mut pending.tally)) {
            self.slots.take_back(slot);
            self.any().queue_rest(slot, pending);
            return last;
        }
        // The wait, or an I/O issued during the reap, may have lasted past the end of the run; then no further
        // I/O is issued.
        if pending.tops_up && last < self.next_event && !self.stopping {
            return self.top_up(slot, unit, pending, last);
        }
        self.slots.take_back(slot);
        self.slots.give_back(slot);
        last
    }

    /// Handles an error of the reap call.
    #[inline(always)]
    fn look_at_reap(&mut self, reaped: Result<(), Errno>) {
        if let Err(errno) = reaped
            && errno != Errno(libc::EINTR)
        {
            self.any().engine_failed("getevents", errno);
        }
    }

    /// Issues one I/O in the slot of a completed one, if an I/O may be issued now.
    #[inline(always)]
    fn top_up(&mut self, slot: u32, unit: &Unit, pending: &mut Pending, now: u64) -> u64 {
        if let Some(target) = self.next_in_pass() {
            return self.replace_io(slot, unit, target, pending, now);
        }
        self.slots.take_back(slot);
        self.slots.give_back(slot);
        if self.rules == Rules::None { now } else { self.top_up_with_rules(pending, now) }
    }

    #[inline(never)]
    fn top_up_with_rules(&mut self, pending: &mut Pending, now: u64) -> u64 {
        match self.any().next(now) {
            Next::Io(target) => self.queue_io(target, pending, now, true),
            Next::ZoneReset(target) => self.any().queue_zone_reset(target, pending),
            Next::Sync(operation, file) => {
                let now = self.any().queue_sync(operation, file, pending, now);
                self.any().commit_what_is_taken(pending, now)
            }
            // The loop gets these answers again when it asks for the next I/O.
            Next::Wait(_) | Next::WaitForEnd | Next::End => now,
            Next::WaitForAll => {
                pending.tops_up = false;
                now
            }
        }
    }
}

impl Worker<'_> {
    /// Handles a result that is not in an engine's list of completions.
    fn settle(&mut self, slot: u32, result: i64, now: u64, pending: &mut Pending) {
        match self.complete(slot, result, now) {
            After::Free => self.slots.give_back(slot),
            After::GoOn => self.queue_rest(slot, pending),
        }
    }

    /// Sets the maximum number of I/Os in flight during a search for a depth. Between two depths, completed
    /// I/Os are not replaced.
    fn follow_search(&self, batching: &mut Batching) {
        let Some(search) = &self.features.latency_search else { return };
        // The search begins after the ramp, at depth 1.
        let is_ramping = self.ramp.is_some();
        batching.limit = if is_ramping { 1 } else { search.issue_limit() };
        batching.tops_up = self.plan.queue.tops_up && (is_ramping || search.goes_on());
    }

    fn batching(&self) -> Batching {
        let QueuePlan { submit, complete_min, complete_max, low, tops_up, .. } = self.plan.queue;
        let depth = self.plan.depth;
        Batching { depth, limit: depth, submit, complete_min, complete_max, low, tops_up }
    }

    fn queue_sync(&mut self, operation: Operation, file: u32, pending: &mut Pending, now: u64) -> u64 {
        let slot = self.slots.take();
        let io = self.prepare_sync(slot, operation, file, now);
        match self.engine.queue(slot, &io) {
            Queued::Pending => {
                pending.slots.push(slot);
                now
            }
            Queued::Done(result) => self.ended_at_once(slot, result, pending),
        }
    }

    /// Resets a zone immediately in place of a trim.
    fn queue_zone_reset(&mut self, target: Target, pending: &mut Pending) -> u64 {
        let slot = self.slots.take();
        let start = self.clock.ticks();
        self.prepare_io(slot, self.slots.begin(slot), target, start);
        let result = self.reset_zone(target);
        self.ended_at_once(slot, result, pending)
    }

    /// Completes an operation that an asynchronous engine has completed inside the call, such as a trim or some
    /// syncs.
    #[inline(never)]
    fn ended_at_once(&mut self, slot: u32, result: i64, pending: &mut Pending) -> u64 {
        let now = self.clock.ticks();
        let unit = self.slots.unit(slot);
        unit.issued_at(unit.start());
        self.count_issue(unit.direction(), self.slots.handed_over() + 1);
        if self.follows_issue {
            self.note_handed_over(unit);
        }
        self.settle(slot, result, now, pending);
        now
    }

    /// Submits the units that the kernel accepts now, and leaves the rest to the loop's next commit, which will
    /// get the error again. It does not wait: in the middle of a reap, all I/Os in flight may already be listed
    /// as completed, so waiting for another completion would never end.
    fn commit_what_is_taken(&mut self, pending: &mut Pending, now: u64) -> u64 {
        if pending.slots.is_empty() {
            return now;
        }
        let Ok(taken @ 1..) = self.engine.commit() else { return now };
        let now = self.clock.ticks();
        self.mark_first_issued(taken, pending, now);
        now
    }

    /// Records that the kernel accepted the first `taken` units of the queue.
    fn mark_first_issued(&mut self, taken: u32, pending: &mut Pending, now: u64) {
        let (taken, queued) = (taken as usize, pending.slots.len());
        holds!(taken <= queued, HandedOver, "{taken} were taken of {queued}");
        self.mark_batch_issued(&pending.slots[..taken], now);
        pending.slots.drain(..taken);
    }

    /// Handles a kernel that accepted only some units: lets some I/O complete, then submits the rest again.
    #[cold]
    #[inline(never)]
    fn commit_in_parts(&mut self, first: Result<u32, Errno>, pending: &mut Pending) -> u64 {
        let mut result = first;
        let mut refused_since = None;
        loop {
            let now = self.clock.ticks();
            match result {
                Ok(taken) => {
                    self.mark_first_issued(taken, pending, now);
                    if taken > 0 {
                        refused_since = None;
                    }
                }
                Err(Errno(libc::EAGAIN | libc::EINTR | libc::EBUSY)) => {}
                Err(errno) => {
                    self.give_up(errno, pending);
                    return now;
                }
            }
            if pending.slots.is_empty() {
                return now;
            }
            if self.slots.handed_over() > 0 {
                self.reap(Wait::For(1), self.plan.depth, false, pending);
            } else {
                let since = *refused_since.get_or_insert(now);
                if self.clock.span_ns(now - since) > STALLED.as_nanos() as u64 || self.block.should_stop() {
                    self.context.messages.send(&crate::message::Message::Error(
                        "fio: aio appears to be stalled, giving up".to_owned(),
                    ));
                    self.give_up(Errno(libc::EAGAIN), pending);
                    return now;
                }
                self.clock.sleep(Duration::from_micros(100));
            }
            result = self.engine.commit();
        }
    }

    /// Drops the queued units, because no more can be submitted.
    fn give_up(&mut self, errno: Errno, pending: &mut Pending) {
        self.engine_failed("io commit", errno);
        for slot in pending.slots.drain(..) {
            self.slots.end(slot);
            self.slots.give_back(slot);
        }
    }

    /// Handles completions or sleeps until `until`, before which no I/O may be issued. The next I/O is on time
    /// even if those in flight take longer.
    #[cold]
    fn reap_or_wait(&mut self, until: u64, batching: &Batching, pending: &mut Pending) -> u64 {
        if self.slots.handed_over() == 0 {
            return self.wait_until(until);
        }
        let span = self.span_to_sleep(until).unwrap_or_default();
        self.reap(Wait::Within(span), batching.complete_max, false, pending)
    }

    /// Waits for one completion, because no I/O may be issued before.
    #[cold]
    fn reap_one(&mut self, batching: &Batching, pending: &mut Pending) -> u64 {
        match self.slots.handed_over() {
            0 => self.clock.ticks(),
            _ => self.reap(Wait::For(1), batching.complete_max, false, pending),
        }
    }

    #[cold]
    fn queue_rest(&mut self, slot: u32, pending: &mut Pending) {
        let io = self.rest_of(slot);
        self.slots.begin(slot).set_in_flight(true);
        match self.engine.queue(slot, &io) {
            Queued::Pending => pending.slots.push(slot),
            Queued::Done(result) => {
                let now = self.clock.ticks();
                self.settle(slot, result, now, pending);
            }
        }
    }

    /// Waits for all I/Os in flight.
    fn drain(&mut self, batching: &Batching, pending: &mut Pending) {
        self.block.set_stage(crate::region::Stage::Draining);
        let now = self.clock.ticks();
        self.commit(pending, now);
        while self.slots.handed_over() > 0 || !pending.slots.is_empty() {
            let before = self.slots.handed_over();
            if self.slots.handed_over() > 0 {
                self.reap(Wait::For(1), batching.depth, false, pending);
            }
            let now = self.clock.ticks();
            if self.slots.handed_over() == before && self.engine.waits_for_peers() {
                self.look_at_peers(now);
            }
            self.commit(pending, now);
        }
        self.slots.check_all_free();
    }

    /// Once the job is over, cancels I/Os that wait for peers.
    #[cold]
    fn look_at_peers(&mut self, now: u64) {
        if self.waits_for_nobody(now) {
            self.engine.cancel();
        }
    }
}
