//! Figures that follow from a result and tell what to think of it: the depth that was reached, where the time of an I/O
//! went, what the cache answered, how the rate went. Commands draw their sentences from these.

pub(crate) mod trend;

use fathom_results::model::{CourseEntry, DiskResult, JobResult};
use fathom_results::{DirectionResult, RunResult};
use trend::Trend;

/// The engine of a job that names none.
const DEFAULT_ENGINE: &str = "psync";

/// What is known of one job of a result.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) run: &'a RunResult,
    pub(crate) job: &'a JobResult,
    /// Place of the job in the result.
    index: usize,
}

/// How much of what the jobs moved in one direction the devices moved, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceShare {
    /// Bytes that all jobs moved.
    pub(crate) job_bytes: u64,
    /// Bytes that the devices moved.
    pub(crate) device_bytes: u64,
}

impl DeviceShare {
    /// The device's share; 1 when it moved as much.
    pub(crate) fn ratio(&self) -> f64 {
        self.device_bytes as f64 / self.job_bytes.max(1) as f64
    }
}

impl<'a> Evidence<'a> {
    /// Of the job at this place.
    pub(crate) fn of(run: &'a RunResult, index: usize) -> Evidence<'a> {
        Evidence { run, job: &run.jobs[index], index }
    }

    /// Of every job.
    pub(crate) fn all(run: &'a RunResult) -> Vec<Evidence<'a>> {
        (0..run.jobs.len()).map(|index| Evidence::of(run, index)).collect()
    }

    /// An option as a number; `None` when it is not set or no plain number.
    pub(crate) fn number(&self, option: &str) -> Option<f64> {
        self.run.option(self.job, option)?.trim().parse().ok()
    }

    pub(crate) fn engine(&self) -> &'a str {
        self.run.option(self.job, "ioengine").unwrap_or(DEFAULT_ENGINE)
    }

    /// The engine waits for each I/O.
    pub(crate) fn is_synchronous(&self) -> bool {
        fathom_spec::engines::find(self.engine()).is_some_and(|engine| engine.synchronous)
    }

    /// The page cache is passed by.
    pub(crate) fn is_direct(&self) -> bool {
        match self.run.option(self.job, "buffered") {
            Some(value) if self.run.option(self.job, "direct").is_none() => value.trim() == "0",
            _ => self.run.is_set(self.job, "direct"),
        }
    }

    /// Clones that the figures of this entry are made of. fio does not always tell group_reporting, so it is the entries of
    /// the job that are counted; where other jobs were merged in too, the sum of the run times tells how many there were.
    pub(crate) fn clones(&self) -> f64 {
        let is_same = |job: &&JobResult| job.name == self.job.name && job.group_id == self.job.group_id;
        let entries = self.run.jobs.iter().filter(is_same).count().max(1) as f64;
        let by_number = self.number("numjobs").unwrap_or(1.0) / entries;
        if by_number > 1.0 {
            return by_number;
        }
        let longest = self.job.active().iter().map(|(_, direction)| direction.runtime_ms).max();
        match longest.filter(|&longest| longest > 0) {
            Some(longest) => (self.job.runtime_ms as f64 / longest as f64).round().max(1.0),
            None => 1.0,
        }
    }

    /// I/Os in flight that were asked for, all clones together.
    pub(crate) fn depth_asked(&self) -> f64 {
        let per_clone = match self.is_synchronous() {
            true => 1.0,
            false => self.number("iodepth").unwrap_or(1.0).max(1.0),
        };
        per_clone * self.clones()
    }

    /// I/Os in flight on average: rate times latency (Little's law); `None` without latencies.
    pub(crate) fn depth_reached(&self) -> Option<f64> {
        let parts: Vec<f64> = self
            .job
            .active()
            .iter()
            .filter(|(_, direction)| whole_latency_ns(direction) > 0.0)
            .map(|(_, direction)| direction.iops * whole_latency_ns(direction) / 1e9)
            .collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    }

    /// Share of a processor that each clone used, percent: user and system.
    pub(crate) fn processor(&self) -> (f64, f64) {
        (self.job.usr_cpu, self.job.sys_cpu)
    }

    /// The busiest device of the run; `None` where its counters tell of other jobs as well, which ran at other times.
    pub(crate) fn busiest_device(&self) -> Option<&'a DiskResult> {
        if self.shares_counters() {
            return None;
        }
        self.run.disk_util.iter().max_by(|a, b| a.util.total_cmp(&b.util))
    }

