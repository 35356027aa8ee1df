//! Timer for recording facts about the machine. The crew reads these facts on the workers' machine without
//! involving the workers.

use super::Supervisor;
use std::time::Duration;

/// Interval of the readings.
const EVERY_NS: u64 = 1_000_000_000;

/// The time at which the next reading is due.
pub(super) struct FactTimer {
    due_ns: u64,
}

impl FactTimer {
    pub(super) fn time_to_next(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(self.due_ns.saturating_sub(now_ns))
    }
}

impl Supervisor<'_> {
    /// Starts recording facts when the jobs start.
    pub(super) fn begin_facts(&mut self, now_ns: u64) -> FactTimer {
        self.crew.begin_facts();
        FactTimer { due_ns: now_ns + EVERY_NS }
    }

    /// Takes another reading if one is due.
    pub(super) fn watch_facts(&mut self, now_ns: u64) {
        let Some(timer) = &mut self.facts else { return };
        if now_ns >= timer.due_ns {
            let late_ns = now_ns - timer.due_ns;
            timer.due_ns = now_ns + EVERY_NS;
            self.crew.look_at_facts(late_ns);
        }
    }
}
