//! Arrival times of requests: gaps, burstiness over several scales, and think times.

use crate::service::measure;
use fathom_stats::latency::LatencyStats;
use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Lengths of the windows in which arrivals are counted, in ns.
const SCALES: [u64; 6] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];
/// Minimum number of windows for the dispersion of a scale.
const FEWEST_WINDOWS: u64 = 10;
/// Maximum number of processes whose think times are tracked together.
const MOST_PROCESSES: usize = 4096;

/// Statistics of the arrivals of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Time between arrivals.
    pub gaps: LatencyStats,
    /// (length of the windows in s, variance of the arrivals per window divided by their mean). The ratio is 1
    /// for a Poisson process, greater for bursts, and 0 for paced arrivals.
    pub dispersion: Vec<(f64, f64)>,
    /// Time from the last completion of a process that had nothing in flight to its next request.
    pub think_time: LatencyStats,
    /// Relation of the arrivals to the completions.
    pub pace: Pace,
    /// Number of requests that each process keeps in flight in a closed loop, on average over the requests; 0
    /// for other paces.
    pub kept_depth: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    /// Number of the current window since the start.
    current: u64,
    count: u64,
    sum: f64,
    squares: f64,
}

impl Windows {
    fn add(&mut self, window: u64) {
        if window > self.current {
            self.close();
            self.current = window;
        }
        self.count += 1;
    }

    fn close(&mut self) {
        let count = std::mem::take(&mut self.count) as f64;
        self.sum += count;
        self.squares += count * count;
    }

    /// Returns the variance divided by the mean over whole windows up to this number.
    fn dispersion(&self, windows: u64) -> Option<f64> {
        if windows < FEWEST_WINDOWS || self.sum == 0.0 {
            return None;
        }
        let mean = self.sum / windows as f64;
        Some(((self.squares / windows as f64 - mean * mean) / mean).max(0.0))
    }
}

/// Counts arrivals in windows of each scale.
#[derive(Debug, Default)]
pub(crate) struct Scales {
    start_ns: Option<u64>,
    windows: [Windows; SCALES.len()],
}

impl Scales {
    /// Begins to count at this time, if it does not yet.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.start_ns.get_or_insert(now_ns);
    }

    pub(crate) fn add(&mut self, now_ns: u64) {
        let since = now_ns.saturating_sub(*self.start_ns.get_or_insert(now_ns));
        self.windows.iter_mut().zip(SCALES).for_each(|(windows, scale)| windows.add(since / scale));
    }

    /// (window in s, variance of the arrivals per window divided by their mean).
    pub(crate) fn finish(mut self, end_ns: u64) -> Vec<(f64, f64)> {
        let length = end_ns.saturating_sub(self.start_ns.unwrap_or(end_ns));
        let dispersion = |(windows, scale): (&mut Windows, u64)| {
            let whole = length / scale;
            // The last window may not be over.
            if windows.current < whole {
                windows.close();
            }
            windows.dispersion(whole).map(|dispersion| (scale as f64 / 1e9, dispersion))
        };
        self.windows.iter_mut().zip(SCALES).filter_map(dispersion).collect()
    }
}

/// The pace of a process: whether its arrivals depend on completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// The trace does not contain enough information.
    #[default]
    Unknown,
    /// Each completion causes the next request, so the depth is kept.
    Closed,
    /// Requests arrive regardless of whether earlier ones are complete.
    Open,
    /// Some requests are from a closed loop and some from an open one.
    Mixed,
}

/// Minimum number of arrivals to judge the pace of a process.
const FEWEST_ARRIVALS: u64 = 50;
/// Share of a process's peaks at its most frequent depth: at least this share in a closed loop, and less in an
/// open one.
const KEPT: f64 = 0.5;
const NOT_KEPT: f64 = 0.3;
/// Minimum share of the arrivals of closed processes, or of open ones, for which the whole load is called
/// closed, or open.
const MOST: f64 = 0.7;
/// Number of depths for which peaks are counted separately.
const MOST_DEPTHS: usize = 1024;

#[derive(Clone, Debug, Default)]
struct Process {
    in_flight: usize,
    last_end_ns: Option<u64>,
    arrivals: u64,
    overlapped: u64,
    first_ns: u64,
    busy_since_ns: u64,
    busy_ns: u64,
    /// True if the last event was an arrival.
    is_rising: bool,
    /// Number of times that the depth fell after rising to each value.
    peaks: Vec<u32>,
}

