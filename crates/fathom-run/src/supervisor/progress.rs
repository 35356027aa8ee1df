//! Detects whether a worker makes progress, from signs that are visible from outside and from how long they
//! have not changed.
//!
//! A worker is stuck only when it is blocked on I/O and nothing moves: none of its I/Os completes, it reaches
//! no further stage, no device below its files transfers data, and no log is written. A stopped worker cannot
//! make progress, and time in which this process itself did not run does not count. A runnable worker without a
//! processor cannot make progress either. If it then gets a processor and still completes nothing, the time
//! counts as waiting after all: on a busy machine, a worker that wakes up occasionally to poll its server is
//! mostly seen waiting for a processor.

use crate::crew::{SignsOfLife, Stage};
use fathom_sys::task::{Task, TaskState};

/// Maximum time between two observations that counts as waiting. Polls are closer together than this, so a
/// longer gap means that this process itself was delayed.
const LONGEST_STEP_NS: u64 = 500_000_000;
/// Minimum time that a worker must have been observed closely, even if its last I/O completed long ago.
const SHORTEST_WATCH_NS: u64 = 2_000_000_000;
/// Number of turns on a processor within which a worker reaps its completions.
const TURNS: u64 = 2;
/// A worker that computes sleeps at most this multiple of its processor time.
const SLEPT_PER_RUN: u64 = 4;

/// An observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Number of completed I/Os, including syncs and checks.
    pub(super) ended: u64,
    /// Stage of the worker.
    pub(super) stage: Stage,
    /// External signs of progress; read only for an overdue worker.
    pub(super) closer: Option<SignsOfLife>,
}

/// Progress of a worker over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    last: Option<Look>,
    looked_ns: u64,
    /// Time without progress.
    idle_ns: u64,
    /// The part of this time in which the worker was observed closely.
    watched_ns: u64,
    /// Time since then in which the worker was runnable without a processor; it counts once the worker has had
    /// a processor.
    starved_ns: u64,
    /// The worker's processor time when it began to wait for a processor.
    starves_from: Option<Task>,
    /// Monotonic time of the worker's last completion or stage change, ns.
    own_ns: u64,
}

impl Progress {
    /// Adds an observation.
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
        let closely = |closer| Sight::of(last.closer, closer, self.starves_from, step);
        match look.closer.map_or(Sight::Stands, closely) {
            _ if own => self.gets_on(),
            Sight::GetsOn => self.gets_on(),
            Sight::Starves => {
                self.starved_ns += step;
                self.starves_from = self.starves_from.or(last.closer.and_then(|closer| closer.task));
            }
            Sight::Stands => {
                self.starves_from = None;
                let step = step + std::mem::take(&mut self.starved_ns);
                self.idle_ns += step;
                if look.closer.is_some() {
                    self.watched_ns += step;
                }
            }
        }
    }

    fn gets_on(&mut self) {
        (self.idle_ns, self.watched_ns, self.starved_ns, self.starves_from) = (0, 0, 0, None);
    }

    /// True if the worker has made no progress for longer than this.
    pub(super) fn is_stuck(&self, patience_ns: u64) -> bool {
        let waits_for_a_command = self.last.is_some_and(|look| look.stage == Stage::PostRun);
        !waits_for_a_command
            && self.idle_ns > patience_ns
            && self.watched_ns > patience_ns.min(SHORTEST_WATCH_NS)
    }

    /// True if the worker has been stopped by a signal.
    pub(super) fn is_stopped(&self) -> bool {
        let task = self.last.and_then(|look| look.closer).and_then(|closer| closer.task);
        task.is_some_and(|task| task.state == TaskState::Stopped)
    }

    /// Time since the worker's last completion.
    pub(super) fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.own_ns)
    }
}

/// Conclusion from two consecutive observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// The worker made progress, or could not have made any.
    GetsOn,
    /// The worker could have made progress, but did not.
    Stands,
    /// The worker was runnable without a processor. It could not reap completions, so any progress shows only
    /// once it has a processor.
    Starves,
}

impl Sight {
    /// Compares an observation with the previous one, `step_ns` earlier. `from` is the worker's state when it
    /// last had a processor.
    fn of(last: Option<SignsOfLife>, now: SignsOfLife, from: Option<Task>, step_ns: u64) -> Sight {
        // The first close observation has no predecessor to compare with, so it counts as waiting.
        let Some(last) = last else { return Sight::Stands };
        if now.devices != last.devices || now.logs != last.logs {
            return Sight::GetsOn;
        }
        let (Some(task), Some(before)) = (now.task, last.task) else { return Sight::Stands };
        match task.state {
            TaskState::Stopped => Sight::GetsOn,
            TaskState::Waiting => Sight::Stands,
            // Without I/O in flight, processor time means verifying, sorting or reading a log. With I/O in
            // flight it is polling, which continues while a device hangs.
            TaskState::Runnable if !now.in_flight && computes(before, task, step_ns) => Sight::GetsOn,
            TaskState::Runnable if has_run(from.unwrap_or(before), task) => Sight::Stands,
            TaskState::Runnable => Sight::Starves,
        }
    }
}

/// True if the worker used its processor time for computation rather than occasional polling, so that it slept
/// little.
fn computes(before: Task, now: Task, step_ns: u64) -> bool {
    let (Some(before_turns), Some(turns)) = (before.turns, now.turns) else {
        return now.used_ticks != before.used_ticks;
    };
    let ran_ns = turns.ran_ns.saturating_sub(before_turns.ran_ns);
    let waited_ns = turns.waited_ns.saturating_sub(before_turns.waited_ns);
    let slept_ns = step_ns.saturating_sub(ran_ns).saturating_sub(waited_ns);
    ran_ns > 0 && ran_ns >= slept_ns / SLEPT_PER_RUN
}

