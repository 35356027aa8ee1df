//! The workload of a job in one run: all clones with the same name, which ran concurrently, merged into one.

use fathom_results::{DirectionResult, JobResult, RunResult};
use fathom_stats::latency::at_most;
use fathom_stats::{Direction, Histogram};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A job of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workload {
    /// Name of the job. Jobs with the same name in different groups have the group number appended.
    pub(crate) name: String,
    /// errno of the clone that failed first.
    pub(crate) error: Option<i64>,
    /// Options with which the job ran.
    pub(crate) options: Vec<(String, String)>,
    /// I/O of each direction, without unused directions.
    pub(crate) directions: Vec<(&'static str, Traffic)>,
    /// Processor time of all clones in ns.
    pub(crate) processor_ns: f64,
}

/// I/O of one direction, or of several directions together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes moved.
    pub(crate) io_bytes: u64,
    /// Number of I/Os.
    pub(crate) total_ios: u64,
    /// Longest run time of a clone in ms.
    pub(crate) runtime_ms: u64,
    /// Combined rate of all clones, in bytes per second.
    pub(crate) bytes_per_second: f64,
    /// Combined rate of all clones, in I/Os per second.
    pub(crate) iops: f64,
    /// I/Os with a latency.
    pub(crate) latency_count: u64,
    /// Their mean.
    pub(crate) mean_ns: f64,
    /// Their maximum.
    pub(crate) max_ns: f64,
    /// Latency distribution of all clones, if each of them has printed its own.
    pub(crate) histogram: Option<Histogram>,
    /// Percentiles as printed; empty for several clones, because percentiles cannot be combined.
    pub(crate) percentiles: Vec<(f64, f64)>,
    /// Bandwidth samples: mean and standard deviation in KiB/s, and number of samples; only for a single clone.
    pub(crate) samples: Option<(f64, f64, u64)>,
    /// Rates and latencies over time, if the result has them.
    pub(crate) timeline: Vec<TrafficMoment>,
}

/// A point of a timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrafficMoment {
    /// Length.
    pub(crate) seconds: f64,
    /// Bytes moved.
    pub(crate) io_bytes: f64,
    /// I/Os.
    pub(crate) total_ios: f64,
    /// Number of I/Os by latency in ns, in coarse bins.
    pub(crate) bins: BTreeMap<u64, u64>,
}

/// The jobs of a run, in order.
pub(crate) fn workloads(run: &RunResult) -> Vec<Workload> {
    let mut found: Vec<(u64, Workload)> = Vec::new();
    for job in &run.jobs {
        let own = of_job(run, job);
        match found.iter_mut().find(|(group, other)| *group == job.group_id && other.name == own.name) {
            Some((_, other)) => other.merge(own),
            None => found.push((job.group_id, own)),
        }
    }
    for (group, workload) in &mut found {
        workload.add_timeline(run, *group);
    }
    let names: Vec<String> = found.iter().map(|(_, workload)| workload.name.clone()).collect();
    let is_repeated = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let named = found.into_iter().map(|(group, mut workload)| {
        if is_repeated(&workload.name) {
            workload.name = format!("{} (group {group})", workload.name);
        }
        workload
    });
    named.collect()
}

fn of_job(run: &RunResult, job: &JobResult) -> Workload {
    let options = run.options(job).into_iter().filter(|(name, _)| name != "name").collect();
    Workload {
        name: job.name.clone(),
        error: Some(job.error).filter(|error| *error != 0),
        options,
        directions: job
            .active()
            .into_iter()
            .map(|(name, direction)| (name, Traffic::of(direction)))
            .collect(),
        processor_ns: (job.usr_cpu + job.sys_cpu) / 100.0 * job.runtime_ms as f64 * 1e6,
    }
}

impl Workload {
    /// The I/O of one direction, or of all directions together.
    pub(crate) fn traffic(&self, direction: Option<&str>) -> Option<Cow<'_, Traffic>> {
        if let Some(wanted) = direction {
            let found = self.directions.iter().find(|(name, _)| *name == wanted);
            return found.map(|(_, traffic)| Cow::Borrowed(traffic));
        }
        let mut all = self.directions.iter().map(|(_, traffic)| traffic);
        let first = all.next()?;
        Some(all.fold(Cow::Borrowed(first), |sum, other| {
            let mut sum = sum.into_owned();
            sum.merge(other);
            Cow::Owned(sum)
        }))
    }

    /// Processor time per I/O in ns.
    pub(crate) fn processor_ns_per_io(&self) -> Option<f64> {
        let ios: u64 = self.directions.iter().map(|(_, traffic)| traffic.total_ios).sum();
        (ios > 0 && self.processor_ns > 0.0).then(|| self.processor_ns / ios as f64)
    }

    /// Adds a clone.
    fn merge(&mut self, other: Workload) {
        self.error = self.error.or(other.error);
        self.processor_ns += other.processor_ns;
        for (name, traffic) in other.directions {
            match self.directions.iter_mut().find(|(own, _)| *own == name) {
                Some((_, own)) => own.merge(&traffic),
                None => self.directions.push((name, traffic)),
            }
        }
    }

    fn add_timeline(&mut self, run: &RunResult, group: u64) {
        let Some(timeline) = &run.timeline else { return };
        let clones: Vec<_> = timeline
            .jobs
            .iter()
            .filter(|entry| entry.jobname == self.name && entry.groupid == group)
            .collect();
        for (name, traffic) in &mut self.directions {
            let Some(direction) = Direction::from_word(name) else { continue };
            for entry in &clones {
                for (number, point) in entry.points.iter().enumerate() {
                    if traffic.timeline.len() == number {
                        let seconds = point.end_ms.saturating_sub(entry.start_ms(number)) as f64 / 1e3;
                        traffic.timeline.push(TrafficMoment { seconds, ..TrafficMoment::default() });
                    }
                    let figures = point.directions()[direction.index()];
                    traffic.timeline[number].add(figures.io_bytes, figures.total_ios, &figures.clat_bins);
                }
            }
        }
    }
}

