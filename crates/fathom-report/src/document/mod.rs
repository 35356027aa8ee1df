//! The result of a run, shared by all JSON formats: fio's document, key by key in its order, and fathom's additions.

mod hosts;
pub(crate) mod interval;
pub(crate) mod job;
mod latency;
pub(crate) mod layout;
mod timeline;

use crate::ctime::ctime;
use fathom_results::figure;
use fathom_results::model::{
    DiskResult, LatenessResult, ReplayResult, RunFacts, RunResult, SliceResult, SlicesResult, StageResult,
    VerdictResult, Verification,
};
use fathom_stats::LatencyStats;
use fathom_stats::report::{DiskReport, IdlenessReport, ReplayReport, RunReport, VerificationReport};
use fathom_stats::slices::{Slice, SliceReport};

/// Percentiles shown for the lateness of a replay.
const LATENESS_PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Returns the complete result of a run; `with_bins` adds the histograms.
pub(crate) fn result(report: &RunReport, with_bins: bool) -> RunResult {
    result_with(report, with_bins, |own| measured(own, with_bins))
}

/// Returns the complete result of a run; for each host of a multi-host run, `of_host` converts the host's own
/// results.
pub(crate) fn result_with(
    report: &RunReport,
    with_bins: bool,
    of_host: impl Fn(&RunReport) -> RunResult,
) -> RunResult {
    RunResult {
        version: report.version.clone(),
        timestamp: Some(report.timestamp_ms / 1000),
        timestamp_ms: Some(report.timestamp_ms),
        time: ctime(report.timestamp_ms),
        global_options: report.global_options.clone(),
        hosts: report.hosts.as_ref().map(|hosts| hosts::hosts(hosts, of_host)),
        ..measured(report, with_bins)
    }
}

/// Returns the measurements, without members that a document contains only once.
fn measured(report: &RunReport, with_bins: bool) -> RunResult {
    let jobs = report.jobs.iter().map(|entry| job::result(entry, &report.groups, with_bins));
    let stages = report.stages.iter().map(|stage| StageResult {
        groups: stage.groups.iter().map(|&group| group.into()).collect(),
        disk_util: devices(&stage.disks),
        mounts: stage.mounts.clone(),
    });
    RunResult {
        jobs: jobs.collect(),
        disk_util: devices(&report.disks),
        cpu_idleness: report.idleness.as_ref().map(idleness).unwrap_or_default(),
        slices: report.slices.as_ref().map(slices),
        layers: report.layers.clone(),
        choices: report.choices.clone(),
        verification: report.verification.iter().map(verification).collect(),
        replays: report.replays.iter().map(|entry| replay(entry, with_bins)).collect(),
        host: report.host.clone(),
        mounts: report.mounts.clone(),
        stages: stages.collect(),
        timeline: report.timeline.as_ref().map(timeline::timeline),
        notes: report.notes.clone(),
        facts: report.facts.as_ref().map(facts),
        verdict: report.verdict.as_ref().map(VerdictResult::from),
        ..RunResult::default()
    }
}

fn facts(facts: &RunFacts) -> RunFacts {
    let mut facts = facts.clone();
    facts.clock.drift_ppm = figure(facts.clock.drift_ppm);
    facts
}

/// Returns the verification results of a job.
fn verification(report: &VerificationReport) -> Verification {
    Verification {
        jobname: report.job.clone(),
        checked_reads: report.checked_reads,
        checked_bytes: report.checked_bytes,
        wrong_blocks: report.wrong_blocks(),
        miscompares: report.miscompares.clone(),
        listed_in: report.listed_in.clone(),
        unchecked_blocks: report.unchecked_blocks,
        from_memory_bytes: Some(report.from_memory_bytes),
        unknown_source_bytes: report.unknown_source_bytes,
        keeps_cache: report.keeps_cache,
        shares_blocks: report.shares_blocks,
        takes_any_run: report.takes_any_run,
    }
}

