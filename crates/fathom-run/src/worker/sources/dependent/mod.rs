//! A replay that keeps the dependencies of its trace (`replay_dependencies`): an I/O is issued once all I/Os of
//! its process that had completed before it was queued have completed here, after the recorded think time. A
//! slower device stretches the replay instead of filling its queue.

mod groups;

use crate::targets::Target;
use crate::unit::{Operation, Unit};
use crate::worker::next::Next;
use crate::worker::sources::ahead::{Ahead, CHUNK, PAUSE_NS, ReplayError, Taken, report_problems, wake_for};
use crate::worker::{GivenUp, Worker, WorkerContext};
use fathom_stats::samples::LatencySamples;
use fathom_sys::clock::Clock;
use fathom_trace::dependencies::Dependent;
use groups::{Drawn, Groups};

/// Maximum number of entries that wait at the same time. A blocked group holds back the others only once its
/// entries fill this window.
const WINDOW: usize = 1 << 16;

/// The replay of one worker.
pub(in crate::worker) struct DependentReplay<'a> {
    ahead: Ahead<Dependent>,
    chunk: Vec<Dependent>,
    is_read: bool,
    clock: Clock,
    /// True if entries have due times.
    keeps_time: bool,
    /// `None` before the first entry.
    groups: Option<Groups>,
    /// The entry that was drawn and has no slot yet.
    drawn: Option<Drawn>,
    /// For each slot, its entry.
    slots: Box<[Option<Drawn>]>,
    lateness: &'a LatencySamples,
}

/// What the log provides next.
enum Step {
    Entry(Drawn),
    Wait(u64),
    WaitForEnd,
    End,
    Failed(ReplayError),
}

impl<'a> DependentReplay<'a> {
    /// The replay of a worker whose job keeps dependencies. Reports problems of the log.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        clock: Clock,
    ) -> Result<Option<DependentReplay<'a>>, GivenUp> {
        let plan = context.worker_plan();
        let Some(replay) = plan.replay.as_ref().filter(|replay| replay.rules.keeps_dependencies) else {
            return Ok(None);
        };
        report_problems(context, replay);
        Ok(Some(DependentReplay {
            ahead: Ahead::start(context, replay)?,
            chunk: Vec::new(),
            is_read: false,
            clock,
            keeps_time: replay.rules.keeps_time,
            groups: None,
            drawn: None,
            slots: vec![None; plan.depth as usize].into_boxed_slice(),
            lateness: &context.block().lateness,
        }))
    }

    /// The next entry, or the reason why none is available.
    fn look(&mut self, now: u64) -> Step {
        let has_room =
            |groups: &Option<Groups>| groups.as_ref().is_none_or(|groups| groups.waiting() + CHUNK <= WINDOW);
        let mut may_be_more = false;
        while !self.is_read && has_room(&self.groups) {
            match self.ahead.take(&mut self.chunk) {
                Taken::Chunk => {
                    let groups = self.groups.get_or_insert_with(|| Groups::new(self.clock, now));
                    self.chunk.drain(..).for_each(|item| groups.add(item));
                }
                Taken::NotYet => {
                    may_be_more = true;
                    break;
                }
                Taken::End => self.is_read = true,
                Taken::Failed(reason) => return Step::Failed(reason),
            }
        }
        let pause = now + self.clock.ticks_of_ns(PAUSE_NS);
        let Some(groups) = &mut self.groups else {
            return if may_be_more { Step::Wait(pause) } else { Step::End };
        };
        match groups.due() {
            Some(due) if due > now => {
                let until = wake_for(self.clock, due, now);
                Step::Wait(if may_be_more { until.min(pause) } else { until })
            }
            Some(_) => groups.draw().map_or(Step::End, Step::Entry),
            None if may_be_more => Step::Wait(pause),
            None if groups.waiting() == 0 => Step::End,
            None => Step::WaitForEnd,
        }
    }

    /// Puts the last drawn entry into this slot.
    pub(in crate::worker) fn begin(&mut self, slot: u32) {
        let Some(drawn) = self.drawn.take() else { return };
        if let Some(groups) = &mut self.groups {
            groups.began(&drawn, self.clock.ticks());
        }
        self.slots[slot as usize] = Some(drawn);
    }

    /// Records that the entry in this slot was issued and has completed.
    pub(in crate::worker) fn ended(&mut self, slot: u32, unit: &Unit, now: u64) {
        let Some(drawn) = self.slots[slot as usize].take() else { return };
        if self.keeps_time {
            self.lateness.record(self.clock.span_ns(unit.issue().saturating_sub(drawn.due)), true);
        }
        if let Some(groups) = &mut self.groups {
            groups.ended(&drawn, now);
        }
    }
}

impl Worker<'_> {
    /// The next entry of a log, once it is due and all that it depends on has completed.
    #[inline(never)]
    pub(in crate::worker) fn next_dependent(&mut self) -> Next {
        let now = self.clock.ticks();
        let Some(replay) = self.features.timed.as_mut().and_then(|timed| timed.dependent.as_mut()) else {
            return Next::End;
        };
        let drawn = match replay.look(now) {
            Step::Entry(drawn) => drawn,
            Step::Wait(until) => return Next::Wait(until),
            Step::WaitForEnd => return Next::WaitForEnd,
            Step::End => return Next::End,
            Step::Failed(reason) => {
                self.replay_failed(&reason);
                return Next::End;
            }
        };
        replay.drawn = Some(drawn);
        let entry = drawn.entry;
        match entry.action.direction() {
            Some(direction) => {
                Next::Io(Target { offset: entry.offset, length: entry.length, file: entry.file, direction })
            }
            // A block trace has no other kind of sync.
            None => Next::Sync(Operation::Sync, entry.file),
        }
    }
}
