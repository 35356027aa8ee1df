//! Details for the full-screen view: figures of every job and device since the previous tick, as exact
//! differences of the workers' samples. They cost nothing unless requested.

use super::Supervisor;
use crate::crew::{LatencyKind, WorkerState};
use fathom_stats::Histogram;
use fathom_stats::live::{LiveDetails, LiveJob, LivePercentiles};
use fathom_stats::moment::JobMoment;
use fathom_stats::{Direction, PerDirection};

/// The figures of every clone at the previous tick.
pub(super) struct DetailWatch {
    since_ns: u64,
    before: Vec<Figures>,
}

/// Figures of a clone at the previous tick.
#[derive(Default)]
struct Figures {
    /// Number of times that the clone has reset its figures.
    epoch: u64,
    bytes: PerDirection<u64>,
    ios: PerDirection<u64>,
    latencies: PerDirection<Histogram>,
    latency_counts: PerDirection<u64>,
    layers: [u64; 4],
}

/// Change of a clone's figures between two ticks.
#[derive(Default)]
struct Difference {
    bytes: PerDirection<u64>,
    ios: PerDirection<u64>,
    /// Completion latencies of all directions, merged.
    latency: Histogram,
    /// Time in each layer, if it is recorded.
    layers: Option<[u64; 4]>,
}

impl DetailWatch {
    pub(super) fn begin(clones: usize, now_ns: u64) -> DetailWatch {
        DetailWatch { since_ns: now_ns, before: (0..clones).map(|_| Figures::default()).collect() }
    }
}

impl Figures {
    /// Advances to the clone's current figures and returns the difference. `latencies` returns all completion
    /// latencies of a direction so far.
    fn advance(&mut self, state: &WorkerState, latencies: impl Fn(Direction) -> Histogram) -> Difference {
        if state.epoch != self.epoch {
            *self = Figures { epoch: state.epoch, ..Figures::default() };
        }
        let mut new = Difference::default();
        for (direction, so_far) in state.directions.iter() {
            let step = |before: &mut u64, now: u64| now.saturating_sub(std::mem::replace(before, now));
            new.bytes[direction] = step(&mut self.bytes[direction], so_far.bytes);
            new.ios[direction] = step(&mut self.ios[direction], so_far.ios);
            // The count is compared first, because histograms are large and most directions of most jobs have
            // no new latencies.
            if step(&mut self.latency_counts[direction], so_far.latencies) > 0 {
                let now = latencies(direction);
                new.latency.merge(&now.since(&self.latencies[direction]));
                self.latencies[direction] = now;
            }
        }
        new
    }
}

impl Supervisor<'_> {
    /// Changes since the previous call; `None` unless the observer has a live view.
    pub(super) fn live_details(&mut self, now_ns: u64) -> Option<LiveDetails> {
        let mut watch = self.details.take()?;
        let interval_ns = now_ns.saturating_sub(watch.since_ns).max(1);
        let mut details = LiveDetails {
            elapsed_ns: now_ns.saturating_sub(self.started_ns),
            interval_ns,
            disks: self.crew.look_at_disks(),
            ..LiveDetails::default()
        };
        let mut everything = Histogram::default();
        let clones: Vec<usize> = (0..self.tracked.len()).collect();
        for members in clones.chunk_by(|&a, &b| self.plan.workers[a].job == self.plan.workers[b].job) {
            let mut sum = Difference::default();
            let states: Vec<WorkerState> = members.iter().map(|&index| self.crew.state(index)).collect();
            for (&index, state) in members.iter().zip(&states) {
                let kind = match self.plan.workers[index].arrivals {
                    Some(_) => LatencyKind::Response,
                    None => LatencyKind::Completion,
                };
                let latencies = |direction| self.crew.latencies(index, direction, kind);
                let new = watch.before[index].advance(state, latencies);
                for direction in Direction::ALL {
                    sum.bytes[direction] += new.bytes[direction];
                    sum.ios[direction] += new.ios[direction];
                }
                sum.latency.merge(&new.latency);
                if let Some(now) = self.crew.layer_sums(index) {
                    let before = std::mem::replace(&mut watch.before[index].layers, now);
                    let sum = sum.layers.get_or_insert_default();
                    (0..now.len()).for_each(|layer| sum[layer] += now[layer].saturating_sub(before[layer]));
                }
            }
            everything.merge(&sum.latency);
            details.jobs.push(self.live_job(members, &states, sum, interval_ns));
        }
        details.latency = LivePercentiles::of(&everything);
        details.histogram = everything;
        watch.since_ns = now_ns;
        self.details = Some(watch);
        Some(details)
    }

    /// Builds one entry for all clones of a job.
    fn live_job(
        &self,
        members: &[usize],
        states: &[WorkerState],
        sum: Difference,
        interval_ns: u64,
    ) -> LiveJob {
        let per_second =
            |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(interval_ns.max(1))) as u64;
        let mut moment = JobMoment::default();
        for (&index, state) in members.iter().zip(states) {
            moment.merge(&self.moment(index, state));
        }
        LiveJob {
            name: self.plan.workers[members[0]].name.clone(),
            states: moment.states,
            bytes_per_second: sum.bytes.map(per_second),
            iops: sum.ios.map(per_second),
            latency: LivePercentiles::of(&sum.latency),
            histogram: sum.latency,
            in_flight: moment.in_flight,
            asked_depth: moment.asked_depth,
            errors: moment.errors,
            waiting: moment.waiting,
            layers: sum.layers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::DirectionState;

    #[test]
    fn differences_are_exact_and_begin_anew_with_the_figures() {
        let mut figures = Figures::default();
        // Returns the new counts, given all counts of an epoch.
        let mut advance = |epoch, latencies: &[u64]| {
            let mut histogram = Histogram::default();
            latencies.iter().for_each(|&ns| histogram.record(ns));
            let count = latencies.len() as u64;
            let mut state = WorkerState { epoch, ..WorkerState::default() };
            state.directions[Direction::Read] =
                DirectionState { bytes: count * 4096, ios: count, latencies: count, ..Default::default() };
            let new = figures.advance(&state, |_| histogram.clone());
            let values: Vec<(u64, u64)> = new.latency.values().collect();
            (new.ios[Direction::Read], new.bytes[Direction::Read], values)
        };
        assert_eq!(advance(1, &[100, 100, 50]), (3, 3 * 4096, vec![(50, 1), (100, 2)]));
        assert_eq!(advance(1, &[100, 100, 50, 100]), (1, 4096, vec![(100, 1)]));
        assert_eq!(advance(1, &[100, 100, 50, 100]), (0, 0, vec![]));
        // The counts restart after the ramp, so all of them are new, although they exceed the earlier ones.
        assert_eq!(advance(2, &[7; 5]), (5, 5 * 4096, vec![(7, 5)]));
    }
}
