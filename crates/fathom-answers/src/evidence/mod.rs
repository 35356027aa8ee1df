//! Figures derived from a result to help interpret it: the queue depth reached, where I/Os spent their time,
//! what the cache served, how the rate changed. Commands build their sentences from these.

pub(crate) mod arrivals;
pub(crate) mod asked;
pub(crate) mod groups;
pub(crate) mod layers;
pub(crate) mod mounts;
pub(crate) mod others;
pub(crate) mod outages;
pub(crate) mod own_limits;
pub(crate) mod processors;
pub(crate) mod server;
pub(crate) mod trend;

use asked::{Asked, AskedWorkload};
use fathom_results::model::{DiskResult, JobChoices, JobResult, StageResult, TimelineJobResult};
use fathom_results::{DirectionResult, RunResult};
use fathom_spec::engines::EngineDef;
use fathom_stats::Direction;
use std::collections::BTreeMap;
use trend::Trend;

/// Minimum number of milliseconds to divide by a number of I/Os; a smaller one is too coarse, because the
/// kernel counts whole milliseconds.
const LEAST_TICKS: u64 = 10;

/// A job of a result, with the conclusions from its options.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) run: &'a RunResult,
    pub(crate) job: &'a JobResult,
    /// The workload that the job's options request.
    pub(crate) asked: Asked<'a>,
    /// Index of the job in the result.
    index: usize,
}

/// The share of the jobs' I/O in one direction that the devices moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceShare {
    /// Bytes that all jobs moved.
    pub(crate) job_bytes: u64,
    /// Bytes that the devices moved.
    pub(crate) device_bytes: u64,
}

impl DeviceShare {
    /// The devices' share; 1 if they moved at least as many bytes as the jobs.
    pub(crate) fn ratio(&self) -> f64 {
        self.device_bytes as f64 / self.job_bytes.max(1) as f64
    }
}

impl<'a> Evidence<'a> {
    /// Evidence on the job at this index.
    pub(crate) fn of(run: &'a RunResult, index: usize) -> Evidence<'a> {
        let job = &run.jobs[index];
        Evidence { run, job, asked: Asked::of(run, job), index }
    }

    /// Evidence on every job.
    pub(crate) fn all(run: &'a RunResult) -> Vec<Evidence<'a>> {
        (0..run.jobs.len()).map(|index| Evidence::of(run, index)).collect()
    }

    /// The settings with which the job ran. Only results of fathom have them, unless several jobs with the same
    /// name were merged.
    pub(crate) fn choices(&self) -> Option<&'a JobChoices> {
        let mut named = self.run.choices.iter().filter(|choices| choices.name == self.job.name);
        named.next().filter(|_| named.next().is_none())
    }

    /// Number of I/Os in all directions.
    pub(crate) fn ios(&self) -> u64 {
        self.job.active().iter().map(|(_, direction)| direction.total_ios).sum()
    }

    /// Time from the start of the job's I/O to its end, ms. The times of directions overlap, except for a write
    /// job, which verifies afterwards.
    pub(crate) fn span_ms(&self) -> u64 {
        let only_writes = self.asked.workload == AskedWorkload::Write;
        let times = self.job.active().into_iter().map(|(_, direction)| direction.runtime_ms);
        match only_writes && self.asked.verification.is_some() {
            true => times.sum(),
            false => times.max().unwrap_or(0),
        }
    }

    /// True if the engine waits for each I/O.
    pub(crate) fn is_synchronous(&self) -> bool {
        self.asked.definition.is_some_and(|engine| engine.synchronous)
    }

    /// True if the job's data is in files and devices of the machine that ran it; unknown engines are assumed
    /// to work on such data.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.asked.definition.is_none_or(|engine| engine.has_storage() && !engine.is_remote())
    }

    /// True if the job does real I/O.
    pub(crate) fn has_storage(&self) -> bool {
        self.asked.definition.is_none_or(EngineDef::has_storage)
    }

