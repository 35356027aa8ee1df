//! The document for programs, which all JSON formats write: fio's, key by key in its order, and what fathom adds.

mod host;
pub(crate) mod interval;
mod job;
pub(crate) mod layout;
mod replay;
mod steady;
mod timeline;

use crate::ctime::ctime;
use fathom_stats::limits::GroupLimits;
use fathom_stats::report::{
    DiskReport, IdlenessReport, JobChoices, RunReport, StageReport, VerificationReport,
};
use fathom_stats::slices::{LIMITS, SliceReport};
use layout::Object;

/// All that is known of a run; `with_bins` adds the histograms.
pub(crate) fn document(report: &RunReport, with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("fio version", report.version.as_str());
    object.add("timestamp", report.timestamp_ms / 1000);
    object.add("timestamp_ms", report.timestamp_ms);
    object.add("time", ctime(report.timestamp_ms).as_str());
    if !report.global_options.is_empty() {
        let options = report.global_options.iter().map(|(key, value)| (key, value.as_str()));
        object.add("global options", options.collect::<Object>());
    }
    let jobs = report.jobs.iter().map(|entry| job::object(entry, &report.groups, with_bins));
    object.add("jobs", jobs.collect::<Vec<Object>>());
    if !report.disks.is_empty() {
        object.add("disk_util", devices(&report.disks));
    }
    if let Some(report) = &report.idleness {
        object.add("cpu_idleness", idleness(report));
    }
    if let Some(report) = &report.slices {
        object.add("fathom slices", slices(report));
    }
    if !report.choices.is_empty() {
        object.add("fathom jobs", report.choices.iter().map(choices).collect::<Vec<Object>>());
    }
    if !report.verification.is_empty() {
        object.add("fathom verify", report.verification.iter().map(verification).collect::<Vec<Object>>());
    }
    if !report.replays.is_empty() {
        let replays = report.replays.iter().map(|entry| replay::object(entry, with_bins));
        object.add("fathom replay", replays.collect::<Vec<Object>>());
    }
    if let Some(report) = &report.host {
        object.add("fathom host", host::object(report));
    }
    if !report.stages.is_empty() {
        object.add("fathom stages", report.stages.iter().map(stage).collect::<Vec<Object>>());
    }
    if let Some(report) = &report.timeline {
        object.add("fathom timeline", timeline::object(report));
    }
    if !report.notes.is_empty() {
        object.add("fathom notes", report.notes.iter().map(String::as_str).collect::<Vec<&str>>());
    }
    object
}

/// What verification of a job came to.
fn verification(report: &VerificationReport) -> Object {
    let mut object = Object::default();
    object.add("jobname", report.job.as_str());
    object.add("checked_reads", report.checked_reads);
    object.add("checked_bytes", report.checked_bytes);
    object.add("wrong_blocks", report.wrong_blocks());
    object.add(
        "miscompares",
        report.miscompares.iter().map(|(class, count)| (class, *count)).collect::<Object>(),
    );
    object.add("listed_in", report.listed_in.iter().map(String::as_str).collect::<Vec<&str>>());
    object
}

/// Shares of slow reads in percent, slice by slice, and the verdict.
fn slices(report: &SliceReport) -> Object {
    let slices = report.slices.iter().map(|slice| {
        let mut object = Object::default();
        object.add("reads", slice.reads);
        for (share, (limit_ns, _)) in slice.percent_above().iter().zip(LIMITS) {
            object.add(format!("percent_above_{}ms", limit_ns / 1_000_000), *share);
        }
        object
    });
    let mut object = Object::default();
    object.add("passed", report.passed());
    object.add("interrupted", report.is_interrupted);
    object.add("slices", slices.collect::<Vec<Object>>());
    object
}

