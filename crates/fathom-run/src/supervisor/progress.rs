//! Does a worker get on? What can be seen of it from outside, and how long nothing of that has changed.
//!
//! A worker is stuck only when it is blocked on I/O and nothing moves: no I/O of its own ends, no stage is reached, no device
//! below its files transfers anything, no log is written. One that was stopped or got no processor cannot have got on, and
//! time in which this process itself did not run says nothing about others.

use crate::crew::{SignsOfLife, Stage};
use fathom_sys::task::TaskState;

/// Looks are closer together than this, unless this process was held up itself: more does not count as waiting.
const LONGEST_STEP_NS: u64 = 500_000_000;
/// A worker must have been seen waiting for so long, even if its last I/O ended long ago.
const SHORTEST_WATCH_NS: u64 = 2_000_000_000;

/// What is seen at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// I/Os that have ended, syncs and checks among them.
    pub(super) ended: u64,
    /// Where the worker is.
    pub(super) stage: Stage,
    /// Only of a worker that should have ended: what takes a closer look.
    pub(super) closer: Option<SignsOfLife>,
}

/// When a worker last got on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    last: Option<Look>,
    looked_ns: u64,
    /// For how long nothing has moved.
    idle_ns: u64,
    /// For how much of that it was looked at closely.
    watched_ns: u64,
    /// Monotonic ns of the last I/O or stage of its own.
    own_ns: u64,
}

impl Progress {
    /// Takes a look into account.
    pub(super) fn see(&mut self, look: Look, now_ns: u64) {
        let step = now_ns.saturating_sub(self.looked_ns).min(LONGEST_STEP_NS);
        self.looked_ns = now_ns;
        let Some(last) = self.last.replace(look) else {
            *self = Progress { last: Some(look), looked_ns: now_ns, own_ns: now_ns, ..Progress::default() };
            return;
        };
        let own = (last.ended, last.stage) != (look.ended, look.stage);
        if own {
            self.own_ns = now_ns;
        }
        let gets_on = own || look.closer.is_some_and(|closer| gets_on_since(last.closer, closer));
        if gets_on {
            (self.idle_ns, self.watched_ns) = (0, 0);
            return;
        }
        self.idle_ns += step;
        if look.closer.is_some() {
            self.watched_ns += step;
        }
    }

    /// True when it has waited, and nothing has moved, for longer than this.
    pub(super) fn is_stuck(&self, patience_ns: u64) -> bool {
        let waits_for_a_command = self.last.is_some_and(|look| look.stage == Stage::PostRun);
        !waits_for_a_command
            && self.idle_ns > patience_ns
            && self.watched_ns > patience_ns.min(SHORTEST_WATCH_NS)
    }

    /// True when somebody has stopped it.
    pub(super) fn is_stopped(&self) -> bool {
        let task = self.last.and_then(|look| look.closer).and_then(|closer| closer.task);
        task.is_some_and(|task| task.state == TaskState::Stopped)
    }

    /// For how long nothing of its own has ended.
    pub(super) fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.own_ns)
    }
}