/// Returns a log's replay: its entries, and how late they were.
fn replay(report: &ReplayReport, with_bins: bool) -> ReplayResult {
    ReplayResult {
        jobname: report.job.clone(),
        logs: report.logs.clone(),
        entries: report.entries,
        lateness: lateness(&report.lateness, with_bins),
    }
}

fn lateness(stats: &LatencyStats, with_bins: bool) -> LatenessResult {
    let shown: &[f64] = if stats.count > 0 { &LATENESS_PERCENTILES } else { &[] };
    LatenessResult {
        count: stats.count,
        min_ns: stats.min_ns,
        max_ns: stats.max_ns,
        mean_ns: figure(stats.mean_ns()),
        stddev_ns: figure(stats.stddev_ns()),
        percentiles: latency::percentiles(&stats.histogram, shown),
        bins: with_bins.then(|| stats.histogram.values().collect()),
    }
}

/// Returns the shares of slow reads in percent, slice by slice, and the verdict.
fn slices(report: &SliceReport) -> SlicesResult {
    let slice = |slice: &Slice| {
        let [above_1ms, above_8ms, above_64ms] = slice.percent_above().map(figure);
        SliceResult {
            reads: slice.reads,
            percent_above_1ms: above_1ms,
            percent_above_8ms: above_8ms,
            percent_above_64ms: above_64ms,
        }
    };
    SlicesResult {
        passed: report.passed(),
        interrupted: report.is_interrupted,
        slices: report.slices.iter().map(slice).collect(),
    }
}

/// Returns one entry per device; the members of a stacked device follow it.
pub(crate) fn devices(disks: &[DiskReport]) -> Vec<DiskResult> {
    let entries =
        |disk: &DiskReport| std::iter::once(device(disk)).chain(devices(&disk.members)).collect::<Vec<_>>();
    disks.iter().flat_map(entries).collect()
}

fn device(disk: &DiskReport) -> DiskResult {
    let [read_ios, write_ios] = disk.ios;
    let [read_sectors, write_sectors] = disk.sectors;
    let [read_merges, write_merges] = disk.merges;
    let [read_ticks, write_ticks] = disk.ticks_ms;
    let of_members = disk.mean_of_members();
    let mean = |figure: fn(&DiskReport) -> u64| of_members.as_ref().map(figure);
    DiskResult {
        name: disk.name.clone(),
        read_ios,
        write_ios,
        read_sectors,
        write_sectors,
        read_merges,
        write_merges,
        read_ticks,
        write_ticks,
        in_queue: disk.in_queue_ms,
        util: figure(disk.util_percent),
        aggr_read_ios: mean(|mean| mean.ios[0]).map(|ios| ios as f64),
        aggr_write_ios: mean(|mean| mean.ios[1]).map(|ios| ios as f64),
        aggr_read_sectors: mean(|mean| mean.sectors[0]),
        aggr_write_sectors: mean(|mean| mean.sectors[1]),
        aggr_read_merges: mean(|mean| mean.merges[0]),
        aggr_write_merge: mean(|mean| mean.merges[1]),
        aggr_read_ticks: mean(|mean| mean.ticks_ms[0]),
        aggr_write_ticks: mean(|mean| mean.ticks_ms[1]),
        aggr_in_queue: mean(|mean| mean.in_queue_ms),
        aggr_util: of_members.as_ref().map(|mean| figure(mean.util_percent)),
        ..DiskResult::default()
    }
}

fn idleness(report: &IdlenessReport) -> Vec<(String, f64)> {
    let of_processors = report.per_cpu_percent.iter().enumerate();
    let mut figures = vec![("system".to_owned(), report.system_percent)];
    figures.extend(of_processors.map(|(index, share)| (format!("cpu-{index}"), *share)));
    figures.push(("unit_mean".to_owned(), report.unit_mean_us));
    figures.push(("unit_stddev".to_owned(), report.unit_stddev_us));
    figures.into_iter().map(|(name, value)| (name, figure(value))).collect()
}