    /// Another job of the same result.
    pub(crate) fn of_job(&self, job: &JobResult) -> Evidence<'a> {
        let index = self.run.jobs.iter().position(|own| std::ptr::eq(own, job)).unwrap_or(self.index);
        Evidence::of(self.run, index)
    }

    /// True if the page cache is bypassed, as it always is by engines that talk to a server.
    pub(crate) fn is_direct(&self) -> bool {
        match self.asked.definition {
            Some(engine) if engine.is_remote() => true,
            // Mapped files are always in the page cache.
            Some(engine) if engine.maps_files => false,
            _ => self.asked.is_direct,
        }
    }

    /// Number of clones that this entry sums up. fio does not always report `group_reporting`, so the job's
    /// entries are counted. If other jobs were merged in as well, the number is derived from the sum of the run
    /// times.
    pub(crate) fn clones(&self) -> f64 {
        let is_same = |job: &&JobResult| job.name == self.job.name && job.group_id == self.job.group_id;
        let entries = self.run.jobs.iter().filter(is_same).count().max(1) as f64;
        let by_number = self.asked.clones / entries;
        // In a run over several hosts, clones with the same number form one entry.
        if by_number > 1.0 && self.run.hosts.is_none() {
            return by_number;
        }
        match self.span_ms() {
            0 => 1.0,
            span => (self.job.runtime_ms as f64 / span as f64).round().max(1.0),
        }
    }

    /// The requested queue depth, summed over all clones.
    pub(crate) fn depth_asked(&self) -> f64 {
        let per_clone = match self.is_synchronous() {
            true => 1.0,
            false => self.asked.depth,
        };
        per_clone * self.clones()
    }

    /// Mean number of I/Os in flight over the run: rate times latency (Little's law); `None` without latencies.
    pub(crate) fn depth_reached(&self) -> Option<f64> {
        let span = self.span_ms().max(1) as f64;
        // A direction that was active for part of the time counts in proportion to that part.
        let share = |direction: &DirectionResult| match direction.runtime_ms {
            0 => 1.0,
            time => (time as f64 / span).min(1.0),
        };
        let parts: Vec<f64> = self
            .job
            .active()
            .iter()
            // cpuio reports its work as I/Os of 0 bytes that took no time, which are left out.
            .filter(|(_, direction)| {
                whole_latency_ns(direction) > 0.0 && direction.io_bytes + direction.runtime_ms > 0
            })
            .map(|(_, direction)| direction.iops * whole_latency_ns(direction) / 1e9 * share(direction))
            .collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    }

    /// Share of a processor that each clone used, in percent: user and system time.
    pub(crate) fn processor(&self) -> (f64, f64) {
        (self.job.usr_cpu, self.job.sys_cpu)
    }

    /// Converts the share of a processor that each clone used, in percent, to processor time per I/O in ns.
    pub(crate) fn ns_per_io(&self, share: f64) -> f64 {
        share / 100.0 * self.job.runtime_ms as f64 * 1e6 / self.ios().max(1) as f64
    }

    /// The busiest device of the run; `None` if the device counters also include jobs that ran at other times.
    pub(crate) fn busiest_device(&self) -> Option<&'a DiskResult> {
        if self.shares_counters() || self.is_on_server() {
            return None;
        }
        self.disks().max_by(|a, b| a.util.total_cmp(&b.util))
    }

    /// The kernel's device counters while the job ran: those of its stage, on its machine.
    pub(crate) fn disks(&self) -> impl Iterator<Item = &'a DiskResult> + use<'a> {
        let own = (&self.job.host, self.job.port);
        let list = self.stage().map_or(&self.run.disk_util, |stage| &stage.disk_util);
        list.iter().filter(move |disk| (&disk.host, disk.port) == own)
    }

    /// The job's stage, if its devices have separate counters.
    pub(crate) fn stage(&self) -> Option<&'a StageResult> {
        self.run.stages.iter().find(|stage| stage.groups.contains(&self.job.group_id))
    }

    /// True if the kernel's counters cover both jobs together.
    pub(crate) fn shares_stage_with(&self, other: &Evidence<'_>) -> bool {
        match (self.stage(), other.stage()) {
            (Some(own), Some(theirs)) => std::ptr::eq(own, theirs),
            (own, theirs) => own.is_none() && theirs.is_none(),
        }
    }

    /// True if some of these jobs count writes that they skip (`verify_only`).
    pub(crate) fn skips_writes(&self) -> bool {
        self.neighbours().any(|job| self.run.is_set(job, "verify_only"))
    }

    /// Jobs that these counters also cover, including this one.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = &'a JobResult> + use<'a> {
        let own = (&self.job.host, self.job.port);
        let stage = self.stage();
        let is_in_stage =
            move |job: &JobResult| stage.is_none_or(|stage| stage.groups.contains(&job.group_id));
        self.run.jobs.iter().filter(move |job| (&job.host, job.port) == own && is_in_stage(job))
    }

    /// True if the kernel's counters cover several groups of jobs that may have run one after the other.
    pub(crate) fn shares_counters(&self) -> bool {
        let is_other = |job: &JobResult| job.group_id != self.job.group_id;
        self.stage().is_none() && self.neighbours().any(is_other) && !self.groups_ran_together()
    }

    /// True if the run was hardly longer than the longest group but shorter than the sum of all groups, so that
    /// they ran together. fio does not report which groups waited for others.
    fn groups_ran_together(&self) -> bool {
        let mut longest_ms = BTreeMap::<u64, u64>::new();
        for job in &self.run.jobs {
            let longest = longest_ms.entry(job.group_id).or_default();
            let directions = Direction::ALL.into_iter().filter_map(|which| job.reported(which));
            *longest = directions.map(|direction| direction.runtime_ms).fold(*longest, u64::max);
        }
        let elapsed_ms = 1000 * self.run.jobs.iter().filter_map(|job| job.elapsed_seconds).max().unwrap_or(0);
        let (longest, sum) = (longest_ms.values().max().copied().unwrap_or(0), longest_ms.values().sum());
        // The elapsed time is in whole seconds, rounded up.
        elapsed_ms > 0 && elapsed_ms <= longest + 1500 && elapsed_ms < sum
    }

    /// Share of the bytes of all jobs on the machine that the devices moved, reads (0) or writes (1); `None`
    /// if the result lacks the devices' bytes.
    pub(crate) fn device_share(&self, direction: usize) -> Option<DeviceShare> {
        share(self.neighbours(), self.disks(), direction)
    }

    /// Like `device_share`, excluding jobs without local data.
    pub(crate) fn share_of_storage(&self, direction: usize) -> Option<DeviceShare> {
        let on_storage = self.neighbours().filter(|job| self.of_job(job).is_on_this_machine());
        share(on_storage, self.disks(), direction)
    }

    /// Mean time in ns that an I/O of a direction spent in the device and its queue, by the kernel's counters;
    /// `None` if too few milliseconds were counted to divide.
    pub(crate) fn device_ns(&self, direction: usize) -> Option<f64> {
        let (ios, ticks) = self.device_ticks(direction)?;
        (ticks >= LEAST_TICKS).then(|| ticks as f64 * 1e6 / ios as f64)
    }

    /// Upper bound of [`device_ns`](Self::device_ns), even if too few milliseconds were counted to compute it.
    pub(crate) fn device_ns_at_most(&self, direction: usize) -> Option<f64> {
        let (ios, ticks) = self.device_ticks(direction)?;
        Some(ticks.max(LEAST_TICKS) as f64 * 1e6 / ios as f64)
    }

    /// Number of I/Os of the busiest device, and the milliseconds that they took.
    fn device_ticks(&self, direction: usize) -> Option<(u64, u64)> {
        let device = self.busiest_device()?;
        let (ios, ticks) =
            [(device.read_ios, device.read_ticks), (device.write_ios, device.write_ticks)][direction];
        (ios >= 100).then_some((ios, ticks))
    }

    /// The timeline of this job.
    pub(crate) fn timeline(&self) -> Option<&'a TimelineJobResult> {
        let timeline = self.run.timeline.as_ref()?;
        let entry = match timeline.jobs.len() == self.run.jobs.len() {
            true => timeline.jobs.get(self.index),
            false => None,
        };
        entry.filter(|entry| entry.jobname == self.job.name)
    }

    /// How the rate of a direction changed.
    pub(crate) fn trend(&self, direction: usize) -> Option<Trend> {
        Trend::of(self.timeline()?, direction)
    }
}

