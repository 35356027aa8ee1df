//! Merges the live data of several hosts.

use super::{LiveDetails, LiveDisk, LiveHost, LiveJob, LivePercentiles, LiveTick, RunState};
use crate::Histogram;
use crate::PerDirection;
use std::collections::HashMap;

impl LiveTick {
    /// Adds another host: counts and rates are added, its workers are appended, and the slowest host determines
    /// progress and remaining time. If a host with running workers does not know its progress, the result is
    /// unknown.
    pub fn merge(&mut self, other: &LiveTick) {
        self.percent_done = slowest((self, self.percent_done), (other, other.percent_done), f64::min);
        self.eta_seconds = slowest((self, self.eta_seconds), (other, other.eta_seconds), u64::max);
        self.estimate_known = match (self.is_idle(), other.is_idle()) {
            (false, true) => self.estimate_known,
            (true, false) => other.estimate_known,
            (true, true) => self.estimate_known || other.estimate_known,
            (false, false) => self.estimate_known && other.estimate_known,
        };
        self.running += other.running;
        self.open_files += other.open_files;
        self.rate_limit_bytes += other.rate_limit_bytes;
        self.rate_min_bytes += other.rate_min_bytes;
        self.rate_limit_iops += other.rate_limit_iops;
        self.rate_min_iops += other.rate_min_iops;
        add(&mut self.bytes_per_second, &other.bytes_per_second);
        add(&mut self.iops, &other.iops);
        self.states.extend_from_slice(&other.states);
        if self.kb_base == 0 {
            (self.kb_base, self.unit_base) = (other.kb_base, other.unit_base);
        }
    }

    fn is_idle(&self) -> bool {
        self.running == 0
    }
}

/// Returns the value of the slower of two hosts' ticks.
fn slowest<T>(
    (one, said): (&LiveTick, Option<T>),
    (other, other_said): (&LiveTick, Option<T>),
    slower: fn(T, T) -> T,
) -> Option<T> {
    match (said, other_said) {
        (Some(said), Some(other_said)) => Some(slower(said, other_said)),
        (None, said) if one.is_idle() => said,
        (said, None) if other.is_idle() => said,
        _ => None,
    }
}

impl LiveDetails {
    /// Prefixes the devices with the host's name, as [`merge`](LiveDetails::merge) requires.
    #[must_use]
    pub fn of_host(mut self, host: &str) -> LiveDetails {
        self.disks.iter_mut().for_each(|disk| disk.name = format!("{host}:{}", disk.name));
        self
    }

    /// Adds another host. Its jobs are added to the jobs of the same name (the second of a name to the second),
    /// and percentiles are computed from the latencies of all hosts.
    pub fn merge(&mut self, other: &LiveDetails) {
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.interval_ns = self.interval_ns.max(other.interval_ns);
        add_latencies((&mut self.histogram, &mut self.latency), (&other.histogram, other.latency));
        self.add_jobs(&other.jobs);
        self.disks.extend(other.disks.iter().map(LiveDisk::clone));
        self.hosts.extend(other.hosts.iter().map(LiveHost::clone));
    }

    fn add_jobs(&mut self, jobs: &[LiveJob]) {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let own: Vec<String> = self.jobs.iter().map(|job| job.name.clone()).collect();
        for (place, name) in own.iter().enumerate() {
            places.entry(name).or_default().push(place);
        }
        let mut taken: HashMap<&str, usize> = HashMap::new();
        for job in jobs {
            let nth = taken.entry(&job.name).or_default();
            let place = places.get(&*job.name).and_then(|places| places.get(*nth)).copied();
            *nth += 1;
            match place.and_then(|place| self.jobs.get_mut(place)) {
                Some(own) => own.merge(job),
                None => self.jobs.push(job.clone()),
            }
        }
    }
}

impl LiveJob {
    /// Adds the same job of another host.
    pub fn merge(&mut self, other: &LiveJob) {
        self.states.extend_from_slice(&other.states);
        add(&mut self.bytes_per_second, &other.bytes_per_second);
        add(&mut self.iops, &other.iops);
        add_latencies((&mut self.histogram, &mut self.latency), (&other.histogram, other.latency));
        self.in_flight += other.in_flight;
        self.asked_depth += other.asked_depth;
        self.errors += other.errors;
        self.layers = match (self.layers, other.layers) {
            (Some(own), Some(theirs)) => Some(std::array::from_fn(|layer| own[layer] + theirs[layer])),
            (own, theirs) => own.or(theirs),
        };
        self.waiting = self.waiting.map(|own| own + other.waiting.unwrap_or(0)).or(other.waiting);
    }
}

