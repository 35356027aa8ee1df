//! Makes all ranks start a stage of their jobs at the same instant.
//!
//! All ranks take part in every round, regardless of the state of their jobs. In a round
//!
//! 1. each rank reports its state up the tree: its jobs of a stage are ready, or it has no more jobs;
//! 2. once all have reported, rank 0 sends its decision down the tree: the earliest stage that ranks are
//!   ready for begins, or the run is over;
//! 3. on the way, each rank measures the offsets of the clocks below it from its own, by round trips
//!   ([`fathom_hosts::controller::clocks`]). The offsets from rank 0 are sums of these, and so are their
//!   bounds;
//! 4. unless the run is over, all ranks acknowledge, and rank 0 announces an instant, which each rank
//!   translates to its own clock.
//!
//! A rank that is ready for a later stage, or was interrupted meanwhile, reports this in the next round. No
//! rank waits for one that has fewer stages, or none, because that rank takes part in the same rounds until
//! the run is over for all. A rank waits for the others by polling and sleeping ([`Rounds::advance`]). Only
//! from the second step on, when all ranks have reported and the rest takes milliseconds, does it stay in the
//! round until the round ends.

use crate::communicator::{About, Note, Ranks};
use fathom_hosts::controller::clocks::{Probe, there};
use fathom_hosts::protocol::Pong;
use fathom_stats::hosts::{ClockOffset, ClockReport};
use fathom_sys::clock::{monotonic_ns, wall_minus_monotonic_ns};
use std::time::{Duration, Instant};

/// Lead time of the start, so that every rank has received it; a share for each rank is added.
const LEAD_NS: u64 = 100_000_000;
const LEAD_PER_RANK_NS: u64 = 1_000_000;
/// Maximum lead time: the message takes as many steps as the number of ranks has bits.
const LONGEST_LEAD_NS: u64 = 1_000_000_000;

/// Pause between two polls: a share of the time waited so far, within these limits.
const PAUSE_SHARE: u32 = 32;
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// State of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stand {
    /// Its jobs of this stage are ready.
    Ready(u32),
    /// It will start no more jobs.
    Finished,
}

/// Decision at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The jobs of this stage begin.
    pub stage: u32,
    /// Start time on the rank's own monotonic clock, ns.
    pub at_ns: u64,
}

/// One rank's part in the rounds.
pub struct Rounds<'a> {
    ranks: &'a Ranks,
    step: Step,
    /// The earliest state reported in this round.
    earliest: Stand,
    waiting_since: Option<Instant>,
    offset: ClockOffset,
    clock: ClockReport,
    wall_before_ns: Option<i64>,
    /// The first agreed instant, on rank 0's clock.
    begun_ns: Option<u64>,
    started: Option<Start>,
    is_over: bool,
}

/// Position of a rank in a round.
enum Step {
    Outside,
    /// These children have not reported their state.
    Gathering(Vec<usize>),
    /// Waits for the parent's decision.
    Told,
}

