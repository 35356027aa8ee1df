//! `latency_target`: finds the largest queue depth at which I/Os still meet a latency. The depth starts at one.
//! Each time window shows whether enough I/Os met the target at the current depth. The depth is doubled until
//! it is too large for the target, then the interval in between is bisected. Between two depths the queue is
//! drained, so that a window only contains I/Os of that depth.

use crate::invariant::holds;
use crate::message::Message;
use crate::plan::model::latency::LatencyTarget;
use crate::unit::Unit;
use crate::worker::Worker;
use crate::worker::feature::{Feature, Needs};
use std::sync::atomic::Ordering::Relaxed;

/// With `latency_run`, the next larger depth is tried again after this many windows at one depth.
const STABLE_WINDOWS: u32 = 3;

/// The search of one worker.
pub(in crate::worker) struct LatencySearch {
    wanted: LatencyTarget,
    bounds: Bounds,
    phase: Phase,
    /// Number of I/Os that had completed before the window began, or have failed since.
    uncounted: u64,
    missed: u64,
    /// The slowest I/O of the window, with its latency.
    slowest: Option<(u64, Slow)>,
    /// Set once a message has said that not even one I/O at a time meets the target.
    is_miss_said: bool,
}

/// An I/O that a message names.
#[derive(Clone, Copy)]
struct Slow {
    file: u32,
    word: &'static str,
    offset: u64,
    length: u32,
}

/// Current phase of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Drains the queue; a window begins afterwards.
    Settling,
    /// Measures a depth until this time, monotonic ns.
    Judging { end_ns: u64 },
    /// The depth is found: drains the queue, then resets the figures.
    Found,
    /// Runs at the final depth until this time, monotonic ns.
    Measuring { end_ns: u64 },
}

/// Known bounds of the depth.
#[derive(Clone, Debug)]
struct Bounds {
    depth: u32,
    most: u32,
    /// Largest depth that met the target; 0 for none.
    good: u32,
    /// Smallest depth that missed the target.
    bad: Option<u32>,
    /// Number of windows since the depth changed.
    stable: u32,
}

/// Result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The search continues at this depth.
    Depth(u32),
    /// The final depth is found.
    Found,
    /// Not even one I/O at a time meets the target.
    Missed,
}

impl Bounds {
    fn new(most: u32) -> Bounds {
        Bounds { depth: 1, most, good: 0, bad: None, stable: 0 }
    }

    /// Evaluates the result of a window at the current depth.
    fn judge(&mut self, is_good: bool, keeps_running: bool) -> Verdict {
        if is_good {
            self.good = self.depth;
            self.stable += 1;
            if keeps_running && self.stable >= STABLE_WINDOWS {
                self.stable = 0;
                self.bad = self.bad.map(|bad| bad + 1).filter(|&bad| bad <= self.most);
            }
        } else {
            if self.depth == 1 {
                return Verdict::Missed;
            }
            self.bad = Some(self.depth);
            // A depth that met the target before may miss it now.
            self.good = self.good.min(self.depth - 1);
        }
        let next = match self.bad {
            None => self.depth.saturating_mul(2),
            Some(bad) => u32::midpoint(self.good, bad),
        };
        let next = next.clamp(1, self.most);
        if next == self.depth {
            return if keeps_running { Verdict::Depth(next) } else { Verdict::Found };
        }
        self.depth = next;
        self.stable = 0;
        Verdict::Depth(next)
    }
}

impl Feature for LatencySearch {
    /// Must see I/Os that missed the target; all others met it.
    fn needs(&self) -> Needs {
        Needs { ends_from_ns: Some(self.wanted.target_ns.saturating_add(1)), ..Needs::default() }
    }
}

impl LatencySearch {
    /// Creates a search among depths up to this one.
    pub(in crate::worker) fn new(wanted: LatencyTarget, most: u32) -> LatencySearch {
        LatencySearch {
            wanted,
            bounds: Bounds::new(most),
            phase: Phase::Settling,
            uncounted: 0,
            missed: 0,
            slowest: None,
            is_miss_said: false,
        }
    }