impl LiveHost {
    /// Returns the row of a host whose last message is `silent_ms` old.
    pub fn of(name: &str, tick: &LiveTick, details: &LiveDetails, silent_ms: u64) -> LiveHost {
        LiveHost {
            name: name.to_owned(),
            state: word(&tick.states).to_owned(),
            bytes_per_second: tick.bytes_per_second,
            iops: tick.iops,
            latency: details.latency,
            in_flight: details.depth().0,
            errors: details.jobs.iter().map(|job| job.errors).sum(),
            silent_ms,
        }
    }
}

/// Returns the state of a host with workers in these states.
fn word(states: &[RunState]) -> &'static str {
    let is_set_up =
        |state: RunState| matches!(state, RunState::Created | RunState::Initialising | RunState::PreReading);
    let has_failed = |state: RunState| matches!(state, RunState::Failed | RunState::Killed);
    let mut under_way = states.iter().copied().filter(|state| state.is_under_way()).peekable();
    if under_way.peek().is_some() {
        let furthest = under_way.map(|state| match state {
            RunState::Ramping => 1,
            state if is_set_up(state) => 0,
            _ => 2,
        });
        return ["set-up", "ramp", "running"][furthest.max().unwrap_or(0)];
    }
    if states.iter().any(|&state| has_failed(state)) {
        "failed"
    } else if states.is_empty() || states.contains(&RunState::NotStarted) {
        "waiting"
    } else {
        "done"
    }
}

fn add(own: &mut PerDirection<u64>, theirs: &PerDirection<u64>) {
    own.values_mut().zip(theirs.values()).for_each(|(own, theirs)| *own = own.saturating_add(*theirs));
}