/// True if the worker has had enough processor time to reap completions: a second time slice began, so the first one found none.
fn has_run(before: Task, now: Task) -> bool {
    let turns = |task: Task| task.turns.map_or(0, |turns| turns.count);
    turns(now).saturating_sub(turns(before)) >= TURNS || now.used_ticks != before.used_ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_sys::task::Turns;
    use proptest::prelude::*;

    const PATIENCE_NS: u64 = 30_000_000_000;
    const LOOK_EVERY_NS: u64 = 50_000_000;

    fn waiting(ended: u64) -> Look {
        let task = Some(Task { state: TaskState::Waiting, used_ticks: 7, turns: None });
        let closer = SignsOfLife { task, devices: 1, logs: 1, in_flight: true };
        Look { ended, stage: Stage::Draining, closer: Some(closer) }
    }

    fn closer(look: Look, change: impl FnOnce(&mut SignsOfLife)) -> Look {
        let mut closer = look.closer.expect("a close look");
        change(&mut closer);
        Look { closer: Some(closer), ..look }
    }

    /// Observes a worker for a minute; true if it is ever considered stuck.
    fn stuck_within_a_minute(look_at: impl Fn(u64) -> Look) -> bool {
        let mut progress = Progress::default();
        (0..60_000_000_000 / LOOK_EVERY_NS).any(|number| {
            progress.see(look_at(number), 1 + number * LOOK_EVERY_NS);
            progress.is_stuck(PATIENCE_NS)
        })
    }

    fn task(state: TaskState, used_ticks: u64) -> Option<Task> {
        Some(Task { state, used_ticks, turns: None })
    }

    /// The state of a thread after `count` turns of `ran_ns` each, with waits of `waited_ns`.
    fn took_turns(state: TaskState, count: u64, ran_ns: u64, waited_ns: u64) -> Option<Task> {
        let turns = Turns { ran_ns: count * ran_ns, waited_ns: count * waited_ns, count };
        Some(Task { state, used_ticks: count * ran_ns / 10_000_000, turns: Some(turns) })
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

    /// When a worker that is polled every 50 ms from the start is given up; `None` if that takes more than ten
    /// minutes.
    fn given_up_after(look_at: impl Fn(u64) -> Look) -> Option<u64> {
        let mut progress = Progress::default();
        (0..600_000_000_000 / LOOK_EVERY_NS).find_map(|number| {
            progress.see(look_at(number), 1 + number * LOOK_EVERY_NS);
            progress.is_stuck(PATIENCE_NS).then_some(number * LOOK_EVERY_NS)
        })
    }

    /// A worker wakes up ten times per second to check for its server's answer, and waits for a processor
    /// most of the time.
    #[test]
    fn a_server_that_does_not_answer_is_given_up_on_a_busy_machine() {
        for in_flight in [true, false] {
            for looks_per_turn in [1, 2, 5, 20] {
                // Either one observation in ten finds the worker asleep, or none does.
                for sleeps in [10, u64::MAX] {
                    let look = |number: u64| {
                        let state =
                            if number % sleeps == 5 { TaskState::Waiting } else { TaskState::Runnable };
                        let task = took_turns(state, number / looks_per_turn, 30_000, 30_000_000);
                        closer(waiting(0), |closer| (closer.task, closer.in_flight) = (task, in_flight))
                    };
                    let after = given_up_after(look).expect("it is given up");
                    let bound = PATIENCE_NS..PATIENCE_NS + 3_000_000_000;
                    assert!(bound.contains(&after), "{in_flight} {looks_per_turn} {sleeps}: {after} ns");
                }
            }
        }
    }

    #[test]
    fn a_worker_that_never_gets_a_processor_is_not_given_up() {
        let starved =
            |_| closer(waiting(0), |closer| closer.task = took_turns(TaskState::Runnable, 9, 30_000, 9));
        assert_eq!(given_up_after(starved), None);
        // A worker that makes progress whenever it has a processor is not stuck: its I/O completes in the turn
        // after the observed one.
        let slow = |number: u64| {
            let task = took_turns(TaskState::Runnable, number / 700, 3_000_000, 34_000_000_000);
            closer(waiting(number / 700), |closer| closer.task = task)
        };
        assert_eq!(given_up_after(slow), None);
    }

    #[test]
    fn a_worker_that_computes_on_a_busy_machine_is_not_given_up() {
        // The worker computes for 3 ms every 36 ms and never sleeps.
        let computing = |number: u64| {
            let task = took_turns(TaskState::Runnable, number * 50 / 36, 3_000_000, 33_000_000);
            closer(waiting(0), |closer| (closer.task, closer.in_flight) = (task, false))
        };
        assert_eq!(given_up_after(computing), None);
        // With I/O in flight, the same pattern is polling.
        let polling = |number| closer(computing(number), |closer| closer.in_flight = true);
        assert!(given_up_after(polling).is_some());
    }

    #[test]
    fn a_slow_device_is_not_given_up_on_a_busy_machine() {
        let slow = |number: u64| {
            let task = took_turns(TaskState::Runnable, number, 30_000, 30_000_000);
            closer(waiting(0), |closer| (closer.task, closer.devices) = (task, number / 500))
        };
        assert_eq!(given_up_after(slow), None);
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
        assert!(!progress.is_stuck(PATIENCE_NS), "it was not looked at closely");
        let end = now;
        while !progress.is_stuck(PATIENCE_NS) {
            progress.see(waiting(0), now);
            now += LOOK_EVERY_NS;
        }
        assert!((2_000_000_000..3_000_000_000).contains(&(now - end)), "{} ns", now - end);
    }

    proptest! {
        /// Progress at intervals shorter than `PATIENCE_NS` is never considered stuck.
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
