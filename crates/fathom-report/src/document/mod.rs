//! The document for programs, which all JSON formats write: fio's, key by key in its order, and what fathom adds.

mod arrivals;
pub(crate) mod clients;
mod histogram;
mod host;
mod hosts;
pub(crate) mod interval;
mod job;
pub(crate) mod layout;
mod reading;
mod replay;
mod steady;
mod timeline;
mod verdict;

use crate::ctime::ctime;
use fathom_stats::limits::{GroupLimits, IoLimit, ProcessorLimit};
use fathom_stats::report::{
    DiskReport, IdlenessReport, JobChoices, ProcessorShares, RunReport, StageReport, VerificationReport,
};
use fathom_stats::slices::{LIMITS, Slice, SliceReport};
use layout::{Object, list, list_if_any, object, options};

/// All that is known of a run; `with_bins` adds the histograms.
pub(crate) fn document(report: &RunReport, with_bins: bool) -> Object {
    document_with(report, with_bins, |own| results(own, with_bins))
}

/// The same; of each host of a run over several, what `of_host` gives of its own results.
pub(crate) fn document_with(
    report: &RunReport,
    with_bins: bool,
    of_host: impl Fn(&RunReport) -> Object,
) -> Object {
    let mut document = object! {
        "fio version": &report.version,
        "timestamp": report.timestamp_ms / 1000,
        "timestamp_ms": report.timestamp_ms,
        "time": ctime(report.timestamp_ms),
        "global options": options(&report.global_options),
    };
    document.append(results(report, with_bins));
    document.add("fathom hosts", report.hosts.as_ref().map(|hosts| hosts::object(hosts, of_host)));
    document
}

/// What was measured.
fn results(report: &RunReport, with_bins: bool) -> Object {
    object! {
        "jobs": list(&report.jobs, |entry| job::object(entry, &report.groups, with_bins)),
        "disk_util": (!report.disks.is_empty()).then(|| devices(&report.disks)),
        "cpu_idleness": report.idleness.as_ref().map(idleness),
        "fathom slices": report.slices.as_ref().map(slices),
        "fathom jobs": list_if_any(&report.choices, choices),
        "fathom verify": list_if_any(&report.verification, verification),
        "fathom replay": list_if_any(&report.replays, |entry| replay::object(entry, with_bins)),
        "fathom host": report.host.as_ref().map(host::object),
        "fathom mounts": list_if_any(&report.mounts, host::mount),
        "fathom stages": list_if_any(&report.stages, stage),
        "fathom timeline": report.timeline.as_ref().map(timeline::object),
        "fathom notes": (!report.notes.is_empty()).then_some(&report.notes),
        "fathom facts": report.facts.as_ref().map(verdict::facts),
        "fathom verdict": report.verdict.as_ref().map(verdict::object),
    }
}

/// What verification of a job came to.
fn verification(report: &VerificationReport) -> Object {
    object! {
        "jobname": &report.job,
        "checked_reads": report.checked_reads,
        "checked_bytes": report.checked_bytes,
        "wrong_blocks": report.wrong_blocks(),
        "miscompares": report.miscompares.iter().map(|(class, count)| (class, *count)).collect::<Object>(),
        "listed_in": &report.listed_in,
        "unchecked_blocks": report.unchecked_blocks,
        "from_memory_bytes": report.from_memory_bytes,
        "unknown_source_bytes": report.unknown_source_bytes,
        "keeps_cache": report.keeps_cache,
        "shares_blocks": report.shares_blocks,
        "takes_any_run": report.takes_any_run,
    }
}

/// Shares of slow reads in percent, slice by slice, and the verdict.
fn slices(report: &SliceReport) -> Object {
    let slice = |slice: &Slice| {
        let mut object = object! { "reads": slice.reads };
        for (share, (limit_ns, _)) in slice.percent_above().iter().zip(LIMITS) {
            object.add(format!("percent_above_{}ms", limit_ns / 1_000_000), *share);
        }
        object
    };
    object! {
        "passed": report.passed(),
        "interrupted": report.is_interrupted,
        "slices": list(&report.slices, slice),
    }
}