impl TrafficMoment {
    fn add(&mut self, io_bytes: u64, total_ios: u64, bins: &BTreeMap<u64, u64>) {
        self.io_bytes += io_bytes as f64;
        self.total_ios += total_ios as f64;
        for (&ns, &count) in bins {
            *self.bins.entry(ns).or_default() += count;
        }
    }
}

impl Traffic {
    fn of(direction: &DirectionResult) -> Traffic {
        let latency = direction.latency();
        Traffic {
            io_bytes: direction.io_bytes,
            total_ios: direction.total_ios,
            runtime_ms: direction.runtime_ms,
            bytes_per_second: direction.bytes_per_second,
            iops: direction.iops,
            // Only newer versions of fio print N, the number of latencies.
            latency_count: match latency.count {
                0 if latency.mean_ns > 0.0 => direction.total_ios,
                count => count,
            },
            mean_ns: latency.mean_ns,
            max_ns: latency.max_ns,
            histogram: latency.histogram(),
            percentiles: latency.printed().collect(),
            samples: Some((direction.bw_mean, direction.bw_dev, direction.bw_samples)),
            timeline: Vec::new(),
        }
    }

    /// Adds concurrent I/O.
    fn merge(&mut self, other: &Traffic) {
        let count = self.latency_count + other.latency_count;
        if count > 0 {
            let (own, theirs) = (self.latency_count as f64, other.latency_count as f64);
            self.mean_ns = (self.mean_ns * own + other.mean_ns * theirs) / count as f64;
        }
        self.latency_count = count;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.io_bytes += other.io_bytes;
        self.total_ios += other.total_ios;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.bytes_per_second += other.bytes_per_second;
        self.iops += other.iops;
        self.histogram = match (self.histogram.take(), &other.histogram) {
            (Some(mut own), Some(theirs)) => {
                own.merge(theirs);
                Some(own)
            }
            _ => None,
        };
        self.percentiles.clear();
        self.samples = None;
        if self.timeline.len() == other.timeline.len() {
            for (own, theirs) in self.timeline.iter_mut().zip(&other.timeline) {
                own.io_bytes += theirs.io_bytes;
                own.total_ios += theirs.total_ios;
                for (&ns, &count) in &theirs.bins {
                    *own.bins.entry(ns).or_default() += count;
                }
            }
        } else {
            self.timeline.clear();
        }
    }

    /// A percentile in ns, from the histogram or as printed, but not above the maximum.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        if let Some(histogram) = &self.histogram {
            let found = histogram.percentiles(&[percent]);
            return found.first().map(|&ns| at_most(ns, self.max_ns as u64) as f64);
        }
        let printed = self.percentiles.iter().find(|(key, _)| (key - percent).abs() < 1e-6);
        printed.map(|&(_, ns)| ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(jobs: &str) -> RunResult {
        fathom_results::parse(&format!("{{\"fio version\":\"fio-3.42\",\"jobs\":[{jobs}]}}"), "r")
            .expect("reads")
    }

    fn job(name: &str, group: u32, ns: u32, bytes: u32) -> String {
        format!(
            r#"{{"jobname":"{name}","groupid":{group},"usr_cpu":10,"sys_cpu":30,"job_runtime":1000,"read":{{"io_bytes":{bytes},
            "bw_bytes":{bytes},"iops":4,"runtime":1000,"total_ios":4,
            "clat_ns":{{"mean":{ns},"max":{ns},"N":4,"percentile":{{"50.0":{ns}}},"bins":{{"{ns}":4}}}}}}}}"#
        )
    }

    #[test]
    fn clones_are_one_and_groups_are_not() {
        let jobs =
            [job("a", 0, 100, 1000), job("a", 0, 300, 500), job("b", 0, 7, 7), job("a", 1, 9, 9)].join(",");
        let found = workloads(&run(&jobs));
        let names: Vec<&str> = found.iter().map(|workload| workload.name.as_str()).collect();
        assert_eq!(names, ["a (group 0)", "b", "a (group 1)"]);
        let read = found[0].traffic(Some("read")).expect("it read");
        assert_eq!(
            (read.bytes_per_second, read.iops, read.mean_ns, read.max_ns),
            (1500.0, 8.0, 200.0, 300.0)
        );
        assert_eq!((read.percentile(50.0), read.percentile(99.0)), (Some(100.0), Some(300.0)));
        // The processor time is 40 % of a second, twice, spread over eight I/Os.
        assert_eq!(found[0].processor_ns_per_io(), Some(1e8));
    }

    #[test]
    fn without_bins_only_single_clones_have_percentiles() {
        let without = |text: String| text.replace("\"bins\"", "\"other\"");
        let one = workloads(&run(&without(job("a", 0, 100, 1))));
        assert_eq!(one[0].traffic(None).expect("it read").percentile(50.0), Some(100.0));
        let two = workloads(&run(&without([job("a", 0, 100, 1), job("a", 0, 300, 1)].join(","))));
        assert_eq!(two[0].traffic(None).expect("it read").percentile(50.0), None);
    }
}