    /// Maximum number of I/Os that may be in flight now.
    pub(in crate::worker) fn issue_limit(&self) -> u32 {
        match self.phase {
            Phase::Settling | Phase::Found => 0,
            Phase::Judging { .. } | Phase::Measuring { .. } => self.bounds.depth,
        }
    }

    /// False while the queue is drained.
    pub(in crate::worker) fn goes_on(&self) -> bool {
        matches!(self.phase, Phase::Judging { .. } | Phase::Measuring { .. })
    }

    /// Notes a failed I/O, which has no latency.
    pub(in crate::worker) fn failed(&mut self) {
        self.uncounted += 1;
    }

    /// Counts an I/O that took `latency_ns`; true if it decides the window.
    pub(in crate::worker) fn completed(&mut self, unit: &Unit, latency_ns: u64) -> bool {
        if latency_ns <= self.wanted.target_ns {
            return false;
        }
        self.missed += 1;
        if self.slowest.as_ref().is_none_or(|(slowest, _)| *slowest < latency_ns) {
            let slow = Slow {
                file: unit.file(),
                word: unit.operation().word(),
                offset: unit.offset(),
                length: unit.length(),
            };
            self.slowest = Some((latency_ns, slow));
        }
        self.is_decided()
    }

    /// True if the window is decided early: if all I/Os have to meet the target, the first miss decides.
    fn is_decided(&self) -> bool {
        matches!(self.phase, Phase::Judging { .. }) && self.missed > 0 && self.wanted.percentile >= 100.0
    }

    /// Begins a window; `ended` is the number of completed I/Os so far. Returns the time at which the window
    /// ends.
    fn begin_window(&mut self, now_ns: u64, ended: u64) -> u64 {
        (self.uncounted, self.missed, self.slowest) = (ended, 0, None);
        now_ns + self.wanted.window_ns
    }

    /// Percentage of the window's I/Os that met the target; `ended` is the number completed so far. `None`
    /// without I/Os.
    fn share_met(&self, ended: u64) -> Option<f64> {
        let uncounted = self.uncounted;
        holds!(ended >= uncounted, Ends, "{ended} I/Os have ended, and {uncounted} of them do not count");
        let seen = ended - uncounted;
        (seen > 0).then(|| 100.0 * (seen - self.missed) as f64 / seen as f64)
    }

    /// The result of the window if it ends at `now_ns`. A window without I/Os is extended instead.
    fn close_window(&mut self, now_ns: u64, ended: u64) -> Option<Verdict> {
        let Phase::Judging { end_ns } = self.phase else { return None };
        let share = self.share_met(ended)?;
        if now_ns < end_ns && !self.is_decided() {
            return None;
        }
        let is_good = share >= self.wanted.percentile;
        Some(self.bounds.judge(is_good, self.wanted.keeps_running))
    }

    /// The time at which the search must be continued, monotonic ns.
    fn next_look_ns(&self, now_ns: u64) -> u64 {
        match self.phase {
            Phase::Settling | Phase::Found => now_ns,
            Phase::Judging { end_ns } | Phase::Measuring { end_ns } => end_ns,
        }
    }
}