/// True when something moved since the last close look, or nothing could have.
fn gets_on_since(last: Option<SignsOfLife>, now: SignsOfLife) -> bool {
    // The first close look has nothing to compare with.
    let Some(last) = last else { return false };
    if now.devices != last.devices || now.logs != last.logs {
        return true;
    }
    let (Some(task), Some(before)) = (now.task, last.task) else { return false };
    match task.state {
        TaskState::Stopped => true,
        TaskState::Waiting => false,
        // Ready without a processor; or computing: checking, sorting, reading a log. With I/O in flight that is polling,
        // which goes on for as long as a device hangs.
        TaskState::Runnable => task.used_ticks == before.used_ticks || !now.in_flight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_sys::task::Task;
    use proptest::prelude::*;

    const PATIENCE_NS: u64 = 30_000_000_000;
    const LOOK_EVERY_NS: u64 = 50_000_000;

    fn waiting(ended: u64) -> Look {
        let task = Some(Task { state: TaskState::Waiting, used_ticks: 7 });
        let closer = SignsOfLife { task, devices: 1, logs: 1, in_flight: true };
        Look { ended, stage: Stage::Draining, closer: Some(closer) }
    }

    fn closer(look: Look, change: impl FnOnce(&mut SignsOfLife)) -> Look {
        let mut closer = look.closer.expect("a close look");
        change(&mut closer);
        Look { closer: Some(closer), ..look }
    }

    /// Looks at a worker for a minute; true if it is ever stuck.
    fn stuck_within_a_minute(look_at: impl Fn(u64) -> Look) -> bool {
        let mut progress = Progress::default();
        (0..60_000_000_000 / LOOK_EVERY_NS).any(|number| {
            progress.see(look_at(number), 1 + number * LOOK_EVERY_NS);
            progress.is_stuck(PATIENCE_NS)
        })
    }

    fn task(state: TaskState, used_ticks: u64) -> Option<Task> {
        Some(Task { state, used_ticks })
    }

    #[test]
    fn only_what_waits_without_anything_moving_is_stuck() {
        assert!(stuck_within_a_minute(|_| waiting(0)));
        assert!(!stuck_within_a_minute(|number| waiting(number / 400)), "an I/O every 20 s");
        assert!(!stuck_within_a_minute(|number| closer(waiting(0), |closer| closer.devices = number / 400)));
        assert!(!stuck_within_a_minute(|number| closer(waiting(0), |closer| closer.logs = number / 400)));
        let in_stage = |stage| move |_| Look { stage, ..waiting(0) };
        assert!(stuck_within_a_minute(in_stage(Stage::FinalSync)), "a sync that does not return");
        assert!(stuck_within_a_minute(in_stage(Stage::SettingUp)), "an open that does not return");
        assert!(!stuck_within_a_minute(in_stage(Stage::PostRun)), "a command takes what it takes");
    }

    #[test]
    fn what_does_not_run_is_not_stuck() {
        let stopped = |_| closer(waiting(0), |closer| closer.task = task(TaskState::Stopped, 7));
        assert!(!stuck_within_a_minute(stopped));
        let starved = |_| closer(waiting(0), |closer| closer.task = task(TaskState::Runnable, 7));
        assert!(!stuck_within_a_minute(starved));
        let polling = |number| closer(waiting(0), |closer| closer.task = task(TaskState::Runnable, number));
        assert!(stuck_within_a_minute(polling));
        let computing = |number| closer(polling(number), |closer| closer.in_flight = false);
        assert!(!stuck_within_a_minute(computing));
    }

    #[test]
    fn time_without_looks_does_not_count() {
        let mut progress = Progress::default();
        for minute in 0..30 {
            progress.see(waiting(0), 1 + minute * 60_000_000_000);
            assert!(!progress.is_stuck(PATIENCE_NS), "after {minute} looks");
        }
    }

    #[test]
    fn what_was_silent_before_its_end_is_watched_first() {
        let mut progress = Progress::default();
        let mut now = 1;
        let distant = Look { closer: None, ..waiting(0) };
        while now < 2 * PATIENCE_NS {
            progress.see(distant, now);
            now += LOOK_EVERY_NS;
        }
        assert!(!progress.is_stuck(PATIENCE_NS), "nobody has looked closely");
        let end = now;
        while !progress.is_stuck(PATIENCE_NS) {
            progress.see(waiting(0), now);
            now += LOOK_EVERY_NS;
        }
        assert!((2_000_000_000..3_000_000_000).contains(&(now - end)), "{} ns", now - end);
    }

    proptest! {
        /// Whatever else happens: something that moves more often than every `PATIENCE_NS` is never stuck.
        #[test]
        fn what_moves_is_never_stuck(
            moves in proptest::collection::vec((0u8..4, 1u64..590), 1..200),
        ) {
            let mut progress = Progress::default();
            let (mut now, mut look) = (1, waiting(0));
            for (what, looks) in moves {
                match what {
                    0 => look.ended += 1,
                    1 => look = closer(look, |closer| closer.devices += 1),
                    2 => look = closer(look, |closer| closer.logs += 1),
                    _ => look.stage = if look.stage == Stage::Draining { Stage::FinalSync } else { Stage::Draining },
                }
                for _ in 0..looks {
                    progress.see(look, now);
                    prop_assert!(!progress.is_stuck(PATIENCE_NS));
                    now += LOOK_EVERY_NS;
                }
            }
        }
    }
}