/// Adds latencies. Without histograms, the combined percentiles cannot be computed, so the larger ones are
/// kept, which are not too low.
fn add_latencies(
    (histogram, latency): (&mut Histogram, &mut Option<LivePercentiles>),
    (theirs, their_latency): (&Histogram, Option<LivePercentiles>),
) {
    histogram.merge(theirs);
    let worse = |one: LivePercentiles, other: LivePercentiles| LivePercentiles {
        p50_ns: one.p50_ns.max(other.p50_ns),
        p99_ns: one.p99_ns.max(other.p99_ns),
        p99_9_ns: one.p99_9_ns.max(other.p99_9_ns),
    };
    *latency = LivePercentiles::of(histogram).or(match (*latency, their_latency) {
        (Some(one), Some(other)) => Some(worse(one, other)),
        (one, other) => one.or(other),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    fn job(name: &str, latencies: &[u64]) -> LiveJob {
        let histogram = recorded(latencies);
        LiveJob {
            name: name.into(),
            states: vec![RunState::Ramping],
            iops: PerDirection::new([latencies.len() as u64, 0, 1]),
            latency: LivePercentiles::of(&histogram),
            histogram,
            in_flight: 2,
            asked_depth: 4,
            errors: 1,
            ..LiveJob::default()
        }
    }

    fn details(jobs: Vec<LiveJob>) -> LiveDetails {
        let mut histogram = Histogram::default();
        jobs.iter().for_each(|job| histogram.merge(&job.histogram));
        let disks = vec![LiveDisk { name: "sda".into(), ..LiveDisk::default() }];
        LiveDetails {
            latency: LivePercentiles::of(&histogram),
            histogram,
            jobs,
            disks,
            ..LiveDetails::default()
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_all_hosts(of_hosts in prop::collection::vec(prop::collection::vec(0u64..1 << 40, 0..30), 1..6)) {
            let mut all = LiveDetails::default();
            for latencies in &of_hosts {
                all.merge(&details(vec![job("a", latencies)]));
            }
            let expected = LivePercentiles::of(&recorded(&of_hosts.concat()));
            prop_assert_eq!((all.latency, all.jobs[0].latency), (expected, expected));
            prop_assert_eq!(all.jobs[0].iops[Direction::Read] as usize, of_hosts.concat().len());
            prop_assert_eq!((all.depth(), all.jobs[0].errors), ((2 * of_hosts.len() as u64, 4 * of_hosts.len() as u64), of_hosts.len() as u64));
        }
    }

    #[test]
    fn jobs_and_devices_keep_their_names() {
        let mut all = details(vec![job("a", &[5]), job("b", &[]), job("b", &[7, 7])]).of_host("one");
        let mut other = details(vec![job("b", &[9]), job("b", &[8]), job("c", &[])]).of_host("two");
        other.elapsed_ns = 5;
        all.merge(&other);
        let jobs: Vec<(&str, u64, usize)> =
            all.jobs.iter().map(|job| (&*job.name, job.iops[Direction::Read], job.states.len())).collect();
        assert_eq!(jobs, [("a", 1, 1), ("b", 1, 2), ("b", 3, 2), ("c", 0, 1)]);
        let disks: Vec<&str> = all.disks.iter().map(|disk| &*disk.name).collect();
        assert_eq!((disks, all.elapsed_ns), (vec!["one:sda", "two:sda"], 5));
        // Without histograms, the larger percentiles are kept.
        let bare = |p50_ns| LiveDetails {
            latency: Some(LivePercentiles { p50_ns, p99_ns: 9, p99_9_ns: 30 - p50_ns }),
            ..LiveDetails::default()
        };
        let mut both = bare(5);
        both.merge(&bare(7));
        assert_eq!(both.latency, Some(LivePercentiles { p50_ns: 7, p99_ns: 9, p99_9_ns: 25 }));
    }

    #[test]
    fn the_slowest_host_says_how_much_is_to_go() {
        let tick = |running, percent_done, eta_seconds| LiveTick {
            running,
            percent_done,
            eta_seconds,
            estimate_known: eta_seconds.is_some(),
            states: vec![RunState::Ramping; running as usize],
            bytes_per_second: PerDirection::new([1, 2, 3]),
            kb_base: 1000,
            ..LiveTick::default()
        };
        let merged = |ticks: &[LiveTick]| {
            let mut all = LiveTick::default();
            ticks.iter().for_each(|tick| all.merge(tick));
            all
        };
        let all = merged(&[tick(2, Some(50.0), Some(10)), tick(1, Some(40.0), Some(9))]);
        assert_eq!((all.percent_done, all.eta_seconds, all.estimate_known), (Some(40.0), Some(10), true));
        assert_eq!((all.running, all.states.len(), all.bytes_per_second[Direction::Trim]), (3, 3, 6));
        assert_eq!(all.kb_base, 1000);
        let with_unknown = merged(&[tick(2, Some(50.0), Some(10)), tick(1, None, None)]);
        assert_eq!((with_unknown.percent_done, with_unknown.estimate_known), (None, false));
        // A host without workers is ignored.
        let with_idle = merged(&[tick(0, None, None), tick(2, Some(50.0), Some(10)), tick(0, None, None)]);
        assert_eq!(
            (with_idle.percent_done, with_idle.eta_seconds, with_idle.estimate_known),
            (Some(50.0), Some(10), true)
        );
    }

    #[test]
    fn a_host_has_a_row() {
        let tick = LiveTick {
            states: vec![RunState::Reaped, RunState::Verifying],
            iops: PerDirection::new([7, 0, 0]),
            ..LiveTick::default()
        };
        let row = LiveHost::of("h", &tick, &details(vec![job("a", &[5]), job("b", &[5])]), 250);
        assert_eq!(
            (&*row.name, &*row.state, row.iops[Direction::Read], row.silent_ms),
            ("h", "running", 7, 250)
        );
        assert_eq!((row.in_flight, row.errors, row.latency.map(|latency| latency.p50_ns)), (4, 2, Some(5)));
        for (states, expected) in [
            (vec![], "waiting"),
            (vec![RunState::NotStarted, RunState::Reaped], "waiting"),
            (vec![RunState::Initialising, RunState::NotStarted], "set-up"),
            (vec![RunState::Initialising, RunState::Ramping], "ramp"),
            (vec![RunState::FinalSync, RunState::Failed], "running"),
            (vec![RunState::Reaped, RunState::Killed], "failed"),
            (vec![RunState::Reaped, RunState::Exited], "done"),
        ] {
            assert_eq!(word(&states), expected, "{states:?}");
        }
    }
}