impl Process {
    fn arrived(&mut self, now: u64) {
        if self.arrivals == 0 {
            self.first_ns = now;
        }
        if self.in_flight == 0 {
            self.busy_since_ns = now;
        } else {
            self.overlapped += 1;
        }
        self.arrivals += 1;
        self.in_flight += 1;
        self.is_rising = true;
    }

    fn completed(&mut self, now: u64) {
        if std::mem::take(&mut self.is_rising) {
            let depth = self.in_flight.min(MOST_DEPTHS - 1);
            if self.peaks.len() <= depth {
                self.peaks.resize(depth + 1, 0);
            }
            self.peaks[depth] = self.peaks[depth].saturating_add(1);
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight == 0 {
            self.busy_ns += now.saturating_sub(self.busy_since_ns);
        }
        self.last_end_ns = Some(now);
    }

    /// Returns the depth that is reached most often, and the pace.
    fn pace(&self) -> (usize, Pace) {
        let peaks: u64 = self.peaks.iter().map(|count| u64::from(*count)).sum();
        let Some((depth, &count)) = self.peaks.iter().enumerate().max_by_key(|(_, count)| **count) else {
            return (0, Pace::Unknown);
        };
        if self.arrivals < FEWEST_ARRIVALS || peaks == 0 {
            return (depth, Pace::Unknown);
        }
        let share = f64::from(count) / peaks as f64;
        if depth > 1 {
            let pace = match share {
                share if share >= KEPT => Pace::Closed,
                share if share < NOT_KEPT => Pace::Open,
                _ => Pace::Mixed,
            };
            return (depth, pace);
        }
        // If arrivals are independent, the share that finds the process busy is about the share of the time for
        // which it is busy. If each waits for the previous completion, no arrival finds it busy.
        let length = self.last_end_ns.unwrap_or(0).saturating_sub(self.first_ns).max(1) as f64;
        let busy = self.busy_ns as f64 / length;
        let overlapped = self.overlapped as f64 / self.arrivals as f64;
        let pace = match () {
            () if busy < 0.05 => Pace::Unknown,
            () if overlapped < busy / 4.0 => Pace::Closed,
            () if overlapped > busy / 2.0 => Pace::Open,
            () => Pace::Mixed,
        };
        (depth, pace)
    }
}

/// Arrivals of processes by their pace.
#[derive(Clone, Copy, Debug, Default)]
struct Paces {
    closed: u64,
    open: u64,
    mixed: u64,
    /// Sum over closed processes of the kept depth multiplied by the number of arrivals.
    depths: u64,
}

impl Paces {
    fn add(&mut self, process: &Process) {
        let (depth, pace) = process.pace();
        match pace {
            Pace::Closed => {
                self.closed += process.arrivals;
                self.depths += process.arrivals * depth as u64;
            }
            Pace::Open => self.open += process.arrivals,
            Pace::Mixed => self.mixed += process.arrivals,
            Pace::Unknown => {}
        }
    }

    fn pace(&self) -> Pace {
        let all = (self.closed + self.open + self.mixed) as f64;
        match () {
            () if all == 0.0 => Pace::Unknown,
            () if self.closed as f64 / all >= MOST => Pace::Closed,
            () if self.open as f64 / all >= MOST => Pace::Open,
            () => Pace::Mixed,
        }
    }
}

/// Follows arrivals.
#[derive(Debug, Default)]
pub(crate) struct ArrivalFollower {
    last_ns: Option<u64>,
    scales: Scales,
    processes: HashMap<u32, Process>,
    paces: Paces,
    found: Arrivals,
}

impl ArrivalFollower {
    pub(crate) fn arrived(&mut self, request: &Request) {
        let now = request.time_ns;
        self.scales.add(now);
        if let Some(last) = self.last_ns {
            measure(&mut self.found.gaps, now.saturating_sub(last));
        }
        self.last_ns = self.last_ns.max(Some(now));
        if self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&request.process) {
            let gone = self.processes.extract_if(|_, process| process.in_flight == 0);
            gone.for_each(|(_, process)| self.paces.add(&process));
        }
        let process = self.processes.entry(request.process).or_default();
        if let (0, Some(end)) = (process.in_flight, process.last_end_ns) {
            measure(&mut self.found.think_time, now.saturating_sub(end));
        }
        process.arrived(now);
    }