impl<'a> Rounds<'a> {
    /// Before the first round.
    pub fn new(ranks: &'a Ranks) -> Rounds<'a> {
        Rounds {
            ranks,
            step: Step::Outside,
            earliest: Stand::Finished,
            waiting_since: None,
            offset: ClockOffset::default(),
            clock: ClockReport::default(),
            wall_before_ns: None,
            begun_ns: None,
            started: None,
            is_over: false,
        }
    }

    /// The last start received.
    pub fn started(&self) -> Option<Start> {
        self.started
    }

    /// The first agreed instant, ns on rank 0's monotonic clock.
    pub fn begun_ns(&self) -> Option<u64> {
        self.begun_ns
    }

    /// The clock of this rank compared with rank 0's.
    pub fn clock(&self) -> &ClockReport {
        &self.clock
    }

    /// Advances the round without waiting; returns true at the end of a round. This rank's state is reported
    /// once per round, at the first call.
    pub fn advance(&mut self, stand: Stand) -> bool {
        if matches!(self.step, Step::Outside) {
            self.earliest = stand;
            self.step = Step::Gathering(self.ranks.children());
            self.waiting_since = Some(Instant::now());
        }
        if let Step::Gathering(missing) = &mut self.step {
            let (ranks, earliest) = (self.ranks, &mut self.earliest);
            missing.retain(|child| match ranks.heard(*child, About::Above) {
                Some(note) => {
                    *earliest = (*earliest).min(Stand::of(note[0]));
                    false
                }
                None => true,
            });
            if !missing.is_empty() {
                return false;
            }
            match self.ranks.parent() {
                None => {
                    self.conclude(self.earliest);
                    return true;
                }
                Some(parent) => self.ranks.tell(parent, About::Above, [self.earliest.number(), 0, 0]),
            }
            self.step = Step::Told;
        }
        let Some(note) = self.ranks.parent().and_then(|parent| self.ranks.heard(parent, About::Below)) else {
            return false;
        };
        self.conclude(Stand::of(note[0]));
        true
    }

    /// Sleeps until the next poll is useful.
    pub fn pause(&self) {
        let waited = self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed());
        std::thread::sleep((waited / PAUSE_SHARE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
    }

    /// Takes part in all remaining rounds, without jobs.
    pub fn finish(&mut self) {
        while !self.is_over {
            if !self.advance(Stand::Finished) {
                self.pause();
            }
        }
    }

    /// From the second step on.
    fn conclude(&mut self, earliest: Stand) {
        self.step = Step::Outside;
        let children = self.ranks.children();
        // The child with the largest subtree comes first. All of them wake up while the first is measured.
        for &child in children.iter().rev() {
            self.ranks.tell(child, About::Below, [earliest.number(), 0, 0]);
        }
        if let Some(parent) = self.ranks.parent() {
            self.offset = self.answer(parent);
        }
        children.iter().rev().for_each(|&child| self.measure(child));
        match earliest {
            Stand::Finished => {
                self.clock.after = Some(self.offset);
                if let Some(before_ns) = self.wall_before_ns {
                    self.clock.wall_clock_jump_ns = wall_minus_monotonic_ns().saturating_sub(before_ns);
                }
                self.is_over = true;
            }
            Stand::Ready(stage) => {
                self.clock.before.get_or_insert(self.offset);
                self.wall_before_ns.get_or_insert_with(wall_minus_monotonic_ns);
                let instant_ns = self.agree(&children);
                self.begun_ns.get_or_insert(instant_ns);
                self.started = Some(Start { stage, at_ns: there(instant_ns, self.offset) });
            }
        }
    }

    /// The common start instant, on rank 0's clock.
    fn agree(&self, children: &[usize]) -> u64 {
        for &child in children {
            self.ranks.hear(child, About::Above);
        }
        let instant_ns = match self.ranks.parent() {
            None => {
                let lead_ns = LEAD_NS + LEAD_PER_RANK_NS * self.ranks.size() as u64;
                monotonic_ns() + lead_ns.min(LONGEST_LEAD_NS)
            }
            Some(parent) => {
                self.ranks.tell(parent, About::Above, Note::default());
                self.ranks.hear(parent, About::Below)[0]
            }
        };
        for &child in children.iter().rev() {
            self.ranks.tell(child, About::Below, [instant_ns, 0, 0]);
        }
        instant_ns
    }

    /// Measures the clock offset of a child, and sends it its offset from rank 0's clock.
    fn measure(&self, child: usize) {
        let mut probe = Probe::begin();
        while probe.wants_more() {
            let sent_ns = monotonic_ns();
            self.ranks.tell(child, About::Clocks, [QUESTION, 0, 0]);
            let [received_ns, answered_ns, _] = self.ranks.hear_closely(child, About::Clocks);
            let now_ns = monotonic_ns();
            probe.take(&Pong { sent_ns, received_ns, answered_ns, wall_ns: 0 }, now_ns);
        }
        let sum = plus(self.offset, probe.best().unwrap_or_default());
        self.ranks.tell(child, About::Clocks, [RESULT, sum.offset_ns.cast_unsigned(), sum.bound_ns]);
    }

    /// Responds to the parent's probes; returns the offset of this clock from rank 0's.
    fn answer(&self, parent: usize) -> ClockOffset {
        loop {
            let [kind, offset_ns, bound_ns] = self.ranks.hear_closely(parent, About::Clocks);
            let received_ns = monotonic_ns();
            if kind != QUESTION {
                return ClockOffset { offset_ns: offset_ns.cast_signed(), bound_ns };
            }
            self.ranks.tell(parent, About::Clocks, [received_ns, monotonic_ns(), 0]);
        }
    }
}

/// A clock probe, and the resulting offset from rank 0.
const QUESTION: u64 = 0;
const RESULT: u64 = 1;

/// Adds two clock offsets.
fn plus(one: ClockOffset, other: ClockOffset) -> ClockOffset {
    ClockOffset {
        offset_ns: one.offset_ns.saturating_add(other.offset_ns),
        bound_ns: one.bound_ns.saturating_add(other.bound_ns),
    }
}

impl Stand {
    fn number(self) -> u64 {
        match self {
            Stand::Ready(stage) => u64::from(stage),
            Stand::Finished => u64::MAX,
        }
    }

    fn of(number: u64) -> Stand {
        u32::try_from(number).map_or(Stand::Finished, Stand::Ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_stage_comes_first() {
        let stands = [Stand::Finished, Stand::Ready(3), Stand::Ready(1)];
        assert_eq!(stands.into_iter().min(), Some(Stand::Ready(1)));
        for stand in stands {
            assert_eq!(Stand::of(stand.number()), stand);
        }
    }

    #[test]
    fn offsets_and_bounds_add_up() {
        let offset = |offset_ns, bound_ns| ClockOffset { offset_ns, bound_ns };
        assert_eq!(plus(offset(-5, 3), offset(12, 4)), offset(7, 7));
        assert_eq!(plus(offset(i64::MAX, u64::MAX), offset(1, 1)), offset(i64::MAX, u64::MAX));
    }
}
