//! Chooses what the worker issues next.

use super::budget::AfterPass;
use super::gates::Gate;
use super::next::Next;
use super::rules::Rules;
use super::sources::verifier::Begun;
use super::{Loop, Worker};
use crate::engine::Io;
use crate::invariant::holds;
use crate::targets::Target;
use crate::unit::{Operation, Unit};
use fathom_stats::Direction;
use fathom_stats::samples::{WorkerSamples, bump, depth_bucket};

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// The next I/O if the pass over the files alone determines it; otherwise `None`, and
    /// [`next`](Worker::next) must be called.
    #[inline(always)]
    pub(super) fn next_in_pass(&mut self) -> Option<Target> {
        if !self.budget.is_granted() {
            return None;
        }
        let target = self.targets.next()?;
        self.budget.spend(u64::from(target.length));
        Some(target)
    }

    /// Prepares a unit and queues it. `start` is the tick at which submission starts.
    #[inline(always)]
    pub(super) fn prepare_io(&mut self, slot: u32, unit: &Unit, target: Target, start: u64) -> Io {
        // The calls take fields instead of the whole target, which would go through memory for every I/O.
        let Target { offset, length, file, direction } = target;
        let handle = match self.places.get(file as usize) {
            Some(place) if place.takes(offset, length) => place.handle,
            _ => self.any().look_at_odd_target(offset, length, file, direction),
        };
        unit.aim(target, start);
        let priority = match self.prepares_more {
            true => self.any().prepare_more(slot, offset, length, file, direction),
            false => 0,
        };
        // SAFETY: the slot is in flight from this point on, so the engine owns its buffer, which is as long as
        // the target.
        unsafe {
            let buffer = self.buffer(slot);
            Io::new(direction.into(), (file, handle), buffer, length, offset, priority)
        }
    }

    /// The buffer of a slot.
    #[inline(always)]
    pub(super) fn buffer(&self, slot: u32) -> *mut u8 {
        // SAFETY: a buffer exists for every slot.
        unsafe { self.buffers.of_slot(slot) }
    }

    /// Counts an I/O or a sync on submission, at the queue depth that it reaches.
    #[inline(always)]
    pub(super) fn count_issue(&self, direction: Option<Direction>, depth: u32) {
        bump(&self.samples.depth_map[depth_bucket(depth)], 1);
        if let Some(direction) = direction {
            bump(&self.samples.directions[direction].issued, 1);
        }
    }
}