    pub(crate) fn completed(&mut self, request: &Request, time_ns: u64) {
        if let Some(process) = self.processes.get_mut(&request.process) {
            process.completed(time_ns);
        }
    }

    pub(crate) fn finish(mut self, end_ns: u64) -> Arrivals {
        self.found.dispersion = self.scales.finish(end_ns);
        self.processes.values().for_each(|process| self.paces.add(process));
        self.found.pace = self.paces.pace();
        if self.found.pace == Pace::Closed {
            self.found.kept_depth = self.paces.depths as f64 / self.paces.closed as f64;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::Direction;
    use fathom_trace::Device;

    fn request(time_ns: u64) -> Request {
        let device = Device { major: 8, minor: 0 };
        Request {
            time_ns,
            device,
            direction: Direction::Read,
            sector: 0,
            skip: 0,
            bytes: 4096,
            code: 0,
            process: 7,
        }
    }

    fn dispersion(times: impl Iterator<Item = u64>) -> Vec<(f64, f64)> {
        let mut follower = ArrivalFollower::default();
        let mut last = 0;
        for time in times {
            follower.arrived(&request(time));
            last = time;
        }
        follower.finish(last).dispersion
    }

    #[test]
    fn paced_random_and_bursty_arrivals_differ() {
        let paced = dispersion((0..10_000).map(|number| number * 500_000));
        assert!(paced.iter().all(|(_, value)| *value < 0.1), "{paced:?}");
        let mut state = 7u64;
        let mut now = 0.0;
        let poisson = dispersion((0..20_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now -= ((state >> 11) as f64 / (1u64 << 53) as f64).ln() * 500_000.0;
            now as u64
        }));
        assert!(poisson.iter().all(|(_, value)| (0.4..1.8).contains(value)), "{poisson:?}");
        let bursts = dispersion(
            (0..200u64).flat_map(|burst| (0..50).map(move |number| burst * 100_000_000 + number * 1000)),
        );
        assert!(bursts.iter().any(|(_, value)| *value > 20.0), "{bursts:?}");
    }

    #[test]
    fn think_times_are_those_of_idle_processes() {
        let mut follower = ArrivalFollower::default();
        follower.arrived(&request(0));
        follower.completed(&request(0), 100);
        follower.arrived(&request(350));
        follower.arrived(&request(360));
        let found = follower.finish(1000);
        assert_eq!((found.think_time.count, found.think_time.sum_ns), (1, 250));
    }

    /// Returns the pace of arrivals and completions; each entry is a time and whether the depth rises or falls.
    fn pace(steps: impl Iterator<Item = (u64, bool)>) -> (Pace, f64) {
        let (mut follower, mut last) = (ArrivalFollower::default(), 0);
        for (time, is_arrival) in steps {
            match is_arrival {
                true => follower.arrived(&request(time)),
                false => follower.completed(&request(time), time),
            }
            last = time;
        }
        let found = follower.finish(last);
        (found.pace, found.kept_depth)
    }

    #[test]
    fn a_kept_depth_is_closed_and_independent_arrivals_are_open() {
        for (depth, batch) in [(1u64, 1), (8, 1), (16, 5)] {
            let first = (0..depth).map(|number| (number, true));
            let rounds = (1..500u64).flat_map(|round| {
                let ends = (0..batch).map(move |number| (round * 1000 + number, false));
                ends.chain((0..batch).map(move |number| (round * 1000 + 100 + number, true)))
            });
            assert_eq!(pace(first.chain(rounds)), (Pace::Closed, depth as f64), "{depth} {batch}");
        }
        // The queue is idle most of the time, or busy most of the time.
        for arrivals in [2u64, 4] {
            let (mut state, mut now, mut depth, mut steps) = (3u64, 0, 0u64, Vec::new());
            for _ in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                now += 1 + (state >> 54);
                let is_arrival = (state >> 40) % arrivals == 0;
                if is_arrival || depth > 0 {
                    depth = if is_arrival { depth + 1 } else { depth - 1 };
                    steps.push((now, is_arrival));
                }
            }
            assert_eq!(pace(steps.into_iter()).0, Pace::Open, "{arrivals}");
        }
    }
}