/// Share of all jobs' bytes that the devices moved, reads (0) or writes (1); `None` if the share is unknown,
/// because no device is listed, none counts bytes, or a job reports all directions together.
pub(crate) fn device_share(run: &RunResult, direction: usize) -> Option<DeviceShare> {
    share(run.jobs.iter(), run.disk_util.iter(), direction)
}

fn share<'a>(
    jobs: impl Iterator<Item = &'a JobResult>,
    disks: impl Iterator<Item = &'a DiskResult>,
    direction: usize,
) -> Option<DeviceShare> {
    let bytes = |job: &JobResult| job.io_bytes(Direction::ALL[direction]);
    let sectors = |disk: &&DiskResult| [disk.read_sectors, disk.write_sectors][direction];
    // Some drivers do not count sectors, so their devices have I/Os without sectors.
    let tells = |disk: &&DiskResult| {
        disk.read_sectors + disk.write_sectors > 0 || disk.read_ios + disk.write_ios == 0
    };
    let disks: Vec<&DiskResult> = disks.collect();
    let job_bytes = jobs.map(bytes).sum();
    let device_bytes =
        disks.iter().map(|disk| own_sectors(disk, &disks, sectors)).sum::<u64>().saturating_mul(512);
    (job_bytes > 0 && disks.iter().any(tells)).then_some(DeviceShare { job_bytes, device_bytes })
}