fn choices(job: &JobChoices) -> Object {
    let mut object = Object::default();
    object.add("jobname", job.name.as_str());
    if let Some(offsets) = &job.random_offsets {
        object.add("random_offsets", offsets.as_str());
    }
    object.add("engine_features", job.engine_features.iter().map(String::as_str).collect::<Vec<&str>>());
    if let Some(wait_ms) = job.processor_wait_ms {
        object.add("processor_wait_ms", wait_ms);
    }
    if let Some(time) = &job.processors {
        let mut processors = Object::default();
        processors.add("user_ms", time.user_ms);
        processors.add("busy_ms", time.busy_ms);
        processors.add("stolen_ms", time.stolen_ms);
        processors.add("total_ms", time.total_ms);
        object.add("processors", processors);
    }
    if !job.limits.is_empty() {
        object.add("limits", limits(&job.limits));
    }
    object
}

/// Limits of control groups, and what was counted of them while the job ran.
fn limits(limits: &GroupLimits) -> Object {
    let processors = limits.processors.iter().map(|limit| {
        let mut object = Object::default();
        object.add("group", limit.group.as_str());
        object.add("quota_us", limit.quota_us);
        object.add("period_us", limit.period_us);
        object.add("periods", limit.periods);
        object.add("throttled", limit.throttled);
        object.add("throttled_us", limit.throttled_us);
        object
    });
    let io = limits.io.iter().map(|limit| {
        let mut object = Object::default();
        object.add("group", limit.group.as_str());
        object.add("device", limit.device.as_str());
        const KEYS: [&str; 4] = ["read_bytes", "write_bytes", "read_ios", "write_ios"];
        for (key, limit) in KEYS.iter().zip(limit.limits) {
            if let Some(limit) = limit {
                object.add(format!("{key}_per_second"), limit);
            }
        }
        for (key, used) in KEYS.iter().zip(limit.used) {
            object.add(*key, used);
        }
        object
    });
    let mut object = Object::default();
    object.add("processors", processors.collect::<Vec<Object>>());
    object.add("io", io.collect::<Vec<Object>>());
    object
}

/// What the devices did while one stage ran.
fn stage(stage: &StageReport) -> Object {
    let mut object = Object::default();
    object.add("groups", stage.groups.clone());
    object.add("disk_util", devices(&stage.disks));
    object
}

/// One entry per device; the members of a stacked device follow it.
fn devices(disks: &[DiskReport]) -> Vec<Object> {
    disks
        .iter()
        .flat_map(|disk| {
            let mut entries = vec![device(disk)];
            entries.extend(devices(&disk.members));
            entries
        })
        .collect()
}

fn device(disk: &DiskReport) -> Object {
    let mut object = Object::default();
    object.add("name", disk.name.as_str());
    object.add("read_ios", disk.ios[0]);
    object.add("write_ios", disk.ios[1]);
    object.add("read_sectors", disk.sectors[0]);
    object.add("write_sectors", disk.sectors[1]);
    object.add("read_merges", disk.merges[0]);
    object.add("write_merges", disk.merges[1]);
    object.add("read_ticks", disk.ticks_ms[0]);
    object.add("write_ticks", disk.ticks_ms[1]);
    object.add("in_queue", disk.in_queue_ms);
    object.add("util", disk.util_percent);
    if let Some(mean) = disk.mean_of_members() {
        object.add("aggr_read_ios", mean.ios[0]);
        object.add("aggr_write_ios", mean.ios[1]);
        object.add("aggr_read_sectors", mean.sectors[0]);
        object.add("aggr_write_sectors", mean.sectors[1]);
        object.add("aggr_read_merges", mean.merges[0]);
        // The singular is the key's published name.
        object.add("aggr_write_merge", mean.merges[1]);
        object.add("aggr_read_ticks", mean.ticks_ms[0]);
        object.add("aggr_write_ticks", mean.ticks_ms[1]);
        object.add("aggr_in_queue", mean.in_queue_ms);
        object.add("aggr_util", mean.util_percent);
    }
    object
}

fn idleness(report: &IdlenessReport) -> Object {
    let mut object = Object::default();
    object.add("system", report.system_percent);
    for (index, share) in report.per_cpu_percent.iter().enumerate() {
        object.add(format!("cpu-{index}"), *share);
    }
    object.add("unit_mean", report.unit_mean_us);
    object.add("unit_stddev", report.unit_stddev_us);
    object
}