fn choices(job: &JobChoices) -> Object {
    object! {
        "jobname": &job.name,
        "random_offsets": job.random_offsets.as_ref(),
        "engine_features": &job.engine_features,
        "processor_wait_ms": job.processor_wait_ms,
        "processors": job.processors.as_ref().map(processors),
        "limits": (!job.limits.is_empty()).then(|| limits(&job.limits)),
        "unwritten_bytes": job.unwritten_bytes,
    }
}

fn processors(time: &ProcessorShares) -> Object {
    object! {
        "user_ms": time.user_ms,
        "busy_ms": time.busy_ms,
        "stolen_ms": time.stolen_ms,
        "total_ms": time.total_ms,
    }
}

/// Limits of control groups, and what was counted of them while the job ran.
fn limits(limits: &GroupLimits) -> Object {
    object! {
        "processors": list(&limits.processors, processor_limit),
        "io": list(&limits.io, io_limit),
    }
}

fn processor_limit(limit: &ProcessorLimit) -> Object {
    object! {
        "group": &limit.group,
        "quota_us": limit.quota_us,
        "period_us": limit.period_us,
        "periods": limit.periods,
        "throttled": limit.throttled,
        "throttled_us": limit.throttled_us,
    }
}

fn io_limit(limit: &IoLimit) -> Object {
    object! {
        "group": &limit.group,
        "device": &limit.device,
        "read_bytes_per_second": limit.limits[0],
        "write_bytes_per_second": limit.limits[1],
        "read_ios_per_second": limit.limits[2],
        "write_ios_per_second": limit.limits[3],
        "read_bytes": limit.used[0],
        "write_bytes": limit.used[1],
        "read_ios": limit.used[2],
        "write_ios": limit.used[3],
    }
}

/// What the devices and mounts did while one stage ran.
fn stage(stage: &StageReport) -> Object {
    object! {
        "groups": &stage.groups,
        "disk_util": devices(&stage.disks),
        "mounts": list_if_any(&stage.mounts, host::mount),
    }
}

/// One entry per device; the members of a stacked device follow it.
pub(crate) fn devices(disks: &[DiskReport]) -> Vec<Object> {
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
    let mut object = object! {
        "name": &disk.name,
        "read_ios": disk.ios[0],
        "write_ios": disk.ios[1],
        "read_sectors": disk.sectors[0],
        "write_sectors": disk.sectors[1],
        "read_merges": disk.merges[0],
        "write_merges": disk.merges[1],
        "read_ticks": disk.ticks_ms[0],
        "write_ticks": disk.ticks_ms[1],
        "in_queue": disk.in_queue_ms,
        "util": disk.util_percent,
    };
    if let Some(mean) = disk.mean_of_members() {
        object.append(object! {
            "aggr_read_ios": mean.ios[0],
            "aggr_write_ios": mean.ios[1],
            "aggr_read_sectors": mean.sectors[0],
            "aggr_write_sectors": mean.sectors[1],
            "aggr_read_merges": mean.merges[0],
            // The singular is the key's published name.
            "aggr_write_merge": mean.merges[1],
            "aggr_read_ticks": mean.ticks_ms[0],
            "aggr_write_ticks": mean.ticks_ms[1],
            "aggr_in_queue": mean.in_queue_ms,
            "aggr_util": mean.util_percent,
        });
    }
    object
}

fn idleness(report: &IdlenessReport) -> Object {
    let mut object = object! { "system": report.system_percent };
    for (index, share) in report.per_cpu_percent.iter().enumerate() {
        object.add(format!("cpu-{index}"), *share);
    }
    object.append(object! { "unit_mean": report.unit_mean_us, "unit_stddev": report.unit_stddev_us });
    object
}