/// Number of sectors that a device moved for its own files. I/O for a stacked device is left out, because that
/// device counts it itself.
fn own_sectors(disk: &DiskResult, all: &[&DiskResult], sectors: impl Fn(&&DiskResult) -> u64) -> u64 {
    if disk.is_member {
        return 0;
    }
    let holds = |upper: &DiskResult, lower: &DiskResult| upper.below.contains(&lower.name);
    let used = || all.iter().filter(|other| !other.is_member);
    let is_right_above = |upper: &&&DiskResult| {
        holds(upper, disk) && !used().any(|between| holds(upper, between) && holds(between, disk))
    };
    sectors(&disk).saturating_sub(used().filter(is_right_above).map(&sectors).sum())
}

/// Mean time from the start of an I/O to its end, in ns.
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

    #[test]
    fn stacked_devices_count_once() {
        let text = |host: &str| {
            format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":9,"io_bytes":51200}}}}],
            "disk_util":[{{"name":"dm-0","read_sectors":40}},{{"name":"loop1","read_sectors":60}},{{"name":"loop0","read_sectors":70}},
            {{"name":"sda","read_sectors":95}}],"fathom host":{{"devices":[{host}]}}}}"#
            )
        };
        let bytes = |host: &str| {
            let run = fathom_results::parse(&text(host), "text").expect("reads");
            Evidence::of(&run, 0).device_share(0).map(|share| share.device_bytes / 512)
        };
        let [dm, upper, lower] = [
            r#"{"name":"dm-0","below":["sda"]}"#,
            r#"{"name":"loop1","below":["loop0","sda"]}"#,
            r#"{"name":"loop0","below":["sda"]}"#,
        ];
        assert_eq!(bytes(dm), Some(40));
        assert_eq!(bytes(&[upper, lower].join(",")), Some(70));
        let sda = r#"{"name":"sda"}"#;
        assert_eq!(bytes(&[upper, lower, sda].join(",")), Some(95));
        assert_eq!(bytes(&[upper, sda].join(",")), Some(95));
        // The stacked device moved more than the disk, so a layer between them caches.
        assert_eq!(bytes(&[dm, lower, sda].join(",")), Some(110));
    }

    #[test]
    fn stages_have_their_own_counters() {
        let text = r#"{"fio version":"fio-3.42","jobs":[
            {"jobname":"a","groupid":0,"read":{"total_ios":1,"io_bytes":4096}},
            {"jobname":"b","groupid":1,"read":{"total_ios":1,"io_bytes":8192}}],
            "disk_util":[{"name":"sda","read_sectors":8,"util":50}],
            "fathom host":{"devices":[{"name":"sda"}]},
            "fathom stages":[{"groups":[0],"disk_util":[{"name":"sda","read_sectors":8,"util":90}]},
            {"groups":[1],"disk_util":[{"name":"sda","read_sectors":0,"util":1}]}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let figures = |index: usize| {
            let evidence = Evidence::of(&run, index);
            (
                evidence.device_share(0).map(|share| share.ratio()),
                evidence.busiest_device().map(|disk| disk.util),
            )
        };
        assert_eq!(figures(0), (Some(1.0), Some(90.0)));
        assert_eq!(figures(1), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn checking_afterwards_is_no_second_clone() {
        let text = |workload: &str| {
            format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job_runtime":300,
            "job options":{{"rw":"{workload}","verify":"md5"}},
             "read":{{"total_ios":1,"iops":1000,"runtime":100,"lat_ns":{{"mean":500000}}}},
             "write":{{"total_ios":1,"iops":1000,"runtime":200,"lat_ns":{{"mean":200000}}}}}}]}}"#
            )
        };
        let figures = |workload: &str| {
            let run = fathom_results::parse(&text(workload), "text").expect("reads");
            let evidence = Evidence::of(&run, 0);
            (evidence.clones(), evidence.depth_reached().map(|depth| (depth * 100.0).round()))
        };
        assert_eq!(figures("write"), (1.0, Some(30.0)));
        assert_eq!(figures("randrw:2"), (2.0, Some(45.0)));
    }
}