impl Worker<'_> {
    /// Decides on the next I/O. `now` is a recent tick.
    #[inline(never)]
    pub(super) fn next(&mut self, now: u64) -> Next {
        self.end_grant();
        let next = if self.rules == Rules::None { self.next_plain() } else { self.next_with_rules(now) };
        if matches!(next, Next::Io(_)) {
            self.grant(now);
        }
        next
    }

    fn next_plain(&mut self) -> Next {
        if !self.budget.is_spent()
            && let Some(target) = self.draw(None)
        {
            return Next::Io(self.take(target));
        }
        self.next_pass(None)
    }

    /// Ends the pass and begins the next one; false if none follows.
    pub(super) fn begin_next_pass(&mut self) -> bool {
        if let Some(verifier) = &mut self.features.verifier {
            self.budget.count_read_back(verifier.take_bytes_read_back());
        }
        let after = self.budget.end_pass();
        if after == AfterPass::End || (after != AfterPass::NextLoop && self.targets.list_has_ended()) {
            return false;
        }
        if let Some(log) = &mut self.features.issue_log {
            log.end_pass(&self.files);
        }
        // Each loop uses new connections.
        if after == AfterPass::NextLoop && self.engine.waits_for_peers() && !self.meet() {
            self.stopping = true;
            return false;
        }
        let has_new_order = match after {
            AfterPass::Continue => self.plan.target_plan.random,
            _ => after == AfterPass::Repeat && self.targets.follow_a_list(),
        };
        let again = !has_new_order && self.plan.budget.repeats_passes;
        self.targets.restart(again);
        let is_made = !self.features.verifier.as_ref().is_some_and(|verifier| verifier.only_checks());
        if after != AfterPass::Repeat && is_made {
            self.loop_is_over();
        }
        if let Some(verifier) = &mut self.features.verifier {
            verifier.begin_pass(again, &self.targets);
            self.read_from_medium_again();
        }
        self.begin_pass_of_zones();
        true
    }

    /// Ends the pass; returns the first target of the next one, if one follows.
    #[cold]
    #[inline(never)]
    fn next_pass(&mut self, direction: Option<Direction>) -> Next {
        if let Some(target) = self.next_round_of_zones(direction.unwrap_or(Direction::Write)) {
            return Next::Io(target);
        }
        if self.is_last_pass() {
            return Next::End;
        }
        match self.draw(direction) {
            Some(target) => Next::Io(self.take(target)),
            None => Next::End,
        }
    }

    /// The next target of a pass, in a given direction or in any.
    fn draw(&mut self, direction: Option<Direction>) -> Option<Target> {
        if let Some(held) = self.features.ranges.as_mut().and_then(|ranges| ranges.take_held()) {
            return Some(held);
        }
        match direction {
            Some(direction) => self.targets.next_in_direction(direction),
            None => self.targets.next(),
        }
    }

    /// Like [`Worker::next`] for jobs with syncs, rates, think times or a number of I/Os.
    #[inline(never)]
    fn next_with_rules(&mut self, now: u64) -> Next {
        if let Some(target) = self.features.admission.as_mut().and_then(|admission| admission.take_held()) {
            return self.admit(Next::Io(target), now);
        }
        if self.features.timed.is_some() {
            return self.next_when_due(now);
        }
        if self.features.verifier.is_some()
            && let Some(next) = self.next_to_verify()
        {
            self.enter_zone(&next);
            return self.admit(next, now);
        }
        let next = match self.take_held_by_zone() {
            Some(target) => Next::Io(target),
            None => {
                let next = self.next_of_job(now);
                if let (Some(flow), Next::Io(_)) = (&self.features.flow, &next) {
                    flow.issued();
                }
                next
            }
        };
        let next = self.place_in_zones(next, now);
        self.admit(next, now)
    }

    /// The next I/O of the job; with `verify_only`, the read that replaces it.
    fn next_of_job(&mut self, now: u64) -> Next {
        loop {
            let next = self.next_by_rules(now);
            let messages = self.context.messages;
            let Some(verifier) = self.features.verifier.as_mut().filter(|verifier| verifier.only_checks())
            else {
                return next;
            };
            let instead = verifier.instead(next, messages);
            if let Next::Io(target) = &next
                && !matches!(instead, Some(Next::End))
            {
                count_as_made(self.samples, target);
                self.budget.count_ios(verifier.take_reads_of_backlog());
            }
            if let Some(next) = instead {
                return next;
            }
        }
    }

    fn next_by_rules(&mut self, now: u64) -> Next {
        if let Some(sync) = self.sync_that_is_due() {
            return sync;
        }
        if let Some(flow) = &self.features.flow
            && let Some(until) = flow.is_ahead(now)
        {
            return if until > now { Next::Wait(until) } else { Next::WaitForEnd };
        }
        let Some(mut pace) = self.features.pace.take() else {
            if !self.budget.count_io() {
                return Next::End;
            }
            let next = self.next_plain();
            // This is returned if the pass is over.
            if matches!(next, Next::End) {
                self.budget.put_back_io();
            }
            return self.count_for_syncs(next);
        };
        let next = match pace.pause(now, self.slots.units()) {
            Ok(()) => self.next_through(&mut *pace, now),
            Err(wait) => wait,
        };
        self.features.pace = Some(pace);
        self.count_for_syncs(next)
    }

    /// The sync that is due, if any. It precedes the next I/O, so no sync follows the last one.
    #[inline(always)]
    pub(super) fn sync_that_is_due(&mut self) -> Option<Next> {
        if self.budget.is_spent() {
            return None;
        }
        let (operation, file) = self.features.syncs.as_mut()?.due()?;
        Some(Next::Sync(operation, file))
    }

    /// The next I/O, as soon as the gate lets it pass.
    pub(super) fn next_through(&mut self, gate: &mut impl Gate, now: u64) -> Next {
        let mut pass_has_begun = false;
        loop {
            // Directions are drawn exactly as without pacing: none in a pass whose bytes are used up, and again
            // in the next pass if the drawn direction had no target left.
            if !self.budget.is_spent() && !self.targets.pass_is_over() {
                let direction = match gate.draw(now, &mut self.targets) {
                    Err(wait) => return wait,
                    Ok(_) if !self.budget.count_io() => return Next::End,
                    Ok(direction) => direction,
                };
                if let Some(target) = self.take_in_pass(direction) {
                    gate.issued(&target);
                    return Next::Io(target);
                }
                self.budget.put_back_io();
            }
            if pass_has_begun || self.is_last_pass() {
                return Next::End;
            }
            pass_has_begun = true;
        }
    }

    /// The next target of a direction within the current pass.
    fn take_in_pass(&mut self, direction: Direction) -> Option<Target> {
        let held = self.features.ranges.as_mut().and_then(|ranges| ranges.take_held());
        match held.or_else(|| self.targets.next_or_end(direction)) {
            None => self.next_round_of_zones(direction),
            Some(target) => Some(self.take(target)),
        }
    }

    /// Ends the pass. Returns true if no pass follows, or if written data must be read back first.
    fn is_last_pass(&mut self) -> bool {
        self.features.verifier.as_mut().is_some_and(|verifier| verifier.ends_pass())
            || !self.begin_next_pass()
    }

    /// Lets `unlink_each_loop` recreate the files before the next I/O.
    fn loop_is_over(&mut self) {
        if let Some(admission) = &mut self.features.admission {
            admission.begin_loop();
        }
    }

    pub(super) fn next_in_direction(&mut self, direction: Direction) -> Next {
        if !self.budget.is_spent()
            && let Some(target) = self.draw(Some(direction))
        {
            return Next::Io(self.take(target));
        }
        self.next_pass(Some(direction))
    }

    pub(super) fn count_for_syncs(&mut self, next: Next) -> Next {
        if let (Some(rules), Next::Io(target)) = (&mut self.features.syncs, &next) {
            rules.issued(target);
        }
        next
    }

    /// Makes preparations that only some jobs need; returns the priority of the I/O.
    #[inline(never)]
    fn prepare_more(&mut self, slot: u32, offset: u64, length: u32, file: u32, direction: Direction) -> u16 {
        let target = Target { offset, length, file, direction };
        if let Some(timed) = &mut self.features.timed {
            timed.begin(slot, target, self.slots.units());
        }
        if self.features.verifier.is_some() {
            self.begin_verified(slot, target);
        } else if target.direction == Direction::Write && self.refreshes_payload {
            self.refresh_payload(slot, target);
        }
        if !self.prepare_ranges(slot, target)
            && let Some(log) = &mut self.features.issue_log
        {
            log.issue(target.direction as u8, target.file, target.offset, target.length);
        }
        let unit = self.slots.unit(slot);
        self.tell_of_begin(unit);
        self.features.command_priority.as_mut().map_or(0, |priority| priority.choose(target, unit))
    }

    /// Fills a write that will be verified. Submission starts afterwards, so that filling does not count as
    /// latency.
    fn begin_verified(&mut self, slot: u32, target: Target) {
        // SAFETY: the buffer of a free slot is owned by this worker and holds the longest I/O of the plan.
        let buffer = unsafe {
            std::slice::from_raw_parts_mut(self.buffer_of(slot, target.length), target.length as usize)
        };
        let Some(verifier) = &mut self.features.verifier else { return };
        let begun = verifier.begin(slot, target, buffer);
        if begun == Begun::Expecting {
            self.engine.expect(slot);
        }
        if begun != Begun::Unfilled {
            self.slots.unit(slot).aim(target, self.clock.ticks());
        }
    }

    /// Fills a write; submission starts afterwards, so that filling does not count as latency.
    fn refresh_payload(&mut self, slot: u32, target: Target) {
        let now = self.clock.ticks();
        let now_ns = self.clock.span_ns(now);
        // SAFETY: the buffer of a free slot is owned by this worker and holds the longest I/O of the plan.
        let buffer = unsafe {
            std::slice::from_raw_parts_mut(self.buffer_of(slot, target.length), target.length as usize)
        };
        self.payload.refresh(buffer, target.offset, now_ns);
        self.slots.unit(slot).aim(target, self.clock.ticks());
    }

    /// Prepares a unit for a sync.
    pub(super) fn prepare_sync(&mut self, slot: u32, operation: Operation, file: u32, start: u64) -> Io {
        let (offset, length) = match &mut self.features.syncs {
            Some(rules) => rules.take_range(operation),
            None => (0, 0),
        };
        if let Some(verifier) = &mut self.features.verifier {
            verifier.sync_begins(slot, operation, file);
        }
        if let Some(timed) = &mut self.features.timed {
            timed.begin_sync(slot);
        }
        if let Some(log) = &mut self.features.issue_log {
            log.issue(operation as u8, file, offset, 0);
        }
        let unit = self.slots.begin(slot);
        unit.aim_sync(operation, file, offset, length, start);
        self.tell_of_begin(unit);
        let place = (file, self.places[file as usize].handle);
        // SAFETY: a sync moves no data; its length is that of a range of the file.
        unsafe { Io::new(operation, place, self.buffer(slot), length, offset, 0) }
    }

    /// Queues the rest of an I/O that was only partly moved.
    pub(super) fn rest_of(&self, slot: u32) -> Io {
        let unit = self.slots.unit(slot);
        let (length, done) = (unit.length(), unit.done());
        holds!(done < length, Moved, "{done} of {length} bytes are moved, and the rest is to be");
        let place = (unit.file(), self.places[unit.file() as usize].handle);
        let priority = self.features.command_priority.as_ref().map_or(0, |priority| priority.value_of(unit));
        // SAFETY: `done` is less than the length, so the pointer stays inside the slot's buffer, which the
        // engine still owns.
        unsafe {
            let buffer = self.buffer(slot).add(done as usize);
            Io::new(unit.operation(), place, buffer, length - done, unit.offset() + u64::from(done), priority)
        }
    }
}

/// Counts an I/O that a `verify_only` run skips.
pub(super) fn count_as_made(samples: &WorkerSamples, target: &Target) {
    let direction = &samples.directions[target.direction];
    bump(&direction.issued, 1);
    bump(&direction.bytes, u64::from(target.length));
}
