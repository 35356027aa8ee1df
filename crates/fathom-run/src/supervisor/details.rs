//! What a full-screen view shows beside the status line: figures of every job and device since the previous tick, as exact
//! differences of the workers' samples. Nobody pays for it who has not asked.

use super::{Observer, Standing, Supervisor, does_io};
use crate::region::WorkerBlock;
use fathom_stats::Histogram;
use fathom_stats::live::{LiveDetails, LiveJob, LivePercentiles};
use fathom_stats::report::DIRECTIONS;
use std::sync::atomic::Ordering::Relaxed;

/// The figures of every clone at the previous tick.
pub(super) struct DetailWatch {
    since_ns: u64,
    before: Vec<Figures>,
}

/// What a clone had counted at one moment.
#[derive(Default)]
struct Figures {
    /// How often it began its figures anew.
    epoch: u64,
    bytes: [u64; DIRECTIONS],
    ios: [u64; DIRECTIONS],
    latencies: [Histogram; DIRECTIONS],
    latency_counts: [u64; DIRECTIONS],
}

/// What a clone did between two moments.
#[derive(Default)]
struct Difference {
    bytes: [u64; DIRECTIONS],
    ios: [u64; DIRECTIONS],
    /// Completion latencies, all directions together.
    latency: Histogram,
}

impl DetailWatch {
    pub(super) fn begin(clones: usize, now_ns: u64) -> DetailWatch {
        DetailWatch { since_ns: now_ns, before: (0..clones).map(|_| Figures::default()).collect() }
    }
}

impl Figures {
    /// Moves on to what the clone has counted by now, and tells what is new.
    fn advance(&mut self, block: &WorkerBlock) -> Difference {
        let epoch = block.samples.epoch.load(Relaxed);
        if epoch != self.epoch {
            *self = Figures { epoch, ..Figures::default() };
        }
        let mut new = Difference::default();
        for (direction, samples) in block.samples.directions.iter().enumerate() {
            let step = |before: &mut u64, now: u64| now.saturating_sub(std::mem::replace(before, now));
            new.bytes[direction] = step(&mut self.bytes[direction], samples.bytes.load(Relaxed));
            new.ios[direction] = step(&mut self.ios[direction], samples.completed.load(Relaxed));
            // Most directions of most jobs have nothing new, and a histogram is long.
            if step(&mut self.latency_counts[direction], samples.clat.count()) > 0 {
                let now = samples.clat.snapshot().histogram;
                new.latency.merge(&now.since(&self.latencies[direction]));
                self.latencies[direction] = now;
            }
        }
        new
    }
}

impl<O: Observer> Supervisor<'_, O> {
    /// Everything since the previous call; `None` unless the observer has a live view.
    pub(super) fn live_details(&mut self, now_ns: u64) -> Option<LiveDetails> {
        let mut watch = self.details.take()?;
        let interval_ns = now_ns.saturating_sub(watch.since_ns).max(1);
        let mut details = LiveDetails {
            elapsed_ns: now_ns.saturating_sub(self.started_ns),
            interval_ns,
            disks: self.disks.look(),
            ..LiveDetails::default()
        };
        let mut everything = Histogram::default();
        let clones: Vec<usize> = (0..self.tracked.len()).collect();
        for members in clones.chunk_by(|&a, &b| self.plan.workers[a].job == self.plan.workers[b].job) {
            let mut sum = Difference::default();
            for &index in members {
                let new = watch.before[index].advance(self.region.worker(index));
                for direction in 0..DIRECTIONS {
                    sum.bytes[direction] += new.bytes[direction];
                    sum.ios[direction] += new.ios[direction];
                }
                sum.latency.merge(&new.latency);
            }
            details.jobs.push(self.live_job(members, &sum, interval_ns));
            everything.merge(&sum.latency);
        }
        details.latency = LivePercentiles::of(&everything);
        watch.since_ns = now_ns;
        self.details = Some(watch);
        Some(details)
    }

    /// One entry for clones of the same job.
    fn live_job(&self, members: &[usize], sum: &Difference, interval_ns: u64) -> LiveJob {
        let per_second =
            |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(interval_ns.max(1))) as u64;
        let mut entry = LiveJob {
            states: members.iter().map(|&index| self.state_of(index)).collect(),
            bytes_per_second: sum.bytes.map(per_second),
            iops: sum.ios.map(per_second),
            latency: LivePercentiles::of(&sum.latency),
            ..LiveJob::default()
        };
        for &index in members {
            let job = self.plan.job_of(&self.plan.workers[index]);
            let block = self.region.worker(index);
            entry.name.clone_from(&job.name);
            let tolerated = block.samples.tolerated_errors.load(Relaxed);
            entry.errors += tolerated + u64::from(block.error().is_some());
            let is_started = matches!(self.tracked[index].standing, Standing::Started { .. });
            if is_started && does_io(block.stage()) {
                entry.asked_depth += u64::from(job.asked_iodepth);
                let units = self.region.units(index).iter();
                entry.in_flight += units.filter(|unit| unit.is_in_flight()).count() as u64;
            }
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::region::Region;
    use fathom_spec::engines::plain::NULL;
    use fathom_spec::{Outcome, SystemSource, parse};

    fn region() -> Region {
        let words: Vec<String> = ["--ioengine=null", "--size=1m", "--name=a"].map(str::to_owned).to_vec();
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        let plan = Plan::new(&spec, |_| Some(NULL)).expect("a plan");
        Region::for_plan(&plan).expect("memory")
    }

    #[test]
    fn differences_are_exact_and_begin_anew_with_the_figures() {
        let region = region();
        let block = region.worker(0);
        block.samples.reset();
        let count = |latencies: &[u64]| {
            let reads = &block.samples.directions[0];
            for &ns in latencies {
                reads.clat.record(ns, true);
                reads.completed.store(reads.completed.load(Relaxed) + 1, Relaxed);
                reads.bytes.store(reads.bytes.load(Relaxed) + 4096, Relaxed);
            }
        };
        let mut figures = Figures::default();
        let mut advance = || {
            let new = figures.advance(block);
            let values: Vec<(u64, u64)> = new.latency.values().collect();
            (new.ios[0], new.bytes[0], values)
        };
        count(&[100, 100, 50]);
        assert_eq!(advance(), (3, 3 * 4096, vec![(50, 1), (100, 2)]));
        count(&[100]);
        assert_eq!(advance(), (1, 4096, vec![(100, 1)]));
        assert_eq!(advance(), (0, 0, vec![]));
        // The ramp is over: more than before, and all of it new.
        block.samples.reset();
        count(&[7, 7, 7, 7, 7]);
        assert_eq!(advance(), (5, 5 * 4096, vec![(7, 5)]));
    }
}