    /// The kernel's counters of devices are those of several groups of jobs.
    pub(crate) fn shares_counters(&self) -> bool {
        self.run.jobs.iter().any(|job| job.group_id != self.job.group_id)
    }

    /// What the devices moved of what all jobs of the run moved, reads (0) or writes (1); `None` when the result does not
    /// tell the devices' bytes.
    pub(crate) fn device_share(&self, direction: usize) -> Option<DeviceShare> {
        device_share(self.run, direction)
    }

    /// Mean ns that an I/O of a direction took in the device's queue and in the device, as the kernel counted; `None` when
    /// too few were counted to divide milliseconds by them.
    pub(crate) fn device_ns(&self, direction: usize) -> Option<f64> {
        let device = self.busiest_device()?;
        let (ios, ticks) =
            [(device.read_ios, device.read_ticks), (device.write_ios, device.write_ticks)][direction];
        (ios >= 100 && ticks >= 10).then(|| ticks as f64 * 1e6 / ios as f64)
    }

    /// The course of this job.
    pub(crate) fn course(&self) -> Option<&'a CourseEntry> {
        let course = self.run.course.as_ref()?;
        let entry = match course.jobs.len() == self.run.jobs.len() {
            true => course.jobs.get(self.index),
            false => None,
        };
        entry.filter(|entry| entry.jobname == self.job.name)
    }

    /// How the rate of a direction went.
    pub(crate) fn trend(&self, direction: usize) -> Option<Trend> {
        Trend::of(self.course()?, direction)
    }
}

/// What the devices moved of what all jobs of a run moved, reads (0) or writes (1); `None` when the result does not tell: no
/// devices, none that counts bytes, or jobs that report all directions as one.
pub(crate) fn device_share(run: &RunResult, direction: usize) -> Option<DeviceShare> {
    let bytes = |job: &JobResult| [&job.read, &job.write][direction].io_bytes;
    let sectors = |disk: &DiskResult| [disk.read_sectors, disk.write_sectors][direction];
    // Some programs count no sectors, which shows where there are I/Os without any.
    let tells =
        |disk: &DiskResult| disk.read_sectors + disk.write_sectors > 0 || disk.read_ios + disk.write_ios == 0;
    let job_bytes = run.jobs.iter().map(bytes).sum();
    let device_bytes = run.disk_util.iter().map(sectors).sum::<u64>().saturating_mul(512);
    (job_bytes > 0 && run.disk_util.iter().any(tells)).then_some(DeviceShare { job_bytes, device_bytes })
}

/// Mean ns from the start of an I/O to its end.
pub(crate) fn whole_latency_ns(direction: &DirectionResult) -> f64 {
    match direction.lat.mean_ns > 0.0 {
        true => direction.lat.mean_ns,
        false => direction.clat.mean_ns + direction.slat.mean_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_follows_from_rate_and_latency() {
        let text = r#"{"fio version":"fio-3.42","global options":{"iodepth":"32","ioengine":"io_uring"},"jobs":[
            {"jobname":"a","job options":{"numjobs":"2","group_reporting":""},
             "read":{"total_ios":1,"io_bytes":4096,"iops":10000,"lat_ns":{"mean":1000000}},
             "write":{"total_ios":1,"io_bytes":8192,"iops":5000,"lat_ns":{"mean":2000000}}}],
            "disk_util":[{"name":"sda","read_ios":100,"read_sectors":4,"write_sectors":16,"read_ticks":50,"util":50}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let evidence = Evidence::of(&run, 0);
        assert_eq!((evidence.depth_asked(), evidence.clones()), (64.0, 2.0));
        assert_eq!(evidence.depth_reached(), Some(20.0));
        assert_eq!(evidence.device_share(0).map(|share| share.ratio()), Some(0.5));
        assert_eq!(evidence.device_share(1).map(|share| share.ratio()), Some(1.0));
        assert_eq!(evidence.device_ns(0), Some(500_000.0));
        assert_eq!(evidence.device_ns(1), None);
    }
}