impl Worker<'_> {
    /// Continues the search, if the job has one; returns when it must be continued next, monotonic ns.
    pub(in crate::worker) fn follow_latency_target(&mut self, now_ns: u64) -> Option<u64> {
        let mut search = self.features.latency_search.take()?;
        // The ramp is not part of the search.
        if self.ramp.is_none() && !self.stopping {
            self.advance_search(&mut search, now_ns);
        }
        let next = search.next_look_ns(now_ns);
        self.features.latency_search = Some(search);
        Some(next)
    }

    fn advance_search(&mut self, search: &mut LatencySearch, now_ns: u64) {
        let ended = self.samples.directions.values().map(|samples| samples.completed.load(Relaxed)).sum();
        match search.phase {
            Phase::Settling if self.slots.handed_over() == 0 => {
                let end_ns = search.begin_window(now_ns, ended);
                search.phase = Phase::Judging { end_ns };
                self.block.found_depth.store(search.bounds.depth, Relaxed);
            }
            Phase::Found if self.slots.handed_over() == 0 => {
                let end_ns = search.begin_window(now_ns, ended);
                search.phase = Phase::Measuring { end_ns };
                self.samples.reset();
                self.block.start_ns.store(now_ns, Relaxed);
            }
            Phase::Settling | Phase::Found => {}
            Phase::Measuring { end_ns } => self.stopping |= now_ns >= end_ns,
            Phase::Judging { .. } => {
                let before = search.bounds.depth;
                match search.close_window(now_ns, ended) {
                    None => {}
                    Some(Verdict::Depth(depth)) if depth == before => {
                        search.phase = Phase::Judging { end_ns: search.begin_window(now_ns, ended) };
                    }
                    Some(Verdict::Depth(_)) => search.phase = Phase::Settling,
                    Some(Verdict::Found) => search.phase = Phase::Found,
                    Some(Verdict::Missed) if search.wanted.percentile >= 100.0 => self.target_missed(search),
                    Some(Verdict::Missed) => {
                        self.note_miss(search, ended);
                        search.phase = Phase::Judging { end_ns: search.begin_window(now_ns, ended) };
                    }
                }
            }
        }
    }

    #[cold]
    fn target_missed(&mut self, search: &LatencySearch) {
        if let Some((latency, slow)) = &search.slowest {
            let (limit, file) = (search.wanted.target_ns, slow.file);
            self.latency_exceeded(*latency, limit, file, slow.word, slow.offset, slow.length);
        }
        self.stopping = true;
    }

    /// Reports that not even depth 1 meets the target. Because some I/Os may be slower (`latency_percentile`),
    /// the job continues with one I/O at a time.
    #[cold]
    fn note_miss(&mut self, search: &mut LatencySearch, ended: u64) {
        if !std::mem::replace(&mut search.is_miss_said, true) {
            let (name, percentile) = (&self.plan.name, search.wanted.percentile);
            let share = search.share_met(ended).unwrap_or(0.0);
            self.context.messages.send(&Message::Output(format!(
                "fathom: job {name}: only {share:.2} % of the I/Os met latency_target with one I/O at a time \
                (latency_percentile={percentile}); the job continues at depth 1"
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs a search in which all depths up to `capacity` meet the target. Returns the depth found, or `None`
    /// if depth 1 already misses.
    fn find(most: u32, capacity: u32) -> Option<u32> {
        let mut bounds = Bounds::new(most);
        for _ in 0..200 {
            match bounds.judge(bounds.depth <= capacity, false) {
                Verdict::Depth(_) => {}
                Verdict::Found => return Some(bounds.depth),
                Verdict::Missed => return None,
            }
        }
        panic!("no end: {bounds:?}");
    }

    proptest! {
        #[test]
        fn the_largest_good_depth_is_found(most in 1u32..2000, capacity in 0u32..3000) {
            let expected = (capacity > 0).then(|| capacity.min(most));
            prop_assert_eq!(find(most, capacity), expected);
        }

        #[test]
        fn a_search_that_goes_on_follows_the_device(
            most in 2u32..200, capacities in prop::collection::vec(1u32..300, 1..4)
        ) {
            let mut bounds = Bounds::new(most);
            for capacity in capacities {
                let mut good_windows = 0;
                // Upwards, the search moves by one step in depth after several windows.
                for _ in 0..(STABLE_WINDOWS + 3) * most * 2 {
                    let is_good = bounds.depth <= capacity;
                    good_windows += u32::from(is_good && bounds.depth + 1 >= capacity.min(most));
                    bounds.judge(is_good, true);
                    prop_assert!((1..=most).contains(&bounds.depth));
                }
                prop_assert!(good_windows > 0, "{:?} never came to {}", bounds, capacity);
            }
        }
    }

    #[test]
    fn depths_double_then_halve() {
        let mut bounds = Bounds::new(64);
        let depths: Vec<u32> = std::iter::from_fn(|| {
            let depth = bounds.depth;
            (bounds.judge(depth <= 11, false) != Verdict::Found).then_some(depth)
        })
        .collect();
        assert_eq!(depths, [1, 2, 4, 8, 16, 12, 10]);
    }
}
